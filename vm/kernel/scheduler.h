// The lanes' loop: a lane takes its threads in turn, starts each, and runs it until it ends.
#pragma once

#include "interpreter.h"

namespace gpu_run {

#if GPU_RUN_GPU
// The block's dynamic shared memory: registers of its lanes, interleaved.
extern __attribute__((address_space(3))) u32 shared_registers[];
GPU_RUN_INLINE u8 *shared_segment() { return (u8 *)(shared_registers + lane_in_block()); }
#else
// A host has no shared memory; `shared_units` is 0 there.
inline u8 *shared_segment() { return nullptr; }
#endif

// Gives a new thread its globals, stack and first frame. False if there is no memory for the frame.
GPU_RUN_INLINE bool start(const Launch &launch, Thread &thread, u32 id, u32 lane) {
  const Func &func = launch.funcs[launch.func];
  u64 head = load_code(launch.code + func.pc);
  u32 frame = frames::head_frame(head), header = frames::head_header(head);
  thread.home_used = 0;
  thread.progress = 0;
  thread.exceptions = 0;
  thread.exception_count = 0;
  thread.exception_limit = COLLECT_AFTER;
  if (launch.thread_count > 1) {
    for (u32 i = 0; i < launch.globals_per_thread; i++) thread.globals[i] = launch.initial_globals[i];
  }
  thread.stack_limit = 0;
  if (launch.stack_size && launch.stack_pointer != ~0u) {
    u32 top = launch.stack_top - id * launch.stack_size;
    thread.globals[launch.stack_pointer] = top;
    thread.stack_limit = top - launch.stack_size;
  }
  frames::Segment segment;
  if (frame <= launch.shared_units) {
    segment = {{shared_segment(), lanes_in_block() * 4}, launch.shared_units, 0, 0};
  } else if (!frames::new_segment(launch, thread, lane, frame, segment)) {
    return false;
  }
  Registers registers = segment.registers;
  for (u32 i = 0; i < launch.arg_units; i++) registers.set32(i, launch.args[i]);
  registers.set32(header, PC_THREAD_END);
  registers.set32(header + 1, 0);
  thread.frame = registers.frame;
  thread.stride = registers.stride;
  thread.room = segment.room;
  thread.header = header;
  thread.depth = 1;
  thread.pc = func.pc + 1;
  thread.instance = func.instance;
  thread.state = THREAD_Runnable;
  return true;
}

GPU_RUN_INLINE void run_lane(const Launch &launch, u32 lane) {
  // The first lane to come says when the launch began; 0 is no time on either clock.
  u64 unset = 0;
  compare_exchange_acq_rel_device(&launch.clock_start, unset, clock_ns());
  for (u32 id = lane; id < launch.thread_count; id += launch.lanes) {
    Thread &thread = launch.threads[id];
    if (!start(launch, thread, id, lane)) {
      // Without a frame there is nothing to walk: the record names the function's head alone.
      End &end = launch.control->end;
      u32 unclaimed = 0;
      if (compare_exchange_acq_rel_device(&launch.claimed, unclaimed, 1u)) {
        end.value = TRAP_OutOfRegisterMemory;
        end.thread = id;
        end.pc = launch.funcs[launch.func].pc;
        store_release_system(&end.kind, (u32)END_Trap);  // pairs with the host's acquire
      }
      store_relaxed_system(&launch.control->stop, 1u);
      return;
    }
    while (thread.state != THREAD_Ended) {
      if (stopped(launch)) return;
      if (thread.state == THREAD_Sleeping) {
        if (clock_ns() < thread.wake) {
          relax();
          continue;
        }
        thread.state = THREAD_Runnable;
      }
      run(launch, thread, id, lane);
    }
  }
}

}  // namespace gpu_run
