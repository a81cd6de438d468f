//! Compares gpu-run with other engines on modules made from seeds, until the time is over or a
//! difference is found.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use gpu_run_differential::case::{Call, Care};
use gpu_run_differential::compare::{Finding, Verdict, run, run_with_care};
use gpu_run_differential::engine::engines;
use gpu_run_differential::mutate::{Fixture, load};
use gpu_run_differential::targets::{Target, mutated};
use gpu_run_differential::{Case, Counts, Difference, Oracle, Proposal, Source, proposals};

/// Differential testing of gpu-run.
#[derive(Parser)]
struct Args {
    /// Ends after this many seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// First seed; the following ones are used in order.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Ends after this many seeds.
    #[arg(long)]
    cases: Option<u64>,
    /// Where modules come from; each in turn.
    #[arg(long, value_delimiter = ',', default_value = "smith,dense,fixtures")]
    source: Vec<Source>,
    /// Engines to compare with.
    #[arg(long, value_delimiter = ',', default_value = "wasmi")]
    oracle: Vec<Oracle>,
    /// Compares with gpu-run's compiled code too, in the emulator of PTX.
    #[arg(long)]
    compiled: bool,
    /// Proposals that modules use [default: what gpu-run and the oracles run].
    #[arg(long = "features", value_delimiter = ',')]
    proposals: Vec<Proposal>,
    /// Instead of a comparison, passes changed bytes to this fuzz target.
    #[arg(long)]
    target: Option<Target>,
    /// Folder with programs to change.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/wasm"))]
    fixtures: PathBuf,
    /// Folder for modules with a difference.
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// Goes on after a difference.
    #[arg(long)]
    keep_going: bool,
    /// Tells the seeds of differences that are no bugs of gpu-run.
    #[arg(long)]
    show_excused: bool,
    /// Seconds between two lines about the progress.
    #[arg(long, default_value_t = 10)]
    every: u64,
    /// Runs this module with the calls of the `.calls` file beside it, and nothing else.
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Makes the module of `--replay` small.
    #[cfg(feature = "minimize")]
    #[arg(long, requires = "replay")]
    minimize: bool,
}

impl Args {
    fn with_default_proposals(mut self) -> Args {
        if self.proposals.is_empty() {
            self.proposals = proposals::of(&self.oracle);
        }
        self
    }
}

fn main() -> ExitCode {
    let args = Args::parse().with_default_proposals();
    let result = match &args.replay {
        Some(path) => replay(&args, path),
        None => search(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// What the threads share.
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
    counts: Mutex<Counts>,
    differences: AtomicU64,
}

/// Says whether there was no difference.
fn search(args: &Args) -> Result<bool, String> {
    let fixtures = match args.source.contains(&Source::Fixtures) {
        true => load(&args.fixtures)?,
        false => Vec::new(),
    };
    if args.source.contains(&Source::Fixtures) && fixtures.is_empty() {
        return Err(format!("no programs without imports in {}", args.fixtures.display()));
    }
    let shared = Shared {
        next: AtomicU64::new(args.seed),
        stop: AtomicBool::new(false),
        counts: Mutex::new(Counts::default()),
        differences: AtomicU64::new(0),
    };
    let begin = Instant::now();
    let end = begin + Duration::from_secs(args.seconds);
    std::thread::scope(|scope| {
        let worker = || work(args, &fixtures, &shared);
        let workers: Vec<_> = (0..args.jobs)
            .map(|_| {
                // Engines keep frames of deep recursions on the stack.
                let thread = std::thread::Builder::new().stack_size(256 << 20);
                thread.spawn_scoped(scope, worker).map_err(|error| error.to_string())
            })
            .collect();
        let mut line = begin;
        while !workers.iter().flatten().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            let now = Instant::now();
            if now >= end {
                shared.stop.store(true, Ordering::Relaxed);
            }
            if now.duration_since(line).as_secs() >= args.every {
                line = now;
                progress(&shared, begin);
            }
        }
        workers.into_iter().try_for_each(|worker| worker.map(drop))
    })?;
    let counts = shared.counts.lock().unwrap_or_else(|error| error.into_inner());
    progress_of(&counts, &shared, begin);
    if args.target.is_none() {
        print!("{counts}");
    }
    let differences = shared.differences.load(Ordering::Relaxed);
    println!("{differences} differences or panics");
    Ok(differences == 0)
}

fn progress(shared: &Shared, begin: Instant) {
    let counts = shared.counts.lock().unwrap_or_else(|error| error.into_inner());
    progress_of(&counts, shared, begin);
}

fn progress_of(counts: &Counts, shared: &Shared, begin: Instant) {
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{seconds:.0} s: {} executions, {:.0} per second, {} modules, next seed {}",
        counts.calls,
        counts.calls as f64 / seconds,
        counts.modules,
        shared.next.load(Ordering::Relaxed),
    );
}

fn work(args: &Args, fixtures: &[Fixture], shared: &Shared) {
    let mut engines = engines(&args.oracle, &args.proposals, args.compiled);
    while !shared.stop.load(Ordering::Relaxed) {
        let seed = shared.next.fetch_add(1, Ordering::Relaxed);
        if args.cases.is_some_and(|cases| seed >= args.seed + cases) {
            break;
        }
        if let Some(target) = args.target {
            run_target(args, seed, target, shared);
            continue;
        }
        let source = args.source[(seed % args.source.len() as u64) as usize];
        let build = |care| Case::from_seed(seed, source, &args.proposals, fixtures, care);
        let care = Care {
            nans: true,
            wasmi: args.oracle.contains(&Oracle::Wasmi),
        };
        let mut counts = Counts::default();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run_with_care(build, care, &mut engines, &mut counts)
        }));
        let found = found.unwrap_or_else(|_| {
            let difference = Difference {
                call: None,
                what: "an engine panicked".into(),
            };
            let case = build(Care::default());
            case.map_or(Finding::Nothing, |case| Finding::Bug(Box::new(case), difference))
        });
        shared
            .counts
            .lock()
            .unwrap_or_else(|error| error.into_inner())
            .add(&counts);
        match found {
            Finding::Nothing => {}
            Finding::Excused(difference, excuse) if args.show_excused => {
                println!("seed {seed} ({source:?}): {excuse}: {difference}");
            }
            Finding::Excused(..) => {}
            Finding::Bug(case, difference) => {
                shared.differences.fetch_add(1, Ordering::Relaxed);
                tell(args, seed, source, &case, &difference);
                shared.stop.fetch_or(!args.keep_going, Ordering::Relaxed);
            }
        }
    }
}

/// Runs a fuzz target on inputs of a seed. Each counts as an execution.
fn run_target(args: &Args, seed: u64, target: Target, shared: &Shared) {
    match mutated(seed, target, &args.proposals) {
        Ok(ran) => {
            let mut counts = shared.counts.lock().unwrap_or_else(|error| error.into_inner());
            counts.modules += 1;
            counts.calls += ran;
            counts.returned += ran;
        }
        Err(bytes) => {
            let path = args.out.join(format!("panic-{seed}.bin"));
            println!("seed {seed}: {target:?} panicked on {}", path.display());
            if let Err(error) = std::fs::write(&path, bytes) {
                println!("  cannot write it: {error}");
            }
            shared.differences.fetch_add(1, Ordering::Relaxed);
            shared.stop.fetch_or(!args.keep_going, Ordering::Relaxed);
        }
    }
}

/// Prints a difference and writes its case.
fn tell(args: &Args, seed: u64, source: Source, case: &Case, difference: &Difference) {
    let path = args.out.join(format!("difference-{seed}.wasm"));
    println!("seed {seed} ({source:?}) differs {difference}");
    if let Some(call) = difference.call.and_then(|call| case.calls.get(call)) {
        println!("  call: {call}");
    }
    let calls = difference.call.map_or(0, |call| call + 1);
    let calls: String = case.calls[..calls].iter().map(|call| format!("{call}\n")).collect();
    let written = std::fs::write(&path, &case.wasm).and_then(|()| std::fs::write(path.with_extension("calls"), calls));
    match written {
        Ok(()) => println!("  written to {}: run it again with --replay", path.display()),
        Err(error) => println!("  cannot write {}: {error}", path.display()),
    }
}

/// Reads a module and the calls beside it.
fn read(path: &Path) -> Result<Case, String> {
    let explain = |error| format!("{}: {error}", path.display());
    let wasm = wat::parse_file(path).map_err(|error| error.to_string())?;
    let calls = std::fs::read_to_string(path.with_extension("calls")).unwrap_or_default();
    let calls = calls.lines().map(str::parse).collect::<Result<Vec<Call>, _>>();
    Ok(Case::replay(wasm, calls.map_err(explain)?))
}

fn replay(args: &Args, path: &Path) -> Result<bool, String> {
    let case = read(path)?;
    let mut engines = engines(&args.oracle, &args.proposals, args.compiled);
    #[cfg(feature = "minimize")]
    if args.minimize {
        return gpu_run_differential::minimize::minimize(&case, path, &mut engines).map(|()| true);
    }
    let mut counts = Counts::default();
    let verdict = run(&case, &mut engines, &mut counts);
    print!("{counts}");
    match verdict {
        Verdict::Same => println!("no difference"),
        Verdict::Dropped(reason) => println!("not compared to the end: {reason}"),
        Verdict::Different(difference) => {
            println!("differs {difference}");
            return Ok(false);
        }
    }
    Ok(true)
}
