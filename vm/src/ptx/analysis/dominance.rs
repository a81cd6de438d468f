//! Which blocks every way leads through.

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

/// Where the ways out of a loop come together: each lane that comes into the loop comes there once before it comes into the
/// loop again, or ends, and none comes there that has not been in the loop.
pub struct LoopEnd {
    /// The block in which all ways come together.
    pub join: usize,
    /// The blocks on the ways from the loop to it.
    pub between: BTreeSet<usize>,
}

/// Of the blocks of a function without those that end the thread: which lie on all ways to one, and from it.
pub struct Dominance<'a> {
    cfg: &'a Cfg,
    dead_ends: &'a BTreeSet<usize>,
    /// On all ways from where the function is entered.
    before: Dominators<NodeIndex>,
    /// On all ways to where it is left.
    after: Dominators<NodeIndex>,
    /// The loops, and for each block the heads of those around it.
    loops: Vec<(usize, BTreeSet<usize>)>,
    around: Vec<Vec<usize>>,
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

impl<'a> Dominance<'a> {
    /// None for a function with an irreducible cycle: there a lane may branch twice before its ways come together.
    pub fn of(cfg: &'a Cfg, dead_ends: &'a BTreeSet<usize>) -> Option<Dominance<'a>> {
        let loops = cfg.reducible_loops();
        if loops.len() != cfg.loop_heads().count() {
            return None;
        }
        let outside = cfg.blocks.len();
        let lives = |block: &usize| !dead_ends.contains(block);
        let (mut ways, mut back) = (vec![(outside, 0)], Vec::new());
        ways.extend(cfg.entries.iter().map(|entry| (outside, *entry)));
        for block in cfg.order.iter().copied().filter(lives) {
            let next: BTreeSet<usize> = cfg.blocks[block].successors.iter().copied().filter(lives).collect();
            // What is not compiled may lead anywhere.
            if next.is_empty() || cfg.blocks[block].cold || cfg.has_cold_entry(block) {
                back.push((outside, block));
            }
            ways.extend(next.iter().map(|to| (block, *to)));
            back.extend(next.iter().map(|to| (*to, block)));
        }
        let mut around = vec![Vec::new(); outside];
        for (head, blocks) in &loops {
            blocks.iter().for_each(|block| around[*block].push(*head));
        }
        Some(Dominance {
            cfg,
            dead_ends,
            before: dominators(outside, &ways),
            after: dominators(outside, &back),
            loops,
            around,
        })
    }

    fn lives(&self, block: &usize) -> bool {
        !self.dead_ends.contains(block)
    }

    /// The blocks on all ways to a block, from itself back.
    fn dominators_of(&self, block: usize) -> impl Iterator<Item = usize> {
        let dominators = self.before.dominators(NodeIndex::new(block)).into_iter().flatten();
        let outside = self.cfg.blocks.len();
        dominators.map(NodeIndex::index).filter(move |block| *block != outside)
    }

    /// The next block on all ways to a block, or from it.
    fn first(dominators: &Dominators<NodeIndex>, block: usize, outside: usize) -> Option<usize> {
        let found = dominators.immediate_dominator(NodeIndex::new(block))?.index();
        (found != outside).then_some(found)
    }

    fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let successors = self.cfg.blocks[block].successors.iter().copied();
        successors.filter(|block| self.lives(block))
    }

    /// The blocks on the ways from some blocks, after `branch`, to `join`. None if a way leads back to `branch` before it comes
    /// to the join, or into a loop that never ends.
    fn between(&self, branch: usize, from: impl Iterator<Item = usize>, join: usize) -> Option<BTreeSet<usize>> {
        let mut between = BTreeSet::new();
        let mut work: Vec<usize> = from.collect();
        while let Some(block) = work.pop() {
            if block != join && between.insert(block) {
                work.extend(self.successors(block));
            }
        }
        let leaves = |block: &usize| self.after.immediate_dominator(NodeIndex::new(*block)).is_some();
        (!between.contains(&branch) && between.iter().all(leaves)).then_some(between)
    }

    /// The hammocks.
    pub fn hammocks(&self) -> Vec<Hammock> {
        let outside = self.cfg.blocks.len();
        let joins = self.cfg.order.iter().copied().filter(|block| self.lives(block));
        let hammock = |join: usize| {
            let branch = Self::first(&self.before, join, outside)?;
            let together = Self::first(&self.after, branch, outside) == Some(join);
            if !together || self.around[branch] != self.around[join] || self.successors(branch).count() < 2 {
                return None;
            }
            let between = self.between(branch, self.successors(branch), join)?;
            Some(Hammock { branch, join, between })
        };
        joins.filter_map(hammock).collect()
    }

    /// Where the ways out of a loop with this head and these blocks come together, unless all lead there at once.
    pub fn loop_end(&self, head: usize, blocks: &BTreeSet<usize>) -> Option<LoopEnd> {
        let outside = self.cfg.blocks.len();
        let mut join = head;
        while blocks.contains(&join) {
            join = Self::first(&self.after, join, outside)?;
        }
        let around = self.around[head].iter().filter(|other| **other != head);
        if !self.around[join].iter().eq(around) || !self.dominators_of(join).any(|block| block == head) {
            return None;
        }
        let exits = blocks.iter().flat_map(|block| self.successors(*block));
        let between = self.between(head, exits.filter(|block| !blocks.contains(block)), join)?;
        (!between.is_empty()).then_some(LoopEnd { join, between })
    }

    /// The heads of the loops that are in no other loop.
    pub fn outermost_loops(&self) -> impl Iterator<Item = usize> {
        let heads = self.loops.iter().map(|(head, _)| *head);
        heads.filter(|head| self.around[*head].len() == 1)
    }

    /// The blocks through which every whole pass of an outermost loop leads once, or without one every way through the
    /// function, in this order; and for each those from which no way leads to the end that does not come to the next one.
    pub fn ways(&self, head: Option<usize>) -> Vec<(usize, Vec<usize>)> {
        let ends: Vec<usize> = match head {
            Some(head) => {
                let latches = self.cfg.back_edges.iter().filter(|(_, to)| *to == head);
                latches.map(|(from, _)| *from).collect()
            }
            None => {
                let leaves = |block: &usize| self.cfg.blocks[*block].successors.is_empty() && self.lives(block);
                self.cfg.order.iter().copied().filter(leaves).collect()
            }
        };
        let inside = |block: &usize| self.around[*block][..] == head.map_or(vec![], |head| vec![head])[..];
        let mut ends = ends.into_iter();
        let mut common: Vec<usize> = ends.next().map_or(Vec::new(), |end| self.dominators_of(end).collect());
        for end in ends {
            let others: BTreeSet<usize> = self.dominators_of(end).collect();
            common.retain(|block| others.contains(block));
        }
        common.retain(inside);
        common.reverse();
        let mut ways: Vec<(usize, Vec<usize>)> = common.iter().map(|block| (*block, Vec::new())).collect();
        let mut places: Vec<Option<usize>> = vec![None; self.cfg.blocks.len()];
        for (i, block) in common.into_iter().enumerate() {
            places[block] = Some(i);
        }
        // A block's dominators come before it.
        let in_it = |block: &usize| self.lives(block) && head.is_none_or(|head| self.around[*block].contains(&head));
        for block in self.cfg.order.iter().copied().filter(in_it) {
            let dominator = self.dominators_of(block).nth(1);
            places[block] = places[block].or_else(|| places[dominator?]);
            if let Some(i) = places[block] {
                ways[i].1.push(block);
            }
        }
        ways
    }
}
