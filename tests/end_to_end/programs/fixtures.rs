//! Rust programs of every profile: output and exit code are what the same source does natively.

use crate::common::{fixture, run_on, text};
use crate::support::{Tested, Tests, expect, expected, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    for profile in ["release", "lto", "size", "debug"] {
        for name in names(profile) {
            tests.push((
                format!("{profile}/{name}"),
                Box::new(move || program(device, profile, &name)),
            ));
        }
    }
    for threads in [1, 32, 10240] {
        tests.push((format!("spmd/{threads}"), Box::new(move || spmd(device, threads))));
    }
    tests
}

/// Fixtures that std on wasm32-unknown-unknown does not support when they are built with LTO: they
/// are refused at start, and the message names this function.
const FOLDED: [(&str, &str); 2] = [("time", "Instant"), ("process_exit", "std::process::exit")];

/// Fixtures whose `eprintln!`s are gone from the module when they are built with LTO, because std's stderr
/// does nothing on wasm32-unknown-unknown. Their stderr is not compared. That of `gpu-std` is there.
const STDERR_LOST: [&str; 2] = ["panic", "panic_hook"];

/// The fixtures built with a profile.
fn names(profile: &str) -> Vec<String> {
    let dir = fixture("wasm").join(profile);
    let files = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut names: Vec<_> = files
        .filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".wasm")?.to_owned()))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no fixtures in {}", dir.display());
    names
}

/// A fixture prints and exits as the native program does.
pub fn program(device: &str, profile: &str, name: &str) -> Tested {
    if name == "infinite_loop" {
        let output = run_on(device, ["--timeout", "300ms", &wasm(profile, name)]);
        expect(output.status.code() == Some(124), "it must be stopped", &output)?;
        return expect(
            Some(output.stdout.as_slice()) == expected(name, "stdout").as_deref(),
            "stdout differs",
            &output,
        );
    }
    let mut args = super::gpu_std::arguments(name);
    args.push(wasm(profile, name));
    let output = run_on(device, args);
    if profile == "lto"
        && let Some((_, function)) = FOLDED.iter().find(|(folded, _)| *folded == name)
    {
        let stderr = text(&output.stderr);
        expect(output.status.code() == Some(2), "it must be refused", &output)?;
        return expect(
            stderr.contains(function) && stderr.contains("lto"),
            "the message names function and remedy",
            &output,
        );
    }
    let code = expected(name, "exit").and_then(|code| text(&code).trim().parse::<i32>().ok());
    expect(
        output.status.code() == code,
        &format!("exit code must be {code:?}"),
        &output,
    )?;
    expect(
        Some(output.stdout.as_slice()) == expected(name, "stdout").as_deref(),
        "stdout differs from the native program's",
        &output,
    )?;
    if profile == "lto" && STDERR_LOST.contains(&name) {
        return expect(
            text(&output.stderr).contains("panicked at"),
            "the panic's message must be there",
            &output,
        );
    }
    match expected(name, "stderr") {
        Some(stderr) if name == "stderr" => expect(
            output.stderr == stderr,
            "stderr differs from the native program's",
            &output,
        ),
        Some(stderr) if code == Some(101) => {
            let (found, wanted) = (mask_thread(&text(&output.stderr)), mask_thread(&text(&stderr)));
            expect(
                found == wanted,
                &format!("stderr differs from the native program's:\n{wanted}"),
                &output,
            )
        }
        _ => Ok(()),
    }
}

/// Native panics name the OS thread's number: `thread 'main' (1234) panicked`.
fn mask_thread(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match (line.find(" ("), line.find(") panicked at ")) {
            (Some(open), Some(close)) if open < close => format!("{} (N{}", &line[..open], &line[close..]),
            _ => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn spmd(device: &str, threads: u32) -> Tested {
    let output = run_on(
        device,
        [
            "--threads",
            &threads.to_string(),
            "--invoke",
            "sum",
            &wasm("release", "spmd"),
        ],
    );
    expect(output.status.success(), "must succeed", &output)?;
    let stdout = text(&output.stdout);
    let sum = (0..threads).sum::<u32>();
    expect(
        stdout.lines().any(|line| line == format!("sum = {sum}")),
        &format!("must print sum = {sum}"),
        &output,
    )?;
    expect(
        stdout.lines().filter(|line| line.starts_with("thread ")).count() as u32 == threads.div_ceil(1024),
        "one line for every 1024 threads",
        &output,
    )?;
    expect(
        text(&output.stderr).contains(&format!("with {threads} threads...")),
        "must say how many threads run",
        &output,
    )?;
    expect(stdout.contains("Result: "), "must print the result", &output)
}
