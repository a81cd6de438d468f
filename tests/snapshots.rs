//! What each stage makes of small programs. A snapshot shows source and result together, so that the
//! compiler can be learned from them. After a change that is meant: `INSTA_UPDATE=always cargo test`.

use std::path::{Path, PathBuf};

use gpu_run_bytecode::disassemble;
use gpu_run_translator::{BrTables, Module, Options, run_passes, translate};
use gpu_run_vm::ptx;
use wasmparser::Operator;

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
fn no_debug() {
    for (name, source) in sources("debug") {
        let options = Options {
            no_debug: true,
            ..Options::default()
        };
        let program = translate(&assemble(&source), &options).expect("it translates").program;
        let left = gpu_run_bytecode::code::instructions(&program.code);
        let left = left.filter(|(_, inst)| inst.as_ref().is_ok_and(|inst| inst.op.is_debug()));
        assert_eq!(left.count(), 0, "debug instructions in {name}");
        check("debug", &name, &source, &disassemble(&program));
    }
}

/// What the PTX compiler makes of the functions that a module exports, without what every module has.
#[test]
fn ptx() {
    for (name, source) in sources("ptx") {
        let program = translate(&assemble(&source), &Options::default())
            .expect("it translates")
            .program;
        let unit = ptx::Unit {
            program: &program,
            prefix: String::new(),
            code_start: 0,
            entries: Vec::new(),
            options: ptx::Options {
                exports: true,
                comments: true,
                ..ptx::Options::default()
            },
        };
        let text = ptx::compile(&unit).text;
        let body = text.split_once("instance[").expect("the image is declared").1;
        let body = body.split_once('\n').expect("a line").1.trim();
        check("ptx", &name, &source, body);
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

/// A fixture's module after rewriting and, if wanted, inlining.
fn mandelbrot<R>(profile: &str, inlined: bool, look: impl FnOnce(&Module<'_>) -> R) -> R {
    let path = tests().join(format!("../fixtures/wasm/{profile}/mandelbrot.wasm"));
    let bytes = std::fs::read(path).expect("the fixture is committed");
    let mut options = Options::full();
    if !inlined {
        options.inline = None;
    }
    let tables = BrTables::default();
    look(&run_passes(&bytes, &tables, &options).expect("it passes").module)
}

/// Index among the defined functions of the function with this name.
fn function(module: &Module<'_>, name: &str) -> usize {
    let first = module.imported_funcs.len();
    (0..module.funcs.len())
        .find(|i| module.func_display_name((first + i) as u32) == name)
        .unwrap_or_else(|| panic!("no function `{name}`"))
}

/// The instructions of each innermost loop of a function: from `loop` to its `end`.
fn innermost_loops<'m>(module: &'m Module<'_>, name: &str) -> Vec<Vec<Operator<'m>>> {
    let body: Vec<_> = module.funcs[function(module, name)]
        .instrs()
        .map(|instr| instr.op)
        .collect();
    let mut open = Vec::new();
    let mut loops = Vec::new();
    for (at, op) in body.iter().enumerate() {
        match op {
            Operator::Loop { .. } => {
                // What is around it is not innermost.
                open.iter_mut().for_each(|(_, innermost)| *innermost = false);
                open.push((at, true));
            }
            Operator::Block { .. } | Operator::If { .. } => open.push((at, false)),
            Operator::End => {
                if let Some((start, true)) = open.pop() {
                    loops.push(body[start..=at].to_vec());
                }
            }
            _ => {}
        }
    }
    loops
}

/// The innermost loops that compute: `z = z * z + c`.
fn hot_loops<'m>(module: &'m Module<'_>, name: &str) -> Vec<Vec<Operator<'m>>> {
    let multiplies = |op: &Operator<'_>| matches!(op, Operator::F32Mul | Operator::F64Mul);
    let mut loops = innermost_loops(module, name);
    loops.retain(|body| body.iter().any(multiplies));
    loops
}

fn calls(body: &[Operator<'_>]) -> usize {
    let is_call = |op: &&Operator<'_>| matches!(op, Operator::Call { .. } | Operator::CallIndirect { .. });
    body.iter().filter(is_call).count()
}

/// The functions of the mandelbrot fixture that hold its hot loops: rustc inlines all of it in a
/// release build, and nothing in a debug build, which is ours to do.
const HOT: [(&str, &str); 2] = [("release", "mandelbrot::main"), ("debug", "mandelbrot::escape::<f32>")];

#[test]
fn mandelbrot_has_no_calls_in_its_hot_loops() {
    // A debug build calls `norm`, `mul` and `add`.
    let name = HOT[1].1;
    let before = mandelbrot("debug", false, |module| {
        let loops = innermost_loops(module, name);
        loops.iter().map(|body| calls(body)).sum::<usize>()
    });
    assert_eq!(before, 3, "calls before inlining");
    for (profile, name) in HOT {
        mandelbrot(profile, true, |module| {
            let loops = hot_loops(module, name);
            assert!(!loops.is_empty(), "{profile}: a loop in `{name}` multiplies");
            for body in loops {
                assert_eq!(calls(&body), 0, "{profile}: {body:#?}");
            }
        });
    }
}

/// As above, in the bytecode: no call between a branch back and its target.
#[test]
fn mandelbrot_has_no_calls_in_its_lowered_loops() {
    for (profile, name) in HOT {
        let program = mandelbrot(profile, true, |module| {
            gpu_run_translator::lower(module).expect("it lowers")
        });
        let text = disassemble(&program);
        let code = text.split("\n\n").find(|part| {
            let head = part.trim_start().lines().next().unwrap_or_default();
            head.starts_with("func ") && head.contains(&format!(" {name} "))
        });
        let lines: Vec<(u32, &str)> = code.expect("the function is there").lines().filter_map(word).collect();
        let back = lines.iter().filter_map(|(pc, line)| {
            let target = line.split('@').nth(1)?.split([',', ' ']).next()?.parse().ok()?;
            (target <= *pc).then_some((target, *pc))
        });
        let back: Vec<(u32, u32)> = back.collect();
        let innermost =
            |(from, to): &(u32, u32)| !back.iter().any(|(f, t)| (f, t) != (from, to) && f >= from && t <= to);
        let mut hot = 0;
        for (from, to) in back.iter().filter(|pair| innermost(pair)) {
            let body: Vec<&str> = lines
                .iter()
                .filter(|(pc, _)| (from..=to).contains(&pc))
                .map(|(_, line)| *line)
                .collect();
            if body.iter().any(|line| line.contains(".mul")) {
                hot += 1;
                assert!(
                    !body.iter().any(|line| line.starts_with("call")),
                    "{profile}: {}",
                    body.join("\n")
                );
            }
        }
        assert!(hot > 0, "{profile}: a loop of `{name}` multiplies");
    }
}

/// Word index and instruction of a line of a disassembly.
fn word(line: &str) -> Option<(u32, &str)> {
    let (pc, instruction) = line.split_once(": ")?;
    Some((pc.trim().parse().ok()?, instruction))
}

/// The hot loop of a debug build, once `norm`, `mul` and `add` are part of it.
#[test]
fn mandelbrot_hot_loop() {
    let (profile, name) = HOT[1];
    mandelbrot(profile, true, |module| {
        let index = module.imported_funcs.len() + function(module, name);
        let mangled = &module.func_names[&(index as u32)];
        let text = wasmprinter::print_bytes(module.encode()).expect("it is a module");
        let body = text
            .lines()
            .skip_while(|line| !line.starts_with(&format!("  (func ${mangled} ")));
        let from_loop: Vec<&str> = body.skip_while(|line| !line.trim_start().starts_with("loop")).collect();
        let indent = from_loop[0].len() - from_loop[0].trim_start().len();
        let end = format!("{}end", " ".repeat(indent));
        let length = from_loop.iter().position(|line| *line == end).expect("the loop ends");
        let shown = from_loop[..=length]
            .iter()
            .map(|line| &line[indent..])
            .collect::<Vec<_>>()
            .join("\n");
        check(
            "inline",
            "mandelbrot",
            "fixtures/rust/mandelbrot, debug profile: the loop of `escape::<f32>`",
            &shown,
        );
    });
}
