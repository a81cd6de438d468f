//! Functions that keep their frame of the shadow stack in local memory do what they do in the interpreter: random ones,
//! which access the frame, its edges, what lies below it and around it at every alignment, by addresses from the stack pointer
//! and from nowhere, in loops, between calls that look at the stack, before and after one that keeps an address, and before
//! traps.

mod support;

use std::fmt::Write;

use gpu_run_vm::{End, Value};
use support::{compiled, program, same};

/// Where the stack begins mostly, and what the functions look at in the end.
const TOP: u32 = 4096;
/// Where it begins else: so near to address 0 or memory's end, so far beyond it, or so crooked, that local memory holds no
/// frame, or only just.
const OTHER_TOPS: [u32; 7] = [400, 1104, 1200, 4100, 65536, 65544, 65600];
const LOOKED_AT: std::ops::Range<u32> = 3400..4600;

/// Xorshift, by Marsaglia.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// An address in a frame of `bytes` bytes, or a few bytes outside of it, in `depth` loops.
fn address(random: &mut Random, bytes: u32, depth: u32) -> String {
    let width = bytes + 24;
    // What a loop counts, from the frame's begin or back from its end.
    if depth > 0 && random.below(2) == 0 {
        let (i, factor) = (random.below(depth), random.pick(&[1, 2, 4, 8, 8]));
        let at = format!("(i32.mul (local.get $i{i}) (i32.const {factor}))");
        return match random.below(3) {
            0 => format!("(i32.add (local.get $fp) {at})"),
            1 => format!(
                "(i32.add (i32.add (local.get $fp) (i32.const {})) {at})",
                8 * random.below(bytes / 8)
            ),
            _ => format!("(i32.sub (i32.add (local.get $fp) (i32.const {bytes})) {at})"),
        };
    }
    match random.below(5) {
        // Below the stack pointer, as functions access it that call nothing.
        4 => format!("(i32.sub (local.get $fp) (i32.const {}))", 4 * (1 + random.below(32))),
        // Known to the compiler, most of them aligned.
        0 => format!("(i32.add (local.get $fp) (i32.const {}))", 8 * random.below(bytes / 8)),
        1 => format!(
            "(i32.add (local.get $fp) (i32.const {}))",
            random.below(width) as i32 - 12
        ),
        2 => {
            format!("(i32.sub (i32.add (local.get $fp) (i32.rem_u (local.get $x) (i32.const {width}))) (i32.const 12))")
        }
        // No address of the frame, as far as anyone can tell.
        _ => format!(
            "(i32.add (i32.const {}) (i32.and (i32.rem_u (local.get $x) (i32.const {width})) (i32.const {})))",
            TOP - bytes - 16,
            random.pick(&[-1, -4, -8])
        ),
    }
}

/// A loop that loads from one part of a frame of `bytes` bytes and stores to another one, which may overlap. After that it loads
/// once more.
fn stream(random: &mut Random, bytes: u32, depth: u32) -> String {
    let (passes, i) = (
        random.pick(&[2, 3, 4, 4, 5, 6, 8, 8, 12, 13, 16, 31]),
        format!("(local.get $i{depth})"),
    );
    // From the frame's begin or one of its words, most of them so that all passes lie inside.
    let place = |random: &mut Random| {
        let factor = random.pick(&[0, 1, 1, 2, 2, 4, 4, 4, 8, -4]);
        let begin = 4 * random.below(bytes / 4) + if factor < 0 { 4 * passes } else { 0 };
        (begin as i32, factor)
    };
    let at = |(begin, factor): (i32, i32)| {
        format!("(i32.add (i32.add (local.get $fp) (i32.const {begin})) (i32.mul {i} (i32.const {factor})))")
    };
    let stored = place(random);
    let load = |random: &mut Random| {
        let load = random.pick(&["i32.load", "i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u"]);
        // Often beside what is stored in this pass or another one.
        let from = match random.below(2) {
            0 => place(random),
            _ => ((stored.0 + random.pick(&[-8, -4, 0, 0, 4, 8])).max(0), stored.1),
        };
        format!("({load} offset={} {})", random.pick(&[0, 0, 4]), at(from))
    };
    let (first, second) = (load(random), load(random));
    let store = random.pick(&["i32.store", "i32.store", "i32.store8", "i32.store16"]);
    let to = at(stored);
    format!(
        "(local.set $i{depth} (i32.const 0)) (loop $s{depth}
            ({store} {to} (i32.add (local.get $x) {first}))
            (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 31)) {second}))
            (local.set $i{depth} (i32.add {i} (i32.const 1))) (br_if $s{depth} (i32.ne {i} (i32.const {passes}))))"
    )
}

/// Whether an access of the frame is known to be one: its address is computed from that of memory.
fn accesses_are_known(code: &str) -> bool {
    let mut lines = code.lines();
    lines.any(|line| line.ends_with(", %frame_less_low;") || line.contains(", %frame_less_low, "))
}

/// Whether code computes an address of the frame for loads of several passes: the constant first, and then what it is added to.
fn loads_early(code: &str) -> bool {
    let mut lines = code.lines().zip(code.lines().skip(1));
    lines.any(|(line, next)| {
        let constant = line.strip_prefix("\tmov.b32 %w").and_then(|rest| rest.split_once(", "));
        let Some((word, number)) = constant.filter(|(_, number)| number.starts_with(|c: char| c.is_ascii_digit()))
        else {
            return false;
        };
        number.ends_with(';')
            && (next.contains(&format!("%w{word}, %w{word}, %r")) || next.contains(&format!(", %w{word};")))
    })
}

/// Whether an access of the frame loads for several passes: it is taken apart.
fn loads_side_by_side(code: &str) -> bool {
    code.contains("bfe.")
}

/// A statement, of which some hold others.
fn statement(random: &mut Random, bytes: u32, depth: u32, out: &mut String) {
    let mut at = address(random, bytes, depth);
    let mut offset = random.pick(&[0, 0, 0, 1, 4, 8]);
    if random.below(20) == 0 {
        // Further than the frame may be from address 0, or from an index that wraps around to it.
        offset = random.pick(&[1024, 1032, 4000]);
        let back = if random.below(4) == 0 { 8 } else { offset };
        at = format!("(i32.sub {at} (i32.const {back}))");
    }
    let mix = "(local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1664525)) (i32.const 1013904223)))";
    _ = match random.below(14) {
        13 if random.below(4) == 0 => writeln!(out, "(call $keep {at})"),
        13 => writeln!(
            out,
            "(i32.store (i32.and (i32.load (i32.const 16)) (i32.const 8191)) (local.get $x))"
        ),
        12 if depth < 3 => writeln!(out, "{}", stream(random, bytes, depth)),
        0 => writeln!(out, "(i32.store offset={offset} {at} (local.get $x))"),
        1 => writeln!(
            out,
            "(i64.store offset={offset} {at} (i64.mul (i64.extend_i32_u (local.get $x)) (i64.const 0x9e3779b97f4a7c15)))"
        ),
        2 => writeln!(out, "(i32.store8 offset={offset} {at} (local.get $x))"),
        3 => writeln!(out, "(i32.store16 offset={offset} {at} (local.get $x))"),
        4 => writeln!(
            out,
            "(f64.store offset={offset} {at} (f64.convert_i32_s (local.get $x)))"
        ),
        5 => {
            let load = random.pick(&["i32.load", "i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u"]);
            writeln!(
                out,
                "(local.set $x (i32.xor (local.get $x) ({load} offset={offset} {at})))"
            )
        }
        6 => {
            let load = random.pick(&[
                "i64.load",
                "i64.load32_s",
                "i64.load32_u",
                "i64.load8_s",
                "i64.load16_u",
            ]);
            writeln!(
                out,
                "(local.set $y (i64.add (local.get $y) ({load} offset={offset} {at})))"
            )
        }
        7 => writeln!(out, "(local.set $x (call $look (local.get $x)))"),
        8 if random.below(12) == 0 => writeln!(
            out,
            "(if (i32.eqz (i32.and (local.get $x) (i32.const 7))) (then unreachable))"
        ),
        8 => {
            let len = match random.below(3) {
                0 => format!("(i32.and (local.get $x) (i32.const {}))", random.pick(&[31, 60, 124])),
                _ => format!("(i32.const {})", random.below(40)),
            };
            writeln!(out, "(memory.fill {at} (local.get $x) {len})")
        }
        9 => {
            let from = match random.below(4) {
                // Far from the frame.
                0 => format!("(i32.const {})", random.pick(&[3500, 3501, 65500])),
                _ => address(random, bytes, depth),
            };
            let len = match random.below(3) {
                0 => random.below(40),
                1 => 4 * random.below(12),
                _ => 8 * random.below(bytes / 8),
            };
            writeln!(out, "(memory.copy {at} {from} (i32.const {len}))")
        }
        _ if depth < 3 => {
            // Many of the outermost loop only, so that it does not take long.
            let passes = random.pick(&[1, 2, 3, 4, 5, 7, 8, 12, 17]);
            let (i, passes) = (depth, if depth == 0 { passes } else { passes.min(5) });
            // Down to 0, or up from there.
            let (from, step, more) = match random.below(2) {
                0 => (passes, -1, format!("(local.get $i{i})")),
                _ => (0, 1, format!("(i32.ne (local.get $i{i}) (i32.const {passes}))")),
            };
            _ = writeln!(out, "(local.set $i{i} (i32.const {from})) (loop $l{i} {mix}");
            for _ in 0..=random.below(4) {
                statement(random, bytes, depth + 1, out);
            }
            writeln!(
                out,
                "(local.set $i{i} (i32.add (local.get $i{i}) (i32.const {step}))) (br_if $l{i} {more}))"
            )
        }
        _ => writeln!(out, "{mix}"),
    };
}

/// A module with a random function, one that reads the stack and leaves traces below it, and one that sums the stack up,
/// also after a trap.
fn module(random: &mut Random) -> String {
    let bytes = 8 * (2 + random.below(20));
    let top = match random.below(8) {
        0 => random.pick(&OTHER_TOPS),
        _ => TOP,
    };
    let mut body = String::new();
    for _ in 0..4 + random.below(10) {
        statement(random, bytes, 0, &mut body);
    }
    let (first, last) = (LOOKED_AT.start, LOOKED_AT.end);
    format!(
        r#"(module (memory 1)
        (global $__stack_pointer (mut i32) (i32.const {top}))
        (func $look (param $x i32) (result i32) (local $fp i32) (local $i i32)
            (global.set $__stack_pointer (local.tee $fp (i32.sub (global.get $__stack_pointer) (i32.const 32))))
            (i32.store offset=8 (local.get $fp) (local.get $x))
            (loop $l
                (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 31))
                    (i32.load (i32.add (local.get $fp) (local.get $i)))))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4))) (i32.const 256))))
            (i32.store (i32.add (local.get $fp) (i32.and (local.get $x) (i32.const 252))) (local.get $x))
            (global.set $__stack_pointer (i32.add (local.get $fp) (i32.const 32)))
            (local.get $x))
        (func $keep (param $at i32) (i32.store (i32.const 16) (local.get $at)))
        (func (export "f") (param $x i32) (result i32)
            (local $fp i32) (local $y i64) (local $i0 i32) (local $i1 i32) (local $i2 i32)
            (global.set $__stack_pointer (local.tee $fp (i32.sub (global.get $__stack_pointer) (i32.const {bytes}))))
            {body}
            (global.set $__stack_pointer (i32.add (local.get $fp) (i32.const {bytes})))
            (i32.xor (call $sum (local.get $x)) (i32.wrap_i64 (i64.xor (local.get $y) (i64.shr_u (local.get $y) (i64.const 32))))))
        (func $sum (export "sum") (param $x i32) (result i32) (local $i i32)
            (local.set $i (i32.const {first}))
            (loop $l
                (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 31)) (i32.load8_u (local.get $i))))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const {last}))))
            (local.get $x)))"#
    )
}

/// `GPU_RUN_FRAMES` is how many, and where to begin: 100000, 100000@7.
#[test]
fn random_functions_return_the_same() {
    let asked = std::env::var("GPU_RUN_FRAMES").unwrap_or_else(|_| "200".into());
    let (count, first) = asked.split_once('@').unwrap_or((&asked, "1"));
    let (count, first): (u32, u32) = (count.parse().expect("a number"), first.parse().expect("a number"));
    let (mut local, mut known, mut early, mut wide, mut escapes, mut trapped) = (0, 0, 0, 0, 0, 0);
    for seed in first..first + count {
        let text = module(&mut Random(seed.wrapping_mul(0x9e37_79b9) | 1));
        // The last one is shown where one fails.
        println!("{seed}");
        let program = program(&text);
        let (first, then) = ([Value::I32(seed as i32)], [Value::I32(0)]);
        let ran = same(&program, &[("f", &first), ("sum", &then)], 1);
        trapped += u32::from(matches!(ran[0].0, End::Trapped(_)));
        let code = compiled(&program, "f");
        local += u32::from(code.contains(".b8 frame["));
        known += u32::from(accesses_are_known(&code));
        escapes += u32::from(code.contains("mov.b32 %frame_size, 0;"));
        early += u32::from(loads_early(&code));
        wide += u32::from(loads_side_by_side(&code));
    }
    assert!(local > count / 2, "{local} of {count} have their frame in local memory");
    assert!(
        known > count / 20,
        "{known} of {count} have loops of which accesses are known to lie in the frame"
    );
    assert!(early > count / 50, "{early} of {count} have loops that load early");
    assert!(
        wide > count / 200,
        "{wide} of {count} have loops that load side by side"
    );
    assert!(escapes > count / 20, "of {escapes} of {count} an address escapes");
    assert!(trapped > count / 50, "{trapped} of {count} trap");
}
