//! The inputs of processes on their way to the device, while its lanes run those that came before.
//!
//! The device has a record for each input, in a table that is used again and again from its begin, and a memory of blocks in
//! which the inputs' bytes are. A block is free again when all processes have ended of which it holds something: one that takes
//! long holds its block, and no other. Inputs are put together in memory of the host from which the device copies by itself.

use std::mem::offset_of;

use super::ProcessInput;
use super::slots::Slots;
use crate::device::{Device, DeviceResult, Pinned};
use crate::layout::{self, Batch, Ptr, Strings};

/// Inputs that the device holds at most at a time: a power of two.
pub(super) const ROOM: u32 = 1 << 17;
/// Bytes of a block, and blocks that there are at least.
const BLOCK: usize = 4 << 20;
const BLOCKS: usize = 64;
/// To what inputs are aligned.
const ALIGN: usize = 16;
/// Inputs and bytes of them that are brought to the device at a time.
const BROUGHT_AT_ONCE: usize = 1024;
const BROUGHT_BYTES: usize = 1 << 20;

/// The device's memory for inputs. It outlives rounds.
pub(super) struct InputMemory {
    records: Ptr,
    bytes: Ptr,
    blocks: usize,
    /// A block's bytes, as the host puts them together.
    staging: Pinned,
}

impl InputMemory {
    pub(super) fn new(device: &mut dyn Device) -> DeviceResult<InputMemory> {
        let records = u64::from(ROOM) * size_of::<layout::ProcessInput>() as u64;
        Ok(InputMemory {
            records: device.allocate(records, "inputs of processes")?,
            bytes: device.allocate((BLOCKS * BLOCK) as u64, "inputs of processes")?,
            blocks: BLOCKS,
            staging: device.allocate_pinned(BLOCK as u64)?,
        })
    }

    /// Whether it is too small for an input.
    pub(super) fn lacks(&self, input: &ProcessInput) -> bool {
        input_bytes(input) > self.blocks * BLOCK
    }

    /// Makes it large enough for an input. No kernel runs.
    pub(super) fn reserve(&mut self, device: &mut dyn Device, input: &ProcessInput) -> DeviceResult<()> {
        let blocks = input_bytes(input).div_ceil(BLOCK).max(self.blocks);
        // SAFETY: allocated here, and no kernel runs.
        unsafe { device.release(std::mem::take(&mut self.bytes)) };
        self.bytes = device.allocate((blocks * BLOCK) as u64, "the input of a process")?;
        self.blocks = blocks;
        Ok(())
    }

    /// Where the device finds the records.
    pub(super) fn records(&self) -> Ptr {
        self.records
    }

    pub(super) fn release(self, device: &mut dyn Device) {
        // SAFETY: allocated here, and no kernel runs.
        unsafe {
            device.release(self.records);
            device.release(self.bytes);
        }
    }
}

/// The blocks that hold an input's bytes: the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    first: u32,
    count: u32,
}

/// The inputs of a round.
pub(super) struct Intake<'m> {
    memory: &'m InputMemory,
    /// Of each block, the processes that hold it.
    holders: Vec<u32>,
    /// The block that is filled, bytes of it that are taken, and of those the ones that the device has.
    block: Option<usize>,
    used: usize,
    brought: usize,
    /// Inputs that the device has, and records of those that come next.
    count: u32,
    records: Vec<layout::ProcessInput>,
}

impl<'m> Intake<'m> {
    pub(super) fn new(memory: &'m InputMemory) -> Intake<'m> {
        Intake {
            memory,
            holders: vec![0; memory.blocks],
            block: None,
            used: 0,
            brought: 0,
            count: 0,
            records: Vec::new(),
        }
    }

    /// Inputs that were added so far.
    pub(super) fn added(&self) -> u32 {
        self.count + self.records.len() as u32
    }

    /// Inputs that the device has.
    pub(super) fn brought(&self) -> u32 {
        self.count
    }

    /// Whether so many inputs wait that they are to be brought.
    pub(super) fn has_many(&self) -> bool {
        self.records.len() >= BROUGHT_AT_ONCE || self.used - self.brought >= BROUGHT_BYTES
    }

    /// Whether there is room for an input when processes have ended that hold some. Else only another round has it.
    pub(super) fn can_ever_take(&self, input: &ProcessInput) -> bool {
        input_bytes(input) <= self.holders.len() * BLOCK && self.added() < u32::MAX / 2
    }

    /// Adds an input, and returns what it holds. None if there is no room for it now. The device has it once it is brought;
    /// those that were added before may be brought now. The caller sees to it that of [`ROOM`] processes that follow each
    /// other the first has ended before the next is added.
    pub(super) fn add(
        &mut self,
        device: &mut dyn Device,
        slots: &Slots,
        input: &ProcessInput,
    ) -> DeviceResult<Option<Held>> {
        let len = input_bytes(input);
        if self.block.is_none() || self.used + len > BLOCK {
            self.bring(device, slots)?;
            let count = len.div_ceil(BLOCK);
            // The block that was filled is free too, if nobody holds it.
            let Some(first) = first_free(&self.holders, count) else {
                self.block = None;
                return Ok(None);
            };
            (self.block, self.used, self.brought) = (Some(first), 0, 0);
            if count > 1 {
                return self.add_large(device, input, first, count).map(Some);
            }
        }
        let block = self.block.expect("it was chosen above");
        let base = self.memory.bytes + (block * BLOCK) as u64;
        // SAFETY: a block's bytes of pinned memory, which is the host's alone: copies from it were waited for.
        let staging = unsafe { std::slice::from_raw_parts_mut(self.memory.staging.host, BLOCK) };
        let (record, end) = place(input, staging, self.used, base);
        self.used = end;
        self.records.push(record);
        let held = Held {
            first: block as u32,
            count: 1,
        };
        self.hold(held);
        Ok(Some(held))
    }

    /// Adds an input that has blocks of its own.
    fn add_large(
        &mut self,
        device: &mut dyn Device,
        input: &ProcessInput,
        first: usize,
        count: usize,
    ) -> DeviceResult<Held> {
        let base = self.memory.bytes + (first * BLOCK) as u64;
        let mut bytes = vec![0; input_bytes(input)];
        let (record, end) = place(input, &mut bytes, 0, base);
        // SAFETY: the blocks are free, so no process reads them, and as large as that.
        unsafe { device.write(base, &bytes[..end])? };
        self.records.push(record);
        self.block = None;
        let held = Held {
            first: first as u32,
            count: count as u32,
        };
        self.hold(held);
        Ok(held)
    }

    fn hold(&mut self, held: Held) {
        for block in held.first..held.first + held.count {
            self.holders[block as usize] += 1;
        }
    }

    /// The process has ended that held this.
    pub(super) fn free(&mut self, held: Held) {
        for block in held.first..held.first + held.count {
            self.holders[block as usize] -= 1;
        }
    }

    /// Brings the inputs to the device that were added, and tells its lanes of them.
    pub(super) fn bring(&mut self, device: &mut dyn Device, slots: &Slots) -> DeviceResult<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        if let Some(block) = self.block {
            let to = self.memory.bytes + (block * BLOCK + self.brought) as u64;
            // SAFETY: pinned memory of the host's. The device's bytes are those of processes whose inputs come now.
            unsafe {
                let bytes =
                    std::slice::from_raw_parts(self.memory.staging.host.add(self.brought), self.used - self.brought);
                device.write(to, bytes)?;
            }
            self.brought = self.used;
        }
        let at = self.count % ROOM;
        let (here, from_begin) = self.records.split_at(self.records.len().min((ROOM - at) as usize));
        let each = size_of::<layout::ProcessInput>() as u64;
        // SAFETY: records whose processes have ended or never were: see `add`.
        unsafe {
            device.write(self.memory.records + u64::from(at) * each, bytemuck::cast_slice(here))?;
            device.write(self.memory.records, bytemuck::cast_slice(from_begin))?;
        }
        self.count += self.records.len() as u32;
        self.records.clear();
        // SAFETY: a word that lanes read by atomics. All copies before have been waited for, so a lane that sees the count
        // sees them: pairs with the acquire in `processes::look`.
        unsafe { device.set_words(slots.record + offset_of!(Batch, count) as u64, 4, 1, self.count) }
    }

    /// Tells the lanes that there will be no more inputs.
    pub(super) fn close(&mut self, device: &mut dyn Device, slots: &Slots) -> DeviceResult<()> {
        self.bring(device, slots)?;
        // SAFETY: as in `bring`; the count was written before.
        unsafe { device.set_words(slots.record + offset_of!(Batch, closed) as u64, 4, 1, 1) }
    }
}

/// The first of so many free blocks that follow each other.
fn first_free(holders: &[u32], count: usize) -> Option<usize> {
    holders
        .windows(count)
        .position(|blocks| blocks.iter().all(|holders| *holders == 0))
}

/// Bytes of the device's memory that an input takes at most.
pub(super) fn input_bytes(input: &ProcessInput) -> usize {
    let strings = input.args.iter().chain(&input.variables);
    strings.map(|string| string.len() + 1).sum::<usize>() + input.stdin.len() + 3 * ALIGN
}

/// Puts an input's bytes to where they lie in `bytes`, of which the device's are at `base`. Returns the record, and where the
/// bytes end.
fn place(input: &ProcessInput, bytes: &mut [u8], at: usize, base: Ptr) -> (layout::ProcessInput, usize) {
    let mut end = at;
    let mut put = |part: &[u8]| {
        bytes[end..end + part.len()].copy_from_slice(part);
        end += part.len();
        end
    };
    let mut strings = |strings: &[Vec<u8>]| {
        let begin = put(&[]);
        for string in strings {
            // A string ends at its first 0, as in C.
            let len = string.iter().position(|byte| *byte == 0).unwrap_or(string.len());
            put(&string[..len]);
            put(&[0]);
        }
        Strings {
            bytes: base + begin as u64,
            len: (put(&[]) - begin) as u32,
            count: strings.len() as u32,
        }
    };
    let (args, environment) = (strings(&input.args), strings(&input.variables));
    let begin = put(&[]).next_multiple_of(ALIGN);
    bytes[begin..begin + input.stdin.len()].copy_from_slice(&input.stdin);
    let record = layout::ProcessInput {
        args,
        environment,
        input: base + begin as u64,
        input_len: input.stdin.len() as u64,
    };
    // Bytes around an input are read with it.
    (record, (begin + input.stdin.len()).next_multiple_of(ALIGN) + ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_blocks_are_found_side_by_side() {
        assert_eq!(first_free(&[1, 0, 1, 0, 0], 1), Some(1));
        assert_eq!(first_free(&[1, 0, 1, 0, 0], 2), Some(3));
        assert_eq!(first_free(&[1, 0, 1, 0, 0], 3), None);
        assert_eq!(first_free(&[0], 2), None);
    }

    #[test]
    fn an_input_fits_into_the_bytes_that_are_counted_for_it() {
        for len in 0..40 {
            let input = ProcessInput {
                args: vec![b"program".to_vec(), vec![b'a'; len]],
                variables: vec![b"A=b".to_vec()],
                stdin: vec![7; len].into(),
                files: Default::default(),
            };
            let mut bytes = vec![1; 512];
            let (record, end) = place(&input, &mut bytes, 32, 1 << 20);
            assert!(end <= 32 + input_bytes(&input));
            assert_eq!((end % ALIGN, record.input % ALIGN as u64), (0, 0));
            assert_eq!((record.args.count, record.args.len as usize), (2, 9 + len));
            let at = (record.input - (1 << 20)) as usize;
            assert_eq!(bytes[at..at + len], input.stdin[..]);
            assert_eq!(record.environment.bytes, record.args.bytes + u64::from(record.args.len));
        }
    }
}
