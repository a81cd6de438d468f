//! How a process ended before its time.

use gpu_run_bytecode::{Place, TrapKind};

/// A trap with all that is known of it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What happened.
    pub kind: TrapKind,
    /// The thread to which it happened.
    pub thread: u32,
    /// Calls that were open, innermost first; inlined calls are listed as calls.
    pub backtrace: Vec<Place>,
    /// Frames that the backtrace leaves out at its end.
    pub omitted: u32,
}

impl Fault {
    /// A trap before any code ran: an active segment that does not fit.
    pub(crate) fn at_start(kind: TrapKind) -> Fault {
        Fault {
            kind,
            thread: 0,
            backtrace: Vec::new(),
            omitted: 0,
        }
    }
}
