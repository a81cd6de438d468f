//! Where threads stand when a run is stopped, and samples of what they do over time: see `kernel/stands.h` and
//! `kernel/samples.h`.

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::Twin;
use super::{Ptr, SAMPLE_CALLS, STAND_CALLS, STANDS};

twins! { SAMPLE_TWINS:
    /// Threads that stood at one place when a run was stopped; see `kernel/stands.h`.
    struct Stand {
        key: u64,
        count: u32,
        thread: u32,
        state: u32,
        pc: u32,
        depth: u32,
        frames: u32,
        calls: [u32; STAND_CALLS],
    }
    struct Stands {
        new_threads: u32,
        others: u32,
        groups: [Stand; STANDS],
    }
    struct Sample {
        key: u64,
        count: u64,
        thread: u32,
        state: u32,
        pc: u32,
        depth: u32,
        frames: u32,
        pad: u32,
        calls: [u32; SAMPLE_CALLS],
    }
    /// How often basic blocks have run; see `kernel/counts.h`.
    struct Counts {
        by_word: Ptr,
        by_warp: Ptr,
        by_branch: Ptr,
        words: u32,
        copies: u32,
    }
    struct SampledThread {
        left: u64,
        last: u64,
        waited: u64,
        mark: u32,
        mark_depth: u32,
        state: u32,
        branches: u32,
        plain: u32,
        pad: u32,
    }
    struct Samples {
        groups: Ptr,
        threads: Ptr,
        period_ns: u64,
        period: u64,
        ticks: u64,
        plain: Ptr,
        capacity: u32,
        lost: u32,
        weight: u32,
        mark_threads: u32,
        marks: Ptr,
        soon: u32,
        pad: u32,
    }
}
