//! What the compiler must write in places where it was wrong once, or nearly. It is looked for in its text, because
//! there may be no GPU to run it.
//!
//! What is seen in the whole text of a small module is a file in `vm/filetests`. Here is what counts, orders or
//! compares texts. Here is also what is bytecode that no module becomes, and what looks into the analysis.
//!
//! By what they look at: `values`, `memory`, `jumps`, `meetings`, `frames`, `calls`,
//! `exceptions`, `schedule`, `counters`, `samples`. What they share is here.

mod calls;
mod counters;
mod exceptions;
mod frames;
mod jumps;
mod lines;
mod meetings;
mod memory;
mod parts;
mod samples;
mod schedule;
mod values;

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Op, Program, Try, verify};
use gpu_run_translator::translate;

use super::{Compiled, Options, Unit, compile};

/// The program of a module in text form, nothing inlined.
fn program(wat: &str) -> Program {
    let bytes = wat::parse_str(wat).expect("it is a module");
    translate(&bytes, &Default::default()).expect("it translates").program
}

/// A program of one exported function `(i32, i32) -> (i32)` with this body. Its frame has 8 units: parameters in 0 and
/// 1, its header in 2 and 3.
fn handmade(body: &[Inst]) -> Program {
    handmade_in(
        body,
        "(module (func (export \"f\") (param i32 i32) (result i32) unreachable))",
        &[],
    )
}

/// The same in place of the first function of a module, with these handlers.
fn handmade_in(body: &[Inst], module: &str, tries: &[Try]) -> Program {
    let mut code = Vec::new();
    let enter = Inst::new(Op::Enter, &[8, 2, 0]);
    for inst in [enter].iter().chain(body) {
        inst.encode(&mut code);
    }
    let mut program = program(module);
    (program.meta.functions[0].end, program.meta.max_frame) = (code.len() as u32, 8);
    program.meta.functions[0].tries = tries.to_vec();
    program.code = code;
    program.lines = Default::default();
    verify(&program).expect("it is correct");
    program
}

/// Compiles a program whose exports other instances may call.
fn compiled(program: &Program, options: Options) -> Compiled {
    compile(&Unit {
        program,
        prefix: String::new(),
        code_start: 0,
        entries: Vec::new(),
        cold: Default::default(),
        options,
    })
}

/// The PTX of a module that is alone, with all its exports as entries.
fn text_alone(wat: &str) -> String {
    text_alone_with(wat, Options::default())
}

/// The same with these options.
fn text_alone_with(wat: &str, options: Options) -> String {
    let program = program(wat);
    let entries = program.meta.exports.iter().map(|export| export.index).collect();
    let unit = Unit {
        program: &program,
        prefix: String::new(),
        code_start: 0,
        entries,
        cold: Default::default(),
        options,
    };
    compile(&unit).text
}

/// The PTX of a module with what each instruction stands for, and its exports for all.
fn text(wat: &str) -> String {
    let options = Options {
        exports: true,
        comments: true,
        ..Options::default()
    };
    compiled(&program(wat), options).text
}

/// The body of a function, by its index.
fn body(text: &str, index: u32) -> &str {
    part(text, &format!("f{index}("))
}

/// What stands between the braces of the function whose head has `name`.
fn part<'a>(text: &'a str, name: &str) -> &'a str {
    let head = |rest: &&str| {
        rest.lines()
            .next()
            .is_some_and(|line| line.contains(name) && !line.ends_with(';'))
    };
    let mut functions = text.split("\n.func ").chain(text.split("\n.visible .entry "));
    let function = functions.find(head).expect("the function is there");
    function.split("\n}\n").next().unwrap_or(function)
}
