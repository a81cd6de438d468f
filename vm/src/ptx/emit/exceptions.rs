//! Exceptions.
//!
//! The runtime keeps the tag of an exception under way and its values in the context. A function that may throw returns
//! the status [`THROWN`]; its caller goes to a handler, which takes the values, or leaves with the same status.

use std::mem::offset_of;

use gpu_run_bytecode::{Clause, Op, ValType};

use crate::layout::Context;
use crate::ptx::analysis::cfg::{Node, handlers};
use crate::ptx::emit::calls::{THROWN, VALUES};
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::emit::instructions::CONTEXT_ADDRESS;
use crate::ptx::writer::ptx;

impl Compiler<'_> {
    /// Writes units as they lie in a frame after the context, from the values of `types` at `unit`; returns their
    /// number.
    pub fn put_values(&mut self, unit: i64, types: &[ValType]) -> u32 {
        self.store_units("local", "%local", VALUES, unit, types)
    }

    /// Reads what [`Self::put_values`] wrote.
    pub fn take_values(&mut self, mut unit: i64, types: &[ValType]) -> i64 {
        let mut at = VALUES;
        for ty in types {
            match ty.units() {
                2 => {
                    let (low, high) = (self.w.word(), self.w.word());
                    ptx!(self, "ld.local.b32 {low}, [%local+{at}];");
                    ptx!(self, "ld.local.b32 {high}, [%local+{}];", at + 4);
                    ptx!(self, "mov.b64 %d{unit}, {{{low}, {high}}};");
                }
                units => {
                    for k in 0..i64::from(units) {
                        ptx!(self, "ld.local.b32 %r{}, [%local+{}];", unit + k, at as i64 + 4 * k);
                    }
                }
            }
            at += 4 * ty.units() as usize;
            unit += i64::from(ty.units());
        }
        unit
    }

    /// Goes to the handler of the exception under way, or leaves the function with it.
    pub fn dispatch(&mut self, node: Option<&Node>) {
        self.take_budget();
        self.reload_size();
        let clauses = node.map_or_else(Vec::new, |node| handlers(self.function, node.pc));
        let caught = clauses.iter().any(|clause| clause.tag.is_none());
        let mut labels = Vec::new();
        for clause in &clauses {
            let label = self.w.new_label("CATCH");
            match clause.tag {
                Some(tag) => {
                    let wanted = self.image_word(self.layout.tags as usize + 4 * tag as usize);
                    let (thrown, p) = (self.w.word(), self.w.predicate());
                    ptx!(self, "ld.local.b32 {thrown}, [%local+{}];", offset_of!(Context, tag));
                    ptx!(self, "setp.eq.u32 {p}, {thrown}, {wanted};");
                    ptx!(self, "@{p} bra {label};");
                }
                None => ptx!(self, "bra {label};"),
            }
            labels.push(label);
        }
        if !caught {
            self.leave_thrown();
        }
        if let Some(node) = node {
            for (clause, label) in clauses.iter().zip(labels) {
                self.handler(node, clause, &label);
            }
        }
    }

    /// Leaves the function with the exception under way.
    pub fn leave_thrown(&mut self) {
        match self.role {
            Role::Kernel => {
                self.call_runtime("gpu_run_unhandled", &[CONTEXT_ADDRESS], None);
                ptx!(self, "exit;");
            }
            // What has no status calls nothing that throws, though its callee may have one.
            _ if !self.facts.status => ptx!(self, "exit;"),
            // A region's answer is the status.
            Role::Function | Role::Region(..) => {
                self.keep_budget();
                self.hide_roots();
                ptx!(self, "st.param.b32 [ret], {THROWN};");
                ptx!(self, "ret;");
            }
        }
    }

    /// Passes a handler what it catches, and goes there.
    fn handler(&mut self, node: &Node, clause: &Clause, label: &str) {
        self.w.label(label);
        let meta = &self.unit.program.meta;
        let tags = meta.tag_types();
        let types = match clause.tag {
            Some(tag) => meta.types[tags[tag as usize] as usize].params.clone(),
            None => Vec::new(),
        };
        let reference = clause.reference.then(|| {
            let (register, pc) = (self.w.word(), self.position(node.pc));
            let arguments = [CONTEXT_ADDRESS, ("b32", pc.as_str()), ("b32", "%depth")];
            self.show_roots();
            self.call_runtime("gpu_run_reference", &arguments, Some(("b32", &register)));
            register
        });
        let behind = self.take_values(i64::from(clause.unit), &types);
        if let Some(reference) = reference {
            ptx!(self, "mov.b32 %r{behind}, {reference};");
        }
        let from = self.cfg.nodes.partition_point(|other| other.pc < node.pc);
        let from = (0..self.cfg.blocks.len()).find(|block| self.cfg.blocks[*block].nodes.contains(&from));
        self.mark(clause.target);
        if let (Some(from), Some(to)) = (from, self.cfg.block_at(clause.target)) {
            self.go(from, to, None);
        }
    }

    /// Throws an exception.
    pub fn throw(&mut self, node: &Node) {
        let (args, pc) = (node.inst.args, self.position(node.pc));
        match node.inst.op {
            Op::Throw => {
                let meta = &self.unit.program.meta;
                let ty = meta.tag_types()[args[2] as usize];
                let types = meta.types[ty as usize].params.clone();
                let count = self.put_values(args[0], &types);
                let number = self.w.word();
                ptx!(self, "mov.b32 {number}, {count};");
                ptx!(self, "st.local.b32 [%local+{}], {number};", offset_of!(Context, count));
                let tag = self.image_word(self.layout.tags as usize + 4 * args[2] as usize);
                let arguments = [CONTEXT_ADDRESS, ("b32", pc.as_str()), ("b32", "%depth"), ("b32", &tag)];
                self.call_runtime("gpu_run_throw", &arguments, None);
            }
            _ => {
                let reference = self.canonical_operand(args[0], 1);
                let arguments = [
                    CONTEXT_ADDRESS,
                    ("b32", pc.as_str()),
                    ("b32", "%depth"),
                    ("b32", &reference),
                ];
                self.call_runtime("gpu_run_throw_ref", &arguments, None);
            }
        }
        self.keep_budget();
        self.dispatch(Some(node));
    }
}
