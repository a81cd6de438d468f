//! Hazard pointers.

use core::cell::UnsafeCell;
use core::ptr;
use std::boxed::Box;
use std::vec::Vec;

use super::{Atomic, ByHazard, Removed, Retired};
use crate::sync::RawLock;
use crate::word::{Word32, WordPtr};

/// Values that are retired until one looks which can be freed.
const LOOKS: usize = 64;

/// One address that a thread reads, in a list of all such.
#[derive(Debug)]
struct Record {
    address: WordPtr<u8>,
    taken: Word32,
    next: *const Record,
}

static RECORDS: WordPtr<Record> = WordPtr::null();
static LOCK: RawLock = RawLock::new();
static RETIRED: Retireds = Retireds(UnsafeCell::new(Vec::new()));

struct Retireds(UnsafeCell<Vec<Retired>>);

// SAFETY: reached with `LOCK`.
unsafe impl Sync for Retireds {}

/// The right of a thread to say of one address at a time that it reads there.
///
/// ```
/// use gpu_std::reclaim::{Atomic, ByHazard, Hazard};
///
/// static LATEST: Atomic<u32, ByHazard> = Atomic::null();
/// let mut hazard = Hazard::new();
/// if let Some(old) = LATEST.swap(Some(Box::new(5))) {
///     Hazard::retire(old);
/// }
/// assert_eq!(hazard.load(&LATEST), Some(&5));
/// ```
#[derive(Debug)]
pub struct Hazard {
    record: &'static Record,
}

// SAFETY: a record is changed by one thread at a time, and read by others.
unsafe impl Send for Hazard {}

impl Hazard {
    /// Takes a record of the list, or makes one. Records stay for later use.
    pub fn new() -> Hazard {
        let first = RECORDS.get();
        let mut record: *const Record = first;
        // SAFETY: records stay; the list grows at its head alone.
        while let Some(found) = unsafe { record.as_ref() } {
            if found.taken.replace(0, 1).is_ok() {
                return Hazard { record: found };
            }
            record = found.next;
        }
        let made = Box::leak(Box::new(Record {
            address: WordPtr::null(),
            taken: Word32::new(1),
            next: first,
        }));
        let made: *mut Record = made;
        loop {
            // SAFETY: it is this thread's until it is in the list.
            let next = unsafe { (*made).next.cast_mut() };
            match RECORDS.replace(next, made) {
                // SAFETY: records stay.
                Ok(()) => {
                    return Hazard {
                        record: unsafe { &*made },
                    };
                }
                // SAFETY: as above.
                Err(found) => unsafe { (*made).next = found },
            }
        }
    }

    /// The value, which stays until the next load of this hazard pointer or its end.
    pub fn load<'h, T>(&'h mut self, atomic: &'h Atomic<T, ByHazard>) -> Option<&'h T> {
        loop {
            let found = atomic.pointer.get();
            // Said before it is read once more. Who retires it looks at the records after it was taken out: either it sees
            // this one, or it is not there any more below.
            self.record.address.set(found.cast());
            if atomic.pointer.get() == found {
                // SAFETY: it is not freed while a record has its address.
                return unsafe { found.as_ref() };
            }
        }
    }

    /// Drops a value once no hazard pointer has its address, in some thread.
    pub fn retire<T: Send + Sync + 'static>(removed: Removed<T, ByHazard>) {
        let retired = Retired::new(removed);
        let due = LOCK.with(|| {
            // SAFETY: with the lock.
            let all = unsafe { &mut *RETIRED.0.get() };
            all.push(retired);
            (all.len() >= LOOKS).then(|| core::mem::take(all))
        });
        if let Some(due) = due {
            free(due);
        }
    }

    /// Frees what can be freed now, of all threads.
    pub fn collect() {
        // SAFETY: with the lock.
        let due = LOCK.with(|| core::mem::take(unsafe { &mut *RETIRED.0.get() }));
        free(due);
    }
}

/// Frees those of `due` that no record names; the others go back.
fn free(due: Vec<Retired>) {
    let mut read = Vec::new();
    let mut record: *const Record = RECORDS.get();
    // SAFETY: records stay.
    while let Some(found) = unsafe { record.as_ref() } {
        read.push(found.address.get());
        record = found.next;
    }
    read.sort_unstable();
    let (kept, out_of_reach): (Vec<_>, Vec<_>) = due
        .into_iter()
        .partition(|retired| read.binary_search(&retired.address).is_ok());
    // SAFETY: with the lock.
    LOCK.with(|| unsafe { (*RETIRED.0.get()).extend(kept) });
    // SAFETY: it was taken out before the records were read, and none has its address.
    out_of_reach.into_iter().for_each(|retired| unsafe { retired.free() });
}

impl Default for Hazard {
    fn default() -> Hazard {
        Hazard::new()
    }
}

impl Drop for Hazard {
    fn drop(&mut self) {
        self.record.address.set(ptr::null_mut());
        self.record.taken.set(0);
    }
}
