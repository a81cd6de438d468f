// The slabs of lanes, built from the kernel's own source. One thread is each lane in turn. Each part ends the process
// with a message if something is wrong; ../heap.rs builds and runs it, with sanitizers too.

#include "memory.h"

// The first block of a class comes from the shared slabs: each lane has had one of each.
static void ask_all(TestMemory &test) {
  for (u32 lane = 0; lane < test.memory.heap.lanes; lane++) {
    own_lane() = lane;
    for (u32 c = 0; c < LANE_CLASSES; c++) {
      u32 slabs = test.lane_slabs(), size = heap::class_size(c), block = test.allocate(size);
      CHECK(test.lane_slabs() == slabs, "a slab for one block");
      test.free_block(block, size);
    }
  }
}

// A lane gets back what it frees, without the heap; the others do not.
static void hits() {
  TestMemory test(PAGE, 16 << 20, false, false, 2);
  ask_all(test);
  for (u32 size : {0u, 1u, 16u, 17u, 64u, 65u, 129u, 256u, 500u, 513u, 640u, 1000u, 1024u}) {
    own_lane() = 0;
    u32 block = test.allocate(size, 8);
    for (u32 i = 0; i < 10; i++) {
      test.free_block(block, i % 2 ? size : heap::ANY_SIZE);
      CHECK(test.live() == 0, "size %u: it is free", size);
      own_lane() = 1;
      u32 other = test.allocate(size, 8);
      CHECK(other / LANE_SLAB != block / LANE_SLAB, "size %u: two lanes have one slab", size);
      test.free_block(other, size);
      own_lane() = 0;
      CHECK(test.allocate(size, 8) == block, "size %u: it does not come back", size);
    }
    test.free_block(block, size);
  }
  test.give_back();
  CHECK(test.live() == 0 && test.lane_slabs() == 0, "%llu blocks, %u slabs are left", test.live(), test.lane_slabs());
  // A lane has no larger blocks, and none that are aligned to more. Lanes above the number of those that have slabs
  // have none.
  for (u32 lane : {0u, 2u, ~0u}) {
    own_lane() = lane;
    u32 size = lane ? 64 : 1025, block = test.allocate(size, 8), aligned = test.allocate(size, 64);
    CHECK(test.lane_slabs() == 0, "lane %u has a slab", lane);
    test.free_block(block, size);
    test.free_block(aligned, size, 64);
  }
  printf("hits: ok\n");
}

// Many blocks of one size: every byte has one owner, in whatever order they are freed.
static void many() {
  TestMemory test(PAGE, 64 << 20, false, false, 1);
  ask_all(test);
  own_lane() = 0;
  for (u32 size : {16u, 48u, 80u, 200u, 512u, 700u, 1024u}) {
    for (u32 step : {1u, 7u, 997u}) {
      constexpr u32 BLOCKS = 1000;
      std::vector<u32> blocks;
      for (u32 i = 0; i < BLOCKS; i++) {
        u32 block = test.allocate(size);
        memset(test.memory.base + block, (int)(i % 251), size);
        blocks.push_back(block);
      }
      CHECK(test.live() == BLOCKS, "%llu blocks of %u", test.live(), BLOCKS);
      for (u32 i = 0, at = 0; i < BLOCKS; i++, at = (at + step) % BLOCKS) {
        for (u32 k = 0; k < size; k++) CHECK(test.memory.base[blocks[at] + k] == at % 251, "size %u, block %u", size, at);
        test.free_block(blocks[at], size);
      }
      // What it keeps for this class and the others.
      CHECK(test.lane_slabs() <= 1 + heap::ASIDE, "%u slabs without blocks", test.lane_slabs());
    }
    test.give_back();
  }
  CHECK(test.live() == 0 && test.lane_slabs() == 0, "all came back");
  printf("many: ok\n");
}

// Blocks that other lanes free come back to their owner.
static void others() {
  TestMemory test(PAGE, 16 << 20, false, false, 3);
  ask_all(test);
  for (u32 size : {64u, 800u}) {
    own_lane() = 0;
    std::vector<u32> blocks;
    for (u32 i = 0; i < 40; i++) blocks.push_back(test.allocate(size));
    for (u32 i = 0; i < 40; i++) {
      own_lane() = 1 + i % 2;
      test.free_block(blocks[i], size);
      CHECK(test.release(blocks[i], size) == heap::FREED, "twice by the same");
      own_lane() = 2 - i % 2;
      CHECK(test.release(blocks[i], size) == heap::FREED, "twice by another");
      own_lane() = 0;
      CHECK(test.release(blocks[i], size) == heap::FREED, "twice by the owner");
    }
    CHECK(test.live() == 0, "all are free");
    u32 slabs = test.lane_slabs();
    for (u32 i = 0; i < 40; i++) blocks[i] = test.allocate(size);
    CHECK(test.lane_slabs() == slabs, "size %u: %u slabs, %u before", size, test.lane_slabs(), slabs);
    for (u32 block : blocks) test.free_block(block, size);
    test.give_back();
    CHECK(test.live() == 0 && test.lane_slabs() == 0, "all came back");
  }
  printf("others: ok\n");
}

// Mistakes of programs are found, and leave the heap whole.
static void mistakes() {
  TestMemory test(PAGE, 4 << 20, false, false, 2);
  ask_all(test);
  for (u32 lane : {0u, 1u}) {
    own_lane() = 0;
    u32 block = test.allocate(100), large = test.allocate(700), bytes = 0, moved, copied;
    own_lane() = lane;
    CHECK(heap::measure(test.memory.heap, block, bytes) == heap::DONE && bytes == 112, "%u bytes", bytes);
    CHECK(test.release(block + 16, 8) == heap::FOREIGN, "inside of a block");
    CHECK(test.release(block / LANE_SLAB * LANE_SLAB + 9 * 112, 8) == heap::FOREIGN, "after the last");
    CHECK(test.release(large / 2048 * 2048 + 3 * 768, 8) == heap::FOREIGN, "after the last large one");
    CHECK(test.release(block, 113) == heap::WRONG_SIZE, "more bytes than it has");
    CHECK(test.release(0, 16) == heap::FOREIGN, "null");
    CHECK(test.release(~0u, 16) == heap::FOREIGN, "no memory");
    test.free_block(block, 100);
    CHECK(test.release(block, 100) == heap::FREED, "twice");
    CHECK(test.release(block, heap::ANY_SIZE) == heap::FREED, "twice, of any size");
    CHECK(heap::measure(test.memory.heap, block, bytes) == heap::FREED, "it is free");
    CHECK(heap::reallocate(test.launch, test.memory, block, 100, 8, 110, moved, copied) == heap::FREED, "it is free");
    test.free_block(large, 700);
    own_lane() = 0;
    CHECK(heap::reallocate(test.launch, test.memory, test.allocate(100), 100, 8, 110, moved, copied) == heap::DONE, "it");
    CHECK(copied == 0, "it has room where it is");
    test.free_block(moved, 110);
  }
  test.give_back();
  CHECK(test.live() == 0, "%llu blocks are left", test.live());
  printf("mistakes: ok\n");
}

// A block with another size stays where it is or becomes another one of the lane's, with its bytes, for all pairs of
// sizes; what needs more than the lane's own slabs is refused, and changes nothing.
static void resizes() {
  TestMemory test(PAGE, 16 << 20, false, false, 2);
  ask_all(test);
  own_lane() = 0;
  const heap::Lane lane = heap::this_lane(test.memory.heap);
  auto resize = [&](u32 old, u32 old_size, u32 size) {
    return heap::resize_own(lane, test.memory.base, old, old_size, 16, size);
  };
  constexpr u32 SIZES[] = {1, 15, 16, 17, 40, 64, 100, 112, 113, 500, 512, 513, 900, 1024};
  for (u32 from : SIZES) {
    for (u32 to : SIZES) {
      for (u32 said : {from, heap::ANY_SIZE}) {
        // One more of each, so that both slabs are there, and neither is without blocks.
        u32 others[] = {test.allocate(from), test.allocate(to)};
        u32 old = test.allocate(from), live = (u32)test.live();
        for (u32 i = 0; i < from; i++) test.memory.base[old + i] = (u8)(i * 7 + 3);
        u32 moved = resize(old, said, to);
        if (moved == 0) {
          // The slab was full, or is to leave its list.
          u32 copied;
          CHECK(heap::reallocate(test.launch, test.memory, old, said, 16, to, moved, copied) == heap::DONE, "slowly");
        }
        CHECK(test.live() == live, "%u blocks, %u before", (u32)test.live(), live);
        CHECK((moved == old) == (heap::class_of(from) == heap::class_of(to)), "%u to %u", from, to);
        for (u32 i = 0; i < from && i < to; i++) CHECK(test.memory.base[moved + i] == (u8)(i * 7 + 3), "byte %u", i);
        if (moved != old) CHECK(test.release(old, from) == heap::FREED, "the old one is free");
        CHECK(resize(moved, 2000, to) == 0, "more bytes than it has");
        CHECK(resize(moved, to, 1025) == 0, "no size of lanes' slabs");
        test.free_block(moved, to);
        CHECK(resize(moved, to, from) == 0, "it is free");
        test.free_block(others[0], from);
        test.free_block(others[1], to);
      }
    }
  }
  u32 block = test.allocate(100);
  own_lane() = 1;
  CHECK(heap::resize_own(heap::this_lane(test.memory.heap), test.memory.base, block, 100, 16, 110) == 0, "not its own");
  own_lane() = 0;
  test.free_block(block, 100);
  test.give_back();
  CHECK(test.live() == 0, "all came back");
  printf("resizes: ok\n");
}

// Before a lane is told that there is no memory, slabs without blocks are given up. These are its own, and those of
// lanes that run nothing any more. The other lanes give up theirs when they next want something.
static void exhaustion() {
  constexpr u32 LANES = 4;
  TestMemory test(PAGE, 4 << 20, false, false, LANES);
  ask_all(test);
  Thread threads[LANES] = {};
  test.launch.threads = threads;
  test.launch.thread_count = test.launch.lanes = LANES;
  auto fill = [&](u32 size) {
    std::vector<u32> blocks;
    while (u32 block = test.allocate(size)) blocks.push_back(block);
    return blocks;
  };
  own_lane() = 0;
  std::vector<u32> all = fill(3000);
  for (u32 block : all) test.free_block(block, 3000);
  // Each lane has some slabs without blocks.
  for (own_lane() = 0; own_lane() < LANES; own_lane()++) {
    std::vector<u32> blocks;
    for (u32 size = 16; size <= 1024; size += 16) blocks.push_back(test.allocate(size));
    for (u32 size = 16; size <= 1024; size += 16) test.free_block(blocks[size / 16 - 1], size);
  }
  CHECK(test.live() == 0 && test.lane_slabs() >= LANES * LANE_CLASSES, "%u slabs", test.lane_slabs());
  own_lane() = 0;
  threads[1].state = threads[2].state = THREAD_Ended;
  std::vector<u32> most = fill(3000);
  CHECK(test.lane_slabs() <= LANE_CLASSES + heap::ASIDE, "%u slabs are hidden: more than one lane's", test.lane_slabs());
  CHECK(most.size() + 64 >= all.size(), "%zu blocks, %zu at first", most.size(), all.size());
  for (u32 block : most) test.free_block(block, 3000);
  own_lane() = 3;
  test.free_block(test.allocate(2000), 2000);
  // Its slabs are given up with the first request that they do not meet.
  std::vector<u32> blocks;
  for (u32 i = 0; i < 100; i++) blocks.push_back(test.allocate(64));
  for (u32 block : blocks) test.free_block(block, 64);
  CHECK(test.lane_slabs() <= 2, "%u slabs are kept though memory was short", test.lane_slabs());
  own_lane() = 0;
  std::vector<u32> again = fill(3000);
  CHECK(again.size() + 64 >= all.size(), "%zu blocks, %zu at first", again.size(), all.size());
  for (u32 block : again) test.free_block(block, 3000);
  // Small blocks fill all of the memory too: what lanes may not have, all share.
  u64 bytes = 0;
  for (u32 block : fill(256)) bytes += block != 0 ? 256 : 0;
  CHECK(bytes > (4 << 20) / 100 * 90, "%llu bytes of 4 MiB", bytes);
  printf("exhaustion: ok\n");
}

// Every block is counted, once.
static void statistics() {
  TestMemory test(PAGE, 4 << 20, false, false, 1);
  own_lane() = 0;
  u64 made[HEAP_CLASSES] = {};
  auto counted = [&](u32 c) {
    u64 sum = c < LANE_CLASSES ? heap::count_in(test.memory.heap.lane_lists[c]) : 0;
    for (u32 i = 0; i < HEAP_STRIPES; i++) sum += test.memory.heap.allocated[i][c];
    return sum;
  };
  for (u32 i = 0; i < 20000; i++) {
    u32 size = (i / 10 % 3 ? i / 100 * 37 : i * 5) % 1500 + 1, block = test.allocate(size);
    made[heap::class_of(size)]++;
    test.free_block(block, size);
  }
  for (u32 c = 0; c < HEAP_CLASSES; c++) {
    CHECK(counted(c) == made[c], "class %u: %llu blocks, %llu are counted", c, made[c], counted(c));
  }
  // Very many are added to the others in time.
  u64 &list = test.memory.heap.lane_lists[3], before = heap::count_in(list);
  list = join(heap::first_in(list), heap::MANY_BLOCKS - 1);
  for (u32 i = 0; i < 3; i++) test.free_block(test.allocate(64), 64);
  CHECK(heap::count_in(list) == 2, "it counts anew: %u", heap::count_in(list));
  CHECK(counted(3) == made[3] - before + heap::MANY_BLOCKS + 2, "%llu are counted", counted(3));
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
  CHECK(heap::class_size(LANE_CLASSES - 1) == LANE_MOST, "the last class");
  CHECK(heap::class_size(heap::LANE_TWO - 1) * 2 <= LANE_SLAB, "a slab has at least two blocks");
  printf("indices: ok\n");
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  indices();
  hits();
  many();
  others();
  mistakes();
  resizes();
  exhaustion();
  statistics();
  return 0;
}
