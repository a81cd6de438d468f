// ALLOC_BATCH and DEALLOC_BATCH: many blocks of one size by one instruction. Blocks of a slab are promised, claimed and
// freed up to 64 at a time, by as many atomics as one block otherwise takes. Their addresses lie in an array of the
// guest's.
//
// An instruction handles so many blocks in one step and is then executed again, so that the stop flag is seen.
// Thread::resume_state says how many are done.
#pragma once

#include "heap/heap.h"

namespace gpu_run {
namespace heap {

// Blocks in one step: as many as a word of a slab's bitmap has bits.
constexpr u32 BATCH = 64;

// What an instruction knows of its array: where it lies, and how many addresses it has.
struct Batch {
  u64 at;
  u32 count;
};

// Takes up to `want` blocks of class `c`, and stores their addresses from `at` on. None, and DONE: there is no memory.
GPU_RUN_NOINLINE Outcome take_blocks(Memory &memory, u32 c, u32 align, u64 at, u32 want, u32 &taken) {
  taken = 0;
  u64 found = reserve_tickets(memory, c, want);
  Reservation grant = unpack(found);
  if (grant.count == 0) {
    if (found != no_grant(DONE)) return (Outcome)found;
    u32 address;
    Outcome outcome = unpack(allocate_last_resort(memory, c, align), address);
    if (outcome == DONE && address) linear::store<u32>(memory.base, at + 4 * taken++, address);
    return outcome;
  }
  count_allocated(memory.heap, c, grant.count);
  while (taken < grant.count) {
    u32 word;
    u64 bits = claim(memory.heap.pages[grant.page], grant.start + taken, grant.count - taken, word);
    // A slab has no more bits to claim than blocks.
    if (!bits) return BROKEN;
    for (; bits; bits &= bits - 1) {
      u32 address;
      if (!place(memory, grant.page, word * 64 + low_bit(bits), address)) return BROKEN;
      linear::store<u32>(memory.base, at + 4 * taken++, address);
    }
  }
  return DONE;
}

// The same for one block: a region, or a block of a checked heap.
GPU_RUN_INLINE Outcome take_one(const Launch &launch, Memory &memory, u32 size, u32 align, u64 at, u32 &taken) {
  u32 address;
  Outcome outcome = allocate(launch, memory, size, align, address);
  taken = outcome == DONE && address;
  if (taken) linear::store<u32>(memory.base, at, address);
  return outcome;
}

// Allocates some of the blocks from index `done` of the array on. None, and DONE: there is no memory.
GPU_RUN_INLINE Outcome take(const Launch &launch, Memory &memory, Batch batch, u32 size, u32 align, u32 done, u32 &taken) {
  Heap &heap = memory.heap;
  u64 at = batch.at + 4ull * done;
  if (align == 0 || align & (align - 1)) align = 1;
  if (size == 0) size = 1;
  if (!heap.pages || heap.sites || !from_slab(size, align)) return take_one(launch, memory, size, align, at, taken);
  u32 want = (u32)lesser(batch.count - done, BATCH);
  Outcome outcome = take_blocks(memory, class_of(size, align), align, at, want, taken);
  if (outcome == DONE && taken == 0) {
    if (relieve(launch, memory)) return RETRY;
    red_add_device(&heap.failed, 1u);
  }
  return outcome;
}

// Frees blocks of one word of a slab's bitmap: as many as are adjacent in the array. The first is `block`, whose
// address has index `done` in the array. `address` becomes that of one that was free already.
GPU_RUN_NOINLINE Outcome give_blocks(Memory &memory, Batch batch, u32 size, u32 done, Block block, u32 &freed,
                                     u32 &address) {
  Heap &heap = memory.heap;
  u32 first = block.first, word = block.index / 64, bytes = block.bytes;
  u32 most = (u32)lesser(batch.count - done, BATCH);
  u64 bits = 0;
  for (u32 i = 0; i < most; i++) {
    if (i) {
      u32 next = linear::load<u32>(memory.base, batch.at + 4ull * (done + i));
      if (find(heap, next, size, block) != DONE || kind(block.state) == KIND_Lane) break;
    }
    u64 bit = 1ull << block.index % 64;
    if (kind(block.state) == KIND_Region || block.first != first || block.index / 64 != word || bits & bit) break;
    bits |= bit;
  }
  HeapPage &head = heap.pages[first];
  // Release: pairs with the acquire of the lane that gets a block next.
  u64 had = fetch_and_release_device(&head.bits[word], ~bits) & bits;
  freed = (u32)__builtin_popcountll(had);
  // Release: as in `release`.
  u64 state = freed ? fetch_add_acq_rel_device(&head.state, 0 - (u64)freed) : 0;
  if (kind(state) == KIND_Full) {
    list(heap, first, KIND_Full);
  } else if (kind(state) == KIND_Listed && used(state) == freed) {
    retire(heap, first);
  }
  if (had == bits) return DONE;
  address = first * PAGE + (word * 64 + low_bit(bits & ~had)) * bytes;
  return FREED;
}

// Frees some of the blocks from index `done` of the array on. `address` becomes that of a mistake.
GPU_RUN_INLINE Outcome give(Memory &memory, Batch batch, u32 size, u32 align, u32 done, u32 &freed, u32 &address) {
  address = linear::load<u32>(memory.base, batch.at + 4ull * done);
  freed = 1;
  Block block;
  bool alone = memory.heap.sites || find(memory.heap, address, size, block) != DONE ||
               kind(block.state) == KIND_Region || kind(block.state) == KIND_Lane;
  return alone ? release(memory, address, size, align) : give_blocks(memory, batch, size, done, block, freed, address);
}

// A checked heap knows which calls allocated each of the blocks.
template <typename Calls>
GPU_RUN_INLINE void note_batch(Memory &memory, Registers registers, const u64 *words, u64 w, u32 pc, u32 count,
                               Calls calls) {
  u64 at = registers.get32(slot(load_code(words + 1), 0));
  for (u32 i = 0; i < registers.get32(slot(w, 1)); i++) {
    note_calls(memory, linear::load<u32>(memory.base, at + 4ull * i), pc, count, calls);
  }
}

}  // namespace heap
}  // namespace gpu_run
