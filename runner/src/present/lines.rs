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
        self.add_to_all([backtrace]);
    }

    /// The same of several, for which what tells the lines is read once.
    pub fn add_to_all<'b>(&self, backtraces: impl IntoIterator<Item = &'b mut Backtrace>) {
        let backtraces = backtraces.into_iter();
        match &self.wasm {
            Some(wasm) => {
                if let Some(dwarf) = Dwarf::find(wasm) {
                    backtraces.for_each(|backtrace| backtrace.add_lines(|offset| dwarf.frames_at(offset)));
                }
            }
            None => {
                if let Ok(table) = self.module.program().lines.read() {
                    backtraces.for_each(|backtrace| backtrace.add_lines(|offset| table.frames_at(offset)));
                }
            }
        }
    }
}
