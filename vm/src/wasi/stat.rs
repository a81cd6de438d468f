//! Attributes of descriptors and files.

use std::fs::FileTimes;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_fs_ext::{MetadataExt, SystemTimeSpec};
use cap_std::fs::{FileType, Metadata};

use super::abi::{fdflags, filetype, fstflags, lookup, rights};
use super::args::{Args, Result, text};
use super::errno::Errno;
use super::table::Descriptor;
use super::{Wasi, done, results};
use crate::HostReply;

/// The `filetype` of a file of the host.
pub fn filetype_of(kind: FileType) -> u8 {
    use cap_fs_ext::FileTypeExt;
    if kind.is_dir() {
        filetype::DIRECTORY
    } else if kind.is_file() {
        filetype::REGULAR_FILE
    } else if kind.is_symlink() {
        filetype::SYMBOLIC_LINK
    } else if kind.is_block_device() {
        filetype::BLOCK_DEVICE
    } else if kind.is_char_device() {
        filetype::CHARACTER_DEVICE
    } else if kind.is_socket() {
        filetype::SOCKET_STREAM
    } else {
        // Such as a named pipe, for which there is no number.
        filetype::UNKNOWN
    }
}

fn stream_type(terminal: bool) -> u8 {
    if terminal {
        filetype::CHARACTER_DEVICE
    } else {
        filetype::UNKNOWN
    }
}

/// Nanoseconds since 1970; 0 for times that have no such number.
pub fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(0)
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> u64 {
    use cap_std::fs::MetadataExt;
    let nanoseconds = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    u64::try_from(nanoseconds).unwrap_or(0)
}

#[cfg(not(unix))]
fn changed(metadata: &Metadata) -> u64 {
    metadata.modified().map_or(0, |time| nanoseconds(time.into_std()))
}

/// The fields of a `filestat`; times in nanoseconds since 1970.
pub struct Stat {
    pub device: u64,
    pub inode: u64,
    pub filetype: u8,
    pub links: u64,
    pub size: u64,
    pub accessed: u64,
    pub modified: u64,
    pub changed: u64,
}

impl From<Metadata> for Stat {
    fn from(metadata: Metadata) -> Stat {
        let time =
            |time: std::io::Result<cap_std::time::SystemTime>| time.map_or(0, |time| nanoseconds(time.into_std()));
        Stat {
            device: metadata.dev(),
            inode: metadata.ino(),
            filetype: filetype_of(metadata.file_type()),
            links: metadata.nlink(),
            size: metadata.len(),
            accessed: time(metadata.accessed()),
            modified: time(metadata.modified()),
            changed: changed(&metadata),
        }
    }
}

/// A `filestat`.
fn filestat(stat: Stat) -> HostReply {
    words([
        stat.device,
        stat.inode,
        u64::from(stat.filetype),
        stat.links,
        stat.size,
        stat.accessed,
        stat.modified,
        stat.changed,
    ])
}

/// The `filestat` of what is no file.
fn unnamed(filetype: u8) -> HostReply {
    words([0, 0, u64::from(filetype), 0, 0, 0, 0, 0])
}

/// The fields of a `filestat`; the type's is one byte, and padding.
fn words(fields: [u64; 8]) -> HostReply {
    results(fields.map(u64::to_le_bytes).as_flattened())
}

/// An `fdstat`.
fn fdstat(filetype: u8, flags: u16, base: u64, inheriting: u64) -> HostReply {
    let mut bytes = vec![filetype, 0];
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&base.to_le_bytes());
    bytes.extend_from_slice(&inheriting.to_le_bytes());
    results(&bytes)
}

/// Which times to set, and to what.
pub struct Times {
    pub accessed: Option<SystemTimeSpec>,
    pub modified: Option<SystemTimeSpec>,
}

fn system_time(time: &SystemTimeSpec) -> SystemTime {
    match time {
        SystemTimeSpec::Absolute(time) => time.into_std(),
        SystemTimeSpec::SymbolicNow => SystemTime::now(),
    }
}

impl Times {
    /// Reads both times and their flags.
    ///
    /// # Errors
    /// EINVAL if a time is to be both a given one and now.
    fn read(args: &mut Args<'_>) -> Result<Times> {
        let (accessed, modified) = (args.u64()?, args.u64()?);
        let flags = args.flags16(fstflags::ALL)?;
        let time = |nanoseconds, given, now| match (flags & given != 0, flags & now != 0) {
            (true, true) => Err(Errno::Inval),
            (true, false) => {
                let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
                let time = cap_std::time::SystemTime::from_std(time);
                Ok(Some(SystemTimeSpec::Absolute(time)))
            }
            (false, true) => Ok(Some(SystemTimeSpec::SymbolicNow)),
            (false, false) => Ok(None),
        };
        Ok(Times {
            accessed: time(accessed, fstflags::ATIM, fstflags::ATIM_NOW)?,
            modified: time(modified, fstflags::MTIM, fstflags::MTIM_NOW)?,
        })
    }

    pub fn of_file(&self) -> FileTimes {
        let mut times = FileTimes::new();
        if let Some(accessed) = &self.accessed {
            times = times.set_accessed(system_time(accessed));
        }
        if let Some(modified) = &self.modified {
            times = times.set_modified(system_time(modified));
        }
        times
    }

    pub fn accessed_nanoseconds(&self) -> Option<u64> {
        self.accessed.as_ref().map(|time| nanoseconds(system_time(time)))
    }

    pub fn modified_nanoseconds(&self) -> Option<u64> {
        self.modified.as_ref().map(|time| nanoseconds(system_time(time)))
    }
}

impl Wasi {
    pub(super) fn fd_fdstat_get(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let stream = |terminal, right| fdstat(stream_type(terminal), 0, right, right);
        Ok(match &*self.table.get(args.u32()?)? {
            Descriptor::Stdin(stdin) => stream(stdin.is_terminal(), rights::FD_READ),
            Descriptor::Output(output) => stream(output.terminal, rights::FD_WRITE),
            Descriptor::Directory(directory) if directory.preopen.is_some() => {
                fdstat(filetype::DIRECTORY, 0, rights::PREOPEN, rights::PREOPEN_INHERITING)
            }
            Descriptor::Directory(directory) => {
                let without =
                    rights::FD_SEEK | rights::FD_FILESTAT_SET_SIZE | rights::PATH_FILESTAT_SET_SIZE | rights::FD_WRITE;
                // What is opened through it may have them all: C libraries ask for no others.
                fdstat(
                    filetype::DIRECTORY,
                    directory.flags,
                    rights::ALL & !without,
                    rights::ALL,
                )
            }
            Descriptor::File(file) => {
                let kind = file.stat()?.filetype;
                let mut base = rights::ALL;
                if !file.mode.read {
                    base &= !(rights::FD_READ | rights::FD_READDIR);
                }
                if !file.mode.write {
                    base &= !rights::FD_WRITE;
                }
                fdstat(kind, file.flags(), base, base)
            }
            Descriptor::Listener(listener) => {
                let base = rights::SOCK_ACCEPT | rights::POLL_FD_READWRITE | rights::FD_FDSTAT_SET_FLAGS;
                let inheriting = rights::FD_READ | rights::FD_WRITE | rights::SOCK_SHUTDOWN | base;
                fdstat(filetype::SOCKET_STREAM, listener.flags(), base, inheriting)
            }
            Descriptor::Connection(connection) => {
                let base = rights::FD_READ
                    | rights::FD_WRITE
                    | rights::SOCK_SHUTDOWN
                    | rights::POLL_FD_READWRITE
                    | rights::FD_FDSTAT_SET_FLAGS;
                fdstat(filetype::SOCKET_STREAM, connection.flags(), base, base)
            }
            Descriptor::Request(_) => {
                let base = rights::FD_READ | rights::POLL_FD_READWRITE;
                fdstat(filetype::UNKNOWN, 0, base, base)
            }
        })
    }

    /// Not supported, as in wasmtime: a descriptor's rights are those it was opened with.
    pub(super) fn fd_fdstat_set_rights(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        args.flags64(rights::ALL)?;
        args.flags64(rights::ALL)?;
        match &*self.table.get(fd)? {
            Descriptor::Stdin(_) | Descriptor::Output(_) => Err(Errno::Badf),
            _ => Err(Errno::Notsup),
        }
    }

    pub(super) fn fd_filestat_get(&self, args: &mut Args<'_>) -> Result<HostReply> {
        Ok(match &*self.table.get(args.u32()?)? {
            Descriptor::Stdin(stdin) => unnamed(stream_type(stdin.is_terminal())),
            Descriptor::Output(output) => unnamed(stream_type(output.terminal)),
            Descriptor::Listener(_) | Descriptor::Connection(_) => unnamed(filetype::SOCKET_STREAM),
            Descriptor::Request(_) => unnamed(filetype::UNKNOWN),
            Descriptor::Directory(directory) => filestat(directory.tree.stat()?),
            Descriptor::File(file) => filestat(file.stat()?),
        })
    }

    pub(super) fn fd_filestat_set_times(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let times = Times::read(args)?;
        match &*self.table.get(fd)? {
            Descriptor::File(file) if file.mode.read_only => return Err(Errno::Perm),
            Descriptor::Directory(directory) if directory.read_only => return Err(Errno::Perm),
            Descriptor::File(file) => file.set_times(times)?,
            Descriptor::Directory(directory) => directory.tree.set_times(times)?,
            _ => return Err(Errno::Badf),
        }
        Ok(done())
    }

    pub(super) fn path_filestat_get(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let follow = args.flags32(lookup::ALL)? & lookup::SYMLINK_FOLLOW != 0;
        let path = args.bytes()?;
        let descriptor = self.table.get(fd)?;
        let tree = &descriptor.directory()?.tree;
        let path = text(path)?;
        Ok(filestat(tree.stat_path(path, follow || asks_for_directory(path))?))
    }

    pub(super) fn path_filestat_set_times(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let follow = args.flags32(lookup::ALL)? & lookup::SYMLINK_FOLLOW != 0;
        let path = args.bytes()?;
        let times = Times::read(args)?;
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        let tree = directory.writable()?;
        tree.set_path_times(path, follow || asks_for_directory(path), times)?;
        Ok(done())
    }
}

/// Whether a path's end asks for a directory. A symbolic link there is followed even if links at the end
/// of a path are not: it is not the end.
fn asks_for_directory(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}

/// Flags that a directory keeps of those it was opened with.
pub const DIRECTORY_FLAGS: u16 = fdflags::AT_OPEN;
