// How a thread and the host exchange requests: by the words of a message (layout.h: RequestMessage) and those of its
// response (Response). What is longer is in the slot (RequestSlot). src/requests/mailbox.rs is the host's half. As in
// NCCL's LL protocol, each word carries a flag beside its data, so that it needs no fence.
//
// A message has a number in its slot: 1, 2, …, and again 1 after 2^32 - 1. Each word of it has that number in its upper
// half and its data in its lower one; so has each word of the response.
//
//   device: stores the words of message n, in any order
//   host:   polls the head until it has another number than the last one; takes the message once all words that its
//           function has are there with that number too
//   host:   stores the words of response n, the head last
//   device: polls the head and the word beside it until all that the head counts have the number n
//
// No fence is needed: a word itself says whether it is there.
// - It cannot be torn: an aligned access of 8 bytes is one access, on both sides.
// - An old word is not taken for a new one: its number is another. Numbers come again after 2^32 - 1 messages, and an
//   argument that only other functions have, or a result, may be as old as that. So at two numbers, half of all apart,
//   the host clears these words of a slot before it responds. Then those that are left are younger.
// - Neither side writes over what the other has still to read. The device stores message n + 1 only after it has seen
//   response n, before which the host has read all of message n. The host stores response n + 1 only after it has seen
//   that message, which the device sends once it has done with response n.
//
// What is longer than that is plain data in the slot, and the head publishes it. With MESSAGE_DATA the head is a
// store-release, which the host loads with acquire. With RESPONSE_SLOT it is the other way round, and a fence precedes
// the next message. On a GPU each of these takes half a microsecond, which is why short messages do without.
//
// Input longer than a slot is sent in pieces: the host's response to each but the last is empty. Data of a response
// longer than a slot comes in pieces: the device asks for each but the first.
#pragma once

#include "frames.h"

namespace gpu_run {
namespace requests {

// A message that the thread begins in its slot.
struct Outgoing {
  RequestMessage &message;
  u64 number;  // in the upper half

  GPU_RUN_INLINE void put(u32 index, u32 first, u32 second) const {
    store_pair_relaxed_system(&message.words[index], number | first, number | second);
  }
};

// Bytes of input in all messages of the call that the slot has.
GPU_RUN_INLINE u32 total_input(const Requests &requests, const Thread &thread) {
  return (u32)load_relaxed_system(&requests.sent[thread.request - 1].words[MESSAGE_Total]);
}

// The number after another one. 0 means none: words have it before the first message.
GPU_RUN_INLINE u32 next_number(u32 last) { return last + 1 ? last + 1 : 1; }

// Begins the slot's next message, of which the thread then knows the number.
GPU_RUN_INLINE Outgoing begin_message(Requests &requests, Thread &thread) {
  u32 slot = thread.request - 1;
  thread.message_number = next_number(requests.own_slots ? thread.message_number : requests.slot_use->messages[slot]);
  if (!requests.own_slots) requests.slot_use->messages[slot] = thread.message_number;
  return {requests.sent[slot], (u64)thread.message_number << 32};
}

// Sends the message, whose other words are stored. With `data` it says that there is some in the slot. Release:
// pairs with the acquire load of `take` in src/requests/mailbox.rs.
GPU_RUN_INLINE void send(Requests &requests, Thread &thread, u32 id, const Outgoing &message, u32 function,
                         RequestKind kind, u32 flags) {
  u32 head = function | kind << MESSAGE_KIND | flags;
  if (requests.process) {
    id = requests.process - 1;
    requests.asked = 1;
    if (requests.child && kind == REQUEST_Call) {
      head |= MESSAGE_OF_CHILD;
      store_relaxed_system(&message.message.words[MESSAGE_CHILD], message.number | requests.child);
    }
  }
  if (flags & MESSAGE_DATA) {
    store_relaxed_system(&message.message.words[MESSAGE_Thread], message.number | id);
    store_release_system(&message.message.words[MESSAGE_Head], message.number | head);
  } else {
    message.put(MESSAGE_Head, head, id);
  }
  // There is no response's head yet, as its number is 0.
  thread.response_head = 0;
  ring_doorbell(requests.bell, requests.bell_context);
}

// Looks at a response: whether it is that of message `number`. Then `head` is its head, and `first` the word beside it.
GPU_RUN_INLINE bool look(const Response &answer, u32 number, u64 &head, u64 &first) {
  load_pair_relaxed_system(answer.words, head, first);
  if ((u32)(head >> 32) != number) return false;
  return ((u32)head >> RESPONSE_COUNT & RESPONSE_RESULTS) == 0 || (u32)(first >> 32) == number;
}

// Whether the host has responded to the thread's last message. The head and the first result are then kept with the
// thread, so that they are not read over the bus again.
GPU_RUN_INLINE bool answered(const Requests &requests, Thread &thread) {
  if ((u32)(thread.response_head >> 32) == thread.message_number) return true;
  u64 head, first;
  if (!look(requests.answered[thread.request - 1], thread.message_number, head, first)) return false;
  thread.response_head = head;
  thread.answer = (u32)first;
  return true;
}

// Cycles by which the first look comes sooner after one that found the response. It comes later after one that did not
// when the second look did. The last is the latest time of a first look.
constexpr u32 LOOK_SOONER = 16;
constexpr u32 LOOK_LATER = 128;
constexpr u32 LOOK_LATEST = 3000;

// For a lane with nothing else to do: looks several times for the response to message `number`. Bounded, as other lanes
// of its warp may wait for it.
//
// A look takes a microsecond, and after one that came too early the response waits for the next. So the first look
// comes when recent responses were there. By the steps above it settles where about one of nine is too early. All lanes
// have that time in common. Plain accesses: whichever value a lane reads is as good.
GPU_RUN_INLINE bool poll_response_timed(Requests &requests, const Response &answer, u32 number, u64 &head, u64 &first) {
  if (RESPONSE_POLLS == 1) return look(answer, number, head, first);
  const u32 begin = cycles(), wait = load_guest(&requests.slot_use->first_look);
  while (cycles() - begin < wait) {}
  GPU_RUN_NO_UNROLL
  for (u32 i = 0; i < RESPONSE_POLLS; i++) {
    if (!look(answer, number, head, first)) continue;
    // A lane that finds it later still has waited for more than the round trip.
    if (i == 0) store_guest(&requests.slot_use->first_look, wait - (u32)lesser(wait, LOOK_SOONER));
    if (i == 1) store_guest(&requests.slot_use->first_look, (u32)lesser(wait + LOOK_LATER, LOOK_LATEST));
    return true;
  }
  return false;
}

// As `answered`, for such a lane.
GPU_RUN_NOINLINE bool poll_response(Requests &requests, Thread &thread) {
  const u32 number = thread.message_number;
  u64 head = thread.response_head, first;
  if ((u32)(head >> 32) == number) return true;
  const Response &answer = requests.answered[thread.request - 1];
  if (!poll_response_timed(requests, answer, number, head, first)) return false;
  thread.response_head = head;
  thread.answer = (u32)first;
  return true;
}

// The results of a response that are in its words: as many as fit there. False if one is still on its way.
GPU_RUN_INLINE bool take_results(const Requests &requests, const Thread &thread, u32 (&results)[RESPONSE_RESULTS]) {
  const u32 count = (u32)thread.response_head >> RESPONSE_COUNT & RESPONSE_RESULTS;
  results[0] = thread.answer;
  if (count < 2) return true;
  u64 second, third;
  load_pair_relaxed_system(&requests.answered[thread.request - 1].words[2], second, third);
  results[1] = (u32)second;
  results[2] = (u32)third;
  return (u32)(second >> 32) == thread.message_number && (count < 3 || (u32)(third >> 32) == thread.message_number);
}

// The slot of a response, as the host left it. Acquire: pairs with the release store of `answer` in
// src/requests/mailbox.rs.
GPU_RUN_INLINE RequestSlot &response_slot(Requests &requests, const Thread &thread) {
  u32 slot = thread.request - 1;
  acquire_seen_system(&requests.answered[slot].words[0]);
  return requests.slots[slot];
}

// Before the slot's next message, for which the host may write there: what was read there is read.
GPU_RUN_INLINE void leave_slot() { release_fence_system(); }

}  // namespace requests
}  // namespace gpu_run
