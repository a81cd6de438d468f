//! A queue without a limit: a ring buffer that grows, with a lock.

use core::cell::UnsafeCell;
use std::collections::VecDeque;

use crate::sync::RawLock;
use crate::word::Word32;

#[derive(Debug)]
pub(super) struct Queue<T> {
    lock: RawLock,
    /// How many there are, for those that only look.
    len: Word32,
    values: UnsafeCell<VecDeque<T>>,
}

// SAFETY: the values are only reached with the lock.
unsafe impl<T: Send> Sync for Queue<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Queue<T> {}

impl<T> Queue<T> {
    pub fn new() -> Queue<T> {
        Queue {
            lock: RawLock::new(),
            len: Word32::new(0),
            values: UnsafeCell::new(VecDeque::new()),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        self.lock.with(|| {
            // SAFETY: with the lock.
            let values = unsafe { &mut *self.values.get() };
            let result = f(values);
            self.len.set(values.len() as u32);
            result
        })
    }

    pub fn push(&self, count: usize, mut values: impl FnMut() -> T) {
        self.with(|queue| queue.extend((0..count).map(|_| values())));
    }

    pub fn pop(&self, count: usize, values: impl FnMut(T)) -> usize {
        if self.len() == 0 {
            return 0;
        }
        // They are moved out first: what the caller does with them needs no lock.
        let taken: VecDeque<T> = self.with(|queue| match count >= queue.len() {
            true => core::mem::take(queue),
            false => queue.drain(..count).collect(),
        });
        let count = taken.len();
        taken.into_iter().for_each(values);
        count
    }

    pub fn len(&self) -> usize {
        self.len.get() as usize
    }
}
