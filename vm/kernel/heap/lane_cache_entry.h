// An entry of a lane's cache of free blocks, and what is done most: see lane_cache.h. Compiled programs have this in their
// own code (templates.cpp).
#pragma once

#include "heap/classes.h"

namespace gpu_run {
namespace heap {

// The class of at most CACHED_MOST bytes.
GPU_RUN_INLINE u32 small_class(u32 size) {
  u32 grains = (size + GRAIN - 1) / GRAIN;
  if (grains > 8) return (grains - 1) / 2 + 4;
  return grains ? grains - 1 : 0;
}
GPU_RUN_INLINE bool is_small(u32 size, u32 align) { return (size <= CACHED_MOST) & (align <= GRAIN); }

// The parts of CacheEntry::kept.
GPU_RUN_INLINE u32 address_in(u64 kept) { return (u32)kept; }
GPU_RUN_INLINE u32 hits_in(u64 kept) { return (u32)(kept >> 32); }
// So many are added to the statistics before there are more than 32 bits count.
constexpr u32 MANY_HITS = 1u << 31;

// A lane's cache.
struct Cache {
  CacheEntry *entries;  // of all lanes
  u32 lanes;  // that have one
  u32 lane;

  GPU_RUN_INLINE bool any() const { return lane < lanes; }
  // Entries of all lanes lie side by side, so that those of a warp are one access.
  GPU_RUN_INLINE CacheEntry *entry(u32 c) const { return entries + (c * lanes + lane); }
};

// A block out of the lane's cache, or 0. `|` and `&` here: one branch is faster than two.
GPU_RUN_INLINE u32 take_kept(const Cache &cache, u32 size, u32 align) {
  u32 c = small_class(size);
  if (!cache.any() | !is_small(size, align)) return 0;
  CacheEntry *entry = cache.entry(c);
  u64 kept = load_word_guest(&entry->kept);
  u32 block = address_in(kept);
  if (block == 0) return 0;
  store_pair_guest(entry, join(0, hits_in(kept) + 1), block);
  return block;
}

// Keeps a block that is freed, if it is the one that was lent; else nothing changes.
GPU_RUN_INLINE bool keep_in(CacheEntry *entry, u32 block) {
  u64 kept, lent;
  load_pair_guest(entry, kept, lent);
  // Where a block was lent, none is kept.
  if ((lent != block) | (hits_in(kept) >= MANY_HITS)) return false;
  store_pair_guest(entry, join(block, hits_in(kept)), 0);
  return true;
}
GPU_RUN_INLINE bool keep_lent(const Cache &cache, u32 block, u32 size) {
  u32 c = small_class(size);
  if (!cache.any() | (size > CACHED_MOST) | (block == 0)) return false;
  return keep_in(cache.entry(c), block);
}

}  // namespace heap
}  // namespace gpu_run
