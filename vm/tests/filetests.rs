//! The tests of `filetests/`: a module, and the PTX that the compiler writes for it. How to write one is described in
//! `tests/filetests/src/lib.rs`.
//!
//! `test ptx` shows what is compiled of the functions that are exported, without what every module has, and each
//! instruction of the bytecode as a comment. Its flags:
//!
//! - `--aligned-memory`: memory 0 begins at a multiple of 4 GiB;
//! - `--alone`: exports are kernels, and no other instance can call them, so that the whole program is known;
//! - `--local-frames`: frames of the shadow stack are in local memory wherever they can be;
//! - `--deep-calls`: calls that are too deep for the native stack are interpreted;
//! - `--reconverge`: lanes meet at the ends of loops and after calls;
//! - `--single-lane`: one lane is alone;
//! - `--samples`: it tells where it is, for samples of where time goes;
//! - `--processes`: each thread is a process of a batch;
//! - `--cold 1,2.3`: function 1 and the fourth block of function 2 are not compiled;
//! - `--regions 20`: functions of more than 20 words are compiled in regions;
//! - `--frame-memory 233472`: kernels have their own frames in shared memory, of which a multiprocessor has so much;
//! - `--frame-lanes 256`: if these are for so many lanes of a multiprocessor at least;
//! - `--fuel 1000`: entries and passes pay in fuel;
//! - `--only f0,f1`: only the definitions of these functions; `start_1` is the kernel of function 1.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use gpu_run_filetests::{Command, FileTest};
use gpu_run_translator::{Options, translate};
use gpu_run_vm::ptx;

const COMMANDS: &[Command] = &[Command {
    name: "ptx",
    flags: &[
        "aligned-memory",
        "alone",
        "deep-calls",
        "local-frames",
        "processes",
        "reconverge",
        "samples",
        "single-lane",
    ],
    options: &["cold", "frame-lanes", "frame-memory", "fuel", "only", "regions"],
    run: compiled,
}];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    gpu_run_filetests::main(&root.join("filetests"), COMMANDS)
}

fn compiled(test: &FileTest) -> Result<String, String> {
    let bytes = wat::parse_str(test.source().ok_or("there is no source")?).map_err(|error| error.to_string())?;
    let options = Options {
        fuel: test.number("fuel")?,
        ..Options::default()
    };
    let program = translate(&bytes, &options).map_err(|error| error.to_string())?.program;
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
        cold: match test.option("cold") {
            Some(list) => cold(&ptx::block_starts(&program), list).ok_or(format!("--cold {list}: no such block"))?,
            None => Default::default(),
        },
        options: ptx::Options {
            exports: !alone,
            aligned_memory: test.flag("aligned-memory"),
            local_frames: match test.flag("local-frames") {
                true => ptx::LocalFrames::Always,
                false => ptx::LocalFrames::Never,
            },
            frame_memory: test.number("frame-memory")?.unwrap_or(0),
            frame_lanes: test.number("frame-lanes")?.unwrap_or(0),
            deep_calls: test.flag("deep-calls"),
            reconverge: test.flag("reconverge"),
            single_lane: test.flag("single-lane"),
            processes: test.flag("processes"),
            samples: test.flag("samples"),
            region_words: test.number("regions")?.unwrap_or(0),
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

/// The blocks that a list names, of all blocks of each function.
fn cold(blocks: &[Vec<u32>], list: &str) -> Option<BTreeSet<u32>> {
    let named = |name: &str| match name.split_once('.') {
        Some((function, block)) => {
            let function: &Vec<u32> = blocks.get(function.parse::<usize>().ok()?)?;
            Some(vec![*function.get(block.parse::<usize>().ok()?)?])
        }
        None => blocks.get(name.parse::<usize>().ok()?).cloned(),
    };
    let named: Option<Vec<_>> = list.split(',').map(named).collect();
    Some(named?.into_iter().flatten().collect())
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
