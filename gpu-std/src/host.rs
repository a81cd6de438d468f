//! The platform of a host target: one thread, real atomics, the standard library's clock.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::OnceLock;
use std::time::Instant;

pub fn thread_id() -> u32 {
    0
}

pub fn thread_count() -> u32 {
    1
}

pub fn time() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

pub fn atomic_add(target: &AtomicU32, value: u32) -> u32 {
    target.fetch_add(value, SeqCst)
}

pub fn atomic_inc(target: &AtomicU32) -> u32 {
    target.fetch_add(1, SeqCst)
}

pub fn atomic_dec(target: &AtomicU32) -> u32 {
    target.fetch_sub(1, SeqCst)
}

pub fn atomic_cas(target: &AtomicU32, expected: u32, new: u32) -> u32 {
    match target.compare_exchange(expected, new, SeqCst, SeqCst) {
        Ok(old) | Err(old) => old,
    }
}

pub fn print(args: fmt::Arguments) {
    std::print!("{args}");
}
