//! `join`: the job lies on the caller's stack.

use core::cell::UnsafeCell;

use super::context::{self, Current};
use super::handle::Core;
use super::job::{Job, Panic, catch, resume};
use super::pool::pause;
use crate::platform;
use crate::word::Word32;

/// The second function of a `join`.
#[repr(C)]
struct StackJob<B, R> {
    job: Job,
    done: Word32,
    task: *mut Core,
    body: UnsafeCell<Option<B>>,
    result: UnsafeCell<Option<Result<R, Panic>>>,
}

/// Runs both functions, maybe at once, and returns both results.
///
/// The caller runs `a`. If another worker has nothing to do it runs `b`, else the caller does afterwards. Outside of
/// [`run`](super::run) it is two calls. It is cheap, but not free: a function that takes less than some microseconds is
/// better called.
///
/// ```
/// use gpu_std::task;
///
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 16 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (a, b) = task::join(|| sum(left), || sum(right));
///     a + b
/// }
///
/// let numbers: Vec<u64> = (0..1000).collect();
/// assert_eq!(task::run(|| sum(&numbers)), Some(499_500));
/// ```
///
/// # Panics
///
/// If `a` or `b` does, after both have ended.
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(current) = Current::get() else {
        return (a(), b());
    };
    let job = StackJob {
        job: Job::new(run::<B, RB>),
        done: Word32::new(0),
        task: context::task(&current),
        body: UnsafeCell::new(Some(b)),
        result: UnsafeCell::new(None),
    };
    let address = (&raw const job.job).cast_mut();
    let worker = current.worker();
    if !worker.deque.push(address) {
        let b = job.body.into_inner().expect("it was not taken");
        return (a(), b());
    }
    // Lanes that begin something begin it together: see `platform::meet`.
    platform::meet();
    let a = catch(a);
    let b = loop {
        match worker.deque.pop() {
            Some(own) if own == address => {
                // SAFETY: it was taken back, so nobody else has it.
                let body = unsafe { (*job.body.get()).take() };
                platform::meet();
                break catch(body.expect("it was not run"));
            }
            // A job that `a` has spawned.
            Some(other) => current.pool.run_job(worker, other),
            None => {
                wait(&current, &job.done);
                // SAFETY: who ran it has written the result before `done`, and does not come back to it.
                break unsafe { (*job.result.get()).take() }.expect("it was run");
            }
        }
    };
    match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), _) | (_, Err(panic)) => resume(panic),
    }
}

/// Another worker runs the job. This one does what else there is.
#[cold]
fn wait(current: &Current, done: &Word32) {
    let mut looks = 0;
    while done.get() == 0 {
        if current.pool.may_help(current.number, looks) && current.pool.step(current.number) {
            looks = 0;
            continue;
        }
        looks += 1;
        pause(looks);
    }
}

unsafe fn run<B: FnOnce() -> R, R>(job: *const Job) {
    // SAFETY: the job is the first field of this, which stays until `done` is set. Whoever runs it has it for itself.
    let job = unsafe { &*job.cast::<StackJob<B, R>>() };
    // SAFETY: as above.
    let body = unsafe { (*job.body.get()).take() }.expect("it is run once");
    let result = match Current::get() {
        Some(current) => context::within(&current, job.task, || catch(body)),
        None => catch(body),
    };
    // SAFETY: as above.
    unsafe { *job.result.get() = Some(result) };
    // The last access.
    job.done.set(1);
}
