//! `gpu-run profile`: a run of which samples are taken, or two profiles beside each other.

use std::path::Path;
use std::process::ExitCode;

use crate::profile::{Profile, differences, read};
use crate::profile_args::ProfileArgs;
use crate::report::Outcome;
use crate::sink::write_stdout;
use crate::{files, run};

/// Runs a module and prints where its time went.
pub fn profile(args: &mut ProfileArgs) -> Outcome<ExitCode> {
    if let [before, after] = &args.compare[..] {
        let rows = differences(&load(before)?, &load(after)?);
        write_stdout((rows.join("\n") + "\n").as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    args.run.profile.table = true;
    run::run(&mut args.run)
}

fn load(path: &Path) -> Outcome<Profile> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| read(path, &text))
        .map_err(|error| files::failed("cannot read the profile", path, &error))
}
