//! What a Rust program prints when it panics or runs out of memory, and which traps are the end of that.
//!
//! On `wasm32-wasip1` std prints the message itself and aborts, which in WebAssembly is the trap `unreachable`. To its
//! user that is a panic, not a crash of the runtime.

use gpu_run::{Fault, FaultKind, TrapKind};

/// How what a panic printed ends, if it panicked again while it was handled.
pub const ABORTS: &str = "panic. aborting.\n";

/// What stands between the place of the code that panics and its message or the other way round.
const AT: &str = "panicked at ";

/// What a panic printed, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Panic {
    /// The message, without the note on backtraces.
    pub message: String,
    /// File, line and column.
    pub place: Option<(String, u32, u32)>,
}

impl Panic {
    /// Reads `… panicked at FILE:LINE:COLUMN:` and the message after it, or as std wrote it before Rust 1.73,
    /// `… panicked at 'MESSAGE', FILE:LINE:COLUMN`.
    pub fn read(text: &str) -> Option<Panic> {
        let at = match head(text) {
            Some(at) => at,
            None => text.rfind(AT)? + AT.len(),
        };
        let said = &text[at..];
        let end = ["note: run with `RUST_BACKTRACE=1`", "stack backtrace:\n"]
            .iter()
            .filter_map(|note| said.rfind(note))
            .min();
        let said = &said[..end.unwrap_or(said.len())];
        if let Some(quoted) = said.strip_prefix('\'')
            && let Some((message, place)) = quoted.rsplit_once("', ")
            && let Some(place) = place_of(place.trim_end_matches('\n'))
        {
            return Some(Panic {
                message: message.to_owned(),
                place: Some(place),
            });
        }
        let (head, message) = said.split_once('\n')?;
        Some(Panic {
            message: message.trim_end_matches('\n').to_owned(),
            place: head.strip_suffix(':').and_then(place_of),
        })
    }
}

/// `FILE:LINE:COLUMN`.
fn place_of(text: &str) -> Option<(String, u32, u32)> {
    let mut parts = text.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((parts.next()?.to_owned(), line, column))
}

/// Where the place begins after `thread 'NAME' panicked at `, or with a number after the name: how std begins.
fn head(text: &str) -> Option<usize> {
    text.match_indices(AT).map(|(at, _)| at).find_map(|at| {
        let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        let name = line.strip_prefix("thread '")?.strip_suffix(' ')?;
        let name = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
            Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => name,
        };
        name.ends_with('\'').then_some(at + AT.len())
    })
}

/// Whether a text is what std's own hook prints, place and all.
fn is_std(text: &str) -> bool {
    head(text).is_some() && Panic::read(text).is_some_and(|panic| panic.place.is_some())
}

/// What the end of a program was that aborted, as it has said itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// It panicked.
    Panic,
    /// An allocation failed.
    OutOfMemory,
}

/// What a trap was the end of, if its thread `said` so on stderr last, or its calls tell.
pub fn aborted(fault: &Fault, said: Option<&str>) -> Option<Aborted> {
    if fault.kind != FaultKind::Trap(TrapKind::Unreachable) || fault.heap.is_some() {
        return None;
    }
    let said = said.unwrap_or_default();
    if said.ends_with(ABORTS) {
        return None;
    }
    let places = &fault.backtrace.places;
    let inner = || {
        places
            .iter()
            .map(|place| path(&place.function))
            .take_while(|name| is_end(name))
    };
    // Those that std never inlines, under the same names since 1.0 or nearly so.
    let panics = |name: &str| matches!(name, "rust_panic" | "__rust_start_panic");
    let allocates = |name: &str| {
        let last = name.split('<').next().unwrap_or_default().rsplit("::").next();
        matches!(
            last,
            Some("rust_oom" | "handle_alloc_error" | "__rust_alloc_error_handler" | "__rg_oom" | "__rdl_oom")
        )
    };
    // Without names the text must do.
    let nameless = places.first().is_none_or(|place| place.function.starts_with("func["));
    let aborts = nameless || inner().any(|name| name == "abort" || name.ends_with("::abort") || name == "__rust_abort");
    if inner().any(panics) || aborts && is_std(said) {
        Some(Aborted::Panic)
    } else if inner().any(allocates) || aborts && failed_allocation(said).is_some() {
        Some(Aborted::OutOfMemory)
    } else {
        None
    }
}

/// The bytes of the allocation that failed, as std says so before it aborts.
pub fn failed_allocation(said: &str) -> Option<u64> {
    // std may add a note on backtraces.
    let mut lines = said.lines().rev().filter(|line| !line.starts_with("note: "));
    let line = lines.next()?;
    line.strip_prefix("memory allocation of ")?
        .strip_suffix(" bytes failed")?
        .parse()
        .ok()
}

/// A function's name without what differs among compilers.
fn path(name: &str) -> &str {
    name.strip_prefix("__rustc::")
        .unwrap_or(name)
        .trim_start_matches(['<', '&'])
}

/// Whether a function is a part of how std or C's library ends a process.
fn is_end(name: &str) -> bool {
    const PATHS: [&str; 6] = ["__r", "alloc::", "core::", "std::", "panic_abort::", "panic_unwind::"];
    const WHOLE: [&str; 4] = ["abort", "rust_begin_unwind", "rust_oom", "rust_panic"];
    WHOLE.contains(&name) || PATHS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use gpu_run::{Backtrace, BacktraceFrame};

    use super::*;

    fn fault(kind: TrapKind, calls: &[&str]) -> Fault {
        let place = |name: &&str| BacktraceFrame {
            function: (*name).to_owned(),
            offset: None,
            line: None,
        };
        Fault {
            kind: FaultKind::Trap(kind),
            thread: 0,
            backtrace: Backtrace {
                places: calls.iter().map(place).collect(),
                ..Backtrace::default()
            },
            heap: None,
        }
    }

    const SAID: &str = "\nthread 'main' (1) panicked at src/main.rs:6:25:\nno\n";
    /// How std was before 1.73.
    const OLD: &str = "thread 'main' panicked at 'a, 'b', c', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

    #[test]
    fn panics_are_taken_apart() {
        let text = "\nthread 'main' (0) panicked at C:/src/main.rs:5:9:\nno: such\nthing\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let panic = Panic::read(text).expect("a panic");
        assert_eq!(panic.message, "no: such\nthing");
        assert_eq!(panic.place, Some(("C:/src/main.rs".to_owned(), 5, 9)));
        let panic = Panic::read("panicked at <unknown location>:\nx\n").expect("a panic");
        assert_eq!((panic.message.as_str(), panic.place), ("x", None));
        assert_eq!(Panic::read("my own hook\n"), None);
        let panic = Panic::read(OLD).expect("a panic");
        assert_eq!(panic.message, "a, 'b', c");
        assert_eq!(panic.place, Some(("src/main.rs".to_owned(), 2, 5)));
        // A message may speak of a panic.
        let panic = Panic::read("thread 'a' panicked at x.rs:1:2:\nit panicked at y.rs:3:4:\n").expect("a panic");
        assert_eq!(panic.place, Some(("x.rs".to_owned(), 1, 2)));
        // What std prints itself if the program's environment asks for calls.
        let panic = Panic::read("thread 'a' panicked at x.rs:1:2:\nno\nstack backtrace:\nnote: Some details\n");
        assert_eq!(panic.map(|panic| panic.message).as_deref(), Some("no"));
    }

    #[test]
    fn a_trap_below_std_is_a_panic() {
        let trap = TrapKind::Unreachable;
        let new = [
            "abort",
            "std::process::abort",
            "__rustc::__rust_abort",
            "__rustc::__rust_start_panic",
        ];
        let calls = |more: &[&'static str]| [&new[..], more].concat();
        let main = ["__rustc::rust_panic", "std::panicking::panic_with_hook", "main"];
        assert_eq!(aborted(&fault(trap, &calls(&main)), Some(SAID)), Some(Aborted::Panic));
        // As legacy names are shown, of an older std; with a hook of its own the program may say anything.
        let old = [
            "__rust_start_panic",
            "rust_panic",
            "std::panicking::rust_panic_with_hook",
            "main",
        ];
        assert_eq!(aborted(&fault(trap, &old), Some("hook\n")), Some(Aborted::Panic));
        assert_eq!(
            aborted(&fault(trap, &["abort", "std::process::abort", "f"]), Some(OLD)),
            Some(Aborted::Panic)
        );
        // Without names.
        assert_eq!(
            aborted(&fault(trap, &["func[3]", "func[2]"]), Some(SAID)),
            Some(Aborted::Panic)
        );
        assert_eq!(
            aborted(&fault(trap, &["func[3]", "func[2]"]), Some("panicked at x\n")),
            None
        );
        assert_eq!(aborted(&fault(trap, &["func[3]"]), None), None);
    }

    #[test]
    fn other_traps_are_none() {
        let trap = TrapKind::Unreachable;
        // The program has said so itself, and traps somewhere else.
        assert_eq!(aborted(&fault(trap, &["main"]), Some(SAID)), None);
        assert_eq!(
            aborted(&fault(TrapKind::MemoryOutOfBounds, &["func[3]"]), Some(SAID)),
            None
        );
        // It traps in its hook, below std's calls.
        let hook = ["app::hook", "std::panicking::rust_panic_with_hook", "main"];
        assert_eq!(aborted(&fault(trap, &hook), Some(SAID)), None);
        assert_eq!(
            aborted(&fault(trap, &["abort", "std::process::abort", "main"]), Some("bye\n")),
            None
        );
        let twice = format!("{SAID}\nthread panicked while processing panic. aborting.\n");
        assert_eq!(
            aborted(&fault(trap, &["abort", "std::process::abort"]), Some(&twice)),
            None
        );
    }

    #[test]
    fn a_failed_allocation_is_known() {
        let said = "memory allocation of 4096 bytes failed\n";
        let calls = [
            "abort",
            "std::process::abort",
            "std::alloc::rust_oom::{closure#0}",
            "main",
        ];
        assert_eq!(
            aborted(&fault(TrapKind::Unreachable, &calls), Some(said)),
            Some(Aborted::OutOfMemory)
        );
        assert_eq!(
            aborted(&fault(TrapKind::Unreachable, &["func[1]"]), Some(said)),
            Some(Aborted::OutOfMemory)
        );
        assert_eq!(failed_allocation(said), Some(4096));
        let noted = format!("{said}note: run with `RUST_BACKTRACE=1`\n");
        assert_eq!(failed_allocation(&noted), Some(4096));
        assert_eq!(failed_allocation("memory allocation of x bytes failed\n"), None);
    }
}
