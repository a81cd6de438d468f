//! Profiles of batches: of all processes together, and of the slowest by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use libtest_mimic::Failed;

use super::families::spawner;
use super::{batch_on, with_stdin};
use crate::cli::profile::{by_chance, folded, wat};
use crate::common::{gpu_run, text};
use crate::support::{EngineTest, Test, Tested, expect, fail};

/// The tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![("batch/profile_by_run", by_run), ("batch/profile_refuses", refuses)]
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("batch/profile", |engine| by_chance(|| shares(engine))),
        ("batch/profile_counts", counts),
        ("batch/profile_of_families", of_families),
    ]
}

/// How often the turns of slow processes are doubled, and those of others, and how many samples are taken in a second.
fn work(engine: &str) -> ([u32; 2], &'static str) {
    match engine {
        // On two processors the clock of samples waits for those that it measures.
        "cpu" => ([9, 5], "3000"),
        "emulator" => ([5, 1], "20000"),
        // These others are all at the same place, and few looks see them.
        "ptx" => ([9, 9], "20000"),
        _ => ([4, 2], "4000"),
    }
}

/// What a process is to do: parts in `red` and in `green`, and turns.
const SLOW: [(usize, u32, u32, u32); 3] = [(5, 9, 1, 9), (23, 2, 8, 8), (40, 5, 5, 7)];
const PROCESSES: usize = 60;

/// Lines for processes, of which some are slow.
fn lines([slow_doubled, doubled]: [u32; 2]) -> String {
    let line = |process| match SLOW.iter().find(|(slow, ..)| *slow == process) {
        Some((_, red, green, turns)) => format!("{red}{green}{turns}{slow_doubled}\n"),
        None => format!("314{doubled}\n"),
    };
    (0..PROCESSES).map(line).collect()
}

fn profile(engine: &str, options: &[&str], doubled: [u32; 2], file: &Path) -> Result<Output, Failed> {
    let mut command = batch_on(engine);
    command
        .args(options)
        .arg("--profile")
        .arg(file)
        .args(["--stdin-lines", &wat("process_shares.wat")]);
    let output = with_stdin(&mut command, &lines(doubled))?;
    expect(output.status.success(), "the batch must end well", &output)?;
    Ok(output)
}

/// The share of `red` in the samples of stacks that begin with a name, in percent, and how many they are.
fn red(stacks: &BTreeMap<String, u64>, name: &str) -> (f64, u64) {
    let of = |function: &str| -> u64 {
        let stacks = stacks.iter().filter(|(stack, _)| stack.starts_with(name));
        let own = stacks.filter(|(stack, _)| stack.split(';').any(|frame| frame == function));
        own.map(|(_, samples)| samples).sum()
    };
    let (red, green) = (of("red"), of("green"));
    (100.0 * red as f64 / (red + green).max(1) as f64, red + green)
}

/// Where the time of each of the slowest processes went, and that of all others, within five points.
fn shares(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("stacks.folded");
    let (doubled, rate) = work(engine);
    let output = profile(engine, &["--profile-rate", rate, "--slowest", "3"], doubled, &file)?;
    let stacks = folded(&file)?;
    let told = text(&output.stderr);
    for (process, parts, others, _) in SLOW {
        let (share, samples) = red(&stacks, &format!("process {process:06};"));
        let wanted = 100.0 * f64::from(parts) / f64::from(parts + others);
        if samples < 100 || (share - wanted).abs() > 5.0 {
            return fail(
                format!("process {process}: {share:.1} % of {samples} samples are red, not {wanted:.1} %: {stacks:?}"),
                &output,
            );
        }
        let row = told.lines().find(|line| line.contains(&format!("ms  {process:06} ")));
        let first = if parts >= others { "red " } else { "green " };
        let is_told = row.is_some_and(|row| row.contains("ms  ") && row.contains(first));
        expect(
            is_told,
            &format!("the slow process {process} must be told with its functions"),
            &output,
        )?;
    }
    let (share, samples) = red(&stacks, "[57 other processes];");
    if samples < 100 || (share - 75.0).abs() > 5.0 {
        return fail(
            format!("{share:.1} % of {samples} samples of the others are red, not 75 %: {stacks:?}"),
            &output,
        );
    }
    Ok(())
}

/// The operations of all processes are counted, to the last one.
fn counts(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("stacks.folded");
    profile(engine, &["--profile-mode", "count"], [2, 0], &file)?;
    let counted = folded(&file)?;
    let other = folder.path().join("other.folded");
    profile("cpu", &["--profile-mode", "count"], [2, 0], &other)?;
    let has_red = counted.keys().any(|stack| stack.ends_with("red"));
    match counted == folded(&other)? && has_red {
        true => Ok(()),
        false => Err(format!("counts differ from those of the CPU: {counted:?}").into()),
    }
}

/// `gpu-run profile --instances` prints the table.
fn by_run() -> Tested {
    let output = gpu_run()
        .args([
            "profile",
            "--device",
            "cpu",
            "--instances",
            "20",
            "--profile-mode",
            "count",
        ])
        .arg(wat("process.wat"))
        .output()?;
    let told = text(&output.stderr);
    let is_told =
        told.contains("20 processes in") && told.contains("is_clean") && told.contains("3,370,080 operations");
    expect(output.status.success() && is_told, "the table must be there", &output)
}

/// Programs that processes start have a frame around theirs. Their samples count for the process that has started them.
fn of_families(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    for mode in ["count", "sample"] {
        let file = folder.path().join(format!("{mode}.folded"));
        let options = [
            "--profile-mode",
            mode,
            "--profile-rate",
            "100000",
            "--instances",
            "2",
            "--profile",
        ];
        let Some(mut command) = spawner(engine, &[&options[..], &[&file.display().to_string()]].concat())? else {
            return Ok(());
        };
        let output = command.arg("output").output()?;
        expect(output.status.success(), "the processes must end well", &output)?;
        let stacks = folded(&file)?;
        let frames: BTreeSet<&str> = stacks.keys().flat_map(|stack| stack.split(';')).collect();
        let programs = frames.iter().filter(|frame| frame.starts_with("[program ")).count();
        let processes = frames.iter().filter(|frame| frame.starts_with("process ")).count();
        let wanted = if mode == "count" { 0 } else { 2 };
        if programs == 0 || processes != wanted {
            return fail(
                format!("{mode}: frames of programs and {wanted} processes: {frames:?}"),
                &output,
            );
        }
    }
    Ok(())
}

fn refuses() -> Tested {
    let refused = |options: &[&str], why: &str| {
        let output = gpu_run()
            .args(["batch", "--device", "cpu", "--instances", "2"])
            .args(options)
            .arg(wat("process.wat"))
            .output()?;
        expect(output.status.code() == Some(2), "the options must be refused", &output)?;
        expect(
            text(&output.stderr).contains(why),
            &format!("it must say: {why}"),
            &output,
        )
    };
    refused(&["--profile-mode", "count"], "--profile-mode needs a profile")?;
    refused(
        &["--profile-mode", "heap", "--profile", "a.folded"],
        "no profile of heaps",
    )?;
    refused(&["--profile", "a.massif"], "a .massif file is of a heap")
}
