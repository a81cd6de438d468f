//! What any instruction reads of the frame, and what it leaves there.

use super::state::{FUNC_REF, KEPT_EXN_REF, State, UNDEFINED, WHOLE, constant, value};
use super::{FunctionVerifier, VerifyError};
use crate::code::{Inst, Layout, Reads};
use crate::isa::Op;
use crate::program::ValType;
use crate::wasi;

/// What an opcode's instructions do besides reading the registers that the table names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// A number goes to each register that is written.
    Registers,
    Return,
    Call,
    Zero,
    Const32,
    Copy32,
    Select32,
    GlobalGet32,
    GlobalSet32,
    TableGet,
    TableSet,
    TableFill,
    TableGrow,
    ExceptionKeep,
    ThrowRef,
    Throw,
    RefFunc,
    CopyRange,
    RequestQueue,
    RequestPoll,
}

impl Effect {
    pub(super) const fn of(op: Op) -> Effect {
        match op {
            Op::Return => Effect::Return,
            Op::Call | Op::CallIndirect | Op::CallImport => Effect::Call,
            Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport => Effect::Call,
            Op::Zero => Effect::Zero,
            Op::Const32 => Effect::Const32,
            Op::Copy32 => Effect::Copy32,
            Op::Select32 => Effect::Select32,
            Op::GlobalGet32 => Effect::GlobalGet32,
            Op::GlobalSet32 => Effect::GlobalSet32,
            Op::TableGet => Effect::TableGet,
            Op::TableSet => Effect::TableSet,
            Op::TableFill => Effect::TableFill,
            Op::TableGrow => Effect::TableGrow,
            Op::ExceptionKeep => Effect::ExceptionKeep,
            Op::ThrowRef => Effect::ThrowRef,
            Op::Throw => Effect::Throw,
            Op::RefFunc => Effect::RefFunc,
            Op::CopyRange => Effect::CopyRange,
            Op::RequestQueue => Effect::RequestQueue,
            Op::RequestPoll => Effect::RequestPoll,
            _ => Effect::Registers,
        }
    }
}

/// Does what the instruction at `pc` does to the frame.
pub(super) fn step(
    function: &FunctionVerifier<'_>,
    pc: usize,
    inst: &Inst,
    state: &mut State,
) -> Result<(), VerifyError> {
    for (reads, arg) in Layout::of(inst.op).reads().iter().zip(inst.args) {
        // What a reference may be used for, see `effect`.
        let (holds, units) = match *reads {
            Reads::Nothing => continue,
            Reads::Unit => (state.holds_unit(arg as u32), 1),
            Reads::Number(units) => (state.holds_number(arg as u32, units), units),
            Reads::Address => {
                let units = if function.wide_address(inst) { 2 } else { 1 };
                (state.holds_number(arg as u32, units), units)
            }
        };
        if !holds {
            let (name, bits) = (inst.op.info().name, u32::from(units) * 32);
            return function.error(
                pc,
                format!("`{name}` reads a value of {bits} bits from unit {arg}, which holds none on some path"),
            );
        }
    }
    effect(function, pc, inst, state)
}

/// Checks that the units from `first` on hold arguments of the WASI function with this number.
fn wasi_arguments(
    function: &FunctionVerifier<'_>,
    pc: usize,
    state: &State,
    number: i64,
    first: i64,
) -> Result<(), VerifyError> {
    let wasi = wasi::Function::from_number(number as u16).expect("checked with the operands");
    match state.holds_values(first as u32, &wasi.param_types()) {
        true => Ok(()),
        false => function.error(
            pc,
            format!("a call of `{}` without arguments of its types", wasi.info().name),
        ),
    }
}

/// What an instruction leaves in the frame, and what references it may take.
fn effect(function: &FunctionVerifier<'_>, pc: usize, inst: &Inst, state: &mut State) -> Result<(), VerifyError> {
    let args = inst.args;
    let unit = |arg: i64| arg as u32;
    let spaces = function.spaces;
    let table = |index: i64| spaces.tables[index as usize].element;
    let global = |index: i64| spaces.globals[index as usize].ty;
    let wanted = |state: &State, arg: i64, ty: ValType| match state.holds(unit(arg), value(ty)) {
        true => Ok(()),
        false => function.error(
            pc,
            format!("`{}` wants a value of type {ty} in unit {arg}", inst.op.info().name),
        ),
    };
    // What others may see: an exception must be kept then.
    let stored = |state: &State, arg: i64, ty: ValType| match ty {
        ValType::ExnRef if state.holds(unit(arg), &[KEPT_EXN_REF]) => Ok(()),
        ValType::ExnRef => function.error(
            pc,
            format!(
                "`{}` wants an exception that is kept in unit {arg}",
                inst.op.info().name
            ),
        ),
        ty => wanted(state, arg, ty),
    };
    match Effect::of(inst.op) {
        Effect::Return => {
            if !state.holds_values(unit(args[1]), &function.ty.results) {
                return function.error(pc, "`return` without results of the function's types");
            }
        }
        Effect::Call => {
            let ty = function.callee(pc, inst).expect("checked with the operands");
            let base = unit(args[0]);
            if base + ty.header() > function.frame {
                return function.error(pc, "the callee's parameters or results lie outside of the frame");
            }
            if !state.holds_values(base, &ty.params) {
                return function.error(pc, "a call without arguments of the callee's types");
            }
            state.forget(base);
            state.write_values(base, &ty.results);
        }
        Effect::Zero => state.write_zeros(unit(args[0]), unit(args[1])),
        Effect::Const32 => state.write(unit(args[0]), &[constant(args[1] as u32)]),
        Effect::Copy32 => state.write(unit(args[0]), &[state.at(unit(args[1]))]),
        Effect::Select32 => {
            let selected = state.at(unit(args[1])) & state.at(unit(args[2]));
            if selected == UNDEFINED {
                return function.error(pc, "`select32` of values of different types");
            }
            state.write(unit(args[0]), &[selected]);
        }
        Effect::GlobalGet32 => state.write(unit(args[0]), value(global(args[1]))),
        Effect::GlobalSet32 => stored(state, args[0], global(args[1]))?,
        Effect::TableGet => state.write(unit(args[0]), value(table(args[2]))),
        Effect::TableSet => stored(state, args[1], table(args[2]))?,
        Effect::TableFill => stored(state, args[1], table(args[3]))?,
        Effect::TableGrow => {
            stored(state, args[2], table(args[3]))?;
            state.write(unit(args[0]), &[WHOLE]);
        }
        Effect::ExceptionKeep => {
            wanted(state, args[1], ValType::ExnRef)?;
            state.write(unit(args[0]), &[KEPT_EXN_REF]);
        }
        Effect::ThrowRef => wanted(state, args[0], ValType::ExnRef)?,
        Effect::Throw => {
            if !state.holds_values(unit(args[0]), &spaces.tag_type(args[2] as u32).params) {
                return function.error(pc, "`throw` without values of the tag's types");
            }
        }
        Effect::RefFunc => state.write(unit(args[0]), &[FUNC_REF]),
        Effect::CopyRange => {
            let (to, from, count) = (unit(args[0]), unit(args[1]), unit(args[2]));
            if to > from && to < from + count {
                return function.error(pc, "`copy_range` would read what it has overwritten");
            }
            state.copy_range(to, from, count);
        }
        Effect::RequestQueue => wasi_arguments(function, pc, state, args[0], args[1])?,
        Effect::RequestPoll => {
            wasi_arguments(function, pc, state, args[1], args[2])?;
            state.write_number(unit(args[0]), 1);
        }
        Effect::Registers => {
            let layout = Layout::of(inst.op);
            // What is a register and not read is written.
            for ((units, reads), arg) in layout.units().iter().zip(layout.reads()).zip(args) {
                if *units > 0 && *reads == Reads::Nothing {
                    state.write_number(unit(arg), *units);
                }
            }
        }
    }
    Ok(())
}
