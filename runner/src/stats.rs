//! `--stats`: times and counts of a run.

use std::time::Duration;

use gpu_run_translator::Times;
use gpu_run_vm::{ClassStats, HeapStats, Leak, Outcome};
use serde_json::{Map, Value, json};

use crate::cli::StatsFormat;
use crate::engine::{self, Choice};

/// What the statistics of a run are made of.
pub struct Run<'r> {
    /// Name of the device.
    pub device: &'r str,
    /// Threads of the run.
    pub threads: u32,
    /// Reading and translating the module.
    pub load: Duration,
    /// Translating it.
    pub translate: Times,
    /// From the start of the process until the program was ready to run.
    pub ready: Duration,
    /// How the run ended.
    pub outcome: &'r Outcome,
    /// The engine.
    pub choice: &'r Choice,
    /// The heap at the end.
    pub heap: &'r HeapStats,
    /// What `--leak-check` found, if it looked.
    pub leaks: Option<&'r [Leak]>,
}

impl Run<'_> {
    /// Prints them to stderr.
    pub fn print(&self, format: StatsFormat) {
        let stats = self.object();
        match format {
            StatsFormat::Json => note!("{stats}"),
            StatsFormat::Text => print_tree(&stats, 0),
        }
    }

    fn object(&self) -> Value {
        let (outcome, t) = (self.outcome, &self.translate);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mut stats = json!({
            "device": self.device,
            "threads": self.threads,
            "lanes": outcome.lanes,
            "load_ms": ms(self.load),
            "translate_ms": {
                "parse": ms(t.parse), "rewrite": ms(t.rewrite), "inline": ms(t.inline), "lower": ms(t.lower),
                "verify": ms(t.verify), "total": ms(t.total()),
            },
            "ready_ms": ms(self.ready),
            "run_ms": ms(outcome.time),
            "debug": { "messages": outcome.debug.messages, "dropped": outcome.debug.dropped },
            "requests": { "calls": outcome.requests.calls, "messages": outcome.requests.messages },
            "heap": heap(self.heap, self.leaks),
        });
        if let Some(stats) = stats.as_object_mut() {
            stats.extend(engine::stats(self.choice, outcome.compiled));
        }
        stats
    }
}

/// The heap's part. Blocks of more than 56 KiB are the class `larger`, the last.
fn heap(heap: &HeapStats, leaks: Option<&[Leak]>) -> Value {
    let mut counts = json!({
        "allocated": heap.allocated,
        "freed": heap.freed,
        "failed": heap.failed,
        "live": heap.live,
        "live_bytes": heap.live_bytes,
        "held_bytes": heap.held_bytes,
        "peak_bytes": heap.peak_bytes,
    });
    if let Some(leaks) = leaks {
        counts["leaked"] = leaks.iter().map(|leak| leak.blocks).sum::<u64>().into();
        counts["leaked_bytes"] = leaks.iter().map(|leak| leak.bytes).sum::<u64>().into();
    }
    counts["classes"] = heap.classes.iter().map(class).collect::<Map<_, _>>().into();
    counts
}

/// The blocks of a size.
fn class(class: &ClassStats) -> (String, Value) {
    let (name, live_bytes) = match class.size {
        // They are whole pages, and their own.
        0 => ("larger".into(), class.held_bytes),
        size => (size.to_string(), class.live * u64::from(size)),
    };
    let counts = json!({
        "allocated": class.allocated,
        "freed": class.allocated.saturating_sub(class.live),
        "live": class.live,
        "held_bytes": class.held_bytes,
        "live_bytes": live_bytes,
    });
    (name, counts)
}

fn print_tree(value: &Value, indent: usize) {
    let Some(map) = value.as_object() else { return };
    for (key, value) in map {
        match value {
            Value::Object(_) => {
                note!("{:indent$}{key}:", "");
                print_tree(value, indent + 2);
            }
            Value::Number(n) if n.is_f64() => {
                note!("{:indent$}{key}: {:.2}", "", n.as_f64().unwrap_or_default())
            }
            Value::String(text) => note!("{:indent$}{key}: {text}", ""),
            other => note!("{:indent$}{key}: {other}", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As sizes and not as texts, in what is printed too.
    #[test]
    fn classes_are_in_the_order_of_their_sizes() {
        let sizes = [16, 112, 1024, 10240, 0];
        let stats = HeapStats {
            classes: sizes
                .map(|size| ClassStats {
                    size,
                    allocated: 5,
                    live: 2,
                    held_bytes: 65536,
                })
                .into(),
            ..HeapStats::default()
        };
        let text = heap(&stats, None)["classes"].to_string();
        let places: Vec<_> = ["16", "112", "1024", "10240", "larger"]
            .iter()
            .map(|name| text.find(&format!("\"{name}\":{{")).expect("a class"))
            .collect();
        assert!(places.is_sorted(), "{text}");
        let object = heap(&stats, None);
        let (small, larger) = (&object["classes"]["112"], &object["classes"]["larger"]);
        assert_eq!((&small["freed"], &small["live_bytes"]), (&3.into(), &224.into()));
        assert_eq!(larger["live_bytes"], 65536);
        assert!(object["leaked"].is_null());
    }
}
