// What each thread of the benchmark does, on a GPU (kernels.cpp) and on the host (host.cpp).
#pragma once

#include "heap/heap.h"

namespace bench {

using namespace gpu_run;

// No thread of a launch: no lane is over.
inline const Launch NO_THREADS{};

// As compiled code does it: a request that must be repeated waits a little.
GPU_RUN_INLINE u32 allocate(Memory &memory, u32 size, u32 &retries) {
  u32 address, idle = 0;
  while (heap::allocate(NO_THREADS, memory, size, 16, address) == heap::RETRY) {
    retries++;
    backoff(++idle);
  }
  return address;
}

// Thread `id` takes a block and writes its number into it.
GPU_RUN_INLINE void take(Memory &memory, u32 size, u32 *blocks, u32 *retries, u32 id) {
  u32 again = 0, block = allocate(memory, size, again);
  blocks[id] = block;
  if (again) red_add_device(retries, again);
}

GPU_RUN_INLINE void mark(Memory &memory, const u32 *blocks, u32 id) {
  if (blocks[id]) linear::store<u32>(memory.base, blocks[id], id);
}

// Counts blocks that there are not, and blocks that another thread got too.
GPU_RUN_INLINE void verify(Memory &memory, const u32 *blocks, u32 *wrong, u32 id) {
  if (blocks[id] == 0 || linear::load<u32>(memory.base, blocks[id]) != id) red_add_device(wrong, 1u);
}

GPU_RUN_INLINE void give(Memory &memory, u32 size, const u32 *blocks, u32 *wrong, u32 id) {
  if (blocks[id] && heap::release(memory, blocks[id], size, 1) != heap::DONE) red_add_device(wrong, 1u);
}

// Sizes of the churn: mostly small, now and then up to 64 KiB.
GPU_RUN_INLINE u32 random_size(u32 &state) {
  auto next = [&] {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state >> 4;
  };
  u32 kind = next() % 1000;
  return 1 + next() % (kind < 970 ? 1024 : kind < 995 ? 8192 : 65536);
}

// Replaces a thread's block `rounds` times by one of another size. The last one stays, and its size.
GPU_RUN_INLINE void churn(Memory &memory, u32 *blocks, u32 *sizes, u32 *retries, u32 *wrong, u32 rounds, u32 id) {
  u32 state = id * 0x9e3779b9u + 1, block = 0, size = 0, again = 0;
  for (u32 i = 0; i <= rounds; i++) {
    if (block) {
      u32 last = block + size - 1;
      bool own = linear::load<u8>(memory.base, block) == (u8)id && linear::load<u8>(memory.base, last) == (u8)id;
      if (!own || heap::release(memory, block, size, 1) != heap::DONE) red_add_device(wrong, 1u);
    }
    size = random_size(state);
    block = allocate(memory, size, again);
    if (!block) {
      red_add_device(wrong, 1u);
      break;
    }
    linear::store<u8>(memory.base, block, (u8)id);
    linear::store<u8>(memory.base, block + size - 1, (u8)id);
  }
  blocks[id] = block;
  sizes[id] = size;
  if (again) red_add_device(retries, again);
}

GPU_RUN_INLINE void settle(Memory &memory, const u32 *blocks, const u32 *sizes, u32 *wrong, u32 id) {
  if (blocks[id] && heap::release(memory, blocks[id], sizes[id], 1) != heap::DONE) red_add_device(wrong, 1u);
}

}  // namespace bench
