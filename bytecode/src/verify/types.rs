//! What the units of a function hold wherever they hold anything, whatever the paths are.
//!
//! A compiler uses most registers with one type in all of a function. Then the only question is where the register has
//! been written. The answer needs no more passes over the code than its loops are nested. Zeros and copies alone could
//! need one pass for each register. A zero may be read as several types. And a loop that copies a number from register
//! to register has one register less that is zero with each pass.

use super::effects::{Effect, step};
use super::state::{ANY, State, UNDEFINED, Unit, ZERO, value};
use super::{FunctionVerifier, VerifyError};
use crate::code::Inst;
use crate::program::{Try, ValType};

/// What is written to the units of a frame.
#[derive(Default)]
pub(super) struct Types {
    /// For each unit, what all that is written to it may be read as. A copied range counts as nothing.
    units: Vec<Unit>,
    /// Units of which the first is copied to the second, in order.
    copies: Vec<(u32, u32)>,
    /// Units whose copies must be looked at.
    queue: Vec<u32>,
    state: State,
}

/// How much of what units hold is kept.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Detail {
    /// All.
    #[default]
    Full,
    /// Of a unit that always has a value of one type, whether it has one.
    Typed,
    /// The same, and of units that hold now this and now that nothing at all.
    TypedOnly,
}

impl Types {
    /// Finds the types of a function whose operands are checked, and whose body begins at word `body`.
    pub(super) fn find(
        &mut self,
        function: &FunctionVerifier<'_>,
        body: usize,
        tries: &[Try],
    ) -> Result<(), VerifyError> {
        let frame = function.frame;
        self.units.clear();
        self.units.resize(frame as usize, ZERO);
        self.copies.clear();
        self.write_values(0, &function.ty.params);
        for clause in tries.iter().flat_map(|try_| &try_.clauses) {
            self.write_values(clause.unit, &function.clause_types(clause));
        }
        // In a frame of zeros each instruction finds what it wants, and what it writes is seen.
        self.state.clear(frame as usize);
        self.state.write_zeros(0, frame);
        self.state.keep_all();
        let mut pc = body;
        while pc < function.code.len() {
            let inst = Inst::read(&function.code[pc..]);
            let unit = |i: usize| inst.args[i] as u32;
            match Effect::of(inst.op) {
                Effect::Call => {
                    let callee = function.callee(pc, &inst).expect("checked with the operands");
                    self.write_values(unit(0), &callee.results);
                }
                Effect::Copy32 => self.copies.push((unit(1), unit(0))),
                Effect::Select32 => self.copies.extend([(unit(1), unit(0)), (unit(2), unit(0))]),
                Effect::CopyRange => self.units[unit(0) as usize..][..unit(2) as usize].fill(UNDEFINED),
                // It may be read as all.
                Effect::Zero => {}
                _ => {
                    step(function, pc, &inst, &mut self.state)?;
                    self.state.take_changes(|at, written| self.units[at] &= written);
                }
            }
            pc += inst.words();
        }
        self.follow_copies();
        Ok(())
    }

    /// Notes that values of these types are written side by side, as far as the frame goes.
    fn write_values(&mut self, at: u32, types: &[ValType]) {
        let values = types.iter().flat_map(|ty| value(*ty));
        for (unit, value) in self.units.iter_mut().skip(at as usize).zip(values) {
            *unit &= value;
        }
    }

    /// What a copy writes is what its source holds. That becomes less at most three times, so each copy is looked at no
    /// more than four times.
    fn follow_copies(&mut self) {
        self.copies.sort_unstable();
        self.copies.dedup();
        self.queue.clear();
        self.queue.extend(self.copies.iter().map(|(from, _)| *from));
        self.queue.dedup();
        while let Some(from) = self.queue.pop() {
            let first = self.copies.partition_point(|(other, _)| *other < from);
            let copied = self.units[from as usize] & ANY;
            for (_, to) in self.copies[first..].iter().take_while(|(other, _)| *other == from) {
                let unit = &mut self.units[*to as usize];
                if *unit & !copied != UNDEFINED {
                    *unit &= copied;
                    self.queue.push(*to);
                }
            }
        }
    }

    /// Leaves of what the units from `start` on hold what `detail` asks for.
    pub(super) fn reduce(&self, start: usize, units: &mut [Unit], detail: Detail) {
        for (unit, written) in units.iter_mut().zip(&self.units[start..]) {
            // A half of a 64-bit value is one only beside the other.
            if *written & ANY != UNDEFINED && *unit != UNDEFINED {
                *unit &= written;
            } else if *written == UNDEFINED && detail == Detail::TypedOnly {
                *unit = UNDEFINED;
            }
        }
    }
}
