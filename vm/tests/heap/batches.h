// Part of stress.cpp: many blocks at once, by many threads, among threads that take them one by one.
#pragma once

#include "heap/batch.h"
#include "memory.h"

// Allocates or frees all of a batch, as the instruction does; returns how many were allocated.
static u32 take_all(TestMemory &test, heap::Batch batch, u32 size, u32 align) {
  u32 done = 0, more = 1;
  while (done < batch.count && more) {
    heap::Outcome outcome = heap::take(test.launch, test.memory, batch, size, align, done, more);
    if (outcome == heap::RETRY) {
      std::this_thread::yield();
      more = 1;
      continue;
    }
    CHECK(outcome == heap::DONE, "outcome %u of a batch of %u bytes", outcome, size);
    done += more;
  }
  return done;
}
static void give_all(TestMemory &test, heap::Batch batch, u32 size, u32 align) {
  for (u32 done = 0, freed, address; done < batch.count; done += freed) {
    heap::Outcome outcome = heap::give(test.memory, batch, size, align, done, freed, address);
    CHECK(outcome == heap::DONE && freed, "outcome %u of freeing %u bytes at %u", outcome, size, address);
  }
}

static void batches(u32 threads, u32 operations, bool checked, bool wide) {
  TestMemory test(3 * PAGE, 256 << 20, checked, wide);
  constexpr u32 MOST = 200;
  std::vector<std::thread> workers;
  for (u32 id = 0; id < threads; id++) {
    workers.emplace_back([&, id] {
      Random random{id * 0x9e3779b97f4a7c15ull + 3};
      u32 array = test.allocate(4 * MOST, 4);
      for (u32 i = 0; i < operations / 64 + 1; i++) {
        u32 size = random_size(random) % 70000 + 1, align = 1u << random.below(8), count = random.below(MOST + 1);
        if (size > 4000) count /= 50;
        u32 made = take_all(test, {array, count}, size, align);
        CHECK(made == count, "%u of %u blocks of %u bytes", made, count, size);
        std::vector<Owned> blocks;
        for (u32 b = 0; b < count; b++) {
          u32 address = linear::load<u32>(test.memory.base, array + 4 * b);
          CHECK(address && address % align == 0, "%u is not aligned to %u", address, align);
          blocks.push_back({address, size, (u8)random.next()});
          fill(test, blocks.back());
        }
        // Any order, and some alone.
        for (u32 b = 0; b < count; b++) std::swap(blocks[b], blocks[random.below(2) ? random.below(count) : b]);
        u32 alone = random.below(2) ? random.below(count + 1) : 0;
        for (u32 b = 0; b < count; b++) {
          verify(test, blocks[b]);
          if (b < alone) test.free_block(blocks[b].address, size, align);
          else linear::store<u32>(test.memory.base, array + 4 * b, blocks[b].address);
        }
        give_all(test, {array + 4 * alone, count - alone}, size, align);
      }
      test.free_block(array, 4 * MOST, 4);
    });
  }
  for (std::thread &worker : workers) worker.join();
  CHECK(test.live() == 0, "%llu blocks are left", test.live());
  CHECK(test.memory.heap.live_bytes == 0, "%llu bytes are left", test.memory.heap.live_bytes);
  printf("batches%s%s: ok\n", checked ? " with checks" : "", wide ? " with many slots" : "");
}

// All of a memory, and mistakes in the middle.
static void batch_edges() {
  constexpr u32 COUNT = 20000;
  TestMemory test(PAGE, 16 << 20);
  u32 array = test.allocate(4 * COUNT), freed, address;
  for (u32 size : {1000u, 30000u, 100000u}) {
    u32 made = take_all(test, {array, COUNT}, size, 16);
    CHECK((u64)made * size > (8 << 20) && (u64)made * size < (16 << 20), "%u blocks of %u", made, size);
    give_all(test, {array, made}, size, 16);
  }
  // All pages come back, wherever the blocks lay.
  u32 region = test.allocate(8 << 20);
  CHECK(region, "not all pages came back");
  test.free_block(region, 8 << 20);
  CHECK(take_all(test, {array, 100}, 40, 8) == 100, "no memory");
  u32 third = linear::load<u32>(test.memory.base, array + 8);
  test.free_block(third, 40);
  heap::Outcome outcome = heap::give(test.memory, {array, 100}, 40, 1, 0, freed, address);
  CHECK(outcome == heap::FREED && address == third, "outcome %u at %u", outcome, address);
  outcome = heap::give(test.memory, {array, 100}, 4000, 1, 0, freed, address);
  CHECK(outcome == heap::WRONG_SIZE, "outcome %u", outcome);
  printf("batch edges: ok\n");
}
