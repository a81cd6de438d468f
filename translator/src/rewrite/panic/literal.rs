//! Payloads of a std before 1.81 that are a `&str` and nothing else: `panic!("text")` of the editions before 2021.
//!
//! Only its `Any::type_id` tells what a payload is. The id of `&str` comes from the vtable with which std itself
//! passes such a text.

use wasmparser::{Operator, ValType};

use super::text::STDERR;
use crate::module::{ElementItems, Module, SegmentMode};
use crate::rewrite::I32;
use crate::rewrite::code::Code;
use crate::rewrite::env::Env;
use crate::rewrite::names::Names;

/// Vtable of `dyn BoxMeUp`: the method `get`, which returns a `&dyn Any`.
const PAYLOAD_GET: u64 = 16;
/// Vtable of `dyn Any`: the method `type_id`.
const TYPE_ID: u64 = 12;

/// How to ask a payload.
#[derive(Clone, Copy)]
pub(super) struct Literal {
    /// Address of the vtable of `&str` as `dyn Any`.
    vtable: i32,
}

/// Globals that hold the payload as `&dyn Any`.
#[derive(Clone, Copy)]
pub(super) struct Payload {
    data: u32,
    vtable: u32,
}

impl Payload {
    pub(super) fn add(module: &mut Module<'_>, env: &Env) -> Payload {
        Payload {
            data: env.add_global(module, "gpu_run::panic::payload"),
            vtable: env.add_global(module, "gpu_run::panic::vtable"),
        }
    }

    /// Takes the payload from two words at the address that `pointer` pushes.
    pub(super) fn load(self, code: &mut Code, pointer: &Operator<'static>) {
        code.op(pointer.clone()).load32(0).global_set(self.data);
        code.op(pointer.clone()).load32(4).global_set(self.vtable);
    }
}

impl Literal {
    /// What std's `StrPanicPayload` tells, if `with_hook` asks payloads as it expects.
    pub(super) fn find(module: &Module<'_>, names: &Names, with_hook: usize) -> Option<Literal> {
        const GET: &str = "<std::panicking::begin_panic_handler::StrPanicPayload as core::panic::BoxMeUp>::get";
        let [get] = names.typed(module, GET, &[I32; 2], &[])[..] else {
            return None;
        };
        let mut last = None;
        let mut vtable = None;
        for instr in module.funcs[get].instrs() {
            if let (Some(Operator::I32Const { value }), Operator::I32Store { memarg }) = (&last, &instr.op)
                && memarg.offset == 4
            {
                vtable = Some(*value);
            }
            last = Some(instr.op);
        }
        let vtable = vtable?;
        let type_id = table_function(module, word(module, u64::from(vtable as u32) + TYPE_ID)?)?;
        let ty = &module.types[module.funcs[type_id].ty as usize];
        let tells = ty.params() == [I32] && ty.results() == [ValType::I64];
        (tells && gets_payloads(module, with_hook)).then_some(Literal { vtable })
    }

    /// Asks the payload, in parameters 0 and 1, for what it holds.
    pub(super) fn get(self, module: &mut Module<'_>, env: &Env, code: &mut Code, payload: Payload) {
        let sret = module.intern_type(&[I32; 2], &[]);
        let global_index = env.stack_pointer.expect("checked before");
        let stack = Operator::GlobalGet { global_index };
        code.op(stack.clone())
            .i32(16)
            .op(Operator::I32Sub)
            .global_set(global_index);
        code.op(stack.clone()).get(0);
        code.get(1).load32(PAYLOAD_GET).call_indirect(sret);
        payload.load(code, &stack);
        code.op(stack).i32(16).op(Operator::I32Add).global_set(global_index);
    }

    /// Pushes whether the payload is a `&str`.
    pub(super) fn is_text(self, module: &mut Module<'_>, code: &mut Code, payload: Payload) {
        let type_id = module.intern_type(&[I32], &[ValType::I64]);
        code.global_get(payload.data);
        code.global_get(payload.vtable).load32(TYPE_ID).call_indirect(type_id);
        code.global_get(payload.data);
        code.i32(self.vtable).load32(TYPE_ID).call_indirect(type_id);
        code.op(Operator::I64Eq);
    }

    /// Prints the text.
    pub(super) fn print(env: &Env, code: &mut Code, payload: Payload) {
        code.i32(STDERR);
        code.global_get(payload.data).load32(0);
        code.global_get(payload.data).load32(4).call(env.gpu("print"));
    }
}

/// Whether the function asks payloads for what they hold, for a hook.
fn gets_payloads(module: &Module<'_>, func: usize) -> bool {
    let mut last = None;
    module.funcs[func].instrs().any(|instr| {
        let loaded = matches!(&last, Some(Operator::I32Load { memarg }) if memarg.offset == PAYLOAD_GET);
        let asks = |type_index: u32| {
            let ty = &module.types[type_index as usize];
            ty.params() == [I32; 2] && ty.results().is_empty()
        };
        let found = matches!(instr.op, Operator::CallIndirect { type_index, .. } if loaded && asks(type_index));
        last = Some(instr.op);
        found
    })
}

/// The word that memory has at `address` in the beginning.
fn word(module: &Module<'_>, address: u64) -> Option<u32> {
    let word = module.data.iter().find_map(|data| {
        let SegmentMode::Active { index: 0, offset } = &data.mode else {
            return None;
        };
        let start = address.checked_sub(offset.as_integer()? as u32 as u64)?;
        data.bytes.get(usize::try_from(start).ok()?..)?.first_chunk::<4>()
    })?;
    Some(u32::from_le_bytes(*word))
}

/// The defined function that table 0 has at `index` in the beginning, as a position in [`Module::funcs`].
fn table_function(module: &Module<'_>, index: u32) -> Option<usize> {
    let func = module.elements.iter().find_map(|element| {
        let (SegmentMode::Active { index: 0, offset }, ElementItems::Functions(funcs)) =
            (&element.mode, &element.items)
        else {
            return None;
        };
        funcs
            .get(index.checked_sub(offset.as_integer()? as u32)? as usize)
            .copied()
    })?;
    (func as usize).checked_sub(module.imported_funcs.len())
}
