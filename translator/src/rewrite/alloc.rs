//! The allocator, all of it or nothing.
//!
//! Where std's own entry points (`__rdl_*`) are left, they are replaced: sizes and alignments are at
//! hand. Else the methods of the allocator that they call are, which know less. A block then has
//! dlmalloc's header (chunk size and flags before the address). So checks which the compiler has
//! inlined from it still hold, and `free` finds the size there. On either level the methods of
//! `std::alloc::System` may be called from elsewhere, and are then replaced too. A user's own allocator
//! (`__rg_*`) is never touched.
//!
//! In: the module's names. Out: a plan of which functions get which new body, or why none does.
//!
//! - this file: on which level the allocator is found, and the bodies for sizes that are known;
//! - `system`: the methods of `std::alloc::System`;
//! - `blocks`: bodies for dlmalloc's methods, whose blocks have its header.

mod blocks;
mod system;

use std::collections::HashSet;

use wasmparser::{BlockType, Operator, ValType};

use super::code::Code;
use super::env::Env;
use super::names::{Names, without_generics};
use super::proof::Std;
use super::{I32, Job, Left, Plan, RewriteOptions, trap};
use crate::callgraph::CallGraph;
use crate::module::Module;
use blocks::{calloc, free, malloc, memalign, realloc, realloc_aligned};
use system::System;

const ALLOC_OPS: &[&str] = &["alloc", "dealloc", "realloc", "alloc_zero"];

/// `if` with a result.
pub(super) const IF_I32: Operator<'static> = Operator::If {
    blockty: BlockType::Type(I32),
};

type Body = fn(&Env) -> Code;

/// A number of parameters, and the body for a function with so many.
type Form = (usize, Body);

/// std's entry points: name, number of parameters, whether there is a result, and the new body.
const ENTRY_POINTS: [(&str, usize, bool, Body); 4] = [
    ("__rdl_alloc", 2, true, |env| forward(env, "alloc", &[0, 1])),
    ("__rdl_dealloc", 3, false, |env| forward(env, "dealloc", &[0, 1, 2])),
    ("__rdl_realloc", 4, true, |env| forward(env, "realloc", &[0, 1, 2, 3])),
    ("__rdl_alloc_zeroed", 2, true, |env| forward(env, "alloc_zero", &[0, 1])),
];

/// A function to be replaced.
struct Entry {
    func: usize,
    body: Box<dyn Fn(&Env) -> Code>,
}

impl Entry {
    fn new(func: usize, body: impl Fn(&Env) -> Code + 'static) -> Entry {
        Entry {
            func,
            body: Box::new(body),
        }
    }
}

pub(super) fn detect(module: &mut Module<'_>, names: &Names, std: &Std, options: &RewriteOptions, plan: &mut Plan) {
    let internal: Vec<usize> = names.matching(is_internal).map(|(_, func)| func).collect();
    let named = |name: &str| name.starts_with("__rdl_") || name.starts_with("__rust_");
    let above = match internal.is_empty() && names.matching(named).next().is_none() {
        // There is nothing to ask for.
        true => Vec::new(),
        false => above_allocators(module, names),
    };
    let outer = entry_points(module, names, &above);
    if let ([], Some(func)) = (&outer[..], foreign_entry(module, names, &above)) {
        let why = "it calls neither dlmalloc nor C's allocator, as std's does";
        plan.left.push(Left::new("allocator", func, why));
    }
    if !options.replace_allocator || (internal.is_empty() && outer.is_empty()) {
        return;
    }
    // With another allocator below std, as wasi-libc's, `System` is left alone.
    let system = if internal.is_empty() {
        System::default()
    } else {
        System::find(module, names)
    };
    let custom = names.matching(|n| n.starts_with("__rg_")).next().is_some();
    let mut with_system = system.entry_points();
    if !with_system.is_empty() {
        with_system.extend(entry_points(module, names, &above));
    }
    let mut inner = methods(module, names, std, &above);
    if !inner.is_empty() {
        inner.extend(system.methods());
    }
    // A user's own allocator is what std's entry points call.
    let levels = [
        ("std's entry points", outer, !custom, Vec::new()),
        ("std's entry points and `System`", with_system, !custom, Vec::new()),
        ("dlmalloc's methods", inner, true, zeroing(names, custom, &system)),
    ];
    let mut reasons: Vec<String> = Vec::new();
    for (level, entries, _, zeroing) in levels
        .into_iter()
        .filter(|(_, entries, may, _)| *may && !entries.is_empty())
    {
        match left_alone(module, &entries, &system, &zeroing).or_else(|| left_reachable(module, &entries, &internal)) {
            None => {
                plan.jobs.push(Job {
                    pattern: "allocator",
                    funcs: entries.iter().map(|entry| entry.func).collect(),
                    ops: ALLOC_OPS,
                    formats: false,
                    apply: Box::new(move |module, env| {
                        for entry in &entries {
                            module.funcs[entry.func].body = (entry.body)(env).into_body();
                        }
                    }),
                });
                return;
            }
            Some(why) => reasons.push(format!("with {level} replaced, {why}")),
        }
    }
    if !reasons.is_empty() {
        plan.rolled_back.push(("allocator", internal, reasons.join("; ")));
    }
}

/// Where blocks have dlmalloc's header: functions that zero a block by themselves, after a call of what returned it.
fn zeroing(names: &Names, custom: bool, system: &System) -> Vec<usize> {
    let own = |name: &str| matches!(name, "__rdl_alloc_zeroed" | "__rust_alloc_zeroed");
    // A function of the same name may forward to the user's allocator.
    let own = names.matching(own).filter(|_| !custom).map(|(_, func)| func);
    own.chain(system.zeroing()).collect()
}

/// A method of `System`, or another function that zeroes, that could be reached and would keep its own blocks. One that
/// is not replaced does unless it is of those `zeroing` and calls what is: dlmalloc may have been inlined into it.
fn left_alone(module: &mut Module<'_>, entries: &[Entry], system: &System, zeroing: &[usize]) -> Option<String> {
    let mut left: Vec<usize> = system.all().chain(zeroing.iter().copied()).collect();
    left.retain(|func| entries.iter().all(|entry| entry.func != *func));
    if left.is_empty() {
        return None;
    }
    let replaced: Vec<usize> = entries.iter().map(|entry| entry.func).collect();
    let (graph, reached) = reachable_without(module, &replaced);
    let first = module.imported_funcs.len();
    let is_replaced = |callee: u32| replaced.iter().any(|func| first + func == callee as usize);
    let alone = |func: &usize| {
        let index = first + func;
        let forwards = zeroing.contains(func) && graph.direct_callees(index as u32).any(is_replaced);
        reached[index] && !forwards
    };
    let func = left.into_iter().find(alone)?;
    let name = module.func_display_name((first + func) as u32);
    Some(format!("`{name}` would keep its own blocks"))
}

/// dlmalloc, but for what only reads a block's header.
fn is_internal(name: &str) -> bool {
    // Asked of every function: most names need no closer look.
    if !name.starts_with("dlmalloc::") {
        return false;
    }
    let name = without_generics(name);
    (name.starts_with("dlmalloc::dlmalloc::Dlmalloc::") || name.starts_with("dlmalloc::Dlmalloc::"))
        && !name.ends_with("::validate_size")
        && !name.ends_with("::calloc_must_clear")
}

/// The call graph, and which functions can be reached, once the bodies of `funcs` are others.
pub(super) fn reachable_without(module: &mut Module<'_>, funcs: &[usize]) -> (CallGraph, Vec<bool>) {
    let saved: Vec<_> = funcs
        .iter()
        .map(|func| std::mem::replace(&mut module.funcs[*func].body, trap()))
        .collect();
    let graph = CallGraph::new(module);
    for (func, body) in funcs.iter().zip(saved) {
        module.funcs[*func].body = body;
    }
    let reached = graph.reachable(graph.roots().iter().copied());
    (graph, reached)
}

/// A call of dlmalloc that can still be reached once `entries` are replaced.
fn left_reachable(module: &mut Module<'_>, entries: &[Entry], internal: &[usize]) -> Option<String> {
    let funcs: Vec<usize> = entries.iter().map(|entry| entry.func).collect();
    let (graph, reached) = reachable_without(module, &funcs);
    let first = module.imported_funcs.len();
    let is_entry = |func: usize| entries.iter().any(|entry| entry.func == func);
    let left: HashSet<u32> = internal
        .iter()
        .filter(|&&func| reached[first + func] && !is_entry(func))
        .map(|func| (first + func) as u32)
        .collect();
    if left.is_empty() {
        return None;
    }
    // dlmalloc's functions call each other: name the caller outside of it.
    let inside: HashSet<u32> = internal.iter().map(|func| (first + func) as u32).collect();
    for caller in (0..module.func_count()).filter(|&f| reached[f as usize] && !inside.contains(&f)) {
        if let Some(callee) = graph.direct_callees(caller).find(|callee| left.contains(callee)) {
            let (callee, caller) = (module.func_display_name(callee), module.func_display_name(caller));
            return Some(format!("`{callee}` would still be called by `{caller}`"));
        }
    }
    Some("dlmalloc could still be reached through a table".to_owned())
}

/// Of each function, whether it calls an allocator that std may be above, by few steps: dlmalloc, `System`, C's.
fn above_allocators(module: &Module<'_>, names: &Names) -> Vec<bool> {
    /// A method of `System`, one of the library's around it, the allocator.
    const STEPS: usize = 3;
    const OF_C: [&str; 6] = ["malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign"];
    let first = module.imported_funcs.len();
    let mut reaches = vec![false; module.funcs.len()];
    for (_, func) in names.matching(|name| OF_C.contains(&name) || is_internal(name)) {
        reaches[func] = true;
    }
    for _ in 0..STEPS {
        let before = reaches.clone();
        for (func, reaches) in module.funcs.iter().zip(&mut reaches) {
            let mut callees = func.summary().calls.iter().map(|call| call.callee as usize);
            *reaches = *reaches || callees.any(|callee| callee >= first && before[callee - first]);
        }
    }
    reaches
}

/// A function with the name and type of an entry point that is not std's; `above`: those that call an allocator.
fn foreign_entry(module: &Module<'_>, names: &Names, above: &[bool]) -> Option<usize> {
    let named = ENTRY_POINTS.iter().flat_map(|(name, params, has_result, _)| {
        names.typed(module, name, &[I32; 4][..*params], results(*has_result))
    });
    named.into_iter().find(|func| !above[*func])
}

/// std's entry points to its allocator, if all are std's.
fn entry_points(module: &Module<'_>, names: &Names, above: &[bool]) -> Vec<Entry> {
    let mut entries = Vec::new();
    if foreign_entry(module, names, above).is_some() {
        return entries;
    }
    for (name, params, has_result, body) in ENTRY_POINTS {
        for func in names.typed(module, name, &[I32; 4][..params], results(has_result)) {
            entries.push(Entry::new(func, body));
        }
    }
    entries
}

fn results(has_result: bool) -> &'static [ValType] {
    if has_result { &[I32] } else { &[] }
}

fn forward(env: &Env, op: &str, params: &[u32]) -> Code {
    let mut code = Code::new();
    for param in params {
        code.get(*param);
    }
    code.call(env.gpu(op));
    code
}

/// The methods of dlmalloc that are called from outside, with or without their `self` (the
/// optimizer drops it: there is one allocator). Also entry points that such methods were inlined
/// into.
fn methods(module: &Module<'_>, names: &Names, std: &Std, above: &[bool]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let list: [(&str, [Form; 2], bool); 5] = [
        ("malloc", [(2, |e| malloc(e, 1)), (1, |e| malloc(e, 0))], true),
        ("calloc", [(2, |e| calloc(e, 1)), (1, |e| calloc(e, 0))], true),
        ("free", [(2, |e| free(e, 1, 2)), (1, |e| free(e, 0, 1))], false),
        ("realloc", [(3, |e| realloc(e, 1, 2)), (2, |e| realloc(e, 0, 1))], true),
        (
            "memalign",
            [(3, |e| memalign(e, 1, 2)), (2, |e| memalign(e, 0, 1))],
            true,
        ),
    ];
    for (method, forms, has_result) in list {
        let wanted = format!("dlmalloc::dlmalloc::Dlmalloc::{method}");
        let found: Vec<usize> = names
            .matching(is_internal)
            .filter(|(name, _)| without_generics(name) == wanted)
            .map(|(_, func)| func)
            .collect();
        for func in found {
            let ty = &module.types[module.funcs[func].ty as usize];
            let plain = ty.params().iter().all(|ty| *ty == I32);
            let form = forms.iter().find(|(params, _)| ty.params().len() == *params);
            let plain = plain && std.is_own(module, func);
            if let (true, Some((_, body))) = (plain && ty.results() == results(has_result), form) {
                entries.push(Entry::new(func, *body));
            }
        }
    }
    if entries.is_empty() {
        return entries;
    }
    entries.extend(outer_methods(module, names, std));
    let list: [(&str, usize, bool, Body); 7] = [
        ("__rdl_alloc", 2, true, |e| memalign(e, 1, 0)),
        ("__rdl_dealloc", 3, false, |e| free(e, 0, 3)),
        ("__rdl_realloc", 4, true, |e| realloc_aligned(e, [0, 1, 2, 3], 4)),
        ("__rust_alloc", 2, true, |e| memalign(e, 1, 0)),
        ("__rust_dealloc", 3, false, |e| free(e, 0, 3)),
        ("__rust_dealloc", 2, false, |e| free(e, 0, 2)),
        ("__rust_realloc", 4, true, |e| realloc_aligned(e, [0, 1, 2, 3], 4)),
    ];
    // A function of the same name may forward to the user's allocator.
    if names.matching(|n| n.starts_with("__rg_")).next().is_none() {
        for (name, params, has_result, body) in list {
            let mut funcs = names.typed(module, name, &[I32; 4][..params], results(has_result));
            funcs.retain(|func| above[*func]);
            entries.extend(funcs.into_iter().map(|func| Entry::new(func, body)));
        }
    }
    entries
}

/// The methods around those, which take sizes and alignments as std's entry points do.
fn outer_methods(module: &Module<'_>, names: &Names, std: &Std) -> Vec<Entry> {
    let list: [(&str, usize, bool, Body); 8] = [
        ("malloc", 3, true, |e| memalign(e, 2, 1)),
        ("malloc", 2, true, |e| memalign(e, 1, 0)),
        ("malloc", 1, true, |e| malloc(e, 0)),
        ("free", 4, false, |e| free(e, 1, 4)),
        ("free", 3, false, |e| free(e, 0, 3)),
        ("free", 2, false, |e| free(e, 0, 2)),
        ("free", 1, false, |e| free(e, 0, 1)),
        ("realloc", 4, true, |e| realloc_aligned(e, [0, 1, 2, 3], 4)),
    ];
    let mut entries = Vec::new();
    for (name, func) in names.matching(is_internal) {
        let name = without_generics(name);
        let Some(method) = name.strip_prefix("dlmalloc::Dlmalloc::") else {
            continue;
        };
        let ty = &module.types[module.funcs[func].ty as usize];
        let form = list.iter().find(|(wanted, params, has_result, _)| {
            *wanted == method && ty.params() == &[I32; 4][..*params] && ty.results() == results(*has_result)
        });
        let form = form.filter(|_| std.is_own(module, func));
        entries.extend(form.map(|(.., body)| Entry::new(func, *body)));
    }
    entries
}
