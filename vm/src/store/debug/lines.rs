//! From pieces of messages to what is shown, by as many threads as it takes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::debug::{DebugOptions, Formatted};
use crate::layout::{self, DEBUG_WORDS};

/// A piece of a thread's message, as `kernel/ops/debug.h` writes it.
pub(super) struct Piece {
    pub(super) thread: u32,
    pub(super) flags: u32,
    /// Where its items stand among the words that it was found in.
    pub(super) items: Range<usize>,
}

impl Piece {
    pub(super) fn is_first(&self) -> bool {
        self.flags & layout::DEBUG_FIRST != 0
    }

    pub(super) fn is_last(&self) -> bool {
        self.flags & layout::DEBUG_LAST != 0
    }

    pub(super) fn ends_line(&self) -> bool {
        self.is_last() && self.flags & layout::DEBUG_LINE != 0
    }
}

/// The pieces that lie side by side in a range of words.
fn pieces(words: &[u32]) -> impl Iterator<Item = Piece> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let [thread, flags, rest @ ..] = words.get(at..)? else {
            return None;
        };
        let used = (flags >> layout::DEBUG_USED_SHIFT) as usize;
        let used = used.min(DEBUG_WORDS).min(rest.len());
        let piece = Piece {
            thread: *thread,
            flags: *flags,
            items: at + 2..at + 2 + used,
        };
        at += (2 + used).next_multiple_of(4);
        Some(piece)
    })
}

/// Pieces that are formatted together.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) words: Vec<u32>,
    /// What became of the messages that came whole, one after the other.
    pub(super) text: Vec<u8>,
    pub(super) messages: u64,
    /// Pieces of messages that came in several, and how long the text was where they belong.
    pub(super) parts: Vec<(usize, Piece)>,
}

impl Chunk {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.text.clear();
        self.messages = 0;
        self.parts.clear();
    }

    /// Formats the words.
    pub(super) fn format(&mut self, options: &DebugOptions, scratch: &mut Formatted) {
        for piece in pieces(&self.words) {
            if !(piece.is_first() && piece.is_last()) {
                self.parts.push((self.text.len(), piece));
            } else if options.threads.contains(piece.thread) {
                scratch.clear();
                scratch.add(&self.words[piece.items.clone()]);
                (options.format)(&mut self.text, &scratch.message(piece.thread, piece.ends_line()));
                self.messages += 1;
            }
        }
    }
}

/// Threads that format chunks. The results are taken in the order in which the chunks were passed.
pub(super) struct Workers {
    jobs: Option<Sender<(Chunk, Sender<Chunk>)>>,
    /// It has started the others, and ends after them.
    first: Option<JoinHandle<()>>,
    /// How many there are to be.
    count: usize,
    under_way: VecDeque<Receiver<Chunk>>,
}

/// Chunks under way for each thread: one that it works on, and some that wait.
const EACH: usize = 4;
/// More are of no use: a single thread moves pieces from the ring.
const MOST: usize = 8;

/// A thread's work. It ends when the other end of `jobs` is gone.
fn work(jobs: &Mutex<Receiver<(Chunk, Sender<Chunk>)>>, options: &DebugOptions) {
    let mut scratch = Formatted::default();
    let next = || jobs.lock().ok()?.recv().ok();
    while let Some((mut chunk, reply)) = next() {
        chunk.format(options, &mut scratch);
        // The receiver has ended if it does not want it any more.
        _ = reply.send(chunk);
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    let builder = std::thread::Builder::new().name("debug messages".into());
    builder.spawn(run).ok()
}

impl Workers {
    /// Starts half as many threads as there are cores: lanes and the host's own work want some too. None if
    /// there is no core or no thread to be had.
    pub(super) fn start(options: &Arc<DebugOptions>) -> Option<Workers> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let count = (cores / 2).min(MOST);
        if count == 0 {
            return None;
        }
        let (jobs, taken) = channel();
        let (taken, options) = (Arc::new(Mutex::new(taken)), options.clone());
        // The first starts the others: the thread that takes pieces from the ring has no time for it.
        let run = move || {
            let other = || {
                let (taken, options) = (taken.clone(), options.clone());
                spawn(move || work(&taken, &options))
            };
            let others: Vec<_> = (1..count).map_while(|_| other()).collect();
            work(&taken, &options);
            for other in others {
                _ = other.join();
            }
        };
        Some(Workers {
            jobs: Some(jobs),
            first: Some(spawn(run)?),
            count,
            under_way: VecDeque::new(),
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether the oldest chunk should be waited for before another is given.
    pub(super) fn is_full(&self) -> bool {
        self.under_way.len() >= EACH * self.count
    }

    pub(super) fn give(&mut self, chunk: Chunk) {
        let (reply, answer) = channel();
        if let Some(jobs) = &self.jobs {
            // The threads end only after this end has.
            _ = jobs.send((chunk, reply));
            self.under_way.push_back(answer);
        }
    }

    /// The oldest chunk, if it is ready or, with `wait`, when it is.
    pub(super) fn next(&mut self, wait: bool) -> Option<Chunk> {
        let oldest = self.under_way.front()?;
        let chunk = match wait {
            true => oldest.recv().map_err(|_| TryRecvError::Disconnected),
            false => oldest.try_recv(),
        };
        if let Err(TryRecvError::Empty) = chunk {
            return None;
        }
        self.under_way.pop_front();
        chunk.ok()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(first) = self.first.take() {
            _ = first.join();
        }
    }
}
