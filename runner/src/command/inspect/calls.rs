//! The call graph: recursion, and how deep calls go.

use gpu_run_bytecode::Program;
use gpu_run_translator::callgraph::CallGraph;
use gpu_run_translator::rewrite::RewriteOptions;
use gpu_run_translator::{BrTables, Module, Options, lower, run_passes};
use wasmparser::ExternalKind;

use super::{Calls, Depth, Frames, Recursion};
use crate::names::shown;

/// Functions of a component whose cycles are compared.
const TRIED: usize = 8;

/// The calls of a module.
pub fn graph(module: &Module<'_>) -> Calls {
    let graph = CallGraph::new(module);
    let depths = graph.max_depths();
    let all = 0..module.func_count();
    Calls {
        direct: all.clone().map(|func| graph.direct_callees(func).count()).sum(),
        indirect: all.filter(|func| graph.calls_indirectly(*func)).count(),
        recursion: recursion(module, &graph),
        depths: entries(module)
            .map(|(name, func)| Depth {
                export: name.to_owned(),
                depth: depths[func as usize],
            })
            .collect(),
    }
}

/// The components of functions that call each other, each with one of its cycles.
fn recursion(module: &Module<'_>, graph: &CallGraph) -> Vec<Recursion> {
    let recursive = graph.recursive_components();
    let components = recursive.iter().map(|component| {
        // The shortest says most.
        let cycles = component
            .iter()
            .take(TRIED)
            .filter_map(|func| graph.cycle_through(*func));
        let shortest = cycles.min_by_key(|cycle| cycle.calls.len());
        Recursion {
            functions: component.iter().map(|func| module.func_display_name(*func)).collect(),
            cycle: shortest.map(|cycle| cycle.display(module)),
        }
    });
    components.collect()
}

/// What the calls take at run time: after rewriting and inlining, as bytecode.
pub fn frames(bytes: &[u8]) -> Option<Vec<Frames>> {
    let options = Options {
        rewrite: Some(RewriteOptions {
            refuse_folded: false,
            ..RewriteOptions::default()
        }),
        ..Options::full()
    };
    // What cannot be translated has no frames; why not is said elsewhere.
    let tables = BrTables::default();
    let passed = run_passes(bytes, &tables, &options).ok()?;
    let program = lower(&passed.module, None).ok()?;
    let module = &passed.module;
    let graph = CallGraph::new(module);
    let depths = graph.max_depths();
    let bytes = graph.max_sums(|func| frame_bytes(&program, module, func));
    let frames = entries(module).map(|(name, func)| Frames {
        export: name.to_owned(),
        depth: depths[func as usize],
        bytes: bytes[func as usize],
    });
    Some(frames.collect())
}

/// Bytes of the frame of function `func`. Frames overlap in the arguments of a call, so that their
/// sum is a little more than what is used.
fn frame_bytes(program: &Program, module: &Module<'_>, func: u32) -> u64 {
    let defined = func as usize - module.imported_funcs.len();
    u64::from(program.frame_units(defined)) * 4
}

/// The exported functions, by their names as users write them.
fn entries<'m>(module: &'m Module<'_>) -> impl Iterator<Item = (&'m str, u32)> {
    let functions = || module.exports.iter().filter(|export| export.kind == ExternalKind::Func);
    functions().map(move |export| (shown(export.name, functions().map(|export| export.name)), export.index))
}
