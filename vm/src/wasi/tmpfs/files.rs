//! What a store needs to know of files in memory, to have its device hold their data.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::device_lease::{Attributes, LentFile, Pages};
use super::{TmpfsFile, Tree};
use crate::layout::{TMPFS_APPEND, TMPFS_DESCRIPTORS};
use crate::wasi::abi::fdflags;
use crate::wasi::args::{Args, Result};
use crate::wasi::errno::Errno;
use crate::wasi::place::Data;
use crate::wasi::table::Descriptor;
use crate::wasi::{Wasi, done, lock};
use crate::{CacheHint, CallingRun, HostReply};

/// Descriptors of files that a device holds are below.
pub const DESCRIPTORS: u32 = TMPFS_DESCRIPTORS as u32;

/// The device's flag of a descriptor with these `fdflags`.
pub fn append_flag(fdflags: u16) -> u32 {
    if fdflags & fdflags::APPEND != 0 {
        TMPFS_APPEND
    } else {
        0
    }
}

/// The files of [`WasiBuilder::tmpfs`](crate::WasiBuilder::tmpfs).
///
/// A [`Store`](crate::Store) may run a program with a [`Wasi`] that has such files. It takes their data into device
/// memory when a run begins, and brings it back at the end. It does not if
/// [`Environment::last`](crate::Environment::last) says that nothing will ask for it. So the data is there for the next
/// run, of any store. One run at a time can have it.
pub struct TmpfsFiles<'w> {
    wasi: &'w Wasi,
    tree: &'w Arc<Mutex<Tree>>,
}

/// An open file, as a device is told of it.
pub(crate) struct OpenFile {
    pub(crate) descriptor: u32,
    pub(crate) target: u64,
    pub(crate) offset: u64,
}

impl Wasi {
    /// The files whose data a device may hold.
    pub fn tmpfs_files(&self) -> Option<TmpfsFiles<'_>> {
        let tree = self.memory.as_ref()?;
        Some(TmpfsFiles { wasi: self, tree })
    }

    /// Whether a file is one whose data a device may hold.
    pub(in crate::wasi) fn is_in_memory(&self, file: &TmpfsFile) -> bool {
        let tree = self.memory.as_ref();
        tree.is_some_and(|tree| Arc::ptr_eq(tree, &file.node().file_system()))
    }

    /// Adds to an answer which file has gone with the call, if one has that a device holds.
    pub(in crate::wasi) fn with_gone(&self, run: CallingRun<'_>, reply: HostReply) -> HostReply {
        let Some(tree) = self.memory.as_ref().filter(|_| reply.note == CacheHint::None) else {
            return reply;
        };
        // No guest gets the answer to a call whose run has ended: what it has closed last, another one tells.
        let gone = run.unless_ended(|| lock(tree).take_gone()).unwrap_or_else(|| {
            lock(tree).leave_gone();
            None
        });
        HostReply {
            note: gone.map_or(CacheHint::None, CacheHint::Gone),
            ..reply
        }
    }

    pub(in crate::wasi) fn fd_renumber(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let (from, to) = (args.u32()?, args.u32()?);
        // The device could not find it there.
        if to >= DESCRIPTORS && self.tmpfs_file(from, |file| file.target(0)).flatten().is_some() {
            return Err(Errno::Mfile);
        }
        self.table.renumber(args.run, from, to)?;
        Ok(done())
    }

    /// Something of the file of a descriptor, if that is one in memory.
    fn tmpfs_file<T>(&self, fd: u32, of: impl FnOnce(&TmpfsFile) -> T) -> Option<T> {
        match &*self.table.get(fd).ok()? {
            Descriptor::File(file) => match &file.data {
                Data::Tmpfs(file) => Some(of(file)),
                Data::Host(_) => None,
            },
            _ => None,
        }
    }
}

impl TmpfsFiles<'_> {
    /// Inodes that a device needs for them.
    pub(crate) fn inodes(&self) -> u32 {
        lock(self.tree).inodes()
    }

    /// Lends the data of all files, with so many inodes. Returns it, and the pages that the device may have for data.
    ///
    /// # Errors
    /// A text that says why not: another run has it, or had it and has lost it.
    pub(crate) fn lend(
        &self,
        attributes: Attributes,
        inodes: u32,
    ) -> std::result::Result<(u64, Vec<LentFile>), &'static str> {
        lock(self.tree).lend(attributes, inodes).map_err(|error| match error {
            Errno::Io => "the files in memory were lost with an earlier run: it failed, or was to be the last",
            _ => "the files in memory are those of another run, which is still under way",
        })
    }

    /// Their descriptors, with what the device calls each file by.
    pub(crate) fn open_files(&self) -> Vec<OpenFile> {
        let mut found = Vec::new();
        for descriptor in self.wasi.table.numbers() {
            let Ok(open) = self.wasi.table.get(descriptor) else {
                continue;
            };
            let Descriptor::File(file) = &*open else { continue };
            let Data::Tmpfs(data) = &file.data else { continue };
            if let Some(target) = data.target(append_flag(file.flags())) {
                found.push(OpenFile {
                    descriptor,
                    target,
                    offset: data.offset(),
                });
            }
        }
        found
    }

    /// Sets the offset of an open file.
    pub(crate) fn set_offset(&self, open: &OpenFile, offset: u64) {
        // The device sets no impossible offset, so an error can be ignored.
        let set = |file: &TmpfsFile| file.seek(offset as i64, 0);
        self.wasi.tmpfs_file(open.descriptor, set);
    }

    /// Inodes of the device's that have files.
    pub(crate) fn lent_inodes(&self) -> Vec<u32> {
        lock(self.tree).lent_inodes()
    }

    /// Ends the lease, with the pages that came back. Those of other files are lost.
    pub(crate) fn end_loan(&self, back: HashMap<u32, Pages>) {
        lock(self.tree).end_loan(back);
    }
}
