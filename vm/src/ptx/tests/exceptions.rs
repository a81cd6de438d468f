//! Exceptions, and what is known where they are caught.

use super::{body, text};

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
