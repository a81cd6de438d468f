//! The ends of pipes that a process has, and what a stream of a child may be.

use std::io::{self, Read, Write};
use std::mem;

use super::sys;
use crate::wasi::errno::{Errno, check};

/// An end of a pipe, closed when it is dropped.
#[derive(Debug)]
pub struct End(u32);

impl End {
    /// The end that a call has made.
    pub fn new(handle: u32) -> End {
        End(handle)
    }

    /// Reads what there is, after waiting for some. 0: nobody writes any more. With `NO_WAIT` in the length it does not wait.
    fn read_up_to(&self, to: &mut [u8], length: usize) -> Result<usize, Errno> {
        let mut count = 0;
        // SAFETY: the call writes to the bytes and to `count`.
        check(unsafe { sys::pipe_read(self.0, to.as_mut_ptr(), length, &mut count) })?;
        Ok(count)
    }

    fn read(&self, to: &mut [u8]) -> io::Result<usize> {
        let length = to.len().min(sys::NO_WAIT - 1);
        Ok(self.read_up_to(to, length)?)
    }

    /// The same if there is something, or nobody writes any more; else `None`.
    pub fn try_read(&self, to: &mut [u8]) -> io::Result<Option<usize>> {
        match self.read_up_to(to, to.len() | sys::NO_WAIT) {
            Err(Errno(sys::AGAIN)) => Ok(None),
            read => Ok(Some(read?)),
        }
    }

    fn write(&self, from: &[u8]) -> io::Result<usize> {
        let mut count = 0;
        // SAFETY: the call only reads the bytes, and writes to `count`.
        check(unsafe { sys::pipe_write(self.0, from.as_ptr(), from.len(), &mut count) })?;
        Ok(count)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // As in std: no caller could be told of an error.
        sys::pipe_close(self.0);
    }
}

/// See `std::process::ChildStdin`.
#[derive(Debug)]
pub struct ChildStdin(pub(super) End);

/// See `std::process::ChildStdout`.
#[derive(Debug)]
pub struct ChildStdout(pub(super) End);

/// See `std::process::ChildStderr`.
#[derive(Debug)]
pub struct ChildStderr(pub(super) End);

impl Write for ChildStdin {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for &ChildStdin {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for ChildStdout {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Read for ChildStderr {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

/// What a stream is without an end that exists.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Inherit,
    Null,
    Pipe,
}

impl Kind {
    pub fn number(self) -> u32 {
        match self {
            Kind::Inherit => sys::INHERIT,
            Kind::Null => sys::NULL,
            Kind::Pipe => sys::PIPE,
        }
    }
}

#[derive(Debug)]
enum Stream {
    Kind(Kind),
    End(End),
}

/// See `std::process::Stdio`.
#[derive(Debug)]
pub struct Stdio(Stream);

impl Stdio {
    /// See `std::process::Stdio::piped`.
    pub fn piped() -> Stdio {
        Stdio(Stream::Kind(Kind::Pipe))
    }

    /// See `std::process::Stdio::inherit`.
    pub fn inherit() -> Stdio {
        Stdio(Stream::Kind(Kind::Inherit))
    }

    /// See `std::process::Stdio::null`.
    pub fn null() -> Stdio {
        Stdio(Stream::Kind(Kind::Null))
    }

    /// As `spawn` takes it.
    pub(super) fn number(&self) -> u32 {
        match &self.0 {
            Stream::Kind(kind) => kind.number(),
            Stream::End(end) => end.0,
        }
    }

    /// A child has it. An end is its own, and the next child has none.
    pub(super) fn give(&mut self) {
        if let Stream::End(_) = self.0 {
            // Not dropped: by now the handle may be that of another end.
            mem::forget(mem::replace(&mut self.0, Stream::Kind(Kind::Null)));
        }
    }
}

impl From<ChildStdin> for Stdio {
    fn from(stream: ChildStdin) -> Stdio {
        Stdio(Stream::End(stream.0))
    }
}

impl From<ChildStdout> for Stdio {
    fn from(stream: ChildStdout) -> Stdio {
        Stdio(Stream::End(stream.0))
    }
}

impl From<ChildStderr> for Stdio {
    fn from(stream: ChildStderr) -> Stdio {
        Stdio(Stream::End(stream.0))
    }
}
