//! Finds calls whose continuation the optimizer has removed.
//!
//! std's clocks and `sleep` panic on this target. Where the optimizer could see that, it has
//! removed everything after the call. Nothing can bring that code back.

use std::collections::HashSet;

use wasmparser::Operator;

use super::names::Names;
use super::proof::{Std, diverges};
use super::{I32, Left, RewriteError};
use crate::callgraph::CallGraph;
use crate::module::Module;

const CLOCK_REMEDY: &str = "build without `lto = \"fat\"` and with more than one codegen unit, or for wasm32-wasip1; \
                            `gpu_std::time()` tells the time in any build";
const EXIT_REMEDY: &str = "build without `lto = \"fat\"` and with more than one codegen unit, or for wasm32-wasip1; \
                           `gpu_std::process::exit` ends the process in any build";

/// Functions that return, but that std's platform layer makes panic.
const RETURNING: &[&str] = &[
    "std::time::Instant::now",
    "std::time::Instant::elapsed",
    "std::time::SystemTime::now",
    "std::time::SystemTime::elapsed",
    "std::thread::sleep",
    "std::thread::functions::sleep",
];

/// Refuses a module in which reachable code calls such a function and cannot go on. Functions of `left` are not
/// std's.
pub(super) fn check(module: &Module<'_>, names: &Names, std: &Std, left: &[Left]) -> Result<(), RewriteError> {
    let first = module.imported_funcs.len();
    let left: HashSet<usize> = left.iter().map(|left| left.func).collect();
    let returning: HashSet<u32> = RETURNING
        .iter()
        .flat_map(|name| names.get(name))
        .filter(|func| !left.contains(func))
        .map(|func| (first + func) as u32)
        .collect();
    let exits: HashSet<u32> = names
        .get("std::process::exit")
        .iter()
        .filter(|func| module.types[module.funcs[**func].ty as usize].params() != [I32])
        .filter(|func| diverges(&module.funcs[**func]) && std.is_own(module, **func))
        .map(|func| (first + func) as u32)
        .collect();
    if returning.is_empty() && exits.is_empty() {
        return Ok(());
    }
    let dangerous = |function: u32| returning.contains(&function) || exits.contains(&function);
    let graph = CallGraph::new(module);
    let reachable = graph.reachable(graph.roots().iter().copied());
    for (i, func) in module.funcs.iter().enumerate() {
        let mut callees = func.summary().calls.iter().map(|call| call.callee);
        if !reachable[first + i] || !callees.any(dangerous) {
            continue;
        }
        let mut last = None;
        for instr in func.instrs() {
            if let (Operator::Unreachable, Some((callee, offset))) = (&instr.op, last) {
                return Err(RewriteError::Folded {
                    function: module.func_display_name(callee),
                    caller: module.func_display_name((first + i) as u32),
                    offset,
                    remedy: if exits.contains(&callee) {
                        EXIT_REMEDY
                    } else {
                        CLOCK_REMEDY
                    },
                });
            }
            last = match instr.op {
                Operator::Call { function_index } => {
                    dangerous(function_index).then_some((function_index, instr.origin.offset))
                }
                _ => None,
            };
        }
    }
    Ok(())
}
