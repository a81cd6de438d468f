// The benchmark's kernels. build.sh compiles them to target/heap.ptx, as the kernel itself is compiled.

#include "work.h"

using namespace gpu_run;

extern "C" {

[[clang::device_kernel]] void heap_take(Memory *memory, u32 size, u32 *blocks, u32 *retries, u32 count) {
  u32 id = global_lane();
  if (id < count) bench::take(*memory, size, blocks, retries, id);
}

[[clang::device_kernel]] void heap_mark(Memory *memory, const u32 *blocks, u32 count) {
  u32 id = global_lane();
  if (id < count) bench::mark(*memory, blocks, id);
}

[[clang::device_kernel]] void heap_verify(Memory *memory, const u32 *blocks, u32 *wrong, u32 count) {
  u32 id = global_lane();
  if (id < count) bench::verify(*memory, blocks, wrong, id);
}

[[clang::device_kernel]] void heap_give(Memory *memory, u32 size, const u32 *blocks, u32 *wrong, u32 count) {
  u32 id = global_lane();
  if (id < count) bench::give(*memory, size, blocks, wrong, id);
}

[[clang::device_kernel]] void heap_churn(Memory *memory, u32 *blocks, u32 *sizes, u32 *retries, u32 *wrong, u32 rounds,
                                        u32 count) {
  u32 id = global_lane();
  if (id < count) bench::churn(*memory, blocks, sizes, retries, wrong, rounds, id);
}

[[clang::device_kernel]] void heap_settle(Memory *memory, const u32 *blocks, const u32 *sizes, u32 *wrong, u32 count) {
  u32 id = global_lane();
  if (id < count) bench::settle(*memory, blocks, sizes, wrong, id);
}

// The same as `heap_latency`, out of a lane's own slab that has blocks, as compiled programs do it in their own code. 0
// cycles: it had none.
[[clang::device_kernel]] void heap_hits(Memory *memory, u32 size, u32 lanes, u32 *cycles, u32 count) {
  heap::Lane lane = heap::this_lane(memory->heap);
  if (lane.number >= lanes) return;
  for (u32 i = 0; i < count; i++) {
    u64 begin = __nvvm_read_ptx_sreg_clock64();
    u32 block = heap::take_own(lane, size, 16);
    u64 middle = __nvvm_read_ptx_sreg_clock64();
    bool kept = heap::keep_own(lane, block, size);
    u64 end = __nvvm_read_ptx_sreg_clock64();
    if (lane.number == 0) {
      cycles[2 * i] = block ? (u32)(middle - begin) : 0;
      cycles[2 * i + 1] = kept ? (u32)(end - middle) : 0;
    }
  }
}

// One lane of a warp, or all of it together: cycles of each allocation and each free.
[[clang::device_kernel]] void heap_latency(Memory *memory, u32 size, u32 lanes, u32 *cycles, u32 count) {
  u32 lane = global_lane(), retries = 0;
  if (lane >= lanes) return;
  for (u32 i = 0; i < count; i++) {
    u64 begin = __nvvm_read_ptx_sreg_clock64();
    u32 block = bench::allocate(*memory, size, retries);
    u64 middle = __nvvm_read_ptx_sreg_clock64();
    heap::release(*memory, block, size, 1);
    u64 end = __nvvm_read_ptx_sreg_clock64();
    if (lane == 0) {
      cycles[2 * i] = (u32)(middle - begin);
      cycles[2 * i + 1] = (u32)(end - middle);
    }
  }
}
}
