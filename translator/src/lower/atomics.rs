//! Atomic instructions: one opcode each, which names its memory and has a 64-bit offset.

use gpu_run_bytecode::{Op, ValType};
use wasmparser::{MemArg, Operator};

use super::LowerErrorKind;
use super::function::Lowering;
use super::memory::place;

/// What the operands of an atomic instruction are.
enum Shape {
    Load,
    Store,
    /// Read, modify, write; the result is what was there.
    Modify,
    CompareExchange,
    Wait,
    Notify,
}

impl Lowering<'_> {
    /// Lowers an atomic instruction; false if it is none.
    pub(super) fn atomic(&mut self, operator: &Operator<'_>) -> Result<bool, LowerErrorKind> {
        if let Operator::AtomicFence { .. } = operator {
            self.effect(Op::AtomicFence, &[]);
            return Ok(true);
        }
        let Some((shape, op, ty, memarg)) = access(operator) else {
            return Ok(false);
        };
        let (memory, offset) = place(&memarg)?;
        let (memory, offset) = (memory as i64, offset as i64);
        match shape {
            Shape::Load => {
                let address = self.pop_register();
                self.define(op, ty, &[address, memory, offset]);
            }
            Shape::Store => {
                let value = self.pop_register();
                let address = self.pop_register();
                self.effect(op, &[address, value, memory, offset]);
            }
            Shape::Modify | Shape::Notify => {
                let value = self.pop_register();
                let address = self.pop_register();
                self.define(op, ty, &[address, value, offset, memory]);
            }
            Shape::CompareExchange => {
                let replacement = self.pop_register();
                let expected = self.pop_register();
                let address = self.pop_register();
                self.define(op, ty, &[address, expected, offset, replacement, memory]);
            }
            Shape::Wait => {
                let timeout = self.pop_register();
                let expected = self.pop_register();
                let address = self.pop_register();
                self.define(op, ty, &[address, expected, offset, memory, timeout]);
            }
        }
        Ok(true)
    }
}

/// Shape, opcode, result or value type, and place of an atomic access.
fn access(operator: &Operator<'_>) -> Option<(Shape, Op, ValType, MemArg)> {
    use ValType::{I32, I64};
    macro_rules! shapes {
        ($($shape:ident { $($ty:ident: $($name:ident)*;)* })*) => {
            match *operator {
                $($($(Operator::$name { memarg } => Some((Shape::$shape, Op::$name, $ty, memarg)),)*)*)*
                _ => None,
            }
        };
    }
    shapes! {
        Load {
            I32: I32AtomicLoad I32AtomicLoad8U I32AtomicLoad16U;
            I64: I64AtomicLoad I64AtomicLoad8U I64AtomicLoad16U I64AtomicLoad32U;
        }
        Store {
            I32: I32AtomicStore I32AtomicStore8 I32AtomicStore16;
            I64: I64AtomicStore I64AtomicStore8 I64AtomicStore16 I64AtomicStore32;
        }
        Modify {
            I32: I32AtomicRmwAdd I32AtomicRmw8AddU I32AtomicRmw16AddU;
            I64: I64AtomicRmwAdd I64AtomicRmw8AddU I64AtomicRmw16AddU I64AtomicRmw32AddU;
            I32: I32AtomicRmwSub I32AtomicRmw8SubU I32AtomicRmw16SubU;
            I64: I64AtomicRmwSub I64AtomicRmw8SubU I64AtomicRmw16SubU I64AtomicRmw32SubU;
            I32: I32AtomicRmwAnd I32AtomicRmw8AndU I32AtomicRmw16AndU;
            I64: I64AtomicRmwAnd I64AtomicRmw8AndU I64AtomicRmw16AndU I64AtomicRmw32AndU;
            I32: I32AtomicRmwOr I32AtomicRmw8OrU I32AtomicRmw16OrU;
            I64: I64AtomicRmwOr I64AtomicRmw8OrU I64AtomicRmw16OrU I64AtomicRmw32OrU;
            I32: I32AtomicRmwXor I32AtomicRmw8XorU I32AtomicRmw16XorU;
            I64: I64AtomicRmwXor I64AtomicRmw8XorU I64AtomicRmw16XorU I64AtomicRmw32XorU;
            I32: I32AtomicRmwXchg I32AtomicRmw8XchgU I32AtomicRmw16XchgU;
            I64: I64AtomicRmwXchg I64AtomicRmw8XchgU I64AtomicRmw16XchgU I64AtomicRmw32XchgU;
        }
        CompareExchange {
            I32: I32AtomicRmwCmpxchg I32AtomicRmw8CmpxchgU I32AtomicRmw16CmpxchgU;
            I64: I64AtomicRmwCmpxchg I64AtomicRmw8CmpxchgU I64AtomicRmw16CmpxchgU I64AtomicRmw32CmpxchgU;
        }
        Wait { I32: MemoryAtomicWait32 MemoryAtomicWait64; }
        Notify { I32: MemoryAtomicNotify; }
    }
}
