//! `gpu-run batch`: one program over many inputs, each a process of its own.
//!
//! [`inputs`] says what is run, [`outputs`] where its output goes, and [`tally`] what is told of it.

mod inputs;
mod outputs;
mod tally;

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::process::ExitCode;

use gpu_run::{
    Batch, BatchInput, BatchResult, Config, DeviceKind, End, Engine, InterruptHandle, Module, ModuleOptions,
};

use self::inputs::{Job, Jobs};
use self::outputs::{Directory, Ordered, Outputs, Written};
#[cfg(test)]
pub use self::tally::ProcessReport;
use self::tally::Tally;
use crate::batch_args::{BatchArgs, Retry};
use crate::lines::LineSource;
use crate::report::{self, Outcome, Report, code, warn};
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
        Some(path) => Outputs::Directory(Directory::open(path, args.resume.is_some())?),
        None => Outputs::Ordered(Ordered::new()),
    };
    let jobs = Jobs::of(args)?;
    let bar = progress::of_batch(jobs.len()).filter(|_| !log::is_quiet() && !is_on_terminal(args));
    let mut run = Run {
        args,
        tally: Tally::new(bar),
        count: args.instances,
        started: HashMap::new(),
        outputs,
        failed: Vec::new(),
        lost: None,
        jobs: 0,
        ready: VecDeque::new(),
    };
    let device = devices::open(&args.device)?;
    let on_gpu = device.target().is_some();
    let mut jobs = Some(jobs);
    let feed = std::cell::RefCell::new(&mut run);
    let source = jobs.take().into_iter().flatten();
    let summary = {
        // Both the source of inputs and the taker of results work on the same books, never at the same time.
        let mut source = source;
        let next = std::iter::from_fn(|| feed.borrow_mut().next_input(&mut source));
        let batch = batch_of(args, &engine, &lines.module, &interrupt)?
            .device(device)
            .inputs(next)
            .on_choice(tell);
        batch
            .run(|result| feed.borrow_mut().take(result, &lines, args.retry.is_some() && on_gpu))
            .map_err(|error| failed(args, &error))
    };
    drop(feed);
    let summary = summary?;
    run.tally.count(&summary);
    if !run.failed.is_empty() && !interrupt.is_pending() {
        run.retry(&lines.module, &interrupt, &lines)?;
    }
    let written = run.outputs.finish();
    run.tally.finish();
    if let Some(error) = run.lost.or(written.err()) {
        return Err(Report::new(format!("outputs cannot be written: {error}")).code(code::LOST));
    }
    if !log::is_quiet() && args.report == crate::cli::ReportFormat::Text {
        run.tally.print(interrupt.is_pending());
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
    let mut config = Config::new();
    config
        .strategy(engine::strategy(args.device.engine))
        .local_frames(args.tuning.local_frames.into())
        .reconverge(args.tuning.reconverge.into())
        .compile_timeout(args.compile_time);
    if let Some(tell) = progress::of_compiler() {
        config.on_compile(tell);
    }
    match cache::open()? {
        Some(cache) => config.cache_folder(cache.folder()).cache_size(cache.limit()),
        None => config.no_cache(),
    };
    Engine::new(&config).map_err(|error| report::library(&error, args.module()))
}

/// The module, with its own allocator and functions.
fn load_module(args: &BatchArgs, engine: &Engine) -> Outcome<LineSource> {
    let options = ModuleOptions {
        rewrite: None,
        ..ModuleOptions::full()
    };
    let bytes = load::read(args.module())?;
    if gpu_run::is_serialized(&bytes) {
        return Ok(LineSource {
            module: load::translated(engine, args.module(), &bytes)?,
            wasm: None,
        });
    }
    load::load_bytes(engine, args.module(), bytes, &options)
}

/// A batch without inputs, as the options say.
fn batch_of<'b>(
    args: &BatchArgs,
    engine: &'b Engine,
    module: &'b Module,
    interrupt: &InterruptHandle,
) -> Outcome<Batch<'b>> {
    let name = match &args.environment.argv0 {
        Some(name) => name.as_encoded_bytes().to_vec(),
        None => args
            .module()
            .file_name()
            .unwrap_or_default()
            .as_encoded_bytes()
            .to_vec(),
    };
    let mut batch = Batch::new(engine, module)
        .name(name)
        .call_depth(args.max_call_depth)
        .interrupt_by(interrupt);
    for (name, value) in wasi_options::variables(args.environment.variables.iter())? {
        batch = batch.env(name, value);
    }
    for dir in wasi_options::directories(args.environment.dirs.iter())? {
        batch = batch
            .preopened_dir(dir.host, &dir.guest, dir.read_only)
            .map_err(|error| {
                Report::new(format!(
                    "--dir {}: {}",
                    dir.option.display(),
                    wasi_options::cause(error)
                ))
            })?;
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

/// Says with -v how the program is run.
fn tell(choice: &gpu_run::compile::Choice) {
    engine::tell_batch(choice);
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
    /// Jobs so far.
    jobs: u64,
    /// Those whose inputs are read and that have not begun.
    ready: VecDeque<(u64, Job, Result<BatchInput, String>)>,
}

/// Threads that read inputs, and how many are read at once.
const READERS: usize = 8;
const READ_AHEAD: usize = 4096;

impl Run<'_> {
    /// The next process's input. What cannot be read is told of, and left out.
    fn next_input(&mut self, jobs: &mut dyn Iterator<Item = std::io::Result<Job>>) -> Option<BatchInput> {
        loop {
            if self.ready.is_empty() {
                self.read_ahead(jobs);
            }
            let (at, job, input) = self.ready.pop_front()?;
            match input {
                Ok(input) => {
                    let number = self.tally.begun();
                    self.started.insert(number, (at, job));
                    return Some(input);
                }
                Err(error) => {
                    self.tally.unreadable(self.args, &job.name, &error);
                    let skipped = self.outputs.skip(at);
                    self.keep(skipped);
                }
            }
        }
    }

    /// Reads the inputs of the next jobs, on several threads.
    fn read_ahead(&mut self, jobs: &mut dyn Iterator<Item = std::io::Result<Job>>) {
        let mut next = Vec::new();
        while next.len() < READ_AHEAD {
            let job = match jobs.next() {
                Some(Ok(job)) => job,
                Some(Err(error)) => {
                    warn(&format!("the inputs cannot be read to their end: {error}"));
                    break;
                }
                None => break,
            };
            let at = self.jobs;
            self.jobs += 1;
            match &self.outputs {
                Outputs::Directory(directory) if directory.has(&job.name) => self.tally.skipped(),
                _ => next.push((at, job)),
            }
        }
        let (args, count) = (self.args.args(), self.count);
        let read = |job: &Job| inputs::input(args, &job.what, count);
        let part = next.len().div_ceil(READERS).max(1);
        let inputs: Vec<_> = std::thread::scope(|scope| {
            let parts = next.chunks(part);
            let threads: Vec<_> = parts
                .map(|part| scope.spawn(move || part.iter().map(|(_, job)| read(job)).collect::<Vec<_>>()))
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap_or_default())
                .collect()
        });
        let ready = next.into_iter().zip(inputs).map(|((at, job), input)| (at, job, input));
        self.ready.extend(ready);
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
