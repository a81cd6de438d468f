//! Panics of a std before 1.81: a message that was formatted comes beside the payload.
//!
//! `rust_panic_with_hook(payload, vtable, message, location, can_unwind, ..)`: the message is an
//! `Option<&fmt::Arguments>`, and none where the payload is a value of the program's, as a text (`literal`). The function keeps both for
//! hooks in a `PanicInfo`, where they are looked for: so the layout is certain before it is used.

use wasmparser::Operator;

use super::literal::{Literal, Payload};
use super::text::{self, Globals, IN_HOOK, STDERR, print_head, print_note};
use super::{Ends, FN_CALL, PANIC_OPS, look_for_hook, prepend, rustc_minor};
use crate::module::Module;
use crate::rewrite::code::Code;
use crate::rewrite::env::Env;
use crate::rewrite::names::Names;
use crate::rewrite::proof::Std;
use crate::rewrite::{I32, Job, Plan};

/// The first rustc (1.x) in which the payload formats the message.
const PAYLOAD_FORMATS: u32 = 81;

/// Parameters of the function.
const MESSAGE: u32 = 2;
const LOCATION: u32 = 3;
const CAN_UNWIND: u32 = 4;
/// Since 1.73: whether to leave out the note about backtraces.
const NO_BACKTRACE: u32 = 5;

/// Byte offsets in `core::panic::PanicInfo`, after the two words of the payload.
mod layout {
    pub const MESSAGE: u64 = 8;
    pub const LOCATION: u64 = 12;
    pub const CAN_UNWIND: u64 = 16;
    /// Of `core::fmt::Arguments`: three slices, or two and an optional one.
    pub const ARGUMENTS_SIZE: i32 = 24;
}

/// What was found of the panic path.
struct Path {
    with_hook: usize,
    params: u32,
    /// Address of a word that is 0 unless a custom hook is set, if one can be.
    hook: Option<i32>,
    /// How to ask a payload whether it is a text, if that can be known.
    literal: Option<Literal>,
    ends: Ends,
}

/// Finds panics of such a std; `with_hook`: its function, of a form that is known to take words and return nothing.
pub(super) fn detect(module: &Module<'_>, names: &Names, std: &Std, with_hook: usize, plan: &mut Plan) -> bool {
    let params = module.types[module.funcs[with_hook].ty as usize].params().len() as u32;
    let old = rustc_minor(module).is_some_and(|minor| minor < PAYLOAD_FORMATS);
    if !old || !(CAN_UNWIND + 1..=NO_BACKTRACE + 1).contains(&params) || !keeps_info(module, with_hook) {
        return false;
    }
    let hook = hook_address(module, with_hook);
    look_for_hook(hook, names, plan);
    let path = Path {
        with_hook,
        params,
        hook,
        literal: Literal::find(module, names, with_hook),
        ends: Ends::find(module, names, std),
    };
    let mut funcs = vec![with_hook];
    funcs.extend(path.ends.funcs());
    plan.jobs.push(Job {
        pattern: "panic",
        funcs,
        ops: PANIC_OPS,
        formats: true,
        apply: Box::new(move |module, env| apply(module, env, path)),
    });
    true
}

/// Whether the function stores its parameters as message, location and `can_unwind` of one `PanicInfo`.
fn keeps_info(module: &Module<'_>, func: usize) -> bool {
    let mut last = None;
    let mut stored: [Option<u64>; 3] = [None; 3];
    for instr in module.funcs[func].instrs() {
        let at = match &instr.op {
            Operator::I32Store { memarg } => Some((memarg.offset, 0..2)),
            Operator::I32Store8 { memarg } => Some((memarg.offset, 2..3)),
            _ => None,
        };
        if let (Some((offset, fields)), Some(Operator::LocalGet { local_index })) = (at, &last) {
            let field = fields.into_iter().find(|field| *local_index == MESSAGE + field);
            if let Some(field) = field {
                stored[field as usize].get_or_insert(offset);
            }
        }
        last = Some(instr.op);
    }
    let [Some(message), Some(location), Some(can_unwind)] = stored else {
        return false;
    };
    location == message + (layout::LOCATION - layout::MESSAGE)
        && can_unwind == message + (layout::CAN_UNWIND - layout::MESSAGE)
}

/// Finds the static `HOOK` in the code that calls a custom hook. The vtable, whose word is 0 for the default hook, is
/// loaded into a local, and later its method `call`.
fn hook_address(module: &Module<'_>, func: usize) -> Option<i32> {
    let mut window: [Option<Operator<'_>>; 2] = [None, None];
    let mut loaded: Vec<(u32, i32)> = Vec::new();
    for instr in module.funcs[func].instrs() {
        match (&window, &instr.op) {
            (
                [Some(Operator::I32Const { value }), Some(Operator::I32Load { memarg })],
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index },
            ) => {
                loaded.retain(|(local, _)| local != local_index);
                loaded.push((*local_index, value.wrapping_add(memarg.offset as u32 as i32)));
            }
            (_, Operator::LocalSet { local_index } | Operator::LocalTee { local_index }) => {
                loaded.retain(|(local, _)| local != local_index);
            }
            (
                [
                    Some(Operator::LocalGet { local_index }),
                    Some(Operator::I32Load { memarg }),
                ],
                Operator::CallIndirect { .. },
            ) if memarg.offset == FN_CALL => {
                let found = loaded.iter().find(|(local, _)| local == local_index);
                return found.map(|(_, address)| *address);
            }
            _ => {}
        }
        window.rotate_left(1);
        window[1] = Some(instr.op);
    }
    None
}

fn apply(module: &mut Module<'_>, env: &mut Env, path: Path) {
    let globals = Globals::add(module, env);
    let (location, print_number) = text::add_functions(module, env, globals);
    let literal = path.literal.map(|literal| (literal, Payload::add(module, env)));
    let code = default_hook(module, env, globals, literal, (location, print_number));
    let default = env.add_func(module, "gpu_run::panic::default_hook", &[I32; 2], &[], code);

    path.ends.apply(module, env, globals, |code, info| {
        code.get(info).load32(layout::LOCATION).global_set(globals.location);
        if let Some((_, payload)) = literal {
            payload.load(code, &Operator::LocalGet { local_index: info });
        }
        code.get(info).load32(layout::MESSAGE).i32(0).call(default);
    });

    let mut code = Code::new();
    code.get(LOCATION).global_set(globals.location);
    // One in a hook, or while its message is formatted, ends the process here.
    code.global_get(globals.state).i32(IN_HOOK).op(Operator::I32And).if_();
    env.print_text(&mut code, STDERR, "panicked at ");
    code.call(location);
    env.print_text(
        &mut code,
        STDERR,
        ":\nthread panicked while processing panic. aborting.\n",
    );
    code.i32(STDERR).call(env.gpu("print_end"));
    code.op(Operator::Unreachable).end();
    code.global_get(globals.state).i32(IN_HOOK).op(Operator::I32Or);
    code.global_set(globals.state);
    if let Some(hook) = path.hook {
        code.i32(hook).load32(0).op(Operator::I32Eqz).if_();
    }
    if let Some((literal, payload)) = literal {
        code.get(MESSAGE).op(Operator::I32Eqz).if_();
        literal.get(module, env, &mut code, payload);
        code.end();
    }
    code.get(MESSAGE);
    match path.params > NO_BACKTRACE {
        true => code.get(NO_BACKTRACE),
        false => code.i32(0),
    };
    code.call(default);
    // std aborts a thread that may not unwind.
    code.get(CAN_UNWIND).op(Operator::I32Eqz).if_();
    env.print_text(&mut code, STDERR, "thread caused non-unwinding panic. aborting.\n");
    code.i32(STDERR).call(env.gpu("print_end")).end();
    if path.hook.is_some() {
        code.end();
    }
    prepend(module, path.with_hook, code);
}

/// `(message, no_backtrace)`: prints the panic whose place the global holds.
fn default_hook(
    module: &mut Module<'_>,
    env: &mut Env,
    globals: Globals,
    literal: Option<(Literal, Payload)>,
    (location, print_number): (u32, u32),
) -> Code {
    let global_index = env.stack_pointer.expect("checked before");
    let mut code = Code::new();
    print_head(env, &mut code, location, print_number);
    code.get(0).if_();
    // The function that formats may overwrite what it is given.
    code.global_get(global_index)
        .i32(layout::ARGUMENTS_SIZE + 8)
        .op(Operator::I32Sub)
        .global_set(global_index);
    for at in (0..layout::ARGUMENTS_SIZE as u64).step_by(8) {
        code.global_get(global_index).get(0).load64(at).store64(at);
    }
    env.format(&mut code, STDERR, [Operator::GlobalGet { global_index }]);
    code.global_get(global_index)
        .i32(layout::ARGUMENTS_SIZE + 8)
        .op(Operator::I32Add)
        .global_set(global_index);
    code.op(Operator::Else);
    if let Some((literal, payload)) = literal {
        literal.is_text(module, &mut code, payload);
        code.if_();
        Literal::print(env, &mut code, payload);
        code.op(Operator::Else);
    }
    // A payload of the program's: as std says of one that is no text.
    env.print_text(&mut code, STDERR, "Box<dyn Any>");
    if literal.is_some() {
        code.end();
    }
    code.end();
    env.print_text(&mut code, STDERR, "\n");
    print_note(env, &mut code, 1, globals);
    code.i32(STDERR).call(env.gpu("print_end"));
    code
}
