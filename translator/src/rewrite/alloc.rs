//! The allocator, all of it or nothing.
//!
//! Where std's own entry points (`__rdl_*`) are left, they are replaced: sizes and alignments are
//! at hand. Else the methods of the allocator behind them are, which know less: a block then has
//! dlmalloc's header (chunk size and flags before the address), so that checks which the compiler
//! has inlined from it still hold, and `free` finds the size there. A user's own allocator
//! (`__rg_*`) is never touched.

use std::collections::HashSet;

use wasmparser::{BlockType, Operator, ValType};

use super::code::Code;
use super::env::Env;
use super::names::{Names, without_generics};
use super::{I32, Job, Plan, RewriteOptions, trap};
use crate::callgraph::CallGraph;
use crate::module::Module;

const ALLOC_OPS: &[&str] = &["alloc", "dealloc", "realloc", "alloc_zero"];

/// `if` with a result.
pub(super) const IF_I32: Operator<'static> = Operator::If {
    blockty: BlockType::Type(I32),
};

type Body = fn(&Env) -> Code;

/// A number of parameters, and the body for a function with so many.
type Form = (usize, Body);

/// A function to be replaced.
#[derive(Clone, Copy)]
struct Entry {
    func: usize,
    body: Body,
}

pub(super) fn detect(module: &mut Module<'_>, names: &Names, options: &RewriteOptions, plan: &mut Plan) {
    let internal: Vec<usize> = names.matching(is_internal).map(|(_, func)| func).collect();
    let entries = entry_points(module, names);
    if !options.replace_allocator || (internal.is_empty() && entries.is_empty()) {
        return;
    }
    let custom = names.matching(|n| n.starts_with("__rg_")).next().is_some();
    let mut reason = String::new();
    let levels = [if custom { Vec::new() } else { entries }, methods(module, names)];
    for entries in levels.into_iter().filter(|entries| !entries.is_empty()) {
        match left_reachable(module, &entries, &internal) {
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
            Some(why) => reason = why,
        }
    }
    if !reason.is_empty() {
        plan.rolled_back.push(("allocator", internal, reason));
    }
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
            return Some(format!("`{callee}` is still called by `{caller}`"));
        }
    }
    Some("dlmalloc can still be reached through a table".to_owned())
}

/// std's entry points to its allocator.
fn entry_points(module: &Module<'_>, names: &Names) -> Vec<Entry> {
    let list: [(&str, usize, bool, Body); 4] = [
        ("__rdl_alloc", 2, true, |env| forward(env, "alloc", &[0, 1])),
        ("__rdl_dealloc", 3, false, |env| forward(env, "dealloc", &[0, 1, 2])),
        ("__rdl_realloc", 4, true, |env| forward(env, "realloc", &[0, 1, 2, 3])),
        ("__rdl_alloc_zeroed", 2, true, |env| forward(env, "alloc_zero", &[0, 1])),
    ];
    let mut entries = Vec::new();
    for (name, params, has_result, body) in list {
        for func in names.typed(module, name, &[I32; 4][..params], results(has_result)) {
            entries.push(Entry { func, body });
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
/// optimizer drops it: there is one allocator), and entry points that such methods were inlined
/// into.
fn methods(module: &Module<'_>, names: &Names) -> Vec<Entry> {
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
            if let (true, Some((_, body))) = (plain && ty.results() == results(has_result), form) {
                entries.push(Entry { func, body: *body });
            }
        }
    }
    if entries.is_empty() {
        return entries;
    }
    entries.extend(outer_methods(module, names));
    let list: [(&str, usize, bool, Body); 7] = [
        ("__rdl_alloc", 2, true, |e| memalign(e, 1, 0)),
        ("__rdl_dealloc", 3, false, |e| free(e, 0, 3)),
        ("__rdl_realloc", 4, true, realloc_aligned),
        ("__rust_alloc", 2, true, |e| memalign(e, 1, 0)),
        ("__rust_dealloc", 3, false, |e| free(e, 0, 3)),
        ("__rust_dealloc", 2, false, |e| free(e, 0, 2)),
        ("__rust_realloc", 4, true, realloc_aligned),
    ];
    // A function of the same name may forward to the user's allocator.
    if names.matching(|n| n.starts_with("__rg_")).next().is_none() {
        for (name, params, has_result, body) in list {
            for func in names.typed(module, name, &[I32; 4][..params], results(has_result)) {
                entries.push(Entry { func, body });
            }
        }
    }
    entries
}

/// The methods around those, which take sizes and alignments as std's entry points do.
fn outer_methods(module: &Module<'_>, names: &Names) -> Vec<Entry> {
    let list: [(&str, usize, bool, Body); 8] = [
        ("malloc", 3, true, |e| memalign(e, 2, 1)),
        ("malloc", 2, true, |e| memalign(e, 1, 0)),
        ("malloc", 1, true, |e| malloc(e, 0)),
        ("free", 4, false, |e| free(e, 1, 4)),
        ("free", 3, false, |e| free(e, 0, 3)),
        ("free", 2, false, |e| free(e, 0, 2)),
        ("free", 1, false, |e| free(e, 0, 1)),
        ("realloc", 4, true, realloc_aligned),
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
        entries.extend(form.map(|(.., body)| Entry { func, body: *body }));
    }
    entries
}

/// Least distance of a block's address from the start of what was allocated for it.
const HEADER: i32 = 8;
/// Flags in dlmalloc's chunk header: this chunk and the one before it are in use.
const IN_USE: i32 = 3;
/// Our own flag: the word before the header says the distance.
const ALIGNED: i32 = 4;

/// Pushes the chunk size for a block of the size in local `size`: room for a header word, rounded
/// up, and at least dlmalloc's least.
fn chunk_size(code: &mut Code, size: u32) {
    code.i32(16)
        .get(size)
        .i32(11)
        .op(Operator::I32Add)
        .i32(-8)
        .op(Operator::I32And);
    code.get(size).i32(5).op(Operator::I32LtU).op(Operator::Select);
}

fn malloc(env: &Env, size: u32) -> Code {
    let mut code = Code::new();
    malloc_into(env, &mut code, size, size + 1, "alloc");
    code
}

fn calloc(env: &Env, size: u32) -> Code {
    let mut code = Code::new();
    malloc_into(env, &mut code, size, size + 1, "alloc_zero");
    code
}

/// Allocates a chunk aligned to more than dlmalloc's own alignment and writes its header: `block` gets
/// the address behind the header, or 0. Opens an `if (result i32)` for the case that there is memory.
fn aligned_chunk(env: &Env, code: &mut Code, size: u32, align: u32, chunk: u32, block: u32) {
    chunk_size(code, size);
    code.tee(chunk)
        .get(align)
        .op(Operator::I32Add)
        .get(align)
        .call(env.gpu("alloc"))
        .tee(block);
    code.op(IF_I32);
    code.get(block).get(align).op(Operator::I32Add).tee(block);
    code.i32(4)
        .op(Operator::I32Sub)
        .get(chunk)
        .i32(IN_USE | ALIGNED)
        .op(Operator::I32Or);
    code.store32(0);
    code.get(block).i32(8).op(Operator::I32Sub).get(align).store32(0);
}

/// Allocates the size in local `size`; uses two new locals from `temp` on.
fn malloc_into(env: &Env, code: &mut Code, size: u32, temp: u32, op: &str) {
    code.locals(2, I32);
    let (chunk, block) = (temp, temp + 1);
    // A size so large that rounding wraps around fails as any that is too large.
    code.get(size).i32(-64).op(Operator::I32GtU);
    code.op(IF_I32).i32(0).op(Operator::Else);
    chunk_size(code, size);
    code.tee(chunk)
        .i32(HEADER)
        .op(Operator::I32Add)
        .i32(8)
        .call(env.gpu(op))
        .tee(block);
    code.op(IF_I32);
    code.get(block).get(chunk).i32(IN_USE).op(Operator::I32Or).store32(4);
    code.get(block).i32(HEADER).op(Operator::I32Add);
    code.op(Operator::Else).i32(0).end().end();
}

/// `(align, size)` in those locals.
fn memalign(env: &Env, align: u32, size: u32) -> Code {
    let mut code = Code::new();
    let temp = align.max(size) + 1;
    let (chunk, block) = (temp, temp + 1);
    code.get(align).i32(9).op(Operator::I32LtU);
    code.op(IF_I32);
    malloc_into(env, &mut code, size, temp, "alloc");
    code.op(Operator::Else);
    aligned_chunk(env, &mut code, size, align, chunk, block);
    code.get(block).op(Operator::Else).i32(0).end().end();
    code
}

/// Frees the block whose address is in local `block`, in a function with `params` parameters.
fn free(env: &Env, block: u32, params: u32) -> Code {
    let mut code = Code::new();
    code.locals(2, I32);
    free_with(env, &mut code, block, params);
    code
}

fn free_with(env: &Env, code: &mut Code, block: u32, temp: u32) {
    let (head, distance) = (temp, temp + 1);
    load_header(code, block, head, distance);
    code.get(block).get(distance).op(Operator::I32Sub);
    code.get(head)
        .i32(-8)
        .op(Operator::I32And)
        .get(distance)
        .op(Operator::I32Add);
    code.get(distance).call(env.gpu("dealloc"));
}

/// Reads a block's header and how far from the allocation's start it lies.
fn load_header(code: &mut Code, block: u32, head: u32, distance: u32) {
    code.get(block).i32(4).op(Operator::I32Sub).load32(0).set(head);
    code.get(head).i32(ALIGNED).op(Operator::I32And);
    code.op(IF_I32);
    code.get(block).i32(8).op(Operator::I32Sub).load32(0);
    code.op(Operator::Else).i32(HEADER).end().set(distance);
}

/// `(block, size)` in those locals; the block is one that `malloc` made.
fn realloc(env: &Env, block: u32, size: u32) -> Code {
    let mut code = Code::new();
    code.locals(3, I32);
    realloc_with(env, &mut code, block, size, size + 1);
    code
}

fn realloc_with(env: &Env, code: &mut Code, block: u32, size: u32, temp: u32) {
    let (chunk, old, new) = (temp, temp + 1, temp + 2);
    code.get(size).i32(-64).op(Operator::I32GtU);
    code.op(IF_I32).i32(0).op(Operator::Else);
    chunk_size(code, size);
    code.set(chunk).get(block).i32(HEADER).op(Operator::I32Sub).tee(old);
    code.get(old)
        .load32(4)
        .i32(-8)
        .op(Operator::I32And)
        .i32(HEADER)
        .op(Operator::I32Add);
    code.i32(8)
        .get(chunk)
        .i32(HEADER)
        .op(Operator::I32Add)
        .call(env.gpu("realloc"))
        .tee(new);
    code.op(IF_I32);
    code.get(new).get(chunk).i32(IN_USE).op(Operator::I32Or).store32(4);
    code.get(new).i32(HEADER).op(Operator::I32Add);
    code.op(Operator::Else).i32(0).end().end();
}

/// `(block, old size, align, size)`: a block with a large alignment is moved by hand.
fn realloc_aligned(env: &Env) -> Code {
    let (block, old_size, align, size) = (0, 1, 2, 3);
    let (first, moved) = (4, 7);
    let mut code = Code::new();
    code.locals(4, I32);
    code.get(align).i32(9).op(Operator::I32LtU);
    code.op(IF_I32);
    realloc_with(env, &mut code, block, size, first);
    code.op(Operator::Else);
    // As `memalign`, with locals that are there already.
    let chunk = first;
    aligned_chunk(env, &mut code, size, align, chunk, moved);
    code.get(moved).get(block);
    code.get(old_size)
        .get(size)
        .get(old_size)
        .get(size)
        .op(Operator::I32LtU);
    code.op(Operator::Select)
        .op(Operator::MemoryCopy { dst_mem: 0, src_mem: 0 });
    free_with(env, &mut code, block, first);
    code.get(moved).op(Operator::Else).i32(0).end().end();
    code
}
