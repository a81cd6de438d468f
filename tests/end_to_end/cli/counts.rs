//! `--profile-mode count`: every operation is counted, and counts are the same on each engine.

use std::collections::BTreeMap;

use libtest_mimic::Failed;

use super::profile::{folded, wat};
use crate::common::{gpu_run_plainly_on, text};
use crate::support::{EngineTest, Test, Tested, expect, wasm};

/// The tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![("counts/refuses", refuses)]
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("counts/known", known),
        ("counts/same", same),
        ("counts/many_threads", many_threads),
        ("counts/spawned_threads", spawned_threads),
        ("counts/ends", ends),
        ("counts/flushed", flushed),
        ("counts/many_blocks", many_blocks),
        ("counts/waits", waits),
        ("counts/lanes", lanes),
        ("counts/table", table),
    ]
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
    Ok((folded(&file)?, text(&output.stdout).to_owned()))
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
    as_on_cpu(engine, &[&wasm("release", "collections")], 0)?;
    as_on_cpu(engine, &[&wasm("release", "unwind")], 0)?;
    if engine != "emulator" {
        return Ok(());
    }
    // Functions in several regions, and lanes that meet.
    for options in [
        &["--region-words", "40"][..],
        &["--reconverge", "always", "--local-frames", "always"],
    ] {
        let here = counted(engine, &[options, &[&wasm("release", "unwind")]].concat(), 0)?;
        if here != counted("cpu", &[&wasm("release", "unwind")], 0)? {
            return Err(format!("{options:?}: {here:#?} is not as on the CPU").into());
        }
    }
    Ok(())
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

/// More blocks than there are counters in shared memory: the others are counted in memory.
fn many_blocks(engine: &str) -> Tested {
    let mut module = String::from("(module\n");
    for function in 0..50 {
        module += &format!("(func $f{function} (param $x i32) (result i32)\n");
        for bit in 0..60 {
            module += &format!(
                "(if (i32.and (i32.shr_u (local.get $x) (i32.const {})) (i32.const 1))\n\
                 (then (local.set $x (i32.add (local.get $x) (i32.const {}))))\n\
                 (else (local.set $x (i32.mul (local.get $x) (i32.const {})))))\n",
                bit % 32,
                function * 60 + bit,
                2 * bit + 3
            );
        }
        module += "(local.get $x))\n";
    }
    module += "(func (export \"all\") (param $x i32) (result i32)\n";
    for function in 0..50 {
        module += &format!("(local.set $x (call $f{function} (local.get $x)))\n");
    }
    module += "(local.get $x)))\n";
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("blocks.wat");
    std::fs::write(&path, module)?;
    let path = path.display().to_string();
    as_on_cpu(
        engine,
        &["--no-inline", "--threads", "70", "--invoke", "all", &path, "12345"],
        0,
    )
}

/// An instruction that waits, or works in several pieces, counts once.
fn waits(engine: &str) -> Tested {
    let module = wat("counted_waits.wat");
    let all = |args: &[&str]| -> Result<u64, Failed> { Ok(counted(engine, args, 0)?.0.values().sum()) };
    let wait = |value: &str| all(&["--invoke", "wait", &module, "100", value]);
    let (differs, times_out) = (wait("1")?, wait("0")?);
    if differs != times_out {
        return Err(format!("{times_out} operations with waits, and {differs} without").into());
    }
    let batch = |count: &str| all(&["--invoke", "batch", &module, count]);
    let (one, many) = (batch("1")?, batch("1000")?);
    if one != many {
        return Err(format!("a batch of one block has {one} operations, and one of 1000 {many}").into());
    }
    let locked = |threads: &str, count: &str| all(&["--threads", threads, "--invoke", "locked", &module, count]);
    let (alone, together) = (locked("1", "50")?, locked("8", "50")?);
    match together == 8 * alone {
        true => Ok(()),
        false => Err(format!("a thread has {alone} operations, and 8 have {together}").into()),
    }
}

/// Only a profile has a mode.
fn refuses() -> Tested {
    let output = crate::common::run([
        "--profile-mode",
        "count",
        "--invoke",
        "shares",
        &wat("shares.wat"),
        "1",
        "1",
    ]);
    let told = text(&output.stderr).contains("--profile-mode needs a profile");
    expect(output.status.code() == Some(2) && told, "it is refused", &output)
}

/// How many lanes of a warp were together: all of them where they go the same way, and half where every second one goes
/// another.
fn lanes(engine: &str) -> Tested {
    let mut command = crate::common::gpu_run();
    command
        .arg("profile")
        .args(crate::common::options(engine))
        .args([
            "--compile-time",
            "10m",
            "--profile-mode",
            "lanes",
            "--no-inline",
            "--threads",
            "64",
        ])
        .args(["--invoke", "ways", &wat("ways.wat"), "500"]);
    let output = command.output()?;
    let stderr = text(&output.stderr);
    let of = |name: &str| {
        let line = stderr.lines().find(|line| line.ends_with(&format!("  {name}")))?;
        line.split_whitespace().nth(2)?.parse::<f64>().ok()
    };
    // Elsewhere than on a GPU each lane is alone.
    let (same, other) = match engine {
        "ptx" | "cuda" => (32.0, 16.0),
        _ => (1.0, 1.0),
    };
    for (name, wanted) in [("together", same), ("even", other), ("odd", other)] {
        let found = of(name).ok_or_else(|| format!("there is no {name}: {stderr}"))?;
        // The interpreter's lanes may part at other places too.
        let right = match engine {
            "cuda" => found > 0.0 && found <= wanted,
            _ => (found - wanted).abs() < 0.05,
        };
        expect(right, &format!("{name} must have {wanted}"), &output)?;
    }
    expect(
        stderr.contains("lanes of a warp that were together: "),
        "there is a sum",
        &output,
    )
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
