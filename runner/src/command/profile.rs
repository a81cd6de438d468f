//! `gpu-run profile`: a run of which samples are taken, or two profiles beside each other.

use std::path::Path;
use std::process::ExitCode;

use super::batch::batch;
use crate::batch_args::BatchArgs;
use crate::profile::{Profile, differences, read};
use crate::profile_args::ProfileArgs;
use crate::report::Outcome;
use crate::sink::write_stdout;
use crate::{files, run};

/// Runs a module and prints where its time went.
pub fn profile(args: &mut ProfileArgs) -> Outcome<ExitCode> {
    if let [before, after] = &args.compare[..] {
        let (old, new) = (load(before)?, load(after)?);
        for (path, profile) in [(before, &old), (after, &new)] {
            if profile.samples() == 0 {
                tracing::warn!("the profile {} has no samples", path.display());
            }
        }
        if old.unit.differs(new.unit) {
            tracing::warn!(
                "the profiles are of different things: {} and {}",
                old.unit.name(),
                new.unit.name()
            );
        }
        let rows = differences(&old, &new);
        write_stdout((rows.join("\n") + "\n").as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    args.run.profile.table = true;
    match args.run.instances {
        None => run::run(&mut args.run),
        Some(instances) => batch(&BatchArgs::of_run(&args.run, instances)),
    }
}

fn load(path: &Path) -> Outcome<Profile> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| read(path, &text))
        .map_err(|error| files::failed("cannot read the profile", path, &error))
}
