//! What is written to the user. A closed stream is no error of the program that runs: what cannot be written is dropped,
//! where `println!` would panic. Another process that shares a stream may have set it not to wait. It is waited for all
//! the same, so that nothing is lost.

use std::io::{self, ErrorKind, IsTerminal, Stderr, Stdout, Write};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};

use crate::{view, writes};

/// Bytes of a write to a pipe or terminal, which takes them as soon as as many were read.
const PIECE: usize = 4 << 10;

/// Writes a line to stdout.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        _ = writeln!($crate::output::stdout(), $($text)*);
    }};
}

/// Writes a line to stderr.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::output::write_stderr(format!("{}\n", format_args!($($text)*)).as_bytes())
    };
}

/// A stream of this process that waits until it takes what is written.
pub struct Patient<S> {
    stream: S,
    /// What is written is recorded, once that was asked for.
    recorded: bool,
}

/// Standard output.
pub fn stdout() -> Patient<Stdout> {
    Patient {
        stream: io::stdout(),
        recorded: true,
    }
}

/// Standard error.
pub fn stderr() -> Patient<Stderr> {
    Patient {
        stream: io::stderr(),
        recorded: false,
    }
}

/// Whether what is written to stderr may have colours.
pub fn stderr_has_colors() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Writes all of this to stderr, with nothing between its parts that another thread writes by this function.
pub fn write_stderr(bytes: &[u8]) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    _ = stderr().write_all(bytes);
}

/// Bytes that are recorded; of more than these there is no record.
const RECORD: usize = 16 << 20;

/// What was written to stdout, if it is recorded.
static RECORDED: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Records what is written to stdout from here on.
pub fn record_stdout() {
    *RECORDED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// What was written to stdout since it is recorded. It is recorded no longer.
pub fn recorded() -> Option<Vec<u8>> {
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn record(bytes: &[u8]) {
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *recorded {
        Some(before) if before.len() + bytes.len() <= RECORD => before.extend_from_slice(bytes),
        _ => *recorded = None,
    }
}

/// How the word `error` looks.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// How the word `warning` looks.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// How the marks look with which the lines after a message begin.
pub const MARK: Style = AnsiColor::Blue.on_default().bold();
/// How a message looks, beside its first word.
pub const STRONG: Style = Style::new().bold();

/// Standard error for a message with colours, which are left out where it is no terminal. Waits until it takes one,
/// if that is as short as messages are.
pub fn styled() -> anstream::AutoStream<Stderr> {
    let stderr = io::stderr();
    // Whole lines follow.
    view::make_way(&stderr, b"\n");
    #[cfg(unix)]
    writes::while_writing(|| wait(&stderr));
    anstream::AutoStream::auto(stderr)
}

#[cfg(unix)]
use std::os::fd::AsFd as Waits;

/// Any stream: here they all wait themselves.
#[cfg(not(unix))]
pub trait Waits {}
#[cfg(not(unix))]
impl<S> Waits for S {}

/// Waits until a stream takes something, or tells an error.
#[cfg(unix)]
fn wait(stream: &impl Waits) {
    use rustix::event::{PollFd, PollFlags, poll};
    // If it fails, the write that follows does too.
    _ = poll(&mut [PollFd::new(stream, PollFlags::OUT)], None);
}

/// Whether a write ends without a reader.
#[cfg(unix)]
fn takes_all_at_once(stream: &impl Waits) -> bool {
    use rustix::fs::{FileType, fstat};
    fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

#[cfg(not(unix))]
fn takes_all_at_once(_stream: &impl Waits) -> bool {
    false
}

#[cfg(not(unix))]
fn wait(_stream: &impl Waits) {
    std::thread::yield_now();
}

impl<S: Write + Waits> Patient<S> {
    /// An action that has done nothing if it fails with `WouldBlock`.
    fn retry<T>(&mut self, mut action: impl FnMut(&mut S) -> io::Result<T>) -> io::Result<T> {
        loop {
            match action(&mut self.stream) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait(&self.stream),
                result => return result,
            }
        }
    }
}

impl Patient<Stderr> {
    /// Writes all of this, where what stands below all output is.
    pub fn write_through(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = writes::while_writing(|| self.retry(|stream| stream.write(bytes)))?;
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

impl<S: Write + Waits + IsTerminal> Write for Patient<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let whole = bytes.len() <= PIECE || takes_all_at_once(&self.stream);
        let piece = if whole { bytes } else { &bytes[..PIECE] };
        view::make_way(&self.stream, piece);
        let written = writes::while_writing(|| self.retry(|stream| stream.write(piece)))?;
        if self.recorded {
            record(&piece[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        writes::while_writing(|| self.retry(Write::flush))
    }
}
