//! What can be told of a run while it goes on: counts that lanes keep in the device's memory, read there now and then.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytemuck::Zeroable;

use super::super::Store;
use super::super::heap::lane_lists;
use super::super::requests::RequestSession;
use super::count_watch::CountWatch;
use super::sample_watch::SampleWatch;
use super::{Observer, RunOptions, Sink, Stream};
use crate::device::{Device, DeviceResult};
use crate::layout::{self, Heap, Memory, PAGE, Ptr, Ring, Spawner, Thread};
use crate::requests::{RequestCounter, RequestCounts};

/// A look takes one part in so many of the time at most.
pub(super) const SHARE: u32 = 20;

/// Records of threads that are read at once, and at most: more would hold the bus for long.
const CHUNK: usize = 4096;
const MOST_THREADS: u32 = 1 << 18;

/// What a run does, or has done when it is over.
#[derive(Clone, Debug, Default)]
pub struct Vitals {
    /// How long it takes so far.
    pub time: Duration,
    /// Whether it is over.
    pub over: bool,
    /// Lanes that it has.
    pub lanes: u32,
    /// Threads that it began with.
    pub threads: u32,
    /// Threads that it has spawned since, if it can spawn some.
    pub spawned: Option<u64>,
    /// What its threads do; `None` where only their lanes know it, in programs that spawn threads on a GPU, and of more
    /// threads than are looked at.
    pub states: Option<ThreadStates>,
    /// Memory 0 of the first instance, if it has one.
    pub memory: Option<MemoryVitals>,
    /// What it asked the host.
    pub requests: RequestCounts,
    /// Bytes that it wrote to stdout and stderr, as far as they have come.
    pub written: [u64; 2],
    /// Bytes of output and debug messages that wait for the host.
    pub queued: u64,
    /// Debug messages that have come.
    pub messages: u64,
    /// If samples are taken: functions with how many they have so far, those that have most.
    pub functions: Vec<(String, u64)>,
    /// All samples of which these are some.
    pub samples: u64,
    /// If they are counted: operations that it has executed, as far as lanes have told.
    pub operations: Option<u64>,
}

/// Threads by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStates {
    /// That have not begun.
    pub new: u32,
    /// That run, or could.
    pub running: u32,
    /// That wait: for a notify, for a time, or for another thread.
    pub waiting: u32,
    /// That wait for the host, which has their requests.
    pub requesting: u32,
    /// That have ended.
    pub ended: u32,
    /// Lanes that have a thread which runs, or could.
    pub busy_lanes: u32,
}

/// A memory while its program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryVitals {
    /// Bytes that it has.
    pub size: u64,
    /// Blocks of its heap handed out so far.
    pub allocated: u64,
    /// Bytes of the heap's pages with blocks in them.
    pub used: u64,
    /// The most that these ever were.
    pub peak: u64,
}

/// Looks at a run for a [`Sink`] that asks for it.
pub(super) struct Watch {
    every: Duration,
    next: Instant,
    begin: Instant,
    /// The counts that the host has itself.
    vitals: Vitals,
    requests: Option<RequestCounter>,
    /// The output ring's record, and how much of it the host has taken.
    ring: Ptr,
    taken: u64,
    /// Records that lanes change as the run goes on; 0: there is none.
    memory: Ptr,
    spawner: Ptr,
    /// Those of the threads, where a look at them is sound.
    threads: Option<(Ptr, u32)>,
    samples: Option<SampleWatch>,
    counts: Option<CountWatch>,
    /// Whether device memory is the host's own, so that a copy would race with lanes.
    host_memory: bool,
}

impl Watch {
    /// Notes what the host has taken.
    pub(super) fn wrote(&mut self, stream: Stream, bytes: usize) {
        self.vitals.written[stream as usize] += bytes as u64;
    }

    /// The same of debug messages: so many in all. The host has taken so many bytes of the ring.
    pub(super) fn told(&mut self, messages: u64, taken: u64) {
        (self.vitals.messages, self.taken) = (messages, taken);
    }

    /// Whether it is time for a look.
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Notes that the run goes on with so many lanes.
    pub(super) fn goes_on(&mut self, lanes: u32) {
        self.vitals.lanes = lanes;
    }

    /// Reads what the run has done so far, or in all if it is over, and passes it on. What cannot be read is told as it was
    /// before: the run itself finds out why.
    pub(super) fn look(
        &mut self,
        device: &mut dyn Device,
        over: bool,
        observer: Option<&Observer>,
        sink: &mut dyn Sink,
    ) {
        let begin = Instant::now();
        self.vitals.over = over;
        self.vitals.time = self.begin.elapsed();
        if let Err(error) = self.read(device, observer) {
            tracing::debug!("a run cannot be looked at: {error}");
        }
        sink.vitals(&self.vitals);
        // From now on, so that a slow sink does not hold the run; and a look takes one part of the time in so many at most.
        self.next = Instant::now() + self.every.max(begin.elapsed() * SHARE);
    }

    fn read(&mut self, device: &mut dyn Device, observer: Option<&Observer>) -> DeviceResult<()> {
        if let Some(requests) = &self.requests {
            self.vitals.requests = requests.counts();
        }
        let [head] = self.words(device, self.ring + offset_of!(Ring, head) as u64)?;
        self.vitals.queued = head.saturating_sub(self.taken);
        if self.spawner != 0 {
            let at = self.spawner + offset_of!(Spawner, spawned) as u64;
            let [spawned] = self.words(device, at)?;
            self.vitals.spawned = Some(spawned);
        }
        if self.memory != 0 {
            self.vitals.memory = Some(self.read_memory(device)?);
        }
        if let Some((at, count)) = self.threads {
            self.vitals.states = Some(self.read_states(device, at, count)?);
        }
        if let Some(samples) = &mut self.samples {
            (self.vitals.functions, self.vitals.samples) = samples.functions(device, observer)?;
        }
        if let Some(counts) = &mut self.counts {
            self.vitals.operations = Some(counts.operations(device)?);
        }
        Ok(())
    }

    fn read_memory(&self, device: &mut dyn Device) -> DeviceResult<MemoryVitals> {
        let [size] = self.words(device, self.memory + offset_of!(Memory, size) as u64)?;
        const WORDS: usize = size_of::<Heap>() / 8;
        let record: [u64; WORDS] = self.words(device, self.memory + offset_of!(Memory, heap) as u64)?;
        let heap: Heap = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&record));
        // Lanes take away from one stripe what they have added to another, and add to the peak last. What was told is not
        // taken back for that.
        let before = self.vitals.memory.unwrap_or_default();
        let counts = heap.allocated.as_flattened().iter();
        let mut allocated = counts.fold(0u64, |all, count| all.wrapping_add(*count));
        // After these: a lane adds to them what it takes out of its lists.
        for at in lane_lists(&heap) {
            let mut lists = vec![0; heap.lanes_used as usize];
            words(device, self.host_memory, at, &mut lists)?;
            let blocks: u64 = lists.iter().map(|list| list >> 32).sum();
            allocated = allocated.wrapping_add(blocks);
        }
        let used = u64::from(heap.used) * PAGE;
        Ok(MemoryVitals {
            size,
            allocated: before.allocated.max((allocated as i64).max(0) as u64),
            used,
            peak: before.peak.max(u64::from(heap.used_peak) * PAGE).max(used),
        })
    }

    /// Counts threads by their states: `count` of them, or so many slots of threads that may be spawned.
    fn read_states(&self, device: &mut dyn Device, at: Ptr, count: u32) -> DeviceResult<ThreadStates> {
        let mut states = ThreadStates::default();
        let lanes = self.vitals.lanes.max(1);
        let mut busy = vec![false; lanes as usize];
        let count = match self.spawner {
            0 => count,
            // Other slots have never been handed out. More may be wanted for a moment.
            spawner => self
                .half(device, spawner + offset_of!(Spawner, used) as u64)?
                .min(count),
        };
        let mut records = Vec::new();
        for first in (0..count).step_by(CHUNK) {
            let from = at + u64::from(first) * size_of::<Thread>() as u64;
            let chunk = CHUNK.min((count - first) as usize);
            self.read_chunk(device, from, chunk, &mut records)?;
            for (id, state) in (first..).zip(&records) {
                match *state {
                    // As a run's records begin.
                    0 => states.new += 1,
                    layout::THREAD_SLEEPING | layout::THREAD_WAITING | layout::THREAD_BUSY => states.waiting += 1,
                    layout::THREAD_REQUESTING => states.requesting += 1,
                    layout::THREAD_ENDED => states.ended += 1,
                    _ => {
                        states.running += 1;
                        busy[(id % lanes) as usize] = true;
                    }
                }
            }
        }
        states.busy_lanes = match self.vitals.spawned {
            None => busy.iter().filter(|busy| **busy).count() as u32,
            Some(spawned) => {
                // Slots are for others when their threads have ended. Each of their threads may be on any lane.
                let alive = states.new + states.running + states.waiting + states.requesting;
                let all = u64::from(self.vitals.threads) + spawned;
                states.ended = all.saturating_sub(alive.into()).try_into().unwrap_or(u32::MAX);
                states.running.min(lanes)
            }
        };
        Ok(states)
    }

    /// Reads the states of so many threads whose records begin there.
    fn read_chunk(&self, device: &mut dyn Device, from: Ptr, count: usize, states: &mut Vec<u32>) -> DeviceResult<()> {
        const { assert!(offset_of!(Thread, state) == 0) };
        states.clear();
        if self.host_memory {
            let record = |at: usize| (from as *mut Thread).wrapping_add(at).cast::<u32>();
            // SAFETY: the run's records, of which there are so many. Lanes change this word as an atomic (`Shown` in
            // kernel/platform.h). Relaxed: it is a number to be shown, which orders nothing.
            states.extend((0..count).map(|at| unsafe { AtomicU32::from_ptr(record(at)) }.load(Ordering::Relaxed)));
            return Ok(());
        }
        let mut records = vec![Thread::zeroed(); count];
        // SAFETY: as above; a copy by the device takes aligned words whole.
        unsafe { device.read(from, bytemuck::cast_slice_mut(&mut records))? };
        states.extend(records.iter().map(|record| record.state));
        Ok(())
    }

    /// Reads one half of a word.
    fn half(&self, device: &mut dyn Device, at: Ptr) -> DeviceResult<u32> {
        let [word] = self.words(device, at & !7)?;
        Ok((word >> (at % 8 * 8)) as u32)
    }

    fn words<const N: usize>(&self, device: &mut dyn Device, at: Ptr) -> DeviceResult<[u64; N]> {
        let mut read = [0u64; N];
        words(device, self.host_memory, at, &mut read)?;
        Ok(read)
    }
}

/// Reads words that lanes only change by atomic accesses while they run. Each is one that it was at some time. `host_memory`
/// says whether device memory is the host's own, so that a copy would race with lanes.
pub(super) fn words(device: &mut dyn Device, host_memory: bool, at: Ptr, words: &mut [u64]) -> DeviceResult<()> {
    if host_memory {
        for (i, word) in words.iter_mut().enumerate() {
            // SAFETY: aligned words of the store's own records, which outlive the run. Lanes change them, or halves of
            // them, by atomic accesses alone, and machines that run lanes have no torn loads of 8 bytes. Relaxed: they are
            // numbers to be shown, which order nothing.
            *word = unsafe { AtomicU64::from_ptr((at as *mut u64).add(i)) }.load(Ordering::Relaxed);
        }
        return Ok(());
    }
    // SAFETY: as above; a copy by the device takes aligned words whole.
    unsafe { device.read(at, bytemuck::cast_slice_mut(words)) }
}

impl Store {
    /// How memory can be read while a kernel runs: whether it is the host's own, so that a copy would race with lanes. `None`
    /// where it cannot, because the device is reached through another one.
    pub(super) fn host_memory_meanwhile(&self) -> Option<bool> {
        // Lanes that can call functions of the host are its threads, and device memory is its own.
        let host_memory = self.device.rings();
        (host_memory || self.device.target().is_some()).then_some(host_memory)
    }

    /// What looks at the run that is about to begin, if its sink asks for that.
    pub(super) fn watch(
        &mut self,
        options: &RunOptions,
        lanes: u32,
        serving: Option<&RequestSession>,
        sink: &dyn Sink,
    ) -> Option<Watch> {
        let every = sink.vitals_every()?;
        let memory = self.instance_infos.first().and_then(|info| info.memories.first());
        let memory = memory.map_or(0, |memory| self.memory_infos[*memory as usize].record);
        let spawner = self.run.spawn.in_use().unwrap_or_default();
        let host_memory = self.host_memory_meanwhile()?;
        let samples = sink.wants_functions().then(|| self.sample_watch()).flatten();
        let counts = self.count_watch(host_memory);
        // Of threads that are spawned compiled code keeps no record that the host could look at.
        let (known, slots) = match spawner {
            0 => (true, options.threads),
            _ => (
                self.device.target().is_none(),
                self.fetch::<Spawner>(spawner).ok()?.capacity,
            ),
        };
        let threads = (known && slots <= MOST_THREADS).then_some((self.run.threads.ptr, slots));
        let begin = Instant::now();
        Some(Watch {
            every,
            next: begin,
            begin,
            vitals: Vitals {
                lanes,
                threads: options.threads,
                ..Vitals::default()
            },
            requests: serving.map(|serving| serving.service.counter()),
            ring: self.run.ring,
            taken: 0,
            memory,
            spawner,
            threads,
            samples,
            counts,
            host_memory,
        })
    }
}
