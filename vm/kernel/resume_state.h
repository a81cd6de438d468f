// Thread::resume_state: where a thread goes on with an instruction that runs in several pieces. 0: it begins.
//
// The state is tags in the uppermost bits and payloads below them. A thread runs one instruction at a time, so payloads
// of different instructions may have the same bits. Those of one call of the host may be there together: they, and the
// tags, have bits of their own, which is asserted here.
#pragma once

#include "layout.h"

namespace gpu_run {
namespace resume {

// A range of bits of the state.
struct Field {
  u32 at, bits;

  constexpr u64 mask() const { return (bits < 64 ? (1ull << bits) - 1 : ~0ull) << at; }
  constexpr u64 get(u64 state) const { return (state & mask()) >> at; }
  // A value that fits, where it belongs.
  constexpr u64 put(u64 value) const { return value << at; }
  constexpr bool holds(u64 value) const { return value <= mask() >> at; }
};

constexpr bool are_disjoint() { return true; }
template <typename... Rest>
constexpr bool are_disjoint(Field first, Rest... rest) {
  return (((first.mask() & rest.mask()) == 0) && ...) && are_disjoint(rest...);
}

// --- Tags: what a thread does with a call of the host -------------------------------------------

constexpr Field TAGS = {57, 7};
// It waits for the host with the lock of the tmpfs descriptor that the call's first argument names, or the second.
constexpr u64 HOLDS_TMPFS = 1ull << 57, HOLDS_SECOND_TMPFS = HOLDS_TMPFS << 1;
// It polls: subscriptions below POLLED are looked at.
constexpr u64 POLLS_TMPFS = 1ull << 59;
// It tells the host the offset of TOLD, which it has locked, because it polls.
constexpr u64 TELLS_TMPFS = 1ull << 60;
// It has the lock of DESCRIPTOR, and tells the host its position before the call.
constexpr u64 RETIRES_FILE = 1ull << 61;
// It has the lock of DESCRIPTOR, and the call is under way.
constexpr u64 HOLDS_FILE = 1ull << 62;
// It writes to a stream, of which WRITTEN bytes are in the ring, and LINE may go there as lines.
constexpr u64 WRITES_STREAM = 1ull << 63;
static_assert((HOLDS_TMPFS | HOLDS_SECOND_TMPFS | POLLS_TMPFS | TELLS_TMPFS | RETIRES_FILE | HOLDS_FILE |
               WRITES_STREAM) == TAGS.mask(),
              "the tags are the bits of their field");

// --- Payloads -----------------------------------------------------------------------------------

// For an instruction that has the state to itself: bytes of a text or of random bytes, or blocks of a batch. Also 1 +
// the result of a wait, or 1 after a sleep. After a trap of the heap it is the address for the record of the end.
constexpr Field COUNT = {0, 32};
static_assert(are_disjoint(COUNT, TAGS), "a count is no tag");

constexpr Field DESCRIPTOR = {0, 32};
static_assert(are_disjoint(DESCRIPTOR, TAGS), "RETIRES_FILE, HOLDS_FILE");

constexpr Field POLLED = {0, 32}, TOLD = {32, 16};
static_assert(are_disjoint(POLLED, TOLD, TAGS), "POLLS_TMPFS, TELLS_TMPFS");
static_assert(TOLD.holds(TMPFS_DESCRIPTORS - 1), "every descriptor can be told of");

// The place in a work queue that a thread has drawn, and that it has one.
constexpr Field TICKET = {0, 32}, DRAWN = {32, 1};
static_assert(are_disjoint(TICKET, DRAWN, TAGS), "a ticket is no tag");

// Bytes that a call reads or writes at most: more buffers than that are used in part, as WASI allows.
constexpr u64 MOST_BYTES = 1 << 20;
constexpr Field WRITTEN = {0, 32}, LINE = {32, 21};
static_assert(are_disjoint(WRITTEN, LINE, TAGS), "WRITES_STREAM");
static_assert(WRITTEN.holds(MOST_BYTES) && LINE.holds(MOST_BYTES), "a whole write is counted");

// The streams that the descriptors of `fd_renumber` were, which may be of tmpfs too.
constexpr Field FROM_STREAM = {0, 8}, TO_STREAM = {8, 8};
static_assert(are_disjoint(FROM_STREAM, TO_STREAM, TAGS), "HOLDS_TMPFS, HOLDS_SECOND_TMPFS");

// --- What is done with them ---------------------------------------------------------------------

GPU_RUN_INLINE bool has(const Thread &thread, u64 tag) { return (thread.resume_state & tag) != 0; }
GPU_RUN_INLINE u64 get(const Thread &thread, Field field) { return field.get(thread.resume_state); }
GPU_RUN_INLINE u32 count(const Thread &thread) { return (u32)get(thread, COUNT); }
GPU_RUN_INLINE bool begins(const Thread &thread) { return thread.resume_state == 0; }
// The state of an instruction that has it for itself; 0 ends the instruction.
GPU_RUN_INLINE void set_count(Thread &thread, u64 count) { thread.resume_state = COUNT.put(count); }
GPU_RUN_INLINE void set_ticket(Thread &thread, u32 ticket) { thread.resume_state = TICKET.put(ticket) | DRAWN.put(1); }
GPU_RUN_INLINE void clear(Thread &thread) { thread.resume_state = 0; }

}  // namespace resume
}  // namespace gpu_run
