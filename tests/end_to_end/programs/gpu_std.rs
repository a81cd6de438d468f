//! What gpu-std's programs do with files, pictures, memory and each other, on each engine.

use std::path::Path;
use std::process::Output;

use libtest_mimic::Failed;

use crate::common::{self, fixture, run, run_on, text};
use crate::support::{Bound, Tested, Tests, expect, expected, fail, wasm};

/// The tests for a device and engine, by name.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    let mut add = |name: String, test: Bound| tests.push((format!("gpu_std/{name}"), test));
    for threads in [1, 100, 4096] {
        for kernel in ["saxpy", "saxpy_slices"] {
            add(
                format!("{kernel}/{threads}"),
                Box::new(move || saxpy(device, threads, kernel)),
            );
        }
        add(format!("frame/{threads}"), Box::new(move || frame(device, threads)));
        add(format!("churn/{threads}"), Box::new(move || churn(device, threads)));
        add(format!("reduce/{threads}"), Box::new(move || reduce(device, threads)));
    }
    for threads in [1, 1000] {
        let test = move || error_lines(device, threads);
        add(format!("error_lines/{threads}"), Box::new(test));
    }
    add("output_size".into(), Box::new(move || output_size(device)));
    add("no_files".into(), Box::new(move || no_files(device)));
    add("messages".into(), Box::new(move || messages(device)));
    add("message_options".into(), Box::new(move || message_options(device)));
    add("written_before_a_trap".into(), Box::new(move || before_a_trap(device)));
    add("bounds".into(), Box::new(move || bounds(device)));
    tests
}

/// Arguments with which a program of the fixtures is run.
pub fn arguments(name: &str) -> Vec<String> {
    let input = fixture("rust").join(name).join("input.bin");
    match input.exists() {
        true => vec!["--input".into(), input.display().to_string()],
        false => Vec::new(),
    }
}

/// Each thread's line of standard error is there as a whole, and no other: of a build with LTO, which has none of
/// std's.
fn error_lines(device: &str, threads: u32) -> Tested {
    let count = threads.to_string();
    let output = run_on(
        device,
        ["--threads", &count, "--invoke", "lines", &wasm("lto", "stderr")],
    );
    expect(output.status.success(), "must succeed", &output)?;
    let stderr = text(&output.stderr);
    let mut found: Vec<&str> = stderr.lines().filter(|line| line.starts_with("line")).collect();
    let mut wanted: Vec<String> = (0..threads)
        .map(|thread| match thread % 2 {
            0 => format!("line of thread {thread}, as it is"),
            _ => format!("line of thread {thread:>4}"),
        })
        .collect();
    found.sort();
    wanted.sort();
    expect(found == wanted, "a line of each thread", &output)
}

/// The results of `saxpy` for its input.
fn saxpy_results() -> Result<Vec<u8>, Failed> {
    let input = std::fs::read(fixture("rust/saxpy/input.bin"))?;
    let values: Vec<f32> = input
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    let (a, n) = (values[0], values.len() / 2);
    let results = (0..n).flat_map(|i| (a * values[1 + i] + values[1 + n + i]).to_le_bytes());
    Ok(results.collect())
}

/// Runs a kernel of `saxpy` with more options, and returns what it wrote to its output.
fn run_saxpy(device: &str, threads: u32, kernel: &str, options: &[&str]) -> Result<(Output, Vec<u8>), Failed> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("out.bin");
    let output = common::gpu_run_on(device)
        .args(["--threads", &threads.to_string(), "--invoke", kernel])
        .args(arguments("saxpy"))
        .arg("--output")
        .arg(&file)
        .args(options)
        .arg(wasm("release", "saxpy"))
        .output()?;
    expect(output.status.success(), "must succeed", &output)?;
    Ok((output, std::fs::read(file)?))
}

fn saxpy(device: &str, threads: u32, kernel: &str) -> Tested {
    let (output, written) = run_saxpy(device, threads, kernel, &[])?;
    expect(written == saxpy_results()?, "the output must hold all results", &output)
}

/// The file has the size that was asked for. A write that does not fit is reported to the program. What was not written
/// is 0.
fn output_size(device: &str) -> Tested {
    let results = saxpy_results()?;
    let (output, written) = run_saxpy(device, 1, "saxpy_slices", &["--output-size", "402"])?;
    expect(written[..400] == results[..400], "what fits must be there", &output)?;
    expect(written[400..] == [0, 0], "no part of a value is written", &output)?;
    let told = text(&output.stdout).trim() == "Result: 900";
    expect(told, "900 values have no place", &output)?;
    let (output, written) = run_saxpy(device, 1, "saxpy_slices", &["--output-size", "5KiB"])?;
    let padded = written.len() == 5120 && written.starts_with(&results);
    expect(padded, "the file must have 5 KiB", &output)?;
    let rest = written[results.len()..].iter().all(|byte| *byte == 0);
    expect(rest, "the rest must be 0", &output)
}

/// Without files there is no input, no place for output, and no frame.
fn no_files(device: &str) -> Tested {
    let output = run_on(device, ["--invoke", "saxpy_slices", &wasm("release", "saxpy")]);
    let nothing = output.status.success() && text(&output.stdout).trim() == "Result: 0";
    expect(nothing, "there is nothing to do", &output)?;
    let mut command = common::gpu_run_on(device);
    command.args(["--invoke", "saxpy_slices"]).args(arguments("saxpy"));
    let output = command.arg(wasm("release", "saxpy")).output()?;
    let told = text(&output.stdout).trim() == "Result: 1000";
    expect(told, "no value has a place", &output)?;
    let output = run_on(
        device,
        ["--threads", "8", "--invoke", "render", &wasm("release", "frame")],
    );
    expect(output.status.success(), "pixels are left out", &output)
}

/// Size and FNV-1a of the pixels of a PNG file, as the fixture prints them.
fn picture(file: &Path) -> Result<String, Failed> {
    let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file)?)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("a huge picture")?];
    let info = reader.next_frame(&mut pixels)?;
    assert_eq!(
        (info.color_type, info.bit_depth),
        (png::ColorType::Rgba, png::BitDepth::Eight)
    );
    let hash = pixels.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ *byte as u64).wrapping_mul(0x100_0000_01b3)
    });
    Ok(format!("{} x {} pixels: {hash:016x}\n", info.width, info.height))
}

/// The picture has the pixels that the native program computes.
fn frame(device: &str, threads: u32) -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("out.png");
    let mut command = common::gpu_run_on(device);
    command.arg("--frame").arg(&file).args(["--size", "96x64"]);
    if threads > 1 {
        command.args(["--threads", &threads.to_string(), "--invoke", "render"]);
    }
    let output = command.arg(wasm("release", "frame")).output()?;
    expect(output.status.success(), "must succeed", &output)?;
    let found = picture(&file)?;
    let same = Some(found.as_bytes()) == expected("frame", "stdout").as_deref();
    expect(same, &format!("the pixels differ: {found}"), &output)
}

fn churn(device: &str, threads: u32) -> Tested {
    let threads = threads.to_string();
    let output = run_on(
        device,
        ["--threads", &threads, "--invoke", "churn", &wasm("release", "arena")],
    );
    let good = output.status.success() && text(&output.stdout).trim() == "Result: 0";
    expect(good, "no thread may find a wrong byte", &output)
}

/// However many threads share the work, the results are the same.
fn reduce(device: &str, threads: u32) -> Tested {
    let count = threads.to_string();
    let output = run_on(
        device,
        [
            "--threads",
            &count,
            "--invoke",
            "statistics",
            &wasm("release", "reduce"),
        ],
    );
    expect(output.status.success(), "must succeed", &output)?;
    let one = text(&expected("reduce", "stdout").ok_or("no expected/reduce.stdout")?);
    // The last line is main's.
    let lines = one.lines().filter(|line| !line.starts_with('6'));
    let halves = format!("halves {}", threads as f32 / 2.0);
    let mut wanted: Vec<&str> = lines
        .map(|line| if line == "halves 0.5" { &halves } else { line })
        .collect();
    let stdout = text(&output.stdout);
    let mut found: Vec<&str> = stdout.lines().collect();
    wanted.sort();
    found.sort();
    expect(found == wanted, &format!("must print {wanted:?}"), &output)
}

/// Messages have a level and their place in the source, `gpu_dbg!` shows what std's does, and threads do not
/// mix their lines.
fn messages(device: &str) -> Tested {
    let output = run_on(device, [&wasm("release", "reduce")]);
    let same = Some(output.stderr.as_slice()) == expected("reduce", "stderr").as_deref();
    expect(same, "stderr differs from the native program's", &output)?;
    let output = run_on(
        device,
        ["--threads", "500", "--invoke", "messages", &wasm("release", "reduce")],
    );
    let stderr = text(&output.stderr);
    let mut found: Vec<&str> = stderr.lines().filter(|line| line.starts_with("[INFO ")).collect();
    found.sort();
    found.dedup();
    let whole = |line: &&str| line.contains("rust/reduce/src/main.rs:") && line.ends_with(" of 500");
    expect(
        found.len() == 500 && found.iter().all(whole),
        "a line for each thread",
        &output,
    )
}

/// gpu-std's messages obey the options of debug messages, in every profile.
fn message_options(device: &str) -> Tested {
    let native = expected("reduce", "stdout").ok_or("no expected/reduce.stdout")?;
    // The emulator would take long.
    let profiles = &["release", "lto", "size", "debug"][..if device == "emulator" { 1 } else { 4 }];
    for profile in profiles {
        let module = wasm(profile, "reduce");
        let silent = run_on(device, ["--no-debug", &module]);
        let same = silent.stdout == native && silent.stderr.is_empty();
        expect(same, "without messages nothing else may change", &silent)?;
        let some = run_on(device, ["--debug-level", "warn", "--debug-prefix", &module]);
        let wanted = "[thread 0] [WARN rust/reduce/src/main.rs:67] [1, 2]\n\
                      [thread 0] [ERROR rust/reduce/src/main.rs:68] no more work\n";
        expect(text(&some.stderr) == wanted && some.stdout == native, wanted, &some)?;
    }
    let output = run_on(
        device,
        ["--debug-level", "error", "--debug-json", &wasm("release", "reduce")],
    );
    let found: serde_json::Value = serde_json::from_slice(&output.stderr)?;
    let wanted = serde_json::json!({
        "thread": 0, "level": "error", "file": "rust/reduce/src/main.rs", "line": 68, "text": "no more work"
    });
    expect(found == wanted, &wanted.to_string(), &output)
}

/// With `--no-debug` an optimized module has nothing left of a message: neither an opcode nor what formats it.
pub fn no_messages_left() -> Tested {
    for profile in ["release", "lto", "size"] {
        let module = wasm(profile, "reduce");
        for (options, left) in [(&[][..], true), (&["--no-debug"], false)] {
            let mut command = common::gpu_run();
            let output = command
                .args(["translate", "--emit", "disasm"])
                .args(options)
                .arg(&module)
                .output()?;
            let code = text(&output.stdout);
            let found =
                code.contains("dbg_") || code.contains("gpu_std::log") || code.contains("gpu_std::platform::log");
            expect(
                output.status.success() && found == left,
                &format!("{profile} {options:?}: {left}"),
                &output,
            )?;
        }
    }
    Ok(())
}

/// Runs a module in text form with an output file; returns what is in the file.
fn run_text(device: &str, module: &str, options: &[&str]) -> Result<(Output, Vec<u8>), Failed> {
    let dir = tempfile::tempdir()?;
    let (source, file) = (dir.path().join("module.wat"), dir.path().join("out.bin"));
    std::fs::write(&source, module)?;
    let mut command = common::gpu_run_on(device);
    command.arg("--output").arg(&file).args(options).arg(source);
    Ok((command.output()?, std::fs::read(file)?))
}

fn before_a_trap(device: &str) -> Tested {
    let module = r#"(module
        (import "gpu_run_v1" "st_out" (func $st_out (param i64 i32 i32) (result i32)))
        (memory 1) (data (i32.const 8) "bytes")
        (func (export "main")
            (drop (call $st_out (i64.const 3) (i32.const 8) (i32.const 5)))
            unreachable))"#;
    let (output, written) = run_text(device, module, &[])?;
    expect(output.status.code() == Some(134), "it must trap", &output)?;
    expect(
        written == b"\0\0\0bytes",
        "what was written before must be there",
        &output,
    )
}

/// Offsets and lengths at the edges of buffers and memory.
fn bounds(device: &str) -> Tested {
    let call = |op: &str, at: &str, address: &str, len: &str| {
        let module = format!(
            r#"(module
            (import "gpu_run_v1" "{op}" (func $op (param i64 i32 i32) (result i32)))
            (memory 1)
            (func (export "main") (result i32)
                (call $op (i64.const {at}) (i32.const {address}) (i32.const {len}))))"#
        );
        let input = fixture("rust/saxpy/input.bin").display().to_string();
        run_text(
            device,
            &module,
            &["--input", &input, "--output-size", "100", "--invoke", "main"],
        )
    };
    let input = std::fs::metadata(fixture("rust/saxpy/input.bin"))?.len();
    // 65,533 bytes end where memory does; the input has more than 100 bytes.
    for (op, at, address, len, done) in [
        ("st_out", "0", "3", "65533", 100),
        ("st_out", "99", "65535", "1", 1),
        ("st_out", "100", "0", "1", 0),
        ("st_out", "-1", "0", "1", 0),
        ("st_out", "0", "65536", "0", 0),
        ("ld_in", "0", "3", "65533", input),
        ("ld_in", "-9223372036854775808", "0", "9", 0),
        ("ld_in", "8000", "65532", "4", 4),
    ] {
        let (output, _) = call(op, at, address, len)?;
        let good = output.status.success() && text(&output.stdout).trim() == done.to_string();
        expect(good, &format!("{op} {at} {address} {len} must give {done}"), &output)?;
    }
    for op in ["st_out", "ld_in"] {
        for (address, len) in [("4", "65533"), ("65536", "1"), ("-1", "1"), ("0", "-1")] {
            let (output, _) = call(op, "200000", address, len)?;
            let trap = text(&output.stderr).contains("trap: out of bounds memory access");
            expect(trap, &format!("{op} {address} {len} must trap"), &output)?;
        }
    }
    Ok(())
}

/// Impossible options, and files that cannot be read or written, are reported before anything runs.
pub fn refused() -> Tested {
    let module = wasm("release", "saxpy");
    for (options, parts) in [
        (
            &["--input", "no-such-file"][..],
            &["cannot read the input", "no-such-file"][..],
        ),
        (
            &["--output", "no-such-folder/out"],
            &["cannot write the output", "no-such-folder/out"],
        ),
        (
            &["--frame", "no-such-folder/out"],
            &["cannot write the frame", "no-such-folder/out"],
        ),
        (&["--output-size", "5"], &["--output <FILE>"]),
        (&["--frame", "x.png", "--size", "10"], &["--size", "1920x1080"]),
    ] {
        let output = run(["--device", "cpu"].iter().chain(options).chain(&[module.as_str()]));
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        expect(output.stdout.is_empty(), "nothing may run", &output)?;
        for part in parts {
            let told = text(&output.stderr).contains(part);
            expect(told, &format!("the message must say {part:?}"), &output)?;
        }
    }
    match Path::new("x.png").exists() {
        true => fail("no file may be made", &run(["devices"])),
        false => Ok(()),
    }
}
