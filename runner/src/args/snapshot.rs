//! The words of `gpu-run snapshot`.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use crate::cli::EnvironmentArgs;

#[derive(Args)]
pub struct SnapshotArgs {
    /// WebAssembly module (.wasm or .wat), or - to read it from stdin.
    pub module: PathBuf,
    /// Where to write the program [default: the module's name with .gbc].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Call this export, without arguments [default: none but `_initialize`, if there is one].
    #[arg(long, value_name = "EXPORT")]
    pub at: Option<String>,
    /// Stop it after this time: 500ms, 2s, 1m 30s.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// Units of fuel: processes have what the initialization leaves of them.
    #[arg(long, value_name = "UNITS")]
    pub fuel: Option<u64>,
    /// Bytes that a memory may have [default: what the module declares, else 1 GiB, and 4 GiB for programs for WASI].
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<ByteSize>,
    #[command(flatten)]
    pub environment: EnvironmentArgs,
}
