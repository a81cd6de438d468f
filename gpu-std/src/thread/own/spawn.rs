//! Threads that go on for themselves.

use core::cell::UnsafeCell;
use core::fmt;
use core::num::NonZero;
use std::boxed::Box;
use std::io;
use std::string::String;
use std::thread::Result;

use super::current::{self, Thread};
use super::scope::{Scope, ScopedJoinHandle};
use super::stack::{Body, Record, Stack};
use crate::sync::Arc;
use crate::task::catch;

/// How a thread is to be: [`std::thread::Builder`].
#[derive(Debug, Default)]
#[must_use = "it spawns nothing by itself"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

/// Bytes of a stack where nothing else is said.
const STACK: usize = 64 << 10;

impl Builder {
    /// A thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// What [`Thread::name`] says.
    pub fn name(self, name: String) -> Builder {
        Builder {
            name: Some(name),
            ..self
        }
    }

    /// Bytes of its stack, at least; 64 KiB without. In a build for threads its thread-locals of std are in there too.
    pub fn stack_size(self, bytes: usize) -> Builder {
        Builder {
            stack_size: Some(bytes),
            ..self
        }
    }

    /// Spawns a thread that calls `f`. It goes on when its handle is dropped.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there are as many threads as there can be,
    /// [`OutOfMemory`](io::ErrorKind::OutOfMemory) if there is no memory for its stack.
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: neither borrows anything.
        unsafe { self.spawn_unchecked(f, |_| {}) }.map(JoinHandle)
    }

    /// Spawns a thread of a [`scope`](super::scope()).
    ///
    /// # Errors
    ///
    /// As of [`spawn`](Self::spawn).
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let state = scope.begin();
        let theirs = state.clone();
        // SAFETY: the scope does not end before it is told so.
        match unsafe { self.spawn_unchecked(f, move |panicked| theirs.end(panicked)) } {
            Ok(handle) => Ok(ScopedJoinHandle::new(handle, state)),
            Err(error) => {
                state.end(false);
                Err(error)
            }
        }
    }

    /// Spawns a thread that calls `f` and, when nothing of it is left, `ended`, with whether it panicked.
    ///
    /// # Safety
    ///
    /// What `f` and its result borrow outlives the call of `ended`.
    unsafe fn spawn_unchecked<'a, F, T>(self, f: F, ended: impl FnOnce(bool) + Send + 'a) -> io::Result<Handle<T>>
    where
        F: FnOnce() -> T + Send + 'a,
        T: Send + 'a,
    {
        let thread = Thread::new(self.name);
        let packet = Arc::new(Packet(UnsafeCell::new(None)));
        let (of_thread, theirs) = (thread.clone(), packet.clone());
        let body = move || {
            current::begin(of_thread);
            let result = catch(f);
            let panicked = result.is_err();
            // SAFETY: a thread that joins reads it once this one is done. Until then this thread alone has it.
            unsafe { *theirs.0.get() = Some(result) };
            // The last owner drops the result, which may panic as the function may.
            let _ = catch(|| drop(theirs));
            ended(panicked);
        };
        let body: Box<dyn FnOnce() + Send + 'a> = Box::new(body);
        // SAFETY: the same type but for its lifetime; it is gone before what it borrows, by the caller's promise.
        let body: Body = unsafe { core::mem::transmute(body) };
        let stack = Stack::new(self.stack_size.unwrap_or(STACK), run, body);
        let stack = stack.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        match stack.begin() {
            true => Ok(Handle { stack, thread, packet }),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// What a spawned thread calls.
extern "C" fn run(_id: u32, record: *const Record) {
    // SAFETY: it stays until this has returned.
    let record = unsafe { &*record };
    // SAFETY: this is the thread.
    if let Some(body) = unsafe { record.take_body() } {
        body();
    }
    // SAFETY: no `with` of a thread-local is under way. A panic of a destructor ends the process, as it does with std.
    unsafe { current::end() };
    record.finish();
}

/// Where a thread leaves its result.
#[derive(Debug)]
struct Packet<T>(UnsafeCell<Option<Result<T>>>);

// SAFETY: the thread writes before it is done, and a thread that joins reads after that.
unsafe impl<T: Send> Sync for Packet<T> {}
// SAFETY: the last owner drops the result, in whatever thread.
unsafe impl<T: Send> Send for Packet<T> {}

/// What is the same for both kinds of handles.
#[derive(Debug)]
pub(super) struct Handle<T> {
    stack: Stack,
    thread: Thread,
    packet: Arc<Packet<T>>,
}

impl<T> Handle<T> {
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
    pub fn is_finished(&self) -> bool {
        self.stack.is_done()
    }
    pub fn join(self) -> Result<T> {
        self.stack.wait();
        // SAFETY: the thread is done; it wrote the result before, and no other handle takes it.
        let result = unsafe { (*self.packet.0.get()).take() };
        result.expect("a thread that is done has left its result")
    }
}

/// A spawned thread: [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(Handle<T>);

impl<T> JoinHandle<T> {
    /// Its handle.
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// What it panicked with, in builds that unwind.
    pub fn join(self) -> Result<T> {
        self.0.join()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Spawns a thread that calls `f`. It goes on when its handle is dropped.
///
/// # Panics
///
/// If there is no room for it; [`Builder::spawn`] returns an error then.
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// How many threads are of use: those of `--threads`, or else what is sensible for the device.
///
/// # Errors
///
/// None; std's has some.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    let told = crate::env::var("GPU_THREADS").ok().and_then(|text| text.parse().ok());
    let running = crate::thread_count() as usize;
    Ok(told.or(NonZero::new(running)).unwrap_or(NonZero::<usize>::MIN))
}
