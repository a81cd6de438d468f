//! Loading modules: from a file or stdin, translated or to be translated.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use gpu_run::{Engine, Module, ModuleOptions, is_serialized};
use gpu_run_vm::cuda::nvtx;

use crate::cli::PassArgs;
use crate::lines::LineSource;
use crate::report::{self, Outcome, Report};

/// Whether a module's path says that it comes by stdin.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file, or what stdin has to its end.
pub fn read(path: &Path) -> Outcome<Vec<u8>> {
    if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Report::new(format!("cannot read the module from stdin: {error}")))?;
        return Ok(bytes);
    }
    std::fs::read(path)
        .map_err(|error| Report::new(format!("cannot read the module: {error}")).at(path.display().to_string()))
}

/// The binary module in a file's bytes; text is assembled.
pub fn wasm<'b>(path: &Path, bytes: &'b [u8]) -> Outcome<Cow<'b, [u8]>> {
    let is_text = match is_stdin(path) {
        // A module's first byte is 0.
        true => bytes.first().is_some_and(|first| *first != 0),
        false => path.extension().is_some_and(|extension| extension == "wat"),
    };
    if !is_text {
        return Ok(Cow::Borrowed(bytes));
    }
    gpu_run::assemble(bytes, Some(path)).map_err(|error| Report::new(error.to_string()))
}

/// How a module is translated.
pub fn options(args: &PassArgs) -> ModuleOptions {
    let full = ModuleOptions::full();
    ModuleOptions {
        rewrite: full.rewrite.filter(|_| !args.no_rewrite),
        inline: full.inline.filter(|_| !args.no_inline),
        fuel: args.fuel,
        ..full
    }
}

/// How a module is translated whose allocator and functions stay its own, because the device's heap is not each process's.
/// Debug messages do not know of processes. Each process has so much fuel.
pub fn as_process(fuel: Option<u64>) -> ModuleOptions {
    ModuleOptions {
        rewrite: None,
        no_debug: true,
        fuel,
        ..ModuleOptions::full()
    }
}

/// Where a translated program goes that is made of a module: the file that was named, or the module's name with `.gbc`.
pub fn output(named: Option<&Path>, module: &Path) -> Outcome<PathBuf> {
    match named {
        Some(output) => Ok(output.to_owned()),
        None if is_stdin(module) => {
            Err(Report::new("a module from stdin has no name").help("name the output with -o FILE"))
        }
        None => Ok(module.with_extension("gbc")),
    }
}

/// The translated program in a file's bytes, verified.
pub fn translated(engine: &Engine, path: &Path, bytes: &[u8]) -> Outcome<Module> {
    Module::deserialize(engine, bytes).map_err(|error| report::library(&error, path))
}

/// Adds the code to a program that was compiled of it, if there is some in its file.
pub fn with_code(engine: &Engine, path: &Path) -> Outcome<Option<Module>> {
    let bytes = read(path)?;
    if !is_serialized(&bytes) {
        return Ok(None);
    }
    // SAFETY: the user has said that the code may be taken.
    let module = unsafe { Module::deserialize_precompiled(engine, &bytes) };
    module.map(Some).map_err(|error| report::library(&error, path))
}

/// That an option asks for what is decided when a module is translated.
pub fn needs_module_of_program(option: &str, path: &Path) -> Report {
    Report::new(format!("{option} needs the module, but this is a translated program"))
        .at(path.display().to_string())
        .help("give the option to the command that made it, such as `gpu-run translate`")
}

/// Loads a module from a file, and translates it unless that was done before.
pub fn load(engine: &Engine, path: &Path, options: &ModuleOptions) -> Outcome<LineSource> {
    let bytes = read(path)?;
    if is_serialized(&bytes) {
        let needs_module = [
            (options.deny_recursion, "--deny-recursion"),
            (options.rewrite.is_none(), "--no-rewrite"),
            (options.inline.is_none(), "--no-inline"),
        ];
        if let Some((_, option)) = needs_module.iter().find(|(given, _)| *given) {
            return Err(needs_module_of_program(option, path));
        }
    }
    load_bytes(engine, path, bytes, options)
}

/// Has threads of a translated program begin with so much fuel, if it is to be another amount.
pub fn set_fuel(module: &mut Module, units: Option<u64>, path: &Path) -> Outcome<()> {
    match units.is_none_or(|units| module.set_fuel(units)) {
        true => Ok(()),
        false => Err(needs_module_of_program("--fuel", path)),
    }
}

/// Translates the bytes of a module's file. A translated program is taken as it is, whatever the options say, but for its fuel.
pub fn load_bytes(engine: &Engine, path: &Path, bytes: Vec<u8>, options: &ModuleOptions) -> Outcome<LineSource> {
    if is_serialized(&bytes) {
        let mut module = translated(engine, path, &bytes)?;
        set_fuel(&mut module, options.fuel, path)?;
        return Ok(LineSource { module, wasm: None });
    }
    let binary = wasm(path, &bytes)?;
    let _range = nvtx::range("gpu-run: translate");
    let module = Module::from_binary(engine, &binary, options).map_err(|error| report::library(&error, path))?;
    // A module in text form has no lines to tell.
    let wasm = matches!(binary, Cow::Borrowed(_)).then_some(bytes);
    Ok(LineSource { module, wasm })
}
