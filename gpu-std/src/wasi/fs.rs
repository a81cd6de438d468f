//! `std::fs`: functions of paths. `fs/` has the types.
//!
//! In: paths. Out: files, entries and attributes. In the order in which to read them:
//!
//! - this file: functions of paths;
//! - `file`: open files; `directory`: entries, and making and emptying directories; `metadata`: attributes.

mod directory;
mod file;
mod metadata;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec;
use std::vec::Vec;

pub use self::directory::{DirBuilder, DirEntry, ReadDir};
pub use self::file::{File, OpenOptions};
pub use self::metadata::{FileTimes, FileType, Metadata, Permissions};
use super::errno::{Errno, NOTDIR, check};
use super::preopens::at;
use super::sys::{self, FOLLOW, Filestat};

/// See `std::fs::read`.
pub fn read<P: AsRef<Path>>(path: P) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// See `std::fs::read_to_string`.
pub fn read_to_string<P: AsRef<Path>>(path: P) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// See `std::fs::write`.
pub fn write<P: AsRef<Path>, C: AsRef<[u8]>>(path: P, contents: C) -> io::Result<()> {
    File::create(path)?.write_all(contents.as_ref())
}

/// See `std::fs::copy`.
pub fn copy<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<u64> {
    let mut from = File::open(from)?;
    if !from.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the source is not a regular file",
        ));
    }
    let mut to = File::create(to)?;
    let mut block = vec![0; file::BLOCK];
    let mut copied = 0;
    loop {
        let length = match from.read(&mut block) {
            Ok(0) => return Ok(copied),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&block[..length])?;
        copied += length as u64;
    }
}

fn stat(path: &Path, flags: u32) -> io::Result<Metadata> {
    let at = at(path)?;
    let mut stat = Filestat::default();
    // SAFETY: the call reads the path and writes a whole `filestat`.
    check(unsafe { sys::path_filestat_get(at.fd, flags, at.ptr(), at.len(), &mut stat) })?;
    Ok(Metadata::new(stat))
}

/// See `std::fs::metadata`.
pub fn metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    stat(path.as_ref(), FOLLOW)
}

/// See `std::fs::symlink_metadata`.
pub fn symlink_metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    stat(path.as_ref(), 0)
}

/// See `std::fs::exists`.
pub fn exists<P: AsRef<Path>>(path: P) -> io::Result<bool> {
    match metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// See `std::fs::create_dir`.
pub fn create_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let at = at(path.as_ref())?;
    // SAFETY: the call reads the path.
    Ok(check(unsafe { sys::path_create_directory(at.fd, at.ptr(), at.len()) })?)
}

/// See `std::fs::create_dir_all`.
pub fn create_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// See `std::fs::remove_dir`.
pub fn remove_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let at = at(path.as_ref())?;
    // SAFETY: the call reads the path.
    Ok(check(unsafe { sys::path_remove_directory(at.fd, at.ptr(), at.len()) })?)
}

/// See `std::fs::remove_dir_all`.
pub fn remove_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let path = path.as_ref();
    let kind = symlink_metadata(path)?.file_type();
    if kind.is_symlink() {
        return remove_file(path);
    }
    if !kind.is_dir() {
        return Err(Errno(NOTDIR).into());
    }
    directory::remove_contents(path)?;
    remove_dir(path)
}

/// See `std::fs::remove_file`.
pub fn remove_file<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let at = at(path.as_ref())?;
    // SAFETY: the call reads the path.
    Ok(check(unsafe { sys::path_unlink_file(at.fd, at.ptr(), at.len()) })?)
}

/// See `std::fs::rename`.
pub fn rename<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<()> {
    let (from, to) = (at(from.as_ref())?, at(to.as_ref())?);
    // SAFETY: the call reads both paths.
    let errno = unsafe { sys::path_rename(from.fd, from.ptr(), from.len(), to.fd, to.ptr(), to.len()) };
    Ok(check(errno)?)
}

/// See `std::fs::hard_link`.
pub fn hard_link<P: AsRef<Path>, Q: AsRef<Path>>(original: P, link: Q) -> io::Result<()> {
    let (original, link) = (at(original.as_ref())?, at(link.as_ref())?);
    // SAFETY: the call reads both paths.
    let errno = unsafe {
        let (path, length) = (original.ptr(), original.len());
        sys::path_link(original.fd, 0, path, length, link.fd, link.ptr(), link.len())
    };
    Ok(check(errno)?)
}

/// See `std::fs::soft_link`.
pub fn soft_link<P: AsRef<Path>, Q: AsRef<Path>>(original: P, link: Q) -> io::Result<()> {
    let content = super::path::text(original.as_ref())?;
    let link = at(link.as_ref())?;
    // SAFETY: the call reads the content and the path.
    let errno = unsafe { sys::path_symlink(content.as_ptr(), content.len(), link.fd, link.ptr(), link.len()) };
    Ok(check(errno)?)
}

/// See `std::fs::read_link`.
pub fn read_link<P: AsRef<Path>>(path: P) -> io::Result<PathBuf> {
    let at = at(path.as_ref())?;
    let mut bytes = vec![0; 256];
    loop {
        let mut filled = 0;
        // SAFETY: the call reads the path, and writes to the buffer and to `filled`.
        check(unsafe { sys::path_readlink(at.fd, at.ptr(), at.len(), bytes.as_mut_ptr(), bytes.len(), &mut filled) })?;
        // A full buffer may hold only a part.
        if filled < bytes.len() {
            bytes.truncate(filled);
            return Ok(String::from_utf8_lossy(&bytes).into_owned().into());
        }
        bytes.resize(bytes.len() * 4, 0);
    }
}

/// See `std::fs::read_dir`.
pub fn read_dir<P: AsRef<Path>>(path: P) -> io::Result<ReadDir> {
    ReadDir::new(path.as_ref())
}

/// Fails: WASI has no such call.
pub fn canonicalize<P: AsRef<Path>>(_path: P) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails: WASI has no permissions.
pub fn set_permissions<P: AsRef<Path>>(_path: P, _permissions: Permissions) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
