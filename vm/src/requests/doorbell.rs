//! How the threads that answer requests rest and are woken.
//!
//! A thread looks at the mailboxes, or answers what it has found there, or sleeps. As long as one looks, none is woken.
//! The last one that leaves to answer looks once more for waiting messages, and has a sleeper look instead. So of many
//! threads there look only as many as find something to do.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::unpoisoned;

/// Wakes the threads that answer. Lanes ring it where they can call the host: on the CPU, whose few cores should not be
/// spent on looking.
#[derive(Debug, Default)]
pub(crate) struct Doorbell {
    /// Threads that look at the mailboxes.
    looking: AtomicUsize,
    sleepers: AtomicUsize,
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Doorbell {
    /// What lanes call after a message, with the bell's address.
    pub(crate) extern "C" fn ring(context: u64) {
        // SAFETY: the record of requests has the address of a bell that lives as long as the lanes.
        let bell = unsafe { &*(context as *const Doorbell) };
        // Between the message and the check for threads that look. It pairs with the sequentially consistent operations
        // of threads that stop looking, which look at the messages after it. One of both sees the other.
        fence(Ordering::SeqCst);
        if bell.looking.load(Ordering::SeqCst) == 0 {
            bell.wake();
        }
    }

    /// A thread begins to look.
    pub(super) fn look(&self) {
        // Relaxed: a caller that still sees a smaller number wakes one thread too many.
        self.looking.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread does not look any more. True if no other does, and one sleeps that could. The caller finds out whether
    /// there is a message, and wakes them.
    pub(super) fn look_away(&self) -> bool {
        // Sequentially consistent: pairs with the fence in `ring`.
        self.looking.fetch_sub(1, Ordering::SeqCst) == 1 && self.sleepers.load(Ordering::SeqCst) > 0
    }

    /// Whether a thread that looks is the only one.
    pub(super) fn is_last(&self) -> bool {
        self.looking.load(Ordering::Relaxed) == 1
    }

    /// Has a sleeper look, if there is one.
    pub(super) fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            *unpoisoned(self.rings.lock()) += 1;
            self.rung.notify_one();
        }
    }

    /// Wakes all, because the run has ended.
    pub(super) fn wake_all(&self) {
        *unpoisoned(self.rings.lock()) += 1;
        self.rung.notify_all();
    }

    /// A thread that looks sleeps instead until it is woken, or for as long as is said. It does not if there is `work`,
    /// by a last look, or if it is to be `watched` and no other looks. It looks again afterwards. False if the time was
    /// over.
    pub(super) fn sleep(&self, most: Duration, watched: bool, work: impl FnOnce() -> bool) -> bool {
        let rings = unpoisoned(self.rings.lock());
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Sequentially consistent: pairs with the fence in `ring`.
        let last = self.looking.fetch_sub(1, Ordering::SeqCst) == 1;
        let mut woken = true;
        if !(last && watched || work()) {
            let before = *rings;
            let (_rings, timeout) = unpoisoned(self.rung.wait_timeout_while(rings, most, |rings| *rings == before));
            woken = !timeout.timed_out();
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        self.look();
        woken
    }
}
