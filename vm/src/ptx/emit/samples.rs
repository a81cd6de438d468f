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
//! same function; around calls of the function itself, whose frames have one mark; and in a function that only wraps an
//! instruction of the heap.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use gpu_run_bytecode::Op;

use crate::layout::{Context, MARK_FRAMES, MARK_GROUP, MARK_OWN};
use crate::ptx::Unit;
use crate::ptx::analysis::cfg::{Cfg, Node, ends_path, is_call};
use crate::ptx::analysis::interprocedural::{Analysis, Facts, code};
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::writer::ptx;
use crate::stands::{long_kind, place_of_unmarked, wrapped};

/// Bytes of the marks of a group's threads that lie side by side.
const ROW: usize = 4 * MARK_GROUP;
/// Where the context has the row of a kernel, or of functions that call themselves.
const MARKS: usize = offset_of!(Context, marks);
/// The row of all deep frames: the last one is of what they call.
const DEEPEST: usize = MARK_FRAMES - 1;
/// Instructions and blocks up to the next mark, or the frame's end, for which none is written: they count as part of what was
/// before.
const FEW: usize = 8;

impl Compiler<'_> {
    /// Whether code marks before this block, because a loop begins with it. Its passes mark nothing.
    pub fn marks_before(&self, block: usize) -> bool {
        self.marks.loops.contains(&block)
    }

    /// Decides before which loops code marks, and in which blocks: those to which a way leads out of such a loop.
    pub fn plan_marks(&mut self) {
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
            // That takes its time, and marks nothing.
            if self.is_self_call(node) {
                return false;
            }
            let Some(less) = left.checked_sub(1) else { return false };
            left = less;
        }
        // Of a table of many ways it is not found out: each may lead to another one.
        let next = &self.cfg.blocks[block].successors;
        if next.is_empty() && self.facts.calls_itself {
            // The frame that goes on then has the same mark.
            return false;
        }
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
        self.marks_call(node) || self.is_long(node)
    }

    /// Whether an instruction is a call that code marks. The frames of a function that calls itself are as one.
    fn marks_call(&self, node: &Node) -> bool {
        self.unit.options.samples && is_call(node.inst.op) && !self.is_self_call(node)
    }

    fn is_self_call(&self, node: &Node) -> bool {
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
        // A call by a pointer marks it anew. One that calls itself leaves a mark of its own, unless it throws.
        let called = self.facts.called || !self.analysis.callees_marked;
        let own = self.facts.calls_itself && !self.facts.throws;
        let stale = called && !own && self.marks.any && !self.marks_before(0) && !self.is_marked_soon(0, 0);
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
    pub fn mark_call(&mut self, node: &Node, back: &str) {
        if self.marks_call(node) {
            self.write_mark(back);
        }
    }

    /// It has come back.
    pub fn mark_return(&mut self, node: &Node) {
        if self.marks_call(node) && !self.is_marked_soon(self.block, node.next) {
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
        if self.has_row() {
            return "%row".into();
        }
        let row = self.w.pair();
        self.w.out().push_str(&load_row(&row));
        row
    }

    /// Whether the code that is written keeps it in a register: a parameter, or what a kernel finds where it begins.
    fn has_row(&self) -> bool {
        // Each thread of a lane has another one.
        let spawned = matches!(self.role, Role::Kernel) && self.analysis.thread_start.is_some();
        takes_row(self.unit, &self.facts) && !spawned
    }

    /// Tells the callee that is called next, by its number or through a pointer, where the mark of its frame is.
    pub fn tell_row(&mut self, callee: Option<u32>) -> Told {
        if !self.unit.options.samples {
            return Told::default();
        }
        let facts = callee.and_then(|callee| self.analysis.of(callee));
        let parameter = if callee == Some(self.index) {
            // The frames of a function that calls itself are as one.
            self.has_row().then(|| "%row".to_owned())
        } else if facts.is_none_or(|facts| takes_row(self.unit, facts)) {
            let row = self.row();
            Some(self.next_row(&row))
        } else {
            return self.tell_in_context(true);
        };
        Told {
            parameter,
            before: None,
        }
    }

    /// Puts into the context where the mark of a frame is: of one that is called, or of one in this one's place.
    pub fn tell_in_context(&mut self, called: bool) -> Told {
        if !self.unit.options.samples {
            return Told::default();
        }
        let row = self.row();
        let told = match called {
            true => self.next_row(&row),
            false => row.clone(),
        };
        let before = match self.has_row() {
            true => {
                let before = self.w.pair();
                self.w.out().push_str(&load_row(&before));
                before
            }
            false => row,
        };
        self.w.out().push_str(&set_row(&told));
        Told {
            parameter: None,
            before: Some(before),
        }
    }

    /// A register with the place of the mark of a frame which is called, by that of this one's.
    fn next_row(&mut self, row: &str) -> String {
        if self.has_row() {
            return "%next_row".into();
        }
        let next = self.w.pair();
        self.w.out().push_str(&find_next_row(row, &next));
        next
    }

    /// Where the mark of a kernel's first function is, if that takes it. Its frame is as deep as the kernel's.
    pub fn row_of_first(&mut self, function: u32) -> Option<String> {
        let facts = self.analysis.of(function);
        facts
            .is_some_and(|facts| takes_row(self.unit, facts))
            .then(|| self.row())
    }

    /// After a call: functions further out find their own in the context again.
    pub fn restore_row(&mut self, told: &Told) {
        if let Some(before) = &told.before {
            self.w.out().push_str(&set_row(before));
        }
    }

    /// What code begins with that has `%row` or `%next_row`.
    pub fn begin_row(&self, has: bool, has_next: bool) -> String {
        let mut out = String::new();
        if (has || has_next) && matches!(self.role, Role::Kernel) {
            out += &load_row("%row");
        }
        if has_next {
            out += &match self.role {
                Role::Kernel => format!("\tadd.s64 %next_row, %row, {ROW};\n"),
                _ => find_next_row("%row", "%next_row"),
            };
        }
        out
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

/// PTX that reads from the context where a frame's mark is.
pub fn load_row(row: &str) -> String {
    format!("\tld.local.b64 {row}, [%local+{MARKS}];\n")
}

/// PTX that puts it there.
fn set_row(row: &str) -> String {
    format!("\tst.local.b64 [%local+{MARKS}], {row};\n")
}

/// What a call has told its callee.
#[derive(Default)]
pub struct Told {
    /// The register with where its mark is, if that is a parameter.
    pub parameter: Option<String>,
    /// The register with what the context is to have again afterwards.
    before: Option<String>,
}

/// Whether a function is told by a parameter where the mark of its frame is: with samples.
///
/// One that calls itself would save that at each call. All its frames have the same mark, and it finds the place in the context.
/// What a pointer leads to is not known, so functions that pointers lead to take it in any case.
pub fn takes_row(unit: &Unit, facts: &Facts) -> bool {
    unit.options.samples && (!facts.calls_itself || facts.pointed)
}

/// PTX that makes of the place of a frame's mark that of what the frame calls.
///
/// A group's marks begin at a multiple of their size. So the row is in bits of its own, and the upper half of the address is the
/// same for all. `last` is this row with the deepest one's bits: the deepest row if this one is even, else the row after that.
/// So the smaller of the next row and `last` is never beyond the deepest.
fn find_next_row(row: &str, next: &str) -> String {
    const { assert!(DEEPEST.is_multiple_of(2) && (DEEPEST + 2).is_power_of_two() && ROW.is_power_of_two()) };
    format!(
        "\t{{\n\t.reg .b32 %at, %last, %upper;\n\tmov.b64 {{%at, %upper}}, {row};\n\tor.b32 %last, %at, {};\n\tadd.u32 %at, %at, {ROW};\n\tmin.u32 %at, %at, %last;\n\tmov.b64 {next}, {{%at, %upper}};\n\t}}\n",
        DEEPEST * ROW
    )
}
