//! Warnings and notes of the runtime: events of the crate `tracing`, shown on stderr.

use std::fmt::{Debug, Write as _};
use std::io::Write;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::output;
use crate::report::{Outcome, Report};

/// What is shown: a level, or levels by crate, as `warn,gpu_run_vm=debug`.
const FILTER: &str = "GPU_RUN_LOG";

/// Shows warnings from here on; with `verbose` what is done on the way, too. The environment has the last word.
///
/// # Errors
///
/// A filter that cannot be read.
pub fn start(verbose: bool) -> Outcome<()> {
    let filter = match std::env::var(FILTER) {
        Ok(text) => text.parse::<Targets>().map_err(|error| {
            Report::new(format!("{FILTER}={text} is no filter: {error}")).help("write info, or gpu_run_vm=debug")
        })?,
        Err(_) if verbose => Targets::new().with_default(LevelFilter::INFO),
        Err(_) => Targets::new().with_default(LevelFilter::WARN),
    };
    // It is set once; a second time changes nothing.
    _ = Registry::default().with(Stderr.with_filter(filter)).try_init();
    Ok(())
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
