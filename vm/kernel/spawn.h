// Threads that a program spawns while it runs: their slots, and how a lane learns of one.
//
// A slot is a thread's record, its block of globals, and its id. The interpreter's lanes each have a list of threads
// that others left for them, the inbox: threads that are new, and those that a notify woke. A compiled thread cannot
// leave its lane, so there a slot is a lane, which waits for mail.
#pragma once

#include "census.h"
#include "frames.h"

namespace gpu_run {
namespace spawn {

constexpr u32 NONE = ~0u;

// --- Places: the order in which lanes get threads -------------------------------------------------

// Threads that were spawned diverge. So neighbouring places are lanes of different warps, as long as there are some.
#if GPU_RUN_GPU
constexpr u32 LANES_TOGETHER = 32;
#else
constexpr u32 LANES_TOGETHER = 1;
#endif

GPU_RUN_INLINE u32 lane_at(u32 lanes, u32 place) {
  const u32 warps = lanes / LANES_TOGETHER;
  if (place >= warps * LANES_TOGETHER) return place;
  return place % warps * LANES_TOGETHER + place / warps;
}

GPU_RUN_INLINE u32 place_of(u32 lanes, u32 lane) {
  const u32 warps = lanes / LANES_TOGETHER;
  if (lane >= warps * LANES_TOGETHER) return lane;
  return lane % LANES_TOGETHER * warps + lane / LANES_TOGETHER;
}

// Words of `idle` that a lane looks at for one that has nothing to do: not all, because there may be very many.
constexpr u32 IDLE_LOOKS = 8;

// A lane that has nothing to do, which is from now on no longer said to be idle; NONE if none was found from `place` on.
// The bits are hints: nothing is ordered by them.
GPU_RUN_INLINE u32 claim_idle(const Launch &launch, Spawner &spawner, u32 place) {
  const u32 words = (launch.lanes + 31) / 32;
  for (u32 i = 0; i < IDLE_LOOKS && i < words; i++) {
    const u32 at = (place / 32 + i) % words;
    u32 bits = load_relaxed_device(&spawner.idle[at]);
    while (bits) {
      const u32 bit = bits & (0 - bits);
      bits &= ~bit;
      if (!(fetch_and_acq_rel_device(&spawner.idle[at], ~bit) & bit)) continue;
      return lane_at(launch.lanes, at * 32 + (u32)__builtin_ctz(bit));
    }
  }
  return NONE;
}

GPU_RUN_INLINE bool is_idle(const Launch &launch, u32 lane) {
  const u32 place = place_of(launch.lanes, lane);
  return load_relaxed_device(&launch.spawner->idle[place / 32]) >> place % 32 & 1;
}

GPU_RUN_INLINE void say_idle(const Launch &launch, u32 lane, bool idle) {
  const u32 place = place_of(launch.lanes, lane);
  u32 *word = &launch.spawner->idle[place / 32];
  if (idle) {
    fetch_or_acq_rel_device(word, 1u << place % 32);
  } else {
    fetch_and_acq_rel_device(word, ~(1u << place % 32));
  }
}

// --- Inboxes: Treiber stacks that are taken as a whole, so that ABA does no harm -----------------------

// Whether threads that wait without a time are in no lane's list until they are woken.
GPU_RUN_INLINE bool has_inboxes(const Launch &launch) { return launch.spawner && !launch.spawner->mail; }

// Leaves thread `id`, which no lane has, to its home: one that was `claimed`, and so said to be idle, or another.
GPU_RUN_INLINE void push(const Launch &launch, u32 id, bool claimed) {
  Thread &thread = launch.threads[id];
  const u32 home = thread.home;
  u32 *inbox = &launch.spawner->inboxes[home];
  u32 first = load_relaxed_device(inbox);
  do {
    store_relaxed_device(&thread.link, first);
    // The release half publishes the thread to the acquire in `take`.
  } while (!compare_exchange_acq_rel_device(inbox, first, id + 1));
  // The lane may rest. If that is not seen here, it looks again after a while.
  if (claimed || (first == 0 && is_idle(launch, home))) rouse(inbox);
}

// 1 + the thread that was pushed last, with a list of those before it; 0 if there is none.
GPU_RUN_INLINE u32 take(const Launch &launch, u32 lane) {
  u32 *inbox = &launch.spawner->inboxes[lane];
  if (load_relaxed_device(inbox) == 0) return 0;
  return exchange_seq_cst_device(inbox, 0u);  // acquire: pairs with the release in `push`
}

// --- Slots ----------------------------------------------------------------------------------------

GPU_RUN_INLINE u32 take_slot(const Launch &launch, Spawner &spawner) {
  const u32 free = free_list::pop(&spawner.free, [&](u32 number) { return &spawner.next[number - 1]; });
  if (free) return free - 1;
  // Looked at first, so that the count stays near the capacity however often threads ask.
  if (load_relaxed_device(&spawner.used) >= spawner.capacity) return NONE;
  const u32 fresh = fetch_add_relaxed_device(&spawner.used, 1u);
  if (fresh < spawner.capacity) return spawner.mail ? lane_at(launch.lanes, fresh) : fresh;
  fetch_add_relaxed_device(&spawner.used, ~0u);
  return NONE;
}

GPU_RUN_INLINE void give_slot(Spawner &spawner, u32 slot) {
  free_list::push(&spawner.free, slot + 1, [&](u32 number) { return &spawner.next[number - 1]; });
}

// --- Threads begin and end ------------------------------------------------------------------------

// What WASI's thread-spawn returns where there is no room for a thread: its errno `again`, negative.
constexpr u32 NO_ROOM = (u32)-6;

// Begins a thread of an instance. Returns its id, which is not 0, or NO_ROOM.
GPU_RUN_INLINE u32 begin(const Launch &launch, const Instance &instance, u32 argument) {
  if (!launch.spawner || !instance.thread_start) return NO_ROOM;
  Spawner &spawner = *launch.spawner;
  const u32 id = take_slot(launch, spawner);
  if (id == NONE) return NO_ROOM;
  // Before the thread can be seen, and by one that lives.
  red_max_device(&spawner.most, census::count_new(launch));
  red_add_device(&spawner.spawned, (u64)1);
  if (spawner.mail) {
    // Release: pairs with the acquire of the lane that has the slot.
    store_release_device(&spawner.mail[id], SPAWN_MAIL | argument);
    return id;
  }
  const u32 place = fetch_add_relaxed_device(&spawner.place, 1u) % launch.lanes;
  const u32 idle = claim_idle(launch, spawner, place);
  // The slot is this thread's until it is pushed.
  Thread &thread = launch.threads[id];
  thread.state = THREAD_New;
  thread.start = instance.thread_start - 1;
  thread.argument = argument;
  thread.home = idle == NONE ? lane_at(launch.lanes, place) : idle;
  push(launch, id, idle != NONE);
  return id;
}

// A thread is over, and its lane needs nothing of it any more. With the first one the process is: the others end at their
// next poll. One that faults meanwhile has come too late.
GPU_RUN_INLINE void finish(const Launch &launch, u32 id) {
  if (id != 0) return give_slot(*launch.spawner, id);
  frames::claim_end(launch);
  frames::stop_threads(launch);
}

// A thread has returned. With the first of a program that spawns threads, the process ends.
GPU_RUN_INLINE void count_returned(const Launch &launch, u32 id) {
  if (!launch.spawner || id != 0) census::count_ended(launch);
}

// Units of a thread's results: one that was spawned has none.
GPU_RUN_INLINE u32 result_units(const Launch &launch, u32 id) { return launch.spawner && id ? 0 : launch.result_units; }

// Threads that there can be at once.
GPU_RUN_INLINE u32 most_threads(const Launch &launch) {
  return launch.spawner ? launch.spawner->capacity : launch.thread_count;
}

}  // namespace spawn
}  // namespace gpu_run
