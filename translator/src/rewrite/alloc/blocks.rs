//! Bodies for the methods of dlmalloc: blocks with its header.

use wasmparser::Operator;

use super::IF_I32;
use crate::rewrite::I32;
use crate::rewrite::code::Code;
use crate::rewrite::env::Env;

/// Least distance of a block's address from the start of what was allocated for it.
const HEADER: i32 = 8;
/// Flags in dlmalloc's chunk header: this chunk and the one before it are in use.
const IN_USE: i32 = 3;
/// Our own flag: the word before the header says the distance.
const ALIGNED: i32 = 4;

/// Pushes the chunk size for a block of the size in local `size`: room for a header word, rounded
/// up, and at least dlmalloc's least.
fn chunk_size(code: &mut Code, size: u32) {
    code.i32(16)
        .get(size)
        .i32(11)
        .op(Operator::I32Add)
        .i32(-8)
        .op(Operator::I32And);
    code.get(size).i32(5).op(Operator::I32LtU).op(Operator::Select);
}

pub(super) fn malloc(env: &Env, size: u32) -> Code {
    let mut code = Code::new();
    malloc_into(env, &mut code, size, size + 1, "alloc");
    code
}

pub(super) fn calloc(env: &Env, size: u32) -> Code {
    let mut code = Code::new();
    malloc_into(env, &mut code, size, size + 1, "alloc_zero");
    code
}

/// Allocates a chunk aligned to more than dlmalloc's own alignment and writes its header: `block` gets
/// the address after the header, or 0. Opens an `if (result i32)` for the case that there is memory.
fn aligned_chunk(env: &Env, code: &mut Code, size: u32, align: u32, chunk: u32, block: u32) {
    chunk_size(code, size);
    code.tee(chunk)
        .get(align)
        .op(Operator::I32Add)
        .get(align)
        .call(env.gpu("alloc"))
        .tee(block);
    code.op(IF_I32);
    code.get(block).get(align).op(Operator::I32Add).tee(block);
    code.i32(4)
        .op(Operator::I32Sub)
        .get(chunk)
        .i32(IN_USE | ALIGNED)
        .op(Operator::I32Or);
    code.store32(0);
    code.get(block).i32(8).op(Operator::I32Sub).get(align).store32(0);
}

/// Allocates the size in local `size`; uses two new locals from `temp` on.
fn malloc_into(env: &Env, code: &mut Code, size: u32, temp: u32, op: &str) {
    code.locals(2, I32);
    let (chunk, block) = (temp, temp + 1);
    // A size so large that rounding wraps around fails as any that is too large.
    code.get(size).i32(-64).op(Operator::I32GtU);
    code.op(IF_I32).i32(0).op(Operator::Else);
    chunk_size(code, size);
    code.tee(chunk)
        .i32(HEADER)
        .op(Operator::I32Add)
        .i32(8)
        .call(env.gpu(op))
        .tee(block);
    code.op(IF_I32);
    code.get(block).get(chunk).i32(IN_USE).op(Operator::I32Or).store32(4);
    code.get(block).i32(HEADER).op(Operator::I32Add);
    code.op(Operator::Else).i32(0).end().end();
}

/// `(align, size)` in those locals.
pub(super) fn memalign(env: &Env, align: u32, size: u32) -> Code {
    let mut code = Code::new();
    let temp = align.max(size) + 1;
    let (chunk, block) = (temp, temp + 1);
    code.get(align).i32(9).op(Operator::I32LtU);
    code.op(IF_I32);
    malloc_into(env, &mut code, size, temp, "alloc");
    code.op(Operator::Else);
    aligned_chunk(env, &mut code, size, align, chunk, block);
    code.get(block).op(Operator::Else).i32(0).end().end();
    code
}

/// Frees the block whose address is in local `block`, in a function with `params` parameters.
pub(super) fn free(env: &Env, block: u32, params: u32) -> Code {
    let mut code = Code::new();
    code.locals(2, I32);
    free_with(env, &mut code, block, params);
    code
}

fn free_with(env: &Env, code: &mut Code, block: u32, temp: u32) {
    let (head, distance) = (temp, temp + 1);
    load_header(code, block, head, distance);
    code.get(block).get(distance).op(Operator::I32Sub);
    code.get(head)
        .i32(-8)
        .op(Operator::I32And)
        .get(distance)
        .op(Operator::I32Add);
    code.get(distance).call(env.gpu("dealloc"));
}

/// Reads a block's header and how far from the allocation's start it lies.
fn load_header(code: &mut Code, block: u32, head: u32, distance: u32) {
    code.get(block).i32(4).op(Operator::I32Sub).load32(0).set(head);
    code.get(head).i32(ALIGNED).op(Operator::I32And);
    code.op(IF_I32);
    code.get(block).i32(8).op(Operator::I32Sub).load32(0);
    code.op(Operator::Else).i32(HEADER).end().set(distance);
}

/// `(block, size)` in those locals; the block is one that `malloc` made.
pub(super) fn realloc(env: &Env, block: u32, size: u32) -> Code {
    let mut code = Code::new();
    code.locals(3, I32);
    realloc_with(env, &mut code, block, size, size + 1);
    code
}

fn realloc_with(env: &Env, code: &mut Code, block: u32, size: u32, temp: u32) {
    let (chunk, old, new) = (temp, temp + 1, temp + 2);
    code.get(size).i32(-64).op(Operator::I32GtU);
    code.op(IF_I32).i32(0).op(Operator::Else);
    chunk_size(code, size);
    code.set(chunk).get(block).i32(HEADER).op(Operator::I32Sub).tee(old);
    code.get(old)
        .load32(4)
        .i32(-8)
        .op(Operator::I32And)
        .i32(HEADER)
        .op(Operator::I32Add);
    code.i32(8)
        .get(chunk)
        .i32(HEADER)
        .op(Operator::I32Add)
        .call(env.gpu("realloc"))
        .tee(new);
    code.op(IF_I32);
    code.get(new).get(chunk).i32(IN_USE).op(Operator::I32Or).store32(4);
    code.get(new).i32(HEADER).op(Operator::I32Add);
    code.op(Operator::Else).i32(0).end().end();
}

/// `[block, old size, align, size]` in those locals, of a function with `params` parameters: a block with a
/// large alignment is moved by hand.
pub(super) fn realloc_aligned(env: &Env, [block, old_size, align, size]: [u32; 4], params: u32) -> Code {
    let (first, moved) = (params, params + 3);
    let mut code = Code::new();
    code.locals(4, I32);
    code.get(align).i32(9).op(Operator::I32LtU);
    code.op(IF_I32);
    realloc_with(env, &mut code, block, size, first);
    code.op(Operator::Else);
    // As `memalign`, with locals that are there already.
    let chunk = first;
    aligned_chunk(env, &mut code, size, align, chunk, moved);
    code.get(moved).get(block);
    code.get(old_size)
        .get(size)
        .get(old_size)
        .get(size)
        .op(Operator::I32LtU);
    code.op(Operator::Select)
        .op(Operator::MemoryCopy { dst_mem: 0, src_mem: 0 });
    free_with(env, &mut code, block, first);
    code.get(moved).op(Operator::Else).i32(0).end().end();
    code
}
