//! Lines of the user's sources.

use super::*;

/// The PTX of a fixture in C, with its lines or without.
fn of_fixture(line_info: bool) -> String {
    let wasm = include_bytes!("../../../../fixtures/wasm/c/profile.wasm");
    let options = gpu_run_translator::Options {
        lines: true,
        ..gpu_run_translator::Options::full()
    };
    let program = gpu_run_translator::translate(wasm, &options)
        .expect("it is valid")
        .program;
    let unit = Unit {
        entries: program
            .meta
            .exports
            .iter()
            .filter(|export| export.name == "shares")
            .map(|export| export.index)
            .collect(),
        program: &program,
        prefix: String::new(),
        code_start: 0,
        cold: Default::default(),
        options: Options {
            line_info,
            ..Options::default()
        },
    };
    compile(&unit).text
}

#[test]
fn instructions_have_the_lines_of_their_source() {
    let text = of_fixture(true);
    assert!(text.contains("\n.file 1 \"fixtures/c/profile.c\"\n"), "{text}");
    for line in [4, 9, 16, 17] {
        assert!(text.contains(&format!("\t.loc 1 {line} ")), "line {line}: {text}");
    }
    // Nothing else differs.
    let is_code = |line: &&str| !line.starts_with(".file") && !line.starts_with("\t.loc ");
    let plain = of_fixture(false);
    let code: Vec<&str> = text.lines().filter(is_code).collect();
    assert_eq!(code, plain.lines().collect::<Vec<_>>());
}
