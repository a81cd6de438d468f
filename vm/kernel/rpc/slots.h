// The slots of requests: which thread has one, and which may take one. See rpc/requests.h.
#pragma once

#include "rpc/mailbox.h"
#include "spawn.h"

namespace gpu_run {
namespace requests {

// Time after which a thread that found no slot looks again, in nanoseconds.
constexpr u64 NO_SLOT_PAUSE = 20000;
// The same where all threads may want one: at most 100 looks a microsecond by all of them. That is more often than
// slots become free, and does not keep the words of `taken` from threads that return slots.
GPU_RUN_INLINE u64 no_slot_pause(const Launch &launch) {
  u64 pause = spawn::most_threads(launch) * 10ull;
  return pause > NO_SLOT_PAUSE ? pause : NO_SLOT_PAUSE;
}

// Leaves the slot of a request that is not answered, of a thread that is gone. Release: pairs with the acquire in `recover`,
// for the number of the message.
GPU_RUN_INLINE void abandon_slot(Requests &requests, Thread &thread) {
  const u32 slot = thread.request - 1;
  if (!requests.own_slots) fetch_or_acq_rel_device(&requests.slot_use->abandoned[slot / 32], 1u << slot % 32);
  thread.request = 0;
}

// Makes those slots free that were left and that the host has answered since.
GPU_RUN_NOINLINE void recover_slots(Requests &requests) {
  SlotUse &use = *requests.slot_use;
  for (u32 at = 0; at < REQUEST_SLOTS / 32; at++) {
    for (u32 left = load_acquire_device(&use.abandoned[at]); left; left &= left - 1) {
      const u32 bit = left & -left, slot = at * 32 + (u32)__builtin_ctz(left);
      const u64 head = load_relaxed_system(&requests.answered[slot].words[0]);
      if ((u32)(head >> 32) != load_relaxed_device(&use.messages[slot])) continue;
      // Of several lanes one makes it free. Release, as in `give_slot`.
      if (fetch_and_acq_rel_device(&use.abandoned[at], ~bit) & bit) fetch_and_release_device(&use.taken[at], ~bit);
    }
  }
}

// Takes a free slot for thread `id`; 0 if none was found, else 1 + its number. Acquire: what its last owner did in it
// is over; pairs with `give_slot`.
GPU_RUN_INLINE u32 take_slot(Requests &requests, u32 id) {
  if (requests.own_slots) return 1 + id;
  constexpr u32 WORDS = REQUEST_SLOTS / 32;
  // Neighbours begin at different bits. A thread that finds its bit taken sees which are free.
  u32 bit = id / WORDS % 32;
  for (u32 i = 0; i < WORDS; i++) {
    u32 at = (id + i) % WORDS, found;
    if (!~load_relaxed_device(&requests.slot_use->taken[at])) continue;
    while (found = fetch_or_acquire_device(&requests.slot_use->taken[at], 1u << bit), found >> bit & 1) {
      if (~found == 0) break;
      bit = (u32)__builtin_ctz(~found);
    }
    if (!(found >> bit & 1)) return 1 + at * 32 + bit;
  }
  recover_slots(requests);
  return 0;
}

// Release: pairs with the acquire in `take_slot`.
GPU_RUN_INLINE void give_slot(Requests &requests, Thread &thread) {
  u32 slot = thread.request - 1;
  if (!requests.own_slots) fetch_and_release_device(&requests.slot_use->taken[slot / 32], ~(1u << slot % 32));
  thread.request = 0;
}

GPU_RUN_INLINE StepResult wait_for_answer(Thread &thread) {
  thread.state = THREAD_Requesting;
  return {DONE_Wait, 0, 0};
}

}  // namespace requests
}  // namespace gpu_run
