//! The words of messages and answers: the host's half of `kernel/rpc/mailbox.h`, which says how they work.

use std::sync::atomic::{AtomicU64, Ordering};

use gpu_run_bytecode::ValType;
use gpu_run_bytecode::wasi::Function;

use crate::device::Pinned;
use crate::layout::{
    MESSAGE_ARGUMENTS, MESSAGE_CAPACITY, MESSAGE_CHILD, MESSAGE_DATA, MESSAGE_HEAD, MESSAGE_KIND, MESSAGE_OF_CHILD,
    MESSAGE_RESULTS, MESSAGE_THREAD, MESSAGE_TOTAL, MESSAGE_UNITS, MESSAGE_WORDS, RESPONSE_COUNT, RESPONSE_RESULTS,
    RESPONSE_SLOT, RESPONSE_WORDS, RequestMessage, RequestSlot, Response,
};
use crate::tsan;

/// Of the numbers of messages: where these bits are 1, words of the slot are cleared.
const CLEARING: u32 = (1 << 31) - 1;

/// The pinned memory of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mailboxes {
    /// The device's: a [`RequestMessage`] for each slot.
    pub(crate) sent: Pinned,
    /// The host's: an [`Response`] for each slot.
    pub(crate) answered: Pinned,
    /// [`RequestSlot`]s.
    pub(crate) slots: Pinned,
}

// SAFETY: pinned memory belongs to the process; `RequestWorkers` says how long it may be used.
unsafe impl Send for Mailboxes {}
// SAFETY: as above; words are atomics, and a slot is its owner's alone.
unsafe impl Sync for Mailboxes {}

/// A message, but for what is in the slot.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) slot: usize,
    pub(super) number: u32,
    /// `REQUEST_CALL` and so on.
    pub(super) kind: u32,
    /// Whether the slot has data.
    pub(super) data: bool,
    pub(super) call: Call,
}

/// A call as it came, but for its input. Only of `REQUEST_CALL`; else it is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    /// Of the function.
    pub(super) number: u16,
    pub(super) thread: u32,
    /// As [`HostCall::child`](crate::HostCall).
    pub(super) child: u32,
    args: [u64; MESSAGE_ARGUMENTS],
    arg_count: usize,
    pub(super) capacity: usize,
    /// Bytes of its input in all messages.
    pub(super) total: usize,
    /// Of `poll_oneoff`: the device's clocks, realtime and monotonic.
    pub(super) now: [u64; 2],
    /// Whether results go to the slot, however short they are.
    pub(super) results_in_slot: bool,
}

impl Call {
    pub(super) fn args(&self) -> &[u64] {
        &self.args[..self.arg_count]
    }

    pub(super) fn function(&self) -> Option<Function> {
        Function::from_number(self.number)
    }
}

/// An answer that needs no slot.
#[derive(Clone, Copy)]
pub(super) enum Short<'r> {
    /// The errno, or 0 with nothing else.
    Errno(u16),
    /// Success, with results of at most [`MOST_RESULTS`] bytes.
    Results(&'r [u8]),
    /// The errno, and the slot says more.
    InSlot(u16),
    /// A status in place of the errno, and a word beside it.
    Word(u16, u32),
}

/// Bytes of results that fit an answer's words.
pub(super) const MOST_RESULTS: usize = 4 * RESPONSE_RESULTS;

fn number_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// All of it is for slots that exist, while the run is under way: callers see to both.
impl Mailboxes {
    fn sent(&self, slot: usize) -> &[AtomicU64; MESSAGE_WORDS] {
        // SAFETY: inside of the mailboxes, which are there while the run is alive and are accessed by atomics only.
        unsafe { &*self.sent.host.add(slot * size_of::<RequestMessage>()).cast() }
    }

    fn answered(&self, slot: usize) -> &[AtomicU64; RESPONSE_WORDS] {
        // SAFETY: as above.
        unsafe { &*self.answered.host.add(slot * size_of::<Response>()).cast() }
    }

    /// The slot itself.
    pub(super) fn slot(&self, slot: usize) -> *mut RequestSlot {
        // SAFETY: inside of the slots.
        unsafe { self.slots.host.cast::<RequestSlot>().add(slot) }
    }

    /// The number of the message in a slot, of which not all may be there.
    #[inline]
    pub(super) fn number(&self, slot: usize) -> u32 {
        // Relaxed: only whether to look closer.
        number_of(self.sent(slot)[MESSAGE_HEAD].load(Ordering::Relaxed))
    }

    /// The message in a slot, if it is another than number `last` and all of it is there.
    #[inline]
    pub(super) fn take(&self, slot: usize, last: u32) -> Option<Message> {
        let words = self.sent(slot);
        // Acquire: pairs with the store-release in `send` of `kernel/rpc/mailbox.h`, if the slot has data.
        let head = words[MESSAGE_HEAD].load(Ordering::Acquire);
        let number = number_of(head);
        if number == last {
            return None;
        }
        // Relaxed: each word says by itself whether it is of this message.
        let word = |index: usize| {
            let word = words[index].load(Ordering::Relaxed);
            (number_of(word) == number).then_some(word as u32)
        };
        let head = head as u32;
        let mut message = Message {
            slot,
            number,
            kind: head >> MESSAGE_KIND & 0xff,
            data: head & MESSAGE_DATA != 0,
            call: Call {
                number: head as u16,
                thread: word(MESSAGE_THREAD)?,
                results_in_slot: head & MESSAGE_RESULTS != 0,
                ..Call::default()
            },
        };
        if message.kind == crate::layout::REQUEST_CALL {
            let call = &mut message.call;
            if head & MESSAGE_OF_CHILD != 0 {
                call.child = word(MESSAGE_CHILD)?;
            }
            call.capacity = word(MESSAGE_CAPACITY)? as usize;
            call.total = word(MESSAGE_TOTAL)? as usize;
            let mut at = MESSAGE_UNITS;
            let mut next = || {
                at += 1;
                if at > MESSAGE_WORDS { None } else { word(at - 1) }
            };
            let params = call.function().map_or(&[][..], |function| function.info().params);
            for ty in params.iter().flat_map(|param| param.types()) {
                let mut value = u64::from(next()?);
                if *ty == ValType::I64 {
                    value |= u64::from(next()?) << 32;
                }
                call.args[call.arg_count] = value;
                call.arg_count += 1;
            }
            if call.number == Function::PollOneoff as u16 {
                for now in &mut call.now {
                    *now = u64::from(next()?) | u64::from(next()?) << 32;
                }
            }
        }
        tsan::acquired(words[MESSAGE_HEAD].as_ptr().cast());
        Some(message)
    }

    /// Answers message `number` of a slot, which is the device's from then on.
    #[inline]
    pub(super) fn answer(&self, slot: usize, number: u32, answer: Short<'_>) {
        let words = self.answered(slot);
        if number & CLEARING == 1 {
            let old = self.sent(slot)[MESSAGE_UNITS..].iter().chain(&words[1..]);
            // Relaxed: ordered by the release below.
            old.for_each(|word| word.store(0, Ordering::Relaxed));
        }
        let tag = u64::from(number) << 32;
        let head = match answer {
            Short::Errno(errno) => u32::from(errno),
            Short::InSlot(errno) => u32::from(errno) | RESPONSE_SLOT,
            Short::Word(status, value) => {
                // Relaxed: a lane that sees the word sees its message's number in it.
                words[1].store(tag | u64::from(value), Ordering::Relaxed);
                u32::from(status) | 1 << RESPONSE_COUNT
            }
            Short::Results(results) => {
                let pieces = results.chunks(4);
                let count = pieces.len().min(RESPONSE_RESULTS) as u32;
                for (piece, word) in pieces.zip(&words[1..]) {
                    let mut bytes = [0; 4];
                    bytes[..piece.len()].copy_from_slice(piece);
                    // Relaxed: a thread that sees it sees whose it is.
                    word.store(tag | u64::from(u32::from_le_bytes(bytes)), Ordering::Relaxed);
                }
                count << RESPONSE_COUNT
            }
        };
        tsan::released(words[0].as_ptr().cast());
        // Release: pairs with the acquire of `answer_slot` in `kernel/rpc/mailbox.h`, if the slot has more.
        words[0].store(tag | u64::from(head), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{REQUEST_CALL, REQUEST_NEXT};

    /// Pinned memory of one slot, and what a device does with it.
    struct Memory {
        mail: Box<[u64; MESSAGE_WORDS]>,
        answer: Box<[u64; RESPONSE_WORDS]>,
    }

    impl Memory {
        fn new() -> Memory {
            Memory {
                mail: Box::new([0; MESSAGE_WORDS]),
                answer: Box::new([0; RESPONSE_WORDS]),
            }
        }

        fn boxes(&mut self) -> Mailboxes {
            let pinned = |words: &mut [u64]| Pinned {
                host: words.as_mut_ptr().cast(),
                device: 0,
            };
            Mailboxes {
                sent: pinned(&mut self.mail[..]),
                answered: pinned(&mut self.answer[..]),
                slots: pinned(&mut []),
            }
        }

        fn store(&mut self, number: u32, index: usize, value: u32) {
            self.mail[index] = u64::from(number) << 32 | u64::from(value);
        }

        fn head(&mut self, number: u32, function: Function, kind: u32) {
            self.store(number, MESSAGE_HEAD, function as u32 | kind << MESSAGE_KIND);
        }
    }

    /// Words of a call of `fd_seek`, in the order of their indices.
    const SEEK: [u32; 5] = [7, 0xffff_fffb, 0xffff_ffff, 1, 1024];

    #[test]
    fn a_message_is_taken_once_all_of_its_words_are_there_in_whatever_order() {
        let words: Vec<(usize, u32)> = [(MESSAGE_THREAD, 3), (MESSAGE_CAPACITY, 0), (MESSAGE_TOTAL, 0)]
            .into_iter()
            .chain((MESSAGE_UNITS..).zip(SEEK))
            .collect();
        for missing in 0..words.len() {
            let mut memory = Memory::new();
            // What an older message left is no part of it.
            (0..MESSAGE_WORDS).for_each(|index| memory.store(41, index, 0xbad));
            for (at, (index, value)) in words.iter().enumerate() {
                if at != missing {
                    memory.store(42, *index, *value);
                }
            }
            assert!(memory.boxes().take(0, 41).is_none(), "without a head");
            memory.head(42, Function::FdSeek, REQUEST_CALL);
            assert!(memory.boxes().take(0, 41).is_none(), "without word {missing}");
            memory.store(42, words[missing].0, words[missing].1);
            let message = memory.boxes().take(0, 41).expect("a whole message");
            assert_eq!(
                (message.number, message.kind, message.call.thread),
                (42, REQUEST_CALL, 3)
            );
            assert_eq!(message.call.args(), [7, -5i64 as u64, 1, 1024]);
            assert!(memory.boxes().take(0, 42).is_none(), "it was taken");
        }
    }

    #[test]
    fn a_message_without_a_call_has_a_head_and_a_thread() {
        let mut memory = Memory::new();
        memory.head(1, Function::FdRead, REQUEST_NEXT);
        assert!(memory.boxes().take(0, 0).is_none());
        memory.store(1, MESSAGE_THREAD, 5);
        let message = memory.boxes().take(0, 0).expect("a whole message");
        assert_eq!((message.kind, message.call.thread), (REQUEST_NEXT, 5));
    }

    #[test]
    fn words_do_not_outlive_half_of_all_numbers() {
        for (number, cleared) in [
            (1, true),
            (2, false),
            (1 << 31, false),
            (0x8000_0001, true),
            (u32::MAX, false),
        ] {
            let mut memory = Memory::new();
            memory.store(77, MESSAGE_WORDS - 1, 5);
            memory.answer[RESPONSE_RESULTS] = 77 << 32 | 5;
            memory.boxes().answer(0, number, Short::Errno(8));
            let old = if cleared { 0 } else { 77 << 32 | 5 };
            assert_eq!(
                (memory.mail[MESSAGE_WORDS - 1], memory.answer[RESPONSE_RESULTS]),
                (old, old),
                "{number}"
            );
            assert_eq!(memory.answer[0], u64::from(number) << 32 | 8);
        }
    }

    #[test]
    fn results_are_in_words_that_say_whose_they_are() {
        let mut memory = Memory::new();
        memory.boxes().answer(0, 9, Short::Results(&[1, 2, 3, 4, 5, 6]));
        let expected = [2 << RESPONSE_COUNT, 0x0403_0201, 0x0605].map(|low| 9 << 32 | low);
        assert_eq!(memory.answer[..3], expected);
        assert_eq!(memory.answer[3], 0);
    }
}
