//! CUDA devices, through the driver alone: its library is loaded when it is first asked for, so
//! that the binary starts on machines without one.
//!
//! In: launch records and, for compiled code, programs. Out: runs on the device. In the order in which to read them:
//!
//! - this file: [`Cuda`], the [`Device`] with its memory, its streams and the interpreter kernel;
//! - `context`: the driver's context that each device has for itself;
//! - `aligned`: linear memories, at multiples of 4 GiB;
//! - `machine_code`: the interpreters and the runtime for the GPUs that people have, so that no driver compiles them;
//! - [`code`]: from a program to machine code, in steps: PTX by [`crate::ptx`], then [`link`], kept in [`cache`];
//! - [`ahead`]: code that was compiled before, and travels with its program;
//! - [`link`]: from PTX to a cubin, by the driver's compiler and linker;
//! - [`cache`]: cubins on disk;
//! - `compiled`: loads a cubin and starts its entries;
//! - [`sass`]: what the driver's compiler tells of its machine code.

pub mod ahead;
mod aligned;
mod attributes;
pub mod barriers;
pub mod cache;
pub mod code;
mod compiled;
mod context;
mod descriptors;
mod functions;
pub mod link;
mod machine_code;
pub mod machine_edit;
mod machine_loops;
pub mod nvtx;
mod opcodes;
pub mod sass;
mod stalls;

use std::ffi::{CString, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{
    self, CUdevice_attribute_enum as Attribute, CUfunction_attribute_enum as FunctionAttribute, CUresult,
};
use libloading::Library;

use crate::compiled::CompiledDevice;
use crate::device::Target;
use crate::device::{Device, DeviceError, DeviceResult, Pinned, Plan, SMALL_BLOCK};
use crate::layout::Ptr;
use aligned::Aligned;
use context::Context;

/// The interpreter kernel; see `kernel/build-ptx.sh`.
const KERNEL: &str = include_str!("../kernel/generated/kernel.ptx");
/// The same for batches.
const PROCESSES: &str = include_str!("../kernel/generated/processes.ptx");

/// What is known of a device without using it.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Ordinal, as in `cuda:N`.
    pub ordinal: i32,
    /// Name.
    pub name: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Compute capability.
    pub compute_capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: i32,
}

/// A CUDA device.
pub struct Cuda {
    info: DeviceInfo,
    device: sys::CUdevice,
    context: Arc<Context>,
    /// The interpreter, once it was needed.
    interpreter: Option<sys::CUfunction>,
    /// The same of batches.
    process_interpreter: Option<sys::CUfunction>,
    modules: Vec<sys::CUmodule>,
    kernel_stream: sys::CUstream,
    copy_stream: sys::CUstream,
    /// Around the kernel that was started last.
    begin: sys::CUevent,
    end: sys::CUevent,
    allocations: Vec<Ptr>,
    /// There can be `memories`.
    aligns_memories: bool,
    pinned: Vec<*mut c_void>,
    shared_per_multiprocessor: u32,
    max_shared_per_block: u32,
    /// Cycles a second, at most.
    clock_rate: f64,
    running: bool,
    /// Linear memories. The last field: they go after the context, which may have failed.
    memories: Vec<Aligned>,
}

/// Threads that spawn others go different ways: so many warps of a multiprocessor get one of them each.
const WARPS_FOR_THREADS: u32 = 8;

pub(crate) fn driver(call: &'static str, error: DriverError) -> DeviceError {
    let name = error
        .error_name()
        .map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    let text = error
        .error_string()
        .map_or_else(|_| String::new(), |text| format!(" ({})", text.to_string_lossy()));
    DeviceError::Driver {
        call,
        what: name + &text,
    }
}

pub(crate) fn check(call: &'static str, result: CUresult) -> DeviceResult<()> {
    result.result().map_err(|error| driver(call, error))
}

/// Whether the driver's library is on this machine, whatever it then finds.
pub fn has_driver() -> bool {
    const NAME: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
    // It stays loaded: cuda-gdb sees nothing of a driver that is loaded for the second time.
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: loading the driver's library runs its initializers, as for any CUDA program.
    let driver = DRIVER.get_or_init(|| unsafe { Library::new(NAME) }.ok());
    // SAFETY: the same, where it has another name.
    driver.is_some() || unsafe { sys::is_culib_present() }
}

/// Starts the driver; a message for the user if there is none.
fn load_driver() -> DeviceResult<()> {
    if !has_driver() {
        return Err(DeviceError::Unavailable {
            what: "no NVIDIA driver on this machine (its library libcuda.so.1 was not found)".into(),
        });
    }
    result::init().map_err(|error| driver("cuInit", error))
}

/// The CUDA devices of this machine.
pub fn devices() -> DeviceResult<Vec<DeviceInfo>> {
    load_driver()?;
    let count = result::device::get_count().map_err(|error| driver("cuDeviceGetCount", error))?;
    (0..count).map(|ordinal| Ok(describe(ordinal)?.1)).collect()
}

fn describe(ordinal: i32) -> DeviceResult<(sys::CUdevice, DeviceInfo)> {
    let device = result::device::get(ordinal).map_err(|error| driver("cuDeviceGet", error))?;
    let name = result::device::get_name(device).map_err(|error| driver("cuDeviceGetName", error))?;
    // SAFETY: `device` is a device.
    let memory = unsafe { result::device::total_mem(device) }.map_err(|error| driver("cuDeviceTotalMem", error))?;
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let multiprocessors = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let info = DeviceInfo {
        ordinal,
        name,
        memory: memory as u64,
        compute_capability: (major, minor),
        multiprocessors,
    };
    Ok((device, info))
}

fn attribute(device: sys::CUdevice, attribute: Attribute) -> DeviceResult<i32> {
    // SAFETY: `device` is a device.
    unsafe { result::device::get_attribute(device, attribute) }.map_err(|error| driver("cuDeviceGetAttribute", error))
}

impl Cuda {
    /// Opens device `ordinal`.
    pub fn new(ordinal: i32) -> DeviceResult<Cuda> {
        load_driver()?;
        let count = result::device::get_count().map_err(|error| driver("cuDeviceGetCount", error))?;
        if ordinal >= count {
            return Err(DeviceError::Unavailable {
                what: format!("no CUDA device {ordinal}: this machine has {count}"),
            });
        }
        let (device, info) = describe(ordinal)?;
        if info.compute_capability < (7, 5) {
            let (major, minor) = info.compute_capability;
            return Err(DeviceError::Unavailable {
                what: format!(
                    "{} has compute capability {major}.{minor}; 7.5 or newer is needed",
                    info.name
                ),
            });
        }
        Cuda::in_context(Context::new(ordinal)?, device, info)
    }

    /// Opens a device in a context that is there.
    fn in_context(context: Arc<Context>, device: sys::CUdevice, info: DeviceInfo) -> DeviceResult<Cuda> {
        context.enter()?;
        let stream = || {
            result::stream::create(result::stream::StreamKind::NonBlocking)
                .map_err(|error| driver("cuStreamCreate", error))
        };
        let event = || {
            result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(|error| driver("cuEventCreate", error))
        };
        let shared_per_multiprocessor = attribute(
            device,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?;
        let max_shared_per_block = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let kilohertz = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        let aligns = Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
        // A driver may promise what its machine does not have.
        let aligns_memories =
            attribute(device, aligns).is_ok_and(|aligns| aligns != 0) && Aligned::new(info.ordinal, 1).is_ok();
        Ok(Cuda {
            info,
            device,
            context,
            interpreter: None,
            process_interpreter: None,
            modules: Vec::new(),
            kernel_stream: stream()?,
            copy_stream: stream()?,
            begin: event()?,
            end: event()?,
            allocations: Vec::new(),
            aligns_memories,
            pinned: Vec::new(),
            shared_per_multiprocessor: shared_per_multiprocessor as u32,
            max_shared_per_block: max_shared_per_block as u32,
            clock_rate: f64::from(kilohertz) * 1e3,
            running: false,
            memories: Vec::new(),
        })
    }

    /// Waits for copies that were queued.
    fn finish_copies(&self) -> DeviceResult<()> {
        // SAFETY: the stream is this device's.
        unsafe { result::stream::synchronize(self.copy_stream) }.map_err(|error| driver("cuStreamSynchronize", error))
    }

    /// The interpreter kernel, loaded when this is asked for the first time.
    fn interpreter(&mut self) -> DeviceResult<sys::CUfunction> {
        self.context.enter()?;
        if let Some(function) = self.interpreter {
            return Ok(function);
        }
        let ready_made = machine_code::kernel(self.info.compute_capability);
        let function = self.load_kernel(ready_made, KERNEL, "gpu_run_interpret")?;
        self.interpreter = Some(function);
        Ok(function)
    }

    /// The same of the kernel for batches.
    fn process_interpreter(&mut self) -> DeviceResult<sys::CUfunction> {
        self.context.enter()?;
        if let Some(function) = self.process_interpreter {
            return Ok(function);
        }
        let ready_made = machine_code::processes(self.info.compute_capability);
        let function = self.load_kernel(ready_made, PROCESSES, "gpu_run_processes")?;
        self.process_interpreter = Some(function);
        Ok(function)
    }

    /// Loads a kernel with frames in shared memory: its machine code, if there is some and the driver takes it, else its PTX.
    fn load_kernel(&mut self, ready_made: Option<Vec<u8>>, ptx: &str, name: &str) -> DeviceResult<sys::CUfunction> {
        // SAFETY: a whole cubin. A driver that does not know its format refuses it.
        let loaded = ready_made.and_then(|cubin| unsafe { self.load(cubin.as_ptr().cast()) }.ok());
        let module = match loaded {
            Some(module) => module,
            None => {
                let source = CString::new(ptx).expect("PTX has no NUL");
                // SAFETY: the image is NUL-terminated PTX text.
                unsafe { self.load(source.as_ptr().cast())? }
            }
        };
        let name = CString::new(name).expect("no NUL");
        // SAFETY: the module was just loaded.
        let function = unsafe { result::module::get_function(module, name) }
            .map_err(|error| driver("cuModuleGetFunction", error))?;
        let largest = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to the loaded module.
        unsafe { result::function::set_function_attribute(function, largest, self.max_shared_per_block as c_int) }
            .map_err(|error| driver("cuFuncSetAttribute", error))?;
        Ok(function)
    }

    /// Loads a module, which stays until the device is dropped.
    ///
    /// # Safety
    ///
    /// `image` is PTX text that ends with NUL, or a whole cubin.
    unsafe fn load(&mut self, image: *const c_void) -> DeviceResult<sys::CUmodule> {
        self.context.enter()?;
        // SAFETY: the caller's promise.
        let module = unsafe { result::module::load_data(image) }.map_err(|error| driver("cuModuleLoadData", error))?;
        self.modules.push(module);
        Ok(module)
    }

    fn blocks_per_multiprocessor(function: sys::CUfunction, block: u32, shared: u32) -> u32 {
        // SAFETY: callers pass functions of loaded modules.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor(function, block as c_int, shared as usize)
        };
        blocks.map_or(0, |blocks| blocks.max(0) as u32)
    }

    /// Starts a kernel that takes a pointer to a launch record. A second parameter is the number of lanes, a third is
    /// `args`.
    ///
    /// # Safety
    ///
    /// As [`Device::start`]; a second parameter is of 32 bits, a third is as long as `args`.
    unsafe fn launch(&mut self, function: sys::CUfunction, launch: Ptr, args: &[u32], plan: Plan) -> DeviceResult<()> {
        self.context.enter()?;
        let (mut argument, mut lanes) = (launch, plan.lanes);
        // The driver copies as many as the kernel has, and writes none.
        let mut arguments = [
            (&raw mut argument).cast::<c_void>(),
            (&raw mut lanes).cast::<c_void>(),
            args.as_ptr().cast_mut().cast::<c_void>(),
        ];
        let shared: c_uint = plan.shared_units * plan.lanes_per_block * 4 + plan.counter_bytes;
        let blocks = plan.lanes.div_ceil(plan.lanes_per_block);
        // SAFETY: the kernel takes a pointer, and `args` if it takes more; the caller keeps what is pointed to.
        unsafe {
            result::event::record(self.begin, self.kernel_stream).map_err(|error| driver("cuEventRecord", error))?;
            result::launch_kernel(
                function,
                (blocks, 1, 1),
                (plan.lanes_per_block, 1, 1),
                shared,
                self.kernel_stream,
                &mut arguments,
            )
        }
        .map_err(|error| driver("cuLaunchKernel", error))?;
        // SAFETY: both are this device's.
        unsafe { result::event::record(self.end, self.kernel_stream) }
            .map_err(|error| driver("cuEventRecord", error))?;
        self.running = true;
        Ok(())
    }

    /// Lanes in a block: the smallest one that spreads the threads over all multiprocessors, up to [`SMALL_BLOCK`].
    fn block(&self, threads: u32) -> u32 {
        let per_multiprocessor = threads.div_ceil(self.multiprocessors());
        per_multiprocessor.next_multiple_of(32).clamp(32, SMALL_BLOCK)
    }

    fn multiprocessors(&self) -> u32 {
        self.info.multiprocessors.max(1) as u32
    }

    /// What is told where memory could not be allocated.
    fn not_allocated(&self, (call, error): aligned::Failed, bytes: u64, what: &'static str) -> DeviceError {
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => self.out_of_memory(bytes, what),
            _ => driver(call, error),
        }
    }

    fn out_of_memory(&self, bytes: u64, what: &'static str) -> DeviceError {
        DeviceError::OutOfMemory {
            device: self.name(),
            bytes,
            what,
        }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        _ = self.context.enter();
        // SAFETY: everything freed here was made by this device and is used by nothing else once
        // the kernel has ended. Errors cannot be helped any more.
        unsafe {
            _ = result::stream::synchronize(self.kernel_stream);
            for ptr in self.allocations.drain(..) {
                _ = result::free_sync(ptr);
            }
            for ptr in self.pinned.drain(..) {
                _ = result::free_host(ptr);
            }
            _ = result::event::destroy(self.begin);
            _ = result::event::destroy(self.end);
            _ = result::stream::destroy(self.kernel_stream);
            _ = result::stream::destroy(self.copy_stream);
            for module in self.modules.drain(..) {
                _ = result::module::unload(module);
            }
        }
    }
}

impl Device for Cuda {
    fn clock_rate(&self) -> Option<f64> {
        Some(self.clock_rate)
    }

    fn name(&self) -> String {
        self.info.name.clone()
    }

    fn free_memory(&self) -> u64 {
        let free = self.context.enter().and_then(|()| {
            let info = result::mem_get_info().map_err(|error| driver("cuMemGetInfo", error))?;
            Ok(info.0 as u64)
        });
        free.unwrap_or(0)
    }

    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        self.context.enter()?;
        let bytes = bytes.max(16);
        // SAFETY: freed in `release` or `drop`.
        let ptr = unsafe { result::malloc_sync(bytes as usize) };
        let ptr = ptr.map_err(|error| self.not_allocated(("cuMemAlloc", error), bytes, what))?;
        self.allocations.push(ptr);
        // SAFETY: just allocated with this size.
        unsafe { self.clear(ptr, bytes)? };
        Ok(ptr)
    }

    fn aligns_memories(&self) -> bool {
        self.aligns_memories
    }

    fn allocate_memory(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        if !self.aligns_memories {
            return self.allocate(bytes, what);
        }
        self.context.enter()?;
        if bytes > self.info.memory {
            return Err(self.out_of_memory(bytes, what));
        }
        let memory = Aligned::new(self.info.ordinal, bytes);
        let memory = memory.map_err(|failed| self.not_allocated(failed, bytes, what))?;
        let ptr = memory.ptr;
        self.memories.push(memory);
        // SAFETY: just allocated with this size.
        unsafe { self.clear(ptr, bytes)? };
        Ok(ptr)
    }

    fn allocates_while_running(&self) -> bool {
        false
    }

    unsafe fn release(&mut self, ptr: Ptr) {
        if let Some(index) = self.allocations.iter().position(|known| *known == ptr) {
            self.allocations.swap_remove(index);
            _ = self.context.enter();
            // SAFETY: allocated here; unused by the caller's promise.
            _ = unsafe { result::free_sync(ptr) };
        }
        self.memories.retain(|memory| memory.ptr != ptr);
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        self.context.enter()?;
        // SAFETY: freed in `drop`. Mapped, so that the kernel reaches it.
        let host = unsafe {
            result::malloc_host(
                bytes as usize,
                sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE,
            )
        }
        .map_err(|error| driver("cuMemHostAlloc", error))?;
        self.pinned.push(host);
        let mut device = MaybeUninit::uninit();
        // SAFETY: `host` is mapped memory of `bytes` bytes, used by no thread yet.
        unsafe {
            std::ptr::write_bytes(host.cast::<u8>(), 0, bytes as usize);
            check(
                "cuMemHostGetDevicePointer",
                sys::cuMemHostGetDevicePointer_v2(device.as_mut_ptr(), host, 0),
            )?;
            Ok(Pinned {
                host: host.cast(),
                device: device.assume_init(),
            })
        }
    }

    unsafe fn write(&mut self, to: Ptr, bytes: &[u8]) -> DeviceResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: the caller's range; the copy is waited for before `bytes` may go.
        unsafe { result::memcpy_htod_async(to, bytes, self.copy_stream) }
            .map_err(|error| driver("cuMemcpyHtoD", error))?;
        self.finish_copies()
    }

    unsafe fn read(&mut self, from: Ptr, bytes: &mut [u8]) -> DeviceResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.copy_stream) }
            .map_err(|error| driver("cuMemcpyDtoH", error))?;
        self.finish_copies()
    }

    unsafe fn clear(&mut self, at: Ptr, bytes: u64) -> DeviceResult<()> {
        self.context.enter()?;
        // SAFETY: the caller's range.
        unsafe { result::memset_d8_async(at, 0, bytes as usize, self.copy_stream) }
            .map_err(|error| driver("cuMemsetD8", error))?;
        self.finish_copies()
    }

    /// Neighbouring places are in different warps, so that no lane waits for another that goes another way.
    fn parallelism(&self) -> u32 {
        self.multiprocessors() * WARPS_FOR_THREADS
    }

    /// Few threads get a warp's worth of shared memory each; many share what a multiprocessor has.
    /// All threads run at the same time as long as they fit.
    fn plan(&self, threads: u32, frame: u32) -> Plan {
        let multiprocessors = self.multiprocessors();
        let per_multiprocessor = threads.div_ceil(multiprocessors);
        let block = self.block(threads);
        // 1 KiB of each block's shared memory is the system's.
        let units = |blocks: u32| {
            let bytes = (self.shared_per_multiprocessor / blocks.max(1))
                .saturating_sub(1024)
                .min(self.max_shared_per_block);
            bytes / (block * 4)
        };
        // Where it fails, the count below is 0.
        _ = self.context.enter();
        let resident = self
            .interpreter
            .map_or(1, |function| Cuda::blocks_per_multiprocessor(function, block, 0));
        let resident = resident.max(1);
        let wanted = per_multiprocessor.div_ceil(block).clamp(1, resident);
        // Frames of callees must fit too, so the program's largest frame is only a hint.
        let shared_units = units(wanted).min(frame.saturating_mul(4).max(256));
        let lanes = threads.min(resident * block * multiprocessors);
        Plan {
            lanes,
            lanes_per_block: block,
            shared_units,
            counter_bytes: 0,
            lane_segment_units: 1024,
            slice: 20_000,
        }
    }

    /// The kernel is compiled to so many registers that a multiprocessor has room for 1,024 lanes.
    fn lanes(&self) -> u32 {
        self.multiprocessors() * 1024
    }

    fn prepare_interpreter(&mut self) -> DeviceResult<()> {
        self.interpreter().map(drop)
    }

    fn again(&self) -> DeviceResult<Box<dyn Device>> {
        let again = Cuda::in_context(self.context.clone(), self.device, self.info.clone())?;
        Ok(Box::new(again))
    }

    fn target(&self) -> Option<Target> {
        Some(self.compile_target())
    }

    fn as_compiled(&mut self) -> Option<&mut dyn CompiledDevice> {
        Some(self)
    }

    // A stream runs its kernels in order.
    unsafe fn start(&mut self, launch: Ptr, plan: Plan) -> DeviceResult<()> {
        let function = self.interpreter()?;
        // SAFETY: the caller's promise.
        unsafe { self.launch(function, launch, &[], plan) }
    }

    unsafe fn start_processes(&mut self, batch: Ptr, plan: Plan) -> DeviceResult<()> {
        let function = self.process_interpreter()?;
        // SAFETY: the caller's promise.
        unsafe { self.launch(function, batch, &[], plan) }
    }

    unsafe fn set_words(&mut self, at: Ptr, stride: u64, count: u64, value: u32) -> DeviceResult<()> {
        self.context.enter()?;
        // A copy, as what sets memory may be a kernel, for which there is no room while lanes run that are to be stopped.
        // Copies before it have been waited for, so that lanes that see this one see them.
        let words = vec![value; count as usize];
        let copy = sys::CUDA_MEMCPY2D {
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: words.as_ptr().cast(),
            srcPitch: 4,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: at,
            dstPitch: stride as usize,
            WidthInBytes: 4,
            Height: count as usize,
            srcXInBytes: 0,
            srcY: 0,
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            dstXInBytes: 0,
            dstY: 0,
            dstHost: std::ptr::null_mut(),
            dstArray: std::ptr::null_mut(),
        };
        // SAFETY: the caller's words: one of each row. The copy is waited for before `words` goes.
        check("cuMemcpy2D", unsafe {
            sys::cuMemcpy2DAsync_v2(&copy, self.copy_stream)
        })?;
        self.finish_copies()
    }

    fn finished(&mut self) -> DeviceResult<bool> {
        if !self.running {
            return Ok(true);
        }
        self.context.enter()?;
        // SAFETY: the stream is this device's.
        match unsafe { sys::cuStreamQuery(self.kernel_stream) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => {
                self.running = false;
                check("the kernel", result).map(|()| true)
            }
        }
    }

    fn kernel_time(&self) -> Option<Duration> {
        self.context.enter().ok()?;
        // SAFETY: the events are this device's.
        let ms = unsafe { result::event::elapsed(self.begin, self.end) }.ok()?;
        Some(Duration::from_secs_f64(f64::from(ms).max(0.0) / 1e3))
    }
}

const _: () = assert!(size_of::<c_int>() == 4);
