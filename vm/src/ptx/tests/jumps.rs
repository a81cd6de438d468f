//! Branches and loops.

use std::sync::Arc;

use gpu_run_bytecode::Op;
use gpu_run_bytecode::code::Inst;

use super::{Options, body, compiled, handmade};
use crate::{Cpu, End, Extern, Limits, RunOptions, Store, Value};

/// The sum is its own limit: as in the interpreter, which reads the limit behind the sum.
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
