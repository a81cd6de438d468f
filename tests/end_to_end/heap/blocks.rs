//! Blocks of the heap: of many threads, until memory is full, and freed by mistake.

use crate::common::{run_on, text};
use crate::heap::mistakes::{FOREIGN, LATE, OVERRUN, TWICE, heap_leak, heap_mistake};
use crate::support::{Tested, Tests, bind, expect, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = bind(
        device,
        [
            ("bad_frees", bad_frees as fn(&str) -> Tested),
            ("heap_check", heap_check),
        ],
    );
    for threads in [2, 512, 10240] {
        tests.push((format!("heap/{threads}"), Box::new(move || heap(device, threads))));
    }
    // All of them wait for each other in the end: so many would take the emulator minutes.
    let many = if device == "emulator" { 128 } else { 10_240 };
    for (threads, rounds) in [(1, 5000), (32, 1000), (many, 20)] {
        let test = move || heap_churn(device, threads, rounds);
        tests.push((format!("heap_churn/{threads}"), Box::new(test)));
    }
    for threads in [1, 64] {
        tests.push((
            format!("heap_full/{threads}"),
            Box::new(move || heap_full(device, threads)),
        ));
    }
    tests
}

fn heap(device: &str, threads: u32) -> Tested {
    let output = run_on(
        device,
        [
            "--threads",
            &threads.to_string(),
            "--invoke",
            "stress",
            "--stats=json",
            &wasm("wat", "heap_stress"),
            "50",
        ],
    );
    expect(
        text(&output.stdout).trim() == "Result: 0",
        "no thread may find a wrong byte",
        &output,
    )?;
    // Each round makes two blocks, and a third where a block moves.
    expect(
        !text(&output.stderr).contains("\"allocated\":0,"),
        "--stats must count blocks",
        &output,
    )
}

/// Blocks of random sizes live for random times and are freed by other threads; the threads look at every byte.
fn heap_churn(device: &str, threads: u32, rounds: u32) -> Tested {
    let (threads, rounds) = (threads.to_string(), rounds.to_string());
    let module = wasm("wat", "heap_churn");
    let run = |options: &[&str]| {
        let given = ["--threads", &threads, "--invoke", "churn", &module, &rounds, "16384"];
        let output = run_on(device, options.iter().chain(&given));
        expect(output.status.success(), "no thread may find a wrong byte", &output).map(|()| output)
    };
    let output = run(&["--stats=json"])?;
    expect(
        text(&output.stderr).contains("\"live\":0,\"live_bytes\":0,"),
        "all blocks must be free in the end",
        &output,
    )?;
    run(&["--heap-check", "--leak-check"]).map(drop)
}

/// Memory is exhausted for every thread once, and all of it comes back.
fn heap_full(device: &str, threads: u32) -> Tested {
    let module = wasm("wat", "heap_full");
    let count = threads.to_string();
    for size in ["5000", "100000"] {
        let options = ["--threads", &count, "--thread-stack", "4KiB", "--stats=json"];
        let output = run_on(device, options.iter().chain(&["--invoke", "fill", &module, size]));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        expect(
            ["0", "Result: 0"].contains(&stdout.trim()),
            "no block may have two owners",
            &output,
        )?;
        let failed = format!("\"failed\":{threads},");
        expect(
            stderr.contains(&failed) && stderr.contains("\"live\":0,\"live_bytes\":0"),
            "each thread must be told once, and nothing may be left",
            &output,
        )?;
    }
    Ok(())
}

/// What the heap finds without --heap-check, and that it comes to no harm by the rest.
fn bad_frees(device: &str) -> Tested {
    for name in [
        "twice",
        "twice_large",
        "inside",
        "inside_large",
        "foreign",
        "beyond",
        "too_large",
        "realloc_freed",
    ] {
        let output = run_on(device, ["--invoke", name, &wasm("wat", "bad_frees")]);
        expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
        let stderr = text(&output.stderr);
        expect(
            stderr.contains("trap: the heap") && stderr.contains(&format!("0: {name} ")),
            "the message must say why and where",
            &output,
        )?;
    }
    for name in ["write_after_free", "overflow", "leak"] {
        let output = run_on(device, ["--invoke", name, &wasm("wat", "bad_frees")]);
        expect(output.status.success(), "nothing may be hurt", &output)?;
    }
    Ok(())
}

/// What the heap finds with --heap-check and --leak-check, and what it says.
fn heap_check(device: &str) -> Tested {
    let cases = [
        ("twice", TWICE, "block of 40 bytes was allocated by twice"),
        (
            "twice_large",
            TWICE,
            "block of 500000 bytes was allocated by twice_large",
        ),
        ("inside_large", FOREIGN, "inside_large"),
        ("foreign", FOREIGN, ": 0x400"),
        (
            "too_large",
            "the heap was given a block with another size than it has",
            "block of 40 bytes was allocated by too_large",
        ),
        ("realloc_freed", TWICE, "allocated by realloc_freed"),
        (
            "write_after_free",
            LATE,
            "block of 500 bytes was allocated by write_after_free",
        ),
        ("overflow", OVERRUN, "block of 40 bytes was allocated by overflow"),
    ];
    let module = wasm("wat", "bad_frees");
    for (name, message, detail) in cases {
        heap_mistake(device, &["--heap-check"], &module, name, &[message, detail])?;
    }
    // Nothing happens to these blocks any more: they are looked at when the program has ended.
    let at_end = "found when the program had ended";
    for (name, wanted) in [
        (
            "overflow_kept",
            [
                OVERRUN,
                "block of 40 bytes was allocated by overflow_kept",
                "damaged blocks in all: 2",
            ],
        ),
        (
            "write_late",
            [LATE, "block of 40 bytes was allocated by write_late", at_end],
        ),
        (
            "write_late_large",
            [LATE, "block of 500000 bytes was allocated by write_late_large", at_end],
        ),
    ] {
        heap_mistake(device, &["--heap-check"], &module, name, &wanted)?;
        let output = run_on(device, ["--leak-check", "--invoke", name, &module]);
        expect(output.status.code() != Some(134), "not without --heap-check", &output)?;
    }
    let json = ["--heap-check", "--report", "json"];
    let wanted = ["\"trap\":\"HeapOverrun\"", "\"damaged_at_end\":2"];
    heap_mistake(device, &json, &module, "overflow_kept", &wanted)?;
    heap_leak(device, &module, "leak", "100 bytes in 1 blocks, allocated by leak")?;
    for threads in ["1", "32", "1024"] {
        let module = wasm("wat", "heap_stress");
        let options = [
            "--heap-check",
            "--leak-check",
            "--threads",
            threads,
            "--invoke",
            "stress",
            &module,
            "20",
        ];
        let output = run_on(device, options);
        expect(output.status.success(), "nothing may be found", &output)?;
        let module = wasm("release", "spmd");
        let output = run_on(
            device,
            [
                "--heap-check",
                "--leak-check",
                "--threads",
                threads,
                "--invoke",
                "sum",
                &module,
            ],
        );
        expect(output.status.success(), "nothing may be found", &output)?;
    }
    for name in ["collections", "sort", "wordcount"] {
        let output = run_on(device, ["--heap-check", "--leak-check", &wasm("release", name)]);
        expect(output.status.success(), "nothing may be found", &output)?;
    }
    Ok(())
}
