//! Times at which futures go on, and connections for which they wait. Workers that find nothing to do look at them, and
//! threads that wait for a future.

use core::cmp::Reverse;
use core::task::Waker;
use std::collections::BinaryHeap;
use std::vec::Vec;

use crate::sync::Locked;
use crate::word::{Word32, Word64};

struct Timers {
    /// The first of the times, of [`crate::time`].
    earliest: Word64,
    heap: Locked<BinaryHeap<Timer>>,
}

static TIMERS: Timers = Timers {
    earliest: Word64::new(u64::MAX),
    heap: Locked::new(BinaryHeap::new()),
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
    TIMERS.heap.with(|heap| {
        heap.push(Timer { at: Reverse(at), waker });
        TIMERS.earliest.set(first_of(heap));
    });
}

/// The first of the times, or the last that there is.
fn first_of(heap: &BinaryHeap<Timer>) -> u64 {
    heap.peek().map_or(u64::MAX, |timer| timer.at.0)
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
    if earliest > now {
        return;
    }
    // If another thread has them, it is at it.
    let due = TIMERS.heap.try_with(|heap| {
        let mut due = Vec::new();
        while due.len() < AT_ONCE && first_of(heap) <= now {
            due.extend(heap.pop());
        }
        TIMERS.earliest.set(first_of(heap));
        due
    });
    due.into_iter().flatten().for_each(|timer| timer.waker.wake());
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
