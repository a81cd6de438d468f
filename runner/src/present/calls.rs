//! The calls of a backtrace as lines: repeated ones folded, and the middle of many left out.

use std::fmt::Write;

use gpu_run_bytecode::BacktraceFrame;
use gpu_run_vm::Backtrace;

/// Lines that are shown of the innermost calls, and of the outermost.
const INNERMOST: usize = 16;
const OUTERMOST: usize = 4;

/// Calls of the longest cycle that is looked for.
const CYCLE: usize = 16;

/// A line, and for how many calls it stands.
struct Line {
    text: String,
    calls: u64,
}

/// A number as people read it: `9,980`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A function with its place, where that is known.
pub fn told(place: &BacktraceFrame) -> String {
    let mut text = place.function.clone();
    if let Some(line) = &place.line {
        _ = write!(text, " at {line}");
    }
    if let Some(offset) = place.offset {
        _ = write!(text, " (wasm offset {offset:#x})");
    }
    text
}

/// How often the calls from `at` on repeat, with the shortest cycle that does: its length and the count.
fn cycle(places: &[BacktraceFrame], at: usize) -> Option<(usize, usize)> {
    let rest = &places[at..];
    (1..=CYCLE.min(rest.len() / 2)).find_map(|length| {
        let first = &rest[..length];
        let times = rest.chunks_exact(length).take_while(|part| *part == first).count();
        // Two calls of two are as short as they are.
        (times > 2 || times == 2 && length == 1).then_some((length, times))
    })
}

/// Lines for calls next to each other, of which the first has number `number`.
fn fold(places: &[BacktraceFrame], number: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < places.len() {
        let (length, times) = cycle(places, at).unwrap_or((1, 1));
        for (i, place) in places[at..at + length].iter().enumerate() {
            let mut text = format!("{}: {}", number + at + i, told(place));
            if times > 1 && length == 1 {
                _ = write!(text, " (x {})", grouped(times as u64));
            }
            lines.push(Line { text, calls: 1 });
        }
        if length > 1 {
            lines.push(Line {
                text: format!("… these {length} calls {} times in all …", grouped(times as u64)),
                calls: 0,
            });
        }
        // The last line stands for all that it repeats.
        if let Some(last) = lines.last_mut() {
            last.calls += ((times - 1) * length) as u64;
        }
        at += length * times;
    }
    lines
}

fn gap(calls: u64) -> Line {
    let text = format!("… {} more calls …", grouped(calls));
    Line { text, calls }
}

/// The lines of a backtrace from call number `first` on. Numbers begin with 0 there.
pub fn lines(backtrace: &Backtrace, first: usize) -> Vec<String> {
    let places = &backtrace.places;
    let omitted = u64::from(backtrace.omitted);
    let split = backtrace
        .omitted_at
        .unwrap_or(places.len())
        .clamp(first.min(places.len()), places.len());
    let mut lines = fold(&places[first.min(split)..split], 0);
    // Without the outermost calls there is no end to show.
    let open = omitted > 0 && split == places.len();
    if omitted > 0 && !open {
        lines.push(gap(omitted));
    }
    lines.extend(fold(&places[split..], split - first + omitted as usize));
    let outermost = if open { 0 } else { OUTERMOST };
    let most = INNERMOST + OUTERMOST;
    // One line in the place of one saves nothing.
    if lines.len() > most + 1 {
        let from = most - outermost;
        let to = lines.len() - outermost;
        let left_out = lines[from..to].iter().map(|line| line.calls).sum();
        lines.splice(from..to, (!open).then(|| gap(left_out)));
        if open {
            lines.push(gap(left_out + omitted));
        }
    } else if open {
        lines.push(gap(omitted));
    }
    lines.into_iter().map(|line| line.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backtrace(calls: &[&str], omitted: u32, omitted_at: Option<usize>) -> Backtrace {
        let place = |name: &&str| BacktraceFrame {
            function: (*name).to_owned(),
            offset: None,
            line: None,
        };
        Backtrace {
            places: calls.iter().map(place).collect(),
            omitted,
            omitted_at,
            registers: Vec::new(),
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn recursions_are_folded() {
        let calls = [&["leaf"][..], &["fib"; 60], &["main"]].concat();
        assert_eq!(
            lines(&backtrace(&calls, 0, None), 0),
            ["0: leaf", "1: fib (x 60)", "61: main"]
        );
        let calls = [&["even", "odd"].repeat(30)[..], &["main"]].concat();
        assert_eq!(
            lines(&backtrace(&calls, 0, None), 0),
            ["0: even", "1: odd", "… these 2 calls 30 times in all …", "60: main"]
        );
        assert_eq!(lines(&backtrace(&["a", "a"], 0, None), 0), ["0: a (x 2)"]);
        assert_eq!(lines(&backtrace(&["std", "a", "b"], 0, None), 1), ["0: a", "1: b"]);
        assert_eq!(lines(&backtrace(&[], 0, None), 0).len(), 0);
    }

    #[test]
    fn calls_that_were_not_recorded_are_counted_where_they_were() {
        assert_eq!(
            lines(&backtrace(&["fib"; 64], 9920, None), 0),
            ["0: fib (x 64)", "… 9,920 more calls …"]
        );
        let calls = [&["fib"; 48][..], &["fib", "main", "_start"]].concat();
        assert_eq!(
            lines(&backtrace(&calls, 100, Some(48)), 0),
            [
                "0: fib (x 48)",
                "… 100 more calls …",
                "148: fib",
                "149: main",
                "150: _start"
            ]
        );
    }

    #[test]
    fn the_middle_of_many_is_left_out() {
        let names: Vec<String> = (0..40).map(|i| format!("f{i}")).collect();
        let calls: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = lines(&backtrace(&calls, 0, None), 0);
        assert_eq!(found.len(), 21);
        assert_eq!(found[15..18], ["15: f15", "… 20 more calls …", "36: f36"]);
        assert_eq!(found[20], "39: f39");
        let found = lines(&backtrace(&calls, 5, None), 0);
        assert_eq!(found[19..], ["19: f19", "… 25 more calls …"]);
        let found = lines(&backtrace(&calls, 5, Some(20)), 0);
        assert_eq!(found[15..18], ["15: f15", "… 25 more calls …", "41: f36"]);
        assert_eq!(lines(&backtrace(&calls[..21], 0, None), 0).len(), 21);
    }
}
