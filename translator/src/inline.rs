//! Inlining: calls cost far more than other instructions, in every engine.
//!
//! Callers are visited after their callees, each once, so that the pass is linear in the size of
//! the module and of what it adds. What is inlined, with the numbers of [`InlineOptions`]:
//!
//! - a *leaf* (it calls nothing but GPU operations, maybe because its own calls were inlined) of
//!   cost at most [`leaf_cost`](InlineOptions::leaf_cost), anywhere;
//! - a function with a single call in the module, that nothing else can reach, of cost at most
//!   [`single_call_cost`](InlineOptions::single_call_cost): it moves, and is dead afterwards;
//! - with a call inside a loop, either may cost
//!   [`loop_factor`](InlineOptions::loop_factor) times as much;
//! - a function with a single call that moves into a *kernel*, maybe with its caller, of any cost, unless `unreachable`
//!   follows the call. A kernel is an exported function that nothing calls, and no entry of a program such as `main`.
//!   Kernels have the machine's cheapest code: a GPU's assembler keeps in registers of the whole warp there what
//!   functions load again for each access to memory.
//!
//! How much code may come of it:
//!
//! - The module's reachable instructions grow by at most
//!   [`growth_percent`](InlineOptions::growth_percent) of what they were, plus
//!   [`growth_base`](InlineOptions::growth_base). Each inlined call is charged before it is made;
//!   when nothing is left, calls stay calls. A copied body is charged in full, with the setting of
//!   its parameters and of locals that must be zero. Of one that moves only the latter two are new.
//! - A caller grows to at most [`caller_limit`](InlineOptions::caller_limit) instructions and, for
//!   each value type, [`caller_locals`](InlineOptions::caller_locals) locals; a kernel to
//!   [`kernel_limit`](InlineOptions::kernel_limit) and [`kernel_locals`](InlineOptions::kernel_locals). Leaves of cost at most
//!   [`tiny_cost`](InlineOptions::tiny_cost) are inlined beyond that, within the module's limit.
//!
//! The cost of a function is the number of its instructions. Those that cost nothing after lowering
//! (local access, constants, `block`, `loop`, `end`, `nop`, `drop`) do not count.
//!
//! Never inlined: imports, members of a recursion, and functions with tail calls, which must leave
//! no frame of their own.
//!
//! In: a module. Out: the same module with fewer calls, and a report. In the order in which to read them:
//!
//! - this file: the order of callers, what is chosen within the limits, and dropping what is dead afterwards;
//! - `analysis`: what must be known of a function before it is copied;
//! - `body`: copies callees' bodies into a caller.

mod analysis;
mod body;

use gpu_run_bytecode::THREAD_START;
use wasmparser::ExternalKind;

use crate::callgraph::CallGraph;
use crate::module::{Body, Call, Module, Writer};
use analysis::Facts;
use body::Inliner;

/// Exports by which a host runs a program, on one thread most often, or starts threads of it.
const PROGRAMS: [&str; 5] = ["_start", "_initialize", "main", "__main_void", THREAD_START];

/// When to inline; see the module's documentation.
#[derive(Clone, Debug)]
pub struct InlineOptions {
    /// Largest cost of a leaf function.
    pub leaf_cost: u32,
    /// Largest cost of a function with one call.
    pub single_call_cost: u32,
    /// How much more a function may cost that is called in a loop.
    pub loop_factor: u32,
    /// Instructions that a caller may grow to. One that is larger to begin with may only take in
    /// functions of [`tiny_cost`](InlineOptions::tiny_cost).
    pub caller_limit: u32,
    /// Cost up to which inlining is never a growth worth speaking of.
    pub tiny_cost: u32,
    /// Locals that a caller may grow to, counting those that are added of one type: they are its
    /// frame.
    pub caller_locals: u32,
    /// As [`caller_limit`](InlineOptions::caller_limit), of kernels with all that moves into them.
    pub kernel_limit: u32,
    /// As [`caller_locals`](InlineOptions::caller_locals), of these.
    pub kernel_locals: u32,
    /// How many percent of its size the module may grow by, ...
    pub growth_percent: u32,
    /// ... and this many instructions besides.
    pub growth_base: u32,
}

impl Default for InlineOptions {
    fn default() -> Self {
        InlineOptions {
            leaf_cost: 40,
            single_call_cost: 400,
            loop_factor: 2,
            caller_limit: 2_000,
            tiny_cost: 6,
            caller_locals: 256,
            kernel_limit: 12_000,
            kernel_locals: 1_024,
            growth_percent: 50,
            growth_base: 4_000,
        }
    }
}

impl InlineOptions {
    /// Instructions by which a module of `instrs` reachable ones may grow.
    pub fn growth_limit(&self, instrs: u64) -> u64 {
        instrs * u64::from(self.growth_percent) / 100 + u64::from(self.growth_base)
    }
}

/// What [`inline`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlineReport {
    /// Calls that were replaced by the callee's body.
    pub inlined_calls: u32,
    /// Functions that had only one call, which was replaced.
    pub moved_functions: u32,
    /// Instructions in the module before and after, dead functions not counted.
    pub instrs_before: u64,
    /// See [`instrs_before`](InlineReport::instrs_before).
    pub instrs_after: u64,
}

/// Inlines calls in all reachable functions of `module`.
///
/// Functions that are dead afterwards are kept: see [`remove_dead`].
pub fn inline(module: &mut Module<'_>, options: &InlineOptions) -> InlineReport {
    let mut report = inline_all(module, options);
    report.instrs_after = count(module, &reachable(module));
    report
}

/// As [`inline`], then [`remove_dead`].
pub fn inline_and_remove_dead(module: &mut Module<'_>, options: &InlineOptions) -> InlineReport {
    let mut report = inline_all(module, options);
    let reachable = reachable(module);
    report.instrs_after = count(module, &reachable);
    module.retain_funcs(&reachable);
    report
}

/// Leaves out of the report how many instructions there are afterwards.
fn inline_all(module: &mut Module<'_>, options: &InlineOptions) -> InlineReport {
    module.funcs.iter_mut().for_each(|func| func.body.pack());
    let graph = CallGraph::new(module);
    let reachable = graph.reachable(graph.roots().iter().copied());
    let imported = module.imported_funcs.len() as u32;
    let operations = analysis::operations(module);
    let mut report = InlineReport::default();
    let mut facts: Vec<Option<Facts>> = vec![None; module.func_count() as usize];
    for (func, facts) in facts.iter_mut().enumerate().skip(imported as usize) {
        if reachable[func] {
            let read = Facts::read(module, &operations, func as u32);
            report.instrs_before += u64::from(read.instrs);
            *facts = Some(read);
        }
    }
    let mut budget = options.growth_limit(report.instrs_before);
    let movable = movable(module, &graph);
    let order: Vec<u32> = graph
        .bottom_up()
        .filter(|&f| f >= imported && reachable[f as usize])
        .collect();
    let in_kernels = in_kernels(module, &graph, &facts, &movable, &order, options.kernel_limit);
    let mut out = Writer::default();
    for caller in order {
        let mut chooser = Chooser {
            options,
            graph: &graph,
            facts: &facts,
            movable: &movable,
            caller,
            in_kernels: &in_kernels,
            instrs: facts[caller as usize].as_ref().map_or(0, |facts| facts.instrs),
            locals: facts[caller as usize].as_ref().map_or(0, |facts| facts.locals),
            budget: &mut budget,
        };
        let chosen = choose(module, &mut chooser);
        if chosen.is_empty() {
            continue;
        }
        report.inlined_calls += chosen.len() as u32;
        report.moved_functions += chosen.iter().filter(|(_, callee)| movable[*callee as usize]).count() as u32;
        Inliner::new(module, &facts).inline_calls(caller, &chosen, &mut out);
        facts[caller as usize] = Some(Facts::read(module, &operations, caller));
    }
    report
}

/// Whether each function can be reached.
fn reachable(module: &Module<'_>) -> Vec<bool> {
    let graph = CallGraph::new(module);
    graph.reachable(graph.roots().iter().copied())
}

/// Instructions of all functions that can be reached.
fn count(module: &Module<'_>, reachable: &[bool]) -> u64 {
    let first = module.imported_funcs.len();
    let live = module.funcs.iter().enumerate().filter(|(i, _)| reachable[first + i]);
    live.map(|(_, func)| u64::from(func.summary().instrs)).sum()
}

/// Functions that one call alone can reach.
fn movable(module: &Module<'_>, graph: &CallGraph) -> Vec<bool> {
    let mut movable: Vec<bool> = (0..module.func_count())
        .map(|func| graph.call_sites(func) == 1 && !graph.is_address_taken(func))
        .collect();
    for export in module.exports.iter().filter(|export| export.kind == ExternalKind::Func) {
        movable[export.index as usize] = false;
    }
    if let Some(start) = module.start {
        movable[start as usize] = false;
    }
    movable
}

/// Whether each function is a kernel or moves into one; `order` has callees first. Nothing calls a kernel, so a callee of
/// which this holds moves.
///
/// Kernels of `vm/src/ptx/emit/entry.rs` (`is_inlined`) are meant, as far as that is known before a module is lowered.
fn in_kernels(
    module: &Module<'_>,
    graph: &CallGraph,
    facts: &[Option<Facts>],
    movable: &[bool],
    order: &[u32],
    limit: u32,
) -> Vec<bool> {
    // The kernel that each function is, or into which it moves.
    let mut kernels: Vec<Option<u32>> = vec![None; module.func_count() as usize];
    let has_tail_calls = |func: u32| facts[func as usize].as_ref().is_none_or(|facts| facts.tail_calls);
    let exports = || module.exports.iter().filter(|export| export.kind == ExternalKind::Func);
    for func in exports().map(|export| export.index) {
        let is_called = graph.call_sites(func) > 0 || graph.is_address_taken(func) || module.start == Some(func);
        kernels[func as usize] = (!is_called && !has_tail_calls(func)).then_some(func);
    }
    for export in exports().filter(|export| PROGRAMS.contains(&export.name)) {
        kernels[export.index as usize] = None;
    }
    // What may still move into each.
    let mut room = vec![limit; kernels.len()];
    for caller in order.iter().rev() {
        let (Some(kernel), Some(func)) = (kernels[*caller as usize], module.defined(*caller)) else {
            continue;
        };
        let room = &mut room[kernel as usize];
        for call in func.summary().calls.iter().filter(|call| is_expected(call)) {
            let callee = call.callee as usize;
            let instrs = facts[callee].as_ref().map_or(0, |facts| facts.instrs);
            if movable[callee] && !has_tail_calls(call.callee) && instrs <= *room {
                *room -= instrs;
                kernels[callee] = Some(kernel);
            }
        }
    }
    kernels.iter().map(Option::is_some).collect()
}

/// Whether a call is expected to return here: it is no tail call, and no `unreachable` follows.
fn is_expected(call: &Call) -> bool {
    !call.tail && !call.diverges
}

/// Decides which calls of one function are inlined.
struct Chooser<'c> {
    options: &'c InlineOptions,
    graph: &'c CallGraph,
    facts: &'c [Option<Facts>],
    movable: &'c [bool],
    caller: u32,
    in_kernels: &'c [bool],
    /// What the caller has grown to.
    instrs: u32,
    locals: u32,
    /// What the module may still grow by.
    budget: &'c mut u64,
}

/// The calls to inline: instruction number and callee.
fn choose(module: &Module<'_>, chooser: &mut Chooser<'_>) -> Vec<(usize, u32)> {
    let Some(func) = module.defined(chooser.caller) else {
        return Vec::new();
    };
    let summary = func.summary();
    let calls = summary.calls.iter().filter(|call| !call.tail);
    calls
        .filter(|call| chooser.accepts(module, call))
        .map(|call| (call.at as usize, call.callee))
        .collect()
}

impl Chooser<'_> {
    fn accepts(&mut self, module: &Module<'_>, call: &Call) -> bool {
        let callee = call.callee;
        let (Some(facts), Some(func)) = (&self.facts[callee as usize], module.defined(callee)) else {
            return false;
        };
        if facts.tail_calls || self.graph.is_recursive(callee) || self.graph.same_component(self.caller, callee) {
            return false;
        }
        let options = self.options;
        let factor = if call.in_loop { options.loop_factor } else { 1 };
        let moves = self.movable[callee as usize];
        let tiny = facts.leaf && facts.cost <= options.tiny_cost;
        let wanted = tiny
            || (facts.leaf && facts.cost <= options.leaf_cost * factor)
            || (moves && facts.cost <= options.single_call_cost * factor)
            || self.in_kernels[callee as usize];
        if !wanted {
            return false;
        }
        // Parameters are popped, locals get their zero, and the body is wrapped.
        let zeroed = facts.reads_zero(func).iter().filter(|zero| **zero).count() as u32;
        let set = facts.params + 2 * zeroed;
        let added = facts.instrs + set + 2;
        let (instrs, locals) = match self.in_kernels[self.caller as usize] {
            true => (options.kernel_limit, options.kernel_locals),
            false => (options.caller_limit, options.caller_locals),
        };
        let fits = tiny || (self.instrs + added <= instrs && self.locals.max(facts.locals) + facts.locals <= locals);
        let growth = u64::from(if moves { set } else { added });
        if !fits || growth > *self.budget {
            return false;
        }
        *self.budget -= growth;
        self.instrs += added;
        true
    }
}

/// Drops functions that neither an export, the start function, a table, a reference nor a kept
/// function can reach. Returns how many.
///
/// Indices stay consistent; [`Module::original_index`] says what each function was.
pub fn remove_dead(module: &mut Module<'_>) -> u32 {
    let reachable = reachable(module);
    let before = module.func_count();
    module.retain_funcs(&reachable);
    before - module.func_count()
}

/// A body for the moment in which a function's own is being rebuilt.
fn empty<'a>() -> Body<'a> {
    Body::edited(Vec::new(), Vec::new())
}

#[cfg(test)]
mod tests;
