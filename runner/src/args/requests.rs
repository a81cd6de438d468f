//! Which functions of WASI a program calls, and which options are for them.

use std::collections::BTreeSet;

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::wasi::{Function, NET_MODULE, TABLE};
use gpu_run_bytecode::{Op, Program};

use crate::cli::EnvironmentArgs;

/// The functions of WASI that a program calls, but for `proc_exit`.
pub struct Called(BTreeSet<Function>);

impl Called {
    /// By a program.
    pub fn by(program: &Program) -> Called {
        let requests = instructions(&program.code).filter_map(|(_, inst)| inst.ok());
        let requests = requests.filter(|inst| inst.op == Op::RequestQueue);
        Called(
            requests
                .filter_map(|inst| Function::from_number(inst.args[0] as u16))
                .collect(),
        )
    }

    /// Whether it calls any of these.
    pub fn any(&self, functions: &[Function]) -> bool {
        functions.iter().any(|function| self.0.contains(function))
    }

    /// All of them.
    pub fn functions(&self) -> impl Iterator<Item = Function> {
        self.0.iter().copied()
    }

    /// The options that were given and that the program makes no use of.
    pub fn unused(&self, options: &EnvironmentArgs) -> Vec<&'static str> {
        let files: Vec<Function> = (TABLE.iter())
            .filter(|info| info.name.starts_with("path_"))
            .map(|info| info.function)
            .chain([Function::FdPrestatGet, Function::FdReaddir])
            .collect();
        let net: Vec<Function> = (TABLE.iter())
            .filter(|info| info.module == NET_MODULE)
            .map(|info| info.function)
            .collect();
        let variables = [Function::EnvironGet, Function::EnvironSizesGet];
        let arguments = [Function::ArgsGet, Function::ArgsSizesGet];
        let options = [
            ("--dir", !options.dirs.is_empty(), &files[..]),
            ("--tmpfs", options.tmpfs.is_some(), &files),
            ("--env", !options.variables.is_empty(), &variables),
            ("--allow-net", !options.allow_net.is_empty(), &net),
            ("--argv0", options.argv0.is_some(), &arguments),
            ("--seed", options.seed.is_some(), &[Function::RandomGet]),
        ];
        let unused = options.into_iter().filter(|(_, given, by)| *given && !self.any(by));
        unused.map(|(name, ..)| name).collect()
    }
}
