//! Standard input, output and error.

use std::io::{self, Write};
use std::sync::Mutex;

use super::args::{Result, unless_ended};
use super::file::buffer;
use super::{Input, lock, retry};
use crate::{CallingRun, Stream};

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
    ///
    /// # Errors
    /// The host's, and ECANCELED if the run ended before there was something.
    pub fn read(&self, run: CallingRun<'_>, capacity: usize) -> Result<Vec<u8>> {
        let mut bytes = buffer(capacity);
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let count = match self {
            Stdin::Inherited { .. } => read_inherited(run, &mut bytes)?,
            Stdin::Bytes(source) => unless_ended(run, || Ok(io::Read::read(&mut *lock(source), &mut bytes)?))?,
        };
        bytes.truncate(count);
        Ok(bytes)
    }
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
