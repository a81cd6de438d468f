//! Compiled programs on a CUDA device: loading them, and starting their entries.

use std::ffi::CString;

use cudarc::driver::result;
use cudarc::driver::sys::{
    self, CUdevice_attribute_enum as Attribute, CUfunction_attribute_enum as FunctionAttribute, CUlimit,
};

use super::{Cuda, attribute, driver};
use crate::compiled::{CompiledDevice, Entry, Module};
use crate::cuda::link::{Input, LinkOptions, Progress, link};
use crate::cuda::sass::{FunctionStats, parse};
use crate::device::{CodeFormat, Target};
use crate::device::{Device, DeviceError, DeviceResult, Plan, WARP};
use crate::layout::{BLOCK_LANES, Ptr};
use crate::ptx::counter_bytes;

// The driver's pointers are the handles.

/// The driver's module.
fn handle(module: Module) -> sys::CUmodule {
    module.0 as sys::CUmodule
}

/// Bytes of stack of a lane: no more than this, however much memory there is, and no less.
const STACK: (u64, u64) = (8 << 10, 64 << 10);

/// Bytes of stack for each lane that can be resident. The driver reserves it for all lanes, so they get an
/// eighth of what is free.
fn stack_bytes(free: u64, resident: u64) -> u64 {
    // The driver takes multiples of 16.
    (free / 8 / resident.max(1)).clamp(STACK.0, STACK.1) & !15
}

/// How many bytes of a stack calls may take. An eighth is left for the entry's own frame and for functions past the
/// last call that looks at the limit.
fn usable_stack(bytes: u64) -> u64 {
    bytes - bytes / 8
}

/// What the driver's version and build are, as far as it tells.
fn driver_version() -> String {
    let mut version = 0;
    // SAFETY: the driver is loaded, and writes one number.
    _ = unsafe { sys::cuDriverGetVersion(&mut version) };
    let build = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    format!("{version} {}", build.lines().next().unwrap_or_default())
}

impl Cuda {
    pub(super) fn compile_target(&self) -> Target {
        Target {
            ordinal: self.info.ordinal,
            compute_capability: self.info.compute_capability,
            multiprocessors: self.multiprocessors(),
            driver: driver_version(),
            format: CodeFormat::Cubin,
        }
    }

    /// Compiles and links PTX texts for this device, and returns what the driver tells of the
    /// functions. For the kernels named `entries` this includes what it sets aside to launch them.
    pub fn explain(&mut self, inputs: &[Input], entries: &[String]) -> DeviceResult<Vec<FunctionStats>> {
        let options = LinkOptions {
            verbose: true,
            ..LinkOptions::default()
        };
        let linked = link(self.info.ordinal, inputs, options, &Progress::default())?;
        let mut functions = parse(&linked.log);
        let module = self.load_code(&linked.cubin)?;
        for name in entries {
            let entry = self.entry(module, name)?;
            let of = |attribute| {
                // SAFETY: modules live as long as the device.
                unsafe { result::function::get_function_attribute(entry.0 as sys::CUfunction, attribute) }
                    .map(|value| value.max(0) as u32)
                    .map_err(|error| driver("cuFuncGetAttribute", error))
            };
            let index = functions.iter().position(|function| function.name == *name);
            let index = index.unwrap_or_else(|| {
                functions.push(FunctionStats {
                    name: name.clone(),
                    ..FunctionStats::default()
                });
                functions.len() - 1
            });
            functions[index].registers = Some(of(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?);
            functions[index].local = Some(of(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?);
        }
        Ok(functions)
    }
}

impl CompiledDevice for Cuda {
    fn load_code(&mut self, cubin: &[u8]) -> DeviceResult<Module> {
        // SAFETY: a whole cubin; the driver copies what it needs.
        unsafe { self.load(cubin.as_ptr().cast()) }.map(|module| Module(module as usize))
    }

    fn variable(&self, module: Module, name: &str) -> DeviceResult<(Ptr, usize)> {
        self.context.enter()?;
        // SAFETY: modules live as long as the device.
        unsafe { result::module::get_global(handle(module), symbol(name)?) }.map_err(|error| missing(name, error))
    }

    fn entry(&self, module: Module, name: &str) -> DeviceResult<Entry> {
        self.context.enter()?;
        // SAFETY: modules live as long as the device.
        let function = unsafe { result::module::get_function(handle(module), symbol(name)?) };
        function
            .map(|function| Entry(function as usize))
            .map_err(|error| missing(name, error))
    }

    fn set_stack(&mut self) -> DeviceResult<u32> {
        let lanes = attribute(
            self.device,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        )?;
        let resident = lanes.max(1) as u64 * self.multiprocessors() as u64;
        let free = self.free_memory();
        self.context.enter()?;
        // What was set for another module stays, or the driver would reserve anew.
        let set =
            result::ctx::get_limit(CUlimit::CU_LIMIT_STACK_SIZE).map_err(|error| driver("cuCtxGetLimit", error))?;
        if set as u64 >= STACK.0 {
            return Ok(usable_stack(set as u64) as u32);
        }
        let bytes = stack_bytes(free, resident);
        result::ctx::set_limit(CUlimit::CU_LIMIT_STACK_SIZE, bytes as usize)
            .map_err(|error| driver("cuCtxSetLimit", error))?;
        Ok(usable_stack(bytes) as u32)
    }

    fn plan_compiled(&self, entry: Entry, threads: u32, counters: Option<u32>) -> Plan {
        let lanes_per_block = self.compiled_block(entry, threads, counters);
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
        let plan = self.plan_compiled(entry, most, counters);
        _ = self.context.enter();
        let function = entry.0 as sys::CUfunction;
        let blocks = Cuda::blocks_per_multiprocessor(function, plan.lanes_per_block, plan.counter_bytes).max(1);
        let resident = blocks * plan.lanes_per_block * self.multiprocessors();
        Plan {
            lanes: most.min(resident),
            ..plan
        }
    }

    unsafe fn start_compiled(&mut self, entry: Entry, launch: Ptr, args: &[u32], plan: Plan) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.launch(entry.0 as sys::CUfunction, launch, args, plan) }
    }
}

impl Cuda {
    /// Lanes in a block of compiled code.
    fn compiled_block(&self, entry: Entry, threads: u32, counters: Option<u32>) -> u32 {
        // Where it fails, no block fits; where the driver does not tell, any number of lanes is allowed.
        _ = self.context.enter();
        let most = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: modules live as long as the device.
        let most = unsafe { result::function::get_function_attribute(entry.0 as sys::CUfunction, most) };
        let most = most.map_or(u32::MAX, |most| most.max(1) as u32);
        block_of(
            threads,
            self.multiprocessors(),
            self.block(threads).min(most),
            |block| match block <= most {
                true => {
                    let shared = counter_bytes(counters, block);
                    Cuda::blocks_per_multiprocessor(entry.0 as sys::CUfunction, block, shared)
                }
                false => 0,
            },
        )
    }
}

/// How many lanes the blocks have of a launch with so many threads, at least `least`. `fit` tells how many blocks of a size fit
/// on a multiprocessor at once.
///
/// The warps of a block step together (`kernel/steps.h`), so it is a large one. But a multiprocessor must have room for as many
/// lanes in such blocks as in the smallest ones. And none may get more than an eighth more threads in all, for the others
/// wait for it.
fn block_of(threads: u32, multiprocessors: u32, least: u32, fit: impl Fn(u32) -> u32) -> u32 {
    let resident = |block: u32| block * fit(block);
    let busiest = |block: u32| u64::from(threads.div_ceil(block).div_ceil(multiprocessors)) * u64::from(block);
    let lanes = resident(least);
    let most = (threads / multiprocessors).min(BLOCK_LANES);
    let mut larger = (least / WARP + 1..=most / WARP).rev().map(|warps| warps * WARP);
    let fits = |block: &u32| lanes > 0 && busiest(*block) * 8 <= busiest(least) * 9 && resident(*block) >= lanes;
    larger.find(fits).unwrap_or(least)
}

fn symbol(name: &str) -> DeviceResult<CString> {
    CString::new(name).map_err(|_| DeviceError::Driver {
        call: "cuModuleGetFunction",
        what: format!("the name {name:?} holds a NUL character"),
    })
}

/// The error of a symbol that a module lacks, with its name.
fn missing(name: &str, error: result::DriverError) -> DeviceError {
    match driver("cuModuleGetFunction", error) {
        DeviceError::Driver { call, what } => DeviceError::Driver {
            call,
            what: format!("{what}: {name}"),
        },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_take_an_eighth_of_the_memory_within_bounds() {
        // One H200, a device of 8 GiB with 2 GiB left, and one that is full.
        assert_eq!(stack_bytes(139 << 30, 132 * 2048), 65536);
        assert_eq!(usable_stack(65536), 57344);
        assert_eq!(stack_bytes(2 << 30, 20 * 1024), 13104);
        assert_eq!(stack_bytes(1 << 20, 132 * 2048), 8192);
        assert_eq!(stack_bytes(0, 0), 8192);
    }

    /// How many blocks fit where there is room for so many lanes.
    fn lanes(most: u32) -> impl Fn(u32) -> u32 {
        move |block| most / block
    }

    #[test]
    fn a_block_is_large_where_that_costs_nothing() {
        let cases: [(u32, u32, u32); 9] = [
            // As many as there is room for, in one block.
            (132 * 512, 512, 512),
            (132 * 512, 256, 256),
            (132 * 1024, 1024, 512),
            // Blocks of 416 lanes would fill a multiprocessor, but two of them are more than four small ones.
            (132 * 512, 416, 192),
            // Of 196 blocks of 512 lanes some multiprocessors would get two, which are 1,024 lanes in place of 768.
            (100_000, 1024, 256),
            // Each multiprocessor gets some.
            (132 * 40, 1024, 64),
            (100, 1024, 32),
            (1, 1024, 32),
            // Nothing fits.
            (132 * 512, 0, 128),
        ];
        for (threads, most, wanted) in cases {
            let per_multiprocessor = threads.div_ceil(132);
            let least = per_multiprocessor.next_multiple_of(32).clamp(32, 128);
            assert_eq!(
                block_of(threads, 132, least, lanes(most)),
                wanted,
                "{threads} threads, room for {most}"
            );
        }
    }
}
