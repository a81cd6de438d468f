//! Patterns of std that are one function each: a name, a type, a body that never returns, a new body.

use wasmparser::{Operator, ValType};

use super::code::Code;
use super::env::Env;
use super::names::Names;
use super::proof::{Std, diverges};
use super::{I32, I64, Job, Left, Plan, RewriteOptions, replace};
use crate::module::{Instr, Module};

const NANOS: i64 = 1_000_000_000;

/// A function's pattern, a test for its canonical name, its type, the operations that the new body
/// needs, and the body.
struct Simple {
    pattern: &'static str,
    name: fn(&str) -> bool,
    params: &'static [ValType],
    results: &'static [ValType],
    ops: &'static [&'static str],
    body: fn(&Env) -> Code,
}

fn sys_method(name: &str, method: &str) -> bool {
    name.starts_with("std::sys::") && name.ends_with(method)
}

/// std's own wrappers stand here too: in a std that was optimized they hold nothing but a call
/// that never returns.
const SIMPLE: &[Simple] = &[
    Simple {
        pattern: "instant",
        name: |n| n == "std::time::Instant::now" || sys_method(n, "::Instant::now"),
        params: &[I32],
        results: &[],
        ops: &["time"],
        body: |env| now(env, "time"),
    },
    Simple {
        pattern: "instant",
        name: |n| n == "std::time::Instant::elapsed",
        params: &[I32, I32],
        results: &[],
        ops: &["time"],
        body: |env| elapsed(env, "time", 0),
    },
    Simple {
        pattern: "system_time",
        name: |n| n == "std::time::SystemTime::now" || sys_method(n, "::SystemTime::now"),
        params: &[I32],
        results: &[],
        ops: &["wall_time"],
        body: |env| now(env, "wall_time"),
    },
    Simple {
        pattern: "system_time",
        name: |n| n == "std::time::SystemTime::elapsed",
        params: &[I32, I32],
        results: &[],
        ops: &["wall_time"],
        body: |env| elapsed(env, "wall_time", 8),
    },
    Simple {
        pattern: "sleep",
        name: |n| {
            matches!(n, "std::thread::sleep" | "std::thread::functions::sleep")
                || (n.starts_with("std::sys::") && n.contains("thread") && n.ends_with("::sleep"))
        },
        params: &[I64, I32],
        results: &[],
        ops: &["sleep"],
        body: sleep,
    },
    Simple {
        pattern: "exit",
        name: |n| n == "std::process::exit",
        params: &[I32],
        results: &[],
        ops: &["exit"],
        body: |env| {
            // What std would flush first is never buffered here.
            let mut code = Code::new();
            code.get(0).call(env.gpu("exit")).op(Operator::Unreachable);
            code
        },
    },
];

/// Why a function is left alone.
const RETURNS: &str = "it does more than panic, as std's does on wasm32-unknown-unknown";

pub(super) fn detect(module: &Module<'_>, names: &Names, std: &Std, options: &RewriteOptions, plan: &mut Plan) {
    for simple in SIMPLE {
        let mut funcs = Vec::new();
        for (_, func) in names.matching(simple.name) {
            let ty = &module.types[module.funcs[func].ty as usize];
            if ty.params() != simple.params || ty.results() != simple.results {
                continue;
            }
            // One that returns works, or calls one below it that is replaced.
            if diverges(&module.funcs[func]) && std.is_own(module, func) {
                funcs.push(func);
            } else {
                plan.left.push(Left::new(simple.pattern, func, RETURNS));
            }
        }
        if funcs.is_empty() {
            continue;
        }
        let body = simple.body;
        plan.jobs.push(Job {
            pattern: simple.pattern,
            funcs: funcs.clone(),
            ops: simple.ops,
            formats: false,
            apply: Box::new(move |module, env| replace(module, &funcs, || body(env))),
        });
    }
    hash_keys(module, names, std, options, plan);
}

/// Stores `{ seconds: u64, nanoseconds: u32 }` to parameter 0.
fn now(env: &Env, clock: &str) -> Code {
    let mut code = Code::new();
    code.locals(1, I64).call(env.gpu(clock)).set(1);
    code.get(0);
    store_duration(&mut code, 1, 0);
    code
}

/// Splits the nanoseconds in local `nanos` into the duration at the address on the stack.
fn store_duration(code: &mut Code, nanos: u32, offset: u64) {
    code.get(nanos).i64(NANOS).op(Operator::I64DivU).store64(offset);
    code.get(0).get(nanos).i64(NANOS).op(Operator::I64RemU);
    code.op(Operator::I32WrapI64).store32(offset + 8);
}

/// `(result, since)`: what has passed since, at least 0. With `offset` 8 the result is a `Result`,
/// whose tag comes first.
fn elapsed(env: &Env, clock: &str, offset: u64) -> Code {
    let mut code = Code::new();
    code.locals(1, I64);
    code.call(env.gpu(clock));
    code.get(1).load64(0).i64(NANOS).op(Operator::I64Mul);
    code.get(1).load32(8).op(Operator::I64ExtendI32U).op(Operator::I64Add);
    code.op(Operator::I64Sub)
        .tee(2)
        .i64(0)
        .get(2)
        .i64(0)
        .op(Operator::I64GtS);
    code.op(Operator::Select).set(2);
    if offset != 0 {
        code.get(0).i64(0).store64(0);
    }
    code.get(0);
    store_duration(&mut code, 2, offset);
    code
}

/// `(seconds, nanoseconds)`; more than an `i64` of nanoseconds is "for ever".
fn sleep(env: &Env) -> Code {
    let most = i64::MAX / NANOS - 1;
    let mut code = Code::new();
    code.get(0)
        .i64(most)
        .get(0)
        .i64(most)
        .op(Operator::I64LtU)
        .op(Operator::Select);
    code.i64(NANOS)
        .op(Operator::I64Mul)
        .get(1)
        .op(Operator::I64ExtendI32U)
        .op(Operator::I64Add);
    code.call(env.gpu("sleep"));
    code
}

/// Two words that std makes from addresses become the keys of the options.
fn hash_keys(module: &Module<'_>, names: &Names, std: &Std, options: &RewriteOptions, plan: &mut Plan) {
    let keys = options.hash_keys.map(|key| key as i64);
    let source = |n: &str| n.starts_with("std::sys::") && n.ends_with("::hashmap_random_keys");
    let by_name = names.matching(source).map(|(_, func)| func);
    let mut typed: Vec<usize> = by_name
        .filter(|&func| {
            let ty = &module.types[module.funcs[func].ty as usize];
            ty.params() == [I32] && ty.results().is_empty()
        })
        .collect();
    typed.retain(|&func| {
        let is_proven = stores_keys(module, func) && std.is_own(module, func);
        if !is_proven {
            let why = "it does not make two keys as std does on wasm32-unknown-unknown";
            plan.left.push(Left::new("hash_keys", func, why));
        }
        is_proven
    });
    if !typed.is_empty() {
        plan.jobs.push(Job {
            pattern: "hash_keys",
            funcs: typed.clone(),
            ops: &[],
            formats: false,
            apply: Box::new(move |module, _| {
                replace(module, &typed, || {
                    let mut code = Code::new();
                    code.get(0).i64(keys[0]).store64(0).get(0).i64(keys[1]).store64(8);
                    code
                });
            }),
        });
        return;
    }
    // Inlined into the initializer of the keys: replace what it stores.
    let initializer = |n: &str| n.contains("RandomState") && n.contains("KEYS") && n.contains("::initialize");
    let funcs: Vec<usize> = names.matching(initializer).map(|(_, func)| func).collect();
    for func in funcs {
        let stores: Vec<usize> = key_stores(module, func);
        if stores.len() != 2 {
            continue;
        }
        plan.jobs.push(Job {
            pattern: "hash_keys",
            funcs: vec![func],
            ops: &[],
            formats: false,
            apply: Box::new(move |module, _| {
                let (_, instrs) = module.funcs[func].edit();
                for (at, key) in stores.iter().zip(keys).rev() {
                    let mut code = Code::new();
                    code.op(Operator::Drop).i64(key);
                    let synthetic: Vec<Instr<'_>> = code.into_instrs();
                    instrs.splice(*at..*at, synthetic);
                }
            }),
        });
    }
}

/// Whether all that a function stores as 64 bits are two words, at 0 and 8.
fn stores_keys(module: &Module<'_>, func: usize) -> bool {
    let stores = module.funcs[func].instrs().filter_map(|instr| match instr.op {
        Operator::I64Store { memarg } => Some(memarg.offset),
        _ => None,
    });
    let mut offsets: Vec<u64> = stores.collect();
    offsets.sort_unstable();
    offsets == [0, 8]
}

/// Where a 32-bit address is stored as a 64-bit key.
fn key_stores(module: &Module<'_>, func: usize) -> Vec<usize> {
    let mut last_extends = false;
    let mut found = Vec::new();
    for (at, instr) in module.funcs[func].instrs().enumerate() {
        if last_extends && matches!(instr.op, Operator::I64Store { .. }) {
            found.push(at);
        }
        last_extends = matches!(instr.op, Operator::I64ExtendI32U);
    }
    found
}
