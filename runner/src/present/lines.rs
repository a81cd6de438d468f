//! Lines of the user's sources in backtraces.

use std::sync::Arc;

use gpu_run_bytecode::Program;
use gpu_run_translator::Dwarf;
use gpu_run_vm::Backtrace;

/// What can tell the lines of a program. Nothing is read before a fault is reported.
pub struct LineSource {
    /// The bytes of the module, if the program was translated just now.
    pub module: Option<Vec<u8>>,
    /// The program, which may have a line table.
    pub program: Arc<Program>,
}

impl LineSource {
    /// Adds what is known to a backtrace.
    pub fn add_to(&self, backtrace: &mut Backtrace) {
        match &self.module {
            Some(module) => {
                if let Some(dwarf) = Dwarf::find(module) {
                    backtrace.add_lines(|offset| dwarf.frames_at(offset));
                }
            }
            None => {
                if let Ok(table) = self.program.lines.read() {
                    backtrace.add_lines(|offset| table.frames_at(offset));
                }
            }
        }
    }
}
