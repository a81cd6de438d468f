//! Which engine runs a program, and its compilation, which may go on behind the run.

use std::io::Write;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use gpu_run_bytecode::{ExternKind, Program};
use gpu_run_vm::Target;
use gpu_run_vm::cuda::cache::{Cache, Key};
use gpu_run_vm::cuda::code::{self, CODE_START, Code, CompileRequest, Origin, options, options_of_linked};
use gpu_run_vm::ptx::{Options, Unit};
use gpu_run_vm::{DeviceResult, Instantiated, Store, threads_may_wait};

use crate::cache;
use crate::calls::grouped;
use crate::cli::{Engine, ReportFormat, RunArgs};
use crate::report::{self, Outcome, Report, code as exit_code, warn};
use crate::{log, output};

/// Longest time that `--engine auto` expects the compiler to take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What compiling takes, as measured with driver 580 beside an H200: starting the driver's compiler, and
/// a word of bytecode on one processor. On 16 processors, a word took a third of it.
const START_TIME: Duration = Duration::from_millis(200);
const WORD_TIME: Duration = Duration::from_micros(320);
const MOST_SPEEDUP: usize = 3;

/// Prefix of the symbols of a program that is alone.
const PREFIX: &str = "i0_";

/// The choice for a run.
pub struct Choice {
    /// The program's code; without it, the program is interpreted.
    pub code: Option<Code>,
    /// Time that the run waited for the compiler.
    pub waited: Duration,
}

/// The time that compiling a program is expected to take.
fn estimate(words: usize, processors: usize) -> Duration {
    START_TIME + WORD_TIME * words as u32 / (processors / 2).clamp(1, MOST_SPEEDUP) as u32
}

/// The functions that a program can be entered by: what it exports, and its start function.
fn entries(program: &Program) -> Vec<u32> {
    let exports = program.meta.exports.iter();
    let functions = exports.filter(|export| export.kind == ExternKind::Func);
    let mut entries: Vec<u32> = functions.map(|export| export.index).collect();
    entries.extend(program.meta.start);
    tidy(program, entries)
}

/// Function indices in order, each once, imports left out: another instance has their code.
fn tidy(program: &Program, mut entries: Vec<u32>) -> Vec<u32> {
    entries.sort_unstable();
    entries.dedup();
    entries.retain(|index| *index >= program.meta.imported_funcs());
    entries
}

/// What is compiled of a program that is looked at, not run: all that it can be entered by, on `threads`
/// threads.
pub fn whole(program: &Program, threads: u32) -> Unit<'_> {
    Unit {
        program,
        prefix: PREFIX.into(),
        code_start: CODE_START,
        entries: entries(program),
        options: Options {
            comments: true,
            ..options(program, threads, u32::MAX)
        },
    }
}

/// What a run compiles: the program's start function and the export that is called.
fn request(args: &RunArgs, store: &Store, program: &Arc<Program>, export: &str) -> Option<CompileRequest> {
    let export = program.meta.export(export)?;
    let entries = [Some(export.index), program.meta.start];
    Some(CompileRequest {
        program: program.clone(),
        prefix: PREFIX.into(),
        code_start: store.next_code_start(),
        entries: tidy(program, entries.into_iter().flatten().collect()),
        options: options(program, args.threads(), args.max_call_depth),
        target: store.target()?,
    })
}

/// Code of all the instances that a store will have, in their order and linked together, from the cache or
/// compiled now. Each is entered by its start function and those that it was asked for.
///
/// # Errors
///
/// The driver's.
pub fn linked(target: &Target, instances: &[Instantiated], cache: Option<&Cache>) -> DeviceResult<Vec<Code>> {
    let options = options_of_linked(instances.iter().map(|instance| &*instance.program));
    let request = |(i, instance): (usize, &Instantiated)| CompileRequest {
        program: instance.program.clone(),
        prefix: format!("i{i}_"),
        code_start: instance.code_start,
        entries: {
            let start = instance.program.meta.start.into_iter();
            tidy(
                &instance.program,
                start.chain(instance.functions.iter().copied()).collect(),
            )
        },
        options,
        target: target.clone(),
    };
    let requests: Vec<CompileRequest> = instances.iter().enumerate().map(request).collect();
    let Some(cache) = cache else {
        return code::build(&requests, None);
    };
    let key = code::key_of(&requests);
    match code::cached(&requests, cache, key) {
        Some(codes) => Ok(codes),
        None => code::build(&requests, Some((cache, key))),
    }
}

/// The program's code from the cache. What `load` does not take is removed, as damaged code is.
fn from_cache(
    request: &CompileRequest,
    cache: &Cache,
    key: Key,
    load: impl FnOnce(&Code) -> DeviceResult<()>,
) -> Option<Code> {
    let code = request.cached(cache, key)?;
    match load(&code) {
        Ok(()) => Some(code),
        Err(error) => {
            warn(&format!(
                "the program's code in the cache could not be loaded, and was removed: {error}"
            ));
            cache.remove(key);
            None
        }
    }
}

/// Chooses how to run `export` of a program, and compiles it if that is how.
///
/// # Errors
///
/// `--engine ptx` where it cannot be; the interrupt, while the compiler is waited for.
pub fn choose(
    args: &RunArgs,
    store: &mut Store,
    program: &Arc<Program>,
    export: &str,
    interrupt: &AtomicBool,
) -> Outcome<Choice> {
    let say = |what: &str| tracing::info!("{what}");
    let interpreter = |why: &str| {
        say(&format!("engine: interpreter ({why})"));
        Ok(Choice {
            code: None,
            waited: Duration::ZERO,
        })
    };
    let forced = match args.device.engine {
        Engine::Interp => return interpreter("as asked"),
        Engine::Ptx => true,
        Engine::Auto => false,
    };
    let Some(request) = request(args, store, program, export) else {
        return interpreter("the device runs nothing else");
    };
    if threads_may_wait(program) && args.threads() > request.target.lanes_at_least() {
        if !forced {
            return interpreter("there are more threads than lanes, and they may wait for each other");
        }
        warn("threads that wait for each other may wait forever: there are more than the PTX engine runs at once");
    }
    let cache = cache::open()?;
    let key = request.key();
    let load = |code: &Code| store.preload(code);
    if let Some(code) = cache.as_ref().and_then(|cache| from_cache(&request, cache, key, load)) {
        say(&format!(
            "engine: PTX, from the cache ({})",
            ByteSize(code.cubin.len() as u64)
        ));
        return Ok(Choice {
            code: Some(code),
            waited: Duration::ZERO,
        });
    }
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let expected = estimate(request.words(), processors);
    if !forced && expected > PATIENCE {
        let why = slow_compiler(request.words(), expected);
        // A kernel is there to be fast. Of a program -v says it.
        if args.threads() > 1 && args.report == ReportFormat::Text && !log::is_quiet() {
            note!("note: the kernel is interpreted: {why}, and keeps the code for the next run");
        }
        return interpreter(&why);
    }
    let begin = Instant::now();
    let built = build(request, cache.map(|cache| (cache, key)), args.compile_time, interrupt)?;
    let waited = begin.elapsed();
    let loaded = built.map(|built| built.and_then(|code| store.preload(&code).map(|()| code)));
    let code = match loaded {
        None => {
            let limit = humantime::format_duration(args.compile_time);
            warn(&format!(
                "the program is interpreted, because its compiler was not ready after {limit}; wait longer with --compile-time"
            ));
            None
        }
        Some(Ok(code)) => {
            say(&format!("engine: PTX, {}", told(&code)));
            Some(code)
        }
        Some(Err(error)) if forced => return Err(report::device(&error)),
        Some(Err(error)) => {
            warn(&format!(
                "the program is interpreted, because it could not be compiled or loaded: {error}"
            ));
            None
        }
    };
    Ok(Choice { code, waited })
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

/// Set while a compiler is at work, which may go on when nobody waits for it any more.
static COMPILING: AtomicBool = AtomicBool::new(false);

fn compiling() -> bool {
    // Acquire: pairs with the release when the compiler's thread is done with the driver.
    COMPILING.load(Ordering::Acquire)
}

/// A run's store. It is not taken down while the driver still compiles.
pub struct Held(ManuallyDrop<Store>);

impl Held {
    pub fn new(store: Store) -> Held {
        Held(ManuallyDrop::new(store))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !compiling() {
            // SAFETY: dropped here only, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Deref for Held {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.0
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.0
    }
}

/// The end of the process. While the driver still compiles, it must end without the cleaning up that
/// libraries do at exit: the driver's takes away what its compiler works on, and crashes.
pub fn leave(code: ExitCode) -> ExitCode {
    if compiling() {
        leave_at_once(number(code));
    }
    code
}

/// The end of the process, whatever its other threads are doing.
pub fn leave_at_once(code: u8) -> ! {
    _ = output::stdout().flush();
    _ = output::stderr().flush();
    signal_hook::low_level::exit(code.into())
}

/// The number of an exit code.
pub fn number(code: ExitCode) -> u8 {
    let found = (0..=u8::MAX).find(|number| ExitCode::from(*number) == code);
    // An exit code is one of these.
    found.unwrap_or(u8::MAX)
}

/// Compiles on a thread of its own. `None` if it is not ready after `limit`: it goes on, and fills the
/// cache if the process lives so long.
fn build(
    request: CompileRequest,
    cache: Option<(Cache, Key)>,
    limit: Duration,
    interrupt: &AtomicBool,
) -> Outcome<Option<DeviceResult<Code>>> {
    let (sender, receiver) = channel();
    COMPILING.store(true, Ordering::Release);
    let work = move || {
        let built = request.build(cache.as_ref().map(|(cache, key)| (cache, *key)));
        // Nobody receives it when the limit is over.
        _ = sender.send(built);
        // Release: pairs with the acquire in `compiling`, as the driver is not used any more.
        COMPILING.store(false, Ordering::Release);
    };
    let spawned = std::thread::Builder::new().name("compiler".into()).spawn(work);
    spawned.map_err(|error| Report::new(format!("cannot start a thread for the compiler: {error}")))?;
    let begin = Instant::now();
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        match receiver.recv_timeout(left.min(Duration::from_millis(50))) {
            Ok(built) => return Ok(Some(built)),
            Err(RecvTimeoutError::Disconnected) => return Err(Report::new("the compiler ended without a result")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt.load(Ordering::Relaxed) {
            return Err(Report::new("interrupted").code(exit_code::INTERRUPTED));
        }
        if begin.elapsed() >= limit {
            return Ok(None);
        }
    }
}

impl Choice {
    /// Whether the code was in the cache.
    pub fn is_cached(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.origin == Origin::Cache)
    }
}

#[cfg(test)]
mod tests {
    use gpu_run_vm::DeviceError;

    use super::*;

    #[test]
    fn code_that_cannot_be_loaded_leaves_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let request = CompileRequest {
            program: Arc::default(),
            prefix: PREFIX.into(),
            code_start: CODE_START,
            entries: Vec::new(),
            options: Options::default(),
            target: Target {
                ordinal: 0,
                compute_capability: (9, 0),
                multiprocessors: 132,
                driver: "13000".into(),
                format: gpu_run_vm::CodeFormat::Cubin,
            },
        };
        let key = request.key();
        let unavailable = |_: &Code| {
            Err(DeviceError::Unavailable {
                what: "no image".into(),
            })
        };
        assert!(from_cache(&request, &cache, key, |_| Ok(())).is_none());
        cache.save(key, &[1, 2, 0]).unwrap();
        assert!(from_cache(&request, &cache, key, |_| Ok(())).is_some());
        assert!(from_cache(&request, &cache, key, unavailable).is_none());
        assert!(!cache.contains(key));
    }

    #[test]
    fn a_slow_compiler_is_told_with_what_to_do() {
        assert_eq!(
            slow_compiler(41_230, estimate(41_230, 16)),
            "41,230 words of bytecode would take about 4.6 s to compile; --engine ptx does it"
        );
    }

    /// Programs of the fixtures as compiled on 16 processors, and one of them on one.
    #[test]
    fn the_estimate_is_near_what_was_measured() {
        for (words, processors, milliseconds) in [
            (2853, 16, 313),
            (5860, 16, 858),
            (8414, 16, 1157),
            (17432, 16, 1556),
            (8414, 1, 3178),
        ] {
            let estimate = estimate(words, processors).as_millis() as f64 / milliseconds as f64;
            assert!((0.8..1.7).contains(&estimate), "{words} words: {estimate}");
        }
    }
}
