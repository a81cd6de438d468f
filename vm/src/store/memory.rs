//! Linear memories between runs: their sizes and ranges of their bytes.

use std::ops::Range;

use super::Store;
use crate::device::DeviceResult;
use crate::layout;

impl Store {
    /// Bytes that a memory has now.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn memory_size(&mut self, memory: u32) -> DeviceResult<u64> {
        Ok(self.memory_record(memory)?.size)
    }

    /// The contents of a memory.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn memory(&mut self, memory: u32) -> DeviceResult<Vec<u8>> {
        let mut bytes = vec![0; self.memory_size(memory)? as usize];
        self.read_memory(memory, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the bytes from address `at` on. False if they do not all lie in the memory; then none is read.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn read_memory(&mut self, memory: u32, at: u64, bytes: &mut [u8]) -> DeviceResult<bool> {
        let Some(range) = self.memory_range(memory, at, bytes.len())? else {
            return Ok(false);
        };
        // SAFETY: the range lies in what was allocated, and no kernel runs while the store is borrowed.
        unsafe { self.device.read(range.start, bytes)? };
        Ok(true)
    }

    /// Writes bytes from address `at` on. False if they do not all lie in the memory; then none is written.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn write_memory(&mut self, memory: u32, at: u64, bytes: &[u8]) -> DeviceResult<bool> {
        let Some(range) = self.memory_range(memory, at, bytes.len())? else {
            return Ok(false);
        };
        // SAFETY: as for `read_memory`.
        unsafe { self.device.write(range.start, bytes)? };
        Ok(true)
    }

    /// Grows a memory by that many pages. Returns how many it had, or `None` where `memory.grow` would fail.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn grow_memory(&mut self, memory: u32, pages: u64) -> DeviceResult<Option<u64>> {
        let mut record = self.memory_record(memory)?;
        let before = record.size;
        let size = pages
            .checked_mul(layout::PAGE)
            .and_then(|bytes| before.checked_add(bytes));
        let Some(size) = size.filter(|size| *size <= record.limit) else {
            return Ok(None);
        };
        record.size = size;
        let at = self.memory_infos[memory as usize].record;
        // SAFETY: the memory's own record, and no kernel runs. All bytes up to the limit are allocated, and still 0.
        unsafe { self.device.write(at, bytemuck::bytes_of(&record))? };
        Ok(Some(before / layout::PAGE))
    }

    fn memory_record(&mut self, memory: u32) -> DeviceResult<layout::Memory> {
        self.fetch(self.memory_infos[memory as usize].record)
    }

    /// Where so many bytes of a memory are on the device, if it has them all.
    fn memory_range(&mut self, memory: u32, at: u64, len: usize) -> DeviceResult<Option<Range<layout::Ptr>>> {
        let record = self.memory_record(memory)?;
        let end = at.checked_add(len as u64).filter(|end| *end <= record.size);
        Ok(end.map(|end| record.base + at..record.base + end))
    }
}
