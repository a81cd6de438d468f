//! `--stats`: times and counts of a run.

use std::time::Duration;

use bytesize::ByteSize;
use gpu_run::compile::Choice;
use gpu_run::{ClassStats, HeapStats, Leak, Module, Outcome, TaskStats};
use gpu_run_translator::Times;
use gpu_run_vm::cuda::code::{Code, Origin};
use gpu_run_vm::{allocates, makes_requests};
use serde_json::Value;

use crate::cli::StatsFormat;
use crate::json::stats::{self as json, Stats};
use crate::sink::Target;

/// What the statistics of a run are made of.
pub struct Run<'r> {
    /// Name of the device.
    pub device: &'r str,
    /// Threads of the run.
    pub threads: u32,
    /// Reading and translating the module.
    pub load: Duration,
    /// What ran.
    pub module: &'r Module,
    /// From the start of the process until the program was ready to run.
    pub ready: Duration,
    /// How the run ended.
    pub outcome: &'r Outcome,
    /// The engine.
    pub choice: &'r Choice,
    /// The heap at the end.
    pub heap: &'r HeapStats,
    /// What `--leak-check` found, if it looked.
    pub leaks: Option<&'r [Leak]>,
    /// What the program's tasks did, if it ran some.
    pub tasks: Option<TaskStats>,
}

/// Milliseconds, to a microsecond.
pub fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

impl Run<'_> {
    /// Prints them.
    pub fn print(&self, target: &Target<StatsFormat>) {
        match target.format {
            StatsFormat::Json => target.put(self.stats()),
            StatsFormat::Full => print_tree(&serde_json::to_value(self.stats()).unwrap_or_default(), 0),
            StatsFormat::Text => self.summary().iter().for_each(|line| note!("{line}")),
        }
    }

    /// What most people want to know.
    fn summary(&self) -> Vec<String> {
        let (outcome, heap) = (self.outcome, self.heap);
        let engine = match (outcome.compiled, outcome.compiled_after) {
            (true, Some(after)) => format!("interpreted, and compiled from {:.3} ms on", ms(after)),
            (true, None) => "compiled".to_owned(),
            (false, _) => "interpreted".to_owned(),
        };
        let load = match self.module.translation() {
            Some(translation) => format!(
                "module {:.3} ms, of it translated in {:.3} ms",
                ms(self.load),
                ms(translation.times.total())
            ),
            None => format!("program {:.3} ms", ms(self.load)),
        };
        let waited = outcome.compiled && outcome.compiled_after.is_none() && !self.choice.is_cached();
        let compile = match waited {
            true => format!(", compiler {:.3} ms", ms(self.choice.waited)),
            false => String::new(),
        };
        let heap = match allocates(self.module.program()) {
            true => format!(
                "{} blocks allocated, {} freed, {} live; at most {} at once",
                heap.allocated,
                heap.freed,
                heap.live,
                ByteSize(heap.peak_bytes)
            ),
            false => "not used".to_owned(),
        };
        let (requests, debug) = (&outcome.requests, &outcome.debug);
        let threads = match outcome.spawned {
            Some(spawned) => format!("{} spawned, at most {} at once,", spawned.threads, spawned.most),
            None => self.threads.to_string(),
        };
        let mut lines = vec![
            format!("device:  {}, {engine}", self.device),
            format!(
                "threads: {threads} on {} lane{}",
                outcome.lanes,
                plural(outcome.lanes.into())
            ),
            format!(
                "time:    {:.3} ms to run; {:.3} ms until ready ({load}{compile})",
                ms(outcome.time),
                ms(self.ready)
            ),
            format!("heap:    {heap}"),
            format!(
                "host:    {} request{}, {} debug message{}",
                requests.calls,
                plural(requests.calls),
                debug.messages,
                plural(debug.messages)
            ),
        ];
        lines.extend(self.tasks.as_ref().map(tasks_line));
        lines
    }

    /// All of it.
    fn stats(&self) -> Stats {
        let outcome = self.outcome;
        let (debug, requests) = (&outcome.debug, &outcome.requests);
        let code = self.choice.code();
        let waited = match code {
            Some(code) => !matches!(code.origin, Origin::Cache),
            // The compiler may have been waited for in vain.
            None => !self.choice.waited.is_zero(),
        };
        Stats {
            device: self.device.to_owned(),
            threads: self.threads,
            spawned: outcome.spawned.map(|spawned| spawned.threads),
            lanes: outcome.lanes,
            load_ms: ms(self.load),
            translate_ms: self.module.translation().map(|report| translation(&report.times)),
            ready_ms: ms(self.ready),
            run_ms: ms(outcome.time),
            debug: (debug.messages > 0 || debug.dropped > 0).then_some(json::DebugCounts {
                messages: debug.messages,
                dropped: debug.dropped,
            }),
            requests: makes_requests(self.module.program()).then_some(json::RequestCounts {
                calls: requests.calls,
                messages: requests.messages,
            }),
            heap: allocates(self.module.program()).then(|| heap(self.heap, self.leaks)),
            engine: match outcome.compiled {
                true => json::Engine::Ptx,
                false => json::Engine::Interp,
            },
            compiled_after_ms: outcome.compiled_after.map(ms),
            cached: code.map(|_| self.choice.is_cached()),
            compile_ms: waited.then(|| ms(self.choice.waited)),
            compiler: code.and_then(compiler),
            cubin_bytes: code.map(|code| code.cubin.len()),
            tasks: self.tasks.as_ref().map(tasks),
        }
    }
}

fn translation(times: &Times) -> json::Translation {
    json::Translation {
        parse: ms(times.parse),
        rewrite: ms(times.rewrite),
        inline: ms(times.inline),
        lower: ms(times.lower),
        verify: ms(times.verify),
        total: ms(times.total()),
    }
}

/// What the compiler did for code that is not from the cache.
fn compiler(code: &Code) -> Option<json::Compiler> {
    match &code.origin {
        Origin::Compiler {
            generate, link, ptx, ..
        } => Some(json::Compiler {
            generate_ms: ms(*generate),
            link_ms: ms(*link),
            ptx_bytes: *ptx,
        }),
        _ => None,
    }
}

/// What makes a word mean so many.
fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The line of tasks.
fn tasks_line(tasks: &TaskStats) -> String {
    let idle = match tasks.time.is_zero() {
        true => String::new(),
        false => {
            // Of a run that did not end, its time is not known.
            let share = (tasks.idle.as_secs_f64() / tasks.time.as_secs_f64()).min(1.0);
            format!("; idle for {:.1} % of their time", 100.0 * share)
        }
    };
    format!(
        "tasks:   {} spawned; {} job{} run by {} worker{}, {} of them stolen in {} look{}; at most {} queued{idle}",
        tasks.spawned,
        tasks.executed,
        plural(tasks.executed),
        tasks.workers,
        plural(tasks.workers.into()),
        tasks.stolen,
        tasks.attempts,
        plural(tasks.attempts),
        tasks.most_queued,
    )
}

/// The part of tasks.
fn tasks(tasks: &TaskStats) -> json::Tasks {
    json::Tasks {
        workers: tasks.workers,
        spawned: tasks.spawned,
        executed: tasks.executed,
        stolen: tasks.stolen,
        attempts: tasks.attempts,
        queued: tasks.queued,
        most_queued: tasks.most_queued,
        idle_ms: ms(tasks.idle),
        worker_ms: ms(tasks.time),
    }
}

/// The heap's part.
fn heap(heap: &HeapStats, leaks: Option<&[Leak]>) -> json::Heap {
    json::Heap {
        allocated: heap.allocated,
        freed: heap.freed,
        failed: heap.failed,
        live: heap.live,
        live_bytes: heap.live_bytes,
        held_bytes: heap.held_bytes,
        peak_bytes: heap.peak_bytes,
        leaked: leaks.map(|leaks| leaks.iter().map(|leak| leak.blocks).sum()),
        leaked_bytes: leaks.map(|leaks| leaks.iter().map(|leak| leak.bytes).sum()),
        classes: heap.classes.iter().map(class).collect(),
    }
}

/// The blocks of a size.
fn class(class: &ClassStats) -> (String, json::Class) {
    let (name, live_bytes) = match class.size {
        // They are whole pages, and their own.
        0 => ("larger".into(), class.held_bytes),
        size => (size.to_string(), class.live * u64::from(size)),
    };
    let counts = json::Class {
        allocated: class.allocated,
        freed: class.allocated.saturating_sub(class.live),
        live: class.live,
        held_bytes: class.held_bytes,
        live_bytes,
    };
    (name, counts)
}

/// All of them as lines, with what belongs together indented.
fn print_tree(value: &Value, indent: usize) {
    let Some(map) = value.as_object() else { return };
    for (key, value) in map {
        match value {
            Value::Object(_) => {
                note!("{:indent$}{key}:", "");
                print_tree(value, indent + 2);
            }
            Value::Number(n) if n.is_f64() => {
                note!("{:indent$}{key}: {:.3}", "", n.as_f64().unwrap_or_default())
            }
            Value::String(text) => note!("{:indent$}{key}: {text}", ""),
            other => note!("{:indent$}{key}: {other}", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As sizes and not as texts, in what is printed too.
    #[test]
    fn classes_are_in_the_order_of_their_sizes() {
        let sizes = [16, 112, 1024, 10240, 0];
        let stats = HeapStats {
            classes: sizes
                .map(|size| ClassStats {
                    size,
                    allocated: 5,
                    live: 2,
                    held_bytes: 65536,
                })
                .into(),
            ..HeapStats::default()
        };
        let object = serde_json::to_value(heap(&stats, None)).unwrap();
        let text = object["classes"].to_string();
        let places: Vec<_> = ["16", "112", "1024", "10240", "larger"]
            .iter()
            .map(|name| text.find(&format!("\"{name}\":{{")).expect("a class"))
            .collect();
        assert!(places.is_sorted(), "{text}");
        let (small, larger) = (&object["classes"]["112"], &object["classes"]["larger"]);
        assert_eq!((&small["freed"], &small["live_bytes"]), (&3.into(), &224.into()));
        assert_eq!(larger["live_bytes"], 65536);
        assert!(object["leaked"].is_null());
    }
}
