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
/// What a value of one unit may be, a number or a reference. A zero that was written as such a value is all of them.
/// But it is no half of a 64-bit value: the PTX compiler keeps those in other registers.
pub(super) const ANY: Unit = WHOLE | FUNC_REF | EXTERN_REF | EXN_REF | KEPT_EXN_REF;

/// Units that the largest frame has, as many past it as the widest value, and [`State::ALWAYS`].
const MOST: usize = (1 << 16) + 5;

/// Units of a chunk, the part of a frame that kept states share.
pub(super) const CHUNK: usize = 64;
/// A chunk's number where the state's units are those of no kept chunk.
pub(super) const CHANGED: u32 = u32::MAX;

/// What the units of a frame hold, one by one.
pub(super) struct State {
    /// The frame's, then some that hold nothing. Their number is fixed, so that no 16-bit operand can be
    /// out of bounds.
    pub(super) units: Box<[Unit; MOST]>,
    /// For each chunk, that of [`super::kept::Kept`] which it equals, or [`CHANGED`].
    pub(super) chunks: Box<[u32; MOST.div_ceil(CHUNK)]>,
    /// For each group of chunks, the kept one that it equals; of meaning only while none of its chunks is
    /// [`CHANGED`].
    pub(super) groups: Box<[u32; MOST.div_ceil(CHUNK * GROUP)]>,
    frame: usize,
    /// What ranges have cost, in chunks.
    pub(super) work: u64,
}

/// Chunks of a group.
pub(super) const GROUP: usize = 32;
/// The kept chunk, and group, of units that hold nothing.
pub(super) const ALL_UNDEFINED: u32 = 0;
/// The kept chunk of zeros.
pub(super) const ALL_ZERO: u32 = 1;

impl Default for State {
    fn default() -> State {
        let mut units = Box::new([UNDEFINED; MOST]);
        units[State::ALWAYS as usize] = ZERO;
        State {
            units,
            chunks: Box::new([ALL_UNDEFINED; MOST.div_ceil(CHUNK)]),
            groups: Box::new([ALL_UNDEFINED; MOST.div_ceil(CHUNK * GROUP)]),
            frame: 0,
            work: 0,
        }
    }
}

impl State {
    /// A unit that no frame has. It may be read as anything.
    pub(super) const ALWAYS: u32 = MOST as u32 - 1;

    /// Begins anew, with a frame of so many units, at most 2^16, that hold nothing.
    pub(super) fn clear(&mut self, frame: usize) {
        let chunks = self.frame.div_ceil(CHUNK);
        self.units[..self.frame].fill(UNDEFINED);
        self.chunks[..chunks].fill(ALL_UNDEFINED);
        self.groups[..chunks.div_ceil(GROUP)].fill(ALL_UNDEFINED);
        self.frame = frame;
        self.work = 0;
    }

    /// What unit `at` holds.
    #[inline]
    pub(super) fn at(&self, at: u32) -> Unit {
        self.units[at as usize]
    }

    /// Notes that the units from `start` to before `end` change, and what they are halves of.
    #[inline]
    fn change(&mut self, start: usize, end: usize) {
        let (first, last) = (start.saturating_sub(1) / CHUNK, end / CHUNK);
        self.chunks[first] = CHANGED;
        self.chunks[last] = CHANGED;
        if last > first + 1 {
            self.chunks[first + 1..last].fill(CHANGED);
        }
        // A half of a 64-bit value that loses its other half is no value any more.
        if start > 0 && self.units[start - 1] == LOW {
            self.units[start - 1] = UNDEFINED;
        }
        if self.units[end] == HIGH {
            self.units[end] = UNDEFINED;
        }
    }

    #[inline]
    pub(super) fn write(&mut self, at: u32, values: &[Unit]) {
        let (start, end) = (at as usize, at as usize + values.len());
        if values.is_empty() {
            return;
        }
        self.change(start, end);
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
        self.change(to, to + 1);
        self.units[to] = value;
    }

    /// Writes a number of two units.
    #[inline]
    pub(super) fn write_pair(&mut self, to: u16) {
        let at = usize::from(to);
        self.change(at, at + 2);
        self.units[at] = LOW;
        self.units[at + 1] = HIGH;
    }

    /// Writes zeros.
    pub(super) fn write_zeros(&mut self, at: u32, count: u32) {
        if count > 0 {
            // What their neighbours lose is the same, however many they are.
            self.write(at, &[ZERO]);
            self.write(at + count - 1, &[ZERO]);
            self.fill(at as usize, (at + count) as usize, ZERO, ALL_ZERO);
        }
    }

    /// Copies `count` units, ascending.
    pub(super) fn copy_range(&mut self, to: u32, from: u32, count: u32) {
        let (to, from, count) = (to as usize, from as usize, count as usize);
        if count == 0 {
            return;
        }
        self.work += (count / CHUNK) as u64;
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
            // Past the frame nothing is held anyway.
            let end = self.frame.next_multiple_of(CHUNK);
            self.fill(at as usize, end, UNDEFINED, ALL_UNDEFINED);
        }
    }

    /// Sets units to what all units of the kept chunk `kept` are. Whole chunks that are so already cost next
    /// to nothing.
    fn fill(&mut self, start: usize, end: usize, value: Unit, kept: u32) {
        let (first, last) = (start.div_ceil(CHUNK), end / CHUNK);
        if first >= last {
            self.units[start..end].fill(value);
            self.chunks[start / CHUNK..end.div_ceil(CHUNK)].fill(CHANGED);
            return;
        }
        self.work += (last - first) as u64;
        for (part, chunk) in [(start..first * CHUNK, start / CHUNK), (last * CHUNK..end, last)] {
            if !part.is_empty() {
                self.units[part].fill(value);
                self.chunks[chunk] = CHANGED;
            }
        }
        for chunk in first..last {
            if self.chunks[chunk] != kept {
                self.units[chunk * CHUNK..][..CHUNK].fill(value);
                self.set_chunk(chunk, kept);
            }
        }
    }

    /// A chunk's units.
    pub(super) fn chunk(&self, chunk: usize) -> &[Unit; CHUNK] {
        self.units[chunk * CHUNK..]
            .first_chunk()
            .expect("chunks of frames are whole")
    }

    /// Notes that a chunk's units are those of the kept chunk `kept`.
    pub(super) fn set_chunk(&mut self, chunk: usize, kept: u32) {
        self.chunks[chunk] = kept;
        self.groups[chunk / GROUP] = CHANGED;
    }

    /// Sees all units as kept ones, so that what changes from now on is known.
    pub(super) fn keep_all(&mut self) {
        self.chunks[..self.frame.div_ceil(CHUNK)].fill(ALL_ZERO);
    }

    /// Calls `each` with the units that hold anything but zeros in chunks that have changed, and what they
    /// hold, and sets them to zeros.
    pub(super) fn take_changes(&mut self, mut each: impl FnMut(usize, Unit)) {
        for chunk in 0..self.frame.div_ceil(CHUNK) {
            if self.chunks[chunk] == CHANGED {
                self.chunks[chunk] = ALL_ZERO;
                for at in chunk * CHUNK..self.frame.min((chunk + 1) * CHUNK) {
                    let unit = std::mem::replace(&mut self.units[at], ZERO);
                    if unit != ZERO {
                        each(at, unit);
                    }
                }
            }
        }
    }

    /// Reduces by `each` the units of all chunks that are not those of a state that was kept before. `each` is called
    /// with the number of the chunk's first unit.
    pub(super) fn reduce(&mut self, mut each: impl FnMut(usize, &mut [Unit])) {
        for (chunk, kept) in self.chunks[..self.frame.div_ceil(CHUNK)].iter_mut().enumerate() {
            if *kept == CHANGED || *kept == ALL_ZERO {
                let start = chunk * CHUNK;
                each(start, &mut self.units[start..self.frame.min(start + CHUNK)]);
                *kept = CHANGED;
            }
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

    /// Whether a value of one unit, a number or a reference, lies at a unit.
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
