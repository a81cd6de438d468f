//! Fuel: what entries into functions and passes of loops cost.
//!
//! An instruction at the head of the function or loop pays for all that follows it outside of inner loops. How much that is
//! is known at the end only, and written there.

use gpu_run_bytecode::Op;

use super::function::Lowering;
use crate::module::opcode;

/// The most that one instruction pays: what has more instructions costs no more.
const MOST: u32 = u16::MAX as u32;

/// An open function or loop.
pub(super) struct Meter {
    /// Word of the instruction that pays.
    at: usize,
    /// Instructions so far.
    cost: u32,
}

impl Lowering<'_> {
    /// At the head of a function or loop.
    pub(super) fn begin_meter(&mut self) {
        let Some(global) = self.context.fuel else { return };
        self.meters.push(Meter {
            at: self.emitter.code.len(),
            cost: 0,
        });
        self.emitter.emit(Op::Fuel, &[0, i64::from(global)]);
        self.emitter.seal();
    }

    /// Counts an instruction. What only structures code costs nothing.
    pub(super) fn meter(&mut self, opcode: u8) {
        if let Some(meter) = self.meters.last_mut()
            && !matches!(opcode, opcode::BLOCK | opcode::LOOP | opcode::ELSE | opcode::END)
        {
            meter.cost += 1;
        }
    }

    /// At its end.
    pub(super) fn end_meter(&mut self) {
        if let Some(Meter { at, cost }) = self.meters.pop() {
            // A loop without instructions ends, too.
            self.emitter.code[at] |= u64::from(cost.clamp(1, MOST)) << 16;
        }
    }
}
