//! `print!`, `eprint!`, and writing to the standard streams' handles.

use wasmparser::{Operator, ValType};

use super::code::Code;
use super::env::{self, Arguments, Env, FmtWrite};
use super::names::{Names, canonical};
use super::proof::Std;
use super::{I32, Job, Left, Plan, replace};
use crate::callgraph::CallGraph;
use crate::module::{Func, Module};

/// What std's io functions store first for `Ok`: `io::Error` uses the values below it.
const IO_OK: i32 = 4;

/// Why a function is left alone.
const OTHERS: &str = "it calls nothing of std, as std's does";

pub(super) fn detect(module: &Module<'_>, names: &Names, std: &Std, fmt: FmtWrite, plan: &mut Plan) {
    for (pattern, name, stream) in [
        ("print", "std::io::stdio::_print", 1),
        ("eprint", "std::io::stdio::_eprint", 2),
    ] {
        for &func in names.get(name) {
            if !std.is_used(module, func) {
                plan.left.push(Left::new(pattern, func, OTHERS));
                continue;
            }
            if let Some(text) = constant_text(module, names, func) {
                plan.jobs.push(Job {
                    pattern,
                    funcs: vec![func],
                    ops: &["print", "print_end"],
                    formats: false,
                    apply: Box::new(move |module, env| {
                        let mut code = Code::new();
                        code.i32(stream).ops(text).call(env.gpu("print"));
                        code.i32(stream).call(env.gpu("print_end"));
                        module.funcs[func].body = code.into_body();
                    }),
                });
                continue;
            }
            let Some(arguments) = arguments(module, names, func, fmt) else {
                plan.warnings.push(format!(
                    "`{name}` has a form that is not known; its output may come in pieces"
                ));
                continue;
            };
            plan.jobs.push(Job {
                pattern,
                funcs: vec![func],
                ops: &["print", "print_end"],
                formats: true,
                apply: Box::new(move |module, env| {
                    let mut code = Code::new();
                    env.format(&mut code, stream, arguments);
                    code.i32(stream).call(env.gpu("print_end"));
                    module.funcs[func].body = code.into_body();
                }),
            });
        }
    }
    for (pattern, ty, stream) in [("stdout", "Stdout", 1), ("stderr", "Stderr", 2)] {
        handles(module, names, fmt, (pattern, ty, stream), plan);
    }
}

/// What pushes the `fmt::Arguments` that print function `func` was called with. Link-time
/// optimization drops a parameter that is the same constant at all calls; then the call of
/// `core::fmt::write` in the old body has the constant.
fn arguments(module: &Module<'_>, names: &Names, func: usize, fmt: FmtWrite) -> Option<Vec<Operator<'static>>> {
    let func = &module.funcs[func];
    let ty = &module.types[func.ty as usize];
    if !ty.results().is_empty() || ty.params().iter().any(|ty| *ty != I32) {
        return None;
    }
    let words = if fmt.arguments == Arguments::Pair { 2 } else { 1 };
    let params = ty.params().len();
    if params == words {
        let get = |local_index| Operator::LocalGet { local_index };
        return Some((0..words as u32).map(get).collect());
    }
    if params > words {
        return None;
    }
    let first = module.imported_funcs.len();
    let write: Vec<u32> = names
        .get("core::fmt::write")
        .iter()
        .map(|func| (first + func) as u32)
        .collect();
    pushed_before_call(func, params as u32, &write, words)
}

/// Address and length of the text, if link-time optimization has found that `func` is only ever
/// called with one and does not format at all.
fn constant_text(module: &Module<'_>, names: &Names, func: usize) -> Option<Vec<Operator<'static>>> {
    let indices = |name: &str| -> Vec<u32> {
        let first = module.imported_funcs.len();
        names.get(name).iter().map(|func| (first + func) as u32).collect()
    };
    let func = &module.funcs[func];
    let params = module.types[func.ty as usize].params().len() as u32;
    let formats = indices("core::fmt::write");
    let calls = |op: &Operator<'_>, callees: &[u32]| matches!(op, Operator::Call { function_index } if callees.contains(function_index));
    if params > 1 || func.instrs().any(|instr| calls(&instr.op, &formats)) {
        return None;
    }
    let write_all = indices("<std::io::stdio::StdoutLock as std::io::Write>::write_all");
    pushed_before_call(func, params, &write_all, 2)
}

/// Warns when std's line buffer was inlined into code that is not std's. What is written to it goes
/// nowhere, and nothing can be done about it here.
pub(super) fn warn_of_lost_output(module: &Module<'_>, names: &Names) -> Option<String> {
    let first = module.imported_funcs.len();
    let raw = "std::io::buffered::bufwriter::BufWriter<std::io::stdio::StdoutRaw>::";
    let buffer: Vec<u32> = names
        .matching(|name| name.starts_with(raw))
        .map(|(_, func)| (first + func) as u32)
        .collect();
    if buffer.is_empty() {
        return None;
    }
    let graph = CallGraph::new(module);
    let reached = graph.reachable(graph.roots().iter().copied());
    let caller = (0..module.func_count())
        .filter(|&func| reached[func as usize])
        .find(|&func| {
            let name = module.func_names.get(&func).map_or("", String::as_str);
            // `main` has std's start-up code inlined, which flushes.
            graph.direct_callees(func).any(|callee| buffer.contains(&callee))
                && name != "main"
                && !canonical(name).contains("std::")
        })?;
    Some(format!(
        "link-time optimization has inlined std's standard output into `{}`: what that writes to \
         a handle of stdout may be lost; build without `lto = \"fat\"`, or use `print!`",
        module.func_display_name(caller)
    ))
}

/// The `count` instructions before a call of one of `callees`, if each pushes a constant or a
/// parameter that still has its first value.
fn pushed_before_call(func: &Func<'_>, params: u32, callees: &[u32], count: usize) -> Option<Vec<Operator<'static>>> {
    let mut changed = vec![false; params as usize];
    let mut pushed: Vec<Option<Operator<'static>>> = Vec::new();
    for instr in func.instrs() {
        match instr.op {
            Operator::Call { function_index } if callees.contains(&function_index) => {
                return pushed
                    .get(pushed.len().checked_sub(count)?..)?
                    .iter()
                    .cloned()
                    .collect();
            }
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                if let Some(changed) = changed.get_mut(local_index as usize) {
                    *changed = true;
                }
                pushed.push(None);
            }
            Operator::I32Const { value } => pushed.push(Some(Operator::I32Const { value })),
            Operator::LocalGet { local_index } => {
                let kept = changed.get(local_index as usize) == Some(&false);
                pushed.push(kept.then_some(Operator::LocalGet { local_index }));
            }
            _ => pushed.push(None),
        }
    }
    None
}

type Body = fn(&Env, i32) -> Code;

/// Functions that write to a handle of one stream. Each write is a record of its own: only
/// `print!` knows where a message ends.
fn handles(
    module: &Module<'_>,
    names: &Names,
    fmt: FmtWrite,
    (pattern, ty, stream): (&'static str, &str, i32),
    plan: &mut Plan,
) {
    let pair = fmt.arguments == Arguments::Pair;
    let args = if pair { 2 } else { 1 };
    let of_trait = |self_ty: &str, method: &str| format!("<{self_ty} as std::io::Write>::{method}");
    let mut wanted: Vec<(String, usize, bool, Body)> = Vec::new();
    let stdio = "std::io::stdio";
    let shim = format!("std::io::buffered::linewritershim::LineWriterShim<{stdio}::{ty}Raw>");
    let selfs = [
        format!("{stdio}::{ty}"),
        format!("&{stdio}::{ty}"),
        format!("{stdio}::{ty}Lock"),
        shim,
    ];
    for self_ty in &selfs {
        wanted.push((of_trait(self_ty, "write_all"), 4, false, write_all));
        wanted.push((of_trait(self_ty, "write"), 4, false, write));
        wanted.push((of_trait(self_ty, "flush"), 2, false, flush));
        let write_fmt = if pair { write_fmt_pair } else { write_fmt_pointer };
        wanted.push((of_trait(self_ty, "write_fmt"), 2 + args, false, write_fmt));
    }
    for adapter in [
        "std::io::default_write_fmt::Adapter",
        "std::io::Write::write_fmt::Adapter",
    ] {
        let of_fmt = |method: &str| format!("<{adapter}<{stdio}::{ty}Lock> as core::fmt::Write>::{method}");
        wanted.push((of_fmt("write_str"), 3, true, |env, s| env::write_str(env, Some(s))));
        wanted.push((of_fmt("write_char"), 2, true, |env, s| env::write_char(env, Some(s))));
        wanted.push((of_fmt("write_fmt"), 1 + args, true, |env, s| {
            env::write_fmt(env, Some(s))
        }));
    }
    for (name, params, has_result, body) in wanted {
        let results: &[ValType] = if has_result { &[I32] } else { &[] };
        let funcs = names.typed(module, &name, &[I32; 4][..params], results);
        if funcs.is_empty() {
            continue;
        }
        plan.jobs.push(Job {
            pattern,
            funcs: funcs.clone(),
            ops: &["print", "print_end"],
            formats: true,
            apply: Box::new(move |module, env| replace(module, &funcs, || body(env, stream))),
        });
    }
}

/// `(result, self, address, length)`, with `Ok(())` as result.
fn write_all(env: &Env, stream: i32) -> Code {
    let mut code = Code::new();
    code.i32(stream).get(2).get(3).call(env.gpu("print"));
    code.i32(stream).call(env.gpu("print_end"));
    code.get(0).i32(IO_OK).store8(0);
    code
}

/// `(result, self, address, length)`, with `Ok(length)` as result.
fn write(env: &Env, stream: i32) -> Code {
    let mut code = write_all(env, stream);
    code.get(0).get(3).store32(4);
    code
}

/// `(result, self)`: nothing is held back.
fn flush(_: &Env, _: i32) -> Code {
    let mut code = Code::new();
    code.get(0).i32(IO_OK).store8(0);
    code
}

/// `(result, self, template, arguments)`.
fn write_fmt_pair(env: &Env, stream: i32) -> Code {
    let get = |local_index| Operator::LocalGet { local_index };
    write_fmt(env, stream, vec![get(2), get(3)])
}

/// `(result, self, arguments)`.
fn write_fmt_pointer(env: &Env, stream: i32) -> Code {
    write_fmt(env, stream, vec![Operator::LocalGet { local_index: 2 }])
}

fn write_fmt(env: &Env, stream: i32, arguments: Vec<Operator<'static>>) -> Code {
    let mut code = Code::new();
    env.format(&mut code, stream, arguments);
    code.i32(stream).call(env.gpu("print_end"));
    code.get(0).i32(IO_OK).store8(0);
    code
}
