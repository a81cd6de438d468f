// Instructions that lead to another frame or end the thread: calls between instances, tail calls,
// throws, returns over bridges. In a function of their own, as ops/slow.h.
#pragma once

#include "ops/exceptions.h"

namespace gpu_run {
namespace control {

// Calls a function whose frame does not fit after the caller's, or that belongs to another instance. `words` is the
// length of the call.
GPU_RUN_INLINE u32 call_over_bridge(const Launch &launch, Thread &thread, u32 lane, MachineState &state, const Func &func,
                                    u32 base, u32 words) {
  if (state.depth >= launch.max_depth) return TRAP_StackOverflow;
  MachineState callee = state;
  callee.pc += words;
  if (!frames::build_bridge(launch, thread, lane, callee, func.pc, base, func.instance)) return TRAP_OutOfRegisterMemory;
  state = callee;
  return TRAP_None;
}

// The callee takes the place of this frame, whose return address and caller it inherits. A callee of another instance
// can do so only above a bridge, which leads back to the caller's instance. Any callee can do so only if its frame
// fits. Otherwise it is called like any other, once: from then on there is a bridge.
GPU_RUN_INLINE u32 tail_call(const Launch &launch, Thread &thread, u32 lane, MachineState &state, const Func &func, u32 base,
                             u32 words) {
  u64 head = load_code(launch.code + func.pc);
  u32 frame = frames::head_frame(head), header = frames::head_header(head);
  const Registers &registers = state.registers;
  u32 back_pc = registers.get32(state.header), back = registers.get32(state.header + 1);
  bool leaves = func.instance != state.instance;
  if (frame > state.room || (leaves && back_pc != PC_BRIDGE_RETURN)) {
    return call_over_bridge(launch, thread, lane, state, func, base, words);
  }
  for (u32 i = 0; i < header; i++) registers.set32(i, registers.get32(base + i));
  registers.set32(header, back_pc);
  registers.set32(header + 1, back);
  state.header = header;
  state.pc = func.pc + 1;
  state.instance = func.instance;
  return TRAP_None;
}

// Runs the instruction at `state`, whose first word is `w`.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, u32 lane, MachineState &state, u64 w) {
  const u64 *pc = launch.code + state.pc;
  const Registers registers = state.registers;
  const Instance &instance = launch.instances[state.instance];
  auto get32 = [&](u32 unit) { return registers.get32(unit); };
  auto second_word = [&] { return load_code(pc + 1); };

#define CASE(name) case OP_##name:
#define NEXT return StepResult{DONE_Step, 1, 0}
#define NEXT2 return StepResult{DONE_Step, 2, 0}
#define TRAP(kind) return StepResult{DONE_Trap, (kind), 0}
// Moves to where the call, throw or return led, unless that is a trap.
#define MOVE(outcome)                                                                              \
  {                                                                                                \
    u32 trap = (outcome);                                                                          \
    if (trap) TRAP(trap);                                                                          \
    return StepResult{DONE_Moved, 0, 1};                                                                 \
  }
#define END(kind, value)                                                                           \
  {                                                                                                \
    frames::end_process(launch, thread, id, state, kind, value);                                   \
    return StepResult{DONE_Ended, 0, 0};                                                                 \
  }

  switch ((u16)w) {
    CASE(call_import) {
      const Func &func = launch.funcs[instance.funcs[upper(w)]];
      if (func.kind == FUNC_Nothing) NEXT;
      MOVE(call_over_bridge(launch, thread, lane, state, func, slot(w, 1), 1));
    }
    CASE(return_call) {
      Func func = {FUNC_Wasm, state.instance, state.pc + (i32)upper(w), 0};
      MOVE(tail_call(launch, thread, lane, state, func, slot(w, 1), 1));
    }
    CASE(return_call_indirect) {
      const Func *func;
      u32 trap = frames::indirect(launch, instance, slot(w, 3), get32(slot(w, 2)), (u32)second_word(), func);
      if (trap) TRAP(trap);
      if (func->kind == FUNC_Nothing) NEXT2;
      MOVE(tail_call(launch, thread, lane, state, *func, slot(w, 1), 2));
    }
    CASE(return_call_import) {
      const Func &func = launch.funcs[instance.funcs[upper(w)]];
      if (func.kind == FUNC_Nothing) NEXT;
      MOVE(tail_call(launch, thread, lane, state, func, slot(w, 1), 1));
    }
    CASE(throw) {
      exceptions::Thrown thrown = {instance.tags[(u32)second_word()], 0, registers, slot(w, 1), slot(w, 2), false};
      MOVE(exceptions::unwind(launch, thread, id, state, thrown));
    }
    CASE(throw_ref) {
      u32 reference = get32(slot(w, 1));
      if (reference == 0) TRAP(TRAP_NullExceptionReference);
      exceptions::Thrown thrown = {exceptions::find(launch, reference).tag, reference, registers, 0, 0, false};
      MOVE(exceptions::unwind(launch, thread, id, state, thrown));
    }
    CASE(bridge_return) {
      u32 left = 0;
      frames::cross_bridge(launch, thread, state, frames::RETURN, left);
      MOVE(TRAP_None);
    }
    CASE(native_return) {
      // An exception that leaves the function has said so.
      Context &native = *thread.native;
      if (native.nested == NESTED_Runs) native.nested = NESTED_Returned;
      return StepResult{DONE_Ended, 0, 0};
    }
    CASE(thread_end) {
      if (thread.exceptions) exceptions::end_thread(launch, thread, id, registers);
      for (u32 i = 0; i < spawn::result_units(launch, id); i++) launch.results[(u64)id * launch.result_units + i] = get32(i);
      frames::mark_ended(launch, thread);
      spawn::count_returned(launch, id);
      return StepResult{DONE_Ended, 0, 0};
    }
    CASE(exit) {
      END(END_Exit, get32(slot(w, 1)));
    }
    CASE(panic_exit) {
      END(END_Panic, 0);
    }
    default: TRAP(TRAP_BadOpcode);
  }
#undef CASE
#undef NEXT
#undef NEXT2
#undef TRAP
#undef MOVE
#undef END
}

}  // namespace control
}  // namespace gpu_run
