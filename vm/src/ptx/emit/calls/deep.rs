//! Calls that are too deep for the native stack: the interpreter makes them, whose frames lie elsewhere. So a program
//! recurses as deep as in the interpreter alone, for as many frames as its limit allows.
//!
//! Only calls that may recurse look at the stack; see `Analysis::checks_stack`. Where it is short, the call goes another
//! way out of line: arguments and results pass through the context's values, as where a function is left to the
//! interpreter. What the callee calls is interpreted too, until it returns.

use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, TrapKind};

use crate::layout::{Context, Func, INTERPRETER_STACK};
use crate::ptx::analysis::cfg::Node;
use crate::ptx::emit::calls::Place;
use crate::ptx::emit::function::Compiler;
use crate::ptx::image::Image;
use crate::ptx::writer::ptx;

/// Bytes of native stack that are left beyond the limit for calls.
const SPARE_STACK: u32 = 512;

/// A call that may be too deep.
pub struct Deep {
    /// The predicate that tells so.
    short: String,
    /// Where the interpreter makes it, and where that leads to.
    label: String,
    after: String,
}

impl Compiler<'_> {
    /// Traps if a call is too deep for the limit of frames. For a call that takes so many bytes of native stack, returns how
    /// it is made where there are less; without the interpreter, that is a trap too.
    pub fn check_depth(&mut self, node: &Node, bytes: u32) -> Option<Deep> {
        let (at, limit, most) = (self.w.word(), self.w.word(), self.w.word());
        let (p, q) = (self.w.predicate(), self.w.predicate());
        ptx!(self, "stacksave.u32 {at};");
        let native_limit = offset_of!(Context, native_limit);
        ptx!(self, "ld.local.b32 {limit}, [%local+{native_limit}];");
        let max_depth = offset_of!(Context, max_depth);
        ptx!(self, "ld.local.b32 {most}, [%local+{max_depth}];");
        let deep = self.unit.options.deep_calls.then(|| Deep {
            short: p.clone(),
            label: self.w.new_label("DEEP"),
            after: self.w.new_label("DEEP_AFTER"),
        });
        let needed = match &deep {
            // Once for the interpreter, which looks for itself, and once for what comes before that.
            Some(_) => bytes.saturating_add(2 * INTERPRETER_STACK),
            None => bytes,
        };
        if needed > SPARE_STACK {
            ptx!(self, "add.u32 {limit}, {limit}, {needed};");
        }
        ptx!(self, "setp.lt.u32 {p}, {at}, {limit};");
        match &deep {
            Some(_) => ptx!(self, "setp.ge.u32 {q}, %depth, {most};"),
            None => ptx!(self, "setp.ge.or.u32 {q}, %depth, {most}, {p};"),
        }
        let label = self.trap_label(node, TrapKind::StackOverflow);
        ptx!(self, "@{q} bra {label};");
        deep
    }

    /// Goes to the interpreter with a call that is too deep. `code` is for its answer, which is the callee's status.
    pub fn interpret_deep(&mut self, deep: &Deep, place: &Place, ty: &FuncType, base: i64, code: &str) {
        let Deep { short, label, after } = deep;
        ptx!(self, "@{short} bra {label};");
        let before = self.w.set_aside(true);
        self.w.label(label);
        self.put_values(base, &ty.params);
        let (instance, head) = self.place_of(place);
        let begin = self.w.word();
        ptx!(self, "add.u32 {begin}, {head}, 1;");
        let none = self.w.pair();
        ptx!(self, "mov.b64 {none}, 0;");
        let arguments = [
            ("b64", "%ctx"),
            ("b32", "%deeper"),
            ("b32", &instance),
            ("b32", &head),
            ("b32", &begin),
            ("b64", &none),
            ("b64", &none),
            ("b64", &none),
        ];
        self.call_runtime("gpu_run_interpret", &arguments, Some(("b32", code)));
        self.take_values(base, &ty.results);
        ptx!(self, "bra {after};");
        self.w.set_aside(before);
    }

    /// Where the callee has come back, on either way.
    pub fn meet_deep(&mut self, deep: &Deep) {
        self.w.label(&deep.after);
    }

    /// Registers of the instance that a function belongs to, and of the word of its head.
    fn place_of(&mut self, place: &Place) -> (String, String) {
        let head = self.w.word();
        match place {
            Place::Own(index) => {
                let defined = (index - self.analysis.imported) as usize;
                let start = self.unit.program.meta.functions[defined].start;
                ptx!(self, "mov.b32 {head}, {};", self.unit.code_start + start);
                (self.image_word(offset_of!(Image, instance)), head)
            }
            Place::Numbered(number) => {
                let (funcs, record) = (self.image_pair(offset_of!(Image, funcs)), self.w.pair());
                let instance = self.w.word();
                let bytes = size_of::<Func>();
                ptx!(self, "mad.wide.u32 {record}, {number}, {bytes}, {funcs};");
                ptx!(self, "ld.global.b32 {head}, [{record}+{}];", offset_of!(Func, pc));
                let at = offset_of!(Func, instance);
                ptx!(self, "ld.global.b32 {instance}, [{record}+{at}];");
                (instance, head)
            }
        }
    }
}
