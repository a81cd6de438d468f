//! The functions of WASI that are used for files and surroundings, with the numbers of their interface.

use std::mem::ManuallyDrop;

use super::errno::{Errno, check};
use super::fd::Fd;

/// `prestat`, of a directory: no other kind exists.
#[repr(C)]
#[derive(Default)]
pub struct Prestat {
    pub tag: u8,
    pub name_length: usize,
}

/// `fdstat`
#[repr(C)]
#[derive(Default)]
pub struct Fdstat {
    pub filetype: u8,
    pub flags: u16,
    pub rights: [u64; 2],
}

/// `filestat`. Times are in nanoseconds since 1970.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct Filestat {
    pub device: u64,
    pub inode: u64,
    pub filetype: u8,
    pub links: u64,
    pub size: u64,
    pub accessed: u64,
    pub modified: u64,
    pub changed: u64,
}

/// `dirent`, which the name follows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dirent {
    pub next: u64,
    pub inode: u64,
    pub name_length: u32,
    pub filetype: u8,
}

pub mod filetype {
    pub const UNKNOWN: u8 = 0;
    pub const CHARACTER_DEVICE: u8 = 2;
    pub const DIRECTORY: u8 = 3;
    pub const REGULAR_FILE: u8 = 4;
    pub const SYMBOLIC_LINK: u8 = 7;
}

/// `lookupflags`: the last component may be a link.
pub const FOLLOW: u32 = 1;
/// `fdflags`
pub const APPEND: u32 = 1;

pub mod oflags {
    pub const CREAT: u32 = 1;
    pub const DIRECTORY: u32 = 2;
    pub const EXCL: u32 = 4;
    pub const TRUNC: u32 = 8;
}

pub mod rights {
    /// Of what is open to read: `fd_read`, `fd_readdir`.
    pub const READ: u64 = 1 << 1 | 1 << 14;
    /// Of what is open to write: `fd_datasync`, `fd_write`, `fd_allocate`, its size.
    pub const WRITE: u64 = 1 | 1 << 6 | 1 << 8 | 1 << 22;
    /// Of all: seek, flags, sync, tell, advice, attributes, times, polling.
    pub const ANY: u64 = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 21 | 1 << 23 | 1 << 27;
}

pub mod fstflags {
    pub const ACCESSED: u32 = 1;
    pub const MODIFIED: u32 = 4;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    pub fn args_get(pointers: *mut *const u8, bytes: *mut u8) -> i32;
    pub fn args_sizes_get(count: *mut usize, bytes: *mut usize) -> i32;
    pub fn environ_get(pointers: *mut *const u8, bytes: *mut u8) -> i32;
    pub fn environ_sizes_get(count: *mut usize, bytes: *mut usize) -> i32;
    pub safe fn fd_datasync(fd: u32) -> i32;
    pub fn fd_fdstat_get(fd: u32, stat: *mut Fdstat) -> i32;
    pub fn fd_filestat_get(fd: u32, stat: *mut Filestat) -> i32;
    pub safe fn fd_filestat_set_size(fd: u32, size: u64) -> i32;
    pub safe fn fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32) -> i32;
    pub fn fd_prestat_get(fd: u32, prestat: *mut Prestat) -> i32;
    pub fn fd_prestat_dir_name(fd: u32, name: *mut u8, length: usize) -> i32;
    pub fn fd_readdir(fd: u32, bytes: *mut u8, length: usize, cookie: u64, filled: *mut usize) -> i32;
    pub fn fd_seek(fd: u32, offset: i64, whence: u32, position: *mut u64) -> i32;
    pub safe fn fd_sync(fd: u32) -> i32;
    pub fn fd_tell(fd: u32, position: *mut u64) -> i32;
    pub fn path_create_directory(fd: u32, path: *const u8, length: usize) -> i32;
    pub fn path_filestat_get(fd: u32, flags: u32, path: *const u8, length: usize, stat: *mut Filestat) -> i32;
    pub fn path_link(
        from: u32,
        flags: u32,
        path: *const u8,
        length: usize,
        to: u32,
        link: *const u8,
        link_length: usize,
    ) -> i32;
    pub fn path_open(
        fd: u32,
        flags: u32,
        path: *const u8,
        length: usize,
        oflags: u32,
        rights: u64,
        inherited: u64,
        fdflags: u32,
        opened: *mut u32,
    ) -> i32;
    pub fn path_readlink(
        fd: u32,
        path: *const u8,
        length: usize,
        bytes: *mut u8,
        room: usize,
        filled: *mut usize,
    ) -> i32;
    pub fn path_remove_directory(fd: u32, path: *const u8, length: usize) -> i32;
    pub fn path_rename(from: u32, path: *const u8, length: usize, to: u32, new: *const u8, new_length: usize) -> i32;
    pub fn path_symlink(content: *const u8, content_length: usize, fd: u32, link: *const u8, length: usize) -> i32;
    pub fn path_unlink_file(fd: u32, path: *const u8, length: usize) -> i32;
}

/// Whether a standard stream is a terminal.
pub fn is_terminal(stream: u32) -> bool {
    ManuallyDrop::new(Fd(stream)).is_terminal()
}

impl Fd {
    /// Attributes.
    pub fn stat(&self) -> Result<Filestat, Errno> {
        let mut stat = Filestat::default();
        // SAFETY: the call writes a whole `filestat`.
        check(unsafe { fd_filestat_get(self.0, &mut stat) })?;
        Ok(stat)
    }

    /// Whether it is a terminal: a character device without a position, as C libraries say.
    pub fn is_terminal(&self) -> bool {
        let mut stat = Fdstat::default();
        // SAFETY: the call writes a whole `fdstat`.
        let errno = unsafe { fd_fdstat_get(self.0, &mut stat) };
        let seek_or_tell = 1 << 2 | 1 << 5;
        errno == 0 && stat.filetype == filetype::CHARACTER_DEVICE && stat.rights[0] & seek_or_tell == 0
    }
}
