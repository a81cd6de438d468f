//! What the task scheduler of `gpu-std` has counted in a program's memory.
//!
//! The scheduler is a part of the program, so its counters are the program's data. A table there says where they are, which
//! begins with [`MAGIC`]. It is looked for in the data that the program begins with.

use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use gpu_run_bytecode::{ConstOp, SegmentMode};

use super::{InstanceId, Store};
use crate::device::DeviceResult;

/// The first bytes of a [`Table`]. Another layout has another number.
const MAGIC: [u8; 16] = *b"gpu-run tasks v1";

/// Bytes from the start of a memory on in which a table is looked for that a program puts there itself.
const MOST_DATA: u64 = 64 << 20;

/// Workers at most: more are no scheduler's.
const MOST_WORKERS: u32 = 1 << 24;

/// Where the counters are: twin of `Table` in `gpu-std/src/task/stats.rs`, which says what each means.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Table {
    magic: [u8; 16],
    pool: u32,
    workers: u32,
    worker_count: u32,
    worker_bytes: u32,
    counters: u32,
    spawned: u32,
    spawned_count: u32,
    spawned_bytes: u32,
    queued: u32,
    most_queued: u32,
}

/// What a worker counts: twin of `Counters` there.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Counters {
    executed: u32,
    stolen: u32,
    attempts: u32,
    unused: u32,
    idle: u64,
    time: u64,
}

/// What the tasks of a program did: `gpu_std::task::Stats`, when the program has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskStats {
    /// Threads that ran tasks.
    pub workers: u32,
    /// Jobs that were taken from a queue or from another worker.
    pub executed: u64,
    /// Jobs that were taken from another worker.
    pub stolen: u64,
    /// Looks into another worker's deque.
    pub attempts: u64,
    /// Tasks with a handle.
    pub spawned: u64,
    /// Jobs that lay in queues for all workers when the program ended.
    pub queued: u32,
    /// The most that lay there at once.
    pub most_queued: u32,
    /// How long all workers together found nothing to do.
    pub idle: Duration,
    /// How long all workers together took part in runs that have ended.
    pub time: Duration,
}

impl Store {
    /// What the tasks of an instance did since it was made; `None` if it has run none.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn task_stats(&mut self, instance: InstanceId) -> DeviceResult<Option<TaskStats>> {
        let info = &self.instance_infos[instance.0 as usize];
        let Some(memory) = info.memories.first().copied() else {
            return Ok(None);
        };
        let program = info.program.clone();
        for data in &program.data {
            let Some(within) = position(&data.bytes) else { continue };
            let at = match &data.mode {
                SegmentMode::Active { offset, .. } => match offset[..] {
                    [ConstOp::I32(offset)] => Some(u64::from(offset as u32) + within as u64),
                    _ => None,
                },
                _ => None,
            };
            // The program copies it to a place that only its code tells.
            let at = match at {
                Some(at) => Some(at),
                None => self.find_table(memory)?,
            };
            if let Some(at) = at
                && let Some(table) = self.read_at::<Table>(memory, at)?.filter(|table| table.magic == MAGIC)
            {
                return self.add_up(memory, &table);
            }
        }
        Ok(None)
    }

    /// Looks for a table in a memory itself.
    fn find_table(&mut self, memory: u32) -> DeviceResult<Option<u64>> {
        const PART: u64 = 1 << 20;
        let end = self.memory_size(memory)?.min(MOST_DATA);
        let mut bytes = Vec::new();
        for at in (0..end).step_by(PART as usize) {
            // One that lies across two parts is found in the first.
            bytes.resize((PART + size_of::<Table>() as u64).min(end - at) as usize, 0);
            self.read_memory(memory, at, &mut bytes)?;
            if let Some(within) = position(&bytes) {
                return Ok(Some(at + within as u64));
            }
        }
        Ok(None)
    }

    /// Adds up what a table tells of. `None` if no worker was made, or if what is said to lie in memory does not.
    fn add_up(&mut self, memory: u32, table: &Table) -> DeviceResult<Option<TaskStats>> {
        let mut word = |field: u32| self.read_at::<u32>(memory, u64::from(table.pool) + u64::from(field));
        let (Some(workers), Some(count)) = (word(table.workers)?, word(table.worker_count)?) else {
            return Ok(None);
        };
        let (Some(queued), Some(most_queued)) = (word(table.queued)?, word(table.most_queued)?) else {
            return Ok(None);
        };
        let mut stats = TaskStats {
            workers: count,
            queued,
            most_queued,
            ..TaskStats::default()
        };
        let at = u64::from(table.pool) + u64::from(table.spawned);
        let Some(spawned) = self.read_rows::<u32>(memory, at, table.spawned_count, table.spawned_bytes)? else {
            return Ok(None);
        };
        let sum = spawned.iter().fold(0u32, |sum, spawned| sum.wrapping_add(*spawned));
        stats.spawned = sum.into();
        let at = u64::from(workers) + u64::from(table.counters);
        let rows = match workers {
            0 => None,
            _ => self.read_rows::<Counters>(memory, at, count, table.worker_bytes)?,
        };
        let Some(rows) = rows else { return Ok(None) };
        for counters in rows {
            stats.executed += u64::from(counters.executed);
            stats.stolen += u64::from(counters.stolen);
            stats.attempts += u64::from(counters.attempts);
            stats.idle = stats.idle.saturating_add(Duration::from_nanos(counters.idle));
            stats.time = stats.time.saturating_add(Duration::from_nanos(counters.time));
        }
        Ok(Some(stats))
    }

    /// Reads a value, if it lies in a memory.
    fn read_at<T: Pod>(&mut self, memory: u32, at: u64) -> DeviceResult<Option<T>> {
        let mut value = T::zeroed();
        let inside = self.read_memory(memory, at, bytemuck::bytes_of_mut(&mut value))?;
        Ok(inside.then_some(value))
    }

    /// Reads `count` values, `stride` bytes from each other.
    fn read_rows<T: Pod>(&mut self, memory: u32, at: u64, count: u32, stride: u32) -> DeviceResult<Option<Vec<T>>> {
        let (size, stride) = (size_of::<T>(), stride as usize);
        if count == 0 || count > MOST_WORKERS || stride < size {
            return Ok(None);
        }
        let length = (count as usize - 1) * stride + size;
        if self.memory_size(memory)? < length as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        if !self.read_memory(memory, at, &mut bytes)? {
            return Ok(None);
        }
        let rows = bytes.chunks(stride);
        Ok(Some(
            rows.map(|row| bytemuck::pod_read_unaligned(&row[..size])).collect(),
        ))
    }
}

/// Where a table begins in some bytes.
fn position(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MAGIC.len()).position(|window| window == MAGIC)
}
