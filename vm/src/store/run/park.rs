//! A run that the interpreter begins, and that goes on in code which is compiled meanwhile.
//!
//! When there is code, the host sets the stop word to `STOP_PARKS`. Each thread leaves its lane at its next poll, as at
//! the end of a slice, with its frames in memory; what it had in shared memory it moves to `Launch::parked`. When all
//! lanes have left, the interpreter's kernel has ended. The code is loaded, the bytecode gets its marks for what is
//! compiled, and the program's own kernel is started on the same records. It goes on with the threads that have begun:
//! see `kernel/mixed.cpp`. Output and requests to the host know nothing of it.
//!
//! Noting which blocks run takes its time. So a run is parked too where that begins or ends.
//!
//! A run of one thread can leave the code again, for the interpreter or for other code: the host asks in `Launch::parks`.
//! The thread leaves when all of its frames are interpreted. What it does may have changed, and the host sees that by the
//! interpreter's share of the time, which the device counts.

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use gpu_run_bytecode::Program;

use super::super::visits::{self, Form};
use super::super::{InstanceId, Store, StoreError, Value};
use super::{RunOptions, units_of};
use crate::compiled::Entry;
use crate::cuda::code::Code;
use crate::device::{Device, DeviceResult, Plan};
use crate::layout::{self, Control, Launch, Ptr, Thread};
use crate::ptx::{Blocks, first_block};

/// How often a [`Tier`] is asked.
const LOOK_EVERY: Duration = Duration::from_micros(100);

/// How long a run may take to leave compiled code. Meanwhile it stays interpreted where it is. What has compiled functions on
/// its stack then may have them for good.
const PATIENCE: Duration = Duration::from_secs(1);

/// Makes code for a run while the interpreter is at it.
pub trait Tier {
    /// Whether the code will have an entry for the function with this index, imports first.
    fn enters(&self, index: u32) -> bool;

    /// Looks how the run is to go on. It is called several thousand times a second: until it has returned code, and of a run
    /// of one thread also after that.
    ///
    /// # Errors
    ///
    /// Those of reading the device's memory.
    fn poll(&mut self, run: &mut Running<'_>) -> DeviceResult<Next>;

    /// The run goes on, in compiled code or not, since `poll` has wanted it to. Code that was wanted may have been refused. Or
    /// the run stays in its code, which it cannot leave now.
    fn went_on(&mut self, compiled: bool);
}

/// A run that is under way.
pub struct Running<'r> {
    device: &'r mut dyn Device,
    places: Places,
}

/// Where the device has what a [`Tier`] asks for.
#[derive(Clone, Copy)]
struct Places {
    launch: Ptr,
    /// The visits of the instance, and how many words its code has.
    visits: (Ptr, usize),
}

/// What the interpreter takes of a thread's time in compiled code, in cycles from its beginning on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroable, Pod)]
#[repr(C)]
pub struct Shares {
    /// In the interpreter.
    pub interpreted: u64,
    /// What the device's clock was when that was last brought up to date.
    pub seen: u64,
}

impl Running<'_> {
    /// What [`Store::visited`] returns of the run's instance.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn visited(&mut self) -> DeviceResult<Vec<(u32, u8)>> {
        let (ptr, words) = self.places.visits;
        visits::read(self.device, ptr, words)
    }

    /// The interpreter's share since the run has last gone over to compiled code.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn shares(&mut self) -> DeviceResult<Shares> {
        let mut shares = Shares::zeroed();
        let at = self.places.launch + offset_of!(Launch, interpreted) as u64;
        // SAFETY: two fields of the launch record that follow each other. Those that a lane changes it may have changed once
        // more before the other is read.
        unsafe { self.device.read(at, bytemuck::bytes_of_mut(&mut shares))? };
        Ok(shares)
    }
}

/// How a run is to go on.
#[derive(Clone, Debug)]
pub enum Next {
    /// As it does.
    Same,
    /// Interpreted, without noting visits.
    Unnoted,
    /// Interpreted, with noting them, from none on. Of these blocks none are, so that they take no time for it.
    Noted(Arc<BTreeSet<u32>>),
    /// In this code.
    Code(Tiered),
}

/// Code for a run to go on in.
#[derive(Clone, Debug)]
pub struct Tiered {
    /// The code, some of which is interpreted.
    pub code: Code,
    /// The basic blocks that are interpreted, as in [`Unit::cold`](crate::ptx::Unit::cold). The first of each function by
    /// which a run can begin is among them.
    pub cold: BTreeSet<u32>,
}

/// A [`Tier`] during a run.
pub(super) struct Waiting<'t> {
    tier: &'t mut dyn Tier,
    next: Instant,
    places: Places,
    /// Where the device looks in compiled code that the run can leave, if it is in such.
    parks: Option<Ptr>,
    /// How the run is to go on when it is parked, and since when.
    then: Next,
    since: Instant,
    /// There is nothing to wait for any more.
    over: bool,
}

impl Waiting<'_> {
    /// Whether the stop word is to park the run. Compiled code is told here.
    pub(super) fn poll(&mut self, device: &mut dyn Device) -> DeviceResult<bool> {
        let now = Instant::now();
        if self.over || now < self.next {
            return Ok(false);
        }
        self.next = now + LOOK_EVERY;
        if !matches!(self.then, Next::Same) {
            if let Some(parks) = self.parks.filter(|_| now >= self.since + PATIENCE) {
                // SAFETY: as below. It may have left already, which is told elsewhere.
                unsafe { device.write(parks, &layout::PARKS_MAY.to_le_bytes())? };
                self.then = Next::Same;
                self.tier.went_on(true);
            }
            return Ok(false);
        }
        let places = self.places;
        self.then = self.tier.poll(&mut Running { device, places })?;
        self.since = now;
        if matches!(self.then, Next::Same) {
            return Ok(false);
        }
        if let Some(parks) = self.parks {
            // SAFETY: a word of the launch record, which lanes read as an atomic.
            unsafe { device.write(parks, &layout::PARKS_SOON.to_le_bytes())? };
        }
        Ok(self.parks.is_none())
    }

    /// How the run is to go on.
    pub(super) fn take(&mut self) -> Next {
        std::mem::replace(&mut self.then, Next::Same)
    }

    /// The run of so many threads has gone on, in compiled code or not.
    pub(super) fn went_on(&mut self, compiled: bool, threads: u32) {
        self.parks = (compiled && threads == 1).then(|| self.places.launch + offset_of!(Launch, parks) as u64);
        self.over |= compiled && threads != 1;
        self.tier.went_on(compiled);
    }
}

/// How a run has been started again.
pub(super) struct Again {
    pub(super) plan: Plan,
    /// In compiled code.
    pub(super) compiled: bool,
}

impl Store {
    /// What waits for code during a run of `func`, or for other code, if it can be parked.
    pub(super) fn waiting<'t>(
        &self,
        func: u32,
        options: &RunOptions,
        plan: Plan,
        tier: Option<&'t mut dyn Tier>,
    ) -> Option<Waiting<'t>> {
        let (tier, target) = (tier?, self.device.target()?);
        let [info] = &self.instance_infos[..] else { return None };
        // Threads that take turns on their lanes cannot all have one of their own.
        let meet = options.threads > target.lanes_at_least() && self.threads_may_wait();
        let visits = self.visits_of(InstanceId(0))?;
        // Of several threads in compiled code each would have to leave it by itself.
        let one = options.threads == 1 && self.is_mixed();
        let fits = !options.interpret && (info.code.is_none() || one) && !meet && !self.takes_turns(options, plan);
        let index = info.funcs.iter().position(|number| *number == func)?;
        (fits && tier.enters(index as u32)).then(|| Waiting {
            tier,
            next: Instant::now(),
            places: Places {
                launch: self.run.launch,
                visits,
            },
            parks: one.then(|| self.run.launch + offset_of!(Launch, parks) as u64),
            then: Next::Same,
            since: Instant::now(),
            over: false,
        })
    }

    /// Room for the registers in shared memory of all lanes of a run that may be parked.
    pub(super) fn parked_registers(&mut self, plan: Plan) -> DeviceResult<layout::Ptr> {
        if plan.shared_units == 0 {
            return Ok(0);
        }
        let bytes = u64::from(plan.lanes) * u64::from(plan.shared_units) * 4;
        self.run.parked.at_least(&mut *self.device, bytes)
    }

    /// Whether threads of a run that all lanes have left are still under way.
    pub(super) fn is_under_way(&mut self, threads: u32, compiled: bool) -> DeviceResult<bool> {
        let at = offset_of!(Control, end) + offset_of!(layout::End, kind);
        // SAFETY: a word of the control. Acquire pairs with the release in `frames::record_end`.
        if unsafe { self.run.control.word(at as u64) }.load(Ordering::Acquire) != 0 {
            return Ok(false);
        }
        if compiled {
            return Ok(self.fetch::<Launch>(self.run.launch)?.left != 0);
        }
        let mut records = vec![Thread::zeroed(); threads as usize];
        // SAFETY: the run's records, of which there are so many; its kernel has ended.
        unsafe {
            self.device
                .read(self.run.threads.ptr, bytemuck::cast_slice_mut(&mut records))?
        };
        Ok(records.iter().any(|thread| thread.state != layout::THREAD_ENDED))
    }

    /// Starts a run of `func` again that was parked, in compiled code or not: in the code that there is, or where that cannot
    /// be, in the interpreter.
    pub(super) fn start_again(
        &mut self,
        func: u32,
        args: &[Value],
        options: &RunOptions,
        then: &Next,
        compiled: bool,
    ) -> Result<Again, StoreError> {
        let begin = Instant::now();
        let record = self.fetch::<Launch>(self.run.launch)?;
        if record.stands != 0 {
            // SAFETY: the run's own record; no kernel runs.
            unsafe { self.device.clear(record.stands, size_of::<layout::Stands>() as u64)? };
        }
        // SAFETY: a control's first word; no kernel runs.
        unsafe { self.run.control.word(0) }.store(0, Ordering::Relaxed);
        let (form, loaded) = match then {
            Next::Code(tiered) => match self.take_code(func, options, tiered, record) {
                Ok(loaded) => (Form::Mixed, Some(loaded)),
                Err(error) => {
                    tracing::warn!("the run goes on interpreted: {error}");
                    self.instance_infos[0].code = None;
                    (Form::Plain, None)
                }
            },
            Next::Noted(but) => (Form::Noting(but), None),
            Next::Same | Next::Unnoted => (Form::Plain, None),
        };
        self.rewrite_instance(form)?;
        let (record, plan, entry) = match loaded {
            Some((record, plan, entry)) => (record, plan, Some(entry)),
            None => {
                let (record, plan) = self.leave_code(options, compiled, record)?;
                (record, plan, None)
            }
        };
        // SAFETY: the store's own record; no kernel runs.
        unsafe { self.device.write(self.run.launch, bytemuck::bytes_of(&record))? };
        match (entry, self.device.as_compiled()) {
            // SAFETY: as in `run`, with the same record; the entry is of the code that was taken.
            (Some(entry), Some(device)) => unsafe {
                device.start_compiled(entry, self.run.launch, &units_of(args), plan)?
            },
            // SAFETY: as in `run`.
            _ => unsafe { self.device.start(self.run.launch, plan)? },
        }
        tracing::debug!(
            compiled = entry.is_some(),
            noted = matches!(form, Form::Noting(_)),
            took = ?begin.elapsed(),
            "a run goes on"
        );
        Ok(Again {
            plan,
            compiled: entry.is_some(),
        })
    }

    /// Writes the code of the only instance anew.
    fn rewrite_instance(&mut self, form: Form<'_>) -> DeviceResult<()> {
        let info = &self.instance_infos[0];
        let (program, code_start) = (info.program.clone(), info.code_start);
        self.rewrite_code(&program, code_start, form)
    }

    /// After a run that was parked: what the next run expects, which begins in the code that there is.
    pub(super) fn settle_code(&mut self, compiled: bool) -> DeviceResult<()> {
        match !compiled && self.is_mixed() {
            true => self.rewrite_instance(Form::Mixed),
            false => Ok(()),
        }
    }

    /// The launch record for a run that goes on interpreted, and how its threads are laid out.
    fn leave_code(
        &mut self,
        options: &RunOptions,
        compiled: bool,
        record: Launch,
    ) -> Result<(Launch, Plan), StoreError> {
        let plan = self.plan(None, options.threads)?;
        let record = Launch {
            stop: 0,
            resumes: 1,
            ..record
        };
        if !compiled {
            return Ok((record, plan));
        }
        let parked = match record.parked {
            // It has begun in compiled code.
            0 => self.parked_registers(plan)?,
            parked => parked,
        };
        let record = Launch {
            lanes: plan.lanes,
            // What is there may be in use, or too small.
            lane_segment_units: 0,
            shared_units: plan.shared_units,
            slice: plan.slice,
            parked,
            parks: 0,
            ..record
        };
        Ok((record, plan))
    }

    /// Loads code for a run that was parked; returns its launch record, how its threads are laid out, and the kernel.
    fn take_code(
        &mut self,
        func: u32,
        options: &RunOptions,
        tiered: &Tiered,
        record: Launch,
    ) -> Result<(Launch, Plan, Entry), StoreError> {
        let unfit = |what: &str| StoreError::Device(crate::DeviceError::Unavailable { what: what.to_owned() });
        let info = &self.instance_infos[0];
        let (program, code_start) = (info.program.clone(), info.code_start);
        let index = info.funcs.iter().position(|number| *number == func);
        let defined = index.and_then(|index| index.checked_sub(program.meta.imported_funcs() as usize));
        let first = defined.and_then(|defined| first_block(&program, defined));
        if !first.is_some_and(|first| tiered.cold.contains(&first)) {
            return Err(unfit("the code is not for a run that has begun"));
        }
        let memory = info.memories.first().copied();
        self.load_code(0, &tiered.code)?;
        if let Some(memory) = memory.filter(|_| tiered.code.fixed_memory) {
            // No kernel runs. What goes on asks again how large memory is.
            self.fix_memory(memory)?;
        }
        let entry = self.compiled_entry(func).filter(|_| self.is_mixed());
        let entry = entry.ok_or_else(|| unfit("the code has no entry for the function"))?;
        let loops = loops(&self.blocks(&program), &program, code_start, &tiered.cold);
        let device = &mut *self.device;
        let at = self.run.loops.at_least(device, size_of_val(&loops[..]) as u64)?;
        // SAFETY: as large as it was asked for; no kernel runs.
        unsafe { device.write(at, bytemuck::cast_slice(&loops))? };
        self.prepare_compiled()?;
        let device = self.device.as_compiled().ok_or_else(|| unfit("no code runs here"))?;
        let plan = device.plan_compiled(entry, options.threads, None);
        let launch = Launch {
            lanes: plan.lanes,
            lane_segment_units: plan.lane_segment_units,
            shared_units: plan.shared_units,
            slice: plan.slice,
            stop: 0,
            resumes: 1,
            loops: at,
            // Code for the rest of a run has no counters.
            counts: 0,
            parks: if options.threads == 1 { layout::PARKS_MAY } else { 0 },
            left: 0,
            interpreted: 0,
            seen: 0,
            ..self.compiled_launch(record)
        };
        Ok((launch, plan, entry))
    }
}

/// What [`Launch::loops`] points to, of a program whose code begins at a word of the store's.
fn loops(blocks: &Blocks, program: &Program, code_start: u32, cold: &BTreeSet<u32>) -> Vec<u64> {
    let starts = blocks.loops(program);
    let mut list = vec![0];
    for ((number, function), blocks) in (1u64..).zip(&program.meta.functions).zip(&blocks.starts) {
        // One that begins compiled cannot be entered further in.
        if blocks.first().is_none_or(|first| !cold.contains(first)) {
            continue;
        }
        // They are in order.
        let [first, last] = [function.start, function.end].map(|word| starts.partition_point(|start| *start < word));
        let hot = starts[first..last].iter().filter(|word| !cold.contains(word));
        list.extend(hot.map(|word| u64::from(code_start + word) | number << 32));
    }
    list[1..].sort_unstable_by_key(|entry| *entry as u32);
    list[0] = list.len() as u64 - 1;
    list
}
