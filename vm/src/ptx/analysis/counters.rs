//! Which basic blocks have a counter in shared memory, where the code counts how often they run.

use std::cmp::Reverse;
use std::collections::HashMap;

use gpu_run_bytecode::{Function, Op};

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::interprocedural::Analysis;

/// Counters at most: 16 KiB, so that a multiprocessor has room for as many blocks as without, and for its first-level cache.
const MOST: usize = 4096;

/// A function's blocks, each with the loops around it and its first word; and the calls in it, by the functions' numbers.
struct Graph {
    defined: usize,
    blocks: Vec<(u32, u32)>,
    calls: Vec<(u32, usize)>,
}

impl Graph {
    fn new(analysis: &Analysis, function: &Function) -> Graph {
        let cfg = Cfg::new(analysis.program, function);
        let depths = cfg.loop_depths();
        let defined = |word: u32| {
            analysis
                .function_at(word)
                .checked_sub(analysis.imported)
                .map(|i| i as usize)
        };
        let calls = |block: usize| {
            let nodes = cfg.block_nodes(block).iter().filter(|node| node.inst.op == Op::Call);
            nodes.filter_map(|node| defined((i64::from(node.pc) + node.inst.args[1]) as u32))
        };
        let blocks = 0..cfg.blocks.len();
        Graph {
            defined: defined(function.start).unwrap_or_default(),
            calls: (blocks.clone())
                .flat_map(|block| calls(block).map(move |callee| (block, callee)))
                .map(|(block, callee)| (depths[block], callee))
                .collect(),
            blocks: blocks.map(|block| (depths[block], cfg.first_word(block))).collect(),
        }
    }
}

/// In how many loops functions are called, about: as far as a few calls deep tell.
fn called_in(graphs: &[Graph], functions: usize) -> Vec<u32> {
    const CALLS: usize = 6;
    const MOST_LOOPS: u32 = 12;
    let mut around = vec![0; functions];
    for _ in 0..CALLS {
        let mut next = around.clone();
        for graph in graphs {
            for (depth, callee) in &graph.calls {
                let loops = (around[graph.defined] + depth).min(MOST_LOOPS);
                next[*callee] = loops.max(next[*callee]);
            }
        }
        if next == around {
            break;
        }
        around = next;
    }
    around
}

/// Calls that a function may lead to without counting them as passes. So a counter is emptied before it is full: see
/// `emit::counts`.
pub const MOST_CALLS: u64 = 1 << 3;

/// The counters of a program.
pub struct Counters {
    /// By the first word of a block.
    numbers: HashMap<u32, u32>,
    /// The first words of the blocks that have a counter, in the order of these.
    pub words: Vec<u32>,
    /// Whether each block has a second one, for warps.
    pub warps: bool,
}

impl Counters {
    /// Those of all blocks that are compiled; where these are too many, of those in most loops.
    pub fn of(analysis: &Analysis, warps: bool) -> Counters {
        let most = if warps { MOST / 2 } else { MOST };
        let functions = analysis.facts.iter().zip(&analysis.program.meta.functions);
        let compiled = functions.filter(|(facts, _)| facts.needed && !facts.interpreted);
        let graphs: Vec<Graph> = compiled.map(|(_, function)| Graph::new(analysis, function)).collect();
        let around = called_in(&graphs, analysis.facts.len());
        let blocks = graphs.iter().flat_map(|graph| {
            let around = around[graph.defined];
            graph.blocks.iter().map(move |(depth, word)| (depth + around, *word))
        });
        let mut blocks: Vec<(u32, u32)> = blocks.collect();
        if blocks.len() > most {
            blocks.sort_by_key(|(depth, word)| (Reverse(*depth), *word));
            blocks.truncate(most);
        }
        let words: Vec<u32> = blocks.iter().map(|(_, word)| *word).collect();
        Counters {
            numbers: words.iter().copied().zip(0..).collect(),
            words,
            warps,
        }
    }

    /// Counters in all.
    pub fn count(&self) -> u32 {
        self.words.len() as u32 * if self.warps { 2 } else { 1 }
    }

    /// The counter of the block that begins at a word.
    pub fn number(&self, word: u32) -> Option<u32> {
        self.numbers.get(&word).copied()
    }
}
