//! What a program says while it runs.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpu_run_vm::{Sink, Stream, Vitals};

/// Something that a program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'e> {
    /// Text for standard output, of that thread.
    Stdout(u32, &'e [u8]),
    /// Text for standard error, of that thread.
    Stderr(u32, &'e [u8]),
    /// Debug messages of any threads, a line each.
    Debug(&'e [u8]),
}

/// Where the events of a store go. Clones are the same.
#[derive(Clone)]
pub(super) struct Events(Arc<Mutex<SharedSink>>);

/// A sink that its owner goes on to use.
type SharedSink = Arc<Mutex<dyn Sink + Send>>;

/// A handler of events as a sink.
struct Handler<F>(F);

impl Events {
    /// Writes to this process's streams.
    pub(super) fn inherit() -> Events {
        Events(Arc::new(Mutex::new(shared(|event| {
            // A closed stream is no error of the program.
            _ = match event {
                Event::Stdout(_, bytes) => std::io::stdout().write_all(bytes),
                Event::Stderr(_, bytes) | Event::Debug(bytes) => std::io::stderr().write_all(bytes),
            };
        }))))
    }

    pub(super) fn set(&self, sink: SharedSink) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }

    pub(super) fn set_handler(&self, handler: impl FnMut(Event<'_>) + Send + 'static) {
        self.set(shared(handler));
    }

    fn with<R>(&self, work: impl FnOnce(&mut dyn Sink) -> R) -> R {
        let sink = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        work(&mut *sink.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn shared(handler: impl FnMut(Event<'_>) + Send + 'static) -> SharedSink {
    Arc::new(Mutex::new(Handler(handler)))
}

impl<F: FnMut(Event<'_>)> Sink for Handler<F> {
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
        (self.0)(match stream {
            Stream::Stdout => Event::Stdout(thread, bytes),
            Stream::Stderr => Event::Stderr(thread, bytes),
        });
    }

    fn debug(&mut self, messages: &[u8]) {
        (self.0)(Event::Debug(messages));
    }
}

impl Sink for Events {
    fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
        self.with(|sink| sink.write(stream, thread, bytes));
    }

    fn debug(&mut self, messages: &[u8]) {
        self.with(|sink| sink.debug(messages));
    }

    fn flush(&mut self) {
        self.with(|sink| sink.flush());
    }

    fn error(&self, stream: Stream) -> Option<u16> {
        self.with(|sink| sink.error(stream))
    }

    fn progress(&mut self, pixels: u64) {
        self.with(|sink| sink.progress(pixels));
    }

    fn vitals_every(&self) -> Option<Duration> {
        self.with(|sink| sink.vitals_every())
    }

    fn wants_functions(&self) -> bool {
        self.with(|sink| sink.wants_functions())
    }

    fn vitals(&mut self, vitals: &Vitals) {
        self.with(|sink| sink.vitals(vitals));
    }
}

/// What a program has said, kept. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Captured(Arc<Mutex<[Vec<u8>; 3]>>);

impl Captured {
    pub(super) fn add(&self, event: Event<'_>) {
        let (index, bytes) = match event {
            Event::Stdout(_, bytes) => (0, bytes),
            Event::Stderr(_, bytes) => (1, bytes),
            Event::Debug(bytes) => (2, bytes),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[index].extend_from_slice(bytes);
    }

    fn take(&self, index: usize) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)[index])
    }

    /// Takes what went to standard output.
    pub fn stdout(&self) -> Vec<u8> {
        self.take(0)
    }

    /// Takes what went to standard error.
    pub fn stderr(&self) -> Vec<u8> {
        self.take(1)
    }

    /// Takes the debug messages.
    pub fn debug(&self) -> Vec<u8> {
        self.take(2)
    }
}

/// Where WASI writes what does not come by the device. It is known once there is a store.
#[derive(Clone)]
pub(super) struct LateWriter(Arc<Mutex<Option<Events>>>, Stream);

impl LateWriter {
    pub(super) fn new() -> LateWriter {
        LateWriter(Arc::default(), Stream::Stdout)
    }

    /// The writer for standard error that goes along.
    pub(super) fn of_errors(&self) -> LateWriter {
        LateWriter(self.0.clone(), Stream::Stderr)
    }

    pub(super) fn bind(&self, events: Events) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
    }
}

impl Write for LateWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(events) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            events.write(self.1, 0, bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
