//! Tail calls.
//!
//! A function that ends in a tail call leaves the arguments in the context and returns the status [`TAIL_CALL`]. Its
//! caller makes the call, again and again until one returns or throws, so that the stack stays. What is called this
//! way is a thunk, which takes the arguments from the context.

use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, Op};

use crate::layout::Context;
use crate::ptx::Unit;
use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::emit::calls::{
    CONTEXT, CONTEXT_REGISTERS, Callee, READ_CONTEXT, RETURNED, TAIL_CALL, call_with_values, results, returns,
};
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::emit::regions::REGION_TAIL_CALL;
use crate::ptx::image::{Image, ImageLayout};
use crate::ptx::writer::ptx;

/// The first line of a function's tail thunk.
pub fn tail_head(unit: &Unit, analysis: &Analysis, index: u32) -> String {
    let ty = &unit.program.meta.types[analysis.func_types[index as usize] as usize];
    format!(".func {}{}t{index}({CONTEXT})", returns(ty, true, "ret"), unit.prefix)
}

/// Whether something may make a tail call to a function.
pub fn has_tail_thunk(analysis: &Analysis, index: u32) -> bool {
    analysis
        .of(index)
        .is_some_and(|facts| facts.needed && (facts.tail_called || (facts.pointed && analysis.statuses)))
}

/// A function that takes its arguments from the context and calls the function itself.
pub fn tail_thunk(unit: &Unit, analysis: &Analysis, layout: &ImageLayout, index: u32, out: &mut String) {
    let ty = &unit.program.meta.types[analysis.func_types[index as usize] as usize];
    let status = analysis.of(index).is_some_and(|facts| facts.status);
    let (offsets, _) = results(ty, status);
    let (own_offsets, _) = results(ty, true);
    _ = writeln!(out, "\n{}\n{{", tail_head(unit, analysis, index));
    out.push_str(CONTEXT_REGISTERS);
    out.push_str("\t.reg .b64 %l;\n\t.reg .b32 %depth, %w;\n");
    out.push_str(READ_CONTEXT);
    call_with_values(unit, analysis, layout, index, out);
    match status {
        true => out.push_str("\tld.param.b32 %w, [q];\n"),
        false => _ = writeln!(out, "\tmov.b32 %w, {RETURNED};"),
    }
    out.push_str("\tst.param.b32 [ret], %w;\n");
    for ((from, to), ty) in offsets.iter().zip(own_offsets).zip(&ty.results) {
        for k in 0..ty.units() {
            _ = writeln!(
                out,
                "\tld.param.b32 %w, [q+{}];\n\tst.param.b32 [ret+{}], %w;",
                from + 4 * k,
                to + 4 * k
            );
        }
    }
    out.push_str("\tret;\n}\n");
}

impl Compiler<'_> {
    /// Code for a call that did not just return: makes the tail calls that the callee asks for, until one
    /// returns or throws.
    pub fn unusual(&mut self, call: Option<&Node>, ty: &FuncType, base: i64, code: &str, label: &str, done: &str) {
        let before = self.w.set_aside(true);
        self.w.label(label);
        let (p, thrown) = (self.w.predicate(), self.w.new_label("THROWN"));
        ptx!(self, "setp.ne.u32 {p}, {code}, {TAIL_CALL};");
        ptx!(self, "@{p} bra {thrown};");
        let pointer = self.w.pair();
        ptx!(
            self,
            "ld.local.b64 {pointer}, [%local+{}];",
            offset_of!(Context, tail_target)
        );
        // The thunk finds it there. In a kernel the function takes the first one's place.
        let told = self.tell_in_context(call.is_some());
        self.w.out().push_str("\t{\n");
        ptx!(self, ".param .b32 q0; st.param.b32 [q0], %context_at;");
        ptx!(self, ".param .b32 q1; st.param.b32 [q1], %deeper;");
        self.call_native(&Callee::Pointer(pointer), ty, true, "q0, q1", base, code);
        self.w.out().push_str("\t}\n");
        self.restore_row(&told);
        ptx!(self, "setp.ne.u32 {p}, {code}, {RETURNED};");
        ptx!(self, "@{p} bra {label};");
        ptx!(self, "bra {done};");
        self.w.label(&thrown);
        if call.is_some() {
            self.put_back();
        }
        self.dispatch(call);
        self.w.set_aside(before);
    }

    /// Ends the function in a call.
    pub fn tail_call(&mut self, node: &Node) {
        let args = node.inst.args;
        let ty = self.transfer.callee_type(node);
        let target = match node.inst.op {
            Op::ReturnCall => {
                let index = self.analysis.callee(node.pc, &node.inst);
                if index == self.index && matches!(self.role, Role::Function) {
                    return self.begin_again(&ty, args[0]);
                }
                let address = self.w.pair();
                ptx!(self, "mov.u64 {address}, {}t{index};", self.unit.prefix);
                address
            }
            op => {
                let number = match op {
                    Op::ReturnCallIndirect => self.checked_reference(node),
                    _ => self.image_word(self.layout.imports as usize + 4 * args[1] as usize),
                };
                let tails = self.image_pair(offset_of!(Image, tails));
                let (at, address) = (self.w.pair(), self.w.pair());
                ptx!(self, "mad.wide.u32 {at}, {number}, 8, {tails};");
                ptx!(self, "ld.global.b64 {address}, [{at}];");
                if ty.results.is_empty() {
                    // A function of the host's, which does nothing.
                    let (p, nothing) = (self.w.predicate(), self.w.new_label("NOTHING"));
                    ptx!(self, "setp.eq.u64 {p}, {address}, 0;");
                    ptx!(self, "@{p} bra {nothing};");
                    let before = self.w.set_aside(true);
                    self.w.label(&nothing);
                    self.return_values(0);
                    self.w.set_aside(before);
                }
                address
            }
        };
        self.put_values(args[0], &ty.params);
        ptx!(
            self,
            "st.local.b64 [%local+{}], {target};",
            offset_of!(Context, tail_target)
        );
        match self.role {
            Role::Function => {
                self.keep_budget();
                self.hide_roots();
                ptx!(self, "st.param.b32 [ret], {TAIL_CALL};");
                ptx!(self, "ret;");
            }
            Role::Region(..) => {
                ptx!(self, "mov.b32 %place, {REGION_TAIL_CALL};");
                self.leave_region();
            }
            Role::Kernel => unreachable!("a function that makes tail calls is not inlined into its kernel"),
        }
    }

    /// A tail call of the function to itself: its parameters get new values.
    fn begin_again(&mut self, ty: &FuncType, base: i64) {
        let mut moves = Vec::new();
        let (mut from, mut to) = (base, 0);
        for ty in &ty.params {
            match ty.units() {
                2 => {
                    let (value, held) = (self.canonical_operand(from, 2), self.w.pair());
                    ptx!(self, "mov.b64 {held}, {value};");
                    moves.push(format!("mov.b64 %d{to}, {held};"));
                }
                units => {
                    for k in 0..i64::from(units) {
                        let value = match units {
                            1 => self.canonical_operand(from, 1),
                            _ => format!("%r{}", from + k),
                        };
                        let held = self.w.word();
                        ptx!(self, "mov.b32 {held}, {value};");
                        moves.push(format!("mov.b32 %r{}, {held};", to + k));
                    }
                }
            }
            from += i64::from(ty.units());
            to += i64::from(ty.units());
        }
        for line in moves {
            ptx!(self, "{line}");
        }
        ptx!(self, "bra BEGIN;");
    }
}
