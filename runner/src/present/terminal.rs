//! Where the guest's output goes: stdout, stderr, and debug messages to stderr.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::time::Duration;

use gpu_run::{DebugFormat, DebugMessage, InterruptHandle, Level, Sink, Stream};
use gpu_run_vm::{Errno, Vitals};
use indicatif::ProgressBar;

use crate::cli::{DebugArgs, ReportFormat, RunArgs};
use crate::json::{self, DebugLine, DebugPlace};
use crate::live::Live;
use crate::metrics::Metrics;
use crate::output;
use crate::report::{Report, code};

/// Bytes of debug messages that are gathered for a write.
const TOGETHER: usize = 64 << 10;

/// Writes the guest's output as it comes.
pub struct Terminal {
    /// Interrupts the run once its output has no reader.
    interrupt: InterruptHandle,
    /// The guest is told of errors, and does what it likes.
    tells: bool,
    /// Why stdout and stderr cannot be written any more.
    errors: [Option<std::io::Error>; 2],
    /// How much of the frame is done, on a line below all other output.
    progress: Option<ProgressBar>,
    /// Tells of the run elsewhere.
    metrics: Option<Metrics>,
    /// Tells of it below all other output.
    live: Option<Live>,
    /// Debug messages to be written.
    gathered: Vec<u8>,
    /// The last debug message is no whole line.
    line_open: bool,
    /// What each thread wrote to stderr last, if the report will be JSON.
    last_stderr: Option<HashMap<u32, Vec<u8>>>,
    /// What threads have said of the end that may follow.
    last_words: LastWords,
}

impl Terminal {
    /// Output as the options want it. `interrupt` ends the run; with `tells` the guest finds errors itself.
    pub fn new(interrupt: InterruptHandle, tells: bool, progress: Option<ProgressBar>, args: &RunArgs) -> Terminal {
        Terminal {
            interrupt,
            tells,
            errors: [None, None],
            progress,
            metrics: None,
            live: None,
            gathered: Vec::new(),
            line_open: false,
            last_stderr: (args.report == ReportFormat::Json).then(HashMap::new),
            last_words: LastWords::default(),
        }
    }

    /// Tells what the run does in another way too.
    pub fn tell(&mut self, metrics: Metrics) {
        self.metrics = Some(metrics);
    }

    /// Shows what the run does.
    pub fn show(&mut self, live: Option<Live>) {
        self.live = live;
    }

    /// What a thread wrote from its last panic on, or of an allocation that failed.
    pub fn panic(&self, thread: u32) -> Option<String> {
        let text = self.last_words.threads.get(&thread)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// What a thread wrote to stderr last, if the report will be JSON.
    pub fn said_last(&self, thread: u32) -> Option<String> {
        let text = self.last_stderr.as_ref()?.get(&thread)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// Whether the run was interrupted because its output has no reader.
    pub fn nobody_reads(&self) -> bool {
        !self.tells && self.errors.iter().any(Option::is_some)
    }

    /// Whether all was written so far.
    pub fn is_whole(&self) -> bool {
        self.errors.iter().all(Option::is_none)
    }

    /// What could not be written, where the guest may not have said so. A closed pipe is no error.
    pub fn report(&self) -> Option<Report> {
        let lost = |(error, name): (&Option<std::io::Error>, &str)| {
            let error = error.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
            Some(Report::new(format!("cannot write to {name}: {error}")).code(code::LOST))
        };
        self.errors.iter().zip(["stdout", "stderr"]).find_map(lost)
    }

    /// The run has ended: what follows on stderr begins a line.
    pub fn finish(&mut self) {
        if let Some(bar) = &self.progress {
            bar.finish_and_clear();
        }
        if let Some(live) = self.live.take() {
            live.finish();
        }
        if std::mem::take(&mut self.line_open) {
            self.gathered.push(b'\n');
        }
        self.flush();
    }

    fn is_open(&self, stream: Stream) -> bool {
        // Without a guest to tell, one closed stream ends the run.
        match self.tells {
            true => self.errors[stream as usize].is_none(),
            false => self.errors.iter().all(Option::is_none),
        }
    }

    /// Writes, above the line of the progress.
    fn put(&mut self, stream: Stream, bytes: &[u8]) {
        if !self.is_open(stream) {
            return;
        }
        let write = || match stream {
            Stream::Stdout => output::stdout().write_all(bytes),
            Stream::Stderr => output::stderr().write_all(bytes),
        };
        let result = match &self.progress {
            Some(bar) => bar.suspend(write),
            None => write(),
        };
        self.note(stream, result);
    }

    fn note(&mut self, stream: Stream, result: std::io::Result<()>) {
        let Err(error) = result else { return };
        self.errors[stream as usize].get_or_insert(error);
        if !self.tells {
            self.interrupt.interrupt();
        }
    }

    fn write_gathered(&mut self) {
        if !self.gathered.is_empty() {
            let mut gathered = std::mem::take(&mut self.gathered);
            self.put(Stream::Stderr, &gathered);
            // Its memory is for the next ones.
            gathered.clear();
            self.gathered = gathered;
        }
    }
}

/// What threads wrote to stderr since they began to tell of a panic or of a failed allocation. std may do that in
/// several pieces.
#[derive(Default)]
struct LastWords {
    threads: HashMap<u32, Vec<u8>>,
}

impl LastWords {
    /// How what is kept begins, in one piece of std's.
    const BEGIN: [&str; 3] = ["thread '", "panicked at ", "memory allocation of "];
    /// Bytes that are kept of a thread.
    const MOST: usize = 64 << 10;

    fn add(&mut self, thread: u32, bytes: &[u8]) {
        let begins = |name: &str| memchr::memmem::find(bytes, name.as_bytes()).is_some();
        match self.threads.get_mut(&thread) {
            // In pieces, the head is followed by the place.
            Some(text) if !begins(Self::BEGIN[0]) && !begins(Self::BEGIN[2]) => {
                let room = Self::MOST.saturating_sub(text.len());
                text.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            _ if Self::BEGIN.into_iter().any(begins) => {
                let kept = &bytes[..bytes.len().min(Self::MOST)];
                self.threads.insert(thread, kept.to_vec());
            }
            _ => {}
        }
    }
}

impl Sink for Terminal {
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
        // What a thread said first comes first.
        self.write_gathered();
        if let Some(last) = self.last_stderr.as_mut().filter(|_| stream == Stream::Stderr) {
            last.insert(thread, bytes.to_vec());
        }
        if stream == Stream::Stderr {
            self.last_words.add(thread, bytes);
        }
        self.put(stream, bytes);
    }

    fn debug(&mut self, messages: &[u8]) {
        self.line_open = messages.last().is_some_and(|byte| *byte != b'\n');
        self.gathered.extend_from_slice(messages);
        if self.gathered.len() >= TOGETHER {
            self.write_gathered();
        }
    }

    fn progress(&mut self, pixels: u64) {
        if let Some(bar) = &self.progress {
            bar.set_position(pixels.min(bar.length().unwrap_or(pixels)));
        }
    }

    fn vitals_every(&self) -> Option<Duration> {
        let metrics = self.metrics.as_ref().map(Metrics::every);
        let live = self.live.as_ref().map(Live::every);
        metrics.into_iter().chain(live).min()
    }

    fn wants_functions(&self) -> bool {
        self.live.is_some()
    }

    fn vitals(&mut self, vitals: &Vitals) {
        if let Some(metrics) = &mut self.metrics {
            metrics.take(vitals);
        }
        if let Some(live) = &mut self.live {
            live.take(vitals);
        }
    }

    fn flush(&mut self) {
        self.write_gathered();
        if self.is_open(Stream::Stdout) {
            let result = output::stdout().flush();
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

/// How debug messages are shown.
pub fn debug_format(args: &DebugArgs) -> DebugFormat {
    match (args.debug_json, args.debug_prefix) {
        (true, _) => json_line,
        (false, true) => prefixed,
        (false, false) => plain,
    }
}

/// A message for people, with the thread that sent it.
fn prefixed(out: &mut Vec<u8>, message: &DebugMessage<'_>) {
    // Writing to memory does not fail.
    _ = write!(out, "[thread {}] ", message.thread);
    plain(out, message);
}

/// A message for people.
fn plain(out: &mut Vec<u8>, message: &DebugMessage<'_>) {
    if let Some(level) = message.level {
        let name = level.name().to_ascii_uppercase();
        _ = match message.file.filter(|file| !file.is_empty()) {
            Some(file) => write!(out, "[{name} {file}:{}] ", message.line),
            None => write!(out, "[{name}] "),
        };
    }
    out.extend_from_slice(message.text);
    out.extend(message.ends_line.then_some(b'\n'));
}

/// A message for programs: an object on a line.
fn json_line(out: &mut Vec<u8>, message: &DebugMessage<'_>) {
    let file = message.file.filter(|file| !file.is_empty());
    let object = DebugLine {
        thread: message.thread,
        level: message.level.unwrap_or(Level::Debug).name(),
        text: String::from_utf8_lossy(message.text),
        place: file.map(|file| DebugPlace {
            file,
            line: message.line,
        }),
    };
    _ = writeln!(out, "{}", json::line(&object));
}
