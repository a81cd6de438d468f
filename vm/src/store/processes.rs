//! Batches: one program is run again and again, each time as a process of its own, from the same beginning and with other
//! arguments and another standard input. See `kernel/processes.h` for the device's half.
//!
//! A batch goes in rounds, mostly in one. In a round the device's lanes take one process after the other, while the host brings
//! their inputs. It ends when there has been no input for a while, or so that the next one has more memory for each process.
//! In the order in which to read them:
//!
//! - this file: what a batch takes and tells, and its rounds;
//! - `image`: with what all processes begin;
//! - `families`: the table of processes that start others;
//! - `slots`: the device's memory for those that run at the same time;
//! - `intake`: inputs on their way to the device;
//! - `gather`: what the host does during a round: it brings inputs, and takes output and ends;
//! - `profile`: samples, of which process each is;
//! - `services`: what processes ask of the host.

mod families;
mod gather;
mod image;
mod intake;
mod profile;
mod services;
mod slots;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use self::families::FAMILY;
use self::gather::Round;
use self::image::Image;
pub(super) use self::image::parts_at_most;
use self::intake::{InputMemory, input_bytes};
use self::profile::Longest;
use self::slots::Slots;
use super::{End, Store, StoreError, allocates};
use crate::layout;
use crate::services::Services;
use crate::stands::Samples;
use crate::wasi::GivenFiles;

/// Inputs, and bytes of them, that are read before the first process begins where nobody has said how many come.
const MOST_GATHERED: usize = 1 << 17;
/// The same where other devices take inputs too.
const MOST_SHARED: usize = 1024;
const MOST_GATHERED_BYTES: usize = 256 << 20;
/// Inputs that are taken at a time while a round is under way.
const TAKEN_AT_ONCE: usize = 64;
/// How long more inputs are waited for before a round begins with those that there are, or ends.
const GATHERED: Duration = Duration::from_millis(100);
/// Bytes of memory that a process gets at most where nothing else is said: what 32-bit addresses reach.
const MOST_MEMORY: u64 = 1 << 32;
/// How much more memory a process gets that had too little, each time.
const MEMORY_STEP: u64 = 8;

/// What one process of a batch is given.
#[derive(Clone, Debug, Default)]
pub struct ProcessInput {
    /// Its arguments; the first is the program's name. Without bytes that are 0.
    pub args: Vec<Vec<u8>>,
    /// The entries of its environment, `NAME=value` each. Without bytes that are 0.
    pub variables: Vec<Vec<u8>>,
    /// Its standard input.
    pub stdin: Arc<[u8]>,
    /// Files that it finds in a directory of its own.
    pub files: GivenFiles,
}

/// What came of one process.
#[derive(Clone, Debug)]
pub struct ProcessOutcome {
    /// Its number: that of its input, from 0.
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
    /// Whether its memory could not grow for want of [`BatchOptions::memory`].
    pub starved: bool,
    /// If samples are taken, and no more than [`BatchOptions::slowest`] before it took longer: its own.
    pub samples: Option<Samples>,
}

/// What the source of inputs has now.
#[derive(Clone, Debug)]
pub enum NextInput {
    /// The next one.
    Ready(ProcessInput),
    /// None yet.
    Pending,
    /// There are no more.
    Over,
}

/// Makes the services of a process, by its number and with its standard input and files.
pub type MakeServices = Arc<dyn Fn(u64, &[u8], &GivenFiles) -> Arc<dyn Services> + Send + Sync>;

/// A program that processes of a batch may start.
#[derive(Clone, Debug)]
pub struct BatchProgram {
    /// The name by which they do.
    pub name: String,
    /// The store's number of the function that it begins with. It is of an instance of its own.
    pub func: u32,
}

/// How a batch is run.
#[derive(Clone)]
pub struct BatchOptions {
    /// Programs that processes may start. Where there are some, processes are interpreted.
    pub programs: Vec<BatchProgram>,
    /// Inputs that will come, about, if that is known: the device's memory is made ready for so many while they are read.
    pub expected: Option<u64>,
    /// Whether other batches take inputs from the same source: no more are then taken than keep the device's lanes busy.
    pub shares_inputs: bool,
    /// Processes that run at the same time at most. Without it, as many as the device has lanes and memory for.
    pub jobs: Option<u32>,
    /// Bytes of memory that a process may have. Without it that is little at first, and a process for which it was too
    /// little runs once more with more. What it has done to files until then is done twice.
    pub memory: Option<u64>,
    /// Time that one process may take.
    pub process_timeout: Option<Duration>,
    /// Ends the batch when it becomes true. Processes that are under way are stopped, and those that wait do not begin.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Of how many processes samples are told by themselves, if some are taken: of those that took longest.
    pub slowest: usize,
    /// Makes the random bytes of each process the same each time, and the same for all. Without it they are the host's.
    pub seed: Option<u64>,
    /// What answers the requests of a process that the device does not.
    pub services: MakeServices,
}

/// Why a program cannot be run as a batch.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchRefused {
    /// There is another instance in the store, to which it is linked or might be.
    #[error("a batch is of one module, and the store has {0} instances")]
    Linked(usize),
    /// It has several memories, or imports one.
    #[error("the module has several memories or imports one; a process has one memory of its own")]
    Memories,
    /// It is built for threads.
    #[error("the module is built for threads, and a process of a batch has one thread")]
    Threads,
    /// It was translated with the device's heap in place of its own.
    #[error("the program was translated for the device's heap, which processes of a batch do not have")]
    Heap,
    /// The function that is to be called takes arguments or has results.
    #[error("a function that a batch calls has neither parameters nor results")]
    Signature,
    /// It has imports that are no functions.
    #[error("the module imports tables or globals, which processes cannot have for themselves")]
    Imports,
}

/// Whether a program may be run as a batch.
fn check(program: &Program) -> Result<(), BatchRefused> {
    let meta = &program.meta;
    if program.meta.is_threaded() || program.thread_start().is_some() {
        return Err(BatchRefused::Threads);
    }
    if meta.memories.len() > 1 || meta.memory_types().len() != meta.memories.len() {
        return Err(BatchRefused::Memories);
    }
    if meta.table_types().len() != meta.tables.len() || meta.global_types().len() != meta.globals.len() {
        return Err(BatchRefused::Imports);
    }
    match allocates(program) {
        true => Err(BatchRefused::Heap),
        false => Ok(()),
    }
}

/// What a program may change besides its memory and globals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Changes {
    tables: bool,
    segments: bool,
}

impl Changes {
    fn of(program: &Program) -> Changes {
        let mut changes = Changes::default();
        for (_, inst) in instructions(&program.code) {
            let Ok(inst) = inst else { continue };
            match inst.op {
                Op::TableSet | Op::TableGrow | Op::TableFill | Op::TableCopy | Op::TableInit => changes.tables = true,
                Op::DataDrop | Op::ElemDrop => changes.segments = true,
                _ => {}
            }
        }
        changes
    }
}

/// A process that has not run to its end.
pub(super) struct Waiting {
    number: u64,
    input: ProcessInput,
}

/// What the queue has now.
enum Next {
    Ready(Waiting),
    Pending,
    Over,
}

/// Where a batch is in its input.
struct Queue<'q> {
    next: &'q mut dyn FnMut(bool) -> NextInput,
    interrupt: Option<Arc<AtomicBool>>,
    /// Inputs that will come, as far as is known, and those that have come.
    expected: u64,
    numbers: u64,
    /// Inputs that are read before the first process begins, at most.
    most_gathered: usize,
    /// There is no more input.
    over: bool,
    /// Those that come first: they were read before, or are to be run again with the same memory.
    again: VecDeque<Waiting>,
    /// Those that are to be run again with more.
    starved: VecDeque<Waiting>,
}

impl Queue<'_> {
    /// The next process; `waits` says that one may be waited for, for a moment.
    fn next(&mut self, waits: bool) -> Next {
        match self.again.pop_front() {
            Some(waiting) => Next::Ready(waiting),
            None => self.next_new(waits),
        }
    }

    fn next_new(&mut self, waits: bool) -> Next {
        if self.over {
            return Next::Over;
        }
        match (self.next)(waits) {
            NextInput::Ready(input) => {
                self.numbers += 1;
                let number = self.numbers - 1;
                Next::Ready(Waiting { number, input })
            }
            NextInput::Pending => Next::Pending,
            NextInput::Over => {
                self.over = true;
                Next::Over
            }
        }
    }

    /// Reads the inputs that there are, and those that come soon.
    fn gather(&mut self) {
        let (mut since, mut bytes) = (None, 0);
        while self.again.len() < self.most_gathered && bytes < MOST_GATHERED_BYTES {
            match self.next_new(true) {
                Next::Ready(waiting) => {
                    bytes += input_bytes(&waiting.input) + waiting.input.files.bytes() as usize;
                    self.again.push_back(waiting);
                }
                Next::Over => return,
                Next::Pending => {
                    let interrupted = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
                    let waited = !self.again.is_empty() && since.get_or_insert_with(Instant::now).elapsed() > GATHERED;
                    if waited || self.interrupt.as_ref().is_some_and(interrupted) {
                        return;
                    }
                }
            }
        }
    }

    /// How many processes the next round has, as far as is known; 0 if there are none for it.
    fn coming(&mut self) -> u64 {
        let expected = self.expected.saturating_sub(self.numbers);
        if expected > 0 && !self.over {
            return expected + self.again.len() as u64;
        }
        self.gather();
        self.again.len() as u64
    }
}

impl Store {
    /// Whether these functions can be run as a batch: the first by processes that the host starts, the others by those that
    /// processes start. The store has an instance for each, and no other.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check_batch(&self, funcs: &[u32]) -> Result<(), BatchRefused> {
        if self.instance_infos.len() != funcs.len() {
            return Err(BatchRefused::Linked(self.instance_infos.len()));
        }
        funcs.iter().try_for_each(|func| self.check_program(*func))
    }

    fn check_program(&self, func: u32) -> Result<(), BatchRefused> {
        check(&self.instance_infos[self.instance_of(func)].program)?;
        let ty = self.func_type(func);
        match ty.params.is_empty() && ty.results.is_empty() {
            true => Ok(()),
            false => Err(BatchRefused::Signature),
        }
    }

    /// The number of the instance of a function.
    fn instance_of(&self, func: u32) -> usize {
        self.func_infos[func as usize].func.instance as usize
    }

    /// Runs function `func` of the store's one instance once for each input that `next` returns, each time as a process of
    /// its own. `next` is passed whether it may wait for one, for some milliseconds. All begin with what the instance's
    /// memory, globals and tables hold now, and change nothing of it; so do those of other programs that processes start, which
    /// have instances too. `done` is told of each when it has ended, in whatever
    /// order that is; it may end the batch. Compiled code runs if there is some.
    ///
    /// # Errors
    ///
    /// The device's, and [`StoreError::Batch`].
    pub fn run_batch(
        &mut self,
        func: u32,
        options: &BatchOptions,
        next: &mut dyn FnMut(bool) -> NextInput,
        done: &mut dyn FnMut(ProcessOutcome) -> ControlFlow<()>,
    ) -> Result<BatchCounts, StoreError> {
        let others = options.programs.iter().map(|program| program.func);
        let funcs: Vec<u32> = std::iter::once(func).chain(others).collect();
        self.check_batch(&funcs)?;
        let begin = Instant::now();
        // A lane of compiled code that a process leaves by an exit is lost to the others of its family.
        let entry = self.compiled_entry(func).filter(|_| options.programs.is_empty());
        if entry.is_some() {
            self.prepare_compiled()?;
        } else {
            self.device.prepare_interpreter()?;
        }
        let images: Vec<Image> = funcs
            .iter()
            .map(|func| self.take_image(*func))
            .collect::<Result<_, _>>()?;
        let mut counts = BatchCounts::default();
        let mut longest = Longest::new(options.slowest);
        let mut queue = Queue {
            next,
            interrupt: options.interrupt.clone(),
            // What comes to this batch nobody knows where there are others: its slots are those of a device in full use.
            expected: options
                .expected
                .unwrap_or(if options.shares_inputs { u64::MAX } else { 0 }),
            numbers: 0,
            most_gathered: if options.shares_inputs {
                MOST_SHARED
            } else {
                MOST_GATHERED
            },
            over: false,
            again: VecDeque::new(),
            starved: VecDeque::new(),
        };
        // Before the slots, which take what is free.
        let mut inputs = InputMemory::new(&mut *self.device)?;
        let all = images.iter().map(|image| image.most_memory).max().unwrap_or(0);
        let begins_with = images.iter().map(|image| image.memory_size).max().unwrap_or(0);
        let most = match options.memory {
            Some(_) => all,
            None => all.min(MOST_MEMORY),
        };
        let mut memory = match options.memory {
            Some(bytes) => bytes.clamp(begins_with, most.max(begins_with)),
            None => (funcs.iter().zip(&images))
                .map(|(func, image)| self.first_memory(*func, image.memory_size))
                .max()
                .unwrap_or(0)
                .min(most),
        };
        let (mut slots, mut is_most): (Option<Slots>, bool) = (None, false);
        loop {
            let mut coming = queue.coming();
            if coming == 0 {
                if queue.starved.is_empty() {
                    break;
                }
                self.release_slots(slots.take())?;
                let room = match options.programs.is_empty() {
                    true => self.room_for_one(),
                    // And for some that it starts.
                    false => self.room_for_one() / u64::from(FAMILY) / layout::PAGE * layout::PAGE,
                };
                let more = memory.saturating_mul(MEMORY_STEP).min(most).min(room);
                // What is no more than before is all that there is.
                is_most = more <= memory;
                memory = memory.max(more);
                queue.again.append(&mut queue.starved);
                coming = queue.again.len() as u64;
            }
            if let Some(first) = queue.again.front()
                && inputs.lacks(&first.input)
            {
                // Which take what is free.
                self.release_slots(slots.take())?;
                inputs.reserve(&mut *self.device, &first.input)?;
            }
            let wanted = u64::from(options.jobs.unwrap_or(u32::MAX)).min(coming).max(1) as u32;
            // A round of few after one of many has slots enough.
            if slots.as_ref().is_none_or(|slots| slots.count < wanted && !slots.is_all) {
                self.release_slots(slots.take())?;
                slots = Some(self.make_slots(entry, &images, memory, wanted, options)?);
            }
            let ready = slots.as_ref().expect("slots were made");
            counts.resident = counts.resident.max(ready.count);
            let round = Round {
                entry,
                inputs: &inputs,
                slots: ready,
                coming,
                // No more would help one for which all that there may be was too little.
                may_starve: options.memory.is_some() || memory >= most || is_most,
                options,
                longest: &mut longest,
            };
            if self.run_round(round, &mut queue, &mut counts, done)? {
                break;
            }
        }
        self.release_slots(slots)?;
        self.add_samples(longest);
        inputs.release(&mut *self.device);
        counts.time = begin.elapsed();
        counts.compiled = entry.is_some();
        Ok(counts)
    }

    /// Bytes that the memory of a process may have at most, which begins with this function.
    fn most_memory(&self, func: u32) -> u64 {
        let infos = &self.instance_infos[self.instance_of(func)].memories;
        let Some(info) = infos.first().map(|memory| &self.memory_infos[*memory as usize]) else {
            return 0;
        };
        let declared = info
            .ty
            .limits
            .max
            .map_or(u64::MAX, |max| max.saturating_mul(layout::PAGE));
        let addressable = if info.ty.wide { u64::MAX } else { 1 << 32 };
        declared.min(addressable)
    }

    /// Bytes that the memory of a process may have at first, where nothing is known of it.
    fn first_memory(&self, func: u32, size: u64) -> u64 {
        let grows = crate::ptx::may_grow(&self.instance_infos[self.instance_of(func)].program);
        match grows {
            true => size + (size / 2).clamp(16 * layout::PAGE, 256 * layout::PAGE),
            false => size,
        }
    }
}

/// What was counted of a batch.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct BatchCounts {
    /// Processes that ran to their end.
    pub processes: u64,
    /// Of those that ran at the same time, the most.
    pub resident: u32,
    /// Runs for which there was too little memory, and that were made again with more.
    pub repeated: u64,
    /// Whether compiled code ran, and not the interpreter.
    pub compiled: bool,
    /// From the first process's begin to the last one's end.
    pub time: Duration,
}

impl BatchCounts {
    /// The counts of two batches that ran at the same time.
    pub fn beside(&self, other: &BatchCounts) -> BatchCounts {
        BatchCounts {
            processes: self.processes + other.processes,
            resident: self.resident + other.resident,
            repeated: self.repeated + other.repeated,
            compiled: self.compiled && other.compiled,
            time: self.time.max(other.time),
        }
    }
}
