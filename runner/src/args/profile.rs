//! The options of profiles.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use gpu_run::compile::{Choice, Reason};

use crate::calls::grouped;
use crate::cli::RunArgs;
use crate::metrics::Place;
use crate::report::{Outcome, Report, warn};

/// Where profiles go, and how they are taken.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Profile")]
pub struct ProfileOptions {
    /// Write a profile of the program to FILE, by default of where its time went, in the format that its name says: .svg, a
    /// flame graph; .json, for the Firefox Profiler; .speedscope.json; .trace.json, for Chrome and Perfetto; .folded, a line
    /// for each stack; of a heap also .massif, for massif-visualizer. May be given several times.
    #[arg(long = "profile", value_name = "FILE", value_parser = parse_file, value_hint = ValueHint::FilePath)]
    pub files: Vec<ProfileFile>,
    /// Samples that are taken in a second of each thread's time, 1 to 1000000.
    #[arg(long = "profile-rate", value_name = "HZ", default_value_t = RATE, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate: u32,
    /// What a profile shows.
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub profile_mode: ProfileMode,
    /// Put the lines of the program's DWARF into compiled code, for CUDA's tools such as Nsight Compute. What runs is the
    /// same.
    #[arg(long)]
    pub line_info: bool,
    /// Tell what the program does while it runs, as OpenMetrics text for Prometheus: at http://ADDR:PORT/metrics, or in FILE,
    /// which is written anew twice a second.
    #[arg(long, value_name = "ADDR:PORT|FILE", value_hint = ValueHint::FilePath)]
    pub metrics: Option<Place>,
    /// Show what the program does while it runs, on the last lines of the terminal: threads, heap, requests, output; with
    /// `gpu-run profile` the functions with most samples too.
    #[arg(long)]
    pub live: bool,
    /// A table is printed when the program has ended.
    #[arg(skip)]
    pub table: bool,
}

/// What a profile shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileMode {
    /// Where threads' time went, by samples
    #[default]
    Sample,
    /// Which operations were executed: each is counted
    Count,
    /// As count, and how many lanes of a warp were together: few where they took different ways
    Lanes,
    /// What the heap held when it held most, by the calls that allocated it
    Heap,
}

/// Samples a second. On one lane of a GPU a sample takes some microseconds.
const RATE: u32 = 1000;

impl ProfileOptions {
    /// What is wanted of a profile, if one is.
    pub fn mode(&self) -> Option<ProfileMode> {
        (self.table || !self.files.is_empty()).then_some(self.profile_mode)
    }

    /// Checks that the options are of one profile, and that something shows it.
    ///
    /// # Errors
    ///
    /// They are not, or nothing does.
    pub fn check(&self) -> Outcome<()> {
        if self.profile_mode != ProfileMode::Sample && self.mode().is_none() {
            return Err(Report::new("--profile-mode needs a profile")
                .help("`gpu-run profile` prints a table, and --profile FILE writes a file"));
        }
        let mut massif = self.files.iter().filter(|file| file.format == ProfileFormat::Massif);
        match massif.next() {
            Some(file) if self.profile_mode != ProfileMode::Heap => {
                Err(Report::new("a .massif file is of a heap, and this profile is none")
                    .at(file.path.display().to_string())
                    .help("--profile-mode heap"))
            }
            _ => Ok(()),
        }
    }

    /// Warns that a program is interpreted whose profile is wanted, although a run without one would be compiled sooner or
    /// later.
    pub fn warn_of(&self, choice: &Choice) {
        if let (Some(ProfileMode::Sample | ProfileMode::Count | ProfileMode::Lanes), Err(Reason::Slow { words, .. })) =
            (self.mode(), &choice.code)
        {
            warn(&format!(
                "the profile is of the interpreter, as compiling {} words of bytecode takes long; \
                 `--engine ptx --compile-time 10m` waits for the compiler",
                grouped(*words as u64)
            ));
        }
    }

    /// The time between two samples.
    pub fn period(&self) -> Duration {
        Duration::from_secs_f64(1.0 / f64::from(self.rate))
    }
}

/// `gpu-run profile`.
#[derive(Args)]
#[command(override_usage = "gpu-run profile [OPTIONS] <MODULE> [ARGS]...\n       gpu-run profile --compare <A> <B>")]
pub struct ProfileArgs {
    /// Show what is different in two profiles that --profile has written, as .folded or .speedscope.json, in place of
    /// running something.
    #[arg(long, num_args = 2, value_names = ["A", "B"], exclusive = true, value_hint = ValueHint::FilePath)]
    pub compare: Vec<PathBuf>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// A format of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    FlameGraph,
    Firefox,
    Speedscope,
    ChromeTrace,
    Folded,
    Massif,
}

impl ProfileFormat {
    /// The format that a file's name says.
    pub fn of(path: &Path) -> Option<ProfileFormat> {
        let name = path.file_name().and_then(OsStr::to_str)?.to_ascii_lowercase();
        // A longer ending comes before one that it ends with.
        let formats = [
            (".svg", ProfileFormat::FlameGraph),
            (".speedscope.json", ProfileFormat::Speedscope),
            (".trace.json", ProfileFormat::ChromeTrace),
            (".json", ProfileFormat::Firefox),
            (".folded", ProfileFormat::Folded),
            (".massif", ProfileFormat::Massif),
        ];
        let found = formats.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, format)| *format)
    }
}

/// A file for a profile.
#[derive(Clone, Debug)]
pub struct ProfileFile {
    pub path: PathBuf,
    pub format: ProfileFormat,
}

fn parse_file(text: &str) -> Result<ProfileFile, String> {
    let path = PathBuf::from(text);
    let mode = ProfileMode::from_str(text, false);
    match (ProfileFormat::of(&path), mode) {
        (Some(format), _) => Ok(ProfileFile { path, format }),
        (None, Ok(_)) => Err(format!(
            "it takes a file; `gpu-run profile --profile-mode {text}` prints a table of that"
        )),
        (None, Err(_)) => {
            Err("its name ends with none of .svg, .json, .speedscope.json, .trace.json, .folded, .massif".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_format() {
        let of = |name: &str| ProfileFormat::of(Path::new(name));
        assert_eq!(of("a/b.svg"), Some(ProfileFormat::FlameGraph));
        assert_eq!(of("b.json"), Some(ProfileFormat::Firefox));
        assert_eq!(of("b.Speedscope.json"), Some(ProfileFormat::Speedscope));
        assert_eq!(of("b.trace.json"), Some(ProfileFormat::ChromeTrace));
        assert_eq!(of("b.folded"), Some(ProfileFormat::Folded));
        assert_eq!(of("b.txt"), None);
        assert_eq!(of(""), None);
    }
}
