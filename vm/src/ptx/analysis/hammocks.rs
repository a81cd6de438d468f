//! Branches whose ways come together again.

use std::collections::BTreeSet;

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::ptx::analysis::cfg::Cfg;

/// A branch and the block in which its ways come together: each lane that branches comes there once before it branches
/// here again, or ends, and none comes there that has not branched here.
pub struct Hammock {
    /// The block that ends in the branch.
    pub branch: usize,
    /// The block in which all ways come together.
    pub join: usize,
    /// The blocks on the ways.
    pub between: BTreeSet<usize>,
}

/// The nodes of a graph are the blocks, and one before or after all others.
fn dominators(blocks: usize, edges: &[(usize, usize)]) -> Dominators<NodeIndex> {
    let mut graph = DiGraph::<(), ()>::with_capacity(blocks + 1, edges.len());
    (0..=blocks).for_each(|_| _ = graph.add_node(()));
    for (from, to) in edges {
        graph.add_edge(NodeIndex::new(*from), NodeIndex::new(*to), ());
    }
    simple_fast(&graph, NodeIndex::new(blocks))
}

/// The hammocks of a function of which these blocks end the thread. None if it has an irreducible cycle: there a lane may
/// branch twice before it comes to the join.
pub fn hammocks(cfg: &Cfg, dead_ends: &BTreeSet<usize>) -> Vec<Hammock> {
    let loops = cfg.reducible_loops();
    if loops.len() != cfg.loop_heads().count() {
        return Vec::new();
    }
    let outside = cfg.blocks.len();
    let lives = |block: &usize| !dead_ends.contains(block);
    let compiled = |block: &usize| !cfg.blocks[*block].cold;
    let (mut ways, mut back) = (vec![(outside, 0)], Vec::new());
    ways.extend(cfg.entries.iter().map(|entry| (outside, *entry)));
    for block in cfg.order.iter().copied().filter(lives) {
        let next: BTreeSet<usize> = cfg.blocks[block].successors.iter().copied().filter(lives).collect();
        // What is not compiled may lead anywhere.
        if next.is_empty() || !compiled(&block) || cfg.has_cold_entry(block) {
            back.push((outside, block));
        }
        ways.extend(next.iter().map(|to| (block, *to)));
        back.extend(next.iter().map(|to| (*to, block)));
    }
    let before = dominators(outside, &ways);
    let after = dominators(outside, &back);
    let mut loops_of = vec![Vec::new(); outside];
    for (head, blocks) in &loops {
        blocks.iter().for_each(|block| loops_of[*block].push(*head));
    }
    let first = |dominators: &Dominators<NodeIndex>, block: usize| {
        let found = dominators.immediate_dominator(NodeIndex::new(block))?.index();
        (found != outside).then_some(found)
    };
    let mut found = Vec::new();
    for join in cfg.order.iter().copied().filter(lives) {
        let Some(branch) = first(&before, join) else { continue };
        let together = first(&after, branch) == Some(join) && loops_of[branch] == loops_of[join];
        if !together || cfg.blocks[branch].successors.iter().filter(|to| lives(to)).count() < 2 {
            continue;
        }
        let mut between = BTreeSet::new();
        let mut work: Vec<usize> = cfg.blocks[branch].successors.clone();
        while let Some(block) = work.pop() {
            if block != join && lives(&block) && between.insert(block) {
                work.extend(&cfg.blocks[block].successors);
            }
        }
        found.push(Hammock { branch, join, between });
    }
    found
}
