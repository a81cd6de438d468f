//! Strongly connected components, of graphs of calls, and searches in depth.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// Whether a component of a graph is a cycle.
pub fn is_cycle(edges: &[Vec<usize>], component: &[usize]) -> bool {
    component.len() > 1 || edges[component[0]].contains(&component[0])
}

/// Strongly connected components of a graph, each after those that it leads to. Kosaraju's algorithm, as petgraph's
/// Tarjan recurses as deep as the calls do.
pub fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<(), (), usize>::with_capacity(edges.len(), edges.iter().map(Vec::len).sum());
    for _ in edges {
        graph.add_node(());
    }
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            graph.add_edge(from.into(), (*to).into(), ());
        }
    }
    let components = kosaraju_scc(&graph).into_iter();
    let indices = |members: Vec<NodeIndex<usize>>| members.into_iter().map(NodeIndex::index).collect();
    components.map(indices).collect()
}

/// A search of a graph in depth, from one root after the other. Its stack is its own: petgraph's search, which tells the same,
/// recurses once for each node.
pub struct DepthFirst {
    seen: Vec<bool>,
    /// On the way from the root to the node that is looked at.
    open: Vec<bool>,
    /// The edges that close cycles.
    pub back_edges: Vec<(usize, usize)>,
}

impl DepthFirst {
    /// Of a graph with so many nodes.
    pub fn new(nodes: usize) -> DepthFirst {
        DepthFirst {
            seen: vec![false; nodes],
            open: vec![false; nodes],
            back_edges: Vec::new(),
        }
    }

    /// The nodes that a root leads to and that have not been seen, each after those that it leads to.
    pub fn postorder<I: Iterator<Item = usize>>(&mut self, root: usize, successors: impl Fn(usize) -> I) -> Vec<usize> {
        let mut postorder = Vec::new();
        if std::mem::replace(&mut self.seen[root], true) {
            return postorder;
        }
        self.open[root] = true;
        let mut path = vec![(root, successors(root))];
        while let Some((from, next)) = path.last_mut() {
            let from = *from;
            let Some(to) = next.next() else {
                self.open[from] = false;
                postorder.push(from);
                path.pop();
                continue;
            };
            if self.open[to] {
                self.back_edges.push((from, to));
            } else if !std::mem::replace(&mut self.seen[to], true) {
                self.open[to] = true;
                path.push((to, successors(to)));
            }
        }
        postorder
    }
}
