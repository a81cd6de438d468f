//! Compiles the kernel source for the host, and hashes the sources of the PTX compiler: the cache of
//! compiled programs must not outlive the compiler that made them.
//!
//! `GPU_RUN_SANITIZE` names sanitizers to build it with, as `-fsanitize=` takes them. If clang links
//! the result, it needs `-fsanitize` too: see `tests/sanitize.sh`.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=kernel");
    hash_compiler();
    println!("cargo::rerun-if-env-changed=GPU_RUN_SANITIZE");
    println!("cargo::rerun-if-env-changed=GPU_RUN_WRITE_LAYOUT");
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .file("kernel/kernel.cpp")
        // Headers are included by their path from the kernel's root.
        .include("kernel")
        // Floats are wasm's: no contraction, and no errno that would make sqrt a call.
        .flag("-ffp-contract=off")
        .flag("-fno-math-errno")
        // Guest memory is accessed at many types.
        .flag("-fno-strict-aliasing")
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        // The interpreter's loop is a sixth slower where it lies badly, which any change elsewhere could bring about.
        .flag_if_supported("-falign-functions=64")
        .warnings(true)
        .extra_warnings(true)
        // An interpreter without optimization is of no use, in debug builds too.
        .opt_level(2);
    if std::env::var_os("GPU_RUN_WRITE_LAYOUT").is_some() {
        // The header of assertions is about to be written anew: see `src/layout/check.rs`.
        build.define("GPU_RUN_LAYOUT_UNCHECKED", None);
    }
    let sanitizers = std::env::var("GPU_RUN_SANITIZE").unwrap_or_default();
    println!("cargo::rustc-check-cfg=cfg(gpu_run_tsan)");
    if sanitizers.split(',').any(|name| name == "thread") {
        println!("cargo::rustc-cfg=gpu_run_tsan");
    }
    if !sanitizers.is_empty() {
        build
            .flag(format!("-fsanitize={sanitizers}"))
            // A finding ends the process, so that no test can pass over it.
            .flag("-fno-sanitize-recover=all")
            // Reports name functions and lines.
            .flag("-fno-omit-frame-pointer")
            .debug(true);
    }
    build.compile("gpu_run_kernel");
    let compiler = build.get_compiler();
    if compiler.is_like_gnu() {
        sanitizers.split(',').for_each(|name| link_runtime(&compiler, name));
    }
}

/// Links the runtime library of a gcc sanitizer. It must come right after the kernel: rustc calls the
/// linker with `-nodefaultlibs`, with which gcc links none. AddressSanitizer must come before the C
/// library. clang adds its own when it is the linker and has `-fsanitize`.
fn link_runtime(compiler: &cc::Tool, sanitizer: &str) {
    let library = match sanitizer {
        "address" => "asan",
        "undefined" => "ubsan",
        "thread" => "tsan",
        _ => return,
    };
    let file = format!("-print-file-name=lib{library}.so");
    let output = compiler.to_command().arg(file).output();
    let path = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if let Some(folder) = path
        .ok()
        .as_deref()
        .and_then(|path| std::path::Path::new(path).parent())
    {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    println!("cargo::rustc-link-lib=dylib={library}");
}

/// Sets `GPU_RUN_COMPILER`, for `env!`, to a hash of what decides the PTX of a program.
fn hash_compiler() {
    let mut hasher = DefaultHasher::new();
    hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
    // The instruction set stands beside this crate in the repository; elsewhere the version tells it.
    for part in [
        "src/ptx.rs",
        "src/ptx",
        "src/cuda/attributes.rs",
        "src/cuda/barriers.rs",
        "src/cuda/code.rs",
        "src/cuda/descriptors.rs",
        "src/cuda/functions.rs",
        "src/cuda/link",
        "src/cuda/link.rs",
        "src/cuda/machine_code.rs",
        "src/cuda/machine_edit.rs",
        "src/cuda/machine_loops.rs",
        "src/cuda/opcodes.rs",
        "src/cuda/stalls.rs",
        "src/layout.rs",
        "kernel/generated",
        "../bytecode/src",
    ] {
        if Path::new(part).exists() {
            println!("cargo::rerun-if-changed={part}");
            hash_into(&mut hasher, Path::new(part));
        }
    }
    println!("cargo::rustc-env=GPU_RUN_COMPILER={:016x}", hasher.finish());
}

/// Adds a file, or the files of a folder in the order of their names.
fn hash_into(hasher: &mut DefaultHasher, path: &Path) {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            paths.iter().for_each(|path| hash_into(hasher, path));
        }
        Err(_) => {
            hasher.write(path.to_string_lossy().as_bytes());
            hasher.write(&std::fs::read(path).unwrap_or_default());
        }
    }
}
