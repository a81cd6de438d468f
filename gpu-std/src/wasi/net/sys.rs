//! The functions that are used for connections, with the numbers of their interface.

use crate::wasi::fd::Buffer;

/// `fdflags`
pub const NONBLOCK: u32 = 1 << 2;
/// `riflags`
pub const PEEK: u32 = 1;
/// `sdflags`
pub const READ: u32 = 1;
pub const WRITE: u32 = 1 << 1;

/// Which address `tcp_address` tells.
pub const LOCAL: u32 = 0;
pub const PEER: u32 = 1;

/// What `tcp_get` and `tcp_set` mean.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum SocketOption {
    NoDelay = 0,
    /// Nanoseconds; 0: none.
    ReadTimeout = 1,
    WriteTimeout = 2,
    TimeToLive = 3,
    /// An errno, which is forgotten.
    Error = 4,
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    pub safe fn fd_fdstat_set_flags(fd: u32, flags: u32) -> i32;
    pub fn sock_recv(
        fd: u32,
        buffers: *const Buffer,
        count: usize,
        flags: u32,
        length: *mut usize,
        result_flags: *mut u16,
    ) -> i32;
    pub safe fn sock_shutdown(fd: u32, how: u32) -> i32;
}

#[link(wasm_import_module = "gpu_run_net_v1")]
unsafe extern "C" {
    pub fn resolve(name: *const u8, name_length: usize, text: *mut u8, room: usize, length: *mut usize) -> i32;
    pub fn tcp_connect(address: *const u8, address_length: usize, timeout: u64, fd: *mut u32) -> i32;
    pub fn tcp_address(fd: u32, which: u32, text: *mut u8, room: usize, length: *mut usize) -> i32;
    pub fn tcp_duplicate(fd: u32, duplicate: *mut u32) -> i32;
    pub fn tcp_get(fd: u32, option: u32, value: *mut u64) -> i32;
    pub safe fn tcp_set(fd: u32, option: u32, value: u64) -> i32;
}
