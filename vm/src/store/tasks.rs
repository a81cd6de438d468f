//! What the task scheduler of `gpu-std` has counted in a program's memory.
//!
//! The scheduler is a part of the program, so its counters are the program's data. A table there that begins with [`MAGIC`] says
//! where they are. It is looked for in the data that the program begins with.

use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use gpu_run_bytecode::{ConstOp, SegmentMode};

use super::{InstanceId, Store};
use crate::device::DeviceResult;

/// The first bytes of a [`Table`]. Another layout has another number.
const MAGIC: [u8; 16] = *b"gpu-run tasks v1";

/// How far into a memory a table is looked for, if code puts it there.
const MOST_DATA: u64 = 64 << 20;

/// Workers at most, and bytes of each: a table that tells of more is not a scheduler's.
const MOST_WORKERS: u32 = 1 << 24;
const MOST_BYTES: u32 = 1 << 16;

/// Bytes that are read at once, so that no large memory is needed, whatever a program says.
const PART: usize = 1 << 20;

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
    pub spawned: u32,
    /// Jobs that lay in shared queues when the program ended.
    pub queued: u32,
    /// The most that lay there at once.
    pub most_queued: u32,
    /// How long all workers together found nothing to do.
    pub idle: Duration,
    /// How long all workers together took part in runs.
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
        let mut copied_by_code = false;
        for data in &program.data {
            let offset = match &data.mode {
                SegmentMode::Active { index: 0, offset } => match offset[..] {
                    [ConstOp::I32(offset)] => Some(u64::from(offset as u32)),
                    _ => None,
                },
                SegmentMode::Active { .. } | SegmentMode::Declared => continue,
                SegmentMode::Passive => None,
            };
            for within in positions(&data.bytes) {
                let Some(offset) = offset else {
                    copied_by_code = true;
                    break;
                };
                let stats = self.tasks_of_table(memory, offset + within as u64)?;
                if stats.is_some() {
                    return Ok(stats);
                }
            }
        }
        match copied_by_code {
            true => self.search_memory(memory),
            false => Ok(None),
        }
    }

    /// Looks for a table in the memory itself.
    fn search_memory(&mut self, memory: u32) -> DeviceResult<Option<TaskStats>> {
        let end = self.memory_size(memory)?.min(MOST_DATA);
        let mut bytes = Vec::new();
        for from in (0..end).step_by(PART) {
            // What lies across two parts is found in the first.
            bytes.resize((PART as u64 + MAGIC.len() as u64 - 1).min(end - from) as usize, 0);
            self.read_memory(memory, from, &mut bytes)?;
            for within in positions(&bytes) {
                let stats = self.tasks_of_table(memory, from + within as u64)?;
                if stats.is_some() {
                    return Ok(stats);
                }
            }
        }
        Ok(None)
    }

    /// Adds up what the table at an address tells of. `None` if it is none, if no worker was made, or if one of its addresses is
    /// outside of memory.
    fn tasks_of_table(&mut self, memory: u32, at: u64) -> DeviceResult<Option<TaskStats>> {
        let table: Option<Table> = self.read_at(memory, at)?;
        let Some(table) = table.filter(|table| table.magic == MAGIC) else {
            return Ok(None);
        };
        let in_pool = |field: u32| u64::from(table.pool) + u64::from(field);
        let mut words = [0; 4];
        let fields = [table.workers, table.worker_count, table.queued, table.most_queued];
        for (word, field) in words.iter_mut().zip(fields) {
            let Some(found) = self.read_at(memory, in_pool(field))? else {
                return Ok(None);
            };
            *word = found;
        }
        let [workers, count, queued, most_queued] = words;
        let mut stats = TaskStats {
            workers: count,
            // A worker may have taken a job before it was counted, and that is where the program ended.
            queued: (queued as i32).max(0) as u32,
            most_queued,
            ..TaskStats::default()
        };
        let add_spawned = |stats: &mut TaskStats, spawned: u32| stats.spawned = stats.spawned.wrapping_add(spawned);
        let (rows, bytes) = (table.spawned_count, table.spawned_bytes);
        let counted = self.add_rows(memory, in_pool(table.spawned), rows, bytes, &mut stats, add_spawned)?;
        if !counted || workers == 0 {
            return Ok(None);
        }
        let first = u64::from(workers) + u64::from(table.counters);
        let add_worker = |stats: &mut TaskStats, counters: Counters| {
            stats.executed += u64::from(counters.executed);
            stats.stolen += u64::from(counters.stolen);
            stats.attempts += u64::from(counters.attempts);
            stats.idle = stats.idle.saturating_add(Duration::from_nanos(counters.idle));
            stats.time = stats.time.saturating_add(Duration::from_nanos(counters.time));
        };
        let counted = self.add_rows(memory, first, count, table.worker_bytes, &mut stats, add_worker)?;
        Ok(counted.then_some(stats))
    }

    /// Reads a value, if it lies in a memory.
    fn read_at<T: Pod>(&mut self, memory: u32, at: u64) -> DeviceResult<Option<T>> {
        let mut value = T::zeroed();
        let inside = self.read_memory(memory, at, bytemuck::bytes_of_mut(&mut value))?;
        Ok(inside.then_some(value))
    }

    /// Adds `count` values, `stride` bytes from each other. False if there are none, or if they do not all lie in memory.
    fn add_rows<T: Pod>(
        &mut self,
        memory: u32,
        at: u64,
        count: u32,
        stride: u32,
        stats: &mut TaskStats,
        add: impl Fn(&mut TaskStats, T),
    ) -> DeviceResult<bool> {
        let size = size_of::<T>();
        if count == 0 || count > MOST_WORKERS || stride > MOST_BYTES || (stride as usize) < size {
            return Ok(false);
        }
        let at_once = PART as u32 / stride;
        let mut bytes = Vec::new();
        for first in (0..count).step_by(at_once as usize) {
            let rows = at_once.min(count - first) as usize;
            bytes.resize((rows - 1) * stride as usize + size, 0);
            if !self.read_memory(memory, at + u64::from(first) * u64::from(stride), &mut bytes)? {
                return Ok(false);
            }
            for row in bytes.chunks(stride as usize) {
                add(stats, bytemuck::pod_read_unaligned(&row[..size]));
            }
        }
        Ok(true)
    }
}

/// Where tables may begin in some bytes.
fn positions(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let windows = bytes.windows(MAGIC.len()).enumerate();
    windows.filter(|(_, window)| **window == MAGIC).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gpu_run_translator::translate;

    use super::*;
    use crate::{Cpu, Limits, RunOptions, Stream};

    /// The bytes of words, as the text form has them.
    fn text(words: &[u32]) -> String {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .map(|byte| format!("\\{byte:02x}"))
            .collect()
    }

    /// What is found in a program with this data, and a memory of one page. `start`: what it does first.
    fn found(data: &str, start: &str) -> Option<TaskStats> {
        let module = format!("(module (memory 1) {data} (func $start {start}) (start $start))");
        let program = translate(&wat::parse_str(module).unwrap(), &Default::default()).unwrap();
        let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
        let (program, options) = (Arc::new(program.program), RunOptions::default());
        let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
        let instance = store.instantiate(program, |_, _| None, &options, sink).unwrap();
        store.task_stats(instance).unwrap()
    }

    /// A pool at 256 with these workers, and one word of spawned tasks.
    fn table(workers: u32, stride: u32) -> String {
        let words = [256, 0, 4, stride, 8, 16, 1, 4, 8, 12];
        let pool = [1024, workers, 3, 7, 5];
        let counters = [0, 0, 10, 4, 6, 0, 2_000, 0, 5_000, 0, 20, 0, 0, 0, 1_000, 0, 3_000, 0];
        format!(
            r#"(data (i32.const 64) "gpu-run tasks v1{}") (data (i32.const 256) "{}") (data (i32.const 1024) "{}")"#,
            text(&words),
            text(&pool),
            text(&counters)
        )
    }

    #[test]
    fn counters_of_workers_are_added_up() {
        let stats = found(&table(2, 32), "").expect("a table");
        let wanted = TaskStats {
            workers: 2,
            executed: 30,
            stolen: 4,
            attempts: 6,
            spawned: 5,
            queued: 3,
            most_queued: 7,
            idle: Duration::from_micros(3),
            time: Duration::from_micros(8),
        };
        assert_eq!(stats, wanted);
    }

    #[test]
    fn what_is_no_table_is_left_out() {
        // A text with the same bytes, then the table.
        let before = format!(r#"(data (i32.const 2000) "gpu-run tasks v1") {}"#, table(2, 32));
        assert_eq!(found(&before, "").map(|stats| stats.executed), Some(30));
        // No workers, more than memory has room for, none of their own size, and one that reaches out of memory.
        for (workers, stride) in [
            (0, 32),
            (3_000, 32),
            (u32::MAX, 32),
            (2, 16),
            (2, u32::MAX),
            (2, 65_000),
        ] {
            assert_eq!(found(&table(workers, stride), ""), None, "{workers} {stride}");
        }
        assert_eq!(found("", ""), None);
    }

    #[test]
    fn a_table_may_be_copied_by_code() {
        let data = table(2, 32).replacen("(data (i32.const 64)", "(data $table", 1);
        let copy = "(memory.init $table (i32.const 60000) (i32.const 0) (i32.const 56))";
        assert_eq!(found(&data, copy).map(|stats| stats.executed), Some(30));
        assert_eq!(found(&data, ""), None);
    }
}
