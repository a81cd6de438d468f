//! Streams that are closed, not read, or read slowly.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common;
use crate::support::{Test, Tested, wasm};

/// The tests, which need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("output/closed_by_reader", closed_by_reader),
        ("output/stalled_reader", stalled_reader),
        ("output/slow_reader", slow_reader),
    ]
}

/// Streams that are closed at the other end do not change how the command ends.
fn closed_by_reader() -> Tested {
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
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        drop((child.stdout.take(), child.stderr.take()));
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("{args:?} ended with {status}").into());
        }
    }
    Ok(())
}

/// A reader that does not take the output cannot keep a run from its end.
fn stalled_reader() -> Tested {
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

/// A slow reader gets all that was said before the end, and the report after it, though that takes longer than a
/// reader may pause.
fn slow_reader() -> Tested {
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
