//! Where the warps of a hardware block step together: see `kernel/steps.h`.
//!
//! A kernel that runs much code has places through which each thread comes once, or once in each pass of an outermost loop.
//! There a warp that is ahead of others waits for them a while.

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::{STEP_PASS, STEP_PHASE};
use crate::ptx::analysis::cfg::{Node, is_call};
use crate::ptx::analysis::dominance::Dominance;
use crate::ptx::emit::entry::is_inlined;
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::emit::reconvergence::calls;

/// Instructions of a pass, or of a kernel without its loops, below which warps need not step together: its code fits the
/// caches.
const LEAST: usize = 400;

/// Instructions from one place to the next.
const FEW: usize = 64;

/// Where warps step together.
#[derive(Default)]
pub struct Steps {
    /// The blocks before which they do, and which step that is.
    at: BTreeMap<usize, u32>,
    /// The loops whose passes they begin together.
    passes: BTreeSet<usize>,
}

/// About how many instructions of bytecode are executed for one, if it calls.
fn weight(node: &Node) -> usize {
    match node.inst.op {
        op if is_call(op) => 100,
        _ if calls(node) => 20,
        _ => 1,
    }
}

impl Compiler<'_> {
    /// Decides where warps step together, in a kernel.
    pub fn plan_steps(&mut self, dominance: &Dominance) {
        if !matches!(self.role, Role::Kernel) || !is_inlined(self.unit, self.analysis, self.index) {
            return;
        }
        let meets = |head: &usize| self.meetings.get(head).is_some_and(|meeting| meeting.has_passes());
        let large = |head: &usize| self.weight_between(self.meetings[head].blocks()) >= LEAST;
        let loops: Vec<usize> = dominance
            .outermost_loops()
            .filter(|head| meets(head) && large(head))
            .collect();
        for head in loops {
            let ways = dominance.ways(Some(head));
            self.steps.passes.insert(head);
            self.place_steps(&ways, |number| (number + 1).min(STEP_PHASE - 1));
        }
        let ways = dominance.ways(None);
        if self.weight_of(&ways) >= LEAST {
            self.place_steps(&ways, |_| STEP_PHASE);
        }
    }

    fn weight_of(&self, ways: &[(usize, Vec<usize>)]) -> usize {
        ways.iter().map(|(_, blocks)| self.weight_between(blocks)).sum()
    }

    fn weight_between<'b>(&self, blocks: impl IntoIterator<Item = &'b usize>) -> usize {
        let nodes = blocks.into_iter().flat_map(|block| self.cfg.block_nodes(*block));
        nodes.map(weight).sum()
    }

    /// Steps at some of these blocks: not at the first one, where all begin.
    fn place_steps(&mut self, ways: &[(usize, Vec<usize>)], number: impl Fn(u32) -> u32) {
        let (mut since, mut steps) = (0, 0);
        for (i, (block, blocks)) in ways.iter().enumerate() {
            if i > 0 && since >= FEW {
                self.steps.at.insert(*block, number(steps));
                (since, steps) = (0, steps + 1);
            }
            since += self.weight_between(blocks);
        }
    }

    /// At the head of a block.
    pub fn step_to(&mut self, block: usize) {
        if let Some(step) = self.steps.at.get(&block) {
            let step = step.to_string();
            self.call_runtime("gpu_run_step", &[("b32", &step)], None);
        }
    }

    /// Before a pass of a loop.
    pub fn step_to_pass(&mut self, head: usize) {
        if self.steps.passes.contains(&head) {
            let step = STEP_PASS.to_string();
            self.call_runtime("gpu_run_step", &[("b32", &step)], None);
        }
    }
}
