//! Builds the heap's tests from the kernel's source and runs them, the stress test on many OS threads. Each runs as it
//! is, and with sanitizers where the compiler has them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler, as `cc` picks it.
fn compiler() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "c++".into())
}

/// Builds a C++ program with these flags; `None` if the compiler cannot.
fn build(source: &Path, folder: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let program = folder.join(name);
    let output = Command::new(compiler())
        .args([
            "-std=c++17",
            "-g",
            "-Wall",
            "-Wextra",
            "-fno-strict-aliasing",
            "-pthread",
        ])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/kernel"))
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler that built the kernel runs");
    if !output.status.success() {
        eprintln!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success().then_some(program)
}

fn run(mut command: Command) {
    let output = command.output().expect("the stress test runs");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    println!("{stdout}");
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/heap/{name}.cpp"))
}

#[test]
fn every_byte_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(&source("stress"), folder.path(), "stress", &["-O2"]).expect("the kernel's source compiles");
    let mut command = Command::new(program);
    command.args(["16", "20000"]);
    run(command);
}

#[test]
fn lanes_have_slabs_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(&source("lanes"), folder.path(), "lanes", &["-O2"]).expect("the kernel's source compiles");
    run(Command::new(program));
}

/// Builds and runs the test with sanitizers, unless their runtime is not there.
fn sanitized(name: &str, sanitizers: &str, through: &[&str], args: [&str; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&*format!("-fsanitize={sanitizers}"), "-fno-sanitize-recover=all", "-O1"];
    let probe = folder.path().join("probe.cpp");
    std::fs::write(&probe, "int main() { return 0; }").unwrap();
    let start = |program: &Path| {
        let mut parts = through.iter().map(Path::new).chain([program]);
        let mut command = Command::new(parts.next().unwrap());
        command.args(parts);
        command
    };
    let works = build(&probe, folder.path(), "probe", &flags)
        .is_some_and(|probe| start(&probe).status().is_ok_and(|status| status.success()));
    if !works {
        eprintln!("skipped: {sanitizers} does not work here; tests/sanitize.sh says what to install");
        return;
    }
    for test in ["stress", "lanes"] {
        let program = build(&source(test), folder.path(), &format!("{test}-{name}"), &flags)
            .expect("the kernel's source compiles");
        let mut command = start(&program);
        command.args(args);
        run(command);
    }
}

#[test]
fn address_sanitizer_finds_nothing() {
    sanitized("asan", "address,undefined", &[], ["16", "10000"]);
}

#[test]
fn thread_sanitizer_finds_nothing() {
    // It needs the address space as it was before kernels randomized 32 bits of it.
    sanitized(
        "tsan",
        "thread",
        &["setarch", std::env::consts::ARCH, "-R"],
        ["8", "2000"],
    );
}
