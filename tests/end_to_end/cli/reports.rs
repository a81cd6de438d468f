//! What `--report`, `--stats` and the options of debug messages say, beside what `debug.rs` asks of them.

use std::process::{Command, Output};

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::common::{gpu_run, root, run, run_on, text};
use crate::support::{EngineTest, Test, Tested, expect, stats, wasm};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("report/json_of_leaks", json_of_leaks),
        ("report/json_of_leaks_and_lost_output", json_of_other_failures),
        ("report/segment_that_does_not_fit", segment),
        ("stats/heap", heap_stats),
        ("options/spelling", spelling),
        ("options/no_debug_of_a_program", no_debug_of_program),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![("report/start_function", start_function), ("report/thread_0", thread_0)]
}

/// The test of the WASI testsuite's adapter, and whether there is a Python to run it.
pub fn adapter() -> (Test, bool) {
    let python = Command::new("python3").arg("--version").output();
    (("adapter/as_a_script", adapter_as_script), python.is_ok())
}

/// The last line on stderr, as JSON.
fn last(output: &Output) -> Result<Value, Failed> {
    let stderr = text(&output.stderr);
    let last = stderr.lines().last().ok_or("nothing on stderr")?;
    serde_json::from_str(last).map_err(|error| format!("{last}: {error}").into())
}

/// A trap in the start function is reported as any other, after the function's output.
fn start_function(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("start.wat").display().to_string();
    let source = "(module
        (import \"gpu_run_v1\" \"dbg_i32\" (func $say (param i32)))
        (global $zero (mut i32) (i32.const 0))
        (func $divide (drop (i32.div_u (i32.const 1) (global.get $zero))))
        (func $start (call $say (i32.const 7)) (call $divide))
        (start $start)
        (func (export \"main\")))";
    std::fs::write(&module, source)?;
    let output = run_on(device, ["--report", "json", &module]);
    expect(output.status.code() == Some(134), "exit code 134", &output)?;
    let object = last(&output)?;
    let wanted = json!({
        "kind": "trap", "trap": "IntegerDivideByZero", "message": "integer divide by zero", "exit_code": 134,
        "thread": 0, "faults": 1, "function": "divide",
    });
    for (key, value) in wanted.as_object().ok_or("an object")? {
        expect(object[key] == *value, &format!("{key} must be {value}"), &output)?;
    }
    let calls = object["backtrace"].as_array().ok_or("a backtrace")?;
    expect(
        calls.len() == 2 && calls[1]["function"] == "start" && calls[0]["wasm_offset"] == object["wasm_offset"],
        "the calls",
        &output,
    )?;
    let output = run_on(device, [&module]);
    let stderr = text(&output.stderr);
    expect(
        stderr.starts_with("7\nerror: trap: integer divide by zero\n  --> 0: divide ("),
        "the message comes before the report",
        &output,
    )
}

/// A module that cannot be instantiated: no thread has run.
fn segment() -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("segment.wat").display().to_string();
    let source = r#"(module (memory 1) (data (i32.const 65536) "x") (func (export "main")))"#;
    std::fs::write(&module, source)?;
    let output = run_on("cpu", ["--report", "json", &module]);
    let object = last(&output)?;
    expect(
        object["trap"] == "MemoryOutOfBounds" && object["thread"].is_null() && object["faults"] == 0,
        "the trap, and no thread",
        &output,
    )?;
    let output = run_on("cpu", [&module]);
    expect(
        text(&output.stderr).contains("segment.wat"),
        "it names the module",
        &output,
    )
}

/// One of several threads is named, also if it is the first.
fn thread_0(device: &str) -> Tested {
    let module = wasm("wat", "debug");
    for (threads, named) in [("1", false), ("4", true)] {
        let output = run_on(device, ["--threads", threads, "--invoke", "ends", &module, "0", "0"]);
        let said = text(&output.stderr).contains("error: trap: unreachable (thread 0)\n");
        expect(said == named, &format!("it must be named: {named}"), &output)?;
    }
    Ok(())
}

/// Leaks are data, and text as before.
fn json_of_leaks() -> Tested {
    let options = ["--report", "json", "--leak-check", "--invoke", "leak"];
    let output = run_on("cpu", options.iter().chain(&[&*wasm("wat", "bad_frees")]));
    let object = last(&output)?;
    let leak = &object["leaks"][0];
    expect(
        leak["bytes"] == 100 && leak["blocks"] == 1 && leak["function"] == "leak" && leak["wasm_offset"].is_u64(),
        "what was leaked, and by whom",
        &output,
    )?;
    expect(
        leak["backtrace"][0]["function"] == "leak" && object["leaks"][1].is_null(),
        "the calls, and no other leak",
        &output,
    )?;
    expect(
        object["places"][0]
            .as_str()
            .is_some_and(|place| place.starts_with("100 bytes in 1 blocks, ")),
        "the text",
        &output,
    )
}

/// Leaks are counted if they are looked for; the classes add up to the whole, and come in the order of their sizes.
fn heap_stats() -> Tested {
    let leak = wasm("wat", "bad_frees");
    let output = run_on("cpu", ["--leak-check", "--stats=json", "--invoke", "leak", &leak]);
    let heap = stats(&output)?["heap"].clone();
    expect(heap["leaked"] == 1 && heap["leaked_bytes"] == 100, "the leak", &output)?;
    let program = wasm("release", "collections");
    let output = run_on("cpu", ["--stats=json", &program]);
    let heap = stats(&output)?["heap"].clone();
    expect(heap.get("leaked").is_none(), "nobody looked for leaks", &output)?;
    let classes = heap["classes"].as_object().ok_or("classes")?;
    for key in ["allocated", "freed", "live", "live_bytes"] {
        let sum: Option<u64> = classes.values().map(|class| class[key].as_u64()).sum();
        expect(
            sum.is_some() && sum == heap[key].as_u64(),
            &format!("{key} of the classes must add up"),
            &output,
        )?;
    }
    let in_order = |found: Vec<&str>| {
        let sizes: Vec<u64> = found.iter().map(|name| name.parse().unwrap_or(u64::MAX)).collect();
        sizes.len() > 3 && sizes.is_sorted()
    };
    let line = text(&output.stderr);
    let (_, found) = line.split_once("\"classes\":{").ok_or("classes")?;
    let names = found
        .split("\":{\"allocated\"")
        .filter_map(|part| part.rsplit('"').next());
    let names: Vec<_> = names.take(classes.len()).collect();
    expect(in_order(names), "in the order of their sizes", &output)?;
    let output = run_on("cpu", ["--stats=full", &program]);
    let printed = text(&output.stderr);
    let names = printed
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.strip_suffix(':'));
    let names = names.filter(|name| name.parse::<u64>().is_ok() || *name == "larger");
    expect(in_order(names.collect()), "for people too", &output)
}

/// Filters add up; names of levels, and the size of a frame, may be in capital letters.
fn spelling() -> Tested {
    let module = wasm("wat", "debug");
    let filters = ["--debug-only", "thread=3", "--debug-only", "thread=5-6,9"];
    let call = ["--threads", "16", "--invoke", "messages", &module, "1", "0"];
    let output = run_on("cpu", filters.iter().chain(&call));
    let stderr = text(&output.stderr);
    let mut found: Vec<_> = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("message 0 of thread "))
        .collect();
    found.sort_unstable();
    expect(found == ["3", "5", "6", "9"], "threads of both", &output)?;
    let output = run_on("cpu", ["--debug-level", "WARN", "--invoke", "levels", &module]);
    expect(text(&output.stderr).lines().count() == 2, "WARN and ERROR", &output)?;
    let folder = tempfile::tempdir()?;
    let picture = folder.path().join("picture.png").display().to_string();
    let output = run_on("cpu", ["--frame", &picture, "--size", "8X6", &wasm("wat", "wasi")]);
    expect(output.status.code() != Some(2), "a size", &output)
}

/// With `--no-debug`, a program that was translated with messages shows none, and none are wanted of it.
fn no_debug_of_program() -> Tested {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("debug.gbc").display().to_string();
    let module = wasm("wat", "debug");
    let output = gpu_run()
        .args(["translate", "--emit", "bytecode", "-o", &program, &module])
        .output()?;
    expect(output.status.success(), "it must be translated", &output)?;
    for name in ["values", "levels", "parts"] {
        let output = run_on("cpu", ["--invoke", name, &program]);
        expect(!output.stderr.is_empty(), "it has messages", &output)?;
        let output = run_on("cpu", ["--no-debug", "--invoke", name, &program]);
        expect(
            output.status.success() && output.stderr.is_empty(),
            "nothing must be said",
            &output,
        )?;
    }
    let told = |options: &[&str], file: &str| {
        let output = run_on("cpu", options.iter().chain(&["-v", "--invoke", "levels", file]));
        text(&output.stderr).contains("--no-debug hides its messages")
    };
    let found = [
        told(&["--no-debug"], &program),
        told(&["--no-debug"], &module),
        told(&[], &program),
    ];
    match found {
        [true, false, false] => Ok(()),
        _ => Err(format!("told of instructions that are left: {found:?}").into()),
    }
}

/// Started as a script it prints its version, and fails for all else. A runner that expects more must not take silence
/// for tests that passed.
fn adapter_as_script() -> Tested {
    let script = root().join("tests/wasi-testsuite-adapter.py");
    let run = |args: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(&script).args(args).env("GPU_RUN", gpu_run().get_program());
        command.output()
    };
    let output = run(&["--version"])?;
    let version = concat!("gpu-run ", env!("CARGO_PKG_VERSION"));
    expect(text(&output.stdout).trim() == version, version, &output)?;
    for args in [&[][..], &["--test-file", "a.wasm"], &["--version", "x"]] {
        let output = run(args)?;
        expect(
            !output.status.success() && text(&output.stderr).contains("compute_argv"),
            &format!("{args:?} must be refused"),
            &output,
        )?;
    }
    Ok(())
}

fn json_of_other_failures() -> Tested {
    let module = wasm("wat", "bad_frees");
    let leaks = run([
        "--device",
        "cpu",
        "--report",
        "json",
        "--leak-check",
        "--invoke",
        "leak",
        &module,
    ]);
    let heap = run([
        "--device",
        "cpu",
        "--report",
        "json",
        "--heap-check",
        "--invoke",
        "overflow",
        &module,
    ]);
    let picture = wasm("release", "frame");
    let lost = run(["--device", "cpu", "--report", "json", "--frame", "/dev/full", &picture]);
    for (output, kind, code) in [(&leaks, "leaks", 23), (&heap, "trap", 134), (&lost, "output", 1)] {
        let object: serde_json::Value = serde_json::from_slice(&output.stderr)?;
        expect(object["kind"] == kind && object["exit_code"] == code, kind, output)?;
        expect(output.status.code() == Some(code), "its code is the process's", output)?;
    }
    let object: serde_json::Value = serde_json::from_slice(&heap.stderr)?;
    expect(
        object["address"].is_u64() && object["block"]["size"] == 40,
        "it names the block",
        &heap,
    )
}
