//! What a pool's workers have done.

use core::sync::atomic::{AtomicU32, AtomicU64};
use core::time::Duration;

use super::context::Current;
use crate::atomic::{self, Ordering::SeqCst, Scope};

/// What a worker counts. Only the worker itself writes it. [`stats`] reads it, and so does `gpu-run --stats`.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Counters {
    pub executed: AtomicU32,
    pub stolen: AtomicU32,
    pub attempts: AtomicU32,
    /// Nanoseconds in which it found nothing to do, and in which it took part in calls of [`run`](super::run).
    pub idle: AtomicU64,
    pub time: AtomicU64,
}

/// Where the counters are, for `gpu-run --stats`. It looks for this table in a program's data, and knows it by its first bytes.
/// Its twin is `Table` in gpu-run's `vm/src/store/tasks.rs`.
#[cfg(target_arch = "wasm32")]
mod table {
    use core::mem::offset_of;

    use super::Counters;
    use crate::task::context::POOL;
    use crate::task::pool::{Pool, TALLIES, Tally, Worker};

    /// The first bytes. Another layout has another number.
    const MAGIC: [u8; 16] = *b"gpu-run tasks v1";

    #[repr(C)]
    struct Table {
        magic: [u8; 16],
        pool: &'static Pool,
        /// Where the pool has the address of its workers, and their number.
        workers: u32,
        worker_count: u32,
        /// Bytes from a worker to the next, and where each has its counters.
        worker_bytes: u32,
        counters: u32,
        /// Where the pool has its counters of spawned tasks, their number, and bytes from one to the next.
        spawned: u32,
        spawned_count: u32,
        spawned_bytes: u32,
        /// Where the pool has the number of queued jobs, and the most that there were.
        queued: u32,
        most_queued: u32,
    }

    static TABLE: Table = Table {
        magic: MAGIC,
        pool: &POOL,
        workers: offset_of!(Pool, workers) as u32,
        worker_count: offset_of!(Pool, count) as u32,
        worker_bytes: size_of::<Worker>() as u32,
        counters: offset_of!(Worker, counters) as u32,
        spawned: (offset_of!(Pool, tallies) + offset_of!(Tally, spawned)) as u32,
        spawned_count: TALLIES as u32,
        spawned_bytes: size_of::<Tally>() as u32,
        queued: offset_of!(Pool, shared) as u32,
        most_queued: offset_of!(Pool, most_shared) as u32,
    };

    // As the twin reads them.
    const _: () = {
        assert!(offset_of!(Counters, executed) == 0 && offset_of!(Counters, stolen) == 4);
        assert!(offset_of!(Counters, attempts) == 8 && offset_of!(Counters, idle) == 16);
        assert!(offset_of!(Counters, time) == 24 && size_of::<Table>() == 56);
    };

    /// Has the optimizer keep the table as it is: nothing in the program reads it.
    pub(in crate::task) fn keep() {
        core::hint::black_box(&TABLE);
    }
}

#[cfg(target_arch = "wasm32")]
pub(super) use table::keep as keep_table;

/// Counters of all workers since the first [`run`](super::run).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Threads that run tasks.
    pub workers: u32,
    /// Jobs that were taken from a queue or from another worker. What a worker does of its own `join`s is none, and neither
    /// are the pieces of a loop of [`par`](crate::par).
    pub executed: u64,
    /// Jobs that were taken from another worker.
    pub stolen: u64,
    /// Looks into another worker's deque.
    pub attempts: u64,
    /// Tasks with a handle.
    pub spawned: u32,
    /// Jobs that lie in no deque now: in queues for all workers, in those of single ones, and loops that workers share.
    pub queued: u32,
    /// The most that lay there at once.
    pub most_queued: u32,
    /// How long all workers together found nothing to do, in spells that have ended.
    pub idle: Duration,
    /// How long all workers together took part in calls of [`run`](super::run) that have ended.
    pub time: Duration,
}

/// Adds up what all workers have counted; `None` outside of [`run`](super::run). It looks at each of them.
///
/// `gpu-run --stats` shows the same when the program has ended.
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
        most_queued: current.pool.most_queued(),
        ..Stats::default()
    };
    let read = |counter| u64::from(atomic::load(counter, SeqCst, Scope::Device));
    let read_time = |counter| Duration::from_nanos(atomic::load(counter, SeqCst, Scope::Device));
    for worker in current.pool.workers() {
        let counters = &worker.counters;
        stats.workers += 1;
        stats.executed += read(&counters.executed);
        stats.stolen += read(&counters.stolen);
        stats.attempts += read(&counters.attempts);
        stats.idle += read_time(&counters.idle);
        stats.time += read_time(&counters.time);
    }
    Some(stats)
}
