// A lane's own slabs, and the frequent operations on them: taking a block out of one, and putting it back. They need no
// atomic operation, no lock, and one record. Compiled programs have them in their own code (templates.cpp); the rest is
// in lane_heap.h.
//
// As in Hoard and mimalloc, small blocks come from slabs that one lane owns. They are 1 KiB (2 KiB for blocks of more
// than 512 bytes), so that tens of thousands of lanes can have some. A record for each KiB of memory says which lane
// owns the slab there, and which of its blocks are free.
//
// Memory order: `free` and the links of a slab are its owner's, in program order, so all accesses of the owner are
// plain ones. A lane is a number in a launch. When another launch assigns it to another multiprocessor, a kernel ended
// in between, or a command was taken with an acquire. Other lanes read `free` relaxed, and only to find mistakes.
#pragma once

#include "heap/classes.h"

namespace gpu_run {
namespace heap {

// From this class on, a slab takes two records; all but `owner` of the second stay 0.
constexpr u32 LANE_TWO = 16;
static_assert(LANE_CLASSES == LANE_TWO + 4, "four classes to each power of two");

GPU_RUN_INLINE u32 lane_slab_bytes(u32 c) { return c < LANE_TWO ? LANE_SLAB : 2 * LANE_SLAB; }

// The parts of LaneSlab::owner.
GPU_RUN_INLINE u32 owner_word(u32 lane, u32 c, u32 blocks) { return (lane + 1) << 12 | c << 7 | blocks; }
GPU_RUN_INLINE u32 owner_in(u32 word) { return word >> 12; }  // 1 + the lane
GPU_RUN_INLINE u32 lane_class_in(u32 word) { return word >> 7 & 31; }
GPU_RUN_INLINE u32 blocks_in(u32 word) { return word & 127; }
GPU_RUN_INLINE u64 all_blocks(u32 word) { return ~0ull >> (64 - blocks_in(word)); }

// The parts of an entry of Heap::lane_lists.
GPU_RUN_INLINE u32 first_in(u64 list) { return (u32)list; }  // 1 + the number of a slab, or 0
GPU_RUN_INLINE u32 count_in(u64 list) { return (u32)(list >> 32); }  // blocks handed out that the statistics lack
// Counts of that many are added to the statistics, so that 32 bits do not overflow.
constexpr u32 MANY_BLOCKS = 1u << 31;

GPU_RUN_INLINE bool is_small(u32 size, u32 align) { return (size <= LANE_MOST) & (align <= GRAIN); }

// What a lane has of a heap.
struct Lane {
  u64 *lists;  // of all lanes: by class, then lane, so that those of a warp are one access
  LaneSlab *slabs;
  u32 lanes;  // that have some
  u32 records;
  u32 number;

  GPU_RUN_INLINE bool any() const { return number < lanes; }
  GPU_RUN_INLINE u64 *list(u32 c) const { return lists + (c * lanes + number); }
};

// A block of one of the lane's slabs, or 0.
GPU_RUN_INLINE u32 take_own(const Lane &lane, u32 size, u32 align) {
  if (!lane.any() | !is_small(size, align)) return 0;
  u32 c = class_of(size);
  u64 *at = lane.list(c), list = load_word_guest(at);
  u32 slab = first_in(list);
  if ((slab == 0) | (count_in(list) >= MANY_BLOCKS)) return 0;
  u64 *free = &lane.slabs[slab - 1].free, blocks = load_word_guest(free);
  if (blocks == 0) return 0;
  store_word_guest(free, blocks & (blocks - 1));
  store_word_guest(at, list + (1ull << 32));
  return (slab - 1) * LANE_SLAB + (u32)__builtin_ctzll(blocks) * class_size(c);
}

// A block of one of a lane's slabs.
struct OwnBlock {
  LaneSlab *slab;
  u64 after;  // what the slab's `free` is without it
  u32 c;
};

// Finds a block of one of the lane's slabs, if to free it takes no more than its bit. That is so if the slab was not
// full, and does not become empty after others in its list.
GPU_RUN_INLINE bool find_own(const Lane &lane, u32 address, u32 size, OwnBlock &found) {
  u32 index = address / LANE_SLAB;
  if (!lane.any() | (index >= lane.records)) return false;
  LaneSlab *slab = lane.slabs + index;
  u64 free, second, freed, links;
  load_pair_guest(slab, free, second);
  u32 word = (u32)second, c = lane_class_in(word);
  if (owner_in(word) != lane.number + 1) return false;
  if ((c >= LANE_TWO) & (index & 1)) {
    slab--, index--;
    free = load_word_guest(&slab->free);
  }
  load_pair_guest(&slab->freed, freed, links);
  u32 block = index_in_slab(address - index * LANE_SLAB, c);
  // No block of the slab, one that is freed twice, or one smaller than it is said to be: the slow path says which.
  if ((block >= blocks_in(word)) | ((size > class_size(c)) & (size != ANY_SIZE)) | (free == 0)) return false;
  u64 bit = 1ull << block, after = free | bit;
  if ((free | freed) & bit) return false;
  if ((after == all_blocks(word)) & ((u32)links != 0)) return false;
  found = {slab, after, c};
  return true;
}

// Frees a block of one of the lane's slabs, if that is all there is to do. Otherwise nothing changes.
GPU_RUN_INLINE bool keep_own(const Lane &lane, u32 address, u32 size) {
  OwnBlock block;
  if (!find_own(lane, address, size, block)) return false;
  store_word_guest(&block.slab->free, block.after);
  return true;
}

// The block with another size: where it is, or another one of the lane's slabs, with its bytes. 0 if there is more to
// do than that; then nothing changes. `base` is the memory's.
GPU_RUN_INLINE u32 resize_own(const Lane &lane, u8 *base, u32 old, u32 old_size, u32 align, u32 size) {
  OwnBlock block;
  if (!is_small(size, align) || !find_own(lane, old, old_size, block)) return 0;
  if (class_of(size) == block.c) return old;
  u32 address = take_own(lane, size, align), bytes = old_size < class_size(block.c) ? old_size : class_size(block.c);
  if (address == 0) return 0;
  if (size < bytes) bytes = size;
  // Whole words: blocks are multiples of 16 bytes.
  for (u32 i = 0; i < bytes; i += 8) linear::store_word(base, address + i, linear::load_word(base, old + i));
  store_word_guest(&block.slab->free, block.after);
  return address;
}

}  // namespace heap
}  // namespace gpu_run
