//! Lines on the terminal that tell how far a work is.

use std::io::IsTerminal;
use std::sync::Mutex;

use gpu_run::compile::Compiling;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::calls::grouped;
use crate::cli::FileArgs;
use crate::log;

/// Whether a line on stderr is seen as one that changes.
pub fn is_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// A line of `template`, of `len` steps. `{rate}` says how many of them a second.
fn line(len: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        _ = write!(out, "{} a second", grouped(state.per_sec() as u64));
    };
    bar.set_style(style.with_key("rate", rate));
    bar
}

/// The line that tells how much of the frame is done; `None` where it would not be seen.
pub fn of_frame(args: &FileArgs) -> Option<ProgressBar> {
    if args.frame.is_none() || !is_seen() {
        return None;
    }
    let pixels = args.size.width as u64 * args.size.height as u64;
    Some(line(pixels, "{bar:40} {percent:>3} % of {len} pixels, {elapsed}"))
}

/// The line that tells how many processes of a batch have ended, of so many if that is known; `None` where it would not be
/// seen.
pub fn of_batch(processes: Option<u64>) -> Option<ProgressBar> {
    if !is_seen() {
        return None;
    }
    Some(match processes {
        Some(len) => line(
            len,
            "{bar:40} {human_pos} of {human_len} processes, {rate}, {eta} left  {msg}",
        ),
        None => line(0, "{spinner} {human_pos} processes, {rate}, {elapsed}  {msg}"),
    })
}

/// Shows how far the compiler is, for [`Config::on_compile`](gpu_run::Config::on_compile); `None` where that would not be
/// seen.
pub fn of_compiler() -> Option<impl Fn(Option<Compiling>) + Send + Sync> {
    if !is_seen() || log::is_quiet() {
        return None;
    }
    let shown = Mutex::new(None);
    Some(move |work: Option<Compiling>| {
        let mut shown = shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match work {
            None => drop(shown.take().inspect(ProgressBar::finish_and_clear)),
            Some(work) => {
                let bar = shown.get_or_insert_with(|| line(0, "{bar:40} {msg}"));
                bar.set_message(message(&work));
                bar.set_length((work.elapsed + work.left()).as_millis() as u64);
                bar.set_position(work.elapsed.as_millis() as u64);
            }
        }
    })
}

/// How far the compiler is, for people.
fn message(work: &Compiling) -> String {
    let words = grouped(work.words as u64);
    let left = work.left().as_secs_f64().max(1.0);
    match work.parts {
        Some((done, all)) => format!("compiling {words} words: {done} of {all} parts, about {left:.0} s left"),
        None => format!("compiling {words} words, about {left:.0} s left"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_compilers_work_is_parts_and_the_time_that_is_left() {
        let mut work = gpu_run::compile::expected(&Default::default());
        assert_eq!(message(&work), "compiling 0 words, about 1 s left");
        work.elapsed = Duration::from_secs(2);
        work.parts = Some((0, 40));
        assert_eq!(message(&work), "compiling 0 words: 0 of 40 parts, about 1 s left");
        work.parts = Some((16, 40));
        assert_eq!(message(&work), "compiling 0 words: 16 of 40 parts, about 3 s left");
    }
}
