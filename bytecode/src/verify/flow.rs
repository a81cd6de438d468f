//! The data flow half of verification: what each unit holds on every path.

use super::effects::step;
use super::simple::SIMPLE;
use super::state::{State, UNDEFINED, Unit};
use super::{FunctionVerifier, VerifyError, Words};
use crate::code::Inst;
use crate::isa::{Op, Operand};
use crate::program::Clause;

/// What the states of a function may take, in units: more is refused, not tried.
const MOST_UNITS: usize = 1 << 30;

/// The states at the instructions that branches lead to.
#[derive(Default)]
struct Joins {
    /// For each join, the word of its instruction; in order.
    starts: Vec<u32>,
    /// For each 64 words, the number of joins before them.
    before: Vec<u32>,
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
    /// Begins anew, with joins at these words.
    fn find(&mut self, words: &Words) {
        self.starts.clear();
        self.before.clear();
        for (i, bits) in words.0.iter().enumerate() {
            self.before.push(self.starts.len() as u32);
            let mut bits = *bits;
            while bits != 0 {
                self.starts.push(i as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// Makes room for a state of `frame` units at each join.
    fn clear(&mut self, frame: usize) {
        let states = self.starts.len();
        self.frame = frame;
        if self.units.len() < states * frame {
            self.units.resize(states * frame, UNDEFINED);
        }
        self.reached.clear();
        self.reached.resize(states, false);
        self.queued.clear();
        self.queued.resize(states, false);
    }

    /// The join at a word that is among `words`, of which these joins were found.
    fn at(&self, words: &Words, word: usize) -> usize {
        let lower = words.0[word / 64] & !(u64::MAX << (word % 64));
        self.before[word / 64] as usize + lower.count_ones() as usize
    }

    fn state(&self, join: usize) -> &[Unit] {
        &self.units[join * self.frame..][..self.frame]
    }

    /// Joins `state` into that of `join`.
    fn reach(&mut self, join: usize, state: &State) {
        let entry = &mut self.units[join * self.frame..][..self.frame];
        if !std::mem::replace(&mut self.reached[join], true) {
            entry.copy_from_slice(state.frame());
            self.queued[join] = true;
            return;
        }
        let mut lost = UNDEFINED;
        for (old, new) in entry.iter_mut().zip(state.frame()) {
            lost |= *old & !new;
            *old &= new;
        }
        self.queued[join] |= lost != UNDEFINED;
    }
}

/// The memory of the analysis, used again for the next function.
#[derive(Default)]
pub(super) struct Flow {
    joins: Joins,
    state: State,
    /// That of a handler.
    thrown: State,
}

impl Flow {
    /// Verifies the flow of one function whose operands are already checked, and whose body begins at
    /// word `body`.
    ///
    /// A state is kept for each instruction that branches lead to; from there the code is walked until
    /// it runs into another such instruction or ends. Walks go in the order of the code, again where a
    /// branch back has changed a state.
    pub(super) fn verify(&mut self, function: &mut FunctionVerifier<'_>, body: usize) -> Result<(), VerifyError> {
        let Flow { joins, state, thrown } = self;
        let tries = &function.spaces.program.meta.functions[function.index].tries;
        function.targets.insert(body);
        for clause in tries.iter().flat_map(|try_| &try_.clauses) {
            let handler = function.handler(clause).expect("checked with the exception table");
            function.targets.insert(handler);
        }
        let function = &*function;
        joins.find(function.targets);
        let (states, frame) = (joins.starts.len(), function.frame as usize);
        if states.saturating_mul(frame) > MOST_UNITS {
            return function.error(
                0,
                format!("{states} branch targets with {frame} registers are more than can be verified"),
            );
        }
        joins.clear(frame);
        state.clear(frame);
        thrown.clear(frame);
        state.write_values(0, &function.ty.params);
        joins.reach(0, state);
        let mut next = Some(0);
        while let Some(join) = next {
            let first = walk(function, joins, join, state, thrown)?;
            next = (first..states).find(|join| joins.queued[*join]);
        }
        Ok(())
    }
}

/// Walks the code behind a join. Gives the first join whose state that may have changed, or its own.
fn walk(
    function: &FunctionVerifier<'_>,
    joins: &mut Joins,
    join: usize,
    state: &mut State,
    thrown: &mut State,
) -> Result<usize, VerifyError> {
    joins.queued[join] = false;
    state.set_frame(joins.state(join));
    let catches = !function.spaces.program.meta.functions[function.index].tries.is_empty();
    let next = joins
        .starts
        .get(join + 1)
        .map_or(function.code.len(), |next| *next as usize);
    // The first state that a branch back has changed.
    let mut back = join;
    let mut pc = joins.starts[join] as usize;
    while pc < next {
        let word = function.code[pc];
        if let Some(simple) = &SIMPLE[word as u16 as usize]
            && simple.step(word, state)
        {
            if let Some(distance) = simple.branch {
                let target = pc as i64 + distance.read(&function.code[pc..]);
                let target = joins.at(function.targets, target as usize);
                joins.reach(target, state);
                back = back.min(target);
                if simple.ends_block {
                    return Ok(back);
                }
            }
            pc += simple.words;
            continue;
        }
        let inst = Inst::read(&function.code[pc..]);
        if catches && may_throw(inst.op) {
            for clause in function.handlers_at(pc) {
                let target = function.handler(clause).expect("checked with the exception table");
                let target = joins.at(function.targets, target);
                thrown.set_frame(state.frame());
                throw(function, &inst, clause, thrown);
                joins.reach(target, thrown);
                back = back.min(target);
            }
        }
        step(function, pc, &inst, state)?;
        function.for_each_target(pc, &inst, |target| {
            let target = joins.at(function.targets, target);
            joins.reach(target, state);
            back = back.min(target);
        });
        if ends_block(inst.op) {
            return Ok(back);
        }
        pc += inst.words();
    }
    // Code that does not end a block does not end the function, so there is a next join.
    joins.reach(join + 1, state);
    Ok(back)
}

/// Whether the instruction that follows is reached by branches only.
pub(super) const fn ends_block(op: Op) -> bool {
    matches!(
        op,
        Op::Trap | Op::Jump | Op::Return | Op::BrTable | Op::Throw | Op::ThrowRef
    )
}

/// Whether an exception may be thrown where the instruction stands, in the frame of its function.
pub(super) const fn may_throw(op: Op) -> bool {
    matches!(
        op,
        Op::Throw | Op::ThrowRef | Op::Call | Op::CallIndirect | Op::CallImport
    ) || matches!(op, Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport)
}

/// Makes of the frame before `inst` threw what a handler finds: a callee's frame lay over the units
/// from its base on.
fn throw(function: &FunctionVerifier<'_>, inst: &Inst, clause: &Clause, state: &mut State) {
    if let Some(Operand::Base) = inst.op.info().operands.first() {
        state.forget(inst.args[0] as u32);
    }
    state.write_values(clause.unit, &function.clause_types(clause));
}
