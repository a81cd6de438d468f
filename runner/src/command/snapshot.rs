//! `gpu-run snapshot`.

use std::path::Path;
use std::process::ExitCode;

use bytesize::ByteSize;
use gpu_run::{Config, DeviceKind, Engine, Error, Input, Instance, Linker, Store, StoreLimits, Strategy};
use gpu_run::{WasiCtx, WasiCtxBuilder};
use gpu_run_bytecode::Program;
use gpu_run_vm::Cpu;

use crate::report::{self, Outcome, Report};
use crate::snapshot_args::SnapshotArgs;
use crate::{entry, load, wasi_options};

/// Runs what makes a program ready, and writes the program that begins there.
pub fn snapshot(args: &SnapshotArgs) -> Outcome<ExitCode> {
    let failed = |error: Error| failed(&error, &args.module);
    if let Some(option) = wasi_options::of_runs_only(&args.environment) {
        return Err(Report::new(format!("a snapshot holds nothing of {option}")));
    }
    let mut config = Config::new();
    config
        .device(DeviceKind::Cpu)
        .strategy(Strategy::Interpreter)
        .no_cache();
    let engine = Engine::new(&config).map_err(failed)?;
    let bytes = load::read(&args.module)?;
    if gpu_run::is_serialized(&bytes) {
        return Err(
            Report::new("a snapshot is made of a module, and this is a translated program")
                .at(args.module.display().to_string())
                .help("give the .wasm file: of it, the program's own allocator is kept"),
        );
    }
    let output = load::output(args.output.as_deref(), &args.module)?;
    let module = load::load_bytes(&engine, &args.module, bytes, &load::as_process(args.fuel))?.module;
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
    let initializer = entry::initializer(module.program());
    let named = args.at.as_deref().filter(|at| Some(*at) != initializer);
    if initializer.is_none() && named.is_none() {
        return Err(Report::new("nothing of the module is to be called before the snapshot")
            .at(args.module.display().to_string())
            .help("name the export that makes it ready with --at EXPORT"));
    }
    for name in initializer.into_iter().chain(named) {
        call(&mut store, &instance, module.program(), name, &args.module)?;
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

/// Calls an exported function that takes nothing.
fn call(store: &mut Store<()>, instance: &Instance, program: &Program, name: &str, module: &Path) -> Outcome<()> {
    let place = module.display().to_string();
    let func = instance.get_func(store, name);
    let func = func.ok_or_else(|| entry::unknown(program, name, &place))?;
    let ended = func.run(store, 1, &[]).and_then(|outcome| outcome.returned());
    ended.map(|_| ()).map_err(|error| match error {
        Error::Exit(code) => Report::new(format!("`{name}` ended the program with exit code {code}"))
            .at(place)
            .help("a snapshot is taken when the function has returned"),
        error => failed(&error, module),
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
    wasi = wasi_options::with_folders(wasi, args.environment.dirs.iter())?;
    if let Some(seed) = args.environment.seed {
        wasi = wasi.seed(seed);
    }
    Ok(wasi.build())
}
