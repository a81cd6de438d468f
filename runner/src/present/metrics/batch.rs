//! The metrics of a batch.

use std::fmt;
use std::path::Path;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use super::export::Export;
use super::{EVERY, Place};
use crate::processes::{Seen, Watch};
use crate::report::{Outcome, Report};

/// Tells of a batch of `module`, at the place that was asked for.
///
/// # Errors
///
/// If nothing can listen at the address, or the file cannot be written.
pub fn of_batch(place: &Place, module: &Path, seen: &Seen) -> Outcome<Watch> {
    let mut export = Export::begin(place, module, Box::new(OfBatch(seen.clone())))?;
    // In a thread of its own: processes may take long, and a slow file does not hold the batch.
    Watch::begin("metrics", EVERY, move || export.publish())
        .map_err(|error| Report::new(format!("cannot begin --metrics: {error}")))
}

/// The metrics of what was seen last.
#[derive(Debug)]
struct OfBatch(Seen);

impl Collector for OfBatch {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let seen = self.0.lock();
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
        };
        let running = f64::from(u8::from(seen.took.is_none()));
        gauge("gpu_run_running", "1 while the batch runs", None, running)?;
        let seconds = Some(&Unit::Seconds);
        gauge(
            "gpu_run_time",
            "How long the batch has run",
            seconds,
            seen.elapsed().as_secs_f64(),
        )?;
        let mut counter = |name: &str, help: &str, unit: Option<&Unit>, value: u64| {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, unit, counter.metric_type())?)
        };
        counter("gpu_run_processes_begun", "Processes that have begun", None, seen.begun)?;
        let bytes = Some(&Unit::Bytes);
        counter(
            "gpu_run_written",
            "Output of processes that have ended",
            bytes,
            seen.written,
        )?;
        let mut family = encoder.encode_descriptor(
            "gpu_run_processes_ended",
            "Processes by how they have ended",
            None,
            ConstCounter::new(0u64).metric_type(),
        )?;
        for (kind, count) in &seen.ended {
            family
                .encode_family(&[("kind", *kind)])?
                .encode_counter::<NoLabelSet, _, u64>(count, None)?;
        }
        let help = "Times of processes, from their begin to their end";
        let times = &seen.times;
        times.encode(encoder.encode_descriptor("gpu_run_process_time", help, seconds, times.metric_type())?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::processes::Processes;

    #[test]
    fn processes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch.prom");
        let seen = Seen::new(Processes::new(Some(4)));
        let metrics = of_batch(&Place::File(path.clone()), Path::new("some/app.wasm"), &seen).unwrap();
        seen.lock().begun += 3;
        seen.lock().end("done", "a", Some(Duration::from_millis(3)), 10);
        seen.lock().end("trap", "b", Some(Duration::from_millis(30)), 5);
        seen.lock().end("unreadable", "c", None, 0);
        seen.lock().over();
        drop(metrics);
        let text = std::fs::read_to_string(&path).unwrap();
        for line in [
            "gpu_run_running{module=\"app.wasm\"} 0.0",
            "gpu_run_processes_begun_total{module=\"app.wasm\"} 3",
            "gpu_run_processes_ended_total{module=\"app.wasm\",kind=\"done\"} 1",
            "gpu_run_processes_ended_total{module=\"app.wasm\",kind=\"trap\"} 1",
            "gpu_run_processes_ended_total{module=\"app.wasm\",kind=\"unreadable\"} 1",
            "gpu_run_written_bytes_total{module=\"app.wasm\"} 15",
            "gpu_run_process_time_seconds_count{module=\"app.wasm\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
