//! Where the guest's output goes: stdout, stderr, and debug messages to stderr.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_run_vm::{DebugMessage, Level, Sink, Stream};
use serde_json::json;

use crate::cli::DebugArgs;

/// Bytes of debug messages that are gathered for a write.
const TOGETHER: usize = 64 << 10;

/// Writes the guest's output as it comes.
pub struct Terminal {
    /// Set once nobody reads stdout any more: the run is interrupted.
    pub closed: Arc<AtomicBool>,
    /// Whether that happened.
    pub broken_pipe: bool,
    prefix: bool,
    json: bool,
    /// Debug messages to be written.
    gathered: Vec<u8>,
    /// The last debug message is no whole line.
    line_open: bool,
    /// What each thread wrote to stderr last, if somebody will ask.
    last_stderr: Option<HashMap<u32, Vec<u8>>>,
}

impl Terminal {
    /// Output as the options want it. `keep_stderr` if [`Terminal::said_last`] will be asked.
    pub fn new(closed: Arc<AtomicBool>, args: &DebugArgs, keep_stderr: bool) -> Terminal {
        Terminal {
            closed,
            broken_pipe: false,
            prefix: args.debug_prefix,
            json: args.debug_json,
            gathered: Vec::new(),
            line_open: false,
            last_stderr: keep_stderr.then(HashMap::new),
        }
    }

    /// What a thread wrote to stderr last: its panic's message, if it panicked.
    pub fn said_last(&self, thread: u32) -> Option<String> {
        let text = self.last_stderr.as_ref()?.get(&thread)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// The run has ended: what follows on stderr begins a line.
    pub fn finish(&mut self) {
        if std::mem::take(&mut self.line_open) {
            self.gathered.push(b'\n');
        }
        self.flush();
    }

    fn note(&mut self, result: std::io::Result<()>) {
        if result.is_err() {
            self.broken_pipe = true;
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    fn write_gathered(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let result = match self.broken_pipe {
            true => Ok(()),
            false => std::io::stderr().lock().write_all(&self.gathered),
        };
        self.gathered.clear();
        self.note(result);
    }
}

impl Sink for Terminal {
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
        // What a thread said first comes first.
        self.write_gathered();
        if let Some(last) = self.last_stderr.as_mut().filter(|_| stream == Stream::Stderr) {
            last.insert(thread, bytes.to_vec());
        }
        if self.broken_pipe {
            return;
        }
        let result = match stream {
            Stream::Stdout => std::io::stdout().lock().write_all(bytes),
            Stream::Stderr => std::io::stderr().lock().write_all(bytes),
        };
        self.note(result);
    }

    fn debug(&mut self, message: &DebugMessage<'_>) {
        match self.json {
            true => json_line(&mut self.gathered, message),
            false => plain(&mut self.gathered, message, self.prefix),
        }
        self.line_open = self.gathered.last().is_some_and(|byte| *byte != b'\n');
        if self.gathered.len() >= TOGETHER {
            self.write_gathered();
        }
    }

    fn flush(&mut self) {
        self.write_gathered();
        let result = std::io::stdout().lock().flush();
        self.note(result);
    }
}

/// A message for people.
fn plain(out: &mut Vec<u8>, message: &DebugMessage<'_>, prefix: bool) {
    if prefix {
        // Writing to memory does not fail.
        _ = write!(out, "[thread {}] ", message.thread);
    }
    if let Some(level) = message.level {
        let name = level.name().to_ascii_uppercase();
        _ = match message.file.filter(|file| !file.is_empty()) {
            Some(file) => write!(out, "[{name} {file}:{}] ", message.line),
            None => write!(out, "[{name}] "),
        };
    }
    out.extend(message.text);
    out.extend(message.ends_line.then_some(b'\n'));
}

/// A message for programs: an object on a line.
fn json_line(out: &mut Vec<u8>, message: &DebugMessage<'_>) {
    let mut object = json!({
        "thread": message.thread,
        "level": message.level.unwrap_or(Level::Debug).name(),
        "text": String::from_utf8_lossy(message.text),
    });
    if let Some(file) = message.file.filter(|file| !file.is_empty()) {
        object["file"] = file.into();
        object["line"] = message.line.into();
    }
    _ = writeln!(out, "{object}");
}
