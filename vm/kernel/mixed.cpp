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
//
// A run may be begun by the interpreter's own kernel, parked, and gone on with by a program's (Launch::resumes). Then a
// thread's frames are all interpreted. The kernel's function is entered anew; its first block is not compiled, so it asks
// the interpreter, which goes on with the thread as it is. So the function goes on compiled at its own loops, as above. A
// function further in, whose first block is not compiled either, is called at the head of a loop in place of its frame
// (Launch::loops). It asks the interpreter too, which hands it the frame.

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

// The outermost of a thread's frames, all of which are interpreted.
GPU_RUN_NOINLINE MachineState first_frame(const Launch &launch, Thread &thread) {
  MachineState first = {{thread.frame, thread.stride}, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
  u32 left = 0;
  while (exceptions::leave(launch, thread, first, frames::LOOK, left)) {}
  return first;
}

// Ends the lane because its process has been stopped.
GPU_RUN_NOINLINE void stop_nested(Context &context) {
  if (stands::wanted(*context.launch)) stands::note_thread(*context.launch, *context.thread, context.id);
  leave(context);
}

// The interpreter begins, of a run that may be parked; or it ends.
GPU_RUN_INLINE void begin_interpreter(const Launch &launch) {
  if (launch.parks) store_relaxed_device(&launch.seen, long_cycles());
}
GPU_RUN_INLINE void end_interpreter(const Launch &launch) {
  if (!launch.parks) return;
  // The thread is the run's only one.
  const u64 now = long_cycles(), took = now - load_relaxed_device(&launch.seen);
  store_relaxed_device(&launch.interpreted, load_relaxed_device(&launch.interpreted) + took);
  store_relaxed_device(&launch.seen, now);
}

// Whether compiled code is to be left: then nothing goes over to it, so that its frames become fewer. Relaxed: nothing else
// is read for it.
GPU_RUN_INLINE bool leaves_code(const Launch &launch) { return load_relaxed_device(&launch.parks) == PARKS_Soon; }

// Leaves compiled code, if that is wanted and no compiled function is on the stack but the entry's, which waits for the
// interpreted one. What the interpreter's kernel goes on with is then as if that had run all the time.
GPU_RUN_INLINE void park_nested(const Context &context) {
  const Launch &launch = *context.launch;
  if (!leaves_code(launch) || context.nested_depth != 1) return;
  Thread &thread = *context.thread;
  const MachineState first = first_frame(launch, thread);
  first.registers.set32(first.header, PC_THREAD_END);
  thread.native = nullptr;
  launch.left = 1;  // read when the kernel has ended
  end_lane(launch);
}

// The thread has used its slice, or must wait: comes back when it can go on.
GPU_RUN_NOINLINE void wait_nested(Context &context, u32 &idle) {
  const Launch &launch = *context.launch;
  Thread &thread = *context.thread;
  const bool waits = thread.state != THREAD_Runnable;
  const u32 state = thread.state;
  const u64 clock = launch.samples ? clock_ns() : 0, lane = launch.samples ? samples::lane_time(*launch.samples) : 0;
  do {
    if (waits) wait_for_others(context, ++idle);
    else let_meet(context, 0);
    if (process_ended(launch)) stop_nested(context);
    park_nested(context);
    // Of a program that spawns threads, the first tells of it.
    if ((context.id == 0 || !launch.spawner) && census::claim_deadlock(launch)) {
      const Registers registers = {thread.frame, thread.stride};
      const MachineState state = {registers, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
      frames::end_process(launch, thread, context.id, state, END_Trap, TRAP_Deadlock);
      leave(context);
    }
  } while (waits && !threads::can_go_on(launch, thread));
  thread.state = THREAD_Runnable;
  if (launch.samples && waits) {
    SampledThread &sampled = launch.samples->threads[context.id];
    sampled.last += samples::lane_time(*launch.samples) - lane;
    const u32 count = samples::take_wait(*launch.samples, sampled, clock_ns() - clock);
    if (count) samples::note_at_rest(launch, thread, context.id, state, count);
  }
}

// Whether the native stack has room for a compiled function. Interpreted frames take none of it. So where it is short the
// function is interpreted: there must be enough for it, and for the interpreter that it may call, with the frames up to
// where that looks. And half of the stack is kept for functions that recurse and are compiled: these cannot go on
// interpreted.
GPU_RUN_INLINE bool has_stack(const Launch &launch, const Context &context, const Native &native) {
  const u64 needed = native.stack + 2 * INTERPRETER_STACK, kept = launch.native_stack / 2;
  return native_stack() >= context.native_limit + (needed > kept ? needed : kept);
}

// Calls a compiled function in place of one that the interpreted frame at `caller` has called. Context::values has its
// arguments, and its results after it. Returns its status.
GPU_RUN_NOINLINE u32 run_native(const Launch &launch, Thread &thread, const Native &native, const MachineState &caller,
                                u32 return_pc) {
  Context &context = *thread.native;
  Taken taken;
  show_calls(launch, thread, caller, return_pc, taken);
  const Suspended suspended = {context.suspended, caller};
  context.suspended = &suspended;
  end_interpreter(launch);
  // Compiled code looks at the context's. An interpreted function may have set the thread's.
  context.stack_limit = thread.stack_limit;
  // What of the interpreter's time is in no sample yet. It goes on after the call, which may run the interpreter too.
  const u64 part = launch.samples ? samples::lane_time(*launch.samples) - launch.samples->threads[context.id].last : 0;
  mark_compiled(context, true);
  const u32 thrown = ((u32(*)(Context *, u32))native.code)(&context, caller.depth + 1);
  if (launch.samples) {
    mark_compiled(context, false);
    launch.samples->threads[context.id].last = samples::lane_time(*launch.samples) - part;
  }
  begin_interpreter(launch);
  context.suspended = suspended.outer;
  hide_calls(context, taken);
  return thrown;
}

// The exception under way, which a compiled function has thrown, goes on from the frame at `state` that called it.
StepResult throw_on(const Launch &launch, Thread &thread, MachineState &state) {
  Context &context = *thread.native;
  const Registers values = {(u8 *)context.values(), 4};
  const TrapKind trap = exceptions::unwind(launch, thread, context.id, state,
                                           {context.tag, context.reference, values, 0, context.count, true});
  if (trap) return {DONE_Trap, trap, 0};
  return {DONE_Moved, 0, 0};
}

// Calls the compiled form of the function at `state`, which goes on at the head of the loop where that is. Its results are
// then those of the interpreted one, which returns them.
GPU_RUN_NOINLINE StepResult replace_frame(const Launch &launch, Thread &thread, MachineState &state, const Native &native) {
  Context &context = *thread.native;
  MachineState caller = state;
  u32 left = 0;
  // Of the outermost frame compiled code goes on by itself.
  if (!exceptions::leave(launch, thread, caller, frames::LOOK, left)) return {DONE_Step, 0, 0};
  const MachineState entered = state;
  context.entering = &entered;
  // `leave` has gone back from the return address to the call.
  const u32 thrown = run_native(launch, thread, native, caller, caller.pc + 1);
  if (thrown) {
    exceptions::leave(launch, thread, state, frames::UNWIND, left);
    frames::give_left(*launch.arena, left);
    return throw_on(launch, thread, state);
  }
  // As `return` does.
  const Registers frame = state.registers;
  for (u32 i = 0; i < state.header; i++) frame.set32(i, context.values()[i]);
  const u32 back = frame.get32(state.header + 1);
  state.pc = frame.get32(state.header);
  state.header = back >> 16;
  state.registers = frames::back_by(frame, back & 0xffff);
  state.room += back & 0xffff;
  state.depth--;
  return {DONE_Moved, 0, 0};
}

// The index of a word among `count` of them, in order and so far apart; `count` if it is none of them.
template <typename Word>
GPU_RUN_INLINE u32 find_word(u32 word, u32 count, Word word_at) {
  u32 low = 0, high = count;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (word_at(middle) < word) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && word_at(low) == word ? low : count;
}

// Hands the frame at `state` to the compiled function that has waited for it, if it goes on here.
GPU_RUN_INLINE bool hand_back(Context &context, const MachineState &state) {
  Resumed *const resumed = context.resumed;
  // Another function may have this depth, and this frame too: after a tail call. Its loops are not among the places, unless
  // it is the same function once more.
  if (!resumed || state.depth != context.nested_depth || state.registers.frame != resumed->frame) return false;
  if (state.pc == resumed->left) {
    resumed->left = ~0u;
    return false;
  }
  const u32 *const places = resumed->places;
  const u32 place = find_word(state.pc, places[0], [&](u32 i) { return places[1 + 2 * i]; });
  if (place == places[0]) return false;
  const u16 *const units = resumed->lists + places[2 + 2 * place];
  for (u32 i = 0; i < units[0]; i++) context.values()[i] = state.registers.get32(units[1 + i]);
  resumed->entered = place;
  context.nested = NESTED_Entered;
  return true;
}

// Runs the interpreter on the lane's thread, of whose frames the one at depth `depth` has these registers and this header.
// It returns when that does, and leaves the results in Context::values. What it returns is what `gpu_run_interpret` does.
GPU_RUN_NOINLINE u32 run_nested(Context &context, u32 depth, const Registers &registers, u32 header, Resumed &resumed) {
  const Launch &launch = *context.launch;
  Thread &thread = *context.thread;
  const u32 lane = global_lane();
  Context *const outer = thread.native;
  const u32 outer_nested = context.nested, outer_depth = context.nested_depth;
  Resumed *const outer_resumed = context.resumed;
  thread.native = &context;
  context.resumed = resumed.places ? &resumed : nullptr;
  context.nested = NESTED_Runs;
  context.nested_depth = depth;
  // A loop that leaves compiled code and comes back in each pass looks here only.
  if (process_ended(launch)) stop_nested(context);
  park_nested(context);
  u32 idle = 0;
  if (launch.samples) {
    // What has passed in compiled code is no time of the interpreter's.
    mark_compiled(context, false);
    launch.samples->threads[context.id].last = samples::lane_time(*launch.samples);
  }
  // One that was parked may wait.
  if (thread.state != THREAD_Runnable) wait_nested(context, idle);
  for (;;) {
    begin_interpreter(launch);
    run(launch, thread, context.id, lane);
    end_interpreter(launch);
    if (context.nested != NESTED_Runs) break;
    if (thread.state == THREAD_Ended) leave(context);
    wait_nested(context, idle);
  }
  const u32 ended = context.nested;
  mark_compiled(context, true);
  context.stack_limit = thread.stack_limit;
  thread.native = outer;
  context.nested = outer_nested;
  context.nested_depth = outer_depth;
  context.resumed = outer_resumed;
  if (ended == NESTED_Returned) {
    for (u32 i = 0; i < header; i++) context.values()[i] = registers.get32(i);
  }
  if (ended == NESTED_Entered) return 2 + resumed.entered;
  return ended == NESTED_Thrown;
}

// Goes on with a thread that was parked, all of whose frames are interpreted.
GPU_RUN_NOINLINE u32 go_on_parked(Context &context, const u16 *lists, const u32 *places) {
  const Launch &launch = *context.launch;
  Thread &thread = *context.thread;
  context.parked = 0;
  thread.lane_segment_used = 1;
  const MachineState first = first_frame(launch, thread);
  first.registers.set32(first.header, PC_NATIVE_RETURN);
  Resumed resumed = {first.registers.frame, places, lists, 0, ~0u};
  const u32 answer = run_nested(context, 1, first.registers, first.header, resumed);
  // What the compiled function calls from now on has segments of its own.
  if (thread.segment) frames::give_segment(*launch.arena, thread.segment - 1, thread.segment_size);
  thread.segment = 0;
  return answer;
}

}  // namespace

GPU_RUN_NOINLINE StepResult call_native(const Launch &launch, Thread &thread, MachineState &state, u64 head, u32 base,
                                        u32 return_pc) {
  Context &context = *thread.native;
  const Native native = launch.natives[frames::head_native(head) - 1];
  if (!native.code || leaves_code(launch) || !has_stack(launch, context, native)) return {DONE_Step, 0, 0};
  // The header comes after the arguments and after the results, whichever are more.
  const u32 units = frames::head_header(head);
  for (u32 i = 0; i < units; i++) context.values()[i] = state.registers.get32(base + i);
  const u32 thrown = run_native(launch, thread, native, state, return_pc);
  if (thrown) return throw_on(launch, thread, state);
  for (u32 i = 0; i < units; i++) state.registers.set32(base + i, context.values()[i]);
  state.pc = return_pc;
  return {DONE_Moved, 0, 0};
}

GPU_RUN_NOINLINE StepResult enter_loop(const Launch &launch, Thread &thread, MachineState &state) {
  Context &context = *thread.native;
  if (leaves_code(launch)) return {DONE_Step, 0, 0};
  if (hand_back(context, state)) return {DONE_Ended, 0, 0};
  if (!launch.loops) return {DONE_Step, 0, 0};
  const u64 *const loops = launch.loops + 1;
  const u32 count = (u32)launch.loops[0];
  const u32 found = find_word(state.pc, count, [&](u32 i) { return (u32)loops[i]; });
  if (found == count) return {DONE_Step, 0, 0};
  const Native native = launch.natives[(loops[found] >> 32) - 1];
  if (!native.code || !has_stack(launch, context, native)) return {DONE_Step, 0, 0};
  return replace_frame(launch, thread, state, native);
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
  if (context->parked) return go_on_parked(*context, lists, places);
  const u64 head = load_code(launch.code + target);
  const u32 header = frames::head_header(head);
  // Where no stack is set the driver has counted this function's.
  if (launch.native_stack && native_stack() < context->native_limit + INTERPRETER_STACK) {
    trap(*context, pc, depth, TRAP_StackOverflow);
  }
  // No lane has registers of its own.
  thread.lane_segment_used = 1;
  frames::Segment segment;
  if (!frames::new_segment(launch, thread, global_lane(), frames::head_frame(head), segment, NESTED_SEGMENT)) {
    trap(*context, pc, depth, TRAP_OutOfRegisterMemory);
  }
  const Registers registers = segment.registers;
  // A thread that is parked takes it along.
  if (depth == 1) {
    thread.segment = segment.give_back - 1;
    thread.segment_size = segment.size;
  }
  Resumed resumed = {registers.frame, places, lists, 0, pc};
  if (const MachineState *const entering = context->entering) {
    context->entering = nullptr;
    for (u32 i = 0; i < frames::head_frame(head); i++) registers.set32(i, entering->registers.get32(i));
    pc = entering->pc;
    resumed.left = ~0u;
  } else if (units) {
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
  const u32 answer = run_nested(*context, depth, registers, header, resumed);
  frames::give_segment(*launch.arena, segment.give_back - 2, segment.size);
  if (depth == 1) thread.segment = 0;
  return answer;
}
}

}  // namespace gpu_run
