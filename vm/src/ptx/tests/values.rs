//! NaNs that are made canonical late.

use super::{body, text};

/// The check saw canonical bits, so the access must not take the GPU's from the register.
#[test]
fn an_address_is_not_a_sum_of_what_may_be_the_gpus_nan() {
    let text = text(
        "(module (memory 1)
           (func (export \"f\") (param f32 f32) (result i32) (local $x f32)
             (local.set $x (f32.add (local.get 0) (local.get 1)))
             (i32.add
               (i32.load8_u offset=16 (i32.reinterpret_f32 (local.get $x)))
               (i32.load8_u (i32.add (i32.reinterpret_f32 (local.get $x)) (i32.const 4))))))",
    );
    let body = body(&text, 0);
    let (_, sum) = body.split_once("// f32.add ").expect("there is a sum");
    let (sum, _) = sum.trim_start().split_once(',').expect("it has a register");
    let register = format!("%{sum};");
    let addresses: Vec<&str> = body.lines().filter(|line| line.contains("cvt.u64.u32")).collect();
    assert_eq!(addresses.len(), 2, "{body}");
    assert!(!addresses.iter().any(|line| line.ends_with(&register)), "{body}");
}

/// `$x` holds what was loaded or a sum, and `$y` what was loaded or `$x`: the sum is made canonical at once.
#[test]
fn a_mixture_is_traced_to_where_it_was_made() {
    let text = text(
        "(module
           (func (export \"f\") (param $a f32) (param $kept f32) (param $c i32) (param $d i32) (result f32)
             (local $x f32) (local $y f32)
             (local.set $x (local.get $kept))
             (local.set $y (local.get $kept))
             (if (local.get $c) (then (local.set $x (f32.add (local.get $a) (local.get $a)))))
             (if (local.get $d) (then (local.set $y (local.get $x))))
             (local.get $y)))",
    );
    assert!(body(&text, 0).contains("setp.nan.f32"), "{text}");
}
