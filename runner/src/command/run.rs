//! `gpu-run run`: a run by the library. What its user is told of the end is in `ended`.

mod ended;

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use gpu_run::{
    Counted, DebugOptions, Device, End, HeapChecks, Instance, InterruptHandle, Level, Linker, Module, ModuleOptions,
    Store, StoreLimits, ThreadSet, Usage,
};
use gpu_run_bytecode::Program;
use gpu_run_bytecode::code::instructions;
use gpu_run_translator::rewrite::Status;
use gpu_run_vm::allocates;

use ended::{Executed, is_trap, show_early_end};

use crate::cli::{DebugArgs, DebugLevel, RunArgs};
use crate::entry::{self, Entry, Show};
use crate::lines::LineSource;
use crate::live::{self, Live};
use crate::metrics::Metrics;
use crate::profile;
use crate::profile_args::ProfileMode;
use crate::report::{self, Calls, Outcome, Report, warn};
use crate::spawning::Spawning;
use crate::terminal::{Terminal, debug_format};
use crate::wasi_options;
use crate::watchdog::{Preparation, Watchdog};
use crate::{devices, engine, fault, files, libtest, load, log, progress, results, stands, thread_safety};

/// Runs a module.
pub fn run(args: &mut RunArgs) -> Outcome<ExitCode> {
    args.report.prepare("--report")?;
    if let Some(stats) = &args.stats {
        stats.prepare("--stats")?;
    }
    libtest::watch(args);
    resolve_threads(args)
        .and_then(|device| run_module(args, device))
        .or_else(|report| {
            fault::show(&args.report, &report);
            Ok(ExitCode::from(report.code))
        })
}

/// Opens the device, if that decides how many threads there are.
fn resolve_threads(args: &mut RunArgs) -> Outcome<Option<Box<dyn Device>>> {
    if !args.threads_are_auto() {
        return Ok(None);
    }
    let device = devices::open(&args.device)?;
    args.resolve_threads(device.lanes());
    Ok(Some(device))
}

/// How a stage of a run went: on to the next one, or the process has its exit code.
type Stage<T> = Outcome<ControlFlow<ExitCode, T>>;

/// Runs a module, in stages: load, prepare, execute, report.
fn run_module(args: &RunArgs, device: Option<Box<dyn Device>>) -> Outcome<ExitCode> {
    let begin = Instant::now();
    let interrupt = InterruptHandle::new();
    let preparation = Preparation::begin(args, interrupt.clone());
    let engine = engine::of(args)?;
    let guest = Guest::load(args, &engine, begin)?;
    preparation.loaded();
    let process = match Process::prepare(args, &engine, device, guest, preparation, interrupt)? {
        ControlFlow::Continue(process) => process,
        ControlFlow::Break(code) => return Ok(code),
    };
    match process.execute(args, begin)? {
        ControlFlow::Continue(executed) => executed.report(args),
        ControlFlow::Break(code) => Ok(code),
    }
}

/// What was loaded, and is to be called.
struct Guest {
    lines: LineSource,
    /// How long loading took.
    loaded: Duration,
    entry: Entry,
    results_file: Option<files::Target>,
    /// The files of `--profile`, in its order.
    profile_files: Vec<files::Target>,
}

impl Guest {
    /// Reads and translates the module, and finds what is to be called.
    fn load(args: &RunArgs, engine: &gpu_run::Engine, begin: Instant) -> Outcome<Guest> {
        args.profile.check()?;
        let mut lines = load::load(engine, args.module(), &options(args))?;
        if args.allow_precompiled {
            precompiled(args, engine, &mut lines.module)?;
        }
        let loaded = begin.elapsed();
        let program = lines.module.program();
        notes(&lines.module);
        if args.debug.no_debug && sends_messages(program) {
            tracing::info!(
                "the program was translated before, so --no-debug hides its messages, but what sends them still runs"
            );
        }
        let entry = entry::find(program, args)?;
        let results_file = results::prepare(args.results.as_ref(), &entry, entry::results(program, &entry))?;
        let profile_files = profile::open(&args.profile)?;
        thread_safety::warn_of_state(&lines.module, &entry);
        let heap_profile = args.profile.mode() == Some(ProfileMode::Heap);
        if (args.heap_check || args.leak_check || heap_profile) && !allocates(program) {
            let what = if heap_profile { "known" } else { "checked" };
            warn(&format!(
                "the program does not use the device's heap, so nothing of its allocations is {what}"
            ));
        }
        Ok(Guest {
            lines,
            loaded,
            entry,
            results_file,
            profile_files,
        })
    }
}

/// A guest on its device.
struct Process {
    guest: Guest,
    store: Store<()>,
    instance: Instance,
    terminal: Arc<Mutex<Terminal>>,
    files: files::Files,
    /// The calls that are shown of a program that has said itself why it ended.
    calls: Calls,
    interrupt: InterruptHandle,
}

/// The terminal, which no run uses now.
fn lock(terminal: &Mutex<Terminal>) -> MutexGuard<'_, Terminal> {
    terminal.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    /// Opens the device, chooses the engine, and instantiates the program, which runs its start function.
    fn prepare(
        args: &RunArgs,
        engine: &gpu_run::Engine,
        device: Option<Box<dyn Device>>,
        guest: Guest,
        preparation: Preparation,
        interrupt: InterruptHandle,
    ) -> Stage<Process> {
        let failed = |error: gpu_run::Error| report::library(&error, args.module());
        let thread_stack = thread_stack(args)?;
        let mut device = match device {
            Some(device) => device,
            None => devices::open(&args.device)?,
        };
        let module = &guest.lines.module;
        let limits = limits(args, thread_stack, &guest, &mut *device);
        // Threads from the beginning spawn none.
        let spawning = match guest.entry.threads {
            1 => Spawning::of(module.program(), args.given_threads(), &limits, &*device),
            _ => None,
        };
        let compiles = device.target().is_some();
        let mut store = Store::with_device(engine, (), limits, device).map_err(failed)?;
        preparation.end();
        let wasi = wasi_options::of(module.program(), args, spawning.as_ref())?;
        let terminal = Arc::new(Mutex::new(Terminal::new(
            interrupt.clone(),
            wasi.is_some(),
            progress::of_frame(&args.files).filter(|_| !log::is_quiet() && !args.profile.live),
            args,
        )));
        // The process that began the tests has the place.
        if let Some(place) = args.profile.metrics.as_ref().filter(|_| !libtest::is_within()) {
            lock(&terminal).tell(Metrics::begin(place, args.module())?);
        }
        if args.profile.live && !libtest::is_within() {
            let live = Live::begin(format!("{} on {}", args.module().display(), store.device_name()));
            if live.is_none() {
                warn(live::IS_NOT_SHOWN);
            }
            lock(&terminal).show(live);
        }
        store.set_sink(terminal.clone());
        store.set_debug(debug_options(&args.debug));
        store.set_timeout(args.timeout);
        match args.profile.mode() {
            Some(ProfileMode::Sample) => store.take_samples(args.profile.period()),
            Some(ProfileMode::Count) => store.count_blocks(Counted::Lanes),
            Some(ProfileMode::Lanes) => store.count_blocks(Counted::LanesAndWarps),
            Some(ProfileMode::Heap) => store.watch_heap(),
            None => {}
        }
        store.interrupt_by(&interrupt);
        let calls = Calls::wanted(wasi.as_ref().and_then(|wasi| wasi.var(Calls::VARIABLE)));
        let files = files::bind(args, &mut store)?;
        let mut linker = Linker::new(engine);
        if let Some(wasi) = wasi {
            linker.wasi(wasi);
        }
        if compiles {
            engine::check_cache(args)?;
        }
        let usage = Usage {
            exports: Some(vec![guest.entry.export.clone()]),
            threads: Some(guest.entry.threads),
            ..Usage::default()
        };
        let linked = linker.instantiate_pre(&mut store, module, &usage).map_err(failed)?;
        engine::tell(args, linked.choice());
        args.profile.warn_of(linked.choice());
        let compiled = linked.choice().code.is_ok();
        match linked.instantiate().map_err(gpu_run::Error::into_end) {
            Ok(instance) => Ok(ControlFlow::Continue(Process {
                guest,
                store,
                instance,
                terminal,
                files,
                calls,
                interrupt,
            })),
            Err(Ok(mut end)) => {
                // Of a module that was not instantiated the files stay as they were.
                if !is_trap(&end) {
                    files.write(args, &mut store)?;
                }
                let mut terminal = lock(&terminal);
                terminal.finish();
                let mut context = fault::Context::of_start(&end, calls, &terminal, compiled);
                context.stands = stands::of(&store, &guest.lines);
                show_early_end(args, &mut end, &context, &guest.lines).map(ControlFlow::Break)
            }
            Err(Err(error)) => Err(failed(error)),
        }
    }

    /// Runs the program.
    fn execute(self, args: &RunArgs, begin: Instant) -> Stage<Executed> {
        let ready = begin.elapsed();
        let failed = |error: gpu_run::Error| report::library(&error, args.module());
        let Process {
            guest,
            mut store,
            instance,
            terminal,
            files,
            calls,
            interrupt,
        } = self;
        let (entry, lines) = (&guest.entry, &guest.lines);
        if let Some(func) = entry.before.and_then(|name| instance.get_func(&store, name)) {
            let mut outcome = func.run(&mut store, 1, &[]).map_err(failed)?;
            if !matches!(outcome.end, End::Returned) {
                let mut terminal = lock(&terminal);
                terminal.finish();
                let mut context = fault::Context::of(&outcome, 1, calls, &terminal);
                context.look_at(&mut store, instance, lines);
                return show_early_end(args, &mut outcome.end, &context, lines).map(ControlFlow::Break);
            }
        }
        let Some(func) = instance.get_func(&store, &entry.export) else {
            return Err(Report::new(format!("`{}` is no function", entry.export)));
        };
        if entry.show == Show::KernelResult && !log::is_quiet() {
            note!("Running on {} with {} threads...", store.device_name(), entry.threads);
        }
        let watchdog = Watchdog::of_run(args.timeout);
        store.set_last_run(true);
        let mut outcome = func.run(&mut store, entry.threads, &entry.args).map_err(failed)?;
        let watchdog = watchdog.filter(|_| matches!(outcome.end, End::TimedOut));
        files.write(args, &mut store)?;
        lock(&terminal).finish();
        if let Some(printed) = libtest::aborted(&outcome.end, lines.module.program()) {
            let compiled = instance.choice(&store).is_ok_and(|choice| choice.code.is_ok());
            // The tests that are left need the device.
            drop(store);
            let code = match libtest::go_on(args, &printed, &interrupt)? {
                Some(code) => code,
                None => {
                    let terminal = lock(&terminal);
                    let context = fault::Context::of_start(&outcome.end, calls, &terminal, compiled);
                    show_early_end(args, &mut outcome.end, &context, lines)?
                }
            };
            return Ok(ControlFlow::Break(code));
        }
        Ok(ControlFlow::Continue(Executed {
            outcome,
            ready,
            watchdog,
            guest,
            store,
            instance,
            terminal,
            calls,
        }))
    }
}

/// Takes the code that came with the program.
fn precompiled(args: &RunArgs, engine: &gpu_run::Engine, module: &mut Module) -> Outcome<()> {
    let missing = || {
        Report::new("--allow-precompiled needs a program with code, and this has none")
            .at(args.module().display().to_string())
            .help("`gpu-run compile` makes one")
    };
    if load::is_stdin(args.module()) {
        return Err(Report::new("--allow-precompiled needs a file, not stdin"));
    }
    *module = load::with_code(engine, args.module())?
        .filter(Module::is_precompiled)
        .ok_or_else(missing)?;
    load::set_fuel(module, args.passes.fuel, args.module())
}

/// How a run translates.
fn options(args: &RunArgs) -> ModuleOptions {
    ModuleOptions {
        deny_recursion: args.deny_recursion,
        no_debug: args.debug.no_debug,
        shared: args.threads() > 1,
        lines: args.profile.line_info,
        ..load::options(&args.passes)
    }
}

/// Which debug messages are shown.
fn debug_options(args: &DebugArgs) -> DebugOptions {
    DebugOptions {
        drop: args.debug_drop,
        least: match args.debug_level {
            DebugLevel::Debug => Level::Debug,
            DebugLevel::Info => Level::Info,
            DebugLevel::Warn => Level::Warn,
            DebugLevel::Error => Level::Error,
        },
        // A program that was translated before may still have the instructions.
        threads: match args.no_debug {
            true => ThreadSet::none(),
            false => (args.debug_only.iter().cloned().reduce(ThreadSet::union)).unwrap_or_default(),
        },
        format: debug_format(args),
    }
}

/// Whether a program has instructions for debug messages.
fn sends_messages(program: &Program) -> bool {
    instructions(&program.code).any(|(_, inst)| inst.is_ok_and(|inst| inst.op.is_debug()))
}

/// The limits that the options set, and for the rest those that fit the module.
fn limits(args: &RunArgs, thread_stack: Option<u32>, guest: &Guest, device: &mut dyn Device) -> StoreLimits {
    let fitting = StoreLimits::for_module(&guest.lines.module, guest.entry.threads, device);
    StoreLimits {
        memory: args.max_memory.map(|size| size.as_u64()),
        call_depth: args.max_call_depth,
        thread_stack: thread_stack.unwrap_or(fitting.thread_stack),
        // One that was asked for stays.
        least_thread_stack: thread_stack.unwrap_or(fitting.least_thread_stack),
        heap: HeapChecks {
            guards: args.heap_check,
            leaks: args.leak_check || args.profile.mode() == Some(ProfileMode::Heap),
        },
        ..fitting
    }
}

/// Bytes of `--thread-stack`, if it was given.
fn thread_stack(args: &RunArgs) -> Outcome<Option<u32>> {
    let stack = |size: ByteSize| match size.as_u64() {
        bytes @ 1024..=0x4000_0000 => Ok(bytes as u32),
        _ => Err(Report::new(format!(
            "--thread-stack {size} is not between 1 KiB and 1 GiB"
        ))),
    };
    args.thread_stack.map(stack).transpose()
}

/// Warnings, and with -v what was done.
fn notes(module: &Module) {
    let report = module.translation();
    for warning in report.iter().flat_map(|report| &report.rewrites.warnings) {
        warn(warning);
    }
    let patterns = report.iter().flat_map(|report| &report.rewrites.patterns);
    for pattern in patterns.filter(|pattern| pattern.status == Status::Found) {
        tracing::info!("{}: {}", pattern.pattern, pattern.found.join(", "));
    }
    tracing::info!(
        "{} calls inlined",
        report.map_or(0, |report| report.inlines.inlined_calls)
    );
    tracing::info!(
        "{} words of bytecode in {:.1} ms",
        module.program().code.len(),
        report.map_or(0.0, |report| report.times.total().as_secs_f64() * 1e3)
    );
}
