//! Calls through tables of which it is known what they hold.

use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, TrapKind};

use crate::ptx::Unit;
use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::emit::calls::{Callee, Place};
use crate::ptx::emit::entry::is_inlined;
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::samples::mark_of_begun;
use crate::ptx::image::Image;
use crate::ptx::writer::ptx;

/// Whether a function has code of its own that pointers lead to.
pub fn has_pointed_code(unit: &Unit, analysis: &Analysis, index: u32) -> bool {
    analysis.of(index).is_some_and(|facts| facts.pointed && facts.needed) && !is_inlined(unit, analysis, index)
}

/// The number of no type.
const NO_TYPE: u64 = u64::MAX;

/// The name of a table of which it is known what it holds.
fn fixed_table_symbol(unit: &Unit, table: usize) -> String {
    format!("{}table{table}", unit.prefix)
}

/// Those tables which the functions' code names. An element is the address of the code and the number of the type, so one load
/// tells all that a call wants. Elements that have no code here have no type either.
pub fn fixed_tables(unit: &Unit, analysis: &Analysis, bodies: &str) -> String {
    let element = |element: &Option<u32>| -> String {
        match element.filter(|index| has_pointed_code(unit, analysis, *index)) {
            Some(index) => {
                let begun = match analysis.callees_marked {
                    true => mark_of_begun(unit, (index - analysis.imported) as usize),
                    false => 0,
                };
                let second = u64::from(begun) << 32 | analysis.type_number(index) as u64;
                format!("{}f{index}, {second}", unit.prefix)
            }
            None => format!("0, {NO_TYPE}"),
        }
    };
    let mut out = String::new();
    for (table, elements) in analysis.fixed_tables.iter().enumerate() {
        let Some(elements) = elements else { continue };
        let (symbol, len) = (fixed_table_symbol(unit, table), 2 * elements.len());
        if !bodies.contains(&format!(" {symbol};")) {
            continue;
        }
        let elements: Vec<String> = elements.iter().map(element).collect();
        _ = writeln!(
            out,
            ".visible .global .align 16 .u64 {symbol}[{len}] = {{{}}};",
            elements.join(", ")
        );
    }
    out
}

impl Compiler<'_> {
    /// How many elements a table has of which it is known what it holds.
    pub fn fixed_len(&self, table: i64) -> Option<usize> {
        let elements = self.analysis.fixed_tables.get(usize::try_from(table).ok()?)?;
        elements.as_ref().map(Vec::len)
    }

    /// Calls an element of such a table, which has `len`.
    pub fn call_fixed(&mut self, node: &Node, ty: &FuncType, len: usize) {
        let args = node.inst.args;
        let index = self.canonical_operand(args[1], 1);
        let (table, at, pointer, found) = (self.w.pair(), self.w.pair(), self.w.pair(), self.w.pair());
        let (other, go, done) = (
            self.w.new_label("OTHER"),
            self.w.new_label("GO"),
            self.w.new_label("CALLED"),
        );
        let p = self.w.predicate();
        let wanted = self.analysis.canonical[args[3] as usize];
        ptx!(self, "setp.ge.u32 {p}, {index}, {len};");
        ptx!(self, "@{p} bra {other};");
        ptx!(
            self,
            "mov.u64 {table}, {};",
            fixed_table_symbol(self.unit, args[2] as usize)
        );
        ptx!(self, "mad.wide.u32 {at}, {index}, 16, {table};");
        ptx!(self, "ld.global.v2.b64 {{{pointer}, {found}}}, [{at}];");
        let begun = self.analysis.callees_marked.then(|| self.w.word());
        match &begun {
            None => ptx!(self, "setp.ne.u64 {p}, {found}, {wanted};"),
            Some(begun) => {
                let number = self.w.word();
                ptx!(self, "mov.b64 {{{number}, {begun}}}, {found};");
                ptx!(self, "setp.ne.u32 {p}, {number}, {wanted};");
            }
        }
        ptx!(self, "@{p} bra {other};");
        // The call traps, or calls what has no code here. Labels of traps first: not in the middle of this.
        for kind in [
            TrapKind::UndefinedElement,
            TrapKind::UninitializedElement,
            TrapKind::IndirectCallTypeMismatch,
        ] {
            self.trap_label(node, kind);
        }
        let before = self.w.set_aside(true);
        self.w.label(&other);
        let number = self.reference_at(node, &index);
        let functions = self.image_pair(offset_of!(Image, functions));
        self.load_pointer(&pointer, &at, &functions, &number);
        if let Some(begun) = &begun {
            ptx!(self, "mov.b32 {begun}, 0;");
        }
        ptx!(self, "setp.ne.u64 {p}, {pointer}, 0;");
        ptx!(self, "@{p} bra {go};");
        ptx!(self, "bra {done};");
        self.w.set_aside(before);
        self.w.label(&go);
        if let Some(begun) = &begun {
            self.mark_callee(begun);
        }
        let (callee, place) = (Callee::Pointer(pointer), Place::InTable(node, &index));
        self.call_function(node, &callee, &place, ty, args[0], Some(&done));
    }
}
