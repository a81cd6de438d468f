// Functions of a compiled program that are interpreted: what stands in their place in compiled code calls this. Compiled
// for the GPU only, to generated/mixed.ptx, and linked with programs that have such functions.
//
// Compiled functions call interpreted ones by `gpu_run_interpret`, interpreted ones compiled ones by `call_native`. So the
// frames of a thread are compiled ones, interpreted ones on top of these, compiled ones on top of these, and so on:
//
//   - an interpreted function that a compiled one has called returns to PC_NATIVE_RETURN, an instruction that ends the
//     interpreter's loop;
//   - the context's calls have the return addresses of all frames below the innermost interpreted ones, whatever they are:
//     before it calls a compiled function the interpreter puts those of its own there. So a walk along the stack (for a
//     backtrace, for a thread that stands somewhere) goes on with the context's calls;
//   - references to exceptions are looked for in the innermost interpreted frames, in the context's roots, and in frames
//     that wait for compiled ones (Suspended);
//   - an exception that the innermost interpreted functions do not catch becomes the context's, and compiled code looks
//     for a handler; if that has none, the interpreted functions that called it look again;
//   - a thread that waits stays on its lane, as compiled ones do.
//
// A compiled function may go on as an interpreted one, where code follows that is not compiled. Then it is the frame that
// the compiled function had, and what it returns is what that returns. At the head of a loop that is compiled it goes on as
// the compiled one, which has waited for it.

// Internal, as in runtime.cpp.
#define GPU_RUN_NOINLINE [[maybe_unused]] static __attribute__((noinline))

#define GPU_RUN_CALLS_NATIVE

#include "generated/layout_check.h"
#include "compiled_thread.h"
#include "interpreter.h"

namespace gpu_run {

// An interpreted function as which a compiled one goes on.
struct Resumed {
  const u8 *frame;
  // Where the compiled one may go on: how many places there are, then for each the word where the loop begins, in order,
  // and the place in `lists` of how many units it takes and which.
  const u32 *places;
  const u16 *lists;
  u32 entered;  // the place where it does
  // Where it was left, until the interpreter has run from there: a jump table, which may be all that a loop's first block
  // has, and which led out.
  u32 left;
};

namespace {

// Bytes of native stack that the interpreter may take, with all that it calls but compiled functions.
constexpr u32 INTERPRETER_STACK = 4096;

// Size of the segment for an interpreted function that a compiled one has called, if its frame fits: for that and a few
// calls. A thread may have many such functions on its stack.
constexpr u32 NESTED_SEGMENT = 1;

// The context's places of return addresses that calls of interpreted functions have taken, and what was there.
struct Taken {
  u32 first, count;
  u32 calls[OPEN_CALLS];
};

// Puts the return addresses of the interpreted frames from `state` on, and of the call that the innermost one makes, to the
// context's calls.
GPU_RUN_NOINLINE void show_calls(const Launch &launch, Thread &thread, const MachineState &state, u32 return_pc, Taken &taken) {
  Context &context = *thread.native;
  const u32 most = state.depth - context.nested_depth + 1;
  taken.count = most < OPEN_CALLS ? most : OPEN_CALLS;
  taken.first = state.depth - taken.count + 1;
  for (u32 i = 0; i < taken.count; i++) {
    const u32 depth = taken.first + i, place = depth % OPEN_CALLS, before = context.calls[place];
    taken.calls[i] = before;
    // As compiled calls do: a backtrace shows the outermost ones, too.
    if (depth > OPEN_CALLS && depth - OPEN_CALLS <= OUTER_CALLS) context.calls[depth - 1] = before;
  }
  u32 depth = state.depth;
  context.calls[depth % OPEN_CALLS] = return_pc;
  if (taken.count == 1) return;
  frames::each_call(launch, thread, state, [&](u32 pc) {
    depth--;
    context.calls[depth % OPEN_CALLS] = pc;
    return depth > taken.first;
  });
}

void hide_calls(Context &context, const Taken &taken) {
  for (u32 i = 0; i < taken.count; i++) context.calls[(taken.first + i) % OPEN_CALLS] = taken.calls[i];
}

// Ends the lane because its process has been stopped.
GPU_RUN_NOINLINE void stop_nested(Context &context) {
  if (stands::wanted(*context.launch)) stands::note_thread(*context.launch, *context.thread, context.id);
  leave(context);
}

// The thread has used its slice, or must wait: comes back when it can go on.
GPU_RUN_NOINLINE void wait_nested(Context &context, u32 &idle) {
  const Launch &launch = *context.launch;
  Thread &thread = *context.thread;
  const bool waits = thread.state != THREAD_Runnable;
  do {
    if (waits) backoff(++idle);
    if (process_ended(launch)) stop_nested(context);
    // Of a program that spawns threads, the first tells of it.
    if ((context.id == 0 || !launch.spawner) && census::claim_deadlock(launch)) {
      const Registers registers = {thread.frame, thread.stride};
      const MachineState state = {registers, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
      frames::end_process(launch, thread, context.id, state, END_Trap, TRAP_Deadlock);
      leave(context);
    }
  } while (waits && !threads::can_go_on(launch, thread));
  thread.state = THREAD_Runnable;
}

}  // namespace

GPU_RUN_NOINLINE StepResult call_native(const Launch &launch, Thread &thread, MachineState &state, u64 head, u32 base,
                                        u32 return_pc) {
  Context &context = *thread.native;
  const Native native = launch.natives[frames::head_native(head) - 1];
  if (!native.code) return {DONE_Step, 0, 0};
  // Interpreted frames take none of the native stack. So where that is short the function is interpreted: there must be
  // enough for it, and for the interpreter that it may call, with the frames up to where that looks. And half of the stack
  // is kept for functions that recurse and are compiled: these cannot go on interpreted.
  const u64 needed = native.stack + 2 * INTERPRETER_STACK, kept = launch.native_stack / 2;
  if (native_stack() < context.native_limit + (needed > kept ? needed : kept)) return {DONE_Step, 0, 0};
  // The header comes after the arguments and after the results, whichever are more.
  const u32 units = frames::head_header(head);
  for (u32 i = 0; i < units; i++) context.values()[i] = state.registers.get32(base + i);
  Taken taken;
  show_calls(launch, thread, state, return_pc, taken);
  const Suspended suspended = {context.suspended, state};
  context.suspended = &suspended;
  const u32 thrown = ((u32(*)(Context *, u32))native.code)(&context, state.depth + 1);
  context.suspended = suspended.outer;
  hide_calls(context, taken);
  if (!thrown) {
    for (u32 i = 0; i < units; i++) state.registers.set32(base + i, context.values()[i]);
    state.pc = return_pc;
    return {DONE_Moved, 0, 0};
  }
  const Registers values = {(u8 *)context.values(), 4};
  const TrapKind trap = exceptions::unwind(launch, thread, context.id, state,
                                           {context.tag, context.reference, values, 0, context.count, true});
  if (trap) return {DONE_Trap, trap, 0};
  return {DONE_Moved, 0, 0};
}

GPU_RUN_NOINLINE bool enter_loop(Context &context, const MachineState &state) {
  Resumed *const resumed = context.resumed;
  // Another function may have this depth, and this frame too: after a tail call. Its loops are not among the places, unless
  // it is the same function once more.
  if (!resumed || state.depth != context.nested_depth || state.registers.frame != resumed->frame) return false;
  if (state.pc == resumed->left) {
    resumed->left = ~0u;
    return false;
  }
  u32 low = 0, high = resumed->places[0];
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (resumed->places[1 + 2 * middle] < state.pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == resumed->places[0] || resumed->places[1 + 2 * low] != state.pc) return false;
  const u16 *const units = resumed->lists + resumed->places[2 + 2 * low];
  for (u32 i = 0; i < units[0]; i++) context.values()[i] = state.registers.get32(units[1 + i]);
  resumed->entered = low;
  context.nested = NESTED_Entered;
  return true;
}

extern "C" {

// Runs the function whose head is at word `target` in the interpreter, from word `pc` on, with `depth` frames on the stack
// then. Context::values has its arguments if it begins. Or a compiled function goes on here: `units` are how many units of
// the frame the values are, and which, in `lists`; and `places` where it may go on again, or null; see Resumed. When this
// returns 0 the values are its results. 1: it has left with the exception under way. 2 and on: it goes on at that place less
// 2, with the units that it takes there.
u32 gpu_run_interpret(Context *context, u32 depth, u32 instance, u32 target, u32 pc, const u16 *units, const u16 *lists,
                      const u32 *places) {
  const Launch &launch = *context->launch;
  Thread &thread = *context->thread;
  const u32 lane = global_lane();
  const u64 head = load_code(launch.code + target);
  const u32 header = frames::head_header(head);
  // Where no stack is set the driver has counted this function's.
  if (launch.native_stack && native_stack() < context->native_limit + INTERPRETER_STACK) {
    trap(*context, pc, depth, TRAP_StackOverflow);
  }
  // No lane has registers of its own.
  thread.lane_segment_used = 1;
  frames::Segment segment;
  if (!frames::new_segment(launch, thread, lane, frames::head_frame(head), segment, NESTED_SEGMENT)) {
    trap(*context, pc, depth, TRAP_OutOfRegisterMemory);
  }
  const Registers registers = segment.registers;
  if (units) {
    for (u32 i = 0; i < units[0]; i++) registers.set32(units[1 + i], context->values()[i]);
  } else {
    // The header comes after the arguments and after the results, whichever are more.
    for (u32 i = 0; i < header; i++) registers.set32(i, context->values()[i]);
  }
  registers.set32(header, PC_NATIVE_RETURN);
  registers.set32(header + 1, 0);
  thread.frame = registers.frame;
  thread.stride = registers.stride;
  thread.room = segment.room;
  thread.header = header;
  thread.depth = depth;
  thread.pc = pc;
  thread.instance = instance;
  Context *const outer = thread.native;
  const u32 outer_nested = context->nested, outer_depth = context->nested_depth;
  Resumed *const outer_resumed = context->resumed;
  Resumed resumed = {registers.frame, places, lists, 0, pc};
  thread.native = context;
  context->resumed = places ? &resumed : nullptr;
  context->nested = NESTED_Runs;
  context->nested_depth = depth;
  // A loop that leaves compiled code and comes back in each pass looks here only.
  if (process_ended(launch)) stop_nested(*context);
  for (u32 idle = 0;;) {
    run(launch, thread, context->id, lane);
    if (context->nested != NESTED_Runs) break;
    if (thread.state == THREAD_Ended) leave(*context);
    wait_nested(*context, idle);
  }
  const u32 ended = context->nested;
  thread.native = outer;
  context->nested = outer_nested;
  context->nested_depth = outer_depth;
  context->resumed = outer_resumed;
  if (ended == NESTED_Returned) {
    for (u32 i = 0; i < header; i++) context->values()[i] = registers.get32(i);
  }
  frames::give_segment(*launch.arena, segment.give_back - 2, segment.size);
  if (ended == NESTED_Entered) return 2 + resumed.entered;
  return ended == NESTED_Thrown;
}
}

}  // namespace gpu_run
