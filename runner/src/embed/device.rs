//! Opening a device.

use gpu_run_vm::{Cpu, Cuda, Device, DeviceError};

use super::config::{DeviceKind, Strategy};

/// A device that was opened.
pub struct Opened {
    /// The device.
    pub device: Box<dyn Device>,
    /// Why it is the CPU, where [`DeviceKind::Auto`] asked for a GPU.
    pub no_gpu: Option<DeviceError>,
}

/// Why no device was opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Compiled code was asked for, and the CPU runs none.
    #[error("the PTX engine needs a GPU, and the CPU is none")]
    NoCompiledCode,
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Opens a device that can run modules in that way.
///
/// # Errors
///
/// The driver's, where a GPU was asked for; [`Strategy::Ptx`] on the CPU.
pub fn open(kind: DeviceKind, strategy: Strategy) -> Result<Opened, OpenError> {
    let opened = |device| Opened { device, no_gpu: None };
    let compiled = strategy == Strategy::Ptx;
    Ok(match kind {
        DeviceKind::Cpu if compiled => return Err(OpenError::NoCompiledCode),
        DeviceKind::Cpu => opened(Box::new(Cpu::new())),
        DeviceKind::Cuda(ordinal) => opened(Box::new(Cuda::new(ordinal)?)),
        #[cfg(feature = "emulator")]
        DeviceKind::Emulator => opened(Box::new(gpu_run_ptx_emulator::Emulator::new())),
        DeviceKind::Auto => match Cuda::new(0) {
            Ok(device) => opened(Box::new(device)),
            Err(error) if compiled => return Err(error.into()),
            Err(error) => Opened {
                device: Box::new(Cpu::new()),
                no_gpu: Some(error),
            },
        },
    })
}
