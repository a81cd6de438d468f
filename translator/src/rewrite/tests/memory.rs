//! What proves C's functions on memory.

use super::*;

/// Bytes forward.
const COPY: &str = "(local $at i32) (local.set $at (local.get 0))
    (block $end (loop $next
        (br_if $end (i32.eqz (local.get 2)))
        (i32.store8 (local.get $at) (i32.load8_u (local.get 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (local.set 2 (i32.add (local.get 2) (i32.const -1)))
        (br $next)))
    (local.get 0)";
const FILL: &str = "(local $at i32) (local.set $at (local.get 0))
    (block $end (loop $next
        (br_if $end (i32.eqz (local.get 2)))
        (i32.store8 (local.get $at) (local.get 1))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set 2 (i32.add (local.get 2) (i32.const -1)))
        (br $next)))
    (local.get 0)";
const COMPARE: &str = "(local $a i32) (local $b i32)
    (block $equal
        (loop $next
            (br_if $equal (i32.eqz (local.get 2)))
            (local.set $a (i32.load8_u (local.get 0)))
            (local.set $b (i32.load8_u (local.get 1)))
            (if (i32.ne (local.get $a) (local.get $b)) (then (return (i32.sub (local.get $a) (local.get $b)))))
            (local.set 0 (i32.add (local.get 0) (i32.const 1)))
            (local.set 1 (i32.add (local.get 1) (i32.const 1)))
            (local.set 2 (i32.add (local.get 2) (i32.const -1)))
            (br $next)))
    (i32.const 0)";
/// Words where both addresses allow it, as compilers' libraries do: the length is a multiple of 4 then.
const WORDS: &str = "(local $at i32) (local.set $at (local.get 0))
    (block $bytes (loop $next
        (br_if $bytes (i32.and (i32.or (local.get $at) (local.get 1)) (i32.const 3)))
        (br_if $bytes (i32.lt_u (local.get 2) (i32.const 4)))
        (i32.store (local.get $at) (i32.load (local.get 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (local.set 1 (i32.add (local.get 1) (i32.const 4)))
        (local.set 2 (i32.sub (local.get 2) (i32.const 4)))
        (br $next)))
    (drop (call $bytes (local.get $at) (local.get 1) (local.get 2)))
    (local.get 0)";

/// What becomes of a function of this name.
fn judged(name: &str, body: &str, tool: &str) -> Result<(), String> {
    let wat = format!(
        r#"(module (memory 1) (global $g (mut i32) (i32.const 0))
            (func $bytes (param i32 i32 i32) (result i32) {COPY})
            (func ${name} (export "f") (param i32 i32 i32) (result i32) {body})
            {})"#,
        producers(tool, "1.0")
    );
    let (encoded, report) = rewritten(&wat).expect("fine");
    let pattern = report.patterns.iter().find(|report| report.pattern == "memory");
    let pattern = pattern.expect("known");
    let module = Module::parse(&encoded).expect("a valid module");
    let func = module.funcs.last().expect("the function");
    let bulk = |op: &Operator<'_>| {
        matches!(
            op,
            Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemorySize { .. }
        )
    };
    let replaced = func.instrs().any(|instr| bulk(&instr.op));
    assert_eq!(pattern.status == Status::Found, replaced, "{name}: {pattern:?}");
    match &pattern.left[..] {
        [] if replaced => Ok(()),
        [(left, why)] if left == name && !replaced => Err(why.clone()),
        _ => panic!("{name}: {pattern:?}"),
    }
}

#[test]
fn what_does_what_c_says_is_proven() {
    for (name, body) in [
        ("memcpy", COPY),
        ("memcpy", WORDS),
        // Words at any address: slower, but the same.
        ("memcpy", &WORDS.replace("(i32.const 3)))\n", "(i32.const 1)))\n")),
        ("memcpy", "(call $bytes (local.get 0) (local.get 1) (local.get 2))"),
        ("memset", FILL),
        ("memcmp", COMPARE),
        ("bcmp", COMPARE),
    ] {
        for tool in ["clang", "rustc", "Debian clang", "zig"] {
            assert_eq!(judged(name, body, tool), Ok(()), "{name} of {tool}: {body}");
        }
        let why = judged(name, body, "wat2wasm").expect_err("nobody reserves the name");
        assert!(why.contains("producers"), "{why}");
    }
}

#[test]
fn what_differs_in_anything_is_left_alone() {
    let with = |body: &str, old: &str, new: &str| {
        assert!(body.contains(old), "{old}");
        body.replace(old, new)
    };
    let first = |code: &str, body: &str| body.replacen("(block", &format!("{code} (block"), 1);
    let cases = [
        // Forward only: one of two overlaps goes wrong.
        ("memmove", COPY.to_owned(), "copies other bytes"),
        (
            "memcpy",
            "(drop (call $bytes (local.get 0) (local.get 1) (local.get 2))) (local.get 1)".to_owned(),
            "does nothing and returns",
        ),
        ("memcpy", with(COPY, "i32.load8_u", "i32.load16_u"), "read from"),
        ("memcpy", with(COPY, "i32.store8", "i32.store16"), "wrote to"),
        (
            "memcpy",
            with(
                WORDS,
                "(i32.lt_u (local.get 2) (i32.const 4))",
                "(i32.lt_u (local.get 2) (i32.const 3))",
            ),
            "to",
        ),
        (
            "memcpy",
            first(
                "(if (i32.eq (local.get 2) (i32.const 12345)) (then (return (i32.const 7))))",
                COPY,
            ),
            "12345",
        ),
        (
            "memcpy",
            first(
                "(if (i32.gt_u (local.get 2) (i32.const 200)) (then (return (i32.const 7))))",
                COPY,
            ),
            "returned 0x7",
        ),
        ("memcpy", first("(global.set $g (i32.const 1))", COPY), "GlobalSet"),
        (
            "memcpy",
            first("(i32.store (i32.const 64) (i32.const 1))", COPY),
            "wrote to 0x40",
        ),
        (
            "memcpy",
            first("(drop (i32.load (i32.const 64)))", COPY),
            "read from 0x40",
        ),
        (
            "memcpy",
            "(loop $for_ever (br $for_ever)) (unreachable)".to_owned(),
            "did not come to an end",
        ),
        (
            "memcpy",
            "(call $memcpy (local.get 0) (local.get 1) (local.get 2))".to_owned(),
            "did not come to an end",
        ),
        ("memcpy", "(drop (f32.const 1)) (local.get 0)".to_owned(), "F32Const"),
        (
            "memset",
            with(
                FILL,
                "(i32.store8 (local.get $at) (local.get 1))",
                "(i32.store8 (local.get $at) (i32.and (local.get 1) (i32.const 127)))",
            ),
            "stores other bytes",
        ),
        ("memset", with(FILL, "(i32.const -1)", "(i32.const -2)"), ""),
        (
            "memcmp",
            with(COMPARE, "i32.load8_u (local.get 0)", "i32.load8_s (local.get 0)"),
            "returns",
        ),
        (
            "memcmp",
            with(
                COMPARE,
                "(return (i32.sub (local.get $a) (local.get $b)))",
                "(return (select (i32.const 1) (i32.const -1) (i32.gt_u (local.get $a) (local.get $b))))",
            ),
            "returns",
        ),
        // It looks at what follows a difference.
        (
            "memcmp",
            first(
                "(drop (i32.load8_u (i32.sub (i32.add (local.get 0) (local.get 2)) (i32.ne (local.get 2) (i32.const 0)))))",
                COMPARE,
            ),
            "read from",
        ),
        (
            "bcmp",
            with(
                COMPARE,
                "(return (i32.sub (local.get $a) (local.get $b)))",
                "(return (i32.const 1))",
            ),
            "returns",
        ),
    ];
    for (name, body, part) in cases {
        let why = judged(name, &body, "clang").expect_err(&body);
        assert!(why.contains(part), "{name}, {body}: {why}");
    }
}

#[test]
fn bulk_instructions_stay_as_they_are() {
    let wat = |more: &str| {
        format!(
            r#"(module (memory 1)
                (func $memcpy (export "f") (param i32 i32 i32) (result i32)
                    {more} (memory.copy (local.get 0) (local.get 1) (local.get 2)) (local.get 0)))"#
        )
    };
    let (_, report) = rewritten(&wat("")).expect("fine");
    let pattern = report.patterns.iter().find(|report| report.pattern == "memory");
    let pattern = pattern.expect("known");
    // With length 0 it traps out of bounds, and goes on doing so.
    assert_eq!((&pattern.status, &pattern.left[..]), (&Status::Absent, &[][..]));
    let asks_first = "(if (i32.eqz (local.get 2)) (then (return (local.get 0))))";
    let (_, report) = rewritten(&wat(asks_first)).expect("fine");
    assert_eq!(report.status("memory"), Some(&Status::Found));
}

#[test]
fn many_functions_of_a_name_are_not_looked_at() {
    let one = |at: usize| format!(r#"(func $m{at} (@name "memset") (param i32 i32 i32) (result i32) {FILL})"#);
    let of = |count: usize| {
        let funcs: String = (0..count).map(one).collect();
        rewritten(&format!("(module (memory 1) {funcs})")).expect("fine").1
    };
    assert_eq!(of(3).status("memory"), Some(&Status::Found));
    let many = of(5);
    assert_eq!(many.status("memory"), Some(&Status::Absent));
    let left = |report: &RewriteReport| report.patterns.iter().map(|pattern| pattern.left.len()).sum::<usize>();
    assert_eq!(left(&many), 5);
}
