//! Strongly connected components, of graphs of calls.

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
