//! Reads and writes of files that a guest has begun and does not wait for: `gpu_run_file_v1`.
//!
//! A request is a descriptor, which `poll_oneoff` and `fd_read` know. A few threads do the work, for all guests, in the order in
//! which it was begun. They make the change of a call that has been answered: while its run is under way, as
//! [`CallingRun::unless_ended`](crate::CallingRun::unless_ended) has it, or not at all. So what nobody has waited for may not have
//! happened when the run ends.
//!
//! What requests read, or are to write, lies in this process's memory until the guest has closed them. So there is a limit, and a
//! request beyond it is EAGAIN. The guest then makes the call that waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gpu_run_bytecode::wasi::FileRequest;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::args::{Args, Result};
use super::errno::Errno;
use super::file::{File, buffer};
use super::place::Data;
use super::table::Descriptor;
use super::{Wasi, lock, results};
use crate::{HostReply, KeptRun};

/// Requests of a guest that are under way or not closed, at most, and their bytes.
const MOST: usize = 1 << 14;
const MOST_BYTES: usize = 64 << 20;
/// The bytes of all guests' requests, of which a batch has many.
const MOST_BYTES_OF_ALL: usize = 1 << 30;
/// Bytes that one request reads: what one `fd_read` can return.
const MOST_READ: usize = 1 << 20;
/// Requests that are done at the same time.
const THREADS: usize = 16;

/// What all guests' requests hold. It orders nothing: relaxed.
static BYTES_OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// The threads that do requests; `None` where the host has none for that.
fn threads() -> Option<&'static ThreadPool> {
    static THREADS_OF_ALL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(THREADS)
        .thread_name(|_| "file request".into());
    THREADS_OF_ALL.get_or_init(|| pool.build().ok()).as_ref()
}

/// All requests of a guest.
#[derive(Default)]
pub struct Requests {
    state: Mutex<State>,
    /// One more is done.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that are under way or have a descriptor, and their bytes.
    held: usize,
    bytes: usize,
    /// How many are done.
    done: u64,
}

impl Requests {
    /// How many were done so far.
    pub fn done(&self) -> u64 {
        lock(&self.state).done
    }

    /// Waits until more than `before` are done, or that time has come.
    pub fn wait(&self, before: u64, until: Option<Instant>) {
        let mut state = lock(&self.state);
        while state.done == before {
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A request, as the guest has it.
pub struct Request {
    all: Arc<Requests>,
    /// What it takes of the limit.
    bytes: usize,
    outcome: Mutex<Outcome>,
}

enum Outcome {
    UnderWay,
    /// What can be read, from a place on.
    Done(Vec<u8>, usize),
    Failed(Errno),
}

impl Request {
    /// Takes its part of the limits.
    ///
    /// # Errors
    /// EAGAIN if nothing is left of one.
    fn new(all: &Arc<Requests>, bytes: usize) -> Result<Request> {
        let mut state = lock(&all.state);
        let of_all = BYTES_OF_ALL.load(Ordering::Relaxed);
        if state.held >= MOST || state.bytes + bytes > MOST_BYTES || of_all + bytes > MOST_BYTES_OF_ALL {
            return Err(Errno::Again);
        }
        // Several guests may pass the limit of all together, by one request each.
        BYTES_OF_ALL.fetch_add(bytes, Ordering::Relaxed);
        state.held += 1;
        state.bytes += bytes;
        Ok(Request {
            all: all.clone(),
            bytes,
            outcome: Mutex::new(Outcome::UnderWay),
        })
    }

    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        !matches!(*lock(&self.outcome), Outcome::UnderWay)
    }

    /// What it has read, from where the last read of the descriptor ended; nothing at the end.
    ///
    /// # Errors
    /// The request's, and EAGAIN until it is done.
    pub fn read(&self, capacity: usize) -> Result<Vec<u8>> {
        match &mut *lock(&self.outcome) {
            Outcome::UnderWay => Err(Errno::Again),
            Outcome::Failed(errno) => Err(*errno),
            Outcome::Done(bytes, at) => {
                let end = bytes.len().min(at.saturating_add(capacity));
                let part = bytes[*at..end].to_vec();
                *at = end;
                Ok(part)
            }
        }
    }

    /// Does it, on a thread of the pool.
    fn work(&self, run: &KeptRun, work: impl FnOnce() -> Result<Vec<u8>>) {
        let work = || run.unless_ended(work).unwrap_or(Err(Errno::Canceled));
        let outcome = match catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Errno::Io)) {
            Ok(bytes) => Outcome::Done(bytes, 0),
            // Else it would be one that is never done.
            Err(Errno::Again) => Outcome::Failed(Errno::Io),
            Err(errno) => Outcome::Failed(errno),
        };
        *lock(&self.outcome) = outcome;
        // After the outcome: a thread that sees the higher count sees that too.
        lock(&self.all.state).done += 1;
        self.all.changed.notify_all();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        BYTES_OF_ALL.fetch_sub(self.bytes, Ordering::Relaxed);
        let mut state = lock(&self.all.state);
        state.held -= 1;
        state.bytes -= self.bytes;
    }
}

/// What a request does; the bytes that its descriptor has then.
fn operate(file: &File, what: FileRequest, offset: u64, length: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    match what {
        FileRequest::Read => {
            let mut room = buffer(length);
            let count = file.data.read_at(&mut room, offset)?;
            room.truncate(count);
            Ok(room)
        }
        FileRequest::Write => {
            let count = file.data.write_at(bytes, offset, file.flags())?;
            Ok((count as u32).to_le_bytes().to_vec())
        }
        FileRequest::Sync => file.data.sync(true).map(|()| Vec::new()),
    }
}

impl Wasi {
    pub(super) fn file_begin(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let what = FileRequest::from_number(args.u32()?).ok_or(Errno::Inval)?;
        let (offset, length) = (args.u64()?, (args.u32()? as usize).min(MOST_READ));
        let bytes = args.bytes()?;
        let file = descriptor.seekable()?;
        match &file.data {
            // The device has it: nothing is to be waited for.
            Data::Tmpfs(_) => return Err(Errno::Notsup),
            // A request must not wait for what may never come.
            Data::Host(_) if file.waits => return Err(Errno::Spipe),
            Data::Host(_) => {}
        }
        let pool = threads().ok_or(Errno::Again)?;
        let takes = match what {
            FileRequest::Read => length,
            FileRequest::Write => bytes.len(),
            FileRequest::Sync => 0,
        };
        let request = Arc::new(Request::new(&self.requests, takes)?);
        // First, for nothing is to be done if it has no number.
        let fd = self.table.insert(args.run, Descriptor::Request(request.clone()))?;
        let (run, bytes) = (args.run.keep(), bytes.to_vec());
        pool.spawn_fifo(move || {
            request.work(&run, || match &*descriptor {
                Descriptor::File(file) => operate(file, what, offset, length, &bytes),
                _ => Err(Errno::Badf),
            });
        });
        Ok(results(&fd.to_le_bytes()))
    }
}
