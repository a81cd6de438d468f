//! Where the time of runs goes, in samples: see `kernel/samples.h`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytemuck::Zeroable;
use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use super::Store;
use super::run::Sized;
use crate::device::DeviceResult;
use crate::layout::{self, Ptr, VISIT_CALLED, VISIT_OFTEN};
use crate::ptx::SampleAt;
use crate::stands::{Doing, SampleGroup, Samples};

/// Groups of samples with the same calls that are told apart.
const GROUPS: u32 = 1 << 14;

/// Samples in the ring of a thread, and bytes of all rings, at most.
const RING: u64 = 4096;
const RAW_BYTES: u64 = 128 << 20;

/// Lanes up to which each has all of its samples. Of more, fewer are enough to tell where time goes, and a sample takes its
/// time.
const FULL_RATE: u64 = 256;

/// Branches in a slice of a run of which samples are taken: few, so that what the translator has put into one function is
/// told apart, and a prime, so that slices do not always end at the same place of a loop.
pub(super) const SLICE: u32 = 1009;

/// Cycles in a period at most: 32 bits of them tell what is due.
const LONGEST: u64 = 1 << 30;

/// What samples of a store's runs are taken with.
pub(super) struct Sampling {
    period: Option<Duration>,
    groups: Sized,
    threads: Sized,
    record: Sized,
    raw: Sized,
    /// What code of many lanes has written in the runs so far, and how many samples had no group.
    written: BTreeMap<Stack, u64>,
    lost: u64,
}

/// A thread that ran, by words of the store's code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stack {
    pc: u32,
    depth: u32,
    /// Return addresses, innermost first.
    calls: Vec<u32>,
}

impl Stack {
    /// Where a thread was of which code has written a sample: see `note_sample` in `kernel/compiled_thread.h`.
    fn of(raw: &layout::RawSample) -> Option<Stack> {
        let mut calls: Vec<u32> = raw.calls.iter().copied().take_while(|call| *call != 0).collect();
        let (mut pc, mut depth) = (raw.pc, raw.depth);
        let at = |at: SampleAt| raw.at == at as u32;
        if !at(SampleAt::Here) && raw.mark_depth == raw.depth {
            pc = raw.mark;
        } else if at(SampleAt::Called) {
            // What was before the first function is the launch's.
            pc = calls.first()?.wrapping_sub(1);
            calls.remove(0);
            depth = depth.wrapping_sub(1);
        } else if at(SampleAt::Returned) {
            calls.insert(0, pc);
            pc = raw.mark;
            depth = depth.wrapping_add(1);
        }
        (pc != 0).then_some(Stack { pc, depth, calls })
    }
}

/// The word of the innermost place of a sample that code has written, if there is one.
pub(super) fn place_of_raw(raw: &layout::RawSample) -> Option<u32> {
    (raw.pc != 0).then(|| Stack::of(raw))?.map(|stack| stack.pc)
}

impl Sampling {
    /// Where the record is of runs with samples, or 0.
    pub(super) fn record_in_use(&self) -> Ptr {
        self.period.map_or(0, |_| self.record.ptr)
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            period: None,
            groups: Sized::new("samples"),
            threads: Sized::new("samples"),
            record: Sized::new("samples"),
            raw: Sized::new("samples"),
            written: BTreeMap::new(),
            lost: 0,
        }
    }
}

/// The words of a program where a function begins or a call has come back, and what stands in the place of the count of
/// visits there: that none are counted, and whether a function begins.
pub(super) fn marks(program: &Program) -> Vec<(u32, u16)> {
    let mut marks: Vec<(u32, u16)> = Vec::new();
    let begin = |function: &gpu_run_bytecode::Function| (function.start + 1, (VISIT_OFTEN | VISIT_CALLED) as u16);
    marks.extend(program.meta.functions.iter().map(begin));
    let mut called = false;
    for (word, inst) in instructions(&program.code) {
        if called && !matches!(inst, Ok(ref inst) if inst.op == Op::Enter) {
            marks.push((word as u32, VISIT_OFTEN as u16));
        }
        called = inst.is_ok_and(|inst| matches!(inst.op, Op::Call | Op::CallIndirect | Op::CallImport));
    }
    marks.sort_unstable();
    marks.dedup_by_key(|mark| mark.0);
    marks
}

/// Counts periods where lanes are threads of this machine, so that they need not ask for the time.
pub(super) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// # Safety
    ///
    /// The record lies at `record` as long as the ticker lives, and lanes read its tick as an atomic.
    unsafe fn new(record: Ptr, period: Duration) -> Ticker {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let at = record + std::mem::offset_of!(layout::Samples, tick) as u64;
        let thread = std::thread::spawn(move || {
            // SAFETY: as above.
            let tick = unsafe { AtomicU32::from_ptr(at as *mut u32) };
            let begin = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(period);
                // Threads sleep longer than they ask.
                tick.store(
                    (begin.elapsed().as_nanos() / period.as_nanos()) as u32,
                    Ordering::Relaxed,
                );
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
    /// Takes a sample of each thread about once in a period of its time, of all instances that are made from now on. A period
    /// has a microsecond at least, and at most what 32 bits of a lane's clock can tell: about half a second on a GPU.
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
        let Some(period) = self.sampling.period else {
            return Ok(0);
        };
        let cycles = self.device.clock_rate().map(|rate| period.as_secs_f64() * rate);
        let most = cycles.map_or(u64::MAX, |cycles| LONGEST / (cycles as u64).max(1));
        let weight = (threads.min(lanes) / FULL_RATE).min(most).max(1) as u32;
        let period = period.saturating_mul(weight);
        let device = &mut *self.device;
        let sampling = &mut self.sampling;
        let one = size_of::<layout::RawSample>() as u64;
        let ring = (RAW_BYTES / (threads * one)).clamp(1, RING);
        let rings = threads.min(RAW_BYTES / (ring * one));
        let raw = match compiled {
            true => sampling.raw.zeroed(device, (rings + 1) * ring * one)?,
            false => 0,
        };
        let bytes = u64::from(GROUPS) * size_of::<layout::Sample>() as u64;
        let record = layout::Samples {
            groups: sampling.groups.at_least(device, bytes)?,
            threads: sampling
                .threads
                .zeroed(device, threads * size_of::<layout::SampledThread>() as u64)?,
            period_ns: period.as_nanos() as u64,
            period: match cycles {
                Some(cycles) => ((cycles * f64::from(weight)) as u64).clamp(1, LONGEST),
                None => period.as_nanos() as u64,
            },
            capacity: GROUPS,
            lost: 0,
            tick: 0,
            weight,
            raw,
            raw_threads: rings as u32,
            raw_size: ring as u32,
        };
        let at = sampling.record.at_least(device, size_of::<layout::Samples>() as u64)?;
        // SAFETY: allocated with this size; no kernel runs.
        unsafe { device.write(at, bytemuck::bytes_of(&record))? };
        Ok(at)
    }

    /// Takes what a run has left but for groups: samples that code has written, and how many were lost.
    pub(super) fn collect_samples(&mut self) -> DeviceResult<()> {
        if self.sampling.record.ptr == 0 {
            return Ok(());
        }
        let record = self.fetch::<layout::Samples>(self.sampling.record.ptr)?;
        self.sampling.lost += u64::from(record.lost);
        if record.raw == 0 {
            return Ok(());
        }
        let count = record.raw_threads as usize * record.raw_size as usize;
        let mut samples = vec![layout::RawSample::zeroed(); count];
        // SAFETY: the rings of the run, which has ended.
        unsafe { self.device.read(record.raw, bytemuck::cast_slice_mut(&mut samples))? };
        for ring in samples.chunks(record.raw_size as usize) {
            let kept: Vec<_> = ring.iter().filter(|raw| raw.pc != 0).collect();
            // A ring has some of those that were written, each with the same chance.
            let all = kept.iter().map(|raw| u64::from(raw.number)).max().unwrap_or_default();
            for (i, stack) in (0..).zip(kept.iter().map(|raw| Stack::of(raw))) {
                // In whole numbers, with the remainder on the first.
                let count = kept.len() as u64;
                let share = all / count + u64::from(i < all % count);
                if let Some(stack) = stack {
                    *self.sampling.written.entry(stack).or_default() += share * u64::from(record.weight);
                }
            }
        }
        Ok(())
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
        let used = groups.iter().filter(|sample| sample.count > 0);
        let mut groups: Vec<SampleGroup> = used
            .map(|sample| {
                let calls = &sample.calls[..(sample.frames as usize).min(layout::SAMPLE_CALLS)];
                SampleGroup {
                    samples: sample.count,
                    doing: Doing::of(sample.state),
                    backtrace: self.backtrace_of(sample.pc, sample.depth, calls),
                }
            })
            .collect();
        groups.extend(self.sampling.written.iter().map(|(stack, samples)| SampleGroup {
            samples: *samples,
            doing: Doing::Runs,
            backtrace: self.backtrace_of(stack.pc, stack.depth, &stack.calls),
        }));
        groups.sort_by_key(|group| std::cmp::Reverse(group.samples));
        Ok(Samples {
            period,
            groups,
            lost: self.sampling.lost,
        })
    }
}
