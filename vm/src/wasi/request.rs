//! Reads and writes of files that a guest has begun and does not wait for: `gpu_run_file_v1`.
//!
//! A request is a descriptor, which `poll_oneoff` and `fd_read` know. Threads of the crate `blocking` do the work: a few, and
//! more if disks are slow. What was begun is done, whether or not the guest asks for it, and also if its run ends: a [`Wasi`]
//! that is dropped waits for that.
//!
//! What requests read, or are to write, lies in this process's memory until the guest has taken it. So there is a limit, and a
//! request beyond it is EAGAIN. The guest then waits, or makes a call that waits by itself.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use gpu_run_bytecode::wasi::FileRequest;

use super::args::{Args, Result};
use super::errno::Errno;
use super::file::{MAX_READ, buffer};
use super::place::Data;
use super::table::Descriptor;
use super::{Wasi, lock, results};
use crate::HostReply;

/// Requests of a guest that are under way or have not been read, at most, and their bytes.
const MOST: usize = 1 << 16;
const MOST_BYTES: usize = 256 << 20;

/// All requests of a guest.
#[derive(Default)]
pub struct Requests {
    state: Mutex<State>,
    /// The state has changed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that are under way.
    open: usize,
    /// Those whose descriptor somebody has, and their bytes.
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
        self.wait_while(until, |state| state.done == before);
    }

    fn wait_while(&self, until: Option<Instant>, condition: impl Fn(&State) -> bool) {
        let mut state = lock(&self.state);
        while condition(&state) {
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
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
    /// Takes its part of the limit.
    ///
    /// # Errors
    /// EAGAIN if nothing is left of that.
    fn new(all: &Arc<Requests>, bytes: usize) -> Result<Request> {
        let mut state = lock(&all.state);
        // One that is larger than the limit is alone.
        if state.held >= MOST || state.held > 0 && state.bytes + bytes > MOST_BYTES {
            return Err(Errno::Again);
        }
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

    /// Has it done by another thread.
    fn begin(self: &Arc<Request>, work: impl FnOnce() -> Result<Vec<u8>> + Send + 'static) {
        let request = self.clone();
        lock(&self.all.state).open += 1;
        blocking::unblock(move || {
            let outcome = match work() {
                Ok(bytes) => Outcome::Done(bytes, 0),
                Err(errno) => Outcome::Failed(errno),
            };
            *lock(&request.outcome) = outcome;
            // After the outcome: whoever finds the count higher finds that too.
            request.all.change(|state| {
                state.open -= 1;
                state.done += 1;
            });
        })
        .detach();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.all.change(|state| {
            state.held -= 1;
            state.bytes -= self.bytes;
        });
    }
}

impl Wasi {
    pub(super) fn file_begin(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let what = FileRequest::from_number(args.u32()?).ok_or(Errno::Inval)?;
        let (offset, length) = (args.u64()?, args.u32()? as usize);
        let bytes = args.bytes()?;
        let file = descriptor.seekable()?;
        match &file.data {
            // The device has it: nothing is to be waited for.
            Data::Tmpfs(_) => return Err(Errno::Notsup),
            Data::Host(_) if file.waits => return Err(Errno::Spipe),
            Data::Host(_) => {}
        }
        let takes = match what {
            FileRequest::Read => length.min(MAX_READ),
            FileRequest::Write => bytes.len(),
            FileRequest::Sync => 0,
        };
        let request = Arc::new(Request::new(&self.requests, takes)?);
        // First, for nothing is to be done if it has no number.
        let fd = self.table.insert(args.run, Descriptor::Request(request.clone()))?;
        let bytes = match what {
            FileRequest::Write => bytes.to_vec(),
            _ => Vec::new(),
        };
        request.begin(move || {
            let Descriptor::File(file) = &*descriptor else {
                return Err(Errno::Badf);
            };
            match what {
                FileRequest::Read => {
                    let mut room = buffer(length);
                    let count = file.data.read_at(&mut room, offset)?;
                    room.truncate(count);
                    Ok(room)
                }
                FileRequest::Write => {
                    let count = file.data.write_at(&bytes, offset, file.flags())?;
                    Ok((count as u32).to_le_bytes().to_vec())
                }
                FileRequest::Sync => file.data.sync(true).map(|()| Vec::new()),
            }
        });
        Ok(results(&fd.to_le_bytes()))
    }
}

impl Drop for Wasi {
    /// Waits for what was begun: a program that has ended has written what it began to write.
    fn drop(&mut self) {
        self.requests.wait_while(None, |state| state.open > 0);
    }
}
