//! `--metrics`: what a run does, for Prometheus and what reads its text format.

use std::fmt;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpu_run_vm::{RequestCounts, Vitals};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use tiny_http::{Header, Method, Response, Server};

use crate::files;
use crate::report::{Outcome, Report, warn};

/// How often the run is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// The media type of the text, as OpenMetrics has it.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where metrics go: `ADDR:PORT`, at which they can be asked for, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Address(String),
    File(PathBuf),
}

impl FromStr for Place {
    type Err = std::convert::Infallible;

    /// An address ends with a port, and has no `/`.
    fn from_str(text: &str) -> Result<Place, Self::Err> {
        let port = text.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        Ok(match port {
            Some(Ok(_)) if !text.contains(['/', '\\']) => Place::Address(text.to_owned()),
            _ => Place::File(text.into()),
        })
    }
}

/// Tells of a run, at the places that were asked for.
pub struct Metrics {
    last: Arc<Mutex<Vitals>>,
    registry: Arc<Registry>,
    /// What earlier runs of the process have done, such as that of the start function.
    before: Vitals,
    file: Option<PathBuf>,
    /// Whether a file could not be written, which is told once.
    failed: bool,
}

impl Metrics {
    /// Metrics of a run of `module`.
    ///
    /// # Errors
    ///
    /// If nothing can listen at the address, or the file cannot be written.
    pub fn begin(place: &Place, module: &Path) -> Outcome<Metrics> {
        let last = Arc::new(Mutex::new(Vitals::default()));
        let name = module.file_name().unwrap_or(module.as_os_str());
        let labels = [("module".into(), name.to_string_lossy().into_owned().into())];
        let mut registry = Registry::with_labels(labels.into_iter());
        registry.register_collector(Box::new(Seen(last.clone())));
        let mut metrics = Metrics {
            last,
            registry: Arc::new(registry),
            before: Vitals::default(),
            file: None,
            failed: false,
        };
        match place {
            Place::File(path) => {
                let failed = |error: String| files::failed("cannot write the file of --metrics", path, &error);
                // What a link leads to is written; the link stays.
                let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                metrics.write(&path).map_err(failed)?;
                metrics.file = Some(path);
            }
            Place::Address(address) => _ = metrics.listen(address)?,
        }
        Ok(metrics)
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
        let Some(path) = self.file.clone() else { return };
        if let Err(error) = self.write(&path)
            && !std::mem::replace(&mut self.failed, true)
        {
            warn(&format!("cannot write metrics to {}: {error}", path.display()));
        }
    }

    /// Puts a new file in the place of the last one, so that nobody reads half of it. A pipe or a device is only written.
    fn write(&self, path: &Path) -> Result<(), String> {
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let written = std::fs::OpenOptions::new().write(true).open(path);
            let written = written.and_then(|mut file| file.write_all(text(&self.registry).as_bytes()));
            return written.map_err(|error| error.to_string());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let write = || {
            let mut file = tempfile::Builder::new()
                .permissions_of_files()
                .tempfile_in(folder.unwrap_or(Path::new(".")))?;
            file.write_all(text(&self.registry).as_bytes())?;
            file.persist(path).map_err(|error| error.error)
        };
        write().map(drop).map_err(|error: std::io::Error| error.to_string())
    }

    /// Answers at an address until the process ends. Returns which one it is.
    fn listen(&self, address: &str) -> Outcome<Option<SocketAddr>> {
        let failed = |error: String| Report::new(format!("cannot listen at {address} for --metrics: {error}"));
        let found: Vec<SocketAddr> = address
            .to_socket_addrs()
            .map_err(|error| failed(error.to_string()))?
            .collect();
        let server = Server::http(&found[..]).map_err(|error| failed(error.to_string()))?;
        let at = server.server_addr().to_ip();
        if let Some(at) = at {
            tracing::info!("metrics are at http://{at}/metrics");
        }
        let registry = self.registry.clone();
        let serve = move || {
            for request in server.incoming_requests() {
                let registry = registry.clone();
                // Each in a thread of its own: the library waits for what a request still sends. Without one it goes unanswered.
                _ = std::thread::Builder::new().spawn(move || answer(request, &registry));
            }
        };
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(serve)
            .map_err(|error| failed(error.to_string()))?;
        Ok(at)
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
        ..vitals.clone()
    }
}

/// Files that others may read, as those that a program makes without asking for more: what collects metrics is seldom the
/// same user.
trait Readable {
    fn permissions_of_files(&mut self) -> &mut Self;
}

impl Readable for tempfile::Builder<'_, '_> {
    fn permissions_of_files(&mut self) -> &mut Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The process's umask takes away from it.
            self.permissions(std::fs::Permissions::from_mode(0o666));
        }
        self
    }
}

/// Answers a request. One whose sender has gone is no error.
fn answer(request: tiny_http::Request, registry: &Registry) {
    let path = request.url().split('?').next().unwrap_or_default();
    let known = ["/metrics", "/"].contains(&path);
    _ = match (request.method(), known) {
        (Method::Get | Method::Head, true) => {
            let header = Header::from_bytes("Content-Type", MEDIA_TYPE);
            let response = Response::from_string(text(registry));
            match header {
                Ok(header) => request.respond(response.with_header(header)),
                Err(()) => request.respond(response),
            }
        }
        (_, true) => {
            let response = Response::from_string("only GET and HEAD\n").with_status_code(405);
            match Header::from_bytes("Allow", "GET, HEAD") {
                Ok(header) => request.respond(response.with_header(header)),
                Err(()) => request.respond(response),
            }
        }
        (_, false) => request.respond(Response::from_string("metrics are at /metrics\n").with_status_code(404)),
    };
}

/// What a scraper reads.
fn text(registry: &Registry) -> String {
    let mut text = String::new();
    // Strings take all that is written.
    _ = encode(&mut text, registry);
    text
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
    use std::io::Read;
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
                ended: 94,
            }),
            memory: Some(MemoryVitals {
                size: 1 << 20,
                allocated: 7,
                used: 65536,
                peak: 131072,
            }),
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
        let at = metrics.listen("127.0.0.1:0").unwrap().unwrap();
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
