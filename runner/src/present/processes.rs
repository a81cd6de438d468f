//! What the processes of a batch have done so far, for those that tell of it while it runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// The shortest time of a process that is told apart, in seconds, and into how many parts times are told apart from there
/// on, each four times as long.
const SHORTEST: f64 = 1e-5;
const PARTS: u16 = 12;

/// What the processes of a batch have done so far.
#[derive(Clone, Debug)]
pub struct Processes {
    begin: Instant,
    /// How long it took, once it is over.
    pub took: Option<Duration>,
    /// How many there will be, if that is known.
    pub expected: Option<u64>,
    /// What runs them.
    pub devices: Vec<String>,
    pub begun: u64,
    /// Those that have ended, by how they did.
    pub ended: BTreeMap<&'static str, u64>,
    /// Those that an earlier batch has run.
    pub skipped: u64,
    /// Bytes of output of those that have ended.
    pub written: u64,
    /// Times of processes that have ended, in seconds.
    pub times: Histogram,
    /// The sum of those times, and of how many.
    pub time: (Duration, u64),
    /// The one that took longest.
    pub slowest: Option<(Duration, String)>,
}

impl Processes {
    /// Of a batch that begins now.
    pub fn new(expected: Option<u64>) -> Processes {
        Processes {
            begin: Instant::now(),
            took: None,
            expected,
            devices: Vec::new(),
            begun: 0,
            ended: BTreeMap::new(),
            skipped: 0,
            written: 0,
            times: Histogram::new(exponential_buckets(SHORTEST, 4.0, PARTS)),
            time: (Duration::ZERO, 0),
            slowest: None,
        }
    }

    /// How long the batch has run.
    pub fn elapsed(&self) -> Duration {
        self.took.unwrap_or_else(|| self.begin.elapsed())
    }

    /// How many have ended.
    pub fn all_ended(&self) -> u64 {
        self.ended.values().sum()
    }

    /// A process has ended in this way, after a time if it ran, and has written so many bytes.
    pub fn end(&mut self, kind: &'static str, name: &str, time: Option<Duration>, written: u64) {
        if let Some(time) = time {
            self.times.observe(time.as_secs_f64());
            self.time = (self.time.0 + time, self.time.1 + 1);
            if self.slowest.as_ref().is_none_or(|(slowest, _)| time > *slowest) {
                self.slowest = Some((time, name.to_owned()));
            }
        }
        *self.ended.entry(kind).or_default() += 1;
        self.written += written;
    }

    /// The batch is over.
    pub fn over(&mut self) {
        self.took.get_or_insert_with(|| self.begin.elapsed());
    }
}

/// The processes of a batch, as several threads see them.
#[derive(Clone, Debug)]
pub struct Seen(Arc<Mutex<Processes>>);

impl Seen {
    /// Of these processes.
    pub fn new(processes: Processes) -> Seen {
        Seen(Arc::new(Mutex::new(processes)))
    }

    /// The processes, which no other thread changes meanwhile.
    pub fn lock(&self) -> MutexGuard<'_, Processes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that a thread of its own does over and over, and once more when this is dropped, which waits for it.
pub struct Watch {
    /// Its drop ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to do it, `every` so often.
    ///
    /// # Errors
    ///
    /// There can be no thread.
    pub fn begin(name: &str, every: Duration, mut work: impl FnMut() + Send + 'static) -> io::Result<Watch> {
        let (stop, stopped) = channel();
        let over_and_over = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(every) {
                work();
            }
            work();
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(over_and_over)?;
        Ok(Watch {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it has panicked, that was told.
            _ = thread.join();
        }
    }
}
