//! Calls of host functions while a run is under way: the host's half of [`gpu_run_bytecode::wasi::host`].
//!
//! Threads that serve requests bring what a program's thread says ([`Calls`]), and never wait. A closure without a
//! [`Caller`] is called by them. The others are called by one thread for all ([`Calls::execute`]), which has the store's
//! data. What such a closure asks of memory goes to the program as the response to its last request. The answer comes as
//! the next request ([`Session`]).

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpu_run_bytecode::wasi::Function;
use gpu_run_bytecode::wasi::host::{AGAIN, DONE, FAILED, MOST, READ, Step, WRITE};
use gpu_run_bytecode::{FuncType, ValType};
use gpu_run_vm::{HostCall, HostReply, Responder, Services, Stream, TmpfsFiles};

use super::{Caller, HostFn, Returned};
use crate::embed::error::{BoxError, Error, Result};
use crate::embed::values::Val;

/// The host functions of an instance, by the numbers that its program calls them by.
pub(in crate::embed) struct Table<T> {
    pub(in crate::embed) functions: Vec<(FuncType, HostFn<T>)>,
    /// Whether the program has a memory.
    pub(in crate::embed) memory: bool,
}

impl<T> Table<T> {
    /// Whether a function needs the store's data or the program's memory.
    pub(in crate::embed) fn has_callers(&self) -> bool {
        let mut functions = self.functions.iter();
        functions.any(|(_, function)| matches!(function, HostFn::WithCaller(_)))
    }
}

/// How a host function ended a run.
pub(in crate::embed) enum Failure {
    /// It returned an error to that thread.
    Error(u32, BoxError),
    /// It panicked.
    Panic(Box<dyn Any + Send>),
}

type PlainFn = Arc<dyn Fn(&[Val]) -> Returned + Send + Sync>;

/// What the program's thread says when it goes on.
struct Resumed {
    /// What was asked for could be done; these are the bytes, if some were to be read.
    bytes: Option<Vec<u8>>,
    responder: Responder,
}

/// A call for the thread that has the store's data.
struct Job {
    number: usize,
    args: Vec<Val>,
    session: Session,
}

/// What is known of a thread's call between two requests.
#[derive(Default)]
struct Thread {
    arguments: Vec<u64>,
    /// Words of the results that the program has still to ask for.
    results: VecDeque<u32>,
    /// What it is to write.
    data: Vec<u8>,
    session: Option<Sender<Resumed>>,
}

struct Shared {
    threads: HashMap<u32, Thread>,
    /// Takes calls for closures with a [`Caller`]; none once the run has ended.
    jobs: Option<Sender<Job>>,
    /// Calls that wait, or are under way.
    waiting: usize,
    failure: Option<Failure>,
}

/// Calls that may wait at once. There are more slots for requests, so that the call that is under way finds one for what
/// it sends.
const MOST_WAITING: usize = 128;

/// The services of a run in which host functions are called.
pub(in crate::embed) struct Calls {
    functions: Vec<(FuncType, Option<PlainFn>)>,
    shared: Arc<Mutex<Shared>>,
    /// What serves WASI.
    wasi: Option<Arc<dyn Services>>,
}

/// Calls that wait for the thread that has the store's data.
pub(in crate::embed) struct Jobs(Receiver<Job>);

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn status(status: u16, word: u32) -> HostReply {
    HostReply {
        errno: status,
        results: word.to_le_bytes().to_vec(),
        ..HostReply::default()
    }
}

/// The words of a call's results, in order.
fn words(vals: &[Val]) -> VecDeque<u32> {
    let words = |val: &Val| {
        let bits = val.bits();
        (0..val.ty().units()).map(move |unit| (bits >> (32 * unit)) as u32)
    };
    vals.iter().flat_map(words).collect()
}

/// Arguments of 64 bits that a value is sent as.
fn count(ty: &ValType) -> usize {
    ty.units().div_ceil(2) as usize
}

impl Calls {
    /// The services for that table.
    pub(in crate::embed) fn new<T>(table: &Table<T>, wasi: Option<Arc<dyn Services>>) -> (Calls, Jobs) {
        let (sender, receiver) = channel();
        let functions = table.functions.iter().map(|(ty, function)| {
            let plain = match function {
                HostFn::Plain(function) => Some(function.clone()),
                HostFn::WithCaller(_) => None,
            };
            (ty.clone(), plain)
        });
        let calls = Calls {
            functions: functions.collect(),
            shared: Arc::new(Mutex::new(Shared {
                threads: HashMap::new(),
                jobs: Some(sender),
                waiting: 0,
                failure: None,
            })),
            wasi,
        };
        (calls, Jobs(receiver))
    }

    /// Calls closures with a [`Caller`], one after the other, until the run has ended.
    pub(in crate::embed) fn execute<T>(&self, jobs: Jobs, table: &Table<T>, data: &mut T) {
        for Job {
            number,
            args,
            mut session,
        } in jobs.0
        {
            // What is left of an ended run is not begun.
            if lock(&self.shared).jobs.is_none() {
                break;
            }
            let (ty, function) = &table.functions[number];
            session.memory = table.memory;
            let HostFn::WithCaller(function) = function else {
                continue;
            };
            let caller = Caller {
                data: &mut *data,
                session: &mut session,
            };
            let returned = catch_unwind(AssertUnwindSafe(|| function(caller, &args)));
            let thread = session.thread;
            lock(&self.shared).waiting -= 1;
            let reply = self.finish(thread, ty, returned);
            if let Some(responder) = session.responder.take() {
                responder.respond(reply);
            }
        }
    }

    /// The run has ended: nothing more is called, and what waits for the program does so in vain.
    pub(in crate::embed) fn close(&self) {
        let mut shared = lock(&self.shared);
        shared.jobs = None;
        shared.threads.clear();
    }

    /// How a host function has ended the run, if one did.
    pub(in crate::embed) fn failure(&self) -> Option<Failure> {
        lock(&self.shared).failure.take()
    }

    /// The response to the last request of a call, of which that came.
    fn finish(&self, thread: u32, ty: &FuncType, returned: std::thread::Result<Returned>) -> HostReply {
        let mut shared = lock(&self.shared);
        let failure = match returned {
            Ok(Ok(vals)) => {
                let matches = vals.iter().map(Val::ty).eq(ty.results.iter().copied());
                if matches {
                    let mut words = words(&vals);
                    let first = words.pop_front();
                    let state = shared.threads.entry(thread).or_default();
                    (state.results, state.session) = (words, None);
                    return first.map_or_else(HostReply::default, |word| status(DONE, word));
                }
                let types: Vec<ValType> = vals.iter().map(Val::ty).collect();
                let what = format!("a host function of type {ty} returned values of types {types:?}");
                Failure::Error(thread, what.into())
            }
            Ok(Err(error)) => Failure::Error(thread, error),
            Err(panic) => Failure::Panic(panic),
        };
        shared.failure.get_or_insert(failure);
        status(FAILED, 0)
    }

    /// Begins a call whose arguments are there.
    fn begin(&self, number: usize, thread: u32, arguments: &[u64], responder: Responder) {
        let (ty, plain) = &self.functions[number];
        let mut rest = arguments;
        let value = |ty: &ValType| {
            let (own, others) = rest.split_at(count(ty));
            rest = others;
            let bits = own.iter().rev().fold(0, |bits, half| bits << 64 | u128::from(*half));
            Val::from_bits(*ty, bits)
        };
        let args: Vec<Val> = ty.params.iter().map(value).collect();
        if let Some(function) = plain {
            let returned = catch_unwind(AssertUnwindSafe(|| function(&args)));
            return responder.respond(self.finish(thread, ty, returned));
        }
        let (sender, resumed) = channel();
        let mut shared = lock(&self.shared);
        if shared.waiting == MOST_WAITING {
            drop(shared);
            return responder.respond(status(AGAIN, 0));
        }
        shared.waiting += 1;
        shared.threads.entry(thread).or_default().session = Some(sender);
        let session = Session {
            shared: self.shared.clone(),
            thread,
            responder: Some(responder),
            resumed,
            memory: false,
        };
        if let Some(jobs) = &shared.jobs {
            // If it is not taken any more, the run is over.
            _ = jobs.send(Job { number, args, session });
        }
    }

    /// Brings a closure what it has asked for.
    fn resume(&self, thread: u32, bytes: Option<Vec<u8>>, responder: Responder) {
        let shared = lock(&self.shared);
        // Without a session the responder is dropped, which fails the call.
        if let Some(session) = shared.threads.get(&thread).and_then(|state| state.session.as_ref()) {
            _ = session.send(Resumed { bytes, responder });
        }
    }
}

impl Services for Calls {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        const ENOSYS: u16 = 52;
        match &self.wasi {
            Some(wasi) => wasi.call(request),
            None => HostReply::error(ENOSYS),
        }
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        self.wasi.as_ref().is_some_and(|wasi| wasi.may_wait(request))
    }

    fn has_host_function(&self, number: u32) -> bool {
        (number as usize) < self.functions.len()
    }

    fn call_host_function(&self, request: &HostCall<'_>, responder: Responder) {
        let thread = request.thread;
        match request.function {
            Function::HostSend => return self.resume(thread, Some(request.input.to_vec()), responder),
            Function::HostReceive => {
                let mut shared = lock(&self.shared);
                let data = shared.threads.entry(thread).or_default();
                let data = std::mem::take(&mut data.data);
                drop(shared);
                return responder.respond(HostReply {
                    data,
                    ..HostReply::default()
                });
            }
            _ => {}
        }
        let [number, step, arguments @ ..] = request.args else {
            return;
        };
        let number = *number as usize;
        let Some((ty, _)) = self.functions.get(number) else {
            return;
        };
        let wanted: usize = ty.params.iter().map(count).sum();
        match Step::from_number(*step as u32) {
            Some(Step::Arguments) => {
                let mut shared = lock(&self.shared);
                let state = shared.threads.entry(thread).or_default();
                // No more than there are: a module may call these functions by itself.
                if state.arguments.len() < wanted {
                    state.arguments.extend(arguments);
                }
                drop(shared);
                responder.respond(HostReply::default());
            }
            Some(Step::Call) => {
                let mut shared = lock(&self.shared);
                let state = shared.threads.entry(thread).or_default();
                let mut all = std::mem::take(&mut state.arguments);
                drop(shared);
                all.extend(arguments);
                // Dropped, the responder fails the call.
                if all.len() >= wanted {
                    self.begin(number, thread, &all, responder);
                }
            }
            Some(Step::Next) => self.resume(thread, Some(Vec::new()), responder),
            Some(Step::Outside) => self.resume(thread, None, responder),
            Some(Step::Result) => {
                let mut shared = lock(&self.shared);
                let word = shared.threads.entry(thread).or_default().results.pop_front();
                drop(shared);
                responder.respond(status(DONE, word.unwrap_or(0)));
            }
            None => {}
        }
    }

    fn positions(&self) -> Vec<(u32, u64)> {
        self.wasi.as_ref().map_or_else(Vec::new, |wasi| wasi.positions())
    }

    fn streams(&self) -> Vec<(u32, Stream)> {
        self.wasi.as_ref().map_or_else(Vec::new, |wasi| wasi.streams())
    }

    fn missed_path(&self) -> Option<String> {
        self.wasi.as_ref()?.missed_path()
    }

    fn tmpfs_files(&self) -> Option<TmpfsFiles<'_>> {
        self.wasi.as_ref()?.tmpfs_files()
    }
}

/// A call that a closure with a [`Caller`] is in.
pub(super) struct Session {
    shared: Arc<Mutex<Shared>>,
    thread: u32,
    /// Of the request that waits.
    responder: Option<Responder>,
    resumed: Receiver<Resumed>,
    memory: bool,
}

impl Session {
    pub(super) fn thread(&self) -> u32 {
        self.thread
    }

    /// Asks the program for something of memory. Returns the bytes; `None` where there is no such range.
    fn ask(&mut self, reply: HostReply) -> Result<Option<Vec<u8>>> {
        let responder = self.responder.take().ok_or(Error::Ended)?;
        responder.respond(reply);
        let resumed = self.resumed.recv().map_err(|_| Error::Ended)?;
        self.responder = Some(resumed.responder);
        Ok(resumed.bytes)
    }

    /// The ranges of at most [`MOST`] bytes of which one consists: where they begin in it, and their addresses.
    fn pieces(&self, address: u32, len: usize) -> Result<impl Iterator<Item = (std::ops::Range<usize>, u32)> + use<>> {
        if !self.memory || u64::from(address) + len as u64 > 1 << 32 {
            return Err(Error::OutOfBounds {
                address: address.into(),
                len,
            });
        }
        Ok((0..len)
            .step_by(MOST)
            .map(move |at| (at..len.min(at + MOST), address.wrapping_add(at as u32))))
    }

    pub(super) fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<()> {
        let len = bytes.len();
        for (range, at) in self.pieces(address, len)? {
            let piece = self.ask(status(READ | range.len() as u16, at))?;
            let piece = piece.filter(|piece| piece.len() == range.len());
            bytes[range].copy_from_slice(&piece.ok_or(Error::OutOfBounds {
                address: address.into(),
                len,
            })?);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, address: u32, bytes: &[u8]) -> Result<()> {
        for (range, at) in self.pieces(address, bytes.len())? {
            let data = bytes[range.clone()].to_vec();
            lock(&self.shared).threads.entry(self.thread).or_default().data = data;
            let written = self.ask(status(WRITE | range.len() as u16, at))?;
            written.ok_or(Error::OutOfBounds {
                address: address.into(),
                len: bytes.len(),
            })?;
        }
        Ok(())
    }
}
