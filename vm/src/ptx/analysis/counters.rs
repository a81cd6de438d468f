//! Which basic blocks have a counter in shared memory, where the code counts how often they run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use gpu_run_bytecode::{Function, Op};

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::interprocedural::Analysis;

/// Counters at most: 16 KiB of a hardware block. What they take is no room for lanes' frames, nor for the first-level cache.
const MOST: usize = 4096;

/// Of a function: its blocks on ways that come back to its caller, each with the loops around it and its first word; and what
/// these call, directly by the functions' numbers, and through tables by type.
struct Graph {
    blocks: Vec<(u32, u32)>,
    calls: Vec<(u32, usize)>,
    indirect: Vec<(u32, usize)>,
}

impl Graph {
    fn new(analysis: &Analysis, function: &Function) -> Graph {
        let cfg = Cfg::new(analysis.program, function);
        let (depths, dead) = (cfg.loop_depths(), cfg.dead_ends());
        let mut graph = Graph {
            blocks: Vec::new(),
            calls: Vec::new(),
            indirect: Vec::new(),
        };
        for block in (0..cfg.blocks.len()).filter(|block| !dead.contains(block)) {
            let depth = depths[block];
            graph.blocks.push((depth, cfg.first_word(block)));
            for node in cfg.block_nodes(block) {
                match node.inst.op {
                    Op::Call | Op::ReturnCall => {
                        let callee = analysis.function_at((i64::from(node.pc) + node.inst.args[1]) as u32);
                        let defined = callee.checked_sub(analysis.imported);
                        graph.calls.extend(defined.map(|defined| (depth, defined as usize)));
                    }
                    Op::CallIndirect | Op::ReturnCallIndirect => {
                        let ty = analysis.canonical.get(node.inst.args[3] as usize);
                        graph.indirect.extend(ty.map(|ty| (depth, *ty)));
                    }
                    _ => {}
                }
            }
        }
        graph
    }
}

/// In how many loops functions run, about: as far as a few calls deep tell. `None` of one that is not reached from these
/// entries but on ways that end by a trap.
fn called_in(analysis: &Analysis, graphs: &BTreeMap<usize, Graph>, entries: &[usize]) -> Vec<Option<u32>> {
    const CALLS: usize = 6;
    const MOST_LOOPS: u32 = 12;
    let mut pointed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (defined, facts) in analysis.facts.iter().enumerate().filter(|(_, facts)| facts.pointed) {
        let ty = analysis.program.meta.functions[defined].ty as usize;
        debug_assert!(facts.needed);
        pointed.entry(analysis.canonical[ty]).or_default().push(defined);
    }
    let mut around = vec![None; analysis.facts.len()];
    entries.iter().for_each(|entry| around[*entry] = Some(0));
    let mut rounds = 0;
    loop {
        let mut next = around.clone();
        let mut reached = false;
        for (defined, graph) in graphs {
            let Some(outer) = around[*defined] else { continue };
            let through_tables = graph.indirect.iter().flat_map(|(depth, ty)| {
                let functions = pointed.get(ty).into_iter().flatten();
                functions.map(|function| (*depth, *function))
            });
            for (depth, callee) in graph.calls.iter().copied().chain(through_tables) {
                let loops = (outer + depth).min(MOST_LOOPS);
                reached |= next[callee].is_none();
                next[callee] = next[callee].max(Some(loops));
            }
        }
        rounds += 1;
        let done = next == around || (rounds > CALLS && !reached);
        around = next;
        if done {
            return around;
        }
    }
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
    /// Those of all blocks that threads come to from these entries, indices with imports first, unless they trap. Where these
    /// are too many, of those in most loops.
    pub fn of(analysis: &Analysis, entries: &[u32], warps: bool) -> Counters {
        let most = if warps { MOST / 2 } else { MOST };
        let functions = analysis.facts.iter().zip(&analysis.program.meta.functions).enumerate();
        let compiled = functions.filter(|(_, (facts, _))| facts.needed && !facts.interpreted);
        let graphs = compiled.map(|(defined, (_, function))| (defined, Graph::new(analysis, function)));
        let graphs: BTreeMap<usize, Graph> = graphs.collect();
        let entries = entries.iter().copied().chain(analysis.thread_start);
        let entries = entries.filter_map(|index| Some(index.checked_sub(analysis.imported)? as usize));
        let around = called_in(analysis, &graphs, &entries.collect::<Vec<_>>());
        let blocks = graphs.iter().filter_map(|(defined, graph)| {
            let around = around[*defined]?;
            Some(graph.blocks.iter().map(move |(depth, word)| (depth + around, *word)))
        });
        let mut blocks: Vec<(u32, u32)> = blocks.flatten().collect();
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
