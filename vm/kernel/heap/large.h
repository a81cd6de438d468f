// Regions: blocks of more than 56 KiB, which are whole pages. Free pages that touch are one run again without being
// merged.
#pragma once

#include "heap/ticket_slots.h"

namespace gpu_run {
namespace heap {

GPU_RUN_INLINE u32 pages_for(u32 size) { return size / PAGE + (size % PAGE != 0); }

// Counts regions that were handed out, of so many pages in all.
GPU_RUN_INLINE void count_regions(Heap &heap, u32 regions, u32 pages) {
  count_used(heap, pages);
  red_add_device(&heap.allocated[sm_hint() % HEAP_STRIPES][HEAP_CLASSES], (u64)regions);
}

GPU_RUN_INLINE void make_region(Heap &heap, u32 page, u32 pages) {
  store_relaxed_device(&heap.pages[page].first, page);
  store_release_device(&heap.pages[page].state, region_state(pages));
}

GPU_RUN_NOINLINE Outcome allocate_region(Memory &memory, u32 size, u32 align, u32 &address) {
  Heap &heap = memory.heap;
  u32 pages = pages_for(size), align_pages = align > PAGE ? align / PAGE : 1, page = NO_PAGE;
  if (pages <= 64 && align_pages == 1) page = take(set_within(memory, FREE_PAGES), pages, pages);
  if (page == NO_PAGE) {
    if (!try_lock(heap)) return RETRY;
    u64 before = load_acquire_device(&heap.transit);
    page = find_or_grow(memory, pages, pages, align_pages);
    bool again = page == NO_PAGE && (reclaim(memory, 1) || (u32)before != 0);
    unlock(heap);
    if (again) return RETRY;
    if (page == NO_PAGE) return DONE;
  }
  count_regions(heap, 1, pages);
  make_region(heap, page, pages);
  address = page * PAGE;
  return DONE;
}

// `state` is that of the region's first page, as the caller saw it.
GPU_RUN_INLINE Outcome release_region(Heap &heap, u32 page, u64 state) {
  if (!compare_exchange_acq_rel_device(&heap.pages[page].state, state, (u64)KIND_None)) return FREED;
  if ((u32)state != 1) {
    give_run(heap, page, (u32)state);
    return DONE;
  }
  // Many lanes may do so at once.
  CoalescedGroup group = match_group((u64)&heap);
  if (group.is_leader()) red_add_device(&heap.used, 0u - group.size);
  add(set(heap, FREE_PAGES), page / 64, 1ull << page % 64);
  return DONE;
}

// Makes a region smaller or larger where it is; false if it cannot be.
GPU_RUN_INLINE bool resize_region(Heap &heap, u32 page, u64 state, u32 size) {
  u32 old = (u32)state, pages = pages_for(size);
  if (size <= HEAP_LARGEST) return false;
  if (pages == old) return true;
  u64 *at = &heap.pages[page].state;
  if (pages < old) {
    if (!compare_exchange_acq_rel_device(at, state, region_state(pages))) return false;
    give_run(heap, page + pages, old - pages);
    return true;
  }
  // Two lanes that extend regions do not meet in the same pages, but each may miss what the other puts back. So with
  // the lock, or not at all.
  if ((u64)page + pages > heap.page_limit || !try_lock(heap)) return false;
  bool done = take_exactly(set(heap, FREE_PAGES), page + old, pages - old);
  unlock(heap);
  if (!done) return false;
  count_used(heap, pages - old);
  if (compare_exchange_acq_rel_device(at, state, region_state(pages))) return true;
  give_run(heap, page + old, pages - old);
  return false;
}

}  // namespace heap
}  // namespace gpu_run
