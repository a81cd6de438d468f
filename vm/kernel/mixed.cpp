// Functions of a compiled program that are interpreted: what stands in their place in compiled code calls this. Compiled
// for the GPU only, to generated/mixed.ptx, and linked with programs that have such functions.
//
// An interpreted function runs on top of the compiled ones that wait for it, and all that it calls is interpreted too. So
// a thread has one stack of each kind at most, the interpreter's on top, and neither needs to know the other's frames:
//
//   - it returns to PC_NATIVE_RETURN, an instruction that ends the interpreter's loop;
//   - a walk along the stack (for a backtrace, for a thread that stands somewhere) goes on with the context's calls, and
//     so does the search for references to exceptions;
//   - an exception that no interpreted function catches becomes the context's, and compiled code looks for a handler;
//   - a thread that waits stays on its lane, as compiled ones do.

// Internal, as in runtime.cpp.
#define GPU_RUN_NOINLINE [[maybe_unused]] static __attribute__((noinline))

#include "generated/layout_check.h"
#include "compiled_thread.h"
#include "interpreter.h"

namespace gpu_run {
namespace {

// Bytes of native stack that the interpreter may take.
constexpr u32 INTERPRETER_STACK = 4096;

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

extern "C" {

// Runs the function whose head is at word `target` in the interpreter, with `depth` frames on the stack then. Its
// arguments are the units of Context::values, where its results are when this returns 0. 1: it has left with the
// exception under way.
u32 gpu_run_interpret(Context *context, u32 depth, u32 instance, u32 target) {
  const Launch &launch = *context->launch;
  Thread &thread = *context->thread;
  const u32 lane = global_lane();
  const u64 head = load_code(launch.code + target);
  frames::note_entered(launch, head, target);
  const u32 header = frames::head_header(head);
  // Where no stack is set the driver has counted this function's.
  if (launch.native_stack && native_stack() < context->native_limit + INTERPRETER_STACK) {
    trap(*context, target, depth, TRAP_StackOverflow);
  }
  // No lane has registers of its own.
  thread.lane_segment_used = 1;
  frames::Segment segment;
  if (!frames::new_segment(launch, thread, lane, frames::head_frame(head), segment)) {
    trap(*context, target, depth, TRAP_OutOfRegisterMemory);
  }
  const Registers registers = segment.registers;
  // The header comes after the arguments and after the results, whichever are more; the context has room for both.
  for (u32 i = 0; i < header; i++) registers.set32(i, context->values()[i]);
  registers.set32(header, PC_NATIVE_RETURN);
  registers.set32(header + 1, 0);
  thread.frame = registers.frame;
  thread.stride = registers.stride;
  thread.room = segment.room;
  thread.header = header;
  thread.depth = depth;
  thread.pc = target + 1;
  thread.instance = instance;
  thread.native = context;
  context->nested = NESTED_Runs;
  context->nested_depth = depth;
  for (u32 idle = 0;;) {
    run(launch, thread, context->id, lane);
    if (context->nested != NESTED_Runs) break;
    if (thread.state == THREAD_Ended) leave(*context);
    wait_nested(*context, idle);
  }
  thread.native = nullptr;
  const u32 thrown = context->nested == NESTED_Thrown;
  if (!thrown) {
    for (u32 i = 0; i < header; i++) context->values()[i] = registers.get32(i);
  }
  frames::give_segment(*launch.arena, segment.give_back - 2, segment.size);
  return thrown;
}
}

}  // namespace gpu_run
