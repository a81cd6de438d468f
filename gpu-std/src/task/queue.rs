//! Queues of jobs that all workers look at.

use core::cell::UnsafeCell;
use std::collections::BinaryHeap;

use super::job::Job;
use crate::sync::RawLock;
use crate::word::{Word32, WordPtr};

/// A list of jobs, first in, first out, with a lock.
#[derive(Debug)]
struct List {
    lock: Word32,
    first: WordPtr<Job>,
    last: WordPtr<Job>,
}

/// Lists of a queue. Workers begin at different ones, so that few of them want the same lock.
const LISTS: usize = 16;

/// A queue of any number of jobs. Its order is that of its lists, so about first in, first out.
#[derive(Debug)]
pub(super) struct Queue {
    jobs: Word32,
    pushes: Word32,
    lists: [List; LISTS],
}

impl Queue {
    pub const fn new() -> Queue {
        Queue {
            jobs: Word32::new(0),
            pushes: Word32::new(0),
            lists: [const {
                List {
                    lock: Word32::new(0),
                    first: WordPtr::null(),
                    last: WordPtr::null(),
                }
            }; LISTS],
        }
    }

    pub fn push(&self, job: *mut Job) {
        let list = &self.lists[self.pushes.add(1) as usize % LISTS];
        // SAFETY: a job that is ready lives until it has run.
        unsafe { (*job).next.set(core::ptr::null_mut()) };
        list.lock.lock();
        let last = list.last.get();
        if last.is_null() {
            list.first.set(job);
        } else {
            // SAFETY: as above; it is in the list, which only its lock's holder changes.
            unsafe { (*last).next.set(job) };
        }
        list.last.set(job);
        list.lock.unlock();
        self.jobs.add(1);
    }

    /// Takes a job; it looks at the lists from one on that `hint` chooses.
    pub fn pop(&self, hint: u32) -> Option<*mut Job> {
        if self.jobs.get() == 0 {
            return None;
        }
        for i in 0..LISTS {
            let list = &self.lists[(hint as usize + i) % LISTS];
            if list.first.get().is_null() {
                continue;
            }
            list.lock.lock();
            let first = list.first.get();
            if !first.is_null() {
                // SAFETY: a job in a list lives.
                let next = unsafe { (*first).next.get() };
                list.first.set(next);
                if next.is_null() {
                    list.last.set(next);
                }
            }
            list.lock.unlock();
            if !first.is_null() {
                self.jobs.sub(1);
                return Some(first);
            }
        }
        None
    }
}

/// Jobs with a time by which they should have begun: the earliest first.
#[derive(Debug)]
pub(super) struct Deadlines {
    jobs: Word32,
    lock: RawLock,
    heap: UnsafeCell<BinaryHeap<(core::cmp::Reverse<u64>, usize)>>,
}

// SAFETY: the heap is only reached with the lock.
unsafe impl Sync for Deadlines {}

impl Deadlines {
    pub const fn new() -> Deadlines {
        Deadlines {
            jobs: Word32::new(0),
            lock: RawLock::new(),
            heap: UnsafeCell::new(BinaryHeap::new()),
        }
    }

    pub fn push(&self, deadline: u64, job: *mut Job) {
        self.lock.with(|| {
            // SAFETY: with the lock.
            let heap = unsafe { &mut *self.heap.get() };
            heap.push((core::cmp::Reverse(deadline), job.expose_provenance()));
        });
        self.jobs.add(1);
    }

    pub fn pop(&self) -> Option<*mut Job> {
        if self.jobs.get() == 0 {
            return None;
        }
        // SAFETY: with the lock.
        let (_, job) = self.lock.with(|| unsafe { (*self.heap.get()).pop() })?;
        self.jobs.sub(1);
        Some(core::ptr::with_exposed_provenance_mut(job))
    }
}
