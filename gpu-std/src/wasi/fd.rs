//! Descriptors: what all of them have.

use std::mem::MaybeUninit;

use super::errno::{Errno, check};

/// Bytes that a call fills or writes.
#[repr(C)]
pub struct Buffer {
    pub address: *const u8,
    pub length: usize,
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    safe fn fd_close(fd: u32) -> i32;
    fn fd_read(fd: u32, buffers: *const Buffer, count: usize, read: *mut usize) -> i32;
    fn fd_write(fd: u32, buffers: *const Buffer, count: usize, written: *mut usize) -> i32;
}

/// An open descriptor, closed when it is dropped.
#[derive(Debug)]
pub struct Fd(pub u32);

impl Drop for Fd {
    fn drop(&mut self) {
        // As in std: no caller could be told of an error.
        fd_close(self.0);
    }
}

impl Fd {
    pub fn read(&self, room: &mut [MaybeUninit<u8>]) -> Result<usize, Errno> {
        let buffer = Buffer {
            address: room.as_ptr().cast(),
            length: room.len(),
        };
        let mut read = 0;
        // SAFETY: the buffer is borrowed for writing, and the call writes to it and to `read` only.
        check(unsafe { fd_read(self.0, &buffer, 1, &mut read) })?;
        Ok(read)
    }

    pub fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let buffer = Buffer {
            address: bytes.as_ptr(),
            length: bytes.len(),
        };
        let mut written = 0;
        // SAFETY: the call only reads the bytes, and writes to `written`.
        check(unsafe { fd_write(self.0, &buffer, 1, &mut written) })?;
        Ok(written)
    }
}

/// `bytes` as a buffer to read into.
pub fn uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    let length = bytes.len();
    // SAFETY: the same bytes. Only whole reads go through the result, which leave every byte initialized.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), length) }
}
