// Where blocks of slabs come from. Each class has slots, which lanes share: on a GPU, those of the same
// multiprocessors. A slot has a slab, all of whose free blocks are promised to the slot. The counter by which lanes
// reserve is as in Gallatin; spreading lanes over memory, so that they seldom meet, is as in ScatterAlloc. The slot's
// word hands the blocks out as tickets:
//
//   bits 0 to 31   drawn: tickets that were asked for, maybe more than there are
//   bits 32 to 46  tickets: blocks that were promised to the slot
//   bits 47 to 62  first page of the slab; 0: none
//   bit 63         busy: a lane is about to put other tickets there
//
// So a lane that wants blocks needs one addition, which cannot fail, however many lanes do so at the same time. A lane
// that finds all tickets drawn fills the slot anew: with what was freed of its slab meanwhile, or with another slab.
//
// A class has one slot at first. Where lanes find a slot busy, there become more, up to HEAP_GROUPS, but never more
// than the class has slabs. From then on slabs become larger. So lanes that allocate much seldom wait, and those that
// allocate little do not keep memory from others.
//
// A group that wants a large part of a slab, such as a warp that allocates large blocks, takes a slab of its own.
//
// A lane that finds its slot without tickets, and its slab full, first looks at some other slots and takes tickets of
// theirs. Only then does it fetch another slab. Otherwise each slot would keep for itself what other lanes grow the
// memory for. So of all slots only some have tickets: as many as let such a look find some.
//
// No lane waits here. One that finds a slot that another lane is about to fill tries the next slots, and then executes
// its instruction again.
//
// Against ABA: whatever a slot has at the moment of the addition, its tickets are for blocks of the class. Between
// `drawn` and 2^32 there is room, because only a lane that saw tickets left draws, once.
#pragma once

#include "heap/slab.h"

namespace gpu_run {
namespace heap {

// In a slot: a lane is about to put other tickets there.
constexpr u64 BUSY = 1ull << 63;
// Slots that are tried.
constexpr u32 PROBES = 4;
// Other slots that are searched for tickets, and for what was freed of their slabs.
constexpr u32 OTHERS = 8;
// A lane that wants more than that does not search them: the lanes of its warp soon use up what it fetches.
constexpr u32 FEW = 8;
// The backoff of a lane that finds all of them busy, or the lock taken (see `backoff`). Other lanes are at work for it,
// and looking again at once would only keep them from it.
constexpr u32 BUSY_IDLE = 32;
// A group that wants at least as many pages' worth of blocks takes a slab of its own.
constexpr u32 OWN_PAGES = 2;
// Emptying slots stops when it has found this part of the heap's pages; and the least pages of a slab that is worth it.
constexpr u32 IDLE_PART = 16;
constexpr u32 IDLE_SLAB = 8;

GPU_RUN_INLINE u32 slab_of(u64 slot) { return (u32)(slot >> 47) & 0xffff; }
GPU_RUN_INLINE u32 tickets(u64 slot) { return (u32)(slot >> 32) & 0x7fff; }
GPU_RUN_INLINE u32 left(u64 slot) { return tickets(slot) > (u32)slot ? tickets(slot) - (u32)slot : 0; }
GPU_RUN_INLINE u64 slot_of(u32 page, u32 tickets, u32 drawn) { return (u64)page << 47 | (u64)tickets << 32 | drawn; }

// In place of a grant: why there is none.
GPU_RUN_INLINE u64 no_grant(Outcome why) { return why; }

GPU_RUN_INLINE u64 *slot_at(Heap &heap, u32 c, u32 group) { return heap.slots + group * HEAP_CLASSES + c; }

// Pages of a slab for a slot: few as long as lanes do not meet. After that as many as let all slots together have half
// of the class's pages.
GPU_RUN_INLINE u32 slab_size(Heap &heap, u32 c) {
  u32 width = load_relaxed_device(&heap.width[c]);
  return large_slab(c, width ? load_relaxed_device(&heap.slab_pages[c]) >> (width + 1) : 0);
}

// Lanes contended: twice as many slots, if there are slabs for them.
GPU_RUN_NOINLINE void widen(Heap &heap, u32 c) {
  u32 width = load_relaxed_device(&heap.width[c]), wider = 2u << width;
  if (wider > HEAP_GROUPS || wider * small_slab(c) > load_relaxed_device(&heap.slab_pages[c])) return;
  compare_exchange_acq_rel_device(&heap.width[c], width, width + 1);
}

// Between these two calls, a slab, its blocks or its pages may be where no other lane finds them. `search_exhaustively`
// does not take a heap for exhausted then.
GPU_RUN_INLINE void begin_transit(Heap &heap) { fetch_add_acq_rel_device(&heap.transit, 1ull); }
GPU_RUN_INLINE void end_transit(Heap &heap) { fetch_add_acq_rel_device(&heap.transit, (1ull << 32) - 1); }

GPU_RUN_INLINE u64 new_slab(Heap &heap, u32 page, u32 pages, u32 c, u32 want) {
  u32 count = (u32)lesser(want, pages * PAGE / class_size(c));
  make_slab(heap, page, pages, c, count, KIND_Held);
  return pack({page, (u16)count, 0});
}

// Takes slabs of at least `pages` pages and without used blocks out of slots, until that is enough, and frees their
// pages. Returns whether there was one. With the lock.
GPU_RUN_NOINLINE bool reclaim(Memory &memory, u32 pages) {
  Heap &heap = memory.heap;
  u32 found = 0, enough = load_relaxed_device(&heap.held) / IDLE_PART + 1;
  for (u32 c = 0; c < HEAP_CLASSES && found < enough; c++) {
    if (load_relaxed_device(&heap.slab_pages[c]) < pages || large_slab(c, SLAB_PAGES) < pages) continue;
    for (u32 i = 0; i < 1u << load_relaxed_device(&heap.width[c]) && found < enough; i++) {
      u64 *slot = slot_at(heap, c, i);
      u64 seen = load_relaxed_device(slot);
      u32 page = slab_of(seen), rest = left(seen);
      if (page == 0 || seen & BUSY) continue;
      u64 state = load_relaxed_device(&heap.pages[page].state);
      if (used(state) != rest || slab_pages(state) < pages) continue;
      // Acquire/release: as where a lane refills it. No tickets are left in a busy slot.
      if (!compare_exchange_acq_rel_device(slot, seen, BUSY)) continue;
      found += give_idle(heap, page, rest);
      store_release_device(slot, 0ull);
    }
  }
  return found != 0;
}

// A slab that is in no slot, with up to `want` blocks promised. It is one that has room, or a new one of `pages` pages
// if they are to be had. After it, the caller ends the transit once the slab is where other lanes find it. DONE in
// place of a grant: there is no memory, and the lock is the caller's. Many lanes may find so at once. If each had to
// take the lock again for what follows, hardly one would succeed, and all the others would keep it busy endlessly.
GPU_RUN_NOINLINE u64 fetch_slab(Memory &memory, u32 c, u32 want, u32 pages) {
  Heap &heap = memory.heap;
  u32 least = small_slab(c), page;
  if (pages < least) pages = least;
  // A lane that finds nothing begins no transit: when memory is used up, all lanes would keep each other from being told.
  Set free = set_within(memory, FREE_PAGES);
  if (has_run(set_within(memory, 1 + c), 1) || has_run(free, least)) {
    begin_transit(heap);
    u64 grant = take_listed(memory, c, want);
    if (grant) return grant;
    page = take(free, least, pages);
    if (page != NO_PAGE) return new_slab(heap, page, pages, c, want);
    end_transit(heap);
  }
  if (!try_lock(heap)) return no_grant(RETRY);
  page = take(free, least, pages);
  if (page == NO_PAGE) {
    // Before a heap grows that has much of what it may have, large slabs that lie idle in slots are given up.
    if (load_relaxed_device(&heap.held) > heap.page_limit / 4) reclaim(memory, IDLE_SLAB);
    page = find_or_grow(memory, least, pages, 1);
  }
  if (page == NO_PAGE && least > 1) page = find_or_grow(memory, 1, pages = 1, 1);
  if (page == NO_PAGE) return no_grant(DONE);
  begin_transit(heap);
  unlock(heap);
  return new_slab(heap, page, pages, c, want);
}

// Promises what is free of a slab that is in a slot; in transit then.
GPU_RUN_INLINE u64 reserve_rest(Heap &heap, u32 page, u32 c, u32 most) {
  if (!page || !room(load_relaxed_device(&heap.pages[page].state), KIND_Held, c)) return NO_GRANT;
  begin_transit(heap);
  u64 grant = reserve(heap, page, c, most);
  if (!grant) end_transit(heap);
  return grant;
}

// Puts new tickets into a slot, whose word was `seen` before this lane made it busy, and draws up to `want` of them.
// DONE: as in `fetch_slab`.
GPU_RUN_NOINLINE u64 refill(Memory &memory, u32 c, u32 want, u64 *slot, u64 seen) {
  Heap &heap = memory.heap;
  // A checked heap keeps no spare tickets. So it soon hands out again what was freed, and finds late writes to it.
  u32 old = slab_of(seen), most = heap.sites ? want : ALL;
  u64 grant = reserve_rest(heap, old, c, most);
  if (!grant) {
    grant = fetch_slab(memory, c, most, slab_size(heap, c));
    if (unpack(grant).count == 0) {
      store_release_device(slot, seen);
      if (grant == no_grant(RETRY)) backoff(BUSY_IDLE);
      return grant;
    }
    if (old) list(heap, old, KIND_Held);
  }
  Reservation all = unpack(grant);
  u16 count = (u16)lesser(want, all.count);
  // Release: pairs with the acquire of the lane that draws.
  store_release_device(slot, slot_of(all.page, all.count, count));
  end_transit(heap);
  return pack({all.page, count, 0});
}

// The lane's slot, or the one `distance` places after it.
GPU_RUN_INLINE u64 *group_slot(Heap &heap, u32 c, u32 distance) {
  // The width only grows: a value out of a cache is as good.
  u32 mask = (1u << load_guest(&heap.width[c])) - 1;
  return slot_at(heap, c, (sm_hint() + distance) & mask);
}

// Whether so many blocks are worth a slab of their own.
GPU_RUN_INLINE bool takes_own(u32 c, u32 want) { return want > 1 && want * class_size(c) >= OWN_PAGES * PAGE; }

// Draws up to `want` tickets.
GPU_RUN_INLINE u64 draw(u64 *slot, u32 want) {
  // Acquire: pairs with the release in `refill`; the slab's bitmap is visible.
  u64 seen = fetch_add_acquire_device(slot, (u64)want);
  u32 room = left(seen);
  return room ? pack({slab_of(seen), (u16)lesser(want, room), (u16)(u32)seen}) : NO_GRANT;
}

// Promises up to `want` blocks out of some other slots, which differ from one time to the next.
GPU_RUN_NOINLINE u64 draw_from_others(Heap &heap, u32 c, u32 want) {
  const u32 mask = (1u << load_guest(&heap.width[c])) - 1;
  if (mask == 0) return NO_GRANT;
  // Any number will do: it spreads the lanes. An odd step reaches all slots.
  const u32 random = ((u32)clock_ns() + warp_number() * 0x9e3779b9u) * 0x85ebca6bu;
  const u32 first = random >> 16, step = random >> 8 | 1;
  auto other = [&](u32 i) { return slot_at(heap, c, (first + i * step) & mask); };
  u64 *best = nullptr;
  u32 most = 0;
  GPU_RUN_UNROLL
  for (u32 i = 0; i < OTHERS; i++) {
    u32 has = left(load_relaxed_device(other(i)));
    if (has > most) most = has, best = other(i);
  }
  u64 grant = best ? draw(best, want) : NO_GRANT;
  GPU_RUN_NO_UNROLL
  for (u32 i = 0; i < OTHERS && !grant; i++) {
    u32 page = slab_of(load_relaxed_device(other(i)));
    if (page) grant = reserve(heap, page, c, want);
  }
  return grant;
}

// Promises up to `want` blocks of class `c`. DONE: as in `fetch_slab`.
GPU_RUN_NOINLINE u64 reserve_tickets(Memory &memory, u32 c, u32 want) {
  Heap &heap = memory.heap;
  if (takes_own(c, want)) {
    u64 grant = fetch_slab(memory, c, want, (want * class_size(c) + PAGE - 1) / PAGE);
    if (unpack(grant).count) {
      list(heap, unpack(grant).page, KIND_Held);
      end_transit(heap);
    } else if (grant == no_grant(RETRY)) {
      backoff(BUSY_IDLE);
    }
    return grant;
  }
  u32 busy = 0;
  while (busy < PROBES && busy < 1u << load_guest(&heap.width[c])) {
    u64 *slot = group_slot(heap, c, busy);
    u64 seen = load_relaxed_device(slot), grant = NO_GRANT;
    if (seen & BUSY) {
      busy++;
      continue;
    }
    if (left(seen)) {
      grant = draw(slot, want);
    } else {
      const u32 page = slab_of(seen);
      const u64 state = page ? load_relaxed_device(&heap.pages[page].state) : 0;
      // What was freed of it meanwhile.
      const u32 free = room(state, KIND_Held, c);
      if (free && (free * 4 < capacity(state) || heap.sites)) {
        // Too little to be worth tickets; in a checked heap any number is.
        grant = reserve(heap, page, c, want);
      } else if (!free && want <= FEW && (grant = draw_from_others(heap, c, want))) {
        return grant;
      } else if (compare_exchange_acq_rel_device(slot, seen, seen | BUSY)) {
        if (busy) widen(heap, c);
        return refill(memory, c, want, slot, seen);
      }
    }
    // Otherwise others were faster, and made progress.
    if (grant) return grant;
  }
  widen(heap, c);
  backoff(BUSY_IDLE);
  return no_grant(RETRY);
}

// A block of a slab that is in a slot.
GPU_RUN_INLINE u64 take_held(Heap &heap, u32 c, u64 *slot) {
  u64 seen = load_relaxed_device(slot);
  u64 grant = left(seen) ? draw(slot, 1) : NO_GRANT;
  // What was freed of it, even if another lane is about to do the same for the slot.
  return grant || !slab_of(seen) ? grant : reserve(heap, slab_of(seen), c, 1);
}

// Searches everywhere for one block, where no slab of class `c` was to be had. It searches other slots, larger classes,
// and the pages of slabs without blocks. DONE in place of a grant: there is no memory. Only a block that another lane
// frees during the search may be missed. With the lock.
GPU_RUN_NOINLINE u64 search_exhaustively(Memory &memory, u32 c, u32 align) {
  Heap &heap = memory.heap;
  u64 before = load_acquire_device(&heap.transit), grant = NO_GRANT;
  // First what helps other lanes too, of which there may be many.
  if (reclaim(memory, 1)) return no_grant(RETRY);
  u32 one = 1, page = find_or_grow(memory, 1, one, 1);
  if (page != NO_PAGE) {
    grant = new_slab(heap, page, 1, c, 1);
    list(heap, page, KIND_Held);
  }
  for (u32 larger = c; larger < HEAP_CLASSES && !grant; larger++) {
    if (load_relaxed_device(&heap.slab_pages[larger]) == 0 || !aligns(larger, align)) continue;
    for (u32 i = 0; i < 1u << load_relaxed_device(&heap.width[larger]) && !grant; i++) {
      grant = take_held(heap, larger, slot_at(heap, larger, i));
    }
    if (grant) break;
    // The summary may be stale.
    Set listed = set(heap, 1 + larger);
    u32 words = (u32)lesser(load_relaxed_device(&memory.size) / PAGE / 64 + 1, listed.count);
    for (u32 i = 0; i < words; i++) {
      if (load_relaxed_device(&listed.words[i])) fetch_or_acq_rel_device(&listed.summary[i / 64], 1ull << i % 64);
    }
    grant = take_listed(memory, larger, 1);
    if (grant) list(heap, unpack(grant).page, KIND_Held);
  }
  bool again = !grant && (reclaim(memory, 1) || (u32)before != 0 || load_acquire_device(&heap.transit) != before);
  return grant ? grant : no_grant(again ? RETRY : DONE);
}

}  // namespace heap
}  // namespace gpu_run
