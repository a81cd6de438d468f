//! Debug messages and reports of faults, by every engine.

use std::collections::HashMap;
use std::io::Read;
use std::process::{Output, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::common::{gpu_run_on, run_on, text};
use crate::support::{Tested, Tests, expect, fail, stats, wasm};

/// What is tested on each device and engine, by name.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    let mut add = |name: &str, test: fn(&str) -> Tested| {
        tests.push((format!("dbg/{name}"), Box::new(move || test(device))));
    };
    add("values", values);
    add("levels", levels);
    add("threads", threads);
    add("prefix", prefix);
    add("parts", parts);
    add("json", json_lines);
    add("drop", drop_counts);
    add("stalled_reader", stalled_reader);
    add("reader_leaves", reader_leaves);
    add("ends_lose_nothing", ends);
    add("no_debug", no_debug);
    add("outside_of_memory", outside);
    add("wanted", wanted);
    add("by_turns", by_turns);
    add("report/trap", report_trap);
    add("report/panic", report_panic);
    add("report/panic_aborts", panic_aborts);
    add("report/exit_and_timeout", report_others);
    add("log_filter", log_filter);
    add("report/one_of_10240", one_of_many);
    add("report/all_fault", all_fault);
    for threads in [1, 32, 1024] {
        for length in [0, 77, 300] {
            let name = format!("dbg/whole/{threads}x{length}");
            tests.push((name, Box::new(move || whole(device, threads, 20, length))));
        }
    }
    // So many that several threads format them, some of them in pieces. The emulator would take long.
    if device != "emulator" {
        for length in [0, 90] {
            let name = format!("dbg/many/{length}");
            tests.push((name, Box::new(move || whole(device, 100, 1500, length))));
        }
    }
    tests
}

/// Runs an export of the fixture, with options before it and arguments after it.
fn call(device: &str, options: &[&str], name: &str, args: &[&str]) -> Output {
    let module = wasm("wat", "debug");
    let own = ["--invoke", name, &module];
    run_on(device, options.iter().chain(&own).chain(args))
}

/// The lines that come from the guest: with several threads the command says where it runs.
fn lines(output: &Output) -> Vec<String> {
    let all = text(&output.stderr);
    let lines = all.lines().filter(|line| !line.starts_with("Running on "));
    lines.map(str::to_owned).collect()
}

fn expect_lines(output: &Output, expected: &[&str]) -> Tested {
    expect(
        lines(output) == expected,
        &format!("stderr must be {expected:?}"),
        output,
    )
}

/// The last line on stderr, as JSON.
fn report(output: &Output) -> Result<Value, Failed> {
    let all = lines(output);
    let last = all.last().ok_or("nothing on stderr")?;
    serde_json::from_str(last).map_err(|error| format!("{last}: {error}").into())
}

fn values(device: &str) -> Tested {
    let output = call(device, &[], "values", &[]);
    let expected = format!(
        "{}, {}, {}, {}, {}, {}, {}, {}, {}",
        -1i32,
        u32::MAX,
        -1i64,
        u64::MAX,
        0.1f32,
        f64::NAN,
        true,
        false,
        'é'
    );
    expect_lines(&output, &[&expected])?;
    expect(
        output.status.success() && output.stdout.is_empty(),
        "it must succeed",
        &output,
    )
}

/// Each message is one line, whole and in its thread's order, whether it takes one record or many.
fn whole(device: &str, threads: u32, each: u32, length: usize) -> Tested {
    let (count, behind) = (each.to_string(), length.to_string());
    let output = call(
        device,
        &["--threads", &threads.to_string()],
        "messages",
        &[&count, &behind],
    );
    expect(output.status.success(), "it must succeed", &output)?;
    let behind = "x".repeat(length);
    let mut next = HashMap::new();
    for line in lines(&output) {
        let parts = line
            .strip_prefix("message ")
            .and_then(|rest| rest.split_once(" of thread "));
        let (i, thread) = parts.ok_or_else(|| format!("torn: {line:?}"))?;
        let thread = thread.strip_suffix(&behind).ok_or_else(|| format!("torn: {line:?}"))?;
        let (i, thread): (u32, u32) = (i.parse()?, thread.parse()?);
        let expected = next.entry(thread).or_insert(0);
        if i != *expected {
            return Err(format!("message {i} of thread {thread} in place of {expected}").into());
        }
        *expected += 1;
    }
    let all = (0..threads).all(|thread| next.get(&thread) == Some(&each));
    match all && next.len() == threads as usize {
        true => Ok(()),
        false => Err(format!("messages of {} threads", next.len()).into()),
    }
}

fn levels(device: &str) -> Tested {
    let all = [
        "[DEBUG src/debug.rs:40] 0",
        "[INFO src/debug.rs:41] 0",
        "[WARN src/debug.rs:42] 0",
        "[ERROR src/debug.rs:43] 0",
        "message",
    ];
    expect_lines(&call(device, &[], "levels", &[]), &all)?;
    for (level, first) in [("debug", 0), ("info", 1), ("warn", 2), ("error", 3)] {
        let last = if level == "debug" { 5 } else { 4 };
        let output = call(device, &["--debug-level", level], "levels", &[]);
        expect_lines(&output, &all[first..last])?;
    }
    Ok(())
}

fn threads(device: &str) -> Tested {
    for (filter, expected) in [
        ("thread=3", &[3][..]),
        ("thread=1,40-42", &[1, 40, 41, 42]),
        ("thread=99", &[]),
    ] {
        let options = ["--threads", "64", "--debug-only", filter];
        let output = call(device, &options, "messages", &["1", "0"]);
        let mut found = lines(&output);
        found.sort();
        let mut wanted: Vec<_> = expected.iter().map(|i| format!("message 0 of thread {i}")).collect();
        wanted.sort();
        expect(found == wanted, &format!("{filter}: {wanted:?}"), &output)?;
    }
    let output = call(device, &["--debug-only", "3"], "messages", &["1", "0"]);
    expect(
        output.status.code() == Some(2) && text(&output.stderr).contains("thread=N"),
        "another filter must be refused",
        &output,
    )
}

fn prefix(device: &str) -> Tested {
    let output = call(device, &["--threads", "5", "--debug-prefix"], "messages", &["1", "0"]);
    let mut found = lines(&output);
    found.sort();
    let wanted: Vec<_> = (0..5)
        .map(|i| format!("[thread {i}] message 0 of thread {i}"))
        .collect();
    expect(found == wanted, &format!("{wanted:?}"), &output)
}

fn parts(device: &str) -> Tested {
    let output = call(device, &[], "parts", &[]);
    expect(text(&output.stderr) == "message message \n", "one line", &output)
}

fn json_lines(device: &str) -> Tested {
    let output = call(device, &["--debug-json"], "levels", &[]);
    let found: Result<Vec<Value>, _> = lines(&output).iter().map(|line| serde_json::from_str(line)).collect();
    let found = found?;
    let wanted: Vec<Value> = ["debug", "info", "warn", "error"]
        .iter()
        .zip(40..)
        .map(|(level, line)| {
            serde_json::json!({ "thread": 0, "level": level, "file": "src/debug.rs", "line": line, "text": "0" })
        })
        .chain([serde_json::json!({ "thread": 0, "level": "debug", "text": "message" })])
        .collect();
    expect(found == wanted, &format!("{wanted:#?}"), &output)
}

/// What is printed and what is dropped are what was sent; and nothing is torn.
fn drop_counts(device: &str) -> Tested {
    let options = ["--threads", "64", "--debug-drop", "--stats=json"];
    let output = call(device, &options, "messages", &["2000", "150"]);
    let counts = stats(&output)?["debug"].clone();
    let found = lines(&output);
    let printed = found.iter().filter(|line| line.starts_with("message ")).count() as u64;
    let behind = "x".repeat(150);
    let torn = found
        .iter()
        .find(|line| line.starts_with("message ") != line.ends_with(&behind));
    // The last line are the statistics, the one before may tell of what was dropped.
    if let Some(torn) = torn.filter(|line| !line.starts_with('{') && !line.starts_with("warning: ")) {
        return Err(format!("torn: {torn:?}").into());
    }
    expect(
        counts["messages"] == printed,
        "the count is of what was printed",
        &output,
    )?;
    let dropped = counts["dropped"].as_u64().ok_or("a count")?;
    if printed + dropped != 64 * 2000 {
        return Err(format!("{printed} printed, {dropped} dropped").into());
    }
    let told = found
        .iter()
        .any(|line| line.contains(&format!("{dropped} debug messages were dropped")));
    expect(told == (dropped > 0), "it says how many were dropped", &output)
}

/// While stderr is not read the threads wait, and nothing is lost.
fn stalled_reader(device: &str) -> Tested {
    const COUNT: usize = 300_000;
    let mut command = gpu_run_on(device);
    command.args([
        "--threads",
        "4",
        "--invoke",
        "small",
        &wasm("wat", "debug"),
        &COUNT.to_string(),
    ]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut stderr = child.stderr.take().ok_or("it is piped")?;
    std::thread::sleep(Duration::from_millis(700));
    let running = child.try_wait()?.is_none();
    let mut all = String::new();
    stderr.read_to_string(&mut all)?;
    let status = child.wait()?;
    let found = all.lines().filter(|line| line.parse::<usize>().is_ok()).count();
    match running && status.success() && found == 4 * COUNT {
        true => Ok(()),
        false => Err(format!("{status}, {found} messages, running before they were read: {running}").into()),
    }
}

/// A reader that keeps the threads waiting, and then leaves: a program that prints to it is ended, one that only sends
/// messages goes on.
fn reader_leaves(device: &str) -> Tested {
    let (messages, lines) = (wasm("wat", "debug"), wasm("release", "containers"));
    for (args, prints) in [
        (&["--invoke", "small", &messages, "100000"][..], false),
        (&["--invoke", "chatter", &lines], true),
    ] {
        let mut command = gpu_run_on(device);
        command.args(["--threads", "4", "--timeout", "20s"]).args(args);
        let streams = match prints {
            true => (Stdio::piped(), Stdio::null()),
            false => (Stdio::null(), Stdio::piped()),
        };
        let mut child = command.stdout(streams.0).stderr(streams.1).spawn()?;
        let mut some = [0; 100];
        if let Some(stdout) = child.stdout.as_mut() {
            stdout.read_exact(&mut some)?;
        }
        if let Some(stderr) = child.stderr.as_mut() {
            stderr.read_exact(&mut some)?;
        }
        std::thread::sleep(Duration::from_millis(300));
        let running = child.try_wait()?.is_none();
        drop((child.stdout.take(), child.stderr.take()));
        let status = child.wait()?;
        if !running || !status.success() {
            return Err(format!("{args:?} ended with {status}, running before: {running}").into());
        }
    }
    Ok(())
}

/// However the process ends, what its threads said before is shown, the beginning of a message too.
fn ends(device: &str) -> Tested {
    for (how, code) in [("0", 134), ("1", 7), ("2", 101), ("3", 124)] {
        let output = call(device, &["--threads", "4", "--timeout", "500ms"], "ends", &[how, "2"]);
        expect(
            output.status.code() == Some(code),
            &format!("exit code {code}"),
            &output,
        )?;
        let found = lines(&output);
        let own = found.iter().position(|line| line == "message 0 of thread 2");
        let begun = found.iter().position(|line| line == "2");
        let report = found
            .iter()
            .position(|line| line.starts_with("error: "))
            .unwrap_or(found.len());
        match (own, begun) {
            (Some(own), Some(begun)) if own < begun && begun < report => {}
            _ => return fail("the thread's messages must come, in order, before the report", &output),
        }
        expect(report == found.len() || matches!(how, "0" | "3"), "a report", &output)?;
    }
    Ok(())
}

fn no_debug(device: &str) -> Tested {
    for name in ["values", "levels", "parts"] {
        let output = call(device, &["--no-debug"], name, &[]);
        expect(
            output.status.success() && output.stderr.is_empty(),
            "nothing must be said",
            &output,
        )?;
    }
    Ok(())
}

/// A program can ask what is wanted.
fn wanted(device: &str) -> Tested {
    for (options, bits) in [
        (&[][..], "31"),
        (&["--debug-level", "info"], "30"),
        (&["--debug-level", "error"], "24"),
        (&["--debug-only", "thread=1-9"], "0"),
        (&["--no-debug"], "0"),
    ] {
        let output = call(device, options, "wanted", &[]);
        let found = text(&output.stdout);
        expect(found.trim() == bits, &format!("{options:?}: {bits}"), &output)?;
    }
    Ok(())
}

/// What a thread prints and the messages that it sends come in its order.
fn by_turns(device: &str) -> Tested {
    const COUNT: usize = 3000;
    let output = call(device, &[], "by_turns", &[&COUNT.to_string()]);
    let line = |i: usize| match i % 2 {
        0 => "src/debug.rs".to_owned(),
        _ => (i / 2).to_string(),
    };
    let found = lines(&output);
    let wrong = (0..2 * COUNT).find(|i| found.get(*i) != Some(&line(*i)));
    match wrong {
        None => expect(found.len() == 2 * COUNT, "no more", &output),
        Some(i) => Err(format!("line {i} is {:?}, not {:?}", found.get(i), line(i)).into()),
    }
}

fn outside(device: &str) -> Tested {
    let output = call(device, &[], "outside", &[]);
    expect(
        output.status.code() == Some(134) && text(&output.stderr).contains("out of bounds memory access"),
        "it must trap",
        &output,
    )
}

fn report_trap(device: &str) -> Tested {
    let json = ["--report", "json"];
    let output = call(device, &json, "ends", &["0", "0"]);
    let object = report(&output)?;
    expect(output.status.code() == Some(134), "exit code 134", &output)?;
    expect(
        !text(&output.stderr).contains("error: "),
        "one report is enough",
        &output,
    )?;
    for (key, value) in [
        ("kind", Value::from("trap")),
        ("trap", "Unreachable".into()),
        ("message", "unreachable".into()),
        ("exit_code", 134.into()),
        ("thread", 0.into()),
        ("faults", 1.into()),
        ("function", "ends".into()),
        ("omitted_frames", 0.into()),
    ] {
        expect(object[key] == value, &format!("{key} must be {value}"), &output)?;
    }
    expect(
        object["wasm_offset"].is_u64() && object["backtrace"][0]["wasm_offset"] == object["wasm_offset"],
        "the place",
        &output,
    )?;
    expect(object["heap"]["live"] == 0, "the heap", &output)?;
    // Parameters come first: `how` and `who`.
    let registers = object["registers"].as_array();
    match device {
        "ptx" | "emulator" => expect(object["registers"].is_null(), "compiled code has none", &output),
        _ => expect(
            registers.is_some_and(|all| all.len() >= 2 && all[..2] == [Value::from(0), Value::from(0)]),
            "the registers",
            &output,
        ),
    }
}

/// The panic's message and place, and the calls with those that were inlined.
fn report_panic(device: &str) -> Tested {
    let output = run_on(device, ["--report", "json", &wasm("dwarf", "panic_bounds")]);
    let object = report(&output)?;
    expect(output.status.code() == Some(101), "exit code 101", &output)?;
    for (key, value) in [
        ("kind", Value::from("panic")),
        ("exit_code", 101.into()),
        ("file", "rust/panic_bounds/src/main.rs".into()),
        ("line", 7.into()),
        ("thread", 0.into()),
        ("function", "panic_bounds::lookup".into()),
    ] {
        let found = &object[key];
        let holds = match (found.as_str(), value.as_str()) {
            (Some(found), Some(value)) => found.ends_with(value),
            _ => *found == value,
        };
        expect(holds, &format!("{key} must be {value}"), &output)?;
    }
    expect(
        object["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("index out of bounds: ")),
        "the message that was printed",
        &output,
    )?;
    let frames = object["backtrace"].as_array().ok_or("a backtrace")?;
    for function in ["panic_bounds::lookup", "total", "panic_bounds::main"] {
        let found = frames
            .iter()
            .any(|frame| frame["function"] == function && frame["line"].is_u64());
        expect(found, &format!("a frame of {function} with its line"), &output)?;
    }
    Ok(())
}

/// A panic in a panic hook, or while a panic's message is formatted, says so and aborts.
fn panic_aborts(device: &str) -> Tested {
    const SAID: &str = "\nthread panicked while processing panic. aborting.\n";
    for (name, line) in [("panic_in_hook", 9), ("panic_in_panic", 10)] {
        let module = wasm("release", name);
        let output = run_on(device, [&module]);
        let place = format!("panicked at rust/{name}/src/main.rs:{line}:36:\n");
        let stderr = text(&output.stderr);
        expect(output.status.code() == Some(134), "exit code 134", &output)?;
        expect(
            stderr.starts_with(&place) && stderr.contains(SAID),
            &format!("{place:?}, and that it aborts"),
            &output,
        )?;
        let output = run_on(device, ["--report", "json", &module]);
        let object = report(&output)?;
        expect(
            object["kind"] == "trap" && object["exit_code"] == 134 && object["line"] == line,
            "the trap, and the line of the panic",
            &output,
        )?;
        expect(
            object["panic"]
                .as_str()
                .is_some_and(|text| text.contains("panicked while processing panic")),
            "what the panic said",
            &output,
        )?;
    }
    Ok(())
}

fn report_others(device: &str) -> Tested {
    for (how, kind, code) in [("1", "exit", 7), ("3", "timeout", 124)] {
        let options = ["--report", "json", "--timeout", "500ms"];
        let output = call(device, &options, "ends", &[how, "0"]);
        let object = report(&output)?;
        expect(
            object["kind"] == kind && object["exit_code"] == code && output.status.code() == Some(code),
            &format!("{kind} with exit code {code}"),
            &output,
        )?;
    }
    // A run that ends well needs no report.
    let output = call(device, &["--report", "json"], "values", &[]);
    expect(lines(&output).len() == 1, "no report", &output)?;
    let output = call(device, &["--report", "json"], "missing", &[]);
    let object = report(&output)?;
    expect(
        object["kind"] == "error" && object["exit_code"] == 2,
        "an error",
        &output,
    )
}

/// What the runtime says of itself is chosen by `-v` and the environment.
fn log_filter(device: &str) -> Tested {
    let module = wasm("wat", "fib");
    let run = |options: &[&str], filter: Option<&str>| {
        let mut command = gpu_run_on(device);
        command
            .env_remove("GPU_RUN_LOG")
            .envs(filter.map(|filter| ("GPU_RUN_LOG", filter)));
        command.args(options).args(["--invoke", "fib", &module, "5"]).output()
    };
    let silent = run(&[], None)?;
    expect(silent.stderr.is_empty(), "nothing to say", &silent)?;
    for (options, filter) in [(&["-v"][..], None), (&[], Some("info"))] {
        let output = run(options, filter)?;
        let stderr = text(&output.stderr);
        expect(
            stderr.contains("gpu-run: engine: ") && stderr.lines().all(|line| line.starts_with("gpu-run: ")),
            "what is done",
            &output,
        )?;
    }
    let output = run(&[], Some("gpu_run_vm=debug"))?;
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("a run begins") && !stderr.contains("engine: "),
        "only what the crate says",
        &output,
    )?;
    let output = run(&[], Some("gpu_run=loud"))?;
    expect(
        output.status.code() == Some(2) && text(&output.stderr).contains("GPU_RUN_LOG=gpu_run=loud is no filter"),
        "a filter that makes no sense must be refused",
        &output,
    )
}

/// The thread that faults is named, among as many as a GPU has under way.
fn one_of_many(device: &str) -> Tested {
    let options = ["--threads", "10240", "--report", "json", "--debug-only", "thread=7777"];
    let output = call(device, &options, "ends", &["0", "7777"]);
    let object = report(&output)?;
    expect(
        object["thread"] == 7777 && object["faults"] == 1 && object["function"] == "ends",
        "thread 7777 faulted, and no other",
        &output,
    )?;
    expect(lines(&output)[0] == "message 0 of thread 7777", "its message", &output)
}

/// The first is reported, all are counted.
fn all_fault(device: &str) -> Tested {
    let output = call(device, &["--threads", "64", "--report", "json"], "all_fault", &[]);
    let object = report(&output)?;
    let (faults, thread) = (object["faults"].as_u64(), object["thread"].as_u64());
    expect(
        faults.is_some_and(|count| (1..=64).contains(&count)) && thread.is_some_and(|thread| thread < 64),
        "between 1 and 64 threads",
        &output,
    )?;
    let output = call(device, &["--threads", "64"], "all_fault", &[]);
    expect(
        text(&output.stderr).matches("error: ").count() == 1,
        "one report",
        &output,
    )
}
