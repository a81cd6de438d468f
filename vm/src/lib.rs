//! Runs gpu-run programs.
//!
//! A [`Store`] holds instances of verified programs on a [`Device`]: the [`Cpu`] or a [`Cuda`]
//! device. Both run the same interpreter source, `kernel/`. The host's part is small: it lays out
//! memory, starts the kernel, takes its output while it runs, and reports how it ended. A [`PersistentKernel`]
//! keeps one kernel for many stores.
//!
//! In: programs that the verifier accepted. Out: results, output and faults. In the order in which to read the modules:
//!
//! - `layout`: the structures that host and kernel share;
//! - `device`: what a device must do; `cpu` and `cuda` are devices, and `persistent_kernel` shares one between stores;
//! - `arena`: memory in large pieces, handed out in blocks; `tsan`: what ThreadSanitizer must be told;
//! - `store`: instances, and runs of their functions; `fault`: how a process ended before its time;
//! - `stands`: where threads stand when a run is stopped;
//! - `services`, `requests`, `wasi`: what guests ask of the host, how requests arrive, and the functions of WASI;
//! - `debug`: debug messages of guests;
//! - `ptx`, `compiled`: the PTX compiler, and what a device with compiled code can do; `components`: cycles of calls.

mod arena;
pub mod compiled;
mod components;
mod counts;
mod cpu;
pub mod cuda;
mod debug;
mod device;
mod fault;
mod heap_profile;
#[allow(missing_docs)]
mod layout;
mod persistent_kernel;
pub mod ptx;
mod requests;
mod services;
mod stands;
mod store;
mod tsan;
mod wasi;

pub use counts::{Counted, CountedPlace, Counts, Kind};
pub use cpu::Cpu;
pub use cuda::{Cuda, DeviceInfo, devices, has_driver};
pub use debug::{DebugCounts, DebugFormat, DebugMessage, DebugOptions, Level, ThreadSet};
pub use device::{CODE_LINE, CodeFormat, Device, DeviceError, DeviceResult, FRAME_MEMORY, Pinned, Plan, Target};
pub use fault::{Backtrace, Fault, HeapFault};
pub use heap_profile::{HeapGroup, HeapProfile, HeapSnapshot};
pub use layout::Ptr;
pub use persistent_kernel::PersistentKernel;
pub use requests::RequestCounts;
pub use services::{CacheHint, CallingRun, Environment, HostCall, HostReply, KeptRun, Responder, Services, TmpfsFiles};
pub use stands::{Doing, SampleGroup, Samples, Stand, Stands};
pub use store::{
    BatchCounts, BatchOptions, BatchProgram, BatchRefused, Call, ClassStats, DEFAULT_MEMORY, End, Extern, FrameSize,
    HeapChecks, HeapStats, InstanceId, Instantiated, Leak, Limits, MOST_SPAWNED, MakeServices, MemoryUse, MemoryVitals,
    Next, NextInput, Outcome, ProcessInput, ProcessOutcome, RunOptions, Running, Shares, Sink, SnapshotError, Spawned,
    Store, StoreError, Stream, TaskStats, ThreadStates, Tier, Tiered, Value, Vitals, allocates, grows_by_heap,
    makes_requests, may_meet, threads_may_wait,
};
pub use wasi::{Errno, Folder, GivenFiles, Input, Wasi, WasiBuilder};
