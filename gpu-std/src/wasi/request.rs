//! Reads and writes of files at an offset: begun and not waited for, by the import of `gpu_run_file_v1`, or by WASI's calls.

use super::errno::{Errno, check};
use super::fd::{Buffer, Fd, uninit};

const AGAIN: u16 = 6;
const NOTSUP: u16 = 58;
const SPIPE: u16 = 70;

/// Bytes that one request reads or writes at most.
const MOST_READ: usize = 1 << 20;
const MOST_WRITTEN: usize = 1 << 16;

#[link(wasm_import_module = "gpu_run_file_v1")]
unsafe extern "C" {
    #[link_name = "begin"]
    fn file_begin(
        fd: u32,
        what: u32,
        offset: u64,
        length: usize,
        bytes: *const u8,
        bytes_length: usize,
        request: *mut u32,
    ) -> i32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn fd_pread(fd: u32, buffers: *const Buffer, count: usize, offset: u64, read: *mut usize) -> i32;
    fn fd_pwrite(fd: u32, buffers: *const Buffer, count: usize, offset: u64, written: *mut usize) -> i32;
    safe fn fd_sync(fd: u32) -> i32;
}

/// What is to be done with a file.
pub enum What<'a> {
    Read(&'a mut [u8]),
    Write(&'a [u8]),
    Sync,
}

impl What<'_> {
    /// Begins it, or a part of it. `None` if the call that waits is to be made in its place: the device has the file itself, it is
    /// no file of a disk, or too much has been begun.
    pub fn begin(&self, fd: u32, offset: u64) -> Result<Option<Fd>, Errno> {
        let (what, length, bytes) = match self {
            What::Read(bytes) => (0, bytes.len().min(MOST_READ), &[][..]),
            What::Write(bytes) => (1, 0, &bytes[..bytes.len().min(MOST_WRITTEN)]),
            What::Sync => (2, 0, &[][..]),
        };
        let mut request = 0;
        // SAFETY: the call only reads the bytes, and writes to `request`.
        let errno = unsafe { file_begin(fd, what, offset, length, bytes.as_ptr(), bytes.len(), &mut request) };
        match check(errno) {
            Ok(()) => Ok(Some(Fd(request))),
            Err(Errno(AGAIN | NOTSUP | SPIPE)) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// The end of a request for it: how many bytes were read or written. `EAGAIN` until it is done.
    pub fn end(&mut self, request: &Fd) -> Result<usize, Errno> {
        match self {
            What::Read(bytes) => request.read(uninit(bytes)),
            What::Write(_) => {
                let mut written = [0; 4];
                request.read(uninit(&mut written))?;
                Ok(u32::from_le_bytes(written) as usize)
            }
            What::Sync => request.read(&mut []),
        }
    }

    /// Does it, and waits.
    pub fn wait(&mut self, fd: u32, offset: u64) -> Result<usize, Errno> {
        let mut count = 0;
        let errno = match self {
            What::Read(bytes) => {
                let buffer = Buffer {
                    address: bytes.as_mut_ptr(),
                    length: bytes.len(),
                };
                // SAFETY: the buffer is borrowed for writing, and the call writes to it and to `count` only.
                unsafe { fd_pread(fd, &buffer, 1, offset, &mut count) }
            }
            What::Write(bytes) => {
                let buffer = Buffer {
                    address: bytes.as_ptr(),
                    length: bytes.len(),
                };
                // SAFETY: the call only reads the bytes, and writes to `count`.
                unsafe { fd_pwrite(fd, &buffer, 1, offset, &mut count) }
            }
            What::Sync => fd_sync(fd),
        };
        check(errno)?;
        Ok(count)
    }
}
