//! The platform of a `wasm32` guest: each function is an import that becomes one instruction.

use core::fmt;
use core::sync::atomic::AtomicU32;

mod import {
    #[link(wasm_import_module = "gpu_run_v1")]
    unsafe extern "C" {
        pub safe fn gid() -> i32;
        pub safe fn thread_count() -> i32;
        pub safe fn time() -> i64;
        pub fn atomic_add(ptr: *mut u32, value: i32) -> i32;
        pub fn atomic_inc(ptr: *mut u32) -> i32;
        pub fn atomic_dec(ptr: *mut u32) -> i32;
        pub fn atomic_cas(ptr: *mut u32, expected: i32, new: i32) -> i32;
        pub fn print(stream: i32, ptr: *const u8, len: usize);
        pub safe fn print_end(stream: i32);
    }
}

#[inline]
pub fn thread_id() -> u32 {
    import::gid() as u32
}

#[inline]
pub fn thread_count() -> u32 {
    import::thread_count() as u32
}

#[inline]
pub fn time() -> u64 {
    import::time() as u64
}

#[inline]
pub fn atomic_add(target: &AtomicU32, value: u32) -> u32 {
    // SAFETY: an AtomicU32 is four aligned bytes that may be changed through a shared reference.
    unsafe { import::atomic_add(target.as_ptr(), value as i32) as u32 }
}

#[inline]
pub fn atomic_inc(target: &AtomicU32) -> u32 {
    // SAFETY: as in `atomic_add`.
    unsafe { import::atomic_inc(target.as_ptr()) as u32 }
}

#[inline]
pub fn atomic_dec(target: &AtomicU32) -> u32 {
    // SAFETY: as in `atomic_add`.
    unsafe { import::atomic_dec(target.as_ptr()) as u32 }
}

#[inline]
pub fn atomic_cas(target: &AtomicU32, expected: u32, new: u32) -> u32 {
    // SAFETY: as in `atomic_add`.
    unsafe { import::atomic_cas(target.as_ptr(), expected as i32, new as i32) as u32 }
}

const STDOUT: i32 = 1;

/// The thread's pending record on standard output. Pieces gather in it until `print_end`.
struct Record;

impl fmt::Write for Record {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        // SAFETY: `piece` is `len` readable bytes, and the import only reads them.
        unsafe { import::print(STDOUT, piece.as_ptr(), piece.len()) };
        Ok(())
    }
}

pub fn print(args: fmt::Arguments) {
    // Only a user's own `Display` can fail. What it wrote before that is still printed.
    let _ = fmt::write(&mut Record, args);
    import::print_end(STDOUT);
}
