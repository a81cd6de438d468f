//! What the user is told of a run that has ended.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_run::{End, FaultKind, Instance, Leak, Store};
use gpu_run_translator::rewrite::{LACKS_PLATFORM, LACKS_THREADS, wants_threads};

use super::{Guest, lock};
use crate::cli::{ReportFormat, RunArgs};
use crate::lines::LineSource;
use crate::panic::Aborted;
use crate::profile::{self, Profile, Sources};
use crate::profile_args::ProfileMode;
use crate::report::{self, Calls, Outcome, Report, code, warn};
use crate::terminal::Terminal;
use crate::wasi_options;
use crate::watchdog::Watchdog;
use crate::{fault, log, results, stands, stats};

/// A process that has ended.
pub(super) struct Executed {
    pub(super) outcome: gpu_run::Outcome,
    pub(super) ready: Duration,
    /// Of a process that was to have ended, which is not to wait for a reader of the report either.
    pub(super) watchdog: Option<Watchdog>,
    pub(super) guest: Guest,
    pub(super) store: Store<()>,
    pub(super) instance: Instance,
    pub(super) terminal: Arc<Mutex<Terminal>>,
    pub(super) calls: Calls,
}

impl Executed {
    /// Tells what came of the run, and finds its exit code.
    pub(super) fn report(self, args: &RunArgs) -> Outcome<ExitCode> {
        let Executed {
            mut outcome,
            ready,
            watchdog: _watchdog,
            guest,
            mut store,
            instance,
            terminal,
            calls,
        } = self;
        let failed = |error: gpu_run::Error| report::library(&error, args.module());
        let (lines, terminal) = (&guest.lines, lock(&terminal));
        let module = &lines.module;
        if outcome.debug.dropped > 0 {
            warn(&format!(
                "{} debug messages were dropped, because they came faster than they were written",
                outcome.debug.dropped
            ));
        }
        if !matches!(outcome.end, End::Returned | End::Exited(0))
            && terminal.is_whole()
            && let Some(path) = store.missed_path()
        {
            warn(&wasi_options::no_folder(&path));
        }
        let threads = outcome.spawned.map_or(guest.entry.threads, |spawned| spawned.most);
        let mut context = fault::Context::of(&outcome, threads, calls, &terminal);
        context.look_at(&mut store, instance, lines);
        let returned = match outcome.end {
            End::Returned => Some(results::show(
                &guest.entry,
                args.results.as_ref(),
                guest.results_file,
                &outcome.results,
            )?),
            _ => None,
        };
        // What is wrong with the heap of a process that ended by itself is how it ended.
        let mut damage = match outcome.end {
            End::Returned | End::Exited(_) if args.heap_check => instance.heap_damage(&mut store).map_err(failed)?,
            _ => None,
        }
        .map(|fault| End::Faulted(Box::new(fault)));
        let whole = damage.is_none();
        if !whole {
            // It is not known which thread it was.
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
            _ => show_early_end(args, end, &context, lines)?,
        };
        let panicked = match end {
            End::Faulted(fault) => (fault.kind == FaultKind::Panic).then_some(fault.thread),
            _ => None,
        };
        // What main returns for an error, or a panic.
        if panicked.is_some() || report::number(code) == 1 {
            let panic = panicked.and_then(|thread| terminal.panic(thread));
            if panic.as_deref().is_some_and(wants_threads) {
                hint(args, LACKS_THREADS);
            } else if module
                .translation()
                .is_some_and(|report| report.rewrites.lacks_platform)
            {
                hint(args, LACKS_PLATFORM);
            }
        }
        if code != ExitCode::SUCCESS {
            let memory = instance.memory_use(&mut store).ok().flatten();
            if let Some(what) = memory.as_ref().and_then(report::no_memory) {
                hint(args, &what);
            }
        }
        let leaks = match args.leak_check {
            true => find_leaks(args, &mut store, instance, lines, end, whole)?,
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
            let heap = instance.heap_stats(&mut store).map_err(failed)?;
            let tasks = instance.task_stats(&mut store).map_err(failed)?;
            let stats = stats::Run {
                device: &store.device_name(),
                threads,
                load: guest.loaded,
                module,
                ready,
                outcome: &outcome,
                choice: instance.choice(&store).map_err(failed)?,
                heap: &heap,
                leaks: leaks.as_deref(),
                tasks,
            };
            stats.print(target);
        }
        let title = args.module().display().to_string();
        let profile = match args.profile.mode() {
            None => None,
            Some(ProfileMode::Sample) => {
                let samples = store.samples().map_err(failed)?;
                Some(Profile::of_samples(title, samples, &Sources::of(lines)))
            }
            Some(ProfileMode::Count | ProfileMode::Lanes) => {
                let counts = instance.counts(&mut store).map_err(failed)?;
                Some(Profile::of_counts(title, vec![vec![counts]], &Sources::of(lines)))
            }
            Some(ProfileMode::Heap) => {
                let heap = instance.heap_profile(&mut store).map_err(failed)?;
                Some(Profile::of_heap(title, heap, lines))
            }
        };
        if let Some(profile) = profile {
            profile::show(&args.profile, &profile, &profile, guest.profile_files)?;
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

/// Whether it ended by a trap of WebAssembly.
pub(super) fn is_trap(end: &End) -> bool {
    matches!(end, End::Faulted(fault) if fault.kind != FaultKind::Panic)
}

/// Blocks that nothing points to, without those that are no mistake of the program. `None`, and a note, where they
/// cannot be known.
fn find_leaks(
    args: &RunArgs,
    store: &mut Store<()>,
    instance: Instance,
    lines: &LineSource,
    end: &End,
    whole: bool,
) -> Outcome<Option<Vec<Leak>>> {
    let found = match whole {
        true => instance.leaks(store, end),
        false => Ok(None),
    };
    let found = found.map_err(|error| report::library(&error, args.module()))?;
    if found.is_none() {
        let why = match end {
            _ if !whole => "the heap is damaged",
            End::Returned | End::Exited(_) => "it ended by an exit, and what its calls held is known on the CPU alone",
            End::Faulted(_) if is_trap(end) => "the program trapped",
            End::Faulted(_) => "the program panicked",
            End::TimedOut | End::Interrupted => "the program was stopped",
        };
        hint(args, &format!("--leak-check did not look for leaks: {why}"));
    }
    Ok(found.map(|mut leaks| {
        leaks.retain(|leak| !report::of_start(leak));
        leaks.iter_mut().for_each(|leak| lines.add_to(&mut leak.allocated));
        leaks
    }))
}

/// Tells the user what may help, unless less was asked for.
fn hint(args: &RunArgs, text: &str) {
    if args.report == ReportFormat::Text && !log::is_quiet() {
        note!("note: {text}");
    }
}

/// Shows why a run ended before its threads returned, and returns the exit code.
pub(super) fn show_early_end(
    args: &RunArgs,
    end: &mut End,
    context: &fault::Context<'_>,
    lines: &LineSource,
) -> Outcome<ExitCode> {
    let json = args.report == ReportFormat::Json;
    let mut quiet = false;
    let mut aborted = None;
    if let End::Faulted(fault) = end {
        aborted = context.aborted(fault);
        if aborted == Some(Aborted::Panic) {
            fault.kind = FaultKind::Panic;
        }
        if fault.kind == FaultKind::Panic {
            // A program may have printed nothing: a test harness keeps what its tests print.
            let said = aborted.is_none() || context.terminal.panic(fault.thread).is_some();
            quiet = context.calls == Calls::None && said;
        }
        if json || !quiet {
            lines.add_to(&mut fault.backtrace);
        }
        if let Some((_, allocated)) = fault.heap.as_mut().and_then(|heap| heap.block.as_mut()) {
            lines.add_to(allocated);
        }
    }
    let report = match &*end {
        End::Returned | End::Exited(_) => None,
        End::Faulted(fault) if fault.kind == FaultKind::Panic => {
            let report = report::panic(fault.thread, &fault.backtrace, context.calls);
            Some(report.code(if aborted.is_some() { code::TRAP } else { code::PANIC }))
        }
        End::Faulted(fault) if aborted == Some(Aborted::OutOfMemory) => {
            Some(report::out_of_memory(fault.thread, &fault.backtrace, context.calls))
        }
        End::Faulted(fault) => {
            let report = report::trap(fault, args.module(), context.threads);
            // Of a deadlock, where all threads wait.
            Some(report.all_at(stands::told(&context.stands)))
        }
        End::TimedOut => {
            Some(report::timed_out(args.timeout.unwrap_or_default()).all_at(stands::told(&context.stands)))
        }
        // Like other programs, end quietly when the output has no reader.
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
