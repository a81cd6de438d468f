// The lanes' loop: a lane starts its threads and runs each until it ends, waits or has used its slice.
//
// Lane i of L has threads i, i + L, i + 2L, … (Of a program that spawns threads it has lists: `find_spawned`.) With `multiplexed` they take turns. A thread that waits, sleeps or has
// used its slice is left for the next. So threads may wait for each other even if a lane has many. Their frames then
// lie in the arena, each thread's in segments of its own. Without it a lane stays with a thread until it ends, and all
// use the lane's own registers.
//
// A thread begins when its lane comes to it for the first time, and has memory for frames from then on until it ends.
// The lane keeps the first segment of one that ended for the next that begins.
//
// A kernel that stays runs one launch after another on one lane: see `next_command`.
#pragma once

#include "interpreter.h"
#include "run_lists.h"
#include "stands.h"

namespace gpu_run {

#if GPU_RUN_GPU
// The block's dynamic shared memory: registers of its lanes, interleaved.
extern __attribute__((address_space(3))) u32 shared_registers[];
GPU_RUN_INLINE u8 *shared_segment() { return (u8 *)(shared_registers + lane_in_block()); }
#else
// A host has no shared memory; `shared_units` is 0 there.
inline u8 *shared_segment() { return nullptr; }
#endif

// The first segment of a thread that takes turns: the lane's spare one (1 + its number, or 0), or another. False if
// there is none.
GPU_RUN_INLINE bool first_segment(const Launch &launch, u32 lane, u32 &spare, frames::Segment &segment) {
  const u32 size = launch.multiplexed - 1;
  const u32 index = spare ? spare - 1 : frames::take_first_segment(*launch.arena, lane, size);
  spare = 0;
  if (index == ~0u) return false;
  segment = frames::segment_at(launch, index, size);
  return true;
}

// Prepares the globals, stack, thread-local storage and first frame of a new thread. False if there is no memory for
// the frame.
GPU_RUN_INLINE bool start(const Launch &launch, Thread &thread, u32 id, u32 lane, u32 &spare) {
  const bool spawned = launch.spawner && id != 0;
  const Func &func = launch.funcs[spawned ? thread.start : launch.func];
  u64 head = load_code(launch.code + func.pc);
  u32 frame = frames::head_frame(head), header = frames::head_header(head);
  // With `multiplexed` no thread has the lane's own segment, because the next thread would overwrite it.
  thread.lane_segment_used = launch.multiplexed != 0;
  frames::Segment segment;
  if (!launch.multiplexed && frame <= launch.shared_units) {
    segment = {{shared_segment(), lanes_in_block() * 4}, launch.shared_units, 0, 0};
  } else if (launch.multiplexed ? !first_segment(launch, lane, spare, segment)
                           : !frames::new_segment(launch, thread, lane, frame, segment)) {
    return false;
  }
  threads::prepare(launch, thread, id);
  Registers registers = segment.registers;
  if (spawned) {
    registers.set32(0, id);
    registers.set32(1, thread.argument);
  } else {
    for (u32 i = 0; i < launch.arg_units; i++) registers.set32(i, launch.args[i]);
  }
  registers.set32(header, PC_THREAD_END);
  registers.set32(header + 1, 0);
  thread.segment = segment.give_back > 1 ? segment.give_back - 1 : 0;
  thread.segment_size = segment.size;
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

// Ends the process because a thread could not be started. Without a frame there is nothing to walk:
// the record names the function's head alone.
GPU_RUN_NOINLINE void end_without_frame(const Launch &launch, u32 id) {
  frames::record_end(launch, id, END_Trap, TRAP_OutOfRegisterMemory, launch.funcs[launch.func].pc, [](End &) {});
}

// Whether a thread that has not ended can run now. Starts a new one.
GPU_RUN_NOINLINE bool ready(const Launch &launch, Thread &thread, u32 id, u32 lane, u32 &spare) {
  if (thread.state == THREAD_New) {
    if (!start(launch, thread, id, lane, spare)) {
      // Threads that take turns will return memory.
      if (!launch.multiplexed) end_without_frame(launch, id);
      return false;
    }
  } else if (!threads::can_go_on(launch, thread)) {
    return false;
  }
  thread.state = THREAD_Runnable;
  return true;
}

// Where a lane is among its threads.
struct Round {
  u32 first;  // all threads before it have ended
  u32 id;  // the thread that runs or is looked at
  u32 idle;  // rounds in a row without a thread that could do something
  bool ran;  // whether one did in this round
  bool worked;  // and did not only find that another lane or the host was in its way
  bool over;  // all threads have ended, or the lane must stop
  u32 spare;  // 1 + the number of a first segment that no thread has, or 0
  RunLists lists;  // of a program that spawns threads
};

// The first segment that a lane has from the beginning, so that it needs not ask when all do: as Round::spare.
GPU_RUN_INLINE u32 own_segment(const Launch &launch, u32 lane) {
  return launch.multiplexed && lane < launch.arena->lanes ? 1 + (lane << (launch.multiplexed - 1)) : 0;
}

// What a lane begins with: of a program that spawns threads the first lane has the first thread, the others none.
GPU_RUN_INLINE Round first_round(const Launch &launch, u32 lane) {
  const u32 thread = launch.spawner && lane == 0;
  return {lane, lane, 0, false, false, false, own_segment(launch, lane), {thread, thread, 0, 0, false, false, false}};
}

// A thread of the lane has ended. Its first segment is for the next that begins.
GPU_RUN_INLINE void leave_segment(const Launch &launch, Round &round, const Thread &thread, u32 lane) {
  Arena &arena = *launch.arena;
  if (!launch.multiplexed) {
    frames::give_segment(arena, thread.segment - 1, thread.segment_size);
  } else if (round.spare) {
    frames::give_first_segment(arena, lane, thread.segment - 1);
  } else {
    round.spare = thread.segment;
  }
}

// After a run: tells the host that it has ended and waits for the next, whose record takes the place of
// the one that ran. False if there is none: the kernel does not stay, or is told to end.
//
// From here on the lane's loads see what the host wrote before it published the command:
//   - The host's release store to `published` comes after its writes, and after it has waited for copies
//     to the device; it synchronizes with the acquire load here, at system scope. Loads after an acquire
//     do not hit what the L1 cache held before it: ptxas invalidates the cache there.
//   - Code is read by ld.global.nc, of which PTX promises nothing for memory that is written while the
//     kernel runs. The host therefore writes a line of code (128 bytes) before it publishes the first
//     command that may read it, and not again while this kernel runs: see `CODE_LINE` in
//     device.rs, and persistent_kernel.rs.
// In the other direction, all that the lane wrote comes before its release store to `ended`.
GPU_RUN_NOINLINE bool next_command(const Launch &launch, Round &round) {
  if (!launch.commands) return false;
  Commands &commands = *launch.commands;
  u64 number = launch.taken;
  store_release_system(&commands.ended, number);  // pairs with the host's acquire
  // The only lane: it may wait, as no other waits for it.
  for (u32 idle = 1; load_acquire_system(&commands.published) == number; idle++) backoff(idle);
  const Launch *next = commands.launches[number % COMMANDS];
  launch.taken = number + 1;
  if (!next) return false;
  // In place, so that the kernel's parameter stays the constant for which the interpreter was compiled.
  // Some words at a time, because each load waits for the bus.
  using Word __attribute__((may_alias)) = u64;
  constexpr u32 WORDS = __builtin_offsetof(Launch, commands) / 8, TOGETHER = 10;
  static_assert(__builtin_offsetof(Launch, commands) % 8 == 0, "whole words");
  for (u32 first = 0; first < WORDS; first += TOGETHER) {
    u32 count = WORDS - first < TOGETHER ? WORDS - first : TOGETHER;
    u64 words[TOGETHER];
    for (u32 i = 0; i < count; i++) words[i] = ((const Word *)next)[first + i];
    for (u32 i = 0; i < count; i++) ((Word *)&launch)[first + i] = words[i];
  }
  launch.clock_start = clock_ns();
  round = first_round(launch, 0);
  return true;
}

// A thread of the lane, which waits, is told that no thread will ever wake it.
GPU_RUN_NOINLINE void end_deadlock(const Launch &launch, u32 id) {
  Thread &thread = launch.threads[id];
  MachineState state = {{thread.frame, thread.stride}, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
  frames::end_process(launch, thread, id, state, END_Trap, TRAP_Deadlock);
}

// Whether lanes are to leave.
GPU_RUN_INLINE bool leaves(const Launch &launch) { return stop_word(launch) != 0; }

// A lane's registers in shared memory, and where they are while its thread is parked.
GPU_RUN_INLINE Registers own_registers() { return {shared_segment(), lanes_in_block() * 4}; }
GPU_RUN_INLINE Registers parked_registers(const Launch &launch, u32 lane) {
  return {launch.parked + (u64)lane * launch.shared_units * 4, 4};
}

// Where a frame of the first registers is among the others; elsewhere it stays. Returns whether it moves.
GPU_RUN_INLINE bool move_frame(const Launch &launch, Registers &frame, const Registers &from, const Registers &to) {
  const u64 at = (u64)frame.frame - (u64)from.frame;
  if (at >= (u64)launch.shared_units * from.stride) return false;
  frame = {to.frame + at / from.stride * to.stride, to.stride};
  return true;
}

// Moves registers from or to shared memory, and with them the frames of a thread that has begun and lies there. They are the
// outermost ones: the innermost frame is among them, or the caller beyond one bridge.
GPU_RUN_NOINLINE void move_thread(const Launch &launch, Thread &thread, const Registers &from, const Registers &to) {
  for (u32 unit = 0; unit < launch.shared_units; unit++) to.set32(unit, from.get32(unit));
  MachineState at = {{thread.frame, thread.stride}, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
  if (move_frame(launch, at.registers, from, to)) {
    thread.frame = at.registers.frame;
    thread.stride = at.registers.stride;
    return;
  }
  for (u32 left = 0;;) {
    const Registers callee = at.registers;
    const bool crosses = callee.get32(at.header) == PC_BRIDGE_RETURN;
    if (!exceptions::leave(launch, thread, at, frames::LOOK, left)) return;
    if (!crosses || !move_frame(launch, at.registers, from, to)) continue;
    const Registers bridge = frames::back_by(callee, frames::BRIDGE);
    bridge.set32(frames::BRIDGE_FrameLow, (u32)(u64)at.registers.frame);
    bridge.set32(frames::BRIDGE_FrameHigh, (u32)((u64)at.registers.frame >> 32));
    bridge.set32(frames::BRIDGE_Stride, at.registers.stride);
    return;
  }
}

// The lane's thread that has begun and not ended: without `multiplexed` there is one at most. Null: there is none.
GPU_RUN_INLINE Thread *thread_under_way(const Launch &launch, u32 lane) {
  for (u32 id = lane; id < launch.thread_count; id += launch.lanes) {
    Thread &thread = launch.threads[id];
    if (thread.state != THREAD_Ended) return thread.state == THREAD_New ? nullptr : &thread;
  }
  return nullptr;
}

// The lane leaves, and the run may go on in another kernel: what is in shared memory goes to Launch::parked.
GPU_RUN_NOINLINE void park(const Launch &launch, u32 lane) {
  Thread *thread = thread_under_way(launch, lane);
  if (thread) move_thread(launch, *thread, own_registers(), parked_registers(launch, lane));
}

// And back, where a parked run goes on interpreted.
GPU_RUN_NOINLINE void unpark(const Launch &launch, u32 lane) {
  Thread *thread = thread_under_way(launch, lane);
  if (thread) move_thread(launch, *thread, parked_registers(launch, lane), own_registers());
}

// Finds the thread that the lane runs next, after the one that it ran: number `round.id`. False if there is none in the
// rest of the round. It ends in bounded time and leaves repeating to `run_lane`. For lanes of a warp may wait for each
// other at its end, so that none may stay in it until another has done something.
GPU_RUN_INLINE bool find_thread(const Launch &launch, Round &round, u32 lane) {
  bool back = round.ran;  // from the thread's turn
  while (round.id < launch.thread_count) {
    Thread &thread = launch.threads[round.id];
    if (back) {
      back = false;
      if (thread.state != THREAD_Busy) round.worked = true;
      if (thread.state == THREAD_Ended && thread.segment) leave_segment(launch, round, thread, lane);
    } else if (thread.state != THREAD_Ended && ready(launch, thread, round.id, lane, round.spare)) {
      round.ran = true;
      round.over = leaves(launch);
      return !round.over;
    }
    bool ended = thread.state == THREAD_Ended;
    if (ended && round.id == round.first) round.first += launch.lanes;
    // Without `multiplexed` a round is one thread.
    round.id = launch.multiplexed || ended ? round.id + launch.lanes : launch.thread_count;
  }
  // No thread of this lane needs it: they all have begun.
  if (round.spare) frames::give_first_segment(*launch.arena, lane, round.spare - 1);
  round.spare = 0;
  round.idle = round.worked ? 0 : round.idle + 1;
  if (round.idle) backoff(round.idle);
  if (round.idle && round.first < launch.thread_count && census::claim_deadlock(launch)) end_deadlock(launch, round.first);
  round.over = round.first >= launch.thread_count || (round.idle && leaves(launch));
  round.ran = false;
  round.worked = false;
  round.id = round.first;
  return false;
}

// The turn of a thread of a program that spawns threads is over.
GPU_RUN_INLINE void end_turn(const Launch &launch, Round &round, u32 lane) {
  Thread &thread = launch.threads[round.id];
  // Where all that the lane has are in the way of others, it must not hurry.
  round.idle = thread.state == THREAD_Busy && round.lists.first_ready == 0 ? round.idle + 1 : 0;
  if (round.idle) backoff(round.idle);
  if (thread.state != THREAD_Ended) return run_lists::put_back(launch, round.lists, round.id + 1);
  if (thread.segment) leave_segment(launch, round, thread, lane);
  spawn::finish(launch, round.id);
}

// As `find_thread`, for a lane of a program that spawns threads: it may get others at any time.
GPU_RUN_INLINE bool find_spawned(const Launch &launch, Round &round, u32 lane) {
  RunLists &lists = round.lists;
  if (round.ran) end_turn(launch, round, lane);
  round.ran = false;
  run_lists::collect(launch, lists, lane);
  lists.leaves = stopped(launch);
  if (lists.leaves) return false;
  if (lists.first_ready) {
    if (lists.told_idle) spawn::say_idle(launch, lane, false);
    lists.told_idle = false;
    const u32 number = run_lists::take_ready(launch, lists);
    round.id = number - 1;
    round.ran = ready(launch, launch.threads[round.id], round.id, lane, round.spare);
    if (round.ran) {
      run_lists::share(launch, lists, lane);
      return true;
    }
    // It has not begun, for there is no memory for its frame: others return theirs when they end.
    run_lists::append_ready(launch, lists, number);
  } else if (!lists.told_idle) {
    spawn::say_idle(launch, lane, true);
    lists.told_idle = true;
  }
  if (round.spare) frames::give_first_segment(*launch.arena, lane, round.spare - 1);
  round.spare = 0;
  // The first thread tells of it, on its own lane: it is at rest there, and nothing moves it any more.
  if (load_relaxed_device(&launch.threads[0].home) == lane && census::claim_deadlock(launch)) end_deadlock(launch, 0);
  rest(&launch.spawner->inboxes[lane], ++round.idle, run_lists::time_to_rest(launch, lists));
  return false;
}

// A lane leaves when the process has ended. Where threads stand is known when all lanes have: each then looks at some of
// the slots, because threads that wait are no lane's. Returns whether it has left. It does not wait for the others in
// here, as lanes of its warp may wait for it at its end.
GPU_RUN_INLINE bool leave_spawned(const Launch &launch, Round &round, u32 lane) {
  u32 &out = launch.spawner->lanes_out;
  // Release, and acquire below: each lane's threads are at rest before any is looked at.
  if (!round.lists.counted_out) fetch_add_acq_rel_device(&out, 1u);
  round.lists.counted_out = true;
  if ((stands::wanted(launch) || launch.samples) && load_acquire_device(&out) < launch.lanes) {
    backoff(++round.idle);
    return false;
  }
  stands::note_lane(launch, lane);
  if (launch.samples) samples::end_waits(launch, lane);
  return true;
}

// As `find_thread`, in this run or the next. Runs follow each other in here, and not in a loop around `run_lane`: that
// would change how the interpreter's loop is compiled.
GPU_RUN_INLINE bool find_next(const Launch &launch, Round &round, u32 lane) {
  if (launch.spawner) {
    if (!round.lists.leaves && find_spawned(launch, round, lane)) return true;
    if (round.lists.leaves) round.over = leave_spawned(launch, round, lane);
    return false;
  }
  if (find_thread(launch, round, lane)) return true;
  if (!round.over) return false;
  if (launch.stands) stands::note_lane(launch, round.first);
  if (launch.samples) samples::end_waits(launch, round.first);
  if (launch.parked) park(launch, lane);
  round.over = !next_command(launch, round);
  return false;
}

// The same, between samples of the thread that has run and of the one that will. In a function of its own, so that
// nothing of it stays in hardware registers while a thread runs.
GPU_RUN_NOINLINE bool next_thread(const Launch &launch, Round &round, u32 lane) {
  if (UNLIKELY(launch.samples) && round.ran) samples::end_turn(launch, round.id);
  const bool found = find_next(launch, round, lane);
  if (UNLIKELY(launch.samples) && found) samples::begin_turn(launch, round.id);
  return found;
}

GPU_RUN_INLINE void run_lane(const Launch &launch, u32 lane) {
  threads::begin_clock(launch);
  if (launch.resumes && launch.parked) unpark(launch, lane);
  Round round = first_round(launch, lane);
  // Two loops, and the thread by its number. So the compiler keeps the interpreter's loop apart from this one, and
  // nothing of this one in its registers.
  for (;;) {
    while (!next_thread(launch, round, lane)) {
      if (round.over) return;
    }
    u32 id = round.id;
    run(launch, launch.threads[id], id, lane);
  }
}

}  // namespace gpu_run
