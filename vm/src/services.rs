//! What guests ask of the host: requests, and the services that answer them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use gpu_run_bytecode::wasi::Function;

use crate::Stream;
pub use crate::wasi::TmpfsFiles;

/// A call of a WASI function by a guest's thread.
///
/// The kernel has gathered what the function's pointers point to; the host sees no linear memory.
#[derive(Clone, Copy, Debug)]
pub struct HostCall<'r> {
    /// The function, of those that the host serves.
    pub function: Function,
    /// The thread that calls.
    pub thread: u32,
    /// Of a batch whose processes start others: which of these calls, from 1; 0: one that the host has started.
    pub child: u32,
    /// The wasm arguments in order, i32 zero-extended. Pointers among them mean nothing to the host, but
    /// the lengths beside them do.
    pub args: &'r [u64],
    /// The bytes of all `In`, `InVec` and `Subscriptions` parameters, in order.
    pub input: &'r [u8],
    /// Bytes that the reply's data may have: what the `Out`, `OutVec` or `Events` parameter can take.
    pub capacity: usize,
    /// The run that the call is of.
    pub run: CallingRun<'r>,
}

/// The run that a call is of. It may end before the call does, which then goes on while the next run is under way. The
/// call must change nothing that the next run sees. So services change what outlives the run, such as the table of
/// descriptors, by [`unless_ended`](CallingRun::unless_ended).
///
/// The default is none: calls that no guest makes, and those of a run that is the [last](Environment::last).
#[derive(Clone, Copy, Debug, Default)]
pub struct CallingRun<'r> {
    /// True while the run is under way. Its end has this to write once, and so waits for changes under way.
    alive: Option<&'r Arc<RwLock<bool>>>,
    /// What calls of the run have closed, and the thread that makes this one.
    closed: Option<(&'r Closed, u32)>,
}

/// Descriptors that calls of a run have closed or moved, and by which thread.
#[derive(Debug, Default)]
pub(crate) struct Closed(Mutex<HashMap<u32, u32>>);

impl Closed {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a descriptor was closed that the device's thread may not know of yet.
    pub(crate) fn contains(&self, descriptor: u32) -> bool {
        self.lock().contains_key(&descriptor)
    }

    /// That a thread goes on to use a descriptor's number: if it has closed it, the device knows of that.
    pub(crate) fn forget(&self, descriptor: u32, thread: u32) {
        let mut closed = self.lock();
        if closed.get(&descriptor) == Some(&thread) {
            closed.remove(&descriptor);
        }
    }
}

impl<'r> CallingRun<'r> {
    pub(crate) fn new(alive: &'r Arc<RwLock<bool>>) -> CallingRun<'r> {
        CallingRun {
            alive: Some(alive),
            closed: None,
        }
    }

    /// The same run, for a call of that thread, which says what it closes.
    pub(crate) fn telling(self, closed: &'r Closed, thread: u32) -> CallingRun<'r> {
        CallingRun {
            closed: Some((closed, thread)),
            ..self
        }
    }

    /// The run, for a change that another thread makes after the call has been answered.
    pub fn keep(&self) -> KeptRun {
        KeptRun(self.alive.cloned())
    }

    /// Says that a descriptor was closed, or moved away or over. To be called inside of the change that does it. At the
    /// end of the run the services are told the positions of files that the device holds. They are not told that of one
    /// whose number may be another file's by then.
    pub fn closed(&self, descriptor: u32) {
        if let Some((closed, thread)) = self.closed {
            closed.lock().insert(descriptor, thread);
        }
    }

    /// Makes a change, unless the run has ended. Then it returns `None`, and what the call returns is of no interest.
    ///
    /// The run does not end meanwhile. So the change must not wait for what may never come, such as input, a peer or a
    /// time. Nor may it have another one inside. It may use files: the end of the run waits until the host has read,
    /// written or renamed one. That is as long as the file system takes, also for a run that is stopped. For one of a
    /// network that does not answer it is without end. A run that is the [last](Environment::last) never waits.
    pub fn unless_ended<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        unless_ended(self.alive, change)
    }
}

fn unless_ended<T>(alive: Option<&Arc<RwLock<bool>>>, change: impl FnOnce() -> T) -> Option<T> {
    let alive = alive.map(|alive| alive.read().unwrap_or_else(PoisonError::into_inner));
    alive.as_deref().is_none_or(|alive| *alive).then(change)
}

/// The run of a call that has been answered: see [`CallingRun::keep`].
#[derive(Clone, Debug)]
pub struct KeptRun(Option<Arc<RwLock<bool>>>);

impl KeptRun {
    /// See [`CallingRun::unless_ended`].
    pub fn unless_ended<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        unless_ended(self.0.as_ref(), change)
    }
}

/// The answer to a [`HostCall`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostReply {
    /// 0, or a WASI errno.
    pub errno: u16,
    /// The bytes of all `Result` parameters in order, if `errno` is 0; else empty. To a part of a host function's call:
    /// the word beside the status, whatever that is.
    pub results: Vec<u8>,
    /// The bytes for the `Out`, `OutVec` or `Events` parameter, at most [`HostCall::capacity`] of them.
    /// They are written to the guest if `errno` is 0.
    pub data: Vec<u8>,
    /// What the device may do with the file, if `errno` is 0.
    pub note: CacheHint,
}

/// What a device may do with a file by itself; see `kernel/rpc/file_cache.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheHint {
    /// Nothing that it could not do before.
    #[default]
    None,
    /// Of `path_open`: it may hold the position of the new descriptor, whose file is open for reading only. It will ask
    /// for bytes by `fd_pread`, also for more than the guest does. It will set the position by `fd_seek` before a call
    /// that depends on it, and at the end of the run. The call that closes the descriptor says so by
    /// [`CallingRun::closed`].
    Position,
    /// Of `fd_pread`: it may keep the data, as no descriptor in the process has the file open for writing.
    Keep,
    /// Of `path_open`: what it has kept may be out of date from now on.
    Changes,
    /// Of `path_open`: the new descriptor is this one of the [`TmpfsFiles`] that it holds.
    Memory(u64),
    /// Of any function, also beside an errno: this one of the [`TmpfsFiles`] that it holds is gone, and is to be
    /// freed.
    Gone(u64),
}

/// A call that the services have taken to respond to it later, from any thread. A call without a response fails.
pub struct Responder(pub(crate) Option<Box<dyn FnOnce(HostReply) + Send>>);

impl Responder {
    /// Responds. If the run has ended meanwhile, nothing happens.
    pub fn respond(mut self, reply: HostReply) {
        if let Some(respond) = self.0.take() {
            respond(reply);
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        const EIO: u16 = 29;
        if let Some(respond) = self.0.take() {
            respond(HostReply::error(EIO));
        }
    }
}

impl std::fmt::Debug for Responder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}

/// What answers requests. Calls come from several host threads at once; a guest's thread makes one at a time.
pub trait Services: Send + Sync {
    /// Answers a request. May wait as long as the function does.
    fn call(&self, request: &HostCall<'_>) -> HostReply;

    /// Whether the answer may take long because something else must come first: input, a connection, a
    /// time. Such calls get a host thread of their own.
    fn may_wait(&self, request: &HostCall<'_>) -> bool;

    /// Whether these services are for the host function of that number in a program that is being instantiated.
    fn has_host_function(&self, _number: u32) -> bool {
        false
    }

    /// Responds to a part of a host function's call ([`Function::is_host_call`]), now or later. It must not wait: the
    /// thread is needed for the requests of other guest threads, for which the host function may be waiting.
    fn call_host_function(&self, _request: &HostCall<'_>, responder: Responder) {
        const ENOSYS: u16 = 52;
        responder.respond(HostReply::error(ENOSYS));
    }

    /// The descriptors of which a device may hold the positions, with these: see [`CacheHint::Position`]. A run's device
    /// has them from its beginning; at the end of the run the host is told of all that it has by `fd_seek`. Services
    /// that pass calls on to a [`Wasi`](crate::Wasi) pass this on too: else the host is asked for each read.
    fn positions(&self) -> Vec<(u32, u64)> {
        Vec::new()
    }

    /// The descriptors that are standard output or error at the beginning of a run. What is written to them goes to the
    /// run's [`Sink`](crate::Sink) without asking the host, until the guest closes or moves them. Unless the services
    /// say otherwise, these are 1 and 2. Services that pass calls on to a [`Wasi`](crate::Wasi) pass this on too. Else
    /// a stream that one run has closed is there again in the next one.
    fn streams(&self) -> Vec<(u32, Stream)> {
        vec![(1, Stream::Stdout), (2, Stream::Stderr)]
    }

    /// The path of the file that the program asked for last and did not find because it was given no folder. Services
    /// that pass calls on to a [`Wasi`](crate::Wasi) pass this on too.
    fn missed_path(&self) -> Option<String> {
        None
    }

    /// Files in memory, whose data the device may hold while a run is under way. Services that pass calls on to a
    /// [`Wasi`](crate::Wasi) pass this on too.
    fn tmpfs_files(&self) -> Option<TmpfsFiles<'_>> {
        None
    }
}

impl HostReply {
    /// An answer that is no more than an errno.
    pub fn error(errno: u16) -> HostReply {
        HostReply {
            errno,
            ..HostReply::default()
        }
    }
}

/// What a program finds around it: what WASI's functions tell it, and the services that answer those
/// that the device cannot.
#[derive(Clone)]
pub struct Environment {
    /// Answers requests.
    pub services: Arc<dyn Services>,
    /// The arguments; the first is the program's name. Without bytes that are 0.
    pub args: Vec<Vec<u8>>,
    /// The environment's entries, `NAME=value` each. Without bytes that are 0.
    pub variables: Vec<Vec<u8>>,
    /// Makes `random_get` return the same bytes each time; without it they are the host's.
    pub seed: Option<u64>,
    /// That nothing uses the services after this run: what device memory holds of their files is not brought back, and
    /// is lost. Calls that are under way when it ends may change something later, so the end waits for none.
    pub last: bool,
}

impl Environment {
    /// Without arguments and variables, and with random bytes of the host's.
    pub fn new(services: Arc<dyn Services>) -> Environment {
        Environment {
            services,
            args: Vec::new(),
            variables: Vec::new(),
            seed: None,
            last: false,
        }
    }
}
