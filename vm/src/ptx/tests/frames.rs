//! Which frames of the shadow stack are kept in local memory.

use super::{Options, text_alone_with};
use crate::ptx::LocalFrames;

/// Bytes that a function with this body keeps in local memory, wherever it can or where it pays. It has an address
/// `$p`, which is the lowest one of 32 bytes, and `$x`, which is none.
fn kept(body: &str, local_frames: LocalFrames) -> u32 {
    kept_beside("", body, local_frames)
}

/// The same beside other functions.
fn kept_beside(functions: &str, body: &str, local_frames: LocalFrames) -> u32 {
    let text = text_beside(functions, body, local_frames);
    let (_, kernel) = text.split_once(".visible .entry").expect("a kernel");
    let size = kernel.split_once(" .b8 frame[").map(|(_, rest)| rest.split(']').next());
    size.flatten().map_or(0, |bytes| bytes.parse().expect("a number"))
}

/// The PTX of it.
fn text_beside(functions: &str, body: &str, local_frames: LocalFrames) -> String {
    let module = format!(
        r#"(module (memory 1) (table 1 funcref)
            (global $__stack_pointer (mut i32) (i32.const 4096)) (global $other (mut i32) (i32.const 0))
            (func $use (param i32)) {functions}
            (func (export "f") (param $x i32) (result i32) (local $p i32) (local $q i32)
                (global.set 0 (local.tee $p (i32.sub (global.get 0) (i32.const 32))))
                {body}
                (global.set 0 (i32.add (local.get $p) (i32.const 32)))
                (local.get $x)))"#
    );
    let options = Options {
        local_frames,
        ..Options::default()
    };
    text_alone_with(&module, options)
}

#[test]
fn a_frame_whose_addresses_stay_in_the_function_is_kept() {
    for body in [
        "(i32.store (local.get $p) (local.get $x))",
        "(local.set $x (i32.load offset=4 (i32.add (local.get $p) (i32.shl (local.get $x) (i32.const 2)))))",
        // What is compared or loaded is no address.
        "(i32.store (local.get $p) (i32.lt_u (local.get $p) (local.get $x)))",
        "(call $use (i32.load (local.get $p)))",
        // Nor does an instruction keep one that reads or writes a range.
        "(memory.fill (local.get $p) (i32.const 1) (i32.const 32))",
        "(memory.copy (local.get $p) (local.get $x) (i32.const 16))",
        "(if (local.get $p) (then (call $use (local.get $x))))",
    ] {
        assert_eq!(kept(body, LocalFrames::Always), 32, "{body}");
        assert_eq!(kept(body, LocalFrames::Never), 0, "{body}");
    }
}

#[test]
fn a_frame_of_which_an_address_escapes_is_until_then() {
    for body in [
        "(i32.store (local.get $x) (local.get $p))",
        "(i32.store (local.get $x) (i32.add (local.get $p) (i32.const 8)))",
        "(i64.store (local.get $x) (i64.extend_i32_u (local.get $p)))",
        "(i32.store8 (local.get $x) (i32.shr_u (local.get $p) (i32.const 4)))",
        "(call $use (i32.add (local.get $p) (local.get $x)))",
        "(call_indirect (param i32) (local.get $p) (i32.const 0))",
        "(global.set $other (local.get $p))",
        "(local.set $x (local.get $p))",
        "(local.set $x (select (local.get $x) (local.get $p) (local.get $x)))",
        "(drop (i32.atomic.rmw.add (local.get $x) (local.get $p)))",
        "(drop (i32.atomic.rmw.add (local.get $p) (local.get $x)))",
        "(memory.fill (local.get $x) (local.get $p) (i32.const 1))",
        "(i32.store (local.get $x) (i32.reinterpret_f32 (f32.neg (f32.reinterpret_i32 (local.get $p)))))",
        "(i32.store (local.get $x) (i32x4.extract_lane 0 (i32x4.neg (i32x4.splat (local.get $p)))))",
        // On one of two paths, and after a loop has gone round.
        "(if (local.get $x) (then (local.set $q (local.get $p)))) (i32.store (local.get $x) (local.get $q))",
        "(loop (i32.store (local.get $x) (local.get $q)) (local.set $q (local.get $p)) (br_if 0 (local.get $x)))",
    ] {
        assert_eq!(kept(body, LocalFrames::Auto), 0, "{body}");
        assert_eq!(kept(body, LocalFrames::Always), 32, "{body}");
        // From there on local memory holds none.
        assert!(
            text_beside("", body, LocalFrames::Always).contains("mov.b32 %frame_size, 0;"),
            "{body}"
        );
    }
}

/// Code before the escape that accesses it often is worth that.
#[test]
fn it_pays_where_loops_access_the_frame_before_an_escape() {
    let looped = "(loop (i32.store (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 28))) (local.get $x))
                        (i32.store (local.get $p) (local.get $x)) (i32.store offset=8 (local.get $p) (local.get $x))
                        (i32.store offset=16 (local.get $p) (local.get $x))
                        (br_if 0 (local.tee $x (i32.sub (local.get $x) (i32.const 1)))))";
    assert_eq!(
        kept(&format!("{looped} (call $use (local.get $p))"), LocalFrames::Auto),
        32
    );
    assert_eq!(
        kept(&format!("(call $use (local.get $p)) {looped}"), LocalFrames::Auto),
        0
    );
}

/// Functions that call nothing need not set the stack pointer.
#[test]
fn bytes_below_the_stack_pointer_are_kept() {
    let near = "(local.set $q (i32.sub (global.get 0) (i32.const 128))) (i32.store (local.get $q) (local.get $x))";
    assert_eq!(kept(near, LocalFrames::Always), 160);
    let far = near.replace("128", "144");
    assert_eq!(kept(&far, LocalFrames::Always), 32);
}

/// As functions that were inlined have theirs.
#[test]
fn a_frame_below_one_of_which_an_address_escapes_is_kept() {
    let inner = |inside: &str| {
        format!(
            "(call $use (local.get $p))
             (global.set 0 (local.tee $q (i32.sub (global.get 0) (i32.const 64))))
             (i32.store (local.get $q) (local.get $x)) {inside}
             (global.set 0 (i32.add (local.get $q) (i32.const 64)))"
        )
    };
    assert_eq!(kept(&inner(""), LocalFrames::Always), 64);
    assert_eq!(kept(&inner("(call $use (local.get $q))"), LocalFrames::Auto), 0);
}

#[test]
fn a_stack_pointer_of_unknown_distance_keeps_none() {
    for body in [
        "(global.set 0 (i32.sub (local.get $p) (local.get $x)))",
        "(global.set 0 (i32.add (local.get $p) (i32.const 64)))",
        "(global.set 0 (i32.sub (local.get $p) (i32.const 4096)))",
    ] {
        let body = format!("{body} (i32.store (local.get $p) (local.get $x)) (global.set 0 (local.get $p))");
        assert_eq!(kept(&body, LocalFrames::Always), 0, "{body}");
    }
}

#[test]
fn no_frame_is_kept_where_a_function_hands_the_stack_pointer_out() {
    let body = "(i32.store (local.get $p) (local.get $x)) (drop (call $other)) (global.set 0 (local.get $p))";
    for (functions, bytes) in [
        ("(func $other (result i32) (global.get 0))", 0),
        (
            "(func $other (result i32) (i32.store (i32.const 8) (global.get 0)) (i32.const 1))",
            0,
        ),
        (
            "(func $other (result i32) (global.set 0 (i32.sub (global.get 0) (i32.const 16))) (i32.const 1))",
            0,
        ),
        // In a value that may also be an address of its own frame.
        (
            "(func $other (result i32) (local $p i32) (local $s i32)
                (global.set 0 (local.tee $p (i32.sub (local.tee $s (global.get 0)) (i32.const 16))))
                (i32.store (i32.const 8) (select (local.get $p) (local.get $s) (i32.load (i32.const 4))))
                (global.set 0 (i32.add (local.get $p) (i32.const 16))) (i32.const 1))",
            0,
        ),
        (
            "(func $other (result i32) (i32.load (i32.sub (global.get 0) (i32.const 16))))",
            32,
        ),
    ] {
        assert_eq!(kept_beside(functions, body, LocalFrames::Always), bytes, "{functions}");
    }
}

#[test]
fn it_pays_where_loops_access_the_frame_more_often_than_it_is_copied() {
    let access = "(i32.store (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 28))) (local.get $x))";
    let looped = |body: &str| {
        let count = "(local.tee $x (i32.sub (local.get $x) (i32.const 1)))";
        format!("(loop (local.set $q (i32.add (local.get $q) (local.get $x))) {body} (br_if 0 {count}))")
    };
    assert_eq!(kept(access, LocalFrames::Auto), 0);
    assert_eq!(kept(&looped(access), LocalFrames::Auto), 32);
    // Each call has to find it in memory.
    let call = format!("{access} (call $use (local.get $x))");
    assert_eq!(kept(&looped(&call), LocalFrames::Auto), 0);
    let inner = format!("{} (call $use (local.get $x))", looped(&looped(access)));
    assert_eq!(kept(&looped(&inner), LocalFrames::Auto), 32);
}

/// Of a loop whose passes are known, it is known too which accesses lie in the frame. Those do not look.
#[test]
fn accesses_of_a_counted_loop_are_known_to_lie_in_the_frame() {
    let known_after = |before: &str, passes: &str, body: &str| {
        let module = format!(
            r#"(module (memory 1)
                (global $__stack_pointer (mut i32) (i32.const 4096))
                (func $use (param i32))
                (func (export "f") (param $x i32) (result i32) (local $p i32) (local $q i32) (local $i i32)
                    (global.set 0 (local.tee $p (i32.sub (global.get 0) (i32.const 32))))
                    {before}
                    (loop $again {body}
                        (local.set $i (i32.add (local.get $i) (i32.const 1)))
                        (br_if $again (i32.ne (local.get $i) {passes})))
                    (global.set 0 (i32.add (local.get $p) (i32.const 32)))
                    (i32.load (local.get $p))))"#
        );
        let options = Options {
            local_frames: LocalFrames::Always,
            ..Options::default()
        };
        text_alone_with(&module, options).contains(", %frame_less_low, ")
    };
    let known = |passes: &str, body: &str| known_after("(local.set $q (local.get $p))", passes, body);
    let eight = "(i32.const 8)";
    let at = "(i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2)))";
    let store = &format!("(i32.store {at} (local.get $x))");
    let walk = "(i32.store (local.get $q) (local.get $x)) (local.set $q (i32.add (local.get $q) (i32.const 4)))";
    assert!(known(eight, store));
    assert!(known(eight, walk));
    assert!(known(
        eight,
        "(i32.store8 (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 31))) (i32.const 1))"
    ));
    // Whatever a callee leaves in the stack pointer.
    assert!(known_after("(local.set $q (global.get 0))", eight, walk));
    assert!(!known_after(
        "(call $use (local.get $x)) (local.set $q (global.get 0))",
        eight,
        walk
    ));
    // One pass more goes beyond the frame, and so does an offset.
    assert!(!known("(i32.const 9)", store));
    assert!(!known("(i32.const 9)", walk));
    assert!(!known(eight, &format!("(i32.store offset=4 {at} (local.get $x))")));
    assert!(!known("(local.get $x)", store));
    // Any access that is neither in the frame nor outside ends that local memory holds it.
    assert!(!known(
        eight,
        &format!("{store} (i32.store (local.get $x) (local.get $i))")
    ));
    assert!(known(
        eight,
        &format!("{store} (i32.store8 (local.get $x) (local.get $i))")
    ));
    // The sum of an address and an offset does not wrap, and may be beyond memory.
    let far = "(i32.sub (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2))) (i32.const 4000))";
    assert!(!known(eight, &format!("(i32.store offset=4000 {far} (local.get $x))")));
    // Whatever else changes an address.
    assert!(!known(
        eight,
        &format!("{walk} (if (local.get $x) (then (local.set $q (local.get $x))))")
    ));
    assert!(!known(eight, &format!("{walk} {walk}")));
}
