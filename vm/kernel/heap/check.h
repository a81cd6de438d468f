// What --heap-check and --leak-check have the heap do. Both keep a record for each block, beside linear
// memory: its size as it was asked for, and the calls that led to it, which src/store/heap.rs reads after
// the run. With --heap-check a block has guard bytes behind it, which are looked at when it is freed; a freed
// block is filled with poison, which is looked at when the block is handed out again.
#pragma once

#include "large.h"

namespace gpu_run {
namespace heap {

constexpr u32 GUARD_LEAST = 16;  // bytes behind a block
constexpr u32 GUARD_MOST = 64;
constexpr u8 GUARD = 0xfd;
constexpr u8 POISON = 0xdd;
// Bytes of a block that are filled with poison at most: one lane does it.
constexpr u32 POISON_MOST = 65536;

GPU_RUN_INLINE HeapSite &site_of(Heap &heap, u32 address) { return heap.sites[address / SITE_GRAIN]; }

// The size that a block for `size` bytes is to have; 0 if that is more than 32 bits count.
GPU_RUN_INLINE u32 checked_size(const Heap &heap, u32 size) {
  if (heap.guards) size = size > ~0u - GUARD_LEAST ? 0 : size + GUARD_LEAST;
  return size && size < SITE_GRAIN ? SITE_GRAIN : size;
}

// Whether `len` bytes are all `value`.
GPU_RUN_INLINE bool holds(const Memory &memory, u64 at, u64 len, u8 value) {
  for (u64 i = 0; i < len; i++) {
    if (linear::load<u8>(memory.base, at + i) != value) return false;
  }
  return true;
}

// Where the guard bytes of a block of `bytes` end that holds `size`.
GPU_RUN_INLINE u64 guard_end(u32 address, u32 size, u32 bytes) {
  return (u64)address + lesser((u64)size + GUARD_MOST, bytes);
}

// A block of `bytes` was handed out for `size`.
GPU_RUN_NOINLINE Outcome check_allocated(Memory &memory, u32 address, u32 size, u32 bytes) {
  Heap &heap = memory.heap;
  HeapSite &site = site_of(heap, address);
  if (heap.guards && load_relaxed_device(&site.state) == SITE_Freed) {
    // The record stays as it is then: it says whose block it was.
    u64 poisoned = lesser(lesser(load_relaxed_device(&site.size), bytes), POISON_MOST);
    if (!holds(memory, address, poisoned, POISON)) return LATE_WRITE;
  }
  store_relaxed_device(&site.size, size);
  store_relaxed_device(&site.pc, 0u);
  store_relaxed_device(&site.state, (u32)SITE_Live);
  u64 live = fetch_add_acq_rel_device(&heap.live_bytes, (u64)size) + size;
  raise_device(&heap.live_peak, live);
  if (!heap.guards) return DONE;
  linear::fill(memory.base, (u64)address + size, GUARD, guard_end(address, size, bytes) - address - size);
  return DONE;
}

// A block of `bytes` is to be freed that is said to hold `size`.
GPU_RUN_NOINLINE Outcome check_freed(Memory &memory, u32 address, u32 size, u32 bytes) {
  Heap &heap = memory.heap;
  HeapSite &site = site_of(heap, address);
  u32 own = load_relaxed_device(&site.size), live = SITE_Live;
  if (heap.guards && load_relaxed_device(&site.state) == SITE_Live) {
    if (own != size && size != ANY_SIZE) return WRONG_SIZE;
    u64 end = (u64)address + own;
    if (!holds(memory, end, guard_end(address, own, bytes) - end, GUARD)) return OVERRUN;
  }
  // Acquire/release: of two who free it one is the second.
  if (!compare_exchange_acq_rel_device(&site.state, live, (u32)SITE_Freed)) return FREED;
  fetch_add_acq_rel_device(&heap.live_bytes, 0 - (u64)own);
  if (heap.guards) linear::fill(memory.base, address, POISON, lesser(own, POISON_MOST));
  return DONE;
}

// Whether a block was freed at an address, whose pages may be gone since.
GPU_RUN_INLINE bool was_freed(Heap &heap, u32 address) {
  return address / PAGE < heap.page_limit && load_relaxed_device(&site_of(heap, address).state) == SITE_Freed;
}

// Notes the calls that led to a block: where ALLOC stands, and the return addresses, innermost first.
template <typename Calls>
GPU_RUN_INLINE void note_calls(Memory &memory, u32 address, u32 pc, u32 count, Calls calls) {
  // Of a batch the address comes from the guest's memory, where another thread may write.
  if (!memory.heap.sites || address == 0 || address / PAGE >= memory.heap.page_limit) return;
  HeapSite &site = site_of(memory.heap, address);
  store_relaxed_device(&site.pc, pc);
  for (u32 i = 0; i < SITE_CALLS; i++) store_relaxed_device(&site.calls[i], i < count ? calls(i) : 0u);
}

}  // namespace heap
}  // namespace gpu_run
