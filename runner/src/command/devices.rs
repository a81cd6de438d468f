//! `gpu-run devices`, and choosing a device.

use std::process::ExitCode;

use bytesize::ByteSize;
use gpu_run::device::{self, OpenError};
use gpu_run_vm::{Cpu, Device};

use crate::cli::DeviceArgs;
use crate::engine;
use crate::report::{self, Outcome, Report, warn};

/// Opens the device that was asked for.
pub fn open(args: &DeviceArgs) -> Outcome<Box<dyn Device>> {
    let opened = device::open(args.device, engine::strategy(args.engine)).map_err(|error| match error {
        OpenError::Device(error) => report::device(&error),
        _ => Report::new("the PTX engine needs a GPU, and `--device cpu` is none")
            .help("`--engine interp` interprets the program; `--device cuda` takes the GPU"),
    })?;
    match &opened.no_gpu {
        Some(error) if gpu_run_vm::has_driver() => warn(&format!(
            "the program runs on the CPU, because the GPU cannot be used: {error}; `--device cpu` says that this is wanted"
        )),
        Some(error) => tracing::info!("running on the CPU: {error}"),
        None => {}
    }
    Ok(opened.device)
}

/// Prints what can run programs here.
pub fn devices() -> Outcome<ExitCode> {
    let cpu = Cpu::new();
    say!(
        "cpu     {}, {} of memory available",
        cpu.name(),
        ByteSize(cpu.free_memory())
    );
    match gpu_run_vm::devices() {
        Ok(devices) if devices.is_empty() => say!("cuda    none: the driver found no device"),
        Ok(devices) => {
            for device in devices {
                let (major, minor) = device.compute_capability;
                say!(
                    "cuda:{}  {}, {} of memory, compute capability {major}.{minor}, {} multiprocessors",
                    device.ordinal,
                    device.name,
                    ByteSize(device.memory),
                    device.multiprocessors
                );
            }
        }
        Err(error) => say!("cuda    none: {error}"),
    }
    Ok(ExitCode::SUCCESS)
}
