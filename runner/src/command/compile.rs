//! `gpu-run compile`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism};
use std::time::Instant;

use bytesize::ByteSize;
use gpu_run::compile::{Ahead, parts, precompile};
use gpu_run::{BoxError, Config, Usage};

use crate::calls::grouped;
use crate::cli::CompileArgs;
use crate::report::{self, Outcome, Report};
use crate::{cache, entry, load};

/// The target that needs no assembler.
const PTX: &str = "ptx";

/// Compiles a module and writes it with its code.
pub fn compile(args: &CompileArgs) -> Outcome<ExitCode> {
    let functions = args.functions().ok_or_else(|| {
        Report::new("--compile none leaves nothing to do").help("`gpu-run translate` writes a program")
    })?;
    let assembler = assembler(args)?;
    let output = output(args)?;
    let mut config = Config::new();
    config
        .local_frames(args.tuning.local_frames.into())
        .reconverge(args.tuning.reconverge.into())
        .functions(functions);
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

/// Where the program goes.
fn output(args: &CompileArgs) -> Outcome<PathBuf> {
    match &args.output {
        Some(output) => Ok(output.clone()),
        None if load::is_stdin(&args.module) => {
            Err(Report::new("a module from stdin has no name").help("name the output with -o FILE"))
        }
        None => Ok(args.module.with_extension("gbc")),
    }
}

/// Bytes of PTX that one process assembles at least.
const PART: usize = 64 << 10;

/// Assembles PTX, in parts on all processors if CUDA's linker is beside ptxas and takes them.
fn assemble(ptxas: &Path, text: &str, target: &str) -> Result<Vec<u8>, BoxError> {
    let dir = tempfile::tempdir()?;
    let nvlink = ptxas.with_file_name(format!("nvlink{}", std::env::consts::EXE_SUFFIX));
    let is_named = ptxas.parent().is_some_and(|folder| folder != Path::new(""));
    if is_named
        && nvlink.is_file()
        && let Ok(object) = assemble_parts(ptxas, &nvlink, text, target, dir.path())
    {
        return Ok(object);
    }
    assemble_one(ptxas, text, target, &dir.path().join("program"))
}

/// Assembles PTX in parts, and links these to one object. Files go into `folder`.
fn assemble_parts(ptxas: &Path, nvlink: &Path, text: &str, target: &str, folder: &Path) -> Result<Vec<u8>, BoxError> {
    let processors = available_parallelism().map_or(1, usize::from);
    let texts = parts(text, (text.len() / (3 * processors)).max(PART));
    let place = |number| folder.join(format!("part{number}"));
    let next = Mutex::new(texts.iter().enumerate());
    let failed = Mutex::new(None);
    let work = || {
        while let Some((number, text)) = { next.lock().ok().and_then(|mut next| next.next()) } {
            if let (Err(error), Ok(mut failed)) = (assemble_one(ptxas, text, target, &place(number)), failed.lock()) {
                *failed = Some(error.to_string());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..processors {
            // Where there are no more threads, those that there are do it.
            _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error.into());
    }
    let object = folder.join("program.o");
    let mut link = Command::new(nvlink);
    link.arg("-r").arg(format!("-arch={target}"));
    link.args((0..texts.len()).map(|number| place(number).with_extension("o")));
    run(link.arg("-o").arg(&object), nvlink, target)?;
    Ok(std::fs::read(object)?)
}

/// Runs ptxas, with files of this name. A program of which it needs long is worth a file that it can read at its own pace.
fn assemble_one(ptxas: &Path, text: &str, target: &str, name: &Path) -> Result<Vec<u8>, BoxError> {
    let (input, object) = (name.with_extension("ptx"), name.with_extension("o"));
    std::fs::write(&input, text)?;
    let mut command = Command::new(ptxas);
    command.args(["-c", "-O3", &format!("-arch={target}")]);
    run(command.arg(&input).arg("-o").arg(&object), ptxas, target)?;
    Ok(std::fs::read(object)?)
}

/// Runs one of CUDA's tools to its end.
fn run(command: &mut Command, tool: &Path, target: &str) -> Result<(), BoxError> {
    let tool = tool.display();
    let output = command
        .output()
        .map_err(|error| format!("cannot start {tool}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{tool} failed for {target} ({}): {}", output.status, said.trim()).into())
        }
    }
}
