//! What a call looks at before it is made: how deep it is.
//!
//! - A context has places for the return addresses of some calls. A deeper one takes the place of one further out, and puts
//!   that back after it. A backtrace shows the outermost calls too, so theirs are kept.
//! - There is a limit of frames. Beyond it a call traps.
//! - Calls for which the native stack has no room are made by the interpreter, whose frames lie elsewhere. So a program
//!   recurses as deep as in the interpreter alone, for as many frames as its limit allows. What the callee calls is
//!   interpreted too, until it returns.
//!
//! Only calls that may close a recursion look at the stack; see `Analysis::checks_stack`. Nearly all calls are shallow, and have room.
//! They make one comparison for all of this, and all else is out of line. Arguments and results of a call that the
//! interpreter makes pass through the context's values, as where a function is left to it.

use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, TrapKind};

use crate::layout::{BACKTRACE, Context, Func, INTERPRETER_STACK, OUTER_CALLS};
use crate::ptx::analysis::cfg::Node;
use crate::ptx::emit::calls::Place;
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::instructions::CONTEXT_ADDRESS;
use crate::ptx::image::Image;
use crate::ptx::writer::ptx;

const _: () = assert!(BACKTRACE.is_power_of_two(), "the depth's low bits are a place");
const _: () = {
    let (limit, shallow) = (offset_of!(Context, native_limit), offset_of!(Context, shallow));
    assert!(limit % 8 == 0 && shallow == limit + 4, "one instruction loads both");
};

/// Bytes of native stack that are left beyond the limit for calls.
const SPARE_STACK: u32 = 512;

/// A call that is being written.
pub struct Call {
    /// The register of the address, less the offset of [`Context::calls`], of the place of its return address.
    back: String,
    unusual: Option<Unusual>,
}

/// What a call does that may be deep.
struct Unusual {
    /// Where the code for that is, and where the call goes on after it.
    label: String,
    go_on: String,
    /// Where the call goes on after the interpreter has made it.
    after: String,
    /// The predicate that tells whether the native stack is short, if that is asked.
    short: Option<String>,
}

impl Compiler<'_> {
    /// Begins a call. One that looks whether there is room takes so many bytes of native stack.
    pub fn begin_call(&mut self, stack: Option<u32>) -> Call {
        let back = self.w.pair();
        if stack.is_none() && !self.facts.deep {
            self.find_place(&back);
            return Call { back, unusual: None };
        }
        let p = self.w.predicate();
        let short = stack.map(|bytes| {
            let (at, limit, shallow, short) = (self.w.word(), self.w.word(), self.w.word(), self.w.predicate());
            ptx!(self, "stacksave.u32 {at};");
            let both = offset_of!(Context, native_limit);
            ptx!(self, "ld.local.v2.b32 {{{limit}, {shallow}}}, [%local+{both}];");
            let needed = match self.unit.options.deep_calls {
                // Once for the interpreter, which looks for itself, and once for what comes before that.
                true => bytes.saturating_add(2 * INTERPRETER_STACK),
                false => bytes,
            };
            if needed > SPARE_STACK {
                ptx!(self, "add.u32 {limit}, {limit}, {needed};");
            }
            ptx!(self, "setp.lt.u32 {short}, {at}, {limit};");
            ptx!(self, "setp.ge.or.u32 {p}, %depth, {shallow}, {short};");
            short
        });
        if short.is_none() {
            ptx!(self, "setp.ge.u32 {p}, %depth, {BACKTRACE};");
        }
        // Its own place, as long as it is shallow.
        ptx!(self, "mad.wide.u32 {back}, %depth, 4, %local;");
        let unusual = Unusual {
            label: self.w.new_label("UNUSUAL"),
            go_on: self.w.new_label("USUAL"),
            after: self.w.new_label("CAME_BACK"),
            short,
        };
        ptx!(self, "@{p} bra {};", unusual.label);
        self.w.label(&unusual.go_on);
        Call {
            back,
            unusual: Some(unusual),
        }
    }

    /// Finds the place of the return address of a call of any depth.
    fn find_place(&mut self, back: &str) {
        let slot = self.w.word();
        ptx!(self, "and.b32 {slot}, %depth, {};", BACKTRACE - 1);
        ptx!(self, "mad.wide.u32 {back}, {slot}, 4, %local;");
    }

    /// Notes the return address of a call, the word `next` of the program. Returns it as a word of the store.
    pub fn note_return(&mut self, call: &Call, next: u32) -> String {
        let pc = self.position(next);
        ptx!(
            self,
            "st.local.b32 [{}+{}], {pc};",
            call.back,
            offset_of!(Context, calls)
        );
        pc
    }

    /// Writes what a call does that is deep; `interpret` makes it in the interpreter.
    pub fn unusual_call(&mut self, call: &Call, node: &Node, interpret: impl FnOnce(&mut Self)) {
        let Some(unusual) = &call.unusual else { return };
        // Not in the middle of this.
        let trap = self.trap_label(node, TrapKind::StackOverflow);
        let before = self.w.set_aside(true);
        self.w.label(&unusual.label);
        if let Some(short) = &unusual.short {
            let (most, p) = (self.w.word(), self.w.predicate());
            ptx!(
                self,
                "ld.local.b32 {most}, [%local+{}];",
                offset_of!(Context, max_depth)
            );
            match self.unit.options.deep_calls {
                true => ptx!(self, "setp.ge.u32 {p}, %depth, {most};"),
                false => ptx!(self, "setp.ge.or.u32 {p}, %depth, {most}, {short};"),
            }
            ptx!(self, "@{p} bra {trap};");
        }
        self.find_place(&call.back);
        if self.facts.deep {
            let (pc, outermost, p) = (self.w.word(), self.w.word(), self.w.predicate());
            let calls = offset_of!(Context, calls);
            ptx!(self, "ld.local.b32 {pc}, [{}+{calls}];", call.back);
            ptx!(self, "st.local.b32 [outer_call], {pc};");
            ptx!(self, "sub.u32 {outermost}, %depth, {};", BACKTRACE + 1);
            ptx!(self, "setp.lt.u32 {p}, {outermost}, {OUTER_CALLS};");
            let kept = calls + 4 * (BACKTRACE - 1);
            ptx!(self, "@{p} st.local.b32 [{}+{kept}], {pc};", call.back);
        }
        match &unusual.short {
            Some(short) if self.unit.options.deep_calls => {
                ptx!(self, "@!{short} bra {};", unusual.go_on);
                interpret(self);
                ptx!(self, "bra {};", unusual.after);
            }
            _ => ptx!(self, "bra {};", unusual.go_on),
        }
        self.w.set_aside(before);
    }

    /// Where the callee has come back, whoever ran it.
    pub fn end_call(&mut self, call: &Call) {
        if let Some(unusual) = &call.unusual {
            self.w.label(&unusual.after);
        }
    }

    /// After a call: puts the return address of the one further out back, whose place it has taken.
    pub fn put_back(&mut self) {
        if !self.facts.deep {
            return;
        }
        let (p, label, done) = (
            self.w.predicate(),
            self.w.new_label("PUT_BACK"),
            self.w.new_label("IS_BACK"),
        );
        ptx!(self, "setp.ge.u32 {p}, %depth, {BACKTRACE};");
        ptx!(self, "@{p} bra {label};");
        let aside = self.w.set_aside(true);
        if aside {
            ptx!(self, "bra {done};");
        }
        self.w.label(&label);
        let (back, pc) = (self.w.pair(), self.w.word());
        self.find_place(&back);
        ptx!(self, "ld.local.b32 {pc}, [outer_call];");
        ptx!(self, "st.local.b32 [{back}+{}], {pc};", offset_of!(Context, calls));
        if !aside {
            ptx!(self, "bra {done};");
        }
        self.w.set_aside(aside);
        self.w.label(&done);
    }

    /// The declaration of what [`put_back`](Self::put_back) puts back, in a function that makes such calls.
    pub fn declare_outer_call(&self, out: &mut String) {
        if self.w.cold.contains("outer_call") {
            _ = writeln!(out, "\t.local .align 4 .b8 outer_call[4];");
        }
    }

    /// Has the interpreter make a call. `code` is for its answer, which is the callee's status.
    pub fn interpret_call(&mut self, place: &Place, ty: &FuncType, base: i64, code: &str) {
        self.put_values(base, &ty.params);
        let (instance, head) = self.place_of(place);
        let begin = self.w.word();
        ptx!(self, "add.u32 {begin}, {head}, 1;");
        let none = self.w.pair();
        ptx!(self, "mov.b64 {none}, 0;");
        let arguments = [
            CONTEXT_ADDRESS,
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
    }

    /// Registers of the instance that a function belongs to, and of the word of its head.
    fn place_of(&mut self, place: &Place) -> (String, String) {
        let head = self.w.word();
        match place {
            Place::Own(index) => {
                let defined = (index - self.analysis.imported) as usize;
                self.load_start(&head, defined);
                (self.image_word(offset_of!(Image, instance)), head)
            }
            Place::InTable(node, index) => {
                let number = self.reference_at(node, index);
                self.place_of(&Place::Numbered(&number))
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
