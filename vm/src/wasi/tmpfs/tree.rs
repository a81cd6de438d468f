//! The nodes of a file system in memory, and what is done with each.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use super::super::abi::filetype;
use super::super::args::Result;
use super::super::errno::Errno;
use super::super::readdir::Entry;
use super::super::stat::{Stat, Times, nanoseconds};
use super::data::{Budget, Data};
use super::device_lease::DeviceLease;

/// The device number of what lies in memory.
pub const DEVICE: u64 = u64::from_be_bytes(*b"gpu-run\0");
/// What a node and an entry are charged, besides data and name.
pub const NODE_BYTES: u64 = 256;
pub const ENTRY_BYTES: u64 = 64;

/// What a node is.
pub enum Kind {
    File(Data),
    Directory {
        entries: BTreeMap<String, u64>,
        parent: u64,
    },
    Link(String),
}

pub struct Inode {
    pub kind: Kind,
    /// Entries that name it. A directory that was removed has none.
    pub links: u64,
    opened: u64,
    pub accessed: u64,
    pub modified: u64,
    pub changed: u64,
}

pub struct Tree {
    pub nodes: HashMap<u64, Inode>,
    pub budget: Budget,
    /// That a device has the data of files.
    pub lease: Option<DeviceLease>,
    /// Whether data did not come back from a device.
    pub lost: bool,
    next: u64,
}

pub fn now() -> u64 {
    nanoseconds(SystemTime::now())
}

impl Inode {
    pub fn filetype(&self) -> u8 {
        match self.kind {
            Kind::File(_) => filetype::REGULAR_FILE,
            Kind::Directory { .. } => filetype::DIRECTORY,
            Kind::Link(_) => filetype::SYMBOLIC_LINK,
        }
    }

    /// Notes that its data, or its entries, are others now.
    pub fn touch(&mut self) {
        self.modified = now();
        self.changed = self.modified;
    }
}

impl Tree {
    /// A tree of `size` bytes, and its first directory, which is open.
    pub fn new(size: u64) -> (Tree, u64) {
        let mut tree = Tree {
            nodes: HashMap::new(),
            budget: Budget { size, used: 0 },
            lease: None,
            lost: false,
            next: 1,
        };
        let root = tree.next;
        let entries = BTreeMap::new();
        let kind = Kind::Directory { entries, parent: root };
        // It is there whatever the size.
        tree.insert(kind);
        tree.node_mut(root).links = 1;
        tree.node_mut(root).opened = 1;
        (tree, root)
    }

    /// A node that no entry names yet. Its bytes were taken before.
    fn insert(&mut self, kind: Kind) -> u64 {
        let (number, now) = (self.next, now());
        self.next += 1;
        let node = Inode {
            kind,
            links: 0,
            opened: 0,
            accessed: now,
            modified: now,
            changed: now,
        };
        self.nodes.insert(number, node);
        number
    }

    /// A node that a handle or an entry has, so it is there.
    pub fn node(&self, inode: u64) -> &Inode {
        &self.nodes[&inode]
    }

    pub fn node_mut(&mut self, inode: u64) -> &mut Inode {
        self.nodes.get_mut(&inode).expect("who names a node keeps it")
    }

    pub fn kind(&self, inode: u64) -> &Kind {
        &self.node(inode).kind
    }

    /// The entries of a directory.
    ///
    /// # Errors
    /// ENOTDIR if it is something else.
    pub fn entries(&self, inode: u64) -> Result<&BTreeMap<String, u64>> {
        match &self.node(inode).kind {
            Kind::Directory { entries, .. } => Ok(entries),
            _ => Err(Errno::Notdir),
        }
    }

    fn entries_mut(&mut self, inode: u64) -> Result<&mut BTreeMap<String, u64>> {
        match &mut self.node_mut(inode).kind {
            Kind::Directory { entries, .. } => Ok(entries),
            _ => Err(Errno::Notdir),
        }
    }

    /// The directory above one; the first is above itself.
    pub fn parent(&self, inode: u64) -> u64 {
        match self.node(inode).kind {
            Kind::Directory { parent, .. } => parent,
            _ => inode,
        }
    }

    /// A file's data.
    ///
    /// # Errors
    /// EISDIR if it is no file, EIO if a device has the data.
    pub fn data(&self, inode: u64) -> Result<&Data> {
        match &self.node(inode).kind {
            Kind::File(data) => data.here().map(|()| data),
            _ => Err(Errno::Isdir),
        }
    }

    /// Writes at an offset, or at the end. Returns where, and how much was written.
    pub fn write(&mut self, inode: u64, bytes: &[u8], offset: u64, append: bool) -> Result<(u64, usize)> {
        let Tree { nodes, budget, .. } = self;
        let node = nodes.get_mut(&inode).ok_or(Errno::Badf)?;
        let Kind::File(data) = &mut node.kind else {
            return Err(Errno::Isdir);
        };
        data.here()?;
        let at = if append { data.len() } else { offset };
        let count = data.write(bytes, at, budget)?;
        if count > 0 {
            node.touch();
        }
        Ok((at, count))
    }

    pub fn set_len(&mut self, inode: u64, len: u64) -> Result<()> {
        let Tree { nodes, budget, .. } = self;
        let node = nodes.get_mut(&inode).ok_or(Errno::Badf)?;
        let Kind::File(data) = &mut node.kind else {
            return Err(Errno::Inval);
        };
        data.here()?;
        data.set_len(len, budget);
        node.touch();
        Ok(())
    }

    /// Makes a node and its entry.
    ///
    /// # Errors
    /// ENOSPC, and ENOENT in a directory that was removed.
    pub fn add(&mut self, directory: u64, name: &str, mut kind: Kind) -> Result<u64> {
        let extra = match &kind {
            Kind::Link(target) => target.len() as u64,
            _ => 0,
        };
        self.can_enter(directory)?;
        self.budget.take(NODE_BYTES + extra)?;
        if let Err(error) = self.lend_new(&mut kind) {
            self.budget.give(NODE_BYTES + extra);
            return Err(error);
        }
        let inode = self.insert(kind);
        let entered = self.enter(directory, name, inode);
        if let Err(error) = entered {
            self.drop_unused(inode);
            return Err(error);
        }
        Ok(inode)
    }

    pub fn can_enter(&self, directory: u64) -> Result<()> {
        if self.node(directory).links == 0 {
            return Err(Errno::Noent);
        }
        Ok(())
    }

    /// Enters a node under a name, in place of another node if there is one of that name.
    pub fn enter(&mut self, directory: u64, name: &str, inode: u64) -> Result<()> {
        self.can_enter(directory)?;
        if !self.entries(directory)?.contains_key(name) {
            self.budget.take(ENTRY_BYTES + name.len() as u64)?;
        }
        let before = self.entries_mut(directory)?.insert(name.to_owned(), inode);
        self.node_mut(directory).touch();
        self.node_mut(inode).links += 1;
        self.node_mut(inode).changed = now();
        if let Kind::Directory { parent, .. } = &mut self.node_mut(inode).kind {
            *parent = directory;
        }
        self.publish(inode);
        if let Some(before) = before {
            self.unlink(before);
        }
        Ok(())
    }

    /// Takes a name away.
    pub fn leave(&mut self, directory: u64, name: &str) -> Result<()> {
        let inode = self.entries_mut(directory)?.remove(name).ok_or(Errno::Noent)?;
        self.budget.give(ENTRY_BYTES + name.len() as u64);
        self.node_mut(directory).touch();
        self.unlink(inode);
        Ok(())
    }

    fn unlink(&mut self, inode: u64) {
        let node = self.node_mut(inode);
        node.links -= 1;
        node.changed = now();
        self.publish(inode);
        self.drop_unused(inode);
    }

    /// A handle was made.
    pub fn keep(&mut self, inode: u64) {
        self.node_mut(inode).opened += 1;
    }

    /// A handle is gone.
    pub fn release(&mut self, inode: u64) {
        self.node_mut(inode).opened -= 1;
        self.drop_unused(inode);
    }

    fn drop_unused(&mut self, inode: u64) {
        let node = self.node(inode);
        if node.links > 0 || node.opened > 0 {
            return;
        }
        let Tree { nodes, budget, .. } = self;
        if let Some(mut node) = nodes.remove(&inode) {
            budget.give(NODE_BYTES);
            match &mut node.kind {
                Kind::File(data) => {
                    data.set_len(0, budget);
                    if let Some(lent) = data.lent() {
                        self.give_inode(lent);
                    }
                }
                Kind::Link(target) => budget.give(target.len() as u64),
                Kind::Directory { .. } => {}
            }
        }
    }

    pub fn stat(&self, inode: u64) -> Result<Stat> {
        let node = self.node(inode);
        let (file_size, modified, changed) = self.told(inode);
        let (links, size) = match &node.kind {
            Kind::File(_) => (node.links, file_size),
            Kind::Link(target) => (node.links, target.len() as u64),
            Kind::Directory { entries, .. } => {
                let is_directory = |inode: &&u64| matches!(self.node(**inode).kind, Kind::Directory { .. });
                let below = entries.values().filter(is_directory).count() as u64;
                // `.`, and `..` of those below.
                let own = if node.links > 0 { 2 } else { 0 };
                (own + below, 0)
            }
        };
        Ok(Stat {
            device: DEVICE,
            inode,
            filetype: node.filetype(),
            links,
            size,
            accessed: node.accessed,
            modified,
            changed,
        })
    }

    pub fn set_times(&mut self, inode: u64, times: Times) -> Result<()> {
        let node = self.node_mut(inode);
        node.accessed = times.accessed_nanoseconds().unwrap_or(node.accessed);
        node.changed = now();
        if let Some(modified) = times.modified_nanoseconds() {
            node.modified = modified;
            self.set_written(inode);
        }
        self.publish(inode);
        Ok(())
    }

    pub fn list(&self, inode: u64) -> Result<Vec<Entry>> {
        let entry = |(name, inode): (&String, &u64)| Entry {
            name: name.clone(),
            inode: *inode,
            filetype: self.node(*inode).filetype(),
        };
        Ok(self.entries(inode)?.iter().map(entry).collect())
    }
}
