//! Exceptions, and what is known where they are caught.

use super::{body, part, text, text_alone};
use crate::layout::Context;

/// Behind the call, `r6` holds the sum or what was thrown: the sum's NaN is made canonical, though what was
/// thrown has bits that stay.
#[test]
fn what_a_handler_gets_is_not_known_where_nothing_was_thrown() {
    let text = text(
        "(module (tag $e (param f32))
           (func $may_throw (param i32) (if (local.get 0) (then (throw $e (f32.const 1)))))
           (func (export \"sum\") (param f32 f32 i32) (result f32)
             (block $caught (result f32)
               (f32.add (local.get 0) (local.get 1))
               (try_table (param f32) (result f32) (catch $e $caught) (call $may_throw (local.get 2))))))",
    );
    assert!(body(&text, 1).contains("setp.nan.f32"), "{text}");
}

/// A lane that sees the stop flag gives back the exceptions that its thread has, where it may have some.
#[test]
fn lanes_that_may_hold_exceptions_stop_in_the_runtime() {
    let text = |block: &str| {
        text_alone(&format!(
            "(module (tag $e)
               (func $throw (throw $e))
               (func (export \"loop\") (param i32)
                 (loop $again
                   {block}
                   (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"
        ))
    };
    let without = text("(block $caught (try_table (catch $e $caught) (call $throw)))");
    // Only where the flag is set.
    assert!(without.contains("ld.relaxed.gpu.global.b32"), "{without}");
    assert!(without.contains("exit;\nGO_ON"), "{without}");
    let with =
        text("(drop (block $caught (result exnref) (try_table (catch_all_ref $caught) (call $throw)) unreachable))");
    assert!(with.contains("call gpu_run_poll") && !with.contains("GO_ON"), "{with}");
}

/// A function that can be called through a table has a status because another one may throw. Who calls it, and
/// knows that it does not throw, has none.
#[test]
fn a_caller_without_status_has_none_to_give() {
    let text = text_alone(
        "(module (tag $e) (table funcref (elem $quiet $throws))
           (func $quiet)
           (func $throws (throw $e))
           (func $caller (call $quiet))
           (func (export \"f\") (call $caller) (call_indirect (i32.const 0))))",
    );
    assert!(part(&text, "f0(").contains("st.param.b32 [ret], 0;"), "{text}");
    let caller = part(&text, "f2(");
    assert!(caller.contains("THROWN_"), "{caller}");
    assert!(!caller.contains("[ret]") && caller.contains("exit;"), "{caller}");
}

/// Behind a handler the budget is read from where a callee that loops would have left it.
#[test]
fn the_budget_is_kept_for_a_callee_that_throws() {
    let text = text_alone(
        "(module (tag $e)
           (func $throws (throw $e))
           (func $caller (param i32)
             (loop $again
               (block $caught (try_table (catch $e $caught) (call $throws)))
               (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
           (func (export \"f\") (param i32) (call $caller (local.get 0)) (call $caller (local.get 0))))",
    );
    let caller = part(&text, "f1(");
    let polls = std::mem::offset_of!(Context, polls);
    let at = |what: String| caller.find(&what).unwrap_or_else(|| panic!("no `{what}` in {caller}"));
    let (kept, called) = (at(format!("[%local+{polls}], %budget;")), at("call (q), f0".into()));
    let caught = caller.rfind(&format!("%budget, [%local+{polls}]"));
    assert!(
        kept < called && caught.is_some_and(|caught| called < caught),
        "{caller}"
    );
}
