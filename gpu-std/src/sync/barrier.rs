//! `Barrier`: where all threads of a kernel meet, by the instruction of that name; else by a lock.

use core::sync::atomic::AtomicU32;

use super::condvar::Condvar;
use super::mutex::Mutex;
use crate::word::Word32;
use crate::{platform, word};

/// A point at which a number of threads wait for each other: [`std::sync::Barrier`].
///
/// It is fastest where all threads of a kernel meet: the lanes of a warp then arrive and go on together.
pub struct Barrier {
    threads: u32,
    /// Of a barrier of all threads, which no other can come to.
    all: Meeting,
    /// Of another one: how many have arrived, and the phase. More threads than are waited for may come, and wait for a
    /// later phase.
    some: Mutex<(u32, u32)>,
    next: Condvar,
}

/// A barrier that as many threads use as it waits for, no more.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// The phase, and how many threads have arrived in it: the words of the instruction.
    words: [AtomicU32; 2],
    /// Threads that wait longer than a short while.
    sleepers: Word32,
}

/// Whether the thread is the one that was chosen of those that waited.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one thread in each phase.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

/// Looks at the phase before a thread leaves its lane.
const LOOKS: u32 = platform::looks(32);

impl Barrier {
    /// A barrier for so many threads; 0 counts as 1.
    pub const fn new(threads: usize) -> Barrier {
        Barrier {
            threads: if threads == 0 { 1 } else { threads as u32 },
            all: Meeting::new(),
            some: Mutex::new((0, 0)),
            next: Condvar::new(),
        }
    }

    /// Waits until all threads have called this, and begins the next phase.
    pub fn wait(&self) -> BarrierWaitResult {
        if self.threads == crate::thread_count() {
            return BarrierWaitResult(self.all.wait(self.threads));
        }
        // A panic of another thread leaves the numbers as they are: they are right.
        let mut state = self.some.lock().unwrap_or_else(|error| error.into_inner());
        state.0 += 1;
        if state.0 == self.threads {
            *state = (0, state.1.wrapping_add(1));
            drop(state);
            self.next.notify_all();
            return BarrierWaitResult(true);
        }
        let phase = state.1;
        drop(self.next.wait_while(state, |state| state.1 == phase));
        BarrierWaitResult(false)
    }
}

impl Meeting {
    pub const fn new() -> Meeting {
        Meeting {
            words: [AtomicU32::new(0), AtomicU32::new(0)],
            sleepers: Word32::new(0),
        }
    }

    /// Waits until `threads` have called this; true for the last of them.
    pub fn wait(&self, threads: u32) -> bool {
        let phase = word::of(&self.words[0]);
        // Read before this thread arrives: the phase cannot end without it.
        let began = phase.get();
        let (last, ended) = platform::arrive(&self.words, threads);
        if last {
            // A thread counts itself before it looks at the phase for the last time. So either it sees the new one, or it
            // is seen here.
            if self.sleepers.get() != 0 {
                phase.wake(u32::MAX);
            }
            return true;
        }
        if ended {
            return false;
        }
        for _ in 0..LOOKS {
            if phase.get() != began {
                return false;
            }
            platform::pause();
        }
        self.sleepers.add(1);
        while phase.get() == began {
            phase.wait(began);
        }
        self.sleepers.sub(1);
        false
    }
}

impl core::fmt::Debug for Barrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
