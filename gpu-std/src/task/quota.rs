//! `Quota`: at most so many tasks at once.

use core::cell::UnsafeCell;
use std::collections::VecDeque;

use super::handle::Owner;
use crate::sync::{Arc, RawLock};

/// How many tasks of a kind may have begun and not ended at once. The others wait, and keep no worker.
///
/// ```
/// use gpu_std::task::{self, Builder, Quota};
///
/// task::run(|| {
///     let two = Quota::new(2);
///     let tasks: Vec<_> = (0..10).map(|n| Builder::new().quota(&two).spawn(move || n)).collect();
///     assert_eq!(tasks.into_iter().map(|task| task.join().unwrap()).sum::<i32>(), 45);
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Quota {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    most: u32,
    lock: RawLock,
    state: UnsafeCell<State>,
}

#[derive(Debug)]
struct State {
    begun: u32,
    waiting: VecDeque<Owner>,
}

// SAFETY: the state is only reached with the lock.
unsafe impl Sync for Shared {}

impl Quota {
    /// At most so many at once; 0 counts as 1.
    pub fn new(most: u32) -> Quota {
        Quota {
            shared: Arc::new(Shared {
                most: most.max(1),
                lock: RawLock::new(),
                state: UnsafeCell::new(State {
                    begun: 0,
                    waiting: VecDeque::new(),
                }),
            }),
        }
    }

    /// Lets a task in, or keeps it until there is room.
    pub(super) fn enter(&self, task: &Owner) -> bool {
        self.with(|state| {
            let room = state.begun < self.shared.most;
            match room {
                true => state.begun += 1,
                false => state.waiting.push_back(task.clone()),
            }
            room
        })
    }

    /// A task has ended: its place goes to the one that has waited longest.
    pub(super) fn leave(&self) {
        let next = self.with(|state| {
            let next = state.waiting.pop_front();
            if next.is_none() {
                state.begun -= 1;
            }
            next
        });
        if let Some(task) = next {
            task.enqueue();
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: with the lock.
        self.shared.lock.with(|| f(unsafe { &mut *self.shared.state.get() }))
    }
}
