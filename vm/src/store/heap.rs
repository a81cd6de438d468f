//! The host's side of the heap: what it needs beside linear memory, and what can be read of it after a run.

use std::ops::Range;

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use super::{InstanceId, LaneHeaps, Store};
use crate::device::DeviceResult;
use crate::layout::{
    self, HEAP_CLASSES, HEAP_GROUPS, Heap, HeapPage, HeapSite, KIND_NONE, KIND_REGION, LANE_CLASSES, LANE_SLAB,
    LaneSlab, Ptr,
};

/// Bytes of a memory's limit for each lane that has slabs of its own: less would not do for those of a few sizes.
const BYTES_PER_LANE: u64 = 4096;

/// Lists of each lane: of its classes, and of slabs that it keeps aside.
const LISTS: u64 = LANE_CLASSES + 1;

/// No GPU runs more lanes at once.
const MOST_LANES: u64 = 1 << 19;

/// What a store's heaps look at besides their work. Either costs half of a memory's limit in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapChecks {
    /// Guard bytes on both sides of blocks and poison in freed ones; sizes and alignments are compared.
    pub guards: bool,
    /// Which call allocated each block, for [`Store::leaks`].
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
    /// Bytes of the pages that the heap has: those that memory was grown by. Where several threads ran they are all that
    /// memory may have, but for what is the program's or the threads'.
    pub held_bytes: u64,
    /// Most bytes that there were at once. They are those of pages of 64 KiB with blocks in them. In a checked heap
    /// they are those of the blocks themselves, as they were asked for.
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

/// Where a heap's set of free pages is, and how many words it has. It lies after its summary.
pub(super) fn free_set(heap: &Heap) -> (Ptr, usize) {
    let words = (heap.page_limit as usize).div_ceil(64);
    (heap.sets + words.div_ceil(64) as u64 * 8, words)
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

/// Where the lists of lanes are of each class that has some: a word for each lane, which counts blocks above 32 bits.
pub(super) fn lane_lists(heap: &Heap) -> impl Iterator<Item = Ptr> + use<> {
    let (lists, lanes) = (heap.lane_lists, u64::from(heap.lanes));
    (0..LANE_CLASSES).map(move |class| lists + class * lanes * 8)
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

/// Whether the memory 0 of a program grows by its heap and by nothing else. The program does not say how large it is to be,
/// so it may have its last size from the beginning. It does where several threads run: none of them has to ask how far
/// another has made it grow.
pub fn grows_by_heap(program: &Program) -> bool {
    let grows = |op| matches!(op, Op::MemoryGrow | Op::MemoryGrow64);
    allocates(program) && !instructions(&program.code).any(|(_, inst)| inst.is_ok_and(|inst| grows(inst.op)))
}

impl Store {
    /// Makes a memory as large as it may become. What that adds is its heap's.
    pub(super) fn fix_memory(&mut self, memory: u32) -> DeviceResult<()> {
        let at = self.memory_infos[memory as usize].record;
        let mut record = self.fetch::<layout::Memory>(at)?;
        let last = u64::from(record.heap.page_limit);
        // Address 0 is no block.
        let first = (record.size / layout::PAGE).max(1);
        if first >= last {
            return Ok(());
        }
        self.change_free(&mut record, first..last, true)?;
        record.size = last * layout::PAGE;
        // SAFETY: the memory's record; no kernel runs. All bytes up to the limit are allocated, and still 0.
        unsafe { self.device.write(at, bytemuck::bytes_of(&record)) }
    }

    /// Adds pages to the free ones of a heap, or takes them away.
    fn change_free(&mut self, record: &mut layout::Memory, pages: Range<u64>, add: bool) -> DeviceResult<()> {
        if pages.is_empty() {
            return Ok(());
        }
        // The set's summary and its words: see `kernel/heap/page_bitmap.h`.
        let words = (record.heap.page_limit as usize).div_ceil(64);
        let mut set = vec![0u64; words.div_ceil(64) + words];
        // SAFETY: the heap's set of free pages, which has these words; no kernel runs.
        unsafe { self.device.read(record.heap.sets, bytemuck::cast_slice_mut(&mut set))? };
        let (summary, words) = set.split_at_mut(words.div_ceil(64));
        for page in pages.clone() {
            let (word, bit) = ((page / 64) as usize, 1u64 << (page % 64));
            if add {
                words[word] |= bit;
                summary[word / 64] |= 1 << (word % 64);
            } else {
                // The summary's bit may outlive the word's.
                words[word] &= !bit;
            }
        }
        let count = (pages.end - pages.start) as u32;
        record.heap.held = match add {
            true => record.heap.held + count,
            false => record.heap.held - count,
        };
        // SAFETY: as above.
        unsafe { self.device.write(record.heap.sets, bytemuck::cast_slice(&set)) }
    }

    /// Of each page that the heap may have, whether it is the heap's and free.
    pub(super) fn free_pages(&mut self, memory: &layout::Memory) -> DeviceResult<Vec<bool>> {
        let (at, words) = free_set(&memory.heap);
        let mut free = vec![0u64; words];
        // SAFETY: the heap's set of free pages; no kernel runs.
        unsafe { self.device.read(at, bytemuck::cast_slice_mut(&mut free))? };
        Ok((0..words * 64)
            .map(|page| free[page / 64] >> (page % 64) & 1 == 1)
            .collect())
    }

    /// Bytes of the longest run of free pages that [`Store::take_pages`] may take from.
    pub(super) fn free_room(&mut self, memory: u32, before: Range<u64>) -> DeviceResult<u64> {
        let mut longest = 0;
        self.search_pages(memory, before, |_, run| {
            longest = run.max(longest);
            false
        })?;
        Ok(longest * layout::PAGE)
    }

    /// Takes so many adjacent pages from the free ones of a memory that has its last size, or from those that were taken
    /// `before`, which become free; the highest that there are. Returns the first.
    pub(super) fn take_pages(&mut self, memory: u32, count: u64, before: Range<u64>) -> DeviceResult<Option<u64>> {
        let at = self.memory_infos[memory as usize].record;
        let mut record = self.fetch::<layout::Memory>(at)?;
        let first = match count {
            0 => Some(u64::from(record.heap.page_limit)),
            _ => self.search_pages(memory, before.clone(), |_, run| run >= count)?,
        };
        if let Some(first) = first {
            self.change_free(&mut record, before, true)?;
            self.change_free(&mut record, first..first + count, false)?;
            // SAFETY: as for `fix_memory`.
            unsafe { self.device.write(at, bytemuck::bytes_of(&record))? };
        }
        Ok(first)
    }

    /// The highest page for which `is_it` is true, of the pages that are free or taken `before`; it is told how many
    /// adjacent ones there are from that page on.
    fn search_pages(
        &mut self,
        memory: u32,
        before: Range<u64>,
        mut is_it: impl FnMut(u64, u64) -> bool,
    ) -> DeviceResult<Option<u64>> {
        let record = self.fetch::<layout::Memory>(self.memory_infos[memory as usize].record)?;
        let free = self.free_pages(&record)?;
        let is_free = |page: u64| before.contains(&page) || free[page as usize];
        let mut run = 0;
        Ok((0..u64::from(record.heap.page_limit)).rev().find(|page| {
            run = if is_free(*page) { run + 1 } else { 0 };
            run > 0 && is_it(*page, run)
        }))
    }

    /// Sets up in memory 0 of an instance what its heap needs, if the program uses one.
    pub(super) fn prepare_heap(&mut self, program: &Program, memories: &[u32]) -> DeviceResult<()> {
        let Some(memory) = memories.first().filter(|_| allocates(program)) else {
            return Ok(());
        };
        let at = self.memory_infos[*memory as usize].record;
        let mut record = self.fetch::<layout::Memory>(at)?;
        if record.heap.pages != 0 {
            return Ok(());
        }
        // Addresses have 32 bits, and so has the one after a block's end.
        let pages = (record.limit / layout::PAGE).min((1 << 16) - 1);
        let words = pages.div_ceil(64);
        let set_bytes = (words + words.div_ceil(64)) * 8;
        let (pages_at, sets_at) = (0, pages * size_of::<HeapPage>() as u64);
        let slots_at = sets_at + set_bytes * (1 + HEAP_CLASSES as u64);
        let inboxes_at = slots_at + HEAP_CLASSES as u64 * HEAP_GROUPS * 8;
        let checks = self.limits.heap;
        // A checked heap sees every allocation and every free.
        let lanes = match checks == HeapChecks::NONE {
            true => (pages * layout::PAGE / BYTES_PER_LANE).min(MOST_LANES),
            false => 0,
        };
        let records = if lanes == 0 {
            0
        } else {
            pages * (layout::PAGE / LANE_SLAB)
        };
        // Records are read as words of 16 bytes.
        let slabs_at = (inboxes_at + 4 * lanes).next_multiple_of(size_of::<LaneSlab>() as u64);
        let lists_at = slabs_at + records * size_of::<LaneSlab>() as u64;
        let bytes = lists_at + lanes * LISTS * 8;
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
            lane_lists: base + lists_at,
            lane_slabs: base + slabs_at,
            lane_inboxes: base + inboxes_at,
            lanes: lanes as u32,
            lane_records: records as u32,
            page_limit: pages as u32,
            ..bytemuck::Zeroable::zeroed()
        };
        self.memory_infos[*memory as usize].lanes = LaneHeaps {
            lists: record.heap.lane_lists,
            slabs: record.heap.lane_slabs,
            lanes: record.heap.lanes,
            records: record.heap.lane_records,
        };
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
        for (class, count) in self.lane_counts(&heap)?.into_iter().enumerate() {
            classes[class].allocated += count;
        }
        let slabs = self.lane_slabs(&record)?;
        for (index, slab) in slabs.iter().enumerate().filter(|(_, slab)| slab.owner != 0) {
            let (class, blocks) = ((slab.owner >> 7 & 31) as usize, slab.owner & 127);
            let two = class_size(class) as u64 * 2 > LANE_SLAB;
            if two && index % 2 == 1 {
                continue;
            }
            // For the records of its page, a lane's slab is a block that is handed out.
            let page = &pages[index * LANE_SLAB as usize / layout::PAGE as usize];
            let outer = &mut classes[Head::new(&pages[page.first as usize]).class];
            outer.live -= 1;
            let bytes = u64::from(outer.size);
            outer.held_bytes = outer.held_bytes.saturating_sub(bytes);
            let live = u64::from(blocks - (slab.free | slab.freed).count_ones());
            classes[class].live += live;
            classes[class].held_bytes += bytes;
            stats.live_bytes += live * u64::from(classes[class].size);
            stats.live_bytes -= bytes;
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

    /// Blocks that lanes took of their own slabs, by class.
    fn lane_counts(&mut self, heap: &Heap) -> DeviceResult<Vec<u64>> {
        let mut counts = vec![0; LANE_CLASSES as usize];
        let mut lists = vec![0u64; heap.lanes_used as usize];
        if lists.is_empty() {
            return Ok(counts);
        }
        for (count, at) in counts.iter_mut().zip(lane_lists(heap)) {
            // SAFETY: the lists of one class; no kernel runs.
            unsafe { self.device.read(at, bytemuck::cast_slice_mut(&mut lists))? };
            *count = lists.iter().map(|list| list >> 32).sum();
        }
        Ok(counts)
    }

    /// The records of lanes' slabs, as far as memory was grown.
    fn lane_slabs(&mut self, memory: &layout::Memory) -> DeviceResult<Vec<LaneSlab>> {
        if memory.heap.lanes_used == 0 {
            return Ok(Vec::new());
        }
        let records = (memory.size / LANE_SLAB).min(u64::from(memory.heap.lane_records));
        let mut slabs: Vec<LaneSlab> = vec![bytemuck::Zeroable::zeroed(); records as usize];
        // SAFETY: the heap's records; no kernel runs.
        unsafe {
            self.device
                .read(memory.heap.lane_slabs, bytemuck::cast_slice_mut(&mut slabs))?
        };
        Ok(slabs)
    }

    /// Pages up to the last one that is not free. A memory that has its last size has many after it. A checked heap has
    /// records of what was freed.
    fn pages_in_use(&mut self, memory: &layout::Memory) -> DeviceResult<u64> {
        let pages = (memory.size / layout::PAGE).min(memory.heap.page_limit as u64);
        if memory.heap.sites != 0 {
            return Ok(pages);
        }
        let free = self.free_pages(memory)?;
        let last = free[..pages as usize].iter().rposition(|free| !free);
        Ok(last.map_or(0, |last| last as u64 + 1))
    }

    /// The records of the heap's pages, as far as they are used.
    pub(super) fn heap_pages(&mut self, memory: &layout::Memory) -> DeviceResult<Vec<HeapPage>> {
        if memory.heap.pages == 0 || memory.heap.held == 0 {
            return Ok(Vec::new());
        }
        let pages = self.pages_in_use(memory)?;
        let mut records: Vec<HeapPage> = vec![bytemuck::Zeroable::zeroed(); pages as usize];
        // SAFETY: the heap's records; no kernel runs.
        unsafe {
            self.device
                .read(memory.heap.pages, bytemuck::cast_slice_mut(&mut records))?
        };
        Ok(records)
    }
}
