//! Processes have what is theirs and end alone, on every engine.

use crate::common::{gpu_run, options, text};
use crate::support::{EngineTest, Tested, expect, fail, wasm};

use super::{batch_on, program, reports, with_stdin};

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("batch/processes", processes),
        ("batch/timeout", timeout),
        ("batch/fuel", fuel),
        ("batch/memory", memory),
        ("batch/snapshot", snapshot),
        ("batch/files", files),
        ("batch/programs", programs),
        ("batch/instances", instances),
        ("batch/measured", measured),
    ]
}

/// Metrics count processes by how they ended, and the slowest are named.
fn measured(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("batch.prom");
    let mut command = batch_on(engine);
    command
        .args(["--slowest", "2", "--stdin-lines", "--metrics"])
        .arg(&file)
        .arg(program());
    let lines: String = (0..40)
        .map(|i| format!("{}{i}\n", if i % 10 == 3 { 'T' } else { 'R' }))
        .collect();
    let output = with_stdin(&mut command, &lines)?;
    let metrics = std::fs::read_to_string(&file)?;
    for (name, wanted) in [
        ("gpu_run_running{", "0.0"),
        ("gpu_run_processes_begun_total{", "40"),
        ("gpu_run_process_time_seconds_count{", "40"),
    ] {
        let found = metrics.lines().find(|line| line.starts_with(name));
        let right = found.is_some_and(|line| line.ends_with(&format!(" {wanted}")));
        expect(right, &format!("{name} must be {wanted}: {metrics}"), &output)?;
    }
    let ended = metrics
        .lines()
        .filter(|line| line.starts_with("gpu_run_processes_ended_total{"));
    let ended: Vec<&str> = ended.filter_map(|line| line.rsplit(' ').next()).collect();
    let all: u64 = ended.iter().filter_map(|count| count.parse::<u64>().ok()).sum();
    expect(
        all == 40 && ended.len() == 2,
        &format!("two kinds of ends: {metrics}"),
        &output,
    )?;
    let stderr = text(&output.stderr);
    let (_, slowest) = stderr
        .split_once("; the slowest:\n")
        .ok_or_else(|| format!("there are times: {stderr}"))?;
    let rows = slowest.lines().take_while(|line| line.contains(" ms  ")).count();
    expect(rows == 2, "two are named", &output)
}

/// How many processes an engine runs in a test.
fn many(engine: &str) -> usize {
    match engine {
        "emulator" => 150,
        _ => 5000,
    }
}

/// Of many processes some trap and some exit, and all others are right; nothing of one is left for the next.
fn processes(engine: &str) -> Tested {
    let kind = |i: usize| match i % 11 {
        4 => 'T',
        7 => 'E',
        _ => 'R',
    };
    let count = many(engine);
    let lines: String = (0..count).map(|i| format!("{}{i}\n", kind(i))).collect();
    // So few at once that slots are used again.
    let mut command = batch_on(engine);
    command
        .args(["--jobs", "64", "--stdin-lines", "--report", "json"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(output.status.code() == Some(1), "some have failed", &output)?;
    expect(text(&output.stdout) == lines, "each says its line, in order", &output)?;
    let reports = reports(&output)?;
    for i in 0..count {
        let Some(report) = reports.get(&format!("{i:06}")) else {
            return fail(format!("{i} is not reported"), &output);
        };
        let (wanted, code) = match kind(i) {
            'T' => ("trap", 134),
            'E' => ("exit", 7),
            _ => ("done", 0),
        };
        if report["kind"] != wanted || report["exit_code"] != code {
            return fail(format!("{i}: {report}"), &output);
        }
        if wanted == "trap" && report["function"] != "innermost" {
            return fail(format!("the trap is in `innermost`: {report}"), &output);
        }
    }
    Ok(())
}

/// Processes that never end are stopped, and no other one is.
fn timeout(engine: &str) -> Tested {
    // All that end must do so in time, on a loaded machine too; the emulator is slow.
    let (count, time) = match engine {
        "emulator" => (40, "5s"),
        _ => (300, "1s"),
    };
    let kind = |i: usize| if i % 20 == 3 { 'L' } else { 'R' };
    let lines: String = (0..count).map(|i| format!("{}{i}\n", kind(i))).collect();
    let mut command = batch_on(engine);
    command
        .args(["--instance-timeout", time, "--stdin-lines", "--report", "json"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(text(&output.stdout) == lines, "each says its line, in order", &output)?;
    for (name, report) in reports(&output)? {
        let wanted = match kind(name.parse()?) {
            'L' => "timeout",
            _ => "done",
        };
        if report["kind"] != wanted {
            return fail(format!("{name}: {report}"), &output);
        }
    }
    Ok(())
}

/// A process that never ends uses up its fuel, and no other one's: the next on its lane has as much.
fn fuel(engine: &str) -> Tested {
    let kind = |i: usize| if i % 3 == 1 { 'L' } else { 'R' };
    let lines: String = (0..18).map(|i| format!("{}{i}\n", kind(i))).collect();
    let mut command = batch_on(engine);
    command
        .args(["--fuel", "1000000", "--jobs", "4", "--stdin-lines", "--report", "json"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(text(&output.stdout) == lines, "each says its line, in order", &output)?;
    for (name, report) in reports(&output)? {
        let (wanted, message) = match kind(name.parse()?) {
            'L' => ("trap", "out of fuel"),
            _ => ("done", ""),
        };
        if report["kind"] != wanted || !report["message"].as_str().unwrap_or_default().contains(message) {
            return fail(format!("{name}: {report}"), &output);
        }
    }
    Ok(())
}

/// Memory grows where it may, though little is set aside for each process at first.
fn memory(engine: &str) -> Tested {
    let run = |options: &[&str]| {
        let mut command = batch_on(engine);
        command.args(options).arg("--stdin-lines").arg(program());
        with_stdin(&mut command, "G1\nR2\nG3\n")
    };
    let output = run(&[])?;
    expect(
        text(&output.stdout) == "G1\ngrownR2\nG3\ngrown",
        "there is enough",
        &output,
    )?;
    let output = run(&["--instance-memory", "1MiB"])?;
    expect(
        text(&output.stdout) == "G1\nsmallR2\nG3\nsmall",
        "there is too little",
        &output,
    )
}

/// What an export leaves in memory and globals, all processes begin with.
fn snapshot(engine: &str) -> Tested {
    let mut command = batch_on(engine);
    command
        .args(["--snapshot-at", "prepare", "--jobs", "2", "--stdin-lines"])
        .arg(program());
    let output = with_stdin(&mut command, "R1\nR2\nR3\nR4\n")?;
    expect(text(&output.stdout) == "R1\n!R2\n!R3\n!R4\n!", "each has it", &output)
}

/// Programs read files of folders that they are given, by names in their arguments.
fn files(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let names: Vec<String> = (0..20).map(|i| format!("file{i}.txt")).collect();
    for (i, name) in names.iter().enumerate() {
        std::fs::write(folder.path().join(name), "two words\n".repeat(i))?;
    }
    let output = batch_on(engine)
        .args(["--dir", ".:ro"])
        .args([&wasm("wasi", "wc"), "{}", ":::"])
        .args(&names)
        .current_dir(folder.path())
        .output()?;
    expect(output.status.success(), "all are read", &output)?;
    let wanted: Vec<String> = (0..20)
        .map(|i| format!("{} {} {} file{i}.txt", i, 2 * i, 10 * i))
        .collect();
    let found: Vec<String> = text(&output.stdout)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    expect(found == wanted, "the counts are right", &output)
}

/// Stock programs: what the command prints for one run, a batch prints for each.
fn programs(engine: &str) -> Tested {
    for (program, input) in [
        ("json", "{\"a\": [1, 2.5, \"x\"], \"b\": null}"),
        ("stdin_lines", "one\ntwo words\n\nlast"),
        ("wc", "one two\nthree\n"),
    ] {
        let module = wasm("wasi", program);
        let one = with_stdin(gpu_run().args(options("cpu")).arg(&module), input)?;
        let folder = tempfile::tempdir()?;
        let names: Vec<String> = (0..10).map(|i| format!("input{i}")).collect();
        for name in &names {
            std::fs::write(folder.path().join(name), input)?;
        }
        let output = batch_on(engine)
            .arg("--out-dir")
            .arg(folder.path().join("out"))
            .args([&module, ":::"])
            .args(&names)
            .current_dir(folder.path())
            .output()?;
        expect(output.status.success(), program, &output)?;
        for name in &names {
            let file = |ending: &str| std::fs::read(folder.path().join("out").join(format!("{name}.{ending}")));
            if file("out")? != one.stdout || file("exit")? != b"0\n" {
                return fail(format!("{program}: {name} differs"), &output);
            }
        }
    }
    Ok(())
}

/// Processes without an input find their number.
fn instances(engine: &str) -> Tested {
    let output = batch_on(engine)
        .args(["--instances", "12", "--env", "OTHER=x", &wasm("wasi", "env_args")])
        .output()?;
    let found = text(&output.stdout);
    for i in 0..12 {
        if found.matches(&format!("GPU_INSTANCE: \"{i}\"\n")).count() != 1 {
            return fail(format!("there must be a process {i}"), &output);
        }
    }
    expect(
        found.matches("GPU_INSTANCES: \"12\"").count() == 12,
        "each knows how many there are",
        &output,
    )
}
