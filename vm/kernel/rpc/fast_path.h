// Calls that are the host's alone and no more than their arguments: the shortest path from a lane to the host and back.
// On a GPU most of the time of such a request would otherwise be the lane's own.
#pragma once

#include "rpc/process_calls.h"
#include "rpc/tmpfs.h"

namespace gpu_run {
namespace requests {

// The last one reads what `touch` in rpc/tmpfs_calls.h stores, for which `queue` has a fence.
constexpr u64 NOT_PLAIN = LOCAL_FUNCTIONS | PROCESS_FUNCTIONS | FILE_FUNCTIONS | TMPFS_FUNCTIONS | STREAM_FUNCTIONS | TMPFS_LEFT |
                          WITH_BUFFERS | set_of(wasi::FN_fd_filestat_set_times);

// Of an instruction's first word.
GPU_RUN_INLINE bool is_plain(u64 w) {
  return !is_in(NOT_PLAIN, slot(w, (u16)w == OP_request_queue ? 1 : 2));
}

// Loads come first and together in these, because whatever a lane has stored before lies in the L2 cache.

// As `queue` does it, where each thread has a slot of its own.
GPU_RUN_INLINE void queue_plain(Requests &requests, Thread &thread, u32 id, Registers registers, u64 w) {
  const u32 number = next_number(thread.message_number);
  const Outgoing message = {requests.sent[id], (u64)number << 32};
  thread.message_number = number;
  thread.request = 1 + id;
  message.put(MESSAGE_Capacity, 0, 0);
  const u32 first = slot(w, 2), units = slot(w, 3);
  GPU_RUN_NO_UNROLL
  for (u32 i = 0; i < units; i += 2) {
    message.put(MESSAGE_Units + i, registers.get32(first + i), i + 1 < units ? registers.get32(first + i + 1) : 0);
  }
  send(requests, thread, id, message, slot(w, 1), REQUEST_Call, 0);
}

// As `poll`. False if there is no response yet, or more of it than an errno: then `poll` goes on.
GPU_RUN_INLINE bool poll_plain(Requests &requests, Thread &thread, u32 id, Registers registers, u64 w) {
  const u32 number = thread.message_number, request = thread.request;
  const Response &answer = requests.answered[id];
  u64 head = thread.response_head, first;
  if (request == 0 || (u32)(head >> 32) == number) return false;
  if (!poll_response_timed(requests, answer, number, head, first)) return false;
  if ((u32)head >> RESPONSE_COUNT) {
    thread.response_head = head;
    thread.answer = (u32)first;
    return false;
  }
  thread.request = 0;
  registers.set32(slot(w, 1), (u32)head);
  return true;
}

// Runs one of the two instructions, whose first word is `w`, in this way. False if that is not all, or there is no
// response after several looks: then `queue` or `poll` goes on.
GPU_RUN_INLINE bool run_plain(const Launch &launch, Thread &thread, u32 id, Registers registers, u64 w) {
  Requests *requests = launch.requests;
  if (!is_plain(w) || !requests || !requests->own_slots) return false;
  if ((u16)w == OP_request_queue) {
    queue_plain(*requests, thread, id, registers, w);
    return true;
  }
  // A lane with other threads does not wait for the response.
  return !launch.multiplexed && poll_plain(*requests, thread, id, registers, w);
}

}  // namespace requests
}  // namespace gpu_run
