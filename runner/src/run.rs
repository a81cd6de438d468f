//! `gpu-run run`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gpu_run_bytecode::{ExternType, Program};
use gpu_run_translator::rewrite::Status;
use gpu_run_translator::{BrTables, Options, Translation, run_passes, shared_std};
use gpu_run_vm::{
    ClassStats, End, Extern, HeapChecks, HeapStats, Limits, RunOptions, Sink, Store, StoreError, Stream, Value,
};
use serde_json::json;

use crate::cli::{RunArgs, StatsFormat};
use crate::engine::Held;
use crate::entry::{self, Entry, Show};
use crate::lines::LineSource;
use crate::report::{self, Outcome, Report, code, warn};
use crate::{devices, engine, translate};

/// Writes the guest's output as it comes.
struct Terminal {
    /// Set once nobody reads stdout any more: the run is interrupted.
    closed: Arc<AtomicBool>,
    broken_pipe: bool,
}

impl Sink for Terminal {
    fn write(&mut self, stream: Stream, _thread: u32, bytes: &[u8]) {
        if self.broken_pipe {
            return;
        }
        let result = match stream {
            Stream::Stdout => std::io::stdout().lock().write_all(bytes),
            Stream::Stderr => std::io::stderr().lock().write_all(bytes),
        };
        self.note(result);
    }

    fn flush(&mut self) {
        let result = std::io::stdout().lock().flush();
        self.note(result);
    }
}

impl Terminal {
    fn note(&mut self, result: std::io::Result<()>) {
        if result.is_err() {
            self.broken_pipe = true;
            self.closed.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs a module.
pub fn run(args: &RunArgs) -> Outcome<ExitCode> {
    let begin = Instant::now();
    let translate::Loaded { translation, module } = translate::load(&args.module, &options(args))?;
    let loaded = begin.elapsed();
    notes(args, &translation);
    let entry = entry::find(&translation.program, args)?;
    if args.threads > 1 && !translation.program.meta.is_threaded() {
        warn_of_shared_state(args, &entry)?;
    }
    let device = devices::open(&args.device, args.verbose)?;
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
    let flag = interrupt.clone();
    // A second Ctrl-C while a run is being stopped changes nothing: stopping takes milliseconds.
    _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    let options = RunOptions {
        threads: args.threads,
        thread_stack: thread_stack(args)?,
        timeout: args.timeout,
        interrupt: Some(interrupt.clone()),
    };
    let mut terminal = Terminal {
        closed: interrupt,
        broken_pipe: false,
    };
    let program = Arc::new(translation.program);
    let choice = engine::choose(args, &store, &program, &entry.export, &terminal.closed)?;
    let lines = LineSource {
        module,
        program: program.clone(),
    };
    let memory = own_memory(&mut store, &program).map_err(|error| report::store(&args.module, &error))?;
    let resolve = |module: &str, name: &str| memory.filter(|_| (module, name) == MEMORY_IMPORT);
    let instance = match store.instantiate_compiled(program, choice.code.as_ref(), resolve, &options, &mut terminal) {
        Ok(instance) => instance,
        Err(StoreError::Ended(end)) => return show_early_end(args, *end, &terminal, &lines),
        Err(StoreError::Trap(mut fault)) => {
            lines.add_to(&mut fault.backtrace);
            return Err(report::trap(&fault));
        }
        Err(error) => return Err(report::store(&args.module, &error)),
    };
    let ready = begin.elapsed();
    let Some(Extern::Func(func)) = store.export(instance, &entry.export) else {
        return Err(Report::new(format!("`{}` is no function", entry.export)));
    };
    if entry.show == Show::KernelResult {
        note!("Running on {} with {} threads...", store.device_name(), args.threads);
    }
    let outcome = store
        .run(func, &entry.args, &options, &mut terminal)
        .map_err(|error| report::store(&args.module, &error))?;
    let returned = matches!(outcome.end, End::Returned);
    let mut code = match outcome.end {
        End::Returned => show_results(&entry, &outcome.results, args.threads)?,
        end => show_early_end(args, end, &terminal, &lines)?,
    };
    // A process that ended early had no time to free.
    if args.leak_check && returned {
        let mut leaks = store
            .leaks(instance)
            .map_err(|error| report::store(&args.module, &error))?;
        leaks.iter_mut().for_each(|leak| lines.add_to(&mut leak.allocated));
        if !leaks.is_empty() {
            let report = report::leaks(&leaks);
            report.print();
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
            "heap": heap_stats(&heap),
        });
        if let Some(stats) = stats.as_object_mut() {
            stats.extend(engine::stats(&choice, outcome.compiled));
        }
        print_stats(format, &stats);
    }
    Ok(code)
}

/// The heap's part of the statistics. Blocks of more than 64 KiB are the class `larger`.
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
        ..Options::full()
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
            "the module's allocator is made for one thread and could not be replaced: {reason}"
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
fn notes(args: &RunArgs, translation: &Translation) {
    for warning in &translation.rewrites.warnings {
        warn(warning);
    }
    if args.verbose {
        for pattern in translation
            .rewrites
            .patterns
            .iter()
            .filter(|pattern| pattern.status == Status::Found)
        {
            note!("gpu-run: {}: {}", pattern.pattern, pattern.found.join(", "));
        }
        let inlines = &translation.inlines;
        note!("gpu-run: {} calls inlined", inlines.inlined_calls);
        note!(
            "gpu-run: {} words of bytecode in {:.1} ms",
            translation.program.code.len(),
            translation.times.total().as_secs_f64() * 1e3
        );
    }
}

/// Shows why a run ended before its threads returned, and gives the exit code.
fn show_early_end(args: &RunArgs, end: End, terminal: &Terminal, lines: &LineSource) -> Outcome<ExitCode> {
    match end {
        End::Returned => Ok(ExitCode::SUCCESS),
        End::Exited(code) => Ok(ExitCode::from(code as u8)),
        End::Panicked { thread, mut backtrace } => {
            if wants_backtrace() {
                lines.add_to(&mut backtrace);
                report::panic(thread, &backtrace).print();
            }
            Ok(ExitCode::from(code::PANIC))
        }
        End::Trapped(mut fault) => {
            lines.add_to(&mut fault.backtrace);
            if let Some((_, allocated)) = fault.heap.as_mut().and_then(|heap| heap.block.as_mut()) {
                lines.add_to(allocated);
            }
            let report = report::trap(&fault);
            report.print();
            Ok(ExitCode::from(report.code))
        }
        End::TimedOut => {
            let timeout = args
                .timeout
                .map_or_else(String::new, |t| humantime::format_duration(t).to_string());
            let report = Report::new(format!("the program did not end within {timeout}"))
                .help("raise --timeout, or leave it out to run without limit");
            report.print();
            Ok(ExitCode::from(code::TIMEOUT))
        }
        // Like other programs, end quietly when nobody reads the output.
        End::Interrupted if terminal.broken_pipe => Ok(ExitCode::SUCCESS),
        End::Interrupted => {
            Report::new("interrupted").print();
            Ok(ExitCode::from(code::INTERRUPTED))
        }
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
