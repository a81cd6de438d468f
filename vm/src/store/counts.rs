//! How often basic blocks run: see `kernel/counts.h`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_run_bytecode::{Handler, Op, Program};

use super::run::Sized;
use super::{InstanceId, Store};
use crate::counts::{Counted, CountedPlace, Counts, Kind, traffic};
use crate::device::{DeviceResult, Plan};
use crate::layout::{self, Ptr, VISIT_LATE, VISIT_OFTEN, VISIT_OPCODE};
use crate::ptx::{Blocks, code, reached_by_branches};

/// Copies of the counts, for lanes of a GPU on different multiprocessors; and bytes of all of them.
const COPIES: u64 = 16;
const BYTES: u64 = 64 << 20;

/// The words of a program where basic blocks begin, and what stands in the place of the count of visits there: that none are
/// counted, and whether the block counts when its first instruction is done.
/// Those of `at_branches` are left out.
pub(super) fn marks(program: &Program, blocks: &Blocks, at_branches: &[u32]) -> Vec<(u32, u16)> {
    let mark = |word: u32| {
        let late = if is_late(program, word) { VISIT_LATE } else { 0 };
        (word, (VISIT_OFTEN | late) as u16)
    };
    let others = blocks.all().filter(|word| at_branches.binary_search(word).is_err());
    others.map(mark).collect()
}

/// Whether a block counts when its first instruction is done, which may run several times until then.
fn is_late(program: &Program, word: u32) -> bool {
    let op = Op::from_number(program.code[word as usize] as u16 & VISIT_OPCODE as u16);
    op.is_some_and(|op| op.handler() != Handler::InLoop)
}

/// Where the basic blocks of a program begin that are counted at the branches that lead to them, in order.
pub(super) fn at_branches(program: &Program) -> Vec<u32> {
    let mut words = reached_by_branches(program);
    words.retain(|word| !is_late(program, *word));
    words
}

/// The operations of a program, each with the word where its block begins, and its own. What stands before a function's first
/// block, such as `enter`, counts nowhere.
pub(super) fn operations<'p>(program: &'p Program, blocks: &'p Blocks) -> impl Iterator<Item = (u32, u32, Op)> + 'p {
    let functions = program.meta.functions.iter().zip(&blocks.starts);
    functions.flat_map(move |(function, starts)| {
        let mut starts = starts.iter().peekable();
        let mut block = None;
        code(program, function).filter_map(move |(word, inst)| {
            block = starts.next_if(|start| **start == word).copied().or(block);
            Some((block?, word, inst.op))
        })
    })
}

/// What blocks of a store's programs are counted with.
pub(super) struct Counting {
    wanted: Option<Counted>,
    record: Sized,
    by_word: Sized,
    by_warp: Sized,
    by_branch: Sized,
    /// Words of the store's code whose blocks the interpreter counts at branches, in order.
    pub(super) at_branches: Vec<u32>,
    /// Of the run under way.
    now: layout::Counts,
    /// Of the runs before it, by word of the store's code, of lanes and of warps.
    all: [Vec<u64>; 2],
}

impl Default for Counting {
    fn default() -> Counting {
        Counting {
            wanted: None,
            record: Sized::new("counts of blocks"),
            by_word: Sized::new("counts of blocks"),
            by_warp: Sized::new("counts of blocks"),
            by_branch: Sized::new("counts of blocks"),
            at_branches: Vec::new(),
            now: bytemuck::Zeroable::zeroed(),
            all: Default::default(),
        }
    }
}

impl Counting {
    /// The record of the run under way, if it counts.
    pub(super) fn record_in_use(&self) -> Option<layout::Counts> {
        (self.now.words > 0).then_some(self.now)
    }
}

impl Store {
    /// Counts how often each basic block runs, of all instances that are made from now on.
    ///
    /// Has no effect once there is an instance, or something is counted: code in a store counts the same.
    pub fn count_blocks(&mut self, what: Counted) {
        if self.instance_infos.is_empty() {
            self.counting.wanted.get_or_insert(what);
        }
    }

    /// Whether it does so.
    pub fn counts_blocks(&self) -> Option<Counted> {
        self.counting.wanted
    }

    /// The record for a run with this plan, of `compiled` code or the interpreter; 0 where nothing is counted. Code that is
    /// older than the wish has no counters.
    pub(super) fn prepare_counts(&mut self, plan: Plan, compiled: bool) -> DeviceResult<Ptr> {
        let Some(what) = self.counting.wanted.filter(|_| !compiled || plan.counter_bytes > 0) else {
            return Ok(0);
        };
        let words = self.code.len / 8;
        let by_threads = !compiled && self.device.lanes_are_threads();
        let copies = match by_threads {
            true => u64::from(plan.lanes),
            false => {
                let blocks = plan.lanes.div_ceil(plan.lanes_per_block).max(1);
                let wanted = COPIES.min(u64::from(blocks).next_power_of_two());
                1 << wanted.min(BYTES / (8 * words.max(1))).max(1).ilog2()
            }
        };
        let (device, counting) = (&mut *self.device, &mut self.counting);
        let bytes = words * copies * 8;
        let record = layout::Counts {
            by_word: counting.by_word.zeroed(device, bytes)?,
            by_warp: match what {
                Counted::LanesAndWarps if !by_threads => counting.by_warp.zeroed(device, bytes)?,
                _ => 0,
            },
            by_branch: match by_threads {
                true => counting.by_branch.zeroed(device, bytes)?,
                false => 0,
            },
            words: words as u32,
            copies: copies as u32,
        };
        counting.now = record;
        let at = counting.record.at_least(device, size_of::<layout::Counts>() as u64)?;
        // SAFETY: allocated with this size; no kernel runs.
        unsafe { device.write(at, bytemuck::bytes_of(&record))? };
        let codes = self.instance_infos.iter().filter_map(|info| info.code.as_ref());
        for places in codes.filter_map(|code| code.counts) {
            // SAFETY: a variable of two addresses; no kernel runs.
            unsafe { device.write(places, bytemuck::bytes_of(&[record.by_word, record.by_warp]))? };
        }
        Ok(at)
    }

    /// Adds what a run has counted to that of those before it. No kernel runs.
    pub(super) fn collect_counts(&mut self) -> DeviceResult<()> {
        let record = std::mem::replace(&mut self.counting.now, bytemuck::Zeroable::zeroed());
        let words = record.words as usize;
        if words == 0 {
            return Ok(());
        }
        // Of a word in all copies.
        let sums = |store: &mut Store, at: Ptr| -> DeviceResult<Vec<u64>> {
            let mut sums = vec![0u64; words];
            let mut copy = vec![0u64; if at == 0 { 0 } else { words }];
            for number in 0..if at == 0 { 0 } else { u64::from(record.copies) } {
                // SAFETY: the run's counts, so many copies of as many as that.
                unsafe {
                    let at = at + number * 8 * words as u64;
                    store.device.read(at, bytemuck::cast_slice_mut(&mut copy))?
                };
                let each = sums.iter_mut().zip(&copy);
                each.for_each(|(sum, count)| *sum = sum.wrapping_add(*count));
            }
            Ok(sums)
        };
        let mut lanes = sums(self, record.by_word)?;
        let mut warps = sums(self, record.by_warp)?;
        if record.by_branch != 0 {
            let branches = sums(self, record.by_branch)?;
            let at_branches = self.counting.at_branches.iter().map(|word| *word as usize);
            for word in at_branches.take_while(|word| *word < words) {
                lanes[word] = branches[word];
            }
            // Each lane is a warp.
            warps.clone_from(&lanes);
        }
        for (all, run) in self.counting.all.iter_mut().zip([lanes, warps]) {
            all.resize(all.len().max(words), 0);
            let each = all.iter_mut().zip(run);
            each.for_each(|(all, count)| *all = all.wrapping_add(count));
        }
        Ok(())
    }

    /// What an instance has executed since its blocks are counted. Of a block that was left by a trap or by an
    /// exception of a function that it called, or in which the program was stopped, all counts.
    pub fn counts(&mut self, instance: InstanceId) -> Counts {
        let info = &self.instance_infos[instance.0 as usize];
        let (program, start) = (info.program.clone(), info.code_start);
        let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        let mut counts = Counts::default();
        let blocks = self.blocks(&program);
        let counts_warps = self.counting.wanted == Some(Counted::LanesAndWarps);
        for (block, word, op) in operations(&program, &blocks) {
            let count = |all: &Vec<u64>| all.get((start + block) as usize).copied().unwrap_or(0);
            let [times, warps] = self.counting.all.each_ref().map(count);
            let warps = if counts_warps { warps } else { 0 };
            if times == 0 {
                continue;
            }
            *kinds.entry(Kind::of(op)).or_default() += times;
            let (loaded, stored) = traffic(op);
            counts.traffic.0 += loaded * times;
            counts.traffic.1 += stored * times;
            counts.places.push(CountedPlace {
                operations: times,
                warps,
                backtrace: self.backtrace_of(start + word, 1, &[]),
            });
        }
        counts.kinds = kinds.into_iter().collect();
        counts.kinds.sort_by_key(|(kind, count)| (Reverse(*count), *kind));
        counts
    }

    /// Counters in shared memory of the compiled code that has most of them, where code counts.
    pub(super) fn counters(&self) -> Option<u32> {
        let codes = self.instance_infos.iter().filter_map(|info| info.code.as_ref());
        let each = match self.counting.wanted {
            Some(Counted::LanesAndWarps) => 2,
            _ => 1,
        };
        Some(codes.filter_map(|code| code.counters).max()? * each)
    }
}
