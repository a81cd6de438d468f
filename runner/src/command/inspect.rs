//! `gpu-run inspect`.

mod calls;
mod module;
mod program;
mod text;

use std::process::ExitCode;

use gpu_run_bytecode::{Op, Program, wasi};
use gpu_run_translator::{GPU_MODULE, WASI_SPAWN};
use serde::Serialize;

use crate::cli::InspectArgs;
use crate::report::{Outcome, code};
use crate::{load, sink};

/// What a module or a translated program holds. Its fields are those of `--json`.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Inspection {
    schema: u64,
    /// `module` or `program`.
    kind: &'static str,
    made_by: Vec<String>,
    functions: Functions,
    imports: Vec<Import>,
    exports: Vec<Export>,
    memories: Vec<Memory>,
    /// Words of bytecode, of what was translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<usize>,
    /// Units of fuel of each thread, of what counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<u64>,
    /// What the compiler for GPUs takes, of what was translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<Compiled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Calls>,
    /// What calls from each exported function take at run time.
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Vec<Frames>>,
    patterns: Vec<Pattern>,
    /// Why patterns were not looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_rewritten: Option<String>,
    /// Of std, what a kernel's threads would share; of a module that is made for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_std: Option<Vec<String>>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    std_lacks: Option<&'static str>,
    /// Why it will not run.
    refused: Option<String>,
}

#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Functions {
    defined: usize,
    imported: usize,
    named: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Import {
    module: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    /// What serves it.
    served: Option<&'static str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Export {
    /// As users write it.
    name: String,
    /// `function`, `kernel`, `memory`, `table`, `global` or `tag`.
    kind: &'static str,
    r#type: String,
    /// As the module has it, if that is another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Memory {
    pages: u64,
    max_pages: Option<u64>,
    shared: bool,
}

/// What compiling all of a program takes that its exports may lead to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Compiled {
    /// Words of bytecode.
    words: usize,
    /// Units of the assembler's work: functions, and regions of large ones.
    units: usize,
    /// How long it is expected to take on this machine beside a GPU.
    expected_seconds: f64,
}

impl Compiled {
    fn of(program: &Program) -> Compiled {
        let work = gpu_run::compile::expected(program);
        Compiled {
            words: work.words,
            units: work.units,
            // Nobody measures more.
            expected_seconds: work.expected.as_millis() as f64 / 1e3,
        }
    }
}

/// The call graph.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Calls {
    direct: usize,
    /// Functions that call through tables.
    indirect: usize,
    recursion: Vec<Recursion>,
    depths: Vec<Depth>,
}

/// Functions that call each other.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Recursion {
    functions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<String>,
}

/// How deep the calls from an export go; null if nothing bounds it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Depth {
    export: String,
    depth: Option<u64>,
}

/// The same at run time, with the bytes of frames.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Frames {
    export: String,
    depth: Option<u64>,
    bytes: Option<u64>,
}

/// A pattern of std, and what was found of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Pattern {
    pattern: &'static str,
    /// `found`, `absent` or `left alone`.
    status: &'static str,
    found: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Functions that are called like those of the pattern and are not proven to be them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unproven: Vec<Unproven>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Unproven {
    function: String,
    reason: String,
}

/// Prints what a module or a translated program holds.
pub fn inspect(args: &InspectArgs) -> Outcome<ExitCode> {
    let file = load::read(&args.module)?;
    let (inspection, recursion) = match gpu_run::is_serialized(&file) {
        true => (program::inspect(&args.module, &file, args.deny_recursion)?, Ok(())),
        false => {
            let bytes = load::wasm(&args.module, &file)?;
            module::inspect(&args.module, &bytes, args.deny_recursion)?
        }
    };
    let out = match args.json {
        true => {
            let json = serde_json::to_string_pretty(&inspection);
            json.expect("strings and numbers have a JSON form") + "\n"
        }
        false => text::render(&inspection),
    };
    sink::write_stdout(out.as_bytes())?;
    recursion?;
    Ok(match inspection.refused {
        Some(_) => ExitCode::from(code::USAGE),
        None => ExitCode::SUCCESS,
    })
}

/// What serves an imported function, if anything does.
fn served(module: &str, name: &str) -> Option<&'static str> {
    if (module, name) == WASI_SPAWN {
        return Some("WASI threads, on the device");
    }
    match module {
        GPU_MODULE => Op::gpu_op(name).map(|_| "GPU opcode"),
        wasi::NET_MODULE => {
            wasi::Function::by_import(module, name).map(|_| "network, served by the host: see --allow-net")
        }
        wasi::FILE_MODULE => wasi::Function::by_import(module, name).map(|_| "files, served by the host: see --dir"),
        wasi::PROCESS_MODULE => {
            wasi::Function::by_import(module, name).map(|_| "processes, on the device: see batch --program")
        }
        _ => wasi::Function::by_import(module, name).map(|function| match function.info().served_by {
            wasi::ServedBy::Device => "WASI, served on the device",
            wasi::ServedBy::Host => "WASI, served by the host",
        }),
    }
}
