// The interpreter: runs one thread until it ends, waits or has used its slice.
//
// What is read at every instruction (pc, frame, memory's base and size) is held in local variables,
// which the compiler keeps in hardware registers; slow paths get copies of it, so that no address
// of it escapes. Instructions that depend on their operands alone are in generated/cases.inc.
#pragma once

#include "atomics.h"
#include "bulk.h"
#include "frames.h"
#include "heap.h"
#include "output.h"
#include "semantics.h"
#include "simd.h"

namespace gpu_run {

// Runs `thread` (number `id` of the launch) on `lane`.
GPU_RUN_INLINE void run(const Launch &launch, Thread &thread, u32 id, u32 lane) {
  const u64 *const code = launch.code;
  const u64 *pc = code + thread.pc;
  Registers registers = {thread.frame, thread.stride};
  u32 room = thread.room;
  u32 header = thread.header;
  u32 depth = thread.depth;
  u32 instance_index = thread.instance;
  u32 budget = launch.slice;
  u64 *const globals = thread.globals;

  const Instance *instance = &launch.instances[instance_index];
  Memory *memory = instance->memories[0];
  u8 *base = memory->base;
  u64 size = load_relaxed_device(&memory->size);

  // Set by whoever goes to the parts behind the loop.
  EndKind end_kind;
  u32 end_value;

  u64 following = load_code(pc);

  auto get32 = [&](u32 unit) { return registers.get32(unit); };
  auto get64 = [&](u32 unit) { return registers.get64(unit); };
  auto set32 = [&](u32 unit, u32 value) { registers.set32(unit, value); };
  auto set64 = [&](u32 unit, u64 value) { registers.set64(unit, value); };
  auto second_word = [&] { return following; };
  auto index_of = [&](const u64 *at) { return (u32)(at - code); };
  auto global = [&](u32 index) { return global_slot(launch, *instance, globals, index); };
  // The size that was read may be old: another thread may have grown the memory.
  auto fits = [&](u64 at, u64 len) {
    if (in_bounds(at, len, size)) return true;
    size = load_relaxed_device(&memory->size);
    return in_bounds(at, len, size);
  };

#define CASE(name) case OP_##name:
// The word behind the running instruction is fetched while that one runs: it is the next one, or the
// second word of this one. Whoever goes elsewhere fetches again.
#define FETCH { following = load_code(pc); continue; }
#define NEXT { pc += 1; continue; }
#define NEXT2 { pc += 2; FETCH }
#define STEP(words) { if (words == 1) NEXT NEXT2 }
#define TRAP(kind) { end_kind = END_Trap; end_value = (kind); goto ended; }
#define YIELD goto waiting
// Work of many bytes or elements counts like as many branches, so that the stop flag is seen in time.
#define CHARGE(amount)                                                                             \
  {                                                                                                \
    u64 price = 1 + (u64)(amount) / 256;                                                           \
    budget = price < budget ? budget - (u32)price : 1;                                             \
  }
#define DONE2 { pc += 2; if (--budget == 0) YIELD; FETCH }
#define BRANCH(distance) { pc += (i64)(i32)(distance); if (--budget == 0) YIELD; FETCH }
#define BRANCH_IF(condition, distance) { if (condition) BRANCH(distance); NEXT; }
#define LOAD(T, width)                                                                             \
  u64 at = (u64)get32(slot(w, 2)) + slot(w, 3);                                                    \
  if (UNLIKELY(!fits(at, sizeof(T)))) TRAP(TRAP_MemoryOutOfBounds);                                \
  set##width(slot(w, 1), (u##width)linear::load<T>(base, at));
#define STORE(T, width)                                                                            \
  u64 at = (u64)get32(slot(w, 1)) + slot(w, 3);                                                    \
  if (UNLIKELY(!fits(at, sizeof(T)))) TRAP(TRAP_MemoryOutOfBounds);                                \
  linear::store<T>(base, at, (T)get##width(slot(w, 2)));
#define FAR_ADDRESS(T, unit)                                                                       \
  Memory &m = *instance->memories[slot(w, 3)];                                                     \
  u64 at;                                                                                          \
  if (!far_address(m, registers, unit, second_word(), sizeof(T), at)) TRAP(TRAP_MemoryOutOfBounds);
#define LOAD_FAR(T, width)                                                                         \
  FAR_ADDRESS(T, slot(w, 2))                                                                       \
  set##width(slot(w, 1), (u##width)linear::load<T>(m.base, at));
#define STORE_FAR(T, width)                                                                        \
  FAR_ADDRESS(T, slot(w, 1))                                                                       \
  linear::store<T>(m.base, at, (T)get##width(slot(w, 2)));
#define HEAP(call)                                                                                 \
  {                                                                                                \
    heap::Outcome outcome = (call);                                                                \
    if (outcome == heap::RETRY) YIELD;                                                             \
    if (outcome == heap::CORRUPTED) TRAP(TRAP_HeapCorrupted);                                      \
  }

  for (;;) {
    // Set by whoever goes to `call` or `bridge`. Not initialized, so that no iteration carries them.
    const u64 *target;
    u32 call_base, return_pc, call_instance;
    const u64 w = following;
    following = load_code(pc + 1);
    switch ((u16)w) {
#include "generated/cases.inc"

      CASE(trap) TRAP((TrapKind)slot(w, 1));
      CASE(jump) BRANCH((i32)upper(w));
      CASE(br_if) { BRANCH_IF(get32(slot(w, 1)), upper(w)) }
      CASE(br_unless) { BRANCH_IF(!get32(slot(w, 1)), upper(w)) }
#define ADD_AND_BRANCH(compare, limit)                                                             \
  u64 x = second_word();                                                                           \
  u32 sum = get32(slot(w, 2)) + (u32)(i32)(i16)slot(w, 3);                                         \
  set32(slot(w, 1), sum);                                                                          \
  if (semantics::compare(sum, limit)) BRANCH((i16)slot(x, 1));                                     \
  NEXT2;
      CASE(br_i32_add_ne) { ADD_AND_BRANCH(i32_ne, get32(slot(x, 0))) }
      CASE(br_i32_add_lt_s) { ADD_AND_BRANCH(i32_lt_s, get32(slot(x, 0))) }
      CASE(br_i32_add_lt_u) { ADD_AND_BRANCH(i32_lt_u, get32(slot(x, 0))) }
      CASE(br_i32_add_ne_imm) { ADD_AND_BRANCH(i32_ne, (u32)(i32)(i16)slot(x, 0)) }
      CASE(br_table) {
        u32 last = upper(w) - 1;
        u32 index = get32(slot(w, 1));
        if (index > last) index = last;
        u64 pair = load_code(pc + 1 + index / 2);
        BRANCH((i32)(pair >> (index % 2 * 32)));
      }
      CASE(return) {
        u32 h = slot(w, 1), from = slot(w, 2), count = slot(w, 3);
        for (u32 i = 0; i < count; i++) set32(i, get32(from + i));
        u32 back = get32(h + 1);
        pc = code + get32(h);
        header = back >> 16;
        u32 caller_base = back & 0xffff;
        registers = frames::back_by(registers, caller_base);
        room += caller_base;
        depth--;
        FETCH
      }
      CASE(call) {
        call_base = slot(w, 1);
        target = pc + (i32)upper(w);
        return_pc = index_of(pc) + 1;
        goto call;
      }
      CASE(call_indirect) {
        u64 x = second_word();
        const Table &table = *instance->tables[slot(w, 3)];
        u32 index = get32(slot(w, 2));
        if (index >= load_relaxed_device(&table.size)) TRAP(TRAP_UndefinedElement);
        u32 ref = load_relaxed_device(&table.elements[index]);
        if (ref == 0) TRAP(TRAP_UninitializedElement);
        const Func &func = launch.funcs[ref - 1];
        if (func.type != instance->types[(u32)x]) TRAP(TRAP_IndirectCallTypeMismatch);
        call_base = slot(w, 1);
        return_pc = index_of(pc) + 2;
        if (func.kind == FUNC_Nothing) NEXT2;
        target = code + func.pc;
        if (func.instance == instance_index) goto call;
        call_instance = func.instance;
        goto bridge;
      }
      CASE(call_import) {
        const Func &func = launch.funcs[instance->funcs[upper(w)]];
        if (func.kind == FUNC_Nothing) NEXT;
        call_base = slot(w, 1);
        return_pc = index_of(pc) + 1;
        target = code + func.pc;
        call_instance = func.instance;
        goto bridge;
      }
      CASE(bridge_return) {
        Place place = {registers, room, header, index_of(pc), instance_index};
        frames::cross_bridge(launch, thread, place, true);
        registers = place.registers;
        room = place.room;
        header = place.header;
        pc = code + place.pc;
        if (place.instance != instance_index) {
          instance_index = place.instance;
          goto enter_instance;
        }
        FETCH
      }
      CASE(thread_end) {
        for (u32 i = 0; i < launch.result_units; i++) launch.results[(u64)id * launch.result_units + i] = get32(i);
        thread.state = THREAD_Ended;
        return;
      }

      CASE(copy_range) {
        u32 to = slot(w, 1), from = slot(w, 2), count = slot(w, 3);
        for (u32 i = 0; i < count; i++) set32(to + i, get32(from + i));
        NEXT;
      }
      CASE(zero) {
        u32 to = slot(w, 1), count = slot(w, 2);
        for (u32 i = 0; i < count; i++) set32(to + i, 0);
        NEXT;
      }
      CASE(const32) { set32(slot(w, 1), upper(w)); NEXT; }
      CASE(const64_s) { set64(slot(w, 1), (u64)(i64)(i32)upper(w)); NEXT; }
      CASE(const64) { set64(slot(w, 1), second_word()); NEXT2; }
      CASE(global_get32) { set32(slot(w, 1), (u32)*global(upper(w))); NEXT; }
      CASE(global_get64) { set64(slot(w, 1), *global(upper(w))); NEXT; }
      CASE(global_set32) { *global(upper(w)) = get32(slot(w, 1)); NEXT; }
      CASE(global_set64) { *global(upper(w)) = get64(slot(w, 1)); NEXT; }
      CASE(stack_pointer_set) {
        u32 value = get32(slot(w, 1));
        // Compiled code subtracts from the pointer without a test: below 0 it comes out beyond the
        // memory's end.
        if (value < thread.stack_limit || !fits(value, 0)) TRAP(TRAP_ThreadStackOverflow);
        *global(upper(w)) = value;
        NEXT;
      }

      CASE(memory_size) {
        set32(slot(w, 1), (u32)(load_relaxed_device(&instance->memories[slot(w, 2)]->size) / PAGE));
        NEXT;
      }
      CASE(memory_grow) {
        set32(slot(w, 1), (u32)memory_grow(*instance->memories[slot(w, 3)], get32(slot(w, 2))));
        NEXT;
      }
      CASE(memory_size64) {
        set64(slot(w, 1), load_relaxed_device(&instance->memories[slot(w, 2)]->size) / PAGE);
        NEXT;
      }
      CASE(memory_grow64) {
        set64(slot(w, 1), memory_grow(*instance->memories[slot(w, 3)], get64(slot(w, 2))));
        NEXT;
      }
      CASE(memory_copy64) {
        u64 x = second_word();
        Memory &to = *instance->memories[slot(x, 0)], &from = *instance->memories[slot(x, 1)];
        u64 to_at = get64(slot(w, 1)), from_at = get64(slot(w, 2)), len = get64(slot(w, 3));
        if (!in_bounds64(to_at, len, load_relaxed_device(&to.size))) TRAP(TRAP_MemoryOutOfBounds);
        if (!in_bounds64(from_at, len, load_relaxed_device(&from.size))) TRAP(TRAP_MemoryOutOfBounds);
        bulk_copy(launch, to.base, to_at, from.base, from_at, len);
        CHARGE(len);
        DONE2;
      }
      CASE(memory_fill64) {
        Memory &m = *instance->memories[slot(second_word(), 0)];
        u64 at = get64(slot(w, 1)), len = get64(slot(w, 3));
        if (!in_bounds64(at, len, load_relaxed_device(&m.size))) TRAP(TRAP_MemoryOutOfBounds);
        bulk_fill(launch, m.base, at, (u8)get32(slot(w, 2)), len);
        CHARGE(len);
        DONE2;
      }
      CASE(memory_copy) {
        u64 x = second_word();
        Memory &to = *instance->memories[slot(x, 0)], &from = *instance->memories[slot(x, 1)];
        u64 to_at = get32(slot(w, 1)), from_at = get32(slot(w, 2)), len = get32(slot(w, 3));
        if (!in_bounds(to_at, len, load_relaxed_device(&to.size))) TRAP(TRAP_MemoryOutOfBounds);
        if (!in_bounds(from_at, len, load_relaxed_device(&from.size))) TRAP(TRAP_MemoryOutOfBounds);
        bulk_copy(launch, to.base, to_at, from.base, from_at, len);
        CHARGE(len);
        DONE2;
      }
      CASE(memory_fill) {
        Memory &m = *instance->memories[slot(second_word(), 0)];
        u64 at = get32(slot(w, 1)), len = get32(slot(w, 3));
        if (!in_bounds(at, len, load_relaxed_device(&m.size))) TRAP(TRAP_MemoryOutOfBounds);
        bulk_fill(launch, m.base, at, (u8)get32(slot(w, 2)), len);
        CHARGE(len);
        DONE2;
      }
      CASE(memory_init64) {
        u64 x = second_word();
        Memory &to = *instance->memories[slot(x, 0)];
        const DataSegment &from = instance->data[upper(x)];
        u64 to_at = get64(slot(w, 1)), from_at = get32(slot(w, 2)), len = get32(slot(w, 3));
        if (!in_bounds64(to_at, len, load_relaxed_device(&to.size))) TRAP(TRAP_MemoryOutOfBounds);
        if (!in_bounds(from_at, len, load_relaxed_device(&from.len))) TRAP(TRAP_MemoryOutOfBounds);
        bulk_copy(launch, to.base, to_at, from.bytes, from_at, len);
        CHARGE(len);
        DONE2;
      }
      CASE(memory_init) {
        u64 x = second_word();
        Memory &to = *instance->memories[slot(x, 0)];
        const DataSegment &from = instance->data[upper(x)];
        u64 to_at = get32(slot(w, 1)), from_at = get32(slot(w, 2)), len = get32(slot(w, 3));
        if (!in_bounds(to_at, len, load_relaxed_device(&to.size))) TRAP(TRAP_MemoryOutOfBounds);
        if (!in_bounds(from_at, len, load_relaxed_device(&from.len))) TRAP(TRAP_MemoryOutOfBounds);
        bulk_copy(launch, to.base, to_at, from.bytes, from_at, len);
        CHARGE(len);
        DONE2;
      }
      CASE(data_drop) { store_relaxed_device(&instance->data[upper(w)].len, 0ull); NEXT; }

      CASE(table_get) {
        const Table &table = *instance->tables[slot(w, 3)];
        u32 index = get32(slot(w, 2));
        if (!table_range(table, index, 1)) TRAP(TRAP_TableOutOfBounds);
        set32(slot(w, 1), load_relaxed_device(&table.elements[index]));
        NEXT;
      }
      CASE(table_set) {
        Table &table = *instance->tables[slot(w, 3)];
        u32 index = get32(slot(w, 1));
        if (!table_range(table, index, 1)) TRAP(TRAP_TableOutOfBounds);
        store_relaxed_device(&table.elements[index], get32(slot(w, 2)));
        NEXT;
      }
      CASE(table_size) { set32(slot(w, 1), load_relaxed_device(&instance->tables[slot(w, 2)]->size)); NEXT; }
      CASE(table_grow) {
        Table &table = *instance->tables[slot(second_word(), 0)];
        u32 count = get32(slot(w, 2));
        set32(slot(w, 1), table_grow(launch, table, count, get32(slot(w, 3))));
        CHARGE(count);
        DONE2;
      }
      CASE(table_fill) {
        Table &table = *instance->tables[slot(second_word(), 0)];
        u32 count = get32(slot(w, 3));
        if (!table_fill(launch, table, get32(slot(w, 1)), get32(slot(w, 2)), count)) TRAP(TRAP_TableOutOfBounds);
        CHARGE(count);
        DONE2;
      }
      CASE(table_copy) {
        u64 x = second_word();
        Table &to = *instance->tables[slot(x, 0)], &from = *instance->tables[slot(x, 1)];
        u32 count = get32(slot(w, 3));
        if (!table_copy(launch, to, get32(slot(w, 1)), from, get32(slot(w, 2)), count)) TRAP(TRAP_TableOutOfBounds);
        CHARGE(count);
        DONE2;
      }
      CASE(table_init) {
        u64 x = second_word();
        Table &to = *instance->tables[slot(x, 0)];
        const ElemSegment &from = instance->elems[upper(x)];
        u32 count = get32(slot(w, 3));
        if (!table_init(launch, to, get32(slot(w, 1)), from, get32(slot(w, 2)), count)) TRAP(TRAP_TableOutOfBounds);
        CHARGE(count);
        DONE2;
      }
      CASE(elem_drop) { store_relaxed_device(&instance->elems[upper(w)].len, 0ull); NEXT; }
      CASE(ref_func) { set32(slot(w, 1), instance->funcs[upper(w)] + 1); NEXT; }

      CASE(gid) { set32(slot(w, 1), id); NEXT; }
      CASE(thread_count) { set32(slot(w, 1), launch.thread_count); NEXT; }
      CASE(time) { set64(slot(w, 1), clock_ns()); NEXT; }
      CASE(wall_time) { set64(slot(w, 1), launch.wall_start + (clock_ns() - launch.clock_start)); NEXT; }
      CASE(sleep) {
        u64 now = clock_ns(), length = get64(slot(w, 1));
        thread.wake = length < ~0ull - now ? now + length : ~0ull;
        thread.state = THREAD_Sleeping;
        pc += 1;
        goto waiting;
      }
      CASE(exit) {
        end_kind = END_Exit;
        end_value = get32(slot(w, 1));
        goto ended;
      }
      CASE(panic_exit) {
        end_kind = END_Panic;
        end_value = 0;
        goto ended;
      }
      CASE(memcmp) {
        u64 a = get32(slot(w, 2)), b = get32(slot(w, 3)), len = get32(slot(second_word(), 0));
        if (!fits(a, len) || !fits(b, len)) TRAP(TRAP_MemoryOutOfBounds);
        set32(slot(w, 1), bulk_compare(launch, base, a, b, len));
        CHARGE(len);
        DONE2;
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
        if (done < len) BRANCH(0);
        NEXT;
      }
      CASE(print_end) {
        if (!output::append(*launch.ring, RECORD_Close, id, get32(slot(w, 1)), nullptr, 0)) YIELD;
        NEXT;
      }

      // The head of a function is read by calls only.
      CASE(enter)
      default: {
        if ((u16)w < PAGE_SIMD) TRAP(TRAP_BadOpcode);
        // The other pages have functions of their own, which get a copy of the registers' place: with its
        // address out, every instruction would read it from memory.
        if ((u16)w >= PAGE_ATOMIC) {
          atomics::Done done = atomics::execute(launch, thread, id, *instance, Registers(registers), pc, w);
          if (done.trap) TRAP(done.trap);
          if (done.words == 0) YIELD;
          pc += done.words;
          FETCH
        }
        simd::Done done = simd::execute(launch, *instance, Registers(registers), globals, pc, w);
        if (done.trap) TRAP(done.trap);
        pc += done.words;
        FETCH
      }
    }

  call: {
    u64 head = load_code(target);
    u32 frame = frames::head_frame(head), callee_header = frames::head_header(head);
    if (UNLIKELY(depth >= launch.max_depth)) TRAP(TRAP_StackOverflow);
    if (UNLIKELY(call_base + frame > room)) {
      call_instance = instance_index;
      goto bridge;
    }
    registers.frame += (u64)call_base * registers.stride;
    set32(callee_header, return_pc);
    set32(callee_header + 1, call_base | header << 16);
    header = callee_header;
    room -= call_base;
    depth++;
    pc = target + 1;
    if (--budget == 0) YIELD;
    FETCH
  }

  bridge: {
    if (depth >= launch.max_depth) TRAP(TRAP_StackOverflow);
    Place place = {registers, room, header, return_pc, instance_index};
    if (!frames::build_bridge(launch, thread, lane, place, index_of(target), call_base, call_instance)) {
      TRAP(TRAP_OutOfRegisterMemory);
    }
    registers = place.registers;
    room = place.room;
    header = place.header;
    pc = code + place.pc;
    depth++;
    if (place.instance == instance_index) FETCH
    instance_index = place.instance;
  }

  enter_instance:
    instance = &launch.instances[instance_index];
    memory = instance->memories[0];
    base = memory->base;
    size = load_relaxed_device(&memory->size);
    following = load_code(pc);
  }

ended:
  frames::end_process(launch, thread, id, Place{registers, room, header, index_of(pc), instance_index}, depth, end_kind, end_value);
  thread.state = THREAD_Ended;
  return;

waiting:
  thread.pc = index_of(pc);
  thread.frame = registers.frame;
  thread.stride = registers.stride;
  thread.room = room;
  thread.header = header;
  thread.depth = depth;
  thread.instance = instance_index;

#undef CASE
#undef STEP
#undef BRANCH_IF
#undef FETCH
#undef NEXT
#undef NEXT2
#undef CHARGE
#undef DONE2
#undef TRAP
#undef YIELD
#undef BRANCH
#undef LOAD
#undef STORE
#undef FAR_ADDRESS
#undef LOAD_FAR
#undef STORE_FAR
#undef HEAP
#undef ATOMIC_ADDRESS
#undef ADD_AND_BRANCH
}

}  // namespace gpu_run
