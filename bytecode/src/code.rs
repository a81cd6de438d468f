//! Encoding and decoding of instructions.
//!
//! In: an [`Inst`], an opcode with its operands. Out: its words, and an instruction of words again. In the order in
//! which
//! to read them:
//!
//! - this file: the instruction, [`Inst::encode`], and [`Inst::decode`], which checks what it reads;
//! - `layout`: where an opcode's operands lie in its words, as a table.

mod layout;

use crate::isa::{Op, Operand};
use layout::MOST_WORDS;
pub(crate) use layout::{Field, Layout, NUMBERS, Reads, SLOTS, slots};

/// An instruction whose operands are spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// The opcode.
    pub op: Op,
    /// Operands in the table's order; signed ones sign extended.
    pub args: [i64; 6],
}

/// What is wrong with a word of code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// No opcode has this number.
    #[error("no opcode has number {number:#x}")]
    UnknownOpcode {
        /// The number found.
        number: u16,
    },
    /// The second word or the offsets of a `br_table` are missing.
    #[error("`{name}` needs {needed} words, {left} are left")]
    CutShort {
        /// Opcode's name.
        name: &'static str,
        /// Words of the instruction.
        needed: usize,
        /// Words left.
        left: usize,
    },
    /// A slot that no operand uses is not 0.
    #[error("`{name}` has bits set where it has no operand")]
    StrayBits {
        /// Opcode's name.
        name: &'static str,
    },
}

impl Inst {
    /// An instruction from operands in the table's order.
    #[inline]
    pub fn new(op: Op, args: &[i64]) -> Inst {
        debug_assert_eq!(args.len(), op.info().operands.len(), "operands of {op:?}");
        let mut all = [0; 6];
        // An assignment each, where `args` is an array: a copy of unknown length would be a call.
        for (to, from) in all.iter_mut().zip(args) {
            *to = *from;
        }
        Inst { op, args: all }
    }

    /// The operands.
    pub fn args(&self) -> &[i64] {
        &self.args[..self.op.info().operands.len()]
    }

    /// Words of the instruction with its `br_table` offsets.
    #[inline]
    pub fn words(&self) -> usize {
        match self.op {
            Op::BrTable => 1 + (self.args[1] as usize).div_ceil(2),
            op => usize::from(Layout::of(op).words),
        }
    }

    /// First unit of the register that the instruction writes, if it is one that writes a single register.
    #[inline]
    pub fn result(&self) -> Option<u32> {
        Layout::of(self.op).defines.then_some(self.args[0] as u32)
    }

    /// Writes the instruction's words (without `br_table` offsets) to the end of `code`.
    #[inline]
    pub fn encode(&self, code: &mut Vec<u64>) {
        debug_assert!(self.fits(), "{self:?}");
        let layout = Layout::of(self.op);
        if layout.short {
            code.push(layout.write_short(self.args));
        } else if layout.upper {
            code.push(layout.write_upper(self.args));
        } else {
            self.encode_any(code);
        }
    }

    fn encode_any(&self, code: &mut Vec<u64>) {
        let [first, second, third] = self.words_encoded();
        let words = Layout::of(self.op).words;
        // One by one: a copy of unknown length would be a call.
        code.push(first);
        if words > 1 {
            code.push(second);
        }
        if words > 2 {
            code.push(third);
        }
    }

    /// The instruction's words; those that it does not have are 0.
    pub fn words_encoded(&self) -> [u64; MOST_WORDS] {
        let mut words = [0; MOST_WORDS];
        words[0] = self.op as u16 as u64;
        debug_assert!(self.fits(), "{self:?}");
        for (field, arg) in Layout::of(self.op).fields().iter().zip(self.args) {
            field.write(&mut words, arg);
        }
        words
    }

    /// Whether every operand can have its value.
    fn fits(&self) -> bool {
        let mut operands = self.op.info().operands.iter().zip(self.args);
        operands.all(|(operand, arg)| fits(*operand, arg))
    }

    /// Reads the instruction that begins at the start of `code`, checking that it is well formed.
    #[inline]
    pub fn decode(code: &[u64]) -> Result<Inst, CodeError> {
        Inst::measure(code)?;
        Ok(Inst::read(code))
    }

    /// Checks that an instruction which is well formed begins at the start of `code`; returns its words.
    #[inline]
    pub(crate) fn measure(code: &[u64]) -> Result<usize, CodeError> {
        let number = code[0] as u16;
        let layout = Layout::of_number(number).ok_or(CodeError::UnknownOpcode { number })?;
        if layout.single && code[0] & !layout.used[0] == 0 {
            return Ok(1);
        }
        let op = layout.op;
        let name = op.info().name;
        let left = code.len();
        let mut needed = usize::from(layout.words);
        let cut = |needed| CodeError::CutShort { name, needed, left };
        let words = code.get(..needed).ok_or_else(|| cut(needed))?;
        if op == Op::BrTable {
            needed = Inst::read(code).words();
        }
        if needed > left {
            return Err(cut(needed));
        }
        if words.iter().zip(layout.used).any(|(word, used)| word & !used != 0) {
            return Err(CodeError::StrayBits { name });
        }
        Ok(needed)
    }

    /// Reads the instruction at the start of `code`, which [`Inst::measure`] has accepted.
    #[inline]
    pub(crate) fn read(code: &[u64]) -> Inst {
        let layout = Layout::of_word(code[0]);
        let op = layout.op;
        if layout.short {
            let args = layout.read_short(code[0]);
            return Inst { op, args };
        }
        if layout.upper {
            let args = layout.read_upper(code[0]);
            return Inst { op, args };
        }
        let mut inst = Inst { op, args: [0; 6] };
        for (arg, field) in inst.args.iter_mut().zip(layout.fields()) {
            *arg = field.read(code);
        }
        inst
    }
}

/// Whether `arg` can be the value of `operand`.
pub fn fits(operand: Operand, arg: i64) -> bool {
    match operand {
        Operand::Imm16 | Operand::Rel16 => i16::try_from(arg).is_ok(),
        Operand::ImmS32 | Operand::Rel32 | Operand::Callee => i32::try_from(arg).is_ok(),
        _ => match operand.slots() {
            1 => u16::try_from(arg).is_ok(),
            2 => u32::try_from(arg).is_ok(),
            _ => true,
        },
    }
}

/// Offset number `index` of the `br_table` whose first word is `table[0]`.
pub fn br_table_offset(table: &[u64], index: usize) -> i32 {
    (table[1 + index / 2] >> (index % 2 * 32)) as i32
}

/// Iterates over the instructions of `code`: word index and instruction, or the index at which
/// decoding failed. Stops after the first error.
pub fn instructions(code: &[u64]) -> impl Iterator<Item = (usize, Result<Inst, CodeError>)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= code.len() {
            return None;
        }
        let (pc, inst) = (at, Inst::decode(&code[at..]));
        at = match &inst {
            Ok(inst) => at + inst.words(),
            Err(_) => code.len(),
        };
        Some((pc, inst))
    })
}
