//! Which basic blocks have a counter in shared memory, where the code counts how often they run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use gpu_run_bytecode::Op;

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::interprocedural::Analysis;

/// Counters at most: 16 KiB of a hardware block. What they take is no room for lanes' frames, nor for the first-level cache.
const MOST: usize = 4096;
/// The same of a kernel with a frame in shared memory, if some are of functions to which only tables lead, and if some are of
/// blocks that seldom run.
const MOST_LISTED: usize = 1024;
const MOST_SELDOM: usize = 256;

/// How likely it is that threads come somewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Chance {
    /// Only before a trap or an exit, or through tables that many other functions are in. In Rust such a call of formatting may
    /// be of a large part of the program, most of which never runs.
    Seldom,
    /// Through tables that few functions are in, or in loops.
    Listed,
    /// By calls of functions by their names.
    Named,
}

/// How threads come from one place to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    chance: Chance,
    /// Loops on this way, about.
    loops: u32,
}

impl Way {
    const START: Way = Way {
        chance: Chance::Named,
        loops: 0,
    };

    /// This way, and another one from its end on.
    fn and(self, next: Way) -> Way {
        const MOST_LOOPS: u32 = 12;
        Way {
            chance: self.chance.min(next.chance),
            loops: (self.loops + next.loops).min(MOST_LOOPS),
        }
    }

    /// The same, and on by a call through a table, to one of so many functions.
    fn to_one_of(self, functions: usize) -> Way {
        // As if each loop made eight passes.
        let calls = 8usize.saturating_pow(self.loops + 1);
        let chance = if functions <= calls {
            Chance::Listed
        } else {
            Chance::Seldom
        };
        Way {
            chance: self.chance.min(chance),
            ..self
        }
    }
}

/// The ways within a function: to its blocks, by their first words; to the functions that it calls by name; and to calls through
/// tables, by type.
struct Graph {
    blocks: Vec<(u32, Way)>,
    named: BTreeMap<usize, Way>,
    listed: BTreeMap<usize, Way>,
}

impl Graph {
    fn new(analysis: &Analysis, defined: usize) -> Graph {
        let function = &analysis.program.meta.functions[defined];
        let cfg = Cfg::new(analysis.program, function);
        let (depths, mut dead) = (cfg.loop_depths(), cfg.dead_ends());
        if dead.contains(&0) {
            // It never returns, and runs as often as it is called.
            dead.clear();
        }
        let mut graph = Graph {
            blocks: Vec::new(),
            named: BTreeMap::new(),
            listed: BTreeMap::new(),
        };
        for block in &cfg.order {
            let way = Way {
                chance: if dead.contains(block) {
                    Chance::Seldom
                } else {
                    Chance::Named
                },
                loops: depths[*block],
            };
            graph.blocks.push((cfg.first_word(*block), way));
            for node in cfg.block_nodes(*block) {
                let (calls, callee) = match node.inst.op {
                    Op::Call | Op::ReturnCall => {
                        let callee = analysis.callee(node.pc, &node.inst);
                        let defined = callee.checked_sub(analysis.imported).map(|defined| defined as usize);
                        (
                            &mut graph.named,
                            defined.filter(|defined| *defined < analysis.facts.len()),
                        )
                    }
                    Op::CallIndirect | Op::ReturnCallIndirect => {
                        let ty = analysis.canonical.get(node.inst.args[3] as usize);
                        (&mut graph.listed, ty.copied())
                    }
                    _ => continue,
                };
                // Recursion is no loop around what recurses.
                let loops = match analysis.leads_back(&analysis.facts[defined], node.pc, &node.inst) {
                    true => 0,
                    false => way.loops,
                };
                if let Some(callee) = callee {
                    let way = Way { loops, ..way };
                    let best = calls.entry(callee).or_insert(way);
                    *best = way.max(*best);
                }
            }
        }
        graph
    }
}

/// The best ways to functions from these entries; `None` where there is none.
fn ways(
    analysis: &Analysis,
    graphs: &BTreeMap<usize, Graph>,
    entries: impl Iterator<Item = usize>,
) -> Vec<Option<Way>> {
    let mut pointed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (defined, _) in analysis.facts.iter().enumerate().filter(|(_, facts)| facts.pointed) {
        let ty = analysis.program.meta.functions[defined].ty as usize;
        pointed.entry(analysis.canonical[ty]).or_default().push(defined);
    }
    let mut ways: Vec<Option<Way>> = vec![None; analysis.facts.len()];
    // By type, to what is called through tables: each type's functions are looked at when there is a better way to them.
    let mut to_types: BTreeMap<usize, Way> = BTreeMap::new();
    let mut found: Vec<(usize, Way)> = entries.map(|entry| (entry, Way::START)).collect();
    while let Some((defined, way)) = found.pop() {
        let best = &mut ways[defined];
        if best.is_some_and(|best| best >= way) {
            continue;
        }
        *best = Some(way);
        let Some(graph) = graphs.get(&defined) else { continue };
        found.extend(graph.named.iter().map(|(callee, next)| (*callee, way.and(*next))));
        for (ty, next) in &graph.listed {
            let functions = pointed.get(ty).map_or(&[][..], |functions| functions);
            let way = way.and(*next).to_one_of(functions.len());
            if to_types.get(ty).is_none_or(|best| way > *best) {
                to_types.insert(*ty, way);
                found.extend(functions.iter().map(|function| (*function, way)));
            }
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
    /// Those of the blocks to which threads most likely come from these entries, indices with imports first. Among like ones those
    /// in most loops come first. With `frames` in shared memory, where counters cost lanes, fewer of the others have some: in
    /// memory a count takes some 14 machine instructions.
    pub fn of(analysis: &Analysis, entries: &[u32], warps: bool, frames: bool) -> Counters {
        let facts = analysis.facts.iter().enumerate();
        let compiled = facts.filter(|(_, facts)| facts.needed && !facts.interpreted);
        let graphs: BTreeMap<usize, Graph> = compiled
            .map(|(defined, _)| (defined, Graph::new(analysis, defined)))
            .collect();
        let entries = entries.iter().copied().chain(analysis.thread_start);
        let entries = entries.filter_map(|index| Some(index.checked_sub(analysis.imported)? as usize));
        let ways = ways(analysis, &graphs, entries);
        let blocks = graphs.iter().filter_map(|(defined, graph)| {
            let way = ways[*defined]?;
            Some(graph.blocks.iter().map(move |(word, within)| (way.and(*within), *word)))
        });
        let mut blocks: Vec<(Way, u32)> = blocks.flatten().collect();
        blocks.sort_by_key(|(way, word)| (Reverse(*way), *word));
        let each = if warps { 2 } else { 1 };
        let room = |least: Chance, most: usize| blocks.partition_point(|(way, _)| way.chance >= least).min(most / each);
        let most = match frames {
            true => (room(Chance::Named, MOST))
                .max(room(Chance::Listed, MOST_LISTED))
                .max(room(Chance::Seldom, MOST_SELDOM)),
            false => room(Chance::Seldom, MOST),
        };
        let words: Vec<u32> = blocks[..most].iter().map(|(_, word)| *word).collect();
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
