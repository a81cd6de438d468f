//! Exceptions, and what is known where they are caught.

use super::{part, text_alone};
use crate::layout::Context;

/// After a handler the budget is read from where a callee that loops would have left it.
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
