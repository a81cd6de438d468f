// What requests to the host and the files behind them share with the host: a part of layout.h.
#pragma once

#include "platform.h"

namespace gpu_run {

// Requests to the host: see rpc/mailbox.h for how both sides use these.
constexpr u32 REQUEST_SLOTS = 512;
constexpr u32 REQUEST_BYTES = 4096;
constexpr u32 REQUEST_RESULTS = 64;
enum RequestKind : u32 {
  REQUEST_Call = 1,  // a call, with the first piece of its input
  REQUEST_More = 2,  // the next piece of its input
  REQUEST_Next = 3,  // asks for the next piece of the response's data
};

// Words of a message to the host: in the upper half of each the message's number, in the lower one what it says.
enum MailWord : u32 {
  MESSAGE_Head = 0,  // the function, and flags
  MESSAGE_Thread = 1,
  MESSAGE_Capacity = 2,  // bytes that the response's data may have
  MESSAGE_Total = 3,  // bytes of the call's input in all messages
  MESSAGE_Units = 4,  // units of 4 bytes of its wasm arguments
};
constexpr u32 MESSAGE_WORDS = 16;
constexpr u32 MESSAGE_ARGUMENTS = MESSAGE_WORDS - MESSAGE_Units;  // most units of arguments
// The word of Process::child, if the head has MESSAGE_OF_CHILD. Only calls of host functions, which no batch has, need it for
// an argument.
constexpr u32 MESSAGE_CHILD = MESSAGE_WORDS - 1;
// Of the head: the function is below these.
constexpr u32 MESSAGE_KIND = 16;  // where RequestKind begins
constexpr u32 MESSAGE_DATA = 1u << 24;  // there is a piece of input in the slot
constexpr u32 MESSAGE_RESULTS = 1u << 25;  // the results are wanted in the slot, however short they are
constexpr u32 MESSAGE_OF_CHILD = 1u << 26;  // the call is one of a process that another has started
struct alignas(16) RequestMessage {
  u64 words[MESSAGE_WORDS];
};

// Words of a response, like those of a message: the head, and results of up to 12 bytes.
constexpr u32 RESPONSE_WORDS = 4;
constexpr u32 RESPONSE_RESULTS = RESPONSE_WORDS - 1;
// Of the head.
constexpr u32 RESPONSE_ERRNO = 0xffff;
constexpr u32 RESPONSE_COUNT = 16;  // where the count of words after the head begins
constexpr u32 RESPONSE_SLOT = 1u << 24;  // all but the errno is in the slot
struct alignas(16) Response {
  u64 words[RESPONSE_WORDS];
};

// Pinned: what is too long for words. Whose it is, the heads say.
struct RequestSlot {
  u32 len;  // bytes of `data` in this message or response
  u32 total;  // bytes of the response's data in all of its pieces; the host's, as what follows but for input
  u32 note;  // FileNote: what a device may do with the file
  u32 file;  // of NOTE_Tmpfs and NOTE_Free: the halves of TmpfsDescriptor::target
  u32 generation;
  u32 pad[11];
  u8 results[REQUEST_RESULTS];  // one after the other, the first not aligned to its own size
  u8 data[REQUEST_BYTES];
};

// Strings that end with 0, one after the other.
struct Strings {
  const u8 *bytes;
  u32 len;
  u32 count;
};

// What a response says of a file.
enum FileNote : u32 {
  NOTE_None = 0,
  NOTE_Position = 1,  // of path_open: open for reading only; the device may hold its position
  NOTE_Keep = 2,  // of fd_pread: the device may keep the data, as the process does not write the file
  NOTE_Changes = 3,  // of path_open: what devices have kept may be out of date from now on
  NOTE_Tmpfs = 4,  // of path_open: a file whose data the device holds
  NOTE_Free = 5,  // of any call, also one that failed: a file whose data the device holds is gone
};
// Descriptors whose positions the device may hold, and most bytes that it reads ahead of each.
constexpr u32 FILE_DESCRIPTORS = 256;
constexpr u32 FILE_BLOCK = 16384;
// File::lock while a lane works on it, or a thread waits for the host with it.
enum FileLock : u32 {
  FILE_Used = 1,
  FILE_Closes = 2,  // by `fd_close`: the number may already be another file's
};
// A descriptor of a file that is open for reading only: see rpc/file_cache.h.
struct File {
  u32 lock;  // a FileLock, or 0
  u32 open;  // 1: its position is here, 0: it is the host's matter
  u64 position;
  u64 next;  // where the last read ended
  u64 start;  // offset of the block's first byte
  u32 len;  // bytes in the block
  u32 window;  // bytes that were to be read ahead the last time
  u32 epoch;  // Requests::epoch before the host was asked for the block
  u32 wanted;  // bytes that the read takes that the host was asked for
  u64 filled;  // when, on the device's clock
  u64 pad;
};

// A file system whose data the device holds: see rpc/tmpfs.h. Names, directories and links are the host's.
constexpr u32 TMPFS_BLOCK = 4096;  // bytes
constexpr u32 TMPFS_ENTRIES = TMPFS_BLOCK / sizeof(u32);  // of an index block
constexpr u32 TMPFS_DESCRIPTORS = 65536;
constexpr u32 TMPFS_DIRECT = 16;  // pages of a file that need no tree
// A file.
struct TmpfsInode {
  u32 lock;  // TMPFS_WRITER, or the number of readers
  u32 generation;  // how often the inode was freed
  u64 size;
  u64 written;  // when its data or size was changed last, as Launch::wall_start counts; 0: not yet
  u64 wanted;  // until then, on the device's clock, readers let a writer come first
  u32 root;  // 1 + the block of the root of its tree, or 0
  u32 levels;  // of index blocks in the tree
  u32 next;  // block that is looked at first for a new one
  u32 direct[TMPFS_DIRECT];  // 1 + the block of each of the first pages, or 0
  u32 pad[5];
};
// A descriptor by its number.
struct TmpfsDescriptor {
  u64 target;  // 0: no file of it. Else 1 + the inode, TmpfsFlags from TMPFS_FlagShift on, above 32 bits its generation
  u64 position;
  u64 moved;  // the target, while the host is asked to close or move the descriptor
  u32 lock;  // 1 while a lane works on it, or a thread waits for the host with it
  u32 pad;
};
constexpr u32 TMPFS_FlagShift = 24;
enum TmpfsFlag : u32 {
  TMPFS_Read = 1,
  TMPFS_Write = 2,
  TMPFS_Append = 4,
  TMPFS_Truncate = 8,  // of a response: the file is cut to 0 bytes first
};
// Pinned: what host and device tell each other of a file. Each side writes its own line; times are in ns since
// 1970.
struct TmpfsAttributes {
  u64 number;  // the host's, as what follows
  u64 links;
  u64 accessed;
  u64 modified;  // if `written` is still what it was then
  u64 changed;
  u64 written_then;
  u64 pad[2];
  u64 size;  // the device's, as what follows
  u64 written;
  u32 generation;
  u32 pad2[11];
};
struct Tmpfs {
  u8 *blocks;
  u32 *taken;  // a bit for each block
  TmpfsInode *inodes;
  TmpfsDescriptor *descriptors;  // TMPFS_DESCRIPTORS of them
  TmpfsAttributes *attributes;  // pinned; one for each inode
  u64 device;  // number of the file system, for calls that ask
  u32 words;  // of `taken`; bits after the last block are set
  u32 free_data;  // blocks that may still be taken for data
  u32 free_index;  // and for trees, before those for data are
  u32 most_index;  // what that was at most
  u32 cursor;  // word of `taken` where a lane last found a block
  u32 pad;
};

// Descriptors that may be streams.
constexpr u32 STREAM_DESCRIPTORS = 32;

// Which slots are taken, of threads that share them. The processes of a batch do too.
struct SlotUse {
  u32 first_look;  // cycles from a message to a lane's first look for the response: see rpc/mailbox.h
  u32 pad[3];
  u32 taken[REQUEST_SLOTS / 32];  // a bit for each slot: a thread has it
  u32 abandoned[REQUEST_SLOTS / 32];  // the same: its thread is gone, and the host has still to answer
  u32 messages[REQUEST_SLOTS];  // number of the last message in each slot, for the thread that has it
};

struct Requests {
  RequestMessage *sent;  // pinned, the device's: the last message of each slot
  Response *answered;  // pinned, the host's: the last response in each slot
  RequestSlot *slots;  // pinned
  u32 *output_errors;  // pinned: errno of stdout and stderr, once the host could not write them
  Strings args;
  Strings environment;
  u64 bell;  // on the CPU, a function of the host to be called with `bell_context` after a message; or 0
  u64 bell_context;
  u32 seed[8];  // of the random bytes
  u32 run;  // number of this run of the store
  u32 epoch;  // goes up when blocks that are kept may be out of date
  File *files;  // FILE_DESCRIPTORS of them; null: the host has all positions
  u8 *blocks;  // FILE_BLOCK bytes for each
  Tmpfs *tmpfs;  // null: the device holds no files
  SlotUse *slot_use;
  u32 own_slots;  // 1: there are no more threads than slots, so that each has the slot of its number
  u32 process;  // as Launch::process
  u32 streams[STREAM_DESCRIPTORS];  // for each descriptor a StreamKind
  // Of a process of a batch: its standard input, which the device has while descriptor 0 is that; and a number that keeps
  // its random bytes apart from those of others.
  const u8 *input;  // null: the host has it
  u64 input_len;
  u64 input_at;  // bytes that it has read
  u32 nonce;
  u32 apart;  // 1: each process of a batch has another nonce
  u64 *input_position;  // `input_at` of the process whose input it is
  u32 child;  // as Process::child
  u32 asked;  // 1: the process has made a request of the host
};

// What a process asks for that starts another one, in its memory: pointers and numbers of 32 bits.
struct SpawnRequest {
  u32 program;  // the name, and its bytes
  u32 program_len;
  u32 args;  // strings, each with a 0 at its end, their bytes and how many they are
  u32 args_len;
  u32 args_count;
  u32 environment;  // the same of entries NAME=value; a count of ~0: those of the parent
  u32 environment_len;
  u32 environment_count;
  u32 streams[3];  // a SpawnStream or a handle of an end of a pipe; of SPAWN_Pipe then the handle of the parent's end
  u32 pid;  // of the process that was started
};
enum SpawnStream : u32 {
  SPAWN_Inherit = 0,
  SPAWN_Null = 1,
  SPAWN_Pipe = 2,
  SPAWN_Handles = 16,  // handles begin here
};

}  // namespace gpu_run
