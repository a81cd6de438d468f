//! What processes write is there once, in order, whichever of them fail and whenever the batch is killed.

use crate::common::{gpu_run, text};
use crate::support::{Test, Tested, expect, fail, wasm};

use super::{batch, contents, program, reports, with_stdin};

pub fn general() -> Vec<Test> {
    vec![
        ("batch/order", order),
        ("batch/out_file", out_file),
        #[cfg(target_os = "linux")]
        ("batch/lost", lost),
        ("batch/whole_reports", whole_reports),
        ("batch/several_devices", several_devices),
        ("batch/resume", resume),
        ("batch/fail_fast", fail_fast),
        ("batch/retry", retry),
        ("batch/anew", anew),
    ]
}

/// Both streams are in the order of the inputs, whichever process ends first.
fn order() -> Tested {
    let lines: String = (0..500)
        .map(|i| format!("R{}\n", "x".repeat((i * 7919) % 900)))
        .collect();
    let output = with_stdin(batch().arg("--stdin-lines").arg(program()), &lines)?;
    expect(text(&output.stdout) == lines, "outputs are in order", &output)?;
    expect(
        text(&output.stderr).starts_with("500 processes in "),
        "there is a summary",
        &output,
    )
}

/// Outputs go to a file in the place of stdout.
fn out_file() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("all.txt");
    let mut command = batch();
    command
        .arg("--out")
        .arg(&path)
        .args([&program(), ":::"])
        .args(["one", "two"].map(|name| {
            let input = folder.path().join(name);
            std::fs::write(&input, format!("R {name}\n"))
                .map(|()| input)
                .unwrap_or_default()
        }));
    let output = command.output()?;
    expect(
        output.status.success() && output.stdout.is_empty(),
        "stdout is empty",
        &output,
    )?;
    let written = std::fs::read_to_string(&path)?;
    expect(
        written == "R one\nR two\n",
        &format!("the file has {written:?}"),
        &output,
    )?;
    let mut command = batch();
    command.args(["--out", "/", &program(), ":::", "one"]);
    let output = command.output()?;
    let said = text(&output.stderr);
    expect(
        output.status.code() == Some(2) && said.contains("cannot make the file of outputs"),
        "a directory is refused",
        &output,
    )
}

/// Where outputs cannot be written, they go nowhere else.
#[cfg(target_os = "linux")]
fn lost() -> Tested {
    let lines: String = (0..2000).map(|i| format!("R{}\n", i * 1_000_003)).collect();
    let mut command = batch();
    command.args(["--out", "/dev/full", "--stdin-lines"]).arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(output.stdout.is_empty(), "stdout is empty", &output)?;
    expect(
        text(&output.stderr).contains("outputs cannot be written"),
        "it says why",
        &output,
    )
}

/// Objects on stderr are whole, whatever processes write there meanwhile.
fn whole_reports() -> Tested {
    let module = wasm("wasi", "wc");
    let mut command = batch();
    command.args(["--instances", "3000", "--report", "json", &module, "no_such_file"]);
    let output = command.output()?;
    let stderr = text(&output.stderr);
    for line in stderr.lines().filter(|line| line.contains("\"schema\"")) {
        if serde_json::from_str::<serde_json::Value>(line).is_err() {
            return fail(format!("no object: {line}"), &output);
        }
    }
    expect(reports(&output)?.len() == 3000, "there is one for each", &output)
}

/// Devices share the inputs: each is run once, and outputs are in order. Where one fails fast, all end.
fn several_devices() -> Tested {
    let lines: String = (0..5000).map(|i| format!("R{i}\n")).collect();
    let run = |devices: &str, more: &[&str], lines: &str| {
        let mut command = gpu_run();
        command
            .args(["batch", "--device", devices, "--stdin-lines"])
            .args(more)
            .arg(program());
        with_stdin(&mut command, lines)
    };
    let one = run("cpu", &[], &lines)?;
    let three = run("cpu,cpu,cpu", &[], &lines)?;
    expect(three.status.success(), "all succeed", &three)?;
    expect(one.stdout == three.stdout, "outputs are as those of one device", &three)?;
    let said = text(&three.stderr);
    expect(said.contains("5,000 done"), "each is counted once", &three)?;
    let failing: String = (0..5000)
        .map(|i| format!("{}{i}\n", if i == 50 { 'T' } else { 'R' }))
        .collect();
    let failed = run("cpu,cpu", &["--fail-fast", "--report", "json"], &failing)?;
    expect(failed.status.code() == Some(1), "one has failed", &failed)?;
    expect(reports(&failed)?.len() < 5000, "the others did not begin", &failed)?;
    // That others are stopped before they begin is no interruption, nor the reason where one cannot go on.
    let more = ["--fail-fast", "--snapshot-at", "prepare"];
    for _ in 0..3 {
        let failed = run("cpu,cpu,cpu,cpu", &more, &failing)?;
        expect(failed.status.code() == Some(1), "one has failed", &failed)?;
    }
    let absent = run("cpu,cpu,cuda:99", &["--snapshot-at", "prepare"], &lines)?;
    expect(
        absent.status.code() == Some(2) && !text(&absent.stderr).contains("interrupted"),
        "there is no such device",
        &absent,
    )
}

/// A batch that was killed goes on where it was: processes that have ended do not run again.
fn resume() -> Tested {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let lines: String = (0..50)
        .map(|i| format!("{}{i}\n", if i == 9 { 'E' } else { 'R' }))
        .collect();
    let run = |option: &str| {
        with_stdin(
            batch().arg(option).arg(&out).arg("--stdin-lines").arg(program()),
            &lines,
        )
    };
    let output = run("--out-dir")?;
    expect(output.status.code() == Some(1), "one has failed", &output)?;
    let all = contents(&out)?;
    // As if it had been killed: some are not there, of one there is a part.
    std::fs::remove_file(out.join("000017.exit"))?;
    std::fs::write(out.join("000017.out"), "R1")?;
    std::fs::write(out.join("000030.exit"), "")?;
    std::fs::remove_file(out.join("000041.exit"))?;
    std::fs::remove_file(out.join("000041.out"))?;
    std::fs::write(out.join("000002.out"), "kept")?;
    let output = run("--resume")?;
    expect(output.status.success(), "what ran now is fine", &output)?;
    expect(
        text(&output.stderr).contains("3 processes in") && text(&output.stderr).contains("47 done before"),
        "three run",
        &output,
    )?;
    let mut wanted = all;
    wanted.insert("000002.out".into(), b"kept".to_vec());
    match contents(&out)? == wanted {
        true => Ok(()),
        false => fail("the directory is whole", &output),
    }
}

fn fail_fast() -> Tested {
    let lines: String = (0..3000)
        .map(|i| format!("{}{i}\n", if i == 5 { 'T' } else { 'R' }))
        .collect();
    let mut command = batch();
    command
        .args(["--fail-fast", "--jobs", "2", "--report", "json", "--stdin-lines"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(output.status.code() == Some(1), "one has failed", &output)?;
    let reports = reports(&output)?;
    let trap = reports.values().any(|report| report["kind"] == "trap");
    expect(trap && reports.len() < 3000, "the others did not begin", &output)
}

/// What fails on the CPU too has failed; it is told once.
fn retry() -> Tested {
    let mut command = batch();
    command
        .args(["--retry", "cpu", "--report", "json", "--stdin-lines"])
        .arg(program());
    let output = with_stdin(&mut command, "R1\nT2\nR3\n")?;
    expect(
        text(&output.stdout) == "R1\nT2\nR3\n",
        "outputs are there once, in order",
        &output,
    )?;
    expect(reports(&output)?.len() == 3, "each is told of", &output)
}

/// In a directory of an earlier batch, what the new one has not come to has not ended.
fn anew() -> Tested {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let run = |option: &str, lines: &str| {
        with_stdin(batch().arg(option).arg(&out).arg("--stdin-lines").arg(program()), lines)
    };
    run("--out-dir", "R1\nR2\nR3\n")?;
    run("--out-dir", "R4\n")?;
    let output = run("--resume", "R4\nR5\nR6\n")?;
    let second = std::fs::read_to_string(out.join("000001.out"))?;
    expect(second == "R5\n", "the second ran", &output)
}
