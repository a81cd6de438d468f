//! Options whose values are odd, and streams and files that do not take what is written.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

use libtest_mimic::Failed;

use crate::common::{gpu_run_on, text};
use crate::support::{Test, Tested, expect, wasm};

/// The tests, which need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("options/after_the_module", after_the_module),
        ("options/misplaced", misplaced),
        ("options/bytes", bytes),
        ("options/last_variable", last_variable),
        ("options/odd_folders", odd_folders),
        ("refuses/folders", refused_folders),
        ("refuses/variables", refused_variables),
        ("refuses/size_without_frame", size_without_frame),
        ("output/stays_until_there_is_another", output_stays),
        ("output/stdin_and_stdout_that_do_not_wait", streams_that_do_not_wait),
        ("output/limit_of_file_sizes", limit_of_file_sizes),
        ("output/limit_of_open_files", limit_of_open_files),
    ]
}

/// A command that runs the program which prints what it finds, on the CPU.
fn command(options: &[&OsStr], args: &[&OsStr]) -> Command {
    let mut command = gpu_run_on("cpu");
    command
        .args(options)
        .arg(wasm("wat", "wasi"))
        .args(args)
        .stdin(Stdio::null());
    command
}

fn run(options: &[&str]) -> Result<Output, std::io::Error> {
    let options: Vec<_> = options.iter().map(OsStr::new).collect();
    command(&options, &[]).output()
}

/// All that stands after the module is the program's, whatever it looks like.
fn after_the_module() -> Tested {
    let own = ["-v", "ERROR", "--help", "--seed", "--", "-x", "--dir=/", "--"];
    let wanted = format!("wasi.wasm\n{}\n? ", own.join("\n"));
    for before in [&[][..], &["--"], &["--timeout", "1m", "--"]] {
        let options: Vec<_> = before.iter().map(OsStr::new).collect();
        let output = command(&options, &own.map(OsStr::new)).output()?;
        expect(text(&output.stdout) == wanted, "it must be told all of them", &output)?;
        // It fails, and asks for a file.
        let stderr = text(&output.stderr);
        let hint = "warning: the program asked for `input.txt`, ";
        let said = stderr.lines().filter(|line| !line.starts_with(hint)).count();
        expect(said == 0, "nothing is to be said of the arguments", &output)?;
    }
    Ok(())
}

/// If an option of gpu-run stands after a module that makes nothing of it, a warning says where it belongs.
fn misplaced() -> Tested {
    let (hello, fib) = (wasm("release", "hello"), wasm("wat", "fib"));
    let no_arguments = &*wasm("wasi", "stdin_lines");
    for (words, code, said) in [
        (&[&*hello, "--thread"][..], 0, &[][..]),
        (&[&hello, "--threads=4"], 0, &["warning: ", "`--threads` there"]),
        (&[&hello, "x", "--help"], 0, &["warning: ", "`--help` there"]),
        (
            &[&fib, "--invoke", "fib", "20"],
            2,
            &["before the module, so write `--invoke` there"],
        ),
        (
            &["--invoke", "fib", &fib, "20", "--stats"],
            2,
            &["takes 1 arguments", "`--stats` there"],
        ),
        (
            &["--invoke", "fib", &fib, "--stats"],
            2,
            &["no value of type i32", "`--stats` there"],
        ),
        (&[no_arguments, "--stats=json"], 0, &["warning: ", "`--stats` there"]),
        (&[no_arguments, "--statistics", "-v"], 0, &[]),
    ] {
        let output = gpu_run_on("cpu").args(words).output()?;
        let stderr = text(&output.stderr);
        expect(
            output.status.code() == Some(code),
            &format!("exit code {code}"),
            &output,
        )?;
        let all = said.iter().all(|part| stderr.contains(part));
        expect(
            all && stderr.is_empty() == said.is_empty(),
            &format!("it must say {said:?}"),
            &output,
        )?;
    }
    Ok(())
}

/// Arguments and variables are bytes.
fn bytes() -> Tested {
    let of = OsStr::from_bytes;
    let options = ["--argv0", "--env", "--env"].map(OsStr::new);
    let output = command(
        &[
            options[0],
            of(b"n\xfe"),
            options[1],
            of(b"B=\xff="),
            options[2],
            of(b"TAKEN\x80"),
        ],
        &[of(b"a\xc3"), of(b"")],
    )
    .env(of(b"TAKEN\x80"), of(b"\x90"))
    .output()?;
    let wanted = b"n\xfe\na\xc3\n\nB=\xff=\nTAKEN\x80=\x90\n? ";
    expect(output.stdout == wanted, "each byte must arrive", &output)?;
    let output = gpu_run_on("cpu")
        .args(["--invoke", "fib", &wasm("wat", "fib")])
        .arg(of(b"\xff"))
        .output()?;
    expect(
        output.status.code() == Some(2),
        "such an argument of a function is an error",
        &output,
    )
}

fn last_variable() -> Tested {
    let output = run(&["--env", "A=1", "--env", "AB=2", "--env", "A=3=4"])?;
    expect(
        text(&output.stdout) == "wasi.wasm\nA=3=4\nAB=2\n? ",
        "one entry for each name",
        &output,
    )
}

fn odd_folders() -> Tested {
    let folder = tempfile::tempdir()?;
    for name in [&b"two words"[..], b"n\xff", b"x:ro"] {
        fs::create_dir(folder.path().join(OsStr::from_bytes(name)))?;
        fs::write(folder.path().join(OsStr::from_bytes(name)).join("input.txt"), "found\n")?;
    }
    for dir in [
        &b"two words"[..],
        b"two words::a::b",
        b"n\xff::n:ro",
        b"x:ro/",
        b"x:ro/:ro",
        b"./x:ro:ro",
    ] {
        let output = command(&[OsStr::new("--dir"), OsStr::from_bytes(dir)], &[])
            .current_dir(&folder)
            .output()?;
        expect(
            text(&output.stdout) == "wasi.wasm\nfound\n? ",
            &format!("{:?} must be found", text(dir)),
            &output,
        )?;
    }
    Ok(())
}

fn refused_folders() -> Tested {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("data"))?;
    fs::write(folder.path().join("file"), "")?;
    for (dirs, said) in [
        (&["file"][..], "file: Not a directory"),
        (&["::x"], "it names no folder"),
        (&["data::"], "the program must have a name for it"),
        (
            &["data", "./data/"],
            "--dir data and --dir ./data/ both are the program's data",
        ),
        (&["data::x", ".::x:ro"], "both are the program's x"),
        (&[".", "data::./"], "both are the program's ."),
    ] {
        let options = dirs.iter().flat_map(|dir| ["--dir", dir].map(OsStr::new));
        let output = command(&options.collect::<Vec<_>>(), &[])
            .current_dir(&folder)
            .output()?;
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        expect(
            text(&output.stderr).contains(said),
            &format!("it must say {said:?}"),
            &output,
        )?;
    }
    Ok(())
}

fn refused_variables() -> Tested {
    for variable in ["", "=x"] {
        let output = run(&["--env", variable])?;
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        expect(
            text(&output.stderr).contains("a variable has a name"),
            "the message must say why",
            &output,
        )?;
    }
    Ok(())
}

fn size_without_frame() -> Tested {
    let output = run(&["--size", "10x10"])?;
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        text(&output.stderr).contains("--frame"),
        "it must name what is missing",
        &output,
    )
}

/// A run that never begins leaves the old files, and makes no new ones.
fn output_stays() -> Tested {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("old"), "old")?;
    fs::write(
        folder.path().join("trap.wat"),
        r#"(module (memory 1) (data (i32.const 65536) "x") (func (export "main")))"#,
    )?;
    let bad = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/bad/unknown_import.wasm");
    for module in ["no-such-file.wasm", bad, "trap.wat"] {
        for option in ["--output", "--frame"] {
            for file in ["old", "new"] {
                let output = gpu_run_on("cpu")
                    .current_dir(&folder)
                    .args([option, file, module])
                    .output()?;
                expect(!output.status.success(), "the module must be refused", &output)?;
                let old = fs::read(folder.path().join("old"))?;
                expect(old == b"old", "the old file must be there", &output)?;
                let new = folder.path().join("new").exists();
                expect(!new, "no file must be left", &output)?;
            }
        }
    }
    // A longer one is cut off.
    fs::write(folder.path().join("main.wat"), r#"(module (func (export "main")))"#)?;
    let output = gpu_run_on("cpu")
        .current_dir(&folder)
        .args(["--output", "old", "--output-size", "2", "main.wat"])
        .output()?;
    expect(
        fs::read(folder.path().join("old"))? == [0; 2],
        "the file must be replaced",
        &output,
    )
}

/// Another process that shares a pipe may have made it non-blocking. Nothing is lost, in either direction.
fn streams_that_do_not_wait() -> Tested {
    use std::io::{Read, Write};
    let input: Vec<u8> = (0..300_000u32)
        .flat_map(|number| format!("{number}\n").into_bytes())
        .collect();
    let (stdin, mut to_guest) = std::io::pipe()?;
    let (mut from_guest, stdout) = std::io::pipe()?;
    for fd in [std::os::fd::AsFd::as_fd(&stdin), std::os::fd::AsFd::as_fd(&stdout)] {
        rustix::io::ioctl_fionbio(fd, true)?;
    }
    let mut child = command(&[], &[]).stdin(stdin).stdout(stdout).spawn()?;
    let sent = input.clone();
    let writer = std::thread::spawn(move || {
        // There is nothing to read at first, and then now and then.
        for piece in sent.chunks(500_000) {
            std::thread::sleep(std::time::Duration::from_millis(100));
            if to_guest.write_all(piece).is_err() {
                return;
            }
        }
    });
    // The pipe is full for a while.
    std::thread::sleep(std::time::Duration::from_millis(600));
    let mut output = Vec::new();
    from_guest.read_to_end(&mut output)?;
    writer.join().map_err(|_| "the writer failed")?;
    let status = child.wait()?;
    let wanted = [b"wasi.wasm\n? ", &input[..]].concat();
    if output != wanted || status.code() != Some(1) {
        return Err(format!("{} of {} bytes, and {status}", output.len(), wanted.len()).into());
    }
    Ok(())
}

/// A file that may not grow is an error of the guest's write, and does not end the process.
fn limit_of_file_sizes() -> Tested {
    let folder = tempfile::tempdir()?;
    let output = Command::new("sh")
        .current_dir(&folder)
        .args(["-c", "ulimit -f 1; exec \"$@\"", "sh"])
        .arg(gpu_run_on("cpu").get_program())
        .args([
            "--device",
            "cpu",
            "--dir",
            ".",
            "--threads",
            "200",
            "--invoke",
            "append",
        ])
        .arg(wasm("wat", "wasi"))
        .output()?;
    expect(output.status.code() == Some(0), "the run must go on", &output)?;
    expect(
        text(&output.stdout) != "Result: 0\n",
        "some threads must have been told",
        &output,
    )?;
    let size = fs::metadata(folder.path().join("lines.txt"))?.len();
    expect(
        size == 512 || size == 1024,
        "the file is as large as it may be",
        &output,
    )
}

/// Each thread opens a file to append a line, and closes it. Its result is the first error.
const LINE_EACH: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "gpu_run_v1" "gid" (func $gid (result i32)))
  (memory (export "memory") 4)
  (data (i32.const 0) "\10\00\00\00\05\00\00\00lines")
  (data (i32.const 16) "line\n")
  (func (export "line_each") (result i32) (local $own i32) (local $error i32)
    (local.set $own (i32.add (i32.const 1024) (i32.mul (call $gid) (i32.const 64))))
    (local.set $error (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 5) (i32.const 1)
      (i64.const 64) (i64.const 0) (i32.const 1) (local.get $own)))
    (if (local.get $error) (then (return (local.get $error))))
    (local.set $error (call $write (i32.load (local.get $own)) (i32.const 0) (i32.const 1)
      (i32.add (local.get $own) (i32.const 4))))
    (if (local.get $error) (then (return (local.get $error))))
    (call $close (i32.load (local.get $own)))))"#;

/// A low limit of open files is raised as far as it may be. Where it stays, calls fail, and one warning says so.
fn limit_of_open_files() -> Tested {
    // Fewer than most systems let a process open.
    const THREADS: usize = 1000;
    let run = |limit: &str| -> Result<(Output, usize), Failed> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("line_each.wat"), LINE_EACH)?;
        let output = Command::new("sh")
            .current_dir(&folder)
            .args(["-c", &format!("{limit}; exec \"$@\""), "sh"])
            .arg(gpu_run_on("cpu").get_program())
            .args(["--device", "cpu", "--dir", ".", "--threads", &THREADS.to_string()])
            .args(["--invoke", "line_each", "line_each.wat"])
            .output()?;
        let lines = fs::read_to_string(folder.path().join("lines"))?.lines().count();
        Ok((output, lines))
    };
    let warning = "the host opens no more files";
    let (output, lines) = run("ulimit -Sn 64")?;
    expect(lines == THREADS, &format!("all must be written, not {lines}"), &output)?;
    expect(!text(&output.stderr).contains(warning), "nothing is amiss", &output)?;
    let (output, lines) = run("ulimit -n 64")?;
    expect(lines < THREADS, "some threads must have been told", &output)?;
    expect(
        text(&output.stderr).matches(warning).count() == 1,
        "the user must be told, once",
        &output,
    )
}
