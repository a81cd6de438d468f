//! Lets the host know which file a program asks for that has no folder for it.
//!
//! wasi-libc, and std above it, looks a path up among the folders that the program was given. Where none fits, the call
//! fails in the library, and the host never hears of it. So the functions that look up are wrapped: where they fail,
//! they ask the host for the path in a folder that does not exist. That changes nothing for the program.

use gpu_run_bytecode::wasi;
use wasmparser::{TypeRef, ValType};

use super::I32;
use super::code::Code;
use super::names::Names;
use crate::module::{Func, Module};

/// The functions that look up, and how many parameters they have: the path is the first. They return -1 if no folder
/// fits. The first two are called with the path as the program has it.
const LOOKUPS: [(&str, usize); 3] = [
    ("__wasilibc_find_relpath_alloc", 5),
    ("__wasilibc_find_relpath", 4),
    ("__wasilibc_find_abspath", 3),
];

/// No descriptor.
const NO_FOLDER: i32 = -1;

/// A function of WASI that takes a folder and a path, to ask by: those of which every such program has at least one.
#[derive(Clone, Copy)]
enum Ask {
    /// `path_open`.
    Open,
    /// `path_filestat_get`.
    Stat,
    /// Those that take nothing more.
    Plain,
}

/// The import to ask by, and how.
fn import(module: &Module<'_>) -> Option<(u32, Ask)> {
    use ValType::I64;
    let known: [(&[&str], &[ValType], Ask); 3] = [
        (
            &["path_open"],
            &[I32, I32, I32, I32, I32, I64, I64, I32, I32],
            Ask::Open,
        ),
        (&["path_filestat_get"], &[I32; 5], Ask::Stat),
        (
            &["path_unlink_file", "path_create_directory", "path_remove_directory"],
            &[I32; 3],
            Ask::Plain,
        ),
    ];
    let funcs = module.imports.iter().filter_map(|import| match import.ty {
        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => Some((import, &module.types[ty as usize])),
        _ => None,
    });
    funcs.enumerate().find_map(|(index, (import, ty))| {
        let fits = |(names, params, _): &&(&[&str], &[ValType], Ask)| {
            import.module == wasi::MODULE
                && names.contains(&import.name)
                && ty.params() == *params
                && ty.results() == [I32]
        };
        let (.., ask) = known.iter().find(fits)?;
        Some((index as u32, *ask))
    })
}

/// Wraps the functions of a program for WASI that look up.
pub(super) fn tell(module: &mut Module<'_>, names: &Names) {
    let Some((import, ask)) = import(module) else {
        return;
    };
    let found = |(name, params): &(&str, usize)| names.typed(module, name, &[I32; 5][..*params], &[I32]);
    let relative: Vec<_> = LOOKUPS[..2]
        .iter()
        .flat_map(|lookup| found(lookup).into_iter().map(|func| (func, lookup.1)))
        .collect();
    let lookups = match relative.is_empty() {
        false => relative,
        // These have made it absolute.
        true => found(&LOOKUPS[2])
            .into_iter()
            .map(|func| (func, LOOKUPS[2].1))
            .collect(),
    };
    for (func, params) in lookups {
        let index = module.func_count();
        let body = wrapper(index, import, ask, params as u32).into_body();
        let wrapped = &mut module.funcs[func];
        let original = Func {
            ty: wrapped.ty,
            body: std::mem::replace(&mut wrapped.body, body),
        };
        module.funcs.push(original);
        module.original_index.push(None);
        let name = module.func_display_name(module.imported_funcs.len() as u32 + func as u32);
        module.func_names.insert(index, name.to_string());
    }
}

/// Calls the `original`, and where that returns -1 asks for the path in no folder.
fn wrapper(original: u32, import: u32, ask: Ask, params: u32) -> Code {
    let (path, result, end) = (0, params, params + 1);
    let mut code = Code::new();
    code.locals(2, I32);
    for param in 0..params {
        code.get(param);
    }
    code.call(original).tee(result).i32(0);
    code.op(wasmparser::Operator::I32LtS).if_();
    // `end` becomes the address after the 0 that ends the path.
    code.get(path).set(end);
    code.loop_();
    code.get(end).load8(0);
    code.get(end).i32(1).op(wasmparser::Operator::I32Add).set(end);
    code.br_if(0).end();
    code.i32(NO_FOLDER);
    if matches!(ask, Ask::Open | Ask::Stat) {
        code.i32(0);
    }
    code.get(path);
    code.get(end)
        .get(path)
        .op(wasmparser::Operator::I32Sub)
        .i32(1)
        .op(wasmparser::Operator::I32Sub);
    // Nothing is written to address 0, as the call fails.
    match ask {
        Ask::Open => code.i32(0).i64(0).i64(0).i32(0).i32(0),
        Ask::Stat => code.i32(0),
        Ask::Plain => &mut code,
    };
    code.call(import).op(wasmparser::Operator::Drop).end();
    code.get(result);
    code
}
