//! A queue of numbers that all threads of a device push to and take from.
//!
//! It is the instructions `work_push` and `work_pop`: the lanes of a warp that push or pop together change each word of
//! the queue once for all of them. So it is made for many lanes at once. What the numbers mean is the program's business:
//! indices of a table, mostly. For values of any type, see [`channel`](crate::channel).

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::platform;

/// A queue of `u32`s with a fixed number of places, first in, first out.
///
/// ```
/// use gpu_std::work::Queue;
///
/// let queue = Queue::with_capacity(4);
/// assert!(queue.push(7) && queue.push(8));
/// assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(7), Some(8), None));
/// ```
#[derive(Debug)]
pub struct Queue {
    words: NonNull<u32>,
    capacity: u32,
}

// SAFETY: only the instructions reach the words, which are atomic.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

/// The words before the slots, as `vm/kernel/ops/work.h` has them: tail, room, head, items, mask, unused.
const HEADER: usize = 6;
const ROOM: usize = 1;
const MASK: usize = 4;

impl Queue {
    /// A queue with at least so many places: the next power of two.
    ///
    /// # Panics
    ///
    /// If there is no memory for it.
    pub fn with_capacity(places: u32) -> Queue {
        let capacity = places.max(2).next_power_of_two();
        // SAFETY: the size is not 0.
        let words = NonNull::new(unsafe { platform::alloc_zeroed(layout(capacity)) }.cast::<u32>());
        let words = words.expect("no memory for a queue");
        // SAFETY: the words are there, and nobody else has them yet. All else is 0, as in an empty queue.
        unsafe {
            words.add(ROOM).write(capacity);
            words.add(MASK).write(capacity - 1);
        }
        Queue { words, capacity }
    }

    /// How many values it has room for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Puts a value at the end; false if there is no room. That may also be said for a moment while other threads push in
    /// vain.
    #[inline]
    pub fn push(&self, value: u32) -> bool {
        // SAFETY: laid out in `with_capacity`.
        unsafe { platform::work_push(self.words.as_ptr(), value) }
    }

    /// Takes the first value; `None` if there is none. That may also be said for a moment while other threads pop in vain.
    #[inline]
    pub fn pop(&self) -> Option<u32> {
        // SAFETY: as above.
        unsafe { platform::work_pop(self.words.as_ptr()) }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody has it any more.
        unsafe { platform::dealloc(self.words.as_ptr().cast(), layout(self.capacity)) };
    }
}

fn layout(capacity: u32) -> Layout {
    let bytes = 4 * HEADER + 8 * capacity as usize;
    Layout::from_size_align(bytes, 8).expect("a queue is smaller than a memory")
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn it_is_full_and_empty_where_it_should_be() {
        let queue = Queue::with_capacity(3);
        assert_eq!(queue.capacity(), 4);
        for round in 0..10 {
            (0..4).for_each(|n| assert!(queue.push(round * 4 + n)));
            assert!(!queue.push(99));
            let taken: Vec<u32> = core::iter::from_fn(|| queue.pop()).collect();
            assert!(taken.into_iter().eq(round * 4..round * 4 + 4));
        }
    }

    #[test]
    fn threads_lose_and_double_nothing() {
        let (queue, seen) = (Queue::with_capacity(64), std::sync::Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (queue, seen) = (&queue, &seen);
                scope.spawn(move || (0..1000).for_each(|n| while !queue.push(n * 2 + thread) {}));
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    while mine.len() < 1000 {
                        mine.extend(queue.pop());
                    }
                    seen.lock().unwrap().extend(mine);
                });
            }
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..2000));
    }
}
