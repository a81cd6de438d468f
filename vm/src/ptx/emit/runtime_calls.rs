//! Instructions about memories, tables, the heap and output as a whole.
//!
//! What is a load or two is written here. For the rest the runtime has a function each, with the bounds checks and the
//! code of the interpreter. A copy or fill of few bytes, as many as a constant says, becomes loads and stores.

use std::mem::offset_of;

use gpu_run_bytecode::{Mem, Op, TrapKind};

use crate::layout::{Instance, LANE_MOST, Memory, NOT_SHORT, SHORT_UNITS, Table};
use crate::ptx::analysis::cfg::Node;
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::instructions::{CONTEXT_ADDRESS, template_for};
use crate::ptx::emit::memory::Place;
use crate::ptx::emit::own::Own;
use crate::ptx::image::Image;
use crate::ptx::writer::ptx;

/// Bytes of a constant length that are copied or filled without a call.
const SMALL: u32 = 32;

/// The pieces of which `len` bytes are made: where each begins, and its width.
fn pieces(len: u32) -> Vec<(u64, Mem)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < len {
        let mem = match len - at {
            8.. => Mem::u64,
            4.. => Mem::u32,
            2.. => Mem::u16,
            _ => Mem::u8,
        };
        pieces.push((u64::from(at), mem));
        at += mem.size();
    }
    pieces
}

/// Units of a register that holds a piece.
fn units(mem: Mem) -> u32 {
    if mem == Mem::u64 { 2 } else { 1 }
}

impl Compiler<'_> {
    /// An operand of `units` units as 64 bits.
    fn extended(&mut self, unit: i64, units: u32) -> String {
        let value = self.canonical_operand(unit, units);
        if units == 2 {
            return value;
        }
        let wide = self.w.pair();
        ptx!(self, "cvt.u64.u32 {wide}, {value};");
        wide
    }

    /// A call of the runtime that may trap: after the context come the instruction and the depth.
    fn call_for(&mut self, node: &Node, name: &str, arguments: &[(&str, &str)], result: Option<&str>) {
        let pc = self.position(node.pc);
        let mut all = vec![CONTEXT_ADDRESS, ("b32", &pc), ("b32", "%depth")];
        all.extend(arguments);
        self.call_runtime(name, &all, result.map(|register| ("b32", register)));
    }

    /// The length in unit `unit`, if it is a constant of at most [`SMALL`] bytes of memories whose
    /// addresses are i32.
    fn small_length(&self, unit: i64, memories: &[i64]) -> Option<u32> {
        let fact = self.fact(unit);
        let narrow = |memory: &i64| self.analysis.wide.get(*memory as usize) == Some(&false);
        let small = fact.exact && (1..=SMALL).contains(&fact.max) && memories.iter().all(narrow);
        small.then_some(fact.max)
    }

    /// The bytes that an instruction copies or fills, if they are so few that it calls nothing.
    pub fn small_bytes(&self, node: &Node) -> Option<u32> {
        let args = &node.inst.args;
        match node.inst.op {
            Op::MemoryCopy => self.small_length(args[2], &args[3..5]),
            Op::MemoryFill => self.small_length(args[2], &args[3..4]),
            _ => None,
        }
    }

    /// `memory.size`, in pages of 64 KiB.
    pub fn memory_size(&mut self, node: &Node) {
        let args = node.inst.args;
        let (record, size) = (self.memory_record(args[1]), self.w.pair());
        ptx!(
            self,
            "ld.relaxed.gpu.global.b64 {size}, [{record}+{}];",
            offset_of!(Memory, size)
        );
        ptx!(self, "shr.u64 {size}, {size}, 16;");
        match node.inst.op {
            Op::MemorySize64 => ptx!(self, "mov.b64 %d{}, {size};", args[0]),
            _ => ptx!(self, "cvt.u32.u64 %r{}, {size};", args[0]),
        }
    }

    /// `memory.copy`.
    pub fn memory_copy(&mut self, node: &Node) {
        let args = node.inst.args;
        if let Some(len) = self.small_bytes(node) {
            let to = self.place(node, args[0], args[3], 0, u64::from(len));
            let from = self.place(node, args[1], args[4], 0, u64::from(len));
            return self.small_copy(&to, &from, len);
        }
        let near = node.inst.op == Op::MemoryCopy && args[3..5] == [0, 0];
        if !near || !self.holds_short_ranges() {
            return self.together(node, |this| this.long_copy(node));
        }
        let arguments = self.short_ranges(&args[..3]);
        self.together(node, |this| {
            this.call_or_else("gpu_run_copy_short", &arguments, "0", None, |this| this.long_copy(node));
        });
    }

    /// Whether memory 0 has at least the bytes that functions for short ranges assume, and addresses of 32 bits.
    fn holds_short_ranges(&self) -> bool {
        let narrow = self.analysis.wide.first() == Some(&false);
        let enough = |least| least >= u64::from(SHORT_UNITS);
        narrow && self.analysis.least_memory.is_some_and(enough)
    }

    /// What functions for short ranges in memory 0 take.
    fn short_ranges(&mut self, operands: &[i64]) -> Vec<(&'static str, String)> {
        let mut arguments = vec![("b64", "%base".to_owned()), ("b32", "%size".to_owned())];
        for unit in operands {
            arguments.push(("b32", self.canonical_operand(*unit, 1)));
        }
        arguments
    }

    /// `memory.copy` of any length.
    fn long_copy(&mut self, node: &Node) {
        let args = node.inst.args;
        let units = if node.inst.op == Op::MemoryCopy64 { 2 } else { 1 };
        let to = self.memory_record(args[3]);
        let from = if args[3] == args[4] {
            to.clone()
        } else {
            self.memory_record(args[4])
        };
        let [to_at, from_at, len] = [0, 1, 2].map(|i| self.extended(args[i], units));
        let arguments = [
            ("b64", &to[..]),
            ("b64", &from),
            ("b64", &to_at),
            ("b64", &from_at),
            ("b64", &len),
        ];
        self.call_for(node, "gpu_run_copy", &arguments, None);
    }

    /// Calls a function of the runtime that calls no other, and does what is frequent and short: and then `otherwise`, if
    /// its result is `refused`. The result goes to unit `to`. In the runtime's other functions, ptxas has convergence
    /// barriers around calls. It saves and clears their registers at the function's head, and that lets go of lanes of
    /// the caller that wait at such a barrier.
    fn call_or_else(
        &mut self,
        name: &str,
        arguments: &[(&str, String)],
        refused: &str,
        to: Option<i64>,
        otherwise: impl FnOnce(&mut Self),
    ) {
        let arguments: Vec<_> = arguments.iter().map(|(ty, value)| (*ty, value.as_str())).collect();
        let (result, p) = (self.w.word(), self.w.predicate());
        let (more, done) = (self.w.new_label("MORE"), self.w.new_label("DONE"));
        self.call_runtime(name, &arguments, Some(("b32", &result)));
        ptx!(self, "setp.eq.u32 {p}, {result}, {refused};");
        ptx!(self, "@{p} bra {more};");
        if let Some(to) = to {
            ptx!(self, "mov.b32 %r{to}, {result};");
        }
        self.w.label(&done);
        let before = self.w.set_aside(true);
        self.w.label(&more);
        otherwise(self);
        ptx!(self, "bra {done};");
        self.w.set_aside(before);
    }

    /// Loads all before it stores any, because the ranges may overlap.
    fn small_copy(&mut self, to: &Place, from: &Place, len: u32) {
        let mut values = Vec::new();
        for (at, mem) in pieces(len) {
            let value = if mem == Mem::u64 { self.w.pair() } else { self.w.word() };
            self.load(&from.plus(at), mem, units(mem), &value);
            values.push((at, mem, value));
        }
        for (at, mem, value) in values {
            self.store(&to.plus(at), mem, units(mem), &value);
        }
    }

    /// `memory.fill`.
    pub fn memory_fill(&mut self, node: &Node) {
        let args = node.inst.args;
        let value = self.canonical_operand(args[1], 1);
        if let Some(len) = self.small_bytes(node) {
            let to = self.place(node, args[0], args[3], 0, u64::from(len));
            let (word, pair) = (self.w.word(), self.w.pair());
            ptx!(self, "prmt.b32 {word}, {value}, {value}, 0;");
            ptx!(self, "mov.b64 {pair}, {{{word}, {word}}};");
            for (at, mem) in pieces(len) {
                let value = if mem == Mem::u64 { &pair } else { &word };
                self.store(&to.plus(at), mem, units(mem), value);
            }
            return;
        }
        let units = if node.inst.op == Op::MemoryFill64 { 2 } else { 1 };
        let record = self.memory_record(args[3]);
        let [at, len] = [0, 2].map(|i| self.extended(args[i], units));
        let arguments = [("b64", &record[..]), ("b64", &at), ("b32", &value), ("b64", &len)];
        self.together(node, |this| this.call_for(node, "gpu_run_fill", &arguments, None));
    }

    /// Calls the runtime with the record of memory 0 and the units of `operands`; the result goes to unit
    /// `to`.
    fn call_with(&mut self, node: &Node, name: &str, operands: &[i64], more: Option<&str>, to: Option<i64>) {
        let record = self.memory_record(0);
        let operands: Vec<String> = operands.iter().map(|unit| self.canonical_operand(*unit, 1)).collect();
        let mut arguments = vec![("b64", &record[..])];
        arguments.extend(operands.iter().map(|operand| ("b32", &operand[..])));
        arguments.extend(more.map(|operand| ("b32", operand)));
        let result = to.map(|unit| format!("%r{unit}"));
        self.call_for(node, name, &arguments, result.as_deref());
        if self.grows_memory(node.inst.op) {
            self.reload_size();
        }
    }

    /// `memcmp`.
    pub fn memory_compare(&mut self, node: &Node) {
        let args = node.inst.args;
        let compare = |this: &mut Self| this.call_with(node, "gpu_run_compare", &args[1..4], None, Some(args[0]));
        if !self.holds_short_ranges() {
            return self.together(node, compare);
        }
        let arguments = self.short_ranges(&args[1..4]);
        let refused = NOT_SHORT.to_string();
        self.together(node, |this| {
            this.call_or_else("gpu_run_compare_short", &arguments, &refused, Some(args[0]), compare);
        });
    }

    /// `alloc` and `alloc_zero`.
    pub fn allocate(&mut self, node: &Node) {
        let args = node.inst.args;
        let zeroed = node.inst.op == Op::AllocZero;
        let done = (!zeroed && self.may_be_kept(args[1])).then(|| {
            let (found, p) = self.ask_own_slabs("heap_take", &args[1..3]);
            let done = self.w.new_label("KEPT");
            ptx!(self, "@{p} mov.b32 %r{}, {found};", args[0]);
            ptx!(self, "@{p} bra {done};");
            done
        });
        let zeroed = if zeroed { "1" } else { "0" };
        self.call_with(node, "gpu_run_allocate", &args[1..3], Some(zeroed), Some(args[0]));
        if let Some(done) = done {
            self.w.label(&done);
        }
    }

    /// `dealloc`.
    pub fn release(&mut self, node: &Node) {
        let args = node.inst.args;
        let done = self.may_be_kept(args[1]).then(|| {
            let (_, p) = self.ask_own_slabs("heap_keep", &args[..2]);
            let done = self.w.new_label("KEPT");
            ptx!(self, "@{p} bra {done};");
            done
        });
        self.call_with(node, "gpu_run_release", &args[..3], None, None);
        if let Some(done) = done {
            self.w.label(&done);
        }
    }

    /// Whether a lane's slabs may have blocks of so many bytes, as far as the number is known.
    fn may_be_kept(&self, size: i64) -> bool {
        let fact = self.fact(size);
        !fact.exact || fact.max <= LANE_MOST
    }

    /// Asks the lane's own slabs of memory 0, in place. The result, and in a predicate whether it is not 0.
    fn ask_own_slabs(&mut self, name: &str, operands: &[i64]) -> (String, String) {
        let (lane, block, first) = (self.w.word(), self.w.word(), self.w.word());
        ptx!(self, "mov.u32 {lane}, %tid.x;");
        ptx!(self, "mov.u32 {block}, %ctaid.x;");
        ptx!(self, "mov.u32 {first}, %ntid.x;");
        ptx!(self, "mad.lo.u32 {lane}, {block}, {first}, {lane};");
        let slabs = self.image_pair(offset_of!(Image, lane_slabs));
        let lanes = self.image_word(offset_of!(Image, lanes));
        let mut args = match name {
            "heap_take" => vec![self.image_pair(offset_of!(Image, lane_lists)), slabs, lanes, lane],
            _ => vec![slabs, lanes, self.image_word(offset_of!(Image, lane_records)), lane],
        };
        args.extend(operands.iter().map(|unit| self.canonical_operand(*unit, 1)));
        let (result, p) = (self.w.word(), self.w.predicate());
        self.instantiate(template_for(name), &mut args, std::slice::from_ref(&result));
        ptx!(self, "setp.ne.u32 {p}, {result}, 0;");
        (result, p)
    }

    /// `realloc`.
    pub fn reallocate(&mut self, node: &Node) {
        let args = node.inst.args;
        let mut arguments = vec![
            ("b64", self.image_pair(offset_of!(Image, lane_lists))),
            ("b64", self.image_pair(offset_of!(Image, lane_slabs))),
            ("b32", self.image_word(offset_of!(Image, lanes))),
            ("b32", self.image_word(offset_of!(Image, lane_records))),
            ("b64", "%base".to_owned()),
        ];
        for unit in &args[1..5] {
            arguments.push(("b32", self.canonical_operand(*unit, 1)));
        }
        self.call_or_else("gpu_run_reallocate_own", &arguments, "0", Some(args[0]), |this| {
            this.call_with(node, "gpu_run_reallocate", &args[1..5], None, Some(args[0]));
        });
    }

    /// `print`.
    pub fn print(&mut self, node: &Node) {
        self.call_with(node, "gpu_run_print", &node.inst.args[..3], None, None);
    }

    /// `print_end`.
    pub fn print_end(&mut self, node: &Node) {
        let stream = self.canonical_operand(node.inst.args[0], 1);
        self.call_runtime("gpu_run_print_end", &[CONTEXT_ADDRESS, ("b32", &stream)], None);
    }

    /// A debug opcode with a value of `units` units, or none.
    pub fn debug(&mut self, node: &Node, units: u32) {
        let value = match units {
            0 => "0".to_owned(),
            units => self.extended(node.inst.args[0], units),
        };
        let op = (node.inst.op as u16).to_string();
        let arguments = [CONTEXT_ADDRESS, ("b32", &op[..]), ("b64", &value)];
        self.call_runtime("gpu_run_debug", &arguments, None);
    }

    /// The record of a table, and its size.
    fn table(&mut self, index: i64) -> (String, String) {
        let table = match self.unit.options.processes {
            true => {
                let (record, tables, table) = (self.own(Own::Record), self.w.pair(), self.w.pair());
                ptx!(
                    self,
                    "ld.global.b64 {tables}, [{record}+{}];",
                    offset_of!(Instance, tables)
                );
                ptx!(self, "ld.global.b64 {table}, [{tables}+{}];", 8 * index);
                table
            }
            false => self.image_pair(self.layout.tables as usize + 8 * index as usize),
        };
        let size = self.w.word();
        ptx!(
            self,
            "ld.relaxed.gpu.global.b32 {size}, [{table}+{}];",
            offset_of!(Table, size)
        );
        (table, size)
    }

    /// `table.size`.
    pub fn table_size(&mut self, node: &Node) {
        let args = node.inst.args;
        let (_, size) = self.table(args[1]);
        ptx!(self, "mov.b32 %r{}, {size};", args[0]);
    }

    /// The address of a table's element; traps with `kind` if there is none of this index.
    pub fn element(&mut self, node: &Node, table: i64, index: &str, kind: TrapKind) -> String {
        let (table, size) = self.table(table);
        let (elements, at, p) = (self.w.pair(), self.w.pair(), self.w.predicate());
        ptx!(self, "setp.ge.u32 {p}, {index}, {size};");
        let label = self.trap_label(node, kind);
        ptx!(self, "@{p} bra {label};");
        ptx!(
            self,
            "ld.global.b64 {elements}, [{table}+{}];",
            offset_of!(Table, elements)
        );
        ptx!(self, "mad.wide.u32 {at}, {index}, 4, {elements};");
        at
    }

    /// `table.get` and `table.set`.
    pub fn table_element(&mut self, node: &Node) {
        let args = node.inst.args;
        let get = node.inst.op == Op::TableGet;
        let index = self.canonical_operand(if get { args[1] } else { args[0] }, 1);
        let at = self.element(node, args[2], &index, TrapKind::TableOutOfBounds);
        // Relaxed: lanes may race on an element, and a reference leads to no memory.
        match get {
            true => ptx!(self, "ld.relaxed.gpu.global.b32 %r{}, [{at}];", args[0]),
            false => ptx!(self, "st.relaxed.gpu.global.b32 [{at}], %r{};", args[1]),
        }
    }

    /// `ref.func`: 1 more than the function's number in the store.
    pub fn ref_func(&mut self, node: &Node) {
        let args = node.inst.args;
        let (record, funcs, number) = (self.own(Own::Record), self.w.pair(), self.w.word());
        ptx!(
            self,
            "ld.global.b64 {funcs}, [{record}+{}];",
            offset_of!(Instance, funcs)
        );
        ptx!(self, "ld.global.b32 {number}, [{funcs}+{}];", 4 * args[1]);
        ptx!(self, "add.u32 %r{}, {number}, 1;", args[0]);
    }
}
