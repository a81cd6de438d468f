// How threads of compiled code end: what runtime.cpp and mixed.cpp have in common. `depth` counts the frames on the
// stack from 1.
#pragma once

#include "counts.h"
#include "processes.h"
#include "samples.h"
#include "threads.h"

namespace gpu_run {
namespace {

// Of runtime.cpp.
extern "C" void gpu_run_meet(Context *context, u32 idle);

// Lets the lanes of the warp go on that have come to a meeting, if there are meetings. Relaxed: who misses the first one
// comes here again. `idle`: see `gpu_run_meet`.
GPU_RUN_INLINE bool let_meet(Context &context, u32 idle) {
  const bool meets = context.meets && load_relaxed_device(&context.launch->met);
  if (meets) gpu_run_meet(&context, idle);
  return meets;
}

// Looks for what another lane or the host does, such as to open a lock, after which one lets others of the warp go on: that
// takes until all of them have come to a meeting, and meanwhile nobody would take the lock.
constexpr u32 LOOKS_ALONE = 16;

// Backoff of a lane that waits for such a thing, for the `idle`th time in a row. They are counted for the lane as a whole: a
// guest that looks again and again by instructions of its own is to come to meetings too.
GPU_RUN_INLINE void wait_for_others(Context &context, u32 idle) {
  if (++context.looks % LOOKS_ALONE || !let_meet(context, idle)) backoff(idle);
}

// Relaxed: a lane reads nothing that was written before the flag was.
GPU_RUN_INLINE bool process_ended(const Launch &launch) { return load_relaxed_device(&launch.stop) != 0; }

GPU_RUN_NOINLINE void sweep(Context &context, u32 marked) {
  exceptions::sweep(*context.launch, *context.thread, context.id, marked);
}

// Tells the host how the process of a batch has ended that the lane ran.
GPU_RUN_NOINLINE void tell_process_end(Context &context) {
  const Batch &batch = *context.launch->batch;
  const ProcessSlot &slot = batch.slots[context.id];
  for (u32 idle = 1; !processes::tell_end(batch, slot); idle++) backoff(idle);
}

// Ends a process that does not return. The lane cannot take another one.
GPU_RUN_NOINLINE void leave_process(Context &context) {
  if (context.launch->requests) processes::leave_mailbox(*context.launch->requests, *context.thread);
  tell_process_end(context);
  red_add_device(&context.launch->batch->lost, 1u);
}

// Ends the lane, wherever it is.
[[noreturn]] GPU_RUN_INLINE void end_lane(const Launch &launch) {
  if (launch.counts) counts::end_lane(launch);
  exit_lane();
}

// Ends the lane. Those of the thread's exceptions that can no longer be named go back to the pool.
[[noreturn]] GPU_RUN_NOINLINE void leave(Context &context) {
  if (context.thread->exceptions) sweep(context, 0);
  if (context.launch->batch) leave_process(context);
  end_lane(*context.launch);
}

// Ends the lane because its process has been stopped, and says where its thread stands in which state.
[[noreturn]] GPU_RUN_NOINLINE void stop(Context &context, u32 pc, u32 depth, u32 state) {
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
[[noreturn]] GPU_RUN_NOINLINE void end(Context &context, EndKind kind, u32 value, u32 pc, u32 depth, const u32 *calls) {
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

// Of a run of which samples are taken, code writes down where it is as it goes, and the host looks: that costs the lane a
// store. Each mark that the host finds was true at some time, but those of a thread's frames may be of different times.
//
// Whether the thread is in compiled code, in its first row: the context may have any of them. Relaxed: the host orders nothing
// by it.
GPU_RUN_INLINE void mark_compiled(const Context &context, bool is) {
  if (!context.marks) return;
  const u64 rows = (u64)MARK_FRAMES * MARK_GROUP * sizeof(u32);
  store_relaxed_device((u32 *)((u64)context.marks & ~rows), (u32)is);
}

// Prepares the marks of a thread that begins.
GPU_RUN_INLINE void begin_samples(Context &context) {
  const Launch &launch = *context.launch;
  context.marks = nullptr;
  if (!launch.samples) return;
  const Samples &samples = *launch.samples;
  samples::begin_turn(launch, context.id);
  if (!samples.marks) return;
  const u32 place = context.id % samples.mark_threads;
  const u64 group = place / MARK_GROUP;
  // The second row: the first frame's.
  context.marks = samples.marks + group * (MARK_GROUP * (1 + MARK_FRAMES)) + MARK_GROUP + place % MARK_GROUP;
  mark_compiled(context, true);
}

// The same of one that ends.
GPU_RUN_INLINE void end_samples(const Context &context) {
  mark_compiled(context, false);
  context.launch->samples->threads[context.id].state = THREAD_Ended;
}

[[noreturn]] void trap(Context &context, u32 pc, u32 depth, u32 kind) {
  end(context, END_Trap, kind, pc, depth, context.calls);
}

}  // namespace
}  // namespace gpu_run
