//! `gpu-run snapshot`.

use std::path::PathBuf;
use std::process::Output;

use libtest_mimic::Failed;

use crate::common::{fixture, gpu_run, options, run_on, text};
use crate::support::{EngineTest, Test, Tested, expect, wasm};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("snapshot/segments", what_was_dropped_is_gone),
        ("snapshot/initialized", what_has_run_does_not_again),
        ("snapshot/refuses", what_has_no_snapshot),
    ]
}

/// Tests of the programs that come of it.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("snapshot/run", a_run_begins_there),
        ("snapshot/processes", processes_begin_there),
    ]
}

fn module() -> PathBuf {
    fixture("wat").join("snapshot.wat")
}

/// A folder with `warm.gbc`, the fixture after `ready`.
fn warm() -> Result<(tempfile::TempDir, PathBuf), Failed> {
    let dir = tempfile::tempdir()?;
    let warm = dir.path().join("warm.gbc");
    let mut command = gpu_run();
    command
        .args(["snapshot", "--at", "ready", "-o"])
        .arg(&warm)
        .arg(module());
    let output = command.output()?;
    expect(output.status.success(), "there is a snapshot", &output)?;
    Ok((dir, warm))
}

fn a_run_begins_there(engine: &str) -> Tested {
    let (_dir, warm) = warm()?;
    for (program, says, state) in [
        (module(), "raw   1 a 10 0\n", "1202\n"),
        (warm, "ready 7 b 42 4\n", "3420\n"),
    ] {
        let run = run_on(engine, [&program]);
        expect(text(&run.stdout) == says, "it begins as the instance was", &run)?;
        let program = program.display().to_string();
        let run = run_on(engine, ["--invoke", "state", &program]);
        expect(text(&run.stdout) == state, "globals and sizes are as they were", &run)?;
    }
    Ok(())
}

/// The same as with `--snapshot-at`.
fn processes_begin_there(engine: &str) -> Tested {
    let (_dir, warm) = warm()?;
    let batch = |more: &[&str], program: &PathBuf| -> Result<Output, Failed> {
        let mut command = gpu_run();
        command
            .arg("batch")
            .args(options(engine))
            .args(["--compile-time", "10m"]);
        Ok(command.args(["--instances", "100"]).args(more).arg(program).output()?)
    };
    let (one, other) = (batch(&["--snapshot-at", "ready"], &module())?, batch(&[], &warm)?);
    expect(one.stdout == other.stdout, "both begin alike", &other)?;
    expect(
        text(&one.stdout) == "ready 7 b 42 4\n".repeat(100),
        "all begin there",
        &one,
    )
}

fn what_was_dropped_is_gone() -> Tested {
    let (_dir, warm) = warm()?;
    let call = |export: &str| run_on("cpu", ["--invoke", export, &warm.display().to_string()]);
    let copies = call("copies");
    expect(
        text(&copies.stdout) == "114\n",
        "a segment that was not dropped is there",
        &copies,
    )?;
    let dropped = call("copies_dropped");
    let traps = text(&dropped.stderr).contains("out of bounds memory access");
    expect(traps, "a segment that was dropped is empty", &dropped)
}

/// A module for WASI that is no command: `_initialize` has run once, and has as much memory as before.
fn what_has_run_does_not_again() -> Tested {
    let dir = tempfile::tempdir()?;
    let (module, warm) = (dir.path().join("reactor.wat"), dir.path().join("warm.gbc"));
    std::fs::write(
        &module,
        r#"(module
          (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
          (memory (export "memory") 1)
          (global $count (mut i32) (i32.const 0))
          (func (export "_initialize") (global.set $count (i32.add (global.get $count) (i32.const 10))))
          (func (export "get") (result i32)
            (drop (call $yield))
            (i32.add (global.get $count) (memory.grow (i32.const 30000)))))"#,
    )?;
    for at in [&[][..], &["--at", "_initialize"]] {
        let mut command = gpu_run();
        command.arg("snapshot").args(at).arg(&module).arg("-o").arg(&warm);
        let output = command.output()?;
        expect(output.status.success(), "there is a snapshot", &output)?;
        let get = run_on("cpu", ["--invoke", "get", &warm.display().to_string()]);
        expect(text(&get.stdout) == "11\n", "it is as it was", &get)?;
    }
    Ok(())
}

fn what_has_no_snapshot() -> Tested {
    let dir = tempfile::tempdir()?;
    let heap = dir.path().join("heap.gbc");
    let translated = gpu_run()
        .args(["translate", "--emit", "bytecode", "-o"])
        .arg(&heap)
        .arg(wasm("release", "collections"))
        .output()?;
    expect(translated.status.success(), "it is translated", &translated)?;
    let threads = wasm("wasi-threads", "c_pthreads");
    let module = module().display().to_string();
    for (words, says) in [
        (vec![&module[..]], "nothing of the module is to be called"),
        (vec!["--at", "reddy", &module], "no function `reddy` is exported"),
        (
            vec!["--at", "_start", &heap.display().to_string()[..]],
            "is a translated program",
        ),
        (vec!["--at", "_start", &threads], "built for threads"),
        (vec!["--at", "ready", "--tmpfs", "1MiB", &module], "nothing of --tmpfs"),
    ] {
        let output = gpu_run()
            .arg("snapshot")
            .args(words)
            .arg("-o")
            .arg(dir.path().join("out.gbc"))
            .output()?;
        let refused = !output.status.success() && text(&output.stderr).contains(says);
        expect(refused, says, &output)?;
    }
    Ok(())
}
