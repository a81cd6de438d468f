//! What each stage makes of small programs. A snapshot shows source and result together, so that the
//! compiler can be learned from them. After a change that is meant: `INSTA_UPDATE=always cargo test`.

use std::path::{Path, PathBuf};

use gpu_run_bytecode::disassemble;
use gpu_run_translator::{BrTables, Options, run_passes, translate};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// The sources of a stage: name and text.
fn sources(stage: &str) -> Vec<(String, String)> {
    let dir = tests().join(stage);
    let files = std::fs::read_dir(&dir)
        .expect("the folder exists")
        .map(|file| file.expect("readable").path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "wat"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no sources in {}", dir.display());
    let named = files.into_iter().map(|path| {
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("readable"))
    });
    named.collect()
}

fn assemble(text: &str) -> Vec<u8> {
    let buffer = wast::parser::ParseBuffer::new(text).expect("the source is tokens");
    wast::parser::parse::<wast::Wat>(&buffer)
        .expect("the source is a module")
        .encode()
        .expect("it has a binary form")
}

fn check(stage: &str, name: &str, source: &str, result: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(tests().join(stage));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, format!("{source}\n---- {stage} ----\n\n{result}")));
}

#[test]
fn lower() {
    for (name, source) in sources("lower") {
        let translation = translate(&assemble(&source), &Options::default()).expect("it translates");
        check("lower", &name, &source, &disassemble(&translation.program));
    }
}

#[test]
fn inline() {
    for (name, source) in sources("inline") {
        let options = Options {
            rewrite: None,
            ..Options::full()
        };
        let bytes = assemble(&source);
        let tables = BrTables::default();
        let passed = run_passes(&bytes, &tables, &options).expect("it passes");
        let text = wasmprinter::print_bytes(passed.module.encode()).expect("it is a module");
        check("inline", &name, &source, &text);
    }
}

/// The functions of std that are rewritten in `hello`, as they are afterwards.
#[test]
fn rewrite() {
    let path = tests().join("../fixtures/wasm/release/hello.wasm");
    let bytes = std::fs::read(path).expect("the fixture is committed");
    let options = Options {
        inline: None,
        ..Options::full()
    };
    let tables = BrTables::default();
    let passed = run_passes(&bytes, &tables, &options).expect("it passes");
    let text = wasmprinter::print_bytes(passed.module.encode()).expect("it is a module");
    let mut shown = String::new();
    let mut showing = false;
    for line in text.lines() {
        if line.starts_with("  (") {
            let rewritten = ["_print", "gpu_run", "__rdl_", "default_alloc_error_hook"]
                .iter()
                .any(|name| line.contains(name));
            showing = rewritten && (line.starts_with("  (func") || line.starts_with("  (import"));
        }
        if showing {
            shown += line;
            shown.push('\n');
        }
    }
    check("rewrite", "hello", "fixtures/rust/hello", &shown);
}

/// The hot loop of the mandelbrot fixture calls nothing.
#[test]
fn mandelbrot_has_no_calls_in_its_loop() {
    let path = tests().join("../fixtures/wasm/release/mandelbrot.wasm");
    let bytes = std::fs::read(path).expect("the fixture is committed");
    let translation = translate(&bytes, &Options::full()).expect("it translates");
    let text = disassemble(&translation.program);
    // The innermost loop is the one with the multiplications of complex numbers.
    let lines: Vec<&str> = text.lines().collect();
    let multiplications: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains(": f64.mul")).collect();
    assert!(multiplications.len() >= 3, "the loop multiplies");
    for pair in multiplications.windows(2).filter(|pair| pair[1] - pair[0] < 12) {
        let between = &lines[pair[0]..pair[1]];
        assert!(
            between.iter().all(|line| !line.contains(": call")),
            "{}",
            between.join("\n")
        );
    }
}
