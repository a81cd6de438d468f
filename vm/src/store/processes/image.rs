//! With what all processes of a batch begin, as the device has it.

use std::ops::Range;

use super::super::{Store, StoreError};
use super::Changes;
use crate::layout::{self, ImagePiece, Ptr};

/// Bytes that are 0 between two parts of the memory that are kept apart.
const GAP: usize = 256;
/// To what parts are aligned.
const ALIGN: usize = 16;

/// The state of an instance, which all processes of its program begin with.
pub(super) struct Image {
    /// The function with which they begin, and the number of its instance.
    pub(super) func: u32,
    pub(super) instance: usize,
    pub(super) memory_size: u64,
    /// Bytes that the memory may have at most.
    pub(super) most_memory: u64,
    pub(super) pieces: Ptr,
    pub(super) piece_count: u32,
    pub(super) globals: Ptr,
    pub(super) global_count: u32,
    /// If the program writes tables: what they hold, and how many elements each may have.
    pub(super) tables: Ptr,
    pub(super) table_units: Vec<u32>,
    pub(super) units: Ptr,
    /// Segments of data and of elements, if the program drops any.
    pub(super) segments: (u32, u32),
}

impl Image {
    /// Elements of all its tables.
    pub(super) fn table_room(&self) -> u64 {
        self.table_units.iter().map(|units| u64::from(*units)).sum()
    }
}

/// Parts in order, those as one that are apart by less than a gap.
fn merged(parts: impl Iterator<Item = Range<usize>>, gap: usize) -> Vec<Range<usize>> {
    parts.fold(Vec::new(), |mut merged: Vec<Range<usize>>, part| {
        match merged.last_mut() {
            Some(last) if part.start - last.end < gap => last.end = part.end,
            _ => merged.push(part),
        }
        merged
    })
}

/// The parts of a memory that are not 0: where each begins and ends, at multiples of [`ALIGN`].
fn parts(memory: &[u8]) -> Vec<Range<usize>> {
    let grains = (0..).step_by(ALIGN).zip(memory.chunks(ALIGN));
    let grains = grains.filter(|(_, grain)| grain.iter().any(|byte| *byte != 0));
    merged(grains.map(|(at, _)| at..at + ALIGN), GAP)
}

/// The same, at most so many: where there would be more, they have longer gaps in them.
pub(in crate::store) fn parts_at_most(most: usize, memory: &[u8]) -> Vec<Range<usize>> {
    let mut found = parts(memory);
    let mut gap = GAP;
    while found.len() > most.max(1) {
        gap *= 4;
        found = merged(found.into_iter(), gap);
    }
    found
}

impl Store {
    /// Notes what the instance of a function holds now.
    pub(super) fn take_image(&mut self, func: u32) -> Result<Image, StoreError> {
        let instance = self.instance_of(func);
        let info = &self.instance_infos[instance];
        let changes = Changes::of(&info.program);
        let (memory, tables) = (info.memories.first().copied(), info.tables.clone());
        let segments = match changes.segments {
            true => (info.program.data.len() as u32, info.program.meta.elements.len() as u32),
            false => (0, 0),
        };
        let memory = match memory {
            Some(memory) => self.memory(memory)?,
            None => Vec::new(),
        };
        let parts = parts(&memory);
        let bytes: Vec<u8> = parts.iter().flat_map(|part| &memory[part.clone()]).copied().collect();
        let bytes = self.place_all(&bytes, "the beginning of processes")?;
        let mut at = bytes;
        let mut pieces = Vec::new();
        for part in &parts {
            pieces.push(ImagePiece {
                bytes: at,
                at: part.start as u64,
                len: part.len() as u64,
            });
            at += part.len() as u64;
        }
        let mut globals = vec![0u8; self.globals.len as usize];
        // SAFETY: the store's globals, and no kernel runs.
        unsafe { self.device.read(self.globals.ptr, &mut globals)? };
        let (mut records, mut table_units) = (Vec::new(), Vec::new());
        for table in tables.iter().filter(|_| changes.tables) {
            let info = &self.table_infos[*table as usize];
            let most = info.ty.limits.max.unwrap_or(u64::MAX);
            let record = self.fetch::<layout::Table>(info.record)?;
            let elements = self.table_elements(&record)?;
            records.push(layout::Table {
                elements: self.place_all(&elements, "the beginning of processes")?,
                ..record
            });
            // Few programs make tables grow, and by little.
            let room = (u64::from(record.size) * 2).max(1024).min(most);
            table_units.push(room as u32);
        }
        Ok(Image {
            func,
            instance,
            most_memory: self.most_memory(func),
            memory_size: memory.len() as u64,
            pieces: self.place_all(&pieces, "the beginning of processes")?,
            piece_count: pieces.len() as u32,
            globals: self.place_all(&globals, "the beginning of processes")?,
            global_count: (globals.len() / 8) as u32,
            tables: self.place_all(&records, "the beginning of processes")?,
            units: self.place_all(&table_units, "the beginning of processes")?,
            table_units,
            segments,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_is_not_zero() {
        assert!(parts(&[0; 4096]).is_empty());
        let mut memory = vec![0; 4096];
        memory[17] = 1;
        memory[100] = 1;
        memory[4095] = 1;
        assert_eq!(parts(&memory), [16..112, 4080..4096]);
        assert_eq!(parts_at_most(2, &memory), parts(&memory));
        assert_eq!(parts_at_most(1, &memory), vec![16..4096]);
    }
}
