//! `gpu-run inspect`.

mod calls;

use std::fmt::Write;
use std::process::ExitCode;

use gpu_run_bytecode::{Op, wasi};
use gpu_run_translator::rewrite::{LACKS_PLATFORM, RewriteOptions, Status, rewrite};
use gpu_run_translator::{Error, GPU_MODULE, Module, Options, check_recursion, shared_std};
use wasmparser::TypeRef;

use crate::cli::InspectArgs;
use crate::report::{self, Outcome};
use crate::translate;

/// Prints what a module holds.
pub fn inspect(args: &InspectArgs) -> Outcome<ExitCode> {
    let file = translate::read(&args.module)?;
    let bytes = translate::wasm(&args.module, &file)?;
    let module = Module::parse(&bytes).map_err(|error| report::translation(&args.module, &Error::from(error)))?;
    let mut text = String::new();
    declarations(&mut text, &module);
    calls::show(&mut text, &bytes, &module);
    let options = RewriteOptions {
        refuse_folded: false,
        ..RewriteOptions::default()
    };
    let mut rewritten = module.clone();
    match rewrite(&mut rewritten, &options) {
        Ok(rewrites) => {
            _ = writeln!(text, "\nstd patterns:");
            for pattern in &rewrites.patterns {
                let found = pattern.found.join(", ");
                _ = match &pattern.status {
                    Status::Found => writeln!(text, "  {:<24} found: {found}", pattern.pattern),
                    Status::Absent => writeln!(text, "  {:<24} absent", pattern.pattern),
                    Status::RolledBack(reason) => {
                        writeln!(text, "  {:<24} left alone: {reason} ({found})", pattern.pattern)
                    }
                };
            }
            // With a shared memory they are made for threads.
            let mut memories = module.imported_memories.iter().chain(&module.memories);
            if !memories.any(|memory| memory.shared) {
                let shared = shared_std(&rewritten, &[]);
                let shared = if shared.is_empty() {
                    "none".to_owned()
                } else {
                    shared.join(", ")
                };
                _ = writeln!(
                    text,
                    "\nlocks and thread-locals of std, which a kernel's threads would share: {shared}"
                );
            }
            for warning in &rewrites.warnings {
                _ = writeln!(text, "  warning: {warning}");
            }
            if rewrites.lacks_platform {
                _ = writeln!(text, "\nwhat std may lack: {LACKS_PLATFORM}");
            }
        }
        Err(error) => _ = writeln!(text, "\nstd patterns: {error}"),
    }
    // What a run would refuse.
    let unknown = module
        .imports
        .iter()
        .find(|import| matches!(import.ty, TypeRef::Func(_)) && served(import.module, import.name).is_none());
    if let Err(error) = gpu_run_translator::translate(&bytes, &Options::full()) {
        _ = writeln!(text, "\nwill not run: {error}");
    } else if let Some(import) = unknown {
        _ = writeln!(
            text,
            "\nwill not run: unknown import `{}.{}`",
            import.module, import.name
        );
    }
    translate::write_stdout(text.as_bytes())?;
    if args.deny_recursion {
        check_recursion(&rewritten).map_err(|error| report::recursion(&args.module, &error))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Who serves an imported function, if anybody does.
fn served(module: &str, name: &str) -> Option<&'static str> {
    match module {
        GPU_MODULE => Op::gpu_op(name).map(|_| "GPU opcode"),
        wasi::NET_MODULE => {
            wasi::Function::by_import(module, name).map(|_| "network, served by the host: see --allow-net")
        }
        _ => wasi::Function::by_import(module, name).map(|function| match function.info().place {
            wasi::Place::Device => "WASI, served on the device",
            wasi::Place::Host => "WASI, served by the host",
        }),
    }
}

fn declarations(out: &mut String, module: &Module<'_>) {
    let producers: Vec<_> = module
        .producers
        .iter()
        .map(|(_, name, version)| format!("{name} {version}"))
        .collect();
    _ = writeln!(
        out,
        "made by: {}",
        if producers.is_empty() {
            "unknown".into()
        } else {
            producers.join(", ")
        }
    );
    _ = writeln!(
        out,
        "functions: {} defined, {} imported; names: {}",
        module.funcs.len(),
        module.imported_funcs.len(),
        if module.has_names { "yes" } else { "no" }
    );
    _ = writeln!(out, "\nimports:");
    if module.imports.is_empty() {
        _ = writeln!(out, "  none");
    }
    for import in &module.imports {
        let served = served(import.module, import.name);
        _ = writeln!(
            out,
            "  {}.{}{}",
            import.module,
            import.name,
            served.map_or_else(String::new, |by| format!(" ({by})"))
        );
    }
    _ = writeln!(out, "\nexports:");
    for export in &module.exports {
        _ = writeln!(out, "  {:?} {}", export.kind, export.name);
    }
    _ = writeln!(out, "\nmemory:");
    for memory in module.imported_memories.iter().chain(&module.memories) {
        let most = memory.maximum.map_or_else(
            || "no maximum declared".to_owned(),
            |max| format!("at most {max} pages"),
        );
        let shared = if memory.shared { ", shared" } else { "" };
        _ = writeln!(out, "  {} pages of 64 KiB at the start, {most}{shared}", memory.initial);
    }
}
