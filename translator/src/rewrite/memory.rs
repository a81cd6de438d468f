//! C's functions on memory: `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp`.
//!
//! A name and a type are no proof: any function may be called so. One is replaced if all of this holds:
//!
//! - The `producers` section names a compiler for which the name is C's ([`proof::is_reserving`]). Such a compiler puts
//!   calls of it where the program copies or compares, and removes calls, whatever the function does.
//! - It did what C's does in every run of [`eval`], results compared bit for bit. Lengths are 0 to 40 and some up to
//!   300, with every alignment, and overlaps where C allows them. Addresses are around 2 GiB and near 4 GiB. It touched
//!   nothing but the bytes that it was asked to, in reading also what shares an aligned word with them. A body that
//!   uses anything else (globals, imports, floats, tables) cannot be evaluated, so it stays.
//! - Its constants are no larger than the lengths that were tried, or patterns of equal bytes. So there is no threshold
//!   beyond which it could do something else.
//! - With length 0 it touches nothing, whatever the addresses. `memory.copy` and `memory.fill` trap there if an
//!   address is out of bounds, so the new body asks for the length first. A body that does trap there consists of
//!   such an instruction already: it stays, since there is nothing to gain.
//!
//! What C leaves undefined is not compared: overlaps of `memcpy`, ranges that wrap around the address space. A range
//! that is out of bounds traps as before; what was copied ahead of the trap cannot be seen. `memcmp` may end at a
//! difference before the memory ends: there the new body compares bytes as C's does.

use wasmparser::{BlockType, Operator};

use super::code::Code;
use super::env::Env;
use super::eval::{Evaluator, Region, Scratch, Stop, Value};
use super::names::Names;
use super::{I32, Job, Left, Plan, proof, replace};
use crate::module::Module;

/// Name of the pattern.
pub(super) const PATTERN: &str = "memory";

/// Functions of one name that are looked at: a linker leaves one that others can call, and private ones of files.
pub(super) const MOST_OF_A_NAME: usize = 4;
/// Every length up to this one is tried.
const EVERY_LENGTH: u32 = 40;
/// And these.
const LENGTHS: [u32; 8] = [63, 64, 65, 127, 128, 129, 257, 300];
/// Where ranges lie: far from the ends, around 2 GiB, near 4 GiB.
const PLACES: [u64; 3] = [0x1_0000, 0x7fff_ffd0, 0xffff_e000];
/// Addresses with the length 0, out of bounds.
const NOWHERE: [u64; 2] = [0xf000_0003, 0xf800_0001];
/// The memory's size in those runs.
const SMALL: u64 = 0xc000_0000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Copy { overlaps: bool },
    Fill,
    Compare,
}

/// What is known of a function.
enum Verdict {
    Proven,
    /// It is one bulk instruction already.
    Bulk,
    /// It is not certain that it is C's; why.
    Other(String),
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "memcpy" => Kind::Copy { overlaps: false },
        "memmove" => Kind::Copy { overlaps: true },
        "memset" => Kind::Fill,
        "memcmp" | "bcmp" => Kind::Compare,
        _ => return None,
    })
}

pub(super) fn detect(module: &Module<'_>, names: &Names, plan: &mut Plan) {
    for name in ["memcpy", "memmove", "memset", "memcmp", "bcmp"] {
        let kind = kind(name).expect("one of those names");
        let mut funcs = names.typed(module, name, &[I32; 3], &[I32]);
        if funcs.is_empty() {
            continue;
        }
        let why = if !proof::is_reserving(module) {
            Some("no compiler that keeps this name for C's function is named in the module's producers section")
        } else {
            // Each takes time to look at.
            (funcs.len() > MOST_OF_A_NAME).then_some("many functions have this name")
        };
        if let Some(why) = why {
            let left = funcs.iter().map(|&func| Left::new(PATTERN, func, why));
            plan.left.extend(left);
            continue;
        }
        funcs.retain(|&func| match judge(module, func, kind) {
            Verdict::Proven => true,
            Verdict::Bulk => false,
            Verdict::Other(why) => {
                plan.left.push(Left::new(PATTERN, func, why));
                false
            }
        });
        if funcs.is_empty() {
            continue;
        }
        let body: fn(&Env) -> Code = match kind {
            Kind::Copy { .. } => |_| copy(),
            Kind::Fill => |_| fill(),
            Kind::Compare => compare,
        };
        plan.jobs.push(Job {
            pattern: PATTERN,
            funcs: funcs.clone(),
            ops: if kind == Kind::Compare { &["memcmp"] } else { &[] },
            formats: false,
            apply: Box::new(move |module, env| replace(module, &funcs, || body(env))),
        });
    }
}

fn judge(module: &Module<'_>, func: usize, kind: Kind) -> Verdict {
    let mut evaluator = match Evaluator::new(module, func, None) {
        Ok(evaluator) => evaluator,
        Err(why) => return Verdict::Other(format!("it {why}, so what it does is not certain")),
    };
    // The lengths that are tried reach beyond all others.
    if let Some(constant) = evaluator.threshold() {
        return Verdict::Other(format!(
            "it has the constant {constant}, beyond which it may do something else"
        ));
    }
    let mut nothing = Scratch {
        size: SMALL,
        ..Scratch::default()
    };
    let none = [NOWHERE[0], NOWHERE[1], 0];
    let did = evaluator.call(&none, &mut nothing, steps(0));
    let wanted = if kind == Kind::Compare { 0 } else { none[0] };
    match did {
        Ok(result) if result == wanted => {}
        Err(Stop::Trap) if kind != Kind::Compare => return Verdict::Bulk,
        _ => return Verdict::Other(told(none, &did, &format!("does nothing and returns {wanted:#x}"))),
    }
    let differs = match kind {
        Kind::Copy { overlaps } => copies(&mut evaluator, overlaps),
        Kind::Fill => fills(&mut evaluator),
        Kind::Compare => compares(&mut evaluator),
    };
    match differs {
        Ok(()) => Verdict::Proven,
        Err(why) => Verdict::Other(why),
    }
}

/// More than any sensible body needs for a length.
fn steps(length: u32) -> u64 {
    2_000 + 100 * u64::from(length)
}

/// What a call did that C's function does not.
fn told(arguments: [Value; 3], did: &Result<Value, Stop>, instead: &str) -> String {
    let [a, b, c] = arguments.map(|argument| format!("{argument:#x}"));
    let did = match did {
        Ok(result) => format!("returned {result:#x}"),
        Err(stop) => stop.to_string(),
    };
    format!("called with {a}, {b}, {c} it {did}, where C's function {instead}")
}

/// Bytes that differ from their neighbours, and from those that begin with another number.
fn pattern(from: u64, count: usize) -> Vec<u8> {
    let byte = |at: u64| ((from + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..count as u64).map(byte).collect()
}

/// A region for a range of `length` at `start`, and some bytes around it.
fn region(start: u64, length: u32) -> Region {
    Region {
        start: start - 16,
        bytes: pattern(start, length as usize + 32),
    }
}

/// Lengths and the alignments of two addresses. Every length is tried with `alignments` of the first, and with other
/// ones of the second each time.
fn shapes(alignments: u64) -> impl Iterator<Item = (u32, u64, u64)> {
    let every = (0..=EVERY_LENGTH).flat_map(move |length| {
        let n = u64::from(length);
        (0..alignments).map(move |at| (length, (at + n * alignments) % 8, (at * 3 + n) % 8))
    });
    let long = LENGTHS.into_iter().flat_map(move |length| {
        let other = u64::from(length) % 8;
        let shapes = [(length, 5, other), (length, 0, 0), (length, 3, 3), (length, 0, other)];
        shapes.into_iter().take(alignments as usize / 2)
    });
    every.chain(long)
}

fn copies(evaluator: &mut Evaluator, overlaps: bool) -> Result<(), String> {
    for (at, (length, to, from)) in shapes(8).enumerate() {
        let to = PLACES[at % 3] + to;
        let apart = PLACES[(at / 3 + at + 1) % 3] + 0x800 + from;
        copies_one(evaluator, to, apart, length)?;
        // Short ranges by every distance, the shortest with every alignment; others by some.
        let (step, first) = match length {
            0..=4 => (1, 1),
            5..=20 => (4, 1 + at as u32 % 4),
            _ => (1 + length / 4, 1 + at as u32 % (1 + length / 4)),
        };
        for distance in (first..=length).step_by(step as usize).filter(|_| overlaps) {
            let distance = u64::from(distance);
            copies_one(evaluator, to, to + distance, length)?;
            copies_one(evaluator, to + distance, to, length)?;
        }
    }
    Ok(())
}

fn copies_one(evaluator: &mut Evaluator, to: u64, from: u64, length: u32) -> Result<(), String> {
    let n = u64::from(length);
    let apart = to.abs_diff(from);
    let regions = if apart < n + 64 {
        vec![region(to.min(from), length + apart as u32)]
    } else {
        vec![region(to, length), region(from, length)]
    };
    let mut memory = Scratch {
        regions,
        readable: vec![(to, to + n), (from, from + n)],
        writable: (to, to + n),
        size: 1 << 32,
        ..Scratch::default()
    };
    let range = |memory: &Scratch, start: u64| {
        let (region, offset) = memory.place(start, n).expect("made so");
        (region, offset..offset + length as usize)
    };
    let (source, source_range) = range(&memory, from);
    let moved = memory.regions[source].bytes[source_range].to_vec();
    let mut wanted: Vec<Vec<u8>> = memory.regions.iter().map(|region| region.bytes.clone()).collect();
    let (target, target_range) = range(&memory, to);
    wanted[target][target_range].copy_from_slice(&moved);
    let arguments = [to, from, n];
    let did = evaluator.call(&arguments, &mut memory, steps(length));
    if did != Ok(to) {
        return Err(told(arguments, &did, "returns its first argument"));
    }
    if !memory.regions.iter().map(|region| &region.bytes).eq(&wanted) {
        return Err(told(arguments, &did, "copies other bytes"));
    }
    Ok(())
}

fn fills(evaluator: &mut Evaluator) -> Result<(), String> {
    const BYTES: [u32; 8] = [0, 1, 0x7f, 0x80, 0xff, 0x1a5, 0x1234_5678, 0xffff_ff80];
    for (at, (length, to, _)) in shapes(8).enumerate() {
        let to = PLACES[at % 3] + to;
        let byte = BYTES[(at / 8 + at) % BYTES.len()];
        let n = u64::from(length);
        let mut memory = Scratch {
            regions: vec![region(to, length)],
            readable: Vec::new(),
            writable: (to, to + n),
            size: 1 << 32,
            ..Scratch::default()
        };
        let mut wanted = memory.regions[0].bytes.clone();
        wanted[16..][..length as usize].fill(byte as u8);
        let arguments = [to, Value::from(byte), n];
        let did = evaluator.call(&arguments, &mut memory, steps(length));
        if did != Ok(to) {
            return Err(told(arguments, &did, "returns its first argument"));
        }
        if memory.regions[0].bytes != wanted {
            return Err(told(arguments, &did, "stores other bytes"));
        }
    }
    Ok(())
}

fn compares(evaluator: &mut Evaluator) -> Result<(), String> {
    const BYTES: [u8; 8] = [0, 1, 2, 0x40, 0x7f, 0x80, 0xfe, 0xff];
    let pairs: Vec<(u8, u8)> = BYTES.iter().flat_map(|a| BYTES.map(|b| (*a, b))).collect();
    for (at, (length, a, b)) in shapes(3).enumerate() {
        let a = PLACES[at % 3] + a;
        let b = PLACES[(at / 3 + at + 1) % 3] + 0x800 + b;
        let (one, other) = pairs[at % pairs.len()];
        let differs = (length > 0).then(|| (at as u32 * 7 % length, one, other));
        compares_one(evaluator, (a, b, length), differs)?;
        if at % 3 == 0 {
            compares_one(evaluator, (a, b, length), None)?;
        }
    }
    for (one, other) in pairs {
        compares_one(evaluator, (PLACES[0], PLACES[1], 3), Some((1, one, other)))?;
    }
    Ok(())
}

/// `differs`: which bytes are others, and what they are.
fn compares_one(
    evaluator: &mut Evaluator,
    (a, b, length): (u64, u64, u32),
    differs: Option<(u32, u8, u8)>,
) -> Result<(), String> {
    let n = u64::from(length);
    let same = pattern(a ^ b, length as usize + 32);
    let mut regions = [a, b].map(|start| Region {
        start: start - 16,
        bytes: same.clone(),
    });
    let mut wanted = 0;
    let mut seen = n;
    if let Some((at, one, other)) = differs {
        let place = 16 + at as usize;
        (regions[0].bytes[place], regions[1].bytes[place]) = (one, other);
        wanted = i32::from(one) - i32::from(other);
        if wanted != 0 {
            // What follows does not count.
            seen = u64::from(at) + 1;
            regions[0].bytes[place + 1..].reverse();
        }
    }
    let mut memory = Scratch {
        regions: regions.into(),
        readable: vec![(a, a + seen), (b, b + seen)],
        writable: (0, 0),
        size: 1 << 32,
        ..Scratch::default()
    };
    let arguments = [a, b, n];
    let did = evaluator.call(&arguments, &mut memory, steps(length));
    if did != Ok(Value::from(wanted as u32)) {
        return Err(told(arguments, &did, &format!("returns {:#x}", wanted as u32)));
    }
    Ok(())
}

/// `(to, from, length)`
fn copy() -> Code {
    let mut code = Code::new();
    code.get(2).if_();
    code.get(0).get(1).get(2);
    code.op(Operator::MemoryCopy { dst_mem: 0, src_mem: 0 }).end();
    code.get(0);
    code
}

/// `(to, byte, length)`
fn fill() -> Code {
    let mut code = Code::new();
    code.get(2).if_();
    code.get(0).get(1).get(2).op(Operator::MemoryFill { mem: 0 }).end();
    code.get(0);
    code
}

/// `(a, b, length)`
fn compare(env: &Env) -> Code {
    let block = Operator::Block {
        blockty: BlockType::Empty,
    };
    let mut code = Code::new();
    code.locals(1, I32).op(block.clone());
    // The operation reads all of both ranges, so they must be in bounds.
    code.get(0)
        .get(1)
        .get(0)
        .get(1)
        .op(Operator::I32GtU)
        .op(Operator::Select);
    code.op(Operator::I64ExtendI32U).get(2).op(Operator::I64ExtendI32U);
    code.op(Operator::I64Add);
    code.op(Operator::MemorySize { mem: 0 }).op(Operator::I64ExtendI32U);
    code.i64(16).op(Operator::I64Shl).op(Operator::I64GtU).br_if(0);
    code.get(0).get(1).get(2).call(env.gpu("memcmp")).op(Operator::Return);
    code.end();
    // Byte by byte: a difference may come before what is out of bounds.
    code.op(block).loop_();
    code.get(2).op(Operator::I32Eqz).br_if(1);
    code.get(0).load8(0).get(1).load8(0).op(Operator::I32Sub).tee(3).if_();
    code.get(3).op(Operator::Return).end();
    for (local, step) in [(0, 1), (1, 1), (2, -1)] {
        code.get(local).i32(step).op(Operator::I32Add).set(local);
    }
    code.op(Operator::Br { relative_depth: 0 }).end().end();
    code.i32(0);
    code
}

#[cfg(test)]
mod tests;
