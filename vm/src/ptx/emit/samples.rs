//! Code that writes down where its thread is, of a run of which samples are taken: the host looks at that now and then, see
//! `store/run/observer.rs`. For a lane this is a store, and it waits for nothing.
//!
//! Code marks where a function begins, a call has come back, a loop without calls begins or has been left, and around
//! instructions that take their time in the runtime. What the translator has put into one function is told apart by its
//! loops.

use std::collections::BTreeSet;
use std::mem::offset_of;

use crate::layout::{Context, MARK_CALLS, MARK_GROUP, MARK_PC};
use crate::ptx::analysis::cfg::{Node, ends_path, is_call};
use crate::ptx::emit::function::Compiler;
use crate::ptx::writer::ptx;
use crate::stands::long_kind;

/// Bytes of the marks of a group's threads that lie side by side.
const ROW: usize = 4 * MARK_GROUP;

const _: () = assert!(MARK_CALLS.is_power_of_two(), "the depth's low bits are a row");

impl Compiler<'_> {
    /// Whether code marks before this block, because a loop begins with it. Its passes mark nothing.
    pub fn marks_before(&self, block: usize) -> bool {
        self.marked_loops.contains(&block)
    }

    /// Decides before which loops code marks, and in which blocks: those to which a way leads out of such a loop.
    pub fn plan_marks(&mut self) {
        if !self.unit.options.samples {
            return;
        }
        let mut loops = self.cfg.reducible_loops();
        let calls = |block: &usize| (self.cfg.block_nodes(*block).iter()).any(|node| is_call(node.inst.op));
        loops.retain(|(_, blocks)| !blocks.iter().any(calls));
        self.marked_loops = loops.iter().map(|(head, _)| *head).collect();
        for from in &self.cfg.order {
            for to in &self.cfg.blocks[*from].successors {
                let leaves = |(_, blocks): &(usize, BTreeSet<usize>)| blocks.contains(from) && !blocks.contains(to);
                // The way into another loop marks by itself.
                let enters = |(head, blocks): &(usize, BTreeSet<usize>)| head == to && !blocks.contains(from);
                if loops.iter().any(leaves) && !loops.iter().any(enters) {
                    self.marked_blocks.insert(*to);
                }
            }
        }
    }

    /// Marks a block that is begun, if it is one of those.
    pub fn mark_block(&mut self, block: usize) {
        if self.marked_blocks.contains(&block) {
            self.mark(self.first_word(block));
        }
    }

    /// The thread is at word `pc` of the program from now on.
    pub fn mark(&mut self, pc: u32) {
        self.write_mark("%mark", 0, pc);
    }

    /// The thread makes a call whose return address is the word `next`.
    pub fn mark_call(&mut self, next: u32) {
        if !self.unit.options.samples {
            return;
        }
        let (row, at) = (self.w.word(), self.w.pair());
        ptx!(self, "and.b32 {row}, %depth, {};", MARK_CALLS - 1);
        ptx!(self, "mad.wide.u32 {at}, {row}, {ROW}, %mark;");
        self.write_mark(&at, ROW, next);
    }

    /// Relaxed: the host reads it at any time, and nothing else for it.
    fn write_mark(&mut self, at: &str, offset: usize, pc: u32) {
        let (mark, pc) = (self.w.word(), self.position(pc));
        ptx!(self, "mad.lo.u32 {mark}, %depth, {}, {pc};", 1 << MARK_PC);
        ptx!(self, "st.relaxed.gpu.global.b32 [{at}+{offset}], {mark};");
    }

    /// What the function reads of its context to mark.
    pub fn load_mark() -> String {
        format!("\tld.local.b64 %mark, [%local+{}];\n", offset_of!(Context, mark))
    }

    /// Writes an instruction, between marks if it takes its time in the runtime.
    pub fn instruction_between_marks(&mut self, node: &Node, block: usize) {
        let long = self.unit.options.samples && long_kind(node.inst.op).is_some() && !self.is_small(node);
        if long {
            self.mark(node.pc);
        }
        self.instruction_in_frame(node, block);
        if long && !ends_path(node.inst.op) {
            self.mark(node.next);
        }
    }
}
