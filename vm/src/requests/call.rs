//! A call with its input, and an answer's data on its way.

use gpu_run_bytecode::wasi::{Function, SUBSCRIPTION};

use super::mailbox::Call;
use crate::layout::{REQUEST_BYTES, RequestSlot};
use crate::services::{CallingRun, HostCall};

/// An answer's data, and how much of it was sent.
#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) data: Vec<u8>,
    pub(super) sent: usize,
}

impl Outgoing {
    /// Puts the next piece into the slot.
    pub(super) fn put(&mut self, content: &mut RequestSlot) {
        let rest = &self.data[self.sent..];
        let piece = &rest[..rest.len().min(REQUEST_BYTES)];
        content.data[..piece.len()].copy_from_slice(piece);
        content.len = piece.len() as u32;
        self.sent += piece.len();
    }
}

/// A call with all of its input, and the message to be answered.
pub(super) struct Asked {
    pub(super) slot: usize,
    pub(super) number: u32,
    pub(super) call: Call,
    input: Vec<u8>,
}

impl Asked {
    /// Times of the device's clocks for which it polls become durations: the host's clocks are others.
    pub(super) fn new(slot: usize, number: u32, call: Call, mut input: Vec<u8>) -> Asked {
        if call.number == Function::PollOneoff as u16 {
            let number = |bytes: &[u8]| {
                bytes
                    .iter()
                    .rev()
                    .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
            };
            for subscription in input.chunks_exact_mut(SUBSCRIPTION as usize) {
                let clock = number(&subscription[16..20]) as usize;
                let is_time = subscription[8] == 0 && number(&subscription[40..42]) == 1;
                if let Some(now) = call.now.get(clock).filter(|_| is_time) {
                    let timeout = number(&subscription[24..32]).saturating_sub(*now);
                    subscription[24..32].copy_from_slice(&timeout.to_le_bytes());
                    subscription[40..42].fill(0);
                }
            }
        }
        Asked {
            slot,
            number,
            call,
            input,
        }
    }

    pub(super) fn request<'r>(&'r self, function: Function, run: CallingRun<'r>) -> HostCall<'r> {
        HostCall {
            function,
            thread: self.call.thread,
            child: self.call.child,
            args: self.call.args(),
            input: &self.input,
            capacity: self.call.capacity,
            run,
        }
    }
}
