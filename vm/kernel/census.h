// How many threads live, and how many of them wait at an address without a time at which they go on by themselves. If all
// that live do, none of them will ever run again.
#pragma once

#include "access.h"

namespace gpu_run {
namespace census {

constexpr u64 LIVES = 1, WAITS = 1ull << 32;

// All changes are of one word, so they have one order, and nothing else is ordered by them. A thread counts as waiting
// only while it is in a queue. The thread that takes it out counts it back first, and lives meanwhile. So what is found
// here stays true.
GPU_RUN_INLINE u64 count(Census &census, u64 change) {
  const u64 now = fetch_add_relaxed_device(&census.counts, change) + change;
  if ((u32)now == now >> 32 && (u32)now != 0) store_relaxed_device(&census.deadlocked, 1u);
  return now;
}

GPU_RUN_INLINE void count_waiting(const Launch &launch) {
  if (launch.census) count(*launch.census, WAITS);
}
GPU_RUN_INLINE void count_woken(const Launch &launch) {
  if (launch.census) count(*launch.census, 0 - WAITS);
}
// Returns how many live then.
GPU_RUN_INLINE u32 count_new(const Launch &launch) { return (u32)count(*launch.census, LIVES); }
GPU_RUN_INLINE void count_ended(const Launch &launch) {
  if (launch.census) count(*launch.census, 0 - LIVES);
}

GPU_RUN_INLINE bool deadlocked(const Launch &launch) {
  return launch.census && load_relaxed_device(&launch.census->deadlocked) != 0;
}

// Whether the caller is the one to tell of a deadlock: nobody else did.
GPU_RUN_INLINE bool claim_deadlock(const Launch &launch) {
  u32 untold = 1;
  return deadlocked(launch) && compare_exchange_acq_rel_device(&launch.census->deadlocked, untold, 2u);
}

}  // namespace census
}  // namespace gpu_run
