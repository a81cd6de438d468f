//! Open files: reading, writing, offsets, flags.
//!
//! The host keeps a file's offset. So threads that read or write through one descriptor at once do not
//! get, or overwrite, the same bytes.

use std::fs;
use std::io;
use std::sync::Mutex;

use cap_fs_ext::FileTypeExt;
use cap_std::fs::FileType;

use super::abi::{self, fdflags};
use super::args::{Args, Result, unless_ended};
use super::errno::Errno;
use super::place::Data;
use super::poll::{wait_readable, wait_writable};
use super::sharing::Share;
use super::stat::{Stat, Times};
use super::table::Descriptor;
use super::tmpfs::TmpfsFile;
use super::{Wasi, count, done, lock, with_data};
use crate::layout::FILE_DESCRIPTORS;
use crate::{CacheHint, CallingRun, HostReply};

/// Most bytes of one read. A guest that asks for more reads again.
const MAX_READ: usize = 64 << 20;

/// A zeroed buffer for a read.
pub fn buffer(capacity: usize) -> Vec<u8> {
    vec![0; capacity.min(MAX_READ)]
}

/// How a file was opened.
#[derive(Clone, Copy)]
pub struct Mode {
    pub read: bool,
    pub write: bool,
    /// By a preopened directory that is read-only.
    pub read_only: bool,
    /// Of `fdflags`.
    pub flags: u16,
}

/// An open file: regular, device or named pipe.
pub struct File {
    pub data: Data,
    pub mode: Mode,
    /// Neither a regular file nor a block device: reads and writes may wait. The host answers at once, whatever the
    /// guest has set.
    pub waits: bool,
    /// Of a regular file.
    share: Option<Share>,
    flags: Mutex<u16>,
}

impl File {
    /// Takes a file of a type that was opened with `mode`, all but its append flag. If it is regular, `share`
    /// says that it is open.
    pub fn new(file: fs::File, kind: FileType, mode: Mode, share: Option<Share>) -> io::Result<Self> {
        let waits = !kind.is_file() && !kind.is_block_device();
        if waits || mode.flags & fdflags::APPEND != 0 {
            set_host_flags(&file, mode.flags, waits)?;
        }
        Ok(File {
            data: Data::Host(file),
            mode,
            waits,
            share,
            flags: Mutex::new(mode.flags),
        })
    }

    /// Takes a file in memory.
    pub fn tmpfs(file: TmpfsFile, mode: Mode, share: Share) -> Self {
        File {
            data: Data::Tmpfs(file),
            mode,
            waits: false,
            share: Some(share),
            flags: Mutex::new(mode.flags),
        }
    }

    /// The `fdflags`.
    pub fn flags(&self) -> u16 {
        *lock(&self.flags)
    }

    fn set_flags(&self, new: u16) -> Result<()> {
        let mut flags = lock(&self.flags);
        let new = new | *flags & fdflags::AT_OPEN;
        if let Data::Host(file) = &self.data
            && new != *flags
        {
            set_host_flags(file, new, self.waits)?;
        }
        *flags = new;
        Ok(())
    }

    fn read(&self, capacity: usize) -> Result<Vec<u8>> {
        let mut bytes = buffer(capacity);
        let count = self.data.read(&mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Reads of a file that may wait. What comes when the run has ended is left to the next one.
    fn read_waiting(&self, run: CallingRun<'_>, capacity: usize) -> Result<Vec<u8>> {
        loop {
            match unless_ended(run, || self.read(capacity)) {
                Err(Errno::Again) if self.flags() & fdflags::NONBLOCK == 0 => self.wait(wait_readable)?,
                result => return result,
            }
        }
    }

    /// Writes to a file that may wait: all bytes, unless the guest has set that it does not wait. If it fails half way,
    /// the count tells how far it came.
    fn write_waiting(&self, bytes: &[u8]) -> Result<usize> {
        let mut written = 0;
        loop {
            let flags = self.flags();
            let waits = flags & fdflags::NONBLOCK == 0;
            match self.data.write(&bytes[written..], flags) {
                Err(Errno::Again) if waits => self.wait(wait_writable)?,
                Err(error) if written == 0 => return Err(error),
                Err(_) => return Ok(written),
                Ok(count) => {
                    written += count;
                    if count == 0 || written == bytes.len() || !waits {
                        return Ok(written);
                    }
                }
            }
        }
    }

    fn wait(&self, until: fn(&fs::File) -> Result<()>) -> Result<()> {
        match &self.data {
            Data::Host(file) => until(file),
            Data::Tmpfs(_) => Ok(()),
        }
    }

    fn read_at(&self, capacity: usize, offset: u64) -> Result<Vec<u8>> {
        let mut bytes = buffer(capacity);
        let count = self.data.read_at(&mut bytes, offset)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// The offset, which stays as it is.
    pub fn offset(&self) -> Result<u64> {
        self.data.offset()
    }

    pub fn stat(&self) -> Result<Stat> {
        self.data.stat()
    }

    pub fn set_times(&self, times: Times) -> Result<()> {
        self.data.set_times(times)
    }
}

/// Makes the host append, and answer at once, as `flags` say. With `at_once` it does the latter in any case. The host
/// then makes each append one step, so that those of several threads or processes never mix.
#[cfg(unix)]
fn set_host_flags(file: &fs::File, flags: u16, at_once: bool) -> io::Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let mut host = fcntl_getfl(file)?;
    host.set(OFlags::APPEND, flags & fdflags::APPEND != 0);
    host.set(OFlags::NONBLOCK, at_once || flags & fdflags::NONBLOCK != 0);
    Ok(fcntl_setfl(file, host)?)
}

#[cfg(not(unix))]
fn set_host_flags(_file: &fs::File, flags: u16, _at_once: bool) -> io::Result<()> {
    match flags & fdflags::APPEND {
        0 => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(unix)]
use std::os::unix::fs::FileExt;

#[cfg(unix)]
pub fn read_at(file: &fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

#[cfg(unix)]
pub fn write_at(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

#[cfg(windows)]
pub fn read_at(file: &fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

#[cfg(windows)]
pub fn write_at(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}

impl Wasi {
    /// See [`Services::positions`](crate::Services::positions): those that a device has a place for.
    pub(super) fn positions(&self) -> Vec<(u32, u64)> {
        let position = |fd| match &*self.table.get(fd).ok()? {
            Descriptor::File(file) if self.is_read_only(file) => Some((fd, file.offset().ok()?)),
            _ => None,
        };
        (0..FILE_DESCRIPTORS as u32).filter_map(position).collect()
    }

    /// Whether a device may hold a file's position: what `path_open` says of a new one.
    fn is_read_only(&self, file: &File) -> bool {
        let own = match &file.data {
            // Files of the kernel have no size; see `open_host`.
            Data::Host(file) => file.metadata().is_ok_and(|metadata| metadata.len() > 0),
            // Devices have those of this file system.
            Data::Tmpfs(file) => !self.is_in_memory(file),
        };
        own && file.share.is_some() && !file.mode.write
    }

    pub(super) fn fd_read(&self, args: &mut Args<'_>, thread: u32) -> Result<HostReply> {
        let bytes = match &*self.table.get(args.u32()?)? {
            Descriptor::File(file) if file.waits => file.read_waiting(args.run, args.capacity)?,
            Descriptor::File(file) => args.unless_ended(|| file.read(args.capacity))?,
            Descriptor::Stdin(stdin) => stdin.read(args.run, args.capacity, thread)?,
            Descriptor::Connection(connection) => connection.receive(args.run, args.capacity, 0)?,
            Descriptor::Request(request) => request.read(args.capacity)?,
            _ => return Err(Errno::Badf),
        };
        Ok(with_data(bytes))
    }

    pub(super) fn fd_pread(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        args.skip()?;
        args.skip()?;
        let offset = args.u64()?;
        match &*descriptor {
            Descriptor::File(file) => {
                // Before the data is read: a call that opens the file for writing meanwhile says so then.
                let note = file.share.as_ref().map_or(CacheHint::None, Share::note);
                let reply = with_data(file.read_at(args.capacity, offset)?);
                Ok(HostReply { note, ..reply })
            }
            Descriptor::Stdin(_) | Descriptor::Connection(_) => Err(Errno::Spipe),
            _ => Err(Errno::Badf),
        }
    }

    pub(super) fn fd_write(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let bytes = args.rest();
        let written = match &*descriptor {
            Descriptor::File(file) if file.waits => file.write_waiting(bytes)?,
            Descriptor::File(file) => args.unless_ended(|| file.data.write(bytes, file.flags()))?,
            Descriptor::Output(output) => output.write(bytes)?,
            Descriptor::Connection(connection) => connection.send(bytes)?,
            _ => return Err(Errno::Badf),
        };
        Ok(count(written))
    }

    pub(super) fn fd_pwrite(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        args.skip()?;
        args.skip()?;
        let offset = args.u64()?;
        let bytes = args.rest();
        match &*descriptor {
            Descriptor::File(file) if file.waits => Ok(count(file.data.write_at(bytes, offset, file.flags())?)),
            Descriptor::File(file) => {
                args.unless_ended(|| Ok(count(file.data.write_at(bytes, offset, file.flags())?)))
            }
            Descriptor::Output(_) | Descriptor::Connection(_) => Err(Errno::Spipe),
            _ => Err(Errno::Badf),
        }
    }

    pub(super) fn fd_seek(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let offset = args.u64()? as i64;
        let whence = args.choice(abi::WHENCES)?;
        let descriptor = self.table.get(fd)?;
        let offset = descriptor.seekable()?.data.seek(offset, whence)?;
        Ok(super::results(&offset.to_le_bytes()))
    }

    pub(super) fn fd_tell(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let offset = descriptor.seekable()?.offset()?;
        Ok(super::results(&offset.to_le_bytes()))
    }

    pub(super) fn fd_sync(&self, args: &mut Args<'_>) -> Result<HostReply> {
        self.table.get(args.u32()?)?.file()?.data.sync(true)?;
        Ok(done())
    }

    pub(super) fn fd_datasync(&self, args: &mut Args<'_>) -> Result<HostReply> {
        self.table.get(args.u32()?)?.file()?.data.sync(false)?;
        Ok(done())
    }

    pub(super) fn fd_advise(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (fd, offset, length) = (args.u32()?, args.u64()?, args.u64()?);
        let advice = args.choice(abi::ADVICES)?;
        let descriptor = self.table.get(fd)?;
        let file = descriptor.file()?;
        // As Linux has it, for files in memory too.
        if i64::try_from(length).is_err() {
            return Err(Errno::Inval);
        }
        if let Data::Host(file) = &file.data {
            advise(file, offset, length, advice)?;
        }
        Ok(done())
    }

    /// Not supported, as in wasmtime: few hosts can do it as the specification asks.
    pub(super) fn fd_allocate(&self, args: &mut Args<'_>) -> Result<HostReply> {
        self.table.get(args.u32()?)?.file()?;
        Err(Errno::Notsup)
    }

    pub(super) fn fd_fdstat_set_flags(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let flags = args.flags16(fdflags::ALL)?;
        let descriptor = self.table.get(fd)?;
        match &*descriptor {
            Descriptor::File(_) | Descriptor::Listener(_) | Descriptor::Connection(_) => {}
            _ => return Err(Errno::Badf),
        }
        if flags & fdflags::AT_OPEN != 0 {
            return Err(Errno::Inval);
        }
        match &*descriptor {
            Descriptor::Listener(listener) => listener.set_flags(flags)?,
            Descriptor::Connection(connection) => connection.set_flags(flags)?,
            other => other.file()?.set_flags(flags)?,
        }
        Ok(done())
    }

    pub(super) fn fd_filestat_set_size(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (fd, size) = (args.u32()?, args.u64()?);
        let descriptor = self.table.get(fd)?;
        let file = descriptor.file()?;
        if file.mode.read_only {
            return Err(Errno::Perm);
        }
        file.data.set_len(size)?;
        Ok(done())
    }
}

#[cfg(target_os = "linux")]
fn advise(file: &fs::File, offset: u64, length: u64, advice: u8) -> Result<()> {
    use rustix::fs::Advice;
    // In the order of WASI's numbers.
    let advice = [
        Advice::Normal,
        Advice::Sequential,
        Advice::Random,
        Advice::WillNeed,
        Advice::DontNeed,
        Advice::NoReuse,
    ][advice as usize];
    Ok(rustix::fs::fadvise(
        file,
        offset,
        std::num::NonZeroU64::new(length),
        advice,
    )?)
}

#[cfg(not(target_os = "linux"))]
fn advise(_file: &fs::File, _offset: u64, _length: u64, _advice: u8) -> Result<()> {
    Ok(())
}
