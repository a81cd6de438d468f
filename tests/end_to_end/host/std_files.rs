//! Files, arguments, environment, input and exit code of a program for wasm32-unknown-unknown, by gpu-std: as the same
//! source does natively.

use std::fs::{self, File};
use std::process::Output;

use libtest_mimic::Failed;
use tempfile::TempDir;

use crate::common::{self, fixture, text};
use crate::support::{EngineTest, Tested, expect, expected, wasm};

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("std_files/release", |device| program(device, "release")),
        ("std_files/lto", |device| program(device, "lto")),
        ("std_files/size", |device| program(device, "size")),
        ("std_files/debug", |device| program(device, "debug")),
        ("std_files/threads/200", threads),
        ("std_files/outside", outside),
    ]
}

/// A copy of what `input` of the fixture has.
fn folder() -> Result<TempDir, Failed> {
    let (given, folder) = (fixture("rust/std_files/input"), tempfile::tempdir()?);
    fs::create_dir(folder.path().join("sub"))?;
    for file in ["lines.txt", "sub/deep.txt"] {
        fs::copy(given.join(file), folder.path().join(file))?;
    }
    Ok(folder)
}

/// Runs the program in a folder, with options before the module and arguments after it.
fn run(device: &str, profile: &str, folder: &TempDir, options: &[&str], args: &[&str]) -> Result<Output, Failed> {
    let mut command = common::gpu_run_on(device);
    command.env_remove("CARGO_MANIFEST_DIR").current_dir(folder);
    command.args(options).arg(wasm(profile, "std_files")).args(args);
    Ok(command.stdin(File::open(folder.path().join("lines.txt"))?).output()?)
}

fn program(device: &str, profile: &str) -> Tested {
    let folder = folder()?;
    let options = ["--dir", ".", "--env", "GREETING=hello", "--env", "EMPTY="];
    let output = run(device, profile, &folder, &options, &["one", "two words"])?;
    let code = expected("std_files", "in_folder.exit").map(|code| text(&code).trim().to_owned());
    expect(
        output.status.code().map(|code| code.to_string()) == code,
        &format!("exit code must be {code:?}"),
        &output,
    )?;
    expect(
        Some(output.stdout.as_slice()) == expected("std_files", "in_folder.stdout").as_deref(),
        "stdout differs from the native program's",
        &output,
    )?;
    let left = fs::read_to_string(folder.path().join("made/text"))?;
    expect(
        left == "one\ntwo\nthree\n",
        "the file must be in the host's folder",
        &output,
    )
}

/// Many threads ask for files at once, also for the names of the folders.
fn threads(device: &str) -> Tested {
    let folder = folder()?;
    let options = ["--dir", ".", "--threads", "200", "--invoke", "threads"];
    let output = run(device, "release", &folder, &options, &[])?;
    expect(output.status.success(), "must succeed", &output)?;
    expect(text(&output.stdout) == "Result: 7\n", "must say what was read", &output)?;
    let log = fs::read_to_string(folder.path().join("log.txt"))?;
    let mut lines: Vec<&str> = log.lines().collect();
    let mut wanted: Vec<String> = (0..200).map(|id| format!("thread {id}")).collect();
    lines.sort_unstable();
    wanted.sort_unstable();
    expect(lines == wanted, "each thread must have added its line", &output)?;
    for id in 0..200 {
        let own = fs::read_to_string(folder.path().join(format!("{id}.txt")))?;
        expect(
            own == format!("{id} nested\n"),
            "each file must be its thread's",
            &output,
        )?;
    }
    Ok(())
}

/// Without a folder there is no file, whatever the host has.
fn outside(device: &str) -> Tested {
    let folder = folder()?;
    let output = run(device, "release", &folder, &[], &["word"])?;
    let said = text(&output.stdout);
    for line in [
        "create_dir: error NotFound\n",
        "given file: error NotFound\n",
        "exists: false\n",
    ] {
        expect(said.contains(line), &format!("must say {line:?}"), &output)?;
    }
    expect(
        !folder.path().join("made").exists(),
        "the host has no new folder",
        &output,
    )
}
