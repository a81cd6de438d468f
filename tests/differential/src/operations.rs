//! The instructions that compute, with their types: what [`crate::dense`] builds code of.

use std::ops::RangeInclusive;

use wasm_encoder::ValType;
use wasm_encoder::ValType::{F32, F64, I32, I64, V128};

/// What follows an opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Immediate {
    None,
    /// A lane of so many.
    Lane(u8),
    /// 16 lanes of 32.
    Shuffle,
    /// An access of memory: the exponent of its natural alignment, and whether it must have that.
    Access(u8, bool),
    /// As before, and a lane of so many.
    AccessLane(u8, u8),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// 0 if it has none.
    pub(crate) prefix: u8,
    pub(crate) number: u32,
    /// Without an address, which an access takes before them.
    pub(crate) params: &'static [ValType],
    /// Nothing for stores.
    pub(crate) result: Option<ValType>,
    pub(crate) immediate: Immediate,
    /// Whether it traps for many operands.
    pub(crate) traps: bool,
}

type Group = (u8, RangeInclusive<u32>, &'static [ValType], ValType);

const SCALAR: &[Group] = &[
    (0, 0x45..=0x45, &[I32], I32),
    (0, 0x46..=0x4f, &[I32, I32], I32),
    (0, 0x50..=0x50, &[I64], I32),
    (0, 0x51..=0x5a, &[I64, I64], I32),
    (0, 0x5b..=0x60, &[F32, F32], I32),
    (0, 0x61..=0x66, &[F64, F64], I32),
    (0, 0x67..=0x69, &[I32], I32),
    (0, 0x6a..=0x78, &[I32, I32], I32),
    (0, 0x79..=0x7b, &[I64], I64),
    (0, 0x7c..=0x8a, &[I64, I64], I64),
    (0, 0x8b..=0x91, &[F32], F32),
    (0, 0x92..=0x98, &[F32, F32], F32),
    (0, 0x99..=0x9f, &[F64], F64),
    (0, 0xa0..=0xa6, &[F64, F64], F64),
    (0, 0xa7..=0xa7, &[I64], I32),
    (0, 0xa8..=0xa9, &[F32], I32),
    (0, 0xaa..=0xab, &[F64], I32),
    (0, 0xac..=0xad, &[I32], I64),
    (0, 0xae..=0xaf, &[F32], I64),
    (0, 0xb0..=0xb1, &[F64], I64),
    (0, 0xb2..=0xb3, &[I32], F32),
    (0, 0xb4..=0xb5, &[I64], F32),
    (0, 0xb6..=0xb6, &[F64], F32),
    (0, 0xb7..=0xb8, &[I32], F64),
    (0, 0xb9..=0xba, &[I64], F64),
    (0, 0xbb..=0xbb, &[F32], F64),
    (0, 0xbc..=0xbc, &[F32], I32),
    (0, 0xbd..=0xbd, &[F64], I64),
    (0, 0xbe..=0xbe, &[I32], F32),
    (0, 0xbf..=0xbf, &[I64], F64),
    (0, 0xc0..=0xc1, &[I32], I32),
    (0, 0xc2..=0xc4, &[I64], I64),
    (0xfc, 0..=1, &[F32], I32),
    (0xfc, 2..=3, &[F64], I32),
    (0xfc, 4..=5, &[F32], I64),
    (0xfc, 6..=7, &[F64], I64),
];

/// Divisions, and conversions to integers.
const TRAPPING: &[RangeInclusive<u32>] = &[0x6d..=0x70, 0x7f..=0x82, 0xa8..=0xab, 0xae..=0xb1];

/// SIMD instructions of v128 alone.
pub(crate) const SIMD_UNARY: &[RangeInclusive<u32>] = &[
    0x4d..=0x4d,
    0x5e..=0x62,
    0x67..=0x6a,
    0x74..=0x75,
    0x7a..=0x7a,
    0x7c..=0x81,
    0x87..=0x8a,
    0x94..=0x94,
    0xa0..=0xa1,
    0xa7..=0xaa,
    0xc0..=0xc1,
    0xc7..=0xca,
    0xe0..=0xe1,
    0xe3..=0xe3,
    0xec..=0xed,
    0xef..=0xef,
    0xf8..=0xff,
];
/// The same with two operands.
pub(crate) const SIMD_BINARY: &[RangeInclusive<u32>] = &[
    0x0e..=0x0e,
    0x23..=0x4c,
    0x4e..=0x51,
    0x65..=0x66,
    0x6e..=0x73,
    0x76..=0x79,
    0x7b..=0x7b,
    0x82..=0x82,
    0x85..=0x86,
    0x8e..=0x93,
    0x95..=0x99,
    0x9b..=0x9f,
    0xae..=0xae,
    0xb1..=0xb1,
    0xb5..=0xba,
    0xbc..=0xbf,
    0xce..=0xce,
    0xd1..=0xd1,
    0xd5..=0xdf,
    0xe4..=0xeb,
    0xf0..=0xf7,
];
/// Shifts by an i32.
pub(crate) const SIMD_SHIFTS: &[RangeInclusive<u32>] = &[0x6b..=0x6d, 0x8b..=0x8d, 0xab..=0xad, 0xcb..=0xcd];
/// v128 -> i32.
pub(crate) const SIMD_TESTS: &[RangeInclusive<u32>] =
    &[0x53..=0x53, 0x63..=0x64, 0x83..=0x84, 0xa3..=0xa4, 0xc3..=0xc4];
/// SIMD loads of the same type, each with the exponent of its natural alignment.
pub(crate) const SIMD_LOADS: &[(u8, u8)] = &[
    (0x00, 4),
    (0x01, 3),
    (0x02, 3),
    (0x03, 3),
    (0x04, 3),
    (0x05, 3),
    (0x06, 3),
    (0x07, 0),
    (0x08, 1),
    (0x09, 2),
    (0x0a, 3),
    (0x5c, 2),
    (0x5d, 3),
];

/// Numbers of lanes: extract (and its signed twin), replace, and the type of a lane.
const LANES: &[(RangeInclusive<u32>, u32, u8, ValType)] = &[
    (0x15..=0x16, 0x17, 16, I32),
    (0x18..=0x19, 0x1a, 8, I32),
    (0x1b..=0x1b, 0x1c, 4, I32),
    (0x1d..=0x1d, 0x1e, 2, I64),
    (0x1f..=0x1f, 0x20, 4, F32),
    (0x21..=0x21, 0x22, 2, F64),
];

/// Type and alignment of the loads 0x28 and following, and of the stores 0x36 and following.
const LOADS: [(ValType, u8); 14] = [
    (I32, 2),
    (I64, 3),
    (F32, 2),
    (F64, 3),
    (I32, 0),
    (I32, 0),
    (I32, 1),
    (I32, 1),
    (I64, 0),
    (I64, 0),
    (I64, 1),
    (I64, 1),
    (I64, 2),
    (I64, 2),
];
const STORES: [(ValType, u8); 9] = [
    (I32, 2),
    (I64, 3),
    (F32, 2),
    (F64, 3),
    (I32, 0),
    (I32, 1),
    (I64, 0),
    (I64, 1),
    (I64, 2),
];
/// The same of each family of atomics.
const ATOMICS: [(ValType, u8); 7] = [(I32, 2), (I64, 3), (I32, 0), (I32, 1), (I64, 0), (I64, 1), (I64, 2)];

/// Parameters that are one value of a type, or two.
fn values(ty: ValType, two: bool) -> &'static [ValType] {
    match (ty, two) {
        (I32, false) => &[I32],
        (I32, true) => &[I32, I32],
        (I64, false) => &[I64],
        (I64, true) => &[I64, I64],
        (F32, _) => &[F32],
        (F64, _) => &[F64],
        _ => &[V128],
    }
}

/// All instructions that compute, of the given proposals.
pub(crate) fn operations(simd: bool, atomics: bool) -> Vec<Operation> {
    let mut all = Vec::new();
    let mut add = |prefix, number, params, result, immediate| {
        let traps = prefix == 0 && TRAPPING.iter().any(|range| range.contains(&number));
        all.push(Operation {
            prefix,
            number,
            params,
            result,
            immediate,
            traps,
        });
    };
    for (prefix, numbers, params, result) in SCALAR {
        numbers
            .clone()
            .for_each(|number| add(*prefix, number, params, Some(*result), Immediate::None));
    }
    for (number, (ty, align)) in (0x28..).zip(LOADS) {
        add(0, number, &[], Some(ty), Immediate::Access(align, false));
    }
    for (number, (ty, align)) in (0x36..).zip(STORES) {
        add(0, number, values(ty, false), None, Immediate::Access(align, false));
    }
    if simd {
        let mut many = |groups: &[RangeInclusive<u32>], params, result| {
            for number in groups.iter().cloned().flatten() {
                add(0xfd, number, params, Some(result), Immediate::None);
            }
        };
        many(SIMD_UNARY, &[V128], V128);
        many(SIMD_BINARY, &[V128, V128], V128);
        many(SIMD_SHIFTS, &[V128, I32], V128);
        many(SIMD_TESTS, &[V128], I32);
        many(&[0x52..=0x52], &[V128, V128, V128], V128);
        many(&[0x0f..=0x11], &[I32], V128);
        many(&[0x12..=0x12], &[I64], V128);
        many(&[0x13..=0x13], &[F32], V128);
        many(&[0x14..=0x14], &[F64], V128);
        add(0xfd, 0x0d, &[V128, V128], Some(V128), Immediate::Shuffle);
        for (extract, replace, lanes, ty) in LANES {
            let lane = Immediate::Lane(*lanes);
            extract
                .clone()
                .for_each(|number| add(0xfd, number, &[V128], Some(*ty), lane));
            let params: &[ValType] = match ty {
                I32 => &[V128, I32],
                I64 => &[V128, I64],
                F32 => &[V128, F32],
                _ => &[V128, F64],
            };
            add(0xfd, *replace, params, Some(V128), lane);
        }
        for (number, align) in SIMD_LOADS {
            add(0xfd, *number as u32, &[], Some(V128), Immediate::Access(*align, false));
        }
        add(0xfd, 0x0b, &[V128], None, Immediate::Access(4, false));
        for align in 0..4 {
            let access = Immediate::AccessLane(align, 16 >> align);
            add(0xfd, 0x54 + align as u32, &[V128], Some(V128), access);
            add(0xfd, 0x58 + align as u32, &[V128], None, access);
        }
    }
    if atomics {
        for (index, (ty, align)) in (0..).zip(ATOMICS) {
            let access = Immediate::Access(align, true);
            add(0xfe, 0x10 + index, &[], Some(ty), access);
            add(0xfe, 0x17 + index, values(ty, false), None, access);
            for family in [0x1e, 0x25, 0x2c, 0x33, 0x3a, 0x41] {
                add(0xfe, family + index, values(ty, false), Some(ty), access);
            }
            add(0xfe, 0x48 + index, values(ty, true), Some(ty), access);
        }
    }
    all
}
