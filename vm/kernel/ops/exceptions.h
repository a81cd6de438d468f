// Exceptions: finding a handler, unwinding to it, and the exceptions that references name.
//
// A throw first walks the stack for a handler and changes nothing, so that an exception without one leaves the
// backtrace whole. Then it leaves the frames, and copies the values to where the handler wants them, which may be over
// frames that were left. Only then does it return the register segments on the way, because another thread may take
// them.
//
// An exception becomes an object when a handler asks for a reference to it. Objects are chunks of the store's pool, and
// are taken back by their thread. When it has made many, it marks those that a unit of its frames may name and frees
// the rest (mark and sweep). The marking is conservative: numbers that look like references keep an object too. A table
// or global may show a reference to other threads, so an object that one of them was given is kept for good.
// `exception.keep` comes before each such store, which the verifier checks.
#pragma once

#include "frames.h"
#include "spawn.h"

namespace gpu_run {
namespace exceptions {

constexpr u32 NONE = ~0u;

// Exceptions that a thread makes before it looks which are still needed. Half of the pool is enough for those that the
// threads have not looked at.
GPU_RUN_INLINE u32 collect_after(const Launch &launch) {
  u32 share = launch.exceptions->capacity / 2 / spawn::most_threads(launch);
  return share < 1 ? 1 : share < COLLECT_AFTER ? share : COLLECT_AFTER;
}

// The handler in the function around word `pc` that catches `tag`, or null.
GPU_RUN_INLINE const Clause *handler_at(const Launch &launch, u32 pc, u32 tag) {
  // The last function that begins at or before pc.
  u32 low = 0, high = launch.try_function_count;
  while (low < high) {
    u32 middle = (low + high) / 2;
    if (launch.try_functions[middle].start <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return nullptr;
  const TryFunction &function = launch.try_functions[low - 1];
  if (pc >= function.end) return nullptr;
  for (u32 i = 0; i < function.try_count; i++) {
    const Try &range = launch.tries[function.first_try + i];
    if (pc < range.start || pc >= range.end) continue;
    // A tail call: it runs outside of the ranges around it.
    if (range.clause_count == 0) return nullptr;
    for (u32 k = 0; k < range.clause_count; k++) {
      const Clause &clause = launch.clauses[range.first_clause + k];
      if (clause.tag == tag || clause.tag == NONE) return &clause;
    }
  }
  return nullptr;
}

// Leaves the frame at `state` for its caller's; false from the outermost one. Segments that are left
// for good (UNWIND) are added to the list `left`.
GPU_RUN_INLINE bool leave(const Launch &launch, Thread &thread, MachineState &state, frames::Crossing crossing, u32 &left) {
  u32 pc = state.registers.get32(state.header);
  u32 back = state.registers.get32(state.header + 1);
  if (pc == PC_THREAD_END || pc == PC_NATIVE_RETURN) return false;
  if (pc == PC_BRIDGE_RETURN) {
    frames::cross_bridge(launch, thread, state, crossing, left);
    // A return address lies after its call.
    state.pc -= 1;
    return true;
  }
  state.registers = frames::back_by(state.registers, back & 0xffff);
  state.room += back & 0xffff;
  state.header = back >> 16;
  state.pc = pc - 1;
  state.depth--;
  return true;
}

GPU_RUN_INLINE Chunk &chunk_of(const Exceptions &pool, u32 reference) { return pool.chunks[reference - 1]; }

// Takes a chunk from the pool; 0 if none is left. Chunks are named by index + 1, as references are.
GPU_RUN_INLINE u32 take_chunk(Exceptions &pool) {
  const u32 chunk = free_list::pop(&pool.free, [&](u32 number) { return &chunk_of(pool, number).next; });
  if (chunk) return chunk;
  u32 used = load_relaxed_device(&pool.used);
  do {
    if (used == pool.capacity) return 0;
  } while (!compare_exchange_acq_rel_device(&pool.used, used, used + 1));
  return used + 1;
}

GPU_RUN_INLINE void give_chunk(Exceptions &pool, u32 chunk) {
  free_list::push(&pool.free, chunk, [&](u32 number) { return &chunk_of(pool, number).next; });
}

// Puts an exception back into the pool with all its chunks.
GPU_RUN_INLINE void give_exception(Exceptions &pool, u32 exception) {
  if (exception) store_relaxed_device(&chunk_of(pool, exception).owner, 0u);
  while (exception) {
    u32 more = chunk_of(pool, exception).more;
    give_chunk(pool, exception);
    exception = more;
  }
}

// Marks the exception that a unit's bits may name, if it is this thread's and was not marked yet. Puts it onto the list
// `work` of those whose values are to be looked at, through the free list's links.
GPU_RUN_INLINE bool mark(const Launch &launch, u32 id, u32 bits, u32 &work) {
  Exceptions &pool = *launch.exceptions;
  if (bits == 0 || bits > pool.capacity) return false;
  Chunk &chunk = chunk_of(pool, bits);
  // Chunks of others change while this looks at them; their owner never becomes this thread.
  if (load_relaxed_device(&chunk.owner) != id + 1 || chunk.marked) return false;
  chunk.marked = 1;
  // Another lane may still look at the link of a chunk that was free; its exchange then fails.
  store_relaxed_device(&chunk.next, work);
  work = bits;
  return true;
}

// Frees the thread's exceptions that are neither marked nor kept nor held by such a one.
GPU_RUN_INLINE void sweep(const Launch &launch, Thread &thread, u32 id, u32 work) {
  Exceptions &pool = *launch.exceptions;
  for (u32 at = thread.exceptions; at; at = chunk_of(pool, at).sibling) {
    if (chunk_of(pool, at).kept) mark(launch, id, at, work);
  }
  // Each is looked at once.
  while (work) {
    u32 at = work;
    work = load_relaxed_device(&chunk_of(pool, at).next);
    for (u32 piece = at; piece; piece = chunk_of(pool, piece).more) {
      for (u32 i = 0; i < CHUNK_UNITS; i++) mark(launch, id, chunk_of(pool, piece).units[i], work);
    }
  }
  u32 kept = 0, count = 0;
  for (u32 at = thread.exceptions; at;) {
    Chunk &chunk = chunk_of(pool, at);
    u32 sibling = chunk.sibling;
    if (chunk.marked) {
      chunk.marked = 0;
      chunk.sibling = kept;
      kept = at;
      count++;
    } else {
      give_exception(pool, at);
    }
    at = sibling;
  }
  thread.exceptions = kept;
  thread.exception_count = count;
  thread.exception_limit = count * 2 + collect_after(launch);
}

// Marks the exceptions that units of the interpreted frames from `state` on name.
GPU_RUN_NOINLINE void mark_frames(const Launch &launch, Thread &thread, u32 id, MachineState state, u32 &work) {
  // The innermost frame is scanned as far as frames go; the others up to where the next one lies.
  u32 units = state.room < launch.max_frame ? state.room : launch.max_frame, left = 0;
  do {
    for (u32 i = 0; i < units; i++) mark(launch, id, state.registers.get32(i), work);
    units = frames::units_below(state);
  } while (leave(launch, thread, state, frames::LOOK, left));
}

// Marks the exceptions that compiled functions may name, and interpreted ones that wait for these, and the values of the
// one under way.
GPU_RUN_NOINLINE void mark_native(const Launch &launch, Context &context, u32 &work) {
  for (const Suspended *at = context.suspended; at; at = at->outer) {
    mark_frames(launch, *context.thread, context.id, at->state, work);
  }
  for (u32 i = 0; i < context.count; i++) mark(launch, context.id, context.values()[i], work);
  for (u32 at = context.roots; at;) {
    const Roots &roots = *(const Roots *)((const u8 *)&context - at);
    for (u32 i = 0; i < roots.count; i++) mark(launch, context.id, roots.units()[i], work);
    at = roots.next;
  }
}

// Frees the thread's exceptions that no unit of its frames names.
GPU_RUN_NOINLINE void collect(const Launch &launch, Thread &thread, u32 id, MachineState state) {
  u32 work = 0;
  mark_frames(launch, thread, id, state, work);
  if (thread.native) mark_native(launch, *thread.native, work);
  sweep(launch, thread, id, work);
}

// Frees what a thread that has ended leaves, except for what its results may name.
GPU_RUN_NOINLINE void end_thread(const Launch &launch, Thread &thread, u32 id, const Registers &results) {
  u32 work = 0;
  for (u32 i = 0; i < spawn::result_units(launch, id); i++) {
    u32 bits = results.get32(i);
    if (mark(launch, id, bits, work)) chunk_of(*launch.exceptions, bits).kept = 1;
  }
  sweep(launch, thread, id, work);
}

// Makes an object of an exception whose values are `count` units; 0 if the pool is empty.
GPU_RUN_NOINLINE u32 make(const Launch &launch, Thread &thread, u32 id, u32 tag, const Registers &values, u32 from,
                          u32 count) {
  Exceptions &pool = *launch.exceptions;
  u32 first = 0, last = 0, done = 0;
  for (;;) {
    u32 at = take_chunk(pool);
    if (at == 0) break;
    Chunk &chunk = chunk_of(pool, at);
    chunk.tag = tag;
    chunk.more = 0;
    chunk.marked = 0;
    chunk.kept = 0;
    chunk.count = count;
    for (u32 i = 0; i < CHUNK_UNITS; i++, done++) chunk.units[i] = done < count ? values.get32(from + done) : 0;
    store_relaxed_device(&chunk.owner, 0u);
    if (first) {
      chunk_of(pool, last).more = at;
    } else {
      first = at;
    }
    last = at;
    if (done >= count) {
      Chunk &head = chunk_of(pool, first);
      store_relaxed_device(&head.owner, id + 1);
      head.sibling = thread.exceptions;
      thread.exceptions = first;
      thread.exception_count++;
      return first;
    }
  }
  give_exception(pool, first);
  return 0;
}

// The same for a thread at `state`. If it is time to, or if that is the only way, it first looks which of its
// exceptions are still needed.
GPU_RUN_INLINE u32 make_or_collect(const Launch &launch, Thread &thread, u32 id, const MachineState &state, u32 tag,
                                   const Registers &values, u32 from, u32 count) {
  for (bool collected = false;; collected = true) {
    if (collected || thread.exception_count >= thread.exception_limit) collect(launch, thread, id, state);
    u32 made = make(launch, thread, id, tag, values, from, count);
    if (made || collected) return made;
  }
}

// Keeps an exception for good. Another thread's was kept before that thread could show it.
GPU_RUN_INLINE void keep(const Launch &launch, u32 id, u32 reference) {
  if (reference == 0) return;
  Chunk &chunk = chunk_of(*launch.exceptions, reference);
  if (load_relaxed_device(&chunk.owner) == id + 1) chunk.kept = 1;
  // Others may find the reference in a table or global, and read the exception: its values come before
  // the store that follows. Pairs with the fence in `find`.
  fence_seq_cst_device();
}

// The exception of a reference, for reading: it may be another thread's. Pairs with `keep`.
GPU_RUN_INLINE const Chunk &find(const Launch &launch, u32 reference) {
  fence_seq_cst_device();
  return chunk_of(*launch.exceptions, reference);
}

// What was thrown: an object, or values in registers, not yet an object.
struct Thrown {
  u32 tag;
  u32 reference;  // 0: the values are `count` units from `from`
  Registers values;
  u32 from;
  u32 count;
  bool native;  // it comes from a compiled function: it is the context's already
};

// Copies the first `count` units of an object's values.
template <typename Store>
GPU_RUN_INLINE void read_values(const Exceptions &pool, u32 reference, u32 count, Store store) {
  u32 done = 0;
  for (u32 piece = reference; piece; piece = chunk_of(pool, piece).more) {
    for (u32 i = 0; i < CHUNK_UNITS && done < count; i++) store(done++, chunk_of(pool, piece).units[i]);
  }
}

// Passes what was thrown at `state` on to the compiled function that called the outermost interpreted one.
GPU_RUN_NOINLINE void throw_to_native(const Launch &launch, Thread &thread, const MachineState &state, const Thrown &thrown) {
  Context &context = *thread.native;
  context.nested = NESTED_Thrown;
  if (thrown.native) return;
  context.tag = thrown.tag;
  context.reference = thrown.reference;
  context.throw_pc = state.pc;
  context.throw_depth = state.depth;
  u32 at = state.depth;
  frames::each_call(launch, thread, state, [&](u32 pc) {
    at--;
    if (state.depth - at <= OPEN_CALLS) {
      context.throw_calls[at % OPEN_CALLS] = pc;
    } else if (at <= OUTER_CALLS) {
      context.throw_calls[OPEN_CALLS + at - 1] = pc;
    }
    return at > 1;
  });
  auto store = [&](u32 i, u32 unit) { context.values()[i] = unit; };
  if (thrown.reference) {
    const Exceptions &pool = *launch.exceptions;
    context.count = chunk_of(pool, thrown.reference).count;
    read_values(pool, thrown.reference, context.count, store);
  } else {
    context.count = thrown.count;
    for (u32 i = 0; i < thrown.count; i++) store(i, thrown.values.get32(thrown.from + i));
  }
}

// Moves `state` from the throwing instruction to its handler. Returns 0, or the trap that the throw ends in; `state` is
// then as it was.
GPU_RUN_NOINLINE TrapKind unwind(const Launch &launch, Thread &thread, u32 id, MachineState &state, Thrown thrown) {
  MachineState at = state;
  const Clause *clause;
  u32 count = 0, segments = 0;
  while (!(clause = handler_at(launch, at.pc, thrown.tag))) {
    if (!leave(launch, thread, at, frames::LOOK, segments)) {
      if (!thread.native) return TRAP_UnhandledException;
      throw_to_native(launch, thread, state, thrown);
      for (u32 i = 0; i < count; i++) leave(launch, thread, state, frames::UNWIND, segments);
      frames::give_left(*launch.arena, segments);
      state.pc = PC_NATIVE_RETURN;
      return TRAP_None;
    }
    count++;
  }
  if (clause->reference && !thrown.reference) {
    thrown.reference =
        make_or_collect(launch, thread, id, state, thrown.tag, thrown.values, thrown.from, thrown.count);
    if (!thrown.reference) return TRAP_TooManyExceptions;
  }
  for (u32 i = 0; i < count; i++) leave(launch, thread, state, frames::UNWIND, segments);
  // Never more than the handler has room for, whatever the exception says.
  u32 to = clause->unit & 0xffff, values = clause->unit >> 16;
  if (clause->tag != NONE) {
    if (thrown.reference) {
      const Exceptions &pool = *launch.exceptions;
      u32 units = chunk_of(pool, thrown.reference).count;
      if (units > values) units = values;
      read_values(pool, thrown.reference, units, [&](u32 i, u32 unit) { state.registers.set32(to + i, unit); });
      to += units;
    } else {
      // The two may overlap either way.
      bool down = state.registers.at(to) > thrown.values.at(thrown.from);
      for (u32 i = 0; i < thrown.count; i++) {
        u32 k = down ? thrown.count - 1 - i : i;
        state.registers.set32(to + k, thrown.values.get32(thrown.from + k));
      }
      to += thrown.count;
    }
  }
  if (clause->reference) state.registers.set32(to, thrown.reference);
  frames::give_left(*launch.arena, segments);
  state.pc = clause->target;
  return TRAP_None;
}

}  // namespace exceptions
}  // namespace gpu_run
