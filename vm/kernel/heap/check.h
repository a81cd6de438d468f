// What --heap-check and --leak-check add to the heap. Both keep a record for each block, beside linear memory. It has
// the block's size and alignment as they were asked for, and the calls that led to it. src/store/leaks.rs reads it
// after the run. With --heap-check a block has guard bytes on both sides, which are checked when it is freed. A freed
// block is filled with poison, which is checked when the block is handed out again.
//
// The heap's own block begins before the one that the program has: by `front` bytes, which follow from the alignment.
#pragma once

#include "heap/block.h"
#include "heap/large.h"

namespace gpu_run {
namespace heap {

// The record of a block of the heap, by where it begins.
GPU_RUN_INLINE HeapSite &site_of(Heap &heap, u32 start) { return heap.sites[start / SITE_GRAIN]; }

GPU_RUN_INLINE u32 state_in(u32 state) { return state & ((1u << SITE_ALIGN) - 1); }
GPU_RUN_INLINE u32 align_in(u32 state) { return 1u << (state >> SITE_ALIGN); }

// Bytes from the start of the heap's block to the program's.
GPU_RUN_INLINE u32 front_for(const Heap &heap, u32 align) {
  if (!heap.guards || align > GUARD_FRONT_MOST) return 0;
  return align > GUARD_FRONT ? align : GUARD_FRONT;
}

// The size of the heap's block for `size` bytes of the program's; 0 if that does not fit 32 bits.
GPU_RUN_INLINE u32 checked_size(const Heap &heap, u32 size, u32 align) {
  const u32 more = heap.guards ? front_for(heap, align) + GUARD_LEAST : 0;
  size = size > ~0u - more ? 0 : size + more;
  return size && size < SITE_GRAIN ? SITE_GRAIN : size;
}

// Whether `len` bytes are all `value`.
GPU_RUN_INLINE bool holds(const Memory &memory, u64 at, u64 len, u8 value) {
  for (u64 i = 0; i < len; i++) {
    if (linear::load<u8>(memory.base, at + i) != value) return false;
  }
  return true;
}

// Where a block is, and where its guard bytes are.
struct Fenced {
  u64 address;  // the program's
  u64 end;
  u64 front;  // where the guard bytes in front begin, which end at `address`
  u64 guard_end;  // of the bytes after it, which begin at `end`
};
GPU_RUN_INLINE Fenced fenced(u32 start, u32 front, u32 size, u32 bytes) {
  const u64 address = (u64)start + front, end = address + size;
  return {address, end, address - lesser(front, GUARD_MOST), lesser(end + GUARD_MOST, (u64)start + bytes)};
}

// A block of `bytes` that begins at `start` was handed out for `size`. Sets the program's address.
GPU_RUN_NOINLINE Outcome check_allocated(Memory &memory, u32 start, u32 size, u32 align, u32 bytes, u32 &address) {
  Heap &heap = memory.heap;
  HeapSite &site = site_of(heap, start);
  const u32 before = load_relaxed_device(&site.state);
  if (heap.guards && state_in(before) == SITE_Freed) {
    // The record stays as it is then: it says which block that was.
    address = start + front_for(heap, align_in(before));
    u64 poisoned = lesser(lesser(load_relaxed_device(&site.size), (u64)start + bytes - address), POISON_MOST);
    if (!holds(memory, address, poisoned, POISON)) return LATE_WRITE;
  }
  address = start + front_for(heap, align);
  store_relaxed_device(&site.size, size);
  store_relaxed_device(&site.pc, 0u);
  store_relaxed_device(&site.state, SITE_Live | log2_floor(align) << SITE_ALIGN);
  u64 live = fetch_add_acq_rel_device(&heap.live_bytes, (u64)size) + size;
  red_max_device(&heap.live_peak, live);
  if (!heap.guards) return DONE;
  const Fenced at = fenced(start, address - start, size, bytes);
  linear::fill(memory.base, at.front, GUARD, at.address - at.front);
  linear::fill(memory.base, at.end, GUARD, at.guard_end - at.end);
  return DONE;
}

// A block of `bytes` that begins at `start` is to be freed. It is said to hold `size` and to be aligned to `align`.
GPU_RUN_NOINLINE Outcome check_freed(Memory &memory, u32 start, u32 size, u32 align, u32 bytes) {
  Heap &heap = memory.heap;
  HeapSite &site = site_of(heap, start);
  u32 own = load_relaxed_device(&site.size), state = load_relaxed_device(&site.state);
  if (heap.guards && state_in(state) == SITE_Live) {
    if (align == 0 || align & (align - 1)) align = 1;
    // C's free knows neither size nor alignment.
    if (size != ANY_SIZE && own != size) return WRONG_SIZE;
    if (size != ANY_SIZE && align_in(state) != align) return WRONG_ALIGN;
    const Fenced at = fenced(start, front_for(heap, align_in(state)), own, bytes);
    if (!holds(memory, at.front, at.address - at.front, GUARD)) return UNDERRUN;
    if (!holds(memory, at.end, at.guard_end - at.end, GUARD)) return OVERRUN;
  }
  // Acquire/release: of two lanes that free it one is the second.
  u32 live = (state & ~((1u << SITE_ALIGN) - 1)) | SITE_Live;
  if (!compare_exchange_acq_rel_device(&site.state, live, live - SITE_Live + SITE_Freed)) return FREED;
  fetch_add_acq_rel_device(&heap.live_bytes, 0 - (u64)own);
  if (heap.guards) {
    linear::fill(memory.base, (u64)start + front_for(heap, align_in(state)), POISON, lesser(own, POISON_MOST));
  }
  return DONE;
}

// Whether programs' addresses may be further from their blocks' starts than `front`; sets the next distance.
GPU_RUN_INLINE bool next_front(const Heap &heap, u32 &front) {
  if (!heap.guards || front == 0) return false;
  front = front < GUARD_FRONT_MOST ? front * 2 : 0;
  return true;
}
GPU_RUN_INLINE u32 first_front(const Heap &heap) { return heap.guards ? GUARD_FRONT : 0; }

// Finds the block that the program knows by an address, and where the heap's block begins: see `find`.
GPU_RUN_NOINLINE Outcome find_given(Heap &heap, u32 address, u32 size, Block &block, u32 &start) {
  u32 front = first_front(heap);
  do {
    start = address - front;
    if (address < front) continue;
    Outcome outcome = find(heap, start, size, block);
    if (!heap.guards) return outcome;
    // Whether the size is wrong is decided by the block's record, which knows the size as it was asked for.
    if (outcome == WRONG_SIZE) outcome = find(heap, start, ANY_SIZE, block);
    const u32 state = outcome == DONE ? load_relaxed_device(&site_of(heap, start).state) : 0;
    if (state_in(state) != SITE_None && front_for(heap, align_in(state)) == front) return DONE;
  } while (next_front(heap, front));
  return FOREIGN;
}

// Whether a block was freed at an address, even if its pages are gone since.
GPU_RUN_NOINLINE bool was_freed(Heap &heap, u32 address) {
  u32 front = first_front(heap);
  do {
    const u32 start = address - front;
    if (address < front || start / PAGE >= heap.page_limit) continue;
    const u32 state = load_relaxed_device(&site_of(heap, start).state);
    if (state_in(state) == SITE_Freed && front_for(heap, align_in(state)) == front) return true;
  } while (next_front(heap, front));
  return false;
}

// Records the calls that led to a block: where ALLOC stands, and the return addresses, innermost first.
template <typename Calls>
GPU_RUN_INLINE void note_calls(Memory &memory, u32 address, u32 pc, u32 count, Calls calls) {
  // In a batch the address comes from the guest's memory, where another thread may write.
  if (!memory.heap.sites || address == 0) return;
  Block block;
  u32 start;
  if (find_given(memory.heap, address, ANY_SIZE, block, start) != DONE) return;
  HeapSite &site = site_of(memory.heap, start);
  for (u32 i = 0; i < SITE_CALLS; i++) store_relaxed_device(&site.calls[i], i < count ? calls(i) : 0u);
  // Last: while it is 0 the calls are those of the block before. The host may look meanwhile, to show what it finds.
  store_release_device(&site.pc, pc);
}

}  // namespace heap
}  // namespace gpu_run
