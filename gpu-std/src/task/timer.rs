//! Times at which futures go on, and connections for which they wait. Workers that find nothing to do look at them, and
//! threads that wait for a future.

use core::cell::UnsafeCell;
use core::cmp::Reverse;
use core::task::Waker;
use std::collections::BinaryHeap;
use std::vec::Vec;

use crate::sync::RawLock;
use crate::word::{Word32, Word64};

struct Timers {
    /// The first of the times, of [`crate::time`].
    earliest: Word64,
    lock: RawLock,
    heap: UnsafeCell<BinaryHeap<Timer>>,
}

// SAFETY: the heap is only reached with the lock.
unsafe impl Sync for Timers {}

static TIMERS: Timers = Timers {
    earliest: Word64::new(u64::MAX),
    lock: RawLock::new(),
    heap: UnsafeCell::new(BinaryHeap::new()),
};

struct Timer {
    at: Reverse<u64>,
    waker: Waker,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Timer) -> bool {
        self.at == other.at
    }
}
impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> core::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

/// Has a future woken at a time of [`crate::time`].
pub(crate) fn set_timer(at: u64, waker: Waker) {
    TIMERS.lock.with(|| {
        // SAFETY: with the lock.
        let heap = unsafe { &mut *TIMERS.heap.get() };
        heap.push(Timer { at: Reverse(at), waker });
        TIMERS.earliest.set(heap.peek().map_or(u64::MAX, |timer| timer.at.0));
    });
}

/// Futures woken at once: the lock is not held for longer than they take.
const AT_ONCE: usize = 32;

/// Wakes those whose time has come.
pub(crate) fn fire_timers() {
    let earliest = TIMERS.earliest.get();
    if earliest == u64::MAX {
        return;
    }
    let now = crate::time();
    if earliest > now || !TIMERS.lock.try_lock() {
        // Another thread is at it, or there is none.
        return;
    }
    let mut due = Vec::new();
    // SAFETY: with the lock.
    let heap = unsafe { &mut *TIMERS.heap.get() };
    while due.len() < AT_ONCE && heap.peek().is_some_and(|timer| timer.at.0 <= now) {
        due.extend(heap.pop());
    }
    TIMERS.earliest.set(heap.peek().map_or(u64::MAX, |timer| timer.at.0));
    TIMERS.lock.unlock();
    due.into_iter().for_each(|timer| timer.waker.wake());
}

/// How long it is until the first of the times; zero if it has come.
#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub(crate) fn until_timer() -> core::time::Duration {
    core::time::Duration::from_nanos(TIMERS.earliest.get().saturating_sub(crate::time()))
}

/// What looks at connections, once a future has waited for one. Programs without any do not have it linked in.
static POLLER: Word32 = Word32::new(0);

/// Has `poller` called from now on. It may wait for a short time, and says whether it did something.
#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub(crate) fn set_poller(poller: fn() -> bool) {
    if POLLER.glance() == 0 {
        POLLER.set(poller as usize as u32);
    }
}

/// Looks at connections, if futures wait for some: whether it did.
pub(crate) fn poll_io() -> bool {
    let poller = POLLER.glance();
    if poller == 0 {
        return false;
    }
    // SAFETY: the only value that is put there but 0 is such a function, and addresses have 32 bits where one is.
    let poller: fn() -> bool = unsafe { core::mem::transmute(poller as usize) };
    poller()
}
