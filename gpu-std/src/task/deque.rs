//! A worker's own jobs.
//!
//! After D. Chase and Y. Lev, "Dynamic circular work-stealing deque" (SPAA 2005), with a fixed ring: where it is full the
//! job goes elsewhere. The owner pushes and takes at the bottom, thieves take at the top. The orders of accesses are those
//! of N. M. Lê and others, "Correct and efficient work-stealing for weak memory models" (PPoPP 2013): one fence when the
//! owner takes, one when a thief does.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use super::job::Job;
use crate::word::Word32;

/// Jobs of a deque. A recursion has one for each level.
const ROOM: u32 = 64;

/// Zeros are an empty one.
#[derive(Debug)]
pub(super) struct Deque {
    /// The index after the newest job.
    bottom: Word32,
    /// The same, for the owner, who reads it without asking the memory that all share.
    own_bottom: AtomicU32,
    /// What the owner has last seen of `top`, which only grows.
    top_seen: AtomicU32,
    /// The index of the oldest job.
    top: Word32,
    /// Written by the owner before `bottom`, which publishes them.
    jobs: [AtomicPtr<Job>; ROOM as usize],
}

/// What a thief has found.
pub(super) enum Steal {
    Nothing,
    /// Another one was faster.
    Lost,
    Job(*mut Job),
}

impl Deque {
    /// The owner adds a job; false if there is no room.
    pub fn push(&self, job: *mut Job) -> bool {
        let bottom = self.own_bottom.load(Relaxed);
        if bottom.wrapping_sub(self.top_seen.load(Relaxed)) >= ROOM {
            let top = self.top.get();
            self.top_seen.store(top, Relaxed);
            if bottom.wrapping_sub(top) >= ROOM {
                return false;
            }
        }
        self.jobs[(bottom % ROOM) as usize].store(job, Relaxed);
        // After the job, and all that it refers to: a thief that sees this sees them.
        self.own_bottom.store(bottom.wrapping_add(1), Relaxed);
        self.bottom.release(bottom.wrapping_add(1));
        true
    }

    /// The owner takes its newest job.
    pub fn pop(&self) -> Option<*mut Job> {
        let bottom = self.own_bottom.load(Relaxed).wrapping_sub(1);
        if (bottom.wrapping_sub(self.top_seen.load(Relaxed)) as i32) < 0 {
            // It was empty when the owner last looked, and nobody else adds to it.
            return None;
        }
        // Before `top` is read, as the fence of that says. A thief reads them in the other order, so not both can miss what
        // the other does.
        self.set_bottom(bottom);
        let top = self.top.get();
        self.top_seen.store(top, Relaxed);
        let left = bottom.wrapping_sub(top) as i32;
        if left < 0 {
            self.set_bottom(bottom.wrapping_add(1));
            return None;
        }
        let job = self.jobs[(bottom % ROOM) as usize].load(Relaxed);
        if left > 0 {
            return Some(job);
        }
        // The last one: a thief may want it too.
        let won = self.top.replace(top, top.wrapping_add(1)).is_ok();
        self.set_bottom(bottom.wrapping_add(1));
        self.top_seen.store(top.wrapping_add(1), Relaxed);
        won.then_some(job)
    }

    fn set_bottom(&self, bottom: u32) {
        self.own_bottom.store(bottom, Relaxed);
        self.bottom.put(bottom);
    }

    /// Another worker takes the oldest job.
    pub fn steal(&self) -> Steal {
        // Most are empty.
        if (self.bottom.glance().wrapping_sub(self.top.glance()) as i32) <= 0 {
            return Steal::Nothing;
        }
        let top = self.top.acquire();
        // The fence of `get` comes between the two reads.
        if (self.bottom.get().wrapping_sub(top) as i32) <= 0 {
            return Steal::Nothing;
        }
        // It was written before `bottom`, which was read. It may be overwritten from here on, and then `top` has changed.
        let job = self.jobs[(top % ROOM) as usize].load(Relaxed);
        match self.top.replace(top, top.wrapping_add(1)) {
            Ok(()) => Steal::Job(job),
            Err(_) => Steal::Lost,
        }
    }
}
