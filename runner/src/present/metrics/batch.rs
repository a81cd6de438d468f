//! The metrics of a batch.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Unit;

use super::export::Export;
use super::{EVERY, Place};
use crate::report::{Outcome, Report};

/// The shortest time of a process that is told apart, in seconds, and into how many parts times are told apart from there
/// on, each four times as long.
const SHORTEST: f64 = 1e-5;
const PARTS: u16 = 12;

/// Tells of a batch, at the place that was asked for.
pub struct BatchMetrics {
    seen: Arc<Mutex<Processes>>,
    times: Histogram,
    /// Its drop ends what writes the file, and the last of that is waited for.
    stop: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

/// What the processes of a batch have done so far.
#[derive(Debug)]
struct Processes {
    begin: Instant,
    /// How long it took, once it is over.
    took: Option<Duration>,
    begun: u64,
    ended: BTreeMap<&'static str, u64>,
    written: u64,
}

impl BatchMetrics {
    /// Metrics of a batch of `module`.
    ///
    /// # Errors
    ///
    /// If nothing can listen at the address, or the file cannot be written.
    pub fn begin(place: &Place, module: &Path) -> Outcome<BatchMetrics> {
        let begin = Instant::now();
        let seen = Arc::new(Mutex::new(Processes {
            begin,
            took: None,
            begun: 0,
            ended: BTreeMap::new(),
            written: 0,
        }));
        let times = Histogram::new(exponential_buckets(SHORTEST, 4.0, PARTS));
        let collector = Seen(seen.clone(), times.clone());
        let mut export = Export::begin(place, module, Box::new(collector))?;
        let (stop, stopped) = channel();
        // In a thread of its own: processes may take long, and a slow file does not hold the batch.
        let write = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                export.publish();
            }
            export.publish();
        };
        let writer = std::thread::Builder::new().name("metrics".into()).spawn(write);
        let failed = |error| Report::new(format!("cannot begin --metrics: {error}"));
        Ok(BatchMetrics {
            seen,
            times,
            stop: Some(stop),
            writer: Some(writer.map_err(failed)?),
        })
    }

    fn change(&mut self, change: impl FnOnce(&mut Processes)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A process begins.
    pub fn begun(&mut self) {
        self.change(|seen| seen.begun += 1);
    }

    /// A process has ended in this way, after a time if it ran, and has written so many bytes.
    pub fn ended(&mut self, kind: &'static str, time: Option<Duration>, written: u64) {
        if let Some(time) = time {
            self.times.observe(time.as_secs_f64());
        }
        self.change(|seen| {
            *seen.ended.entry(kind).or_default() += 1;
            seen.written += written;
        });
    }
}

impl Drop for BatchMetrics {
    fn drop(&mut self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.took = Some(seen.begin.elapsed());
        drop(seen);
        drop(self.stop.take());
        if let Some(writer) = self.writer.take() {
            // It does nothing that could panic.
            _ = writer.join();
        }
    }
}

/// The metrics of what was seen last.
struct Seen(Arc<Mutex<Processes>>, Histogram);

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}

impl Collector for Seen {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
        };
        let running = f64::from(u8::from(seen.took.is_none()));
        gauge("gpu_run_running", "1 while the batch runs", None, running)?;
        let time = seen.took.unwrap_or_else(|| seen.begin.elapsed());
        let seconds = Some(&Unit::Seconds);
        gauge(
            "gpu_run_time",
            "How long the batch has run",
            seconds,
            time.as_secs_f64(),
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
        self.1
            .encode(encoder.encode_descriptor("gpu_run_process_time", help, seconds, self.1.metric_type())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch.prom");
        let mut metrics = BatchMetrics::begin(&Place::File(path.clone()), Path::new("some/app.wasm")).unwrap();
        metrics.begun();
        metrics.begun();
        metrics.begun();
        metrics.ended("done", Some(Duration::from_millis(3)), 10);
        metrics.ended("trap", Some(Duration::from_millis(30)), 5);
        metrics.ended("unreadable", None, 0);
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
