// The threads of a lane of the interpreter, where the program spawns threads. Lists are linked by Thread::link, which is
// the lane's as long as the thread is in one of its lists. A thread that waits until another wakes it is in none: then
// its bucket has it (ops/atomics.h).
#pragma once

#include "threads.h"

namespace gpu_run {

// Numbers are 1 + a thread's, or 0.
struct RunLists {
  u32 first_ready, last_ready;  // threads that can run, or try again, in the order of their turns
  u32 timed;  // that sleep, wait until a time, or wait for the host
  u64 look_after;  // when those in `timed` are looked at again, on the device's clock
  bool told_idle;  // others may give the lane a thread
  bool leaves;  // the process has ended
  bool counted_out;  // in Spawner::lanes_out
};

namespace run_lists {

GPU_RUN_INLINE Thread &thread_at(const Launch &launch, u32 number) { return launch.threads[number - 1]; }

GPU_RUN_INLINE void append_ready(const Launch &launch, RunLists &lists, u32 number) {
  thread_at(launch, number).link = 0;
  (lists.last_ready ? thread_at(launch, lists.last_ready).link : lists.first_ready) = number;
  lists.last_ready = number;
}

GPU_RUN_INLINE u32 take_ready(const Launch &launch, RunLists &lists) {
  const u32 number = lists.first_ready;
  lists.first_ready = thread_at(launch, number).link;
  if (!lists.first_ready) lists.last_ready = 0;
  return number;
}

// Puts a thread that has had its turn and has not ended where it belongs.
GPU_RUN_INLINE void put_back(const Launch &launch, RunLists &lists, u32 number) {
  Thread &thread = thread_at(launch, number);
  switch (thread.state) {
    case THREAD_Waiting:
      // The thread that wakes it leaves it in the inbox, maybe already now.
      if (atomics::is_counted(thread)) return;
      [[fallthrough]];
    case THREAD_Sleeping:
    case THREAD_Requesting:
      thread.link = lists.timed;
      lists.timed = number;
      return;
    default: append_ready(launch, lists, number);
  }
}

// Finds threads that can run again: sleepers, those whose time is over, and those that have an answer.
GPU_RUN_NOINLINE void look_at_timed(const Launch &launch, RunLists &lists) {
  const u64 begin = clock_ns();
  // There may be very many: as long as others can run, at most half of the time goes to them.
  if (lists.first_ready && begin < lists.look_after) return;
  for (u32 *at = &lists.timed; *at;) {
    const u32 number = *at;
    Thread &thread = thread_at(launch, number);
    if (!threads::can_go_on(launch, thread)) {
      at = &thread.link;
      continue;
    }
    *at = thread.link;
    thread.state = THREAD_Runnable;
    append_ready(launch, lists, number);
  }
  const u64 end = clock_ns();
  lists.look_after = end + (end - begin);
}

// Takes the threads that can run again, and those that others have left.
GPU_RUN_INLINE void collect(const Launch &launch, RunLists &lists, u32 lane) {
  if (lists.timed) look_at_timed(launch, lists);
  // The last one that came is the first in the inbox.
  u32 in_order = 0;
  for (u32 number = spawn::take(launch, lane); number;) {
    Thread &thread = thread_at(launch, number);
    const u32 next = thread.link;
    thread.link = in_order;
    in_order = number;
    number = next;
  }
  while (in_order) {
    const u32 next = thread_at(launch, in_order).link;
    append_ready(launch, lists, in_order);
    in_order = next;
  }
}

// Nanoseconds that a lane without threads that can run need not look after the others.
GPU_RUN_INLINE u64 time_to_rest(const Launch &launch, const RunLists &lists) {
  // The stop flag is looked at so often, and responses of the host.
  u64 most = 500000;
  constexpr u64 RESPONSES = 50000;
  const u64 now = lists.timed ? clock_ns() : 0;
  for (u32 number = lists.timed; number;) {
    const Thread &thread = thread_at(launch, number);
    const u64 length = thread.state == THREAD_Requesting ? RESPONSES : thread.wake > now ? thread.wake - now : 0;
    if (length < most) most = length;
    number = thread.link;
  }
  return most;
}

// Passes the next thread on to a lane that has none, if there is one.
GPU_RUN_INLINE void share(const Launch &launch, RunLists &lists, u32 lane) {
  if (!lists.first_ready) return;
  const u32 idle = spawn::claim_idle(launch, *launch.spawner, spawn::place_of(launch.lanes, lane));
  if (idle == spawn::NONE) return;
  const u32 number = take_ready(launch, lists);
  // Atomic, because lanes look where the first thread is.
  store_relaxed_device(&thread_at(launch, number).home, idle);
  spawn::push(launch, number - 1, true);
}

}  // namespace run_lists
}  // namespace gpu_run
