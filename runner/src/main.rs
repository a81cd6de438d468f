//! The `gpu-run` command. What it can do stands in the libraries; here are its words, its messages
//! and its exit codes.

#[macro_use]
mod output;

mod cache;
mod cargo;
mod cli;
mod devices;
mod engine;
mod entry;
mod environment;
mod fault;
mod files;
mod inspect;
mod lines;
mod log;
mod process;
mod report;
mod run;
mod shared;
mod stats;
mod terminal;
mod translate;
mod wast;
mod watchdog;

use std::process::ExitCode;

use cli::{Cli, Command};

fn main() -> ExitCode {
    process::prepare();
    let command = Cli::from_env().command;
    let verbose = matches!(&command, Command::Run(args) if args.verbose);
    let result = log::start(verbose).and_then(|()| match command {
        Command::Run(args) => run::run(&args),
        Command::Translate(args) => translate::translate(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Devices => devices::devices(),
        Command::Cache(args) => cache::cache(&args),
        Command::Wast(args) => wast::wast(&args),
    });
    let code = result.unwrap_or_else(|report| {
        report.print();
        ExitCode::from(report.code)
    });
    engine::leave(code)
}
