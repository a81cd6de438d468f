//! The `gpu-run` command. What it can do stands in the libraries; here are its words, its messages
//! and its exit codes.

#[macro_use]
mod present;
mod args;
mod command;

use std::process::ExitCode;

use args::batch as batch_args;
use args::profile as profile_args;
use args::snapshot as snapshot_args;
use args::{cargo, cli, entry, files, names, parse, requests, wasi_options};
use cli::Command;
use command::{
    cache, compile, devices, engine, inspect, libtest, load, process, run, spawning, thread_safety, translate, wast,
    watchdog,
};
use present::{
    calls, fault, json, lines, live, log, metrics, output, panic, processes, profile, progress, report, results, sink,
    stands, stats, terminal, view, writes,
};

fn main() -> ExitCode {
    process::prepare();
    let cli = match parse::from_env() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    parse::choose_color(cli.messages.color);
    if let Err(report) = log::start(&cli.messages) {
        return match &cli.command {
            Command::Run(args) => parse::refuse(&report, &args.report),
            Command::Profile(args) => parse::refuse(&report, &args.run.report),
            Command::Batch(args) => parse::refuse(&report, &args.report),
            _ => parse::refuse(&report, &cli::ReportFormat::Text.into()),
        };
    }
    let result = match cli.command {
        Command::Run(args) if args.instances.is_some() => {
            let instances = args.instances.unwrap_or_default();
            command::batch::batch(&batch_args::BatchArgs::of_run(&args, instances))
        }
        Command::Run(mut args) => run::run(&mut args),
        Command::Profile(mut args) => command::profile::profile(&mut args),
        Command::Batch(args) => command::batch::batch(&args),
        Command::Translate(args) => translate::translate(&args),
        Command::Compile(args) => compile::compile(&args),
        Command::Snapshot(args) => command::snapshot::snapshot(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Devices => devices::devices(),
        Command::Cache(args) => cache::cache(&args),
        Command::Wast(args) => wast::wast(&args),
        Command::Completions(args) => parse::completions(args.shell),
        Command::Man(args) => parse::manual(args.dir.as_deref()),
    };
    let code = result.unwrap_or_else(|report| {
        report.print();
        ExitCode::from(report.code)
    });
    engine::leave(code)
}
