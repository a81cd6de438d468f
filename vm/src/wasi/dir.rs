//! Directories, and the functions that change what they hold.
//!
//! What they do to the host's files or to those in memory, [`Tree`] says. Neither `..`, an absolute path, a
//! symbolic link nor one that is swapped meanwhile leads out of a directory. Such paths are EPERM.

use std::sync::{Arc, Mutex};

use super::abi::lookup;
use super::args::{Args, Result, text};
use super::errno::Errno;
use super::place::Tree;
use super::readdir::Entry;
use super::{Wasi, done, results, with_data};
use crate::HostReply;

/// An open directory.
pub struct Directory {
    pub tree: Tree,
    /// Its guest name, if it was there from the start.
    pub preopen: Option<String>,
    /// Nothing below it may be changed.
    pub read_only: bool,
    /// Of `fdflags`.
    pub flags: u16,
    /// What a listing that is not at its end goes through.
    pub listing: Mutex<Option<Arc<Vec<Entry>>>>,
}

impl Directory {
    pub fn new(tree: Tree, preopen: Option<String>, read_only: bool, flags: u16) -> Self {
        Directory {
            tree,
            preopen,
            read_only,
            flags,
            listing: Mutex::default(),
        }
    }

    /// The directory, to change what is below it.
    ///
    /// # Errors
    /// EPERM if it is read-only.
    pub fn writable(&self) -> Result<&Tree> {
        if self.read_only {
            Err(Errno::Perm)
        } else {
            Ok(&self.tree)
        }
    }
}

impl Wasi {
    pub(super) fn fd_prestat_get(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let name = descriptor.directory()?.preopen.as_ref().ok_or(Errno::Badf)?;
        let length = u32::try_from(name.len()).map_err(|_| Errno::Overflow)?;
        // The tag of a directory, 0, and the union's padding.
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&length.to_le_bytes());
        Ok(results(&bytes))
    }

    pub(super) fn fd_prestat_dir_name(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let directory = descriptor.directory().map_err(|_| Errno::Notdir)?;
        let name = directory.preopen.as_ref().ok_or(Errno::Notdir)?;
        if name.len() > args.capacity {
            return Err(Errno::Nametoolong);
        }
        Ok(HostReply {
            data: name.clone().into_bytes(),
            ..done()
        })
    }

    pub(super) fn path_create_directory(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        directory.writable()?.create_dir(path)?;
        Ok(done())
    }

    pub(super) fn path_remove_directory(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        directory.writable()?.remove_dir(path)?;
        Ok(done())
    }

    pub(super) fn path_unlink_file(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        directory.writable()?.remove_file(path)?;
        Ok(done())
    }

    pub(super) fn path_link(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let old_fd = args.u32()?;
        let flags = args.flags32(lookup::ALL)?;
        let (old_path, new_fd, new_path) = (args.bytes()?, args.u32()?, args.bytes()?);
        let (old, new) = (self.table.get(old_fd)?, self.table.get(new_fd)?);
        let (old, new) = (old.directory()?, new.directory()?);
        let (old_path, new_path) = (text(old_path)?, text(new_path)?);
        // A link is a second name to write by: both directories must allow that.
        let (old, new) = (old.writable()?, new.writable()?);
        if flags & lookup::SYMLINK_FOLLOW != 0 {
            return Err(Errno::Inval);
        }
        old.hard_link(old_path, new, new_path)?;
        Ok(done())
    }

    pub(super) fn path_rename(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (old_fd, old_path) = (args.u32()?, args.bytes()?);
        let (new_fd, new_path) = (args.u32()?, args.bytes()?);
        let (old, new) = (self.table.get(old_fd)?, self.table.get(new_fd)?);
        let (old, new) = (old.directory()?, new.directory()?);
        let (old_path, new_path) = (text(old_path)?, text(new_path)?);
        let (old, new) = (old.writable()?, new.writable()?);
        old.rename(old_path, new, new_path)?;
        Ok(done())
    }

    /// Links to absolute paths are refused: they lead outside.
    pub(super) fn path_symlink(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (target, fd, path) = (args.bytes()?, args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let (target, path) = (text(target)?, text(path)?);
        directory.writable()?.symlink(target, path)?;
        Ok(done())
    }

    pub(super) fn path_readlink(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let target = descriptor.directory()?.tree.read_link(text(path)?)?;
        let mut bytes = target.into_bytes();
        bytes.truncate(args.capacity);
        Ok(with_data(bytes))
    }
}
