//! What stands in on a host for `gpu-run`'s options: input, output and frame.
//!
//! Only host targets have this module. Each thread of the host has buffers of its own, so that tests that run at
//! the same time do not meet.
//!
//! ```
//! use gpu_std::{host, state_in, state_out};
//!
//! fn double() {
//!     gpu_std::par::for_each(state_in::len::<u8>() as usize, |i| {
//!         let value = state_in::read::<u8>(i as u64).unwrap();
//!         state_out::write(i as u64, 2 * value);
//!     });
//! }
//!
//! host::set_input(vec![1, 2, 3]);
//! host::set_output(100);
//! double();
//! assert_eq!(host::output(), [2, 4, 6]);
//! ```

use core::cell::RefCell;
use std::thread_local;
use std::vec;
use std::vec::Vec;

#[derive(Default)]
struct Buffers {
    input: Vec<u8>,
    /// Up to the highest byte written.
    output: Vec<u8>,
    output_size: u64,
    frame: Vec<u8>,
    size: (u32, u32),
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

static WORKERS: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

/// How many threads [`task::run`](crate::task::run) has work on a host; 0: one for each processor, as without this call.
///
/// ```
/// gpu_std::host::set_workers(3);
/// # #[cfg(feature = "std")]
/// assert_eq!(gpu_std::task::run(gpu_std::task::workers), Some(3));
/// ```
pub fn set_workers(count: u32) {
    WORKERS.store(count, core::sync::atomic::Ordering::Relaxed);
}

#[cfg(feature = "std")]
pub(crate) fn workers() -> u32 {
    match WORKERS.load(core::sync::atomic::Ordering::Relaxed) {
        0 => std::thread::available_parallelism().map_or(2, |count| count.get() as u32),
        count => count,
    }
}

fn with<T>(f: impl FnOnce(&mut Buffers) -> T) -> T {
    BUFFERS.with_borrow_mut(f)
}

/// Sets an input for this thread, as `gpu-run --input` does.
///
/// ```
/// gpu_std::host::set_input(b"text".to_vec());
/// assert_eq!(gpu_std::state_in::len::<u8>(), 4);
/// ```
pub fn set_input(bytes: Vec<u8>) {
    with(|buffers| buffers.input = bytes);
}

/// Sets an empty output for this thread, of at most `size` bytes, as `gpu-run --output` does.
///
/// ```
/// gpu_std::host::set_output(8);
/// assert_eq!(gpu_std::state_out::capacity::<u32>(), 2);
/// ```
pub fn set_output(size: u64) {
    with(|buffers| {
        buffers.output.clear();
        buffers.output_size = size;
    });
}

/// What this thread has written to its output, up to the highest byte.
///
/// ```
/// gpu_std::host::set_output(8);
/// gpu_std::state_out::write(2, 7u8);
/// assert_eq!(gpu_std::host::output(), [0, 0, 7]);
/// ```
pub fn output() -> Vec<u8> {
    with(|buffers| buffers.output.clone())
}

/// Sets an empty frame for this thread, as `gpu-run --frame` does.
///
/// ```
/// gpu_std::host::set_frame(4, 3);
/// assert_eq!(gpu_std::frame_size(), (4, 3));
/// ```
pub fn set_frame(width: u32, height: u32) {
    with(|buffers| {
        buffers.size = (width, height);
        buffers.frame = vec![0; width as usize * height as usize * 4];
    });
}

/// The pixels of this thread's frame, row by row; each is red, green, blue, opacity.
///
/// ```
/// gpu_std::host::set_frame(1, 1);
/// gpu_std::set_pixel(0, 0, [1, 2, 3, 255]);
/// assert_eq!(gpu_std::host::frame(), [1, 2, 3, 255]);
/// ```
pub fn frame() -> Vec<u8> {
    with(|buffers| buffers.frame.clone())
}

pub(crate) fn in_size() -> u64 {
    with(|buffers| buffers.input.len() as u64)
}

pub(crate) fn out_size() -> u64 {
    with(|buffers| buffers.output_size)
}

/// Reads bytes that the caller knows to be there.
pub(crate) fn read(at: u64, bytes: &mut [u8]) {
    with(|buffers| bytes.copy_from_slice(&buffers.input[at as usize..][..bytes.len()]));
}

/// Writes bytes for which the caller knows a place.
pub(crate) fn write(at: u64, bytes: &[u8]) {
    with(|buffers| {
        let (at, end) = (at as usize, at as usize + bytes.len());
        if end > buffers.output.len() {
            buffers.output.resize(end, 0);
        }
        buffers.output[at..end].copy_from_slice(bytes);
    });
}

pub(crate) fn size() -> (u32, u32) {
    with(|buffers| buffers.size)
}

pub(crate) fn set_pixel(x: u32, y: u32, rgba: [u8; 4]) {
    with(|buffers| {
        let (width, height) = buffers.size;
        if x < width && y < height {
            let at = (y as usize * width as usize + x as usize) * 4;
            buffers.frame[at..at + 4].copy_from_slice(&rgba);
        }
    });
}
