//! What every kernel of the bench ends with: the check of all threads' results. Part of both crates.

use core::sync::atomic::AtomicU32;

use gpu_std::{atomic_add, atomic_inc, thread_count};

static TOTAL: AtomicU32 = AtomicU32::new(0);
static ARRIVED: AtomicU32 = AtomicU32::new(0);

/// Returns `mine`, a thread's result. With `expect` of 0 or more, the thread that ends last traps
/// unless the sum of all results is `expect`. Timed runs pass -1, so they do not measure the check.
pub fn finish(mine: u32, expect: i64) -> u32 {
    if expect >= 0 {
        atomic_add(&TOTAL, mine);
        // Adding 0 reads what all threads have added.
        if atomic_inc(&ARRIVED) == thread_count() - 1 && atomic_add(&TOTAL, 0) != expect as u32 {
            core::arch::wasm32::unreachable();
        }
    }
    mine
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
