//! Where the guest's output goes: the streams of this process.

use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_run_vm::{Errno, Sink, Stream};

use crate::report::Report;

/// Exit code of a run whose output could not be written.
const LOST: u8 = 1;

/// Writes the guest's output as it comes.
pub struct Terminal {
    /// Set to interrupt the run once nobody reads its output.
    interrupt: Arc<AtomicBool>,
    /// The guest is told of errors, and does what it likes.
    tells: bool,
    /// Why stdout and stderr cannot be written any more.
    errors: [Option<std::io::Error>; 2],
}

impl Terminal {
    /// `interrupt` ends the run; with `tells` the guest finds errors itself.
    pub fn new(interrupt: Arc<AtomicBool>, tells: bool) -> Terminal {
        Terminal {
            interrupt,
            tells,
            errors: [None, None],
        }
    }

    /// Whether the run was interrupted because nobody reads its output.
    pub fn nobody_reads(&self) -> bool {
        !self.tells && self.errors.iter().any(Option::is_some)
    }

    /// What could not be written, where the guest may not have said so. That nobody reads is no error.
    pub fn report(&self) -> Option<Report> {
        let lost = |(error, name): (&Option<std::io::Error>, &str)| {
            let error = error.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
            Some(Report::new(format!("cannot write to {name}: {error}")).code(LOST))
        };
        self.errors.iter().zip(["stdout", "stderr"]).find_map(lost)
    }

    fn note(&mut self, stream: Stream, result: std::io::Result<()>) {
        let Err(error) = result else { return };
        self.errors[stream as usize].get_or_insert(error);
        if !self.tells {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }

    fn is_open(&self, stream: Stream) -> bool {
        // Without a guest to tell, one closed stream ends the run.
        match self.tells {
            true => self.errors[stream as usize].is_none(),
            false => self.errors.iter().all(Option::is_none),
        }
    }
}

impl Sink for Terminal {
    fn write(&mut self, stream: Stream, _thread: u32, bytes: &[u8]) {
        if !self.is_open(stream) {
            return;
        }
        let result = match stream {
            Stream::Stdout => std::io::stdout().lock().write_all(bytes),
            Stream::Stderr => std::io::stderr().lock().write_all(bytes),
        };
        self.note(stream, result);
    }

    fn flush(&mut self) {
        if self.is_open(Stream::Stdout) {
            let result = std::io::stdout().lock().flush();
            self.note(Stream::Stdout, result);
        }
    }

    fn error(&self, stream: Stream) -> Option<u16> {
        let error = self.errors[stream as usize].as_ref()?;
        Some(match error.kind() {
            ErrorKind::BrokenPipe => Errno::Pipe.code(),
            ErrorKind::StorageFull => Errno::Nospc.code(),
            _ => Errno::Io.code(),
        })
    }
}
