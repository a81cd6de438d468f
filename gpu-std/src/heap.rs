//! The device's heap as a global allocator.

use core::alloc::{GlobalAlloc, Layout};

/// The heap of the device: safe and fast under many threads.
///
/// `gpu-run` gives the allocator of Rust's std to this heap anyway, where it finds it. A `no_std` program, or
/// one that wants to be sure, names it:
///
/// ```
/// #[global_allocator]
/// static HEAP: gpu_std::GpuAllocator = gpu_std::GpuAllocator;
///
/// let numbers: Vec<u32> = (0..1000).collect();
/// assert_eq!(numbers.iter().sum::<u32>(), 499_500);
/// ```
///
/// A request that the memory has no room for gives null, upon which std ends the program with its usual message.
/// On a host target it is the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuAllocator;

// SAFETY: the heap gives blocks of at least the size and with the alignment asked for, which nobody else has
// until they are given back; it does not unwind.
unsafe impl GlobalAlloc for GpuAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on, here and below.
        unsafe { crate::platform::alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { crate::platform::dealloc(block, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { crate::platform::alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { crate::platform::realloc(block, layout, size) }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_keep_their_bytes() {
        for align in [1, 8, 64, 4096] {
            let layout = Layout::from_size_align(100, align).unwrap();
            // SAFETY: the block is used as long as it is allocated, with its layout.
            unsafe {
                let block = GpuAllocator.alloc_zeroed(layout);
                assert!(!block.is_null() && block.addr().is_multiple_of(align));
                assert_eq!(block.add(99).read(), 0);
                block.add(99).write(7);
                let block = GpuAllocator.realloc(block, layout, 1000);
                assert_eq!(block.add(99).read(), 7);
                GpuAllocator.dealloc(block, Layout::from_size_align(1000, align).unwrap());
            }
        }
    }
}
