// Blocks of the slabs that all lanes share, and of whole pages. Requests are warp-aggregated, as in XMalloc and
// Gallatin: lanes of a warp that want one class at the same time form a coalesced group. Its leader asks for blocks for
// all of them.
#pragma once

#include "heap/check.h"

namespace gpu_run {
namespace heap {

// How many groups a lane joins for a block before it executes its instruction again.
constexpr u32 GROUP_ATTEMPTS = 8;

// Sets the address of block `index` of a slab of any class. False if it is not in the memory, as where records were
// broken.
GPU_RUN_INLINE bool place(Memory &memory, u32 page, u32 index, u32 &address) {
  u64 size = class_size(class_in(load_relaxed_device(&memory.heap.pages[page].state)));
  u64 at = (u64)page * PAGE + index * size;
  address = (u32)at;
  return in_bounds(at, size, load_relaxed_device(&memory.size));
}

// The index of a lane's block, one of those that are promised to its group; ~0 if the records are broken.
GPU_RUN_INLINE u32 share(Heap &heap, const CoalescedGroup &group, Reservation grant) {
  u32 index = ~0u;
  for (u32 done = 0; done < grant.count;) {
    u32 word = 0;
    u64 bits = 0;
    if (group.is_leader()) bits = claim(heap.pages[grant.page], grant.start + done, grant.count - done, word);
    bits = broadcast(group, bits);
    word = broadcast(group, word);
    if (!bits) return ~0u;
    u32 found = (u32)__builtin_popcountll(bits);
    if (group.rank >= done && group.rank < done + found) index = word * 64 + nth_bit(bits, group.rank - done);
    done += found;
  }
  // What the leader acquired counts for all.
  sync(group);
  return index;
}

// An outcome and an address as one number: a reference to one of them would need memory, even on the fast path.
GPU_RUN_INLINE u64 pack(Outcome outcome, u32 address) { return (u64)outcome << 32 | address; }
GPU_RUN_INLINE Outcome unpack(u64 result, u32 &address) {
  address = (u32)result;
  return (Outcome)(result >> 32);
}

// A block of a slab for one lane, from wherever there is one. Address 0: there is no memory. The caller has the lock,
// which this releases.
GPU_RUN_NOINLINE u64 allocate_last_resort(Memory &memory, u32 c, u32 align) {
  u64 found = search_exhaustively(memory, c, align);
  unlock(memory.heap);
  Reservation grant = unpack(found);
  if (grant.count == 0) return pack((Outcome)found, 0);
  u32 word, address;
  u64 bits = claim(memory.heap.pages[grant.page], grant.start, 1, word);
  if (!bits || !place(memory, grant.page, word * 64 + low_bit(bits), address)) return pack(BROKEN, 0);
  red_add_device(&memory.heap.allocated[0][c], 1ull);
  return pack(DONE, address);
}

// Counts blocks that were handed out.
GPU_RUN_INLINE void count_allocated(Heap &heap, u32 c, u32 count) {
  red_add_device(&heap.allocated[sm_hint() % HEAP_STRIPES][c], (u64)count);
}

// A block of a slab for each lane of a group, to which some may be promised already: `found` (NO_GRANT: none).
GPU_RUN_NOINLINE u64 allocate_slowly(Memory &memory, u32 c, u32 align, CoalescedGroup group, u64 found) {
  Heap &heap = memory.heap;
  for (u32 i = 0; i < GROUP_ATTEMPTS; i++) {
    if (i) group = match_group((u64)&memory + c);
    if (i || found == NO_GRANT) {
      found = 0;
      if (group.is_leader()) found = reserve_tickets(memory, c, group.size);
      found = broadcast(group, found);
      Reservation grant = unpack(found);
      if (grant.count == 0) {
        if (found != no_grant(DONE)) return pack((Outcome)found, 0);
        // The leader looks everywhere; where there is nothing for it, there is nothing for the others.
        u64 scraped = pack(RETRY, 0);
        if (group.is_leader()) scraped = allocate_last_resort(memory, c, align);
        bool nothing = broadcast(group, (u32)(scraped == pack(DONE, 0)));
        return nothing ? pack(DONE, 0) : scraped;
      }
      if (group.is_leader()) count_allocated(heap, c, grant.count);
    }
    Reservation grant = unpack(found);
    u32 index = share(heap, group, grant);
    if (group.rank < grant.count) {
      // A slab has no more bits to claim than blocks.
      return index == ~0u ? pack(BROKEN, 0) : pack(DONE, grant.page * PAGE + index * class_size(c));
    }
  }
  return pack(RETRY, 0);
}

// A block of a slab. This is the fast path, for blocks of which the lane's slot has tickets: three dependent accesses
// of device memory. `pages` are the heap's, `slot` is the lane's.
GPU_RUN_INLINE Outcome allocate_block(Memory &memory, HeapPage *pages, u64 *slot, u32 c, u32 align, u32 &address) {
  Heap &heap = memory.heap;
  u64 seen = load_relaxed_device(slot);
  // The memory's address and the class, as one number.
  CoalescedGroup group = match_group((u64)&memory + c);
  u64 found = NO_GRANT, bits = 0;
  if (group.is_leader() && !takes_own(c, group.size) && left(seen)) {
    found = draw(slot, group.size);
    Reservation grant = unpack(found);
    u32 word;
    if (grant.count) {
      count_allocated(heap, c, grant.count);
      bits = guess(pages[grant.page], grant.start, grant.count, word);
    }
  }
  found = broadcast(group, found);
  bits = broadcast(group, bits);
  // What the leader acquired counts for all.
  sync(group);
  Reservation grant = unpack(found);
  u32 taken = (u32)__builtin_popcountll(bits);
  if (group.rank < taken) {
    u32 index = grant.start / 64 * 64 + nth_bit(bits, group.rank);
    address = grant.page * PAGE + index * class_size(c);
    return DONE;
  }
  // The rest of what was promised is for the lanes that are left.
  grant.count -= (u16)taken;
  grant.start += (u16)taken;
  u64 result = allocate_slowly(memory, c, align, without(group, taken), grant.count ? pack(grant) : NO_GRANT);
  return unpack(result, address);
}

// A block of one page, which is a region. The lanes of a group take theirs together, as many as there are in one word
// of the set.
GPU_RUN_NOINLINE u64 allocate_page(Memory &memory) {
  Heap &heap = memory.heap;
  for (u32 i = 0; i < GROUP_ATTEMPTS; i++) {
    CoalescedGroup group = match_group((u64)&memory + HEAP_CLASSES);
    u64 bits = 0, alone = pack(RETRY, 0);
    u32 word = 0;
    if (group.is_leader()) {
      bits = take_some(set_within(memory, FREE_PAGES), group.size, word);
      if (bits) count_regions(heap, (u32)__builtin_popcountll(bits), (u32)__builtin_popcountll(bits));
      // There are none: the leader makes the memory grow.
      if (!bits) {
        u32 address = 0;
        Outcome outcome = allocate_region(memory, PAGE, 1, address);
        alone = pack(outcome, address);
      }
    }
    bits = broadcast(group, bits);
    word = broadcast(group, word);
    // What the leader acquired counts for all.
    sync(group);
    if (group.rank < (u32)__builtin_popcountll(bits)) {
      u32 page = word * 64 + nth_bit(bits, group.rank);
      make_region(heap, page, 1);
      return pack(DONE, page * PAGE);
    }
    if (bits) continue;
    // Where there is nothing for the leader, there is nothing for the others.
    bool nothing = broadcast(group, (u32)(alone == pack(DONE, 0)));
    if (group.is_leader() || nothing) return nothing ? pack(DONE, 0) : alone;
  }
  return pack(RETRY, 0);
}

// Whether blocks of such a size and alignment come from slabs.
GPU_RUN_INLINE bool from_slab(u32 bytes, u32 align) { return bytes <= HEAP_LARGEST && align <= HEAP_LARGEST; }

// A block of whole pages; address 0: there is no memory.
GPU_RUN_NOINLINE u64 allocate_pages(Memory &memory, u32 bytes, u32 align) {
  if (bytes <= PAGE && align <= PAGE) return allocate_page(memory);
  u32 address = 0;
  Outcome outcome = allocate_region(memory, bytes, align, address);
  return pack(outcome, address);
}

// A block of those that all lanes share, for `bytes` bytes, which are not 0; address 0: there is no memory.
GPU_RUN_INLINE u64 allocate_shared(Memory &memory, u32 bytes, u32 align) {
  Heap &heap = memory.heap;
  u32 c = from_slab(bytes, align) ? class_of(bytes, align) : 0, address = 0;
  // All of these loads are in flight at once.
  HeapPage *pages = load_word_guest(&heap.pages);
  u64 *slots = load_word_guest(&heap.slots);
  u32 width = load_word_guest(&heap.width[c]);
  if (!pages) return pack(DONE, 0);
  if (!from_slab(bytes, align)) return allocate_pages(memory, bytes, align);
  u64 *slot = slots + (sm_hint() & ((1u << width) - 1)) * HEAP_CLASSES + c;
  Outcome outcome = allocate_block(memory, pages, slot, c, align, address);
  return pack(outcome, address);
}

// Frees a block. The group is that of all lanes that do so at the same time in one slab.
GPU_RUN_INLINE Outcome give(Heap &heap, const Block &block) {
  if (kind(block.state) == KIND_Region) return release_region(heap, block.first, block.state);
  u64 *state_at = &heap.pages[block.first].state;
  u64 bit = 1ull << block.index % 64;
  // Release: pairs with the acquire of the lane that gets the block next.
  if (!(fetch_and_release_device(&word_of(heap, block), ~bit) & bit)) return FREED;
  CoalescedGroup group = match_group((u64)state_at);
  sync(group);
  if (!group.is_leader()) return DONE;
  u64 less = 0 - (u64)group.size;
  // Release, for all of the group: pairs with the acquire in `retire`. The writes of a lane alone are ordered since the
  // release above, whose result it has.
  u64 state = group.size == 1 ? fetch_add_released_device(state_at, less) : fetch_add_release_device(state_at, less);
  if (kind(state) == KIND_Full) {
    list(heap, block.first, KIND_Full);
  } else if (kind(state) == KIND_Listed && used(state) == group.size) {
    retire(heap, block.first);
  }
  return DONE;
}

}  // namespace heap
}  // namespace gpu_run
