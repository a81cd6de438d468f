//! Tests of the patterns: a module in the text format is rewritten, and its report and code are looked at.
//!
//! - this file: helpers, and tests of the patterns in general;
//! - `memory`: what proves C's functions on memory;
//! - `panics`: panics of other versions of std;
//! - `system`: the allocator where code calls `std::alloc::System` directly.

mod memory;
mod panics;
mod system;
mod wide;

use wasmparser::{Operator, Validator, WasmFeatures};

use super::*;
use crate::callgraph::CallGraph;

/// A producers section that names a tool.
fn producers(tool: &str, version: &str) -> String {
    let field = |text: &str| format!("\\{:02x}{text}", text.len());
    let value = format!("{}{}", field(tool), field(version));
    let fields = format!("\\01{}\\01{value}", field("processed-by"));
    format!(r#"(@custom "producers" "{fields}")"#)
}

/// Rewrites a module that rustc made, unless it says something else.
fn rewritten(wat: &str) -> Result<(Vec<u8>, RewriteReport), RewriteError> {
    let mut wat = wat.to_owned();
    if !wat.contains("(@custom \"producers\"") {
        let end = wat.rfind(')').expect("a module");
        wat.insert_str(end, &producers("rustc", "1.96.0"));
    }
    let bytes = wat::parse_str(&wat).expect("test input");
    let mut module = Module::parse(&bytes).expect("a valid module");
    let report = rewrite(&mut module, &RewriteOptions::default())?;
    let encoded = module.encode();
    Validator::new_with_features(WasmFeatures::all())
        .validate_all(&encoded)
        .expect("valid");
    Ok((encoded, report))
}

/// `_print`, with what it needs around it.
const PRINTING: &str = r#"
    (memory (export "memory") 1 1) (table 2 2 funcref) (elem (i32.const 1) $f)
    (global $__stack_pointer (mut i32) (i32.const 1024))
    (func $f)
    (func $core::fmt::write (param i32 i32 i32 i32) (result i32) i32.const 0)
    (func $std::io::stdio::_print (param i32 i32) (call $core::panicking::panic_fmt) unreachable)
    (func $core::panicking::panic_fmt unreachable)
    (func (export "main") (call $std::io::stdio::_print (i32.const 1) (i32.const 2)))"#;

#[test]
fn printing_gets_a_vtable_in_a_page_of_its_own() {
    let (encoded, report) = rewritten(&format!("(module {PRINTING})")).expect("rewritten");
    assert_eq!(report.status("print"), Some(&Status::Found));
    assert_eq!(report.status("panic"), Some(&Status::Absent));
    let module = Module::parse(&encoded).expect("a valid module");
    assert_eq!(module.memories[0].initial, 2);
    assert_eq!(module.memories[0].maximum, Some(2));
    assert_eq!(module.tables[0].ty.initial, 5);
    assert_eq!(module.imports.len(), 2, "print and print_end, nothing else");
    let data = module.data.last().expect("the page");
    assert_eq!(
        &data.bytes[12..24],
        [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0],
        "table indices"
    );
}

#[test]
fn imports_that_are_there_are_used() {
    let import = r#"(import "gpu_run_v1" "print" (func $p (param i32 i32 i32)))"#;
    let user = "(func (export \"direct\") (call $p (i32.const 1) (i32.const 0) (i32.const 0)))";
    let (encoded, _) = rewritten(&format!("(module {import} {PRINTING} {user})")).expect("fine");
    let module = Module::parse(&encoded).expect("a valid module");
    let names: Vec<&str> = module.imports.iter().map(|import| import.name).collect();
    assert_eq!(names, ["print", "print_end"]);
}

#[test]
fn printing_is_left_to_a_std_that_has_wasi() {
    let import = r#"(import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32)))"#;
    let print = |more: &str| {
        let (_, report) = rewritten(&format!("(module {import} {PRINTING} {more})")).expect("fine");
        report.status("print").cloned().expect("known")
    };
    // The import alone is gpu_std's.
    assert_eq!(print(""), Status::Found);
    let generic = "(func $\"std::sys::sync::once::Once::call::<gpu_std::wasi::stdin::Raw>\")";
    assert_eq!(print(generic), Status::Found);
    for of_wasi in [
        r#"(func (export "_start"))"#,
        r#"(func (export "_initialize"))"#,
        "(func $std::sys::pal::wasi::abort_internal)",
        "(func $__wasilibc_find_abspath)",
    ] {
        assert_eq!(print(of_wasi), Status::Absent, "{of_wasi}");
        let kernel = r#"(func (export "gpu_run_v1.kernel.sum"))"#;
        assert_eq!(print(&format!("{of_wasi} {kernel}")), Status::Found, "{of_wasi}");
    }
}

#[test]
fn types_must_match() {
    let wat = "(module (memory 1) (func $std::process::exit (param i64) unreachable)
                       (func $memcpy (param i32 i32) (result i32) i32.const 0))";
    let (_, report) = rewritten(wat).expect("rewritten");
    assert!(report.patterns.iter().all(|p| p.status == Status::Absent), "{report:?}");
}

#[test]
fn calls_that_were_cut_off_are_refused() {
    let wat = |export: &str| {
        format!(
            "(module (memory 1) (func $std::time::Instant::now (param i32) unreachable)
                (func $user::work {export} (call $std::time::Instant::now (i32.const 8))
                    unreachable))"
        )
    };
    let error = rewritten(&wat("(export \"work\")")).expect_err("refused");
    let RewriteError::Folded {
        function,
        caller,
        offset,
        ..
    } = &error;
    assert_eq!(
        (function.as_str(), caller.as_str()),
        ("std::time::Instant::now", "user::work")
    );
    assert!(*offset > 8);
    assert!(error.to_string().contains("gpu_std::time()"), "{error}");
    assert!(rewritten(&wat("")).is_ok(), "code that nothing reaches is no reason");
}

#[test]
fn what_std_lacks_is_named_with_a_remedy() {
    let warnings = |called: &str| {
        let wat = format!(
            r#"(module (memory 1) (func ${called}) (func $std::net::udp::UdpSocket::bind)
                (func (export "main") (call ${called})))"#
        );
        rewritten(&wat).expect("rewritten").1.warnings
    };
    for (called, remedy) in [
        (r#""std::fs::read_to_string::<&str>""#, "gpu_std::fs"),
        ("std::env::args", "gpu_std::env"),
        ("std::io::stdio::Stdin::read_line", "gpu_std::io"),
    ] {
        let [warning] = &warnings(called)[..] else {
            panic!("one warning, of what is reachable")
        };
        assert!(
            warning.contains(called.trim_matches('"')) && warning.contains(remedy),
            "{warning}"
        );
        assert!(warning.contains("wasm32-wasip1"), "{warning}");
    }
    for harmless in [
        "std::env::_var_os",
        "std::process::exit",
        r#""core::ptr::drop_in_place::<std::fs::File>""#,
    ] {
        assert_eq!(warnings(harmless), [""; 0], "{harmless}");
    }
}

#[test]
fn connections_that_std_does_not_make_are_named_on_both_targets() {
    let import = r#"(import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32)))"#;
    for (import, entry, target) in [
        ("", "main", "wasm32-unknown-unknown"),
        (import, "_start", "wasm32-wasip1"),
    ] {
        for (called, remedy) in [
            ("std::net::tcp::TcpStream::connect", "gpu_std::net::TcpStream"),
            ("std::net::tcp::TcpListener::bind", "Limits"),
        ] {
            let wat =
                format!(r#"(module {import} (memory 1) (func ${called}) (func (export "{entry}") (call ${called})))"#);
            let warnings = rewritten(&wat).expect("rewritten").1.warnings;
            let [warning] = &warnings[..] else {
                panic!("one warning: {warnings:?}")
            };
            for part in [called, remedy, target] {
                assert!(warning.contains(part), "{warning}");
            }
        }
    }
    let wat =
        format!(r#"(module {import} (memory 1) (func $std::fs::read) (func (export "_start") (call $std::fs::read)))"#);
    let warnings = rewritten(&wat).expect("rewritten").1.warnings;
    assert_eq!(warnings, [""; 0], "a program for WASI has files");
}

#[test]
fn std_of_another_compiler_is_left_alone_and_warned_of() {
    for (tool, found) in [("rustc", Status::Found), ("clang", Status::Absent)] {
        let wat = format!("(module {PRINTING} {})", producers(tool, "1.96.0"));
        let (_, report) = rewritten(&wat).expect("rewritten");
        assert_eq!(report.status("print"), Some(&found), "{tool}");
        let warned = report.warnings.iter().any(|warning| warning.contains("`producers`"));
        assert_eq!(warned, tool != "rustc", "{:?}", report.warnings);
    }
}

const MALLOC: &str = "$dlmalloc::dlmalloc::Dlmalloc::malloc";

#[test]
fn the_allocator_is_replaced_at_its_entry_points() {
    let wat = format!(
        "(module (memory 1) (func {MALLOC} (param i32 i32) (result i32) unreachable)
            (func $__rdl_alloc (param i32 i32) (result i32)
                (call {MALLOC} (local.get 0) (local.get 1)))
            (func (export \"f\") (drop (call $__rdl_alloc (i32.const 4) (i32.const 4)))))"
    );
    let (encoded, report) = rewritten(&wat).expect("rewritten");
    assert_eq!(report.status("allocator"), Some(&Status::Found));
    let module = Module::parse(&encoded).expect("a valid module");
    let graph = CallGraph::new(&module);
    let reached = graph.reachable(graph.roots().iter().copied());
    let malloc = module.imported_funcs.len();
    assert!(!reached[malloc], "dlmalloc is out of reach");
}

#[test]
fn an_allocator_that_was_inlined_is_left_alone() {
    let inner = "$dlmalloc::dlmalloc::Dlmalloc::unlink_chunk";
    let wat = format!(
        "(module (memory 1) (func {MALLOC} (param i32) (result i32) unreachable)
            (func {inner} (param i32 i32))
            (func $user::grow (export \"f\") (drop (call {MALLOC} (i32.const 4)))
                (call {inner} (i32.const 4) (i32.const 4))))"
    );
    let (encoded, report) = rewritten(&wat).expect("rewritten");
    let Some(Status::RolledBack(why)) = report.status("allocator") else {
        panic!("{report:?}")
    };
    assert!(why.contains("unlink_chunk") && why.contains("user::grow"), "{why}");
    let module = Module::parse(&encoded).expect("a valid module");
    assert!(module.imports.is_empty());
    assert_eq!(
        module.funcs[0].instrs().next().map(|i| i.op),
        Some(Operator::Unreachable)
    );
}

/// wasi-libc's allocator, as far as it is looked at: its state lies at 2000. `more` goes on with the module.
fn c_allocator(free_reads: &str, more: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1 1)
            (func $malloc (param i32) (result i32) (call $dlmalloc (local.get 0)))
            (func $dlmalloc (param i32) (result i32)
                (i32.store offset=3000 (i32.const 0) (i32.const 48))
                (i32.load offset=2000 (i32.const 0)))
            (func $free (param i32) (call $dlfree (local.get 0)))
            (func $dlfree (param i32) {free_reads})
            (func $realloc (param i32 i32) (result i32)
                (call $dispose_chunk (local.get 0)) (call $dlmalloc (local.get 1)))
            (func $dispose_chunk (param i32) (drop (i32.load offset=2004 (i32.const 0))))
            (func (export "f") (call $free (call $realloc (call $malloc (i32.const 4)) (i32.const 8))))
            {more})"#
    )
}

/// What `free` reads of the state.
const STATE: &str = "(drop (i32.load offset=2000 (i32.const 0))) (drop (i32.load (i32.const 2032)))";

#[test]
fn the_allocator_of_c_is_replaced() {
    let (encoded, report) = rewritten(&c_allocator(STATE, "")).expect("rewritten");
    assert_eq!(report.status("c_allocator"), Some(&Status::Found));
    let module = Module::parse(&encoded).expect("a valid module");
    // As large as it was at first and some more, which its own allocator had.
    assert_eq!(module.memories[0].maximum, Some(1 + 1 + 64));
    let graph = CallGraph::new(&module);
    let reached = graph.reachable(graph.roots().iter().copied());
    let named = |name: &str| {
        *module
            .func_names
            .iter()
            .find(|(_, n)| *n == name)
            .expect("it is there")
            .0
    };
    assert!(!reached[named("dispose_chunk") as usize] && !reached[named("dlmalloc") as usize]);
    let stores = |name: &str| {
        let func = module.defined(named(name)).expect("a function");
        let ops: Vec<Operator<'_>> = func.instrs().map(|instr| instr.op).collect();
        ops.windows(2).any(|ops| {
            matches!(
                ops,
                [Operator::I32Const { value: 3000 }, Operator::I32Const { value: 48 }]
            )
        })
    };
    assert!(stores("malloc") && stores("realloc") && !stores("free"), "errno is set");
}

/// The allocator for threads: its parameters lie at 1976, its state at 2000, its locks at 2472, and each thread has an
/// errno.
fn c_allocator_for_threads(more: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1 1 shared)
            (global $tls (mut i32) (i32.const 0))
            (func $malloc (param i32) (result i32) (call $dlmalloc (local.get 0)))
            (func $dlmalloc (param i32) (result i32)
                (drop (i32.load offset=1976 (i32.const 0)))
                (drop (i32.atomic.rmw.xchg offset=2476 (i32.const 0) (i32.const 1)))
                (drop (i32.load offset=2476 (i32.const 0)))
                (i32.store (i32.add (global.get $tls) (i32.const 4)) (i32.const 48))
                (i32.load offset=2000 (i32.const 0)))
            (func $free (param i32) (call $dlfree (local.get 0)))
            (func $dlfree (param i32) {STATE})
            (func (export "f") (call $free (call $malloc (i32.const 4))))
            {more})"#
    )
}

#[test]
fn the_allocator_of_c_for_threads_is_replaced() {
    let (encoded, report) = rewritten(&c_allocator_for_threads("")).expect("rewritten");
    assert_eq!(report.status("c_allocator"), Some(&Status::Found));
    let module = Module::parse(&encoded).expect("a valid module");
    let malloc = module.func_names.iter().find(|(_, name)| *name == "malloc");
    let malloc = module.defined(*malloc.expect("it is there").0).expect("a function");
    let ops: Vec<Operator<'_>> = malloc.instrs().map(|instr| instr.op).collect();
    let stores = ops.windows(3).any(|ops| match ops {
        [
            Operator::GlobalGet { .. },
            Operator::I32Const { value: 48 },
            Operator::I32Store { memarg },
        ] => memarg.offset == 4,
        _ => false,
    });
    assert!(stores, "the thread's errno is set");
    // Memory that the start function fills, where the state is.
    let filled = r#"(data $held "0123") (start $init)
        (func $init (memory.init $held (i32.const 2100) (i32.const 0) (i32.const 4)))"#;
    let (_, report) = rewritten(&c_allocator_for_threads(filled)).expect("rewritten");
    assert!(!matches!(report.status("c_allocator"), Some(Status::Found)));
}

#[test]
fn an_allocator_of_c_is_left_alone_where_more_is_known_of_it() {
    let left = |wat: &str| {
        let (encoded, report) = rewritten(wat).expect("rewritten");
        assert!(Module::parse(&encoded).expect("a valid module").imports.is_empty());
        match report.status("c_allocator") {
            Some(Status::RolledBack(why)) => why.clone(),
            other => panic!("{other:?}"),
        }
    };
    let touching = "(func $trim (export \"trim\") (result i32) (i32.load offset=2012 (i32.const 0)))";
    let why = left(&c_allocator(STATE, touching));
    assert!(why.contains("`trim` works on its state"), "{why}");
    let in_table = "(table 1 funcref) (elem (i32.const 0) $dispose_chunk)
        (func (export \"any\") (call_indirect (param i32) (i32.const 0) (i32.const 0)))";
    let why = left(&c_allocator(STATE, in_table));
    assert!(why.contains("`dispose_chunk` works on its state"), "{why}");
    let inlined = "(func $zeroed (export \"zeroed\") (result i32) (local i32)
        (local.set 0 (call $dlmalloc (i32.const 8)))
        (i32.load8_u (i32.add (local.get 0) (i32.const -4))))";
    let why = left(&c_allocator(STATE, inlined));
    assert!(why.contains("`zeroed` reads the sizes of its blocks"), "{why}");
    let inlined = "(func $usable (export \"usable\") (param i32) (result i32)
        (i32.and (i32.load (i32.sub (local.get 0) (i32.const 4))) (i32.const -8)))";
    let why = left(&c_allocator(STATE, inlined));
    assert!(why.contains("`usable` reads the sizes of its blocks"), "{why}");
    let why = left(&c_allocator(STATE, "(data (i32.const 1990) \"0123456789A\")"));
    assert!(why.contains("has blocks of it already"), "{why}");
    let why = left(&c_allocator("", ""));
    assert!(why.contains("where `dlfree` keeps its state"), "{why}");
    // A private function of the same name, in another file.
    let twin = "(func $other (@name \"dlfree\") (param i32) (drop (i32.load (i32.const 9))))";
    let why = left(&c_allocator(STATE, twin));
    assert!(why.contains("several functions called `dlfree`"), "{why}");
}

#[test]
fn what_lies_around_the_state_of_an_allocator_is_no_reason() {
    let around = "(func (export \"around\") (result i32)
        (i32.add (i32.load offset=2472 (i32.const 0)) (i32.load offset=1996 (i32.const 0))))
        (data (i32.const 1990) \"0123456789\")";
    let (_, report) = rewritten(&c_allocator(STATE, around)).expect("rewritten");
    assert_eq!(report.status("c_allocator"), Some(&Status::Found));
}

#[test]
fn a_program_of_c_that_frees_nothing_has_the_heap_too() {
    let wat = r#"(module (memory 1)
        (func $malloc (param i32) (result i32) (call $dlmalloc (local.get 0)))
        (func $dlmalloc (param i32) (result i32)
            (i32.add (i32.load offset=2000 (i32.const 0)) (i32.load offset=2480 (i32.const 0))))
        (func (export "f") (drop (call $malloc (i32.const 4)))))"#;
    let (_, report) = rewritten(wat).expect("rewritten");
    assert_eq!(report.status("c_allocator"), Some(&Status::Found));
}

#[test]
fn another_allocator_of_c_is_left_alone() {
    let wat = r#"(module (memory 1)
        (func $malloc (export "malloc") (param i32) (result i32) i32.const 16)
        (func $free (export "free") (param i32)))"#;
    let (encoded, report) = rewritten(wat).expect("rewritten");
    assert_eq!(report.status("c_allocator"), Some(&Status::Absent));
    let module = Module::parse(&encoded).expect("a valid module");
    assert!(module.imports.is_empty());
}

#[test]
fn without_names_a_rust_module_gets_the_hint_and_others_none() {
    let plain = Module::parse(b"\0asm\x01\0\0\0").expect("a valid module");
    let mut other = plain.clone();
    let report = rewrite(&mut other, &RewriteOptions::default()).expect("nothing to do");
    assert!(report.warnings.is_empty() && !report.has_names);
    let mut rust = plain;
    rust.producers.push(("language".into(), "Rust".into(), String::new()));
    let report = rewrite(&mut rust, &RewriteOptions::default()).expect("nothing to do");
    assert!(report.warnings[0].contains("strip = \"none\""), "{report:?}");
}
