// The calls of WASI's functions that the device serves by itself.
#pragma once

#include "ops/output_ring.h"
#include "rpc/marshal.h"

namespace gpu_run {
namespace requests {

// How far a call came without the host.
enum LocalKind : u32 {
  LOCAL_Host,  // not at all: it is the host's
  LOCAL_Served,  // `value` is its errno
  LOCAL_Trap,  // `value` is the trap
  LOCAL_Again,  // `value`, a DoneKind, says how the instruction goes on, from its start
  LOCAL_Sent,  // it is on its way to the host
};
struct Local {
  u32 kind;
  u32 value;
  u32 cost = 1;  // of LOCAL_Again: branches that it counts like
};

GPU_RUN_INLINE Local served(u32 error) { return {LOCAL_Served, error}; }

template <typename T>
GPU_RUN_INLINE Local store_result(const Call &call, u64 at, T value) {
  if (u32 trap = call.check(at, sizeof(T), sizeof(T))) return {LOCAL_Trap, trap};
  linear::store<T>(call.memory.base, at, value);
  return served(ERRNO_Success);
}

// --- Arguments and environment ----------------------------------------------------------------

// Writes the strings, and a pointer to each.
GPU_RUN_NOINLINE Local get_strings(const Call &call, const Strings &strings) {
  u64 pointers = call.arg(0), bytes = call.arg(1);
  if (strings.count == 0) return served(ERRNO_Success);
  u32 trap = call.check(pointers, 4ull * strings.count, 4);
  if (trap == TRAP_None) trap = call.check(bytes, strings.len, 1);
  if (trap) return {LOCAL_Trap, trap};
  bool begins = true;
  for (u32 i = 0, pointers_left = strings.count; i < strings.len; i++) {
    // As many as there is room for, whatever the strings hold.
    if (begins && pointers_left) {
      pointers_left--;
      linear::store<u32>(call.memory.base, pointers, (u32)bytes + i);
      pointers += 4;
    }
    u8 byte = strings.bytes[i];
    linear::store<u8>(call.memory.base, bytes + i, byte);
    begins = byte == 0;
  }
  return served(ERRNO_Success);
}

GPU_RUN_INLINE Local get_sizes(const Call &call, const Strings &strings) {
  Local local = store_result(call, call.arg(0), strings.count);
  return local.kind == LOCAL_Trap ? local : store_result(call, call.arg(1), strings.len);
}

// --- Clocks -----------------------------------------------------------------------------------

enum Clock : u32 { CLOCK_Realtime = 0, CLOCK_Monotonic = 1, CLOCKS = 4 };

// The errno of a clock that is neither of the two.
GPU_RUN_INLINE u32 clock_error(u32 clock) {
  if (clock <= CLOCK_Monotonic) return ERRNO_Success;
  return clock < CLOCKS ? ERRNO_Badf : ERRNO_Inval;
}

GPU_RUN_INLINE u64 clock_time(const Launch &launch, u32 clock) {
  u64 now = clock_ns();
  return clock == CLOCK_Realtime ? launch.wall_start + (now - launch.clock_start) : now;
}

// A poll for one clock and nothing else, which is how programs sleep.
GPU_RUN_NOINLINE Local sleep(const Launch &launch, Thread &thread, const Call &call) {
  u64 at = call.arg(0);
  if (u32 trap = call.check(at, wasi::SUBSCRIPTION_BYTES, 8)) return {LOCAL_Trap, trap};
  const u8 *base = call.memory.base;
  if (resume::begins(thread)) {
    u8 tag = linear::load<u8>(base, at + 8);
    u32 clock = linear::load<u32>(base, at + 16), flags = linear::load<u16>(base, at + 40);
    if (tag != 0 || clock > CLOCK_Monotonic || flags > 1) return {LOCAL_Host, 0};
    u64 timeout = linear::load<u64>(base, at + 24), now = clock_ns();
    if (flags) {
      u64 there = clock_time(launch, clock);
      timeout = timeout > there ? timeout - there : 0;
    }
    thread.wake = timeout < ~0ull - now ? now + timeout : ~0ull;
    thread.state = THREAD_Sleeping;
    resume::set_count(thread, 1);
    return {LOCAL_Again, DONE_Wait};
  }
  resume::clear(thread);
  u64 event = call.arg(1);
  if (u32 trap = call.check(event, wasi::EVENT_BYTES, 8)) return {LOCAL_Trap, trap};
  linear::store<u64>(call.memory.base, event, linear::load<u64>(base, at));
  for (u32 i = 8; i < wasi::EVENT_BYTES; i += 8) linear::store<u64>(call.memory.base, event + i, 0);
  return store_result(call, call.arg(3), 1u);
}

// --- Random bytes -----------------------------------------------------------------------------

GPU_RUN_INLINE u32 rotate_left(u32 value, u32 by) { return value << by | value >> (32 - by); }

GPU_RUN_INLINE void quarter_round(u32 &a, u32 &b, u32 &c, u32 &d) {
  a += b, d = rotate_left(d ^ a, 16);
  c += d, b = rotate_left(b ^ c, 12);
  a += b, d = rotate_left(d ^ a, 8);
  c += d, b = rotate_left(b ^ c, 7);
}

// Fills bytes by ChaCha20 (RFC 8439), keyed by the seed. The nonce is the thread and the run. So each thread has a
// stream of its own, which only the seed decides.
GPU_RUN_NOINLINE Local random(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  // Bytes between two looks at the stop flag.
  constexpr u64 AT_ONCE = 4096, BLOCK = 64;
  u64 at = call.arg(0), len = call.arg(1);
  if (u32 trap = call.check(at, len, 1)) return {LOCAL_Trap, trap};
  const Requests &requests = *launch.requests;
  u64 done = resume::count(thread), end = lesser(len, done + AT_ONCE);
  while (done < end) {
    u32 key[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (u32 i = 0; i < 8; i++) key[4 + i] = requests.seed[i];
    key[12] = thread.random++;
    key[13] = launch.process ? 0 : id;
    key[14] = requests.run;
    key[15] = requests.nonce;
    u32 x[16];
    for (u32 i = 0; i < 16; i++) x[i] = key[i];
    for (u32 round = 0; round < 10; round++) {
      quarter_round(x[0], x[4], x[8], x[12]);
      quarter_round(x[1], x[5], x[9], x[13]);
      quarter_round(x[2], x[6], x[10], x[14]);
      quarter_round(x[3], x[7], x[11], x[15]);
      quarter_round(x[0], x[5], x[10], x[15]);
      quarter_round(x[1], x[6], x[11], x[12]);
      quarter_round(x[2], x[7], x[8], x[13]);
      quarter_round(x[3], x[4], x[9], x[14]);
    }
    for (u32 i = 0; i < 16; i++) {
      u32 word = x[i] + key[i];
      for (u32 k = 0; k < 4 && done + 4 * i + k < end; k++) {
        linear::store<u8>(call.memory.base, at + done + 4 * i + k, (u8)(word >> (8 * k)));
      }
    }
    done += BLOCK;
  }
  resume::set_count(thread, end < len ? end : 0);
  return end < len ? Local{LOCAL_Again, DONE_Step} : served(ERRNO_Success);
}

// --- Streams ----------------------------------------------------------------------------------

// Thread::resume_state says how far a write to a stream is. Thread::moved is the buffer in which it goes on,
// Thread::answer how many bytes are in those before that one.

// Examines a whole write before it begins: where the last line of it ends that may be passed on. With one thread that
// is the end. With several, what comes after the last newline stays in the thread's open record, so that no line is
// torn by another's.
GPU_RUN_NOINLINE u32 begin_write(const Launch &launch, Thread &thread, const Call &call) {
  u64 total = 0, line = 0;
  u32 trap = call.each_buffer(INPUT, [&](u64 at, u64 len) {
    if (!call.fits(at, len)) return (u32)TRAP_MemoryOutOfBounds;
    u64 count = lesser(len, MOST_BYTES - total), i = count;
    if (launch.thread_count > 1) {
      while (i > 0 && linear::load<u8>(call.memory.base, at + i - 1) != '\n') i--;
    }
    if (i > 0) line = total + i;
    total += count;
    return total == MOST_BYTES ? STOP : (u32)TRAP_None;
  });
  thread.resume_state = resume::WRITES_STREAM | resume::LINE.put(line);
  thread.moved = 0;
  thread.answer = 0;
  return trap;
}

// Visits the text of a write from byte `done` on, up to `most` bytes: calls `visit` with the address and length of each
// part. Returns how many bytes they have. `index` and `from` are Thread::moved and Thread::answer. Another thread may
// change the list meanwhile: then the text is another one, but still no longer than it may be.
template <typename Visit>
GPU_RUN_INLINE u32 each_part(const Call &call, u32 &index, u32 &from, u32 done, u32 most, u32 &trap, Visit visit) {
  const u64 list = call.arg(1);
  const u32 count = used_buffers(call.arg(2));
  u32 taken = 0;
  while (index < count && taken < most) {
    u64 at, len;
    call.load_buffer(list, index, at, len);
    len = lesser(len, MOST_BYTES - from);
    const u32 skip = done + taken - from;
    if (skip < len) {
      const u32 part = (u32)lesser(len - skip, most - taken);
      if (!call.fits(at + skip, part)) {
        trap = TRAP_MemoryOutOfBounds;
        return taken;
      }
      visit(at + skip, part);
      taken += part;
      if (skip + part < len) return taken;
    }
    from += (u32)len;
    index++;
  }
  return taken;
}

// Appends the next record of a write that goes on at byte `done`. It is the rest of a line or text, of however many
// buffers, or as much as a record takes. Returns how many bytes it has, none at the end; ~0: the ring is full.
GPU_RUN_NOINLINE u32 append_parts(const Launch &launch, Thread &thread, u32 id, const Call &call, u32 stream, u32 done,
                                  u32 line, u32 &trap) {
  const u32 most = (u32)lesser(done < line ? line - done : MOST_BYTES, output::PIECE);
  u32 index = thread.moved, from = thread.answer;
  const u32 len = each_part(call, index, from, done, most, trap, [](u64, u32) {});
  if (trap || len == 0) {
    thread.moved = index;
    return 0;
  }
  Ring &ring = *launch.ring;
  u64 at = output::begin(ring, told_number(launch, id), stream, len);
  if (at == output::FULL) return ~0u;
  index = thread.moved;
  from = thread.answer;
  u32 unused = TRAP_None;
  u64 to = at + sizeof(Record);
  // The ring's bytes are 0: so are those that another thread has taken out of the list since.
  each_part(call, index, from, done, len, unused, [&](u64 part, u32 bytes) {
    output::put(ring, to, call.memory.base + part, bytes);
    to += bytes;
  });
  thread.moved = index;
  thread.answer = from;
  output::publish(ring, at, done + len == line ? RECORD_Close : RECORD_Text);
  return len;
}

// A write to stdout or stderr goes to the output ring, a piece each time that the instruction runs.
GPU_RUN_NOINLINE Local write_stream(const Launch &launch, Thread &thread, u32 id, const Call &call, u32 stream) {
  if (resume::begins(thread)) {
    // Relaxed: the number is all there is to see.
    u32 error = load_relaxed_system(&launch.requests->output_errors[stream - 1]);
    if (error) return served(error);
    if (u32 trap = begin_write(launch, thread, call)) return {LOCAL_Trap, trap};
    const u32 cost = cost_of_buffers(call.arg(2));
    if (cost > 1) return {LOCAL_Again, DONE_Step, cost};
  }
  const u32 done = (u32)resume::get(thread, resume::WRITTEN), line = (u32)resume::get(thread, resume::LINE);
  u32 trap = TRAP_None;
  const u32 len = append_parts(launch, thread, id, call, stream, done, line, trap);
  if (trap) return {LOCAL_Trap, trap};
  // A full ring makes the thread wait for the host, so nothing is lost.
  if (len == ~0u) {
    thread.state = THREAD_Busy;
    return {LOCAL_Again, DONE_Wait};
  }
  thread.resume_state += resume::WRITTEN.put(len);
  if (thread.moved < used_buffers(call.arg(2)) && done + len < MOST_BYTES) return {LOCAL_Again, DONE_Step};
  resume::clear(thread);
  return store_result(call, call.arg(3), done + len);
}

// Whether a call reads a standard input that the device has.
GPU_RUN_INLINE bool reads_input(const Requests &requests, const Call &call) {
  return call.function == wasi::FN_fd_read && requests.input && call.arg(0) == 0;
}

// Such a read: as much as there is and the buffers take.
GPU_RUN_NOINLINE Local read_input(const Launch &launch, const Call &call) {
  Requests &requests = *launch.requests;
  u64 done = 0;
  // Several processes may read the same input: of a part that another one has taken meanwhile there is another one.
  u64 begin = load_relaxed_device(requests.input_position);
  const u64 most = lesser(requests.input_len - begin, MOST_BYTES);
  u32 trap = call.each_buffer(OUTPUT, [&](u64 at, u64 len) {
    const u64 count = lesser(len, most - done);
    if (!call.fits(at, count)) return (u32)TRAP_MemoryOutOfBounds;
    bulk_copy(launch, call.memory.base, at, requests.input, begin + done, count);
    done += count;
    return done == most ? STOP : (u32)TRAP_None;
  });
  if (trap) return {LOCAL_Trap, trap};
  // Relaxed: the input itself never changes.
  if (!compare_exchange_acq_rel_device(requests.input_position, begin, begin + done)) return {LOCAL_Again, DONE_Step};
  return store_result(call, call.arg(3), (u32)done);
}

// The stream that a descriptor still is; 0 if it is none, or the host must decide.
GPU_RUN_INLINE u32 stream_of(const Requests &requests, u32 descriptor) {
  return descriptor < STREAM_DESCRIPTORS ? load_relaxed_device(&requests.streams[descriptor]) : 0;
}

GPU_RUN_INLINE void set_stream(Requests &requests, u32 descriptor, u32 stream) {
  if (descriptor < STREAM_DESCRIPTORS) store_relaxed_device(&requests.streams[descriptor], stream);
}

// Before the host closes or moves a descriptor, it stops being a stream. Otherwise a number that the host hands out
// again could be taken for a stream. The host serves every descriptor that is no stream here.
GPU_RUN_INLINE void leave_streams(Requests &requests, Thread &thread, const Call &call) {
  if (call.function == wasi::FN_fd_close) {
    set_stream(requests, call.arg(0), 0);
    if (call.arg(0) == 0) requests.input = nullptr;
  }
  if (call.function == wasi::FN_fd_renumber) {
    if (call.arg(0) == 0 || call.arg(1) == 0) requests.input = nullptr;
    thread.resume_state |= resume::FROM_STREAM.put(stream_of(requests, call.arg(0)));
    thread.resume_state |= resume::TO_STREAM.put(stream_of(requests, call.arg(1)));
    set_stream(requests, call.arg(0), 0);
    set_stream(requests, call.arg(1), 0);
  }
}

// After the response: a stream that was moved has its new descriptor, or both are what they were.
GPU_RUN_INLINE void come_back_to_streams(Requests &requests, Thread &thread, const Call &call, u32 error) {
  if (call.function != wasi::FN_fd_renumber) return;
  u32 from = (u32)resume::get(thread, resume::FROM_STREAM), to = (u32)resume::get(thread, resume::TO_STREAM);
  resume::clear(thread);
  if (error) {
    set_stream(requests, call.arg(0), from);
    set_stream(requests, call.arg(1), to);
  } else {
    set_stream(requests, call.arg(1), from);
  }
}

// --- All of them ------------------------------------------------------------------------------

// The functions that `serve` is for.
constexpr u64 LOCAL_FUNCTIONS =
    set_of(wasi::FN_args_get, wasi::FN_args_sizes_get, wasi::FN_environ_get, wasi::FN_environ_sizes_get,
           wasi::FN_clock_res_get, wasi::FN_clock_time_get, wasi::FN_random_get, wasi::FN_sched_yield, wasi::FN_fd_write,
           wasi::FN_poll_oneoff, wasi::FN_host_word);
// Those that `leave_streams` and `come_back_to_streams` are for.
constexpr u64 STREAM_FUNCTIONS = set_of(wasi::FN_fd_close, wasi::FN_fd_renumber);

// Serves a call, or says that it is the host's.
GPU_RUN_NOINLINE Local serve(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  const Requests &requests = *launch.requests;
  switch (call.function) {
    case wasi::FN_args_get: return get_strings(call, requests.args);
    case wasi::FN_args_sizes_get: return get_sizes(call, requests.args);
    case wasi::FN_environ_get: return get_strings(call, requests.environment);
    case wasi::FN_environ_sizes_get: return get_sizes(call, requests.environment);
    case wasi::FN_clock_res_get:
      if (u32 error = clock_error(call.arg(0))) return served(error);
      return store_result(call, call.arg(1), 1ull);
    case wasi::FN_clock_time_get:
      if (u32 error = clock_error(call.arg(0))) return served(error);
      return store_result(call, call.arg(3), clock_time(launch, call.arg(0)));
    case wasi::FN_random_get: return random(launch, thread, id, call);
    case wasi::FN_sched_yield: return served(ERRNO_Success);
    // `poll` has left it there, and no other call was made since.
    case wasi::FN_host_word: return served(thread.answer);
    case wasi::FN_fd_write: {
      u32 stream = stream_of(requests, call.arg(0));
      if (stream) return write_stream(launch, thread, id, call, stream);
      break;
    }
    case wasi::FN_poll_oneoff:
      if (call.arg(2) == 1) return sleep(launch, thread, call);
      break;
    default: break;
  }
  // A write was begun here, and before its end another thread closed the stream: what is in records is written.
  if (!resume::begins(thread)) {
    u32 written = (u32)resume::get(thread, resume::WRITTEN);
    resume::clear(thread);
    return store_result(call, call.arg(3), written);
  }
  return {LOCAL_Host, 0};
}

}  // namespace requests
}  // namespace gpu_run
