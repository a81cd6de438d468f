//! What the kernel knows of WASI's functions, from the table of [`crate::wasi`].

use std::fmt::Write;

use crate::wasi::{
    EVENT, FILE_MODULE, FunctionInfo, HOST_MODULE, MODULE, NET_MODULE, PROCESS_MODULE, Param, SUBSCRIPTION, TABLE,
};

/// Bits of a parameter's kind, of which a function's are packed into a word; 0 is none.
const KIND_BITS: usize = 4;

/// A kind of parameter: its name in C++ and what the kernel has to know of it.
fn name(param: Param) -> String {
    match param {
        Param::Result { size, align } => format!("PARAM_Result{size}_{align}"),
        other => format!("PARAM_{other:?}"),
    }
}

/// The kinds of parameters that functions have. Those that differ in their wasm types or in their memory are
/// kinds of their own.
fn kinds() -> Vec<Param> {
    let mut kinds = Vec::new();
    for param in TABLE.iter().flat_map(|info| info.params) {
        if !kinds.contains(param) {
            kinds.push(*param);
        }
    }
    assert!(kinds.len() < 1 << KIND_BITS, "a kind fits its bits");
    kinds
}

/// A function's name in C++.
fn name_of(info: &FunctionInfo) -> String {
    match info.module {
        HOST_MODULE => format!("host_{}", info.name),
        FILE_MODULE => format!("file_{}", info.name),
        PROCESS_MODULE if !info.name.starts_with("pipe_") => format!("process_{}", info.name),
        _ => info.name.to_owned(),
    }
}

pub(super) fn header() -> String {
    let kinds = kinds();
    let number = |param: &Param| {
        1 + kinds
            .iter()
            .position(|kind| kind == param)
            .expect("a kind of the table")
    };
    let mut out = format!(
        "// Made from bytecode/src/wasi.rs by `cargo run -p gpu-run-bytecode --bin isa-gen`.\n#pragma once\n\n\
         namespace gpu_run {{\nnamespace wasi {{\n\n// Functions of {MODULE}, then those of {NET_MODULE}, {HOST_MODULE}, {PROCESS_MODULE} and {FILE_MODULE}.\nenum Function : u32 {{\n"
    );
    for info in TABLE {
        _ = writeln!(
            out,
            "  FN_{} = {},  // {}",
            name_of(info),
            info.function as u16,
            info.doc
        );
    }
    out += "};\n\n// What a parameter is, and what its pointer points to. 0 is none.\nenum Param : u32 {\n  PARAM_None = 0,\n";
    for param in &kinds {
        _ = writeln!(out, "  {} = {},", name(*param), number(param));
    }
    _ = writeln!(
        out,
        "}};\n\nconstexpr u32 PARAM_BITS = {KIND_BITS};\nconstexpr u32 SUBSCRIPTION_BYTES = {SUBSCRIPTION};\nconstexpr u32 EVENT_BYTES = {EVENT};\n"
    );
    out += "// The parameters of each function, the first one lowest.\nconstexpr u64 PARAMS[] = {\n";
    for info in TABLE {
        assert!(info.params.len() * KIND_BITS < 64, "there is a none behind the last");
        let packed = info.params.iter().enumerate().fold(0u64, |packed, (i, param)| {
            packed | (number(param) as u64) << (KIND_BITS * i)
        });
        _ = writeln!(out, "  {packed:#x},  // {}", name_of(info));
    }
    out += "};\n\n// Bytes and alignment of a result; 0 for other kinds.\nconstexpr u8 RESULT_BYTES[] = {0";
    let of_result = |param: &Param| match param {
        Param::Result { size, align } => (*size, *align),
        _ => (0, 0),
    };
    for param in &kinds {
        _ = write!(out, ", {}", of_result(param).0);
    }
    out += "};\nconstexpr u8 RESULT_ALIGN[] = {0";
    for param in &kinds {
        _ = write!(out, ", {}", of_result(param).1);
    }
    let most = TABLE
        .iter()
        .map(|info| info.function.param_types().len())
        .max()
        .unwrap_or(0);
    _ = write!(
        out,
        "}};\n\n// Most wasm arguments of a function.\nconstexpr u32 MOST_ARGUMENTS = {most};\n\n}}  // namespace wasi\n}}  // namespace gpu_run\n"
    );
    out
}
