//! What proves arithmetic of 128 bits.

use super::*;

const FIXTURE: &str = include_str!("../../../../fixtures/names/wide.wat");
const NAMES: [&str; 5] = ["__divti3", "__modti3", "__multi3", "__udivti3", "__umodti3"];

/// The pattern's report of the fixture with one part of it in place of another.
fn report(from: &str, to: &str) -> PatternReport {
    assert!(FIXTURE.contains(from), "{from}");
    let module = wat::parse_str(FIXTURE.replacen(from, to, 1)).expect("a module");
    let mut module = Module::parse(&module).expect("a valid module");
    let report = rewrite(&mut module, &RewriteOptions::default()).expect("fine");
    let found = report
        .patterns
        .into_iter()
        .find(|report| report.pattern == "wide_integers");
    found.expect("known")
}

#[test]
fn what_calculates_as_compilers_want_is_proven() {
    let report = report("(module", "(module");
    assert_eq!(
        (&report.found[..], &report.left[..]),
        (&NAMES.map(str::to_owned)[..], &[][..])
    );
}

#[test]
fn what_does_something_else_stays() {
    let store = "(i64.store (local.get $to) (local.get $p0))";
    let result = "(i64.store (local.get $to) (i64.load offset=0 (local.get $frame)))";
    let frame = "(global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 32)))";
    for (from, to, of, why) in [
        ("clang", "abc", &NAMES[..], "no compiler"),
        (
            store,
            "(i64.store (local.get $to) (local.get $p1))",
            &NAMES[2..3],
            "stored other bytes",
        ),
        (
            store,
            &format!("{store} (i64.store (i32.const 8) (i64.const 0))"),
            &NAMES[2..3],
            "wrote to 0x8",
        ),
        (
            store,
            &format!("{store} (drop (i64.load (i32.const 8)))"),
            &NAMES[2..3],
            "read from 0x8",
        ),
        (
            result,
            &format!("{result} (i64.store offset=16 (local.get $to) (i64.const 0))"),
            &NAMES[2..3],
            "stored other bytes",
        ),
        (frame, "", &NAMES[2..3], "left another stack pointer"),
        // One that differs for numbers that are not tried has a constant that tells.
        (
            store,
            &format!("(if (i64.eq (local.get $a0) (i64.const 0x123456789)) (then (return))) {store}"),
            &NAMES[2..3],
            "has the constant",
        ),
        (
            store,
            &format!("{store} (global.set $state (i64.const 0))"),
            &NAMES[2..3],
            "GlobalSet",
        ),
        // Where what is left is the divisor.
        (
            "(i64.ge_u (local.get $r0) (local.get $b0))",
            "(i64.gt_u (local.get $r0) (local.get $b0))",
            &["__divti3", "__modti3", "__udivti3", "__umodti3"],
            "stored",
        ),
        (
            "(i32.const 128)",
            "(i32.const 127)",
            &["__divti3", "__modti3", "__udivti3", "__umodti3"],
            "stored",
        ),
        (
            "(i64.lt_s (local.get $b1) (i64.const 0))",
            "(i32.const 0)",
            &["__divti3", "__modti3"],
            "stored other bytes",
        ),
    ] {
        let report = report(from, to);
        let left: Vec<&str> = report.left.iter().map(|(name, _)| name.as_str()).collect();
        for name in of {
            let found = report.left.iter().find(|(left, _)| left == name);
            assert!(
                found.is_some_and(|(_, told)| told.contains(why)),
                "{to}: {:?}",
                report.left
            );
        }
        assert_eq!(left.len(), of.len(), "{to}: {left:?}");
        assert_eq!(report.found.len(), NAMES.len() - of.len(), "{to}");
    }
}
