//! `--live`: what a run does, on a part of the terminal that is drawn anew twice a second.

mod batch;

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Duration;

use bytesize::ByteSize;
use console::{Term, measure_text_width};
use gpu_run_vm::{MemoryVitals, Vitals};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::symbols::line;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, LineGauge, Paragraph, Sparkline, Widget};

pub use self::batch::of_batch;
use crate::calls::grouped;
use crate::{output, view};

/// The warning that there is no view.
pub const IS_NOT_SHOWN: &str =
    "--live shows nothing, because stderr is no terminal; --metrics tells the same in a file";

/// How often the run is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// Looks that are kept, each a column of a curve.
const KEPT: usize = 200;

/// Columns at most, and functions that are shown.
const WIDEST: u16 = 100;
const FUNCTIONS: usize = 8;

/// Lines besides those of text: the frame, how many threads have ended, and the curves.
const OTHERS: u16 = 5;

/// Columns of a row's label.
const LABEL: usize = 10;

/// The part of the terminal.
pub struct Live {
    view: View,
    color: bool,
}

/// What is drawn.
struct View {
    /// The module's name, and what it runs on.
    title: String,
    vitals: Vitals,
    /// Since the last look; of a run that is over, in all.
    rate: Rates,
    /// Heap bytes and requests a second, by look, the last one at the end.
    heap: VecDeque<u64>,
    requests: VecDeque<u64>,
}

/// What happened in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    requests: u64,
    written: u64,
    blocks: u64,
    operations: u64,
}

impl Live {
    /// A view of runs with this title; `None` where stderr is no terminal.
    pub fn begin(title: String) -> Option<Live> {
        if !view::is_possible() {
            return None;
        }
        view::begin();
        Some(Live {
            view: View::new(title),
            color: output::stderr_has_colors(),
        })
    }

    /// How often it wants to be told.
    pub fn every(&self) -> Duration {
        EVERY
    }

    /// Takes what the run does, and draws it.
    pub fn take(&mut self, vitals: &Vitals) {
        self.view.take(vitals);
        let height = |width| self.view.height(width);
        put(height, self.color, |width, height| self.view.draw(width, height));
    }

    /// Leaves it there as it is.
    pub fn finish(&self) {
        view::leave();
    }
}

impl View {
    fn new(title: String) -> View {
        View {
            title,
            vitals: Vitals::default(),
            rate: Rates::default(),
            heap: VecDeque::new(),
            requests: VecDeque::new(),
        }
    }

    fn take(&mut self, vitals: &Vitals) {
        let before = std::mem::replace(&mut self.vitals, vitals.clone());
        // A run after another one begins anew. Of one that is over all of it is told.
        let before = if vitals.over || vitals.time < before.time {
            Vitals::default()
        } else {
            before
        };
        let took = vitals.time.saturating_sub(before.time);
        let seconds = took.as_secs_f64();
        let rate = |now: u64, before: u64| match seconds > 0.0 {
            true => (now.saturating_sub(before) as f64 / seconds) as u64,
            false => 0,
        };
        let allocated = |vitals: &Vitals| vitals.memory.map_or(0, |memory| memory.allocated);
        self.rate = Rates {
            requests: rate(vitals.requests.calls, before.requests.calls),
            written: rate(vitals.written.iter().sum(), before.written.iter().sum()),
            blocks: rate(allocated(vitals), allocated(&before)),
            operations: rate(
                vitals.operations.unwrap_or_default(),
                before.operations.unwrap_or_default(),
            ),
        };
        // Of a moment a rate would be by chance.
        if !vitals.over && took >= EVERY / 5 {
            keep(&mut self.requests, self.rate.requests);
            keep(&mut self.heap, vitals.memory.map_or(0, |memory| memory.used));
        }
    }

    /// Lines that it takes where it has so many columns.
    fn height(&self, width: u16) -> u16 {
        let functions = match self.vitals.functions.len().min(FUNCTIONS) as u16 {
            0 => 0,
            some => 1 + some,
        };
        let rows: usize = self.rows(inside(width)).iter().map(Vec::len).sum();
        OTHERS + rows as u16 + functions
    }

    /// Its rows of text, each on as many lines as it needs.
    fn rows(&self, width: u16) -> [Vec<Line<'static>>; 5] {
        let row = |label, parts: Vec<String>| row(label, &parts, width);
        [
            row("threads", vec![self.threads()]),
            self.states().map_or_else(Vec::new, |parts| row("", parts)),
            self.work().map_or_else(Vec::new, |parts| row("work", parts)),
            self.vitals.memory.map_or_else(
                || row("memory", vec!["none".into()]),
                |memory| row("heap", self.memory(memory)),
            ),
            row("host", self.host()),
        ]
    }

    fn draw(&self, width: u16, height: u16) -> Buffer {
        let vitals = &self.vitals;
        let (mut buffer, inner) = frame(&self.title, vitals.over, vitals.time, width, height);
        let texts = self.rows(inner.width);
        let [threads, states, work, memory, host] = texts.each_ref().map(|lines| lines.len() as u16);
        let lengths = [threads, states, 1, work, memory, 2, host].map(Constraint::Length);
        let rows = Layout::vertical(lengths.into_iter().chain([Constraint::Fill(1)]));
        let [threads, states, ended, work, memory, curves, host, functions] = rows.areas(inner);
        for (lines, area) in texts.into_iter().zip([threads, states, work, memory, host]) {
            Paragraph::new(lines).render(area, &mut buffer);
        }
        if let Some(gauge) = self.ended() {
            gauge.render(ended, &mut buffer);
        }
        let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(2)
            .areas(curves);
        curve(&self.heap, left).style(Color::Green).render(left, &mut buffer);
        curve(&self.requests, right)
            .style(Color::Cyan)
            .render(right, &mut buffer);
        Paragraph::new(self.functions(functions.width)).render(functions, &mut buffer);
        buffer
    }

    fn threads(&self) -> String {
        let vitals = &self.vitals;
        let lanes = match vitals.lanes {
            1 => "lane",
            _ => "lanes",
        };
        let mut text = format!(
            "{} on {} {lanes}",
            grouped(vitals.threads.into()),
            grouped(vitals.lanes.into())
        );
        if let Some(spawned) = vitals.spawned {
            _ = write!(text, ", {} spawned", grouped(spawned));
        }
        match vitals.states {
            Some(states) if !vitals.over => _ = write!(text, ", {} busy", grouped(states.busy_lanes.into())),
            _ => {}
        }
        text
    }

    /// What the threads do, where that is known.
    fn states(&self) -> Option<Vec<String>> {
        let states = self.vitals.states?;
        let states = [
            (states.new, "new"),
            (states.running, "running"),
            (states.waiting, "waiting"),
            (states.requesting, "at the host"),
            (states.ended, "ended"),
        ];
        let told = states.map(|(count, name)| format!("{} {name}", grouped(count.into())));
        Some(told.into())
    }

    /// How many of the threads have ended, where that is known.
    fn ended(&self) -> Option<LineGauge<'static>> {
        let vitals = &self.vitals;
        let threads = f64::from(vitals.threads.max(1)) + vitals.spawned.unwrap_or_default() as f64;
        let share = f64::from(vitals.states?.ended) / threads;
        Some(gauge(share))
    }

    /// Operations, where they are counted.
    fn work(&self) -> Option<Vec<String>> {
        let operations = grouped(self.vitals.operations?);
        let rate = grouped(self.rate.operations);
        Some(vec![format!("{operations} operations, {rate} a second")])
    }

    fn memory(&self, memory: MemoryVitals) -> Vec<String> {
        vec![
            format!("{}, {} at most", ByteSize(memory.used), ByteSize(memory.peak)),
            format!("{} blocks a second", grouped(self.rate.blocks)),
            format!("memory {}", ByteSize(memory.size)),
        ]
    }

    fn host(&self) -> Vec<String> {
        let (vitals, rates) = (&self.vitals, self.rate);
        vec![
            format!(
                "{} requests, {} a second",
                grouped(vitals.requests.calls),
                grouped(rates.requests)
            ),
            format!(
                "output {}, {} a second",
                ByteSize(vitals.written.iter().sum()),
                ByteSize(rates.written)
            ),
            format!("{} queued", ByteSize(vitals.queued)),
            format!("{} debug messages", grouped(vitals.messages)),
        ]
    }

    /// The functions with most samples, each with a bar.
    fn functions(&self, width: u16) -> Vec<Line<'static>> {
        let functions = &self.vitals.functions;
        let all = self.vitals.samples;
        if all == 0 {
            return Vec::new();
        }
        let bars = (usize::from(width) / 4).max(4);
        let head = Line::from("functions with most samples".add_modifier(Modifier::DIM));
        let rows = functions.iter().take(FUNCTIONS).map(|(name, samples)| {
            let share = *samples as f64 / all as f64;
            let bar = "█".repeat((share * bars as f64).round() as usize);
            Line::from(vec![
                Span::raw(format!("{:5.1} % ", 100.0 * share)),
                Span::styled(format!("{bar:bars$} "), Style::new().fg(Color::Yellow)),
                Span::raw(name.clone()),
            ])
        });
        [head].into_iter().chain(rows).collect()
    }
}

/// A row that begins with a label, on as many lines as its parts need. The others begin where the first part does.
fn row(label: &str, parts: &[String], width: u16) -> Vec<Line<'static>> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            None => lines.push(format!("{label:LABEL$}{part}")),
            Some(line) if measure_text_width(line) + 3 + measure_text_width(part) <= usize::from(width) => {
                *line += &format!("   {part}");
            }
            Some(_) => lines.push(format!("{:LABEL$}{part}", "")),
        }
    }
    lines.into_iter().map(Line::from).collect()
}

/// Columns inside the frame of a view with so many.
fn inside(width: u16) -> u16 {
    width.saturating_sub(2)
}

/// Draws a view in the size that the terminal has for it, and shows it. `height` is passed columns, and returns lines.
fn put(height: impl FnOnce(u16) -> u16, color: bool, draw: impl FnOnce(u16, u16) -> Buffer) {
    let (rows, columns) = Term::stderr().size();
    // The last column stays free: some terminals go on in the next line after it.
    let width = columns.saturating_sub(1).min(WIDEST);
    let height = height(width).min(rows.saturating_sub(1));
    if width >= 20 && height >= 3 {
        view::show(&text(&draw(width, height), color));
    }
}

/// An empty view, and what is inside its frame.
fn frame(title: &str, over: bool, time: Duration, width: u16, height: u16) -> (Buffer, Rect) {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let state = if over { "ended after" } else { "runs for" };
    let frame = Block::bordered()
        .title(format!(" {title} ").bold())
        .title(Line::from(format!(" {state} {:.1} s ", time.as_secs_f64())).right_aligned());
    let inner = frame.inner(area);
    frame.render(area, &mut buffer);
    (buffer, inner)
}

/// Which share has ended.
fn gauge(share: f64) -> LineGauge<'static> {
    LineGauge::default()
        .label("ended    ")
        .ratio(share.clamp(0.0, 1.0))
        .filled_symbol(line::THICK.horizontal)
        .unfilled_symbol(line::NORMAL.horizontal)
        .filled_style(Style::new().fg(Color::Blue))
}

fn keep<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == KEPT {
        all.pop_front();
    }
    all.push_back(one);
}

/// A curve of numbers, of which the last ones are shown for which there is room.
fn curve(numbers: &VecDeque<u64>, area: Rect) -> Sparkline<'static> {
    let before = numbers.len().saturating_sub(area.width.into());
    Sparkline::default().data(numbers.iter().skip(before).copied().collect::<Vec<u64>>())
}

/// A buffer as text for a terminal, with the few colours that there are.
fn text(buffer: &Buffer, color: bool) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        if y > 0 {
            text.push('\n');
        }
        let mut style = (Color::Reset, Modifier::empty());
        let mut x = 0;
        while x < buffer.area.width {
            let cell = &buffer[(x, y)];
            // After a wide character comes a cell that it covers.
            x += (measure_text_width(cell.symbol()) as u16).max(1);
            if color && (cell.fg, cell.modifier) != style {
                style = (cell.fg, cell.modifier);
                _ = write!(text, "{}{}", anstyle::Reset, ansi(style));
            }
            text.push_str(cell.symbol());
        }
        if style != (Color::Reset, Modifier::empty()) {
            _ = write!(text, "{}", anstyle::Reset);
        }
    }
    text
}

fn ansi((color, modifier): (Color, Modifier)) -> anstyle::Style {
    let color = match color {
        Color::Blue => Some(anstyle::AnsiColor::Blue),
        Color::Cyan => Some(anstyle::AnsiColor::Cyan),
        Color::Green => Some(anstyle::AnsiColor::Green),
        Color::Yellow => Some(anstyle::AnsiColor::Yellow),
        _ => None,
    };
    let mut effects = anstyle::Effects::new();
    effects = effects.set(anstyle::Effects::BOLD, modifier.contains(Modifier::BOLD));
    effects = effects.set(anstyle::Effects::DIMMED, modifier.contains(Modifier::DIM));
    anstyle::Style::new()
        .fg_color(color.map(anstyle::Color::Ansi))
        .effects(effects)
}

#[cfg(test)]
mod tests {
    use gpu_run_vm::ThreadStates;

    use super::*;

    fn vitals(seconds: u64) -> Vitals {
        Vitals {
            time: Duration::from_secs(seconds),
            lanes: 128,
            threads: 4096,
            states: Some(ThreadStates {
                new: 96,
                running: 2000,
                waiting: 0,
                requesting: 5,
                ended: 1995,
                busy_lanes: 90,
            }),
            memory: Some(MemoryVitals {
                size: 64 << 20,
                allocated: 1000 * seconds,
                used: seconds << 20,
                peak: 9 << 20,
            }),
            written: [1000 * seconds, 0],
            queued: 7,
            functions: vec![("heavy".into(), 75), ("light 計".into(), 25)],
            samples: 100,
            ..Vitals::default()
        }
    }

    #[test]
    fn a_view_tells_what_a_run_does() {
        let mut view = View::new("app.wasm on a GPU".into());
        view.take(&vitals(1));
        view.take(&vitals(3));
        let shown = text(&view.draw(100, view.height(100)), false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 12, "{shown}");
        assert!(lines.iter().all(|line| measure_text_width(line) == 100), "{shown}");
        for (line, wanted) in [
            (0, "app.wasm on a GPU"),
            (0, "runs for 3.0 s"),
            (1, "4,096 on 128 lanes, 90 busy"),
            (2, "96 new   2,000 running   0 waiting   5 at the host   1,995 ended"),
            (3, "━━━"),
            (4, "1,000 blocks a second"),
            (7, "output 2.9 KiB, 1000 B a second   7 B queued"),
            (9, " 75.0 % ████"),
            (10, "light"),
        ] {
            assert!(lines[line].contains(wanted), "{line} must have {wanted}:\n{shown}");
        }
        assert!(text(&view.draw(100, 12), true).contains("\u{1b}["));
    }

    #[test]
    fn counted_operations_have_a_row() {
        let counted = |seconds| Vitals {
            operations: Some(5000 * seconds),
            ..vitals(seconds)
        };
        let mut view = View::new("app.wasm".into());
        view.take(&counted(1));
        view.take(&counted(3));
        let shown = text(&view.draw(100, view.height(100)), false);
        assert_eq!(shown.lines().count(), 13, "{shown}");
        assert!(shown.contains("15,000 operations, 5,000 a second"), "{shown}");
    }

    #[test]
    fn rows_that_are_too_long_have_more_lines() {
        let mut view = View::new("app.wasm".into());
        view.take(&vitals(1));
        let shown = text(&view.draw(50, view.height(50)), false);
        for wanted in [
            "96 new",
            "1,995 ended",
            "memory 64.0 MiB",
            "7 B queued",
            "0 debug messages",
            "light",
        ] {
            assert!(shown.contains(wanted), "{wanted} is not in\n{shown}");
        }
    }

    #[test]
    fn a_small_terminal_is_enough() {
        let mut view = View::new("app.wasm".into());
        view.take(&Vitals::default());
        for (width, height) in [(20, 3), (33, 5), (100, 30)] {
            assert_eq!(
                text(&view.draw(width, height), false).lines().count(),
                usize::from(height)
            );
        }
    }
}
