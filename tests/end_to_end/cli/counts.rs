//! `--profile-mode count`: every operation is counted, and counts are the same on each engine.

use std::collections::BTreeMap;

use libtest_mimic::Failed;

use crate::common::{fixture, gpu_run_plainly_on, text};
use crate::support::{EngineTest, Tested, expect, wasm};

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("counts/known", known),
        ("counts/same", same),
        ("counts/many_threads", many_threads),
        ("counts/spawned_threads", spawned_threads),
        ("counts/ends", ends),
        ("counts/flushed", flushed),
        ("counts/table", table),
    ]
}

fn wat(name: &str) -> String {
    fixture("wat").join(name).display().to_string()
}

/// The operations of a run on an engine by function, which ends with this code, and what it printed.
fn counted(engine: &str, args: &[&str], code: i32) -> Result<(BTreeMap<String, u64>, String), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("counts.folded");
    let output = gpu_run_plainly_on(engine)
        .args(["--profile-mode", "count", "--profile"])
        .arg(&file)
        .args(args)
        .output()?;
    let what = format!("the code must be {code}");
    expect(output.status.code() == Some(code), &what, &output)?;
    let compiled = !text(&output.stderr).contains("is interpreted");
    expect(compiled, "it must be compiled where it can be", &output)?;
    let mut counts = BTreeMap::new();
    for line in std::fs::read_to_string(&file)?.lines() {
        let (stack, count) = line.rsplit_once(' ').ok_or("a line has a number")?;
        counts.insert(stack.to_owned(), count.parse()?);
    }
    Ok((counts, text(&output.stdout).to_owned()))
}

/// Whether an engine counts what the CPU does.
fn as_on_cpu(engine: &str, args: &[&str], code: i32) -> Tested {
    let (here, there) = (counted(engine, args, code)?, counted("cpu", args, code)?);
    match here == there && !here.0.is_empty() {
        true => Ok(()),
        false => Err(format!("{here:#?}\nis not as on the CPU:\n{there:#?}").into()),
    }
}

/// Ten functions, of which part k makes 200 k passes through a loop of two additions or subtractions, a multiplication and
/// a branch each time it is called.
fn known(engine: &str) -> Tested {
    let args = ["--no-inline", "--invoke", "shares", &wat("shares.wat"), "3", "200"];
    let (counts, _) = counted(engine, &args, 0)?;
    for part in 1..=10u64 {
        let count = counts.get(&format!("part{part}")).copied().unwrap_or_default();
        // Beside the loop a call takes a few operations.
        let passes = 3 * 200 * part;
        let (each, rest) = (count / passes, count % passes);
        if !(3..=6).contains(&each) || rest > 3 * 8 {
            return Err(format!("part{part} has {count} operations in {passes} passes").into());
        }
    }
    Ok(())
}

/// Calls, recursion, jump tables, tail calls, exceptions, and a program with a standard library.
fn same(engine: &str) -> Tested {
    as_on_cpu(engine, &["--invoke", "shares", &wat("shares.wat"), "5", "77"], 0)?;
    as_on_cpu(
        engine,
        &["--invoke", "tails", "--no-inline", &wat("profile.wat"), "5", "77"],
        0,
    )?;
    as_on_cpu(engine, &["--invoke", "loops", &wat("profile.wat"), "5", "77"], 0)?;
    as_on_cpu(engine, &["--invoke", "ackermann", &wat("ackermann.wat"), "2", "3"], 0)?;
    as_on_cpu(engine, &[&wasm("release", "collections")], 0)
}

/// Lanes of several hardware blocks, of which the last is not full.
fn many_threads(engine: &str) -> Tested {
    let threads = if engine == "emulator" { "300" } else { "3000" };
    as_on_cpu(
        engine,
        &[
            "--threads",
            threads,
            "--invoke",
            "shares",
            &wat("shares.wat"),
            "2",
            "20",
        ],
        0,
    )
}

/// Threads that a program spawns. How often they look for each other differs from run to run.
fn spawned_threads(engine: &str) -> Tested {
    let module = wasm("wasi-threads", "std_threads");
    let plain = gpu_run_plainly_on(engine).arg(&module).output()?;
    let (counts, stdout) = counted(engine, &[&module], 0)?;
    expect(text(&plain.stdout) == stdout, "it must do the same", &plain)?;
    let all: u64 = counts.values().sum();
    match all > 10_000 {
        true => Ok(()),
        false => Err(format!("{all} operations are too few").into()),
    }
}

/// Programs that trap, or that are stopped, have counts up to then.
fn ends(engine: &str) -> Tested {
    let module = wat("traps.wat");
    as_on_cpu(engine, &["--invoke", "unreachable", &module], 134)?;
    let hang = wat("hang.wat");
    let (counts, _) = counted(
        engine,
        &["--threads", "8", "--timeout", "500ms", "--invoke", "hang", &hang],
        124,
    )?;
    let spins: u64 = (counts.iter())
        .filter(|(stack, _)| stack.ends_with("spin"))
        .map(|(_, count)| count)
        .sum();
    match spins > 1000 {
        true => Ok(()),
        false => Err(format!("`spin` must have operations: {counts:?}").into()),
    }
}

/// More passes than 32 bits count in all: counters are emptied while code runs.
fn flushed(engine: &str) -> Tested {
    // Of the emulator, some of those times are enough to see that.
    let (threads, turns, rounds) = match engine {
        "ptx" => (4096u64, 20u64, 1000u64),
        "emulator" => (64, 1, 11_000),
        _ => (64, 1, 100),
    };
    let [threads_text, turns_text, rounds_text] = [threads, turns, rounds].map(|number| number.to_string());
    let args = [
        "--no-inline",
        "--invoke",
        "shares",
        "--threads",
        &threads_text,
        &wat("shares.wat"),
        &turns_text,
        &rounds_text,
    ];
    let (counts, _) = counted(engine, &args, 0)?;
    let (one, _) = counted(
        "cpu",
        &["--no-inline", "--invoke", "shares", &wat("shares.wat"), "1", "1"],
        0,
    )?;
    let (two, _) = counted(
        "cpu",
        &["--no-inline", "--invoke", "shares", &wat("shares.wat"), "1", "2"],
        0,
    )?;
    for part in (1..=10).map(|part| format!("part{part}")) {
        let (one, two) = (one[&part], two[&part]);
        let each = one + (two - one) * (rounds - 1);
        if counts.get(&part) != Some(&(threads * turns * each)) {
            return Err(format!("{part} must have {} operations: {counts:?}", threads * turns * each).into());
        }
    }
    Ok(())
}

/// The table says what was executed.
fn table(engine: &str) -> Tested {
    let mut command = crate::common::gpu_run();
    command
        .arg("profile")
        .args(crate::common::options(engine))
        .args(["--compile-time", "10m", "--profile-mode", "count", "--invoke", "shares"])
        .arg(wasm("c", "profile"))
        .args(["7", "9"]);
    let output = command.output()?;
    let stderr = text(&output.stderr);
    for wanted in [
        " operations\n",
        "share       operations  kind",
        " integer\n",
        " bytes loaded, ",
        "fixtures/c/profile.c:",
    ] {
        expect(stderr.contains(wanted), wanted, &output)?;
    }
    Ok(())
}
