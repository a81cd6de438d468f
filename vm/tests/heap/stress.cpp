// The heap on many OS threads, built from the kernel's own source. Each part ends the process with a message
// if something is wrong; ../heap.rs builds and runs it, with sanitizers too.
//
//   stress THREADS OPERATIONS   (operations of each thread)

#include "memory.h"

struct Random {
  u64 state;
  u32 next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (u32)(state >> 16);
  }
  u32 below(u32 n) { return next() % n; }
};

// Mostly small, now and then a region.
static u32 random_size(Random &random) {
  u32 kind = random.below(1000);
  if (kind < 970) return 1 + random.below(1024);
  if (kind < 995) return 1 + random.below(8192);
  if (kind < 999) return 1 + random.below(65536);
  return 1 + random.below(400000);
}

struct Owned {
  u32 address, size;
  u8 mark;
  u32 align = 1;
};

// Every byte of a block holds its mark. Plain accesses: ThreadSanitizer sees a block that has two owners.
static void fill(TestMemory &test, const Owned &block) { memset(test.memory.base + block.address, block.mark, block.size); }
static void verify(TestMemory &test, const Owned &block) {
  const u8 *at = test.memory.base + block.address;
  for (u32 i = 0; i < block.size; i++) {
    CHECK(at[i] == block.mark, "byte %u of %u at %u is %u, not %u", i, block.size, block.address, at[i], block.mark);
  }
}

#include "batches.h"

// Random sizes and lifetimes; half of the blocks are freed by another thread than the one that made them. Half of the
// threads have slabs of their own, unless the heap is checked.
static void churn(u32 threads, u32 operations, bool checked, bool wide) {
  TestMemory test(3 * PAGE, 256 << 20, checked, wide, checked ? 0 : threads / 2);
  constexpr u32 SHELF = 1024;
  static Owned *shelf[SHELF];
  std::vector<std::thread> workers;
  for (u32 id = 0; id < threads; id++) {
    workers.emplace_back([&, id] {
      own_lane() = id;
      Random random{id * 0x9e3779b97f4a7c15ull + 1};
      std::vector<Owned> mine;
      auto drop = [&](const Owned &block) {
        verify(test, block);
        test.free_block(block.address, block.size, block.align);
      };
      for (u32 i = 0; i < operations; i++) {
        if (mine.size() < 64 || random.below(2)) {
          const u32 align = 1u << random.below(random.below(20) ? 5 : 13);
          Owned block{0, random_size(random), (u8)random.next(), align};
          block.address = test.allocate(block.size, align);
          CHECK(block.address, "out of memory");
          fill(test, block);
          if (random.below(2)) {
            mine.push_back(block);
          } else {
            // Acquire/release: the block's bytes go along.
            Owned *other = __atomic_exchange_n(&shelf[random.below(SHELF)], new Owned(block), __ATOMIC_ACQ_REL);
            if (other) drop(*other);
            delete other;
          }
        } else {
          u32 which = random.below((u32)mine.size());
          drop(mine[which]);
          mine[which] = mine.back();
          mine.pop_back();
        }
      }
      for (const Owned &block : mine) drop(block);
    });
  }
  for (std::thread &worker : workers) worker.join();
  for (Owned *&block : shelf) {
    if (!block) continue;
    verify(test, *block);
    test.free_block(block->address, block->size, block->align);
    delete block;
    block = nullptr;
  }
  test.give_back();
  CHECK(test.live() == 0, "%llu blocks are left", test.live());
  CHECK(test.memory.heap.live_bytes == 0, "%llu bytes are left", test.memory.heap.live_bytes);
  printf("churn%s%s: %u threads, %llu operations, %u MiB at most\n", checked ? " with checks" : "",
         wide ? " with many slots" : "", threads, (u64)threads * operations, test.memory.heap.used_peak / 16);
}

// Many live blocks that are replaced at random: how much of the pages they do not fill.
static void fragmentation() {
  TestMemory test(PAGE, 512 << 20);
  Random random{7};
  std::vector<Owned> blocks(200000);
  u64 asked = 0, bytes_of[HEAP_CLASSES] = {}, asked_of[HEAP_CLASSES] = {};
  auto make = [&](Owned &block) {
    block.size = random_size(random);
    block.address = test.allocate(block.size, 8);
    CHECK(block.address, "out of memory");
    asked += block.size;
    if (block.size > HEAP_LARGEST) return;
    u32 c = heap::class_of(block.size, 8);
    bytes_of[c] += heap::class_size(c);
    asked_of[c] += block.size;
  };
  for (Owned &block : blocks) make(block);
  for (u32 i = 0; i < 1000000; i++) {
    Owned &block = blocks[random.below((u32)blocks.size())];
    test.free_block(block.address, block.size);
    asked -= block.size;
    make(block);
  }
  u64 blocks_bytes = 0;
  for (const Owned &block : blocks) {
    blocks_bytes += block.size > HEAP_LARGEST ? heap::pages_for(block.size) * (u64)PAGE
                                               : heap::class_size(heap::class_of(block.size, 8));
  }
  double pages = (double)test.memory.heap.used * PAGE;
  double external = 1 - blocks_bytes / pages, internal = 1 - asked / (double)blocks_bytes;
  printf("fragmentation: %.1f MiB asked for, %.1f MiB of blocks, %.1f MiB of pages\n", asked / 1048576.,
         blocks_bytes / 1048576., pages / 1048576.);
  printf("fragmentation: external %.1f %%, internal %.1f %%\n", external * 100, internal * 100);
  printf("internal waste by class:");
  for (u32 c = 0; c < HEAP_CLASSES; c++) {
    if (bytes_of[c]) printf(" %u: %.0f %%", heap::class_size(c), 100 - asked_of[c] * 100. / bytes_of[c]);
  }
  printf("\n");
  CHECK(external < 0.05, "too much of the pages is in no block");
  CHECK(internal < 0.15, "blocks are too large");
  for (const Owned &block : blocks) test.free_block(block.address, block.size);
}

// Memory is reported to be exhausted only when it is, and what is freed can be used for any size.
static void exhaustion() {
  constexpr u32 LIMIT = 16 << 20;
  TestMemory test(PAGE, LIMIT);
  auto fill_up = [&](u32 size, std::vector<u32> &blocks) {
    while (u32 address = test.allocate(size, 16)) blocks.push_back(address);
  };
  for (u32 size : {16u, 64u, 80u, 1000u, 5000u, 40000u, 65536u, 100000u, 3000000u}) {
    std::vector<u32> blocks;
    fill_up(size, blocks);
    u64 bytes = (u64)blocks.size() * size;
    CHECK(bytes > LIMIT * 0.7, "only %llu of %u bytes could be had as blocks of %u", bytes, LIMIT, size);
    // One block less, one block more; a smaller one fits as well.
    u32 &block = blocks[blocks.size() / 2];
    test.free_block(block, size);
    u32 small = test.allocate(1);
    CHECK(small, "a byte must fit where %u were", size);
    test.free_block(small, 1);
    block = test.allocate(size, 16);
    CHECK(block, "a block of %u was freed, but cannot be had", size);
    for (u32 address : blocks) test.free_block(address, size);
  }
  // Nothing may be left in slots: all of it in one piece.
  u32 all = test.allocate(LIMIT - 2 * PAGE);
  CHECK(all, "not all pages came back: %u of %u are free", test.free_pages(), test.memory.heap.held);
  test.free_block(all, LIMIT - 2 * PAGE);
  CHECK(test.live() == 0, "%llu blocks are left", test.live());
  printf("exhaustion: ok\n");
}

// Threads that fill the memory at the same time get all of it, whichever of them freed it before.
static void contention(u32 threads, bool wide) {
  constexpr u32 LIMIT = 8 << 20;
  TestMemory test(PAGE, LIMIT, false, wide);
  for (u32 size : {64u, 3000u, 30000u}) {
    std::vector<std::vector<u32>> got(threads);
    std::vector<std::thread> workers;
    for (u32 id = 0; id < threads; id++) {
      workers.emplace_back([&, id] {
        while (u32 address = test.allocate(size, 16)) {
          test.memory.base[address] = (u8)id;
          got[id].push_back(address);
        }
      });
    }
    for (std::thread &worker : workers) worker.join();
    u64 count = 0;
    for (u32 id = 0; id < threads; id++) {
      count += got[id].size();
      for (u32 address : got[id]) CHECK(test.memory.base[address] == (u8)id, "a block has two owners");
    }
    CHECK(count * size > LIMIT * 0.8, "only %llu blocks of %u", count, size);
    workers.clear();
    for (u32 id = 0; id < threads; id++) {
      workers.emplace_back([&, id] {
        for (u32 address : got[(id + 1) % threads]) test.free_block(address, size);
      });
    }
    for (std::thread &worker : workers) worker.join();
    CHECK(test.live() == 0, "%llu blocks are left", test.live());
  }
  // Slabs without blocks that wait in slots are found too.
  u32 all = test.allocate(LIMIT - 2 * PAGE);
  CHECK(all, "not all pages came back: %u of %u are free", test.free_pages(), test.memory.heap.held);
  test.free_block(all, LIMIT - 2 * PAGE);
  printf("contention%s: %u threads filled the memory\n", wide ? " with many slots" : "", threads);
}

// What is known of blocks of 100 and 200,000 bytes without their sizes. Returns another block for the first.
static u32 unknown_sizes(TestMemory &test, u32 block, u32 region) {
  Launch launch{};
  u32 bytes = 0, moved = 0, copied = 0;
  CHECK(heap::measure(test.memory.heap, block, bytes) == heap::DONE && bytes == 112, "%u for 100", bytes);
  CHECK(heap::measure(test.memory.heap, region, bytes) == heap::DONE && bytes == 4 * PAGE, "%u for 200000", bytes);
  CHECK(heap::measure(test.memory.heap, block + 16, bytes) == heap::FOREIGN, "inside of a block");
  test.memory.base[block + 99] = 7;
  CHECK(heap::reallocate(launch, test.memory, block, heap::ANY_SIZE, 16, 110, moved, copied) == heap::DONE, "fits");
  CHECK(moved == block && copied == 0, "it stays");
  CHECK(heap::reallocate(launch, test.memory, block, heap::ANY_SIZE, 16, 1000, moved, copied) == heap::DONE, "moves");
  CHECK(moved != block && copied == 112 && test.memory.base[moved + 99] == 7, "all that it may hold");
  CHECK(heap::measure(test.memory.heap, block, bytes) == heap::FREED, "it is gone");
  test.free_block(moved, heap::ANY_SIZE);
  return test.allocate(100);
}

// What a guest may do wrong.
static void mistakes() {
  TestMemory test(2 * PAGE, 4 << 20);
  u32 keep = test.allocate(100), block = test.allocate(100), region = test.allocate(200000);
  CHECK(test.release(block + 16, 8) == heap::FOREIGN, "inside of a block");
  CHECK(test.release(region + PAGE, 8) == heap::FOREIGN, "inside of a region");
  CHECK(test.release(0, 0) == heap::FOREIGN, "null");
  CHECK(test.release(1024, 0) == heap::FOREIGN, "the guest's own");
  CHECK(test.release(0xfffffff0, 0) == heap::FOREIGN, "outside of the memory");
  CHECK(test.release(block, 1000) == heap::WRONG_SIZE, "more bytes than it has");
  CHECK(test.release(region, 300000) == heap::WRONG_SIZE, "more bytes than it has");
  block = unknown_sizes(test, block, region);
  test.free_block(block, heap::ANY_SIZE);
  CHECK(test.release(block, 100) == heap::FREED, "twice");
  test.free_block(region, 200000);
  CHECK(test.release(region, 200000) == heap::FOREIGN, "twice");
  test.free_block(keep, 100);
  // A page of the guest's between the heap's.
  CHECK(memory_grow(test.memory, 1) != ~0ull, "grow");
  u32 large = test.allocate(2 << 20);
  CHECK(large, "out of memory");
  test.free_block(large, 2 << 20);
  printf("mistakes: ok\n");
}

// What a checked heap finds besides.
static void checks() {
  TestMemory test(2 * PAGE, 8 << 20, true);
  u8 *base = test.memory.base;
  for (u32 size : {0u, 1u, 40u, 64u, 5000u, 65536u, 200000u}) {
    u32 block = test.allocate(size);
    CHECK(test.release(block, size + 1) == heap::WRONG_SIZE, "one byte more than %u", size);
    u32 bytes = 0;
    CHECK(heap::measure(test.memory.heap, block, bytes) == heap::DONE && bytes == size, "%u for %u", bytes, size);
    u8 guard = base[block + size];
    base[block + size] = 1;
    CHECK(test.release(block, size) == heap::OVERRUN, "the byte behind %u was written", size);
    CHECK(test.release(block, heap::ANY_SIZE) == heap::OVERRUN, "the byte behind %u was written", size);
    base[block + size] = guard;
    CHECK(test.release(block, size, 64) == heap::WRONG_ALIGN, "%u aligned to 1, not to 64", size);
    base[block - 1] ^= 1;
    CHECK(test.release(block, size) == heap::UNDERRUN, "the byte before %u was written", size);
    base[block - 1] ^= 1;
    test.free_block(block, size % 2 ? size : heap::ANY_SIZE);
    CHECK(test.release(block, size) == heap::FREED, "%u twice", size);
    if (size == 0) continue;
    base[block + size / 2 % 1000] ^= 1;
    // It is handed out again at some time, and is lost then.
    std::vector<u32> others;
    u32 again;
    heap::Outcome outcome;
    while ((outcome = heap::allocate(test.launch, test.memory, size, 1, again)) == heap::DONE && again) others.push_back(again);
    CHECK(outcome == heap::LATE_WRITE && again == block, "%u written after free, %zu later", size, others.size());
    for (u32 other : others) test.free_block(other, size);
  }
  printf("checks: ok\n");
}

// Every class can hold what it is for.
static void classes() {
  u32 worst = 0;
  double sum = 0;
  for (u32 size = 1; size <= HEAP_LARGEST; size++) {
    u32 c = heap::class_of(size);
    CHECK(c < HEAP_CLASSES && heap::class_size(c) >= size, "class %u for %u", c, size);
    CHECK(c == 0 || heap::class_size(c - 1) < size, "class %u for %u", c, size);
    u32 waste = (heap::class_size(c) - size) * 100 / heap::class_size(c);
    if (size > 64 && waste > worst) worst = waste;
    sum += 1 - (double)size / heap::class_size(c);
    for (u32 align = 1; align <= HEAP_LARGEST; align *= 2) {
      u32 aligned = heap::class_of(size, align);
      CHECK(aligned < HEAP_CLASSES && heap::class_size(aligned) % align == 0 && heap::class_size(aligned) >= size,
            "class %u for %u aligned to %u", aligned, size, align);
    }
  }
  for (u32 c = 0; c < HEAP_CLASSES; c++) {
    u32 size = heap::class_size(c), few = heap::small_slab(c) * PAGE / size;
    u32 many = heap::large_slab(c, 65536) * PAGE / size;
    CHECK(few >= 1 && few <= HEAP_WORDS * 64, "%u blocks of %u", few, size);
    CHECK(many >= 24 && many <= HEAP_WORDS * 64, "%u blocks of %u", many, size);
    CHECK(heap::large_slab(c, 1) == heap::small_slab(c), "large slabs of %u too soon", size);
  }
  printf("classes: average waste %.1f %% over all sizes, at most %u %% from 65 bytes on\n",
         sum / HEAP_LARGEST * 100, worst);
}

int main(int count, char **args) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  u32 threads = count > 1 ? (u32)atoi(args[1]) : 16, operations = count > 2 ? (u32)atoi(args[2]) : 20000;
  classes();
  mistakes();
  exhaustion();
  fragmentation();
  contention(threads, false);
  contention(threads, true);
  churn(threads, operations, false, false);
  churn(threads, operations, false, true);
  checks();
  churn(threads, operations / 2, true, false);
  batch_edges();
  batches(threads, operations, false, false);
  batches(threads, operations, false, true);
  batches(threads, operations / 4, true, false);
  return 0;
}
