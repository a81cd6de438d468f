//! `gpu-run profile`: a run of which samples are taken, or two profiles beside each other.

use std::path::Path;
use std::process::ExitCode;

use crate::profile::{Profile, differences, read};
use crate::profile_args::ProfileArgs;
use crate::report::{Outcome, Report};
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
    if args.run.instances.is_some() {
        return Err(Report::new("a profile is of one process")
            .help("`gpu-run batch --slowest N` names the processes of a batch that took longest"));
    }
    args.run.profile.table = true;
    run::run(&mut args.run)
}

fn load(path: &Path) -> Outcome<Profile> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| read(path, &text))
        .map_err(|error| files::failed("cannot read the profile", path, &error))
}
