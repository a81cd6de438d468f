//! What the host does during a round of a batch: it takes what processes write and how they end, and stops those whose
//! time is over.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::run::{Host, pause};
use super::super::{End, RunOptions, Store, StoreError, Stream};
use super::image::place_inputs;
use super::services::ProcessServices;
use super::slots::Slots;
use super::{AT_ONCE, BatchCounts, BatchOptions, ProcessOutcome, Queue, Waiting};
use crate::compiled::Entry;
use crate::device::DeviceResult;
use crate::layout::{self, Batch, Control, Launch, ProcessEnd, ProcessSlot};

/// Between two looks at the clock of each process, where these are short of time.
const LOOK_AFTER: Duration = Duration::from_millis(5);

/// Processes that are run together.
pub(super) struct Round<'r> {
    pub(super) entry: Option<Entry>,
    pub(super) processes: Vec<Waiting>,
    pub(super) services: Arc<ProcessServices>,
    /// For a process that has had too little memory there is no more.
    pub(super) may_starve: bool,
    pub(super) options: &'r BatchOptions,
}

/// A process of the round.
#[derive(Default)]
struct Gathered {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// What has come of a round so far.
struct Book {
    processes: Vec<Gathered>,
    /// Those that have ended and are still to be told of.
    ended: VecDeque<(u32, ProcessEnd)>,
}

impl Store {
    /// Runs the processes of a round to their ends. Returns whether the batch is to end. Those that are to run again are
    /// added to the queue, of which the next round's are made ready meanwhile.
    pub(super) fn run_round(
        &mut self,
        round: Round<'_>,
        slots: &Slots,
        queue: &mut Queue<'_>,
        counts: &mut BatchCounts,
        done: &mut dyn FnMut(ProcessOutcome) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let Round {
            entry,
            processes,
            services,
            may_starve,
            options,
        } = round;
        let count = processes.len() as u32;
        let begin = Instant::now();
        let inputs = place_inputs(&mut *self.device, processes.iter().map(|process| &process.input))?;
        let batch = Batch {
            count,
            inputs,
            ..slots.batch
        };
        self.begin_model(slots, options)?;
        let ring = self.new_ring();
        // SAFETY: the store's records; no kernel runs.
        unsafe {
            self.device.write(slots.record, bytemuck::bytes_of(&batch))?;
            self.device.write(self.run.ring, bytemuck::bytes_of(&ring))?;
        }
        let serving = self.serve_batch(services.clone(), slots.count)?;
        let book = RefCell::new(Book {
            processes: (0..count).map(|_| Gathered::default()).collect(),
            ended: VecDeque::new(),
        });
        let mut sink = |stream: Stream, process: u32, text: &[u8]| {
            let mut book = book.borrow_mut();
            let Some(gathered) = book.processes.get_mut(process as usize) else {
                return;
            };
            match stream {
                Stream::Stdout => gathered.stdout.extend_from_slice(text),
                Stream::Stderr => gathered.stderr.extend_from_slice(text),
            }
        };
        let mut ended = |process: u32, end: ProcessEnd| book.borrow_mut().ended.push_back((process, end));
        let mut host = Host::new(&self.run, &RunOptions::default(), slots.count, &mut sink);
        host.process_ended = Some(&mut ended);
        let mut processes: Vec<Option<Waiting>> = processes.into_iter().map(Some).collect();
        let mut state = State {
            stopping: false,
            looked: Instant::now(),
            seen: Vec::new(),
        };
        let mut left = count;
        let mut failed = None;
        let ready = begin.elapsed();
        // SAFETY: the batch and all that it points to are the store's, and complete; the program was verified.
        unsafe { self.start_round(entry, slots)? };
        let mut idle = 0u32;
        loop {
            let finished = self.device.finished();
            let mut took = host.drain();
            if !matches!(finished, Ok(false)) {
                while host.drain() {}
                took = true;
            }
            loop {
                let Some((process, end)) = book.borrow_mut().ended.pop_front() else {
                    break;
                };
                services.end(process);
                left -= 1;
                let Some(waiting) = processes.get_mut(process as usize).and_then(Option::take) else {
                    continue;
                };
                let gathered = std::mem::take(&mut book.borrow_mut().processes[process as usize]);
                let mut outcome = self.outcome(&waiting, gathered, &end, options, state.stopping);
                // It was stopped in place of one before it in its slot.
                let early = options.process_timeout.is_some_and(|limit| outcome.time < limit);
                if matches!(outcome.end, End::TimedOut) && early && !state.stopping {
                    queue.again.push_back(waiting);
                } else if outcome.starved && !may_starve && !state.stopping {
                    counts.repeated += 1;
                    queue.starved.push_back(waiting);
                } else {
                    if outcome.starved && !may_starve {
                        // It would have run once more.
                        outcome.end = End::Interrupted;
                    }
                    counts.processes += u64::from(!matches!(outcome.end, End::Interrupted));
                    if done(outcome).is_break() {
                        self.stop_round(slots, &mut state)?;
                    }
                }
            }
            match finished {
                Ok(true) if left == 0 || state.stopping => break,
                // Lanes have ended with their processes, and some wait in the queue.
                // SAFETY: as above.
                Ok(true) => unsafe {
                    let lost = offset_of!(Batch, lost) as u64;
                    self.device.clear(slots.record + lost, 4)?;
                    self.start_round(entry, slots)?;
                },
                Ok(false) => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            let interrupted = options
                .interrupt
                .as_ref()
                .is_some_and(|flag| flag.load(Ordering::Relaxed));
            // Again and again: a process that begins clears what stops it.
            let stops = interrupted && !state.stopping || state.stopping && state.looked.elapsed() > LOOK_AFTER;
            if stops {
                self.stop_round(slots, &mut state)?;
            }
            if let Some(limit) = options.process_timeout
                && !state.stopping
            {
                self.stop_late(slots, limit, &mut state)?;
            }
            // The next round's, when nothing else is to do.
            if !took && !state.stopping && queue.fill(AT_ONCE) {
                continue;
            }
            idle = if took { 0 } else { idle + 1 };
            pause(idle);
        }
        drop(serving);
        tracing::debug!(
            processes = count,
            slots = slots.count,
            prepared_ms = ready.as_secs_f64() * 1e3,
            last_kernel_ms = self.device.kernel_time().map(|time| time.as_secs_f64() * 1e3),
            all_ms = begin.elapsed().as_secs_f64() * 1e3,
            "a round of a batch has ended"
        );
        // SAFETY: allocated for this round, which is over.
        unsafe { self.device.release(inputs) };
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(state.stopping),
        }
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
    fn stop_late(&mut self, slots: &Slots, limit: Duration, state: &mut State) -> DeviceResult<()> {
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
            if process == 0 || now - seen.1 < limit {
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

    /// What came of a process.
    fn outcome(
        &mut self,
        waiting: &Waiting,
        gathered: Gathered,
        end: &ProcessEnd,
        options: &BatchOptions,
        stopping: bool,
    ) -> ProcessOutcome {
        let time = Duration::from_nanos(end.time);
        let starved = end.refused > 0 && end.memory < self.most_memory();
        let in_time = options.process_timeout.is_none_or(|limit| time < limit);
        let stopped = (end.stopped != 0).then_some(match stopping && in_time {
            true => End::Interrupted,
            false => End::TimedOut,
        });
        let record = layout::End {
            kind: end.kind,
            value: end.value,
            pc: end.pc,
            depth: end.depth,
            frames: end.frames,
            backtrace: end.backtrace,
            ..bytemuck::Zeroable::zeroed()
        };
        ProcessOutcome {
            number: waiting.number,
            end: self.end_of(&record, stopped),
            stdout: gathered.stdout,
            stderr: gathered.stderr,
            time,
            memory: end.memory,
            starved,
        }
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
