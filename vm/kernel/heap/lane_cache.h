// Caches of free blocks, one for each of a kernel's first lanes. Who frees a small block and allocates one like it soon
// after, as ordinary programs do all the time, gets it back without an atomic operation.
//
// A cache has an entry for each of the CACHE_CLASSES smallest classes. Its two words are
//
//   kept, bits 0 to 31   the address of a free block of that class; 0: there is none
//         bits 32 to 63  hits: how often the lane has got a block out of it, as far as not added to the statistics
//   lent                 the address of the block of that class that the lane was given last, until it frees it or
//                        another one; or 0
//
// When the lane frees a block that was lent, and says its size, nothing else is to be looked at: its class follows
// from that. About any other block, and where the size is not known, the heap's records are asked (`keep_other`). Where the entry has a block already, the next goes to
// the heap.
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

#include "heap/check.h"
#include "heap/lane_cache_entry.h"

namespace gpu_run {
namespace heap {

GPU_RUN_INLINE Cache own_cache(const Heap &heap) {
  static_assert(__builtin_offsetof(Heap, cache_lanes) == __builtin_offsetof(Heap, caches) + 8, "one access");
  u64 at, lanes;
  load_pair_guest(&heap.caches, at, lanes);
  return {(CacheEntry *)at, (u32)lanes, global_lane()};
}

// The entry for a block that the lane wants, or null.
GPU_RUN_INLINE CacheEntry *entry_for(const Heap &heap, u32 size, u32 align) {
  Cache cache = own_cache(heap);
  return cache.any() && is_small(size, align) ? cache.entry(small_class(size)) : nullptr;
}

// The lane was given it by the heap.
GPU_RUN_INLINE void note_lent(CacheEntry *entry, u32 block) {
  if (entry) store_guest(&entry->lent, (u64)block);
}

// Adds an entry's hits to the statistics, where they may be many.
GPU_RUN_INLINE void count_hits(Heap &heap, u32 c, u64 kept) {
  red_add_device(&heap.allocated[sm_hint() % HEAP_STRIPES][c], (u64)hits_in(kept));
}

// Whether a cache may have the block.
GPU_RUN_INLINE bool is_cacheable(const Cache &cache, const Block &block) {
  return cache.any() && kind(block.state) != KIND_Region && class_in(block.state) < CACHE_CLASSES;
}

// What is to be done with a block that is freed, and that was found in the records.
enum Freed : u32 {
  KEPT,  // nothing: it is in the lane's cache
  TWICE,  // it was there before
  OVER,  // it goes to the heap
};
GPU_RUN_INLINE Freed keep_other(Heap &heap, u32 address, const Block &block) {
  Cache cache = own_cache(heap);
  u32 c = class_in(block.state);
  if (!is_cacheable(cache, block)) return OVER;
  CacheEntry *entry = cache.entry(c);
  u64 kept = load_word_guest(&entry->kept);
  if (address_in(kept)) return address_in(kept) == address ? TWICE : OVER;
  if (!is_marked(heap, block)) return OVER;
  count_hits(heap, c, kept);
  store_pair_guest(entry, address, 0);
  return KEPT;
}

// Whether the lane has freed a block, and has it in its cache.
GPU_RUN_INLINE bool is_kept(const Heap &heap, u32 address, const Block &block) {
  Cache cache = own_cache(heap);
  if (!is_cacheable(cache, block)) return false;
  return address_in(load_word_guest(&cache.entry(class_in(block.state))->kept)) == address;
}

}  // namespace heap
}  // namespace gpu_run
