// Where blocks of slabs come from. For each class, groups of lanes (on a GPU those of a multiprocessor) have
// a slot with a slab; who finds it full puts another in its place. There is one group at first. Where lanes
// get in each other's way there become more, up to HEAP_GROUPS, but no more than the class has slabs: so lanes
// that allocate much seldom meet, and those that allocate little do not keep memory from others.
//
// Nobody waits here: who finds a slot that another lane is about to fill tries the next groups', and then
// executes its instruction again.
#pragma once

#include "slab.h"

namespace gpu_run {
namespace heap {

// In a slot: a lane is about to put another slab there.
constexpr u32 BUSY = 1u << 31;
// Slots that are tried.
constexpr u32 PROBES = 4;
// Exchanges that fail, or one busy slot, before there are more groups.
constexpr u32 COLLISIONS = 3;

// In place of a grant: why there is none.
GPU_RUN_INLINE u64 no_grant(Outcome why) { return why; }

GPU_RUN_INLINE u32 *slots(Heap &heap, u32 c) { return heap.slots + c * HEAP_GROUPS; }

GPU_RUN_INLINE u32 groups(Heap &heap, u32 c) { return 1u << load_relaxed_device(&heap.width[c]); }

// Lanes got in each other's way: twice as many groups, if there are slabs for them.
GPU_RUN_INLINE void widen(Heap &heap, u32 c) {
  u32 width = load_relaxed_device(&heap.width[c]), wider = 2u << width;
  if (wider > HEAP_GROUPS || wider > load_relaxed_device(&heap.slabs[c])) return;
  compare_exchange_acq_rel_device(&heap.width[c], width, width + 1);
}

GPU_RUN_INLINE u32 new_slab_pages(Heap &heap, u32 c) {
  return load_relaxed_device(&heap.slabs[c]) < MANY_SLABS ? small_slab(c) : large_slab(c);
}

// Between these, a slab or its pages may be in nobody's sight: `shortage` takes no heap for exhausted then.
GPU_RUN_INLINE void begin_transit(Heap &heap) { fetch_add_acq_rel_device(&heap.transit, 1ull); }
GPU_RUN_INLINE void end_transit(Heap &heap) { fetch_add_acq_rel_device(&heap.transit, (1ull << 32) - 1); }

GPU_RUN_INLINE u64 new_slab(Heap &heap, u32 page, u32 pages, u32 c, u32 want) {
  u32 count = (u32)lesser(want, pages * PAGE / class_size(c));
  make_slab(heap, page, pages, c, count, KIND_Held);
  return pack({page, (u16)count, 0});
}

GPU_RUN_INLINE bool maybe_any(const Set &set) {
  for (u32 i = 0; i < set.summaries(); i++) {
    if (load_relaxed_device(&set.summary[i])) return true;
  }
  return false;
}

// A slab that is in no slot, with up to `want` blocks promised: one that has room, or a new one. After it,
// the caller ends the transit once the slab is where others find it.
GPU_RUN_NOINLINE u64 fetch_slab(Memory &memory, u32 c, u32 want, u32 hash) {
  Heap &heap = memory.heap;
  u32 pages = new_slab_pages(heap, c);
  // Who finds nothing is in nobody's way.
  if (maybe_any(set(heap, 1 + c)) || maybe_any(set(heap, FREE_PAGES))) {
    begin_transit(heap);
    u64 grant = take_listed(heap, c, want, hash, KIND_Held);
    if (grant) return grant;
    u32 page = take(set(heap, FREE_PAGES), pages, hash);
    if (page != NO_PAGE) return new_slab(heap, page, pages, c, want);
    end_transit(heap);
  }
  if (!try_lock(heap)) return no_grant(RETRY);
  u32 page = find_or_grow(memory, pages, 1);
  if (page == NO_PAGE && pages > 1) page = find_or_grow(memory, pages = 1, 1);
  if (page != NO_PAGE) begin_transit(heap);
  unlock(heap);
  return page == NO_PAGE ? no_grant(DONE) : new_slab(heap, page, pages, c, want);
}

// Promises up to `want` blocks of class `c`.
GPU_RUN_NOINLINE u64 promise(Memory &memory, u32 c, u32 want) {
  Heap &heap = memory.heap;
  u32 group = lane_group();
  // A warp that needs half a slab gets one of its own, and leaves the rest of it to others.
  if (want > 1 && want * 2 >= new_slab_pages(heap, c) * PAGE / class_size(c)) {
    u64 grant = fetch_slab(memory, c, want, group);
    if (unpack(grant).count) {
      list(heap, unpack(grant).page, KIND_Held);
      end_transit(heap);
    }
    return grant;
  }
  u32 mask = groups(heap, c) - 1, collisions = 0;
  u64 grant = no_grant(RETRY);
  for (u32 i = 0; i < PROBES; i++) {
    u32 *slot = &slots(heap, c)[(group + i) & mask];
    u32 seen = load_relaxed_device(slot);
    if (!(seen & BUSY)) {
      grant = seen ? reserve(heap, seen - 1, c, want, collisions) : NO_GRANT;
      if (grant) break;
      if (compare_exchange_acq_rel_device(slot, seen, seen | BUSY)) {
        // It may have got room meanwhile.
        if (seen) grant = reserve(heap, seen - 1, c, want, collisions);
        u32 next = seen;
        if (!grant) {
          grant = fetch_slab(memory, c, want, group);
          if (unpack(grant).count) {
            if (seen) list(heap, seen - 1, KIND_Held);
            next = unpack(grant).page + 1;
          }
        }
        store_release_device(slot, next);
        if (next != seen) end_transit(heap);
        break;
      }
      grant = no_grant(RETRY);
    }
    collisions += COLLISIONS;
  }
  if (collisions >= COLLISIONS) widen(heap, c);
  return grant;
}

// Takes slabs without used blocks out of the slots and gives their pages back; says whether there was one.
// With the lock.
GPU_RUN_NOINLINE bool reclaim(Heap &heap) {
  bool any = false;
  for (u32 c = 0; c < HEAP_CLASSES; c++) {
    if (load_relaxed_device(&heap.slabs[c]) == 0) continue;
    for (u32 i = 0; i < groups(heap, c); i++) {
      u32 *slot = &slots(heap, c)[i];
      u32 seen = load_relaxed_device(slot);
      if (seen == 0 || seen & BUSY || used(load_relaxed_device(&heap.pages[seen - 1].state)) != 0) continue;
      if (!compare_exchange_acq_rel_device(slot, seen, seen | BUSY)) continue;
      list(heap, seen - 1, KIND_Held);
      store_release_device(slot, 0u);
      any = true;
    }
  }
  return any;
}

// Looks everywhere for one block, where no slab of class `c` was to be had: what other groups have in their
// slots, what larger classes have, what slabs without blocks give back. DONE in place of a grant: there is
// no memory. A block that another lane frees while this looks may be missed, nothing else.
GPU_RUN_NOINLINE u64 shortage(Memory &memory, u32 c, u32 align) {
  Heap &heap = memory.heap;
  if (!try_lock(heap)) return no_grant(RETRY);
  u64 before = load_acquire_device(&heap.transit), grant = NO_GRANT;
  u32 collisions = 0;
  u32 page = find_or_grow(memory, 1, 1);
  if (page != NO_PAGE) {
    grant = new_slab(heap, page, 1, c, 1);
    list(heap, page, KIND_Held);
  }
  for (u32 larger = c; larger < HEAP_CLASSES && !grant; larger++) {
    if (load_relaxed_device(&heap.slabs[larger]) == 0 || !aligns(larger, align)) continue;
    for (u32 i = 0; i < groups(heap, larger) && !grant; i++) {
      // A busy slot's slab is as good.
      u32 seen = load_relaxed_device(&slots(heap, larger)[i]) & ~BUSY;
      if (seen) grant = reserve(heap, seen - 1, larger, 1, collisions);
    }
    if (grant) break;
    // The summary may lag behind.
    Set listed = set(heap, 1 + larger);
    u32 words = (u32)lesser(load_relaxed_device(&memory.size) / PAGE / 64 + 1, listed.count);
    for (u32 i = 0; i < words; i++) {
      if (load_relaxed_device(&listed.words[i])) fetch_or_acq_rel_device(&listed.summary[i / 64], 1ull << i % 64);
    }
    grant = take_listed(heap, larger, 1, 0, KIND_Held);
    if (grant) list(heap, unpack(grant).page, KIND_Held);
  }
  bool again = !grant && (reclaim(heap) || (u32)before != 0 || load_acquire_device(&heap.transit) != before);
  unlock(heap);
  return grant ? grant : no_grant(again ? RETRY : DONE);
}

}  // namespace heap
}  // namespace gpu_run
