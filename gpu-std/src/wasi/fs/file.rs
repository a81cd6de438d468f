//! Open files.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::string::String;
use std::time::SystemTime;
use std::vec::Vec;

use super::metadata::{FileTimes, Metadata, Permissions};
use crate::wasi::errno::{BADF, Errno, ISDIR, check};
use crate::wasi::fd::{Fd, uninit};
use crate::wasi::preopens::at;
use crate::wasi::sys::{self, FOLLOW, oflags, rights};

/// Bytes that are read at once where the program does not say how many. Each call is a message to the host.
pub const BLOCK: usize = 64 << 10;

/// See `std::fs::File`.
#[derive(Debug)]
pub struct File(Fd);

/// See `std::fs::OpenOptions`.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
}

/// Options that are set one by one.
macro_rules! options {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("See `std::fs::OpenOptions::", stringify!($name), "`.")]
            pub fn $name(&mut self, $name: bool) -> &mut Self {
                self.$name = $name;
                self
            }
        )*
    };
}

impl OpenOptions {
    /// See `std::fs::OpenOptions::new`.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    options! { read write append truncate create create_new }

    /// See `std::fs::OpenOptions::open`.
    pub fn open<P: AsRef<Path>>(&self, path: P) -> io::Result<File> {
        let at = at(path.as_ref())?;
        let (mut given, mut flags) = (rights::ANY, 0);
        if self.read {
            given |= rights::READ;
        }
        if self.write || self.append {
            given |= rights::WRITE;
        }
        if self.append {
            flags |= sys::APPEND;
        }
        let mut fd = 0;
        // SAFETY: the call reads the path and writes the descriptor. What is opened through a file is nothing.
        check(unsafe {
            sys::path_open(
                at.fd,
                FOLLOW,
                at.ptr(),
                at.len(),
                self.oflags()?,
                given,
                given,
                flags,
                &mut fd,
            )
        })?;
        Ok(File(Fd(fd)))
    }

    /// What is to be made of a file that is there, and of one that is not; contradictions are refused as std does.
    fn oflags(&self) -> io::Result<u32> {
        let makes = self.truncate || self.create || self.create_new;
        let why = match (self.write, self.append) {
            (false, false) if !self.read => Some("neither read, write nor append is asked for"),
            (false, false) if makes => Some("creating or truncating a file needs write or append"),
            (_, true) if self.truncate && !self.create_new => Some("append and truncate exclude each other"),
            _ => None,
        };
        if let Some(why) = why {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if self.create_new {
            return Ok(oflags::CREAT | oflags::EXCL);
        }
        let create = if self.create { oflags::CREAT } else { 0 };
        let truncate = if self.truncate { oflags::TRUNC } else { 0 };
        Ok(create | truncate)
    }
}

impl File {
    /// Its descriptor.
    pub(crate) fn fd(&self) -> u32 {
        self.0.0
    }

    /// See `std::fs::File::open`.
    pub fn open<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().read(true).open(path)
    }

    /// See `std::fs::File::create`.
    pub fn create<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// See `std::fs::File::create_new`.
    pub fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// See `std::fs::File::options`.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// See `std::fs::File::sync_all`.
    pub fn sync_all(&self) -> io::Result<()> {
        Ok(check(sys::fd_sync(self.0.0))?)
    }

    /// See `std::fs::File::sync_data`.
    pub fn sync_data(&self) -> io::Result<()> {
        Ok(check(sys::fd_datasync(self.0.0))?)
    }

    /// See `std::fs::File::set_len`.
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        Ok(check(sys::fd_filestat_set_size(self.0.0, size))?)
    }

    /// See `std::fs::File::metadata`.
    pub fn metadata(&self) -> io::Result<Metadata> {
        Ok(Metadata::new(self.0.stat()?))
    }

    /// See `std::fs::File::set_times`.
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        let (accessed, modified, flags) = times.nanoseconds()?;
        Ok(check(sys::fd_filestat_set_times(self.0.0, accessed, modified, flags))?)
    }

    /// See `std::fs::File::set_modified`.
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time))
    }

    /// Fails: WASI has no permissions.
    pub fn set_permissions(&self, _permissions: Permissions) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Fails: WASI has no second descriptor of an open file.
    pub fn try_clone(&self) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether the file is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.0.is_terminal()
    }

    /// Why a read was refused: WASI has one errno for what is not open to read and for directories.
    fn refused(&self, errno: Errno) -> io::Error {
        let is_dir = || self.metadata().is_ok_and(|found| found.is_dir());
        match errno {
            Errno(BADF) if is_dir() => Errno(ISDIR).into(),
            errno => errno.into(),
        }
    }

    /// Bytes from the position to the end, as far as that is known.
    fn left(&self) -> usize {
        let size = self.0.stat().map_or(0, |stat| stat.size);
        let position = (&*self).stream_position().unwrap_or(0);
        usize::try_from(size.saturating_sub(position)).unwrap_or(0)
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(uninit(buffer)).map_err(|errno| self.refused(errno))
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let before = bytes.len();
        // With room for one byte more, the read that finds the end needs no more memory.
        bytes.try_reserve(self.left().saturating_add(1))?;
        loop {
            if bytes.len() == bytes.capacity() {
                bytes.try_reserve(BLOCK)?;
            }
            match self
                .0
                .read(bytes.spare_capacity_mut())
                .map_err(|errno| self.refused(errno))
            {
                Ok(0) => return Ok(bytes.len() - before),
                // SAFETY: so many bytes after the others have been read.
                Ok(read) => unsafe { bytes.set_len(bytes.len() + read) },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        let more = String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))?;
        text.push_str(&more);
        Ok(more.len())
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (whence, offset) = match to {
            SeekFrom::Start(offset) => (0, offset as i64),
            SeekFrom::Current(offset) => (1, offset),
            SeekFrom::End(offset) => (2, offset),
        };
        let mut position = 0;
        // SAFETY: the call writes the position.
        check(unsafe { sys::fd_seek(self.0.0, offset, whence, &mut position) })?;
        Ok(position)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        let mut position = 0;
        // SAFETY: the call writes the position.
        check(unsafe { sys::fd_tell(self.0.0, &mut position) })?;
        Ok(position)
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        (&*self).read_to_end(bytes)
    }

    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        (&*self).read_to_string(text)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        (&*self).stream_position()
    }
}
