//! The profile of a batch: what its devices tell of their processes, put together.

use gpu_run::{Batch, Counted, Counts, Samples};

use super::programs::Named;
use crate::batch_args::BatchArgs;
use crate::lines::LineSource;
use crate::profile::{BatchProfile, Profile, Sources};
use crate::profile_args::ProfileMode;
use crate::report::{Outcome, Report};

/// What a device tells of its processes.
pub enum Told {
    Samples(Samples),
    Counts(Vec<Counts>),
}

/// What the devices have told so far.
#[derive(Default)]
pub struct Gathered {
    samples: Option<Samples>,
    counts: Vec<Vec<Counts>>,
}

/// A profile as it is shown.
pub struct Shown {
    /// What the table is of.
    pub printed: Profile,
    /// What is written to files, if that is something else.
    pub by_process: Option<Profile>,
    /// Where the slowest processes spent their time, in their order.
    pub functions: Vec<String>,
}

impl Shown {
    /// What is written to files.
    pub fn written(&self) -> &Profile {
        self.by_process.as_ref().unwrap_or(&self.printed)
    }
}

/// Checks what is wanted of a profile.
pub fn check(args: &BatchArgs) -> Outcome<()> {
    args.profile.check()?;
    match args.profile.profile_mode {
        ProfileMode::Heap => Err(Report::new("a batch has no profile of heaps")
            .help("its processes use allocators of their own; `gpu-run profile --profile-mode heap` runs one process")),
        _ => Ok(()),
    }
}

/// A batch of which the profile is made that is wanted. `told` is passed what its device tells.
pub fn profiled<'b>(batch: Batch<'b>, args: &BatchArgs, told: impl FnOnce(Told) + 'b) -> Batch<'b> {
    match args.profile.mode() {
        None | Some(ProfileMode::Heap) => batch,
        Some(ProfileMode::Sample) => {
            let told = |samples| told(Told::Samples(samples));
            batch.take_samples(args.profile.period(), args.slowest(), told)
        }
        Some(ProfileMode::Count) => batch.count_blocks(Counted::Lanes, |counts| told(Told::Counts(counts))),
        Some(ProfileMode::Lanes) => batch.count_blocks(Counted::LanesAndWarps, |counts| told(Told::Counts(counts))),
    }
}

/// What tells the lines of a batch's program, and of those that its processes start.
pub fn sources<'s>(lines: &'s LineSource, programs: &'s [Named]) -> Sources<'s> {
    let mut sources = Sources::of(lines);
    for program in programs {
        sources.push(&program.name, &program.lines);
    }
    sources
}

impl Gathered {
    /// Adds what a device has told.
    pub fn take(&mut self, told: Told) {
        match told {
            Told::Counts(counts) => self.counts.push(counts),
            Told::Samples(samples) => match &mut self.samples {
                None => self.samples = Some(samples),
                Some(all) => {
                    all.groups.extend(samples.groups);
                    all.lost += samples.lost;
                }
            },
        }
    }

    /// The profile of so many processes, with the samples of the slowest; `None` where nothing was told.
    pub fn finish(
        self,
        title: String,
        slowest: Vec<(String, Samples)>,
        processes: u64,
        sources: &Sources<'_>,
    ) -> Option<Shown> {
        if let Some(samples) = self.samples {
            let profile = BatchProfile::new(title, samples, slowest, processes, sources);
            return Some(Shown {
                printed: profile.all,
                by_process: Some(profile.by_process),
                functions: profile.functions,
            });
        }
        let of_devices = (!self.counts.is_empty()).then_some(self.counts)?;
        Some(Shown {
            printed: Profile::of_counts(title, of_devices, sources),
            by_process: None,
            functions: Vec::new(),
        })
    }
}
