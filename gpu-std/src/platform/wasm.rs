//! The platform of a `wasm32` guest: each function is an import that becomes one instruction.
//!
//! In: calls of the crate's public modules. Out: instructions of `gpu-run`. `platform/host.rs` has the same functions
//! for
//! other targets.
//!
//! - this file: the imports, and the functions over them;
//! - `output`: records and debug messages, put together before they are sent.

use core::alloc::Layout;
use core::sync::atomic::AtomicU32;

use crate::Level;

#[path = "wasm/output.rs"]
mod output;

pub use output::{Message, Record};
#[cfg(all(feature = "std", target_os = "unknown"))]
pub use output::{end_error, print_error};

mod import {
    #[link(wasm_import_module = "gpu_run_v1")]
    unsafe extern "C" {
        pub safe fn gid() -> i32;
        pub safe fn thread_count() -> i32;
        pub safe fn time() -> i64;
        #[cfg(all(feature = "std", target_os = "unknown"))]
        pub safe fn exit(code: i32);
        pub fn atomic_add(ptr: *mut u32, value: i32) -> i32;
        pub fn atomic_inc(ptr: *mut u32) -> i32;
        pub fn atomic_dec(ptr: *mut u32) -> i32;
        pub fn atomic_cas(ptr: *mut u32, expected: i32, new: i32) -> i32;
        pub fn work_push(queue: *mut u32, value: u32) -> i32;
        pub fn work_pop(queue: *mut u32) -> i64;
        pub fn barrier(words: *mut u32, threads: u32) -> i32;
        #[cfg(feature = "std")]
        pub fn thread_spawn(record: *mut u8) -> i32;
        pub fn frame_wait(ptr: *mut u32, expected: i32, timeout: i64) -> i32;
        pub fn frame_wake(ptr: *mut u32, count: u32) -> u32;
        pub fn spinlock(ptr: *mut u32);
        pub fn spinunlock(ptr: *mut u32);
        pub safe fn sleep(nanoseconds: i64);
        pub safe fn meet() -> i32;
        pub safe fn atomic_relaxed();
        pub safe fn atomic_acq_rel();
        pub fn alloc(size: usize, align: usize) -> *mut u8;
        pub fn alloc_zero(size: usize, align: usize) -> *mut u8;
        pub fn dealloc(block: *mut u8, size: usize, align: usize);
        pub fn realloc(block: *mut u8, size: usize, align: usize, new: usize) -> *mut u8;
        pub fn alloc_batch(size: usize, align: usize, blocks: *mut *mut u8, count: usize) -> usize;
        pub fn dealloc_batch(size: usize, align: usize, blocks: *const *mut u8, count: usize);
        pub fn st_out(at: i64, ptr: *const u8, len: usize) -> usize;
        pub fn ld_in(at: i64, ptr: *mut u8, len: usize) -> usize;
        pub safe fn in_size() -> i64;
        pub safe fn out_size() -> i64;
        pub safe fn frame_size() -> i64;
        pub safe fn set_pixel(x: i32, y: i32, rgba: i32);
        #[link_name = "f32.sqrt"]
        pub safe fn sqrt32(x: f32) -> f32;
        #[link_name = "f32.floor"]
        pub safe fn floor32(x: f32) -> f32;
        #[link_name = "f32.ceil"]
        pub safe fn ceil32(x: f32) -> f32;
        #[link_name = "f32.trunc"]
        pub safe fn trunc32(x: f32) -> f32;
        #[link_name = "f32.nearest"]
        pub safe fn nearest32(x: f32) -> f32;
        #[link_name = "f64.sqrt"]
        pub safe fn sqrt64(x: f64) -> f64;
        #[link_name = "f64.floor"]
        pub safe fn floor64(x: f64) -> f64;
        #[link_name = "f64.ceil"]
        pub safe fn ceil64(x: f64) -> f64;
        #[link_name = "f64.trunc"]
        pub safe fn trunc64(x: f64) -> f64;
        #[link_name = "f64.nearest"]
        pub safe fn nearest64(x: f64) -> f64;
        pub fn print(stream: i32, ptr: *const u8, len: usize);
        pub safe fn print_end(stream: i32);
        pub safe fn dbg_wanted(level: i32) -> i32;
        pub fn dbg_level(level: i32, file: *const u8, len: usize, line: i32);
        pub safe fn dbg_i32(value: i32);
        pub safe fn dbg_u32(value: u32);
        pub safe fn dbg_i64(value: i64);
        pub safe fn dbg_u64(value: u64);
        pub safe fn dbg_f32(value: f32);
        pub safe fn dbg_f64(value: f64);
        pub safe fn dbg_bool(value: i32);
        pub safe fn dbg_char(value: u32);
        pub fn dbg_str(text: *const u8, len: usize);
        pub safe fn dbg_nl();
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

#[cfg(all(feature = "std", target_os = "unknown"))]
pub fn exit(code: i32) -> ! {
    import::exit(code);
    core::arch::wasm32::unreachable()
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

/// Waits while `expected` is there, until [`wake32`] or for so long; false after that time. It may also return for no
/// reason.
#[inline]
pub fn wait32(word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) -> bool {
    let timeout = nanoseconds.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX));
    // SAFETY: as in `atomic_add`.
    unsafe { import::frame_wait(word.as_ptr(), expected as i32, timeout) != 2 }
}

#[inline]
pub fn wake32(word: &AtomicU32, count: u32) {
    // SAFETY: the address is a word's; only threads that wait there are concerned.
    unsafe { import::frame_wake(word.as_ptr(), count) };
}

/// Begins a thread: false if there is no room for one.
///
/// # Safety
///
/// `record` is the address of one as `translator/src/thread_start.rs` describes it, and stays until that says that the
/// thread has ended.
#[cfg(feature = "std")]
#[allow(dead_code)] // Where std has threads they are not begun here.
pub unsafe fn spawn_thread<R>(record: *mut R) -> bool {
    // SAFETY: the caller's promise. The result is an id, or negative.
    unsafe { import::thread_spawn(record.cast()) >= 0 }
}

/// How often a thread looks before it waits.
#[allow(dead_code)] // Without std none waits.
pub const fn looks(count: u32) -> u32 {
    count
}

/// Lets other threads of the lane, and other lanes of the warp, go on.
#[inline]
pub fn pause() {
    import::sleep(0);
}

/// Waits until the other lanes of the warp have come here too, or wait, or have ended: those that go on to the same code run
/// it together. False, at once, where lanes do not meet. It orders nothing.
#[inline]
pub fn meet() -> bool {
    import::meet() != 0
}

pub use import::{atomic_acq_rel, atomic_relaxed};

/// Leaves the lane to others for so long.
#[inline]
pub fn sleep(nanoseconds: u64) {
    import::sleep(nanoseconds as i64);
}

#[inline]
pub fn lock(word: &AtomicU32) {
    // SAFETY: as in `atomic_add`.
    unsafe { import::spinlock(word.as_ptr()) }
}

#[inline]
pub fn unlock(word: &AtomicU32) {
    // SAFETY: as in `atomic_add`.
    unsafe { import::spinunlock(word.as_ptr()) }
}

/// # Safety
///
/// `queue` is the address, a multiple of 8, of a queue as `work::Queue` lays it out.
#[inline]
pub unsafe fn work_push(queue: *mut u32, value: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { import::work_push(queue, value) != 0 }
}

/// # Safety
///
/// As of [`work_push`].
#[inline]
pub unsafe fn work_pop(queue: *mut u32) -> Option<u32> {
    // SAFETY: the caller's promise.
    u32::try_from(unsafe { import::work_pop(queue) }).ok()
}

/// The thread arrives at a barrier of `threads`: whether it is the last one, which has begun the next phase, and whether
/// the phase has ended.
#[inline]
pub fn arrive(words: &[AtomicU32; 2], threads: u32) -> (bool, bool) {
    // SAFETY: two aligned words that may be changed through a shared reference.
    let result = unsafe { import::barrier(words[0].as_ptr(), threads) };
    (result == 1, result != 0)
}

#[inline]
pub fn wanted(level: Level) -> bool {
    import::dbg_wanted(level as i32) != 0
}

/// # Safety
///
/// As of [`core::alloc::GlobalAlloc`]. The same holds for the next three.
#[inline]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the import takes any size and any power of two.
    unsafe { import::alloc(layout.size(), layout.align()) }
}

#[inline]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as in `alloc`.
    unsafe { import::alloc_zero(layout.size(), layout.align()) }
}

#[inline]
pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    // SAFETY: the block came from the heap with this layout, by the caller's promise; so it did below.
    unsafe { import::dealloc(block, layout.size(), layout.align()) }
}

#[inline]
pub unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { import::realloc(block, layout.size(), layout.align(), size) }
}

#[inline]
pub fn alloc_batch(layout: Layout, blocks: &mut [*mut u8]) -> usize {
    // SAFETY: the import takes any size and any power of two, and writes at most so many addresses there.
    unsafe { import::alloc_batch(layout.size(), layout.align(), blocks.as_mut_ptr(), blocks.len()) }
}

/// # Safety
///
/// As of [`crate::heap::free_batch`].
#[inline]
pub unsafe fn free_batch(layout: Layout, blocks: &[*mut u8]) {
    // SAFETY: each came from the heap with this layout, by the caller's promise.
    unsafe { import::dealloc_batch(layout.size(), layout.align(), blocks.as_ptr(), blocks.len()) }
}

#[inline]
pub fn in_size() -> u64 {
    import::in_size() as u64
}

#[inline]
pub fn out_size() -> u64 {
    import::out_size() as u64
}

#[inline]
pub fn ld_in(at: u64, bytes: &mut [u8]) {
    // SAFETY: the import writes at most `len` bytes there.
    unsafe { import::ld_in(at as i64, bytes.as_mut_ptr(), bytes.len()) };
}

#[inline]
pub fn st_out(at: u64, bytes: &[u8]) {
    // SAFETY: the import only reads the bytes.
    unsafe { import::st_out(at as i64, bytes.as_ptr(), bytes.len()) };
}

#[inline]
pub fn frame_size() -> u64 {
    import::frame_size() as u64
}

#[inline]
pub fn set_pixel(x: u32, y: u32, rgba: u32) {
    import::set_pixel(x as i32, y as i32, rgba as i32);
}

pub use import::{ceil32, ceil64, floor32, floor64, nearest32, nearest64, sqrt32, sqrt64, trunc32, trunc64};

macro_rules! atomics {
    ($module:ident $value:ident: load $load:literal store $store:literal cas $cas:literal $($name:ident $import:literal)*) => {
        /// Atomic operations on a word. Each needs a pointer to an aligned word.
        pub mod $module {
            #[link(wasm_import_module = "gpu_run_v1")]
            unsafe extern "C" {
                #[link_name = $load]
                pub fn load(at: *mut $value) -> $value;
                #[link_name = $store]
                pub fn store(at: *mut $value, value: $value);
                #[link_name = $cas]
                pub fn cas(at: *mut $value, expected: $value, new: $value) -> $value;
                $(
                    #[link_name = $import]
                    pub fn $name(at: *mut $value, value: $value) -> $value;
                )*
            }
        }
    };
}
atomics!(atomic32 u32:
    load "i32.atomic.load" store "i32.atomic.store" cas "i32.atomic.rmw.cmpxchg"
    swap "i32.atomic.rmw.xchg" add "i32.atomic.rmw.add" sub "i32.atomic.rmw.sub"
    and "i32.atomic.rmw.and" or "i32.atomic.rmw.or" xor "i32.atomic.rmw.xor");
atomics!(atomic64 u64:
    load "i64.atomic.load" store "i64.atomic.store" cas "i64.atomic.rmw.cmpxchg"
    swap "i64.atomic.rmw.xchg" add "i64.atomic.rmw.add" sub "i64.atomic.rmw.sub"
    and "i64.atomic.rmw.and" or "i64.atomic.rmw.or" xor "i64.atomic.rmw.xor");
