//! The table of a profile: functions and lines by the share of time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpu_run::HeapSnapshot;

use super::{Frame, Operations, Profile, Unit};
use crate::calls::grouped;

/// Rows of functions and of lines.
const FUNCTIONS: usize = 20;
const LINES: usize = 10;

/// The samples of a function: with it innermost, and with it anywhere in the stack.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) own: u64,
    pub(super) total: u64,
}

/// The samples of each function.
pub(super) fn by_function(stacks: &BTreeMap<Vec<Frame>, u64>) -> BTreeMap<&str, Count> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for (stack, samples) in stacks {
        if let Some(frame) = stack.last() {
            counts.entry(&frame.name).or_default().own += samples;
        }
        // A recursive function is in its stack once.
        for name in stack.iter().map(|frame| &*frame.name).collect::<BTreeSet<_>>() {
            counts.entry(name).or_default().total += samples;
        }
    }
    counts
}

/// The samples of each line in which time was spent, with its function.
fn by_line(stacks: &BTreeMap<Vec<Frame>, u64>) -> BTreeMap<(&str, u32, &str), u64> {
    let mut lines = BTreeMap::new();
    for (stack, samples) in stacks {
        // A wait is told in its caller's line.
        let place = stack
            .iter()
            .rev()
            .find_map(|frame| Some((frame, frame.place.as_ref()?)));
        if let Some((frame, (file, line))) = place {
            *lines.entry((&**file, *line, &*frame.name)).or_default() += samples;
        }
    }
    lines
}

/// A part of the whole; nothing has no parts.
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// What a heap held.
fn heap(profile: &Profile) -> String {
    let heap = &profile.heap;
    let shown = HeapSnapshot::largest(&heap.snapshots).map(|index| &heap.snapshots[index]);
    let (time, blocks) = shown.map_or((Duration::ZERO, 0), |shown| (shown.time, shown.blocks()));
    format!(
        "heap of {}: {} bytes at most; here are the {} bytes in {} blocks after {:.3} s",
        profile.title,
        grouped(heap.peak),
        grouped(profile.samples()),
        grouped(blocks),
        time.as_secs_f64()
    )
}

/// The kinds of operations, and how much memory they accessed.
fn operations(profile: &Profile) -> Vec<String> {
    let Operations { kinds, traffic } = &profile.operations;
    if kinds.is_empty() {
        return Vec::new();
    }
    let all = profile.samples();
    let mut out = vec![String::new(), "  share       operations  kind".to_owned()];
    out.extend(
        kinds
            .iter()
            .map(|(kind, count)| format!(" {:5.1}% {:>16}  {kind}", percent(*count, all), grouped(*count))),
    );
    let (loaded, stored) = traffic;
    out.push(String::new());
    out.push(format!(
        "linear memory: {} bytes loaded, {} bytes stored",
        grouped(*loaded),
        grouped(*stored)
    ));
    out
}

/// What a table says, line by line.
pub fn table(profile: &Profile) -> Vec<String> {
    let samples = profile.samples();
    let title = &profile.title;
    let head = match profile.unit {
        Unit::Operations => format!("profile of {title}: {} operations", grouped(samples)),
        Unit::Bytes => heap(profile),
        Unit::Time(period) => {
            let time = period.as_secs_f64() * samples as f64;
            format!("profile of {title}: {time:.3} s of threads' time")
        }
    };
    match profile.unit {
        Unit::Time(_) if samples == 0 => {
            return vec![format!(
                "profile of {title}: the program was over before a sample was taken; --profile-rate takes more"
            )];
        }
        Unit::Bytes if samples == 0 => return vec![head],
        _ => {}
    }
    // How many lanes were together, of operations and those of warps.
    let has_lanes = !profile.warps.is_empty();
    let lanes = |operations: u64, warps: Option<u64>| match warps {
        _ if !has_lanes => String::new(),
        Some(warps) if operations > 0 && warps > 0 => format!("  {:5.1}", operations as f64 / warps as f64),
        _ => "      -".to_owned(),
    };
    let lanes_head = if has_lanes { "  lanes" } else { "" };
    let mut out = vec![head, String::new(), format!("   self   total{lanes_head}  function")];
    let (warps, line_warps) = (by_function(&profile.warps), by_line(&profile.warps));
    let mut functions: Vec<_> = by_function(&profile.stacks).into_iter().collect();
    functions.sort_by_key(|(name, count)| (std::cmp::Reverse((count.own, count.total)), *name));
    let shown = functions.iter().take(FUNCTIONS);
    out.extend(shown.map(|(name, count)| {
        let (own, total) = (percent(count.own, samples), percent(count.total, samples));
        let lanes = lanes(count.own, warps.get(name).map(|warps| warps.own));
        format!(" {own:5.1}%  {total:5.1}%{lanes}  {name}")
    }));
    if functions.len() > FUNCTIONS {
        out.push(format!("                 … and {} more", functions.len() - FUNCTIONS));
    }
    let mut lines: Vec<_> = by_line(&profile.stacks).into_iter().collect();
    lines.sort_by_key(|(place, samples)| (std::cmp::Reverse(*samples), *place));
    if !lines.is_empty() {
        out.extend([String::new(), format!("   self{lanes_head}  line")]);
    }
    let shown = lines.iter().take(LINES);
    out.extend(shown.map(|(place, own)| {
        let ((file, line, name), lanes) = (place, lanes(*own, line_warps.get(place).copied()));
        format!(" {:5.1}%{lanes}  {file}:{line} ({name})", percent(*own, samples))
    }));
    if has_lanes {
        let warps: u64 = profile.warps.values().sum();
        out.push(String::new());
        out.push(format!(
            "lanes of a warp that were together: {:.1} on average",
            samples as f64 / warps.max(1) as f64
        ));
    }
    out.extend(operations(profile));
    if profile.lost > 0 {
        out.push(String::new());
        out.push(format!(
            "{} samples more are at too many different places to be told",
            grouped(profile.lost)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Frame, of_stacks};
    use super::*;

    #[test]
    fn shares_of_functions_are_told() {
        let mut profile = of_stacks(&[("main;a", 600), ("main;b", 300), ("main;b;b;a", 100)]);
        assert_eq!(
            table(&profile),
            [
                "profile of app.wasm: 1.000 s of threads' time",
                "",
                "   self   total  function",
                "  70.0%   70.0%  a",
                "  30.0%   40.0%  b",
                "   0.0%  100.0%  main",
            ]
        );
        let frame = |line| Frame {
            name: "main".into(),
            place: Some(("src/main.rs".into(), line)),
        };
        profile.stacks = [(vec![frame(7)], 3), (vec![frame(8), Frame::label("[sleeps]")], 1)].into();
        profile.lost = 5;
        let lines = table(&profile);
        let from = lines.iter().position(|line| line.contains("self  line")).unwrap();
        assert_eq!(
            lines[from + 1..],
            [
                "  75.0%  src/main.rs:7 (main)",
                "  25.0%  src/main.rs:8 (main)",
                "",
                "5 samples more are at too many different places to be told",
            ]
        );
    }

    #[test]
    fn without_samples_there_is_no_table() {
        assert_eq!(table(&of_stacks(&[])).len(), 1);
    }
}
