//! Debug messages: what guests say through the opcodes `dbg_*`, formatted here.

use std::io::Write;
use std::ops::RangeInclusive;
use std::str::FromStr;

use gpu_run_bytecode::Op;

use crate::layout::{DEBUG_FILE, DEBUG_WORDS};

/// Severity of a debug message. One that names none is [`Level::Debug`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    #[default]
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    /// The level of a number as guests pass it; greater ones are errors.
    pub fn from_number(number: u32) -> Level {
        match number {
            0 => Level::Debug,
            1 => Level::Info,
            2 => Level::Warn,
            _ => Level::Error,
        }
    }

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// A set of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSet(Vec<RangeInclusive<u32>>);

impl Default for ThreadSet {
    /// All threads.
    fn default() -> ThreadSet {
        ThreadSet(vec![0..=u32::MAX])
    }
}

impl ThreadSet {
    /// No thread.
    pub fn none() -> ThreadSet {
        ThreadSet(Vec::new())
    }

    /// The threads of this set and of another one.
    #[must_use]
    pub fn union(mut self, other: ThreadSet) -> ThreadSet {
        self.0.extend(other.0);
        self
    }

    /// Whether a thread is one of the set.
    pub fn contains(&self, thread: u32) -> bool {
        self.0.iter().any(|range| range.contains(&thread))
    }

    /// The lowest and the highest thread.
    pub fn bounds(&self) -> (u32, u32) {
        let first = self.0.iter().map(|range| *range.start()).min();
        let last = self.0.iter().map(|range| *range.end()).max();
        (first.unwrap_or(u32::MAX), last.unwrap_or(0))
    }
}

impl FromStr for ThreadSet {
    type Err = String;

    /// Numbers and ranges: `3`, `0-31`, `1,8-15`.
    fn from_str(text: &str) -> Result<ThreadSet, String> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some(first..=last)
        };
        let parse = |part: &str| range(part).ok_or_else(|| format!("`{part}` is no thread and no range like 0-31"));
        text.split(',').map(parse).collect::<Result<_, _>>().map(ThreadSet)
    }
}

/// Writes a message after what stands in a buffer. Several threads may do so at once, each for a buffer of its own.
pub type DebugFormat = fn(&mut Vec<u8>, &DebugMessage<'_>);

/// A message's text alone, with the end of its line.
pub(crate) fn text_alone(out: &mut Vec<u8>, message: &DebugMessage<'_>) {
    out.extend_from_slice(message.text);
    out.extend(message.ends_line.then_some(b'\n'));
}

/// Which debug messages a run delivers, and what becomes of those for which there is no room.
#[derive(Clone, Debug)]
pub struct DebugOptions {
    /// Messages are dropped and counted while the ring is full, instead of that their threads wait.
    pub drop: bool,
    /// The least severity.
    pub least: Level,
    /// Whose messages.
    pub threads: ThreadSet,
    /// What is made of each.
    pub format: DebugFormat,
}

impl Default for DebugOptions {
    /// All messages, as their text alone.
    fn default() -> DebugOptions {
        DebugOptions {
            drop: false,
            least: Level::default(),
            threads: ThreadSet::default(),
            format: text_alone,
        }
    }
}

/// How many debug messages a run had, of those that were wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DebugCounts {
    /// Given to the sink.
    pub messages: u64,
    /// Dropped because the ring was full.
    pub dropped: u64,
}

/// A debug message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugMessage<'m> {
    /// The thread that sent it.
    pub thread: u32,
    /// Its severity, if it names one.
    pub level: Option<Level>,
    /// The source file that it names, with the severity.
    pub file: Option<&'m str>,
    /// The line there.
    pub line: u32,
    /// Its text, which is UTF-8 as far as what the guest sent is.
    pub text: &'m [u8],
    /// It is the end of a line.
    pub ends_line: bool,
}

/// Items as text.
#[derive(Debug, Default)]
pub(crate) struct Formatted {
    level: Option<Level>,
    file: Vec<u8>,
    line: u32,
    text: Vec<u8>,
}

// See `kernel/ops/debug.h`.
const _: () = assert!(DEBUG_WORDS * 4 < 256, "an item's length fits above its opcode");

fn integer(text: &mut Vec<u8>, value: impl itoa::Integer) -> std::io::Result<()> {
    text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    Ok(())
}

impl Formatted {
    /// Forgets all items.
    pub(crate) fn clear(&mut self) {
        self.level = None;
        self.file.clear();
        self.text.clear();
    }

    /// Bytes of the text so far.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Adds items, formatted as Rust's `Display` does.
    pub(crate) fn add(&mut self, words: &[u32]) {
        let mut rest = words;
        while let [head, tail @ ..] = rest {
            let (item, extra) = (head & 0xff, head >> 8);
            let is = |op: Op| item == op as u32;
            let pair = |tail: &[u32]| match tail {
                [low, high, ..] => u64::from(*low) | u64::from(*high) << 32,
                _ => 0,
            };
            let one = tail.first().copied().unwrap_or(0);
            let mut taken = 1;
            let text = &mut self.text;
            // Writing to memory does not fail.
            _ = if is(Op::DbgI32) {
                integer(text, one as i32)
            } else if is(Op::DbgU32) {
                integer(text, one)
            } else if is(Op::DbgF32) {
                write!(text, "{}", f32::from_bits(one))
            } else if is(Op::DbgBool) {
                write!(text, "{}", one != 0)
            } else if is(Op::DbgChar) {
                write!(text, "{}", char::from_u32(one).unwrap_or(char::REPLACEMENT_CHARACTER))
            } else if is(Op::DbgI64) {
                taken = 2;
                integer(text, pair(tail) as i64)
            } else if is(Op::DbgU64) {
                taken = 2;
                integer(text, pair(tail))
            } else if is(Op::DbgF64) {
                taken = 2;
                write!(text, "{}", f64::from_bits(pair(tail)))
            } else {
                taken = 0;
                Ok(())
            };
            if is(Op::DbgLevel) {
                taken = 1;
                self.level = Some(Level::from_number(extra));
                self.line = one;
                self.file.clear();
            } else if is(Op::DbgStr) || item == DEBUG_FILE {
                taken = (extra as usize).div_ceil(4);
                let bytes: &[u8] = bytemuck::cast_slice(tail);
                let bytes = &bytes[..bytes.len().min(extra as usize)];
                match item {
                    DEBUG_FILE => self.file.extend_from_slice(bytes),
                    _ => self.text.extend_from_slice(bytes),
                }
            }
            rest = tail.get(taken..).unwrap_or_default();
        }
    }

    /// The message.
    pub(crate) fn message(&self, thread: u32, ends_line: bool) -> DebugMessage<'_> {
        DebugMessage {
            thread,
            level: self.level,
            file: self.level.and(str::from_utf8(&self.file).ok()),
            line: self.line,
            text: &self.text,
            ends_line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[u32]) -> String {
        let mut formatted = Formatted::default();
        formatted.add(words);
        String::from_utf8(formatted.text).expect("UTF-8")
    }

    fn wide(op: Op, bits: u64) -> [u32; 3] {
        [op as u32, bits as u32, (bits >> 32) as u32]
    }

    #[test]
    fn integers_are_as_display_has_them() {
        for n in [0, 1, -1, i32::MIN, i32::MAX] {
            assert_eq!(text(&[Op::DbgI32 as u32, n as u32]), n.to_string());
            assert_eq!(text(&[Op::DbgU32 as u32, n as u32]), (n as u32).to_string());
        }
        for n in [0, -1, i64::MIN, i64::MAX, 1 << 32] {
            assert_eq!(text(&wide(Op::DbgI64, n as u64)), n.to_string());
            assert_eq!(text(&wide(Op::DbgU64, n as u64)), (n as u64).to_string());
        }
    }

    #[test]
    fn floats_are_as_display_has_them() {
        let floats = [
            0.0,
            -0.0,
            1.0,
            0.1,
            -1.5e-45,
            f32::MIN_POSITIVE,
            f32::MAX,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            16_777_217.0,
            1e21,
        ];
        for x in floats {
            assert_eq!(text(&[Op::DbgF32 as u32, x.to_bits()]), format!("{x}"));
        }
        let floats = [
            0.0,
            -0.0,
            0.1 + 0.2,
            5e-324,
            f64::MAX,
            f64::NEG_INFINITY,
            f64::NAN,
            1e16,
            123_456_789.25,
        ];
        for x in floats {
            assert_eq!(text(&wide(Op::DbgF64, x.to_bits())), format!("{x}"));
        }
    }

    #[test]
    fn characters_and_truth() {
        for c in ['a', '\n', 'é', '\u{10ffff}', '\0'] {
            assert_eq!(text(&[Op::DbgChar as u32, c as u32]), c.to_string());
        }
        assert_eq!(
            text(&[Op::DbgChar as u32, 0xd800]),
            "\u{fffd}",
            "a surrogate is no char"
        );
        assert_eq!(
            text(&[Op::DbgBool as u32, 0, Op::DbgBool as u32, 1, Op::DbgBool as u32, 7]),
            "falsetruetrue"
        );
    }

    #[test]
    fn texts_levels_and_what_follows() {
        let text_item = Op::DbgStr as u32 | 5 << 8;
        let level = Op::DbgLevel as u32 | 2 << 8;
        let words = [
            level,
            17,
            DEBUG_FILE | 4 << 8,
            u32::from_le_bytes(*b"a.rs"),
            text_item,
            u32::from_le_bytes(*b"hell"),
            u32::from(b'o'),
            Op::DbgI32 as u32,
            3,
        ];
        let mut formatted = Formatted::default();
        formatted.add(&words);
        let message = formatted.message(9, true);
        assert_eq!(
            (message.level, message.file, message.line),
            (Some(Level::Warn), Some("a.rs"), 17)
        );
        assert_eq!((message.text, message.thread), (&b"hello3"[..], 9));
        formatted.clear();
        assert_eq!(formatted.message(0, false).file, None);
    }

    /// Items that are cut off or unknown end in no panic.
    #[test]
    fn what_no_kernel_writes() {
        for words in [&[0x70][..], &[0x77, 1], &[0x72 | 200 << 8, 1], &[0xff], &[0x7d]] {
            Formatted::default().add(words);
        }
    }

    #[test]
    fn thread_sets() {
        let set: ThreadSet = "3, 8-15".parse().expect("a set");
        assert!(set.contains(3) && set.contains(8) && set.contains(15));
        assert!(!set.contains(4) && !set.contains(16));
        assert_eq!(set.bounds(), (3, 15));
        for wrong in ["", "x", "5-3", "1,,2", "-1", "4294967296"] {
            assert!(wrong.parse::<ThreadSet>().is_err(), "{wrong}");
        }
        assert!(ThreadSet::default().contains(u32::MAX));
    }
}
