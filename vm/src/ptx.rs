//! Compilation of programs to PTX, and what is done with it.

pub mod cache;
pub mod code;
pub mod link;
pub mod sass;

use gpu_run_bytecode::Program;

/// What is compiled.
pub struct Unit<'a> {
    /// A verified program.
    pub program: &'a Program,
    /// Prefix of all symbols, such as `i0_`.
    pub prefix: String,
    /// Word of the program's first instruction in the store's code.
    pub code_start: u32,
    /// Functions (imports first) that may be started.
    pub entries: Vec<u32>,
    /// What else the code depends on.
    pub options: Options,
}

/// What compiled code depends on besides the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Other threads may grow memory 0.
    pub growth_by_others: bool,
    /// Units of `Context.values`.
    pub values: u32,
    /// Functions called through pointers may throw or tail call.
    pub statuses: bool,
}

/// PTX of a program.
pub struct Compiled {
    /// The PTX.
    pub text: String,
    /// Functions in it.
    pub functions: u32,
    /// Words of bytecode compiled.
    pub words: u32,
    /// Recursion or indirect calls: the native stack has to be set.
    pub needs_stack: bool,
}

/// STUB of the compiler: a module without functions.
pub fn compile(unit: &Unit<'_>) -> Compiled {
    let p = &unit.prefix;
    let entries: String = unit
        .entries
        .iter()
        .map(|i| format!(".visible .entry {p}start_{i}(.param .b64 launch) {{ ret; }}\n"))
        .collect();
    let n = unit.program.meta.functions.len().max(1);
    Compiled {
        text: format!(
            ".version 7.5\n.target sm_75\n.address_size 64\n.visible .const .align 8 .b8 {p}instance[32];\n\
             .visible .global .align 8 .b64 {p}functions[{n}];\n.visible .global .align 8 .b64 {p}tails[{n}];\n{entries}"
        ),
        functions: unit.program.meta.functions.len() as u32,
        words: unit.program.code.len() as u32,
        needs_stack: true,
    }
}

/// PTX of the runtime.
pub const RUNTIME: &str = "";
