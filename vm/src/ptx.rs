//! STUB of the PTX engine's compiler, with its interface.

pub mod cache;
pub mod code;
mod image;
pub mod link;
pub mod sass;
#[allow(dead_code)]
pub mod template;

use gpu_run_bytecode::Program;

pub use image::{Image, ImageLayout};

/// The runtime that compiled functions call; see `kernel/runtime.cpp`.
pub const RUNTIME: &str = include_str!("../kernel/generated/runtime.ptx");

/// How to compile a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether another thread or instance may make memory 0 larger while a function runs.
    pub growth_by_others: bool,
    /// Whether other instances call what this one exports.
    pub exports: bool,
    /// Whether functions that are called through pointers may throw or make tail calls, because one of
    /// another instance does.
    pub statuses: bool,
    /// Units of values of an exception or a tail call that the entries make room for, at least.
    pub values: u32,
    /// Whether every call compares the number of frames with the limit, not only calls that may recurse.
    pub check_depth: bool,
    /// Whether each instruction gets a comment that tells the bytecode it came from.
    pub comments: bool,
}

/// What to compile.
pub struct Unit<'a> {
    /// The program, which was verified.
    pub program: &'a Program,
    /// Begins the name of every symbol.
    pub prefix: String,
    /// The store's word index of the program's word 0.
    pub code_start: u32,
    /// Functions that the host may start, by index with imports first.
    pub entries: Vec<u32>,
    /// How.
    pub options: Options,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// PTX.
    pub text: String,
    /// Functions in it.
    pub functions: u32,
    /// Words of bytecode that were compiled.
    pub words: u32,
    /// Whether the depth of its native stack is not known before it runs.
    pub needs_stack: bool,
}

/// STUB: kernels that do nothing.
pub fn compile(unit: &Unit) -> Compiled {
    let p = &unit.prefix;
    let entries: String = unit
        .entries
        .iter()
        .map(|i| format!(".visible .entry {p}start_{i}(.param .b64 launch) {{ ret; }}\n"))
        .collect();
    let n = unit.program.meta.functions.len().max(1);
    Compiled {
        text: format!(
            ".version 7.5\n.target sm_75\n.address_size 64\n{}\
             .visible .global .align 8 .b64 {p}functions[{n}];\n.visible .global .align 8 .b64 {p}tails[{n}];\n{entries}",
            ImageLayout::new(unit.program).declaration(p)
        ),
        functions: unit.program.meta.functions.len() as u32,
        words: unit.program.code.len() as u32,
        needs_stack: true,
    }
}
