//! Which functions keep their frame of the shadow stack in local memory while they run.
//!
//! Compilers keep local arrays in linear memory, on a stack that a global points to. The stacks of 32 lanes lie apart, so
//! that each access of a warp is 32 of the device. CUDA's local memory has the same bytes of all lanes side by side.
//!
//! A function's frame is the bytes between the lowest value that it gives the stack pointer and the one it found. Where
//! functions were inlined it has theirs in it, one below the other. What of it can lie in local memory is the part from its
//! lowest byte up to the first frame of which somebody else may know an address:
//!
//! - every value that the function gives the stack pointer is the one it found less a constant;
//! - a value that was computed from a frame's lowest address *escapes* if it is stored, passed to a call, returned, or an
//!   operand of an instruction that is not known here to do no more than compute, compare or access memory.
//!
//! That is a forward data-flow analysis over all units, in which whatever is computed from such a value is one too. What a
//! call returns is none: in a program in which a function hands out the stack pointer that it found, or leaves another
//! one behind, no frame is kept. The analysis takes for granted that nobody computes an address in one frame from an address in another. That matters to other
//! threads only: the code that is made of it, in [`frame_copy`](crate::ptx::emit::frame_copy), looks at every address
//! that the function accesses, whatever it was computed from, and memory holds the frame when others run.

use std::collections::BTreeSet;

use gpu_run_bytecode::{Class, Op, Operand, Program};

use crate::ptx::analysis::cfg::{Cfg, Node, ends_path};

/// Bytes of a frame at most: each lane has so many of native stack, and copies them twice.
const MOST: u32 = 1024;
/// Bytes of which a frame is a multiple, and which it begins at one of.
pub const GRANULE: u32 = 16;
/// Bytes that one instruction copies.
pub const PIECE: u32 = 8;
/// How many more times code in a loop is taken to run than the code around it.
const PASSES: u64 = 16;

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Value {
    /// No address of the frame went into it.
    #[default]
    Other,
    /// The stack pointer that the function found plus `delta`, computed from that plus `base`: a frame's lowest address.
    Stack { delta: i32, base: i32 },
    /// It may depend on addresses of frames of which the lowest begins there.
    Derived { base: i32 },
}

impl Value {
    fn base(self) -> Option<i32> {
        match self {
            Value::Other => None,
            Value::Stack { base, .. } | Value::Derived { base } => Some(base),
        }
    }

    /// What may depend on both.
    fn mixed(self, other: Value) -> Value {
        let bases = self.base().into_iter().chain(other.base());
        bases.min().map_or(Value::Other, |base| Value::Derived { base })
    }

    fn join(self, other: Value) -> Value {
        match self == other {
            true => self,
            false => self.mixed(other),
        }
    }
}

/// The values of all units, and the stack pointer last.
type State = Vec<Value>;

/// What an instruction does with memory 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing, or less: it may trap.
    None,
    /// A scalar load or store, at the address in a unit.
    Access(u32),
    /// Something else: memory has to hold the frame meanwhile.
    Other,
}

/// What an instruction does with memory 0.
pub fn effect(node: &Node) -> Effect {
    use Op::*;
    let (op, args) = (node.inst.op, node.inst.args);
    match op.info().class {
        Class::Pure | Class::Traps | Class::Branch => Effect::None,
        Class::Load(_) => Effect::Access(args[1] as u32),
        Class::Store(_) => Effect::Access(args[0] as u32),
        _ => match op {
            Jump | BrIf | BrUnless | BrTable | BrI32AddNe | BrI32AddLtS | BrI32AddLtU | BrI32AddNeImm | Trap
            | CopyRange | Zero | Const32 | Const64S | Const64 | V128Const | I8x16Shuffle | GlobalGet32
            | GlobalGet64 | GlobalGet128 | GlobalSet32 | GlobalSet64 | GlobalSet128 | StackPointerSet | MemorySize
            | MemorySize64 | Gid | ThreadCount | Time => Effect::None,
            _ => Effect::Other,
        },
    }
}

/// The analysis of a function.
struct Finder<'a> {
    cfg: &'a Cfg,
    /// Units of a callee's parameters.
    parameter_units: &'a dyn Fn(&Node) -> u32,
    stack_pointer: i64,
    /// Lowest value of the stack pointer, less the one that the function found.
    lowest: i32,
    /// Where the lowest frame begins of which an address escapes; 0 is above all.
    escaped: i32,
    /// The stack pointer that the function found escapes, or is another one when it returns.
    hands_out: bool,
    refused: bool,
}

impl Finder<'_> {
    /// Applies an instruction; `look` says that this is the last time, and what is found counts.
    fn apply(&mut self, node: &Node, state: &mut State, look: bool) {
        use Op::*;
        let (op, args) = (node.inst.op, node.inst.args);
        let pointer = state.len() - 1;
        let global = |i: usize| args[i] == self.stack_pointer;
        match op {
            GlobalGet32 if global(1) => return state[args[0] as usize] = state[pointer],
            StackPointerSet | GlobalSet32 if global(1) => {
                state[pointer] = state[args[0] as usize];
                match state[pointer] {
                    Value::Stack { delta, .. } if delta <= 0 && op == StackPointerSet => {
                        state[pointer] = Value::Stack { delta, base: delta };
                        self.lowest = self.lowest.min(delta);
                    }
                    _ => self.refused |= look,
                }
                return;
            }
            I32AddImm => {
                state[args[0] as usize] = match state[args[1] as usize] {
                    Value::Stack { delta, base } => {
                        let delta = delta.wrapping_add(args[2] as i32);
                        let base = base.min(delta);
                        Value::Stack { delta, base }
                    }
                    value => value,
                };
                return;
            }
            CopyRange => {
                let (to, from, count) = (args[0] as usize, args[1] as usize, args[2] as usize);
                return state.copy_within(from..from + count, to);
            }
            Copy32 => return state[args[0] as usize] = state[args[1] as usize],
            _ => {}
        }
        let sources = self.sources(node, state);
        if look {
            let escapes = match effect(node) {
                // What is stored, and not where.
                Effect::Access(_) if matches!(op.info().class, Class::Store(_)) => self.reads(node, 1, state),
                Effect::None if matches!(op, GlobalSet32 | GlobalSet64 | GlobalSet128) => sources,
                // Ranges that are read and written; the value of a fill is stored.
                Effect::Other if matches!(op, MemoryCopy | Memcmp) => Value::Other,
                Effect::Other if op == MemoryFill => self.reads(node, 1, state),
                Effect::Other => sources,
                _ => Value::Other,
            };
            self.escaped = self.escaped.min(escapes.base().unwrap_or(0));
            self.hands_out |= escapes.base() == Some(0);
            if op == Return {
                self.hands_out |= state[pointer] != Value::Stack { delta: 0, base: 0 };
            }
        }
        let value = match matches!(op.info().class, Class::Load(_)) || is_comparison(op) {
            true => Value::Other,
            false => sources.mixed(Value::Other),
        };
        let operands = op.info().operands;
        for (i, operand) in operands.iter().enumerate() {
            let from = args[i] as usize;
            let end = match operand {
                Operand::Def(ty) => from + ty.units() as usize,
                Operand::DefRange => from + count(node) as usize,
                // The callee's frame was there, and its results are.
                Operand::Base => pointer,
                _ => continue,
            };
            state[from..end.min(pointer)].fill(value);
        }
    }

    /// What operand `i` reads.
    fn reads(&self, node: &Node, i: usize, state: &State) -> Value {
        let units = match node.inst.op.info().operands[i] {
            Operand::Src(ty) => ty.units(),
            // Of a wide memory two.
            Operand::Address => 2,
            Operand::SrcRange => count(node),
            Operand::Base => (self.parameter_units)(node),
            _ => 0,
        };
        let from = node.inst.args[i] as usize;
        let end = (from + units as usize).min(state.len() - 1);
        (from..end).fold(Value::Other, |all, unit| all.mixed(state[unit]))
    }

    fn sources(&self, node: &Node, state: &State) -> Value {
        let operands = 0..node.inst.op.info().operands.len();
        let read = operands.map(|i| self.reads(node, i, state));
        read.fold(Value::Other, Value::mixed)
    }

    /// The state before each block.
    fn run(&mut self, units: usize) -> Vec<State> {
        let mut at: Vec<State> = vec![Vec::new(); self.cfg.blocks.len()];
        let mut entry = vec![Value::Other; units + 1];
        entry[units] = Value::Stack { delta: 0, base: 0 };
        at[0] = entry;
        let mut work = BTreeSet::from([0usize]);
        while let Some(block) = work.pop_first() {
            let mut state = at[block].clone();
            for node in self.cfg.block_nodes(block) {
                self.apply(node, &mut state, false);
            }
            for to in &self.cfg.blocks[block].successors {
                if at[*to].is_empty() {
                    at[*to] = state.clone();
                    work.insert(*to);
                    continue;
                }
                let joined: State = at[*to].iter().zip(&state).map(|(a, b)| a.join(*b)).collect();
                if joined != at[*to] {
                    at[*to] = joined;
                    work.insert(*to);
                }
            }
        }
        at
    }
}

/// Units in an instruction's ranges.
fn count(node: &Node) -> u32 {
    let mut operands = node.inst.op.info().operands.iter().zip(node.inst.args);
    let count = operands.find(|(operand, _)| matches!(operand, Operand::Count));
    count.map_or(0, |(_, count)| count as u32)
}

/// Whether an instruction compares: its result has no bits of what it compares.
fn is_comparison(op: Op) -> bool {
    let name = op.info().name.rsplit('.').next().unwrap_or_default();
    let name = name.split('_').next().unwrap_or_default();
    op.info().class == Class::Pure && matches!(name, "eq" | "eqz" | "ne" | "lt" | "gt" | "le" | "ge")
}

/// How many loops are around each block. Those of irreducible cycles count for what they are entered by.
fn loop_depths(cfg: &Cfg) -> Vec<u32> {
    let mut predecessors = vec![Vec::new(); cfg.blocks.len()];
    for from in &cfg.order {
        for to in &cfg.blocks[*from].successors {
            predecessors[*to].push(*from);
        }
    }
    let mut depths = vec![0; cfg.blocks.len()];
    let heads: BTreeSet<usize> = cfg.back_edges.iter().map(|(_, head)| *head).collect();
    for head in heads {
        let mut blocks = BTreeSet::from([head]);
        let latches = cfg.back_edges.iter().filter(|(_, to)| *to == head);
        let mut work: Vec<usize> = latches.map(|(from, _)| *from).collect();
        while let Some(block) = work.pop() {
            if blocks.insert(block) && block != 0 {
                work.extend(&predecessors[block]);
            }
        }
        blocks.into_iter().for_each(|block| depths[block] += 1);
    }
    depths
}

/// Bytes of a frame of the shadow stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackFrame {
    /// How many they are: a multiple of [`GRANULE`]. 0: there is no such frame.
    pub bytes: u32,
    /// How far below the stack pointer that the function finds the first one lies: a multiple of [`GRANULE`].
    pub below: u32,
}

/// What the analysis of a function needs.
pub struct Analyzed<'a> {
    pub program: &'a Program,
    pub cfg: &'a Cfg,
    /// Units of its frame of registers.
    pub units: u32,
    /// Units that a call passes.
    pub parameter_units: &'a dyn Fn(&Node) -> u32,
}

impl<'a> Analyzed<'a> {
    fn finder(&self, stack_pointer: u32) -> Finder<'a> {
        Finder {
            cfg: self.cfg,
            parameter_units: self.parameter_units,
            stack_pointer: i64::from(stack_pointer),
            lowest: 0,
            escaped: 0,
            hands_out: false,
            refused: false,
        }
    }
}

/// Whether a function gives its callers their own stack pointer, or leaves them with another one.
pub fn hands_out(function: &Analyzed) -> bool {
    let Some(stack_pointer) = function.program.meta.stack_pointer else {
        return false;
    };
    let mut finder = function.finder(stack_pointer);
    let at = finder.run(function.units as usize);
    for block in &function.cfg.order {
        let mut state = at[*block].clone();
        for node in function.cfg.block_nodes(*block) {
            finder.apply(node, &mut state, true);
        }
    }
    finder.hands_out
}

/// The bytes that a function keeps in local memory. `always`: wherever it can, not only where its loops access the frame
/// more often than it is copied.
pub fn find(function: &Analyzed, always: bool) -> StackFrame {
    let Analyzed { program, cfg, .. } = *function;
    let none = StackFrame::default();
    let sets = |node: &Node| node.inst.op == Op::StackPointerSet;
    let (Some(stack_pointer), true) = (program.meta.stack_pointer, cfg.nodes.iter().any(sets)) else {
        return none;
    };
    let mut finder = function.finder(stack_pointer);
    let at = finder.run(function.units as usize);
    let depths = loop_depths(cfg);
    // At the head, and to and fro wherever memory has to hold the frame.
    let mut copies = 1u64;
    let mut accesses = Vec::new();
    for block in &cfg.order {
        let times = PASSES.saturating_pow(depths[*block]);
        let mut state = at[*block].clone();
        for node in cfg.block_nodes(*block) {
            match effect(node) {
                Effect::Access(unit) => accesses.extend(state[unit as usize].base().map(|base| (base, times))),
                Effect::Other => {
                    let ways = if ends_path(node.inst.op) { 1 } else { 2 };
                    copies = copies.saturating_add(times.saturating_mul(ways));
                }
                Effect::None => {}
            }
            finder.apply(node, &mut state, true);
        }
    }
    let below = finder.lowest.unsigned_abs().next_multiple_of(GRANULE);
    let kept = finder.escaped.unsigned_abs().next_multiple_of(GRANULE);
    let bytes = below.saturating_sub(kept);
    if finder.refused || !(1..=MOST).contains(&bytes) {
        return none;
    }
    let within = accesses.into_iter().filter(|(base, _)| base.unsigned_abs() > kept);
    let accesses = within.fold(0u64, |sum, (_, times)| sum.saturating_add(times));
    let pays = always || accesses > copies.saturating_mul(u64::from(bytes / PIECE));
    if pays { StackFrame { bytes, below } } else { none }
}
