//! Which engine runs a program, and its compilation, which may go on after the run has begun.

mod estimate;
mod functions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use gpu_run_bytecode::{ExternKind, NativeCode, Program, encode_with};
use gpu_run_vm::cuda::cache::{Cache, Key};
use gpu_run_vm::cuda::code::{
    self, CODE_START, Code, CompileRequest, Origin, Surroundings, options, options_of_linked,
};
use gpu_run_vm::cuda::link::Progress;
use gpu_run_vm::cuda::{ahead, barriers};
use gpu_run_vm::ptx::{Blocks, Options, Tuning, Unit, reachable};
use gpu_run_vm::{
    CodeFormat, Counted, DeviceError, DeviceResult, FRAME_MEMORY, Instantiated, Store, Target, threads_may_wait,
};

pub use estimate::Compiling;
pub use functions::Functions;

use super::config::{Strategy, Told};
use super::engine::Engine;
use super::error::{BoxError, Error};
use super::exit::Working;
use super::module::Module;
use super::store::Usage;
use super::tiers::{self, Later};

/// Longest time that [`Strategy::Auto`] expects the compiler to take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Prefix of the symbols of a program that is alone.
const PREFIX: &str = "i0_";

/// Why a program is interpreted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It was asked for.
    Asked,
    /// The device runs nothing else.
    Device,
    /// Code is to be compiled that has run often before, and none has.
    Unknown,
    /// Only at first: what runs often is compiled meanwhile, and the run goes on in that.
    Meanwhile,
    /// There are more threads than lanes, and they may wait for each other.
    Waiting,
    /// Compiling so many words of bytecode would take so long.
    Slow {
        /// Words of bytecode.
        words: usize,
        /// The time that they are expected to take.
        expected: Duration,
    },
    /// The compiler was not ready in time.
    Late {
        /// How long it was waited for.
        limit: Duration,
    },
    /// The program could not be compiled or loaded.
    Failed(DeviceError),
}

/// The choice for a program.
#[derive(Debug)]
pub struct Choice {
    /// The program's code, or why it is interpreted.
    pub code: Result<Code, Reason>,
    /// Time that was waited for the compiler.
    pub waited: Duration,
    /// Threads may wait for others that never run, as compiled code was asked for. Known for a number of threads only:
    /// false where a [`Usage`](crate::Usage) names none.
    pub may_hang: bool,
    /// Why the cache's code was not taken, and was removed.
    pub damaged: Option<DeviceError>,
    /// What makes code for a run that begins interpreted.
    pub(super) later: Option<Later>,
}

/// Why there is no choice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// Compiled code was asked for, and cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Waiting for the compiler was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// There is no thread for the compiler, or it ended by a defect.
    #[error("{0}")]
    Thread(String),
}

/// How a program is to be run.
pub(super) struct Policy<'p> {
    pub(super) strategy: Strategy,
    /// Functions (imports first) by which the program is entered, besides its start function.
    pub(super) entries: Vec<u32>,
    /// Most threads of a run, if that is known.
    pub(super) threads: Option<u32>,
    /// Calls that may be open at once.
    pub(super) call_depth: u32,
    /// What was chosen about compiled code.
    pub(super) tuning: Tuning,
    /// Whether it is run as a batch, each thread a process of its own.
    pub(super) processes: bool,
    /// Which functions are compiled.
    pub(super) functions: Functions,
    /// Code that came with the program.
    pub(super) native: &'p [NativeCode],
    /// Where code is kept.
    pub(super) cache: Option<Cache>,
    /// How long the compiler is waited for.
    pub(super) timeout: Duration,
    /// How long a run is interpreted before what it does often is compiled.
    pub(super) hot_after: Duration,
    /// Ends the waiting when it becomes true.
    pub(super) interrupt: &'p AtomicBool,
    /// What is told meanwhile.
    pub(super) told: &'p Told,
}

/// Whether so many threads of a program may wait for ever when they run compiled. Compiled threads keep their lanes: one
/// that waits for another may keep it from ever running.
pub(super) fn may_hang(program: &Program, threads: u32, target: &Target) -> bool {
    threads > target.lanes_at_least() && threads_may_wait(program)
}

impl Choice {
    fn interpreted(reason: Reason) -> Choice {
        Choice {
            code: Err(reason),
            waited: Duration::ZERO,
            may_hang: false,
            damaged: None,
            later: None,
        }
    }

    /// The program's code; without it, the program is interpreted.
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref().ok()
    }

    /// Whether the code was in the cache.
    pub fn is_cached(&self) -> bool {
        self.code().is_some_and(|code| code.origin == Origin::Cache)
    }
}

/// Of code for targets of which the machine code is known, on devices that align memories; for other targets it is made without
/// what needs the first. A device that does not align memories finds that the code is not for it.
const KNOWN: Surroundings = Surroundings {
    known_code: true,
    checked_heap: false,
    processes: false,
    frame_memory: FRAME_MEMORY,
    aligns_memories: true,
};

/// What compiling all of a program would take by which it can be entered, on this machine.
pub fn expected(program: &Program) -> Compiling {
    let options = options(program, 1, u32::MAX, Tuning::default(), Surroundings::default());
    let entries = entries(program);
    Compiling::of(reachable(program, &entries, &BTreeSet::new(), &options))
}

/// The functions by which a program can be entered: what it exports, and its start function.
pub(super) fn entries(program: &Program) -> Vec<u32> {
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

/// What is compiled of a program that is only looked at: all functions by which it can be entered, for runs on
/// `threads` threads.
pub fn whole(program: &Program, threads: u32, tuning: Tuning) -> Unit<'_> {
    Unit {
        program,
        prefix: PREFIX.into(),
        code_start: CODE_START,
        entries: entries(program),
        cold: Default::default(),
        options: Options {
            comments: true,
            ..options(program, threads, u32::MAX, tuning, KNOWN)
        },
    }
}

/// What of a module is compiled before it runs, and for which runs.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The exports that will be called, and the number of threads.
    pub usage: Usage,
    /// Calls that may be open at once in a thread, as in [`StoreLimits`](crate::StoreLimits).
    pub call_depth: u32,
    /// What runs the code: `sm_90` and so on, or `ptx` for every GPU, whose driver then compiles it on the first run.
    pub targets: Vec<String>,
}

/// A compiled module as bytes, and what was compiled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Precompiled {
    /// For [`Module::deserialize_precompiled`].
    pub bytes: Vec<u8>,
    /// Words of bytecode that were compiled.
    pub words: usize,
    /// For each target, the bytes of its code, compressed.
    pub sizes: Vec<usize>,
}

/// Compiles a module, on this machine or for others: no GPU is needed. `assemble` makes a relocatable object of PTX for a
/// target, as `ptxas -c` does.
///
/// # Errors
///
/// An export that the module does not have; those of `assemble`; with [`Functions::Hot`], that the module never ran.
pub fn precompile(
    engine: &Engine,
    module: &Module,
    ahead: &Ahead,
    assemble: impl Fn(&str, &str) -> Result<Vec<u8>, BoxError>,
) -> Result<Precompiled, Error> {
    let config = &engine.0;
    let program = &module.program;
    let cold = config
        .functions
        .left_out(program, config.cache().as_ref(), || Arc::new(Blocks::of(program)));
    let entries = ahead.usage.entries(program)?;
    let request = CompileRequest {
        program: program.clone(),
        prefix: PREFIX.into(),
        code_start: CODE_START,
        entries: tidy(program, entries.into_iter().chain(program.meta.start).collect()),
        cold: cold.ok_or(Error::NeverRan)?,
        options: options(
            program,
            ahead.usage.threads.unwrap_or(u32::MAX),
            ahead.call_depth,
            config.tuning,
            KNOWN,
        ),
        // Of the device, what is compiled depends on nothing.
        target: Target {
            ordinal: 0,
            compute_capability: (0, 0),
            multiprocessors: 0,
            driver: String::new(),
            format: CodeFormat::Ptx,
        },
        progress: Progress::default(),
    };
    let native = ahead::compile(&request, &ahead.targets, assemble).map_err(Error::Assembler)?;
    Ok(Precompiled {
        words: request.reachable().words as usize,
        sizes: native.iter().map(|native| native.bytes.len()).collect(),
        bytes: encode_with(program, &native),
    })
}

/// Code of all the instances that a store will have, in their order and linked together, from the cache or
/// compiled now. Each is entered by its start function and those that it was asked for.
///
/// # Errors
///
/// The driver's.
pub fn linked(
    target: &Target,
    instances: &[Instantiated],
    tuning: Tuning,
    cache: Option<&Cache>,
) -> DeviceResult<Vec<Code>> {
    let options = options_of_linked(instances.iter().map(|instance| &*instance.program), tuning);
    let requests = instances.iter().enumerate();
    let requests: Vec<CompileRequest> = requests
        .map(|(i, instance)| of_instance(target, i, instance, options))
        .collect();
    let Some(cache) = cache else {
        return code::build(&requests, None);
    };
    let key = code::key_of(&requests);
    match code::cached(&requests, cache, key) {
        Some(codes) => Ok(codes),
        None => code::build(&requests, Some((cache, key))),
    }
}

/// The same of instances that are linked each alone, with what is compiled of each chosen by chance.
///
/// # Errors
///
/// The driver's.
pub fn apart(
    target: &Target,
    instances: &[Instantiated],
    tuning: Tuning,
    functions: Functions,
) -> DeviceResult<Vec<Code>> {
    let code = |(i, instance): (usize, &Instantiated)| {
        // Of the device it is not known here.
        let around = Surroundings {
            aligns_memories: false,
            ..KNOWN
        };
        let options = options(&instance.program, 1, u32::MAX, tuning, around);
        let blocks = || Arc::new(Blocks::of(&instance.program));
        let cold = functions.left_out(&instance.program, None, blocks);
        let request = CompileRequest {
            cold: cold.unwrap_or_default(),
            ..of_instance(target, i, instance, options)
        };
        request.build(None)
    };
    instances.iter().enumerate().map(code).collect()
}

/// What is compiled of instance number `i` of a store.
fn of_instance(target: &Target, i: usize, instance: &Instantiated, options: Options) -> CompileRequest {
    let (program, functions) = (&instance.program, instance.functions.iter().copied());
    CompileRequest {
        program: program.clone(),
        prefix: format!("i{i}_"),
        code_start: instance.code_start,
        entries: tidy(program, program.meta.start.into_iter().chain(functions).collect()),
        cold: BTreeSet::new(),
        options,
        target: target.clone(),
        progress: Progress::default(),
    }
}

/// The program's code from the cache. What `load` does not take is removed, as damaged code is; then its error is
/// returned.
fn from_cache(
    request: &CompileRequest,
    cache: &Cache,
    key: Key,
    load: impl FnOnce(&Code) -> DeviceResult<()>,
) -> Option<DeviceResult<Code>> {
    let code = request.cached(cache, key)?;
    Some(match load(&code) {
        Ok(()) => Ok(code),
        Err(error) => {
            cache.remove(key);
            Err(error)
        }
    })
}

/// Chooses how the store's next instance is run, of that program, and compiles it if that is how.
///
/// # Errors
///
/// [`Strategy::Ptx`] where it cannot be; the interrupt, while the compiler is waited for.
pub(super) fn choose(policy: Policy<'_>, store: &mut Store, program: &Arc<Program>) -> Result<Choice, CompileError> {
    let forced = match policy.strategy {
        Strategy::Interpreter => return Ok(Choice::interpreted(Reason::Asked)),
        Strategy::Ptx => true,
        Strategy::Auto => false,
    };
    let Some(target) = store.target() else {
        return Ok(Choice::interpreted(Reason::Device));
    };
    let mut sets = policy
        .functions
        .cold(program, policy.cache.as_ref(), || store.blocks(program));
    let unknown = sets.is_empty();
    if unknown {
        store.note_visits();
        sets.push(store.blocks(program).all().collect());
    }
    let may_hang = policy
        .threads
        .is_some_and(|threads| may_hang(program, threads, &target));
    let mut choice = Choice::interpreted(Reason::Waiting);
    if may_hang && !forced {
        return Ok(choice);
    }
    choice.may_hang = may_hang;
    // What makes ready with what processes begin is no process.
    let start = program.meta.start.filter(|_| !policy.processes);
    let entries = tidy(program, policy.entries.into_iter().chain(start).collect());
    let parks = matches!(policy.functions, Functions::Parked(_));
    if parks {
        store.note_visits();
    }
    let tiers = !forced && matches!(policy.functions, Functions::Auto | Functions::Hot);
    // A run of one thread may leave the code, and go on in other code. One that spawns others cannot.
    let leaves = tiers && policy.threads == Some(1) && program.thread_start().is_none();
    // Code for what ran often before much else did too.
    let mut older = match &policy.cache {
        Some(cache) if leaves => Functions::before(program, cache, || store.blocks(program)),
        _ => None,
    };
    let mixed = sets.iter_mut().chain(&mut older);
    for cold in mixed.filter(|cold| parks || leaves && !cold.is_empty()) {
        cold.extend(tiers::first_blocks(program, &entries));
    }
    // Of an unknown number there may be several.
    let threads = policy.threads.unwrap_or(u32::MAX);
    let around = Surroundings {
        known_code: barriers::are_known(&target),
        checked_heap: store.checks_heap(),
        processes: policy.processes,
        frame_memory: target.frame_memory(),
        aligns_memories: store.aligns_memories(),
    };
    let options = Options {
        samples: store.takes_samples(),
        counts: store.counts_blocks().is_some(),
        counts_warps: store.counts_blocks() == Some(Counted::LanesAndWarps),
        ..options(program, threads, policy.call_depth, policy.tuning, around)
    };
    let code_start = store.next_code_start();
    let request = |cold| CompileRequest {
        program: program.clone(),
        prefix: PREFIX.into(),
        code_start,
        entries: entries.clone(),
        cold,
        options,
        target: target.clone(),
        progress: Progress::default(),
    };
    let mut requests: Vec<CompileRequest> = sets.into_iter().map(request).collect();
    let older = older.map(request);
    let later = |store: &mut Store, request: &CompileRequest, cache: &Option<Cache>| {
        let learns = |blocks| Later::learns(request.clone(), blocks, cache.clone(), policy.hot_after);
        tiers.then(|| learns(store.blocks(program)))
    };
    if unknown && !forced {
        choice.later = later(store, &requests[0], &policy.cache);
        choice.code = Err(match choice.later {
            Some(_) => Reason::Meanwhile,
            None => Reason::Unknown,
        });
        return Ok(choice);
    }
    for request in requests.iter().chain(&older).filter(|_| !parks) {
        if let Some(native) = ahead::find(policy.native, request) {
            let linked = ahead::link(native, request, policy.cache.as_ref());
            match linked.and_then(|code| store.preload(&code).map(|()| code)) {
                Ok(code) => {
                    choice.code = Ok(code);
                    return Ok(choice);
                }
                Err(error) => tracing::warn!("the code that came with the program is not taken: {error}"),
            }
        }
        let load = |code: &Code| store.preload(code);
        let cached = |cache: &Cache| from_cache(request, cache, request.key(), load);
        match policy.cache.as_ref().and_then(cached) {
            Some(Ok(code)) => {
                if leaves && code.mixed {
                    let blocks = store.blocks(program);
                    let cache = policy.cache.clone();
                    let later = Later::improves(&code, request.clone(), blocks, cache, policy.hot_after);
                    choice.later = Some(later);
                }
                choice.code = Ok(code);
                return Ok(choice);
            }
            Some(Err(error)) => choice.damaged = Some(error),
            None => {}
        }
    }
    let patience = match forced || policy.processes {
        // A batch runs for long.
        true => policy.timeout,
        false => PATIENCE,
    };
    if leaves && let Some(request) = requests.pop() {
        // A single thread may be over before it is compiled.
        if policy.functions == Functions::Auto {
            store.note_visits();
        }
        choice.later = later(store, &request, &policy.cache);
        choice.code = Err(Reason::Meanwhile);
        return Ok(choice);
    }
    let works = requests
        .into_iter()
        .map(|request| (Compiling::of(request.reachable()), request));
    let mut works: Vec<_> = works.collect();
    let brief = works.iter().position(|(work, _)| work.expected <= patience);
    // The last is the briefest.
    let (work, request) = works.swap_remove(brief.unwrap_or(works.len() - 1));
    if brief.is_none() {
        if policy.functions == Functions::Auto {
            store.note_visits();
        }
        choice.later = later(store, &request, &policy.cache);
        if !forced {
            let Compiling { words, expected, .. } = work;
            choice.code = Err(Reason::Slow { words, expected });
            return Ok(choice);
        }
    }
    let parked = parks.then(|| request.cold.clone());
    let key = request.key();
    let begin = Instant::now();
    let cache = policy.cache.map(|cache| (cache, key));
    let progress = request.progress.clone();
    let told = |elapsed| {
        let parts = progress.parts();
        policy.told.tell(Some(Compiling { elapsed, parts, ..work }));
    };
    let built = build(request, cache, policy.timeout, policy.interrupt, told);
    policy.told.tell(None);
    let built = built?;
    choice.waited = begin.elapsed();
    let loaded = built.map(|built| built.and_then(|code| store.preload(&code).map(|()| code)));
    if let (Some(cold), Some(Ok(code))) = (parked, &loaded) {
        let seed = match policy.functions {
            Functions::Parked(seed) => seed,
            _ => 0,
        };
        choice.later = Some(Later::takes_turns(
            code.clone(),
            cold,
            Duration::from_micros(seed * 97 % 1000),
        ));
        choice.code = Err(Reason::Meanwhile);
        return Ok(choice);
    }
    choice.code = match loaded {
        None => Err(Reason::Late { limit: policy.timeout }),
        Some(Ok(code)) => Ok(code),
        Some(Err(error)) if forced => return Err(error.into()),
        Some(Err(error)) => Err(Reason::Failed(error)),
    };
    Ok(choice)
}

/// Compiles on a thread of its own, and tells how long that has taken so far. `None` if it is not ready after `limit`: it
/// goes on, and fills the cache if the process lives so long.
fn build(
    request: CompileRequest,
    cache: Option<(Cache, Key)>,
    limit: Duration,
    interrupt: &AtomicBool,
    told: impl Fn(Duration),
) -> Result<Option<DeviceResult<Code>>, CompileError> {
    let (sender, receiver) = channel();
    let working = Working::begin();
    let work = move || {
        let built = request.build(cache.as_ref().map(|(cache, key)| (cache, *key)));
        // It is not received when the limit is over.
        _ = sender.send(built);
        drop(working);
    };
    let spawned = std::thread::Builder::new().name("compiler".into()).spawn(work);
    spawned.map_err(|error| CompileError::Thread(format!("cannot start a thread for the compiler: {error}")))?;
    let begin = Instant::now();
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        match receiver.recv_timeout(left.min(Duration::from_millis(50))) {
            Ok(built) => return Ok(Some(built)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CompileError::Thread("the compiler ended without a result".into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Relaxed: the flag is all there is to see.
        if interrupt.load(Ordering::Relaxed) {
            return Err(CompileError::Interrupted);
        }
        told(begin.elapsed());
        if begin.elapsed() >= limit {
            return Ok(None);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// For a program of nothing.
    pub(in crate::embed) fn request(format: CodeFormat) -> CompileRequest {
        CompileRequest {
            program: Arc::default(),
            prefix: PREFIX.into(),
            code_start: CODE_START,
            entries: Vec::new(),
            cold: BTreeSet::new(),
            options: Options::default(),
            target: Target {
                ordinal: 0,
                compute_capability: (9, 0),
                multiprocessors: 132,
                driver: "13000".into(),
                format,
            },
            progress: Progress::default(),
        }
    }

    #[test]
    fn code_that_cannot_be_loaded_leaves_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let request = request(CodeFormat::Cubin);
        let key = request.key();
        let unavailable = |_: &Code| {
            Err(DeviceError::Unavailable {
                what: "no image".into(),
            })
        };
        assert!(from_cache(&request, &cache, key, |_| Ok(())).is_none());
        cache.save(key, &[1, 2, 0]).unwrap();
        assert!(from_cache(&request, &cache, key, |_| Ok(())).unwrap().is_ok());
        assert!(from_cache(&request, &cache, key, unavailable).unwrap().is_err());
        assert!(!cache.contains(key));
    }

    #[test]
    fn work_that_takes_long_is_told() {
        let wasm = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/wasm/wasi/grep.wasm")).unwrap();
        let program = Arc::new(
            gpu_run_translator::translate(&wasm, &Default::default())
                .unwrap()
                .program,
        );
        let work = expected(&program);
        assert!(work.words > 100_000 && work.expected > PATIENCE, "{work:?}");
        let request = CompileRequest {
            entries: entries(&program),
            program,
            ..request(CodeFormat::Ptx)
        };
        let told = std::cell::RefCell::new(Vec::new());
        let tell = |elapsed| told.borrow_mut().push(elapsed);
        let built = build(request, None, Duration::MAX, &AtomicBool::new(false), tell).unwrap();
        assert!(built.unwrap().is_ok());
        let told = told.into_inner();
        assert!(!told.is_empty() && told.is_sorted(), "{told:?}");
    }
}
