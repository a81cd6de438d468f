//! What the units of a frame hold.

use crate::program::ValType;

/// What a unit holds: a set of what it may be read as. Where paths meet, a unit holds what it may be
/// read as on all of them: the intersection.
pub(super) type Unit = u16;

/// Nothing that may be read.
pub(super) const UNDEFINED: Unit = 0;
/// A 32-bit value.
pub(super) const WHOLE: Unit = 1 << 0;
/// The low half of a 64-bit value; the next unit is its `HIGH`.
pub(super) const LOW: Unit = 1 << 1;
/// The high half of a 64-bit value.
pub(super) const HIGH: Unit = 1 << 2;
/// Quarters of a 128-bit value, lowest first.
const QUARTERS: [Unit; 4] = [1 << 3, 1 << 4, 1 << 5, 1 << 6];
/// A reference to a function, or null. Never a number: numbers would be forged references.
pub(super) const FUNC_REF: Unit = 1 << 7;
/// A reference to something of the host's, or null.
const EXTERN_REF: Unit = 1 << 8;
/// A reference to an exception, or null.
const EXN_REF: Unit = 1 << 9;
/// The same, of one that is kept for good: what tables and globals take.
pub(super) const KEPT_EXN_REF: Unit = 1 << 10;
/// Zero in all widths, as `zero` writes it: it may be read as any value or a part of one, and as null.
pub(super) const ZERO: Unit = Unit::MAX;
/// What a value of one unit may be, be it a number or a reference. A zero that was written as such a value is
/// all of them, but no half of a 64-bit value: the PTX compiler keeps those in other registers.
pub(super) const ANY: Unit = WHOLE | FUNC_REF | EXTERN_REF | EXN_REF | KEPT_EXN_REF;

/// Units that the largest frame has, as many behind it as the widest value, and [`State::ALWAYS`].
const MOST: usize = (1 << 16) + 5;

/// What the units of a frame hold, one by one.
pub(super) struct State {
    /// The frame's, then some that hold nothing. Their number is fixed, so that no 16-bit operand can be
    /// out of bounds.
    units: Box<[Unit; MOST]>,
    frame: usize,
}

impl Default for State {
    fn default() -> State {
        let mut units = Box::new([UNDEFINED; MOST]);
        units[State::ALWAYS as usize] = ZERO;
        State { units, frame: 0 }
    }
}

impl State {
    /// A unit that no frame has. It may be read as anything.
    pub(super) const ALWAYS: u32 = MOST as u32 - 1;

    /// Begins anew, with a frame of so many units, at most 2^16, that hold nothing.
    pub(super) fn clear(&mut self, frame: usize) {
        self.units[..self.frame].fill(UNDEFINED);
        self.frame = frame;
    }

    /// The frame's units.
    pub(super) fn frame(&self) -> &[Unit] {
        &self.units[..self.frame]
    }

    /// Sets all of the frame's units.
    pub(super) fn set_frame(&mut self, units: &[Unit]) {
        self.units[..self.frame].copy_from_slice(units);
    }

    /// What unit `at` holds.
    #[inline]
    pub(super) fn at(&self, at: u32) -> Unit {
        self.units[at as usize]
    }

    #[inline]
    pub(super) fn write(&mut self, at: u32, values: &[Unit]) {
        let (start, end) = (at as usize, at as usize + values.len());
        if values.is_empty() {
            return;
        }
        // A half of a 64-bit value that loses its other half is no value any more.
        if self.units[start] == HIGH && start > 0 {
            self.units[start - 1] = UNDEFINED;
        }
        if self.units[end] == HIGH {
            self.units[end] = UNDEFINED;
        }
        self.units[start..end].copy_from_slice(values);
    }

    /// Writes a number of so many units.
    #[inline]
    pub(super) fn write_number(&mut self, at: u32, units: u8) {
        // Each of a known length, so that nothing is called to copy it.
        match units {
            1 => self.write(at, &[WHOLE]),
            2 => self.write(at, &[LOW, HIGH]),
            _ => self.write(at, &QUARTERS),
        }
    }

    /// Writes what one unit holds.
    #[inline]
    pub(super) fn write_unit(&mut self, to: u16, value: Unit) {
        let to = usize::from(to);
        if self.units[to] == HIGH && to > 0 {
            self.units[to - 1] = UNDEFINED;
        }
        if self.units[to + 1] == HIGH {
            self.units[to + 1] = UNDEFINED;
        }
        self.units[to] = value;
    }

    /// Writes a number of two units.
    #[inline]
    pub(super) fn write_pair(&mut self, to: u16) {
        let at = usize::from(to);
        if self.units[at] == HIGH && at > 0 {
            self.units[at - 1] = UNDEFINED;
        }
        if self.units[at + 2] == HIGH {
            self.units[at + 2] = UNDEFINED;
        }
        self.units[at] = LOW;
        self.units[at + 1] = HIGH;
    }

    /// Writes zeros.
    pub(super) fn write_zeros(&mut self, at: u32, count: u32) {
        let (start, end) = (at as usize, (at + count) as usize);
        if count > 0 {
            // What their neighbours lose is the same, however many they are.
            self.write(at, &[ZERO]);
            self.write(at + count - 1, &[ZERO]);
            self.units[start..end].fill(ZERO);
        }
    }

    /// Copies `count` units, ascending.
    pub(super) fn copy_range(&mut self, to: u32, from: u32, count: u32) {
        let (to, from, count) = (to as usize, from as usize, count as usize);
        if count == 0 {
            return;
        }
        let copied = self.units[from..from + count].to_vec();
        self.write(to as u32, &copied);
        // A copied half without its other half is no value.
        if self.units[to] == HIGH {
            self.units[to] = UNDEFINED;
        }
        if self.units[to + count - 1] == LOW {
            self.units[to + count - 1] = UNDEFINED;
        }
    }

    /// Forgets what lies in the units from `at` on.
    pub(super) fn forget(&mut self, at: u32) {
        if (at as usize) < self.frame {
            self.write(at, &[UNDEFINED]);
            self.units[at as usize..self.frame].fill(UNDEFINED);
        }
    }

    /// Writes values of these types side by side.
    pub(super) fn write_values(&mut self, mut at: u32, types: &[ValType]) {
        for ty in types {
            self.write(at, value(*ty));
            at += ty.units();
        }
    }

    /// Whether values of these types lie side by side.
    pub(super) fn holds_values(&self, mut at: u32, types: &[ValType]) -> bool {
        types.iter().all(|ty| {
            let holds = self.holds(at, value(*ty));
            at += ty.units();
            holds
        })
    }

    /// Whether a value of the wanted kind lies at a unit.
    #[inline]
    pub(super) fn holds(&self, at: u32, wanted: &[Unit]) -> bool {
        let found = &self.units[at as usize..][..wanted.len()];
        found.iter().zip(wanted).all(|(found, wanted)| found & wanted != 0)
    }

    /// Whether a number of so many units lies at a unit.
    #[inline]
    pub(super) fn holds_number(&self, at: u32, units: u8) -> bool {
        match units {
            1 => self.holds(at, &[WHOLE]),
            2 => self.holds(at, &[LOW, HIGH]),
            _ => self.holds(at, &QUARTERS),
        }
    }

    /// Whether a value of one unit lies at a unit, be it a number or a reference.
    #[inline]
    pub(super) fn holds_unit(&self, at: u32) -> bool {
        self.holds(at, &[ANY])
    }
}

/// What the units of a value of this type hold.
pub(super) fn value(ty: ValType) -> &'static [Unit] {
    match ty {
        ValType::FuncRef => &[FUNC_REF],
        ValType::ExternRef => &[EXTERN_REF],
        ValType::ExnRef => &[EXN_REF],
        ValType::V128 => &QUARTERS,
        _ if ty.units() == 1 => &[WHOLE],
        _ => &[LOW, HIGH],
    }
}

/// What a unit holds after this constant was written to it.
pub(super) fn constant(bits: u32) -> Unit {
    if bits == 0 { ANY } else { WHOLE }
}
