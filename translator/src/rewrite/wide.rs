//! Arithmetic of 128 bits, which compilers call: `__multi3`, `__udivti3`, `__umodti3`, `__divti3`, `__modti3`.
//!
//! Compilers' libraries divide by shifts and subtractions in loops, or by several divisions of 64 bits, and multiply by
//! parts of 32 bits. The new bodies have no loops. They multiply by `i64.mul_hi_u`, and divide by `i64.div_wide_u`, as in
//! Warren's "Hacker's Delight" (9-5, `udivdi3`), with digits of 64 bits.
//!
//! One of these is replaced if all of this holds:
//!
//! - It has the type that the compiler calls it with, and the `producers` section names a compiler for which the name is
//!   its library's ([`proof::is_reserving`]): it calls a function of this name wherever a program multiplies or divides.
//! - It did what is wanted in every run of [`eval`](super::eval): numbers of many lengths by numbers of many lengths. It
//!   stored the result and nothing else, but below the stack pointer, and left that as it was.
//! - Its constants are small, or patterns of equal bytes ([`Evaluator::threshold`]).
//!
//! A division by zero is undefined there. The new bodies trap.

use wasmparser::{Operator, ValType};

use super::code::Code;
use super::env::{Env, stack_pointer};
use super::eval::{Evaluator, Region, Scratch};
use super::memory::MOST_OF_A_NAME;
use super::names::Names;
use super::{I32, I64, Job, Left, Plan, proof, replace};
use crate::module::Module;

/// Name of the pattern.
pub(super) const PATTERN: &str = "wide_integers";

/// The address of the result, then two operands, each as its lower and its upper half.
const PARAMS: [ValType; 5] = [I32, I64, I64, I64, I64];

/// What a function computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Quotient { signed: bool },
    Remainder { signed: bool },
}

const FUNCTIONS: [(&str, Kind); 5] = [
    ("__multi3", Kind::Product),
    ("__udivti3", Kind::Quotient { signed: false }),
    ("__umodti3", Kind::Remainder { signed: false }),
    ("__divti3", Kind::Quotient { signed: true }),
    ("__modti3", Kind::Remainder { signed: true }),
];

impl Kind {
    fn is_signed(self) -> bool {
        matches!(self, Kind::Quotient { signed: true } | Kind::Remainder { signed: true })
    }

    /// The result; `None` where a division has none.
    fn of(self, a: u128, b: u128) -> Option<u128> {
        let (signed_a, signed_b) = (a as i128, b as i128);
        match self {
            Kind::Product => Some(a.wrapping_mul(b)),
            Kind::Quotient { signed: false } => a.checked_div(b),
            Kind::Remainder { signed: false } => a.checked_rem(b),
            Kind::Quotient { signed: true } => signed_a.checked_div(signed_b).map(|result| result as u128),
            Kind::Remainder { signed: true } => signed_a.checked_rem(signed_b).map(|result| result as u128),
        }
    }
}

pub(super) fn detect(module: &Module<'_>, names: &Names, plan: &mut Plan) {
    let mut proven: Vec<(usize, Kind)> = Vec::new();
    for (name, kind) in FUNCTIONS {
        let funcs = names.typed(module, name, &PARAMS, &[]);
        for &func in &funcs {
            let judged = match funcs.len() {
                // Each takes time to look at.
                ..=MOST_OF_A_NAME => judge(module, func, kind),
                _ => Err("many functions have this name".to_owned()),
            };
            match judged {
                Ok(()) => proven.push((func, kind)),
                Err(why) => plan.left.push(Left::new(PATTERN, func, why)),
            }
        }
    }
    if proven.is_empty() {
        return;
    }
    let divides = proven.iter().any(|(_, kind)| *kind != Kind::Product);
    plan.jobs.push(Job {
        pattern: PATTERN,
        funcs: proven.iter().map(|(func, _)| *func).collect(),
        ops: match divides {
            true => &["i64.mul_hi_u", "i64.div_wide_u"],
            false => &["i64.mul_hi_u"],
        },
        formats: false,
        apply: Box::new(move |module, env| {
            let divide =
                divides.then(|| env.add_func(module, "gpu_run::divide_wide", &[I64; 4], &[I64; 4], divide(env)));
            for (func, kind) in proven {
                replace(module, &[func], || match (kind, divide) {
                    (Kind::Quotient { signed }, Some(divide)) => quotient(env, divide, signed),
                    (Kind::Remainder { signed }, Some(divide)) => remainder(env, divide, signed),
                    _ => product(env),
                });
            }
        }),
    });
}

/// Where the stack ends in runs, how many bytes of it there are, and where the result goes.
const STACK: u64 = 0x8_0000;
const STACK_BYTES: u64 = 4096;
const RESULT: u64 = STACK + 16;
/// More than any sensible body needs: one that shifts and subtracts bit by bit executes some 5,000.
const STEPS: u64 = 50_000;

/// Lengths of numbers in bits.
const LENGTHS: [u32; 22] = [
    0, 1, 2, 7, 8, 31, 32, 33, 47, 48, 63, 64, 65, 80, 95, 96, 97, 112, 125, 126, 127, 128,
];

/// A number of so many bits: a power of two, the largest, or one of no pattern.
fn number(length: u32, which: usize) -> u128 {
    let Some(top) = length.checked_sub(1).map(|bit| 1 << bit) else {
        return 0;
    };
    let below = match which % 3 {
        0 => 0,
        1 => u128::MAX,
        _ => 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128.rotate_left(which as u32),
    };
    top | below & (top - 1)
}

/// Whether a function is what its name says.
fn judge(module: &Module<'_>, func: usize, kind: Kind) -> Result<(), String> {
    if !proof::is_reserving(module) {
        return Err(
            "no compiler that keeps this name for its library is named in the module's producers section".into(),
        );
    }
    let mut evaluator = Evaluator::new(module, func, stack_pointer(module))
        .map_err(|why| format!("it {why}, so what it does is not certain"))?;
    if let Some(constant) = evaluator.threshold() {
        return Err(format!(
            "it has the constant {constant}, beyond which it may do something else"
        ));
    }
    let lengths = LENGTHS.iter().flat_map(|a| LENGTHS.map(|b| (*a, b)));
    for (at, (a, b)) in lengths.enumerate() {
        for which in [at, at + at / 3 + 1] {
            let (a, b) = (number(a, which), number(b, which / 3 + which));
            judge_one(&mut evaluator, kind, a, b)?;
            if kind.is_signed() {
                judge_one(&mut evaluator, kind, a.wrapping_neg(), b)?;
                judge_one(&mut evaluator, kind, a, b.wrapping_neg())?;
                judge_one(&mut evaluator, kind, a.wrapping_neg(), b.wrapping_neg())?;
            }
        }
    }
    Ok(())
}

fn judge_one(evaluator: &mut Evaluator, kind: Kind, a: u128, b: u128) -> Result<(), String> {
    let Some(wanted) = kind.of(a, b) else {
        return Ok(());
    };
    const KEPT: usize = STACK_BYTES as usize;
    let bytes = vec![0xa5; KEPT + 64];
    let start = STACK - STACK_BYTES;
    let all = (start, start + bytes.len() as u64);
    let mut memory = Scratch {
        regions: vec![Region { start, bytes }],
        readable: vec![all],
        writable: all,
        size: 1 << 32,
        stack_pointer: STACK,
    };
    let halves = [a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64];
    let arguments = [RESULT, halves[0], halves[1], halves[2], halves[3]];
    let did = evaluator.run(&arguments, &mut memory, STEPS);
    let told = |did: &str| {
        Err(format!(
            "called with {a:#x} and {b:#x} it {did}, where the result is {wanted:#x}"
        ))
    };
    if let Err(stop) = did {
        return told(&stop.to_string());
    }
    let mut expected = [0xa5; 64];
    expected[16..32].copy_from_slice(&wanted.to_le_bytes());
    let stored = &memory.regions[0].bytes[KEPT..];
    if memory.stack_pointer != STACK {
        return told("left another stack pointer");
    }
    if stored != expected {
        return told("stored other bytes");
    }
    Ok(())
}

// Parameters and locals of the new bodies.
const TO: u32 = 0;
/// Halves of the operands.
const A: [u32; 2] = [1, 2];
const B: [u32; 2] = [3, 4];
/// Halves of the result.
const RESULT_HALVES: [u32; 2] = [5, 6];
/// The sign of the result, and of an operand: 0 or -1.
const SIGN: u32 = 7;
const OPERAND_SIGN: u32 = 8;

/// The lower 128 bits of the product.
fn product(env: &Env) -> Code {
    let mut code = Code::new();
    code.get(TO).get(A[0]).get(B[0]).op(Operator::I64Mul).store64(0);
    code.get(TO);
    code.get(A[0]).get(B[0]).call(env.gpu("i64.mul_hi_u"));
    for (a, b) in [(A[0], B[1]), (A[1], B[0])] {
        code.get(a).get(b).op(Operator::I64Mul).op(Operator::I64Add);
    }
    code.store64(8);
    code
}

fn quotient(env: &Env, divide: u32, signed: bool) -> Code {
    let mut code = Code::new();
    code.locals(4, I64);
    if signed {
        code.get(A[1]).get(B[1]).op(Operator::I64Xor);
        begin_signed(&mut code);
    }
    begin_digit(env, &mut code);
    code.set(RESULT_HALVES[0]);
    code.op(Operator::Else);
    call_divide(&mut code, divide);
    code.op(Operator::Drop)
        .op(Operator::Drop)
        .set(RESULT_HALVES[1])
        .set(RESULT_HALVES[0]);
    code.end();
    store_result(&mut code, signed);
    code
}

fn remainder(env: &Env, divide: u32, signed: bool) -> Code {
    let mut code = Code::new();
    code.locals(4, I64);
    if signed {
        code.get(A[1]);
        begin_signed(&mut code);
    }
    begin_digit(env, &mut code);
    code.get(B[0]).op(Operator::I64Mul).set(RESULT_HALVES[1]);
    code.get(A[0])
        .get(RESULT_HALVES[1])
        .op(Operator::I64Sub)
        .set(RESULT_HALVES[0]);
    code.i64(0).set(RESULT_HALVES[1]);
    code.op(Operator::Else);
    call_divide(&mut code, divide);
    code.set(RESULT_HALVES[1])
        .set(RESULT_HALVES[0])
        .op(Operator::Drop)
        .op(Operator::Drop);
    code.end();
    store_result(&mut code, signed);
    code
}

/// Takes the result's sign off the stack, and makes both operands what they are without theirs.
fn begin_signed(code: &mut Code) {
    code.i64(63).op(Operator::I64ShrS).set(SIGN);
    for operand in [A, B] {
        code.get(operand[1]).i64(63).op(Operator::I64ShrS).set(OPERAND_SIGN);
        negate_if(code, operand, OPERAND_SIGN);
    }
}

/// Begins what is done where divisor and quotient have one digit of 64 bits, as they nearly always have: in place, with the
/// quotient on the stack.
fn begin_digit(env: &Env, code: &mut Code) {
    code.get(B[1]).op(Operator::I64Eqz);
    code.get(A[1]).get(B[0]).op(Operator::I64LtU).op(Operator::I32And).if_();
    code.get(A[1]).get(A[0]).get(B[0]).call(env.gpu("i64.div_wide_u"));
}

/// Calls the function that has the code of [`divide`].
fn call_divide(code: &mut Code, divide: u32) {
    code.get(A[0]).get(A[1]).get(B[0]).get(B[1]).call(divide);
}

fn store_result(code: &mut Code, signed: bool) {
    if signed {
        negate_if(code, RESULT_HALVES, SIGN);
    }
    code.get(TO).get(RESULT_HALVES[0]).store64(0);
    code.get(TO).get(RESULT_HALVES[1]).store64(8);
}

/// Negates a number where a local is -1, and leaves it where that is 0.
fn negate_if(code: &mut Code, [low, high]: [u32; 2], mask: u32) {
    // With all bits of the mask flipped, and less the mask, which borrows where the lower half is less than it.
    code.get(low).get(mask).op(Operator::I64Xor).set(low);
    code.get(high).get(mask).op(Operator::I64Xor);
    code.get(mask).op(Operator::I64Sub);
    code.get(low).get(mask).op(Operator::I64LtU);
    code.op(Operator::I64ExtendI32U).op(Operator::I64Sub).set(high);
    code.get(low).get(mask).op(Operator::I64Sub).set(low);
}

/// A division without signs: of halves of dividend and divisor, to halves of quotient and remainder.
fn divide(env: &Env) -> Code {
    const A: [u32; 2] = [0, 1];
    const B: [u32; 2] = [2, 3];
    const QUOTIENT: [u32; 2] = [4, 5];
    const REST: [u32; 2] = [6, 7];
    const ZEROS: u32 = 8;
    let wide = env.gpu("i64.div_wide_u");
    let mut code = Code::new();
    code.locals(5, I64);
    code.get(B[1]).op(Operator::I64Eqz).if_();
    // By one digit: the upper digit, then the lower one with what is left of that.
    code.get(A[1]).get(B[0]).op(Operator::I64DivU).tee(QUOTIENT[1]);
    code.get(B[0]).op(Operator::I64Mul).set(REST[0]);
    code.get(A[1]).get(REST[0]).op(Operator::I64Sub).get(A[0]).get(B[0]);
    code.call(wide).tee(QUOTIENT[0]);
    code.get(B[0]).op(Operator::I64Mul).set(REST[0]);
    code.get(A[0]).get(REST[0]).op(Operator::I64Sub).set(REST[0]);
    code.op(Operator::Else);
    // By two digits: half of the dividend by the divisor's upper 64 bits is at most 1 too large, and not too small.
    code.get(B[1]).op(Operator::I64Clz).set(ZEROS);
    code.get(A[1]).i64(1).op(Operator::I64ShrU);
    code.get(A[1]).i64(63).op(Operator::I64Shl);
    code.get(A[0]).i64(1).op(Operator::I64ShrU).op(Operator::I64Or);
    code.get(B[1]).get(ZEROS).op(Operator::I64Shl);
    code.get(B[0]).i64(1).op(Operator::I64ShrU);
    code.i64(63).get(ZEROS).op(Operator::I64Sub).op(Operator::I64ShrU);
    code.op(Operator::I64Or).call(wide);
    code.i64(63).get(ZEROS).op(Operator::I64Sub).op(Operator::I64ShrU);
    code.tee(QUOTIENT[0]);
    code.get(QUOTIENT[0]).i64(0).op(Operator::I64Ne);
    code.op(Operator::I64ExtendI32U).op(Operator::I64Sub).set(QUOTIENT[0]);
    // What is left with one less, of which the divisor may be taken away once more.
    code.get(QUOTIENT[0]).get(B[0]).op(Operator::I64Mul).set(REST[0]);
    code.get(A[1]).get(QUOTIENT[0]).get(B[0]);
    code.call(env.gpu("i64.mul_hi_u")).op(Operator::I64Sub);
    code.get(QUOTIENT[0])
        .get(B[1])
        .op(Operator::I64Mul)
        .op(Operator::I64Sub);
    code.get(A[0]).get(REST[0]).op(Operator::I64LtU);
    code.op(Operator::I64ExtendI32U).op(Operator::I64Sub).set(REST[1]);
    code.get(A[0]).get(REST[0]).op(Operator::I64Sub).set(REST[0]);
    code.get(REST[1]).get(B[1]).op(Operator::I64GtU);
    code.get(REST[1]).get(B[1]).op(Operator::I64Eq);
    code.get(REST[0]).get(B[0]).op(Operator::I64GeU);
    code.op(Operator::I32And).op(Operator::I32Or).if_();
    code.get(QUOTIENT[0]).i64(1).op(Operator::I64Add).set(QUOTIENT[0]);
    code.get(REST[1]).get(B[1]).op(Operator::I64Sub);
    code.get(REST[0]).get(B[0]).op(Operator::I64LtU);
    code.op(Operator::I64ExtendI32U).op(Operator::I64Sub).set(REST[1]);
    code.get(REST[0]).get(B[0]).op(Operator::I64Sub).set(REST[0]);
    code.end().end();
    code.get(QUOTIENT[0]).get(QUOTIENT[1]).get(REST[0]).get(REST[1]);
    code
}
