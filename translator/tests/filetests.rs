//! The tests of `filetests/`: a module, and what a stage of the translator makes of it. `tests/filetests/src/lib.rs`
//! describes how to write one.
//!
//! - `test lower`: bytecode, with no pass before. `--no-debug` leaves debug messages out;
//! - `test inline`: wasm after inlining;
//! - `test rewrite`: wasm after the functions of std were rewritten;
//! - `test optimize`: wasm after both.
//!
//! `--module` takes a fixture instead of a source. `--only` shows the functions and imports whose name has one of the
//! texts between commas, and `--loop-of` the first outermost loop of a function.

use std::path::Path;
use std::process::ExitCode;

use gpu_run_bytecode::disassemble;
use gpu_run_filetests::{Command, FileTest};
use gpu_run_translator::{BrTables, Options, run_passes, translate};

const COMMANDS: &[Command] = &[
    Command {
        name: "lower",
        flags: &["no-debug"],
        options: &["module", "fuel"],
        run: lowered,
    },
    Command {
        name: "inline",
        flags: &[],
        options: &["module", "only", "loop-of"],
        run: |test| {
            let options = Options {
                rewrite: None,
                ..Options::full()
            };
            passed(test, &options)
        },
    },
    Command {
        name: "rewrite",
        flags: &[],
        options: &["module", "only", "loop-of"],
        run: |test| {
            let options = Options {
                inline: None,
                ..Options::full()
            };
            passed(test, &options)
        },
    },
    Command {
        name: "optimize",
        flags: &[],
        options: &["module", "only", "loop-of"],
        run: |test| passed(test, &Options::full()),
    },
];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    gpu_run_filetests::main(&root.join("filetests"), COMMANDS)
}

/// The binary form of a test's module.
fn module(test: &FileTest) -> Result<Vec<u8>, String> {
    match (test.source(), test.option("module")) {
        (Some(source), None) => wat::parse_str(source).map_err(|error| error.to_string()),
        (None, Some(path)) => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(path);
            std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        }
        _ => Err("a test has a source or `--module`".into()),
    }
}

fn lowered(test: &FileTest) -> Result<String, String> {
    let options = Options {
        no_debug: test.flag("no-debug"),
        fuel: test.number("fuel")?,
        ..Options::default()
    };
    let program = translate(&module(test)?, &options).map_err(|error| error.to_string())?;
    Ok(disassemble(&program.program))
}

fn passed(test: &FileTest, options: &Options) -> Result<String, String> {
    let bytes = module(test)?;
    let tables = BrTables::default();
    let passed = run_passes(&bytes, &tables, options).map_err(|error| error.to_string())?;
    let text = wasmprinter::print_bytes(passed.module.encode()).map_err(|error| error.to_string())?;
    match (test.option("only"), test.option("loop-of")) {
        (Some(names), _) => Ok(only(&text, names)),
        (None, Some(name)) => {
            let first = passed.module.imported_funcs.len() as u32;
            let indices = first..first + passed.module.funcs.len() as u32;
            let mut named = indices.filter(|index| passed.module.func_display_name(*index) == name);
            let index = named.next().ok_or_else(|| format!("no function `{name}`"))?;
            first_loop(&text, &passed.module.func_names[&index])
        }
        (None, None) => Ok(text),
    }
}

/// The functions and imports whose first line has one of the names.
fn only(text: &str, names: &str) -> String {
    let mut shown = String::new();
    let mut showing = false;
    for line in text.lines() {
        if line.starts_with("  (") {
            let named = names.split(',').any(|name| line.contains(name));
            showing = named && (line.starts_with("  (func") || line.starts_with("  (import"));
        }
        if showing {
            shown += line.strip_prefix("  ").unwrap_or(line);
            shown.push('\n');
        }
    }
    shown
}

/// The first loop of a function, with the loops in it.
fn first_loop(text: &str, mangled: &str) -> Result<String, String> {
    let head = format!("  (func ${mangled} ");
    let body = text.lines().skip_while(|line| !line.starts_with(&head));
    let mut lines = body
        .skip_while(|line| !line.trim_start().starts_with("loop"))
        .peekable();
    let begin = lines.peek().ok_or("it has no loop")?;
    let indent = begin.len() - begin.trim_start().len();
    let end = format!("{}end", " ".repeat(indent));
    let mut shown = String::new();
    for line in lines {
        shown += &line[indent..];
        shown.push('\n');
        if line == end {
            return Ok(shown);
        }
    }
    Err("the loop does not end".into())
}
