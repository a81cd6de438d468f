//! Which calls make a recursion.

use std::collections::{HashMap, VecDeque};

use super::CallGraph;
use crate::module::Module;

/// A call in a [`Cycle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleCall {
    /// The function that is called.
    pub callee: u32,
    /// Whether only an indirect call may reach it: through a table, by its type.
    pub indirect: bool,
}

/// Calls by which a function may come back to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The function where it begins.
    pub start: u32,
    /// The calls one after the other; the last is one of `start`.
    pub calls: Vec<CycleCall>,
}

impl Cycle {
    /// The cycle with the functions' names: `a -> b -> a`, with `(indirect)` before a function
    /// that an indirect call reaches.
    pub fn display(&self, module: &Module<'_>) -> String {
        let mut text = module.func_display_name(self.start);
        for call in &self.calls {
            text += if call.indirect { " -> (indirect) " } else { " -> " };
            text += &module.func_display_name(call.callee);
        }
        text
    }
}

impl CallGraph {
    /// A shortest cycle through function `func`, if it is recursive.
    pub fn cycle_through(&self, func: u32) -> Option<Cycle> {
        let component = self.components().of[func as usize];
        // Breadth first, so that the first way back is a shortest one.
        let mut came_from: HashMap<u32, u32> = HashMap::new();
        let mut queue = VecDeque::from([func]);
        while let Some(node) = queue.pop_front() {
            for &next in self.node_edges(node) {
                if self.components().of[next as usize] != component || came_from.contains_key(&next) {
                    continue;
                }
                came_from.insert(next, node);
                if next == func {
                    return Some(self.walk_back(func, &came_from));
                }
                queue.push_back(next);
            }
        }
        None
    }

    fn walk_back(&self, func: u32, came_from: &HashMap<u32, u32>) -> Cycle {
        let mut calls = Vec::new();
        let mut node = func;
        loop {
            let before = came_from[&node];
            // A call through a type's node is an indirect one.
            let indirect = before >= self.funcs;
            calls.push(CycleCall { callee: node, indirect });
            node = if indirect { came_from[&before] } else { before };
            if node == func {
                break;
            }
        }
        calls.reverse();
        Cycle { start: func, calls }
    }

    /// A cycle that calls from outside can reach: through the exports and the start function.
    pub fn reachable_cycle(&self, module: &Module<'_>) -> Option<Cycle> {
        let entries = module
            .exports
            .iter()
            .filter(|export| export.kind == super::ExternalKind::Func);
        let entries = entries.map(|export| export.index).chain(module.start);
        let mut seen = vec![false; self.starts.len() - 1];
        let mut queue: VecDeque<u32> = entries.collect();
        while let Some(node) = queue.pop_front() {
            if std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            if node < self.funcs && self.is_recursive(node) {
                return self.cycle_through(node);
            }
            queue.extend(self.node_edges(node));
        }
        None
    }
}
