//! Which basic blocks have a counter in shared memory, where the code counts how often they run.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::interprocedural::Analysis;

/// Counters at most: 16 KiB, so that a multiprocessor has room for as many blocks as without, and for its first-level cache.
const MOST: usize = 4096;

/// Calls that a function may lead to without counting them as passes. So a counter is emptied before it is full: see
/// `emit::counts`.
pub const MOST_CALLS: u64 = 1 << 6;

/// The counters of a program.
pub struct Counters {
    /// By the first word of a block.
    numbers: HashMap<u32, u32>,
    /// The first words of the blocks that have a counter, in the order of these.
    pub words: Vec<u32>,
}

impl Counters {
    /// Those of all blocks that are compiled; where these are too many, of those in most loops.
    pub fn of(analysis: &Analysis) -> Counters {
        let functions = analysis.facts.iter().zip(&analysis.program.meta.functions);
        let compiled = functions.filter(|(facts, _)| facts.needed && !facts.interpreted);
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for (_, function) in compiled {
            let cfg = Cfg::new(analysis.program, function);
            let depths = cfg.loop_depths();
            blocks.extend((0..cfg.blocks.len()).map(|block| (depths[block], cfg.first_word(block))));
        }
        if blocks.len() > MOST {
            blocks.sort_by_key(|(depth, word)| (Reverse(*depth), *word));
            blocks.truncate(MOST);
        }
        let words: Vec<u32> = blocks.iter().map(|(_, word)| *word).collect();
        Counters {
            numbers: words.iter().copied().zip(0..).collect(),
            words,
        }
    }

    /// The counter of the block that begins at a word.
    pub fn number(&self, word: u32) -> Option<u32> {
        self.numbers.get(&word).copied()
    }
}
