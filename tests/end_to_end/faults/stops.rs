//! Runs that are stopped: by their time, by an interrupt, in the middle of long work.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;

use crate::common::{self, run_on, text};
use crate::programs::fixtures::program;
use crate::support::{Tested, Tests, bind, expect, run_ms, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = bind(
        device,
        [
            ("timeout", timeout as fn(&str) -> Tested),
            ("interrupt", interrupt),
            ("streams_while_running", streams),
        ],
    );
    for name in ["print", "open_record", "copy", "compare", "table"] {
        tests.push((format!("stops/{name}"), Box::new(move || stops(device, name))));
    }
    tests
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
        // The device's clock begins a little later than the timeout. Other tests may have the device for a while.
        (1990.0..30_000.0).contains(&run_ms),
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
