//! A file system in memory, of a size that is set: what a guest finds at `/tmp` with `--tmpfs`.
//!
//! It answers as a Linux file system does that is given by [`WasiBuilder::dir`](super::WasiBuilder::dir), errno
//! by errno. Every call holds one lock, so calls of several threads come one after the other. Nothing of it is
//! on a disk; it ends with the process.
//!
//! What is charged to its size: pages of 4 KiB that were written (holes in files are free). Besides, a fixed amount and
//! its name for each file, directory and link. Without room, writes write what fits, and then return ENOSPC.
//!
//! While a run is under way its device holds the data of files, and what is here of them is all else: see [`device_lease`].
//!
//! In the order in which to read the modules:
//!
//! - this file: a node and an open file, with the functions that [`place`](super::place) asks of them;
//! - `tree`: the nodes, and what is done with each;
//! - `path`: from a path to a node; `names`: what changes names;
//! - `data`: the bytes of a file, in pages;
//! - [`device_lease`]: what is known while a device holds the data; `files`: what a store needs for that.

mod data;
pub mod device_lease;
mod files;
mod names;
mod path;
mod tree;

use std::sync::{Arc, Mutex, MutexGuard};

pub use self::files::{DESCRIPTORS, TmpfsFiles, append_flag};
use self::tree::Kind;
pub use self::tree::{DEVICE as DEVICE_NUMBER, Tree};
use super::args::Result;
use super::errno::Errno;
use super::lock;
use super::readdir::Entry;
use super::stat::{Stat, Times};
use crate::layout::{TMPFS_READ, TMPFS_WRITE};

/// What an open of a path is asked for.
#[derive(Clone, Copy)]
pub struct Open {
    pub follow: bool,
    pub read: bool,
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
}

/// A file or directory that is open. It lasts at least as long as this, also without a name.
pub struct Node {
    tree: Arc<Mutex<Tree>>,
    inode: u64,
}

/// An open file, with the offset that its reads and writes share.
pub struct TmpfsFile {
    node: Node,
    offset: Mutex<u64>,
    read: bool,
    write: bool,
}

/// What a path was opened to be.
pub enum Opened {
    File(TmpfsFile),
    Directory(Node),
}

impl Drop for Node {
    fn drop(&mut self) {
        lock(&self.tree).release(self.inode);
    }
}

impl Node {
    /// A new file system of `size` bytes: its first directory.
    pub fn new(size: u64) -> Node {
        let (tree, inode) = Tree::new(size);
        let tree = Arc::new(Mutex::new(tree));
        Node { tree, inode }
    }

    /// The file system that it belongs to.
    pub fn file_system(&self) -> Arc<Mutex<Tree>> {
        self.tree.clone()
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    /// Its device and number, which tell it from all other files.
    pub fn id(&self) -> (u64, u64) {
        (tree::DEVICE, self.inode)
    }

    pub fn stat(&self) -> Result<Stat> {
        self.tree().stat(self.inode)
    }

    pub fn set_times(&self, times: Times) -> Result<()> {
        self.tree().set_times(self.inode, times)
    }

    pub fn stat_path(&self, path: &str, follow: bool) -> Result<Stat> {
        let tree = self.tree();
        let inode = tree.find(self.inode, path, follow)?;
        tree.stat(inode)
    }

    pub fn set_path_times(&self, path: &str, follow: bool, times: Times) -> Result<()> {
        let mut tree = self.tree();
        let inode = tree.find(self.inode, path, follow)?;
        tree.set_times(inode, times)
    }

    pub fn create_dir(&self, path: &str) -> Result<()> {
        self.tree().create_dir(self.inode, path)
    }

    pub fn remove_dir(&self, path: &str) -> Result<()> {
        self.tree().remove_dir(self.inode, path)
    }

    pub fn remove_file(&self, path: &str) -> Result<()> {
        self.tree().remove_file(self.inode, path)
    }

    pub fn symlink(&self, target: &str, path: &str) -> Result<()> {
        self.tree().symlink(self.inode, target, path)
    }

    pub fn read_link(&self, path: &str) -> Result<String> {
        self.tree().read_link(self.inode, path)
    }

    /// # Errors
    /// EXDEV if `new` is of another file system.
    pub fn hard_link(&self, old_path: &str, new: &Node, new_path: &str) -> Result<()> {
        self.same_tree(new)?;
        self.tree().hard_link(self.inode, old_path, new.inode, new_path)
    }

    /// # Errors
    /// EXDEV if `new` is of another file system.
    pub fn rename(&self, old_path: &str, new: &Node, new_path: &str) -> Result<()> {
        self.same_tree(new)?;
        self.tree().rename(self.inode, old_path, new.inode, new_path)
    }

    fn same_tree(&self, other: &Node) -> Result<()> {
        if Arc::ptr_eq(&self.tree, &other.tree) {
            Ok(())
        } else {
            Err(Errno::Xdev)
        }
    }

    /// The entries of a directory, without `.` and `..`.
    pub fn list(&self) -> Result<Vec<Entry>> {
        self.tree().list(self.inode)
    }

    pub fn open(&self, path: &str, how: Open) -> Result<Opened> {
        let mut tree = self.tree();
        let inode = tree.open(self.inode, path, how)?;
        let node = Node {
            tree: self.tree.clone(),
            inode,
        };
        Ok(match tree.kind(inode) {
            Kind::Directory { .. } => Opened::Directory(node),
            _ => Opened::File(TmpfsFile {
                node,
                offset: Mutex::new(0),
                read: how.read,
                write: how.write,
            }),
        })
    }
}

impl TmpfsFile {
    /// The file.
    pub fn node(&self) -> &Node {
        &self.node
    }

    pub fn read(&self, bytes: &mut [u8]) -> Result<usize> {
        let mut offset = lock(&self.offset);
        let count = self.read_at(bytes, *offset)?;
        *offset += count as u64;
        Ok(count)
    }

    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        check_offset(offset)?;
        allowed(self.read)?;
        Ok(self.node.tree().data(self.node.inode)?.read(bytes, offset))
    }

    pub fn write(&self, bytes: &[u8], append: bool) -> Result<usize> {
        allowed(self.write)?;
        let mut offset = lock(&self.offset);
        let (at, count) = self.node.tree().write(self.node.inode, bytes, *offset, append)?;
        if count > 0 {
            *offset = at + count as u64;
        }
        Ok(count)
    }

    pub fn write_at(&self, bytes: &[u8], offset: u64, append: bool) -> Result<usize> {
        check_offset(offset)?;
        allowed(self.write)?;
        let (_, count) = self.node.tree().write(self.node.inode, bytes, offset, append)?;
        Ok(count)
    }

    /// Moves the offset to `by` from the start, from where it is, or from the end. Returns the new one.
    pub fn seek(&self, by: i64, whence: u8) -> Result<u64> {
        let mut offset = lock(&self.offset);
        let from = match whence {
            0 => 0,
            1 => *offset,
            _ => self.node.tree().data(self.node.inode)?.len(),
        };
        let to = (from as i64).checked_add(by).and_then(|to| u64::try_from(to).ok());
        *offset = to.ok_or(Errno::Inval)?;
        Ok(*offset)
    }

    pub fn offset(&self) -> u64 {
        *lock(&self.offset)
    }

    /// What a device calls the file by that has its data, and how it is open, with more flags of the device's.
    pub fn target(&self, flags: u32) -> Option<u64> {
        let read = if self.read { TMPFS_READ } else { 0 };
        let write = if self.write { TMPFS_WRITE } else { 0 };
        self.node.tree().target(self.node.inode, read | write | flags)
    }

    pub fn set_len(&self, len: u64) -> Result<()> {
        check_offset(len)?;
        if !self.write {
            return Err(Errno::Inval);
        }
        self.node.tree().set_len(self.node.inode, len)
    }
}

/// Offsets are signed.
fn check_offset(offset: u64) -> Result<()> {
    i64::try_from(offset).map(|_| ()).map_err(|_| Errno::Inval)
}

/// Whether the file was opened for that.
fn allowed(opened_for: bool) -> Result<()> {
    if opened_for { Ok(()) } else { Err(Errno::Badf) }
}
