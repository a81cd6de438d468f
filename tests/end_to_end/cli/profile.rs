//! `gpu-run profile`: shares of time and lines are right, files are written, and two of them are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::common::{fixture, gpu_run_plainly_on, run, text};
use crate::support::{EngineTest, Test, Tested, expect, fail, wasm};

/// The tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("profile/files", files),
        ("profile/compare", compare),
        ("profile/refuses", refuses),
        #[cfg(target_os = "linux")]
        ("profile/nvtx", nvtx),
    ]
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("profile/shares", shares),
        ("profile/inlined_shares", inlined_shares),
        ("profile/lines", lines),
        ("profile/threads", threads),
        ("profile/stopped", stopped),
        ("profile/results", results),
        ("profile/line_info", line_info),
        ("profile/counted_lines", counted_lines),
        ("profile/loops", loops),
        ("profile/tail_calls", tail_calls),
        ("profile/many_threads", many_threads),
        ("profile/spawned_threads", spawned_threads),
        ("profile/long_instructions", long_instructions),
    ]
}

pub(super) fn wat(name: &str) -> String {
    fixture("wat").join(name).display().to_string()
}

/// How much a program is to do on an engine, and how many samples are taken in a second: some thousand in all, so that
/// five points are five times their standard deviation.
fn work(engine: &str) -> (&'static str, &'static str) {
    match engine {
        // Periods in which threads look at the time at their ends only.
        "cpu" => ("20000", "3000"),
        // Its lanes share two processors with the host that looks.
        "emulator" => ("3000", "20000"),
        "ptx" => ("20000", "20000"),
        _ => ("600", "4000"),
    }
}

/// The samples of a program by function: a function's own, and those with it in the stack.
struct Found {
    own: BTreeMap<String, f64>,
    total: BTreeMap<String, f64>,
    samples: f64,
}

/// The numbers of a profile as lines, by stack.
pub(super) fn folded(file: &Path) -> Result<BTreeMap<String, u64>, Failed> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().map(|line| {
        let (stack, number) = line.rsplit_once(' ').ok_or("a line has a number")?;
        Ok((stack.to_owned(), number.parse()?))
    });
    lines.collect()
}

/// Runs an export of a module for a profile as lines, in a folder of its own. It ends with this code.
fn profile(engine: &str, options: &[&str], module: &str, words: &[&str], code: i32) -> Result<Found, Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("stacks.folded");
    let (_, rate) = work(engine);
    let output = gpu_run_plainly_on(engine)
        .args(["--profile-rate", rate, "--profile"])
        .arg(&file)
        .args(options)
        .arg(module)
        .args(words)
        .output()?;
    expect(
        output.status.code() == Some(code),
        &format!("the code must be {code}"),
        &output,
    )?;
    let Ok(stacks) = folded(&file) else {
        return fail("there must be a profile", &output);
    };
    let (mut own, mut total, mut all) = (BTreeMap::new(), BTreeMap::new(), 0.0);
    for (stack, samples) in &stacks {
        let samples = *samples as f64;
        let calls: BTreeSet<&str> = stack.split(';').collect();
        let innermost = stack.rsplit(';').next().unwrap_or_default();
        *own.entry(innermost.to_owned()).or_default() += samples;
        for call in calls {
            *total.entry(call.to_owned()).or_default() += samples;
        }
        all += samples;
    }
    if all < 100.0 {
        return fail(format!("{all} samples are too few to tell: {stacks:?}"), &output);
    }
    Ok(Found {
        own,
        total,
        samples: all,
    })
}

/// Tries something up to three times: samples are taken by chance, and of a GPU that other tests use too by less of it. What
/// is wrong stays so.
pub(super) fn by_chance(test: impl Fn() -> Tested) -> Tested {
    test().or_else(|_| test()).or_else(|_| test())
}

/// Ten functions of which it is known how much of the time each takes, within five points.
fn check_shares(engine: &str, options: &[&str]) -> Tested {
    let (turns, _) = work(engine);
    let options = [options, &["--invoke", "shares"]].concat();
    let found = profile(engine, &options, &wat("shares.wat"), &[turns, "200"], 0)?;
    for part in 1..=10 {
        let own = found.own.get(&format!("part{part}")).copied().unwrap_or_default();
        let (share, wanted) = (100.0 * own / found.samples, 100.0 * f64::from(part) / 55.0);
        if (share - wanted).abs() > 5.0 {
            return Err(format!(
                "part{part}: {share:.1} % of {} samples, not {wanted:.1} %",
                found.samples
            )
            .into());
        }
    }
    let total = found.total.get("shares").copied().unwrap_or_default();
    if total < 0.98 * found.samples {
        return Err(format!("`shares` is in {total} of {} stacks", found.samples).into());
    }
    Ok(())
}

fn shares(engine: &str) -> Tested {
    by_chance(|| check_shares(engine, &["--no-inline"]))
}

/// The translator puts all ten into one function.
fn inlined_shares(engine: &str) -> Tested {
    by_chance(|| check_shares(engine, &[]))
}

/// Two functions that have their time in one line each.
fn lines(engine: &str) -> Tested {
    let (turns, rate) = work(engine);
    by_chance(|| check_lines(engine, &["--profile-rate", rate], turns))
}

/// The same of counted operations, also of those that the compiler says to be of no line.
fn counted_lines(engine: &str) -> Tested {
    check_lines(engine, &["--profile-mode", "count"], "20")
}

fn check_lines(engine: &str, options: &[&str], turns: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("p.speedscope.json");
    let output = gpu_run_plainly_on(engine)
        .args(options)
        .args(["--invoke", "shares", "--profile"])
        .arg(&file)
        .arg(wasm("c", "profile"))
        .args([turns, "503"])
        .output()?;
    expect(output.status.success(), "it must run", &output)?;
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let source = std::fs::read_to_string(fixture("c").join("profile.c"))?;
    let line_after = |text: &str| {
        let at = source
            .lines()
            .position(|line| line.contains(text))
            .expect("it is in the source");
        at as u64 + 2
    };
    let frames = value["shared"]["frames"].as_array().ok_or("no frames")?;
    let profile = &value["profiles"][0];
    let mut shares: BTreeMap<(&str, u64), f64> = BTreeMap::new();
    let (samples, weights) = (profile["samples"].as_array(), profile["weights"].as_array());
    for (stack, weight) in samples.into_iter().flatten().zip(weights.into_iter().flatten()) {
        let innermost = stack
            .as_array()
            .and_then(|stack| stack.last()?.as_u64())
            .ok_or("no stack")?;
        let frame = &frames[innermost as usize];
        let name = frame["name"].as_str().unwrap_or_default();
        if name == "heavy" || name == "light" {
            let file = frame["file"].as_str().unwrap_or_default();
            expect(file == "fixtures/c/profile.c", &format!("the file is {file}"), &output)?;
            *shares
                .entry((name, frame["line"].as_u64().unwrap_or_default()))
                .or_default() += weight.as_f64().unwrap_or_default();
        }
    }
    let all = profile["endValue"].as_f64().ok_or("no time")?;
    for (name, text, wanted) in [("heavy", "unsigned heavy(", 75.0), ("light", "unsigned light(", 25.0)] {
        let share = 100.0 * shares.get(&(name, line_after(text))).copied().unwrap_or_default() / all;
        let what = format!("{name} has {share:.1} % in its line, not {wanted} %: {shares:?}");
        expect((share - wanted).abs() <= 5.0, &what, &output)?;
    }
    Ok(())
}

/// Two functions of which the first takes three parts of the time, and the second one.
fn check_pair(engine: &str, export: &str, heavy: &str) -> Tested {
    // Loops like these are fast in all code.
    let turns = match engine {
        "emulator" => "30000",
        _ => work(engine).0,
    };
    let found = profile(
        engine,
        &["--no-inline", "--invoke", export],
        &wat("profile.wat"),
        &[turns, "1009"],
        0,
    )?;
    let share = 100.0 * found.own.get(heavy).copied().unwrap_or_default() / found.samples;
    match (share - 75.0).abs() <= 5.0 {
        true => Ok(()),
        false => Err(format!("{heavy} has {share:.1} % of {} samples: {:?}", found.samples, found.own).into()),
    }
}

/// A function begins with a loop.
fn loops(engine: &str) -> Tested {
    by_chance(|| check_pair(engine, "loops", "heavy_loop"))
}

fn tail_calls(engine: &str) -> Tested {
    by_chance(|| check_pair(engine, "tails", "heavy_tail"))
}

/// The time of all threads is counted: of so many, the heaviest of ten functions has a share in this range.
fn check_heaviest(engine: &str, threads: &str, options: &[&str], turns: &str, range: Range<f64>) -> Tested {
    let options = [&["--threads", threads, "--invoke", "shares"], options].concat();
    let found = profile(engine, &options, &wat("shares.wat"), &[turns, "200"], 0)?;
    let heaviest = found.own.get("part10").copied().unwrap_or_default() / found.samples;
    match range.contains(&heaviest) {
        true => Ok(()),
        false => Err(format!("part10 has {heaviest} of {} samples", found.samples).into()),
    }
}

fn threads(engine: &str) -> Tested {
    let (turns, _) = work(engine);
    let turns = (turns.parse::<u32>()? / 10).to_string();
    by_chance(|| check_heaviest(engine, "40", &[], &turns, 0.13..0.24))
}

/// Of many threads each has few samples, or most have none.
fn many_threads(engine: &str) -> Tested {
    let (threads, turns) = match engine {
        "emulator" => ("600", "20"),
        // A GPU does it in so short a time that there are few looks.
        "ptx" => ("3000", "1000"),
        // Each takes less than a period.
        "cpu" => ("20000", "1"),
        _ => ("3000", "40"),
    };
    by_chance(|| check_heaviest(engine, threads, &["--no-inline"], turns, 0.12..0.22))
}

/// Threads that a program spawns, which wait for each other and end while others run.
fn spawned_threads(engine: &str) -> Tested {
    let module = wasm("wasi-threads", "std_threads");
    let run = |options: &[&str]| gpu_run_plainly_on(engine).args(options).arg(&module).output();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("p.folded").display().to_string();
    let plain = run(&[])?;
    for _ in 0..3 {
        let profiled = run(&["--profile", &file, "--profile-rate", "20000"])?;
        let same = plain.stdout == profiled.stdout && plain.status.code() == profiled.status.code();
        expect(same, "it must do the same", &profiled)?;
        expect(!std::fs::read(&file)?.is_empty(), "there must be samples", &profiled)?;
    }
    Ok(())
}

/// The time of instructions that take long by themselves is told apart, under the function that they are in.
fn long_instructions(engine: &str) -> Tested {
    by_chance(|| {
        let turns = match engine {
            "emulator" => "20",
            "cpu" => "2000",
            _ => "200",
        };
        let options = ["--no-inline", "--invoke", "both"];
        let found = profile(engine, &options, &wat("long_instructions.wat"), &[turns, "300"], 0)?;
        for (kind, function) in [("[heap]", "allocates"), ("[bulk memory]", "copies")] {
            let own = found.own.get(kind).copied().unwrap_or_default();
            let around = found.total.get(function).copied().unwrap_or_default();
            if own < 0.03 * found.samples || around < own {
                return Err(format!("{kind} has {own} of {} samples, {function} {around}", found.samples).into());
            }
        }
        Ok(())
    })
}

/// A run that is stopped has a profile up to then. What waits in it is told.
fn stopped(engine: &str) -> Tested {
    let options = ["--threads", "8", "--timeout", "500ms", "--invoke", "hang"];
    let found = profile(engine, &options, &wat("hang.wat"), &[], 124)?;
    let spins = found.own.get("spin").copied().unwrap_or_default();
    if spins == 0.0 {
        return Err(format!("`spin` has no samples: {:?}", found.own).into());
    }
    let waits = found.own.get("[waits for a notify]").copied().unwrap_or_default();
    // Six of eight threads wait all the time.
    if waits < spins {
        return Err(format!("waits have too few samples: {:?}", found.own).into());
    }
    Ok(())
}

/// Ranges for Nsight Systems: a library stands for NVTX's, and writes what it is called with.
#[cfg(target_os = "linux")]
fn nvtx() -> Tested {
    const LIBRARY: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static void say(const char *text) {
  FILE *file = fopen(getenv("RANGES"), "a");
  fprintf(file, "%s\n", text);
  fclose(file);
}
extern "C" int nvtxRangePushA(const char *name) { return say(name), 0; }
extern "C" int nvtxRangePop() { return say("pop"), 0; }
"#;
    let folder = tempfile::tempdir()?;
    let (source, ranges) = (folder.path().join("nvtx.cpp"), folder.path().join("ranges"));
    std::fs::write(&source, LIBRARY)?;
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut compile = std::process::Command::new(compiler);
    compile
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.path().join("libnvToolsExt.so.1"));
    let compiled = compile.arg(&source).output()?;
    expect(compiled.status.success(), "the library must be compiled", &compiled)?;
    let run = |asks: bool| {
        let mut command = gpu_run_plainly_on("cpu");
        command.env("LD_LIBRARY_PATH", folder.path()).env("RANGES", &ranges);
        if asks {
            command.env("NVTX_INJECTION64_PATH", "a tool's");
        }
        command
            .args(["--invoke", "shares"])
            .arg(wat("shares.wat"))
            .args(["2", "3"])
            .output()
    };
    let plain = run(false)?;
    expect(
        plain.status.success() && !ranges.exists(),
        "nobody asks for ranges",
        &plain,
    )?;
    let output = run(true)?;
    let told = std::fs::read_to_string(&ranges)?;
    let wanted = "gpu-run: translate\npop\ngpu-run: run\npop\n";
    expect(told == wanted && output.stdout == plain.stdout, &told, &output)
}

/// A program does the same with lines in its code.
fn line_info(engine: &str) -> Tested {
    let run = |options: &[&str]| {
        let mut command = gpu_run_plainly_on(engine);
        command
            .args(options)
            .args(["--invoke", "shares"])
            .arg(wasm("c", "profile"))
            .args(["7", "9"])
            .output()
    };
    let (plain, with_lines) = (run(&[])?, run(&["--line-info"])?);
    expect(
        plain.status.success() && plain.stdout == with_lines.stdout,
        "stdout must be the same",
        &with_lines,
    )
}

/// A program does the same with samples.
fn results(engine: &str) -> Tested {
    let module = wasm("release", "collections");
    let plain = gpu_run_plainly_on(engine).arg(&module).output()?;
    let mut command = crate::common::gpu_run();
    command
        .arg("profile")
        .args(crate::common::options(engine))
        .args(["--compile-time", "10m"]);
    let profiled = command.args(["--profile-rate", "50000"]).arg(&module).output()?;
    expect(
        plain.stdout == profiled.stdout && profiled.status.success(),
        "stdout must be the same",
        &profiled,
    )?;
    let stderr = text(&profiled.stderr);
    expect(
        stderr.contains("   self   total  function"),
        "there must be a table",
        &profiled,
    )
}

/// Each format is what other tools take it for.
fn files() -> Tested {
    let folder = tempfile::tempdir()?;
    let names = ["a.svg", "a.json", "a.speedscope.json", "a.trace.json", "a.folded"];
    let paths = names.map(|name| folder.path().join(name).display().to_string());
    let options = paths.iter().flat_map(|path| ["--profile", path]);
    let arguments = ["--device", "cpu", "--profile-rate", "5000", "--invoke", "shares"]
        .into_iter()
        .chain(options);
    let output = run(arguments.chain([&*wat("shares.wat"), "2000", "200"]));
    expect(output.status.success(), "it must run", &output)?;
    let read = |path: &str| std::fs::read_to_string(path);
    expect(
        read(&paths[0])?.contains("<svg") && read(&paths[0])?.contains("part10"),
        "a flame graph",
        &output,
    )?;
    let json = |path: &str| -> Result<Value, Failed> { Ok(serde_json::from_str(&read(path)?)?) };
    expect(
        json(&paths[1])?["meta"]["version"].is_number(),
        "a profile for Firefox",
        &output,
    )?;
    expect(
        json(&paths[2])?["profiles"][0]["type"] == "sampled",
        "a profile for speedscope",
        &output,
    )?;
    let events = json(&paths[3])?;
    let events = events["traceEvents"].as_array().ok_or("no events")?;
    expect(events.iter().any(|event| event["name"] == "part10"), "a trace", &output)?;
    expect(read(&paths[4])?.contains("part10 "), "stacks", &output)?;
    expect(
        !text(&output.stderr).contains("function"),
        "a table is for `profile`",
        &output,
    )
}

fn compare() -> Tested {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| -> Result<String, Failed> {
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let (a, b) = (
        write("a.folded", "main;f 75\nmain;g 25\n")?,
        write("b.folded", "main;f 25\nmain;g 75\n")?,
    );
    let output = run(["profile", "--compare", &a, &b]);
    let wanted = "  before   after  change  function\n   75.0%   25.0%   -50.0  f\n   25.0%   75.0%   +50.0  g\n";
    expect(text(&output.stdout) == wanted, "differences are shown", &output)?;
    let bad = write("c.folded", "main;f\n")?;
    let output = run(["profile", "--compare", &a, &bad]);
    let stderr = text(&output.stderr);
    let told = stderr.contains("line 1 is no stack") && stderr.contains("c.folded");
    expect(
        output.status.code() == Some(2) && told,
        "a damaged profile is refused",
        &output,
    )
}

fn refuses() -> Tested {
    let module = wat("shares.wat");
    for (options, part) in [
        (["--profile", "p.txt"], "its name ends with none of .svg"),
        (["--profile-rate", "0"], "0 is not in 1..=1000000"),
    ] {
        let output = run(options.into_iter().chain([&*module]));
        let refused = output.status.code() == Some(2) && text(&output.stderr).contains(part);
        expect(refused, &format!("must say {part:?}"), &output)?;
    }
    let missing = Path::new("no/such/folder/p.svg");
    let output = run([
        "--device",
        "cpu",
        "--profile",
        &missing.display().to_string(),
        "--invoke",
        "shares",
        &module,
        "9",
        "9",
    ]);
    let told = text(&output.stderr).contains("cannot write the file of --profile") && output.stdout.is_empty();
    expect(
        told && output.status.code() == Some(2),
        "a file that cannot be written is refused",
        &output,
    )
}
