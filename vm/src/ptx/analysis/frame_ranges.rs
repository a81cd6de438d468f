//! Accesses in a counted loop that lie in the function's frame, whichever pass makes them.
//!
//! A loop that is known to make so many passes adds a constant to some units in each of them. So it is known between which
//! values these are, and between which addresses lies what is computed from them and the stack pointer that the function
//! found. An access of which all addresses lie in the frame needs no look whether it does, as long as local memory holds the
//! frame (see [`stack_frame`](super::stack_frame)).
//!
//! Loads that find nothing that the loop has stored in its last passes can be made before its stores: see [`EarlyLoad`].
//!
//! A number stands for all that are equal to it modulo 2^32. So sums and products of limits are right where those of values
//! wrap. An access does not wrap where its offset is added: of one with a large offset nothing is known.

use std::collections::{BTreeMap, BTreeSet};
use std::ops;

use gpu_run_bytecode::{Class, Mem, Op, Operand};

use crate::ptx::analysis::cfg::{Cfg, Node};
use crate::ptx::analysis::flow::{Flow, TransferFn};
use crate::ptx::analysis::linear::{Linear, Sums, Term, sum};
use crate::ptx::analysis::live::writes;
use crate::ptx::analysis::stack_frame::{Effect, NEAR, StackFrame, Values, effect};

/// No number of a range is as large, or below its negative. So no sum or product of some overflows.
const MOST: i64 = 1 << 31;

/// Between which numbers a value lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    /// How often the stack pointer that the function found is part of the value: not at all, or once.
    stack: bool,
    low: i64,
    high: i64,
}

/// What is known of a value.
type Known = Option<Range>;

/// What is known of units; of others nothing.
type State = BTreeMap<i64, Range>;

impl Range {
    fn new(stack: bool, low: i64, high: i64) -> Known {
        (-MOST..MOST)
            .contains(&low)
            .then_some(Range { stack, low, high })
            .filter(|range| (low..MOST).contains(&range.high))
    }

    fn join(self, other: Range) -> Known {
        let same = self.stack == other.stack;
        Range::new(self.stack, self.low.min(other.low), self.high.max(other.high)).filter(|_| same)
    }
}

impl Term for Range {
    fn number(value: i64) -> Known {
        Range::new(false, value, value)
    }

    fn plus(&self, other: &Range) -> Known {
        let both = self.stack && other.stack;
        Range::new(self.stack || other.stack, self.low + other.low, self.high + other.high).filter(|_| !both)
    }

    fn minus(&self, other: &Range) -> Known {
        // The stack pointer less itself is nothing. Less it alone it is not known.
        let known = self.stack || !other.stack;
        Range::new(self.stack != other.stack, self.low - other.high, self.high - other.low).filter(|_| known)
    }

    fn times(&self, factor: i64) -> Known {
        let ends = [self.low * factor, self.high * factor];
        Range::new(false, ends[0].min(ends[1]), ends[0].max(ends[1])).filter(|_| !self.stack)
    }
}

/// A loop that makes a known number of passes at most.
pub struct CountedLoop<'a> {
    /// Its blocks.
    pub blocks: &'a [usize],
    /// The first one.
    pub head: usize,
    /// Passes.
    pub passes: u64,
}

/// What is known of a loop's accesses.
#[derive(Default)]
pub struct InFrame {
    /// Those that lie in the frame, by their words. If there are some, all accesses of the loop are aligned. So after each of
    /// them local memory still holds the frame.
    pub accesses: BTreeSet<u32>,
    /// Some of them that can be made early.
    pub early: Vec<EarlyLoad>,
}

/// Passes of a loop whose loads may be made together.
pub const MOST_TOGETHER: i64 = 16;

/// A load from the frame in a loop of one block. No store that stands before it in [`MOST_TOGETHER`] passes writes what it loads.
/// So the loads of as many passes can be made before any of their stores, and lanes wait once for all of them.
#[derive(Clone)]
pub struct EarlyLoad {
    /// The instruction.
    pub node: Node,
    /// Its address in a pass, without its offset.
    pub address: Linear,
    /// By how much it changes from pass to pass.
    pub stride: i32,
    /// The byte of the frame that the first pass loads from, if it is the same on all ways into the loop.
    pub first: Option<i64>,
}

/// An access of the frame in a loop of one block.
struct Access<'a> {
    node: &'a Node,
    stores: bool,
    width: i64,
    /// The bytes of the frame between which it lies in all passes.
    within: ops::Range<i64>,
    /// Its address without its offset, and that.
    address: Option<(Linear, i64)>,
    /// By how much that changes from pass to pass.
    stride: Option<i32>,
}

impl Access<'_> {
    /// Whether a load meets nothing that a store of the loop writes before it.
    fn misses(&self, store: &Access) -> bool {
        if store.within.end <= self.within.start || self.within.end <= store.within.start {
            return true;
        }
        let distance = || {
            let ((load, at), (store, to)) = (self.address.as_ref()?, store.address.as_ref()?);
            let between = load.minus(store).filter(|between| between.factors.is_empty())?;
            Some(i64::from(between.constant as i32) + at - to)
        };
        let Some((distance, stride)) = distance().zip(self.stride.filter(|_| self.stride == store.stride)) else {
            return false;
        };
        // In its own pass a store that comes later does not matter.
        let later = self.node.pc < store.node.pc;
        (i64::from(later)..MOST_TOGETHER).all(|passes| {
            let distance = distance + passes * i64::from(stride);
            distance >= store.width || -distance >= self.width
        })
    }
}

/// What is known of a function.
pub struct Finder<'a> {
    /// Its blocks.
    pub cfg: &'a Cfg,
    /// Its frame.
    pub frame: StackFrame,
    /// What it computes from the stack pointer.
    pub values: Values<'a>,
    /// Other facts.
    pub flow: &'a Flow,
    /// How these change.
    pub transfer: &'a TransferFn<'a>,
}

impl Finder<'_> {
    /// The accesses of an innermost loop that lie in the frame. There are none if the loop has an access
    /// whose alignment is not known: it might end that local memory holds the frame.
    pub fn accesses(&self, counted: &CountedLoop) -> InFrame {
        let mut nodes = counted.blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
        let found = match nodes.any(|node| matches!(effect(node), Effect::Access(_))) {
            true => self.find(counted).unwrap_or_default(),
            false => BTreeMap::new(),
        };
        InFrame {
            early: self.early(counted, &found).unwrap_or_default(),
            accesses: found.into_keys().collect(),
        }
    }

    /// The loads that can be made early, where these accesses lie in the frame.
    fn early(&self, counted: &CountedLoop, found: &BTreeMap<u32, ops::Range<i64>>) -> Option<Vec<EarlyLoad>> {
        let &[block] = counted.blocks else { return None };
        let units = self.flow.at[block].len() as i64;
        let (mut sums, mut accesses) = (Sums::default(), Vec::new());
        for node in self.cfg.block_nodes(block) {
            match effect(node) {
                Effect::Fill(_) | Effect::Copy(..) | Effect::Other => return None,
                Effect::Access(unit) => {
                    let (mem, offset) = access(node)?;
                    let stores = matches!(node.inst.op.info().class, Class::Store(_));
                    let within = found.get(&node.pc).cloned();
                    if stores && within.is_none() {
                        return None;
                    }
                    let address = sums.of(i64::from(unit));
                    accesses.extend(within.map(|within| Access {
                        node,
                        stores,
                        width: i64::from(mem.size()),
                        within,
                        address: address.map(|address| (address, i64::from(offset))),
                        stride: None,
                    }));
                }
                Effect::None => {}
            }
            sums.apply(node, units);
        }
        for access in &mut accesses {
            let change = access
                .address
                .as_ref()
                .and_then(|(address, _)| address.change(|unit| sums.step(unit)));
            access.stride = change.map(|change| change as i32);
        }
        let (stores, loads): (Vec<Access>, Vec<Access>) = accesses.into_iter().partition(|access| access.stores);
        if stores.is_empty() {
            return None;
        }
        let early = loads.into_iter().filter_map(|load| {
            let stride = load.stride.filter(|_| stores.iter().all(|store| load.misses(store)))?;
            let (address, _) = load.address?;
            // From one begin so many passes go so far. From several they go further.
            let last = i64::from(stride) * (counted.passes as i64 - 1);
            let begins_there = stride > 0 && load.within.end - load.within.start == last + load.width;
            Some(EarlyLoad {
                node: load.node.clone(),
                address,
                stride,
                first: begins_there.then_some(load.within.start),
            })
        });
        Some(early.collect())
    }

    /// Between which bytes of the frame accesses lie, by their words.
    fn find(&self, counted: &CountedLoop) -> Option<BTreeMap<u32, ops::Range<i64>>> {
        let mut found = BTreeMap::new();
        let mut at: BTreeMap<usize, State> = BTreeMap::from([(counted.head, self.at_head(counted))]);
        for block in self.cfg.order.iter().filter(|block| counted.blocks.contains(block)) {
            // Blocks come after those that lead to them, but for the head.
            let mut state = at.get(block)?.clone();
            let mut facts = self.flow.at[*block].clone();
            for node in self.cfg.block_nodes(*block) {
                if let Effect::Access(unit) = effect(node) {
                    let (mem, offset) = access(node)?;
                    let (width, fact) = (mem.size(), facts[unit as usize]);
                    if 1 << fact.align_with(offset.into()).min(3) < width {
                        return None;
                    }
                    let address = state.get(&i64::from(unit)).filter(|_| u64::from(offset) <= NEAR);
                    let bytes = address.filter(|range| range.stack).map(|range| {
                        let begin = i64::from(self.frame.below) + i64::from(offset);
                        range.low + begin..range.high + begin + i64::from(width)
                    });
                    let inside = |bytes: &ops::Range<i64>| bytes.start >= 0 && bytes.end <= i64::from(self.frame.bytes);
                    found.extend(bytes.filter(inside).map(|bytes| (node.pc, bytes)));
                }
                apply(node, &mut state);
                self.transfer.apply(node, &mut facts);
            }
            for to in self.cfg.blocks[*block]
                .successors
                .iter()
                .filter(|to| **to != counted.head)
            {
                let joined = match at.remove(to) {
                    None => state.clone(),
                    Some(other) => join(&other, &state),
                };
                at.insert(*to, joined);
            }
        }
        Some(found)
    }

    /// What is known at the head of every pass.
    fn at_head(&self, counted: &CountedLoop) -> State {
        let enters = |block: &&usize| {
            !counted.blocks.contains(block) && self.cfg.blocks[**block].successors.contains(&counted.head)
        };
        let mut entering = self.cfg.order.iter().filter(enters).map(|block| {
            let nodes = self.cfg.block_nodes(*block);
            self.known(*block, nodes)
        });
        let first = entering.next().unwrap_or_default();
        let before = entering.fold(first, |all, state| join(&all, &state));
        let (changes, mut state) = (self.changes(counted), self.known(counted.head, &[]));
        for (unit, steps) in changes {
            state.remove(&unit);
            let in_all = |step: i64| step.checked_mul(counted.passes.checked_sub(1)? as i64);
            let known = steps.and_then(|(down, up)| {
                let range = Range::new(false, in_all(down)?, in_all(up)?)?;
                before.get(&unit)?.plus(&range)
            });
            state.extend(known.map(|range| (unit, range)));
        }
        state
    }

    /// The units that a loop changes, and how much a pass adds to each at least and at most, if it does nothing else to it. A
    /// block runs once in a pass, or not at all.
    fn changes(&self, counted: &CountedLoop) -> BTreeMap<i64, Option<(i64, i64)>> {
        let mut changes: BTreeMap<i64, Option<(i64, i64)>> = BTreeMap::new();
        let units = self.flow.at[counted.head].len() as i64;
        for node in counted.blocks.iter().flat_map(|block| self.cfg.block_nodes(*block)) {
            let args = node.inst.args;
            let step = match node.inst.op {
                Op::I32AddImm | Op::BrI32AddNe | Op::BrI32AddNeImm | Op::BrI32AddLtS | Op::BrI32AddLtU
                    if args[0] == args[1] =>
                {
                    Some(i64::from(args[2] as i32))
                }
                _ => None,
            };
            for unit in writes(node).flat_map(|range| range.start..range.end.min(units)) {
                let steps = changes.entry(unit).or_insert(Some((0, 0)));
                let both = steps.zip(step);
                *steps = both.map(|((down, up), step)| (down + step.min(0), up + step.max(0)));
            }
        }
        changes
    }

    /// What is known after some nodes from the begin of a block.
    fn known(&self, block: usize, nodes: &[Node]) -> State {
        let mut facts = self.flow.at[block].clone();
        nodes.iter().for_each(|node| self.transfer.apply(node, &mut facts));
        let stack = self.values.after(block, nodes).into_iter();
        let ranges = facts.iter().zip(stack).map(|(fact, delta)| match delta {
            Some(delta) => Range::new(true, delta.into(), delta.into()),
            None => Range::number(i64::from(fact.constant_value()? as i32)),
        });
        (0..)
            .zip(ranges)
            .filter_map(|(unit, range)| Some((unit, range?)))
            .collect()
    }
}

/// What is known where two ways with these states join.
fn join(one: &State, other: &State) -> State {
    let both = one
        .iter()
        .filter_map(|(unit, range)| Some((*unit, range.join(*other.get(unit)?)?)));
    both.collect()
}

/// Width and offset of an access of memory 0.
fn access(node: &Node) -> Option<(Mem, u32)> {
    match node.inst.op.info().class {
        Class::Load(mem) | Class::Store(mem) => Some((mem, u32::try_from(node.inst.args[2]).ok()?)),
        _ => None,
    }
}

/// Applies an instruction.
fn apply(node: &Node, state: &mut State) {
    let value = result(node, state);
    for units in writes(node) {
        let gone: Vec<i64> = state.range(units).map(|(unit, _)| *unit).collect();
        gone.iter().for_each(|unit| _ = state.remove(unit));
    }
    state.extend(value.map(|range| (node.inst.args[0], range)));
}

/// What is known of an instruction's result of 32 bits.
fn result(node: &Node, state: &State) -> Known {
    use Op::*;
    let args = node.inst.args;
    let unit = |unit: i64| state.get(&unit).copied();
    let imm = |i: usize| i64::from(args[i] as i32);
    match node.inst.op {
        Select32 => unit(args[1])?.join(unit(args[2])?),
        // Of any value.
        I32AndImm if imm(2) >= 0 => Range::new(false, 0, imm(2)),
        I32ShrUAnd if imm(3) >= 0 => Range::new(false, 0, imm(3)),
        I32ShrUImm if args[2] & 31 > 0 => Range::new(false, 0, (1 << (32 - (args[2] & 31))) - 1),
        _ => match (node.inst.op.info().class, node.inst.op.info().operands) {
            (Class::Load(Mem::u8), [Operand::Def(ty), ..]) if ty.units() == 1 => Range::new(false, 0, 0xff),
            (Class::Load(Mem::u16), [Operand::Def(ty), ..]) if ty.units() == 1 => Range::new(false, 0, 0xffff),
            _ => sum(node, unit),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_all_values() {
        let range = |stack, low, high| Range::new(stack, low, high).expect("a range");
        let (frame, index) = (range(true, -304, -304), range(false, 0, 47));
        assert_eq!(frame.plus(&index), Range::new(true, -304, -257));
        assert_eq!(index.plus(&frame), Range::new(true, -304, -257));
        assert_eq!(frame.plus(&frame), None);
        assert_eq!(frame.minus(&index), Range::new(true, -351, -304));
        assert_eq!(index.minus(&frame), None);
        assert_eq!(range(true, -8, -4).minus(&frame), Range::new(false, 296, 300));
        assert_eq!(index.times(-4), Range::new(false, -188, 0));
        assert_eq!(frame.times(2), None);
        assert_eq!(frame.join(range(true, -8, -4)), Range::new(true, -304, -4));
        assert_eq!(frame.join(index), None);
        assert_eq!(index.times(1 << 30), None);
    }
}
