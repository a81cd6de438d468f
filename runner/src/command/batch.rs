//! `gpu-run batch`: one program over many inputs, each a process of its own.
//!
//! [`inputs`] says what is run, [`outputs`] where its output goes, [`tally`] what is told of it, and [`profile`] where its
//! time went.

mod inputs;
mod outputs;
mod profile;
mod programs;
mod tally;

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use gpu_run::compile::Choice;
use gpu_run::{
    Batch, BatchCounts, BatchInput, BatchResult, Config, Device, DeviceKind, End, Engine, InterruptHandle, Module,
};

use self::inputs::{Ahead, Job, Jobs, Read};
use self::outputs::{Directory, Ordered, Outputs, Written};
#[cfg(test)]
pub use self::tally::ProcessReport;
use self::tally::Tally;
use crate::batch_args::{BatchArgs, Retry};
use crate::cli::{DeviceArgs, ReportFormat};
use crate::lines::LineSource;
use crate::processes::{Processes, Seen, Watch};
use crate::profile_args::ProfileOptions;
use crate::report::{self, Outcome, Report, code, warn};
use crate::{cache, devices, engine, live, load, log, metrics, process, progress, wasi_options};

/// Runs a batch.
pub fn batch(args: &BatchArgs) -> Outcome<ExitCode> {
    args.report.prepare("--report")?;
    profile::check(args)?;
    let environment = &args.environment;
    if let Some(option) = wasi_options::of_runs_only(environment) {
        return Err(Report::new(format!("processes of a batch do not have {option}")));
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
    let lines = load_module(&engine, args.module(), args.fuel)?;
    let programs = programs::load(args, &engine)?;
    let jobs = Jobs::of(args)?;
    let devices = args.devices.each().map_err(|error| report::device(&error))?;
    // Last: it empties what is there.
    let outputs = match args.directory() {
        Some(path) => Outputs::Directory(Directory::open(path, args.resume.is_some(), args.shard.is_some())?),
        None => Outputs::Ordered(Ordered::open(args.out_file())?),
    };
    let expected = jobs.len();
    let bar = progress::of_batch(expected).filter(|_| !log::is_quiet() && !args.profile.live && !is_on_terminal(args));
    let ended: Box<dyn Fn(&str) -> bool + Send> = match &outputs {
        Outputs::Directory(directory) => Box::new(directory.ended()),
        Outputs::Ordered(_) => Box::new(|_| false),
    };
    let seen = Seen::new(Processes::new(expected));
    let profile_files = crate::profile::open(&args.profile)?;
    let watches = watches(args, &seen)?;
    let run = Run {
        args,
        tally: Tally::new(bar, seen, watches, args.slowest()),
        count: args.instances,
        started: HashMap::new(),
        outputs,
        failed: Vec::new(),
        ended: false,
        lost: None,
        lost_input: None,
        read: inputs::read_ahead(jobs, args.args().to_vec(), args.instances, ended)
            .map_err(|error| Report::new(format!("cannot read inputs: {error}")))?,
        ready: VecDeque::new(),
    };
    let several = Several {
        args,
        engine: &engine,
        lines: &lines,
        programs: &programs,
        interrupt: &interrupt,
        expected,
        devices: devices.len() as u64,
        run: Mutex::new(run),
    };
    let summary = several.run(&devices);
    let mut run = several.into_run();
    // Not where the batch has ended itself.
    let interrupted = interrupt.is_pending() && !run.ended;
    let retried = match &summary {
        Ok(summary) => {
            run.tally.count(summary);
            match !run.failed.is_empty() && !interrupt.is_pending() {
                true => run.retry(&programs, &interrupt, &lines),
                false => Ok(()),
            }
        }
        Err(_) => Ok(()),
    };
    // Whatever has happened: what has ended is written.
    let written = run.outputs.finish();
    run.tally.finish();
    let shown = run.tally.profile(args, &profile::sources(&lines, &programs));
    let tells = !log::is_quiet() && args.report == ReportFormat::Text;
    if tells && summary.is_ok() {
        run.tally.print(interrupted, shown.as_ref());
    }
    summary?;
    retried?;
    if let Some(shown) = shown {
        // It is part of the summary.
        let table = args.profile.table || tells;
        let options = ProfileOptions {
            table,
            ..args.profile.clone()
        };
        crate::profile::show(&options, &shown.printed, shown.written(), profile_files)?;
    }
    if let Some(error) = run.lost.or(written.err()) {
        return Err(Report::new(format!("outputs cannot be written: {error}")).code(code::LOST));
    }
    if let Some(error) = run.lost_input {
        return Err(Report::new(format!("the inputs cannot be read to their end: {error}")));
    }
    Ok(ExitCode::from(match (interrupted, run.tally.failures()) {
        (true, _) => code::INTERRUPTED,
        (false, 0) => 0,
        (false, _) => 1,
    }))
}

/// What tells of the processes while they run.
fn watches(args: &BatchArgs, seen: &Seen) -> Outcome<Vec<Watch>> {
    let mut watches = Vec::new();
    if let Some(place) = &args.profile.metrics {
        watches.push(metrics::of_batch(place, args.module(), seen)?);
    }
    if args.profile.live {
        match live::of_batch(args.module().display().to_string(), seen) {
            Some(live) => watches.push(live),
            None => warn(live::IS_NOT_SHOWN),
        }
    }
    Ok(watches)
}

/// Whether outputs and a progress line would be written to the same terminal.
fn is_on_terminal(args: &BatchArgs) -> bool {
    args.directory().is_none() && args.out_file().is_none() && std::io::IsTerminal::is_terminal(&std::io::stdout())
}

/// The engine for the options.
fn engine_of(args: &BatchArgs) -> Outcome<Engine> {
    let strategy = engine::strategy(args.devices.engine);
    let mut config = engine::config(strategy, &args.tuning, *args.compile_time, cache::open()?);
    config.line_info(args.profile.line_info);
    Engine::new(&config).map_err(|error| report::library(&error, args.module()))
}

/// A module, with its own allocator and functions, and so much fuel for each process.
fn load_module(engine: &Engine, path: &Path, fuel: Option<u64>) -> Outcome<LineSource> {
    load::load_bytes(engine, path, load::read(path)?, &load::as_process(fuel))
}

/// A batch without inputs, as the options say.
fn batch_of<'b>(
    args: &BatchArgs,
    engine: &'b Engine,
    module: &'b Module,
    programs: &'b [programs::Named],
    interrupt: &InterruptHandle,
) -> Outcome<Batch<'b>> {
    let mut batch = Batch::new(engine, module)
        .name(wasi_options::program_name(&args.environment, args.module()))
        .call_depth(args.max_call_depth)
        .interrupt_by(interrupt);
    for program in programs {
        batch = batch.program(&program.name, &program.lines.module);
    }
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
        None => {
            let report = report::library(error, args.module());
            match error {
                gpu_run::Error::UnknownExport { name, .. } if name == "_start" => {
                    report.help("processes are those of programs for WASI: build it for wasm32-wasip1")
                }
                _ => report,
            }
        }
    }
}

/// A batch on each of some devices, with inputs and outputs in common.
struct Several<'s> {
    args: &'s BatchArgs,
    engine: &'s Engine,
    lines: &'s LineSource,
    programs: &'s [programs::Named],
    interrupt: &'s InterruptHandle,
    /// Inputs that will come, if that is known.
    expected: Option<u64>,
    devices: u64,
    run: Mutex<Run<'s>>,
}

impl<'s> Several<'s> {
    fn lock(&self) -> MutexGuard<'_, Run<'s>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_run(self) -> Run<'s> {
        self.run.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the user how the program is run.
    fn tell(&self, choice: &Choice) {
        engine::tell_batch(choice);
        self.args.profile.warn_of(choice);
    }

    /// Runs the batch on these devices, and returns what they counted together. Where one cannot, the others end too.
    fn run(&self, devices: &[DeviceArgs]) -> Outcome<BatchCounts> {
        let [first, others @ ..] = devices else {
            return Ok(BatchCounts::default());
        };
        if others.is_empty() {
            return self.run_one(0, devices::open(first)?, |choice| self.tell(choice));
        }
        // Others begin once the first has its code: they find it in the cache, where their GPUs are of its kind. `ready` is
        // dropped then, or when the first one fails, and `recv` returns.
        let (ready, is_ready) = channel::<()>();
        let is_ready = Mutex::new(is_ready);
        let tell = move |choice: &Choice| {
            self.tell(choice);
            drop(ready);
        };
        // Where one cannot go on, the others end.
        let or_end = |counts: Outcome<BatchCounts>| counts.inspect_err(|_| self.interrupt.interrupt());
        std::thread::scope(|scope| {
            let run = move || or_end(devices::open(first).and_then(|device| self.run_one(0, device, tell)));
            let mut threads = vec![scope.spawn(run)];
            for (number, device) in (1..).zip(others) {
                let is_ready = &is_ready;
                let run = move |device| {
                    _ = is_ready.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    self.run_one(number, device, |_| {})
                };
                threads.push(scope.spawn(move || or_end(devices::open(device).and_then(run))));
            }
            let counts = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            self.together(counts.collect())
        })
    }

    /// What devices counted together, or why one could not go on. That the others were then interrupted is no reason.
    fn together(&self, counts: Vec<Outcome<BatchCounts>>) -> Outcome<BatchCounts> {
        let (mut all, mut interrupted) = (None::<BatchCounts>, None);
        for one in counts {
            match one {
                Ok(one) => all = Some(all.map_or(one, |all| all.beside(&one))),
                Err(report) if report.code == code::INTERRUPTED => interrupted = Some(report),
                Err(report) => return Err(report),
            }
        }
        match interrupted {
            // The batch has ended itself, or there is nothing to tell of it.
            Some(report) if !self.lock().ended && all.is_none() => Err(report),
            _ => Ok(all.unwrap_or_default()),
        }
    }

    /// Runs the batch on the device of this number.
    fn run_one(&self, number: u64, device: Box<dyn Device>, tell: impl FnOnce(&Choice)) -> Outcome<BatchCounts> {
        let args = self.args;
        let retries = args.retry.is_some() && device.target().is_some();
        let mut batch = batch_of(args, self.engine, &self.lines.module, self.programs, self.interrupt)?;
        if let Some(expected) = self.expected {
            batch = batch.expected(expected.div_ceil(self.devices));
        }
        if self.devices > 1 {
            batch = batch.shares_inputs();
        }
        self.lock().tally.runs_on(device.name());
        let mut begun = 0;
        let source = |waits| {
            // Others need the lock meanwhile.
            let input = self.lock().next_input((number, begun), waits && self.devices == 1);
            if waits && self.devices > 1 && input.is_pending() {
                std::thread::sleep(WAIT / 4);
            }
            begun += u64::from(matches!(input, Poll::Ready(Some(_))));
            input
        };
        let done = |result: BatchResult| {
            let mut run = self.lock();
            let flow = run.take((number, result.number), result, self.lines, retries);
            if flow.is_break() && self.devices > 1 {
                run.ended = true;
                self.interrupt.interrupt();
            }
            flow
        };
        let batch = batch.device(device).source(source).on_choice(tell);
        let batch = profile::profiled(batch, args, |told| self.lock().tally.take_profile(told));
        batch.run(done).map_err(|error| failed(args, &error))
    }
}

/// The number of a device, and that of a process of its batch.
type Place = (u64, u64);

/// A batch under way.
struct Run<'r> {
    args: &'r BatchArgs,
    tally: Tally,
    /// Instances in all, if inputs are that.
    count: Option<u64>,
    /// Processes that were begun and have not ended: which job it is of all.
    started: HashMap<Place, (u64, Job)>,
    outputs: Outputs,
    /// Those that are to be run again.
    failed: Vec<(u64, Job)>,
    /// The batch has ended itself, on all devices.
    ended: bool,
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
    /// The input of the process that comes next at a place, for which it may wait a while. What cannot be read is told of,
    /// and left out.
    fn next_input(&mut self, place: Place, waits: bool) -> Poll<Option<BatchInput>> {
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
                    self.started.insert(place, (at, job));
                    self.tally.begun();
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
    fn take(&mut self, place: Place, mut result: BatchResult, lines: &LineSource, retries: bool) -> ControlFlow<()> {
        let Some((at, job)) = self.started.remove(&place) else {
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
        let exit_code = self.tally.ended(self.args, &job.name, &mut result, lines);
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
    fn retry(&mut self, programs: &[programs::Named], interrupt: &InterruptHandle, lines: &LineSource) -> Outcome<()> {
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
                    self.started.insert((0, given.len() as u64), (at, job));
                    given.push(input);
                }
                // It was there before.
                Err(error) => self.tally.unreadable(args, &job.name, &error),
            }
        }
        self.tally.retried(given.len() as u64);
        let batch = batch_of(args, &engine, &lines.module, programs, interrupt)?.inputs(given);
        let mut told = None;
        let batch = profile::profiled(batch, args, |more| told = Some(more));
        let summary = batch.run(|result| self.take((0, result.number), result, lines, false));
        if let Some(told) = told {
            self.tally.take_profile(told);
        }
        summary.map(drop).map_err(|error| failed(args, &error))
    }
}
