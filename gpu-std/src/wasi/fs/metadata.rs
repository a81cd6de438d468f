//! What is known of a file.

use std::io;
use std::time::{Duration, SystemTime};

use crate::wasi::sys::{Filestat, filetype, fstflags};

/// See `std::fs::FileType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileType(pub(super) u8);

impl FileType {
    /// See `std::fs::FileType::is_dir`.
    pub fn is_dir(&self) -> bool {
        self.0 == filetype::DIRECTORY
    }

    /// See `std::fs::FileType::is_file`.
    pub fn is_file(&self) -> bool {
        self.0 == filetype::REGULAR_FILE
    }

    /// See `std::fs::FileType::is_symlink`.
    pub fn is_symlink(&self) -> bool {
        self.0 == filetype::SYMBOLIC_LINK
    }
}

/// See `std::fs::Metadata`.
#[derive(Clone, Debug)]
pub struct Metadata(Filestat);

/// A time of a file. std's `SystemTime` begins in 1970 on this target, as WASI's times do.
fn time(nanoseconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds)
}

#[allow(clippy::len_without_is_empty)] // As in std.
impl Metadata {
    pub(super) fn new(stat: Filestat) -> Metadata {
        Metadata(stat)
    }

    /// See `std::fs::Metadata::file_type`.
    pub fn file_type(&self) -> FileType {
        FileType(self.0.filetype)
    }

    /// See `std::fs::Metadata::is_dir`.
    pub fn is_dir(&self) -> bool {
        self.file_type().is_dir()
    }

    /// See `std::fs::Metadata::is_file`.
    pub fn is_file(&self) -> bool {
        self.file_type().is_file()
    }

    /// See `std::fs::Metadata::is_symlink`.
    pub fn is_symlink(&self) -> bool {
        self.file_type().is_symlink()
    }

    /// See `std::fs::Metadata::len`.
    pub fn len(&self) -> u64 {
        self.0.size
    }

    /// What WASI can say, which is nothing: none is read-only.
    pub fn permissions(&self) -> Permissions {
        Permissions { readonly: false }
    }

    /// See `std::fs::Metadata::modified`.
    pub fn modified(&self) -> io::Result<SystemTime> {
        Ok(time(self.0.modified))
    }

    /// See `std::fs::Metadata::accessed`.
    pub fn accessed(&self) -> io::Result<SystemTime> {
        Ok(time(self.0.accessed))
    }

    /// Fails: WASI does not know when a file was made.
    pub fn created(&self) -> io::Result<SystemTime> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// See `std::fs::Permissions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    readonly: bool,
}

impl Permissions {
    /// See `std::fs::Permissions::readonly`.
    pub fn readonly(&self) -> bool {
        self.readonly
    }

    /// See `std::fs::Permissions::set_readonly`.
    pub fn set_readonly(&mut self, readonly: bool) {
        self.readonly = readonly;
    }
}

/// See `std::fs::FileTimes`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileTimes {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
}

impl FileTimes {
    /// See `std::fs::FileTimes::new`.
    pub fn new() -> Self {
        FileTimes::default()
    }

    /// See `std::fs::FileTimes::set_accessed`.
    pub fn set_accessed(mut self, time: SystemTime) -> Self {
        self.accessed = Some(time);
        self
    }

    /// See `std::fs::FileTimes::set_modified`.
    pub fn set_modified(mut self, time: SystemTime) -> Self {
        self.modified = Some(time);
        self
    }

    /// Both times, and the flags of those that are set.
    pub(super) fn nanoseconds(&self) -> io::Result<(u64, u64, u32)> {
        let nanoseconds = |time: Option<SystemTime>| {
            let since = time.map_or(Ok(Duration::ZERO), |time| time.duration_since(SystemTime::UNIX_EPOCH));
            let nanoseconds = since.ok().and_then(|since| u64::try_from(since.as_nanos()).ok());
            nanoseconds.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a file's time is from 1970 to 2554"))
        };
        let flag = |time: Option<SystemTime>, flag| if time.is_some() { flag } else { 0 };
        let flags = flag(self.accessed, fstflags::ACCESSED) | flag(self.modified, fstflags::MODIFIED);
        Ok((nanoseconds(self.accessed)?, nanoseconds(self.modified)?, flags))
    }
}
