//! `scope`: tasks that borrow.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use std::boxed::Box;

use super::context::{self, Current};
use super::handle::Core;
use super::job::{Job, Panic, catch, resume};
use super::pool::pause;
use crate::sync::RawLock;
use crate::word::Word32;

/// Where [`scope`] spawns tasks.
pub struct Scope<'scope> {
    live: Word32,
    lock: RawLock,
    /// The first panic.
    panic: UnsafeCell<Option<Panic>>,
    /// It can neither be longer nor shorter.
    of: PhantomData<&'scope mut &'scope ()>,
}

// SAFETY: the panic is only reached with the lock.
unsafe impl Sync for Scope<'_> {}

#[repr(C)]
struct ScopeJob<'scope, F> {
    job: Job,
    task: *mut Core,
    scope: *const Scope<'scope>,
    body: F,
}

/// Calls `f` with a scope, and returns when it and all tasks that were spawned there have ended.
///
/// The tasks may borrow what lives longer than the scope, and spawn more of their kind.
///
/// ```
/// use gpu_std::task;
///
/// let mut counts = [0; 4];
/// task::run(|| {
///     task::scope(|scope| {
///         for (i, count) in counts.iter_mut().enumerate() {
///             scope.spawn(move |_| *count = i * i);
///         }
///     })
/// });
/// assert_eq!(counts, [0, 1, 4, 9]);
/// ```
///
/// # Panics
///
/// If `f` or a task does, with the first such panic, after all have ended.
pub fn scope<'scope, R>(f: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let scope = Scope {
        live: Word32::new(0),
        lock: RawLock::new(),
        panic: UnsafeCell::new(None),
        of: PhantomData,
    };
    let result = catch(|| f(&scope));
    let mut looks = 0;
    while scope.live.get() != 0 {
        if context::may_help(looks) && context::help() {
            looks = 0;
            continue;
        }
        looks += 1;
        pause(looks);
    }
    match (result, scope.panic.into_inner()) {
        (Ok(result), None) => result,
        (Err(panic), _) | (_, Some(panic)) => resume(panic),
    }
}

impl<'scope> Scope<'scope> {
    /// Runs a function as a task of the scope. Outside of [`run`](super::run) it is called at once.
    pub fn spawn(&self, f: impl FnOnce(&Scope<'scope>) + Send + 'scope) {
        let Some(current) = Current::get() else {
            return self.keep(catch(|| f(self)));
        };
        self.live.add(1);
        let job = Box::new(ScopeJob {
            job: Job::new(run_in_scope(&f)),
            task: context::task(&current),
            scope: self,
            body: f,
        });
        // The scope ends only when the job has run.
        let job = Box::into_raw(job).cast::<Job>();
        current.pool.push(job, Some(current.number));
    }

    fn keep(&self, result: Result<(), Panic>) {
        if let Err(panic) = result {
            self.lock.with(|| {
                // SAFETY: with the lock.
                let first = unsafe { &mut *self.panic.get() };
                first.get_or_insert(panic);
            });
        }
    }
}

impl core::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scope")
            .field("live", &self.live.get())
            .finish_non_exhaustive()
    }
}

/// The function that runs such a job, by the type of its body.
fn run_in_scope<'scope, F: FnOnce(&Scope<'scope>)>(_: &F) -> unsafe fn(*const Job) {
    run::<F>
}

unsafe fn run<'scope, F: FnOnce(&Scope<'scope>)>(job: *const Job) {
    // SAFETY: made by `spawn`; it is run once.
    let job = unsafe { Box::from_raw(job.cast_mut().cast::<ScopeJob<'scope, F>>()) };
    let ScopeJob { task, scope, body, .. } = *job;
    // SAFETY: it waits for this job.
    let scope = unsafe { &*scope };
    let call = || catch(|| body(scope));
    let result = match Current::get() {
        Some(current) => context::within(&current, task, call),
        None => call(),
    };
    scope.keep(result);
    // The last access.
    scope.live.sub(1);
}
