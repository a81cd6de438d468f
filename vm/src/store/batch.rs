//! Many short calls one after another: each is started as soon as it is known, after those before it,
//! and they are waited for together. A script of thousands of calls would otherwise spend its time in
//! waiting for the device.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use gpu_run_bytecode::ValType;

use super::run::{Host, units_of, values_of};
use super::{Outcome, RunOptions, Sink, Store, StoreError, Value};
use crate::device::{Device, DeviceResult, Pinned, Plan};
use crate::layout::{Arena, Control, Launch, Ptr, Ring, Thread};
use crate::requests::RequestCounts;

/// Calls under way at once.
const SLOTS: usize = 256;
/// Units that their arguments and results may take.
const UNITS: usize = 1 << 15;

/// A call of a function on one thread.
#[derive(Clone, Debug)]
pub struct Call {
    /// Store-wide number of the function.
    pub func: u32,
    /// Arguments of its parameters' types.
    pub args: Vec<Value>,
}

/// Memory of the calls under way. They use the same call frames, home registers and ring, one after the
/// other; here is what each has for itself.
pub(super) struct Slots {
    /// `SLOTS` controls and launch records, then `UNITS` units. Pinned, so that the host writes arguments
    /// and reads results without the driver.
    pinned: Pinned,
    /// A ring, then `SLOTS` threads, and arenas, because a run that traps leaves its own as it was.
    records: Ptr,
}

const LAUNCHES_AT: usize = SLOTS * size_of::<Control>();
const UNITS_AT: usize = LAUNCHES_AT + SLOTS * size_of::<Launch>();
const PINNED_BYTES: usize = UNITS_AT + UNITS * 4;
const THREADS_AT: usize = size_of::<Ring>().next_multiple_of(16);
const ARENAS_AT: usize = THREADS_AT + SLOTS * size_of::<Thread>();
const RECORD_BYTES: usize = ARENAS_AT + SLOTS * size_of::<Arena>();

impl Slots {
    fn new(device: &mut dyn Device) -> DeviceResult<Slots> {
        Ok(Slots {
            pinned: device.allocate_pinned(PINNED_BYTES as u64)?,
            records: device.allocate(RECORD_BYTES as u64, "threads")?,
        })
    }
}

/// Calls that are waited for together.
struct Round {
    plan: Plan,
    /// What blocks are counted with, or 0.
    counts: Ptr,
    /// Compiled code runs, not the interpreter.
    compiled: bool,
    pinned: Pinned,
    records: Ptr,
    /// Slots and units that are taken.
    slots: usize,
    units: usize,
    calls: Vec<Published>,
}

/// What became of a call in a round.
enum Published {
    /// It was not run.
    Refused(StoreError),
    /// A function of the host's that does nothing.
    Nothing,
    /// It is the next slot's, with results of these types at this unit of the slots' memory.
    Runs { results: Vec<ValType>, at: usize },
}

impl Store {
    /// Runs the calls that `next` returns, one after another, each as [`Store::run`] would on one
    /// thread, and returns what came of each. A call is started when `next` has returned it, and runs
    /// while `next` looks for the following ones. What one does to memories, tables and globals the next
    /// one finds. A call that traps ends alone, and so does one with wrong arguments, which is not run.
    /// Time and interruption in `options` count for the calls under way together: what they stop ends
    /// all of them that did not trap.
    ///
    /// # Errors
    ///
    /// Of the device.
    pub fn run_all(
        &mut self,
        mut next: impl FnMut(&Store) -> Option<Call>,
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Result<Outcome, StoreError>>, StoreError> {
        let options = RunOptions {
            threads: 1,
            ..options.clone()
        };
        self.stands = Default::default();
        let mut outcomes = Vec::new();
        let mut call = next(self);
        while let Some(first) = &call {
            let Some(mut round) = self.round(first, &options)? else {
                outcomes.push(self.run(first.func, &first.args, &options, sink));
                call = next(self);
                continue;
            };
            let mut host = Host::new(&self.run, &options, options.threads, sink);
            host.launches = Some((round.pinned, LAUNCHES_AT, size_of::<Launch>()));
            let begin = Instant::now();
            let publish = || -> DeviceResult<()> {
                while let Some(here) = &call {
                    if !self.publish(&mut round, here, &options)? {
                        break;
                    }
                    call = next(self);
                }
                Ok(())
            };
            let published = catch_unwind(AssertUnwindSafe(publish));
            // Whatever happened: what was started must have ended.
            let stopped = host.serve(&mut *self.device, round.pinned, round.slots)?;
            match published {
                Ok(result) => result?,
                Err(panic) => resume_unwind(panic),
            }
            let time = begin.elapsed();
            let (debug, faults) = host.told(&mut *self.device)?;
            self.collect_counts()?;
            let mut slot = 0;
            for published in round.calls {
                outcomes.push(match published {
                    Published::Refused(error) => Err(error),
                    Published::Nothing => Ok(Outcome::nothing(1)),
                    Published::Runs { results, at } => {
                        let end = self.end(round.pinned, slot, stopped.clone());
                        let ended_by = self.ended_by(round.pinned, slot);
                        slot += 1;
                        let results = match end {
                            super::End::Returned => vec![results_at(round.pinned, at, &results)],
                            _ => Vec::new(),
                        };
                        let lanes = round.plan.lanes;
                        Ok(Outcome {
                            end,
                            results,
                            time,
                            lanes,
                            compiled: round.compiled,
                            compiled_after: None,
                            // Those of the round.
                            debug,
                            ended_by,
                            faults,
                            requests: RequestCounts::default(),
                            spawned: None,
                        })
                    }
                });
            }
        }
        Ok(outcomes)
    }

    /// Units that a call takes for arguments and results.
    fn units(&self, call: &Call) -> usize {
        units_of(&call.args).len() + self.func_type(call.func).result_units() as usize
    }

    /// Makes ready what the calls of a round use, of which the first is known. None if it is too large.
    fn round(&mut self, first: &Call, options: &RunOptions) -> Result<Option<Round>, StoreError> {
        if self.units(first) > UNITS {
            return Ok(None);
        }
        for memory in self.fixed_memories() {
            self.fix_memory(memory)?;
        }
        let entry = self.compiled_entry(first.func);
        let plan = self.plan(entry, 1)?;
        if entry.is_some() {
            self.prepare_compiled()?;
        }
        self.prepare_diagnostics(options, options.threads)?;
        let counts = self.prepare_counts(plan, entry.is_some())?;
        let register_arena = self.limits.register_arena;
        let device = &mut *self.device;
        let run = &mut self.run;
        let arena = run.arena(device, register_arena)?;
        let lane_segment_bytes = plan.lanes_per_block as u64 * plan.lane_segment_units as u64 * 4;
        run.lane_segments.at_least(device, lane_segment_bytes)?;
        let slots = match run.slots.take() {
            Some(slots) => slots,
            None => Slots::new(device)?,
        };
        let (pinned, records) = (slots.pinned, slots.records);
        run.slots = Some(slots);
        let mut bytes = vec![0; RECORD_BYTES];
        bytes[..size_of::<Ring>()].copy_from_slice(bytemuck::bytes_of(&self.new_ring()));
        bytes[ARENAS_AT..].copy_from_slice(bytemuck::cast_slice(&[arena; SLOTS]));
        // SAFETY: the slots' own records, and no run is under way.
        unsafe { self.device.write(records, &bytes)? };
        Ok(Some(Round {
            plan,
            counts,
            compiled: entry.is_some(),
            pinned,
            records,
            slots: 0,
            units: 0,
            calls: Vec::new(),
        }))
    }

    /// Starts a call after those of the round. False if there is no room for it.
    fn publish(&mut self, round: &mut Round, call: &Call, options: &RunOptions) -> DeviceResult<bool> {
        let ty = self.func_type(call.func);
        if let Err(error) = self.check_arguments(ty, &call.args) {
            round.calls.push(Published::Refused(error));
            return Ok(true);
        }
        if self.does_nothing(call.func) {
            round.calls.push(Published::Nothing);
            return Ok(true);
        }
        let (units, entry) = (self.units(call), self.compiled_entry(call.func));
        if entry.is_some() != round.compiled {
            return Ok(false);
        }
        if round.slots == SLOTS || round.units + units > UNITS {
            return Ok(false);
        }
        let results = ty.results.clone();
        let args = units_of(&call.args);
        let Round { pinned, records, .. } = *round;
        let (slot, unit_at) = (round.slots, UNITS_AT + round.units * 4);
        let common = self.launch(options, round.plan);
        let launch = Launch {
            control: pinned.device + (slot * size_of::<Control>()) as u64,
            ring: records,
            threads: records + (THREADS_AT + slot * size_of::<Thread>()) as u64,
            arena: records + (ARENAS_AT + slot * size_of::<Arena>()) as u64,
            args: pinned.device + unit_at as u64,
            results: pinned.device + (unit_at + args.len() * 4) as u64,
            lane_segments: self.run.lane_segments.ptr,
            func: call.func,
            arg_units: args.len() as u32,
            result_units: ty.result_units(),
            stack_pointer: self.stack_pointer_slot(call.func),
            counts: round.counts,
            ..common
        };
        let launch_at = LAUNCHES_AT + slot * size_of::<Launch>();
        let write = |at: usize, bytes: &[u8]| {
            // SAFETY: inside of the slots' memory, in the part of a slot with which no run has to do yet.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pinned.host.add(at), bytes.len()) };
        };
        write(
            slot * size_of::<Control>(),
            bytemuck::bytes_of(&<Control as bytemuck::Zeroable>::zeroed()),
        );
        write(launch_at, bytemuck::bytes_of(&launch));
        write(unit_at, bytemuck::cast_slice(&args));
        // SAFETY: the record is complete; what it points to belongs to the store, which is borrowed until
        // all calls have ended. The programs were verified before instantiation.
        unsafe {
            let launch = pinned.device + launch_at as u64;
            match (entry, self.device.as_compiled()) {
                (Some(entry), Some(device)) => device.start_compiled(entry, launch, &args, round.plan)?,
                _ => self.device.start(launch, round.plan)?,
            }
        }
        round.slots += 1;
        round.units += units;
        let at = unit_at / 4 + args.len();
        round.calls.push(Published::Runs { results, at });
        Ok(true)
    }
}

/// Values of these types at a unit of the slots' memory. Their run has ended.
fn results_at(pinned: Pinned, at: usize, types: &[ValType]) -> Vec<Value> {
    let mut units = (at..).map(|unit| {
        // SAFETY: inside of the slots' memory, as no more units are asked for than the types have;
        // aligned, and no run writes it any more.
        unsafe { pinned.host.cast::<u32>().add(unit).read() }
    });
    values_of(types, &mut units)
}
