//! Code that writes down where its thread is, of a run of which samples are taken: the host looks at that now and then, see
//! `store/run/observer.rs`. For a lane this is a store, and it waits for nothing.
//!
//! A frame has one mark, which is where it is. It says so before a call and after it, before a loop without calls and after
//! it, where it goes on in another region, and around instructions that take their time in the runtime. Where a function
//! begins is told by the mark of the call that leads to it, unless that may lead to several. So what the translator has put
//! into one function is told apart by its loops.
//!
//! If tables tell which functions they have, a call by a pointer marks the beginning of its callee, in the place of that.
//!
//! A mark is left out where the next one, or the frame's end, is near; before a loop in another one that was written in the
//! same function; around calls of a function that only calls itself, if it has no such loop; and in a function that only
//! wraps an instruction of the heap.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use gpu_run_bytecode::Op;

use crate::layout::{Context, MARK_FRAMES, MARK_GROUP, MARK_OWN};
use crate::ptx::Unit;
use crate::ptx::analysis::cfg::{Cfg, Node, ends_path, is_call};
use crate::ptx::analysis::interprocedural::{Analysis, code};
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::writer::ptx;
use crate::stands::{long_kind, place_of_unmarked, wrapped};

/// Bytes of the marks of a group's threads that lie side by side.
const ROW: usize = 4 * MARK_GROUP;
/// Instructions and blocks up to the next mark, or the frame's end, for which none is written: they count as part of what was
/// before.
const FEW: usize = 8;

impl Compiler<'_> {
    /// Whether code marks before this block, because a loop begins with it. Its passes mark nothing.
    pub fn marks_before(&self, block: usize) -> bool {
        self.marks.loops.contains(&block)
    }

    /// Decides before which loops code marks, and in which blocks: those to which a way leads out of such a loop. `full` has all
    /// blocks of the function, of which this may be a part.
    pub fn plan_marks(&mut self, full: &Cfg) {
        if !self.unit.options.samples {
            return;
        }
        self.marks.wrapped = wrapped(self.unit.program, self.index_of_code());
        let loops = loops_without_calls(&self.cfg);
        // A loop within another one that was written in the same function counts as part of that.
        let written: BTreeMap<usize, _> = loops.iter().map(|(head, _)| (*head, self.written_in(*head))).collect();
        let within = |(head, _): &&(usize, BTreeSet<usize>)| {
            let same = |other: &usize| other != head && written[other] == written[head];
            (loops.iter()).any(|(other, blocks)| blocks.contains(head) && same(other))
        };
        let marked: Vec<_> = loops.iter().filter(|inner| !within(inner)).cloned().collect();
        self.marks.loops = marked.iter().map(|(head, _)| *head).collect();
        self.marks.alone = self.is_alone(full);
        let mut nodes = self.cfg.order.iter().flat_map(|block| self.cfg.block_nodes(*block));
        self.marks.any = !self.marks.loops.is_empty() || nodes.any(|node| self.marks_around(node));
        for from in &self.cfg.order {
            for to in &self.cfg.blocks[*from].successors {
                let leaves = |(_, blocks): &(usize, BTreeSet<usize>)| blocks.contains(from) && !blocks.contains(to);
                // The way into another loop marks by itself.
                if marked.iter().any(leaves) && !self.marks_way(*from, *to) && !self.is_marked_soon(*to, 0) {
                    self.marks.blocks.insert(*to);
                }
            }
        }
    }

    /// Whether a function with these blocks has no place of its own to tell: see [`Marks::alone`].
    fn is_alone(&self, full: &Cfg) -> bool {
        let mut nodes = full.order.iter().flat_map(|block| full.block_nodes(*block));
        loops_without_calls(full).is_empty()
            && nodes.all(|node| !self.is_long(node) && (!is_call(node.inst.op) || self.calls_itself(node)))
    }

    /// The name of the function in which a block was written, before that was inlined.
    fn written_in(&self, block: usize) -> Option<String> {
        let places = self.unit.program.places(self.first_word(block));
        places.into_iter().next().map(|place| place.function)
    }

    /// Whether each path from word `from` of a block on comes to a mark, or to the frame's end, within few instructions.
    fn is_marked_soon(&self, block: usize, from: u32) -> bool {
        self.is_marked_within(block, from, FEW)
    }

    /// The same within so many instructions and blocks.
    fn is_marked_within(&self, block: usize, from: u32, left: usize) -> bool {
        let Some(mut left) = left.checked_sub(1) else {
            return false;
        };
        for node in self.cfg.block_nodes(block).iter().filter(|node| node.pc >= from) {
            if self.marks_around(node) {
                return true;
            }
            let Some(less) = left.checked_sub(1) else { return false };
            left = less;
        }
        // Of a table of many ways it is not found out: each may lead to another one.
        let next = &self.cfg.blocks[block].successors;
        next.len() <= FEW
            && (next.iter()).all(|to| {
                self.marks_way(block, *to) || self.marks.blocks.contains(to) || self.is_marked_within(*to, 0, left)
            })
    }

    /// Whether the way from one block to another leads into a loop that is marked. Those back to its head mark nothing.
    fn marks_way(&self, from: usize, to: usize) -> bool {
        self.marks_before(to) && !self.cfg.back_edges.contains(&(from, to))
    }

    /// Whether code marks before an instruction and after it: a call, or one that takes its time in the runtime.
    fn marks_around(&self, node: &Node) -> bool {
        is_call(node.inst.op) && self.marks_calls() || self.is_long(node)
    }

    fn marks_calls(&self) -> bool {
        self.unit.options.samples && !self.marks.alone
    }

    fn calls_itself(&self, node: &Node) -> bool {
        node.inst.op == Op::Call && self.analysis.callee(node.pc, &node.inst) == self.index
    }

    /// Whether an instruction takes its time in the runtime, and is not told by the frame's call.
    fn is_long(&self, node: &Node) -> bool {
        long_kind(node.inst.op).is_some() && self.small_bytes(node).is_none() && self.marks.wrapped != Some(node.pc)
    }

    /// Marks that the function begins, if a call does not tell which one it leads to, or if the mark of the function's last run
    /// is still there for a while: that may be of a call.
    pub fn mark_begin(&mut self) {
        let first = self.unit.entries.contains(&self.index) || self.analysis.thread_start == Some(self.index);
        let pointed = self.facts.pointed && !self.analysis.callees_marked;
        let told = !first && !pointed && !self.facts.tail_called && !matches!(self.role, Role::Kernel);
        // A call by a pointer marks it anew.
        let called = self.facts.called || !self.analysis.callees_marked;
        let stale = called && self.marks.any && !self.marks_before(0) && !self.is_marked_soon(0, 0);
        if !told || stale {
            self.mark(place_of_unmarked(self.unit.program, self.index_of_code()));
        }
    }

    /// Marks a block that is begun, if it is one of those.
    pub fn mark_block(&mut self, block: usize) {
        if self.marks.blocks.contains(&block) {
            self.mark(self.first_word(block));
        }
    }

    /// The frame is at word `pc` of the program from now on.
    pub fn mark(&mut self, pc: u32) {
        if !self.unit.options.samples {
            return;
        }
        let mark = self.w.word();
        self.load_start(&mark, self.index_of_code());
        ptx!(
            self,
            "add.u32 {mark}, {mark}, {};",
            (pc - self.function.start) | MARK_OWN
        );
        self.write_mark(&mark);
    }

    /// The frame makes a call, from which it will come back to this word of the store.
    pub fn mark_call(&mut self, back: &str) {
        if self.marks_calls() {
            self.write_mark(back);
        }
    }

    /// It has come back.
    pub fn mark_return(&mut self, node: &Node) {
        if self.marks_calls() && !self.is_marked_soon(self.block, node.next) {
            self.mark(node.next);
        }
    }

    /// Marks that the function which is called next begins: the number in a register, or 0 if that is not known.
    pub fn mark_callee(&mut self, mark: &str) {
        let row = self.row();
        ptx!(self, "st.relaxed.gpu.global.b32 [{row}+{ROW}], {mark};");
    }

    /// Writes the frame's mark. Relaxed: the host reads it at any time, and orders nothing by it.
    fn write_mark(&mut self, mark: &str) {
        let row = self.row();
        ptx!(self, "st.relaxed.gpu.global.b32 [{row}], {mark};");
    }

    /// A register with the place of the frame's mark.
    fn row(&mut self) -> String {
        if self.keeps_row() {
            return "%row".into();
        }
        let row = self.w.pair();
        let load = find_row(&row, &self.w.word());
        self.w.out().push_str(&load);
        row
    }

    /// Whether the function keeps the place of its frame's mark in a register, which its callees then save.
    fn keeps_row(&self) -> bool {
        !self.facts.recursive
    }

    /// Writes an instruction, between marks if it takes its time in the runtime.
    pub fn instruction_between_marks(&mut self, node: &Node, block: usize) {
        let long = self.unit.options.samples && self.is_long(node);
        if long {
            self.mark(node.pc);
        }
        self.instruction_in_frame(node, block);
        if long && !ends_path(node.inst.op) && !self.is_marked_soon(block, node.next) {
            self.mark(node.next);
        }
    }

    /// The number of the function in the code, without imports.
    fn index_of_code(&self) -> usize {
        (self.index - self.analysis.imported) as usize
    }
}

/// The loops of these blocks that call nothing: their heads, and their blocks.
fn loops_without_calls(cfg: &Cfg) -> Vec<(usize, BTreeSet<usize>)> {
    let mut loops = cfg.reducible_loops();
    loops.retain(|(_, blocks)| !blocks.iter().any(|block| cfg.calls(*block)));
    loops
}

/// Where marks are in code of a run of which samples are taken.
#[derive(Default)]
pub struct Marks {
    /// The heads of loops before which code marks.
    loops: BTreeSet<usize>,
    /// Blocks that mark when they begin.
    blocks: BTreeSet<usize>,
    /// Whether the function calls nothing but itself, and nothing of the runtime that takes its time, and each of its loops
    /// calls. Then its frames are as one, and calls mark nothing.
    alone: bool,
    /// Whether the function's frame marks anything on its way.
    any: bool,
    /// See [`wrapped`].
    wrapped: Option<u32>,
}

/// Whether each call by a pointer marks what it calls, so that callees need not. It is known what all tables hold, no other
/// instance calls functions of this one, and there are no tail calls through tables. (Nothing else calls what a table has.)
pub fn are_callees_marked(unit: &Unit, analysis: &Analysis) -> bool {
    let mut functions = unit.program.meta.functions.iter();
    unit.options.samples
        && !unit.options.exports
        && unit.cold.is_empty()
        && analysis.fixed_tables.iter().all(Option::is_some)
        && !functions.any(|function| code(unit.program, function).any(|(_, inst)| inst.op == Op::ReturnCallIndirect))
}

/// The mark of a function of the program that has just begun, by its number without imports.
pub fn mark_of_begun(unit: &Unit, function: usize) -> u32 {
    (unit.code_start + place_of_unmarked(unit.program, function)) | MARK_OWN
}

/// PTX that makes of the context where the frame's mark is. Of deep recursion all frames from the last row but one on have that:
/// the last is of what they call.
pub fn find_row(row: &str, depth: &str) -> String {
    format!(
        "\tld.local.b64 {row}, [%local+{}];\n\tmin.u32 {depth}, %depth, {};\n\tmad.wide.u32 {row}, {depth}, {ROW}, {row};\n",
        offset_of!(Context, marks),
        MARK_FRAMES - 1,
    )
}
