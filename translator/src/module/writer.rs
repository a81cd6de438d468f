//! Writes bodies in compact form.

use wasm_encoder::Encode;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::{Operator, ValType};

use super::code::{Code, PackedBody, Run, VALID, first_index, opcode};
use super::cursor::Cursor;
use super::{Origin, summary};

/// Writes a body in compact form. Its memory is used again for the next one.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    summary: summary::Reader,
}

impl Writer {
    /// Says where the instruction at byte `at` came from. If `fixed`, the one after that is expected to
    /// have come from the same place.
    #[inline]
    fn mark(&mut self, at: usize, origin: Origin, fixed: bool) {
        if self.runs.last().is_none_or(|run| run.origin(at) != origin) {
            let fixed = fixed || origin.offset == Origin::SYNTHETIC;
            self.runs.push(Run::new(at as u32, origin, fixed));
        }
    }

    /// Whether the next instruction stands in a loop.
    pub(crate) fn in_loop(&self) -> bool {
        self.summary.in_loop()
    }

    /// Copies a body; function indices become those of now. For each `call` it asks `replace`, with the
    /// instruction's number and origin, which may write something else instead and then says so.
    pub(crate) fn copy_body(&mut self, code: Code<'_>, mut replace: impl FnMut(&mut Writer, usize, Origin) -> bool) {
        let mut cursor = code.cursor();
        // What stands between calls is copied at once, from here on.
        let mut from = 0;
        let mut number = 0;
        while let Some(opcode) = cursor.next() {
            let (at, origin) = (cursor.at(), cursor.origin());
            if matches!(opcode, opcode::CALL | opcode::RETURN_CALL | opcode::REF_FUNC) {
                self.bytes.extend_from_slice(&code.bytes[from..at]);
                if opcode == opcode::CALL && replace(self, number, origin) {
                    cursor.skip();
                } else {
                    self.copy(opcode, &mut cursor, origin);
                }
                from = cursor.end();
            } else {
                self.mark(self.bytes.len() + at - from, origin, false);
                self.summary.read(opcode, &mut cursor);
            }
            number += 1;
        }
        self.bytes.extend_from_slice(&code.bytes[from..]);
    }

    /// Copies the instruction at which `code` is and that begins with `opcode`; function indices become
    /// those of now.
    #[inline]
    pub(crate) fn copy(&mut self, opcode: u8, code: &mut Cursor<'_>, origin: Origin) {
        if matches!(opcode, opcode::CALL | opcode::RETURN_CALL | opcode::REF_FUNC) {
            let function = code.function();
            return self.with_index(opcode, function, code.width(), origin);
        }
        self.mark(self.bytes.len(), origin, false);
        self.summary.read(opcode, code);
        // Most instructions are short: a copy of known length is no call.
        match *code.bytes() {
            [a] => self.bytes.push(a),
            [a, b] => self.bytes.extend([a, b]),
            [a, b, c] => self.bytes.extend([a, b, c]),
            ref bytes => self.bytes.extend_from_slice(bytes),
        }
    }

    /// Writes an instruction of one operand, an index, in place of one with another. It takes as many
    /// bytes as that one had, where they suffice, so that the run of origins goes on.
    #[inline]
    pub(crate) fn with_index(&mut self, opcode: u8, index: u32, bytes: usize, origin: Origin) {
        self.mark(self.bytes.len(), origin, false);
        self.summary.instruction(opcode, || index);
        self.bytes.push(opcode);
        self.number(index, bytes);
    }

    /// Writes an instruction of one operand that a pass made in place of that with this origin.
    pub(crate) fn made(&mut self, opcode: u8, index: u32, origin: Origin) {
        self.mark(self.bytes.len(), origin, true);
        self.summary.instruction(opcode, || index);
        self.bytes.push(opcode);
        self.number(index, 1);
    }

    /// Writes any instruction that a pass made.
    pub(crate) fn operator(&mut self, op: &Operator<'_>, origin: Origin) {
        self.mark(self.bytes.len(), origin, true);
        let instruction = RoundtripReencoder.instruction(op.clone()).expect(VALID);
        let at = self.bytes.len();
        instruction.encode(&mut self.bytes);
        let bytes = &self.bytes[at..];
        self.summary.instruction(bytes[0], || first_index(bytes));
    }

    /// Writes an unsigned number in at least `bytes` bytes.
    #[inline]
    fn number(&mut self, mut value: u32, bytes: usize) {
        let mut written = 1;
        while value >= 0x80 || written < bytes {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
            written += 1;
        }
        self.bytes.push(value as u8);
    }

    /// The body of what was written. Begins anew.
    pub(crate) fn finish(&mut self, locals: Vec<(u32, ValType)>) -> PackedBody {
        let body = PackedBody {
            summary: self.summary.finish(locals.iter().map(|(count, _)| count).sum()),
            locals,
            bytes: self.bytes.as_slice().into(),
            runs: self.runs.as_slice().into(),
            renumber: None,
        };
        self.bytes.clear();
        self.runs.clear();
        body
    }
}
