//! Counts writes of output, so that a watchdog sees whether anybody takes it. Relaxed: the counts order nothing.

use std::sync::atomic::{AtomicU64, Ordering};

/// Writes under way, and those that are over.
static WRITING: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Makes a write of output, for which all watchdogs have less patience.
pub fn while_writing<T>(write: impl FnOnce() -> T) -> T {
    WRITING.fetch_add(1, Ordering::Relaxed);
    let result = write();
    WRITTEN.fetch_add(1, Ordering::Relaxed);
    WRITING.fetch_sub(1, Ordering::Relaxed);
    result
}

/// How many writes are over, and whether one is under way.
pub fn progress() -> (u64, bool) {
    (WRITTEN.load(Ordering::Relaxed), WRITING.load(Ordering::Relaxed) > 0)
}
