//! Warnings and notes of the runtime: events of the crate `tracing`, shown on stderr.

use std::ffi::OsStr;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;
use tracing::field::Field;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::cli::MessageArgs;
use crate::output::{self, ERROR, STRONG, WARNING};
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
    let lines = tracing_subscriber::fmt::layer()
        .event_format(Line)
        .fmt_fields(debug_fn(field))
        .with_writer(output::styled)
        // A closed stream is no error.
        .log_internal_errors(false);
    // It is set once; a second time changes nothing.
    _ = Registry::default().with(lines.with_filter(filter)).try_init();
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

/// Writes a field of an event: its message, which comes first, and what the library knows by the name of no option.
fn field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    match field.name() {
        "message" => {}
        "allow_net" => write!(to, ": that needs --allow-net ")?,
        name => write!(to, " {name}=")?,
    }
    // What a guest has named is no command to the terminal.
    for character in format!("{value:?}").chars() {
        match character.is_control() && !matches!(character, '\n' | '\t') {
            true => write!(to, "{}", character.escape_default())?,
            false => to.write_char(character)?,
        }
    }
    Ok(())
}

/// Writes an event as a line.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let (word, style, message) = match *event.metadata().level() {
            Level::ERROR => ("error", ERROR, STRONG),
            Level::WARN => ("warning", WARNING, STRONG),
            Level::INFO => ("gpu-run", Style::new(), Style::new()),
            _ => (event.metadata().target(), Style::new(), Style::new()),
        };
        write!(to, "{style}{word}{style:#}{message}: ")?;
        context.format_fields(to.by_ref(), event)?;
        writeln!(to, "{message:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        use std::sync::{Arc, Mutex};
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let lines = {
            let written = written.clone();
            tracing_subscriber::fmt::layer()
                .event_format(Line)
                .fmt_fields(debug_fn(field))
                .with_writer(move || Shared(written.clone()))
        };
        tracing::subscriber::with_default(Registry::default().with(lines), || {
            tracing::warn!(allow_net = %"a\u{9b}b", "the path \u{1b}]0;x\u{7}\tends");
        });
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let plain = text.contains("the path \\u{1b}]0;x\\u{7}\tends: that needs --allow-net a\\u{9b}b");
        assert!(plain && text.ends_with('\n'), "{text:?}");

        struct Shared(Arc<Mutex<Vec<u8>>>);

        impl std::io::Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
    }

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
