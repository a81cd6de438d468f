//! The whole way from a file's bytes to a verified program.

use std::time::{Duration, Instant};

use gpu_run_bytecode::{HostFunction, Lines, Program, VerifyError, VerifyErrorKind, verify};

use crate::callgraph::CallGraph;
use crate::debug::remove_debug;
use crate::dwarf::Dwarf;
use crate::host_functions::call_host_functions;
use crate::inline::{InlineOptions, InlineReport, inline_and_remove_dead};
use crate::legacy_eh::{BrTables, replace_legacy_exceptions};
use crate::lower::{LowerError, lower};
use crate::module::{Module, ParseError};
use crate::rewrite::{RewriteError, RewriteOptions, RewriteReport, rewrite};
use crate::shared_std::{Shared, shared_by_exports};
use crate::thread_start::add_thread_start;

/// What [`translate`] does.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How std's patterns are rewritten; `None` leaves them.
    pub rewrite: Option<RewriteOptions>,
    /// How calls are inlined; `None` leaves them.
    pub inline: Option<InlineOptions>,
    /// Whether the program gets the lines of the module's DWARF. Without them [`Dwarf`] can still
    /// tell the lines of a fault, from the file's bytes.
    pub lines: bool,
    /// Whether recursion that the exports or the start function can reach is an error.
    pub deny_recursion: bool,
    /// Whether debug messages are left out: calls of the imports `dbg_*`.
    pub no_debug: bool,
    /// Whether imported functions that are no part of gpu-run become calls of the host, listed in
    /// [`gpu_run_bytecode::Meta::host_functions`]. Else they stay imports.
    pub host_functions: bool,
    /// Whether [`Translation::shared`] is looked for in any case.
    pub shared: bool,
    /// Units of fuel that each thread has, and each process; without it nothing is counted. An entry into a function and a pass
    /// of a loop cost as many units as they have instructions outside of inner loops, whichever ways are taken. Inlined calls
    /// belong to their callers. A thread with too few units for the next entry or pass traps there, on every engine.
    ///
    /// The units are in a global that nothing in the module names. So threads begin with what a start function has left of
    /// them, and calls of an instance on one thread use up what it has, one after the other.
    pub fuel: Option<u64>,
}

impl Options {
    /// All passes, with defaults.
    pub fn full() -> Options {
        Options {
            rewrite: Some(RewriteOptions::default()),
            inline: Some(InlineOptions::default()),
            lines: false,
            deny_recursion: false,
            no_debug: false,
            host_functions: false,
            shared: false,
            fuel: None,
        }
    }
}

/// Time that each stage took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Reading and validating the file, replacing legacy exception handling, and what threads begin with.
    pub parse: Duration,
    /// Rewriting std's patterns.
    pub rewrite: Duration,
    /// Inlining.
    pub inline: Duration,
    /// Lowering to bytecode.
    pub lower: Duration,
    /// Reading lines of DWARF, if the program is to have them.
    pub lines: Duration,
    /// Verifying the bytecode.
    pub verify: Duration,
}

impl Times {
    /// The sum.
    pub fn total(&self) -> Duration {
        self.parse + self.rewrite + self.inline + self.lower + self.lines + self.verify
    }
}

/// A module after the passes that work on wasm.
pub struct Passed<'a> {
    /// The module.
    pub module: Module<'a>,
    /// What was rewritten.
    pub rewrites: RewriteReport,
    /// What was inlined.
    pub inlines: InlineReport,
    /// Imports that have become calls of the host.
    pub host_functions: Vec<HostFunction>,
    /// See [`Translation::shared`].
    pub shared: Vec<(String, Shared)>,
    /// Time taken so far.
    pub times: Times,
}

/// A translated module.
pub struct Translation {
    /// The program, verified.
    pub program: Program,
    /// What was rewritten.
    pub rewrites: RewriteReport,
    /// What was inlined.
    pub inlines: InlineReport,
    /// For each exported function, what its threads would share, if that was asked for or the module spawns threads by
    /// `gpu_run_v1`.
    pub shared: Vec<(String, Shared)>,
    /// Time taken.
    pub times: Times,
}

/// Recursion where none is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recursion: `{cycle}`")]
pub struct RecursionError {
    /// Calls by which a function may come back to itself: `a -> b -> a`.
    pub cycle: String,
    /// Whether one of the calls is indirect. Then all that is known is that the callee's address is
    /// taken and its type fits.
    pub indirect: bool,
}

/// Checks that neither an export nor the start function can reach a recursion.
pub fn check_recursion(module: &Module<'_>) -> Result<(), RecursionError> {
    match CallGraph::new(module).reachable_cycle(module) {
        None => Ok(()),
        Some(cycle) => Err(RecursionError {
            cycle: cycle.display(module),
            indirect: cycle.calls.iter().any(|call| call.indirect),
        }),
    }
}

/// Why a file is not translated.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a valid module.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It calls what cannot be replaced.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// It is recursive, and that is denied.
    #[error(transparent)]
    Recursion(#[from] RecursionError),
    /// It uses what this version does not run.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A function is beyond what can be verified.
    #[error(transparent)]
    TooComplex(VerifyError),
    /// The bytecode made of it is not sound: a bug of gpu-run.
    #[error("gpu-run made unsound bytecode of this module, which is a bug: {0}")]
    Verify(VerifyError),
}

impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Error {
        match error.kind {
            VerifyErrorKind::TooComplex => Error::TooComplex(error),
            VerifyErrorKind::Unsound => Error::Verify(error),
        }
    }
}

/// Runs the passes that work on wasm. What they make and cannot own stands in `tables`, which must
/// be fresh.
pub fn run_passes<'a>(bytes: &'a [u8], tables: &'a BrTables, options: &Options) -> Result<Passed<'a>, Error> {
    let mut times = Times::default();
    let begin = Instant::now();
    let mut module = Module::parse(bytes)?;
    replace_legacy_exceptions(&mut module, tables);
    let spawns = add_thread_start(&mut module);
    times.parse = begin.elapsed();
    let begin = Instant::now();
    let rewrites = match &options.rewrite {
        Some(options) => rewrite(&mut module, options)?,
        None => RewriteReport::default(),
    };
    if options.no_debug {
        remove_debug(&mut module);
    }
    let host_functions = match options.host_functions {
        true => call_host_functions(&mut module),
        false => Vec::new(),
    };
    times.rewrite = begin.elapsed();
    if options.deny_recursion {
        // After rewriting: what std would do is not what runs.
        check_recursion(&module)?;
    }
    // Before inlining, while functions have names.
    let shared = match options.shared || spawns {
        true => shared_by_exports(&module),
        false => Vec::new(),
    };
    let begin = Instant::now();
    let mut inlines = InlineReport::default();
    if let Some(options) = &options.inline {
        inlines = inline_and_remove_dead(&mut module, options);
    }
    times.inline = begin.elapsed();
    Ok(Passed {
        module,
        rewrites,
        inlines,
        host_functions,
        shared,
        times,
    })
}

/// Translates the module in a file's bytes.
pub fn translate(bytes: &[u8], options: &Options) -> Result<Translation, Error> {
    let tables = BrTables::default();
    let Passed {
        module,
        rewrites,
        inlines,
        host_functions,
        shared,
        mut times,
    } = run_passes(bytes, &tables, options)?;
    let begin = Instant::now();
    let mut program = lower(&module, options.fuel)?;
    program.meta.host_functions = host_functions;
    times.lower = begin.elapsed();
    let begin = Instant::now();
    if let Some(dwarf) = options.lines.then(|| Dwarf::find(bytes)).flatten() {
        program.lines = Lines::new(&dwarf.table(&program));
    }
    times.lines = begin.elapsed();
    let begin = Instant::now();
    verify(&program)?;
    times.verify = begin.elapsed();
    tracing::debug!(bytes = bytes.len(), words = program.code.len(), time = ?times.total(), "a module is translated");
    Ok(Translation {
        program,
        rewrites,
        inlines,
        shared,
        times,
    })
}
