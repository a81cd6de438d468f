//! The cache of compiled code: the command that shows and clears it, and what a run takes from it.

use std::path::Path;
use std::process::Output;

use libtest_mimic::Failed;

use crate::common::{self, text};
use crate::support::{EngineTest, Test, Tested, expect, expected, stats, wasm};

/// The tests, which need no engine.
pub fn general() -> Vec<Test> {
    vec![("cache/commands", cache_commands)]
}

/// Tests of the PTX engine.
pub fn of_ptx() -> Vec<EngineTest> {
    vec![
        ("cache", |_| code_is_cached()),
        ("interpreted_meanwhile", |_| interpreted_meanwhile()),
    ]
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
            "2 programs and 0 profiles, 14 B of at most 1.0 GiB",
        ] {
            let shown = text(&output.stdout).contains(part);
            expect(shown, &format!("it must show {part:?}"), &output)?;
        }
    }
    let output = cache(&["clear"], "1GiB")?;
    let removed = text(&output.stdout).trim() == "2 entries removed, 14 B";
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
