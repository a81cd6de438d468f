//! Calls: of functions of the module, of imports, through tables, and of the GPU's opcodes.

use gpu_run_bytecode::{FuncType, Op, Operand};

use super::declarations::{check_memory, gpu_value};
use super::function::Lowering;
use super::stack::Value;
use super::{LowerErrorKind, Target};

impl Lowering<'_> {
    /// Calls a function of the module or an import; with `tail`, in place of this function's own return.
    pub(super) fn call(&mut self, function: u32, tail: bool) -> Result<(), LowerErrorKind> {
        let context = self.context;
        match &context.targets[function as usize] {
            Target::Gpu(op) => {
                check_memory(*op, context.memories)?;
                self.gpu(*op);
            }
            Target::Wasi { function, .. } => self.wasi(*function),
            Target::Import { index, ty } => {
                let base = self.arguments(ty);
                let op = if tail { Op::ReturnCallImport } else { Op::CallImport };
                self.emitter.emit(op, &[base as i64, *index as i64]);
                self.results(ty);
            }
            Target::Defined { index, ty } => {
                let base = self.arguments(ty);
                self.calls.push((self.emitter.code.len() as u32, *index));
                let op = if tail { Op::ReturnCall } else { Op::Call };
                self.emitter.emit(op, &[base as i64, 0]);
                self.results(ty);
            }
        }
        Ok(())
    }

    pub(super) fn call_indirect(&mut self, type_index: u32, table: u32, tail: bool) {
        let context = self.context;
        let ty = &context.types[type_index as usize];
        let index = self.pop_index(self.wide_table(table));
        // The index may lie just above the arguments, in the callee's frame: it is read first.
        let base = self.arguments(ty);
        let op = if tail { Op::ReturnCallIndirect } else { Op::CallIndirect };
        self.emitter
            .emit(op, &[base as i64, index, table as i64, type_index as i64]);
        self.results(ty);
    }

    pub(super) fn return_call(&mut self, function: u32) -> Result<(), LowerErrorKind> {
        self.emitter.seal();
        let start = self.emitter.code.len() as u32;
        self.call(function, true)?;
        self.return_();
        // The callee runs outside of this function's handlers.
        self.emitter.no_handlers(start);
        Ok(())
    }

    pub(super) fn return_call_indirect(&mut self, type_index: u32, table: u32) {
        self.emitter.seal();
        let start = self.emitter.code.len() as u32;
        self.call_indirect(type_index, table, true);
        self.return_();
        self.emitter.no_handlers(start);
    }

    /// Brings a call's arguments to their places; returns the unit at which the callee's frame begins.
    pub(super) fn arguments(&mut self, ty: &FuncType) -> u32 {
        self.settle_top(ty.params.len());
        self.stack.truncate(self.stack.len() - ty.params.len());
        let base = self.stack.top_unit();
        self.stack.reserve(base + ty.header());
        base
    }

    fn results(&mut self, ty: &FuncType) {
        self.emitter.seal();
        for result in &ty.results {
            self.stack.push(*result, Value::Temp);
        }
    }

    /// A GPU opcode: its operands in the table's order are result, then parameters.
    pub(super) fn gpu(&mut self, op: Op) {
        let operands = op.info().operands;
        let arguments = operands.iter().filter(|operand| !matches!(operand, Operand::Def(_)));
        let mut args: Vec<i64> = Vec::new();
        for operand in arguments.rev() {
            args.push(match operand {
                Operand::Src(_) | Operand::Address => self.pop_register(),
                // Memory 0, and no offset.
                _ => 0,
            });
        }
        args.reverse();
        match operands.first() {
            Some(Operand::Def(ty)) => {
                self.define(op, gpu_value(*ty), &args);
                self.emitter.seal();
            }
            _ => self.effect(op, &args),
        }
    }
}
