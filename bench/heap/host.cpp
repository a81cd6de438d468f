// The benchmark's work on OS threads: shows that it is right where there is no GPU. Its times say nothing.
//
//   host [THREADS]   threads of the benchmark, which a few OS threads run in turn

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "work.h"

using namespace gpu_run;

int main(int argc, char **argv) {
  const u32 most = argc > 1 ? (u32)atoi(argv[1]) : 100000, workers = 4;
  const u64 limit = 512ull << 20;
  const u32 pages = (u32)(limit / PAGE), words = (pages + 63) / 64;
  Memory memory{};
  memory.base = (u8 *)calloc(1, limit);
  memory.size = PAGE;
  memory.limit = limit;
  memory.heap.pages = (HeapPage *)calloc(pages, sizeof(HeapPage));
  memory.heap.sets = (u64 *)calloc((words + (words + 63) / 64) * (1 + HEAP_CLASSES), 8);
  memory.heap.slots = (u64 *)calloc(HEAP_CLASSES * HEAP_GROUPS, 8);
  memory.heap.page_limit = pages;
  memory.heap.lane_records = pages * (PAGE / LANE_SLAB);
  memory.heap.lane_slabs = (LaneSlab *)aligned_alloc(64, memory.heap.lane_records * sizeof(LaneSlab));
  memset(memory.heap.lane_slabs, 0, memory.heap.lane_records * sizeof(LaneSlab));
  memory.heap.lane_lists = (u64 *)calloc((LANE_CLASSES + 1) * workers, 8);
  memory.heap.lane_inboxes = (u32 *)calloc(workers, 4);
  memory.heap.lanes = workers;
  for (u32 size = 16; size <= 65536; size *= 2) {
    const u32 count = (u32)lesser(most, limit * 3 / 4 / size);
    std::vector<u32> blocks(count);
    u32 wrong = 0, retries = 0;
    auto all = [&](auto work) {
      std::vector<std::thread> threads;
      for (u32 first = 0; first < workers; first++) {
        threads.emplace_back([=, &memory, &blocks, &wrong, &retries] {
          own_lane() = first;
          for (u32 id = first; id < count; id += workers) work(id);
        });
      }
      for (std::thread &thread : threads) thread.join();
    };
    for (u32 round = 0; round < 3; round++) {
      all([&](u32 id) { bench::take(memory, size, blocks.data(), &retries, id); });
      all([&](u32 id) { bench::mark(memory, blocks.data(), id); });
      all([&](u32 id) { bench::verify(memory, blocks.data(), &wrong, id); });
      all([&](u32 id) { bench::give(memory, size, blocks.data(), &wrong, id); });
    }
    printf("%6u bytes: %u threads, %u wrong\n", size, count, wrong);
    if (wrong) return 1;
  }
  return 0;
}
