//! What a panic prints, whatever std it is of.

use wasmparser::Operator;

use crate::module::Module;
use crate::rewrite::I32;
use crate::rewrite::code::Code;
use crate::rewrite::env::Env;

pub(super) const STDERR: i32 = 2;

/// Bits of the state global.
pub(super) const IN_HOOK: i32 = 1;
const NOTE_SHOWN: i32 = 2;

/// `core::panic::Location`, as long as it has been there: file, its length, line, column.
mod location {
    pub const FILE: u64 = 0;
    pub const FILE_LEN: u64 = 4;
    pub const LINE: u64 = 8;
    pub const COLUMN: u64 = 12;
}

/// Globals of the panic path: each thread has its own.
#[derive(Clone, Copy)]
pub(super) struct Globals {
    pub(super) state: u32,
    /// Address of the `Location`, or 0.
    pub(super) location: u32,
}

impl Globals {
    pub(super) fn add(module: &mut Module<'_>, env: &Env) -> Globals {
        Globals {
            state: env.add_global(module, "gpu_run::panic::state"),
            location: env.add_global(module, "gpu_run::panic::location"),
        }
    }
}

/// Adds the functions that print the location and a number; returns their indices.
pub(super) fn add_functions(module: &mut Module<'_>, env: &mut Env, globals: Globals) -> (u32, u32) {
    let code = print_number(env);
    let print_number = env.add_func(module, "gpu_run::panic::print_number", &[I32; 2], &[], code);
    let code = print_location(env, globals, print_number);
    let location = env.add_func(module, "gpu_run::panic::print_location", &[], &[], code);
    (location, print_number)
}

/// `(number, stream)`: prints it in decimal; the digits stand below the stack pointer.
pub(in crate::rewrite) fn print_number(env: &Env) -> Code {
    let stack_pointer = env.stack_pointer.expect("checked before");
    let mut code = Code::new();
    code.locals(1, I32).global_get(stack_pointer).set(2);
    code.loop_();
    code.get(2).i32(1).op(Operator::I32Sub).tee(2);
    code.get(0)
        .i32(10)
        .op(Operator::I32RemU)
        .i32(i32::from(b'0'))
        .op(Operator::I32Add)
        .store8(0);
    code.get(0).i32(10).op(Operator::I32DivU).tee(0).br_if(0).end();
    code.get(1).get(2).global_get(stack_pointer).get(2).op(Operator::I32Sub);
    code.call(env.gpu("print"));
    code
}

/// Prints `file:line:column` of the location global.
fn print_location(env: &mut Env, globals: Globals, print_number: u32) -> Code {
    let mut code = Code::new();
    code.global_get(globals.location).op(Operator::I32Eqz).if_();
    env.print_text(&mut code, STDERR, "<unknown location>");
    code.op(Operator::Else);
    code.i32(STDERR);
    code.global_get(globals.location).load32(location::FILE);
    code.global_get(globals.location)
        .load32(location::FILE_LEN)
        .call(env.gpu("print"));
    for offset in [location::LINE, location::COLUMN] {
        env.print_text(&mut code, STDERR, ":");
        code.global_get(globals.location)
            .load32(offset)
            .i32(STDERR)
            .call(print_number);
    }
    code.end();
    code
}

/// Prints which thread panicked, and where.
pub(super) fn print_head(env: &mut Env, code: &mut Code, location: u32, print_number: u32) {
    env.print_text(code, STDERR, "\nthread '");
    code.call(env.gpu("gid")).if_();
    env.print_text(code, STDERR, "<unnamed>");
    code.op(Operator::Else);
    env.print_text(code, STDERR, "main");
    code.end();
    env.print_text(code, STDERR, "' (");
    // The number that the thread has everywhere else.
    code.call(env.gpu("gid")).i32(STDERR).call(print_number);
    env.print_text(code, STDERR, ") panicked at ");
    code.call(location);
    env.print_text(code, STDERR, ":\n");
}

/// Prints once how to see a backtrace, if local `no_backtrace` is 0.
pub(super) fn print_note(env: &mut Env, code: &mut Code, no_backtrace: u32, globals: Globals) {
    code.get(no_backtrace)
        .global_get(globals.state)
        .i32(NOTE_SHOWN)
        .op(Operator::I32And);
    code.op(Operator::I32Or).op(Operator::I32Eqz).if_();
    env.print_text(
        code,
        STDERR,
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    );
    code.global_get(globals.state)
        .i32(NOTE_SHOWN)
        .op(Operator::I32Or)
        .global_set(globals.state);
    code.end();
}
