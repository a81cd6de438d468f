//! Names what a program asks of std that std on its target does not have.
//!
//! Such calls fail as std has them fail, and the optimizer leaves only some of their names in a module. What is found
//! is there; what is not found may be there too.

use gpu_run_bytecode::wasi;

use super::names::Names;
use crate::callgraph::CallGraph;
use crate::module::Module;

/// What std says where the platform has nothing. The optimizer may remove everything else of such a call.
const UNSUPPORTED: &[u8] = b"operation not supported on this platform";

/// A part of std: how names of its functions begin, what that is, and what to do.
struct Part {
    paths: &'static [&'static str],
    what: &'static str,
    remedy: &'static str,
}

/// What std on `wasm32-unknown-unknown` lacks.
const PARTS: &[Part] = &[
    Part {
        paths: &["std::fs::"],
        what: "files",
        remedy: "use `gpu_std::fs`, or build for wasm32-wasip1",
    },
    Part {
        // Not what begins with `_`, as the call by which std itself looks for RUST_BACKTRACE.
        paths: &["std::env::args", "std::env::vars", "std::env::var::"],
        what: "arguments and no environment",
        remedy: "use `gpu_std::env`, or build for wasm32-wasip1",
    },
    Part {
        paths: &["std::io::stdio::stdin", "std::io::stdio::Stdin::"],
        what: "standard input",
        remedy: "use `gpu_std::io`, or build for wasm32-wasip1",
    },
    CONNECTIONS,
    PORTS,
    Part {
        paths: &["std::sys::process::unsupported::Command::", "std::process::Command::"],
        what: "processes that it could start",
        remedy: "use `gpu_std::process::Command`, and `gpu-run batch --program`",
    },
    THREADS,
];

/// What std on `wasm32-wasip1` lacks and a program cannot do without: all else works there.
const WASI_PARTS: &[Part] = &[CONNECTIONS, PORTS];

const THREADS: Part = Part {
    paths: &["std::sys::thread::unsupported::Thread::new"],
    what: "threads that it could start",
    remedy: "use `gpu_std::thread`, whose threads are the device's, or build for wasm32-wasip1-threads",
};

const CONNECTIONS: Part = Part {
    paths: &["std::net::tcp::TcpStream::connect"],
    what: "connections that it could make",
    remedy: "use `gpu_std::net::TcpStream`, and allow the connection",
};

const PORTS: Part = Part {
    paths: &["std::net::tcp::TcpListener::bind", "std::net::udp::"],
    what: "ports that it could use, and neither has gpu-run",
    remedy: "see Limits in gpu-run's documentation",
};

/// Whether something in the module gets that answer, and nothing of WASI serves it. A std that unwinds always has it.
pub(super) fn platform(module: &Module<'_>) -> bool {
    let unwinds = !module.tags.is_empty() || !module.imported_tags.is_empty();
    let imports = |name| module.imports.iter().any(|import| import.module == name);
    let says = |bytes: &[u8]| memchr::memmem::find(bytes, UNSUPPORTED).is_some();
    !unwinds && !imports(wasi::MODULE) && !imports(wasi::NET_MODULE) && module.data.iter().any(|data| says(&data.bytes))
}

/// A warning for each part of which reachable code has a function; `wasi`: in a program for WASI.
pub(super) fn warnings(module: &Module<'_>, names: &Names, wasi: bool) -> Vec<String> {
    let (parts, target) = match wasi {
        true => (WASI_PARTS, "wasm32-wasip1"),
        false => (PARTS, "wasm32-unknown-unknown"),
    };
    let first = module.imported_funcs.len();
    let found = |part: &Part| -> Vec<u32> {
        let of_part = |name: &str| {
            // `read::<&str>` is `read::`; what begins with a type, such as a destructor, is no call.
            let path = name.split('<').next().unwrap_or_default();
            part.paths.iter().any(|start| path.starts_with(start))
        };
        let mut funcs: Vec<u32> = names.matching(of_part).map(|(_, func)| (first + func) as u32).collect();
        funcs.sort_unstable();
        funcs
    };
    // A crate that would start threads by std unless it is told how may have been told.
    let spawns = crate::thread_start::spawns(module);
    let left_out = |part: &&Part| spawns && part.paths == THREADS.paths;
    let parts = parts.iter().filter(|part| !left_out(part));
    let parts: Vec<(&Part, Vec<u32>)> = parts.map(|part| (part, found(part))).collect();
    if parts.iter().all(|(_, funcs)| funcs.is_empty()) {
        return Vec::new();
    }
    let graph = CallGraph::new(module);
    let reachable = graph.reachable(graph.roots().iter().copied());
    let warning = |(part, funcs): &(&Part, Vec<u32>)| {
        let func = funcs.iter().find(|func| reachable[**func as usize])?;
        let name = module.func_display_name(*func);
        let Part { what, remedy, .. } = part;
        Some(format!(
            "the program uses `{name}`: std on {target} has no {what}; {remedy}"
        ))
    };
    parts.iter().filter_map(warning).collect()
}
