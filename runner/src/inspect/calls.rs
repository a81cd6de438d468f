//! The call graph: recursion, and how deep calls go.

use std::fmt::Write;

use gpu_run_bytecode::Program;
use gpu_run_translator::callgraph::CallGraph;
use gpu_run_translator::rewrite::RewriteOptions;
use gpu_run_translator::{BrTables, Module, Options, lower, run_passes};
use wasmparser::ExternalKind;

/// Recursive functions that are listed by name, at most, per component.
const NAMED: usize = 8;

/// Shows the calls of a module, and the frames that they take once it is translated.
pub fn show(out: &mut String, bytes: &[u8], module: &Module<'_>) {
    let graph = CallGraph::new(module);
    let edges: usize = (0..module.func_count())
        .map(|func| graph.direct_callees(func).count())
        .sum();
    let indirect = (0..module.func_count())
        .filter(|func| graph.calls_indirectly(*func))
        .count();
    _ = writeln!(
        out,
        "\ncall graph: {edges} direct edges; {indirect} functions call through tables"
    );
    recursion(out, module, &graph);
    for name in exported(module) {
        let depth = match entry(module, name).and_then(|func| graph.max_depth(func)) {
            None => "unbounded".to_owned(),
            Some(depth) => depth.to_string(),
        };
        _ = writeln!(out, "depth of calls from `{name}`: {depth}");
    }
    frames(out, bytes);
}

/// The components of functions that call each other, each with one of its cycles.
fn recursion(out: &mut String, module: &Module<'_>, graph: &CallGraph) {
    let recursive = graph.recursive_components();
    let count = match recursive.len() {
        0 => "none".to_owned(),
        1 => "1 component".to_owned(),
        more => format!("{more} components"),
    };
    _ = writeln!(out, "recursion: {count}");
    for component in &recursive {
        let names: Vec<_> = component
            .iter()
            .take(NAMED)
            .map(|func| module.func_display_name(*func))
            .collect();
        let more = if component.len() > NAMED {
            format!(" and {} more", component.len() - NAMED)
        } else {
            String::new()
        };
        _ = writeln!(out, "  {}{more}", names.join(", "));
        // The shortest says most.
        let cycles = component
            .iter()
            .take(NAMED)
            .filter_map(|func| graph.cycle_through(*func));
        if let Some(cycle) = cycles.min_by_key(|cycle| cycle.calls.len()) {
            _ = writeln!(out, "    {}", cycle.display(module));
        }
    }
}

/// What the calls take at run time: after rewriting and inlining, as bytecode.
fn frames(out: &mut String, bytes: &[u8]) {
    let options = Options {
        rewrite: Some(RewriteOptions {
            refuse_folded: false,
            ..RewriteOptions::default()
        }),
        ..Options::full()
    };
    // What cannot be translated has no frames; why not is said elsewhere.
    let tables = BrTables::default();
    let Ok(passed) = run_passes(bytes, &tables, &options) else {
        return;
    };
    let Ok(program) = lower(&passed.module) else { return };
    let module = &passed.module;
    let graph = CallGraph::new(module);
    _ = writeln!(out, "\nworst case at run time, after rewriting and inlining:");
    for name in exported(module) {
        let Some(func) = entry(module, name) else { continue };
        let depth = graph.max_depth(func);
        let bytes = graph.max_sum(func, |func| frame_bytes(&program, module, func));
        _ = match (depth, bytes) {
            (Some(depth), Some(bytes)) => {
                writeln!(out, "  `{name}`: depth {depth}, {bytes} bytes of frames")
            }
            _ => writeln!(out, "  `{name}`: unbounded, until --max-call-depth"),
        };
    }
}

/// Bytes of the frame of function `func`. Frames overlap in the arguments of a call, so that their
/// sum is a little more than what is used.
fn frame_bytes(program: &Program, module: &Module<'_>, func: u32) -> u64 {
    let defined = func as usize - module.imported_funcs.len();
    u64::from(program.frame_units(defined)) * 4
}

/// Names of the exported functions.
fn exported<'m>(module: &'m Module<'_>) -> impl Iterator<Item = &'m str> {
    let functions = module.exports.iter().filter(|export| export.kind == ExternalKind::Func);
    functions.map(|export| export.name)
}

fn entry(module: &Module<'_>, name: &str) -> Option<u32> {
    let export = module.exports.iter().find(|export| export.name == name)?;
    (export.kind == ExternalKind::Func).then_some(export.index)
}
