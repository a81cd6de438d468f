// Calls of processes that start others, and reads and writes of pipes. All are served on the device.
//
// A call that must wait sleeps a while and comes again: for the lock of the family or of a pipe, for bytes or room in a pipe,
// for the end of a child. So no lane waits inside of an instruction.
#pragma once

#include "process_table.h"
#include "rpc/file_cache.h"

namespace gpu_run {
namespace requests {

enum ProcessErrno : u32 {
  ERRNO_2big = 1,
  ERRNO_Again = 6,
  ERRNO_Child = 12,
  ERRNO_Noent = 44,
  ERRNO_Pipe = 64,
};

// The functions that `process_call` is for.
constexpr u64 PROCESS_FUNCTIONS =
    set_of(wasi::FN_process_spawn, wasi::FN_process_wait, wasi::FN_process_kill, wasi::FN_process_id, wasi::FN_pipe_read,
           wasi::FN_pipe_write, wasi::FN_pipe_close);
// Only the interpreter of batches has these calls. Elsewhere there is no table, and they would be dead code.
#if !defined(GPU_RUN_FAMILIES)
#define GPU_RUN_FAMILIES !GPU_RUN_GPU
#endif
#if !GPU_RUN_FAMILIES
GPU_RUN_INLINE Local process_call(const Launch &, Thread &, u32, const Call &) { return served(ERRNO_Nosys); }
GPU_RUN_INLINE bool is_of_pipe(const Launch &, const Call &) { return false; }
GPU_RUN_INLINE Local pipe_descriptor(const Launch &, Thread &, u32, const Call &) { return {LOCAL_Host, 0}; }
#else

// Flag of `process_wait`.
constexpr u32 WAIT_NoHang = 1;
// Of the length of `pipe_read`: it does not wait.
constexpr u32 READ_NoWait = 1u << 31;

// Nanoseconds after which a thread looks again: for a lock, and for what another process has to do first. Where many live
// they look less often, a hundred times a microsecond all together.
constexpr u64 LOCK_PAUSE = 2000;
GPU_RUN_INLINE u64 process_pause(const ProcessTable &table) {
  const u64 pause = load_relaxed_device(&table.live) * 10ull;
  return pause > 5000 ? pause : 5000;
}

// The table of the batch that a process is one of; null: it cannot start others.
GPU_RUN_INLINE ProcessTable *table_of(const Launch &launch) { return launch.batch ? launch.batch->table : nullptr; }

// The process of a slot.
GPU_RUN_INLINE Process &process_of(const Launch &launch, ProcessTable &table, u32 id) {
  return table.processes[launch.batch->slots[id].process];
}

// --- Pipes ------------------------------------------------------------------------------------

// Moves at most `len` bytes between a pipe, from byte `at` of all that went through it, and guest memory.
GPU_RUN_NOINLINE void move_ring(const Call &call, u8 *ring, u64 at, u64 guest, u32 len, bool reads) {
  for (u32 done = 0; done < len;) {
    const u32 from = (u32)(at + done) & (PIPE_BYTES - 1), part = (u32)lesser(len - done, PIPE_BYTES - from);
    if (reads) {
      move_piece(call.memory.base, guest + done, ring, from, part);
    } else {
      move_piece(ring, from, call.memory.base, guest + done, part);
    }
    done += part;
  }
}

// Visits the bytes of a call: those of one buffer, or of a list.
template <typename Visit>
GPU_RUN_INLINE u32 each_range(const Call &call, Visit visit) {
  if (call.function == wasi::FN_fd_read) return call.each_buffer(OUTPUT, visit);
  if (call.function == wasi::FN_fd_write) return call.each_buffer(INPUT, visit);
  const u32 trap = visit(call.arg(1), call.arg(2) & ~READ_NoWait);
  return trap == STOP ? (u32)TRAP_None : trap;
}

// Bytes that a call asks for, if all of them lie in memory; as many as a pipe holds are enough.
GPU_RUN_INLINE u32 measure_ranges(const Call &call, u32 &bytes) {
  u64 total = 0;
  const u32 trap = each_range(call, [&](u64 at, u64 len) {
    const u64 count = lesser(len, PIPE_BYTES - total);
    if (!call.fits(at, count)) return (u32)TRAP_MemoryOutOfBounds;
    total += count;
    return total == PIPE_BYTES ? STOP : (u32)TRAP_None;
  });
  bytes = (u32)total;
  return trap;
}

// Moves so many bytes of the call. Returns a trap: what is read may have been written over the list of buffers itself.
GPU_RUN_INLINE u32 move_ranges(const Call &call, u8 *ring, u64 at, u32 len, bool reads) {
  u32 done = 0;
  return each_range(call, [&](u64 guest, u64 bytes) {
    const u32 count = (u32)lesser(bytes, len - done);
    if (!call.fits(guest, count)) return (u32)TRAP_MemoryOutOfBounds;
    move_ring(call, ring, at + done, guest, count, reads);
    done += count;
    return done == len ? STOP : (u32)TRAP_None;
  });
}

// Reads from the pipe of an end, or writes to it: what there is, or there is room for. Waits for some.
GPU_RUN_NOINLINE Local use_pipe(ProcessTable &table, Thread &thread, const Call &call, u32 end) {
  const bool reads = end % 2 == family::SIDE_Read;
  Pipe &pipe = table.pipes[end / 2];
  u8 *const ring = table.bytes + (u64)(end / 2) * PIPE_BYTES;
  u32 wanted;
  if (u32 trap = measure_ranges(call, wanted)) return {LOCAL_Trap, trap};
  const u64 result = call.arg(3);
  if (u32 trap = call.check(result, 4, 4)) return {LOCAL_Trap, trap};
  // Before what is in the pipe: what the last writer has written is seen with its end.
  const bool other_end = family::is_held(table, end ^ 1);
  if (!reads && !other_end) return served(ERRNO_Pipe);
  if (wanted == 0) return store_result(call, result, 0u);
  if (!family::try_lock(pipe.lock)) return come_again(thread, LOCK_PAUSE);
  const u32 filled = (u32)(pipe.written - pipe.read), room = PIPE_BYTES - filled;
  u32 count = (u32)lesser(wanted, reads ? filled : room);
  // What is short comes as a whole, so that lines of several processes are not torn.
  if (!reads && wanted <= PIPE_WHOLE && count < wanted) count = 0;
  u32 trap = TRAP_None;
  if (count) {
    trap = move_ranges(call, ring, reads ? pipe.read : pipe.written, count, reads);
    if (reads) {
      pipe.read += count;
    } else {
      pipe.written += count;
    }
  }
  family::unlock(pipe.lock);
  if (trap) return {LOCAL_Trap, trap};
  if (count == 0 && (other_end || !reads)) {
    const bool returns = call.function == wasi::FN_pipe_read && call.arg(2) & READ_NoWait;
    return returns ? served(ERRNO_Again) : come_again(thread, process_pause(table));
  }
  return store_result(call, result, count);
}

// The end that a handle names, if the process has it; ~0: it has not.
GPU_RUN_INLINE u32 end_of_handle(const ProcessTable &table, const Process &process, u32 handle) {
  const u32 end = handle - SPAWN_Handles;
  if (handle < SPAWN_Handles || end / 2 >= table.pipe_count) return ~0u;
  // Only the process itself makes itself the owner, or no longer.
  return load_relaxed_device(&family::end_at(table, end).owner) == 1 + family::place_of(table, process) ? end : ~0u;
}

// The pipe's end that descriptor `descriptor` of a call is; ~0: it is none.
GPU_RUN_INLINE u32 end_of_descriptor(const Launch &launch, u32 id, u32 descriptor) {
  ProcessTable *table = table_of(launch);
  if (!table || descriptor >= STREAM_DESCRIPTORS) return ~0u;
  const u32 stream = load_relaxed_device(&launch.requests->streams[descriptor]);
  if (stream < STREAM_Pipe || stream >= STREAM_Null) return ~0u;
  return process_of(launch, *table, id).ends[stream - STREAM_Pipe] - 1;
}

// Whether a call reads or writes a descriptor that is a pipe or null, or closes a pipe.
GPU_RUN_INLINE bool is_of_pipe(const Launch &launch, const Call &call) {
  constexpr u64 FUNCTIONS = set_of(wasi::FN_fd_read, wasi::FN_fd_write, wasi::FN_fd_close, wasi::FN_fd_renumber);
  if (!table_of(launch) || !is_in(FUNCTIONS, call.function)) return false;
  const bool moves = call.function == wasi::FN_fd_renumber;
  const u32 descriptor = call.arg(moves);
  if (descriptor >= STREAM_DESCRIPTORS || (moves && descriptor == call.arg(0))) return false;
  return load_relaxed_device(&launch.requests->streams[descriptor]) >= STREAM_Pipe;
}

// Lets go of the pipe that a descriptor is: it will be closed, or another one takes its place. False if that is to be tried
// again.
GPU_RUN_NOINLINE bool close_descriptor(const Launch &launch, ProcessTable &table, u32 id, u32 descriptor) {
  Process &process = process_of(launch, table, id);
  const u32 stream = load_relaxed_device(&launch.requests->streams[descriptor]);
  if (stream < STREAM_Null) {
    u32 &lock = family::root_of(table, process).lock;
    if (!family::try_lock(lock)) return false;
    u32 &end = process.ends[stream - STREAM_Pipe];
    if (end) family::release(table, end - 1);
    end = 0;
    family::unlock(lock);
  }
  store_relaxed_device(&launch.requests->streams[descriptor], (u32)STREAM_Host);
  return true;
}

// Such a call. The host closes and moves descriptors, after the pipe is let go of; also where it then refuses to, because the
// program has moved a descriptor that it does not have.
GPU_RUN_NOINLINE Local pipe_descriptor(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  ProcessTable &table = *table_of(launch);
  const bool moves = call.function == wasi::FN_fd_renumber;
  if (moves || call.function == wasi::FN_fd_close) {
    if (!close_descriptor(launch, table, id, call.arg(moves))) return come_again(thread, LOCK_PAUSE);
    return {LOCAL_Host, 0};
  }
  const bool reads = call.function == wasi::FN_fd_read;
  const u32 end = end_of_descriptor(launch, id, call.arg(0));
  if (end != ~0u) return end % 2 == (reads ? family::SIDE_Read : family::SIDE_Write) ? use_pipe(table, thread, call, end) : served(ERRNO_Badf);
  // Null: nothing is read, all is written.
  u32 bytes = 0;
  if (u32 trap = measure_ranges(call, bytes)) return {LOCAL_Trap, trap};
  return store_result(call, call.arg(3), reads ? 0u : bytes);
}

// --- Processes --------------------------------------------------------------------------------

// The number of the program whose name this is; ~0: there is none.
GPU_RUN_NOINLINE u32 find_program(const Batch &batch, const Call &call, u64 name, u32 len) {
  // The first one is the host's.
  for (u32 i = 1; i < batch.program_count; i++) {
    const ProcessProgram &program = batch.programs[i];
    bool same = program.name_len == len;
    for (u32 k = 0; same && k < len; k++) same = program.name[k] == linear::load<u8>(call.memory.base, name + k);
    if (same) return i;
  }
  return ~0u;
}

// The call's record, and its results.
struct Spawn {
  u64 at;
  SpawnRequest asked;
  u32 program;
  u32 ends[3];  // 1 + the child's end of a pipe, or 0
  u32 parent_ends[3];  // the same of the parent's end of a new pipe
};

// Reads the record and checks what needs no lock. Returns an errno.
GPU_RUN_NOINLINE u32 read_spawn(const Launch &launch, const Call &call, Spawn &spawn, u32 &trap) {
  SpawnRequest &asked = spawn.asked;
  for (u32 i = 0; i < sizeof(SpawnRequest) / 4; i++) ((u32 *)&asked)[i] = linear::load<u32>(call.memory.base, spawn.at + 4 * i);
  const bool inherits = asked.environment_count == ~0u;
  if (!call.fits(asked.program, asked.program_len) || !call.fits(asked.args, asked.args_len) ||
      (!inherits && !call.fits(asked.environment, asked.environment_len))) {
    trap = TRAP_MemoryOutOfBounds;
    return 0;
  }
  const u64 environment = inherits ? launch.requests->environment.len : asked.environment_len;
  if (asked.args_len + environment > PROCESS_STRINGS) return ERRNO_2big;
  spawn.program = find_program(*launch.batch, call, asked.program, asked.program_len);
  if (spawn.program == ~0u) return ERRNO_Noent;
  for (u32 i = 0; i < 3; i++) {
    const u32 stream = asked.streams[i];
    if (stream > SPAWN_Pipe && stream < SPAWN_Handles) return ERRNO_Inval;
    // One end cannot be two descriptors.
    for (u32 k = 0; k < i; k++) {
      if (stream >= SPAWN_Handles && stream == asked.streams[k]) return ERRNO_Inval;
    }
  }
  return 0;
}

// Finds or makes the ends of pipes that the child's descriptors become. Returns an errno; then nothing has changed.
GPU_RUN_NOINLINE u32 choose_ends(ProcessTable &table, const Process &parent, Spawn &spawn) {
  u32 error = 0;
  for (u32 i = 0; i < 3 && !error; i++) {
    const u32 stream = spawn.asked.streams[i];
    const u32 side = i == 0 ? family::SIDE_Read : family::SIDE_Write;
    if (stream >= SPAWN_Handles) {
      const u32 end = end_of_handle(table, parent, stream);
      if (end == ~0u || end % 2 != side) error = ERRNO_Badf;
      spawn.ends[i] = end + 1;
    } else if (stream == SPAWN_Pipe) {
      const u32 pipe = family::take_pipe(table);
      if (!pipe) error = ERRNO_Again;
      const u32 end = 2 * (pipe - 1) + side;
      spawn.ends[i] = pipe ? end + 1 : 0;
      spawn.parent_ends[i] = pipe ? (end ^ 1) + 1 : 0;
    }
  }
  if (!error) return 0;
  for (u32 i = 0; i < 3; i++) {
    if (!spawn.parent_ends[i]) continue;
    family::give_pipe(table, (spawn.ends[i] - 1) / 2 + 1);
  }
  return error;
}

// Copies strings to the child's own, of which each ends with a 0. Pieces are counted from multiples of 8.
GPU_RUN_NOINLINE Strings own_strings(u8 *to, const u8 *from, u32 len, u32 count) {
  move_piece((u8 *)((u64)to & ~7ull), (u64)to & 7, (const u8 *)((u64)from & ~7ull), (u64)from & 7, len);
  if (len) to[len - 1] = 0;
  return {to, len, count};
}

// Writes what the child begins with.
GPU_RUN_NOINLINE void describe_child(const Launch &launch, ProcessTable &table, const Process &parent, const Call &call,
                                     const Spawn &spawn, Process &child) {
  const SpawnRequest &asked = spawn.asked;
  const Requests &own = *launch.requests;
  const u32 place = family::place_of(table, child);
  child.pid = family::next_pid(child, place);
  child.root = parent.root;
  child.first_child = child.orphan = child.handles = 0;
  store_relaxed_device(&child.killed, 0u);
  child.program = spawn.program;
  child.number = parent.number;
  child.child = fetch_add_relaxed_device(&table.started, 1u) + 1;
  // That is the number of those that the host has started.
  if (child.child == 0) child.child = ~0u;
  child.refused = 0;
  u8 *const strings = table.strings + (u64)(place - launch.batch->slot_count) * PROCESS_STRINGS;
  const u8 *const guest = call.memory.base;
  child.args = own_strings(strings, guest + asked.args, asked.args_len, asked.args_count);
  Strings environment = {guest + asked.environment, asked.environment_len, asked.environment_count};
  if (asked.environment_count == ~0u) environment = own.environment;
  child.environment = own_strings(strings + asked.args_len, environment.bytes, environment.len, environment.count);
  // Without an input of the device it is at its end.
  child.input = strings;
  child.input_len = 0;
  child.input_position = nullptr;
  for (u32 i = 0; i < 3; i++) {
    const u32 stream = asked.streams[i];
    child.ends[i] = spawn.ends[i];
    child.streams[i] = spawn.ends[i] ? STREAM_Pipe + i : STREAM_Null;
    if (stream != SPAWN_Inherit) continue;
    const u32 inherited = load_relaxed_device(&own.streams[i]);
    if (inherited >= STREAM_Pipe && inherited < STREAM_Null) {
      child.ends[i] = parent.ends[inherited - STREAM_Pipe];
      child.streams[i] = STREAM_Pipe + i;
      family::hold(table, child.ends[i] - 1);
    } else if (i == 0 && inherited == STREAM_Host && own.input) {
      child.streams[i] = STREAM_Host;
      child.input = own.input;
      child.input_len = own.input_len;
      child.input_position = own.input_position;
    } else if (i > 0 && inherited != STREAM_Host) {
      child.streams[i] = inherited;
    }
  }
}

// Hands the ends of pipes to the child and its parent. With the family's lock.
GPU_RUN_NOINLINE void give_ends(ProcessTable &table, Process &parent, const Call &call, const Spawn &spawn) {
  for (u32 i = 0; i < 3; i++) {
    if (!spawn.ends[i]) continue;
    const u32 end = spawn.ends[i] - 1;
    if (!spawn.parent_ends[i]) {
      // The handle's hold becomes the descriptor's.
      family::drop_handle(table, parent, end);
      continue;
    }
    family::hold(table, end);
    family::add_handle(table, parent, end ^ 1);
    linear::store<u32>(call.memory.base, spawn.at + __builtin_offsetof(SpawnRequest, streams) + 4 * i, SPAWN_Handles + (end ^ 1));
  }
}

// Takes a lane for a process more, if there is one besides those for the host's.
GPU_RUN_INLINE bool take_lane(const Batch &batch, ProcessTable &table) {
  const u32 most = batch.slot_count - table.most_roots;
  u32 live = load_relaxed_device(&table.live);
  // The order is that of the lists: the count is all there is to see.
  while (live < most) {
    if (compare_exchange_acq_rel_device(&table.live, live, live + 1)) return true;
  }
  return false;
}

// Starts a process.
GPU_RUN_NOINLINE Local spawn_process(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  Batch &batch = *launch.batch;
  ProcessTable &table = *batch.table;
  Spawn spawn = {};
  spawn.at = call.arg(0);
  u32 trap = call.check(spawn.at, sizeof(SpawnRequest), 4);
  const u32 error = trap ? 0 : read_spawn(launch, call, spawn, trap);
  if (trap) return {LOCAL_Trap, trap};
  if (error) return served(error);
  Process &parent = process_of(launch, table, id);
  Process &root = family::root_of(table, parent);
  if (!family::try_lock(root.lock)) return come_again(thread, LOCK_PAUSE);
  u32 place = 0, failed = 0;
  // What is to end starts nothing, so that it does end.
  const bool ends = load_relaxed_device(&root.killed) || load_relaxed_device(&parent.killed) || load_relaxed_device(&batch.stop);
  const bool has_lane = !ends && take_lane(batch, table);
  if (has_lane) {
    place = family::pop_process(table, table.free);
    failed = place ? choose_ends(table, parent, spawn) : (u32)ERRNO_Again;
  } else {
    failed = ERRNO_Again;
  }
  if (failed) {
    // The first of a family that has nothing of the table has not used it up: it waits for other families. They never wait for
    // it, nor do their children for lanes.
    const bool waits = failed == ERRNO_Again && !ends && &parent == &root && !root.first_child && !root.handles;
    if (place) family::free_entry(table, table.processes[place - 1]);
    if (has_lane) fetch_add_relaxed_device(&table.live, ~0u);
    family::unlock(root.lock);
    return waits ? come_again(thread, process_pause(table)) : served(failed);
  }
  Process &child = table.processes[place - 1];
  describe_child(launch, table, parent, call, spawn, child);
  give_ends(table, parent, call, spawn);
  family::add_child(table, parent, child);
  child.state = PROCESS_Ready;
  family::unlock(root.lock);
  linear::store<u32>(call.memory.base, spawn.at + __builtin_offsetof(SpawnRequest, pid), child.pid);
  // Its release publishes the child to the lane that takes it.
  family::push_process(table, table.ready, place);
  return served(ERRNO_Success);
}

// The child of this number; null: the process has none. With the family's lock.
GPU_RUN_INLINE Process *child_of(const Batch &batch, const Process &parent, u32 pid) {
  ProcessTable &table = *batch.table;
  const u32 place = (pid & ((1u << family::PID_GENERATION) - 1)) - 1;
  if (place < batch.slot_count || place >= batch.slot_count + table.capacity) return nullptr;
  Process &child = table.processes[place];
  const bool is = child.state != PROCESS_Free && child.pid == pid && !child.orphan;
  return is && child.parent == family::place_of(table, parent) ? &child : nullptr;
}

// Waits for a child's end, and forgets the child; or ends one.
GPU_RUN_NOINLINE Local ask_child(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  ProcessTable &table = *table_of(launch);
  Process &parent = process_of(launch, table, id);
  const bool waits = call.function == wasi::FN_process_wait;
  const u64 status = waits ? call.arg(2) : 0;
  if (u32 trap = waits ? call.check(status, 8, 4) : (u32)TRAP_None) return {LOCAL_Trap, trap};
  u32 &lock = family::root_of(table, parent).lock;
  if (!family::try_lock(lock)) return come_again(thread, LOCK_PAUSE);
  Process *child = child_of(*launch.batch, parent, call.arg(0));
  const bool ended = child && child->state == PROCESS_Zombie;
  const u32 kind = child ? child->kind : 0, value = child ? child->value : 0;
  if (child && waits && ended) family::bury(table, *child);
  if (child && !waits && !ended) family::kill(*launch.batch, *child);
  family::unlock(lock);
  if (!child) return served(ERRNO_Child);
  if (!waits) return served(ERRNO_Success);
  if (ended) {
    linear::store<u32>(call.memory.base, status, kind);
    linear::store<u32>(call.memory.base, status + 4, value);
    return served(ERRNO_Success);
  }
  return call.arg(1) & WAIT_NoHang ? served(ERRNO_Again) : come_again(thread, process_pause(table));
}

GPU_RUN_NOINLINE Local close_handle(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  ProcessTable &table = *table_of(launch);
  Process &process = process_of(launch, table, id);
  const u32 end = end_of_handle(table, process, call.arg(0));
  if (end == ~0u) return served(ERRNO_Badf);
  u32 &lock = family::root_of(table, process).lock;
  if (!family::try_lock(lock)) return come_again(thread, LOCK_PAUSE);
  family::drop_handle(table, process, end);
  family::release(table, end);
  family::unlock(lock);
  return served(ERRNO_Success);
}

// One of PROCESS_FUNCTIONS.
GPU_RUN_NOINLINE Local process_call(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  ProcessTable *table = table_of(launch);
  if (!table) return served(ERRNO_Nosys);
  switch (call.function) {
    case wasi::FN_process_spawn: return spawn_process(launch, thread, id, call);
    case wasi::FN_process_wait:
    case wasi::FN_process_kill: return ask_child(launch, thread, id, call);
    case wasi::FN_process_id: return store_result(call, call.arg(0), process_of(launch, *table, id).pid);
    case wasi::FN_pipe_close: return close_handle(launch, thread, id, call);
    default: {
      const u32 end = end_of_handle(*table, process_of(launch, *table, id), call.arg(0));
      const u32 side = call.function == wasi::FN_pipe_read ? family::SIDE_Read : family::SIDE_Write;
      return end == ~0u || end % 2 != side ? served(ERRNO_Badf) : use_pipe(*table, thread, call, end);
    }
  }
}

#endif
}  // namespace requests
}  // namespace gpu_run
