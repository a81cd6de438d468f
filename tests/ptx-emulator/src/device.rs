//! The emulator as a device.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use gpu_run_vm::compiled::{self, CompiledDevice, Entry};
use gpu_run_vm::ptx::counter_bytes;
use gpu_run_vm::{CodeFormat, Target};
use gpu_run_vm::{Cpu, Device, DeviceError, DeviceResult, Pinned, Plan, Ptr};
use memmap2::{MmapMut, MmapOptions};

use crate::lane::{Lane, Place, Stop};
use crate::memory::{Block, Memory, Range};
use crate::module::{Module, Source};

/// Bytes of a lane's stack.
const STACK: u64 = 32 << 20;

/// Lanes that run in turns; the others begin when one of them has ended.
const RESIDENT: usize = 2048;

/// Instructions until the next lane has its turn.
const SLICE: u64 = 20_000;

/// How long all lanes sleep when each of them waits.
const PAUSE: Duration = Duration::from_micros(20);

/// A device that runs PTX on the CPU.
pub struct Emulator {
    /// Memory is the CPU's, and the interpreter runs there.
    cpu: Cpu,
    allocations: BTreeMap<Ptr, u64>,
    /// Linear memories, by where they begin in what was mapped for each.
    memories: BTreeMap<Ptr, MmapMut>,
    modules: Vec<Arc<Module>>,
    running: Option<JoinHandle<DeviceResult<()>>>,
    stacks: Arc<Stacks>,
}

/// Stacks that lanes take and give back.
#[derive(Default)]
struct Stacks {
    free: Mutex<Vec<Range>>,
    all: Mutex<Vec<MmapMut>>,
}

/// What a thread that panicked held is still whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stacks {
    /// A stack, of which the system provides what is touched.
    fn take(&self) -> DeviceResult<Range> {
        if let Some(stack) = locked(&self.free).pop() {
            return Ok(stack);
        }
        let memory = MmapMut::map_anon(STACK as usize);
        let memory = memory.map_err(|error| failed(format!("no memory for a lane's stack: {error}")))?;
        let begin = memory.as_ptr() as u64;
        locked(&self.all).push(memory);
        Ok(Range { begin, bytes: STACK })
    }

    fn give(&self, stack: Range) {
        locked(&self.free).push(stack);
    }
}

/// What a kernel is started with.
struct Launch {
    module: Arc<Module>,
    kernel: u32,
    record: Ptr,
    args: Vec<u8>,
    plan: Plan,
    ranges: Arc<[Range]>,
    stacks: Arc<Stacks>,
}

fn failed(what: String) -> DeviceError {
    DeviceError::Driver {
        call: "the PTX emulator",
        what,
    }
}

impl Launch {
    fn place(&self, lane: u32) -> Place {
        let lanes = self.plan.lanes_per_block;
        Place {
            block: lane / lanes,
            blocks: self.plan.lanes.div_ceil(lanes),
            lane: lane % lanes,
            lanes,
        }
    }

    /// Runs all lanes: some of them in turns, and another when one has ended.
    fn run(&self) -> DeviceResult<()> {
        // As on a GPU whole blocks run: what has no thread ends at once.
        let mut waiting = 0..self.plan.lanes.next_multiple_of(self.plan.lanes_per_block);
        let mut lanes: Vec<Lane> = Vec::new();
        let (record, threads) = (self.record.to_le_bytes(), self.plan.lanes.to_le_bytes());
        let in_block = self.plan.lanes_per_block;
        let shared = self.module.shared_bytes + self.plan.counter_bytes;
        let new_block = || Arc::new(Block::new(in_block, shared));
        let mut block = new_block();
        loop {
            while lanes.len() < RESIDENT {
                let Some(lane) = waiting.next() else { break };
                if lane % in_block == 0 {
                    block = new_block();
                }
                let memory = Memory::new(self.stacks.take()?, block.clone(), self.ranges.clone());
                let lane = Lane::new(
                    &self.module,
                    self.kernel,
                    &[&record, &threads, &self.args],
                    self.place(lane),
                    memory,
                );
                lanes.push(lane.map_err(|error| failed(error.0))?);
            }
            if lanes.is_empty() {
                return Ok(());
            }
            let (mut asleep, mut error) = (true, None);
            lanes.retain_mut(|lane| {
                if error.is_some() {
                    return false;
                }
                match lane.run(SLICE) {
                    Ok(stop) => {
                        asleep &= stop == Stop::Sleep;
                        if stop == Stop::End {
                            self.stacks.give(lane.stack());
                        }
                        stop != Stop::End
                    }
                    Err(found) => {
                        error = Some(found);
                        false
                    }
                }
            });
            if let Some(error) = error {
                return Err(failed(error.0));
            }
            if asleep {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Emulator {
    /// A device without any code.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Emulator {
        Emulator {
            cpu: Cpu::new(),
            allocations: BTreeMap::new(),
            memories: BTreeMap::new(),
            modules: Vec::new(),
            running: None,
            stacks: Arc::default(),
        }
    }

    /// Waits until the kernel has ended.
    fn join(&mut self) -> DeviceResult<()> {
        match self.running.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(failed("a lane panicked".into())),
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // What is freed next may be in use until then.
        _ = self.join();
    }
}

impl CompiledDevice for Emulator {
    fn load_code(&mut self, code: &[u8]) -> DeviceResult<compiled::Module> {
        let text = std::str::from_utf8(code).map_err(|error| failed(error.to_string()))?;
        // The program, maybe in parts; the runtime; the interpreter, if it is called.
        let texts: Vec<(String, &str)> = (1..)
            .zip(text.split('\0'))
            .map(|(number, text)| (format!("text {number}"), text))
            .collect();
        let sources = texts.iter().map(|(name, text)| Source { name, text });
        let module = Module::load(&sources.collect::<Vec<_>>()).map_err(|error| failed(error.0))?;
        self.modules.push(Arc::new(module));
        Ok(compiled::Module(self.modules.len() - 1))
    }

    fn variable(&self, module: compiled::Module, name: &str) -> DeviceResult<(Ptr, usize)> {
        let found = self.modules[module.0].variables.common(name);
        let found = found.ok_or_else(|| failed(format!("there is no variable {name}")))?;
        Ok((found.address, found.bytes))
    }

    fn entry(&self, module: compiled::Module, name: &str) -> DeviceResult<Entry> {
        let kernel = self.modules[module.0].function(name);
        let kernel = kernel.ok_or_else(|| failed(format!("there is no kernel {name}")))?;
        // Both are small numbers.
        Ok(Entry(module.0 << 32 | kernel as usize))
    }

    fn set_stack(&mut self) -> DeviceResult<u32> {
        // So little that calls become too deep for it in tests, as on a GPU. Frames are larger here than the compiler expects,
        // for they hold what registers hold there: up to 100 KiB of a large function. The rest is for those.
        Ok(8 << 20)
    }

    fn plan_compiled(&self, entry: Entry, threads: u32, counters: Option<u32>) -> Plan {
        let kernel = &self.modules[entry.0 >> 32].functions[entry.0 as u32 as usize];
        // Two warps, where a kernel may have them.
        let lanes_per_block = kernel.most_lanes.min(64);
        Plan {
            lanes: threads,
            lanes_per_block,
            shared_units: 0,
            counter_bytes: counter_bytes(counters, lanes_per_block),
            lane_segment_units: 0,
            slice: 20_000,
        }
    }

    fn plan_resident(&self, entry: Entry, most: u32, counters: Option<u32>) -> Plan {
        self.plan_compiled(entry, most.min(RESIDENT as u32), counters)
    }

    unsafe fn start_compiled(&mut self, entry: Entry, launch: Ptr, args: &[u32], plan: Plan) -> DeviceResult<()> {
        // A stream runs its kernels in order.
        self.join()?;
        let module = self.modules[entry.0 >> 32].clone();
        let allocated = self.allocations.iter().map(|(begin, bytes)| (*begin, *bytes));
        let variables = module
            .variables
            .values()
            .map(|variable| (variable.address, variable.bytes as u64));
        let ranges = allocated.chain(variables).map(|(begin, bytes)| Range { begin, bytes });
        let mut ranges: Vec<Range> = ranges.collect();
        ranges.sort();
        let launch = Launch {
            module,
            kernel: entry.0 as u32,
            record: launch,
            args: args.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            plan,
            ranges: ranges.into(),
            stacks: self.stacks.clone(),
        };
        let spawned = std::thread::Builder::new()
            .name("PTX emulator".into())
            .spawn(move || launch.run());
        self.running = Some(spawned.map_err(|error| failed(format!("no OS thread for lanes: {error}")))?);
        Ok(())
    }
}

impl Device for Emulator {
    // Its clock counts instructions.
    fn lanes_are_threads(&self) -> bool {
        true
    }

    fn clock_rate(&self) -> Option<f64> {
        Some(1e9)
    }

    fn name(&self) -> String {
        "PTX emulator".into()
    }

    fn again(&self) -> DeviceResult<Box<dyn Device>> {
        Ok(Box::new(Emulator::new()))
    }

    fn free_memory(&self) -> u64 {
        self.cpu.free_memory()
    }

    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        let ptr = self.cpu.allocate(bytes, what)?;
        self.allocations.insert(ptr, bytes.max(16));
        Ok(ptr)
    }

    fn aligns_memories(&self) -> bool {
        true
    }

    fn allocate_memory(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        const ALIGNMENT: u64 = 1 << 32;
        // The system provides what is touched.
        let room = bytes.saturating_add(ALIGNMENT) as usize;
        let memory = MmapOptions::new().len(room).no_reserve_swap().map_anon();
        let memory = memory.map_err(|_| DeviceError::OutOfMemory {
            device: self.name(),
            bytes,
            what,
        })?;
        let ptr = (memory.as_ptr() as Ptr).next_multiple_of(ALIGNMENT);
        self.memories.insert(ptr, memory);
        self.allocations.insert(ptr, bytes.max(16));
        Ok(ptr)
    }

    // As a GPU: what was allocated when a kernel began is all that it reaches.
    fn allocates_while_running(&self) -> bool {
        false
    }

    unsafe fn release(&mut self, ptr: Ptr) {
        self.allocations.remove(&ptr);
        if self.memories.remove(&ptr).is_none() {
            // SAFETY: the caller's promise.
            unsafe { self.cpu.release(ptr) };
        }
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        let pinned = self.cpu.allocate_pinned(bytes)?;
        self.allocations.insert(pinned.device, bytes.max(16));
        Ok(pinned)
    }

    unsafe fn write(&mut self, to: Ptr, bytes: &[u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.cpu.write(to, bytes) }
    }

    unsafe fn read(&mut self, from: Ptr, bytes: &mut [u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.cpu.read(from, bytes) }
    }

    unsafe fn clear(&mut self, at: Ptr, bytes: u64) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.cpu.clear(at, bytes) }
    }

    fn target(&self) -> Option<Target> {
        Some(Target {
            ordinal: 0,
            compute_capability: (9, 0),
            // Of 256 lanes each: see `Target::lanes_at_least`.
            multiprocessors: RESIDENT as u32 / 256,
            driver: "PTX emulator".into(),
            format: CodeFormat::Ptx,
        })
    }

    fn as_compiled(&mut self) -> Option<&mut dyn CompiledDevice> {
        Some(self)
    }

    fn plan(&self, threads: u32, frame: u32) -> Plan {
        self.cpu.plan(threads, frame)
    }

    unsafe fn start_processes(&mut self, batch: Ptr, plan: Plan) -> DeviceResult<()> {
        self.join()?;
        // SAFETY: the caller's promise.
        unsafe { self.cpu.start_processes(batch, plan) }
    }

    unsafe fn set_words(&mut self, at: Ptr, stride: u64, count: u64, value: u32) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.cpu.set_words(at, stride, count, value) }
    }

    unsafe fn start(&mut self, launch: Ptr, plan: Plan) -> DeviceResult<()> {
        self.join()?;
        // SAFETY: the caller's promise.
        unsafe { self.cpu.start(launch, plan) }
    }

    fn finished(&mut self) -> DeviceResult<bool> {
        if self.running.as_ref().is_some_and(|lanes| !lanes.is_finished()) || !self.cpu.finished()? {
            return Ok(false);
        }
        self.join().map(|()| true)
    }
}
