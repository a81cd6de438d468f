//! Running a function of a store.
//!
//! In: a function's number, its arguments and [`RunOptions`]. Out: an [`Outcome`]. In the order in which to read them:
//!
//! - `types`: what a run takes, and what it returns;
//! - this file: prepares the launch record and starts the kernel;
//! - `buffers`: the device's memory that runs use;
//! - `spawner`: what a program needs that spawns threads;
//! - `park`: a run that begins interpreted and goes on in code that is compiled meanwhile;
//! - `host`: what the host does while the kernel runs: it takes output from the ring, and stops the run if it must;
//! - `vitals`: what is told of a run while it goes on;
//! - `end`: how the run ended, and where.

mod buffers;
mod count_watch;
mod end;
mod heap_watch;
mod host;
mod observer;
mod park;
mod sample_watch;
mod spawner;
mod types;
mod vitals;

use std::mem::offset_of;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use gpu_run_bytecode::{FuncType, ValType};

use self::buffers::BUCKETS_BYTES;
pub(super) use self::buffers::{Buffers, Sized};
pub(super) use self::heap_watch::HeapWatch;
pub(super) use self::host::{Host, ProcessSink, pause};
pub(super) use self::observer::{GROUP_BYTES, Observer, part_of};
pub use self::park::{Next, Running, Shares, Tier, Tiered};
pub use self::spawner::Spawned;
use self::spawner::Spawns;
pub use self::types::{End, MOST_SPAWNED, Outcome, RunOptions, Sink, Stream};
pub use self::vitals::{MemoryVitals, ThreadStates, Vitals};
use super::debug::diagnostics;
use super::heap::grows_by_heap;
use super::samples;
use super::waits::{linked_threads_may_wait, threads_may_wait};
use super::{Store, StoreError, Value};
use crate::compiled::Entry;
use crate::cuda::nvtx;
use crate::device::{Device, DeviceResult, Plan};
use crate::layout::{self, Control, DebugThread, Launch, Ring, Thread};
use crate::stands::Stands;

/// Units of values side by side, as frames hold them.
pub(super) fn units_of(values: &[Value]) -> Vec<u32> {
    let units = |value: &Value| {
        let bits = value.bits();
        (0..value.ty().units()).map(move |unit| (bits >> (32 * unit)) as u32)
    };
    values.iter().flat_map(units).collect()
}

/// Values of these types from units side by side.
pub(super) fn values_of(types: &[ValType], units: &mut impl Iterator<Item = u32>) -> Vec<Value> {
    let mut value = |ty: &ValType| {
        let bits = (0..ty.units()).fold(0, |bits, unit| {
            bits | (units.next().unwrap_or(0) as u128) << (32 * unit)
        });
        Value::from_bits(*ty, bits)
    };
    types.iter().map(&mut value).collect()
}

/// Threads that are expected to make calls at once which are too deep for the native stack.
const DEEP_THREADS: u64 = 256;

/// How often [`layout::SEGMENT`] is doubled for the first segment of each of so many threads that take turns, and whose
/// first frame has `least` bytes. That makes 64 KiB, so that most never need a second. It is less if all of them
/// together would take more than a sixteenth of the `free` memory.
fn first_segment_size(threads: u64, least: u64, free: u64) -> u32 {
    let bytes = |size: u32| layout::SEGMENT << size;
    let smallest = (0..).find(|size| bytes(*size) >= least).unwrap_or_default();
    let largest = (0..=4).rev().find(|size| threads * bytes(*size) <= free / 16);
    largest.unwrap_or_default().max(smallest)
}

/// How a run is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compiled,
    /// Compiled at first.
    MayLeave,
    Interpreted,
    /// Interpreted at first.
    MayPark,
}

/// Where threads have what is theirs in linear memory; see [`Launch`].
struct Places {
    stack_pointer: u32,
    stack_top: u32,
    stack_size: u32,
    tls_base: u32,
    tls_first: u32,
    tls_stride: u32,
}

impl Store {
    /// Runs function `func` with arguments of its parameters' types, and passes what its threads
    /// write to `sink`. `func` is a store-wide number of a function with this store's code.
    pub fn run(
        &mut self,
        func: u32,
        args: &[Value],
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, StoreError> {
        self.run_in_tiers(func, args, options, None, sink)
    }

    /// The same, of which the first part may be interpreted while code for the rest is made.
    ///
    /// # Errors
    ///
    /// As [`Store::run`].
    pub fn run_in_tiers(
        &mut self,
        func: u32,
        args: &[Value],
        options: &RunOptions,
        tier: Option<&mut dyn Tier>,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, StoreError> {
        let ty = self.func_type(func).clone();
        self.stands = Stands::default();
        self.check_arguments(&ty, args)?;
        if self.does_nothing(func) {
            return Ok(Outcome::nothing(options.threads));
        }
        let entry = self.compiled_entry(func).filter(|_| !options.interpret);
        let spawns = self.spawns(func, options, entry.is_some());
        let threads = spawns.as_ref().map_or(options.threads, |spawns| spawns.most);
        let mut plan = self.plan(entry, threads)?;
        if entry.is_some() {
            self.prepare_compiled()?;
        }
        let tier = tier.filter(|_| spawns.is_none());
        let mut waiting = self.waiting(func, options, plan, tier);
        let kind = match (entry, &waiting) {
            (Some(_), None) => Kind::Compiled,
            (Some(_), Some(_)) => Kind::MayLeave,
            (None, Some(_)) => Kind::MayPark,
            (None, None) => Kind::Interpreted,
        };
        self.prepare(func, args, options, plan, kind, spawns)?;
        let serving = self.serve_requests(options, threads)?;
        tracing::debug!(
            device = self.device.name(),
            threads,
            lanes = plan.lanes,
            compiled = entry.is_some(),
            "a run begins"
        );
        let heap = self.heap_watch();
        let watch = self.watch(options, plan.lanes, serving.as_ref(), sink);
        let observer = self.observer(plan.lanes);
        let mut host = Host::new(&self.run, options, threads, sink);
        host.watch = watch;
        host.heap = heap;
        host.observer = observer;
        host.errors = serving.as_ref().map(|serving| serving.errors);
        host.pixels = self.io.progress;
        // Where lanes are threads of this machine they look at the control, and a copy would race with them.
        if entry.is_some() || plan.lanes > 1 && !self.device.rings() {
            host.device_flag = Some(self.run.launch + offset_of!(Launch, stop) as u64);
        }
        let ticker = self.ticker();
        let range = nvtx::range("gpu-run: run");
        let begin = Instant::now();
        // SAFETY: `prepare` completed the record; what it points to belongs to the store, which is
        // borrowed until the kernel has ended. The programs were verified before instantiation.
        match (entry, self.device.as_compiled()) {
            // SAFETY: as above; the entry is of the store's own code.
            (Some(entry), Some(device)) => unsafe {
                device.start_compiled(entry, self.run.launch, &units_of(args), plan)?
            },
            // SAFETY: as above.
            _ => unsafe { self.device.start(self.run.launch, plan)? },
        }
        let (mut compiled_after, mut parked, mut compiled) = (None, false, entry.is_some());
        let stopped = loop {
            let parks = |device: &mut dyn Device| waiting.as_mut().map_or(Ok(false), |waiting| waiting.poll(device));
            let stopped = host.serve_until(&mut *self.device, self.run.control, 1, parks)?;
            let Some(waiting) = waiting.as_mut().filter(|_| stopped.is_none()) else {
                break stopped;
            };
            if !self.is_under_way(options.threads, compiled)? {
                break stopped;
            }
            parked = true;
            let again = self.start_again(func, args, options, &waiting.take(), compiled)?;
            (plan, compiled) = (again.plan, again.compiled);
            waiting.went_on(compiled, options.threads);
            if let Some(watch) = &mut host.watch {
                watch.goes_on(plan.lanes);
            }
            if compiled {
                compiled_after = compiled_after.or(Some(begin.elapsed()));
                host.device_flag = Some(self.run.launch + offset_of!(Launch, stop) as u64);
            }
        };
        drop(range);
        if parked {
            self.settle_code(compiled)?;
        }
        drop(ticker);
        host.close_all();
        let requests = serving.as_ref().map(|serving| serving.service.counts());
        // The device's clock tells of the last kernel alone.
        let time = self.device.kernel_time().filter(|_| !parked);
        let time = time.unwrap_or_else(|| begin.elapsed());
        let (debug, faults) = host.told(&mut *self.device)?;
        if let Some(mut heap) = host.heap.take() {
            heap.look(&mut *self.device);
            self.heap_watch = Some(heap);
        }
        let was_stopped = stopped.is_some();
        if let Some(serving) = serving {
            self.end_requests(options, serving)?;
        }
        let observer = host.observer.take();
        self.collect_samples(observer)?;
        self.collect_counts()?;
        let end = self.end(self.run.control, 0, stopped);
        if was_stopped || end.is_deadlock() {
            self.stands = self.read_stands()?;
        }
        let results = match end {
            End::Returned => {
                let threads = options.threads as usize;
                let mut units = self.result_units(threads * ty.result_units() as usize)?.into_iter();
                (0..threads).map(|_| values_of(&ty.results, &mut units)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Outcome {
            end,
            results,
            time,
            lanes: plan.lanes,
            compiled: entry.is_some() || compiled_after.is_some(),
            compiled_after: compiled_after.filter(|_| entry.is_none()),
            debug,
            ended_by: self.ended_by(self.run.control, 0),
            faults,
            requests: requests.unwrap_or_default(),
            spawned: self.read_spawned()?,
        })
    }

    /// Lays out threads for a compiled entry, or for the interpreter.
    pub(super) fn plan(&mut self, entry: Option<Entry>, threads: u32) -> DeviceResult<Plan> {
        let counters = self.counters();
        match (entry, self.device.as_compiled()) {
            (Some(entry), Some(device)) => Ok(device.plan_compiled(entry, threads, counters)),
            _ => {
                self.device.prepare_interpreter()?;
                Ok(self.device.plan(threads, self.max_frame))
            }
        }
    }

    /// Whether a function is one of the host's that does nothing.
    pub(super) fn does_nothing(&self, func: u32) -> bool {
        self.func_infos[func as usize].func.kind == layout::FUNC_NOTHING
    }

    /// Runs an instance's start function.
    pub(super) fn run_start(&mut self, func: u32, options: &RunOptions, sink: &mut dyn Sink) -> Result<(), StoreError> {
        let options = RunOptions {
            threads: 1,
            most_threads: 1,
            ..options.clone()
        };
        match self.run(func, &[], &options, sink)?.end {
            End::Returned => Ok(()),
            End::Trapped(fault) => Err(StoreError::Trap(fault)),
            end => Err(StoreError::Ended(Box::new(end))),
        }
    }

    /// Checks that arguments are values of a function's parameter types.
    pub(super) fn check_arguments(&self, ty: &FuncType, args: &[Value]) -> Result<(), StoreError> {
        let found: Vec<_> = args.iter().map(|arg| arg.ty()).collect();
        let funcs = self.func_infos.len() as u32;
        let forged = args.iter().any(|arg| {
            matches!(arg, Value::FuncRef(Some(index)) if *index >= funcs) || matches!(arg, Value::ExnRef(Some(_)))
        });
        if found != ty.params || forged {
            let found = FuncType {
                params: found,
                results: ty.results.clone(),
            };
            return Err(StoreError::Arguments {
                wanted: ty.clone(),
                found,
            });
        }
        Ok(())
    }

    /// Writes the launch record and what it points to.
    fn prepare(
        &mut self,
        func: u32,
        args: &[Value],
        options: &RunOptions,
        plan: Plan,
        kind: Kind,
        spawns: Option<Spawns>,
    ) -> Result<(), StoreError> {
        let threads = u64::from(spawns.as_ref().map_or(options.threads, |spawns| spawns.most));
        let result_units = self.func_type(func).result_units();
        let args = units_of(args);
        let places = self.thread_places(func, options)?;
        let multiplexed = match &spawns {
            Some(spawns) => !spawns.compiled,
            None => self.takes_turns(options, plan),
        };
        let mut arena_bytes = self.limits.register_arena;
        if kind == Kind::MayPark || kind != Kind::Interpreted && self.calls_interpreter() {
            // Few calls are too deep for the native stack.
            let most = if kind == Kind::MayPark || self.is_mixed() {
                threads
            } else {
                DEEP_THREADS
            };
            arena_bytes += self.nested_bytes(threads.min(most));
        }
        let parked = match kind {
            Kind::MayPark => self.parked_registers(plan)?,
            _ => 0,
        };
        let (mut first_size, mut own_segments) = (0, 0);
        if multiplexed {
            // Every thread may be under way at once. If that is more than there is, threads start when
            // others have ended.
            let free = self.device.free_memory();
            let frame = |func: u32| self.frame_units(self.func_infos[func as usize].func.pc) as u64 * 4;
            // Threads that are spawned begin with functions of their own.
            let starts = self.instance_infos.iter().filter_map(|info| info.thread_start);
            let starts = starts.filter(|_| spawns.is_some());
            let least = starts.map(frame).fold(frame(func), u64::max);
            first_size = first_segment_size(threads, least, free);
            // What first segments do not take is for those that follow: 64 KiB for each thread in all.
            let bytes = (threads * (layout::SEGMENT << layout::CALL_SEGMENT)).min(free / 2);
            arena_bytes += bytes;
            own_segments = u64::from(plan.lanes).min(bytes / (layout::SEGMENT << first_size));
        }
        self.prepare_diagnostics(options, threads as u32)?;
        let samples = self.prepare_samples(threads, u64::from(plan.lanes), kind != Kind::Interpreted)?;
        let counts = self.prepare_counts(plan, matches!(kind, Kind::Compiled | Kind::MayLeave))?;
        let spawner = self.prepare_spawner(spawns.as_ref(), plan)?;
        // There threads can wait at addresses.
        let shared = self.memory_infos.iter().any(|memory| memory.ty.shared);
        let waits = self.waits && shared || self.waits_unshared || spawns.is_some();
        let globals = self.globals.len / 8;
        let device = &mut *self.device;
        let run = &mut self.run;
        let mut arena = run.arena(device, arena_bytes)?;
        let blocks = plan.lanes.div_ceil(plan.lanes_per_block) as u64;
        let mut lane_segment_bytes = blocks * plan.lanes_per_block as u64 * plan.lane_segment_units as u64 * 4;
        if multiplexed {
            // No lane has frames in a segment of its own.
            lane_segment_bytes = 0;
            arena.spares = run.spares.zeroed(device, layout::SPARE_LISTS * 8)?;
            arena.lanes = own_segments;
            arena.used = own_segments * (layout::SEGMENT << first_size);
        }
        let lane_segments = run.lane_segments.at_least(device, lane_segment_bytes)?;
        // All new. What a thread needs it gets when it begins.
        let thread_records = run.threads.zeroed(device, threads * size_of::<Thread>() as u64)?;
        // A single thread works on the store's own globals, which so outlive it.
        let thread_globals = match options.threads {
            1 => self.globals.ptr,
            _ => run.globals.at_least(device, threads * globals * 8)?,
        };
        // The host may stop the run, and ask then.
        let stands = match options.timeout.is_some() || options.interrupt.is_some() || waits {
            true => run.stands.zeroed(device, size_of::<layout::Stands>() as u64)?,
            false => 0,
        };
        let args_at = run.args.at_least(device, args.len() as u64 * 4)?;
        let results = u64::from(options.threads) * u64::from(result_units) * 4;
        let results = run.results.at_least(device, results)?;
        let mut launch = Launch {
            threads: thread_records,
            thread_globals,
            args: args_at,
            results,
            lane_segments,
            func,
            arg_units: args.len() as u32,
            result_units,
            stack_pointer: places.stack_pointer,
            stack_top: places.stack_top,
            stack_size: places.stack_size,
            multiplexed: if multiplexed { 1 + first_size } else { 0 },
            stands,
            census: if waits { run.census } else { 0 },
            spawner,
            tls_base: places.tls_base,
            tls_first: places.tls_first,
            tls_stride: places.tls_stride,
            samples,
            counts,
            parked,
            parks: if kind == Kind::MayLeave { layout::PARKS_MAY } else { 0 },
            ..self.launch(options, plan)
        };
        if launch.samples != 0 {
            launch.slice = samples::SLICE;
        }
        let ring = self.new_ring();
        let device = &mut *self.device;
        let run = &mut self.run;
        // SAFETY: the store's buffers, sized above; no kernel runs. The pinned one is written through the
        // host's pointer, to which the device has no access before the launch.
        unsafe {
            device.write(args_at, bytemuck::cast_slice(&args))?;
            device.write(run.arena_record, bytemuck::bytes_of(&arena))?;
            // A run that was stopped leaves its queues as they were.
            if waits {
                device.clear(run.buckets, BUCKETS_BYTES)?;
                let census = layout::Census {
                    counts: options.threads.into(),
                    ..bytemuck::Zeroable::zeroed()
                };
                device.write(run.census, bytemuck::bytes_of(&census))?;
            }
            device.write(run.ring, bytemuck::bytes_of(&ring))?;
            std::ptr::write_bytes(run.control.host, 0, size_of::<Control>());
            device.write(run.launch, bytemuck::bytes_of(&launch))?;
        }
        Ok(())
    }

    /// Whether the threads of a run that spawns none take turns on their lanes. A thread that waits for the host leaves its
    /// lane to others.
    fn takes_turns(&self, options: &RunOptions, plan: Plan) -> bool {
        options.threads > plan.lanes && (self.threads_may_wait() || self.makes_requests())
    }

    /// Bytes for the frames of interpreted functions that so many compiled threads call: a segment for each that may be
    /// under way at once, as far as there is memory.
    fn nested_bytes(&self, threads: u64) -> u64 {
        let lanes = self.device.target().map_or(0, |target| target.most_lanes());
        let segment = layout::SEGMENT << layout::CALL_SEGMENT;
        (threads.min(lanes.into()) * segment).min(self.device.free_memory() / 4)
    }

    /// Makes ready what at `most` so many threads tell of themselves, and the ring for it.
    pub(super) fn prepare_diagnostics(&mut self, options: &RunOptions, most: u32) -> DeviceResult<()> {
        let (device, run) = (&mut *self.device, &mut self.run);
        run.ring_bytes.prepare(device, self.sends_debug, most)?;
        let mut threads = 0;
        if self.sends_debug {
            let bytes = u64::from(most) * size_of::<DebugThread>() as u64;
            threads = run.debug_threads.at_least(device, bytes)?;
            // SAFETY: as large as it was asked for; no kernel runs.
            unsafe { device.clear(threads, bytes)? };
        }
        let record = diagnostics(&options.debug, threads);
        // SAFETY: the store's own record; no kernel runs.
        unsafe { device.write(run.diagnostics, bytemuck::bytes_of(&record)) }
    }

    /// What all launches of this store have in common, but for a function and its data.
    pub(super) fn launch(&self, options: &RunOptions, plan: Plan) -> Launch {
        let run = &self.run;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.compiled_launch(Launch {
            code: self.code.ptr,
            lane_heaps: self.memory_infos.iter().any(|memory| memory.lanes.lanes != 0) as u32,
            funcs: self.funcs.ptr,
            instances: self.instances.ptr,
            control: run.control.device,
            ring: run.ring,
            arena: run.arena_record,
            io: self.io.record,
            initial_globals: self.globals.ptr,
            thread_globals: self.globals.ptr,
            shared_globals: self.globals.ptr,
            try_functions: self.try_functions.ptr,
            tries: self.tries.ptr,
            clauses: self.clauses.ptr,
            visits: self.visits.by_word.ptr,
            exceptions: self.exceptions,
            buckets: run.buckets,
            diagnostics: run.diagnostics,
            wall_start: now.as_nanos() as u64,
            thread_count: options.threads,
            lanes: plan.lanes,
            lane_segment_units: plan.lane_segment_units,
            shared_units: plan.shared_units,
            max_depth: self.limits.call_depth,
            globals_per_thread: (self.globals.len / 8) as u32,
            slice: plan.slice,
            try_function_count: (self.try_functions.len / 16) as u32,
            max_frame: self.max_frame,
            stack_pointer: u32::MAX,
            tls_base: u32::MAX,
            ..bytemuck::Zeroable::zeroed()
        })
    }

    /// The output ring's record before a run. Its tail is set back too.
    pub(super) fn new_ring(&self) -> Ring {
        let run = &self.run;
        // SAFETY: the store's, in pinned memory; no kernel runs.
        unsafe { std::ptr::write_bytes(run.tail.host, 0, 64) };
        Ring {
            bytes: run.ring_bytes.pinned.device,
            capacity: run.ring_bytes.capacity,
            head: 0,
            free: run.ring_bytes.capacity,
            tail_seen: 0,
            looked: 0,
            tail: run.tail.device,
        }
    }

    /// Whether threads of any of the store's programs may wait for each other.
    fn threads_may_wait(&self) -> bool {
        match &self.instance_infos[..] {
            [info] => threads_may_wait(&info.program),
            infos => linked_threads_may_wait(infos.iter().map(|info| &*info.program)),
        }
    }

    /// Slot of the stack pointer of the function's instance, or `u32::MAX`.
    pub(super) fn stack_pointer_slot(&self, func: u32) -> u32 {
        let instance = self.func_infos[func as usize].func.instance;
        let info = &self.instance_infos[instance as usize];
        let global = info.program.meta.stack_pointer.filter(|_| !info.memories.is_empty());
        global.map_or(u32::MAX, |global| {
            self.global_infos[info.globals[global as usize] as usize].slot
        })
    }

    /// With several threads, grows memory 0 for what each thread has there: thread-local storage, then
    /// the stacks.
    fn thread_places(&mut self, func: u32, options: &RunOptions) -> Result<Places, StoreError> {
        let mut places = Places {
            stack_pointer: u32::MAX,
            stack_top: 0,
            stack_size: 0,
            tls_base: u32::MAX,
            tls_first: 0,
            tls_stride: 0,
        };
        for memory in self.fixed_memories() {
            self.fix_memory(memory)?;
        }
        let instance = self.func_infos[func as usize].func.instance;
        let info = &self.instance_infos[instance as usize];
        let Some(memory) = info.memories.first().copied() else {
            return Ok(places);
        };
        places.stack_pointer = self.stack_pointer_slot(func);
        // The records of a checked heap are read whole, as far as memory reaches. Another instance may make memory grow.
        let mut infos = self.instance_infos.iter().enumerate();
        let shared = infos.any(|(i, info)| i != instance as usize && info.memories.contains(&memory));
        let fixes = !self.checks_heap() && !shared && grows_by_heap(&info.program);
        if options.threads <= 1 {
            if fixes && info.program.thread_start().is_some() {
                self.fix_memory(memory)?;
            }
            return Ok(places);
        }
        let meta = &info.program.meta;
        let slot = |global: u32| self.global_infos[info.globals[global as usize] as usize].slot;
        let locals = match meta.thread_locals.map(|locals| (locals.base, locals.block)) {
            Some((_, None)) => return Err(StoreError::UnknownThreadLocals),
            Some((base, Some((_, align)))) => Some((slot(base), align)),
            None => None,
        };
        let image = info.thread_locals.clone();
        let threads = options.threads as u64;
        let at = self.memory_infos[memory as usize].record;
        let mut record = self.fetch::<layout::Memory>(at)?;
        // Where it has its last size, the heap has what is left, and this run takes of that what it needs.
        let last = u64::from(record.heap.page_limit) * layout::PAGE;
        let fixed = !self.checks_heap() && last != 0 && record.size == last;
        let before = self.memory_infos[memory as usize].places.clone();
        let room = match fixed {
            true => self.free_room(memory, before.clone())?,
            false => record.limit - record.size,
        };
        let mut bytes = 0;
        if let Some((base, align)) = locals {
            places.tls_base = base;
            places.tls_stride = image.len().next_multiple_of(align as usize) as u32;
            // Pages are aligned already, to their size.
            let slack = u64::from(align).saturating_sub(layout::PAGE);
            bytes = threads * u64::from(places.tls_stride) + slack;
        }
        if places.stack_pointer != u32::MAX {
            places.stack_size = options.stack_bytes(room.saturating_sub(bytes));
            tracing::info!("stacks of {} bytes for {threads} threads", places.stack_size);
        }
        let stacks = threads * places.stack_size as u64;
        bytes = (bytes + stacks).next_multiple_of(layout::PAGE);
        let first = match fixed {
            true => self.take_pages(memory, bytes / layout::PAGE, before)?,
            false => (bytes <= room).then_some(record.size / layout::PAGE),
        };
        let Some(first) = first else {
            return Err(StoreError::NoRoomForStacks {
                needed: bytes,
                size: record.size,
                limit: record.limit,
            });
        };
        let align = locals.map_or(1, |(_, align)| u64::from(align));
        places.tls_first = (first * layout::PAGE).next_multiple_of(align) as u32;
        let size = first * layout::PAGE + bytes;
        self.memory_infos[memory as usize].places = first..first + bytes / layout::PAGE;
        if !fixed {
            record.size = size;
            // SAFETY: the memory's record; no kernel runs. All bytes up to the limit are allocated, and still 0.
            unsafe { self.device.write(at, bytemuck::bytes_of(&record))? };
        }
        if fixes {
            self.fix_memory(memory)?;
        }
        // The top of 4 GiB does not fit 32 bits; stacks are aligned to 16 bytes.
        places.stack_top = size.min(0xffff_fff0) as u32;
        self.run.stacks = (size - stacks) as usize..size as usize;
        let mut blocks = Vec::new();
        for _ in 0..if image.is_empty() { 0 } else { threads } {
            blocks.extend(&image);
            blocks.resize(blocks.len().next_multiple_of(places.tls_stride as usize), 0);
        }
        // SAFETY: bytes below the memory's size; no kernel runs.
        unsafe { self.device.write(record.base + places.tls_first as u64, &blocks)? };
        Ok(places)
    }

    /// The first `units` units of results.
    pub(super) fn result_units(&mut self, units: usize) -> DeviceResult<Vec<u32>> {
        let mut found = vec![0u32; units];
        // SAFETY: the kernel has ended and wrote that many units.
        unsafe {
            self.device
                .read(self.run.results.ptr, bytemuck::cast_slice_mut(&mut found))?
        };
        Ok(found)
    }
}
