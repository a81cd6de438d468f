//! Where the basic blocks of a program begin, for what marks them in the bytecode.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::{Builder, available_parallelism, scope};

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{ExternKind, Function, Op, Program};

use super::analysis::cfg::Cfg;

/// Functions that are not worth a thread of their own.
const SHARE: usize = 64;

/// The first words of a program's basic blocks. They are found once: for a large program that takes tens of milliseconds.
#[derive(Debug)]
pub struct Blocks {
    /// Of each defined function, in order. The function begins with the first.
    pub starts: Vec<Vec<u32>>,
    loops: OnceLock<Vec<u32>>,
}

impl Blocks {
    /// Those of a verified program.
    pub fn of(program: &Program) -> Blocks {
        Blocks {
            starts: block_starts(program),
            loops: OnceLock::new(),
        }
    }

    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.starts.iter().flatten().copied()
    }

    /// All of them but these.
    pub fn but<B: FromIterator<u32>>(&self, these: &BTreeSet<u32>) -> B {
        self.all().filter(|block| !these.contains(block)).collect()
    }

    /// Those with which loops begin, in order, of the same program. That takes twice as long as to find all, if it was not
    /// asked before.
    pub fn loops(&self, program: &Program) -> &[u32] {
        self.loops.get_or_init(|| loop_starts(program))
    }
}

/// The first words of the basic blocks of each defined function, in order. The function begins with the first.
pub fn block_starts(program: &Program) -> Vec<Vec<u32>> {
    let functions = program.meta.functions.iter();
    functions.map(|function| Cfg::starts(program, function)).collect()
}

/// The first words of the basic blocks to which only branches and calls of the interpreter's loop lead, in order.
pub fn reached_by_branches(program: &Program) -> Vec<u32> {
    let others = begun_by_others(program);
    let functions = program.meta.functions.iter();
    functions
        .flat_map(|function| Cfg::reached_by_branches(program, function, !others.contains(&function.start)))
        .collect()
}

/// The heads of functions that the host may begin, or another instance, or a tail call.
fn begun_by_others(program: &Program) -> BTreeSet<u32> {
    let meta = &program.meta;
    let exports = meta.exports.iter().filter(|export| export.kind == ExternKind::Func);
    let mut functions: Vec<u32> = meta.referenced_functions().collect();
    functions.extend(exports.map(|export| export.index).chain(meta.start));
    let mut heads = BTreeSet::new();
    for (word, inst) in instructions(&program.code) {
        match inst {
            Ok(inst) if inst.op == Op::RefFunc => functions.push(inst.args[1] as u32),
            Ok(inst) if inst.op == Op::ReturnCall => _ = heads.insert((word as i64 + inst.args[1]) as u32),
            _ => {}
        }
    }
    let defined = functions
        .iter()
        .filter_map(|index| index.checked_sub(meta.imported_funcs()));
    let known = defined.filter_map(|defined| meta.functions.get(defined as usize));
    heads.extend(known.map(|function| function.start));
    heads
}

/// The first word of the first basic block of the function defined as number `defined`.
pub fn first_block(program: &Program, defined: usize) -> Option<u32> {
    Cfg::first_start(program, program.meta.functions.get(defined)?)
}

/// The first words of the basic blocks with which loops begin, in order.
fn loop_starts(program: &Program) -> Vec<u32> {
    let of = |functions: &[Function]| -> Vec<u32> {
        let graphs = functions.iter().map(|function| Cfg::new(program, function));
        let heads = graphs.map(|cfg| cfg.loop_heads().map(|head| cfg.first_word(head)).collect::<Vec<_>>());
        heads.flatten().collect()
    };
    let functions = &program.meta.functions[..];
    let threads = available_parallelism().map_or(1, NonZero::get).min(8);
    let share = functions.len().div_ceil(threads).max(SHARE);
    let (own, others) = functions.split_at(share.min(functions.len()));
    let mut starts = scope(|scope| {
        let start = |share| Builder::new().spawn_scoped(scope, move || of(share));
        // Where no more threads can be started, the one that there is does it.
        let finders: Vec<_> = others.chunks(share).map(|share| (share, start(share))).collect();
        let mut starts = of(own);
        for (share, finder) in finders {
            let found = finder.map(|finder| finder.join());
            // A finder that has panicked is a mistake of ours, and told as such.
            let found = found.map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            starts.extend(found.unwrap_or_else(|_| of(share)));
        }
        starts
    });
    starts.sort_unstable();
    starts
}
