//! What a program for WASI finds around it, from the command line.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::Path;

use gpu_run::{Error, Input, WasiCtx, WasiCtxBuilder};
use gpu_run_bytecode::Program;
use gpu_run_vm::makes_requests;
use indexmap::IndexMap;

use crate::cli::{EnvironmentArgs, RunArgs};
use crate::report::{Outcome, Report};
use crate::requests::Called;
use crate::spawning::Spawning;
use crate::{cargo, load, output};

/// What the program calls the directory of `--tmpfs`.
const TMP: &str = "/tmp";

/// What a run finds around it, with what a program is told that spawns threads; `None` for a program that calls no
/// function of WASI. Options that a program makes no use of are no error, so that many programs can be run with the same
/// ones.
///
/// # Errors
///
/// A directory that cannot be opened, a variable or a destination that makes no sense: whether the program uses it or
/// not.
pub fn of(program: &Program, args: &RunArgs, spawning: Option<&Spawning>) -> Outcome<Option<WasiCtx>> {
    let options = &args.environment;
    let unused = Called::by(program).unused(options);
    if !unused.is_empty() {
        tracing::info!("the program makes no use of {}", unused.join(", "));
    }
    let (to_terminal, errors_to_terminal) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
    let mut wasi = WasiCtxBuilder::new()
        .stdin(match load::is_stdin(args.module()) {
            // The module was there.
            true => Input::Empty,
            false => Input::Inherit,
        })
        .stdout(output::stdout(), to_terminal)
        .stderr(output::stderr(), errors_to_terminal);
    let by_cargo = cargo::is_runner(args.module());
    let requests = makes_requests(program);
    let mut folders = match by_cargo && requests && options.dirs.is_empty() {
        true => cargo::folders(),
        false => Vec::new(),
    };
    if options.tmpfs.is_some() {
        // The one by its absolute name is `.::NAME`.
        folders.retain(|folder| {
            let name = folder.to_str().and_then(|folder| folder.strip_prefix(".::"));
            name.is_none_or(|name| place(name) != TMP)
        });
    }
    wasi = with_folders(wasi, options.dirs.iter().chain(&folders))?;
    for destination in &options.allow_net {
        wasi = wasi
            .allow_net(destination)
            .map_err(|error| Report::new(format!("--allow-net {destination}: {}", cause(error))))?;
    }
    if let Some(size) = &options.tmpfs {
        if let Some(dir) = directories(options.dirs.iter())?
            .iter()
            .find(|dir| place(&dir.guest) == TMP)
        {
            return Err(Report::new(format!(
                "--tmpfs and --dir {} both are the program's {TMP}",
                dir.option.display()
            ))
            .help("give that folder another name: --dir HOST::GUEST"));
        }
        wasi = wasi.tmpfs(TMP, size.as_u64());
    }
    let of_cargo = if by_cargo { cargo::variables() } else { Vec::new() };
    let mut variables = variables(of_cargo.iter().chain(&options.variables))?;
    for (name, value) in spawning.iter().flat_map(|spawning| spawning.variables()) {
        let value = || value.to_string().into_bytes();
        variables.entry(name.as_bytes().to_vec()).or_insert_with(value);
    }
    if !requests {
        return Ok(None);
    }
    // With --invoke they are the function's.
    let rest = if args.invoke.is_some() { &[][..] } else { args.args() };
    let name = program_name(options, args.module());
    wasi = wasi.arg(name).args(rest.iter().map(|arg| arg.as_encoded_bytes()));
    for (name, value) in variables {
        wasi = wasi.env(name, value);
    }
    if let Some(seed) = options.seed {
        wasi = wasi.seed(seed);
    }
    Ok(Some(wasi.build()))
}

/// The first option that was given of those which only a run has.
pub fn of_runs_only(options: &EnvironmentArgs) -> Option<&'static str> {
    let given = [
        (options.tmpfs.is_some(), "--tmpfs"),
        (!options.allow_net.is_empty(), "--allow-net"),
    ];
    given.iter().find(|(given, _)| *given).map(|(_, option)| *option)
}

/// Adds the folders of a program.
pub fn with_folders<'a>(
    mut wasi: WasiCtxBuilder,
    given: impl Iterator<Item = &'a OsString>,
) -> Outcome<WasiCtxBuilder> {
    for dir in directories(given)? {
        wasi = wasi
            .preopened_dir(dir.host, &dir.guest, dir.read_only)
            .map_err(|error| dir.failed(error))?;
    }
    Ok(wasi)
}

/// The program's name as it finds it: `--argv0`, or its file's name.
pub fn program_name<'a>(options: &'a EnvironmentArgs, module: &'a Path) -> &'a [u8] {
    let name = options.argv0.as_deref().or(module.file_name());
    name.unwrap_or_default().as_encoded_bytes()
}

/// Why the library could not use a file or a destination, which the user has named.
fn cause(error: Error) -> String {
    match error {
        Error::File { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}

/// What to tell a user whose program failed, and had asked for the file `path` without having any folder.
pub fn no_folder(path: &str) -> String {
    let folder = folder_of(path);
    format!("the program asked for `{path}`, but was given no folder: that needs --dir {folder}")
}

/// The folder that a path needs: of an absolute one its own, else the current one or the one as far above as it leads.
fn folder_of(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match path.starts_with('/') {
        true if folder.is_empty() => "/".into(),
        true => folder.into(),
        false => match path.split('/').take_while(|part| *part == "..").count() {
            0 => ".".into(),
            above => vec![".."; above].join("/"),
        },
    }
}

/// The environment's variables, with their values. Of several for one name the last counts. A name alone takes its value
/// over, if it has one here. They need not be UTF-8.
pub fn variables<'v>(given: impl Iterator<Item = &'v OsString>) -> Outcome<IndexMap<Vec<u8>, Vec<u8>>> {
    let mut variables = IndexMap::new();
    for variable in given {
        let bytes = variable.as_encoded_bytes();
        let mut parts = bytes.splitn(2, |byte| *byte == b'=');
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err(
                Report::new(format!("--env {}: a variable has a name", variable.display()))
                    .help("write NAME=VALUE, or NAME to take its value over"),
            );
        }
        let value = match parts.next() {
            Some(value) => Some(value.to_vec()),
            None => std::env::var_os(variable).map(OsString::into_encoded_bytes),
        };
        if let Some(value) = value {
            variables.insert(name.to_vec(), value);
        }
    }
    Ok(variables)
}

/// A directory as `--dir` names it: `HOST[::GUEST][:ro]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Dir<'a> {
    /// As it was given.
    pub option: &'a OsStr,
    pub host: &'a Path,
    pub guest: String,
    pub read_only: bool,
}

impl Dir<'_> {
    fn parse(option: &OsStr) -> Outcome<Dir<'_>> {
        let bytes = option.as_encoded_bytes();
        let (names, read_only) = match bytes.strip_suffix(b":ro") {
            Some(names) => (names, true),
            None => (bytes, false),
        };
        let (host, guest) = match names.windows(2).position(|two| two == b"::") {
            Some(at) => (&names[..at], &names[at + 2..]),
            None => (names, names),
        };
        let refused = |what: &str| Err(Report::new(format!("--dir {}: {what}", option.display())).help(NAMES));
        if host.is_empty() {
            return refused("it names no folder");
        }
        if guest.is_empty() {
            return refused("the program must have a name for it");
        }
        let Ok(guest) = std::str::from_utf8(guest) else {
            return refused("the program's name for it must be UTF-8");
        };
        Ok(Dir {
            option,
            // SAFETY: bytes of an OsStr up to where a separator of ASCII begins, or all of them.
            host: Path::new(unsafe { OsStr::from_encoded_bytes_unchecked(host) }),
            guest: guest.to_owned(),
            read_only,
        })
    }

    /// That the library could not open it.
    pub fn failed(&self, error: Error) -> Report {
        Report::new(format!("--dir {}: {}", self.option.display(), cause(error)))
    }
}

/// How a directory is named.
const NAMES: &str = "write HOST, or HOST::GUEST to give it another name, and :ro behind it for reading only";

/// Reads all `--dir`.
///
/// # Errors
///
/// One that cannot be read, or two by one name: C libraries would never find the first.
pub fn directories<'a>(given: impl Iterator<Item = &'a OsString>) -> Outcome<Vec<Dir<'a>>> {
    let mut all: Vec<Dir<'a>> = Vec::new();
    for option in given {
        let dir = Dir::parse(option)?;
        if let Some(other) = all.iter().find(|other| place(&other.guest) == place(&dir.guest)) {
            let (one, two) = (other.option.display(), dir.option.display());
            let message = format!(
                "--dir {one} and --dir {two} both are the program's {}",
                place(&dir.guest)
            );
            return Err(Report::new(message).help("give one of them another name: --dir HOST::GUEST"));
        }
        all.push(dir);
    }
    Ok(all)
}

/// A directory's name as C libraries compare it: without `./` before it and slashes after it.
fn place(guest: &str) -> &str {
    let mut name = guest;
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    match (name.trim_end_matches('/'), name) {
        ("", "") => ".",
        ("", _) => "/",
        (name, _) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(text: &str) -> (String, String, bool) {
        let Ok(dir) = Dir::parse(text.as_ref()) else {
            panic!("{text:?} is a directory's name");
        };
        (dir.host.display().to_string(), dir.guest, dir.read_only)
    }

    #[test]
    fn directories_have_a_name_for_the_guest_and_may_be_read_only() {
        for (text, host, guest, read_only) in [
            ("data", "data", "data", false),
            ("data:ro", "data", "data", true),
            ("/var/data::/", "/var/data", "/", false),
            ("a::b:ro", "a", "b", true),
            // A slash after it, and the end is no option.
            ("odd:ro/", "odd:ro/", "odd:ro/", false),
            ("a b::c::d", "a b", "c::d", false),
            ("x:y", "x:y", "x:y", false),
        ] {
            assert_eq!(dir(text), (host.to_owned(), guest.to_owned(), read_only));
        }
        for bad in ["", "::", "::guest", "host::", ":ro", "host:::ro"] {
            assert!(Dir::parse(bad.as_ref()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_folder_that_holds_a_file_is_named() {
        for (path, folder) in [
            ("data.csv", "."),
            ("./a/b", "."),
            ("a/b", "."),
            ("../../a/b", "../.."),
            ("/data.csv", "/"),
            ("/var/data/x", "/var/data"),
            ("", "."),
        ] {
            assert_eq!(folder_of(path), folder, "{path}");
        }
    }

    #[test]
    fn names_of_one_place_are_known_as_such() {
        for (guest, name) in [
            (".", "."),
            ("./", "."),
            ("/", "/"),
            ("//", "/"),
            ("./a", "a"),
            ("a/", "a"),
            ("/tmp/", "/tmp"),
            (".a", ".a"),
        ] {
            assert_eq!(place(guest), name, "{guest}");
        }
    }

    #[test]
    fn the_last_of_a_variable_counts() {
        let of = |given: &[&str]| {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            let variables = variables(given.iter()).ok()?;
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all are");
            Some(
                variables
                    .into_iter()
                    .map(|(name, value)| format!("{}={}", text(name), text(value)))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&["A=1", "AB=2", "A=3"]).unwrap(), ["A=3", "AB=2"]);
        assert_eq!(of(&["A=x=y", "B="]).unwrap(), ["A=x=y", "B="]);
        // One that has no value here changes nothing.
        assert_eq!(
            of(&["GPU_RUN_NO_SUCH=1", "GPU_RUN_NO_SUCH"]).unwrap(),
            ["GPU_RUN_NO_SUCH=1"]
        );
        for bad in ["", "=", "=x"] {
            assert_eq!(of(&[bad]), None, "{bad:?}");
        }
    }
}
