//! Calls of WASI's functions: imports that become two instructions, one that begins the request and one that
//! waits for its answer.

use gpu_run_bytecode::{FuncType, Function, HEADER_UNITS, Op, ValType, wasi};
use wasmparser::{ExternalKind, Operator};

use super::emit::Emitter;
use super::function::Lowering;
use super::stack::Value;
use super::{Context, Target};
use crate::module::{Const, ElementItems, Module};

/// The type with which modules import a function of WASI.
pub fn signature(function: wasi::Function) -> FuncType {
    let results = if function.has_result() {
        vec![ValType::I32]
    } else {
        Vec::new()
    };
    FuncType {
        params: function.param_types(),
        results,
    }
}

impl Lowering<'_> {
    /// A call: its arguments lie side by side from where a callee's frame would begin.
    pub(super) fn wasi(&mut self, function: wasi::Function) {
        if !function.has_result() {
            return self.gpu(Op::Exit);
        }
        let ty = signature(function);
        let (number, count) = (function as i64, ty.param_units() as i64);
        let base = self.arguments(&ty) as i64;
        self.emitter.emit(Op::RequestQueue, &[number, base, count]);
        self.emitter.seal();
        let result = self.stack.push(ValType::I32, Value::Temp) as i64;
        self.emitter.emit(Op::RequestPoll, &[result, number, base, count]);
        self.emitter.seal();
    }
}

/// Whether a function is used as a value: exported, in a table or a global, or the start function. Code can
/// refer to no other ones.
pub(super) fn used_as_value(module: &Module<'_>, func: u32) -> bool {
    let refers = |expr: &Const<'_>| {
        let mut ops = expr.ops.iter();
        ops.any(|op| matches!(op, Operator::RefFunc { function_index } if *function_index == func))
    };
    let exports = |kind| matches!(kind, ExternalKind::Func | ExternalKind::FuncExact);
    module.start == Some(func)
        || module
            .exports
            .iter()
            .any(|export| exports(export.kind) && export.index == func)
        || module.globals.iter().any(|global| refers(&global.init))
        || module.tables.iter().filter_map(|table| table.init.as_ref()).any(refers)
        || module.elements.iter().any(|element| match &element.items {
            ElementItems::Functions(funcs) => funcs.contains(&func),
            ElementItems::Expressions(_, exprs) => exprs.iter().any(refers),
        })
}

/// Writes the functions that stand for those of WASI that are used as values.
pub(super) fn wrappers(
    targets: &[Target],
    context: &Context<'_>,
    emitter: &mut Emitter,
    functions: &mut Vec<Function>,
    max_frame: &mut u32,
) {
    for target in targets {
        let Target::Wasi {
            function,
            wrapper: Some(_),
        } = target
        else {
            continue;
        };
        let signature = signature(*function);
        let ty = context.types.iter().position(|ty| *ty == signature);
        let start = emitter.code.len() as u32;
        emitter.begin();
        let (header, count) = (signature.header(), signature.param_units() as i64);
        let frame = header + HEADER_UNITS + signature.result_units();
        let (number, result) = (*function as i64, (header + HEADER_UNITS) as i64);
        emitter.emit(Op::Enter, &[frame as i64, header as i64, 0]);
        if function.has_result() {
            emitter.emit(Op::RequestQueue, &[number, 0, count]);
            emitter.emit(Op::RequestPoll, &[result, number, 0, count]);
            emitter.emit(Op::Return, &[header as i64, result, 1]);
        } else {
            emitter.emit(Op::Exit, &[0]);
            emitter.emit(Op::Return, &[header as i64, 0, 0]);
        }
        _ = emitter.finish();
        *max_frame = (*max_frame).max(frame);
        functions.push(Function {
            ty: ty.expect("the import's type is one of the module's") as u32,
            start,
            end: emitter.code.len() as u32,
            calls: Vec::new(),
            tries: Vec::new(),
        });
    }
}
