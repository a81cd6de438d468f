//! The calling thread: what it is called, where it parks, what it keeps for itself.

use core::cell::Cell;
use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;
use std::boxed::Box;
use std::string::String;

#[cfg(not(target_arch = "wasm32"))]
use super::host::own_id;
use super::local::Locals;
use crate::platform;
use crate::sync::Arc;
#[cfg(target_arch = "wasm32")]
use crate::thread_id as own_id;
use crate::word::{Word32, Word64, WordPtr};

/// A handle of a thread: [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Arc<Inner>);

struct Inner {
    name: Option<String>,
    id: ThreadId,
    parking: Word32,
}

/// What tells threads of a process apart, and is never used again: [`std::thread::ThreadId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(NonZeroU64);

// States of `parking`, as std has them.
const PARKED: u32 = u32::MAX;
const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;

impl Thread {
    pub(super) fn new(name: Option<String>) -> Thread {
        static LAST: Word64 = Word64::new(0);
        let id = NonZeroU64::new(LAST.count_up(1) + 1).expect("fewer threads than 2^64");
        Thread(Arc::new(Inner {
            name,
            id: ThreadId(id),
            parking: Word32::new(EMPTY),
        }))
    }

    /// See [`std::thread::Thread::id`].
    pub fn id(&self) -> ThreadId {
        self.0.id
    }

    /// See [`std::thread::Thread::name`].
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Lets the thread go on that is parked, or its next [`park`] return at once.
    pub fn unpark(&self) {
        if self.0.parking.swap(NOTIFIED) == PARKED {
            self.0.parking.wake(1);
        }
    }

    fn park(&self, most: Option<Duration>) {
        let parking = &self.0.parking;
        // From `NOTIFIED` to `EMPTY`, or from `EMPTY` to `PARKED`.
        if parking.sub(1) == NOTIFIED {
            return;
        }
        if let Some(most) = most {
            parking.wait_for(PARKED, nanoseconds(most));
            parking.swap(EMPTY);
            return;
        }
        while parking.replace(NOTIFIED, EMPTY).is_err() {
            parking.wait(PARKED);
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// What a thread keeps.
pub(super) struct Own {
    thread: Thread,
    pub locals: Locals,
    /// Sessions of [`gc`](crate::gc) that it is in.
    pub sessions: Cell<u32>,
}

const CHUNK: usize = 4096;
/// Enough for all threads that there can be.
const CHUNKS: usize = 4096;

/// By thread id.
struct Chunk([WordPtr<Own>; CHUNK]);

static THREADS: [WordPtr<Chunk>; CHUNKS] = [const { WordPtr::null() }; CHUNKS];

/// Where the calling thread's own is written.
fn place() -> &'static WordPtr<Own> {
    let id = own_id() as usize;
    let at = &THREADS[id / CHUNK];
    if at.get().is_null() {
        let made = Box::into_raw(Box::new(Chunk([const { WordPtr::null() }; CHUNK])));
        if at.replace(core::ptr::null_mut(), made).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
    // SAFETY: a chunk stays for good.
    &unsafe { &*at.get() }.0[id % CHUNK]
}

/// The calling thread's own. A thread that was not spawned has a handle once it asks for one.
pub(super) fn own() -> &'static Own {
    let place = place();
    if place.glance().is_null() {
        let name = (own_id() == 0).then(|| "main".into());
        begin(Thread::new(name));
    }
    // SAFETY: only the thread itself writes there, and it goes by `end` alone, the last thing that the thread does.
    unsafe { &*place.glance() }
}

/// The calling thread is this one from now on.
pub(super) fn begin(thread: Thread) {
    let locals = Locals::new();
    place().set(Box::into_raw(Box::new(Own {
        thread,
        locals,
        sessions: Cell::new(0),
    })));
}

/// The calling thread, which was spawned, does nothing more: what it keeps is dropped.
///
/// # Safety
///
/// Nothing has a reference to its own.
pub(super) unsafe fn end() {
    own().locals.clear();
    let own = place().swap(core::ptr::null_mut());
    // SAFETY: it was made by `begin`.
    drop(unsafe { Box::from_raw(own) });
}

/// How many sessions of [`gc`](crate::gc) the calling thread is in.
pub(crate) fn sessions() -> &'static Cell<u32> {
    &own().sessions
}

/// See [`std::thread::current`].
pub fn current() -> Thread {
    own().thread.clone()
}

/// Waits until another thread calls [`Thread::unpark`] of this one, or returns at once if one has.
pub fn park() {
    current().park(None);
}

/// The same, for at most so long.
pub fn park_timeout(most: Duration) {
    current().park(Some(most));
}

/// See [`std::thread::sleep`]. The lane goes on with other threads meanwhile where the interpreter runs it.
pub fn sleep(length: Duration) {
    platform::sleep(nanoseconds(length).min(i64::MAX as u64));
}

/// Lets other threads go on.
pub fn yield_now() {
    platform::pause();
}

fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
