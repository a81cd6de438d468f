//! Threads beyond the lanes of a device, their stacks, where they stand when they are stopped, and writes of many
//! small buffers.

use serde_json::Value;

use crate::common::{run_on, text};
use crate::heap::mistakes::heap_mistake;
use crate::support::{EngineTest, Tested, expect, stats, wasm};

/// The tests for each device and engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("found/01_more_threads_than_lanes", more_than_lanes),
        ("found/01_all_wait_for_all", all_wait),
        ("found/05_stacks_that_fit", stacks),
        ("found/05_as_many_as_lanes", as_many_as_lanes),
        ("found/09_timeout_says_where", timeout_says_where),
        ("found/09_as_json", timeout_as_json),
        ("found/11_4_many_buffers", many_buffers),
        ("found/13_guards_in_front", guards_in_front),
        ("found/arms_of_a_jump_table", arms),
    ]
}

/// A number of threads that is many for a device: the emulator takes minutes for what the others do at once.
fn many(device: &str, threads: u32) -> String {
    let threads = if device == "emulator" {
        threads.min(512)
    } else {
        threads
    };
    threads.to_string()
}

/// All of them begin, and none has memory for frames before it does.
fn more_than_lanes(device: &str) -> Tested {
    let threads = many(device, 300_000);
    let module = wasm("wat", "hang");
    let output = run_on(
        device,
        ["--stats=json", "--threads", &threads, "--invoke", "count", &module],
    );
    expect(output.status.success(), "every thread must end", &output)?;
    expect(
        stats(&output)?["threads"] == threads.parse::<u64>()?,
        "all must run",
        &output,
    )
}

/// As many as are under way at once wait for the last, which begins all the same.
fn all_wait(device: &str) -> Tested {
    // Compiled threads keep their lanes, so no more may wait than there are; see limits.md.
    let threads = match device {
        "ptx" => "20000".to_owned(),
        // Each wait of this machine's few lanes is a turn through all threads.
        _ => many(device, 5_000),
    };
    let module = "fixtures/wat/hang.wat";
    let source = std::fs::read_to_string(crate::common::root().join(module))?;
    let source = source.replace(
        "(memory (export \"memory\") 1 1 shared)",
        &format!(
            "(memory (export \"memory\") 1 1 shared) (data (i32.const 4) \"{}\")",
            threads
                .parse::<u32>()?
                .to_le_bytes()
                .map(|byte| format!("\\{byte:02x}"))
                .concat()
        ),
    );
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("meet.wat");
    std::fs::write(&file, source)?;
    let file = file.display().to_string();
    let output = run_on(
        device,
        ["--timeout", "60s", "--threads", &threads, "--invoke", "meet", &file],
    );
    expect(
        output.status.success() && text(&output.stdout).contains(&format!("Result: {threads}")),
        "all must meet",
        &output,
    )
}

/// Threads whose stacks of 64 KiB do not fit have smaller ones; a size that was asked for stays.
fn stacks(device: &str) -> Tested {
    let module = wasm("release", "spmd");
    let threads = "20000";
    let output = run_on(device, ["-v", "--threads", threads, &module]);
    expect(
        output.status.success() && text(&output.stderr).contains("stacks of 32768 bytes for 20000 threads"),
        "stacks must be halved until they fit, and -v must say so",
        &output,
    )?;
    let output = run_on(device, ["--threads", threads, "--thread-stack", "64KiB", &module]);
    let stderr = text(&output.stderr);
    expect(
        output.status.code() == Some(2) && stderr.contains("--thread-stack") && stderr.contains("--max-memory"),
        "stacks that were asked for and do not fit are an error",
        &output,
    )?;
    let output = run_on(device, ["--threads", "300000", "--max-memory", "256MiB", &module]);
    expect(
        output.status.code() == Some(2),
        "there is no room for 4 KiB each",
        &output,
    )
}

/// Lanes of a warp that take different ways by a jump table go on together, each with what its own way has set.
fn arms(device: &str) -> Tested {
    const STEPS: u32 = 100;
    let module = wasm("wat", "arms");
    let output = run_on(
        device,
        [
            "--threads",
            "256",
            "--results",
            "all",
            "--invoke",
            "follow",
            &module,
            &STEPS.to_string(),
        ],
    );
    // The list goes through all 64 entries, by a linear congruence.
    let result = |thread: u32| 1024 + 32 * (0..STEPS).fold(thread % 64, |k, _| (k * 5 + 1) % 64);
    for thread in 0..256 {
        let line = format!("thread {thread}: {}\n", result(thread));
        expect(
            text(&output.stdout).contains(&line),
            &format!("missing: {line}"),
            &output,
        )?;
    }
    Ok(())
}

/// `--threads auto` is a number of threads that the device has lanes for.
fn as_many_as_lanes(device: &str) -> Tested {
    let module = wasm("wat", "hang");
    let output = run_on(
        device,
        ["--stats=json", "--threads", "auto", "--invoke", "count", &module],
    );
    expect(output.status.success(), "it must run", &output)?;
    let stats = stats(&output)?;
    let (threads, lanes) = (stats["threads"].as_u64(), stats["lanes"].as_u64());
    expect(threads > Some(0) && threads == lanes, "a thread for each lane", &output)
}

/// Runs threads of which a quarter spin and the others wait for a lock, until they are stopped.
fn hang(device: &str, more: &[&str]) -> std::process::Output {
    let module = wasm("wat", "hang");
    let options = ["--timeout", "1500ms", "--threads", "64", "--invoke", "hang"];
    run_on(device, more.iter().chain(&options).chain(&[&*module]))
}

fn timeout_says_where(device: &str) -> Tested {
    let output = hang(device, &[]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(124), "it must be stopped", &output)?;
    let has = |parts: [&str; 2]| stderr.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    expect(
        has(["48 threads wait in lock", "wasm offset"]) && has(["16 threads run in spin", "wasm offset"]),
        "the report must say where the threads stand",
        &output,
    )?;
    expect(stderr.lines().count() <= 8, "a report is at most eight lines", &output)
}

fn timeout_as_json(device: &str) -> Tested {
    let output = hang(device, &["--report=json"]);
    let stderr = text(&output.stderr);
    let line = stderr.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let report: Value = serde_json::from_str(line)?;
    let groups = report["stands"]["groups"].as_array().cloned().unwrap_or_default();
    let of = |doing: &str| groups.iter().find(|group| group["doing"] == doing).cloned();
    let (Some(waits), Some(runs)) = (of("waits"), of("runs")) else {
        return expect(false, "there must be two groups", &output);
    };
    expect(
        waits["threads"] == 48 && runs["threads"] == 16,
        "all threads are counted",
        &output,
    )?;
    let function = |at: usize| {
        waits["backtrace"][at]["function"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    expect(
        (function(0), function(1)) == ("lock".into(), "worker".into()),
        "the calls are there",
        &output,
    )
}

/// A million buffers of one byte in one call. A call uses as many as 65,536 of them, in linear time, and several go
/// into one record.
fn many_buffers(device: &str) -> Tested {
    let output = run_on(device, ["--timeout", "60s", &wasm("wat", "iov_many")]);
    expect(
        output.status.success() && output.stdout == vec![b'd'; 65536 + 3],
        "the buffers must be written in order, and the call must say how many bytes",
        &output,
    )
}

/// What `--heap-check` finds in front of blocks, and of alignments.
fn guards_in_front(device: &str) -> Tested {
    const UNDER: &str = "bytes in front of a block of the heap were written";
    let module = wasm("wat", "heap_guards");
    for (name, wanted) in [
        ("under", [UNDER, "block of 40 bytes was allocated by under"]),
        ("under_aligned", [UNDER, "1: under_aligned"]),
        ("under_large", [UNDER, "block of 500000 bytes was allocated by under"]),
        ("under_kept", [UNDER, "found when the program had ended"]),
        (
            "realloc_lies",
            ["with another size than it has", "allocated by realloc_lies"],
        ),
        (
            "wrong_align",
            [
                "with another alignment than it was asked for",
                "allocated by wrong_align",
            ],
        ),
    ] {
        heap_mistake(device, &["--heap-check"], &module, name, &wanted)?;
    }
    for (name, options) in [
        ("c_free", &["--heap-check"][..]),
        ("all_alignments", &["--heap-check"]),
        ("all_alignments", &["--heap-check", "--leak-check"]),
        ("all_alignments", &["--leak-check"]),
    ] {
        let output = run_on(device, options.iter().chain(&["--invoke", name, &module]));
        let said = text(&output.stdout);
        expect(
            output.status.success() && ["", "0"].contains(&said.trim()),
            "there is no mistake",
            &output,
        )?;
    }
    Ok(())
}
