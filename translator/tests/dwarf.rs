//! Lines from DWARF, sound and damaged.

use std::path::Path;

use gpu_run_bytecode::{Lines, SourceFrame};
use gpu_run_translator::{Dwarf, Options, translate};

fn fixture(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/wasm")
        .join(path);
    std::fs::read(path).expect("fixtures are checked in")
}

fn with_lines() -> Options {
    Options {
        lines: true,
        ..Options::full()
    }
}

/// Function and line of each frame.
fn shown(frames: &[SourceFrame]) -> Vec<String> {
    let frame = |frame: &SourceFrame| {
        let line = frame.line.as_ref().map_or_else(String::new, |line| line.to_string());
        format!("{} {line}", frame.function.as_deref().unwrap_or_default())
    };
    frames.iter().map(frame).collect()
}

#[test]
fn the_table_of_a_program_tells_what_dwarf_tells() {
    for path in ["c/lines.wasm", "dwarf/abort.wasm", "dwarf/panic_bounds.wasm"] {
        let bytes = fixture(path);
        let dwarf = Dwarf::find(&bytes).expect("the fixture has DWARF");
        let program = translate(&bytes, &with_lines()).expect("it translates").program;
        let table = program.lines.read().expect("it is sound");
        let offsets = program.source_map.iter().map(|place| place.offset);
        let calls = program.meta.inline_sites.iter().map(|site| site.call_offset);
        let mut known = 0;
        for offset in offsets.chain(calls).filter(|offset| *offset != u32::MAX) {
            let frames = dwarf.frames_at(offset);
            assert_eq!(table.frames_at(offset), frames, "{path}: offset {offset:#x}");
            known += usize::from(!frames.is_empty());
        }
        assert!(known > 10, "{path}: {known} offsets with lines");
    }
}

#[test]
fn inlined_functions_are_frames() {
    let bytes = fixture("c/lines.wasm");
    let dwarf = Dwarf::find(&bytes).expect("the fixture has DWARF");
    let program = translate(&bytes, &Options::full()).expect("it translates").program;
    let offsets = program.source_map.iter().map(|place| place.offset);
    let frames: Vec<_> = offsets.map(|offset| shown(&dwarf.frames_at(offset))).collect();
    let wanted = ["ratio fixtures/c/lines.c:4:14", "average fixtures/c/lines.c:10:12"];
    assert!(frames.iter().any(|frames| *frames == wanted), "{frames:#?}");
    assert!(program.lines.is_empty(), "nobody asked for lines");
}

#[test]
fn a_module_without_dwarf_has_no_lines() {
    let bytes = fixture("release/abort.wasm");
    assert!(Dwarf::find(&bytes).is_none());
    let program = translate(&bytes, &with_lines()).expect("it translates").program;
    assert!(program.lines.is_empty());
}

/// Whatever the sections hold, there is an answer, and it is sound.
#[test]
fn damaged_dwarf_is_no_error() {
    for (path, first, step) in [
        ("c/lines.wasm", ".debug_loc", 1),
        ("dwarf/abort.wasm", ".debug_abbrev", 3),
    ] {
        let good = fixture(path);
        let program = translate(&good, &Options::full()).expect("it translates").program;
        let sound = Dwarf::find(&good).expect("it has DWARF").table(&program);
        let mut differ = 0;
        for at in (find(&good, first)..find(&good, "producers")).step_by(step) {
            for bits in [0x01, 0x80, 0x55, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= bits;
                let table = Dwarf::find(&bad).map(|dwarf| dwarf.table(&program)).unwrap_or_default();
                Lines::new(&table).read().expect("what is made is sound");
                differ += u32::from(table != sound);
            }
        }
        assert!(differ > 100, "{path}: {differ} damages were seen");
    }
}

/// Damage to the DWARF of a module is no reason to refuse it.
#[test]
fn a_module_with_damaged_dwarf_translates() {
    let good = fixture("c/lines.wasm");
    let mut bad = good.clone();
    for section in [".debug_abbrev", ".debug_info", ".debug_line"] {
        let contents = find(&good, section) + section.len();
        bad[contents..contents + 24].fill(0xff);
    }
    let program = translate(&bad, &with_lines()).expect("it translates").program;
    assert_eq!(
        program.code,
        translate(&good, &Options::full()).expect("it does").program.code
    );
    assert!(program.lines.is_empty());
}

/// Offset of a custom section's name, which stands before its contents.
fn find(bytes: &[u8], name: &str) -> usize {
    let mut windows = bytes.windows(name.len());
    windows
        .position(|window| window == name.as_bytes())
        .expect("the section is there")
}
