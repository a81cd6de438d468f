//! What rustc makes of std: guests of another version than ours, builds for threads, and what is folded away.

use crate::common::{run, run_on, text};
use crate::support::{EngineTest, Test, Tested, expect, wasm};

/// The folder of modules by an older rustc.
const OLD: &str = "rustc-1.63";

/// Tests that need no engine.
pub fn general() -> Vec<Test> {
    vec![
        ("inspect/system_allocator", system_allocator),
        ("inspect/lacks_platform", lacks_platform),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("rustc-1.63/hello", hello),
        ("rustc-1.63/panic", panic),
        ("rustc-1.63/panic_hook", panic_hook),
        ("rustc-1.63/panic_literal", panic_literal),
        ("rustc-1.63/panic_number", panic_number),
        ("rustc-1.63/files", files),
        ("threads/locks/leaks", locks_leak_nothing),
    ]
}

fn program(device: &str, name: &str, code: i32, stdout: &str, stderr: &str) -> Tested {
    let output = run_on(device, [&wasm(OLD, name)]);
    expect(
        output.status.code() == Some(code),
        &format!("exit code {code}"),
        &output,
    )?;
    expect(text(&output.stdout) == stdout, &format!("stdout {stdout:?}"), &output)?;
    expect(text(&output.stderr) == stderr, &format!("stderr {stderr:?}"), &output)
}

/// Formats and allocates. Nothing is wrong, so nothing is said.
fn hello(device: &str) -> Tested {
    let stdout = "Hello from an older Rust!\n(3, -4)    0.333 {1: 1, 2: 4, 3: 9, 4: 16}\n";
    program(device, "hello", 0, stdout, "to stderr\n")
}

const NOTE: &str = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

fn panic(device: &str) -> Tested {
    let said = format!("\nthread 'main' (0) panicked at rustc-1.63/panic.rs:7:9:\n2 parts, wanted 3\n{NOTE}");
    program(device, "panic", 101, "before the panic\n", &said)
}

fn panic_hook(device: &str) -> Tested {
    let stdout = "hook: Some(\"no such digit\") at Some((9, 5))\n";
    program(device, "panic_hook", 101, stdout, "")
}

/// The payload is the text, which a hook passes on.
fn panic_literal(device: &str) -> Tested {
    let said = format!("\nthread 'main' (0) panicked at rustc-1.63/panic_literal.rs:11:9:\na text\n{NOTE}");
    program(device, "panic_literal", 101, "hook: Some(\"a text\")\n", &said)
}

fn panic_number(device: &str) -> Tested {
    let said = format!("\nthread 'main' (0) panicked at rustc-1.63/panic_number.rs:4:5:\nBox<dyn Any>\n{NOTE}");
    program(device, "panic_number", 101, "", &said)
}

/// The file is not asked for anywhere in the module, but the panic comes with what to do.
fn files(device: &str) -> Tested {
    let output = run_on(device, [&wasm(OLD, "files")]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(101), "it panics", &output)?;
    for part in [
        "rustc-1.63/files.rs:4:",
        "Unsupported",
        "note: std on wasm32-unknown-unknown",
        "`gpu_std::{fs",
        "wasm32-wasip1",
    ] {
        expect(stderr.contains(part), &format!("must say {part:?}"), &output)?;
    }
    Ok(())
}

/// std's own lists of destructors call `System` directly.
fn system_allocator() -> Tested {
    let output = run(["inspect", "--json", &wasm("threads", "locks")]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut patterns = object["patterns"].as_array().ok_or("patterns")?.iter();
    let allocator = patterns.find(|pattern| pattern["pattern"] == "allocator");
    let found = allocator.is_some_and(|pattern| {
        let names = pattern["found"].as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(|name| name.as_str()).collect();
        pattern["status"] == "found" && names.iter().any(|name| name.contains("std::alloc::System as"))
    });
    expect(found, "the allocator is replaced", &output)
}

/// The blocks of all threads are the heap's, and something still points to those that are left in the end.
fn locks_leak_nothing(device: &str) -> Tested {
    let output = run_on(
        device,
        [
            "--leak-check",
            "--threads",
            "64",
            "--stats=json",
            &wasm("threads", "locks"),
        ],
    );
    expect(output.status.success(), "nothing leaks", &output)?;
    let heap = &crate::support::stats(&output)?["heap"];
    expect(
        heap["allocated"].as_u64() >= Some(64) && heap["freed"].as_u64() >= Some(64),
        "the device's heap served the threads",
        &output,
    )
}

fn lacks_platform() -> Tested {
    let output = run(["inspect", &wasm(OLD, "files")]);
    let line = "what std may lack: ";
    expect(text(&output.stdout).contains(line), "it names what works", &output)?;
    // Other programs get no such line: neither those that use gpu_std, nor those that fail otherwise.
    for name in ["hello", "panic", "std_files", "tcp", "time", "wordcount", "unwind"] {
        let output = run(["inspect", &wasm("release", name)]);
        expect(!text(&output.stdout).contains(line), name, &output)?;
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("text.wat");
    let module = |import: &str, code: i32| {
        format!(
            r#"(module {import} (memory 1) (data (i32.const 8) "x operation not supported on this platform")
                (func (export "main") (result i32) (i32.const {code})))"#
        )
    };
    let wasi = r#"(import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))"#;
    for (import, code, helps) in [("", 1, true), ("", 0, false), ("", 3, false), (wasi, 1, false)] {
        std::fs::write(&file, module(import, code))?;
        let output = run(["--device".as_ref(), "cpu".as_ref(), file.as_os_str()]);
        expect(output.status.code() == Some(code), "its own code", &output)?;
        let said = text(&output.stderr).contains("note: std on wasm32-unknown-unknown has no files");
        expect(said == helps, "it says so where main gives an error", &output)?;
    }
    Ok(())
}
