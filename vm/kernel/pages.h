// Where the interpreter's loop sends the instructions that are not in it: one call with few arguments,
// so that it needs few registers for it. Each page has a function with a switch of its own.
#pragma once

#include "atomics.h"
#include "rare.h"
#include "requests.h"
#include "simd.h"
#include "transfers.h"

namespace gpu_run {
namespace pages {

// Runs the instruction at `place`, whose first word is `w`.
GPU_RUN_NOINLINE Done execute(const Launch &launch, Thread &thread, u32 id, u32 lane, Place &place, u64 w) {
  if (transfers::has((u16)w)) return transfers::execute(launch, thread, id, lane, place, w);
  const Instance &instance = launch.instances[place.instance];
  const u64 *pc = launch.code + place.pc;
  if (requests::has((u16)w)) return requests::execute(launch, thread, id, instance, place.registers, w);
  if ((u16)w < PAGE_SIMD) return rare::execute(launch, thread, id, instance, place.registers, pc, w);
  if ((u16)w < PAGE_ATOMIC) return simd::execute(launch, instance, place.registers, thread.globals, pc, w);
  return atomics::execute(launch, thread, id, instance, place.registers, pc, w);
}

}  // namespace pages
}  // namespace gpu_run
