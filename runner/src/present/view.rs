//! Lines that stand below all other output on the terminal, until something else is written there.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use console::Term;

use crate::output;

/// How many lines stand there, the cursor below them.
static SHOWN: Mutex<usize> = Mutex::new(0);

/// Whether lines are shown in this process at all. Relaxed: it is set before anything is written.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Whether the last line of other output on the terminal has no end. Relaxed: it is changed under the lock.
static LINE_IS_OPEN: AtomicBool = AtomicBool::new(false);

fn lock() -> MutexGuard<'static, usize> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether lines can be shown: stderr is a terminal that can take them away again.
pub fn is_possible() -> bool {
    Term::stderr().is_term() && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// Lines will be shown: from now on it is noted what else is written.
pub fn begin() {
    IS_USED.store(true, Ordering::Relaxed);
}

/// Shows lines in the place of those that stand there. Not where other output has begun a line: that would be lost.
pub fn show(text: &str) {
    let mut shown = lock();
    if LINE_IS_OPEN.load(Ordering::Relaxed) {
        return;
    }
    let mut out = Vec::new();
    take_away(*shown, &mut out);
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
    *shown = text.lines().count();
    _ = output::stderr().write_through(&out);
}

/// Leaves what stands there.
pub fn leave() {
    *lock() = 0;
}

/// Something else is about to be written to a stream: takes the lines away, if both are on the terminal.
pub fn make_way(stream: &impl IsTerminal, bytes: &[u8]) {
    let is_used = IS_USED.load(Ordering::Relaxed);
    if !is_used || bytes.is_empty() || !stream.is_terminal() {
        return;
    }
    let mut shown = lock();
    if *shown > 0 {
        let mut out = Vec::new();
        take_away(*shown, &mut out);
        _ = output::stderr().write_through(&out);
        *shown = 0;
    }
    LINE_IS_OPEN.store(bytes.last() != Some(&b'\n'), Ordering::Relaxed);
}

/// Moves the cursor up so many lines, and clears all from there on.
fn take_away(lines: usize, out: &mut Vec<u8>) {
    if lines > 0 {
        // ECMA-48: cursor up, and erase to the end of the page.
        _ = write!(out, "\x1b[{lines}A\r\x1b[J");
    }
}
