//! What encoding, decoding and verification ask of an opcode with every instruction, worked out from
//! the table once. Above all, this is where its operands lie in its words.

use crate::isa::{Class, Op, Operand, TABLE, Ty};

/// Most words that an instruction takes, without `br_table`'s offsets.
pub(crate) const MOST_WORDS: usize = 3;
/// Most operands.
const MOST_OPERANDS: usize = 6;
/// Numbers of opcodes are less than this: the table is sorted.
pub(crate) const NUMBERS: usize = TABLE[TABLE.len() - 1].op as usize + 1;

/// The place of an operand.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    word: u8,
    shift: u8,
    bits: u8,
    signed: bool,
}

impl Field {
    /// The operand's value in the words of an instruction.
    #[inline]
    pub(crate) fn read(self, words: &[u64]) -> i64 {
        // To the top of the word, then down again, with the sign or with zeros.
        let top = words[self.word as usize] >> self.shift << (64 - self.bits);
        if self.signed {
            top as i64 >> (64 - self.bits)
        } else {
            (top >> (64 - self.bits)) as i64
        }
    }

    /// Puts the operand's value, of which all bits but its own are dropped, into words that are 0
    /// there.
    #[inline]
    pub(crate) fn write(self, words: &mut [u64; MOST_WORDS], value: i64) {
        let bits = (value as u64) << (64 - self.bits) >> (64 - self.bits);
        words[self.word as usize] |= bits << self.shift;
    }
}

/// The form of an opcode's instructions.
pub(crate) struct Layout {
    pub(crate) op: Op,
    operands: u8,
    fields: [Field; MOST_OPERANDS],
    /// The bits that operands use, and the opcode.
    pub(crate) used: [u64; MOST_WORDS],
    /// Which operand is the distance of a branch; calls do not count.
    pub(crate) distance: Option<u8>,
    /// Words of an instruction, without `br_table`'s offsets.
    pub(crate) words: u8,
    units: [u8; MOST_OPERANDS],
    reads: [Reads; MOST_OPERANDS],
    /// Whether registers, and a distance, are all of its operands that could be wrong.
    pub(crate) plain: bool,
    /// Whether it loads from memory 0, or stores to it.
    pub(crate) memory0: bool,
    /// Whether its first operand is the register that it writes.
    pub(crate) defines: bool,
    /// Whether it is one word, whose three slots are its operands: most are.
    pub(crate) short: bool,
    /// Whether it is one word with two operands, one in the first slot and one in the upper half.
    pub(crate) upper: bool,
    /// Whether it is one word, always.
    pub(crate) single: bool,
    /// For each slot of the first word after the opcode, its bits if it is a register; else 0.
    pub(crate) registers: [u16; SLOTS],
    /// The units of each such register.
    pub(crate) register_units: [u8; SLOTS],
    /// What is read of it.
    pub(crate) register_reads: [Reads; SLOTS],
    /// Whether those are all of its registers.
    pub(crate) in_slots: bool,
}

/// Slots of an instruction's first word after the opcode.
pub(crate) const SLOTS: usize = 3;

/// What lies in these slots.
#[inline]
pub(crate) fn slots(word: u64) -> [u16; SLOTS] {
    [(word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16]
}

/// What an operand reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    Nothing,
    /// A number of this many units.
    Number(u8),
    /// A value of one unit, a number or a reference.
    Unit,
    /// An address, whose width depends on the memory.
    Address,
}

impl Layout {
    /// The form of the opcode with this number.
    #[inline]
    pub(crate) fn of_number(number: u16) -> Option<&'static Layout> {
        LAYOUTS.get(number as usize).filter(|layout| layout.words > 0)
    }

    /// The form of the instruction whose first word this is; its opcode must exist.
    #[inline]
    pub(crate) fn of_word(word: u64) -> &'static Layout {
        &LAYOUTS[word as u16 as usize]
    }

    /// The form of `op`.
    #[inline]
    pub(crate) const fn of(op: Op) -> &'static Layout {
        &LAYOUTS[op as usize]
    }

    /// The operands' places in order.
    #[inline]
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields[..self.operands as usize]
    }

    /// The word of an instruction that is `short`.
    #[inline]
    pub(crate) fn write_short(&self, [a, b, c, ..]: [i64; MOST_OPERANDS]) -> u64 {
        let slot = |arg: i64| u64::from(arg as u16);
        self.op as u64 | slot(a) << 16 | slot(b) << 32 | slot(c) << 48
    }

    /// The word of an instruction that is `upper`.
    #[inline]
    pub(crate) fn write_upper(&self, [a, b, ..]: [i64; MOST_OPERANDS]) -> u64 {
        self.op as u64 | u64::from(a as u16) << 16 | u64::from(b as u32) << 32
    }

    /// The operands in the word of an instruction that is `short`.
    #[inline]
    pub(crate) fn read_short(&self, word: u64) -> [i64; MOST_OPERANDS] {
        let slot = |i: usize| {
            let bits = (word >> (16 + 16 * i)) as u16;
            if self.fields[i].signed {
                i64::from(bits as i16)
            } else {
                i64::from(bits)
            }
        };
        [slot(0), slot(1), slot(2), 0, 0, 0]
    }

    /// The operands in the word of an instruction that is `upper`.
    #[inline]
    pub(crate) fn read_upper(&self, word: u64) -> [i64; MOST_OPERANDS] {
        let (slot, upper) = ((word >> 16) as u16, (word >> 32) as u32);
        let first = if self.fields[0].signed {
            i64::from(slot as i16)
        } else {
            i64::from(slot)
        };
        let second = if self.fields[1].signed {
            i64::from(upper as i32)
        } else {
            i64::from(upper)
        };
        [first, second, 0, 0, 0, 0]
    }

    /// The place of a branch's distance.
    #[inline]
    pub(crate) const fn distance_field(&self) -> Option<Field> {
        match self.distance {
            Some(distance) => Some(self.fields[distance as usize]),
            None => None,
        }
    }

    /// For each operand that is a register, the units that it takes; else 0.
    #[inline]
    pub(crate) fn units(&self) -> &[u8] {
        &self.units[..self.operands as usize]
    }

    /// What each operand reads.
    #[inline]
    pub(crate) fn reads(&self) -> &[Reads] {
        &self.reads[..self.operands as usize]
    }
}

/// By number. Where no opcode has it, the instruction has no words.
static LAYOUTS: [Layout; NUMBERS] = {
    let mut layouts = [const { Layout { words: 0, ..layout(0) } }; NUMBERS];
    let mut row = 0;
    while row < TABLE.len() {
        layouts[TABLE[row].op as usize] = layout(row);
        row += 1;
    }
    layouts
};

const fn layout(row: usize) -> Layout {
    let info = &TABLE[row];
    let mut layout = Layout {
        op: info.op,
        operands: info.operands.len() as u8,
        fields: [Field {
            word: 0,
            shift: 0,
            bits: 16,
            signed: false,
        }; MOST_OPERANDS],
        used: [0; MOST_WORDS],
        distance: None,
        words: info.words() as u8,
        units: [0; MOST_OPERANDS],
        reads: [Reads::Nothing; MOST_OPERANDS],
        plain: !matches!(
            info.op,
            Op::BridgeReturn | Op::ThreadEnd | Op::NativeReturn | Op::Visit | Op::I8x16Shuffle | Op::BrTable
        ) && !matches!(info.class, Class::Gpu),
        short: info.words() == 1,
        upper: info.words() == 1
            && info.operands.len() == 2
            && info.operands[0].slots() == 1
            && info.operands[1].slots() == 2
            && !matches!(info.operands[0], Operand::Zero)
            && !matches!(info.operands[1], Operand::Zero),
        single: info.words() == 1 && !matches!(info.op, Op::BrTable),
        registers: [0; SLOTS],
        register_units: [0; SLOTS],
        register_reads: [Reads::Nothing; SLOTS],
        in_slots: true,
        defines: matches!(info.operands, [Operand::Def(_), ..]),
        memory0: matches!(info.class, Class::Load(_) | Class::Store(_)),
    };
    layout.used[0] = 0xffff;
    let mut i = 0;
    while i < info.operands.len() {
        let operand = info.operands[i];
        let slot = info.slot(i);
        let field = Field {
            word: (slot / 4) as u8,
            shift: (slot % 4 * 16) as u8,
            bits: (operand.slots() * 16) as u8,
            signed: matches!(
                operand,
                Operand::Imm16 | Operand::Rel16 | Operand::ImmS32 | Operand::Rel32 | Operand::Callee
            ),
        };
        layout.fields[i] = field;
        layout.short &= operand.slots() == 1;
        match operand {
            Operand::Def(ty) => layout.units[i] = ty.units() as u8,
            Operand::Src(ty) => {
                layout.units[i] = ty.units() as u8;
                layout.reads[i] = match ty {
                    Ty::B32 | Ty::Ref => Reads::Unit,
                    _ => Reads::Number(ty.units() as u8),
                };
            }
            Operand::Address => {
                layout.reads[i] = Reads::Address;
                layout.plain = false;
                layout.in_slots = false;
            }
            Operand::Imm16
            | Operand::Offset16
            | Operand::Imm32
            | Operand::ImmS32
            | Operand::Imm64
            | Operand::Offset64
            | Operand::Rel16
            | Operand::Rel32
            | Operand::Zero => {}
            _ => layout.plain = false,
        }
        if layout.units[i] > 0 && slot <= SLOTS {
            layout.registers[slot - 1] = u16::MAX;
            layout.register_units[slot - 1] = layout.units[i];
            layout.register_reads[slot - 1] = layout.reads[i];
        } else if layout.units[i] > 0 {
            layout.in_slots = false;
        }
        // Operands that are always 0 use no bits.
        if !matches!(operand, Operand::Zero) {
            layout.used[slot / 4] |= u64::MAX << (64 - field.bits) >> (64 - field.bits) << field.shift;
        }
        if matches!(operand, Operand::Rel16 | Operand::Rel32) {
            layout.distance = Some(i as u8);
        }
        i += 1;
    }
    layout
}
