//! What a pool's workers have done.

use core::time::Duration;

use super::context::Current;
use crate::atomic::{self, Ordering::SeqCst, Scope};

/// Counters of all workers since the first [`run`](super::run).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Threads that run tasks.
    pub workers: u32,
    /// Jobs that were taken from a queue or from another worker. What a worker does of its own `join`s is none.
    pub executed: u64,
    /// Jobs that were taken from another worker.
    pub stolen: u64,
    /// Looks into another worker's deque.
    pub attempts: u64,
    /// Tasks with a handle.
    pub spawned: u32,
    /// Jobs that lie in queues for all workers now.
    pub queued: u32,
    /// How long all workers together found nothing to do, in spells that have ended.
    pub idle: Duration,
}

/// Adds up what all workers have counted; `None` outside of [`run`](super::run). It looks at each of them.
///
/// ```
/// use gpu_std::task;
///
/// let stats = task::run(|| {
///     task::spawn(|| ()).join().unwrap();
///     task::stats().unwrap()
/// });
/// assert_eq!(stats.unwrap().spawned, 1);
/// ```
pub fn stats() -> Option<Stats> {
    let current = Current::get()?;
    let mut stats = Stats {
        spawned: current.pool.spawned(),
        queued: current.pool.queued(),
        ..Stats::default()
    };
    for worker in current.pool.workers() {
        let read = |counter| u64::from(atomic::load(counter, SeqCst, Scope::Device));
        stats.workers += 1;
        stats.executed += read(&worker.own.executed);
        stats.stolen += read(&worker.own.stolen);
        stats.attempts += read(&worker.own.attempts);
        stats.idle += Duration::from_nanos(atomic::load(&worker.own.idle, SeqCst, Scope::Device));
    }
    Some(stats)
}
