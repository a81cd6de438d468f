//! What a worker runs: a job, known by the address of its header.

use std::boxed::Box;

use crate::word::WordPtr;

/// The head of every job. What it belongs to begins with it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Job {
    /// Runs the job. It is called once for each time that the job was made ready, with its address.
    run: unsafe fn(*const Job),
    /// The next job of the queue that it lies in.
    pub next: WordPtr<Job>,
}

impl Job {
    pub const fn new(run: unsafe fn(*const Job)) -> Job {
        Job {
            run,
            next: WordPtr::null(),
        }
    }

    /// # Safety
    ///
    /// The job was made ready and not run since.
    pub unsafe fn run(job: *const Job) {
        // SAFETY: it lives until it has run.
        unsafe { ((*job).run)(job) }
    }
}

/// What a panic left.
pub(crate) type Panic = Box<dyn std::any::Any + Send>;

/// Calls `f`. A panic is an `Err` in builds that unwind.
#[inline]
pub(crate) fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    #[cfg(panic = "unwind")]
    {
        // What the function changed before its panic is seen by those that its results would have reached, which get
        // the panic instead.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
    }
    #[cfg(not(panic = "unwind"))]
    {
        Ok(f())
    }
}

/// The panic goes on in this thread.
pub(crate) fn resume(panic: Panic) -> ! {
    std::panic::resume_unwind(panic)
}
