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

/// What each exported function would share, by its name.
pub(crate) fn shared_by_exports(module: &Module<'_>) -> Vec<(String, Shared)> {
    let exports = module.exports.iter();
    let functions = exports.filter(|export| export.kind == wasmparser::ExternalKind::Func);
    let shared = functions.map(|export| {
        let root = [export.index];
        let shared = Shared {
            std: shared_std(module, &root),
            allocators: own_allocators(module, &root),
        };
        (export.name.to_owned(), shared)
    });
    shared.collect()
}

/// Readable names of such functions that `roots` (or, if empty, all exports) can reach.
pub fn shared_std(module: &Module<'_>, roots: &[u32]) -> Vec<String> {
    let graph = CallGraph::new(module);
    let reachable = match roots {
        [] => graph.reachable(graph.roots().iter().copied()),
        roots => graph.reachable(roots.iter().copied()),
    };
    let imported = module.imported_funcs.len() as u32;
    let names = (imported..module.func_count()).filter(|func| reachable[*func as usize]);
    names
        .map(|func| module.func_display_name(func))
        .filter(|name| PATHS.iter().any(|path| has_path(name, path)) && !name.contains(HARMLESS))
        .collect()
}

/// Whether a path is in a name, from the beginning of an identifier on: `std::sync::` is not in `gpu_std::sync::`.
fn has_path(name: &str, path: &str) -> bool {
    let of_identifier = |c: char| c.is_alphanumeric() || c == '_';
    name.match_indices(path)
        .any(|(at, _)| !name[..at].ends_with(of_identifier))
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
    const OF_HEAP: [&str; 4] = ["alloc", "alloc_zero", "realloc", "alloc_batch"];
    let graph = CallGraph::new(module);
    let functions = module.imports.iter().filter(|import| {
        let ty = import.ty;
        matches!(ty, wasmparser::TypeRef::Func(_) | wasmparser::TypeRef::FuncExact(_))
    });
    let of_heap: Vec<bool> = functions
        .map(|import| import.module == crate::lower::GPU_MODULE && OF_HEAP.contains(&import.name))
        .collect();
    let reachable = graph.reachable(roots.iter().copied());
    let imported = module.imported_funcs.len() as u32;
    (imported..module.func_count())
        .filter(|func| reachable[*func as usize])
        .map(|func| (func, module.func_display_name(func)))
        .filter(|(_, name)| ALLOCATORS.contains(&name.as_str()) || ALLOCATOR_ENDS.iter().any(|end| name.ends_with(end)))
        .filter(|(func, _)| {
            let reaches = graph.reachable([*func]);
            !of_heap
                .iter()
                .zip(&reaches)
                .any(|(of_heap, reached)| *of_heap && *reached)
        })
        .map(|(_, name)| name)
        .collect()
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
        assert!(has_path("<gpu_std::a as std::sync::once::B>::call", "std::sync::once"));
        assert!(!has_path("<gpu_std::sync::once::Once>::run", "std::sync::once"));
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
