// The heap behind ALLOC, DEALLOC, REALLOC and ALLOC_ZERO. It lies inside linear memory and takes
// its pages through the same atomic grow as the guest, so both may grow the memory in turn.
//
// Sizes are rounded to classes: multiples of 16 bytes up to 64, then four steps for each power of
// two. Each class has a lock-free list of free blocks; a class without a free block cuts one from
// the current region with a compare-exchange. A block's class follows from the size and alignment
// that the guest gives back when it frees it, so blocks have no header.
//
// The links of the lists stand in the free blocks, where the guest can overwrite them. Every link
// is checked against the memory's bounds before it is followed, so a guest can break its own heap
// but reach nothing else.
#pragma once

#include "bulk.h"

namespace gpu_run {
namespace heap {

constexpr u32 GRAIN = 16;
// Pages that a new region asks for at least, while the memory has them.
constexpr u32 REGION_PAGES = 16;

enum Outcome {
  DONE,
  RETRY,  // another thread fetches pages: execute the instruction again
  CORRUPTED,
};

struct Class {
  u64 *list;
  u32 grains;  // size of a block
  u32 align;  // of its address, in grains
};

GPU_RUN_INLINE u32 log2_ceil(u32 n) { return n <= 1 ? 0 : 32 - (u32)__builtin_clz(n - 1); }

// The class of blocks for a size and alignment. Alignments above a grain get blocks of a power of
// two that are aligned to their size.
GPU_RUN_INLINE Class class_of(Heap &heap, u32 size, u32 align) {
  u32 grains = size / GRAIN + (size % GRAIN != 0);
  if (grains == 0) grains = 1;
  if (align > GRAIN) {
    u32 align_grains = align / GRAIN;
    u32 log = log2_ceil(grains > align_grains ? grains : align_grains);
    return {&heap.free_aligned[log], 1u << log, 1u << log};
  }
  if (grains <= 4) return {&heap.free[grains - 1], grains, 1};
  u32 log = 31 - (u32)__builtin_clz(grains - 1);  // 2^log < grains <= 2^(log+1)
  u32 step = 1u << (log - 2);
  u32 steps = (grains - (1u << log) + step - 1) / step;  // 1 to 4
  return {&heap.free[4 + (log - 2) * 4 + steps - 1], (1u << log) + steps * step, 1};
}

// Whether a block of this class can lie at this grain.
GPU_RUN_INLINE bool plausible(Memory &memory, const Class &c, u32 block) {
  return block != 0 && block % c.align == 0 &&
         in_bounds((u64)block * GRAIN, (u64)c.grains * GRAIN, load_relaxed_device(&memory.size));
}

// Takes a free block; 0 if there is none.
GPU_RUN_INLINE Outcome pop(Memory &memory, const Class &c, u32 &block) {
  u64 *list = c.list;
  u64 head = load_acquire_device(list);  // pairs with the release in push: the link is visible
  for (;;) {
    block = (u32)head;
    if (block == 0) return DONE;
    // The whole block is checked, not only its link: what is done with it afterwards trusts it.
    if (!plausible(memory, c, block)) return CORRUPTED;
    u64 at = (u64)block * GRAIN;
    // Another thread may take the block and write to it between this load and the exchange. Then
    // the tag differs, the exchange fails and what was read is dropped.
    u32 next = load_relaxed_device((const u32 *)(memory.base + at));
    u64 desired = ((head >> 32) + 1) << 32 | next;
    if (compare_exchange_acq_rel_device(list, head, desired)) return DONE;
  }
}

GPU_RUN_INLINE void push(Memory &memory, u64 *list, u32 block) {
  u64 head = load_relaxed_device(list);
  u64 desired;
  do {
    store_relaxed_device((u32 *)(memory.base + (u64)block * GRAIN), (u32)head);
    desired = ((head >> 32) + 1) << 32 | block;
    // The release half publishes the link; the acquire in pop pairs with it.
  } while (!compare_exchange_acq_rel_device(list, head, desired));
}

// Gives what is left of a region to the lists, so that no byte is lost when a new one begins.
GPU_RUN_INLINE void recycle(Memory &memory, u32 next, u32 end) {
  while (next < end) {
    u32 left = end - next;
    // Largest class that fits: at most the rest, and one step down if rounding went up.
    Class c = class_of(memory.heap, left > 0x0fffffff ? 0xfffffff0u : left * GRAIN, 1);
    while (c.grains > left) {
      u32 log = 31 - (u32)__builtin_clz(left);
      u32 down = left > 4 ? left & ~((1u << (log - 2)) - 1) : left;
      c = class_of(memory.heap, down * GRAIN, 1);
      left = c.grains;
    }
    push(memory, c.list, next);
    next += c.grains;
  }
}

// Fetches pages for a block of `need` grains and makes them the current region, unless another
// thread has replaced the region `seen` meanwhile. One thread at a time; the lock is held within this
// call only and nobody waits for it here.
GPU_RUN_INLINE Outcome grow(Memory &memory, u64 seen, u32 need, u32 align, bool &out_of_memory) {
  Heap &heap = memory.heap;
  u32 unlocked = 0;
  if (!compare_exchange_acq_rel_device(&heap.growing, unlocked, 1u)) return RETRY;
  u64 region = load_relaxed_device(&heap.bump);
  if (region != seen) {
    store_release_device(&heap.growing, 0u);
    return DONE;
  }
  u64 bytes = ((u64)need + align) * GRAIN;
  u32 pages = (u32)((bytes + PAGE - 1) / PAGE);
  u32 ask = pages > REGION_PAGES ? pages : REGION_PAGES;
  u32 old = memory_grow(memory, ask);
  if (old == ~0u && ask > pages) old = memory_grow(memory, ask = pages);
  if (old == ~0u) {
    out_of_memory = true;
  } else {
    u64 start = (u64)old * PAGE / GRAIN;
    u64 end = start + (u64)ask * PAGE / GRAIN;
    if (end > 0xffffffffull) end = 0xffffffffull;
    if (start == 0) start = 1;  // address 0 is no block
    for (;;) {
      // Others still cut blocks from the old region; only the holder of the lock replaces it.
      bool adjacent = region >> 32 == start;
      u64 desired = end << 32 | (adjacent ? (u32)region : start);
      if (compare_exchange_acq_rel_device(&heap.bump, region, desired)) {
        if (!adjacent) recycle(memory, (u32)region, (u32)(region >> 32));
        break;
      }
    }
  }
  store_release_device(&heap.growing, 0u);  // pairs with the acquire of the next to lock
  return DONE;
}

// Cuts a new block from the current region.
GPU_RUN_INLINE Outcome cut(Memory &memory, const Class &c, u32 &block) {
  Heap &heap = memory.heap;
  u64 region = load_acquire_device(&heap.bump);  // pairs with the exchange in grow
  for (;;) {
    u32 next = (u32)region, end = (u32)(region >> 32);
    u64 start = ((u64)next + c.align - 1) / c.align * c.align;
    if (next != 0 && start + c.grains <= end) {
      u64 desired = (u64)end << 32 | (u32)(start + c.grains);
      if (compare_exchange_acq_rel_device(&heap.bump, region, desired)) {
        recycle(memory, next, (u32)start);  // the gap before an aligned block
        block = (u32)start;
        return DONE;
      }
      continue;
    }
    bool out_of_memory = false;
    Outcome outcome = grow(memory, region, c.grains, c.align, out_of_memory);
    if (outcome != DONE || out_of_memory) return outcome;
    region = load_acquire_device(&heap.bump);
  }
}

// A new block, or address 0 if there is no memory.
GPU_RUN_NOINLINE Outcome allocate(Memory &memory, u32 size, u32 align, u32 &address) {
  Heap &heap = memory.heap;
  address = 0;
  if (size > 0xf0000000u || align > 0x80000000u) {
    count_device(&heap.failed);
    return DONE;
  }
  Class c = class_of(heap, size, align);
  u32 block = 0;
  Outcome outcome = pop(memory, c, block);
  if (outcome == DONE && block == 0) outcome = cut(memory, c, block);
  if (outcome != DONE) return outcome;
  if (block == 0) {
    count_device(&heap.failed);
  } else {
    count_device(&heap.allocated);
  }
  address = block * GRAIN;
  return DONE;
}

GPU_RUN_NOINLINE Outcome release(Memory &memory, u32 address, u32 size, u32 align) {
  Class c = class_of(memory.heap, size, align);
  if (address % GRAIN != 0 || !plausible(memory, c, address / GRAIN)) return CORRUPTED;
  push(memory, c.list, address / GRAIN);
  count_device(&memory.heap.freed);
  return DONE;
}

// The same with its `size` bytes 0.
GPU_RUN_INLINE Outcome allocate_zeroed(const Launch &launch, Memory &memory, u32 size, u32 align, u32 &address) {
  Outcome outcome = allocate(memory, size, align, address);
  if (outcome == DONE && address) bulk_fill(launch, memory.base, address, 0, size);
  return outcome;
}

// The block `old` with another size: where it was if that has the same class, else moved. Address 0 if
// there is no memory; then the block is as it was. `copied` is how many bytes that took.
GPU_RUN_INLINE Outcome reallocate(const Launch &launch, Memory &memory, u32 old, u32 old_size, u32 align, u32 size,
                                  u32 &address, u32 &copied) {
  copied = 0;
  Class from = class_of(memory.heap, old_size, align);
  if (old % GRAIN != 0 || !plausible(memory, from, old / GRAIN)) return CORRUPTED;
  address = old;
  if (class_of(memory.heap, size > 0xf0000000u ? 0xf0000000u : size, align).list == from.list) return DONE;
  Outcome outcome = allocate(memory, size, align, address);
  if (outcome != DONE || address == 0) return outcome;
  copied = (u32)lesser(old_size, size);
  bulk_copy(launch, memory.base, address, memory.base, old, copied);
  return release(memory, old, old_size, align);
}

}  // namespace heap
}  // namespace gpu_run
