//! Batches: one program, run once for each of many inputs, each time as a process of its own.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use gpu_run_vm::{
    BatchCounts, BatchOptions, BatchProgram, BatchRefused, Counted, Counts, Device, Folder, GivenFiles, Input,
    NextInput, ProcessInput, ProcessOutcome, Samples, Services, WasiBuilder,
};

use super::compile::Choice;
use super::engine::Engine;
use super::error::{Error, Result};
use super::instance::Instance;
use super::linker::Linker;
use super::module::Module;
use super::outcome::End;
use super::store::{InterruptHandle, Store, StoreLimits, Usage};
use super::wasi::WasiCtxBuilder;

/// The export that a program for WASI begins with.
const START: &str = "_start";

/// Bytes that a process may add to the files that it is given.
const SCRATCH: u64 = 1 << 20;

/// What one process of a batch is given.
#[derive(Clone, Debug, Default)]
pub struct BatchInput(ProcessInput);

impl BatchInput {
    /// A process with no argument but the program's name, and an empty standard input.
    pub fn new() -> BatchInput {
        BatchInput::default()
    }

    /// Adds an argument after the program's name.
    pub fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.0.args.push(arg.as_ref().to_vec());
        self
    }

    /// Adds a variable to the environment.
    pub fn env(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.0.variables.push(variable(name, value));
        self
    }

    /// Adds files of its own. They are in the directory `/`, where its relative paths lead too. It may change them and add a
    /// MiB, which is gone with it. They hide a directory `/` or `.` of [`Batch::preopened_dir`].
    pub fn files(mut self, files: GivenFiles) -> Self {
        self.0.files = files;
        self
    }

    /// Bytes of its standard input and files, about.
    pub fn bytes(&self) -> usize {
        self.0.stdin.len() + self.0.files.bytes() as usize
    }

    /// Sets the standard input.
    pub fn stdin(mut self, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.0.stdin = bytes.into();
        self
    }
}

/// What came of one process.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchResult {
    /// The number of its input, from 0.
    pub number: u64,
    /// How it ended.
    pub end: End,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// From its begin to its end.
    pub time: Duration,
    /// Bytes that its memory had at the end.
    pub memory: u64,
    /// Whether its memory could not grow for want of room; see [`Batch::memory`].
    pub starved: bool,
    /// Where its time went, if it is one of the slowest so far; see [`Batch::take_samples`]. Of what a process has started
    /// samples are its own.
    pub samples: Option<Samples>,
}

impl BatchResult {
    /// Whether it ended well: it returned, or exited with code 0.
    pub fn is_success(&self) -> bool {
        matches!(self.end, End::Returned | End::Exited(0))
    }
}

/// A directory of the host that processes have. It is opened once for all of them.
struct Given {
    folder: Folder,
    guest: String,
    read_only: bool,
}

/// What is told how a program is run: see [`Batch::on_choice`].
type Tell<'b> = Box<dyn FnOnce(&Choice) + 'b>;

/// What takes samples: see [`Batch::take_samples`].
struct Sampled<'b> {
    period: Duration,
    slowest: usize,
    told: Box<dyn FnOnce(Samples) + 'b>,
}

/// What takes counts: see [`Batch::count_blocks`].
type Counting<'b> = (Counted, Box<dyn FnOnce(Vec<Counts>) + 'b>);

/// A source of inputs: see [`Batch::source`].
type Source<'b> = Box<dyn FnMut(bool) -> Poll<Option<BatchInput>> + 'b>;

/// A program that is run once for each of many inputs, each time as a process with a memory of its own. They run at the
/// same time, on all lanes of the device.
///
/// The module is to be translated without rewriting, as processes use the program's own allocator:
///
/// ```
/// use std::ops::ControlFlow;
///
/// use gpu_run::{Batch, BatchInput, Config, DeviceKind, Engine, Module, ModuleOptions, assemble};
///
/// let engine = Engine::new(Config::new().device(DeviceKind::Cpu))?;
/// let wasm = assemble(br#"(module (memory (export "memory") 1) (func (export "_start")))"#, None)?;
/// let options = ModuleOptions { rewrite: None, ..ModuleOptions::full() };
/// let module = Module::from_binary(&engine, &wasm, &options)?;
/// let inputs = (0..100).map(|i| BatchInput::new().arg(i.to_string()));
/// let summary = Batch::new(&engine, &module).inputs(inputs).run(|result| {
///     assert!(result.is_success());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(summary.processes, 100);
/// # Ok::<(), gpu_run::Error>(())
/// ```
pub struct Batch<'b> {
    engine: &'b Engine,
    module: &'b Module,
    name: Vec<u8>,
    programs: Vec<(String, &'b Module)>,
    inputs: Box<dyn Iterator<Item = BatchInput> + 'b>,
    source: Option<Source<'b>>,
    expected: Option<u64>,
    shares_inputs: bool,
    variables: Vec<Vec<u8>>,
    folders: Vec<Given>,
    jobs: Option<u32>,
    memory: Option<u64>,
    process_timeout: Option<Duration>,
    seed: Option<u64>,
    snapshot: Option<String>,
    interrupt: InterruptHandle,
    device: Option<Box<dyn Device>>,
    on_choice: Option<Tell<'b>>,
    call_depth: Option<u32>,
    sampled: Option<Sampled<'b>>,
    counting: Option<Counting<'b>>,
}

impl<'b> Batch<'b> {
    /// A batch without inputs.
    pub fn new(engine: &'b Engine, module: &'b Module) -> Batch<'b> {
        Batch {
            engine,
            module,
            name: b"program".to_vec(),
            programs: Vec::new(),
            inputs: Box::new(std::iter::empty()),
            source: None,
            expected: None,
            shares_inputs: false,
            variables: Vec::new(),
            folders: Vec::new(),
            jobs: None,
            memory: None,
            process_timeout: None,
            seed: None,
            snapshot: None,
            interrupt: InterruptHandle::new(),
            device: None,
            on_choice: None,
            call_depth: None,
            sampled: None,
            counting: None,
        }
    }

    /// Sets the program's name as processes see it, their first argument.
    pub fn name(mut self, name: impl AsRef<[u8]>) -> Self {
        self.name = name.as_ref().to_vec();
        self
    }

    /// Adds a program that processes may start, by this name. They do so by `gpu_std::process::Command`. Where there are such
    /// programs, processes are interpreted.
    pub fn program(mut self, name: impl Into<String>, module: &'b Module) -> Self {
        self.programs.push((name.into(), module));
        self
    }

    /// Adds a process.
    pub fn input(mut self, input: BatchInput) -> Self {
        self.inputs = Box::new(self.inputs.chain(std::iter::once(input)));
        self
    }

    /// Adds processes. The iterator is asked as the batch goes on, for many at a time.
    pub fn inputs(mut self, inputs: impl IntoIterator<Item = BatchInput> + 'b) -> Self {
        self.inputs = Box::new(self.inputs.chain(inputs));
        self
    }

    /// Sets a source of inputs that come in their own time, after those that were added. It is passed whether it may wait for
    /// one, for some milliseconds, and returns the next one, that there is none yet, or that there are no more.
    pub fn source(mut self, source: impl FnMut(bool) -> Poll<Option<BatchInput>> + 'b) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Says how many inputs will come, about: the device's memory is then made ready for so many while they are read. Left alone,
    /// it is what the iterators of inputs say, and with a source what has come before the first process begins.
    pub fn expected(mut self, inputs: u64) -> Self {
        self.expected = Some(inputs);
        self
    }

    /// Says that batches on other devices take inputs from the same source: so none takes more of them than keep its device
    /// busy, and one on a slower device takes fewer.
    pub fn shares_inputs(mut self) -> Self {
        self.shares_inputs = true;
        self
    }

    /// Adds a variable to the environment of all processes that do not have one of that name themselves.
    pub fn env(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.variables.push(variable(name, value));
        self
    }

    /// Opens a directory of the host to all processes, with all below it. They know it by the name `guest`.
    ///
    /// # Errors
    ///
    /// The directory cannot be opened.
    pub fn preopened_dir(mut self, host: impl AsRef<Path>, guest: &str, read_only: bool) -> Result<Self> {
        let folder = Folder::open(host.as_ref()).map_err(|source| Error::File {
            path: host.as_ref().display().to_string(),
            source,
        })?;
        self.folders.push(Given {
            folder,
            guest: guest.to_owned(),
            read_only,
        });
        Ok(self)
    }

    /// Sets how many processes run at the same time at most. Left alone, as many as the device has lanes and memory for.
    pub fn jobs(mut self, jobs: u32) -> Self {
        self.jobs = Some(jobs);
        self
    }

    /// Sets how many bytes of memory a process may have. Left alone, that is little at first, and a process for which it
    /// was too little runs once more with more.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sets how long a process may take.
    pub fn process_timeout(mut self, timeout: Duration) -> Self {
        self.process_timeout = Some(timeout);
        self
    }

    /// Makes the random bytes of each process the same in each run, and the same for all.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Calls an export once, before the first process: what it leaves in memory, globals and tables is what all processes
    /// begin with. It finds an empty standard input and no arguments, and what it writes is dropped.
    pub fn snapshot_at(mut self, export: impl Into<String>) -> Self {
        self.snapshot = Some(export.into());
        self
    }

    /// Sets how many calls may be open at once.
    pub fn call_depth(mut self, calls: u32) -> Self {
        self.call_depth = Some(calls);
        self
    }

    /// Sets what ends the batch: processes under way are then stopped.
    pub fn interrupt_by(mut self, handle: &InterruptHandle) -> Self {
        self.interrupt = handle.clone();
        self
    }

    /// Sets the device, which is open already, in place of the engine's.
    pub fn device(mut self, device: Box<dyn Device>) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets what is told how the program is run, before the first process.
    pub fn on_choice(mut self, tell: impl FnOnce(&Choice) + 'b) -> Self {
        self.on_choice = Some(Box::new(tell));
        self
    }

    /// Takes a sample of what each process does about once in `period` of its time. `told` is passed all of them when the batch
    /// has ended; a process has its own in [`BatchResult::samples`] if no more than `slowest` before it took longer. The
    /// instances of samples are those of the batch's program, 0, and of the programs that processes may start, in their order.
    pub fn take_samples(mut self, period: Duration, slowest: usize, told: impl FnOnce(Samples) + 'b) -> Self {
        let told = Box::new(told);
        self.sampled = Some(Sampled { period, slowest, told });
        self
    }

    /// Counts how often each basic block runs. `told` is passed the counts of all processes together when the batch has ended:
    /// those of the batch's program, and those of the programs that processes may start, in their order.
    pub fn count_blocks(mut self, what: Counted, told: impl FnOnce(Vec<Counts>) + 'b) -> Self {
        self.counting = Some((what, Box::new(told)));
        self
    }

    /// Runs the batch. `done` is told of each process when it has ended, in whatever order they do, and may end the batch.
    ///
    /// # Errors
    ///
    /// The module cannot be a batch, or its start function or snapshot did not return; those of the device. That a process
    /// fails is no error.
    pub fn run(self, mut done: impl FnMut(BatchResult) -> ControlFlow<()>) -> Result<BatchCounts> {
        let limits = StoreLimits {
            call_depth: self.call_depth.unwrap_or(StoreLimits::default().call_depth),
            ..StoreLimits::default()
        };
        let mut store = match self.device {
            Some(device) => Store::with_device(self.engine, (), limits, device)?,
            None => Store::with_limits(self.engine, (), limits)?,
        };
        // What runs before the processes.
        store.on_event(|_| {});
        if let Some(sampled) = &self.sampled {
            store.take_samples(sampled.period);
        }
        if let Some((what, _)) = &self.counting {
            store.count_blocks(*what);
        }
        store.interrupt_by(&self.interrupt);
        let mut linker = Linker::new(self.engine);
        linker.wasi(WasiCtxBuilder::new().build());
        let usage = Usage {
            exports: Some(vec![START.to_owned()]),
            threads: None,
            processes: true,
            families: !self.programs.is_empty(),
        };
        let linked = linker.instantiate_pre(&mut store, self.module, &usage)?;
        if let Some(tell) = self.on_choice {
            tell(linked.choice());
        }
        let instance = linked.instantiate()?;
        if let Some(export) = &self.snapshot {
            let func = instance.get_func(&store, export).ok_or_else(|| Error::UnknownExport {
                what: "function",
                name: export.clone(),
            })?;
            func.run(&mut store, 1, &[])?.returned()?;
        }
        let start_of = |store: &Store<()>, instance: &Instance| {
            let start = instance.get_func(store, START).ok_or_else(|| Error::UnknownExport {
                what: "function",
                name: START.to_owned(),
            })?;
            start.0.in_store(store.id)
        };
        let func = start_of(&store, &instance)?;
        let (mut programs, mut instances) = (Vec::new(), vec![instance]);
        for (name, module) in self.programs {
            let instance = linker.instantiate_pre(&mut store, module, &usage)?.instantiate()?;
            let func = start_of(&store, &instance)?;
            programs.push(BatchProgram { name, func });
            instances.push(instance);
        }
        let folders = self.folders;
        let make_services = move |_, stdin: &[u8], files: &GivenFiles| {
            let wasi = WasiBuilder::new().stdin(Input::Bytes(stdin.to_vec()));
            let add =
                |wasi: WasiBuilder, given: &Given| wasi.folder(&given.folder, given.guest.clone(), given.read_only);
            let mut wasi = folders.iter().fold(wasi, add);
            // Last: of directories with the same name wasi-libc takes the last one.
            if !files.is_empty() {
                wasi = wasi.files("/", files, SCRATCH);
            }
            Arc::new(wasi.build()) as Arc<dyn Services>
        };
        let added = || self.inputs.size_hint().1.filter(|_| self.source.is_none());
        let expected = self.expected.or_else(|| added().map(|most| most as u64));
        let options = BatchOptions {
            programs,
            expected,
            shares_inputs: self.shares_inputs,
            jobs: self.jobs,
            memory: self.memory,
            process_timeout: self.process_timeout,
            interrupt: Some(self.interrupt.flag()),
            slowest: self.sampled.as_ref().map_or(0, |sampled| sampled.slowest),
            seed: self.seed,
            services: Arc::new(make_services),
        };
        let (name, variables, mut inputs, mut source) = (self.name, self.variables, self.inputs, self.source);
        let whole = |BatchInput(input): BatchInput| {
            let own: Vec<&[u8]> = input.variables.iter().map(|variable| name_of(variable)).collect();
            let others = variables.iter().filter(|variable| !own.contains(&name_of(variable)));
            NextInput::Ready(ProcessInput {
                args: std::iter::once(name.clone()).chain(input.args).collect(),
                variables: others.chain(&input.variables).cloned().collect(),
                stdin: input.stdin,
                files: input.files,
            })
        };
        let mut next = |waits: bool| match inputs.next() {
            Some(input) => whole(input),
            None => match source.as_mut().map_or(Poll::Ready(None), |source| source(waits)) {
                Poll::Ready(Some(input)) => whole(input),
                Poll::Ready(None) => NextInput::Over,
                Poll::Pending => NextInput::Pending,
            },
        };
        let counts = store
            .vm
            .run_batch(func, &options, &mut next, &mut |outcome| done(outcome.into()))?;
        if let Some(sampled) = self.sampled {
            (sampled.told)(store.samples()?);
        }
        if let Some((_, told)) = self.counting {
            let counts = instances.iter().map(|instance| instance.counts(&mut store));
            told(counts.collect::<Result<_>>()?);
        }
        Ok(counts)
    }

    /// Why a module cannot be run as a batch, if that is an error's reason.
    pub fn refused(error: &Error) -> Option<&BatchRefused> {
        match error {
            Error::Store(error) => match &**error {
                gpu_run_vm::StoreError::Batch(refused) => Some(refused),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An entry of the environment.
fn variable(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Vec<u8> {
    [name.as_ref(), b"=", value.as_ref()].concat()
}

/// The name of a variable.
fn name_of(variable: &[u8]) -> &[u8] {
    variable.split(|byte| *byte == b'=').next().unwrap_or_default()
}

impl From<ProcessOutcome> for BatchResult {
    fn from(outcome: ProcessOutcome) -> BatchResult {
        BatchResult {
            number: outcome.number,
            end: outcome.end.into(),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            time: outcome.time,
            memory: outcome.memory,
            starved: outcome.starved,
            samples: outcome.samples,
        }
    }
}
