//! What comes of runs.

use std::time::Duration;

use gpu_run_vm::{DebugCounts, RequestCounts, Spawned};

use super::error::{BoxError, Error, Fault, FaultKind, Result};
use super::host::Failure;
use super::store::StoreId;
use super::values::Val;

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// Every thread returned.
    Returned,
    /// A thread trapped or panicked.
    Faulted(Box<Fault>),
    /// A thread ended the program with this exit code.
    Exited(i32),
    /// The time was over.
    TimedOut,
    /// The run was interrupted.
    Interrupted,
}

impl From<gpu_run_vm::End> for End {
    fn from(end: gpu_run_vm::End) -> End {
        match end {
            gpu_run_vm::End::Returned => End::Returned,
            gpu_run_vm::End::Trapped(fault) => End::Faulted(Box::new((*fault).into())),
            gpu_run_vm::End::Panicked { thread, backtrace } => End::Faulted(Box::new(Fault {
                kind: FaultKind::Panic,
                thread,
                backtrace,
                heap: None,
            })),
            gpu_run_vm::End::Exited(code) => End::Exited(code),
            gpu_run_vm::End::TimedOut => End::TimedOut,
            gpu_run_vm::End::Interrupted => End::Interrupted,
        }
    }
}

/// All that came of a run, however it ended; see [`Func::run`](crate::Func::run).
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// The error of the host function that ended it, if one did. `end` then has the place of the call.
    pub host_error: Option<BoxError>,
    /// The results of each thread, if all returned.
    pub results: Vec<Vec<Val>>,
    /// Time from the kernel's start to its end.
    pub time: Duration,
    /// Lanes of the device that ran threads.
    pub lanes: u32,
    /// Whether compiled code ran, and not the interpreter.
    pub compiled: bool,
    /// After so long, where the interpreter ran before.
    pub compiled_after: Option<Duration>,
    /// The thread that ended the run, if one did.
    pub ended_by: Option<u32>,
    /// Threads that trapped or panicked until all had stopped. The fault of `end` is that of one of the first.
    pub faults: u32,
    /// Debug messages.
    pub debug: DebugCounts,
    /// What was asked of the host.
    pub requests: RequestCounts,
    /// Threads that the program spawned, if it is one that may.
    pub spawned: Option<Spawned>,
}

impl Outcome {
    pub(super) fn new(outcome: gpu_run_vm::Outcome, failure: Option<Failure>, store: StoreId) -> Outcome {
        let end = outcome.end.into();
        let lift = |vals: Vec<_>| vals.into_iter().map(|val| Val::lift(val, store)).collect();
        Outcome {
            host_error: host_error(&end, failure),
            end,
            results: outcome.results.into_iter().map(lift).collect(),
            time: outcome.time,
            lanes: outcome.lanes,
            compiled: outcome.compiled,
            compiled_after: outcome.compiled_after,
            ended_by: outcome.ended_by,
            faults: outcome.faults,
            debug: outcome.debug,
            requests: outcome.requests,
            spawned: outcome.spawned,
        }
    }

    /// What came of it, if all threads returned.
    ///
    /// # Errors
    ///
    /// How it ended otherwise: [`Error::Fault`], [`Error::Host`], [`Error::Exit`], [`Error::TimedOut`],
    /// [`Error::Interrupted`].
    pub fn returned(self) -> Result<Launch> {
        match self.end {
            End::Returned => Ok(Launch {
                results: self.results,
                time: self.time,
                lanes: self.lanes,
                compiled: self.compiled,
            }),
            end => Err(Error::of(end, self.host_error)),
        }
    }
}

/// The error of a host function, if that is what a run ended by. Another thread may have trapped before.
pub(super) fn host_error(end: &End, failure: Option<Failure>) -> Option<BoxError> {
    match (end, failure) {
        (End::Faulted(fault), Some(Failure::Error(thread, error))) if fault.thread == thread => Some(error),
        _ => None,
    }
}

/// What came of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The results of each thread.
    pub results: Vec<Vec<Val>>,
    /// Time from the kernel's start to its end.
    pub time: Duration,
    /// Lanes of the device that ran threads.
    pub lanes: u32,
    /// Whether compiled code ran, and not the interpreter.
    pub compiled: bool,
}
