//! Standard input, output and error.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::args::{Result, unless_ended};
use super::file::buffer;
use super::{Input, lock, retry};
use crate::{CallingRun, Stream};

/// Standard input.
pub enum Stdin {
    /// That of this process. Nothing is read ahead, because other processes may share its offset.
    Inherited(Inherited),
    Bytes(Mutex<io::Cursor<Vec<u8>>>),
}

impl Stdin {
    pub fn new(input: Input) -> Self {
        match input {
            Input::Inherit => Stdin::Inherited(Inherited {
                terminal: io::IsTerminal::is_terminal(&io::stdin()),
                waits: !is_file(),
                promised: AtomicU32::new(NOBODY),
                waiting: AtomicUsize::new(0),
            }),
            Input::Empty => Stdin::Bytes(Mutex::default()),
            Input::Bytes(bytes) => Stdin::Bytes(Mutex::new(io::Cursor::new(bytes))),
        }
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Stdin::Inherited(Inherited { terminal: true, .. }))
    }

    /// Whether the read that a guest's thread is about to make may wait for whoever gives the input.
    pub fn may_wait(&self, capacity: usize, thread: u32) -> bool {
        match self {
            Stdin::Inherited(input) => input.waits && capacity > 0 && !input.promise(thread),
            Stdin::Bytes(_) => false,
        }
    }

    /// Reads at most `capacity` bytes for a guest's thread; none at the end.
    ///
    /// # Errors
    /// The host's, and ECANCELED if the run ended before there was something.
    pub fn read(&self, run: CallingRun<'_>, capacity: usize, thread: u32) -> Result<Vec<u8>> {
        let mut bytes = buffer(capacity);
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let count = match self {
            Stdin::Inherited(input) => input.read(run, &mut bytes, thread)?,
            Stdin::Bytes(source) => unless_ended(run, || Ok(io::Read::read(&mut *lock(source), &mut bytes)?))?,
        };
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// Standard input of this process.
///
/// A host thread that is needed for other requests makes a read only if it finds input there. That is promised to
/// one read at a time, and to none while another one waits: it could take the input. So at most one such thread
/// waits after all, where the input went to somebody else in between.
pub struct Inherited {
    terminal: bool,
    /// It is no file whose bytes are all there.
    waits: bool,
    /// The guest's thread that will find input. It and the next one order nothing: what they are about is the host's.
    promised: AtomicU32,
    /// Reads under way that nothing was promised.
    waiting: AtomicUsize,
}

/// The number of no thread.
const NOBODY: u32 = u32::MAX;

impl Inherited {
    /// Promises a thread that its read will not wait, if there is input, or its end.
    fn promise(&self, thread: u32) -> bool {
        if self.waiting.load(Relaxed) > 0
            || self
                .promised
                .compare_exchange(NOBODY, thread, Relaxed, Relaxed)
                .is_err()
        {
            return false;
        }
        let ready = is_ready();
        if !ready {
            self.promised.store(NOBODY, Relaxed);
        }
        ready
    }

    fn read(&self, run: CallingRun<'_>, bytes: &mut [u8], thread: u32) -> Result<usize> {
        let promised = self.promised.load(Relaxed) == thread;
        if !promised {
            self.waiting.fetch_add(1, Relaxed);
        }
        let result = read_inherited(run, bytes);
        match promised {
            true => self.promised.store(NOBODY, Relaxed),
            false => _ = self.waiting.fetch_sub(1, Relaxed),
        }
        result
    }
}

/// Whether standard input is a file or a block device, of which a read finds what there is at once.
#[cfg(unix)]
fn is_file() -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(rustix::stdio::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::RegularFile | FileType::BlockDevice))
}

/// Whether a read of standard input finds something now: bytes, the end, or an error.
#[cfg(unix)]
fn is_ready() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = rustix::stdio::stdin();
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&at_once)), Ok(1))
}

#[cfg(not(unix))]
fn is_file() -> bool {
    false
}

#[cfg(not(unix))]
fn is_ready() -> bool {
    false
}

/// Waits for input even if somebody who shares standard input has set it not to: the guest has not asked for that. What
/// comes when the run has ended is left to the next one. It is read without the run's lock, because another process
/// may be faster: then this waits on.
#[cfg(unix)]
fn read_inherited(run: CallingRun<'_>, bytes: &mut [u8]) -> Result<usize> {
    let stdin = rustix::stdio::stdin();
    loop {
        super::poll::wait_readable(&stdin)?;
        unless_ended(run, || Ok(()))?;
        match retry(|| Ok(rustix::io::read(stdin, &mut *bytes)?)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return Ok(result?),
        }
    }
}

#[cfg(not(unix))]
fn read_inherited(_run: CallingRun<'_>, bytes: &mut [u8]) -> Result<usize> {
    Ok(retry(|| io::Read::read(&mut io::stdin().lock(), bytes))?)
}

/// Standard output or error.
pub struct Output {
    pub stream: Stream,
    pub terminal: bool,
    writer: Mutex<Box<dyn Write + Send>>,
}

impl Output {
    pub fn new(stream: Stream, writer: Box<dyn Write + Send>, terminal: bool) -> Self {
        Output {
            stream,
            terminal,
            writer: Mutex::new(writer),
        }
    }

    /// Writes and flushes all bytes; what other threads write comes before or behind them. If it fails
    /// half way, the count tells how far it came, and the next call gives the error.
    pub fn write(&self, bytes: &[u8]) -> Result<usize> {
        let mut writer = lock(&self.writer);
        let mut written = 0;
        while written < bytes.len() {
            match retry(|| writer.write(&bytes[written..])) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => written += count,
                Err(_) if written > 0 => return Ok(written),
                Err(error) => return Err(error.into()),
            }
        }
        retry(|| writer.flush())?;
        Ok(written)
    }
}
