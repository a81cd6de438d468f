//! Compiles one function: its head, its blocks in the order of the code, what stands after them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, Function, Op, TrapKind, disassemble_instruction};

use crate::layout::{Context, Launch};
use crate::ptx::analysis::cfg::{Cfg, Node};
use crate::ptx::analysis::flow::{Fact, Flow, Kind, Nan, State, TransferFn};
use crate::ptx::analysis::idioms::{self, Idiom};
use crate::ptx::analysis::interprocedural::{Analysis, Facts, frame_units, grows};
use crate::ptx::analysis::regions::Regions;
use crate::ptx::emit::atomics::Order;
use crate::ptx::emit::calls::{self, cold::Exits};
use crate::ptx::emit::counts::find_counters;
use crate::ptx::emit::exnref_roots;
use crate::ptx::emit::instructions::CONTEXT_ADDRESS;
use crate::ptx::emit::loops::Loop;
use crate::ptx::emit::own::{self, Own};
use crate::ptx::emit::reconvergence::{Joins, Meeting};
use crate::ptx::emit::regions::{self, Leaving};
use crate::ptx::emit::samples::{Marks, takes_row};
use crate::ptx::emit::steps::Steps;
use crate::ptx::image::ImageLayout;
use crate::ptx::schedule::{self, Schedule};
use crate::ptx::writer::{Writer, ptx};
use crate::ptx::{Options, Unit};
use crate::store::is_atomic;

/// Passes through loops between two looks at the stop flag.
pub const PASSES: u32 = 4096;
/// The same where lanes meet. It is prime, so that looks do not always come in the same loop of several within each other.
const MEETING_PASSES: u32 = 4093;

/// What a return, or an exception that nothing catches here, leads to.
#[derive(Clone, Copy)]
pub enum Role<'a> {
    /// A function that others call.
    Function,
    /// The body of a kernel: results go to the launch's results.
    Kernel,
    /// A region of a large function, by its number.
    Region(&'a Regions, usize),
}

/// A function on its way to PTX.
pub struct Compiler<'a> {
    pub unit: &'a Unit<'a>,
    pub analysis: &'a Analysis<'a>,
    pub layout: &'a ImageLayout,
    pub function: &'a Function,
    pub ty: &'a FuncType,
    pub facts: Facts,
    pub cfg: Cfg,
    pub transfer: TransferFn<'a>,
    pub flow: Flow,
    pub role: Role<'a>,
    /// What is known before the instruction that is compiled.
    pub state: State,
    pub w: Writer,
    /// Constants of the module that the function needs.
    pub words: String,
    /// Index with imports first.
    pub index: u32,
    pub units: u32,
    /// Registers of its frame's units, and of values that have none there.
    pub registers: u32,
    /// The blocks whose instructions are written in another order.
    pub schedule: Schedule,
    /// The ways into the interpreter.
    pub exits: Exits,
    /// The ways into other regions.
    pub leaving: Leaving,
    /// Whether the function counts its passes through loops.
    pub counts: bool,
    /// The loops that are written out several times, by their heads; and the head of each block in one.
    pub loops: BTreeMap<usize, Loop>,
    pub head_of: BTreeMap<usize, usize>,
    /// Where loops go on that several branches close, by their heads.
    pub latches: BTreeMap<usize, String>,
    /// The loops at whose ends lanes meet, by their heads.
    pub meetings: BTreeMap<usize, Meeting>,
    /// Where lanes meet that branched or came into a loop together.
    pub joins: Joins,
    /// Where warps step together.
    pub steps: Steps,
    /// Heads of loops, of those with code in front of them, that have been written.
    pub begun_loops: BTreeSet<usize>,
    /// See [`Cfg::dead_ends`]; if lanes meet in the function.
    pub dead_ends: BTreeSet<usize>,
    /// The instructions before which memory takes the frame for the rest of the function: see [`stack_frame::escapes`].
    pub escapes: BTreeSet<u32>,
    /// Where code marks where the thread is.
    pub marks: Marks,
    /// Whether it may hold references to exceptions.
    pub roots: bool,
    /// See [`Cfg::numeric_blocks`].
    pub numeric_blocks: BTreeSet<usize>,
    /// The block that is written, and which copy of it.
    pub block: usize,
    pub copy: usize,
    /// Whether the block that is written was left by a jump of its last instruction.
    pub left: bool,
    /// The instructions that are written in another way in this block, and what sums have kept.
    pub idioms: BTreeMap<u32, Idiom>,
    pub kept: BTreeMap<u32, (String, String)>,
    /// The registers of what was loaded early, by the load's word and the copy of the loop.
    pub early: BTreeMap<(u32, usize), String>,
    /// What the next atomic access of the block has to order.
    pub order: Order,
    trap_used: bool,
    /// Whether something goes to the function's one call by which a stopped thread ends.
    stop_used: bool,
    /// The labels of code that traps, by pc and kind: copies of a loop share it.
    traps: BTreeMap<(u32, u32), String>,
    /// Where in the text the thread's state is read.
    state_at: usize,
}

/// A name for a comment: the assembler takes ASCII only, and a line ends the comment.
pub fn ascii(name: &str) -> String {
    name.replace(|c: char| c != ' ' && !c.is_ascii_graphic(), "?")
}

/// Compiles the defined function `defined` and appends it to `out`, its constants to `words`. Returns the units of values
/// for which its thread's context must have room.
pub fn compile(
    unit: &Unit,
    analysis: &Analysis,
    layout: &ImageLayout,
    defined: usize,
    out: &mut String,
    words: &mut String,
) -> u32 {
    if analysis.facts[defined].in_regions {
        return regions::compile(unit, analysis, layout, defined, out, words);
    }
    let mut compiler = Compiler::new(unit, analysis, layout, defined, Role::Function);
    compiler.thread_state();
    if compiler.facts.counted {
        compiler.w.label("BEGIN");
        compiler.count(compiler.function.start);
        if compiler.counts_begin_only() {
            compiler.store_budget();
        }
    }
    compiler.body();
    let head = calls::head(unit, analysis, compiler.index);
    let mut prologue = String::new();
    prologue += calls::READ_CONTEXT;
    if !compiler.facts.pointed {
        prologue += "\tld.param.b32 %size, [size];\n";
    }
    if takes_row(unit, &compiler.facts) {
        prologue += calls::READ_ROW;
    }
    let mut unit_at = 0;
    for (i, ty) in compiler.ty.params.iter().enumerate() {
        match ty.units() {
            2 => _ = writeln!(prologue, "\tld.param.b64 %d{unit_at}, [a{i}];"),
            units => {
                for k in 0..units {
                    _ = writeln!(prologue, "\tld.param.b32 %r{}, [a{i}+{}];", unit_at + k, 4 * k);
                }
            }
        }
        unit_at += ty.units();
    }
    let name = unit.program.meta.func_name(compiler.index);
    _ = write!(out, "\n// {}\n{head}\n{{\n", ascii(&name));
    compiler.finish(&prologue, out);
    out.push_str("}\n");
    words.push_str(&compiler.words);
    compiler.exits.most()
}

impl<'a> Compiler<'a> {
    /// Prepares a function.
    pub fn new(
        unit: &'a Unit<'a>,
        analysis: &'a Analysis<'a>,
        layout: &'a ImageLayout,
        defined: usize,
        role: Role<'a>,
    ) -> Compiler<'a> {
        let function = &unit.program.meta.functions[defined];
        let ty = &unit.program.meta.types[function.ty as usize];
        let facts = analysis.facts[defined];
        let units = frame_units(unit.program, function);
        let full = Cfg::new(unit.program, function);
        let mut cfg = full.clone();
        let places = match role {
            Role::Region(regions, number) => {
                let places = &regions.places[regions.places_of(number)];
                let blocks = places.iter().map(|place| place.block).collect();
                cfg.keep(&regions.blocks[number], &unit.cold, blocks);
                Some(places)
            }
            Role::Function | Role::Kernel => {
                cfg.leave_out(&unit.cold);
                None
            }
        };
        let transfer = || TransferFn {
            analysis,
            function,
            eager: Default::default(),
        };
        // What comes in otherwise has come any way.
        let entries: Vec<Vec<Kind>> = match places {
            Some(places) => places.iter().map(|place| place.kinds(units)).collect(),
            None if cfg.entries.is_empty() => Vec::new(),
            None => {
                let known = transfer().run(&full, units, ty, &[]).at;
                let kinds = |block: &usize| known[*block].iter().map(|fact| fact.kind).collect();
                cfg.entries.iter().map(kinds).collect()
            }
        };
        let flow = transfer().run(&cfg, units, ty, &entries);
        let transfer = TransferFn {
            eager: flow.eager.clone(),
            ..transfer()
        };
        let roots = exnref_roots::are_held(&transfer, function, &full, ty);
        let mut this = Compiler {
            unit,
            analysis,
            layout,
            function,
            ty,
            facts,
            counts: !cfg.back_edges.is_empty() || facts.counted || places.is_some(),
            roots,
            cfg,
            transfer,
            flow,
            role,
            state: State::new(),
            w: Writer::default(),
            words: String::new(),
            index: analysis.imported + defined as u32,
            units,
            // Ranges may be longer than a frame.
            registers: units + schedule::BEHIND_FRAME,
            schedule: Schedule::default(),
            exits: Exits::default(),
            leaving: Leaving::default(),
            loops: BTreeMap::new(),
            head_of: BTreeMap::new(),
            latches: BTreeMap::new(),
            meetings: BTreeMap::new(),
            joins: Joins::default(),
            steps: Steps::default(),
            begun_loops: BTreeSet::new(),
            dead_ends: BTreeSet::new(),
            escapes: BTreeSet::new(),
            marks: Marks::default(),
            numeric_blocks: BTreeSet::new(),
            block: 0,
            copy: 0,
            left: false,
            idioms: BTreeMap::new(),
            kept: BTreeMap::new(),
            early: BTreeMap::new(),
            order: Order::default(),
            trap_used: false,
            stop_used: false,
            traps: BTreeMap::new(),
            state_at: 0,
        };
        this.plan_escapes(&full);
        this.plan_exits(&full, &entries);
        this.plan_loops();
        this.numeric_blocks = this.cfg.numeric_blocks();
        this.plan_meetings();
        this.plan_marks();
        this.plan_schedule();
        this
    }

    /// Writes all blocks.
    pub fn body(&mut self) {
        self.begin_frame();
        let in_regions = self.region().is_some();
        if !in_regions {
            self.mark_begin();
        }
        let order = self.emission_order();
        // Verified code does not run over its end.
        if self.cfg.blocks.is_empty() {
            return ptx!(self, "exit;");
        }
        if in_regions {
            self.enter_places();
        } else if order.first() != Some(&(0, 0)) || self.loops.contains_key(&0) {
            if self.cfg.blocks[0].cold {
                self.exits.note(0);
            }
            ptx!(self, "bra {};", self.way_in(0));
        }
        for (i, (block, copy)) in order.iter().enumerate() {
            (self.block, self.copy) = (*block, *copy);
            self.begin_loop(*block);
            self.guard(*block, *copy);
            let label = self.label(*block, *copy);
            self.w.label(&label);
            self.begin_pass(*block);
            self.join_lanes(*block);
            self.step_to(*block);
            self.count_block(*block);
            self.mark_block(*block);
            self.state = self.flow.at[*block].clone();
            self.left = false;
            self.order = Order::default();
            self.load_early(*block);
            let nodes = match self.schedule.blocks.get(block) {
                Some(nodes) => {
                    self.state.resize(self.registers as usize, Fact::default());
                    nodes.clone()
                }
                None => self.cfg.block_nodes(*block).to_vec(),
            };
            self.idioms = idioms::find(&nodes);
            for (i, node) in nodes.iter().enumerate() {
                self.comment(node);
                if let Some(directive) = self.analysis.lines.as_ref().and_then(|lines| lines.at(node.pc)) {
                    self.w.place(directive);
                }
                if i + 1 == nodes.len() {
                    self.note_branching(*block);
                }
                self.instruction_between_marks(node, *block);
                let mut state = std::mem::take(&mut self.state);
                self.transfer.apply(node, &mut state);
                self.state = state;
            }
            let goes_on = self.cfg.blocks[*block].successors.first() == Some(&(block + 1));
            let last = &nodes[nodes.len() - 1];
            if goes_on && !self.left && !calls::ends_path(last.inst.op) {
                let next = order.get(i + 1).map(|(block, copy)| self.label(*block, *copy));
                self.go(*block, *block + 1, next.as_deref());
            }
        }
        self.write_meetings();
        self.write_exits();
    }

    fn comment(&mut self, node: &Node) {
        if self.unit.options.comments && !schedule::is_copy(node) {
            let text = disassemble_instruction(self.unit.program, node.pc);
            _ = writeln!(self.w.out(), "\t// {}", ascii(&text));
        }
    }

    /// The register of the launch record's address.
    pub fn launch(&mut self) -> String {
        if matches!(self.role, Role::Kernel) {
            return "%launch".to_owned();
        }
        let launch = self.w.pair();
        ptx!(self, "ld.local.b64 {launch}, [%local+{}];", offset_of!(Context, launch));
        launch
    }

    /// Looks at the stop flag, and ends the lane if it is set: its thread stands at word `pc` of the program then.
    pub fn poll(&mut self, pc: u32) {
        self.flush_counts();
        let passes = match self.unit.options {
            Options { meets: true, .. } => MEETING_PASSES,
            _ => PASSES,
        };
        if self.analysis.makes_references {
            // The lane frees the exceptions that its thread has.
            let pc = self.position(pc);
            let arguments = [CONTEXT_ADDRESS, ("b32", &*pc), ("b32", "%depth")];
            self.call_runtime("gpu_run_poll", &arguments, None);
            return ptx!(self, "mov.b32 %budget, {passes};");
        }
        if self.spins() {
            // First, for that may take long.
            self.call_runtime("gpu_run_meet", &[CONTEXT_ADDRESS, ("b32", "0")], None);
        }
        let (launch, stop, p) = (self.launch(), self.w.word(), self.w.predicate());
        // Relaxed: nothing is read that another thread wrote before it set the flag.
        ptx!(
            self,
            "ld.relaxed.gpu.global.b32 {stop}, [{launch}+{}];",
            offset_of!(Launch, stop)
        );
        ptx!(self, "setp.ne.u32 {p}, {stop}, 0;");
        ptx!(self, "mov.b32 %budget, {passes};");
        // One call for the function, outside of its loops, so that no convergence barrier of theirs is around a call.
        let go_on = self.w.new_label("GO_ON");
        ptx!(self, "@!{p} bra {go_on};");
        ptx!(self, "mov.b32 %trap_pc, {};", pc - self.function.start);
        ptx!(self, "bra STOP;");
        self.w.label(&go_on);
        self.stop_used = true;
    }

    /// Whether a loop around the block that is written may wait, by atomic accesses, for another lane of the warp, which is at
    /// a meeting: then this lane must come to one. One that sleeps in each pass does.
    fn spins(&self) -> bool {
        if !self.unit.options.meets {
            return false;
        }
        let accesses = |node: &Node| match node.inst.op {
            Op::Call => {
                let callee = self.analysis.callee(node.pc, &node.inst);
                self.analysis.of(callee).is_some_and(|facts| facts.atomic)
            }
            Op::CallIndirect | Op::CallImport => true,
            op => is_atomic(op),
        };
        if self.region().is_some() {
            // The loop may lead through other regions, whose blocks are not seen here.
            return self.cfg.hot_nodes().any(accesses);
        }
        let spins = |blocks: &BTreeSet<usize>| {
            let nodes = || blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            nodes().any(accesses) && !nodes().any(|node| matches!(node.inst.op, Op::Sleep | Op::Meet))
        };
        let loops = self.cfg.reducible_loops();
        loops
            .iter()
            .any(|(_, blocks)| blocks.contains(&self.block) && spins(blocks))
    }

    /// The label of code that traps at `node`. Nothing comes back from there.
    pub fn trap_label(&mut self, node: &Node, kind: TrapKind) -> String {
        if let Some(label) = self.traps.get(&(node.pc, kind as u32)) {
            return label.clone();
        }
        let label = self.w.new_label("TRAP");
        let before = self.w.set_aside(true);
        self.w.label(&label);
        match kind {
            TrapKind::MemoryOutOfBounds if !self.traps_apart() => {
                self.trap_used = true;
                ptx!(self, "mov.b32 %trap_pc, {};", node.pc - self.function.start);
                ptx!(self, "bra TRAP_BOUNDS;");
            }
            kind => self.trap(node, &(kind as u32).to_string()),
        }
        self.w.set_aside(before);
        self.traps.insert((node.pc, kind as u32), label.clone());
        label
    }

    /// A trap whose kind is a number or a register.
    pub fn trap(&mut self, node: &Node, kind: &str) {
        ptx!(self, "mov.b32 %trap_pc, {};", node.pc - self.function.start);
        ptx!(self, "mov.b32 %trap_kind, {kind};");
        if self.traps_apart() {
            return self.end_by_trap();
        }
        self.trap_used = true;
        ptx!(self, "bra TRAP;");
    }

    /// Whether each trap has a call of its own, as in kernels. ptxas takes one place for all of them for a way out of every
    /// loop and branch around them. Then it has lanes leave each of these first, by a `BREAK` in front of every check: a
    /// tenth of all instructions of `words` in `bench/ordinary`. In functions, where lanes meet at none of these barriers
    /// (`cuda::barriers`), calls apart make code slower. Nor is it worth it where a frame is copied before.
    fn traps_apart(&self) -> bool {
        matches!(self.role, Role::Kernel) && self.facts.frame.bytes == 0
    }

    /// Ends the thread by the trap that `%trap_pc` and `%trap_kind` tell.
    fn end_by_trap(&mut self) {
        self.frame_to_memory();
        self.place_in_store("%trap_pc");
        let arguments = [
            CONTEXT_ADDRESS,
            ("b32", "%trap_pc"),
            ("b32", "%depth"),
            ("b32", "%trap_kind"),
        ];
        self.call_runtime("gpu_run_trap", &arguments, None);
        ptx!(self, "exit;");
    }

    /// Reads the first word of a defined function, as a word of the store.
    pub fn load_start(&mut self, to: &str, defined: usize) {
        let options = &self.unit.options;
        if options.samples || options.counts {
            // A constant. Such code costs less then, and need not be found again when another function has changed.
            let start = self.unit.code_start + self.unit.program.meta.functions[defined].start;
            return ptx!(self, "mov.b32 {to}, {start};");
        }
        let load = self.layout.load_start(&self.unit.prefix, to, defined as u32);
        ptx!(self, "{load}");
    }

    /// Makes of a word of the function one of the store.
    pub fn place_in_store(&mut self, word: &str) {
        let start = self.w.word();
        self.load_start(&start, (self.index - self.analysis.imported) as usize);
        ptx!(self, "add.u32 {word}, {word}, {start};");
    }

    /// A register with the word of the store that is word `pc` of the program, which lies in the function.
    pub fn position(&mut self, pc: u32) -> String {
        let at = self.w.word();
        self.load_start(&at, (self.index - self.analysis.imported) as usize);
        ptx!(self, "add.u32 {at}, {at}, {};", pc - self.function.start);
        at
    }

    /// The name of a constant that belongs to an instruction.
    pub fn name_at(&self, kind: &str, node: &Node) -> String {
        let at = node.pc - self.function.start;
        format!("{}{kind}_{}_{at}", self.unit.prefix, self.index)
    }

    /// See [`own::load_size`].
    pub fn load_size(&self) -> String {
        own::load_size(self.unit, self.layout, "%local")
    }

    /// Whether an opcode may make memory 0 larger than it is known to be.
    pub fn grows_memory(&self, op: Op) -> bool {
        grows(op) && !self.unit.options.fixed_memory
    }

    /// Reads memory 0's size again, because it may have grown.
    pub fn reload_size(&mut self) {
        let text = self.load_size();
        self.w.out().push_str(&text);
    }

    /// A 64-bit number of the image.
    pub fn image_pair(&mut self, offset: usize) -> String {
        let value = self.w.pair();
        let space = self.layout.space();
        ptx!(self, "ld.{space}.b64 {value}, [{}instance+{offset}];", self.unit.prefix);
        value
    }

    /// What the instance has for itself.
    pub fn own(&mut self, what: Own) -> String {
        let value = self.w.pair();
        let (space, at) = what.place(self.unit, self.layout, "%local");
        ptx!(self, "ld.{space}.b64 {value}, [{at}];");
        value
    }

    /// A 32-bit number of the image.
    pub fn image_word(&mut self, offset: usize) -> String {
        let value = self.w.word();
        let space = self.layout.space();
        ptx!(self, "ld.{space}.b32 {value}, [{}instance+{offset}];", self.unit.prefix);
        value
    }

    /// Fact about a unit before the instruction that is compiled.
    pub fn fact(&self, unit: i64) -> Fact {
        self.state.get(unit as usize).copied().unwrap_or_default()
    }

    /// The register of a unit, with canonical NaN bits where they can be seen. `units`: 1 or 2.
    pub fn canonical_operand(&mut self, unit: i64, units: u32) -> String {
        let (prefix, float, bits, nan) = match units {
            2 => ("%d", "f64", "b64", "0x7ff8000000000000"),
            _ => ("%r", "f32", "b32", "0x7fc00000"),
        };
        let register = format!("{prefix}{unit}");
        if self.fact(unit).nan != Nan::Raw {
            return register;
        }
        let p = self.w.predicate();
        let value = if units == 2 { self.w.pair() } else { self.w.word() };
        ptx!(self, "setp.nan.{float} {p}, {register}, {register};");
        ptx!(self, "selp.{bits} {value}, {nan}, {register}, {p};");
        value
    }

    /// Marks where the function reads what it needs of its thread and instance: which it is, is known at
    /// its end.
    pub fn thread_state(&mut self) {
        self.state_at = self.w.hot.len();
    }

    /// What the function reads there.
    fn state_reads(&self) -> String {
        let mut out = String::new();
        let used = |register: &str| self.w.hot.contains(register) || self.w.cold.contains(register);
        if used("%size") && (self.facts.pointed || !matches!(self.role, Role::Function)) {
            out += &self.load_size();
        }
        if used("%base") {
            let (space, at) = Own::Base.place(self.unit, self.layout, "%local");
            _ = writeln!(out, "\tld.{space}.b64 %base, [{at}];");
        }
        if used("%high") {
            let (space, at) = Own::BaseHigh.place(self.unit, self.layout, "%local");
            _ = writeln!(out, "\tld.{space}.b32 %high, [{at}];");
        }
        out += &self.begin_row(used("%row"), used("%next_row"));
        if used("[%counters+") {
            out += &find_counters();
        }
        if used("%globals") {
            _ = writeln!(
                out,
                "\tld.local.b64 %globals, [%local+{}];",
                offset_of!(Context, globals)
            );
        }
        if self.counts {
            _ = writeln!(out, "\tld.local.b32 %budget, [%local+{}];", offset_of!(Context, polls));
        }
        out += &self.begin_roots();
        if used("%deeper") {
            out += "\tadd.u32 %deeper, %depth, 1;\n";
        }
        out
    }

    /// Puts declarations, `prologue` and all that was written together.
    pub fn finish(&mut self, prologue: &str, out: &mut String) {
        out.push_str(calls::CONTEXT_REGISTERS);
        out.push_str("\t.reg .b64 %base, %size_at, %globals;\n");
        if self.unit.options.samples {
            out.push_str("\t.reg .b64 %row, %next_row;\n");
        }
        if self.unit.options.counts {
            out.push_str("\t.reg .b32 %counters, %counters_row;\n");
        }
        self.finish_exits(out);
        self.finish_region();
        out.push_str("\t.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;\n");
        _ = writeln!(out, "\t.reg .b32 %r<{0}>;\n\t.reg .b64 %d<{0}>;", self.registers);
        if self.stop_used {
            let before = self.w.set_aside(true);
            self.w.label("STOP");
            // No trap: the process was stopped.
            ptx!(self, "mov.b32 %trap_kind, 0;");
            self.end_by_trap();
            self.w.set_aside(before);
        }
        if self.trap_used {
            let before = self.w.set_aside(true);
            let bounds = TrapKind::MemoryOutOfBounds as u32;
            if self.traps.keys().any(|(_, kind)| *kind == bounds) {
                // What most traps are: none of them says it itself.
                self.w.label("TRAP_BOUNDS");
                ptx!(self, "mov.b32 %trap_kind, {bounds};");
            }
            self.w.label("TRAP");
            self.end_by_trap();
            self.w.set_aside(before);
        }
        out.push_str(&self.w.declarations());
        self.declare_roots(out);
        self.declare_outer_call(out);
        self.declare_frame(out);
        out.push_str(prologue);
        let reads = self.state_reads();
        out.push_str(&self.w.hot[..self.state_at]);
        out.push_str(&reads);
        out.push_str(&self.w.hot[self.state_at..]);
        out.push_str(&self.w.cold);
    }
}
