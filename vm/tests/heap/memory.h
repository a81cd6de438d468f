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
  Launch launch{};  // of no threads: each lane may still run some
  std::vector<void *> owned;

  // `lanes`: those that have slabs of their own; a thread says by `own_lane` which it is.
  // `wide`: each group of lanes has a slot of its own from the start, as after much contention on a GPU.
  TestMemory(u64 size, u64 limit, bool checked = false, bool wide = false, u32 lanes = 0) {
    memory.base = (u8 *)zeroed(limit);
    memory.size = size;
    memory.limit = limit;
    u32 pages = (u32)(limit / PAGE), words = (pages + 63) / 64;
    memory.heap.pages = (HeapPage *)zeroed(pages * sizeof(HeapPage));
    memory.heap.sets = (u64 *)zeroed((words + (words + 63) / 64) * 8ull * (1 + HEAP_CLASSES));
    memory.heap.slots = (u64 *)zeroed(HEAP_CLASSES * HEAP_GROUPS * 8);
    memory.heap.page_limit = pages;
    memory.heap.lanes = lanes;
    if (lanes) {
      memory.heap.lane_records = pages * (PAGE / LANE_SLAB);
      memory.heap.lane_slabs = (LaneSlab *)zeroed(memory.heap.lane_records * sizeof(LaneSlab));
      memory.heap.lane_lists = (u64 *)zeroed((LANE_CLASSES + 1) * 8ull * lanes);
      memory.heap.lane_inboxes = (u32 *)zeroed(4ull * lanes);
    }
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
    while ((outcome = heap::allocate(launch, memory, size, align, address)) == heap::RETRY) std::this_thread::yield();
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
  // Blocks that the program has.
  u64 live() {
    u64 blocks = 0;
    for (u32 page = 0; page < memory.heap.page_limit; page++) {
      u64 state = memory.heap.pages[page].state;
      if (heap::kind(state) == KIND_Region) blocks++;
      if (heap::kind(state) <= KIND_Region) continue;
      // Its bits: `used` counts what is promised to a slot too. Bits after the last block are always set.
      u32 words = (heap::capacity(state) + 63) / 64;
      for (u32 i = 0; i < words; i++) blocks += (u32)__builtin_popcountll(memory.heap.pages[page].bits[i]);
      blocks -= words * 64 - heap::capacity(state);
    }
    for (u32 i = 0; i < memory.heap.lane_records; i++) {
      const LaneSlab &slab = memory.heap.lane_slabs[i];
      if (slab.owner == 0 || (heap::lane_class_in(slab.owner) >= heap::LANE_TWO && i % 2)) continue;
      CHECK((slab.free & slab.freed) == 0, "slab %u: a block is free twice", i);
      // It is a block itself.
      blocks += (u64)heap::blocks_in(slab.owner) - (u64)__builtin_popcountll(slab.free | slab.freed) - 1;
    }
    return blocks;
  }
  // Slabs that lanes have.
  u32 lane_slabs() {
    u32 count = 0;
    for (u32 i = 0; i < memory.heap.lane_records; i++) {
      u32 owner = memory.heap.lane_slabs[i].owner;
      count += owner != 0 && !(heap::lane_class_in(owner) >= heap::LANE_TWO && i % 2);
    }
    return count;
  }
  // Has every lane give up its slabs without blocks, one lane after another.
  void give_back() {
    for (u32 lane = 0; lane < memory.heap.lanes; lane++) heap::give_back(memory, heap::lane_at(memory.heap, lane));
  }
  // Pages that are in the set of free ones.
  u32 free_pages() {
    u32 count = 0;
    heap::Set set = heap::set(memory.heap, heap::FREE_PAGES);
    for (u32 i = 0; i < set.count; i++) count += (u32)__builtin_popcountll(set.words[i]);
    return count;
  }
};
