//! Which functions of std hold a lock or a thread-local.
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
        .filter(|name| PATHS.iter().any(|path| name.contains(path)))
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
}
