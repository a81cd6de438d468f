//! What programs have executed, by places and kinds of operations: exact, from how often each basic block has run.

use std::fmt;

use gpu_run_bytecode::{Class, Handler, Op};

use crate::fault::Backtrace;

/// Operations of one kind. An operation is an instruction of the bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Calculation with integers, and comparisons.
    Integer,
    /// The same with numbers of floating point.
    Float,
    /// The same with vectors.
    Vector,
    /// Loads from linear memory.
    Load,
    /// Stores to linear memory.
    Store,
    /// Copies between registers, constants, globals.
    Move,
    /// Branches.
    Branch,
    /// Calls, returns, exceptions.
    Call,
    /// Atomic accesses, waits, and what else threads do with each other.
    Atomic,
    /// The heap.
    Heap,
    /// Copying, filling and comparing of ranges of memory.
    Bulk,
    /// Output, debug messages and requests to the host.
    Output,
    /// All else.
    Other,
}

impl Kind {
    /// The kind of an opcode.
    pub fn of(op: Op) -> Kind {
        let info = op.info();
        let name = info.name;
        match info.class {
            Class::Load(_) | Class::LoadFar(_) => Kind::Load,
            Class::Store(_) | Class::StoreFar(_) => Kind::Store,
            Class::Access if info.handler == Handler::Atomics => Kind::Atomic,
            Class::Access if name.contains("load") => Kind::Load,
            Class::Access => Kind::Store,
            Class::Branch => Kind::Branch,
            Class::Pure | Class::Traps => calculation(name),
            Class::Control | Class::Aside | Class::Gpu => by_hand(op),
        }
    }

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Integer => "integer",
            Kind::Float => "floating point",
            Kind::Vector => "vector",
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Move => "move and constant",
            Kind::Branch => "branch",
            Kind::Call => "call and return",
            Kind::Atomic => "atomic and wait",
            Kind::Heap => "heap",
            Kind::Bulk => "bulk memory",
            Kind::Output => "output and request",
            Kind::Other => "other",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kind of an operation whose result depends on its operands alone.
fn calculation(name: &str) -> Kind {
    const VECTORS: [&str; 7] = ["v128", "i8x16", "i16x8", "i32x4", "i64x2", "f32x4", "f64x2"];
    if VECTORS.iter().any(|shape| name.starts_with(shape)) {
        Kind::Vector
    } else if name.starts_with("f32") || name.starts_with("f64") {
        Kind::Float
    } else if ["copy", "select", "ref."].iter().any(|move_| name.starts_with(move_)) {
        Kind::Move
    } else {
        Kind::Integer
    }
}

/// The kind of an opcode that the kernel has by hand.
fn by_hand(op: Op) -> Kind {
    use Op::*;
    match op {
        Jump | BrIf | BrUnless | BrTable | BrI32AddNe | BrI32AddLtS | BrI32AddLtU | BrI32AddNeImm => Kind::Branch,
        Call | CallIndirect | CallImport | Return | ReturnCall | ReturnCallIndirect | ReturnCallImport | Enter
        | BridgeReturn | NativeReturn | ThreadEnd | Throw | ThrowRef => Kind::Call,
        MemoryCopy | MemoryCopy64 | MemoryFill | MemoryFill64 | MemoryInit | MemoryInit64 | Memcmp => Kind::Bulk,
        Alloc | AllocZero | AllocBatch | Dealloc | DeallocBatch | Realloc | BlockSize => Kind::Heap,
        AtomicAdd | AtomicInc | AtomicDec | AtomicCas | Sleep | Meet | ThreadSpawn | AtomicRelaxed | AtomicAcqRel => {
            Kind::Atomic
        }
        I8x16Shuffle => Kind::Vector,
        Print | PrintEnd | StOut | LdIn | SetPixel => Kind::Output,
        CopyRange | Zero | Const32 | Const64S | Const64 | V128Const | GlobalGet32 | GlobalGet64 | GlobalGet128
        | GlobalSet32 | GlobalSet64 | GlobalSet128 | StackPointerSet | Fuel => Kind::Move,
        _ => match op.handler() {
            Handler::Work | Handler::Atomics => Kind::Atomic,
            Handler::Debug | Handler::Requests => Kind::Output,
            _ => Kind::Other,
        },
    }
}

/// Bytes of linear memory that an opcode loads and stores each time, but for ranges and atomic accesses.
pub(crate) fn traffic(op: Op) -> (u64, u64) {
    let info = op.info();
    match info.class {
        Class::Load(mem) | Class::LoadFar(mem) => (mem.size().into(), 0),
        Class::Store(mem) | Class::StoreFar(mem) => (0, mem.size().into()),
        Class::Access if info.handler != Handler::Atomics => {
            let bytes = vector_bytes(info.name);
            match Kind::of(op) {
                Kind::Load => (bytes, 0),
                _ => (0, bytes),
            }
        }
        _ => (0, 0),
    }
}

/// Bytes of an access of a vector, by its name: `v128.load32_lane` loads 4, `v128.load8x8_s` 8.
fn vector_bytes(name: &str) -> u64 {
    let after = name.trim_start_matches(|c: char| c != '.');
    let digits = |text: &str| -> Option<u64> {
        let text = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    match (digits(after), after.split_once('x')) {
        (Some(bits), Some((_, many))) => bits / 8 * digits(many).unwrap_or(1),
        (Some(bits), None) => bits / 8,
        (None, _) => 16,
    }
}

/// What is counted of basic blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// How often lanes run them.
    Lanes,
    /// And how often warps do, with however many of their lanes together.
    LanesAndWarps,
}

/// Operations at one place.
#[derive(Clone, Debug)]
pub struct CountedPlace {
    /// How many were executed there.
    pub operations: u64,
    /// How many of warps, if that was counted: lanes that were together have executed one. On the CPU each lane is alone.
    pub warps: u64,
    /// The place, and the functions into which its function was inlined.
    pub backtrace: Backtrace,
}

/// What has been executed.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// By place, in the order of the code.
    pub places: Vec<CountedPlace>,
    /// By kind, the most first.
    pub kinds: Vec<(Kind, u64)>,
    /// Bytes of linear memory that were loaded one by one, and stored: without bulk memory, atomic accesses, and what the
    /// runtime does.
    pub traffic: (u64, u64),
}

#[cfg(test)]
mod tests {
    use gpu_run_bytecode::isa::TABLE;

    use super::*;

    #[test]
    fn opcodes_have_kinds() {
        for (op, kind) in [
            (Op::Jump, Kind::Branch),
            (Op::Enter, Kind::Call),
            (Op::Alloc, Kind::Heap),
            (Op::I8x16Shuffle, Kind::Vector),
            (Op::Barrier, Kind::Atomic),
            (Op::I32AtomicLoad, Kind::Atomic),
            (Op::DbgI32, Kind::Output),
            (Op::V128Load8Lane, Kind::Load),
            (Op::V128Store, Kind::Store),
            (Op::Const32, Kind::Move),
        ] {
            assert_eq!(Kind::of(op), kind, "{op:?}");
        }
        let of = |name: &str| {
            let found = TABLE.iter().find(|info| info.name == name);
            Kind::of(found.unwrap_or_else(|| panic!("{name}")).op)
        };
        assert_eq!(of("i32.add"), Kind::Integer);
        assert_eq!(of("f64.mul"), Kind::Float);
        assert_eq!(of("f32x4.mul"), Kind::Vector);
    }

    #[test]
    fn accesses_have_bytes() {
        let bytes = |op| traffic(op);
        assert_eq!(bytes(Op::V128Load), (16, 0));
        assert_eq!(bytes(Op::V128Load16x4S), (8, 0));
        assert_eq!(bytes(Op::V128Load64Splat), (8, 0));
        assert_eq!(bytes(Op::V128Store8Lane), (0, 1));
        assert_eq!(bytes(Op::I32AtomicLoad), (0, 0));
        assert_eq!(bytes(Op::Jump), (0, 0));
    }
}
