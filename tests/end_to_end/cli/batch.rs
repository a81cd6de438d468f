//! `gpu-run batch`.

mod families;
mod hostile;
mod inputs;
mod outputs;
mod processes;
mod profile;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use crate::common::{fixture, gpu_run, options, text};
use crate::support::{EngineTest, Test, fail};

/// The tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    [
        inputs::general(),
        outputs::general(),
        families::general(),
        profile::general(),
    ]
    .concat()
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    [
        processes::of_engine(),
        hostile::of_engine(),
        families::of_engine(),
        profile::of_engine(),
    ]
    .concat()
}

fn program() -> String {
    fixture("wat").join("process.wat").display().to_string()
}

/// The command `batch` on an engine.
fn batch_on(engine: &str) -> Command {
    let mut command = gpu_run();
    command
        .arg("batch")
        .args(options(engine))
        .args(["--compile-time", "10m"]);
    command
}

/// The processes of general tests run on the CPU.
fn batch() -> Command {
    batch_on("cpu")
}

/// Runs the command with lines as standard input.
fn with_stdin(command: &mut Command, stdin: &str) -> Result<Output, Failed> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().ok_or("stdin is piped")?;
    let stdin = stdin.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(stdin.as_bytes()));
    let output = child.wait_with_output()?;
    _ = writer.join();
    Ok(output)
}

/// What `--report json` says of each process, by its name.
fn reports(output: &Output) -> Result<BTreeMap<String, Value>, Failed> {
    let stderr = text(&output.stderr);
    let lines = stderr.lines().filter(|line| line.starts_with('{'));
    let mut reports = BTreeMap::new();
    for line in lines {
        let report: Value = serde_json::from_str(line)?;
        let name = report["name"].as_str().ok_or("a report has a name")?.to_owned();
        if reports.insert(name.clone(), report).is_some() {
            return fail(format!("{name} is reported twice"), output);
        }
    }
    Ok(reports)
}

/// The files of a directory, by their names.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failed> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            std::fs::read(entry.path())?,
        );
    }
    Ok(files)
}
