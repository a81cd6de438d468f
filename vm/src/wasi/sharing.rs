//! Which files are open for reading, and which for writing: what a device may keep of their data.
//!
//! Files are known by what they are, not by a name: two names of one file are one here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::lock;
use crate::CacheHint;

/// A file on this machine: its device and its number there.
pub type FileId = (u64, u64);

/// How often a file is open.
#[derive(Default)]
struct Uses {
    reading: usize,
    writing: usize,
}

/// All regular files that a process has open.
#[derive(Clone, Default)]
pub struct Sharing(Arc<Mutex<HashMap<FileId, Uses>>>);

/// That a regular file is open, until it is dropped.
pub struct Share {
    sharing: Sharing,
    id: FileId,
    writes: bool,
}

impl Sharing {
    /// Notes that a file is open, and says what that means for the device.
    pub fn open(&self, id: FileId, writes: bool) -> (Share, CacheHint) {
        let mut files = lock(&self.0);
        let uses = files.entry(id).or_default();
        let note = match (writes, uses.reading) {
            (false, _) => CacheHint::Position,
            (true, 0) => CacheHint::None,
            (true, _) => CacheHint::Changes,
        };
        *if writes { &mut uses.writing } else { &mut uses.reading } += 1;
        let sharing = self.clone();
        (Share { sharing, id, writes }, note)
    }
}

impl Share {
    /// Whether the device may keep data that is read from now on.
    pub fn note(&self) -> CacheHint {
        let files = lock(&self.sharing.0);
        let written = files.get(&self.id).is_none_or(|uses| uses.writing > 0);
        if self.writes || written {
            CacheHint::None
        } else {
            CacheHint::Keep
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut files = lock(&self.sharing.0);
        if let Some(uses) = files.get_mut(&self.id) {
            *if self.writes {
                &mut uses.writing
            } else {
                &mut uses.reading
            } -= 1;
            if uses.reading + uses.writing == 0 {
                files.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_kept_only_without_writers() {
        let sharing = Sharing::default();
        let (reader, note) = sharing.open((1, 2), false);
        assert_eq!((note, reader.note()), (CacheHint::Position, CacheHint::Keep));
        let (other, note) = sharing.open((1, 3), true);
        assert_eq!((note, other.note()), (CacheHint::None, CacheHint::None));
        assert_eq!(reader.note(), CacheHint::Keep);
        let (writer, note) = sharing.open((1, 2), true);
        assert_eq!((note, reader.note()), (CacheHint::Changes, CacheHint::None));
        drop(writer);
        assert_eq!(reader.note(), CacheHint::Keep);
        drop((reader, other));
        assert!(lock(&sharing.0).is_empty());
    }
}
