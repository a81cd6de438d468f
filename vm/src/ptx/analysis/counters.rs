//! Which basic blocks have a counter in shared memory, where the code counts how often they run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use gpu_run_bytecode::{Function, Op};

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::interprocedural::Analysis;

/// Counters at most: 16 KiB of a hardware block. What they take is no room for lanes' frames, nor for the first-level cache.
const MOST: usize = 4096;
/// As many, if others than those of functions that are called by name would be among them.
const MOST_THROUGH_TABLES: usize = 1024;

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

/// How threads come to a function that does not only lead to a trap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    /// By calls that name the function, from an entry on. Through a table any function of a type may be called: in Rust's
    /// formatting that is a large part of many programs, most of which never runs.
    direct: bool,
    /// Loops around these calls, about.
    loops: u32,
}

/// The ways to functions from these entries, as far as a few calls deep tell. `None` where there is none.
fn ways(analysis: &Analysis, graphs: &BTreeMap<usize, Graph>, entries: &[usize]) -> Vec<Option<Way>> {
    const CALLS: usize = 6;
    const MOST_LOOPS: u32 = 12;
    /// Loops around a call through a table that counts. In formatting there is one around each.
    const LEAST_LOOPS: u32 = 2;
    let mut pointed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (defined, _) in analysis.facts.iter().enumerate().filter(|(_, facts)| facts.pointed) {
        let ty = analysis.program.meta.functions[defined].ty as usize;
        pointed.entry(analysis.canonical[ty]).or_default().push(defined);
    }
    let mut ways = vec![None; analysis.facts.len()];
    for entry in entries {
        ways[*entry] = Some(Way { direct: true, loops: 0 });
    }
    for round in 1.. {
        let mut next = ways.clone();
        for (defined, graph) in graphs {
            let Some(way) = ways[*defined] else { continue };
            let loops = |depth: u32| (way.loops + depth).min(MOST_LOOPS);
            let direct = graph.calls.iter().map(|(depth, callee)| {
                let direct = way.direct;
                (
                    *callee,
                    Way {
                        direct,
                        loops: loops(*depth),
                    },
                )
            });
            let calls = graph.indirect.iter().filter(|(depth, _)| loops(*depth) >= LEAST_LOOPS);
            let through_tables = calls.flat_map(|(depth, ty)| {
                let functions = pointed.get(ty).into_iter().flatten();
                functions.map(|function| {
                    (
                        *function,
                        Way {
                            direct: false,
                            loops: loops(*depth),
                        },
                    )
                })
            });
            for (callee, way) in direct.chain(through_tables) {
                next[callee] = next[callee].max(Some(way));
            }
        }
        // More calls deep, functions are still found, but the loops around them no longer grow.
        let found = |ways: &[Option<Way>]| -> Vec<_> { ways.iter().map(|way| way.map(|way| way.direct)).collect() };
        let done = next == ways || (round > CALLS && found(&next) == found(&ways));
        ways = next;
        if done {
            break;
        }
    }
    ways
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
        let each = if warps { 2 } else { 1 };
        let functions = analysis.facts.iter().zip(&analysis.program.meta.functions).enumerate();
        let compiled = functions.filter(|(_, (facts, _))| facts.needed && !facts.interpreted);
        let graphs = compiled.map(|(defined, (_, function))| (defined, Graph::new(analysis, function)));
        let graphs: BTreeMap<usize, Graph> = graphs.collect();
        let entries = entries.iter().copied().chain(analysis.thread_start);
        let entries = entries.filter_map(|index| Some(index.checked_sub(analysis.imported)? as usize));
        let ways = ways(analysis, &graphs, &entries.collect::<Vec<_>>());
        let blocks = graphs.iter().filter_map(|(defined, graph)| {
            let way = ways[*defined]?;
            Some(
                graph
                    .blocks
                    .iter()
                    .map(move |(depth, word)| (way.direct, way.loops + depth, *word)),
            )
        });
        let mut blocks: Vec<(bool, u32, u32)> = blocks.flatten().collect();
        blocks.sort_by_key(|(direct, loops, word)| (Reverse((*direct, *loops)), *word));
        let direct = blocks.partition_point(|(direct, ..)| *direct);
        blocks.truncate(direct.max(MOST_THROUGH_TABLES / each).min(MOST / each));
        let words: Vec<u32> = blocks.iter().map(|(.., word)| *word).collect();
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
