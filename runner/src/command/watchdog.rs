//! Ends the process where stopping the run does not: before there is one, or when it waits until its output is read.
//!
//! A run is stopped by a flag, and its output is written before the report. Writing to
//! a pipe that is not read waits for ever. So a run that was asked to end is ended when none of its output was taken for
//! a while. The exit code is the one that it would have had.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gpu_run::InterruptHandle;

use crate::cli::{ReportFormat, RunArgs};
use crate::report::{self, Report, code};
use crate::sink::Target;
use crate::{engine, fault, process, writes};

/// How long the output of a run that is to have ended may stay unread.
const GRACE: Duration = Duration::from_secs(3);
/// How long such a run may take otherwise: other programs may have the device for a while.
const DEVICE_GRACE: Duration = Duration::from_secs(30);

/// How long it may take in all, however its output moves on: a reader may be slow, but not for ever.
const MOST_GRACE: Duration = Duration::from_secs(60);

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
            let Some(over) = Instant::now().checked_add(time) else {
                return;
            };
            let mut since = over;
            let mut last = (0, false);
            while !seen.load(Ordering::Relaxed) {
                let now = Instant::now();
                let (written, writes) = writes::progress();
                let before = std::mem::replace(&mut last, (written, writes));
                if last != before {
                    since = since.max(now);
                }
                let patience = if writes { GRACE } else { DEVICE_GRACE };
                let Some(end) = since.checked_add(patience) else {
                    return;
                };
                let left = end.min(over + MOST_GRACE).saturating_duration_since(now);
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

/// How far a command is on the way to its run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The module is read, translated and verified.
    Loading,
    /// The device is opened, which takes the time it takes.
    Opening,
    /// What runs is stopped by a flag.
    Running,
}

/// The preparation of a run. No program runs that could be stopped, so where it is to end, the process does.
pub struct Preparation(Arc<(Mutex<Stage>, Condvar)>);

impl Preparation {
    /// Begins it. Loading ends the process when it takes longer than `--timeout`; Ctrl-C does in both stages,
    /// and afterwards sets a flag, by which the run is stopped. A second one ends the process at once.
    pub fn begin(args: &RunArgs, interrupt: InterruptHandle) -> Preparation {
        let preparation = Preparation(Arc::new((Mutex::new(Stage::Loading), Condvar::new())));
        if let Some(timeout) = args.timeout {
            let (shared, target) = (preparation.0.clone(), args.report.clone());
            let place = format!("{}: it was still being prepared", args.module().display());
            // Without the thread, only the run has a limit.
            _ = thread::Builder::new().name("preparation".into()).spawn(move || {
                let (stage, changed) = &*shared;
                let stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = changed.wait_timeout_while(stage, timeout, |stage| *stage == Stage::Loading);
                let (stage, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if *stage == Stage::Loading {
                    end(&target, &report::timed_out(timeout).at(place));
                }
            });
        }
        let (shared, target) = (preparation.0.clone(), args.report.clone());
        let asked = AtomicBool::new(false);
        process::on_interrupt(move || {
            let stage = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            if *stage != Stage::Running {
                end(&target, &report::interrupted());
            }
            drop(stage);
            interrupt.interrupt();
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(code::INTERRUPTED.into());
            }
            // It stays until the process ends.
            std::mem::forget(Watchdog::new(Duration::ZERO, code::INTERRUPTED));
        });
        preparation
    }

    /// The program is loaded: `--timeout` counts again from the start of the run.
    pub fn loaded(&self) {
        self.set(Stage::Opening);
    }

    /// What comes now looks at the flag.
    pub fn end(self) {
        self.set(Stage::Running);
    }

    fn set(&self, stage: Stage) {
        let (now, changed) = &*self.0;
        *now.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        changed.notify_all();
    }
}

/// Ends a process that prepares a run. Another thread may be anywhere, so nothing is cleaned up.
fn end(target: &Target<ReportFormat>, report: &Report) -> ! {
    fault::show(target, report);
    engine::leave_at_once(report.code)
}
