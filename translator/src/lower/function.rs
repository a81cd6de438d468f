//! Lowers one function: walks its instructions with the emulated stack.

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{FuncType, HEADER_UNITS, Op, Try, ValType};
use wasmparser::{BlockType, Operator};

use super::branch::{self, Condition};
use super::control::{Frame, Kind};
use super::emit::{Emitter, Label};
use super::exceptions::Leaving;
use super::fuel::Meter;
use super::ops::{self, Binary, Numeric};
use super::pairs;
use super::registers::by_width;
use super::stack::{Entry, Stack, Value};
use super::{Context, LowerErrorKind, ref_type, val_type};
use crate::module::{Cursor, Func, Origin, Use, opcode};

/// A lowered function.
pub(super) struct Lowered<'l> {
    /// The functions that it calls directly, by program index; some maybe more than once.
    pub(super) calls: &'l [(u32, u32)],
    /// Its exception table.
    pub(super) tries: Vec<Try>,
    pub(super) frame: u32,
}

/// An error and where it is.
pub(super) type Failure = (LowerErrorKind, Origin);

/// A local's type and place.
#[derive(Clone, Copy)]
pub(super) struct Local {
    pub(super) ty: ValType,
    pub(super) unit: u32,
}

/// The type of a function without parameters and results.
static NO_TYPE: FuncType = FuncType {
    params: Vec::new(),
    results: Vec::new(),
};

/// Lowers functions, one after the other, to code that is one piece: what it needs for one is used again for the next.
pub(super) struct Lowering<'c> {
    pub(super) context: &'c Context<'c>,
    pub(super) ty: &'c FuncType,
    pub(super) locals: Vec<Local>,
    pub(super) stack: Stack,
    pub(super) emitter: Emitter,
    pub(super) frames: Vec<Frame<'c>>,
    /// While code cannot be reached: how many constructs were opened since.
    pub(super) unreachable: Option<u32>,
    /// Whether branches with 16-bit distances may be used.
    pub(super) near: bool,
    /// Word of each direct call in the code, and the program index of the function that it calls.
    pub(super) calls: Vec<(u32, u32)>,
    pub(super) leaving: Vec<Leaving>,
    /// Of the function and the loops that are open, if fuel is counted.
    pub(super) meters: Vec<Meter>,
}

impl<'c> Lowering<'c> {
    pub(super) fn new(context: &'c Context<'c>, emitter: Emitter) -> Lowering<'c> {
        Lowering {
            context,
            ty: &NO_TYPE,
            locals: Vec::new(),
            stack: Stack::default(),
            emitter,
            frames: Vec::new(),
            unreachable: None,
            near: true,
            calls: Vec::new(),
            leaving: Vec::new(),
            meters: Vec::new(),
        }
    }

    /// Lowers one function to the end of the code.
    pub(super) fn lower(&mut self, func: &Func<'_>) -> Result<Lowered<'_>, Failure> {
        let (start, calls) = (self.emitter.code.len(), self.calls.len());
        self.emitter.begin();
        let tries = match self.run(func, true)? {
            Some(tries) => tries,
            None => {
                // Some branch was too far for 16 bits.
                self.emitter.take_back();
                self.calls.truncate(calls);
                self.run(func, false)?.expect("32 bits reach all of a function")
            }
        };
        let frame = self.stack.most;
        self.emitter.code[start] |= (frame as u64) << 16;
        Ok(Lowered {
            calls: &self.calls[calls..],
            tries,
            frame,
        })
    }

    /// Lowers a function and returns its exception table; `None` if some branch is too far.
    fn run(&mut self, func: &Func<'_>, near: bool) -> Result<Option<Vec<Try>>, Failure> {
        let context = self.context;
        let ty = &context.types[func.ty as usize];
        let mut locals = std::mem::take(&mut self.locals);
        locals.clear();
        let mut unit = 0;
        for param in &ty.params {
            locals.push(Local { ty: *param, unit });
            unit += param.units();
        }
        let at_head = |kind| (kind, Origin::synthetic());
        let packed = func.body.packed();
        for (count, ty) in packed.locals() {
            let ty = val_type(*ty).map_err(at_head)?;
            locals.extend((0..*count).map(|_| Local { ty, unit: 0 }));
        }
        let uses = &func.summary().uses;
        let first = ty.header() + HEADER_UNITS;
        let mut unit = first;
        // Those that must be zeroed lie side by side.
        let mut zeroed = 0;
        for wanted in [Use::NeedsZero, Use::SetFirst] {
            for (local, _) in locals
                .iter_mut()
                .zip(uses)
                .skip(ty.params.len())
                .filter(|(_, u)| **u == wanted)
            {
                local.unit = unit;
                unit += local.ty.units();
            }
            if wanted == Use::NeedsZero {
                zeroed = unit - first;
            }
        }
        self.stack.clear(unit, locals.len());
        self.locals = locals;
        self.ty = ty;
        self.near = near;
        self.frames.clear();
        self.unreachable = None;
        self.leaving.clear();
        self.meters.clear();
        self.emitter.emit(Op::Enter, &[0, self.ty.header() as i64, 0]);
        if zeroed > 0 && unit <= u16::MAX as u32 {
            self.emitter.emit(Op::Zero, &[first as i64, zeroed as i64]);
        }
        self.emitter.seal();
        if context.fuel.is_some() {
            // A trap there is told where the function's code begins.
            let mut first = packed.code().cursor();
            if first.next().is_some() {
                self.emitter.set_origin(first.origin());
            }
            self.begin_meter();
        }
        let label = self.emitter.new_label();
        self.frames.push(Frame::function(label, &ty.results));
        let mut code = packed.code().cursor();
        while let Some(opcode) = code.next() {
            self.step(opcode, &mut code).map_err(|kind| (kind, code.origin()))?;
            if self.stack.most > u16::MAX as u32 {
                let kind = LowerErrorKind::TooManyRegisters { units: self.stack.most };
                return Err((kind, code.origin()));
            }
        }
        self.emit_leaving();
        Ok(self.emitter.finish().ok())
    }

    /// Lowers an instruction; those that are frequent by their first byte, undecoded.
    #[inline(always)]
    fn step(&mut self, opcode: u8, code: &mut Cursor<'_>) -> Result<(), LowerErrorKind> {
        if self.unreachable.is_some() {
            code.skip();
            self.emitter.set_origin(code.origin());
            self.skip(opcode);
            return Ok(());
        }
        self.meter(opcode);
        // It emits nothing.
        if opcode == opcode::LOCAL_GET {
            let local = code.index();
            self.stack.push(self.locals[local as usize].ty, Value::Local(local));
            return Ok(());
        }
        self.emitter.set_origin(code.origin());
        match opcode {
            opcode::LOCAL_SET => self.local_set(code.index(), false),
            opcode::LOCAL_TEE => self.local_set(code.index(), true),
            opcode::I32_CONST => self.constant(ValType::I32, [code.signed() as u32 as u64, 0]),
            opcode::I64_CONST => self.constant(ValType::I64, [code.signed() as u64, 0]),
            opcode::FIRST_NUMERIC..=opcode::LAST_NUMERIC => match ops::numeric(opcode) {
                Numeric::Binary(binary) => self.binary(binary),
                Numeric::Unary(unary) => self.unary(unary.op, unary.result),
            },
            opcode::FIRST_ACCESS..=opcode::LAST_ACCESS => {
                let access = ops::access(opcode);
                let (memory, offset) = code.place();
                if access.stores {
                    self.store(access, memory, offset);
                } else {
                    self.load(access, memory, offset);
                }
            }
            opcode::BLOCK => self.open(Kind::Block, code.block_type())?,
            opcode::LOOP => self.open(Kind::Loop, code.block_type())?,
            opcode::IF => self.open_if(code.block_type())?,
            opcode::ELSE => self.else_(),
            opcode::END => self.end(),
            opcode::BR => self.br(code.index()),
            opcode::BR_IF => self.br_if(code.index()),
            opcode::RETURN => self.return_(),
            opcode::DROP => drop(self.stack.pop()),
            opcode::SELECT => self.select(),
            opcode::CALL => self.call(code.function(), false)?,
            opcode::GLOBAL_GET => self.global_get(code.index()),
            opcode::GLOBAL_SET => self.global_set(code.index()),
            _ => self.instruction(&code.operator())?,
        }
        Ok(())
    }

    /// Lowers an instruction that is decoded.
    fn instruction(&mut self, op: &Operator<'_>) -> Result<(), LowerErrorKind> {
        if let Some(unary) = ops::unary(op) {
            self.unary(unary.op, unary.result);
            return Ok(());
        }
        match *op {
            Operator::Nop => {}
            Operator::Unreachable => {
                self.emitter
                    .emit(Op::Trap, &[gpu_run_bytecode::TrapKind::Unreachable as i64]);
                self.set_unreachable();
            }
            Operator::BrTable { ref targets } => self.br_table(targets),
            Operator::CallIndirect {
                type_index,
                table_index,
            } => self.call_indirect(type_index, table_index, false),
            Operator::ReturnCall { function_index } => self.return_call(function_index)?,
            Operator::ReturnCallIndirect {
                type_index,
                table_index,
            } => self.return_call_indirect(type_index, table_index),
            Operator::TryTable { ref try_table } => self.try_table(try_table)?,
            Operator::Throw { tag_index } => self.throw(tag_index),
            Operator::ThrowRef => self.throw_ref(),
            Operator::TypedSelect { .. } => self.select(),
            Operator::F32Const { value } => self.constant(ValType::F32, [value.bits() as u64, 0]),
            Operator::F64Const { value } => self.constant(ValType::F64, [value.bits(), 0]),
            Operator::V128Const { value } => {
                let bits = value.i128();
                self.constant(ValType::V128, [bits as u64, (bits >> 64) as u64]);
            }
            Operator::RefNull { hty } => {
                let ty = ref_type(hty).ok_or_else(|| unsupported(op))?;
                self.constant(ty, [0; 2]);
            }
            Operator::RefFunc { function_index } => {
                let func = self.context.func(function_index)?;
                self.define(Op::RefFunc, ValType::FuncRef, &[func as i64]);
            }
            _ if self.bulk(op).is_some() || self.atomic(op)? => {}
            _ => return self.simd(op)?.ok_or_else(|| unsupported(op)),
        }
        Ok(())
    }

    fn unary(&mut self, op: Op, result: ValType) {
        if op == Op::I32Eqz
            && let Some(negated) = self.last_result().and_then(|inst| branch::negated(&inst))
        {
            // Not of a comparison: the opposite comparison.
            self.emitter.unpush();
            self.emitter.push(negated);
            return;
        }
        let entry = self.stack.pop();
        if let (Op::Copy32 | Op::Copy64, Value::Const(bits)) = (op, entry.value) {
            return self.constant(result, bits);
        }
        let operand = self.register(entry) as i64;
        self.define(op, result, &[operand]);
    }

    pub(super) fn unary_with(&mut self, op: Op, result: ValType, index: u32) {
        let operand = self.pop_register();
        self.define(op, result, &[operand, index as i64]);
    }

    /// The last instruction, if the top entry is its result.
    fn last_result(&self) -> Option<Inst> {
        let inst = self.emitter.last()?;
        let top = self.stack.peek();
        (top.value == Value::Temp && inst.result() == Some(top.unit)).then_some(*inst)
    }

    fn binary(&mut self, binary: &Binary) {
        let mut right = self.stack.pop();
        let mut left = self.stack.pop();
        if binary.commutes && matches!(left.value, Value::Const(_)) {
            (left, right) = (right, left);
        }
        if let (Value::Const(bits), Some(imm)) = (right.value, binary.imm)
            && let Some((op, constant)) = imm.apply(bits, binary.ty)
        {
            let unit = self.register(left) as i64;
            if let Some(shift) = self
                .emitter
                .last()
                .filter(|last| left.value == Value::Temp && last.args[0] == unit)
                .copied()
                && let Some(pair) = pairs::with_constant(shift.op, op)
            {
                self.emitter.unpush();
                return self.define(pair, binary.result, &[shift.args[1], shift.args[2], constant]);
            }
            return self.define(op, binary.result, &[unit, constant]);
        }
        if binary.op == Op::I32Add && self.shifted_add(left, right) || self.pair(binary, left, right) {
            return;
        }
        let (mut a, mut b) = (self.register(left) as i64, self.register(right) as i64);
        if binary.swap {
            (a, b) = (b, a);
        }
        self.define(binary.op, binary.result, &[a, b]);
    }

    /// `(x << k) + y` as one instruction, if the shift was just emitted.
    fn shifted_add(&mut self, left: Entry, right: Entry) -> bool {
        let Some(shift) = self.emitter.last().filter(|inst| inst.op == Op::I32ShlImm).copied() else {
            return false;
        };
        let op = match shift.args[2] {
            1 => Op::I32Shl1Add,
            2 => Op::I32Shl2Add,
            3 => Op::I32Shl3Add,
            4 => Op::I32Shl4Add,
            _ => return false,
        };
        let is_shift = |entry: Entry| entry.value == Value::Temp && entry.unit as i64 == shift.args[0];
        let other = match (is_shift(left), is_shift(right)) {
            (true, false) => right,
            (false, true) => left,
            _ => return false,
        };
        self.emitter.unpush();
        let other = self.register(other) as i64;
        self.define(op, ValType::I32, &[shift.args[1], other]);
        true
    }

    /// This instruction and the last one, whose result it takes, as one.
    fn pair(&mut self, binary: &Binary, left: Entry, right: Entry) -> bool {
        let Some(first) = self.emitter.last().copied() else {
            return false;
        };
        let is_first = |entry: Entry| entry.value == Value::Temp && entry.unit as i64 == first.args[0];
        let (position, other) = match (is_first(left), is_first(right)) {
            (true, false) => (pairs::Position::Left, right),
            (false, true) => (pairs::Position::Right, left),
            _ => return false,
        };
        // A constant would have to be written to its place first, where an operand may lie.
        if matches!(other.value, Value::Const(_)) {
            return false;
        }
        let Some(op) = pairs::find(first.op, binary.op, position) else {
            return false;
        };
        self.emitter.unpush();
        let other = self.register(other) as i64;
        self.define(op, binary.result, &[first.args[1], first.args[2], other]);
        true
    }

    fn select(&mut self) {
        let condition = self.pop_register();
        let other = self.stack.pop();
        let value = self.stack.pop();
        let (a, b) = (self.register(value) as i64, self.register(other) as i64);
        let op = by_width(value.ty, [Op::Select32, Op::Select64, Op::Select128]);
        self.define(op, value.ty, &[a, b, condition]);
    }

    fn local_set(&mut self, local: u32, tee: bool) {
        let entry = self.stack.pop();
        let place = self.locals[local as usize];
        let same = entry.value == Value::Local(local);
        if !same {
            if self.stack.uses(local) {
                self.save(local);
            }
            let direct = entry.value == Value::Temp
                && self
                    .emitter
                    .last()
                    .is_some_and(|inst| inst.result() == Some(entry.unit));
            // The local's value must be there whatever later instructions fuse.
            if direct {
                self.emitter.redirect_last(place.unit);
            } else {
                self.move_to(entry, place.unit);
                self.emitter.seal();
            }
        }
        if tee {
            self.stack.push(place.ty, Value::Local(local));
        }
    }

    /// Copies the entries that are the local's old value to their places.
    fn save(&mut self, local: u32) {
        for index in 0..self.stack.len() {
            if self.stack.get(index).value == Value::Local(local) {
                self.settle(index);
            }
        }
    }

    fn global_get(&mut self, index: u32) {
        if let Some((ty, bits)) = self.context.constant_globals[index as usize] {
            return self.constant(ty, [bits as u64, (bits >> 64) as u64]);
        }
        let ty = self.context.globals[index as usize];
        let op = by_width(ty, [Op::GlobalGet32, Op::GlobalGet64, Op::GlobalGet128]);
        self.define(op, ty, &[index as i64]);
    }

    fn global_set(&mut self, index: u32) {
        let ty = self.context.globals[index as usize];
        let value = self.pop_stored();
        let op = match self.context.stack_pointer {
            Some(pointer) if pointer == index => Op::StackPointerSet,
            _ => by_width(ty, [Op::GlobalSet32, Op::GlobalSet64, Op::GlobalSet128]),
        };
        self.effect(op, &[value, index as i64]);
    }

    /// Pops a condition; a comparison that was just emitted for it is taken back, to be fused.
    pub(super) fn pop_condition(&mut self) -> Condition {
        let last = self.last_result();
        let entry = self.stack.pop();
        if let Some(inst) = last.filter(|inst| self.near && branch::is_fusible(inst)) {
            self.emitter.unpush();
            return Condition::Comparison(inst);
        }
        Condition::Register(self.register(entry))
    }

    /// Emits a branch to `label` if `condition` holds, or with `negate` if it does not.
    pub(super) fn branch_on(&mut self, condition: Condition, negate: bool, label: Label) {
        let inst = condition
            .branch(negate, self.near)
            .expect("conditions are fused only if both senses can be");
        let step = self
            .emitter
            .last_or_pinned()
            .filter(|last| self.near && last.op == Op::I32AddImm);
        if let Some(fused) = step.and_then(|step| branch::after_step(step, &inst)) {
            self.emitter.unpush();
            return self.emitter.branch(fused, label);
        }
        self.emitter.branch(inst, label);
    }

    /// The parameters and results of a block.
    pub(super) fn block_type(&self, ty: BlockType) -> Result<(&'c [ValType], &'c [ValType]), LowerErrorKind> {
        Ok(match ty {
            BlockType::Empty => (&[], &[]),
            BlockType::Type(ty) => (&[], alone(val_type(ty)?)),
            BlockType::FuncType(index) => {
                let context = self.context;
                let ty = &context.types[index as usize];
                (&ty.params, &ty.results)
            }
        })
    }
}

/// A list of one type.
fn alone(ty: ValType) -> &'static [ValType] {
    match ty {
        ValType::I32 => &[ValType::I32],
        ValType::I64 => &[ValType::I64],
        ValType::F32 => &[ValType::F32],
        ValType::F64 => &[ValType::F64],
        ValType::V128 => &[ValType::V128],
        ValType::FuncRef => &[ValType::FuncRef],
        ValType::ExternRef => &[ValType::ExternRef],
        ValType::ExnRef => &[ValType::ExnRef],
    }
}

fn unsupported(op: &Operator<'_>) -> LowerErrorKind {
    let debug = format!("{op:?}");
    let name = debug.split([' ', '{', '(']).next().unwrap_or_default();
    LowerErrorKind::Unsupported {
        what: format!("instruction `{name}`"),
    }
}
