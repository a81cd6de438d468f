//! Epochs.
//!
//! The epoch is a number. A thread that pins counts itself under the number that it has read, modulo three. The number goes
//! on by one when nobody is counted under the one before it. So while a thread is pinned under e, the number is e or e + 1,
//! and what was retired under e - 2 or before was out of reach when the thread pinned.

use std::vec::Vec;

use super::{Removed, Retired};
use crate::sync::{Locked, RawLock};
use crate::word::{Word32, own_place};

/// Counters of a number: threads count at one of several words, so that not all change the same.
const COUNTERS: usize = 16;
/// Guards that are dropped until one looks whether the number can go on.
const LOOKS: u32 = 64;

#[derive(Debug)]
struct Epochs {
    number: Word32,
    pinned: [[Counter; COUNTERS]; 3],
    /// What was retired, by number modulo three.
    retired: [Locked<Vec<Retired>>; 3],
    /// One thread at a time moves the number on.
    moves: RawLock,
    unpinned: [Counter; COUNTERS],
}

#[derive(Debug)]
#[repr(align(64))]
struct Counter(Word32);

static EPOCHS: Epochs = Epochs {
    number: Word32::new(2),
    pinned: [const { [const { Counter(Word32::new(0)) }; COUNTERS] }; 3],
    retired: [const { Locked::new(Vec::new()) }; 3],
    moves: RawLock::new(),
    unpinned: [const { Counter(Word32::new(0)) }; COUNTERS],
};

/// While it is there, what this thread reads from an [`Atomic`](super::Atomic) stays.
///
/// It is meant to be short: while one guard is there, nothing that is retired from then on is freed.
#[derive(Debug)]
pub struct Guard {
    number: u32,
    counter: usize,
}

/// Pins the epoch.
///
/// ```
/// let guard = gpu_std::reclaim::pin();
/// # drop(guard);
/// ```
pub fn pin() -> Guard {
    let counter = own_place(COUNTERS);
    loop {
        let number = EPOCHS.number.get();
        let pinned = &EPOCHS.pinned[number as usize % 3][counter].0;
        pinned.add(1);
        // Who moves the number on reads the counters after it has been this number. Either it sees this one, or the number
        // has gone on here.
        if EPOCHS.number.get() == number {
            return Guard { number, counter };
        }
        pinned.sub(1);
    }
}

impl Guard {
    /// Drops a value once nobody can read it any more, in some thread.
    pub fn retire<T: Send + Sync + 'static>(&self, removed: Removed<T>) {
        let retired = Retired::new(removed);
        // Under the number as it is now, which is this guard's or one more.
        let bag = EPOCHS.number.get() as usize % 3;
        EPOCHS.retired[bag].with(|bag| bag.push(retired));
    }

    /// Frees what can be freed now, of all threads, if no other thread is at it. It happens from time to time anyway.
    pub fn collect() {
        // Three times: what is retired under this number is freed when it comes round.
        (0..3).for_each(|_| move_on());
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        EPOCHS.pinned[self.number as usize % 3][self.counter].0.sub(1);
        if EPOCHS.unpinned[self.counter].0.add(1) % LOOKS == LOOKS - 1 {
            move_on();
        }
    }
}

/// The number after this one. 3 does not divide 2^32: it begins anew before that, at one with the same remainder.
fn after(number: u32) -> u32 {
    if number == u32::MAX - 3 {
        (number + 1) % 3 + 3
    } else {
        number + 1
    }
}

/// A moment: whether all guards are gone that were there then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grace(u32);

impl Grace {
    /// A moment that was long ago.
    pub const NONE: Grace = Grace(0);

    /// Now.
    pub fn begin() -> Grace {
        Grace(EPOCHS.number.get())
    }

    /// Whether they are gone. Without it being asked the number may not go on.
    pub fn is_over(self) -> bool {
        // Guards of then are pinned under the number of then or before, so it cannot have gone on twice while one is there.
        let is_over = || ![self.0, after(self.0)].contains(&EPOCHS.number.get());
        is_over() || {
            move_on();
            is_over()
        }
    }
}

/// Moves the number on if it can, and frees what is out of reach then.
fn move_on() {
    if !EPOCHS.moves.try_lock() {
        return;
    }
    let number = EPOCHS.number.get();
    let before = &EPOCHS.pinned[(number as usize + 2) % 3];
    let mut out_of_reach = Vec::new();
    if before.iter().all(|counter| counter.0.get() == 0) {
        // Whoever is pinned is so under this number. What was retired under the one before the last, whose bag the next
        // number gets, they cannot have read.
        let bag = (number as usize + 1) % 3;
        out_of_reach = EPOCHS.retired[bag].with(core::mem::take);
        EPOCHS.number.set(after(number));
    }
    EPOCHS.moves.unlock();
    // SAFETY: out of reach, as said above.
    out_of_reach.into_iter().for_each(|retired| unsafe { retired.free() });
}
