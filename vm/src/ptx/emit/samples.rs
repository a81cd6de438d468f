//! Code that writes down where its thread is, of a run of which samples are taken: the host looks at that now and then, see
//! `store/run/observer.rs`. For a lane this is a store, and it waits for nothing.
//!
//! A frame has one mark, which is where it is. It says so before a call and after it, before a loop without calls and after
//! it, where it goes on in another region, and around instructions that take their time in the runtime. Where a function begins is told by the mark of the call
//! that leads to it, unless that may lead to several. So what the translator has put into one function is told apart by its
//! loops.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::offset_of;

use crate::layout::{Context, MARK_CALLS, MARK_DEPTHS, MARK_FRAMES, MARK_GROUP, MARK_PC};
use crate::ptx::analysis::cfg::{Node, ends_path, is_call};
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::writer::ptx;
use crate::stands::long_kind;

/// Bytes of the marks of a group's threads that lie side by side.
const ROW: usize = 4 * MARK_GROUP;
/// Instructions after a call of which it is not marked that it has come back, if another call follows them.
const FEW: usize = 6;

const _: () = assert!(MARK_FRAMES.is_power_of_two(), "the depth's low bits are a row");

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

    /// Marks that the function begins, if a call does not tell which one it leads to.
    pub fn mark_begin(&mut self) {
        let first = self.unit.entries.contains(&self.index) || self.analysis.thread_start == Some(self.index);
        let told = !first && !self.facts.pointed && !self.facts.tail_called && !matches!(self.role, Role::Kernel);
        if !told {
            self.mark(self.function.start + 1);
        }
    }

    /// Marks a block that is begun, if it is one of those.
    pub fn mark_block(&mut self, block: usize) {
        if self.marked_blocks.contains(&block) {
            self.mark(self.first_word(block));
        }
    }

    /// The frame is at word `pc` of the program from now on.
    pub fn mark(&mut self, pc: u32) {
        self.write_mark(pc - self.function.start);
    }

    /// The frame makes a call.
    pub fn mark_call(&mut self, node: &Node) {
        self.write_mark((node.next - self.function.start) | MARK_CALLS);
    }

    /// It has come back.
    pub fn mark_return(&mut self, node: &Node) {
        let nodes = self.cfg.block_nodes(self.block);
        let after = nodes.iter().skip_while(|other| other.pc <= node.pc).take(FEW);
        let again = after.map(|node| node.inst.op).any(is_call);
        if !again {
            self.mark(node.next);
        }
    }

    /// The frame goes on at word `pc`, and those that it has called are gone: the exception that it handles has left them, with
    /// marks of calls.
    pub fn mark_handler(&mut self, pc: u32) {
        if !self.unit.options.samples {
            return;
        }
        self.mark(pc);
        let (row, at) = (self.w.word(), self.w.pair());
        ptx!(self, "add.u32 {row}, %depth, 1;");
        ptx!(self, "and.b32 {row}, {row}, {};", MARK_FRAMES - 1);
        ptx!(self, "ld.local.b64 {at}, [%local+{}];", offset_of!(Context, marks));
        ptx!(self, "mad.wide.u32 {at}, {row}, {ROW}, {at};");
        ptx!(self, "st.relaxed.gpu.global.b32 [{at}+{ROW}], 0;");
    }

    /// Writes the frame's mark, if samples are taken. Relaxed: the host reads it at any time, and orders nothing by it.
    fn write_mark(&mut self, word: u32) {
        if !self.unit.options.samples {
            return;
        }
        let mark = self.w.word();
        ptx!(self, "add.u32 {mark}, %here, {word};");
        ptx!(self, "st.relaxed.gpu.global.b32 [%row+{ROW}], {mark};");
    }

    /// What the function makes of its context to mark: where its frame's marks go, and that of its first word.
    pub fn load_marks(&self) -> String {
        let mut out = String::new();
        let start = (self.index - self.analysis.imported) as usize;
        _ = writeln!(out, "\tld.local.b64 %row, [%local+{}];", offset_of!(Context, marks));
        _ = writeln!(out, "\tand.b32 %here, %depth, {};", MARK_FRAMES - 1);
        _ = writeln!(out, "\tmad.wide.u32 %row, %here, {ROW}, %row;");
        let load = self.layout.load_start(&self.unit.prefix, "%first", start as u32);
        _ = writeln!(out, "\t{load}");
        _ = writeln!(out, "\tand.b32 %here, %depth, {MARK_DEPTHS};");
        _ = writeln!(out, "\tmad.lo.u32 %here, %here, {}, %first;", 1 << MARK_PC);
        out
    }

    /// Writes an instruction, between marks if it takes its time in the runtime.
    pub fn instruction_between_marks(&mut self, node: &Node, block: usize) {
        let long = long_kind(node.inst.op).is_some() && self.small_bytes(node).is_none();
        if long {
            self.mark(node.pc);
        }
        self.instruction_in_frame(node, block);
        if long && !ends_path(node.inst.op) {
            self.mark(node.next);
        }
    }
}
