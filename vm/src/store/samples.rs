//! Where the time of runs goes, in samples: of interpreted code see `kernel/samples.h`, of compiled code `run/observer.rs`.

use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytemuck::Zeroable;
use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use super::Store;
use super::run::{GROUP_BYTES, Observer, Sized};
use crate::counts::Kind;
use crate::device::DeviceResult;
use crate::layout::{self, MARK_GROUP, Ptr, VISIT_CALLED, VISIT_OFTEN};
use crate::stands::{Doing, SampleGroup, Samples, doing_in, long_kind};

/// Groups of samples with the same calls that are told apart.
const GROUPS: u32 = 1 << 14;

/// Bytes of the marks of compiled code, at most.
const MARK_BYTES: u64 = 128 << 20;

/// Interpreted lanes up to which each has all of its samples. Of more, fewer are enough to tell where time goes, and a sample
/// takes its time.
const FULL_RATE: u64 = 256;
/// The same of processes, of each of whose samples the host is told.
const PROCESSES_AT_FULL_RATE: u64 = 64;

/// Instructions that may take long by themselves, by their words in the store's code.
pub(super) type LongInstructions = HashMap<u32, Op>;

/// Branches in a slice of a run of which samples are taken: few, so that what the translator has put into one function is
/// told apart, and a prime, so that slices do not always end at the same place of a loop.
pub(super) const SLICE: u32 = 1009;

/// Cycles in a period at most: the kernel multiplies them by 32 bits.
const LONGEST: u64 = 1 << 30;

/// What samples of a store's runs are taken with.
pub(super) struct Sampling {
    period: Option<Duration>,
    groups: Sized,
    threads: Sized,
    record: Sized,
    marks: Sized,
    plain: Sized,
    /// Bytes of the store's code when `plain` was written.
    plain_of: u64,
    now: Option<layout::Samples>,
    /// Nanoseconds of threads' time that are in no group, in the runs so far, and how many samples had none.
    observed: BTreeMap<Stack, u64>,
    lost: u64,
}

/// Where a thread was, by words of the store's code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stack {
    /// What it did, if that was told: else its instruction says it.
    pub(super) doing: Option<Doing>,
    pub(super) pc: u32,
    /// Return addresses, innermost first.
    pub(super) calls: Vec<u32>,
    /// Whether there are calls further out.
    pub(super) more: bool,
}

/// The programs of a store, by words of its code.
pub(super) struct Programs(Vec<(u32, Arc<Program>)>);

impl Programs {
    /// Those of the instances that there are.
    pub(super) fn of(store: &Store) -> Programs {
        let infos = store.instance_infos.iter();
        Programs(infos.map(|info| (info.code_start, info.program.clone())).collect())
    }

    /// Each with the word where it begins.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<Program>)> {
        self.0.iter().map(|(start, program)| (*start, program))
    }

    /// The program with a word, and the word's number in it.
    pub(super) fn at(&self, word: u32) -> Option<(&Program, u32)> {
        let after = self.0.partition_point(|(start, _)| *start <= word);
        let (start, program) = &self.0[after.checked_sub(1)?];
        ((word - start) < program.code.len() as u32).then_some((&**program, word - start))
    }

    /// The instructions that take their time by themselves, by their words.
    pub(super) fn long_instructions(&self) -> LongInstructions {
        let of_program = |(start, program): (u32, &Arc<Program>)| -> Vec<(u32, Op)> {
            let all = instructions(&program.code).filter_map(|(word, inst)| Some((start + word as u32, inst.ok()?.op)));
            all.filter(|(_, op)| long_kind(*op).is_some()).collect()
        };
        self.iter().flat_map(of_program).collect()
    }
}

impl Sampling {
    /// The time of a thread for which a sample stands.
    pub(super) fn period(&self) -> Duration {
        self.period.unwrap_or_default()
    }

    /// Notes that words of the store's code have changed.
    pub(super) fn forget_code(&mut self) {
        self.plain_of = 0;
    }

    /// The record of the run under way, as it began, if samples are taken of it.
    pub(super) fn record_in_use(&self) -> Option<layout::Samples> {
        self.now
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            period: None,
            groups: Sized::new("samples"),
            threads: Sized::new("samples"),
            record: Sized::new("samples"),
            marks: Sized::new("samples"),
            plain: Sized::new("samples"),
            plain_of: 0,
            now: None,
            observed: BTreeMap::new(),
            lost: 0,
        }
    }
}

/// The words of a program where a function begins, a call has come back, or an instruction begins or ends that takes its time
/// by itself, and what stands in the place of the count of visits there: that none are counted, and whether a function begins.
pub(super) fn marks(program: &Program) -> Vec<(u32, u16)> {
    let mut marks: Vec<(u32, u16)> = Vec::new();
    let begin = |function: &gpu_run_bytecode::Function| (function.start + 1, (VISIT_OFTEN | VISIT_CALLED) as u16);
    marks.extend(program.meta.functions.iter().map(begin));
    let is_told = |kind| matches!(kind, Kind::Heap | Kind::Bulk | Kind::Output);
    let mut after = false;
    for (word, inst) in instructions(&program.code) {
        let op = inst.ok().map(|inst| inst.op);
        // What waits is seen as a thread at rest.
        let begins = op.and_then(long_kind).is_some_and(is_told);
        if (after || begins) && op != Some(Op::Enter) {
            marks.push((word as u32, VISIT_OFTEN as u16));
        }
        after = begins || matches!(op, Some(Op::Call | Op::CallIndirect | Op::CallImport));
    }
    marks.sort_unstable();
    // A function may begin with an instruction that takes its time.
    marks.dedup_by(|again, mark| {
        let same = again.0 == mark.0;
        mark.1 |= if same { again.1 } else { 0 };
        same
    });
    marks
}

/// How long before the end of a period lanes begin to look at the time. Most of their slices are shorter: see `samples.h`.
const SOON: Duration = Duration::from_micros(50);

/// Counts periods where lanes are threads of this machine: they need not ask for the time then.
pub(super) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// # Safety
    ///
    /// The record lies at `record` as long as the ticker lives, and lanes read as atomics what it writes.
    unsafe fn new(record: Ptr, period: Duration) -> Ticker {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let thread = std::thread::spawn(move || {
            let record = record as *mut layout::Samples;
            // SAFETY: as above.
            let (ticks, soon) = unsafe {
                (
                    AtomicU64::from_ptr(&raw mut (*record).ticks),
                    AtomicU32::from_ptr(&raw mut (*record).soon),
                )
            };
            let begin = Instant::now();
            // All are relaxed: lanes read a count, and which of two codes they run, which do the same.
            while !stopped.load(Ordering::Relaxed) {
                soon.store(1, Ordering::Relaxed);
                // Threads sleep longer than they ask. So a period may end late, but not before lanes had that time to know.
                std::thread::park_timeout(SOON.min(period));
                let passed = nanoseconds(begin.elapsed()) / nanoseconds(period);
                ticks.store(passed, Ordering::Relaxed);
                let next = Duration::from_nanos((passed + 1) * nanoseconds(period));
                let rest = next.saturating_sub(begin.elapsed() + SOON);
                // Where periods are short lanes look all the time.
                if rest > SOON && !stopped.load(Ordering::Relaxed) {
                    soon.store(0, Ordering::Relaxed);
                    std::thread::park_timeout(rest);
                }
            }
        });
        Ticker {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does nothing that could panic.
            _ = thread.join();
        }
    }
}

impl Store {
    /// Takes a sample of each thread, or of some that stand for all, about once in a period of its time, of all instances that
    /// are made from now on. A period has a microsecond at least, and half a second at most on a GPU.
    pub fn take_samples(&mut self, period: Duration) {
        let rate = self.device.clock_rate();
        let longest = rate.map_or(1.0, |rate| LONGEST as f64 / rate);
        let shortest = Duration::from_micros(1);
        self.sampling.period = Some(period.clamp(shortest, Duration::from_secs_f64(longest).max(shortest)));
    }

    /// Whether it does so.
    pub fn takes_samples(&self) -> bool {
        self.sampling.period.is_some()
    }

    /// The record for a run of so many threads on so many lanes; 0 without samples.
    pub(super) fn prepare_samples(&mut self, threads: u64, lanes: u64, compiled: bool) -> DeviceResult<Ptr> {
        self.prepare_samples_of(threads, threads.min(lanes) / FULL_RATE, compiled)
    }

    /// The same of so many processes, each on its lane.
    pub(super) fn prepare_samples_of_processes(&mut self, processes: u64, compiled: bool) -> DeviceResult<Ptr> {
        self.prepare_samples_of(processes, processes / PROCESSES_AT_FULL_RATE, compiled)
    }

    /// The same, with samples that count for so many.
    fn prepare_samples_of(&mut self, threads: u64, weight: u64, compiled: bool) -> DeviceResult<Ptr> {
        let Some(period) = self.sampling.period else {
            return Ok(0);
        };
        let cycles = self.device.clock_rate().map(|rate| period.as_secs_f64() * rate);
        let most = cycles.map_or(u64::MAX, |cycles| LONGEST / (cycles as u64).max(1));
        let weight = weight.min(most).max(1) as u32;
        let period = period.saturating_mul(weight);
        let plain = match cycles {
            Some(_) => 0,
            None => self.plain_code()?,
        };
        let device = &mut *self.device;
        let sampling = &mut self.sampling;
        let (mut marks, mut mark_threads) = (0, 0);
        if compiled {
            let groups = threads.div_ceil(MARK_GROUP as u64).clamp(1, MARK_BYTES / GROUP_BYTES);
            // Code finds a frame's row by the bits of its address.
            let room = (groups + 1) * GROUP_BYTES;
            marks = sampling.marks.zeroed(device, room)?.next_multiple_of(GROUP_BYTES);
            mark_threads = groups as u32 * MARK_GROUP as u32;
        }
        let bytes = u64::from(GROUPS) * size_of::<layout::Sample>() as u64;
        let record = layout::Samples {
            groups: sampling.groups.at_least(device, bytes)?,
            threads: sampling
                .threads
                .zeroed(device, threads * size_of::<layout::SampledThread>() as u64)?,
            period_ns: period.as_nanos() as u64,
            period: match cycles {
                Some(cycles) => ((cycles * f64::from(weight)) as u64).clamp(1, LONGEST),
                None => weight.into(),
            },
            ticks: 0,
            plain,
            capacity: GROUPS,
            lost: 0,
            weight,
            mark_threads,
            marks,
            soon: 0,
            pad: 0,
        };
        sampling.now = Some(record);
        let at = sampling.record.at_least(device, size_of::<layout::Samples>() as u64)?;
        // SAFETY: allocated with this size; no kernel runs.
        unsafe { device.write(at, bytemuck::bytes_of(&record))? };
        Ok(at)
    }

    /// The store's code as it was before each `visit` took the place of an opcode.
    fn plain_code(&mut self) -> DeviceResult<Ptr> {
        let programs = Programs::of(self);
        let (device, sampling) = (&mut *self.device, &mut self.sampling);
        let plain = sampling.plain.at_least(device, self.code.len)?;
        if sampling.plain_of != self.code.len {
            let mut code = vec![0u64; self.code.len as usize / 8];
            // SAFETY: as much as there is; no kernel runs.
            unsafe { device.read(self.code.ptr, bytemuck::cast_slice_mut(&mut code))? };
            for (start, program) in programs.iter() {
                code[start as usize..][..program.code.len()].copy_from_slice(&program.code);
            }
            // SAFETY: as large as the code; no kernel runs.
            unsafe { device.write(plain, bytemuck::cast_slice(&code))? };
            sampling.plain_of = self.code.len;
        }
        Ok(plain)
    }

    /// Takes what a run has left but for groups: what the host has seen of its compiled code, and how many samples were lost.
    pub(super) fn collect_samples(&mut self, observer: Option<Observer>) -> DeviceResult<()> {
        if self.sampling.record.ptr == 0 {
            return Ok(());
        }
        let record = self.fetch::<layout::Samples>(self.sampling.record.ptr)?;
        self.sampling.lost += u64::from(record.lost);
        let lost = self.sampling.record.ptr + offset_of!(layout::Samples, lost) as u64;
        // SAFETY: a word of the record; no kernel runs.
        unsafe { self.device.clear(lost, 4)? };
        if let Some(observer) = observer {
            observer.add_to(&mut self.sampling.observed);
        }
        Ok(())
    }

    /// Adds what the host was told of a process of a batch.
    pub(super) fn add_stacks(&mut self, stacks: BTreeMap<Stack, u64>) {
        for (stack, time) in stacks {
            *self.sampling.observed.entry(stack).or_default() += time;
        }
    }

    /// The instructions of all programs that may take long.
    pub(super) fn long_instructions(&self) -> LongInstructions {
        Programs::of(self).long_instructions()
    }

    /// The samples of stacks with their nanoseconds, the most first.
    pub(super) fn samples_of(&self, stacks: &BTreeMap<Stack, u64>, long: &LongInstructions) -> Samples {
        let period = self.sampling.period();
        let mut groups = self.groups_of(stacks, long);
        groups.sort_by_key(|group| std::cmp::Reverse(group.samples));
        Samples {
            period,
            groups,
            lost: 0,
        }
    }

    fn groups_of(&self, stacks: &BTreeMap<Stack, u64>, long: &LongInstructions) -> Vec<SampleGroup> {
        let nanoseconds = (self.sampling.period().as_nanos() as u64).max(1);
        let rounded = stacks
            .iter()
            .map(|(stack, time)| (stack, (time + nanoseconds / 2) / nanoseconds));
        let some = rounded.filter(|(_, samples)| *samples > 0);
        some.map(|(stack, samples)| {
            let doing_there = || long.get(&stack.pc).map_or(Doing::Runs, |op| doing_in(*op));
            let doing = stack.doing.unwrap_or_else(doing_there);
            let depth = 1 + stack.calls.len() as u32 + u32::from(stack.more);
            self.group(long, samples, doing, stack.pc, depth, &stack.calls)
        })
        .collect()
    }

    fn group(
        &self,
        long: &LongInstructions,
        samples: u64,
        doing: Doing,
        pc: u32,
        depth: u32,
        calls: &[u32],
    ) -> SampleGroup {
        let op = long.get(&pc).filter(|_| doing == Doing::Runs);
        SampleGroup {
            samples,
            doing,
            kind: op.and_then(|op| long_kind(*op)),
            instance: self.instance_at(pc).unwrap_or(0),
            backtrace: self.backtrace_of(pc, depth, calls),
        }
    }

    /// What counts the time up during a run that has its record, if lanes have no clock of their own.
    pub(super) fn ticker(&self) -> Option<Ticker> {
        let (period, record) = (self.sampling.period?, self.sampling.record.ptr);
        if record == 0 || self.device.clock_rate().is_some() {
            return None;
        }
        // SAFETY: the store's own record in this machine's memory, which the run outlives; its caller drops the ticker first.
        Some(unsafe { Ticker::new(record, period) })
    }

    /// The samples of all runs so far.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn samples(&mut self) -> DeviceResult<Samples> {
        let (period, at) = (self.sampling.period.unwrap_or_default(), self.sampling.groups.ptr);
        if at == 0 {
            return Ok(Samples::default());
        }
        let mut groups = vec![layout::Sample::zeroed(); GROUPS as usize];
        // SAFETY: as many as there are; no kernel runs.
        unsafe { self.device.read(at, bytemuck::cast_slice_mut(&mut groups))? };
        let long = self.long_instructions();
        let mut all = self.groups_of(&self.sampling.observed, &long);
        for sample in groups.iter().filter(|sample| sample.count > 0) {
            let calls = &sample.calls[..(sample.frames as usize).min(layout::SAMPLE_CALLS)];
            let doing = Doing::of(sample.state);
            all.push(self.group(&long, sample.count, doing, sample.pc, sample.depth, calls));
        }
        all.sort_by_key(|group| std::cmp::Reverse(group.samples));
        Ok(Samples {
            period,
            groups: all,
            lost: self.sampling.lost,
        })
    }
}
