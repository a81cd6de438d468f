//! The data flow half of verification: what each unit holds on every path.

use super::{FunctionVerifier, VerifyError};
use crate::code::{Inst, br_table_offset};
use crate::isa::{Op, Operand, Ty};
use crate::program::{Clause, ValType};

/// What a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Nothing that may be read.
    Undefined,
    /// A 32-bit value.
    Whole,
    /// The low half of a 64-bit value; the next unit is its `High`.
    Low,
    /// The high half of a 64-bit value.
    High,
    /// Quarters of a 128-bit value, lowest first.
    Quarter0,
    Quarter1,
    Quarter2,
    Quarter3,
    /// A reference to a function, or null. Never a number: numbers would be forged references.
    FuncRef,
    /// A reference to something of the host's, or null.
    ExternRef,
    /// A reference to an exception, or null.
    ExnRef,
    /// The same, of one that is kept for good: what tables and globals take.
    KeptExnRef,
    /// Zero, which may be read as a value of any width, and as null.
    Zero,
}

use Unit::*;

fn join(a: Unit, b: Unit) -> Unit {
    match (a, b) {
        _ if a == b => a,
        (Zero, Undefined) | (Undefined, Zero) => Undefined,
        (Zero, _) => b,
        (_, Zero) => a,
        _ => Undefined,
    }
}

struct State(Vec<Unit>);

impl State {
    fn write(&mut self, at: u32, values: &[Unit]) {
        let (start, end) = (at as usize, at as usize + values.len());
        // A half of a 64-bit value that loses its other half is no value any more.
        if start > 0 && !values.is_empty() && self.0[start] == High {
            self.0[start - 1] = Undefined;
        }
        if end < self.0.len() && !values.is_empty() && self.0[end] == High {
            self.0[end] = Undefined;
        }
        self.0[start..end].copy_from_slice(values);
    }

    /// Whether a value of the wanted kind lies at a unit.
    fn holds(&self, at: u32, wanted: &[Unit]) -> bool {
        let found = &self.0[at as usize..][..wanted.len()];
        found
            .iter()
            .zip(wanted)
            .all(|(found, wanted)| found == wanted || *found == Zero)
    }

    /// Whether a value of a width lies at a unit, be it a number or a reference.
    fn holds_width(&self, at: u32, units: u32) -> bool {
        self.holds(at, wide(units))
            || units == 1 && matches!(self.0[at as usize], FuncRef | ExternRef | ExnRef | KeptExnRef)
    }
}

fn wide(units: u32) -> &'static [Unit] {
    match units {
        1 => &[Whole],
        2 => &[Low, High],
        _ => &[Quarter0, Quarter1, Quarter2, Quarter3],
    }
}

fn value(ty: ValType) -> &'static [Unit] {
    match ty {
        ValType::FuncRef => &[FuncRef],
        ValType::ExternRef => &[ExternRef],
        ValType::ExnRef => &[ExnRef],
        _ => wide(ty.units()),
    }
}

pub(super) fn values(types: &[ValType]) -> Vec<Unit> {
    types.iter().flat_map(|ty| value(*ty)).copied().collect()
}

/// Bytes of states that a function may need: more is refused, not tried.
const MOST_STATES: usize = 2 << 30;

/// Verifies the flow of one function whose operands are already checked.
///
/// A state is kept for each instruction that branches lead to; from there the code is walked until
/// it runs into another such instruction or ends.
pub(super) fn verify(function: &FunctionVerifier<'_>) -> Result<(), VerifyError> {
    let insts = &function.insts;
    let mut joins = vec![false; insts.len()];
    joins[1] = true;
    for (pc, inst) in insts.iter().skip(1) {
        for target in branch_targets(function, *pc, inst) {
            joins[target] = true;
        }
    }
    let tries = &function.spaces.program.meta.functions[function.index].tries;
    for clause in tries.iter().flat_map(|try_| &try_.clauses) {
        joins[function.handler(clause).expect("checked with the exception table")] = true;
    }
    let states = joins.iter().filter(|join| **join).count();
    if states.saturating_mul(function.frame as usize) > MOST_STATES {
        return function.error(
            0,
            format!(
                "{states} branch targets with {} registers are more than can be verified",
                function.frame
            ),
        );
    }
    let mut at_entry: Vec<Option<Box<[Unit]>>> = vec![None; insts.len()];
    let mut first = vec![Undefined; function.frame as usize];
    let params = values(&function.ty.params);
    first[..params.len()].copy_from_slice(&params);
    at_entry[1] = Some(first.into());
    let mut work = vec![1];
    let mut queued = vec![false; insts.len()];
    while let Some(block) = work.pop() {
        queued[block] = false;
        let mut state = State(at_entry[block].clone().expect("set before it was queued").into_vec());
        let mut reach = |target: usize, state: &State| {
            if merge(&mut at_entry[target], &state.0) && !std::mem::replace(&mut queued[target], true) {
                work.push(target);
            }
        };
        for (i, (pc, inst)) in insts.iter().enumerate().skip(block) {
            if i != block && joins[i] {
                reach(i, &state);
                break;
            }
            if may_throw(inst.op) {
                for clause in function.handlers_at(*pc) {
                    let target = function.handler(clause).expect("checked with the exception table");
                    reach(target, &thrown(function, inst, clause, &state));
                }
            }
            step(function, *pc, inst, &mut state)?;
            for target in branch_targets(function, *pc, inst) {
                reach(target, &state);
            }
            if ends_block(inst.op) {
                break;
            }
        }
    }
    Ok(())
}

/// Whether an exception may be thrown where the instruction stands, in the frame of its function.
fn may_throw(op: Op) -> bool {
    matches!(
        op,
        Op::Throw | Op::ThrowRef | Op::Call | Op::CallIndirect | Op::CallImport
    ) || matches!(op, Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport)
}

/// The frame as a handler finds it after `inst` threw: a callee's frame lay over the units from its
/// base on.
fn thrown(function: &FunctionVerifier<'_>, inst: &Inst, clause: &Clause, before: &State) -> State {
    let mut state = State(before.0.clone());
    if let Some(Operand::Base) = inst.op.info().operands.first() {
        state.write(
            inst.args[0] as u32,
            &vec![Undefined; function.frame as usize - inst.args[0] as usize],
        );
    }
    state.write(clause.unit, &function.clause_values(clause));
    state
}

/// Joins `state` into a block's entry; says whether that changed it.
fn merge(entry: &mut Option<Box<[Unit]>>, state: &[Unit]) -> bool {
    let Some(entry) = entry else {
        *entry = Some(state.into());
        return true;
    };
    let mut changed = false;
    for (old, new) in entry.iter_mut().zip(state) {
        let joined = join(*old, *new);
        changed |= joined != *old;
        *old = joined;
    }
    changed
}

/// Whether the instruction that follows is reached by branches only.
pub(super) fn ends_block(op: Op) -> bool {
    matches!(
        op,
        Op::Trap | Op::Jump | Op::Return | Op::BrTable | Op::Throw | Op::ThrowRef
    )
}

fn branch_targets(function: &FunctionVerifier<'_>, pc: u32, inst: &Inst) -> Vec<usize> {
    let target = |rel: i64| function.target(pc, rel).expect("checked with the operands");
    if inst.op == Op::BrTable {
        let table = &function.code[pc as usize..];
        let mut all: Vec<_> = (0..inst.args[1] as usize)
            .map(|i| target(br_table_offset(table, i) as i64))
            .collect();
        all.sort_unstable();
        all.dedup();
        return all;
    }
    let operands = inst.op.info().operands.iter();
    let rel = operands
        .zip(inst.args)
        .find(|(o, _)| matches!(o, Operand::Rel16 | Operand::Rel32));
    rel.map(|(_, rel)| target(rel)).into_iter().collect()
}

fn step(function: &FunctionVerifier<'_>, pc: u32, inst: &Inst, state: &mut State) -> Result<(), VerifyError> {
    let name = inst.op.info().name;
    let operands = || inst.op.info().operands.iter().zip(inst.args);
    for (operand, arg) in operands() {
        let ty = match operand {
            Operand::Src(ty) => *ty,
            Operand::Address if function.wide_address(inst) => Ty::I64,
            Operand::Address => Ty::I32,
            _ => continue,
        };
        // `B32` is any value of that width; what a reference may be used for, see `effect`.
        let holds = match ty {
            Ty::B32 | Ty::Ref => state.holds_width(arg as u32, 1),
            ty => state.holds(arg as u32, wide(ty.units())),
        };
        if !holds {
            let bits = ty.units() * 32;
            return function.error(
                pc,
                format!("`{name}` reads a value of {bits} bits from unit {arg}, which holds none on some path"),
            );
        }
    }
    effect(function, pc, inst, state)?;
    Ok(())
}

/// What an instruction leaves in the frame, and what references it may take.
fn effect(function: &FunctionVerifier<'_>, pc: u32, inst: &Inst, state: &mut State) -> Result<(), VerifyError> {
    let args = inst.args;
    let unit = |arg: i64| arg as u32;
    let at = |state: &State, arg: i64| state.0[arg as usize];
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
        ValType::ExnRef if state.holds(unit(arg), &[KeptExnRef]) => Ok(()),
        ValType::ExnRef => function.error(
            pc,
            format!(
                "`{}` wants an exception that is kept in unit {arg}",
                inst.op.info().name
            ),
        ),
        ty => wanted(state, arg, ty),
    };
    match inst.op {
        Op::Return if !state.holds(unit(args[1]), &values(&function.ty.results)) => {
            return function.error(pc, "`return` without results of the function's types");
        }
        Op::Call
        | Op::CallIndirect
        | Op::CallImport
        | Op::ReturnCall
        | Op::ReturnCallIndirect
        | Op::ReturnCallImport => {
            let ty = function.callee(pc, inst).expect("checked with the operands");
            let base = unit(args[0]);
            if base + ty.header() > function.frame {
                return function.error(pc, "the callee's parameters or results lie outside of the frame");
            }
            if !state.holds(base, &values(&ty.params)) {
                return function.error(pc, "a call without arguments of the callee's types");
            }
            state.write(base, &vec![Undefined; (function.frame - base) as usize]);
            state.write(base, &values(&ty.results));
        }
        Op::Zero => state.write(unit(args[0]), &vec![Zero; args[1] as usize]),
        Op::Const32 if args[1] == 0 => state.write(unit(args[0]), &[Zero]),
        Op::Copy32 => state.write(unit(args[0]), &[at(state, args[1])]),
        Op::Select32 => {
            let selected = join(at(state, args[1]), at(state, args[2]));
            if selected == Undefined {
                return function.error(pc, "`select32` of values of different types");
            }
            state.write(unit(args[0]), &[selected]);
        }
        Op::GlobalGet32 => state.write(unit(args[0]), value(global(args[1]))),
        Op::GlobalSet32 => stored(state, args[0], global(args[1]))?,
        Op::TableGet => state.write(unit(args[0]), value(table(args[2]))),
        Op::TableSet => stored(state, args[1], table(args[2]))?,
        Op::TableFill => stored(state, args[1], table(args[3]))?,
        Op::TableGrow => {
            stored(state, args[2], table(args[3]))?;
            state.write(unit(args[0]), &[Whole]);
        }
        Op::RefFunc => state.write(unit(args[0]), &[FuncRef]),
        Op::ExceptionKeep => {
            wanted(state, args[1], ValType::ExnRef)?;
            state.write(unit(args[0]), &[KeptExnRef]);
        }
        Op::ThrowRef => wanted(state, args[0], ValType::ExnRef)?,
        Op::Throw if !state.holds(unit(args[0]), &values(&spaces.tag_type(args[2] as u32).params)) => {
            return function.error(pc, "`throw` without values of the tag's types");
        }
        Op::CopyRange => copy_range(function, pc, inst, state)?,
        _ => {
            for (operand, arg) in inst.op.info().operands.iter().zip(args) {
                if let Operand::Def(ty) = operand {
                    state.write(unit(arg), wide(ty.units()));
                }
            }
        }
    }
    Ok(())
}

fn copy_range(function: &FunctionVerifier<'_>, pc: u32, inst: &Inst, state: &mut State) -> Result<(), VerifyError> {
    let (to, from, count) = (inst.args[0] as usize, inst.args[1] as usize, inst.args[2] as usize);
    if to > from && to < from + count {
        return function.error(pc, "`copy_range` would read what it has overwritten");
    }
    let copied = state.0[from..from + count].to_vec();
    state.write(to as u32, &copied);
    // A copied half without its other half is no value.
    if count > 0 && state.0[to] == High {
        state.0[to] = Undefined;
    }
    if count > 0 && state.0[to + count - 1] == Low {
        state.0[to + count - 1] = Undefined;
    }
    Ok(())
}
