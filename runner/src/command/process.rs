//! What this process asks of its host before a run: how signals and limits are to be.

#[cfg(unix)]
use std::sync::Arc;

/// The most open files that systems without a limit of their own take: OPEN_MAX of macOS.
#[cfg(unix)]
const OPEN_MAX: u64 = 10_240;

/// Prepares the process: see [`let_writes_fail`] and [`raise_open_files`].
pub fn prepare() {
    #[cfg(unix)]
    {
        let_writes_fail();
        raise_open_files();
    }
}

/// Calls `handle`, in a thread for that, each time this process is asked to end: by Ctrl-C, SIGTERM or SIGHUP.
#[cfg(unix)]
pub fn on_interrupt(mut handle: impl FnMut() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Where it fails, these end the process as they do by default.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(|_| handle()));
}

/// Here Ctrl-C ends the process.
#[cfg(not(unix))]
pub fn on_interrupt(_handle: impl FnMut() + Send + 'static) {}

/// Has a process that this one started end as by Ctrl-C.
#[cfg(unix)]
pub fn interrupt(child: &std::process::Child) {
    use rustix::process::{Pid, Signal, kill_process};
    // It may have ended.
    _ = kill_process(Pid::from_child(child), Signal::INT);
}

/// Here Ctrl-C reaches it without help.
#[cfg(not(unix))]
pub fn interrupt(_child: &std::process::Child) {}

/// Where a file grows over the limit of this process, the write fails and the guest is told so. The process does not end
/// by that.
#[cfg(unix)]
fn let_writes_fail() {
    // A handler keeps the signal from ending the process. If there can be none, it does.
    _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Files that this process may have open at once: as many as its user allows it. Shells begin with few, for the sake
/// of programs that use `select`; a guest may have thousands of threads that each open one.
#[cfg(unix)]
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If neither can be set the limit stays, and opening one file more fails.
    for most in [limit.maximum, Some(OPEN_MAX)] {
        let raised = Rlimit { current: most, ..limit };
        // None is no limit.
        let less = |current| most.is_none_or(|most| current < most);
        if limit.current.is_some_and(less) && setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}
