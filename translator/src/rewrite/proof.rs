//! What proves that a function is what its name says.
//!
//! Any module can choose its names, so a name and a type do not prove a pattern. This is required too:
//!
//! | pattern | proof |
//! |---|---|
//! | all of std's | the `producers` section names rustc, whose std has these paths |
//! | `instant`, `system_time`, `sleep`, `exit` | the function never returns, which is what std does on this target ([`diverges`]), and calls nothing but functions of std's ([`Std::is_own`]) |
//! | `hash_keys` | it stores two words of 64 bits, at 0 and 8 or made of addresses, and calls nothing but functions of std's |
//! | `print`, `eprint` | a `core::fmt::write` of a known type, and the function calls some of std's ([`Std::is_used`]): the optimizer may have put the program's allocator into it |
//! | `stdout`, `stderr` | implementations of std's traits for std's types, which by Rust's rule only std can have |
//! | `panic` | how the code reads the payload's vtable or makes the `PanicInfo`; it never returns; what is replaced as a whole calls nothing but functions of std's |
//! | `alloc_error` | the hook calls nothing but functions of std's; its caller, where the hook is gone, never returns |
//! | `allocator` | each entry point calls dlmalloc, `System` or C's allocator; dlmalloc's methods call nothing but functions of std's; nothing that stays uses what they kept |
//! | `c_allocator` | a compiler that reserves C's names ([`is_reserving`]); the state of `dlmalloc` at one fixed place, and every function reads that or a block's size, or calls one that does, and neither another static nor an import |
//! | `memory` | a compiler that reserves C's names, and what the body does when it is run (`memory`) |
//! | `wide_integers` | a compiler that calls its library by these names, and what the body does when it is run (`wide`) |
//!
//! What fails its proof keeps its body, and `gpu-run inspect` says why.

use wasmparser::Operator;

use super::names::Names;
use crate::module::{Func, Module};

/// Whether rustc made the module, as its `producers` section says.
pub(super) fn is_rust(module: &Module<'_>) -> bool {
    let names_rust = |(_, name, _): &(String, String, String)| name == "Rust" || name == "rustc";
    module.producers.iter().any(names_rust)
}

/// Whether a compiler made the module for which the names of C's functions on memory are C's, and those of arithmetic its
/// library's, wherever they are defined. These are LLVM's compilers: LLVM calls and removes such functions as it sees fit.
pub(super) fn is_reserving(module: &Module<'_>) -> bool {
    let of_llvm = |name: &str| ["clang", "zig"].iter().any(|part| name.contains(part));
    is_rust(module) || module.producers.iter().any(|(_, name, _)| of_llvm(name))
}

/// Crates of std, as paths begin, and functions that rustc defines for them.
const CRATES: [&str; 9] = [
    "std::",
    "core::",
    "alloc::",
    "dlmalloc::",
    "compiler_builtins::",
    "__rust_",
    "__rdl_",
    "__rg_",
    "rust_",
];
/// Other functions that std calls.
const CALLED: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Which functions are std's by their names.
pub(super) struct Std {
    /// By position in [`Module::funcs`].
    is_std: Vec<bool>,
}

impl Std {
    pub(super) fn new(module: &Module<'_>, names: &Names) -> Std {
        let mut is_std = vec![false; module.funcs.len()];
        for (_, func) in names.matching(of_std) {
            is_std[func] = true;
        }
        Std { is_std }
    }

    /// Of each direct call in a function, whether it is of one of std's: not of an import, nor of the program's code.
    fn calls<'m>(&'m self, module: &'m Module<'_>, func: usize) -> impl Iterator<Item = bool> + 'm {
        let first = module.imported_funcs.len();
        module.funcs[func].summary().calls.iter().map(move |call| {
            let callee = (call.callee as usize).checked_sub(first);
            callee.is_some_and(|callee| self.is_std[callee])
        })
    }

    /// Whether all that a function calls by name is std's too.
    pub(super) fn is_own(&self, module: &Module<'_>, func: usize) -> bool {
        self.calls(module, func).all(|of_std| of_std)
    }

    /// Whether a function calls some of std's.
    pub(super) fn is_used(&self, module: &Module<'_>, func: usize) -> bool {
        self.calls(module, func).any(|of_std| of_std)
    }
}

/// Whether a canonical name is one of std's. An implementation of a trait is, if it is for a type of std's.
fn of_std(name: &str) -> bool {
    let path = name.strip_prefix('<').unwrap_or(name);
    let path = path.trim_start_matches(['&', '*', '[', '(', '<']);
    let path = path
        .strip_prefix("mut ")
        .or(path.strip_prefix("const "))
        .unwrap_or(path);
    CRATES.iter().any(|start| path.starts_with(start)) || CALLED.contains(&name)
}

/// Whether a function cannot return: it has no `return`, no branch out of its body, and its last instruction before
/// the closing `end` is `unreachable`.
pub(super) fn diverges(func: &Func<'_>) -> bool {
    let mut depth = 0u32;
    let mut last_traps = false;
    let mut instrs = func.instrs().peekable();
    while let Some(instr) = instrs.next() {
        let is_last = instrs.peek().is_none();
        match &instr.op {
            Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. } => depth += 1,
            Operator::End | Operator::Delegate { .. } if !is_last => depth = depth.saturating_sub(1),
            Operator::Return
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => return false,
            Operator::Br { relative_depth } | Operator::BrIf { relative_depth } if *relative_depth >= depth => {
                return false;
            }
            Operator::BrTable { targets } => {
                let mut all = targets.targets().chain([Ok(targets.default())]);
                if all.any(|target| target.is_ok_and(|target| target >= depth)) {
                    return false;
                }
            }
            _ => {}
        }
        if is_last {
            return last_traps;
        }
        last_traps = matches!(instr.op, Operator::Unreachable);
    }
    false
}
