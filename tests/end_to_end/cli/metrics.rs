//! `--metrics`: what a program does is told while it runs, and when it is over.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use super::profile::{folded, wat};
use crate::common::{gpu_run_plainly_on, run, text};
use crate::support::{EngineTest, Test, Tested, expect, fail, wasm};

/// The test that needs no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![("metrics/refuses", refuses), ("live/no_terminal", no_terminal)]
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("metrics/file", file),
        ("metrics/address", address),
        ("metrics/operations", operations),
    ]
}

/// The value of a metric.
fn value(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Counted operations are those that the profile has in the end.
fn operations(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let (metrics, profile) = (folder.path().join("run.prom"), folder.path().join("p.folded"));
    let mut command = gpu_run_plainly_on(device);
    command
        .args([
            "--profile-mode",
            "count",
            "--threads",
            "100",
            "--no-inline",
            "--invoke",
            "shares",
        ])
        .arg("--profile")
        .arg(&profile)
        .arg("--metrics")
        .arg(&metrics)
        .arg(wat("shares.wat"))
        .args(["3", "20"]);
    let output = command.output()?;
    expect(output.status.success(), "it must run", &output)?;
    let all: u64 = folded(&profile)?.values().sum();
    let told = std::fs::read_to_string(&metrics)?;
    match value(&told, "gpu_run_operations_total{") == Some(all as f64) {
        true => Ok(()),
        false => fail(format!("{all} operations must be in\n{told}"), &output),
    }
}

/// What a run has done in all.
fn file(device: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.prom");
    let mut command = gpu_run_plainly_on(device);
    command.args(["--stats=json", "--metrics"]).arg(&path);
    let output = command.arg(wasm("release", "collections")).output()?;
    expect(output.status.success(), "it must run", &output)?;
    let told = std::fs::read_to_string(&path)?;
    let stderr = text(&output.stderr);
    let stats: serde_json::Value = serde_json::from_str(stderr.lines().last().unwrap_or_default())?;
    let blocks = stats["heap"]["allocated"]
        .as_f64()
        .ok_or("the statistics have blocks")?;
    for (name, wanted) in [
        ("gpu_run_running{", 0.0),
        ("gpu_run_heap_blocks_total{", blocks),
        (
            "gpu_run_threads_state{module=\"collections.wasm\",state=\"ended\"}",
            1.0,
        ),
        ("gpu_run_threads{module=\"collections.wasm\"}", 1.0),
        (
            "gpu_run_written_bytes_total{module=\"collections.wasm\",stream=\"stdout\"}",
            output.stdout.len() as f64,
        ),
    ] {
        if value(&told, name) != Some(wanted) {
            return fail(format!("{name} must be {wanted} in\n{told}"), &output);
        }
    }
    for name in ["gpu_run_time_seconds{", "gpu_run_heap_used_bytes{"] {
        if value(&told, name).is_none_or(|value| value <= 0.0) {
            return fail(format!("{name} must be more than 0 in\n{told}"), &output);
        }
    }
    expect(told.ends_with("# EOF\n"), "all of it is there", &output)
}

/// A program that never ends, asked at the address that it has.
fn address(device: &str) -> Tested {
    let mut child = gpu_run_plainly_on(device)
        .args(["-v", "--timeout", "60s", "--metrics", "127.0.0.1:0"])
        .arg(wasm("release", "infinite_loop"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let asked = ask(&mut child);
    child.kill()?;
    child.wait()?;
    let found = asked?;
    if value(&found, "gpu_run_running{") != Some(1.0) || value(&found, "gpu_run_time_seconds{") <= Some(0.0) {
        return Err(format!("it must run in\n{found}").into());
    }
    for name in [
        "gpu_run_lanes_busy{",
        "gpu_run_threads_state{module=\"infinite_loop.wasm\",state=\"running\"}",
    ] {
        if value(&found, name) != Some(1.0) {
            return Err(format!("{name} must be 1 in\n{found}").into());
        }
    }
    Ok(())
}

/// The metrics of a process, which tells their address on stderr, once it has begun to run.
fn ask(child: &mut Child) -> Result<String, Failed> {
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let mut lines = BufReader::new(stderr).lines();
    let at = loop {
        let line = lines.next().ok_or("it tells no address")??;
        if let Some((_, rest)) = line.split_once("http://") {
            break rest.split('/').next().unwrap_or_default().to_owned();
        }
    };
    // What it says later must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let deadline = Instant::now() + Duration::from_secs(50);
    // How long it has run when it was asked before: it is looked at again and again.
    let mut before = None;
    loop {
        let mut stream = TcpStream::connect(&at)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if Instant::now() > deadline {
            return Err(format!("no look comes after another:\n{answer}").into());
        }
        if value(&answer, "gpu_run_running{") == Some(1.0) {
            let time = value(&answer, "gpu_run_time_seconds{");
            if time > *before.get_or_insert(time) {
                return Ok(answer);
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn refuses() -> Tested {
    let module = wasm("release", "hello");
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let taken = taken.local_addr()?.to_string();
    for (place, part) in [
        ("no/such/folder/run.prom", "cannot write the file of --metrics"),
        (&*taken, "cannot listen at"),
        ("127.0.0.1:99999", "is no port"),
        ("9100", "an address stands before a port"),
    ] {
        let output = run(["--device", "cpu", "--metrics", place, &module]);
        let told = text(&output.stderr).contains(part) && output.stdout.is_empty();
        expect(
            output.status.code() == Some(2) && told,
            &format!("must say {part:?}"),
            &output,
        )?;
    }
    Ok(())
}

/// Where stderr is no terminal, `--live` shows nothing, and says so.
fn no_terminal() -> Tested {
    let module = crate::support::wasm("release", "hello");
    let plain = crate::common::run(["--device", "cpu", &module]);
    let output = crate::common::run(["--device", "cpu", "--live", &module]);
    let told = crate::common::text(&output.stderr).contains("--live shows nothing");
    expect(told && output.stdout == plain.stdout, "it must say so", &output)
}
