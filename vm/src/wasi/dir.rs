//! Directories, and the functions that change what they hold.
//!
//! `cap-std` resolves each path beneath the directory's descriptor, with the host's own means where there
//! are any (`openat2`): neither `..`, an absolute path, a symbolic link nor one that is swapped meanwhile
//! leads outside. Such paths are EPERM.

use std::sync::{Arc, Mutex};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::abi::lookup;
use super::args::{Args, Result, text};
use super::errno::Errno;
use super::readdir::Entry;
use super::{Wasi, done, results, with_data};
use crate::Reply;

/// An open directory.
pub struct Directory {
    pub dir: Dir,
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
    pub fn new(dir: Dir, preopen: Option<String>, read_only: bool, flags: u16) -> Self {
        Directory {
            dir,
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
    pub fn writable(&self) -> Result<&Dir> {
        if self.read_only {
            Err(Errno::Perm)
        } else {
            Ok(&self.dir)
        }
    }
}

impl Wasi {
    pub(super) fn fd_prestat_get(&self, args: &mut Args<'_>) -> Result<Reply> {
        let descriptor = self.table.get(args.u32()?)?;
        let name = descriptor.directory()?.preopen.as_ref().ok_or(Errno::Badf)?;
        let length = u32::try_from(name.len()).map_err(|_| Errno::Overflow)?;
        // The tag of a directory, 0, and the union's padding.
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&length.to_le_bytes());
        Ok(results(&bytes))
    }

    pub(super) fn fd_prestat_dir_name(&self, args: &mut Args<'_>) -> Result<Reply> {
        let descriptor = self.table.get(args.u32()?)?;
        let directory = descriptor.directory().map_err(|_| Errno::Notdir)?;
        let name = directory.preopen.as_ref().ok_or(Errno::Notdir)?;
        if name.len() > args.capacity {
            return Err(Errno::Nametoolong);
        }
        Ok(Reply {
            data: name.clone().into_bytes(),
            ..done()
        })
    }

    pub(super) fn path_create_directory(&self, args: &mut Args<'_>) -> Result<Reply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        directory.writable()?.create_dir(path)?;
        Ok(done())
    }

    pub(super) fn path_remove_directory(&self, args: &mut Args<'_>) -> Result<Reply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        directory.writable()?.remove_dir(path)?;
        Ok(done())
    }

    pub(super) fn path_unlink_file(&self, args: &mut Args<'_>) -> Result<Reply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let path = text(path)?;
        directory.writable()?.remove_file_or_symlink(path)?;
        Ok(done())
    }

    pub(super) fn path_link(&self, args: &mut Args<'_>) -> Result<Reply> {
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

    pub(super) fn path_rename(&self, args: &mut Args<'_>) -> Result<Reply> {
        let (old_fd, old_path) = (args.u32()?, args.bytes()?);
        let (new_fd, new_path) = (args.u32()?, args.bytes()?);
        let (old, new) = (self.table.get(old_fd)?, self.table.get(new_fd)?);
        let (old, new) = (old.directory()?, new.directory()?);
        let (old_path, new_path) = (text(old_path)?, text(new_path)?);
        let (old, new) = (old.writable()?, new.writable()?);
        if new_path.ends_with('/') && !old_path.ends_with('/') && !old_path.is_empty() {
            // A slash behind the new name asks for a directory as well; `cap-std` looks at the old one only.
            old.rename(format!("{old_path}/"), new, new_path)?;
        } else {
            old.rename(old_path, new, new_path)?;
        }
        Ok(done())
    }

    /// Links to absolute paths are refused: they lead outside.
    pub(super) fn path_symlink(&self, args: &mut Args<'_>) -> Result<Reply> {
        let (target, fd, path) = (args.bytes()?, args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let directory = descriptor.directory()?;
        let (target, path) = (text(target)?, text(path)?);
        // By name: the extension trait has a function of this name too.
        DirExt::symlink(directory.writable()?, target, path)?;
        Ok(done())
    }

    pub(super) fn path_readlink(&self, args: &mut Args<'_>) -> Result<Reply> {
        let (fd, path) = (args.u32()?, args.bytes()?);
        let descriptor = self.table.get(fd)?;
        let target = descriptor.directory()?.dir.read_link(text(path)?)?;
        let target = target.into_os_string().into_string().map_err(|_| Errno::Ilseq)?;
        let mut bytes = target.into_bytes();
        bytes.truncate(args.capacity);
        Ok(with_data(bytes))
    }
}
