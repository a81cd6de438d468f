//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

/// Runs ordinary WebAssembly programs on NVIDIA GPUs, and on the CPU with the same results.
#[derive(Parser)]
#[command(
    name = "gpu-run",
    version,
    override_usage = "gpu-run [OPTIONS] <MODULE> [ARGS]...\n       gpu-run <COMMAND>"
)]
#[command(after_help = "A module alone means `run`: see `gpu-run run --help` for its options.")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses the process's arguments; a module without a command means `run`.
    pub fn from_env() -> Cli {
        let mut args: Vec<OsString> = std::env::args_os().collect();
        let command = Cli::command();
        let known = |arg: &OsString| {
            let names = command.get_subcommands().any(|known| *known.get_name() == **arg);
            names
                || ["help", "-h", "--help", "-V", "--version"]
                    .iter()
                    .any(|own| *arg == **own)
        };
        if args.get(1).is_some_and(|first| !known(first)) {
            args.insert(1, "run".into());
        }
        Cli::parse_from(args)
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a module (the same as `gpu-run <MODULE>`).
    Run(Box<RunArgs>),
    /// Translate a module and write what comes of it.
    Translate(TranslateArgs),
    /// Show what a module holds and what gpu-run makes of it.
    Inspect(InspectArgs),
    /// List what can run programs on this machine.
    Devices,
    /// Show or clear the cache of compiled programs.
    Cache(CacheArgs),
    /// Run WebAssembly script tests.
    Wast(WastArgs),
}

#[derive(Args)]
pub struct RunArgs {
    /// WebAssembly module (.wasm or .wat) or translated program (.gbc).
    pub module: PathBuf,
    /// Arguments of the program, or with --invoke of the function.
    #[arg(allow_hyphen_values = true)]
    pub args: Vec<String>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Call this export and print its results, instead of running the program.
    #[arg(long, value_name = "NAME")]
    pub invoke: Option<String>,
    /// Threads that enter the kernel, or main in a build for threads, and share its memory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    pub threads: u32,
    /// Stack of each thread in linear memory, with more than one thread.
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub thread_stack: ByteSize,
    /// Bytes that a memory may have [default: what the module declares, else 1 GiB].
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<ByteSize>,
    /// Calls that may be open at once in a thread; one more is a stack overflow.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_call_depth: u32,
    /// Refuse the module if it can recurse, and show how.
    #[arg(long)]
    pub deny_recursion: bool,
    /// End the run after this time: 500ms, 2s, 1m 30s.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// How long to wait for the compiler of the PTX engine before the program is interpreted.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration)]
    pub compile_time: Duration,
    /// Look for wrong uses of the heap: blocks freed twice or with another size, bytes written behind a block
    /// or after it was freed.
    #[arg(long)]
    pub heap_check: bool,
    /// Fail with exit code 23 if the program returns and leaves blocks of the heap that nothing points to.
    #[arg(long)]
    pub leak_check: bool,
    /// Print times and counts to stderr when the program has ended.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub stats: Option<StatsFormat>,
    /// Say what is done on the way.
    #[arg(short, long)]
    pub verbose: bool,
}

#[derive(Args, Clone)]
pub struct DeviceArgs {
    /// What runs the program: auto (a GPU if there is one), cpu, cuda or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = parse_device)]
    pub device: DeviceChoice,
    /// How it is run.
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Auto)]
    pub engine: Engine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    Auto,
    Cpu,
    Cuda(i32),
}

fn parse_device(text: &str) -> Result<DeviceChoice, String> {
    match text {
        "auto" => Ok(DeviceChoice::Auto),
        "cpu" => Ok(DeviceChoice::Cpu),
        "cuda" => Ok(DeviceChoice::Cuda(0)),
        _ => match text.strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
            Some(n) if n >= 0 => Ok(DeviceChoice::Cuda(n)),
            _ => Err("expected auto, cpu, cuda or cuda:N".into()),
        },
    }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    Text,
    Json,
}

#[derive(Args)]
pub struct TranslateArgs {
    /// WebAssembly module (.wasm or .wat).
    pub module: PathBuf,
    /// What to write.
    #[arg(long, value_enum)]
    pub emit: Emit,
    /// Where to write it; without it text goes to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave the patterns of Rust's std as they are.
    #[arg(long)]
    pub no_rewrite: bool,
    /// Leave all calls as they are.
    #[arg(long)]
    pub no_inline: bool,
    /// Refuse the module if it can recurse, and show how.
    #[arg(long)]
    pub deny_recursion: bool,
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
    /// WebAssembly module (.wasm or .wat).
    pub module: PathBuf,
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
}
