//! Loops that are written out several times, or that know their passes.
//!
//! A loop that ends in `i += step; if i != limit` (or `<`) knows how many passes are left. If they are not a
//! multiple of its copies, a copy that does all (number 0) makes the odd ones first, mostly without looks at the
//! stop flag. So only the last of the others compares, and no loop is around them: ptxas would put a `BREAK` before
//! each jump that leaves both.
//!
//! Of such a loop it is known too which accesses lie in the function's frame, in every pass. As long as local memory holds the
//! frame, the copies do not look. Where it does not, copy 0 makes all passes.

use std::collections::BTreeSet;

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Class, Op, Operand};

use crate::ptx::analysis::cfg::{Node, may_throw};
use crate::ptx::analysis::flow::Nan;
use crate::ptx::analysis::frame_ranges::{CountedLoop, EarlyLoad, Finder, InFrame, MOST_TOGETHER};
use crate::ptx::analysis::live::writes;
use crate::ptx::analysis::stack_frame::Values;
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::writer::ptx;

/// Instructions that a loop should have for each time that it counts.
const LOOP_SIZE: usize = 96;
/// The same of a loop that knows its passes: more copies spare more comparisons.
const COUNTED_SIZE: usize = 160;
/// Machine instructions of an access. One that is known to lie in the frame is one of these.
const ACCESS_SIZE: usize = 4;
/// Copies that a loop gets at most.
pub const MOST_COPIES: usize = 16;
const _: () = assert!(MOST_COPIES as i64 <= MOST_TOGETHER);
/// Passes of a loop that does not look at the stop flag itself, but leaves that to what is around it.
const BRIEF: u64 = 4096;
/// Units that are loaded early at most: each needs a register.
const MOST_EARLY: usize = 32;
/// Words of bytecode up to which a program's loops get as many copies as that makes. In a larger one they would
/// be a quarter of the code, most of which seldom runs.
const SMALL_PROGRAM: usize = 10_000;

/// A loop that is unrolled, that is, written out several times. Where it knows its passes, copies are 1, 2, …; before them
/// stands copy 0 for the odd passes, if there are some, or after them for all passes without a frame. Where it does not, they
/// are 0, 1, …
pub struct Loop {
    /// Its blocks in the order of the code.
    blocks: Vec<usize>,
    /// How many there are, without copy 0 of one that counts its passes.
    pub copies: usize,
    /// How it counts its passes.
    pub counted: Option<Counted>,
    /// What is known of accesses of the function's frame, in all copies but number 0. These run only while local memory
    /// holds the frame.
    in_frame: InFrame,
}

/// How a loop counts its passes.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The block at whose end it does.
    latch: usize,
    /// The unit that is counted, and what is added to it.
    unit: i64,
    step: i64,
    /// The limit, as an operand of PTX.
    limit: String,
    compare: Compare,
    /// The passes that it makes, by the ways into it, where they are known: all copies' together divide each.
    passes: Option<Vec<u64>>,
    /// The way to the limit is a multiple of the step's power of two. So passes come to it exactly, and odd ones are fewer than
    /// the copies; else copy 0 might run without end.
    hits_limit: bool,
    /// Nothing in the loop reads the unit. It is brought up to date where the loop is left, and at the end of the last
    /// copy.
    deferred: bool,
}

impl Loop {
    /// The block with which its code begins.
    pub fn first(&self) -> usize {
        self.blocks[0]
    }
}

impl Counted {
    /// Whether there is no second pass through all `copies`.
    fn once(&self, copies: usize) -> bool {
        let all = |passes: &Vec<u64>| passes.iter().all(|passes| *passes == copies as u64);
        self.passes.as_ref().is_some_and(all)
    }

    /// Passes through all `copies`, if they are known and so few that the loop need not look at the stop flag.
    fn brief(&self, copies: usize) -> Option<u64> {
        let most = *self.passes.as_ref()?.iter().max()?;
        (most <= BRIEF).then_some(most / copies as u64)
    }
}

/// How a loop compares what it counts with its limit, to go on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Compare {
    Unequal,
    LessSigned,
    LessUnsigned,
}

impl Compare {
    fn ptx(self) -> &'static str {
        match self {
            Compare::Unequal => "ne.u32",
            Compare::LessSigned => "lt.s32",
            Compare::LessUnsigned => "lt.u32",
        }
    }
}

/// About how many machine instructions an instruction becomes.
fn size(node: &Node) -> usize {
    match node.inst.op.info().class {
        // It loads and stores.
        _ if node.inst.op == Op::Fuel => 2 * ACCESS_SIZE,
        Class::Traps => 10,
        Class::Load(_) | Class::Store(_) | Class::LoadFar(_) | Class::StoreFar(_) => ACCESS_SIZE,
        Class::Aside | Class::Gpu | Class::Access => LOOP_SIZE,
        Class::Control | Class::Pure | Class::Branch => 1,
    }
}

/// How many of `most` instructions for the copies of a loop are left in a program of so many words. It is a quarter
/// where the program is twice as large as a small one.
fn in_program(most: usize, words: usize) -> usize {
    let words = words.max(SMALL_PROGRAM);
    most * SMALL_PROGRAM / words * SMALL_PROGRAM / words
}

/// Whether an instruction may touch the unit.
fn touches(inst: &Inst, unit: i64) -> bool {
    let info = inst.op.info();
    let covers = |(operand, arg): (&Operand, i64)| match operand {
        Operand::Def(ty) | Operand::Src(ty) => (arg..arg + i64::from(ty.units())).contains(&unit),
        Operand::Address => (arg..arg + 2).contains(&unit),
        _ => false,
    };
    // Others have ranges of units.
    let simple = matches!(
        info.class,
        Class::Pure | Class::Traps | Class::Branch | Class::Load(_) | Class::Store(_)
    );
    let known = matches!(
        inst.op,
        Op::Jump | Op::BrIf | Op::BrUnless | Op::Const32 | Op::Const64 | Op::Const64S | Op::Fuel
    );
    !(simple || known) || info.operands.iter().zip(inst.args).any(covers)
}

/// How many passes a loop makes in which `i`, which is `start`, has `step` added in each, until it no longer
/// compares with `limit` so. None if `i` wraps or that is too many.
fn passes(compare: Compare, start: u32, step: i64, limit: u32) -> Option<u64> {
    let number = |value: u32| match compare {
        Compare::LessSigned => i64::from(value as i32),
        _ => i64::from(value),
    };
    let (way, most) = (number(limit) - number(start), number(limit) + step.abs());
    let in_range = match compare {
        Compare::LessSigned => most <= i64::from(i32::MAX),
        Compare::LessUnsigned => most <= i64::from(u32::MAX),
        Compare::Unequal => way % step == 0,
    };
    let right_way = way.signum() == step.signum();
    (in_range && right_way).then(|| way.unsigned_abs().div_ceil(step.unsigned_abs()))
}

/// The low bits of the remaining distance that are all 0 if the passes left are a multiple of the copies, a power of
/// two. This holds also where the sum wraps, because the step is odd but for its own power of two.
fn odd_bits(copies: usize, step: i64) -> u32 {
    (((copies as u64) << step.trailing_zeros()) - 1) as u32
}

/// How many copies a counted loop gets, of which `most` are about the right size. Forgets the number of its
/// passes where they do not come out even.
fn copies_of(counted: &mut Counted, most: usize) -> usize {
    if most < 2 {
        return 1;
    }
    let passes = counted.passes.as_deref().unwrap_or_default();
    let most_passes = passes.iter().max().map_or(usize::MAX, |passes| *passes as usize);
    if most_passes < 2 {
        return 1;
    }
    // A power of two, so that a mask shows odd passes. More copies than there are passes would never run.
    let usual = 1 << (most * 5 / 4).min(MOST_COPIES).min(most_passes).ilog2();
    let divides = |copies: &usize| passes.iter().all(|passes| passes % *copies as u64 == 0);
    let least = most.div_ceil(2).min(most_passes).max(2);
    let even = (least..=most.max(usual)).rev().find(divides);
    if let Some(even) = even.filter(|_| counted.passes.is_some()) {
        return even;
    }
    counted.passes = None;
    usual
}

impl Compiler<'_> {
    /// Decides which loops are written out several times.
    pub fn plan_loops(&mut self) {
        // What a kernel does by itself is what it was started for.
        let words = match self.role {
            Role::Function | Role::Region(..) => self.analysis.reachable.words,
            Role::Kernel => self.function.end - self.function.start,
        } as usize;
        let (most, most_counted) = (in_program(LOOP_SIZE, words), in_program(COUNTED_SIZE, words));
        for (head, mut planned) in self.loops_without_calls() {
            let Loop {
                blocks,
                counted,
                in_frame,
                ..
            } = &mut planned;
            let nodes = blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            let spared = in_frame.accesses.len() * (ACCESS_SIZE - 1);
            let size = (nodes.map(size).sum::<usize>() - spared).max(1);
            let copies = match counted {
                Some(counted) => copies_of(counted, (most_counted / size).min(MOST_COPIES)),
                None => (most / size).min(MOST_COPIES),
            };
            // A single copy, if it then need not look at the stop flag.
            let brief = counted.as_ref().is_some_and(|counted| counted.brief(1).is_some());
            if copies > 1 || brief {
                self.head_of.extend(blocks.iter().map(|block| (*block, head)));
                planned.copies = copies;
                self.loops.insert(head, planned);
            }
        }
    }

    /// The innermost loops that call nothing, by their heads, each as one copy.
    fn loops_without_calls(&self) -> Vec<(usize, Loop)> {
        // Where code is entered otherwise than at the function's head, units may hold anything.
        let entered = !self.cfg.entries.is_empty() || matches!(self.role, Role::Region(..));
        let pointer = self.unit.program.meta.stack_pointer;
        let finder = pointer
            .filter(|_| self.facts.frame.bytes > 0 && !entered)
            .map(|pointer| Finder {
                cfg: &self.cfg,
                frame: self.facts.frame,
                values: Values::of(&self.cfg, pointer, self.units, &self.transfer),
                flow: &self.flow,
                transfer: &self.transfer,
            });
        let loops = self.cfg.innermost_loops().into_iter();
        let planned = |(head, blocks): (usize, Vec<usize>)| {
            let counted = self.counted(head, &blocks);
            let passes = counted
                .as_ref()
                .and_then(|counted| counted.passes.as_ref()?.iter().max());
            // After an escape memory has the frame.
            let escapes =
                |block: &usize| (self.cfg.block_nodes(*block).iter()).any(|node| self.escapes.contains(&node.pc));
            let stays = !blocks.iter().any(escapes);
            let in_frame = finder.as_ref().zip(passes).filter(|_| stays).map(|(finder, passes)| {
                finder.accesses(&CountedLoop {
                    blocks: &blocks,
                    head,
                    passes: *passes,
                })
            });
            let in_frame = in_frame.unwrap_or_default();
            let planned = Loop {
                blocks,
                copies: 1,
                counted,
                in_frame,
            };
            (head, planned)
        };
        loops
            .filter(|(_, blocks)| !blocks.iter().any(|block| self.cfg.calls(*block)))
            .map(planned)
            .collect()
    }

    /// How the loop counts its passes, if it does in one place and nothing else touches what it counts.
    fn counted(&self, head: usize, blocks: &[usize]) -> Option<Counted> {
        let mut latches = self.cfg.back_edges.iter().filter(|(_, to)| *to == head);
        let (latch, _) = latches.next()?;
        let node = self.cfg.block_nodes(*latch).last()?;
        let args = node.inst.args;
        let compare = match node.inst.op {
            Op::BrI32AddNe | Op::BrI32AddNeImm => Compare::Unequal,
            Op::BrI32AddLtS => Compare::LessSigned,
            Op::BrI32AddLtU => Compare::LessUnsigned,
            _ => return None,
        };
        let others = || {
            let nodes = blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            nodes.filter(|other| other.pc != node.pc)
        };
        let written = |unit: i64| others().flat_map(writes).any(|units| units.contains(&unit));
        // A handler's values may lie in the unit that is counted, or in the limit's.
        if others().any(|other| may_throw(other.inst.op)) {
            return None;
        }
        // Where a pass may go beyond the limit, it is not known how many are left. Where the sum wraps around
        // in fewer passes than there are copies, their number is no multiple of the copies.
        let step_fits = args[2] == 1 || (args[2] != 0 && args[2].trailing_zeros() < 28 && compare == Compare::Unequal);
        let alone = latches.next().is_none() && self.cfg.block_at(node.targets[0]) == Some(head);
        if !alone || !step_fits || args[0] != args[1] || written(args[0]) {
            return None;
        }
        let limit = match node.inst.op {
            Op::BrI32AddNeImm => args[3].to_string(),
            _ if args[3] == args[0] || written(args[3]) => return None,
            // Its register must be what the comparison sees.
            _ if !matches!(self.flow.at[head][args[3] as usize].nan, Nan::Never | Nan::Kept) => return None,
            _ => format!("%r{}", args[3]),
        };
        let value = match node.inst.op {
            Op::BrI32AddNeImm => Some(args[3] as u32),
            _ => self.flow.at[head][args[3] as usize].constant_value(),
        };
        let passes = value.and_then(|limit| {
            let starts = self.values_before(head, blocks, args[0])?;
            let passes = |start: u32| passes(compare, start, args[2], limit);
            starts.into_iter().map(passes).collect::<Option<Vec<_>>>()
        });
        let before = &self.flow.at[head];
        let align = match value {
            Some(limit) => limit.trailing_zeros(),
            None => before[args[3] as usize].align.into(),
        };
        let align = align.min(before[args[0] as usize].align.into());
        Some(Counted {
            latch: *latch,
            unit: args[0],
            hits_limit: align >= args[2].trailing_zeros(),
            step: args[2],
            limit,
            compare,
            passes,
            deferred: !others().any(|other| touches(&other.inst, args[0])),
        })
    }

    /// Of the loop whose copy is written, the accesses that lie in the frame, if local memory holds the frame there. All
    /// accesses of such a loop are aligned.
    pub fn known_in_frame(&self) -> Option<&BTreeSet<u32>> {
        let around = &self.loops[self.head_of.get(&self.block).filter(|_| self.copy > 0)?];
        Some(&around.in_frame.accesses).filter(|accesses| !accesses.is_empty())
    }

    /// Where the first copy of a loop begins, makes the loads of all copies that can be made early. Each copy's are in
    /// `early` then.
    pub fn load_early(&mut self, block: usize) {
        let Some(planned) = self
            .loops
            .get(&block)
            .filter(|around| self.copy == 1 && around.copies > 1)
        else {
            return;
        };
        // In another order a load's address may be known by other units.
        if self.schedule.blocks.contains_key(&block) {
            return;
        }
        let copies = planned.copies;
        // Else odd passes come first.
        let begins = planned.counted.as_ref().is_some_and(|counted| counted.passes.is_some());
        let loads = planned.in_frame.early.iter().map(|load| EarlyLoad {
            first: load.first.filter(|_| begins),
            ..load.clone()
        });
        let mut left = MOST_EARLY / copies;
        let fits = |load: &EarlyLoad| {
            let rest = left.checked_sub(writes(&load.node).map(|range| range.count()).sum());
            rest.map(|rest| left = rest).is_some()
        };
        let loads: Vec<EarlyLoad> = loads.take_while(fits).collect();
        for load in loads {
            let numbered = (1..).zip(self.loads_of_passes(&load, copies));
            self.early
                .extend(numbered.map(|(copy, value)| ((load.node.pc, copy), value)));
        }
    }

    /// The values that a unit has where a loop is entered, if they are known.
    fn values_before(&self, head: usize, blocks: &[usize], unit: i64) -> Option<Vec<u32>> {
        // The function's caller enters it too, or the interpreter, with values of their own.
        if head == 0 || self.cfg.entries.contains(&head) {
            return None;
        }
        let enters = |block: &&usize| !blocks.contains(block) && self.cfg.blocks[**block].successors.contains(&head);
        let value = |block: &usize| {
            let mut state = self.flow.at[*block].clone();
            let nodes = self.cfg.block_nodes(*block);
            nodes.iter().for_each(|node| self.transfer.apply(node, &mut state));
            let handled = nodes.last().is_some_and(|node| may_throw(node.inst.op));
            state[unit as usize].constant_value().filter(|_| !handled)
        };
        self.cfg.order.iter().filter(enters).map(value).collect()
    }

    /// The blocks and copies in the order in which they are written.
    pub fn emission_order(&self) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        let compiled = |block: &usize| self.cfg.blocks[*block].reachable && !self.cfg.blocks[*block].cold;
        for block in (0..self.cfg.blocks.len()).filter(compiled) {
            let Some(head) = self.head_of.get(&block) else {
                order.push((block, 0));
                continue;
            };
            let planned = &self.loops[head];
            // All of a loop where its first block stands.
            if planned.blocks[0] == block {
                let copies: Vec<usize> = match planned.counted {
                    Some(Counted { passes: Some(_), .. }) => {
                        let without_frame = (!planned.in_frame.accesses.is_empty()).then_some(0);
                        (1..=planned.copies).chain(without_frame).collect()
                    }
                    Some(_) => (0..=planned.copies).collect(),
                    None => (0..planned.copies).collect(),
                };
                order.extend(
                    copies
                        .iter()
                        .flat_map(|copy| planned.blocks.iter().map(|block| (*block, *copy))),
                );
            }
        }
        order
    }

    /// Writes what stands before the first copy of a loop that knows its passes.
    pub fn guard(&mut self, block: usize, copy: usize) {
        let Some((head, counted, copies)) = self.counted_around(block) else {
            return;
        };
        let first = usize::from(counted.passes.is_some());
        if copy != first || self.loops[&head].blocks[0] != block {
            return;
        }
        let label = self.entry_label(head);
        self.w.label(&label);
        // Paid for at once. A loop without a second pass through its copies costs nothing.
        if let Some(passes @ 2..) = counted.brief(copies) {
            ptx!(self, "sub.u32 %budget, %budget, {passes};");
        }
        let in_frame = !self.loops[&head].in_frame.accesses.is_empty();
        if first == 0 {
            let even = self.even(&counted, copies);
            if in_frame {
                ptx!(self, "setp.ne.and.u32 {even}, %frame_size, 0, {even};");
            }
            ptx!(self, "@{even} bra {};", self.label(head, 1));
        } else if in_frame {
            let lost = self.w.predicate();
            ptx!(self, "setp.eq.u32 {lost}, %frame_size, 0;");
            ptx!(self, "@{lost} bra {};", self.label(head, 0));
        }
        if block != head {
            ptx!(self, "bra {};", self.label(head, first));
        }
    }

    /// The head, the counting and the copies of the loop around a block that knows its passes.
    fn counted_around(&self, block: usize) -> Option<(usize, Counted, usize)> {
        let head = *self.head_of.get(&block)?;
        let around = &self.loops[&head];
        Some((head, around.counted.clone()?, around.copies))
    }

    /// A predicate: the passes that the loop has left are a multiple of the copies.
    fn even(&mut self, counted: &Counted, copies: usize) -> String {
        let (left, even) = (self.w.word(), self.w.predicate());
        ptx!(self, "sub.u32 {left}, {}, %r{};", counted.limit, counted.unit);
        ptx!(self, "and.b32 {left}, {left}, {};", odd_bits(copies, counted.step));
        match counted.compare {
            Compare::Unequal => ptx!(self, "setp.eq.u32 {even}, {left}, 0;"),
            compare => {
                // One that makes its only pass is compared as too large already.
                let less = self.w.predicate();
                ptx!(
                    self,
                    "setp.{} {less}, %r{}, {};",
                    compare.ptx(),
                    counted.unit,
                    counted.limit
                );
                ptx!(self, "setp.eq.and.u32 {even}, {left}, 0, {less};");
            }
        }
        even
    }

    /// The instruction that counts a loop's passes. False in a loop that does not know them.
    pub fn count_pass(&mut self, block: usize) -> bool {
        let Some((head, counted, copies)) = self.counted_around(block) else {
            return false;
        };
        if counted.latch != block {
            return false;
        }
        let unit = counted.unit;
        let step = match (counted.deferred, self.copy) {
            (false, _) | (true, 0) => counted.step,
            (true, copy) if copy == copies => counted.step * copies as i64,
            (true, _) => 0,
        };
        if step != 0 {
            ptx!(self, "add.u32 %r{unit}, %r{unit}, {};", step as i32);
        }
        if (1..copies).contains(&self.copy) {
            ptx!(self, "bra {};", self.label(head, self.copy + 1));
            self.left = true;
            return true;
        }
        // Copy 0 makes all passes where local memory does not hold the frame.
        let makes_all = self.copy == 0 && counted.passes.is_some();
        if counted.once(copies) && !makes_all {
            return true;
        }
        let more = self.w.predicate();
        ptx!(
            self,
            "setp.{} {more}, %r{unit}, {};",
            counted.compare.ptx(),
            counted.limit
        );
        // Odd passes are fewer than the copies: then the others follow, or the loop ends, and what is around it counts. (Where
        // blocks are counted, they are counted here too: a counter has room for what is between two looks, see `counts`.)
        let few = self.copy == 0
            && !makes_all
            && counted.hits_limit
            && self.loops[&head].in_frame.accesses.is_empty()
            && self.analysis.counters.is_none();
        if counted.brief(copies).is_none() && !few {
            self.count(self.first_word(head));
        }
        let again = match self.copy {
            0 if makes_all => self.label(head, 0),
            0 => self.entry_label(head),
            _ => self.label(head, 1),
        };
        ptx!(self, "@{more} bra {again};");
        true
    }

    /// What is to be added to a unit where a jump from `from` to `to` leaves a loop that has not done it.
    pub fn due(&self, from: usize, to: usize) -> Option<(i64, i32)> {
        let (head, counted, _) = self.counted_around(from)?;
        let leaves = self.head_of.get(&to) != Some(&head);
        let due = counted.step * (self.copy as i64 - 1);
        (counted.deferred && leaves && from != counted.latch && self.copy > 1).then_some((counted.unit, due as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_passes_are_told_by_the_way_that_is_left() {
        for step in [1i64, -1, 2, 3, -8, 12, 20, -24, 1 << 20, 3 << 20, -(1 << 27)] {
            for copies in [2usize, 4, 8, 16] {
                let limit = 0x8000_0005u32;
                // Back from the limit, until the way has come round.
                let all = (1u64 << (32 - step.trailing_zeros())).min(5000);
                let mut at = limit;
                for passes in 1..=all {
                    at = at.wrapping_sub(step as u32);
                    let even = limit.wrapping_sub(at) & odd_bits(copies, step) == 0;
                    assert_eq!(even, passes.is_multiple_of(copies as u64), "{step} {copies} {passes}");
                }
            }
        }
    }

    #[test]
    fn passes_are_known_unless_the_sum_wraps() {
        let unequal = |start, step, limit| passes(Compare::Unequal, start, step, limit);
        assert_eq!(unequal(0, 2, 1024), Some(512));
        assert_eq!(unequal(10, -5, 0), Some(2));
        assert_eq!(unequal(0, 3, 1024), None);
        assert_eq!(unequal(5, 1, 5), None);
        assert_eq!(unequal(6, 1, 5), None);
        assert_eq!(passes(Compare::LessUnsigned, 0, 1, 7), Some(7));
        assert_eq!(passes(Compare::LessUnsigned, 0, 1, u32::MAX), None);
        assert_eq!(passes(Compare::LessSigned, -3i32 as u32, 1, 4), Some(7));
        assert_eq!(passes(Compare::LessSigned, 4, 1, -3i32 as u32), None);
    }

    #[test]
    fn loops_of_large_programs_have_few_copies() {
        assert_eq!(in_program(LOOP_SIZE, 300), LOOP_SIZE);
        assert_eq!(in_program(LOOP_SIZE, SMALL_PROGRAM), LOOP_SIZE);
        assert_eq!(in_program(LOOP_SIZE, 2 * SMALL_PROGRAM), LOOP_SIZE / 4);
        assert_eq!(in_program(COUNTED_SIZE, 20 * SMALL_PROGRAM), 0);
    }

    fn counted(passes: Option<Vec<u64>>) -> Counted {
        Counted {
            latch: 0,
            unit: 0,
            step: 1,
            limit: String::new(),
            compare: Compare::Unequal,
            passes,
            hits_limit: true,
            deferred: false,
        }
    }

    #[test]
    fn copies_come_out_even_or_are_a_power_of_two() {
        let copies = |passes, most| {
            let mut counted = counted(passes);
            (copies_of(&mut counted, most), counted.passes.is_some())
        };
        assert_eq!(copies(None, 7), (8, false));
        assert_eq!(copies(None, 6), (4, false));
        assert_eq!(copies(None, 16), (16, false));
        assert_eq!(copies(None, 1), (1, false));
        assert_eq!(copies(None, 0), (1, false));
        assert_eq!(copies(Some(vec![512]), 0), (1, true));
        assert_eq!(copies(Some(vec![3]), 2), (2, false));
        assert_eq!(copies(Some(vec![4]), 12), (4, true));
        assert_eq!(copies(Some(vec![3, 5]), 12), (4, false));
        assert_eq!(copies(Some(vec![1]), 12), (1, true));
        assert_eq!(copies(Some(vec![512]), 7), (8, true));
        assert_eq!(copies(Some(vec![9, 18]), 12), (9, true));
        assert_eq!(copies(Some(vec![9, 10]), 12), (8, false));
        assert_eq!(copies(Some(vec![997]), 12), (8, false));
    }
}
