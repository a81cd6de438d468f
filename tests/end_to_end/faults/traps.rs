//! Traps, and what their messages and backtraces say.

use crate::common::{self, fixture, run_on, text};
use crate::support::{Tested, Tests, expect, shows_in_order, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    for (name, kind) in TRAPS {
        tests.push((
            format!("trap/{name}"),
            Box::new(move || trap(device, "traps", name, kind)),
        ));
    }
    for (module, name, kind) in ATOMIC_TRAPS {
        tests.push((
            format!("trap/{name}"),
            Box::new(move || trap(device, module, name, kind)),
        ));
    }
    for (module, args, code, places) in LINES {
        tests.push((
            format!("lines/{}", module.trim_end_matches(".wasm")),
            Box::new(move || lines(device, module, args, code, places)),
        ));
    }
    tests
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
/// this order. Functions that the compiler inlined are calls too.
pub const LINES: [(&str, &[&str], i32, &[&str]); 3] = [
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
