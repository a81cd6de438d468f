//! Looks at the heap while a run goes on: which blocks there are, and which calls allocated them. A checked heap keeps a
//! record of each block beside linear memory.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytemuck::Zeroable;

use super::super::heap::free_set;
use super::super::{InstanceId, Store};
use super::vitals::{SHARE, words};
use crate::device::{Device, DeviceResult};
use crate::fault::Backtrace;
use crate::heap_profile::{HeapGroup, HeapProfile, HeapSnapshot};
use crate::layout::{HeapSite, Memory, PAGE, Ptr, SITE_CALLS, SITE_GRAIN, SITE_LIVE};

/// The time between two looks at first. Where there are many, every second one is left out, and it is doubled.
const EVERY: Duration = Duration::from_millis(1);
const SNAPSHOTS: usize = 100;

/// Records that are read at once.
const CHUNK: usize = (1 << 20) / size_of::<HeapSite>();

/// Where a block was allocated: word of the instruction, and return addresses.
type Stack = (u32, [u32; SITE_CALLS]);

/// Looks at a heap over the runs of a store.
pub(in crate::store) struct HeapWatch {
    every: Duration,
    next: Instant,
    /// When the first run began. Times between runs count too.
    begin: Instant,
    /// The heap's memory, and whether device memory is the host's own.
    memory: Ptr,
    host_memory: bool,
    numbers: HashMap<Stack, usize>,
    stacks: Vec<Stack>,
    snapshots: Vec<HeapSnapshot>,
}

impl HeapWatch {
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Takes a snapshot. What cannot be read is left out: the run itself finds out why.
    pub(super) fn look(&mut self, device: &mut dyn Device) {
        let begin = Instant::now();
        match self.read(device) {
            Ok(groups) => self.snapshots.push(HeapSnapshot {
                time: self.begin.elapsed(),
                groups,
            }),
            Err(error) => tracing::debug!("a heap cannot be looked at: {error}"),
        }
        if self.snapshots.len() > SNAPSHOTS {
            self.thin_out();
        }
        self.next = Instant::now() + self.every.max(begin.elapsed() * SHARE);
    }

    /// Leaves every second snapshot out, but not the one with most bytes.
    fn thin_out(&mut self) {
        let largest = (self.snapshots.iter().enumerate()).max_by_key(|(_, snapshot)| snapshot.bytes());
        let largest = largest.map(|(index, _)| index);
        let mut index = 0;
        self.snapshots.retain(|_| {
            index += 1;
            index % 2 == 1 || Some(index - 1) == largest
        });
        self.every *= 2;
    }

    fn read(&mut self, device: &mut dyn Device) -> DeviceResult<Vec<HeapGroup>> {
        let mut found: HashMap<usize, HeapGroup> = HashMap::new();
        let mut record = Memory::zeroed();
        words(
            device,
            self.host_memory,
            self.memory,
            bytemuck::cast_slice_mut(std::slice::from_mut(&mut record)),
        )?;
        let pages = (record.size / PAGE).min(record.heap.page_limit.into()) as usize;
        if record.heap.sites == 0 || record.heap.held == 0 {
            return Ok(Vec::new());
        }
        let (at, len) = free_set(&record.heap);
        let mut free = vec![0u64; len];
        words(device, self.host_memory, at, &mut free)?;
        let is_used = |page: &usize| free[page / 64] >> (page % 64) & 1 == 0;
        let per_page = (PAGE / SITE_GRAIN) as usize;
        let mut sites = vec![HeapSite::zeroed(); CHUNK];
        let mut page = 0;
        while page < pages {
            let used = (page..pages).take(CHUNK / per_page).take_while(is_used).count();
            let chunk = &mut sites[..used * per_page];
            let from = record.heap.sites + (page * per_page * size_of::<HeapSite>()) as u64;
            words(device, self.host_memory, from, bytemuck::cast_slice_mut(chunk))?;
            for site in chunk.iter().filter(|site| site.kind() == SITE_LIVE) {
                // Of one whose calls are about to be noted, those of a block before may still stand there.
                let stack = match site.pc {
                    0 => (0, [0; SITE_CALLS]),
                    pc => (pc, site.calls),
                };
                let stack = self.number(stack);
                let group = found.entry(stack).or_insert(HeapGroup {
                    stack,
                    blocks: 0,
                    bytes: 0,
                });
                group.blocks += 1;
                group.bytes += u64::from(site.size);
            }
            page += used.max(1);
        }
        let mut groups: Vec<HeapGroup> = found.into_values().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.bytes), group.stack));
        Ok(groups)
    }

    fn number(&mut self, stack: Stack) -> usize {
        *self.numbers.entry(stack).or_insert_with(|| {
            self.stacks.push(stack);
            self.stacks.len() - 1
        })
    }
}

impl Store {
    /// Looks at the heap of the first instance's memory 0 while it runs, which needs
    /// [`HeapChecks::leaks`](super::super::HeapChecks) in the store's limits.
    pub fn watch_heap(&mut self) {
        self.watches_heap = true;
    }

    /// What looks at the heap of the run that is about to begin.
    pub(super) fn heap_watch(&mut self) -> Option<HeapWatch> {
        if !self.watches_heap {
            return None;
        }
        let memory = *self.instance_infos.first()?.memories.first()?;
        let host_memory = self.host_memory_meanwhile()?;
        let begin = Instant::now();
        Some(self.heap_watch.take().unwrap_or_else(|| HeapWatch {
            every: EVERY,
            next: begin,
            begin,
            memory: self.memory_infos[memory as usize].record,
            host_memory,
            numbers: HashMap::new(),
            stacks: Vec::new(),
            snapshots: Vec::new(),
        }))
    }

    /// The heap of an instance's memory 0 over time, if the store looks at it; else, and of others than the first instance,
    /// nothing.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn heap_profile(&mut self, instance: InstanceId) -> DeviceResult<HeapProfile> {
        let Some(watch) = self.heap_watch.as_ref().filter(|_| instance == InstanceId(0)) else {
            return Ok(HeapProfile::default());
        };
        let backtrace = |(pc, calls): &Stack| Backtrace {
            // A record has no room for more.
            omitted: u32::from(calls.last().is_some_and(|call| *call != 0)),
            ..self.calls(*pc, calls)
        };
        let stacks = watch.stacks.iter().map(backtrace).collect();
        let (snapshots, memory) = (watch.snapshots.clone(), watch.memory);
        Ok(HeapProfile {
            stacks,
            snapshots,
            peak: self.fetch::<Memory>(memory)?.heap.live_peak,
        })
    }
}
