//! Descriptors by number.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use crossbeam_utils::sync::ShardedLock;

use super::args::Result;
use super::dir::Directory;
use super::errno::Errno;
use super::file::File;
use super::sock::{Connection, Listener};
use super::stdio::{Output, Stdin};

/// Descriptors that a guest may have: those of files in memory take none of the host's, which would run out.
const MOST: usize = 1 << 20;

/// What a descriptor stands for.
pub enum Descriptor {
    Stdin(Stdin),
    Output(Output),
    Directory(Directory),
    File(File),
    Listener(Listener),
    Connection(Connection),
}

impl Descriptor {
    /// The file.
    ///
    /// # Errors
    /// EBADF if it is something else.
    pub fn file(&self) -> Result<&File> {
        match self {
            Descriptor::File(file) => Ok(file),
            _ => Err(Errno::Badf),
        }
    }

    /// The file, of a function that needs an offset.
    ///
    /// # Errors
    /// ESPIPE for streams, EBADF for directories.
    pub fn seekable(&self) -> Result<&File> {
        match self {
            Descriptor::File(file) => Ok(file),
            Descriptor::Directory(_) => Err(Errno::Badf),
            _ => Err(Errno::Spipe),
        }
    }

    /// The directory.
    ///
    /// # Errors
    /// EBADF if it is something else.
    pub fn directory(&self) -> Result<&Directory> {
        match self {
            Descriptor::Directory(directory) => Ok(directory),
            _ => Err(Errno::Badf),
        }
    }
}

/// The descriptors of a process. Its functions may be called by several threads at once: who uses a
/// descriptor keeps it, so that it is safe to close it meanwhile.
pub struct Table {
    /// Nearly all calls only read, from several threads at once: they do not wait for each other's cache lines.
    slots: ShardedLock<Slots>,
}

struct Slots {
    used: Vec<Option<Arc<Descriptor>>>,
    /// Indices of `None` in `used`.
    free: BTreeSet<u32>,
}

impl Slots {
    fn get(&self, fd: u32) -> Result<&Arc<Descriptor>> {
        self.used.get(fd as usize).and_then(Option::as_ref).ok_or(Errno::Badf)
    }

    fn take(&mut self, fd: u32) -> Result<Arc<Descriptor>> {
        let slot = self.used.get_mut(fd as usize).ok_or(Errno::Badf)?;
        let descriptor = slot.take().ok_or(Errno::Badf)?;
        self.free.insert(fd);
        Ok(descriptor)
    }
}

impl Table {
    /// Gives the descriptors the numbers from 0 on.
    pub fn new(descriptors: impl Iterator<Item = Descriptor>) -> Self {
        let used = descriptors.map(|descriptor| Some(Arc::new(descriptor))).collect();
        Table {
            slots: ShardedLock::new(Slots {
                used,
                free: BTreeSet::new(),
            }),
        }
    }

    fn read<T>(&self, use_slots: impl FnOnce(&Slots) -> T) -> T {
        use_slots(&self.slots.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, use_slots: impl FnOnce(&mut Slots) -> T) -> T {
        use_slots(&mut self.slots.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The descriptor of a number.
    ///
    /// # Errors
    /// EBADF if there is none.
    pub fn get(&self, fd: u32) -> Result<Arc<Descriptor>> {
        self.read(|slots| slots.get(fd).cloned())
    }

    /// All numbers that stand for something.
    pub fn numbers(&self) -> Vec<u32> {
        let used = |slots: &Slots| {
            let used = (0u32..).zip(&slots.used);
            used.filter(|(_, slot)| slot.is_some()).map(|(fd, _)| fd).collect()
        };
        self.read(used)
    }

    /// Gives a descriptor the lowest free number; it may have others already.
    ///
    /// # Errors
    /// EMFILE if the guest has as many as it may have.
    pub fn insert(&self, descriptor: impl Into<Arc<Descriptor>>) -> Result<u32> {
        let descriptor = descriptor.into();
        self.write(|slots| match slots.free.pop_first() {
            Some(fd) => {
                slots.used[fd as usize] = Some(descriptor);
                Ok(fd)
            }
            None if slots.used.len() >= MOST => Err(Errno::Mfile),
            None => {
                let fd = slots.used.len() as u32;
                slots.used.push(Some(descriptor));
                Ok(fd)
            }
        })
    }

    /// Frees a number. What it stood for is closed when no call uses it any more.
    ///
    /// # Errors
    /// EBADF if it stands for nothing.
    pub fn close(&self, fd: u32) -> Result<()> {
        // Dropped behind the lock: closing a file may take long.
        let closed = self.write(|slots| slots.take(fd));
        closed.map(drop)
    }

    /// Moves a descriptor to the number of another one, which is closed.
    ///
    /// # Errors
    /// EBADF if one of both stands for nothing.
    pub fn renumber(&self, from: u32, to: u32) -> Result<()> {
        let closed = self.write(|slots| {
            slots.get(from)?;
            slots.get(to)?;
            if from == to {
                return Ok(None);
            }
            let moved = slots.take(from)?;
            Ok(slots.used[to as usize].replace(moved))
        });
        closed.map(drop)
    }
}
