//! Replaces what Rust's std does on `wasm32-unknown-unknown` by GPU operations, and C's allocator.
//!
//! std's platform layer for that target does nothing: printing goes nowhere, clocks panic, threads
//! do not sleep. The functions around it survive compilation under their names, so their bodies are
//! replaced by ones that call imports from [`IMPORT_MODULE`]. A pattern is a set of functions, found
//! by demangled path and type. They are replaced only if they are proven to be what they are called
//! (`proof`). What a module does not have is left as it is: a function that was inlined away, or a
//! module that rustc did not make.
//!
//! In a program for WASI std's platform layer works, so only the allocators, Rust's and C's, memory functions and
//! arithmetic of 128 bits are replaced. In addition the host is told if a file is asked for that no folder holds.
//!
//! In: a module. Out: the module with new bodies, and a report. In the order in which to read the modules:
//!
//! - `names`, `proof`, `eval`: names in one spelling, what proves that a function is what its name says, and runs of
//!   it;
//! - `print`, `panic`, `oom`, `alloc`, `simple`: patterns of std, each detected and planned before anything is changed;
//! - `malloc`, `memory`, `wide`: C's allocator, C's functions on memory, and compilers' arithmetic of 128 bits;
//! - `env`, `code`: what the new bodies share, and a builder for them; the planned jobs are done with these;
//! - `folders`: tells the host of files that no folder holds;
//! - `unsupported_std`, `folded`: at the end, what a program asks of std that its target lacks, as warnings and errors.

mod alloc;
pub(crate) mod code;
mod env;
mod eval;
mod folded;
mod folders;
mod malloc;
mod memory;
mod names;
mod oom;
mod panic;
mod print;
mod proof;
mod simple;
mod unsupported_std;
mod wide;

use std::collections::BTreeSet;

use gpu_run_bytecode::{KERNEL_PREFIX, wasi};
use wasmparser::ValType;

use crate::module::{Body, Module};
pub(crate) use env::stack_pointer;
use env::{Env, FmtWrite};
use names::Names;
use proof::Std;

/// The import module whose functions are GPU operations; guests may import them as well.
pub const IMPORT_MODULE: &str = "gpu_run_v1";

const I32: ValType = ValType::I32;
const I64: ValType = ValType::I64;

/// The operations that rewriting emits: name, parameters, results.
pub const GPU_OPS: &[(&str, &[ValType], &[ValType])] = &[
    ("print", &[I32, I32, I32], &[]), // stream, address, length
    ("print_end", &[I32], &[]),       // stream: what was printed is one record
    ("alloc", &[I32, I32], &[I32]),   // size, align
    ("dealloc", &[I32, I32, I32], &[]),
    ("realloc", &[I32, I32, I32, I32], &[I32]), // address, old size, align, new size
    ("alloc_zero", &[I32, I32], &[I32]),
    ("block_size", &[I32], &[I32]), // address
    ("time", &[], &[I64]),          // nanoseconds, monotonic
    ("wall_time", &[], &[I64]),     // nanoseconds since the Unix epoch
    ("sleep", &[I64], &[]),         // nanoseconds
    ("memcmp", &[I32, I32, I32], &[I32]),
    ("i64.mul_hi_u", &[I64, I64], &[I64]),
    ("i64.div_wide_u", &[I64, I64, I64], &[I64]), // upper and lower half, divisor
    ("panic_exit", &[], &[]),                     // ends the process with code 101
    ("exit", &[I32], &[]),
    ("gid", &[], &[I32]),
    ("thread_count", &[], &[I32]),
];

/// What [`rewrite`] does.
#[derive(Clone, Debug)]
pub struct RewriteOptions {
    /// The keys of std's `RandomState`. Fixed, so that all engines iterate hash maps alike.
    pub hash_keys: [u64; 2],
    /// Replace the allocator, where that is safe.
    pub replace_allocator: bool,
    /// Refuse programs in which link-time optimization has removed the code after a call that
    /// std's platform layer does not support. Otherwise such a call traps.
    pub refuse_folded: bool,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        RewriteOptions {
            hash_keys: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
            replace_allocator: true,
            refuse_folded: true,
        }
    }
}

/// What became of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Replaced.
    Found,
    /// The module has no such functions.
    Absent,
    /// Found, but left as it was, for this reason.
    RolledBack(String),
}

/// One pattern and its functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternReport {
    /// Name of the pattern.
    pub pattern: &'static str,
    /// Readable names of the functions that were found.
    pub found: Vec<String>,
    /// What became of it.
    pub status: Status,
    /// Functions that are called like those of the pattern and keep their bodies: names and reasons.
    pub left: Vec<(String, String)>,
}

/// What [`rewrite`] did.
#[derive(Clone, Debug, Default)]
pub struct RewriteReport {
    /// Every known pattern, in a fixed order.
    pub patterns: Vec<PatternReport>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Whether the module has std's answer to calls that `wasm32-unknown-unknown` has nothing for, and nothing
    /// else that would serve them: see [`LACKS_PLATFORM`].
    pub lacks_platform: bool,
    /// Whether the module names its functions: without names nothing can be found.
    pub has_names: bool,
}

impl RewriteReport {
    /// What became of `pattern`.
    pub fn status(&self, pattern: &str) -> Option<&Status> {
        self.patterns.iter().find(|p| p.pattern == pattern).map(|p| &p.status)
    }
}

/// What the user should know of a module with [`RewriteReport::lacks_platform`].
pub const LACKS_PLATFORM: &str = "std on wasm32-unknown-unknown has no files, network or processes, and answers \
                                  `operation not supported on this platform` to who asks for them: use \
                                  `gpu_std::{fs, env, io, net, process}`, or build for wasm32-wasip1";

/// What the user should know of a program for `wasm32-wasip1` that could not start a thread.
pub const LACKS_THREADS: &str = "std::thread::spawn starts no threads on this target: build for \
                                 wasm32-wasip1-threads, where it does, use `gpu_std::thread`, or mark a function with \
                                 `gpu_std::kernel!` and run it by --threads N";

/// Whether a panic's text says that a thread could not be started because the target has none: std's own, and
/// rayon's of its pool.
pub fn wants_threads(panic: &str) -> bool {
    let of_thread = ["failed to spawn thread", "ThreadPoolBuildError", "thread pool"];
    let unsupported = ["Unsupported", "operation not supported on this platform"];
    of_thread.iter().any(|part| panic.contains(part)) && unsupported.iter().any(|part| panic.contains(part))
}

/// Why a module cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The optimizer has removed what followed a call.
    #[error(
        "`{caller}` calls `{function}`, which std on wasm32-unknown-unknown does not support, and \
         link-time optimization has removed what the call needs (at offset {offset:#x}); {remedy}"
    )]
    Folded {
        /// The function that is called.
        function: String,
        /// The function that calls it.
        caller: String,
        /// Offset of the call in the user's file.
        offset: u32,
        /// What the user can do.
        remedy: &'static str,
    },
}

/// Puts the new bodies in place.
type Apply = Box<dyn FnOnce(&mut Module<'_>, &mut Env)>;

/// A pattern that was found, to be applied once the operations it needs are imported.
struct Job {
    pattern: &'static str,
    /// Positions of its functions in [`Module::funcs`].
    funcs: Vec<usize>,
    /// Operations that it needs.
    ops: &'static [&'static str],
    /// Whether it formats or prints text.
    formats: bool,
    apply: Apply,
}

/// What the detecting functions find.
#[derive(Default)]
struct Plan {
    jobs: Vec<Job>,
    rolled_back: Vec<(&'static str, Vec<usize>, String)>,
    left: Vec<Left>,
    warnings: Vec<String>,
}

/// A function that is called like one of a pattern, and not proven to be it.
struct Left {
    pattern: &'static str,
    /// Its position in [`Module::funcs`].
    func: usize,
    why: String,
}

impl Left {
    fn new(pattern: &'static str, func: usize, why: impl Into<String>) -> Left {
        let why = why.into();
        Left { pattern, func, why }
    }
}

/// What the user should know of a module that has std's names, but nothing that says where it is from.
const NO_PRODUCERS: &str = "functions are called as Rust's std calls them, but no `producers` section says that rustc \
                            made the module, so they are left as they are: build without removing that section";

/// Every pattern, in the order of reports.
const PATTERNS: &[&str] = &[
    "print",
    "eprint",
    "stdout",
    "stderr",
    "panic",
    "alloc_error",
    "allocator",
    malloc::PATTERN,
    "instant",
    "system_time",
    "sleep",
    "exit",
    "hash_keys",
    memory::PATTERN,
    wide::PATTERN,
];

/// Those that are replaced in a program for WASI too: for speed. All else std does there by itself, as its
/// users know it.
const WASI_PATTERNS: &[&str] = &["allocator", malloc::PATTERN, memory::PATTERN, wide::PATTERN];

/// Whether std reaches everything by WASI in a module. That it imports WASI is not enough: on
/// `wasm32-unknown-unknown` `gpu_std` does so, beside a std that does nothing. Kernels do not: several threads
/// cannot share what std's own printing keeps for a program's only one.
fn is_wasi_program(module: &Module<'_>, names: &Names) -> bool {
    let imports = module.imports.iter().any(|import| import.module == wasi::MODULE);
    let exports = |wanted: fn(&str) -> bool| module.exports.iter().any(|export| wanted(export.name));
    // The entries that WASI prescribes for commands and libraries, else functions of std's or of C's library.
    let entry = exports(|name| matches!(name, "_start" | "_initialize"));
    let below_std = |name: &str| {
        // Without type arguments, which may be any crate's.
        let path = name.split('<').next().unwrap_or_default();
        path.starts_with("std::sys::") && path.contains("::wasi::")
    };
    let library = || {
        names
            .matching(|name| below_std(name) || name.starts_with("__wasi"))
            .next()
            .is_some()
    };
    imports && !exports(|name| name.starts_with(KERNEL_PREFIX)) && (entry || library())
}

/// Replaces the std functions that `module` has; see the module's documentation.
pub fn rewrite(module: &mut Module<'_>, options: &RewriteOptions) -> Result<RewriteReport, RewriteError> {
    let mut report = RewriteReport {
        has_names: module.has_names,
        lacks_platform: unsupported_std::platform(module),
        ..RewriteReport::default()
    };
    if !module.has_names || !env::has_memory(module) {
        if !module.has_names && seems_rust(module) {
            report.warnings.push(
                "the module has no name section, so std's functions cannot be found: build with \
                 `strip = \"none\"` in the profile"
                    .to_owned(),
            );
        }
        report.patterns = PATTERNS.iter().map(|name| absent(name)).collect();
        return Ok(report);
    }
    let names = Names::new(module);
    let wasi = is_wasi_program(module, &names);
    let rust = proof::is_rust(module);
    let fmt = FmtWrite::find(module, &names).filter(|_| rust && env::can_format(module) && !wasi);
    let mut plan = Plan::default();
    let std = rust.then(|| Std::new(module, &names));
    if let Some(std) = &std {
        if let Some(fmt) = fmt {
            print::detect(module, &names, std, fmt, &mut plan);
            panic::detect(module, &names, std, &mut plan);
            oom::detect(module, &names, std, &mut plan);
        }
        alloc::detect(module, &names, std, options, &mut plan);
        if !wasi {
            simple::detect(module, &names, std, options, &mut plan);
        }
    } else if names
        .matching(|name| name.starts_with("core::panicking::"))
        .next()
        .is_some()
    {
        report.warnings.push(NO_PRODUCERS.to_owned());
    }
    malloc::detect(module, &names, options, &mut plan);
    memory::detect(module, &names, &mut plan);
    wide::detect(module, &names, &mut plan);
    if wasi {
        plan.jobs.retain(|job| WASI_PATTERNS.contains(&job.pattern));
    }

    let display = |module: &Module<'_>, funcs: &[usize]| -> Vec<String> {
        let first = module.imported_funcs.len();
        let mut found: Vec<String> = funcs
            .iter()
            .map(|func| module.func_display_name((first + func) as u32))
            .collect();
        found.sort();
        found
    };
    for pattern in PATTERNS {
        let jobs = plan.jobs.iter().filter(|job| job.pattern == *pattern);
        let funcs: Vec<usize> = jobs.flat_map(|job| job.funcs.iter().copied()).collect();
        let left_alone = plan.left.iter().filter(|left| left.pattern == *pattern);
        let mut left: Vec<(String, String)> = left_alone
            .map(|left| (display(module, &[left.func]).concat(), left.why.clone()))
            .collect();
        left.sort();
        let rolled_back = plan.rolled_back.iter().find(|(name, ..)| name == pattern);
        let (found, status) = match rolled_back {
            Some((_, funcs, reason)) => (display(module, funcs), Status::RolledBack(reason.clone())),
            None if funcs.is_empty() => (Vec::new(), Status::Absent),
            None => (display(module, &funcs), Status::Found),
        };
        report.patterns.push(PatternReport {
            pattern,
            found,
            status,
            left,
        });
    }
    report.warnings.append(&mut plan.warnings);

    let mut ops: BTreeSet<&'static str> = plan.jobs.iter().flat_map(|job| job.ops.iter().copied()).collect();
    let formats = plan.jobs.iter().any(|job| job.formats);
    if formats {
        ops.extend(["print", "print_end"]);
    }
    if !plan.jobs.is_empty() {
        let mut env = Env::install(module, &ops, fmt.filter(|_| formats));
        for job in plan.jobs {
            (job.apply)(module, &mut env);
        }
        env.finish(module);
    }
    if wasi {
        folders::tell(module, &names);
    } else if rust {
        report.warnings.extend(print::warn_of_lost_output(module, &names));
    }
    if rust {
        report.warnings.extend(unsupported_std::warnings(module, &names, wasi));
    }
    if let Some(std) = std.filter(|_| options.refuse_folded && !wasi) {
        folded::check(module, &names, &std, &plan.left)?;
    }
    Ok(report)
}

fn absent(pattern: &'static str) -> PatternReport {
    PatternReport {
        pattern,
        found: Vec::new(),
        status: Status::Absent,
        left: Vec::new(),
    }
}

/// Whether rustc seems to have made the module. One that was stripped of its `producers` section too still exports
/// what rustc's linker does.
fn seems_rust(module: &Module<'_>) -> bool {
    let exports = |name| module.exports.iter().any(|export| export.name == name);
    proof::is_rust(module) || exports("main") && exports("__heap_base") && exports("__data_end")
}

fn replace(module: &mut Module<'_>, funcs: &[usize], code: impl Fn() -> code::Code) {
    for &func in funcs {
        module.funcs[func].body = code().into_body();
    }
}

/// A body that cannot be reached any more.
fn trap<'a>() -> Body<'a> {
    let mut code = code::Code::new();
    code.op(wasmparser::Operator::Unreachable);
    code.into_body()
}

#[cfg(test)]
mod tests;
