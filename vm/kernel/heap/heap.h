// The heap of ALLOC, DEALLOC, REALLOC and ALLOC_ZERO. Its blocks lie inside linear memory. Its pages come through the
// same atomic grow as the guest's, so both may grow the memory in turn. All that it knows of them lies beside linear
// memory: a guest can write over its blocks, but not mislead it.
//
//   classes.h        sizes of blocks
//   page_bitmap.h    sets of pages
//   pages.h          runs of pages, growing
//   slab.h           runs of pages that are cut into blocks of one size
//   ticket_slots.h   which slab a lane takes a block from
//   large.h          blocks of whole pages
//   block.h          which block an address means
//   check.h          what --heap-check and --leak-check add
//   shared.h         blocks that all lanes share
//   lane_slab.h      the slabs of one lane: a block out of one, and back
//   lane_heap.h      how a lane obtains slabs, and what other lanes free in them
//   heap.h           this file: the instructions
//   batch.h          many blocks by one instruction
#pragma once

#include "heap/lane_heap.h"

namespace gpu_run {
namespace heap {

// Whether a block that was found is handed out.
GPU_RUN_INLINE bool live(const Heap &heap, const Block &block) {
  return kind(block.state) == KIND_Region || is_marked(heap, block);
}

// How many bytes of a block that begins at `start` may be used: in a checked heap no more than were asked for.
GPU_RUN_INLINE u32 usable(Heap &heap, u32 start, const Block &block) {
  if (UNLIKELY(heap.sites != nullptr)) {
    return (u32)lesser(load_relaxed_device(&site_of(heap, start).size), block.bytes);
  }
  return block.bytes;
}

// The same by address.
GPU_RUN_NOINLINE Outcome measure(Heap &heap, u32 address, u32 &bytes) {
  Block block;
  u32 start;
  Outcome outcome = find_given(heap, address, ANY_SIZE, block, start);
  if (outcome == FOREIGN && heap.sites && was_freed(heap, address)) outcome = FREED;
  if (outcome != DONE) return outcome;
  bytes = usable(heap, start, block);
  return live(heap, block) ? DONE : FREED;
}

// A block of a checked heap was handed out at `address`, which becomes the program's address.
GPU_RUN_NOINLINE Outcome check_new(Memory &memory, u32 size, u32 align, u32 &address) {
  Block block;
  if (find(memory.heap, address, size, block) != DONE) return BROKEN;
  if (kind(block.state) == KIND_Region) forget_sites(memory.heap, block.first + 1, (u32)block.state - 1);
  return check_allocated(memory, address, size, align, block.bytes, address);
}

// The slow path of `release`.
GPU_RUN_NOINLINE Outcome release_slowly(Memory &memory, u32 address, u32 size, u32 align) {
  Heap &heap = memory.heap;
  Block block;
  Outcome outcome;
  if (UNLIKELY(heap.sites != nullptr)) {
    u32 start;
    outcome = find_given(heap, address, size, block, start);
    if (outcome == DONE) outcome = check_freed(memory, start, size, align, block.bytes);
    if (outcome == FOREIGN && was_freed(heap, address)) outcome = FREED;
  } else {
    outcome = find(heap, address, size, block);
  }
  if (outcome != DONE) return outcome;
  return kind(block.state) == KIND_Lane ? release_lane(memory, block) : give(heap, block);
}

// Frees a block.
GPU_RUN_NOINLINE Outcome release(Memory &memory, u32 address, u32 size, u32 align) {
  return keep_own(this_lane(memory.heap), address, size) ? DONE : release_slowly(memory, address, size, align);
}

// The slow path of `allocate_anywhere`, for a caller that has tried `take_own`; its result is one number.
GPU_RUN_NOINLINE u64 allocate_packed(const Launch &launch, Memory &memory, u32 size, u32 align) {
  Heap &heap = memory.heap;
  if (align == 0 || align & (align - 1)) align = 1;
  u64 result = refill_lane(memory, size, align);
  if (result != pack(DONE, 0)) return result;
  u32 bytes = size ? size : 1;
  const bool checked = heap.sites != nullptr;
  // The bytes that a block of a checked heap takes; 0: too many.
  if (UNLIKELY(checked)) bytes = checked_size(heap, bytes, align);
  if (bytes) result = allocate_shared(memory, bytes, align);
  u32 address;
  Outcome outcome = unpack(result, address);
  if (outcome != DONE) return pack(outcome, 0);
  if (address == 0) {
    if (heap.pages && bytes && relieve(launch, memory)) return pack(RETRY, 0);
    red_add_device(&heap.failed, 1u);
    return pack(DONE, 0);
  }
  if (UNLIKELY(checked)) outcome = check_new(memory, size, align, address);
  return pack(outcome, address);
}

// `allocate`, with its result as one number.
GPU_RUN_NOINLINE u64 allocate_anywhere(const Launch &launch, Memory &memory, u32 size, u32 align) {
  u32 address = take_own(this_lane(memory.heap), size, align);
  return address ? pack(DONE, address) : allocate_packed(launch, memory, size, align);
}

// A new block, or address 0 if there is no memory.
GPU_RUN_INLINE Outcome allocate(const Launch &launch, Memory &memory, u32 size, u32 align, u32 &address) {
  return unpack(allocate_anywhere(launch, memory, size, align), address);
}

// A new block, whose `size` bytes are 0.
GPU_RUN_INLINE Outcome allocate_zeroed(const Launch &launch, Memory &memory, u32 size, u32 align, u32 &address) {
  Outcome outcome = allocate(launch, memory, size, align, address);
  if (outcome == DONE && address) bulk_fill(launch, memory.base, address, 0, size);
  return outcome;
}

// Whether the block can hold `size` bytes where it is: its class is the same, or its region can be resized. If
// `old_size` is ANY_SIZE, it becomes the block's size.
GPU_RUN_NOINLINE Outcome resize(Heap &heap, u32 address, u32 &old_size, u32 align, u32 size, bool &done) {
  Block block;
  u32 start;
  Outcome outcome = find_given(heap, address, old_size, block, start);
  if (outcome != DONE) return outcome;
  // In a checked heap the size is compared when the old block is freed: until then no more is copied than it has.
  if (old_size == ANY_SIZE || heap.sites) old_size = (u32)lesser(old_size, usable(heap, start, block));
  // A checked block moves, so that a program that goes on using the old one is found.
  if (heap.sites) return DONE;
  if (kind(block.state) == KIND_Region) {
    done = resize_region(heap, block.first, block.state, size);
    return DONE;
  }
  if (!live(heap, block)) return FREED;
  done = size <= HEAP_LARGEST && align <= HEAP_LARGEST && class_of(size, align) == class_in(block.state);
  return DONE;
}

// The block `old` with another size: in place if possible, else moved. Address 0: there is no memory, and the block is
// as it was. `copied` is how many bytes were copied. For a caller that has tried `resize_own`.
GPU_RUN_INLINE Outcome reallocate_slowly(const Launch &launch, Memory &memory, u32 old, u32 old_size, u32 align, u32 size,
                                         u32 &address, u32 &copied) {
  copied = 0;
  address = old;
  const u32 said = old_size;
  if (align == 0 || align & (align - 1)) align = 1;
  bool done = false;
  Outcome outcome = resize(memory.heap, old, old_size, align, size, done);
  if (outcome != DONE || done) return outcome;
  outcome = allocate(launch, memory, size, align, address);
  if (outcome != DONE) return outcome;
  if (address == 0) {
    // A block that is to be smaller is large enough already.
    if (size <= old_size && !memory.heap.sites) address = old;
    return DONE;
  }
  copied = (u32)lesser(old_size, size);
  bulk_copy(launch, memory.base, address, memory.base, old, copied);
  return release(memory, old, said, align);
}

GPU_RUN_INLINE Outcome reallocate(const Launch &launch, Memory &memory, u32 old, u32 old_size, u32 align, u32 size,
                                  u32 &address, u32 &copied) {
  copied = 0;
  address = resize_own(this_lane(memory.heap), memory.base, old, old_size, align, size);
  return address ? DONE : reallocate_slowly(launch, memory, old, old_size, align, size, address, copied);
}

}  // namespace heap
}  // namespace gpu_run
