// Caches of free blocks, one for each of a kernel's first lanes. Who frees a small block and allocates one like it soon
// after, as ordinary programs do all the time, gets it back without an atomic operation.
//
// A cache has CACHE_ENTRIES entries, of which a class has one. Its two words are
//
//   kept, bits 0 to 3    1 + the class that the entry is for; 0: none yet
//         bits 4 to 31   those of the address of a free block of that class; 0: there is none
//         bits 32 to 63  hits: how often the lane has got a block out of it, as far as not added to the statistics
//   lent                 the block of the entry's classes that the lane was given last, as in bits 0 to 31; or 0
//
// When the lane frees a block that was lent, nothing else is to be looked at: its class follows from its size. About
// any other block the heap's records are asked (`keep_other`). A block that then finds one of another class in its
// entry drives that out to the heap; if it finds one of its own, it goes to the heap itself.
//
// Memory order: only its lane reads and writes an entry, in program order, so all accesses are plain ones and stay in
// the L1 cache; nobody else had the block in between. A lane is a number in a launch. When another launch gives it to
// another multiprocessor, then a kernel ended in between, or a command was taken with an acquire. A thread of the
// interpreter may move to another lane where it waits: it finds that lane's cache there, which is as good. Lanes of a
// warp that part touch different entries.
//
// For the heap's records a block in a cache is handed out. So nobody else gets it, and its slab stays.
//
// What programs do wrong: a block that the lane frees twice in a row is found. One that was lent here, and that another
// lane has freed, can be freed here too without being noticed at once; then it is had twice, until the heap is given it
// twice, which it notices. The records of the heap cannot be broken: what leaves a cache for the heap is looked at as
// if the program had freed it. Of a program that does nothing wrong, a block that was lent and is freed at the same
// address may be another one by then, but no smaller: its size is in that class or a lower one.
//
// A block may be hidden here from who finds no memory. There are only as many caches as keep that small: see
// `prepare_heap` in src/store/heap.rs. Before a lane is told that there is no memory, its own cache is emptied. A
// checked heap has none, so that it sees every free.
#pragma once

#include "block.h"
#include "large.h"

namespace gpu_run {
namespace heap {

// Bytes of the largest block that is kept.
constexpr u32 CACHED_MOST = 256;

// The class of at most CACHED_MOST bytes.
GPU_RUN_INLINE u32 small_class(u32 size) {
  u32 grains = (size + GRAIN - 1) / GRAIN;
  if (grains > 8) return (grains - 1) / 2 + 4;
  return grains ? grains - 1 : 0;
}
GPU_RUN_INLINE bool is_small(u32 size, u32 align) { return size <= CACHED_MOST && align <= GRAIN; }

// An entry's parts.
GPU_RUN_INLINE u32 class_tag(u32 c) { return 1 + c; }
GPU_RUN_INLINE u32 tag_in(u64 kept) { return (u32)kept % GRAIN; }
GPU_RUN_INLINE u32 address_in(u64 kept) { return (u32)kept / GRAIN * GRAIN; }
GPU_RUN_INLINE u32 hits_in(u64 kept) { return (u32)(kept >> 32); }
GPU_RUN_INLINE u32 tagged(u32 address, u32 c) { return address | class_tag(c); }
// So many are added to the statistics before there are more than 32 bits count.
constexpr u32 MANY_HITS = 1u << 31;

// A lane's cache.
struct Cache {
  CacheEntry *entries;
  u64 lanes;
  u32 lane;

  GPU_RUN_INLINE bool any() const { return lane < lanes; }
  // Entries of all lanes lie side by side, so that those of a warp are one access.
  GPU_RUN_INLINE CacheEntry *entry(u32 c) const { return entries + (c % CACHE_ENTRIES * (u32)lanes + lane); }
};
GPU_RUN_INLINE Cache own_cache(const Heap &heap) {
  Cache cache;
  u64 at;
  static_assert(__builtin_offsetof(Memory, heap.caches) % 16 == 0, "one access");
  load_pair_guest(&heap.caches, at, cache.lanes);
  cache.entries = (CacheEntry *)at;
  cache.lane = lane_id();
  return cache;
}

// A block out of the lane's cache, or 0.
GPU_RUN_INLINE u32 take_kept(const Heap &heap, u32 size, u32 align) {
  Cache cache = own_cache(heap);
  u32 c = small_class(size);
  if (!cache.any() || !is_small(size, align)) return 0;
  CacheEntry *entry = cache.entry(c);
  u64 kept = load_word_guest(&entry->kept);
  if (tag_in(kept) != class_tag(c) || address_in(kept) == 0) return 0;
  store_pair_guest(entry, join(class_tag(c), hits_in(kept) + 1), (u32)kept);
  return address_in(kept);
}

// The entry for a block that the lane wants, or null.
GPU_RUN_INLINE CacheEntry *entry_for(const Heap &heap, u32 size, u32 align) {
  Cache cache = own_cache(heap);
  return cache.any() && is_small(size, align) ? cache.entry(small_class(size)) : nullptr;
}

// The lane was given it by the heap.
GPU_RUN_INLINE void note_lent(CacheEntry *entry, u32 address, u32 size) {
  if (entry) store_guest(&entry->lent, (u64)tagged(address, small_class(size)));
}

// Keeps a block that is freed, if it is the one of that class that was lent and there is room for it; else nothing
// changes.
GPU_RUN_INLINE bool keep_in(CacheEntry *entry, u32 block) {
  u64 kept, lent;
  load_pair_guest(entry, kept, lent);
  if (lent != block || (u32)kept != tag_in(block) || hits_in(kept) >= MANY_HITS) return false;
  store_pair_guest(entry, join(block, hits_in(kept)), 0);
  return true;
}
GPU_RUN_INLINE bool keep_lent(const Heap &heap, u32 address, u32 size) {
  Cache cache = own_cache(heap);
  u32 c = small_class(size);
  if (!cache.any() || size > CACHED_MOST) return false;
  return keep_in(cache.entry(c), tagged(address, c));
}
GPU_RUN_INLINE bool keep_lent_of_any_size(const Heap &heap, u32 address) {
  Cache cache = own_cache(heap);
  for (u32 c = 0; cache.any() && c < CACHE_ENTRIES; c++) {
    u64 lent = load_word_guest(&cache.entry(c)->lent);
    if (lent && address_in(lent) == address) return keep_in(cache.entry(c), (u32)lent);
  }
  return false;
}

// Adds an entry's hits to the statistics.
GPU_RUN_INLINE void count_hits(Heap &heap, u64 kept) {
  u32 c = (tag_in(kept) - 1) % HEAP_CLASSES;
  if (hits_in(kept)) count_device(&heap.allocated[lane_group() % HEAP_STRIPES][c], (u64)hits_in(kept));
}

// Whether a cache may have the block.
GPU_RUN_INLINE bool is_cacheable(const Cache &cache, const Block &block) {
  return cache.any() && kind(block.state) != KIND_Region && class_in(block.state) < CACHE_CLASSES;
}

// Keeps a block that is freed, and that was found in the records. Gives the address of what goes to the heap: the block
// itself, or one that it drove out, or 0. ~0: the block is in the cache already.
GPU_RUN_INLINE u32 keep_other(Heap &heap, u32 address, const Block &block) {
  Cache cache = own_cache(heap);
  u32 c = class_in(block.state);
  if (!is_cacheable(cache, block)) return address;
  CacheEntry *entry = cache.entry(c);
  u64 kept = load_word_guest(&entry->kept);
  if ((u32)kept == tagged(address, c)) return ~0u;
  if (tag_in(kept) == class_tag(c) && address_in(kept)) return address;
  if (!is_marked(heap, block)) return address;
  count_hits(heap, kept);
  store_pair_guest(entry, tagged(address, c), 0);
  return address_in(kept);
}

// Whether the lane has freed a block, and has it in its cache.
GPU_RUN_INLINE bool is_kept(const Heap &heap, u32 address, const Block &block) {
  Cache cache = own_cache(heap);
  u32 c = class_in(block.state);
  return is_cacheable(cache, block) && (u32)load_word_guest(&cache.entry(c)->kept) == tagged(address, c);
}

}  // namespace heap
}  // namespace gpu_run
