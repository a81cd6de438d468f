// How a lane obtains slabs of its own, and how it loses them. The frequent operations are in lane_slab.h.
//
// A lane has a list of its slabs with free blocks for each of the LANE_CLASSES smallest classes. It takes blocks from
// the first one. A slab that becomes full leaves the list when the lane wants a block and finds it full. It comes back
// with the first block of it that is freed. So only the first slab of a list may be full, and only the first may be
// without blocks. One further on leaves the list with its last block. Some slabs without blocks are kept aside, for
// whichever class needs one next.
//
// What other lanes free: the freer sets the block's bit in `freed`. The lane that sets the first bit puts the slab into
// its owner's inbox. The inbox is a stack to which all lanes push, and which the owner takes as a whole (Treiber's
// stack). A list of what other threads free is mimalloc's idea. The owner looks into its inbox when one of its lists is
// empty.
// - A slab is in the inbox at most once: only the owner makes `freed` 0 again. It does so only after it has taken the
//   slab out and has read its link.
// - No ABA: a lane that pushes needs nothing of the slab that it saw on top, and no lane pops a single slab.
// - A slab is given up only when all of its blocks came back to the owner, so none is on its way then.
//
// For the shared slabs, a lane's slab is a block as others are, of 1 or 2 KiB. The first block of a class that a lane
// wants comes from the shared slabs, the next one is worth a slab of its own. All lanes together have at most half
// of the memory in such slabs. Beyond that, and where there is no room for one, blocks come from the shared slabs.
//
// When memory runs short, the lane that finds none releases its slabs without blocks. It does the same for all lanes
// that run no thread any more, and asks the others to keep nothing from then on. What those have at that time, a few
// slabs each, comes back when they next want something.
//
// The bits reveal mistakes of programs: a block that is free already, an address at which none begins, a size that is
// too large. If two lanes free one block at the same moment, that may go unnoticed; the bits stay right.
#pragma once

#include "heap/shared.h"

namespace gpu_run {
namespace heap {

// Slabs without blocks that a lane keeps aside, in the list after those of its classes. A program that frees in each pass
// what it has allocated there takes them back in the next one. With two, lanes got and gave up slabs all the time. A memory has
// 64 KiB for each thread by default; where lanes have a quarter of it in slabs, they keep few.
constexpr u32 ASIDE = 12, FEW_ASIDE = 2;
constexpr u32 ASIDE_LIST = LANE_CLASSES;
// The upper half of that list's word: how many there are. From this bit on, for each class, whether the lane has wanted
// a block of it.
GPU_RUN_INLINE u32 aside_in(u64 list) { return (u8)count_in(list); }
constexpr u32 ASKED = 40;
static_assert(ASIDE < 1u << (ASKED - 32) && ASKED + LANE_CLASSES <= 64, "both fit the word");

GPU_RUN_INLINE Lane lane_at(const Heap &heap, u32 number) {
  return {load_word_guest(&heap.lane_lists), load_word_guest(&heap.lane_slabs), load_word_guest(&heap.lanes),
          load_word_guest(&heap.lane_records), number};
}
GPU_RUN_INLINE Lane this_lane(const Heap &heap) { return lane_at(heap, global_lane()); }

GPU_RUN_INLINE void set_first(u64 *list, u32 first) { store_guest(list, join(first, count_in(load_word_guest(list)))); }

// Puts slab `index` in front of a list.
GPU_RUN_INLINE void push_slab(const Lane &lane, u64 *list, u32 index) {
  u32 next = first_in(load_word_guest(list));
  store_guest(&lane.slabs[index].next, next);
  store_guest(&lane.slabs[index].previous, 0u);
  if (next) store_guest(&lane.slabs[next - 1].previous, index + 1);
  set_first(list, index + 1);
}

GPU_RUN_INLINE void unlink_slab(const Lane &lane, u64 *list, u32 index) {
  LaneSlab &slab = lane.slabs[index];
  u32 next = load_word_guest(&slab.next), previous = load_word_guest(&slab.previous);
  if (previous) {
    store_guest(&lane.slabs[previous - 1].next, next);
  } else {
    set_first(list, next);
  }
  if (next) store_guest(&lane.slabs[next - 1].previous, previous);
}

// Whether none of a slab's blocks is in use.
GPU_RUN_INLINE bool is_idle(const LaneSlab &slab) {
  return load_word_guest(&slab.free) == all_blocks(load_word_guest(&slab.owner));
}

// A slab without blocks, which is in no list, becomes memory for all lanes again.
GPU_RUN_NOINLINE void give_lane_slab(Memory &memory, const Lane &lane, u32 index) {
  Heap &heap = memory.heap;
  u32 c = lane_class_in(load_word_guest(&lane.slabs[index].owner));
  // Release, by `give`: pairs with the acquire of the lane that gets this memory next.
  store_relaxed_device(&lane.slabs[index].owner, 0u);
  if (c >= LANE_TWO) store_relaxed_device(&lane.slabs[index + 1].owner, 0u);
  red_add_device(&heap.lane_bytes, 0 - (u64)lane_slab_bytes(c));
  Block block;
  if (find_shared(heap, index * LANE_SLAB, ANY_SIZE, block) == DONE) give(heap, block);
}

// The same, unless the slab is kept for another class.
GPU_RUN_INLINE void put_aside(Memory &memory, const Lane &lane, u32 index) {
  Heap &heap = memory.heap;
  u64 *list = lane.list(ASIDE_LIST), aside = load_word_guest(list);
  u32 most = load_relaxed_device(&heap.lane_bytes) < (u64)heap.page_limit * (PAGE / 4) ? ASIDE : FEW_ASIDE;
  bool keep = lane_class_in(load_word_guest(&lane.slabs[index].owner)) < LANE_TWO && aside_in(aside) < most &&
              !load_relaxed_device(&heap.lanes_waste);
  if (!keep) return give_lane_slab(memory, lane, index);
  store_guest(&lane.slabs[index].next, first_in(aside));
  store_guest(list, join(index + 1, count_in(aside) + 1));
}

// 1 + the number of a slab that was kept aside, or 0.
GPU_RUN_INLINE u32 take_aside(const Lane &lane) {
  u64 *list = lane.list(ASIDE_LIST), aside = load_word_guest(list);
  u32 slab = first_in(aside);
  if (slab) store_guest(list, join(load_word_guest(&lane.slabs[slab - 1].next), count_in(aside) - 1));
  return slab;
}

// One of the lane's slabs has more free blocks than before; `before` has the bits of those.
GPU_RUN_NOINLINE void settle(Memory &memory, const Lane &lane, u32 index, u64 before) {
  LaneSlab &slab = lane.slabs[index];
  u64 *list = lane.list(lane_class_in(load_word_guest(&slab.owner)));
  u32 first = first_in(load_word_guest(list));
  if (first == index + 1) return;
  bool empty = is_idle(slab);
  if (before == 0) {
    // It was in no list.
    if (empty && first) return put_aside(memory, lane, index);
    if (first) {
      // With another slab in front of it, the first may no longer be full or without blocks.
      bool idle = is_idle(lane.slabs[first - 1]);
      if (idle || load_word_guest(&lane.slabs[first - 1].free) == 0) unlink_slab(lane, list, first - 1);
      if (idle) put_aside(memory, lane, first - 1);
    }
    push_slab(lane, list, index);
  } else if (empty) {
    unlink_slab(lane, list, index);
    put_aside(memory, lane, index);
  }
}

// Frees a block of a lane's slab.
GPU_RUN_NOINLINE Outcome release_lane(Memory &memory, const Block &block) {
  Heap &heap = memory.heap;
  Lane lane = this_lane(heap);
  LaneSlab &slab = lane.slabs[block.first];
  u32 owner = owner_in(load_relaxed_device(&slab.owner));
  u64 bit = 1ull << block.index;
  if (owner == 0 || owner > lane.lanes) return BROKEN;
  if (owner == lane.number + 1) {
    u64 free = load_word_guest(&slab.free);
    if ((free | load_relaxed_device(&slab.freed)) & bit) return FREED;
    store_guest(&slab.free, free | bit);
    settle(memory, lane, block.first, free);
    return DONE;
  }
  if (load_relaxed_device(&slab.free) & bit) return FREED;
  // Release: pairs with the acquire in `empty_inbox`; the block's next owner comes after what was done with it.
  u64 before = fetch_or_acq_rel_device(&slab.freed, bit);
  if (before & bit) return FREED;
  if (before) return DONE;
  u32 *inbox = &heap.lane_inboxes[owner - 1], top = load_relaxed_device(inbox);
  do {
    store_relaxed_device(&slab.inbox, top);
    // Release: the link is stored. Pairs with the acquire in `empty_inbox`.
  } while (!compare_exchange_acq_rel_device(inbox, top, block.first + 1));
  return DONE;
}

// Takes the blocks of the lane's slabs that other lanes have freed.
GPU_RUN_NOINLINE void empty_inbox(Memory &memory, const Lane &lane) {
  u32 *inbox = &memory.heap.lane_inboxes[lane.number];
  if (load_relaxed_device(inbox) == 0) return;
  // Acquire: pairs with the releases in `release_lane`.
  u32 slab = fetch_and_acq_rel_device(inbox, 0u);
  while (slab) {
    u32 index = slab - 1;
    // Before the bits are taken: from then on the slab may be pushed again.
    slab = load_relaxed_device(&lane.slabs[index].inbox);
    u64 before = load_word_guest(&lane.slabs[index].free);
    u64 freed = fetch_and_acq_rel_device(&lane.slabs[index].freed, 0ull);
    store_guest(&lane.slabs[index].free, before | freed);
    settle(memory, lane, index, before);
  }
}

// Releases the lane's slabs without blocks; returns whether there were any.
GPU_RUN_NOINLINE bool give_back(Memory &memory, const Lane &lane) {
  if (!lane.any()) return false;
  u64 before = load_relaxed_device(&memory.heap.lane_bytes);
  empty_inbox(memory, lane);
  bool any = false;
  GPU_RUN_NO_UNROLL
  for (u32 c = 0; c < LANE_CLASSES; c++) {
    u64 *list = lane.list(c);
    u32 first = first_in(load_word_guest(list));
    if (first == 0 || !is_idle(lane.slabs[first - 1])) continue;
    unlink_slab(lane, list, first - 1);
    give_lane_slab(memory, lane, first - 1);
    any = true;
  }
  while (u32 slab = take_aside(lane)) {
    give_lane_slab(memory, lane, slab - 1);
    any = true;
  }
  return any || load_relaxed_device(&memory.heap.lane_bytes) != before;
}

// Whether no thread of this launch will run on a lane any more.
GPU_RUN_INLINE bool is_over(const Launch &launch, u32 lane) {
  if (launch.lanes == 0 || lane >= launch.lanes) return launch.lanes != 0;
  // Any lane may get a thread.
  if (launch.spawner) return false;
  for (u32 id = lane; id < launch.thread_count; id += launch.lanes) {
    // Acquire: pairs with the release in `frames::mark_ended`.
    if (load_acquire_device(&launch.threads[id].state) != THREAD_Ended) return false;
  }
  return true;
}

// There is no memory: has slabs given up that lanes keep without need. Whether another try is worthwhile.
GPU_RUN_NOINLINE bool relieve(const Launch &launch, Memory &memory) {
  Heap &heap = memory.heap;
  if (load_relaxed_device(&heap.lane_bytes) == 0) return false;
  store_relaxed_device(&heap.lanes_waste, 1u);
  Lane lane = this_lane(heap);
  if (give_back(memory, lane)) return true;
  // With a lock, so that each lane that is over has one to act for it. It is one of its own: all lanes that find no memory
  // want the heap's, so one that had to have that twice in a row might never be told that there is none.
  if (!try_lock(heap.relieved)) return true;
  bool any = false;
  for (u32 i = 0; i < load_relaxed_device(&heap.lanes_used) && !any; i++) {
    if (i != lane.number && is_over(launch, i)) any = give_back(memory, lane_at(heap, i));
  }
  unlock(heap.relieved);
  return any;
}

// Makes a slab of class `c` of a block of the shared slabs, or of a slab that was kept aside. `found` is false if there
// is none.
GPU_RUN_NOINLINE Outcome fetch_lane_slab(Memory &memory, const Lane &lane, u32 c, bool &found) {
  Heap &heap = memory.heap;
  u32 slab = c < LANE_TWO ? take_aside(lane) : 0, index = slab - 1, bytes = lane_slab_bytes(c);
  found = false;
  if (slab == 0) {
    // Half of the memory at most.
    if (load_relaxed_device(&heap.lane_bytes) >= (u64)heap.page_limit * (PAGE / 2)) return DONE;
    u32 address;
    Outcome outcome = unpack(allocate_shared(memory, bytes, bytes), address);
    // Where memory has run short, a lane goes on without a slab: what it asks for then may need the heap's lock too.
    if (outcome == RETRY && load_relaxed_device(&heap.lanes_waste)) return DONE;
    if (outcome != DONE || address == 0) return outcome;
    index = address / LANE_SLAB;
    // It is not one of the program's blocks.
    red_add_device(&heap.allocated[0][class_of(bytes)], ~0ull);
    red_add_device(&heap.lane_bytes, (u64)bytes);
    red_max_device(&heap.lanes_used, lane.number + 1);
  }
  const u32 word = owner_word(lane.number, c, bytes / class_size(c));
  LaneSlab &record = lane.slabs[index];
  store_guest(&record.free, all_blocks(word));
  store_relaxed_device(&record.freed, 0ull);
  store_relaxed_device(&record.owner, word);
  if (c >= LANE_TWO) store_relaxed_device(&lane.slabs[index + 1].owner, word);
  push_slab(lane, lane.list(c), index);
  found = true;
  return DONE;
}

// A block that the lane cannot take from its lists at once. Address 0 with DONE: it is not for a lane's slab.
GPU_RUN_NOINLINE u64 refill_lane(Memory &memory, u32 size, u32 align) {
  Heap &heap = memory.heap;
  Lane lane = this_lane(heap);
  if (!lane.any() || !is_small(size, align)) return pack(DONE, 0);
  u32 c = class_of(size);
  u64 *list = lane.list(c);
  if (count_in(load_word_guest(list)) >= MANY_BLOCKS) {
    red_add_device(&heap.allocated[sm_hint() % HEAP_STRIPES][c], (u64)count_in(load_word_guest(list)));
    store_guest(list, (u64)first_in(load_word_guest(list)));
  }
  auto skip_full = [&] {
    u32 first;
    while ((first = first_in(load_word_guest(list))) && load_word_guest(&lane.slabs[first - 1].free) == 0) {
      unlink_slab(lane, list, first - 1);
    }
    return first != 0;
  };
  if (!skip_full()) {
    empty_inbox(memory, lane);
    if (!skip_full()) {
      if (load_relaxed_device(&heap.lanes_waste)) give_back(memory, lane);
      // Many threads want one block of a size and no more: the first is not worth a slab.
      u64 *aside = lane.list(ASIDE_LIST), asked = (1ull << ASKED) << c, seen = load_word_guest(aside);
      if (!(seen & asked)) {
        store_guest(aside, seen | asked);
        return pack(DONE, 0);
      }
      bool found;
      Outcome outcome = fetch_lane_slab(memory, lane, c, found);
      if (outcome != DONE) return pack(outcome, 0);
      if (!found) return pack(DONE, 0);
    }
  }
  return pack(DONE, take_own(lane, size, align));
}

}  // namespace heap
}  // namespace gpu_run
