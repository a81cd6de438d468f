//! Where files lie: on the host, or in memory. Each has the same functions, which differ in nothing that a guest
//! sees but for what is named here.
//!
//! On the host, `cap-std` resolves each path beneath the directory's descriptor, with the host's own means where
//! there are any (`openat2`).

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use super::args::Result;
use super::errno::Errno;
use super::readdir::Entry;
use super::stat::{Stat, Times, filetype_of};
use super::tmpfs::{Node, TmpfsFile};
use super::{fdflags, file, retry};

/// A directory, and all below it.
pub enum Tree {
    Host(Arc<Dir>),
    Tmpfs(Node),
}

/// An open file.
pub enum Data {
    Host(fs::File),
    Tmpfs(TmpfsFile),
}

impl Tree {
    pub fn stat(&self) -> Result<Stat> {
        match self {
            Tree::Host(dir) => Ok(dir.dir_metadata()?.into()),
            Tree::Tmpfs(node) => node.stat(),
        }
    }

    pub fn stat_path(&self, path: &str, follow: bool) -> Result<Stat> {
        match self {
            Tree::Host(dir) if follow => Ok(dir.metadata(path)?.into()),
            Tree::Host(dir) => Ok(dir.symlink_metadata(path)?.into()),
            Tree::Tmpfs(node) => node.stat_path(path, follow),
        }
    }

    pub fn set_times(&self, times: Times) -> Result<()> {
        match self {
            Tree::Host(dir) => Ok(dir.set_times(".", times.accessed, times.modified)?),
            Tree::Tmpfs(node) => node.set_times(times),
        }
    }

    pub fn set_path_times(&self, path: &str, follow: bool, times: Times) -> Result<()> {
        match self {
            Tree::Host(dir) if follow => Ok(dir.set_times(path, times.accessed, times.modified)?),
            Tree::Host(dir) => Ok(dir.set_symlink_times(path, times.accessed, times.modified)?),
            Tree::Tmpfs(node) => node.set_path_times(path, follow, times),
        }
    }

    pub fn create_dir(&self, path: &str) -> Result<()> {
        match self {
            Tree::Host(dir) => Ok(dir.create_dir(path)?),
            Tree::Tmpfs(node) => node.create_dir(path),
        }
    }

    pub fn remove_dir(&self, path: &str) -> Result<()> {
        // `cap-std` takes a slash at the end for `/.`, which cannot be removed.
        let path = match path.trim_end_matches('/') {
            "" => path,
            trimmed => trimmed,
        };
        match self {
            Tree::Host(dir) => Ok(dir.remove_dir(path)?),
            Tree::Tmpfs(node) => node.remove_dir(path),
        }
    }

    /// Removes a file or a symbolic link.
    pub fn remove_file(&self, path: &str) -> Result<()> {
        match self {
            Tree::Host(dir) => Ok(dir.remove_file_or_symlink(path)?),
            Tree::Tmpfs(node) => node.remove_file(path),
        }
    }

    pub fn symlink(&self, target: &str, path: &str) -> Result<()> {
        match self {
            // By name: the extension trait has a function of this name too.
            Tree::Host(dir) => Ok(DirExt::symlink(&**dir, target, path)?),
            Tree::Tmpfs(node) => node.symlink(target, path),
        }
    }

    pub fn read_link(&self, path: &str) -> Result<String> {
        match self {
            Tree::Host(dir) => {
                let target = dir.read_link(path)?;
                target.into_os_string().into_string().map_err(|_| Errno::Ilseq)
            }
            Tree::Tmpfs(node) => node.read_link(path),
        }
    }

    /// # Errors
    /// EXDEV from the host to memory or back, besides the others.
    pub fn hard_link(&self, old_path: &str, new: &Tree, new_path: &str) -> Result<()> {
        match (self, new) {
            (Tree::Host(old), Tree::Host(new)) => Ok(old.hard_link(old_path, new, new_path)?),
            (Tree::Tmpfs(old), Tree::Tmpfs(new)) => old.hard_link(old_path, new, new_path),
            _ => Err(Errno::Xdev),
        }
    }

    /// # Errors
    /// EXDEV from the host to memory or back, besides the others.
    pub fn rename(&self, old_path: &str, new: &Tree, new_path: &str) -> Result<()> {
        match (self, new) {
            (Tree::Host(old), Tree::Host(new)) => {
                if new_path.ends_with('/') && !old_path.ends_with('/') && !old_path.is_empty() {
                    // A slash after the new name asks for a directory as well; `cap-std` looks at the old one only.
                    Ok(old.rename(format!("{old_path}/"), new, new_path)?)
                } else {
                    Ok(old.rename(old_path, new, new_path)?)
                }
            }
            (Tree::Tmpfs(old), Tree::Tmpfs(new)) => old.rename(old_path, new, new_path),
            _ => Err(Errno::Xdev),
        }
    }

    /// The entries without `.` and `..`, in the host's order, or by name.
    pub fn list(&self) -> Result<Vec<Entry>> {
        use cap_fs_ext::MetadataExt;
        let dir = match self {
            Tree::Host(dir) => dir,
            Tree::Tmpfs(node) => return node.list(),
        };
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                // Removed since.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            entries.push(Entry {
                name: entry.file_name().into_string().map_err(|_| Errno::Ilseq)?,
                inode: metadata.ino(),
                filetype: filetype_of(metadata.file_type()),
            });
        }
        Ok(entries)
    }
}

impl Data {
    pub fn read(&self, bytes: &mut [u8]) -> Result<usize> {
        match self {
            Data::Host(file) => Ok(retry(|| {
                let mut file = file;
                file.read(bytes)
            })?),
            Data::Tmpfs(file) => file.read(bytes),
        }
    }

    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        match self {
            Data::Host(file) => Ok(retry(|| file::read_at(file, bytes, offset))?),
            Data::Tmpfs(file) => file.read_at(bytes, offset),
        }
    }

    /// Writes in one step, so that an append is one. `flags` are the `fdflags`, which the host has too.
    pub fn write(&self, bytes: &[u8], flags: u16) -> Result<usize> {
        match self {
            Data::Host(file) => Ok(retry(|| {
                let mut file = file;
                file.write(bytes)
            })?),
            Data::Tmpfs(file) => file.write(bytes, flags & fdflags::APPEND != 0),
        }
    }

    /// A file that is appended to is so whatever the offset says, as on Linux.
    pub fn write_at(&self, bytes: &[u8], offset: u64, flags: u16) -> Result<usize> {
        match self {
            Data::Host(file) => Ok(retry(|| file::write_at(file, bytes, offset))?),
            Data::Tmpfs(file) => file.write_at(bytes, offset, flags & fdflags::APPEND != 0),
        }
    }

    /// Moves the offset to `by` from the start, from where it is, or from the end.
    pub fn seek(&self, by: i64, whence: u8) -> Result<u64> {
        let mut file = match self {
            Data::Host(file) => file,
            Data::Tmpfs(file) => return file.seek(by, whence),
        };
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(by).map_err(|_| Errno::Inval)?),
            1 => SeekFrom::Current(by),
            _ => SeekFrom::End(by),
        };
        Ok(file.seek(to)?)
    }

    /// The offset, which stays as it is.
    pub fn offset(&self) -> Result<u64> {
        match self {
            Data::Host(file) => {
                let mut file = file;
                Ok(file.stream_position()?)
            }
            Data::Tmpfs(file) => Ok(file.offset()),
        }
    }

    pub fn set_len(&self, len: u64) -> Result<()> {
        match self {
            Data::Host(file) => Ok(file.set_len(len)?),
            Data::Tmpfs(file) => file.set_len(len),
        }
    }

    /// Memory has nothing to be written to.
    pub fn sync(&self, attributes: bool) -> Result<()> {
        match self {
            Data::Host(file) if attributes => Ok(file.sync_all()?),
            Data::Host(file) => Ok(file.sync_data()?),
            Data::Tmpfs(_) => Ok(()),
        }
    }

    pub fn stat(&self) -> Result<Stat> {
        match self {
            Data::Host(file) => Ok(Metadata::from_file(file)?.into()),
            Data::Tmpfs(file) => file.node().stat(),
        }
    }

    pub fn set_times(&self, times: Times) -> Result<()> {
        match self {
            Data::Host(file) => Ok(file.set_times(times.of_file())?),
            Data::Tmpfs(file) => file.node().set_times(times),
        }
    }
}
