//! How often basic blocks run: see `kernel/counts.h`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_run_bytecode::Program;

use super::run::Sized;
use super::{InstanceId, Store};
use crate::counts::{CountedPlace, Counts, Kind, traffic};
use crate::device::{DeviceResult, Plan};
use crate::layout::{self, Ptr};
use crate::ptx::{self, code};

/// Copies of the counts, for lanes of a GPU on different multiprocessors; and bytes of all of them.
const COPIES: u64 = 16;
const BYTES: u64 = 64 << 20;

/// What blocks of a store's programs are counted with.
pub(super) struct Counting {
    wanted: bool,
    record: Sized,
    by_word: Sized,
    /// Of the run under way.
    now: layout::Counts,
    /// Of the runs before it, by word of the store's code.
    all: Vec<u64>,
}

impl Default for Counting {
    fn default() -> Counting {
        Counting {
            wanted: false,
            record: Sized::new("counts of blocks"),
            by_word: Sized::new("counts of blocks"),
            now: bytemuck::Zeroable::zeroed(),
            all: Vec::new(),
        }
    }
}

impl Store {
    /// Counts how often each basic block runs, of all instances that are made from now on.
    pub fn count_blocks(&mut self) {
        self.counting.wanted = true;
    }

    /// Whether it does so.
    pub fn counts_blocks(&self) -> bool {
        self.counting.wanted
    }

    /// The record for a run with this plan; 0 where nothing is counted.
    pub(super) fn prepare_counts(&mut self, plan: Plan) -> DeviceResult<Ptr> {
        if !self.counting.wanted {
            return Ok(0);
        }
        let words = self.code.len / 8;
        let lanes = match self.device.clock_rate() {
            // Lanes are threads of this machine.
            None => u64::from(plan.lanes),
            Some(_) => COPIES.min(plan.lanes.div_ceil(plan.lanes_per_block).into()),
        };
        let copies = lanes.min(BYTES / (8 * words.max(1))).max(1);
        let (device, counting) = (&mut *self.device, &mut self.counting);
        let record = layout::Counts {
            by_word: counting.by_word.zeroed(device, words * copies * 8)?,
            words: words as u32,
            copies: copies as u32,
        };
        counting.now = record;
        let at = counting.record.at_least(device, size_of::<layout::Counts>() as u64)?;
        // SAFETY: allocated with this size; no kernel runs.
        unsafe { device.write(at, bytemuck::bytes_of(&record))? };
        Ok(at)
    }

    /// Adds what a run has counted to that of those before it. No kernel runs.
    pub(super) fn collect_counts(&mut self) -> DeviceResult<()> {
        let record = std::mem::replace(&mut self.counting.now, bytemuck::Zeroable::zeroed());
        let words = record.words as usize;
        if words == 0 {
            return Ok(());
        }
        let mut counts = vec![0u64; words * record.copies as usize];
        // SAFETY: the run's counts, as many as that.
        unsafe {
            self.device
                .read(record.by_word, bytemuck::cast_slice_mut(&mut counts))?
        };
        let all = &mut self.counting.all;
        all.resize(all.len().max(words), 0);
        for copy in counts.chunks(words) {
            all.iter_mut().zip(copy).for_each(|(all, count)| *all += count);
        }
        Ok(())
    }

    /// What an instance has executed since its blocks are counted. Of a block that was left by a trap, or in which the
    /// program was stopped, all counts.
    pub fn counts(&mut self, instance: InstanceId) -> Counts {
        let info = &self.instance_infos[instance.0 as usize];
        let (program, start) = (info.program.clone(), info.code_start);
        let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        let mut counts = Counts::default();
        let blocks = self.blocks(&program);
        for (function, starts) in program.meta.functions.iter().zip(&blocks.starts) {
            let mut starts = starts.iter().peekable();
            let mut times = 0;
            for (word, inst) in code(&program, function) {
                if starts.next_if(|start| **start == word).is_some() {
                    times = self.counting.all.get((start + word) as usize).copied().unwrap_or(0);
                }
                if times == 0 {
                    continue;
                }
                *kinds.entry(Kind::of(inst.op)).or_default() += times;
                let (loaded, stored) = traffic(inst.op);
                counts.traffic.0 += loaded * times;
                counts.traffic.1 += stored * times;
                counts.places.push(CountedPlace {
                    operations: times,
                    backtrace: self.backtrace_of(start + word, 1, &[]),
                });
            }
        }
        counts.kinds = kinds.into_iter().collect();
        counts.kinds.sort_by_key(|(kind, count)| (Reverse(*count), *kind));
        counts
    }

    /// Bytes of shared memory that a compiled entry needs for its counters, where it has some.
    pub(super) fn counter_bytes(&self, func: u32) -> u32 {
        let instance = self.func_infos[func as usize].func.instance;
        let code = self.instance_infos[instance as usize].code.as_ref();
        code.and_then(|code| code.counters).map_or(0, ptx::counter_bytes)
    }

    /// The words of a program that are marked for it: the first ones of its blocks.
    pub(super) fn counted_words(&mut self, program: &Arc<Program>) -> Vec<u32> {
        self.blocks(program).all().collect()
    }
}
