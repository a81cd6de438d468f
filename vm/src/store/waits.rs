//! Whether threads of a program may wait for each other.
//!
//! Without a wait instruction, a thread waits by a loop that reads memory until another thread has written there. For that
//! it needs an atomic access: of another one the value need never change, and compilers take it out of the loop. So a
//! program whose atomic accesses are in no loop does not wait. It may still count up a total, as most kernels do.

use std::collections::HashMap;

use gpu_run_bytecode::code::{Inst, br_table_offset, instructions};
use gpu_run_bytecode::{Function, Handler, Op, Operand, Program, wasi};

use crate::components::{components, is_cycle};

/// Whether a thread may depend on another's progress: it sleeps, yields, waits, or has an atomic access in a loop or a
/// recursion.
pub fn threads_may_wait(program: &Program) -> bool {
    let decoded = || instructions(&program.code).filter_map(|(_, inst)| inst.ok());
    if decoded().any(|inst| waits(&inst)) {
        return true;
    }
    if !decoded().any(|inst| is_atomic(inst.op)) {
        return false;
    }
    let nodes = nodes(program);
    let edges: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| node.calls.iter().map(|(callee, _)| *callee).collect())
        .collect();
    // By whatever they call. Components come after those that they lead to.
    let mut atomic = vec![false; nodes.len()];
    components(&edges).into_iter().any(|component| {
        let leads = |node: &usize| nodes[*node].atomic || edges[*node].iter().any(|callee| atomic[*callee]);
        let accesses = component.iter().any(leads);
        component.iter().for_each(|node| atomic[*node] = accesses);
        let in_loop = |node: &usize| {
            let mut calls = nodes[*node].calls.iter();
            nodes[*node].atomic_in_loop || calls.any(|(callee, looped)| *looped && atomic[*callee])
        };
        accesses && (is_cycle(&edges, &component) || component.iter().any(in_loop))
    })
}

/// Whether lanes of a warp may wait for each other in a program's code: no thread then waits for one of them by a way of
/// its own. Beside what [`threads_may_wait`] finds, that may be a read from what another thread writes to, or a function
/// of another instance or of the host.
pub fn may_meet(program: &Program) -> bool {
    let mut decoded = instructions(&program.code).filter_map(|(_, inst)| inst.ok());
    let leads_out = |inst: &Inst| match inst.op {
        Op::CallImport | Op::ReturnCallImport => true,
        Op::RequestQueue => !PROMPT.iter().any(|function| *function as i64 == inst.args[0]),
        _ => false,
    };
    !decoded.any(|inst| leads_out(&inst)) && !threads_may_wait(program)
}

/// Whether a program says where the lanes of a warp meet.
pub(crate) fn has_meetings(program: &Program) -> bool {
    let mut decoded = instructions(&program.code).filter_map(|(_, inst)| inst.ok());
    decoded.any(|inst| inst.op == Op::Meet)
}

/// Functions that come back whatever other threads do: what they write, nothing in the program reads.
const PROMPT: [wasi::Function; 18] = [
    wasi::Function::ArgsGet,
    wasi::Function::ArgsSizesGet,
    wasi::Function::EnvironGet,
    wasi::Function::EnvironSizesGet,
    wasi::Function::ClockResGet,
    wasi::Function::ClockTimeGet,
    wasi::Function::RandomGet,
    wasi::Function::ProcExit,
    wasi::Function::FdClose,
    wasi::Function::FdWrite,
    wasi::Function::FdSeek,
    wasi::Function::FdTell,
    wasi::Function::FdFdstatGet,
    wasi::Function::FdFilestatGet,
    wasi::Function::FdPrestatGet,
    wasi::Function::FdPrestatDirName,
    wasi::Function::FdReaddir,
    wasi::Function::PathFilestatGet,
];

/// What a function does.
#[derive(Default)]
struct Node {
    atomic: bool,
    atomic_in_loop: bool,
    /// What it calls, and whether in a loop.
    calls: Vec<(usize, bool)>,
}

/// What each function does, then what a call through a table leads to, then what one of an import does.
fn nodes(program: &Program) -> Vec<Node> {
    let functions = &program.meta.functions;
    let starts = functions.iter().enumerate().map(|(i, function)| (function.start, i));
    let starts: HashMap<u32, usize> = starts.collect();
    let mut referenced: Vec<u32> = program.meta.referenced_functions().collect();
    let decoded = instructions(&program.code).filter_map(|(_, inst)| inst.ok());
    referenced.extend(
        decoded
            .filter(|inst| inst.op == Op::RefFunc)
            .map(|inst| inst.args[1] as u32),
    );
    let defined = |index: u32| Some(index.checked_sub(program.meta.imported_funcs())? as usize);
    let to = |callees: &mut dyn Iterator<Item = usize>| Node {
        calls: callees.map(|callee| (callee, false)).collect(),
        ..Node::default()
    };
    let mut nodes: Vec<Node> = functions.iter().map(|f| Node::of(program, f, &starts)).collect();
    nodes.push(to(&mut referenced.into_iter().filter_map(defined)));
    // Another instance, which may call what it likes.
    nodes.push(to(&mut (0..functions.len())));
    nodes
}

/// The same of programs that may call each other: where each of their accesses leads to is not followed.
pub(super) fn linked_threads_may_wait<'p>(mut programs: impl Iterator<Item = &'p Program>) -> bool {
    programs.any(|program| {
        let mut decoded = instructions(&program.code).filter_map(|(_, inst)| inst.ok());
        decoded.any(|inst| waits(&inst) || is_atomic(inst.op))
    })
}

/// Whether an instruction is there to wait.
fn waits(inst: &Inst) -> bool {
    let yields = [wasi::Function::SchedYield, wasi::Function::PollOneoff];
    match inst.op {
        // A thread that spawns another waits for it.
        Op::Sleep
        | Op::Meet
        | Op::ThreadSpawn
        | Op::MemoryAtomicWait32
        | Op::MemoryAtomicWait64
        | Op::FrameWait
        | Op::Spinlock => true,
        Op::RequestQueue => yields.iter().any(|function| *function as i64 == inst.args[0]),
        _ => false,
    }
}

/// Whether an opcode accesses memory atomically.
pub(crate) fn is_atomic(op: Op) -> bool {
    matches!(op.handler(), Handler::Atomics | Handler::Work)
        || matches!(op, Op::AtomicAdd | Op::AtomicInc | Op::AtomicDec | Op::AtomicCas)
}

impl Node {
    fn of(program: &Program, function: &Function, starts: &HashMap<u32, usize>) -> Node {
        let code = &program.code[function.start as usize..function.end as usize];
        let (mut node, loops) = (Node::default(), loops(code, function));
        let (table, import) = (program.meta.functions.len(), program.meta.functions.len() + 1);
        // Verified code decodes.
        for (at, inst) in instructions(code).filter_map(|(at, inst)| Some((at as i64, inst.ok()?))) {
            let looped = loops.iter().any(|(first, last)| (*first..=*last).contains(&at));
            let callee = match inst.op {
                Op::Call | Op::ReturnCall => {
                    let head = i64::from(function.start) + at + inst.args[1];
                    starts.get(&(head as u32)).copied()
                }
                Op::CallIndirect | Op::ReturnCallIndirect => Some(table),
                Op::CallImport | Op::ReturnCallImport => Some(import),
                _ => None,
            };
            node.calls.extend(callee.map(|callee| (callee, looped)));
            node.atomic |= is_atomic(inst.op);
            node.atomic_in_loop |= is_atomic(inst.op) && looped;
        }
        node
    }
}

/// Ranges of a function's words that hold all of its cycles. Whatever the order of the code, a cycle through a word has a
/// jump that leads back from there or later to there or earlier.
fn loops(code: &[u64], function: &Function) -> Vec<(i64, i64)> {
    let mut ranges = Vec::new();
    for (at, inst) in instructions(code).filter_map(|(at, inst)| Some((at, inst.ok()?))) {
        let operands = inst.op.info().operands.iter().zip(inst.args);
        let distances = operands.filter(|(operand, _)| matches!(operand, Operand::Rel16 | Operand::Rel32));
        let mut distances: Vec<i64> = distances.map(|(_, distance)| distance).collect();
        if inst.op == Op::BrTable {
            distances = (0..inst.args[1] as usize)
                .map(|i| i64::from(br_table_offset(&code[at..], i)))
                .collect();
        }
        if let Some(back) = distances.into_iter().filter(|distance| *distance <= 0).min() {
            ranges.push((at as i64 + back, at as i64));
        }
    }
    let start = i64::from(function.start);
    for range in &function.tries {
        let targets = range.clauses.iter().map(|clause| i64::from(clause.target));
        let back = targets.filter(|target| *target <= i64::from(range.end));
        ranges.extend(back.map(|target| (target - start, i64::from(range.end) - start)));
    }
    // Those that overlap are one: few are left to be asked for each instruction.
    ranges.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut().filter(|range| first <= range.1) {
            Some(range) => range.1 = range.1.max(last),
            None => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with an atomic addition as kernels import it, and `body`.
    fn waits(body: &str) -> bool {
        let wat = format!(
            r#"(module (import "gpu_run_v1" "atomic_add" (func $add (param i32 i32) (result i32)))
                (memory 1) (type $t (func)) (table funcref (elem $far)) {body})"#
        );
        let wasm = wat::parse_str(&wat).unwrap();
        let options = gpu_run_translator::Options {
            inline: None,
            ..gpu_run_translator::Options::full()
        };
        threads_may_wait(&gpu_run_translator::translate(&wasm, &options).unwrap().program)
    }

    const ADD: &str = "(drop (call $add (i32.const 0) (i32.const 1)))";

    #[test]
    fn a_total_is_no_wait() {
        let far = "(func $far)";
        assert!(!waits(&format!(
            r#"{far} (func (export "f") {ADD} (loop (br_if 0 (i32.const 0))))"#
        )));
        assert!(!waits(&format!(
            r#"(func $far {ADD}) (func (export "f") (call_indirect (type $t) (i32.const 0)))"#
        )));
        assert!(!waits(&format!(
            r#"{far} (func $g {ADD}) (func (export "f") (call $g) (call $g))"#
        )));
    }

    #[test]
    fn of_programs_that_are_linked_any_access_counts() {
        let program = |wat: &str| {
            let wasm = wat::parse_str(wat).unwrap();
            let options = gpu_run_translator::Options::full();
            gpu_run_translator::translate(&wasm, &options).unwrap().program
        };
        let polls = program(
            r#"(module (memory 1 1 shared) (func (export "poll") (result i32) (i32.atomic.load (i32.const 0))))"#,
        );
        let loops = program(
            r#"(module (import "a" "poll" (func $poll (result i32)))
                (func (export "f") (loop (br_if 0 (i32.eqz (call $poll))))))"#,
        );
        assert!(!threads_may_wait(&polls) && !threads_may_wait(&loops));
        assert!(linked_threads_may_wait([&polls, &loops].into_iter()));
        assert!(!linked_threads_may_wait([&loops, &loops].into_iter()));
    }

    #[test]
    fn an_access_that_comes_again_may_be_one() {
        let far = "(func $far)";
        for body in [
            format!(r#"{far} (func (export "f") (loop {ADD} (br_if 0 (i32.const 0))))"#),
            format!(r#"{far} (func $g {ADD}) (func (export "f") (loop (call $g) (br_if 0 (i32.const 0))))"#),
            format!(r#"(func $far {ADD}) (func (export "f") (loop (call_indirect (type $t) (i32.const 0)) (br 0)))"#),
            format!(r#"(func $far {ADD} (call_indirect (type $t) (i32.const 0)))"#),
            format!(r#"{far} (func $g (export "g") {ADD} (call $h)) (func $h (call $g))"#),
            format!(r#"{far} (func (export "f") (param i32) (loop {ADD} (br_table 0 1 (local.get 0))))"#),
        ] {
            assert!(waits(&body), "{body}");
        }
        let sleeps = r#"(module (import "gpu_run_v1" "sleep" (func $s (param i64))) (func (export "f") (call $s (i64.const 1))))"#;
        let wasm = wat::parse_str(sleeps).unwrap();
        let program = gpu_run_translator::translate(&wasm, &gpu_run_translator::Options::full())
            .unwrap()
            .program;
        assert!(threads_may_wait(&program));
    }

    #[test]
    fn lanes_meet_where_no_thread_waits_for_another() {
        let meets = |imports: &str, body: &str| {
            let wasm = wat::parse_str(format!(
                r#"(module {imports} (memory (export "memory") 1) (func (export "f") (loop {body} (br_if 0 (i32.const 0)))))"#
            ));
            let options = gpu_run_translator::Options::full();
            may_meet(&gpu_run_translator::translate(&wasm.unwrap(), &options).unwrap().program)
        };
        let wasi = |name: &str| {
            format!(r#"(import "wasi_snapshot_preview1" "{name}" (func $f (param i32 i32 i32 i32) (result i32)))"#)
        };
        let call = "(drop (call $f (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))";
        assert!(meets("", ""));
        assert!(meets(&wasi("fd_write"), call));
        // Another thread may write to the other end.
        assert!(!meets(&wasi("fd_read"), call));
        assert!(!meets(&wasi("poll_oneoff"), call));
        let sync = r#"(import "wasi_snapshot_preview1" "fd_sync" (func $f (param i32) (result i32)))"#;
        assert!(!meets(sync, "(drop (call $f (i32.const 1)))"));
        // A function of another instance.
        assert!(!meets(r#"(import "a" "f" (func $f))"#, "(call $f)"));
        let add = r#"(import "gpu_run_v1" "atomic_add" (func $f (param i32 i32) (result i32)))"#;
        assert!(!meets(add, "(drop (call $f (i32.const 0) (i32.const 1)))"));
    }
}
