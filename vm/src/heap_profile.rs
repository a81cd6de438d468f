//! What lay in a heap while a program ran, by the calls that allocated it.

use std::time::Duration;

use crate::fault::Backtrace;

/// Blocks that the same calls allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapGroup {
    /// Which calls, as an index of [`HeapProfile::stacks`].
    pub stack: usize,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of them together, as they were asked for.
    pub bytes: u64,
}

/// What lay in the heap at one time. Threads went on meanwhile: a block may be missing that was moved, or there twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapSnapshot {
    /// How long the program had run.
    pub time: Duration,
    /// By calls, the most bytes first.
    pub groups: Vec<HeapGroup>,
}

impl HeapSnapshot {
    /// Bytes that lay there.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.bytes).sum()
    }

    /// In so many blocks.
    pub fn blocks(&self) -> u64 {
        self.groups.iter().map(|group| group.blocks).sum()
    }

    /// The number of the first of several with most bytes.
    pub fn largest(snapshots: &[HeapSnapshot]) -> Option<usize> {
        let last_first = snapshots.iter().enumerate().rev();
        let largest = last_first.max_by_key(|(_, snapshot)| snapshot.bytes())?;
        Some(largest.0)
    }
}

/// The heap of an instance's memory 0 over time.
#[derive(Clone, Debug, Default)]
pub struct HeapProfile {
    /// The calls that groups name.
    pub stacks: Vec<Backtrace>,
    /// In the order of their times, the last one after the program's end.
    pub snapshots: Vec<HeapSnapshot>,
    /// The most bytes that there were at once, exactly. They may have been there between two snapshots.
    pub peak: u64,
}
