//! Loading modules: from a file or stdin, translated or to be translated.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use gpu_run::is_serialized;
use gpu_run_bytecode::{Program, decode, verify};
use gpu_run_translator::inline::InlineReport;
use gpu_run_translator::rewrite::RewriteReport;
use gpu_run_translator::{Options, Times, Translation};

use crate::cli::PassArgs;
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
pub fn options(args: &PassArgs) -> Options {
    let full = Options::full();
    Options {
        rewrite: full.rewrite.filter(|_| !args.no_rewrite),
        inline: full.inline.filter(|_| !args.no_inline),
        ..full
    }
}

/// A loaded program.
pub struct Loaded {
    /// The program, and how it was made.
    pub translation: Translation,
    /// It was translated just now, and not before.
    pub translated: bool,
    /// The module of which it was made just now.
    pub module: Option<Vec<u8>>,
}

/// The translated program in a file's bytes, verified.
pub fn program(path: &Path, bytes: &[u8]) -> Outcome<Program> {
    let place = || path.display().to_string();
    let program = decode(bytes).map_err(|error| Report::new(error.to_string()).at(place()))?;
    verify(&program).map_err(|error| report::verification(path, &error))?;
    Ok(program)
}

/// That an option asks for what is decided when a module is translated.
pub fn needs_module_of_program(option: &str, path: &Path) -> Report {
    Report::new(format!("{option} needs the module, but this is a translated program"))
        .at(path.display().to_string())
        .help("give the option to `gpu-run translate`")
}

/// Loads a program from a file: a module is translated, a program decoded and verified.
pub fn load(path: &Path, options: &Options) -> Outcome<Loaded> {
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
        return Ok(Loaded {
            translation: Translation {
                program: program(path, &bytes)?,
                rewrites: RewriteReport::default(),
                inlines: InlineReport::default(),
                shared: Vec::new(),
                times: Times::default(),
            },
            translated: false,
            module: None,
        });
    }
    let binary = wasm(path, &bytes)?;
    let translation =
        gpu_run_translator::translate(&binary, options).map_err(|error| report::translation(path, &error))?;
    // A module in text form has no lines to tell.
    let module = matches!(binary, Cow::Borrowed(_)).then_some(bytes);
    Ok(Loaded {
        translation,
        translated: true,
        module,
    })
}
