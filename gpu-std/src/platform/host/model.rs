//! Threads of a model: shuttle runs one of them at a time, and at each step it chooses by chance which one goes on.
//!
//! So bad interleavings of the steps are found, such as a change that is lost or a wake-up that comes too early. What
//! weaker orders than the sequentially consistent one allow is not.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::vec::Vec;

use shuttle::thread::{self, Thread};

std::thread_local! {
    /// Threads that wait, by the address of their word, in the order in which they came. All threads of a model are
    /// one for std.
    static WAITERS: RefCell<BTreeMap<usize, Vec<Thread>>> = const { RefCell::new(BTreeMap::new()) };
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

/// Another thread may go on here.
pub fn step() {
    // It models no time.
    thread::sleep(Duration::ZERO);
}

/// How often a thread looks before it waits: once. Else it would seldom wait.
pub const fn looks(_: u32) -> u32 {
    1
}

/// A microsecond goes by between two looks.
pub fn time() -> u64 {
    step();
    CLOCK.set(CLOCK.get() + 1000);
    CLOCK.get()
}

/// A wait without a time ends by [`wake32`] alone, so a wake-up that is lost is a deadlock, which shuttle finds. One with
/// a time also ends by itself, some steps later.
pub fn wait32(word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) -> bool {
    step();
    if word.load(SeqCst) != expected {
        return true;
    }
    let at = word.as_ptr().addr();
    let me = thread::current();
    let id = me.id();
    let waits = || WAITERS.with_borrow(|all| all.get(&at).is_some_and(|list| list.iter().any(|it| it.id() == id)));
    WAITERS.with_borrow_mut(|all| all.entry(at).or_default().push(me));
    if nanoseconds.is_none() {
        while waits() {
            thread::park();
        }
        return true;
    }
    for _ in 0..4 {
        pause();
        if !waits() {
            return true;
        }
    }
    WAITERS.with_borrow_mut(|all| all.entry(at).or_default().retain(|it| it.id() != id));
    false
}

/// Wakes at most so many threads that wait there, the first ones.
pub fn wake32(word: &AtomicU32, count: u32) {
    step();
    let at = word.as_ptr().addr();
    let woken: Vec<Thread> = WAITERS.with_borrow_mut(|all| {
        let list = all.entry(at).or_default();
        let count = list.len().min(count as usize);
        list.drain(..count).collect()
    });
    woken.iter().for_each(Thread::unpark);
}

/// Lets other threads go on.
pub fn pause() {
    thread::yield_now();
}

/// The same for so long.
pub fn sleep(nanoseconds: u64) {
    CLOCK.set(CLOCK.get() + nanoseconds);
    pause();
}
