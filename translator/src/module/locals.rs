//! Which locals are used, and which must be zeroed at the start.
//!
//! A local starts as zero, but most are set before they are read. In structured code a `local.set`
//! comes before everything that follows it in the same construct. So a local needs no zero if each
//! read follows a set inside of the construct that holds the set. The bytecode verifier proves the
//! outcome again, path by path.

/// What is known of a local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Use {
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

/// The analysis of a function's locals, an instruction at a time.
#[derive(Default)]
pub(super) struct Uses {
    /// By local, parameters included, as far as they were mentioned.
    states: Vec<State>,
    /// The locals that were set first in an open construct, outer ones first.
    set: Vec<u32>,
    /// For each open construct but the function itself, where its own begin in `set`.
    open: Vec<usize>,
}

impl Uses {
    #[inline]
    fn state(&mut self, local: u32) -> &mut State {
        let local = local as usize;
        if local >= self.states.len() {
            self.states.resize(local + 1, State::Untouched);
        }
        &mut self.states[local]
    }

    /// A `local.get`.
    #[inline]
    pub(super) fn get(&mut self, local: u32) {
        let state = self.state(local);
        if *state != State::Set {
            *state = State::NeedsZero;
        }
    }

    /// A `local.set` or `local.tee`.
    #[inline]
    pub(super) fn set(&mut self, local: u32) {
        let state = self.state(local);
        if matches!(state, State::Untouched | State::Closed) {
            *state = State::Set;
            self.set.push(local);
        }
    }

    /// A construct begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.open.push(self.set.len());
    }

    /// A construct ends, or the function.
    #[inline]
    pub(super) fn close(&mut self) {
        let first = self.open.pop().unwrap_or(0);
        for local in self.set.drain(first..) {
            let state = &mut self.states[local as usize];
            if *state == State::Set {
                *state = State::Closed;
            }
        }
    }

    /// What is known of each local; those after the last one are unused. Begins anew.
    pub(super) fn finish(&mut self) -> Box<[Use]> {
        let uses = self.states.iter().map(|state| match state {
            State::Untouched => Use::Unused,
            State::Set | State::Closed => Use::SetFirst,
            State::NeedsZero => Use::NeedsZero,
        });
        let uses = uses.collect();
        self.states.clear();
        self.set.clear();
        self.open.clear();
        uses
    }
}
