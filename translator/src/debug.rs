//! Leaves out debug messages: calls of the imports `dbg_*`, and what only computes their arguments.

use gpu_run_bytecode::Op;
use wasmparser::Operator;

use crate::lower::GPU_MODULE;
use crate::module::{Instr, Module, Origin};

/// A call of a debug opcode.
#[derive(Clone, Copy)]
struct DebugCall {
    arguments: usize,
    /// It asks whether messages are wanted, which are never wanted now.
    asks: bool,
}

/// Removes every call of a debug opcode. An argument's computation goes too as far as it stands in front of the call
/// and can neither trap nor change anything. What is stored in a local before stays. Where the program asks whether a
/// message is wanted, and branches on the answer, what it would do for one is removed.
pub fn remove_debug(module: &mut Module<'_>) {
    let mut calls: Vec<Option<DebugCall>> = Vec::new();
    let functions = module.imports.iter().filter_map(|import| match import.ty {
        wasmparser::TypeRef::Func(ty) | wasmparser::TypeRef::FuncExact(ty) => Some((import, ty)),
        _ => None,
    });
    for (import, ty) in functions {
        let op = Op::gpu_op(import.name).map(|info| info.op);
        let op = op.filter(|op| import.module == GPU_MODULE && op.is_debug());
        calls.push(op.map(|op| DebugCall {
            arguments: module.types[ty as usize].params().len(),
            asks: op == Op::DbgWanted,
        }));
    }
    if calls.iter().all(Option::is_none) {
        return;
    }
    let call_by = |op: &Operator<'_>| calls.get(callee(op)? as usize).copied().flatten();
    for func in &mut module.funcs {
        if !func.instrs().any(|instr| call_by(&instr.op).is_some()) {
            continue;
        }
        let (_, instrs) = func.edit();
        let mut kept = Kept::default();
        for instr in instrs.drain(..) {
            let Some(call) = call_by(&instr.op) else {
                kept.push(instr);
                continue;
            };
            if kept.unreached.is_some() {
                continue;
            }
            (0..call.arguments).for_each(|_| drop_top(&mut kept.instrs));
            kept.answer = None;
            if call.asks {
                kept.push_answer(false, instr.origin);
            }
            if matches!(instr.op, Operator::ReturnCall { .. }) {
                kept.push(Instr {
                    op: Operator::Return,
                    origin: instr.origin,
                });
            }
        }
        *instrs = kept.instrs;
    }
}

/// A function's instructions without the calls, and without what no answer leads to.
#[derive(Default)]
struct Kept<'a> {
    instrs: Vec<Instr<'a>>,
    /// The last instruction is a constant that stands for an answer.
    answer: Option<bool>,
    /// For each open block: it is an `if` whose `else` is never taken.
    open: Vec<bool>,
    /// Nothing reaches what comes now: how many blocks began in there.
    unreached: Option<usize>,
}

impl<'a> Kept<'a> {
    fn push_answer(&mut self, answer: bool, origin: Origin) {
        self.instrs.push(Instr {
            op: Operator::I32Const { value: answer.into() },
            origin,
        });
        self.answer = Some(answer);
    }

    fn push(&mut self, instr: Instr<'a>) {
        if self.skips(&instr.op) {
            return;
        }
        let origin = instr.origin;
        match (self.answer.take(), &instr.op) {
            (Some(answer), Operator::I32Eqz) => {
                self.instrs.pop();
                self.push_answer(!answer, origin);
                return;
            }
            (Some(answer), Operator::BrIf { relative_depth }) => {
                let op = Operator::Br {
                    relative_depth: *relative_depth,
                };
                self.instrs.pop();
                if answer {
                    self.instrs.push(Instr { op, origin });
                    self.unreached = Some(0);
                }
                return;
            }
            (Some(answer), Operator::If { blockty }) => {
                let op = Operator::Block { blockty: *blockty };
                self.instrs.pop();
                self.instrs.push(Instr { op, origin });
                self.open.push(answer);
                self.unreached = (!answer).then_some(0);
                return;
            }
            (_, op) if begins(op) => self.open.push(false),
            (_, Operator::End) => _ = self.open.pop(),
            (_, Operator::Else) if self.open.last() == Some(&true) => {
                self.unreached = Some(0);
                return;
            }
            _ => {}
        }
        self.instrs.push(instr);
    }

    /// Whether an instruction is left out because nothing reaches it. What follows it may be reached.
    fn skips(&mut self, op: &Operator<'_>) -> bool {
        let Some(depth) = &mut self.unreached else {
            return false;
        };
        match op {
            op if begins(op) => *depth += 1,
            Operator::End if *depth > 0 => *depth -= 1,
            Operator::End => {
                self.unreached = None;
                return false;
            }
            Operator::Else if *depth == 0 => {
                self.unreached = None;
                // Without its `if` it is no `else`.
                return !self.is_in_if();
            }
            _ => {}
        }
        true
    }

    /// Whether the innermost open block is still an `if`.
    fn is_in_if(&self) -> bool {
        let mut depth = 0;
        for instr in self.instrs.iter().rev() {
            match &instr.op {
                Operator::End => depth += 1,
                op if begins(op) && depth == 0 => return matches!(op, Operator::If { .. }),
                op if begins(op) => depth -= 1,
                _ => {}
            }
        }
        false
    }
}

/// Whether an instruction begins a block.
fn begins(op: &Operator<'_>) -> bool {
    use Operator::{Block, If, Loop, TryTable};
    matches!(op, Block { .. } | Loop { .. } | If { .. } | TryTable { .. })
}

/// The function that an instruction calls.
fn callee(op: &Operator<'_>) -> Option<u32> {
    match op {
        Operator::Call { function_index } | Operator::ReturnCall { function_index } => Some(*function_index),
        _ => None,
    }
}

/// Drops the value that is on top of the stack after `code`, and does not compute it where that changes nothing.
fn drop_top(code: &mut Vec<Instr<'_>>) {
    let mut values = 1;
    while values > 0 {
        values -= 1;
        let Some(last) = code.last_mut() else {
            code.push(Instr::synthetic(Operator::Drop));
            continue;
        };
        if let Operator::LocalTee { local_index } = last.op {
            last.op = Operator::LocalSet { local_index };
        } else if let Some(operands) = pure_operands(&last.op) {
            code.pop();
            values += operands;
        } else {
            code.push(Instr::synthetic(Operator::Drop));
        }
    }
}

/// How many operands an instruction has that does nothing but compute one value from them, and never traps.
fn pure_operands(op: &Operator<'_>) -> Option<usize> {
    use Operator::*;
    match op {
        LocalGet { .. } | GlobalGet { .. } | I32Const { .. } | I64Const { .. } | F32Const { .. } | F64Const { .. } => {
            Some(0)
        }
        I32Eqz | I64Eqz | I32Clz | I32Ctz | I32Popcnt | I64Clz | I64Ctz | I64Popcnt | F32Abs | F32Neg | F32Ceil
        | F32Floor | F32Trunc | F32Nearest | F32Sqrt | F64Abs | F64Neg | F64Ceil | F64Floor | F64Trunc | F64Nearest
        | F64Sqrt | I32WrapI64 | I64ExtendI32S | I64ExtendI32U | F32ConvertI32S | F32ConvertI32U | F32ConvertI64S
        | F32ConvertI64U | F64ConvertI32S | F64ConvertI32U | F64ConvertI64S | F64ConvertI64U | F32DemoteF64
        | F64PromoteF32 | I32ReinterpretF32 | I64ReinterpretF64 | F32ReinterpretI32 | F64ReinterpretI64
        | I32Extend8S | I32Extend16S | I64Extend8S | I64Extend16S | I64Extend32S | I32TruncSatF32S
        | I32TruncSatF32U | I32TruncSatF64S | I32TruncSatF64U | I64TruncSatF32S | I64TruncSatF32U | I64TruncSatF64S
        | I64TruncSatF64U => Some(1),
        I32Eq | I32Ne | I32LtS | I32LtU | I32GtS | I32GtU | I32LeS | I32LeU | I32GeS | I32GeU | I64Eq | I64Ne
        | I64LtS | I64LtU | I64GtS | I64GtU | I64LeS | I64LeU | I64GeS | I64GeU | F32Eq | F32Ne | F32Lt | F32Gt
        | F32Le | F32Ge | F64Eq | F64Ne | F64Lt | F64Gt | F64Le | F64Ge | I32Add | I32Sub | I32Mul | I32And | I32Or
        | I32Xor | I32Shl | I32ShrS | I32ShrU | I32Rotl | I32Rotr | I64Add | I64Sub | I64Mul | I64And | I64Or
        | I64Xor | I64Shl | I64ShrS | I64ShrU | I64Rotl | I64Rotr | F32Add | F32Sub | F32Mul | F32Div | F32Min
        | F32Max | F32Copysign | F64Add | F64Sub | F64Mul | F64Div | F64Min | F64Max | F64Copysign => Some(2),
        Select => Some(3),
        _ => None,
    }
}
