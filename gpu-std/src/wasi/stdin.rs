//! `std::io`: standard input.

use std::fmt;
use std::io::{self, BufRead, BufReader, Lines, Read};
use std::mem::ManuallyDrop;
use std::string::String;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use super::errno::{BADF, Errno};
use super::fd::{Fd, uninit};
use super::is_terminal;

const STDIN: u32 = 0;

/// Input without a buffer.
struct Raw(ManuallyDrop<Fd>);

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(uninit(buffer)) {
            // A program that has no input is at its end, as in std.
            Err(Errno(BADF)) => Ok(0),
            read => Ok(read?),
        }
    }
}

static INPUT: LazyLock<Mutex<BufReader<Raw>>> =
    LazyLock::new(|| Mutex::new(BufReader::new(Raw(ManuallyDrop::new(Fd(STDIN))))));

/// See `std::io::Stdin`.
pub struct Stdin(());

/// See `std::io::StdinLock`.
pub struct StdinLock<'a> {
    input: MutexGuard<'a, BufReader<Raw>>,
}

/// See `std::io::stdin`.
pub fn stdin() -> Stdin {
    Stdin(())
}

impl Stdin {
    /// See `std::io::Stdin::lock`.
    pub fn lock(&self) -> StdinLock<'static> {
        StdinLock {
            input: INPUT.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// See `std::io::Stdin::read_line`.
    pub fn read_line(&self, line: &mut String) -> io::Result<usize> {
        self.lock().read_line(line)
    }

    /// See `std::io::Stdin::lines`.
    pub fn lines(self) -> Lines<StdinLock<'static>> {
        self.lock().lines()
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        is_terminal(STDIN)
    }
}

impl StdinLock<'_> {
    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        stdin().is_terminal()
    }
}

/// Reading, by a lock for each call.
macro_rules! read {
    ($type:ty) => {
        impl Read for $type {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.lock().read(buffer)
            }

            fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
                self.lock().read_to_end(bytes)
            }

            fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
                self.lock().read_to_string(text)
            }

            fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
                self.lock().read_exact(buffer)
            }
        }
    };
}

read!(Stdin);
read!(&Stdin);

impl Read for StdinLock<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.input.read_to_end(bytes)
    }

    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        self.input.read_to_string(text)
    }
}

impl BufRead for StdinLock<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.input.consume(amount);
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").finish_non_exhaustive()
    }
}

impl fmt::Debug for StdinLock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdinLock").finish_non_exhaustive()
    }
}
