//! The data flow half of verification: what each unit holds on every path.

use super::{FunctionVerifier, VerifyError};
use crate::code::{Inst, br_table_offset};
use crate::isa::{Op, Operand, Ty};
use crate::program::ValType;

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
    /// Zero, which may be read as a value of any width.
    Zero,
}

use Unit::*;

fn join(a: Unit, b: Unit) -> Unit {
    match (a, b) {
        _ if a == b => a,
        (Zero, Whole | Low | High) => b,
        (Whole | Low | High, Zero) => a,
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

    fn holds(&self, at: u32, units: u32) -> bool {
        let at = at as usize;
        match units {
            1 => matches!(self.0[at], Whole | Zero),
            _ => matches!((self.0[at], self.0[at + 1]), (Low | Zero, High | Zero)),
        }
    }

    fn holds_all(&self, mut at: u32, types: &[ValType]) -> bool {
        types.iter().all(|ty| {
            at += ty.units();
            self.holds(at - ty.units(), ty.units())
        })
    }
}

fn value(units: u32) -> &'static [Unit] {
    if units == 1 { &[Whole] } else { &[Low, High] }
}

fn values(types: &[ValType]) -> Vec<Unit> {
    types.iter().flat_map(|ty| value(ty.units())).copied().collect()
}

/// Verifies the flow of one function whose operands are already checked.
pub(super) fn verify(function: &FunctionVerifier<'_>) -> Result<(), VerifyError> {
    let insts = &function.insts;
    // A block begins at the first instruction, at branch targets and after branches.
    let mut begins = vec![false; insts.len()];
    begins[1] = true;
    for (i, (pc, inst)) in insts.iter().enumerate().skip(1) {
        let targets = branch_targets(function, *pc, inst);
        if !targets.is_empty() && i + 1 < insts.len() {
            begins[i + 1] = true;
        }
        for target in targets {
            begins[target] = true;
        }
    }
    let mut at_entry: Vec<Option<Box<[Unit]>>> = vec![None; insts.len()];
    let mut first = vec![Undefined; function.frame as usize];
    let params = values(&function.ty.params);
    first[..params.len()].copy_from_slice(&params);
    at_entry[1] = Some(first.into());
    let mut work = vec![1];
    while let Some(block) = work.pop() {
        let mut state = State(at_entry[block].clone().expect("set before it was queued").into_vec());
        for (i, (pc, inst)) in insts.iter().enumerate().skip(block) {
            step(function, *pc, inst, &mut state)?;
            let next = (!ends_block(inst.op)).then_some(i + 1);
            let mut targets = branch_targets(function, *pc, inst);
            let last = !targets.is_empty() || next.is_none_or(|next| begins[next]);
            if last {
                targets.extend(next);
                for target in targets {
                    if merge(&mut at_entry[target], &state.0) && !work.contains(&target) {
                        work.push(target);
                    }
                }
                break;
            }
        }
    }
    Ok(())
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

fn ends_block(op: Op) -> bool {
    matches!(op, Op::Trap | Op::Jump | Op::Return | Op::BrTable)
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
        .find(|(o, _)| matches!(o, Operand::Rel16 | Operand::Rel32) && inst.op != Op::Call);
    rel.map(|(_, rel)| target(rel)).into_iter().collect()
}

fn step(function: &FunctionVerifier<'_>, pc: u32, inst: &Inst, state: &mut State) -> Result<(), VerifyError> {
    let operands = || inst.op.info().operands.iter().zip(inst.args);
    for (operand, arg) in operands() {
        if let Operand::Src(ty) = operand
            && !state.holds(arg as u32, ty.units())
        {
            return function.error(
                pc,
                format!(
                    "`{}` reads {} from unit {arg}, which holds none on some path",
                    inst.op.info().name,
                    type_name(*ty)
                ),
            );
        }
    }
    match inst.op {
        Op::Return if !state.holds_all(inst.args[1] as u32, &function.ty.results) => {
            return function.error(pc, "`return` without results of the function's types");
        }
        Op::Call | Op::CallIndirect | Op::CallImport => {
            let ty = function.callee(pc, inst).expect("checked with the operands");
            let base = inst.args[0] as u32;
            if base + ty.header() > function.frame {
                return function.error(pc, "the callee's parameters or results lie outside of the frame");
            }
            if !state.holds_all(base, &ty.params) {
                return function.error(pc, "a call without arguments of the callee's types");
            }
            state.write(base, &vec![Undefined; (function.frame - base) as usize]);
            state.write(base, &values(&ty.results));
        }
        Op::Zero => state.write(inst.args[0] as u32, &vec![Zero; inst.args[1] as usize]),
        Op::CopyRange => {
            let (to, from, count) = (inst.args[0] as u32, inst.args[1] as usize, inst.args[2] as usize);
            if to as usize > from && (to as usize) < from + count {
                return function.error(pc, "`copy_range` would read what it has overwritten");
            }
            let copied = state.0[from..from + count].to_vec();
            state.write(to, &copied);
            // A copied half without its other half is no value.
            let to = to as usize;
            if count > 0 && state.0[to] == High {
                state.0[to] = Undefined;
            }
            if count > 0 && state.0[to + count - 1] == Low {
                state.0[to + count - 1] = Undefined;
            }
        }
        _ => {
            for (operand, arg) in operands() {
                if let Operand::Def(ty) = operand {
                    state.write(arg as u32, value(ty.units()));
                }
            }
        }
    }
    Ok(())
}

fn type_name(ty: Ty) -> String {
    match ty.units() {
        1 => "a 32-bit value".to_owned(),
        _ => "a 64-bit value".to_owned(),
    }
}
