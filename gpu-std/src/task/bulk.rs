//! Bulk jobs: a function that is called for each of many numbers, by all workers that have nothing else to do.

use core::cell::UnsafeCell;

use super::context::Current;
use super::job::{Panic, catch, resume};
use super::pool::pause;
use crate::sync::RawLock;
use crate::word::{Word32, WordPtr};

/// Where workers find the bulk jobs that are under way. Those for which there is no place are done by their callers alone.
#[derive(Debug)]
pub(super) struct Bulks([Slot; 8]);

#[derive(Debug)]
struct Slot {
    job: WordPtr<BulkJob<'static>>,
    /// Workers that may have read `job`.
    users: Word32,
}

struct BulkJob<'f> {
    f: &'f (dyn Fn(usize) + Sync),
    numbers: u32,
    next: Word32,
    lock: RawLock,
    panic: UnsafeCell<Option<Panic>>,
}

impl Bulks {
    pub const fn new() -> Bulks {
        Bulks(
            [const {
                Slot {
                    job: WordPtr::null(),
                    users: Word32::new(0),
                }
            }; 8],
        )
    }

    /// Whether there may be a job.
    pub fn has_work(&self) -> bool {
        self.0.iter().any(|slot| is_job(slot.job.glance()))
    }

    /// Takes part in a job; whether there was one with something left to do.
    pub fn share(&self) -> bool {
        for slot in &self.0 {
            if !is_job(slot.job.glance()) {
                continue;
            }
            // Counted before the job is read: who takes it away waits for those that are counted.
            slot.users.add(1);
            let job = slot.job.get();
            // SAFETY: it stays while this worker is counted.
            let shared = is_job(job) && unsafe { (*job).share() };
            slot.users.sub(1);
            if shared {
                return true;
            }
        }
        false
    }
}

/// In the place of a job that was taken away, as long as workers may have it. A new job does not get the slot meanwhile:
/// its workers would be waited for too.
const CLOSING: *mut BulkJob<'static> = core::ptr::without_provenance_mut(1);

fn is_job(job: *mut BulkJob<'static>) -> bool {
    !job.is_null() && job != CLOSING
}

impl BulkJob<'_> {
    /// Takes numbers until there are none; whether there was one.
    fn share(&self) -> bool {
        let mut any = false;
        loop {
            // Looked at first, so that the count stays near the end however many come too late.
            if self.next.get() >= self.numbers {
                return any;
            }
            let number = self.next.add(1);
            if number >= self.numbers {
                return any;
            }
            any = true;
            if let Err(panic) = catch(|| (self.f)(number as usize)) {
                self.next.set(self.numbers);
                // SAFETY: with the lock.
                self.lock.with(|| unsafe { *self.panic.get() = Some(panic) });
            }
        }
    }
}

/// Far below 2^32, so that those who come too late do not count `next` round.
const MOST_NUMBERS: usize = 1 << 30;

/// Calls `f` for each number below `numbers`, and returns when all is done. Outside of [`run`](super::run) the caller
/// does all.
pub(crate) fn run_bulk(numbers: usize, f: &(dyn Fn(usize) + Sync)) {
    let pool = Current::get().map(|current| current.pool);
    let Some(pool) = pool.filter(|pool| (2..=MOST_NUMBERS).contains(&numbers) && pool.workers().len() > 1) else {
        return (0..numbers).for_each(f);
    };
    let job = BulkJob {
        f,
        numbers: numbers as u32,
        next: Word32::new(0),
        lock: RawLock::new(),
        panic: UnsafeCell::new(None),
    };
    // It is in the list for no longer than this call.
    let address: *mut BulkJob<'static> = (&raw const job).cast_mut().cast();
    let slots = &pool.bulks.0;
    let slot = slots
        .iter()
        .find(|slot| slot.job.replace(core::ptr::null_mut(), address).is_ok());
    if slot.is_some() {
        pool.count_shared();
    }
    job.share();
    if let Some(slot) = slot {
        pool.shared.sub(1);
        slot.job.set(CLOSING);
        let mut looks = 0;
        while slot.users.get() != 0 {
            looks += 1;
            pause(looks);
        }
        slot.job.set(core::ptr::null_mut());
    }
    if let Some(panic) = job.panic.into_inner() {
        resume(panic);
    }
}
