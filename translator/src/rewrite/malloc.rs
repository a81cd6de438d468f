//! C's allocator as wasi-libc has it (Doug Lea's), all of it or nothing.
//!
//! Its functions are found by their names, which they keep because a linker takes the library's objects as they are.
//! The code shows that they are the library's, and that no other code works with what they keep. Their state lies at a
//! fixed address, and each of them uses it or calls one that does. The sizes of blocks stand in front of them. An
//! allocator of another make is left alone.

use std::ops::Range;

use wasmparser::Operator;

use super::alloc::{IF_I32, reachable_without};
use super::code::Code;
use super::env::{Env, raise_maximum};
use super::names::Names;
use super::proof;
use super::{I32, I64, Job, Plan, RewriteOptions};
use crate::module::{Const, Func, Module, SegmentMode};

/// Name of the pattern.
pub(super) const PATTERN: &str = "c_allocator";

const OPS: &[&str] = &["alloc", "dealloc", "realloc", "alloc_zero", "block_size"];

/// What `malloc` aligns to: enough for every type of C.
const ALIGN: i32 = 16;
/// The operations' word for a size that the caller does not know.
const ANY_SIZE: i32 = -1;
/// wasi-libc's numbers of errors.
const EINVAL: i32 = 28;
const ENOMEM: i32 = 48;

/// Bytes of the allocator's state, `struct malloc_state`, on a 32-bit target, and of its parameters, which lie after
/// it. Where it begins, there is the first member that its functions read.
const STATE_BYTES: u64 = 472;
const PARAMETER_BYTES: u64 = 24;

/// Pages that the heap may need more than the module's own allocator: it has pages for each size of blocks.
const SPARE_PAGES: u64 = 64;

/// Of the library for threads, where the parameters come first: the locks of the state and of what is set up once.
const LOCK_BYTES: u64 = 8;

/// Where `errno` is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errno {
    /// At an address.
    Static(u32),
    /// At an offset from where a global points to: each thread has its own.
    ThreadLocal { base: u32, offset: u32 },
}

/// Makes a body, which knows where `errno` is.
type Body = fn(&Env, Option<Errno>) -> Code;

/// The library's functions: names, number of parameters, whether there is a result, and the new body.
const FUNCTIONS: &[(&[&str], usize, bool, Body)] = &[
    (&["malloc", "dlmalloc", "__libc_malloc"], 1, true, malloc),
    (&["free", "dlfree", "__libc_free"], 1, false, |env, _| free(env)),
    (&["calloc", "dlcalloc", "__libc_calloc"], 2, true, calloc),
    (&["realloc", "dlrealloc"], 2, true, realloc),
    // The optimizer drops the first parameter: there is one state.
    (
        &["aligned_alloc", "dlmemalign", "internal_memalign"],
        2,
        true,
        |e, errno| aligned_alloc(e, errno, 0),
    ),
    (&["internal_memalign"], 3, true, |e, errno| aligned_alloc(e, errno, 1)),
    (&["posix_memalign", "dlposix_memalign"], 3, true, |env, _| {
        posix_memalign(env)
    }),
    (&["malloc_usable_size", "dlmalloc_usable_size"], 1, true, |env, _| {
        usable_size(env)
    }),
];

pub(super) fn detect(module: &mut Module<'_>, names: &Names, options: &RewriteOptions, plan: &mut Plan) {
    // The name of the function inside tells it from others.
    if !options.replace_allocator || names.get("dlmalloc").is_empty() {
        return;
    }
    let mut funcs = Vec::new();
    let mut bodies: Vec<Body> = Vec::new();
    for (aliases, params, has_result, body) in FUNCTIONS {
        let results = if *has_result { &[I32][..] } else { &[] };
        for name in *aliases {
            // One of two functions of a name is not the library's.
            if let ([_], [func]) = (
                names.get(name),
                &names.typed(module, name, &[I32; 3][..*params], results)[..],
            ) {
                funcs.push(*func);
                bodies.push(*body);
            }
        }
    }
    let why = match proof::is_reserving(module) {
        true => left_of_it(module, names, &funcs),
        false => Some("no compiler of C or Rust is named in the module's producers section".to_owned()),
    };
    if let Some(why) = why {
        let mut found: Vec<usize> = ["dlmalloc", "dlfree"]
            .iter()
            .flat_map(|name| names.get(name))
            .copied()
            .collect();
        found.extend(funcs);
        found.sort_unstable();
        found.dedup();
        plan.rolled_back.push((PATTERN, found, why));
        return;
    }
    let errno = errno_address(module, &funcs);
    plan.jobs.push(Job {
        pattern: PATTERN,
        funcs: funcs.clone(),
        ops: OPS,
        formats: false,
        apply: Box::new(move |module, env| {
            // It also had what was left of the first pages.
            raise_maximum(module, SPARE_PAGES);
            for (func, body) in funcs.into_iter().zip(bodies) {
                module.funcs[func].body = body(env, errno).into_body();
            }
        }),
    });
}

/// Why code that can still be reached, or memory, would miss the allocator if `funcs` had other bodies.
fn left_of_it(module: &mut Module<'_>, names: &Names, funcs: &[usize]) -> Option<String> {
    // A program that frees nothing has no such function.
    let inner = ["dlfree", "dlmalloc"]
        .into_iter()
        .find(|name| !names.get(name).is_empty())?;
    let [func] = names.get(inner) else {
        return Some(format!("there are several functions called `{inner}`"));
    };
    let Some(State { state, all }) = State::of(module, names, *func) else {
        return Some(format!("where `{inner}` keeps its state was not found"));
    };
    if let Some(why) = foreign(module, names, funcs, &all) {
        return Some(why);
    }
    if holds_blocks(module, &state) {
        return Some("the module's memory has blocks of it already".to_owned());
    }
    let first = module.imported_funcs.len();
    let (graph, reached) = reachable_without(module, funcs);
    let inside: Vec<u32> = names.get("dlmalloc").iter().map(|func| (first + func) as u32).collect();
    for (at, func) in module.funcs.iter().enumerate() {
        let index = (first + at) as u32;
        if !reached[index as usize] || funcs.contains(&at) {
            continue;
        }
        let reads = Reads::of(func, &state);
        // Others call `malloc`, unless the optimizer has put something of the library into them.
        let calls = graph.direct_callees(index).any(|callee| inside.contains(&callee));
        let name = || module.func_display_name(index);
        if reads.state {
            return Some(format!("`{}` works on its state", name()));
        }
        if reads.size || reads.header && calls {
            return Some(format!("`{}` reads the sizes of its blocks", name()));
        }
    }
    None
}

/// A function of `funcs` that is not the library's. It uses neither the state nor a block's size nor one that does, or
/// it has statics of its own, or asks the host.
fn foreign(module: &Module<'_>, names: &Names, funcs: &[usize], all: &Range<u64>) -> Option<String> {
    let first = module.imported_funcs.len();
    let inner = ["dlmalloc", "dlfree"].iter().flat_map(|name| names.get(name));
    let of_library: Vec<usize> = inner.chain(funcs).copied().collect();
    for &func in funcs {
        let body = &module.funcs[func];
        let mut callees = body.summary().calls.iter().map(|call| call.callee as usize);
        let asks_host = callees.clone().any(|callee| callee < first);
        let forwards = callees.any(|callee| of_library.iter().any(|func| first + func == callee));
        let (mut uses_state, mut has_others) = (false, false);
        loads_of_constants(body, |address| match all.contains(&address) {
            true => uses_state = true,
            false => has_others = true,
        });
        let uses_blocks = || Reads::of(body, all).size;
        if asks_host || has_others || !(forwards || uses_state || uses_blocks()) {
            let name = module.func_display_name((first + func) as u32);
            return Some(format!("`{name}` is not the one of wasi-libc"));
        }
    }
    None
}

/// What a function reads that allocators do.
#[derive(Default)]
struct Reads {
    /// The allocator's state.
    state: bool,
    /// A word in front of an address, where a block has its size and, in the low bits, flags. `calloc` reads it to see
    /// if the block is zero.
    header: bool,
    /// Such a word without its flags.
    size: bool,
}

impl Reads {
    /// Every function is looked at: so by opcodes, and decoded only as far as needed.
    fn of(func: &Func<'_>, state: &Range<u64>) -> Reads {
        const I32_LOAD: u8 = 0x28;
        const I32_LOAD8_U: u8 = 0x2d;
        const I32_CONST: u8 = 0x41;
        const I32_ADD: u8 = 0x6a;
        const I32_SUB: u8 = 0x6b;
        const I32_AND: u8 = 0x71;
        // Instructions after a load among which the mask is looked for.
        const NEAR: u32 = 20;
        let mut reads = Reads::default();
        // The constants of the last instruction and the one before, the last one's opcode.
        let (mut last, mut before, mut opcode_before, mut near) = (None, None, 0, 0u32);
        let packed = func.body.packed();
        let mut code = packed.code().cursor();
        while let Some(opcode) = code.next() {
            near = near.saturating_sub(1);
            let mut constant = None;
            match opcode {
                I32_CONST => constant = Some(code.signed() as i32),
                I32_LOAD | I32_LOAD8_U => {
                    let (_, offset) = code.place();
                    if let Some(base) = last {
                        reads.state |= state.contains(&(u64::from(base as u32) + offset));
                    }
                    if offset == 0 && matches!((before, opcode_before), (Some(-4), I32_ADD) | (Some(4), I32_SUB)) {
                        reads.header = true;
                        near = NEAR;
                    }
                }
                _ => {
                    reads.size |= opcode == I32_AND && last == Some(-8) && near > 0;
                    code.skip();
                }
            }
            (before, last, opcode_before) = (last, constant, opcode);
        }
        reads
    }
}

/// Calls `found` with each constant address that is loaded from.
fn loads_of_constants(func: &Func<'_>, mut found: impl FnMut(u64)) {
    let mut constant = None;
    for instr in func.instrs() {
        if let (Some(base), Some(offset)) = (constant, loads_at(&instr.op)) {
            found(base + offset);
        }
        constant = match instr.op {
            Operator::I32Const { value } => Some(u64::from(value as u32)),
            _ => None,
        };
    }
}

/// The offset of a load of 32 bits or a byte.
fn loads_at(op: &Operator<'_>) -> Option<u64> {
    match op {
        Operator::I32Load { memarg } | Operator::I32Load8U { memarg } => Some(memarg.offset),
        _ => None,
    }
}

/// What the allocator has at constant addresses.
struct State {
    /// Its state.
    state: Range<u64>,
    /// With its parameters, and its locks if it has some.
    all: Range<u64>,
}

impl State {
    /// Finds it by what functions of the library read: it is all that they have at constant addresses.
    fn of(module: &Module<'_>, names: &Names, func: usize) -> Option<State> {
        let memories = || module.imported_memories.iter().chain(&module.memories);
        let for_threads = memories().next().is_some_and(|memory| memory.shared);
        let (mut low, mut high) = (u64::MAX, 0);
        let readers = match for_threads {
            // The parameters, which come first, are not read by all.
            true => [names.get("dlmalloc"), names.get("dlfree")].concat(),
            false => vec![func],
        };
        for reader in readers {
            loads_of_constants(&module.funcs[reader], |address| {
                (low, high) = (low.min(address), high.max(address));
            });
        }
        let (before, behind) = match for_threads {
            true => (PARAMETER_BYTES, LOCK_BYTES),
            false => (0, PARAMETER_BYTES),
        };
        let all = before + STATE_BYTES + behind;
        // Several members at least: the bins, the tops and the sizes of both.
        (low != 0 && low < high && high - low < all).then(|| State {
            state: low + before..low + before + STATE_BYTES,
            all: low..low + all,
        })
    }
}

/// Whether the state is not all zero at the start: the module was made of the memory of another that had run.
fn holds_blocks(module: &Module<'_>, state: &Range<u64>) -> bool {
    let holds = |start: i32, bytes: &[u8]| {
        let bytes = (u64::from(start as u32)..).zip(bytes);
        bytes.into_iter().any(|(at, byte)| *byte != 0 && state.contains(&at))
    };
    let active = module.data.iter().any(|data| match &data.mode {
        SegmentMode::Active { index: 0, offset } => {
            Const::as_integer(offset).is_some_and(|start| holds(start as i32, &data.bytes))
        }
        _ => false,
    });
    // Memory that threads share is initialized by the start function.
    let passive = module.start.into_iter().any(|start| {
        let first = module.imported_funcs.len();
        let func = (start as usize).checked_sub(first).map(|func| &module.funcs[func]);
        let ops: Vec<Operator<'_>> = func.map_or_else(Vec::new, |func| func.instrs().map(|instr| instr.op).collect());
        ops.windows(4).any(|ops| match ops {
            [
                Operator::I32Const { value: to },
                Operator::I32Const { value: from },
                Operator::I32Const { value: len },
                Operator::MemoryInit { data_index, mem: 0 },
            ] => {
                let bytes = &module.data[*data_index as usize].bytes;
                let from = (*from as u32 as usize).min(bytes.len());
                let end = from.saturating_add(*len as u32 as usize).min(bytes.len());
                holds(*to, &bytes[from..end])
            }
            _ => false,
        })
    });
    active || passive
}

/// Where the allocator stores `ENOMEM`, if that is one place.
fn errno_address(module: &Module<'_>, funcs: &[usize]) -> Option<Errno> {
    let mut found = Vec::new();
    for func in funcs {
        let ops: Vec<Operator<'_>> = module.funcs[*func].instrs().map(|instr| instr.op).collect();
        for end in 1..=ops.len() {
            match &ops[..end] {
                [
                    ..,
                    Operator::I32Const { value: base },
                    Operator::I32Const { value: ENOMEM },
                    Operator::I32Store { memarg },
                ] => {
                    let address = (*base as u32).checked_add(u32::try_from(memarg.offset).ok()?)?;
                    found.push(Errno::Static(address));
                }
                [
                    ..,
                    Operator::GlobalGet { global_index },
                    Operator::I32Const { value: offset },
                    Operator::I32Add,
                    Operator::I32Const { value: ENOMEM },
                    Operator::I32Store { memarg },
                ] => found.push(Errno::ThreadLocal {
                    base: *global_index,
                    offset: (*offset as u32).checked_add(u32::try_from(memarg.offset).ok()?)?,
                }),
                _ => {}
            }
        }
    }
    found.dedup();
    match found[..] {
        [errno] if errno != Errno::Static(0) => Some(errno),
        _ => None,
    }
}

/// Ends a body with the block on the stack as its result; `temp` is a local for it.
fn or_errno(code: &mut Code, temp: u32, errno: Option<Errno>) {
    if let Some(errno) = errno {
        code.tee(temp).op(Operator::I32Eqz).if_();
        match errno {
            Errno::Static(address) => code.i32(address as i32).i32(ENOMEM).store32(0).end(),
            Errno::ThreadLocal { base, offset } => code
                .op(Operator::GlobalGet { global_index: base })
                .i32(ENOMEM)
                .store32(u64::from(offset))
                .end(),
        };
        code.get(temp);
    }
}

/// `(size)`
fn malloc(env: &Env, errno: Option<Errno>) -> Code {
    let mut code = Code::new();
    code.get(0).i32(ALIGN).call(env.gpu("alloc"));
    // The size is of no use any more.
    or_errno(&mut code, 0, errno);
    code
}

/// `(block)`
fn free(env: &Env) -> Code {
    let mut code = Code::new();
    code.get(0).if_();
    code.get(0).i32(ANY_SIZE).i32(ALIGN).call(env.gpu("dealloc")).end();
    code
}

/// `(count, size)`
fn calloc(env: &Env, errno: Option<Errno>) -> Code {
    let total = 2;
    let mut code = Code::new();
    code.locals(1, I64);
    code.get(0)
        .op(Operator::I64ExtendI32U)
        .get(1)
        .op(Operator::I64ExtendI32U);
    code.op(Operator::I64Mul).tee(total).i64(32).op(Operator::I64ShrU);
    code.op(Operator::I64Eqz).op(IF_I32);
    code.get(total)
        .op(Operator::I32WrapI64)
        .i32(ALIGN)
        .call(env.gpu("alloc_zero"));
    code.op(Operator::Else).i32(0).end();
    or_errno(&mut code, 0, errno);
    code
}

/// `(block, size)`: with size 0 a block too, as wasi-libc has it.
fn realloc(env: &Env, errno: Option<Errno>) -> Code {
    let mut code = Code::new();
    code.get(0).op(IF_I32);
    code.get(0).i32(ANY_SIZE).i32(ALIGN).get(1).call(env.gpu("realloc"));
    code.op(Operator::Else);
    code.get(1).i32(ALIGN).call(env.gpu("alloc")).end();
    or_errno(&mut code, 1, errno);
    code
}

/// `(alignment, size)` from parameter `first` on.
fn aligned_alloc(env: &Env, errno: Option<Errno>, first: u32) -> Code {
    let (align, size) = (first, first + 1);
    let mut code = Code::new();
    // The next power of two: 1 << (32 - leading zeros of one less).
    code.get(size).i32(1).i32(32);
    code.get(align).i32(1).op(Operator::I32Sub).op(Operator::I32Clz);
    code.op(Operator::I32Sub).op(Operator::I32Shl);
    code.call(env.gpu("alloc"));
    or_errno(&mut code, size, errno);
    code
}

/// `(where the block's address goes, alignment, size)`; returns the error.
fn posix_memalign(env: &Env) -> Code {
    let (to, align, size, block) = (0, 1, 2, 3);
    let mut code = Code::new();
    code.locals(1, I32);
    // A power of two, and a multiple of a pointer's size.
    code.get(align).op(Operator::I32Popcnt).i32(1).op(Operator::I32Ne);
    code.get(align)
        .i32(3)
        .op(Operator::I32And)
        .op(Operator::I32Or)
        .op(IF_I32);
    code.i32(EINVAL).op(Operator::Else);
    code.get(size).get(align).call(env.gpu("alloc")).tee(block).op(IF_I32);
    code.get(to).get(block).store32(0).i32(0);
    code.op(Operator::Else).i32(ENOMEM).end().end();
    code
}

/// `(block)`
fn usable_size(env: &Env) -> Code {
    let mut code = Code::new();
    code.get(0).op(IF_I32).get(0).call(env.gpu("block_size"));
    code.op(Operator::Else).i32(0).end();
    code
}
