//! `gpu-run run`.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gpu_run::MEMORY_IMPORT;
use gpu_run::exit::HeldStore;
use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{ExternType, Program};
use gpu_run_translator::rewrite::{LACKS_PLATFORM, LACKS_THREADS, RewriteReport, Status, wants_threads};
use gpu_run_translator::{Options, Times, Translation};
use gpu_run_vm::{
    DEFAULT_MEMORY, DebugOptions, Device, End, Extern, HeapChecks, InstanceId, Leak, Level, Limits, RunOptions, Store,
    StoreError, ThreadSet, allocates, makes_requests,
};

use crate::cli::{DebugArgs, DebugLevel, ReportFormat, RunArgs};
use crate::engine::Choice;
use crate::entry::{self, Entry, Show};
use crate::lines::LineSource;
use crate::panic::Aborted;
use crate::report::{self, Calls, Outcome, Report, code, warn};
use crate::terminal::{Terminal, debug_format};
use crate::wasi_options;
use crate::watchdog::{Preparation, Watchdog};
use crate::{devices, engine, fault, files, libtest, load, log, results, stands, stats, thread_safety};

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
    let interrupt = Arc::new(AtomicBool::new(false));
    let preparation = Preparation::begin(args, interrupt.clone());
    let guest = Guest::load(args, begin)?;
    preparation.loaded();
    let process = match Process::prepare(args, device, guest, preparation, interrupt)? {
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
    program: Arc<Program>,
    /// The module of which the program was made just now.
    module: Option<Vec<u8>>,
    rewrites: RewriteReport,
    /// How long translating took, if it was done just now.
    translate: Option<Times>,
    /// How long all of it took.
    loaded: Duration,
    entry: Entry,
    results_file: Option<files::Target>,
}

impl Guest {
    /// Reads and translates the module, and finds what is to be called.
    fn load(args: &RunArgs, begin: Instant) -> Outcome<Guest> {
        let load::Loaded {
            translation,
            translated,
            module,
        } = load::load(args.module(), &options(args))?;
        let loaded = begin.elapsed();
        notes(&translation);
        if args.debug.no_debug && sends_messages(&translation.program) {
            tracing::info!(
                "the program was translated before, so --no-debug hides its messages, but what sends them still runs"
            );
        }
        let entry = entry::find(&translation.program, args)?;
        let results_file = results::prepare(
            args.results.as_ref(),
            &entry,
            entry::results(&translation.program, &entry),
        )?;
        if args.threads() > 1 && !translation.program.meta.is_threaded() {
            thread_safety::warn_of_state(&translation, &entry);
        }
        if (args.heap_check || args.leak_check) && !allocates(&translation.program) {
            warn("the program does not use the device's heap, so nothing of its allocations is checked");
        }
        Ok(Guest {
            program: Arc::new(translation.program),
            module,
            rewrites: translation.rewrites,
            translate: translated.then_some(translation.times),
            loaded,
            entry,
            results_file,
        })
    }
}

/// A guest on its device.
struct Process {
    store: HeldStore,
    instance: InstanceId,
    options: RunOptions,
    terminal: Terminal,
    files: files::Files,
    choice: Choice,
    lines: LineSource,
    interrupt: Arc<AtomicBool>,
    entry: Entry,
    results_file: Option<files::Target>,
    rewrites: RewriteReport,
    translate: Option<Times>,
    loaded: Duration,
}

impl Process {
    /// Opens the device, chooses the engine, and instantiates the program, which runs its start function.
    fn prepare(
        args: &RunArgs,
        device: Option<Box<dyn Device>>,
        guest: Guest,
        preparation: Preparation,
        interrupt: Arc<AtomicBool>,
    ) -> Stage<Process> {
        let Guest {
            program,
            module,
            rewrites,
            translate,
            loaded,
            entry,
            results_file,
        } = guest;
        let thread_stack = thread_stack(args)?;
        let mut device = match device {
            Some(device) => device,
            None => devices::open(&args.device)?,
        };
        let limits = Limits {
            memory: args.max_memory.map(|size| size.as_u64()),
            undeclared_memory: undeclared_memory(args.threads(), &program, &mut *device),
            call_depth: args.max_call_depth,
            heap: HeapChecks {
                guards: args.heap_check,
                leaks: args.leak_check,
            },
            ..Limits::default()
        };
        let store = Store::new(device, limits).map_err(|error| report::device(&error))?;
        let mut store = HeldStore::new(store);
        preparation.end();
        let options = RunOptions {
            threads: args.threads(),
            thread_stack,
            least_thread_stack: args.thread_stack.map_or(LEAST_THREAD_STACK, |_| thread_stack),
            timeout: args.timeout,
            interrupt: Some(interrupt.clone()),
            environment: wasi_options::of(&program, args)?,
            debug: debug_options(&args.debug),
            interpret: false,
        };
        let mut terminal = Terminal::new(
            interrupt.clone(),
            options.environment.is_some(),
            files::progress(&args.files).filter(|_| !log::is_quiet()),
            args,
        );
        let files = files::bind(&args.files, &mut store)?;
        let choice = engine::choose(args, &mut store, &program, &entry.export, &interrupt)?;
        let lines = LineSource {
            module,
            program: program.clone(),
        };
        let memory = own_memory(&mut store, &program).map_err(|error| report::store(args.module(), &error))?;
        let resolve = |module: &str, name: &str| memory.filter(|_| (module, name) == MEMORY_IMPORT);
        let instance = match store.instantiate_compiled(program, choice.code(), resolve, &options, &mut terminal) {
            Ok(instance) => instance,
            Err(StoreError::Ended(mut end)) => {
                files.write(&args.files, &mut store)?;
                terminal.finish();
                let mut context = fault::Context::of_start(&end, &options, &terminal, choice.code.is_ok());
                context.stands = stands::of(&store, &lines);
                return show_early_end(args, &mut end, &context, &lines).map(ControlFlow::Break);
            }
            // The module was not instantiated, so its files stay as they were.
            Err(StoreError::Trap(fault)) => {
                terminal.finish();
                let mut end = End::Trapped(fault);
                let context = fault::Context::of_start(&end, &options, &terminal, choice.code.is_ok());
                return show_early_end(args, &mut end, &context, &lines).map(ControlFlow::Break);
            }
            Err(error) => return Err(report::store(args.module(), &error)),
        };
        Ok(ControlFlow::Continue(Process {
            store,
            instance,
            options,
            terminal,
            files,
            choice,
            lines,
            interrupt,
            entry,
            results_file,
            rewrites,
            translate,
            loaded,
        }))
    }

    /// Runs the program.
    fn execute(self, args: &RunArgs, begin: Instant) -> Stage<Executed> {
        let ready = begin.elapsed();
        let Process {
            mut store,
            instance,
            mut options,
            mut terminal,
            files,
            choice,
            lines,
            interrupt,
            entry,
            results_file,
            rewrites,
            translate,
            loaded,
        } = self;
        if let Some(Extern::Func(func)) = entry.before.and_then(|name| store.export(instance, name)) {
            let once = RunOptions {
                threads: 1,
                ..options.clone()
            };
            let outcome = store.run(func, &[], &once, &mut terminal);
            let mut outcome = outcome.map_err(|error| report::store(args.module(), &error))?;
            if !matches!(outcome.end, End::Returned) {
                terminal.finish();
                let context = fault::Context::of(&outcome, &once, &terminal, &mut store, instance, &lines);
                return show_early_end(args, &mut outcome.end, &context, &lines).map(ControlFlow::Break);
            }
        }
        let Some(Extern::Func(func)) = store.export(instance, &entry.export) else {
            return Err(Report::new(format!("`{}` is no function", entry.export)));
        };
        if entry.show == Show::KernelResult && !log::is_quiet() {
            note!("Running on {} with {} threads...", store.device_name(), args.threads());
        }
        let watchdog = Watchdog::of_run(args.timeout);
        if let Some(environment) = &mut options.environment {
            environment.last = true;
        }
        let mut outcome = store
            .run(func, &entry.args, &options, &mut terminal)
            .map_err(|error| report::store(args.module(), &error))?;
        let watchdog = watchdog.filter(|_| matches!(outcome.end, End::TimedOut));
        files.write(&args.files, &mut store)?;
        terminal.finish();
        if let Some(printed) = libtest::aborted(&outcome.end, &lines.program) {
            // The tests that are left need the device.
            drop(store);
            let code = match libtest::go_on(args, &printed, &interrupt)? {
                Some(code) => code,
                None => {
                    let context = fault::Context::of_start(&outcome.end, &options, &terminal, choice.code.is_ok());
                    show_early_end(args, &mut outcome.end, &context, &lines)?
                }
            };
            return Ok(ControlFlow::Break(code));
        }
        Ok(ControlFlow::Continue(Executed {
            outcome,
            ready,
            watchdog,
            store,
            instance,
            options,
            terminal,
            choice,
            lines,
            entry,
            results_file,
            rewrites,
            translate,
            loaded,
        }))
    }
}

/// A process that has ended.
struct Executed {
    outcome: gpu_run_vm::Outcome,
    ready: Duration,
    /// Of a process that was to have ended, which is not to wait for a reader of the report either.
    watchdog: Option<Watchdog>,
    store: HeldStore,
    instance: InstanceId,
    options: RunOptions,
    terminal: Terminal,
    choice: Choice,
    lines: LineSource,
    entry: Entry,
    results_file: Option<files::Target>,
    rewrites: RewriteReport,
    translate: Option<Times>,
    loaded: Duration,
}

impl Executed {
    /// Tells what came of the run, and finds its exit code.
    fn report(self, args: &RunArgs) -> Outcome<ExitCode> {
        let Executed {
            mut outcome,
            ready,
            watchdog: _watchdog,
            mut store,
            instance,
            options,
            terminal,
            choice,
            lines,
            entry,
            results_file,
            rewrites,
            translate,
            loaded,
        } = self;
        if outcome.debug.dropped > 0 {
            warn(&format!(
                "{} debug messages were dropped, because they came faster than they were written",
                outcome.debug.dropped
            ));
        }
        if !matches!(outcome.end, End::Returned | End::Exited(0)) && terminal.is_whole() {
            let services = options.environment.as_ref().map(|environment| &environment.services);
            if let Some(path) = services.and_then(|services| services.missed_path()) {
                warn(&wasi_options::no_folder(&path));
            }
        }
        let mut context = fault::Context::of(&outcome, &options, &terminal, &mut store, instance, &lines);
        let returned = match outcome.end {
            End::Returned => Some(results::show(
                &entry,
                args.results.as_ref(),
                results_file,
                &outcome.results,
            )?),
            _ => None,
        };
        let mut damage = find_damage(args, &mut store, instance, &outcome.end)?;
        let whole = damage.is_none();
        if !whole {
            // Nobody knows who it was.
            context.thread = None;
        }
        let end = damage.as_mut().unwrap_or(&mut outcome.end);
        let mut code = match (&*end, returned) {
            (End::Returned, Some(code)) => {
                if args.report == ReportFormat::Json {
                    show_json(args, &End::Returned, None, report::number(code), &context);
                }
                code
            }
            _ => show_early_end(args, end, &context, &lines)?,
        };
        // What main returns for an error, or a panic.
        let failed = matches!(end, End::Panicked { .. }) || report::number(code) == 1;
        if failed {
            let panic = match end {
                End::Panicked { thread, .. } => terminal.panic(*thread),
                _ => None,
            };
            if panic.as_deref().is_some_and(wants_threads) {
                hint(args, LACKS_THREADS);
            } else if rewrites.lacks_platform {
                hint(args, LACKS_PLATFORM);
            }
        }
        if code != ExitCode::SUCCESS {
            let memory = store.memory_use(instance).ok().flatten();
            if let Some(what) = memory.as_ref().and_then(report::no_memory) {
                hint(args, &what);
            }
        }
        let leaks = match args.leak_check {
            true => find_leaks(args, &mut store, instance, &lines, end, whole)?,
            false => None,
        };
        if let Some(leaks) = leaks.as_deref().filter(|leaks| !leaks.is_empty()) {
            let report = report::leaks(leaks);
            match args.report.format {
                ReportFormat::Text => report.print(),
                ReportFormat::Json => args.report.put(fault::leaks(&report, leaks)),
            }
            code = ExitCode::from(report.code);
        }
        if let Some(target) = &args.stats {
            let stats = stats::Run {
                device: &store.device_name(),
                threads: args.threads(),
                load: loaded,
                translate,
                program: &lines.program,
                ready,
                outcome: &outcome,
                choice: &choice,
                heap: &store.heap_stats(instance).map_err(|error| report::device(&error))?,
                leaks: leaks.as_deref(),
            };
            stats.print(target);
        }
        let Some(lost) = terminal.report() else {
            return Ok(code);
        };
        fault::show(&args.report, &lost);
        // A program that has noticed has said so by its own code.
        Ok(if code == ExitCode::SUCCESS {
            ExitCode::from(lost.code)
        } else {
            code
        })
    }
}

/// What is wrong with the heap of a process that ended by itself is how it ended.
fn find_damage(args: &RunArgs, store: &mut Store, instance: InstanceId, end: &End) -> Outcome<Option<End>> {
    if !args.heap_check || !matches!(end, End::Returned | End::Exited(_)) {
        return Ok(None);
    }
    let fault = store.heap_damage(instance);
    let fault = fault.map_err(|error| report::store(args.module(), &error))?;
    Ok(fault.map(|fault| End::Trapped(Box::new(fault))))
}

/// Blocks that nobody can reach, without those that are no mistake of the program. `None`, and a note, where they
/// cannot be known.
fn find_leaks(
    args: &RunArgs,
    store: &mut Store,
    instance: InstanceId,
    lines: &LineSource,
    end: &End,
    whole: bool,
) -> Outcome<Option<Vec<Leak>>> {
    let why = match end {
        _ if !whole => "the heap is damaged",
        End::Returned | End::Exited(_) => "it ended by an exit, and what its calls held is known on the CPU alone",
        End::Trapped(_) => "the program trapped",
        End::Panicked { .. } => "the program panicked",
        End::TimedOut | End::Interrupted => "the program was stopped",
    };
    let found = match end {
        End::Returned if whole => store.leaks(instance).map(Some),
        End::Exited(_) if whole => store.leaks_at_exit(instance),
        _ => Ok(None),
    };
    let found = found.map_err(|error| report::store(args.module(), &error))?;
    if found.is_none() {
        hint(args, &format!("--leak-check did not look for leaks: {why}"));
    }
    Ok(found.map(|mut leaks| {
        leaks.retain(|leak| !report::of_start(leak));
        leaks.iter_mut().for_each(|leak| lines.add_to(&mut leak.allocated));
        leaks
    }))
}

/// Tells people what may help, if they want to know.
fn hint(args: &RunArgs, text: &str) {
    if args.report == ReportFormat::Text && !log::is_quiet() {
        note!("note: {text}");
    }
}

/// How a run translates.
fn options(args: &RunArgs) -> Options {
    Options {
        deny_recursion: args.deny_recursion,
        no_debug: args.debug.no_debug,
        shared: args.threads() > 1,
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

/// A memory of the type with which the program imports one.
fn own_memory(store: &mut Store, program: &Program) -> Result<Option<Extern>, StoreError> {
    let import = program.meta.imports.iter().find_map(|import| match import.ty {
        ExternType::Memory(ty) if (&*import.module, &*import.name) == MEMORY_IMPORT => Some(ty),
        _ => None,
    });
    import.map(|ty| store.add_memory(ty)).transpose()
}

/// Stacks that nobody asked for are no smaller.
const LEAST_THREAD_STACK: u32 = 4096;

/// Bytes that a memory may have that declares no maximum: where the smallest stacks of all threads would take most of
/// what it has by default, as much as they need. A program for WASI expects all that its addresses reach, as other
/// engines give it: what it does not touch costs the CPU nothing, but a GPU has it taken.
fn undeclared_memory(threads: u32, program: &Program, device: &mut dyn Device) -> u64 {
    let command = ["_start", "_initialize"]
        .iter()
        .any(|name| program.meta.export(name).is_some());
    if makes_requests(program) && command && device.as_compiled().is_none() {
        return 1 << 32;
    }
    const BESIDES: u64 = 256 << 20;
    let stacks = u64::from(threads) * u64::from(LEAST_THREAD_STACK);
    (stacks + BESIDES).clamp(DEFAULT_MEMORY, 1 << 32)
}

fn thread_stack(args: &RunArgs) -> Outcome<u32> {
    let Some(size) = args.thread_stack else {
        return Ok(RunOptions::default().thread_stack);
    };
    let bytes = size.as_u64();
    if !(1024..=1 << 30).contains(&bytes) {
        return Err(Report::new(format!(
            "--thread-stack {size} is not between 1 KiB and 1 GiB"
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
fn show_early_end(
    args: &RunArgs,
    end: &mut End,
    context: &fault::Context<'_>,
    lines: &LineSource,
) -> Outcome<ExitCode> {
    let json = args.report == ReportFormat::Json;
    let mut quiet = false;
    let aborted = match end {
        End::Trapped(fault) => context.aborted(fault),
        _ => None,
    };
    if let (Some(Aborted::Panic), End::Trapped(fault)) = (aborted, &mut *end) {
        let (thread, backtrace) = (fault.thread, std::mem::take(&mut fault.backtrace));
        *end = End::Panicked { thread, backtrace };
    }
    match end {
        End::Panicked { thread, backtrace } => {
            // A program may have printed nothing: a test harness keeps what its tests print.
            let said = aborted.is_none() || context.terminal.panic(*thread).is_some();
            quiet = context.calls == Calls::None && said;
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
    let report = match &*end {
        End::Returned | End::Exited(_) => None,
        End::Panicked { thread, backtrace } => {
            let report = report::panic(*thread, backtrace, context.calls);
            Some(report.code(if aborted.is_some() { code::TRAP } else { code::PANIC }))
        }
        End::Trapped(fault) if aborted == Some(Aborted::OutOfMemory) => {
            Some(report::out_of_memory(fault.thread, &fault.backtrace, context.calls))
        }
        End::Trapped(fault) => Some(report::trap(fault, args.module(), context.threads)),
        End::TimedOut => {
            Some(report::timed_out(args.timeout.unwrap_or_default()).all_at(stands::told(&context.stands)))
        }
        // Like other programs, end quietly when nobody reads the output.
        End::Interrupted if context.terminal.nobody_reads() => None,
        End::Interrupted => Some(report::interrupted().all_at(stands::told(&context.stands))),
    };
    let exit_code = match (&*end, &report) {
        (End::Exited(code), _) => *code as u8,
        (_, Some(report)) => report.code,
        (_, None) => 0,
    };
    if json {
        show_json(args, end, report.as_ref(), exit_code, context);
    } else if let Some(report) = report.and_then(|report| report.with_others(quiet, context.faults)) {
        report.print();
    }
    Ok(ExitCode::from(exit_code))
}

/// Shows how a run ended as JSON, if it did not end well.
fn show_json(args: &RunArgs, end: &End, report: Option<&Report>, exit_code: u8, context: &fault::Context<'_>) {
    if let Some(object) = fault::of_end(end, report, exit_code, context) {
        args.report.put(object);
    }
}
