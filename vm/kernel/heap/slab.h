// Slabs: runs of pages that are cut into blocks of one class. A bit for each block says whether it is
// handed out, and one word, the state, how many are:
//
//   bits 0 to 15   used: blocks that are handed out or promised
//   bits 16 to 31  capacity: blocks that there are
//   bits 32 to 39  class
//   bits 40 to 47  kind
//
// Who wants blocks first adds their number to `used` by an exchange, and only then looks for clear bits.
// Who frees one clears its bit before it takes 1 from `used`. So there are never more bits set than `used`,
// and who was promised a block finds a clear bit, if not in his first turn round the bitmap then because
// others found theirs.
//
// Kinds: a Held slab is in a slot, where lanes take blocks from it. A Listed one is in its class's set, or
// about to be, and whoever takes it from there may use it. A Full one is in neither: the first to free one
// of its blocks lists it. A Listed slab whose last block is freed goes back to the free pages.
//
// Against ABA: an exchange of the state needs nothing but what the state itself says. If a slab was given
// up and the same pages became another one with the same state, then blocks of that are as good.
#pragma once

#include "pages.h"

namespace gpu_run {
namespace heap {

GPU_RUN_INLINE u32 used(u64 state) { return (u32)state & 0xffff; }
GPU_RUN_INLINE u32 capacity(u64 state) { return (u32)state >> 16; }
GPU_RUN_INLINE u32 class_in(u64 state) { return (u32)(state >> 32) & 0xff; }
GPU_RUN_INLINE u64 with_kind(u64 state, Kind kind) { return (state & ~(0xffull << 40)) | (u64)kind << 40; }

// Blocks that were promised: of which slab, and how many blocks of it were used before.
struct Grant {
  u32 page;
  u16 count;  // 0: none
  u16 used;
};
GPU_RUN_INLINE u64 pack(Grant grant) { return grant.page | (u64)grant.count << 32 | (u64)grant.used << 48; }
GPU_RUN_INLINE Grant unpack(u64 word) { return {(u32)word, (u16)(word >> 32), (u16)(word >> 48)}; }
constexpr u64 NO_GRANT = 0;

// Promises up to `want` blocks of a slab that is Held and of class `c`; fewer if it has not so many. Adds to
// `collisions` how often another was faster.
GPU_RUN_INLINE u64 reserve(Heap &heap, u32 page, u32 c, u32 want, u32 &collisions) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at);
  for (;;) {
    if (kind(state) != KIND_Held || class_in(state) != c || used(state) >= capacity(state)) return NO_GRANT;
    u32 count = (u32)lesser(want, capacity(state) - used(state));
    // Acquire: pairs with the release by which the slab was made; its bitmap is visible.
    if (compare_exchange_acquire_device(at, state, state + count)) {
      return pack({page, (u16)count, (u16)used(state)});
    }
    collisions++;
  }
}

// Finds up to `want` blocks of those promised, all in one word of the bitmap: gives their bits, and the
// word's index. The search begins where a slab that fills for the first time has its next block. 0 if it
// does not end, which only a guest that frees what it does not own can bring about.
GPU_RUN_INLINE u64 claim(Heap &heap, u32 page, u32 start, u32 want, u32 &word) {
  HeapPage &head = heap.pages[page];
  u32 blocks = capacity(load_relaxed_device(&head.state));
  u32 words = (u32)lesser((blocks + 63) / 64, HEAP_WORDS);
  if (words == 0) return 0;
  word = start / 64 % words;
  for (u32 tries = 0; tries < 65536; tries++) {
    u64 clear = ~load_relaxed_device(&head.bits[word]), bits = 0;
    for (u32 n = 0; n < want && clear; n++) {
      bits |= clear & (0 - clear);
      clear &= clear - 1;
    }
    if (bits) {
      // Acquire: pairs with the release of whoever freed the block, and of whoever made the slab.
      bits &= ~fetch_or_acquire_device(&head.bits[word], bits);
      if (bits) return bits;
    } else {
      word = word + 1 < words ? word + 1 : 0;
    }
  }
  return 0;
}

// Makes a slab of a run of pages, with `count` blocks of it promised.
GPU_RUN_INLINE void make_slab(Heap &heap, u32 page, u32 pages, u32 c, u32 count, Kind kind) {
  HeapPage &head = heap.pages[page];
  u32 blocks = pages * PAGE / class_size(c);
  for (u32 i = 0; i * 64 < blocks; i++) {
    u32 left = blocks - i * 64;
    // Bits behind the last block are set for ever.
    store_relaxed_device(&head.bits[i], left < 64 ? ~0ull << left : 0);
  }
  for (u32 i = 0; i < pages; i++) store_relaxed_device(&heap.pages[page + i].first, page);
  if (UNLIKELY(heap.sites != nullptr)) forget_sites(heap, page, pages);
  count_device(&heap.slabs[c], 1u);
  count_used(heap, pages);
  // Release: pairs with the acquire in `reserve`, or in `take` by which another gets it from the set.
  store_release_device(&head.state, (u64)kind << 40 | (u64)c << 32 | (u64)blocks << 16 | count);
}

// A listed slab without used blocks: its pages become free, unless another takes the slab first.
GPU_RUN_NOINLINE void retire(Heap &heap, u32 page) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at);
  u32 c = class_in(state);
  if (kind(state) != KIND_Listed || c >= HEAP_CLASSES) return;
  Set listed = set(heap, 1 + c);
  if (!remove(listed, page / 64, 1ull << page % 64)) return;
  // The token is here, so only blocks that are freed change the state.
  state = load_relaxed_device(at);
  // Acquire: pairs with all who freed a block, whose accesses so come before those of the next owner.
  if (kind(state) == KIND_Listed && used(state) == 0 &&
      compare_exchange_acq_rel_device(at, state, (u64)KIND_None)) {
    u32 blocks = capacity(state);
    count_device(&heap.slabs[c], ~0u);
    give_run(heap, page, (blocks * class_size(c) + PAGE - 1) / PAGE);
    return;
  }
  add(listed, page / 64, 1ull << page % 64);
}

// A slab that nobody holds and that has room goes into its class's set.
GPU_RUN_NOINLINE void list(Heap &heap, u32 page, Kind from) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at), listed;
  do {
    if (kind(state) != from) return;
    bool full = used(state) >= capacity(state);
    if (full && from == KIND_Full) return;
    listed = with_kind(state, full ? KIND_Full : KIND_Listed);
  } while (!compare_exchange_acq_rel_device(at, state, listed));
  if (kind(listed) == KIND_Full) return;
  add(set(heap, 1 + class_in(listed)), page / 64, 1ull << page % 64);
  // Who freed its last block meanwhile may not have found it in the set.
  if (used(load_relaxed_device(at)) == 0) retire(heap, page);
}

// Takes a slab with room from the class's set. It becomes `kind`, with up to `want` blocks promised.
GPU_RUN_INLINE u64 take_listed(Heap &heap, u32 c, u32 want, u32 hash, Kind kind_after) {
  Set listed = set(heap, 1 + c);
  for (;;) {
    u32 page = take(listed, 1, hash);
    if (page == NO_PAGE) return NO_GRANT;
    u64 *at = &heap.pages[page].state;
    u64 state = load_relaxed_device(at);
    for (;;) {
      if (kind(state) != KIND_Listed || class_in(state) != c || used(state) >= capacity(state)) break;
      u32 count = (u32)lesser(want, capacity(state) - used(state));
      // Only blocks that are freed change the state meanwhile.
      if (compare_exchange_acq_rel_device(at, state, with_kind(state, kind_after) + count)) {
        return pack({page, (u16)count, (u16)used(state)});
      }
    }
  }
}

}  // namespace heap
}  // namespace gpu_run
