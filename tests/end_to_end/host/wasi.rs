//! Programs for WASI, by every engine: what they find around them, and what becomes of their output.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cli::refuses::refuses;
use crate::common::{gpu_run_on, run, text};
use crate::support::{EngineTest, Test, Tested, expect, stats, wasm};

/// Tests that need no engine.
pub fn general() -> Vec<Test> {
    vec![
        ("refuses/wasi_function", || {
            refuses(
                "wasi_function.wasm",
                &["wasi_snapshot_preview1.fd_dup", "no such function"],
            )
        }),
        ("refuses/wasi_type", || {
            refuses("wasi_type.wasm", &["fd_close", "its type must be (i32) -> (i32)"])
        }),
        ("refuses/wasi_unstable", || {
            refuses("wasi_unstable.wasm", &["wasi_unstable.fd_close", "preview 1", "help"])
        }),
        ("refuses/missing_folder", missing_folder),
        ("refuses/two_folders_tmp", two_folders_tmp),
        ("inspect/wasi", inspect),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("wasi/arguments_environment_file_stdin", program),
        ("wasi/names", names),
        ("wasi/prompt", prompt),
        ("wasi/seed", seed),
        ("wasi/append/10240", append),
        ("wasi/small_reads", small_reads),
        ("wasi/tmpfs", tmpfs),
        ("wasi/tmpfs/append/10240", tmpfs_append),
        ("wasi/stops_while_it_reads", stops),
        ("wasi/full_disk", full_disk),
        ("wasi/closed_by_reader", closed_by_reader),
        ("wasi/trap/unaligned_result", |device| {
            trap(device, "unaligned_result", "unaligned pointer")
        }),
        ("wasi/trap/unaligned_list", |device| {
            trap(device, "unaligned_list", "unaligned pointer")
        }),
        ("wasi/trap/result_out_of_bounds", |device| {
            trap(device, "result_out_of_bounds", "out of bounds memory access")
        }),
        ("wasi/trap/buffer_out_of_bounds", |device| {
            trap(device, "buffer_out_of_bounds", "out of bounds memory access")
        }),
    ]
}

fn module() -> String {
    wasm("wat", "wasi")
}

/// A folder with input.txt, which has more bytes than the queue carries at once.
pub fn folder() -> Result<(TempDir, String), std::io::Error> {
    let folder = tempfile::tempdir()?;
    let input: String = (0..3000).map(|number| format!("{number}\n")).collect();
    fs::write(folder.path().join("input.txt"), &input)?;
    Ok((folder, input))
}

/// Runs a command to its end with these bytes as its standard input.
pub fn run_with(command: &mut Command, input: &[u8]) -> Result<Output, std::io::Error> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input)?;
    drop(stdin);
    child.wait_with_output()
}

fn program(device: &str) -> Tested {
    let (folder, input) = folder()?;
    let mut command = gpu_run_on(device);
    command.current_dir(&folder).env("TAKEN", "over").args(["--dir", "."]);
    command.args(["--env", "A=b=c", "--env", "TAKEN", "--env", "GPU_RUN_NOT_SET"]);
    command.args([&module(), "one", "", "--dir", "two words"]);
    let output = run_with(&mut command, b"typed\nin")?;
    let wanted = format!("wasi.wasm\none\n\n--dir\ntwo words\nA=b=c\nTAKEN=over\n{input}? typed\nin");
    expect(text(&output.stdout) == wanted, "everything must be printed", &output)?;
    expect(
        output.status.code() == Some(5),
        "the exit code must be the number of arguments",
        &output,
    )
}

fn names(device: &str) -> Tested {
    let (folder, _) = folder()?;
    let host = folder.path().to_str().expect("a path of text");
    let mut command = gpu_run_on(device);
    command.args([
        "--dir",
        &format!("{host}::/data:ro"),
        "--argv0",
        "another/name",
        &module(),
    ]);
    let output = run_with(&mut command, b"")?;
    let stdout = text(&output.stdout);
    expect(
        stdout.starts_with("another/name\n0\n1\n"),
        "the program's name, then the file",
        &output,
    )?;
    expect(output.status.code() == Some(1), "one argument", &output)?;
    // Without a folder there is no file.
    let output = run_with(gpu_run_on(device).arg(module()), b"")?;
    expect(text(&output.stdout) == "wasi.wasm\n? ", "no file", &output)
}

/// A prompt is there before the program waits for what is typed.
fn prompt(device: &str) -> Tested {
    let mut child = start(device, Stdio::piped())?;
    let mut stdout = child.stdout.take().expect("piped");
    let mut stdin = child.stdin.take().expect("piped");
    let mut read = |wanted: &str| -> Tested {
        let mut found = vec![0; wanted.len()];
        stdout.read_exact(&mut found)?;
        if found == wanted.as_bytes() {
            Ok(())
        } else {
            Err(format!("found {:?}", text(&found)).into())
        }
    };
    read("wasi.wasm\n? ")?;
    for line in ["first\n", "second\n"] {
        stdin.write_all(line.as_bytes())?;
        read(line)?;
    }
    drop(stdin);
    let status = child.wait()?;
    if status.code() == Some(1) {
        Ok(())
    } else {
        Err(format!("ended with {status}").into())
    }
}

fn start(device: &str, stdout: Stdio) -> Result<Child, std::io::Error> {
    gpu_run_on(device)
        .arg(module())
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
}

fn seed(device: &str) -> Tested {
    let number = |seed: &[&str]| {
        let output = gpu_run_on(device)
            .args(seed)
            .args(["--invoke", "random", &module()])
            .output();
        output.map(|output| text(&output.stdout))
    };
    let (first, again, other) = (
        number(&["--seed", "1"])?,
        number(&["--seed", "1"])?,
        number(&["--seed", "2"])?,
    );
    let (none, none_again) = (number(&[])?, number(&[])?);
    if first.is_empty() || first != again || first == other || none == none_again || none == first {
        return Err(format!("{first}{again}{other}{none}{none_again}").into());
    }
    Ok(())
}

fn append(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let threads = 10240;
    let output = gpu_run_on(device)
        .current_dir(&folder)
        .args([
            "--dir",
            ".",
            "--threads",
            &threads.to_string(),
            "--invoke",
            "append",
            &module(),
        ])
        .output()?;
    expect(
        text(&output.stdout) == "Result: 0\n",
        "every thread must have written",
        &output,
    )?;
    let lines = fs::read_to_string(folder.path().join("lines.txt"))?;
    let mut lines: Vec<_> = lines.lines().collect();
    lines.sort_unstable();
    let wanted = (0..threads).map(|id| format!("thread {id:05} of many, who all write to one file"));
    expect(lines == wanted.collect::<Vec<_>>(), "all lines, and none torn", &output)
}

/// Bytes are read one by one, and the host is asked for blocks.
fn small_reads(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("bytes"), vec![3; 100_000])?;
    let output = gpu_run_on(device)
        .current_dir(&folder)
        .args([
            "--dir",
            ".",
            "--stats=json",
            "--invoke",
            "sum",
            &wasm("wat", "read_bytes"),
            "1",
        ])
        .output()?;
    expect(text(&output.stdout) == "300000\n", "all bytes must be read", &output)?;
    // path_open, 4 and 8 KiB, six of 16 KiB, and the end. What is kept is asked for again after a second.
    let slow = stats(&output)?["run_ms"].as_f64() > Some(900.0);
    let calls = stats(&output)?["requests"]["calls"].as_u64();
    expect(calls == Some(10) || slow, "a request for each block", &output)
}

/// Many threads append to a file in device memory; one of them reads it. The host is asked for its name alone.
fn tmpfs_append(device: &str) -> Tested {
    let threads = "10240";
    let output = gpu_run_on(device)
        .args([
            "--tmpfs",
            "1MiB",
            "--stats=json",
            "--threads",
            threads,
            "--invoke",
            "append",
        ])
        .args([&wasm("wat", "tmpfs"), threads])
        .output()?;
    expect(
        text(&output.stdout) == "Result: 0\n",
        "all lines, and none torn",
        &output,
    )?;
    let calls = stats(&output)?["requests"]["calls"].as_u64();
    expect(calls == Some(0), "no requests but that of `_initialize`", &output)
}

/// A file is written and read in memory, and nothing of it is on the disk; what does not fit is an error.
fn tmpfs(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let tmpfs = |size: &str| {
        gpu_run_on(device)
            .current_dir(&folder)
            .args(["--tmpfs", size, "--threads", "100", "--invoke", "append", &module()])
            .output()
    };
    let output = tmpfs("1MiB")?;
    expect(
        text(&output.stdout) == "Result: 0\n",
        "every thread must have written",
        &output,
    )?;
    let output = tmpfs("4KiB")?;
    expect(
        text(&output.stdout) != "Result: 0\n",
        "there is no room for all of it",
        &output,
    )?;
    expect(
        fs::read_dir(&folder)?.next().is_none(),
        "nothing must be on the disk",
        &output,
    )
}

/// Nothing is typed, and the time is over.
fn stops(device: &str) -> Tested {
    let begin = Instant::now();
    let mut child = gpu_run_on(device)
        .args(["--timeout", "300ms", "--invoke", "stubborn", &module(), "0"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // `wait` would close it.
    let stdin = child.stdin.take();
    let status = child.wait()?;
    drop(stdin);
    let time = begin.elapsed();
    if status.code() != Some(124) || time > Duration::from_secs(60) {
        return Err(format!("ended with {status} after {time:?}").into());
    }
    Ok(())
}

/// A write that fails is reported to the program and to the user.
fn full_disk(device: &str) -> Tested {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return Ok(());
    };
    let mut child = start(device, full.into())?;
    drop(child.stdin.take());
    let output = child.wait_with_output()?;
    let said = text(&output.stderr);
    expect(
        said.contains("cannot write to stdout"),
        "the loss must be reported",
        &output,
    )?;
    expect(output.status.code() == Some(1), "exit code must be 1", &output)
}

/// The program goes on, and that its reader has left is no error.
fn closed_by_reader(device: &str) -> Tested {
    let mut child = start(device, Stdio::piped())?;
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("piped");
    // It stops to read once its writes fail.
    _ = stdin.write_all(&[b'x'; 100_000]);
    drop(stdin);
    let output = child.wait_with_output()?;
    expect(output.stderr.is_empty(), "nothing must be reported", &output)?;
    expect(output.status.code() == Some(1), "the program's own exit code", &output)
}

fn trap(device: &str, name: &str, kind: &str) -> Tested {
    let output = gpu_run_on(device).args(["--invoke", name, &module()]).output()?;
    let said = text(&output.stderr);
    expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
    expect(
        said.contains(&format!("trap: {kind}\n")),
        "the trap must be named",
        &output,
    )?;
    expect(said.contains(name), "the backtrace must name the function", &output)
}

fn missing_folder() -> Tested {
    let output = run(["--device", "cpu", "--dir", "no-such-folder", &module()]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        text(&output.stderr).contains("no-such-folder"),
        "the message must name it",
        &output,
    )
}

fn two_folders_tmp() -> Tested {
    for dir in [".::/tmp", ".::/tmp/:ro"] {
        let output = run(["--device", "cpu", "--tmpfs", "1M", "--dir", dir, &module()]);
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        let said = text(&output.stderr);
        expect(
            said.contains("--tmpfs") && said.contains(dir),
            "the message must name both",
            &output,
        )?;
    }
    Ok(())
}

fn inspect() -> Tested {
    let output = run(["inspect", &module()]);
    let shown = text(&output.stdout);
    for line in [
        "wasi_snapshot_preview1.args_get (WASI, served on the device)",
        "wasi_snapshot_preview1.path_open (WASI, served by the host)",
        "gpu_run_v1.gid (GPU opcode)",
    ] {
        expect(shown.contains(line), &format!("it must show {line:?}"), &output)?;
    }
    let output = run([
        "inspect",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/bad/wasi_function.wasm"),
    ]);
    expect(
        text(&output.stdout).contains("fd_dup\n"),
        "an unknown function is nobody's",
        &output,
    )
}
