//! Leaves out debug messages: calls of the imports `dbg_*`, and what only computes their arguments.

use gpu_run_bytecode::Op;
use wasmparser::Operator;

use crate::lower::GPU_MODULE;
use crate::module::{Instr, Module};

/// Removes every call of a debug opcode. An argument's computation goes too as far as it stands in front of the
/// call and can neither trap nor change anything; what is stored in a local before stays.
pub fn remove_debug(module: &mut Module<'_>) {
    let mut arguments: Vec<Option<usize>> = Vec::new();
    let functions = module.imports.iter().filter_map(|import| match import.ty {
        wasmparser::TypeRef::Func(ty) | wasmparser::TypeRef::FuncExact(ty) => Some((import, ty)),
        _ => None,
    });
    for (import, ty) in functions {
        let is_debug = import.module == GPU_MODULE && Op::gpu_op(import.name).is_some_and(|info| info.op.is_debug());
        let params = module.types[ty as usize].params().len();
        arguments.push(is_debug.then_some(params));
    }
    let arguments_of = |function: u32| arguments.get(function as usize).copied().flatten();
    if arguments.iter().all(Option::is_none) {
        return;
    }
    for func in &mut module.funcs {
        if !func
            .instrs()
            .any(|instr| callee(&instr.op).and_then(arguments_of).is_some())
        {
            continue;
        }
        let (_, instrs) = func.edit();
        let mut out = Vec::with_capacity(instrs.len());
        for instr in instrs.drain(..) {
            let Some(count) = callee(&instr.op).and_then(arguments_of) else {
                out.push(instr);
                continue;
            };
            (0..count).for_each(|_| drop_top(&mut out));
            if matches!(instr.op, Operator::ReturnCall { .. }) {
                out.push(Instr {
                    op: Operator::Return,
                    origin: instr.origin,
                });
            }
        }
        *instrs = out;
    }
}

/// The function that an instruction calls.
fn callee(op: &Operator<'_>) -> Option<u32> {
    match op {
        Operator::Call { function_index } | Operator::ReturnCall { function_index } => Some(*function_index),
        _ => None,
    }
}

/// Drops the value that is on top of the stack behind `code`, and does not compute it where that changes nothing.
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
