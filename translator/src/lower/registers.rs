//! Where values are: entries of the emulated stack, and the register units that hold them.
//!
//! An entry may still be a local or a constant. It is settled, that is written to its own place, only where something
//! needs it there.

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Op, ValType};

use super::function::Lowering;
use super::stack::{Bits, Entry, Value};

impl Lowering<'_> {
    /// The unit that holds an entry's value; a constant is written to the entry's place first.
    pub(super) fn register(&mut self, entry: Entry) -> u32 {
        match entry.value {
            Value::Temp => entry.unit,
            Value::Local(local) => self.locals[local as usize].unit,
            Value::Const(bits) => {
                self.emit_constant(entry.unit, entry.ty, bits);
                entry.unit
            }
        }
    }

    pub(super) fn pop_register(&mut self) -> i64 {
        let entry = self.stack.pop();
        self.register(entry) as i64
    }

    pub(super) fn emit_constant(&mut self, unit: u32, ty: ValType, bits: Bits) {
        let (unit, signed) = (unit as i64, bits[0] as i64);
        if ty.units() == 1 {
            self.emitter.emit(Op::Const32, &[unit, bits[0] as u32 as i64]);
        } else if ty == ValType::V128 {
            self.emitter.emit(Op::V128Const, &[unit, signed, bits[1] as i64]);
        } else if i32::try_from(signed).is_ok() {
            self.emitter.emit(Op::Const64S, &[unit, signed]);
        } else {
            self.emitter.emit(Op::Const64, &[unit, signed]);
        }
    }

    /// Copies an entry's value to `to`.
    pub(super) fn move_to(&mut self, entry: Entry, to: u32) {
        let from = match entry.value {
            Value::Const(bits) => return self.emit_constant(to, entry.ty, bits),
            _ => self.register(entry),
        };
        if from != to {
            self.copy(entry.ty, from, to);
        }
    }

    pub(super) fn copy(&mut self, ty: ValType, from: u32, to: u32) {
        let op = by_width(ty, [Op::Copy32, Op::Copy64, Op::Copy128]);
        self.emitter.emit(op, &[to as i64, from as i64]);
    }

    /// Brings entry `index` of the stack to its place.
    pub(super) fn settle(&mut self, index: usize) {
        let entry = self.stack.get(index);
        if entry.value != Value::Temp {
            self.move_to(entry, entry.unit);
            self.stack.set_temp(index);
        }
    }

    /// Brings the topmost `count` entries to their places.
    pub(super) fn settle_top(&mut self, count: usize) {
        for index in self.stack.len() - count..self.stack.len() {
            self.settle(index);
        }
    }

    /// Copies every entry that is a local to its place. What follows may run more than once or not
    /// at all, and may change the local.
    pub(super) fn settle_locals(&mut self) {
        for index in 0..self.stack.len() {
            if let Value::Local(_) = self.stack.get(index).value {
                self.settle(index);
            }
        }
    }

    pub(super) fn constant(&mut self, ty: ValType, bits: Bits) {
        self.stack.push(ty, Value::Const(bits));
    }

    /// Pushes a result and emits the instruction that defines it; `rest` are its other operands.
    // Inlined, so that their number is known and copying them is no call.
    #[inline(always)]
    pub(super) fn define(&mut self, op: Op, ty: ValType, rest: &[i64]) {
        let mut args = [0; 6];
        args[0] = self.stack.push(ty, Value::Temp) as i64;
        for (to, from) in args[1..].iter_mut().zip(rest) {
            *to = *from;
        }
        self.emitter.push(Inst { op, args });
    }

    pub(super) fn effect(&mut self, op: Op, args: &[i64]) {
        self.emitter.emit(op, args);
        self.emitter.seal();
    }

    /// Pops three operands; `rest` are the indices that follow them.
    pub(super) fn effect3(&mut self, op: Op, rest: &[u32]) {
        let c = self.pop_register();
        let b = self.pop_register();
        let a = self.pop_register();
        let mut args = vec![a, b, c];
        args.extend(rest.iter().map(|index| *index as i64));
        self.effect(op, &args);
    }
}

/// The opcode for a value's width: of one unit, two, or four.
pub(super) fn by_width(ty: ValType, ops: [Op; 3]) -> Op {
    match ty.units() {
        1 => ops[0],
        2 => ops[1],
        _ => ops[2],
    }
}
