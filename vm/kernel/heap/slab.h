// Slabs (Bonwick): runs of pages that are cut into blocks of one class. A bit for each block says whether it is handed
// out (as in ScatterAlloc), and one word, the state, how many are:
//
//   bits 0 to 15   used: blocks that are handed out, or promised to a lane or a slot
//   bits 16 to 31  capacity: blocks that there are
//   bits 32 to 39  class
//   bits 40 to 47  kind
//
// A lane that wants blocks first adds their number to `used` by an exchange, and only then looks for clear bits. A lane
// that frees a block clears its bit before it takes 1 from `used`. So there are never more bits set than `used`, and a
// lane that was promised a block finds a clear bit. If it does not in its first turn round the bitmap, then because
// others found theirs.
//
// Kinds: a Held slab is in a slot, where lanes take blocks from it. A Listed one is in its class's set, or about to be,
// and the lane that takes it from there may use it. A Full one is in neither: the first lane to free one of its blocks
// lists it. A Listed slab whose last block is freed goes back to the free pages.
//
// Against ABA: an exchange of the state needs nothing but what the state itself says. If a slab was given up and the
// same pages became another one with the same state, then blocks of that are as good.
#pragma once

#include "heap/pages.h"

namespace gpu_run {
namespace heap {

GPU_RUN_INLINE u32 used(u64 state) { return (u32)state & 0xffff; }
GPU_RUN_INLINE u32 capacity(u64 state) { return (u32)state >> 16; }
GPU_RUN_INLINE u32 class_in(u64 state) { return (u32)(state >> 32) & 0xff; }
GPU_RUN_INLINE u64 with_kind(u64 state, PageKind kind) { return (state & ~(0xffull << 40)) | (u64)kind << 40; }

// Pages of a slab: less than a page is left over at its end.
GPU_RUN_INLINE u32 slab_pages(u64 state) {
  return (capacity(state) * class_size(class_in(state)) + PAGE - 1) / PAGE;
}

// Blocks that were promised: of which slab, and where in it the search for them begins.
struct Reservation {
  u32 page;
  u16 count;  // 0: none
  u16 start;
};
GPU_RUN_INLINE u64 pack(Reservation grant) { return grant.page | (u64)grant.count << 32 | (u64)grant.start << 48; }
GPU_RUN_INLINE Reservation unpack(u64 word) { return {(u32)word, (u16)(word >> 32), (u16)(word >> 48)}; }
constexpr u64 NO_GRANT = 0;
// In place of a number of blocks: as many as there are.
constexpr u32 ALL = ~0u;

// Free blocks of a slab, if it is one of class `c` and of kind `of`.
GPU_RUN_INLINE u32 room(u64 state, PageKind of, u32 c) {
  bool any = kind(state) == of && class_in(state) == c && used(state) < capacity(state);
  return any ? capacity(state) - used(state) : 0;
}

// Promises up to `want` blocks of a slab if it is Held and of class `c`.
GPU_RUN_INLINE u64 reserve(Heap &heap, u32 page, u32 c, u32 want) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at);
  while (u32 free = room(state, KIND_Held, c)) {
    u32 count = (u32)lesser(want, free);
    // Acquire: pairs with the release by which the slab was made; its bitmap is visible.
    if (compare_exchange_acquire_device(at, state, state + count)) {
      return pack({page, (u16)count, (u16)used(state)});
    }
  }
  return NO_GRANT;
}

// Finds up to `want` of the promised blocks, all in one word of the bitmap, beginning with word `word`.
GPU_RUN_NOINLINE u64 search(HeapPage &head, u32 want, u32 &word) {
  u32 blocks = capacity(load_relaxed_device(&head.state));
  u32 words = (u32)lesser((blocks + 63) / 64, HEAP_WORDS);
  if (words == 0) return 0;
  word %= words;
  for (u32 tries = 0; tries < 65536; tries++) {
    u64 clear = ~load_relaxed_device(&head.bits[word]), bits = 0;
    for (u32 n = 0; n < want && clear; n++) {
      bits |= clear & (0 - clear);
      clear &= clear - 1;
    }
    if (bits) {
      // Acquire: pairs with the release of the lane that freed the block, and of the lane that made the slab.
      bits &= ~fetch_or_acquire_device(&head.bits[word], bits);
      if (bits) return bits;
    } else {
      word = word + 1 < words ? word + 1 : 0;
    }
  }
  return 0;
}

// Finds up to `want` of the promised blocks where a slab has them that fills for the first time. There they are
// adjacent from `start` on, in one word of the bitmap. Returns their bits, and sets the word's index. The bits of
// blocks that others have stay as they are.
GPU_RUN_INLINE u64 guess(HeapPage &head, u32 start, u32 want, u32 &word) {
  word = start / 64 % HEAP_WORDS;
  u64 bits = span(start % 64, (u32)lesser(want, 64 - start % 64));
  // Acquire: as in `search`.
  return bits & ~fetch_or_acquire_device(&head.bits[word], bits);
}

// The same, there or anywhere in the slab. 0 if the search does not end, which only a guest that frees what it does not
// own can cause.
GPU_RUN_INLINE u64 claim(HeapPage &head, u32 start, u32 want, u32 &word) {
  u64 bits = guess(head, start, want, word);
  return bits ? bits : search(head, want, word);
}

// Makes a slab of a run of pages, with `count` blocks of it promised.
GPU_RUN_INLINE void make_slab(Heap &heap, u32 page, u32 pages, u32 c, u32 count, PageKind kind) {
  HeapPage &head = heap.pages[page];
  u32 blocks = pages * PAGE / class_size(c);
  for (u32 i = 0; i * 64 < blocks; i++) {
    u32 left = blocks - i * 64;
    // Bits after the last block are always set.
    store_relaxed_device(&head.bits[i], left < 64 ? ~0ull << left : 0);
  }
  for (u32 i = 0; i < pages; i++) store_relaxed_device(&heap.pages[page + i].first, page);
  if (UNLIKELY(heap.sites != nullptr)) forget_sites(heap, page, pages);
  red_add_device(&heap.slab_pages[c], pages);
  count_used(heap, pages);
  // Release: pairs with the acquire in `reserve`, or in `take` by which another lane gets it from the set.
  store_release_device(&head.state, (u64)kind << 40 | (u64)c << 32 | (u64)blocks << 16 | count);
}

// Dissolves a slab: its pages become free. Returns how many.
GPU_RUN_INLINE u32 give_slab(Heap &heap, u32 page, u64 state) {
  u32 pages = slab_pages(state);
  red_add_device(&heap.slab_pages[class_in(state)], 0u - pages);
  give_run(heap, page, pages);
  return pages;
}

// A Listed slab without used blocks: its pages become free, unless another lane takes the slab first.
GPU_RUN_NOINLINE void retire(Heap &heap, u32 page) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at);
  u32 c = class_in(state);
  if (kind(state) != KIND_Listed || c >= HEAP_CLASSES) return;
  Set listed = set(heap, 1 + c);
  if (!remove(listed, page / 64, 1ull << page % 64)) return;
  // This lane has the token, so only freed blocks change the state.
  state = load_relaxed_device(at);
  // Acquire: pairs with all lanes that freed a block, whose accesses so come before those of the next owner.
  if (kind(state) == KIND_Listed && used(state) == 0 &&
      compare_exchange_acq_rel_device(at, state, (u64)KIND_None)) {
    give_slab(heap, page, state);
    return;
  }
  add(listed, page / 64, 1ull << page % 64);
}

// A slab that no slot holds and that has room goes into its class's set. A Full one of which all blocks were freed at
// once is given up.
GPU_RUN_NOINLINE void list(Heap &heap, u32 page, PageKind from) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at), listed;
  do {
    if (kind(state) != from) return;
    bool full = used(state) >= capacity(state);
    if (full && from == KIND_Full) return;
    listed = with_kind(state, full ? KIND_Full : KIND_Listed);
    if (from == KIND_Full && used(state) == 0) listed = KIND_None;
  } while (!compare_exchange_acq_rel_device(at, state, listed));
  if (kind(listed) == KIND_Full) return;
  if (kind(listed) == KIND_None) {
    give_slab(heap, page, state);
    return;
  }
  add(set(heap, 1 + class_in(listed)), page / 64, 1ull << page % 64);
  // A lane that freed its last block meanwhile may not have found it in the set.
  if (used(load_relaxed_device(at)) == 0) retire(heap, page);
}

// Frees the pages of a slab that was taken out of a slot with `rest` tickets left, and returns how many. No more blocks
// of it were used; if another lane took one meanwhile, the slab is listed.
GPU_RUN_INLINE u32 give_idle(Heap &heap, u32 page, u32 rest) {
  u64 *at = &heap.pages[page].state;
  u64 state = load_relaxed_device(at);
  // Acquire: as in `retire`.
  if (kind(state) == KIND_Held && used(state) == rest &&
      compare_exchange_acq_rel_device(at, state, (u64)KIND_None)) {
    return give_slab(heap, page, state);
  }
  // What was promised to the slot is free again.
  fetch_add_acq_rel_device(at, 0 - (u64)rest);
  list(heap, page, KIND_Held);
  return 0;
}

// Takes a slab with room from the class's set. It becomes Held, with up to `want` blocks promised.
GPU_RUN_INLINE u64 take_listed(Memory &memory, u32 c, u32 want) {
  Heap &heap = memory.heap;
  Set listed = set_within(memory, 1 + c);
  for (;;) {
    u32 one = 1, page = take(listed, 1, one);
    if (page == NO_PAGE) return NO_GRANT;
    u64 *at = &heap.pages[page].state;
    u64 state = load_relaxed_device(at);
    while (u32 free = room(state, KIND_Listed, c)) {
      u32 count = (u32)lesser(want, free);
      // Only freed blocks change the state meanwhile.
      if (compare_exchange_acq_rel_device(at, state, with_kind(state, KIND_Held) + count)) {
        return pack({page, (u16)count, (u16)used(state)});
      }
    }
  }
}

}  // namespace heap
}  // namespace gpu_run
