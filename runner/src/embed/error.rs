//! What can go wrong, as values.

use gpu_run_bytecode::{ContainerError, TrapKind, VerifyError};
use gpu_run_vm::{Backtrace, DeviceError, HeapFault, SnapshotError, StoreError};

use super::compile::CompileError;
use super::device::OpenError;
use super::outcome::End;

/// An error of a host function.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How a program failed: a trap, or a panic.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The thread to which it happened.
    pub thread: u32,
    /// The calls that were open in that thread.
    pub backtrace: Backtrace,
    /// Of a trap of the heap: what it was about.
    pub heap: Option<HeapFault>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A trap of WebAssembly, or of an operation of gpu-run.
    Trap(TrapKind),
    /// A Rust panic. Its message went to standard error.
    Panic,
}

impl Fault {
    /// What happened, in words.
    pub fn message(&self) -> &'static str {
        match self.kind {
            FaultKind::Trap(kind) => kind.text(),
            FaultKind::Panic => "the program panicked",
        }
    }
}

impl From<gpu_run_vm::Fault> for Fault {
    fn from(fault: gpu_run_vm::Fault) -> Fault {
        Fault {
            kind: FaultKind::Trap(fault.kind),
            thread: fault.thread,
            backtrace: fault.backtrace,
            heap: fault.heap,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (thread {})", self.message(), self.thread)?;
        for frame in &self.backtrace.places {
            write!(f, "\n  at {}", frame.function)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Text is no module.
    #[error("{0}")]
    Text(String),
    /// A module is not valid, or uses what this version does not run.
    #[error(transparent)]
    Module(#[from] Box<gpu_run_translator::Error>),
    /// Bytes are no serialized module of this version.
    #[error(transparent)]
    Serialized(#[from] ContainerError),
    /// A serialized module is not sound.
    #[error("the serialized module is not sound: {0}")]
    Unsound(#[from] VerifyError),
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Compiled code was asked for, and could not be made.
    #[error("cannot compile the module: {0}")]
    Compile(#[from] CompileError),
    /// The assembler of code that is compiled before it runs.
    #[error("{0}")]
    Assembler(BoxError),
    /// Code is to be compiled that has run before, and none has.
    #[error("the module has not run yet with notes of what runs, so it is not known which code is hot")]
    NeverRan,
    /// An instance has no snapshot.
    #[error("no module begins where the instance stands: {0}")]
    Snapshot(#[from] SnapshotError),
    /// A module was not instantiated, or a function not called.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// Nothing is defined for an import.
    #[error("nothing is defined for the import `{module}.{name}`{why}")]
    UnknownImport {
        /// Module name.
        module: String,
        /// Field name.
        name: String,
        /// What is missing.
        why: &'static str,
    },
    /// A definition has another type than the import.
    #[error("the import `{module}.{name}` has type {wanted}, but what is defined has type {found}")]
    ImportType {
        /// Module name.
        module: String,
        /// Field name.
        name: String,
        /// The import's type.
        wanted: String,
        /// The definition's type.
        found: String,
    },
    /// A name is defined already.
    #[error("`{module}.{name}` is defined twice")]
    Defined {
        /// Module name.
        module: String,
        /// Field name.
        name: String,
    },
    /// An instance has no such export.
    #[error("no {what} `{name}` is exported")]
    UnknownExport {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Types that differ from a function's.
    #[error("the function has type {wanted}, not {found}")]
    Type {
        /// The function's type.
        wanted: String,
        /// The types that were given.
        found: String,
    },
    /// A global that cannot be set, or not to a value of that type.
    #[error("the global cannot be set to that value")]
    Global,
    /// A handle was used with another store than its own.
    #[error("a handle of another store was used")]
    WrongStore,
    /// A second instance in a store whose first one calls host functions, or the other way round.
    #[error("a store has one instance that calls host functions or WASI, and this would be the second")]
    SecondHost,
    /// A range is not in memory.
    #[error("the {len} bytes from address {address} on are not all in memory")]
    OutOfBounds {
        /// Where it begins.
        address: u64,
        /// Its bytes.
        len: usize,
    },
    /// A memory was to be grown further than it can.
    #[error("the memory cannot grow by {pages} pages")]
    Grow {
        /// The pages that were asked for.
        pages: u64,
    },
    /// The program failed.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// A host function returned an error, which ended the run.
    #[error("a host function failed: {source}")]
    Host {
        /// The function's error.
        source: BoxError,
        /// Where it was called.
        fault: Box<Fault>,
    },
    /// The program ended itself by this exit code.
    #[error("the program ended with exit code {0}")]
    Exit(i32),
    /// The time was over.
    #[error("the time limit was reached")]
    TimedOut,
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Interrupted,
    /// The run in which the host function was called is over.
    #[error("the run has ended")]
    Ended,
}

impl Error {
    /// The error of a run that ended before its threads had returned.
    pub(super) fn of(end: End, host_error: Option<BoxError>) -> Error {
        match (end, host_error) {
            (End::Faulted(fault), Some(source)) => Error::Host { source, fault },
            (End::Faulted(fault), None) => Error::Fault(fault),
            (End::Exited(code), _) => Error::Exit(code),
            (End::TimedOut, _) => Error::TimedOut,
            _ => Error::Interrupted,
        }
    }

    /// How the program ended, if that is what the error says; else the error.
    pub fn into_end(self) -> Result<End> {
        match self {
            Error::Fault(fault) | Error::Host { fault, .. } => Ok(End::Faulted(fault)),
            Error::Exit(code) => Ok(End::Exited(code)),
            Error::TimedOut => Ok(End::TimedOut),
            Error::Interrupted => Ok(End::Interrupted),
            error => Err(error),
        }
    }

    /// The fault, if the program failed.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Error::Fault(fault) | Error::Host { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// The exit code, if the program ended itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Error::Exit(code) => Some(*code),
            _ => None,
        }
    }
}

impl From<gpu_run_translator::Error> for Error {
    fn from(error: gpu_run_translator::Error) -> Error {
        Error::Module(Box::new(error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Device(error) => Error::Device(error),
            StoreError::Trap(fault) => Error::Fault(Box::new((*fault).into())),
            StoreError::UnknownImport { module, name } => Error::UnknownImport { module, name, why: "" },
            error => Error::Store(Box::new(error)),
        }
    }
}
