//! Pairs of instructions that have an opcode of their own: dispatching costs more than computing.

use gpu_run_bytecode::Op;

/// Which operand of the second instruction the first one's result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Left,
    Right,
}

/// The opcode of a pair whose second instruction takes two registers.
pub(super) fn find(first: Op, second: Op, position: Position) -> Option<Op> {
    Some(match (first, second) {
        (Op::I32ShlImm, Op::I32Xor) => Op::I32ShlXor,
        (Op::I32ShrUImm, Op::I32Xor) => Op::I32ShrUXor,
        (Op::I32ShlImm, Op::I32Or) => Op::I32ShlOr,
        (Op::I32RotlImm, Op::I32Xor) => Op::I32RotlXor,
        (Op::I32Mul, Op::I32Add) => Op::I32MulAdd,
        (Op::I32Add, Op::I32Add) => Op::I32AddAdd,
        (Op::I32And, Op::I32Xor) => Op::I32AndXor,
        (Op::I32Xor, Op::I32Xor) => Op::I32XorXor,
        (Op::I64ShlImm, Op::I64Xor) => Op::I64ShlXor,
        (Op::I64ShrUImm, Op::I64Xor) => Op::I64ShrUXor,
        (Op::I64ShlImm, Op::I64Or) => Op::I64ShlOr,
        (Op::I64RotlImm, Op::I64Xor) => Op::I64RotlXor,
        (Op::I64Mul, Op::I64Add) => Op::I64MulAdd,
        (Op::I64Add, Op::I64Add) => Op::I64AddAdd,
        (Op::I64And, Op::I64Xor) => Op::I64AndXor,
        (Op::I64Xor, Op::I64Xor) => Op::I64XorXor,
        (Op::F32Mul, Op::F32Add) => Op::F32MulAdd,
        (Op::F64Mul, Op::F64Add) => Op::F64MulAdd,
        (Op::F32Mul, Op::F32Sub) if position == Position::Left => Op::F32MulSub,
        (Op::F64Mul, Op::F64Sub) if position == Position::Left => Op::F64MulSub,
        (Op::F32Mul, Op::F32Sub) => Op::F32SubMul,
        (Op::F64Mul, Op::F64Sub) => Op::F64SubMul,
        _ => return None,
    })
}

/// The opcode of a pair whose second instruction takes a register and a constant.
pub(super) fn with_constant(first: Op, second: Op) -> Option<Op> {
    match (first, second) {
        (Op::I32ShrUImm, Op::I32AndImm) => Some(Op::I32ShrUAnd),
        (Op::I64ShrUImm, Op::I64AndImm) => Some(Op::I64ShrUAnd),
        _ => None,
    }
}
