//! What a program for WASI finds around it, from the command line.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use gpu_run_bytecode::Program;
use gpu_run_vm::{Environment, Input, WasiBuilder, makes_requests};

use crate::cli::{EnvironmentArgs, RunArgs};
use crate::report::{Outcome, Report};

/// What the program calls the directory of `--tmpfs`.
const TMP: &str = "/tmp";

/// The environment of a run; `None` for a program that imports no WASI.
///
/// # Errors
///
/// A directory that cannot be opened, a destination that makes no sense, or an option that means nothing to the
/// program.
pub fn of(program: &Program, args: &RunArgs) -> Outcome<Option<Environment>> {
    let options = &args.environment;
    if !makes_requests(program) {
        return match option_given(options) {
            Some(option) => Err(
                Report::new(format!("{option} has no meaning: the module imports no WASI"))
                    .at(args.module.display().to_string())
                    .help("use gpu-std's `fs`, `env`, `io` and `net`, or build it for wasm32-wasip1"),
            ),
            None => Ok(None),
        };
    }
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let (to_terminal, errors_to_terminal) = (stdout.is_terminal(), stderr.is_terminal());
    let mut wasi = WasiBuilder::new()
        .stdin(Input::Inherit)
        .stdout(Box::new(stdout), to_terminal)
        .stderr(Box::new(stderr), errors_to_terminal);
    let runner = (options.dirs.is_empty() && is_cargo_runner(&args.module)).then(|| ".".to_owned());
    for dir in options.dirs.iter().chain(&runner) {
        let Dir { host, guest, read_only } = Dir::parse(dir);
        wasi = wasi
            .dir(host, guest, read_only)
            .map_err(|error| Report::new(format!("--dir {dir}: {error}")))?;
    }
    for destination in &options.allow_net {
        wasi = wasi
            .allow_net(destination)
            .map_err(|error| Report::new(format!("--allow-net {destination}: {error}")))?;
    }
    if let Some(size) = &options.tmpfs {
        let taken = |dir: &&String| Dir::parse(dir).guest.trim_end_matches('/') == TMP;
        if let Some(dir) = options.dirs.iter().find(taken) {
            return Err(
                Report::new(format!("--tmpfs and --dir {dir} both are the program's {TMP}"))
                    .help("give that folder another name: --dir HOST::GUEST"),
            );
        }
        wasi = wasi.scratch(TMP, size.as_u64());
    }
    let file = args.module.file_name().unwrap_or_default();
    let name = match &options.argv0 {
        Some(name) => name.clone().into_bytes(),
        None => file.as_encoded_bytes().to_vec(),
    };
    // With --invoke they are the function's.
    let rest = if args.invoke.is_some() { &[][..] } else { &args.args[..] };
    Ok(Some(Environment {
        args: std::iter::once(name)
            .chain(rest.iter().map(|arg| arg.clone().into_bytes()))
            .collect(),
        variables: options
            .variables
            .iter()
            .filter_map(|variable| entry(variable))
            .collect(),
        seed: options.seed,
        ..Environment::new(Arc::new(wasi.build()))
    }))
}

/// An option that only programs for WASI can use, if there is one.
fn option_given(options: &EnvironmentArgs) -> Option<&'static str> {
    let given = [
        (!options.dirs.is_empty(), "--dir"),
        (options.tmpfs.is_some(), "--tmpfs"),
        (!options.variables.is_empty(), "--env"),
        (!options.allow_net.is_empty(), "--allow-net"),
        (options.argv0.is_some(), "--argv0"),
        (options.seed.is_some(), "--seed"),
    ];
    given.into_iter().find_map(|(given, name)| given.then_some(name))
}

/// Whether cargo has started this process to run a module: `cargo run` and `cargo test` tell their runner of
/// the package, and have built the module in a folder named after its target.
pub fn is_cargo_runner(module: &Path) -> bool {
    let told = ["CARGO", "CARGO_MANIFEST_DIR"];
    let built = |folder: &OsStr| folder.to_str().is_some_and(|name| name.starts_with("wasm32-"));
    told.iter().all(|name| std::env::var_os(name).is_some()) && module.iter().any(built)
}

/// An entry of the environment. A name alone takes its value over, if it has one here.
fn entry(variable: &str) -> Option<Vec<u8>> {
    if variable.contains('=') {
        return Some(variable.as_bytes().to_vec());
    }
    let value = std::env::var_os(variable)?;
    Some([variable.as_bytes(), b"=", value.as_encoded_bytes()].concat())
}

/// A directory as `--dir` names it: `HOST[::GUEST][:ro]`.
#[derive(Debug, PartialEq, Eq)]
struct Dir<'a> {
    host: &'a str,
    guest: &'a str,
    read_only: bool,
}

impl Dir<'_> {
    fn parse(text: &str) -> Dir<'_> {
        let (names, read_only) = match text.strip_suffix(":ro") {
            Some(names) => (names, true),
            None => (text, false),
        };
        let (host, guest) = names.split_once("::").unwrap_or((names, names));
        Dir { host, guest, read_only }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_have_a_name_for_the_guest_and_may_be_read_only() {
        let dir = |host, guest, read_only| Dir { host, guest, read_only };
        assert_eq!(Dir::parse("data"), dir("data", "data", false));
        assert_eq!(Dir::parse("data:ro"), dir("data", "data", true));
        assert_eq!(Dir::parse("/var/data::/"), dir("/var/data", "/", false));
        assert_eq!(Dir::parse("a::b:ro"), dir("a", "b", true));
    }
}
