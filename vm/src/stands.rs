//! Where threads stand when a run is stopped from outside: what there is to see of a program that hangs.

use crate::fault::Backtrace;

/// What a thread was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doing {
    /// It ran.
    Runs,
    /// It slept.
    Sleeps,
    /// It waited at an address of its memory for a notify.
    Waits,
    /// It waited for the host to answer a request.
    AwaitsHost,
    /// It waited until the host takes output.
    AwaitsOutput,
    /// It waited for another thread to leave the heap, a file or the output ring.
    AwaitsTurn,
}

/// Threads that did the same at the same place, by the same calls.
#[derive(Clone, Debug)]
pub struct Stand {
    /// How many they are.
    pub threads: u32,
    /// One of them.
    pub thread: u32,
    /// What they did.
    pub doing: Doing,
    /// Where, as far out as it was recorded; nothing where compiled code does not say it.
    pub backtrace: Backtrace,
}

/// All threads of a run that had not ended when it was stopped.
#[derive(Clone, Debug, Default)]
pub struct Stands {
    /// In groups, the largest first.
    pub groups: Vec<Stand>,
    /// Threads that had not begun.
    pub new_threads: u32,
    /// Threads at more places than are recorded.
    pub others: u32,
}

impl Stands {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.new_threads == 0 && self.others == 0
    }
}
