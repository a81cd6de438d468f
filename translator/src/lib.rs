//! Turns WebAssembly modules into gpu-run bytecode.
//!
//! ```text
//! bytes --parse--> Module --legacy_eh--> Module --rewrite--> Module --inline--> Module --lower--> Program
//! ```
//!
//! [`translate()`] goes the whole way. `legacy_eh`, `rewrite` and `inline` work on one owned form, [`Module`], whose
//! instructions know where they came from. [`Module::encode`] turns it into valid wasm at any stage. [`callgraph`]
//! finds recursion.

pub mod callgraph;
mod debug;
mod dwarf;
mod host_functions;
pub mod inline;
mod legacy_eh;
mod lower;
pub mod module;
pub mod rewrite;
mod shared_std;
mod thread_start;
mod translate;

pub use debug::remove_debug;
pub use dwarf::Dwarf;
pub use legacy_eh::{BrTables, replace_legacy_exceptions};
pub use lower::{GPU_MODULE, LowerError, LowerErrorKind, OLD_WASI, WASI_SPAWN, gpu_signature, lower};
pub use module::{Module, ParseError};
pub use shared_std::{Shared, own_allocators, shared_std};
pub use translate::{
    Error, Options, Passed, RecursionError, Times, Translation, check_recursion, run_passes, translate,
};
