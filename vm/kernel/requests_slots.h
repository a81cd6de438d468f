// The slots of requests: who has one, and whose turn it is. See requests.h.
#pragma once

#include "frames.h"

namespace gpu_run {
namespace requests {

// Time after which a thread that found no slot looks again, in nanoseconds.
constexpr u64 NO_SLOT_PAUSE = 20000;

// Takes a free slot for thread `id`; 0 if there is none, else 1 + its number. Acquire: what its last owner
// did in it is over; pairs with `give_slot`.
GPU_RUN_INLINE u32 take_slot(Requests &requests, u32 id) {
  constexpr u32 WORDS = REQUEST_SLOTS / 32;
  for (u32 i = 0; i < WORDS; i++) {
    // Neighbours begin at different words.
    u32 at = (id + i) % WORDS, found = load_relaxed_device(&requests.taken[at]);
    while (~found) {
      u32 bit = (u32)__builtin_ctz(~found);
      if (compare_exchange_acq_rel_device(&requests.taken[at], found, found | 1u << bit)) return 1 + at * 32 + bit;
    }
  }
  return 0;
}

// Release: pairs with the acquire in `take_slot`.
GPU_RUN_INLINE void give_slot(Requests &requests, Thread &thread) {
  u32 slot = thread.request - 1;
  u32 *word = &requests.taken[slot / 32], found = load_relaxed_device(word);
  while (!compare_exchange_acq_rel_device(word, found, found & ~(1u << slot % 32))) {
  }
  thread.request = 0;
}

// Whether the host has answered the thread's last message. Acquire: the slot is as the host left it; pairs
// with the release store of `publish` in src/requests.rs.
GPU_RUN_INLINE bool answered(const Requests &requests, const Thread &thread) {
  const u32 *mailbox = &requests.answered[thread.request - 1];
  // Looked at first without an order, because an acquire empties the multiprocessor's cache.
  return load_relaxed_system(mailbox) == thread.mail && load_acquire_system(mailbox) == thread.mail;
}

// Gives the thread's slot to the host as a message. Release: pairs with the acquire load of `pending` in
// src/requests.rs.
GPU_RUN_INLINE void send(Requests &requests, Thread &thread, RequestKind kind) {
  u32 slot = thread.request - 1;
  requests.slots[slot].kind = kind;
  thread.mail = ++requests.mails[slot];
  store_release_system(&requests.sent[slot], thread.mail);
  ring_bell(requests.bell, requests.bell_context);
}

GPU_RUN_INLINE Done wait_for_answer(Thread &thread) {
  thread.state = THREAD_Requesting;
  return {DONE_Wait, 0, 0};
}

}  // namespace requests
}  // namespace gpu_run
