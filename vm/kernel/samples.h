// Where threads spend their time, in samples: what `gpu-run profile` shows.
//
// A thread looks at the time where it goes from one function into another, and around instructions that may take long: the
// host has put `visit` in their places, in place of the first instruction of each function, and of the one after each call.
// It also looks at the end of each slice. Where a period or more has gone by since its last sample, it counts that many at
// once, for the function that it was in until then. So a sample is never lost to a loop that does not look, and its weight is
// the time that went by. Within a function samples lie where slices end: after so many branches, and not after so much time.
//
// Threads that take less than a period have as many samples together as they should have: a thread's first period is shorter
// than the others, by chance, or begins with the tick that its lane has seen last.
//
// Samples with the same calls are one group, as in stands.h. Of a batch the host is told of each: it knows how many processes
// there are, and which of them a sample is of.
#pragma once

#include "ops/output_ring.h"
#include "stands.h"

namespace gpu_run {
namespace samples {

// What a sample tells.
struct Place {
  u32 state;
  u32 pc;
  u32 depth;
  u32 frames;
  u32 calls[SAMPLE_CALLS];

  GPU_RUN_INLINE bool push(u32 address) {
    if (frames < SAMPLE_CALLS) calls[frames++] = address;
    return frames < SAMPLE_CALLS;
  }
};

// The lane's time: in cycles, or in ticks of the host's clock where a look at the time is dear. A tick that comes late stands
// for several, all of which count for the threads that run then.
GPU_RUN_INLINE u64 lane_time(const Samples &samples) { return gpu_run::lane_time(&samples.ticks); }

// Branches in a slice without a `visit`. It is to end in the time between the host's word that a period ends soon and that
// end: a slice that takes longer sees the tick only at its own end, which is at a branch. So there are fewer then. Primes do not
// end at the same place of a loop each time.
constexpr u32 MOST_BRANCHES = 2003, LEAST_BRANCHES = 61;

// The code that a thread runs until its slice ends. Where the host counts the time, there is no `visit` in it but shortly before
// a period ends: each costs as much as a call. Until its first one the thread is where the slice begins.
GPU_RUN_INLINE const u64 *code(const Launch &launch, const Thread &thread, u32 id) {
  if (!HAS_TICKS || !launch.samples) return launch.code;
  const Samples &samples = *launch.samples;
  SampledThread &sampled = samples.threads[id];
  sampled.mark = thread.pc;
  sampled.mark_depth = thread.depth;
  // Relaxed: either code does the same.
  sampled.plain = !load_relaxed_system(&samples.soon);
  return sampled.plain ? samples.plain : launch.code;
}

// Branches until the slice ends.
GPU_RUN_INLINE u32 slice(const Launch &launch, u32 id) {
  if (!HAS_TICKS || !launch.samples) return launch.slice;
  const SampledThread &sampled = launch.samples->threads[id];
  return sampled.plain ? sampled.branches : launch.slice;
}

// A tick was seen at the end of a slice without a `visit`, or at one.
GPU_RUN_INLINE void shorten(SampledThread &sampled) {
  sampled.branches = sampled.branches / 2 < LEAST_BRANCHES ? LEAST_BRANCHES : sampled.branches / 2;
}
GPU_RUN_INLINE void lengthen(SampledThread &sampled) {
  const u32 more = sampled.branches + sampled.branches / 32 + 1;
  sampled.branches = more < MOST_BRANCHES ? more : MOST_BRANCHES;
}

// Whether a period has gone by since the thread's last sample.
GPU_RUN_INLINE bool is_due(const Samples &samples, const SampledThread &sampled) {
  return lane_time(samples) - sampled.last >= samples.period;
}

// Takes the whole periods since the thread's last sample: how many they are.
GPU_RUN_INLINE u32 take_due(const Samples &samples, SampledThread &sampled) {
  const u64 passed = lane_time(samples) - sampled.last;
  if (passed < samples.period) return 0;
  const u64 due = passed / samples.period;
  sampled.last += due * samples.period;
  return (u32)due;
}

// Groups that a sample looks at to find its own. Where there are many, others are not far.
constexpr u32 PROBES = 64;

// Tells the host of samples of a process of a batch. Where the ring has no room for them they are lost: the lane goes on.
GPU_RUN_NOINLINE void tell(const Launch &launch, const Place &place, u64 counts) {
  ProcessSample sample = {counts, place.state, place.pc, place.frames, place.depth > place.frames + 1, {}, {}};
  for (u32 i = 0; i < place.frames; i++) sample.calls[i] = place.calls[i];
  const u32 len = (u32)(__builtin_offsetof(ProcessSample, calls) + (place.frames + 3) / 4 * 16);
  Ring &ring = *launch.ring;
  const u64 at = output::begin(ring, launch.process - 1, 0, len);
  if (at == output::FULL) return red_add_device(&launch.samples->lost, (u32)counts);
  output::put_whole(ring, at + sizeof(Record), &sample, len);
  output::publish(ring, at, RECORD_Sample);
}

// Counts so many samples for thread `id`. Where all groups are taken that may be the stack's, its innermost function is
// counted alone, in the last part of the table.
GPU_RUN_INLINE void note(const Launch &launch, u32 id, const Place &place, u32 count) {
  const Samples &samples = *launch.samples;
  const u64 counts = (u64)count * samples.weight;
  if (launch.batch) return tell(launch, place, counts);
  const u32 alone = samples.capacity / 8, whole = samples.capacity - alone;
  if (stands::count(samples.groups, whole, PROBES, id, place, counts)) return;
  const Place innermost = {place.state, place.pc, place.depth, 0, {}};
  if (stands::count(samples.groups + whole, alone, PROBES, id, innermost, counts)) return;
  red_add_device(&samples.lost, (u32)counts);
}

// The thread lies in memory, and was there in this state.
GPU_RUN_NOINLINE void note_at_rest(const Launch &launch, Thread &thread, u32 id, u32 doing, u32 count) {
  Place place;
  place.state = doing;
  place.pc = thread.pc;
  place.depth = thread.depth;
  place.frames = 0;
  MachineState state = {{thread.frame, thread.stride}, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
  frames::each_call(launch, thread, state, [&](u32 pc) { return place.push(pc); });
  note(launch, id, place, count);
}

// A thread is at a `visit`, at `state`: a function begins, or a call has come back. Samples are of what it did before: at
// its last visit, or in the caller of a function that begins.
GPU_RUN_NOINLINE void note_visit(const Launch &launch, Thread &thread, u32 id, MachineState state, bool called) {
  const Samples &samples = *launch.samples;
  SampledThread &sampled = samples.threads[id];
  const u32 count = take_due(samples, sampled);
  if (!count) return;
  if (HAS_TICKS) lengthen(sampled);
  // As deep as before, it has called nothing that came back: it is in a loop, or was left by a tail call.
  const bool same = sampled.mark_depth == state.depth;
  Place place;
  place.state = THREAD_Runnable;
  place.pc = called && !same ? 0 : sampled.mark;
  place.depth = same ? state.depth : called ? state.depth - 1 : state.depth + 1;
  place.frames = 0;
  if (!called && !same) place.push(state.pc);
  frames::each_call(launch, thread, state, [&](u32 pc) {
    // The call itself lies before its return address.
    if (place.pc == 0) return place.pc = pc - 1, true;
    return place.push(pc);
  });
  // Before its first function a thread is in none.
  if (place.pc) note(launch, id, place, count);
}

// The same, if it is time. `state` makes the thread's state then.
template <typename State>
GPU_RUN_INLINE void visit(const Launch &launch, Thread &thread, u32 id, u32 pc, u32 depth, bool called, State state) {
  SampledThread &sampled = launch.samples->threads[id];
  if (UNLIKELY(is_due(*launch.samples, sampled))) note_visit(launch, thread, id, state(), called);
  sampled.mark = pc;
  sampled.mark_depth = depth;
}

GPU_RUN_INLINE bool is_wait(u32 state) { return state != THREAD_New && state != THREAD_Runnable && state != THREAD_Ended; }

// Whether a lane's time is that of several threads.
GPU_RUN_INLINE bool shares_lane(const Launch &launch) { return launch.multiplexed || launch.spawner; }

// The lane has run the thread.
GPU_RUN_NOINLINE void end_turn(const Launch &launch, u32 id) {
  const Samples &samples = *launch.samples;
  SampledThread &sampled = samples.threads[id];
  Thread &thread = launch.threads[id];
  const u32 count = take_due(samples, sampled);
  if (count) {
    if (HAS_TICKS && sampled.plain) shorten(sampled);
    if (thread.state != THREAD_Ended) note_at_rest(launch, thread, id, THREAD_Runnable, count);
    if (thread.state == THREAD_Ended && sampled.mark) {
      note(launch, id, {THREAD_Runnable, sampled.mark, sampled.mark_depth, 0, {}}, count);
    }
  }
  sampled.state = thread.state;
  // What is left of a period counts again when the thread runs again.
  if (shares_lane(launch) || is_wait(sampled.state)) sampled.last = lane_time(samples) - sampled.last;
  if (is_wait(sampled.state)) sampled.left = clock_ns();
}

// Adds so many nanoseconds to a thread's waits. Returns how many samples they make with what was left.
GPU_RUN_INLINE u32 take_wait(const Samples &samples, SampledThread &sampled, u64 took) {
  sampled.waited += took;
  const u32 count = (u32)(sampled.waited / samples.period_ns);
  sampled.waited -= count * samples.period_ns;
  return count;
}

// The lane is about to run the thread, which may have waited.
GPU_RUN_NOINLINE void begin_turn(const Launch &launch, u32 id) {
  const Samples &samples = *launch.samples;
  SampledThread &sampled = samples.threads[id];
  const u32 state = sampled.state;
  sampled.state = THREAD_Runnable;
  if (state == THREAD_New || state == THREAD_Ended) {
    // A part of a period. Fibonacci hashing: those of neighbors are far apart.
    const u64 part = id * 0x9e3779b9u;
    sampled.last = lane_time(samples) - (samples.period * part >> 32);
    sampled.waited = samples.period_ns * part >> 32;
    sampled.branches = MOST_BRANCHES;
  } else if (shares_lane(launch) || is_wait(state)) {
    sampled.last = lane_time(samples) - sampled.last;
  }
  if (is_wait(state)) {
    const u32 count = take_wait(samples, sampled, clock_ns() - sampled.left);
    if (count) note_at_rest(launch, launch.threads[id], id, state, count);
  }
}

// A lane leaves: counts how long those of the threads `first` and after it have waited that still wait. All of them are at
// rest.
GPU_RUN_NOINLINE void end_waits(const Launch &launch, u32 first) {
  const Spawner *spawner = launch.spawner;
  // More slots than there are may be wanted for a moment.
  const u32 used = spawner ? (spawner->used < spawner->capacity ? spawner->used : spawner->capacity) : launch.thread_count;
  for (u32 id = first; id < used; id += launch.lanes) {
    if (is_wait(launch.samples->threads[id].state)) begin_turn(launch, id);
  }
}

}  // namespace samples
}  // namespace gpu_run
