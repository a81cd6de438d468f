//! The tests of `filetests/`: a module, and the PTX that the compiler writes for it. How to write one is described in
//! `tests/filetests/src/lib.rs`.
//!
//! `test ptx` shows what is compiled of the functions that are exported, without what every module has, and each
//! instruction of the bytecode as a comment. Its flags:
//!
//! - `--alone`: exports are kernels, and no other instance can call them, so that the whole program is known;
//! - `--local-frames`: frames of the shadow stack are in local memory wherever they can be;
//! - `--reconverge`: lanes meet at the ends of loops and after calls;
//! - `--interpreted 1,2`: these functions are not compiled;
//! - `--only f0,f1`: only the definitions of these functions; `start_1` is the kernel of function 1.

use std::path::Path;
use std::process::ExitCode;

use gpu_run_filetests::{Command, FileTest};
use gpu_run_translator::translate;
use gpu_run_vm::ptx;

const COMMANDS: &[Command] = &[Command {
    name: "ptx",
    flags: &["alone", "local-frames", "reconverge"],
    options: &["interpreted", "only"],
    run: compiled,
}];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    gpu_run_filetests::main(&root.join("filetests"), COMMANDS)
}

fn compiled(test: &FileTest) -> Result<String, String> {
    let bytes = wat::parse_str(test.source().ok_or("there is no source")?).map_err(|error| error.to_string())?;
    let program = translate(&bytes, &Default::default())
        .map_err(|error| error.to_string())?
        .program;
    let alone = test.flag("alone");
    let entries = match alone {
        true => program.meta.exports.iter().map(|export| export.index).collect(),
        false => Vec::new(),
    };
    let unit = ptx::Unit {
        program: &program,
        prefix: String::new(),
        code_start: 0,
        entries,
        interpreted: match test.option("interpreted") {
            Some(list) => {
                let indices: Result<_, _> = list.split(',').map(str::parse).collect();
                indices.map_err(|error| format!("--interpreted {list}: {error}"))?
            }
            None => Default::default(),
        },
        options: ptx::Options {
            exports: !alone,
            local_frames: match test.flag("local-frames") {
                true => ptx::LocalFrames::Always,
                false => ptx::LocalFrames::Never,
            },
            reconverge: test.flag("reconverge"),
            comments: true,
            ..ptx::Options::default()
        },
    };
    let text = ptx::compile(&unit).text;
    // The image is declared after what every module has.
    let (_, rest) = text.split_once("instance[").ok_or("no image is declared")?;
    let (_, body) = rest.split_once('\n').ok_or("nothing is compiled")?;
    match test.option("only") {
        Some(names) => names.split(',').map(|name| definition(body, name)).collect(),
        None => Ok(body.to_owned()),
    }
}

/// The definition of a function or kernel.
fn definition(text: &str, name: &str) -> Result<String, String> {
    let name = format!("{name}(");
    let is_head = |line: &&str| {
        let word = line.split(' ').any(|word| word.starts_with(&name));
        let defines = line.starts_with(".func ") || line.starts_with(".visible .entry ");
        word && defines && !line.ends_with(';')
    };
    let mut shown = String::new();
    for line in text.lines().skip_while(|line| !is_head(line)) {
        shown += line;
        shown.push('\n');
        if line == "}" {
            return Ok(shown);
        }
    }
    Err(format!("there is no `{name}…)`"))
}
