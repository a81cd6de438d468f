//! Profiles in the formats of other tools. None of them has times of single samples: they are in the order of their
//! stacks.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use fxprof_processed_profile as firefox;
use inferno::flamegraph;
use serde_json::{Value, json};

use super::{Frame, Profile, Unit, massif};
use crate::profile_args::ProfileFormat;

/// Writes a profile.
///
/// # Errors
///
/// Those of `to`.
pub fn write(profile: &Profile, format: ProfileFormat, mut to: impl Write) -> io::Result<()> {
    match format {
        ProfileFormat::FlameGraph => flame_graph(profile, to),
        ProfileFormat::Firefox => Ok(serde_json::to_writer(to, &for_firefox(profile)?)?),
        ProfileFormat::Speedscope => Ok(serde_json::to_writer(to, &speedscope(profile))?),
        ProfileFormat::ChromeTrace => Ok(serde_json::to_writer(to, &chrome_trace(profile))?),
        ProfileFormat::Massif => massif::write(profile, to),
        ProfileFormat::Folded => folded(profile).iter().try_for_each(|line| writeln!(to, "{line}")),
    }
}

/// A function's name in a line for a stack, which has `;` between names.
fn folded_name(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

/// A line for each stack: `outer;inner 12`.
fn folded(profile: &Profile) -> Vec<String> {
    // Stacks that differ in lines alone are one.
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, samples) in &profile.stacks {
        let names: Vec<String> = stack.iter().map(|frame| folded_name(&frame.name)).collect();
        *lines.entry(names.join(";")).or_default() += samples;
    }
    lines
        .iter()
        .map(|(stack, samples)| format!("{stack} {samples}"))
        .collect()
}

/// Nanoseconds that one sample takes in a format that knows times only. An operation or a byte takes one, so that numbers are
/// those of operations.
fn nanos_of(unit: Unit) -> u64 {
    match unit {
        Unit::Time(period) => (period.as_nanos() as u64).max(1),
        Unit::Operations | Unit::Bytes => 1,
    }
}

fn flame_graph(profile: &Profile, to: impl Write) -> io::Result<()> {
    let mut lines = folded(profile);
    if lines.is_empty() {
        lines.push("[no samples] 1".to_owned());
    }
    let mut options = flamegraph::Options::default();
    options.title = profile.title.clone();
    options.count_name = profile.unit.name().into();
    // The same picture for the same profile.
    options.deterministic = true;
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), to)
}

/// The Firefox Profiler's format, which has weights and times in each sample. Times of other profiles than of time are those of
/// their numbers, a nanosecond each; the profiler shows the numbers.
fn for_firefox(profile: &Profile) -> serde_json::Result<Value> {
    let nanos = nanos_of(profile.unit);
    // The format's weights have 31 bits.
    let most = profile.stacks.values().max().copied().unwrap_or(0);
    let scale = most.div_ceil(i32::MAX as u64).max(1);
    let interval = firefox::SamplingInterval::from_nanos(nanos.max(1));
    let mut out = firefox::Profile::new(&profile.title, SystemTime::now().into(), interval);
    let start = firefox::Timestamp::from_nanos_since_reference(0);
    let process = out.add_process(&profile.title, 1, start);
    let thread = out.add_thread(process, 1, start, true);
    out.set_thread_name(thread, "all threads");
    out.set_thread_samples_weight_type(
        thread,
        match profile.unit {
            Unit::Bytes => firefox::WeightType::Bytes,
            Unit::Time(_) | Unit::Operations => firefox::WeightType::Samples,
        },
    );
    let mut at = 0;
    // Frames by what the crate knows of them: a label. Each is another one.
    let mut frames: indexmap::IndexSet<&Frame> = indexmap::IndexSet::new();
    for (stack, samples) in &profile.stacks {
        let infos = stack.iter().map(|frame| firefox::FrameInfo {
            frame: firefox::Frame::Label(out.intern_string(&frames.insert_full(frame).0.to_string())),
            category_pair: firefox::CategoryHandle::OTHER.into(),
            flags: firefox::FrameFlags::empty(),
        });
        let infos: Vec<firefox::FrameInfo> = infos.collect();
        let stack = out.intern_stack_frames(thread, infos.into_iter());
        let weight = (samples / scale) as i32;
        let time = firefox::Timestamp::from_nanos_since_reference(at);
        let took = nanos.saturating_mul(*samples);
        out.add_sample(thread, time, stack, firefox::CpuDelta::from_nanos(took), weight);
        at = at.saturating_add(took);
    }
    let mut value = serde_json::to_value(&out)?;
    name_frames(&mut value["threads"][0], &frames);
    Ok(value)
}

/// Puts functions, files and lines into a thread, of which the crate knows nothing. Its frames' names are numbers of `frames`.
fn name_frames(thread: &mut Value, frames: &indexmap::IndexSet<&Frame>) {
    let mut strings: indexmap::IndexSet<String> = indexmap::IndexSet::new();
    let mut functions: indexmap::IndexSet<(usize, Option<usize>)> = indexmap::IndexSet::new();
    let numbers = |value: &Value| -> Vec<usize> {
        let all = value.as_array().into_iter().flatten();
        all.map(|number| number.as_u64().unwrap_or_default() as usize).collect()
    };
    let labels: Vec<usize> = {
        let texts = thread["stringArray"].as_array().into_iter().flatten();
        texts
            .map(|text| text.as_str().and_then(|text| text.parse().ok()).unwrap_or_default())
            .collect()
    };
    let names = numbers(&thread["funcTable"]["name"]);
    let of_frames = numbers(&thread["frameTable"]["func"]);
    let shown = of_frames.into_iter().map(|function| frames[labels[names[function]]]);
    let (mut of_frames, mut lines) = (Vec::new(), Vec::new());
    for frame in shown {
        let name = strings.insert_full(frame.name.clone()).0;
        let file = frame
            .place
            .as_ref()
            .map(|(file, _)| strings.insert_full(file.clone()).0);
        of_frames.push(functions.insert_full((name, file)).0);
        lines.push(frame.place.as_ref().map(|(_, line)| *line));
    }
    let count = functions.len();
    thread["frameTable"]["func"] = of_frames.into();
    thread["frameTable"]["line"] = json!(lines);
    let (names, files): (Vec<_>, Vec<_>) = functions.into_iter().unzip();
    let nothing = vec![Value::Null; count];
    thread["funcTable"] = json!({
        "length": count,
        "name": names,
        "isJS": vec![false; count],
        "relevantForJS": vec![false; count],
        "resource": vec![-1; count],
        "fileName": files,
        "lineNumber": nothing,
        "columnNumber": nothing,
    });
    thread["stringArray"] = json!(strings);
}

fn speedscope(profile: &Profile) -> Value {
    let mut numbers: indexmap::IndexSet<&Frame> = indexmap::IndexSet::new();
    let stacks: Vec<Vec<usize>> = profile
        .stacks
        .keys()
        .map(|stack| stack.iter().map(|frame| numbers.insert_full(frame).0).collect())
        .collect();
    let frames: Vec<Value> = numbers
        .iter()
        .map(|frame| match &frame.place {
            Some((file, line)) => json!({"name": frame.name, "file": file, "line": line}),
            None => json!({"name": frame.name}),
        })
        .collect();
    let (one, unit) = match profile.unit {
        Unit::Time(_) => (nanos_of(profile.unit), "nanoseconds"),
        Unit::Operations => (1, "none"),
        Unit::Bytes => (1, "bytes"),
    };
    let weights: Vec<u64> = profile
        .stacks
        .values()
        .map(|samples| samples.saturating_mul(one))
        .collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("gpu-run ", env!("CARGO_PKG_VERSION")),
        "name": profile.title,
        "shared": {"frames": frames},
        "profiles": [{
            "type": "sampled",
            "name": profile.title,
            "unit": unit,
            "startValue": 0,
            "endValue": weights.iter().fold(0u64, |all, weight| all.saturating_add(*weight)),
            "samples": stacks,
            "weights": weights,
        }],
    })
}

/// An event for each call: it lasts as long as the samples in it and in what it called.
fn chrome_trace(profile: &Profile) -> Value {
    let micros = nanos_of(profile.unit) as f64 / 1e3;
    let mut events = Vec::new();
    // Calls that are open, with the samples before they began.
    let mut open: Vec<(&Frame, u64)> = Vec::new();
    let mut at = 0;
    let mut close = |open: &mut Vec<(&Frame, u64)>, depth: usize, at: u64| {
        for (frame, begin) in open.drain(depth..).rev() {
            let mut event = json!({
                "ph": "X", "pid": 1, "tid": 1, "name": frame.name,
                "ts": begin as f64 * micros, "dur": (at - begin) as f64 * micros,
            });
            if let Some((file, line)) = &frame.place {
                event["args"] = json!({"place": format!("{file}:{line}")});
            }
            events.push(event);
        }
    };
    for (stack, samples) in &profile.stacks {
        let common = open
            .iter()
            .zip(stack)
            .take_while(|((frame, _), other)| *frame == *other)
            .count();
        close(&mut open, common, at);
        open.extend(stack[common..].iter().map(|frame| (frame, at)));
        at += samples;
    }
    close(&mut open, 0, at);
    json!({"traceEvents": events, "displayTimeUnit": "ms"})
}

/// Reads a profile that [`write`] has written as lines or for speedscope.
///
/// # Errors
///
/// What is wrong with the text.
pub fn read(path: &Path, text: &str) -> Result<Profile, String> {
    let title = path.display().to_string();
    let mut profile = Profile {
        title,
        ..Profile::default()
    };
    match ProfileFormat::of(path) {
        Some(ProfileFormat::Folded) => {
            for (number, line) in (1..).zip(text.lines()) {
                let wrong = || format!("line {number} is no stack with a number after it");
                let (stack, samples) = line.rsplit_once(' ').ok_or_else(wrong)?;
                let samples: u64 = samples.parse().map_err(|_| wrong())?;
                profile.add(stack.split(';').map(Frame::label).collect(), samples);
            }
            Ok(profile)
        }
        Some(ProfileFormat::Speedscope) => {
            let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            from_speedscope(&value, &mut profile).ok_or("it is no sampled profile of speedscope")?;
            Ok(profile)
        }
        _ => Err("profiles are compared as .folded or .speedscope.json".into()),
    }
}

fn from_speedscope(value: &Value, profile: &mut Profile) -> Option<()> {
    let frames = value["shared"]["frames"].as_array()?;
    let frame = |index: &Value| {
        let frame = frames.get(usize::try_from(index.as_u64()?).ok()?)?;
        // As in the other format that is read.
        Some(Frame::label(folded_name(frame["name"].as_str()?)))
    };
    for one in value["profiles"].as_array()? {
        profile.unit = match one["unit"].as_str()? {
            "bytes" => Unit::Bytes,
            "none" => Unit::Operations,
            _ => Unit::Time(Duration::from_nanos(1)),
        };
        let (samples, weights) = (one["samples"].as_array()?, one["weights"].as_array()?);
        for (stack, weight) in samples.iter().zip(weights) {
            let stack: Option<Vec<Frame>> = stack.as_array()?.iter().map(frame).collect();
            profile.add(stack?, weight.as_u64()?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::of_stacks;
    use super::*;

    fn written(profile: &Profile, format: ProfileFormat) -> String {
        let mut bytes = Vec::new();
        write(profile, format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn stacks_are_lines() {
        let profile = of_stacks(&[("main;a", 2), ("main", 1)]);
        assert_eq!(written(&profile, ProfileFormat::Folded), "main 1\nmain;a 2\n");
    }

    #[test]
    fn what_was_written_is_read() {
        let profile = of_stacks(&[("main;a", 2), ("main", 1)]);
        for (name, format, unit) in [
            ("p.folded", ProfileFormat::Folded, 1),
            ("p.speedscope.json", ProfileFormat::Speedscope, 1_000_000),
        ] {
            let found = read(Path::new(name), &written(&profile, format)).unwrap();
            let times = |samples: &u64| samples * unit;
            assert!(found.stacks.keys().eq(profile.stacks.keys()));
            assert!(found.stacks.values().copied().eq(profile.stacks.values().map(times)));
        }
        for (name, text) in [
            ("p.folded", "main"),
            ("p.folded", "main x"),
            ("p.speedscope.json", "{}"),
            ("p.svg", ""),
        ] {
            assert!(read(Path::new(name), text).is_err(), "{name}: {text}");
        }
    }

    #[test]
    fn a_flame_graph_has_the_functions() {
        let svg = written(&of_stacks(&[("main;a<b>", 2), ("main", 1)]), ProfileFormat::FlameGraph);
        assert!(
            svg.starts_with("<?xml") && svg.contains("a&lt;b&gt;") && svg.contains("app.wasm"),
            "{svg}"
        );
    }

    #[test]
    fn events_last_as_long_as_what_is_in_them() {
        let profile = of_stacks(&[("main;a", 2), ("main;b", 1), ("other", 4)]);
        let trace: Value = serde_json::from_str(&written(&profile, ProfileFormat::ChromeTrace)).unwrap();
        let events: Vec<(&str, f64, f64)> = trace["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| {
                let number = |key: &str| event[key].as_f64().unwrap();
                (event["name"].as_str().unwrap(), number("ts"), number("dur"))
            })
            .collect();
        assert_eq!(
            events,
            [
                ("a", 0.0, 2000.0),
                ("b", 2000.0, 1000.0),
                ("main", 0.0, 3000.0),
                ("other", 3000.0, 4000.0)
            ]
        );
    }

    #[test]
    fn firefox_gets_a_sample_for_each_stack() {
        let profile = of_stacks(&[("main;a", 2), ("main", 1)]);
        let value: Value = serde_json::from_str(&written(&profile, ProfileFormat::Firefox)).unwrap();
        let samples = &value["threads"][0]["samples"];
        assert_eq!(samples["length"], 2);
        assert_eq!(samples["weight"], json!([1, 2]));
    }

    #[test]
    fn firefox_gets_files_and_lines() {
        let frame = |name: &str, line| Frame {
            name: name.into(),
            place: Some(("src/main.rs".into(), line)),
        };
        let mut profile = of_stacks(&[]);
        profile.unit = Unit::Operations;
        profile.add(vec![frame("main", 3), frame("a", 7)], 5);
        profile.add(vec![frame("main", 4), Frame::label("[heap]")], 1);
        let value: Value = serde_json::from_str(&written(&profile, ProfileFormat::Firefox)).unwrap();
        let thread = &value["threads"][0];
        let text = |index: &Value| {
            index
                .as_u64()
                .map(|index| thread["stringArray"][index as usize].clone())
        };
        let functions = &thread["funcTable"];
        let mut told = Vec::new();
        for (function, line) in std::iter::zip(
            thread["frameTable"]["func"].as_array().unwrap(),
            thread["frameTable"]["line"].as_array().unwrap(),
        ) {
            let function = function.as_u64().unwrap() as usize;
            told.push((
                text(&functions["name"][function]),
                text(&functions["fileName"][function]),
                line.as_u64(),
            ));
        }
        let told_of = |name: &str, file: Option<&str>, line| (Some(json!(name)), file.map(|file| json!(file)), line);
        assert_eq!(
            told,
            [
                told_of("main", Some("src/main.rs"), Some(3)),
                told_of("a", Some("src/main.rs"), Some(7)),
                told_of("main", Some("src/main.rs"), Some(4)),
                told_of("[heap]", None, None),
            ]
        );
        // Both of `main` are one function.
        assert_eq!(functions["length"], 3);
    }
}
