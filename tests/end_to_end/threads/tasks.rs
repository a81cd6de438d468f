//! Tasks, channels, locks, futures and barriers of gpu-std, on few threads and many.

use crate::common::{run_on, text};
use crate::support::{Tested, Tests, expect, stats, wasm};

/// Kernels of the fixture, the threads that they run on, and what they print.
const KERNELS: [(&str, &[u32], &str); 14] = [
    ("fibonacci", &[1, 3, 64, 1000], "Result: 17711"),
    ("fibonacci_spread", &[1, 33, 1000], "Result: 17711"),
    ("many_tasks", &[1, 3, 64, 1000], "Result: 1"),
    (
        "everything",
        &[1, 2, 64, 500],
        "queens 92\nin the wrong order 0\nsum 6, on its worker: true, within the quota: true\nfutures 124750",
    ),
    ("channels", &[64, 500], "messages 2000, sum 1999000"),
    (
        "locks",
        &[1, 2, 64, 200],
        "count right: true, largest right: true, turns right: true, crowded 0, table 81",
    ),
    ("barriers", &[1, 2, 64, 1000], "leaders right: true, too early 0"),
    ("pairs", &[2, 3, 33, 500], "leaders right: true"),
    ("garbage", &[1, 2, 64, 300], "lost 0, left 0"),
    ("wide", &[1, 2, 33, 1000], "wide numbers right: true, torn 0"),
    ("queue", &[1, 2, 64, 1000], "sum right: true, left None"),
    ("iterators", &[1, 2, 64, 1000], "iterators right: true"),
    ("phases", &[1, 2, 33, 1000], "steps right: true, phases 20, too early 0"),
    (
        "memory",
        &[1, 2, 64, 1000],
        "region whole: true, pools whole: true, wrong 0, served: true",
    ),
];

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    for (name, threads, wanted) in KERNELS {
        for threads in threads.iter().map(|threads| at_most(device, *threads)) {
            let test = move || kernel(device, name, threads, wanted);
            tests.push((format!("tasks/{name}/{threads}"), Box::new(test)));
        }
    }
    for threads in [1, 2, 32, 33, 1000].map(|threads| at_most(device, threads)) {
        let test = move || kernel(device, "collectives", threads, "collectives right");
        tests.push((format!("tasks/collectives/{threads}"), Box::new(test)));
    }
    for threads in [1, 3, 64] {
        tests.push((
            format!("tasks/files/{threads}"),
            Box::new(move || files(device, threads, false)),
        ));
    }
    tests.push(("tasks/files/tmpfs".into(), Box::new(move || files(device, 3, true))));
    tests.push(("tasks/deadlock".into(), Box::new(move || deadlock(device))));
    tests.push(("tasks/stats".into(), Box::new(move || counted(device))));
    tests
}

/// The emulator takes minutes for a thousand threads where a coin leaves what they often call
/// interpreted: there, seven warps.
fn at_most(device: &str, threads: u32) -> u32 {
    match device {
        "emulator" => threads.min(200),
        _ => threads,
    }
}

fn kernel(device: &str, name: &str, threads: u32, wanted: &str) -> Tested {
    let (threads, module) = (threads.to_string(), wasm("release", "tasks"));
    let limit = if device == "emulator" { "4m" } else { "1m" };
    let output = run_on(
        device,
        ["--timeout", limit, "--threads", &threads, "--invoke", name, &module],
    );
    let stdout = text(&output.stdout);
    let found: Vec<&str> = stdout.lines().collect();
    let same = found.len() == wanted.lines().count()
        && found
            .iter()
            .zip(wanted.lines())
            .all(|(found, wanted)| match wanted.starts_with("Result") {
                // What the others returned follows.
                true => found.split(" (thread 0").next() == Some(wanted),
                false => *found == wanted,
            });
    expect(
        output.status.success() && same,
        &format!("must print {wanted}"),
        &output,
    )?;
    // The locks are not std's, which are made for one thread.
    expect(!text(&output.stderr).contains("warning"), "must not warn", &output)
}

/// Files that are futures: on the host, whose requests are under way together, or in the device's memory.
fn files(device: &str, threads: u32, tmpfs: bool) -> Tested {
    let count = if device == "emulator" { 20 } else { 200 };
    let (threads, module) = (threads.to_string(), wasm("release", "tasks"));
    let host = tempfile::tempdir()?;
    let (folder, inside) = match tmpfs {
        true => (["--tmpfs".to_owned(), "64M".to_owned()], "/tmp"),
        false => (
            ["--dir".to_owned(), format!("{}::files", host.path().display())],
            "files",
        ),
    };
    let output = run_on(
        device,
        [
            "--timeout",
            "2m",
            &folder[0],
            &folder[1],
            "--env",
            &format!("FOLDER={inside}"),
            "--env",
            &format!("FILES={count}"),
            "--threads",
            &threads,
            "--invoke",
            "files",
            &module,
        ],
    );
    let right = text(&output.stdout) == format!("right {count}\n");
    expect(right, "all files must be right", &output)
}

/// `--stats` has what the scheduler counted, of programs that run tasks.
fn counted(device: &str) -> Tested {
    const THREADS: u32 = 40;
    let module = wasm("release", "tasks");
    let run = |name: &str, format: &str| {
        let threads = THREADS.to_string();
        let options = [
            "--timeout",
            "4m",
            format,
            "--threads",
            &threads,
            "--invoke",
            name,
            &module,
        ];
        run_on(device, options)
    };
    let output = run("many_tasks", "--stats=json");
    let tasks = stats(&output)?["tasks"].clone();
    let number = |key: &str| tasks[key].as_f64().unwrap_or(f64::NAN);
    // A task is run by a worker that takes it from a queue, be it its own. A deque has room for few of them.
    let right = number("workers") == f64::from(THREADS)
        && number("spawned") == 2000.0
        && (2000.0..4000.0).contains(&number("executed"))
        && (0.0..=number("executed")).contains(&number("stolen"))
        && number("stolen") <= number("attempts")
        && number("queued") == 0.0
        && (1.0..=2000.0).contains(&number("most_queued"))
        && number("worker_ms") > 0.0
        && (0.0..=number("worker_ms")).contains(&number("idle_ms"));
    expect(right, "2,000 tasks on 40 workers must be counted", &output)?;
    let spread = run("fibonacci_spread", "--stats=json");
    expect(
        stats(&spread)?["tasks"]["workers"] == 2,
        "of 40 threads two are workers",
        &spread,
    )?;
    let text_line = run("many_tasks", "--stats");
    let told = text(&text_line.stderr).contains("tasks:   2000 spawned; ");
    expect(told, "the text must tell it too", &text_line)?;
    // Its threads share a barrier, and no tasks.
    let none = run("barriers", "--stats=json");
    expect(
        stats(&none)?["tasks"].is_null(),
        "without tasks there is nothing to tell",
        &none,
    )
}

/// Locks that are taken in both orders: the end is told, and where the threads wait.
fn deadlock(device: &str) -> Tested {
    let output = run_on(
        device,
        [
            "--timeout",
            "1m",
            "--threads",
            "2",
            "--invoke",
            "deadlock",
            &wasm("release", "tasks"),
        ],
    );
    let stderr = text(&output.stderr);
    let told = stderr.contains("trap: deadlock: every thread waits") && stderr.contains("lock_contended");
    expect(output.status.code() == Some(134) && told, "it must be found", &output)
}
