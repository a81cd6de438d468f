//! The loops of a function's machine code.

use std::collections::BTreeMap;

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use super::functions::before;

/// The natural loops of code that begins at instruction 0, as the places of their instructions, in order. `next` has for each
/// instruction those that may follow it. A cycle with several ways in is none.
pub fn find(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    if next.is_empty() {
        return Vec::new();
    }
    let before = before(next);
    let spans = dominated(next);
    // A loop goes back to what all ways to its end lead through.
    let closes = |head: usize, at: usize| {
        let (outer, inner) = (&spans[head], &spans[at]);
        !inner.is_empty() && outer.start <= inner.start && inner.end <= outer.end
    };
    let mut ends: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, to) in next.iter().enumerate() {
        for head in to
            .iter()
            .copied()
            .filter(|head| *head < next.len() && closes(*head, at))
        {
            ends.entry(head).or_default().push(at);
        }
    }
    let mut seen = vec![usize::MAX; next.len()];
    let body = |(head, ends): (usize, Vec<usize>)| {
        seen[head] = head;
        let (mut body, mut open) = (vec![head], ends);
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], head) != head {
                body.push(at);
                open.extend(&before[at]);
            }
        }
        body.sort_unstable();
        body
    };
    ends.into_iter().map(body).collect()
}

/// For each instruction a range of numbers, in which are those of all that it dominates. It is empty if no way leads there.
fn dominated(next: &[Vec<usize>]) -> Vec<std::ops::Range<usize>> {
    let mut graph = DiGraph::<(), ()>::with_capacity(next.len(), next.len());
    next.iter().for_each(|_| _ = graph.add_node(()));
    for (at, to) in next.iter().enumerate() {
        for to in to.iter().filter(|to| **to < next.len()) {
            graph.add_edge(NodeIndex::new(at), NodeIndex::new(*to), ());
        }
    }
    let dominators = simple_fast(&graph, NodeIndex::new(0));
    let mut below = vec![Vec::new(); next.len()];
    for at in 1..next.len() {
        if let Some(above) = dominators.immediate_dominator(NodeIndex::new(at)) {
            below[above.index()].push(at);
        }
    }
    let (mut spans, mut number) = (vec![0..0; next.len()], 0);
    // What is entered, and after all below it what is left.
    let mut open = vec![(0, true)];
    while let Some((at, enters)) = open.pop() {
        if enters {
            spans[at] = number..number;
            number += 1;
            open.push((at, false));
            open.extend(below[at].iter().map(|at| (*at, true)));
        } else {
            spans[at].end = number;
        }
    }
    spans
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_lie_in_each_other() {
        // 1 to 4, and in it 2 to 3.
        let next = [vec![1], vec![2], vec![3], vec![2, 4], vec![5, 1], vec![]];
        assert_eq!(find(&next), [vec![1, 2, 3, 4], vec![2, 3]]);
    }

    #[test]
    fn a_loop_with_two_ends_is_one() {
        let next = [vec![1], vec![2, 3], vec![1], vec![1, 4], vec![]];
        assert_eq!(find(&next), [vec![1, 2, 3]]);
    }

    #[test]
    fn a_cycle_with_two_ways_in_is_none() {
        let next = [vec![1, 2], vec![2], vec![1, 3], vec![]];
        assert!(find(&next).is_empty());
        assert!(find(&[]).is_empty());
        // An instruction that falls off the end.
        assert!(find(&[vec![1]]).is_empty());
    }
}
