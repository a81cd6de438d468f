//! Ends the process where stopping the run does not: when it waits for somebody to take its output.
//!
//! A run is stopped by a flag, and its output is written before the report. If nobody reads a pipe, writing
//! waits for ever; so what was asked to end is ended when nobody has taken any of it for a while, with the exit code
//! that it would have had.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::report::code;

/// How long nobody may take the output of a run that is to have ended.
const GRACE: Duration = Duration::from_secs(3);
/// How long such a run may take otherwise: other programs may have the device for a while.
const DEVICE_GRACE: Duration = Duration::from_secs(30);

/// Writes under way, and those that are over. Relaxed: they order nothing.
static WRITING: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Makes a write of output, for which all watchdogs have less patience.
pub fn while_writing<T>(write: impl FnOnce() -> T) -> T {
    WRITING.fetch_add(1, Ordering::Relaxed);
    let result = write();
    WRITTEN.fetch_add(1, Ordering::Relaxed);
    WRITING.fetch_sub(1, Ordering::Relaxed);
    result
}

/// While it is there, the process ends after a time.
pub struct Watchdog(Arc<AtomicBool>);

impl Watchdog {
    /// Ends the process with an exit code after `time` and a grace, unless it is dropped before.
    fn new(time: Duration, exit_code: u8) -> Watchdog {
        let called_off = Arc::new(AtomicBool::new(false));
        let seen = called_off.clone();
        // Without the thread, the run is stopped all the same.
        _ = thread::Builder::new().name("watchdog".into()).spawn(move || {
            // When its time was over, or it last moved on: a write ended, or began.
            let Some(mut since) = Instant::now().checked_add(time) else {
                return;
            };
            let mut last = (0, false);
            while !seen.load(Ordering::Relaxed) {
                let now = Instant::now();
                let writes = WRITING.load(Ordering::Relaxed) > 0;
                let before = std::mem::replace(&mut last, (WRITTEN.load(Ordering::Relaxed), writes));
                if last != before {
                    since = since.max(now);
                }
                let patience = if writes { GRACE } else { DEVICE_GRACE };
                let Some(end) = since.checked_add(patience) else {
                    return;
                };
                let left = end.saturating_duration_since(now);
                if left.is_zero() {
                    std::process::exit(exit_code.into());
                }
                thread::park_timeout(left.min(Duration::from_millis(100)));
            }
        });
        Watchdog(called_off)
    }

    /// Of a run with a timeout.
    pub fn of_run(timeout: Option<Duration>) -> Option<Watchdog> {
        timeout.map(|timeout| Watchdog::new(timeout, code::TIMEOUT))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has Ctrl-C set a flag, by which the run is stopped. A second one ends the process at once.
pub fn on_interrupt(flag: Arc<AtomicBool>) {
    let asked = AtomicBool::new(false);
    _ = ctrlc::set_handler(move || {
        flag.store(true, Ordering::Relaxed);
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(code::INTERRUPTED.into());
        }
        // It stays until the process ends.
        std::mem::forget(Watchdog::new(Duration::ZERO, code::INTERRUPTED));
    });
}
