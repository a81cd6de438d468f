//! `gpu-run compile`.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use bytesize::ByteSize;
use gpu_run::compile::{Ahead, precompile};
use gpu_run::{BoxError, Config, Usage};

use crate::calls::grouped;
use crate::cli::CompileArgs;
use crate::report::{self, Outcome, Report};
use crate::{cache, engine, entry, load};

/// The target that needs no assembler.
const PTX: &str = "ptx";

/// Compiles a module and writes it with its code.
pub fn compile(args: &CompileArgs) -> Outcome<ExitCode> {
    let functions = args.functions().ok_or_else(|| {
        Report::new("--compile none leaves nothing to do").help("`gpu-run translate` writes a program")
    })?;
    let assembler = assembler(args)?;
    let output = load::output(args.output.as_deref(), &args.module)?;
    let mut config = Config::new();
    config.functions(functions);
    engine::tune(&mut config, &args.tuning);
    match cache::open()? {
        Some(cache) => config.cache_folder(cache.folder()),
        None => config.no_cache(),
    };
    let failed = |error: gpu_run::Error| report::library(&error, &args.module);
    let engine = gpu_run::Engine::new(&config).map_err(failed)?;
    let module = load::load(&engine, &args.module, &load::options(&args.passes))?.module;
    let ahead = Ahead {
        usage: Usage {
            exports: Some(entry::exports(module.program(), &args.invoke, &args.module)?),
            threads: Some(args.threads),
            ..Usage::default()
        },
        call_depth: args.max_call_depth,
        targets: args.target.clone(),
    };
    let begin = Instant::now();
    let compiled = precompile(&engine, &module, &ahead, |text, target| {
        assemble(assembler, text, target)
    });
    let compiled = compiled.map_err(|error| match error {
        gpu_run::Error::NeverRan => failed(error).help("run it once with --compile hot, on any device"),
        error => failed(error),
    })?;
    let write = |error| Report::new(format!("cannot write: {error}")).at(output.display().to_string());
    std::fs::write(&output, &compiled.bytes).map_err(write)?;
    let sizes = args.target.iter().zip(&compiled.sizes);
    let sizes: Vec<String> = sizes
        .map(|(target, size)| format!("{target} {}", ByteSize(*size as u64)))
        .collect();
    note!(
        "{}: {} words of bytecode compiled in {:.1} s ({}); `gpu-run --allow-precompiled` takes the code",
        output.display(),
        grouped(compiled.words as u64),
        begin.elapsed().as_secs_f64(),
        sizes.join(", ")
    );
    Ok(ExitCode::SUCCESS)
}

/// The assembler, where a target needs one.
fn assembler(args: &CompileArgs) -> Outcome<&Path> {
    let needs = args.target.iter().find(|target| *target != PTX);
    match (needs, &args.ptxas) {
        (Some(target), None) => Err(Report::new(format!("machine code for {target} needs an assembler"))
            .help("name ptxas with --ptxas: it is in CUDA's toolkit, and in the package nvidia-cuda-nvcc of PyPI")),
        (_, path) => Ok(path.as_deref().unwrap_or(Path::new(""))),
    }
}

/// Runs ptxas. A program of which it needs long is worth a file that it can read at its own pace.
fn assemble(ptxas: &Path, text: &str, target: &str) -> Result<Vec<u8>, BoxError> {
    let dir = tempfile::tempdir()?;
    let (input, object) = (dir.path().join("program.ptx"), dir.path().join("program.o"));
    std::fs::write(&input, text)?;
    let mut command = Command::new(ptxas);
    command
        .args(["-c", "-O3", &format!("-arch={target}")])
        .arg(&input)
        .arg("-o")
        .arg(&object);
    let output = command
        .output()
        .map_err(|error| format!("cannot start {}: {error}", ptxas.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} failed for {target} ({}): {}",
            ptxas.display(),
            output.status,
            said.trim()
        )
        .into());
    }
    Ok(std::fs::read(object)?)
}
