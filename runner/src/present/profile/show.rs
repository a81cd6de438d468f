//! Where profiles go: a table on stderr, and files.

use std::io::{BufWriter, Write};

use super::{Profile, table, write};
use crate::files::{Target, failed};
use crate::profile_args::ProfileOptions;
use crate::report::{Outcome, code};

/// Opens the files of `--profile`, in their order, so that it is known that they can be written.
///
/// # Errors
///
/// One of them cannot.
pub fn open(options: &ProfileOptions) -> Outcome<Vec<Target>> {
    let targets = options.files.iter().map(|file| {
        Target::open(&file.path).map_err(|error| failed("cannot write the file of --profile", &file.path, &error))
    });
    targets.collect()
}

/// Prints the table of a profile, if that is wanted, and writes another, or the same, to the files that [`open`] has opened.
///
/// # Errors
///
/// A file cannot be written.
pub fn show(options: &ProfileOptions, printed: &Profile, written: &Profile, targets: Vec<Target>) -> Outcome<()> {
    if options.table {
        note!("{}", table(printed).join("\n"));
    } else if printed.samples() == 0 {
        tracing::warn!("{}", table(printed).join("\n"));
    }
    for (file, target) in options.files.iter().zip(targets) {
        let result = target.replace(|target| {
            let mut to = BufWriter::new(target);
            write(written, file.format, &mut to)?;
            to.flush()
        });
        result.map_err(|error: std::io::Error| {
            failed("the profile could not be written", &file.path, &error).code(code::LOST)
        })?;
    }
    Ok(())
}
