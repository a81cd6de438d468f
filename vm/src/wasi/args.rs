//! Reads a request's arguments as the types of the specification.
//!
//! What does not fit the type's width is EOVERFLOW, and bits or numbers that stand for nothing are EINVAL.

use gpu_run_bytecode::wasi::Function;

use super::errno::Errno;
use crate::{CallingRun, HostCall};

pub type Result<T> = std::result::Result<T, Errno>;

/// The arguments of a request that are not read yet.
pub struct Args<'r> {
    words: std::slice::Iter<'r, u64>,
    input: &'r [u8],
    /// Bytes that the reply's data may have.
    pub capacity: usize,
    /// The run that the call is of.
    pub run: CallingRun<'r>,
}

impl<'r> Args<'r> {
    pub fn new(request: &HostCall<'r>) -> Self {
        Args {
            words: request.args.iter(),
            input: request.input,
            capacity: request.capacity,
            run: request.run,
        }
    }

    /// Makes a change that outlives the run, and waits for nothing but the host's file systems: see
    /// [`CallingRun::unless_ended`].
    ///
    /// # Errors
    /// Those of the change, and ECANCELED if the run has ended.
    pub fn unless_ended<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        unless_ended(self.run, change)
    }

    /// An i64.
    pub fn u64(&mut self) -> Result<u64> {
        self.words.next().copied().ok_or(Errno::Inval)
    }

    /// An i32, such as a descriptor or a length.
    pub fn u32(&mut self) -> Result<u32> {
        self.u64().map(|word| word as u32)
    }

    fn u16(&mut self) -> Result<u16> {
        u16::try_from(self.u32()?).map_err(|_| Errno::Overflow)
    }

    fn u8(&mut self) -> Result<u8> {
        u8::try_from(self.u32()?).map_err(|_| Errno::Overflow)
    }

    /// One of `count` numbers.
    pub fn choice(&mut self, count: u8) -> Result<u8> {
        let value = self.u8()?;
        if value < count { Ok(value) } else { Err(Errno::Inval) }
    }

    pub fn flags8(&mut self, all: u8) -> Result<u8> {
        let value = self.u8()?;
        if value & !all == 0 {
            Ok(value)
        } else {
            Err(Errno::Inval)
        }
    }

    pub fn flags16(&mut self, all: u16) -> Result<u16> {
        let value = self.u16()?;
        if value & !all == 0 {
            Ok(value)
        } else {
            Err(Errno::Inval)
        }
    }

    pub fn flags32(&mut self, all: u32) -> Result<u32> {
        let value = u32::try_from(self.u32()? as i32).map_err(|_| Errno::Overflow)?;
        if value & !all == 0 {
            Ok(value)
        } else {
            Err(Errno::Inval)
        }
    }

    pub fn flags64(&mut self, all: u64) -> Result<u64> {
        let value = u64::try_from(self.u64()? as i64).map_err(|_| Errno::Overflow)?;
        if value & !all == 0 {
            Ok(value)
        } else {
            Err(Errno::Inval)
        }
    }

    /// The bytes of an `In` parameter: pointer, length, and that much of the input.
    pub fn bytes(&mut self) -> Result<&'r [u8]> {
        self.skip()?;
        let length = self.u32()? as usize;
        let (bytes, rest) = self.input.split_at_checked(length).ok_or(Errno::Fault)?;
        self.input = rest;
        Ok(bytes)
    }

    /// All bytes of an `InVec` or `Subscriptions` parameter, whose pointer (and count) the caller skips.
    pub fn rest(&mut self) -> &'r [u8] {
        std::mem::take(&mut self.input)
    }

    /// Passes over a pointer, or over a count that the host does not need.
    pub fn skip(&mut self) -> Result<()> {
        self.u64().map(|_| ())
    }
}

/// See [`Args::unless_ended`].
pub fn unless_ended<T>(run: CallingRun<'_>, change: impl FnOnce() -> Result<T>) -> Result<T> {
    run.unless_ended(change).unwrap_or(Err(Errno::Canceled))
}

/// Whether a function only changes something, at once. All of that happens before the end of its run, or nothing does.
/// The others wait, or take long, and see to their changes themselves.
pub fn changes(function: Function) -> bool {
    use Function::*;
    matches!(
        function,
        FdFdstatSetFlags
            | FdFdstatSetRights
            | FdFilestatSetSize
            | FdFilestatSetTimes
            | FdReaddir
            | FdSeek
            | PathCreateDirectory
            | PathFilestatSetTimes
            | PathLink
            | PathRemoveDirectory
            | PathRename
            | PathSymlink
            | PathUnlinkFile
            | SockShutdown
            | TcpSet
    )
}

/// A path, or what a symbolic link is to hold.
pub fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Errno::Ilseq)
}
