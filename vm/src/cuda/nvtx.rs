//! Ranges of NVTX: what is done on the host and how long it takes, for the time line of Nsight Systems.
//!
//! They are there only where a tool asks for them, by the variable in which it names its own part, and where NVTX's library
//! is found.

use std::marker::PhantomData;
use std::sync::OnceLock;

use cudarc::nvtx::{result, sys};

/// The variable in which a tool names its library.
const INJECTION: &str = "NVTX_INJECTION64_PATH";

/// A range that ends when it is dropped. It stays on the thread that has begun it.
pub struct Range(PhantomData<*const ()>);

impl Drop for Range {
    fn drop(&mut self) {
        result::range_pop();
    }
}

/// Begins a range with this name, if a tool asks for ranges. Ranges of a thread lie within each other.
#[must_use = "the range ends when it is dropped"]
pub fn range(name: &'static str) -> Option<Range> {
    static WANTED: OnceLock<bool> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        // SAFETY: opens NVTX's library, which does nothing by itself.
        std::env::var_os(INJECTION).is_some() && unsafe { sys::is_culib_present() }
    });
    wanted.then(|| {
        result::range_push(name);
        Range(PhantomData)
    })
}
