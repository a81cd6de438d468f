//! `poll_oneoff`: waits until a time comes, or a descriptor can be read or written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_run_bytecode::wasi::{EVENT, SUBSCRIPTION};

use super::abi::{clock, event};
use super::args::{Args, Result};
use super::errno::Errno;
use super::request::{Request, Requests};
use super::stdio::Stdin;
use super::table::Descriptor;
use super::{Wasi, results};
use crate::HostReply;

/// What a subscription waits for.
enum Awaited {
    /// A time; `None` is one that never comes.
    Time(Option<Instant>),
    Descriptor(Arc<Descriptor>, Direction),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

struct Subscription {
    userdata: u64,
    awaited: Awaited,
}

/// That a subscription's event happened, and its flags.
type Ready = Option<u16>;

impl Wasi {
    /// Bad descriptors and clocks are errors of the call, not events, as in wasmtime.
    pub(super) fn poll_oneoff(&self, args: &mut Args<'_>) -> Result<HostReply> {
        args.skip()?;
        args.skip()?;
        let number = args.u32()?;
        if number == 0 {
            return Err(Errno::Inval);
        }
        let start = Instant::now();
        let subscriptions: Vec<Subscription> = args
            .rest()
            .chunks_exact(SUBSCRIPTION as usize)
            .take(args.capacity / EVENT as usize)
            .map(|bytes| self.subscription(bytes, start))
            .collect::<Result<_>>()?;
        if subscriptions.len() != number as usize {
            return Err(Errno::Fault);
        }
        let ready = wait(&subscriptions, &self.requests)?;
        let mut data = Vec::new();
        let mut count = 0u32;
        for (subscription, ready) in subscriptions.iter().zip(ready) {
            if let Some(flags) = ready {
                data.extend_from_slice(&subscription.event(flags));
                count += 1;
            }
        }
        Ok(HostReply {
            data,
            ..results(&count.to_le_bytes())
        })
    }

    fn subscription(&self, bytes: &[u8], start: Instant) -> Result<Subscription> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let awaited = match bytes[8] {
            event::CLOCK => {
                let (id, timeout, flags) = (word(16) as u32, word(24), word(40) as u16);
                Awaited::Time(start.checked_add(self.duration(id, timeout, flags)?))
            }
            event::FD_READ => self.awaited(word(16) as u32, Direction::Read)?,
            event::FD_WRITE => self.awaited(word(16) as u32, Direction::Write)?,
            _ => return Err(Errno::Inval),
        };
        Ok(Subscription {
            userdata: word(0),
            awaited,
        })
    }

    /// How long a clock's subscription waits from now on.
    fn duration(&self, id: u32, timeout: u64, flags: u16) -> Result<Duration> {
        if id >= clock::COUNT || flags & !event::ABSTIME != 0 {
            return Err(Errno::Inval);
        }
        let absolute = flags & event::ABSTIME != 0;
        let nanoseconds = match id {
            clock::REALTIME | clock::MONOTONIC if !absolute => timeout,
            clock::REALTIME => timeout.saturating_sub((self.realtime)()),
            clock::MONOTONIC => timeout.saturating_sub((self.monotonic)()),
            _ => return Err(Errno::Inval),
        };
        Ok(Duration::from_nanos(nanoseconds))
    }

    fn awaited(&self, fd: u32, direction: Direction) -> Result<Awaited> {
        let descriptor = self.table.get(fd)?;
        let fits = match (&*descriptor, direction) {
            (Descriptor::File(file), Direction::Write) if file.mode.read_only => return Err(Errno::Perm),
            (Descriptor::File(_) | Descriptor::Connection(_), _) => true,
            (Descriptor::Stdin(_) | Descriptor::Listener(_) | Descriptor::Request(_), Direction::Read) => true,
            (Descriptor::Output(_), Direction::Write) => true,
            _ => false,
        };
        if fits {
            Ok(Awaited::Descriptor(descriptor, direction))
        } else {
            Err(Errno::Badf)
        }
    }
}

impl Subscription {
    fn event(&self, flags: u16) -> [u8; EVENT as usize] {
        let mut bytes = [0; EVENT as usize];
        let (kind, available) = match self.awaited {
            Awaited::Time(_) => (event::CLOCK, 0),
            // How much can be read or written is not known without trying: something, or the end.
            Awaited::Descriptor(_, Direction::Read) => (event::FD_READ, 1u64),
            Awaited::Descriptor(_, Direction::Write) => (event::FD_WRITE, 1),
        };
        bytes[..8].copy_from_slice(&self.userdata.to_le_bytes());
        bytes[10] = kind;
        bytes[16..24].copy_from_slice(&available.to_le_bytes());
        bytes[24..26].copy_from_slice(&flags.to_le_bytes());
        bytes
    }

    /// The request that it waits for, if it is one.
    fn request(&self) -> Option<&Request> {
        match &self.awaited {
            Awaited::Descriptor(descriptor, _) => match &**descriptor {
                Descriptor::Request(request) => Some(request),
                _ => None,
            },
            Awaited::Time(_) => None,
        }
    }

    /// Readiness that is known without asking the host.
    fn ready_now(&self, now: Instant) -> Ready {
        match &self.awaited {
            Awaited::Time(time) => time.filter(|time| *time <= now).map(|_| 0),
            Awaited::Descriptor(descriptor, direction) => match &**descriptor {
                Descriptor::File(file) if !file.waits => {
                    let at_end = || Some(file.offset().ok()? >= file.stat().ok()?.size);
                    let at_end = *direction == Direction::Read && at_end().unwrap_or(false);
                    Some(if at_end { event::HANGUP } else { 0 })
                }
                Descriptor::Stdin(Stdin::Bytes(_)) | Descriptor::Output(_) => Some(0),
                Descriptor::Request(request) => request.is_done().then_some(0),
                _ => None,
            },
        }
    }
}

/// How long the host is asked for other descriptors while requests of files are waited for, which it does not know.
const BESIDE_REQUESTS: Duration = Duration::from_millis(1);

/// Waits for the first events, and returns all that happened by then.
fn wait(subscriptions: &[Subscription], requests: &Requests) -> Result<Vec<Ready>> {
    let is_request = |one: &&Subscription| one.request().is_some();
    let any_request = subscriptions.iter().any(|one| is_request(&one));
    let only_requests = (subscriptions.iter()).all(|one| is_request(&one) || matches!(one.awaited, Awaited::Time(_)));
    loop {
        // Before the look at each: what is done after it is waited for.
        let done = requests.done();
        let now = Instant::now();
        let mut ready: Vec<Ready> = subscriptions.iter().map(|one| one.ready_now(now)).collect();
        let next = subscriptions.iter().filter_map(|one| match one.awaited {
            Awaited::Time(time) => time,
            Awaited::Descriptor(..) => None,
        });
        let timeout = match ready.iter().any(Option::is_some) {
            true => Some(Duration::ZERO),
            false => next.min().map(|time| time.saturating_duration_since(now)),
        };
        if any_request && only_requests {
            requests.wait(done, timeout.map(|timeout| now + timeout));
        } else {
            let most = any_request.then_some(BESIDE_REQUESTS);
            let timeout = timeout.into_iter().chain(most).min();
            wait_host(subscriptions, &mut ready, timeout)?;
        }
        if ready.iter().any(Option::is_some) {
            return Ok(ready);
        }
    }
}

/// Waits until the host can read or write one of the descriptors whose readiness it knows, or for the
/// time. May return early with nothing.
#[cfg(unix)]
fn wait_host(subscriptions: &[Subscription], ready: &mut [Ready], timeout: Option<Duration>) -> Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno as Host;
    use std::os::fd::AsFd;

    use super::file::File;
    use super::place::Data;

    let mut waiting = Vec::new();
    for (index, subscription) in subscriptions.iter().enumerate() {
        let Awaited::Descriptor(descriptor, direction) = &subscription.awaited else {
            continue;
        };
        let fd = match &**descriptor {
            Descriptor::File(File {
                data: Data::Host(file),
                waits: true,
                ..
            }) => file.as_fd(),
            Descriptor::Stdin(Stdin::Inherited(_)) => rustix::stdio::stdin(),
            Descriptor::Listener(listener) => listener.socket.as_fd(),
            Descriptor::Connection(connection) => connection.socket.as_fd(),
            _ => continue,
        };
        let flags = match direction {
            Direction::Read => PollFlags::IN,
            Direction::Write => PollFlags::OUT,
        };
        waiting.push((index, PollFd::from_borrowed_fd(fd, flags)));
    }
    let mut polled: Vec<_> = waiting.iter().map(|(_, fd)| fd.clone()).collect();
    // A timeout that the host cannot count is waited for in parts.
    let timeout = timeout.map(|timeout| {
        let timeout = timeout.min(Duration::from_secs(1 << 30));
        Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos() as _,
        }
    });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        Err(Host::INTR) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    for ((index, _), fd) in waiting.iter().zip(&polled) {
        let found = fd.revents();
        // Errors are events too: the read or write after it tells them.
        if !found.is_empty() {
            let hangup = found.contains(PollFlags::HUP) && !found.contains(PollFlags::IN);
            ready[*index] = Some(if hangup { event::HANGUP } else { 0 });
        }
    }
    Ok(())
}

/// Waits until there is something to read or a connection to accept, or its end, and takes none of it.
#[cfg(unix)]
pub fn wait_readable(fd: &impl std::os::fd::AsFd) -> Result<()> {
    wait_for(fd, rustix::event::PollFlags::IN)
}

/// Waits until something can be written, or nothing ever.
#[cfg(unix)]
pub fn wait_writable(fd: &impl std::os::fd::AsFd) -> Result<()> {
    wait_for(fd, rustix::event::PollFlags::OUT)
}

#[cfg(unix)]
fn wait_for(fd: &impl std::os::fd::AsFd, what: rustix::event::PollFlags) -> Result<()> {
    use rustix::event::{PollFd, poll};
    super::retry(|| Ok(poll(&mut [PollFd::new(fd, what)], None)?))?;
    Ok(())
}

/// Without a way to ask: tries again soon.
#[cfg(not(unix))]
pub fn wait_readable<T>(_: &T) -> Result<()> {
    std::thread::sleep(Duration::from_millis(1));
    Ok(())
}

#[cfg(not(unix))]
pub use self::wait_readable as wait_writable;

/// Whether a read finds something now: bytes, the end, or an error.
#[cfg(unix)]
pub fn is_readable(fd: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&at_once)), Ok(1))
}

/// Without a way to ask, all descriptors count as ready: the read or write after it waits.
#[cfg(not(unix))]
fn wait_host(subscriptions: &[Subscription], ready: &mut [Ready], timeout: Option<Duration>) -> Result<()> {
    let mut descriptors = false;
    for (subscription, ready) in subscriptions.iter().zip(ready) {
        // Whether a request of a file is done is known.
        if let Awaited::Descriptor(..) = subscription.awaited
            && subscription.request().is_none()
        {
            ready.get_or_insert(0);
            descriptors = true;
        }
    }
    if !descriptors {
        std::thread::sleep(timeout.unwrap_or(Duration::MAX));
    }
    Ok(())
}
