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

/// Analyses the uses of `count` locals, the parameters included, in a function's instructions.
pub(super) fn analyse(code: Code<'_>, count: usize) -> Vec<Use> {
    let mut states = vec![State::Untouched; count];
    // For each open construct, the locals that were set first in it.
    let mut open: Vec<Vec<u32>> = vec![Vec::new()];
    for step in code.steps() {
        match step.opcode {
            opcode::BLOCK | opcode::LOOP | opcode::IF | opcode::TRY_TABLE | opcode::TRY => open.push(Vec::new()),
            opcode::ELSE | opcode::CATCH | opcode::CATCH_ALL => {
                close(&mut states, &mut open);
                open.push(Vec::new());
            }
            opcode::END | opcode::DELEGATE => close(&mut states, &mut open),
            opcode::LOCAL_GET => {
                let state = &mut states[step.index() as usize];
                if *state != State::Set {
                    *state = State::NeedsZero;
                }
            }
            opcode::LOCAL_SET | opcode::LOCAL_TEE => {
                let local = step.index();
                let state = &mut states[local as usize];
                if matches!(state, State::Untouched | State::Closed) {
                    *state = State::Set;
                    open.last_mut().expect("the function itself is open").push(local);
                }
            }
            _ => {}
        }
    }
    let uses = states.into_iter().map(|state| match state {
        State::Untouched => Use::Unused,
        State::Set | State::Closed => Use::SetFirst,
        State::NeedsZero => Use::NeedsZero,
    });
    uses.collect()
}

fn close(states: &mut [State], open: &mut Vec<Vec<u32>>) {
    for local in open.pop().expect("ends match beginnings in a valid module") {
        let state = &mut states[local as usize];
        if *state == State::Set {
            *state = State::Closed;
        }
    }
}
