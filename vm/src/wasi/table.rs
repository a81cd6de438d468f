//! Descriptors by number.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use crossbeam_utils::sync::ShardedLock;

use super::args::{Result, unless_ended};
use super::dir::Directory;
use super::errno::Errno;
use super::file::File;
use super::request::Request;
use super::sock::{Connection, Listener};
use super::stdio::{Output, Stdin};
use crate::CallingRun;

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
    Request(Arc<Request>),
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

/// The descriptors of a process. Its functions may be called by several threads at once. A call that uses a descriptor
/// keeps it, so that it is safe to close it meanwhile. Calls of a run change it only while that is under way. The next
/// run finds what its end has left, whatever calls have not come back by then.
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
    /// Assigns the descriptors the numbers from 0 on.
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

    /// Changes the table, for a call of that run.
    ///
    /// # Errors
    /// Those of the change, and ECANCELED if the run has ended.
    fn write<T>(&self, run: CallingRun<'_>, change: impl FnOnce(&mut Slots) -> Result<T>) -> Result<T> {
        unless_ended(run, || {
            change(&mut self.slots.write().unwrap_or_else(PoisonError::into_inner))
        })
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

    /// Assigns a descriptor the lowest free number; it may have others already.
    ///
    /// # Errors
    /// EMFILE if the guest has as many as it may have, ECANCELED if the run has ended.
    pub fn insert(&self, run: CallingRun<'_>, descriptor: impl Into<Arc<Descriptor>>) -> Result<u32> {
        self.insert_below(MOST as u32, run, descriptor)
    }

    /// The same with a number below `limit`.
    pub fn insert_below(&self, limit: u32, run: CallingRun<'_>, descriptor: impl Into<Arc<Descriptor>>) -> Result<u32> {
        // Dropped after the locks, if it is not taken: closing a file may take long.
        let mut descriptor = Some(descriptor.into());
        self.write(run, |slots| {
            let next = slots.used.len() as u32;
            let fd = slots.free.first().copied().unwrap_or(next);
            if fd >= limit.min(MOST as u32) {
                return Err(Errno::Mfile);
            }
            if !slots.free.remove(&fd) {
                slots.used.push(None);
            }
            slots.used[fd as usize] = descriptor.take();
            Ok(fd)
        })
    }

    /// Frees a number. What it stood for is closed when no call uses it any more.
    ///
    /// # Errors
    /// EBADF if it stands for nothing, ECANCELED if the run has ended.
    pub fn close(&self, run: CallingRun<'_>, fd: u32) -> Result<()> {
        // Dropped after the locks: closing a file may take long.
        let closed = self.write(run, |slots| {
            let taken = slots.take(fd)?;
            run.closed(fd);
            Ok(taken)
        });
        closed.map(drop)
    }

    /// Moves a descriptor to the number of another one, which is closed.
    ///
    /// # Errors
    /// EBADF if one of both stands for nothing, ECANCELED if the run has ended.
    pub fn renumber(&self, run: CallingRun<'_>, from: u32, to: u32) -> Result<()> {
        let closed = self.write(run, |slots| {
            slots.get(from)?;
            slots.get(to)?;
            if from == to {
                return Ok(None);
            }
            let moved = slots.take(from)?;
            run.closed(from);
            run.closed(to);
            Ok(slots.used[to as usize].replace(moved))
        });
        closed.map(drop)
    }
}
