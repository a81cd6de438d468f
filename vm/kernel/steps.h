// Warps of a hardware block that step together.
//
// A multiprocessor fetches instructions for its warps one line at a time, and its cache holds a part of a large program. Warps
// that are at different places of it fetch each line anew. So what limits such programs is how many lines a multiprocessor
// gets. Where all warps are near each other, one of them fetches a line and the others find it in the cache.
//
// So compiled kernels have steps (src/ptx/emit/steps.rs of the PTX compiler), and a warp that comes to one waits for those of
// its hardware block that have not come so far. It waits for a time that its last step tells, and less after it has waited in
// vain. Nothing is ordered by a step, and no result depends on it.
//
// Where threads go different ways to wait may cost more than it brings. So a warp measures passes of a loop with waiting and
// without it, and then does what took less time for all warps of the block. After many passes it measures again. Warps that
// begin to wait again are far from each other. So the first time they wait at most as long as two passes took.
//
// How far a warp has come is a number: its phase in the upper 8 bits, the pass of a loop in 16, the step in it in 8. Lanes
// that have parted write what is their warp's in turns, and read what another warp is writing: then a warp waits where it need
// not, or the other way round, but never for long.
#pragma once

#include "layout.h"

namespace gpu_run {
namespace steps {

struct WarpSteps {
  u32 position;
  u32 left;  // when it went on from its last step, in cycles
  u32 vain;  // grows when it waits in vain
  u32 waits;  // whether it waits in this pass
  u32 began;  // when it began this pass
  u32 first;  // cycles of the first one of the measured passes
  u32 measured[2];  // cycles of the measured passes without waiting and with it, or 0 before both are done
};

constexpr u32 MOST_WARPS = BLOCK_LANES / 32;
static_assert(MOST_WARPS % 4 == 0, "positions are read four at a time");
// Farther than any step: nobody waits for such a warp.
constexpr u32 ENDED = ~0u;
// How `vain` grows and sinks, and the most that it becomes. With that a warp looks once and goes on.
constexpr u32 WAITED_IN_VAIN = 1, WAITED_WELL = 2, MOST_VAIN = 24;
// Of the cycles of its last step as many count as these. In a pass a warp waits eight times as long at most.
constexpr u32 LONGEST = 1 << 21, PATIENCE = 3;
// A warp that begins to wait again does so for no more cycles: some 0.15 s.
constexpr u32 FAR = 1 << 28;
// Passes after which all begins anew. The first ones are with waiting, those up to the sixth without. Of both the first one is
// not measured.
constexpr u32 PASSES = 256, FIRST_APART = 3, MEASURED = 6;

[[clang::loader_uninitialized]] static __attribute__((address_space(3))) WarpSteps of_warps[MOST_WARPS];

// The positions of all warps, or ENDED, as the others see them: together, since a warp that waits looks at all of them. Four
// come by one load.
using Four = u32 __attribute__((ext_vector_type(4)));
[[clang::loader_uninitialized]] static __attribute__((address_space(3))) Four shown[MOST_WARPS / 4];

using Shared = volatile __attribute__((address_space(3))) WarpSteps;

GPU_RUN_INLINE u32 warp_in_block() { return lane_in_block() / 32; }
GPU_RUN_INLINE u32 warps_in_block() { return (lanes_in_block() + 31) / 32; }

GPU_RUN_INLINE Shared &of_warp() { return of_warps[warp_in_block()]; }

// Shows the others where a warp is.
GPU_RUN_INLINE void show(u32 warp, u32 position) {
  ((volatile __attribute__((address_space(3))) u32 *)shown)[warp] = position;
}

// A warp begins. Until its first step nobody waits for it: it may come to none. Nor for those that the block does not have.
GPU_RUN_INLINE void begin() {
  Shared &own = of_warp();
  own.position = 0;
  show(warp_in_block(), ENDED);
  for (u32 warp = warps_in_block(); warp < MOST_WARPS; warp++) show(warp, ENDED);
  const u32 now = cycles();
  own.left = now;
  own.began = now;
  own.first = 0;
  own.vain = 0;
  own.measured[false] = 0;
  own.measured[true] = 0;
  own.waits = 1;
}

// A lane has no thread any more. The others of its warp go on without being waited for, until their next step.
GPU_RUN_INLINE void end() { show(warp_in_block(), ENDED); }

// The position of the next step.
GPU_RUN_INLINE u32 next(u32 position, u32 step) {
  if (step == STEP_Pass) return (position | 0xff) + 1;
  if (step == STEP_Phase) return (position | 0xffffff) + 1;
  return (position & ~0xffu) | step;
}

GPU_RUN_INLINE bool some_are_behind(u32 position) {
  u32 least = ENDED;
  for (u32 i = 0; i < MOST_WARPS / 4; i++) {
    const Four four = ((const volatile __attribute__((address_space(3))) Four *)shown)[i];
    for (u32 j = 0; j < 4; j++) least = four[j] < least ? four[j] : least;
  }
  return least < position;
}

// Whether the passes that all warps have measured took less time with waiting.
GPU_RUN_INLINE bool is_faster_together() {
  u32 together = 0, apart = 0;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < warps_in_block(); i++) {
    const Shared &warp = of_warps[i];
    // A warp that has not come so far has no sum yet.
    if (!warp.measured[false]) continue;
    // Of so many warps no sum is too large.
    together += warp.measured[true] / MOST_WARPS;
    apart += warp.measured[false] / MOST_WARPS;
  }
  return together <= apart;
}

// Begins a pass, the one of this number: notes what the last one took, and whether to wait in this one.
GPU_RUN_INLINE void begin_pass(Shared &own, u32 pass) {
  const u32 now = cycles(), took = now - own.began;
  own.began = now;
  const u32 ended = (pass - 1) % PASSES, number = pass % PASSES;
  if (ended < MEASURED && ended % FIRST_APART == 1) own.first = took;
  if (ended < MEASURED && ended % FIRST_APART == 2) own.measured[ended < FIRST_APART] = own.first + took;
  own.waits = number < FIRST_APART || (number >= MEASURED && is_faster_together());
}

// A warp has come to a step.
GPU_RUN_INLINE void come(u32 step) {
  Shared &own = of_warp();
  const u32 position = next(own.position, step);
  own.position = position;
  show(warp_in_block(), position);
  const u32 waited = own.waits;
  if (step == STEP_Pass) begin_pass(own, position >> 8 & 0xffff);
  // The next loop's passes are others.
  if (step == STEP_Phase) {
    own.measured[false] = 0;
    own.measured[true] = 0;
  }
  const bool in_pass = step != STEP_Phase;
  if (in_pass && !own.waits) {
    own.left = cycles();
    return;
  }
  const u32 came = cycles(), took = came - own.left, vain = own.vain;
  u32 longest = (took < LONGEST ? took : LONGEST) << (in_pass ? PATIENCE : 0) >> vain;
  if (in_pass && !waited && vain < MOST_VAIN / 2) {
    const u32 two_passes = own.measured[false] < FAR ? own.measured[false] : FAR;
    longest = two_passes > longest ? two_passes : longest;
  }
  bool in_vain = false;
  while (some_are_behind(position) && !in_vain) in_vain = cycles() - came > longest;
  const u32 less = vain < WAITED_WELL ? 0 : vain - WAITED_WELL;
  const u32 more = vain + WAITED_IN_VAIN < MOST_VAIN ? vain + WAITED_IN_VAIN : MOST_VAIN;
  own.vain = in_vain ? more : less;
  own.left = cycles();
}

}  // namespace steps
}  // namespace gpu_run
