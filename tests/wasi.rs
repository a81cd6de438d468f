//! Runs programs for WASI as `fixtures/wasi/cases.toml` says, by every engine on every device of this machine.
//! What they write, the files that they leave and their exit code must be as in wasmtime. Tests for a GPU
//! are reported as ignored where there is none.

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use common::{Turn, engines, fixture, gpu_run_on, text};
use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;

/// Exit code after a trap.
const TRAP: i32 = 134;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

/// What is run. The head of `cases.toml` explains the fields.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    args: Vec<String>,
    argv0: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    dirs: Vec<String>,
    tmpfs: Option<String>,
    stdin: Option<String>,
    #[serde(default)]
    exit: i32,
    invoke: Option<String>,
    #[serde(default)]
    masked: Vec<(String, String)>,
}

fn main() {
    let args = Arguments::from_args();
    let manifest = fs::read_to_string(fixture("wasi/cases.toml")).expect("the manifest is checked in");
    let cases: Cases = toml::from_str(&manifest).unwrap_or_else(|error| panic!("cases.toml: {error}"));
    assert!(!cases.case.is_empty(), "no cases");
    let mut trials = Vec::new();
    for (engine, present) in engines() {
        for case in cases.case.iter().cloned() {
            let name = format!("{engine}/{}", case.name);
            let test = move || {
                let _turn = (engine == "ptx").then(Turn::take);
                case.check(engine)
            };
            trials.push(Trial::test(name, test).with_ignored_flag(!present));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

/// What was written to stderr without the warning that a folder is missing.
fn without_hint(stderr: &str) -> String {
    let lines = stderr.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("warning: the program asked for `"))
        .collect()
}

impl Case {
    fn module(&self) -> &str {
        self.name.split_once('/').map_or(&self.name, |(module, _)| module)
    }

    /// What must come out, by the ending of its name.
    fn expected(&self, ending: &str) -> PathBuf {
        fixture(&format!("expected/wasi/{}.{ending}", self.name))
    }

    fn check(&self, engine: &str) -> Result<(), Failed> {
        let given = fixture(&format!("wasi/{}/input", self.module()));
        let folder = tempfile::tempdir()?;
        if given.exists() {
            copy(&given, folder.path())?;
        }
        let output = self.run(engine, &given, folder.path())?;

        let mut faults = Vec::new();
        if output.status.code() != Some(self.exit) {
            faults.push(format!("exit code must be {}", self.exit));
        }
        let (stdout, wanted) = (self.mask(&output.stdout), fs::read(self.expected("stdout"))?);
        if stdout.as_bytes() != wanted {
            faults.push(format!("stdout must be:\n{}", text(&wanted)));
        }
        let (stderr, wanted) = (
            text(&output.stderr),
            fs::read(self.expected("stderr")).unwrap_or_default(),
        );
        let wanted = text(&wanted);
        // Of a program that failed without a folder, gpu-run names the file.
        let stderr = match self.exit {
            0 => stderr,
            _ => without_hint(&stderr),
        };
        // After a trap, gpu-run tells of it.
        if stderr != wanted && !(self.exit == TRAP && stderr.starts_with(&wanted)) {
            faults.push(format!("stderr must be:\n{wanted}"));
        }
        if !self.dirs.is_empty() {
            self.check_files(&given, folder.path(), &mut faults)?;
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{}\n--- exit: {:?}\n--- stdout:\n{stdout}\n--- stderr:\n{stderr}",
            faults.join("\n"),
            output.status.code(),
        )
        .into())
    }

    fn run(&self, engine: &str, given: &Path, folder: &Path) -> Result<Output, Failed> {
        let mut command = gpu_run_on(engine);
        // Not as a cargo runner, which would be given the folder.
        command.env_remove("CARGO_MANIFEST_DIR");
        command.current_dir(folder).args(["--timeout", "5m"]);
        // The default of the CPU is more, in which even the largest blocks fit.
        command.args(["--max-memory", "1GiB"]);
        for dir in &self.dirs {
            command.args(["--dir", dir]);
        }
        if let Some(size) = &self.tmpfs {
            command.args(["--tmpfs", size]);
        }
        for (key, value) in &self.env {
            command.arg("--env").arg(format!("{key}={value}"));
        }
        if let Some(argv0) = &self.argv0 {
            command.args(["--argv0", argv0]);
        }
        if let Some(invoke) = &self.invoke {
            command.args(["--invoke", invoke]);
        }
        let module = fixture(&format!("wasm/wasi/{}.wasm", self.module())).canonicalize()?;
        let stdin = match &self.stdin {
            Some(file) => File::open(given.join(file))?.into(),
            None => Stdio::null(),
        };
        Ok(command.arg(module).args(&self.args).stdin(stdin).output()?)
    }

    /// The folder has the names, links and sizes that are listed. The files have the right bytes: those that are
    /// expected, or what they had at first.
    fn check_files(&self, given: &Path, folder: &Path, faults: &mut Vec<String>) -> Result<(), Failed> {
        let mut lines = Vec::new();
        let mut files = Vec::new();
        list(folder, "", &mut lines, &mut files)?;
        lines.sort();
        let wanted = fs::read_to_string(self.expected("tree"))?;
        if lines.concat() != wanted {
            faults.push(format!("the folder has:\n{}but must have:\n{wanted}", lines.concat()));
            return Ok(());
        }
        for name in files {
            let kept = self.expected("files").join(&name);
            let wanted = fs::read(if kept.exists() { kept } else { given.join(&name) })?;
            let found = fs::read(folder.join(&name))?;
            if found != wanted {
                let at = found.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
                faults.push(format!("{name} differs from byte {at} on"));
            }
        }
        Ok(())
    }

    /// Text without what may differ between runs.
    fn mask(&self, bytes: &[u8]) -> String {
        let mut masked = text(bytes);
        for (start, end) in &self.masked {
            let mut parts = masked.split(start.as_str());
            let mut rest = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                rest += start;
                rest += end;
                rest += part.split_once(end.as_str()).map_or("", |(_, after)| after);
            }
            masked = rest;
        }
        masked
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&to)?;
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// A line for each entry of a folder and below; the names of the files too.
fn list(folder: &Path, prefix: &str, lines: &mut Vec<String>, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().display());
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            lines.push(format!("{name} -> {}\n", fs::read_link(entry.path())?.display()));
        } else if kind.is_dir() {
            lines.push(format!("{name}/\n"));
            list(&entry.path(), &format!("{name}/"), lines, files)?;
        } else {
            lines.push(format!("{name} {}\n", entry.metadata()?.len()));
            files.push(name);
        }
    }
    Ok(())
}
