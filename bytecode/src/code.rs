//! Encoding and decoding of instructions.

use crate::isa::{Op, OpInfo, Operand};

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
    pub fn new(op: Op, args: &[i64]) -> Inst {
        debug_assert_eq!(args.len(), op.info().operands.len(), "operands of {op:?}");
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        Inst { op, args: all }
    }

    /// The operands.
    pub fn args(&self) -> &[i64] {
        &self.args[..self.op.info().operands.len()]
    }

    /// Words of the instruction with its `br_table` offsets.
    pub fn words(&self) -> usize {
        match self.op {
            Op::BrTable => 1 + (self.args[1] as usize).div_ceil(2),
            op => op.words(),
        }
    }

    /// Writes the instruction's words (without `br_table` offsets) to the end of `code`.
    pub fn encode(&self, code: &mut Vec<u64>) {
        let words = self.words_encoded();
        code.extend_from_slice(&words[..self.op.words()]);
    }

    /// The instruction's words; those that it does not have are 0.
    pub fn words_encoded(&self) -> [u64; 3] {
        let info = self.op.info();
        let mut words = [self.op as u16 as u64, 0, 0];
        for (i, (operand, arg)) in info.operands.iter().zip(self.args).enumerate() {
            let slot = info.slot(i);
            debug_assert!(fits(*operand, arg), "{:?} operand {i} = {arg}", self.op);
            let bits = match operand.slots() {
                1 => arg as u16 as u64,
                2 => arg as u32 as u64,
                _ => arg as u64,
            };
            words[slot / 4] |= bits << (slot % 4 * 16);
        }
        words
    }

    /// Reads the instruction that begins at the start of `code`, checking that it is well formed.
    pub fn decode(code: &[u64]) -> Result<Inst, CodeError> {
        let number = code[0] as u16;
        let op = Op::from_number(number).ok_or(CodeError::UnknownOpcode { number })?;
        let info = op.info();
        let cut = |needed| CodeError::CutShort {
            name: info.name,
            needed,
            left: code.len(),
        };
        if op.words() > code.len() {
            return Err(cut(op.words()));
        }
        let mut inst = Inst { op, args: [0; 6] };
        for (i, operand) in info.operands.iter().enumerate() {
            inst.args[i] = extract(code, info, i, *operand);
        }
        if inst.words() > code.len() {
            return Err(cut(inst.words()));
        }
        let zero_used = info
            .operands
            .iter()
            .zip(inst.args)
            .any(|(o, a)| *o == Operand::Zero && a != 0);
        if zero_used || inst.words_encoded()[..op.words()] != code[..op.words()] {
            return Err(CodeError::StrayBits { name: info.name });
        }
        Ok(inst)
    }
}

fn extract(code: &[u64], info: &OpInfo, index: usize, operand: Operand) -> i64 {
    let slot = info.slot(index);
    let bits = code[slot / 4] >> (slot % 4 * 16);
    match operand {
        Operand::Imm16 | Operand::Rel16 => bits as i16 as i64,
        Operand::ImmS32 | Operand::Rel32 | Operand::Callee => bits as i32 as i64,
        _ => match operand.slots() {
            1 => bits as u16 as i64,
            2 => bits as u32 as i64,
            _ => bits as i64,
        },
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
