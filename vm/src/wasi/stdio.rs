//! Standard input, output and error.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

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
                promised: Mutex::new(None),
                reads: AtomicUsize::new(0),
                taking: Mutex::new(()),
            }),
            Input::Empty => Stdin::Bytes(Mutex::default()),
            Input::Bytes(bytes) => Stdin::Bytes(Mutex::new(io::Cursor::new(bytes))),
        }
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Stdin::Inherited(Inherited { terminal: true, .. }))
    }

    /// Whether the read that a guest's thread is about to make may wait for the source of the input.
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
/// A host thread that is needed for other requests makes a read only if it finds input there. That is promised to one
/// read at a time, and to none while another one is under way: it could take the input. So at most one such thread
/// waits after all, where the input went to another process in between.
pub struct Inherited {
    terminal: bool,
    /// It is no file whose bytes are all there.
    waits: bool,
    /// The guest's thread whose read will find input, and since when.
    promised: Mutex<Option<(u32, Instant)>>,
    /// Reads under way. It orders nothing: what it is about is the host's.
    reads: AtomicUsize,
    /// See [`take`].
    taking: Mutex<()>,
}

/// How long a promise is kept for a read: it comes at once, or never, if its call ends before.
const PROMISED: Duration = Duration::from_secs(1);

impl Inherited {
    /// Promises a thread that its read will not wait, if there is input, or its end.
    fn promise(&self, thread: u32) -> bool {
        let mut promised = lock(&self.promised);
        let kept = promised.is_some_and(|(_, since)| since.elapsed() < PROMISED);
        if kept || self.reads.load(Relaxed) > 0 || !is_ready() {
            return false;
        }
        *promised = Some((thread, Instant::now()));
        true
    }

    fn read(&self, run: CallingRun<'_>, bytes: &mut [u8], thread: u32) -> Result<usize> {
        self.reads.fetch_add(1, Relaxed);
        // From here on it is a read under way.
        lock(&self.promised).take_if(|(promised, _)| *promised == thread);
        let result = read_inherited(run, &self.taking, bytes);
        self.reads.fetch_sub(1, Relaxed);
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
    super::poll::is_readable(&rustix::stdio::stdin())
}

#[cfg(not(unix))]
fn is_file() -> bool {
    false
}

#[cfg(not(unix))]
fn is_ready() -> bool {
    false
}

#[cfg(unix)]
fn read_inherited(run: CallingRun<'_>, taking: &Mutex<()>, bytes: &mut [u8]) -> Result<usize> {
    take(&rustix::stdio::stdin(), taking, run, bytes)
}

/// Reads what other processes may read too. It waits for input even if one of them has set it not to: the guest has not
/// asked for that. What comes when the run has ended is left to the next one.
///
/// The read that has seen input takes it before another read of this process, by `taking`. It does without the run's
/// lock, because another process may be faster. Then this waits on, and takes what comes next whichever run is under
/// way.
#[cfg(unix)]
fn take(input: &impl std::os::fd::AsFd, taking: &Mutex<()>, run: CallingRun<'_>, bytes: &mut [u8]) -> Result<usize> {
    loop {
        super::poll::wait_readable(input)?;
        let _taking = lock(taking);
        if !super::poll::is_readable(input) {
            continue;
        }
        unless_ended(run, || Ok(()))?;
        match retry(|| Ok(rustix::io::read(input, &mut *bytes)?)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return Ok(result?),
        }
    }
}

#[cfg(not(unix))]
fn read_inherited(_run: CallingRun<'_>, _taking: &Mutex<()>, bytes: &mut [u8]) -> Result<usize> {
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

    /// Writes and flushes all bytes; what other threads write comes before or after them. If it fails
    /// half way, the count tells how far it came, and the next call returns the error.
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

#[cfg(all(test, unix))]
mod tests {
    use std::sync::RwLock;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::wasi::Errno;

    /// Two reads wait for input, which one of them gets. The other one finds the next input when its run has ended.
    #[test]
    fn what_is_seen_by_two_reads_is_taken_by_one() {
        for _ in 0..50 {
            let (reader, mut writer) = io::pipe().unwrap();
            let (alive, taking) = (std::sync::Arc::new(RwLock::new(true)), Mutex::new(()));
            let (sender, results) = channel();
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let mut bytes = [0; 8];
                        let read = take(&reader, &taking, CallingRun::new(&alive), &mut bytes);
                        sender.send(read).unwrap();
                    });
                }
                writer.write_all(b"1").unwrap();
                assert_eq!(results.recv().unwrap(), Ok(1));
                // The other one has nothing that it could take, whether it has seen the first input or not.
                std::thread::sleep(Duration::from_millis(1));
                *alive.write().unwrap() = false;
                writer.write_all(b"next").unwrap();
                assert_eq!(results.recv().unwrap(), Err(Errno::Canceled));
            });
            let mut left = [0; 8];
            assert_eq!(io::Read::read(&mut &reader, &mut left).unwrap(), 4);
        }
    }
}
