//! Where lanes meet that took different ways.

use std::collections::BTreeSet;

use super::{body, compiled, part, program, text_alone_with};
use crate::ptx::Options;
use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::dominance::{Dominance, Hammock};

/// Lanes that came into a loop together go on together after it. One that is about to trap waits for none of them.
#[test]
fn lanes_meet_after_a_loop_that_calls() {
    let body = body_with_meetings(
        "(module (memory 1)
           (func $callee (export \"callee\") (param i32) (result i32) (memory.grow (local.get 0)))
           (func (export \"f\") (param i32) (result i32)
             (block $done
               (loop $again
                 (if (i32.eqz (call $callee (local.get 0))) (then unreachable))
                 (br_if $done (call $callee (local.get 0)))
                 (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
                 (br $again)))
             (local.get 0)))",
    );
    let [head] = loops(&body)[..] else {
        panic!("one loop: {body}")
    };
    let left = after(&body, &format!("LEFT{head}"));
    assert!(left.trim_start().starts_with("bar.warp.sync"), "{body}");
    // One way out: that which traps is none.
    assert_eq!(body.matches(&format!("\nOUT{head}_")).count(), 1, "{body}");
    // The mask is that of the way in, and passes come back after it.
    let (entry, pass) = after(&body, &format!("IN{head}"))
        .split_once("\nB")
        .expect("the loop's head");
    assert!(entry.contains(&format!("activemask.b32 {};", met(left))), "{body}");
    assert!(!pass.contains("bra IN"), "{body}");
}

/// The lanes of an inner loop, or at a join, wait for one that is about to trap until it ends. It must not wait for them at
/// the outer loop's end.
#[test]
fn a_lane_that_traps_waits_for_none() {
    let body = body_with_meetings(
        "(module (memory 1)
           (func $callee (export \"callee\") (param i32) (result i32) (memory.grow (local.get 0)))
           (func (export \"f\") (param i32) (result i32) (local i32)
             (loop $outer
               (local.set 1 (i32.const 9))
               (if (call $callee (local.get 0))
                 (then
                   (loop $inner
                     (if (i32.eqz (call $callee (local.get 0)))
                       (then (drop (call $callee (i32.const 7))) unreachable))
                     (br_if $inner (local.tee 1 (i32.sub (local.get 1) (call $callee (i32.const 1))))))))
               (br_if $outer (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
             (local.get 0)))",
    );
    let [outer, inner] = loops(&body)[..] else {
        panic!("two loops: {body}")
    };
    for head in [outer, inner] {
        // One way out each, to a block that does not trap.
        assert_eq!(body.matches(&format!("\nOUT{head}_")).count(), 1, "{body}");
    }
    // It meets after the calls that it makes, and nowhere else.
    let end = body.find("bra TRAP;").expect("it traps");
    let block = &body[body[..end].rfind("\nB").expect("in a block")..end];
    assert_eq!(
        block.matches("bar.warp.sync").count(),
        block.matches("call (q)").count(),
        "{block}"
    );
}

/// The body of function 1 of a module in which lanes meet.
fn body_with_meetings(wat: &str) -> String {
    let options = Options {
        exports: true,
        reconverge: true,
        ..Options::default()
    };
    body(&compiled(&program(wat), options).text, 1).to_owned()
}

/// The numbers of the loops whose lanes meet, in the order of the code.
fn loops(body: &str) -> Vec<&str> {
    let way_in = |line: &'_ str| line.starts_with("IN") && line.ends_with(':');
    let labels = body.lines().filter(|line| way_in(line));
    labels.map(|line| &line["IN".len()..line.len() - 1]).collect()
}

/// What follows a label.
fn after<'a>(body: &'a str, label: &str) -> &'a str {
    let parts = body.split_once(&format!("\n{label}:\n"));
    parts.unwrap_or_else(|| panic!("{label}: {body}")).1
}

/// A function that a lane calls.
const CALLEE: &str = "(func $callee (export \"callee\") (param i32) (result i32) (memory.grow (local.get 0)))";

/// The mask of the first meeting in some text.
fn met(text: &str) -> &str {
    let (_, mask) = text.split_once("bar.warp.sync ").expect("lanes meet");
    mask.split(';').next().expect("a mask")
}

/// Where the lanes of a mask are noted.
fn noted(text: &str, mask: &str) -> usize {
    let noted = text.find(&format!("activemask.b32 {mask};"));
    noted.expect("the lanes are noted")
}

/// The PTX of a module that is alone, in which lanes meet.
fn text_with_meetings(wat: &str) -> String {
    let options = Options {
        reconverge: true,
        ..Options::default()
    };
    text_alone_with(wat, options)
}

/// A search that ends in two ways: lanes that find the same in different passes go on together.
#[test]
fn lanes_meet_after_a_loop_with_several_ways_out() {
    let search = |first_way: &str| {
        body_with_meetings(&format!(
            "(module (memory 1) {CALLEE}
               (func (export \"f\") (param i32 i32) (result i32)
                 (block $greater
                   (loop $again
                     (if (i32.eq (i32.load (local.get 0)) (local.get 1)) (then {first_way}))
                     (br_if $greater (i32.gt_u (i32.load (local.get 0)) (local.get 1)))
                     (local.set 0 (i32.add (local.get 0) (i32.const 4)))
                     (br $again)))
                 (i32.add (local.get 0) (i32.const 1))))"
        ))
    };
    let body = search("(return (local.get 0))");
    let [head] = loops(&body)[..] else {
        panic!("one loop: {body}")
    };
    let (entry, pass) = after(&body, &format!("IN{head}")).split_once("\nB").expect("the head");
    let left = after(&body, &format!("LEFT{head}"));
    assert!(entry.contains(&format!("activemask.b32 {};", met(left))), "{body}");
    assert!(left.matches("bra EXIT").count() >= 2, "{body}");
    // Between its passes lanes do not wait.
    assert!(!pass.contains("bra PASS") && !pass.contains("bra IN"), "{body}");
    // A way that traps is none.
    let body = search("unreachable");
    assert!(loops(&body).is_empty() && !body.contains("bar.warp.sync"), "{body}");
}

/// A search, the ways after it, and what follows where they join.
fn after_search(found: &str, greater: &str) -> String {
    format!(
        "(block $join
           (block $greater
             (loop $again
               (if (i32.eq (i32.load (local.get 0)) (local.get 1)) (then {found} (br $join)))
               (br_if $greater (i32.gt_u (i32.load (local.get 0)) (local.get 1)))
               (local.set 0 (i32.add (local.get 0) (i32.const 4)))
               (br $again)))
           {greater})"
    )
}

/// Its lanes have met after the loop, and part anew.
#[test]
fn lanes_meet_where_the_ways_out_of_a_loop_join() {
    let masks = |found: &str, greater: &str| -> (String, Vec<String>) {
        let body = body_with_meetings(&format!(
            "(module (memory 1) {CALLEE}
               (func (export \"f\") (param i32 i32) (result i32)
                 {} (i32.mul (local.get 1) (i32.load (local.get 0)))))",
            after_search(found, greater)
        ));
        let met = body.split("bar.warp.sync ").skip(1);
        let met = met.map(|text| text[..text.find(';').expect("a mask")].to_owned());
        (body.clone(), met.collect())
    };
    // After the loop and at the join, those that came into the loop. None else meet: no way calls.
    let (body, met) = masks(
        "(local.set 1 (i32.const 7))",
        "(local.set 1 (i32.load offset=8 (local.get 1)))",
    );
    assert_eq!(met.len(), 2, "{body}");
    assert_eq!(met[0], met[1], "{body}");
    let join = body.find("bar.warp.sync").expect("a meeting");
    assert!(join < body.find("mul.lo").expect("a product"), "{body}");
    // One of the ways leads elsewhere.
    let (body, met) = masks(
        "(return (local.get 1))",
        "(local.set 1 (i32.load offset=8 (local.get 1)))",
    );
    assert_eq!(met.len(), 1, "{body}");
}

/// One way of a branch leads through a search. Where the ways join, all that branched meet.
#[test]
fn lanes_meet_after_a_way_with_a_search() {
    let body = body_with_meetings(&format!(
        "(module (memory 1) {CALLEE}
           (func (export \"f\") (param i32 i32 i32) (result i32)
             (if (local.get 2) (then {} (local.set 1 (i32.add (local.get 1) (i32.const 1)))))
             (i32.mul (local.get 1) (i32.load (local.get 0)))))",
        after_search("(local.set 1 (i32.const 7))", "(local.set 1 (i32.const 9))")
    ));
    let before = &body[..body.find("mul.lo").expect("a product")];
    let last = before.rfind("bar.warp.sync").expect("lanes meet");
    let mask = met(&body[last..]);
    let noted = noted(&body, mask);
    assert!(noted < body.find("\nIN").expect("a loop"), "{body}");
}

/// A loop in which nothing changes but what it loads may wait for another thread: there a lane meets itself.
#[test]
fn loops_that_may_wait_are_seen() {
    let meets = |pass: &str| {
        let body = body_with_meetings(&format!(
            "(module (memory 1) {CALLEE}
               (func (export \"f\") (param i32 i32) (result i32)
                 (loop $again {pass}) (local.get 1)))"
        ));
        let own = body.find("bar.warp.sync").map(|at| met(&body[at..]).to_owned());
        own.map(|own| body.contains(&format!("mov.u32 {own}, %lanemask_eq;")))
    };
    assert_eq!(meets("(br_if $again (i32.eqz (i32.load (local.get 0))))"), Some(true));
    let sum = "(local.set 1 (i32.add (local.get 1) (i32.load (local.get 0))))";
    assert_eq!(meets(&format!("{sum} (br_if $again (local.get 1))")), None);
    let next = "(local.set 0 (i32.add (local.get 0) (i32.const 4)))";
    assert_eq!(
        meets(&format!("{next} (br_if $again (i32.eqz (i32.load (local.get 0))))")),
        None
    );
}

/// Ways of a branch call the same, which formats: they come to one call, and one without a call meets them there.
#[test]
fn calls_of_several_ways_are_one() {
    let body = |callee: &str, first: &str, second: &str| {
        let module = format!(
            "(module (memory 1) (table 2 2 funcref) (elem (i32.const 0) $leaf $leaf)
               (type $one (func (param i32) (result i32)))
               (func $leaf (param i32) (result i32) (memory.grow (local.get 0)))
               (func (export \"f\") (param i32 i32) (result i32)
                 (block $join
                   (block $second (block $first (br_table $first $second $join (local.get 0)))
                     (local.set 1 (i32.mul (call {callee} (i32.const 40)) (i32.const 3))) {first} (br $join))
                   (local.set 1 (i32.sub (call {callee} (local.get 1)) (i32.const 5))) {second})
                 (i32.add (local.get 1) (i32.load (local.get 0))))
               (func $named (export \"named\") (param i32) (result i32) (memory.grow (i32.load (local.get 0))))
               (func $format (export \"format\") (param i32) (result i32)
                 (call_indirect (type $one) (local.get 0) (i32.load (local.get 0)))))"
        );
        text_with_meetings(&module)
    };
    let text = body("$format", "", "");
    let text = part(&text, "start_1(");
    let shared = after(text, "SHARED0");
    assert_eq!(text.matches("bra SHARED0;").count(), 3, "{text}");
    assert_eq!(text.matches("f3, (q0").count(), 1, "{text}");
    // All that branched wait there, and at the join.
    let mask = met(shared);
    assert!(text.contains(&format!("activemask.b32 {mask};")), "{text}");
    assert_eq!(text.matches(&format!("bar.warp.sync {mask};")).count(), 2, "{text}");
    // One that calls nothing through pointers, and ways on which a lane comes to two of the calls.
    assert!(!body("$named", "", "").contains("SHARED"));
    let again = "(local.set 1 (call $format (local.get 1)))";
    assert!(!body("$format", again, "").contains("SHARED"));
}

/// Lanes of which some call something on their way meet where their ways join. Those that call need not meet before.
#[test]
fn lanes_meet_where_ways_with_calls_join() {
    let branch = |way: &str| {
        body_with_meetings(&format!(
            "(module (memory 1) {CALLEE}
               (func (export \"f\") (param i32 i32) (result i32)
                 (if (local.get 0) (then {way}))
                 (i32.mul (local.get 1) (i32.load (local.get 0)))))"
        ))
    };
    let body = branch("(local.set 1 (call $callee (local.get 1)))");
    let meetings: Vec<_> = body.match_indices("bar.warp.sync").collect();
    let [(at, _)] = meetings[..] else {
        panic!("one meeting: {body}")
    };
    let mask = met(&body);
    let noted = noted(&body, mask);
    let (call, load) = (body.find("i0_f0").or(body.find("call ")), body.rfind("mul.lo"));
    assert!(Some(noted) < call && call < Some(at) && Some(at) < load, "{body}");
    // Where nothing is called, ptxas has them meet.
    let body = branch("(local.set 1 (i32.load offset=8 (local.get 1)))");
    assert!(!body.contains("bar.warp.sync"), "{body}");
    // A lane that leaves the function by one way never comes to the other's end.
    let body = branch("(return (call $callee (local.get 1)))");
    assert!(!after(&body, "B2").contains("bar.warp.sync"), "{body}");
    assert_eq!(body.matches("bar.warp.sync").count(), 1, "{body}");
}

/// A copy's length differs from lane to lane, and with it how long it takes.
#[test]
fn lanes_meet_after_copies() {
    let copy = |len: &str| {
        body_with_meetings(&format!(
            "(module (memory 1) {CALLEE}
               (func (export \"f\") (param i32 i32)
                 (memory.copy (local.get 0) (i32.const 0) {len})))"
        ))
    };
    let body = copy("(local.get 1)");
    assert!(body.contains(&format!("activemask.b32 {};", met(&body))), "{body}");
    // Few bytes become loads and stores.
    let body = copy("(i32.const 8)");
    assert!(!body.contains("bar.warp.sync"), "{body}");
}

/// In a function that recurses, a warp takes a lane that waits for one that waits with another mask. So lanes meet only where
/// no such one can be, and not after copies, which would cost more than it brings.
#[test]
fn lanes_of_a_recursion_meet_where_nothing_leads_back() {
    let meets = |loops: &str| {
        let body = body_with_meetings(&format!(
            "(module (memory 1) {CALLEE}
               (func $f (export \"f\") (param i32 i32) (result i32)
                 (if (local.get 0) (then (local.set 1 (call $f (i32.sub (local.get 0) (i32.const 1)) (local.get 1)))))
                 (memory.copy (local.get 0) (i32.const 0) (local.get 1))
                 (loop $again {loops} (br_if $again (local.tee 1 (i32.sub (local.get 1) (i32.const 1)))))
                 (local.get 1)))"
        ));
        (body.matches("\nMEET").count(), body.matches("bar.warp.sync").count())
    };
    assert_eq!(meets(""), (0, 0));
    // After the call, after the pass, and after the loop.
    assert_eq!(meets("(drop (call $callee (local.get 1)))"), (1, 3));
    // The call of the function itself is in the loop.
    let twice = "(drop (call $callee (local.get 1))) (drop (call $f (i32.const 0) (local.get 1)))";
    assert_eq!(meets(twice), (0, 1));
    // A lane that is about to trap calls the function.
    let traps = "(drop (call $callee (local.get 1)))
        (if (i32.eq (local.get 1) (i32.const 9)) (then (drop (call $f (i32.const 0) (local.get 1))) unreachable))";
    assert_eq!(meets(traps), (0, 1));
}

/// A way that leads back to a branch, or into a loop without an end, does not lead to the join after it: lanes there would
/// wait for one that comes by a later pass, or never.
#[test]
fn lanes_do_not_wait_for_one_that_goes_elsewhere_first() {
    let joins = |way: &str| {
        let program = program(&format!(
            "(module (memory 1) {CALLEE}
               (func (export \"f\") (param i32 i32) (result i32)
                 (loop $again
                   (local.set 1 (i32.sub (local.get 1) (i32.const 1)))
                   (if (local.get 0) (then (local.set 0 (call $callee (local.get 1))) {way}))
                   (br_if $again (call $callee (local.get 1))))
                 (local.get 0)))"
        ));
        let cfg = Cfg::new(&program, &program.meta.functions[1]);
        Dominance::of(&cfg, &cfg.dead_ends())
            .expect("no cycles")
            .hammocks()
            .len()
    };
    assert_eq!(joins(""), 1);
    assert_eq!(joins("unreachable"), 0);
    assert_eq!(joins("(br $again)"), 0);
    assert_eq!(joins("(if (local.get 0) (then (loop $for_ever (br $for_ever))))"), 0);
}

/// A lane that goes on in the interpreter may never come to the join: those that wait for it would wait for ever.
#[test]
fn lanes_do_not_wait_for_one_that_leaves_compiled_code() {
    let program = program(
        "(module (func (export \"f\") (param i32 i32) (result i32)
           (if (local.get 0)
             (then (local.set 1 (i32.div_u (local.get 1) (local.get 0))))
             (else (local.set 1 (i32.rem_u (local.get 0) (local.get 1)))))
           (i32.add (local.get 1) (local.get 0))))",
    );
    let function = &program.meta.functions[0];
    let mut cfg = Cfg::new(&program, function);
    let hammocks = |cfg: &Cfg| -> Vec<Hammock> { Dominance::of(cfg, &cfg.dead_ends()).expect("no cycles").hammocks() };
    let found = hammocks(&cfg);
    let [hammock] = &found[..] else {
        panic!("one branch, not {}", found.len())
    };
    assert_eq!((hammock.branch, hammock.between.len()), (0, 2));
    let first = *hammock.between.first().expect("two ways");
    cfg.leave_out(&BTreeSet::from([cfg.first_word(first)]));
    assert!(hammocks(&cfg).is_empty());
    // Nor does one wait that came in by the way, from there.
    let mut cfg = Cfg::new(&program, function);
    cfg.entries.push(first);
    assert!(hammocks(&cfg).is_empty());
}

/// Warps of a kernel with much code step together: in each pass, and on the way through it.
#[test]
fn warps_of_a_large_kernel_step_together() {
    let kernel = |copies: usize| {
        let copies = "(memory.copy (local.get 0) (local.get 1) (local.get 0))".repeat(copies);
        let module = format!(
            "(module (memory 1)
               (func (export \"f\") (param i32 i32)
                 (loop $again
                   (if (local.get 0) (then {copies}))
                   (if (local.get 1) (then {copies}))
                   (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"
        );
        text_with_meetings(&module)
    };
    let steps = |text: &str| {
        let calls = text.split("{\n\t.param .b32 q0;\n\tst.param.b32 [q0], ").skip(1);
        let calls = calls.filter(|call| call.lines().nth(1) == Some("\tcall gpu_run_step, (q0);"));
        let numbers = calls.filter_map(|call| call.split(';').next().map(str::to_owned));
        numbers.collect::<Vec<_>>()
    };
    let text = kernel(20);
    // The passes are written after the loop.
    assert_eq!(steps(&text), ["1", "2", "0"], "{text}");
    assert_eq!(steps(&kernel(4)).len(), 0);
}
