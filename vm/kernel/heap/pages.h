// The heap's pages: obtained by growing the memory, given to slabs and regions in runs, and taken back.
//
// Free pages are a set, so free runs that touch are one run. A run of up to 64 adjacent pages in one word is taken
// without a lock. Longer ones, and growing, need the heap's lock. A lane that does not get it executes its instruction
// again; no lane waits for it here.
#pragma once

#include "heap/page_bitmap.h"

namespace gpu_run {
namespace heap {

enum Outcome : u32 {
  DONE,
  RETRY,  // another thread is at work: execute the instruction again
  FOREIGN,  // no block of the heap begins at the address
  FREED,  // the block at the address is not handed out
  WRONG_SIZE,  // the block at the address is smaller than what it is said to hold
  WRONG_ALIGN,  // the block at the address was asked for with another alignment
  UNDERRUN,  // bytes in front of the block at the address were written
  OVERRUN,  // bytes after the block at the address were written
  LATE_WRITE,  // the block at the address was written after it was freed
  BROKEN,  // the records of the heap contradict each other
};

// The parts of HeapPage::state: a PageKind, and what follows from it.
GPU_RUN_INLINE u32 kind(u64 state) { return (u32)(state >> 40) & 0xff; }
GPU_RUN_INLINE u64 region_state(u32 pages) { return (u64)KIND_Region << 40 | pages; }

// Pages that memory grows by at least, while it has them.
constexpr u32 GROW_PAGES = 16;

// A set as far as the memory reaches now.
GPU_RUN_INLINE Set set_within(const Memory &memory, u32 index) {
  Set all = set(memory.heap, index);
  u32 count = (u32)(load_relaxed_device(&memory.size) / PAGE / 64) + 1;
  if (count < all.count) all.count = count;
  return all;
}

GPU_RUN_INLINE bool try_lock(u32 &lock) {
  // Many lanes may want the lock while one has it: an exchange by each would slow that one down.
  u32 unlocked = 0;
  if (load_relaxed_device(&lock) != unlocked) return false;
  return compare_exchange_acq_rel_device(&lock, unlocked, 1u);
}
GPU_RUN_INLINE bool try_lock(Heap &heap) { return try_lock(heap.lock); }
// Release: pairs with the acquire of the lane that locks next.
GPU_RUN_INLINE void unlock(u32 &lock) { store_release_device(&lock, 0u); }
GPU_RUN_INLINE void unlock(Heap &heap) { unlock(heap.lock); }

GPU_RUN_INLINE void count_used(Heap &heap, u32 pages) {
  red_max_device(&heap.used_peak, fetch_add_relaxed_device(&heap.used, pages) + pages);
}

GPU_RUN_INLINE void add_run(const Set &set, u32 first, u32 pages) {
  while (pages) {
    u32 from = first % 64, len = (u32)lesser(64 - from, pages);
    add(set, first / 64, span(from, len));
    first += len;
    pages -= len;
  }
}

// The same for pages that are in the set for the first time. There may be very many: one fence for all.
GPU_RUN_INLINE void add_new(const Set &set, u32 first, u32 pages) {
  u32 edge = (u32)lesser((64 - first % 64) % 64, pages), words = (pages - edge) / 64, word = (first + edge) / 64;
  add_run(set, first, edge);
  add_run(set, first + edge + words * 64, (pages - edge) % 64);
  // Pairs with the acquire in `take`, and orders the words ahead of the summary's bits, as in `add`.
  fence_seq_cst_device();
  for (u32 i = 0; i < words; i++) store_relaxed_device(&set.words[word + i], ~0ull);
  fence_seq_cst_device();
  for (u32 done = 0; done < words;) {
    u32 from = (word + done) % 64, len = (u32)lesser(64 - from, words - done);
    fetch_or_acq_rel_device(&set.summary[(word + done) / 64], span(from, len));
    done += len;
  }
}

// Pages that get another use: what is known of their blocks is forgotten.
GPU_RUN_NOINLINE void forget_sites(Heap &heap, u32 page, u32 pages) {
  constexpr u32 PER_PAGE = PAGE / SITE_GRAIN;
  for (u64 i = 0; i < (u64)pages * PER_PAGE; i++) {
    store_relaxed_device(&heap.sites[(u64)page * PER_PAGE + i].state, (u32)SITE_None);
  }
}

// Puts back a run that no state describes any more.
GPU_RUN_NOINLINE void give_run(Heap &heap, u32 first, u32 pages) {
  red_add_device(&heap.used, 0u - pages);
  add_run(set(heap, FREE_PAGES), first, pages);
}

// Takes exactly these pages: all of them or none.
GPU_RUN_INLINE bool take_exactly(const Set &set, u32 first, u32 pages) {
  for (u32 done = 0; done < pages;) {
    u32 from = (first + done) % 64, len = (u32)lesser(64 - from, pages - done);
    if (!remove(set, (first + done) / 64, span(from, len))) {
      add_run(set, first, done);
      return false;
    }
    done += len;
  }
  return true;
}

// Takes the first run of `pages` pages that begins at a multiple of `align` pages, wherever it lies. With the lock, so
// that no two callers keep pages from each other that neither of them gets in the end. The summary says what to skip.
// It may be stale, so a caller that has nowhere else to look searches `all`.
GPU_RUN_NOINLINE u32 find_run(Memory &memory, u32 pages, u32 align, bool all) {
  Heap &heap = memory.heap;
  Set free = set(heap, FREE_PAGES);
  // There are no free pages after the memory's end.
  u32 limit = (u32)lesser(load_relaxed_device(&memory.size) / PAGE, heap.page_limit);
  u32 first = 0;  // of the run that is being looked at
  for (u32 page = 0; page < limit;) {
    u32 in_word = page % 64;
    if (!all && page % 4096 == 0 && load_relaxed_device(&free.summary[page / 4096]) == 0) {
      first = page += 4096;
      continue;
    }
    u64 word = load_relaxed_device(&free.words[page / 64]) >> in_word;
    if (!(word & 1)) {
      page += word ? low_bit(word) : 64 - in_word;
      first = page;
      continue;
    }
    // Bits that were shifted in are no pages: the word ends there.
    page += (u32)lesser(~word ? low_bit(~word) : 64, 64 - in_word);
    u64 start = ((u64)first + align - 1) / align * align;
    if (start + pages > page) continue;
    if (take_exactly(free, (u32)start, pages)) return (u32)start;
    // Other lanes took some of it.
    first = page;
  }
  return NO_PAGE;
}

// Grows the memory by `pages` if possible. The first `keep` of them are the caller's, and `kept` is the first of these
// (NO_PAGE if they are not to be had). The others become free.
GPU_RUN_INLINE bool grow(Memory &memory, u64 pages, u32 keep, u32 &kept) {
  Heap &heap = memory.heap;
  u64 size = load_relaxed_device(&memory.size) / PAGE;
  // What lies above 4 GiB has no address that fits ALLOC.
  if (pages == 0 || size + pages > heap.page_limit) return false;
  u64 first = memory_grow(memory, pages);
  if (first == ~0ull) return false;
  if (first == 0) {
    // Address 0 is no block.
    first++;
    pages--;
  }
  // The guest may have grown it too since the size was read.
  if (first + pages > heap.page_limit) pages = first < heap.page_limit ? heap.page_limit - first : 0;
  store_relaxed_device(&heap.held, load_relaxed_device(&heap.held) + (u32)pages);  // others only read it
  if (keep == 0 || keep > pages) {
    keep = 0;
  } else {
    kept = (u32)first;
  }
  add_new(set(heap, FREE_PAGES), (u32)first + keep, (u32)pages - keep);
  return true;
}

// With the lock: `len` adjacent pages that are free or new, from a multiple of `align` pages on; or fewer, but no less
// than `least`. `len` becomes how many; NO_PAGE: there is no memory.
GPU_RUN_NOINLINE u32 find_or_grow(Memory &memory, u32 least, u32 &len, u32 align) {
  Heap &heap = memory.heap;
  u32 page = NO_PAGE;
  if (len <= 64 && align == 1) page = take(set_within(memory, FREE_PAGES), least, len);
  if (page == NO_PAGE && least == len && len > 1) page = find_run(memory, len, align, false);
  if (page != NO_PAGE) return page;
  // A heap grows by a part of itself, so that it seldom grows. Where that is too much, it grows by what is missing at
  // most. If that fails, it grows by all that there is, which may complete a run at memory's end. Pages that were
  // wanted are kept: other lanes wait for free ones, and would be faster.
  u64 most = (u64)len + align - 1, part = load_relaxed_device(&heap.held) / 4;
  u64 ask = part > GROW_PAGES ? part : GROW_PAGES;
  bool grown = grow(memory, ask > most ? ask : most, align == 1 ? len : 0, page);
  if (page != NO_PAGE) return page;
  len = least;
  grown = grown || grow(memory, (u64)least + align - 1, align == 1 ? least : 0, page);
  if (page != NO_PAGE) return page;
  if (!grown) {
    u64 size = load_relaxed_device(&memory.size), rest = (memory.limit - size) / PAGE;
    grow(memory, lesser(rest, heap.page_limit > size / PAGE ? heap.page_limit - size / PAGE : 0), 0, page);
  }
  return find_run(memory, least, align, true);
}

}  // namespace heap
}  // namespace gpu_run
