//! What threads begin with that a program spawns by `gpu_run_v1.thread_spawn`.
//!
//! A thread has globals of its own, with the values of a new instance. So its stack pointer is that of the first thread
//! until it is set. wasi-libc sets it in assembly, in its `wasi_thread_start`; Rust has no way to. So a module that exports
//! no such function gets one here. It passes to `thread_spawn` the address of a [record](Record).
//!
//! In: a module. Out: the same, or one with that export.

use gpu_run_bytecode::{Op, THREAD_START};
use wasmparser::{Export, ExternalKind, Operator, RefType, ValType};

use crate::lower::GPU_MODULE;
use crate::module::{Func, Module};
use crate::rewrite::code::{Code, memarg};
use crate::rewrite::stack_pointer;

const I32: ValType = ValType::I32;

/// Offsets of what a program puts in front of its own record of a thread: `gpu_std::thread` has the same.
struct Record;

impl Record {
    /// The stack's lowest address. A stack pointer below it traps.
    const STACK_LIMIT: u64 = 0;
    /// Where the stack ends and begins to be used, aligned to 16 bytes. Thread-local storage is taken from it first.
    const STACK_TOP: u64 = 4;
    /// The function that the thread calls, an element of table 0: of type `(i32, i32) -> ()`, with the thread's id and
    /// the record's address.
    const FUNCTION: u64 = 8;
    /// Becomes 1 by an atomic store once the function has returned. The thread touches neither stack nor record after
    /// that.
    const ENDED: u64 = 12;
}

/// Thread-local storage as linkers lay it out: size and alignment of a block, and the function that makes one.
struct Locals {
    size: i32,
    align: i32,
    init: u32,
}

/// Whether a module spawns threads by the opcode.
pub(crate) fn spawns(module: &Module<'_>) -> bool {
    module.imports.iter().any(|import| {
        let op = Op::gpu_op(import.name).map(|info| info.op);
        import.module == GPU_MODULE && op == Some(Op::ThreadSpawn)
    })
}

/// Adds the export [`THREAD_START`] to a module that spawns threads by the opcode and exports none itself. What it needs
/// for that is a stack pointer, a table of functions and a memory with 32-bit addresses; a module without them stays as it
/// is, and is refused later. Whether the export was added.
pub(crate) fn add_thread_start(module: &mut Module<'_>) -> bool {
    if !spawns(module) || module.exports.iter().any(|export| export.name == THREAD_START) {
        return false;
    }
    let fits = module.memory0().is_some_and(|memory| !memory.memory64)
        && module
            .table0()
            .is_some_and(|table| table.element_type == RefType::FUNCREF && !table.table64);
    let (Some(stack_pointer), true, Ok(locals)) = (stack_pointer(module), fits, locals(module)) else {
        return false;
    };
    let ty = module.intern_type(&[I32], &[]);
    let limit = module.append_func_imports([(GPU_MODULE, Op::StackLimit.info().name, ty)]);
    // The import has moved functions.
    let locals = locals.map(|of| Locals {
        init: of.init + 1,
        ..of
    });
    let ty = module.intern_type(&[I32; 2], &[]);
    let index = module.func_count();
    module.funcs.push(Func {
        ty,
        body: body(ty, limit, stack_pointer, locals).into_body(),
    });
    module.original_index.push(None);
    module.func_names.insert(index, THREAD_START.to_owned());
    module.exports.push(Export {
        name: THREAD_START,
        kind: ExternalKind::Func,
        index,
    });
    true
}

/// What `(id, record)` does, with the import that sets a limit.
fn body(ty: u32, limit: u32, stack_pointer: u32, locals: Option<Locals>) -> Code {
    let [id, record] = [0, 1];
    let mut code = Code::new();
    code.get(record).load32(Record::STACK_LIMIT).call(limit);
    code.get(record).load32(Record::STACK_TOP);
    if let Some(Locals { size, align, init }) = locals {
        // The block lies at the end of the stack, and the stack begins below it.
        let block = 2;
        code.locals(1, I32);
        code.i32(size).op(Operator::I32Sub).i32(-align).op(Operator::I32And);
        code.tee(block).i32(-16).op(Operator::I32And).global_set(stack_pointer);
        code.get(block).call(init);
    } else {
        code.global_set(stack_pointer);
    }
    code.get(id)
        .get(record)
        .get(record)
        .load32(Record::FUNCTION)
        .call_indirect(ty);
    let memarg = memarg(Record::ENDED, 2);
    code.get(record).i32(1).op(Operator::I32AtomicStore { memarg });
    code
}

/// The module's thread-local storage, if it is made for threads and has any. An error if it is not known how large.
fn locals(module: &Module<'_>) -> Result<Option<Locals>, ()> {
    let global = |name| {
        let index = module.global_called(name)?;
        let defined = (index as usize).checked_sub(module.imported_globals.len())?;
        module.globals.get(defined)
    };
    let mut memories = module.imported_memories.iter().chain(&module.memories);
    // Without thread-locals a linker may leave an immutable 0 there.
    let has_base = global("__tls_base").is_some_and(|base| base.ty.mutable);
    if !memories.any(|memory| memory.shared) || !has_base {
        return Ok(None);
    }
    let number = |name| global(name).and_then(|global| global.init.as_integer()).ok_or(());
    let (size, align) = (number("__tls_size")? as i32, number("__tls_align")? as i32);
    if size == 0 {
        return Ok(None);
    }
    let init = module.func_called("__wasm_init_tls").ok_or(())?;
    let ty = module.func_type(init);
    let fits = ty.params() == [I32] && ty.results().is_empty() && align.count_ones() == 1;
    fits.then_some(Some(Locals { size, align, init })).ok_or(())
}

#[cfg(test)]
mod tests {
    use wasmparser::{Validator, WasmFeatures};

    use super::*;

    /// A module that spawns, with these fields more.
    fn with(fields: &str) -> Vec<u8> {
        wat::parse_str(format!(
            r#"(module (import "gpu_run_v1" "thread_spawn" (func $spawn (param i32) (result i32)))
                (func (export "f") (drop (call $spawn (i32.const 64)))) {fields})"#
        ))
        .expect("test input")
    }

    /// What the pass makes of it: a valid module, if it adds anything.
    fn passed(fields: &str) -> Option<String> {
        let bytes = with(fields);
        let mut module = Module::parse(&bytes).expect("a valid module");
        if !add_thread_start(&mut module) {
            assert_eq!(module.encode(), bytes);
            return None;
        }
        let bytes = module.encode();
        let mut validator = Validator::new_with_features(WasmFeatures::all());
        validator.validate_all(&bytes).expect("valid");
        let export = module
            .exports
            .iter()
            .find(|export| export.name == THREAD_START)
            .expect("it was added");
        let func = module.defined(export.index).expect("it is no import");
        let names = func.instrs().map(|instr| format!("{:?}", instr.op));
        Some(
            names
                .map(|name| name.split([' ', '{']).next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
                .join(" "),
        )
    }

    const POINTER: &str = "(table 1 funcref) (global $__stack_pointer (mut i32) (i32.const 4096))";

    #[test]
    fn a_thread_gets_its_stack_and_function() {
        let body = passed(&format!("(memory 1) {POINTER}")).expect("it is added");
        let call = "LocalGet LocalGet LocalGet I32Load CallIndirect LocalGet I32Const I32AtomicStore End";
        assert_eq!(body, format!("LocalGet I32Load Call LocalGet I32Load GlobalSet {call}"));
    }

    #[test]
    fn a_build_for_threads_has_locals() {
        let locals = r#"(memory 1 1 shared) (global $__tls_base (mut i32) (i32.const 0))
            (global (export "__tls_size") i32 (i32.const 20)) (global (export "__tls_align") i32 (i32.const 8))"#;
        let init = "(func $__wasm_init_tls (param i32))";
        let body = passed(&format!("{POINTER} {locals} {init}")).expect("it is added");
        assert!(
            body.contains("I32Sub I32Const I32And LocalTee I32Const I32And GlobalSet LocalGet Call"),
            "{body}"
        );
        assert_eq!(passed(&format!("{POINTER} {locals}")), None);
    }

    #[test]
    fn a_module_without_what_it_takes_stays_as_it_is() {
        for fields in [
            "(memory 1)".to_owned(),
            POINTER.to_owned(),
            format!("(memory i64 1) {POINTER}"),
            format!(r#"(memory 1) {POINTER} (func (export "wasi_thread_start") (param i32 i32))"#),
        ] {
            assert_eq!(passed(&fields), None, "{fields}");
        }
    }
}
