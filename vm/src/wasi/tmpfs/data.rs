//! The bytes of a file: pages, of which only those are there that were written.

use super::super::args::Result;
use super::super::errno::Errno;
use super::device_lease::{Lent, Pages};

/// A page is as large as a block of the device, which takes pages as they are.
pub use crate::layout::TMPFS_BLOCK as PAGE;

/// Bytes that may still be used, of the size of the file system.
pub struct Budget {
    pub size: u64,
    pub used: u64,
}

impl Budget {
    /// # Errors
    /// ENOSPC if there is no room.
    pub fn take(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.size - self.used {
            return Err(Errno::Nospc);
        }
        self.used += bytes;
        Ok(())
    }

    pub fn give(&mut self, bytes: u64) {
        self.used -= bytes;
    }
}

#[derive(Default)]
pub struct Data {
    pages: Pages,
    len: u64,
    holder: Holder,
}

/// Which side has the data.
#[derive(Clone, Copy, Default)]
enum Holder {
    #[default]
    Here,
    Device(Lent),
    /// It was a device's, and is lost.
    Nobody,
}

/// A range within a page.
struct Piece {
    page: u64,
    at: usize,
    count: usize,
}

/// The piece of a range of `left` bytes at `offset`.
fn piece(offset: u64, left: usize) -> Piece {
    let at = (offset % PAGE as u64) as usize;
    Piece {
        page: offset / PAGE as u64,
        at,
        count: left.min(PAGE - at),
    }
}

impl Data {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// # Errors
    /// EIO if it is not here.
    pub fn here(&self) -> Result<()> {
        match self.holder {
            Holder::Here => Ok(()),
            _ => Err(Errno::Io),
        }
    }

    /// What is known of it while a device has it.
    pub fn lent(&self) -> Option<Lent> {
        match self.holder {
            Holder::Device(lent) => Some(lent),
            _ => None,
        }
    }

    /// From now on a device has the data. Returns its length and its pages.
    pub fn lend(&mut self, lent: Lent) -> (u64, Pages) {
        self.holder = Holder::Device(lent);
        (std::mem::take(&mut self.len), std::mem::take(&mut self.pages))
    }

    /// The data is here again, or lost. Returns the number of its pages.
    pub fn end_loan(&mut self, len: u64, back: Option<Pages>) -> usize {
        self.holder = match back {
            None if len > 0 => Holder::Nobody,
            _ => Holder::Here,
        };
        self.len = len;
        self.pages = back.unwrap_or_default();
        // A run that was stopped may leave what its last call did not come to tell of.
        self.pages.split_off(&len.div_ceil(PAGE as u64));
        self.clear_tail();
        self.pages.len()
    }

    /// What lies past the end must be 0 if the file grows again.
    fn clear_tail(&mut self) {
        let at = (self.len % PAGE as u64) as usize;
        if let Some(page) = self.pages.get_mut(&(self.len / PAGE as u64)) {
            page[at..].fill(0);
        }
    }

    /// Reads what there is. Holes are 0.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> usize {
        let total = (bytes.len() as u64).min(self.len.saturating_sub(offset)) as usize;
        let mut done = 0;
        while done < total {
            let Piece { page, at, count } = piece(offset + done as u64, total - done);
            let to = &mut bytes[done..done + count];
            match self.pages.get(&page) {
                Some(page) => to.copy_from_slice(&page[at..at + count]),
                None => to.fill(0),
            }
            done += count;
        }
        total
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// ENOSPC if that is nothing, EFBIG at the highest offset.
    pub fn write(&mut self, bytes: &[u8], offset: u64, budget: &mut Budget) -> Result<usize> {
        let most = (i64::MAX as u64).saturating_sub(offset);
        let total = bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        if total == 0 && !bytes.is_empty() {
            return Err(Errno::Fbig);
        }
        let mut done = 0;
        while done < total {
            let Piece { page, at, count } = piece(offset + done as u64, total - done);
            if !self.pages.contains_key(&page) {
                match budget.take(PAGE as u64) {
                    Ok(()) => {}
                    Err(_) if done > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE]));
            page[at..at + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
        if done > 0 {
            self.len = self.len.max(offset + done as u64);
        }
        Ok(done)
    }

    /// Cuts or extends; what comes new is a hole.
    pub fn set_len(&mut self, len: u64, budget: &mut Budget) {
        let cuts = len < self.len;
        self.len = len;
        if cuts {
            let cut = self.pages.split_off(&len.div_ceil(PAGE as u64));
            budget.give((cut.len() * PAGE) as u64);
            self.clear_tail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_free_and_zero_and_cut_bytes_stay_away() {
        let mut budget = Budget {
            size: 3 * PAGE as u64,
            used: 0,
        };
        let mut data = Data::default();
        assert_eq!(data.write(b"abc", 1 << 40, &mut budget), Ok(3));
        assert_eq!((data.len(), budget.used), ((1 << 40) + 3, PAGE as u64));
        let mut bytes = [7; 5];
        assert_eq!(data.read(&mut bytes, (1 << 40) - 2), 5);
        assert_eq!(bytes, *b"\0\0abc");
        data.set_len((1 << 40) + 1, &mut budget);
        data.set_len((1 << 40) + 9, &mut budget);
        assert_eq!(data.read(&mut bytes, 1 << 40), 5);
        assert_eq!(bytes, *b"a\0\0\0\0");
        data.set_len(0, &mut budget);
        assert_eq!(budget.used, 0);
    }

    #[test]
    fn writes_end_where_the_room_does() {
        let mut budget = Budget {
            size: 2 * PAGE as u64,
            used: 0,
        };
        let mut data = Data::default();
        assert_eq!(data.write(&[1; 3 * PAGE], 10, &mut budget), Ok(2 * PAGE - 10));
        assert_eq!(data.write(&[1], 2 * PAGE as u64, &mut budget), Err(Errno::Nospc));
        // In pages that are there, there is room.
        assert_eq!(data.write(&[2; 8], 0, &mut budget), Ok(8));
        assert_eq!(data.write(&[1], i64::MAX as u64, &mut budget), Err(Errno::Fbig));
    }
}
