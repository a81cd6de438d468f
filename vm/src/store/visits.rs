//! The code of programs as the kernel takes it, with marks for the interpreter: which functions are compiled, and which
//! basic blocks have run. It notes those of instances whose code has `visit` in place of each
//! block's first opcode: see `frames::visit` in the kernel.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use gpu_run_bytecode::{Op, Program};

use super::{Array, InstanceId, Store};
use crate::device::{Device, DeviceResult};
use crate::layout::{Ptr, VISIT_LOOP, VISIT_OFTEN, VISIT_ONCE, VISIT_OPCODE};
use crate::ptx::Blocks;

/// What is noted.
pub(super) struct Visits {
    /// Whether visits are noted of instances that are made now.
    wanted: bool,
    /// By word of the store's code, 16 bits: the opcode that `visit` stands for, and how often it has run; see
    /// [`VISIT_LOOP`].
    pub(super) by_word: Array,
    /// Where the blocks of the program begin that was asked for last.
    blocks: (Weak<Program>, Option<Arc<Blocks>>),
}

impl Default for Visits {
    fn default() -> Visits {
        Visits {
            wanted: false,
            by_word: Array::new("blocks that have run"),
            blocks: Default::default(),
        }
    }
}

/// The code of a program on the device.
#[derive(Clone, Copy)]
pub(super) enum Form<'f> {
    /// As it is.
    Plain,
    /// Noting which blocks run but for these.
    Noting(&'f BTreeSet<u32>),
    /// Of a run that has noted enough, with some of it compiled: it looks at heads of loops whether compiled code goes on
    /// there.
    Mixed,
}

/// What stands in [`Launch::visits`](crate::layout::Launch) for a program's words before it has run. These are its blocks
/// that are marked; of a mixed program it is also told which are heads of loops.
fn no_visits(program: &Program, blocks: &[u32], loops: &[u32]) -> Vec<u16> {
    let mut opcodes = vec![0u16; program.code.len()];
    for word in blocks {
        opcodes[*word as usize] = program.code[*word as usize] as u16 & VISIT_OPCODE as u16;
    }
    for word in loops {
        opcodes[*word as usize] |= VISIT_LOOP as u16;
    }
    opcodes
}

/// The code of a program with a mark in place of the first opcode of these blocks. If it is mixed, heads of functions say
/// which may be compiled, as `frames::head_native` in the kernel reads it. Those beyond are interpreted.
fn marked_code(program: &Program, blocks: &[u32], mixed: bool) -> Vec<u64> {
    let mut code = program.code.clone();
    for word in blocks {
        let word = &mut code[*word as usize];
        *word = *word & !0xffff | Op::Visit as u64;
    }
    let functions = program
        .meta
        .functions
        .iter()
        .take(if mixed { u16::MAX.into() } else { 0 });
    for (number, function) in (1..).zip(functions) {
        code[function.start as usize] |= number << 48;
    }
    code
}

/// The words that have visits, of so many at an address, and how many each.
pub(super) fn read(device: &mut dyn Device, at: Ptr, words: usize) -> DeviceResult<Vec<(u32, u8)>> {
    let mut visits = vec![0u16; words];
    // SAFETY: callers have that many there. A kernel may run that adds to them: what is read of each is one that it had.
    unsafe { device.read(at, bytemuck::cast_slice_mut(&mut visits))? };
    let words = (0..).zip(&visits);
    let counts = words.map(|(word, visit)| (word, ((u32::from(*visit) & VISIT_OFTEN) / VISIT_ONCE) as u8));
    Ok(counts.filter(|(_, count)| *count > 0).collect())
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

    /// Where the basic blocks of a program begin.
    pub fn blocks(&mut self, program: &Arc<Program>) -> Arc<Blocks> {
        let (of, blocks) = &mut self.visits.blocks;
        match blocks {
            Some(blocks) if std::ptr::eq(of.as_ptr(), Arc::as_ptr(program)) => blocks.clone(),
            _ => {
                *of = Arc::downgrade(program);
                blocks.insert(Arc::new(Blocks::of(program))).clone()
            }
        }
    }

    /// Adds the code of a program that is about to be made an instance, of which some is compiled if it is `mixed`. Returns
    /// the word where it begins.
    pub(super) fn push_program(&mut self, program: &Arc<Program>, mixed: bool) -> DeviceResult<u32> {
        let mut at_branches = Vec::new();
        let marks = match (self.takes_samples(), self.counts_blocks()) {
            (true, _) => Some(super::samples::marks(program)),
            (false, Some(_)) => {
                if self.device.lanes_are_threads() {
                    at_branches = super::counts::at_branches(program);
                }
                Some(super::counts::marks(program, &self.blocks(program), &at_branches))
            }
            (false, None) => None,
        };
        if let Some(marks) = marks {
            let words: Vec<u32> = marks.iter().map(|(word, _)| *word).collect();
            let mut visits = vec![0; program.code.len()];
            for (word, mark) in marks {
                visits[word as usize] = mark | program.code[word as usize] as u16 & VISIT_OPCODE as u16;
            }
            let start = self.push_code(&marked_code(program, &words, false))?;
            self.push_visits(start, &visits)?;
            let at_branches = at_branches.iter().map(|word| start + word);
            self.counting.at_branches.extend(at_branches);
            return Ok(start);
        }
        // In mixed programs the interpreter looks at heads of loops whether compiled code goes on there.
        if !self.visits.wanted && !mixed {
            return self.push_code(&program.code);
        }
        let blocks = self.blocks(program);
        let loops = if mixed { blocks.loops(program) } else { &[] };
        let blocks: Vec<u32> = blocks.all().collect();
        let code = marked_code(program, &blocks, mixed);
        let opcodes = no_visits(program, &blocks, loops);
        let start = self.push_code(&code)?;
        self.push_visits(start, &opcodes)?;
        Ok(start)
    }

    /// Adds what stands in `Launch::visits` for code that begins at word `start`.
    fn push_visits(&mut self, start: u32, visits: &[u16]) -> DeviceResult<()> {
        // Of stores' own code, and of programs without notes, there are none.
        let by_word = &mut self.visits.by_word;
        let missing = 2 * u64::from(start) - by_word.len;
        by_word.push(&mut *self.device, &vec![0; missing as usize])?;
        by_word.push(&mut *self.device, bytemuck::cast_slice(visits))?;
        Ok(())
    }

    /// The basic blocks of an instance that have run in the interpreter since they are noted, by their first words in the
    /// program, and how often, about: 31 times may be more.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn visited(&mut self, instance: InstanceId) -> DeviceResult<Vec<(u32, u8)>> {
        match self.visits_of(instance) {
            Some((at, words)) => read(&mut *self.device, at, words),
            None => Ok(Vec::new()),
        }
    }

    /// Where the visits of an instance are, and how many words it has. None are noted of one that is older than the wish.
    pub(super) fn visits_of(&self, instance: InstanceId) -> Option<(Ptr, usize)> {
        let info = &self.instance_infos[instance.0 as usize];
        let start = 2 * u64::from(info.code_start);
        let noted = self.visits.by_word.len.saturating_sub(start) / 2;
        let words = (noted as usize).min(info.program.code.len());
        (words > 0).then_some((self.visits.by_word.ptr + start, words))
    }

    /// Writes the code of a program that has notes of visits anew, at `code_start`. Notes begin with none. No kernel runs.
    pub(super) fn rewrite_code(&mut self, program: &Arc<Program>, code_start: u32, form: Form<'_>) -> DeviceResult<()> {
        let at = self.code.ptr + 8 * u64::from(code_start);
        self.sampling.forget_code();
        let blocks = self.blocks(program);
        let (marked, loops, mixed) = match form {
            Form::Plain => (Vec::new(), &[][..], false),
            Form::Noting(noted_before) => (blocks.but(noted_before), &[][..], false),
            Form::Mixed => (blocks.loops(program).to_vec(), blocks.loops(program), true),
        };
        let code = marked_code(program, &marked, mixed);
        // SAFETY: the program's code. A kernel that starts finds nothing of what was there in its caches.
        unsafe { self.device.write(at, bytemuck::cast_slice(&code))? };
        if marked.is_empty() {
            return Ok(());
        }
        let visits = no_visits(program, &marked, loops);
        let at = self.visits.by_word.ptr + 2 * u64::from(code_start);
        // SAFETY: as long as the code.
        unsafe { self.device.write(at, bytemuck::cast_slice(&visits)) }
    }
}
