//! What a store needs of the machine that runs it: memory, and starting the kernel.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::compiled::CompiledDevice;
use crate::layout::Ptr;

/// Why a device did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No such device, or its driver cannot be used.
    #[error("{what}")]
    Unavailable {
        /// What was found instead.
        what: String,
    },
    /// Not enough memory.
    #[error("{device} has no {bytes} bytes of memory left for {what}")]
    OutOfMemory {
        /// Device name.
        device: String,
        /// Bytes asked for.
        bytes: u64,
        /// What they were for.
        what: &'static str,
    },
    /// The driver reported an error.
    #[error("{call} failed: {what}")]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// Its error's name and text.
        what: String,
    },
}

/// A result of a device operation.
pub type DeviceResult<T> = Result<T, DeviceError>;

/// Memory that host and device both reach.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    /// Where the host sees it.
    pub host: *mut u8,
    /// Where the device sees it.
    pub device: Ptr,
}

impl Pinned {
    /// A word of it that the device may write at the same time.
    ///
    /// # Safety
    ///
    /// `at` must be a multiple of 4 inside of the memory, and the memory must outlive the result.
    pub unsafe fn word<'m>(self, at: u64) -> &'m AtomicU32 {
        // SAFETY: aligned and inside by the caller's promise; all concurrent access is atomic.
        unsafe { AtomicU32::from_ptr(self.host.add(at as usize).cast()) }
    }
}

/// Lanes in a warp.
pub(crate) const WARP: u32 = 32;

/// How threads are laid out on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Lanes that run at the same time.
    pub lanes: u32,
    /// Lanes in one block.
    pub lanes_per_block: u32,
    /// Register units of each lane in shared memory.
    pub shared_units: u32,
    /// Bytes of each block's shared memory for counters of compiled code.
    pub counter_bytes: u32,
    /// Register units of each lane's own segment in memory.
    pub lane_segment_units: u32,
    /// Branches and calls between two polls of the stop flag.
    pub slice: u32,
}

/// Bytes that a GPU's cache holds together. Programs begin at multiples of it, so that no line of code
/// that a kernel may have read is written later.
pub const CODE_LINE: u64 = 128;

/// Lanes in a hardware block, where more of them in one bring nothing.
pub(crate) const SMALL_BLOCK: u32 = 128;

/// Bytes of shared memory of a multiprocessor of compute capability 9.0.
pub const FRAME_MEMORY: u32 = 228 << 10;

/// The form of the code that a device loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeFormat {
    /// A cubin, made by the compiler and linker in the driver.
    Cubin,
    /// The program's PTX and the runtime's, with a NUL between them, for a device that runs PTX as it is. No cache
    /// keeps it.
    Ptx,
}

/// See [`Target::frame_memory`]; of a major version of the compute capability.
pub(crate) fn frame_memory(major: i32) -> u32 {
    match major {
        9 | 10 => FRAME_MEMORY,
        _ => 0,
    }
}

/// What machine code is made for and by: a CUDA device and its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Ordinal of the device.
    pub ordinal: i32,
    /// Its compute capability.
    pub compute_capability: (i32, i32),
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Version of the driver, whose compiler it is.
    pub driver: String,
    /// The code that it loads.
    pub format: CodeFormat,
}

/// Lanes of a multiprocessor that are resident at once even if each needs as many registers as there can be. Every
/// multiprocessor has 65,536 registers, and a lane takes at most 256 of them.
pub(crate) const LANES_AT_LEAST: u32 = 256;

impl Target {
    /// Lanes that are resident at once whatever they need. So many threads may wait for each other.
    pub fn lanes_at_least(&self) -> u32 {
        self.multiprocessors * LANES_AT_LEAST
    }

    /// Bytes of shared memory of a multiprocessor for frames of kernels: all of it, on devices that have about as much as those
    /// on which this was found to be faster than local memory.
    pub fn frame_memory(&self) -> u32 {
        frame_memory(self.compute_capability.0)
    }

    /// Lanes that are resident at once at most.
    pub fn most_lanes(&self) -> u32 {
        self.multiprocessors * 2048
    }
}

/// A machine that runs the kernel. Pointers are the device's; all memory is zeroed when allocated.
pub trait Device {
    /// Name for people.
    fn name(&self) -> String;

    /// Bytes of memory that may still be allocated.
    fn free_memory(&self) -> u64;

    /// Allocates zeroed memory.
    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr>;

    /// Allocates zeroed memory for a linear memory. It begins at a multiple of 4 GiB if the device
    /// [aligns memories](Device::aligns_memories).
    fn allocate_memory(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        self.allocate(bytes, what)
    }

    /// Whether linear memories begin at multiples of 4 GiB.
    fn aligns_memories(&self) -> bool {
        false
    }

    /// Allocates zeroed memory for code. Whole lines of [`CODE_LINE`] bytes of it are written, each
    /// once, before the first run that may read them is started.
    fn allocate_code(&mut self, bytes: u64) -> DeviceResult<Ptr> {
        self.allocate(bytes, "code")
    }

    /// Whether lanes can call functions of the host.
    fn rings(&self) -> bool {
        false
    }

    /// Whether lanes of the interpreter are threads of this machine.
    fn lanes_are_threads(&self) -> bool {
        false
    }

    /// Cycles of a lane's clock in a second; `None` if lanes have none.
    fn clock_rate(&self) -> Option<f64> {
        None
    }

    /// Whether memory can be allocated and released while a kernel runs, without waiting for it.
    fn allocates_while_running(&self) -> bool;

    /// Frees memory.
    ///
    /// # Safety
    ///
    /// `ptr` came from `allocate`, `allocate_memory` or `allocate_code` and nothing uses it any more.
    unsafe fn release(&mut self, ptr: Ptr);

    /// Allocates zeroed memory that the host reaches too. It lives as long as the device.
    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned>;

    /// Copies to the device.
    ///
    /// # Safety
    ///
    /// The range is the caller's allocation and no kernel uses it now.
    unsafe fn write(&mut self, to: Ptr, bytes: &[u8]) -> DeviceResult<()>;

    /// Copies from the device.
    ///
    /// # Safety
    ///
    /// As for `write`.
    unsafe fn read(&mut self, from: Ptr, bytes: &mut [u8]) -> DeviceResult<()>;

    /// Sets bytes to 0.
    ///
    /// # Safety
    ///
    /// As for `write`.
    unsafe fn clear(&mut self, at: Ptr, bytes: u64) -> DeviceResult<()>;

    /// Makes the interpreter ready, if it is not yet. Comes before it is planned and started.
    fn prepare_interpreter(&mut self) -> DeviceResult<()> {
        Ok(())
    }

    /// The same device, opened once more at little cost: it shares with this one what is slow to make. In return a call
    /// of one may wait until a kernel of the other has ended.
    ///
    /// # Errors
    ///
    /// As opening it; and always where a device cannot be opened again.
    fn again(&self) -> DeviceResult<Box<dyn Device>> {
        Err(DeviceError::Unavailable {
            what: format!("{} is opened only once", self.name()),
        })
    }

    /// What programs are compiled for to run here; `None` where only the interpreter runs.
    fn target(&self) -> Option<Target> {
        None
    }

    /// The device as one that runs compiled code.
    fn as_compiled(&mut self) -> Option<&mut dyn CompiledDevice> {
        None
    }

    /// Lanes of the interpreter that the device runs at the same time.
    fn lanes(&self) -> u32 {
        self.plan(u32::MAX, 0).lanes
    }

    /// Threads of use to a program that spawns them: they go different ways.
    fn parallelism(&self) -> u32 {
        self.lanes()
    }

    /// Lays out `threads` threads of the interpreter whose largest frame has `frame` units.
    fn plan(&self, threads: u32, frame: u32) -> Plan;

    /// Starts a run: of the interpreter on a `Launch` record, which lies in device memory or, for one lane,
    /// in pinned memory. A run on one lane may be started while others are under way: it begins when they
    /// have ended.
    ///
    /// # Safety
    ///
    /// The record and all that it points to are complete and of verified programs, and stay so
    /// until `finished` is true. Runs under way at the same time may share what only the running one
    /// uses.
    unsafe fn start(&mut self, launch: Ptr, plan: Plan) -> DeviceResult<()>;

    /// Starts the interpreter on a `Batch` record: see `kernel/processes.h`.
    ///
    /// # Errors
    ///
    /// The device's, and that it runs no batches.
    ///
    /// # Safety
    ///
    /// As [`Device::start`].
    unsafe fn start_processes(&mut self, _batch: Ptr, _plan: Plan) -> DeviceResult<()> {
        Err(DeviceError::Unavailable {
            what: format!("{} interprets no batches", self.name()),
        })
    }

    /// Sets `count` words to a value, of which each lies `stride` bytes, a multiple of 4, after the one before, while a
    /// kernel may be looking at them. A lane that acquires such a word at system scope sees all that was written before.
    ///
    /// # Safety
    ///
    /// The words are the caller's allocation, and kernels access them by atomics.
    unsafe fn set_words(&mut self, at: Ptr, stride: u64, count: u64, value: u32) -> DeviceResult<()> {
        for index in 0..count {
            // SAFETY: the caller's promise.
            unsafe { self.write(at + index * stride, &value.to_le_bytes())? };
        }
        Ok(())
    }

    /// Whether all runs that were started have ended; an error of the device shows here.
    fn finished(&mut self) -> DeviceResult<bool>;

    /// How long the last kernel that ended ran, where the device has a clock of its own for that. The host's is
    /// late by as much as it sleeps between its looks.
    fn kernel_time(&self) -> Option<Duration> {
        None
    }
}
