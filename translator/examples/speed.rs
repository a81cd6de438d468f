//! Measures translation: MB/s of each stage, on one thread, and the peak of memory.
//!
//! `speed FILE [RUNS]` prints the best of RUNS translations (5 by default), for each stage by itself.
//! It prints wall time, and on Linux the time that the thread was on a core, which other load disturbs
//! less. The peak, also of Linux, is that of the process after the first translation, the file's bytes
//! and the program included.

use std::process::ExitCode;
use std::time::Duration;

use gpu_run_translator::{Options, Times, translate};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(path) = args.next() else {
        eprintln!("usage: speed FILE [RUNS]");
        return ExitCode::FAILURE;
    };
    let runs = args.next().map_or(Ok(5), |runs| runs.parse::<u32>());
    match runs
        .map_err(|error| format!("RUNS: {error}"))
        .and_then(|runs| measure(&path, runs))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(path: &str, runs: u32) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let options = Options::full();
    let first = translate(&bytes, &options).map_err(|error| error.to_string())?;
    let peak = peak_bytes();
    println!(
        "module {:.2} MB, {} functions, {} words of code",
        mega(bytes.len()),
        first.program.meta.functions.len(),
        first.program.code.len()
    );
    let mut best = first.times;
    drop(first);
    let mut on_core: Option<Duration> = None;
    for _ in 1..runs {
        let begin = thread_time();
        let translation = translate(&bytes, &options).map_err(|error| error.to_string())?;
        if let (Some(begin), Some(end)) = (begin, thread_time()) {
            let time = end.saturating_sub(begin);
            on_core = Some(on_core.map_or(time, |best| best.min(time)));
        }
        best = shortest(best, translation.times);
    }
    let stages = [
        ("parse", best.parse),
        ("rewrite", best.rewrite),
        ("inline", best.inline),
        ("lower", best.lower),
        ("verify", best.verify),
        ("total", best.total()),
    ];
    for (name, time) in stages.into_iter().chain(on_core.map(|time| ("on core", time))) {
        let time = time.as_secs_f64();
        println!("{name:8} {:9.2} ms {:9.1} MB/s", time * 1e3, mega(bytes.len()) / time);
    }
    if let Some(peak) = peak {
        println!(
            "peak     {:9.2} MB, {:.1} times the module",
            mega(peak),
            peak as f64 / bytes.len() as f64
        );
    }
    Ok(())
}

/// The shorter time of each stage.
fn shortest(a: Times, b: Times) -> Times {
    Times {
        parse: a.parse.min(b.parse),
        rewrite: a.rewrite.min(b.rewrite),
        inline: a.inline.min(b.inline),
        lower: a.lower.min(b.lower),
        lines: a.lines.min(b.lines),
        verify: a.verify.min(b.verify),
    }
}

fn mega(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Time that this thread has been on a core; `None` where the system does not say.
fn thread_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = stat.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// The most memory that the process has had in use; `None` where the system does not say.
fn peak_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
