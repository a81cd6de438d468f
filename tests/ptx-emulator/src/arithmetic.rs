//! What instructions compute. A register is a `u64`, of which an operation takes as many low bits as its
//! type has; results have 0 above.

// The macros bind an operand anew as its type has it, which of the widest is what it was.
#![allow(clippy::redundant_locals)]

use crate::inst::{Binary, Compare, Convert, Round, Ternary, Ty, Unary};

/// The NaN that single-precision arithmetic returns.
const NAN32: u32 = 0x7fff_ffff;

/// Takes operands as integers of a type.
macro_rules! integers {
    ($ty:expr, ($($x:ident = $v:expr),+) => $e:expr) => {
        match $ty {
            Ty::Pred | Ty::B8 | Ty::U8 => { $(let $x = $v as u8;)+ let e = $e; e as u8 as u64 }
            Ty::B16 | Ty::U16 => { $(let $x = $v as u16;)+ let e = $e; e as u16 as u64 }
            Ty::B32 | Ty::U32 | Ty::F32 => { $(let $x = $v as u32;)+ let e = $e; e as u32 as u64 }
            Ty::B64 | Ty::U64 | Ty::F64 => { $(let $x = $v;)+ let e = $e; e as u64 }
            Ty::S8 => { $(let $x = $v as i8;)+ let e = $e; e as u8 as u64 }
            Ty::S16 => { $(let $x = $v as i16;)+ let e = $e; e as u16 as u64 }
            Ty::S32 => { $(let $x = $v as i32;)+ let e = $e; e as u32 as u64 }
            Ty::S64 => { $(let $x = $v as i64;)+ let e = $e; e as u64 }
        }
    };
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// A result of single precision: every NaN is the same.
fn bits32(value: f32) -> u64 {
    match value.is_nan() {
        true => NAN32 as u64,
        false => value.to_bits() as u64,
    }
}

/// Takes operands as floating-point numbers.
macro_rules! floats {
    ($ty:expr, ($($x:ident = $v:expr),+) => $e:expr) => {
        match $ty {
            Ty::F32 => { $(let $x = f32_of($v);)+ bits32($e) }
            _ => { $(let $x = f64_of($v);)+ ($e).to_bits() }
        }
    };
}

/// The lesser of two numbers; of a number and a NaN the number.
macro_rules! extreme {
    ($a:expr, $b:expr, $less:tt, $zero:expr) => {{
        let (a, b) = ($a, $b);
        if a.is_nan() {
            b
        } else if b.is_nan() {
            a
        } else if a == b {
            // Of zeros the one with the sign, or without.
            if a.is_sign_negative() == $zero { a } else { b }
        } else if a $less b {
            a
        } else {
            b
        }
    }};
}

/// Twice as wide a product.
fn wide(ty: Ty, a: u64, b: u64) -> u64 {
    match ty {
        Ty::U16 | Ty::B16 => (a as u16 as u32).wrapping_mul(b as u16 as u32) as u64,
        Ty::S16 => (a as i16 as i32).wrapping_mul(b as i16 as i32) as u32 as u64,
        Ty::S32 => (a as i32 as i64).wrapping_mul(b as i32 as i64) as u64,
        _ => (a as u32 as u64).wrapping_mul(b as u32 as u64),
    }
}

/// The upper half of a product.
fn high(ty: Ty, a: u64, b: u64) -> u64 {
    match ty {
        Ty::U64 | Ty::B64 => ((a as u128 * b as u128) >> 64) as u64,
        Ty::S64 => ((a as i64 as i128 * b as i64 as i128) >> 64) as u64,
        Ty::U16 | Ty::B16 | Ty::S16 => wide(ty, a, b) >> 16 & 0xffff,
        _ => wide(ty, a, b) >> 32,
    }
}

/// An operation on two operands.
#[inline(always)]
pub fn binary(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    match op {
        Binary::Add if ty.float() => floats!(ty, (a = a, b = b) => a + b),
        Binary::Sub if ty.float() => floats!(ty, (a = a, b = b) => a - b),
        Binary::Mul if ty.float() => floats!(ty, (a = a, b = b) => a * b),
        Binary::Div if ty.float() => floats!(ty, (a = a, b = b) => a / b),
        Binary::Min if ty.float() => floats!(ty, (a = a, b = b) => extreme!(a, b, <, true)),
        Binary::Max if ty.float() => floats!(ty, (a = a, b = b) => extreme!(a, b, >, false)),
        Binary::Add => integers!(ty, (a = a, b = b) => a.wrapping_add(b)),
        Binary::Sub => integers!(ty, (a = a, b = b) => a.wrapping_sub(b)),
        Binary::Mul => integers!(ty, (a = a, b = b) => a.wrapping_mul(b)),
        Binary::MulHi => high(ty, a, b),
        Binary::MulWide => wide(ty, a, b),
        // By 0 it is unspecified; this is what GPUs give.
        Binary::Div => integers!(ty, (a = a, b = b) => if b == 0 { !0 } else { a.wrapping_div(b) }),
        Binary::Rem => integers!(ty, (a = a, b = b) => if b == 0 { a } else { a.wrapping_rem(b) }),
        Binary::Min => integers!(ty, (a = a, b = b) => a.min(b)),
        Binary::Max => integers!(ty, (a = a, b = b) => a.max(b)),
        Binary::And => integers!(ty, (a = a, b = b) => a & b),
        Binary::Or => integers!(ty, (a = a, b = b) => a | b),
        Binary::Xor => integers!(ty, (a = a, b = b) => a ^ b),
        Binary::Shl => {
            let by = b as u32;
            integers!(ty, (a = a) => a.checked_shl(by).unwrap_or(0))
        }
        Binary::Shr => {
            let by = b as u32;
            // Beyond the last bit a sign remains, or nothing.
            integers!(ty, (a = a) => a.checked_shr(by).unwrap_or_else(|| {
                let all_but_one = a >> (ty.bytes() * 8 - 1);
                if ty.signed() { all_but_one } else { 0 }
            }))
        }
        Binary::CopySign => match ty {
            Ty::F32 => (b & 0x7fff_ffff) | (a & 0x8000_0000),
            _ => (b & (u64::MAX >> 1)) | (a & (1 << 63)),
        },
    }
}

/// A sum or difference of 64 bits with the carry or borrow of a lower one, and its own.
pub fn with_carry(subtracts: bool, a: u64, b: u64, taken: u64) -> (u64, u64) {
    let (first, second) = match subtracts {
        true => a.overflowing_sub(b),
        false => a.overflowing_add(b),
    };
    let (result, again) = match subtracts {
        true => first.overflowing_sub(taken),
        false => first.overflowing_add(taken),
    };
    (result, u64::from(second | again))
}

/// An operation on one operand.
#[inline(always)]
pub fn unary(op: Unary, ty: Ty, a: u64) -> u64 {
    let bits = ty.bytes() * 8;
    let value = if bits == 64 { a } else { a & ((1 << bits) - 1) };
    match op {
        Unary::Not if ty == Ty::Pred => a & 1 ^ 1,
        Unary::Not => integers!(ty, (a = a) => !a),
        Unary::Cnot => (value == 0) as u64,
        Unary::Neg if ty.float() => value ^ 1 << (bits - 1),
        Unary::Abs if ty.float() => value & !(1 << (bits - 1)),
        Unary::Neg => integers!(ty, (a = a) => a.wrapping_neg()),
        Unary::Abs => match ty {
            Ty::S16 => (a as i16).wrapping_abs() as u16 as u64,
            Ty::S32 => (a as i32).wrapping_abs() as u32 as u64,
            _ => (a as i64).wrapping_abs() as u64,
        },
        Unary::Popc => value.count_ones() as u64,
        Unary::Clz => (value.leading_zeros() + bits - 64) as u64,
        Unary::Brev => value.reverse_bits() >> (64 - bits),
        Unary::Bfind | Unary::BfindShift => {
            let negative = ty.signed() && value >> (bits - 1) & 1 == 1;
            let looked_at = if negative { integers!(ty, (a = a) => !a) } else { value };
            match 63u32.checked_sub(looked_at.leading_zeros()) {
                None => u32::MAX as u64,
                Some(at) if op == Unary::Bfind => at as u64,
                Some(at) => (bits - 1 - at) as u64,
            }
        }
        Unary::Sqrt => floats!(ty, (a = a) => a.sqrt()),
        Unary::Rcp => floats!(ty, (a = a) => 1.0 / a),
    }
}

/// A field of bits.
fn field(ty: Ty, value: u64, at: u64, count: u64) -> u64 {
    let bits = (ty.bytes() * 8) as u64;
    let (at, count) = (at & 0xff, count & 0xff);
    let value = integers!(ty, (a = value) => a);
    let sign_at = (at + count).saturating_sub(1).min(bits - 1);
    let sign = ty.signed() && count > 0 && value >> sign_at & 1 == 1;
    let mut found = if at >= bits { 0 } else { value >> at };
    // Bits that are in the field and in the value.
    let kept = count.min(bits.saturating_sub(at));
    let mask = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    found &= mask;
    if sign {
        found |= !mask;
    }
    integers!(ty, (a = found) => a)
}

/// A value with a field of another.
pub fn insert(ty: Ty, field: u64, value: u64, at: u64, count: u64) -> u64 {
    let bits = (ty.bytes() * 8) as u64;
    let (at, count) = (at & 0xff, count & 0xff);
    if at >= bits {
        return integers!(ty, (a = value) => a);
    }
    let mask = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    integers!(ty, (a = (value & !(mask << at)) | (field & mask) << at) => a)
}

/// Four bytes of eight, each chosen by four bits.
fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = ((a as u32 as u64) | b << 32).to_le_bytes();
    let byte = |i: u32| {
        let choice = (selector >> (4 * i)) as u8 & 0xf;
        let byte = bytes[(choice & 7) as usize];
        match choice & 8 {
            0 => byte,
            _ => ((byte as i8) >> 7) as u8,
        }
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]) as u64
}

/// An operation on three operands.
#[inline(always)]
pub fn ternary(op: Ternary, ty: Ty, [a, b, c]: [u64; 3]) -> u64 {
    match op {
        Ternary::Mad => integers!(ty, (a = a, b = b, c = c) => a.wrapping_mul(b).wrapping_add(c)),
        Ternary::MadHi => integers!(ty, (a = high(ty, a, b), c = c) => a.wrapping_add(c)),
        Ternary::MadWide => match ty.bytes() {
            2 => (wide(ty, a, b) as u32).wrapping_add(c as u32) as u64,
            _ => wide(ty, a, b).wrapping_add(c),
        },
        Ternary::Fma => floats!(ty, (a = a, b = b, c = c) => a.mul_add(b, c)),
        Ternary::Slct => integers!(ty, (a = if (c as i32) >= 0 { a } else { b }) => a),
        Ternary::Bfe => field(ty, a, b, c),
        Ternary::Prmt => permute(a, b, c),
        Ternary::ShfLeftWrap | Ternary::ShfLeftClamp | Ternary::ShfRightWrap | Ternary::ShfRightClamp => {
            let both = (b << 32) | a as u32 as u64;
            let by = match op {
                Ternary::ShfLeftWrap | Ternary::ShfRightWrap => c as u32 & 31,
                _ => (c as u32).min(32),
            };
            let shifted = match op {
                Ternary::ShfLeftWrap | Ternary::ShfLeftClamp => both << by >> 32,
                _ => both >> by,
            };
            shifted as u32 as u64
        }
    }
}

/// Bits of three operands by a table.
pub fn lop3(a: u64, b: u64, c: u64, table: u8) -> u64 {
    let bit = |i: u8, found: u64| if table >> i & 1 == 1 { found } else { 0 };
    let found = (0..8).fold(0, |sum, i: u8| {
        let of = |value: u64, mask: u8| if i & mask != 0 { value } else { !value };
        sum | bit(i, of(a, 4) & of(b, 2) & of(c, 1))
    });
    found as u32 as u64
}

/// Compares two operands.
#[inline(always)]
pub fn compare(compare: Compare, ty: Ty, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        Ty::F32 => f32_of(a).partial_cmp(&f32_of(b)),
        Ty::F64 => f64_of(a).partial_cmp(&f64_of(b)),
        Ty::S8 => Some((a as i8).cmp(&(b as i8))),
        Ty::S16 => Some((a as i16).cmp(&(b as i16))),
        Ty::S32 => Some((a as i32).cmp(&(b as i32))),
        Ty::S64 => Some((a as i64).cmp(&(b as i64))),
        Ty::Pred => Some((a & 1).cmp(&(b & 1))),
        Ty::B8 | Ty::U8 => Some((a as u8).cmp(&(b as u8))),
        Ty::B16 | Ty::U16 => Some((a as u16).cmp(&(b as u16))),
        Ty::B32 | Ty::U32 => Some((a as u32).cmp(&(b as u32))),
        Ty::B64 | Ty::U64 => Some(a.cmp(&b)),
    };
    match compare {
        Compare::Eq => order == Some(Equal),
        // Of floats too: ordered, and not the same.
        Compare::Ne => matches!(order, Some(Less | Greater)),
        Compare::Lt => order == Some(Less),
        Compare::Le => matches!(order, Some(Less | Equal)),
        Compare::Gt => order == Some(Greater),
        Compare::Ge => matches!(order, Some(Greater | Equal)),
        Compare::Equ => matches!(order, None | Some(Equal)),
        Compare::Neu => order != Some(Equal),
        Compare::Ltu => matches!(order, None | Some(Less)),
        Compare::Leu => order != Some(Greater),
        Compare::Gtu => matches!(order, None | Some(Greater)),
        Compare::Geu => order != Some(Less),
        Compare::Num => order.is_some(),
        Compare::Nan => order.is_none(),
    }
}

/// An integer as wide as can be.
fn integer(ty: Ty, value: u64) -> i128 {
    match ty {
        Ty::S8 => value as i8 as i128,
        Ty::S16 => value as i16 as i128,
        Ty::S32 => value as i32 as i128,
        Ty::S64 => value as i64 as i128,
        _ => integers!(ty, (a = value) => a) as i128,
    }
}

/// The least and the greatest value of an integer type.
fn limits(ty: Ty) -> (i128, i128) {
    let bits = ty.bytes() * 8;
    match ty.signed() {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// Rounds to an integral number.
fn integral(round: Round, value: f64) -> f64 {
    match round {
        Round::IntNearest => value.round_ties_even(),
        Round::IntZero => value.trunc(),
        Round::IntDown => value.floor(),
        Round::IntUp => value.ceil(),
        Round::None | Round::Nearest => value,
    }
}

/// Converts.
pub fn convert(convert: &Convert, value: u64) -> u64 {
    let Convert {
        to,
        from,
        round,
        saturate,
        width,
    } = *convert;
    if from.float() {
        // Exact; a NaN stays one.
        let number = match from {
            Ty::F32 => f32_of(value) as f64,
            _ => f64_of(value),
        };
        let rounded = integral(round, number);
        if to.float() {
            let limited = match saturate {
                true if number.is_nan() => 0.0,
                true => rounded.clamp(0.0, 1.0),
                false => rounded,
            };
            return match to {
                Ty::F32 => bits32(limited as f32),
                _ => limited.to_bits(),
            };
        }
        let (least, most) = limits(to);
        let found = match number.is_nan() {
            // What the ISA says of NaN.
            true if from == Ty::F64 || to.bytes() == 8 => 1 << (to.bytes() * 8 - 1),
            true => 0,
            // As for i128 it saturates.
            false => (rounded as i128).clamp(least, most),
        };
        return widen(to, found as u64, width);
    }
    let number = integer(from, value);
    match to {
        Ty::F32 => (number as f32).to_bits() as u64,
        Ty::F64 => (number as f64).to_bits(),
        _ => {
            let (least, most) = limits(to);
            let number = if saturate { number.clamp(least, most) } else { number };
            widen(to, number as u64, width)
        }
    }
}

/// A value of a type in a register of `width` bytes: with its sign, or zeros.
#[inline(always)]
pub fn widen(ty: Ty, value: u64, width: u32) -> u64 {
    let whole = match ty {
        Ty::S8 => value as i8 as u64,
        Ty::S16 => value as i16 as u64,
        Ty::S32 => value as i32 as u64,
        Ty::Pred | Ty::B8 | Ty::U8 => value as u8 as u64,
        Ty::B16 | Ty::U16 => value as u16 as u64,
        Ty::B32 | Ty::U32 | Ty::F32 => value as u32 as u64,
        Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => value,
    };
    match width {
        8 => whole,
        4 => whole as u32 as u64,
        2 => whole as u16 as u64,
        _ => whole as u8 as u64,
    }
}
