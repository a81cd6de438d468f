//! What the compiler must know of the whole program before it compiles a function.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpu_run_bytecode::code::{Inst, instructions};
use gpu_run_bytecode::{ConstOp, Export, ExternKind, Function, Op, Operand, Program};

use crate::ptx::analysis::cfg::{Cfg, is_call};
use crate::ptx::analysis::counters::{self, Counters};
use crate::ptx::analysis::cycles;
use crate::ptx::analysis::fixed_tables;
use crate::ptx::analysis::flow::TransferFn;
use crate::ptx::analysis::stack_frame::{self, StackFrame};
use crate::ptx::lines::Lines;
use crate::ptx::{LocalFrames, Options, Reachable};

/// Facts about a defined function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// A function that is compiled calls it directly.
    pub called: bool,
    /// It may throw, itself or through what it calls.
    pub throws: bool,
    /// Something has its name: an entry or something else that is compiled may call it.
    pub needed: bool,
    /// It is not compiled. What compiled code calls in its place runs the interpreter.
    pub interpreted: bool,
    /// It may be called through a pointer: from a table or another instance.
    pub pointed: bool,
    /// It returns a status, because it may throw or make a tail call.
    pub status: bool,
    /// It or a callee may make memory 0 larger.
    pub grows: bool,
    /// It can be called again while it runs.
    pub recursive: bool,
    /// It calls itself by name.
    pub calls_itself: bool,
    /// Calls of it by name close a cycle of calls: see [`Analysis::find_heads`].
    pub head: bool,
    /// Which cycle of calls it belongs to, if it is recursive.
    pub(super) cycle: u32,
    /// Its calls count as passes through loops do: it closes a recursion, or stands for very many calls.
    pub counted: bool,
    /// It may run with more frames on the stack than a context has places for return addresses.
    pub deep: bool,
    /// Something makes a tail call to it.
    pub tail_called: bool,
    /// It or a callee looks at the stop flag now and then, because it loops or recurses.
    pub polls: bool,
    /// It or a function that it calls by name accesses memory atomically. Only asked where lanes meet.
    pub atomic: bool,
    /// Words of its bytecode that are compiled.
    pub words: u32,
    /// It is compiled as several: see [`regions`](super::regions).
    pub in_regions: bool,
    /// Bytes of native stack that it may take, with its callees up to the next call that looks how much is
    /// left. An estimate: ptxas decides.
    pub stack: u32,
    /// What of its frame of the shadow stack it keeps in local memory.
    pub frame: StackFrame,
}

/// See the module's documentation.
pub struct Analysis<'a> {
    /// The program.
    pub program: &'a Program,
    /// Number of imported functions.
    pub imported: u32,
    /// Type index of every function, imports first.
    pub func_types: Vec<u32>,
    /// By index among the defined functions.
    pub facts: Vec<Facts>,
    /// Whether functions that are called through pointers return a status.
    pub statuses: bool,
    /// Whether a thread may have references to exceptions: this program makes some, or another instance may.
    pub makes_references: bool,
    /// The lines of the user's sources, if the code is to have them.
    pub lines: Option<Lines>,
    /// The counters of blocks, if the code is to count.
    pub counters: Option<Counters>,
    /// Whether all calls by pointers [mark what they call](crate::ptx::emit::samples::are_callees_marked).
    pub callees_marked: bool,
    /// Calls that a function may lead to without counting them as passes.
    pub(super) most_uncounted: u64,
    /// Whether the stack pointer is a multiple of 16 wherever a function reads it.
    pub aligned_stack: bool,
    /// The function that threads begin with which the program spawns, if something that is compiled does.
    pub thread_start: Option<u32>,
    /// What is compiled.
    pub reachable: Reachable,
    /// Bytes that memory 0 has at least, if its addresses are i32.
    pub least_memory: Option<u64>,
    /// Whether each memory has i64 addresses.
    pub wide: Vec<bool>,
    /// By table, imported ones first, what it holds if nothing changes that.
    pub fixed_tables: Vec<Option<fixed_tables::Elements>>,
    /// By type: bytes of native stack that a function which is called through a pointer may take, as
    /// [`Facts::stack`].
    pointed_stacks: Vec<u32>,
    /// The same of functions of other instances.
    foreign_stack: u32,
    /// For each type the first one that is equal.
    pub canonical: Vec<usize>,
    /// Whether other instances may call what this one exports.
    pub(super) exports: bool,
    /// See [`Options::region_words`].
    pub(super) region_words: u32,
    starts: HashMap<u32, u32>,
    pub(super) calls: Vec<Calls>,
    /// By type, the cycle to which calls through a table belong; and at the end that of calls of imports.
    pub(super) cycles: Vec<u32>,
}

/// What is known of tables while the functions are found that are needed.
#[derive(Default)]
struct Tables {
    /// Types, as [`Analysis::canonical`] has them, of functions that something needed calls through tables.
    called: BTreeSet<usize>,
    /// By type, functions to which there are references, as long as nothing needed calls them.
    uncalled: BTreeMap<usize, Vec<u32>>,
}

/// What a function calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) direct: Vec<u32>,
    pub(super) tail: Vec<u32>,
    /// Calls through a table or to an import.
    pointers: bool,
    /// Types of the functions that it calls through tables.
    pub(super) indirect: Vec<u32>,
    /// Those of them that it calls by tail calls.
    tail_types: Vec<u32>,
    /// Calls of imports.
    pub(super) imports: bool,
    /// Puts references into tables.
    sets: bool,
    /// Spawns threads.
    spawns: bool,
    throws: bool,
    pub(super) tails: bool,
    grows: bool,
    loops: bool,
    /// Functions to which it makes references.
    references: Vec<u32>,
}

/// The instructions of a function with their word indices.
pub fn code<'a>(program: &'a Program, function: &Function) -> impl Iterator<Item = (u32, Inst)> + 'a {
    let start = function.start;
    let code = &program.code[start as usize..function.end as usize];
    instructions(code).filter_map(move |(at, inst)| Some((start + at as u32, inst.ok()?)))
}

/// Units of a function's frame.
pub fn frame_units(program: &Program, function: &Function) -> u32 {
    let head = code(program, function).next();
    head.map_or(0, |(_, head)| head.args[0] as u32)
}

/// Bytes of native stack that a frame of so many units may take: all of them, some twice, and what the
/// compiled code needs besides.
fn frame_bytes(units: u32) -> u32 {
    units.saturating_mul(8).saturating_add(320)
}

/// Whether an opcode may make a memory larger.
pub fn grows(op: Op) -> bool {
    matches!(
        op,
        Op::MemoryGrow | Op::MemoryGrow64 | Op::Alloc | Op::AllocZero | Op::Realloc | Op::AllocBatch
    )
}

impl<'a> Analysis<'a> {
    /// Analyses a verified program; `entries` are functions that the host may start.
    pub fn new(program: &'a Program, entries: &[u32], options: &Options) -> Analysis<'a> {
        let mut this = Analysis::of_calls(program, entries, options);
        this.find_statuses();
        if !options.fixed_memory {
            this.spread(|facts| &mut facts.grows, |calls| calls.grows, |_| true);
        }
        this.find_cycles();
        this.find_frames(options);
        this.find_stacks();
        for i in 0..this.facts.len() {
            this.calls[i].loops |= this.facts[i].counted;
        }
        this.spread(|facts| &mut facts.polls, |calls| calls.loops, |_| true);
        if options.meets {
            this.find_atomics();
        }
        this
    }

    /// What functions call, and which are compiled: little of the work of [`new`](Analysis::new).
    pub fn of_calls(program: &'a Program, entries: &[u32], options: &Options) -> Analysis<'a> {
        let meta = &program.meta;
        let imported = meta.imported_funcs();
        let starts = (meta.functions.iter().zip(imported..)).map(|(function, index)| (function.start, index));
        let memories = meta.memory_types();
        let mut this = Analysis {
            program,
            imported,
            func_types: meta.func_types(),
            facts: vec![Facts::default(); meta.functions.len()],
            statuses: options.statuses,
            lines: None,
            counters: None,
            callees_marked: false,
            most_uncounted: match options.counts {
                true => counters::MOST_CALLS,
                false => cycles::MOST_UNCOUNTED,
            },
            makes_references: options.exports
                || (meta.functions.iter().flat_map(|function| &function.tries))
                    .any(|range| range.clauses.iter().any(|clause| clause.reference)),
            aligned_stack: false,
            thread_start: None,
            reachable: Reachable::default(),
            least_memory: memories
                .first()
                .filter(|memory| !memory.wide)
                .map(|memory| memory.limits.min.saturating_mul(65536)),
            wide: memories.iter().map(|memory| memory.wide).collect(),
            fixed_tables: fixed_tables::of(program),
            pointed_stacks: vec![0; meta.types.len()],
            foreign_stack: options.stack,
            canonical: (meta.types.iter())
                .map(|ty| meta.types.iter().position(|other| other == ty).unwrap_or(0))
                .collect(),
            exports: options.exports,
            region_words: options.region_words,
            starts: starts.collect(),
            calls: Vec::new(),
            cycles: Vec::new(),
        };
        for (facts, function) in this.facts.iter_mut().zip(&meta.functions) {
            facts.words = function.end - function.start;
        }
        let functions = meta.functions.iter();
        this.calls = functions
            .map(|function| this.calls_of(code(program, function)))
            .collect();
        this.find_needed(entries, &[], &[]);
        this.count_words();
        this
    }

    fn count_words(&mut self) {
        let compiled = self.facts.iter().filter(|facts| facts.needed && !facts.interpreted);
        self.reachable = Reachable::of(compiled.map(|facts| facts.words), self.region_words);
    }

    /// Leaves blocks to the interpreter, by their first words. All that is known of the program
    /// stays true. What interpreted functions may call stays compiled.
    pub fn leave_out(&mut self, cold: &BTreeSet<u32>, entries: &[u32]) {
        if cold.is_empty() {
            return;
        }
        // What an interpreted function makes a reference to, compiled code may call.
        let made = |(facts, calls): (&Facts, &Calls)| facts.needed.then(|| calls.references.clone());
        let references: Vec<u32> = self.facts.iter().zip(&self.calls).filter_map(made).flatten().collect();
        // Interpreted functions call compiled ones, if it is worth it.
        let mut worth = Vec::new();
        for (defined, function) in self.program.meta.functions.iter().enumerate() {
            let facts = &mut self.facts[defined];
            let needed = facts.needed;
            (facts.needed, facts.called, facts.pointed, facts.tail_called) = (false, false, false, false);
            if cold.range(function.start..function.end).next().is_none() {
                worth.extend(needed.then_some(defined));
                continue;
            }
            let mut cfg = Cfg::new(self.program, function);
            cfg.leave_out(cold);
            let facts = &mut self.facts[defined];
            // An entry has code in any case, and be it that its first block is left out; and what has loops that do.
            let begins_cold = cfg.blocks.first().is_some_and(|block| block.cold) && cfg.entries.is_empty();
            facts.interpreted = begins_cold && !entries.contains(&(self.imported + defined as u32));
            facts.words = cfg.hot_nodes().map(|node| node.next - node.pc).sum();
            worth.extend((needed && !facts.interpreted && facts.words > 0).then_some(defined));
            let hot = self.calls_of(cfg.hot_nodes().map(|node| (node.pc, node.inst)));
            // References come into tables by what is interpreted, too.
            let sets = self.calls[defined].sets;
            self.calls[defined] = Calls { sets, ..hot };
        }
        // The interpreter does not call what makes tail calls.
        worth.retain(|defined| !self.makes_tail_calls(*defined));
        let worth: Vec<u32> = worth
            .into_iter()
            .map(|defined| self.imported + defined as u32)
            .collect();
        self.find_needed(entries, &references, &worth);
        self.count_words();
    }

    /// Whether the code of a function that is compiled makes tail calls.
    pub fn makes_tail_calls(&self, defined: usize) -> bool {
        self.calls[defined].tails
    }

    /// Whether something needed calls through pointers.
    pub fn calls_pointers(&self) -> bool {
        let needed = self.facts.iter().zip(&self.calls).filter(|(facts, _)| facts.needed);
        needed.into_iter().any(|(_, calls)| calls.pointers)
    }

    /// Whether every function that sets the stack pointer sets it to a multiple of 16, if it finds it one:
    /// then it always is.
    pub fn check_stack_alignment(&mut self) -> bool {
        let meta = &self.program.meta;
        let Some(global) = meta.stack_pointer else { return false };
        let imported = meta.global_types().len() - meta.globals.len();
        let init = (global as usize)
            .checked_sub(imported)
            .and_then(|i| meta.globals.get(i));
        let exported = meta
            .exports
            .iter()
            .any(|export| export.kind == ExternKind::Global && export.index == global);
        // A thread's block of thread-local storage has an alignment of its own.
        let written_by_host = meta.thread_locals.is_some_and(|locals| locals.base == global);
        if exported
            || written_by_host
            || !matches!(init.map(|init| &init.init[..]), Some([ConstOp::I32(value)]) if value % 16 == 0)
        {
            return false;
        }
        self.aligned_stack = true;
        let sets = |function: &&Function| {
            code(self.program, function).any(|(_, inst)| {
                matches!(inst.op, Op::StackPointerSet | Op::GlobalSet32) && inst.args[1] == i64::from(global)
            })
        };
        let functions = meta.functions.iter().zip(&self.facts).filter(|(_, facts)| facts.needed);
        functions.map(|(function, _)| function).filter(sets).all(|function| {
            let ty = &meta.types[function.ty as usize];
            let units = frame_units(self.program, function);
            let transfer = TransferFn {
                analysis: self,
                function,
                eager: BTreeSet::new(),
            };
            transfer
                .run(&Cfg::new(self.program, function), units, ty, &[])
                .stack_aligned
        })
    }

    /// The function whose head is at word `pc`, by index with imports first.
    pub fn function_at(&self, pc: u32) -> u32 {
        self.starts.get(&pc).copied().unwrap_or(u32::MAX)
    }

    /// The function that a call by name calls, by index with imports first.
    pub fn callee(&self, pc: u32, inst: &Inst) -> u32 {
        self.function_at((i64::from(pc) + inst.args[1]) as u32)
    }

    /// Facts of a function by index with imports first; `None` for an import.
    pub fn of(&self, index: u32) -> Option<&Facts> {
        self.facts.get(index.checked_sub(self.imported)? as usize)
    }

    /// Whether an instruction of a function calls something that may call the function again.
    pub fn leads_back(&self, caller: &Facts, pc: u32, inst: &Inst) -> bool {
        if !caller.recursive {
            return false;
        }
        let cycle = match inst.op {
            Op::Call | Op::ReturnCall => {
                let callee = self.of(self.callee(pc, inst));
                callee.map(|callee| callee.cycle)
            }
            Op::CallIndirect | Op::ReturnCallIndirect => {
                let ty = self.canonical.get(inst.args[3] as usize);
                ty.and_then(|ty| self.cycles.get(*ty)).copied()
            }
            op if is_call(op) => self.cycles.last().copied(),
            _ => return false,
        };
        cycle.is_none_or(|cycle| cycle == caller.cycle)
    }

    /// Whether a function, or a callee of so many levels, calls through a table.
    pub fn calls_through_table(&self, index: u32, levels: u32) -> bool {
        let calls = index
            .checked_sub(self.imported)
            .and_then(|defined| self.calls.get(defined as usize));
        calls.is_some_and(|calls| {
            let mut callees = calls.direct.iter();
            !calls.indirect.is_empty()
                || levels > 0 && callees.any(|callee| self.calls_through_table(*callee, levels - 1))
        })
    }

    /// Whether a call through a pointer may lead back to the caller.
    pub fn pointer_cycles(&self) -> bool {
        self.facts.iter().any(|facts| facts.pointed && facts.recursive)
    }

    fn calls_of(&self, code: impl Iterator<Item = (u32, Inst)>) -> Calls {
        let mut calls = Calls::default();
        for (pc, inst) in code {
            let operands = inst.op.info().operands.iter().zip(inst.args);
            calls.loops |= operands
                .filter(|(operand, _)| matches!(operand, Operand::Rel16 | Operand::Rel32))
                .any(|(_, distance)| distance <= 0)
                // Its distances are not looked at.
                || inst.op == Op::BrTable;
            let callee = || self.callee(pc, &inst);
            match inst.op {
                Op::Call => calls.direct.push(callee()),
                Op::ReturnCall => {
                    calls.tails = true;
                    calls.tail.push(callee());
                }
                Op::CallIndirect | Op::ReturnCallIndirect => {
                    calls.tails |= inst.op == Op::ReturnCallIndirect;
                    calls.pointers = true;
                    calls.indirect.push(inst.args[3] as u32);
                    if inst.op == Op::ReturnCallIndirect {
                        calls.tail_types.push(inst.args[3] as u32);
                    }
                }
                Op::CallImport | Op::ReturnCallImport => {
                    calls.tails |= inst.op == Op::ReturnCallImport;
                    calls.pointers = true;
                    calls.imports = true;
                }
                Op::Throw | Op::ThrowRef => calls.throws = true,
                Op::RefFunc => calls.references.push(inst.args[1] as u32),
                Op::TableSet | Op::TableGrow | Op::TableFill => calls.sets = true,
                Op::ThreadSpawn => calls.spawns = true,
                op => calls.grows |= grows(op),
            }
        }
        calls
    }

    /// Finds what is needed where there are references to functions that nothing which is compiled makes.
    fn find_needed(&mut self, entries: &[u32], references: &[u32], worth: &[u32]) {
        let meta = &self.program.meta;
        let mut work = Vec::new();
        let mut tables = Tables::default();
        // The host may hand a function that is exported to one that puts it into a table, or put it there itself.
        let is_table = |export: &Export| export.kind == ExternKind::Table;
        let handed = self.exports || self.calls.iter().any(|calls| calls.sets) || meta.exports.iter().any(is_table);
        let exported = meta.exports.iter();
        let exported = exported.filter(|export| handed && export.kind == ExternKind::Func);
        let references = references.iter().copied();
        for index in exported
            .map(|export| export.index)
            .chain(meta.referenced_functions())
            .chain(references)
        {
            self.point(index, &mut tables, &mut work);
        }
        // The threads that an interpreted function spawns begin compiled.
        for index in entries.iter().chain(worth).copied().chain(self.thread_start) {
            self.need(index, false, &mut work);
        }
        while let Some(index) = work.pop() {
            if self.facts[index as usize].interpreted {
                continue;
            }
            let calls = self.calls[index as usize].clone();
            for callee in calls.direct.iter().chain(&calls.tail) {
                self.need(*callee, false, &mut work);
                if let Some(facts) = self.facts.get_mut((callee - self.imported) as usize) {
                    facts.called = true;
                    facts.tail_called |= calls.tail.contains(callee);
                }
            }
            if calls.spawns && self.thread_start.is_none() {
                self.thread_start = self.program.thread_start();
                if let Some(start) = self.thread_start {
                    self.need(start, false, &mut work);
                }
            }
            for function in &calls.references {
                self.point(*function, &mut tables, &mut work);
            }
            for ty in &calls.indirect {
                let ty = self.canonical[*ty as usize];
                if tables.called.insert(ty) {
                    for index in tables.uncalled.remove(&ty).unwrap_or_default() {
                        self.need(index, true, &mut work);
                    }
                }
            }
        }
        // By the kernels.
        if let Some(facts) = self
            .thread_start
            .and_then(|start| self.facts.get_mut((start - self.imported) as usize))
        {
            facts.called = true;
        }
    }

    /// Notes that there may be a reference to a function in a table. The function is needed if something needed calls
    /// functions of its type through tables, for such a call traps if the type is another one; or if another instance may
    /// call it.
    fn point(&mut self, index: u32, tables: &mut Tables, work: &mut Vec<u32>) {
        if self.of(index).is_none() {
            return;
        }
        let ty = self.type_number(index);
        if self.exports || tables.called.contains(&ty) {
            self.need(index, true, work);
        } else {
            tables.uncalled.entry(ty).or_default().push(index);
        }
    }

    fn need(&mut self, index: u32, pointed: bool, work: &mut Vec<u32>) {
        let Some(defined) = index.checked_sub(self.imported) else {
            return;
        };
        let Some(facts) = self.facts.get_mut(defined as usize) else {
            return;
        };
        facts.pointed |= pointed;
        if !std::mem::replace(&mut facts.needed, true) {
            work.push(defined);
        }
    }

    /// Sets a fact of every function for which `own` says so or that calls such a one.
    pub(super) fn spread(
        &mut self,
        fact: impl Fn(&mut Facts) -> &mut bool,
        own: impl Fn(&Calls) -> bool,
        through_pointers: impl Fn(&Analysis) -> bool,
    ) {
        loop {
            let mut changed = false;
            let any_pointed = through_pointers(self);
            for i in 0..self.facts.len() {
                let calls = &self.calls[i];
                let callees = calls.direct.iter().chain(&calls.tail);
                let callee = |index: &u32| {
                    let defined = index.checked_sub(self.imported)? as usize;
                    let mut facts = *self.facts.get(defined)?;
                    Some(*fact(&mut facts))
                };
                let now = own(calls) || (calls.pointers && any_pointed) || callees.filter_map(callee).any(|set| set);
                let fact = fact(&mut self.facts[i]);
                changed |= now && !*fact;
                *fact |= now;
            }
            if !changed {
                return;
            }
        }
    }

    fn find_statuses(&mut self) {
        let elsewhere = self.statuses;
        self.spread(
            |facts| &mut facts.throws,
            |calls| calls.throws,
            |this| elsewhere || this.facts.iter().any(|facts| facts.pointed && facts.throws),
        );
        for (facts, calls) in self.facts.iter_mut().zip(&self.calls) {
            facts.status = facts.throws || calls.tails;
        }
        self.statuses |= self.facts.iter().any(|facts| facts.pointed && facts.status);
        // A tail call through a pointer is made by the caller, which asks the callee for a status too. Also
        // in functions that are not needed: other programs of the store decide as this one does.
        self.statuses |= self.calls.iter().any(|calls| calls.tails && calls.pointers);
        for facts in self.facts.iter_mut().filter(|facts| facts.pointed) {
            facts.status = self.statuses;
        }
    }

    /// Whether a call looks how much stack is left, because what it calls may lead back to it. `callee`:
    /// none if the call goes through a pointer.
    pub fn checks_stack(&self, caller: &Facts, callee: Option<&Facts>) -> bool {
        match callee {
            Some(callee) => self.closes_cycle(caller, callee),
            None => self.exports || (caller.recursive && self.pointer_cycles()),
        }
    }

    /// Whether a call by name closes a cycle of calls. Each cycle has such a call, or one through a pointer.
    pub fn closes_cycle(&self, caller: &Facts, callee: &Facts) -> bool {
        callee.head && caller.recursive && caller.cycle == callee.cycle
    }

    /// The type of a defined function, as [`Self::canonical`] has it.
    pub(super) fn type_of(&self, defined: usize) -> usize {
        self.type_number(self.imported + defined as u32)
    }

    /// The number of a function's type, which is that of all equal types, by index with imports first.
    pub fn type_number(&self, index: u32) -> usize {
        self.canonical[self.func_types[index as usize] as usize]
    }

    /// Bytes of native stack that a call of a type through a table may take.
    pub fn stack_through_table(&self, ty: u32) -> u32 {
        self.pointed_stacks[self.canonical[ty as usize]].max(self.foreign_stack)
    }

    /// Bytes of native stack that a call of an import may take.
    pub fn stack_of_imports(&self) -> u32 {
        self.foreign_stack
    }

    /// The most that a call from another instance may take.
    pub fn most_pointed_stack(&self) -> u32 {
        self.pointed_stacks.iter().copied().max().unwrap_or(0)
    }

    fn find_stacks(&mut self) {
        let functions = self.program.meta.functions.iter().zip(&self.facts);
        let own = |(function, facts): (&Function, &Facts)| {
            let beside = facts.frame.bytes.saturating_add(self.stack_beside(function));
            frame_bytes(frame_units(self.program, function)).saturating_add(beside)
        };
        let own: Vec<u32> = functions.map(own).collect();
        // Calls that are not looked at make no cycles: through tables they are told apart by type, as in
        // `find_cycles`. So this comes to an end.
        for _ in 0..=own.len() {
            let mut changed = false;
            for (i, own) in own.iter().enumerate() {
                let caller = self.facts[i];
                let calls = &self.calls[i];
                let callees = calls.direct.iter().filter_map(|callee| self.of(*callee));
                let callees = callees.filter(|callee| !self.checks_stack(&caller, Some(callee)));
                let through_tables = calls.indirect.iter().map(|ty| self.stack_through_table(*ty));
                let imported = calls.imports.then_some(self.foreign_stack);
                let unchecked = !self.checks_stack(&caller, None);
                let pointed = through_tables.chain(imported).filter(|_| unchecked);
                let deepest = callees.map(|callee| callee.stack).chain(pointed).max().unwrap_or(0);
                // A tail call takes this frame's place, with its callee's.
                let tails = calls.tail.iter().filter_map(|callee| Some(self.of(*callee)?.stack));
                let tails = tails.chain(calls.tail_types.iter().map(|ty| self.stack_through_table(*ty)));
                let stack = tails.fold(own.saturating_add(deepest), u32::max);
                changed |= stack != caller.stack;
                self.facts[i].stack = stack;
                if caller.pointed {
                    let ty = self.type_of(i);
                    self.pointed_stacks[ty] = self.pointed_stacks[ty].max(stack);
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// Finds which functions keep their frame of the shadow stack in local memory.
    fn find_frames(&mut self, options: &Options) {
        let always = match options.local_frames {
            LocalFrames::Never => return,
            LocalFrames::Auto => false,
            LocalFrames::Always => true,
        };
        // The code that copies the frame compares with a size of 32 bits.
        if self.makes_references || !matches!(self.least_memory, Some(1..)) {
            return;
        }
        let Some(pointer) = self.program.meta.stack_pointer else {
            return;
        };
        let uses =
            |inst: Inst| matches!(inst.op, Op::GlobalGet32 | Op::StackPointerSet) && inst.args[1] == i64::from(pointer);
        let mut frames = vec![StackFrame::default(); self.facts.len()];
        let mut handed_out = false;
        for (i, function) in self.program.meta.functions.iter().enumerate() {
            let facts = &self.facts[i];
            if !facts.needed || !code(self.program, function).any(|(_, inst)| uses(inst)) {
                continue;
            }
            let transfer = TransferFn {
                analysis: self,
                function,
                eager: BTreeSet::new(),
            };
            let units = frame_units(self.program, function);
            let found = stack_frame::find(&Cfg::new(self.program, function), pointer, units, &transfer, always);
            handed_out |= found.hands_out;
            if !facts.counted && !facts.recursive && !facts.status && function.tries.is_empty() {
                frames[i] = found.frame;
            }
        }
        if !handed_out {
            let facts = self.facts.iter_mut().zip(frames);
            facts.for_each(|(facts, frame)| facts.frame = frame);
        }
    }
}
