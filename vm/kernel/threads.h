// What threads need of their lane whether they are interpreted or compiled: to begin, and to go on after
// a wait.
#pragma once

#include "ops/exceptions.h"
#include "ops/work.h"
#include "rpc/requests.h"

namespace gpu_run {
namespace threads {

// The first lane to come says when the launch began; 0 is no time on either clock.
GPU_RUN_INLINE void begin_clock(const Launch &launch) {
  // Looked at first, because exchanges of all lanes would come one after another.
  if (load_relaxed_device(&launch.clock_start) != 0) return;
  u64 unset = 0;
  compare_exchange_acq_rel_device(&launch.clock_start, unset, clock_ns());
}

// Prepares the globals, stack and thread-local storage of a new thread.
GPU_RUN_INLINE void prepare(const Launch &launch, Thread &thread, u32 id) {
  // The first thread of a program that spawns some works on the store's own globals, as any single thread.
  const Spawner *spawner = id ? launch.spawner : nullptr;
  const u64 *initial = spawner ? spawner->initial_globals : launch.initial_globals;
  thread.globals = (spawner ? spawner->globals : launch.thread_globals) + (u64)id * launch.globals_per_thread;
  resume::clear(thread);
  thread.request = 0;
  // A slot's goes on from thread to thread, because its mailbox does.
  if (!spawner) thread.message_number = 0;
  thread.exceptions = 0;
  thread.exception_count = 0;
  thread.exception_limit = exceptions::collect_after(launch);
  if (spawner || launch.thread_count > 1) {
    for (u32 i = 0; i < launch.globals_per_thread; i++) thread.globals[i] = initial[i];
  }
  thread.stack_limit = 0;
  if (launch.stack_size && launch.stack_pointer != ~0u) {
    u32 top = launch.stack_top - id * launch.stack_size;
    thread.globals[launch.stack_pointer] = top;
    thread.stack_limit = top - launch.stack_size;
  }
  if (launch.tls_base != ~0u && id != 0) {
    thread.globals[launch.tls_base] = launch.tls_first + id * launch.tls_stride;
  }
}

// Whether a thread that has begun can run now: it does not sleep or wait any more.
GPU_RUN_INLINE bool can_go_on(const Launch &launch, Thread &thread) {
  switch (thread.state) {
    case THREAD_Sleeping: return clock_ns() >= thread.wake;
    case THREAD_Waiting: return atomics::wait_ended(launch, thread);
    case THREAD_Requesting: return requests::answered(*launch.requests, thread);
    default: return true;
  }
}

}  // namespace threads
}  // namespace gpu_run
