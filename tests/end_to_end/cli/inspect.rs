//! `gpu-run inspect`: patterns, recursion and frames, and what will not run.

use crate::common::{run, text};
use crate::support::{Test, Tested, expect, wasm};

/// The tests, which need no engine.
pub fn general() -> Vec<Test> {
    vec![
        ("inspect/frames", inspect_frames),
        ("inspect/patterns_and_recursion", inspect),
        ("inspect/what_will_not_run", inspect_refusals),
    ]
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
