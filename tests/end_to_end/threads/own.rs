//! Threads of `gpu_std::thread`, which programs for plain `wasm32-unknown-unknown` spawn. What the fixture `gpu_threads`
//! does without arguments is tested as that of any other.

use std::process::Output;

use crate::common::{run_on, text};
use crate::support::{Tested, Tests, bind, expect, shows_in_order, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = bind(
        device,
        [
            ("own/limit", limit as fn(&str) -> Tested),
            ("own/overflow", overflow),
            ("own/deadlock", deadlock),
            ("own/panic", panics),
            ("own/leave", leaves),
            ("own/parallelism", parallelism),
            ("own/std_local", std_local),
        ],
    );
    for threads in ["1", "3", "40"] {
        let test = move || rayon(device, threads);
        tests.push((format!("own/rayon/{threads}"), Box::new(test)));
    }
    tests
}

fn part(device: &str, options: &[&str], which: &str) -> Output {
    let module = wasm("release", "gpu_threads");
    let mut all = vec!["--timeout", "2m"];
    all.extend(options);
    all.extend([&*module, which]);
    run_on(device, all)
}

/// A part of the program ends well, having printed this.
fn prints(device: &str, options: &[&str], which: &str, wanted: &str) -> Tested {
    let output = part(device, options, which);
    expect(
        output.status.success() && text(&output.stdout) == wanted,
        &format!("it must end well, having printed {wanted}"),
        &output,
    )
}

/// One thread more than there can be is an error; when they have ended there is room again.
fn limit(device: &str) -> Tested {
    prints(device, &[], "limit", "true WouldBlock\nanother\n")
}

/// A stack of 64 KiB has room for some 240 frames of the fixture's, and nothing below it is written to.
///
/// Compiled, also where some functions are interpreted: the one that sets the limit, or the one that meets it.
fn overflow(device: &str) -> Tested {
    let mixed = ["random:1", "random:2", "random:3", "random:4"];
    let compiled = matches!(device, "ptx" | "emulator") && std::env::var_os("GPU_RUN_TEST_OPTIONS").is_none();
    let mixed = mixed.iter().filter(|_| compiled);
    let options = mixed.map(|coin| vec!["--compile", coin]);
    [vec![]]
        .into_iter()
        .chain(options)
        .try_for_each(|options| overflow_with(device, &options))
}

fn overflow_with(device: &str, options: &[&str]) -> Tested {
    let output = part(device, options, "overflow");
    expect(output.status.code() == Some(134), "it must end as a trap does", &output)?;
    shows_in_order(
        &output,
        &[
            "stack overflow",
            "gpu_threads::recurse",
            "more calls",
            "wasi_thread_start",
        ],
    )?;
    let told = text(&output.stderr);
    let frames = told
        .lines()
        .filter_map(|line| line.split("--> ").nth(1)?.split(':').next()?.parse().ok())
        .max();
    expect(
        frames.is_some_and(|frames: u32| (100..300).contains(&frames)),
        "the limit must be that of the stack",
        &output,
    )
}

fn deadlock(device: &str) -> Tested {
    let output = part(device, &[], "deadlock");
    expect(output.status.code() == Some(134), "it must end as a trap does", &output)?;
    shows_in_order(&output, &["deadlock: every thread waits", "lock_contended"])
}

fn panics(device: &str) -> Tested {
    let output = part(device, &[], "panic");
    expect(output.status.code() == Some(101), "it must end as natively", &output)?;
    shows_in_order(&output, &["panicked at rust/gpu_threads/", "the thread's own"])
}

/// The process ends with `main`, whatever the others do.
fn leaves(device: &str) -> Tested {
    prints(device, &[], "leave", "main returns\n")
}

/// The program is told `--threads`.
fn parallelism(device: &str) -> Tested {
    prints(device, &["--threads", "300"], "parallelism", "300\n")
}

/// A thread that uses what std keeps for each thread, of which there is one here, gets the program a warning.
fn std_local(device: &str) -> Tested {
    // The record at 64: a stack from 1024 to 2048, and element 0.
    const PROGRAM: &str = r#"(module
        (import "gpu_run_v1" "thread_spawn" (func $spawn (param i32) (result i32)))
        (import "gpu_run_v1" "i32.atomic.load" (func $load (param i32) (result i32)))
        (memory 1) (table 1 funcref) (elem (i32.const 0) $begin)
        (global $__stack_pointer (mut i32) (i32.const 4096))
        (data (i32.const 64) "\00\04\00\00\00\08\00\00")
        (func $std::thread::local::get (result i32) (i32.load (i32.const 8)))
        (func $begin (param i32 i32)
            (i32.store (i32.const 12) (i32.add (call $std::thread::local::get) (global.get $__stack_pointer))))
        (func (export "f") (result i32)
            (drop (call $spawn (i32.const 64)))
            (loop $wait (br_if $wait (i32.eqz (call $load (i32.const 76)))))
            (i32.load (i32.const 12))))"#;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("local.wat");
    std::fs::write(&file, PROGRAM)?;
    let output = run_on(
        device,
        ["--timeout", "1m", "--invoke", "f", &file.display().to_string()],
    );
    let told = "warning: the threads share what std takes for its only thread's own, so they may disturb each other in: \
                std::thread::local::get";
    expect(
        text(&output.stdout) == "2048\n" && text(&output.stderr).contains(told),
        "the thread must have its stack, and the user be warned",
        &output,
    )
}

fn rayon(device: &str, threads: &str) -> Tested {
    const EXPECTED: &str = r#"threads: true
primes: 2262
sorted: true
fib: 2584
words: {"brown": 100, "dog": 100, "fox": 100, "jumps": 100, "lazy": 100, "over": 100, "quick": 100, "the": 200}
pool: {0: Some("worker 0"), 1: Some("worker 1"), 2: Some("worker 2")}
"#;
    let module = wasm("threads", "rayon_pool");
    let output = run_on(device, ["--timeout", "2m", "--threads", threads, &module]);
    expect(
        output.status.success() && text(&output.stdout) == EXPECTED && output.stderr.is_empty(),
        "rayon must do what it does natively",
        &output,
    )
}
