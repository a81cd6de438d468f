//! The emulated operand stack.
//!
//! Every entry has a place in the frame, given by the entries below it. An entry is in its place
//! (`Temp`), or still a local or a constant that need not be copied: `local.get` and constants emit
//! nothing. Before a local changes, entries that mean its old value are copied to their places.

use gpu_run_bytecode::ValType;

/// A constant's bits, the lower half first.
pub(super) type Bits = [u64; 2];

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// In its own place.
    Temp,
    /// The present value of a local.
    Local(u32),
    /// A constant.
    Const(Bits),
}

/// An entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) ty: ValType,
    /// Its place: first unit.
    pub(super) unit: u32,
}

/// The stack.
#[derive(Default)]
pub(super) struct Stack {
    entries: Vec<Entry>,
    /// First unit above all entries.
    top: u32,
    /// Units needed so far, frame start included.
    pub(super) most: u32,
    /// For each local, how many entries are its value.
    local_uses: Vec<u32>,
}

impl Stack {
    /// Begins anew, for a function with so many locals below unit `bottom`.
    pub(super) fn clear(&mut self, bottom: u32, locals: usize) {
        self.entries.clear();
        self.top = bottom;
        self.most = bottom;
        self.local_uses.clear();
        self.local_uses.resize(locals, 0);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// First unit above all entries.
    pub(super) fn top_unit(&self) -> u32 {
        self.top
    }

    /// Pushes an entry and returns its place.
    pub(super) fn push(&mut self, ty: ValType, value: Value) -> u32 {
        let unit = self.top;
        self.top += ty.units();
        self.reserve(self.top);
        if let Value::Local(local) = value {
            self.local_uses[local as usize] += 1;
        }
        self.entries.push(Entry { value, ty, unit });
        unit
    }

    /// Notes that the frame must reach up to `unit`.
    pub(super) fn reserve(&mut self, unit: u32) {
        self.most = self.most.max(unit);
    }

    pub(super) fn pop(&mut self) -> Entry {
        let entry = self.entries.pop().expect("the module was validated");
        self.top = entry.unit;
        self.forget(entry.value);
        entry
    }

    pub(super) fn peek(&self) -> &Entry {
        self.entries.last().expect("the module was validated")
    }

    pub(super) fn get(&self, index: usize) -> Entry {
        self.entries[index]
    }

    /// Says that entry `index` is now in its place.
    pub(super) fn set_temp(&mut self, index: usize) {
        let value = std::mem::replace(&mut self.entries[index].value, Value::Temp);
        self.forget(value);
    }

    /// Drops all entries above `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.entries.len() > len {
            self.pop();
        }
    }

    /// Whether an entry is the value of `local`.
    pub(super) fn uses(&self, local: u32) -> bool {
        self.local_uses[local as usize] > 0
    }

    fn forget(&mut self, value: Value) {
        if let Value::Local(local) = value {
            self.local_uses[local as usize] -= 1;
        }
    }
}
