//! The programs that processes may start: what `--program` names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gpu_run::Engine;

use crate::batch_args::BatchArgs;
use crate::cli;
use crate::lines::LineSource;
use crate::report::{Outcome, Report};

/// A program, and the name by which processes start it.
pub struct Named {
    pub name: String,
    pub lines: LineSource,
}

/// Loads all of them.
pub fn load(args: &BatchArgs, engine: &Engine) -> Outcome<Vec<Named>> {
    if !args.programs.is_empty() && args.devices.engine == cli::Engine::Ptx {
        return Err(Report::new(
            "processes that start others are interpreted: --program cannot be with --engine ptx",
        ));
    }
    let mut named: Vec<Named> = Vec::new();
    for word in &args.programs {
        for (name, path) in files(word)? {
            if named.iter().any(|other| other.name == name) {
                return Err(Report::new(format!("--program names `{name}` twice")));
            }
            let lines = super::load_module(engine, &path, args.fuel)?;
            named.push(Named { name, lines });
        }
    }
    Ok(named)
}

/// The names and files that one option means.
fn files(word: &OsStr) -> Outcome<Vec<(String, PathBuf)>> {
    let text = word.to_string_lossy();
    if let Some((name, file)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        return Ok(vec![(name.to_owned(), file.into())]);
    }
    let folder = Path::new(word);
    let unreadable = |error| Report::new(format!("cannot read the directory of --program {text}: {error}"));
    if !folder.is_dir() {
        return Err(Report::new(format!(
            "--program {text} is neither NAME=FILE.wasm nor a directory"
        )));
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension() == Some(OsStr::new("wasm"))
            && let Some(name) = path.file_stem().and_then(OsStr::to_str)
        {
            found.push((name.to_owned(), path));
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(Report::new(format!("--program {text} has no .wasm files"))),
        false => Ok(found),
    }
}
