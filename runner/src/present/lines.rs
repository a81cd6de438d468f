//! Lines of the user's sources in backtraces.

use gpu_run::{Backtrace, Module};
use gpu_run_translator::Dwarf;

/// A module, and what tells the lines of its program. Nothing is read before a fault is reported.
pub struct LineSource {
    /// The module, whose program may have a line table.
    pub module: Module,
    /// The bytes of the module, if it was translated just now.
    pub wasm: Option<Vec<u8>>,
}

impl LineSource {
    /// Adds what is known to a backtrace.
    pub fn add_to(&self, backtrace: &mut Backtrace) {
        match &self.wasm {
            Some(wasm) => {
                if let Some(dwarf) = Dwarf::find(wasm) {
                    backtrace.add_lines(|offset| dwarf.frames_at(offset));
                }
            }
            None => {
                if let Ok(table) = self.module.program().lines.read() {
                    backtrace.add_lines(|offset| table.frames_at(offset));
                }
            }
        }
    }
}
