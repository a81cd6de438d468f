// Instructions that a program seldom runs, or that take so long that a call more does not matter, in a
// function of their own: the interpreter's loop then needs fewer registers, and its code fits nearer.
#pragma once

#include "bulk.h"
#include "exceptions.h"
#include "heap.h"
#include "output.h"

namespace gpu_run {

// How an instruction outside of the interpreter's loop ended.
namespace rare {

// Calls a function whose frame does not fit behind the caller's, or that belongs to another instance.
// `words` is the length of the call.
GPU_RUN_INLINE u32 call_over_bridge(const Launch &launch, Thread &thread, u32 lane, Place &place, const Func &func,
                                    u32 base, u32 words) {
  if (place.depth >= launch.max_depth) return TRAP_StackOverflow;
  Place callee = place;
  callee.pc += words;
  if (!frames::build_bridge(launch, thread, lane, callee, func.pc, base, func.instance)) return TRAP_OutOfRegisterMemory;
  place = callee;
  return TRAP_None;
}

// The callee takes the place of this frame, whose return address and caller it inherits. A callee of
// another instance can do so only above a bridge, which leads back to the caller's instance, and any
// only if its frame fits; else it is called like any other, once: from then on there is a bridge.
GPU_RUN_INLINE u32 tail_call(const Launch &launch, Thread &thread, u32 lane, Place &place, const Func &func, u32 base,
                             u32 words) {
  u64 head = load_code(launch.code + func.pc);
  u32 frame = frames::head_frame(head), header = frames::head_header(head);
  const Registers &registers = place.registers;
  u32 back_pc = registers.get32(place.header), back = registers.get32(place.header + 1);
  bool leaves = func.instance != place.instance;
  if (frame > place.room || (leaves && back_pc != PC_BRIDGE_RETURN)) {
    return call_over_bridge(launch, thread, lane, place, func, base, words);
  }
  for (u32 i = 0; i < header; i++) registers.set32(i, registers.get32(base + i));
  registers.set32(header, back_pc);
  registers.set32(header + 1, back);
  place.header = header;
  place.pc = func.pc + 1;
  place.instance = func.instance;
  return TRAP_None;
}

// Runs the instruction at `place`, whose first word is `w`.
GPU_RUN_NOINLINE Done execute(const Launch &launch, Thread &thread, u32 id, u32 lane, Place &place, u64 w) {
  const u64 *pc = launch.code + place.pc;
  const Registers registers = place.registers;
  const Instance &instance = launch.instances[place.instance];
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
#define NEXT return Done{DONE_Step, 1, cost}
#define NEXT2 return Done{DONE_Step, 2, cost}
#define TRAP(kind) return Done{DONE_Trap, (kind), 0}
#define YIELD return Done{DONE_Wait, 0, 0}
// Moves to where the call, throw or return led, unless that is a trap.
#define MOVE(outcome)                                                                              \
  {                                                                                                \
    u32 trap = (outcome);                                                                          \
    if (trap) TRAP(trap);                                                                          \
    return Done{DONE_Moved, 0, 1};                                                                      \
  }
#define END(kind, value)                                                                           \
  {                                                                                                \
    frames::end_process(launch, thread, id, place, kind, value);                                   \
    return Done{DONE_Ended, 0, 0};                                                                      \
  }
// Work of many bytes or elements counts like as many branches, so that the stop flag is seen in time.
#define CHARGE(amount) cost = 1 + (u32)lesser((u64)(amount) / 256, 1u << 30)
#define HEAP(call)                                                                                 \
  {                                                                                                \
    heap::Outcome outcome = (call);                                                                \
    if (outcome == heap::RETRY) YIELD;                                                             \
    if (outcome == heap::CORRUPTED) TRAP(TRAP_HeapCorrupted);                                      \
  }

  switch ((u16)w) {
    CASE(call_import) {
      const Func &func = launch.funcs[instance.funcs[upper(w)]];
      if (func.kind == FUNC_Nothing) NEXT;
      MOVE(call_over_bridge(launch, thread, lane, place, func, slot(w, 1), 1));
    }
    CASE(return_call) {
      Func func = {FUNC_Wasm, place.instance, place.pc + (i32)upper(w), 0};
      MOVE(tail_call(launch, thread, lane, place, func, slot(w, 1), 1));
    }
    CASE(return_call_indirect) {
      const Func *func;
      u32 trap = frames::indirect(launch, instance, slot(w, 3), get32(slot(w, 2)), (u32)second_word(), func);
      if (trap) TRAP(trap);
      if (func->kind == FUNC_Nothing) NEXT2;
      MOVE(tail_call(launch, thread, lane, place, *func, slot(w, 1), 2));
    }
    CASE(return_call_import) {
      const Func &func = launch.funcs[instance.funcs[upper(w)]];
      if (func.kind == FUNC_Nothing) NEXT;
      MOVE(tail_call(launch, thread, lane, place, func, slot(w, 1), 1));
    }
    CASE(throw) {
      exceptions::Thrown thrown = {instance.tags[(u32)second_word()], 0, registers, slot(w, 1), slot(w, 2)};
      MOVE(exceptions::unwind(launch, thread, id, place, thrown));
    }
    CASE(throw_ref) {
      u32 reference = get32(slot(w, 1));
      if (reference == 0) TRAP(TRAP_NullExceptionReference);
      exceptions::Thrown thrown = {exceptions::find(launch, reference).tag, reference, registers, 0, 0};
      MOVE(exceptions::unwind(launch, thread, id, place, thrown));
    }
    CASE(exception_keep) {
      u32 reference = get32(slot(w, 2));
      exceptions::keep(launch, id, reference);
      set32(slot(w, 1), reference);
      NEXT;
    }
    CASE(bridge_return) {
      u32 left = 0;
      frames::cross_bridge(launch, thread, place, frames::RETURN, left);
      MOVE(TRAP_None);
    }
    CASE(thread_end) {
      if (thread.exceptions) exceptions::end_thread(launch, thread, id, registers);
      for (u32 i = 0; i < launch.result_units; i++) launch.results[(u64)id * launch.result_units + i] = get32(i);
      thread.state = THREAD_Ended;
      return Done{DONE_Ended, 0, 0};
    }

    CASE(memory_size) {
      set32(slot(w, 1), (u32)(load_relaxed_device(&instance.memories[slot(w, 2)]->size) / PAGE));
      NEXT;
    }
    CASE(memory_grow) {
      set32(slot(w, 1), (u32)memory_grow(*instance.memories[slot(w, 3)], get32(slot(w, 2))));
      NEXT;
    }
    CASE(memory_size64) {
      set64(slot(w, 1), load_relaxed_device(&instance.memories[slot(w, 2)]->size) / PAGE);
      NEXT;
    }
    CASE(memory_grow64) {
      set64(slot(w, 1), memory_grow(*instance.memories[slot(w, 3)], get64(slot(w, 2))));
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
  Memory &into = (memory);                                                                         \
  u64 to_at = (to_address), from_at = (from_address), len = (length);                              \
  if (!in_bounds64(to_at, len, load_relaxed_device(&into.size))) TRAP(TRAP_MemoryOutOfBounds);     \
  if (!in_bounds64(from_at, len, (from_size))) TRAP(TRAP_MemoryOutOfBounds);                       \
  bulk_copy(launch, into.base, to_at, (from_bytes), from_at, len);                                 \
  CHARGE(len);                                                                                     \
  NEXT2;
#define MEMORY_FILL(get)                                                                           \
  {                                                                                                \
    Memory &m = *instance.memories[slot(second_word(), 0)];                                        \
    u64 at = get(slot(w, 1)), len = get(slot(w, 3));                                               \
    if (!in_bounds64(at, len, load_relaxed_device(&m.size))) TRAP(TRAP_MemoryOutOfBounds);         \
    bulk_fill(launch, m.base, at, (u8)get32(slot(w, 2)), len);                                     \
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
    CASE(thread_count) { set32(slot(w, 1), launch.thread_count); NEXT; }
    CASE(time) { set64(slot(w, 1), clock_ns()); NEXT; }
    CASE(wall_time) { set64(slot(w, 1), launch.wall_start + (clock_ns() - launch.clock_start)); NEXT; }
    CASE(sleep) {
      u64 now = clock_ns(), length = get64(slot(w, 1));
      thread.wake = length < ~0ull - now ? now + length : ~0ull;
      thread.state = THREAD_Sleeping;
      return Done{DONE_Wait, 1, 0};
    }
    CASE(exit) {
      END(END_Exit, get32(slot(w, 1)));
    }
    CASE(panic_exit) {
      END(END_Panic, 0);
    }
    CASE(memcmp) {
      u64 a = get32(slot(w, 2)), b = get32(slot(w, 3)), len = get32(slot(second_word(), 0));
      if (!fits(a, len) || !fits(b, len)) TRAP(TRAP_MemoryOutOfBounds);
      set32(slot(w, 1), bulk_compare(launch, base, a, b, len));
      CHARGE(len);
      NEXT2;
    }
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
      HEAP(heap::allocate(*memory, get32(slot(w, 2)), get32(slot(w, 3)), address));
      set32(slot(w, 1), address);
      NEXT;
    }
    CASE(alloc_zero) {
      u32 address, len = get32(slot(w, 2));
      HEAP(heap::allocate(*memory, len, get32(slot(w, 3)), address));
      if (address) bulk_fill(launch, base, address, 0, len);
      set32(slot(w, 1), address);
      CHARGE(len);
      NEXT;
    }
    CASE(dealloc) {
      HEAP(heap::release(*memory, get32(slot(w, 1)), get32(slot(w, 2)), get32(slot(w, 3))));
      NEXT;
    }
    CASE(realloc) {
      u64 x = second_word();
      u32 old = get32(slot(w, 2)), old_len = get32(slot(w, 3)), align = get32(slot(x, 0)), len = get32(slot(x, 1));
      heap::Class from = heap::class_of(memory->heap, old_len, align);
      if (old % heap::GRAIN != 0 || !heap::plausible(*memory, from, old / heap::GRAIN)) TRAP(TRAP_HeapCorrupted);
      u32 address = old;
      if (heap::class_of(memory->heap, len > 0xf0000000u ? 0xf0000000u : len, align).list != from.list) {
        HEAP(heap::allocate(*memory, len, align, address));
        if (address) {
          bulk_copy(launch, base, address, base, old, lesser(old_len, len));
          HEAP(heap::release(*memory, old, old_len, align));
          CHARGE(old_len);
        }
      }
      set32(slot(w, 1), address);
      NEXT2;
    }

    CASE(print) {
      u32 from = get32(slot(w, 2)), len = get32(slot(w, 3));
      if (!fits(from, len)) TRAP(TRAP_MemoryOutOfBounds);
      u64 done = thread.progress;
      u32 piece = (u32)lesser(len - done, output::PIECE);
      if (piece) {
        // A full ring makes the thread wait for the host, so nothing is lost.
        if (!output::append(*launch.ring, RECORD_Text, id, get32(slot(w, 1)), base + from + done, piece)) YIELD;
        done += piece;
      }
      thread.progress = done < len ? done : 0;
      if (done < len) return Done{DONE_Step, 0, 1};
      NEXT;
    }
    CASE(print_end) {
      if (!output::append(*launch.ring, RECORD_Close, id, get32(slot(w, 1)), nullptr, 0)) YIELD;
      NEXT;
    }
    default: TRAP(TRAP_BadOpcode);
  }
#undef CASE
#undef NEXT
#undef NEXT2
#undef TRAP
#undef YIELD
#undef MOVE
#undef END
#undef CHARGE
#undef HEAP
#undef ATOMIC_ADDRESS
#undef MEMORY_COPY
#undef MEMORY_INIT
#undef MEMORY_FILL
#undef COPY
}

}  // namespace rare
}  // namespace gpu_run
