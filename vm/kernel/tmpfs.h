// Files whose data the device holds, of `--tmpfs`: reading, writing, offsets and sizes need no host.
//
// The host has what is seldom and complicated: names, directories, links, descriptors' numbers. Its answers say
//   - that a new descriptor is a file of this file system: its inode, and how it was opened (NOTE_Tmpfs);
//   - that an inode is gone, with its last name and its last descriptor (NOTE_Free). Who is told frees its blocks.
// What else it must know of a file, its size and when it was written, stands in pinned memory, beside what the
// device must know of the host's (TmpfsAttributes). Who writes a file stores it there before the call ends, so
// requests that come behind it find it so.
//
// Two locks, of which nobody waits for any inside (tmpfs_blocks.h):
//   - a descriptor's, for calls that use its offset, and for those by which the host closes, moves or changes it:
//     these keep it until the answer. Who comes by then tries again, so that he finds what the host has made;
//   - an inode's, for as long as a call touches its data: many may read, or one may write. So a call is one step
//     for all others, and appends do not mix.
//
// A freed inode has another generation. Who had found it by a descriptor, before another thread closed that, sees
// so once he has the inode's lock.
#pragma once

#include "requests_files.h"
#include "tmpfs_blocks.h"

namespace gpu_run {
namespace requests {

// In Thread::progress, of a thread that
// - waits for the host with the lock of the descriptor that its first argument names; the bit above is for the second;
constexpr u64 TMPFS_HELD = 1ull << 57;
// - polls: those of the subscriptions below the number in the lower half are looked at;
constexpr u64 TMPFS_POLLS = 1ull << 59;
// - tells the host the offset of the descriptor above these 32 bits, which it has locked, because it polls.
constexpr u64 TMPFS_TELLS = 1ull << 60;

// Offsets of files are signed.
constexpr u64 TMPFS_MOST = 0x7fffffffffffffff;

GPU_RUN_INLINE u32 inode_of(u64 target) { return ((u32)target & ((1u << TMPFS_FlagShift) - 1)) - 1; }
GPU_RUN_INLINE bool opened_for(u64 target, TmpfsFlag flag) { return ((u32)target >> TMPFS_FlagShift & flag) != 0; }

// The descriptor, if it is or was just now a file of the file system.
GPU_RUN_INLINE TmpfsDescriptor *tmpfs_of(const Requests &requests, u32 descriptor) {
  if (!requests.tmpfs || descriptor >= TMPFS_DESCRIPTORS) return nullptr;
  TmpfsDescriptor *found = &requests.tmpfs->descriptors[descriptor];
  // Acquire: pairs with the release in `leave_tmpfs`, so that who finds no target finds the lock taken.
  return load_acquire_device(&found->target) || load_relaxed_device(&found->lock) ? found : nullptr;
}

// Acquire: pairs with the release in `unlock_tmpfs`.
GPU_RUN_INLINE bool try_lock_tmpfs(TmpfsDescriptor &descriptor) {
  u32 found = load_relaxed_device(&descriptor.lock);
  return found == 0 && compare_exchange_acquire_device(&descriptor.lock, found, 1u);
}

// Release: pairs with the acquire in `try_lock_tmpfs`.
GPU_RUN_INLINE void unlock_tmpfs(TmpfsDescriptor &descriptor) { store_release_device(&descriptor.lock, 0u); }

// What a call holds of a file.
struct Held {
  TmpfsDescriptor &descriptor;
  bool offset;  // the descriptor is locked
  bool writes;  // the inode is locked for one who writes, else for readers
  u64 target;
  TmpfsInode *inode;

  GPU_RUN_INLINE void end() const {
    writes ? tmpfs::end_write(*inode) : tmpfs::end_read(*inode);
    if (offset) unlock_tmpfs(descriptor);
  }
};

// Locks the inode of a descriptor, and before that the descriptor, if `held` says so. `needs` is what the file must
// be open for, or 0; if it is not, the errno is `refusal`. If it gives false, `otherwise` says how the call goes on.
GPU_RUN_NOINLINE bool hold_tmpfs(Tmpfs &fs, Thread &thread, Held &held, u32 needs, u32 refusal, Local &otherwise) {
  TmpfsDescriptor &descriptor = held.descriptor;
  bool busy = held.offset && !try_lock_tmpfs(descriptor);
  if (!busy) {
    const u64 target = held.target = load_acquire_device(&descriptor.target);
    if (target == 0) {
      // Closed, or on the way to be: then the host says what the number is once that is over.
      busy = !held.offset && load_relaxed_device(&descriptor.lock);
      otherwise = {LOCAL_Host, 0};
    } else if (needs && !opened_for(target, (TmpfsFlag)needs)) {
      otherwise = served(refusal);
    } else {
      TmpfsInode &inode = *(held.inode = &fs.inodes[inode_of(target)]);
      busy = held.writes ? !tmpfs::try_write(inode) : !tmpfs::try_read(inode);
      if (!busy) {
        if (inode.generation == (u32)(target >> 32)) return true;
        held.writes ? tmpfs::end_write(inode) : tmpfs::end_read(inode);
        // Another thread has closed it. Nothing is this file any more.
        u64 gone = target;
        compare_exchange_acquire_device(&descriptor.target, gone, (u64)0);
        otherwise = {LOCAL_Again, DONE_Step};
      }
    }
    if (held.offset) unlock_tmpfs(descriptor);
  }
  if (busy) otherwise = come_again(thread, FILE_BUSY_PAUSE);
  return false;
}

// Tells the host of a size.
GPU_RUN_INLINE void set_size(Tmpfs &fs, TmpfsInode &inode, u64 size) {
  inode.size = size;
  // Relaxed: who asks the host releases it with the request.
  store_relaxed_system(&fs.attributes[&inode - fs.inodes].size, size);
}

// Notes that the data or the size is another now. Each time is later than the one before.
GPU_RUN_INLINE void touch(const Launch &launch, Tmpfs &fs, TmpfsInode &inode) {
  u64 now = clock_time(launch, CLOCK_Realtime);
  inode.written = now > inode.written ? now : inode.written + 1;
  store_relaxed_system(&fs.attributes[&inode - fs.inodes].written, inode.written);
}

// --- Data -------------------------------------------------------------------------------------

// A read or write under way. Here, and not in registers: what is live in a call is so on top of all that the
// interpreter's loop holds, which would spill it. So functions that work on it have nothing of it across a call.
struct Transfer {
  const Launch &launch;
  Tmpfs &fs;
  Thread &thread;
  const Call &call;
  Held held;
  u64 offset;  // in the file
  u64 at;  // in memory
  u32 total;  // bytes to move
  u32 done;
  u32 left;  // of the buffer at hand
  u32 buffer;  // number of the next one
  u32 piece;  // bytes that are moved next, in one block
  u32 trap;
  u32 error;
  Local otherwise;
};

// Finds the next piece to move; false if there is none.
GPU_RUN_NOINLINE bool next_piece(Transfer &transfer) {
  const Call &call = transfer.call;
  const u32 rest = transfer.total - transfer.done;
  if (rest == 0) return false;
  while (transfer.left == 0) {
    if (transfer.buffer == call.arg(2)) return false;
    // `measure` has looked at the list.
    u64 entry = (u64)call.arg(1) + 8ull * transfer.buffer++;
    transfer.at = linear::load<u32>(call.memory.base, entry);
    transfer.left = (u32)lesser(linear::load<u32>(call.memory.base, entry + 4), rest);
    if (!call.fits(transfer.at, transfer.left)) {
      transfer.trap = TRAP_MemoryOutOfBounds;
      return false;
    }
  }
  u32 skipped = (u32)(transfer.offset + transfer.done) % TMPFS_BLOCK;
  transfer.piece = (u32)lesser(TMPFS_BLOCK - skipped, transfer.left);
  return true;
}

GPU_RUN_INLINE void piece_moved(Transfer &transfer) {
  transfer.at += transfer.piece;
  transfer.left -= transfer.piece;
  transfer.done += transfer.piece;
}

GPU_RUN_NOINLINE void read_piece(Transfer &transfer) {
  const u64 from = transfer.offset + transfer.done;
  const u32 block = tmpfs::find_block(transfer.fs, *transfer.held.inode, from / TMPFS_BLOCK);
  if (block) {
    tmpfs::copy_bytes(transfer.call.memory.base, transfer.at, transfer.fs.blocks,
                      tmpfs::start_of(block) + (u32)from % TMPFS_BLOCK, transfer.piece);
  } else {
    tmpfs::clear_bytes(transfer.call.memory.base, transfer.at, transfer.piece);
  }
  piece_moved(transfer);
}

// False if there is no room for it.
GPU_RUN_NOINLINE bool write_piece(Transfer &transfer) {
  const u64 to = transfer.offset + transfer.done;
  const u32 skipped = (u32)to % TMPFS_BLOCK;
  const u32 block =
      tmpfs::make_block(transfer.fs, *transfer.held.inode, to / TMPFS_BLOCK, skipped, transfer.piece);
  if (!block) return false;
  tmpfs::copy_bytes(transfer.fs.blocks, tmpfs::start_of(block) + (u32)(transfer.offset + transfer.done) % TMPFS_BLOCK,
                    transfer.call.memory.base, transfer.at, transfer.piece);
  piece_moved(transfer);
  return true;
}

// Looks at the arguments, and locks what is needed. False if the call goes on otherwise.
GPU_RUN_NOINLINE bool begin_transfer(Transfer &transfer) {
  u32 input, capacity, error = 0;
  Held &held = transfer.held;
  if (u32 trap = measure(transfer.call, input, capacity, error)) {
    transfer.otherwise = {LOCAL_Trap, trap};
    return false;
  }
  transfer.total = held.writes ? input : capacity;
  if (!held.offset) transfer.offset = transfer.call.registers.get64(transfer.call.first + 3);
  if (transfer.offset > TMPFS_MOST) {
    transfer.otherwise = served(ERRNO_Inval);
    return false;
  }
  const u32 needs = held.writes ? TMPFS_Write : TMPFS_Read;
  if (!hold_tmpfs(transfer.fs, transfer.thread, held, needs, ERRNO_Badf, transfer.otherwise)) return false;
  if (held.offset) transfer.offset = held.descriptor.position;
  return true;
}

GPU_RUN_NOINLINE Local end_transfer(Transfer &transfer) {
  const Held &held = transfer.held;
  if (held.offset && transfer.done) held.descriptor.position = transfer.offset + transfer.done;
  held.end();
  if (transfer.trap) return {LOCAL_Trap, transfer.trap};
  if (transfer.error) return served(transfer.error);
  return store_result(transfer.call, transfer.call.arg(held.offset ? 3 : 5), transfer.done);
}

// `fd_read` and `fd_pread`.
GPU_RUN_NOINLINE Local read_tmpfs(Transfer &transfer) {
  if (!begin_transfer(transfer)) return transfer.otherwise;
  const u64 size = transfer.held.inode->size;
  transfer.total = transfer.offset < size ? (u32)lesser(transfer.total, size - transfer.offset) : 0;
  while (next_piece(transfer)) read_piece(transfer);
  return end_transfer(transfer);
}

// `fd_write` and `fd_pwrite`.
GPU_RUN_NOINLINE Local write_tmpfs(Transfer &transfer) {
  if (!begin_transfer(transfer)) return transfer.otherwise;
  if (opened_for(transfer.held.target, TMPFS_Append)) transfer.offset = transfer.held.inode->size;
  const u64 most = TMPFS_MOST - transfer.offset;
  if (transfer.total && most == 0) transfer.error = ERRNO_Fbig;
  transfer.total = (u32)lesser(transfer.total, most);
  while (next_piece(transfer)) {
    if (write_piece(transfer)) continue;
    transfer.error = ERRNO_Nospc;
    break;
  }
  if (transfer.done) {
    TmpfsInode &inode = *transfer.held.inode;
    const u64 end = transfer.offset + transfer.done;
    if (end > inode.size) set_size(transfer.fs, inode, end);
    touch(transfer.launch, transfer.fs, inode);
    // What fitted is written, and the next write tells.
    transfer.error = ERRNO_Success;
  }
  return end_transfer(transfer);
}

// Cuts a file, or makes it longer by a hole. For who has the inode to write.
GPU_RUN_NOINLINE void resize(const Launch &launch, Tmpfs &fs, TmpfsInode &inode, u64 size) {
  if (size < inode.size) {
    tmpfs::cut_blocks(fs, inode, size / TMPFS_BLOCK + (size % TMPFS_BLOCK != 0));
    // What lay behind the end must be 0 if the file grows again.
    u32 kept = (u32)size % TMPFS_BLOCK, block = kept ? tmpfs::find_block(fs, inode, size / TMPFS_BLOCK) : 0;
    if (block) tmpfs::clear_bytes(fs.blocks, tmpfs::start_of(block) + kept, TMPFS_BLOCK - kept);
  }
  set_size(fs, inode, size);
  touch(launch, fs, inode);
}

// `fd_filestat_set_size`.
GPU_RUN_NOINLINE Local resize_tmpfs(const Launch &launch, Tmpfs &fs, Thread &thread, const Call &call,
                                    TmpfsDescriptor &descriptor) {
  const u64 size = call.registers.get64(call.first + 1);
  if (size > TMPFS_MOST) return served(ERRNO_Inval);
  Held held = {descriptor, false, true, 0, nullptr};
  Local otherwise;
  if (!hold_tmpfs(fs, thread, held, TMPFS_Write, ERRNO_Inval, otherwise)) return otherwise;
  resize(launch, fs, *held.inode, size);
  held.end();
  return served(ERRNO_Success);
}

// --- Offsets and attributes ---------------------------------------------------------------------

// What an argument of 8 bits is refused with that has one of `count` values.
GPU_RUN_INLINE u32 choice_error(u32 value, u32 count) {
  if (value < count) return ERRNO_Success;
  return value > 0xff ? ERRNO_Overflow : ERRNO_Inval;
}

// `fd_seek`.
GPU_RUN_NOINLINE Local seek_tmpfs(Tmpfs &fs, Thread &thread, const Call &call, TmpfsDescriptor &descriptor) {
  const u32 whence = call.arg(3);
  if (u32 error = choice_error(whence, 3)) return served(error);
  Held held = {descriptor, true, false, 0, nullptr};
  Local otherwise;
  if (!hold_tmpfs(fs, thread, held, 0, 0, otherwise)) return otherwise;
  i64 from = whence == WHENCE_Set ? 0 : (i64)(whence == WHENCE_Current ? descriptor.position : held.inode->size), to;
  bool wrong = __builtin_add_overflow(from, (i64)call.registers.get64(call.first + 1), &to) || to < 0;
  if (!wrong) descriptor.position = (u64)to;
  held.end();
  return wrong ? served(ERRNO_Inval) : store_result(call, call.arg(4), (u64)to);
}

// `fd_tell`.
GPU_RUN_NOINLINE Local tell_tmpfs(Tmpfs &fs, Thread &thread, const Call &call, TmpfsDescriptor &descriptor) {
  Held held = {descriptor, true, false, 0, nullptr};
  Local otherwise;
  if (!hold_tmpfs(fs, thread, held, 0, 0, otherwise)) return otherwise;
  u64 position = descriptor.position;
  held.end();
  return store_result(call, call.arg(1), position);
}

// `fd_filestat_get`. What the host sets is read over the bus, each word by itself.
GPU_RUN_NOINLINE Local stat_tmpfs(Tmpfs &fs, Thread &thread, const Call &call, TmpfsDescriptor &descriptor) {
  constexpr u64 REGULAR_FILE = 4;
  Held held = {descriptor, false, false, 0, nullptr};
  Local otherwise;
  if (!hold_tmpfs(fs, thread, held, 0, 0, otherwise)) return otherwise;
  const TmpfsInode &inode = *held.inode;
  const TmpfsAttributes &host = fs.attributes[inode_of(held.target)];
  // Acquire: pairs with the release in `publish` of src/wasi/scratch/loan.rs. Who sees the new one sees the time
  // that belongs to it.
  u64 written_then = load_acquire_system(&host.written_then), written = inode.written;
  u64 modified = load_relaxed_system(&host.modified), changed = load_relaxed_system(&host.changed);
  u64 fields[8] = {fs.device,
                   load_relaxed_system(&host.number),
                   REGULAR_FILE,
                   load_relaxed_system(&host.links),
                   inode.size,
                   load_relaxed_system(&host.accessed),
                   written != written_then ? written : modified,
                   written > changed ? written : changed};
  held.end();
  const u64 at = call.arg(1);
  if (u32 trap = call.check(at, sizeof fields, 8)) return {LOCAL_Trap, trap};
  for (u32 i = 0; i < 8; i++) linear::store<u64>(call.memory.base, at + 8 * i, fields[i]);
  return served(ERRNO_Success);
}

// --- Polls --------------------------------------------------------------------------------------

// The host tells of files that are at their end: it must know the offsets. It is told one after the other, and the
// instruction begins anew behind each.
GPU_RUN_NOINLINE Local poll_tmpfs(Requests &requests, Thread &thread, u32 id, const Call &call) {
  constexpr u8 FD_READ = 1;
  const u64 at = call.arg(0), count = call.arg(2);
  u32 first = thread.progress & TMPFS_POLLS ? (u32)thread.progress : 0;
  // What is wrong with the pointer is found later.
  if (at & 7 || !call.fits(at, count * wasi::SUBSCRIPTION_BYTES)) first = (u32)count;
  for (u32 i = first; i < count; i++) {
    u64 subscription = at + (u64)i * wasi::SUBSCRIPTION_BYTES;
    if (linear::load<u8>(call.memory.base, subscription + 8) != FD_READ) continue;
    u32 number = linear::load<u32>(call.memory.base, subscription + 16);
    TmpfsDescriptor *descriptor = tmpfs_of(requests, number);
    if (!descriptor) continue;
    thread.progress = TMPFS_POLLS | i;
    if (!try_lock_tmpfs(*descriptor)) return come_again(thread, FILE_BUSY_PAUSE);
    FileCall what = {wasi::FN_fd_seek, number, 0, {descriptor->position, WHENCE_Set, 0, 0}};
    bool is_file = load_relaxed_device(&descriptor->target) != 0;
    if (!is_file || !send_call(requests, thread, id, what)) {
      unlock_tmpfs(*descriptor);
      if (is_file) return come_again(thread, NO_SLOT_PAUSE);
      continue;
    }
    thread.progress |= TMPFS_TELLS | (u64)number << 32;
    thread.state = THREAD_Requesting;
    return {LOCAL_Again, DONE_Wait};
  }
  thread.progress = 0;
  return {LOCAL_Host, 0};
}

GPU_RUN_INLINE bool tells_tmpfs(const Thread &thread) { return (thread.progress & TMPFS_TELLS) != 0; }

// The host knows the offset.
GPU_RUN_NOINLINE void end_tell(Requests &requests, Thread &thread) {
  u32 number = (u32)(thread.progress >> 32) % TMPFS_DESCRIPTORS;
  thread.progress = TMPFS_POLLS | ((u32)thread.progress + 1);
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
  if (call.function == wasi::FN_poll_oneoff && (thread.progress == 0 || thread.progress & TMPFS_POLLS)) {
    return poll_tmpfs(requests, thread, id, call);
  }
  // Else a write to a stream is under way.
  if (thread.progress) return {LOCAL_Host, 0};
  if (call.function == wasi::FN_poll_oneoff) return {LOCAL_Host, 0};
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
  // Memory has nothing to be written to, and nothing to be advised of. The host says the same of its own.
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

// Before the host is asked to close, move or change descriptors, by a thread that has a slot: these are locked, and
// none of them is a file any more that is closed or moved. Gives false if the thread must come again.
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
      if (thread.progress & TMPFS_HELD) unlock_tmpfs(*descriptor_left(requests, call, 0));
      thread.progress = 0;
      return false;
    }
    thread.progress |= TMPFS_HELD << i;
  }
  if (call.function == wasi::FN_fd_fdstat_set_flags) return true;
  for (u32 i = 0; i < count; i++) {
    if (!(thread.progress & TMPFS_HELD << i)) continue;
    TmpfsDescriptor &descriptor = *descriptor_left(requests, call, i);
    descriptor.moved = load_relaxed_device(&descriptor.target);
    // Release: pairs with the acquire in `tmpfs_of`.
    store_release_device(&descriptor.target, (u64)0);
  }
  return true;
}

// After the answer to such a call: descriptors are what the host has made of them.
GPU_RUN_NOINLINE void come_back_to_tmpfs(Requests &requests, Thread &thread, const Call &call, u32 error) {
  const u64 progress = thread.progress;
  if (!(progress & (TMPFS_HELD | TMPFS_HELD << 1))) return;
  thread.progress &= ~(TMPFS_HELD | TMPFS_HELD << 1);
  TmpfsDescriptor *from = progress & TMPFS_HELD ? descriptor_left(requests, call, 0) : nullptr;
  TmpfsDescriptor *to = progress & TMPFS_HELD << 1 ? descriptor_left(requests, call, 1) : nullptr;
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

// A new descriptor. Gives false if the thread must come again.
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
    // Unless another thread has closed what it does not have, the descriptor keeps the file.
    if (inode.generation == (u32)(target >> 32)) resize(launch, fs, inode, 0);
    tmpfs::end_write(inode);
  }
  descriptor.position = 0;
  store_release_device(&descriptor.target, target & ~((u64)TMPFS_Truncate << TMPFS_FlagShift));
  unlock_tmpfs(descriptor);
  return true;
}

// The inode is gone. Gives false if the thread must come again.
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
  // Release: pairs with the acquire in `Loan::take` of src/wasi/scratch/loan.rs: the host may give it out again.
  store_release_system(&attributes.generation, ++inode.generation);
  tmpfs::end_write(inode);
  return true;
}

// Does what an answer says of a file of the file system. Gives false if the thread must come again.
GPU_RUN_NOINLINE bool finish_tmpfs(const Launch &launch, Thread &thread, RequestSlot &slot) {
  Requests &requests = *launch.requests;
  if (!requests.tmpfs || (slot.note != NOTE_Tmpfs && slot.note != NOTE_Free)) return true;
  const u64 target = join(slot.file, slot.generation);
  bool done = slot.note == NOTE_Free
                  ? free_tmpfs(*requests.tmpfs, thread, target)
                  : open_tmpfs(launch, *requests.tmpfs, thread, linear::load<u32>(slot.results, 0), target);
  // The slot is the device's now. An answer in pieces is looked at for each.
  if (done) slot.note = NOTE_None;
  return done;
}

}  // namespace requests
}  // namespace gpu_run
