//! The platform of a host target: one thread, real atomics, the standard library's clock. Whatever threads may see of
//! each other begins with a `step`, at which a model lets another thread go on.

use core::alloc::{GlobalAlloc, Layout};
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::alloc::System;
use std::string::String;

use crate::__values::Sink;
use crate::Level;
use crate::print::Stream;

// Threads of std, or those of a model: see `crate::models`.
#[cfg_attr(not(all(test, shuttle)), path = "host/threads.rs")]
#[cfg_attr(all(test, shuttle), path = "host/model.rs")]
mod threads;

pub use threads::*;

pub fn thread_id() -> u32 {
    0
}

pub fn thread_count() -> u32 {
    1
}

pub fn atomic_add(target: &AtomicU32, value: u32) -> u32 {
    step();
    target.fetch_add(value, SeqCst)
}

pub fn atomic_inc(target: &AtomicU32) -> u32 {
    step();
    target.fetch_add(1, SeqCst)
}

pub fn atomic_dec(target: &AtomicU32) -> u32 {
    step();
    target.fetch_sub(1, SeqCst)
}

pub fn atomic_cas(target: &AtomicU32, expected: u32, new: u32) -> u32 {
    step();
    match target.compare_exchange(expected, new, SeqCst, SeqCst) {
        Ok(old) | Err(old) => old,
    }
}

/// Threads of a host are no lanes.
pub fn meet() -> bool {
    false
}

pub fn lock(word: &AtomicU32) {
    step();
    while word.swap(1, SeqCst) != 0 {
        pause();
    }
}

pub fn unlock(word: &AtomicU32) {
    step();
    word.store(0, SeqCst);
}

/// The thread arrives at a barrier of `threads`: whether it is the last one, which has begun the next phase, and whether
/// the phase has ended.
#[cfg_attr(not(test), allow(dead_code))] // A host has std's barriers.
pub fn arrive(words: &[AtomicU32; 2], threads: u32) -> (bool, bool) {
    step();
    let last = words[1].fetch_add(1, SeqCst) + 1 == threads;
    if last {
        words[1].store(0, SeqCst);
        step();
        words[0].fetch_add(1, SeqCst);
    }
    (last, last)
}

/// On a host all of these accesses are sequentially consistent.
pub fn atomic_relaxed() {}
pub fn atomic_acq_rel() {}

/// The algorithm of `vm/kernel/ops/work.h`, for a lane that is alone.
///
/// # Safety
///
/// `queue` is the address, a multiple of 8, of a queue as `work::Queue` lays it out. The same holds for the next two.
pub unsafe fn work_push(queue: *mut u32, value: u32) -> bool {
    // SAFETY: the caller's promise.
    let Some((slot, empty)) = (unsafe { work_slot(queue, 1, 0) }) else {
        return false;
    };
    let put = |state: u32| u64::from(value) | u64::from(state.wrapping_add(1)) << 32;
    while (slot.load(SeqCst) >> 32) as u32 != empty {
        pause();
    }
    step();
    slot.store(put(empty), SeqCst);
    step();
    // SAFETY: as above.
    unsafe { AtomicU32::from_ptr(queue.add(3)) }.fetch_add(1, SeqCst);
    true
}

/// # Safety
///
/// As above.
pub unsafe fn work_pop(queue: *mut u32) -> Option<u32> {
    // SAFETY: the caller's promise.
    let (slot, empty) = unsafe { work_slot(queue, 3, 2) }?;
    let value = loop {
        let found = slot.load(SeqCst);
        if (found >> 32) as u32 == empty.wrapping_add(1) {
            break found as u32;
        }
        pause();
    };
    // SAFETY: as above.
    let mask = unsafe { *queue.add(4) };
    step();
    slot.store(u64::from(empty.wrapping_add(mask).wrapping_add(1)) << 32, SeqCst);
    step();
    // SAFETY: as above.
    unsafe { AtomicU32::from_ptr(queue.add(1)) }.fetch_add(1, SeqCst);
    Some(value)
}

/// The slot of the next ticket, if there is a credit, and the state in which it is empty.
unsafe fn work_slot(queue: *mut u32, credits: usize, tickets: usize) -> Option<(&'static AtomicU64, u32)> {
    // SAFETY: words of the queue, by the caller's promise.
    let (credits, tickets) = unsafe {
        (
            AtomicU32::from_ptr(queue.add(credits)),
            AtomicU32::from_ptr(queue.add(tickets)),
        )
    };
    step();
    if (credits.fetch_sub(1, SeqCst) as i32) <= 0 {
        step();
        credits.fetch_add(1, SeqCst);
        return None;
    }
    step();
    let ticket = tickets.fetch_add(1, SeqCst);
    // SAFETY: the mask is written once, and the slots lie after the header.
    unsafe {
        let index = ticket & *queue.add(4);
        let slot = AtomicU64::from_ptr(queue.add(6 + 2 * index as usize).cast());
        Some((slot, ticket.wrapping_sub(index)))
    }
}

pub fn wanted(_: Level) -> bool {
    true
}

/// A debug message, or a record of standard output or error, which is written at its end.
pub struct Text {
    text: String,
    write: fn(&str),
}

impl Text {
    fn add(&mut self, value: impl fmt::Display) {
        // A user's own `Display` may fail: what it wrote before stays.
        let _ = fmt::write(&mut self.text, format_args!("{value}"));
    }
}

impl Sink for Text {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }
    fn i64(&mut self, value: i64) {
        self.add(value);
    }
    fn u64(&mut self, value: u64) {
        self.add(value);
    }
    fn f32(&mut self, value: f32) {
        self.add(value);
    }
    fn f64(&mut self, value: f64) {
        self.add(value);
    }
    fn char(&mut self, value: char) {
        self.text.push(value);
    }
    fn shown(&mut self, value: fmt::Arguments) {
        self.add(value);
    }
    fn end(&mut self) {
        (self.write)(&self.text);
    }
}

pub struct Record;

impl Record {
    #[allow(clippy::new_ret_no_self)] // The other target's is a type of its own.
    pub fn new(stream: Stream, line: bool) -> Text {
        Text {
            text: String::new(),
            write: match (stream, line) {
                (Stream::Stdout, true) => |text| std::println!("{text}"),
                (Stream::Stdout, false) => |text| std::print!("{text}"),
                (Stream::Stderr, true) => |text| std::eprintln!("{text}"),
                (Stream::Stderr, false) => |text| std::eprint!("{text}"),
            },
        }
    }
}

pub struct Message;

impl Message {
    pub fn begin(level: Level, file: &str, line: u32) -> Text {
        let mut message = Message::new();
        let level = std::format!("{level:?}").to_uppercase();
        message.shown(format_args!("[{level} {file}:{line}] "));
        message
    }

    #[allow(clippy::new_ret_no_self)] // As above.
    pub fn new() -> Text {
        Text {
            text: String::new(),
            write: |text| std::eprintln!("{text}"),
        }
    }
}

/// # Safety
///
/// As of [`GlobalAlloc`]. The same holds for the next three.
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise is passed on, here and below.
    unsafe { System.alloc(layout) }
}

pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as above.
    unsafe { System.alloc_zeroed(layout) }
}

pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    // SAFETY: as above.
    unsafe { System.dealloc(block, layout) }
}

pub unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { System.realloc(block, layout, size) }
}

pub fn alloc_batch(layout: Layout, blocks: &mut [*mut u8]) -> usize {
    // A size of 0 is what the device takes and the system's allocator does not.
    let layout = Layout::from_size_align(layout.size().max(1), layout.align()).unwrap_or(layout);
    for (taken, place) in blocks.iter_mut().enumerate() {
        // SAFETY: the size is not 0.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            return taken;
        }
        *place = block;
    }
    blocks.len()
}

/// # Safety
///
/// As of [`crate::heap::free_batch`].
pub unsafe fn free_batch(layout: Layout, blocks: &[*mut u8]) {
    // SAFETY: the caller's promise is passed on; the size is that of `alloc_batch`.
    let free = |block| unsafe {
        System.dealloc(
            block,
            Layout::from_size_align_unchecked(layout.size().max(1), layout.align()),
        );
    };
    blocks.iter().copied().for_each(free);
}

pub(crate) use crate::host::{in_size, out_size, read as ld_in, write as st_out};

pub fn frame_size() -> u64 {
    let (width, height) = crate::host::size();
    width as u64 | (height as u64) << 32
}

pub fn set_pixel(x: u32, y: u32, rgba: u32) {
    crate::host::set_pixel(x, y, rgba.to_le_bytes());
}

macro_rules! atomics {
    ($name:ident $atomic:ident $value:ident) => {
        /// Atomic operations on a word.
        ///
        /// Each needs a pointer to an aligned word that lives as long as the call. All other accesses at the same time
        /// must be atomic.
        #[allow(clippy::missing_safety_doc)] // Above.
        pub mod $name {
            use core::sync::atomic::{$atomic, Ordering::SeqCst};

            pub unsafe fn load(at: *mut $value) -> $value {
                super::step();
                // SAFETY: as the module asks for, in all of these.
                unsafe { $atomic::from_ptr(at) }.load(SeqCst)
            }
            pub unsafe fn store(at: *mut $value, value: $value) {
                super::step();
                // SAFETY: as in `load`.
                unsafe { $atomic::from_ptr(at) }.store(value, SeqCst)
            }
            pub unsafe fn cas(at: *mut $value, expected: $value, new: $value) -> $value {
                super::step();
                // SAFETY: as in `load`.
                match unsafe { $atomic::from_ptr(at) }.compare_exchange(expected, new, SeqCst, SeqCst) {
                    Ok(old) | Err(old) => old,
                }
            }
            atomics!(@rmw $atomic $value: swap=swap add=fetch_add sub=fetch_sub and=fetch_and or=fetch_or xor=fetch_xor);
        }
    };
    (@rmw $atomic:ident $value:ident: $($name:ident=$method:ident)*) => {
        $(
            pub unsafe fn $name(at: *mut $value, value: $value) -> $value {
                super::step();
                // SAFETY: as in `load`.
                unsafe { $atomic::from_ptr(at) }.$method(value, SeqCst)
            }
        )*
    };
}
atomics!(atomic32 AtomicU32 u32);
atomics!(atomic64 AtomicU64 u64);

macro_rules! floats {
    ($($name:ident $float:ident $method:ident;)*) => {
        $(
            pub fn $name(x: $float) -> $float {
                crate::math::canonical::$float(x.$method())
            }
        )*
    };
}
floats! {
    sqrt32 f32 sqrt; floor32 f32 floor; ceil32 f32 ceil; trunc32 f32 trunc; nearest32 f32 round_ties_even;
    sqrt64 f64 sqrt; floor64 f64 floor; ceil64 f64 ceil; trunc64 f64 trunc; nearest64 f64 round_ties_even;
}
