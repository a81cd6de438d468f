//! `gpu-run snapshot`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bytesize::ByteSize;
use gpu_run::{
    Config, DeviceKind, Engine, Error, Input, Instance, Linker, ModuleOptions, Store, StoreLimits, Strategy,
};
use gpu_run::{WasiCtx, WasiCtxBuilder};
use gpu_run_bytecode::ExternKind;
use gpu_run_vm::Cpu;

use crate::names::did_you_mean;
use crate::report::{self, Outcome, Report};
use crate::snapshot_args::SnapshotArgs;
use crate::{load, wasi_options};

/// The function by which a module for WASI is made ready that is no command.
const INITIALIZE: &str = "_initialize";

/// Runs what makes a program ready, and writes the program that begins there.
pub fn snapshot(args: &SnapshotArgs) -> Outcome<ExitCode> {
    let failed = |error: Error| failed(&error, &args.module);
    for (given, option) in [
        (args.environment.tmpfs.is_some(), "--tmpfs"),
        (!args.environment.allow_net.is_empty(), "--allow-net"),
    ] {
        if given {
            return Err(Report::new(format!("a snapshot holds nothing of {option}")));
        }
    }
    let mut config = Config::new();
    config
        .device(DeviceKind::Cpu)
        .strategy(Strategy::Interpreter)
        .no_cache();
    let engine = Engine::new(&config).map_err(failed)?;
    // The device's heap is not part of a snapshot, and debug messages know nothing of processes.
    let options = ModuleOptions {
        rewrite: None,
        no_debug: true,
        ..ModuleOptions::full()
    };
    let bytes = load::read(&args.module)?;
    if gpu_run::is_serialized(&bytes) {
        return Err(
            Report::new("a snapshot is made of a module, and this is a translated program")
                .at(args.module.display().to_string())
                .help("give the .wasm file: of it, the program's own allocator is kept"),
        );
    }
    let output = output(args)?;
    let module = load::load_bytes(&engine, &args.module, bytes, &options)?.module;
    let mut linker = Linker::new(&engine);
    linker.wasi(environment(args)?);
    let mut device = Cpu::new();
    let limits = StoreLimits {
        memory: args.max_memory.map(|size| size.as_u64()),
        ..StoreLimits::for_module(&module, 1, &mut device)
    };
    let mut store = Store::with_limits(&engine, (), limits).map_err(failed)?;
    store.set_timeout(args.timeout);
    let instance = linker.instantiate(&mut store, &module).map_err(failed)?;
    let initialize = instance.get_typed_func::<_, (), ()>(&store, INITIALIZE);
    let initializes = initialize.is_ok();
    if initializes {
        call(&mut store, &instance, INITIALIZE, args)?;
    }
    match args.at.as_ref().filter(|at| !initializes || *at != INITIALIZE) {
        Some(export) if instance.get_func(&store, export).is_none() => {
            let exports = module.program().meta.exports.iter();
            let functions = exports.filter(|export| export.kind == ExternKind::Func);
            let exports = functions.map(|export| &export.name[..]);
            return Err(Report::new(format!("no function `{export}` is exported"))
                .at(args.module.display().to_string())
                .help(did_you_mean(
                    export,
                    exports,
                    "`gpu-run inspect` shows what a module exports",
                )));
        }
        Some(export) => call(&mut store, &instance, export, args)?,
        None if initializes => {}
        None => {
            return Err(Report::new("nothing of the module is to be called before the snapshot")
                .at(args.module.display().to_string())
                .help("name the export that makes it ready with --at EXPORT"));
        }
    }
    let snapshot = instance.snapshot(&mut store).map_err(failed)?;
    let bytes = snapshot.serialize();
    let write = |error| Report::new(format!("cannot write: {error}")).at(output.display().to_string());
    std::fs::write(&output, &bytes).map_err(write)?;
    note!(
        "{}: {}, begins where the module stands now",
        output.display(),
        ByteSize(bytes.len() as u64)
    );
    Ok(ExitCode::SUCCESS)
}

/// Calls a function that takes nothing.
fn call(store: &mut Store<()>, instance: &Instance, name: &str, args: &SnapshotArgs) -> Outcome<()> {
    let Some(func) = instance.get_func(store, name) else {
        return Ok(());
    };
    let ended = func.run(store, 1, &[]).and_then(|outcome| outcome.returned());
    ended.map(|_| ()).map_err(|error| match error {
        Error::Exit(code) => Report::new(format!("`{name}` ended the program with exit code {code}"))
            .at(args.module.display().to_string())
            .help("a snapshot is taken when the function has returned"),
        error => failed(&error, &args.module),
    })
}

fn failed(error: &Error, module: &Path) -> Report {
    match error {
        Error::Fault(fault) => report::trap(fault, module, 1),
        error => report::library(error, module),
    }
}

/// What the program finds around it.
fn environment(args: &SnapshotArgs) -> Outcome<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new()
        .arg(wasi_options::program_name(&args.environment, &args.module))
        .stdin(Input::Empty);
    for (name, value) in wasi_options::variables(args.environment.variables.iter())? {
        wasi = wasi.env(name, value);
    }
    for dir in wasi_options::directories(args.environment.dirs.iter())? {
        wasi = wasi
            .preopened_dir(dir.host, &dir.guest, dir.read_only)
            .map_err(|error| dir.failed(error))?;
    }
    if let Some(seed) = args.environment.seed {
        wasi = wasi.seed(seed);
    }
    Ok(wasi.build())
}

/// Where the program goes.
fn output(args: &SnapshotArgs) -> Outcome<PathBuf> {
    match &args.output {
        Some(output) => Ok(output.clone()),
        None if load::is_stdin(&args.module) => {
            Err(Report::new("a module from stdin has no name").help("name the output with -o FILE"))
        }
        None => Ok(args.module.with_extension("gbc")),
    }
}
