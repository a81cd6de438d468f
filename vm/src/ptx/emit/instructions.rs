//! One instruction to PTX.
//!
//! An opcode of a class that has templates is found there. Every other has code here, or the runtime runs
//! it: see [`crate::ptx::emit::handwritten`], where the compiler finds out if a new one was forgotten.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Class, Op, Operand, TrapKind, Ty, wasi};

use crate::layout::{Context, END_EXIT, END_PANIC, Launch};
use crate::ptx::analysis::cfg::{Node, is_call};
use crate::ptx::analysis::flow::{Kind, Nan, hides_nan, is_arithmetic, passes_nan};
use crate::ptx::analysis::idioms::{Idiom, Part};
use crate::ptx::emit::atomics::{AtomicAccess, Order};
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::emit::handwritten::HandwrittenOp;
use crate::ptx::runtime;
use crate::ptx::template::{Template, Width, template};
use crate::ptx::writer::{constant, ptx};

/// Bytes of [`Context::scratch`] between two operands of an instruction that the runtime runs.
const OPERAND: i64 = 16;
/// Unit of [`Context::scratch`] that the errno of a request goes to: after all arguments.
const REQUEST_RESULT: i64 = 31;
/// Targets that a jump table lists one by one.
const MOST_TARGETS: usize = 128;

/// The template of an opcode that must have one.
pub(super) fn template_for(name: &str) -> &'static Template {
    template(name).unwrap_or_else(|| unreachable!("a test checks that `{name}` has a template"))
}

/// As an argument of a call of the runtime: the generic address of the thread's context.
pub const CONTEXT_ADDRESS: (&str, &str) = ("b64", "context");

impl Compiler<'_> {
    /// Writes an instruction of `block`.
    pub fn instruction(&mut self, node: &Node, block: usize) {
        let (op, args) = (node.inst.op, node.inst.args);
        match op.info().class {
            Class::Pure => return self.pure(node),
            Class::Traps => return self.pure_with_trap(node),
            Class::Branch => return self.branch(node, block),
            Class::Load(_) | Class::Store(_) | Class::LoadFar(_) | Class::StoreFar(_) => return self.access(node),
            Class::Control | Class::Aside | Class::Gpu | Class::Access => {}
        }
        // What is called may have atomic accesses of its own.
        let leads_away = is_call(op) || matches!(op.info().class, Class::Gpu | Class::Aside);
        if leads_away && !matches!(op, Op::AtomicAdd | Op::AtomicInc | Op::AtomicDec | Op::AtomicCas) {
            self.order = Order::default();
        }
        let to = |i: usize| self.cfg.block_at(node.targets[i]).unwrap_or(block);
        if let Some(access) = AtomicAccess::of(op) {
            return self.atomic(node, access);
        }
        // The rest runs seldom, or takes long: the interpreter's own code runs it.
        let Some(own) = HandwrittenOp::of(op) else {
            return self.runtime_op(node);
        };
        match own {
            HandwrittenOp::Trap => self.trap(node, &args[0].to_string()),
            HandwrittenOp::Jump => {
                let to = to(0);
                self.go(block, to, None);
            }
            HandwrittenOp::BrIf | HandwrittenOp::BrUnless => {
                let to = to(0);
                let condition = self.canonical_operand(args[0], 1);
                let p = self.w.predicate();
                ptx!(self, "setp.ne.u32 {p}, {condition}, 0;");
                self.go_if(block, to, &p, op == Op::BrUnless);
            }
            HandwrittenOp::BrTable => self.br_table(node, block),
            HandwrittenOp::BrI32AddNe
            | HandwrittenOp::BrI32AddLtS
            | HandwrittenOp::BrI32AddLtU
            | HandwrittenOp::BrI32AddNeImm => {
                let to = to(0);
                if self.count_pass(block) {
                    return;
                }
                let left = self.canonical_operand(args[1], 1);
                let right = match op {
                    Op::BrI32AddNeImm => args[3].to_string(),
                    // The limit is read after the sum, which it may be itself.
                    _ if args[3] == args[0] => format!("%r{}", args[0]),
                    _ => self.canonical_operand(args[3], 1),
                };
                let compare = match op {
                    Op::BrI32AddLtS => "lt.s32",
                    Op::BrI32AddLtU => "lt.u32",
                    _ => "ne.u32",
                };
                let p = self.w.predicate();
                ptx!(self, "add.u32 %r{}, {left}, {};", args[0], args[2]);
                ptx!(self, "setp.{compare} {p}, %r{}, {right};", args[0]);
                self.go_if(block, to, &p, false);
            }
            HandwrittenOp::Return => self.return_values(args[1]),
            HandwrittenOp::Call | HandwrittenOp::CallIndirect | HandwrittenOp::CallImport => self.call(node),
            HandwrittenOp::ReturnCall | HandwrittenOp::ReturnCallIndirect | HandwrittenOp::ReturnCallImport => {
                self.tail_call(node)
            }
            HandwrittenOp::Throw | HandwrittenOp::ThrowRef => self.throw(node),

            HandwrittenOp::CopyRange => self.copy_range(args[0], args[1], args[2]),
            HandwrittenOp::Zero => {
                for unit in args[0]..args[0] + args[1] {
                    ptx!(self, "mov.b32 %r{unit}, 0;");
                    ptx!(self, "mov.b64 %d{unit}, 0;");
                }
            }
            HandwrittenOp::Const32 => ptx!(self, "mov.b32 %r{}, {:#x};", args[0], args[1] as u32),
            HandwrittenOp::Const64S | HandwrittenOp::Const64 => {
                ptx!(self, "mov.b64 %d{}, {:#x};", args[0], args[1] as u64)
            }
            HandwrittenOp::GlobalGet32 | HandwrittenOp::GlobalGet64 | HandwrittenOp::GlobalGet128 => {
                let at = self.global_address(args[1]);
                match op {
                    Op::GlobalGet32 => ptx!(self, "ld.global.b32 %r{}, [{at}];", args[0]),
                    Op::GlobalGet64 => ptx!(self, "ld.global.b64 %d{}, [{at}];", args[0]),
                    _ => (0..4).for_each(|i| ptx!(self, "ld.global.b32 %r{}, [{at}+{}];", args[0] + i, 4 * i)),
                }
            }
            // The slot of a 32-bit global has 64 bits, of which the upper ones are never read.
            HandwrittenOp::GlobalSet32 => {
                let value = self.canonical_operand(args[0], 1);
                let at = self.global_address(args[1]);
                ptx!(self, "st.global.b32 [{at}], {value};");
            }
            HandwrittenOp::GlobalSet64 => {
                let value = self.canonical_operand(args[0], 2);
                let at = self.global_address(args[1]);
                ptx!(self, "st.global.b64 [{at}], {value};");
            }
            HandwrittenOp::GlobalSet128 => {
                let at = self.global_address(args[1]);
                (0..4).for_each(|i| ptx!(self, "st.global.b32 [{at}+{}], %r{};", 4 * i, args[0] + i));
            }
            HandwrittenOp::StackPointerSet => self.stack_pointer_set(node),
            HandwrittenOp::Fuel => {
                let (at, left, out) = (self.global_address(args[1]), self.w.pair(), self.w.predicate());
                let label = self.trap_label(node, TrapKind::OutOfFuel);
                ptx!(self, "ld.global.b64 {left}, [{at}];");
                ptx!(self, "setp.lt.u64 {out}, {left}, {};", args[0]);
                ptx!(self, "@{out} bra {label};");
                ptx!(self, "sub.u64 {left}, {left}, {};", args[0]);
                ptx!(self, "st.global.b64 [{at}], {left};");
            }
            HandwrittenOp::StackLimit => {
                let limit = self.canonical_operand(args[0], 1);
                let at = offset_of!(Context, stack_limit);
                ptx!(self, "st.local.b32 [%local+{at}], {limit};");
                // Interpreted functions that are called look at the thread's.
                self.runtime_op(node);
            }

            HandwrittenOp::Meet => {
                let meets = self.unit.options.meets;
                if meets {
                    self.call_runtime("gpu_run_meet", &[CONTEXT_ADDRESS, ("b32", "0")], None);
                }
                ptx!(self, "mov.b32 %r{}, {};", args[0], meets as u32);
            }

            HandwrittenOp::Gid => ptx!(
                self,
                "ld.local.b32 %r{}, [%local+{}];",
                args[0],
                offset_of!(Context, id)
            ),
            HandwrittenOp::ThreadCount if matches!(self.role, Role::Kernel) && self.analysis.thread_start.is_none() => {
                ptx!(self, "ld.param.b32 %r{}, [threads];", args[0]);
            }
            HandwrittenOp::ThreadCount => {
                let launch = self.launch();
                ptx!(
                    self,
                    "ld.global.b32 %r{}, [{launch}+{}];",
                    args[0],
                    offset_of!(Launch, thread_count)
                );
            }
            HandwrittenOp::Time => ptx!(self, "mov.u64 %d{}, %globaltimer;", args[0]),
            HandwrittenOp::Exit => {
                let value = self.canonical_operand(args[0], 1);
                self.end(node, END_EXIT, &value);
            }
            HandwrittenOp::PanicExit => self.end(node, END_PANIC, "0"),
            HandwrittenOp::AtomicRelaxed => self.order = Order::Relaxed,
            HandwrittenOp::AtomicAcqRel => self.order = Order::AcqRel,
            HandwrittenOp::AtomicFence => ptx!(self, "fence.sc.gpu;"),

            // These address memory 0 with an i32, whatever its own addresses are.
            HandwrittenOp::AtomicAdd
            | HandwrittenOp::AtomicInc
            | HandwrittenOp::AtomicDec
            | HandwrittenOp::AtomicCas => match self.analysis.wide.first() {
                Some(true) => self.runtime_op(node),
                _ => self.atomic_op(node),
            },

            HandwrittenOp::MemorySize | HandwrittenOp::MemorySize64 => self.memory_size(node),
            HandwrittenOp::MemoryCopy | HandwrittenOp::MemoryCopy64 => self.memory_copy(node),
            HandwrittenOp::MemoryFill | HandwrittenOp::MemoryFill64 => self.memory_fill(node),
            HandwrittenOp::Memcmp => self.memory_compare(node),
            HandwrittenOp::TableGet | HandwrittenOp::TableSet => self.table_element(node),
            HandwrittenOp::TableSize => self.table_size(node),
            HandwrittenOp::RefFunc => self.ref_func(node),
            HandwrittenOp::Alloc | HandwrittenOp::AllocZero => self.together(node, |this| this.allocate(node)),
            HandwrittenOp::Dealloc => self.together(node, |this| this.release(node)),
            HandwrittenOp::Realloc => self.together(node, |this| this.reallocate(node)),
            HandwrittenOp::Print => self.print(node),
            HandwrittenOp::PrintEnd => self.print_end(node),
            HandwrittenOp::RequestQueue => self.request(node, args[0], args[1], None),
            HandwrittenOp::RequestPoll => self.request(node, args[1], args[2], Some(args[0])),
            HandwrittenOp::DbgI32
            | HandwrittenOp::DbgF32
            | HandwrittenOp::DbgBool
            | HandwrittenOp::DbgChar
            | HandwrittenOp::DbgU32 => self.debug(node, 1),
            HandwrittenOp::DbgI64 | HandwrittenOp::DbgF64 | HandwrittenOp::DbgU64 => self.debug(node, 2),
            HandwrittenOp::DbgNl | HandwrittenOp::DbgFlush => self.debug(node, 0),

            HandwrittenOp::V128Const => self.vector(args[0], args[1] as u64, args[2] as u64),
            HandwrittenOp::I8x16Shuffle => self.shuffle(node),
            HandwrittenOp::V128Load
            | HandwrittenOp::V128Store
            | HandwrittenOp::V128Load8x8S
            | HandwrittenOp::V128Load8x8U
            | HandwrittenOp::V128Load16x4S
            | HandwrittenOp::V128Load16x4U
            | HandwrittenOp::V128Load32x2S
            | HandwrittenOp::V128Load32x2U
            | HandwrittenOp::V128Load8Splat
            | HandwrittenOp::V128Load16Splat
            | HandwrittenOp::V128Load32Splat
            | HandwrittenOp::V128Load64Splat
            | HandwrittenOp::V128Load32Zero
            | HandwrittenOp::V128Load64Zero
            | HandwrittenOp::V128Load8Lane
            | HandwrittenOp::V128Load16Lane
            | HandwrittenOp::V128Load32Lane
            | HandwrittenOp::V128Load64Lane
            | HandwrittenOp::V128Store8Lane
            | HandwrittenOp::V128Store16Lane
            | HandwrittenOp::V128Store32Lane
            | HandwrittenOp::V128Store64Lane => self.vector_access(node),

            // What the interpreter never finds in a program, or only at a function's head.
            HandwrittenOp::Enter
            | HandwrittenOp::BridgeReturn
            | HandwrittenOp::ThreadEnd
            | HandwrittenOp::NativeReturn
            | HandwrittenOp::Visit => {}
        }
    }

    /// The PTX operands of an instruction's operand `i`: four for a 128-bit value.
    pub fn operand(&mut self, node: &Node, i: usize) -> Vec<String> {
        let (op, arg) = (node.inst.op, node.inst.args[i]);
        match op.info().operands[i] {
            Operand::Src(ty) if ty.units() == 4 => (0..4).map(|k| format!("%r{}", arg + k)).collect(),
            operand @ Operand::Src(ty) => {
                let eager = self.transfer.eager.contains(&(node.inst.args[0] as u32));
                if hides_nan(op, operand) || (passes_nan(op) && ty != Ty::I32 && !eager) {
                    let prefix = if ty.units() == 2 { "%d" } else { "%r" };
                    return vec![format!("{prefix}{arg}")];
                }
                vec![self.canonical_operand(arg, ty.units())]
            }
            _ => vec![arg.to_string()],
        }
    }

    fn operands(&mut self, node: &Node, range: std::ops::Range<usize>) -> Vec<String> {
        range.flat_map(|i| self.operand(node, i)).collect()
    }

    /// Immediates as templates take them: as many bits as the parameter has.
    fn fit(template: &Template, args: &mut [String]) {
        for (arg, width) in args.iter_mut().zip(&template.params) {
            if let (Ok(value), Width::B32) = (arg.parse::<i64>(), width) {
                *arg = (value as i32).to_string();
            }
        }
    }

    /// Writes a template's instance.
    pub fn instantiate(&mut self, template: &Template, args: &mut [String], results: &[String]) {
        Self::fit(template, args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let results: Vec<&str> = results.iter().map(String::as_str).collect();
        let unique = self.w.unique();
        template.emit(self.w.out(), unique, &args, &results);
    }

    /// Registers of an instruction's result.
    fn result(node: &Node) -> Vec<String> {
        let unit = node.inst.args[0];
        match node.inst.op.info().operands[0] {
            Operand::Def(ty) if ty.units() == 4 => (0..4).map(|k| format!("%r{}", unit + k)).collect(),
            Operand::Def(ty) if ty.units() == 2 => vec![format!("%d{unit}")],
            _ => vec![format!("%r{unit}")],
        }
    }

    fn pure(&mut self, node: &Node) {
        let op = node.inst.op;
        let info = op.info();
        let result = Self::result(node);
        let mut args = self.operands(node, 1..info.operands.len());
        match op {
            Op::Copy32 => return ptx!(self, "mov.b32 {}, {};", result[0], args[0]),
            Op::Copy64 => return ptx!(self, "mov.b64 {}, {};", result[0], args[0]),
            _ => {}
        }
        match self.idioms.get(&node.pc).copied() {
            Some(Idiom::Extreme { larger, signed }) => {
                let [one, other] = [1, 2].map(|i| self.canonical_operand(node.inst.args[i], 1));
                let which = if larger { "max" } else { "min" };
                let sign = if signed { "s" } else { "u" };
                return ptx!(self, "{which}.{sign}32 {}, {one}, {other};", result[0]);
            }
            Some(Idiom::Sum(part)) if self.sum(node.pc, part, &args, &result[0]) => return,
            _ => {}
        }
        let lazy = is_arithmetic(op) && !self.transfer.eager.contains(&(node.inst.args[0] as u32));
        let lazy = match lazy {
            true => template(&format!("lazy_{}", info.name.replace('.', "_"))),
            false => None,
        };
        self.instantiate(lazy.unwrap_or_else(|| template_for(info.name)), &mut args, &result);
    }

    /// A sum that has a part in another one. False if the sum itself is still to be written.
    fn sum(&mut self, pc: u32, part: Part, args: &[String], result: &str) -> bool {
        // The sum of all operands but some; there are two or three.
        let (skipped, first) = match part {
            Part::Inner { term } => ([term, term], None),
            Part::Outer { inner, term, sum } => ([term, sum], self.kept.get(&inner).cloned()),
        };
        let others = (1..)
            .zip(args)
            .filter(|(i, _)| !skipped.contains(i))
            .map(|(_, arg)| arg);
        let mut others: Vec<&String> = others.collect();
        others.extend(first.as_ref().map(|(rest, _)| rest));
        let rest = match others[..] {
            [a, b] => {
                let rest = self.w.word();
                ptx!(self, "add.u32 {rest}, {a}, {b};");
                rest
            }
            _ => {
                let rest = self.w.word();
                ptx!(self, "mov.b32 {rest}, {};", others[0]);
                rest
            }
        };
        let kept = self.w.word();
        match (part, first) {
            (Part::Outer { term, .. }, Some((_, kept_one))) => {
                ptx!(self, "or.b32 {kept}, {kept_one}, {};", args[term - 1]);
                ptx!(self, "add.u32 {result}, {rest}, {kept};");
                true
            }
            (Part::Inner { term }, _) | (Part::Outer { term, .. }, None) => {
                ptx!(self, "mov.b32 {kept}, {};", args[term - 1]);
                self.kept.insert(pc, (rest, kept));
                false
            }
        }
    }

    fn pure_with_trap(&mut self, node: &Node) {
        let info = node.inst.op.info();
        let mut args = self.operands(node, 1..info.operands.len());
        let mut results = Self::result(node);
        let kind = self.w.word();
        results.push(kind.clone());
        self.instantiate(template_for(info.name), &mut args, &results);
        let (p, label) = (self.w.predicate(), self.w.new_label("TRAP"));
        ptx!(self, "setp.ne.u32 {p}, {kind}, 0;");
        ptx!(self, "@{p} bra {label};");
        let before = self.w.set_aside(true);
        self.w.label(&label);
        self.trap(node, &kind);
        self.w.set_aside(before);
    }

    fn branch(&mut self, node: &Node, block: usize) {
        let info = node.inst.op.info();
        let (negated, name) = match info.name.strip_prefix("br_not_") {
            Some(name) => (true, name),
            None => (false, info.name.trim_start_matches("br_")),
        };
        let template = template_for(name);
        let mut args = self.operands(node, 0..info.operands.len() - 1);
        Self::fit(template, &mut args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (p, unique) = (self.w.predicate(), self.w.unique());
        if !template.emit_predicate(self.w.out(), unique, &args, &p) {
            let value = self.w.word();
            template.emit(self.w.out(), unique, &args, &[&value]);
            ptx!(self, "setp.ne.u32 {p}, {value}, 0;");
        }
        let to = self.cfg.block_at(node.targets[0]).unwrap_or(block);
        self.go_if(block, to, &p, negated);
    }

    fn br_table(&mut self, node: &Node, block: usize) {
        let index = self.canonical_operand(node.inst.args[0], 1);
        let clamped = self.w.word();
        // What brx.idx does beyond its list is not defined.
        ptx!(self, "min.u32 {clamped}, {index}, {};", node.targets.len() - 1);
        let mut targets: Vec<u32> = node.targets.clone();
        if targets.len() > MOST_TARGETS {
            // A list of different targets, and a table in memory that says which.
            targets.sort();
            targets.dedup();
            let places = node
                .targets
                .iter()
                .map(|pc| targets.partition_point(|target| target < pc).to_string());
            let (name, places) = (self.name_at("targets", node), places.collect::<Vec<_>>());
            self.constant(constant(32, &name, &places));
            let at = self.w.pair();
            ptx!(self, "mov.u64 {at}, {name};");
            ptx!(self, "mad.wide.u32 {at}, {clamped}, 4, {at};");
            ptx!(self, "ld.global.b32 {clamped}, [{at}];");
        }
        // Where a way counts it has a label of its own, one for all entries.
        let mut known = BTreeMap::new();
        let mut labels = Vec::new();
        for pc in &targets {
            let to = self.cfg.block_at(*pc).unwrap_or(block);
            labels.push(known.entry(to).or_insert_with(|| self.table_target(block, to)).clone());
        }
        let table = self.w.new_label("TABLE");
        _ = writeln!(self.w.out(), "{table}: .branchtargets {};", labels.join(", "));
        ptx!(self, "brx.idx {clamped}, {table};");
    }

    /// Declares a constant of the module; copies of a loop use the same.
    pub fn constant(&mut self, declaration: String) {
        if !self.words.contains(&declaration) {
            self.words.push_str(&declaration);
        }
    }

    /// Copies units as the kinds of value that they hold.
    fn copy_range(&mut self, to: i64, from: i64, count: i64) {
        let mut i = 0;
        while i < count {
            let (to, from) = (to + i, from + i);
            i += 1;
            let fact = self.fact(from);
            let settle = fact.nan == Nan::Raw && self.transfer.eager.contains(&(to as u32));
            match fact.kind {
                Kind::Low => {
                    let value = if settle {
                        self.canonical_operand(from, 2)
                    } else {
                        format!("%d{from}")
                    };
                    ptx!(self, "mov.b64 %d{to}, {value};");
                }
                Kind::Unit => {
                    let value = if settle {
                        self.canonical_operand(from, 1)
                    } else {
                        format!("%r{from}")
                    };
                    ptx!(self, "mov.b32 %r{to}, {value};");
                }
                Kind::Zero => {
                    ptx!(self, "mov.b32 %r{to}, 0;");
                    ptx!(self, "mov.b64 %d{to}, 0;");
                }
                Kind::High | Kind::Undefined => {}
            }
        }
    }

    /// The address of a global.
    pub fn global_address(&mut self, index: i64) -> String {
        let slot = self.image_word(self.layout.globals as usize + 4 * index as usize);
        let at = self.w.pair();
        ptx!(self, "mad.wide.u32 {at}, {slot}, 8, %globals;");
        at
    }

    /// Ends the process.
    fn end(&mut self, node: &Node, kind: u32, value: &str) {
        let (pc, kind) = (self.position(node.pc), kind.to_string());
        let arguments = [
            CONTEXT_ADDRESS,
            ("b32", &pc),
            ("b32", "%depth"),
            ("b32", &kind),
            ("b32", value),
        ];
        self.call_runtime("gpu_run_exit", &arguments, None);
        ptx!(self, "exit;");
    }

    /// Loads the generic address of a kernel's context.
    fn load_context(&mut self, to: &str) {
        ptx!(self, "ld.local.b64 {to}, [%local+{}];", offset_of!(Context, address));
    }

    /// Finds where a kernel's context is, for calls of functions.
    pub fn find_context(&mut self) {
        let context = self.w.pair();
        self.load_context(&context);
        ptx!(self, "cvta.to.local.u64 {context}, {context};");
        ptx!(self, "cvt.u32.u64 %context_at, {context};");
    }

    /// A call of the runtime. Arguments are types and operands, and [`CONTEXT_ADDRESS`]; a result is a type and a register.
    pub fn call_runtime(&mut self, name: &str, arguments: &[(&str, &str)], result: Option<(&str, &str)>) {
        let types: Vec<_> = arguments.iter().map(|(ty, _)| *ty).collect();
        if let Err(wrong) = runtime::signature(name).check(&types, result.map(|(ty, _)| ty)) {
            // A bug of this compiler, for every program that makes the call: the assembler would refuse it.
            panic!("{wrong}");
        }
        let mut context = String::new();
        if arguments.contains(&CONTEXT_ADDRESS) {
            context = self.w.pair();
            match self.role {
                Role::Kernel => self.load_context(&context),
                // No register is kept for it.
                Role::Function | Role::Region(..) => ptx!(self, "cvta.local.u64 {context}, %local;"),
            }
        }
        self.w.out().push_str("\t{\n");
        let mut list = Vec::new();
        for (i, argument) in arguments.iter().enumerate() {
            let (ty, value) = argument;
            let value = if *argument == CONTEXT_ADDRESS { &context } else { *value };
            ptx!(self, ".param .{ty} q{i};");
            ptx!(self, "st.param.{ty} [q{i}], {value};");
            list.push(format!("q{i}"));
        }
        let list = list.join(", ");
        match result {
            None => ptx!(self, "call {name}, ({list});"),
            Some((ty, register)) => {
                ptx!(self, ".param .{ty} result;");
                ptx!(self, "call (result), {name}, ({list});");
                ptx!(self, "ld.param.{ty} {register}, [result];");
            }
        }
        self.w.out().push_str("\t}\n");
    }

    /// Has the interpreter's code run an instruction: operand j becomes unit 4 * j of a small frame.
    fn runtime_op(&mut self, node: &Node) {
        let op = node.inst.op;
        let info = op.info();
        let scratch = offset_of!(Context, scratch) as i64;
        let mut args = node.inst.args;
        for (i, operand) in info.operands.iter().enumerate() {
            let units = match operand {
                Operand::Def(_) => 0,
                Operand::Src(ty) => ty.units(),
                Operand::Address => self.transfer.address_units(node),
                _ => continue,
            };
            args[i] = 4 * i as i64;
            let at = scratch + OPERAND * i as i64;
            let from = node.inst.args[i];
            match units {
                0 => {}
                4 => (0..4).for_each(|k| ptx!(self, "st.local.b32 [%local+{}], %r{};", at + 4 * k, from + k)),
                units => {
                    let value = self.canonical_operand(from, units);
                    ptx!(self, "st.local.b{} [%local+{at}], {value};", 32 * units);
                }
            }
        }
        self.call_with_words(node, "gpu_run_op", &args[..info.operands.len()]);
        if let Some(Operand::Def(ty)) = info.operands.first() {
            let to = node.inst.args[0];
            match ty.units() {
                1 => ptx!(self, "ld.local.b32 %r{to}, [%local+{scratch}];"),
                2 => ptx!(self, "ld.local.b64 %d{to}, [%local+{scratch}];"),
                _ => (0..4).for_each(|k| ptx!(self, "ld.local.b32 %r{}, [%local+{}];", to + k, scratch + 4 * k)),
            }
        }
        if self.grows_memory(op) {
            self.reload_size();
        }
    }

    /// A half of a call of a WASI function. Its arguments, from unit `first` on, become units 0, 1, … of a small
    /// frame. `result` is where the errno goes.
    fn request(&mut self, node: &Node, function: i64, first: i64, result: Option<i64>) {
        let scratch = offset_of!(Context, scratch) as i64;
        let types = wasi::Function::from_number(function as u16).map_or_else(Vec::new, wasi::Function::param_types);
        let mut count = 0;
        for ty in types {
            let value = self.canonical_operand(first + count, ty.units());
            let (bits, at) = (32 * ty.units(), scratch + 4 * count);
            match count % 2 {
                0 => ptx!(self, "st.local.b{bits} [%local+{at}], {value};"),
                _ if bits == 32 => ptx!(self, "st.local.b32 [%local+{at}], {value};"),
                // Not aligned for 64 bits.
                _ => {
                    let (low, high) = (self.w.word(), self.w.word());
                    ptx!(self, "mov.b64 {{{low}, {high}}}, {value};");
                    ptx!(self, "st.local.b32 [%local+{at}], {low};");
                    ptx!(self, "st.local.b32 [%local+{}], {high};", at + 4);
                }
            }
            count += i64::from(ty.units());
        }
        match result {
            None => self.call_with_words(node, "gpu_run_request", &[function, 0, count]),
            Some(to) => {
                self.call_with_words(node, "gpu_run_request", &[REQUEST_RESULT, function, 0, count]);
                ptx!(self, "ld.local.b32 %r{to}, [%local+{}];", scratch + 4 * REQUEST_RESULT);
            }
        }
    }

    /// Calls a function of the runtime that runs an instruction of its own opcode, with these operands.
    fn call_with_words(&mut self, node: &Node, runtime: &str, args: &[i64]) {
        let mut words = Vec::new();
        Inst::new(node.inst.op, args).encode(&mut words);
        let name = self.name_at("words", node);
        let list: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
        self.constant(constant(64, &name, &list));
        let (instance, at) = (self.image_word(offset_of!(crate::ptx::Image, instance)), self.w.pair());
        ptx!(self, "mov.u64 {at}, {name};");
        let pc = self.position(node.pc);
        let arguments = [
            CONTEXT_ADDRESS,
            ("b32", &pc),
            ("b32", "%depth"),
            ("b32", &instance),
            ("b64", &at),
        ];
        self.call_runtime(runtime, &arguments, None);
    }
}
