//! What a user reads when something goes wrong, and what he is told to do next.

use std::path::PathBuf;
use std::process::Output;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{gpu_run_on, run_on, text};
use crate::{Tested, expect, wasm};

/// A test's name and what it does.
type Test = (&'static str, fn() -> Tested);
/// The same for a test that is given an engine.
type EngineTest = (&'static str, fn(&str) -> Tested);

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("found/03_panic_without_names", panic_without_names),
        ("found/03_recursion_is_folded", recursion_is_folded),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("found/03_wasi_panic", wasi_panic),
        ("found/03_wasi_panic_calls", wasi_panic_calls),
        ("found/03_older_std", older_std),
        ("found/03_own_words", own_words),
    ]
}

/// The last line on stderr, as JSON.
fn last(output: &Output) -> Result<Value, Failed> {
    let stderr = text(&output.stderr);
    let last = stderr.lines().last().ok_or("nothing on stderr")?;
    serde_json::from_str(last).map_err(|error| format!("{last}: {error}").into())
}

fn has(output: &Output, wanted: &Value) -> Tested {
    let object = last(output)?;
    for (key, value) in wanted.as_object().ok_or("an object")? {
        expect(object[key] == *value, &format!("{key} must be {value}"), output)?;
    }
    Ok(())
}

/// A module from its text, in a folder of its own.
fn module(source: &str) -> Result<(TempDir, String), Failed> {
    let folder = tempfile::tempdir()?;
    let file: PathBuf = folder.path().join("module.wat");
    std::fs::write(&file, source)?;
    Ok((folder, file.display().to_string()))
}

/// A program for WASI with a function `say` that writes text of its memory to stderr, and `code` in `_start` and other
/// functions. The text begins at 64.
fn says(data: &str, code: &str) -> Result<(TempDir, String), Failed> {
    module(&format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 64) "{data}")
        (func $say (param $at i32) (param $bytes i32)
            (i32.store (i32.const 0) (local.get $at))
            (i32.store (i32.const 4) (local.get $bytes))
            (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8))))
        {code})"#
    ))
}

const PANIC: &str = "\nthread 'main' (1) panicked at panics/src/main.rs:6:25:\n\
                     index out of bounds: the len is 0 but the index is 3\n\
                     note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

/// A panic says what std says, and no more.
fn wasi_panic(device: &str) -> Tested {
    let program = wasm("wasi", "panics");
    let output = run_on(device, [&program]);
    expect(output.status.code() == Some(134), "exit code 134", &output)?;
    expect(text(&output.stderr) == PANIC, "the panic alone", &output)?;
    let output = run_on(device, ["--report", "json", &program]);
    let wanted = json!({
        "kind": "panic", "message": "index out of bounds: the len is 0 but the index is 3", "exit_code": 134,
        "thread": 0, "faults": 1, "file": "panics/src/main.rs", "line": 6, "column": 25, "function": "panics::main",
    });
    has(&output, &wanted)?;
    let object = last(&output)?;
    expect(object.get("trap").is_none(), "no trap", &output)?;
    expect(
        object["backtrace"][0]["function"] == "abort",
        "all calls, with those of std",
        &output,
    )
}

/// The calls come where they are asked for, by this process's environment or the program's, and begin with its own.
fn wasi_panic_calls(device: &str) -> Tested {
    let program = wasm("wasi", "panics");
    for (here, option, first) in [
        (Some("1"), None, Some("panics::main")),
        (None, Some("RUST_BACKTRACE=1"), Some("panics::main")),
        (None, Some("RUST_BACKTRACE=full"), Some("abort")),
        (Some("full"), None, Some("abort")),
        (Some("1"), Some("RUST_BACKTRACE=0"), None),
        (Some("0"), None, None),
    ] {
        let mut command = gpu_run_on(device);
        command.envs(here.map(|value| ("RUST_BACKTRACE", value)));
        command.args(option.iter().flat_map(|option| ["--env", option]));
        let output = command.arg(&program).output()?;
        let stderr = text(&output.stderr);
        let found = stderr
            .lines()
            .find_map(|line| line.strip_prefix("  --> 0: ")?.split(' ').next());
        expect(
            found == first,
            &format!("{here:?} {option:?}: the first call {first:?}"),
            &output,
        )?;
        expect(output.status.code() == Some(134), "exit code 134", &output)?;
    }
    Ok(())
}

/// A module without its custom sections, names among them.
fn stripped(wasm: &[u8]) -> Vec<u8> {
    let (mut kept, mut at) = (wasm[..8].to_vec(), 8);
    while at < wasm.len() {
        let (mut size, mut shift, mut body) = (0, 0, at + 1);
        loop {
            let byte = wasm[body];
            size |= usize::from(byte & 0x7f) << shift;
            (shift, body) = (shift + 7, body + 1);
            if byte < 0x80 {
                break;
            }
        }
        if wasm[at] != 0 {
            kept.extend(&wasm[at..body + size]);
        }
        at = body + size;
    }
    kept
}

/// Then what std has printed says that it was a panic.
fn panic_without_names() -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("stripped.wasm");
    std::fs::write(&file, stripped(&std::fs::read(wasm("wasi", "panics"))?))?;
    let file = file.display().to_string();
    let output = run_on("cpu", [&file]);
    expect(output.status.code() == Some(134), "exit code 134", &output)?;
    expect(text(&output.stderr).ends_with(PANIC), "the panic last", &output)?;
    let output = run_on("cpu", ["--report", "json", &file]);
    has(
        &output,
        &json!({ "kind": "panic", "file": "panics/src/main.rs", "line": 6, "exit_code": 134 }),
    )
}

/// std before 1.73 prints in pieces, and in another order; its functions have had other names.
fn older_std(device: &str) -> Tested {
    let (_folder, file) = says(
        "thread 'main' panicked at 'it's no', src/main.rs:2:5\\n",
        r#"(func $abort (unreachable))
        (func $__rust_start_panic (call $abort))
        (func $rust_panic (call $__rust_start_panic))
        (func $_ZN3app4main17h0123456789abcdefE (call $rust_panic))
        (func (export "_start")
            (call $say (i32.const 64) (i32.const 8)) (call $say (i32.const 72) (i32.const 4))
            (call $say (i32.const 76) (i32.const 15)) (call $say (i32.const 91) (i32.const 7))
            (call $say (i32.const 98) (i32.const 3)) (call $say (i32.const 101) (i32.const 15))
            (call $say (i32.const 116) (i32.const 1))
            (call $_ZN3app4main17h0123456789abcdefE))"#,
    )?;
    let output = run_on(device, ["--report", "json", &file]);
    let wanted = json!({
        "kind": "panic", "message": "it's no", "file": "src/main.rs", "line": 2, "column": 5, "exit_code": 134,
        "function": "app::main",
    });
    has(&output, &wanted)?;
    let output = run_on(device, [&file]);
    expect(
        text(&output.stderr) == "thread 'main' panicked at 'it's no', src/main.rs:2:5\n",
        "the panic alone",
        &output,
    )
}

/// A program that prints what looks like a panic, and then traps in its own code.
fn own_words(device: &str) -> Tested {
    let (_folder, file) = says(
        "thread 'main' panicked at src/main.rs:2:5:\\nno\\n",
        r#"(func $work (export "_start") (call $say (i32.const 64) (i32.const 46)) (unreachable))"#,
    )?;
    let output = run_on(device, ["--report", "json", &file]);
    has(
        &output,
        &json!({ "kind": "trap", "message": "unreachable", "function": "work" }),
    )?;
    let output = run_on(device, [&file]);
    expect(
        text(&output.stderr).contains("no\nerror: trap: unreachable\n  --> 0: work ("),
        "the trap, and where",
        &output,
    )
}

/// A recursion is one line, and how it began is shown.
fn recursion_is_folded() -> Tested {
    let (_folder, file) = module(
        r#"(module
        (func $down (param i32)
            (if (i32.eqz (local.get 0)) (then (unreachable)))
            (call $down (i32.sub (local.get 0) (i32.const 1))))
        (func $outer (call $down (i32.const 40)))
        (func (export "main") (call $outer)))"#,
    )?;
    let output = run_on("cpu", [&file]);
    let stderr = text(&output.stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    let fits = |line: usize, start: &str, end: &str| {
        let line = lines.get(line).copied().unwrap_or_default();
        line.starts_with(start) && line.ends_with(end)
    };
    expect(
        fits(1, "  --> 0: down (wasm offset", ")")
            && fits(2, "  --> 1: down (wasm offset", ") (x 40)")
            && fits(3, "  --> 41: outer (", ")")
            && fits(4, "  --> 42: ", ")")
            && lines.len() == 5,
        "a line with a count, then the others",
        &output,
    )?;
    let output = run_on(
        "cpu",
        [
            "--max-call-depth",
            "1000",
            "--invoke",
            "fib",
            &wasm("wat", "fib"),
            "100000",
        ],
    );
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("0: fib (wasm offset") && stderr.contains(" (x ") && stderr.contains(" more calls …\n"),
        "those that are not recorded are counted",
        &output,
    )
}
