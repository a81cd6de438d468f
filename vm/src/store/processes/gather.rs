//! What the host does during a round of a batch: it brings inputs, takes what processes write and how they end, and stops
//! those whose time is over.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::mem::offset_of;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::run::{Host, ProcessSink, pause};
use super::super::samples::Stack;
use super::super::{End, RunOptions, Store, StoreError, Stream};
use super::intake::{Held, InputMemory, Intake, ROOM};
use super::profile::{Longest, Watched, stack_of};
use super::services::ProcessServices;
use super::slots::Slots;
use super::{BatchCounts, BatchOptions, GATHERED, Next, ProcessOutcome, Queue, TAKEN_AT_ONCE, Waiting};
use crate::compiled::Entry;
use crate::device::DeviceResult;
use crate::layout::{self, Batch, Control, Launch, ProcessEnd, ProcessSample, ProcessSlot};

/// Between two looks at the clock of each process, where these are short of time.
const LOOK_AFTER: Duration = Duration::from_millis(5);
/// Processes that wait for a slot, for each that there is, before the round ends so that the next one has more slots.
const MOST_WAITING: u32 = 4;
/// Bytes of files that processes are given at a time.
const MOST_GIVEN: u64 = 256 << 20;

/// What a round is run with.
pub(super) struct Round<'r> {
    pub(super) entry: Option<Entry>,
    pub(super) inputs: &'r InputMemory,
    pub(super) slots: &'r Slots,
    /// Processes that it will have, as far as is known.
    pub(super) coming: u64,
    /// For a process that has had too little memory there is no more.
    pub(super) may_starve: bool,
    pub(super) options: &'r BatchOptions,
    pub(super) longest: &'r mut Longest,
}

/// A process of the round that has not ended.
struct Running {
    process: u32,
    waiting: Waiting,
    held: Held,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    stacks: Stacks,
}

/// Where a process was, and for how many nanoseconds.
pub(super) type Stacks = BTreeMap<Stack, u64>;

/// What has come of a round so far.
#[derive(Default)]
pub(super) struct Book {
    /// By number modulo [`ROOM`].
    running: Vec<Option<Running>>,
    /// Bytes of the files that they are given.
    given: u64,
    /// Those that have ended and are still to be told of.
    ended: VecDeque<(u32, ProcessEnd)>,
    /// The same of processes that others have started, with the number of the one that the host has.
    children: Vec<(u32, ProcessEnd)>,
}

impl Book {
    fn begin(&mut self, process: u32, running: Running) {
        self.given += running.waiting.input.files.bytes();
        let place = (process % ROOM) as usize;
        if place >= self.running.len() {
            self.running.resize_with(place + 1, || None);
        }
        self.running[place] = Some(running);
    }

    fn place(&mut self, process: u32) -> Option<&mut Option<Running>> {
        self.running.get_mut((process % ROOM) as usize)
    }

    /// A process that has not ended was there for so many nanoseconds.
    pub(super) fn sampled(&mut self, process: u32, stack: Stack, time: u64) {
        if let Some(Some(running)) = self.place(process)
            && running.process == process
        {
            *running.stacks.entry(stack).or_default() += time;
        }
    }

    /// Whether a process has begun, or may, and has not ended.
    pub(super) fn runs(&mut self, process: u32) -> bool {
        let running = self.place(process).and_then(|place| place.as_ref());
        running.is_some_and(|running| running.process == process)
    }

    /// Takes a process that has ended.
    fn end(&mut self, process: u32) -> Option<Running> {
        let running = self.place(process)?.take()?;
        self.given -= running.waiting.input.files.bytes();
        Some(running)
    }
}

struct Writes<'b> {
    book: &'b RefCell<Book>,
    /// Nanoseconds for which a sample stands.
    period: u64,
}

impl ProcessSink for Writes<'_> {
    fn text(&mut self, process: u32, stream: Stream, text: [&[u8]; 2]) {
        let mut book = self.book.borrow_mut();
        let Some(Some(running)) = book.place(process) else {
            return;
        };
        let to = match stream {
            Stream::Stdout => &mut running.stdout,
            Stream::Stderr => &mut running.stderr,
        };
        text.iter().for_each(|part| to.extend_from_slice(part));
    }

    fn sampled(&mut self, process: u32, sample: ProcessSample) {
        let time = sample.count * self.period;
        self.book.borrow_mut().sampled(process, stack_of(&sample), time);
    }

    fn ended(&mut self, process: u32, end: ProcessEnd) {
        let mut book = self.book.borrow_mut();
        match end.child {
            0 => book.ended.push_back((process, end)),
            _ => book.children.push((process, end)),
        }
    }
}

/// A round under way.
struct Attended<'r> {
    entry: Option<Entry>,
    slots: &'r Slots,
    options: &'r BatchOptions,
    may_starve: bool,
    intake: Intake<'r>,
    book: &'r RefCell<Book>,
    services: Arc<ProcessServices>,
    /// Looks where processes are, of compiled code of which samples are taken.
    watched: Option<Watched>,
    longest: &'r mut Longest,
    state: State,
    /// Processes that were added and have not ended, and how many of them there may be.
    left: u32,
    most: u32,
    /// Whether inputs are taken, and since when there was none to take.
    open: bool,
    since: Option<Instant>,
    /// When the kernel began.
    started: Option<Instant>,
}

/// What came of looking for more inputs.
enum Taken {
    /// Some were added.
    Some,
    /// There are none now.
    Nothing,
    /// There are some, but no room for them.
    NoRoom,
    /// This round takes no more.
    Over,
}

impl Store {
    /// Runs processes of the queue to their ends, until it has none for a while. Returns whether the batch is to end. Those that
    /// are to run again are added to the queue.
    pub(super) fn run_round(
        &mut self,
        round: Round<'_>,
        queue: &mut Queue<'_>,
        counts: &mut BatchCounts,
        done: &mut dyn FnMut(ProcessOutcome) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let Round {
            entry,
            inputs,
            slots,
            coming,
            may_starve,
            options,
            longest,
        } = round;
        let begin = Instant::now();
        let batch = Batch {
            inputs: inputs.records(),
            input_room: ROOM,
            ..slots.batch
        };
        self.begin_model(slots, options)?;
        let ring = self.new_ring();
        // SAFETY: the store's records; no kernel runs.
        unsafe {
            self.device.write(slots.record, bytemuck::bytes_of(&batch))?;
            self.device.write(self.run.ring, bytemuck::bytes_of(&ring))?;
        }
        let services = Arc::new(ProcessServices::new(options.services.clone()));
        let serving = self.serve_batch(services.clone(), slots.count)?;
        let book = RefCell::new(Book::default());
        let mut writes = Writes {
            book: &book,
            period: self.sampling.period().as_nanos() as u64,
        };
        let mut sink = |_, _, _: &[u8]| {};
        let mut host = Host::new(&self.run, &RunOptions::default(), slots.count, &mut sink);
        host.processes = Some(&mut writes);
        // Where more come than there are slots, some wait for the next slot that is free.
        let ahead = match coming > slots.count.into() {
            true => slots.count / 8 + TAKEN_AT_ONCE as u32,
            false => 0,
        };
        let mut attended = Attended {
            entry,
            slots,
            options,
            may_starve,
            intake: Intake::new(inputs),
            book: &book,
            services,
            watched: self.observer(slots.plan.lanes).map(Watched::new),
            longest,
            state: State {
                stopping: false,
                looked: Instant::now(),
                seen: Vec::new(),
            },
            left: 0,
            most: match options.shares_inputs {
                true => slots.count + ahead,
                false => u32::MAX,
            },
            open: true,
            since: None,
            started: None,
        };
        let ticker = self.ticker();
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.attend(&mut attended, &mut host, queue, counts, done)
        }));
        // Whatever the caller's functions do: lanes that wait for inputs end.
        if attended.started.is_some() {
            self.end_round(slots, &mut attended.state, || host.drain());
        }
        drop(ticker);
        drop(serving);
        tracing::debug!(
            processes = attended.intake.added(),
            slots = slots.count,
            started_ms = attended.started.map(|at| (at - begin).as_secs_f64() * 1e3),
            last_kernel_ms = self.device.kernel_time().map(|time| time.as_secs_f64() * 1e3),
            all_ms = begin.elapsed().as_secs_f64() * 1e3,
            "a round of a batch has ended"
        );
        result.unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(attended.state.stopping)
    }

    /// Does what a round needs of the host, until it is over.
    fn attend(
        &mut self,
        round: &mut Attended<'_>,
        host: &mut Host<'_>,
        queue: &mut Queue<'_>,
        counts: &mut BatchCounts,
        done: &mut dyn FnMut(ProcessOutcome) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut idle = 0u32;
        loop {
            let finished = match round.started {
                Some(_) => self.device.finished(),
                // Without a process.
                None => Ok(!round.open || round.state.stopping),
            };
            let mut took = host.drain();
            if !matches!(finished, Ok(false)) {
                while host.drain() {}
                took = true;
            }
            self.take_children(round);
            self.take_ends(round, queue, counts, done)?;
            match finished {
                // If there are more inputs, another round takes them.
                Ok(true) if round.left == 0 || round.state.stopping => return Ok(()),
                // Lanes have ended with their processes, and some wait in the queue.
                // SAFETY: as in `take_more`.
                Ok(true) => unsafe {
                    let lost = offset_of!(Batch, lost) as u64;
                    self.device.clear(round.slots.record + lost, 4)?;
                    self.start_round(round.entry, round.slots)?;
                },
                Ok(false) => {}
                Err(error) => return Err(error.into()),
            }
            self.stop_what_is_due(round)?;
            if let Some(watched) = &mut round.watched {
                let book = &mut round.book.borrow_mut();
                self.look_at_processes(watched, round.slots, book, round.options.slowest);
            }
            if round.open && !round.state.stopping {
                took |= self.take_more(round, queue)?;
            }
            idle = if took { 0 } else { idle + 1 };
            pause(idle);
        }
    }

    /// Takes the ends of processes that others have started.
    fn take_children(&mut self, round: &mut Attended<'_>) {
        let children = std::mem::take(&mut round.book.borrow_mut().children);
        for (process, end) in children {
            round.services.end_child(process, end.child);
            if let Some(text) = self.trap_of_child(&end, round.options)
                && let Some(Some(running)) = round.book.borrow_mut().place(process)
            {
                running.stderr.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Tells of processes that have ended, or has them run again.
    fn take_ends(
        &mut self,
        round: &mut Attended<'_>,
        queue: &mut Queue<'_>,
        counts: &mut BatchCounts,
        done: &mut dyn FnMut(ProcessOutcome) -> ControlFlow<()>,
    ) -> DeviceResult<()> {
        loop {
            let Some((process, end)) = round.book.borrow_mut().ended.pop_front() else {
                return Ok(());
            };
            round.services.end(process);
            round.left -= 1;
            let Some(mut running) = round.book.borrow_mut().end(process) else {
                continue;
            };
            round.intake.free(running.held);
            let stacks = std::mem::take(&mut running.stacks);
            let stopping = round.state.stopping;
            let (mut outcome, waiting) = self.outcome(running, &end, round.slots, round.options, stopping);
            // It was stopped in place of one before it in its slot.
            let early = (round.options.process_timeout).is_some_and(|limit| outcome.time < limit);
            let starves = outcome.starved && !round.may_starve;
            if matches!(outcome.end, End::TimedOut) && early && !stopping {
                queue.again.push_back(waiting);
                continue;
            }
            if starves && !stopping {
                counts.repeated += 1;
                queue.starved.push_back(waiting);
                continue;
            }
            if starves {
                // It would have run once more.
                outcome.end = End::Interrupted;
            }
            self.take_stacks(&mut outcome, stacks, round.longest, round.watched.is_some());
            counts.processes += u64::from(!matches!(outcome.end, End::Interrupted));
            if done(outcome).is_break() {
                self.stop_round(round.slots, &mut round.state)?;
            }
        }
    }

    /// Stops all processes if that is asked for, and those whose time is over.
    fn stop_what_is_due(&mut self, round: &mut Attended<'_>) -> DeviceResult<()> {
        let interrupt = round.options.interrupt.as_ref();
        let interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let state = &mut round.state;
        // Again and again: a process that begins clears what stops it.
        if interrupted && !state.stopping || state.stopping && state.looked.elapsed() > LOOK_AFTER {
            self.stop_round(round.slots, state)?;
        }
        match round.options.process_timeout {
            Some(limit) if !state.stopping => self.stop_late(round.slots, round.book, limit, state),
            _ => Ok(()),
        }
    }

    /// Brings more inputs, as far as there are some and there is room for them. Whether some were added.
    fn take_more(&mut self, round: &mut Attended<'_>, queue: &mut Queue<'_>) -> DeviceResult<bool> {
        let slots = round.slots;
        let before = round.intake.added();
        let taken = match round.left < round.most && round.book.borrow().given < MOST_GIVEN {
            true => self.take_inputs(&mut round.intake, slots, queue, round.book, &round.services)?,
            false => Taken::NoRoom,
        };
        let added = round.intake.added() - before;
        round.left += added;
        // Lanes of a warp that are compiled wait for each other's processes, and go on when it is known that none will come. So
        // they must know where there is none for a while; and where there is no room for so many as a warp takes, because then
        // none may run.
        let waits = match taken {
            Taken::Nothing => round.entry.is_some() || !queue.starved.is_empty(),
            Taken::NoRoom => round.entry.is_some() && round.left < slots.batch.warp_lanes,
            Taken::Some | Taken::Over => false,
        };
        let has_some = round.intake.added() > 0;
        if added > 0 || !waits || !has_some {
            round.since = None;
        }
        round.open = match taken {
            Taken::Over => false,
            _ if !waits || !has_some => true,
            _ => round.since.get_or_insert_with(Instant::now).elapsed() < GATHERED,
        };
        if round.left / MOST_WAITING > slots.count && !slots.is_all && round.options.jobs.is_none() {
            round.open = false;
        }
        if !round.open && has_some {
            round.intake.close(&mut *self.device, slots)?;
        } else if round.intake.has_many() || !matches!(taken, Taken::Some) {
            round.intake.bring(&mut *self.device, slots)?;
        }
        if round.started.is_none() && round.intake.brought() > 0 {
            round.started = Some(Instant::now());
            // SAFETY: the batch and all that it points to are the store's, and complete; the program was verified.
            unsafe { self.start_round(round.entry, slots)? };
        }
        Ok(added > 0)
    }

    /// Stops what runs still, as it does where a round has failed, and waits for the kernel's end. `drain` takes what lanes
    /// write, which may wait for that.
    fn end_round(&mut self, slots: &Slots, state: &mut State, mut drain: impl FnMut() -> bool) {
        let mut idle = 0;
        while let Ok(false) = self.device.finished() {
            if !state.stopping || state.looked.elapsed() > LOOK_AFTER {
                // If it fails, so does the next look.
                _ = self.stop_round(slots, state);
            }
            idle = if drain() { 0 } else { idle + 1 };
            pause(idle);
        }
    }

    /// Adds some inputs that are there.
    fn take_inputs(
        &mut self,
        intake: &mut Intake<'_>,
        slots: &Slots,
        queue: &mut Queue<'_>,
        book: &RefCell<Book>,
        services: &ProcessServices,
    ) -> DeviceResult<Taken> {
        let mut book = book.borrow_mut();
        for _ in 0..TAKEN_AT_ONCE {
            if book.given >= MOST_GIVEN {
                return Ok(Taken::NoRoom);
            }
            let process = intake.added();
            if matches!(book.place(process), Some(Some(_))) {
                return Ok(Taken::NoRoom);
            }
            let waiting = match queue.next(false) {
                Next::Ready(waiting) => waiting,
                Next::Pending => return Ok(Taken::Nothing),
                Next::Over => return Ok(Taken::Over),
            };
            if !intake.can_ever_take(&waiting.input) {
                queue.again.push_front(waiting);
                return Ok(Taken::Over);
            }
            let Some(held) = intake.add(&mut *self.device, slots, &waiting.input)? else {
                queue.again.push_front(waiting);
                return Ok(Taken::NoRoom);
            };
            services.begin(process, &waiting);
            let running = Running {
                process,
                waiting,
                held,
                stdout: Vec::new(),
                stderr: Vec::new(),
                stacks: Stacks::new(),
            };
            book.begin(process, running);
        }
        Ok(Taken::Some)
    }

    /// Starts the kernel of a round.
    ///
    /// # Safety
    ///
    /// As [`Device::start_processes`](crate::Device::start_processes).
    unsafe fn start_round(&mut self, entry: Option<Entry>, slots: &Slots) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match (entry, self.device.as_compiled()) {
                (Some(entry), Some(device)) => device.start_compiled(entry, slots.record, &[], slots.plan),
                _ => self.device.start_processes(slots.record, slots.plan),
            }
        }
    }

    /// Stops all processes, and begins no more.
    fn stop_round(&mut self, slots: &Slots, state: &mut State) -> DeviceResult<()> {
        state.stopping = true;
        state.looked = Instant::now();
        // SAFETY: words that lanes access by atomics.
        unsafe {
            self.device
                .set_words(slots.record + offset_of!(Batch, stop) as u64, 4, 1, 1)?;
            for at in stop_words(0, slots) {
                let stride = size_of::<ProcessSlot>() as u64;
                self.device
                    .set_words(at, stride, slots.count.into(), layout::STOP_ENDS)?;
            }
        }
        Ok(())
    }

    /// Stops processes that have run for longer than `limit`.
    fn stop_late(
        &mut self,
        slots: &Slots,
        book: &RefCell<Book>,
        limit: Duration,
        state: &mut State,
    ) -> DeviceResult<()> {
        if state.looked.elapsed() < LOOK_AFTER {
            return Ok(());
        }
        let now = Instant::now();
        state.looked = now;
        let mut current = vec![0u32; slots.count as usize];
        // SAFETY: as long as that; lanes store single words there.
        unsafe {
            self.device
                .read(slots.batch.current, bytemuck::cast_slice_mut(&mut current))?
        };
        state.seen.resize(current.len(), (0, now));
        for (slot, process) in (0..).zip(current) {
            let seen = &mut state.seen[slot as usize];
            if seen.0 != process {
                *seen = (process, now);
            }
            // The last one of a slot that has no other may have ended long ago.
            if process == 0 || now - seen.1 < limit || !book.borrow_mut().runs(process - 1) {
                continue;
            }
            // SAFETY: words that lanes access by atomics. If the process has ended meanwhile, the next one in the slot is
            // stopped; its time tells, and it runs again.
            unsafe {
                for at in stop_words(slot, slots) {
                    self.device.set_words(at, 4, 1, layout::STOP_ENDS)?;
                }
            }
        }
        Ok(())
    }

    /// What is told of a process that another has started, if it has trapped.
    fn trap_of_child(&mut self, end: &ProcessEnd, options: &BatchOptions) -> Option<String> {
        let End::Trapped(fault) = self.end_of(&end_record(end), None) else {
            return None;
        };
        let name = match end.program.checked_sub(1) {
            Some(other) => &options.programs[other as usize].name,
            None => "the program",
        };
        let place = fault.backtrace.places.first();
        let place = place.map_or_else(String::new, |place| format!(", in {}", place.function));
        Some(format!("gpu-run: {name} trapped: {}{place}\n", fault.kind.text()))
    }

    /// What came of a process, and with what it was begun.
    fn outcome(
        &mut self,
        running: Running,
        end: &ProcessEnd,
        slots: &Slots,
        options: &BatchOptions,
        stopping: bool,
    ) -> (ProcessOutcome, Waiting) {
        let time = Duration::from_nanos(end.time);
        // Of those that it has started the device has looked at that.
        let grew = !options.programs.is_empty() || end.memory < slots.most_memory;
        let starved = end.refused > 0 && grew;
        let in_time = options.process_timeout.is_none_or(|limit| time < limit);
        let stopped = (end.stopped != 0).then_some(match stopping && in_time {
            true => End::Interrupted,
            false => End::TimedOut,
        });
        let outcome = ProcessOutcome {
            number: running.waiting.number,
            end: self.end_of(&end_record(end), stopped),
            stdout: running.stdout,
            stderr: running.stderr,
            time,
            memory: end.memory,
            starved,
            samples: None,
        };
        (outcome, running.waiting)
    }
}

/// The record of an end as a run has it.
fn end_record(end: &ProcessEnd) -> layout::End {
    layout::End {
        kind: end.kind,
        value: end.value,
        pc: end.pc,
        depth: end.depth,
        frames: end.frames,
        backtrace: end.backtrace,
        ..bytemuck::Zeroable::zeroed()
    }
}

/// What the host knows of a round.
struct State {
    stopping: bool,
    /// When it last looked at how long processes have run.
    looked: Instant,
    /// By slot, the process that it had then, and since when.
    seen: Vec<(u32, Instant)>,
}

/// Where the words lie that stop a slot's process.
fn stop_words(slot: u32, slots: &Slots) -> [u64; 2] {
    let at = slots.batch.slots + u64::from(slot) * size_of::<ProcessSlot>() as u64;
    [
        at + (offset_of!(ProcessSlot, launch) + offset_of!(Launch, stop)) as u64,
        at + (offset_of!(ProcessSlot, control) + offset_of!(Control, stop)) as u64,
    ]
}
