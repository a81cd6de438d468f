//! Functions that are called as those of std and C's library, and are not: they do what they do. And where engines may
//! differ, what ours has chosen.

use crate::common::{fixture, gpu_run_on, root, run_on, text};
use crate::support::{EngineTest, Test, Tested, expect};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("found/11_1_std_of_rustc", std_of_rustc),
        ("found/11_1_std_of_unknown_compiler", std_of_unknown_compiler),
        ("found/11_1_malloc", malloc),
        ("found/11_1_almost", almost),
        ("found/11_1_inspect_says_why", inspect),
        ("found/11_1_no_rewrite_of_a_program", no_rewrite_of_program),
        ("found/11_1_no_inline", no_inline),
        ("found/11_1_without_rewriting", without_rewriting),
        ("found/11_8_times_and_slashes", times_and_slashes),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("found/11_1_memory", memory),
        ("found/11_1_nothing", nothing),
        ("programs/wide_integers", wide_integers),
        ("found/11_8_relaxed_simd", relaxed_simd),
        ("found/12_spectest", spectest),
    ]
}

/// Calls a function, as it is translated otherwise and with its names left alone: both must print `wanted`.
fn calls(device: &str, module: &str, function: &str, arguments: &[&str], wanted: &str) -> Tested {
    let module = fixture(&format!("names/{module}")).display().to_string();
    for options in [&[][..], &["--no-rewrite"]] {
        let mut command = gpu_run_on(device);
        command
            .args(options)
            .args(["--invoke", function, &module])
            .args(arguments);
        let output = command.output()?;
        let printed = text(&output.stdout);
        expect(
            output.status.success() && printed.trim() == wanted,
            &format!("`{function}` of {module} must be {wanted} with {options:?}"),
            &output,
        )?;
    }
    Ok(())
}

/// What `inspect` says of a module, on one line.
fn inspected(module: &str) -> Result<String, libtest_mimic::Failed> {
    let module = fixture(&format!("names/{module}")).display().to_string();
    let output = crate::common::run(["inspect", &module]);
    expect(output.status.success(), "the module can be looked at", &output)?;
    Ok(text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A memcmp that is a boolean, a memcpy with other arguments.
fn memory(device: &str) -> Tested {
    calls(device, "memcmp.wat", "f", &["0", "3", "3"], "1")?;
    calls(device, "memcmp.wat", "f", &["0", "2", "3"], "0")?;
    calls(
        device,
        "memcpy.wat",
        "f",
        &[],
        &u32::from_le_bytes(*b"src-").to_string(),
    )?;
    calls(device, "memcpy.wat", "result", &[], "3")
}

/// Arithmetic of 128 bits is replaced, and its results are those of the bodies that were there.
fn wide_integers(device: &str) -> Tested {
    let found = inspected("wide.wat")?;
    if !found.contains("found: __divti3, __modti3, __multi3, __udivti3, __umodti3") {
        return Err(format!("all five must be replaced: {found}").into());
    }
    calls(device, "wide.wat", "differences", &["600"], "0")?;
    // A divisor of 0 traps.
    let functions = ["__udivti3", "__umodti3", "__divti3", "__modti3"];
    trap(
        device,
        "wide.wat",
        &functions,
        &["0", "7", "0", "0", "0"],
        "divide by zero",
    )
}

/// Functions of a module trap with these arguments, and it is told why.
fn trap(device: &str, module: &str, functions: &[&str], arguments: &[&str], why: &str) -> Tested {
    let module = fixture(&format!("names/{module}")).display().to_string();
    for function in functions {
        let call = ["--invoke", *function, &module];
        let output = run_on(device, call.iter().chain(arguments));
        let traps = output.status.code() == Some(134) && text(&output.stderr).contains(why);
        expect(traps, &format!("`{function}` must trap"), &output)?;
    }
    Ok(())
}

/// C's functions are replaced, and do nothing where there is nothing to do.
fn nothing(device: &str) -> Tested {
    const FAR: &str = "4000000000";
    let found = inspected("nothing.wat")?;
    if !found.contains("found: memcmp, memcpy, memmove, memset") {
        return Err(format!("all four must be replaced: {found}").into());
    }
    for (function, wanted) in [
        ("memcpy", "-294967296"),
        ("memmove", "-294967296"),
        ("memset", "-294967296"),
        ("memcmp", "0"),
    ] {
        calls(device, "nothing.wat", function, &[FAR, FAR, "0"], wanted)?;
    }
    calls(device, "nothing.wat", "memcmp", &["65535", "0", "100"], "25")?;
    calls(device, "nothing.wat", "memcmp", &["0", "65535", "100"], "-25")?;
    calls(
        device,
        "nothing.wat",
        "used",
        &[],
        &0x0707_0707_0707_0763i64.to_string(),
    )?;
    // One more byte than there is.
    let functions = ["memcpy", "memset", "memcmp"];
    trap(
        device,
        "nothing.wat",
        &functions,
        &["65535", "65535", "2"],
        "out of bounds",
    )
}

/// Of each function that is called like one of std's: the export that calls it, and the number that its body leaves.
const OF_STD: [(&str, &str); 11] = [
    ("exit", "1"),
    ("instant", "3"),
    ("elapsed", "4"),
    ("system_time", "5"),
    ("keys", "6"),
    ("print", "7"),
    ("eprint", "8"),
    ("alloc_error", "9"),
    ("alloc", "10"),
    ("panic", "11"),
    ("cut", "12"),
];

fn std_of_rustc() -> Tested {
    for (function, wanted) in OF_STD {
        calls("cpu", "std.wat", function, &[], wanted)?;
    }
    // One that never returns, but calls the program first.
    let module = fixture("names/std.wat").display().to_string();
    let output = run_on("cpu", ["--invoke", "sleep", &module]);
    let told = text(&output.stderr);
    expect(
        output.status.code() == Some(134) && told.contains("unreachable"),
        "its body must run",
        &output,
    )
}

/// The same functions in a module that does not say that rustc made it.
fn std_of_unknown_compiler() -> Tested {
    let source = std::fs::read_to_string(fixture("names/std.wat"))?;
    let (start, _) = source
        .rsplit_once("(@custom")
        .ok_or("the fixture has a producers section")?;
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("std.wat").display().to_string();
    std::fs::write(&module, format!("{start})"))?;
    for (function, wanted) in OF_STD {
        let output = run_on("cpu", ["--invoke", function, &module]);
        expect(
            output.status.success() && text(&output.stdout).trim() == wanted,
            &format!("`{function}` must be {wanted}"),
            &output,
        )?;
    }
    Ok(())
}

fn malloc() -> Tested {
    calls("cpu", "malloc.wat", "f", &[], "2")?;
    calls("cpu", "malloc.wat", "second", &[], "4112")
}

fn almost() -> Tested {
    calls("cpu", "almost.wat", "counted", &[], "2")?;
    calls("cpu", "almost.wat", "long", &[], "0")
}

fn inspect() -> Tested {
    for (module, wanted) in [
        (
            "memcmp.wat",
            "left alone: `memcmp`: called with 0xf0000003, 0xf8000001, 0x0 it returned 0x1",
        ),
        ("almost.wat", "left alone: `memmove`: it has the constant 4096"),
        ("almost.wat", "left alone: `memset`: it has the instruction GlobalGet"),
        ("malloc.wat", "`malloc` is not the one of wasi-libc"),
        ("std.wat", "left alone: `std::process::exit`: it does more than panic"),
    ] {
        let said = inspected(module)?;
        if !said.contains(wanted) {
            return Err(format!("{module}: no {wanted:?} in {said}").into());
        }
    }
    Ok(())
}

/// A program that is translated already cannot be translated otherwise.
fn no_rewrite_of_program() -> Tested {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("fib.gbc").display().to_string();
    let module = fixture("wat/fib.wat").display().to_string();
    let output = crate::common::run(["translate", "--emit", "bytecode", "-o", &program, &module]);
    expect(output.status.success(), "it is translated", &output)?;
    for option in ["--no-rewrite", "--no-inline"] {
        let output = run_on("cpu", [option, "--invoke", "fib", &program, "10"]);
        let told = text(&output.stderr);
        expect(
            output.status.code() == Some(2) && told.contains(option) && told.contains("gpu-run translate"),
            "refused with what to do",
            &output,
        )?;
    }
    Ok(())
}

/// A call that is left takes a frame.
fn no_inline() -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("calls.wat").display().to_string();
    let source = r#"(module
        (func $one (result i32) (i32.const 1))
        (func (export "two") (result i32) (i32.add (call $one) (call $one))))"#;
    std::fs::write(&module, source)?;
    let own = ["--max-call-depth", "1", "--invoke", "two", &module];
    let output = run_on("cpu", own);
    let inlined = output.status.success() && text(&output.stdout).trim() == "2";
    expect(inlined, "no call is left", &output)?;
    let output = run_on("cpu", ["--no-inline"].iter().chain(&own));
    let exhausted = output.status.code() == Some(134) && text(&output.stderr).contains("call stack exhausted");
    expect(exhausted, "a call is left", &output)
}

/// std on wasm32-unknown-unknown prints nothing by itself.
fn without_rewriting() -> Tested {
    let module = fixture("wasm/release/hello.wasm").display().to_string();
    let output = run_on("cpu", ["--no-rewrite", &module]);
    expect(
        output.status.success() && output.stdout.is_empty(),
        "it must be std that prints",
        &output,
    )
}

/// A directory's times can be set, and what ends with a slash is a directory: as WASI and POSIX have it.
fn times_and_slashes() -> Tested {
    const NOT_DIRECTORY: i32 = 54;
    let folder = tempfile::tempdir()?;
    let given = folder.path().join("given");
    std::fs::create_dir(&given)?;
    std::fs::write(given.join("file"), "")?;
    for (path, wanted) in [("file", 0), ("file/", NOT_DIRECTORY), ("file/.", NOT_DIRECTORY)] {
        let module = folder.path().join("stat.wat").display().to_string();
        // The times of the folder become 1,000 seconds after 1970.
        let source = format!(
            r#"(module
            (import "wasi_snapshot_preview1" "fd_filestat_set_times"
                (func $set_times (param i32 i64 i64 i32) (result i32)))
            (import "wasi_snapshot_preview1" "path_filestat_get"
                (func $stat (param i32 i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "{path}")
            (func (export "_start")
                (call $exit (i32.add
                    (call $set_times (i32.const 3) (i64.const 0) (i64.const 1000_000_000_000) (i32.const 4))
                    (call $stat (i32.const 3) (i32.const 0) (i32.const 0) (i32.const {}) (i32.const 64))))))"#,
            path.len()
        );
        std::fs::write(&module, source)?;
        let output = run_on("cpu", ["--dir", &format!("{}::/", given.display()), &module]);
        expect(
            output.status.code() == Some(wanted),
            &format!("`{path}` must have the error {wanted}"),
            &output,
        )?;
        let changed = std::fs::metadata(&given)?.modified()?;
        let since = changed.duration_since(std::time::UNIX_EPOCH)?.as_secs();
        expect(since == 1_000, "the folder has its new time", &output)?;
    }
    Ok(())
}

/// The specification's deterministic profile: products are rounded before the addition, dot products take both operands
/// as signed and saturate.
fn relaxed_simd(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("relaxed.wat").display().to_string();
    // With e a float's last bit, (1 + e)^2 - (1 + 2e) is e^2 if it is fused, 0 if the square is rounded first.
    let source = r#"(module
        (func (export "madd") (result i32)
            (i32x4.extract_lane 0 (f32x4.relaxed_madd
                (f32x4.splat (f32.const 0x1.000002p0)) (f32x4.splat (f32.const 0x1.000002p0))
                (f32x4.splat (f32.const -0x1.000004p0)))))
        (func (export "nmadd") (result i64)
            (i64x2.extract_lane 1 (f64x2.relaxed_nmadd
                (f64x2.splat (f64.const 0x1.0000000000001p0)) (f64x2.splat (f64.const 0x1.0000000000001p0))
                (f64x2.splat (f64.const 0x1.0000000000002p0)))))
        (func (export "saturated") (result i32)
            (i16x8.extract_lane_s 3 (i16x8.relaxed_dot_i8x16_i7x16_s
                (i8x16.splat (i32.const -128)) (i8x16.splat (i32.const -128)))))
        (func (export "signed") (result i32)
            (i32x4.extract_lane 3 (i32x4.relaxed_dot_i8x16_i7x16_add_s
                (i8x16.splat (i32.const 3)) (i8x16.splat (i32.const -2)) (i32x4.splat (i32.const 1))))))"#;
    std::fs::write(&module, source)?;
    for (function, wanted) in [("madd", "0"), ("nmadd", "0"), ("saturated", "32767"), ("signed", "-23")] {
        let output = run_on(device, ["--invoke", function, &module]);
        let printed = text(&output.stdout);
        expect(
            output.status.success() && printed.trim() == wanted,
            &format!("`{function}` must be {wanted}"),
            &output,
        )?;
    }
    Ok(())
}

/// Scripts find all that the reference interpreter has, `table64` included.
fn spectest(device: &str) -> Tested {
    let script = root().join("tests/wast/spectest.wast").display().to_string();
    let mut args = vec!["wast"];
    args.extend(crate::common::options(device));
    args.push(&script);
    let output = crate::common::run(args);
    let said = text(&output.stdout);
    expect(
        output.status.success() && said.contains("19 passed, 0 failed, 0 skipped"),
        "every directive must pass",
        &output,
    )
}
