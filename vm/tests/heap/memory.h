// A memory with a heap for tests, built from the kernel's own source.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "heap/heap.h"

using namespace gpu_run;

#define CHECK(condition, ...)                                                                      \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                              \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fprintf(stderr, "\n");                                                                       \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

// A memory with a heap, as the host makes one (src/store/heap.rs).
struct TestMemory {
  Memory memory{};
  std::vector<void *> owned;

  // `caches`: lanes that have one; a thread says by `own_lane` which it is.
  // `wide`: each group of lanes has a slot of its own from the start, as after much contention on a GPU.
  TestMemory(u64 size, u64 limit, bool checked = false, bool wide = false, u32 caches = 0) {
    memory.base = (u8 *)zeroed(limit);
    memory.size = size;
    memory.limit = limit;
    u32 pages = (u32)(limit / PAGE), words = (pages + 63) / 64;
    memory.heap.pages = (HeapPage *)zeroed(pages * sizeof(HeapPage));
    memory.heap.sets = (u64 *)zeroed((words + (words + 63) / 64) * 8ull * (1 + HEAP_CLASSES));
    memory.heap.slots = (u64 *)zeroed(HEAP_CLASSES * HEAP_GROUPS * 8);
    memory.heap.page_limit = pages;
    memory.heap.cache_lanes = caches;
    memory.heap.caches = (CacheEntry *)zeroed(CACHE_CLASSES * sizeof(CacheEntry) * (u64)(caches + 1));
    if (checked) memory.heap.sites = (HeapSite *)zeroed(pages * (PAGE / SITE_GRAIN) * sizeof(HeapSite));
    memory.heap.guards = checked;
    for (u32 c = 0; c < HEAP_CLASSES && wide; c++) memory.heap.width[c] = heap::log2_floor(HEAP_GROUPS);
  }
  ~TestMemory() {
    for (void *block : owned) free(block);
  }
  void *zeroed(u64 bytes) {
    void *block = nullptr;
    CHECK(posix_memalign(&block, 65536, bytes) == 0, "no memory for the test");
    memset(block, 0, bytes);
    owned.push_back(block);
    return block;
  }

  u32 allocate(u32 size, u32 align = 1) {
    u32 address;
    heap::Outcome outcome;
    while ((outcome = heap::allocate(memory, size, align, address)) == heap::RETRY) std::this_thread::yield();
    CHECK(outcome == heap::DONE, "outcome %u of allocating %u bytes", outcome, size);
    CHECK(address % align == 0, "%u is not aligned to %u", address, align);
    CHECK((u64)address + size <= load_relaxed_device(&memory.size), "outside of the memory");
    return address;
  }
  heap::Outcome release(u32 address, u32 size, u32 align = 1) {
    return heap::release(memory, address, size, align);
  }
  void free_block(u32 address, u32 size, u32 align = 1) {
    heap::Outcome outcome = release(address, size, align);
    CHECK(outcome == heap::DONE, "outcome %u of freeing %u bytes at %u", outcome, size, address);
  }
  u64 live() {
    u64 blocks = 0;
    for (u32 page = 0; page < memory.heap.page_limit; page++) {
      u64 state = memory.heap.pages[page].state;
      if (heap::kind(state) == KIND_Region) blocks++;
      if (heap::kind(state) <= KIND_Region) continue;
      // Its bits: `used` counts what is promised to a slot too. Bits behind the last block are set for ever.
      u32 words = (heap::capacity(state) + 63) / 64;
      for (u32 i = 0; i < words; i++) blocks += (u32)__builtin_popcountll(memory.heap.pages[page].bits[i]);
      blocks -= words * 64 - heap::capacity(state);
    }
    return blocks;
  }
  // Has every lane give its cache's blocks to the heap, one after another.
  void empty_caches() {
    u32 before = own_lane();
    for (own_lane() = 0; own_lane() < memory.heap.cache_lanes; own_lane()++) heap::empty_cache(memory);
    own_lane() = before;
  }
  // Pages that are in the set of free ones.
  u32 free_pages() {
    u32 count = 0;
    heap::Set set = heap::set(memory.heap, heap::FREE_PAGES);
    for (u32 i = 0; i < set.count; i++) count += (u32)__builtin_popcountll(set.words[i]);
    return count;
  }
};
