//! Processes that start others: the table in which the device has them. `kernel/process_table.h` says how it works.

use bytemuck::Zeroable;

use super::super::Store;
use super::BatchOptions;
use super::slots::{Spread, lanes_of_warps};
use crate::device::{DeviceResult, Plan, WARP};
use crate::layout::{PIPE_BYTES, PROCESS_STRINGS, Pipe, Process, ProcessTable, Ptr};

/// Entries for processes that others start, and pipes, for each lane: some have ended, and nobody has asked how.
const ENTRIES: u32 = 2;
const PIPES: u32 = 2;
/// Bytes of all that for each lane.
pub(super) const FAMILY_BYTES: u64 = (1 + ENTRIES as u64) * size_of::<Process>() as u64
    + ENTRIES as u64 * PROCESS_STRINGS
    + PIPES as u64 * (size_of::<Pipe>() as u64 + PIPE_BYTES);

/// Lanes for each process that the host starts: for it and those that come of it.
pub(super) const FAMILY: u32 = 8;
/// Lanes that there are at least, and at most. Of a CPU, where a lane is a thread of the system, there are fewer.
const FEWEST: u32 = 1024;
const MOST: u32 = 1 << 16;
const CPU_LANES: u32 = 64;

/// Lays out lanes for that many processes of the host and those that they start. The plan is of all lanes of the device, and
/// there is room for so many.
pub(super) fn family_lanes(all: Plan, roots: u32, room: u32) -> Spread {
    if all.lanes_per_block < WARP {
        let lanes = CPU_LANES.min(room);
        return Spread {
            count: lanes,
            warp_lanes: 1,
            plan: Plan { lanes, ..all },
        };
    }
    let wanted = roots.saturating_mul(FAMILY).clamp(FEWEST, MOST);
    let count = wanted.min(all.lanes).min(room);
    // Processes of a family do different things, so each has a warp while there are some.
    Spread {
        count,
        warp_lanes: lanes_of_warps(count, all.lanes / WARP),
        plan: all,
    }
}

/// Places as a list: the link of each leads to the next one.
fn chain(first: u32, count: u32) -> impl Iterator<Item = u32> {
    (1..=count).map(move |index| if index < count { first + index + 1 } else { 0 })
}

impl Store {
    /// Makes the table for that many lanes, of which at most `roots` run processes of the host.
    pub(super) fn make_table(
        &mut self,
        lanes: u32,
        options: &BatchOptions,
        roots: u32,
        allocations: &mut Vec<Ptr>,
    ) -> DeviceResult<Ptr> {
        let (capacity, pipe_count) = (lanes * ENTRIES, lanes * PIPES);
        let mut allocate = |store: &mut Store, bytes: u64| -> DeviceResult<Ptr> {
            let at = store.device.allocate(bytes, "the table of processes")?;
            allocations.push(at);
            Ok(at)
        };
        let processes = allocate(self, u64::from(lanes + capacity) * size_of::<Process>() as u64)?;
        let strings = allocate(self, u64::from(capacity) * PROCESS_STRINGS)?;
        let pipes = allocate(self, u64::from(pipe_count) * size_of::<Pipe>() as u64)?;
        let bytes = allocate(self, u64::from(pipe_count) * PIPE_BYTES)?;
        let table = allocate(self, size_of::<ProcessTable>() as u64)?;
        let entries: Vec<Process> = chain(lanes, capacity)
            .map(|link| Process {
                link,
                ..Zeroable::zeroed()
            })
            .collect();
        let free_pipes: Vec<Pipe> = chain(0, pipe_count)
            .map(|link| Pipe {
                link,
                ..Zeroable::zeroed()
            })
            .collect();
        let most_roots = roots.min(options.jobs.unwrap_or(u32::MAX)).min(lanes / FAMILY);
        let record = ProcessTable {
            processes,
            strings,
            pipes,
            bytes,
            free: u64::from(lanes + 1),
            free_pipes: 1,
            capacity,
            pipe_count,
            most_roots: most_roots.clamp(1, lanes - 1),
            ..Zeroable::zeroed()
        };
        // SAFETY: allocated here with these sizes; no kernel runs.
        unsafe {
            let first = processes + u64::from(lanes) * size_of::<Process>() as u64;
            self.device.write(first, bytemuck::cast_slice(&entries))?;
            self.device.write(pipes, bytemuck::cast_slice(&free_pipes))?;
            self.device.write(table, bytemuck::bytes_of(&record))?;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_leads_to_its_end() {
        assert_eq!(chain(10, 3).collect::<Vec<_>>(), [12, 13, 0]);
        assert_eq!(chain(0, 1).collect::<Vec<_>>(), [0]);
    }
}
