//! Code as bytes of the binary format, which is the compact form of bodies. Passes read it an
//! instruction at a time without decoding what they do not look at.
//!
//! Only validated code is read here.

use std::sync::Arc;

use wasmparser::{BinaryReader, Operator, OperatorsReader, ValType};

use super::cursor::Cursor;
use super::writer::Writer;
use super::{Instr, Locals, Origin, Summary, function_index_mut};

pub(super) const VALID: &str = "the module was validated";

/// First bytes of instructions.
#[allow(missing_docs)]
pub mod opcode {
    pub const UNREACHABLE: u8 = 0x00;
    pub const BLOCK: u8 = 0x02;
    pub const LOOP: u8 = 0x03;
    pub const IF: u8 = 0x04;
    pub const ELSE: u8 = 0x05;
    pub const TRY: u8 = 0x06;
    pub const CATCH: u8 = 0x07;
    pub const THROW: u8 = 0x08;
    pub const RETHROW: u8 = 0x09;
    pub const THROW_REF: u8 = 0x0a;
    pub const END: u8 = 0x0b;
    pub const BR: u8 = 0x0c;
    pub const BR_IF: u8 = 0x0d;
    pub const BR_TABLE: u8 = 0x0e;
    pub const RETURN: u8 = 0x0f;
    pub const DROP: u8 = 0x1a;
    pub const SELECT: u8 = 0x1b;
    pub const CALL: u8 = 0x10;
    pub const CALL_INDIRECT: u8 = 0x11;
    pub const RETURN_CALL: u8 = 0x12;
    pub const RETURN_CALL_INDIRECT: u8 = 0x13;
    pub const DELEGATE: u8 = 0x18;
    pub const CATCH_ALL: u8 = 0x19;
    pub const TRY_TABLE: u8 = 0x1f;
    pub const LOCAL_GET: u8 = 0x20;
    pub const LOCAL_SET: u8 = 0x21;
    pub const LOCAL_TEE: u8 = 0x22;
    pub const GLOBAL_GET: u8 = 0x23;
    pub const GLOBAL_SET: u8 = 0x24;
    pub const FIRST_ACCESS: u8 = 0x28;
    pub const LAST_ACCESS: u8 = 0x3e;
    pub const I32_CONST: u8 = 0x41;
    pub const I64_CONST: u8 = 0x42;
    pub const FIRST_NUMERIC: u8 = 0x45;
    pub const LAST_NUMERIC: u8 = 0xc4;
    pub const REF_FUNC: u8 = 0xd2;
}

/// What follows an instruction's first byte.
#[derive(Clone, Copy, PartialEq)]
enum Operands {
    None,
    /// This many LEB128 numbers.
    One,
    Two,
    /// A block type.
    Block,
    Access,
    Bytes4,
    Bytes8,
    /// Decoded by `wasmparser`.
    Other,
}

static OPERANDS: [Operands; 256] = {
    let mut operands = [Operands::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        operands[byte] = match byte as u8 {
            0x00 | 0x01 | 0x05 | 0x0a | 0x0b | 0x0f | 0x19..=0x1b | 0x45..=0xc4 | 0xd1 => Operands::None,
            0x07..=0x09 | 0x0c | 0x0d | 0x10 | 0x12 | 0x18 | 0x20..=0x26 | 0x3f..=0x42 | 0xd2 => Operands::One,
            0x02..=0x04 | 0x06 => Operands::Block,
            0x11 | 0x13 => Operands::Two,
            0x28..=0x3e => Operands::Access,
            0x43 => Operands::Bytes4,
            0x44 => Operands::Bytes8,
            _ => Operands::Other,
        };
        byte += 1;
    }
    operands
};

/// Consecutive instructions whose origins follow from that of the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Where it begins, in bytes of the code.
    at: u32,
    origin: Origin,
    /// Whether their offsets grow as their places do: all bits or none. Otherwise all have the same
    /// origin.
    grows: u32,
}

impl Run {
    /// A run that begins at byte `at`. If `fixed`, all have the same origin.
    pub(super) const fn new(at: u32, origin: Origin, fixed: bool) -> Run {
        let grows = if fixed { 0 } else { u32::MAX };
        Run { at, origin, grows }
    }

    /// The origin of an instruction at byte `at`.
    #[inline]
    pub(super) fn origin(&self, at: usize) -> Origin {
        let distance = (at as u32).wrapping_sub(self.at);
        Origin {
            offset: self.origin.offset.wrapping_add(distance & self.grows),
            site: self.origin.site,
        }
    }
}

/// A body that inlining made.
#[derive(Clone, Debug, Default)]
pub struct PackedBody {
    /// Declared locals (parameters not included), in runs.
    pub locals: Vec<(u32, ValType)>,
    /// Instructions with the closing `end`, in the binary format.
    pub(super) bytes: Box<[u8]>,
    pub(super) runs: Box<[Run]>,
    /// As of [`RawBody`](super::RawBody).
    pub renumber: Option<Arc<[u32]>>,
    /// What it refers to.
    pub summary: Summary,
}

impl PackedBody {
    /// The compact form of `instrs`.
    pub(crate) fn new(locals: &Locals, instrs: &[Instr<'_>]) -> PackedBody {
        let mut writer = Writer::default();
        for instr in instrs {
            writer.operator(&instr.op, instr.origin);
        }
        writer.finish(locals.to_vec())
    }

    /// Its instructions.
    pub(crate) fn code(&self) -> Code<'_> {
        Code {
            bytes: &self.bytes,
            first: Run::new(0, Origin::synthetic(), true),
            runs: &self.runs,
            renumber: self.renumber.as_deref(),
        }
    }
}

/// The instructions of a body, as bytes.
#[derive(Clone, Copy)]
pub struct Code<'f> {
    pub(super) bytes: &'f [u8],
    pub(super) first: Run,
    runs: &'f [Run],
    pub(super) renumber: Option<&'f [u32]>,
}

impl<'f> Code<'f> {
    /// Code of a file: the byte at `offset` of it and those that follow.
    pub(super) fn of_file(bytes: &'f [u8], offset: u64, renumber: Option<&'f [u32]>) -> Code<'f> {
        Code {
            bytes,
            first: Run::new(0, Origin::at(offset), false),
            runs: &[],
            renumber,
        }
    }

    /// Goes on to the run of origins to which byte `at` belongs.
    #[inline]
    pub(super) fn forward(&mut self, at: usize) {
        while let Some(run) = self.runs.first().filter(|run| run.at as usize <= at) {
            self.first = *run;
            self.runs = &self.runs[1..];
        }
    }

    /// Reads the instructions in order, and of each what is asked for.
    pub(crate) fn cursor(self) -> Cursor<'f> {
        Cursor::new(self)
    }

    /// Reads the instructions in order.
    pub(crate) fn steps(self) -> Steps<'f> {
        Steps { code: self, at: 0 }
    }
}

/// Reads code an instruction at a time.
pub struct Steps<'f> {
    code: Code<'f>,
    at: usize,
}

/// An instruction in its code.
#[derive(Clone, Copy)]
pub struct Step<'f> {
    /// Its first byte.
    pub opcode: u8,
    /// All of its bytes.
    pub bytes: &'f [u8],
    /// Where it came from.
    pub origin: Origin,
    renumber: Option<&'f [u32]>,
}

impl<'f> Iterator for Steps<'f> {
    type Item = Step<'f>;

    // Every pass reads all code through it.
    #[inline(always)]
    fn next(&mut self) -> Option<Step<'f>> {
        let rest = self.code.bytes.get(self.at..)?;
        let opcode = *rest.first()?;
        let end = length(rest);
        self.code.forward(self.at);
        let origin = self.code.first.origin(self.at);
        self.at += end;
        Some(Step {
            opcode,
            bytes: &rest[..end],
            origin,
            renumber: self.code.renumber,
        })
    }
}

impl<'f> Step<'f> {
    /// The first operand, if it is an unsigned number: an index or a label.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        first_index(self.bytes)
    }

    /// The instruction, decoded.
    pub(crate) fn operator(&self) -> Operator<'f> {
        decode_renumbered(self.bytes, self.renumber).0
    }
}

/// Decodes the instruction at the start of `bytes`, with the function indices of now; also tells its
/// length.
pub(super) fn decode_renumbered<'f>(bytes: &'f [u8], renumber: Option<&[u32]>) -> (Operator<'f>, usize) {
    let (mut op, length) = decode(bytes);
    if let (Some(table), Some(index)) = (renumber, function_index_mut(&mut op)) {
        *index = table[*index as usize];
    }
    (op, length)
}

/// The memory and the offset of a load or store whose flags are at `at`, and where they end.
#[inline]
pub(super) fn read_place(bytes: &[u8], at: usize) -> (u32, u64, usize) {
    let (flags, mut at) = read_u32(bytes, at);
    let mut memory = 0;
    if flags & NAMES_MEMORY != 0 {
        (memory, at) = read_u32(bytes, at);
    }
    if bytes[at] < 0x80 {
        return (memory, u64::from(bytes[at]), at + 1);
    }
    let (offset, end) = read_u64(bytes, at);
    (memory, offset, end)
}

/// The block type without parameters and results.
pub(super) const EMPTY: u8 = 0x40;
/// In a memory access's flags: the memory's index follows.
const NAMES_MEMORY: u32 = 0x40;

/// Where the LEB128 number at `at` ends.
#[inline]
fn skip(bytes: &[u8], mut at: usize) -> usize {
    while bytes[at] & 0x80 != 0 {
        at += 1;
    }
    at + 1
}

/// Where the block type that follows the first byte ends.
#[inline]
fn skip_block_type(bytes: &[u8]) -> usize {
    match bytes[1] {
        // A reference type in its long form: its heap type follows.
        0x63 | 0x64 => skip(bytes, 2),
        _ => skip(bytes, 1),
    }
}

#[inline]
fn skip_access(bytes: &[u8]) -> usize {
    let (flags, mut at) = read_u32(bytes, 1);
    if flags & NAMES_MEMORY != 0 {
        at = skip(bytes, at);
    }
    skip(bytes, at)
}

/// The first operand of an instruction, if it is an unsigned number.
#[inline]
pub(super) fn first_index(bytes: &[u8]) -> u32 {
    read_u32(bytes, 1).0
}

/// The number at `at`, and where it ends.
#[inline]
pub(super) fn read_u32(bytes: &[u8], at: usize) -> (u32, usize) {
    match bytes[at] {
        byte @ 0..=0x7f => (u32::from(byte), at + 1),
        _ => {
            let (value, end) = read_u64(bytes, at);
            (value as u32, end)
        }
    }
}

#[inline]
fn read_u64(bytes: &[u8], mut at: usize) -> (u64, usize) {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[at];
        value |= u64::from(byte & 0x7f) << shift;
        at += 1;
        if byte & 0x80 == 0 {
            return (value, at);
        }
        shift += 7;
    }
}

/// The signed number at `at`, and where it ends.
#[inline]
pub(super) fn read_i64(bytes: &[u8], mut at: usize) -> (i64, usize) {
    let (mut value, mut shift) = (0i64, 0);
    loop {
        let byte = bytes[at];
        value |= i64::from(byte & 0x7f) << shift;
        shift += 7;
        at += 1;
        if byte & 0x80 == 0 {
            // The last byte's bit 6 is the sign.
            let unused = 64u32.saturating_sub(shift);
            return (value << unused >> unused, at);
        }
    }
}

/// Length of the instruction at the start of `code`.
#[inline(always)]
pub(super) fn length(code: &[u8]) -> usize {
    match OPERANDS[code[0] as usize] {
        Operands::None => 1,
        Operands::One => skip(code, 1),
        Operands::Two => skip(code, skip(code, 1)),
        Operands::Block => skip_block_type(code),
        Operands::Access => skip_access(code),
        Operands::Bytes4 => 5,
        Operands::Bytes8 => 9,
        Operands::Other => decoded_length(code),
    }
}

/// That of one that is decoded for it.
#[cold]
#[inline(never)]
fn decoded_length(code: &[u8]) -> usize {
    decode(code).1
}

/// Decodes the instruction at the start of `bytes`; also tells its length.
fn decode(bytes: &[u8]) -> (Operator<'_>, usize) {
    // `wasmparser` takes these only within their constructs.
    let op = match bytes[0] {
        opcode::ELSE => Some(Operator::Else),
        opcode::CATCH_ALL => Some(Operator::CatchAll),
        opcode::CATCH => Some(Operator::Catch {
            tag_index: read_u32(bytes, 1).0,
        }),
        opcode::DELEGATE => Some(Operator::Delegate {
            relative_depth: read_u32(bytes, 1).0,
        }),
        _ => None,
    };
    if let Some(op) = op {
        let end = if bytes[0] == opcode::ELSE || bytes[0] == opcode::CATCH_ALL {
            1
        } else {
            skip(bytes, 1)
        };
        return (op, end);
    }
    let mut reader = OperatorsReader::new(BinaryReader::new(bytes, 0));
    let op = reader.read().expect(VALID);
    let end = reader.original_position() as usize;
    (op, end)
}
