// Files whose data the device holds, of `--tmpfs`: reading, writing, offsets and sizes need no host.
//
// The host has what is rare and complicated: names, directories, links, descriptors' numbers. Its responses say
// - that a new descriptor is a file of this file system: its inode, and how it was opened (NOTE_Tmpfs);
// - that an inode is gone, with its last name and its last descriptor (NOTE_Free). The thread that receives this frees
//   its blocks, whatever its request was.
// What else the host must know of a file, its size and when it was written, is in pinned memory (TmpfsAttributes).
// What the device must know of the host's is beside it. A thread that writes a file stores it there before the call
// ends, so later requests find it.
//
// Two locks, for neither of which a lane waits inside of an instruction (rpc/tmpfs_blocks.h):
// - a descriptor's, for calls that use its offset, and for those by which the host closes, moves or changes it. These
//   keep it until the response. A thread that comes meanwhile tries again, so that it finds what the host has made;
// - an inode's, for as long as a call touches its data: many may read, or one may write. So a call is one step for all
//   others, and appends do not mix.
//
// A freed inode has another generation. A thread may have found the inode by a descriptor before another thread closed
// that. It sees the change once it has the inode's lock.
#pragma once

#include "rpc/tmpfs_calls.h"

namespace gpu_run {
namespace requests {

// --- Polls --------------------------------------------------------------------------------------

// The host reports files that are at their end: it must know the offsets. It is told one after another, and the
// instruction begins anew after each.
GPU_RUN_NOINLINE Local poll_tmpfs(Requests &requests, Thread &thread, u32 id, const Call &call) {
  constexpr u8 FD_READ = 1;
  const u64 at = call.arg(0), count = call.arg(2);
  u32 first = resume::has(thread, resume::POLLS_TMPFS) ? (u32)resume::get(thread, resume::POLLED) : 0;
  // What is wrong with the pointer is found later.
  if (at & 7 || !call.fits(at, count * wasi::SUBSCRIPTION_BYTES)) first = (u32)count;
  for (u32 i = first; i < count; i++) {
    u64 subscription = at + (u64)i * wasi::SUBSCRIPTION_BYTES;
    if (linear::load<u8>(call.memory.base, subscription + 8) != FD_READ) continue;
    u32 number = linear::load<u32>(call.memory.base, subscription + 16);
    TmpfsDescriptor *descriptor = tmpfs_of(requests, number);
    if (!descriptor) continue;
    thread.resume_state = resume::POLLS_TMPFS | resume::POLLED.put(i);
    if (!try_lock_tmpfs(*descriptor)) return come_again(thread, FILE_BUSY_PAUSE);
    FileCall what = {wasi::FN_fd_seek, number, 0, {descriptor->position, WHENCE_Set, 0, 0}};
    bool is_file = load_relaxed_device(&descriptor->target) != 0;
    if (!is_file || !send_call(requests, thread, id, what)) {
      unlock_tmpfs(*descriptor);
      if (is_file) return come_again(thread, NO_SLOT_PAUSE);
      continue;
    }
    thread.resume_state |= resume::TELLS_TMPFS | resume::TOLD.put(number);
    thread.state = THREAD_Requesting;
    return {LOCAL_Again, DONE_Wait};
  }
  resume::clear(thread);
  return {LOCAL_Host, 0};
}

GPU_RUN_INLINE bool tells_tmpfs(const Thread &thread) { return resume::has(thread, resume::TELLS_TMPFS); }

// The host knows the offset.
GPU_RUN_NOINLINE void end_tell(Requests &requests, Thread &thread) {
  u32 number = (u32)resume::get(thread, resume::TOLD);
  thread.resume_state = resume::POLLS_TMPFS | resume::POLLED.put((u32)resume::get(thread, resume::POLLED) + 1);
  give_slot(requests, thread);
  unlock_tmpfs(requests.tmpfs->descriptors[number]);
}

// --- All of them ------------------------------------------------------------------------------

GPU_RUN_NOINLINE Local move_tmpfs(const Launch &launch, Tmpfs &fs, Thread &thread, const Call &call,
                                  TmpfsDescriptor &descriptor) {
  const bool moves = call.function == wasi::FN_fd_read || call.function == wasi::FN_fd_write;
  const bool writes = call.function == wasi::FN_fd_write || call.function == wasi::FN_fd_pwrite;
  Transfer transfer = {launch, fs, thread, call, {descriptor, moves, writes, 0, nullptr}, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}};
  return writes ? write_tmpfs(transfer) : read_tmpfs(transfer);
}

// The functions that `begin_tmpfs` is for.
constexpr u64 TMPFS_FUNCTIONS =
    set_of(wasi::FN_fd_advise, wasi::FN_fd_allocate, wasi::FN_fd_datasync, wasi::FN_fd_filestat_get,
           wasi::FN_fd_filestat_set_size, wasi::FN_fd_pread, wasi::FN_fd_pwrite, wasi::FN_fd_read, wasi::FN_fd_seek,
           wasi::FN_fd_sync, wasi::FN_fd_tell, wasi::FN_fd_write, wasi::FN_poll_oneoff);
// Those that `leave_tmpfs` and `come_back_to_tmpfs` are for.
constexpr u64 TMPFS_LEFT = set_of(wasi::FN_fd_close, wasi::FN_fd_fdstat_set_flags, wasi::FN_fd_renumber);

// Begins a call that may be about a file of the file system.
GPU_RUN_NOINLINE Local begin_tmpfs(const Launch &launch, Thread &thread, u32 id, const Call &call) {
  Requests &requests = *launch.requests;
  if (!requests.tmpfs) return {LOCAL_Host, 0};
  if (call.function == wasi::FN_poll_oneoff && (resume::begins(thread) || resume::has(thread, resume::POLLS_TMPFS))) {
    return poll_tmpfs(requests, thread, id, call);
  }
  // Else a write to a stream is under way.
  if (!resume::begins(thread)) return {LOCAL_Host, 0};
  TmpfsDescriptor *descriptor = tmpfs_of(requests, call.arg(0));
  if (!descriptor) return {LOCAL_Host, 0};
  Tmpfs &fs = *requests.tmpfs;
  switch (call.function) {
    case wasi::FN_fd_read:
    case wasi::FN_fd_pread:
    case wasi::FN_fd_write:
    case wasi::FN_fd_pwrite: return move_tmpfs(launch, fs, thread, call, *descriptor);
    case wasi::FN_fd_seek: return seek_tmpfs(fs, thread, call, *descriptor);
    case wasi::FN_fd_tell: return tell_tmpfs(fs, thread, call, *descriptor);
    case wasi::FN_fd_filestat_get: return stat_tmpfs(fs, thread, call, *descriptor);
    case wasi::FN_fd_filestat_set_size: return resize_tmpfs(launch, fs, thread, call, *descriptor);
    default: break;
  }
  // Memory has nothing to be flushed to, and no use for advice. The host says the same of its own.
  Held held = {*descriptor, false, false, 0, nullptr};
  Local otherwise;
  if (!hold_tmpfs(fs, thread, held, 0, 0, otherwise)) return otherwise;
  held.end();
  if (call.function == wasi::FN_fd_advise) return served(choice_error(call.arg(5), 6));
  return served(call.function == wasi::FN_fd_allocate ? ERRNO_Notsup : ERRNO_Success);
}

// How many descriptors a call names that the host closes, moves or changes.
GPU_RUN_INLINE u32 descriptors_left(u32 function) {
  switch (function) {
    case wasi::FN_fd_close:
    case wasi::FN_fd_fdstat_set_flags: return 1;
    case wasi::FN_fd_renumber: return 2;
    default: return 0;
  }
}

GPU_RUN_INLINE TmpfsDescriptor *descriptor_left(const Requests &requests, const Call &call, u32 argument) {
  u32 number = call.arg(argument);
  if (number >= TMPFS_DESCRIPTORS || (argument && number == call.arg(0))) return nullptr;
  return &requests.tmpfs->descriptors[number];
}

// For a thread that has a slot, before the host is asked to close, move or change descriptors. These are locked, and
// those that are closed or moved are files no more. Returns false if the thread must come again.
GPU_RUN_NOINLINE bool leave_tmpfs(Requests &requests, Thread &thread, const Call &call) {
  const u32 count = descriptors_left(call.function);
  if (count == 0 || !requests.tmpfs) return true;
  bool any = false;
  for (u32 i = 0; i < count; i++) any |= tmpfs_of(requests, call.arg(i)) != nullptr;
  if (!any) return true;
  for (u32 i = 0; i < count; i++) {
    TmpfsDescriptor *descriptor = descriptor_left(requests, call, i);
    if (!descriptor) continue;
    if (!try_lock_tmpfs(*descriptor)) {
      if (resume::has(thread, resume::HOLDS_TMPFS)) unlock_tmpfs(*descriptor_left(requests, call, 0));
      resume::clear(thread);
      return false;
    }
    thread.resume_state |= resume::HOLDS_TMPFS << i;
  }
  if (call.function == wasi::FN_fd_fdstat_set_flags) return true;
  for (u32 i = 0; i < count; i++) {
    if (!resume::has(thread, resume::HOLDS_TMPFS << i)) continue;
    TmpfsDescriptor &descriptor = *descriptor_left(requests, call, i);
    descriptor.moved = load_relaxed_device(&descriptor.target);
    // Release: pairs with the acquire in `tmpfs_of`.
    store_release_device(&descriptor.target, (u64)0);
  }
  return true;
}

// After the response to such a call: descriptors are what the host has made of them.
GPU_RUN_NOINLINE void come_back_to_tmpfs(Requests &requests, Thread &thread, const Call &call, u32 error) {
  constexpr u64 EITHER = resume::HOLDS_TMPFS | resume::HOLDS_SECOND_TMPFS;
  const u64 state = thread.resume_state;
  if (!(state & EITHER)) return;
  thread.resume_state &= ~EITHER;
  TmpfsDescriptor *from = state & resume::HOLDS_TMPFS ? descriptor_left(requests, call, 0) : nullptr;
  TmpfsDescriptor *to = state & resume::HOLDS_SECOND_TMPFS ? descriptor_left(requests, call, 1) : nullptr;
  if (call.function == wasi::FN_fd_fdstat_set_flags) {
    constexpr u64 APPEND = (u64)TMPFS_Append << TMPFS_FlagShift;
    u64 target = load_relaxed_device(&from->target);
    // Flag 1 of the call is the one that the device knows.
    if (!error && target) target = call.arg(1) & 1 ? target | APPEND : target & ~APPEND;
    store_release_device(&from->target, target);
  } else if (call.function == wasi::FN_fd_renumber && (error || call.arg(0) == call.arg(1))) {
    if (from) store_release_device(&from->target, from->moved);
    if (to) store_release_device(&to->target, to->moved);
  } else if (to) {
    to->position = from ? from->position : 0;
    store_release_device(&to->target, from ? from->moved : (u64)0);
  }
  if (from) unlock_tmpfs(*from);
  if (to) unlock_tmpfs(*to);
}

// A new descriptor. Returns false if the thread must come again.
GPU_RUN_NOINLINE bool open_tmpfs(const Launch &launch, Tmpfs &fs, Thread &thread, u32 number, u64 target) {
  if (number >= TMPFS_DESCRIPTORS) return true;
  TmpfsDescriptor &descriptor = fs.descriptors[number];
  TmpfsInode &inode = fs.inodes[inode_of(target)];
  const bool cuts = opened_for(target, TMPFS_Truncate);
  bool busy = !try_lock_tmpfs(descriptor);
  if (!busy && cuts && !tmpfs::try_write(inode)) {
    unlock_tmpfs(descriptor);
    busy = true;
  }
  if (busy) {
    come_again(thread, FILE_BUSY_PAUSE);
    return false;
  }
  if (cuts) {
    // Unless another thread has closed a descriptor that it does not own, the descriptor keeps the file.
    if (inode.generation == (u32)(target >> 32)) resize(launch, fs, inode, 0);
    tmpfs::end_write(inode);
  }
  descriptor.position = 0;
  store_release_device(&descriptor.target, target & ~((u64)TMPFS_Truncate << TMPFS_FlagShift));
  unlock_tmpfs(descriptor);
  return true;
}

// The inode is gone. Returns false if the thread must come again.
GPU_RUN_NOINLINE bool free_tmpfs(Tmpfs &fs, Thread &thread, u64 target) {
  TmpfsInode &inode = fs.inodes[inode_of(target)];
  if (!tmpfs::try_write(inode)) {
    come_again(thread, FILE_BUSY_PAUSE);
    return false;
  }
  tmpfs::cut_blocks(fs, inode, 0);
  TmpfsAttributes &attributes = fs.attributes[inode_of(target)];
  inode.size = inode.written = inode.wanted = 0;
  store_relaxed_system(&attributes.size, inode.size);
  store_relaxed_system(&attributes.written, inode.written);
  // Release: pairs with the acquire in `DeviceLease::take` of src/wasi/tmpfs/device_lease.rs: the host may hand it out
  // again.
  store_release_system(&attributes.generation, ++inode.generation);
  tmpfs::end_write(inode);
  return true;
}

// Does what a response says of a file of the file system. Returns false if the thread must come again.
GPU_RUN_NOINLINE bool finish_tmpfs(const Launch &launch, Thread &thread, RequestSlot &slot) {
  Requests &requests = *launch.requests;
  if (!requests.tmpfs || (slot.note != NOTE_Tmpfs && slot.note != NOTE_Free)) return true;
  const u64 target = join(slot.file, slot.generation);
  bool done = slot.note == NOTE_Free
                  ? free_tmpfs(*requests.tmpfs, thread, target)
                  : open_tmpfs(launch, *requests.tmpfs, thread, linear::load<u32>(slot.results, 0), target);
  // The slot is the device's now. A response in pieces is looked at for each.
  if (done) slot.note = NOTE_None;
  return done;
}

// The same for a message that is not the guest's: it tells the host an offset. What its response says of a file belongs
// to another call, which had more to say than one response has room for. Returns false if the thread must come again.
GPU_RUN_NOINLINE bool finish_told(const Launch &launch, Thread &thread) {
  if (!launch.requests->tmpfs || !((u32)thread.response_head & RESPONSE_SLOT)) return true;
  if (!finish_tmpfs(launch, thread, response_slot(*launch.requests, thread))) return false;
  leave_slot();
  return true;
}

}  // namespace requests
}  // namespace gpu_run
