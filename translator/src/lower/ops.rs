//! Which opcode an instruction without control flow becomes.

use std::sync::LazyLock;

use gpu_run_bytecode::{Op, ValType};
use wasmparser::{BinaryReader, Operator, OperatorsReader};

use ValType::*;

use super::stack::Bits;
use crate::module::opcode;

/// A two-operand instruction.
#[derive(Clone, Copy)]
pub(super) struct Binary {
    pub(super) op: Op,
    /// Operand and result types.
    pub(super) ty: ValType,
    pub(super) result: ValType,
    /// The opcode that takes its right operand as a 16-bit constant.
    pub(super) imm: Option<Imm>,
    /// Whether the operands may be swapped.
    pub(super) commutes: bool,
    /// Whether the operands are swapped already (`gt` is `lt` the other way round).
    pub(super) swap: bool,
}

/// How a constant right operand fits an opcode with a 16-bit constant.
#[derive(Clone, Copy)]
pub(super) enum Imm {
    /// The constant itself.
    Same(Op),
    /// Its negative: subtraction as addition.
    Negated(Op),
    /// The number of bits minus it: rotation the other way.
    Complement(Op),
    /// One more (`x <= k` as `x < k + 1`); unsigned if the flag is set.
    Plus1(Op, bool),
    /// One less (`x >= k` as `x > k - 1`).
    Minus1(Op, bool),
}

impl Imm {
    /// Opcode and constant operand for the constant `bits`, if it fits.
    pub(super) fn apply(self, bits: Bits, ty: ValType) -> Option<(Op, i64)> {
        let value = if ty == I32 {
            bits[0] as u32 as i32 as i64
        } else {
            bits[0] as i64
        };
        let (op, value) = match self {
            Imm::Same(op) => (op, value),
            Imm::Negated(op) => (op, value.checked_neg()?),
            Imm::Complement(op) => (op, -(value & 63)),
            // Unsigned neighbours agree with signed ones among small non-negative numbers.
            Imm::Plus1(op, unsigned) if !unsigned || (0..0x7fff).contains(&value) => (op, value.checked_add(1)?),
            Imm::Minus1(op, unsigned) if !unsigned || (1..0x8000).contains(&value) => (op, value.checked_sub(1)?),
            _ => return None,
        };
        i16::try_from(value).ok()?;
        Some((op, value))
    }
}

/// A one-operand instruction.
#[derive(Clone, Copy)]
pub(super) struct Unary {
    pub(super) op: Op,
    pub(super) result: ValType,
}

fn binary(operator: &Operator<'_>) -> Option<Binary> {
    let plain = |op, ty, result| Binary {
        op,
        ty,
        result,
        imm: None,
        commutes: false,
        swap: false,
    };
    macro_rules! integer {
        ($($ty:ident: $Shl:ident $Add:ident $Sub:ident $Mul:ident $And:ident $Or:ident $Xor:ident $ShrS:ident $ShrU:ident $Rotl:ident $Rotr:ident
           $DivS:ident $DivU:ident $RemS:ident $RemU:ident
           $Eq:ident $Ne:ident $LtS:ident $LtU:ident $GtS:ident $GtU:ident $LeS:ident $LeU:ident $GeS:ident $GeU:ident
           | $AddImm:ident $MulImm:ident $AndImm:ident $OrImm:ident $XorImm:ident $ShlImm:ident $ShrSImm:ident $ShrUImm:ident $RotlImm:ident
           $EqImm:ident $NeImm:ident $LtSImm:ident $LtUImm:ident $GtSImm:ident $GtUImm:ident;)*) => {
            match operator {
                $(
                Operator::$Add => Some(commutes(plain(Op::$Add, $ty, $ty), Imm::Same(Op::$AddImm))),
                Operator::$Sub => Some(with(plain(Op::$Sub, $ty, $ty), Imm::Negated(Op::$AddImm))),
                Operator::$Mul => Some(commutes(plain(Op::$Mul, $ty, $ty), Imm::Same(Op::$MulImm))),
                Operator::$And => Some(commutes(plain(Op::$And, $ty, $ty), Imm::Same(Op::$AndImm))),
                Operator::$Or => Some(commutes(plain(Op::$Or, $ty, $ty), Imm::Same(Op::$OrImm))),
                Operator::$Xor => Some(commutes(plain(Op::$Xor, $ty, $ty), Imm::Same(Op::$XorImm))),
                Operator::$Shl => Some(with(plain(Op::$Shl, $ty, $ty), Imm::Same(Op::$ShlImm))),
                Operator::$ShrS => Some(with(plain(Op::$ShrS, $ty, $ty), Imm::Same(Op::$ShrSImm))),
                Operator::$ShrU => Some(with(plain(Op::$ShrU, $ty, $ty), Imm::Same(Op::$ShrUImm))),
                Operator::$Rotl => Some(with(plain(Op::$Rotl, $ty, $ty), Imm::Same(Op::$RotlImm))),
                Operator::$Rotr => Some(with(plain(Op::$Rotr, $ty, $ty), Imm::Complement(Op::$RotlImm))),
                Operator::$DivS => Some(plain(Op::$DivS, $ty, $ty)),
                Operator::$DivU => Some(plain(Op::$DivU, $ty, $ty)),
                Operator::$RemS => Some(plain(Op::$RemS, $ty, $ty)),
                Operator::$RemU => Some(plain(Op::$RemU, $ty, $ty)),
                Operator::$Eq => Some(commutes(plain(Op::$Eq, $ty, I32), Imm::Same(Op::$EqImm))),
                Operator::$Ne => Some(commutes(plain(Op::$Ne, $ty, I32), Imm::Same(Op::$NeImm))),
                Operator::$LtS => Some(with(plain(Op::$LtS, $ty, I32), Imm::Same(Op::$LtSImm))),
                Operator::$LtU => Some(with(plain(Op::$LtU, $ty, I32), Imm::Same(Op::$LtUImm))),
                Operator::$LeS => Some(with(plain(Op::$LeS, $ty, I32), Imm::Plus1(Op::$LtSImm, false))),
                Operator::$LeU => Some(with(plain(Op::$LeU, $ty, I32), Imm::Plus1(Op::$LtUImm, true))),
                Operator::$GtS => Some(swap(with(plain(Op::$LtS, $ty, I32), Imm::Same(Op::$GtSImm)))),
                Operator::$GtU => Some(swap(with(plain(Op::$LtU, $ty, I32), Imm::Same(Op::$GtUImm)))),
                Operator::$GeS => Some(swap(with(plain(Op::$LeS, $ty, I32), Imm::Minus1(Op::$GtSImm, false)))),
                Operator::$GeU => Some(swap(with(plain(Op::$LeU, $ty, I32), Imm::Minus1(Op::$GtUImm, true)))),
                )*
                _ => float(operator),
            }
        };
    }
    integer! {
        I32: I32Shl I32Add I32Sub I32Mul I32And I32Or I32Xor I32ShrS I32ShrU I32Rotl I32Rotr I32DivS I32DivU I32RemS I32RemU
             I32Eq I32Ne I32LtS I32LtU I32GtS I32GtU I32LeS I32LeU I32GeS I32GeU
             | I32AddImm I32MulImm I32AndImm I32OrImm I32XorImm I32ShlImm I32ShrSImm I32ShrUImm I32RotlImm
             I32EqImm I32NeImm I32LtSImm I32LtUImm I32GtSImm I32GtUImm;
        I64: I64Shl I64Add I64Sub I64Mul I64And I64Or I64Xor I64ShrS I64ShrU I64Rotl I64Rotr I64DivS I64DivU I64RemS I64RemU
             I64Eq I64Ne I64LtS I64LtU I64GtS I64GtU I64LeS I64LeU I64GeS I64GeU
             | I64AddImm I64MulImm I64AndImm I64OrImm I64XorImm I64ShlImm I64ShrSImm I64ShrUImm I64RotlImm
             I64EqImm I64NeImm I64LtSImm I64LtUImm I64GtSImm I64GtUImm;
    }
}

fn with(binary: Binary, imm: Imm) -> Binary {
    Binary {
        imm: Some(imm),
        ..binary
    }
}

fn commutes(binary: Binary, imm: Imm) -> Binary {
    Binary {
        imm: Some(imm),
        commutes: true,
        ..binary
    }
}

fn swap(binary: Binary) -> Binary {
    Binary { swap: true, ..binary }
}

fn float(operator: &Operator<'_>) -> Option<Binary> {
    let plain = |op, ty, result, swap| Binary {
        op,
        ty,
        result,
        imm: None,
        commutes: false,
        swap,
    };
    macro_rules! float {
        ($($ty:ident: [$($Same:ident)*] $Eq:ident $Ne:ident $Lt:ident $Le:ident $Gt:ident $Ge:ident;)*) => {
            match operator {
                $(
                $(Operator::$Same => Some(plain(Op::$Same, $ty, $ty, false)),)*
                Operator::$Eq => Some(plain(Op::$Eq, $ty, I32, false)),
                Operator::$Ne => Some(plain(Op::$Ne, $ty, I32, false)),
                Operator::$Lt => Some(plain(Op::$Lt, $ty, I32, false)),
                Operator::$Le => Some(plain(Op::$Le, $ty, I32, false)),
                Operator::$Gt => Some(plain(Op::$Lt, $ty, I32, true)),
                Operator::$Ge => Some(plain(Op::$Le, $ty, I32, true)),
                )*
                _ => None,
            }
        };
    }
    float! {
        F32: [F32Add F32Sub F32Mul F32Div F32Min F32Max F32Copysign] F32Eq F32Ne F32Lt F32Le F32Gt F32Ge;
        F64: [F64Add F64Sub F64Mul F64Div F64Min F64Max F64Copysign] F64Eq F64Ne F64Lt F64Le F64Gt F64Ge;
    }
}

pub(super) fn unary(operator: &Operator<'_>) -> Option<Unary> {
    macro_rules! unary {
        ($($result:ident: $($wasm:ident => $op:ident)*;)*) => {
            match operator {
                $($(Operator::$wasm => Some(Unary { op: Op::$op, result: $result }),)*)*
                _ => None,
            }
        };
    }
    unary! {
        I32: I32Clz => I32Clz I32Ctz => I32Ctz I32Popcnt => I32Popcnt I32Eqz => I32Eqz I64Eqz => I64Eqz
             I32Extend8S => I32Extend8S I32Extend16S => I32Extend16S I32WrapI64 => I32WrapI64
             I32TruncF32S => I32TruncF32S I32TruncF32U => I32TruncF32U I32TruncF64S => I32TruncF64S I32TruncF64U => I32TruncF64U
             I32TruncSatF32S => I32TruncSatF32S I32TruncSatF32U => I32TruncSatF32U
             I32TruncSatF64S => I32TruncSatF64S I32TruncSatF64U => I32TruncSatF64U
             I32ReinterpretF32 => Copy32 RefIsNull => RefIsNull;
        I64: I64Clz => I64Clz I64Ctz => I64Ctz I64Popcnt => I64Popcnt
             I64Extend8S => I64Extend8S I64Extend16S => I64Extend16S I64Extend32S => I64Extend32S
             I64ExtendI32S => I64ExtendI32S I64ExtendI32U => I64ExtendI32U
             I64TruncF32S => I64TruncF32S I64TruncF32U => I64TruncF32U I64TruncF64S => I64TruncF64S I64TruncF64U => I64TruncF64U
             I64TruncSatF32S => I64TruncSatF32S I64TruncSatF32U => I64TruncSatF32U
             I64TruncSatF64S => I64TruncSatF64S I64TruncSatF64U => I64TruncSatF64U
             I64ReinterpretF64 => Copy64;
        F32: F32Abs => F32Abs F32Neg => F32Neg F32Ceil => F32Ceil F32Floor => F32Floor F32Trunc => F32Trunc
             F32Nearest => F32Nearest F32Sqrt => F32Sqrt F32DemoteF64 => F32DemoteF64
             F32ConvertI32S => F32ConvertI32S F32ConvertI32U => F32ConvertI32U
             F32ConvertI64S => F32ConvertI64S F32ConvertI64U => F32ConvertI64U F32ReinterpretI32 => Copy32;
        F64: F64Abs => F64Abs F64Neg => F64Neg F64Ceil => F64Ceil F64Floor => F64Floor F64Trunc => F64Trunc
             F64Nearest => F64Nearest F64Sqrt => F64Sqrt F64PromoteF32 => F64PromoteF32
             F64ConvertI32S => F64ConvertI32S F64ConvertI32U => F64ConvertI32U
             F64ConvertI64S => F64ConvertI64S F64ConvertI64U => F64ConvertI64U F64ReinterpretI64 => Copy64;
    }
}

/// A load or store: opcode for small offsets in memory 0, opcode for all others, value type.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) near: Op,
    pub(super) far: Op,
    pub(super) ty: ValType,
    pub(super) stores: bool,
}

/// The load or store with this first byte.
#[inline]
pub(super) fn access(opcode: u8) -> &'static Access {
    &ACCESSES[(opcode - opcode::FIRST_ACCESS) as usize]
}

/// Loads and stores in the order of the binary format: near opcode, far opcode, value type.
static ACCESSES: [Access; 23] = {
    macro_rules! accesses {
        ($($stores:literal: $($near:ident $far:ident $ty:ident)*;)*) => {
            [$($(Access { near: Op::$near, far: Op::$far, ty: $ty, stores: $stores },)*)*]
        };
    }
    accesses! {
        false:
            Load32 Load32Far I32 Load64 Load64Far I64 Load32 Load32Far F32 Load64 Load64Far F64
            I32Load8S I32Load8SFar I32 I32Load8U I32Load8UFar I32 I32Load16S I32Load16SFar I32 I32Load16U I32Load16UFar I32
            I64Load8S I64Load8SFar I64 I64Load8U I64Load8UFar I64 I64Load16S I64Load16SFar I64 I64Load16U I64Load16UFar I64
            I64Load32S I64Load32SFar I64 I64Load32U I64Load32UFar I64;
        true:
            Store32 Store32Far I32 Store64 Store64Far I64 Store32 Store32Far F32 Store64 Store64Far F64
            I32Store8 I32Store8Far I32 I32Store16 I32Store16Far I32
            I64Store8 I64Store8Far I64 I64Store16 I64Store16Far I64 I64Store32 I64Store32Far I64;
    }
};

/// A numeric instruction.
#[derive(Clone, Copy)]
pub(super) enum Numeric {
    Binary(Binary),
    Unary(Unary),
}

/// The numeric instruction with this byte.
#[inline]
pub(super) fn numeric(opcode: u8) -> &'static Numeric {
    &NUMERIC[(opcode - opcode::FIRST_NUMERIC) as usize]
}

/// By first byte, from the first one on.
static NUMERIC: LazyLock<Vec<Numeric>> = LazyLock::new(|| {
    let all = opcode::FIRST_NUMERIC..=opcode::LAST_NUMERIC;
    all.map(|byte| {
        let mut reader = OperatorsReader::new(BinaryReader::new(std::slice::from_ref(&byte), 0));
        let operator = reader.read().expect("every byte in between is an instruction");
        let unary = || Numeric::Unary(unary(&operator).expect("what has not two operands has one"));
        binary(&operator).map_or_else(unary, Numeric::Binary)
    })
    .collect()
});
