//! What is told of a batch: its progress, how many processes have ended in which way, and the first that failed.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use gpu_run::{BatchCounts, BatchResult, End, Samples};
use indicatif::ProgressBar;
use serde::Serialize;

use super::profile::{Gathered, Shown, Told};
use crate::batch_args::BatchArgs;
use crate::calls::{grouped, told};
use crate::cli::ReportFormat;
use crate::lines::LineSource;
use crate::processes::{Seen, Watch};
use crate::profile::Sources;
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

/// A process that took long.
struct Slow {
    time: Duration,
    name: String,
    samples: Option<Samples>,
}

impl Ord for Slow {
    /// By time; of the same time by name, the first one last.
    fn cmp(&self, other: &Slow) -> Ordering {
        (self.time, &other.name).cmp(&(other.time, &self.name))
    }
}

impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Slow) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Slow {}

impl PartialEq for Slow {
    fn eq(&self, other: &Slow) -> bool {
        self.cmp(other).is_eq()
    }
}

/// The processes that took longest, and the times of all.
#[derive(Default)]
struct Slowest {
    /// How many are told of.
    wanted: usize,
    /// Those, the shortest first.
    heap: BinaryHeap<Reverse<Slow>>,
    /// The same once all have ended, the slowest first.
    slowest: Vec<Slow>,
    /// In microseconds.
    times: Vec<u64>,
}

impl Slowest {
    fn note(&mut self, name: &str, result: &mut BatchResult) {
        if self.wanted == 0 {
            return;
        }
        let time = result.time;
        self.times.push(time.as_micros() as u64);
        if self.heap.len() < self.wanted || self.heap.peek().is_some_and(|Reverse(shortest)| time > shortest.time) {
            self.heap.push(Reverse(Slow {
                time,
                name: name.to_owned(),
                samples: result.samples.take(),
            }));
        }
        if self.heap.len() > self.wanted {
            self.heap.pop();
        }
    }

    /// Those that took longest are all known.
    fn finish(&mut self) {
        let heap = std::mem::take(&mut self.heap);
        self.slowest = heap.into_sorted_vec().into_iter().map(|Reverse(slow)| slow).collect();
    }

    /// What is told of them, line by line, with where each spent its time.
    fn lines(&self, functions: &[String]) -> Vec<String> {
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
        let rows = self.slowest.iter().enumerate().map(|(index, slow)| {
            let functions = functions.get(index).filter(|functions| !functions.is_empty());
            let functions = functions.map_or(String::new(), |functions| format!("   {functions}"));
            format!("  {:>12.3} ms  {}{functions}", slow.time.as_secs_f64() * 1e3, slow.name)
        });
        [head].into_iter().chain(rows).collect()
    }
}

/// Counts of a batch.
pub struct Tally {
    bar: Option<ProgressBar>,
    seen: Seen,
    watches: Vec<Watch>,
    slowest: Slowest,
    profile: Gathered,
    begin: Instant,
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
    /// Counts that are seen by these watches too. So many of the slowest processes are named.
    pub fn new(bar: Option<ProgressBar>, seen: Seen, watches: Vec<Watch>, slowest: usize) -> Tally {
        Tally {
            bar,
            seen,
            watches,
            slowest: Slowest {
                wanted: slowest,
                ..Slowest::default()
            },
            profile: Gathered::default(),
            begin: Instant::now(),
            skipped: 0,
            done: 0,
            exits: 0,
            traps: 0,
            timeouts: 0,
            interrupted: 0,
            unreadable: 0,
            retried: 0,
            starved: 0,
            shown: Vec::new(),
            summary: BatchCounts::default(),
        }
    }

    /// A device of this name runs processes.
    pub fn runs_on(&mut self, device: String) {
        self.seen.lock().devices.push(device);
    }

    /// A process begins.
    pub fn begun(&mut self) {
        self.seen.lock().begun += 1;
    }

    /// A device tells this for the profile.
    pub fn take_profile(&mut self, told: Told) {
        self.profile.take(told);
    }

    /// The profile, of what the devices have told. All processes have ended.
    pub fn profile(&mut self, args: &BatchArgs, sources: &Sources<'_>) -> Option<Shown> {
        let processes = self.done + self.exits + self.traps + self.timeouts + self.interrupted;
        let slowest = self.slowest.slowest.iter_mut();
        let slowest = slowest.map(|slow| (slow.name.clone(), slow.samples.take().unwrap_or_default()));
        let title = args.module().display().to_string();
        std::mem::take(&mut self.profile).finish(title, slowest.collect(), processes, sources)
    }

    /// A process has ended before.
    pub fn skipped(&mut self) {
        self.skipped += 1;
        self.seen.lock().skipped += 1;
        self.step();
    }

    /// Adds an end to what others see.
    fn measure(&self, kind: ProcessKind, name: &str, time: Option<Duration>, written: u64) {
        self.seen.lock().end(kind.name(), name, time, written);
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
        self.measure(ProcessKind::Unreadable, name, None, 0);
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
        self.measure(ProcessKind::Interrupted, name, None, 0);
        Tally::report(args, || ProcessReport::new(name, ProcessKind::Interrupted));
    }

    /// A process has ended. Returns its exit code.
    pub fn ended(&mut self, args: &BatchArgs, name: &str, result: &mut BatchResult, lines: &LineSource) -> u8 {
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
        self.measure(kind, name, Some(result.time), written);
        self.slowest.note(name, result);
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

    /// Takes the progress line away, and has others see the end.
    pub fn finish(&mut self) {
        self.slowest.finish();
        self.seen.lock().over();
        self.watches.clear();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// The summary, with the first failures, and of a profile where the slowest processes spent their time.
    pub fn print(&self, interrupted: bool, profile: Option<&Shown>) {
        let time = self.begin.elapsed();
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
        for line in self.slowest.lines(profile.map_or(&[], |shown| &shown.functions)) {
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
