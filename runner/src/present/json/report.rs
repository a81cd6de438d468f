//! How a run failed: `--report json`.

use gpu_run_bytecode::{BacktraceFrame, SourceLine};
use gpu_run_vm::Backtrace;
use serde::Serialize;

/// How a run ended that did not end well.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Report {
    /// The program ran.
    Ended(Box<Ended>),
    /// The run did not begin, or what it left behind is wrong.
    Refused(Refused),
}

/// How a program that ran may end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    Trap,
    Panic,
    /// With an exit code other than 0.
    Exit,
    Timeout,
    Interrupted,
}

/// The end of a program that ran.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ended {
    /// How it ended.
    pub kind: EndKind,
    /// The trap, or what the panic printed.
    pub message: Option<String>,
    /// Exit code of `gpu-run`.
    pub exit_code: u8,
    /// The thread that ended the process.
    pub thread: Option<u32>,
    /// Threads that trapped or panicked until all had stopped.
    pub faults: u32,
    /// Name of the trap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<String>,
    /// The address that a trap of the heap is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u32>,
    /// The block that it is about, with `--heap-check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// Damaged blocks, of a trap that `--heap-check` found when the program had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged_at_end: Option<u64>,
    /// What a panic printed that panicked again, and so ended by a trap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panic: Option<String>,
    /// The innermost call; of a panic, the innermost that is not one of std's.
    #[serde(flatten)]
    pub call: Option<Call>,
    /// The place of the panic as it was printed, else the innermost one that is known from DWARF.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The calls that were open.
    #[serde(flatten)]
    pub calls: Option<OpenCalls>,
    /// Where threads stood that were stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands: Option<Stands>,
    /// Counts of the heap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap: Option<HeapCounts>,
}

/// A block of the heap.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Block {
    /// Bytes that the program asked for.
    pub size: u32,
    /// The calls that allocated it, the innermost first.
    pub allocated: Vec<Frame>,
}

/// A function of the program, and where in the module it was.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Call {
    /// Readable name of the function.
    pub function: String,
    /// Offset of the instruction in the wasm file, if it stands in it.
    pub wasm_offset: Option<u32>,
}

/// A place in the user's sources.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Place {
    /// Path of the source file.
    pub file: String,
    /// Line in it, from 1 on; 0 if it is not known.
    pub line: u32,
    /// Column of the line, from 1 on; 0 if it is not known.
    pub column: u32,
}

/// A call of a backtrace.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Frame {
    #[serde(flatten)]
    pub call: Call,
    #[serde(flatten)]
    pub place: Option<Place>,
}

/// The calls that were open when a thread ended.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenCalls {
    /// The innermost first, inlined ones too.
    pub backtrace: Vec<Frame>,
    /// Calls that were not recorded.
    pub omitted_frames: u32,
    /// Where these were, if not at the end: in front of the call with this index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_at: Option<usize>,
    /// The first registers of the innermost frame, in units of 4 bytes; null for compiled code.
    pub registers: Option<Vec<u32>>,
}

/// Where the threads of a stopped program stood.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stands {
    /// Threads that did the same at the same place.
    pub groups: Vec<StandGroup>,
    /// Threads that had not begun.
    pub not_begun: u32,
    /// Threads at other places.
    pub others: u32,
}

/// What a thread of a stopped program did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Runs,
    Sleeps,
    Waits,
    /// It waited for an answer of the host.
    AwaitsHost,
    /// It waited until output is read.
    AwaitsOutput,
    /// It waited for another thread's turn.
    AwaitsTurn,
}

/// Threads that did the same at the same place.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StandGroup {
    /// How many.
    pub threads: u32,
    /// One of them.
    pub thread: u32,
    /// What they did.
    pub doing: Doing,
    /// The calls that were open, the innermost first.
    pub backtrace: Vec<Frame>,
    /// Calls that were not recorded.
    pub omitted_frames: u32,
}

/// Counts of the heap's blocks.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeapCounts {
    /// Blocks that were allocated.
    pub allocated: u64,
    /// Blocks that were freed.
    pub freed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Blocks that were not freed.
    pub live: u64,
}

/// What may be wrong with a run as a whole.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusedKind {
    /// The run did not begin.
    Error,
    /// Output could not be written.
    Output,
    /// `--leak-check` found some.
    Leaks,
    Trap,
    Timeout,
    Interrupted,
}

/// A run that did not begin, or that was wrong as a whole.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refused {
    /// What it was.
    pub kind: RefusedKind,
    /// What is wrong.
    pub message: String,
    /// Exit code of `gpu-run`.
    pub exit_code: u8,
    /// Lines that say where.
    pub places: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// What `--leak-check` found, the most bytes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaks: Option<Vec<Leak>>,
}

/// Blocks that the same calls allocated and nothing points to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Leak {
    /// Bytes of all of them.
    pub bytes: u64,
    /// How many.
    pub blocks: u64,
    /// The program's own call that asked for them.
    #[serde(flatten)]
    pub call: Option<Call>,
    /// The calls that allocated them, the innermost first.
    pub backtrace: Vec<Frame>,
}

impl From<&BacktraceFrame> for Call {
    fn from(frame: &BacktraceFrame) -> Call {
        Call {
            function: frame.function.clone(),
            wasm_offset: frame.offset,
        }
    }
}

impl From<&SourceLine> for Place {
    fn from(line: &SourceLine) -> Place {
        Place {
            file: line.file.clone(),
            line: line.line,
            column: line.column,
        }
    }
}

/// The calls of a backtrace, the innermost first.
pub fn frames(backtrace: &Backtrace) -> Vec<Frame> {
    let frame = |frame: &BacktraceFrame| Frame {
        call: frame.into(),
        place: frame.line.as_ref().map(Place::from),
    };
    backtrace.places.iter().map(frame).collect()
}
