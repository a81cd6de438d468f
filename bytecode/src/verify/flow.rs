//! The data flow half of verification: what each unit holds on every path.

use super::{Decoded, FunctionVerifier, VerifyError};
use crate::code::{Inst, Layout, Reads};
use crate::isa::{Op, Operand};
use crate::program::{Clause, ValType};

/// What a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
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

fn join_units(a: Unit, b: Unit) -> Unit {
    match (a, b) {
        _ if a == b => a,
        (Zero, Undefined) | (Undefined, Zero) => Undefined,
        (Zero, _) => b,
        (_, Zero) => a,
        _ => Undefined,
    }
}

#[derive(Default)]
struct State(Vec<Unit>);

impl State {
    #[inline]
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

    /// Writes a number of so many units.
    #[inline]
    fn write_number(&mut self, at: u32, units: u8) {
        // Each of a known length, so that nothing is called to copy it.
        match units {
            1 => self.write(at, &[Whole]),
            2 => self.write(at, &[Low, High]),
            _ => self.write(at, wide(u32::from(units))),
        }
    }

    /// Forgets what lies in the units from `at` on.
    fn forget(&mut self, at: u32) {
        self.write(at, &[Undefined][..usize::from((at as usize) < self.0.len())]);
        self.0[at as usize..].fill(Undefined);
    }

    /// Writes values of these types side by side.
    fn write_values(&mut self, mut at: u32, types: &[ValType]) {
        for ty in types {
            self.write(at, value(*ty));
            at += ty.units();
        }
    }

    /// Whether values of these types lie side by side.
    fn holds_values(&self, mut at: u32, types: &[ValType]) -> bool {
        types.iter().all(|ty| {
            let holds = self.holds(at, value(*ty));
            at += ty.units();
            holds
        })
    }

    /// Whether a value of the wanted kind lies at a unit.
    #[inline]
    fn holds(&self, at: u32, wanted: &[Unit]) -> bool {
        let found = &self.0[at as usize..][..wanted.len()];
        found
            .iter()
            .zip(wanted)
            .all(|(found, wanted)| found == wanted || *found == Zero)
    }

    /// Whether a number of so many units lies at a unit.
    #[inline]
    fn holds_number(&self, at: u32, units: u8) -> bool {
        match units {
            1 => self.holds(at, &[Whole]),
            2 => self.holds(at, &[Low, High]),
            _ => self.holds(at, wide(u32::from(units))),
        }
    }

    /// Whether a value of one unit lies at a unit, be it a number or a reference.
    #[inline]
    fn holds_unit(&self, at: u32) -> bool {
        matches!(
            self.0[at as usize],
            Whole | Zero | FuncRef | ExternRef | ExnRef | KeptExnRef
        )
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

/// Bytes of states that a function may need: more is refused, not tried.
const MOST_STATES: usize = 2 << 30;

/// For an instruction that no branch leads to.
const NO_JOIN: u32 = u32::MAX;

/// The states at the instructions that branches lead to.
#[derive(Default)]
struct Joins {
    /// The units of all states, one state after the other; what they are until a state is set does not
    /// matter.
    units: Vec<Unit>,
    frame: usize,
    /// Whether a state has been set.
    reached: Vec<bool>,
    /// Whether the code behind has not been walked with the state of now.
    queued: Vec<bool>,
}

impl Joins {
    /// Begins anew, with so many states of `frame` units.
    fn clear(&mut self, states: usize, frame: usize) {
        self.frame = frame;
        if self.units.len() < states * frame {
            self.units.resize(states * frame, Undefined);
        }
        self.reached.clear();
        self.reached.resize(states, false);
        self.queued.clear();
        self.queued.resize(states, false);
    }

    fn state(&self, join: usize) -> &[Unit] {
        &self.units[join * self.frame..][..self.frame]
    }

    /// Joins `state` into that of `join`.
    fn reach(&mut self, join: usize, state: &State) {
        let entry = &mut self.units[join * self.frame..][..self.frame];
        if !std::mem::replace(&mut self.reached[join], true) {
            entry.copy_from_slice(&state.0);
            self.queued[join] = true;
        } else if differ(entry, &state.0) {
            let mut changed = false;
            for (old, new) in entry.iter_mut().zip(&state.0) {
                let joined = join_units(*old, *new);
                changed |= joined != *old;
                *old = joined;
            }
            self.queued[join] |= changed;
        }
    }
}

/// Whether any unit differs. Most often none does: a loop without an early end is the fastest.
fn differ(a: &[Unit], b: &[Unit]) -> bool {
    a.iter().zip(b).fold(false, |differ, (a, b)| differ | (a != b))
}

/// The memory of the analysis, used again for the next function.
#[derive(Default)]
pub(super) struct Flow {
    joins: Joins,
    /// For each instruction, the number of its join, in the order of the code.
    join_at: Vec<u32>,
    /// For each join, its instruction.
    starts: Vec<usize>,
    state: State,
}

impl Flow {
    /// Verifies the flow of one function whose operands are already checked.
    ///
    /// A state is kept for each instruction that branches lead to; from there the code is walked until
    /// it runs into another such instruction or ends. Walks go in the order of the code, again where a
    /// branch back has changed a state.
    pub(super) fn verify(&mut self, function: &FunctionVerifier<'_>) -> Result<(), VerifyError> {
        self.find_joins(function);
        let Flow {
            joins,
            join_at,
            starts,
            state,
        } = self;
        let insts = &function.insts.list;
        let states = starts.len();
        let frame = function.frame as usize;
        if states.saturating_mul(frame) > MOST_STATES {
            return function.error(
                0,
                format!("{states} branch targets with {frame} registers are more than can be verified"),
            );
        }
        joins.clear(states, frame);
        state.0.clear();
        state.0.resize(frame, Undefined);
        state.write_values(0, &function.ty.params);
        joins.reach(0, state);
        let mut next = Some(0);
        while let Some(join) = next {
            joins.queued[join] = false;
            state.0.copy_from_slice(joins.state(join));
            // The first state that a branch back has changed.
            let mut back = join;
            for (i, decoded) in insts.iter().enumerate().skip(starts[join]) {
                if join_at[i] != NO_JOIN && i != starts[join] {
                    joins.reach(join_at[i] as usize, state);
                    break;
                }
                let inst = &decoded.inst;
                if may_throw(inst.op) {
                    for clause in function.handlers_at(decoded.pc) {
                        let target = function.handler(clause).expect("checked with the exception table");
                        let target = join_at[target] as usize;
                        joins.reach(target, &thrown(function, inst, clause, state));
                        back = back.min(target);
                    }
                }
                step(function, decoded, state)?;
                function.for_each_target(decoded, |target| {
                    let target = join_at[target] as usize;
                    joins.reach(target, state);
                    back = back.min(target);
                });
                if ends_block(inst.op) {
                    break;
                }
            }
            next = (back..states).find(|join| joins.queued[*join]);
        }
        Ok(())
    }

    /// Numbers the instructions that branches, the function's start and handlers lead to.
    fn find_joins(&mut self, function: &FunctionVerifier<'_>) {
        let insts = &function.insts.list;
        let join_at = &mut self.join_at;
        join_at.clear();
        join_at.resize(insts.len(), NO_JOIN);
        join_at[1] = 0;
        for decoded in &insts[1..] {
            function.for_each_target(decoded, |target| join_at[target] = 0);
        }
        let tries = &function.spaces.program.meta.functions[function.index].tries;
        for clause in tries.iter().flat_map(|try_| &try_.clauses) {
            join_at[function.handler(clause).expect("checked with the exception table")] = 0;
        }
        self.starts.clear();
        for (i, join) in join_at.iter_mut().enumerate().filter(|(_, join)| **join != NO_JOIN) {
            *join = self.starts.len() as u32;
            self.starts.push(i);
        }
    }
}

/// Whether the instruction that follows is reached by branches only.
pub(super) fn ends_block(op: Op) -> bool {
    matches!(
        op,
        Op::Trap | Op::Jump | Op::Return | Op::BrTable | Op::Throw | Op::ThrowRef
    )
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
        state.forget(inst.args[0] as u32);
    }
    state.write_values(clause.unit, &function.clause_types(clause));
    state
}

fn step(function: &FunctionVerifier<'_>, decoded: &Decoded, state: &mut State) -> Result<(), VerifyError> {
    let inst = &decoded.inst;
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
                decoded.pc,
                format!("`{name}` reads a value of {bits} bits from unit {arg}, which holds none on some path"),
            );
        }
    }
    effect(function, decoded, state)
}

/// What an instruction leaves in the frame, and what references it may take.
fn effect(function: &FunctionVerifier<'_>, decoded: &Decoded, state: &mut State) -> Result<(), VerifyError> {
    let (pc, inst) = (decoded.pc, &decoded.inst);
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
        Op::Return if !state.holds_values(unit(args[1]), &function.ty.results) => {
            return function.error(pc, "`return` without results of the function's types");
        }
        Op::Call
        | Op::CallIndirect
        | Op::CallImport
        | Op::ReturnCall
        | Op::ReturnCallIndirect
        | Op::ReturnCallImport => {
            let ty = function.callee(decoded).expect("checked with the operands");
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
        Op::Zero => state.write(unit(args[0]), &vec![Zero; args[1] as usize]),
        Op::Const32 if args[1] == 0 => state.write(unit(args[0]), &[Zero]),
        Op::Copy32 => state.write(unit(args[0]), &[at(state, args[1])]),
        Op::Select32 => {
            let selected = join_units(at(state, args[1]), at(state, args[2]));
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
        Op::ExceptionKeep => {
            wanted(state, args[1], ValType::ExnRef)?;
            state.write(unit(args[0]), &[KeptExnRef]);
        }
        Op::ThrowRef => wanted(state, args[0], ValType::ExnRef)?,
        Op::Throw if !state.holds_values(unit(args[0]), &spaces.tag_type(args[2] as u32).params) => {
            return function.error(pc, "`throw` without values of the tag's types");
        }
        Op::RefFunc => state.write(unit(args[0]), &[FuncRef]),
        Op::CopyRange => copy_range(function, pc, inst, state)?,
        _ => {
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
