//! The heap as programs use it: std's containers in many threads, memory that is used up, many blocks at once.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::{gpu_run_on, run, run_on, text};
use crate::heap::mistakes::{FOREIGN, TWICE, heap_leak, heap_mistake};
use crate::support::{Bound, Tested, Tests, expect, stats, wasm};

/// The tests for a device and engine, by name.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    let mut add = |name: String, test: Bound| tests.push((format!("memory/{name}"), test));
    // So many would take the emulator minutes.
    let many = if device == "emulator" { "2048" } else { "10240" };
    for threads in ["1", "32", many] {
        add(
            format!("containers/{threads}"),
            Box::new(move || containers(device, threads)),
        );
    }
    for threads in ["1", "64"] {
        add(
            format!("takes_all/{threads}"),
            Box::new(move || takes_all(device, threads)),
        );
        add(
            format!("takes_too_much/{threads}"),
            Box::new(move || takes_too_much(device, threads)),
        );
    }
    add("batch".into(), Box::new(move || batch(device)));
    add("batch_mistakes".into(), Box::new(move || batch_mistakes(device)));
    add("one_panics".into(), Box::new(move || one_panics(device)));
    add("stalled_reader".into(), Box::new(move || stalled_reader(device)));
    tests
}

/// Runs a kernel of `containers`.
fn kernel(device: &str, options: &[&str], threads: &str, name: &str) -> std::process::Output {
    let module = wasm("release", "containers");
    let own = ["--threads", threads, "--invoke", name, &module];
    run_on(device, options.iter().chain(&own))
}

/// Every thread uses all of them, and frees all of their memory.
fn containers(device: &str, threads: &str) -> Tested {
    let output = kernel(device, &["--leak-check", "--stats=json"], threads, "each");
    expect(
        output.status.success() && text(&output.stdout).trim() == "Result: 0",
        "all containers must do what they do natively",
        &output,
    )?;
    let heap = stats(&output)?["heap"].clone();
    expect(
        heap["live"] == 0 && heap["allocated"] == heap["freed"] && heap["allocated"].as_u64() > Some(0),
        "nothing may be left",
        &output,
    )?;
    expect(!text(&output.stderr).contains("warning"), "nothing to warn of", &output)
}

/// Memory is used up. A program that allocates fallibly sees that, and goes on.
fn takes_all(device: &str, threads: &str) -> Tested {
    let options = ["--max-memory", "32MiB", "--stats=json"];
    let output = kernel(device, &options, threads, "takes_all");
    expect(
        output.status.success() && text(&output.stdout).trim() == "Result: 0",
        "each thread must be told",
        &output,
    )?;
    let heap = stats(&output)?["heap"].clone();
    let told = heap["failed"].as_u64() >= threads.parse().ok();
    expect(
        told && heap["live"] == 0,
        "a failure for each, and nothing left",
        &output,
    )
}

/// Programs that do not ask end as they do natively: by std's message, and an abort.
fn takes_too_much(device: &str, threads: &str) -> Tested {
    let output = kernel(device, &["--max-memory", "32MiB"], threads, "takes_too_much");
    expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("memory allocation of ") && stderr.contains(" bytes failed\n"),
        "std's message must be there",
        &output,
    )?;
    expect(stderr.contains("takes_too_much"), "and who asked for it", &output)
}

/// A thread panics while all threads, itself too, hold blocks and go on to take and free others.
fn one_panics(device: &str) -> Tested {
    let output = kernel(device, &["--timeout", "1m", "--report", "json"], "64", "one_panics");
    expect(output.status.code() == Some(101), "exit code must be 101", &output)?;
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("thread '<unnamed>' (5) panicked at "),
        "the message must name the thread",
        &output,
    )?;
    let report: Value = serde_json::from_str(stderr.lines().last().ok_or("no report")?)?;
    expect(
        report["thread"] == 5 && report["faults"] == 1 && report["message"] == "thread 5 holds 40 strings",
        "thread 5 panicked, and no other",
        &output,
    )?;
    expect(
        report["heap"]["live"].as_u64() >= Some(64 * 40),
        "all hold blocks",
        &output,
    )
}

/// While stdout is not read the threads wait, and nothing is lost.
fn stalled_reader(device: &str) -> Tested {
    const THREADS: usize = 4;
    let mut command = gpu_run_on(device);
    let module = wasm("release", "containers");
    command.args(["--threads", &THREADS.to_string(), "--invoke", "chatter", &module]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut stdout = child.stdout.take().ok_or("it is piped")?;
    std::thread::sleep(Duration::from_millis(700));
    let running = child.try_wait()?.is_none();
    let mut all = String::new();
    stdout.read_to_string(&mut all)?;
    let status = child.wait()?;
    let whole = all
        .lines()
        .filter(|line| line.starts_with("line ") && line.ends_with(", which is long enough to fill much room"))
        .count();
    match running && status.success() && whole == THREADS * 10_000 {
        true => Ok(()),
        false => Err(format!("{status}, {whole} lines, running before they were read: {running}").into()),
    }
}

/// Sizes of blocks and how many; what of it fits is the same in each way.
fn batch(device: &str) -> Tested {
    let module = wasm("wat", "heap_batch");
    for threads in ["1", "64", "1024"] {
        for (size, count) in [
            ("16", "1000"),
            ("40", "1"),
            ("500", "200"),
            ("5000", "3"),
            ("70000", "2"),
            ("8", "0"),
        ] {
            for check in [&[][..], &["--heap-check", "--leak-check"]] {
                let options = ["--threads", threads, "--thread-stack", "1KiB", "--stats=json"];
                let call = ["--invoke", "round", &module, size, count];
                let output = run_on(device, check.iter().chain(&options).chain(&call));
                let result = text(&output.stdout);
                expect(
                    output.status.success() && result.trim().trim_start_matches("Result: ") == count,
                    &format!("{count} blocks of {size} bytes in each of {threads} threads"),
                    &output,
                )?;
                let heap = stats(&output)?["heap"].clone();
                let all = count.parse::<u64>()? * threads.parse::<u64>()?;
                expect(
                    heap["allocated"] == all && heap["freed"] == all && heap["live"] == 0,
                    "all of them are counted",
                    &output,
                )?;
            }
        }
    }
    // Less than is asked for.
    for size in ["60000", "100000"] {
        let options = [
            "--max-memory",
            "40MiB",
            "--stats=json",
            "--invoke",
            "round",
            &module,
            size,
            "1000",
        ];
        let output = run_on(device, options);
        let got: u32 = text(&output.stdout).trim().parse()?;
        expect((200..700).contains(&got), "as many as there is memory for", &output)?;
        let heap = stats(&output)?["heap"].clone();
        expect(heap["failed"] == 1 && heap["live"] == 0, "one request failed", &output)?;
    }
    Ok(())
}

fn batch_mistakes(device: &str) -> Tested {
    let module = wasm("wat", "heap_batch");
    for (name, message) in [("twice", TWICE), ("same", TWICE), ("foreign", FOREIGN)] {
        heap_mistake(device, &[], &module, name, &[message, &format!("0: {name} ")])?;
        heap_mistake(device, &["--heap-check"], &module, name, &[message])?;
    }
    heap_mistake(
        device,
        &["--heap-check"],
        &module,
        "same",
        &["block of 40 bytes was allocated by same"],
    )?;
    heap_leak(device, &module, "leak", "3600 bytes in 90 blocks, allocated by leak")?;
    for (at, count) in [("4718588", "2"), ("0", "-1"), ("-4", "1"), ("4718593", "0")] {
        let output = run_on(device, ["--invoke", "outside", &module, at, count]);
        expect(
            output.status.code() == Some(134) && text(&output.stderr).contains("out of bounds memory access"),
            &format!("{count} places at {at} must trap"),
            &output,
        )?;
    }
    Ok(())
}

/// A kernel whose allocator is its own gets a warning.
pub fn own_allocator() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("own.wat");
    let source = r#"(module
        (memory 1 1) (global $next (mut i32) (i32.const 1024))
        (func $malloc (param i32) (result i32)
            (global.get $next)
            (global.set $next (i32.add (global.get $next) (local.get 0))))
        (func (export "each") (drop (call $malloc (i32.const 8))) (drop (call $malloc (i32.const 16)))))"#;
    std::fs::write(&file, source)?;
    let file = file.display().to_string();
    let options = ["--device", "cpu", "--invoke", "each", &file];
    for (threads, warns) in [("1", false), ("8", true)] {
        let output = run(["--threads", threads].iter().chain(&options));
        let told = text(&output.stderr).contains("may disturb each other in: malloc");
        expect(told == warns, &format!("a warning: {warns}"), &output)?;
    }
    Ok(())
}
