//! What a run takes, and what it returns.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::super::Value;
use super::spawner::Spawned;
use super::vitals::Vitals;
use crate::debug::{DebugCounts, DebugOptions};
use crate::fault::{Backtrace, Fault};
use crate::requests::RequestCounts;
use crate::services::Environment;

/// A stream that the guest writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Takes what the guest writes, while it runs.
pub trait Sink {
    /// Takes a record: what one call of the guest wrote, never mixed with another thread's.
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]);

    /// Takes debug messages of any threads, each as [`DebugOptions::format`] has made it. Without an own way they
    /// become text of stderr, as if of thread 0.
    fn debug(&mut self, messages: &[u8]) {
        self.write(Stream::Stderr, 0, messages);
    }

    /// Called when nothing is left to take for now.
    fn flush(&mut self) {}

    /// The WASI errno with which a stream cannot be written any more. The guest's next writes return it.
    fn error(&self, _stream: Stream) -> Option<u16> {
        None
    }

    /// Called now and then while a run goes on, if [`Store::bind_frame`](crate::Store::bind_frame) was asked for it. It
    /// is passed how many pixels were set so far; those that were set again count again.
    fn progress(&mut self, _pixels: u64) {}

    /// How often [`Sink::vitals`] is called while a run goes on; `None`: never.
    fn vitals_every(&self) -> Option<Duration> {
        None
    }

    /// Whether [`Vitals::functions`] are wanted, which take a while to read.
    fn wants_functions(&self) -> bool {
        false
    }

    /// Takes what a run does, at its begin, now and then, and when it is over.
    fn vitals(&mut self, _vitals: &Vitals) {}
}

impl<F: FnMut(Stream, u32, &[u8])> Sink for F {
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
        self(stream, thread, bytes);
    }
}

/// How to run.
#[derive(Clone)]
pub struct RunOptions {
    /// Threads that enter the function.
    pub threads: u32,
    /// Bytes of linear memory that each thread gets as its stack, with more than one thread. Rounded down to a
    /// multiple of 16, to which compiled code expects stacks to be aligned.
    pub thread_stack: u32,
    /// Where memory has no room for so large stacks, they are halved, but not to less than this.
    pub least_thread_stack: u32,
    /// Ends the run after this time.
    pub timeout: Option<Duration>,
    /// Ends the run when it becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// What WASI's functions tell the program; without it they return errno 52, `nosys`.
    pub environment: Option<Environment>,
    /// Which debug messages are given.
    pub debug: DebugOptions,
    /// That the interpreter runs it, also where there is compiled code.
    pub interpret: bool,
    /// Threads that there may be at once, where the program spawns some and `threads` is 1. Compiled there are no more
    /// than lanes.
    pub most_threads: u32,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            threads: 1,
            thread_stack: 65536,
            least_thread_stack: 4096,
            timeout: None,
            interrupt: None,
            environment: None,
            debug: DebugOptions::default(),
            interpret: false,
            most_threads: MOST_SPAWNED,
        }
    }
}

/// [`RunOptions::most_threads`] where nothing else is said.
pub const MOST_SPAWNED: u32 = 1 << 17;

impl RunOptions {
    /// Bytes of each thread's stack, the largest that `room` bytes have a place for, else the least that may be; 0:
    /// threads keep the module's.
    pub(super) fn stack_bytes(&self, room: u64) -> u32 {
        let whole = |bytes: u32| (bytes & !15).max(16);
        let least = whole(self.least_thread_stack.min(self.thread_stack));
        match (self.threads, self.thread_stack) {
            (0..=1, _) | (_, 0) => 0,
            (threads, bytes) => (0..32)
                .map(|halved| whole(bytes >> halved).max(least))
                .find(|bytes| *bytes == least || u64::from(threads) * u64::from(*bytes) <= room)
                .unwrap_or(least),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// Every thread returned.
    Returned,
    /// A thread trapped.
    Trapped(Box<Fault>),
    /// A thread ended the process with this exit code.
    Exited(i32),
    /// A Rust panic was reported, and ended the process.
    Panicked {
        /// The thread that panicked.
        thread: u32,
        /// Where.
        backtrace: Backtrace,
    },
    /// The time was over.
    TimedOut,
    /// The run was interrupted.
    Interrupted,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Results of each thread, if all returned.
    pub results: Vec<Vec<Value>>,
    /// Time from the kernel's start to its end.
    pub time: Duration,
    /// Lanes that ran.
    pub lanes: u32,
    /// Compiled code ran, not the interpreter.
    pub compiled: bool,
    /// After so long, where the interpreter ran before: see [`Tier`](super::Tier).
    pub compiled_after: Option<Duration>,
    /// Debug messages.
    pub debug: DebugCounts,
    /// The thread that ended the process, if one did.
    pub ended_by: Option<u32>,
    /// Threads that trapped or panicked. The first of them, or one of the first, is the one of `end`.
    pub faults: u32,
    /// What was asked of the host.
    pub requests: RequestCounts,
    /// Threads that the program spawned, if it is one that may.
    pub spawned: Option<Spawned>,
}

impl Outcome {
    /// Of a host function that does nothing.
    pub(in crate::store) fn nothing(threads: u32) -> Outcome {
        Outcome {
            end: End::Returned,
            results: vec![Vec::new(); threads as usize],
            time: Duration::ZERO,
            lanes: 0,
            compiled: false,
            compiled_after: None,
            debug: DebugCounts::default(),
            ended_by: None,
            faults: 0,
            requests: RequestCounts::default(),
            spawned: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_halved_until_they_fit() {
        let bytes = |threads: u32, thread_stack: u32, least_thread_stack: u32, room: u64| {
            RunOptions {
                threads,
                thread_stack,
                least_thread_stack,
                ..RunOptions::default()
            }
            .stack_bytes(room)
        };
        assert_eq!(bytes(1, 65536, 4096, 1 << 30), 0);
        assert_eq!(bytes(1000, 65536, 4096, 1 << 30), 65536);
        assert_eq!(bytes(16384, 65536, 4096, 1 << 30), 65536);
        assert_eq!(bytes(16385, 65536, 4096, 1 << 30), 32768);
        assert_eq!(bytes(200_000, 65536, 4096, 1 << 30), 4096);
        // More than there is room for: the caller says so.
        assert_eq!(bytes(300_000, 65536, 4096, 1 << 30), 4096);
        // One that was asked for stays.
        assert_eq!(bytes(300_000, 65536, 65536, 1 << 30), 65536);
        assert_eq!(bytes(300_000, 1000, 65536, 0), 992);
    }
}
