//! What the operands of an instruction may be, whatever the registers hold.

use super::FunctionVerifier;
use super::VerifyError;
use crate::code::{Inst, Layout, br_table_offset, slots};
use crate::isa::{Class, Op, Operand, TrapKind};
use crate::program::{GlobalType, HEADER_UNITS, ValType};
use crate::wasi;

/// Units of the arguments of the WASI function with this number.
fn wasi_units(number: i64) -> u32 {
    let types = wasi::Function::from_number(number as u16).map_or_else(Vec::new, wasi::Function::param_types);
    types.iter().map(|ty| ty.units()).sum()
}

/// For each unit that an operand can name, how many units a value there may take, up to four. It is 0
/// on the header and past the frame.
pub(super) struct Room {
    units: Box<[u8; 1 << 16]>,
    /// Those from here on are 0.
    frame: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            units: Box::new([0; 1 << 16]),
            frame: 0,
        }
    }
}

impl Room {
    /// Begins anew, for a frame of at most 2^16 units, in which the header lies.
    pub(super) fn set(&mut self, frame: u32, header: u32) {
        let (frame, header) = (frame as usize, header as usize);
        self.units[..self.frame].fill(0);
        self.frame = frame;
        for part in [0..header, header + HEADER_UNITS as usize..frame] {
            let part = &mut self.units[part];
            part.fill(4);
            for (room, unit) in (1..4).zip(part.iter_mut().rev()) {
                *unit = room;
            }
        }
    }

    #[inline]
    fn at(&self, unit: u16) -> u8 {
        self.units[usize::from(unit)]
    }
}

impl FunctionVerifier<'_> {
    /// Checks the operands of the instruction at `pc`, and notes where it branches to. Returns its words.
    #[inline]
    pub(super) fn check_operands(&mut self, pc: usize) -> Result<usize, VerifyError> {
        let layout = Layout::of_word(self.code[pc]);
        if self.is_plain(layout, pc) {
            return Ok(usize::from(layout.words));
        }
        let inst = Inst::read(&self.code[pc..]);
        if inst.op == Op::Call && self.base_fits(inst.args[0] as u32) && self.called(pc, &inst).is_some() {
            return Ok(usize::from(layout.words));
        }
        self.check_each(pc, &inst)?;
        let mut targets = std::mem::take(self.targets);
        self.for_each_target(pc, &inst, |target| targets.insert(target));
        *self.targets = targets;
        Ok(inst.words())
    }

    /// Whether the instruction is of the frequent kind whose registers and distance are all that could
    /// be wrong, and they are not. Notes where it branches to.
    #[inline]
    fn is_plain(&mut self, layout: &Layout, pc: usize) -> bool {
        let (plain, memory0) = (layout.plain & layout.in_slots, layout.memory0);
        if !plain || memory0 && !self.spaces.narrow_memory0 || !self.registers_fit(layout, self.code[pc]) {
            return false;
        }
        let Some(distance) = layout.distance else {
            return true;
        };
        let distance = layout.fields()[usize::from(distance)].read(&self.code[pc..]);
        let target = self.target(pc, distance);
        if let Some(target) = target {
            self.targets.insert(target);
        }
        target.is_some()
    }

    /// Whether the registers in the slots of an instruction's first word lie in the frame, and not on
    /// its header. Other slots count as unit 0 and no units, so that no branch depends on the opcode.
    #[inline]
    fn registers_fit(&self, layout: &Layout, word: u64) -> bool {
        let slots = slots(word);
        let fits = |slot: usize| self.room.at(slots[slot] & layout.registers[slot]) >= layout.register_units[slot];
        fits(0) && fits(1) && fits(2)
    }

    /// Whether a callee's frame may begin at a unit.
    fn base_fits(&self, unit: u32) -> bool {
        unit >= self.header + HEADER_UNITS && unit <= self.frame
    }

    /// Checks what each operand may be, whatever the others are.
    fn check_each(&self, pc: usize, inst: &Inst) -> Result<(), VerifyError> {
        let meta = &self.spaces.program.meta;
        let info = inst.op.info();
        if matches!(
            inst.op,
            Op::Enter | Op::BridgeReturn | Op::ThreadEnd | Op::NativeReturn | Op::Visit
        ) {
            return self.error(pc, format!("`{}` cannot stand in a function's body", info.name));
        }
        for (i, (operand, arg)) in info.operands.iter().zip(inst.args).enumerate() {
            let count = || {
                inst.args[..]
                    .iter()
                    .zip(info.operands)
                    .skip(i)
                    .find(|(_, o)| **o == Operand::Count)
                    .map_or(0, |(c, _)| *c as u32)
            };
            let index_ok = |len: usize| (arg as u64) < len as u64;
            let ok = match operand {
                Operand::Def(ty) => self.writable(arg as u32, ty.units()),
                Operand::Src(ty) => self.readable(arg as u32, ty.units()),
                // Its width depends on the memory, whose index is checked below.
                Operand::Address => true,
                Operand::DefRange => self.writable(arg as u32, count()),
                Operand::SrcRange => self.readable(arg as u32, count()),
                Operand::Base => self.base_fits(arg as u32),
                Operand::Header => arg as u32 == self.header,
                Operand::Rel16 | Operand::Rel32 => self.target(pc, arg).is_some(),
                Operand::Memory => index_ok(self.spaces.memories.len()),
                Operand::Table => index_ok(self.spaces.tables.len()),
                Operand::Global => index_ok(self.spaces.globals.len()),
                Operand::Func => index_ok(self.spaces.func_types.len()),
                Operand::Type => index_ok(meta.types.len()),
                Operand::Tag => index_ok(self.spaces.tags.len()),
                Operand::DataSegment => index_ok(self.spaces.program.data.len()),
                Operand::ElemSegment => index_ok(meta.elements.len()),
                Operand::Wasi => wasi::Function::from_number(arg as u16).is_some_and(wasi::Function::has_result),
                Operand::Trap => TrapKind::from_number(arg as u16).is_some(),
                Operand::TableLen => arg > 0,
                Operand::Lane(lanes) => index_ok(*lanes as usize),
                _ => true,
            };
            if !ok {
                return self.error(pc, format!("operand {} of `{}` cannot be {arg}", i + 1, info.name));
            }
        }
        self.check_whole(pc, inst)
    }

    /// Checks what operands say together.
    fn check_whole(&self, pc: usize, inst: &Inst) -> Result<(), VerifyError> {
        let args = inst.args;
        let global = |index: i64| self.spaces.globals[index as usize];
        let ok = match inst.op {
            Op::GlobalGet32 => global(args[1]).ty.units() == 1,
            Op::GlobalGet64 => global(args[1]).ty.units() == 2,
            Op::GlobalSet32 => global(args[1]).ty.units() == 1 && global(args[1]).mutable,
            Op::GlobalSet64 => global(args[1]).ty.units() == 2 && global(args[1]).mutable,
            Op::GlobalGet128 => global(args[1]).ty.units() == 4,
            Op::GlobalSet128 => global(args[1]).ty.units() == 4 && global(args[1]).mutable,
            Op::Fuel => global(args[1]) == GlobalType::FUEL,
            Op::StackPointerSet => {
                global(args[1])
                    == GlobalType {
                        ty: ValType::I32,
                        mutable: true,
                    }
            }
            Op::Return => args[2] as u32 == self.ty.result_units(),
            Op::CallIndirect | Op::ReturnCallIndirect
                if self.spaces.tables[args[2] as usize].element != ValType::FuncRef =>
            {
                false
            }
            Op::CallImport | Op::ReturnCallImport if args[1] as u32 >= self.spaces.program.meta.imported_funcs() => {
                false
            }
            Op::Call => self.callee(pc, inst).is_some(),
            // The callee returns to this function's caller.
            Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport => {
                self.callee(pc, inst).is_some_and(|ty| ty.results == self.ty.results)
            }
            Op::Throw => self.spaces.tag_type(args[2] as u32).param_units() == args[1] as u32,
            Op::RequestQueue => args[2] as u32 == wasi_units(args[0]),
            Op::RequestPoll => args[3] as u32 == wasi_units(args[1]),
            Op::TableCopy => {
                self.spaces.tables[args[3] as usize].element == self.spaces.tables[args[4] as usize].element
            }
            Op::TableInit => {
                self.spaces.tables[args[3] as usize].element == self.spaces.program.meta.elements[args[4] as usize].ty
            }
            Op::I8x16Shuffle => args[3..5]
                .iter()
                .flat_map(|half| half.to_le_bytes())
                .all(|lane| lane < 32),
            Op::BrTable => {
                (0..args[1] as usize).all(|i| self.target(pc, br_table_offset(&self.code[pc..], i) as i64).is_some())
            }
            _ if matches!(inst.op.info().class, Class::Load(_) | Class::Store(_)) => self.spaces.narrow_memory0,
            _ if inst.op.info().class == Class::Gpu => !inst.op.needs_memory0() || self.spaces.narrow_memory0,
            _ => self.addresses_readable(inst),
        };
        if ok {
            Ok(())
        } else {
            self.error(pc, format!("`{}` does not fit what it refers to", inst.op.info().name))
        }
    }

    /// Whether an instruction's addresses are i64: those of its first memory operand.
    pub(super) fn wide_address(&self, inst: &Inst) -> bool {
        let mut operands = inst.op.info().operands.iter().zip(inst.args);
        let memory = operands.find(|(operand, _)| **operand == Operand::Memory);
        memory.is_some_and(|(_, index)| self.spaces.memories[index as usize].wide)
    }

    /// Whether the registers of addresses lie in the frame.
    fn addresses_readable(&self, inst: &Inst) -> bool {
        let units = if self.wide_address(inst) { 2 } else { 1 };
        let mut operands = inst.op.info().operands.iter().zip(inst.args);
        operands.all(|(operand, arg)| *operand != Operand::Address || self.readable(arg as u32, units))
    }
}
