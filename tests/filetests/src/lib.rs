//! Tests that are files, after Cranelift's filetests: a module and what the compiler makes of it, side by side.
//!
//! ```text
//! ;; test lower --no-debug
//! ;; A local that is read once needs no copy.
//! ;; lacks: copy32
//!
//! (module …)
//!
//! ;; func 0 …
//! ```
//!
//! - The first line names the command and its flags. A command or flag that does not exist fails the test.
//! - The comment goes on with the property that the test is for, in at least one sentence.
//! - `has: TEXT` and `lacks: TEXT` are what the result must and must not contain. Blessing does not change them, so the
//!   property itself cannot be blessed away.
//! - The comment at the end of the file is the whole result. `BLESS=1` writes it anew.
//!
//! Each file is one trial, named by its path. A command may take its module from elsewhere; its file has no source.

mod file;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;

pub use crate::file::FileTest;

/// What the first line of a test may ask for.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its name, after `test`.
    pub name: &'static str,
    /// Flags that it takes, without dashes.
    pub flags: &'static [&'static str],
    /// Flags that have a value, without dashes.
    pub options: &'static [&'static str],
    /// Makes the result, or says why there is none.
    pub run: fn(&FileTest) -> Result<String, String>,
}

/// Whether expectations are written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are compared.
    Check,
    /// They are written anew, where they differ.
    Bless,
}

/// The main function of a test target: one trial for each `.wat` file below `root`.
pub fn main(root: &Path, commands: &'static [Command]) -> ExitCode {
    let args = Arguments::from_args();
    let mode = match std::env::var_os("BLESS") {
        Some(value) if value == "1" => Mode::Bless,
        _ => Mode::Check,
    };
    let files = match files(root) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    };
    let trials = files.into_iter().map(|name| {
        let path = root.join(&name);
        Trial::test(name, move || check(&path, commands, mode).map_err(Failed::from))
    });
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

/// The paths of all tests below a folder, from there, sorted. Whatever else lies there is an error: it would not be
/// tested.
pub fn files(root: &Path) -> Result<Vec<String>, String> {
    fn walk(root: &Path, folder: PathBuf, found: &mut Vec<String>) -> Result<(), String> {
        let entries = std::fs::read_dir(root.join(&folder)).map_err(|error| error.to_string())?;
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            let path = folder.join(entry.file_name());
            let name = path.components().map(|part| part.as_os_str().to_string_lossy());
            let name = name.collect::<Vec<_>>().join("/");
            if root.join(&path).is_dir() {
                walk(root, path, found)?;
            } else if path.extension().is_some_and(|extension| extension == "wat") {
                found.push(name);
            } else {
                return Err(format!("`{name}` is no test: those end in `.wat`"));
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(root, PathBuf::new(), &mut found)?;
    if found.is_empty() {
        return Err("there are no tests".into());
    }
    found.sort();
    Ok(found)
}

/// Runs the test of a file.
pub fn check(path: &Path, commands: &[Command], mode: Mode) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let test = FileTest::parse(&text)?;
    let command = commands
        .iter()
        .find(|command| command.name == test.command())
        .ok_or_else(|| format!("there is no command `{}`", test.command()))?;
    test.check_flags(command)?;
    let found = (command.run)(&test)?;
    let found: String = found
        .trim()
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    if found.is_empty() {
        return Err("the result is empty".into());
    }
    // First, so that no blessing passes over them.
    test.check_content(&found)?;
    if found == test.expected() {
        return Ok(());
    }
    if mode == Mode::Bless {
        return std::fs::write(path, test.with_expected(&found)).map_err(|error| error.to_string());
    }
    let diff = TextDiff::from_lines(test.expected(), &found);
    let diff = diff
        .unified_diff()
        .context_radius(4)
        .header("expected", "found")
        .to_string();
    Err(format!(
        "{}: the result is another\n{diff}\nIf it is meant, BLESS=1 writes the expectation anew.",
        path.display()
    ))
}
