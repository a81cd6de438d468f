// What threads do with each other beside WebAssembly's own atomics: work queues, barriers, locks, and waiting at an
// address of a memory that need not be shared. All of it lies in linear memory, where the guest made it.
//
// Lanes of a warp that are here together, with the same queue or barrier, act as one: each of its words is changed once
// for all of them. Without that, all lanes of a device would change one word one after the other.
//
// A guest may write anything to these words. So each address is looked at, and every value is taken for possible: what
// comes of nonsense is nonsense in the guest's own memory.
#pragma once

#include "ops/atomics.h"

namespace gpu_run {
namespace work {

// --- Work queues --------------------------------------------------------------------------------
//
// A ring of values. A thread that pushes or pops first takes a credit: there is room, or there is a value. With it goes
// a ticket, which names a slot and says in which state the slot must be. It may still belong to a thread with an earlier
// ticket, which has not yet come to write or read it: then this one comes again.
//
// After D. Vyukov's bounded queue, whose slots tell by a number whose turn it is. The credits let a thread that finds no
// room or no value say so at once, and tickets need no compare-and-exchange that most of many lanes would lose.

struct Queue {
  u32 tail;   // tickets of pushes
  u32 room;   // slots that no push has a credit for, signed: below 0 while some who found none give theirs back
  u32 head;   // tickets of pops
  u32 items;  // values that no pop has a credit for, signed as `room`
  u32 mask;   // number of slots less 1: a power of two, 2 at least
  u32 unused;
};
// In a slot's upper half: its state less its index, so that memory of zeros is a queue of empty slots. For ticket t
// of the slot `index` = t & mask: t - index while it is empty, 1 more while it has t's value; then what the next ticket
// of this slot finds as empty.
GPU_RUN_INLINE u64 in_slot(u32 value, u32 state) { return join(value, state); }

// Takes credits and tickets for the lanes of a group. Returns whether this lane got one.
GPU_RUN_INLINE bool draw(const CoalescedGroup &group, u32 *credits, u32 *tickets, u32 &ticket) {
  u32 granted = 0, first = 0;
  if (group.is_leader()) {
    // Relaxed, here and below: a slot's state says when it may be read or written, and orders that.
    const i32 had = (i32)fetch_add_relaxed_device(credits, 0 - group.size);
    granted = had <= 0 ? 0 : (u32)had < group.size ? (u32)had : group.size;
    if (granted < group.size) fetch_add_relaxed_device(credits, group.size - granted);
    if (granted) first = fetch_add_relaxed_device(tickets, granted);
  }
  granted = broadcast(group, granted);
  first = broadcast(group, first);
  ticket = first + group.rank;
  return group.rank < granted;
}

// Gives one credit for each lane that is here with the same word.
GPU_RUN_INLINE void give(u32 *credits) {
  const CoalescedGroup group = match_group((u64)credits);
  if (group.is_leader()) fetch_add_relaxed_device(credits, group.size);
}

// WORK_PUSH and WORK_POP.
GPU_RUN_INLINE StepResult execute_queue(Thread &thread, const Memory &memory, Registers registers, u64 w) {
  const bool pushes = (u16)w == OP_work_push;
  const u64 at = registers.get32(slot(w, 2)), size = load_relaxed_device(&memory.size);
  if (!in_bounds(at, sizeof(Queue), size)) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
  if (at % 8) return {DONE_Trap, TRAP_UnalignedAtomic, 0};
  Queue &queue = *(Queue *)(memory.base + at);
  u32 ticket = (u32)resume::get(thread, resume::TICKET);
  if (resume::begins(thread)) {
    const CoalescedGroup group = match_group((u64)&queue + pushes);
    const bool drew = pushes ? draw(group, &queue.room, &queue.tail, ticket) : draw(group, &queue.items, &queue.head, ticket);
    if (!drew) {
      if (pushes) registers.set32(slot(w, 1), 0);
      else registers.set64(slot(w, 1), ~0ull);
      return {DONE_Step, 1, 0};
    }
  }
  const u32 mask = load_relaxed_device(&queue.mask), index = ticket & mask;
  if (!in_bounds(at + sizeof(Queue), 8 * ((u64)index + 1), size)) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
  u64 *place = (u64 *)(memory.base + at + sizeof(Queue)) + index;
  // Acquire: pairs with the release of the thread that left the slot in this state.
  const u64 found = load_acquire_device(place);
  const u32 empty = ticket - index, state = (u32)(found >> 32);
  if (state != empty + !pushes) {
    resume::set_ticket(thread, ticket);
    thread.state = THREAD_Busy;
    return {DONE_Wait, 0, 0};
  }
  resume::clear(thread);
  // Release: what the thread did before its push is there for the one that pops; and a value was read before the slot
  // is written again.
  if (pushes) {
    store_release_device(place, in_slot(registers.get32(slot(w, 3)), empty + 1));
    give(&queue.items);
    registers.set32(slot(w, 1), 1);
  } else {
    store_release_device(place, in_slot(0, empty + mask + 1));
    give(&queue.room);
    registers.set64(slot(w, 1), (u32)found);
  }
  return {DONE_Step, 1, 0};
}

// --- Barriers -----------------------------------------------------------------------------------

// The result of BARRIER for a thread that has seen the phase end. Else it is 1 for the last one, and 0.
constexpr u32 PASSED = 2;

struct BarrierWords {
  u32 phase;
  u32 arrived;  // threads that are at the barrier in this phase
};

// BARRIER: the thread arrives. No more than `count` threads use a barrier: more would take part in a phase that is not
// theirs. That it waits for the next phase is up to the guest, which can leave its lane; but for
// compiled threads, which wait for a barrier of all of them in runtime.cpp. Returns whether it is the last.
GPU_RUN_INLINE u32 arrive(BarrierWords &barrier, u32 count) {
  const CoalescedGroup group = match_group((u64)&barrier);
  // What the lanes did before is before their leader's addition, whose release half passes it on.
  sync(group);
  if (!group.is_leader()) return 0;
  // Acquire: the last one has seen what those before it did.
  if (fetch_add_acq_rel_device(&barrier.arrived, group.size) + group.size != count) return 0;
  // Relaxed: nobody arrives for the next phase before it has begun.
  store_relaxed_device(&barrier.arrived, 0u);
  // Release: pairs with the guest's load of the phase, which is sequentially consistent.
  fetch_add_acq_rel_device(&barrier.phase, 1u);
  return 1;
}

// --- Waiting at an address ----------------------------------------------------------------------

// FRAME_WAIT, in two pieces as memory.atomic.wait is.
GPU_RUN_INLINE StepResult execute_wait(const Launch &launch, Thread &thread, u32 id, u32 *word, Registers registers,
                                       const u64 *pc, u64 w) {
  if (resume::begins(thread)) {
    const u32 expected = registers.get32(slot(w, 3));
    const u64 timeout = registers.get64(slot(load_code(pc + 1), 0));
    if (!launch.census) {
      // The thread is alone in its process, and nobody can wake it.
      if (load_seq_cst_device(word) == expected) {
        if ((i64)timeout < 0) return {DONE_Trap, TRAP_Deadlock, 0};
        const u64 now = clock_ns();
        thread.wake = timeout < ~0ull - now ? now + timeout : ~0ull;
        thread.state = THREAD_Sleeping;
        resume::set_count(thread, 1 + atomics::TIMED_OUT);
        return {DONE_Wait, 0, 0};
      }
      resume::set_count(thread, 1 + atomics::OTHER_VALUE);
    } else {
      if (atomics::begin_wait(launch, thread, id, (u8 *)word, false, expected, timeout)) return {DONE_Wait, 0, 0};
      if (resume::begins(thread)) {
        thread.state = THREAD_Busy;
        return {DONE_Wait, 0, 0};
      }
    }
  }
  registers.set32(slot(w, 1), resume::count(thread) - 1);
  resume::clear(thread);
  return {DONE_Step, 2, 0};
}

// FRAME_WAKE.
GPU_RUN_INLINE StepResult execute_wake(const Launch &launch, Thread &thread, u32 *word, Registers registers, u64 w) {
  u32 woken = 0;
  if (launch.census) {
    Bucket &bucket = atomics::bucket_of(launch, (u8 *)word);
    if (!atomics::try_lock(bucket)) {
      thread.state = THREAD_Busy;
      return {DONE_Wait, 0, 0};
    }
    woken = atomics::wake(launch, bucket, (u8 *)word, registers.get32(slot(w, 3)));
    atomics::unlock(bucket);
  }
  registers.set32(slot(w, 1), woken);
  return {DONE_Step, 1, 0};
}

// --- The instructions ---------------------------------------------------------------------------

// Whether no lane waits in an instruction for what another one does after it. So lanes that came to it together can leave
// it together. (A push or pop waits for one with an earlier ticket, which is in its instruction too, and done with its
// slot before it waits for others to leave. A barrier is none of these: of lanes that came together one may end a phase, and
// another be the first of the next one.)
GPU_RUN_INLINE bool is_prompt(u32 op) {
  return op == OP_work_push || op == OP_work_pop || op == OP_frame_wake || op == OP_spinunlock;
}

// Runs the instruction at `pc`, whose first word is `w`, for thread number `id`.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                                    Registers registers, const u64 *pc, u64 w) {
  const Memory &memory = *instance.memories[0];
  const u32 op = (u16)w;
  if (op == OP_work_push || op == OP_work_pop) return execute_queue(thread, memory, registers, w);
  const bool locks = op == OP_spinlock || op == OP_spinunlock;
  const u64 at = registers.get32(slot(w, locks ? 1 : 2));
  if (!in_bounds(at, op == OP_barrier ? sizeof(BarrierWords) : 4, load_relaxed_device(&memory.size))) {
    return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
  }
  if (at % 4) return {DONE_Trap, TRAP_UnalignedAtomic, 0};
  u32 *word = (u32 *)(memory.base + at);
  switch (op) {
    case OP_barrier:
      registers.set32(slot(w, 1), arrive(*(BarrierWords *)word, registers.get32(slot(w, 3))));
      return {DONE_Step, 1, 0};
    case OP_frame_wait: return execute_wait(launch, thread, id, word, registers, pc, w);
    case OP_frame_wake: return execute_wake(launch, thread, word, registers, w);
    case OP_spinlock: {
      u32 open = 0;
      // Looked at first, because exchanges of many lanes would come one after another. Acquire: what the last holder did
      // is there; pairs with the release below.
      if (load_relaxed_device(word) == 0 && compare_exchange_acq_rel_device(word, open, 1u)) return {DONE_Step, 1, 0};
      thread.state = THREAD_Busy;
      return {DONE_Wait, 0, 0};
    }
    case OP_spinunlock: store_release_device(word, 0u); return {DONE_Step, 1, 0};
    default: return {DONE_Trap, TRAP_BadOpcode, 0};
  }
}

}  // namespace work
}  // namespace gpu_run
