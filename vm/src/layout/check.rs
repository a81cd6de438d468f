//! Makes `kernel/generated/layout_check.h`, with which the C++ compiler compares the kernel's structures and constants
//! with those of [`super`].
//!
//! A stale file fails the test here, a kernel that differs from it does not compile. To change both sides, change them
//! and run `GPU_RUN_WRITE_LAYOUT=1 cargo test -p gpu-run-vm --lib layout`. With that variable the kernel is compiled
//! without the assertions, and the test writes the file.

use std::fmt::Write;
use std::path::Path;

use super::processes::PROCESS_TWINS;
use super::requests::REQUEST_TWINS;
use super::samples::SAMPLE_TWINS;
use super::{CONSTANTS, ENUMERATORS, TWINS};

/// `TMPFS_FLAG_SHIFT` as the kernel spells enumerators: `TMPFS_FlagShift`.
fn enumerator(name: &str) -> String {
    let (prefix, rest) = name.split_once('_').expect("an enumerator's name has a prefix");
    let camel = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    let words: String = rest.split('_').map(camel).collect();
    format!("{prefix}_{words}")
}

/// The text of the header.
fn header() -> String {
    let mut out = String::from(
        "// Made from vm/src/layout.rs; see vm/src/layout/check.rs. Do not edit.\n#pragma once\n\n#include \"compiled.h\"\n\n\
         #if !defined(GPU_RUN_LAYOUT_UNCHECKED)\nnamespace gpu_run {\n\n\
         #define CONSTANT(name, value) static_assert((u64)name == value, #name \" has another value in vm/src/layout.rs\")\n\
         #define SIZE(type, size) static_assert(sizeof(type) == size, #type \" has another size in vm/src/layout.rs\")\n\
         #define FIELD(type, field, offset, size) \\\n  \
         static_assert(__builtin_offsetof(type, field) == offset && sizeof(type::field) == size, \\\n                \
         #type \"::\" #field \" lies elsewhere in vm/src/layout.rs\")\n\n",
    );
    let spelled = ENUMERATORS.iter().map(|(name, value)| (enumerator(name), value));
    for (name, value) in CONSTANTS
        .iter()
        .map(|(name, value)| (name.to_string(), value))
        .chain(spelled)
    {
        _ = writeln!(out, "CONSTANT({name}, {value});");
    }
    for twin in TWINS
        .iter()
        .chain(REQUEST_TWINS)
        .chain(PROCESS_TWINS)
        .chain(SAMPLE_TWINS)
    {
        _ = writeln!(out, "\nSIZE({}, {});", twin.name, twin.size);
        for (field, offset, size) in twin.fields {
            _ = writeln!(out, "FIELD({}, {field}, {offset}, {size});", twin.name);
        }
    }
    out + "\n#undef CONSTANT\n#undef SIZE\n#undef FIELD\n\n}  // namespace gpu_run\n#endif\n"
}

/// A stale header would have the kernel compared with what this side no longer says.
#[test]
fn layout_check_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel/generated/layout_check.h");
    let text = header();
    if std::env::var_os("GPU_RUN_WRITE_LAYOUT").is_some() {
        std::fs::write(&path, &text).expect("the header can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "kernel/generated/layout_check.h is stale: run `GPU_RUN_WRITE_LAYOUT=1 cargo test -p gpu-run-vm --lib layout`"
    );
}
