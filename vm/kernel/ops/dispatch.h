// Where the interpreter's loop sends the instructions that are not in it: one call with few arguments,
// so that it needs few registers for it. Each page has a function with a switch of its own.
//
//   semantics.h, simd_semantics.h   what the pure opcodes compute; swar.h: SIMD lanes, a word at a time
//   slow.h                          rare and long instructions: memories, tables, the heap
//   control.h, exceptions.h         what leads to another frame
//   simd.h, atomics.h               their pages
//   work.h                          queues, barriers and locks of threads
//   io.h, debug.h, output_ring.h    what the host reads
#pragma once

#include "ops/debug.h"
#include "ops/slow.h"
#include "ops/work.h"
#include "rpc/requests.h"
#include "ops/simd.h"
#include "ops/control.h"

namespace gpu_run {
namespace dispatch {

// An instruction that allocates. A checked heap knows which calls did it; the walk ends where a bridge begins.
GPU_RUN_NOINLINE StepResult allocate(const Launch &launch, Thread &thread, u32 id, const Instance &instance, MachineState &state,
                               u64 w) {
  StepResult done = slow::execute(launch, thread, id, instance, state.registers, launch.code + state.pc, w);
  Memory &memory = *instance.memories[0];
  if (!memory.heap.sites || done.kind != DONE_Step || done.value == 0) return done;
  Registers frame = state.registers;
  u32 header = state.header, calls[SITE_CALLS], count = 0;
  auto take = [&](u32 pc) {
    if (count < SITE_CALLS) calls[count++] = pc;
    return count < SITE_CALLS;
  };
  while (frame.get32(header) > PC_NATIVE_RETURN && take(frame.get32(header))) {
    u32 back = frame.get32(header + 1);
    frame = frames::back_by(frame, back & 0xffff);
    header = back >> 16;
  }
  if (frame.get32(header) == PC_NATIVE_RETURN) native::each_call(*thread.native, take);
  auto call = [&](u32 i) { return calls[i]; };
  if ((u16)w == OP_alloc_batch) {
    heap::note_batch(memory, state.registers, launch.code + state.pc, w, state.pc, count, call);
  } else {
    heap::note_calls(memory, state.registers.get32(slot(w, 1)), state.pc, count, call);
  }
  return done;
}

// Runs the instruction at `state`, whose first word is `w`.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, u32 lane, MachineState &state, u64 w) {
  const u16 op = (u16)w;
  if (is_run_by(HANDLER_Frames, op)) return control::execute(launch, thread, id, lane, state, w);
  const Instance &instance = launch.instances[state.instance];
  const u64 *pc = launch.code + state.pc;
  if (is_run_by(HANDLER_Requests, op)) return requests::execute(launch, thread, id, instance, state.registers, w);
  if (is_run_by(HANDLER_Debug, op)) return debug::execute(launch, thread, id, instance, state.registers, pc, w);
  if (is_run_by(HANDLER_Allocation, op)) return allocate(launch, thread, id, instance, state, w);
  if (is_run_by(HANDLER_Work, op)) return work::execute(launch, thread, id, instance, state.registers, pc, w);
  // One comparison for both.
  if (!is_run_by(HANDLER_Simd, op) && !is_run_by(HANDLER_Atomics, op)) {
    return slow::execute(launch, thread, id, instance, state.registers, pc, w);
  }
  if (is_run_by(HANDLER_Simd, op)) return simd::execute(launch, instance, state.registers, thread.globals, pc, w);
  return atomics::execute(launch, thread, id, instance, state.registers, pc, w);
}

}  // namespace dispatch
}  // namespace gpu_run
