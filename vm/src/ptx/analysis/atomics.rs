//! Which functions access memory atomically: a loop of such accesses may wait for another thread.

use crate::ptx::analysis::interprocedural::{Analysis, code};
use crate::store::is_atomic;

impl Analysis<'_> {
    /// Finds [`Facts::atomic`](super::interprocedural::Facts::atomic).
    pub(super) fn find_atomics(&mut self) {
        let program = self.program;
        for (facts, function) in self.facts.iter_mut().zip(&program.meta.functions) {
            facts.atomic = code(program, function).any(|(_, inst)| is_atomic(inst.op));
        }
        self.spread(|facts| &mut facts.atomic, |_| false, |_| false);
    }
}
