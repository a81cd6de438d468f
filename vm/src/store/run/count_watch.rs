//! Looks at counts of blocks while a run goes on: how many operations it has executed.

use std::collections::BTreeMap;

use super::super::Store;
use super::super::counts::operations;
use super::super::samples::Programs;
use super::vitals::words;
use crate::device::{Device, DeviceResult};
use crate::layout;

/// Bytes of counts that are read at most: more would hold the bus for long.
const MOST: u64 = 16 << 20;

/// Where a run's counts are, and what they stand for.
pub(super) struct CountWatch {
    record: layout::Counts,
    /// Whether device memory is the host's own, so that a copy would race with lanes.
    host_memory: bool,
    /// Words of the store's code where basic blocks begin, each with its operations: of those that are counted when the
    /// interpreter comes there, or by compiled code, and of those that it counts at branches.
    at_visits: BTreeMap<u32, u64>,
    at_branches: BTreeMap<u32, u64>,
    counts: Vec<u64>,
}

impl CountWatch {
    /// Operations so far. Compiled code tells of some later: its lanes empty their counters now and then.
    pub(super) fn operations(&mut self, device: &mut dyn Device) -> DeviceResult<u64> {
        let mut all = 0;
        for (at, blocks) in [
            (self.record.by_word, &self.at_visits),
            (self.record.by_branch, &self.at_branches),
        ] {
            if blocks.is_empty() {
                continue;
            }
            words(device, self.host_memory, at, &mut self.counts)?;
            for counts in self.counts.chunks(self.record.words as usize) {
                let operations = blocks.iter().map(|(word, each)| counts[*word as usize] * each);
                all += operations.sum::<u64>();
            }
        }
        Ok(all)
    }
}

impl Store {
    /// What looks at the counts of the run that is about to begin; `None` if it counts nothing, or too much to be read
    /// meanwhile. `host_memory`: see [`CountWatch`].
    pub(super) fn count_watch(&mut self, host_memory: bool) -> Option<CountWatch> {
        let record = self.counting.record_in_use()?;
        let all = u64::from(record.words) * u64::from(record.copies);
        if 8 * all > MOST {
            return None;
        }
        let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
        for (start, program) in Programs::of(self).iter() {
            let of_program = self.blocks(program);
            for (block, ..) in operations(program, &of_program) {
                *blocks.entry(start + block).or_default() += 1;
            }
        }
        let at_branches = match record.by_branch {
            0 => BTreeMap::new(),
            _ => {
                let words = &self.counting.at_branches;
                blocks
                    .extract_if(.., |word, _| words.binary_search(word).is_ok())
                    .collect()
            }
        };
        Some(CountWatch {
            record,
            host_memory,
            at_visits: blocks,
            at_branches,
            counts: vec![0; all as usize],
        })
    }
}
