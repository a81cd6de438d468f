// The atomics page of the instruction set: accesses, fence, and the queues of threads that wait at
// addresses. It has a function of its own, as the SIMD page.
//
// Guest atomics are sequentially consistent, and each is one operation on an aligned word of 32 or 64 bits. Those of 8
// and 16 bits work on the aligned 32-bit word around them. It lies in the memory too, because the memory's size is a
// multiple of 4.
//
// memory.atomic.wait never waits inside of the instruction. It puts the thread into the queue of its address and leaves
// the lane without moving on. When the thread runs again, the same instruction is executed once more, finds in
// `resume_state` how the wait ended, and is done. A queue is guarded by its bucket's lock, which is only ever tried: a
// lane that does not get it leaves too.
#pragma once

#include "bulk.h"
#include "frames.h"
#include "generated/isa.h"
#include "spawn.h"

namespace gpu_run {
namespace atomics {

// --- Accesses ---------------------------------------------------------------------------------

// Kinds of accesses, in the order of their numbers in the page: eight numbers for each.
enum Kind : u32 { LOAD, STORE, ADD, SUB, AND, OR, XOR, EXCHANGE, COMPARE_EXCHANGE };
constexpr u32 KINDS = COMPARE_EXCHANGE + 1;
// Widths in that order: an i32's 4 bytes, an i64's 8, an i32's 1 and 2, an i64's 1, 2 and 4.
constexpr u32 WIDTHS = 7;
static_assert(OP_i64_atomic_rmw32_cmpxchg_u == OP_i32_atomic_load + 8 * COMPARE_EXCHANGE + 6, "numbers tell kinds");

// Log2 of the bytes of a width, in hexadecimal digits from the right.
GPU_RUN_INLINE u32 log2_bytes(u32 width) { return 0x2101032u >> (4 * width) & 0xf; }
// Whether the values in registers are i64.
GPU_RUN_INLINE bool is_i64(u32 width) { return width == 1 || width >= 4; }

// An access to a word of type u32 or u64. Returns what was found, or 0 for a store.
template <typename T>
GPU_RUN_INLINE T access(u32 kind, T *at, T value, T expected) {
  switch (kind) {
    case LOAD: return load_seq_cst_device(at);
    case STORE: store_seq_cst_device(at, value); return 0;
    case ADD: return fetch_add_seq_cst_device(at, value);
    case SUB: return fetch_add_seq_cst_device(at, (T)(0 - value));
    case AND: return fetch_and_seq_cst_device(at, value);
    case OR: return fetch_or_seq_cst_device(at, value);
    case XOR: return fetch_xor_seq_cst_device(at, value);
    case EXCHANGE: return exchange_seq_cst_device(at, value);
    default: compare_exchange_seq_cst_device(at, expected, value); return expected;
  }
}

// What an access leaves where it found `old`.
GPU_RUN_INLINE u32 result(u32 kind, u32 old, u32 value, u32 expected) {
  switch (kind) {
    case ADD: return old + value;
    case SUB: return old - value;
    case AND: return old & value;
    case OR: return old | value;
    case XOR: return old ^ value;
    case COMPARE_EXCHANGE: return old == expected ? value : old;
    default: return value;
  }
}

// An access to 1 or 2 bytes, whose bits are `mask`. The loop is lock-free: it repeats only if another lane has changed
// the word.
GPU_RUN_INLINE u32 access_narrow(u32 kind, u8 *base, u64 at, u32 mask, u32 value, u32 expected) {
  u32 *word = (u32 *)(base + (at & ~3ull));
  u32 shift = (u32)(at & 3) * 8;
  if (kind == LOAD) return load_seq_cst_device(word) >> shift & mask;
  u32 found = load_relaxed_device(word);
  u32 old, desired;
  do {
    old = found >> shift & mask;
    desired = (found & ~(mask << shift)) | (result(kind, old, value, expected & mask) & mask) << shift;
  } while (!compare_exchange_seq_cst_device(word, found, desired));
  return old;
}

// --- Queues -----------------------------------------------------------------------------------

// Results of memory.atomic.wait. While a thread has one and was not told, its count in `resume_state` is one more.
enum Wait : u32 { WOKEN = 0, OTHER_VALUE = 1, TIMED_OUT = 2 };

GPU_RUN_INLINE Bucket &bucket_of(const Launch &launch, const u8 *at) {
  // Fibonacci hashing: neighbouring addresses get buckets far apart. 2^10 buckets.
  static_assert(WAIT_BUCKETS == 1024, "the shift takes 10 bits");
  return launch.buckets[(u64)at * 0x9e3779b97f4a7c15ull >> 54];
}

// Acquire: the lock's holder sees the queue as the last holder left it; pairs with `unlock`.
GPU_RUN_INLINE bool try_lock(Bucket &bucket) {
  u32 open = 0;
  return compare_exchange_acq_rel_device(&bucket.lock, open, 1u);
}
// Release: pairs with the acquire in `try_lock`.
GPU_RUN_INLINE void unlock(Bucket &bucket) { store_release_device(&bucket.lock, 0u); }

// Both need the lock.
GPU_RUN_INLINE void enqueue(const Launch &launch, Bucket &bucket, Thread &thread, u32 id) {
  thread.next = 0;
  thread.previous = bucket.last;
  (bucket.last ? launch.threads[bucket.last - 1].next : bucket.first) = id + 1;
  bucket.last = id + 1;
}
GPU_RUN_INLINE void unlink(const Launch &launch, Bucket &bucket, const Thread &thread) {
  (thread.next ? launch.threads[thread.next - 1].previous : bucket.last) = thread.previous;
  (thread.previous ? launch.threads[thread.previous - 1].next : bucket.first) = thread.next;
}

// Whether a thread that waits has no time at which it goes on by itself.
GPU_RUN_INLINE bool is_counted(const Thread &thread) { return thread.wake == ~0ull; }

// Takes the threads that wait at an address, `count` at most, out of their queue. Needs the lock.
GPU_RUN_INLINE u32 wake(const Launch &launch, Bucket &bucket, const u8 *at, u32 count) {
  u32 woken = 0;
  u32 seen = 0;
  for (u32 id = bucket.first; id != 0 && woken < count && !poll(launch, seen); seen++) {
    const u32 number = id - 1;
    Thread &thread = launch.threads[number];
    id = thread.next;
    if (thread.waits_at != at) continue;
    unlink(launch, bucket, thread);
    woken++;
    const bool counted = is_counted(thread), pushes = counted && spawn::has_inboxes(launch);
    if (counted) census::count_woken(launch);
    // Last, because from here on the thread is its lane's, which may enqueue it elsewhere. Release:
    // what was done here is before what that lane does once it has seen the flag (acquire).
    store_release_device(&thread.woken, 1u);
    // But for a thread that no lane has in a list: it is this lane's until it is pushed.
    if (pushes) spawn::push(launch, number, false);
  }
  return woken;
}

// Whether a thread in a queue goes on: it was woken, or its time is over. Called by its own lane.
GPU_RUN_NOINLINE bool wait_ended(const Launch &launch, Thread &thread) {
  // Acquire: pairs with the release in `wake`.
  bool woken = look_acquire_device(&thread.woken, 0u) != 0;
  if (!woken) {
    if (thread.wake == ~0ull || clock_ns() < thread.wake) return false;
    Bucket &bucket = bucket_of(launch, thread.waits_at);
    if (!try_lock(bucket)) return false;
    // A notify may have come first. Relaxed: it set the flag under the lock.
    woken = load_relaxed_device(&thread.woken) != 0;
    if (!woken) unlink(launch, bucket, thread);
    unlock(bucket);
  }
  resume::set_count(thread, 1 + (woken ? WOKEN : TIMED_OUT));
  return true;
}

// Begins to wait at `at` if the value there is `expected`. Returns whether the thread now is in the queue. If not,
// `resume_state` is the result, or 0 if the lock was not free.
//
// No wake-up is lost. A thread that changes the value and then notifies takes the lock after the
// change, and the value is compared here under the same lock. If this lane had the lock first, the
// notify finds the thread in the queue. Else the change is before the notify's unlock (release),
// which is before this lane's lock (acquire), so that the comparison sees the change.
GPU_RUN_INLINE bool begin_wait(const Launch &launch, Thread &thread, u32 id, u8 *at, bool wide, u64 expected,
                               u64 timeout) {
  Bucket &bucket = bucket_of(launch, at);
  if (!try_lock(bucket)) return false;
  u64 found = wide ? load_seq_cst_device((const u64 *)at) : load_seq_cst_device((const u32 *)at);
  if (found != expected) {
    resume::set_count(thread, 1 + OTHER_VALUE);
  } else if (timeout == 0) {
    resume::set_count(thread, 1 + TIMED_OUT);
  } else {
    u64 now = clock_ns();
    thread.wake = (i64)timeout < 0 || timeout >= ~0ull - now ? ~0ull : now + timeout;
    thread.waits_at = at;
    // Relaxed: a lane that sets it does so under the lock.
    store_relaxed_device(&thread.woken, 0u);
    enqueue(launch, bucket, thread, id);
    thread.state = THREAD_Waiting;
    // Under the lock, so that it comes before a notify counts the thread back.
    if (is_counted(thread)) census::count_waiting(launch);
  }
  unlock(bucket);
  return thread.state == THREAD_Waiting;
}

// --- The page ---------------------------------------------------------------------------------

// Runs the instruction at `pc`, whose first word is `w`, for thread number `id`.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, const u64 *pc, u64 w) {
  const u32 op = (u16)w;
  if (op == OP_atomic_fence) {
    fence_seq_cst_device();
    return {DONE_Step, 1, 0};
  }
  const bool waits = op == OP_memory_atomic_wait32 || op == OP_memory_atomic_wait64;
  const bool notifies = op == OP_memory_atomic_notify;
  const u32 number = op - OP_i32_atomic_load;
  u32 kind = number / 8, width = number % 8;
  if (waits || notifies) {
    kind = KINDS;
    width = op == OP_memory_atomic_wait64;
  } else if (op < OP_i32_atomic_load || kind >= KINDS || width >= WIDTHS) {
    return {DONE_Trap, TRAP_BadOpcode, 0};
  }
  const u32 words = kind <= STORE ? 2 : 3;
  // The memory: in the first word of loads and stores; else in the third, after a replacement.
  const u64 x = words == 3 ? load_code(pc + 2) : 0;
  const Memory &memory = *instance.memories[kind <= STORE ? slot(w, 3) : slot(x, kind == COMPARE_EXCHANGE)];
  const u64 bytes = 1ull << log2_bytes(width);
  u64 at;
  if (!far_address(memory, registers, slot(w, kind == STORE ? 1 : 2), load_code(pc + 1), bytes, at)) {
    return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
  }
  if (at & (bytes - 1)) return {DONE_Trap, TRAP_UnalignedAtomic, 0};

  auto busy = [&] { thread.state = THREAD_Busy; return StepResult{DONE_Wait, 0, 0}; };
  auto value_of = [&](u32 unit) { return is_i64(width) ? registers.get64(unit) : registers.get32(unit); };
  if (waits) {
    if (!memory.shared) return {DONE_Trap, TRAP_NotShared, 0};
    if (resume::begins(thread)) {
      u64 expected = value_of(slot(w, 3)), timeout = registers.get64(slot(x, 1));
      if (begin_wait(launch, thread, id, memory.base + at, width == 1, expected, timeout)) return {DONE_Wait, 0, 0};
      if (resume::begins(thread)) return busy();
    }
    registers.set32(slot(w, 1), resume::count(thread) - 1);
    resume::clear(thread);
    return {DONE_Step, words, 0};
  }
  if (notifies) {
    u32 woken = 0;
    // No thread can wait at a memory that is not shared.
    if (memory.shared) {
      Bucket &bucket = bucket_of(launch, memory.base + at);
      if (!try_lock(bucket)) return busy();
      woken = wake(launch, bucket, memory.base + at, registers.get32(slot(w, 3)));
      unlock(bucket);
    }
    registers.set32(slot(w, 1), woken);
    return {DONE_Step, words, 0};
  }

  const u64 operand = kind == LOAD ? 0 : value_of(slot(w, kind == STORE ? 2 : 3));
  const u64 value = kind == COMPARE_EXCHANGE ? value_of(slot(x, 0)) : operand;
  u64 found;
  if (bytes == 8) {
    found = access(kind, (u64 *)(memory.base + at), value, operand);
  } else if (bytes == 4) {
    found = access(kind, (u32 *)(memory.base + at), (u32)value, (u32)operand);
  } else {
    found = access_narrow(kind, memory.base, at, (1u << (8 * bytes)) - 1, (u32)value, (u32)operand);
  }
  if (kind == STORE) return {DONE_Step, words, 0};
  if (is_i64(width)) {
    registers.set64(slot(w, 1), found);
  } else {
    registers.set32(slot(w, 1), (u32)found);
  }
  return {DONE_Step, words, 0};
}

}  // namespace atomics
}  // namespace gpu_run
