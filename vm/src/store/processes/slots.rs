//! The device's memory for the processes of a batch that run at the same time.

use std::mem::offset_of;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytemuck::Zeroable;

use super::super::requests::seed;
use super::super::samples::SLICE;
use super::super::{BEYOND_MEMORY, RunOptions, Store, StoreError};
use super::BatchOptions;
use super::families::{FAMILY_BYTES, family_lanes};
use super::image::Image;
use crate::compiled::Entry;
use crate::device::{DeviceResult, Plan, WARP};
use crate::layout::{self, Batch, ProcessProgram, ProcessSlot, Ptr, Thread};

/// Neighbours' memories begin at addresses that differ by more than a power of two.
const APART: u64 = 4352;
/// Of the device's free memory, what slots may take.
const SHARE: (u64, u64) = (9, 10);

/// Warps of a multiprocessor that keep it busy with compiled code: one for each of its schedulers.
const WARPS_ENOUGH: u32 = 4;
/// More lanes than any device has.
const MOST_LANES: u32 = 1 << 22;

/// How processes lie on lanes.
pub(super) struct Spread {
    pub(super) count: u32,
    /// See [`Batch`].
    pub(super) warp_lanes: u32,
    pub(super) plan: Plan,
}

/// How many lanes of each warp run `count` processes, where so many warps are to have some.
pub(super) fn lanes_of_warps(count: u32, warps: u32) -> u32 {
    count.div_ceil(warps.max(1)).clamp(1, WARP)
}

/// Slots, and the record of a batch that has them.
pub(super) struct Slots {
    pub(super) count: u32,
    /// There can be no more, whatever is wanted.
    pub(super) is_all: bool,
    pub(super) plan: Plan,
    /// All of the record that is the same in each round.
    pub(super) batch: Batch,
    /// Where the record lies.
    pub(super) record: Ptr,
    /// Bytes that the memory of a process may have at most that the host starts.
    pub(super) most_memory: u64,
    /// Models of the programs' slots.
    models: Ptr,
    programs: u32,
    /// What is released with them.
    allocations: Vec<Ptr>,
}

impl Store {
    /// Makes at most `wanted` slots for processes of which each may have so many bytes of memory. Where processes start others,
    /// these have slots beside them.
    pub(super) fn make_slots(
        &mut self,
        entry: Option<Entry>,
        images: &[Image],
        memory: u64,
        wanted: u32,
        options: &BatchOptions,
    ) -> Result<Slots, StoreError> {
        let begin = Instant::now();
        let families = !options.programs.is_empty();
        let has_memory = (images.iter()).any(|image| !self.instance_infos[image.instance].memories.is_empty());
        // What is more than the device has is refused below.
        let free = self.room_for_slots();
        let stride = match has_memory {
            true if memory > free => return Err(self.no_room(memory)),
            true => (memory + BEYOND_MEMORY).next_multiple_of(256) + APART,
            false => 0,
        };
        let most = |of: fn(&Image) -> u64| images.iter().map(of).max().unwrap_or(0);
        let table_count = most(|image| image.table_units.len() as u64);
        let table_room = most(Image::table_room);
        let data_count = most(|image| image.segments.0.into());
        let elem_count = most(|image| image.segments.1.into());
        let global_count = most(|image| image.global_count.into());
        let own = [
            size_of::<ProcessSlot>() as u64,
            stride,
            size_of::<Thread>() as u64,
            global_count * 8,
            table_room * 4 + table_count * (size_of::<layout::Table>() as u64 + 8),
            data_count * size_of::<layout::DataSegment>() as u64,
            elem_count * size_of::<layout::ElemSegment>() as u64,
        ];
        let each = own.iter().sum::<u64>() + if families { FAMILY_BYTES } else { 0 };
        let room = (free / each.max(1)).min(u64::from(u32::MAX)) as u32;
        // One for a process, and one for what it starts.
        if room < 1 + u32::from(families) {
            return Err(self.no_room(each));
        }
        let Spread {
            count,
            warp_lanes,
            plan,
        } = match families {
            true => family_lanes(self.plan_processes(None, MOST_LANES)?, wanted, room),
            false => self.spread(entry, wanted.min(room))?,
        };
        let mut allocations = Vec::new();
        let mut allocate = |store: &mut Store, bytes: u64, what: &'static str| -> DeviceResult<Ptr> {
            let at = store.device.allocate(bytes * u64::from(count), what)?;
            allocations.push(at);
            Ok(at)
        };
        let slots = allocate(self, own[0], "processes")?;
        let memories = match has_memory {
            true => allocate(self, stride, "memories of processes")?,
            false => 0,
        };
        let threads = allocate(self, own[2], "threads")?;
        let globals = allocate(self, own[3], "globals of processes")?;
        let elements = allocate(self, table_room * 4, "tables of processes")?;
        let own_tables = allocate(
            self,
            table_count * size_of::<layout::Table>() as u64,
            "tables of processes",
        )?;
        let own_pointers = allocate(self, table_count * 8, "tables of processes")?;
        let own_data = allocate(self, own[5], "segments of processes")?;
        let own_elems = allocate(self, own[6], "segments of processes")?;
        // As many as there are places in the groups of threads whose marks the host looks at.
        let current_bytes = u64::from(count).next_multiple_of(layout::MARK_GROUP as u64) * 4;
        let current = self.device.allocate(current_bytes, "processes")?;
        let record = self.device.allocate(size_of::<Batch>() as u64, "a batch")?;
        let models = self
            .device
            .allocate((size_of::<ProcessSlot>() * images.len()) as u64, "a batch")?;
        allocations.extend([current, record, models]);
        let table = match families {
            true => self.make_table(count, options, wanted, &mut allocations)?,
            false => 0,
        };

        let run_options = RunOptions::default();
        self.prepare_diagnostics(&run_options, count)?;
        // Output and ends of many processes.
        self.run.ring_bytes.prepare(&mut *self.device, true, count)?;
        let register_arena = self.limits.register_arena;
        let arena = self.run.arena(&mut *self.device, register_arena)?;
        let blocks = u64::from(count.div_ceil(plan.lanes_per_block));
        let segment_bytes = blocks * u64::from(plan.lanes_per_block) * u64::from(plan.lane_segment_units) * 4;
        let lane_segments = self.run.lane_segments.at_least(&mut *self.device, segment_bytes)?;
        let requests = self.requests_of_batch(options.seed)?;
        let samples = self.prepare_samples_of_processes(count.into(), entry.is_some())?;
        let counts = self.prepare_counts(plan, entry.is_some())?;
        let common = self.launch(&run_options, plan);
        let launch = layout::Launch {
            samples,
            counts,
            slice: if samples == 0 { common.slice } else { SLICE },
            threads,
            thread_globals: globals,
            lane_segments,
            batch: record,
            requests: u64::from(requests.is_some()),
            ..common
        };
        let mut programs = Vec::new();
        for (index, image) in images.iter().enumerate() {
            let mut memory_record = layout::Memory::zeroed();
            if let Some(memory_index) = self.instance_infos[image.instance].memories.first().copied() {
                memory_record = self.fetch(self.memory_infos[memory_index as usize].record)?;
                memory_record.limit = memory.min(image.most_memory);
            }
            let at = self.instances.ptr + (image.instance * size_of::<layout::Instance>()) as u64;
            let instance: layout::Instance = self.fetch(at)?;
            let model = ProcessSlot {
                memory: memory_record,
                launch: layout::Launch {
                    func: image.func,
                    ..launch
                },
                instance: layout::Instance {
                    thread_start: 0,
                    ..instance
                },
                requests: requests.unwrap_or_else(Zeroable::zeroed),
                ..Zeroable::zeroed()
            };
            let model_at = models + (index * size_of::<ProcessSlot>()) as u64;
            // SAFETY: the model's own memory; no kernel runs.
            unsafe { self.device.write(model_at, bytemuck::bytes_of(&model))? };
            let name = index
                .checked_sub(1)
                .map(|other| options.programs[other].name.as_bytes());
            programs.push(ProcessProgram {
                model: model_at,
                pieces: image.pieces,
                memory_size: image.memory_size,
                tables: image.tables,
                table_units: image.units,
                data: instance.data,
                elems: instance.elems,
                piece_count: image.piece_count,
                table_count: image.table_units.len() as u32,
                data_count: image.segments.0,
                elem_count: image.segments.1,
                instance: image.instance as u32,
                name_len: name.unwrap_or_default().len() as u32,
                starves: u32::from(memory < image.most_memory),
                pad: 0,
                name: self.place_all(name.unwrap_or_default(), "names of programs")?,
            });
        }
        // SAFETY: the record's own memory; no kernel runs.
        unsafe { self.device.write(self.run.arena_record, bytemuck::bytes_of(&arena))? };
        let batch = Batch {
            slots,
            programs: self.place_all(&programs, "programs of processes")?,
            program_count: programs.len() as u32,
            table,
            memories,
            memory_stride: stride,
            slot_count: count,
            warp_lanes,
            current,
            ring: self.run.ring,
            global_count: global_count as u32,
            globals: images.first().map_or(0, |image| image.globals),
            table_count: table_count as u32,
            data_count: data_count as u32,
            elem_count: elem_count as u32,
            table_room: table_room as u32,
            elements,
            own_tables,
            own_pointers,
            own_data,
            own_elems,
            ..Zeroable::zeroed()
        };
        tracing::debug!(
            slots = count,
            bytes_each = each,
            ms = begin.elapsed().as_secs_f64() * 1e3,
            "slots for processes"
        );
        Ok(Slots {
            count,
            is_all: families || count < wanted,
            plan,
            batch,
            record,
            most_memory: images.first().map_or(0, |image| image.most_memory),
            models,
            programs: programs.len() as u32,
            allocations,
        })
    }

    /// Lays out at most so many processes, which all run at the same time.
    fn spread(&mut self, entry: Option<Entry>, most: u32) -> DeviceResult<Spread> {
        let all = self.plan_processes(entry, MOST_LANES)?;
        if all.lanes_per_block < WARP {
            let plan = self.plan_processes(entry, most)?;
            return Ok(Spread {
                count: plan.lanes,
                warp_lanes: 1,
                plan,
            });
        }
        let count = most.min(all.lanes);
        let resident = all.lanes / WARP;
        // Interpreted, each lane of a warp is at an opcode of its own, so fewer in each are better while there are warps.
        // Compiled, a multiprocessor hardly runs more warps faster, but lanes of a warp that are at the same place share what it
        // takes to bring them the code.
        let multiprocessors = self.device.target().map_or(1, |target| target.multiprocessors);
        let warps = match entry {
            Some(_) => resident.min(multiprocessors * WARPS_ENOUGH),
            None => resident,
        };
        let warp_lanes = lanes_of_warps(count, warps);
        Ok(Spread {
            count,
            warp_lanes,
            plan: self.plan_processes(entry, count.div_ceil(warp_lanes) * WARP)?,
        })
    }

    /// Lays out at most so many lanes, which all run at the same time.
    fn plan_processes(&mut self, entry: Option<Entry>, most: u32) -> DeviceResult<Plan> {
        let counters = self.counters();
        match (entry, self.device.as_compiled()) {
            (Some(entry), Some(device)) => Ok(device.plan_resident(entry, most, counters)),
            _ => Ok(self.device.plan(most, self.max_frame)),
        }
    }

    fn no_room(&self, bytes: u64) -> StoreError {
        StoreError::Device(crate::device::DeviceError::OutOfMemory {
            device: self.device.name(),
            bytes,
            what: "a process",
        })
    }

    /// Bytes of the device's memory that all slots may take.
    fn room_for_slots(&self) -> u64 {
        self.device.free_memory() / SHARE.1 * SHARE.0
    }

    /// Bytes of memory that one process may have at most, where it is alone, about.
    pub(super) fn room_for_one(&self) -> u64 {
        const OTHERS: u64 = 64 << 20;
        self.room_for_slots().saturating_sub(OTHERS) / layout::PAGE * layout::PAGE
    }

    /// Writes what another round begins with into the models of the slots: the time, and without a seed another key of random
    /// bytes, for numbers of processes begin anew.
    pub(super) fn begin_model(&mut self, slots: &Slots, options: &BatchOptions) -> DeviceResult<()> {
        let key = match options.seed {
            Some(_) => None,
            None => Some(seed(None)?),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall_start = (now.as_nanos() as u64).to_le_bytes();
        let seed_at = offset_of!(ProcessSlot, requests) + offset_of!(layout::Requests, seed);
        let wall_at = offset_of!(ProcessSlot, launch) + offset_of!(layout::Launch, wall_start);
        for index in 0..u64::from(slots.programs) {
            let model = slots.models + index * size_of::<ProcessSlot>() as u64;
            // SAFETY: fields of the model; no kernel runs.
            unsafe {
                if let Some(key) = &key {
                    self.device.write(model + seed_at as u64, bytemuck::cast_slice(key))?;
                }
                self.device.write(model + wall_at as u64, &wall_start)?;
            }
        }
        Ok(())
    }

    /// Releases the memory of slots, and takes what their processes have counted.
    pub(super) fn release_slots(&mut self, slots: Option<Slots>) -> DeviceResult<()> {
        if slots.is_some() {
            self.collect_samples(None)?;
            self.collect_counts()?;
        }
        for at in slots.into_iter().flat_map(|slots| slots.allocations) {
            // SAFETY: allocated for them, and no kernel runs.
            unsafe { self.device.release(at) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_processes_have_warps_of_their_own() {
        assert_eq!(lanes_of_warps(1, 4224), 1);
        assert_eq!(lanes_of_warps(4224, 4224), 1);
        assert_eq!(lanes_of_warps(4225, 4224), 2);
        assert_eq!(lanes_of_warps(20_000, 2112), 10);
        assert_eq!(lanes_of_warps(67_584, 2112), 32);
        assert_eq!(lanes_of_warps(1_000_000, 2112), 32);
        assert_eq!(lanes_of_warps(10, 0), 10);
    }
}
