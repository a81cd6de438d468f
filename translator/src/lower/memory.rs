//! Loads, stores, and the instructions that work on memories and tables as a whole.
//!
//! A memory with 64-bit addresses is reached through the opcodes that name their memory, whose address
//! operand is then an i64. Its bulk opcodes take all sizes as i64. A table never has more than 2^31
//! elements. So an i64 index is clamped to 32 bits and stays out of bounds if it was.

use gpu_run_bytecode::{Op, ValType};
use wasmparser::{MemArg, MemArgTarget, Operator};

use super::LowerErrorKind;
use super::function::Lowering;
use super::ops::Access;
use super::stack::Value;

impl Lowering<'_> {
    pub(super) fn load(&mut self, access: &Access, memory: u32, offset: u64) {
        let address = self.pop_register();
        match (memory, offset) {
            (0, 0..=0xffff) if !self.wide_memory(0) => {
                self.define(access.near, access.ty, &[address, offset as i64]);
            }
            _ => self.define(access.far, access.ty, &[address, memory as i64, offset as i64]),
        }
    }

    pub(super) fn store(&mut self, access: &Access, memory: u32, offset: u64) {
        let value = self.pop_register();
        let address = self.pop_register();
        match (memory, offset) {
            (0, 0..=0xffff) if !self.wide_memory(0) => self.effect(access.near, &[address, value, offset as i64]),
            _ => self.effect(access.far, &[address, value, memory as i64, offset as i64]),
        }
    }

    /// Lowers an instruction on a memory or table as a whole; `None` if it is none.
    pub(super) fn bulk(&mut self, op: &Operator<'_>) -> Option<()> {
        match *op {
            Operator::MemorySize { mem } if self.wide_memory(mem) => {
                self.define(Op::MemorySize64, ValType::I64, &[mem as i64]);
            }
            Operator::MemorySize { mem } => self.define(Op::MemorySize, ValType::I32, &[mem as i64]),
            Operator::MemoryGrow { mem } if self.wide_memory(mem) => {
                self.unary_with(Op::MemoryGrow64, ValType::I64, mem);
            }
            Operator::MemoryGrow { mem } => self.unary_with(Op::MemoryGrow, ValType::I32, mem),
            Operator::MemoryCopy { dst_mem, src_mem } => {
                let (to, from) = (self.wide_memory(dst_mem), self.wide_memory(src_mem));
                if to || from {
                    let [d, s, n] = self.pop_extended([!to, !from, !(to && from)]);
                    self.effect(Op::MemoryCopy64, &[d, s, n, dst_mem as i64, src_mem as i64]);
                } else {
                    self.effect3(Op::MemoryCopy, &[dst_mem, src_mem]);
                }
            }
            Operator::MemoryFill { mem } if self.wide_memory(mem) => self.effect3(Op::MemoryFill64, &[mem]),
            Operator::MemoryFill { mem } => self.effect3(Op::MemoryFill, &[mem]),
            Operator::MemoryInit { data_index, mem } if self.wide_memory(mem) => {
                self.effect3(Op::MemoryInit64, &[mem, data_index]);
            }
            Operator::MemoryInit { data_index, mem } => self.effect3(Op::MemoryInit, &[mem, data_index]),
            Operator::DataDrop { data_index } => self.effect(Op::DataDrop, &[data_index as i64]),
            Operator::TableGet { table } => {
                let ty = self.context.tables[table as usize].element;
                let index = self.pop_index(self.wide_table(table));
                self.define(Op::TableGet, ty, &[index, table as i64]);
            }
            Operator::TableSet { table } => {
                let value = self.pop_stored();
                let index = self.pop_index(self.wide_table(table));
                self.effect(Op::TableSet, &[index, value, table as i64]);
            }
            Operator::TableSize { table } => {
                self.define(Op::TableSize, ValType::I32, &[table as i64]);
                self.widen(table, Op::I64ExtendI32U);
            }
            Operator::TableGrow { table } => {
                let count = self.pop_index(self.wide_table(table));
                let value = self.pop_stored();
                self.define(Op::TableGrow, ValType::I32, &[count, value, table as i64]);
                // -1 stays -1.
                self.widen(table, Op::I64ExtendI32S);
            }
            Operator::TableFill { table } => {
                let wide = self.wide_table(table);
                let n = self.pop_index(wide);
                let value = self.pop_stored();
                let at = self.pop_index(wide);
                self.effect(Op::TableFill, &[at, value, n, table as i64]);
            }
            Operator::TableCopy { dst_table, src_table } => {
                let (to, from) = (self.wide_table(dst_table), self.wide_table(src_table));
                let n = self.pop_index(to && from);
                let s = self.pop_index(from);
                let d = self.pop_index(to);
                self.effect(Op::TableCopy, &[d, s, n, dst_table as i64, src_table as i64]);
            }
            Operator::TableInit { elem_index, table } => {
                let n = self.pop_register();
                let s = self.pop_register();
                let d = self.pop_index(self.wide_table(table));
                self.effect(Op::TableInit, &[d, s, n, table as i64, elem_index as i64]);
            }
            Operator::ElemDrop { elem_index } => self.effect(Op::ElemDrop, &[elem_index as i64]),
            _ => return None,
        }
        Some(())
    }

    pub(super) fn wide_memory(&self, memory: u32) -> bool {
        self.context.memories[memory as usize].wide
    }

    pub(super) fn wide_table(&self, table: u32) -> bool {
        self.context.tables[table as usize].wide
    }

    /// Pops a table index or count; an i64 is clamped to 32 bits in its own place.
    pub(super) fn pop_index(&mut self, wide: bool) -> i64 {
        let entry = self.stack.pop();
        let register = self.register(entry) as i64;
        if !wide {
            return register;
        }
        self.emitter.emit(Op::I32SaturateI64U, &[entry.unit as i64, register]);
        self.emitter.seal();
        entry.unit as i64
    }

    /// Pops a value that goes to a table or global; an exception is kept for good then.
    pub(super) fn pop_stored(&mut self) -> i64 {
        let entry = self.stack.pop();
        let register = self.register(entry) as i64;
        if entry.ty != ValType::ExnRef {
            return register;
        }
        self.emitter.emit(Op::ExceptionKeep, &[entry.unit as i64, register]);
        self.emitter.seal();
        entry.unit as i64
    }

    /// Pops three operands, of which those marked are i32 and are extended above the stack.
    fn pop_extended(&mut self, extend: [bool; 3]) -> [i64; 3] {
        let mut scratch = self.stack.top_unit();
        self.stack.reserve(scratch + 6);
        let mut registers = [0; 3];
        for i in (0..3).rev() {
            registers[i] = self.pop_register();
            if extend[i] {
                self.emitter.emit(Op::I64ExtendI32U, &[scratch as i64, registers[i]]);
                registers[i] = scratch as i64;
                scratch += 2;
            }
        }
        self.emitter.seal();
        registers
    }

    /// Makes the i32 on top an i64, if the table's indices are.
    fn widen(&mut self, table: u32, op: Op) {
        if self.wide_table(table) {
            self.emitter.seal();
            let entry = self.stack.pop();
            let unit = self.stack.push(ValType::I64, Value::Temp) as i64;
            self.emitter.emit(op, &[unit, entry.unit as i64]);
        }
    }
}

/// Memory and offset of an access.
pub(super) fn place(memarg: &MemArg) -> Result<(u32, u64), LowerErrorKind> {
    match memarg.target {
        MemArgTarget::Memory(memory) => Ok((memory, memarg.offset)),
        MemArgTarget::Array(_) => Err(LowerErrorKind::Unsupported {
            what: "garbage-collected arrays".into(),
        }),
    }
}
