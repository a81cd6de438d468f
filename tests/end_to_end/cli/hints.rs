//! What a user reads when something goes wrong, and what the message advises.

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::Output;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::common::gpu_run;

use crate::common::{gpu_run_on, root, run_on, text};
use crate::support::{EngineTest, Test, Tested, expect, wasm};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("found/00_first_outputs", first_outputs),
        ("found/03_panic_without_names", panic_without_names),
        ("found/03_recursion_is_folded", recursion_is_folded),
        ("found/04_b_wasi_memory", wasi_memory),
        ("found/06_results_refused", results_refused),
        ("found/04_c_leaks_at_exit", leaks_at_exit),
        ("found/04_c_no_look_for_leaks", no_look_for_leaks),
        #[cfg(target_os = "linux")]
        ("found/04_e_device_failed", device_failed),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("found/03_wasi_panic", wasi_panic),
        ("found/03_wasi_panic_calls", wasi_panic_calls),
        ("found/03_older_std", older_std),
        ("found/03_own_words", own_words),
        ("found/04_a_no_folder", no_folder),
        ("found/04_b_out_of_memory", out_of_memory),
        ("found/04_f_no_threads", no_threads),
        ("found/06_results_of_2048_threads", results_of_kernel),
        ("found/06_results_of_all_types", results_of_types),
    ]
}

/// The last line on stderr, as JSON.
fn last(output: &Output) -> Result<Value, Failed> {
    let stderr = text(&output.stderr);
    let last = stderr.lines().last().ok_or("nothing on stderr")?;
    serde_json::from_str(last).map_err(|error| format!("{last}: {error}").into())
}

fn has(output: &Output, wanted: &Value) -> Tested {
    let object = last(output)?;
    for (key, value) in wanted.as_object().ok_or("an object")? {
        expect(object[key] == *value, &format!("{key} must be {value}"), output)?;
    }
    Ok(())
}

/// A module from its text, in a folder of its own.
fn module(source: &str) -> Result<(TempDir, String), Failed> {
    let folder = tempfile::tempdir()?;
    let file: PathBuf = folder.path().join("module.wat");
    std::fs::write(&file, source)?;
    Ok((folder, file.display().to_string()))
}

/// A program for WASI with a function `say` that writes text of its memory to stderr, and `code` in `_start` and other
/// functions. The text begins at 64.
fn says(data: &str, code: &str) -> Result<(TempDir, String), Failed> {
    module(&format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 64) "{data}")
        (func $say (param $at i32) (param $bytes i32)
            (i32.store (i32.const 0) (local.get $at))
            (i32.store (i32.const 4) (local.get $bytes))
            (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8))))
        {code})"#
    ))
}

const PANIC: &str = "\nthread 'main' (1) panicked at panics/src/main.rs:6:25:\n\
                     index out of bounds: the len is 0 but the index is 3\n\
                     note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

/// What the documentation shows as the first outputs is printed so, and each is short.
fn first_outputs() -> Tested {
    const PAGE: &str = include_str!("../../../docs/src/first-outputs.md");
    let blocks = PAGE.split("```console\n$ gpu-run ").skip(1);
    let mut count = 0;
    for block in blocks {
        let (shown, _) = block.split_once("```").ok_or("the end of a block")?;
        let (arguments, shown) = shown.split_once('\n').ok_or("what is printed")?;
        let mut together = tempfile::tempfile()?;
        let mut command = gpu_run_on("cpu");
        command.current_dir(root()).args(arguments.split(' '));
        command
            .stdout(together.try_clone()?)
            .stderr(together.try_clone()?)
            .status()?;
        let mut printed = String::new();
        together.seek(SeekFrom::Start(0))?;
        together.read_to_string(&mut printed)?;
        // Of two streams either may come first.
        let sorted = |text: &str| {
            // Where in its loop a program is stopped is another place each time.
            let known = |line: &str| match line.split_once(" thread runs in ") {
                Some((line, place)) => format!("{line} {}", place.split(' ').next().unwrap_or_default()),
                None => line.to_owned(),
            };
            let mut lines: Vec<String> = text.lines().map(known).collect();
            lines.sort();
            lines
        };
        if sorted(&printed) != sorted(shown) {
            return Err(format!("gpu-run {arguments} prints:\n{printed}\nand the page has:\n{shown}").into());
        }
        if printed.lines().count() > 8 {
            return Err(format!("gpu-run {arguments} prints more than eight lines").into());
        }
        count += 1;
    }
    match count {
        6.. => Ok(()),
        _ => Err(format!("{count} commands").into()),
    }
}

/// A panic says what std says, and no more.
fn wasi_panic(device: &str) -> Tested {
    let program = wasm("wasi", "panics");
    let output = run_on(device, [&program]);
    expect(output.status.code() == Some(134), "exit code 134", &output)?;
    expect(text(&output.stderr) == PANIC, "the panic alone", &output)?;
    let output = run_on(device, ["--report", "json", &program]);
    let wanted = json!({
        "kind": "panic", "message": "index out of bounds: the len is 0 but the index is 3", "exit_code": 134,
        "thread": 0, "faults": 1, "file": "panics/src/main.rs", "line": 6, "column": 25, "function": "panics::main",
    });
    has(&output, &wanted)?;
    let object = last(&output)?;
    expect(object.get("trap").is_none(), "no trap", &output)?;
    expect(
        object["backtrace"][0]["function"] == "abort",
        "all calls, with those of std",
        &output,
    )
}

/// The calls come where they are asked for, by this process's environment or the program's, and begin with its own.
fn wasi_panic_calls(device: &str) -> Tested {
    let program = wasm("wasi", "panics");
    for (here, option, first) in [
        (Some("1"), None, Some("panics::main")),
        (None, Some("RUST_BACKTRACE=1"), Some("panics::main")),
        (None, Some("RUST_BACKTRACE=full"), Some("abort")),
        (Some("full"), None, Some("abort")),
        (Some("1"), Some("RUST_BACKTRACE=0"), None),
        (Some("0"), None, None),
    ] {
        let mut command = gpu_run_on(device);
        command.envs(here.map(|value| ("RUST_BACKTRACE", value)));
        command.args(option.iter().flat_map(|option| ["--env", option]));
        let output = command.arg(&program).output()?;
        let stderr = text(&output.stderr);
        let found = stderr
            .lines()
            .find_map(|line| line.strip_prefix("  --> 0: ")?.split(' ').next());
        expect(
            found == first,
            &format!("{here:?} {option:?}: the first call {first:?}"),
            &output,
        )?;
        expect(output.status.code() == Some(134), "exit code 134", &output)?;
    }
    Ok(())
}

/// A module without its custom sections, names among them.
fn stripped(wasm: &[u8]) -> Vec<u8> {
    let (mut kept, mut at) = (wasm[..8].to_vec(), 8);
    while at < wasm.len() {
        let (mut size, mut shift, mut body) = (0, 0, at + 1);
        loop {
            let byte = wasm[body];
            size |= usize::from(byte & 0x7f) << shift;
            (shift, body) = (shift + 7, body + 1);
            if byte < 0x80 {
                break;
            }
        }
        if wasm[at] != 0 {
            kept.extend(&wasm[at..body + size]);
        }
        at = body + size;
    }
    kept
}

/// Then what std has printed says that it was a panic.
fn panic_without_names() -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("stripped.wasm");
    std::fs::write(&file, stripped(&std::fs::read(wasm("wasi", "panics"))?))?;
    let file = file.display().to_string();
    let output = run_on("cpu", [&file]);
    expect(output.status.code() == Some(134), "exit code 134", &output)?;
    expect(text(&output.stderr).ends_with(PANIC), "the panic last", &output)?;
    let output = run_on("cpu", ["--report", "json", &file]);
    has(
        &output,
        &json!({ "kind": "panic", "file": "panics/src/main.rs", "line": 6, "exit_code": 134 }),
    )
}

/// std before 1.73 prints in pieces, and in another order; its functions have had other names.
fn older_std(device: &str) -> Tested {
    let (_folder, file) = says(
        "thread 'main' panicked at 'it's no', src/main.rs:2:5\\n",
        r#"(func $abort (unreachable))
        (func $__rust_start_panic (call $abort))
        (func $rust_panic (call $__rust_start_panic))
        (func $_ZN3app4main17h0123456789abcdefE (call $rust_panic))
        (func (export "_start")
            (call $say (i32.const 64) (i32.const 8)) (call $say (i32.const 72) (i32.const 4))
            (call $say (i32.const 76) (i32.const 15)) (call $say (i32.const 91) (i32.const 7))
            (call $say (i32.const 98) (i32.const 3)) (call $say (i32.const 101) (i32.const 15))
            (call $say (i32.const 116) (i32.const 1))
            (call $_ZN3app4main17h0123456789abcdefE))"#,
    )?;
    let output = run_on(device, ["--report", "json", &file]);
    let wanted = json!({
        "kind": "panic", "message": "it's no", "file": "src/main.rs", "line": 2, "column": 5, "exit_code": 134,
        "function": "app::main",
    });
    has(&output, &wanted)?;
    let output = run_on(device, [&file]);
    expect(
        text(&output.stderr) == "thread 'main' panicked at 'it's no', src/main.rs:2:5\n",
        "the panic alone",
        &output,
    )
}

/// A program that prints what looks like a panic, and then traps in its own code.
fn own_words(device: &str) -> Tested {
    let (_folder, file) = says(
        "thread 'main' panicked at src/main.rs:2:5:\\nno\\n",
        r#"(func $work (export "_start") (call $say (i32.const 64) (i32.const 46)) (unreachable))"#,
    )?;
    let output = run_on(device, ["--report", "json", &file]);
    has(
        &output,
        &json!({ "kind": "trap", "message": "unreachable", "function": "work" }),
    )?;
    let output = run_on(device, [&file]);
    expect(
        text(&output.stderr).contains("no\nerror: trap: unreachable\n  --> 0: work ("),
        "the trap, and where",
        &output,
    )
}

/// A recursion is one line, and how it began is shown.
fn recursion_is_folded() -> Tested {
    let (_folder, file) = module(
        r#"(module
        (func $down (param i32)
            (if (i32.eqz (local.get 0)) (then (unreachable)))
            (call $down (i32.sub (local.get 0) (i32.const 1))))
        (func $outer (call $down (i32.const 40)))
        (func (export "main") (call $outer)))"#,
    )?;
    let output = run_on("cpu", [&file]);
    let stderr = text(&output.stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    let fits = |line: usize, start: &str, end: &str| {
        let line = lines.get(line).copied().unwrap_or_default();
        line.starts_with(start) && line.ends_with(end)
    };
    expect(
        fits(1, "  --> 0: down (wasm offset", ")")
            && fits(2, "  --> 1: down (wasm offset", ") (x 40)")
            && fits(3, "  --> 41: outer (", ")")
            && fits(4, "  --> 42: ", ")")
            && lines.len() == 5,
        "a line with a count, then the others",
        &output,
    )?;
    let output = run_on(
        "cpu",
        [
            "--max-call-depth",
            "1000",
            "--invoke",
            "fib",
            &wasm("wat", "fib"),
            "100000",
        ],
    );
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("0: fib (wasm offset") && stderr.contains(" (x ") && stderr.contains(" more calls …\n"),
        "those that are not recorded are counted",
        &output,
    )
}

/// If a program fails for want of a file, a message names the file, and the option if it has no folder.
fn no_folder(device: &str) -> Tested {
    let hint = |path: &str, folder: &str| {
        format!("warning: the program asked for `{path}`, but was given no folder: that needs --dir {folder}\n")
    };
    for (path, folder) in [("no/data.txt", "."), ("../data.txt", ".."), ("/no/data.txt", "/no")] {
        let output = run_on(device, [&wasm("wasi", "wc"), path]);
        let said = format!(
            "wc: {path}: Capabilities insufficient (os error 76)\n{}",
            hint(path, folder)
        );
        expect(text(&output.stderr) == said, "the path and the option", &output)?;
        expect(output.status.code() == Some(1), "the program's own code", &output)?;
    }
    // C's library, also where it asks by functions of its own.
    let output = run_on(device, [&wasm("wasi", "c_readdir")]);
    expect(
        text(&output.stderr).contains(&hint("many", ".")),
        "C's library too",
        &output,
    )?;
    // With a folder the program has what it needs to know.
    let folder = tempfile::tempdir()?;
    let dir = folder.path().display().to_string();
    let output = run_on(device, ["--dir", &dir, &wasm("wasi", "wc"), "no/data.txt"]);
    expect(
        !text(&output.stderr).contains("--dir"),
        "nothing with a folder",
        &output,
    )?;
    // Nor is one missed that a program can do without.
    let output = run_on(device, [&wasm("wasi", "sandbox")]);
    expect(
        output.status.success() != text(&output.stderr).contains("--dir"),
        "a program that ends well is told nothing",
        &output,
    )
}

/// An allocation that failed is reported with the limit and the option, in few lines.
fn out_of_memory(device: &str) -> Tested {
    for (name, function) in [("release/sort", "sort::main"), ("wasi/big_io", "big_io::main")] {
        let (profile, name) = name.split_once('/').ok_or("a profile")?;
        let output = run_on(device, ["--max-memory", "1179648", &wasm(profile, name)]);
        let stderr = text(&output.stderr);
        let at = format!("error: out of memory in thread 0\n  --> 0: {function} (wasm offset ");
        expect(output.status.code() == Some(134), "exit code 134", &output)?;
        for part in [
            "memory allocation of ",
            &at,
            "  = help: RUST_BACKTRACE=1 shows all calls\n",
            "note: the program's memory may have 1.1 MiB: raise that with --max-memory\n",
        ] {
            expect(stderr.contains(part), &format!("must say {part:?}"), &output)?;
        }
        expect(stderr.lines().count() <= 8, "and little more", &output)?;
    }
    // An allocator of the program's own asks by `memory.grow`.
    let (_folder, file) = module(
        r#"(module (memory 1)
        (func (export "main") (result i32) (i32.eq (memory.grow (i32.const 100)) (i32.const -1))))"#,
    )?;
    for (limit, code, stderr) in [
        (
            "1MiB",
            1,
            "note: the program's memory may have 1.0 MiB: raise that with --max-memory\n",
        ),
        ("10MiB", 0, ""),
    ] {
        let output = run_on(device, ["--max-memory", limit, &file]);
        expect(
            output.status.code() == Some(code),
            &format!("exit code {code}"),
            &output,
        )?;
        expect(text(&output.stderr) == stderr, &format!("stderr {stderr:?}"), &output)?;
    }
    // A program that ends well needs no note.
    let options = ["--invoke", "fill", &wasm("wat", "heap_full"), "4096"];
    let output = run_on(device, options);
    expect(output.stderr.is_empty(), "no note", &output)
}

/// A program for WASI may have all that its addresses reach, if it declares no maximum.
fn wasi_memory() -> Tested {
    let (_folder, file) = says(
        "growing\\n",
        r#"(func (export "_start")
            (call $say (i32.const 64) (i32.const 8))
            (if (i32.eq (memory.grow (i32.const 65000)) (i32.const -1)) (then (unreachable)))
            (i32.store (i32.const 0xfd000000) (i32.const 7)))"#,
    )?;
    let output = run_on("cpu", [&file]);
    expect(output.status.success(), "more than 3 GiB", &output)?;
    let output = run_on("cpu", ["--max-memory", "1GiB", &file]);
    expect(output.status.code() == Some(134), "as much as the option says", &output)
}

/// Blocks to which nothing points at an exit are leaks. What open calls hold, in locals too, is none.
fn leaks_at_exit() -> Tested {
    let source = |depth: u32, code: u32| {
        format!(
            r#"(module
            (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
            (import "gpu_run_v1" "exit" (func $exit (param i32)))
            (memory 1)
            (func $lose (param i32) (drop (call $alloc (local.get 0) (i32.const 8))))
            (func $deep (param $n i32) (local $own i32)
                (local.set $own (call $alloc (i32.const 3000) (i32.const 8)))
                (if (i32.eqz (local.get $n)) (then (call $exit (i32.const {code}))))
                (call $deep (i32.sub (local.get $n) (i32.const 1)))
                (drop (i32.load (local.get $own))))
            (func (export "main") (local $kept i32) (local $i i32)
                (local.set $kept (call $alloc (i32.const 5000) (i32.const 8)))
                (local.set $i (i32.const 20))
                (loop $more
                    (call $lose (i32.const 100))
                    (br_if $more (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
                (call $deep (i32.const {depth}))
                (drop (i32.load (local.get $kept)))))"#
        )
    };
    // Of more calls than are recorded, too.
    for (depth, code) in [(10, 0), (10, 3), (1000, 0)] {
        let (_folder, file) = module(&source(depth, code))?;
        let output = run_on("cpu", ["--leak-check", &file]);
        let stderr = text(&output.stderr);
        expect(output.status.code() == Some(23), "exit code 23", &output)?;
        expect(
            stderr.contains("error: 2000 bytes in 20 blocks of the heap were leaked\n")
                && stderr.contains("allocated by lose ("),
            "those alone",
            &output,
        )?;
        let output = run_on("cpu", ["--report", "json", "--leak-check", &file]);
        has(&output, &json!({ "kind": "leaks", "exit_code": 23 }))?;
        let output = run_on("cpu", [&file]);
        expect(
            output.status.code() == Some(code as i32),
            "the program's own code",
            &output,
        )?;
    }
    Ok(())
}

/// Where leaks cannot be looked for, a note says so.
fn no_look_for_leaks() -> Tested {
    for (module, why) in [
        (wasm("release", "panic"), "the program panicked"),
        (wasm("release", "abort"), "the program trapped"),
        (wasm("release", "infinite_loop"), "the program was stopped"),
    ] {
        let output = run_on("cpu", ["--timeout", "300ms", "--leak-check", &module]);
        let note = format!("note: --leak-check did not look for leaks: {why}\n");
        expect(text(&output.stderr).ends_with(&note), &note, &output)?;
    }
    Ok(())
}

/// A driver that does not work is reported where the CPU takes over without being asked for.
#[cfg(target_os = "linux")]
fn device_failed() -> Tested {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("cuda.c");
    std::fs::write(
        &source,
        "int cuInit(unsigned flags) { return 999; }
         int cuGetErrorName(int error, const char **text) { *text = \"CUDA_ERROR_UNKNOWN\"; return 0; }
         int cuGetErrorString(int error, const char **text) { *text = \"unknown error\"; return 0; }",
    )?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = std::process::Command::new(compiler);
    command
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.path().join("libcuda.so.1"))
        .arg(&source);
    let built = command.output()?;
    expect(built.status.success(), "the driver must be built", &built)?;
    std::fs::copy(folder.path().join("libcuda.so.1"), folder.path().join("libcuda.so"))?;
    for (device, warned) in [("auto", true), ("cpu", false)] {
        let mut command = gpu_run();
        command.env("LD_LIBRARY_PATH", folder.path());
        let output = command.args(["--device", device, &wasm("release", "hello")]).output()?;
        let said = "warning: the program runs on the CPU, because the GPU cannot be used: cuInit failed: \
                    CUDA_ERROR_UNKNOWN (unknown error); `--device cpu` says that this is wanted\n";
        let wanted = if warned { said } else { "" };
        expect(text(&output.stderr) == wanted, &format!("stderr {wanted:?}"), &output)?;
        expect(output.status.success(), "it runs on the CPU", &output)?;
    }
    Ok(())
}

/// A panic because no thread can be started comes with what works instead.
fn no_threads(device: &str) -> Tested {
    const SPAWN: &str = "failed to spawn thread: Error { kind: Unsupported, message: \\22operation not supported on \
                         this platform\\22 }";
    const RAYON: &str = "called `Result::unwrap()` on an `Err` value: ThreadPoolBuildError { kind: IOError(Error { \
                         kind: Unsupported, message: \\22operation not supported on this platform\\22 }) }";
    for (message, told) in [(SPAWN, true), (RAYON, true), ("kind: Unsupported", false)] {
        let said = format!("\\nthread 'main' (1) panicked at src/main.rs:4:5:\\n{message}\\n");
        let length = said.replace("\\n", "n").replace("\\22", "\"").len();
        let code = format!(
            "(func $rust_panic (unreachable))
            (func $main (export \"_start\") (call $say (i32.const 64) (i32.const {length})) (call $rust_panic))"
        );
        let (_folder, file) = says(&said, &code)?;
        let output = run_on(device, [&file]);
        let stderr = text(&output.stderr);
        expect(output.status.code() == Some(134), "exit code 134", &output)?;
        let notes = ["gpu_std::kernel!", "--threads N", "wasm32-wasip1-threads"];
        expect(
            notes.iter().all(|part| stderr.contains(part)) == told && stderr.contains("note: ") == told,
            &format!("what to do: {told}"),
            &output,
        )?;
    }
    Ok(())
}

/// A kernel of which thread N returns N, by the forms in which results are given.
fn results_of_kernel(device: &str) -> Tested {
    let program = wasm("release", "spmd");
    let summary = "Result: 0 (thread 0; all 2048 threads: minimum 0, maximum 2047, sum 2096128)\n";
    let output = run_on(device, ["--threads", "2048", &program]);
    expect(
        text(&output.stdout).ends_with(summary),
        "what they have returned together",
        &output,
    )?;

    let output = run_on(device, ["--threads", "2048", "--results", "all", &program]);
    let stdout = text(&output.stdout);
    let told = (stdout.lines()).filter_map(|line| line.strip_prefix("thread ")?.split_once(": "));
    let told: Vec<(usize, usize)> = told
        .filter_map(|(thread, value)| Some((thread.parse().ok()?, value.parse().ok()?)))
        .collect();
    let wanted: Vec<(usize, usize)> = (0..2048).map(|thread| (thread, thread)).collect();
    expect(
        told == wanted && stdout.ends_with(summary),
        "a line for each thread",
        &output,
    )?;

    let output = run_on(device, ["--threads", "2048", "--results", "json", &program]);
    let stdout = text(&output.stdout);
    let found: Vec<u32> = serde_json::from_str(stdout.lines().last().ok_or("a line")?)?;
    expect(found == (0..2048).collect::<Vec<u32>>(), "an array", &output)?;

    let folder = tempfile::tempdir()?;
    let file = folder.path().join("results.bin");
    let output = run_on(
        device,
        ["--threads", "2048", "--results", &file.display().to_string(), &program],
    );
    let bytes: Vec<u8> = (0..2048u32).flat_map(u32::to_le_bytes).collect();
    expect(std::fs::read(&file)? == bytes, "a file of their bytes", &output)?;
    expect(
        text(&output.stdout).ends_with(summary),
        "and what they are together",
        &output,
    )
}

/// Results of all types of numbers, and several of them.
fn results_of_types(device: &str) -> Tested {
    let (folder, file) = module(
        r#"(module
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (func (export "mixed") (result i32 i64 f32 f64)
            (i32.sub (call $gid) (i32.const 2))
            (i64.mul (i64.extend_i32_u (call $gid)) (i64.const 0x4000000000000000))
            (f32.div (f32.convert_i32_u (call $gid)) (f32.const 2))
            (f64.div (f64.const 1) (f64.convert_i32_u (call $gid)))))"#,
    )?;
    let run = |results: &str| {
        run_on(
            device,
            ["--threads", "4", "--results", results, "--invoke", "mixed", &file],
        )
    };
    let i64s = [0, 1 << 62, i64::MIN, -(1 << 62)];
    let output = run("json");
    let wanted = json!([
        [-2, 0, 0, "inf"],
        [-1, i64s[1], 0.5, 1],
        [0, i64s[2], 1, 0.5],
        [1, i64s[3], 1.5, 1.0f64 / 3.0]
    ]);
    let found: Value = serde_json::from_str(&text(&output.stdout))?;
    expect(found == wanted, &format!("{wanted}"), &output)?;
    let output = run("all");
    let stdout = text(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    expect(
        lines[0] == "thread 0: -2, 0, 0, inf"
            && lines[1] == "thread 1: -1, 4611686018427387904, 0.5, 1"
            && lines[4]
                == "Result: -2, 0, 0, inf (thread 0; all 4 threads: minimum -2, maximum 1, sum -2; minimum \
                    -9223372036854775808, maximum 4611686018427387904, sum -9223372036854775808; minimum 0, maximum \
                    1.5, sum 3; minimum 0.3333333333333333, maximum inf, sum inf)",
        "values and what they are together",
        &output,
    )?;
    let bytes = folder.path().join("bytes").display().to_string();
    run(&bytes);
    let mut wanted = Vec::new();
    for thread in 0..4i32 {
        wanted.extend((thread - 2).to_le_bytes());
        wanted.extend(i64s[thread as usize].to_le_bytes());
        wanted.extend((thread as f32 / 2.0).to_le_bytes());
        wanted.extend((1.0 / f64::from(thread)).to_le_bytes());
    }
    expect(std::fs::read(&bytes)? == wanted, "bytes", &output)
}

/// Where results cannot be given, nothing runs, and no file is left.
fn results_refused() -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("results").display().to_string();
    let nowhere = folder.path().join("no/results").display().to_string();
    let (_module, none) =
        module(r#"(module (func (export "none")) (func (export "ref") (result funcref) (ref.null func)))"#)?;
    let hello = wasm("release", "hello");
    let traps = wasm("wat", "traps");
    for (args, part) in [
        (
            ["--results", "all", "--threads", "1", hello.as_str(), ""],
            "the exit code",
        ),
        (
            ["--results", "all", "--invoke", "none", none.as_str(), ""],
            "returns nothing",
        ),
        (
            ["--results", file.as_str(), "--invoke", "ref", none.as_str(), ""],
            "no bytes",
        ),
        (
            [
                "--results",
                nowhere.as_str(),
                "--invoke",
                "fib",
                &wasm("wat", "fib"),
                "5",
            ],
            "cannot write the results",
        ),
        (
            ["--results", "", "--invoke", "fib", &wasm("wat", "fib"), "5"],
            "expected `all`",
        ),
    ] {
        let output = run_on(
            "cpu",
            args.iter().filter(|arg| !arg.is_empty() || part.contains("expected")),
        );
        expect(output.status.code() == Some(2), "exit code 2", &output)?;
        expect(
            text(&output.stderr).contains(part),
            &format!("must say {part:?}"),
            &output,
        )?;
    }
    let output = run_on("cpu", ["--results", &file, "--invoke", "load_out_of_bounds", &traps]);
    expect(!std::path::Path::new(&file).exists(), "no file is left", &output)
}
