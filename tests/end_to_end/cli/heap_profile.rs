//! `--profile-mode heap`: what the heap holds, by the calls that allocated it.

use std::collections::BTreeMap;
use std::process::Output;

use super::profile::{folded, wat};
use crate::common::{gpu_run, gpu_run_plainly_on, options, run, text};
use crate::support::{EngineTest, Test, Tested, expect, wasm};

/// The tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![("heap_profile/massif", massif), ("heap_profile/refuses", refuses)]
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("heap_profile/known", known),
        ("heap_profile/threads", threads),
        ("heap_profile/freed", freed),
        ("heap_profile/over_time", over_time),
        ("heap_profile/table", table),
    ]
}

fn module() -> String {
    wat("heap_profile.wat")
}

/// Bytes by stack of a run on an engine.
fn held(engine: &str, args: &[&str]) -> Result<BTreeMap<String, u64>, libtest_mimic::Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("heap.folded");
    let output = gpu_run_plainly_on(engine)
        .args(["--profile-mode", "heap", "--profile"])
        .arg(&file)
        .args(args)
        .output()?;
    expect(output.status.success(), "it must run", &output)?;
    folded(&file)
}

fn check(found: &BTreeMap<String, u64>, count: u64) -> Tested {
    let wanted = [("fill;large", 100 * count), ("fill;small", 7 * count)];
    let found: BTreeMap<&str, u64> = found.iter().map(|(stack, bytes)| (&**stack, *bytes)).collect();
    match found == BTreeMap::from(wanted) {
        true => Ok(()),
        false => Err(format!("{found:?} is not {wanted:?}").into()),
    }
}

/// Blocks that are kept, with their sizes as they were asked for, of functions that are inlined and of others.
fn known(engine: &str) -> Tested {
    check(&held(engine, &["--invoke", "fill", &module(), "300"])?, 300)?;
    check(
        &held(engine, &["--no-inline", "--invoke", "fill", &module(), "70"])?,
        70,
    )
}

fn threads(engine: &str) -> Tested {
    let args = ["--threads", "100", "--invoke", "fill", &module(), "3"];
    check(&held(engine, &args)?, 300)
}

/// What was freed is not there in the end, but counts for the peak.
fn freed(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("heap.massif");
    let output = gpu_run_plainly_on(engine)
        .args(["--profile-mode", "heap", "--profile"])
        .arg(&file)
        .args(["--invoke", "churn", &module(), "20"])
        .output()?;
    let text = std::fs::read_to_string(&file)?;
    let last = text
        .lines()
        .filter_map(|line| line.strip_prefix("mem_heap_B="))
        .next_back();
    expect(last == Some("2140"), &text, &output)
}

/// A program with a standard library does the same, and was looked at several times.
fn over_time(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("heap.massif");
    let module = wasm("release", "containers");
    let plain = gpu_run_plainly_on(engine).arg(&module).output()?;
    let output = gpu_run_plainly_on(engine)
        .args(["--profile-mode", "heap", "--profile"])
        .arg(&file)
        .arg(&module)
        .output()?;
    expect(
        output.status.success() && output.stdout == plain.stdout,
        "it must do the same",
        &output,
    )?;
    let text = std::fs::read_to_string(&file)?;
    let (mut last, mut snapshots) = (0, 0);
    for line in text.lines() {
        if let Some(time) = line.strip_prefix("time=") {
            let time: u64 = time.parse()?;
            expect(time >= last, &format!("times go up: {text}"), &output)?;
            last = time;
            snapshots += 1;
        }
    }
    expect(snapshots >= 1, &format!("there must be snapshots: {text}"), &output)?;
    expect(text.matches("heap_tree=peak").count() == 1, &text, &output)
}

fn table(engine: &str) -> Tested {
    let mut command = gpu_run();
    command
        .arg("profile")
        .args(options(engine))
        .args(["--profile-mode", "heap", "--invoke", "fill", &module(), "10"]);
    let output = command.output()?;
    let stderr = text(&output.stderr);
    for wanted in [
        " bytes at most; here are the 1,070 bytes in 20 blocks after ",
        "  93.5%   93.5%  large\n",
    ] {
        expect(stderr.contains(wanted), wanted, &output)?;
    }
    Ok(())
}

/// Runs an export on the CPU with a profile of its heap.
fn on_cpu<const N: usize>(file: &str, words: [&str; N]) -> Output {
    let options = [
        "--device",
        "cpu",
        "--profile-mode",
        "heap",
        "--profile",
        file,
        "--invoke",
    ];
    run(options.into_iter().chain(words))
}

/// The format of Valgrind's massif.
fn massif() -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("heap.massif").display().to_string();
    let module = module();
    let output = on_cpu(&file, ["fill", &module, "10"]);
    let text = std::fs::read_to_string(&file)?;
    let (_, tree) = text.split_once("heap_tree=peak\n").ok_or("no peak")?;
    let wanted = "n2: 1070 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n \
                  n1: 1000 0x0: large (in wasm)\n  n0: 1000 0x0: fill (in wasm)\n \
                  n1: 70 0x0: small (in wasm)\n  n0: 70 0x0: fill (in wasm)\n";
    expect(tree.starts_with(wanted), &format!("{wanted}: {text}"), &output)?;
    expect(text.starts_with("desc: gpu-run "), &text, &output)
}

/// Times have no such file, and a program without the device's heap is told of.
fn refuses() -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("heap.massif").display().to_string();
    let module = module();
    let output = run(["--device", "cpu", "--profile", &file, "--invoke", "fill", &module, "10"]);
    let stderr = text(&output.stderr);
    let refused = stderr.contains("a .massif file is of a heap") && stderr.contains("--profile-mode heap");
    expect(output.status.code() == Some(2) && refused, "it is refused", &output)?;
    let output = on_cpu(&file, ["shares", &wat("shares.wat"), "1", "1"]);
    expect(
        output.status.success() && text(&output.stderr).contains("does not use the device's heap"),
        "there is a warning",
        &output,
    )
}
