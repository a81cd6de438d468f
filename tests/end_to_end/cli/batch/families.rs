//! Processes that start others, and the pipes between them.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{fixture, text};
use crate::support::{EngineTest, Test, Tested, expect, fail};

use super::{batch, batch_on, program, reports, with_stdin};

pub fn general() -> Vec<Test> {
    vec![("batch/families/refuses", refuses)]
}

pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("batch/families/calls", calls),
        ("batch/families/shell", shell),
        ("batch/families/many", many),
        ("batch/families/ends", ends),
        ("batch/families/hostile", hostile),
    ]
}

fn programs() -> PathBuf {
    fixture("wasm").join("processes")
}

/// A batch of `spawner`, which may start all of the programs; `None` by an engine that compiles: there it is refused.
pub(super) fn spawner(engine: &str, options: &[&str]) -> Result<Option<Command>, libtest_mimic::Failed> {
    let mut command = batch_on(engine);
    command
        .args(["--env", "PARENT=p", "--program"])
        .arg(programs())
        .args(options)
        .arg(programs().join("spawner.wasm"));
    if !matches!(engine, "ptx" | "emulator") {
        return Ok(Some(command));
    }
    let output = command.output()?;
    expect(output.status.code() == Some(2), "it is refused", &output)?;
    expect(text(&output.stderr).contains("are interpreted"), "it says why", &output)?;
    Ok(None)
}

/// What the calls of `gpu_std::process` do.
fn calls(engine: &str) -> Tested {
    let environment = concat!(
        "[\"a\", \"\", \"b c\"] None Some(\"p\")\n",
        "[\"a\", \"\", \"b c\"] Some(\"hello\") Some(\"p\")\n",
        "[\"a\", \"\", \"b c\"] None None\n",
        "[\"a\", \"\", \"b c\"] Some(\"alone\") None\n",
    );
    for (case, wanted) in [
        ("env", environment),
        ("output", "exit status: 0 98000 96000\n"),
        ("piped", "1000000 bytes, sum 124998120\n"),
        ("status", "exit status: 7\n"),
        ("kill", "ended: no\nkilled\n"),
        ("try_wait", "the grandchild ends later\nexit status: 0, waited: yes\n"),
        ("orphan", "exit status: 0\nthe grandchild ends later\n"),
        ("family", "the first process ends\n"),
        ("bomb", "the first process ends\n"),
        ("overlap", "code: None\n"),
        ("storm", "10 have ended\n"),
        ("nosuch", "NotFound\nInvalidInput\nArgumentListTooLong\n"),
        ("epipe", "exit status: 0\nBrokenPipe\n"),
        ("null", "0 bytes, sum 0\nexit status: 0\nexit status: 0\n"),
        ("inherit", "0 bytes, sum 0\nexit status: 0\n"),
        ("id", "yes\n"),
    ] {
        let Some(mut command) = spawner(engine, &["--instances", "3"])? else {
            return Ok(());
        };
        let output = command.arg(case).output()?;
        expect(output.status.success(), case, &output)?;
        expect(text(&output.stdout) == wanted.repeat(3), case, &output)?;
    }
    Ok(())
}

/// A shell runs pipelines of three programs, each a process.
fn shell(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    // More than pipes hold. A lane of a GPU sorts few lines in a second.
    let lines = if engine == "cpu" { 20_000 } else { 3_000 };
    let words: String = (0..lines).map(|i| format!("word{}\n", i * 7919 % 13)).collect();
    std::fs::write(folder.path().join("words"), words)?;
    std::fs::write(
        folder.path().join("script"),
        "# counts\ncat words | sort | uniq -c\ncat words words | sort | uniq\n",
    )?;
    if spawner(engine, &["--instances", "1"])?.is_none() {
        return Ok(());
    }
    let mut command = batch_on(engine);
    command
        .args(["--dir", ".:ro", "--instances", "4", "--program"])
        .arg(programs())
        .arg(programs().join("shell.wasm"))
        .arg("script")
        .current_dir(folder.path());
    let output = command.output()?;
    let mut sorted: Vec<(String, usize)> = (0..13)
        .map(|word| {
            (
                format!("word{word}"),
                (0..lines).filter(|i| i * 7919 % 13 == word).count(),
            )
        })
        .collect();
    sorted.sort();
    let counts: String = sorted
        .iter()
        .map(|(word, count)| format!("{count:7} {word}\n"))
        .collect();
    let names: String = sorted.iter().map(|(word, _)| format!("{word}\n")).collect();
    expect(output.status.success(), "all succeed", &output)?;
    expect(
        text(&output.stdout) == (counts + &names).repeat(4),
        "words are counted",
        &output,
    )
}

/// Where there are more processes than lanes, families wait for each other, and no process is lost.
fn many(engine: &str) -> Tested {
    let Some(mut command) = spawner(engine, &["--instances", "50"])? else {
        return Ok(());
    };
    let output = command.args(["many", "150"]).output()?;
    expect(output.status.success(), "all succeed", &output)?;
    let sum: u32 = (0..150).map(|i| i % 100).sum();
    expect(
        text(&output.stdout) == format!("{sum}\n").repeat(50),
        "all codes are counted",
        &output,
    )
}

/// A trap ends a child alone and is told of; a first process that is stopped takes its family with it.
fn ends(engine: &str) -> Tested {
    let Some(mut command) = spawner(engine, &["--instances", "2"])? else {
        return Ok(());
    };
    let output = command.arg("trap").output()?;
    expect(output.status.success(), "the parent goes on", &output)?;
    expect(
        text(&output.stdout) == "success: no, code: None\n".repeat(2),
        "it knows",
        &output,
    )?;
    expect(
        text(&output.stderr)
            .matches("gpu-run: spawner trapped: unreachable, in ")
            .count()
            == 2,
        "the trap is told of",
        &output,
    )?;
    let stopped = spawner(
        engine,
        &["--instances", "3", "--instance-timeout", "300ms", "--report", "json"],
    )?;
    let Some(mut command) = stopped else { return Ok(()) };
    let output = command.arg("wait-for-ever").output()?;
    let reports = reports(&output)?;
    let all = reports.values().filter(|report| report["kind"] == "timeout").count();
    expect(all == 3, "their time is over", &output)
}

/// Processes that call with whatever numbers, beside honest ones.
fn hostile(engine: &str) -> Tested {
    let (count, lines_of_each) = if engine == "cpu" { (200, 15_000) } else { (1_000, 600) };
    let lines: String = (0..count)
        .map(|i| match i % 2 {
            0 => "cat words | sort | uniq -c\n".to_owned(),
            _ => format!("spawner fuzz {}\n", i * 7 + 1),
        })
        .collect();
    if spawner(engine, &["--instances", "1"])?.is_none() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("words"), "b\na\nb\n".repeat(lines_of_each / 3))?;
    let mut command = batch_on(engine);
    command
        .args(["--dir", ".:ro", "--stdin-lines", "--instance-timeout", "60s"])
        .args(["--report", "json", "--program"])
        .arg(programs())
        .arg(programs().join("shell.wasm"))
        .current_dir(folder.path());
    let output = with_stdin(&mut command, &lines)?;
    for (name, report) in reports(&output)? {
        let honest = name.parse::<usize>()? % 2 == 0;
        if honest && report["kind"] != "done" || report["kind"] == "timeout" {
            return fail(format!("{name}: {report}"), &output);
        }
    }
    let honest = format!("{:7} a\n{:7} b\n", lines_of_each / 3, lines_of_each / 3 * 2);
    // The others write nothing.
    expect(
        text(&output.stdout) == honest.repeat(count / 2),
        "honest ones count their words",
        &output,
    )
}

fn refuses() -> Tested {
    for (word, message) in [
        ("no/such/directory", "is neither NAME=FILE.wasm nor a directory"),
        ("name=no_such.wasm", "cannot read the module"),
        (".", "has no .wasm files"),
    ] {
        let folder = tempfile::tempdir()?;
        let mut command = batch();
        command
            .args(["--program", word, "--instances", "1", &program()])
            .current_dir(folder.path());
        let output = command.output()?;
        expect(output.status.code() == Some(2), message, &output)?;
        expect(text(&output.stderr).contains(message), message, &output)?;
    }
    // Without programs.
    let mut command = batch();
    command
        .args(["--instances", "1"])
        .arg(programs().join("spawner.wasm"))
        .arg("status");
    let output = command.output()?;
    expect(
        text(&output.stderr).contains("gpu-run was given no programs"),
        "it says how",
        &output,
    )
}
