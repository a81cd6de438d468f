//! Runs `gpu-run` as its users do, by every engine on every device of this machine. Tests for a GPU are reported as
//! ignored where there is none.

#[path = "end_to_end/aborting_tests.rs"]
mod aborting_tests;
#[path = "end_to_end/attacks.rs"]
mod attacks;
#[path = "end_to_end/c_heap.rs"]
mod c_heap;
#[cfg(unix)]
#[path = "end_to_end/cargo_runner.rs"]
mod cargo_runner;
#[path = "end_to_end/command.rs"]
mod command;
mod common;
#[path = "end_to_end/debug.rs"]
mod debug;
#[path = "end_to_end/gpu_std.rs"]
mod gpu_std;
#[path = "end_to_end/hints.rs"]
mod hints;
#[path = "end_to_end/memory.rs"]
mod memory;
#[path = "end_to_end/net.rs"]
mod net;
#[cfg(unix)]
#[path = "end_to_end/options.rs"]
mod options;
#[path = "end_to_end/patterns.rs"]
mod patterns;
#[path = "end_to_end/reports.rs"]
mod reports;
#[path = "end_to_end/rustc.rs"]
mod rustc;
#[path = "end_to_end/std_files.rs"]
mod std_files;
#[path = "end_to_end/wasi.rs"]
mod wasi;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Turn, engines, fixture, run, run_on, text};
use libtest_mimic::{Arguments, Failed, Trial};

type Tested = Result<(), Failed>;

/// Fixtures that std on wasm32-unknown-unknown does not support when they are built with LTO: they
/// are refused at start, and the message names this function.
const FOLDED: [(&str, &str); 2] = [("time", "Instant"), ("process_exit", "std::process::exit")];

/// Fixtures whose `eprintln!`s are gone from the module when they are built with LTO, because std's stderr
/// does nothing on wasm32-unknown-unknown: their stderr is not compared. That of `gpu-std` is there.
const STDERR_LOST: [&str; 2] = ["panic", "panic_hook"];

fn main() {
    let args = Arguments::from_args();
    let mut trials = vec![
        Trial::test("refuses/not_wasm", || {
            refuses("not_wasm.wasm", &["not a WebAssembly module"])
        }),
        Trial::test("refuses/truncated", || {
            refuses("truncated.wasm", &["cut off", "offset 0x"])
        }),
        Trial::test("refuses/invalid", || {
            refuses("invalid.wasm", &["type mismatch", "offset 0x", "function"])
        }),
        Trial::test("refuses/gc", || {
            refuses("gc.wasm", &["garbage collection (GC) proposal", "offset 0x"])
        }),
        Trial::test("refuses/typed_function_references", || {
            refuses(
                "typed_function_references.wasm",
                &["typed function references proposal"],
            )
        }),
        Trial::test("refuses/stack_switching", || {
            refuses("stack_switching.wasm", &["stack-switching proposal"])
        }),
        Trial::test("refuses/unknown_import", || {
            refuses("unknown_import.wasm", &["unknown import `"])
        }),
        Trial::test("refuses/gpu_memory64", || {
            refuses(
                "gpu_memory64.wasm",
                &["`gpu_run_v1.alloc`", "64-bit addresses", "offset 0x", "function `main`"],
            )
        }),
        Trial::test("refuses/gpu_no_memory", || {
            refuses(
                "gpu_no_memory.wasm",
                &["`gpu_run_v1.print`", "no memory", "offset 0x", "function `main`"],
            )
        }),
        Trial::test("refuses/no_entry", || {
            refuses("no_entry.wasm", &["no entry", "--invoke"])
        }),
        Trial::test("refuses/missing_file", || {
            refuses("no-such-file.wasm", &["cannot read the module", "no-such-file.wasm"])
        }),
        Trial::test("refuses/main_on_many_threads", main_on_many_threads),
        Trial::test("refuses/no_room_for_stacks", no_room_for_stacks),
        Trial::test("refuses/unknown_thread_locals", unknown_thread_locals),
        Trial::test("refuses/damaged_program", damaged_program),
        Trial::test("refuses/recursion", denied_recursion),
        Trial::test("inspect/frames", inspect_frames),
        Trial::test("translate/program_runs_as_its_module", program_runs_as_its_module),
        Trial::test("translate/program_has_lines", program_has_lines),
        Trial::test("translate/stages_are_fast", translation_times_are_reported),
        Trial::test("inspect/patterns_and_recursion", inspect),
        Trial::test("translate/ptx", emits_ptx),
        Trial::test("refuses/ptx_without_gpu", ptx_without_gpu),
        Trial::test("cache/commands", cache_commands),
        Trial::test("output/nobody_reads", nobody_reads),
        Trial::test("output/nobody_takes", nobody_takes),
        Trial::test("output/somebody_takes_slowly", somebody_takes_slowly),
        Trial::test("report/json_of_leaks_and_lost_output", json_of_other_failures),
        Trial::test("inspect/what_will_not_run", inspect_refusals),
        Trial::test("inspect/c_allocator", c_heap::inspect),
        Trial::test("refuses/files", gpu_std::refused),
        Trial::test("translate/no_messages_left", gpu_std::no_messages_left),
        Trial::test("warns/own_allocator", memory::own_allocator),
    ];
    let general = wasi::general()
        .into_iter()
        .chain(net::general())
        .chain(reports::general())
        .chain(command::general())
        .chain(aborting_tests::general())
        .chain(rustc::general())
        .chain(attacks::general())
        .chain(patterns::general())
        .chain(hints::general());
    #[cfg(unix)]
    let general = general.chain(options::general()).chain(cargo_runner::general());
    trials.extend(general.map(|(name, test)| Trial::test(name, test)));
    let ((name, test), python) = reports::adapter();
    trials.push(Trial::test(name, test).with_ignored_flag(!python));
    for (device, present) in engines() {
        let mut add = |name: String, test: Box<dyn FnOnce() -> Tested + Send>| {
            let test = move || {
                let _turn = (device == "ptx").then(Turn::take);
                test()
            };
            trials.push(Trial::test(format!("{device}/{name}"), test).with_ignored_flag(!present));
        };
        for profile in ["release", "lto", "size", "debug"] {
            for name in names(profile) {
                add(
                    format!("{profile}/{name}"),
                    Box::new(move || program(device, profile, &name)),
                );
            }
        }
        for threads in [1, 32, 10240] {
            add(format!("spmd/{threads}"), Box::new(move || spmd(device, threads)));
        }
        for threads in [2, 512, 10240] {
            add(format!("heap/{threads}"), Box::new(move || heap(device, threads)));
        }
        // All of them wait for each other in the end: so many would take the emulator minutes.
        let many = if device == "emulator" { 128 } else { 10_240 };
        for (threads, rounds) in [(1, 5000), (32, 1000), (many, 20)] {
            let test = move || heap_churn(device, threads, rounds);
            add(format!("heap_churn/{threads}"), Box::new(test));
        }
        debug::tests(device)
            .into_iter()
            .for_each(|(name, test)| add(name, test));
        for (name, test) in gpu_std::tests(device).into_iter().chain(memory::tests(device)) {
            add(name, test);
        }
        let of_host = [
            wasi::of_engine(),
            std_files::of_engine(),
            net::of_engine(),
            c_heap::of_engine(),
            reports::of_engine(),
            hints::of_engine(),
            rustc::of_engine(),
            patterns::of_engine(),
        ];
        for (name, test) in of_host.into_iter().flatten() {
            add(name.into(), Box::new(move || test(device)));
        }
        add("guest_race".into(), Box::new(move || guest_race(device)));
        add("timeout".into(), Box::new(move || timeout(device)));
        add("interrupt".into(), Box::new(move || interrupt(device)));
        add("streams_while_running".into(), Box::new(move || streams(device)));
        for (name, kind) in TRAPS {
            add(
                format!("trap/{name}"),
                Box::new(move || trap(device, "traps", name, kind)),
            );
        }
        for (module, name, args, expected) in CALLS {
            add(
                format!("invoke/{module}/{name}({})", args.join(",")),
                Box::new(move || invoke(device, module, name, args, expected)),
            );
        }
        for profile in ["release", "debug"] {
            add(
                format!("stack_overflow_is_named/{profile}"),
                Box::new(move || stack_overflow(device, profile)),
            );
        }
        for name in ["print", "open_record", "copy", "compare", "table"] {
            add(format!("stops/{name}"), Box::new(move || stops(device, name)));
        }
        for (module, args, code, places) in LINES {
            add(
                format!("lines/{}", module.trim_end_matches(".wasm")),
                Box::new(move || lines(device, module, args, code, places)),
            );
        }
        for threads in [1, 2, 64, 1024] {
            for (name, args, expected) in THREADED {
                let test = move || threaded(device, threads, name, args, expected(threads as u64));
                add(format!("threads/{name}/{threads}"), Box::new(test));
            }
        }
        // Its turns wake all who wait, each time: a number of wakes with the square of the threads.
        for threads in [1, 2, 64, 256] {
            add(
                format!("threads/locks/{threads}"),
                Box::new(move || locks(device, threads)),
            );
        }
        add(
            "threads/spin/64".into(),
            Box::new(move || threaded(device, 64, "spin", &[], 64)),
        );
        add("threads/sleepers".into(), Box::new(move || sleepers(device)));
        for (module, name, kind) in ATOMIC_TRAPS {
            add(
                format!("trap/{name}"),
                Box::new(move || trap(device, module, name, kind)),
            );
        }
        add("bad_frees".into(), Box::new(move || bad_frees(device)));
        for threads in [1, 64] {
            add(
                format!("heap_full/{threads}"),
                Box::new(move || heap_full(device, threads)),
            );
        }
        add("heap_check".into(), Box::new(move || heap_check(device)));
        add("max_call_depth".into(), Box::new(move || max_call_depth(device)));
        add("deep_recursion".into(), Box::new(move || deep_recursion(device)));
        for depth in ["1", "200"] {
            add(
                format!("backtrace_behind_recursion/{depth}"),
                Box::new(move || backtrace_behind_recursion(device, depth)),
            );
        }
        if device == "ptx" {
            add("cache".into(), Box::new(code_is_cached));
            add("interpreted_meanwhile".into(), Box::new(interpreted_meanwhile));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

/// The fixtures built with a profile.
fn names(profile: &str) -> Vec<String> {
    let dir = fixture("wasm").join(profile);
    let files = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut names: Vec<_> = files
        .filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".wasm")?.to_owned()))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no fixtures in {}", dir.display());
    names
}

fn wasm(profile: &str, name: &str) -> String {
    fixture("wasm")
        .join(profile)
        .join(format!("{name}.wasm"))
        .display()
        .to_string()
}

fn expected(name: &str, part: &str) -> Option<Vec<u8>> {
    std::fs::read(fixture("expected").join(format!("{name}.{part}"))).ok()
}

/// Fails with what was printed.
fn fail<T>(what: impl std::fmt::Display, output: &Output) -> Result<T, Failed> {
    Err(format!(
        "{what}\nexit: {:?}\nstdout:\n{}\nstderr:\n{}",
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr)
    )
    .into())
}

fn expect(holds: bool, what: &str, output: &Output) -> Tested {
    if holds { Ok(()) } else { fail(what, output) }
}

/// A fixture prints and exits as the native program does.
fn program(device: &str, profile: &str, name: &str) -> Tested {
    if name == "infinite_loop" {
        let output = run_on(device, ["--timeout", "300ms", &wasm(profile, name)]);
        expect(output.status.code() == Some(124), "it must be stopped", &output)?;
        return expect(
            Some(output.stdout.as_slice()) == expected(name, "stdout").as_deref(),
            "stdout differs",
            &output,
        );
    }
    let mut args = gpu_std::arguments(name);
    args.push(wasm(profile, name));
    let output = run_on(device, args);
    if profile == "lto"
        && let Some((_, function)) = FOLDED.iter().find(|(folded, _)| *folded == name)
    {
        let stderr = text(&output.stderr);
        expect(output.status.code() == Some(2), "it must be refused", &output)?;
        return expect(
            stderr.contains(function) && stderr.contains("lto"),
            "the message names function and remedy",
            &output,
        );
    }
    let code = expected(name, "exit").and_then(|code| text(&code).trim().parse::<i32>().ok());
    expect(
        output.status.code() == code,
        &format!("exit code must be {code:?}"),
        &output,
    )?;
    expect(
        Some(output.stdout.as_slice()) == expected(name, "stdout").as_deref(),
        "stdout differs from the native program's",
        &output,
    )?;
    if profile == "lto" && STDERR_LOST.contains(&name) {
        return expect(
            text(&output.stderr).contains("panicked at"),
            "the panic's message must be there",
            &output,
        );
    }
    match expected(name, "stderr") {
        Some(stderr) if name == "stderr" => expect(
            output.stderr == stderr,
            "stderr differs from the native program's",
            &output,
        ),
        Some(stderr) if code == Some(101) => {
            let (found, wanted) = (mask_thread(&text(&output.stderr)), mask_thread(&text(&stderr)));
            expect(
                found == wanted,
                &format!("stderr differs from the native program's:\n{wanted}"),
                &output,
            )
        }
        _ => Ok(()),
    }
}

/// Native panics name the OS thread's number: `thread 'main' (1234) panicked`.
fn mask_thread(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match (line.find(" ("), line.find(") panicked at ")) {
            (Some(open), Some(close)) if open < close => format!("{} (N{}", &line[..open], &line[close..]),
            _ => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn refuses(file: &str, parts: &[&str]) -> Tested {
    let output = run(["--device", "cpu", &fixture("bad").join(file).display().to_string()]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    for part in parts.iter().chain(&[file]) {
        expect(
            stderr.contains(part),
            &format!("the message must say {part:?}"),
            &output,
        )?;
    }
    expect(!stderr.contains("panicked"), "no panic", &output)
}

fn no_room_for_stacks() -> Tested {
    let output = run([
        "--device",
        "cpu",
        "--threads",
        "40000",
        "--max-memory",
        "64MiB",
        &wasm("release", "spmd"),
    ]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        stderr.contains("stacks need") && stderr.contains("--thread-stack"),
        "the message must say why and what to do",
        &output,
    )
}

fn main_on_many_threads() -> Tested {
    let output = run(["--device", "cpu", "--threads", "8", &wasm("release", "hello")]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    for way in ["gpu_std::kernel!", "--instances", "atomics"] {
        expect(
            text(&output.stderr).contains(way),
            &format!("the message must name {way}"),
            &output,
        )?;
    }
    Ok(())
}

/// `--deny-recursion` shows a cycle by name, whatever is asked of the module; what does not recurse
/// runs with it.
fn denied_recursion() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("out.gbc").display().to_string();
    for (name, cycle) in [
        ("fib", "`fib -> fib`"),
        ("mutual", "`even -> odd -> even`"),
        ("ackermann", "`ackermann -> ackermann`"),
        ("indirect_recursion", "`count -> (indirect) by_one -> count`"),
    ] {
        let module = wasm("wat", name);
        for command in [
            &["run", "--device", "cpu", "--deny-recursion", &module][..],
            &[
                "translate",
                "--deny-recursion",
                "--emit",
                "bytecode",
                "-o",
                &file,
                &module,
            ],
            &["inspect", "--deny-recursion", &module],
        ] {
            let output = run(command);
            expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
            expect(
                text(&output.stderr).contains(&format!("recursion: {cycle}")),
                &format!("the message must show {cycle}"),
                &output,
            )?;
        }
    }
    let module = wasm("wat", "indirect");
    let output = run(["--device", "cpu", "--deny-recursion", "--invoke", "nested", &module]);
    expect(
        text(&output.stdout).trim() == "32",
        "no recursion: it must run",
        &output,
    )?;
    let output = run([
        "translate",
        "--deny-recursion",
        "--emit",
        "bytecode",
        "-o",
        &file,
        &module,
    ]);
    expect(output.status.success(), "no recursion: it must translate", &output)?;
    let output = run(["--device", "cpu", "--deny-recursion", "--invoke", "nested", &file]);
    expect(output.status.code() == Some(2), "a program cannot be checked", &output)?;
    expect(
        text(&output.stderr).contains("gpu-run translate"),
        "the message must say what to do",
        &output,
    )
}

/// Each byte of a program that is changed gives an error or the same program, never a crash.
fn damaged_program() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("fib.gbc").display().to_string();
    let output = run(["translate", &wasm("wat", "fib"), "--emit", "bytecode", "-o", &file]);
    expect(output.status.success(), "translation must work", &output)?;
    let good = std::fs::read(&file)?;
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        std::fs::write(&file, &bad)?;
        let output = run(["--device", "cpu", "--timeout", "2s", "--invoke", "fib", &file, "10"]);
        expect(
            output.status.code() == Some(2),
            &format!("byte {at} changed: exit code must be 2"),
            &output,
        )?;
    }
    Ok(())
}

/// The PTX engine is for GPUs: the CPU never stands in for one silently.
fn ptx_without_gpu() -> Tested {
    let output = run(["--device", "cpu", "--engine", "ptx", &wasm("release", "hello")]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        output.stdout.is_empty() && text(&output.stderr).contains("the PTX engine needs a GPU"),
        "the message must say why",
        &output,
    )
}

/// PTX is made without a GPU, and all that the program exports can be started.
fn emits_ptx() -> Tested {
    let output = run(["translate", "--emit", "ptx", &wasm("wat", "mutual")]);
    expect(output.status.success(), "it must be compiled", &output)?;
    let ptx = text(&output.stdout);
    for part in [
        ".version ",
        ".visible .entry i0_start_0(",
        ".visible .entry i0_start_1(",
    ] {
        expect(ptx.contains(part), &format!("the PTX must have {part:?}"), &output)?;
    }
    Ok(())
}

/// Streams that are closed at the other end do not change how the command ends.
fn nobody_reads() -> Tested {
    let module = wasm("release", "hello");
    for args in [
        &["run", "--device", "cpu", "--stats", "-v", &module][..],
        &[
            "wast",
            "--device",
            "cpu",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/wast/edges.wast"),
        ],
        &["devices"],
    ] {
        let mut command = common::gpu_run();
        let mut child = command
            .args(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()?;
        drop((child.stdout.take(), child.stderr.take()));
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("{args:?} ended with {status}").into());
        }
    }
    Ok(())
}

fn cache_commands() -> Tested {
    let dir = tempfile::tempdir()?;
    let name = |digit: &str| dir.path().join(format!("{}.cubin", digit.repeat(64)));
    std::fs::write(name("a"), "some bytes")?;
    std::fs::write(name("b"), "more")?;
    std::fs::write(dir.path().join("other.cubin"), "not the cache's")?;
    let cache = |args: &[&str], size: &str| {
        let mut command = common::gpu_run();
        command
            .env("GPU_RUN_CACHE_DIR", dir.path())
            .env("GPU_RUN_CACHE_SIZE", size);
        command.arg("cache").args(args).output()
    };
    let output = cache(&["path"], "1GiB")?;
    let path = dir.path().display().to_string();
    expect(text(&output.stdout).trim() == path, "it must be the folder", &output)?;
    for args in [&[][..], &["list"]] {
        let output = cache(args, "1GiB")?;
        for part in [
            "aaaaaaaaaaaaaaaa  ",
            "bbbbbbbbbbbbbbbb  ",
            "2 programs, 14 B of at most 1.0 GiB",
        ] {
            let shown = text(&output.stdout).contains(part);
            expect(shown, &format!("it must show {part:?}"), &output)?;
        }
    }
    let output = cache(&["clear"], "1GiB")?;
    let removed = text(&output.stdout).trim() == "2 programs removed, 14 B";
    expect(removed, "it must say what was removed", &output)?;
    let left = std::fs::read_dir(dir.path())?.count();
    expect(left == 1, "the files of others must stay", &output)?;
    let output = cache(&[], "much")?;
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    let why = text(&output.stderr).contains("GPU_RUN_CACHE_SIZE=much");
    expect(why, "the message must name the variable", &output)
}

/// A program is compiled once; the engine `auto` takes what is there; a damaged entry, or a folder that
/// cannot be, does no harm.
fn code_is_cached() -> Tested {
    let dir = tempfile::tempdir()?;
    let start = |device: &str, folder: &Path| -> Result<(serde_json::Value, Output), Failed> {
        let output = common::gpu_run_on(device)
            .env("GPU_RUN_CACHE_DIR", folder)
            .args(["--stats=json", "--invoke", "fib", &wasm("wat", "fib"), "20"])
            .output()?;
        expect(text(&output.stdout).trim() == "6765", "must print 6765", &output)?;
        Ok((stats(&output)?, output))
    };
    let check = |device: &str, folder: &Path, engine: &str, cached: bool| -> Tested {
        let (stats, output) = start(device, folder)?;
        let found = stats["engine"] == engine && stats["cached"].as_bool().unwrap_or(false) == cached;
        let sized = (stats["cubin_bytes"].as_u64() > Some(0)) == (engine == "ptx");
        expect(found && sized, &format!("engine {engine}, cached: {cached}"), &output)
    };
    check("ptx", dir.path(), "ptx", false)?;
    check("ptx", dir.path(), "ptx", true)?;
    check("auto", dir.path(), "ptx", true)?;
    check("cuda", dir.path(), "interp", false)?;
    for entry in std::fs::read_dir(dir.path())? {
        let path = entry?.path();
        let mut bytes = std::fs::read(&path)?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes)?;
    }
    check("ptx", dir.path(), "ptx", false)?;
    check("ptx", dir.path(), "ptx", true)?;
    let file = dir.path().join("file");
    std::fs::write(&file, "")?;
    check("ptx", &file, "ptx", false)
}

/// A run that does not wait for its compiler is interpreted, and ends well while the compiler is at work.
fn interpreted_meanwhile() -> Tested {
    let output = common::gpu_run()
        .env("GPU_RUN_CACHE_DIR", "")
        .args(["--device", "cuda", "--engine", "ptx", "--compile-time", "0s"])
        .arg(wasm("release", "wordcount"))
        .output()?;
    expect(output.status.success(), "the program must end well", &output)?;
    let told = text(&output.stderr).contains("the program is interpreted");
    expect(told, "the warning must say so", &output)?;
    expect(
        Some(output.stdout.as_slice()) == expected("wordcount", "stdout").as_deref(),
        "stdout differs",
        &output,
    )
}

fn program_runs_as_its_module() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("wordcount.gbc").display().to_string();
    let output = run([
        "translate",
        &wasm("release", "wordcount"),
        "--emit",
        "bytecode",
        "-o",
        &file,
    ]);
    expect(output.status.success(), "translation must work", &output)?;
    let output = run(["--device", "cpu", &file]);
    expect(output.status.success(), "the program must run", &output)?;
    expect(
        Some(output.stdout.as_slice()) == expected("wordcount", "stdout").as_deref(),
        "stdout differs",
        &output,
    )
}

fn translation_times_are_reported() -> Tested {
    let output = run(["--device", "cpu", "--stats=json", &wasm("release", "hello")]);
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("\"translate_ms\""),
        "--stats must report the times of translation",
        &output,
    )
}

fn inspect() -> Tested {
    let output = run(["inspect", &wasm("release", "time")]);
    let stdout = text(&output.stdout);
    for part in [
        "std::io::stdio::_print",
        "instant",
        "found",
        "absent",
        "recursion:",
        "function main (i32, i32) -> (i32)",
        "pages of 64 KiB",
    ] {
        expect(stdout.contains(part), &format!("must show {part:?}"), &output)?;
    }
    Ok(())
}

/// Components with their cycles, and the frames of what is bounded.
fn inspect_frames() -> Tested {
    let output = run(["inspect", &wasm("wat", "indirect_recursion")]);
    let stdout = text(&output.stdout);
    for part in [
        "recursion: 1 component\n  by_one, by_two, count\n    by_one -> count -> (indirect) by_one\n",
        "depth of calls from `count`: unbounded",
        "`count`: unbounded, until --max-call-depth",
    ] {
        expect(stdout.contains(part), &format!("must show {part:?}"), &output)?;
    }
    let output = run(["inspect", &wasm("wat", "indirect")]);
    let stdout = text(&output.stdout);
    expect(stdout.contains("recursion: none"), "nothing recurses", &output)?;
    // `nested` calls `apply`, which calls through the table.
    let frames = |name: &str| -> Option<u32> {
        let line = stdout
            .lines()
            .find(|line| line.trim().starts_with(&format!("`{name}`: depth ")))?;
        line.rsplit_once(" bytes of frames")?.0.rsplit_once(' ')?.1.parse().ok()
    };
    let (apply, nested) = (frames("apply"), frames("nested"));
    expect(
        apply.is_some() && nested > apply,
        "the frames of `nested` are those of `apply` and its own",
        &output,
    )?;
    expect(stdout.contains("`nested`: depth 3, "), "three calls deep", &output)
}

fn spmd(device: &str, threads: u32) -> Tested {
    let output = run_on(
        device,
        [
            "--threads",
            &threads.to_string(),
            "--invoke",
            "sum",
            &wasm("release", "spmd"),
        ],
    );
    expect(output.status.success(), "must succeed", &output)?;
    let stdout = text(&output.stdout);
    let sum = (0..threads).sum::<u32>();
    expect(
        stdout.lines().any(|line| line == format!("sum = {sum}")),
        &format!("must print sum = {sum}"),
        &output,
    )?;
    expect(
        stdout.lines().filter(|line| line.starts_with("thread ")).count() as u32 == threads.div_ceil(1024),
        "one line for every 1024 threads",
        &output,
    )?;
    expect(
        text(&output.stderr).contains(&format!("with {threads} threads...")),
        "must say how many threads run",
        &output,
    )?;
    expect(stdout.contains("Result: "), "must print the result", &output)
}

/// What sanitizers must not take for a race of the interpreter.
fn guest_race(device: &str) -> Tested {
    let module = wasm("wat", "guest_race");
    let output = run_on(device, ["--threads", "64", "--invoke", "race", &module, "500"]);
    expect(
        text(&output.stdout).trim() == "Result: 0",
        "no aligned word may be torn",
        &output,
    )
}

fn heap(device: &str, threads: u32) -> Tested {
    let output = run_on(
        device,
        [
            "--threads",
            &threads.to_string(),
            "--invoke",
            "stress",
            "--stats=json",
            &wasm("wat", "heap_stress"),
            "50",
        ],
    );
    expect(
        text(&output.stdout).trim() == "Result: 0",
        "no thread may find a wrong byte",
        &output,
    )?;
    // Each round makes two blocks, and a third where a block moves.
    expect(
        !text(&output.stderr).contains("\"allocated\":0,"),
        "--stats must count blocks",
        &output,
    )
}

/// Blocks of random sizes live for random times and are freed by other threads; the threads look at every byte.
fn heap_churn(device: &str, threads: u32, rounds: u32) -> Tested {
    let (threads, rounds) = (threads.to_string(), rounds.to_string());
    let module = wasm("wat", "heap_churn");
    let run = |options: &[&str]| {
        let given = ["--threads", &threads, "--invoke", "churn", &module, &rounds, "16384"];
        let output = run_on(device, options.iter().chain(&given));
        expect(output.status.success(), "no thread may find a wrong byte", &output).map(|()| output)
    };
    let output = run(&["--stats=json"])?;
    expect(
        text(&output.stderr).contains("\"live\":0,\"live_bytes\":0,"),
        "all blocks must be free in the end",
        &output,
    )?;
    run(&["--heap-check", "--leak-check"]).map(drop)
}

fn timeout(device: &str) -> Tested {
    // The kernel's own time: starting up while other tests share the device is not counted.
    let output = run_on(
        device,
        ["--timeout", "2s", "--stats=json", &wasm("release", "infinite_loop")],
    );
    expect(output.status.code() == Some(124), "exit code must be 124", &output)?;
    expect(
        text(&output.stderr).contains("did not end within 2s"),
        "the message must say why",
        &output,
    )?;
    let run_ms = run_ms(&output)?;
    expect(
        // Other tests may have the device for a while.
        (2000.0..30_000.0).contains(&run_ms),
        "it must end soon behind its time",
        &output,
    )?;
    // The device is usable afterwards.
    program(device, "release", "hello")
}

/// Starts the infinite loop and waits for the line that it prints first.
fn start_loop(device: &str) -> Result<(Child, String), Failed> {
    let mut child = common::gpu_run_on(device)
        .args(["--timeout", "20s", &wasm("release", "infinite_loop")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line)?;
    Ok((child, line))
}

#[cfg(unix)]
fn interrupt(device: &str) -> Tested {
    let (child, _) = start_loop(device)?;
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    let output = child.wait_with_output()?;
    expect(
        killed.success() && output.status.code() == Some(130),
        "exit code must be 130",
        &output,
    )?;
    expect(
        text(&output.stderr).contains("interrupted"),
        "the message must say why",
        &output,
    )
}

#[cfg(not(unix))]
fn interrupt(_device: &str) -> Tested {
    Ok(())
}

/// What a program prints can be read while it still runs.
fn streams(device: &str) -> Tested {
    let (mut child, line) = start_loop(device)?;
    let running = child.try_wait()?.is_none();
    child.kill()?;
    child.wait()?;
    if running && !line.is_empty() {
        Ok(())
    } else {
        Err(format!("read {line:?}, running: {running}").into())
    }
}

/// Exports of traps.wat and the message of their trap.
const TRAPS: [(&str, &str); 18] = [
    ("unreachable", "unreachable"),
    ("divide_by_zero", "integer divide by zero"),
    ("remainder_by_zero", "integer divide by zero"),
    ("integer_overflow", "integer overflow"),
    ("convert_nan", "invalid conversion to integer"),
    ("convert_overflow", "integer overflow"),
    ("load_out_of_bounds", "out of bounds memory access"),
    ("store_out_of_bounds", "out of bounds memory access"),
    ("offset_out_of_bounds", "out of bounds memory access"),
    ("copy_out_of_bounds", "out of bounds memory access"),
    ("fill_out_of_bounds", "out of bounds memory access"),
    ("init_out_of_bounds", "out of bounds memory access"),
    ("table_out_of_bounds", "undefined element"),
    ("table_null", "uninitialized element"),
    ("table_signature", "indirect call type mismatch"),
    ("table_get_out_of_bounds", "out of bounds table access"),
    ("table_init_out_of_bounds", "out of bounds table access"),
    ("stack_overflow", "call stack exhausted"),
];

/// Modules, their exports, and the message of their trap.
const ATOMIC_TRAPS: [(&str, &str, &str); 5] = [
    ("threads", "unaligned", "unaligned atomic"),
    ("threads", "unaligned_wait", "unaligned atomic"),
    ("threads", "out_of_bounds", "out of bounds memory access"),
    ("threads", "beyond_4_gib", "out of bounds memory access"),
    ("unshared", "wait", "expected shared memory"),
];

fn trap(device: &str, module: &str, name: &str, kind: &str) -> Tested {
    let output = run_on(device, ["--invoke", name, &wasm("wat", module)]);
    let stderr = text(&output.stderr);
    expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
    expect(
        stderr.contains(&format!("trap: {kind}")),
        &format!("the trap must be {kind:?}"),
        &output,
    )?;
    expect(
        stderr.contains("0: ") && stderr.contains("wasm offset 0x"),
        "the backtrace must name function and offset",
        &output,
    )
}

/// Modules with DWARF, how they are run, their exit code, and what their backtraces must show, in
/// this order: functions that the compiler inlined are calls too.
const LINES: [(&str, &[&str], i32, &[&str]); 3] = [
    (
        "dwarf/abort.wasm",
        &[],
        134,
        &[
            ": check at fixtures/rust/abort/src/main.rs:8:9 (",
            ": abort::withdraw at fixtures/rust/abort/src/main.rs:15:5 (",
            ": abort::main at fixtures/rust/abort/src/main.rs:22:19 (",
        ],
    ),
    (
        "dwarf/panic_bounds.wasm",
        &[],
        101,
        &[
            ": panic_bounds::lookup at fixtures/rust/panic_bounds/src/main.rs:7:5 (",
            ": total at fixtures/rust/panic_bounds/src/main.rs:14:31 (",
            ": panic_bounds::main at fixtures/rust/panic_bounds/src/main.rs:21:20 (",
        ],
    ),
    (
        "c/lines.wasm",
        &["--invoke", "run"],
        134,
        &[
            "0: ratio at fixtures/c/lines.c:4:14 (",
            "1: average at fixtures/c/lines.c:10:12 (",
            "2: run at fixtures/c/lines.c:15:12 (",
        ],
    ),
];

fn lines(device: &str, module: &str, args: &[&str], code: i32, places: &[&str]) -> Tested {
    let module = fixture("wasm").join(module).display().to_string();
    // The argument of the C function; programs take none.
    let zero = if args.is_empty() { &[][..] } else { &["0"] };
    let output = common::gpu_run_on(device)
        .env("RUST_BACKTRACE", "1")
        .args(args)
        .arg(module)
        .args(zero)
        .output()?;
    expect(
        output.status.code() == Some(code),
        &format!("exit code must be {code}"),
        &output,
    )?;
    shows_in_order(&output, places)
}

/// Lines of stderr have these parts, in this order.
fn shows_in_order(output: &Output, parts: &[&str]) -> Tested {
    let stderr = text(&output.stderr);
    let mut lines = stderr.lines();
    for part in parts {
        expect(
            lines.any(|line| line.contains(part)),
            &format!("the backtrace must show {part:?}, in order"),
            output,
        )?;
    }
    Ok(())
}

/// A translated program knows the lines of its module.
fn program_has_lines() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("abort.gbc").display().to_string();
    let (module, args, code, places) = LINES[0];
    let module = fixture("wasm").join(module).display().to_string();
    let output = run(["translate", &module, "--emit", "bytecode", "-o", &file]);
    expect(output.status.success(), "translation must work", &output)?;
    let output = run(["--device", "cpu", &file].into_iter().chain(args.iter().copied()));
    expect(output.status.code() == Some(code), "the program must trap", &output)?;
    shows_in_order(&output, places)
}

/// Module, export, arguments, result.
const CALLS: &[(&str, &str, &[&str], &str)] = &[
    ("fib", "fib", &["20"], "6765"),
    ("ackermann", "ackermann", &["2", "9"], "21"),
    ("ackermann", "ackermann", &["3", "5"], "253"),
    ("mutual", "even", &["1001"], "0"),
    ("mutual", "even", &["1000"], "1"),
    ("mutual", "odd", &["7"], "1"),
    ("indirect_recursion", "count", &["0", "500"], "0"),
    ("indirect_recursion", "count", &["1", "501"], "-1"),
    ("indirect", "nested", &[], "32"),
    ("heap_stress", "stress", &["10"], "0"),
    // 0x1111beefcd111111.
    ("threads", "wrapped", &[], "1229974110395765009"),
    ("unshared", "add", &["5"], "5"),
    ("unshared", "notify", &[], "0"),
];

fn invoke(device: &str, module: &str, name: &str, args: &[&str], expected: &str) -> Tested {
    let module = wasm("wat", module);
    let output = run_on(device, ["--invoke", name, &module].iter().chain(args));
    expect(
        output.status.success() && text(&output.stdout).trim() == expected,
        &format!("must print {expected}"),
        &output,
    )
}

/// Exports of threads.wat, their arguments, and what every thread returns if there are so many.
type Threaded = (&'static str, &'static [&'static str], fn(u64) -> u64);
const THREADED: [Threaded; 6] = [
    ("mutex", &["10"], |threads| 10 * threads),
    ("barrier", &["5"], |threads| 5 * threads * (threads + 1) / 2),
    ("ring", &["2"], |threads| 2 * threads),
    ("timeouts", &[], |_| 1122),
    ("counts", &[], |threads| threads - 1),
    ("rmw", &[], |_| 0),
];

fn run_threads(device: &str, threads: u32, name: &str, args: &[&str]) -> Output {
    let (threads, module) = (threads.to_string(), wasm("wat", "threads"));
    let mut all = vec!["--timeout", "1m", "--stats=json", "--threads", &threads];
    all.extend(["--invoke", name, &module]);
    all.extend(args);
    run_on(device, all)
}

/// Threads wait for each other: more than there are lanes must be parked.
fn threaded(device: &str, threads: u32, name: &str, args: &[&str], expected: u64) -> Tested {
    let output = run_threads(device, threads, name, args);
    let label = if threads > 1 { "Result: " } else { "" };
    expect(
        output.status.success() && text(&output.stdout).trim() == format!("{label}{expected}"),
        &format!("all threads must return {expected}"),
        &output,
    )
}

/// Threads sleep at the same time, however few lanes there are.
fn sleepers(device: &str) -> Tested {
    let output = run_threads(device, 256, "sleepers", &[]);
    expect(
        output.status.success() && text(&output.stdout).trim() == "Result: 1",
        "every thread must sleep for 50 ms",
        &output,
    )?;
    // One after another on 16 lanes they would take 800 ms.
    expect(run_ms(&output)? < 400.0, "they must sleep together", &output)
}

/// std's locks and thread-locals in a Rust program for threads.
fn locks(device: &str, threads: u32) -> Tested {
    let output = run_on(
        device,
        [
            "--timeout",
            "1m",
            "--threads",
            &threads.to_string(),
            &wasm("threads", "locks"),
        ],
    );
    let expected = format!(
        "{threads} names, all there: true; sum {}; small {}; turn {threads}; largest 5057\n",
        100 * threads,
        threads % 256,
    );
    expect(
        output.status.success() && text(&output.stdout) == expected,
        &format!("must print {expected}"),
        &output,
    )
}

/// A module for threads that has thread-locals must tell their size.
fn unknown_thread_locals() -> Tested {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("untold.wat");
    std::fs::write(
        &file,
        r#"(module (memory 1 2 shared) (global $__tls_base (mut i32) (i32.const 1024)) (func (export "main")))"#,
    )?;
    let file = file.display().to_string();
    let output = run(["--device", "cpu", &file]);
    expect(output.status.success(), "one thread needs no copy", &output)?;
    let output = run(["--device", "cpu", "--threads", "2", &file]);
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    expect(
        text(&output.stderr).contains("--export=__tls_size"),
        "the message must say what to do",
        &output,
    )
}

/// Work that is done by the kernel or the host looks at the clock too.
fn stops(device: &str, name: &str) -> Tested {
    let output = run_on(
        device,
        [
            "--timeout",
            "300ms",
            "--stats=json",
            "--invoke",
            name,
            &wasm("wat", "stubborn"),
        ],
    );
    expect(output.status.code() == Some(124), "exit code must be 124", &output)?;
    let run_ms = run_ms(&output)?;
    // The limit counts from before the kernel's start, so its own time may be less by what that takes. Without a look at
    // the clock it would take minutes.
    if (200.0..30_000.0).contains(&run_ms) {
        Ok(())
    } else {
        Err(format!("stopped after {run_ms} ms").into())
    }
}

/// Whoever does not take the output cannot keep a run from its end.
fn nobody_takes() -> Tested {
    let mut command = common::gpu_run();
    let module = wasm("wat", "stubborn");
    command.args(["--device", "cpu", "--timeout", "300ms", "--invoke", "print", &module]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let taker = child.stdout.take();
    let status = child.wait()?;
    drop(taker);
    match status.code() {
        Some(124) => Ok(()),
        _ => Err(format!("it ended with {status}").into()),
    }
}

/// Whoever takes it slowly gets all that was said before the end, and the report behind it, though that takes longer
/// than nobody may take.
fn somebody_takes_slowly() -> Tested {
    let mut command = common::gpu_run();
    let module = wasm("wat", "debug");
    command.args([
        "--device",
        "cpu",
        "--threads",
        "16384",
        "--timeout",
        "300ms",
        "--stats=json",
    ]);
    command.args(["--invoke", "small", &module, "1000000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut taker = child.stderr.take().ok_or("it is piped")?;
    let (mut said, mut piece) = (Vec::new(), [0; 1 << 16]);
    // Some 16 pieces, a ring's worth.
    let begin = Instant::now();
    loop {
        let count = taker.read(&mut piece)?;
        if count == 0 {
            break;
        }
        said.extend_from_slice(&piece[..count]);
        if begin.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(300));
        }
    }
    let status = child.wait()?;
    let said = String::from_utf8(said)?;
    let messages = said.lines().filter(|line| line.parse::<u32>().is_ok()).count();
    let (ended, counts) = (
        said.contains("did not end within 300ms"),
        said.lines().last().unwrap_or_default(),
    );
    let counts: serde_json::Value = serde_json::from_str(counts)?;
    match status.code() {
        Some(124) if ended && counts["debug"]["messages"] == messages => Ok(()),
        _ => Err(format!("it ended with {status}, {messages} messages, {counts}").into()),
    }
}

fn json_of_other_failures() -> Tested {
    let module = wasm("wat", "bad_frees");
    let leaks = run([
        "--device",
        "cpu",
        "--report",
        "json",
        "--leak-check",
        "--invoke",
        "leak",
        &module,
    ]);
    let heap = run([
        "--device",
        "cpu",
        "--report",
        "json",
        "--heap-check",
        "--invoke",
        "overflow",
        &module,
    ]);
    let picture = wasm("release", "frame");
    let lost = run(["--device", "cpu", "--report", "json", "--frame", "/dev/full", &picture]);
    for (output, kind, code) in [(&leaks, "leaks", 23), (&heap, "trap", 134), (&lost, "output", 1)] {
        let object: serde_json::Value = serde_json::from_slice(&output.stderr)?;
        expect(object["kind"] == kind && object["exit_code"] == code, kind, output)?;
        expect(output.status.code() == Some(code), "its code is the process's", output)?;
    }
    let object: serde_json::Value = serde_json::from_slice(&heap.stderr)?;
    expect(
        object["address"].is_u64() && object["block"]["size"] == 40,
        "it names the block",
        &heap,
    )
}

fn inspect_refusals() -> Tested {
    let names = [
        "unknown_import",
        "wasi_type",
        "wasi_function",
        "wasi_unstable",
        "gpu_memory64",
    ];
    for name in names {
        let module = format!("{}/../fixtures/bad/{name}.wasm", env!("CARGO_MANIFEST_DIR"));
        let output = run(["inspect", &module]);
        expect(text(&output.stdout).contains("\nwill not run: "), name, &output)?;
    }
    let output = run(["inspect", &wasm("release", "hello")]);
    expect(!text(&output.stdout).contains("will not run"), "hello runs", &output)
}

/// The time that the kernel ran, from `--stats=json`.
fn run_ms(output: &Output) -> Result<f64, Failed> {
    Ok(stats(output)?["run_ms"].as_f64().ok_or("no run_ms")?)
}

/// What `--stats=json` printed.
fn stats(output: &Output) -> Result<serde_json::Value, Failed> {
    let stderr = text(&output.stderr);
    let stats = stderr
        .lines()
        .find(|line| line.starts_with('{'))
        .ok_or("no statistics")?;
    Ok(serde_json::from_str(stats)?)
}

/// Whether frames or the stack in linear memory run out first, the message says stack.
fn stack_overflow(device: &str, profile: &str) -> Tested {
    let output = run_on(device, [&wasm(profile, "stack_overflow")]);
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("stack overflow") || stderr.contains("call stack exhausted"),
        "the message must say why",
        &output,
    )
}

/// What the heap finds without --heap-check, and that it comes to no harm by the rest.
fn bad_frees(device: &str) -> Tested {
    for name in [
        "twice",
        "twice_large",
        "inside",
        "inside_large",
        "foreign",
        "beyond",
        "too_large",
        "realloc_freed",
    ] {
        let output = run_on(device, ["--invoke", name, &wasm("wat", "bad_frees")]);
        expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
        let stderr = text(&output.stderr);
        expect(
            stderr.contains("trap: the heap") && stderr.contains(&format!("0: {name} ")),
            "the message must say why and where",
            &output,
        )?;
    }
    for name in ["write_after_free", "overflow", "leak"] {
        let output = run_on(device, ["--invoke", name, &wasm("wat", "bad_frees")]);
        expect(output.status.success(), "nothing may be hurt", &output)?;
    }
    Ok(())
}

/// Memory is exhausted for every thread once, and all of it comes back.
fn heap_full(device: &str, threads: u32) -> Tested {
    let module = wasm("wat", "heap_full");
    let count = threads.to_string();
    for size in ["5000", "100000"] {
        let options = ["--threads", &count, "--thread-stack", "4KiB", "--stats=json"];
        let output = run_on(device, options.iter().chain(&["--invoke", "fill", &module, size]));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        expect(
            ["0", "Result: 0"].contains(&stdout.trim()),
            "no block may have two owners",
            &output,
        )?;
        let failed = format!("\"failed\":{threads},");
        expect(
            stderr.contains(&failed) && stderr.contains("\"live\":0,\"live_bytes\":0"),
            "each thread must be told once, and nothing may be left",
            &output,
        )?;
    }
    Ok(())
}

const FOREIGN: &str = "the heap was given an address at which it has no block";
const TWICE: &str = "the heap was given a block that had been freed";
const LATE: &str = "a block of the heap was written after it had been freed";
const OVERRUN: &str = "bytes behind a block of the heap were written";

/// An export ends by a trap whose message has all that is wanted.
fn heap_mistake(device: &str, options: &[&str], module: &str, export: &str, wanted: &[&str]) -> Tested {
    let output = run_on(device, options.iter().chain(&["--invoke", export, module]));
    expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
    let stderr = text(&output.stderr);
    expect(
        wanted.iter().all(|wanted| stderr.contains(wanted)),
        "the message must say what and whose",
        &output,
    )
}

/// An export leaks a block, and the message says of whom it was.
fn heap_leak(device: &str, module: &str, export: &str, wanted: &str) -> Tested {
    let output = run_on(device, ["--leak-check", "--invoke", export, module]);
    expect(output.status.code() == Some(23), "exit code must be 23", &output)?;
    expect(
        text(&output.stderr).contains(wanted),
        "the message must name the function",
        &output,
    )
}

/// What the heap finds with --heap-check and --leak-check, and what it says.
fn heap_check(device: &str) -> Tested {
    let cases = [
        ("twice", TWICE, "block of 40 bytes was allocated by twice"),
        (
            "twice_large",
            TWICE,
            "block of 500000 bytes was allocated by twice_large",
        ),
        ("inside_large", FOREIGN, "inside_large"),
        ("foreign", FOREIGN, ": 0x400"),
        (
            "too_large",
            "the heap was given a block with another size than it has",
            "block of 40 bytes was allocated by too_large",
        ),
        ("realloc_freed", TWICE, "allocated by realloc_freed"),
        (
            "write_after_free",
            LATE,
            "block of 500 bytes was allocated by write_after_free",
        ),
        ("overflow", OVERRUN, "block of 40 bytes was allocated by overflow"),
    ];
    let module = wasm("wat", "bad_frees");
    for (name, message, detail) in cases {
        heap_mistake(device, &["--heap-check"], &module, name, &[message, detail])?;
    }
    // Nothing happens to these blocks any more: they are looked at when the program has ended.
    let at_end = "found when the program had ended";
    for (name, wanted) in [
        (
            "overflow_kept",
            [
                OVERRUN,
                "block of 40 bytes was allocated by overflow_kept",
                "damaged blocks in all: 2",
            ],
        ),
        (
            "write_late",
            [LATE, "block of 40 bytes was allocated by write_late", at_end],
        ),
        (
            "write_late_large",
            [LATE, "block of 500000 bytes was allocated by write_late_large", at_end],
        ),
    ] {
        heap_mistake(device, &["--heap-check"], &module, name, &wanted)?;
        let output = run_on(device, ["--leak-check", "--invoke", name, &module]);
        expect(output.status.code() != Some(134), "not without --heap-check", &output)?;
    }
    let json = ["--heap-check", "--report", "json"];
    let wanted = ["\"trap\":\"HeapOverrun\"", "\"damaged_at_end\":2"];
    heap_mistake(device, &json, &module, "overflow_kept", &wanted)?;
    heap_leak(device, &module, "leak", "100 bytes in 1 blocks, allocated by leak")?;
    for threads in ["1", "32", "1024"] {
        let module = wasm("wat", "heap_stress");
        let options = [
            "--heap-check",
            "--leak-check",
            "--threads",
            threads,
            "--invoke",
            "stress",
            &module,
            "20",
        ];
        let output = run_on(device, options);
        expect(output.status.success(), "nothing may be found", &output)?;
        let module = wasm("release", "spmd");
        let output = run_on(
            device,
            [
                "--heap-check",
                "--leak-check",
                "--threads",
                threads,
                "--invoke",
                "sum",
                &module,
            ],
        );
        expect(output.status.success(), "nothing may be found", &output)?;
    }
    for name in ["collections", "sort", "wordcount"] {
        let output = run_on(device, ["--heap-check", "--leak-check", &wasm("release", name)]);
        expect(output.status.success(), "nothing may be found", &output)?;
    }
    Ok(())
}

/// As many calls as the limit says may be open, and not one more.
fn max_call_depth(device: &str) -> Tested {
    let run = |limit: &str, name: &str, args: &[&str]| {
        let module = if name == "even" { "mutual" } else { "indirect_recursion" };
        let (options, module) = (["--max-call-depth", limit], wasm("wat", module));
        run_on(device, options.iter().chain(&["--invoke", name, &module]).chain(args))
    };
    // even(n) opens n + 1 calls; count(0, n) opens two for each step, and two for the last.
    for (limit, name, fits, too_deep) in [
        ("1", "even", &["0"][..], &["1"][..]),
        ("1000", "even", &["999"], &["1000"]),
        ("1000", "count", &["0", "499"], &["0", "500"]),
    ] {
        let output = run(limit, name, fits);
        expect(
            output.status.success(),
            &format!("{name} {fits:?} must fit into {limit} calls"),
            &output,
        )?;
        let output = run(limit, name, too_deep);
        expect(
            output.status.code() == Some(134) && text(&output.stderr).contains("trap: call stack exhausted"),
            &format!("{name} {too_deep:?} must not fit into {limit} calls"),
            &output,
        )?;
    }
    Ok(())
}

/// A recursion that is deeper than a backtrace has returned: the calls around it are still known.
fn backtrace_behind_recursion(device: &str, depth: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("module.wat");
    // None of them is inlined, because each may come back to itself.
    let source = "(module
        (func $recurse (param $n i32)
          (if (local.get $n) (then (call $recurse (i32.sub (local.get $n) (i32.const 1))))))
        (func $inner (param $n i32)
          (if (i32.eq (local.get $n) (i32.const -1)) (then (call $outer (local.get $n))))
          (call $recurse (local.get $n))
          unreachable)
        (func $outer (export \"outer\") (param $n i32)
          (call $inner (local.get $n))))";
    std::fs::write(&module, source)?;
    let output = run_on(device, ["--invoke", "outer", &module.display().to_string(), depth]);
    let stderr = text(&output.stderr);
    let frames: Vec<&str> = stderr.lines().filter(|line| line.contains("wasm offset")).collect();
    let named = |(frame, name): (&&str, &str)| frame.contains(name);
    expect(
        frames.len() == 2 && frames.iter().zip([": inner ", ": outer "]).all(named),
        "the backtrace must be `inner`, `outer`",
        &output,
    )
}

/// Frames beyond the first segments of registers: down to the depth limit, and a trap beyond it. Compiled
/// code has the native stack, of which there is less.
fn deep_recursion(device: &str) -> Tested {
    let depth = |n: &str| run_on(device, ["--invoke", "even", &wasm("wat", "mutual"), n]);
    let fits = if ["ptx", "emulator"].contains(&device) {
        "1501"
    } else {
        "90001"
    };
    let output = depth(fits);
    expect(
        text(&output.stdout).trim() == "0",
        &format!("{fits} calls must fit"),
        &output,
    )?;
    let output = depth("100001");
    expect(output.status.code() == Some(134), "100,002 calls must not fit", &output)?;
    expect(
        text(&output.stderr).contains("call stack exhausted"),
        "the message must say why",
        &output,
    )?;
    expect(
        text(&output.stderr).contains("more calls"),
        "the backtrace must be cut",
        &output,
    )
}
