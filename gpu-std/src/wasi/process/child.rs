//! A process that was started, and how it ended.

use std::fmt;
use std::io::{self, Read};
use std::vec::Vec;

use super::pipes::{ChildStderr, ChildStdin, ChildStdout, End};
use super::sys;
use crate::wasi::errno::{Errno, check};

/// Bytes that are read at a time.
const PIECE: usize = 4096;

/// See `std::process::ExitStatus`. Its code is `None` if the process trapped or was killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitStatus {
    kind: u32,
    value: u32,
}

impl ExitStatus {
    /// See `std::process::ExitStatus::success`.
    pub fn success(&self) -> bool {
        self.code() == Some(0)
    }

    /// See `std::process::ExitStatus::code`.
    pub fn code(&self) -> Option<i32> {
        (self.kind == sys::EXITED).then_some(self.value as i32)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            sys::EXITED => write!(f, "exit status: {}", self.value as i32),
            sys::TRAPPED => write!(f, "trap: {}", self.value),
            _ => f.write_str("killed"),
        }
    }
}

/// See `std::process::Output`.
#[derive(Clone, PartialEq, Eq)]
pub struct Output {
    /// How the process ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("status", &self.status)
            .field("stdout", &std::string::String::from_utf8_lossy(&self.stdout))
            .field("stderr", &std::string::String::from_utf8_lossy(&self.stderr))
            .finish()
    }
}

/// See `std::process::Child`.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    status: Option<ExitStatus>,
    /// The end of its standard input, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// The end of its standard output, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// The end of its standard error, if that is a pipe.
    pub stderr: Option<ChildStderr>,
}

impl Child {
    pub(super) fn new(pid: u32, [stdin, stdout, stderr]: [Option<End>; 3]) -> Child {
        Child {
            pid,
            status: None,
            stdin: stdin.map(ChildStdin),
            stdout: stdout.map(ChildStdout),
            stderr: stderr.map(ChildStderr),
        }
    }

    /// See `std::process::Child::id`.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// See `std::process::Child::kill`. It stops at the next loop or call, and [`Child::wait`] tells when it has.
    ///
    /// # Errors
    ///
    /// There is no such process; not where it has ended.
    pub fn kill(&mut self) -> io::Result<()> {
        match self.status {
            Some(_) => Ok(()),
            None => Ok(check(sys::kill(self.pid))?),
        }
    }

    fn wait_with(&mut self, flags: u32) -> Result<ExitStatus, Errno> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let mut ended = [0; 2];
        // SAFETY: the call writes to `ended` only.
        check(unsafe { sys::wait(self.pid, flags, &mut ended) })?;
        let [kind, value] = ended;
        Ok(*self.status.insert(ExitStatus { kind, value }))
    }

    /// See `std::process::Child::wait`.
    ///
    /// # Errors
    ///
    /// There is no such process.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        Ok(self.wait_with(0)?)
    }

    /// See `std::process::Child::try_wait`.
    ///
    /// # Errors
    ///
    /// There is no such process.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.wait_with(sys::NO_HANG) {
            Err(Errno(sys::AGAIN)) => Ok(None),
            ended => Ok(Some(ended?)),
        }
    }

    /// See `std::process::Child::wait_with_output`.
    ///
    /// # Errors
    ///
    /// There is no such process.
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        match (self.stdout.take(), self.stderr.take()) {
            (Some(mut out), None) => _ = out.read_to_end(&mut stdout)?,
            (None, Some(mut err)) => _ = err.read_to_end(&mut stderr)?,
            // The child waits where one of them is full, whichever is read.
            (Some(out), Some(err)) => read_both(out, &mut stdout, err, &mut stderr)?,
            (None, None) => {}
        }
        let status = self.wait()?;
        Ok(Output { status, stdout, stderr })
    }
}

/// Reads two pipes to their ends: by turns without waiting for either, then what is left of one.
fn read_both(
    mut first: ChildStdout,
    first_bytes: &mut Vec<u8>,
    mut second: ChildStderr,
    second_bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let mut room = [0; PIECE];
    loop {
        let one = first.0.try_read(&mut room)?;
        first_bytes.extend_from_slice(&room[..one.unwrap_or(0)]);
        if one == Some(0) {
            second.read_to_end(second_bytes)?;
            return Ok(());
        }
        let other = second.0.try_read(&mut room)?;
        second_bytes.extend_from_slice(&room[..other.unwrap_or(0)]);
        if other == Some(0) {
            first.read_to_end(first_bytes)?;
            return Ok(());
        }
        if (one, other) == (None, None) {
            sys::sched_yield();
        }
    }
}
