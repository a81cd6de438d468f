//! Canonical NaNs: engines may choose a NaN's sign and payload where an instruction makes one.

use wasm_encoder::{Encode, Instruction};
use wasmparser::{BinaryReader, BinaryReaderError, OperatorsReader};

/// The shape of floats that an instruction returns.
#[derive(Clone, Copy, PartialEq)]
enum Floats {
    F32,
    F64,
    F32x4,
    F64x2,
}

/// Prefix of SIMD instructions.
pub(crate) const SIMD: u8 = 0xfd;

/// Number of a SIMD instruction, and the length of its encoding.
pub(crate) fn simd_opcode(bytes: &[u8]) -> (u32, usize) {
    match bytes[1..] {
        [low, high, ..] if low >= 0x80 => ((low & 0x7f) as u32 | (high as u32) << 7, 3),
        [low, ..] => (low as u32, 2),
        [] => (u32::MAX, 1),
    }
}

/// The floats that an instruction computes, whose NaNs may differ from those of its operands. Not
/// those of instructions that only move bits or change signs.
fn floats(bytes: &[u8]) -> Option<Floats> {
    Some(match bytes[0] {
        0x8d..=0x97 | 0xb6 => Floats::F32,
        0x9b..=0xa5 | 0xbb => Floats::F64,
        SIMD => match simd_opcode(bytes).0 {
            0x5e | 0x67..=0x6a | 0xe3..=0xe9 => Floats::F32x4,
            0x5f | 0x74 | 0x75 | 0x7a | 0x94 | 0xef..=0xf5 => Floats::F64x2,
            _ => return None,
        },
        _ => return None,
    })
}

/// Writes instructions, and makes NaNs of each canonical. `temporary` is the first of three locals,
/// an f32, an f64 and a v128; says whether the last one is needed.
pub(crate) fn canonical(instructions: &[&[u8]], temporary: u32, code: &mut Vec<u8>) -> bool {
    let mut vectors = false;
    for bytes in instructions {
        code.extend_from_slice(bytes);
        if let Some(floats) = floats(bytes) {
            canonicalize(floats, temporary, code);
            vectors |= matches!(floats, Floats::F32x4 | Floats::F64x2);
        }
    }
    vectors
}

/// Where each instruction of some code begins and ends.
pub(crate) fn split(code: &[u8]) -> Result<Vec<&[u8]>, BinaryReaderError> {
    let mut reader = OperatorsReader::new(BinaryReader::new(code, 0));
    let mut instructions = Vec::new();
    while !reader.eof() {
        let (_, start) = reader.read_with_offset()?;
        instructions.push(&code[start as usize..reader.original_position() as usize]);
    }
    Ok(instructions)
}

const NAN_32: u32 = 0x7fc0_0000;
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

fn canonicalize(floats: Floats, temporary: u32, code: &mut Vec<u8>) {
    let f64x2 = (NAN_64 as u128) << 64 | NAN_64 as u128;
    let f32x4 = NAN_32 as u128 * 0x1_0000_0001_0000_0001_0000_0001;
    let (index, nan, eq, select) = match floats {
        Floats::F32 => {
            let nan = Instruction::F32Const(f32::from_bits(NAN_32).into());
            (0, nan, Instruction::F32Eq, Instruction::Select)
        }
        Floats::F64 => {
            let nan = Instruction::F64Const(f64::from_bits(NAN_64).into());
            (1, nan, Instruction::F64Eq, Instruction::Select)
        }
        Floats::F32x4 => {
            let nan = Instruction::V128Const(f32x4 as i128);
            (2, nan, Instruction::F32x4Eq, Instruction::V128Bitselect)
        }
        Floats::F64x2 => {
            let nan = Instruction::V128Const(f64x2 as i128);
            (2, nan, Instruction::F64x2Eq, Instruction::V128Bitselect)
        }
    };
    Instruction::LocalTee(temporary + index).encode(code);
    nan.encode(code);
    Instruction::LocalGet(temporary + index).encode(code);
    Instruction::LocalGet(temporary + index).encode(code);
    eq.encode(code);
    select.encode(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(instruction: Instruction<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        instruction.encode(&mut bytes);
        bytes
    }

    #[test]
    fn floats_of_instructions() {
        use Instruction::*;
        let made = [
            (F32Ceil, Floats::F32),
            (F32Max, Floats::F32),
            (F32DemoteF64, Floats::F32),
            (F64Ceil, Floats::F64),
            (F64Max, Floats::F64),
            (F64PromoteF32, Floats::F64),
            (F32x4DemoteF64x2Zero, Floats::F32x4),
            (F32x4Ceil, Floats::F32x4),
            (F32x4Nearest, Floats::F32x4),
            (F32x4Sqrt, Floats::F32x4),
            (F32x4Add, Floats::F32x4),
            (F32x4Max, Floats::F32x4),
            (F64x2PromoteLowF32x4, Floats::F64x2),
            (F64x2Ceil, Floats::F64x2),
            (F64x2Floor, Floats::F64x2),
            (F64x2Trunc, Floats::F64x2),
            (F64x2Nearest, Floats::F64x2),
            (F64x2Sqrt, Floats::F64x2),
            (F64x2Max, Floats::F64x2),
        ];
        for (instruction, wanted) in made {
            assert!(floats(&encoded(instruction.clone())) == Some(wanted), "{instruction:?}");
        }
        let moved = [
            F32Abs,
            F32Neg,
            F32Copysign,
            F64Abs,
            F64Neg,
            F64Copysign,
            F32x4Neg,
            F32x4PMin,
            F64x2Abs,
            F64x2PMax,
        ];
        for instruction in moved {
            assert!(floats(&encoded(instruction.clone())).is_none(), "{instruction:?}");
        }
    }
}
