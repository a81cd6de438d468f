//! Atomic accesses of linear memory.
//!
//! They are sequentially consistent, spelled as in `kernel/platform.h`: an operation at the GPU's scope with a `fence.sc`
//! before it, which also releases, so that only loads and what loads and stores have to say that they acquire (NVIDIA's
//! "Atomics Application Binary Interface"). The guest may ask for less: see [`Order`]. Those of 8 and 16 bits work on the
//! aligned word of 32 bits around them, as in `kernel/ops/atomics.h`.

use gpu_run_bytecode::{Op, TrapKind};

use crate::ptx::analysis::cfg::Node;
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::memory::Place;
use crate::ptx::writer::ptx;

/// What an access does, in the order of the numbers of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
}

const KINDS: [Kind; 9] = [
    Kind::Load,
    Kind::Store,
    Kind::Add,
    Kind::Sub,
    Kind::And,
    Kind::Or,
    Kind::Xor,
    Kind::Exchange,
    Kind::CompareExchange,
];
/// Bytes of the access and units of its values, in the order of the numbers of each kind.
const WIDTHS: [(u32, u32); 7] = [(4, 1), (8, 2), (1, 1), (2, 1), (1, 2), (2, 2), (4, 2)];

/// What an access orders beside itself. The instruction before it may say that it is less than all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    SeqCst,
    AcqRel,
    Relaxed,
}

impl Order {
    /// The qualifiers of a load, a store, and an operation that does both.
    fn qualifiers(self) -> [&'static str; 3] {
        match self {
            Order::Relaxed => ["relaxed"; 3],
            Order::AcqRel => ["acquire", "release", "acq_rel"],
            Order::SeqCst => ["acquire", "relaxed", "acquire"],
        }
    }
}

/// A load, store or read-modify-write of the page of atomics.
#[derive(Clone, Copy, Debug)]
pub struct AtomicAccess {
    kind: Kind,
    bytes: u32,
    units: u32,
}

impl AtomicAccess {
    /// What an opcode does; `None` if it is no such access.
    pub const fn of(op: Op) -> Option<AtomicAccess> {
        let Some(number) = (op as usize).checked_sub(Op::I32AtomicLoad as usize) else {
            return None;
        };
        let (kind, width) = (number / 8, number % 8);
        if kind >= KINDS.len() || width >= WIDTHS.len() {
            return None;
        }
        let (bytes, units) = WIDTHS[width];
        Some(AtomicAccess {
            kind: KINDS[kind],
            bytes,
            units,
        })
    }
}

const _: () = {
    let last = Op::I64AtomicRmw32CmpxchgU as usize - Op::I32AtomicLoad as usize;
    assert!(last == 8 * Kind::CompareExchange as usize + 6, "numbers tell kinds");
};

impl Compiler<'_> {
    /// An access of the page of atomics.
    pub fn atomic(&mut self, node: &Node, access: AtomicAccess) {
        let AtomicAccess { kind, bytes, units } = access;
        let args = node.inst.args;
        let (address, offset, memory) = match kind {
            Kind::Load => (args[1], args[3], args[2]),
            Kind::Store => (args[0], args[3], args[2]),
            Kind::CompareExchange => (args[1], args[3], args[5]),
            _ => (args[1], args[3], args[4]),
        };
        let place = self.place(node, address, memory, offset as u64, u64::from(bytes));
        let address = self.aligned_address(node, &place, bytes);
        let value = match kind {
            Kind::Load => String::new(),
            Kind::Store => self.atomic_operand(args[1], access),
            Kind::CompareExchange => self.atomic_operand(args[4], access),
            _ => self.atomic_operand(args[2], access),
        };
        let expected = match kind {
            Kind::CompareExchange => self.atomic_operand(args[2], access),
            _ => String::new(),
        };
        let found = if bytes == 8 { self.w.pair() } else { self.w.word() };
        match bytes {
            4 | 8 => self.atomic_word(kind, 8 * bytes, &address, &value, &expected, &found),
            _ => self.atomic_narrow(kind, 8 * bytes, &address, &value, &expected, &found),
        }
        match (kind, units, bytes) {
            (Kind::Store, ..) => {}
            (_, 2, 8) => ptx!(self, "mov.b64 %d{}, {found};", args[0]),
            (_, 2, _) => ptx!(self, "cvt.u64.u32 %d{}, {found};", args[0]),
            _ => ptx!(self, "mov.b32 %r{}, {found};", args[0]),
        }
    }

    /// `atomic_add` and its kin, on a word of memory 0, whose addresses are i32.
    pub fn atomic_op(&mut self, node: &Node) {
        let args = node.inst.args;
        let place = self.place(node, args[1], 0, 0, 4);
        let address = self.aligned_address(node, &place, 4);
        let found = self.w.word();
        let (kind, value, expected) = match node.inst.op {
            Op::AtomicInc => (Kind::Add, "1".into(), String::new()),
            Op::AtomicDec => (Kind::Sub, "1".into(), String::new()),
            Op::AtomicCas => (
                Kind::CompareExchange,
                self.canonical_operand(args[3], 1),
                self.canonical_operand(args[2], 1),
            ),
            _ => (Kind::Add, self.canonical_operand(args[2], 1), String::new()),
        };
        self.atomic_word(kind, 32, &address, &value, &expected, &found);
        ptx!(self, "mov.b32 %r{}, {found};", args[0]);
    }

    /// The low bits of an operand, as wide as the operation.
    fn atomic_operand(&mut self, unit: i64, access: AtomicAccess) -> String {
        let value = self.canonical_operand(unit, access.units);
        if access.units == 1 || access.bytes == 8 {
            return value;
        }
        let low = self.w.word();
        ptx!(self, "cvt.u32.u64 {low}, {value};");
        low
    }

    /// The address of a place in a register; traps if it is not a multiple of `bytes`.
    fn aligned_address(&mut self, node: &Node, place: &Place, bytes: u32) -> String {
        let address = self.w.pair();
        ptx!(self, "add.s64 {address}, {}, {};", place.register, place.offset);
        // Memories begin at multiples of 16 bytes.
        if 1 << place.align.min(3) < bytes {
            let (low, p) = (self.w.word(), self.w.predicate());
            ptx!(self, "cvt.u32.u64 {low}, {address};");
            ptx!(self, "and.b32 {low}, {low}, {};", bytes - 1);
            ptx!(self, "setp.ne.u32 {p}, {low}, 0;");
            let label = self.trap_label(node, TrapKind::UnalignedAtomic);
            ptx!(self, "@{p} bra {label};");
        }
        address
    }

    /// An operation on a word of `bits`, 32 or 64. `found` is what was there; a store leaves it alone.
    fn atomic_word(&mut self, kind: Kind, bits: u32, address: &str, value: &str, expected: &str, found: &str) {
        let mut value = value.to_owned();
        if kind == Kind::Sub {
            let negated = if bits == 64 { self.w.pair() } else { self.w.word() };
            ptx!(self, "neg.s{bits} {negated}, {value};");
            value = negated;
        }
        let order = std::mem::take(&mut self.order);
        if order == Order::SeqCst {
            // Pairs with every other of these operations: the fences put all of them in one order.
            ptx!(self, "fence.sc.gpu;");
        }
        let [load, store, both] = order.qualifiers();
        let operation = match kind {
            Kind::Load => return ptx!(self, "ld.{load}.gpu.global.b{bits} {found}, [{address}];"),
            Kind::Store => return ptx!(self, "st.{store}.gpu.global.b{bits} [{address}], {value};"),
            Kind::CompareExchange => {
                return ptx!(
                    self,
                    "atom.{both}.gpu.global.cas.b{bits} {found}, [{address}], {expected}, {value};"
                );
            }
            Kind::Add | Kind::Sub => "add.u",
            Kind::And => "and.b",
            Kind::Or => "or.b",
            Kind::Xor => "xor.b",
            Kind::Exchange => "exch.b",
        };
        ptx!(
            self,
            "atom.{both}.gpu.global.{operation}{bits} {found}, [{address}], {value};"
        );
    }

    /// An operation on 8 or 16 bits of the word around them. `found` is what was there.
    fn atomic_narrow(&mut self, kind: Kind, bits: u32, address: &str, value: &str, expected: &str, found: &str) {
        let (at, shift) = (self.w.pair(), self.w.word());
        ptx!(self, "and.b64 {at}, {address}, -4;");
        ptx!(self, "cvt.u32.u64 {shift}, {address};");
        ptx!(self, "and.b32 {shift}, {shift}, 3;");
        ptx!(self, "shl.b32 {shift}, {shift}, 3;");
        let word = self.w.word();
        match kind {
            Kind::Load => self.atomic_word(kind, 32, &at, "", "", &word),
            Kind::And | Kind::Or | Kind::Xor => {
                // One operation, which leaves the word's other bits as they are.
                let operand = self.w.word();
                let neutral = if kind == Kind::And { -1 } else { 0 };
                ptx!(self, "mov.b32 {operand}, {neutral};");
                ptx!(self, "bfi.b32 {operand}, {value}, {operand}, {shift}, {bits};");
                self.atomic_word(kind, 32, &at, &operand, "", &word);
            }
            _ => return self.atomic_loop(kind, bits, &at, &shift, value, expected, found),
        }
        ptx!(self, "bfe.u32 {found}, {word}, {shift}, {bits};");
    }

    /// The loop goes round only if another lane has changed the word: it is lock-free.
    #[allow(clippy::too_many_arguments)]
    fn atomic_loop(&mut self, kind: Kind, bits: u32, at: &str, shift: &str, value: &str, expected: &str, found: &str) {
        let (word, seen, new, p) = (self.w.word(), self.w.word(), self.w.word(), self.w.predicate());
        let wanted = self.w.word();
        if kind == Kind::CompareExchange {
            ptx!(self, "and.b32 {wanted}, {expected}, {};", (1u32 << bits) - 1);
        }
        // Relaxed: a guess, which the exchange checks.
        ptx!(self, "ld.relaxed.gpu.global.b32 {word}, [{at}];");
        let again = self.w.new_label("EXCHANGE");
        self.w.label(&again);
        ptx!(self, "bfe.u32 {found}, {word}, {shift}, {bits};");
        match kind {
            Kind::Add => ptx!(self, "add.u32 {new}, {found}, {value};"),
            Kind::Sub => ptx!(self, "sub.u32 {new}, {found}, {value};"),
            Kind::CompareExchange => {
                ptx!(self, "setp.eq.u32 {p}, {found}, {wanted};");
                ptx!(self, "selp.b32 {new}, {value}, {found}, {p};");
            }
            _ => ptx!(self, "mov.b32 {new}, {value};"),
        }
        ptx!(self, "bfi.b32 {new}, {new}, {word}, {shift}, {bits};");
        self.atomic_word(Kind::CompareExchange, 32, at, &new, &word, &seen);
        ptx!(self, "setp.ne.u32 {p}, {seen}, {word};");
        ptx!(self, "mov.b32 {word}, {seen};");
        ptx!(self, "@{p} bra {again};");
    }
}
