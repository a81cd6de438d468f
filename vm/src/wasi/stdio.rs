//! Standard input, output and error.

use std::io::{self, Write};
use std::sync::Mutex;

use super::args::Result;
use super::file::buffer;
use super::{Input, lock, retry};
use crate::Stream;

/// Standard input.
pub enum Stdin {
    /// That of this process. Nothing is read ahead.
    Inherited {
        terminal: bool,
    },
    Bytes(Mutex<io::Cursor<Vec<u8>>>),
}

impl Stdin {
    pub fn new(input: Input) -> Self {
        match input {
            Input::Inherit => Stdin::Inherited {
                terminal: io::IsTerminal::is_terminal(&io::stdin()),
            },
            Input::Empty => Stdin::Bytes(Mutex::default()),
            Input::Bytes(bytes) => Stdin::Bytes(Mutex::new(io::Cursor::new(bytes))),
        }
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Stdin::Inherited { terminal: true })
    }

    /// Reads at most `capacity` bytes; none at the end.
    pub fn read(&self, capacity: usize) -> Result<Vec<u8>> {
        let mut bytes = buffer(capacity);
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let count = match self {
            Stdin::Inherited { .. } => retry(|| read_inherited(&mut bytes))?,
            Stdin::Bytes(source) => io::Read::read(&mut *lock(source), &mut bytes)?,
        };
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// Waits for input even if somebody who shares standard input has set it not to: the guest has not asked for that.
#[cfg(unix)]
fn read_inherited(bytes: &mut [u8]) -> io::Result<usize> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    let stdin = rustix::stdio::stdin();
    loop {
        match rustix::io::read(stdin, &mut *bytes) {
            Err(Errno::AGAIN) => drop(poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None)?),
            result => return Ok(result?),
        };
    }
}

#[cfg(not(unix))]
fn read_inherited(bytes: &mut [u8]) -> io::Result<usize> {
    io::Read::read(&mut io::stdin().lock(), bytes)
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
