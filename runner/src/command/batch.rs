//! `gpu-run batch`: one program over many inputs, each a process of its own.
//!
//! [`inputs`] says what is run, [`outputs`] where its output goes, and [`tally`] what is told of it.

mod inputs;
mod outputs;
mod tally;

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::task::Poll;
use std::time::Duration;

use gpu_run::{
    Batch, BatchInput, BatchResult, Config, DeviceKind, End, Engine, InterruptHandle, Module, ModuleOptions,
};

use self::inputs::{Ahead, Job, Jobs, Read};
use self::outputs::{Directory, Ordered, Outputs, Written};
#[cfg(test)]
pub use self::tally::ProcessReport;
use self::tally::Tally;
use crate::batch_args::{BatchArgs, Retry};
use crate::cli::ReportFormat;
use crate::lines::LineSource;
use crate::report::{self, Outcome, Report, code};
use crate::{cache, devices, engine, load, log, process, progress, wasi_options};

/// Runs a batch.
pub fn batch(args: &BatchArgs) -> Outcome<ExitCode> {
    args.report.prepare("--report")?;
    let environment = &args.environment;
    for (given, option) in [
        (environment.tmpfs.is_some(), "--tmpfs"),
        (!environment.allow_net.is_empty(), "--allow-net"),
    ] {
        if given {
            return Err(Report::new(format!("processes of a batch do not have {option}")));
        }
    }
    let interrupt = InterruptHandle::new();
    let asked = std::sync::atomic::AtomicBool::new(false);
    let handle = interrupt.clone();
    process::on_interrupt(move || {
        handle.interrupt();
        // A second time ends the process.
        if asked.swap(true, std::sync::atomic::Ordering::Relaxed) {
            engine::leave_at_once(code::INTERRUPTED);
        }
    });
    let engine = engine_of(args)?;
    let lines = load_module(args, &engine)?;
    let outputs = match args.directory() {
        Some(path) => Outputs::Directory(Directory::open(path, args.resume.is_some(), args.shard.is_some())?),
        None => Outputs::Ordered(Ordered::new()),
    };
    let jobs = Jobs::of(args)?;
    let expected = jobs.len();
    let bar = progress::of_batch(expected).filter(|_| !log::is_quiet() && !is_on_terminal(args));
    let ended: Box<dyn Fn(&str) -> bool + Send> = match &outputs {
        Outputs::Directory(directory) => Box::new(directory.ended()),
        Outputs::Ordered(_) => Box::new(|_| false),
    };
    let mut run = Run {
        args,
        tally: Tally::new(bar),
        count: args.instances,
        started: HashMap::new(),
        outputs,
        failed: Vec::new(),
        lost: None,
        lost_input: None,
        read: inputs::read_ahead(jobs, args.args().to_vec(), args.instances, ended),
        ready: VecDeque::new(),
    };
    let device = devices::open(&args.device)?;
    let on_gpu = device.target().is_some();
    let summary = {
        // The source of inputs and the taker of results work on the same books, never at the same time.
        let feed = RefCell::new(&mut run);
        let mut batch = batch_of(args, &engine, &lines.module, &interrupt)?;
        if let Some(expected) = expected {
            batch = batch.expected(expected);
        }
        let batch = batch
            .device(device)
            .source(|waits| feed.borrow_mut().next_input(waits))
            .on_choice(engine::tell_batch);
        batch
            .run(|result| feed.borrow_mut().take(result, &lines, args.retry.is_some() && on_gpu))
            .map_err(|error| failed(args, &error))
    };
    let retried = match &summary {
        Ok(summary) => {
            run.tally.count(summary);
            match !run.failed.is_empty() && !interrupt.is_pending() {
                true => run.retry(&lines.module, &interrupt, &lines),
                false => Ok(()),
            }
        }
        Err(_) => Ok(()),
    };
    // Whatever has happened: what has ended is written.
    let written = run.outputs.finish();
    run.tally.finish();
    if !log::is_quiet() && args.report == ReportFormat::Text && summary.is_ok() {
        run.tally.print(interrupt.is_pending());
    }
    summary?;
    retried?;
    if let Some(error) = run.lost.or(written.err()) {
        return Err(Report::new(format!("outputs cannot be written: {error}")).code(code::LOST));
    }
    if let Some(error) = run.lost_input {
        return Err(Report::new(format!("the inputs cannot be read to their end: {error}")));
    }
    Ok(ExitCode::from(match (interrupt.is_pending(), run.tally.failures()) {
        (true, _) => code::INTERRUPTED,
        (false, 0) => 0,
        (false, _) => 1,
    }))
}

/// Whether outputs and a progress line would be written to the same terminal.
fn is_on_terminal(args: &BatchArgs) -> bool {
    args.directory().is_none() && std::io::IsTerminal::is_terminal(&std::io::stdout())
}

/// The engine for the options.
fn engine_of(args: &BatchArgs) -> Outcome<Engine> {
    let strategy = engine::strategy(args.device.engine);
    let config = engine::config(strategy, &args.tuning, args.compile_time, cache::open()?);
    Engine::new(&config).map_err(|error| report::library(&error, args.module()))
}

/// The module, with its own allocator and functions. Debug messages do not know of processes.
fn load_module(args: &BatchArgs, engine: &Engine) -> Outcome<LineSource> {
    let options = ModuleOptions {
        rewrite: None,
        no_debug: true,
        ..ModuleOptions::full()
    };
    load::load_bytes(engine, args.module(), load::read(args.module())?, &options)
}

/// A batch without inputs, as the options say.
fn batch_of<'b>(
    args: &BatchArgs,
    engine: &'b Engine,
    module: &'b Module,
    interrupt: &InterruptHandle,
) -> Outcome<Batch<'b>> {
    let mut batch = Batch::new(engine, module)
        .name(wasi_options::program_name(&args.environment, args.module()))
        .call_depth(args.max_call_depth)
        .interrupt_by(interrupt);
    for (name, value) in wasi_options::variables(args.environment.variables.iter())? {
        batch = batch.env(name, value);
    }
    for dir in wasi_options::directories(args.environment.dirs.iter())? {
        batch = batch
            .preopened_dir(dir.host, &dir.guest, dir.read_only)
            .map_err(|error| dir.failed(error))?;
    }
    if let Some(jobs) = args.jobs {
        batch = batch.jobs(jobs);
    }
    if let Some(memory) = args.instance_memory {
        batch = batch.memory(memory.as_u64());
    }
    if let Some(timeout) = args.instance_timeout {
        batch = batch.process_timeout(timeout);
    }
    if let Some(seed) = args.environment.seed {
        batch = batch.seed(seed);
    }
    if let Some(export) = &args.snapshot_at {
        batch = batch.snapshot_at(export);
    }
    Ok(batch)
}

/// The report of a batch that could not be run.
fn failed(args: &BatchArgs, error: &gpu_run::Error) -> Report {
    match Batch::refused(error) {
        Some(gpu_run_vm::BatchRefused::Heap) => Report::new(error.to_string())
            .at(args.module().display().to_string())
            .help("give the module itself, or translate it with --no-rewrite"),
        Some(_) => Report::new(error.to_string()).at(args.module().display().to_string()),
        None => report::library(error, args.module()),
    }
}

/// A batch under way.
struct Run<'r> {
    args: &'r BatchArgs,
    tally: Tally,
    /// Instances in all, if inputs are that.
    count: Option<u64>,
    /// Processes that were begun and have not ended, by their numbers in the batch: which job it is of all.
    started: HashMap<u64, (u64, Job)>,
    outputs: Outputs,
    /// Those that are to be run again.
    failed: Vec<(u64, Job)>,
    /// Why outputs could not be written.
    lost: Option<std::io::Error>,
    /// Why there are no more inputs, though there should be.
    lost_input: Option<std::io::Error>,
    /// Inputs that were read, and those of them that have not begun.
    read: Ahead,
    ready: VecDeque<Read>,
}

/// How long more inputs are waited for at a time.
const WAIT: Duration = Duration::from_millis(20);

impl Run<'_> {
    /// The next process's input, for which it may wait a while. What cannot be read is told of, and left out.
    fn next_input(&mut self, waits: bool) -> Poll<Option<BatchInput>> {
        loop {
            let Some(read) = self.ready.pop_front() else {
                match self.read.next(if waits { WAIT } else { Duration::ZERO }) {
                    Ok(more) => self.ready.extend(more),
                    Err(RecvTimeoutError::Timeout) => return Poll::Pending,
                    Err(RecvTimeoutError::Disconnected) => return Poll::Ready(None),
                }
                continue;
            };
            match read {
                Read::Skipped => self.tally.skipped(),
                Read::Lost(error) => self.lost_input = Some(error),
                Read::Ready(at, job, Ok(input)) => {
                    let number = self.tally.begun();
                    self.started.insert(number, (at, job));
                    return Poll::Ready(Some(input));
                }
                Read::Ready(at, job, Err(error)) => {
                    self.tally.unreadable(self.args, &job.name, &error);
                    let skipped = self.outputs.skip(at);
                    self.keep(skipped);
                }
            }
        }
    }

    /// Takes what came of a process.
    fn take(&mut self, result: BatchResult, lines: &LineSource, retries: bool) -> ControlFlow<()> {
        let Some((at, job)) = self.started.remove(&result.number) else {
            return ControlFlow::Continue(());
        };
        if let End::Interrupted = result.end {
            self.tally.interrupted(self.args, &job.name);
            let skipped = self.outputs.skip(at);
            self.keep(skipped);
            return ControlFlow::Continue(());
        }
        let success = result.is_success();
        if !success && retries {
            self.failed.push((at, job));
            return ControlFlow::Continue(());
        }
        let exit_code = self.tally.ended(self.args, &job.name, &result, lines);
        let written = Written {
            stdout: result.stdout,
            stderr: result.stderr,
            exit_code,
        };
        let taken = self.outputs.take(at, &job.name, written);
        self.keep(taken);
        let closed = matches!(&self.outputs, Outputs::Ordered(ordered) if ordered.is_closed());
        match (!success && self.args.fail_fast) || self.lost.is_some() || closed {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn keep(&mut self, result: std::io::Result<()>) {
        if let Err(error) = result {
            self.lost.get_or_insert(error);
        }
    }

    /// Runs once more on the CPU what has failed.
    fn retry(&mut self, module: &Module, interrupt: &InterruptHandle, lines: &LineSource) -> Outcome<()> {
        let Some(Retry::Cpu) = self.args.retry else {
            return Ok(());
        };
        let args = self.args;
        let engine = Engine::new(Config::new().device(DeviceKind::Cpu)).map_err(|error| failed(args, &error))?;
        let mut jobs = std::mem::take(&mut self.failed);
        jobs.sort_by_key(|(at, _)| *at);
        let mut given = Vec::new();
        self.started.clear();
        for (at, job) in jobs {
            match inputs::input(args.args(), &job.what, self.count) {
                Ok(input) => {
                    self.started.insert(given.len() as u64, (at, job));
                    given.push(input);
                }
                // It was there before.
                Err(error) => self.tally.unreadable(args, &job.name, &error),
            }
        }
        self.tally.retried(given.len() as u64);
        let batch = batch_of(args, &engine, module, interrupt)?.inputs(given);
        let summary = batch.run(|result| self.take(result, lines, false));
        summary.map(drop).map_err(|error| failed(args, &error))
    }
}
