//! What this process asks of its host before a run: how signals and limits are to be.

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

/// A file that grows over the limit of this process is an error of that write, which the guest is told, and not the
/// end of the process.
#[cfg(unix)]
fn let_writes_fail() {
    // SAFETY: a signal is ignored, for which no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Files that this process may have open at once: as many as its user allows it. Shells begin with few, for the sake
/// of programs that use `select`; a guest may have thousands of threads that each open one.
#[cfg(unix)]
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If neither can be set the limit stays, and whoever meets it says so.
    for most in [limit.maximum, Some(OPEN_MAX)] {
        let raised = Rlimit { current: most, ..limit };
        // None is no limit.
        let less = |current| most.is_none_or(|most| current < most);
        if limit.current.is_some_and(less) && setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}
