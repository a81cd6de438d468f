//! Which functions keep their frame of the shadow stack in local memory while they run.
//!
//! Compilers keep local arrays in linear memory, on a stack that a global points to. The stacks of 32 lanes lie apart, so
//! that each access of a warp is 32 of the device. CUDA's local memory has the same bytes of all lanes side by side.
//!
//! A function's frame is the bytes from the lowest value that it sets the stack pointer to, up to the one it found. Functions
//! that call nothing access some bytes below without setting it (LLVM's red zone); these are part of it too. Where functions
//! were inlined, their frames are parts of it, one below the other. The part that can lie in local memory ends at the first
//! frame of which another thread may know an address:
//!
//! - every value that the function sets the stack pointer to is the one it found less a constant;
//! - a value that was computed from a frame's lowest address *escapes* if it is stored, passed to a call or returned. It
//!   also does as an operand of an instruction that is not known here to compute, compare or access memory only.
//!
//! Or all of it lies there until the first escape, if that is of more use. Before, no other thread knows an address in it.
//!
//! That is a forward data-flow analysis over all units, in which whatever is computed from such a value is one too. What a
//! call returns is none. So no frame is kept in a program in which a function hands out the stack pointer that it found,
//! or returns with another one.
//!
//! The analysis assumes that no address in one frame is computed from an address in another. Only for other threads does
//! that matter. The code, in [`frame_copy`](crate::ptx::emit::frame_copy), looks at every address that the function
//! accesses, whatever it was computed from, but for those of which [`frame_ranges`](super::frame_ranges) shows that they lie
//! in the frame. These are computed from [`Values`].

use std::collections::BTreeSet;

use gpu_run_bytecode::{Class, Op, Operand};

use crate::ptx::analysis::cfg::{Cfg, Node, ends_path};
use crate::ptx::analysis::flow::TransferFn;

/// Bytes of a frame at most: each lane copies them twice. Those of a warp have room in the shared memory that a kernel may
/// declare; in local memory they take so much of the native stack.
const MOST: u32 = 1472;
/// Bytes of which a frame is a multiple, and which it begins at one of.
pub const GRANULE: u32 = 16;
/// Bytes that one instruction copies.
pub const PIECE: u32 = 8;
/// Largest offset of an access of which the frame is asked for before memory's size. The frame lies at this address or
/// further, so that none in it has an index below 0.
pub const NEAR: u64 = 1024;
/// Bytes below the stack pointer that a function may access which does not set it: LLVM's red zone.
const RED_ZONE: i32 = 128;
/// Accesses for each that a copy makes from which on a frame is worth keeping until an address escapes. After that code
/// still looks at each access.
const UNTIL_ESCAPE: u64 = 2;
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
    /// It may depend on addresses of frames of which the lowest begins there; `found`: and on the stack pointer that the
    /// function found.
    Derived { base: i32, found: bool },
}

impl Value {
    fn base(self) -> Option<i32> {
        match self {
            Value::Other => None,
            Value::Stack { base, .. } | Value::Derived { base, .. } => Some(base),
        }
    }

    /// Whether it may depend on the stack pointer that the function found.
    fn is_found(self) -> bool {
        match self {
            Value::Other => false,
            Value::Stack { base, .. } => base == 0,
            Value::Derived { found, .. } => found,
        }
    }

    /// What may depend on both.
    fn mixed(self, other: Value) -> Value {
        let bases = self.base().into_iter().chain(other.base());
        let found = self.is_found() || other.is_found();
        bases.min().map_or(Value::Other, |base| Value::Derived { base, found })
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
    /// It fills a range, from the address in a unit on.
    Fill(u32),
    /// It copies a range, to the address in a unit and from that in another one.
    Copy(u32, u32),
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
            | GlobalGet64 | GlobalGet128 | GlobalSet32 | GlobalSet64 | GlobalSet128 | StackPointerSet | Fuel
            | MemorySize | MemorySize64 | Gid | ThreadCount | Time => Effect::None,
            MemoryFill if args[3] == 0 => Effect::Fill(args[0] as u32),
            MemoryCopy if args[3..5] == [0, 0] => Effect::Copy(args[0] as u32, args[1] as u32),
            _ => Effect::Other,
        },
    }
}

/// The analysis of a function.
#[derive(Clone)]
struct Finder<'a> {
    cfg: &'a Cfg,
    /// Which units instructions read.
    transfer: &'a TransferFn<'a>,
    stack_pointer: i64,
    /// Lowest value of the stack pointer, less the one that the function found.
    lowest: i32,
    /// Where the lowest frame begins of which an address escapes; 0 is above all.
    escaped: i32,
    /// The instructions by which addresses escape.
    escapes: BTreeSet<u32>,
    /// The stack pointer that the function found escapes, or is another one when it returns.
    hands_out: bool,
    refused: bool,
    /// What a call leaves in the stack pointer is taken for known. Where addresses are not looked at it is not.
    trusts_calls: bool,
}

impl<'a> Finder<'a> {
    fn new(cfg: &'a Cfg, stack_pointer: u32, transfer: &'a TransferFn<'a>) -> Finder<'a> {
        Finder {
            cfg,
            transfer,
            stack_pointer: i64::from(stack_pointer),
            lowest: 0,
            escaped: 0,
            escapes: BTreeSet::new(),
            hands_out: false,
            refused: false,
            trusts_calls: true,
        }
    }

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
                Effect::Other if matches!(op, MemoryCopy | Memcmp | Print) => Value::Other,
                Effect::Fill(_) => self.reads(node, 1, state),
                Effect::Other => sources,
                _ => Value::Other,
            };
            self.escaped = self.escaped.min(escapes.base().unwrap_or(0));
            self.escapes.extend(escapes.base().map(|_| node.pc));
            self.hands_out |= escapes.is_found();
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
        if !self.trusts_calls && operands.contains(&Operand::Base) {
            state[pointer] = Value::Other;
        }
    }

    /// What operand `i` reads.
    fn reads(&self, node: &Node, i: usize, state: &State) -> Value {
        let units = match node.inst.op.info().operands[i] {
            Operand::Src(ty) => ty.units(),
            Operand::Address => self.transfer.address_units(node),
            Operand::SrcRange => count(node),
            Operand::Base => self.transfer.callee_type(node).param_units(),
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

    /// Applies all instructions for the last time, from these states before blocks, and shows each with the state before it.
    fn look(&mut self, at: &[State], mut show: impl FnMut(usize, &Node, &State)) {
        for block in &self.cfg.order {
            let mut state = at[*block].clone();
            for node in self.cfg.block_nodes(*block) {
                show(*block, node, &state);
                self.apply(node, &mut state, true);
            }
        }
    }
}

/// The values of a function that are the stack pointer which it found and a constant.
pub struct Values<'a> {
    finder: Finder<'a>,
    at: Vec<State>,
}

impl<'a> Values<'a> {
    /// Those of a function that is entered at its head only: see [`find`].
    pub fn of(cfg: &'a Cfg, stack_pointer: u32, units: u32, transfer: &'a TransferFn<'a>) -> Values<'a> {
        let mut finder = Finder::new(cfg, stack_pointer, transfer);
        finder.trusts_calls = false;
        let at = finder.run(units as usize);
        Values { finder, at }
    }

    /// By unit the constants of such values, after some nodes from the begin of a block.
    pub fn after(&self, block: usize, nodes: &[Node]) -> Vec<Option<i32>> {
        let (mut finder, mut state) = (self.finder.clone(), self.at[block].clone());
        nodes.iter().for_each(|node| finder.apply(node, &mut state, false));
        let delta = |value: Value| match value {
            Value::Stack { delta, .. } => Some(delta),
            Value::Other | Value::Derived { .. } => None,
        };
        state.into_iter().map(delta).collect()
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

/// Bytes of a frame of the shadow stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackFrame {
    /// How many they are: a multiple of [`GRANULE`]. 0: there is no such frame.
    pub bytes: u32,
    /// How far below the stack pointer that the function finds the first one lies: a multiple of [`GRANULE`].
    pub below: u32,
    /// It lies in local memory until one of its addresses escapes: see [`escapes`].
    pub until_escape: bool,
}

/// What is found of a function.
pub struct Found {
    /// The bytes that it may keep in local memory, where no function hands out the stack pointer.
    pub frame: StackFrame,
    /// It hands out the stack pointer that it found, or returns with another one.
    pub hands_out: bool,
}

/// An instruction that accesses a frame, or for which memory has to hold it.
struct Use {
    block: usize,
    pc: u32,
    /// Where the frame begins that is accessed; `None`: it is copied.
    base: Option<i32>,
    /// How often that is taken to happen.
    times: u64,
}

impl Use {
    /// All of them, in the order of the blocks.
    fn all(finder: &mut Finder, at: &[State]) -> Vec<Use> {
        let depths = finder.cfg.loop_depths();
        let mut uses = Vec::new();
        finder.look(at, |block, node, state| {
            let times = PASSES.saturating_pow(depths[block]);
            let mut add = |base, times| {
                uses.push(Use {
                    block,
                    pc: node.pc,
                    base,
                    times,
                });
            };
            let mut access = |unit: u32| {
                if let Some(base) = state[unit as usize].base() {
                    add(Some(base), times);
                }
            };
            match effect(node) {
                Effect::None => {}
                Effect::Access(unit) | Effect::Fill(unit) => access(unit),
                Effect::Copy(to, from) => [to, from].into_iter().for_each(access),
                Effect::Other => add(None, times.saturating_mul(if ends_path(node.inst.op) { 1 } else { 2 })),
            }
        });
        uses
    }
}

/// How many accesses there are of frames that begin lower than `kept` bytes below the stack pointer, if they are worth copying so
/// many bytes: at the head, and to and fro wherever memory has to hold them. Worth it are `several` for each that a copy makes.
fn worth<'u>(uses: impl Iterator<Item = &'u Use>, kept: u32, bytes: u32, several: u64) -> Option<u64> {
    let (mut accesses, mut copies) = (0u64, 1u64);
    for used in uses {
        match used.base {
            None => copies = copies.saturating_add(used.times),
            Some(base) if base.unsigned_abs() > kept => accesses = accesses.saturating_add(used.times),
            Some(_) => {}
        }
    }
    let copied = copies.saturating_mul(u64::from(bytes / PIECE));
    (accesses > copied.saturating_mul(several)).then_some(accesses)
}

/// Analyses a function whose frame of registers has `units`. `always`: it may keep what it can, not only what its loops access
/// more often than it is copied.
pub fn find(cfg: &Cfg, stack_pointer: u32, units: u32, transfer: &TransferFn, always: bool) -> Found {
    let mut finder = Finder::new(cfg, stack_pointer, transfer);
    let at = finder.run(units as usize);
    let uses = Use::all(&mut finder, &at);
    let lowest = finder.lowest;
    let in_red_zone = uses.iter().filter_map(|used| used.base);
    let lowest = in_red_zone
        .filter(|base| *base >= lowest.saturating_sub(RED_ZONE))
        .fold(lowest, i32::min);
    let below = lowest.unsigned_abs().next_multiple_of(GRANULE);
    let kept = finder.escaped.unsigned_abs().next_multiple_of(GRANULE);
    let frame = |kept: u32| StackFrame {
        bytes: below.saturating_sub(kept),
        below,
        until_escape: false,
    };
    let fits = |frame: &StackFrame| !finder.refused && (1..=MOST).contains(&frame.bytes);
    // What no address escapes of.
    let apart = Some(frame(kept)).filter(fits);
    let apart_worth = apart.and_then(|frame| worth(uses.iter(), kept, frame.bytes, 1));
    // All, until one does.
    let until = Some(StackFrame {
        until_escape: true,
        ..frame(0)
    })
    .filter(|frame| kept > 0 && fits(frame));
    let until_worth = until.and_then(|frame| {
        let after = after(cfg, &finder.escapes);
        let before = uses
            .iter()
            .filter(|used| after[used.block].is_none_or(|first| used.pc < first));
        worth(before, 0, frame.bytes, UNTIL_ESCAPE)
    });
    let frame = match until_worth > apart_worth {
        true => until,
        false => apart.filter(|_| always || apart_worth.is_some()),
    };
    Found {
        frame: frame.or(until.filter(|_| always)).unwrap_or_default(),
        hands_out: finder.hands_out,
    }
}

/// By block, the first word before which one of these instructions may have been executed.
fn after(cfg: &Cfg, instructions: &BTreeSet<u32>) -> Vec<Option<u32>> {
    let mut after = vec![None; cfg.blocks.len()];
    let mut work = Vec::new();
    for block in &cfg.order {
        let found = cfg
            .block_nodes(*block)
            .iter()
            .find(|node| instructions.contains(&node.pc));
        if let Some(node) = found {
            after[*block] = Some(node.next);
            work.push(*block);
        }
    }
    while let Some(block) = work.pop() {
        for to in &cfg.blocks[block].successors {
            if after[*to] != Some(0) {
                after[*to] = Some(0);
                work.push(*to);
            }
        }
    }
    after
}

/// The instructions by which addresses of a function's frame escape, by their words. Before them memory takes the frame, for
/// the rest of the function.
pub fn escapes(cfg: &Cfg, stack_pointer: u32, units: u32, transfer: &TransferFn) -> BTreeSet<u32> {
    let mut finder = Finder::new(cfg, stack_pointer, transfer);
    let at = finder.run(units as usize);
    finder.look(&at, |_, _, _| {});
    finder.escapes
}
