//! Blocks of a checked heap that were written where the program may not write, found when it has ended.
//! `kernel/heap/check.h` looks when a block is freed or handed out again; this is for blocks to which neither happened.

use gpu_run_bytecode::TrapKind;

use super::leaks::{HeapBlock, each_block};
use super::{InstanceId, Store, StoreError};
use crate::device::DeviceResult;
use crate::fault::{Backtrace, Fault};
use crate::layout::{
    self, GUARD, GUARD_LEAST, GUARD_MOST, HEAP_LARGEST, HeapSite, PAGE, POISON, POISON_MOST, SITE_FREED, SITE_GRAIN,
    SITE_LIVE,
};

impl Store {
    /// The first damaged block in an instance's memory 0: its guard bytes were written while it is live, or its poison
    /// after it was freed. It is returned as the fault that the heap would have found, which also says how many there
    /// are in all. For a heap with [`HeapChecks::guards`](super::HeapChecks), after a run
    /// that has ended by itself.
    ///
    /// Freed blocks are checked as long as it is known where they were. That is until their slab is given up.
    ///
    /// # Errors
    ///
    /// Of the device.
    pub fn heap_damage(&mut self, instance: InstanceId) -> Result<Option<Fault>, StoreError> {
        let Some(index) = self.instance_infos[instance.0 as usize].memories.first().copied() else {
            return Ok(None);
        };
        let record = self.fetch::<layout::Memory>(self.memory_infos[index as usize].record)?;
        if record.heap.sites == 0 || record.heap.guards == 0 || record.heap.held == 0 {
            return Ok(None);
        }
        let pages = self.heap_pages(&record)?;
        let sites = self.sites(&record, pages.len())?;
        let bytes = self.memory(index)?;
        let mut found: Vec<(u64, TrapKind)> = Vec::new();
        let mut look = |place: &HeapBlock| found.extend(damage(place, &sites, &bytes));
        each_block(&pages, &mut look);
        self.freed_regions(&record, &sites)?.iter().for_each(&mut look);
        found.sort_by_key(|(address, _)| *address);
        let Some(&(address, kind)) = found.first() else {
            return Ok(None);
        };
        let mut heap = self.heap_fault(address as u32);
        heap.damaged_at_end = Some(found.len() as u64);
        Ok(Some(Fault {
            kind,
            thread: 0,
            backtrace: Backtrace::default(),
            heap: Some(heap),
        }))
    }

    /// Blocks of whole pages that were freed and whose first page has been free since.
    fn freed_regions(&mut self, memory: &layout::Memory, sites: &[HeapSite]) -> DeviceResult<Vec<HeapBlock>> {
        let free = self.free_pages(memory)?;
        let per_page = (PAGE / SITE_GRAIN) as usize;
        let pages = sites.chunks_exact(per_page).zip(free).enumerate();
        // A smaller block may have been in a slab, and begun past the page's first byte.
        let region = |site: &HeapSite| {
            site.kind() == SITE_FREED && site.size as u64 + site.front(true) + GUARD_LEAST > HEAP_LARGEST
        };
        Ok(pages
            .filter(|(_, (sites, free))| *free && region(&sites[0]))
            .map(|(page, _)| HeapBlock {
                address: page as u64 * PAGE,
                bytes: PAGE,
                used: false,
            })
            .collect())
    }
}

/// What is wrong with a block, and its address as the program knows it.
fn damage(place: &HeapBlock, sites: &[HeapSite], memory: &[u8]) -> Option<(u64, TrapKind)> {
    let site = sites.get((place.address / SITE_GRAIN) as usize)?;
    let front = site.front(true);
    let (start, end) = (place.address + front, place.address + place.bytes);
    let behind = start + site.size as u64;
    let holds = |from: u64, to: u64, value: u8| {
        let to = (to as usize).min(memory.len());
        memory[(from as usize).min(to)..to].iter().all(|byte| *byte == value)
    };
    let kind = match (site.kind(), place.used) {
        (SITE_LIVE, true) if !holds(start - front.min(GUARD_MOST), start, GUARD) => TrapKind::HeapUnderrun,
        (SITE_LIVE, true) if !holds(behind, (behind + GUARD_MOST).min(end), GUARD) => TrapKind::HeapOverrun,
        (SITE_FREED, false) if !holds(start, behind.min(start + POISON_MOST).min(end), POISON) => {
            TrapKind::HeapWrittenAfterFree
        }
        _ => return None,
    };
    Some((start, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of 128 bytes at 256 that holds 100, with a byte changed.
    fn found(state: u32, used: bool, fill: u8, changed: Option<usize>) -> Option<TrapKind> {
        let mut memory = vec![fill; 512];
        if let Some(at) = changed {
            memory[at] = 0;
        }
        let site = HeapSite {
            size: 100,
            state,
            ..bytemuck::Zeroable::zeroed()
        };
        let place = HeapBlock {
            address: 256,
            bytes: 128,
            used,
        };
        damage(&place, &[site; 8], &memory).map(|(_, kind)| kind)
    }

    #[test]
    fn guards_are_on_both_sides_of_a_block() {
        assert_eq!(found(SITE_LIVE, true, GUARD, None), None);
        let (under, over) = (TrapKind::HeapUnderrun, TrapKind::HeapOverrun);
        for (at, kind) in [
            (255, None),
            (256, Some(under)),
            (271, Some(under)),
            (272, None),
            (371, None),
            (372, Some(over)),
            (383, Some(over)),
            (384, None),
        ] {
            assert_eq!(found(SITE_LIVE, true, GUARD, Some(at)), kind, "{at}");
        }
    }

    #[test]
    fn poison_is_where_the_program_could_write() {
        assert_eq!(found(SITE_FREED, false, POISON, None), None);
        for (at, wrong) in [(271, false), (272, true), (371, true), (372, false)] {
            let kind = found(SITE_FREED, false, POISON, Some(at));
            assert_eq!(kind, wrong.then_some(TrapKind::HeapWrittenAfterFree), "{at}");
        }
        // On its way to the next owner.
        assert_eq!(found(SITE_FREED, true, 0, None), None);
    }
}
