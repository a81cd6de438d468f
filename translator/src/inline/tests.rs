use wasmparser::{Validator, WasmFeatures};

use wasmparser::Operator;

use super::*;
use crate::module::Origin;

fn parse(bytes: &[u8]) -> Module<'_> {
    Module::parse(bytes).expect("a valid module")
}

fn inlined(bytes: &[u8]) -> (Module<'_>, InlineReport) {
    let mut module = parse(bytes);
    let report = inline(&mut module, &InlineOptions::default());
    let encoded = module.encode();
    Validator::new_with_features(WasmFeatures::all())
        .validate_all(&encoded)
        .expect("valid");
    (module, report)
}

/// Calls export `f` with one argument in another engine.
fn call(module: &Module<'_>, argument: i32) -> i32 {
    let engine = wasmi::Engine::default();
    let compiled = wasmi::Module::new(&engine, module.encode()).expect("a valid module");
    let mut store = wasmi::Store::new(&engine, ());
    let linker = wasmi::Linker::new(&engine);
    let instance = linker.instantiate_and_start(&mut store, &compiled).expect("it starts");
    let f = instance.get_typed_func::<i32, i32>(&store, "f").expect("an export");
    f.call(&mut store, argument).expect("it returns")
}

fn calls(module: &Module<'_>, func: usize) -> usize {
    let is_call = |op: &Operator<'_>| matches!(op, Operator::Call { .. });
    module.funcs[func].instrs().filter(|instr| is_call(&instr.op)).count()
}

#[test]
fn results_stay_the_same() {
    // Early return, a branch to the function's label, and a local that counts on being zero in a
    // loop. Then two results, and a leaf in a leaf.
    let bytes = wat::parse_str(
        r#"(module
            (func $abs (param i32) (result i32)
                (if (i32.lt_s (local.get 0) (i32.const 0))
                    (then (return (i32.sub (i32.const 0) (local.get 0)))))
                local.get 0)
            (func $add_three (param i32) (result i32) (local i32 i32)
                (block (br_if 0 (local.get 2)) (local.set 1 (i32.const 3)))
                (local.set 2 (i32.const 1))
                (call $abs (i32.add (local.get 0) (local.get 1))))
            (func $pair (param i32) (result i32 i32)
                (br_if 0 (local.get 0) (i32.const 7) (i32.eqz (local.get 0)))
                (drop) (drop) (i32.const 1) (local.get 0))
            (func (export "f") (param i32) (result i32) (local i32)
                (loop
                    (local.set 0 (call $add_three (local.get 0)))
                    (br_if 0 (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1)))
                                       (i32.const 5))))
                (i32.mul (call $pair (local.get 0)))))"#,
    )
    .expect("test input");
    let before = parse(&bytes);
    let (after, report) = inlined(&bytes);
    assert_eq!(calls(&after, 3), 0);
    assert!(report.inlined_calls >= 3, "{report:?}");
    for argument in [-100, -3, 0, 5] {
        assert_eq!(call(&after, argument), call(&before, argument), "f({argument})");
    }
}

#[test]
fn recursion_and_tail_calls_stay() {
    let bytes = wat::parse_str(
        r#"(module
            (func $a (param i32) (if (local.get 0) (then (call $b (i32.const 0)))))
            (func $b (param i32) (call $a (local.get 0)))
            (func $tail (return_call $a (i32.const 1)))
            (func (export "f") (call $a (i32.const 1)) (call $tail)))"#,
    )
    .expect("test input");
    let (module, report) = inlined(&bytes);
    assert_eq!(report.inlined_calls, 0);
    assert_eq!(calls(&module, 3), 2);
}

#[test]
fn origins_chain_through_inlined_calls() {
    let bytes = wat::parse_str(
        r#"(module (func $inner (unreachable)) (func $middle (call $inner))
                   (func $outer (export "f") (call $middle)))"#,
    )
    .expect("test input");
    let original = parse(&bytes);
    let offset = |func: usize| original.funcs[func].instrs().next().expect("code").origin.offset;
    let (module, _) = inlined(&bytes);
    let trap = module.funcs[2]
        .instrs()
        .find(|i| i.op == Operator::Unreachable)
        .expect("copied");
    assert_eq!(trap.origin.offset, offset(0));
    let inner = module.inline_sites[trap.origin.site as usize];
    assert_eq!((inner.callee, inner.call.offset), (0, offset(1)));
    let middle = module.inline_sites[inner.call.site as usize];
    assert_eq!((middle.callee, middle.call), (1, Origin::at(u64::from(offset(2)))));
}

#[test]
fn bodies_share_locals_and_dead_functions_go() {
    let bytes = wat::parse_str(
        r#"(module
            (func $square (param i32) (result i32) (local i32)
                (local.set 1 (local.get 0)) (i32.mul (local.get 1) (local.get 0)))
            (func (export "f") (param i32) (result i32)
                (call $square (call $square (call $square (local.get 0))))))"#,
    )
    .expect("test input");
    let (mut module, _) = inlined(&bytes);
    let locals: u32 = module.funcs[1].locals().iter().map(|(count, _)| count).sum();
    assert_eq!(locals, 2);
    assert_eq!(remove_dead(&mut module), 1);
    assert_eq!(module.original_index, [Some(1)]);
    assert_eq!(call(&module, 3), 6561);
}

#[test]
fn growth_is_bounded() {
    let body = "(drop (i32.mul (i32.const 3) (i32.load (i32.const 0))))".repeat(12);
    let calls = "(call $leaf)".repeat(1_000);
    let wat = format!("(module (memory 1) (func $leaf {body}) (func (export \"f\") {calls}))");
    let bytes = wat::parse_str(&wat).expect("test input");
    let (_, report) = inlined(&bytes);
    assert!(report.inlined_calls > 0);
    let limit = InlineOptions::default().growth_limit(report.instrs_before);
    assert!(report.instrs_after <= report.instrs_before + limit, "{report:?}");
}

/// Functions too large to move into anything but a kernel, one of which calls the other; a panic that an `unreachable`
/// follows; and an export of these names, which calls all.
fn moving_into(exports: &str) -> (Vec<u8>, InlineReport) {
    let body = "(drop (i32.mul (i32.const 3) (i32.load (i32.const 0))))".repeat(900);
    let bytes = wat::parse_str(format!(
        r#"(module (memory 1)
            (func $panic {body})
            (func $inner (result i32) {body} (i32.const 7))
            (func $outer (result i32) {body} (call $inner))
            (func {exports} (param i32) (result i32)
                (if (i32.eqz (local.get 0)) (then (call $panic) unreachable))
                (i32.add (local.get 0) (call $outer))))"#
    ))
    .expect("test input");
    let (module, report) = inlined(&bytes);
    (module.encode(), report)
}

#[test]
fn functions_with_one_call_move_into_kernels_whatever_their_size() {
    let (bytes, report) = moving_into("(export \"f\")");
    assert_eq!((report.inlined_calls, report.moved_functions), (2, 2));
    let module = parse(&bytes);
    assert_eq!(calls(&module, 3), 1, "what is not expected to return stays");
    assert_eq!(call(&module, 3), 10);
    // An entry of a program is no kernel, whatever else its names are.
    for exports in [
        "(export \"main\")",
        "(export \"_start\") (export \"f\")",
        "(export \"f\") (export \"_start\")",
    ] {
        assert_eq!(moving_into(exports).1.moved_functions, 0, "{exports}");
    }
}

#[test]
fn kernels_have_a_limit() {
    let body = "(drop (i32.mul (i32.const 3) (i32.load (i32.const 0))))".repeat(3_000);
    let bytes = wat::parse_str(format!(
        "(module (memory 1) (func $large {body}) (func (export \"f\") (call $large)))"
    ))
    .expect("test input");
    assert_eq!(inlined(&bytes).1.moved_functions, 0);
    // One of two fits. The other does not become larger either, for it stays a function.
    let (inner, outer) = (&body[..body.len() / 4 * 3 / 2], &body[..body.len() / 2]);
    let [inner, outer] = [inner, outer].map(|part| &part[..part.rfind("(drop").expect("a whole one")]);
    let bytes = wat::parse_str(format!(
        "(module (memory 1) (func $inner {inner} {inner}) (func $outer {outer} (call $inner))
           (func (export \"f\") (call $outer)))"
    ))
    .expect("test input");
    let (module, report) = inlined(&bytes);
    assert_eq!(report.moved_functions, 1);
    assert_eq!(
        (calls(&module, 1), calls(&module, 2)),
        (1, 1),
        "the outer one moved, with its call"
    );
}

#[test]
fn what_moves_is_charged_what_is_new() {
    // Six parameters to set and a local that must be zero: eight instructions; the body stays 40.
    let params = "i32 i32 i32 i32 i32 i32";
    let body = "(local.set 6 (i32.add (local.get 6) (local.get 0)))".repeat(10);
    let bytes = wat::parse_str(format!(
        r#"(module (func $callee (param {params}) (local i32) {body})
            (func (export "f") (loop
                (call $callee (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5) (i32.const 6)))))"#,
    ))
    .expect("test input");
    for (growth_base, moved) in [(7, 0), (8, 1)] {
        let options = InlineOptions {
            growth_percent: 0,
            growth_base,
            ..InlineOptions::default()
        };
        let report = inline(&mut parse(&bytes), &options);
        assert_eq!(report.moved_functions, moved, "{growth_base}: {report:?}");
        assert!(report.instrs_after <= report.instrs_before + u64::from(growth_base));
    }
}
