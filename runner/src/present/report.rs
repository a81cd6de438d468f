//! Errors as users see them: what, where, and what to do about it.

use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use bytesize::ByteSize;
use gpu_run::compile::CompileError;
use gpu_run::{Backtrace, BacktraceFrame, Fault, Leak, MemoryUse};
use gpu_run_bytecode::{VerifyError, VerifyErrorKind};
use gpu_run_translator::{Error, LowerErrorKind, RecursionError};
use gpu_run_vm::{DeviceError, StoreError};

use crate::calls;
use crate::output::{ERROR, MARK, STRONG};

/// Exit codes.
pub mod code {
    /// The program ran, and its output could not be written.
    pub const LOST: u8 = 1;
    /// The command line, the module or the machine does not allow to run.
    pub const USAGE: u8 = 2;
    /// Leaks, as LeakSanitizer reports them.
    pub const LEAK: u8 = 23;
    /// A Rust panic, as of native programs.
    pub const PANIC: u8 = 101;
    /// Out of time, as of timeout(1).
    pub const TIMEOUT: u8 = 124;
    /// Interrupted, as shells report SIGINT.
    pub const INTERRUPTED: u8 = 130;
    /// A trap, as shells report SIGABRT.
    pub const TRAP: u8 = 134;
}

/// The number of an exit code.
pub fn number(code: ExitCode) -> u8 {
    let found = (0..=u8::MAX).find(|number| ExitCode::from(*number) == code);
    // An exit code is one of these.
    found.unwrap_or(u8::MAX)
}

/// An error to be shown.
#[derive(Debug)]
pub struct Report {
    /// What is wrong.
    pub message: String,
    /// Lines that say where.
    pub places: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// Exit code.
    pub code: u8,
}

/// Result of a command.
pub type Outcome<T> = Result<T, Report>;

impl Report {
    pub fn new(message: impl Into<String>) -> Report {
        Report {
            message: message.into(),
            places: Vec::new(),
            help: None,
            code: code::USAGE,
        }
    }

    pub fn at(mut self, place: impl Into<String>) -> Report {
        self.places.push(place.into());
        self
    }

    /// Adds several lines that say where.
    pub fn all_at(mut self, places: Vec<String>) -> Report {
        self.places.extend(places);
        self
    }

    /// Adds what to do.
    pub fn help(mut self, help: impl Into<String>) -> Report {
        let help = help.into();
        self.help = Some(match self.help {
            Some(before) => format!("{before}; {help}"),
            None => help,
        });
        self
    }

    pub fn code(mut self, code: u8) -> Report {
        self.code = code;
        self
    }

    /// The report of a fault of which there were `faults` until all threads had stopped. What the program has `said`
    /// of itself is not repeated; then there is a report only if it was not the only one.
    pub fn with_others(mut self, said: bool, faults: u32) -> Option<Report> {
        if said {
            self.places.clear();
            self.help = None;
        }
        if faults > 1 {
            self.places.push(format!("and {} more threads faulted", faults - 1));
        }
        (!said || faults > 1).then_some(self)
    }

    /// Prints it to stderr.
    pub fn print(&self) {
        _ = write!(crate::output::styled(), "{self}");
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{ERROR}error{ERROR:#}{STRONG}: {}{STRONG:#}", self.message)?;
        for place in &self.places {
            writeln!(f, "  {MARK}-->{MARK:#} {place}")?;
        }
        match &self.help {
            Some(help) => writeln!(f, "  {MARK}={MARK:#} {STRONG}help{STRONG:#}: {help}"),
            None => Ok(()),
        }
    }
}

/// Warns the user.
pub fn warn(text: &str) {
    tracing::warn!("{text}");
}

/// A place in a module.
fn place(path: &Path, offset: Option<u64>, function: Option<&str>) -> String {
    let mut text = path.display().to_string();
    if let Some(offset) = offset {
        _ = write!(text, ": offset {offset:#x}");
    }
    if let Some(function) = function {
        _ = write!(text, ", in function `{function}`");
    }
    text
}

/// The report of a module that was not translated.
pub fn translation(path: &Path, error: &Error) -> Report {
    let report = Report::new(error.to_string());
    match error {
        Error::Parse(_) => report.at(place(path, None, None)),
        Error::Rewrite(_) => report.at(place(path, None, None)),
        Error::Recursion(error) => recursion(path, error),
        Error::Lower(lower) => {
            let report = report.at(place(path, lower.offset.map(u64::from), lower.function.as_deref()));
            match lower.kind {
                LowerErrorKind::OldWasi { .. } => {
                    report.help("build the module for WASI preview 1: with Rust for wasm32-wasip1, with a wasi-sdk of 2020 or later")
                }
                LowerErrorKind::Unsupported { .. } => {
                    report.help("the page \"Limits\" of the documentation lists what gpu-run runs")
                }
                _ => report,
            }
        }
        Error::TooComplex(_) => report.at(place(path, None, None)).help(SPLIT),
        _ => report.at(place(path, None, None)),
    }
}

/// The report of a recursion that is denied.
pub fn recursion(path: &Path, error: &RecursionError) -> Report {
    let report = Report::new(format!("{error}, which --deny-recursion forbids")).at(place(path, None, None));
    if error.indirect {
        report.help("an indirect call counts as a call of every function of its type whose address is taken")
    } else {
        report
    }
}

/// The report of a program that had no more time.
pub fn timed_out(timeout: Duration) -> Report {
    let timeout = humantime::format_duration(timeout);
    Report::new(format!("the program did not end within {timeout}"))
        .code(code::TIMEOUT)
        .help("raise --timeout, or leave it out to run without limit")
}

/// The report of an interrupted program.
pub fn interrupted() -> Report {
    Report::new("interrupted").code(code::INTERRUPTED)
}

/// The report of a translated program that the verifier refuses.
pub fn verification(path: &Path, error: &VerifyError) -> Report {
    match error.kind {
        VerifyErrorKind::TooComplex => Report::new(error.to_string()).help(SPLIT),
        VerifyErrorKind::Unsound => Report::new(format!("the program is not sound: {error}")),
    }
    .at(place(path, None, None))
}

/// What to do where the verifier's limits are reached.
const SPLIT: &str =
    "make smaller functions of this one; the page \"Limits\" of the documentation says how large one may be";

/// The report of what the library did not do with a module.
pub fn library(error: &gpu_run::Error, path: &Path) -> Report {
    match error {
        gpu_run::Error::Module(error) => translation(path, error),
        gpu_run::Error::Unsound(error) => verification(path, error),
        gpu_run::Error::Device(error) | gpu_run::Error::Compile(CompileError::Device(error)) => device(error),
        gpu_run::Error::Interrupted => interrupted(),
        gpu_run::Error::Compile(error) => Report::new(error.to_string()),
        gpu_run::Error::Store(error) => store(path, error),
        gpu_run::Error::UnknownImport { module, name, .. } => {
            let (module, name) = (module.clone(), name.clone());
            store(path, &StoreError::UnknownImport { module, name })
        }
        error => Report::new(error.to_string()).at(place(path, None, None)),
    }
}

/// The report of a program that was not instantiated.
pub fn store(path: &Path, error: &StoreError) -> Report {
    match error {
        StoreError::Device(error) => device(error),
        StoreError::Trap(fault) => trap(&Fault::from((**fault).clone()), path, 1),
        StoreError::UnknownImport { module, .. } => {
            let report = Report::new(error.to_string()).at(place(path, None, None));
            match module.as_str() {
                "env" => report.help("nothing provides this function: link it into the module, or build for wasm32-unknown-unknown or wasm32-wasip1 without it"),
                _ => report.help("gpu-run provides the imports of `wasi_snapshot_preview1`, and of `gpu_run_v1`, `gpu_run_net_v1`, `gpu_run_file_v1` and `gpu_run_process_v1`, which the crate gpu-std declares"),
            }
        }
        StoreError::NoRoomForStacks { .. } => Report::new(error.to_string())
            .at(place(path, None, None))
            .help("lower --threads or --thread-stack, or raise --max-memory as far as the module allows"),
        StoreError::UnknownThreadLocals => Report::new(error.to_string())
            .at(place(path, None, None))
            .help("link with --export=__tls_size --export=__tls_align --export=__tls_base"),
        StoreError::MemoryTooLarge { .. } => Report::new(error.to_string())
            .at(place(path, None, None))
            .help("raise the limit with --max-memory"),
        _ => Report::new(error.to_string()).at(place(path, None, None)),
    }
}

/// The report of a device that cannot be used.
pub fn device(error: &DeviceError) -> Report {
    let report = Report::new(error.to_string());
    match error {
        DeviceError::Unavailable { .. } => {
            report.help("`--device cpu` runs the program without a GPU; `gpu-run devices` lists what is there")
        }
        DeviceError::OutOfMemory { .. } => report
            .help("lower --max-memory, --threads or --thread-stack, and --output-size or --size if they are given"),
        _ => report,
    }
}

/// The report of a trap of a module, in one of so many threads.
pub fn trap(fault: &Fault, path: &Path, threads: u32) -> Report {
    let mut message = format!("trap: {}", fault.message());
    let at_end = fault.heap.as_ref().and_then(|heap| heap.damaged_at_end);
    if threads > 1 && at_end.is_none() {
        _ = write!(message, " (thread {})", fault.thread);
    }
    if let Some(heap) = &fault.heap {
        _ = write!(message, ": {:#x}", heap.address);
    }
    let mut report = Report::new(message).code(code::TRAP);
    report.places = calls::lines(&fault.backtrace, 0);
    if report.places.is_empty() && fault.heap.is_none() {
        // A segment that does not fit: no code has run.
        report.places.push(place(path, None, None));
    }
    if let Some((size, allocated)) = fault.heap.as_ref().and_then(|heap| heap.block.as_ref()) {
        report.places.push(format!(
            "its block of {size} bytes was allocated by {}",
            allocator(allocated)
        ));
    }
    if let Some(blocks) = at_end {
        let all = if blocks > 1 {
            format!("; damaged blocks in all: {blocks}")
        } else {
            String::new()
        };
        report.places.push(format!("found when the program had ended{all}"));
    }
    report
}

/// What is known of a memory that could not grow, and what to do.
pub fn no_memory(memory: &MemoryUse) -> Option<String> {
    if !memory.refused {
        return None;
    }
    let limit = ByteSize(memory.limit);
    Some(match memory.declared {
        _ if !memory.wide && memory.limit >= 1 << 32 => {
            format!("the program's memory may have {limit}, all that 32-bit addresses reach")
        }
        Some(declared) if declared <= memory.limit => {
            format!(
                "the program's memory may have {limit}, which its module declares as the most: link it with another --max-memory"
            )
        }
        _ => format!("the program's memory may have {limit}: raise that with --max-memory"),
    })
}

/// Leaks that are shown.
const LEAKS: usize = 10;

/// The report of blocks that were never freed.
pub fn leaks(leaks: &[Leak]) -> Report {
    let (blocks, bytes) = leaks.iter().fold((0, 0), |(blocks, bytes), leak| {
        (blocks + leak.blocks, bytes + leak.bytes)
    });
    // Different calls may lead to the same place.
    let mut sites: Vec<(String, u64, u64)> = Vec::new();
    for leak in leaks {
        let by = site(&leak.allocated);
        match sites.iter_mut().find(|site| site.0 == by) {
            Some(site) => (site.1, site.2) = (site.1 + leak.blocks, site.2 + leak.bytes),
            None => sites.push((by, leak.blocks, leak.bytes)),
        }
    }
    sites.sort_by_key(|site| std::cmp::Reverse(site.2));
    let mut report = Report::new(format!("{bytes} bytes in {blocks} blocks of the heap were leaked")).code(code::LEAK);
    report.places = (sites.iter().take(LEAKS))
        .map(|(by, blocks, bytes)| format!("{bytes} bytes in {blocks} blocks, allocated by {by}"))
        .collect();
    if sites.len() > LEAKS {
        report
            .places
            .push(format!("and from {} more places", sites.len() - LEAKS));
    }
    report
}

/// Where a leak is from: function and line, which may have several instructions, else the instruction.
fn site(backtrace: &Backtrace) -> String {
    match own_call(backtrace) {
        Some(BacktraceFrame {
            function,
            line: Some(line),
            ..
        }) => format!("{function} at {line}"),
        _ => allocator(backtrace),
    }
}

/// Whether wasi-libc made blocks for the arguments of `main`, which it keeps on its stack and never frees.
pub fn of_start(leak: &Leak) -> bool {
    own_call(&leak.allocated).is_some_and(|place| place.function == "__main_void")
}

/// The call of the program's own that asked for a block, panicked or waits: the innermost that is not part of an
/// allocator, of std or of wasi-libc's threads.
pub fn own_call(backtrace: &Backtrace) -> Option<&BacktraceFrame> {
    let own = own_index(backtrace).and_then(|index| backtrace.places.get(index));
    own.or(backtrace.places.last())
}

/// The number of that call.
fn own_index(backtrace: &Backtrace) -> Option<usize> {
    const PATHS: [&str; 17] = [
        "__r",
        "panic_abort::",
        "alloc::",
        "core::",
        "std::",
        "hashbrown::",
        "dlmalloc::",
        "gpu_std::heap::",
        "gpu_std::arena::",
        "gpu_std::platform::",
        "operator new",
        // Of wasi-libc.
        "__wasi",
        "__pthread_",
        "pthread_",
        "__timedwait",
        "__wait",
        // Methods of the types that belong to no crate.
        "str>::",
    ];
    const WHOLE: [&str; 17] = [
        "abort",
        "rust_begin_unwind",
        "rust_oom",
        "rust_panic",
        "malloc",
        "calloc",
        "realloc",
        "aligned_alloc",
        "posix_memalign",
        "internal_memalign",
        "dlmalloc",
        "strdup",
        "sched_yield",
        "nanosleep",
        "clock_nanosleep",
        "usleep",
        "wasi_thread_start",
    ];
    // Into which the closure was inlined that a thread was spawned with.
    const THREAD: [&str; 2] = ["__rust_begin_short_backtrace::<", "::spawn_unchecked"];
    let inner = |name: &str| {
        if name.contains("{closure") && THREAD.iter().any(|part| name.contains(part)) {
            return false;
        }
        let path = name.trim_start_matches(['<', '&']);
        WHOLE.contains(&name) || PATHS.iter().any(|start| path.starts_with(start))
    };
    let places = &backtrace.places;
    // Functions that were inlined have no path in their names, but lines in the sources of std.
    let of_std = |place: &BacktraceFrame| {
        let line = place.line.as_ref().map(|line| line.to_string());
        line.is_some_and(|line| {
            ["alloc", "core", "std"]
                .iter()
                .any(|part| line.contains(&format!("/library/{part}/src/")))
        })
    };
    (places.iter()).position(|place| !inner(&place.function) && !of_std(place))
}

/// The same as text.
fn allocator(backtrace: &Backtrace) -> String {
    own_call(backtrace).map_or_else(|| "an unknown function".into(), calls::told)
}

/// The report of a panic, with the program's own call alone unless all calls are wanted.
pub fn panic(thread: u32, backtrace: &Backtrace, calls: Calls) -> Report {
    let report = Report::new(format!("panic in thread {thread}")).code(code::PANIC);
    with_calls(report, backtrace, calls)
}

/// The first call that is shown of a backtrace whose innermost calls are those by which std ends a program.
fn first_shown(backtrace: &Backtrace, full: bool) -> usize {
    own_index(backtrace).filter(|_| !full).unwrap_or(0)
}

/// The report of an allocation that failed, which the program has said. It names the program's own call alone unless
/// all calls are wanted.
pub fn out_of_memory(thread: u32, backtrace: &Backtrace, calls: Calls) -> Report {
    let report = Report::new(format!("out of memory in thread {thread}")).code(code::TRAP);
    with_calls(report, backtrace, calls)
}

fn with_calls(mut report: Report, backtrace: &Backtrace, calls: Calls) -> Report {
    report.places = calls::lines(backtrace, first_shown(backtrace, calls == Calls::Full));
    if calls == Calls::None {
        report.places.truncate(1);
        report = report.help("RUST_BACKTRACE=1 shows all calls");
    }
    report
}

/// Which calls are shown of a program that has said itself why it ended, as RUST_BACKTRACE has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// None.
    None,
    /// From the program's own innermost call on.
    Own,
    /// All, with those of std.
    Full,
}

impl Calls {
    /// The variable that says it.
    pub const VARIABLE: &str = "RUST_BACKTRACE";

    /// As the variable says: the program's `own`, else this process's.
    pub fn wanted(own: Option<&[u8]>) -> Calls {
        let value = match own {
            Some(value) => Some(value.to_vec()),
            None => std::env::var_os(Calls::VARIABLE).map(|value| value.into_encoded_bytes()),
        };
        match value.as_deref() {
            None | Some(b"0") => Calls::None,
            Some(b"full") => Calls::Full,
            Some(_) => Calls::Own,
        }
    }
}

#[cfg(test)]
mod tests {
    use gpu_run_bytecode::SourceLine;

    use super::*;

    #[test]
    fn leaks_of_a_line_are_one() {
        let leak = |offset: u32, line: Option<u32>| Leak {
            blocks: 1,
            bytes: 10,
            allocated: Backtrace {
                places: vec![BacktraceFrame {
                    function: "app::load".into(),
                    offset: Some(offset),
                    line: line.map(|line| SourceLine {
                        file: "src/main.rs".into(),
                        line,
                        column: 5,
                    }),
                }],
                ..Backtrace::default()
            },
        };
        let known = [leak(16, Some(7)), leak(32, Some(7)), leak(48, Some(8))];
        assert_eq!(
            leaks(&known).places,
            [
                "20 bytes in 2 blocks, allocated by app::load at src/main.rs:7:5",
                "10 bytes in 1 blocks, allocated by app::load at src/main.rs:8:5"
            ]
        );
        let unknown = [leak(16, None), leak(32, None), leak(16, None)];
        assert_eq!(
            leaks(&unknown).places,
            [
                "20 bytes in 2 blocks, allocated by app::load (wasm offset 0x10)",
                "10 bytes in 1 blocks, allocated by app::load (wasm offset 0x20)"
            ]
        );
    }

    #[test]
    fn what_a_memory_may_have_is_told_with_what_to_do() {
        let memory = |limit, declared| MemoryUse {
            size: 0,
            limit,
            declared,
            wide: false,
            refused: true,
        };
        for (memory, part) in [
            (memory(1 << 30, None), "1.0 GiB: raise that with --max-memory"),
            (memory(1 << 30, Some(1 << 32)), "raise that"),
            (memory(1 << 24, Some(1 << 24)), "its module declares"),
            (memory(1 << 32, None), "all that 32-bit addresses reach"),
        ] {
            let told = no_memory(&memory).unwrap_or_default();
            assert!(told.contains(part), "{told}");
        }
        let fine = MemoryUse {
            refused: false,
            ..memory(1 << 30, None)
        };
        assert_eq!(no_memory(&fine), None);
    }

    #[test]
    fn other_faults_are_told() {
        let report = || panic(3, &Backtrace::default(), Calls::Own).at("0: main");
        let places = |said, faults| report().with_others(said, faults).map(|report| report.places);
        assert_eq!(places(true, 1), None);
        assert_eq!(places(true, 64), Some(vec!["and 63 more threads faulted".into()]));
        assert_eq!(places(false, 1), Some(vec!["0: main".into()]));
        assert_eq!(places(false, 2).map(|places| places.len()), Some(2));
    }
}
