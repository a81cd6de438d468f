// The caches of lanes, built from the kernel's own source. One thread is each lane in turn. Each part ends the process
// with a message if something is wrong; ../heap.rs builds and runs it, with sanitizers too.

#include "memory.h"

// What a lane frees it gets back, without the heap; the others do not.
static void hits() {
  TestMemory test(PAGE, 16 << 20, false, false, 2);
  for (u32 size : {0u, 1u, 16u, 17u, 64u, 65u, 128u, 129u, 250u, 256u}) {
    own_lane() = 0;
    u32 block = test.allocate(size, 8);
    for (u32 i = 0; i < 10; i++) {
      test.free_block(block, i % 2 ? size : heap::ANY_SIZE);
      CHECK(test.live() == 1, "size %u: the heap has the block back", size);
      own_lane() = 1;
      u32 other = test.allocate(size, 8);
      CHECK(other != block, "size %u: two lanes have one block", size);
      test.free_block(other, size);
      heap::empty_cache(test.memory);
      own_lane() = 0;
      CHECK(test.allocate(size, 8) == block, "size %u: it does not come back", size);
    }
    test.free_block(block, size);
    test.empty_caches();
    CHECK(test.live() == 0, "size %u: a block is left", size);
  }
  // Of more than that, and of what is aligned to more, none is kept when it is allocated; lanes without a cache have none.
  for (u32 lane : {0u, 2u, ~0u}) {
    own_lane() = lane;
    u32 size = lane ? 64 : 257, block = test.allocate(size, 8);
    test.free_block(block, size);
    CHECK(test.live() == 0, "lane %u: kept", lane);
  }
  printf("hits: ok\n");
}

// A lane's blocks that are not the last that it was given, and those of other lanes.
static void others() {
  TestMemory test(PAGE, 16 << 20, false, false, 2);
  own_lane() = 0;
  u32 a = test.allocate(64), b = test.allocate(64), c = test.allocate(64);
  test.free_block(a, 64);
  CHECK(test.live() == 3, "the first is kept");
  test.free_block(b, 64);
  CHECK(test.live() == 2, "for the second there is no room");
  CHECK(test.allocate(64) == a, "what is kept comes back");
  own_lane() = 1;
  test.free_block(a, 64);
  CHECK(test.live() == 2 && test.allocate(64) == a, "another lane keeps it as well");
  test.free_block(a, 64);
  // Other classes have entries of their own.
  u32 small = test.allocate(16), larger = test.allocate(80);
  test.free_block(small, 16);
  test.free_block(larger, 80);
  CHECK(test.live() == 4, "both are kept");
  CHECK(test.allocate(80) == larger && test.allocate(16) == small, "both come back");
  test.free_block(larger, 80);
  test.free_block(small, 16);
  test.free_block(c, 64);
  test.empty_caches();
  CHECK(test.live() == 0, "%llu blocks are left", test.live());
  printf("others: ok\n");
}

// What programs do wrong is found as far as cache.h says, and leaves the heap whole.
static void mistakes() {
  TestMemory test(PAGE, 4 << 20, false, false, 2);
  own_lane() = 0;
  u32 block = test.allocate(100), bytes = 0, moved, copied;
  test.free_block(block, 100);
  CHECK(test.release(block, 100) == heap::FREED, "twice");
  CHECK(test.release(block, heap::ANY_SIZE) == heap::FREED, "twice, of any size");
  CHECK(test.release(block + 16, 8) == heap::FOREIGN, "inside of a block");
  CHECK(test.release(block, 257) == heap::WRONG_SIZE, "more bytes than it has");
  CHECK(test.release(0, 16) == heap::FOREIGN, "null");
  CHECK(heap::measure(test.memory.heap, block, bytes) == heap::FREED, "it is free");
  Launch launch{};
  CHECK(heap::reallocate(launch, test.memory, block, 100, 8, 110, moved, copied) == heap::FREED, "it is free");
  CHECK(test.allocate(100) == block, "it is still there");
  // Freed by another lane and here too: found at last when the heap is given it the second time.
  own_lane() = 1;
  test.free_block(block, 100);
  own_lane() = 0;
  test.free_block(block, 100);
  u32 twice = test.allocate(100);
  own_lane() = 1;
  CHECK(test.allocate(100) == block && twice == block, "the program broke its own memory");
  test.free_block(block, 100);
  heap::empty_cache(test.memory);
  CHECK(test.live() == 0, "the heap has it");
  own_lane() = 0;
  test.free_block(block, 100);
  u32 blocks = 0;
  CHECK(!heap::empty_cache(test.memory), "the heap was given it before");
  while (test.allocate(3000)) blocks++;
  CHECK(blocks > 1100, "only %u blocks of 4 MiB", blocks);
  printf("mistakes: ok\n");
}

// A block that a lane was given, another lane has freed, and is now one of another size: C's free says none.
static void another_class() {
  TestMemory test(PAGE, 1 << 20, false, false, 1);
  own_lane() = 0;
  u32 block = test.allocate(256);
  own_lane() = 1;
  test.free_block(block, 256);
  bool found = false;
  while (u32 small = test.allocate(16)) found |= small == block;
  CHECK(found, "its page has not become one of small blocks");
  own_lane() = 0;
  test.free_block(block, heap::ANY_SIZE);
  CHECK(test.allocate(250) == 0, "a small block was handed out as a large one");
  CHECK(test.allocate(16) == block, "it is as large as it was");
  printf("another class: ok\n");
}

// Before a lane is told that there is no memory, it gives back what it has; other lanes' caches hide no more than they
// may have.
static void exhaustion() {
  constexpr u32 LANES = 4;
  TestMemory test(PAGE, 4 << 20, false, false, LANES);
  std::vector<u32> blocks;
  own_lane() = 0;
  while (u32 block = test.allocate(64)) blocks.push_back(block);
  for (own_lane() = 0; own_lane() < LANES; own_lane()++) {
    test.free_block(blocks.back(), 64);
    blocks.pop_back();
  }
  u32 failed = test.memory.heap.failed;
  own_lane() = LANES;
  CHECK(!test.allocate(64), "all that is free is in caches");
  CHECK(test.memory.heap.failed == failed + 1, "counted");
  for (own_lane() = 0; own_lane() < LANES; own_lane()++) {
    CHECK(test.allocate(48), "lane %u has 64 bytes, but not 48", own_lane());
    CHECK(!test.allocate(64), "lane %u has more than it gave", own_lane());
  }
  printf("exhaustion: ok\n");
}

// Every block out of a cache is counted, once.
static void statistics() {
  TestMemory test(PAGE, 4 << 20, false, false, 1);
  own_lane() = 0;
  u64 made[HEAP_CLASSES] = {};
  for (u32 i = 0; i < 10000; i++) {
    u32 size = (i / 10 % 3 ? i / 100 * 37 : i * 5) % 256 + 1, block = test.allocate(size);
    made[heap::class_of(size)]++;
    test.free_block(block, size);
  }
  const Heap &heap = test.memory.heap;
  u64 hits = 0;
  for (u32 c = 0; c < CACHE_CLASSES; c++) {
    u64 counted = heap::hits_in(heap.caches[c].kept);
    hits += counted;
    for (u32 i = 0; i < HEAP_STRIPES; i++) counted += heap.allocated[i][c];
    CHECK(counted == made[c], "class %u: %llu blocks, %llu are counted", c, made[c], counted);
  }
  CHECK(hits, "some are still to be added");
  // Very many are added to the others in time.
  u32 c = 3, size = heap::class_size(c);
  u64 &kept = heap.caches[c].kept, before = kept;
  u32 block = heap::address_in(kept);
  kept = join((u32)kept, heap::MANY_HITS - 1);
  CHECK(test.allocate(size) == block && heap::hits_in(kept) == heap::MANY_HITS, "one more");
  test.free_block(block, size);
  CHECK(heap::hits_in(kept) == 0 && heap::address_in(kept) == block, "it counts anew");
  u64 counted = 0;
  for (u32 i = 0; i < HEAP_STRIPES; i++) counted += heap.allocated[i][c];
  CHECK(counted + heap::hits_in(before) == made[c] + heap::MANY_HITS, "%llu are counted", counted);
  printf("statistics: ok\n");
}

// Numbers of blocks in slabs, for every class and every offset.
static void indices() {
  for (u32 c = 0; c < HEAP_CLASSES; c++) {
    u32 size = heap::class_size(c), most = heap::large_slab(c, heap::SLAB_PAGES) * PAGE;
    for (u32 offset = 0; offset < most; offset++) {
      u32 index = heap::index_in_slab(offset, c);
      bool right = offset % size ? index > HEAP_WORDS * 64 : index == offset / size;
      CHECK(right, "%u at %u bytes of blocks of %u", index, offset, size);
    }
  }
  for (u32 size = 0; size <= CACHED_MOST; size++) {
    u32 c = heap::small_class(size);
    CHECK(c == heap::class_of(size ? size : 1) && c < CACHE_CLASSES, "class %u for %u", c, size);
  }
  CHECK(heap::class_size(CACHE_CLASSES - 1) == CACHED_MOST, "the last class");
  printf("indices: ok\n");
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  indices();
  hits();
  others();
  mistakes();
  another_class();
  exhaustion();
  statistics();
  return 0;
}
