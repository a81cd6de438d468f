//! What is an input: lines of lists, JSON objects, files that are given, shards; and what is none.

use std::process::Command;

use serde_json::Value;

use crate::common::{gpu_run, options, text};
use crate::support::{Test, Tested, expect, wasm};

use super::{batch, contents, program, reports, with_stdin};

pub fn general() -> Vec<Test> {
    vec![
        ("batch/shards", shards),
        ("batch/objects", objects),
        ("batch/given_files", given_files),
        ("batch/attacks", attacks),
        ("batch/seed", seed),
        ("batch/refuses", refuses),
    ]
}

/// Outputs of shards are those of the whole.
fn shards() -> Tested {
    let folder = tempfile::tempdir()?;
    let list = folder.path().join("list");
    let mut lines = String::new();
    for i in 0..23 {
        let path = folder.path().join(format!("in{}", i % 9));
        std::fs::write(&path, format!("R{}\n", i % 9))?;
        lines += &format!("{}\n", path.display());
    }
    std::fs::write(&list, lines)?;
    let run = |out: &str, more: &[&str]| {
        let mut command = batch();
        command
            .args(more)
            .arg("--from")
            .arg(&list)
            .arg("--out-dir")
            .arg(folder.path().join(out));
        command.arg(program()).output()
    };
    run("whole", &[])?;
    let output = run("parts", &["--shard", "0/3"])?;
    expect(
        text(&output.stderr).starts_with("8 processes"),
        "a third of 23",
        &output,
    )?;
    run("parts", &["--shard", "1/3"])?;
    let mut command = batch();
    command
        .args(["--shard", "auto", "--from"])
        .arg(&list)
        .arg("--out-dir")
        .arg(folder.path().join("parts"));
    let output = command
        .env("SHARD_INDEX", "2")
        .env("SHARD_COUNT", "3")
        .arg(program())
        .output()?;
    let (whole, parts) = (
        contents(&folder.path().join("whole"))?,
        contents(&folder.path().join("parts"))?,
    );
    expect(whole.len() == 46 && whole == parts, "the parts are the whole", &output)
}

/// Lines of a list may say all of a process.
fn objects() -> Tested {
    let lines = [
        r#"{"name": "first", "stdin": "one two\n"}"#,
        r#"{"args": ["none.txt"]}"#,
        r#"{"stdin": "three\n", "env": {"A": "b"}}"#,
        r#"{"stdin": 3}"#,
        r#"{"what": 3}"#,
    ];
    let mut command = batch();
    command.args(["--from", "-", "--report", "json", &wasm("wasi", "wc")]);
    let output = with_stdin(&mut command, &(lines.join("\n") + "\n"))?;
    let reports = reports(&output)?;
    let kind = |name: &str| reports.get(name).map(|report| report["kind"].clone());
    expect(kind("first") == Some("done".into()), "the first is done", &output)?;
    expect(
        kind("000001") == Some("exit".into()),
        "the second finds no file",
        &output,
    )?;
    expect(kind("000002") == Some("done".into()), "the third is done", &output)?;
    expect(
        kind("000003") == Some("unreadable".into()),
        "the fourth is wrong",
        &output,
    )?;
    expect(
        kind("000004") == Some("unreadable".into()),
        "the fifth is wrong",
        &output,
    )
}

/// A line of a list may give a process files of its own, in directories.
fn given_files() -> Tested {
    let folder = tempfile::tempdir()?;
    let host = folder.path().join("host.txt");
    std::fs::write(&host, "one two three\n")?;
    let host = host.display();
    let lines = [
        format!(r#"{{"args": ["a.txt", "b/c.txt"], "files": {{"a.txt": "{host}", "/b/c.txt": "{host}"}}}}"#),
        r#"{"args": ["a.txt"]}"#.to_owned(),
        format!(r#"{{"args": ["a.txt"], "files": {{"a.txt": "{host}.none"}}}}"#),
        format!(r#"{{"args": ["a.txt"], "files": {{"../a.txt": "{host}"}}}}"#),
    ];
    let mut command = batch();
    command.args(["--from", "-", "--report", "json", &wasm("wasi", "wc")]);
    let output = with_stdin(&mut command, &(lines.join("\n") + "\n"))?;
    // A folder with the same name does not hide them.
    let mut beside = batch();
    beside
        .args(["--dir", ".", "--from", "-", &wasm("wasi", "wc")])
        .current_dir(folder.path());
    let hidden = with_stdin(&mut beside, &format!("{}\n", lines[0]))?;
    expect(hidden.status.success(), "it finds both files", &hidden)?;
    let reports = reports(&output)?;
    let of = |name: &str, field: &str| {
        reports
            .get(name)
            .map(|report| report[field].clone())
            .unwrap_or_default()
    };
    expect(of("000000", "kind") == "done", "it finds both files", &output)?;
    let stdout = text(&output.stdout);
    expect(
        stdout.contains("a.txt") && stdout.contains("b/c.txt"),
        "it counts both",
        &output,
    )?;
    expect(of("000001", "kind") == "exit", "the next has none of them", &output)?;
    let said = |name: &str, what: &str| {
        let message = of(name, "message");
        of(name, "kind") == "unreadable" && message.as_str().is_some_and(|message| message.contains(what))
    };
    expect(
        said("000002", "cannot read its file"),
        "what is not there is told",
        &output,
    )?;
    expect(said("000003", "is no path of a file"), "nothing lies outside", &output)
}

/// Text that would end a string early is no argument, and a request that waits does not keep a process from its end.
fn attacks() -> Tested {
    let zeros = "\\u0000".repeat(3000);
    let lines = format!("{{\"args\": [\"{zeros}\"]}}\n{{\"env\": {{\"A\": \"b\\u0000c\"}}}}\n{{\"args\": [\"x\"]}}\n");
    let mut command = batch();
    command.args(["--from", "-", "--report", "json", &wasm("wasi", "env_args")]);
    let output = with_stdin(&mut command, &lines)?;
    let kinds: Vec<Value> = reports(&output)?
        .values()
        .map(|report| report["kind"].clone())
        .collect();
    expect(
        kinds == ["unreadable", "unreadable", "done"],
        "strings with NULs are refused",
        &output,
    )?;
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir()?;
        let status = Command::new("mkfifo").arg(folder.path().join("pipe")).status()?;
        if !status.success() {
            return Err("mkfifo".into());
        }
        let output = batch()
            .args(["--dir", ".", "--instance-timeout", "200ms", "--report", "json"])
            .args([&wasm("wasi", "wc"), "{}", ":::", "pipe"])
            .current_dir(folder.path())
            .output()?;
        let pipe = reports(&output)?.remove("pipe").ok_or("it is told of")?;
        expect(pipe["kind"] == "timeout", "its time is over", &output)?;
    }
    // Names that would be others' files.
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let names = ["a", "a~2", "a", "../a", "x/../a"];
    let mut command = batch();
    command
        .arg("--out-dir")
        .arg(&out)
        .args([&program(), "{}", ":::"])
        .args(names);
    let output = command.output()?;
    let exits = contents(&out)?.keys().filter(|name| name.ends_with(".exit")).count();
    expect(exits == names.len(), "each has files of its own", &output)?;
    // A list that cannot be read to its end is no success.
    let output = batch().args(["--from", "/", &program()]).output()?;
    expect(output.status.code() == Some(2), "a folder is no list", &output)
}

/// Writes 32 random bytes.
const RANDOM: &str = r#"(module
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $random (i32.const 64) (i32.const 32)))
        (i32.store (i32.const 0) (i32.const 64))
        (i32.store (i32.const 4) (i32.const 32))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

/// With a seed random bytes are those of a run by itself, whichever lane runs the process. Without one all are others.
fn seed() -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("random.wat");
    std::fs::write(&module, RANDOM)?;
    let one = gpu_run()
        .args(options("cpu"))
        .args(["--seed", "7"])
        .arg(&module)
        .output()?;
    expect(one.stdout.len() == 32, "there are 32 bytes", &one)?;
    let many = batch()
        .args(["--seed", "7", "--instances", "500"])
        .arg(&module)
        .output()?;
    if many.stdout != one.stdout.repeat(500) {
        return Err("with a seed all are as the one".into());
    }
    let many = batch().args(["--instances", "500"]).arg(&module).output()?;
    let different: std::collections::BTreeSet<&[u8]> = many.stdout.chunks(32).collect();
    match different.len() {
        500 => Ok(()),
        count => Err(format!("without a seed 500 are different, not {count}").into()),
    }
}

fn refuses() -> Tested {
    for (args, message) in [
        (&["MODULE"][..], "the batch has no inputs"),
        (
            &["--instances", "2", "MODULE", ":::", "a"],
            "inputs stand after ::: and are named by an option too",
        ),
        (&["--from", "no/such/list", "MODULE"], "cannot read the list of inputs"),
        (&["--shard", "3/3", "--instances", "2", "MODULE"], "expected I/N"),
        (
            &["--shard", "auto", "--instances", "2", "MODULE"],
            "finds no scheduler's variables",
        ),
        (&["--snapshot-at", "none", "--instances", "2", "MODULE"], "none"),
        (
            &["--tmpfs", "1MiB", "--instances", "2", "MODULE"],
            "do not have --tmpfs",
        ),
        (
            &["--dir", "no/such/dir", "--instances", "2", "MODULE"],
            "--dir no/such/dir",
        ),
        (&["--instances", "2", "no_such.wasm"], "cannot read the module"),
        (&["--jobs", "0", "--instances", "2", "MODULE"], "0"),
    ] {
        let args = args.iter().map(|arg| match *arg {
            "MODULE" => program(),
            arg => arg.to_owned(),
        });
        let output = batch().args(args).output()?;
        expect(output.status.code() == Some(2), message, &output)?;
        expect(text(&output.stderr).contains(message), message, &output)?;
    }
    // Modules that have no `_start`, and one for threads.
    for (module, message) in [
        (wasm("wasi", "reactor"), "no function `_start` is exported"),
        (wasm("release", "hello"), "build it for wasm32-wasip1"),
        (wasm("wasi-threads", "executors"), "threads"),
    ] {
        let output = batch().args(["--instances", "2", &module]).output()?;
        expect(output.status.code() == Some(2), message, &output)?;
        expect(text(&output.stderr).contains(message), message, &output)?;
    }
    Ok(())
}
