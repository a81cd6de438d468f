//! Why a value did not go or come. The names are std's.

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// Why a receiver of a broadcast got no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastError {
    /// It was too slow: so many values are gone. The next call returns the oldest that is left.
    Lagged(u64),
    /// There are no senders any more, and no values that it has not had.
    Closed,
}

impl core::fmt::Display for BroadcastError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BroadcastError::Lagged(values) => write!(f, "the receiver was too slow for {values} values"),
            BroadcastError::Closed => f.write_str("the channel is closed"),
        }
    }
}

impl core::error::Error for BroadcastError {}
