//! Which functions have begun in the interpreter. It notes those whose heads are marked, in a field of the head that
//! programs do not use: see `frames::note_entered` in the kernel.

use gpu_run_bytecode::Program;

use super::{Array, InstanceId, Store};
use crate::device::DeviceResult;

/// The mark of a head.
const MARK: u64 = 1 << 48;

/// What is noted.
pub(super) struct Entered {
    /// Whether instances that are made now have marks.
    wanted: bool,
    /// By word of the store's code: 1 once a function that begins there has begun.
    pub(super) by_word: Array,
}

impl Default for Entered {
    fn default() -> Entered {
        Entered {
            wanted: false,
            by_word: Array::new("functions that have begun"),
        }
    }
}

impl Store {
    /// Notes which functions begin in the interpreter, of all instances that are made from now on. It costs little.
    pub fn note_entered(&mut self) {
        self.entered.wanted = true;
    }

    /// The code of a program that is about to be made an instance, as the store takes it.
    pub(super) fn marked_code(&self, program: &Program) -> Vec<u64> {
        let mut code = program.code.clone();
        if self.entered.wanted {
            for function in &program.meta.functions {
                code[function.start as usize] |= MARK;
            }
        }
        code
    }

    /// Makes room for notes of all the store's code.
    pub(super) fn make_room_for_entered(&mut self) -> DeviceResult<()> {
        if self.entered.wanted {
            let missing = self.code.len / 8 - self.entered.by_word.len;
            self.entered
                .by_word
                .push(&mut *self.device, &vec![0; missing as usize])?;
        }
        Ok(())
    }

    /// The functions of an instance, by index with imports first, that have begun in the interpreter since they are noted.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn entered(&mut self, instance: InstanceId) -> DeviceResult<Vec<u32>> {
        let info = &self.instance_infos[instance.0 as usize];
        let (program, start) = (info.program.clone(), u64::from(info.code_start));
        let words = program.code.len();
        let noted = self.entered.by_word.len.saturating_sub(start).min(words as u64);
        let mut begun = vec![0u8; words];
        // SAFETY: the array has so many bytes from there on, and no kernel runs while the store is borrowed.
        unsafe {
            let from = self.entered.by_word.ptr + start;
            self.device.read(from, &mut begun[..noted as usize])?;
        }
        let functions = (program.meta.imported_funcs()..).zip(&program.meta.functions);
        let functions = functions.filter(|(_, function)| begun[function.start as usize] != 0);
        Ok(functions.map(|(index, _)| index).collect())
    }
}
