//! `std::io`: standard error, of which std's own code is lost in builds with link-time optimization.

use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;

use crate::platform::{end_error, print_error};
use crate::wasi::is_terminal;

const STDERR: u32 = 2;

/// See `std::io::Stderr`.
pub struct Stderr(());

/// See `std::io::StderrLock`. It keeps no other thread out: each call is one record, with a lock or without. Only a
/// value that is shown and writes to standard error itself ends the record there.
pub struct StderrLock<'a> {
    /// As in std, it stays with its thread.
    lent: PhantomData<(&'a (), *const ())>,
}

/// See `std::io::stderr`.
pub fn stderr() -> Stderr {
    Stderr(())
}

impl Stderr {
    /// See `std::io::Stderr::lock`.
    pub fn lock(&self) -> StderrLock<'static> {
        StderrLock { lent: PhantomData }
    }

    /// Whether it is read as it comes, by a person.
    pub fn is_terminal(&self) -> bool {
        is_terminal(STDERR)
    }
}

impl StderrLock<'_> {
    /// As of [`Stderr`].
    pub fn is_terminal(&self) -> bool {
        is_terminal(STDERR)
    }
}

/// Adds the pieces of a message to a record.
struct Pieces;

impl fmt::Write for Pieces {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        print_error(piece.as_bytes());
        Ok(())
    }
}

macro_rules! impl_write {
    ($type:ty) => {
        impl Write for $type {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.write_all(bytes)?;
                Ok(bytes.len())
            }

            fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
                slices.iter().for_each(|slice| print_error(slice));
                end_error();
                Ok(slices.iter().map(|slice| slice.len()).sum())
            }

            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                print_error(bytes);
                end_error();
                Ok(())
            }

            fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> io::Result<()> {
                let formatted = fmt::write(&mut Pieces, arguments);
                end_error();
                // As in std: writing does not fail, so it was a `Display` of the program's own.
                assert!(formatted.is_ok(), "a formatting trait implementation failed");
                Ok(())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
    };
}

impl_write!(Stderr);
impl_write!(&Stderr);
impl_write!(StderrLock<'_>);

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stderr").finish_non_exhaustive()
    }
}

impl fmt::Debug for StderrLock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrLock").finish_non_exhaustive()
    }
}
