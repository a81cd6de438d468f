//! Which worker the calling thread is.

use core::sync::atomic::Ordering::Relaxed;

use super::handle::Core;
use super::pool::{Pool, Worker};

/// The worker that runs the calling code.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub pool: &'static Pool,
    pub number: u32,
}

#[cfg(target_arch = "wasm32")]
mod of_target {
    use super::*;

    /// The pool of the kernel.
    pub(in crate::task) static POOL: Pool = Pool::new();

    impl Current {
        #[inline]
        pub fn get() -> Option<Current> {
            let number = POOL.number_of(crate::thread_id())?;
            let active = POOL
                .worker(number)
                .is_some_and(|worker| worker.own.active.load(Relaxed) != 0);
            active.then_some(Current { pool: &POOL, number })
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod of_target {
    use super::*;
    use core::cell::Cell;

    #[cfg(all(test, shuttle))]
    use shuttle::thread_local;
    #[cfg(not(all(test, shuttle)))]
    use std::thread_local;

    thread_local! {
        static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    }

    /// Runs `f` as a worker of a pool.
    pub(in crate::task) fn with<R>(pool: &Pool, number: u32, f: impl FnOnce() -> R) -> R {
        // SAFETY: it is forgotten before the pool ends, because `f` does not unwind: what it runs is caught.
        let pool: &'static Pool = unsafe { &*core::ptr::from_ref(pool) };
        CURRENT.with(|current| current.set(Some(Current { pool, number })));
        let result = f();
        CURRENT.with(|current| current.set(None));
        result
    }

    impl Current {
        pub fn get() -> Option<Current> {
            CURRENT.with(Cell::get)
        }
    }
}

#[cfg(target_arch = "wasm32")]
pub(super) use of_target::POOL;
#[cfg(not(target_arch = "wasm32"))]
pub(super) use of_target::with;

impl Current {
    pub fn worker(&self) -> &'static Worker {
        self.pool.worker(self.number).expect("it is one of them")
    }
}

/// Whether the caller is a worker.
pub(crate) fn is_worker() -> bool {
    Current::get().is_some()
}

/// Whether the caller is the only worker of its pool.
pub(crate) fn is_only_worker() -> bool {
    Current::get().is_some_and(|current| current.pool.workers().len() == 1)
}

/// Whether the caller is a worker that may run jobs while it waits, after so many looks in vain.
pub(crate) fn may_help(looks: u32) -> bool {
    Current::get().is_some_and(|current| current.pool.may_help(current.number, looks))
}

/// Runs a job, if one is found.
pub(crate) fn help() -> bool {
    super::fire_timers();
    Current::get().is_some_and(|current| current.pool.step(current.number))
}

/// Whether the task that runs here was cancelled.
pub(super) fn cancelled() -> bool {
    let task = Current::get().map(|current| current.worker().own.task.load(Relaxed));
    // SAFETY: a task lives while it runs.
    task.is_some_and(|task| !task.is_null() && unsafe { (*task).is_cancelled() })
}

/// Runs `f` as part of a task.
pub(super) fn within<R>(current: &Current, task: *mut Core, f: impl FnOnce() -> R) -> R {
    let own = &current.worker().own.task;
    let before = own.load(Relaxed);
    own.store(task, Relaxed);
    let result = f();
    own.store(before, Relaxed);
    result
}

/// The task that runs here.
pub(super) fn task(current: &Current) -> *mut Core {
    current.worker().own.task.load(Relaxed)
}
