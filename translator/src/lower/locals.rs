//! Which locals are used, and which must be zeroed at the start.
//!
//! A local starts as zero, but most are set before they are read. In structured code a `local.set`
//! comes before everything that follows it in the same construct. So a local needs no zero if each
//! read follows a set inside of the construct that holds the set. The bytecode verifier proves the
//! outcome again, path by path.

use crate::module::{Code, opcode};

/// What is known of a local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Never mentioned.
    Unused,
    /// Every read follows a set.
    SetFirst,
    /// May be read while it is still zero.
    NeedsZero,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Untouched,
    /// Set in a construct that is open.
    Set,
    /// Was set in a construct that has ended.
    Closed,
    NeedsZero,
}

/// The analysis of a function's locals.
#[derive(Default)]
pub(super) struct Uses {
    /// By local, parameters included.
    states: Vec<State>,
    /// The locals that were set first in an open construct, outer ones first.
    set: Vec<u32>,
    /// For each open construct, where its own begin in `set`.
    open: Vec<usize>,
}

impl Uses {
    /// Analyses the uses of `count` locals, the parameters included, in a function's code.
    pub(super) fn analyse(&mut self, code: Code<'_>, count: usize) {
        self.states.clear();
        self.states.resize(count, State::Untouched);
        self.set.clear();
        self.open.clear();
        self.open.push(0);
        for step in code.steps() {
            match step.opcode {
                opcode::BLOCK | opcode::LOOP | opcode::IF | opcode::TRY_TABLE | opcode::TRY => self.begin(),
                opcode::ELSE | opcode::CATCH | opcode::CATCH_ALL => {
                    self.close();
                    self.begin();
                }
                opcode::END | opcode::DELEGATE => self.close(),
                opcode::LOCAL_GET => {
                    let state = &mut self.states[step.index() as usize];
                    if *state != State::Set {
                        *state = State::NeedsZero;
                    }
                }
                opcode::LOCAL_SET | opcode::LOCAL_TEE => {
                    let local = step.index();
                    let state = &mut self.states[local as usize];
                    if matches!(state, State::Untouched | State::Closed) {
                        *state = State::Set;
                        self.set.push(local);
                    }
                }
                _ => {}
            }
        }
    }

    /// What is known of each local.
    pub(super) fn iter(&self) -> impl Iterator<Item = Use> + '_ {
        self.states.iter().map(|state| match state {
            State::Untouched => Use::Unused,
            State::Set | State::Closed => Use::SetFirst,
            State::NeedsZero => Use::NeedsZero,
        })
    }

    fn begin(&mut self) {
        self.open.push(self.set.len());
    }

    fn close(&mut self) {
        let first = self.open.pop().expect("ends match beginnings in a valid module");
        for local in self.set.drain(first..) {
            let state = &mut self.states[local as usize];
            if *state == State::Set {
                *state = State::Closed;
            }
        }
    }
}
