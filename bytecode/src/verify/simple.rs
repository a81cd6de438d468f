//! Nearly all instructions read some registers and write one. The first word alone says what such an
//! instruction does to the frame, so it is not decoded.

use super::effects::Effect;
use super::flow::{ends_block, may_throw};
use super::state::{ANY, HIGH, LOW, State, UNDEFINED, Unit, WHOLE, constant};
use crate::code::{Field, Layout, NUMBERS, Reads, SLOTS, slots};
use crate::isa::TABLE;

/// What an opcode's instructions do to the frame. They read registers in the slots of their first
/// word, of at most two units each. They write the first register or none.
pub(super) struct Simple {
    pub(super) words: usize,
    /// If the instruction may branch, the place of its distance. The next one follows otherwise, ...
    pub(super) branch: Option<Field>,
    /// ... unless it always branches.
    pub(super) ends_block: bool,
    writes: Writes,
    /// For each slot, its bits if it is a register that is read, and what is wanted of its units. Else
    /// [`State::ALWAYS`], from which all may be wanted: so no branch depends on the opcode.
    masks: [u16; SLOTS],
    others: [u32; SLOTS],
    wanted: [[Unit; 2]; SLOTS],
    /// Whether a register is read that takes two units.
    wide: bool,
}

/// What is written to the register in the first slot.
#[derive(Clone, Copy)]
enum Writes {
    Nothing,
    /// A number of one unit.
    Unit,
    /// A number of two.
    Pair,
    /// The unit that the second slot names.
    Copy,
    /// The constant in the upper half of the word.
    Constant,
}

impl Simple {
    /// Does it, if the registers hold what is wanted; else does nothing.
    #[inline]
    pub(super) fn step(&self, word: u64, state: &mut State) -> bool {
        let slots = slots(word);
        let holds = |slot: usize, part: usize| {
            let unit = u32::from(slots[slot] & self.masks[slot]) | self.others[slot];
            state.at(unit + part as u32) & self.wanted[slot][part] != UNDEFINED
        };
        let seconds = |slot: usize| self.wanted[slot][1] == UNDEFINED || holds(slot, 1);
        if !(holds(0, 0) && holds(1, 0) && holds(2, 0)) || self.wide && !(seconds(0) && seconds(1) && seconds(2)) {
            return false;
        }
        match self.writes {
            Writes::Nothing => {}
            Writes::Unit => state.write_unit(slots[0], WHOLE),
            Writes::Pair => state.write_pair(slots[0]),
            Writes::Copy => state.write_unit(slots[0], state.at(u32::from(slots[1])) & ANY),
            Writes::Constant => state.write_unit(slots[0], constant((word >> 32) as u32)),
        }
        true
    }

    /// That of the opcode with this form, if it is so simple.
    const fn of(layout: &Layout) -> Option<Simple> {
        let mut writes = match Effect::of(layout.op) {
            Effect::Registers => Writes::Nothing,
            Effect::Copy32 => Writes::Copy,
            Effect::Const32 => Writes::Constant,
            _ => return None,
        };
        let (branch, ends_block) = (layout.distance_field(), ends_block(layout.op));
        if !layout.in_slots || may_throw(layout.op) || ends_block && branch.is_none() {
            return None;
        }
        let (mut masks, mut others) = ([0; SLOTS], [State::ALWAYS; SLOTS]);
        let mut wanted = [[ANY, UNDEFINED]; SLOTS];
        let mut wide = false;
        let mut slot = 0;
        while slot < SLOTS {
            let units = layout.register_units[slot];
            if units > 2 {
                return None;
            }
            match layout.register_reads[slot] {
                // What is a register and not read is written.
                Reads::Nothing if units > 0 => {
                    if slot > 0 {
                        return None;
                    }
                    if let Writes::Nothing = writes {
                        writes = if units == 1 { Writes::Unit } else { Writes::Pair };
                    }
                }
                Reads::Nothing => {}
                Reads::Address => return None,
                reads => {
                    masks[slot] = layout.registers[slot];
                    others[slot] = 0;
                    wanted[slot] = match reads {
                        Reads::Unit => [ANY, UNDEFINED],
                        Reads::Number(1) => [WHOLE, UNDEFINED],
                        _ => [LOW, HIGH],
                    };
                    wide |= units > 1;
                }
            }
            slot += 1;
        }
        Some(Simple {
            words: layout.words as usize,
            branch,
            ends_block,
            writes,
            masks,
            others,
            wanted,
            wide,
        })
    }
}

/// By number; `None` for opcodes that are not so simple.
pub(super) static SIMPLE: [Option<Simple>; NUMBERS] = {
    let mut all = [const { None }; NUMBERS];
    let mut row = 0;
    while row < TABLE.len() {
        all[TABLE[row].op as usize] = Simple::of(Layout::of(TABLE[row].op));
        row += 1;
    }
    all
};
