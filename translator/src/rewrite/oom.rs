//! A failed allocation says so, as native Rust does, before std aborts.

use wasmparser::ValType;

use super::code::Code;
use super::names::Names;
use super::panic::{prepend, print_number};
use super::proof::{Std, diverges};
use super::{I32, Job, Left, Plan};
use crate::module::Module;

const STDERR: i32 = 2;

/// `rust_oom(align, size)` says which allocation failed before it aborts.
pub(super) fn detect(module: &Module<'_>, names: &Names, std: &Std, plan: &mut Plan) {
    let found = names.typed(module, "std::alloc::default_alloc_error_hook", &[I32, I32], &[]);
    // The hook may have been inlined; then all that is left is its caller.
    let (mut funcs, whole) = match found.is_empty() {
        false => (found, true),
        true => (names.typed(module, "std::alloc::rust_oom", &[I32, I32], &[]), false),
    };
    funcs.retain(|&func| {
        let is_proven = std.is_own(module, func) && (whole || diverges(&module.funcs[func]));
        if !is_proven {
            let why = "it does more than std's does on wasm32-unknown-unknown";
            plan.left.push(Left::new("alloc_error", func, why));
        }
        is_proven
    });
    if funcs.is_empty() {
        return;
    }
    plan.jobs.push(Job {
        pattern: "alloc_error",
        funcs: funcs.clone(),
        ops: &["print", "print_end"],
        formats: true,
        apply: Box::new(move |module, env| {
            let number = print_number(env);
            let params: [ValType; 2] = [I32; 2];
            let number = env.add_func(module, "gpu_run::oom::print_number", &params, &[], number);
            for func in funcs {
                let mut code = Code::new();
                env.print_text(&mut code, STDERR, "memory allocation of ");
                code.get(1).i32(STDERR).call(number);
                env.print_text(&mut code, STDERR, " bytes failed\n");
                code.i32(STDERR).call(env.gpu("print_end"));
                match whole {
                    true => module.funcs[func].body = code.into_body(),
                    false => prepend(module, func, code),
                }
            }
        }),
    });
}
