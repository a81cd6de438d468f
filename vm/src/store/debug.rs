//! The host's side of debug messages: pieces from the ring become messages; see `kernel/debug.h`.

use std::collections::HashMap;

use super::Sink;
use crate::debug::{DebugCounts, DebugOptions, Formatted};
use crate::layout::{self, DEBUG_WORDS, DebugThread, Diagnostics, Ptr, Record};

/// Bytes of text that are held back while a message is open: a greater one is given in parts.
const OPEN_BYTES: usize = 1 << 20;

/// Debug messages of a run.
pub(super) struct Messages {
    options: DebugOptions,
    /// Messages of which pieces came.
    open: HashMap<u32, Formatted>,
    /// Used again and again for those that came whole.
    whole: Formatted,
    /// Messages given so far.
    pub(super) counts: DebugCounts,
}

impl Messages {
    pub(super) fn new(options: DebugOptions) -> Messages {
        Messages {
            options,
            open: HashMap::new(),
            whole: Formatted::default(),
            counts: DebugCounts::default(),
        }
    }

    /// Takes a record with the items behind it.
    pub(super) fn take(&mut self, record: Record, items: &[u8], sink: &mut dyn Sink) {
        let mut words = [0; DEBUG_WORDS];
        let words = &mut words[..(items.len() / 4).min(DEBUG_WORDS)];
        for (word, bytes) in words.iter_mut().zip(items.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        self.piece(record.thread, record.stream, words, sink);
    }

    fn piece(&mut self, thread: u32, flags: u32, words: &[u32], sink: &mut dyn Sink) {
        let (first, last) = (flags & layout::DEBUG_FIRST != 0, flags & layout::DEBUG_LAST != 0);
        let ends_line = last && flags & layout::DEBUG_LINE != 0;
        // What is still open when a message begins lost a piece.
        let opened = match first && self.open.is_empty() {
            true => None,
            false => self.open.remove(&thread).filter(|_| !first),
        };
        if let (None, true) = (&opened, last) {
            self.whole.clear();
            self.whole.add(words);
            if self.options.threads.contains(thread) {
                sink.debug(&self.whole.message(thread, ends_line));
                self.counts.messages += 1;
            }
            return;
        }
        let mut formatted = opened.unwrap_or_default();
        formatted.add(words);
        if last || formatted.len() > OPEN_BYTES {
            if self.options.threads.contains(thread) {
                sink.debug(&formatted.message(thread, ends_line));
                self.counts.messages += u64::from(last);
            }
            formatted.clear();
        }
        if !last {
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
                // Others follow it, so it gets a line of its own.
                let flags = begun | layout::DEBUG_LAST | layout::DEBUG_LINE;
                self.piece(thread as u32, flags, words, sink);
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
    use crate::store::Stream;
    use gpu_run_bytecode::Op;

    /// Texts of messages that come of pieces: thread, flags and the number that is the only item.
    fn texts(pieces: &[(u32, u32, u32)], left: &[DebugThread]) -> (Vec<(u32, String)>, DebugCounts) {
        let mut found = Vec::new();
        let mut sink = |_: Stream, thread: u32, bytes: &[u8]| {
            found.push((thread, String::from_utf8_lossy(bytes).into_owned()));
        };
        let mut messages = Messages::new(DebugOptions::default());
        for (thread, flags, number) in pieces {
            messages.piece(*thread, *flags, &[Op::DbgU32 as u32, *number], &mut sink);
        }
        messages.close(left, 0, &mut sink);
        (found, messages.counts)
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
        let (found, counts) = texts(&pieces, &[]);
        let expected = [(3, "3\n"), (2, "22\n"), (1, "111")];
        assert_eq!(found, expected.map(|(thread, text)| (thread, text.to_owned())));
        assert_eq!(counts.messages, 3);
    }

    #[test]
    fn a_message_that_lost_a_piece_is_given_up() {
        let (found, counts) = texts(&[(0, FIRST, 7), (0, FIRST | LAST, 8)], &[]);
        assert_eq!(found, [(0, "8".to_owned())]);
        assert_eq!(counts.messages, 1);
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
        let (found, counts) = texts(&[(1, FIRST, 4), (2, FIRST, 4)], &left);
        assert_eq!(found, [(0, "5\n".to_owned()), (1, "45\n".to_owned())]);
        assert_eq!((counts.messages, counts.dropped), (2, 1));
    }
}
