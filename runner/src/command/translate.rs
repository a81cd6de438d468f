//! `gpu-run translate`.

use std::fmt::Write as _;
use std::process::ExitCode;

use gpu_run::{Engine, ModuleOptions, compile};
use gpu_run_bytecode::{ExternKind, Program, disassemble, disassemble_function};
use gpu_run_translator::BrTables;
use gpu_run_vm::cuda::link::Input;
use gpu_run_vm::{Cuda, ptx};

use crate::cli::{Emit, TranslateArgs};
use crate::load::{load, options, read, wasm};
use crate::names::{did_you_mean, shown};
use crate::report::{self, Outcome, Report};
use crate::sink;

/// Translates and writes.
pub fn translate(args: &TranslateArgs) -> Outcome<ExitCode> {
    if args.func.is_some() && !matches!(args.emit, Emit::Disasm | Emit::Ptx) {
        return Err(
            Report::new("--func is for --emit disasm and --emit ptx").help("leave it out: the others are whole")
        );
    }
    if args.passes.fuel.is_some() && args.emit == Emit::Wasm {
        return Err(
            Report::new("fuel is counted by bytecode, and --emit wasm stops before that")
                .help("leave --fuel out, or emit bytecode"),
        );
    }
    let engine = Engine::default();
    let options = ModuleOptions {
        // Emitted programs are all that is left of the module, so they take its lines along.
        lines: true,
        deny_recursion: args.deny_recursion,
        no_debug: args.no_debug,
        // A program that embeds it may define them.
        host_functions: args.emit == Emit::Bytecode,
        ..options(&args.passes)
    };
    let bytes = match args.emit {
        Emit::Wasm => {
            let file = read(&args.module)?;
            let wasm = wasm(&args.module, &file)?;
            let tables = BrTables::default();
            let passed = gpu_run_translator::run_passes(&wasm, &tables, &options)
                .map_err(|error| report::translation(&args.module, &error))?;
            passed.module.encode()
        }
        Emit::Bytecode => load(&engine, &args.module, &options)?.module.serialize(),
        Emit::Disasm => {
            let program = load(&engine, &args.module, &options)?.module.program().clone();
            match &args.func {
                Some(name) => disassemble_function(&program, function(&program, name, args)?),
                None => disassemble(&program),
            }
            .into_bytes()
        }
        Emit::Ptx => {
            let program = load(&engine, &args.module, &options)?.module.program().clone();
            match &args.func {
                Some(name) => ptx_of(&program, function(&program, name, args)?, args)?,
                None => ptx::compile(&compile::whole(&program, args.threads, args.tuning.values())).text,
            }
            .into_bytes()
        }
        Emit::SassStats => {
            let program = load(&engine, &args.module, &options)?.module.program().clone();
            sass_stats(&program, args)?.into_bytes()
        }
    };
    match &args.output {
        Some(path) => {
            let error = |error| Report::new(format!("cannot write: {error}")).at(path.display().to_string());
            std::fs::write(path, bytes).map_err(error)?;
        }
        None if matches!(args.emit, Emit::Disasm | Emit::Ptx | Emit::SassStats) => sink::write_stdout(&bytes)?,
        None => return Err(Report::new("binary output needs a file").help("name it with -o FILE")),
    }
    Ok(ExitCode::SUCCESS)
}

/// The index of the defined function that is named, by its name or export, by its index, or by the end of its path.
fn function(program: &Program, name: &str, args: &TranslateArgs) -> Outcome<u32> {
    let meta = &program.meta;
    let first = meta.imported_funcs();
    let defined = || (first..).zip(&meta.functions).map(|(index, _)| index);
    let exports = || meta.exports.iter().filter(|export| export.kind == ExternKind::Func);
    let exported = |index: u32| {
        let own = exports().filter(move |export| export.index == index);
        own.map(|export| shown(&export.name, exports().map(|export| export.name.as_str())))
    };
    let number = name.parse().ok();
    let is_named = |index: &u32| meta.func_name(*index) == name || exported(*index).any(|own| own == name);
    let found: Vec<u32> = defined().filter(is_named).collect();
    let found = match found.is_empty() {
        true => defined().filter(|index| number == Some(*index)).collect(),
        false => found,
    };
    let found: Vec<u32> = match found.is_empty() {
        true => {
            let end = format!("::{name}");
            defined()
                .filter(|index| meta.func_name(*index).ends_with(&end))
                .collect()
        }
        false => found,
    };
    match found[..] {
        [index] => Ok(index),
        [] => {
            let names: Vec<String> = defined().map(|index| meta.func_name(index)).collect();
            let all = names.iter().map(String::as_str).chain(defined().flat_map(exported));
            let last = names.iter().filter_map(|name| name.rsplit("::").next());
            let there_are = format!(
                "`--emit disasm` shows all {}, from {first} on; inlined ones are gone unless --no-inline is given",
                names.len()
            );
            Err(Report::new(format!("the program has no function `{name}`"))
                .at(args.module.display().to_string())
                .help(did_you_mean(name, all.chain(last), &there_are)))
        }
        _ => {
            let found = found
                .iter()
                .map(|index| format!("{index} ({})", meta.func_name(*index)));
            Err(Report::new(format!("several functions are called `{name}`"))
                .at(args.module.display().to_string())
                .help(format!(
                    "choose one by its index: {}",
                    found.collect::<Vec<_>>().join(", ")
                )))
        }
    }
}

/// The PTX of one function of the program, and of the kernel that starts it if it is an export.
fn ptx_of(program: &Program, index: u32, args: &TranslateArgs) -> Outcome<String> {
    let unit = compile::whole(program, args.threads, args.tuning.values());
    let text = ptx::compile(&unit).text;
    let parts = ptx::definitions(&unit, &text, index);
    if parts.is_empty() {
        return Err(Report::new(format!(
            "`{}` is not compiled: nothing that is exported calls it",
            program.meta.func_name(index)
        ))
        .at(args.module.display().to_string()));
    }
    Ok(parts.join("\n"))
}

/// A line for each function of the program's machine code: what the GPU's driver tells of it.
fn sass_stats(program: &Program, args: &TranslateArgs) -> Outcome<String> {
    let mut device = Cuda::new(0).map_err(|error| report::device(&error))?;
    let unit = compile::whole(program, args.threads, args.tuning.values());
    let prefix = &unit.prefix;
    let text = ptx::compile(&unit).text;
    let entries: Vec<String> = unit.entries.iter().map(|i| format!("{prefix}start_{i}")).collect();
    let inputs = [Input::program(&text), Input::runtime()];
    let functions = device
        .explain(&inputs, &entries)
        .map_err(|error| report::device(&error))?;
    let mut out = String::from("registers   local   stack  spilled  loaded  function\n");
    for function in functions {
        let number = |value: Option<u32>| value.map_or_else(|| "-".into(), |value| value.to_string());
        // The program's own names, after the symbols made of their indices.
        let index = function.name.strip_prefix(prefix.as_str()).and_then(|name| {
            let index = name.strip_prefix("start_").or_else(|| name.strip_prefix('f'))?;
            index.parse::<usize>().ok()
        });
        let name = index.and_then(|index| program.meta.names.get(index));
        _ = writeln!(
            out,
            "{:>9} {:>7} {:>7} {:>8} {:>7}  {} {}",
            number(function.registers),
            number(function.local),
            function.stack,
            function.spill_stores,
            function.spill_loads,
            function.name,
            name.map_or("", String::as_str)
        );
    }
    Ok(out)
}
