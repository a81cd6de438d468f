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

impl Steps {
    /// Whether warps do not step together.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty() && self.passes.is_empty()
    }
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
    /// Where warps step together, in a kernel.
    pub fn steps_of(&self, dominance: &Dominance) -> Steps {
        let mut steps = Steps::default();
        if !matches!(self.role, Role::Kernel) || !is_inlined(self.unit, self.analysis, self.index) {
            return steps;
        }
        let large = |head: &usize| {
            let meeting = self.meetings.get(head).filter(|meeting| meeting.has_passes());
            meeting.is_some_and(|meeting| self.weight_of(meeting.blocks()) >= LEAST)
        };
        for head in dominance.outermost_loops().filter(large) {
            steps.passes.insert(head);
            let ways = dominance.ways(Some(head));
            self.place_steps(&ways, |number| (number + 1).min(STEP_PHASE - 1), &mut steps);
        }
        let ways = dominance.ways(None);
        if self.weight_of(ways.iter().flat_map(|(_, blocks)| blocks)) >= LEAST {
            self.place_steps(&ways, |_| STEP_PHASE, &mut steps);
        }
        steps
    }

    fn weight_of<'b>(&self, blocks: impl IntoIterator<Item = &'b usize>) -> usize {
        let nodes = blocks.into_iter().flat_map(|block| self.cfg.block_nodes(*block));
        nodes.map(weight).sum()
    }

    /// Steps at some of these blocks: not at the first one, where all begin.
    fn place_steps(&self, ways: &[(usize, Vec<usize>)], number: impl Fn(u32) -> u32, steps: &mut Steps) {
        let (mut since, mut count) = (0, 0);
        for (i, (block, blocks)) in ways.iter().enumerate() {
            if i > 0 && since >= FEW {
                steps.at.insert(*block, number(count));
                (since, count) = (0, count + 1);
            }
            since += self.weight_of(blocks);
        }
    }

    /// At the head of a block.
    pub fn step_to(&mut self, block: usize) {
        if let Some(step) = self.steps.at.get(&block) {
            self.step(*step);
        }
    }

    /// Before a pass of a loop.
    pub fn step_to_pass(&mut self, head: usize) {
        if self.steps.passes.contains(&head) {
            self.step(STEP_PASS);
        }
    }

    fn step(&mut self, step: u32) {
        self.call_runtime("gpu_run_step", &[("b32", &step.to_string())], None);
    }
}
