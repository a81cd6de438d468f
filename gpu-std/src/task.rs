//! Tasks: pieces of work that the threads of a kernel share among themselves.
//!
//! [`run`] makes the threads of a kernel the workers of a pool. The first one runs the function that it is given; the
//! others run what that spawns. On a host the workers are threads of std, one for each processor. So the same source is
//! tested with `cargo test`.
//!
//! ```
//! use gpu_std::task;
//!
//! fn fib(n: u32) -> u64 {
//!     if n < 10 {
//!         return if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) };
//!     }
//!     let (a, b) = task::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//!
//! gpu_std::kernel! {
//!     pub fn fibonacci() -> u64 {
//!         task::run(|| fib(20)).unwrap_or(0)
//!     }
//! }
//! assert_eq!(fibonacci(), 6765);
//! ```
//!
//! | function | what for |
//! |---|---|
//! | [`join`] | two functions that may run at once, and their results: the cheapest way |
//! | [`scope`] | any number of tasks that borrow from the caller |
//! | [`spawn`], [`Builder`] | tasks with a handle: priority, deadline, worker, [`Quota`], cancellation |
//! | [`after`] | tasks that begin when others have ended |
//! | [`run_spread`] | [`run`] for tasks that have nothing in common |
//! | [`retry`] | a function again, until it does not panic |
//!
//! # How work is shared
//!
//! On a GPU the lanes of a warp run one after the other what they do not do together. So tasks that each go a way of
//! their own gain nothing from 32 lanes of a warp: [`run_spread`] gives each such worker a warp for itself.
//!
//! Each worker has a deque: it takes its newest task, and others that have none steal its oldest. So what is stolen is
//! large, and what is near stays near. A worker that waits for a task of another one runs other tasks meanwhile. Tasks
//! with a priority, a deadline or without room in a deque lie in queues that all workers look at.
//!
//! # Panics
//!
//! In builds that unwind, a panic ends the task, and is what its [`JoinHandle::join`] returns; [`join`] and [`scope`]
//! pass it on once all that they began has ended. In others it ends the process.

mod builder;
mod bulk;
mod context;
mod deque;
mod handle;
mod job;
mod join;
mod pool;
mod queue;
mod quota;
mod scope;
mod stats;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
mod timer;

pub use builder::{Builder, Priority, after};
pub use handle::{Cancelled, JoinHandle};
pub use join::join;
pub use pool::{run, run_spread, worker, workers};
pub use quota::Quota;
pub use scope::{Scope, scope};
pub use stats::{Stats, stats};

pub(crate) use bulk::run_bulk;
pub(crate) use context::{help, is_only_worker, may_help};
pub(crate) use handle::Owner;
#[allow(unused_imports)] // Of threads, which some targets have.
pub(crate) use job::{catch, resume};
pub(crate) use timer::{fire_timers, poll_io, set_timer};
#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub(crate) use timer::{set_poller, until_timer};

/// Runs a function as a task of its own: [`Builder::spawn`] with a normal priority.
///
/// ```
/// use gpu_std::task;
///
/// let sum = task::run(|| {
///     let squares: Vec<_> = (0..10u64).map(|n| task::spawn(move || n * n)).collect();
///     squares.into_iter().map(|task| task.join().unwrap()).sum::<u64>()
/// });
/// assert_eq!(sum, Some(285));
/// ```
///
/// # Panics
///
/// Outside of [`run`].
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().spawn(f)
}

/// Runs one other task, if there is one to be found.
///
/// ```
/// gpu_std::task::run(|| gpu_std::task::yield_now());
/// ```
pub fn yield_now() {
    if !(may_help(0) && help()) {
        crate::platform::pause();
    }
}

/// Whether the task that calls it was cancelled: a long one looks from time to time, and returns.
///
/// ```
/// use gpu_std::task;
///
/// task::run(|| {
///     let endless = task::spawn(|| while !task::is_cancelled() { task::yield_now() });
///     endless.cancel();
/// });
/// ```
pub fn is_cancelled() -> bool {
    context::cancelled()
}

/// Calls `f` until it returns without a panic, `attempts` times at most; the last panic goes on.
///
/// In builds that abort on a panic, the first one ends the process.
///
/// ```
/// let mut calls = 0;
/// let value = gpu_std::task::retry(3, || { calls += 1; if calls < 3 { panic!("not yet") } calls });
/// assert_eq!(value, 3);
/// ```
///
/// # Panics
///
/// If `f` does each time.
pub fn retry<T>(attempts: u32, mut f: impl FnMut() -> T) -> T {
    for _ in 1..attempts {
        if let Ok(value) = catch(&mut f) {
            return value;
        }
    }
    f()
}
