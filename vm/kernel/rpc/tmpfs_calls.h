// Calls about files whose data the device holds that need no host: see rpc/tmpfs.h.
#pragma once

#include "rpc/file_cache.h"
#include "rpc/tmpfs_blocks.h"

namespace gpu_run {
namespace requests {

// Offsets of files are signed.
constexpr u64 TMPFS_MOST = 0x7fffffffffffffff;

GPU_RUN_INLINE u32 inode_of(u64 target) { return ((u32)target & ((1u << TMPFS_FlagShift) - 1)) - 1; }
GPU_RUN_INLINE bool opened_for(u64 target, TmpfsFlag flag) { return ((u32)target >> TMPFS_FlagShift & flag) != 0; }

// The descriptor, if it is or was just now a file of the file system.
GPU_RUN_INLINE TmpfsDescriptor *tmpfs_of(const Requests &requests, u32 descriptor) {
  if (!requests.tmpfs || descriptor >= TMPFS_DESCRIPTORS) return nullptr;
  TmpfsDescriptor *found = &requests.tmpfs->descriptors[descriptor];
  // Acquire: pairs with the release in `leave_tmpfs`, so that a thread that finds no target finds the lock taken.
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
  bool writes;  // the inode is locked for a writer, else for readers
  u64 target;
  TmpfsInode *inode;

  GPU_RUN_INLINE void end() const {
    writes ? tmpfs::end_write(*inode) : tmpfs::end_read(*inode);
    if (offset) unlock_tmpfs(descriptor);
  }
};

// Locks the inode of a descriptor, and before that the descriptor, if `held` says so. `needs` is what the file must be
// open for, or 0; if it is not, the errno is `refusal`. If it returns false, `otherwise` says how the call goes on.
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
  // Relaxed: a request in which the host looks at it is a release, or has a fence in front (`queue`).
  store_relaxed_system(&fs.attributes[&inode - fs.inodes].size, size);
}

// Notes that the data or the size has changed. Each time is later than the one before.
GPU_RUN_INLINE void touch(const Launch &launch, Tmpfs &fs, TmpfsInode &inode) {
  u64 now = clock_time(launch, CLOCK_Realtime);
  inode.written = now > inode.written ? now : inode.written + 1;
  store_relaxed_system(&fs.attributes[&inode - fs.inodes].written, inode.written);
}

// --- Data -------------------------------------------------------------------------------------

// A read or write under way. It is here, and not in registers: what is live in a call adds to what the interpreter's
// loop holds, and would spill it. So functions that work on it keep nothing of it across a call.
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
    if (transfer.buffer == used_buffers(call.arg(2))) return false;
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
    // What fitted is written, and the next write reports the rest.
    transfer.error = ERRNO_Success;
  }
  return end_transfer(transfer);
}

// Cuts a file, or makes it longer by a hole. The caller has the inode to write.
GPU_RUN_NOINLINE void resize(const Launch &launch, Tmpfs &fs, TmpfsInode &inode, u64 size) {
  if (size < inode.size) {
    tmpfs::cut_blocks(fs, inode, size / TMPFS_BLOCK + (size % TMPFS_BLOCK != 0));
    // What lay after the end must be 0 if the file grows again.
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

// The errno for an argument of 8 bits that is none of `count` values.
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
  // Acquire: pairs with the release in `publish` of src/wasi/tmpfs/device_lease.rs. A lane that sees the new value sees
  // the time that belongs to it.
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

}  // namespace requests
}  // namespace gpu_run
