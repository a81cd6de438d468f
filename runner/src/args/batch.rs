//! Options of `gpu-run batch`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum, ValueHint};
use gpu_run::DeviceKind;
use gpu_run_vm::DeviceError;

use crate::cli::{CALL_DEPTH, DEVICE, DeviceArgs, Engine, EnvironmentArgs, ReportFormat, RunArgs, TuningArgs};
use crate::profile_args::{ProfileMode, ProfileOptions};
use crate::sink::Target;

/// What stands between the program's arguments and the inputs.
const SEPARATOR: &str = ":::";
/// What stands for the input in an argument.
pub const INPUT: &str = "{}";

/// How long the compiler is waited for: a batch runs for long.
const COMPILE_TIME: Duration = Duration::from_secs(60);

/// The slowest processes that are named beside a profile.
const SLOWEST: usize = 10;

const INPUTS: &str = "Inputs";
const OUTPUTS: &str = "Outputs";
const LIMITS: &str = "Limits";

#[derive(Args)]
#[command(override_usage = "gpu-run batch [OPTIONS] <MODULE> [ARGS]... [::: <INPUT>...]")]
pub struct BatchArgs {
    /// WebAssembly module for WASI, then the arguments of each process, with {} where its input goes, then ::: and the
    /// inputs. Without {} an input is a file that the process reads as standard input.
    #[arg(value_name = "MODULE", required = true, trailing_var_arg = true, value_hint = ValueHint::FilePath)]
    words: Vec<OsString>,
    /// Take inputs from the lines of this file, or with - of stdin. A line that begins with { is a JSON object with
    /// `args`, `stdin`, `env`, `files` and `name`, each of which may be left out.
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath, help_heading = INPUTS)]
    pub from: Option<PathBuf>,
    /// Take each line of stdin as the standard input of a process, with its newline.
    #[arg(long, conflicts_with = "from", help_heading = INPUTS)]
    pub stdin_lines: bool,
    /// Run that many processes without an input. Each finds its number, from 0, in the variable GPU_INSTANCE, and the
    /// count in GPU_INSTANCES.
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "stdin_lines"], help_heading = INPUTS)]
    pub instances: Option<u64>,
    /// Run the inputs of one part of N, with I from 0: so several machines share the work. auto takes both from Slurm, an
    /// indexed Job of Kubernetes, or SHARD_INDEX and SHARD_COUNT.
    #[arg(long, value_name = "I/N|auto", help_heading = INPUTS)]
    pub shard: Option<ShardChoice>,
    /// Call this export once before the first process. What it leaves in memory is what all processes begin with.
    #[arg(long, value_name = "EXPORT", help_heading = INPUTS)]
    pub snapshot_at: Option<String>,
    /// Write what each process wrote into this directory: NAME.out, NAME.err if there is something, and NAME.exit with
    /// its exit code, which comes last. Left out, it goes to stdout and stderr, in the order of the inputs.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = OUTPUTS)]
    pub out_dir: Option<PathBuf>,
    /// The same, but leave out inputs of which the directory has the exit code.
    #[arg(long, value_name = "DIR", conflicts_with = "out_dir", value_hint = ValueHint::DirPath, help_heading = OUTPUTS)]
    pub resume: Option<PathBuf>,
    /// Write what processes wrote to standard output into this file, in the order of the inputs; - is stdout. What they
    /// wrote to standard error goes to stderr all the same.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out_dir", "resume"], value_hint = ValueHint::FilePath, help_heading = OUTPUTS)]
    pub out: Option<PathBuf>,
    /// How processes are reported: text, a summary with the first failures; json, an object for each on a line of stderr;
    /// json:FILE, the same in a file.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = OUTPUTS)]
    pub report: Target<ReportFormat>,
    /// Name the N processes that took longest, and say how long others took; with a profile also where their time went
    /// [default: none; with a profile of samples 10].
    #[arg(long, value_name = "N", help_heading = OUTPUTS)]
    slowest: Option<usize>,
    /// Begin no process after one has failed, and stop the others.
    #[arg(long, help_heading = OUTPUTS)]
    pub fail_fast: bool,
    /// Run processes once more that have failed on a GPU: cpu, on the CPU.
    #[arg(long, value_name = "WHERE", value_enum, help_heading = OUTPUTS)]
    pub retry: Option<Retry>,
    /// A program that processes may start by gpu_std::process::Command: NAME=FILE.wasm, or a directory for each of its
    /// .wasm files by its name. May be repeated. Processes are then interpreted.
    #[arg(long = "program", value_name = "NAME=FILE|DIR", help_heading = INPUTS)]
    pub programs: Vec<OsString>,
    #[command(flatten)]
    pub devices: DevicesArgs,
    /// How long to wait for the compiler of the PTX engine before the program is interpreted.
    #[arg(long, value_name = "DURATION", default_value_t = COMPILE_TIME.into(), help_heading = LIMITS)]
    pub compile_time: humantime::Duration,
    #[command(flatten)]
    pub tuning: TuningArgs,
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// Processes that run at the same time at most [default: as many as the device has lanes and memory for].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub jobs: Option<u32>,
    /// Bytes of memory that a process may have [default: little at first; a process for which that was too little runs
    /// once more with more].
    #[arg(long, value_name = "SIZE", help_heading = LIMITS)]
    pub instance_memory: Option<ByteSize>,
    /// Stop a process after this time: 500ms, 2s, 1m 30s.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = LIMITS)]
    pub instance_timeout: Option<Duration>,
    /// Let a process run for so many units of fuel; one that needs more traps. An entry into a function and a pass of a loop
    /// cost about a unit for each of their instructions, and the same on every engine.
    #[arg(long, value_name = "UNITS", help_heading = LIMITS)]
    pub fuel: Option<u64>,
    /// Calls that may be open at once in a process; one more is a trap.
    #[arg(long, value_name = "N", default_value_t = CALL_DEPTH, help_heading = LIMITS)]
    pub max_call_depth: u32,
    #[command(flatten)]
    pub profile: ProfileOptions,
}

/// What runs a batch.
#[derive(Args, Clone)]
#[command(next_help_heading = DEVICE)]
pub struct DevicesArgs {
    /// What runs the processes: auto (a GPU if there is one), cpu, cuda or cuda:N; cuda:all for all GPUs, or several with
    /// commas between them. They share the inputs, and a slower one takes fewer.
    #[arg(long, value_name = "DEVICES", default_value = "auto", value_delimiter = ',', value_parser = DeviceChoice::from_str)]
    device: Vec<DeviceChoice>,
    /// How they are run.
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Auto)]
    pub engine: Engine,
}

impl DevicesArgs {
    /// What a run on one device takes.
    pub fn of(device: &DeviceArgs) -> DevicesArgs {
        DevicesArgs {
            device: vec![DeviceChoice::One(device.device)],
            engine: device.engine,
        }
    }

    /// Each device that is named.
    ///
    /// # Errors
    ///
    /// All GPUs are asked for, and the driver cannot name them.
    pub fn each(&self) -> Result<Vec<DeviceArgs>, DeviceError> {
        let mut kinds = Vec::new();
        for choice in &self.device {
            match choice {
                DeviceChoice::One(kind) => kinds.push(*kind),
                DeviceChoice::AllGpus => {
                    let gpus = gpu_run_vm::devices()?;
                    kinds.extend(gpus.iter().map(|gpu| DeviceKind::Cuda(gpu.ordinal)));
                    // Then opening it says what is wrong.
                    if gpus.is_empty() {
                        kinds.push(DeviceKind::Cuda(0));
                    }
                }
            }
        }
        let of = |device| DeviceArgs {
            device,
            engine: self.engine,
        };
        Ok(kinds.into_iter().map(of).collect())
    }
}

/// A device, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceChoice {
    One(DeviceKind),
    AllGpus,
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        match text {
            "cuda:all" => Ok(DeviceChoice::AllGpus),
            _ => DeviceKind::from_str(text)
                .map(DeviceChoice::One)
                .map_err(|_| "expected auto, cpu, cuda, cuda:N or cuda:all".into()),
        }
    }
}

/// Where what has failed is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Retry {
    Cpu,
}

/// Which inputs are run of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardChoice {
    /// As the variables of a scheduler say.
    Auto,
    /// Those whose number leaves this remainder when divided.
    Of(Shard),
}

/// One part of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub index: u64,
    pub count: u64,
}

impl Shard {
    /// Whether an input belongs to it.
    pub fn has(self, number: u64) -> bool {
        number % self.count == self.index
    }

    /// A part of so many, if there is one of this number.
    pub fn new(index: u64, count: u64) -> Option<Shard> {
        (index < count).then_some(Shard { index, count })
    }
}

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<ShardChoice, String> {
        if text == "auto" {
            return Ok(ShardChoice::Auto);
        }
        let parts = text.split_once('/').and_then(|(index, count)| {
            let (index, count) = (index.parse().ok()?, count.parse().ok()?);
            Shard::new(index, count)
        });
        parts
            .map(ShardChoice::Of)
            .ok_or_else(|| "expected I/N with I from 0 to N - 1, or auto".into())
    }
}

impl BatchArgs {
    /// What `gpu-run run --instances` means.
    pub fn of_run(args: &RunArgs, instances: u64) -> BatchArgs {
        BatchArgs {
            words: args.words().to_vec(),
            from: None,
            stdin_lines: false,
            instances: Some(instances),
            shard: None,
            snapshot_at: None,
            out: None,
            out_dir: None,
            resume: None,
            report: args.report.clone(),
            slowest: None,
            fail_fast: false,
            retry: None,
            programs: Vec::new(),
            devices: DevicesArgs::of(&args.device),
            compile_time: args.compile_time.max(COMPILE_TIME).into(),
            tuning: args.tuning.clone(),
            environment: args.environment.clone(),
            jobs: None,
            instance_memory: args.max_memory,
            instance_timeout: args.timeout,
            fuel: args.passes.fuel,
            max_call_depth: args.max_call_depth,
            profile: args.profile.clone(),
        }
    }

    /// The module's path.
    pub fn module(&self) -> &Path {
        Path::new(self.words.first().map_or(OsStr::new(""), |word| word))
    }

    /// How many of the processes that took longest are named.
    pub fn slowest(&self) -> usize {
        let default = match self.profile.mode() {
            Some(ProfileMode::Sample) => SLOWEST,
            _ => 0,
        };
        self.slowest.unwrap_or(default)
    }

    fn separator(&self) -> Option<usize> {
        self.words.iter().position(|word| word == SEPARATOR)
    }

    /// The arguments of each process.
    pub fn args(&self) -> &[OsString] {
        let end = self.separator().unwrap_or(self.words.len());
        self.words.get(1..end).unwrap_or_default()
    }

    /// The inputs that stand on the command line, if some may.
    pub fn given_inputs(&self) -> Option<&[OsString]> {
        self.separator().map(|at| &self.words[at + 1..])
    }

    /// Whether the input is part of an argument.
    pub fn has_place(&self) -> bool {
        self.args()
            .iter()
            .any(|arg| arg.to_str().is_some_and(|arg| arg.contains(INPUT)))
    }

    /// The file to which outputs go, if not to stdout or a directory.
    pub fn out_file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// The directory to which outputs go, if they do.
    pub fn directory(&self) -> Option<&Path> {
        self.out_dir.as_deref().or(self.resume.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_parts_of_a_whole() {
        assert_eq!("auto".parse(), Ok(ShardChoice::Auto));
        assert_eq!("0/1".parse(), Ok(ShardChoice::Of(Shard { index: 0, count: 1 })));
        assert_eq!("3/4".parse(), Ok(ShardChoice::Of(Shard { index: 3, count: 4 })));
        for bad in ["", "1", "4/4", "1/0", "-1/2", "a/b", "1/2/3"] {
            assert!(bad.parse::<ShardChoice>().is_err(), "{bad}");
        }
        let of = |index| (0..10).filter(|number| Shard { index, count: 3 }.has(*number)).count();
        assert_eq!((of(0), of(1), of(2)), (4, 3, 3));
    }
}
