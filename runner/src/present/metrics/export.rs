//! Where metrics go: an address at which they can be asked for, or a file that is written anew.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tiny_http::{Header, Method, Response, Server};

use super::Place;
use crate::files;
use crate::report::{Outcome, Report, warn};

/// The media type of the text, as OpenMetrics has it.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Metrics at their place.
pub struct Export {
    registry: Arc<Registry>,
    file: Option<PathBuf>,
    /// Whether a file could not be written, which is told once.
    failed: bool,
}

impl Export {
    /// Metrics of what `module` does, which this collects.
    ///
    /// # Errors
    ///
    /// If nothing can listen at the address, or the file cannot be written.
    pub fn begin(place: &Place, module: &Path, collector: Box<dyn Collector>) -> Outcome<Export> {
        let name = module.file_name().unwrap_or(module.as_os_str());
        let labels = [("module".into(), name.to_string_lossy().into_owned().into())];
        let mut registry = Registry::with_labels(labels.into_iter());
        registry.register_collector(collector);
        let mut export = Export {
            registry: Arc::new(registry),
            file: None,
            failed: false,
        };
        match place {
            Place::File(path) => {
                let failed = |error: String| files::failed("cannot write the file of --metrics", path, &error);
                // What a link leads to is written; the link stays.
                let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                export.write(&path).map_err(failed)?;
                export.file = Some(path);
            }
            Place::Address(address) => _ = export.listen(address)?,
        }
        Ok(export)
    }

    /// Writes the file, if there is one. An address is answered when it is asked.
    pub fn publish(&mut self) {
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
    pub(super) fn listen(&self, address: &str) -> Outcome<Option<SocketAddr>> {
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
