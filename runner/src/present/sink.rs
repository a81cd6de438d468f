//! What a run says to programs: JSON objects, each a line of stderr or of a file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Serialize;

use crate::cli::{ReportFormat, StatsFormat};
use crate::json::{self, Numbered};
use crate::output;
use crate::report::{Outcome, Report, warn};

/// A format, and where objects of it go: `FORMAT`, or `json:FILE`.
#[derive(Clone, Debug)]
pub struct Target<F> {
    pub format: F,
    /// Without one they go to stderr.
    file: Option<PathBuf>,
}

impl<F> From<F> for Target<F> {
    fn from(format: F) -> Target<F> {
        Target { format, file: None }
    }
}

/// Both kinds of target compare as their formats.
impl<F: PartialEq> PartialEq<F> for Target<F> {
    fn eq(&self, format: &F) -> bool {
        self.format == *format
    }
}

impl FromStr for Target<ReportFormat> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, json_file(text)) {
            ("text", _) => Ok(ReportFormat::Text.into()),
            ("json", _) => Ok(ReportFormat::Json.into()),
            (_, Some(file)) => Ok(Target {
                format: ReportFormat::Json,
                file: Some(file),
            }),
            _ => Err("expected text, json or json:FILE".into()),
        }
    }
}

impl FromStr for Target<StatsFormat> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, json_file(text)) {
            ("text", _) => Ok(StatsFormat::Text.into()),
            ("full", _) => Ok(StatsFormat::Full.into()),
            ("json", _) => Ok(StatsFormat::Json.into()),
            (_, Some(file)) => Ok(Target {
                format: StatsFormat::Json,
                file: Some(file),
            }),
            _ => Err("expected text, full, json or json:FILE".into()),
        }
    }
}

/// The file of `json:FILE`.
fn json_file(text: &str) -> Option<PathBuf> {
    let file = text.strip_prefix("json:")?;
    (!file.is_empty()).then(|| file.into())
}

impl<F> Target<F> {
    /// Empties the file, if there is one, so that nothing in it is older than the run.
    ///
    /// # Errors
    ///
    /// It cannot be written; `option` is how it was named.
    pub fn prepare(&self, option: &str) -> Outcome<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let error = |error| Report::new(format!("cannot write the file of {option}: {error}"));
        File::create(file)
            .map(drop)
            .map_err(|found| error(found).at(file.display().to_string()))
    }

    /// Writes an object, with the number of its form in front.
    pub fn put(&self, object: impl Serialize) {
        let line = json::line(&Numbered::new(object));
        let Some(file) = &self.file else {
            note!("{line}");
            return;
        };
        let opened = OpenOptions::new().append(true).create(true).open(file);
        if let Err(error) = opened.and_then(|mut file| writeln!(file, "{line}")) {
            warn(&format!("{} could not be written: {error}", file.display()));
        }
    }
}

/// Writes to stdout; that a reader has gone is no error.
pub fn write_stdout(bytes: &[u8]) -> Outcome<()> {
    let mut stdout = output::stdout();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Report::new(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        let report = |text: &str| text.parse::<Target<ReportFormat>>();
        assert!(report("json").is_ok_and(|target| target == ReportFormat::Json && target.file.is_none()));
        assert!(report("json:a:b").is_ok_and(|target| target.file == Some("a:b".into())));
        assert!(report("text").is_ok_and(|target| target == ReportFormat::Text));
        for bad in ["", "json:", "text:x", "full"] {
            assert!(report(bad).is_err(), "{bad}");
        }
        assert!("full".parse::<Target<StatsFormat>>().is_ok());
    }
}
