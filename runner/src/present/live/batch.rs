//! `--live` of a batch.

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Duration;

use bytesize::ByteSize;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Color;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget};

use super::{EVERY, curve, frame, gauge, keep, put};
use crate::calls::grouped;
use crate::processes::{Processes, Seen, Watch};
use crate::{output, view};

/// Rows of it.
const HEIGHT: u16 = 9;

/// Shows what the processes of a batch do, until the result is dropped; `None` where stderr is no terminal.
pub fn of_batch(title: String, seen: &Seen) -> Option<Watch> {
    if !view::is_possible() {
        return None;
    }
    view::begin();
    let (mut view, color, seen) = (View::new(title), output::stderr_has_colors(), seen.clone());
    Watch::begin("live", EVERY, move || {
        // A copy: a slow terminal does not hold the batch.
        let seen = seen.lock().clone();
        view.take(&seen);
        put(HEIGHT, color, |width, height| view.draw(&seen, width, height));
        if seen.took.is_some() {
            view::leave();
        }
    })
    .ok()
}

/// What is drawn besides what is known of the processes.
struct View {
    /// The module's name.
    title: String,
    /// At the last look: the time, how many had ended, and the bytes that they had written.
    before: (Duration, u64, u64),
    /// Since then in a second, of a batch that is over in all: processes, and bytes.
    rate: (u64, u64),
    /// Processes a second and processes that run, by look, the last one at the end.
    ends: VecDeque<u64>,
    running: VecDeque<u64>,
}

impl View {
    fn new(title: String) -> View {
        View {
            title,
            before: (Duration::ZERO, 0, 0),
            rate: (0, 0),
            ends: VecDeque::new(),
            running: VecDeque::new(),
        }
    }

    fn take(&mut self, seen: &Processes) {
        let now = (seen.elapsed(), seen.all_ended(), seen.written);
        let before = std::mem::replace(&mut self.before, now);
        let before = if seen.took.is_some() {
            Default::default()
        } else {
            before
        };
        let took = now.0.saturating_sub(before.0);
        let rate = |now: u64, before: u64| match took.is_zero() {
            true => 0,
            false => ((now - before) as f64 / took.as_secs_f64()) as u64,
        };
        self.rate = (rate(now.1, before.1), rate(now.2, before.2));
        // Of a moment a rate would be by chance.
        if seen.took.is_none() && took >= EVERY / 5 {
            keep(&mut self.ends, self.rate.0);
            keep(&mut self.running, running(seen));
        }
    }

    fn draw(&self, seen: &Processes, width: u16, height: u16) -> Buffer {
        let devices = match &seen.devices[..] {
            [] => String::new(),
            [device] => format!(" on {device}"),
            several => format!(" on {} devices", several.len()),
        };
        let title = format!("{}{devices}", self.title);
        let (mut buffer, inner) = frame(&title, seen.took.is_some(), seen.elapsed(), width, height);
        let rows = Layout::vertical([1, 1, 1, 1, 2, 1].map(Constraint::Length));
        let [processes, kinds, ended, work, curves, times] = rows.areas(inner);
        Paragraph::new(head(seen)).render(processes, &mut buffer);
        Paragraph::new(by_kind(seen)).render(kinds, &mut buffer);
        if let Some(expected) = seen.expected {
            let ended_so_far = seen.all_ended() + seen.skipped;
            gauge(ended_so_far as f64 / expected.max(1) as f64).render(ended, &mut buffer);
        }
        Paragraph::new(self.work()).render(work, &mut buffer);
        let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(2)
            .areas(curves);
        curve(&self.ends, left).style(Color::Green).render(left, &mut buffer);
        curve(&self.running, right)
            .style(Color::Cyan)
            .render(right, &mut buffer);
        Paragraph::new(slowest(seen)).render(times, &mut buffer);
        buffer
    }

    fn work(&self) -> Line<'static> {
        format!(
            "speed     {} processes a second   output {} a second",
            grouped(self.rate.0),
            ByteSize(self.rate.1)
        )
        .into()
    }
}

/// Processes that run, or wait until one of these has ended.
fn running(seen: &Processes) -> u64 {
    seen.begun.saturating_sub(seen.all_ended())
}

fn head(seen: &Processes) -> Line<'static> {
    let mut text = format!("processes {} ended", grouped(seen.all_ended()));
    if let Some(expected) = seen.expected {
        _ = write!(text, " of {}", grouped(expected.saturating_sub(seen.skipped)));
    }
    if seen.took.is_none() {
        _ = write!(text, ", {} under way", grouped(running(seen)));
        if let (Some(expected), 1..) = (seen.expected, seen.all_ended()) {
            let left = expected.saturating_sub(seen.skipped + seen.all_ended());
            let each = seen.elapsed().as_secs_f64() / seen.all_ended() as f64;
            _ = write!(text, ", about {:.0} s left", each * left as f64);
        }
    }
    text.into()
}

/// How those that have ended did, and the output.
fn by_kind(seen: &Processes) -> Line<'static> {
    let mut text = String::from("         ");
    for (kind, count) in &seen.ended {
        _ = write!(text, " {} {kind}  ", grouped(*count));
    }
    if seen.skipped > 0 {
        _ = write!(text, " {} done before  ", grouped(seen.skipped));
    }
    _ = write!(text, " output {}", ByteSize(seen.written));
    text.into()
}

fn slowest(seen: &Processes) -> Line<'static> {
    let Some((longest, name)) = &seen.slowest else {
        return "times     none yet".into();
    };
    let (all, count) = seen.time;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    format!(
        "times     {:.3} ms on average, {:.3} ms the slowest: {name}",
        milliseconds(all) / count.max(1) as f64,
        milliseconds(*longest)
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    #[test]
    fn a_view_tells_how_far_a_batch_is() {
        let mut seen = Processes::new(Some(1500));
        let mut view = View::new("app.wasm".into());
        seen.devices.push("a GPU".into());
        seen.begun = 1400;
        seen.skipped = 100;
        for number in 0..1000u64 {
            let kind = if number % 10 == 0 { "trap" } else { "done" };
            let time = Duration::from_micros(100 + number);
            seen.end(kind, &number.to_string(), Some(time), 1024);
        }
        seen.took = Some(Duration::from_secs(2));
        view.take(&seen);
        let over = text(&view.draw(&seen, 90, HEIGHT), false);
        seen.took = None;
        let shown = text(&view.draw(&seen, 90, HEIGHT), false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), usize::from(HEIGHT), "{shown}");
        for (line, wanted) in [
            (0, "app.wasm on a GPU"),
            (1, "processes 1,000 ended of 1,400, 400 under way, about "),
            (2, " 900 done   100 trap   100 done before   output 1000.0 KiB"),
            (3, "━━━"),
            (4, "500 processes a second   output 500.0 KiB a second"),
            (7, "0.600 ms on average, 1.099 ms the slowest: 999"),
        ] {
            assert!(lines[line].contains(wanted), "{line} must have {wanted}:\n{shown}");
        }
        assert!(
            over.contains("ended after 2.0 s") && !over.contains("under way"),
            "{over}"
        );
    }

    #[test]
    fn a_small_terminal_is_enough() {
        let seen = Processes::new(None);
        for (width, height) in [(20, 3), (33, 5), (100, 30)] {
            let shown = text(&View::new("app.wasm".into()).draw(&seen, width, height), false);
            assert_eq!(shown.lines().count(), usize::from(height));
        }
    }
}
