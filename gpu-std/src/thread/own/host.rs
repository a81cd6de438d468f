//! In tests, what `gpu-run` does for threads, by those of std.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::stack::Record;

std::thread_local! {
    static ID: Cell<u32> = const { Cell::new(0) };
}

/// The id of the calling thread; 0 for those that were not spawned here.
pub fn own_id() -> u32 {
    ID.get()
}

/// # Safety
///
/// As of `spawn_thread` in `platform/wasm.rs`.
pub unsafe fn spawn_thread(record: *mut Record) -> bool {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let id = LAST.fetch_add(1, Relaxed) + 1;
    let record = record.expose_provenance();
    std::thread::spawn(move || {
        ID.set(id);
        let record: *const Record = core::ptr::with_exposed_provenance(record);
        // SAFETY: it stays until it says that the thread has ended.
        unsafe {
            ((*record).function)(id, record);
            (*record).ended.set(1);
        }
    });
    true
}
