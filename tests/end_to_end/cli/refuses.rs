//! What is refused before it runs, with what the message must say.

use crate::common::{fixture, run, text};
use crate::support::{Test, Tested, expect, wasm};

/// The tests, which need no engine.
pub fn general() -> Vec<Test> {
    vec![
        ("refuses/not_wasm", || {
            refuses("not_wasm.wasm", &["not a WebAssembly module"])
        }),
        ("refuses/fuel_for_a_program", fuel_for_a_program),
        ("refuses/truncated", || {
            refuses("truncated.wasm", &["cut off", "offset 0x"])
        }),
        ("refuses/invalid", || {
            refuses("invalid.wasm", &["type mismatch", "offset 0x", "function"])
        }),
        ("refuses/gc", || {
            refuses("gc.wasm", &["garbage collection (GC) proposal", "offset 0x"])
        }),
        ("refuses/typed_function_references", || {
            refuses(
                "typed_function_references.wasm",
                &["typed function references proposal"],
            )
        }),
        ("refuses/stack_switching", || {
            refuses("stack_switching.wasm", &["stack-switching proposal"])
        }),
        ("refuses/unknown_import", || {
            refuses("unknown_import.wasm", &["unknown import `"])
        }),
        ("refuses/spawn_without_start", || {
            refuses(
                "spawn_without_start.wasm",
                &["exports no function `wasi_thread_start` of type (i32, i32) -> ()"],
            )
        }),
        ("refuses/spawn_unshared", || {
            refuses("spawn_unshared.wasm", &["its memory 0 is not a shared one"])
        }),
        ("refuses/spawn_type", || {
            refuses(
                "spawn_type.wasm",
                &["import `wasi.thread-spawn` with type (i64) -> (i32)", "(i32) -> (i32)"],
            )
        }),
        ("refuses/gpu_memory64", || {
            refuses(
                "gpu_memory64.wasm",
                &["`gpu_run_v1.alloc`", "64-bit addresses", "offset 0x", "function `main`"],
            )
        }),
        ("refuses/gpu_no_memory", || {
            refuses(
                "gpu_no_memory.wasm",
                &["`gpu_run_v1.print`", "no memory", "offset 0x", "function `main`"],
            )
        }),
        ("refuses/no_entry", || {
            refuses("no_entry.wasm", &["no entry", "--invoke"])
        }),
        ("refuses/missing_file", || {
            refuses("no-such-file.wasm", &["cannot read the module", "no-such-file.wasm"])
        }),
        ("refuses/main_on_many_threads", main_on_many_threads),
        ("refuses/no_room_for_stacks", no_room_for_stacks),
        ("refuses/unknown_thread_locals", unknown_thread_locals),
        ("refuses/damaged_program", damaged_program),
        ("refuses/recursion", denied_recursion),
        ("refuses/ptx_without_gpu", ptx_without_gpu),
    ]
}

pub fn refuses(file: &str, parts: &[&str]) -> Tested {
    let output = run(["--device", "cpu", &fixture("bad").join(file).display().to_string()]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    for part in parts.iter().chain(&[file]) {
        expect(
            stderr.contains(part),
            &format!("the message must say {part:?}"),
            &output,
        )?;
    }
    expect(!stderr.contains("panicked"), "no panic", &output)
}

fn main_on_many_threads() -> Tested {
    let output = run(["--device", "cpu", "--threads", "8", &wasm("release", "hello")]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    for way in ["gpu_std::kernel!", "--instances", "atomics"] {
        expect(
            text(&output.stderr).contains(way),
            &format!("the message must name {way}"),
            &output,
        )?;
    }
    Ok(())
}

fn no_room_for_stacks() -> Tested {
    let output = run([
        "--device",
        "cpu",
        "--threads",
        "40000",
        "--max-memory",
        "64MiB",
        &wasm("release", "spmd"),
    ]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        stderr.contains("stacks need") && stderr.contains("--thread-stack"),
        "the message must say why and what to do",
        &output,
    )
}

/// A module for threads that has thread-locals must tell their size.
fn unknown_thread_locals() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("untold.wat");
    std::fs::write(
        &file,
        r#"(module (memory 1 2 shared) (global $__tls_base (mut i32) (i32.const 1024)) (func (export "main")))"#,
    )?;
    let file = file.display().to_string();
    let output = run(["--device", "cpu", &file]);
    expect(output.status.success(), "one thread needs no copy", &output)?;
    let output = run(["--device", "cpu", "--threads", "2", &file]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        text(&output.stderr).contains("--export=__tls_size"),
        "the message must say what to do",
        &output,
    )
}

/// Each changed byte of a program leads to an error or the same program, never to a crash.
fn damaged_program() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("fib.gbc").display().to_string();
    let output = run(["translate", &wasm("wat", "fib"), "--emit", "bytecode", "-o", &file]);
    expect(output.status.success(), "translation must work", &output)?;
    let good = std::fs::read(&file)?;
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        std::fs::write(&file, &bad)?;
        let output = run(["--device", "cpu", "--timeout", "2s", "--invoke", "fib", &file, "10"]);
        expect(
            output.status.code() == Some(2),
            &format!("byte {at} changed: exit code must be 2"),
            &output,
        )?;
    }
    Ok(())
}

/// A translated program counts fuel if it was translated so, of any number, and cannot begin to.
fn fuel_for_a_program() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("fib.gbc").display().to_string();
    let module = wasm("wat", "fib");
    let translate = |options: &[&str]| {
        let words = ["translate", &module, "--emit", "bytecode", "-o", &file];
        run(words.iter().chain(options))
    };
    let fib = ["--device", "cpu", "--invoke", "fib", &file, "15"];
    let counted = translate(&["--fuel", "100"]);
    expect(counted.status.success(), "translation must work", &counted)?;
    let output = run(["inspect", &file]);
    expect(
        text(&output.stdout).contains("fuel: 100 units"),
        "it counts fuel",
        &output,
    )?;
    let output = run(fib);
    let right = output.status.code() == Some(134) && text(&output.stderr).contains("trap: out of fuel");
    expect(right, "that is too little", &output)?;
    let output = run(["--fuel", "1000000"].iter().chain(&fib));
    expect(output.status.success(), "another number is enough", &output)?;
    let other = translate(&[]);
    expect(other.status.success(), "translation must work", &other)?;
    let output = run(["--fuel", "1000000"].iter().chain(&fib));
    let right = output.status.code() == Some(2) && text(&output.stderr).contains("--fuel needs the module");
    expect(right, "it is refused", &output)?;
    let output = run(["translate", &module, "--emit", "wasm", "--fuel", "100", "-o", &file]);
    expect(output.status.code() == Some(2), "a module has no fuel", &output)
}

/// `--deny-recursion` shows a cycle by name, whatever is asked of the module; what does not recurse
/// runs with it.
fn denied_recursion() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("out.gbc").display().to_string();
    for (name, cycle) in [
        ("fib", "`fib -> fib`"),
        ("mutual", "`even -> odd -> even`"),
        ("ackermann", "`ackermann -> ackermann`"),
        ("indirect_recursion", "`count -> (indirect) by_one -> count`"),
    ] {
        let module = wasm("wat", name);
        for command in [
            &["run", "--device", "cpu", "--deny-recursion", &module][..],
            &[
                "translate",
                "--deny-recursion",
                "--emit",
                "bytecode",
                "-o",
                &file,
                &module,
            ],
            &["inspect", "--deny-recursion", &module],
        ] {
            let output = run(command);
            expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
            expect(
                text(&output.stderr).contains(&format!("recursion: {cycle}")),
                &format!("the message must show {cycle}"),
                &output,
            )?;
        }
    }
    let module = wasm("wat", "indirect");
    let output = run(["--device", "cpu", "--deny-recursion", "--invoke", "nested", &module]);
    expect(
        text(&output.stdout).trim() == "32",
        "no recursion: it must run",
        &output,
    )?;
    let output = run([
        "translate",
        "--deny-recursion",
        "--emit",
        "bytecode",
        "-o",
        &file,
        &module,
    ]);
    expect(output.status.success(), "no recursion: it must translate", &output)?;
    let output = run(["--device", "cpu", "--deny-recursion", "--invoke", "nested", &file]);
    expect(output.status.code() == Some(2), "a program cannot be checked", &output)?;
    expect(
        text(&output.stderr).contains("gpu-run translate"),
        "the message must say what to do",
        &output,
    )
}

/// The PTX engine is for GPUs: the CPU never stands in for one silently.
fn ptx_without_gpu() -> Tested {
    let output = run(["--device", "cpu", "--engine", "ptx", &wasm("release", "hello")]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        output.stdout.is_empty() && text(&output.stderr).contains("the PTX engine needs a GPU"),
        "the message must say why",
        &output,
    )
}
