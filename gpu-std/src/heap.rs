//! The device's heap: as a global allocator, and many blocks at once.

use core::alloc::{GlobalAlloc, Layout};

/// The heap of the device: safe and fast under many threads.
///
/// `gpu-run` replaces the allocator of Rust's std by this heap anyway, where it finds it. A `no_std` program, or one
/// that wants to be sure, names it:
///
/// ```
/// #[global_allocator]
/// static HEAP: gpu_std::GpuAllocator = gpu_std::GpuAllocator;
///
/// let numbers: Vec<u32> = (0..1000).collect();
/// assert_eq!(numbers.iter().sum::<u32>(), 499_500);
/// ```
///
/// A request that the memory has no room for returns null, after which std ends the program with its usual message.
/// On a host target it is the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuAllocator;

// SAFETY: the heap returns blocks of at least the size and with the alignment asked for. No other code has them until
// they are given back. It does not unwind.
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

/// Takes as many blocks as `blocks` has places, all of one layout, and returns how many that were. They are fewer if
/// the memory has no room for more. Places after them stay as they are.
///
/// That is as if by [`GpuAllocator`] for each, but one operation. Where 64 blocks lie side by side they cost as many
/// accesses of the heap as one. Any of them can be freed alone, or with others by [`free_batch`].
///
/// ```
/// use std::alloc::Layout;
/// use gpu_std::heap::{alloc_batch, free_batch};
///
/// let layout = Layout::new::<[f32; 4]>();
/// let mut blocks = [std::ptr::null_mut(); 100];
/// let taken = alloc_batch(layout, &mut blocks);
/// assert_eq!(taken, 100); // there is room
/// for (i, block) in blocks[..taken].iter().enumerate() {
///     // SAFETY: a block for such an array, which no other code has.
///     unsafe { block.cast::<[f32; 4]>().write([i as f32; 4]) };
/// }
/// // SAFETY: they were taken with this layout, and are not used again.
/// unsafe { free_batch(layout, &blocks[..taken]) };
/// ```
pub fn alloc_batch(layout: Layout, blocks: &mut [*mut u8]) -> usize {
    crate::platform::alloc_batch(layout, blocks)
}

/// Frees blocks that have one layout, whether they were taken together or not.
///
/// # Safety
///
/// As for [`GlobalAlloc::dealloc`] of [`GpuAllocator`], for each of them. It was taken with this layout, by
/// [`alloc_batch`] or by [`GpuAllocator`], and is not used any more.
///
/// ```
/// use std::alloc::{GlobalAlloc, Layout};
/// use gpu_std::{GpuAllocator, heap::free_batch};
///
/// let layout = Layout::new::<u64>();
/// // SAFETY: the size is not 0; each block is freed once, with its layout.
/// unsafe {
///     let blocks = [GpuAllocator.alloc(layout), GpuAllocator.alloc(layout)];
///     assert!(blocks.iter().all(|block| !block.is_null()));
///     free_batch(layout, &blocks);
/// }
/// ```
pub unsafe fn free_batch(layout: Layout, blocks: &[*mut u8]) {
    // SAFETY: the caller's promise is passed on.
    unsafe { crate::platform::free_batch(layout, blocks) }
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
    #[test]
    fn a_batch_is_many_blocks() {
        let layout = Layout::from_size_align(48, 16).unwrap();
        let mut blocks = [core::ptr::null_mut(); 200];
        assert_eq!(alloc_batch(layout, &mut blocks[..150]), 150);
        assert!(
            blocks[150..].iter().all(|block| block.is_null()),
            "no more than asked for"
        );
        for (i, block) in blocks[..150].iter().enumerate() {
            assert!(!block.is_null() && block.addr().is_multiple_of(16));
            // SAFETY: the block has 48 bytes.
            unsafe { block.write_bytes(i as u8, 48) };
        }
        // SAFETY: each is freed once, with its layout: one alone, the others together.
        unsafe {
            assert!((0..150).all(|i| blocks[i].add(47).read() == i as u8));
            GpuAllocator.dealloc(blocks[149], layout);
            free_batch(layout, &blocks[..149]);
        }
    }
}
