//! The CPU as a device: the kernel source compiled for the host, its lanes on OS threads.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use crate::device::{Device, DeviceError, DeviceResult, Pinned, Plan};
use crate::layout::{Batch, Launch, Ptr};
use crate::tsan;

unsafe extern "C" {
    /// Runs one lane of a launch. Of `kernel/kernel.cpp`.
    fn gpu_run_interpret(launch: *mut Launch, lane: u32);
    /// The same of a batch. Of `kernel/kernel.cpp`.
    fn gpu_run_processes(batch: *mut Batch, lane: u32);
}

/// The CPU.
pub struct Cpu {
    allocations: HashMap<Ptr, Layout>,
    running: Vec<JoinHandle<()>>,
}

/// A record of the kernel's that may cross threads: the kernel synchronizes what it points to.
struct Shared<R>(*mut R);

// SAFETY: the kernel's lanes share a launch by atomics and by splitting threads among lanes, a batch by atomics and by
// slots of their own.
unsafe impl<R> Send for Shared<R> {}

impl<R> Shared<R> {
    /// Runs one lane by one of the functions above. A method, so that a closure captures the whole of `self`.
    ///
    /// # Safety
    ///
    /// As [`Device::start`].
    unsafe fn run(self, lane: u32, run: unsafe extern "C" fn(*mut R, u32)) {
        // SAFETY: the caller's promise.
        unsafe { run(self.0, lane) }
    }
}

impl Cpu {
    /// The CPU of this machine.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Cpu {
        Cpu {
            allocations: HashMap::new(),
            running: Vec::new(),
        }
    }

    /// Number of lanes: hardware threads.
    pub fn lanes() -> u32 {
        std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
    }

    fn allocate_aligned(&mut self, bytes: u64, align: usize, what: &'static str) -> DeviceResult<Ptr> {
        // The system hands out large zeroed blocks page by page, when they are first touched.
        let error = || DeviceError::OutOfMemory {
            device: "this machine".into(),
            bytes,
            what,
        };
        let layout = Layout::from_size_align(bytes.max(16) as usize, align).map_err(|_| error())?;
        // SAFETY: the size is not 0.
        let ptr = unsafe { alloc_zeroed(layout) };
        if ptr.is_null() {
            return Err(error());
        }
        self.allocations.insert(ptr as Ptr, layout);
        Ok(ptr as Ptr)
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        for lane in self.running.drain(..) {
            _ = lane.join();
        }
        for (ptr, layout) in self.allocations.drain() {
            // SAFETY: allocated with this layout, and no lane runs any more.
            unsafe { dealloc(ptr as *mut u8, layout) };
        }
    }
}

impl Device for Cpu {
    fn name(&self) -> String {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let model = model.map_or("CPU", |(_, name)| name.trim());
        format!("{model} ({} lanes)", Cpu::lanes())
    }

    fn free_memory(&self) -> u64 {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = info.lines().find_map(|line| {
            line.strip_prefix("MemAvailable:")?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok()
        });
        kib.map_or(1 << 30, |kib| kib * 1024)
    }

    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        self.allocate_aligned(bytes, 16, what)
    }

    fn rings(&self) -> bool {
        true
    }

    fn lanes_are_threads(&self) -> bool {
        true
    }

    fn allocates_while_running(&self) -> bool {
        true
    }

    unsafe fn release(&mut self, ptr: Ptr) {
        if let Some(layout) = self.allocations.remove(&ptr) {
            // SAFETY: allocated with this layout; unused by the caller's promise.
            unsafe { dealloc(ptr as *mut u8, layout) };
        }
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        // No cache line of it is shared with other data.
        let ptr = self.allocate_aligned(bytes, 128, "messages between host and lanes")?;
        Ok(Pinned {
            host: ptr as *mut u8,
            device: ptr,
        })
    }

    unsafe fn write(&mut self, to: Ptr, bytes: &[u8]) -> DeviceResult<()> {
        // SAFETY: the caller owns the range and no kernel uses it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    unsafe fn read(&mut self, from: Ptr, bytes: &mut [u8]) -> DeviceResult<()> {
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    unsafe fn clear(&mut self, at: Ptr, bytes: u64) -> DeviceResult<()> {
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0, bytes as usize) };
        Ok(())
    }

    fn plan(&self, threads: u32, _frame: u32) -> Plan {
        Plan {
            lanes: threads.min(Cpu::lanes()).max(1),
            lanes_per_block: 1,
            shared_units: 0,
            counter_bytes: 0,
            lane_segment_units: 65536,
            slice: 100_000,
        }
    }

    unsafe fn start(&mut self, launch: Ptr, plan: Plan) -> DeviceResult<()> {
        let mut before = std::mem::take(&mut self.running);
        for lane in 0..plan.lanes {
            let shared = Shared(launch as *mut Launch);
            // Only a launch of one lane may find others under way.
            let before = std::mem::take(&mut before);
            let run = move || {
                for lane in before {
                    _ = lane.join();
                }
                // SAFETY: the caller keeps the launch alive until `finished`.
                unsafe { shared.run(lane, gpu_run_interpret) }
            };
            let spawned = std::thread::Builder::new().name(format!("lane {lane}")).spawn(run);
            let handle = match spawned {
                Ok(handle) => handle,
                Err(error) => {
                    // The lanes that do run are stopped, so that no lane uses the launch any more.
                    // SAFETY: the launch and its control are the caller's; the word is atomic.
                    unsafe {
                        let control = (*(launch as *const Launch)).control as *mut u32;
                        AtomicU32::from_ptr(control).store(1, Ordering::Relaxed);
                        // Nobody is to note where threads stand, for which lanes wait for each other.
                        let claimed = &raw mut (*(launch as *mut Launch)).claimed;
                        AtomicU32::from_ptr(claimed).store(1, Ordering::Relaxed);
                    }
                    for lane in self.running.drain(..) {
                        _ = lane.join();
                    }
                    return Err(DeviceError::Unavailable {
                        what: format!("no OS thread for a lane: {error}"),
                    });
                }
            };
            self.running.push(handle);
        }
        Ok(())
    }

    unsafe fn start_processes(&mut self, batch: Ptr, plan: Plan) -> DeviceResult<()> {
        for lane in 0..plan.lanes {
            let shared = Shared(batch as *mut Batch);
            // SAFETY: the caller keeps the batch alive until `finished`.
            let run = move || unsafe { shared.run(lane, gpu_run_processes) };
            match std::thread::Builder::new().name(format!("lane {lane}")).spawn(run) {
                Ok(handle) => self.running.push(handle),
                // The others do what there is to do.
                Err(_) if lane > 0 => break,
                Err(error) => {
                    return Err(DeviceError::Unavailable {
                        what: format!("no OS thread for a lane: {error}"),
                    });
                }
            }
        }
        Ok(())
    }

    unsafe fn set_words(&mut self, at: Ptr, stride: u64, count: u64, value: u32) -> DeviceResult<()> {
        for index in 0..count {
            let word = (at + index * stride) as *mut u32;
            tsan::released(word.cast());
            // SAFETY: the caller's words, which lanes access by atomics. Release: a lane that acquires the word sees what was
            // written before.
            unsafe { AtomicU32::from_ptr(word) }.store(value, Ordering::Release);
        }
        Ok(())
    }

    fn finished(&mut self) -> DeviceResult<bool> {
        if !self.running.iter().all(|lane| lane.is_finished()) {
            return Ok(false);
        }
        for lane in self.running.drain(..) {
            // Joining makes all that the lane wrote visible here.
            lane.join().map_err(|_| DeviceError::Unavailable {
                what: "a lane of the CPU engine panicked".into(),
            })?;
        }
        Ok(true)
    }
}
