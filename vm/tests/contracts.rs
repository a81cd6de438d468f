//! What host, kernel and compiled code have agreed on cannot drift apart unnoticed: each deliberate change here, made
//! on a copy, is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu_run_translator::translate;
use gpu_run_vm::ptx::runtime::signatures;
use gpu_run_vm::ptx::{Options, RUNTIME, Unit, compile};

fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel")
}

/// Copies the kernel's sources.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        let target = to.join(path.file_name().expect("it has a name"));
        match path.extension() {
            _ if path.is_dir() => copy(&path, &target),
            Some(_) => _ = std::fs::copy(&path, target).expect("a file can be copied"),
            None => {}
        }
    }
}

/// What the host's C++ compiler says of the kernel with `from` in `file` replaced by `to`; `Ok` if it takes it.
fn compiled_with(file: &str, from: &str, to: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    copy(&kernel(), folder.path());
    let path = folder.path().join(file);
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert_eq!(text.matches(from).count(), 1, "{from:?} in {file}");
    std::fs::write(&path, text.replace(from, to)).expect("the file can be written");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(compiler)
        .args(["-std=c++17", "-fsyntax-only", "-I."])
        .arg("kernel.cpp")
        .current_dir(folder.path())
        .output()
        .expect("there is a C++ compiler: it built the kernel");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn the_kernel_compiles_as_it_is() {
    assert_eq!(compiled_with("layout.h", "struct Launch {", "struct Launch {"), Ok(()));
}

/// Fields of one size, so that no other offset and no size changes.
#[test]
fn two_swapped_fields_are_refused_by_name() {
    for (file, first, second, names) in [
        (
            "layout.h",
            "  u32 depth;  // frames on the stack\n",
            "  u32 instance;\n",
            ["Thread::depth", "Thread::instance"],
        ),
        (
            "layout.h",
            "  u32 arg_units;\n",
            "  u32 result_units;\n",
            ["Launch::arg_units", "Launch::result_units"],
        ),
        (
            "compiled.h",
            "  u32 throw_pc;\n",
            "  u32 throw_depth;\n",
            ["Context::throw_pc", "Context::throw_depth"],
        ),
    ] {
        let from = format!("{first}{second}");
        let said = compiled_with(file, &from, &format!("{second}{first}")).expect_err("the fields are swapped");
        for name in names {
            assert!(said.contains(&format!("{name} lies elsewhere")), "{name}: {said}");
        }
    }
}

#[test]
fn a_changed_constant_is_refused_by_name() {
    for (header, from, to, name) in [
        ("layout.h", "CALL_SEGMENT = 4;", "CALL_SEGMENT = 5;", "CALL_SEGMENT"),
        ("layout.h", "END_Exit = 2,", "END_Exit = 4,", "END_Exit"),
        (
            "rpc/layout.h",
            "TMPFS_FlagShift = 24;",
            "TMPFS_FlagShift = 25;",
            "TMPFS_FlagShift",
        ),
    ] {
        let said = compiled_with(header, from, to).expect_err("the value is another one");
        assert!(said.contains(&format!("{name} has another value")), "{name}: {said}");
    }
}

/// The constants that `kernel/layout.h` and the part of it in `kernel/rpc` name, in Rust's spelling: `END_Exit` is `END_EXIT`.
fn kernel_constants() -> BTreeSet<String> {
    let read = |header: &str| std::fs::read_to_string(kernel().join(header)).expect("the header is there");
    let text = read("layout.h") + &read("rpc/layout.h");
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let words = line
            .trim_start()
            .trim_start_matches("constexpr u32 ")
            .trim_start_matches("constexpr u8 ");
        let Some((name, _)) = words.split_once(" = ") else {
            continue;
        };
        let is_name = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains(' ');
        if is_name(name) && !line.starts_with("    ") {
            let (prefix, rest) = name.split_once('_').unwrap_or((name, ""));
            let mut upper = prefix.to_owned();
            for (i, c) in rest.char_indices() {
                let new_word = i == 0 || c.is_uppercase() && rest.as_bytes()[i - 1].is_ascii_lowercase();
                upper.extend(new_word.then_some('_'));
                upper.push(c.to_ascii_uppercase());
            }
            names.insert(upper);
        }
    }
    names
}

/// All that the host knows of the kernel's constants is in `layout.rs`, where the kernel's assertions come from.
#[test]
fn no_other_file_declares_a_constant_of_the_kernel() {
    let names = kernel_constants();
    assert!(
        names.contains("SEGMENT") && names.contains("END_EXIT") && names.contains("TMPFS_FLAG_SHIFT"),
        "{names:?}"
    );
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("layout.rs") {
                let text = std::fs::read_to_string(&path).expect("the file can be read");
                // At the start of a line: a constant of a module, not of a function or type.
                let declared = text.lines().filter_map(|line| {
                    let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
                    line.trim_start_matches("pub ")
                        .strip_prefix("const ")?
                        .split(':')
                        .next()
                });
                for name in declared {
                    assert!(!names.contains(name), "{name} is in {} too", path.display());
                }
            }
        }
    }
}

/// A module whose compiled code calls every function of the runtime.
const CALLS_ALL: &str = r#"(module
  (import "gpu_run_v1" "exit" (func $exit (param i32)))
  (import "gpu_run_v1" "memcmp" (func $memcmp (param i32 i32 i32) (result i32)))
  (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
  (import "gpu_run_v1" "dealloc" (func $dealloc (param i32 i32 i32)))
  (import "gpu_run_v1" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import "gpu_run_v1" "print" (func $print (param i32 i32 i32)))
  (import "gpu_run_v1" "meet" (func $meet (result i32)))
  (import "gpu_run_v1" "print_end" (func $print_end (param i32)))
  (import "gpu_run_v1" "dbg_i32" (func $dbg_i32 (param i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "gpu_run_v1" "thread_spawn" (func $spawn (param i32) (result i32)))
  (memory (export "memory") 1 16 shared)
  (table 1 16 funcref)
  (tag $tag (param i32))
  (func (export "wasi_thread_start") (param i32 i32))
  (func $thrower (param i32) (throw $tag (local.get 0)))
  (func (export "f") (param $a i32) (param $b i32) (param $n i32) (result i32)
    (local $e exnref)
    (memory.copy (local.get $a) (local.get $b) (local.get $n))
    (memory.fill (local.get $a) (local.get $b) (local.get $n))
    (drop (call $memcmp (local.get $a) (local.get $b) (local.get $n)))
    (local.set $a (call $alloc (local.get $n) (local.get $b)))
    (local.set $a (call $realloc (local.get $a) (local.get $n) (i32.const 8) (local.get $b)))
    (call $dealloc (local.get $a) (local.get $b) (i32.const 8))
    (call $print (i32.const 1) (local.get $a) (local.get $n))
    (drop (call $meet)) (call $print_end (i32.const 1))
    (call $dbg_i32 (local.get $a))
    (drop (call $fd_close (local.get $a)))
    (drop (call $spawn (local.get $a)))
    (drop (table.grow (ref.null func) (local.get $n)))
    (loop $again
      (i32.store (local.get $a) (i32.load (local.get $b)))
      (br_if $again (local.tee $n (i32.shr_u (local.get $n) (i32.load (local.get $a))))))
    (block $caught (result exnref)
      (try_table (catch_all_ref $caught) (call $thrower (local.get $a)))
      (return (i32.const 0)))
    (local.set $e)
    (if (local.get $a) (then (call $exit (local.get $b))))
    (if (local.get $b) (then (unreachable)))
    (throw_ref (local.get $e)))
  (func (export "steps") (param $a i32) (param $b i32)
    (loop $again
      (if (local.get $a) (then ;; copies
      ))
      (if (local.get $b) (then ;; copies
      ))
      (br_if $again (local.tee $a (i32.sub (local.get $a) (i32.const 1))))))
)"#;

/// What takes the place of the copies: so much that warps step together.
const COPY: &str = "(memory.copy (local.get $a) (local.get $b) (local.get $a))";

/// A call in compiled code: the function, the types of its arguments and of its result.
struct Call {
    name: String,
    arguments: Vec<String>,
    result: Option<String>,
}

/// The calls of the runtime in a text of the compiler: `.param` declarations in braces, then the call.
fn calls(text: &str) -> Vec<Call> {
    let (mut found, mut params) = (Vec::new(), Vec::new());
    let mut result = None;
    for line in text.lines().map(str::trim) {
        if line == "{" {
            (params, result) = (Vec::new(), None);
        } else if let Some(declared) = line.strip_prefix(".param .") {
            match declared.trim_end_matches(';').split_once(' ') {
                Some((ty, "result")) => result = Some(ty.to_owned()),
                Some((ty, _)) => params.push(ty.to_owned()),
                None => {}
            }
        } else if let Some(call) = line.strip_prefix("call ") {
            let name = call
                .trim_start_matches("(result), ")
                .split(',')
                .next()
                .unwrap_or_default();
            if name.starts_with("gpu_run_") {
                found.push(Call {
                    name: name.to_owned(),
                    arguments: params.clone(),
                    result: result.clone(),
                });
            }
        }
    }
    found
}

/// Whether all calls that the compiler writes are of functions that a runtime has, and all of those are called.
fn check_calls(runtime: &str) -> Result<(), String> {
    let wasm = wat::parse_str(CALLS_ALL.replace(";; copies", &COPY.repeat(20))).expect("it is a module");
    let program = translate(&wasm, &Default::default()).expect("it translates").program;
    let entries: Vec<u32> = program.meta.exports.iter().map(|export| export.index).collect();
    // Of one lane with samples, which a function of the runtime counts, and without, where lanes meet and blocks are counted;
    // and of processes.
    let text = |samples, processes| {
        let options = Options {
            samples,
            processes,
            single_lane: samples,
            meets: !samples && !processes,
            reconverge: !samples && !processes,
            counts: !samples && !processes,
            ..Options::default()
        };
        let unit = Unit {
            program: &program,
            prefix: String::new(),
            code_start: 0,
            entries: entries.clone(),
            cold: Default::default(),
            options,
        };
        compile(&unit).text
    };
    let text = text(false, false) + &text(true, false) + &text(false, true);
    let functions = signatures(runtime);
    let mut called = BTreeSet::new();
    for call in calls(&text) {
        let function = functions.iter().find(|function| function.name == call.name);
        let function = function.ok_or_else(|| format!("the runtime has no {}", call.name))?;
        let arguments: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
        function.check(&arguments, call.result.as_deref())?;
        called.insert(function.name);
    }
    match functions.iter().find(|function| !called.contains(function.name)) {
        Some(function) => Err(format!("{} is never called", function.name)),
        None => Ok(()),
    }
}

#[test]
fn compiled_code_calls_the_runtime_as_it_is() {
    assert_eq!(check_calls(RUNTIME), Ok(()));
}

#[test]
fn a_changed_signature_of_the_runtime_is_refused_by_name() {
    for (from, to, name) in [
        (
            ".param .b32 gpu_run_trap_param_3",
            ".param .b64 gpu_run_trap_param_3",
            "gpu_run_trap",
        ),
        (
            ".param .b64 gpu_run_debug_param_2",
            ".param .b64 x,\n\t.param .b32 y",
            "gpu_run_debug",
        ),
        (
            ".func  (.param .b32 func_retval0) gpu_run_compare(",
            ".func gpu_run_compare(",
            "gpu_run_compare",
        ),
        (
            ".visible .func gpu_run_poll(",
            ".visible .func gpu_run_look(",
            "gpu_run_poll",
        ),
    ] {
        let at = RUNTIME.find(from).unwrap_or_else(|| panic!("{from} is there"));
        let changed = format!("{}{to}{}", &RUNTIME[..at], &RUNTIME[at + from.len()..]);
        let said = check_calls(&changed).expect_err("the function is another one");
        assert!(said.contains(name), "{said}");
    }
}

/// Whether `build-ptx.sh --check` takes the kernel with `from` in `file` replaced by `to`, without the pinned clang.
#[cfg(target_os = "linux")]
fn is_fresh_with(file: &str, from: &str, to: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder can be made");
    copy(&kernel(), folder.path());
    let path = folder.path().join(file);
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert_eq!(text.matches(from).count(), 1, "{from:?} in {file}");
    std::fs::write(&path, text.replace(from, to)).expect("the file can be written");
    let script = folder.path().join("build-ptx.sh");
    let output = Command::new("bash")
        .arg(script)
        .arg("--check")
        .env("CLANG", "no-such-clang")
        .output();
    output.expect("there is a bash").status.success()
}

/// The PTX that is checked in is that of the sources, of which comments and white space are no part.
#[test]
#[cfg(target_os = "linux")]
fn the_ptx_is_stale_after_a_change_of_code_alone() {
    let line = "  u32 depth;  // frames on the stack\n  u32 instance;\n";
    for (to, fresh) in [
        (line, true),
        (
            "  u32 depth; // how many frames there are\n\n  /* of */ u32  instance;\n",
            true,
        ),
        ("  u32 instance;\n  u32 depth;  // frames on the stack\n", false),
    ] {
        assert_eq!(is_fresh_with("layout.h", line, to), fresh, "{to}");
    }
}
