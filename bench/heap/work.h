// What each thread of the benchmark does, on a GPU (kernels.cpp) and on the host (host.cpp).
#pragma once

#include "../../vm/kernel/heap/heap.h"

namespace bench {

using namespace gpu_run;

// As compiled code does it: a request that must be repeated waits a little.
GPU_RUN_INLINE u32 allocate(Memory &memory, u32 size, u32 &retries) {
  u32 address, idle = 0;
  while (heap::allocate(memory, size, 16, address) == heap::RETRY) {
    retries++;
    relax(++idle);
  }
  return address;
}

// Thread `id` takes a block and writes its number into it.
GPU_RUN_INLINE void take(Memory &memory, u32 size, u32 *blocks, u32 *retries, u32 id) {
  u32 again = 0, block = allocate(memory, size, again);
  blocks[id] = block;
  if (again) count_device(retries, again);
}

GPU_RUN_INLINE void mark(Memory &memory, const u32 *blocks, u32 id) {
  if (blocks[id]) linear::store<u32>(memory.base, blocks[id], id);
}

// Counts blocks that there are not, and blocks that another thread got too.
GPU_RUN_INLINE void verify(Memory &memory, const u32 *blocks, u32 *wrong, u32 id) {
  if (blocks[id] == 0 || linear::load<u32>(memory.base, blocks[id]) != id) count_device(wrong, 1u);
}

GPU_RUN_INLINE void give(Memory &memory, u32 size, const u32 *blocks, u32 *wrong, u32 id) {
  if (blocks[id] && heap::release(memory, blocks[id], size) != heap::DONE) count_device(wrong, 1u);
}

}  // namespace bench
