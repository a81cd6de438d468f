//! The host's side of debug messages: pieces from the ring become messages; see `kernel/ops/debug.h`.
//!
//! In: pieces of messages from the output ring, in the order in which they come. Out: formatted messages, passed to the
//! run's [`Sink`].
//!
//! - this file: collects the pieces of a run in chunks, keeps messages that are still open, and passes on what is
//!   ready;
//! - `lines`: formats the messages of a chunk, on other threads where there are many.

mod lines;

use std::collections::HashMap;
use std::sync::Arc;

use self::lines::{Chunk, Piece, Workers};
use super::Sink;
use crate::debug::{DebugCounts, DebugOptions, Formatted};
use crate::layout::{self, DEBUG_WORDS, DebugThread, Diagnostics, Ptr};

/// Bytes of text that are held back while a message is open: a greater one is given in parts.
const OPEN_BYTES: usize = 1 << 20;
/// Words of pieces that are formatted at once. Where so many come together, threads are started for them.
const CHUNK_WORDS: usize = 16 << 10;

/// Debug messages of a run.
pub(super) struct Messages {
    options: Arc<DebugOptions>,
    /// Pieces from the ring that were not looked at yet.
    chunk: Chunk,
    /// Used again and again.
    spare: Vec<Chunk>,
    scratch: Formatted,
    line: Vec<u8>,
    /// Messages of which pieces came.
    open: HashMap<u32, Formatted>,
    /// None until there is work for them; then none if they could not be started.
    workers: Option<Option<Workers>>,
    /// Messages given so far.
    pub(super) counts: DebugCounts,
}

impl Messages {
    pub(super) fn new(options: DebugOptions) -> Messages {
        Messages {
            options: Arc::new(options),
            chunk: Chunk::default(),
            spare: Vec::new(),
            scratch: Formatted::default(),
            line: Vec::new(),
            open: HashMap::new(),
            workers: None,
            counts: DebugCounts::default(),
        }
    }

    /// Takes what a record holds: pieces side by side, whose bytes may lie in two places. They are given to the
    /// sink by and by.
    pub(super) fn take(&mut self, parts: [&mut [u8]; 2], sink: &mut dyn Sink) {
        for part in parts {
            // The ring's bytes are aligned to 16, and so are records and pieces.
            self.chunk.words.extend_from_slice(bytemuck::cast_slice(part));
        }
        if self.chunk.words.len() >= CHUNK_WORDS {
            if self.workers.is_none() {
                self.workers = Some(Workers::start(&self.options));
            }
            self.format(sink);
        }
    }

    /// Passes the sink what is ready, and has the rest made ready; says whether there was something. Called when the
    /// ring has nothing for now.
    pub(super) fn pass_on(&mut self, sink: &mut dyn Sink) -> bool {
        let mut some = !self.chunk.words.is_empty();
        if some {
            self.format(sink);
        }
        while let Some(chunk) = self.ready(false) {
            self.give(chunk, sink);
            some = true;
        }
        some
    }

    /// Passes the sink all that was taken.
    pub(super) fn settle(&mut self, sink: &mut dyn Sink) {
        while let Some(chunk) = self.ready(true) {
            self.give(chunk, sink);
        }
        self.format(sink);
        while let Some(chunk) = self.ready(true) {
            self.give(chunk, sink);
        }
    }

    /// The oldest chunk that was given to other threads.
    fn ready(&mut self, wait: bool) -> Option<Chunk> {
        self.workers.as_mut()?.as_mut()?.next(wait)
    }

    /// Formats the pieces taken, here if they are few and nothing is under way before them.
    fn format(&mut self, sink: &mut dyn Sink) {
        if self.chunk.words.is_empty() {
            return;
        }
        let mut chunk = std::mem::replace(&mut self.chunk, self.spare.pop().unwrap_or_default());
        let few = chunk.words.len() < CHUNK_WORDS;
        match &mut self.workers {
            Some(Some(workers)) if !(few && workers.is_idle()) => {
                let full = workers.is_full();
                workers.give(chunk);
                if full && let Some(chunk) = self.ready(true) {
                    self.give(chunk, sink);
                }
            }
            _ => {
                chunk.format(&self.options, &mut self.scratch);
                self.give(chunk, sink);
            }
        }
    }

    /// Passes the sink a chunk that was formatted.
    fn give(&mut self, mut chunk: Chunk, sink: &mut dyn Sink) {
        let mut given = 0;
        for (at, piece) in &chunk.parts {
            if given < *at {
                sink.debug(&chunk.text[given..*at]);
                given = *at;
            }
            self.piece(piece, &chunk.words[piece.items.clone()], sink);
        }
        if given < chunk.text.len() {
            sink.debug(&chunk.text[given..]);
        }
        self.counts.messages += chunk.messages;
        chunk.clear();
        self.spare.push(chunk);
    }

    /// A piece of a message that came in several, or was left at the end.
    fn piece(&mut self, piece: &Piece, words: &[u32], sink: &mut dyn Sink) {
        let thread = piece.thread;
        // What is still open when a message begins lost a piece.
        let opened = self.open.remove(&thread).filter(|_| !piece.is_first());
        let mut formatted = opened.unwrap_or_default();
        formatted.add(words);
        if piece.is_last() || formatted.len() > OPEN_BYTES {
            if self.options.threads.contains(thread) {
                self.line.clear();
                (self.options.format)(&mut self.line, &formatted.message(thread, piece.ends_line()));
                sink.debug(&self.line);
                self.counts.messages += u64::from(piece.is_last());
            }
            formatted.clear();
        }
        if !piece.is_last() {
            self.open.insert(thread, formatted);
        }
    }

    /// Takes what the threads had gathered when the run ended.
    pub(super) fn close(&mut self, threads: &[DebugThread], dropped: u64, sink: &mut dyn Sink) {
        self.counts.dropped = dropped;
        for (thread, gathered) in threads.iter().enumerate() {
            if gathered.lost != 0 {
                self.open.remove(&(thread as u32));
                self.counts.dropped += 1;
            } else if gathered.used != 0 || gathered.begun != 0 {
                let begun = if gathered.begun == 0 { layout::DEBUG_FIRST } else { 0 };
                let words = &gathered.words[..(gathered.used as usize).min(DEBUG_WORDS)];
                let piece = Piece {
                    thread: thread as u32,
                    // Others follow it, so it gets a line of its own.
                    flags: begun | layout::DEBUG_LAST | layout::DEBUG_LINE,
                    items: 0..words.len(),
                };
                self.piece(&piece, words, sink);
            }
        }
        self.open.clear();
    }
}

/// What the kernel is told of a run with these options.
pub(super) fn diagnostics(options: &DebugOptions, threads: Ptr) -> Diagnostics {
    let (first_thread, last_thread) = options.threads.bounds();
    Diagnostics {
        threads,
        first_thread,
        last_thread,
        least_level: options.least as u32,
        drop: options.drop.into(),
        dropped: 0,
        faults: 0,
        pad: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug::DebugMessage;
    use crate::store::Stream;
    use gpu_run_bytecode::Op;

    /// `THREAD:TEXT|`
    fn marked(out: &mut Vec<u8>, message: &DebugMessage<'_>) {
        out.extend(format!("{}:{}|", message.thread, String::from_utf8_lossy(message.text)).into_bytes());
    }

    fn messages() -> Messages {
        Messages::new(DebugOptions {
            format: marked,
            ..DebugOptions::default()
        })
    }

    /// A piece with a number as its only item, as the kernel writes it.
    fn piece((thread, flags, number): (u32, u32, u32)) -> [u32; 4] {
        let used = 2 << layout::DEBUG_USED_SHIFT;
        [thread, flags | used, Op::DbgU32 as u32, number]
    }

    /// What is shown of pieces that come in records of `together`.
    fn shown(pieces: &[(u32, u32, u32)], together: usize, left: &[DebugThread]) -> (String, DebugCounts) {
        let mut found = Vec::new();
        let mut sink = |_: Stream, _: u32, bytes: &[u8]| found.extend_from_slice(bytes);
        let mut messages = messages();
        for record in pieces.chunks(together) {
            let mut words: Vec<u32> = record.iter().copied().flat_map(piece).collect();
            // As if the ring ended in the middle.
            let (first, second) = bytemuck::cast_slice_mut(&mut words).split_at_mut(16);
            messages.take([first, second], &mut sink);
        }
        messages.settle(&mut sink);
        messages.close(left, 0, &mut sink);
        (String::from_utf8(found).expect("UTF-8"), messages.counts)
    }

    const FIRST: u32 = layout::DEBUG_FIRST;
    const LAST: u32 = layout::DEBUG_LAST;
    const LINE: u32 = layout::DEBUG_LINE;

    #[test]
    fn pieces_of_threads_are_kept_apart() {
        let pieces = [
            (1, FIRST, 1),
            (2, FIRST, 2),
            (3, FIRST | LAST | LINE, 3),
            (1, 0, 1),
            (2, LAST | LINE, 2),
            (1, LAST, 1),
        ];
        for together in [1, 3, 6] {
            let (found, counts) = shown(&pieces, together, &[]);
            assert_eq!(found, "3:3|2:22|1:111|", "{together}");
            assert_eq!(counts.messages, 3);
        }
    }

    #[test]
    fn a_message_that_lost_a_piece_is_given_up() {
        let (found, counts) = shown(&[(0, FIRST, 7), (0, FIRST | LAST, 8)], 2, &[]);
        assert_eq!(found, "0:8|");
        assert_eq!(counts.messages, 1);
        let (found, _) = shown(&[(0, FIRST, 7), (0, FIRST, 8), (0, LAST, 9)], 3, &[]);
        assert_eq!(found, "0:89|");
    }

    #[test]
    fn what_is_gathered_at_the_end_is_not_lost() {
        let mut words = [0; DEBUG_WORDS];
        words[..2].copy_from_slice(&[Op::DbgU32 as u32, 5]);
        let gathered = |begun: u32, lost: u32| DebugThread {
            used: if lost == 0 { 2 } else { 0 },
            begun,
            lost,
            level: 0,
            words,
        };
        let left = [gathered(0, 0), gathered(1, 0), gathered(1, 1)];
        let (found, counts) = shown(&[(1, FIRST, 4), (2, FIRST, 4)], 1, &left);
        assert_eq!(found, "0:5|1:45|");
        assert_eq!((counts.messages, counts.dropped), (2, 1));
    }

    /// So many that threads are started for them: each thread's messages come in order, and so do those that
    /// came in pieces among them.
    #[test]
    fn many_come_in_order() {
        const EACH: u32 = 20_000;
        let threads = [0, 1, 2, 3, 4];
        let pieces: Vec<_> = (0..EACH)
            .flat_map(|i| threads.map(|thread| (thread, i)))
            .flat_map(|(thread, i)| match (i + thread) % 7 {
                0 => vec![(thread, FIRST, i), (thread, LAST, 0)],
                _ => vec![(thread, FIRST | LAST, i)],
            })
            .collect();
        let (found, counts) = shown(&pieces, 32, &[]);
        assert_eq!(counts.messages, u64::from(EACH) * threads.len() as u64);
        let mut next = threads.map(|_| 0);
        for message in found.split_terminator('|') {
            let (thread, text) = message.split_once(':').expect("as `marked` writes it");
            let thread: usize = thread.parse().expect("a thread");
            let i = next[thread];
            let wanted = match (i + thread as u32) % 7 {
                0 => format!("{i}0"),
                _ => i.to_string(),
            };
            assert_eq!(text, wanted, "thread {thread}");
            next[thread] += 1;
        }
        assert_eq!(next, threads.map(|_| EACH));
    }

    /// Words that no kernel writes end in no panic.
    #[test]
    fn cut_off_pieces() {
        for words in [vec![1], vec![1, u32::MAX], vec![1, 99 << layout::DEBUG_USED_SHIFT, 2]] {
            let mut chunk = Chunk {
                words,
                ..Chunk::default()
            };
            chunk.format(&DebugOptions::default(), &mut Formatted::default());
        }
    }
}
