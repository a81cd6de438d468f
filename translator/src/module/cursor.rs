//! Reads code an instruction at a time, and operands as they are asked for.
//!
//! [`Steps`](super::Steps) finds where an instruction ends before it yields it. Where nearly every
//! operand is read anyway, that would read them twice.

use wasmparser::{BlockType, Operator};

use super::Origin;
use super::code::{Code, EMPTY, decode_renumbered, length, read_i64, read_place, read_u32};

/// Reads code; see the module's documentation.
pub(crate) struct Cursor<'f> {
    code: Code<'f>,
    /// Where the instruction begins.
    at: usize,
    /// What was read of it ends here.
    end: usize,
}

impl<'f> Cursor<'f> {
    pub(super) fn new(code: Code<'f>) -> Cursor<'f> {
        Cursor { code, at: 0, end: 0 }
    }

    /// The first byte of the next instruction. All operands of the last one must have been read, or
    /// skipped.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u8> {
        self.at = self.end;
        let opcode = *self.code.bytes.get(self.at)?;
        self.end += 1;
        self.code.forward(self.at);
        Some(opcode)
    }

    /// Where the instruction begins, in bytes of the code.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Where the operands end that were read.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// The instruction's bytes, and all that follow.
    pub(super) fn rest(&self) -> &'f [u8] {
        &self.code.bytes[self.at..]
    }

    /// The bytes of the instruction, as far as it was read.
    pub(super) fn bytes(&self) -> &'f [u8] {
        &self.code.bytes[self.at..self.end]
    }

    /// Where the instruction came from.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        self.code.first.origin(self.at)
    }

    /// Passes over the instruction's operands, of which none was read.
    #[inline(always)]
    pub(crate) fn skip(&mut self) {
        self.end = self.at + length(&self.code.bytes[self.at..]);
    }

    /// Reads an operand that is an unsigned number: an index or a label.
    #[inline]
    pub(crate) fn index(&mut self) -> u32 {
        let (index, end) = read_u32(self.code.bytes, self.end);
        self.end = end;
        index
    }

    /// Bytes of the operands that were read.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.end - self.at - 1
    }

    /// Reads the function that the instruction (of a direct call, or `ref.func`) names.
    #[inline]
    pub(crate) fn function(&mut self) -> u32 {
        let index = self.index();
        self.code.renumber.map_or(index, |table| table[index as usize])
    }

    /// Reads the operand of a `block`, `loop` or `if`.
    #[inline]
    pub(crate) fn block_type(&mut self) -> BlockType {
        if self.code.bytes[self.end] == EMPTY {
            self.end += 1;
            return BlockType::Empty;
        }
        match self.operator() {
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => blockty,
            _ => unreachable!("only asked of these"),
        }
    }

    /// Reads the operand, if it is a signed number: of a constant.
    #[inline]
    pub(crate) fn signed(&mut self) -> i64 {
        let (value, end) = read_i64(self.code.bytes, self.end);
        self.end = end;
        value
    }

    /// Reads the place of a load or store that is neither atomic nor SIMD: memory and offset.
    #[inline]
    pub(crate) fn place(&mut self) -> (u32, u64) {
        let (memory, offset, end) = read_place(self.code.bytes, self.end);
        self.end = end;
        (memory, offset)
    }

    /// The whole instruction, decoded.
    pub(crate) fn operator(&mut self) -> Operator<'f> {
        let (operator, length) = decode_renumbered(&self.code.bytes[self.at..], self.code.renumber);
        self.end = self.at + length;
        operator
    }
}
