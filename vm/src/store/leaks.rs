//! Blocks of a checked heap: which call made one, and which cannot be reached any more.
//!
//! A block leaked if no word points to it or into it, in memory outside of blocks or in a block that can be reached.
//! What statics hold to the end is no leak. Stacks are left out where it is known that they are only that, because the
//! threads have ended and what lies there is stale.

use std::collections::BTreeMap;
use std::ops::Range;

use gpu_run_bytecode::SegmentMode;

use super::heap::Head;
use super::{InstanceId, Store, StoreError};
use crate::device::DeviceResult;
use crate::fault::{Backtrace, HeapFault};
use crate::layout::{self, HeapPage, HeapSite, KIND_NONE, KIND_REGION, PAGE, SITE_GRAIN};

/// Blocks that the same calls made and that cannot be reached.
#[derive(Clone, Debug)]
pub struct Leak {
    /// How many.
    pub blocks: u64,
    /// Bytes of them together, as they were asked for.
    pub bytes: u64,
    /// The calls that led to each.
    pub allocated: Backtrace,
}

/// A block that is handed out.
struct Block {
    address: u64,
    site: HeapSite,
    reached: bool,
}

impl Store {
    /// Blocks in an instance's memory 0 that cannot be reached any more, the most bytes first. Of a heap with
    /// [`HeapChecks::leaks`](super::HeapChecks), after a run whose threads have returned.
    ///
    /// # Errors
    ///
    /// Of the device.
    pub fn leaks(&mut self, instance: InstanceId) -> Result<Vec<Leak>, StoreError> {
        let stacks = self.stacks(instance)?;
        self.leaks_from(instance, &stacks, &[])
    }

    /// The same after a run that a thread has ended by an exit. What open calls hold, in registers and on their stacks,
    /// is no leak. `None` if that is not known. On a GPU registers are gone when the kernel has ended, and compiled
    /// code keeps none in the interpreter's frames.
    ///
    /// # Errors
    ///
    /// Of the device.
    pub fn leaks_at_exit(&mut self, instance: InstanceId) -> Result<Option<Vec<Leak>>, StoreError> {
        let Some(registers) = self.registers_at_exit()? else {
            return Ok(None);
        };
        let mut stacks = self.stacks(instance)?;
        // Of a single thread the part above its stack pointer is in use; of several it is not known which.
        stacks.retain(|stack| *stack != self.run.stacks);
        self.leaks_from(instance, &stacks, &registers).map(Some)
    }

    /// Bytes of registers that hold all those of calls that were open when a thread ended the run, and few others.
    fn registers_at_exit(&mut self) -> DeviceResult<Option<Vec<u8>>> {
        if self.device.as_compiled().is_some() {
            return Ok(None);
        }
        let launch = self.fetch::<layout::Launch>(self.run.launch)?;
        // Frames of one thread follow each other, and overlap.
        let open = self.open_units(self.run.control).filter(|_| launch.thread_count == 1);
        let ranges = match open.filter(|units| *units <= u64::from(launch.lane_segment_units)) {
            Some(units) => vec![(self.run.lane_segments.ptr, units * 4)],
            None => {
                let arena = self.fetch::<layout::Arena>(self.run.arena_record)?;
                // Threads that take turns have all their frames in the arena.
                let own = if launch.multiplexed == 0 { launch.lanes } else { 0 };
                let lane_segments = u64::from(own) * u64::from(launch.lane_segment_units) * 4;
                vec![
                    (self.run.lane_segments.ptr, lane_segments),
                    (arena.base, arena.used.min(arena.size)),
                ]
            }
        };
        let mut all = Vec::new();
        for (at, len) in ranges {
            let mut bytes = vec![0; len as usize];
            // SAFETY: the run's registers, which are allocated with that size and more; no kernel runs.
            unsafe { self.device.read(at, &mut bytes)? };
            all.extend(bytes);
        }
        Ok(Some(all))
    }

    /// Blocks that can be reached neither from memory without `stacks` nor from `registers`.
    fn leaks_from(
        &mut self,
        instance: InstanceId,
        stacks: &[Range<usize>],
        registers: &[u8],
    ) -> Result<Vec<Leak>, StoreError> {
        let Some(index) = self.instance_infos[instance.0 as usize].memories.first().copied() else {
            return Ok(Vec::new());
        };
        let record = self.fetch::<layout::Memory>(self.memory_infos[index as usize].record)?;
        if record.heap.sites == 0 || record.heap.held == 0 {
            return Ok(Vec::new());
        }
        let pages = self.heap_pages(&record)?;
        let sites = self.sites(&record, pages.len())?;
        let bytes = self.memory(index)?;
        let mut blocks = live_blocks(&pages, &sites, record.heap.guards != 0);
        let mut roots = self.guest_pages(&record, &pages)?;
        for stack in stacks {
            roots = roots.into_iter().flat_map(|range| without(range, stack)).collect();
        }
        let mut found: Vec<usize> = Vec::new();
        follow(registers, &mut blocks, &mut found);
        for range in roots {
            let words = &bytes[range.start.min(bytes.len())..range.end.min(bytes.len())];
            follow(words, &mut blocks, &mut found);
        }
        let globals = self.globals_bytes()?;
        follow(&globals, &mut blocks, &mut found);
        while let Some(index) = found.pop() {
            let block = &blocks[index];
            let (start, len) = (block.address as usize, block.site.size as usize);
            let end = (start + len).min(bytes.len());
            follow(&bytes[start.min(end)..end], &mut blocks, &mut found);
        }
        let mut leaks: BTreeMap<(u32, [u32; layout::SITE_CALLS]), (u64, u64)> = BTreeMap::new();
        for block in blocks.iter().filter(|block| !block.reached) {
            let leak = leaks.entry((block.site.pc, block.site.calls)).or_default();
            leak.0 += 1;
            leak.1 += block.site.size as u64;
        }
        let mut leaks: Vec<Leak> = (leaks.into_iter())
            .map(|((pc, calls), (blocks, bytes))| Leak {
                blocks,
                bytes,
                allocated: self.calls(pc, &calls),
            })
            .collect();
        leaks.sort_by_key(|leak| std::cmp::Reverse(leak.bytes));
        Ok(leaks)
    }

    /// What is known of the block that a trap of the heap was about.
    pub(super) fn heap_fault(&mut self, address: u32) -> HeapFault {
        let mut fault = HeapFault {
            address,
            block: None,
            damaged_at_end: None,
        };
        for index in 0..self.memory_infos.len() {
            let Ok(record) = self.fetch::<layout::Memory>(self.memory_infos[index].record) else {
                continue;
            };
            let limit = record.heap.page_limit as u64 * PAGE;
            if record.heap.sites == 0 || address as u64 >= limit {
                continue;
            }
            // How far the program's block lies after the heap's, only the record says.
            let powers = (4..)
                .map(|bits| 1u64 << bits)
                .take_while(|front| *front <= layout::GUARD_FRONT_MOST);
            let fronts = powers.filter(|_| record.heap.guards != 0).chain([0]);
            for start in fronts.filter_map(|front| (address as u64).checked_sub(front)) {
                let at = record.heap.sites + start / SITE_GRAIN * size_of::<HeapSite>() as u64;
                if let Ok(site) = self.fetch::<HeapSite>(at)
                    && site.kind() != 0
                    && start + site.front(record.heap.guards != 0) == address as u64
                {
                    fault.block = Some((site.size, self.calls(site.pc, &site.calls)));
                    break;
                }
            }
        }
        fault
    }

    /// The calls that a block's record names.
    pub(super) fn calls(&self, pc: u32, calls: &[u32]) -> Backtrace {
        let mut places = if pc == 0 { Vec::new() } else { self.places(pc) };
        for call in calls.iter().take_while(|call| **call != 0) {
            places.extend(self.places(call - 1));
        }
        Backtrace {
            places,
            ..Backtrace::default()
        }
    }

    /// The records of the blocks in the first `pages` pages.
    pub(super) fn sites(&mut self, memory: &layout::Memory, pages: usize) -> DeviceResult<Vec<HeapSite>> {
        let count = pages * (PAGE / SITE_GRAIN) as usize;
        let mut sites: Vec<HeapSite> = vec![bytemuck::Zeroable::zeroed(); count];
        // SAFETY: the heap's records; no kernel runs.
        unsafe {
            self.device
                .read(memory.heap.sites, bytemuck::cast_slice_mut(&mut sites))?
        };
        Ok(sites)
    }

    /// Bytes of the block of globals.
    fn globals_bytes(&mut self) -> DeviceResult<Vec<u8>> {
        let mut bytes = vec![0; self.globals.len as usize];
        if !bytes.is_empty() {
            // SAFETY: the store's; no kernel runs.
            unsafe { self.device.read(self.globals.ptr, &mut bytes)? };
        }
        Ok(bytes)
    }

    /// Parts of memory that are not the heap's.
    fn guest_pages(&mut self, memory: &layout::Memory, pages: &[HeapPage]) -> DeviceResult<Vec<Range<usize>>> {
        let free = self.free_pages(memory)?;
        let mut guest: Vec<bool> = free.iter().take(pages.len()).map(|free| !free).collect();
        for (page, record) in pages.iter().enumerate() {
            let end = (page + Head::new(record).pages() as usize).min(guest.len());
            guest[page.min(end)..end].fill(false);
        }
        let page = |index: usize| index * PAGE as usize..(index + 1) * PAGE as usize;
        let pages = guest.iter().enumerate().filter(|(_, guest)| **guest);
        Ok(pages.map(|(index, _)| page(index)).collect())
    }

    /// Parts of memory that are stacks and nothing else.
    fn stacks(&mut self, instance: InstanceId) -> DeviceResult<Vec<Range<usize>>> {
        let info = &self.instance_infos[instance.0 as usize];
        let program = info.program.clone();
        let pointer = program.meta.stack_pointer.map(|global| info.globals[global as usize]);
        let mut stacks = vec![self.run.stacks.clone()];
        if let Some(pointer) = pointer {
            let top = self.global(pointer)?.bits() as u32 as usize;
            // Linkers put the stack below all data or after it. After it, nothing says where it begins.
            let above = program.data.iter().all(|segment| match &segment.mode {
                SegmentMode::Active { offset, .. } => {
                    matches!(offset[..], [gpu_run_bytecode::ConstOp::I32(at)] if at as u32 as usize >= top)
                }
                _ => true,
            });
            if above {
                stacks.push(0..top);
            }
        }
        Ok(stacks)
    }
}

/// A range but for what it shares with another.
fn without(range: Range<usize>, hole: &Range<usize>) -> Vec<Range<usize>> {
    if hole.end <= range.start || range.end <= hole.start {
        return vec![range];
    }
    let parts = [
        range.start..hole.start.max(range.start),
        hole.end.min(range.end)..range.end,
    ];
    parts.into_iter().filter(|part| part.start < part.end).collect()
}

/// Where a slab or region has a block, or may have one.
pub(super) struct HeapBlock {
    pub(super) address: u64,
    /// As many as the heap allocated for it.
    pub(super) bytes: u64,
    /// It is handed out, or about to be.
    pub(super) used: bool,
}

/// Calls `each` for the places of all blocks, by address.
pub(super) fn each_block(pages: &[HeapPage], mut each: impl FnMut(&HeapBlock)) {
    for (page, record) in pages.iter().enumerate() {
        let (head, start) = (Head::new(record), page as u64 * PAGE);
        match head.kind {
            KIND_NONE => {}
            KIND_REGION => each(&HeapBlock {
                address: start,
                bytes: head.pages() * PAGE,
                used: true,
            }),
            _ => {
                for block in 0..head.capacity.min(record.bits.len() as u64 * 64) {
                    each(&HeapBlock {
                        address: start + block * head.size(),
                        bytes: head.size(),
                        used: record.bits[block as usize / 64] >> (block % 64) & 1 == 1,
                    });
                }
            }
        }
    }
}

/// The blocks that are handed out, by address.
fn live_blocks(pages: &[HeapPage], sites: &[HeapSite], guards: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    each_block(pages, |place| {
        if let Some(site) = sites.get((place.address / SITE_GRAIN) as usize)
            && place.used
            && site.kind() == layout::SITE_LIVE
        {
            blocks.push(Block {
                address: place.address + site.front(guards),
                site: *site,
                reached: false,
            });
        }
    });
    blocks
}

/// Marks the blocks to which words point, and adds those that were not reached before to `found`.
fn follow(bytes: &[u8], blocks: &mut [Block], found: &mut Vec<usize>) {
    for word in bytes.chunks_exact(4) {
        let address = u32::from_le_bytes([word[0], word[1], word[2], word[3]]) as u64;
        let after = blocks.partition_point(|block| block.address <= address);
        let Some(index) = after.checked_sub(1) else {
            continue;
        };
        let block = &mut blocks[index];
        // A pointer past the last byte is one too, as of an iterator at its end; a block of no bytes has only that.
        if !block.reached && address <= block.address + block.site.size as u64 {
            block.reached = true;
            found.push(index);
        }
    }
}

impl layout::HeapSite {
    /// [`layout::SITE_LIVE`], [`layout::SITE_FREED`], or 0 if nothing is known of a block.
    pub(super) fn kind(&self) -> u32 {
        self.state & ((1 << layout::SITE_ALIGN) - 1)
    }

    /// Bytes from the start of the heap's block to the program's, which has guard bytes in front of it or not.
    pub(super) fn front(&self, guards: bool) -> u64 {
        match 1u64 << (self.state >> layout::SITE_ALIGN & 31) {
            align if !guards || align > layout::GUARD_FRONT_MOST => 0,
            align => align.max(layout::GUARD_FRONT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_without_a_hole() {
        let left = |range: Range<usize>, hole: Range<usize>| -> Vec<(usize, usize)> {
            without(range, &hole)
                .iter()
                .map(|part| (part.start, part.end))
                .collect()
        };
        assert_eq!(left(0..10, 3..5), [(0, 3), (5, 10)]);
        assert_eq!(left(0..10, 0..10), []);
        assert_eq!(left(0..10, 5..20), [(0, 5)]);
        assert_eq!(left(5..10, 0..7), [(7, 10)]);
        assert_eq!(left(5..10, 0..5), [(5, 10)]);
    }

    #[test]
    fn pointers_reach_blocks_and_what_they_hold() {
        let block = |address, size| Block {
            address,
            site: HeapSite {
                size,
                state: layout::SITE_LIVE,
                ..bytemuck::Zeroable::zeroed()
            },
            reached: false,
        };
        let mut blocks = [block(1000, 10), block(2000, 0), block(3000, 8)];
        let mut found = Vec::new();
        let words: Vec<u8> = [999u32, 1011, 2000, 3004, 4000, 3000]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        follow(&words, &mut blocks, &mut found);
        assert_eq!(found, [1, 2]);
        assert!(!blocks[0].reached);
    }
}
