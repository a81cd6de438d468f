// Files that are open for reading only: their positions are here, and what is read ahead of them.
//
// When the host opens such a file it says so (NOTE_Position). From then on the device holds the position of the
// descriptor, and asks the host for bytes at an offset. `fd_tell` and most of `fd_seek` need no host. A read that is
// small and goes on where the last one ended asks for more than it needs. The rest is kept in the descriptor's block,
// from which the next reads are served.
//
// A block is used only while
// - the read goes on where the last one ended. So it is a buffer like that of C's stdio: a thread that goes back gets
//   what the file has now;
// - nothing in the process can have written the file. The host knows files by more than their names. It lets only data
//   of files be kept that the process does not have open for writing (NOTE_Keep). It says when a file that is open for
//   reading is opened for writing too (NOTE_Changes). The epoch that then begins ends all blocks that were asked for
//   before: also those whose response is still on its way;
// - it is not old: what other processes write is seen after MOST_AGE.
//
// A descriptor's lock makes reads of several threads come one after the other. It is only ever tried; a thread that
// does not get it comes again a while later. A thread that asks the host keeps the lock until the response, and has a
// slot before. So a thread that waits for the lock waits for the host alone.
//
// Descriptors that are polled or moved go back to the host, which is told their position first. So they do when a run
// ends, because another store may use them next. The next run's device gets all positions from the host.
#pragma once

#include "rpc/device_calls.h"
#include "rpc/slots.h"

namespace gpu_run {
namespace requests {

// Nanoseconds after which a block is not used any more.
constexpr u64 MOST_AGE = 1000000000;
// Nanoseconds after which a thread looks again that found a file in use.
constexpr u64 FILE_BUSY_PAUSE = 2000;
// Reads of that many bytes or more are not read ahead. This is also how much is read ahead first, and what one message
// carries.
constexpr u32 FILE_LARGE = FILE_BLOCK / 4;
// Offsets up to here are valid in any file system; those above, the host judges.
constexpr u64 MOST_OFFSET = 0x7fffffff;
constexpr u32 WHENCE_Set = 0, WHENCE_Current = 1;

// The descriptor, if its position is here. Only a hint without the lock.
GPU_RUN_INLINE File *file_of(const Requests &requests, u32 descriptor) {
  if (descriptor >= FILE_DESCRIPTORS || !requests.files) return nullptr;
  File *file = &requests.files[descriptor];
  return load_relaxed_device(&file->open) ? file : nullptr;
}

// Acquire: pairs with the release in `unlock_file`.
GPU_RUN_INLINE bool try_lock_file(File &file) {
  // A load comes first, so that waiting lanes do not keep the word from the lock's holder.
  u32 found = load_relaxed_device(&file.lock);
  return found == 0 && compare_exchange_acquire_device(&file.lock, found, (u32)FILE_Used);
}

// Release: pairs with the acquire in `try_lock_file`.
GPU_RUN_INLINE void unlock_file(File &file) { store_release_device(&file.lock, 0u); }

GPU_RUN_INLINE Local come_again(Thread &thread, u64 pause) {
  thread.wake = clock_ns() + pause;
  thread.state = THREAD_Sleeping;
  return {LOCAL_Again, DONE_Wait};
}

// Locks a descriptor whose position is here. Else it says how the call goes on.
GPU_RUN_NOINLINE bool hold_file(File &file, Thread &thread, Local &otherwise) {
  if (!try_lock_file(file)) {
    otherwise = come_again(thread, FILE_BUSY_PAUSE);
    return false;
  }
  // It may have been closed before this thread had the lock.
  if (load_relaxed_device(&file.open)) return true;
  unlock_file(file);
  otherwise = {LOCAL_Host, 0};
  return false;
}

// A call without input, as the host gets it.
struct FileCall {
  u32 function;
  u32 descriptor;
  u32 capacity;
  u64 args[4];  // after the descriptor
};

// Sends a call to the host, if there is a slot.
GPU_RUN_NOINLINE bool send_call(Requests &requests, Thread &thread, u32 id, const FileCall &what) {
  thread.request = take_slot(requests, id);
  if (thread.request == 0) return false;
  const Outgoing message = begin_message(requests, thread);
  message.put(MESSAGE_Capacity, what.capacity, 0);
  u32 units[MESSAGE_ARGUMENTS] = {what.descriptor}, count = 1, arg = 0;
  // The descriptor is the first parameter of each of these functions.
  for (u64 left = wasi::PARAMS[what.function] >> wasi::PARAM_BITS; left; left >>= wasi::PARAM_BITS) {
    u32 kind = (u32)left & ((1u << wasi::PARAM_BITS) - 1);
    if (kind == wasi::PARAM_Value64) {
      split(what.args[arg++], units[count], units[count + 1]);
      count += 2;
    } else {
      for (u32 i = 0; i < units_of(kind); i++) units[count++] = (u32)what.args[arg++];
    }
  }
  for (u32 i = 0; i < count; i += 2) message.put(MESSAGE_Units + i, units[i], units[i + 1]);
  thread.moved = 0;
  send(requests, thread, id, message, what.function, REQUEST_Call, MESSAGE_RESULTS);
  return true;
}

// The same for a thread that has the file's lock, which it keeps. Without a slot it releases the lock, because threads
// that have slots may need it.
GPU_RUN_NOINLINE bool send_held(Requests &requests, Thread &thread, u32 id, File &file, const FileCall &what,
                                u64 tag) {
  if (!send_call(requests, thread, id, what)) {
    unlock_file(file);
    return false;
  }
  thread.resume_state = tag | resume::DESCRIPTOR.put(what.descriptor);
  return true;
}

GPU_RUN_INLINE Local sent(Thread &thread, bool done) {
  return done ? Local{LOCAL_Sent, 0} : come_again(thread, NO_SLOT_PAUSE);
}

// Whether the file's block has the bytes of a read.
GPU_RUN_INLINE bool has_block(const Requests &requests, const File &file, u64 offset, u32 wanted) {
  // Differences, so that no sum of a huge offset wraps.
  if (offset != file.next || offset < file.start || offset - file.start > file.len) return false;
  if (wanted > file.len - (offset - file.start)) return false;
  // Relaxed: a thread that knows of a change knows of the epoch too.
  return file.epoch == load_relaxed_device(&requests.epoch) && clock_ns() - file.filled < MOST_AGE;
}

// Puts bytes of a block where the buffers are.
GPU_RUN_NOINLINE u32 deliver(const Call &call, const u8 *block, u64 from, u32 len) {
  u32 done = 0;
  if (len == 0) return TRAP_None;
  return call.each_buffer(OUTPUT, [&](u64 at, u64 bytes) {
    u32 count = (u32)lesser(bytes, len - done);
    if (!call.fits(at, count)) return (u32)TRAP_MemoryOutOfBounds;
    move_piece(call.memory.base, at, block, from + done, count);
    done += count;
    return done == len ? STOP : (u32)TRAP_None;
  });
}

// `fd_read` and `fd_pread`.
GPU_RUN_NOINLINE Local read_file(Requests &requests, Thread &thread, u32 id, const Call &call, File &file) {
  const u32 descriptor = call.arg(0);
  const bool moves = call.function == wasi::FN_fd_read;
  u32 input, wanted, error = 0;
  if (u32 trap = measure(call, input, wanted, error)) return {LOCAL_Trap, trap};
  Local otherwise;
  if (!hold_file(file, thread, otherwise)) return otherwise;
  const u64 offset = moves ? file.position : call.registers.get64(call.first + 3);
  if (has_block(requests, file, offset, wanted)) {
    u32 trap = deliver(call, requests.blocks + (u64)descriptor * FILE_BLOCK, offset - file.start, wanted);
    if (trap == TRAP_None) {
      file.next = offset + wanted;
      if (moves) file.position = offset + wanted;
    }
    unlock_file(file);
    return trap ? Local{LOCAL_Trap, trap} : store_result(call, call.arg(moves ? 3 : 5), wanted);
  }
  u32 window = 0;
  if (offset == file.next && wanted < FILE_LARGE) {
    window = file.window ? (u32)lesser(2 * file.window, FILE_BLOCK) : FILE_LARGE;
  }
  file.window = window;
  file.wanted = wanted;
  file.start = offset;
  file.len = 0;
  // Before it is sent, and so before the host looks which descriptors write the file.
  file.epoch = load_relaxed_device(&requests.epoch);
  FileCall what = {wasi::FN_fd_pread, descriptor, window > wanted ? window : wanted, {0, 0, offset, 0}};
  return sent(thread, send_held(requests, thread, id, file, what, resume::HOLDS_FILE));
}

// `fd_seek`.
GPU_RUN_NOINLINE Local seek_file(Requests &requests, Thread &thread, u32 id, const Call &call, File &file) {
  Local otherwise;
  if (!hold_file(file, thread, otherwise)) return otherwise;
  u64 to = call.registers.get64(call.first + 1);
  u32 whence = call.arg(3);
  if (whence == WHENCE_Current) to += file.position, whence = WHENCE_Set;
  if (whence == WHENCE_Set && (i64)to < 0) {
    unlock_file(file);
    return served(ERRNO_Inval);
  }
  if (whence == WHENCE_Set && to <= MOST_OFFSET) {
    file.position = to;
    unlock_file(file);
    return store_result(call, call.arg(4), to);
  }
  FileCall what = {wasi::FN_fd_seek, call.arg(0), 0, {to, whence, 0, 0}};
  return sent(thread, send_held(requests, thread, id, file, what, resume::HOLDS_FILE));
}

GPU_RUN_NOINLINE Local tell_file(Thread &thread, const Call &call, File &file) {
  Local otherwise;
  if (!hold_file(file, thread, otherwise)) return otherwise;
  u64 position = file.position;
  unlock_file(file);
  return store_result(call, call.arg(1), position);
}

// `fd_close`: no thread uses the number until the host has freed it.
GPU_RUN_NOINLINE Local close_file(Requests &requests, Thread &thread, u32 id, const Call &call, File &file) {
  Local otherwise;
  if (!hold_file(file, thread, otherwise)) return otherwise;
  FileCall what = {wasi::FN_fd_close, call.arg(0), 0, {0, 0, 0, 0}};
  // For the host, if the run ends before the response. Relaxed: it looks after the run.
  store_relaxed_device(&file.lock, (u32)FILE_Closes);
  return sent(thread, send_held(requests, thread, id, file, what, resume::HOLDS_FILE));
}

// Returns a descriptor to the host, which is told its position. The instruction then begins anew.
GPU_RUN_NOINLINE Local retire_file(Requests &requests, Thread &thread, u32 id, u32 descriptor) {
  File &file = requests.files[descriptor];
  Local otherwise;
  if (!hold_file(file, thread, otherwise)) {
    return otherwise.kind == LOCAL_Host ? Local{LOCAL_Again, DONE_Step} : otherwise;
  }
  FileCall what = {wasi::FN_fd_seek, descriptor, 0, {file.position, WHENCE_Set, 0, 0}};
  if (!send_held(requests, thread, id, file, what, resume::RETIRES_FILE)) return come_again(thread, NO_SLOT_PAUSE);
  thread.state = THREAD_Requesting;
  return {LOCAL_Again, DONE_Wait};
}

// The host tells of files that are at their end.
GPU_RUN_NOINLINE Local poll_files(Requests &requests, Thread &thread, u32 id, const Call &call) {
  constexpr u8 FD_READ = 1;
  const u64 at = call.arg(0), count = call.arg(2);
  // What is wrong with the pointer is found later.
  if (at & 7 || !call.fits(at, count * wasi::SUBSCRIPTION_BYTES)) return {LOCAL_Host, 0};
  for (u64 i = 0; i < count; i++) {
    u64 subscription = at + i * wasi::SUBSCRIPTION_BYTES;
    if (linear::load<u8>(call.memory.base, subscription + 8) != FD_READ) continue;
    u32 descriptor = linear::load<u32>(call.memory.base, subscription + 16);
    if (file_of(requests, descriptor)) return retire_file(requests, thread, id, descriptor);
  }
  return {LOCAL_Host, 0};
}

// The functions that `begin_file` is for.
constexpr u64 FILE_FUNCTIONS = set_of(wasi::FN_fd_read, wasi::FN_fd_pread, wasi::FN_fd_seek, wasi::FN_fd_tell,
                                      wasi::FN_fd_close, wasi::FN_fd_renumber, wasi::FN_poll_oneoff);

// Begins a call that may be about a descriptor whose position is here.
GPU_RUN_NOINLINE Local begin_file(Requests &requests, Thread &thread, u32 id, const Call &call) {
  File *file = nullptr;
  switch (call.function) {
    case wasi::FN_fd_read:
    case wasi::FN_fd_pread:
    case wasi::FN_fd_seek:
    case wasi::FN_fd_tell:
    case wasi::FN_fd_close: file = file_of(requests, call.arg(0)); break;
    case wasi::FN_fd_renumber:
      for (u32 i = 0; i < 2; i++) {
        if (file_of(requests, call.arg(i))) return retire_file(requests, thread, id, call.arg(i));
      }
      break;
    case wasi::FN_poll_oneoff: return poll_files(requests, thread, id, call);
    default: break;
  }
  if (!file) return {LOCAL_Host, 0};
  switch (call.function) {
    case wasi::FN_fd_seek: return seek_file(requests, thread, id, call, *file);
    case wasi::FN_fd_tell: return tell_file(thread, call, *file);
    case wasi::FN_fd_close: return close_file(requests, thread, id, call, *file);
    default: return read_file(requests, thread, id, call, *file);
  }
}

// The descriptor that a thread has locked while its request is under way, if it has.
GPU_RUN_INLINE File *held_file(const Requests &requests, const Thread &thread) {
  return resume::has(thread, resume::HOLDS_FILE) ? &requests.files[resume::get(thread, resume::DESCRIPTOR)] : nullptr;
}

GPU_RUN_INLINE bool retires_file(const Thread &thread) { return resume::has(thread, resume::RETIRES_FILE); }

// The host has the position now.
GPU_RUN_NOINLINE void end_retire(Requests &requests, Thread &thread) {
  File &file = requests.files[resume::get(thread, resume::DESCRIPTOR)];
  resume::clear(thread);
  give_slot(requests, thread);
  store_relaxed_device(&file.open, 0u);
  unlock_file(file);
}

// Keeps the piece of a response's data that is in the slot, if it is for the block.
GPU_RUN_NOINLINE void keep_piece(Requests &requests, const Thread &thread, const Call &call, File &file,
                                 const RequestSlot &slot) {
  bool reads = call.function == wasi::FN_fd_read || call.function == wasi::FN_fd_pread;
  u32 len = (u32)lesser(slot.len, REQUEST_BYTES);
  if (!reads || slot.note != NOTE_Keep || file.window == 0 || thread.moved + len > FILE_BLOCK) return;
  if (thread.moved == 0) file.filled = clock_ns();
  fetch_piece(requests.blocks, resume::get(thread, resume::DESCRIPTOR) * FILE_BLOCK + thread.moved, slot.data, 0, len);
  file.len = thread.moved + len;
}

// The response is complete, and its data is where it belongs: writes the results.
GPU_RUN_NOINLINE u32 end_file(const Call &call, File &file, const RequestSlot &slot) {
  switch (call.function) {
    case wasi::FN_fd_read:
    case wasi::FN_fd_pread: {
      const bool moves = call.function == wasi::FN_fd_read;
      u32 count = (u32)lesser(slot.total, file.wanted);
      file.next = file.start + count;
      // What cannot be kept need not be asked for.
      if (slot.note != NOTE_Keep) file.window = 0;
      if (moves) file.position = file.next;
      return store_result(call, call.arg(moves ? 3 : 5), count).value;
    }
    case wasi::FN_fd_seek:
      file.position = linear::load<u64>(slot.results, 0);
      return store_result(call, call.arg(4), file.position).value;
    default: return TRAP_None;
  }
}

// Releases the lock.
GPU_RUN_NOINLINE void leave_file(Thread &thread, const Call &call, File &file) {
  resume::clear(thread);
  if (call.function == wasi::FN_fd_close) store_relaxed_device(&file.open, 0u);
  unlock_file(file);
}

// Does what a response to `path_open` says. Returns false if the thread must come again.
GPU_RUN_NOINLINE bool open_file(Requests &requests, Thread &thread, const RequestSlot &slot) {
  // A thread that learns of the descriptor, and so of what is written through it, learns of this before.
  if (slot.note == NOTE_Changes) red_add_device(&requests.epoch, 1u);
  if (slot.note != NOTE_Position || !requests.files) return true;
  u32 descriptor = linear::load<u32>(slot.results, 0);
  if (descriptor >= FILE_DESCRIPTORS) return true;
  File &file = requests.files[descriptor];
  // The thread that closed the number's last file may still have it.
  if (!try_lock_file(file)) {
    come_again(thread, FILE_BUSY_PAUSE);
    return false;
  }
  file.position = file.next = file.start = 0;
  file.len = file.window = 0;
  store_relaxed_device(&file.open, 1u);
  unlock_file(file);
  return true;
}

}  // namespace requests
}  // namespace gpu_run
