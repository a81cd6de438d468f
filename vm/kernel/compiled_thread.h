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
GPU_RUN_INLINE void end_lane(const Launch &launch) {
  if (launch.counts) counts::end_lane(launch);
  exit_lane();
}

// Ends the lane. Those of the thread's exceptions that can no longer be named go back to the pool.
GPU_RUN_NOINLINE void leave(Context &context) {
  if (context.thread->exceptions) sweep(context, 0);
  if (context.launch->batch) leave_process(context);
  end_lane(*context.launch);
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

// Takes what is due of a thread's samples, and says when the next one is. Returns how many there are.
GPU_RUN_INLINE u32 take_samples(Context &context) {
  const Samples &samples = *context.launch->samples;
  SampledThread &sampled = samples.threads[context.id];
  const u32 count = samples::take_due(samples, sampled, lane_time());
  // Compiled code looks at the lower half.
  context.sample_due = (u32)(sampled.last + samples.period);
  return count;
}

// Where a thread is whose sample is due. The host reads it too.
enum SampleAt : u32 {
  SAMPLE_Called = 0,  // at a function's begin: it was in the caller
  SAMPLE_Returned = 1,  // after a call: it was in what that called
  SAMPLE_Here = 2,
  SAMPLE_Entered = 3,  // before a loop: it was where it last looked, in the same function
};

// The place of a sample of a thread in compiled code. The host makes the same of a RawSample.
GPU_RUN_NOINLINE void note_sample(Context &context, u32 pc, u32 depth, u32 at, u32 state, u32 count) {
  // As deep as where it looked before, it has called nothing that came back: it was left by a tail call, say.
  const bool same = context.sample_mark_depth == depth;
  samples::Place place;
  place.state = state;
  place.frames = 0;
  place.pc = pc;
  place.depth = depth;
  u32 call = depth;
  if (at != SAMPLE_Here && same) place.pc = context.sample_mark;
  if (at == SAMPLE_Called && !same) {
    // What was before the first function is the launch's.
    if (depth < 2) return;
    place.pc = native::return_address(context.calls, --call, depth) - 1;
    place.depth = depth - 1;
  }
  if (at == SAMPLE_Returned && !same) {
    place.pc = context.sample_mark;
    place.depth = depth + 1;
    place.push(pc);
  }
  while (call > 1 && place.push(native::return_address(context.calls, --call, depth))) {
  }
  if (place.pc) samples::note(*context.launch->samples, context.id, place, count);
}

// Counts the samples of a thread that are due, which ran until now.
GPU_RUN_INLINE void sample(Context &context, u32 pc, u32 depth, u32 at) {
  const u32 count = take_samples(context);
  if (count) note_sample(context, pc, depth, at, THREAD_Runnable, count);
}

// A thread has waited in this state since the times `clock` and `lane`, which are not those of its running.
GPU_RUN_NOINLINE void sample_wait(Context &context, u32 pc, u32 depth, u32 state, u64 clock, u64 lane) {
  const Samples &samples = *context.launch->samples;
  SampledThread &sampled = samples.threads[context.id];
  const u64 took = lane_time() - lane;
  sampled.last += took;
  context.sample_due += (u32)took;
  const u32 count = samples::take_wait(samples, sampled, clock_ns() - clock);
  if (count) note_sample(context, pc, depth, SAMPLE_Here, state, count);
}

// Prepares samples of a thread that begins. Without a launch that asks for them, code that looks at the time finds none due
// for long, and no ring.
GPU_RUN_INLINE void begin_samples(Context &context) {
  const Launch &launch = *context.launch;
  context.sample_mark = 0;
  context.sample_mark_depth = 0;
  context.sample_ring = nullptr;
  context.sample_period = 1u << 30;
  context.sample_due = cycles() + context.sample_period;
  if (!launch.samples) return;
  const Samples &samples = *launch.samples;
  samples::begin_turn(launch, context.id);
  context.sample_period = (u32)samples.period;
  context.sample_size = samples.raw_size;
  // Threads without a ring share one: what they write there is read by nobody.
  const u32 ring = context.id < samples.raw_threads ? context.id : samples.raw_threads;
  if (samples.raw) context.sample_ring = samples.raw + (u64)ring * samples.raw_size;
  // The ring goes on where the last thread of this slot has left it.
  context.sample_count = samples.threads[context.id].written;
  take_samples(context);
}

// The same of one that ends.
GPU_RUN_INLINE void end_samples(Context &context) {
  SampledThread &sampled = context.launch->samples->threads[context.id];
  // Code without a ring may have called nothing for a period.
  if (!context.sample_ring && context.sample_mark) sample(context, context.sample_mark, 1, SAMPLE_Here);
  sampled.state = THREAD_Ended;
  sampled.written = context.sample_count;
}

void trap(Context &context, u32 pc, u32 depth, u32 kind) {
  end(context, END_Trap, kind, pc, depth, context.calls);
}

}  // namespace
}  // namespace gpu_run
