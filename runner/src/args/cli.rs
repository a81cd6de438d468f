//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use gpu_run::DeviceKind;
use gpu_run::compile::Functions;
use gpu_run_vm::{FrameSize, ThreadSet};

use crate::batch_args::BatchArgs;
use crate::profile_args::{ProfileArgs, ProfileOptions};
use crate::results::{self, Results};
use crate::sink::Target;
use crate::snapshot_args::SnapshotArgs;

/// Runs ordinary WebAssembly programs on NVIDIA GPUs, and on the CPU with the same results.
#[derive(Parser)]
#[command(
    name = "gpu-run",
    version,
    override_usage = "gpu-run [OPTIONS] <MODULE> [ARGS]...\n       gpu-run <COMMAND>"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub messages: MessageArgs,
}

/// What gpu-run says itself, of every command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages of gpu-run")]
pub struct MessageArgs {
    /// Say what is done on the way; -vv says more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Say nothing but errors: no warnings, no notes.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Whether messages have colours: auto has them on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto)]
    pub color: ColorWhen,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a module (the same as `gpu-run <MODULE>`).
    Run(Box<RunArgs>),
    /// Run a module and show where its time went.
    Profile(Box<ProfileArgs>),
    /// Run a module for WASI once for each of many inputs, each time as a process of its own.
    Batch(Box<BatchArgs>),
    /// Translate a module and write what comes of it.
    Translate(TranslateArgs),
    /// Compile a module for GPUs before it runs there.
    Compile(CompileArgs),
    /// Call what makes a program ready, and write the program that begins there.
    Snapshot(Box<SnapshotArgs>),
    /// Show what a module holds and what gpu-run makes of it.
    Inspect(InspectArgs),
    /// List what can run programs on this machine.
    Devices,
    /// Show or clear the cache of compiled programs.
    Cache(CacheArgs),
    /// Run WebAssembly script tests.
    Wast(WastArgs),
    /// Print a script that completes command lines in a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them to a folder.
    Man(ManArgs),
}

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// Folder for a page of each command; without it, that of gpu-run goes to stdout.
    pub dir: Option<PathBuf>,
}

#[derive(Args)]
#[command(override_usage = "gpu-run run [OPTIONS] <MODULE> [ARGS]...")]
pub struct RunArgs {
    /// WebAssembly module (.wasm or .wat) or translated program (.gbc), or - to read it from stdin. All behind it,
    /// whatever it looks like, are arguments of the program, or with --invoke of the function.
    #[arg(value_name = "MODULE", required = true, trailing_var_arg = true, value_hint = ValueHint::FilePath)]
    words: Vec<OsString>,
    /// Call this export or kernel and print its results, instead of running the program.
    #[arg(long, value_name = "NAME", help_heading = START)]
    pub invoke: Option<String>,
    /// Threads that enter the kernel, or main in a build for threads, and share its memory: a number, or auto for as
    /// many as the device has lanes. A program that spawns threads itself is told that so many are of use [default: 1;
    /// for programs that spawn threads, what suits the device].
    #[arg(long, value_name = "N", value_parser = parse_thread_count, help_heading = START)]
    threads: Option<ThreadCount>,
    /// Run the program that many times at once, each time as a process with a memory of its own, as `gpu-run batch
    /// --instances` does.
    #[arg(long, value_name = "N", conflicts_with_all = ["threads", "invoke"], help_heading = START)]
    pub instances: Option<u64>,
    /// What `--threads auto` means on the device.
    #[arg(skip)]
    lanes: Option<u32>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub passes: PassArgs,
    /// How long to wait for the compiler of the PTX engine before the program is interpreted.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration, help_heading = DEVICE)]
    pub compile_time: Duration,
    /// How long a run is interpreted before what it does often is compiled, so that the rest of it is faster. For programs
    /// that are not compiled before they run.
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = humantime::parse_duration, help_heading = DEVICE)]
    pub hot_after: Duration,
    /// What the PTX engine compiles: all functions that may be called; hot, the code that has run often before, on any
    /// device; none; auto, all if that takes little time, else hot. The rest is interpreted. With hot, what is interpreted
    /// is noted for the next run, and a first run is interpreted as a whole.
    #[arg(long, value_name = "auto|all|hot|none", default_value = "auto", value_parser = parse_functions, help_heading = DEVICE)]
    compile: Compile,
    /// Take the code that `gpu-run compile` has put into the program. Nothing can check it: it may do on the GPU whatever
    /// it likes.
    #[arg(long, help_heading = DEVICE)]
    pub allow_precompiled: bool,
    #[command(flatten)]
    pub tuning: TuningArgs,
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    #[command(flatten)]
    pub files: FileArgs,
    /// End the run after this time: 500ms, 2s, 1m 30s.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = LIMITS)]
    pub timeout: Option<Duration>,
    /// Bytes that a memory may have [default: what the module declares, else 1 GiB or, up to 4 GiB, 64 KiB for each
    /// thread; on the CPU 4 GiB for programs for WASI].
    #[arg(long, value_name = "SIZE", help_heading = LIMITS)]
    pub max_memory: Option<ByteSize>,
    /// Stack of each thread in linear memory, with more than one thread [default: 64 KiB, or less down to 4 KiB where
    /// memory has no room for so many].
    #[arg(long, value_name = "SIZE", help_heading = LIMITS)]
    pub thread_stack: Option<ByteSize>,
    /// Calls that may be open at once in a thread; one more is a trap.
    #[arg(long, value_name = "N", default_value_t = CALL_DEPTH, help_heading = LIMITS)]
    pub max_call_depth: u32,
    /// Refuse the module if it can recurse, and show how.
    #[arg(long, help_heading = LIMITS)]
    pub deny_recursion: bool,
    /// Look for wrong uses of the heap: blocks freed twice or with another size, bytes written behind a block
    /// or after it was freed.
    #[arg(long, help_heading = REPORTS)]
    pub heap_check: bool,
    /// Fail with exit code 23 if the program ends by itself and leaves blocks of the heap that nothing points to.
    #[arg(long, help_heading = REPORTS)]
    pub leak_check: bool,
    /// Give what each thread of a kernel or of --invoke returned: `all` prints a line for each, `json` an array, and
    /// anything else is a file for their bytes, little-endian, in the order of the threads.
    #[arg(long, value_name = "all|json|FILE", value_parser = results::parse, help_heading = REPORTS)]
    pub results: Option<Results>,
    /// Print times and counts when the program has ended: text, a few lines on stderr; full, all of them; json, an
    /// object on a line of stderr; json:FILE, the same in a file.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text", help_heading = REPORTS)]
    pub stats: Option<Target<StatsFormat>>,
    /// How a run that failed is reported: text, for people; json, an object on a line of stderr; json:FILE, the same
    /// in a file.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = REPORTS)]
    pub report: Target<ReportFormat>,
    #[command(flatten)]
    pub debug: DebugArgs,
    #[command(flatten)]
    pub profile: ProfileOptions,
}

/// Groups of options in the help.
const START: &str = "What runs";
pub const DEVICE: &str = "Where it runs";
const LIMITS: &str = "Limits";
const REPORTS: &str = "Checks and reports";

impl RunArgs {
    /// Which functions are compiled, where some are.
    pub fn functions(&self) -> Functions {
        self.compile.unwrap_or_default()
    }

    /// Whether no function is to be compiled.
    pub fn compiles_nothing(&self) -> bool {
        self.compile.is_none()
    }

    /// How many threads were asked for, if it was a number.
    pub fn given_threads(&self) -> Option<u32> {
        match self.threads {
            Some(ThreadCount::Number(threads)) => Some(threads),
            Some(ThreadCount::Auto) | None => None,
        }
    }

    /// How many threads there are, of a program that spawns none itself. `auto` is 1 until [`RunArgs::resolve_threads`]
    /// has set it.
    pub fn threads(&self) -> u32 {
        self.given_threads().or(self.lanes).unwrap_or(1)
    }

    /// Whether the device decides how many threads there are.
    pub fn threads_are_auto(&self) -> bool {
        self.threads == Some(ThreadCount::Auto)
    }

    /// Sets the number of threads that the device has decided.
    pub fn resolve_threads(&mut self, threads: u32) {
        self.lanes = Some(threads);
    }

    /// The module and what stands after it.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The module's path.
    pub fn module(&self) -> &Path {
        // Without a module the words are not parsed.
        Path::new(self.words.first().map_or(OsStr::new(""), |word| word))
    }

    /// What stands behind the module.
    pub fn args(&self) -> &[OsString] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Of the arguments in front of `--`, the first that is spelled as an option of `gpu-run run`: as a long one, or with
    /// `short` as any.
    pub fn misplaced_option(&self, short: bool) -> Option<String> {
        let command = MessageArgs::augment_args(RunArgs::augment_args(clap::Command::new("run")));
        let is_long = |name: &str| name == "help" || command.get_arguments().any(|own| own.get_long() == Some(name));
        let is_short = |name: char| name == 'h' || command.get_arguments().any(|own| own.get_short() == Some(name));
        let in_front = self.args().iter().take_while(|arg| *arg != "--");
        in_front.into_iter().find_map(|arg| {
            let option = arg.to_str()?.split('=').next()?;
            let mut letters = option.strip_prefix('-')?.chars();
            let own = match (letters.next()?, letters.as_str()) {
                ('-', name) => is_long(name),
                (letter, "") => short && is_short(letter),
                _ => false,
            };
            own.then(|| option.to_owned())
        })
    }
}

/// What a program for WASI finds around it.
#[derive(Args, Clone)]
#[command(next_help_heading = "What a program for WASI finds")]
pub struct EnvironmentArgs {
    /// Give the program a directory, by its own name or another, and with `:ro` for reading only. As a
    /// cargo runner, gpu-run gives it the current directory if this option is not there, as `.` and by its
    /// absolute name.
    #[arg(long = "dir", value_name = "HOST[::GUEST][:ro]", value_hint = ValueHint::DirPath)]
    pub dirs: Vec<OsString>,
    /// Give the program an empty directory in device memory as /tmp, for which that much is taken at the start; it
    /// is gone at the end.
    #[arg(long, value_name = "SIZE")]
    pub tmpfs: Option<ByteSize>,
    /// Set a variable of the program's environment; a name alone takes its value over. The last of a name counts.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub variables: Vec<OsString>,
    /// Let the program connect to this host and port: an IP address or a name, which is resolved once before the
    /// run, and a number or `*` for every port. May be given several times [default: it may connect to nothing].
    #[arg(long = "allow-net", value_name = "HOST:PORT")]
    pub allow_net: Vec<String>,
    /// The program's name as it sees it, its first argument [default: the module's file name].
    #[arg(long, value_name = "NAME")]
    pub argv0: Option<OsString>,
    /// Make the program's random bytes the same each time [default: they are this machine's].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Files that a run reads and writes beside its memory.
#[derive(Args)]
#[command(next_help_heading = "Files of gpu-std")]
pub struct FileArgs {
    /// File that the program reads by gpu-std's state_in.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// File that is written with what the program wrote by gpu-std's state_out.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Size of that file [default: up to the highest byte written, at most 256 MiB].
    #[arg(long, value_name = "SIZE", requires = "output")]
    pub output_size: Option<ByteSize>,
    /// PNG file that is written with the pixels that the program set by gpu-std's set_pixel.
    #[arg(long, value_name = "FILE")]
    pub frame: Option<PathBuf>,
    /// Size of the frame in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "800x600", value_parser = parse_size, requires = "frame")]
    pub size: FrameSize,
}

/// Debug messages of guests: what gpu-std's macros and the imports `dbg_*` send to stderr.
#[derive(Args)]
#[command(next_help_heading = "Debug messages")]
pub struct DebugArgs {
    /// Leave out all debug messages when translating: none of their instructions is run.
    #[arg(long)]
    pub no_debug: bool,
    /// Drop debug messages for which there is no room, and count them, instead of letting their threads wait.
    #[arg(long)]
    pub debug_drop: bool,
    /// Put the thread's number in front of each debug message.
    #[arg(long)]
    pub debug_prefix: bool,
    /// Show debug messages of these threads only: thread=3, thread=0-31, thread=1,8-15. May be given several times.
    #[arg(long, value_name = "FILTER", value_parser = parse_threads)]
    pub debug_only: Vec<ThreadSet>,
    /// Show debug messages of this severity and above. One that names none is of severity debug.
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true, default_value_t = DebugLevel::Debug)]
    pub debug_level: DebugLevel,
    /// Write debug messages as JSON, an object on each line.
    #[arg(long)]
    pub debug_json: bool,
}

/// Threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadCount {
    Number(u32),
    /// As many as the device has lanes.
    Auto,
}

const MOST_THREADS: u32 = 16_777_216;

/// Calls that may be open at once if nothing else is said.
pub const CALL_DEPTH: u32 = 100_000;

fn parse_thread_count(text: &str) -> Result<ThreadCount, String> {
    match text.parse() {
        _ if text == "auto" => Ok(ThreadCount::Auto),
        Ok(threads @ 1..=MOST_THREADS) => Ok(ThreadCount::Number(threads)),
        _ => Err(format!("expected auto or a number from 1 to {MOST_THREADS}")),
    }
}

/// Which functions are compiled; `None`: none is.
type Compile = Option<Functions>;

fn parse_functions(text: &str) -> Result<Compile, String> {
    match text {
        "auto" => Ok(Some(Functions::Auto)),
        "all" => Ok(Some(Functions::All)),
        "hot" => Ok(Some(Functions::Hot)),
        "none" => Ok(None),
        // For tests.
        _ => match text.split_once(':').map(|(way, seed)| (way, seed.parse())) {
            Some(("random", Ok(seed))) => Ok(Some(Functions::Random(seed))),
            Some(("parked", Ok(seed))) => Ok(Some(Functions::Parked(seed))),
            _ => Err("expected auto, all, hot or none".into()),
        },
    }
}

fn parse_threads(text: &str) -> Result<ThreadSet, String> {
    match text.strip_prefix("thread=") {
        Some(set) => set.parse(),
        None => Err("expected thread=N, thread=N-M or several of these with commas".into()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DebugLevel {
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// An object on a line, for programs.
    Json,
}

#[derive(Args, Clone)]
#[command(next_help_heading = DEVICE)]
pub struct DeviceArgs {
    /// What runs the program: auto (a GPU if there is one), cpu, cuda or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = DeviceKind::from_str)]
    pub device: DeviceKind,
    /// How it is run.
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Auto)]
    pub engine: Engine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// PTX where its code is cached or compiled within about 2 s, else the interpreter.
    Auto,
    /// The interpreter.
    Interp,
    /// PTX compiled from the bytecode, on a GPU.
    Ptx,
}

/// What may be chosen about compiled code.
#[derive(Args, Clone)]
pub struct TuningArgs {
    /// Whether compiled functions keep their frames of the stack in linear memory in the GPU's local or shared memory,
    /// where lanes access them together. Results are the same.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = LocalFrames::Auto, help_heading = DEVICE)]
    pub local_frames: LocalFrames,
    /// Whether lanes of a warp that took different ways meet at the ends of loops, after calls and where their ways join,
    /// so that they go on together. Results are the same.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Reconverge::Auto, help_heading = DEVICE)]
    pub reconverge: Reconverge,
    /// Words of bytecode that are compiled of a function as one; a larger function is compiled as several. Results are the
    /// same.
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..), help_heading = DEVICE)]
    pub region_words: Option<u32>,
}

impl TuningArgs {
    /// As the compiler takes it.
    pub fn values(&self) -> gpu_run::Tuning {
        gpu_run::Tuning {
            local_frames: self.local_frames.into(),
            reconverge: self.reconverge.into(),
            line_info: false,
            region_words: self.region_words,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reconverge {
    /// With 32 threads and more, on GPUs of compute capability 9.0.
    Auto,
    /// With any number of threads, on such GPUs.
    Always,
    /// Only as the assembler has it.
    Never,
}

impl From<Reconverge> for gpu_run::Reconverge {
    fn from(reconverge: Reconverge) -> gpu_run::Reconverge {
        match reconverge {
            Reconverge::Auto => gpu_run::Reconverge::Auto,
            Reconverge::Always => gpu_run::Reconverge::Always,
            Reconverge::Never => gpu_run::Reconverge::Never,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LocalFrames {
    /// With 32 threads and more, in functions whose loops access their frame often.
    Auto,
    /// Wherever it is possible.
    Always,
    /// Never.
    Never,
}

impl From<LocalFrames> for gpu_run::LocalFrames {
    fn from(frames: LocalFrames) -> gpu_run::LocalFrames {
        match frames {
            LocalFrames::Auto => gpu_run::LocalFrames::Auto,
            LocalFrames::Always => gpu_run::LocalFrames::Always,
            LocalFrames::Never => gpu_run::LocalFrames::Never,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatsFormat {
    /// What most people want to know.
    Text,
    /// All of it, for people.
    Full,
    /// An object on a line, for programs.
    Json,
}

/// How a module is translated.
#[derive(Args)]
#[command(next_help_heading = "Translation")]
pub struct PassArgs {
    /// Leave std's functions, C's allocator and C's functions on memory as they are.
    #[arg(long)]
    pub no_rewrite: bool,
    /// Leave all calls as they are.
    #[arg(long)]
    pub no_inline: bool,
    /// Let each thread run for so many units of fuel; one that needs more traps. An entry into a function and a pass of a loop
    /// cost about a unit for each of their instructions, and the same on every engine.
    #[arg(long, value_name = "UNITS")]
    pub fuel: Option<u64>,
}

#[derive(Args)]
pub struct TranslateArgs {
    /// WebAssembly module (.wasm or .wat), or - to read it from stdin.
    pub module: PathBuf,
    /// What to write.
    #[arg(long, value_enum)]
    pub emit: Emit,
    /// Where to write it; without it text goes to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write only this function, by its name or index: of disasm and ptx.
    #[arg(long, value_name = "NAME")]
    pub func: Option<String>,
    #[command(flatten)]
    pub passes: PassArgs,
    /// Leave out all debug messages.
    #[arg(long)]
    pub no_debug: bool,
    /// Refuse the module if it can recurse, and show how.
    #[arg(long)]
    pub deny_recursion: bool,
    /// Write PTX for so many threads: beside others, a thread finds that memory has grown.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: u32,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

#[derive(Args)]
pub struct CompileArgs {
    /// WebAssembly module (.wasm or .wat) or translated program (.gbc), or - to read it from stdin.
    pub module: PathBuf,
    /// Where to write the program with its code [default: the module's name with .gbc].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What the code is for: sm_90 and so on, which takes --ptxas; or ptx, which any GPU's driver compiles on the first
    /// run.
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', default_value = "ptx", value_parser = parse_target)]
    pub target: Vec<String>,
    /// The assembler of CUDA's toolkit.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
    pub ptxas: Option<PathBuf>,
    /// An export or kernel that runs will call; may be given again [default: the program's entry, or all kernels].
    #[arg(long, value_name = "NAME")]
    pub invoke: Vec<String>,
    /// Threads that runs will have.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS as i64))]
    pub threads: u32,
    /// The option of the runs.
    #[arg(long, value_name = "N", default_value_t = CALL_DEPTH)]
    pub max_call_depth: u32,
    /// What is compiled: all functions that may be called, or hot, the code that has run often before.
    #[arg(long, value_name = "all|hot", default_value = "all", value_parser = parse_functions)]
    compile: Compile,
    #[command(flatten)]
    pub passes: PassArgs,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

impl CompileArgs {
    /// Which functions are compiled; `None`: none is.
    pub fn functions(&self) -> Option<Functions> {
        self.compile
    }
}

fn parse_target(text: &str) -> Result<String, String> {
    let number = text.strip_prefix("sm_").unwrap_or_default();
    let is_number = (2..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    match is_number || text == "ptx" {
        true => Ok(text.to_owned()),
        false => Err("expected ptx, or sm_ and a number, such as sm_90".into()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The module after rewriting and inlining, as wasm.
    Wasm,
    /// The program, which `gpu-run` runs without translating again.
    Bytecode,
    /// The program as text.
    Disasm,
    /// The program compiled to PTX, without the runtime.
    Ptx,
    /// Registers, stack and spills of the machine code of each function, by this machine's GPU.
    SassStats,
}

#[derive(Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub command: Option<CacheCommand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum CacheCommand {
    /// Show what is in it (the same as `gpu-run cache`).
    List,
    /// Remove all of it.
    Clear,
    /// Show its folder.
    Path,
}

#[derive(Args)]
pub struct InspectArgs {
    /// WebAssembly module (.wasm or .wat) or translated program (.gbc), or - to read it from stdin.
    pub module: PathBuf,
    /// Write an object for programs.
    #[arg(long)]
    pub json: bool,
    /// Fail if the module can recurse, and show how.
    #[arg(long)]
    pub deny_recursion: bool,
}

#[derive(Args)]
pub struct WastArgs {
    /// Script files.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Leave all calls as they are when translating.
    #[arg(long)]
    pub no_inline: bool,
    /// As `run` has it.
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub region_words: Option<u32>,
    /// As `run` has it: `random:SEED`, for scripts with one module.
    #[arg(long, hide = true, default_value = "all", value_parser = parse_functions)]
    pub compile: Compile,
}

/// Pixels that a frame may have in each direction.
const SIDE: u32 = 32768;

/// A frame's size as it is written in options: `1920x1080`.
pub fn parse_size(text: &str) -> Result<FrameSize, String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=SIDE).contains(side));
    let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, ""));
    match (side(width), side(height)) {
        (Some(width), Some(height)) => Ok(FrameSize { width, height }),
        _ => Err(format!("expected WIDTHxHEIGHT, each from 1 to {SIDE}: 1920x1080")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_sides() {
        let size = |width, height| Ok(FrameSize { width, height });
        assert_eq!(parse_size("1920x1080"), size(1920, 1080));
        assert_eq!(parse_size("1X32768"), size(1, 32768));
        for bad in ["", "x", "10", "10x", "x10", "0x5", "5x32769", "5x5x5", "-1x5", "5 x 5"] {
            assert!(parse_size(bad).is_err(), "{bad:?}");
        }
    }
}
