//! Instructions as they are executed: decoded once, their operands found.

/// Types of instructions.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F32,
    F64,
}

impl Ty {
    /// The type of a modifier.
    pub fn parse(text: &str) -> Option<Ty> {
        Some(match text {
            "pred" => Ty::Pred,
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            _ => return None,
        })
    }

    /// Bytes of a value.
    pub fn bytes(self) -> u32 {
        match self {
            Ty::Pred | Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }

    /// Whether it is an integer with a sign.
    pub fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    /// Whether it is a floating-point number.
    pub fn float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64)
    }
}

/// A value that an instruction reads: a register, a constant of its function, or an address in the
/// function's frame or in the block's shared memory. The two highest bits tell which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src(pub u32);

impl Src {
    const TAG: u32 = 30;
    /// What is below the tag.
    pub const VALUE: u32 = (1 << Src::TAG) - 1;

    /// A register.
    pub fn register(index: u32) -> Src {
        Src(index)
    }

    /// A constant of the function.
    pub fn constant(index: u32) -> Src {
        Src(1 << Src::TAG | index)
    }

    /// An address in the function's frame.
    pub fn frame(offset: u32) -> Src {
        Src(2 << Src::TAG | offset)
    }

    /// An address in shared memory.
    pub fn shared(offset: u32) -> Src {
        Src(3 << Src::TAG | offset)
    }

    /// 0 for a register, 1 for a constant, 2 for an address in the frame, 3 for one in shared memory.
    #[inline(always)]
    pub fn tag(self) -> u32 {
        self.0 >> Src::TAG
    }
}

/// The register of an operand that is not there.
pub const NONE: u32 = u32::MAX;

/// Operations on two operands.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    MulHi,
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    CopySign,
}

/// Operations on one operand.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not,
    Cnot,
    Neg,
    Abs,
    Popc,
    Clz,
    Brev,
    Bfind,
    BfindShift,
    Sqrt,
    Rcp,
}

/// Operations on three operands.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ternary {
    Mad,
    MadHi,
    MadWide,
    Fma,
    Slct,
    Bfe,
    Prmt,
    ShfLeftWrap,
    ShfLeftClamp,
    ShfRightWrap,
    ShfRightClamp,
}

/// Comparisons.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// The same, or one operand is NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// Rounding of a conversion.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    None,
    /// To a floating-point number.
    Nearest,
    /// To an integral number: to nearest even, to 0, down, up.
    IntNearest,
    IntZero,
    IntDown,
    IntUp,
}

/// Read-modify-write operations.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add,
    And,
    Or,
    Xor,
    Exch,
    Min,
    Max,
    Cas,
}

/// Registers that hold what is known of a lane.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Tid,
    Ntid,
    Ctaid,
    Nctaid,
    LaneId,
    WarpId,
    Zero,
    One,
    Clock,
    GlobalTimer,
    LaneMask,
    LaneMaskLt,
}

/// A comparison with all that it may have.
#[derive(Clone, Debug)]
pub struct FullCompare {
    /// What is compared.
    pub compare: Compare,
    /// As what.
    pub ty: Ty,
    /// Where the result goes, and its opposite.
    pub to: [u32; 2],
    /// The operands.
    pub operands: [Src; 2],
    /// Another predicate, how it is combined, and whether it is negated first.
    pub with: Option<(Binary, Src, bool)>,
}

/// A conversion.
#[derive(Clone, Copy, Debug)]
pub struct Convert {
    /// To what.
    pub to: Ty,
    /// From what.
    pub from: Ty,
    /// How it is rounded.
    pub round: Round,
    /// Whether it is limited to the type's values, or of floats to 0 to 1.
    pub saturate: bool,
    /// Bytes of the register that takes it.
    pub width: u32,
}

/// A read-modify-write operation on memory.
#[derive(Clone, Debug)]
pub struct AtomicOp {
    /// The operation.
    pub op: Atomic,
    /// As what.
    pub ty: Ty,
    /// Where the old value goes, or [`NONE`].
    pub to: u32,
    /// The address.
    pub base: Src,
    /// Added to it.
    pub offset: i32,
    /// The operands; the second is of `cas` only.
    pub operands: [Src; 2],
}

/// Arguments and results of a call: places in the caller's frame, and bytes.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The function if it is known.
    pub function: Option<u32>,
    /// Its address if not.
    pub pointer: Option<Src>,
    /// Arguments.
    pub params: Vec<(u32, u32)>,
    /// Results.
    pub results: Vec<(u32, u32)>,
}

/// An instruction. Numbers without a name are registers.
#[allow(missing_docs)]
#[derive(Clone, Debug)]
pub enum Op {
    Move(u32, Src),
    /// The address in the lane's stack, or in the block's shared memory, that has these low 32 bits.
    Whole {
        to: u32,
        low: Src,
        shared: bool,
    },
    Binary(Binary, Ty, u32, Src, Src),
    /// A sum or difference of 64 bits whose carry or borrow is kept for the next such instruction, or taken from the one before.
    Carry {
        subtracts: bool,
        to: u32,
        a: Src,
        b: Src,
        /// The register of the flag, and what is done with it.
        flag: u32,
        takes: bool,
        keeps: bool,
    },
    Unary(Unary, Ty, u32, Src),
    Ternary(Ternary, Ty, u32, [Src; 3]),
    /// To, value, where it goes, at which bit, how many.
    Insert(Ty, u32, Box<[Src; 4]>),
    /// By a table of eight bits.
    Lop3(u32, [Src; 3], u8),
    Select(u32, Src, Src, Src),
    Compare(Compare, Ty, u32, Src, Src),
    FullCompare(Box<FullCompare>),
    Convert(u32, Src, Box<Convert>),
    /// Parts to a whole, each of so many bits, and the reverse.
    Pack(u32, u32, Box<[Src]>),
    Unpack(u32, Box<[u32]>, Src),
    Load {
        ty: Ty,
        /// Bytes of the register.
        width: u8,
        /// Bytes of which the address must be a multiple.
        align: u8,
        strong: bool,
        to: u32,
        base: Src,
        offset: i32,
    },
    Store {
        ty: Ty,
        align: u8,
        strong: bool,
        value: Src,
        base: Src,
        offset: i32,
    },
    Atomic(Box<AtomicOp>),
    Fence,
    Branch(u32),
    BranchIndex(Src, Box<[u32]>),
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Special(u32, Special),
    StackSave(u32),
    ActiveMask(u32),
    /// A ballot of one lane.
    Ballot(u32, Src, bool),
    Sleep,
    /// Waits for all lanes of the block.
    Barrier,
    Nop,
}

/// An instruction with its guard.
#[derive(Clone, Debug)]
pub struct Inst {
    /// Twice the predicate's register, plus 1 if it is negated, or [`NONE`].
    pub guard: u32,
    /// Line of the text.
    pub line: u32,
    /// What it does.
    pub op: Op,
}
