//! Threads that wait for each other, and for time to pass.

use std::process::Output;

use crate::common::{run_on, text};
use crate::support::{Tested, Tests, bind, expect, run_ms, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = bind(
        device,
        [
            ("guest_race", guest_race as fn(&str) -> Tested),
            ("threads/spin/64", |device| threaded(device, 64, "spin", &[], 64)),
            ("threads/sleepers", sleepers),
        ],
    );
    for threads in [1, 2, 64, 1024] {
        for (name, args, expected) in THREADED {
            let test = move || threaded(device, threads, name, args, expected(threads as u64));
            tests.push((format!("threads/{name}/{threads}"), Box::new(test)));
        }
    }
    // Each turn wakes all that wait: a number of wakes with the square of the threads.
    for threads in [1, 2, 64, 256] {
        tests.push((
            format!("threads/locks/{threads}"),
            Box::new(move || locks(device, threads)),
        ));
    }
    tests
}

/// What sanitizers must not take for a race of the interpreter.
fn guest_race(device: &str) -> Tested {
    let module = wasm("wat", "guest_race");
    let output = run_on(device, ["--threads", "64", "--invoke", "race", &module, "500"]);
    expect(
        text(&output.stdout).trim() == "Result: 0",
        "no aligned word may be torn",
        &output,
    )
}

/// Exports of threads.wat, their arguments, and what every thread returns if there are so many.
type Threaded = (&'static str, &'static [&'static str], fn(u64) -> u64);

const THREADED: [Threaded; 6] = [
    ("mutex", &["10"], |threads| 10 * threads),
    ("barrier", &["5"], |threads| 5 * threads * (threads + 1) / 2),
    ("ring", &["2"], |threads| 2 * threads),
    ("timeouts", &[], |_| 1122),
    ("counts", &[], |threads| threads - 1),
    ("rmw", &[], |_| 0),
];

fn run_threads(device: &str, threads: u32, name: &str, args: &[&str]) -> Output {
    let (threads, module) = (threads.to_string(), wasm("wat", "threads"));
    let mut all = vec!["--timeout", "1m", "--stats=json", "--threads", &threads];
    all.extend(["--invoke", name, &module]);
    all.extend(args);
    run_on(device, all)
}

/// Threads wait for each other: more than there are lanes must be parked.
fn threaded(device: &str, threads: u32, name: &str, args: &[&str], expected: u64) -> Tested {
    let output = run_threads(device, threads, name, args);
    let label = if threads > 1 { "Result: " } else { "" };
    expect(
        output.status.success() && text(&output.stdout).trim() == format!("{label}{expected}"),
        &format!("all threads must return {expected}"),
        &output,
    )
}

/// Threads sleep at the same time, however few lanes there are.
fn sleepers(device: &str) -> Tested {
    let output = run_threads(device, 256, "sleepers", &[]);
    expect(
        output.status.success() && text(&output.stdout).trim() == "Result: 1",
        "every thread must sleep for 50 ms",
        &output,
    )?;
    // One after another on 16 lanes they would take 800 ms.
    expect(run_ms(&output)? < 400.0, "they must sleep together", &output)
}

/// std's locks and thread-locals in a Rust program for threads.
fn locks(device: &str, threads: u32) -> Tested {
    let output = run_on(
        device,
        [
            "--timeout",
            "1m",
            "--threads",
            &threads.to_string(),
            &wasm("threads", "locks"),
        ],
    );
    let expected = format!(
        "{threads} names, all there: true; sum {}; small {}; turn {threads}; largest 5057\n",
        100 * threads,
        threads % 256,
    );
    expect(
        output.status.success() && text(&output.stdout) == expected,
        &format!("must print {expected}"),
        &output,
    )
}
