//! Tasks with a handle: what they are, and how one waits for them.

use core::cell::UnsafeCell;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use std::boxed::Box;

use super::builder::Wishes;
use super::context::{self, Current};
use super::job::{Job, Panic, catch};
use super::pool::Pool;
use crate::event::{Event, Place};
use crate::word::{Word32, WordPtr};

/// What is the same for all tasks with a handle, whatever they compute.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Core {
    job: Job,
    pool: &'static Pool,
    owners: Word32,
    state: Word32,
    cancelled: Word32,
    /// Tasks that have to end before this one begins, and 1 while it is being made.
    awaited: Word32,
    /// Tasks that wait for this one; [`CLOSED`] once it has ended.
    successors: WordPtr<Successor>,
    ended: Event,
    wishes: Wishes,
    /// A quota has let it in.
    admitted: Word32,
    /// Frees the whole.
    free: unsafe fn(*mut Core),
}

/// A task that waits for another one.
#[derive(Debug)]
struct Successor {
    task: Owner,
    next: *mut Successor,
}

/// The address that says that a list is closed: no successor lies there.
const CLOSED: *mut Successor = core::ptr::without_provenance_mut(1);

// States. A function goes from WAITS by READY to ENDED. A future may be ready again while it runs.
const WAITS: u32 = 0;
const READY: u32 = 1;
const RUNS: u32 = 2;
const RUNS_AND_READY: u32 = 3;
const ENDED: u32 = 4;

/// One of the owners of a task, who keep it alive.
#[derive(Debug)]
pub(crate) struct Owner(NonNull<Core>);

// SAFETY: a task is made to be shared: what is not atomic in it is reached by one thread at a time, by its state.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}

impl core::ops::Deref for Owner {
    type Target = Core;
    fn deref(&self) -> &Core {
        // SAFETY: it lives as long as any owner.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Owner {
    fn clone(&self) -> Owner {
        self.owners.add(1);
        Owner(self.0)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.owners.sub(1) == 1 {
            // SAFETY: the last owner.
            unsafe { (self.free)(self.0.as_ptr()) };
        }
    }
}

impl Owner {
    /// The owner as an address, for a waker; see [`from_raw`](Self::from_raw).
    pub fn into_raw(self) -> *const () {
        ManuallyDrop::new(self).0.as_ptr().cast_const().cast()
    }
    /// # Safety
    ///
    /// The address is that of an owner, which goes to the caller.
    pub unsafe fn from_raw(address: *const ()) -> Owner {
        // SAFETY: it came from `into_raw`.
        Owner(unsafe { NonNull::new_unchecked(address.cast_mut().cast()) })
    }

    /// This task begins after `other` has ended.
    pub(super) fn begin_after(&self, other: &Owner) {
        self.awaited.add(1);
        let node = Box::into_raw(Box::new(Successor {
            task: self.clone(),
            next: core::ptr::null_mut(),
        }));
        let mut first = other.successors.get();
        while first != CLOSED {
            // SAFETY: the node is this thread's until it is in the list.
            unsafe { (*node).next = first };
            match other.successors.replace(first, node) {
                Ok(()) => return,
                Err(found) => first = found,
            }
        }
        // SAFETY: it did not get into the list.
        drop(unsafe { Box::from_raw(node) });
        self.awaited.sub(1);
    }

    /// One of the tasks that this one waits for has ended, or it is made.
    pub(super) fn release(&self) {
        if self.awaited.sub(1) == 1 {
            self.wake();
        }
    }

    /// Makes the task ready, unless it is or has ended.
    pub fn wake(&self) {
        loop {
            let (from, to) = match self.state.get() {
                WAITS => (WAITS, READY),
                RUNS => (RUNS, RUNS_AND_READY),
                ENDED => return,
                // It will run. The exchange is there so that the run, which begins with one too, sees what came before.
                ready => (ready, ready),
            };
            if self.state.replace(from, to).is_ok() {
                if from == WAITS {
                    self.enqueue();
                }
                return;
            }
        }
    }

    /// Puts a ready task where workers find it. That is an owner too.
    pub(super) fn enqueue(&self) {
        // Counted before the job is there to be run: a host's pool stays until this is back.
        #[cfg(not(target_arch = "wasm32"))]
        self.pool.visitors.add(1);
        let job: *mut Job = self.clone().into_raw().cast_mut().cast();
        let me = Current::get().filter(|current| core::ptr::eq(current.pool, self.pool));
        let me = me.map(|current| current.number);
        match self.wishes {
            Wishes {
                worker: Some(number), ..
            } => self.pool.push_to_worker(job, number),
            Wishes {
                deadline: Some(deadline),
                ..
            } => self.pool.push_with_deadline(job, deadline),
            Wishes { priority, .. } if priority.is_normal() => self.pool.push(job, me),
            Wishes { priority, .. } => self.pool.push_to_queue(job, priority),
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.pool.visitors.sub(1);
    }

    /// The task has ended; its result is there.
    fn end(&self) {
        self.state.set(ENDED);
        if let Some(quota) = &self.wishes.quota {
            quota.leave();
        }
        let mut successor = self.successors.swap(CLOSED);
        while !successor.is_null() {
            // SAFETY: the list is closed, so its nodes are this thread's.
            let node = unsafe { Box::from_raw(successor) };
            node.task.release();
            successor = node.next;
        }
        self.ended.notify_all();
        let me = Current::get().map_or(0, |current| current.number);
        self.pool.count_ended(me);
    }

    /// Whether a task that is about to begin has to wait until its quota has room. It is made ready then.
    fn must_wait(&self) -> bool {
        let Some(quota) = &self.wishes.quota else { return false };
        if self.admitted.get() != 0 {
            return false;
        }
        self.admitted.set(1);
        !quota.enter(self)
    }
}

impl Core {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.get() != 0
    }
    fn has_ended(&self) -> bool {
        self.state.get() == ENDED
    }
}

/// A task whose result is a `T`.
#[repr(C)]
struct Output<T> {
    core: Core,
    /// Written by the task before it ends, then taken by the handle.
    result: UnsafeCell<Option<Result<T, Panic>>>,
}

/// A task with what it runs: a function or a future.
#[repr(C)]
struct Task<B, T> {
    output: Output<T>,
    body: UnsafeCell<Option<B>>,
}

impl<B, T> Task<B, T> {
    fn make(pool: &'static Pool, wishes: Wishes, run: unsafe fn(*const Job), body: B) -> (Owner, JoinHandle<T>) {
        unsafe fn free<B, T>(core: *mut Core) {
            // SAFETY: made below, and nobody has it any more.
            drop(unsafe { Box::from_raw(core.cast::<Task<B, T>>()) });
        }
        let task = Box::new(Task::<B, T> {
            output: Output {
                core: Core {
                    job: Job::new(run),
                    pool,
                    owners: Word32::new(1),
                    state: Word32::new(WAITS),
                    cancelled: Word32::new(0),
                    awaited: Word32::new(1),
                    successors: WordPtr::null(),
                    ended: Event::new(),
                    wishes,
                    admitted: Word32::new(0),
                    free: free::<B, T>,
                },
                result: UnsafeCell::new(None),
            },
            body: UnsafeCell::new(Some(body)),
        });
        let owner = Owner(NonNull::from(Box::leak(task)).cast());
        let handle = JoinHandle {
            task: owner.clone(),
            place: Place::default(),
            of: core::marker::PhantomData,
        };
        (owner, handle)
    }
}

/// Makes a task of a function; it begins when it is released.
pub(super) fn make<T: Send + 'static>(
    current: &Current,
    wishes: Wishes,
    f: impl FnOnce() -> T + Send + 'static,
) -> (Owner, JoinHandle<T>) {
    fn runner<F: FnOnce() -> T, T>(_: &F) -> unsafe fn(*const Job) {
        run::<F, T>
    }
    unsafe fn run<F: FnOnce() -> T, T>(job: *const Job) {
        // SAFETY: `enqueue` left an owner with the job.
        let owner = unsafe { Owner::from_raw(job.cast()) };
        if owner.must_wait() {
            return;
        }
        owner.state.swap(RUNS);
        // SAFETY: the job is the first field of such a task.
        let task = unsafe { owner.0.cast::<Task<F, T>>().as_ref() };
        // SAFETY: a function is made ready once, so one thread runs it.
        let body = unsafe { (*task.body.get()).take() };
        let result = match owner.is_cancelled() {
            true => Err(Box::new(Cancelled) as Panic),
            false => {
                let body = body.expect("it is run once");
                let current = Current::get().expect("tasks are run by workers");
                context::within(&current, owner.0.as_ptr(), || catch(body))
            }
        };
        // SAFETY: nobody reads it before the task has ended.
        unsafe { *task.output.result.get() = Some(result) };
        owner.end();
    }
    let made = Task::make(current.pool, wishes, runner(&f), f);
    current.pool.count_spawned(current.number);
    made
}

/// Makes a task of a future, which is polled whenever it was woken.
pub(super) fn make_future<F>(current: &Current, wishes: Wishes, future: F) -> (Owner, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    unsafe fn run<F: Future>(job: *const Job) {
        // SAFETY: `enqueue` left an owner with the job.
        let owner = unsafe { Owner::from_raw(job.cast()) };
        if owner.must_wait() {
            return;
        }
        owner.state.swap(RUNS);
        // SAFETY: the job is the first field of such a task.
        let task = unsafe { owner.0.cast::<Task<F, F::Output>>().as_ref() };
        // SAFETY: while it runs it is not made ready, so one thread is here. The future stays in the task's memory until it
        // is dropped there: it is pinned.
        let body = unsafe { &mut *task.body.get() };
        let result = if owner.is_cancelled() {
            Some(Err(Box::new(Cancelled) as Panic))
        } else {
            let current = Current::get().expect("tasks are run by workers");
            let waker = crate::future::waker_of(owner.clone());
            let mut context = Context::from_waker(&waker);
            // SAFETY: as above.
            let future = unsafe { Pin::new_unchecked(body.as_mut().expect("it has not ended")) };
            let poll = context::within(&current, owner.0.as_ptr(), || catch(|| future.poll(&mut context)));
            match poll {
                Ok(Poll::Pending) => None,
                Ok(Poll::Ready(value)) => Some(Ok(value)),
                Err(panic) => Some(Err(panic)),
            }
        };
        match result {
            Some(result) => {
                // Dropped in place, before the end is told.
                let panic = catch(|| *body = None).err();
                // SAFETY: nobody reads it before the task has ended.
                unsafe { *task.output.result.get() = Some(panic.map_or(result, Err)) };
                owner.end();
            }
            // Woken meanwhile: it is ready again.
            None => {
                if owner.state.replace(RUNS, WAITS).is_err() {
                    owner.state.set(READY);
                    owner.enqueue();
                }
            }
        }
    }
    let made = Task::make(current.pool, wishes, run::<F>, future);
    current.pool.count_spawned(current.number);
    made
}

/// A task that was spawned, and its result. Dropped, the task goes on.
#[derive(Debug)]
pub struct JoinHandle<T> {
    task: Owner,
    /// Among those that wait for the task, if it was polled.
    place: Place,
    of: core::marker::PhantomData<T>,
}

// SAFETY: it gives the result to one thread.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives nothing of the result.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

/// What [`JoinHandle::join`] returns, as its error, of a task that was cancelled before it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl core::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the task was cancelled")
    }
}

impl core::error::Error for Cancelled {}

impl<T> JoinHandle<T> {
    /// Waits until the task has ended; a worker runs others meanwhile.
    ///
    /// # Errors
    ///
    /// With what it panicked with; with [`Cancelled`] if it was cancelled and had not begun.
    pub fn join(self) -> std::thread::Result<T> {
        self.task
            .ended
            .wait_and_help(|| self.task.has_ended().then_some(()), None);
        self.take()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.task.has_ended()
    }

    /// If it has not begun, it never will. If it has, [`is_cancelled`](super::is_cancelled) tells it so; a future is
    /// dropped instead of being polled again.
    pub fn cancel(&self) {
        self.task.cancelled.set(1);
        // It need not wait for anything more.
        self.task.wake();
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.task
    }

    fn take(&self) -> std::thread::Result<T> {
        // SAFETY: an owner of a task with this result. It has ended, so that only its one handle reaches the result.
        let result = unsafe { (*self.task.0.cast::<Output<T>>().as_ref().result.get()).take() };
        result.expect("a handle takes the result once")
    }
}

/// The result of the task. It is ready once.
impl<T> Future for JoinHandle<T> {
    type Output = std::thread::Result<T>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let task = &this.task;
        let look = || task.has_ended().then_some(());
        let poll = task.ended.poll(&mut this.place, context.waker(), look);
        poll.map(|()| self.take())
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        self.task.ended.give_up(&mut self.place);
    }
}

impl<T> Unpin for JoinHandle<T> {}
