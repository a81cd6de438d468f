//! Dividing address ranges: memory that was allocated in large pieces is handed out in blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::layout::Ptr;

/// Blocks begin at multiples of this.
const GRAIN: u64 = 256;

/// Free and used blocks of some pieces of memory, which it never touches. The first block that fits is
/// taken; blocks that are given back join their free neighbours.
#[derive(Default)]
pub(crate) struct Arena {
    /// Free blocks: start and bytes.
    free: BTreeMap<Ptr, u64>,
    used: HashMap<Ptr, u64>,
    /// Starts of the pieces: no block reaches from one into another.
    pieces: BTreeSet<Ptr>,
}

impl Arena {
    /// Bytes of a piece that holds a block of `bytes`.
    pub(crate) fn piece_for(bytes: u64) -> u64 {
        bytes.max(1).saturating_add(2 * GRAIN) / GRAIN * GRAIN
    }

    /// Adds a piece of memory.
    pub(crate) fn add(&mut self, start: Ptr, bytes: u64) {
        let first = start.next_multiple_of(GRAIN);
        let end = (start + bytes) / GRAIN * GRAIN;
        if first < end {
            self.pieces.insert(first);
            self.free.insert(first, end - first);
        }
    }

    /// Takes a block of at least `bytes`.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<Ptr> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRAIN)?;
        let (&start, &size) = self.free.iter().find(|(_, size)| **size >= bytes)?;
        self.free.remove(&start);
        if size > bytes {
            self.free.insert(start + bytes, size - bytes);
        }
        self.used.insert(start, bytes);
        Some(start)
    }

    /// Whether a block begins here.
    pub(crate) fn has(&self, block: Ptr) -> bool {
        self.used.contains_key(&block)
    }

    /// Frees a block; an address at which none begins changes nothing.
    pub(crate) fn give(&mut self, block: Ptr) {
        let Some(mut bytes) = self.used.remove(&block) else {
            return;
        };
        let mut start = block;
        let next = start + bytes;
        if !self.pieces.contains(&next)
            && let Some(size) = self.free.remove(&next)
        {
            bytes += size;
        }
        if !self.pieces.contains(&start)
            && let Some((&before, &size)) = self.free.range(..start).next_back()
            && before + size == start
        {
            start = before;
            bytes += size;
        }
        self.free.insert(start, bytes);
    }

    /// Bytes of all free blocks.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_join_again() {
        let mut arena = Arena::default();
        arena.add(1000, 10_000);
        let whole = arena.free_bytes();
        assert!(whole > 10_000 - 2 * GRAIN);
        let blocks: Vec<Ptr> = (1..=6).map(|i| arena.take(i * 200).unwrap()).collect();
        for (i, block) in blocks.iter().enumerate() {
            assert_eq!(block % GRAIN, 0);
            assert!(*block >= 1000 && block + (i as u64 + 1) * 200 <= 11_000);
            assert!(
                blocks
                    .iter()
                    .all(|other| other <= block || *other >= block + (i as u64 + 1) * 200)
            );
        }
        // In an order in which blocks meet free ones before, after, and on both sides.
        for i in [1, 0, 5, 3, 4, 2] {
            assert!(arena.has(blocks[i]));
            arena.give(blocks[i]);
            assert!(!arena.has(blocks[i]));
        }
        assert_eq!(arena.free.len(), 1);
        assert_eq!(arena.free_bytes(), whole);
        assert_eq!(arena.take(whole + 1), None);
        assert_eq!(arena.take(u64::MAX), None);
        assert_eq!(arena.take(whole), Some(1024));
    }

    #[test]
    fn pieces_side_by_side_stay_apart() {
        let mut arena = Arena::default();
        arena.add(4096, 4096);
        arena.add(8192, 4096);
        let (first, second) = (arena.take(4096).unwrap(), arena.take(4096).unwrap());
        arena.give(second);
        arena.give(first);
        assert_eq!(arena.take(8192), None);
        assert_eq!(arena.take(4096), Some(4096));
    }

    #[test]
    fn a_piece_holds_the_block_that_it_is_for() {
        for start in [0x1000, 0x1001, 0x10ff] {
            for bytes in [0, 1, 255, 256, 257, 100_000] {
                let mut arena = Arena::default();
                arena.add(start, Arena::piece_for(bytes));
                assert!(arena.take(bytes).is_some(), "{bytes} bytes at {start:#x}");
            }
        }
    }
}
