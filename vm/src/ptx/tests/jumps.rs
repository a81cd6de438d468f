//! Branches and loops.

use std::sync::Arc;
use std::time::Duration;

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Clause, Op, Try};

use super::super::blocks::{block_starts, reached_by_branches};
use super::{Options, body, compiled, handmade, handmade_in, text, text_alone_with};
use crate::{Cpu, End, Extern, Limits, RunOptions, Store, Value};

/// The sum is its own limit: as in the interpreter, which reads the limit after the sum.
#[test]
fn a_sum_that_is_its_own_limit_does_not_branch() {
    let program = handmade(&[
        Inst::new(Op::BrI32AddNe, &[0, 0, 1, 0, 3]),
        Inst::new(Op::Return, &[2, 0, 1]),
        Inst::new(Op::Return, &[2, 1, 1]),
    ]);
    let text = compiled(
        &program,
        Options {
            exports: true,
            ..Options::default()
        },
    )
    .text;
    assert!(body(&text, 0).contains("setp.ne.u32 %p1, %r0, %r0;"), "{text}");
    let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
    let options = RunOptions::default();
    let mut silent = |_, _, _: &[u8]| {};
    let instance = store
        .instantiate(Arc::new(program), |_, _| None, &options, &mut silent)
        .unwrap();
    let Some(Extern::Func(function)) = store.export(instance, "f") else {
        panic!("it is exported");
    };
    let outcome = store
        .run(function, &[Value::I32(5), Value::I32(77)], &options, &mut silent)
        .unwrap();
    assert!(matches!(outcome.end, End::Returned), "{outcome:?}");
    assert_eq!(outcome.results, [[Value::I32(6)]]);
}

/// A block counts at the branches that lead to it if nothing else does: not where a function begins, control falls in from
/// what is no branch, or an exception goes on.
#[test]
fn what_branches_alone_lead_to_is_known() {
    let module = "(module (tag (param i32)) (func (export \"f\") (param i32 i32) (result i32) unreachable))";
    let code = [
        // Words 1 and 2; the loop at 3 begins after what is no branch.
        Inst::new(Op::Const32, &[4, 1]),
        Inst::new(Op::Const32, &[5, 1]),
        Inst::new(Op::BrUnless, &[1, 4]),
        Inst::new(Op::Throw, &[4, 1, 0]),
        Inst::new(Op::Jump, &[-3]),
        // Word 7, where the branch at 3 leads, then 8 and 9.
        Inst::new(Op::BrIf, &[0, 2]),
        Inst::new(Op::Return, &[2, 0, 1]),
        Inst::new(Op::Return, &[2, 0, 1]),
    ];
    let handler = Try {
        start: 4,
        end: 6,
        clauses: vec![Clause {
            tag: None,
            reference: false,
            unit: 0,
            target: 9,
        }],
    };
    let program = handmade_in(&code, module, &[handler]);
    assert_eq!(block_starts(&program), [[1, 3, 4, 6, 7, 8, 9]]);
    assert_eq!(reached_by_branches(&program), [4, 6, 7, 8]);
}

/// What is thrown in a loop may be put into the unit that the loop counts: then it does not know its passes.
#[test]
fn a_loop_that_throws_does_not_know_its_passes() {
    let module = "(module (tag (param i32)) (func (export \"f\") (param i32 i32) (result i32) unreachable))";
    let code = [
        Inst::new(Op::Const32, &[4, 1]),
        // The loop begins at word 2. What is thrown at word 3 is put into unit 0, and counted at word 5.
        Inst::new(Op::BrUnless, &[1, 3]),
        Inst::new(Op::Throw, &[4, 1, 0]),
        Inst::new(Op::BrI32AddNeImm, &[0, 0, -1, 0, -3]),
        Inst::new(Op::Return, &[2, 0, 1]),
    ];
    let handler = Try {
        start: 3,
        end: 5,
        clauses: vec![Clause {
            tag: Some(0),
            reference: false,
            unit: 0,
            target: 5,
        }],
    };
    let options = Options {
        exports: true,
        ..Options::default()
    };
    let text = compiled(&handmade_in(&code, module, &[handler]), options).text;
    assert!(body(&text, 0).contains("gpu_run_throw"), "{text}");
    assert!(!body(&text, 0).contains("LOOP"), "{text}");
}

/// How far memory reaches beyond a pointer that moves on is not found out step by step.
#[test]
fn a_pointer_that_moves_on_is_analysed_soon() {
    let (sender, receiver) = std::sync::mpsc::channel();
    // A thread, so that the test ends if the analysis does not.
    std::thread::spawn(move || {
        let text = text(
            "(module (memory 65536)
               (func (export \"f\") (param $p i32) (param $n i32) (result i32) (local $sum i32)
                 (local.set $sum (i32.load8_u offset=0xfffffff0 (local.get $p)))
                 (loop $again
                   (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $p))))
                   (local.set $p (i32.add (local.get $p) (i32.const 1)))
                   (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
                 (local.get $sum)))",
        );
        _ = sender.send(text);
    });
    let text = receiver
        .recv_timeout(Duration::from_secs(20))
        .expect("it takes no 20 s");
    assert!(text.contains("// i32.load8_u"), "{text}");
}

/// Where several branches close a loop, lanes meet before they go on: there is one way back.
#[test]
fn a_loop_that_several_branches_close_has_one_way_back() {
    let text = text(
        "(module (func (export \"f\") (param i32) (result i32) (local i32)
           (loop $again
             (local.set 1 (i32.add (i32.mul (local.get 1) (i32.const 3)) (local.get 0)))
             (local.set 0 (i32.sub (local.get 0) (i32.const 3)))
             (if (i32.and (local.get 1) (i32.const 8))
               (then
                 (local.set 1 (i32.div_u (local.get 1) (local.get 0)))
                 (br $again)))
             (local.set 1 (i32.rem_u (local.get 1) (local.get 0)))
             (br_if $again (i32.gt_s (local.get 0) (i32.const 9))))
           (local.get 1)))",
    );
    let counts = text.matches("sub.u32 %budget, %budget, 1;").count();
    assert_eq!((counts, text.matches("LATCH_").count() > 2), (1, true), "{text}");
}

/// Passes that do not come out even are fewer than the copies, unless the loop steps over its limit.
#[test]
fn odd_passes_do_not_count_where_they_are_few() {
    let looks = |limit: &str, options: Options| {
        let module = format!(
            "(module (func (export \"f\") (param $n i32) (result i32) (local $i i32) (local $sum i32) (local $limit i32)
               (local.set $limit {limit})
               (loop $again
                 (local.set $sum (i32.add (i32.mul (local.get $sum) (local.get $i)) (local.get $i)))
                 (br_if $again
                   (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 4))) (local.get $limit))))
               (local.get $sum)))"
        );
        let text = text_alone_with(&module, options);
        assert!(text.contains("\nB1_2:\n"), "it has copies: {text}");
        text.matches(" bra POLL").count()
    };
    let options = Options::default();
    assert_eq!(looks("(i32.shl (local.get $n) (i32.const 2))", options), 1);
    assert_eq!(looks("(i32.shl (local.get $n) (i32.const 1))", options), 2);
    // A counter has room for passes that are looked at.
    let counts = Options {
        counts: true,
        ..options
    };
    assert_eq!(looks("(i32.shl (local.get $n) (i32.const 2))", counts), 2);
}
