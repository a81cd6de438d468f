//! `gpu-run translate`: programs that run as their modules do, and PTX.

use crate::common::{fixture, run, text};
use crate::faults::traps::LINES;
use crate::support::{Test, Tested, expect, expected, shows_in_order, wasm};

/// The tests, which need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("translate/program_runs_as_its_module", program_runs_as_its_module),
        ("translate/program_has_lines", program_has_lines),
        ("translate/stages_are_fast", translation_times_are_reported),
        ("translate/ptx", emits_ptx),
    ]
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

fn translation_times_are_reported() -> Tested {
    let output = run(["--device", "cpu", "--stats=json", &wasm("release", "hello")]);
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("\"translate_ms\""),
        "--stats must report the times of translation",
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
