//! `gpu-run devices`, and choosing a device.

use std::process::ExitCode;

use bytesize::ByteSize;
use gpu_run_vm::{Cpu, Cuda, Device};

use crate::cli::{DeviceArgs, DeviceChoice, Engine};
use crate::report::{self, Outcome, Report, warn};

/// Opens the device that was asked for.
pub fn open(args: &DeviceArgs) -> Outcome<Box<dyn Device>> {
    let compiled = args.engine == Engine::Ptx;
    match args.device {
        DeviceChoice::Cpu if compiled => Err(Report::new("the PTX engine needs a GPU, and `--device cpu` is none")
            .help("`--engine interp` interprets the program; `--device cuda` takes the GPU")),
        DeviceChoice::Cpu => Ok(Box::new(Cpu::new())),
        DeviceChoice::Cuda(ordinal) => Ok(Box::new(Cuda::new(ordinal).map_err(|error| report::device(&error))?)),
        #[cfg(feature = "emulator")]
        DeviceChoice::Emulator => Ok(Box::new(gpu_run_ptx_emulator::Emulator::new())),
        DeviceChoice::Auto => match Cuda::new(0) {
            Ok(device) => Ok(Box::new(device)),
            Err(error) if compiled => Err(report::device(&error)),
            Err(error) => {
                if gpu_run_vm::has_driver() {
                    warn(&format!(
                        "the program runs on the CPU, because the GPU cannot be used: {error}; \
                         `--device cpu` says that this is wanted"
                    ));
                } else {
                    tracing::info!("running on the CPU: {error}");
                }
                Ok(Box::new(Cpu::new()))
            }
        },
    }
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
