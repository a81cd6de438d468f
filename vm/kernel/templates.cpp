// The pure opcodes as functions of their own, from which the PTX compiler takes the code that it puts in place of an
// opcode. So what an opcode computes stands in ops/semantics.h and ops/simd_semantics.h alone. Compiled for the GPU
// only, and a second time with GPU_RUN_LAZY_NAN.

// Internal, so that only the functions below are there.
#define GPU_RUN_NOINLINE [[maybe_unused]] static __attribute__((noinline))

#include "generated/layout_check.h"
#include "heap/lane_slab.h"
#include "ops/simd_semantics.h"

namespace gpu_run {

// The value of a parameter, read exactly once whatever is done with it. Otherwise the compiler would select between the
// addresses of two parameters, or read one in some branches only.
template <typename T>
GPU_RUN_INLINE T plain(T parameter) {
  if constexpr (sizeof(T) == 8) {
    asm volatile("" : "+l"(parameter));
  } else {
    asm volatile("" : "+r"(parameter));
  }
  return parameter;
}

// The result of an opcode that may trap: `trap` is a TrapKind.
template <typename T>
struct OrTrap {
  T value;
  u32 trap;
};
template struct OrTrap<u32>;
template struct OrTrap<u64>;

extern "C" {
#include "generated/templates.inc"

#if !defined(GPU_RUN_LAZY_NAN)
// Not a row of its class, because its indices are in the instruction.
V128 i8x16_shuffle(u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1, u32 b2, u32 b3, u32 c0, u32 c1, u32 c2, u32 c3) {
  return semantics::i8x16_shuffle(V128{{plain(a0), plain(a1), plain(a2), plain(a3)}},
                                  V128{{plain(b0), plain(b1), plain(b2), plain(b3)}},
                                  V128{{plain(c0), plain(c1), plain(c2), plain(c3)}});
}

// The parts of ALLOC and DEALLOC that are done in place. The first returns a block of one of the lane's slabs, or 0;
// the second whether one was freed.
u32 heap_take(u64 lists, u64 slabs, u32 lanes, u32 lane, u32 size, u32 align) {
  heap::Lane own = {(u64 *)plain(lists), (LaneSlab *)plain(slabs), plain(lanes), 0, plain(lane)};
  return heap::take_own(own, plain(size), plain(align));
}
u32 heap_keep(u64 slabs, u32 lanes, u32 records, u32 lane, u32 address, u32 size) {
  heap::Lane own = {nullptr, (LaneSlab *)plain(slabs), plain(lanes), plain(records), plain(lane)};
  return heap::keep_own(own, plain(address), plain(size));
}
#endif
}

}  // namespace gpu_run
