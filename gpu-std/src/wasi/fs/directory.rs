//! Directories: their entries, making them, emptying them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::metadata::{FileType, Metadata};
use crate::wasi::errno::check;
use crate::wasi::fd::Fd;
use crate::wasi::preopens::at;
use crate::wasi::sys::{self, Dirent, FOLLOW, filetype, oflags, rights};

/// Bytes of entries that are asked for at once, unless a single one is longer.
const ROOM: usize = 16 << 10;

/// See `std::fs::ReadDir`.
#[derive(Debug)]
pub struct ReadDir {
    fd: Fd,
    folder: PathBuf,
    bytes: Vec<u8>,
    /// The part of `bytes` that holds entries not yet given.
    rest: std::ops::Range<usize>,
    /// The entry to go on with.
    cookie: u64,
    ended: bool,
}

/// See `std::fs::DirEntry`.
#[derive(Debug)]
pub struct DirEntry {
    path: PathBuf,
    name: OsString,
    filetype: u8,
}

impl ReadDir {
    pub(super) fn new(path: &Path) -> io::Result<ReadDir> {
        let at = at(path)?;
        let (given, mut fd) = (rights::READ | rights::ANY, 0);
        // SAFETY: the call reads the path and writes the descriptor.
        check(unsafe {
            let (path, length) = (at.ptr(), at.len());
            sys::path_open(at.fd, FOLLOW, path, length, oflags::DIRECTORY, given, given, 0, &mut fd)
        })?;
        Ok(ReadDir {
            fd: Fd(fd),
            folder: path.to_path_buf(),
            bytes: vec![0; ROOM],
            rest: 0..0,
            cookie: 0,
            ended: false,
        })
    }

    /// Asks for entries from the cookie on. A buffer that is not full says that there are no more.
    fn fill(&mut self) -> io::Result<()> {
        let mut filled = 0;
        // SAFETY: the call writes to the buffer and to `filled`.
        check(unsafe {
            let (address, length) = (self.bytes.as_mut_ptr(), self.bytes.len());
            sys::fd_readdir(self.fd.0, address, length, self.cookie, &mut filled)
        })?;
        self.rest = 0..filled;
        self.ended = filled < self.bytes.len();
        Ok(())
    }

    /// The next entry in the buffer, if all of it is there.
    fn entry(&mut self) -> Option<(Dirent, String)> {
        const SIZE: usize = size_of::<Dirent>();
        let bytes = &self.bytes[self.rest.clone()];
        let (head, rest) = bytes.split_at_checked(SIZE)?;
        // SAFETY: as many bytes as a `dirent` has, any of which are one.
        let entry: Dirent = unsafe { head.as_ptr().cast::<Dirent>().read_unaligned() };
        let name = rest.get(..entry.name_length as usize)?;
        let name = String::from_utf8_lossy(name).into_owned();
        self.rest.start += SIZE + entry.name_length as usize;
        self.cookie = entry.next;
        Some((entry, name))
    }
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<io::Result<DirEntry>> {
        loop {
            let Some((entry, name)) = self.entry() else {
                if self.ended {
                    return None;
                }
                // An entry that begins at the start and is not whole needs a larger buffer.
                if self.rest.start == 0 && !self.rest.is_empty() {
                    self.bytes.resize(self.bytes.len() * 2, 0);
                }
                if let Err(error) = self.fill() {
                    self.ended = true;
                    self.rest = 0..0;
                    return Some(Err(error));
                }
                continue;
            };
            if name != "." && name != ".." {
                return Some(Ok(DirEntry {
                    path: self.folder.join(&name),
                    name: name.into(),
                    filetype: entry.filetype,
                }));
            }
        }
    }
}

impl DirEntry {
    /// See `std::fs::DirEntry::path`.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// See `std::fs::DirEntry::file_name`.
    pub fn file_name(&self) -> OsString {
        self.name.clone()
    }

    /// See `std::fs::DirEntry::file_type`.
    pub fn file_type(&self) -> io::Result<FileType> {
        match self.filetype {
            filetype::UNKNOWN => Ok(self.metadata()?.file_type()),
            known => Ok(FileType(known)),
        }
    }

    /// See `std::fs::DirEntry::metadata`.
    pub fn metadata(&self) -> io::Result<Metadata> {
        super::symlink_metadata(&self.path)
    }
}

/// See `std::fs::DirBuilder`.
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
}

impl DirBuilder {
    /// See `std::fs::DirBuilder::new`.
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// See `std::fs::DirBuilder::recursive`.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// See `std::fs::DirBuilder::create`.
    pub fn create<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        match self.recursive {
            true => create_all(path.as_ref()),
            false => super::create_dir(path),
        }
    }
}

fn create_all(path: &Path) -> io::Result<()> {
    if path == Path::new("") {
        return Ok(());
    }
    let is_there = |error| match super::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        _ => Err(error),
    };
    match super::create_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_all(path.parent().ok_or(error)?)?;
            // Another thread may have made it meanwhile.
            super::create_dir(path).or_else(is_there)
        }
        Err(error) => is_there(error),
    }
}

/// Removes all that a directory has. Links are removed, not followed.
pub(super) fn remove_contents(folder: &Path) -> io::Result<()> {
    let entries: Vec<DirEntry> = ReadDir::new(folder)?.collect::<io::Result<_>>()?;
    for entry in entries {
        let removed = match entry.file_type()?.is_dir() {
            true => remove_contents(&entry.path).and_then(|()| super::remove_dir(&entry.path)),
            false => super::remove_file(&entry.path),
        };
        match removed {
            // Another thread or process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}
