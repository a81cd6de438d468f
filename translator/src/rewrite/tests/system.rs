//! The allocator where code calls `std::alloc::System` directly.

use super::*;

const V0: &str = "<std::alloc::System as core::alloc::global::GlobalAlloc>";
const LEGACY: &str = "std::sys::wasm::alloc::<impl core::alloc::global::GlobalAlloc for std::alloc::System>";

/// `realloc` of a module with std's entry points, a method that is called beside them, and one of dlmalloc's.
/// `other` is code of the program.
fn module(system: &str, params: &str, body: &str, other: &str) -> String {
    let arguments = "(i32.const 8)".repeat(params.split(' ').count());
    format!(
        r#"(module (memory 1)
            (func $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::malloc" (param i32) (result i32) i32.const 0)
            (func $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::free" (param i32))
            (func $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::unlink_chunk" (param i32))
            (func $"{system}::realloc" (param {params}) (result i32)
                (call $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::unlink_chunk" (i32.const 0))
                {body})
            (func $__rdl_alloc (param i32 i32) (result i32)
                (call $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::malloc" (local.get 0)))
            (func $__rdl_dealloc (param i32 i32 i32)
                (call $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::free" (local.get 0)))
            (func (export "main")
                (call $__rdl_dealloc (call $__rdl_alloc (i32.const 8) (i32.const 8)) (i32.const 8) (i32.const 8))
                (drop (call $"{system}::realloc" {arguments})) {other}))"#
    )
}

/// What dlmalloc's inlined `realloc` begins with: it looks at the header of `block` and at `align`.
fn looks(block: u32, align: u32) -> String {
    format!(
        "(drop (i32.load (i32.add (local.get {block}) (i32.const -4))))
         (if (result i32) (i32.lt_u (local.get {align}) (i32.const 9)) (then (i32.const 1)) (else (i32.const 2)))"
    )
}

/// The locals that the new body of `realloc` reads, in order.
fn read(encoded: &[u8]) -> Vec<u32> {
    let module = Module::parse(encoded).expect("a valid module");
    let first = module.imported_funcs.len();
    let name = |func: usize| module.func_display_name((first + func) as u32);
    let found = (0..module.funcs.len()).find(|func| name(*func).ends_with("::realloc"));
    let gets = |op: &Operator<'_>| match op {
        Operator::LocalGet { local_index } => Some(*local_index),
        _ => None,
    };
    let instrs = module.funcs[found.expect("it is there")].instrs();
    instrs.filter_map(|instr| gets(&instr.op)).collect()
}

#[test]
fn the_order_of_a_layout_is_read_from_the_code() {
    for name in [V0, LEGACY] {
        for (params, block, align, order) in [
            ("i32 i32 i32 i32", 0, 1, [0, 2, 1, 3]),
            ("i32 i32 i32 i32", 0, 2, [0, 1, 2, 3]),
            ("i32 i32 i32 i32 i32", 1, 2, [1, 3, 2, 4]),
            ("i32 i32 i32 i32 i32", 1, 3, [1, 2, 3, 4]),
        ] {
            let wat = module(name, params, &looks(block, align), "");
            let (encoded, report) = rewritten(&wat).expect("fine");
            assert_eq!(report.status("allocator"), Some(&Status::Found), "{params}, {align}");
            assert_eq!(read(&encoded), order, "{params}, {align}");
        }
    }
}

#[test]
fn below_entry_points_the_methods_of_dlmalloc_are_replaced() {
    let inlined = r#"(drop (call $"dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::malloc" (i32.const 8)))"#;
    let wat = module(V0, "i32 i32 i32 i32", &looks(0, 1), inlined);
    let (encoded, report) = rewritten(&wat).expect("fine");
    assert_eq!(report.status("allocator"), Some(&Status::Found));
    // Whether the alignment is a large one is asked first.
    assert_eq!(read(&encoded)[0], 1);
}

#[test]
fn what_is_not_certain_is_left_alone_and_each_way_tells_why() {
    let both = format!("{} (drop (i32.lt_u (local.get 2) (i32.const 9)))", looks(0, 1));
    let looped = format!("(loop (result i32) {})", looks(0, 1));
    let written = format!("(local.set 1 (i32.const 4)) {}", looks(0, 1));
    let no_block = "(i32.lt_u (local.get 1) (i32.const 9))".to_owned();
    let with_self = format!("(drop (i32.load (local.get 0))) {}", looks(1, 2));
    for (params, body) in [
        ("i32 i32 i32 i32", both),
        ("i32 i32 i32 i32", looped),
        ("i32 i32 i32 i32", written),
        ("i32 i32 i32 i32", no_block),
        ("i32 i32 i32 i32", looks(0, 3)),
        ("i32 i32 i32 i32 i32", with_self),
        ("i32 i32 i32", looks(0, 1)),
    ] {
        let (_, report) = rewritten(&module(V0, params, &body, "")).expect("fine");
        let Some(Status::RolledBack(reason)) = report.status("allocator") else {
            panic!("{params} {body}: {report:?}")
        };
        for part in ["std's entry points", "dlmalloc's methods", "::realloc`"] {
            assert!(reason.contains(part), "{reason}");
        }
    }
}

/// Where dlmalloc's methods are replaced, code with blocks of another kind must not meet them. Such are std above
/// another allocator, that allocator's `System`, and a method that has looked at dlmalloc's headers by itself.
#[test]
fn what_keeps_its_own_blocks_is_left_alone() {
    const DLMALLOC: &str = "dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>";
    let own = r#"(func $own (param i32) (result i32) i32.const 8) (func $own_free (param i32))"#;
    let zeroes = format!(
        r#"{own} (func $__rdl_alloc (param i32 i32) (result i32) (call $own (local.get 0)))
            (func $__rdl_alloc_zeroed (param i32 i32) (result i32) (call $own (local.get 0)))
            (func $__rdl_dealloc (param i32 i32 i32) (call $own_free (local.get 0)))
            (func (export "main")
                (call $"{DLMALLOC}::free" (call $"{DLMALLOC}::malloc" (i32.const 8)))
                (call $__rdl_dealloc (call $__rdl_alloc_zeroed (i32.const 8) (i32.const 4)) (i32.const 8) (i32.const 4)))"#
    );
    let looks_alike = format!(
        r#"{own} (func $"{V0}::alloc" (param i32 i32 i32) (result i32)
                (if (result i32) (i32.lt_u (local.get 1) (i32.const 9))
                    (then (call $own (local.get 2))) (else (i32.const 0))))
            (func (export "main")
                (call $"{DLMALLOC}::free" (call $"{DLMALLOC}::malloc" (i32.const 8)))
                (call $own_free (call $"{V0}::alloc" (i32.const 0) (i32.const 4) (i32.const 8))))"#
    );
    let inlined = format!(
        r#"(func $"{V0}::realloc" (param i32 i32 i32 i32 i32) (result i32)
                (drop (i32.load (i32.add (local.get 1) (i32.const -4))))
                (call $"{DLMALLOC}::free" (local.get 1))
                (call $"{DLMALLOC}::malloc" (local.get 4)))
            (func (export "main")
                (drop (call $"{V0}::realloc" (i32.const 0) (call $"{DLMALLOC}::malloc" (i32.const 8))
                    (i32.const 4) (i32.const 8) (i32.const 500))))"#
    );
    for (rest, keeps) in [
        (zeroes, "`__rdl_alloc_zeroed` would keep"),
        (looks_alike, "::alloc` would keep"),
        (inlined, "::realloc` would keep"),
    ] {
        let wat = format!(
            r#"(module (memory 1)
                (func $"{DLMALLOC}::malloc" (param i32) (result i32) i32.const 16)
                (func $"{DLMALLOC}::free" (param i32) (drop (i32.load (local.get 0))))
                {rest})"#
        );
        let (_, report) = rewritten(&wat).expect("fine");
        let Some(Status::RolledBack(reason)) = report.status("allocator") else {
            panic!("{wat}: {report:?}")
        };
        assert!(reason.contains(keeps), "{reason}");
    }
}
