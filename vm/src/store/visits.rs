//! The code of programs as the kernel takes it, with marks for the interpreter: which functions are compiled, and which
//! basic blocks have run. It notes those of instances whose code has `visit` in place of each
//! block's first opcode: see `frames::visit` in the kernel.

use gpu_run_bytecode::{Op, Program};

use super::{Array, InstanceId, Store};
use crate::device::DeviceResult;
use crate::layout::{VISIT_LOOP, VISIT_OFTEN, VISIT_ONCE, VISIT_OPCODE};
use crate::ptx::{block_starts, loop_starts};

/// What is noted.
pub(super) struct Visits {
    /// Whether visits are noted of instances that are made now.
    wanted: bool,
    /// By word of the store's code, 16 bits: the opcode that `visit` stands for, and how often it has run; see
    /// [`VISIT_LOOP`].
    pub(super) by_word: Array,
}

impl Default for Visits {
    fn default() -> Visits {
        Visits {
            wanted: false,
            by_word: Array::new("blocks that have run"),
        }
    }
}

impl Store {
    /// Notes which basic blocks run in the interpreter, of all instances that are made from now on.
    pub fn note_visits(&mut self) {
        self.visits.wanted = true;
    }

    /// Whether it does so.
    pub fn notes_visits(&self) -> bool {
        self.visits.wanted
    }

    /// Adds the code of a program that is about to be made an instance, of which some is compiled if it is `mixed`. Returns
    /// the word where it begins.
    pub(super) fn push_program(&mut self, program: &Program, mixed: bool) -> DeviceResult<u32> {
        let mut code = program.code.clone();
        if mixed {
            // As `frames::head_native` in the kernel reads it. Those beyond are interpreted.
            for (number, function) in (1..=u64::from(u16::MAX)).zip(&program.meta.functions) {
                code[function.start as usize] |= number << 48;
            }
        }
        // In mixed programs the interpreter looks at heads of loops whether compiled code goes on there.
        if !self.visits.wanted && !mixed {
            return self.push_code(&code);
        }
        let mut opcodes = vec![0u16; code.len()];
        for word in block_starts(program).concat() {
            let word = word as usize;
            opcodes[word] = code[word] as u16 & VISIT_OPCODE as u16;
            code[word] = code[word] & !0xffff | Op::Visit as u64;
        }
        for word in loop_starts(program) {
            opcodes[word as usize] |= VISIT_LOOP as u16;
        }
        let start = self.push_code(&code)?;
        // Of stores' own code, and of programs without notes, there are none.
        let by_word = &mut self.visits.by_word;
        let missing = 2 * u64::from(start) - by_word.len;
        by_word.push(&mut *self.device, &vec![0; missing as usize])?;
        by_word.push(&mut *self.device, bytemuck::cast_slice(&opcodes))?;
        Ok(start)
    }

    /// The basic blocks of an instance that have run in the interpreter since they are noted, by their first words in the
    /// program, and how often, about: 31 times may be more.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn visited(&mut self, instance: InstanceId) -> DeviceResult<Vec<(u32, u8)>> {
        let info = &self.instance_infos[instance.0 as usize];
        let (program, start) = (info.program.clone(), 2 * u64::from(info.code_start));
        let by_word = &self.visits.by_word;
        let mut visits = vec![0u16; program.code.len()];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut visits);
        // None are noted of an instance that is older than the wish.
        let noted = by_word.len.saturating_sub(start).min(bytes.len() as u64);
        if noted > 0 {
            // SAFETY: the array has so many bytes from there on, and no kernel runs while the store is borrowed.
            unsafe { self.device.read(by_word.ptr + start, &mut bytes[..noted as usize])? };
        }
        let words = (0..).zip(&visits);
        let counts = words.map(|(word, visit)| (word, ((u32::from(*visit) & VISIT_OFTEN) / VISIT_ONCE) as u8));
        Ok(counts.filter(|(_, count)| *count > 0).collect())
    }
}
