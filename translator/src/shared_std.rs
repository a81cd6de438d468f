//! Which functions of std hold a lock or a thread-local, and which allocators the threads of a kernel would share.
//!
//! On targets without atomics std's locks and thread-locals are plain statics: enough for one
//! thread, not for the threads of a kernel, which share them. What rewriting replaces is safe; this
//! finds what is left, by name. A function that was inlined into its caller has no name any more and
//! is not found.

use crate::callgraph::CallGraph;
use crate::module::Module;

/// Parts of paths in std whose functions keep such state.
const PATHS: &[&str] = &[
    "std::sys::thread_local::",
    "std::thread::local::",
    "std::sys::sync::",
    "std::sync::poison::mutex::",
    "std::sync::poison::rwlock::",
    "std::sync::poison::once::",
    "std::sync::mutex::",
    "std::sync::rwlock::",
    "std::sync::once",
    "std::sync::reentrant_lock::",
    "std::sync::lazy_lock::",
];

/// What the threads may share nevertheless: the keys that the next `HashMap` of a thread gets. Whichever it gets, it
/// keeps them.
const HARMLESS: &str = "std::hash::random::RandomState";

/// What the threads of a kernel would share, by readable names of functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Those of std; see [`shared_std`].
    pub std: Vec<String>,
    /// Allocators; see [`own_allocators`].
    pub allocators: Vec<String>,
}

/// The functions of a module that keep such state. Names are looked at once, however many exports reach them.
struct Keepers {
    graph: CallGraph,
    std: Vec<(u32, String)>,
    allocators: Vec<(u32, String)>,
}

impl Keepers {
    fn of(module: &Module<'_>) -> Keepers {
        let mut found = Keepers {
            graph: CallGraph::new(module),
            std: Vec::new(),
            allocators: Vec::new(),
        };
        for func in module.imported_funcs.len() as u32..module.func_count() {
            let name = module.func_display_name(func);
            if is_allocator(&name) && !uses_heap(module, &found.graph, func) {
                found.allocators.push((func, name.clone()));
            }
            if is_shared_std(&name) {
                found.std.push((func, name));
            }
        }
        found
    }

    /// What `roots` can reach.
    fn reached(&self, roots: &[u32]) -> Shared {
        let reachable = self.graph.reachable(roots.iter().copied());
        let names = |of: &[(u32, String)]| {
            let reached = of.iter().filter(|(func, _)| reachable[*func as usize]);
            reached.map(|(_, name)| name.clone()).collect()
        };
        Shared {
            std: names(&self.std),
            allocators: names(&self.allocators),
        }
    }
}

/// What each exported function would share, by its name.
pub(crate) fn shared_by_exports(module: &Module<'_>) -> Vec<(String, Shared)> {
    let keepers = Keepers::of(module);
    let exports = module.exports.iter();
    let functions = exports.filter(|export| export.kind == wasmparser::ExternalKind::Func);
    let shared = functions.map(|export| (export.name.to_owned(), keepers.reached(&[export.index])));
    shared.collect()
}

/// Readable names of such functions that `roots` (or, if empty, all exports) can reach.
pub fn shared_std(module: &Module<'_>, roots: &[u32]) -> Vec<String> {
    let keepers = Keepers::of(module);
    let roots = match roots {
        [] => keepers.graph.roots(),
        roots => roots,
    };
    keepers.reached(roots).std
}

/// Whether a name is that of a function of std that keeps such state.
fn is_shared_std(name: &str) -> bool {
    let paths = name.match_indices("std::");
    let mut starts = paths
        .filter(|(at, _)| begins_path(name, *at))
        .map(|(at, _)| &name[at..]);
    starts.any(|rest| PATHS.iter().any(|path| rest.starts_with(path))) && !name.contains(HARMLESS)
}

/// Whether an identifier begins there: `std::sync::` is not in `gpu_std::sync::`.
fn begins_path(name: &str, at: usize) -> bool {
    let of_identifier = |c: char| c.is_alphanumeric() || c == '_';
    !name[..at].ends_with(of_identifier)
}

/// Names of functions by which programs ask an allocator of their own for memory: C's, Rust's `#[global_allocator]`,
/// AssemblyScript's.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "dlmalloc",
    "emmalloc_malloc",
    "emmalloc_memalign",
    "mi_malloc",
    "__rust_alloc",
    "__rustc::__rust_alloc",
    "__rg_alloc",
    "__rustc::__rg_alloc",
    "~lib/rt/itcms/__new",
    "~lib/rt/tcms/__new",
    "~lib/rt/tlsf/__alloc",
    "~lib/rt/stub/__alloc",
    "~lib/rt/stub/__new",
];
/// How such names end in Rust (an allocator's method, inlined where it is used) and in Zig.
const ALLOCATOR_ENDS: &[&str] = &[" as core::alloc::global::GlobalAlloc>::alloc", "Allocator.alloc"];

/// Readable names of allocators that `roots` can reach and that do not have their memory from the device's heap. What
/// they keep is the program's, and mostly made for one thread.
pub fn own_allocators(module: &Module<'_>, roots: &[u32]) -> Vec<String> {
    Keepers::of(module).reached(roots).allocators
}

fn is_allocator(name: &str) -> bool {
    ALLOCATORS.contains(&name) || ALLOCATOR_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a function reaches the device's heap.
fn uses_heap(module: &Module<'_>, graph: &CallGraph, func: u32) -> bool {
    const OF_HEAP: [&str; 4] = ["alloc", "alloc_zero", "realloc", "alloc_batch"];
    let functions = module.imports.iter().filter(|import| {
        let ty = import.ty;
        matches!(ty, wasmparser::TypeRef::Func(_) | wasmparser::TypeRef::FuncExact(_))
    });
    let of_heap = functions.map(|import| import.module == crate::lower::GPU_MODULE && OF_HEAP.contains(&import.name));
    let reached = graph.reachable([func]);
    of_heap.zip(reached).any(|(of_heap, reached)| of_heap && reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_the_root_reaches() {
        let wat = r#"(module
            (func $std::sys::sync::mutex::no_threads::lock)
            (func $std::sync::once::call)
            (func (export "kernel") (call $std::sys::sync::mutex::no_threads::lock))
            (func (export "other") (call $std::sync::once::call)))"#;
        let bytes = wat::parse_str(wat).expect("good text");
        let module = Module::parse(&bytes).expect("a module");
        assert_eq!(shared_std(&module, &[2]), ["std::sys::sync::mutex::no_threads::lock"]);
        assert_eq!(shared_std(&module, &[]).len(), 2);
    }

    #[test]
    fn keys_of_hash_maps_are_no_harm() {
        let name = "std::sys::thread_local::no_threads::LazyStorage::initialize<std::hash::random::RandomState>";
        let wat = format!(r#"(module (func (export "kernel") call 1) (func $"{name}"))"#);
        let bytes = wat::parse_str(wat).expect("good text");
        let module = Module::parse(&bytes).expect("a module");
        assert!(shared_std(&module, &[]).is_empty());
    }

    #[test]
    fn other_crates_are_not_std() {
        assert!(is_shared_std("<gpu_std::a as std::sync::once::B>::call"));
        assert!(!is_shared_std("<gpu_std::sync::once::Once>::run"));
    }

    #[test]
    fn finds_allocators_without_the_heap() {
        let wat = r#"(module
            (import "gpu_run_v1" "gid" (func (result i32)))
            (import "gpu_run_v1" "alloc" (func $heap (param i32 i32) (result i32)))
            (func $malloc)
            (func $__rust_alloc (drop (call $heap (i32.const 1) (i32.const 1))))
            (func $"<wee_alloc::WeeAlloc as core::alloc::global::GlobalAlloc>::alloc")
            (func $"~lib/rt/stub/__new")
            (func (export "kernel") (call 2) (call 3) (call 4)))"#;
        let bytes = wat::parse_str(wat).expect("good text");
        let module = Module::parse(&bytes).expect("a module");
        let wee = "<wee_alloc::WeeAlloc as core::alloc::global::GlobalAlloc>::alloc";
        assert_eq!(own_allocators(&module, &[6]), ["malloc", wee]);
        assert!(own_allocators(&module, &[3]).is_empty());
    }
}
