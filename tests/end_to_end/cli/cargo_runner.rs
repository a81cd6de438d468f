//! `gpu-run` as cargo starts it: for `cargo run` and `cargo test`, in place of the program.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::common::{gpu_run_on, text};
use crate::host::wasi::{folder, run_with};
use crate::support::{Test, Tested, expect, wasm};

/// The tests, which need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("cargo_runner/folder", current_folder),
        ("cargo_runner/tests", of_tests),
    ]
}

fn folder_of_rustdoc() -> Result<TempDir, std::io::Error> {
    tempfile::Builder::new().prefix("rustdoctest").tempdir()
}

/// For a cargo runner's program, the current folder has its absolute name too, and the variables of std and of its
/// tests are set.
fn of_tests() -> Tested {
    let (folder, _) = folder()?;
    let built = tempfile::tempdir()?;
    let built = built.path().join("wasm32-wasip1");
    fs::create_dir(&built)?;
    let link = built.join("link");
    std::os::unix::fs::symlink(folder.path(), &link)?;
    let run = |module: &str, package: &Path, options: &[&str], args: &[&Path]| {
        let own = built.join("own.wasm");
        fs::copy(module, &own)?;
        let mut command = gpu_run_on("cpu");
        command
            .current_dir(&folder)
            .env("CARGO", "cargo")
            .env("CARGO_MANIFEST_DIR", package)
            .env("RUST_TEST_THREADS", "1")
            .env("RUST_BACKTRACE", "0")
            .env("RUST_LOG", "debug");
        command.args(options).arg(own).args(args).stdin(Stdio::null()).output()
    };
    let wc = wasm("wasi", "wc");
    let other = tempfile::tempdir()?;
    // The package's folder is the current one, also by another name, or is not.
    for (package, named, found) in [
        (folder.path(), folder.path(), true),
        (&link, &link, true),
        (other.path(), folder.path(), true),
        (other.path(), other.path(), false),
    ] {
        let output = run(&wc, package, &[], &[&named.join("input.txt")])?;
        expect(
            output.status.success() == found && text(&output.stdout).contains(" 3000 ") == found,
            &format!("{} is found: {found}", named.display()),
            &output,
        )?;
    }
    let output = run(&wc, folder.path(), &["--dir", "."], &[&folder.path().join("input.txt")])?;
    expect(
        !output.status.success(),
        "it gets what it is told, and no more",
        &output,
    )?;
    let empty = other.path().to_str().ok_or("a path of text")?;
    let output = run(
        &wasm("wat", "wasi"),
        folder.path(),
        &["--dir", empty, "--env", "RUST_BACKTRACE=1"],
        &[],
    )?;
    let said = text(&output.stdout);
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    expect(
        lines == ["? ", "RUST_BACKTRACE=1", "RUST_TEST_THREADS=1", "own.wasm"],
        "the variables of std and its tests, and options come last",
        &output,
    )
}

/// A cargo runner's program has the current folder, unless an option names another.
fn current_folder() -> Tested {
    let (folder, input) = folder()?;
    let built = tempfile::tempdir()?;
    let built = built.path().join("wasm32-wasip1");
    fs::create_dir(&built)?;
    let own = built.join("wasi.wasm");
    fs::copy(wasm("wat", "wasi"), &own)?;
    let run_cargo = |args: &[&str], module: &Path, more: &[&str]| {
        let mut command = gpu_run_on("cpu");
        command
            .current_dir(&folder)
            .env("CARGO", "cargo")
            .env("CARGO_MANIFEST_DIR", folder.path());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RUST_TEST_")) {
            command.env_remove(name);
        }
        run_with(command.args(args).arg(module).args(more), b"")
    };
    let runner = |args: &[&str]| run_cargo(args, &own, &[]);
    let output = runner(&[])?;
    expect(text(&output.stdout).contains(&input), "it finds the file", &output)?;
    let output = run_cargo(&[], &own, &["--help", "-v"])?;
    let names = "wasi.wasm\n--help\n-v\n";
    expect(
        text(&output.stdout).starts_with(names),
        "options are the program's",
        &output,
    )?;
    // An example of the documentation.
    let example = folder_of_rustdoc()?;
    let example = example.path().join("rust_out.wasm");
    fs::copy(wasm("wat", "wasi"), &example)?;
    let output = run_cargo(&[], &example, &[])?;
    expect(text(&output.stdout).contains(&input), "it finds the file", &output)?;
    let output = run_cargo(&[], Path::new(&wasm("wat", "wasi")), &[])?;
    let nothing = text(&output.stdout) == "wasi.wasm\n? ";
    expect(nothing, "a module that cargo has not built gets no folder", &output)?;
    let empty = tempfile::tempdir()?;
    let output = runner(&["--dir", empty.path().to_str().expect("a path of text")])?;
    expect(
        text(&output.stdout) == "wasi.wasm\n? ",
        "it has another folder",
        &output,
    )
}
