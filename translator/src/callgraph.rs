//! The call graph: which function calls which.
//!
//! An indirect call may reach every function of the call's type whose address is taken. Such a
//! function stands in an element segment, an initial value or a `ref.func`. Calls of a type go
//! through one node for it, so that the graph stays linear in the size of the module. Imported
//! functions are leaves: what the host calls back is not known here.
//!
//! In: a module. Out: a [`CallGraph`], which tells callees, recursion, reachable functions, and depths of calls.
//!
//! - this file: the graph's nodes and edges, and what is asked of it;
//! - `cycles`: which calls make a recursion, to show it to a user.

mod cycles;

use std::collections::HashMap;
use std::sync::OnceLock;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use wasmparser::{ExternalKind, Operator};

use crate::module::{ElementItems, Module};

pub use cycles::{Cycle, CycleCall};

/// The call graph of a module.
#[derive(Clone, Debug)]
pub struct CallGraph {
    funcs: u32,
    imported: u32,
    /// Nodes are functions by index, then types by canonical number. Edges of node `n` are
    /// `edges[starts[n]..starts[n + 1]]`, without duplicates.
    starts: Vec<u32>,
    edges: Vec<u32>,
    /// Number of direct call instructions that name each function.
    call_sites: Vec<u32>,
    /// Whether each function's address is taken.
    address_taken: Vec<bool>,
    /// Functions that the outside or the start of the module reaches.
    roots: Vec<u32>,
    /// Found when first asked for: reachability does not need them.
    components: OnceLock<Components>,
}

/// The strongly connected components.
#[derive(Clone, Debug)]
struct Components {
    /// Component of each node; numbered so that callees have lower numbers than callers.
    of: Vec<u32>,
    /// Nodes by component, and where each component starts.
    nodes: Vec<u32>,
    starts: Vec<u32>,
}

impl CallGraph {
    /// Reads the calls of `module`.
    pub fn new(module: &Module<'_>) -> CallGraph {
        let funcs = module.func_count();
        let canonical = canonical_types(module);
        let mut address_taken = vec![false; funcs as usize];
        mark_sections(module, &mut address_taken);
        let mut graph = CallGraph {
            funcs,
            imported: module.imported_funcs.len() as u32,
            starts: vec![0],
            edges: Vec::new(),
            call_sites: vec![0; funcs as usize],
            address_taken,
            roots: Vec::new(),
            components: OnceLock::new(),
        };
        graph.read_edges(module, &canonical);
        graph.roots = roots(module, &graph.address_taken);
        graph
    }

    fn read_edges(&mut self, module: &Module<'_>, canonical: &[u32]) {
        let imported = module.imported_funcs.len();
        self.starts.resize(imported + 1, 0);
        // The last caller that named a callee: keeps duplicates out.
        let mut seen = vec![u32::MAX; self.funcs as usize + module.types.len()];
        for (i, func) in module.funcs.iter().enumerate() {
            let caller = (imported + i) as u32;
            let summary = func.summary();
            for call in &summary.calls {
                self.call_sites[call.callee as usize] += 1;
            }
            for &function in &summary.refs {
                self.address_taken[function as usize] = true;
            }
            let direct = summary.calls.iter().map(|call| call.callee);
            let through_types = summary.indirect.iter().map(|ty| self.funcs + canonical[*ty as usize]);
            for callee in direct.chain(through_types) {
                if std::mem::replace(&mut seen[callee as usize], caller) != caller {
                    self.edges.push(callee);
                }
            }
            self.starts.push(self.edges.len() as u32);
        }
        let mut by_type = vec![Vec::new(); module.types.len()];
        for func in 0..self.funcs {
            if let (true, Some(ty)) = (self.address_taken[func as usize], module.func_type_index(func)) {
                by_type[canonical[ty as usize] as usize].push(func);
            }
        }
        for functions in by_type {
            self.edges.extend(functions);
            self.starts.push(self.edges.len() as u32);
        }
    }

    fn node_edges(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Kosaraju's algorithm, which petgraph runs on a stack of its own: a deep chain of calls cannot overflow ours.
    fn find_components(&self) -> Components {
        let nodes = self.starts.len() - 1;
        let mut graph = DiGraph::<(), ()>::with_capacity(nodes, self.edges.len());
        for _ in 0..nodes {
            graph.add_node(());
        }
        for node in 0..nodes as u32 {
            for &callee in self.node_edges(node) {
                graph.add_edge(node.into(), callee.into(), ());
            }
        }
        let mut components = Components {
            of: vec![0; nodes],
            nodes: Vec::with_capacity(nodes),
            starts: vec![0],
        };
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                components.of[member.index()] = number as u32;
                components.nodes.push(member.index() as u32);
            }
            components.starts.push(components.nodes.len() as u32);
        }
        components
    }

    fn components(&self) -> &Components {
        self.components.get_or_init(|| self.find_components())
    }

    fn component_members(&self, component: u32) -> &[u32] {
        let c = component as usize;
        &self.components().nodes[self.components().starts[c] as usize..self.components().starts[c + 1] as usize]
    }

    /// Functions that `func` calls directly, each once. Indirect calls are not among them.
    pub fn direct_callees(&self, func: u32) -> impl Iterator<Item = u32> + '_ {
        self.node_edges(func)
            .iter()
            .copied()
            .filter(|&callee| callee < self.funcs)
    }

    /// Functions that `func` may call, directly or not. A function may come twice.
    pub fn callees(&self, func: u32) -> impl Iterator<Item = u32> + '_ {
        self.node_edges(func).iter().flat_map(move |&node| {
            let through_type = (node >= self.funcs).then(|| self.node_edges(node));
            let direct = (node < self.funcs).then_some(node);
            direct
                .into_iter()
                .chain(through_type.unwrap_or_default().iter().copied())
        })
    }

    /// Whether `func` contains an indirect call.
    pub fn calls_indirectly(&self, func: u32) -> bool {
        self.node_edges(func).iter().any(|&node| node >= self.funcs)
    }

    /// Number of direct call instructions in the module that name `func`.
    pub fn call_sites(&self, func: u32) -> u32 {
        self.call_sites[func as usize]
    }

    /// Whether `func` may be called through a table or reference.
    pub fn is_address_taken(&self, func: u32) -> bool {
        self.address_taken[func as usize]
    }

    /// Whether `func` calls nothing (an imported function is a leaf).
    pub fn is_leaf(&self, func: u32) -> bool {
        self.node_edges(func).is_empty()
    }

    /// Exports, the start function, and all functions whose address is taken.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// Whether `func` can, by any path, call itself.
    pub fn is_recursive(&self, func: u32) -> bool {
        self.component_members(self.components().of[func as usize]).len() > 1 || self.node_edges(func).contains(&func)
    }

    /// Whether a call from `caller` to `callee` may come back to `caller`.
    pub fn same_component(&self, caller: u32, callee: u32) -> bool {
        self.components().of[caller as usize] == self.components().of[callee as usize]
    }

    /// The sets of functions that can call each other in a circle, callees before callers.
    /// A function that calls itself is a set of one.
    pub fn recursive_components(&self) -> Vec<Vec<u32>> {
        let components = 0..self.components().starts.len() as u32 - 1;
        components
            .map(|component| {
                let members = self.component_members(component).iter().copied();
                let mut members: Vec<u32> = members
                    .filter(|&node| node < self.funcs && self.is_recursive(node))
                    .collect();
                members.sort_unstable();
                members
            })
            .filter(|members| !members.is_empty())
            .collect()
    }

    /// All functions, callees before their callers (in any order within a recursive component).
    pub fn bottom_up(&self) -> impl Iterator<Item = u32> + '_ {
        self.components()
            .nodes
            .iter()
            .copied()
            .filter(|&node| node < self.funcs)
    }

    /// Whether each function can be reached from `roots`.
    pub fn reachable(&self, roots: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let mut reached = vec![false; self.starts.len() - 1];
        let mut work: Vec<u32> = roots.into_iter().collect();
        while let Some(node) = work.pop() {
            if !std::mem::replace(&mut reached[node as usize], true) {
                work.extend(self.node_edges(node).iter().filter(|&&t| !reached[t as usize]));
            }
        }
        reached.truncate(self.funcs as usize);
        reached
    }

    /// For each function, the most frames that can be open at once in a call of it, its own among them. It is `None` if
    /// it can reach a recursion. Imported functions have no frame.
    pub fn max_depths(&self) -> Vec<Option<u64>> {
        self.max_sums(|_| 1)
    }

    /// For each function, the largest sum of `size` over the frames that can be open at once in a call, its own among
    /// them. It is `None` if it can reach a recursion. Imported functions have no frame.
    pub fn max_sums(&self, size: impl Fn(u32) -> u64) -> Vec<Option<u64>> {
        let mut sums = vec![Some(0u64); self.starts.len() - 1];
        // Callees come first, but in recursions, which have no sum.
        for &node in &self.components().nodes {
            let has_frame = node >= self.imported && node < self.funcs;
            let own = if has_frame { size(node) } else { 0 };
            let mut callees = self.node_edges(node).iter().map(|&callee| sums[callee as usize]);
            let most = callees.try_fold(0u64, |most, sum| Some(most.max(sum?)));
            sums[node as usize] = match self.is_recursive(node) {
                true => None,
                false => most.map(|most| most.saturating_add(own)),
            };
        }
        sums.truncate(self.funcs as usize);
        sums
    }
}

/// For each type, the first type that is equal to it.
fn canonical_types(module: &Module<'_>) -> Vec<u32> {
    let mut first = HashMap::new();
    let types = module.types.iter().enumerate();
    types.map(|(i, ty)| *first.entry(ty).or_insert(i as u32)).collect()
}

fn mark(ops: &[Operator<'_>], taken: &mut [bool]) {
    for op in ops {
        if let Operator::RefFunc { function_index } = op {
            taken[*function_index as usize] = true;
        }
    }
}

/// Addresses taken by element segments and initial values.
fn mark_sections(module: &Module<'_>, taken: &mut [bool]) {
    for element in &module.elements {
        match &element.items {
            ElementItems::Functions(functions) => {
                for function in functions {
                    taken[*function as usize] = true;
                }
            }
            ElementItems::Expressions(_, exprs) => {
                exprs.iter().for_each(|expr| mark(&expr.ops, taken));
            }
        }
    }
    module.globals.iter().for_each(|global| mark(&global.init.ops, taken));
    module
        .tables
        .iter()
        .flat_map(|table| &table.init)
        .for_each(|init| mark(&init.ops, taken));
}

fn roots(module: &Module<'_>, address_taken: &[bool]) -> Vec<u32> {
    let mut is_root = address_taken.to_vec();
    for export in module.exports.iter().filter(|export| export.kind == ExternalKind::Func) {
        is_root[export.index as usize] = true;
    }
    if let Some(start) = module.start {
        is_root[start as usize] = true;
    }
    (0..module.func_count())
        .filter(|&func| is_root[func as usize])
        .collect()
}

#[cfg(test)]
mod tests;
