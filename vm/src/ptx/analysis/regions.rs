//! Where a large function is divided.
//!
//! ptxas takes far more than in proportion for a large function: with twice the text up to eight times as long. So a function
//! of many words is compiled as several, its regions. Each has blocks that follow each other in the code. A jump from one
//! region to another is paid for, with all values that are read later put into memory and taken from there. So the borders
//! are where few jumps cross, and those outside of loops if that can be.

use std::collections::BTreeSet;
use std::ops::Range;

use gpu_run_bytecode::Function;

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::flow::{Kind, TransferFn};
use crate::ptx::analysis::interprocedural::{Analysis, frame_units};
use crate::ptx::analysis::live::Units;
use crate::ptx::analysis::stack_frame::StackFrame;

/// How much more often a block runs for each loop around it, as long as nothing is known of it.
const PASSES: u64 = 8;
/// Loops around a block that are counted at most.
const MOST_LOOPS: u32 = 6;

/// A block at which control comes into a region, from another or from outside of the function.
pub struct Place {
    /// The block, and its first word.
    pub block: usize,
    /// See `block`.
    pub word: u32,
    /// The units of values that are read later, with their kinds.
    pub units: Vec<(u32, Kind)>,
}

impl Place {
    /// The kind of each unit of a frame of so many.
    pub fn kinds(&self, units: u32) -> Vec<Kind> {
        let mut kinds = vec![Kind::Undefined; units as usize];
        for (unit, kind) in &self.units {
            kinds[*unit as usize] = *kind;
        }
        kinds
    }
}

/// A function that is compiled as several.
pub struct Regions {
    /// The blocks of each, in order.
    pub blocks: Vec<Range<usize>>,
    /// Where they are entered, in order; the function itself at the first.
    pub places: Vec<Place>,
    /// The units of all places, in order. While control goes from one region to another, their values are in the context's,
    /// in this order.
    pub units: Vec<u32>,
    /// The units that are read later, after each block.
    pub live_after: Vec<Units>,
    /// See [`Cfg::dead_ends`]; of all regions.
    pub dead_ends: BTreeSet<usize>,
}

impl Regions {
    /// Divides a function into regions of as many words as [`Options`](crate::ptx::Options::region_words) say at most, but for
    /// blocks that have more. Blocks that begin with a word in `cold` are not compiled.
    pub fn of(analysis: &Analysis, function: &Function, cold: &BTreeSet<u32>) -> Regions {
        let program = analysis.program;
        let full = Cfg::new(program, function);
        let mut hot = full.clone();
        hot.leave_out(cold);
        let blocks = divide(&hot, analysis.region_words);
        let transfer = || TransferFn {
            analysis,
            function,
            eager: BTreeSet::new(),
        };
        let units = frame_units(program, function);
        let ty = &program.meta.types[function.ty as usize];
        let known = transfer().run(&full, units, ty, &[]).at;
        let transfer = transfer();
        let live_after = transfer.live_after(&full, units);
        let place = |block: usize| {
            let live = transfer.live_before(full.block_nodes(block), &live_after[block]);
            let kind = |unit: u32| Some(known[block].get(unit as usize)?.kind);
            let units = taken(&live, kind).into_iter();
            Place {
                block,
                word: full.first_word(block),
                units: units.filter_map(|unit| Some((unit, kind(unit)?))).collect(),
            }
        };
        let places: Vec<Place> = entered(&hot, &blocks).into_iter().map(place).collect();
        let all: BTreeSet<u32> = places
            .iter()
            .flat_map(|place| place.units.iter().map(|(unit, _)| *unit))
            .collect();
        Regions {
            blocks,
            places,
            units: all.into_iter().collect(),
            live_after,
            dead_ends: hot.dead_ends(),
        }
    }

    /// The numbers of the places of a region.
    pub fn places_of(&self, region: usize) -> Range<usize> {
        let blocks = &self.blocks[region];
        let first = |block: usize| self.places.partition_point(|place| place.block < block);
        first(blocks.start)..first(blocks.end)
    }

    /// The number of the place at which a block is entered.
    pub fn place_at(&self, block: usize) -> Option<usize> {
        self.places.binary_search_by_key(&block, |place| place.block).ok()
    }

    /// Where the value of a unit is among those of all places.
    pub fn slot(&self, unit: u32) -> Option<usize> {
        self.units.binary_search(&unit).ok()
    }
}

/// The units of a frame that have values which are read later, where the units have these kinds.
pub fn taken(live: &Units, kinds: impl Fn(u32) -> Option<Kind>) -> Vec<u32> {
    let mut units = Vec::new();
    for unit in live.iter() {
        let unit = unit as u32;
        match kinds(unit) {
            Some(Kind::Unit | Kind::Zero) => units.push(unit),
            Some(Kind::Low) => units.extend([unit, unit + 1]),
            // It comes with its low half.
            Some(Kind::High | Kind::Undefined) | None => {}
        }
    }
    units
}

/// The blocks at which regions are entered: the first, those to which jumps from other regions lead, and those at which the
/// interpreter may hand the function back.
fn entered(cfg: &Cfg, blocks: &[Range<usize>]) -> BTreeSet<usize> {
    let region = |block: usize| blocks.partition_point(|blocks| blocks.end <= block);
    let mut found = BTreeSet::from([0]);
    found.extend(&cfg.entries);
    for from in &cfg.order {
        let outside = |to: &&usize| region(**to) != region(*from) && !cfg.blocks[**to].cold;
        found.extend(cfg.blocks[*from].successors.iter().filter(outside));
    }
    found
}

/// The blocks of each region. Among all ways to divide them it is one whose jumps across borders run least often, by a
/// dynamic program over the places of the last border.
fn divide(cfg: &Cfg, words: u32) -> Vec<Range<usize>> {
    let count = cfg.blocks.len();
    let compiled = |block: usize| cfg.blocks[block].reachable && !cfg.blocks[block].cold;
    let size = |block: usize| -> u64 {
        let nodes = cfg.block_nodes(block).iter();
        nodes.map(|node| u64::from(node.next - node.pc)).sum()
    };
    let depths = cfg.loop_depths();
    let runs = |block: usize| PASSES.pow(depths[block].min(MOST_LOOPS));
    // What is paid for a border before each block.
    let mut change = vec![0i64; count + 1];
    for from in cfg.order.iter().filter(|block| compiled(**block)) {
        for to in cfg.blocks[*from].successors.iter().filter(|block| compiled(**block)) {
            let (first, last) = (*from.min(to), *from.max(to));
            let cost = runs(*from).min(runs(*to)) as i64;
            change[first + 1] += cost;
            change[last + 1] -= cost;
        }
    }
    let mut costs = Vec::with_capacity(count);
    let mut cost = 0;
    for change in &change[..count] {
        cost += change;
        costs.push(cost as u64);
    }
    // The least that it costs to divide the blocks before each, and where the last region begins then.
    let mut least = vec![(0, 0); count + 1];
    for end in 1..=count {
        let mut best = (u64::MAX, end - 1);
        let mut sum = 0;
        for begin in (0..end).rev() {
            sum += if compiled(begin) { size(begin) } else { 0 };
            if sum > u64::from(words) && begin + 1 < end {
                break;
            }
            let border = if begin == 0 { 0 } else { costs[begin] + 1 };
            best = best.min((least[begin].0 + border, begin));
        }
        least[end] = best;
    }
    let mut blocks = Vec::new();
    let mut end = count;
    while end > 0 {
        let (_, begin) = least[end];
        blocks.push(begin..end);
        end = begin;
    }
    blocks.reverse();
    blocks
}

/// Bytes of native stack that the function takes which runs the regions.
const DRIVER_STACK: u32 = 256;

impl Analysis<'_> {
    /// Whether so many words are compiled as several.
    fn is_large(&self, words: u32) -> bool {
        self.region_words > 0 && words > self.region_words
    }

    /// Bytes of native stack that a function may take besides what it takes as a whole. If all of it were compiled: what is left
    /// to the interpreter is not known yet.
    pub(super) fn stack_beside(&self, function: &Function) -> u32 {
        match self.is_large(function.end - function.start) {
            true => DRIVER_STACK,
            false => 0,
        }
    }

    /// Finds the functions that are compiled as several.
    pub fn find_large(&mut self) {
        for defined in 0..self.facts.len() {
            let in_regions = !self.facts[defined].interpreted && self.is_large(self.facts[defined].words);
            let facts = &mut self.facts[defined];
            facts.in_regions = in_regions;
            if in_regions {
                // Each region would copy it.
                facts.frame = StackFrame::default();
            }
        }
    }
}
