//! What the passes ask of every body. It is read once, with validation, so that they need not decode
//! the module again each time.

use wasmparser::{FuncValidator, FunctionBody, WasmModuleResources};

use super::code::first_index;
use super::cursor::Cursor;
use super::locals::{Use, Uses};
use super::opcode;

/// A direct call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Number of the instruction in its body.
    pub at: u32,
    /// Index of the function that it calls.
    pub callee: u32,
    /// Whether it stands in a loop.
    pub in_loop: bool,
    /// Whether it is a tail call.
    pub tail: bool,
    /// Whether `unreachable` follows: it is not expected to return.
    pub diverges: bool,
}

/// What a body refers to, and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Instructions, the closing `end` included.
    pub instrs: u32,
    /// Instructions that are still there after lowering, about: all but local access, constants,
    /// `block`, `loop`, `end`, `nop` and `drop`.
    pub cost: u32,
    /// Declared locals, parameters not included.
    pub locals: u32,
    /// Direct calls, in order.
    pub calls: Box<[Call]>,
    /// Type of each indirect call, in order, tail calls among them.
    pub indirect: Box<[u32]>,
    /// Functions that `ref.func` names, in order.
    pub refs: Box<[u32]>,
    /// Whether it has tail calls.
    pub tail_calls: bool,
    /// Whether it has a `try` of legacy exception handling.
    pub legacy_try: bool,
    /// What is known of each local, parameters included; those after the last one are unused.
    pub(crate) uses: Box<[Use]>,
}

/// By first byte: 1 for an instruction that is still there after lowering, else 0.
static COSTS: [u8; 256] = {
    let mut costs = [1; 256];
    let mut byte = 0;
    while byte < 256 {
        // nop, block, loop, end, drop, local access, constants.
        if matches!(byte as u8, 0x01..=0x03 | 0x0b | 0x1a | 0x20..=0x22 | 0x41..=0x44) {
            costs[byte] = 0;
        }
        byte += 1;
    }
    costs
};

/// Builds a [`Summary`], an instruction at a time. Its memory is used again for the next one.
#[derive(Default)]
pub(super) struct Reader {
    summary: Summary,
    calls: Vec<Call>,
    indirect: Vec<u32>,
    refs: Vec<u32>,
    uses: Uses,
    /// Open constructs, and how many of the outermost ones lie outside of any loop.
    depth: u32,
    outside: Option<u32>,
}

impl Reader {
    fn open(&mut self, is_loop: bool) {
        self.uses.begin();
        if is_loop && self.outside.is_none() {
            self.outside = Some(self.depth);
        }
        self.depth += 1;
    }

    fn close(&mut self) {
        self.uses.close();
        self.depth = self.depth.saturating_sub(1);
        if self.outside == Some(self.depth) {
            self.outside = None;
        }
    }

    fn call(&mut self, callee: u32, tail: bool) {
        self.calls.push(Call {
            at: self.summary.instrs,
            callee,
            in_loop: self.in_loop(),
            tail,
            diverges: false,
        });
        self.summary.tail_calls |= tail;
    }

    /// The next instruction: its first byte, and how to read its first operand if that is an index.
    #[inline]
    pub(super) fn instruction(&mut self, opcode: u8, operand: impl FnOnce() -> u32) {
        use opcode::*;
        match opcode {
            BLOCK | IF | TRY_TABLE => self.open(false),
            TRY => {
                self.summary.legacy_try = true;
                self.open(false);
            }
            LOOP => self.open(true),
            END | DELEGATE => self.close(),
            ELSE | CATCH | CATCH_ALL => {
                self.uses.close();
                self.uses.begin();
            }
            LOCAL_GET => self.uses.get(operand()),
            LOCAL_SET | LOCAL_TEE => self.uses.set(operand()),
            CALL | RETURN_CALL => self.call(operand(), opcode == RETURN_CALL),
            CALL_INDIRECT | RETURN_CALL_INDIRECT => {
                self.indirect.push(operand());
                self.summary.tail_calls |= opcode == RETURN_CALL_INDIRECT;
            }
            REF_FUNC => self.refs.push(operand()),
            UNREACHABLE => {
                if let Some(call) = self.calls.last_mut() {
                    call.diverges |= call.at + 1 == self.summary.instrs;
                }
            }
            _ => {}
        }
        self.summary.instrs += 1;
        self.summary.cost += u32::from(COSTS[opcode as usize]);
    }

    /// The next instruction, at which `code` is and that begins with `opcode`; its operands are read.
    #[inline(always)]
    pub(super) fn read(&mut self, opcode: u8, code: &mut Cursor<'_>) {
        use opcode::*;
        match opcode {
            LOCAL_GET | LOCAL_SET | LOCAL_TEE => {
                let local = code.index();
                self.instruction(opcode, || local);
            }
            CALL_INDIRECT | RETURN_CALL_INDIRECT => {
                let ty = first_index(code.rest());
                code.skip();
                self.instruction(opcode, || ty);
            }
            CALL | RETURN_CALL | REF_FUNC => {
                let function = code.function();
                self.instruction(opcode, || function);
            }
            _ => {
                code.skip();
                self.instruction(opcode, || unreachable!("only indices are asked for, above"));
            }
        }
    }

    /// Whether the next instruction stands in a loop.
    pub(super) fn in_loop(&self) -> bool {
        self.outside.is_some()
    }

    /// The summary of a body with so many declared locals. Begins anew.
    pub(super) fn finish(&mut self, locals: u32) -> Summary {
        let mut summary = std::mem::take(&mut self.summary);
        (self.depth, self.outside) = (0, None);
        summary.locals = locals;
        summary.uses = self.uses.finish();
        summary.calls = self.calls.as_slice().into();
        summary.indirect = self.indirect.as_slice().into();
        summary.refs = self.refs.as_slice().into();
        self.calls.clear();
        self.indirect.clear();
        self.refs.clear();
        summary
    }
}

impl Summary {
    /// Validates a body and reads its summary on the way.
    pub(super) fn validate(
        validator: &mut FuncValidator<impl WasmModuleResources>,
        body: &FunctionBody<'_>,
        reader: &mut Reader,
    ) -> Result<Summary, wasmparser::Error> {
        let bytes = body.as_bytes();
        let start = body.range().start;
        let mut code = body.get_binary_reader();
        let params = validator.len_locals();
        validator.read_locals(&mut code)?;
        code.set_features(*validator.features());
        while !code.eof() {
            let offset = code.original_position();
            let at = (offset - start) as usize;
            code.visit_operator(&mut validator.visitor(offset))??;
            // The opcode and its operands are there: they were just read.
            reader.instruction(bytes[at], || first_index(&bytes[at..]));
        }
        code.finish_expression(&validator.visitor(code.original_position()))?;
        Ok(reader.finish(validator.len_locals() - params))
    }

    /// Whether it calls nothing but functions for which `is_operation` holds.
    pub fn is_leaf(&self, is_operation: impl Fn(u32) -> bool) -> bool {
        self.indirect.is_empty() && !self.tail_calls && self.calls.iter().all(|call| is_operation(call.callee))
    }

    /// Renumbers the functions that it names: `map` has the new index by the old one.
    pub(super) fn renumber(&mut self, map: &[u32]) {
        let called = self.calls.iter_mut().map(|call| &mut call.callee);
        for index in called.chain(&mut self.refs) {
            *index = map[*index as usize];
        }
    }
}
