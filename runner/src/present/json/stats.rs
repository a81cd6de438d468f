//! Times and counts of a run: `--stats=json`. What did not happen has no key. Times are in milliseconds.

use indexmap::IndexMap;
use serde::Serialize;

/// Times and counts of a run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stats {
    /// Name of the device.
    pub device: String,
    /// Threads of the run.
    pub threads: u32,
    /// Threads that the program has spawned, if it is one that may. `threads` then is how many there were at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<u64>,
    /// Lanes that ran.
    pub lanes: u32,
    /// Reading and translating the module.
    pub load_ms: f64,
    /// Translating it, if it was not translated before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translate_ms: Option<Translation>,
    /// From the start of the process until the program was ready to run.
    pub ready_ms: f64,
    /// From the kernel's start to its end.
    pub run_ms: f64,
    /// Debug messages, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<DebugCounts>,
    /// Requests to the host, of a program that makes some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCounts>,
    /// The device's heap, of a program that uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap: Option<Heap>,
    /// What ran the program.
    pub engine: Engine,
    /// The run went on compiled after so long; the interpreter ran before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled_after_ms: Option<f64>,
    /// Whether the compiled code came from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<bool>,
    /// How long the run waited for the compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_ms: Option<f64>,
    /// What the compiler did, if it compiled the code.
    #[serde(flatten)]
    pub compiler: Option<Compiler>,
    /// Bytes of the compiled code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cubin_bytes: Option<usize>,
    /// What the scheduler of tasks did, if the program ran some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Tasks>,
}

/// The scheduler of `gpu_std::task`, over all runs of tasks.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tasks {
    /// Threads that ran tasks.
    pub workers: u32,
    /// Tasks with a handle.
    pub spawned: u32,
    /// Jobs that were taken from a queue or from another worker.
    pub executed: u64,
    /// Jobs that were taken from another worker.
    pub stolen: u64,
    /// Looks into another worker's deque.
    pub attempts: u64,
    /// Jobs that lay in shared queues when the program ended.
    pub queued: u32,
    /// The most that lay there at once.
    pub most_queued: u32,
    /// How long workers found nothing to do, all together.
    pub idle_ms: f64,
    /// How long they took part in runs, all together. A run that was stopped is not in it.
    pub worker_ms: f64,
}

/// The passes of a translation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Translation {
    /// Parsing and validating the module.
    pub parse: f64,
    /// Replacing patterns of std.
    pub rewrite: f64,
    /// Inlining.
    pub inline: f64,
    /// Lowering to bytecode.
    pub lower: f64,
    /// Verifying the bytecode.
    pub verify: f64,
    /// All of them.
    pub total: f64,
}

/// Debug messages.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DebugCounts {
    /// Messages that were shown.
    pub messages: u64,
    /// Messages that were dropped because the ring was full.
    pub dropped: u64,
}

/// Requests to the host.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestCounts {
    /// Calls of functions that the host served.
    pub calls: u64,
    /// Messages that these took.
    pub messages: u64,
}

/// The device's heap at the end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Heap {
    /// Blocks that were allocated.
    pub allocated: u64,
    /// Blocks that were freed.
    pub freed: u64,
    /// Requests that found no memory.
    pub failed: u64,
    /// Blocks that were not freed.
    pub live: u64,
    /// Bytes of these.
    pub live_bytes: u64,
    /// Bytes by which the memory was grown.
    pub held_bytes: u64,
    /// The most bytes that were in use at once.
    pub peak_bytes: u64,
    /// Blocks that `--leak-check` found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaked: Option<u64>,
    /// Bytes of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaked_bytes: Option<u64>,
    /// Blocks by their size in bytes, in ascending order. Those of more than 56 KiB are the class `larger`, the last.
    pub classes: IndexMap<String, Class>,
}

/// The blocks of a size.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Class {
    /// Blocks that were allocated.
    pub allocated: u64,
    /// Blocks that were freed.
    pub freed: u64,
    /// Blocks that were not freed.
    pub live: u64,
    /// Bytes of the pages in which they lie.
    pub held_bytes: u64,
    /// Bytes of the blocks that were not freed.
    pub live_bytes: u64,
}

/// What may run a program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// The interpreter.
    Interp,
    /// Compiled code.
    Ptx,
}

/// What the compiler did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compiler {
    /// Making the PTX.
    pub generate_ms: f64,
    /// The driver's part.
    pub link_ms: f64,
    /// Bytes of the PTX.
    pub ptx_bytes: usize,
}
