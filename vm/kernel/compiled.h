// What compiled code, runtime.cpp and mixed.cpp share: a thread's context. The PTX compiler (src/ptx) has the
// offsets baked in, from the twins in src/layout.rs.
#pragma once

#include "layout.h"

namespace gpu_run {

// Calls whose return addresses a context keeps: as many as a backtrace shows.
constexpr u32 OPEN_CALLS = BACKTRACE;
// After them come those of the outermost calls once deeper ones have taken their places: that of depth d at d - 1.
constexpr u32 CALL_PLACES = OPEN_CALLS + OUTER_CALLS;
// Bytes of native stack that the interpreter may take, with all that it calls but compiled functions.
constexpr u32 INTERPRETER_STACK = 4096;
// Units for an instruction's operands: eight of up to 128 bits.
constexpr u32 SCRATCH_UNITS = 32;

// How the interpreter calls a compiled function.
struct Native {
  u64 code;  // address of what takes arguments from Context::values and leaves results there; 0: it is not compiled
  u64 stack;  // bytes of native stack that it needs
};

struct MachineState;
struct Suspended;
struct Resumed;

// One per lane, in the local memory of the entry function. `values` follow it, as many units as the entry declares.
struct Context {
  const Launch *launch;
  Thread *thread;
  u64 *globals;  // the thread's block
  u32 id;  // of the thread
  u32 polls;  // the compiled code's count of branches until it looks at the stop flag
  u32 native_limit;  // where the native stack may not go below
  u32 shallow;  // frames on the stack from which on a call needs more than its return address noted, or may be too many
  // The exception under way.
  u32 tag;  // store-wide number
  u32 reference;  // to its object, or 0 if there is none yet
  u32 count;  // units of its values
  u32 throw_pc;
  u32 throw_depth;
  u32 stack_limit;  // lowest value that the stack pointer global may take
  u64 tail_target;  // of the tail call under way: what takes its arguments from `values`
  u32 calls[CALL_PLACES];  // return address of the open call made at depth d, at d % OPEN_CALLS
  u32 throw_calls[CALL_PLACES];  // the same when the exception was thrown
  u32 scratch[SCRATCH_UNITS];  // operand j of an instruction that gpu_run_op runs is at unit 4 * j
  u32 max_depth;  // frames that may be on the stack at once
  // Where the innermost frame of roots lies: bytes below the context, or 0 if there is none.
  u32 roots;
  // The context itself. A kernel reads it where it calls the runtime, so that it need not keep it in a register.
  Context *address;
  // Of the interpreted function that runs on top of compiled ones.
  u32 nested;  // a Nested
  u32 nested_depth;  // frames on the stack with its own
  const Suspended *suspended;  // the innermost interpreted frames that wait for compiled ones
  Resumed *resumed;  // the interpreted function, if a compiled one goes on as it and may go on compiled again
  // Where an interpreted function is that a compiled one goes on with, which has been called for that; else null.
  const MachineState *entering;
  u32 parked;  // 1: the thread was parked, and has not gone on yet
  u32 meets;  // the lanes that meet, all of a warp, or 0: see `gpu_run_meet`
  u32 looks;  // for what others do: see `wait_for_others`
  u32 pad;
  u32 *marks;  // where a kernel or a function that calls itself marks; null: the run has no samples
  // Of a process of a batch, which has these for itself: else code knows them as constants.
  const Instance *instance;
  Memory *memory;
  u8 *base;

  // Of the exception, or the arguments of the tail call.
  GPU_RUN_INLINE u32 *values() { return (u32 *)(this + 1); }
};

// How an interpreted function that compiled code has called has ended.
enum Nested : u32 {
  NESTED_Runs = 0,
  NESTED_Returned = 1,
  NESTED_Thrown = 2,  // the exception under way is the context's
  NESTED_Entered = 3,  // compiled code goes on at the head of a loop
};

// What a compiled function writes before it calls another while it may hold references to exceptions: any
// of its units may be one. In its own local memory.
struct Roots {
  u32 next;  // the frame of an outer function, as in Context::roots
  u32 count;

  GPU_RUN_INLINE const u32 *units() const { return (const u32 *)(this + 1); }
};

namespace native {

// The return address of the call that was made at depth `at`, seen from `depth`: one of the innermost OPEN_CALLS, or of
// the outermost OUTER_CALLS. 0: it is not known, nor ever shown.
GPU_RUN_INLINE u32 return_address(const u32 *calls, u32 at, u32 depth) {
  if (depth - at <= OPEN_CALLS) return calls[at % OPEN_CALLS];
  return at <= OUTER_CALLS ? calls[OPEN_CALLS + at - 1] : 0;
}

// Passes the return addresses of the compiled calls below an interpreted function to `visit`, innermost first, until that
// returns false.
template <typename Visit>
GPU_RUN_INLINE void each_call(const Context &context, Visit visit) {
  for (u32 at = context.nested_depth; --at > 0;) {
    if (!visit(return_address(context.calls, at, context.nested_depth))) return;
  }
}

}  // namespace native
}  // namespace gpu_run
