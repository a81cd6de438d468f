//! What is told of a batch: its progress, how many processes have ended in which way, and the first that failed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use gpu_run::{BatchCounts, BatchResult, End};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::batch_args::BatchArgs;
use crate::calls::{grouped, told};
use crate::cli::ReportFormat;
use crate::lines::LineSource;
use crate::metrics::BatchMetrics;
use crate::report::code;

/// Failures that are told of with all that is known.
const SHOWN: usize = 5;
/// Calls that are shown of each.
const CALLS: usize = 4;

/// How a process of a batch ended: an object of `gpu-run batch --report json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessReport {
    /// What the process is called: its input, or its number.
    pub name: String,
    /// How it ended.
    pub kind: ProcessKind,
    /// Its exit code; of a trap 134, out of time 124.
    pub exit_code: Option<u8>,
    /// The trap, or why there was no process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The innermost function of a trap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Milliseconds from its begin to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<f64>,
    /// Bytes of its memory at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Bytes that it wrote to standard output and error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

impl ProcessReport {
    /// Of a process of which no more is known.
    fn new(name: &str, kind: ProcessKind) -> ProcessReport {
        ProcessReport {
            name: name.to_owned(),
            kind,
            exit_code: None,
            message: None,
            function: None,
            milliseconds: None,
            memory: None,
            written: None,
        }
    }
}

/// Ways in which processes of a batch end.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    /// Its main function returned, or it exited with code 0.
    Done,
    /// With an exit code other than 0.
    Exit,
    Trap,
    /// Its time was over.
    Timeout,
    /// The batch was interrupted while it ran.
    Interrupted,
    /// Its input could not be read, so that it did not run.
    Unreadable,
}

impl ProcessKind {
    /// As it is written.
    fn name(self) -> &'static str {
        match self {
            ProcessKind::Done => "done",
            ProcessKind::Exit => "exit",
            ProcessKind::Trap => "trap",
            ProcessKind::Timeout => "timeout",
            ProcessKind::Interrupted => "interrupted",
            ProcessKind::Unreadable => "unreadable",
        }
    }
}

/// The processes that took longest, and the times of all.
#[derive(Default)]
struct Slowest {
    /// How many are told of.
    wanted: usize,
    /// Those, the shortest first.
    heap: BinaryHeap<Reverse<(Duration, String)>>,
    /// In microseconds.
    times: Vec<u64>,
}

impl Slowest {
    fn note(&mut self, name: &str, time: Duration) {
        if self.wanted == 0 {
            return;
        }
        self.times.push(time.as_micros() as u64);
        if self.heap.len() < self.wanted || self.heap.peek().is_some_and(|Reverse((shortest, _))| time > *shortest) {
            self.heap.push(Reverse((time, name.to_owned())));
        }
        if self.heap.len() > self.wanted {
            self.heap.pop();
        }
    }

    /// What is told of them, line by line.
    fn lines(&self) -> Vec<String> {
        let mut times = self.times.clone();
        times.sort_unstable();
        let Some(last) = times.len().checked_sub(1) else {
            return Vec::new();
        };
        // The time that so much of them took at most.
        let up_to = |share: f64| times[(share * last as f64).round() as usize] as f64 / 1e3;
        let head = format!(
            "half of the processes took up to {:.3} ms, 90 % {:.3} ms, 99 % {:.3} ms; the slowest:",
            up_to(0.5),
            up_to(0.9),
            up_to(0.99)
        );
        let mut slowest: Vec<&(Duration, String)> = self.heap.iter().map(|Reverse(one)| one).collect();
        slowest.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
        let rows = slowest
            .iter()
            .map(|(time, name)| format!("  {:>12.3} ms  {name}", time.as_secs_f64() * 1e3));
        [head].into_iter().chain(rows).collect()
    }
}

/// Counts of a batch.
#[derive(Default)]
pub struct Tally {
    bar: Option<ProgressBar>,
    metrics: Option<BatchMetrics>,
    slowest: Slowest,
    begin: Option<Instant>,
    skipped: u64,
    done: u64,
    exits: u64,
    traps: u64,
    timeouts: u64,
    interrupted: u64,
    unreadable: u64,
    retried: u64,
    starved: u64,
    shown: Vec<String>,
    summary: BatchCounts,
}

impl Tally {
    /// Counts that are told by these too. So many of the slowest processes are named.
    pub fn new(bar: Option<ProgressBar>, metrics: Option<BatchMetrics>, slowest: usize) -> Tally {
        Tally {
            bar,
            metrics,
            slowest: Slowest {
                wanted: slowest,
                ..Slowest::default()
            },
            begin: Some(Instant::now()),
            ..Tally::default()
        }
    }

    /// A process begins.
    pub fn begun(&mut self) {
        if let Some(metrics) = &mut self.metrics {
            metrics.begun();
        }
    }

    /// Adds an end to the metrics.
    fn measure(&mut self, kind: ProcessKind, time: Option<Duration>, written: u64) {
        if let Some(metrics) = &mut self.metrics {
            metrics.ended(kind.name(), time, written);
        }
    }

    /// A process has ended before.
    pub fn skipped(&mut self) {
        self.skipped += 1;
        self.step();
    }

    fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
            if self.failures() > 0 {
                bar.set_message(format!("{} failed", grouped(self.failures())));
            }
        }
    }

    fn show(&mut self, text: String) {
        if self.shown.len() < SHOWN {
            self.shown.push(text);
        }
    }

    fn report(args: &BatchArgs, report: impl FnOnce() -> ProcessReport) {
        if args.report == ReportFormat::Json {
            args.report.put(report());
        }
    }

    /// The input of a process could not be read.
    pub fn unreadable(&mut self, args: &BatchArgs, name: &str, error: &str) {
        self.unreadable += 1;
        self.measure(ProcessKind::Unreadable, None, 0);
        self.show(format!("{name}: {error}"));
        self.step();
        Tally::report(args, || ProcessReport {
            message: Some(error.to_owned()),
            ..ProcessReport::new(name, ProcessKind::Unreadable)
        });
    }

    /// A process was stopped with the batch.
    pub fn interrupted(&mut self, args: &BatchArgs, name: &str) {
        self.interrupted += 1;
        self.measure(ProcessKind::Interrupted, None, 0);
        Tally::report(args, || ProcessReport::new(name, ProcessKind::Interrupted));
    }

    /// A process has ended. Returns its exit code.
    pub fn ended(&mut self, args: &BatchArgs, name: &str, result: &BatchResult, lines: &LineSource) -> u8 {
        let (kind, exit_code) = match &result.end {
            End::Returned => (ProcessKind::Done, 0),
            // As much as systems keep of it.
            End::Exited(0) => (ProcessKind::Done, 0),
            End::Exited(code) => (ProcessKind::Exit, *code as u8),
            End::Faulted(_) => (ProcessKind::Trap, code::TRAP),
            End::TimedOut => (ProcessKind::Timeout, code::TIMEOUT),
            End::Interrupted => (ProcessKind::Interrupted, code::INTERRUPTED),
        };
        *match kind {
            ProcessKind::Done => &mut self.done,
            ProcessKind::Exit => &mut self.exits,
            ProcessKind::Trap => &mut self.traps,
            ProcessKind::Timeout => &mut self.timeouts,
            _ => &mut self.interrupted,
        } += 1;
        let written = (result.stdout.len() + result.stderr.len()) as u64;
        self.measure(kind, Some(result.time), written);
        self.slowest.note(name, result.time);
        self.starved += u64::from(result.starved && !result.is_success());
        let (mut message, mut function) = (None, None);
        match &result.end {
            End::Faulted(fault) => {
                let mut backtrace = fault.backtrace.clone();
                if self.shown.len() < SHOWN || args.report == ReportFormat::Json {
                    lines.add_to(&mut backtrace);
                }
                message = Some(fault.message().to_owned());
                function = backtrace.places.first().map(|place| place.function.to_string());
                if self.shown.len() < SHOWN {
                    let mut text = format!("{name}: trap: {}", fault.message());
                    for place in backtrace.places.iter().take(CALLS) {
                        text += &format!("\n      at {}", told(place));
                    }
                    self.show(with_said(text, &result.stderr));
                }
            }
            End::Exited(code) if *code != 0 => {
                let text = format!("{name}: exit code {code}");
                self.show(with_said(text, &result.stderr));
            }
            End::TimedOut => self.show(format!("{name}: its time was over")),
            _ => {}
        }
        self.step();
        Tally::report(args, || ProcessReport {
            name: name.to_owned(),
            kind,
            exit_code: Some(exit_code),
            message,
            function,
            milliseconds: Some(result.time.as_secs_f64() * 1e3),
            memory: Some(result.memory),
            written: Some(written),
        });
        exit_code
    }

    /// So many processes that have failed run once more.
    pub fn retried(&mut self, count: u64) {
        self.retried = count;
    }

    /// Adds what the library counted.
    pub fn count(&mut self, summary: &BatchCounts) {
        self.summary = *summary;
    }

    /// Processes that did not end well.
    pub fn failures(&self) -> u64 {
        self.exits + self.traps + self.timeouts + self.unreadable
    }

    /// Takes the progress line away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// The summary, with the first failures.
    pub fn print(&self, interrupted: bool) {
        let time = self.begin.map_or(Duration::ZERO, |begin| begin.elapsed());
        let all = self.done + self.failures();
        let rate = self.summary.processes as f64 / self.summary.time.as_secs_f64().max(1e-9);
        note!(
            "{} processes in {:.2} s, {} a second, up to {} at once: {} done{}",
            grouped(all),
            time.as_secs_f64(),
            grouped(rate as u64),
            grouped(self.summary.resident.into()),
            grouped(self.done),
            self.counts(interrupted)
        );
        for text in &self.shown {
            note!("  {text}");
        }
        let more = self.failures().saturating_sub(self.shown.len() as u64);
        if more > 0 {
            note!("  and {} more", grouped(more));
        }
        for line in self.slowest.lines() {
            note!("{line}");
        }
        if self.starved > 0 {
            note!(
                "note: {} of them had too little memory; give them more by --instance-memory",
                grouped(self.starved)
            );
        }
    }

    /// The counts besides those that are done.
    fn counts(&self, interrupted: bool) -> String {
        let counts = [
            (self.exits, "exited with another code than 0"),
            (self.traps, "trapped"),
            (self.timeouts, "out of time"),
            (self.unreadable, "not readable"),
            (self.skipped, "done before"),
            (self.retried, "run once more on the CPU"),
            (self.interrupted, "interrupted"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let mut text: String = counts
            .map(|(count, what)| format!(", {} {what}", grouped(*count)))
            .collect();
        if interrupted {
            text += "; interrupted, --resume DIR goes on where outputs went to a directory";
        }
        text
    }
}

/// A failure with the last line that the process wrote to standard error.
fn with_said(text: String, stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    match said.trim_end().lines().last() {
        Some(line) if !line.is_empty() => format!("{text}\n      it said: {line}"),
        _ => text,
    }
}
