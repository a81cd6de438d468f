//! Engines.

use std::sync::Arc;

use super::config::{Config, DeviceKind, Strategy};
use super::device::OpenError;
use super::error::Result;

/// How modules are run: what stores and modules have in common. Clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine(pub(super) Arc<Config>);

impl Engine {
    /// An engine.
    ///
    /// # Errors
    ///
    /// The configuration asks for compiled code on the CPU, which runs none.
    pub fn new(config: &Config) -> Result<Engine> {
        if config.device == DeviceKind::Cpu && config.strategy == Strategy::Ptx {
            return Err(OpenError::NoCompiledCode.into());
        }
        Ok(Engine(Arc::new(config.clone())))
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        &self.0
    }
}

impl Default for Engine {
    /// The first GPU, or else the CPU.
    fn default() -> Engine {
        Engine(Arc::default())
    }
}
