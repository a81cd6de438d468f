//! What of a program is compiled.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_run_bytecode::Program;
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::ptx::Blocks;

use crate::embed::profile;

/// What of a program is compiled. The rest is interpreted where compiled code calls it or goes there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Functions {
    /// All functions that may be called, or what has run often before, if all would take too long.
    #[default]
    Auto,
    /// All functions that may be called.
    All,
    /// The basic blocks that have run often before, on any device. What a run interprets is noted for the next one, beside
    /// the code in the cache. A first run is interpreted.
    Hot,
    /// Each function and each block or not, by chance, with a seed: for tests.
    Random(u64),
    /// The same for runs that begin interpreted, and that are parked early to go on in the code.
    Parked(u64),
}

impl Functions {
    /// The basic blocks of a program that are not compiled: what comes first where the compiler takes no time. None if that
    /// is not known yet.
    pub(super) fn cold(
        self,
        program: &Arc<Program>,
        cache: Option<&Cache>,
        blocks: impl FnOnce() -> Arc<Blocks>,
    ) -> Vec<BTreeSet<u32>> {
        match self {
            Functions::Auto => {
                let hot = Functions::Hot.left_out(program, cache, blocks);
                [BTreeSet::new()].into_iter().chain(hot).collect()
            }
            one => one.left_out(program, cache, blocks).into_iter().collect(),
        }
    }

    /// The same of what had run often before a run found much more.
    pub(super) fn before(
        program: &Arc<Program>,
        cache: &Cache,
        blocks: impl FnOnce() -> Arc<Blocks>,
    ) -> Option<BTreeSet<u32>> {
        let often = profile::load_before(cache, program)?;
        Some(blocks().but(&often))
    }

    /// The same, of a single choice.
    pub(super) fn left_out(
        self,
        program: &Arc<Program>,
        cache: Option<&Cache>,
        blocks: impl FnOnce() -> Arc<Blocks>,
    ) -> Option<BTreeSet<u32>> {
        match self {
            Functions::Auto | Functions::All => Some(BTreeSet::new()),
            Functions::Hot => {
                let often = profile::load(cache?, program)?;
                Some(blocks().but(&often))
            }
            Functions::Random(seed) | Functions::Parked(seed) => {
                let blocks = blocks();
                let functions = blocks.starts.iter();
                let left_out = |blocks: &Vec<u32>| {
                    let whole = blocks.first().is_some_and(|first| one_of(8, seed, *first));
                    // Other numbers for the blocks of a function that is compiled.
                    let alone = move |block: &u32| one_of(32, !seed, *block);
                    let blocks = blocks.clone().into_iter();
                    blocks.filter(move |block| whole || alone(block))
                };
                let mut left_out: BTreeSet<u32> = functions.flat_map(left_out).collect();
                if let Functions::Parked(_) = self {
                    // Many functions are to be entered further in.
                    let firsts = blocks.starts.iter().filter_map(|blocks| blocks.first().copied());
                    left_out.extend(firsts.filter(|first| one_of(2, seed, *first)));
                }
                Some(left_out)
            }
        }
    }
}

/// Whether a block is the one of so many that is chosen, by SplitMix64's output function (Steele, Lea, Flood 2014).
fn one_of(many: u64, seed: u64, word: u32) -> bool {
    let mut z = seed.wrapping_add(u64::from(word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31).is_multiple_of(many)
}
