// How threads of compiled code end: what runtime.cpp and mixed.cpp have in common. `depth` counts the frames on the
// stack from 1.
#pragma once

#include "stands.h"
#include "threads.h"

namespace gpu_run {
namespace {

// Relaxed: a lane reads nothing that was written before the flag was.
GPU_RUN_INLINE bool process_ended(const Launch &launch) { return load_relaxed_device(&launch.stop) != 0; }

GPU_RUN_NOINLINE void sweep(Context &context, u32 marked) {
  exceptions::sweep(*context.launch, *context.thread, context.id, marked);
}

// Ends the lane. Those of the thread's exceptions that can no longer be named go back to the pool.
GPU_RUN_NOINLINE void leave(Context &context) {
  if (context.thread->exceptions) sweep(context, 0);
  exit_lane();
}

// Ends the lane because its process has been stopped, and says where its thread stands in which state.
GPU_RUN_NOINLINE void stop(Context &context, u32 pc, u32 depth, u32 state) {
  if (stands::wanted(*context.launch)) {
    stands::Standing standing;
    standing.state = state;
    standing.pc = pc;
    standing.depth = depth;
    u32 frames = 0;
    for (; frames + 1 < depth && frames < STAND_CALLS; frames++) {
      standing.calls[frames] = context.calls[(depth - 1 - frames) % OPEN_CALLS];
    }
    standing.frames = frames;
    stands::note(*context.launch, context.id, standing);
  }
  leave(context);
}

// Ends the process unless another thread already did, and this lane. `calls` are the return addresses.
GPU_RUN_NOINLINE void end(Context &context, EndKind kind, u32 value, u32 pc, u32 depth, const u32 *calls) {
  frames::record_end(*context.launch, context.id, kind, value, pc, [&](End &end) {
    end.depth = depth;
    end.detail = resume::count(*context.thread);
    u32 frames = 0;
    // The innermost ones are in their places; of the others only the outermost are known.
    for (; frames + 1 < depth; frames++) {
      end.note(frames, native::return_address(calls, depth - 1 - frames, depth), depth);
    }
    end.frames = frames;
  });
  context.thread->state = THREAD_Ended;
  leave(context);
}

void trap(Context &context, u32 pc, u32 depth, u32 kind) {
  end(context, END_Trap, kind, pc, depth, context.calls);
}

}  // namespace
}  // namespace gpu_run
