//! `fd_readdir`.
//!
//! A cookie is an index into a listing that is taken when cookie 0 is asked for, and kept. So a guest
//! that removes files while it goes through a directory misses none.

use std::sync::Arc;

use super::abi::filetype;
use super::args::{Args, Result};
use super::dir::Directory;
use super::{Wasi, lock, with_data};
use crate::HostReply;

/// Bytes of a `dirent`, which the name follows.
const DIRENT: usize = 24;

/// An entry of a directory.
pub struct Entry {
    pub name: String,
    pub inode: u64,
    pub filetype: u8,
}

impl Directory {
    /// Reads all entries, after `.` and `..`.
    fn list(&self) -> Result<Vec<Entry>> {
        let inode = self.tree.stat()?.inode;
        let dots = [".", ".."].map(|name| Entry {
            name: name.to_owned(),
            // Of `..` too: what is above a preopened directory is not the guest's business.
            inode,
            filetype: filetype::DIRECTORY,
        });
        let mut entries = Vec::from(dots);
        entries.extend(self.tree.list()?);
        Ok(entries)
    }

    /// The listing that a cookie belongs to.
    fn listing(&self, cookie: u64) -> Result<Arc<Vec<Entry>>> {
        let mut kept = lock(&self.listing);
        match &*kept {
            Some(listing) if cookie != 0 => Ok(listing.clone()),
            _ => Ok(kept.insert(Arc::new(self.list()?)).clone()),
        }
    }
}

impl Wasi {
    /// Fills the buffer, if need be with a part of the last entry: one that is not full says that the
    /// directory ends there.
    pub(super) fn fd_readdir(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        args.skip()?;
        args.skip()?;
        let cookie = args.u64()?;
        let listing = descriptor.directory()?.listing(cookie)?;
        let capacity = args.capacity;
        let first = usize::try_from(cookie).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        for (index, entry) in listing.iter().enumerate().skip(first) {
            if bytes.len() >= capacity {
                break;
            }
            bytes.extend_from_slice(&dirent(index, entry));
            bytes.extend_from_slice(entry.name.as_bytes());
        }
        bytes.truncate(capacity);
        Ok(with_data(bytes))
    }
}

fn dirent(index: usize, entry: &Entry) -> [u8; DIRENT] {
    let mut bytes = [0; DIRENT];
    bytes[..8].copy_from_slice(&(index as u64 + 1).to_le_bytes());
    bytes[8..16].copy_from_slice(&entry.inode.to_le_bytes());
    bytes[16..20].copy_from_slice(&(entry.name.len() as u32).to_le_bytes());
    bytes[20] = entry.filetype;
    bytes
}
