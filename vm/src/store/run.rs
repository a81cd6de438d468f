//! Running a function of a store: starting the kernel, and what the host does until it ends.

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytemuck::Zeroable;
use gpu_run_bytecode::code::{Inst, instructions};
use gpu_run_bytecode::isa::ATOMIC_PAGE;
use gpu_run_bytecode::{FuncType, Op, Program, TrapKind, ValType, wasi};

use super::batch::Slots;
use super::debug::{Messages, diagnostics};
use super::requests::Requests;
use super::{Limits, Store, StoreError, Value};
use crate::compiled::Entry;
use crate::debug::{DebugCounts, DebugOptions};
use crate::device::{Device, DeviceResult, Pinned, Plan};
use crate::fault::{Backtrace, Fault};
use crate::layout::{self, Control, DebugThread, Diagnostics, Launch, Ptr, Record, Ring, Thread};
use crate::requests::RequestCounts;
use crate::services::Environment;
use crate::tsan;

/// A stream that the guest writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Takes what the guest writes, while it runs.
pub trait Sink {
    /// Takes a record: what one call of the guest wrote, never mixed with another thread's.
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]);

    /// Takes debug messages of any threads, each as [`DebugOptions::format`] has made it. Without an own way they
    /// become text of stderr, as if of thread 0.
    fn debug(&mut self, messages: &[u8]) {
        self.write(Stream::Stderr, 0, messages);
    }

    /// Called when nothing is left to take for now.
    fn flush(&mut self) {}

    /// The WASI errno with which a stream cannot be written any more. The guest's next writes give it.
    fn error(&self, _stream: Stream) -> Option<u16> {
        None
    }

    /// Called now and then while a run goes on, if [`Store::bind_frame`] was asked for it: how many pixels
    /// were set so far, those that were set again counted again.
    fn progress(&mut self, _pixels: u64) {}
}

impl<F: FnMut(Stream, u32, &[u8])> Sink for F {
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
        self(stream, thread, bytes);
    }
}

/// Whether a thread may depend on another's progress: a program sleeps, or works with atomics, by
/// which threads wait for each other even where they do not wait by an instruction.
pub fn threads_may_wait(program: &Program) -> bool {
    let waits = |op: Op| {
        op as u16 >= ATOMIC_PAGE
            || matches!(
                op,
                Op::Sleep | Op::AtomicAdd | Op::AtomicInc | Op::AtomicDec | Op::AtomicCas
            )
    };
    // Who yields or sleeps may wait for what another thread writes.
    let yields = |inst: &Inst| {
        let functions = [wasi::Function::SchedYield, wasi::Function::PollOneoff];
        inst.op == Op::RequestQueue && functions.iter().any(|function| *function as i64 == inst.args[0])
    };
    instructions(&program.code).any(|(_, inst)| inst.is_ok_and(|inst| waits(inst.op) || yields(&inst)))
}

/// How to run.
#[derive(Clone)]
pub struct RunOptions {
    /// Threads that enter the function.
    pub threads: u32,
    /// Bytes of linear memory that each thread gets as its stack, with more than one thread. Rounded down to a
    /// multiple of 16, to which compiled code expects stacks to be aligned.
    pub thread_stack: u32,
    /// Ends the run after this time.
    pub timeout: Option<Duration>,
    /// Ends the run when it becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// What WASI's functions tell the program; without it they give errno 52, `nosys`.
    pub environment: Option<Environment>,
    /// Which debug messages are given.
    pub debug: DebugOptions,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            threads: 1,
            thread_stack: 65536,
            timeout: None,
            interrupt: None,
            environment: None,
            debug: DebugOptions::default(),
        }
    }
}

impl RunOptions {
    /// Bytes of each thread's stack; 0: threads keep the module's.
    fn stack_bytes(&self) -> u32 {
        match (self.threads, self.thread_stack) {
            (0..=1, _) | (_, 0) => 0,
            (_, bytes) => (bytes & !15).max(16),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// Every thread returned.
    Returned,
    /// A thread trapped.
    Trapped(Box<Fault>),
    /// A thread ended the process with this exit code.
    Exited(i32),
    /// A Rust panic was reported, and ended the process.
    Panicked {
        /// The thread that panicked.
        thread: u32,
        /// Where.
        backtrace: Backtrace,
    },
    /// The time was over.
    TimedOut,
    /// The run was interrupted.
    Interrupted,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Results of each thread, if all returned.
    pub results: Vec<Vec<Value>>,
    /// Time from the kernel's start to its end.
    pub time: Duration,
    /// Lanes that ran.
    pub lanes: u32,
    /// Compiled code ran, not the interpreter.
    pub compiled: bool,
    /// Debug messages.
    pub debug: DebugCounts,
    /// The thread that ended the process, if one did.
    pub ended_by: Option<u32>,
    /// Threads that trapped or panicked. The first of them, or one of the first, is the one of `end`.
    pub faults: u32,
    /// What was asked of the host.
    pub requests: RequestCounts,
}

impl Outcome {
    /// Of a host function that does nothing.
    pub(super) fn nothing(threads: u32) -> Outcome {
        Outcome {
            end: End::Returned,
            results: vec![Vec::new(); threads as usize],
            time: Duration::ZERO,
            lanes: 0,
            compiled: false,
            debug: DebugCounts::default(),
            ended_by: None,
            faults: 0,
            requests: RequestCounts::default(),
        }
    }
}

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

/// A power of two.
const RING_BYTES: u64 = 1 << 20;
const BUCKETS_BYTES: u64 = layout::WAIT_BUCKETS * size_of::<layout::Bucket>() as u64;
/// Bytes that are held back while a thread's record is open.
const OPEN_BYTES: usize = 1 << 20;

/// Memory that runs use again and again.
pub(super) struct Buffers {
    pub(super) control: Pinned,
    pub(super) ring_bytes: Pinned,
    /// The ring's tail: its only word that the host writes.
    pub(super) tail: Pinned,
    pub(super) ring: Ptr,
    pub(super) arena_record: Ptr,
    /// [`Diagnostics`].
    pub(super) diagnostics: Ptr,
    /// A [`DebugThread`] for each thread, if there are debug messages.
    pub(super) debug_threads: Sized,
    pub(super) launch: Ptr,
    pub(super) segments: Sized,
    pub(super) segment_links: Sized,
    pub(super) buckets: Ptr,
    /// Where the stacks of the last run's threads were in memory 0, if there were several.
    pub(super) stacks: std::ops::Range<usize>,
    pub(super) threads: Sized,
    pub(super) globals: Sized,
    pub(super) args: Sized,
    pub(super) results: Sized,
    pub(super) home: Sized,
    /// Of calls under way together; made when there are some.
    pub(super) slots: Option<Slots>,
    /// Of requests to the host; made when there are some.
    pub(super) requests: Option<Requests>,
}

/// Where threads have what is theirs in linear memory; see [`Launch`].
struct Places {
    stack_pointer: u32,
    stack_top: u32,
    tls_base: u32,
    tls_first: u32,
    tls_stride: u32,
}

/// A buffer that is replaced by a larger one when it is too small.
pub(super) struct Sized {
    pub(super) ptr: Ptr,
    bytes: u64,
    what: &'static str,
}

impl Sized {
    pub(super) fn new(what: &'static str) -> Sized {
        Sized { ptr: 0, bytes: 0, what }
    }

    pub(super) fn at_least(&mut self, device: &mut dyn Device, bytes: u64) -> DeviceResult<Ptr> {
        if bytes > self.bytes || self.ptr == 0 {
            if self.ptr != 0 {
                // SAFETY: only runs use it, and none is under way.
                unsafe { device.release(self.ptr) };
                self.ptr = 0;
            }
            self.ptr = device.allocate(bytes, self.what)?;
            self.bytes = bytes;
        }
        Ok(self.ptr)
    }
}

impl Buffers {
    pub(super) fn new(device: &mut dyn Device, limits: Limits) -> DeviceResult<Buffers> {
        let control = device.allocate_pinned(size_of::<Control>() as u64)?;
        let ring_bytes = device.allocate_pinned(RING_BYTES)?;
        let tail = device.allocate_pinned(64)?;
        let mut this = Buffers {
            control,
            ring_bytes,
            tail,
            ring: device.allocate(size_of::<Ring>() as u64, "the output ring")?,
            arena_record: device.allocate(size_of::<layout::Arena>() as u64, "call frames")?,
            diagnostics: device.allocate(size_of::<Diagnostics>() as u64, "diagnostics")?,
            debug_threads: Sized::new("debug messages"),
            launch: device.allocate(size_of::<Launch>() as u64, "launch records")?,
            segments: Sized::new("call frames"),
            segment_links: Sized::new("call frames"),
            buckets: device.allocate(BUCKETS_BYTES, "wait queues")?,
            stacks: 0..0,
            threads: Sized::new("threads"),
            globals: Sized::new("globals of threads"),
            args: Sized::new("arguments"),
            results: Sized::new("results"),
            home: Sized::new("registers"),
            slots: None,
            requests: None,
        };
        this.arena(device, limits.register_arena)?;
        Ok(this)
    }

    /// The arena's record, for segments of `bytes` bytes together.
    pub(super) fn arena(&mut self, device: &mut dyn Device, bytes: u64) -> DeviceResult<layout::Arena> {
        let size = bytes.next_multiple_of(layout::SEGMENT);
        Ok(layout::Arena {
            base: self.segments.at_least(device, size)?,
            size,
            used: 0,
            free: [0; 4],
            next: self.segment_links.at_least(device, size / layout::SEGMENT * 4)?,
        })
    }
}

impl Store {
    /// Runs function `func` (a store-wide number of a function with this store's code) with
    /// arguments of its parameters' types, and gives what its threads write to `sink`.
    pub fn run(
        &mut self,
        func: u32,
        args: &[Value],
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, StoreError> {
        let ty = self.func_type(func).clone();
        self.check_arguments(&ty, args)?;
        if self.does_nothing(func) {
            return Ok(Outcome::nothing(options.threads));
        }
        let entry = self.compiled_entry(func);
        let plan = self.plan(entry, options.threads)?;
        if entry.is_some() {
            self.prepare_compiled()?;
        }
        self.prepare(func, &ty, args, options, plan)?;
        let serving = self.serve_requests(options)?;
        tracing::debug!(
            device = self.device.name(),
            threads = options.threads,
            lanes = plan.lanes,
            compiled = entry.is_some(),
            "a run begins"
        );
        let mut host = Host::new(&self.run, options, sink);
        host.errors = serving.as_ref().map(|serving| serving.errors);
        host.pixels = self.io.progress;
        // Where lanes are threads of this machine they look at the control, and a copy would race with them.
        if entry.is_some() || plan.lanes > 1 && !self.device.rings() {
            host.device_flag = Some(self.run.launch + offset_of!(Launch, stop) as u64);
        }
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
        let stopped = host.serve(&mut *self.device, self.run.control, 1)?;
        let requests = serving.as_ref().map(|serving| serving.service.counts());
        let time = self.device.kernel_time().unwrap_or_else(|| begin.elapsed());
        let (debug, faults) = host.told(&mut *self.device)?;
        if let Some(serving) = serving {
            self.end_requests(options, serving)?;
        }
        let end = self.end(self.run.control, 0, stopped);
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
            compiled: entry.is_some(),
            debug,
            ended_by: self.ended_by(self.run.control, 0),
            faults,
            requests: requests.unwrap_or_default(),
        })
    }

    /// Lays out threads for a compiled entry, or for the interpreter.
    pub(super) fn plan(&mut self, entry: Option<Entry>, threads: u32) -> DeviceResult<Plan> {
        match (entry, self.device.as_compiled()) {
            (Some(_), Some(device)) => Ok(device.plan_compiled(threads)),
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
        ty: &FuncType,
        args: &[Value],
        options: &RunOptions,
        plan: Plan,
    ) -> Result<(), StoreError> {
        let threads = options.threads as u64;
        let args = units_of(args);
        let places = self.thread_places(func, options)?;
        // A thread that waits for the host leaves its lane to others.
        let rotate = options.threads > plan.lanes && (self.threads_may_wait() || self.makes_requests());
        let mut arena_bytes = self.limits.register_arena;
        if rotate {
            // Every thread may be under way at once. If that is more than there is, threads start when
            // others have ended.
            arena_bytes += (threads * layout::SEGMENT).min(self.device.free_memory() / 2);
        }
        self.prepare_diagnostics(options)?;
        let shared_memory = self.memory_infos.iter().any(|memory| memory.ty.shared);
        let globals = self.globals.len / 8;
        let device = &mut *self.device;
        let run = &mut self.run;
        let arena = run.arena(device, arena_bytes)?;
        let blocks = plan.lanes.div_ceil(plan.lanes_per_block) as u64;
        let home = run.home.at_least(
            device,
            blocks * plan.lanes_per_block as u64 * plan.home_units as u64 * 4,
        )?;
        let thread_records = run.threads.at_least(device, threads * size_of::<Thread>() as u64)?;
        // A single thread works on the store's own globals, which so outlive it.
        let thread_globals = match threads {
            1 => self.globals.ptr,
            _ => run.globals.at_least(device, threads * globals * 8)?,
        };
        let records: Vec<Thread> = (0..threads)
            .map(|i| Thread {
                globals: thread_globals + i * globals * 8,
                ..bytemuck::Zeroable::zeroed()
            })
            .collect();
        let args_at = run.args.at_least(device, args.len() as u64 * 4)?;
        let results = run.results.at_least(device, threads * ty.result_units() as u64 * 4)?;
        let launch = Launch {
            threads: thread_records,
            args: args_at,
            results,
            home,
            func,
            arg_units: args.len() as u32,
            result_units: ty.result_units(),
            stack_pointer: places.stack_pointer,
            stack_top: places.stack_top,
            rotate: rotate as u32,
            tls_base: places.tls_base,
            tls_first: places.tls_first,
            tls_stride: places.tls_stride,
            ..self.launch(options, plan)
        };
        let ring = self.new_ring();
        let device = &mut *self.device;
        let run = &mut self.run;
        // SAFETY: the store's buffers, sized above; no kernel runs. The pinned one is written through the
        // host's pointer, to which the device has no access before the launch.
        unsafe {
            device.write(thread_records, bytemuck::cast_slice(&records))?;
            device.write(args_at, bytemuck::cast_slice(&args))?;
            device.write(run.arena_record, bytemuck::bytes_of(&arena))?;
            // A run that was stopped leaves its queues as they were.
            if shared_memory {
                device.clear(run.buckets, BUCKETS_BYTES)?;
            }
            device.write(run.ring, bytemuck::bytes_of(&ring))?;
            std::ptr::write_bytes(run.control.host, 0, size_of::<Control>());
            device.write(run.launch, bytemuck::bytes_of(&launch))?;
        }
        Ok(())
    }

    /// Makes ready what the threads tell of themselves.
    pub(super) fn prepare_diagnostics(&mut self, options: &RunOptions) -> DeviceResult<()> {
        let (device, run) = (&mut *self.device, &mut self.run);
        let mut threads = 0;
        if self.sends_debug {
            let bytes = u64::from(options.threads) * size_of::<DebugThread>() as u64;
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
            funcs: self.funcs.ptr,
            instances: self.instances.ptr,
            control: run.control.device,
            ring: run.ring,
            arena: run.arena_record,
            io: self.io.record,
            initial_globals: self.globals.ptr,
            shared_globals: self.globals.ptr,
            try_functions: self.try_functions.ptr,
            tries: self.tries.ptr,
            clauses: self.clauses.ptr,
            exceptions: self.exceptions,
            buckets: run.buckets,
            diagnostics: run.diagnostics,
            wall_start: now.as_nanos() as u64,
            thread_count: options.threads,
            lanes: plan.lanes,
            home_units: plan.home_units,
            shared_units: plan.shared_units,
            max_depth: self.limits.call_depth,
            globals_per_thread: (self.globals.len / 8) as u32,
            stack_size: options.stack_bytes(),
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
        // SAFETY: the store's, in pinned memory; no kernel runs. The ring's own bytes are 0: at first, and
        // after a run because lanes publish all that they reserve and the host clears all that it takes.
        unsafe { std::ptr::write_bytes(run.tail.host, 0, 64) };
        Ring {
            bytes: run.ring_bytes.device,
            capacity: RING_BYTES,
            head: 0,
            free: RING_BYTES,
            tail_seen: 0,
            looked: 0,
            tail: run.tail.device,
        }
    }

    /// Whether threads of any of the store's programs may wait for each other.
    fn threads_may_wait(&self) -> bool {
        self.instance_infos.iter().any(|info| threads_may_wait(&info.program))
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
            tls_base: u32::MAX,
            tls_first: 0,
            tls_stride: 0,
        };
        let instance = self.func_infos[func as usize].func.instance;
        let info = &self.instance_infos[instance as usize];
        let Some(memory) = info.memories.first().copied() else {
            return Ok(places);
        };
        let meta = &info.program.meta;
        places.stack_pointer = self.stack_pointer_slot(func);
        if options.threads <= 1 {
            return Ok(places);
        }
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
        let mut end = record.size;
        if let Some((base, align)) = locals {
            let first = end.next_multiple_of(align as u64);
            let stride = (image.len() as u64).next_multiple_of(align as u64);
            places.tls_base = base;
            (places.tls_first, places.tls_stride) = (first as u32, stride as u32);
            end = first + stride * threads;
        }
        let stacks = match places.stack_pointer {
            u32::MAX => 0,
            _ => threads * options.stack_bytes() as u64,
        };
        let size = (end + stacks).next_multiple_of(layout::PAGE);
        if size > record.limit {
            return Err(StoreError::NoRoomForStacks {
                needed: size - record.size,
                size: record.size,
                limit: record.limit,
            });
        }
        record.size = size;
        // The top of 4 GiB does not fit 32 bits; stacks are aligned to 16 bytes.
        places.stack_top = size.min(0xffff_fff0) as u32;
        self.run.stacks = (size - stacks) as usize..size as usize;
        let mut blocks = Vec::new();
        for _ in 0..if image.is_empty() { 0 } else { threads } {
            blocks.extend(&image);
            blocks.resize(blocks.len().next_multiple_of(places.tls_stride as usize), 0);
        }
        // SAFETY: the memory's record, and bytes below its new size; no kernel runs.
        unsafe {
            self.device.write(at, bytemuck::bytes_of(&record))?;
            self.device.write(record.base + places.tls_first as u64, &blocks)?;
        }
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

    /// How the run ended whose control is number `index` of `controls`.
    pub(super) fn end(&mut self, controls: Pinned, index: usize, stopped: Option<End>) -> End {
        // SAFETY: one of the controls in pinned memory; the run has ended.
        let end = unsafe { controls.host.cast::<Control>().add(index).read() }.end;
        match end.kind {
            layout::END_EXIT => End::Exited(end.value as i32),
            layout::END_PANIC => End::Panicked {
                thread: end.thread,
                backtrace: self.backtrace(&end),
            },
            layout::END_TRAP => {
                let kind = TrapKind::from_number(end.value as u16).unwrap_or(TrapKind::BadOpcode);
                End::Trapped(Box::new(Fault {
                    kind,
                    thread: end.thread,
                    backtrace: self.backtrace(&end),
                    heap: kind.is_of_heap().then(|| self.heap_fault(end.detail)),
                }))
            }
            _ => stopped.unwrap_or(End::Returned),
        }
    }

    /// The thread that ended the run whose control is number `index` of `controls`, if one did.
    pub(super) fn ended_by(&self, controls: Pinned, index: usize) -> Option<u32> {
        // SAFETY: as in `end`.
        let end = unsafe { controls.host.cast::<Control>().add(index).read() }.end;
        (end.kind != 0).then_some(end.thread)
    }

    fn backtrace(&self, end: &layout::End) -> Backtrace {
        let frames = (end.frames as usize).min(layout::BACKTRACE);
        let mut places = self.places(end.pc);
        for pc in &end.backtrace[..frames] {
            // A return address lies behind its call.
            places.extend(self.places(pc.saturating_sub(1)));
        }
        let omitted = end.depth.saturating_sub(frames as u32 + 1);
        let units = (end.unit_count as usize)
            .min(layout::END_UNITS)
            .min(self.frame_units(end.pc));
        Backtrace {
            places,
            omitted,
            registers: end.units[..units].to_vec(),
        }
    }

    /// Units of the frame of the function that a word of the store's code belongs to.
    fn frame_units(&self, pc: u32) -> usize {
        let after = self.instance_infos.partition_point(|info| info.code_start <= pc);
        let units = after.checked_sub(1).and_then(|index| {
            let info = &self.instance_infos[index];
            let word = pc - info.code_start;
            let mut functions = info.program.meta.functions.iter();
            let function = functions.position(|f| (f.start..f.end).contains(&word))?;
            Some(info.program.frame_units(function) as usize)
        });
        units.unwrap_or(0)
    }

    /// Places in the user's module of a word of the store's code.
    pub(super) fn places(&self, pc: u32) -> Vec<gpu_run_bytecode::Place> {
        let after = self.instance_infos.partition_point(|info| info.code_start <= pc);
        match after.checked_sub(1) {
            Some(index) => {
                let info = &self.instance_infos[index];
                info.program.places(pc - info.code_start)
            }
            None => Vec::new(),
        }
    }
}

/// The host's side while a kernel runs: takes output and watches for reasons to stop.
pub(super) struct Host<'r> {
    ring: Pinned,
    tail: Pinned,
    taken: u64,
    /// Records that threads have begun.
    open: HashMap<(u32, Stream), Vec<u8>>,
    deadline: Option<Instant>,
    interrupt: Option<Arc<AtomicBool>>,
    /// A word in the device's memory that is set too when the runs are to stop: compiled code looks there.
    pub(super) device_flag: Option<Ptr>,
    /// Launch records in pinned memory whose lanes look at `stop` there: where the first is, and how far apart.
    pub(super) launches: Option<(Pinned, usize, usize)>,
    /// Where the guest finds the errno of a stream that cannot be written.
    pub(super) errors: Option<Pinned>,
    /// Where lanes tell how many pixels they have set.
    pub(super) pixels: Option<Pinned>,
    messages: Messages,
    diagnostics: Ptr,
    threads: u32,
    sink: &'r mut dyn Sink,
}

impl<'r> Host<'r> {
    pub(super) fn new(run: &Buffers, options: &RunOptions, sink: &'r mut dyn Sink) -> Host<'r> {
        Host {
            ring: run.ring_bytes,
            tail: run.tail,
            taken: 0,
            open: HashMap::new(),
            // A time beyond what the clock can tell is no limit.
            deadline: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            interrupt: options.interrupt.clone(),
            device_flag: None,
            launches: None,
            errors: None,
            pixels: None,
            messages: Messages::new(options.debug.clone()),
            diagnostics: run.diagnostics,
            threads: options.threads,
            sink,
        }
    }

    /// Serves the runs under way, to each of which belongs one of `count` controls, until they have ended.
    /// Gives why the host stopped them, if it did.
    pub(super) fn serve(
        &mut self,
        device: &mut dyn Device,
        controls: Pinned,
        count: usize,
    ) -> DeviceResult<Option<End>> {
        let mut stopped = None;
        let mut idle = 0u32;
        loop {
            // Asked before the ring is emptied: what was written before the end is then taken.
            let finished = device.finished();
            let took = self.drain();
            match finished {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    self.close_all();
                    return Err(error);
                }
            }
            if stopped.is_none() {
                stopped = self.reason_to_stop();
                if stopped.is_some() {
                    for index in 0..count {
                        // SAFETY: a control's first word. Relaxed: lanes read nothing else for it.
                        unsafe { controls.word((index * size_of::<Control>()) as u64) }.store(1, Ordering::Relaxed);
                        if let Some((pinned, first, stride)) = self.launches {
                            let at = first + index * stride + offset_of!(Launch, stop);
                            // SAFETY: a word of a launch record, which lanes read as an atomic.
                            unsafe { pinned.word(at as u64) }.store(1, Ordering::Relaxed);
                        }
                    }
                    if let Some(flag) = self.device_flag {
                        // SAFETY: a word of the launch record, which lanes read as an atomic.
                        unsafe { device.write(flag, &1u32.to_le_bytes())? };
                    }
                }
            }
            if let Some(pixels) = self.pixels {
                // SAFETY: 8 aligned bytes that lanes write as atomics. Relaxed: it is only shown to a user.
                let pixels = unsafe { std::sync::atomic::AtomicU64::from_ptr(pixels.host.cast()) };
                self.sink.progress(pixels.load(Ordering::Relaxed));
            }
            idle = if took { 0 } else { idle + 1 };
            match idle {
                0 => {}
                1..200 => std::hint::spin_loop(),
                200..1000 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        self.close_all();
        Ok(stopped)
    }

    /// After the runs have ended: takes what is left of debug messages, and gives their counts and the number of
    /// threads that trapped or panicked.
    pub(super) fn told(&mut self, device: &mut dyn Device) -> DeviceResult<(DebugCounts, u32)> {
        let mut record = Diagnostics::zeroed();
        // SAFETY: the store's record and what it points to, as large as `prepare_diagnostics` made it.
        unsafe { device.read(self.diagnostics, bytemuck::bytes_of_mut(&mut record))? };
        if record.threads != 0 {
            let mut threads = vec![DebugThread::zeroed(); self.threads as usize];
            // SAFETY: as above.
            unsafe { device.read(record.threads, bytemuck::cast_slice_mut(&mut threads))? };
            self.messages.close(&threads, record.dropped, self.sink);
            self.sink.flush();
        }
        Ok((self.messages.counts, record.faults))
    }

    fn reason_to_stop(&self) -> Option<End> {
        if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(End::Interrupted);
        }
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
            .then_some(End::TimedOut)
    }

    /// Takes the records that are complete, at most a ring's worth, so that the caller can look at
    /// the clock now and then; says whether there was something to do.
    fn drain(&mut self) -> bool {
        let before = self.taken;
        while self.taken - before < RING_BYTES {
            let at = self.taken % RING_BYTES;
            // SAFETY: records begin at multiples of 16 inside of the ring. Acquire pairs with the
            // release by which a lane publishes the record.
            let kind = unsafe { self.ring.word(at) }.load(Ordering::Acquire);
            if kind == layout::RECORD_EMPTY {
                break;
            }
            // SAFETY: as above.
            tsan::acquired(unsafe { self.ring.host.add(at as usize) });
            let header = size_of::<Record>() as u64;
            // SAFETY: the record is published, so the lane is done with it, and its head lies inside.
            let record = unsafe { self.ring.host.add(at as usize).cast::<Record>().read() };
            let padded = (record.len as u64).next_multiple_of(16);
            // SAFETY: as above; what the record holds lies behind its head.
            let parts = unsafe { self.parts(at + header, record.len as u64) };
            match kind {
                layout::RECORD_DEBUG => self.messages.take(parts, self.sink),
                layout::RECORD_TEXT | layout::RECORD_CLOSE => {
                    // What its thread said before comes first.
                    self.messages.settle(self.sink);
                    self.take(record, kind == layout::RECORD_CLOSE, parts);
                }
                _ => {}
            }
            // SAFETY: as above. The bytes must be 0 before lanes may use them again.
            for part in unsafe { self.parts(at, header + padded) } {
                part.fill(0);
            }
            self.taken += header + padded;
            tsan::released(self.tail.host);
            // SAFETY: the tail's only writer is here; 8 bytes, aligned. Release: a lane that sees
            // this tail (acquire) also sees the cleared bytes.
            unsafe { std::sync::atomic::AtomicU64::from_ptr(self.tail.host.cast()) }
                .store(self.taken, Ordering::Release);
        }
        let took = self.messages.pass_on(self.sink) | (self.taken != before);
        if took {
            self.sink.flush();
            self.tell_errors();
        }
        took
    }

    /// `len` bytes of the ring from a position on: those up to its end, and those from its beginning.
    ///
    /// # Safety
    ///
    /// They are no more than the ring has, and no lane's now; nothing else refers to them.
    unsafe fn parts<'b>(&self, at: u64, len: u64) -> [&'b mut [u8]; 2] {
        let at = at % RING_BYTES;
        let first = len.min(RING_BYTES - at);
        // SAFETY: both lie inside of the ring, and apart.
        unsafe {
            [
                std::slice::from_raw_parts_mut(self.ring.host.add(at as usize), first as usize),
                std::slice::from_raw_parts_mut(self.ring.host, (len - first) as usize),
            ]
        }
    }

    /// Tells the guest which streams cannot be written any more.
    fn tell_errors(&self) {
        let Some(errors) = self.errors else { return };
        for (at, stream) in [(0, Stream::Stdout), (4, Stream::Stderr)] {
            if let Some(errno) = self.sink.error(stream) {
                // SAFETY: one of two words. Relaxed: lanes read nothing else for it.
                unsafe { errors.word(at) }.store(errno.into(), Ordering::Relaxed);
            }
        }
    }

    /// Adds text to a thread's open record, and writes the record when it is complete.
    fn take(&mut self, record: Record, close: bool, text: [&mut [u8]; 2]) {
        let stream = if record.stream == 2 {
            Stream::Stderr
        } else {
            Stream::Stdout
        };
        let key = (record.thread, stream);
        let open = self.open.entry(key).or_default();
        text.iter().for_each(|part| open.extend_from_slice(part));
        // A record of any length is written in the end; a huge one in pieces.
        if close || open.len() > OPEN_BYTES {
            let text = self.open.remove(&key).unwrap_or_default();
            self.sink.write(stream, record.thread, &text);
        }
    }

    /// Writes what threads had begun to write when they were stopped.
    fn close_all(&mut self) {
        self.messages.settle(self.sink);
        let mut open: Vec<_> = self.open.drain().filter(|(_, text)| !text.is_empty()).collect();
        open.sort();
        for ((thread, stream), text) in open {
            self.sink.write(stream, thread, &text);
        }
        self.sink.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;

    /// What has no call before it, as a record that was damaged might say, has no place.
    #[test]
    fn a_return_address_of_zero_has_no_place() {
        let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
        let wasm = wat::parse_str("(module (func (export \"f\") unreachable))").unwrap();
        let program = gpu_run_translator::translate(&wasm, &Default::default())
            .unwrap()
            .program;
        let code_start = store.next_code_start();
        let options = RunOptions::default();
        store
            .instantiate(Arc::new(program), |_, _| None, &options, &mut |_, _, _: &[u8]| {})
            .unwrap();
        let end = layout::End {
            pc: code_start + 1,
            depth: 2,
            frames: 1,
            ..bytemuck::Zeroable::zeroed()
        };
        assert_eq!(store.backtrace(&end).places.len(), 1);
    }
}
