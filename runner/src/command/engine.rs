//! Which engine runs the program, as its user is told.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use bytesize::ByteSize;
use gpu_run::compile::{Choice, Reason};
use gpu_run::{Config, Strategy, exit};
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::cuda::code::{Code, Origin};

use crate::calls::grouped;
use crate::cli::{Engine, ReportFormat, RunArgs, TuningArgs};
use crate::report::{self, Outcome, Report, warn};
use crate::{cache, log, output, progress};

/// The library's name of an engine.
pub fn strategy(engine: Engine) -> Strategy {
    match engine {
        Engine::Auto => Strategy::Auto,
        Engine::Interp => Strategy::Interpreter,
        Engine::Ptx => Strategy::Ptx,
    }
}

/// The library's engine for the options. The device is opened apart, because it may decide how many threads there are.
pub fn of(args: &RunArgs) -> Outcome<gpu_run::Engine> {
    let strategy = match args.device.engine {
        Engine::Ptx if args.compiles_nothing() => {
            return Err(
                Report::new("--engine ptx has nothing to run with --compile none").help("leave one of them out")
            );
        }
        _ if args.compiles_nothing() => Strategy::Interpreter,
        engine => strategy(engine),
    };
    // What is wrong with the cache: see `check_cache`.
    let cache = cache::open().ok().flatten();
    let mut config = config(strategy, &args.tuning, args.compile_time, cache);
    config
        .line_info(args.profile.line_info)
        .functions(args.functions())
        .hot_after(args.hot_after);
    gpu_run::Engine::new(&config).map_err(|error| report::library(&error, args.module()))
}

/// Sets what was chosen about compiled code.
pub fn tune(config: &mut Config, tuning: &TuningArgs) {
    config
        .local_frames(tuning.local_frames.into())
        .reconverge(tuning.reconverge.into())
        .region_words(tuning.region_words);
}

/// What engines are made with by all commands that run a program.
pub fn config(strategy: Strategy, tuning: &TuningArgs, compile_time: Duration, cache: Option<Cache>) -> Config {
    let mut config = Config::new();
    config.strategy(strategy).compile_timeout(compile_time);
    tune(&mut config, tuning);
    if let Some(tell) = progress::of_compiler() {
        config.on_compile(tell);
    }
    match cache {
        Some(cache) => config.cache_folder(cache.folder()).cache_size(cache.limit()),
        None => config.no_cache(),
    };
    config
}

/// Checks what the environment says of the cache, which only matters where programs are compiled.
///
/// # Errors
///
/// It makes no sense.
pub fn check_cache(args: &RunArgs) -> Outcome<()> {
    match args.device.engine {
        Engine::Interp => Ok(()),
        _ => cache::open().map(drop),
    }
}

/// Tells the user what was chosen.
pub fn tell(args: &RunArgs, choice: &Choice) {
    if choice.may_hang {
        warn("threads that wait for each other may wait forever: there are more than the PTX engine runs at once");
    }
    if let Some(error) = &choice.damaged {
        warn(&format!(
            "the program's code in the cache could not be loaded, and was removed: {error}"
        ));
    }
    let interpreter = |why: &str| tracing::info!("engine: interpreter ({why})");
    match &choice.code {
        Ok(code) => {
            let mixed = if code.mixed { "; cold code is interpreted" } else { "" };
            tracing::info!("engine: PTX, {}{mixed}", told(code));
        }
        Err(Reason::Asked) => interpreter("as asked"),
        Err(Reason::Unknown) => interpreter("a first run shows what to compile"),
        Err(Reason::Meanwhile) => interpreter("until what runs often is compiled"),
        Err(Reason::Waiting) => interpreter("there are more threads than lanes, and they may wait for each other"),
        Err(Reason::Slow { words, expected }) => {
            let why = slow_compiler(*words, *expected);
            // A kernel is there to be fast. Of a program -v says it.
            if args.threads() > 1 && args.report == ReportFormat::Text && !log::is_quiet() {
                note!("note: the kernel is interpreted: {why}, and keeps the code for the next run");
            }
            interpreter(&why);
        }
        Err(Reason::Late { limit }) => {
            let limit = humantime::format_duration(*limit);
            warn(&format!(
                "the program is interpreted, because its compiler was not ready after {limit}; wait longer with --compile-time"
            ));
        }
        Err(Reason::Failed(error)) => warn(&format!(
            "the program is interpreted, because it could not be compiled or loaded: {error}"
        )),
        Err(_) => interpreter("the device runs nothing else"),
    }
}

/// Tells the user what was chosen for a batch.
pub fn tell_batch(choice: &Choice) {
    match &choice.code {
        Ok(code) => tracing::info!("engine: PTX, {}", told(code)),
        Err(Reason::Device | Reason::Asked) => tracing::info!("engine: interpreter"),
        Err(Reason::Slow { words, expected }) => warn(&format!(
            "processes are interpreted: {}",
            slow_compiler(*words, *expected)
        )),
        Err(Reason::Late { limit }) => warn(&format!(
            "processes are interpreted, because the compiler was not ready after {}; wait longer with --compile-time",
            humantime::format_duration(*limit)
        )),
        Err(Reason::Failed(error)) => warn(&format!(
            "processes are interpreted, because the program could not be compiled or loaded: {error}"
        )),
        Err(_) => tracing::info!("engine: interpreter"),
    }
}

/// Why a program is not compiled, and what does it.
fn slow_compiler(words: usize, expected: Duration) -> String {
    format!(
        "{} words of bytecode would take about {:.1} s to compile; --engine ptx does it",
        grouped(words as u64),
        expected.as_secs_f64()
    )
}

/// How code was made, for people.
fn told(code: &Code) -> String {
    let size = ByteSize(code.cubin.len() as u64);
    match &code.origin {
        Origin::Cache => format!("from the cache ({size})"),
        Origin::Ahead { link } => format!(
            "compiled before and linked to {size} in {:.1} ms",
            link.as_secs_f64() * 1e3
        ),
        Origin::Compiler {
            generate,
            link,
            ptx,
            split,
            unsaved,
        } => {
            let threads = if *split { "several threads" } else { "one thread" };
            let kept = unsaved
                .as_ref()
                .map_or_else(String::new, |why| format!("; not kept in the cache: {why}"));
            format!(
                "{} made in {:.1} ms and compiled to {size} in {:.1} ms on {threads}{kept}",
                ByteSize(*ptx as u64),
                generate.as_secs_f64() * 1e3,
                link.as_secs_f64() * 1e3,
            )
        }
    }
}

/// The end of the process, which does not wait for a compiler that goes on.
pub fn leave(code: ExitCode) -> ExitCode {
    if exit::is_compiling() {
        leave_at_once(report::number(code));
    }
    code
}

/// The end of the process, whatever its other threads are doing.
pub fn leave_at_once(code: u8) -> ! {
    _ = output::stdout().flush();
    _ = output::stderr().flush();
    exit::leave_at_once(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_compiler_is_told_with_what_to_do() {
        assert_eq!(
            slow_compiler(41_230, Duration::from_millis(4_600)),
            "41,230 words of bytecode would take about 4.6 s to compile; --engine ptx does it"
        );
    }
}
