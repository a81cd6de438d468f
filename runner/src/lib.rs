//! Runs WebAssembly modules on NVIDIA GPUs, and on the CPU with the same results.
//!
//! This crate embeds modules in a program of yours. The command of the same name is made of it.
//!
//! ```
//! use gpu_run::{Config, DeviceKind, Engine, Linker, Module, Store};
//!
//! // Without a configuration, an engine takes the first GPU, or else the CPU.
//! let engine = Engine::new(Config::new().device(DeviceKind::Cpu))?;
//! let module = Module::new(&engine, r#"(module
//!     (func (export "add") (param i32 i32) (result i32)
//!         (i32.add (local.get 0) (local.get 1))))"#)?;
//! let mut store = Store::new(&engine, ())?;
//! let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
//! let add = instance.get_typed_func::<_, (i32, i32), i32>(&store, "add")?;
//! assert_eq!(add.call(&mut store, (2, 3))?, 5);
//! # Ok::<(), gpu_run::Error>(())
//! ```
//!
//! # Core concepts
//!
//! The shape is that of the `wasmtime` crate.
//!
//! - An [`Engine`] says how modules are run: on which device, compiled or interpreted, and where compiled code is kept.
//!   A [`Config`] makes it.
//! - A [`Module`] is translated and verified. [`Module::serialize`] keeps that work.
//! - A [`Store`] has instances, their memory on the device, and data of yours. Each store opens the device for itself.
//! - A [`Linker`] has definitions for imports: host functions, which are closures, and [WASI](WasiCtxBuilder).
//! - An [`Instance`] is a module in a store. What it exports are handles: [`Func`] and [`TypedFunc`], [`Memory`],
//!   [`Global`], [`Table`]. A handle used with another store is an error.
//! - A [`Kernel`] is an export that many threads run.
//!
//! Functions run on the device, and a call returns when all threads have. Between calls the host reads and writes
//! [`Memory`]. During a call a host function does, by its [`Caller`].
//!
//! # What ends a run
//!
//! A call returns an [`Error`]: a [`Fault`] with a backtrace, the error of a host function, or the program's exit code.
//! Or time was over ([`Store::set_timeout`]), or the run was interrupted ([`InterruptHandle`]). Nothing of that ends your
//! process. A host function that panics goes on panicking in the call.
//!
//! [`Func::run`] returns an [`Outcome`] instead, which has the end of the run and all that was counted.
//!
//! # What is chosen and checked
//!
//! [`Instance::choice`] says how a module is run, and why so. [`Linker::instantiate_pre`] takes the [`Usage`] of an
//! instance, so that no more is compiled than will be called. With [`HeapChecks`] in the [`StoreLimits`], an instance
//! tells of [leaks](Instance::leaks) and [damage](Instance::heap_damage) of its heap.
//!
//! # What a program says
//!
//! Text and debug messages are [`Event`]s of the store, which [`Store::on_event`] takes and [`Store::capture`] keeps. A
//! [`Sink`] is for more than that, and [`Store::set_debug`] says which debug messages are wanted.
//!
//! # The end of the process
//!
//! A compiler of the driver's that was not waited for any more may still work when your program ends. The process then
//! waits for it: else the driver's own clean-up would make it crash. See [`exit`].

mod embed;

pub use embed::batch::{Batch, BatchInput, BatchResult};
pub use embed::config::{Config, DeviceKind, Strategy};
pub use embed::engine::Engine;
pub use embed::error::{BoxError, Error, Fault, FaultKind, Result};
pub use embed::events::{Captured, Event};
pub use embed::func::{Extern, Func, Global, Kernel, Memory, Table, TypedFunc};
pub use embed::host::{Caller, HostResult, IntoFunc};
pub use embed::instance::Instance;
pub use embed::linker::Linker;
pub use embed::module::{ExportType, ExternType, ImportType, Module, TranslationReport, assemble, is_serialized};
pub use embed::outcome::{End, Launch, Outcome};
pub use embed::store::{InstancePre, InterruptHandle, MEMORY_IMPORT, Store, StoreLimits, Usage, makes_memory};
pub use embed::values::{Val, WasmTy, WasmValues};
pub use embed::wasi::{WasiCtx, WasiCtxBuilder};
pub use embed::{compile, device, exit};
pub use gpu_run_bytecode::{BacktraceFrame, FuncType, GlobalType, Limits, MemoryType, TableType, TrapKind, ValType};
pub use gpu_run_translator::Options as ModuleOptions;
pub use gpu_run_vm::ptx::{LocalFrames, Reconverge, Tuning};
pub use gpu_run_vm::{
    Backtrace, BatchCounts, ClassStats, Counted, CountedPlace, Counts, DebugCounts, DebugFormat, DebugMessage,
    DebugOptions, Device, Doing, FrameSize, GivenFiles, HeapChecks, HeapFault, HeapGroup, HeapProfile, HeapSnapshot,
    HeapStats, Input, Kind, Leak, Level, MemoryUse, RequestCounts, SampleGroup, Samples, Sink, Spawned, Stand, Stands,
    Stream, TaskStats, ThreadSet,
};
