//! What a run needs whose program spawns threads: see `kernel/spawn.h`.

use bytemuck::Zeroable;

use super::super::Store;
use super::buffers::Sized;
use super::{End, RunOptions};
use crate::device::{Device, DeviceResult, Plan};
use crate::fault::Fault;
use crate::layout::{self, Ptr};

/// Bytes of threads' globals at most, unless that is less than so many threads need.
const MOST_GLOBALS_BYTES: u64 = 256 << 20;
const LEAST_THREADS: u64 = 256;

/// The threads that a run may have, of which it begins with one.
#[derive(Clone, Debug)]
pub(in crate::store) struct Spawns {
    /// How many there may be at once.
    pub(super) most: u32,
    /// They are compiled: each is a lane.
    pub(super) compiled: bool,
}

/// What became of threads that a run spawned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spawned {
    /// How many there were.
    pub threads: u64,
    /// How many lived at once, with the first thread.
    pub most: u32,
}

/// Memory of a spawner.
pub(in crate::store) struct SpawnBuffers {
    record: Sized,
    next: Sized,
    inboxes: Sized,
    idle: Sized,
    mail: Sized,
    globals: Sized,
    initial: Sized,
    /// Whether the last run had one.
    used: bool,
}

impl SpawnBuffers {
    /// The record of the spawner, if the run has one.
    pub(super) fn in_use(&self) -> Option<Ptr> {
        self.used.then_some(self.record.ptr)
    }

    pub(super) fn new() -> SpawnBuffers {
        let buffer = || Sized::new("threads that are spawned");
        SpawnBuffers {
            record: buffer(),
            next: buffer(),
            inboxes: buffer(),
            idle: buffer(),
            mail: buffer(),
            globals: buffer(),
            initial: buffer(),
            used: false,
        }
    }

    /// The record of a run of `spawns` on `plan`, of a store with this block of globals.
    fn prepare(&mut self, device: &mut dyn Device, spawns: &Spawns, plan: Plan, globals: &[u8]) -> DeviceResult<Ptr> {
        let (most, lanes, block) = (u64::from(spawns.most), u64::from(plan.lanes), globals.len() as u64);
        let initial = self.initial.at_least(device, block)?;
        let mut record = layout::Spawner {
            next: self.next.at_least(device, most * 4)?,
            globals: self.globals.at_least(device, most * block)?,
            initial_globals: initial,
            capacity: spawns.most,
            used: 1,
            // The first thread has the lane of place 0.
            place: 1,
            most: 1,
            ..layout::Spawner::zeroed()
        };
        if spawns.compiled {
            record.mail = self.mail.zeroed(device, most * 8)?;
        } else {
            record.inboxes = self.inboxes.zeroed(device, lanes * 4)?;
            record.idle = self.idle.zeroed(device, lanes.div_ceil(32) * 4)?;
        }
        let at = self.record.at_least(device, size_of::<layout::Spawner>() as u64)?;
        // SAFETY: buffers of these sizes; no kernel runs.
        unsafe {
            device.write(initial, globals)?;
            device.write(at, bytemuck::bytes_of(&record))?;
        }
        Ok(at)
    }
}

impl Store {
    /// The threads that a run of a function may spawn. None, if its program spawns none, or it is run on several threads
    /// from the beginning.
    pub(super) fn spawns(&self, func: u32, options: &RunOptions, compiled: bool) -> Option<Spawns> {
        let instance = self.func_infos[func as usize].func.instance;
        // Of several instances that are compiled, each kernel knows its own alone.
        let several = compiled && self.instance_infos.len() > 1;
        self.instance_infos[instance as usize]
            .thread_start
            .filter(|_| !several)?;
        if options.threads > 1 || options.most_threads <= 1 {
            return None;
        }
        let lanes = match compiled {
            true => self.device.target().map_or(u32::MAX, |target| target.lanes_at_least()),
            false => u32::MAX,
        };
        // Queues and records count threads from 1 in 32 bits, and WASI's ids have 29.
        let most = options.most_threads.min(lanes).min(1 << 28);
        // Each has a block of all globals. Few programs have more than a dozen.
        let blocks = (MOST_GLOBALS_BYTES / self.globals.len.max(1)).max(LEAST_THREADS);
        let most = u64::from(most).min(blocks) as u32;
        Some(Spawns { most, compiled })
    }

    /// The spawner's record for a run, 0 without `spawns`.
    pub(super) fn prepare_spawner(&mut self, spawns: Option<&Spawns>, plan: Plan) -> DeviceResult<Ptr> {
        self.run.spawn.used = spawns.is_some();
        let Some(spawns) = spawns else { return Ok(0) };
        // Those of instances that came later, which spawn none, are not among the fresh ones.
        let mut globals = vec![0u8; self.globals.len as usize];
        // SAFETY: as long as that; no kernel runs.
        unsafe { self.device.read(self.globals.ptr, &mut globals)? };
        globals[..self.fresh_globals.len()].copy_from_slice(&self.fresh_globals);
        let device = &mut *self.device;
        self.run.spawn.prepare(device, spawns, plan, &globals)
    }

    /// What became of the last run's threads that it spawned.
    pub(super) fn read_spawned(&mut self) -> DeviceResult<Option<Spawned>> {
        if !self.run.spawn.used {
            return Ok(None);
        }
        let record = self.fetch::<layout::Spawner>(self.run.spawn.record.ptr)?;
        Ok(Some(Spawned {
            threads: record.spawned,
            most: record.most,
        }))
    }
}

impl End {
    /// Whether no thread could go on.
    pub(super) fn is_deadlock(&self) -> bool {
        matches!(self, End::Trapped(fault) if matches!(**fault, Fault { kind: gpu_run_bytecode::TrapKind::Deadlock, .. }))
    }
}
