//! `gpu-run run`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gpu_run_bytecode::{ExternType, Program};
use gpu_run_translator::rewrite::{LACKS_PLATFORM, Status};
use gpu_run_translator::{BrTables, Options, Translation, own_allocators, run_passes, shared_std};
use gpu_run_vm::{
    ClassStats, DebugOptions, End, Extern, HeapChecks, HeapStats, Level, Limits, RunOptions, Store, StoreError, Value,
    allocates,
};
use serde_json::json;

use crate::cli::{DebugArgs, DebugLevel, ReportFormat, RunArgs, StatsFormat};
use crate::engine::Held;
use crate::entry::{self, Entry, Show};
use crate::environment;
use crate::lines::LineSource;
use crate::report::{self, Outcome, Report, code, warn};
use crate::terminal::{Terminal, debug_format};
use crate::watchdog::{self, Watchdog};
use crate::{devices, engine, fault, files, translate};

/// Runs a module.
pub fn run(args: &RunArgs) -> Outcome<ExitCode> {
    run_module(args).or_else(|report| match args.report {
        ReportFormat::Text => Err(report),
        ReportFormat::Json => {
            note!("{}", fault::refused(&report));
            Ok(ExitCode::from(report.code))
        }
    })
}

fn run_module(args: &RunArgs) -> Outcome<ExitCode> {
    let begin = Instant::now();
    let loaded = translate::load(&args.module, &options(args))?;
    let lacks_platform = loaded.translation.rewrites.lacks_platform;
    let exit_code = run_loaded(args, loaded, begin)?;
    // Codes that are the runner's own have other reasons.
    let own = [0, code::LEAK, code::TIMEOUT, code::INTERRUPTED, code::TRAP];
    if lacks_platform && args.report == ReportFormat::Text && !own.contains(&engine::number(exit_code)) {
        note!("  = help: {LACKS_PLATFORM}");
    }
    Ok(exit_code)
}

/// `begin`: when loading began.
fn run_loaded(args: &RunArgs, loaded: translate::Loaded, begin: Instant) -> Outcome<ExitCode> {
    let translate::Loaded { translation, module } = loaded;
    let loaded = begin.elapsed();
    notes(&translation);
    let entry = entry::find(&translation.program, args)?;
    if args.threads > 1 && !translation.program.meta.is_threaded() {
        warn_of_shared_state(args, &entry)?;
    }
    if (args.heap_check || args.leak_check) && !allocates(&translation.program) {
        warn("the program does not use the device's heap, so nothing of its allocations is checked");
    }
    let device = devices::open(&args.device)?;
    let limits = Limits {
        memory: args.max_memory.map(|size| size.as_u64()),
        call_depth: args.max_call_depth,
        heap: HeapChecks {
            guards: args.heap_check,
            leaks: args.leak_check,
        },
        ..Limits::default()
    };
    let store = Store::new(device, limits).map_err(|error| report::device(&error))?;
    let mut store = Held::new(store);
    let interrupt = Arc::new(AtomicBool::new(false));
    watchdog::on_interrupt(interrupt.clone());
    let mut options = RunOptions {
        threads: args.threads,
        thread_stack: thread_stack(args)?,
        timeout: args.timeout,
        interrupt: Some(interrupt.clone()),
        environment: environment::of(&translation.program, args)?,
        debug: debug_options(&args.debug),
    };
    let mut terminal = Terminal::new(
        interrupt.clone(),
        options.environment.is_some(),
        files::progress(&args.files),
        args,
    );
    let files = files::bind(&args.files, &mut store)?;
    let program = Arc::new(translation.program);
    let choice = engine::choose(args, &mut store, &program, &entry.export, &interrupt)?;
    let lines = LineSource {
        module,
        program: program.clone(),
    };
    let memory = own_memory(&mut store, &program).map_err(|error| report::store(&args.module, &error))?;
    let resolve = |module: &str, name: &str| memory.filter(|_| (module, name) == MEMORY_IMPORT);
    let instance = match store.instantiate_compiled(program, choice.code.as_ref(), resolve, &options, &mut terminal) {
        Ok(instance) => instance,
        Err(StoreError::Ended(end)) => {
            files.write(&args.files, &mut store)?;
            terminal.finish();
            let context = fault::Context {
                terminal: &terminal,
                faults: 0,
                thread: None,
                heap: None,
                compiled: choice.code.is_some(),
            };
            return show_early_end(args, *end, &context, &lines);
        }
        Err(StoreError::Trap(mut fault)) => {
            lines.add_to(&mut fault.backtrace);
            return Err(report::trap(&fault));
        }
        Err(error) => return Err(report::store(&args.module, &error)),
    };
    let ready = begin.elapsed();
    if let Some(Extern::Func(func)) = entry.before.and_then(|name| store.export(instance, name)) {
        let once = RunOptions {
            threads: 1,
            ..options.clone()
        };
        let outcome = store.run(func, &[], &once, &mut terminal);
        let outcome = outcome.map_err(|error| report::store(&args.module, &error))?;
        if !matches!(outcome.end, End::Returned) {
            terminal.finish();
            let context = fault::Context::of(&outcome, &terminal, &mut store, instance);
            return show_early_end(args, outcome.end, &context, &lines);
        }
    }
    let Some(Extern::Func(func)) = store.export(instance, &entry.export) else {
        return Err(Report::new(format!("`{}` is no function", entry.export)));
    };
    if entry.show == Show::KernelResult {
        note!("Running on {} with {} threads...", store.device_name(), args.threads);
    }
    let watchdog = Watchdog::of_run(args.timeout);
    if let Some(environment) = &mut options.environment {
        environment.last = true;
    }
    let outcome = store
        .run(func, &entry.args, &options, &mut terminal)
        .map_err(|error| report::store(&args.module, &error))?;
    drop(watchdog);
    files.write(&args.files, &mut store)?;
    terminal.finish();
    if outcome.debug.dropped > 0 {
        warn(&format!(
            "{} debug messages were dropped, because they came faster than they were written",
            outcome.debug.dropped
        ));
    }
    let context = fault::Context::of(&outcome, &terminal, &mut store, instance);
    let returned = matches!(outcome.end, End::Returned);
    let mut code = match outcome.end {
        End::Returned => {
            let code = show_results(&entry, &outcome.results, args.threads)?;
            if args.report == ReportFormat::Json {
                show_json(&End::Returned, None, engine::number(code), &context);
            }
            code
        }
        end => show_early_end(args, end, &context, &lines)?,
    };
    // A process that ended early had no time to free.
    if args.leak_check && returned {
        let mut leaks = store
            .leaks(instance)
            .map_err(|error| report::store(&args.module, &error))?;
        leaks.retain(|leak| !report::of_start(leak));
        leaks.iter_mut().for_each(|leak| lines.add_to(&mut leak.allocated));
        if !leaks.is_empty() {
            let report = report::leaks(&leaks);
            show_report(args, &report);
            code = ExitCode::from(report.code);
        }
    }
    if let Some(format) = args.stats {
        let heap = store.heap_stats(instance).map_err(|error| report::device(&error))?;
        let t = translation.times;
        let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
        let mut stats = json!({
            "device": store.device_name(),
            "threads": args.threads,
            "lanes": outcome.lanes,
            "load_ms": ms(loaded),
            "translate_ms": {
                "parse": ms(t.parse), "rewrite": ms(t.rewrite), "inline": ms(t.inline), "lower": ms(t.lower), "verify": ms(t.verify), "total": ms(t.total()),
            },
            "ready_ms": ms(ready),
            "run_ms": ms(outcome.time),
            "requests": { "calls": outcome.requests.calls, "messages": outcome.requests.messages },
            "debug": { "messages": outcome.debug.messages, "dropped": outcome.debug.dropped },
            "heap": heap_stats(&heap),
        });
        if let Some(stats) = stats.as_object_mut() {
            stats.extend(engine::stats(&choice, outcome.compiled));
        }
        print_stats(format, &stats);
    }
    let Some(lost) = terminal.report() else {
        return Ok(code);
    };
    show_report(args, &lost);
    // A program that has noticed has said so by its own code.
    Ok(if code == ExitCode::SUCCESS {
        ExitCode::from(lost.code)
    } else {
        code
    })
}

/// Shows what was wrong with a run that came to its end.
fn show_report(args: &RunArgs, report: &Report) {
    match args.report {
        ReportFormat::Text => report.print(),
        ReportFormat::Json => note!("{}", fault::refused(report)),
    }
}

/// The heap's part of the statistics. Blocks of more than 56 KiB are the class `larger`.
fn heap_stats(heap: &HeapStats) -> serde_json::Value {
    let class = |class: &ClassStats| {
        let name = match class.size {
            0 => "larger".into(),
            size => size.to_string(),
        };
        let counts = json!({ "allocated": class.allocated, "live": class.live, "held_bytes": class.held_bytes });
        (name, counts)
    };
    json!({
        "allocated": heap.allocated,
        "freed": heap.freed,
        "failed": heap.failed,
        "live": heap.live,
        "live_bytes": heap.live_bytes,
        "held_bytes": heap.held_bytes,
        "peak_bytes": heap.peak_bytes,
        "classes": heap.classes.iter().map(class).collect::<serde_json::Map<_, _>>(),
    })
}

/// How a run translates.
fn options(args: &RunArgs) -> Options {
    Options {
        deny_recursion: args.deny_recursion,
        no_debug: args.debug.no_debug,
        ..Options::full()
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
        threads: args.debug_only.clone().unwrap_or_default(),
        format: debug_format(args),
    }
}

/// The memory that a module may import instead of defining it, as linkers want it for threads.
const MEMORY_IMPORT: (&str, &str) = ("env", "memory");

/// A memory of the type with which the program imports one.
fn own_memory(store: &mut Store, program: &Program) -> Result<Option<Extern>, StoreError> {
    let import = program.meta.imports.iter().find_map(|import| match import.ty {
        ExternType::Memory(ty) if (&*import.module, &*import.name) == MEMORY_IMPORT => Some(ty),
        _ => None,
    });
    import.map(|ty| store.add_memory(ty)).transpose()
}

/// Warns of parts of std that the kernel reaches and that are not made for several threads.
fn warn_of_shared_state(args: &RunArgs, entry: &Entry) -> Outcome<()> {
    let file = translate::read(&args.module)?;
    let bytes = translate::wasm(&args.module, &file)?;
    // A translated program has no names left to look at.
    let options = Options {
        inline: None,
        ..Options::full()
    };
    let tables = BrTables::default();
    let Ok(passed) = run_passes(&bytes, &tables, &options) else {
        return Ok(());
    };
    let module = &passed.module;
    let root = module
        .exports
        .iter()
        .find(|export| export.name == entry.export)
        .map(|export| export.index);
    let shared = shared_std(module, root.as_slice());
    if !shared.is_empty() {
        warn(&format!(
            "the threads share what std takes for its only thread's own, so they may disturb each other in: {}",
            shared.join(", ")
        ));
    }
    let allocator = passed.rewrites.status("allocator");
    if let Some(Status::RolledBack(reason)) = allocator {
        warn(&format!(
            "the module's allocator is made for one thread and could not be replaced (name `gpu_std::GpuAllocator` \
             as `#[global_allocator]`): {reason}"
        ));
        return Ok(());
    }
    let own = own_allocators(module, root.as_slice());
    if !own.is_empty() {
        warn(&format!(
            "the threads share an allocator that is the program's own, so unless it is made for several threads they \
             may disturb each other in: {}",
            own.join(", ")
        ));
    }
    Ok(())
}

fn thread_stack(args: &RunArgs) -> Outcome<u32> {
    let bytes = args.thread_stack.as_u64();
    if !(1024..=1 << 30).contains(&bytes) {
        return Err(Report::new(format!(
            "--thread-stack {} is not between 1 KiB and 1 GiB",
            args.thread_stack
        )));
    }
    // Compiled code expects stacks to be aligned to 16 bytes.
    Ok(bytes as u32 & !15)
}

/// Warnings, and with -v what was done.
fn notes(translation: &Translation) {
    for warning in &translation.rewrites.warnings {
        warn(warning);
    }
    let patterns = translation.rewrites.patterns.iter();
    for pattern in patterns.filter(|pattern| pattern.status == Status::Found) {
        tracing::info!("{}: {}", pattern.pattern, pattern.found.join(", "));
    }
    tracing::info!("{} calls inlined", translation.inlines.inlined_calls);
    tracing::info!(
        "{} words of bytecode in {:.1} ms",
        translation.program.code.len(),
        translation.times.total().as_secs_f64() * 1e3
    );
}

/// Shows why a run ended before its threads returned, and gives the exit code.
fn show_early_end(args: &RunArgs, mut end: End, context: &fault::Context<'_>, lines: &LineSource) -> Outcome<ExitCode> {
    let json = args.report == ReportFormat::Json;
    let mut quiet = false;
    match &mut end {
        End::Panicked { backtrace, .. } => {
            quiet = !wants_backtrace();
            if json || !quiet {
                lines.add_to(backtrace);
            }
        }
        End::Trapped(fault) => {
            lines.add_to(&mut fault.backtrace);
            if let Some((_, allocated)) = fault.heap.as_mut().and_then(|heap| heap.block.as_mut()) {
                lines.add_to(allocated);
            }
        }
        _ => {}
    }
    let report = match &end {
        End::Returned | End::Exited(_) => None,
        End::Panicked { thread, backtrace } => Some(report::panic(*thread, backtrace)),
        End::Trapped(fault) => Some(report::trap(fault)),
        End::TimedOut => {
            let timeout = args
                .timeout
                .map_or_else(String::new, |t| humantime::format_duration(t).to_string());
            let report = Report::new(format!("the program did not end within {timeout}"));
            Some(
                report
                    .code(code::TIMEOUT)
                    .help("raise --timeout, or leave it out to run without limit"),
            )
        }
        // Like other programs, end quietly when nobody reads the output.
        End::Interrupted if context.terminal.nobody_reads() => None,
        End::Interrupted => Some(Report::new("interrupted").code(code::INTERRUPTED)),
    };
    let exit_code = match (&end, &report) {
        (End::Exited(code), _) => *code as u8,
        (_, Some(report)) => report.code,
        (_, None) => 0,
    };
    if json {
        show_json(&end, report.as_ref(), exit_code, context);
    } else if let Some(mut report) = report.filter(|_| !quiet) {
        if context.faults > 1 {
            report
                .places
                .push(format!("and {} more threads faulted", context.faults - 1));
        }
        report.print();
    }
    Ok(ExitCode::from(exit_code))
}

/// Shows how a run ended as JSON, if it did not end well.
fn show_json(end: &End, report: Option<&Report>, exit_code: u8, context: &fault::Context<'_>) {
    if let Some(object) = fault::object(end, report, exit_code, context) {
        note!("{object}");
    }
}

/// Whether a panic's backtrace is wanted: as of native programs, which std asks the same.
fn wants_backtrace() -> bool {
    std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0")
}

fn show_results(entry: &Entry, results: &[Vec<Value>], threads: u32) -> Outcome<ExitCode> {
    let first = results.first().map(Vec::as_slice).unwrap_or_default();
    match entry.show {
        Show::ExitCode => {
            let code = match first {
                [Value::I32(code)] => *code,
                _ => 0,
            };
            return Ok(ExitCode::from(code as u8));
        }
        Show::Results => {
            let lines: String = first.iter().map(|value| format!("{value}\n")).collect();
            translate::write_stdout(lines.as_bytes())?;
        }
        Show::KernelResult if first.is_empty() => {}
        Show::KernelResult => {
            let values: Vec<_> = first.iter().map(|value| value.to_string()).collect();
            let others = results.iter().filter(|result| result.as_slice() != first).count();
            let note = if others > 0 {
                format!(" (thread 0; {others} of {threads} threads returned something else)")
            } else {
                String::new()
            };
            translate::write_stdout(format!("Result: {}{note}\n", values.join(", ")).as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_stats(format: StatsFormat, stats: &serde_json::Value) {
    match format {
        StatsFormat::Json => note!("{stats}"),
        StatsFormat::Text => print_tree(stats, 0),
    }
}

fn print_tree(value: &serde_json::Value, indent: usize) {
    let Some(map) = value.as_object() else { return };
    for (key, value) in map {
        match value {
            serde_json::Value::Object(_) => {
                note!("{:indent$}{key}:", "");
                print_tree(value, indent + 2);
            }
            serde_json::Value::Number(n) if n.is_f64() => {
                note!("{:indent$}{key}: {:.2}", "", n.as_f64().unwrap_or_default())
            }
            serde_json::Value::String(text) => note!("{:indent$}{key}: {text}", ""),
            other => note!("{:indent$}{key}: {other}", ""),
        }
    }
}
