// Where threads stand when a run is stopped from outside, for the report of a program that hangs. Threads with the same
// state and the same calls are one group: there may be a million threads, but they seldom stand at many places.
//
// A lane notes its threads on its way out, when the host has set the stop flag. Groups are in a hash table with open
// addressing, which only grows. The lane that puts a key into an empty place writes the rest. The host reads it after
// the kernel has ended; of samples it also looks at the counts and innermost places meanwhile. Two groups whose keys of 64 bits are the same by chance would be counted as one.
#pragma once

#include "frames.h"
#include "spawn.h"

namespace gpu_run {
namespace stands {

// Where a thread stands.
struct Standing {
  u32 state;
  u32 pc;
  u32 depth;
  u32 frames;
  u32 calls[STAND_CALLS];
};

// Whether it is to be noted where threads stand that end now. They have been stopped from outside: no thread has ended
// the process. Or none can go on.
GPU_RUN_INLINE bool wanted(const Launch &launch) {
  return launch.stands && (load_relaxed_device(&launch.claimed) == 0 || census::deadlocked(launch));
}

// FNV-1a, a word at a time; never 0.
template <typename Place>
GPU_RUN_INLINE u64 key_of(const Place &place) {
  u64 key = 0xcbf29ce484222325;
  auto mix = [&](u32 word) { key = (key ^ word) * 0x100000001b3; };
  mix(place.state);
  mix(place.pc);
  for (u32 i = 0; i < place.frames; i++) mix(place.calls[i]);
  // Low bits choose the place in the table.
  return (key ^ key >> 32) | 1;
}

// Adds to the count of those that are at the same place as thread `id`. False: none of so many groups is theirs or free.
template <typename Group, typename Place, typename Count>
GPU_RUN_INLINE bool count(Group *groups, u32 capacity, u32 probes, u32 id, const Place &place, Count more) {
  const u64 key = key_of(place);
  for (u32 i = 0; i < probes; i++) {
    Group &group = groups[((key >> 1) + i) % capacity];
    u64 found = load_relaxed_device(&group.key);
    // The exchange publishes nothing: lanes read no more than the key.
    if (found == 0 && compare_exchange_acq_rel_device(&group.key, found, key)) {
      // Atomic, for the host may look at them meanwhile: it finds each as it is now or was before.
      store_relaxed_device(&group.thread, id);
      store_relaxed_device(&group.state, place.state);
      store_relaxed_device(&group.pc, place.pc);
      store_relaxed_device(&group.depth, place.depth);
      group.frames = place.frames;
      for (u32 call = 0; call < place.frames; call++) group.calls[call] = place.calls[call];
      found = key;
    }
    if (found == key) return red_add_device(&group.count, more), true;
  }
  return false;
}

// Counts thread `id` among those that stand at the same place.
GPU_RUN_NOINLINE void note(const Launch &launch, u32 id, const Standing &standing) {
  Stands &stands = *launch.stands;
  if (!count(stands.groups, STANDS, STANDS, id, standing, 1u)) red_add_device(&stands.others, 1u);
}

// A thread that has frames of the interpreter.
GPU_RUN_NOINLINE void note_thread(const Launch &launch, Thread &thread, u32 id) {
  Standing standing;
  standing.state = thread.state;
  standing.pc = thread.pc;
  standing.depth = thread.depth;
  standing.frames = 0;
  Registers registers = {thread.frame, thread.stride};
  MachineState state = {registers, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
  frames::each_call(launch, thread, state, [&](u32 pc) {
    standing.calls[standing.frames++] = pc;
    return standing.frames < STAND_CALLS;
  });
  note(launch, id, standing);
}

// The threads of a lane of the interpreter that have not ended: `first` and those after it.
GPU_RUN_NOINLINE void note_lane(const Launch &launch, u32 first) {
  if (!wanted(launch)) return;
  u32 waiting = 0;
  const u32 threads = launch.spawner ? launch.spawner->used : launch.thread_count;
  for (u32 id = first; id < threads; id += launch.lanes) {
    Thread &thread = launch.threads[id];
    if (thread.state == THREAD_New) waiting++;
    if (thread.state != THREAD_New && thread.state != THREAD_Ended) note_thread(launch, thread, id);
  }
  if (waiting) red_add_device(&launch.stands->new_threads, waiting);
}

}  // namespace stands
}  // namespace gpu_run
