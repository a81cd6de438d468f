//! `--report json`: how a run ended, as an object for programs.

use gpu_run_bytecode::BacktraceFrame;
use gpu_run_vm::{Backtrace, End, Fault, HeapStats, InstanceId, Leak, Outcome, RunOptions, Stands, Store};
use serde_json::{Map, Value, json};

use crate::cli::ReportFormat;
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
    /// Of a run that came to its end. There are no counts of the heap if the device does not answer any more.
    pub fn of(
        outcome: &Outcome,
        options: &RunOptions,
        terminal: &'c Terminal,
        store: &mut Store,
        instance: InstanceId,
        lines: &LineSource,
    ) -> Context<'c> {
        Context {
            terminal,
            threads: options.threads,
            faults: outcome.faults,
            thread: outcome.ended_by,
            heap: store.heap_stats(instance).ok(),
            compiled: outcome.compiled,
            calls: Calls::wanted(options.environment.as_ref()),
            stands: stands::of(store, lines),
        }
    }

    /// Of a start function that did not return, or of a module that could not be instantiated: then no thread has run.
    pub fn of_start(end: &End, options: &RunOptions, terminal: &'c Terminal, compiled: bool) -> Context<'c> {
        let thread = match end {
            End::Trapped(fault) => (!fault.backtrace.places.is_empty()).then_some(fault.thread),
            End::Panicked { thread, .. } => Some(*thread),
            _ => None,
        };
        Context {
            terminal,
            threads: 1,
            faults: thread.is_some().into(),
            thread,
            heap: None,
            compiled,
            calls: Calls::wanted(options.environment.as_ref()),
            stands: Stands::default(),
        }
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

/// The object for an end, and nothing if it needs none: the program ended well, or nobody reads.
pub fn object(end: &End, report: Option<&Report>, exit_code: u8, context: &Context<'_>) -> Option<Value> {
    let mut details = Map::new();
    let mut message = report.map(|report| report.message.clone());
    let mut backtrace = None;
    let kind = match end {
        End::Returned | End::Exited(_) if exit_code == 0 => return None,
        End::Interrupted if context.terminal.nobody_reads() => return None,
        End::Returned => {
            message = Some(format!("main returned {exit_code}"));
            "exit"
        }
        End::Exited(code) => {
            message = Some(format!("the program ended itself with exit code {code}"));
            "exit"
        }
        End::Trapped(fault) => {
            message = Some(fault.kind.text().to_owned());
            details.insert("trap".into(), format!("{:?}", fault.kind).into());
            backtrace = Some(&fault.backtrace);
            if let Some(heap) = &fault.heap {
                details.insert("address".into(), heap.address.into());
                if let Some((size, allocated)) = &heap.block {
                    let block = json!({ "size": size, "allocated": frames(allocated) });
                    details.insert("block".into(), block);
                }
                if let Some(blocks) = heap.damaged_at_end {
                    details.insert("damaged_at_end".into(), blocks.into());
                }
            }
            if let Some(bytes) = context.failed_allocation(fault) {
                message = Some(format!("memory allocation of {bytes} bytes failed"));
            }
            // A panic that panics ends by a trap.
            let at_end = fault.heap.as_ref().is_some_and(|heap| heap.damaged_at_end.is_some());
            let said = context.terminal.said_last(fault.thread);
            if let Some(panic) = said
                .as_deref()
                .filter(|said| !at_end && said.ends_with(ABORTS))
                .and_then(Panic::read)
            {
                details.insert("panic".into(), panic.message.as_str().into());
                add_place(&mut details, &panic);
            }
            "trap"
        }
        End::Panicked {
            thread,
            backtrace: calls,
        } => {
            let said = context.terminal.said_last(*thread);
            let panic = context.terminal.panic(*thread);
            let panic = panic.as_deref().or(said.as_deref()).and_then(Panic::read);
            if let Some(panic) = &panic {
                add_place(&mut details, panic);
            }
            message = panic.map(|panic| panic.message).or(said).or(Some("panic".into()));
            backtrace = Some(calls);
            "panic"
        }
        End::TimedOut => "timeout",
        End::Interrupted => "interrupted",
    };
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.insert("message".into(), message.into());
    object.insert("exit_code".into(), exit_code.into());
    object.insert("thread".into(), context.thread.into());
    object.insert("faults".into(), context.faults.into());
    object.extend(details);
    if let Some(backtrace) = backtrace.filter(|backtrace| !backtrace.places.is_empty()) {
        let own = matches!(end, End::Panicked { .. });
        add_backtrace(&mut object, backtrace, own, context.compiled);
    }
    if !context.stands.is_empty() {
        object.insert("stands".into(), stands::object(&context.stands));
    }
    if let Some(heap) = &context.heap {
        let counts = json!({
            "allocated": heap.allocated, "freed": heap.freed, "failed": heap.failed, "live": heap.live,
        });
        object.insert("heap".into(), counts);
    }
    Some(object.into())
}

/// Where a panic was, as it printed.
fn add_place(object: &mut Map<String, Value>, panic: &Panic) {
    if let Some((file, line, column)) = &panic.place {
        object.insert("file".into(), file.as_str().into());
        object.insert("line".into(), (*line).into());
        object.insert("column".into(), (*column).into());
    }
}

/// The object for a run that did not begin.
pub fn refused(report: &Report) -> Value {
    let kind = match report.code {
        code::LOST => "output",
        code::LEAK => "leaks",
        code::TRAP => "trap",
        code::TIMEOUT => "timeout",
        code::INTERRUPTED => "interrupted",
        _ => "error",
    };
    json!({
        "kind": kind,
        "message": report.message,
        "exit_code": report.code,
        "places": report.places,
        "help": report.help,
    })
}

/// Shows what was wrong with a run as a whole, in the form and the place that was asked for.
pub fn show(target: &Target<ReportFormat>, report: &Report) {
    match target.format {
        ReportFormat::Text => report.print(),
        ReportFormat::Json => target.put(&refused(report)),
    }
}

/// The object for leaks.
pub fn leaks(report: &Report, leaks: &[Leak]) -> Value {
    let mut object = refused(report);
    let leak = |leak: &Leak| {
        let mut object = Map::new();
        object.insert("bytes".into(), leak.bytes.into());
        object.insert("blocks".into(), leak.blocks.into());
        add_call(&mut object, own_call(&leak.allocated));
        object.insert("backtrace".into(), frames(&leak.allocated).into());
        object.into()
    };
    object["leaks"] = leaks.iter().map(leak).collect::<Vec<Value>>().into();
    object
}

/// The calls of a backtrace, the innermost first.
pub fn frames(backtrace: &Backtrace) -> Vec<Value> {
    let frames = backtrace.places.iter().map(|place| {
        let mut frame = json!({ "function": place.function, "wasm_offset": place.offset });
        if let Some(line) = &place.line {
            frame["file"] = line.file.as_str().into();
            frame["line"] = line.line.into();
            frame["column"] = line.column.into();
        }
        frame
    });
    frames.collect()
}

/// The call that a fault is shown by.
fn add_call(object: &mut Map<String, Value>, place: Option<&BacktraceFrame>) {
    if let Some(place) = place {
        object.insert("function".into(), place.function.as_str().into());
        object.insert("wasm_offset".into(), place.offset.into());
    }
}

/// `own`: the innermost calls are those by which std panics, so the place is that of the program's own.
fn add_backtrace(object: &mut Map<String, Value>, backtrace: &Backtrace, own: bool, compiled: bool) {
    let place = match own {
        true => own_call(backtrace),
        false => backtrace.places.first(),
    };
    add_call(object, place);
    // The innermost line that is known, unless the panic named one.
    if !object.contains_key("file")
        && let Some(line) = backtrace.places.iter().find_map(|place| place.line.as_ref())
    {
        object.insert("file".into(), line.file.as_str().into());
        object.insert("line".into(), line.line.into());
        object.insert("column".into(), line.column.into());
    }
    object.insert("backtrace".into(), frames(backtrace).into());
    object.insert("omitted_frames".into(), backtrace.omitted.into());
    if let Some(index) = backtrace.omitted_at {
        object.insert("omitted_at".into(), index.into());
    }
    let registers = match compiled {
        true => Value::Null,
        false => backtrace.registers.as_slice().into(),
    };
    object.insert("registers".into(), registers);
}
