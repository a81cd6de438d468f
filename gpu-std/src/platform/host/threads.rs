//! Threads of std.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Here nothing has to be done for other threads to go on.
#[inline]
pub fn step() {}

/// How often a thread looks before it waits.
pub const fn looks(count: u32) -> u32 {
    count
}

pub fn time() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Waits while `expected` is there, until [`wake32`] or for so long; false after that time. It may also return for no
/// reason.
pub fn wait32(word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) -> bool {
    let (lock, woken) = waiters(word);
    let guard = lock.lock().unwrap();
    // A thread that wakes others takes the lock after the change. So either the change is seen here, or that thread finds
    // this one waiting.
    if word.load(SeqCst) != expected {
        return true;
    }
    match nanoseconds {
        None => drop(woken.wait(guard).unwrap()),
        Some(length) => {
            let (_guard, timeout) = woken.wait_timeout(guard, Duration::from_nanos(length)).unwrap();
            return !timeout.timed_out();
        }
    }
    true
}

/// Wakes threads that wait there: all of them, and those of other words too, because a return for no reason is allowed.
pub fn wake32(word: &AtomicU32, _count: u32) {
    let (lock, woken) = waiters(word);
    drop(lock.lock().unwrap());
    woken.notify_all();
}

fn waiters(word: &AtomicU32) -> &'static (Mutex<()>, Condvar) {
    const BUCKETS: usize = 64;
    static WAITERS: [(Mutex<()>, Condvar); BUCKETS] = [const { (Mutex::new(()), Condvar::new()) }; BUCKETS];
    &WAITERS[(core::ptr::from_ref(word).addr() >> 4) % BUCKETS]
}

/// Lets other threads go on.
pub fn pause() {
    std::thread::yield_now();
}

/// Leaves the processor to others for so long.
pub fn sleep(nanoseconds: u64) {
    std::thread::sleep(Duration::from_nanos(nanoseconds));
}
