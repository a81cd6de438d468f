//! Warnings and notes of the runtime: events of the crate `tracing`, shown on stderr.

use std::ffi::OsStr;
use std::fmt::{Debug, Write as _};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::cli::MessageArgs;
use crate::output;
use crate::report::{Outcome, Report};

/// What is shown: a level, or levels by crate, as `warn,gpu_run_vm=debug`.
const FILTER: &str = "GPU_RUN_LOG";

/// The crates that say something.
const CRATES: [&str; 3] = ["gpu_run", "gpu_run_translator", "gpu_run_vm"];

/// The levels, from the one that shows least.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Whether notes that are no warnings are left out as well.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Whether only errors are to be shown.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Shows warnings from here on, or what the options ask for. Without them the environment chooses.
///
/// # Errors
///
/// A filter in the environment that cannot be read, whether it is needed or not.
pub fn start(options: &MessageArgs) -> Outcome<()> {
    let chosen = std::env::var_os(FILTER).filter(|text| !text.is_empty());
    let chosen = chosen.map(|text| filter(&text)).transpose()?;
    QUIET.store(options.quiet, Ordering::Relaxed);
    let level = match (options.quiet, options.verbose) {
        (true, _) => Some(LevelFilter::ERROR),
        (_, 0) => None,
        (_, 1) => Some(LevelFilter::INFO),
        (_, 2) => Some(LevelFilter::DEBUG),
        _ => Some(LevelFilter::TRACE),
    };
    let by_option = level.map(|level| {
        // Other crates have no messages for users of this one.
        let crates = CRATES.map(|name| (name, level));
        Targets::new().with_targets(crates)
    });
    let filter = by_option
        .or(chosen)
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    // It is set once; a second time changes nothing.
    _ = Registry::default().with(Stderr.with_filter(filter)).try_init();
    Ok(())
}

/// Reads a filter: parts with commas between them, each a level, or a crate and its level.
fn filter(text: &OsStr) -> Outcome<Targets> {
    let refused = |why: String| {
        let (levels, crates) = (LEVELS.join(", "), CRATES.join(", "));
        Report::new(format!("{FILTER}={} is no filter: {why}", text.display())).help(format!(
            "write a level ({levels}), or CRATE=LEVEL with a crate of {crates}, or several of these with commas"
        ))
    };
    let Some(text) = text.to_str() else {
        return Err(refused("it is not UTF-8".into()));
    };
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (target, level) = match part.split_once('=') {
            Some((target, level)) => (Some(target), level),
            None => (None, part),
        };
        let of_ours = |target: &str| CRATES.contains(&target.split("::").next().unwrap_or_default());
        if let Some(target) = target.filter(|target| !of_ours(target)) {
            return Err(refused(format!("there is no crate `{target}`")));
        }
        if !LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level)) {
            return Err(refused(format!("there is no level `{level}`")));
        }
    }
    text.parse::<Targets>().map_err(|error| refused(error.to_string()))
}

/// Shows an event as a line.
struct Stderr;

impl<S: Subscriber> Layer<S> for Stderr {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let (message, fields) = (text.message, text.fields);
        // That nobody reads is no error.
        _ = match *event.metadata().level() {
            Level::ERROR => writeln!(
                output::styled(),
                "\x1b[1;31merror\x1b[0m\x1b[1m: {message}\x1b[0m{fields}"
            ),
            Level::WARN => writeln!(
                output::styled(),
                "\x1b[1;33mwarning\x1b[0m\x1b[1m: {message}\x1b[0m{fields}"
            ),
            Level::INFO => writeln!(output::styled(), "gpu-run: {message}{fields}"),
            _ => writeln!(output::styled(), "{}: {message}{fields}", event.metadata().target()),
        };
    }
}

/// The parts of an event.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to memory does not fail.
        _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_name_levels_and_crates() {
        for good in [
            "warn",
            "INFO",
            "off",
            "warn,gpu_run_vm=debug",
            "gpu_run_vm::store=trace",
            "",
        ] {
            assert!(filter(good.as_ref()).is_ok(), "{good}");
        }
        for bad in ["loud", "gpu_run=loud", "gpu_run", "wasmtime=info", "warn,5"] {
            let report = filter(bad.as_ref()).map(drop).expect_err(bad);
            assert!(report.message.starts_with(&format!("GPU_RUN_LOG={bad} is no filter")));
        }
    }
}
