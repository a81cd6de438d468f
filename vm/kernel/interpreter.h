// The interpreter: runs one thread until it ends, waits or has used its slice.
//
// What is read at every instruction (pc, frame, memory's base and size) is in local variables, which the compiler keeps
// in hardware registers. Slow paths get copies of it, so that no address of it escapes. Instructions that depend on
// their operands alone are in generated/cases.inc.
#pragma once

#include "counts.h"
#include "ops/dispatch.h"
#include "ops/semantics.h"
#include "samples.h"

namespace gpu_run {

#ifdef GPU_RUN_CALLS_NATIVE
// Calls a compiled function from the interpreted frame at `state`. DONE_Step: it is to be interpreted.
GPU_RUN_NOINLINE StepResult call_native(const Launch &launch, Thread &thread, MachineState &state, u64 head, u32 base, u32 return_pc);
// The interpreted frame at `state` is at the head of a loop. DONE_Ended: compiled code goes on there, which has waited for
// it. DONE_Step: none does.
GPU_RUN_NOINLINE StepResult enter_loop(const Launch &launch, Thread &thread, MachineState &state);
#endif

// The same as `run`. `COUNTS`: counts blocks, on the host.
template <bool COUNTS>
GPU_RUN_INLINE void run_counting(const Launch &launch, Thread &thread, u32 id, u32 lane) {
  const u64 *const code = samples::code(launch, thread, id);
  const u64 *pc = code + thread.pc;
  Registers registers = {thread.frame, thread.stride};
  u32 room = thread.room;
  u32 header = thread.header;
  u32 depth = thread.depth;
  u32 instance_index = thread.instance;
  u32 budget = samples::slice(launch, id);
  u64 *const globals = thread.globals;

  const Instance *instance = &launch.instances[instance_index];
  Memory *memory = instance->memories[0];
  u8 *base = memory->base;
  u64 size = load_relaxed_device(&memory->size);
#if !GPU_RUN_GPU
  // From a word of the code to its count.
  const u64 to_count = COUNTS ? (u64)counts::at_branches(launch) - (u64)code : 0;
#endif

  // Set before every jump to `ended`.
  u32 end_trap;
  // Where slow paths find and leave the thread; it has an address, which the others must not have.
  MachineState state;

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
#define OTHERS goto others;
// The word after the running instruction is fetched while that one runs: it is the next one, or the second word of this
// one. An instruction that goes elsewhere fetches again.
#define FETCH { following = load_code(pc); continue; }
#define NEXT { pc += 1; continue; }
#define NEXT2 { pc += 2; FETCH }
#define STEP(words) { if (words == 1) NEXT NEXT2 }
#define TRAP(kind) { end_trap = (kind); goto ended; }
#define YIELD goto waiting
#if GPU_RUN_GPU
#define COUNT(at) {}
#else
#define COUNT(at) { if (COUNTS) counts::add_one((u64 *)((u64)(at) + to_count)); }
#endif
#define BRANCH(distance) { pc += (i64)(i32)(distance); COUNT(pc) if (--budget == 0) YIELD; FETCH }
#define BRANCH_IF(condition, distance) { if (condition) BRANCH(distance); COUNT(pc + 1) NEXT; }
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
  for (;;) {
    // Set before every jump to `call` or `bridge`. Not initialized, so that no iteration carries them.
    const u64 *target;
    u32 call_base, return_pc, call_instance;
    const u64 w = following;
    following = load_code(pc + 1);
    switch ((u16)w) {
#include "generated/cases.inc"

      CASE(visit) {
        if (COUNTS) {
          const u16 visit = load_hint(&launch.visits[index_of(pc)]);
          if (!(visit & VISIT_LATE)) counts::note(launch, index_of(pc));
          following = (w & ~(u64)0xffff) | (visit & VISIT_OPCODE);
          continue;
        }
        const u16 visit = frames::visit(launch, index_of(pc));
#ifdef GPU_RUN_CALLS_NATIVE
        if ((visit & VISIT_LOOP) && !launch.samples && !launch.counts) {
          state = {registers, room, header, index_of(pc), instance_index, depth};
          const StepResult done = enter_loop(launch, thread, state);
          if (done.kind == DONE_Ended) return;
          if (done.kind == DONE_Moved) goto moved;
          if (done.kind == DONE_Trap) TRAP(done.value);
        }
#endif
        if (UNLIKELY(launch.samples)) {
          samples::visit(launch, thread, id, index_of(pc), depth, visit & VISIT_CALLED, [&] {
            return MachineState{registers, room, header, index_of(pc), instance_index, depth};
          });
        }
        if (UNLIKELY(launch.counts) && !(visit & VISIT_LATE)) counts::note(launch, index_of(pc));
        following = (w & ~(u64)0xffff) | (visit & VISIT_OPCODE);
        continue;
      }
      CASE(trap) TRAP((TrapKind)slot(w, 1));
      // Here every atomic access is sequentially consistent, which is more than these ask for.
      CASE(atomic_relaxed) NEXT
      CASE(atomic_acq_rel) NEXT
      CASE(jump) BRANCH((i32)upper(w));
      CASE(br_if) { BRANCH_IF(get32(slot(w, 1)), upper(w)) }
      CASE(br_unless) { BRANCH_IF(!get32(slot(w, 1)), upper(w)) }
#define ADD_AND_BRANCH(compare, limit)                                                             \
  u64 x = second_word();                                                                           \
  u32 sum = get32(slot(w, 2)) + (u32)(i32)(i16)slot(w, 3);                                         \
  set32(slot(w, 1), sum);                                                                          \
  if (semantics::compare(sum, limit)) BRANCH((i16)slot(x, 1));                                     \
  COUNT(pc + 2) NEXT2;
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
        const Func *func;
        u32 found = frames::indirect(launch, *instance, slot(w, 3), get32(slot(w, 2)), (u32)x, func);
        if (found) TRAP(found);
        call_base = slot(w, 1);
        return_pc = index_of(pc) + 2;
        if (func->kind == FUNC_Nothing) NEXT2;
        target = code + func->pc;
        call_instance = func->instance;
        if (call_instance == instance_index) goto call;
        goto bridge;
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

      CASE(fuel) {
        u64 left = *global(upper(w)), cost = slot(w, 1);
        if (left < cost) TRAP(TRAP_OutOfFuel);
        *global(upper(w)) = left - cost;
        NEXT;
      }

      // The program was verified: it holds no other numbers.
      default: __builtin_unreachable();
    }

  call: {
    u64 head = load_code(target);
    u32 frame = frames::head_frame(head), callee_header = frames::head_header(head);
    if (UNLIKELY(depth >= launch.max_depth)) TRAP(TRAP_StackOverflow);
#ifdef GPU_RUN_CALLS_NATIVE
    if (frames::head_native(head)) {
      state = {registers, room, header, index_of(pc), instance_index, depth};
      const StepResult done = call_native(launch, thread, state, head, call_base, return_pc);
      if (done.kind == DONE_Moved) goto moved;
      if (done.kind == DONE_Trap) TRAP(done.value);
    }
#endif
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
    COUNT(pc)
    if (--budget == 0) YIELD;
    FETCH
  }

  // An instruction that is not in this switch.
  others: {
    state = {registers, room, header, index_of(pc), instance_index, depth};
    // What waits or works in pieces is run again: it counts when it is done.
    const bool counts = UNLIKELY(launch.counts) && (u16)load_code(pc) == OP_visit;
    StepResult done = dispatch::execute(launch, thread, id, lane, state, w);
    const bool again = (done.kind == DONE_Step || done.kind == DONE_Wait) && !done.value;
    if (counts && !again) counts::note(launch, index_of(pc));
    if (done.kind == DONE_Moved) goto moved;
    if (done.kind == DONE_Trap) TRAP(done.value);
    if (done.kind == DONE_Ended) return;
    pc += done.value;
    if (done.kind == DONE_Wait) goto waiting;
    if (done.cost >= budget) YIELD;
    budget -= done.cost;
    FETCH
  }

  bridge:
    if (depth >= launch.max_depth) TRAP(TRAP_StackOverflow);
    state = {registers, room, header, return_pc, instance_index, depth};
    if (!frames::build_bridge(launch, thread, lane, state, index_of(target), call_base, call_instance)) {
      TRAP(TRAP_OutOfRegisterMemory);
    }
    COUNT(target + 1)

  moved:
    registers = state.registers;
    room = state.room;
    header = state.header;
    depth = state.depth;
    pc = code + state.pc;
    if (--budget == 0) {
      instance_index = state.instance;
      YIELD;
    }
    if (state.instance == instance_index) FETCH
    instance_index = state.instance;


    instance = &launch.instances[instance_index];
    memory = instance->memories[0];
    base = memory->base;
    size = load_relaxed_device(&memory->size);
    following = load_code(pc);
  }

ended:
  frames::end_process(launch, thread, id, MachineState{registers, room, header, index_of(pc), instance_index, depth}, END_Trap, end_trap);
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
#undef OTHERS
#undef STEP
#undef BRANCH_IF
#undef FETCH
#undef NEXT
#undef NEXT2
#undef TRAP
#undef YIELD
#undef COUNT
#undef BRANCH
#undef LOAD
#undef STORE
#undef FAR_ADDRESS
#undef LOAD_FAR
#undef STORE_FAR
#undef ADD_AND_BRANCH
}

// Runs `thread` (number `id` of the launch) on `lane`.
GPU_RUN_INLINE void run(const Launch &launch, Thread &thread, u32 id, u32 lane) {
#if !GPU_RUN_GPU
  if (UNLIKELY(launch.counts)) return run_counting<true>(launch, thread, id, lane);
#endif
  run_counting<false>(launch, thread, id, lane);
}

}  // namespace gpu_run
