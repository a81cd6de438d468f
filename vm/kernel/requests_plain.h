// Calls that are the host's alone and no more than their arguments: the shortest way from a lane to the host and back.
// On a GPU most of the time of such a request would else be the lane's own.
#pragma once

#include "requests_files.h"

namespace gpu_run {
namespace requests {

constexpr u64 NOT_PLAIN = LOCAL_FUNCTIONS | FILE_FUNCTIONS | STREAM_FUNCTIONS | WITH_BUFFERS;

// Of an instruction's first word.
GPU_RUN_INLINE bool is_plain(u64 w) {
  return !is_in(NOT_PLAIN, slot(w, (u16)w == OP_request_queue ? 1 : 2));
}

// As `queue` does it, where each thread has a slot of its own.
GPU_RUN_INLINE void queue_plain(Requests &requests, Thread &thread, u32 id, Registers registers, u64 w) {
  thread.request = 1 + id;
  const Outgoing message = begin_message(requests, thread);
  message.put(MAIL_Capacity, 0, 0);
  const u32 first = slot(w, 2), units = slot(w, 3);
  GPU_RUN_NO_UNROLL
  for (u32 i = 0; i < units; i += 2) {
    // Behind the last one lies what the host does not look at.
    message.put(MAIL_Units + i, registers.get32(first + i), i + 1 < units ? registers.get32(first + i + 1) : 0);
  }
  send(requests, thread, id, message, slot(w, 1), REQUEST_Call, 0);
}

// As `poll`. False if there is no answer yet, or more of it than an errno: then `poll` goes on.
GPU_RUN_INLINE bool poll_plain(const Requests &requests, Thread &thread, Registers registers, u64 w) {
  if (thread.request == 0 || !await_answer(requests, thread)) return false;
  const u32 head = (u32)thread.answer_head;
  if (head >> ANSWER_COUNT) return false;
  registers.set32(slot(w, 1), head);
  thread.request = 0;
  return true;
}

}  // namespace requests
}  // namespace gpu_run
