//! ThreadSanitizer sees the kernel's atomics, but not those in Rust, which is not instrumented. So it
//! is told of those by which host and kernel order what they write.

#[cfg(gpu_run_tsan)]
unsafe extern "C" {
    fn __tsan_acquire(at: *mut u8);
    fn __tsan_release(at: *mut u8);
}

/// An acquire load of `at` has seen what a lane stored there.
pub(crate) fn acquired(at: *mut u8) {
    // SAFETY: notes an event at an address, which is not accessed.
    #[cfg(gpu_run_tsan)]
    unsafe {
        __tsan_acquire(at)
    }
    _ = at;
}

/// A release store to `at` follows.
pub(crate) fn released(at: *mut u8) {
    // SAFETY: as above.
    #[cfg(gpu_run_tsan)]
    unsafe {
        __tsan_release(at)
    }
    _ = at;
}
