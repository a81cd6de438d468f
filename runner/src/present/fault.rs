//! `--report json`: how a run ended, as an object for programs.

use gpu_run::{
    Backtrace, BacktraceFrame, End, Fault, FaultKind, HeapStats, Instance, Leak, Outcome, Stands, Store, TrapKind,
};

use crate::cli::ReportFormat;
use crate::json::report::{self as json, Call, EndKind, Place, RefusedKind};
use crate::lines::LineSource;
use crate::panic::{self, ABORTS, Aborted, Panic};
use crate::report::{Calls, Report, code, own_call};
use crate::sink::Target;
use crate::stands;
use crate::terminal::Terminal;

/// What a report tells besides the end itself.
pub struct Context<'c> {
    /// What the threads wrote.
    pub terminal: &'c Terminal,
    /// Threads that ran.
    pub threads: u32,
    /// Threads that trapped or panicked.
    pub faults: u32,
    /// The thread that ended the process, if one did.
    pub thread: Option<u32>,
    /// Counts of the heap.
    pub heap: Option<HeapStats>,
    /// Compiled code ran, which keeps no registers for a report.
    pub compiled: bool,
    /// Calls that are shown of a program that has said itself why it ended.
    pub calls: Calls,
    /// Where threads stood that were stopped.
    pub stands: Stands,
}

impl<'c> Context<'c> {
    /// Of a run that came to its end.
    pub fn of(outcome: &Outcome, threads: u32, calls: Calls, terminal: &'c Terminal) -> Context<'c> {
        Context {
            terminal,
            threads,
            faults: outcome.faults,
            thread: outcome.ended_by,
            heap: None,
            compiled: outcome.compiled,
            calls,
            stands: Stands::default(),
        }
    }

    /// Of a start function that did not return, or of a module that could not be instantiated: then no thread has run.
    pub fn of_start(end: &End, calls: Calls, terminal: &'c Terminal, compiled: bool) -> Context<'c> {
        let thread = match end {
            End::Faulted(fault) if fault.kind == FaultKind::Panic => Some(fault.thread),
            End::Faulted(fault) => (!fault.backtrace.places.is_empty()).then_some(fault.thread),
            _ => None,
        };
        Context {
            terminal,
            threads: 1,
            faults: thread.is_some().into(),
            thread,
            heap: None,
            compiled,
            calls,
            stands: Stands::default(),
        }
    }

    /// Adds what the store knows after the run. There are no counts of the heap if the device does not answer any more.
    pub fn look_at(&mut self, store: &mut Store<()>, instance: Instance, lines: &LineSource) {
        self.heap = instance.heap_stats(store).ok();
        self.stands = stands::of(store, lines);
    }
}

impl Context<'_> {
    /// What a trap was the end of, as its thread has said or its calls tell.
    pub fn aborted(&self, fault: &Fault) -> Option<Aborted> {
        panic::aborted(fault, self.terminal.panic(fault.thread).as_deref())
    }

    /// The bytes of an allocation that failed, if that is what a trap was the end of and the program has said it.
    fn failed_allocation(&self, fault: &Fault) -> Option<u64> {
        let failed = self.aborted(fault) == Some(Aborted::OutOfMemory);
        panic::failed_allocation(&self.terminal.panic(fault.thread).filter(|_| failed)?)
    }
}

/// The report of an end. None if it needs none: the program ended well, or its output has no reader.
pub fn of_end(end: &End, report: Option<&Report>, exit_code: u8, context: &Context<'_>) -> Option<json::Report> {
    let mut ended = json::Ended {
        kind: kind(end, exit_code, context)?,
        message: report.map(|report| report.message.clone()),
        exit_code,
        thread: context.thread,
        faults: context.faults,
        trap: None,
        address: None,
        block: None,
        damaged_at_end: None,
        panic: None,
        call: None,
        place: None,
        calls: None,
        stands: stands::object(&context.stands),
        heap: context.heap.as_ref().map(heap),
    };
    match end {
        End::Returned => ended.message = Some(format!("main returned {exit_code}")),
        End::Exited(code) => ended.message = Some(format!("the program ended itself with exit code {code}")),
        End::Faulted(fault) => match fault.kind {
            FaultKind::Trap(kind) => add_trap(&mut ended, kind, fault, context),
            _ => add_panic(&mut ended, fault, context),
        },
        End::TimedOut | End::Interrupted => {}
    }
    Some(json::Report::Ended(Box::new(ended)))
}

/// How a run ended that needs a report.
fn kind(end: &End, exit_code: u8, context: &Context<'_>) -> Option<EndKind> {
    Some(match end {
        End::Returned | End::Exited(_) if exit_code == 0 => return None,
        End::Interrupted if context.terminal.nobody_reads() => return None,
        End::Returned | End::Exited(_) => EndKind::Exit,
        End::Faulted(fault) if fault.kind == FaultKind::Panic => EndKind::Panic,
        End::Faulted(_) => EndKind::Trap,
        End::TimedOut => EndKind::Timeout,
        End::Interrupted => EndKind::Interrupted,
    })
}

fn add_panic(ended: &mut json::Ended, fault: &Fault, context: &Context<'_>) {
    let said = context.terminal.said_last(fault.thread);
    let panic = context.terminal.panic(fault.thread);
    let panic = panic.as_deref().or(said.as_deref()).and_then(Panic::read);
    ended.place = panic.as_ref().and_then(panic_place);
    ended.message = panic.map(|panic| panic.message).or(said).or(Some("panic".into()));
    // The innermost calls are those by which std panics.
    add_calls(ended, &fault.backtrace, own_call(&fault.backtrace), context.compiled);
}

fn add_trap(ended: &mut json::Ended, kind: TrapKind, fault: &Fault, context: &Context<'_>) {
    ended.message = Some(match context.failed_allocation(fault) {
        Some(bytes) => format!("memory allocation of {bytes} bytes failed"),
        None => kind.text().to_owned(),
    });
    ended.trap = Some(format!("{kind:?}"));
    if let Some(heap) = &fault.heap {
        ended.address = Some(heap.address);
        ended.block = heap.block.as_ref().map(|(size, allocated)| json::Block {
            size: *size,
            allocated: json::frames(allocated),
        });
        ended.damaged_at_end = heap.damaged_at_end;
    }
    // A panic that panics ends by a trap.
    let said = context.terminal.said_last(fault.thread);
    let said = said.filter(|said| ended.damaged_at_end.is_none() && said.ends_with(ABORTS));
    if let Some(panic) = said.as_deref().and_then(Panic::read) {
        ended.place = panic_place(&panic);
        ended.panic = Some(panic.message);
    }
    add_calls(
        ended,
        &fault.backtrace,
        fault.backtrace.places.first(),
        context.compiled,
    );
}

/// Where a panic was, as it printed.
fn panic_place(panic: &Panic) -> Option<Place> {
    let (file, line, column) = panic.place.clone()?;
    Some(Place { file, line, column })
}

/// Adds the calls that were open, if any are known, and the one that the fault is shown by.
fn add_calls(ended: &mut json::Ended, backtrace: &Backtrace, shown: Option<&BacktraceFrame>, compiled: bool) {
    if backtrace.places.is_empty() {
        return;
    }
    ended.call = shown.map(Call::from);
    // The innermost line that is known, unless the panic named one.
    let mut lines = backtrace.places.iter().filter_map(|place| place.line.as_ref());
    ended.place = ended.place.take().or_else(|| lines.next().map(Place::from));
    ended.calls = Some(json::OpenCalls {
        backtrace: json::frames(backtrace),
        omitted_frames: backtrace.omitted,
        omitted_at: backtrace.omitted_at,
        registers: (!compiled).then(|| backtrace.registers.clone()),
    });
}

fn heap(heap: &HeapStats) -> json::HeapCounts {
    json::HeapCounts {
        allocated: heap.allocated,
        freed: heap.freed,
        failed: heap.failed,
        live: heap.live,
    }
}

/// The report of a run that did not begin, or that was wrong as a whole.
pub fn refused(report: &Report) -> json::Report {
    json::Report::Refused(refusal(report, None))
}

/// The report of leaks.
pub fn leaks(report: &Report, leaks: &[Leak]) -> json::Report {
    let leak = |leak: &Leak| json::Leak {
        bytes: leak.bytes,
        blocks: leak.blocks,
        call: own_call(&leak.allocated).map(Call::from),
        backtrace: json::frames(&leak.allocated),
    };
    json::Report::Refused(refusal(report, Some(leaks.iter().map(leak).collect())))
}

fn refusal(report: &Report, leaks: Option<Vec<json::Leak>>) -> json::Refused {
    json::Refused {
        kind: match report.code {
            code::LOST => RefusedKind::Output,
            code::LEAK => RefusedKind::Leaks,
            code::TRAP => RefusedKind::Trap,
            code::TIMEOUT => RefusedKind::Timeout,
            code::INTERRUPTED => RefusedKind::Interrupted,
            _ => RefusedKind::Error,
        },
        message: report.message.clone(),
        exit_code: report.code,
        places: report.places.clone(),
        help: report.help.clone(),
        leaks,
    }
}

/// Shows what was wrong with a run as a whole, in the form and the place that was asked for.
pub fn show(target: &Target<ReportFormat>, report: &Report) {
    match target.format {
        ReportFormat::Text => report.print(),
        ReportFormat::Json => target.put(refused(report)),
    }
}
