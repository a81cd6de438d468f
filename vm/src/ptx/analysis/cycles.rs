//! Which functions recurse, and how deep the stack may be when they run.

use std::collections::BTreeSet;

use crate::components::{DepthFirst, components, is_cycle};
use crate::layout::BACKTRACE;
use crate::ptx::analysis::interprocedural::Analysis;

/// Calls that a function may lead to without counting them.
pub(super) const MOST_UNCOUNTED: u64 = 1 << 16;

impl Analysis<'_> {
    /// Strongly connected components of the graph of calls. Those through tables lead
    /// to one node for each type, and from there to every function of the type that a table may hold.
    /// Those of imports lead to whatever other instances can call.
    pub(super) fn find_cycles(&mut self) {
        let count = self.facts.len();
        let canonical = &self.canonical;
        let (tables, imports) = (count, count + canonical.len());
        let type_of = |defined: usize| self.type_of(defined);
        let pointed = || (0..count).filter(|i| self.facts[*i].pointed);
        let mut edges: Vec<Vec<usize>> = vec![Vec::new(); imports + 1];
        for (edges, calls) in edges.iter_mut().zip(&self.calls) {
            let defined = |index: &u32| Some(index.checked_sub(self.imported)? as usize);
            edges.extend(calls.direct.iter().chain(&calls.tail).filter_map(defined));
            edges.extend(calls.indirect.iter().map(|ty| tables + canonical[*ty as usize]));
            edges.extend(calls.imports.then_some(imports));
        }
        for function in pointed() {
            edges[tables + type_of(function)].push(function);
        }
        if self.exports {
            // A function of another instance may be in a table, and may call anything.
            edges[imports].extend(pointed());
            (tables..imports).for_each(|ty| edges[ty].push(imports));
        }
        let components = components(&edges);
        self.find_deep(&edges, &components);
        // Calls that a call leads to, as long as nothing counts them. Components come after those that
        // they lead to.
        let mut work = vec![1u64; edges.len()];
        self.cycles = vec![0; edges.len() - count];
        let mut component_of = vec![0; edges.len()];
        let mut search = DepthFirst::new(edges.len());
        for (cycle, component) in (1..).zip(components) {
            component.iter().for_each(|member| component_of[*member] = cycle);
            let cyclic = is_cycle(&edges, &component);
            let order = match cyclic {
                true => self.find_heads(&edges, &component, &mut search),
                false => component,
            };
            for member in order {
                // In a cycle through pointers, a function that calls through them counts.
                let by_pointer = |callee: &usize| *callee >= count && component_of[*callee] == cycle;
                let closes = self.facts.get(member).is_some_and(|facts| facts.head);
                let in_cycle = closes || cyclic && edges[member].iter().any(by_pointer);
                let callees = edges[member].iter().map(|callee| work[*callee]);
                let all = match in_cycle || cyclic && member >= count {
                    true => 1,
                    false => callees.fold(1, u64::saturating_add),
                };
                let counted = in_cycle || all > self.most_uncounted;
                if !counted || member >= count {
                    work[member] = all;
                }
                if let Some(facts) = self.facts.get_mut(member) {
                    (facts.recursive, facts.counted) = (cyclic, counted);
                    facts.cycle = cycle;
                    facts.calls_itself = self.calls[member].direct.contains(&(member as u32 + self.imported));
                }
                if let Some(of_pointers) = member.checked_sub(count) {
                    self.cycles[of_pointers] = cycle;
                }
            }
        }
    }

    /// Finds the heads of a cycle: functions such that each way around it has a call by name to one of them, or one through a
    /// pointer. They are what a search in depth comes back to. Returns the members, each after those that it calls by name,
    /// but for heads.
    fn find_heads(&mut self, edges: &[Vec<usize>], component: &[usize], search: &mut DepthFirst) -> Vec<usize> {
        let count = self.facts.len();
        // A function that makes a tail call is left, and its caller makes that call. So all calls of such a cycle are looked at.
        let functions = || component.iter().copied().filter(|member| *member < count);
        let all = functions().any(|member| self.calls[member].tails);
        functions().for_each(|member| self.facts[member].head = all);
        let members: BTreeSet<usize> = functions().collect();
        let callees = |member: usize| {
            let callees = if member < count { &edges[member][..] } else { &[] };
            callees.iter().copied().filter(|callee| members.contains(callee))
        };
        let order = component
            .iter()
            .flat_map(|root| search.postorder(*root, callees))
            .collect();
        for (_, head) in search.back_edges.drain(..) {
            self.facts[head].head = true;
        }
        order
    }

    /// Finds how many frames there may be when each function runs, from the callers to what they call.
    fn find_deep(&mut self, edges: &[Vec<usize>], components: &[Vec<usize>]) {
        let count = self.facts.len();
        let mut depths = vec![1usize; edges.len()];
        if self.exports {
            // Other instances may call as deep in the stack as they like.
            depths[edges.len() - 1] = usize::MAX;
        }
        for component in components.iter().rev() {
            if is_cycle(edges, component) {
                component.iter().for_each(|member| depths[*member] = usize::MAX);
            }
            for member in component {
                // The nodes of tables and imports are no frames.
                let frame = usize::from(*member < count);
                if frame == 1 && !self.facts[*member].needed {
                    continue;
                }
                let depth = depths[*member].saturating_add(frame);
                edges[*member]
                    .iter()
                    .for_each(|to| depths[*to] = depths[*to].max(depth));
            }
        }
        for (facts, depth) in self.facts.iter_mut().zip(depths) {
            facts.deep = depth > BACKTRACE;
        }
    }
}
