// Made from bytecode/src/wasi.rs by `cargo run -p gpu-run-bytecode --bin isa-gen`.
#pragma once

namespace gpu_run {
namespace wasi {

// Functions of wasi_snapshot_preview1, then those of gpu_run_net_v1, gpu_run_host_v1, gpu_run_process_v1 and gpu_run_file_v1.
enum Function : u32 {
  FN_args_get = 0,  // pointers to the arguments, and their bytes
  FN_args_sizes_get = 1,  // number of arguments, and of their bytes
  FN_environ_get = 2,  // pointers to the environment's entries, and their bytes
  FN_environ_sizes_get = 3,  // number of the environment's entries, and of their bytes
  FN_clock_res_get = 4,  // a clock's resolution in nanoseconds
  FN_clock_time_get = 5,  // a clock's time in nanoseconds
  FN_fd_advise = 6,  // advice on how a range of a file will be used
  FN_fd_allocate = 7,  // space for a range of a file
  FN_fd_close = 8,  // closes a descriptor
  FN_fd_datasync = 9,  // a file's data to the disk
  FN_fd_fdstat_get = 10,  // a descriptor's type, flags and rights
  FN_fd_fdstat_set_flags = 11,  // sets a descriptor's flags
  FN_fd_fdstat_set_rights = 12,  // drops rights of a descriptor
  FN_fd_filestat_get = 13,  // an open file's attributes
  FN_fd_filestat_set_size = 14,  // cuts or extends a file
  FN_fd_filestat_set_times = 15,  // sets an open file's times
  FN_fd_pread = 16,  // reads at an offset
  FN_fd_prestat_get = 17,  // what a preopened descriptor is
  FN_fd_prestat_dir_name = 18,  // a preopened directory's name
  FN_fd_pwrite = 19,  // writes at an offset
  FN_fd_read = 20,  // reads
  FN_fd_readdir = 21,  // reads a directory's entries from a cookie on
  FN_fd_renumber = 22,  // moves a descriptor to the place of another
  FN_fd_seek = 23,  // moves a file's offset
  FN_fd_sync = 24,  // a file's data and attributes to the disk
  FN_fd_tell = 25,  // a file's offset
  FN_fd_write = 26,  // writes
  FN_path_create_directory = 27,  // makes a directory
  FN_path_filestat_get = 28,  // a file's attributes
  FN_path_filestat_set_times = 29,  // sets a file's times
  FN_path_link = 30,  // makes a hard link
  FN_path_open = 31,  // opens a file or directory
  FN_path_readlink = 32,  // what a symbolic link holds
  FN_path_remove_directory = 33,  // removes an empty directory
  FN_path_rename = 34,  // renames a file or directory
  FN_path_symlink = 35,  // makes a symbolic link
  FN_path_unlink_file = 36,  // removes a file
  FN_poll_oneoff = 37,  // waits for the first of several events
  FN_proc_exit = 38,  // ends the process with an exit code
  FN_proc_raise = 39,  // sends a signal to the process
  FN_sched_yield = 40,  // lets other threads run
  FN_random_get = 41,  // fills bytes at random
  FN_sock_accept = 42,  // accepts a connection
  FN_sock_recv = 43,  // receives from a socket
  FN_sock_send = 44,  // sends to a socket
  FN_sock_shutdown = 45,  // shuts a socket down
  FN_resolve = 46,  // addresses of a name: text, a line each, and its bytes
  FN_tcp_connect = 47,  // connects to an address, in so many nanoseconds; 0: in any time
  FN_tcp_address = 48,  // a connection's own address (0), or its peer's (1): text, and its bytes
  FN_tcp_duplicate = 49,  // another descriptor of a connection
  FN_tcp_get = 50,  // an option of a connection: see SocketOption
  FN_tcp_set = 51,  // sets an option of a connection
  FN_host_call = 52,  // calls a host function: its number, a step, arguments
  FN_host_send = 53,  // bytes of memory that a host function reads
  FN_host_receive = 54,  // bytes of memory that a host function writes
  FN_host_word = 55,  // the word beside the last status
  FN_process_spawn = 56,  // starts a process: see SpawnRequest in kernel/rpc/layout.h
  FN_process_wait = 57,  // waits for a child's end: flag 1 does not wait; its kind and value
  FN_process_kill = 58,  // ends a child
  FN_process_id = 59,  // the process's own number
  FN_pipe_read = 60,  // reads from a pipe: handle, bytes; how many there were
  FN_pipe_write = 61,  // writes to a pipe: handle, bytes; how many it took
  FN_pipe_close = 62,  // closes an end of a pipe
  FN_file_begin = 63,  // begins to read, write or sync a file: see FileRequest
};

// What a parameter is, and what its pointer points to. 0 is none.
enum Param : u32 {
  PARAM_None = 0,
  PARAM_Pointer = 1,
  PARAM_Value32 = 2,
  PARAM_Value64 = 3,
  PARAM_Result24_8 = 4,
  PARAM_Result64_8 = 5,
  PARAM_OutVec = 6,
  PARAM_Result4_4 = 7,
  PARAM_Result8_4 = 8,
  PARAM_Out = 9,
  PARAM_InVec = 10,
  PARAM_Result8_8 = 11,
  PARAM_In = 12,
  PARAM_Subscriptions = 13,
  PARAM_Events = 14,
  PARAM_Result2_2 = 15,
};

constexpr u32 PARAM_BITS = 4;
constexpr u32 SUBSCRIPTION_BYTES = 48;
constexpr u32 EVENT_BYTES = 32;

// The parameters of each function, the first one lowest.
constexpr u64 PARAMS[] = {
  0x11,  // args_get
  0x11,  // args_sizes_get
  0x11,  // environ_get
  0x11,  // environ_sizes_get
  0x12,  // clock_res_get
  0x132,  // clock_time_get
  0x2332,  // fd_advise
  0x332,  // fd_allocate
  0x2,  // fd_close
  0x2,  // fd_datasync
  0x42,  // fd_fdstat_get
  0x22,  // fd_fdstat_set_flags
  0x332,  // fd_fdstat_set_rights
  0x52,  // fd_filestat_get
  0x32,  // fd_filestat_set_size
  0x2332,  // fd_filestat_set_times
  0x7362,  // fd_pread
  0x82,  // fd_prestat_get
  0x92,  // fd_prestat_dir_name
  0x73a2,  // fd_pwrite
  0x762,  // fd_read
  0x7392,  // fd_readdir
  0x22,  // fd_renumber
  0xb232,  // fd_seek
  0x2,  // fd_sync
  0xb2,  // fd_tell
  0x7a2,  // fd_write
  0xc2,  // path_create_directory
  0x5c22,  // path_filestat_get
  0x233c22,  // path_filestat_set_times
  0xc2c22,  // path_link
  0x72332c22,  // path_open
  0x79c2,  // path_readlink
  0xc2,  // path_remove_directory
  0xc2c2,  // path_rename
  0xc2c,  // path_symlink
  0xc2,  // path_unlink_file
  0x72ed,  // poll_oneoff
  0x2,  // proc_exit
  0x2,  // proc_raise
  0x0,  // sched_yield
  0x21,  // random_get
  0x722,  // sock_accept
  0xf7262,  // sock_recv
  0x72a2,  // sock_send
  0x22,  // sock_shutdown
  0x79c,  // resolve
  0x73c,  // tcp_connect
  0x7922,  // tcp_address
  0x72,  // tcp_duplicate
  0xb22,  // tcp_get
  0x322,  // tcp_set
  0x3333322,  // host_call
  0xc,  // host_send
  0x9,  // host_receive
  0x0,  // host_word
  0x1,  // process_spawn
  0x122,  // process_wait
  0x2,  // process_kill
  0x1,  // process_id
  0x1212,  // pipe_read
  0x1212,  // pipe_write
  0x2,  // pipe_close
  0x7c2322,  // file_begin
};

// Bytes and alignment of a result; 0 for other kinds.
constexpr u8 RESULT_BYTES[] = {0, 0, 0, 0, 24, 64, 0, 4, 8, 0, 0, 8, 0, 0, 0, 2};
constexpr u8 RESULT_ALIGN[] = {0, 0, 0, 0, 8, 8, 0, 4, 4, 0, 0, 8, 0, 0, 0, 2};

// Most wasm arguments of a function.
constexpr u32 MOST_ARGUMENTS = 9;

}  // namespace wasi
}  // namespace gpu_run
