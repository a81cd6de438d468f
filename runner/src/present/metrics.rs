//! `--metrics`: what a run does, for Prometheus and what reads its text format.

mod batch;
mod export;

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpu_run_vm::{RequestCounts, Vitals};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

pub use self::batch::of_batch;
use self::export::Export;
use crate::report::Outcome;

/// How often the run is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// Where metrics go: `ADDR:PORT`, at which they can be asked for, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Address(String),
    File(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    /// An address ends with a port, and has no `/`. What is nearly one names no file, unless a folder stands before it.
    fn from_str(text: &str) -> Result<Place, Self::Err> {
        let file = || Ok(Place::File(text.into()));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if text.contains(['/', '\\']) {
            return file();
        }
        if is_number(text) {
            return Err(format!(
                "an address stands before a port, as in 127.0.0.1:{text}; a file of that name is ./{text}"
            ));
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            return file();
        };
        if port.parse::<u16>().is_ok() {
            return Ok(Place::Address(text.to_owned()));
        }
        let is_host = host.parse::<IpAddr>().is_ok() || host.starts_with('[') || host == "localhost";
        match is_host || is_number(port) {
            true => Err(format!("`{port}` is no port, a number up to 65535")),
            false => file(),
        }
    }
}

/// Tells of a run, at the place that was asked for.
pub struct Metrics {
    last: Arc<Mutex<Vitals>>,
    export: Export,
    /// What earlier runs of the process have done, such as that of the start function.
    before: Vitals,
}

impl Metrics {
    /// Metrics of a run of `module`.
    ///
    /// # Errors
    ///
    /// If nothing can listen at the address, or the file cannot be written.
    pub fn begin(place: &Place, module: &Path) -> Outcome<Metrics> {
        let last = Arc::new(Mutex::new(Vitals::default()));
        Ok(Metrics {
            export: Export::begin(place, module, Box::new(Seen(last.clone())))?,
            last,
            before: Vitals::default(),
        })
    }

    /// How often it wants to be told.
    pub fn every(&self) -> Duration {
        EVERY
    }

    /// Takes what the run does.
    pub fn take(&mut self, vitals: &Vitals) {
        let seen = together(&self.before, vitals);
        if vitals.over {
            self.before = seen.clone();
        }
        self.show(seen);
    }

    fn show(&mut self, seen: Vitals) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        self.export.publish();
    }
}

impl Drop for Metrics {
    /// Also a run that failed is over.
    fn drop(&mut self) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !last.over {
            self.show(Vitals { over: true, ..last });
        }
    }
}

/// What a run does, with what those before it have done. What it knows of its memory is of all of them.
fn together(before: &Vitals, vitals: &Vitals) -> Vitals {
    let spawned = match (before.spawned, vitals.spawned) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
    };
    Vitals {
        time: before.time + vitals.time,
        spawned,
        requests: RequestCounts {
            calls: before.requests.calls + vitals.requests.calls,
            messages: before.requests.messages + vitals.requests.messages,
        },
        written: [0, 1].map(|stream| before.written[stream] + vitals.written[stream]),
        messages: before.messages + vitals.messages,
        operations: match (before.operations, vitals.operations) {
            (Some(before), Some(now)) => Some(before + now),
            (before, now) => before.or(now),
        },
        ..vitals.clone()
    }
}

/// The metrics of what was seen last.
struct Seen(Arc<Mutex<Vitals>>);

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}

impl Collector for Seen {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
        };
        let running = !seen.over && !seen.time.is_zero();
        gauge(
            "gpu_run_running",
            "1 while the program runs",
            None,
            f64::from(u8::from(running)),
        )?;
        gauge(
            "gpu_run_time",
            "How long the program has run",
            Some(&Unit::Seconds),
            seen.time.as_secs_f64(),
        )?;
        gauge("gpu_run_lanes", "Lanes that the run has", None, seen.lanes.into())?;
        gauge(
            "gpu_run_threads",
            "Threads that the run began with",
            None,
            seen.threads.into(),
        )?;
        if let Some(states) = seen.states {
            gauge(
                "gpu_run_lanes_busy",
                "Lanes that have a thread which runs, or could",
                None,
                states.busy_lanes.into(),
            )?;
        }
        if let Some(memory) = seen.memory {
            let bytes = Some(&Unit::Bytes);
            gauge("gpu_run_memory", "Size of linear memory", bytes, memory.size as f64)?;
            gauge(
                "gpu_run_heap_used",
                "Pages of the heap with blocks in them",
                bytes,
                memory.used as f64,
            )?;
            gauge(
                "gpu_run_heap_peak",
                "The most of them at once",
                bytes,
                memory.peak as f64,
            )?;
        }
        gauge(
            "gpu_run_output_queued",
            "Output and debug messages that wait for the host",
            Some(&Unit::Bytes),
            seen.queued as f64,
        )?;
        let mut counter = |name: &str, help: &str, unit: Option<&Unit>, value: u64| {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, unit, counter.metric_type())?)
        };
        if let Some(memory) = seen.memory {
            counter(
                "gpu_run_heap_blocks",
                "Blocks that the heap has handed out",
                None,
                memory.allocated,
            )?;
        }
        if let Some(spawned) = seen.spawned {
            counter("gpu_run_threads_spawned", "Threads that were spawned", None, spawned)?;
        }
        if let Some(operations) = seen.operations {
            counter("gpu_run_operations", "Operations that were counted", None, operations)?;
        }
        let requests = seen.requests;
        counter(
            "gpu_run_requests",
            "Calls that the host has served",
            None,
            requests.calls,
        )?;
        counter(
            "gpu_run_request_messages",
            "Messages of these calls",
            None,
            requests.messages,
        )?;
        counter("gpu_run_debug_messages", "Debug messages", None, seen.messages)?;
        let written = ["stdout", "stderr"].into_iter().zip(seen.written);
        let zero = ConstCounter::new(0u64);
        let mut family = encoder.encode_descriptor(
            "gpu_run_written",
            "Output of the program that has come",
            Some(&Unit::Bytes),
            zero.metric_type(),
        )?;
        for (stream, bytes) in written {
            let labels = [("stream", stream)];
            family
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, _, u64>(&bytes, None)?;
        }
        let Some(states) = seen.states else { return Ok(()) };
        let zero = ConstGauge::new(0u64);
        let mut family = encoder.encode_descriptor(
            "gpu_run_threads_state",
            "Threads by what they do",
            None,
            zero.metric_type(),
        )?;
        let states = [
            ("new", states.new),
            ("running", states.running),
            ("waiting", states.waiting),
            ("requesting", states.requesting),
            ("ended", states.ended),
        ];
        for (state, threads) in states {
            let labels = [("state", state)];
            family.encode_family(&labels)?.encode_gauge(&i64::from(threads))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use gpu_run_vm::{MemoryVitals, ThreadStates};

    use super::*;

    fn vitals() -> Vitals {
        Vitals {
            time: Duration::from_millis(1500),
            lanes: 4,
            threads: 100,
            states: Some(ThreadStates {
                new: 1,
                running: 2,
                waiting: 3,
                requesting: 4,
                ended: 94,
                busy_lanes: 2,
            }),
            memory: Some(MemoryVitals {
                size: 1 << 20,
                allocated: 7,
                used: 65536,
                peak: 131072,
            }),
            queued: 3,
            written: [12, 0],
            ..Vitals::default()
        }
    }

    #[test]
    fn a_place_is_an_address_or_a_file() {
        let of = |text: &str| text.parse::<Place>().unwrap();
        assert_eq!(of("127.0.0.1:9100"), Place::Address("127.0.0.1:9100".into()));
        assert_eq!(of("[::1]:0"), Place::Address("[::1]:0".into()));
        assert_eq!(of("localhost:80"), Place::Address("localhost:80".into()));
        assert_eq!(of("run.prom"), Place::File("run.prom".into()));
        assert_eq!(of("./odd:80"), Place::File("./odd:80".into()));
        assert_eq!(of("a:b"), Place::File("a:b".into()));
        assert_eq!(of("./9100"), Place::File("./9100".into()));
        for wrong in ["127.0.0.1:99999", "127.0.0.1:abc", "localhost:", "host:65536", "9100"] {
            wrong.parse::<Place>().unwrap_err();
        }
    }

    #[test]
    fn a_file_has_what_was_seen_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.prom");
        let mut metrics = Metrics::begin(&Place::File(path.clone()), Path::new("some/app.wasm")).unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        assert!(
            read().contains("gpu_run_running{module=\"app.wasm\"} 0.0\n"),
            "{}",
            read()
        );
        metrics.take(&vitals());
        let text = read();
        for line in [
            "# TYPE gpu_run_time_seconds gauge",
            "gpu_run_running{module=\"app.wasm\"} 1.0",
            "gpu_run_time_seconds{module=\"app.wasm\"} 1.5",
            "gpu_run_heap_used_bytes{module=\"app.wasm\"} 65536.0",
            "gpu_run_heap_blocks_total{module=\"app.wasm\"} 7",
            "gpu_run_written_bytes_total{module=\"app.wasm\",stream=\"stdout\"} 12",
            "gpu_run_output_queued_bytes{module=\"app.wasm\"} 3.0",
            "gpu_run_threads_state{module=\"app.wasm\",state=\"ended\"} 94",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        metrics.take(&Vitals { over: true, ..vitals() });
        assert!(read().contains("gpu_run_running{module=\"app.wasm\"} 0.0\n"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// As a start function and then the program.
    #[test]
    fn runs_of_a_process_add_up() {
        let over = Vitals { over: true, ..vitals() };
        let both = together(&over, &vitals());
        assert_eq!((both.time, both.written), (Duration::from_secs(3), [24, 0]));
        assert_eq!((both.over, both.memory), (false, vitals().memory));
        assert_eq!(both.spawned, None);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["run.prom", "link"].map(|name| folder.path().join(name));
        std::fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        Metrics::begin(&Place::File(link.clone()), Path::new("app.wasm"))
            .unwrap()
            .take(&vitals());
        assert!(link.is_symlink());
        // The run was never over, but the process's metrics are.
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("gpu_run_running{module=\"app.wasm\"} 0.0\n")
        );
        Metrics::begin(&Place::File("/dev/null".into()), Path::new("app.wasm")).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn an_address_answers() {
        let folder = tempfile::tempdir().unwrap();
        let file = Place::File(folder.path().join("run.prom"));
        let metrics = Metrics::begin(&file, Path::new("app.wasm")).unwrap();
        let at = metrics.export.listen("127.0.0.1:0").unwrap().unwrap();
        // One that sends less than it has said, and stays, holds no other.
        let mut slow = TcpStream::connect(at).unwrap();
        write!(
            slow,
            "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
        )
        .unwrap();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let found = ask("GET /metrics");
        assert!(found.starts_with("HTTP/1.1 200 ") && found.contains("# EOF"), "{found}");
        assert!(found.contains("openmetrics-text"), "{found}");
        assert!(ask("GET /other").starts_with("HTTP/1.1 404 "));
        assert!(ask("POST /metrics").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn what_cannot_be_told_is_an_error() {
        let begin = |place: Place| {
            Metrics::begin(&place, Path::new("app.wasm"))
                .err()
                .map(|error| error.to_string())
        };
        let file = begin(Place::File("/no/such/folder/run.prom".into())).unwrap();
        assert!(file.contains("--metrics"), "{file}");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = begin(Place::Address(taken.local_addr().unwrap().to_string())).unwrap();
        assert!(address.contains("cannot listen"), "{address}");
    }
}
