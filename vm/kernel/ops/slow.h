// Instructions that a program seldom runs, or that take so long that one more call does not matter. They have a
// function of their own: the interpreter's loop then needs fewer registers, and its code is more compact. None of them
// needs to know of frames, so that compiled code can run them too; those that do are in ops/control.h.
#pragma once

#include "bulk.h"
#include "ops/exceptions.h"
#include "heap/batch.h"
#include "ops/io.h"
#include "ops/output_ring.h"
#include "spawn.h"

namespace gpu_run {

// The trap of a request that the heap refuses.
GPU_RUN_INLINE TrapKind heap_trap(heap::Outcome outcome) {
  switch (outcome) {
    case heap::FOREIGN: return TRAP_HeapForeignAddress;
    case heap::FREED: return TRAP_HeapFreedTwice;
    case heap::WRONG_SIZE: return TRAP_HeapWrongSize;
    case heap::WRONG_ALIGN: return TRAP_HeapWrongAlign;
    case heap::UNDERRUN: return TRAP_HeapUnderrun;
    case heap::OVERRUN: return TRAP_HeapOverrun;
    case heap::LATE_WRITE: return TRAP_HeapWrittenAfterFree;
    default: return TRAP_HeapCorrupted;
  }
}

namespace slow {

// ALLOC_BATCH and DEALLOC_BATCH. Some blocks at a time: Thread::resume_state says how many are done.
GPU_RUN_NOINLINE StepResult execute_batch(const Launch &launch, Thread &thread, Memory &memory, Registers registers,
                                         const u64 *pc, u64 w) {
  bool makes = (u16)w == OP_alloc_batch;
  u64 x = load_code(pc + 1);
  // A result comes first.
  u32 size = registers.get32(slot(w, makes ? 2 : 1)), align = registers.get32(slot(w, makes ? 3 : 2));
  u32 at = registers.get32(makes ? slot(x, 0) : slot(w, 3)), count = registers.get32(slot(x, makes ? 1 : 0));
  if (!in_bounds(at, 4ull * count, load_relaxed_device(&memory.size))) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
  u32 done = resume::count(thread), more = 0, address = 0;
  heap::Outcome outcome = heap::DONE;
  if (done < count) {
    outcome = makes ? heap::take(launch, memory, {at, count}, size, align, done, more)
                    : heap::give(memory, {at, count}, size, align, done, more, address);
  }
  if (outcome == heap::RETRY) {
    thread.state = THREAD_Busy;
    return {DONE_Wait, 0, 0};
  }
  if (outcome != heap::DONE) {
    // The trap's record takes the address from the thread.
    resume::set_count(thread, address);
    return {DONE_Trap, (u32)heap_trap(outcome), 0};
  }
  done += more;
  bool ended = done == count || more == 0;
  resume::set_count(thread, ended ? 0 : done);
  if (ended && makes) registers.set32(slot(w, 1), done);
  return {DONE_Step, ended ? 2u : 0u, 1};
}

// Runs the instruction at `pc`, whose first word is `w`, for thread number `id`.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, const u64 *pc, u64 w) {
  Memory *memory = instance.memories[0];
  u8 *base = memory->base;
  u32 cost = 0;
  auto get32 = [&](u32 unit) { return registers.get32(unit); };
  auto get64 = [&](u32 unit) { return registers.get64(unit); };
  auto set32 = [&](u32 unit, u32 value) { registers.set32(unit, value); };
  auto set64 = [&](u32 unit, u64 value) { registers.set64(unit, value); };
  auto second_word = [&] { return load_code(pc + 1); };
  auto fits = [&](u64 at, u64 len) { return in_bounds(at, len, load_relaxed_device(&memory->size)); };

#define CASE(name) case OP_##name:
#define NEXT return StepResult{DONE_Step, 1, cost}
#define NEXT2 return StepResult{DONE_Step, 2, cost}
#define TRAP(kind) return StepResult{DONE_Trap, (kind), 0}
#define YIELD { thread.state = THREAD_Busy; return StepResult{DONE_Wait, 0, 0}; }
// Work of many bytes or elements counts like as many branches, so that the stop flag is seen in time.
#define CHARGE(amount) cost = 1 + (u32)lesser((u64)(amount) / 256, 1u << 30)
// The trap's record takes the address from the thread.
#define HEAP(call, at)                                                                             \
  {                                                                                                \
    heap::Outcome outcome = (call);                                                                \
    if (outcome == heap::RETRY) YIELD;                                                             \
    if (outcome != heap::DONE) {                                                                   \
      resume::set_count(thread, (at));                                                             \
      TRAP(heap_trap(outcome));                                                                    \
    }                                                                                              \
  }

  switch ((u16)w) {
    CASE(exception_keep) {
      u32 reference = get32(slot(w, 2));
      exceptions::keep(launch, id, reference);
      set32(slot(w, 1), reference);
      NEXT;
    }

    CASE(memory_size) {
      set32(slot(w, 1), (u32)(load_relaxed_device(&instance.memories[slot(w, 2)]->size) / PAGE));
      NEXT;
    }
    CASE(memory_grow) {
      set32(slot(w, 1), (u32)memory_grow_guest(*instance.memories[slot(w, 3)], get32(slot(w, 2))));
      NEXT;
    }
    CASE(memory_size64) {
      set64(slot(w, 1), load_relaxed_device(&instance.memories[slot(w, 2)]->size) / PAGE);
      NEXT;
    }
    CASE(memory_grow64) {
      set64(slot(w, 1), memory_grow_guest(*instance.memories[slot(w, 3)], get64(slot(w, 2))));
      NEXT;
    }
// The same for both widths of addresses: `get` reads them.
#define MEMORY_COPY(get)                                                                           \
  {                                                                                                \
    u64 x = second_word();                                                                         \
    Memory &to = *instance.memories[slot(x, 0)], &from = *instance.memories[slot(x, 1)];           \
    COPY(to, get(slot(w, 1)), from.base, load_relaxed_device(&from.size), get(slot(w, 2)), get(slot(w, 3))) \
  }
#define MEMORY_INIT(get)                                                                           \
  {                                                                                                \
    u64 x = second_word();                                                                         \
    const DataSegment &from = instance.data[upper(x)];                                             \
    COPY(*instance.memories[slot(x, 0)], get(slot(w, 1)), from.bytes, load_relaxed_device(&from.len), \
         get32(slot(w, 2)), get32(slot(w, 3)))                                                     \
  }
#define COPY(memory, to_address, from_bytes, from_size, from_address, length)                      \
  u64 to_at = (to_address), from_at = (from_address), len = (length);                              \
  if (!memory_copy(launch, (memory), to_at, (from_bytes), (from_size), from_at, len)) {            \
    TRAP(TRAP_MemoryOutOfBounds);                                                                  \
  }                                                                                                \
  CHARGE(len);                                                                                     \
  NEXT2;
#define MEMORY_FILL(get)                                                                           \
  {                                                                                                \
    Memory &m = *instance.memories[slot(second_word(), 0)];                                        \
    u64 at = get(slot(w, 1)), len = get(slot(w, 3));                                               \
    if (!memory_fill(launch, m, at, (u8)get32(slot(w, 2)), len)) TRAP(TRAP_MemoryOutOfBounds);     \
    CHARGE(len);                                                                                   \
    NEXT2;                                                                                         \
  }
    CASE(memory_copy) MEMORY_COPY(get32)
    CASE(memory_copy64) MEMORY_COPY(get64)
    CASE(memory_fill) MEMORY_FILL(get32)
    CASE(memory_fill64) MEMORY_FILL(get64)
    CASE(memory_init) MEMORY_INIT(get32)
    CASE(memory_init64) MEMORY_INIT(get64)
    CASE(data_drop) { store_relaxed_device(&instance.data[upper(w)].len, 0ull); NEXT; }

    CASE(table_get) {
      const Table &table = *instance.tables[slot(w, 3)];
      u32 index = get32(slot(w, 2));
      if (!table_range(table, index, 1)) TRAP(TRAP_TableOutOfBounds);
      set32(slot(w, 1), load_relaxed_device(&table.elements[index]));
      NEXT;
    }
    CASE(table_set) {
      Table &table = *instance.tables[slot(w, 3)];
      u32 index = get32(slot(w, 1));
      if (!table_range(table, index, 1)) TRAP(TRAP_TableOutOfBounds);
      store_relaxed_device(&table.elements[index], get32(slot(w, 2)));
      NEXT;
    }
    CASE(table_size) { set32(slot(w, 1), load_relaxed_device(&instance.tables[slot(w, 2)]->size)); NEXT; }
    CASE(table_grow) {
      Table &table = *instance.tables[slot(second_word(), 0)];
      u32 count = get32(slot(w, 2));
      set32(slot(w, 1), table_grow(launch, table, count, get32(slot(w, 3))));
      CHARGE(count);
      NEXT2;
    }
    CASE(table_fill) {
      Table &table = *instance.tables[slot(second_word(), 0)];
      u32 count = get32(slot(w, 3));
      if (!table_fill(launch, table, get32(slot(w, 1)), get32(slot(w, 2)), count)) TRAP(TRAP_TableOutOfBounds);
      CHARGE(count);
      NEXT2;
    }
    CASE(table_copy) {
      u64 x = second_word();
      Table &to = *instance.tables[slot(x, 0)], &from = *instance.tables[slot(x, 1)];
      u32 count = get32(slot(w, 3));
      if (!table_copy(launch, to, get32(slot(w, 1)), from, get32(slot(w, 2)), count)) TRAP(TRAP_TableOutOfBounds);
      CHARGE(count);
      NEXT2;
    }
    CASE(table_init) {
      u64 x = second_word();
      Table &to = *instance.tables[slot(x, 0)];
      const ElemSegment &from = instance.elems[upper(x)];
      u32 count = get32(slot(w, 3));
      if (!table_init(launch, to, get32(slot(w, 1)), from, get32(slot(w, 2)), count)) TRAP(TRAP_TableOutOfBounds);
      CHARGE(count);
      NEXT2;
    }
    CASE(elem_drop) { store_relaxed_device(&instance.elems[upper(w)].len, 0ull); NEXT; }
    CASE(ref_func) { set32(slot(w, 1), instance.funcs[upper(w)] + 1); NEXT; }

    CASE(gid) { set32(slot(w, 1), id); NEXT; }
    // Compiled code has its own, and threads that are interpreted do not wait for their neighbours.
    CASE(meet) { set32(slot(w, 1), 0); NEXT; }
    CASE(stack_limit) { thread.stack_limit = get32(slot(w, 1)); NEXT; }
    CASE(thread_spawn) { set32(slot(w, 1), spawn::begin(launch, instance, get32(slot(w, 2)))); NEXT; }
    CASE(thread_count) { set32(slot(w, 1), launch.thread_count); NEXT; }
    CASE(time) { set64(slot(w, 1), clock_ns()); NEXT; }
    CASE(wall_time) { set64(slot(w, 1), launch.wall_start + (clock_ns() - launch.clock_start)); NEXT; }
    CASE(sleep) {
      u64 now = clock_ns(), length = get64(slot(w, 1));
      thread.wake = length < ~0ull - now ? now + length : ~0ull;
      thread.state = THREAD_Sleeping;
      return StepResult{DONE_Wait, 1, 0};
    }
    CASE(memcmp) {
      u32 len = get32(slot(second_word(), 0)), result;
      if (!memory_compare(launch, *memory, get32(slot(w, 2)), get32(slot(w, 3)), len, result)) {
        TRAP(TRAP_MemoryOutOfBounds);
      }
      set32(slot(w, 1), result);
      CHARGE(len);
      NEXT2;
    }
    // In a function of its own, because its calls would make this one save more registers.
    CASE(st_out) CASE(ld_in) CASE(in_size) CASE(out_size) CASE(frame_size) CASE(set_pixel)
      return io::execute(*launch.io, launch, *memory, registers, pc, w);
#define ATOMIC_ADDRESS(unit)                                                                       \
  u64 at = get32(unit);                                                                            \
  if (!fits(at, 4)) TRAP(TRAP_MemoryOutOfBounds);                                                  \
  if (at % 4) TRAP(TRAP_UnalignedAtomic);                                                          \
  u32 *p = (u32 *)(base + at);
    CASE(atomic_add) {
      ATOMIC_ADDRESS(slot(w, 2));
      set32(slot(w, 1), fetch_add_seq_cst_device(p, get32(slot(w, 3))));
      NEXT;
    }
    CASE(atomic_inc) {
      ATOMIC_ADDRESS(slot(w, 2));
      set32(slot(w, 1), fetch_add_seq_cst_device(p, 1u));
      NEXT;
    }
    CASE(atomic_dec) {
      ATOMIC_ADDRESS(slot(w, 2));
      set32(slot(w, 1), fetch_add_seq_cst_device(p, ~0u));
      NEXT;
    }
    CASE(atomic_cas) {
      ATOMIC_ADDRESS(slot(w, 2));
      u32 found = get32(slot(w, 3));
      compare_exchange_seq_cst_device(p, found, get32(slot(second_word(), 0)));
      set32(slot(w, 1), found);
      NEXT2;
    }

    CASE(alloc) {
      u32 address;
      HEAP(heap::allocate(launch, *memory, get32(slot(w, 2)), get32(slot(w, 3)), address), address);
      set32(slot(w, 1), address);
      NEXT;
    }
    CASE(alloc_zero) {
      u32 address, len = get32(slot(w, 2));
      HEAP(heap::allocate_zeroed(launch, *memory, len, get32(slot(w, 3)), address), address);
      set32(slot(w, 1), address);
      CHARGE(len);
      NEXT;
    }
    CASE(dealloc) {
      u32 block = get32(slot(w, 1));
      HEAP(heap::release(*memory, block, get32(slot(w, 2)), get32(slot(w, 3))), block);
      NEXT;
    }
    CASE(realloc) {
      u64 x = second_word();
      u32 old = get32(slot(w, 2)), old_len = get32(slot(w, 3)), align = get32(slot(x, 0)), len = get32(slot(x, 1));
      u32 address, copied;
      HEAP(heap::reallocate(launch, *memory, old, old_len, align, len, address, copied), old);
      if (copied) CHARGE(copied);
      set32(slot(w, 1), address);
      NEXT2;
    }
    CASE(block_size) {
      u32 bytes = 0, block = get32(slot(w, 2));
      HEAP(heap::measure(memory->heap, block, bytes), block);
      set32(slot(w, 1), bytes);
      NEXT;
    }

    CASE(alloc_batch) CASE(dealloc_batch) return execute_batch(launch, thread, *memory, registers, pc, w);

    CASE(print) {
      u32 from = get32(slot(w, 2)), len = get32(slot(w, 3));
      if (!fits(from, len)) TRAP(TRAP_MemoryOutOfBounds);
      u64 done = resume::count(thread);
      // A full ring makes the thread wait for the host, so nothing is lost.
      if (!output::append_piece(*launch.ring, told_number(launch, id), get32(slot(w, 1)), base + from, len, done)) YIELD;
      resume::set_count(thread, done < len ? done : 0);
      if (done < len) return StepResult{DONE_Step, 0, 1};
      NEXT;
    }
    CASE(print_end) {
      if (!output::append(*launch.ring, RECORD_Close, told_number(launch, id), get32(slot(w, 1)), nullptr, 0)) YIELD;
      NEXT;
    }
    default: TRAP(TRAP_BadOpcode);
  }
#undef CASE
#undef NEXT
#undef NEXT2
#undef TRAP
#undef YIELD
#undef CHARGE
#undef HEAP
#undef ATOMIC_ADDRESS
#undef MEMORY_COPY
#undef MEMORY_INIT
#undef MEMORY_FILL
#undef COPY
}

}  // namespace slow
}  // namespace gpu_run
