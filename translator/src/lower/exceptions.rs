//! Exceptions: `try_table`, `throw`, `throw_ref`.
//!
//! Nothing is executed on entering a `try_table`: its range of code goes to the function's exception
//! table, with the place of each handler. A handler is a branch: the unwinder puts the exception's
//! values to where the label wants them and goes on there.

use gpu_run_bytecode::{Op, units};
use wasmparser::{Catch, TryTable};

use super::LowerErrorKind;
use super::control::Kind;
use super::emit::{Handler, Label};
use super::function::Lowering;

/// A handler that leaves the function: it returns the exception's values.
pub(super) struct Leaving {
    label: Label,
    unit: u32,
    units: u32,
}

impl Lowering<'_> {
    pub(super) fn try_table(&mut self, try_table: &TryTable) -> Result<(), LowerErrorKind> {
        // A label counts from outside of the construct.
        let handlers = try_table.catches.iter().map(|catch| self.handler(catch)).collect();
        self.open(Kind::Try, try_table.ty)?;
        self.emitter.begin_try(handlers);
        Ok(())
    }

    fn handler(&mut self, catch: &Catch) -> Handler {
        let (tag, reference, depth) = match *catch {
            Catch::One { tag, label } => (Some(tag), false, label),
            Catch::OneRef { tag, label } => (Some(tag), true, label),
            Catch::All { label } => (None, false, label),
            Catch::AllRef { label } => (None, true, label),
        };
        let index = self.frame_index(depth);
        let (label, unit) = match self.frames[index].handler_place() {
            Some(place) => place,
            None => {
                let (unit, units) = (self.stack.top_unit(), self.ty.result_units());
                self.stack.reserve(unit + units);
                let label = self.emitter.new_label();
                self.leaving.push(Leaving { label, unit, units });
                (label, unit)
            }
        };
        Handler {
            tag,
            reference,
            unit,
            label,
        }
    }

    pub(super) fn throw(&mut self, tag: u32) {
        let types = self.context.tags[tag as usize].params.clone();
        self.settle_top(types.len());
        let units = units(&types);
        let from = match units {
            0 => 0,
            _ => self.stack.top_unit() - units,
        };
        self.emitter.emit(Op::Throw, &[from as i64, units as i64, tag as i64]);
        self.set_unreachable();
    }

    pub(super) fn throw_ref(&mut self) {
        let exception = self.pop_register();
        self.emitter.emit(Op::ThrowRef, &[exception]);
        self.set_unreachable();
    }

    /// Emits the handlers that leave the function, after its code.
    pub(super) fn emit_leaving(&mut self) {
        for leaving in std::mem::take(&mut self.leaving) {
            self.emitter.bind(leaving.label);
            let header = self.ty.header() as i64;
            let from = if leaving.units == 0 { 0 } else { leaving.unit };
            self.emitter
                .emit(Op::Return, &[header, from as i64, leaving.units as i64]);
            self.emitter.seal();
        }
    }
}
