//! What changes the names in a file system in memory.

use std::collections::BTreeMap;

use super::super::args::Result;
use super::super::errno::Errno;
use super::Open;
use super::data::Data;
use super::path::Place;
use super::tree::{Kind, Tree};

impl Tree {
    fn is_directory(&self, inode: u64) -> bool {
        matches!(self.node(inode).kind, Kind::Directory { .. })
    }

    /// The place of a name, which is not followed if it is a link. With a slash after it, it is, and must lead to a
    /// directory.
    fn name_place(&self, base: u64, path: &str) -> Result<Place> {
        let place = self.walk(base, path, false)?;
        if place.slash {
            self.entries(place.found()?)?;
        }
        Ok(place)
    }

    /// A name that nothing has yet.
    fn free_name(&self, place: &Place) -> Result<String> {
        match (&place.name, place.inode) {
            (Some(name), None) => Ok(name.clone()),
            _ => Err(Errno::Exist),
        }
    }

    /// Opens a node, and keeps it.
    pub fn open(&mut self, base: u64, path: &str, how: Open) -> Result<u64> {
        // A link is not followed where the name must be new.
        let follow = how.follow && !(how.create && how.exclusive);
        if how.create && path.ends_with('/') {
            let place = self.walk(base, trimmed(path), false)?;
            return Err(match place.name {
                None if how.exclusive => Errno::Exist,
                _ => Errno::Isdir,
            });
        }
        let place = self.walk(base, path, follow)?;
        let inode = match place.inode {
            Some(_) if how.create && how.exclusive => return Err(Errno::Exist),
            Some(inode) => {
                self.may_open(inode, &place, how)?;
                inode
            }
            None if !how.create => return Err(Errno::Noent),
            // A link that asks for a directory.
            None if place.slash => return Err(Errno::Isdir),
            None => {
                let name = self.free_name(&place)?;
                self.add(place.directory, &name, Kind::File(Data::default()))?
            }
        };
        // Of a file whose data a device has, the answer says so.
        if how.truncate && place.inode.is_some() && !self.is_lent() {
            self.set_len(inode, 0)?;
        }
        self.keep(inode);
        Ok(inode)
    }

    fn may_open(&self, inode: u64, place: &Place, how: Open) -> Result<()> {
        match &self.node(inode).kind {
            Kind::Directory { .. } if how.write || how.create || how.truncate => Err(Errno::Isdir),
            Kind::Directory { .. } => Ok(()),
            Kind::Link(_) => Err(Errno::Loop),
            Kind::File(_) if place.slash => Err(Errno::Notdir),
            Kind::File(_) => Ok(()),
        }
    }

    pub fn create_dir(&mut self, base: u64, path: &str) -> Result<()> {
        // A slash after the name of a link does not have it followed.
        let place = self.walk(base, trimmed(path), false)?;
        let name = self.free_name(&place)?;
        let kind = Kind::Directory {
            entries: BTreeMap::new(),
            parent: place.directory,
        };
        self.add(place.directory, &name, kind)?;
        Ok(())
    }

    pub fn remove_dir(&mut self, base: u64, path: &str) -> Result<()> {
        let place = self.walk(base, path, false)?;
        let inode = place.found()?;
        let entries = self.entries(inode)?;
        let name = place.name.as_ref().ok_or(Errno::Inval)?;
        if !entries.is_empty() {
            return Err(Errno::Notempty);
        }
        self.leave(place.directory, name)
    }

    pub fn remove_file(&mut self, base: u64, path: &str) -> Result<()> {
        let place = self.name_place(base, path)?;
        let inode = place.found()?;
        match &place.name {
            Some(name) if !self.is_directory(inode) => self.leave(place.directory, name),
            _ => Err(Errno::Isdir),
        }
    }

    pub fn symlink(&mut self, base: u64, target: &str, path: &str) -> Result<()> {
        if target.starts_with('/') {
            return Err(Errno::Perm);
        }
        let place = self.name_place(base, path)?;
        if target.is_empty() {
            return Err(Errno::Noent);
        }
        let name = self.free_name(&place)?;
        self.add(place.directory, &name, Kind::Link(target.to_owned()))?;
        Ok(())
    }

    pub fn read_link(&self, base: u64, path: &str) -> Result<String> {
        let inode = self.find(base, path, false)?;
        match &self.node(inode).kind {
            Kind::Link(target) => Ok(target.clone()),
            _ => Err(Errno::Inval),
        }
    }

    pub fn hard_link(&mut self, old_base: u64, old_path: &str, new_base: u64, new_path: &str) -> Result<()> {
        let old = self.name_place(old_base, old_path)?;
        let place = self.name_place(new_base, new_path)?;
        let inode = old.found()?;
        let name = self.free_name(&place)?;
        if self.is_directory(inode) {
            return Err(Errno::Perm);
        }
        self.enter(place.directory, &name, inode)
    }

    pub fn rename(&mut self, old_base: u64, old_path: &str, new_base: u64, new_path: &str) -> Result<()> {
        let slash = old_path.ends_with('/') || new_path.ends_with('/');
        let old = self.walk(old_base, trimmed(old_path), false)?;
        let new = self.walk(new_base, trimmed(new_path), false)?;
        let (Some(old_name), Some(new_name)) = (&old.name, &new.name) else {
            return Err(Errno::Busy);
        };
        let inode = old.found()?;
        let moves_directory = self.is_directory(inode);
        if slash && !moves_directory {
            return Err(Errno::Notdir);
        }
        if moves_directory && self.is_below(new.directory, inode) {
            return Err(Errno::Inval);
        }
        if let Some(replaced) = new.inode {
            if self.is_below(old.directory, replaced) {
                return Err(Errno::Notempty);
            }
            if replaced == inode {
                return Ok(());
            }
            match (moves_directory, self.is_directory(replaced)) {
                (true, false) => return Err(Errno::Notdir),
                (false, true) => return Err(Errno::Isdir),
                (true, true) if !self.entries(replaced)?.is_empty() => return Err(Errno::Notempty),
                _ => {}
            }
        }
        // The old name's room is the new one's. Kept meanwhile, as it has no name.
        self.keep(inode);
        self.leave(old.directory, old_name)?;
        let mut entered = self.enter(new.directory, new_name, inode);
        if entered.is_err() {
            entered = self.enter(old.directory, old_name, inode).and(entered);
        }
        self.release(inode);
        entered
    }

    /// Whether a directory is another one, or lies somewhere below it.
    fn is_below(&self, mut inode: u64, above: u64) -> bool {
        loop {
            let parent = self.parent(inode);
            if inode == above {
                return true;
            }
            if parent == inode {
                return false;
            }
            inode = parent;
        }
    }
}

/// Without slashes at its end, but for a path of nothing else.
fn trimmed(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed,
    }
}
