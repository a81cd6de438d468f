//! Calls and returns.
//!
//! A function takes its thread's context, the number of frames on the stack and memory 0's size, then
//! its parameters. Before these stands where its frame marks, in a run with [`samples`](super::samples). One that may throw or
//! make a tail call returns a status before its results, and its caller looks at it: see [`exceptions`](super::exceptions) and
//! [`tail_calls`]. What stands in the place of a function that is not compiled is in [`interpreted`], in the place of a block in
//! [`cold`]; how the interpreter calls what is compiled in [`by_interpreter`]. Calls that lanes make together on several ways are in [`shared`].

pub mod by_interpreter;
pub mod cold;
pub mod deep;
pub mod fixed;
pub mod interpreted;
pub mod shared;
pub mod tail_calls;

use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, Op, TrapKind, ValType};

use crate::layout::{Context, Func, Launch};
use crate::ptx::Unit;
use crate::ptx::analysis::cfg::Node;
pub use crate::ptx::analysis::cfg::ends_path;
use crate::ptx::analysis::flow::Fact;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::emit::calls::fixed::has_pointed_code;
use crate::ptx::emit::calls::tail_calls::has_tail_thunk;
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::emit::own::load_size;
use crate::ptx::emit::samples::{load_row, takes_row};
use crate::ptx::image::{Image, ImageLayout};
use crate::ptx::writer::ptx;

/// Status of a function that has returned its results.
pub const RETURNED: u32 = 0;
/// Status of one that leaves with the exception under way.
pub const THROWN: u32 = 1;
/// Status of one whose tail call its caller has to make.
pub const TAIL_CALL: u32 = 2;
/// Where results begin after a status.
const BEHIND_STATUS: u32 = 16;
/// Offset of [`Context`]'s values.
pub const VALUES: usize = size_of::<Context>();

/// The PTX type of a parameter.
pub fn param(ty: ValType, name: &str) -> String {
    match ty.units() {
        4 => format!(".param .align 16 .b8 {name}[16]"),
        2 => format!(".param .b64 {name}"),
        _ => format!(".param .b32 {name}"),
    }
}

/// Where each result lies, and how many bytes all take.
pub fn results(ty: &FuncType, status: bool) -> (Vec<u32>, u32) {
    let mut at = if status { BEHIND_STATUS } else { 0 };
    let mut offsets = Vec::new();
    for ty in &ty.results {
        let bytes = 4 * ty.units();
        at = at.next_multiple_of(bytes);
        offsets.push(at);
        at += bytes;
    }
    (offsets, at)
}

/// Appends code that returns the results which lie in the context's values. Uses `%w`.
pub fn return_values_of_context(ty: &FuncType, status: bool, out: &mut String) {
    let mut at = VALUES as u32;
    for (to, ty) in results(ty, status).0.iter().zip(&ty.results) {
        for k in 0..ty.units() {
            _ = writeln!(
                out,
                "\tld.local.b32 %w, [%local+{at}];\n\tst.param.b32 [ret+{}], %w;",
                to + 4 * k
            );
            at += 4;
        }
    }
    out.push_str("\tret;\n");
}

/// The list of what a function returns, with a name for it.
pub fn returns(ty: &FuncType, status: bool, name: &str) -> String {
    match results(ty, status).1 {
        0 => String::new(),
        bytes => format!("(.param .align 16 .b8 {name}[{bytes}]) "),
    }
}

/// The parameters that all functions begin with. Of the thread's context it is the address in local memory, which is one register.
pub const CONTEXT: &str = ".param .b32 context, .param .b32 depth";
/// Declares the registers that tell where the context is.
pub const CONTEXT_REGISTERS: &str = "\t.reg .b64 %local;\n\t.reg .b32 %context_at;\n";
/// Reads these parameters, the second into `%depth`.
pub const READ_CONTEXT: &str =
    "\tld.param.b32 %context_at, [context];\n\tcvt.u64.u32 %local, %context_at;\n\tld.param.b32 %depth, [depth];\n";

/// Reads where the marks of the function's frame go, of one that has this parameter: see [`takes_row`].
pub const READ_ROW: &str = "\tld.param.b64 %row, [row];\n";

/// A function's first line, for a declaration or a definition.
pub fn head(unit: &Unit, analysis: &Analysis, index: u32) -> String {
    let ty = &unit.program.meta.types[analysis.func_types[index as usize] as usize];
    let status = analysis.of(index).is_some_and(|facts| facts.status);
    let mut params = format!("{CONTEXT}, .param .b32 size");
    if unit.options.samples {
        params += ", .param .b64 row";
    }
    for (i, ty) in ty.params.iter().enumerate() {
        _ = write!(params, ", {}", param(*ty, &format!("a{i}")));
    }
    format!(".func {}{}f{index}({params})", returns(ty, status, "ret"), unit.prefix)
}

/// The prototype of functions of a type that are called through a pointer.
fn prototype(unit: &Unit, ty: &FuncType, status: bool) -> String {
    let mut params = String::from(".param .b32 _, .param .b32 _, .param .b32 _");
    if unit.options.samples {
        params += ", .param .b64 _";
    }
    for ty in &ty.params {
        _ = write!(params, ", {}", param(*ty, "_"));
    }
    format!("{}_ ({params})", returns(ty, status, "_"))
}

/// Writes the call of a function by one that finds the arguments in the context, and where it marks, and may use `%w` and `%l`.
/// What it returns is in `q`.
pub fn call_with_values(unit: &Unit, analysis: &Analysis, layout: &ImageLayout, index: u32, out: &mut String) {
    let ty = &unit.program.meta.types[analysis.func_types[index as usize] as usize];
    let status = analysis.of(index).is_some_and(|facts| facts.status);
    // The function reads memory's size itself, or gets it here.
    out.push_str(
        &load_size(unit, layout, "%local")
            .replace("%size_at", "%l")
            .replace("%size", "%w"),
    );
    out.push_str("\t.param .b32 q0;\n\t.param .b32 q1;\n\t.param .b32 q2;\n");
    out.push_str("\tst.param.b32 [q0], %context_at;\n\tst.param.b32 [q1], %depth;\n\tst.param.b32 [q2], %w;\n");
    let mut list = String::from("q0, q1, q2");
    if unit.options.samples {
        out.push_str("\t.param .b64 q3;\n");
        if analysis.of(index).is_some_and(|facts| takes_row(unit, facts)) {
            out.push_str(&load_row("%l"));
            out.push_str("\tst.param.b64 [q3], %l;\n");
        }
        list += ", q3";
    }
    let mut at = VALUES as u32;
    for (i, ty) in ty.params.iter().enumerate() {
        _ = writeln!(out, "\t{};", param(*ty, &format!("p{i}")));
        for k in 0..ty.units() {
            _ = writeln!(
                out,
                "\tld.local.b32 %w, [%local+{at}];\n\tst.param.b32 [p{i}+{}], %w;",
                4 * k
            );
            at += 4;
        }
        _ = write!(list, ", p{i}");
    }
    let callee = format!("{}f{index}", unit.prefix);
    _ = match results(ty, status).1 {
        0 => writeln!(out, "\tcall {callee}, ({list});"),
        bytes => writeln!(
            out,
            "\t.param .align 16 .b8 q[{bytes}];\n\tcall (q), {callee}, ({list});"
        ),
    };
}

/// The variable with the address of a function, which calls that close a cycle read.
fn pointer_symbol(unit: &Unit, index: u32) -> String {
    format!("{}again{index}", unit.prefix)
}

/// Those variables. Visible ones, so that ptxas does not know what is in them.
pub fn hidden_callees(unit: &Unit, analysis: &Analysis) -> String {
    if unit.options.single_lane {
        return String::new();
    }
    let facts = analysis.facts.iter().enumerate();
    let heads = facts.filter(|(_, facts)| facts.head && facts.needed);
    let variable = |(i, _)| {
        let index = i as u32 + analysis.imported;
        let symbol = pointer_symbol(unit, index);
        format!(
            ".visible .global .align 8 .u64 {symbol}[1] = {{{}f{index}}};\n",
            unit.prefix
        )
    };
    heads.map(variable).collect()
}

/// The tables of functions that are called through pointers.
pub fn tables(unit: &Unit, analysis: &Analysis) -> String {
    let prefix = &unit.prefix;
    let mut out = String::new();
    let table = |name: &str, symbol: &dyn Fn(u32) -> Option<String>| {
        let entries = (0..analysis.facts.len() as u32).map(|i| symbol(i + analysis.imported).unwrap_or("0".into()));
        let entries: Vec<String> = entries.collect();
        match entries.len() {
            0 => String::new(),
            count => format!(
                ".visible .global .align 8 .u64 {prefix}{name}[{count}] = {{{}}};\n",
                entries.join(", ")
            ),
        }
    };
    let pointed = |index: u32| analysis.of(index).is_some_and(|facts| facts.pointed && facts.needed);
    out += "\n";
    out += &table("functions", &|index| {
        has_pointed_code(unit, analysis, index).then(|| format!("{prefix}f{index}"))
    });
    out += &table("tails", &|index| {
        (pointed(index) && has_tail_thunk(analysis, index)).then(|| format!("{prefix}t{index}"))
    });
    out
}

/// What a call calls.
pub enum Callee {
    /// A function of the program, by its index.
    Direct(u32),
    /// A register with the function's address.
    Pointer(String),
}

/// Whose function a call calls that comes back.
pub enum Place<'a> {
    /// The program's, with this index.
    Own(u32),
    /// The store's, with the number in this register.
    Numbered(&'a str),
    /// That of an indirect call, with the table's index in this register.
    InTable(&'a Node, &'a str),
}

impl Compiler<'_> {
    /// Stores values that lie at `unit` side by side, where a pair may not be aligned; returns the number of units.
    pub fn store_units(&mut self, space: &str, to: &str, first: usize, mut unit: i64, types: &[ValType]) -> u32 {
        let mut at = first;
        for ty in types {
            match ty.units() {
                2 => {
                    let (value, low, high) = (self.canonical_operand(unit, 2), self.w.word(), self.w.word());
                    ptx!(self, "mov.b64 {{{low}, {high}}}, {value};");
                    ptx!(self, "st.{space}.b32 [{to}+{at}], {low};");
                    ptx!(self, "st.{space}.b32 [{to}+{}], {high};", at + 4);
                }
                1 => {
                    let value = self.canonical_operand(unit, 1);
                    ptx!(self, "st.{space}.b32 [{to}+{at}], {value};");
                }
                units => (0..i64::from(units)).for_each(|k| {
                    ptx!(self, "st.{space}.b32 [{to}+{}], %r{};", at as i64 + 4 * k, unit + k);
                }),
            }
            at += 4 * ty.units() as usize;
            unit += i64::from(ty.units());
        }
        ((at - first) / 4) as u32
    }

    /// Keeps the budget where what is called finds it. A function without loops has done so when it began.
    pub fn keep_budget(&mut self) {
        if self.counts && !self.counts_begin_only() {
            self.store_budget();
        }
    }

    pub fn store_budget(&mut self) {
        ptx!(self, "st.local.b32 [%local+{}], %budget;", offset_of!(Context, polls));
    }

    /// Takes what is left of the budget after a call.
    pub fn take_budget(&mut self) {
        if self.counts && !self.counts_begin_only() {
            ptx!(self, "ld.local.b32 %budget, [%local+{}];", offset_of!(Context, polls));
        }
    }

    /// Whether the function looks at its budget when it begins, and not after that.
    pub fn counts_begin_only(&self) -> bool {
        self.cfg.back_edges.is_empty() && self.region().is_none()
    }

    /// Returns the values from unit `from` on.
    pub fn return_values(&mut self, from: i64) {
        let types = self.ty.results.clone();
        let (offsets, _) = results(self.ty, self.facts.status);
        let mut unit = from;
        if matches!(self.role, Role::Kernel) {
            self.store_results(from);
            return ptx!(self, "bra DONE;");
        }
        if self.region().is_some() {
            return self.return_from_region(from);
        }
        self.keep_budget();
        self.hide_roots();
        if self.facts.status {
            ptx!(self, "st.param.b32 [ret], {RETURNED};");
        }
        for (ty, at) in types.iter().zip(offsets) {
            match ty.units() {
                4 => (0..4).for_each(|k| ptx!(self, "st.param.b32 [ret+{}], %r{};", at + 4 * k, unit + i64::from(k))),
                units => {
                    let value = self.canonical_operand(unit, units);
                    ptx!(self, "st.param.b{} [ret+{at}], {value};", 32 * units);
                }
            }
            unit += i64::from(ty.units());
        }
        ptx!(self, "ret;");
    }

    /// Stores a kernel's results where the host reads them.
    pub fn store_results(&mut self, from: i64) {
        let (launch, to, id) = (self.launch(), self.w.pair(), self.w.word());
        let bytes = 4 * self.ty.result_units();
        ptx!(self, "ld.global.b64 {to}, [{launch}+{}];", offset_of!(Launch, results));
        ptx!(self, "ld.local.b32 {id}, [%local+{}];", offset_of!(Context, id));
        ptx!(self, "mad.wide.u32 {to}, {id}, {bytes}, {to};");
        let ty = self.ty;
        self.store_units("global", &to, 0, from, &ty.results);
    }

    /// Any call that comes back.
    pub fn call(&mut self, node: &Node) {
        let args = node.inst.args;
        let ty = self.transfer.callee_type(node);
        match node.inst.op {
            Op::Call => {
                let index = self.analysis.callee(node.pc, &node.inst);
                let (callee, place) = (Callee::Direct(index), Place::Own(index));
                self.call_function(node, &callee, &place, &ty, args[0], None);
            }
            Op::CallIndirect => match self.fixed_len(args[2]) {
                Some(len) => self.call_fixed(node, &ty, len),
                None => {
                    let reference = self.checked_reference(node);
                    let functions = self.image_pair(offset_of!(Image, functions));
                    self.call_pointer(node, &functions, &reference, &ty);
                }
            },
            _ => {
                let number = self.image_word(self.layout.imports as usize + 4 * args[1] as usize);
                let functions = self.image_pair(offset_of!(Image, functions));
                self.call_pointer(node, &functions, &number, &ty);
            }
        }
    }

    /// Loads the address of function `number` of the store, or 0 if it has no code. `at` is a register for where that lies.
    fn load_pointer(&mut self, pointer: &str, at: &str, functions: &str, number: &str) {
        ptx!(self, "mad.wide.u32 {at}, {number}, 8, {functions};");
        ptx!(self, "ld.global.b64 {pointer}, [{at}];");
    }

    /// Calls function `number` of the store; nothing happens if it is one of the host's.
    fn call_pointer(&mut self, node: &Node, functions: &str, number: &str, ty: &FuncType) {
        let (at, pointer, p) = (self.w.pair(), self.w.pair(), self.w.predicate());
        let done = self.w.new_label("CALLED");
        self.load_pointer(&pointer, &at, functions, number);
        ptx!(self, "setp.eq.u64 {p}, {pointer}, 0;");
        ptx!(self, "@{p} bra {done};");
        let (callee, place) = (Callee::Pointer(pointer), Place::Numbered(number));
        self.call_function(node, &callee, &place, ty, node.inst.args[0], Some(&done));
    }

    /// The number in the store of the function that an indirect call calls; traps as the call does.
    pub fn checked_reference(&mut self, node: &Node) -> String {
        let index = self.canonical_operand(node.inst.args[1], 1);
        self.reference_at(node, &index)
    }

    /// The same with the table's index in a register.
    pub fn reference_at(&mut self, node: &Node, index: &str) -> String {
        let args = node.inst.args;
        let at = self.element(node, args[2], index, TrapKind::UndefinedElement);
        let (reference, p) = (self.w.word(), self.w.predicate());
        ptx!(self, "ld.relaxed.gpu.global.b32 {reference}, [{at}];");
        ptx!(self, "setp.eq.u32 {p}, {reference}, 0;");
        let label = self.trap_label(node, TrapKind::UninitializedElement);
        ptx!(self, "@{p} bra {label};");
        ptx!(self, "sub.u32 {reference}, {reference}, 1;");
        let (funcs, found) = (self.image_pair(offset_of!(Image, funcs)), self.w.word());
        let wanted = self.image_word(self.layout.types as usize + 4 * args[3] as usize);
        let record = self.w.pair();
        ptx!(
            self,
            "mad.wide.u32 {record}, {reference}, {}, {funcs};",
            size_of::<Func>()
        );
        ptx!(
            self,
            "ld.global.b32 {found}, [{record}+{}];",
            offset_of!(Func, type_index)
        );
        ptx!(self, "setp.ne.u32 {p}, {found}, {wanted};");
        let label = self.trap_label(node, TrapKind::IndirectCallTypeMismatch);
        ptx!(self, "@{p} bra {label};");
        reference
    }

    /// The pointer by which a function is called if that closes a cycle of calls.
    ///
    /// ptxas takes the branches of a function for uniform if it sees that it calls itself (12.8 and 13.0, sm_90). There it
    /// has no convergence barriers, and keeps constants and addresses in registers that all lanes of a warp share, over
    /// branches at which they part. One way's values then reach the lanes of another. A call by a pointer that may have
    /// been changed hides the recursion. A lane that is alone takes one way at a time.
    fn hidden_callee(&mut self, index: u32) -> Option<Callee> {
        let callee = self.analysis.of(index)?;
        (self.analysis.closes_cycle(&self.facts, callee) && !self.unit.options.single_lane).then(|| {
            let pointer = self.w.pair();
            ptx!(self, "ld.global.b64 {pointer}, [{}];", pointer_symbol(self.unit, index));
            Callee::Pointer(pointer)
        })
    }

    /// Calls a function with arguments from unit `base` on, where its results go. `done` is put after it all.
    fn call_function(
        &mut self,
        node: &Node,
        callee: &Callee,
        place: &Place,
        ty: &FuncType,
        base: i64,
        done: Option<&str>,
    ) {
        let index = match callee {
            Callee::Direct(index) => Some(*index),
            Callee::Pointer(_) => None,
        };
        let facts = index.and_then(|index| self.analysis.of(index)).copied();
        let checks = self.analysis.checks_stack(&self.facts, facts.as_ref()) || self.unit.options.check_depth;
        let stack = checks.then(|| match (facts, node.inst.op) {
            (Some(facts), _) => facts.stack,
            (None, Op::CallIndirect) => self.analysis.stack_through_table(node.inst.args[3] as u32),
            (None, _) => self.analysis.stack_of_imports(),
        });
        let status = facts.map_or(self.analysis.statuses, |facts| facts.status);
        let polls = facts.is_none_or(|facts| facts.polls);
        let call = self.begin_call(stack);
        // Where a trap of the callee finds this call. Where an exception is caught the budget is read from there.
        let note_call = |this: &mut Self| {
            let back = this.note_return(&call, node.next);
            this.mark_call(node, &back);
            if polls || status {
                this.keep_budget();
            }
            this.show_roots();
        };
        note_call(self);
        let arguments = self.arguments(ty, base);
        let code = self.w.word();
        if !self.go_to_shared_call(node, &arguments, base) {
            let callers = self.note_callers(node);
            self.unusual_call(&call, node, |this| {
                note_call(this);
                this.interpret_call(place, ty, base, &code);
            });
            let hidden = match callee {
                Callee::Direct(index) => self.hidden_callee(*index),
                Callee::Pointer(_) => None,
            };
            let told = self.tell_row(index);
            self.w.out().push_str("\t{\n");
            let list = self.pass(ty, &arguments, "%deeper", told.parameter.as_deref());
            self.call_native(hidden.as_ref().unwrap_or(callee), ty, status, &list, base, &code);
            self.w.out().push_str("\t}\n");
            self.restore_row(&told);
            self.end_call(&call);
            self.meet_callers(callers);
        }
        let own = self.w.new_label("CALLED");
        let done = done.unwrap_or(&own);
        if status {
            let (p, unusual) = (self.w.predicate(), self.w.new_label("STATUS"));
            ptx!(self, "setp.ne.u32 {p}, {code}, {RETURNED};");
            ptx!(self, "@{p} bra {unusual};");
            self.unusual(Some(node), ty, base, &code, &unusual, &format!("{done}_AFTER"));
            self.w.label(&format!("{done}_AFTER"));
        }
        self.mark_return(node);
        self.put_back();
        if polls || status {
            self.take_budget();
        }
        if facts.is_none_or(|facts| facts.grows) && !self.unit.options.fixed_memory {
            self.reload_size();
        }
        self.w.label(done);
    }

    /// The call itself, and the loads of what it returns into the units from `base` on. Parameters are in `list`.
    pub fn call_native(&mut self, callee: &Callee, ty: &FuncType, status: bool, list: &str, base: i64, code: &str) {
        let mut unit = base;
        let mut to = Vec::new();
        for ty in &ty.results {
            match ty.units() {
                2 => to.push((format!("%d{unit}"), 2)),
                units => to.extend((0..i64::from(units)).map(|k| (format!("%r{}", unit + k), 1))),
            }
            unit += i64::from(ty.units());
        }
        self.call_into(callee, ty, status, list, &to, code);
    }

    /// The same into registers of one or two units.
    fn call_into(
        &mut self,
        callee: &Callee,
        ty: &FuncType,
        status: bool,
        list: &str,
        to: &[(String, u32)],
        code: &str,
    ) {
        let (offsets, bytes) = results(ty, status);
        let returned = match bytes {
            0 => "",
            _ => {
                ptx!(self, ".param .align 16 .b8 q[{bytes}];");
                "(q), "
            }
        };
        match callee {
            Callee::Direct(index) => ptx!(self, "call {returned}{}f{index}, ({list});", self.unit.prefix),
            Callee::Pointer(pointer) => {
                let label = self.w.new_label("TYPE");
                let list_only_context = !list.contains("q2");
                let prototype = match list_only_context {
                    true => format!("{}_ (.param .b32 _, .param .b32 _)", returns(ty, status, "_")),
                    false => prototype(self.unit, ty, status),
                };
                _ = writeln!(self.w.out(), "{label}: .callprototype {prototype};");
                ptx!(self, "call {returned}{pointer}, ({list}), {label};");
            }
        }
        if status {
            ptx!(self, "ld.param.b32 {code}, [q];");
        }
        let places = ty.results.iter().zip(offsets).flat_map(|(ty, at)| {
            let parts = if ty.units() == 4 { 4 } else { 1 };
            (0..parts).map(move |k| at + 4 * k)
        });
        for (at, (register, units)) in places.zip(to) {
            ptx!(self, "ld.param.b{} {register}, [q+{at}];", 32 * units);
        }
    }

    /// Calls the function of a kernel that has code of its own, with its parameters from unit 0 on, and
    /// stores its results.
    pub fn call_own(&mut self) {
        let ty = self.ty.clone();
        let arguments = self.arguments(&ty, 0);
        self.call_from_kernel(self.index, &arguments);
        self.state = vec![Fact::default(); self.units as usize];
        self.store_results(0);
    }

    /// Calls a function of the program as a thread's first, with registers of its arguments' values. Its results are in
    /// the units from 0 on.
    pub fn call_from_kernel(&mut self, index: u32, arguments: &[Vec<String>]) {
        let program = self.analysis.program;
        let ty = program.meta.types[self.analysis.func_types[index as usize] as usize].clone();
        let status = self.analysis.of(index).is_some_and(|facts| facts.status);
        let row = self.row_of_first(index);
        self.w.out().push_str("\t{\n");
        let list = self.pass(&ty, arguments, "%depth", row.as_deref());
        let code = self.w.word();
        self.call_native(&Callee::Direct(index), &ty, status, &list, 0, &code);
        self.w.out().push_str("\t}\n");
        if status {
            let (p, unusual) = (self.w.predicate(), self.w.new_label("STATUS"));
            let returned = self.w.new_label("RETURNED");
            // A function that is called by a tail call has this one's depth.
            ptx!(self, "mov.b32 %deeper, %depth;");
            ptx!(self, "setp.ne.u32 {p}, {code}, {RETURNED};");
            ptx!(self, "@{p} bra {unusual};");
            self.unusual(None, &ty, 0, &code, &unusual, &returned);
            self.w.label(&returned);
        }
    }

    /// Registers of the values of a call's parameters, from unit `base` on.
    fn arguments(&mut self, ty: &FuncType, base: i64) -> Vec<Vec<String>> {
        let mut arguments = Vec::new();
        let mut unit = base;
        for ty in &ty.params {
            arguments.push(match ty.units() {
                4 => (0..4).map(|k| format!("%r{}", unit + k)).collect(),
                units => vec![self.canonical_operand(unit, units)],
            });
            unit += i64::from(ty.units());
        }
        arguments
    }

    /// Passes a call's arguments, and returns the list of them. `row` is where the marks of the callee's frame go, if samples
    /// are taken and it does not find that in the context.
    fn pass(&mut self, ty: &FuncType, arguments: &[Vec<String>], depth: &str, row: Option<&str>) -> String {
        let mut list = String::from("q0, q1, q2");
        for (i, register) in ["%context_at", depth, "%size"].iter().enumerate() {
            ptx!(self, ".param .b32 q{i}; st.param.b32 [q{i}], {register};");
        }
        if self.unit.options.samples {
            ptx!(self, ".param .b64 q3;");
            if let Some(row) = row {
                ptx!(self, "st.param.b64 [q3], {row};");
            }
            list += ", q3";
        }
        for (i, (ty, registers)) in ty.params.iter().zip(arguments).enumerate() {
            ptx!(self, "{};", param(*ty, &format!("p{i}")));
            let bits = 32 * ty.units() / registers.len() as u32;
            for (k, register) in registers.iter().enumerate() {
                ptx!(self, "st.param.b{bits} [p{i}+{}], {register};", 4 * k);
            }
            _ = write!(list, ", p{i}");
        }
        list
    }
}
