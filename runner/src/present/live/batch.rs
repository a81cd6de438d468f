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

use super::{EVERY, curve, frame, gauge, inside, keep, put, row};
use crate::calls::grouped;
use crate::processes::{Processes, Seen, Watch};
use crate::{output, view};

/// Lines besides those of text: the frame, how many processes have ended, and the curves.
const OTHERS: u16 = 5;

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
        let height = |width| view.height(&seen, width);
        put(height, color, |width, height| view.draw(&seen, width, height));
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
        let texts = self.rows(seen, inner.width);
        let [processes, kinds, work, times] = texts.each_ref().map(|lines| lines.len() as u16);
        let rows = Layout::vertical([processes, kinds, 1, work, 2, times].map(Constraint::Length));
        let [processes, kinds, ended, work, curves, times] = rows.areas(inner);
        for (lines, area) in texts.into_iter().zip([processes, kinds, work, times]) {
            Paragraph::new(lines).render(area, &mut buffer);
        }
        if let Some(expected) = seen.expected {
            let ended_so_far = seen.all_ended() + seen.skipped;
            gauge(ended_so_far as f64 / expected.max(1) as f64).render(ended, &mut buffer);
        }
        let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(2)
            .areas(curves);
        curve(&self.ends, left).style(Color::Green).render(left, &mut buffer);
        curve(&self.running, right)
            .style(Color::Cyan)
            .render(right, &mut buffer);
        buffer
    }

    /// Lines that it takes where it has so many columns.
    fn height(&self, seen: &Processes, width: u16) -> u16 {
        let rows: usize = self.rows(seen, inside(width)).iter().map(Vec::len).sum();
        OTHERS + rows as u16
    }

    /// Its rows of text, each on as many lines as it needs.
    fn rows(&self, seen: &Processes, width: u16) -> [Vec<Line<'static>>; 4] {
        let (processes, bytes) = self.rate;
        let speed = [
            format!("{} processes a second", grouped(processes)),
            format!("output {} a second", ByteSize(bytes)),
        ];
        [
            row("processes", &[head(seen)], width),
            row("", &by_kind(seen), width),
            row("speed", &speed, width),
            row("times", &times(seen), width),
        ]
    }
}

/// Processes that run, or wait until one of these has ended.
fn running(seen: &Processes) -> u64 {
    seen.begun.saturating_sub(seen.all_ended())
}

fn head(seen: &Processes) -> String {
    let mut text = format!("{} ended", grouped(seen.all_ended()));
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
    text
}

/// How those that have ended did, and the output.
fn by_kind(seen: &Processes) -> Vec<String> {
    let kinds = seen
        .ended
        .iter()
        .map(|(kind, count)| format!("{} {kind}", grouped(*count)));
    let before = (seen.skipped > 0).then(|| format!("{} done before", grouped(seen.skipped)));
    let output = format!("output {}", ByteSize(seen.written));
    kinds.chain(before).chain([output]).collect()
}

/// How long they took.
fn times(seen: &Processes) -> Vec<String> {
    let Some((longest, name)) = &seen.slowest else {
        return vec!["none yet".into()];
    };
    let (all, count) = seen.time;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    vec![
        format!("{:.3} ms on average", milliseconds(all) / count.max(1) as f64),
        format!("{:.3} ms the slowest: {name}", milliseconds(*longest)),
    ]
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
        let over = text(&view.draw(&seen, 90, view.height(&seen, 90)), false);
        seen.took = None;
        let shown = text(&view.draw(&seen, 90, view.height(&seen, 90)), false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 9, "{shown}");
        for (line, wanted) in [
            (0, "app.wasm on a GPU"),
            (1, "processes 1,000 ended of 1,400, 400 under way, about "),
            (2, " 900 done   100 trap   100 done before   output 1000.0 KiB"),
            (3, "━━━"),
            (4, "500 processes a second   output 500.0 KiB a second"),
            (7, "0.600 ms on average   1.099 ms the slowest: 999"),
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
