//! While a run is under way its device may hold the data of files, so that it reads and writes them by itself: see
//! `kernel/rpc/tmpfs.h`. The tree keeps names, links and times, and knows of the data only what the device tells in
//! memory that both reach. At the end of the run it gets the data back, or never.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::ThreadId;

use super::super::args::Result;
use super::super::errno::Errno;
use super::data::PAGE;
use super::tree::{Kind, Tree};
use crate::layout::{TMPFS_FLAG_SHIFT, TmpfsAttributes};

/// A file's pages by number.
pub type Pages = BTreeMap<u64, Box<[u8; PAGE]>>;

/// Files that a device may hold at most: what it knows of each takes memory.
const MOST_INODES: u64 = 1 << 18;
/// Of the file system's size, the share that is kept for what the host has of files: names, links and records.
const HOST_SHARE: u64 = 8;

/// What device and host tell each other of files.
#[derive(Clone, Copy)]
pub struct Attributes(*mut TmpfsAttributes);

// SAFETY: the memory is there as long as the lease, and all access to it is atomic.
unsafe impl Send for Attributes {}

impl Attributes {
    /// # Safety
    ///
    /// There must be as many as the lease has inodes, aligned, until the lease ends.
    pub unsafe fn new(at: *mut TmpfsAttributes) -> Attributes {
        Attributes(at)
    }

    fn word(&self, inode: u32, at: usize) -> &AtomicU64 {
        // SAFETY: a field of 8 bytes of one of the lease's, by the promise of `new`.
        unsafe { AtomicU64::from_ptr(self.0.add(inode as usize).byte_add(at).cast()) }
    }

    /// Bytes of the file.
    fn size(&self, inode: u32) -> u64 {
        // Relaxed: the request that asks has come after what it must see.
        self.word(inode, offset_of!(TmpfsAttributes, size))
            .load(Ordering::Relaxed)
    }

    /// When the device last changed it; 0: not yet.
    fn written(&self, inode: u32) -> u64 {
        // Relaxed: as above.
        self.word(inode, offset_of!(TmpfsAttributes, written))
            .load(Ordering::Relaxed)
    }

    /// How often the device has freed the inode. Acquire: pairs with the release in `free_tmpfs` of
    /// `kernel/rpc/tmpfs.h`; the inode's size is that of a new file then.
    fn generation(&self, inode: u32) -> u32 {
        let word = self.word(inode, offset_of!(TmpfsAttributes, generation)).as_ptr();
        // SAFETY: a field of 4 bytes, as above.
        unsafe { AtomicU32::from_ptr(word.cast()) }.load(Ordering::Acquire)
    }
}

/// What the tree knows of a file's data while a device holds it.
#[derive(Clone, Copy)]
pub struct Lent {
    pub inode: u32,
    /// What the device last wrote before the host set the time of modification.
    written_then: u64,
}

/// That a device holds the data of files.
pub struct DeviceLease {
    attributes: Attributes,
    /// How often each of the device's inodes was freed, or will have been by the threads that are told.
    generations: Vec<u32>,
    /// Inodes without a file.
    free: VecDeque<u32>,
    /// Inodes that the device must free, as it names them. With each, the host thread in whose call they came to that,
    /// if no other thread is to tell the device.
    gone: Vec<(u64, Option<ThreadId>)>,
    /// The budget's size before.
    size: u64,
}

/// A file as it is lent.
pub struct LentFile {
    pub inode: u32,
    pub size: u64,
    pub pages: Pages,
}

/// The name that a device has for a file.
fn target(inode: u32, generation: u32, flags: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(flags << TMPFS_FLAG_SHIFT) | u64::from(inode + 1)
}

impl DeviceLease {
    /// An inode for a new file.
    fn take(&mut self) -> Option<u32> {
        for _ in 0..self.free.len() {
            let inode = self.free.pop_front()?;
            if self.attributes.generation(inode) == self.generations[inode as usize] {
                return Some(inode);
            }
            // The device thread that was told to free it has not yet.
            self.free.push_back(inode);
        }
        None
    }

    fn give(&mut self, inode: u32) {
        let generation = &mut self.generations[inode as usize];
        let here = std::thread::current().id();
        self.gone.push((target(inode, *generation, 0), Some(here)));
        *generation = generation.wrapping_add(1);
        self.free.push_back(inode);
    }
}

impl Tree {
    fn files(&self) -> usize {
        let files = self.nodes.values().filter(|node| matches!(node.kind, Kind::File(_)));
        files.count()
    }

    /// Inodes that a device needs to hold the files.
    pub fn inodes(&self) -> u32 {
        let least = 2 * self.files() as u64;
        (self.budget.size / PAGE as u64 + 16).min(MOST_INODES).max(least) as u32
    }

    /// Lends the data of all files, with `inodes` of the device's. Returns them, and how many pages the device may have
    /// for data in all.
    ///
    /// # Errors
    /// EBUSY if they are lent already, EIO if data was lost, ENOSPC if there are more files than inodes.
    pub fn lend(&mut self, attributes: Attributes, inodes: u32) -> Result<(u64, Vec<LentFile>)> {
        if self.lease.is_some() {
            return Err(Errno::Busy);
        }
        if self.lost {
            return Err(Errno::Io);
        }
        if self.files() > inodes as usize {
            return Err(Errno::Nospc);
        }
        let mut free: VecDeque<u32> = (0..inodes).collect();
        let mut files = Vec::new();
        let mut lent = Vec::new();
        for (number, node) in &mut self.nodes {
            let Kind::File(data) = &mut node.kind else { continue };
            let inode = free.pop_front().ok_or(Errno::Nospc)?;
            let (size, pages) = data.lend(Lent { inode, written_then: 0 });
            attributes
                .word(inode, offset_of!(TmpfsAttributes, size))
                .store(size, Ordering::Relaxed);
            files.push(LentFile { inode, size, pages });
            lent.push(*number);
        }
        let size = self.budget.size;
        let data = (files.iter().map(|file| file.pages.len()).sum::<usize>() * PAGE) as u64;
        self.budget.used -= data;
        let host = (size / HOST_SHARE).min(size - data).max(self.budget.used);
        let pages = (size - host) / PAGE as u64;
        self.budget.size -= pages * PAGE as u64;
        self.lease = Some(DeviceLease {
            attributes,
            generations: vec![0; inodes as usize],
            free,
            gone: Vec::new(),
            size,
        });
        lent.into_iter().for_each(|number| self.publish(number));
        Ok((pages, files))
    }

    /// Whether the data of files is lent.
    pub fn is_lent(&self) -> bool {
        self.lease.is_some()
    }

    /// What the device is called a file by, with flags of how it is open; `None` if it has not lent it.
    pub fn target(&self, number: u64, flags: u32) -> Option<u64> {
        let lent = self.lent(number)?;
        let generation = self.lease.as_ref()?.generations[lent.inode as usize];
        Some(target(lent.inode, generation, flags))
    }

    fn lent(&self, number: u64) -> Option<Lent> {
        match &self.node(number).kind {
            Kind::File(data) => data.lent(),
            _ => None,
        }
    }

    /// Has the device hold a file that is to be made.
    ///
    /// # Errors
    /// ENOSPC if it can hold no more.
    pub fn lend_new(&mut self, kind: &mut Kind) -> Result<()> {
        if let (Some(lease), Kind::File(data)) = (&mut self.lease, kind) {
            let inode = lease.take().ok_or(Errno::Nospc)?;
            data.lend(Lent { inode, written_then: 0 });
        }
        Ok(())
    }

    /// A file is gone: the device must free what it holds of it.
    pub fn give_inode(&mut self, lent: Lent) {
        if let Some(lease) = &mut self.lease {
            lease.give(lent.inode);
        }
    }

    /// Takes what the device must free next, of what this host thread has come to or what was left over.
    pub fn take_gone(&mut self) -> Option<u64> {
        let gone = &mut self.lease.as_mut()?.gone;
        let here = std::thread::current().id();
        let own = gone.iter().position(|(_, thread)| *thread == Some(here));
        let at = own.or_else(|| gone.iter().position(|(_, thread)| thread.is_none()))?;
        let (target, _) = gone.swap_remove(at);
        // An answer tells of one.
        self.leave_gone();
        Some(target)
    }

    /// What this host thread has come to goes with the next answers, whose ever they are.
    pub fn leave_gone(&mut self) {
        let here = std::thread::current().id();
        let gone = self.lease.iter_mut().flat_map(|lease| &mut lease.gone);
        gone.filter(|(_, thread)| *thread == Some(here))
            .for_each(|(_, thread)| *thread = None);
    }

    /// Size, and times of modification and change, of a file.
    pub fn told(&self, number: u64) -> (u64, u64, u64) {
        let node = self.node(number);
        let own = |size| (size, node.modified, node.changed);
        let Kind::File(data) = &node.kind else { return own(0) };
        let (Some(lease), Some(lent)) = (&self.lease, data.lent()) else {
            return own(data.len());
        };
        let written = lease.attributes.written(lent.inode);
        let modified = if written == lent.written_then {
            node.modified
        } else {
            written
        };
        (lease.attributes.size(lent.inode), modified, node.changed.max(written))
    }

    /// The host has set a file's time of modification: what the device wrote before counts no more.
    pub fn set_written(&mut self, number: u64) {
        let Some(mut lent) = self.lent(number) else { return };
        let Some(lease) = &self.lease else { return };
        lent.written_then = lease.attributes.written(lent.inode);
        if let Kind::File(data) = &mut self.node_mut(number).kind {
            data.lend(lent);
        }
    }

    /// Tells the device what has changed of a node, if that is a file that it holds.
    pub fn publish(&self, number: u64) {
        let (Some(lease), Some(lent)) = (&self.lease, self.lent(number)) else {
            return;
        };
        let node = self.node(number);
        let word = |at| lease.attributes.word(lent.inode, at);
        // Relaxed: the thread that is to see them is told by an answer.
        word(offset_of!(TmpfsAttributes, number)).store(number, Ordering::Relaxed);
        word(offset_of!(TmpfsAttributes, links)).store(node.links, Ordering::Relaxed);
        word(offset_of!(TmpfsAttributes, accessed)).store(node.accessed, Ordering::Relaxed);
        word(offset_of!(TmpfsAttributes, modified)).store(node.modified, Ordering::Relaxed);
        word(offset_of!(TmpfsAttributes, changed)).store(node.changed, Ordering::Relaxed);
        // Release: pairs with the acquire in `stat_tmpfs` of `kernel/rpc/tmpfs_calls.h`, which has the time that belongs to it.
        word(offset_of!(TmpfsAttributes, written_then)).store(lent.written_then, Ordering::Release);
    }

    /// Inodes of the device's that have files.
    pub fn lent_inodes(&self) -> Vec<u32> {
        let lent = self.nodes.keys().filter_map(|number| self.lent(*number));
        lent.map(|lent| lent.inode).collect()
    }

    /// Ends the lease. Files have the pages that came back by their inodes; data that did not is lost.
    pub fn end_loan(&mut self, mut back: HashMap<u32, Pages>) {
        let numbers: Vec<u64> = self.nodes.keys().copied().collect();
        let (mut pages, mut lost) = (0, false);
        for number in numbers {
            let Some(lent) = self.lent(number) else { continue };
            let (size, modified, changed) = self.told(number);
            let node = self.node_mut(number);
            (node.modified, node.changed) = (modified, changed);
            if let Kind::File(data) = &mut node.kind {
                pages += data.end_loan(size, back.remove(&lent.inode));
                lost |= data.here().is_err();
            }
        }
        self.lost |= lost;
        if let Some(lease) = self.lease.take() {
            self.budget.size = lease.size;
            self.budget.used += (pages * PAGE) as u64;
        }
    }
}
