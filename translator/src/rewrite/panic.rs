//! Panics speak as native Rust does, and end the process.
//!
//! std's `panic_with_hook(payload, location, ..)` is left in every build. It runs a custom hook as
//! ever. The default one prints nothing on this target, so a report is put in front. Unless a
//! custom hook is set (the static `HOOK` says), it prints what the default hook would. The message
//! is the payload's `Display`, through the vtable that the payload comes with. Where no hook is
//! ever set, the optimizer drops the location parameter: then it is caught in `rust_begin_unwind`.
//! A custom hook may call the default one. What the code between needs to know is kept in globals,
//! of which each thread has its own.
//!
//! In the order in which to read them:
//!
//! - this file: finds the functions of a std since 1.81, the static `HOOK`, and plans the new bodies;
//! - `text`: what a panic prints, whatever std it is of;
//! - `old`: a std before 1.81, where the message comes beside the payload;
//! - `literal`: payloads of such a std that are a `&str` alone.

mod literal;
mod old;
mod text;

use std::collections::HashMap;

use wasmparser::Operator;

use super::code::Code;
use super::env::Env;
use super::names::Names;
use super::proof::{Std, diverges};
use super::{I32, Job, Left, Plan};
use crate::module::{Instr, Module};
pub(super) use text::print_number;
use text::{Globals, IN_HOOK, STDERR, print_head, print_note};

/// The rustc (1.x) whose std the layouts below were read from.
const KNOWN_RUSTC: u32 = 96;

/// Byte offsets in std's private structures, as of [`KNOWN_RUSTC`]. For another version they are
/// used if the code reads the payload's vtable as this one does.
mod layout {
    /// Vtable of `dyn PanicPayload`.
    pub const PAYLOAD_FMT: u64 = 12;
    pub const PAYLOAD_GET: u64 = 20;
    pub const PAYLOAD_AS_STR: u64 = 24;
    /// `core::panic::PanicInfo`.
    pub const INFO_LOCATION: u64 = 4;
    /// `std::panic::PanicHookInfo`.
    pub const HOOK_INFO_LOCATION: u64 = 8;
    pub const HOOK_INFO_NO_BACKTRACE: u64 = 13;
    /// A static `RwLock<Hook>`: the hook after the lock's word; null data is the default hook.
    pub const HOOK: i32 = 4;
}

/// Byte offset in a vtable of `dyn Fn`: the method `call`.
const FN_CALL: u64 = 20;

const PANIC_OPS: &[&str] = &["print", "print_end", "panic_exit", "gid"];

const NO_HOOK: &str =
    "the static that holds the panic hook was not found: a custom hook runs after the default message";

/// What was found of the panic path.
struct Path {
    with_hook: usize,
    /// Whether parameter 2 of it is the location.
    has_location: bool,
    /// Parameter that says whether to leave out the note about backtraces.
    no_backtrace: Option<u32>,
    /// Address of the data pointer of the custom hook, if one can be set.
    hook: Option<i32>,
    begin_unwind: Vec<usize>,
    ends: Ends,
}

/// How a panic is reported and ends, with any std.
struct Ends {
    /// `default_hook` and its shims, with the parameter that is what hooks are told.
    default_hooks: Vec<(usize, u32)>,
    rust_panic: Vec<usize>,
    throws: Vec<usize>,
}

impl Ends {
    fn find(module: &Module<'_>, names: &Names, std: &Std) -> Ends {
        let throws = throwing(module);
        Ends {
            default_hooks: default_hooks(module, names, std),
            rust_panic: rust_panic(module, names, std, &throws),
            throws,
        }
    }

    /// The functions that get another body.
    fn funcs(&self) -> impl Iterator<Item = usize> {
        let hooks = self.default_hooks.iter().map(|(func, _)| *func);
        hooks.chain(self.rust_panic.iter().copied())
    }

    /// `tell` makes the body of a default hook, of which it is given that parameter.
    fn apply(self, module: &mut Module<'_>, env: &mut Env, globals: Globals, tell: impl Fn(&mut Code, u32)) {
        for (func, info) in self.default_hooks {
            let mut code = Code::new();
            tell(&mut code, info);
            module.funcs[func].body = code.into_body();
        }
        for func in self.rust_panic {
            let mut code = Code::new();
            code.call(env.gpu("panic_exit")).op(Operator::Unreachable);
            module.funcs[func].body = code.into_body();
        }
        for func in self.throws {
            leave_at_throw(module, func, globals);
        }
    }
}

/// Warns where a custom hook may be set that is not found.
fn look_for_hook(hook: Option<i32>, names: &Names, plan: &mut Plan) {
    if hook.is_none() && !names.get("std::panicking::set_hook").is_empty() {
        plan.warnings.push(NO_HOOK.to_owned());
    }
}

pub(super) fn detect(module: &Module<'_>, names: &Names, std: &Std, plan: &mut Plan) {
    let Some(path) = find(module, names, std, plan) else {
        return;
    };
    let mut funcs = vec![path.with_hook];
    funcs.extend(&path.begin_unwind);
    funcs.extend(path.ends.funcs());
    plan.jobs.push(Job {
        pattern: "panic",
        funcs,
        ops: PANIC_OPS,
        formats: true,
        apply: Box::new(move |module, env| apply(module, env, path)),
    });
}

fn find(module: &Module<'_>, names: &Names, std: &Std, plan: &mut Plan) -> Option<Path> {
    let of = |list: &[&str]| list.iter().find_map(|name| names.get(name).first().copied());
    let with_hook = of(&[
        "std::panicking::panic_with_hook",
        "std::panicking::rust_panic_with_hook",
    ])?;
    let ty = &module.types[module.funcs[with_hook].ty as usize];
    let params = ty.params().len() as u32;
    if ty.params().iter().any(|ty| *ty != I32) || !ty.results().is_empty() || params < 2 {
        plan.warnings
            .push("std's panic function has a form that is not known".to_owned());
        return None;
    }
    if !diverges(&module.funcs[with_hook]) {
        plan.left
            .push(Left::new("panic", with_hook, "it returns, as std's never does"));
        return None;
    }
    if !reads_payload_vtable(module, with_hook) {
        if !old::detect(module, names, std, with_hook, plan) {
            without_message(module, names, std, plan);
        }
        return None;
    }
    if let Some(minor) = rustc_minor(module).filter(|minor| *minor != KNOWN_RUSTC) {
        tracing::info!(
            "the module was built by rustc 1.{minor}; what gpu-run knows of std's panics is from \
             1.{KNOWN_RUSTC}, and the code looks alike"
        );
    }
    let hook = hook_address(module, names, with_hook);
    look_for_hook(hook, names, plan);
    let mut begin_unwind = names.get("rust_begin_unwind").to_vec();
    begin_unwind.extend(names.get("std::panicking::begin_panic_handler"));
    begin_unwind.retain(|func| takes(module, *func, 1));
    Some(Path {
        with_hook,
        has_location: params >= 5,
        no_backtrace: (params >= 4).then(|| params - 1),
        hook,
        begin_unwind,
        ends: Ends::find(module, names, std),
    })
}

/// Whether a function has `n` words as parameters and no result.
fn takes(module: &Module<'_>, func: usize, n: usize) -> bool {
    let ty = &module.types[module.funcs[func].ty as usize];
    ty.params() == &[I32; 2][..n] && ty.results().is_empty()
}

/// `default_hook` and its shims, with the parameter that is what hooks are told.
fn default_hooks(module: &Module<'_>, names: &Names, std: &Std) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    for func in names.get("std::panicking::default_hook") {
        if takes(module, *func, 1) {
            found.push((*func, 0));
        }
    }
    let shim = |n: &str| n.starts_with("<std::panicking::default_hook as core::ops::function::Fn");
    for (_, func) in names.matching(shim) {
        if takes(module, func, 2) {
            found.push((func, 1));
        }
    }
    found.retain(|(func, _)| std.is_own(module, *func));
    found
}

/// The function that ends a process whose panic was reported. With unwinding, an exception ends the thread and
/// `main` returns 101 by itself.
fn rust_panic(module: &Module<'_>, names: &Names, std: &Std, throws: &[usize]) -> Vec<usize> {
    let is_proven = |func: &usize| diverges(&module.funcs[*func]) && std.is_own(module, *func);
    match throws {
        [] => names.get("rust_panic").iter().copied().filter(is_proven).collect(),
        _ => Vec::new(),
    }
}

/// A panic of which nothing can be told: it ends the process as a panic does.
fn without_message(module: &Module<'_>, names: &Names, std: &Std, plan: &mut Plan) {
    let unknown = "std's panic payload has a layout that is not known: panics end with code 101, but what they say \
                   and where they are is not shown";
    plan.warnings.push(unknown.to_owned());
    let funcs = rust_panic(module, names, std, &throwing(module));
    if funcs.is_empty() {
        return;
    }
    plan.jobs.push(Job {
        pattern: "panic",
        funcs: funcs.clone(),
        ops: PANIC_OPS,
        formats: false,
        apply: Box::new(move |module, env| {
            let mut code = Code::new();
            env.print_text(&mut code, STDERR, "\nthe program panicked\n");
            code.i32(STDERR).call(env.gpu("print_end"));
            code.call(env.gpu("panic_exit")).op(Operator::Unreachable);
            let body = code.into_body();
            for func in funcs {
                module.funcs[func].body = body.clone();
            }
        }),
    });
}

/// The minor version of the rustc that made the module.
fn rustc_minor(module: &Module<'_>) -> Option<u32> {
    let (.., version) = module.producers.iter().find(|(_, name, _)| name == "rustc")?;
    version.strip_prefix("1.")?.split('.').next()?.parse().ok()
}

/// Whether the function calls `PanicPayload::as_str` where it should be: std does so for a panic
/// within a panic.
fn reads_payload_vtable(module: &Module<'_>, func: usize) -> bool {
    module.funcs[func]
        .instrs()
        .any(|instr| matches!(instr.op, Operator::I32Load { memarg } if memarg.offset == layout::PAYLOAD_AS_STR))
}

/// Functions that throw an exception.
fn throwing(module: &Module<'_>) -> Vec<usize> {
    let throws = |func: &crate::module::Func<'_>| func.instrs().any(|instr| matches!(instr.op, Operator::Throw { .. }));
    if module.tags.is_empty() && module.imported_tags.is_empty() {
        return Vec::new();
    }
    (0..module.funcs.len())
        .filter(|&func| throws(&module.funcs[func]))
        .collect()
}

/// Finds the static `HOOK` in the code that calls a custom hook. It loads the data pointer from the
/// static, the arguments, the vtable from the word after it, and its method `call`. A std that is
/// not optimized names the static where it locks it.
fn hook_address(module: &Module<'_>, names: &Names, func: usize) -> Option<i32> {
    let mut window: [Option<Operator<'_>>; 3] = [None, None, None];
    let first = module.imported_funcs.len();
    let locks: Vec<u32> = names
        .matching(|n| {
            n.starts_with("std::sync::") && n.contains("RwLock<std::panicking::Hook>") && n.ends_with("::read")
        })
        .map(|(_, func)| (first + func) as u32)
        .collect();
    // Without optimization the address goes through a local.
    let mut constants: HashMap<u32, i32> = HashMap::new();
    let mut found = None;
    for instr in module.funcs[func].instrs() {
        match (&window, &instr.op) {
            (
                [
                    Some(Operator::I32Const { value }),
                    Some(Operator::I32Load { memarg }),
                    Some(Operator::I32Load { memarg: method }),
                ],
                Operator::CallIndirect { .. },
            ) if method.offset == FN_CALL => {
                let vtable = value.wrapping_add(memarg.offset as u32 as i32);
                found = Some(vtable.wrapping_sub(4));
            }
            ([.., Some(last)], Operator::Call { function_index }) if locks.contains(function_index) => {
                let address = match last {
                    Operator::I32Const { value } => Some(value),
                    Operator::LocalGet { local_index } => constants.get(local_index),
                    _ => None,
                };
                found = address.map(|address| address.wrapping_add(layout::HOOK)).or(found);
            }
            ([.., Some(last)], Operator::LocalSet { local_index }) => {
                match last {
                    Operator::I32Const { value } => constants.insert(*local_index, *value),
                    _ => constants.remove(local_index),
                };
            }
            _ => {}
        }
        window.rotate_left(1);
        window[2] = Some(instr.op);
    }
    found
}

/// Globals that hold the payload: its data and its vtable.
#[derive(Clone, Copy)]
struct Payload {
    data: u32,
    vtable: u32,
}

fn apply(module: &mut Module<'_>, env: &mut Env, path: Path) {
    let globals = Globals::add(module, env);
    let payload = Payload {
        data: env.add_global(module, "gpu_run::panic::payload"),
        vtable: env.add_global(module, "gpu_run::panic::vtable"),
    };
    let (location, print_number) = text::add_functions(module, env, globals);
    let code = default_hook(module, env, globals, payload, (location, print_number));
    let default = env.add_func(module, "gpu_run::panic::default_hook", &[I32], &[], code);
    let code = enter(module, env, globals, payload, location);
    let enter = env.add_func(module, "gpu_run::panic::enter", &[I32; 2], &[], code);

    path.ends.apply(module, env, globals, |code, info| {
        code.get(info)
            .load32(layout::HOOK_INFO_LOCATION)
            .global_set(globals.location);
        code.get(info).load8(layout::HOOK_INFO_NO_BACKTRACE).call(default);
    });
    for func in path.begin_unwind {
        let mut code = Code::new();
        code.get(0).load32(layout::INFO_LOCATION).global_set(globals.location);
        prepend(module, func, code);
    }

    let mut code = Code::new();
    if path.has_location {
        code.get(2).global_set(globals.location);
    }
    code.get(0).get(1).call(enter);
    if let Some(hook) = path.hook {
        code.i32(hook).load32(0).op(Operator::I32Eqz).if_();
    }
    match path.no_backtrace {
        Some(param) => code.get(param),
        None => code.i32(0),
    };
    code.call(default);
    if let Some(no_backtrace) = path.no_backtrace {
        // The parameter before says whether the thread may unwind; std aborts if it may not.
        code.get(no_backtrace - 1).op(Operator::I32Eqz).if_();
        env.print_text(&mut code, STDERR, "thread caused non-unwinding panic. aborting.\n");
        code.i32(STDERR).call(env.gpu("print_end")).end();
    }
    if path.hook.is_some() {
        code.end();
    }
    prepend(module, path.with_hook, code);
}

pub(super) fn prepend(module: &mut Module<'_>, func: usize, code: Code) {
    let (_, instrs) = module.funcs[func].edit();
    instrs.splice(..0, code.into_instrs());
}

/// A thread that unwinds is out of the hook.
fn leave_at_throw(module: &mut Module<'_>, func: usize, globals: Globals) {
    let (_, instrs) = module.funcs[func].edit();
    let mut out = Vec::with_capacity(instrs.len());
    for instr in instrs.drain(..) {
        if matches!(instr.op, Operator::Throw { .. }) {
            let mut code = Code::new();
            code.global_get(globals.state).i32(!IN_HOOK).op(Operator::I32And);
            code.global_set(globals.state);
            out.extend::<Vec<Instr<'_>>>(code.into_instrs());
        }
        out.push(instr);
    }
    *instrs = out;
}

/// `(payload, vtable)`: notes the panic; one in a hook, or while its message is formatted, ends
/// the process here.
fn enter(module: &mut Module<'_>, env: &mut Env, globals: Globals, payload: Payload, location: u32) -> Code {
    let sret = module.intern_type(&[I32, I32], &[]);
    let stack_pointer = env.stack_pointer.expect("checked before");
    let mut code = Code::new();
    code.locals(1, I32);
    code.get(0).global_set(payload.data).get(1).global_set(payload.vtable);
    code.global_get(globals.state).i32(IN_HOOK).op(Operator::I32And).if_();
    env.print_text(&mut code, STDERR, "panicked at ");
    code.call(location);
    env.print_text(&mut code, STDERR, ":\n");
    // `as_str` runs no code of the user's.
    code.global_get(stack_pointer)
        .i32(16)
        .op(Operator::I32Sub)
        .tee(2)
        .global_set(stack_pointer);
    code.get(2)
        .get(0)
        .get(1)
        .load32(layout::PAYLOAD_AS_STR)
        .call_indirect(sret);
    code.get(2).load32(0).if_();
    code.i32(STDERR)
        .get(2)
        .load32(0)
        .get(2)
        .load32(4)
        .call(env.gpu("print"))
        .end();
    let rest = "\nthread panicked while processing panic. aborting.\n";
    env.print_text(&mut code, STDERR, rest);
    code.i32(STDERR)
        .call(env.gpu("print_end"))
        .op(Operator::Unreachable)
        .end();
    code.global_get(globals.state)
        .i32(IN_HOOK)
        .op(Operator::I32Or)
        .global_set(globals.state);
    code
}

/// `(no_backtrace)`: prints the panic that the globals hold.
fn default_hook(
    module: &mut Module<'_>,
    env: &mut Env,
    globals: Globals,
    payload: Payload,
    (location, print_number): (u32, u32),
) -> Code {
    let sret = module.intern_type(&[I32, I32], &[]);
    let stack_pointer = env.stack_pointer.expect("checked before");
    let mut code = Code::new();
    code.locals(1, I32);
    code.global_get(stack_pointer)
        .i32(16)
        .op(Operator::I32Sub)
        .tee(1)
        .global_set(stack_pointer);
    // As in std, a message is formatted before anything is printed: that may panic.
    code.get(1).global_get(payload.data);
    code.global_get(payload.vtable)
        .load32(layout::PAYLOAD_GET)
        .call_indirect(sret);
    print_head(env, &mut code, location, print_number);
    // One argument: the payload and its `Display::fmt`.
    code.get(1).global_get(payload.data).store32(0);
    code.get(1)
        .global_get(payload.vtable)
        .load32(layout::PAYLOAD_FMT)
        .store32(4);
    env.format_one(&mut code, STDERR, 1);
    env.print_text(&mut code, STDERR, "\n");
    print_note(env, &mut code, 0, globals);
    code.i32(STDERR).call(env.gpu("print_end"));
    code.get(1).i32(16).op(Operator::I32Add).global_set(stack_pointer);
    code
}
