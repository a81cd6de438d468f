//! The host's side of the heap: what it needs beside linear memory, and what can be read of it after a run.

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use super::{InstanceId, Store};
use crate::device::DeviceResult;
use crate::layout::{
    self, CACHE_CLASSES, CacheEntry, HEAP_CLASSES, HEAP_GROUPS, Heap, HeapPage, HeapSite, KIND_NONE, KIND_REGION,
};

/// Pages of a memory's limit for each lane that has a cache. A cache hides [`CACHE_CLASSES`] blocks at most, so at worst 19 % of
/// the pages have such a block; 0.03 % of the bytes are in them.
const PAGES_PER_CACHE: u64 = 64;

/// What a store's heaps look at besides their work. Either costs half of a memory's limit in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapChecks {
    /// Guard bytes on both sides of blocks and poison in freed ones; sizes and alignments are compared.
    pub guards: bool,
    /// Who allocated each block, for [`Store::leaks`].
    pub leaks: bool,
}

impl HeapChecks {
    /// None of it.
    pub const NONE: HeapChecks = HeapChecks {
        guards: false,
        leaks: false,
    };
}

/// Blocks of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// Bytes of a block; 0 for blocks of more than 56 KiB, which are whole pages.
    pub size: u32,
    /// Blocks handed out so far.
    pub allocated: u64,
    /// Of these, blocks that were not given back.
    pub live: u64,
    /// Bytes of the pages in which they lie.
    pub held_bytes: u64,
}

/// What became of the heap of a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapStats {
    /// Blocks handed out.
    pub allocated: u64,
    /// Blocks taken back.
    pub freed: u64,
    /// Requests that found no memory.
    pub failed: u64,
    /// Blocks that are still handed out.
    pub live: u64,
    /// Bytes of these blocks: as large as the heap made them, or in a checked heap as they were asked for.
    pub live_bytes: u64,
    /// Bytes that memory was grown by.
    pub held_bytes: u64,
    /// Most bytes that there were at once: of pages of 64 KiB with blocks in them, or in a checked heap of the
    /// blocks themselves, as they were asked for.
    pub peak_bytes: u64,
    /// By size, those of which there were blocks.
    pub classes: Vec<ClassStats>,
}

/// How large a memory may become, and whether that was too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes that it has.
    pub size: u64,
    /// Bytes that it may have.
    pub limit: u64,
    /// The maximum that its module declares.
    pub declared: Option<u64>,
    /// Its addresses have 64 bits.
    pub wide: bool,
    /// The program asked for more than it may have, and was told so: the heap had no block, or `memory.grow` failed.
    pub refused: bool,
}

impl Store {
    /// How an instance has used its memory 0, if it has one.
    ///
    /// # Errors
    ///
    /// Of the device.
    pub fn memory_use(&mut self, instance: InstanceId) -> DeviceResult<Option<MemoryUse>> {
        let Some(index) = self.instance_infos[instance.0 as usize].memories.first().copied() else {
            return Ok(None);
        };
        let info = &self.memory_infos[index as usize];
        let (ty, at) = (info.ty, info.record);
        let record = self.fetch::<layout::Memory>(at)?;
        Ok(Some(MemoryUse {
            size: record.size,
            limit: record.limit,
            declared: ty.limits.max.map(|max| max.saturating_mul(layout::PAGE)),
            wide: ty.wide,
            refused: record.heap.failed > 0 || record.refused > 0,
        }))
    }
}

/// Bytes of a class's blocks; twin of `class_size` in `kernel/heap/classes.h`.
fn class_size(class: usize) -> u32 {
    let class = class as u32;
    match class {
        0..4 => (class + 1) * 16,
        _ => (4 + class % 4 + 1) << (class / 4 - 1) << 4,
    }
}

/// A page's state, taken apart.
pub(super) struct Head {
    pub(super) kind: u64,
    class: usize,
    pub(super) capacity: u64,
    region_pages: u64,
}

impl Head {
    /// Bytes of a slab's blocks.
    pub(super) fn size(&self) -> u64 {
        class_size(self.class) as u64
    }

    /// Pages of the slab or region that begins here.
    pub(super) fn pages(&self) -> u64 {
        match self.kind {
            KIND_NONE => 0,
            KIND_REGION => self.region_pages,
            _ => (self.capacity * self.size()).div_ceil(layout::PAGE),
        }
    }

    /// Blocks of a slab that are handed out. Its state counts those too that are promised to a slot.
    fn live(&self, page: &HeapPage) -> u64 {
        let word = |index: u64| page.bits[index as usize] & (!0 >> (64 - (self.capacity - index * 64).min(64)));
        let words = self.capacity.div_ceil(64).min(page.bits.len() as u64);
        (0..words).map(|index| word(index).count_ones() as u64).sum()
    }

    pub(super) fn new(page: &HeapPage) -> Head {
        Head {
            kind: page.state >> 40 & 0xff,
            class: (page.state >> 32 & 0xff) as usize % HEAP_CLASSES,
            capacity: page.state >> 16 & 0xffff,
            region_pages: page.state & 0xffff_ffff,
        }
    }
}

/// Whether a program asks the device's heap for memory.
pub fn allocates(program: &Program) -> bool {
    let heap = |op| {
        matches!(
            op,
            Op::Alloc | Op::AllocZero | Op::Dealloc | Op::Realloc | Op::AllocBatch | Op::DeallocBatch
        )
    };
    instructions(&program.code).any(|(_, inst)| inst.is_ok_and(|inst| heap(inst.op)))
}

impl Store {
    /// Gives memory 0 of an instance what its heap needs, if the program uses one.
    pub(super) fn prepare_heap(&mut self, program: &Program, memories: &[u32]) -> DeviceResult<()> {
        let Some(memory) = memories.first().filter(|_| allocates(program)) else {
            return Ok(());
        };
        let at = self.memory_infos[*memory as usize].record;
        let mut record = self.fetch::<layout::Memory>(at)?;
        if record.heap.pages != 0 {
            return Ok(());
        }
        // Addresses have 32 bits.
        let pages = (record.limit / layout::PAGE).min(1 << 16);
        let words = pages.div_ceil(64);
        let set_bytes = (words + words.div_ceil(64)) * 8;
        let (pages_at, sets_at) = (0, pages * size_of::<HeapPage>() as u64);
        let slots_at = sets_at + set_bytes * (1 + HEAP_CLASSES as u64);
        let caches_at = slots_at + HEAP_CLASSES as u64 * HEAP_GROUPS * 8;
        let checks = self.limits.heap;
        // A checked heap sees every allocation and every free.
        let cache_lanes = if checks == HeapChecks::NONE {
            pages / PAGES_PER_CACHE
        } else {
            0
        };
        // Entries are read as one word of 16 bytes.
        let caches_at = caches_at.next_multiple_of(size_of::<CacheEntry>() as u64);
        let bytes = caches_at + cache_lanes * CACHE_CLASSES * size_of::<CacheEntry>() as u64;
        let base = self.device.allocate(bytes, "the heap's records")?;
        let sites = match checks.guards || checks.leaks {
            true => {
                let bytes = pages * (layout::PAGE / layout::SITE_GRAIN) * size_of::<HeapSite>() as u64;
                self.device.allocate(bytes, "the records of a checked heap")?
            }
            false => 0,
        };
        record.heap = Heap {
            sites,
            guards: checks.guards as u32,
            pages: base + pages_at,
            sets: base + sets_at,
            slots: base + slots_at,
            caches: base + caches_at,
            cache_lanes,
            page_limit: pages as u32,
            ..bytemuck::Zeroable::zeroed()
        };
        self.memory_infos[*memory as usize].caches = (record.heap.caches, cache_lanes as u32);
        // SAFETY: the memory's record; no kernel runs.
        unsafe { self.device.write(at, bytemuck::bytes_of(&record)) }
    }

    /// What became of the heap in an instance's memory 0, by its records as they are now.
    pub fn heap_stats(&mut self, instance: InstanceId) -> DeviceResult<HeapStats> {
        let Some(memory) = self.instance_infos[instance.0 as usize].memories.first().copied() else {
            return Ok(HeapStats::default());
        };
        let record = self.fetch::<layout::Memory>(self.memory_infos[memory as usize].record)?;
        let heap = record.heap;
        let mut classes: Vec<ClassStats> = (0..=HEAP_CLASSES)
            .map(|class| ClassStats {
                size: if class < HEAP_CLASSES { class_size(class) } else { 0 },
                allocated: heap.allocated.iter().map(|stripe| stripe[class]).sum(),
                ..ClassStats::default()
            })
            .collect();
        let mut stats = HeapStats {
            failed: heap.failed as u64,
            held_bytes: heap.held as u64 * layout::PAGE,
            peak_bytes: heap.used_peak as u64 * layout::PAGE,
            ..HeapStats::default()
        };
        let pages = self.heap_pages(&record)?;
        for page in &pages {
            let head = Head::new(page);
            match head.kind {
                KIND_NONE => {}
                KIND_REGION => {
                    let regions = &mut classes[HEAP_CLASSES];
                    regions.live += 1;
                    regions.held_bytes += head.pages() * layout::PAGE;
                    stats.live_bytes += head.pages() * layout::PAGE;
                }
                _ => {
                    let class = &mut classes[head.class];
                    let live = head.live(page);
                    class.live += live;
                    class.held_bytes += head.pages() * layout::PAGE;
                    stats.live_bytes += live * class.size as u64;
                }
            }
        }
        for (index, entry) in self.cache_entries(&heap)?.iter().enumerate() {
            classes[index / heap.cache_lanes as usize].allocated += entry.kept >> 32;
            // For the records of its page, a block in a cache is handed out. Where memory was used up, it may be of a
            // larger class than the cache's.
            let at = u64::from(entry.kept as u32) / layout::PAGE;
            let slab = pages.get(at as usize).and_then(|page| pages.get(page.first as usize));
            if let Some(slab) = slab.filter(|_| entry.kept as u32 != 0) {
                let class = &mut classes[Head::new(slab).class];
                class.live = class.live.saturating_sub(1);
                stats.live_bytes = stats.live_bytes.saturating_sub(class.size as u64);
            }
        }
        stats.allocated = classes.iter().map(|class| class.allocated).sum();
        stats.live = classes.iter().map(|class| class.live).sum();
        stats.freed = stats.allocated.saturating_sub(stats.live);
        classes.retain(|class| class.allocated != 0);
        stats.classes = classes;
        if heap.sites != 0 {
            (stats.live_bytes, stats.peak_bytes) = (heap.live_bytes, heap.live_peak);
        }
        Ok(stats)
    }

    /// What lanes have in their caches.
    fn cache_entries(&mut self, heap: &Heap) -> DeviceResult<Vec<CacheEntry>> {
        let mut entries: Vec<CacheEntry> =
            vec![bytemuck::Zeroable::zeroed(); (heap.cache_lanes * CACHE_CLASSES) as usize];
        if !entries.is_empty() {
            // SAFETY: the heap's records; no kernel runs.
            unsafe { self.device.read(heap.caches, bytemuck::cast_slice_mut(&mut entries))? };
        }
        Ok(entries)
    }

    /// The records of the heap's pages, as far as its memory was grown.
    pub(super) fn heap_pages(&mut self, memory: &layout::Memory) -> DeviceResult<Vec<HeapPage>> {
        let pages = (memory.size / layout::PAGE).min(memory.heap.page_limit as u64);
        if memory.heap.pages == 0 || memory.heap.held == 0 {
            return Ok(Vec::new());
        }
        let mut records: Vec<HeapPage> = vec![bytemuck::Zeroable::zeroed(); pages as usize];
        // SAFETY: the heap's records; no kernel runs.
        unsafe {
            self.device
                .read(memory.heap.pages, bytemuck::cast_slice_mut(&mut records))?
        };
        Ok(records)
    }
}
