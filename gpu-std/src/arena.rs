//! Memory that is taken piece by piece and given back as a whole.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::GpuAllocator;

/// Bytes of an arena's first chunk, if it is not made with a size.
const FIRST_CHUNK: usize = 4096;
/// Chunks double up to this size.
const LARGEST_CHUNK: usize = 1 << 20;
/// Alignment of chunks: that of all common types, so that most blocks need no padding.
const CHUNK_ALIGN: usize = 16;

/// The heap has no room for what an arena was asked for.
///
/// ```
/// use gpu_std::{Arena, ArenaFull};
///
/// let full = Arena::with_capacity(isize::MAX as usize).unwrap_err();
/// let ArenaFull { bytes } = full;
/// assert_eq!(bytes, isize::MAX as usize);
/// assert_eq!(full.to_string(), format!("the heap has no room for {bytes} bytes of an arena"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaFull {
    /// Bytes that were asked for.
    pub bytes: usize,
}

impl fmt::Display for ArenaFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the heap has no room for {} bytes of an arena", self.bytes)
    }
}

impl core::error::Error for ArenaFull {}

/// The head of a chunk; its bytes follow.
struct Chunk {
    /// One past its last byte.
    end: *mut u8,
    /// The chunk that is used when this one is full, or null.
    next: *mut Chunk,
}

/// Where an arena takes its next block: between `next` and `end`.
#[derive(Clone, Copy)]
struct Top {
    next: *mut u8,
    end: *mut u8,
    /// The chunk in which they lie; null while the arena has none.
    chunk: *mut Chunk,
}

/// Memory from which blocks are taken by moving a pointer, and given back all at once.
///
/// That costs a few instructions a block, where a heap that many threads share costs atomics. An arena belongs to one
/// thread, which takes blocks in a [`scope`](Arena::scope); when the scope ends, they are free again, at no cost.
/// Scopes nest. Memory comes from [`GpuAllocator`] in chunks, which the arena keeps for its next scope and returns to
/// the heap when it is dropped.
///
/// ```
/// use gpu_std::Arena;
///
/// let mut arena = Arena::new();
/// for round in 0..100 {
///     let mut scope = arena.scope();
///     let numbers = scope.alloc_slice_with(1000, |i| i + round);
///     let total = scope.alloc(0);
///     {
///         // What comes from the inner scope is free again at its end; what came before stays.
///         let inner = scope.scope();
///         let squares = inner.alloc_slice_with(numbers.len(), |i| numbers[i] * numbers[i]);
///         *total = squares.iter().sum();
///     }
///     assert_eq!(numbers[999], 999 + round);
///     assert!(*total > 0);
/// } // all is free again, and no byte was given back to the heap
/// assert!(arena.capacity() < 64 * 1024);
/// ```
pub struct Arena {
    top: Cell<Top>,
    first: Cell<*mut Chunk>,
}

// SAFETY: an arena owns its chunks, and those of the global heap may be freed by any thread.
unsafe impl Send for Arena {}

impl Arena {
    /// An arena without memory: its first block fetches some.
    ///
    /// ```
    /// assert_eq!(gpu_std::Arena::new().capacity(), 0);
    /// ```
    pub const fn new() -> Arena {
        let top = Top {
            next: ptr::null_mut(),
            end: ptr::null_mut(),
            chunk: ptr::null_mut(),
        };
        Arena {
            top: Cell::new(top),
            first: Cell::new(ptr::null_mut()),
        }
    }

    /// An arena that has room for at least this many bytes, less what alignment takes.
    ///
    /// # Errors
    ///
    /// The heap has no room for them.
    ///
    /// ```
    /// let arena = gpu_std::Arena::with_capacity(100_000).unwrap();
    /// assert!(arena.capacity() >= 100_000);
    /// ```
    pub fn with_capacity(bytes: usize) -> Result<Arena, ArenaFull> {
        let arena = Arena::new();
        arena.add_chunk(bytes)?;
        Ok(arena)
    }

    /// Bytes in all the chunks that the arena has.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// arena.scope().alloc([0u8; 100]);
    /// assert!(arena.capacity() >= 100);
    /// ```
    pub fn capacity(&self) -> usize {
        let (mut bytes, mut chunk) = (0, self.first.get());
        // SAFETY: the list holds the arena's chunks.
        while let Some(head) = unsafe { chunk.as_ref() } {
            bytes += head.end.addr() - start(chunk).addr();
            chunk = head.next;
        }
        bytes
    }

    /// Begins to take blocks. They are free again when the scope ends.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// let scope = arena.scope();
    /// let name = scope.alloc_str("gpu");
    /// name.make_ascii_uppercase();
    /// assert_eq!(name, "GPU");
    /// ```
    pub fn scope(&mut self) -> ArenaScope<'_> {
        ArenaScope {
            arena: self,
            begin: self.top.get(),
            blocks: PhantomData,
        }
    }

    /// Frees all blocks, those of scopes that were forgotten (`core::mem::forget`) too, and returns all chunks but the
    /// last to the heap.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// arena.scope().alloc_slice_with(100_000, |i| i as u8);
    /// let before = arena.capacity();
    /// arena.reset();
    /// assert!(arena.capacity() <= before);
    /// ```
    pub fn reset(&mut self) {
        let mut chunk = self.first.get();
        // SAFETY: the list holds the arena's chunks. No block is in use, as `self` is not borrowed.
        while let Some(head) = unsafe { chunk.as_ref() } {
            if head.next.is_null() {
                self.first.set(chunk);
                self.top.set(top_of(chunk));
                return;
            }
            let next = head.next;
            // SAFETY: as above; the list is not read from here again.
            unsafe { free(chunk) };
            chunk = next;
        }
    }

    /// Memory for a block, in the current chunk or the next that has room.
    fn take(&self, layout: Layout) -> Result<NonNull<u8>, ArenaFull> {
        loop {
            let top = self.top.get();
            let padding = top.next.addr().wrapping_neg() & (layout.align() - 1);
            let room = top.end.addr() - top.next.addr();
            // A null pointer is no place for a block, not even one of no bytes.
            if !top.chunk.is_null() && padding <= room && layout.size() <= room - padding {
                // SAFETY: padding and block lie in the chunk, as was just compared.
                let block = unsafe { top.next.add(padding) };
                // SAFETY: as above.
                let next = unsafe { block.add(layout.size()) };
                self.top.set(Top { next, ..top });
                // SAFETY: it lies in an allocation.
                return Ok(unsafe { NonNull::new_unchecked(block) });
            }
            let needed = layout.size().saturating_add(layout.align());
            // SAFETY: a chunk of the arena, or null; so are those after it.
            let mut next = unsafe { top.chunk.as_ref() }.map_or(ptr::null_mut(), |chunk| chunk.next);
            // SAFETY: as above.
            while let Some(chunk) = unsafe { next.as_ref() }
                && chunk.end.addr() - start(next).addr() < needed
            {
                next = chunk.next;
            }
            match next.is_null() {
                true => self.add_chunk(needed)?,
                false => self.top.set(top_of(next)),
            }
        }
    }

    /// Adds a chunk of at least `bytes` bytes after the current one, and goes to it.
    #[cold]
    fn add_chunk(&self, bytes: usize) -> Result<(), ArenaFull> {
        let full = ArenaFull { bytes };
        let top = self.top.get();
        let usual = match top.chunk.is_null() {
            true => FIRST_CHUNK,
            false => (2 * (top.end.addr() - start(top.chunk).addr())).min(LARGEST_CHUNK),
        };
        let size = bytes.max(usual).checked_add(size_of::<Chunk>()).ok_or(full)?;
        let layout = Layout::from_size_align(size, CHUNK_ALIGN).map_err(|_| full)?;
        // SAFETY: the size is not 0.
        let block = NonNull::new(unsafe { GpuAllocator.alloc(layout) }).ok_or(full)?;
        let chunk = block.as_ptr().cast::<Chunk>();
        // SAFETY: the block begins with room for the head, which is aligned; the current chunk is the arena's.
        unsafe {
            let behind = match top.chunk.is_null() {
                true => ptr::null_mut(),
                false => (*top.chunk).next,
            };
            let end = block.as_ptr().add(size);
            chunk.write(Chunk { end, next: behind });
            if top.chunk.is_null() {
                self.first.set(chunk);
            } else {
                (*top.chunk).next = chunk;
            }
        }
        self.top.set(top_of(chunk));
        Ok(())
    }
}

/// The first byte after a chunk's head.
fn start(chunk: *mut Chunk) -> *mut u8 {
    chunk.wrapping_add(1).cast()
}

/// All of a chunk.
fn top_of(chunk: *mut Chunk) -> Top {
    Top {
        next: start(chunk),
        // SAFETY: callers pass chunks of an arena.
        end: unsafe { (*chunk).end },
        chunk,
    }
}

/// Returns a chunk to the heap.
///
/// # Safety
///
/// It is an arena's, and nothing of it is used any more.
unsafe fn free(chunk: *mut Chunk) {
    // SAFETY: by the caller's promise, with the layout that `add_chunk` allocated it with.
    unsafe {
        let size = (*chunk).end.addr() - chunk.addr();
        GpuAllocator.dealloc(chunk.cast(), Layout::from_size_align_unchecked(size, CHUNK_ALIGN));
    }
}

impl Default for Arena {
    fn default() -> Arena {
        Arena::new()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let mut chunk = self.first.get();
        // SAFETY: as in `reset`.
        while let Some(head) = unsafe { chunk.as_ref() } {
            let next = head.next;
            // SAFETY: as in `reset`.
            unsafe { free(chunk) };
            chunk = next;
        }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("capacity", &self.capacity()).finish()
    }
}

/// Blocks of an [`Arena`] that are given back together, when the scope ends.
///
/// Destructors of what lies in them do not run. Every method that takes a block panics if the heap has no room
/// for it; [`try_alloc_layout`](ArenaScope::try_alloc_layout) tells instead.
///
/// ```
/// use gpu_std::{Arena, ArenaScope};
///
/// /// The even numbers below `end`, which live as long as the scope's blocks.
/// fn evens<'a>(scope: &ArenaScope<'a>, end: usize) -> &'a [usize] {
///     scope.alloc_slice_with(end.div_ceil(2), |i| 2 * i)
/// }
///
/// let mut arena = Arena::new();
/// let scope = arena.scope();
/// assert_eq!(evens(&scope, 7), [0, 2, 4, 6]);
/// ```
pub struct ArenaScope<'a> {
    arena: &'a Arena,
    /// What was free when the scope began.
    begin: Top,
    /// References to blocks live as long as the arena, or the outer scope, is lent to this one. Until then no other
    /// scope takes blocks, so they stay what they are even if the scope itself ends before.
    blocks: PhantomData<&'a mut u8>,
}

impl<'a> ArenaScope<'a> {
    /// A scope inside of this one, which is lent to it as long as its blocks are used.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// let mut outer = arena.scope();
    /// let kept = outer.alloc(1);
    /// let inner = outer.scope();
    /// *kept += *inner.alloc(2);
    /// drop(inner);
    /// assert_eq!(*kept, 3);
    /// ```
    ///
    /// What an inner scope returns cannot be kept once the outer one is used again:
    ///
    /// ```compile_fail
    /// let mut arena = gpu_std::Arena::new();
    /// let mut outer = arena.scope();
    /// let inner = outer.scope();
    /// let short = inner.alloc(2);
    /// drop(inner);
    /// outer.alloc(3);
    /// println!("{short}");
    /// ```
    pub fn scope(&mut self) -> ArenaScope<'_> {
        ArenaScope {
            arena: self.arena,
            begin: self.arena.top.get(),
            blocks: PhantomData,
        }
    }

    /// A block that holds `value`.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// let scope = arena.scope();
    /// let point = scope.alloc((1.0, 2.0));
    /// point.0 += 1.0;
    /// assert_eq!(*point, (2.0, 2.0));
    /// ```
    pub fn alloc<T>(&self, value: T) -> &'a mut T {
        let block = self.take(Layout::new::<T>()).cast::<T>();
        // SAFETY: no other code has the block, which is aligned and large enough, as long as 'a.
        unsafe {
            block.write(value);
            &mut *block.as_ptr()
        }
    }

    /// A block of `len` values: `make(i)` for each index i, in order.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// let scope = arena.scope();
    /// assert_eq!(scope.alloc_slice_with(4, |i| i * i), [0, 1, 4, 9]);
    /// ```
    pub fn alloc_slice_with<T>(&self, len: usize, mut make: impl FnMut(usize) -> T) -> &'a mut [T] {
        let slice = self.uninit(len);
        for (i, place) in slice.iter_mut().enumerate() {
            place.write(make(i));
        }
        // SAFETY: each has been written.
        unsafe { &mut *(ptr::from_mut(slice) as *mut [T]) }
    }

    /// A block with a copy of a slice.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// let scope = arena.scope();
    /// let copy = scope.alloc_slice(&[3, 1, 2]);
    /// copy.sort();
    /// assert_eq!(copy, [1, 2, 3]);
    /// ```
    pub fn alloc_slice<T: Copy>(&self, values: &[T]) -> &'a mut [T] {
        self.alloc_slice_with(values.len(), |i| values[i])
    }

    /// A block with a copy of a text.
    ///
    /// ```
    /// let mut arena = gpu_std::Arena::new();
    /// assert_eq!(arena.scope().alloc_str("text"), "text");
    /// ```
    pub fn alloc_str(&self, text: &str) -> &'a mut str {
        let bytes = self.alloc_slice(text.as_bytes());
        // SAFETY: the bytes of a text.
        unsafe { core::str::from_utf8_unchecked_mut(bytes) }
    }

    /// A block of any size and alignment, whose bytes are not initialized.
    ///
    /// # Errors
    ///
    /// The heap has no room for it.
    ///
    /// ```
    /// use std::alloc::Layout;
    ///
    /// let mut arena = gpu_std::Arena::new();
    /// let scope = arena.scope();
    /// let page = scope.try_alloc_layout(Layout::from_size_align(100, 4096).unwrap()).unwrap();
    /// assert_eq!((page.len(), page.as_ptr() as usize % 4096), (100, 0));
    ///
    /// let huge = Layout::from_size_align(isize::MAX as usize - 4095, 1).unwrap();
    /// assert!(scope.try_alloc_layout(huge).is_err());
    /// ```
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<&'a mut [MaybeUninit<u8>], ArenaFull> {
        let block = self.arena.take(layout)?.cast::<MaybeUninit<u8>>();
        // SAFETY: no other code has the block, which has that size, as long as 'a; its bytes may be anything.
        Ok(unsafe { core::slice::from_raw_parts_mut(block.as_ptr(), layout.size()) })
    }

    fn uninit<T>(&self, len: usize) -> &'a mut [MaybeUninit<T>] {
        let Ok(layout) = Layout::array::<T>(len) else {
            panic!("{len} elements are more than a slice can have");
        };
        let block = self.take(layout).cast::<MaybeUninit<T>>();
        // SAFETY: no other code has the block, which is aligned and large enough, as long as 'a.
        unsafe { core::slice::from_raw_parts_mut(block.as_ptr(), len) }
    }

    fn take(&self, layout: Layout) -> NonNull<u8> {
        match self.arena.take(layout) {
            Ok(block) => block,
            Err(full) => panic!("{full}"),
        }
    }
}

impl Drop for ArenaScope<'_> {
    /// Frees the scope's blocks. Chunks stay the arena's, so references that are still there keep their memory
    /// until the arena is used again.
    fn drop(&mut self) {
        let begin = match self.begin.chunk.is_null() {
            false => self.begin,
            // The scope fetched the first chunk.
            true => match self.arena.first.get() {
                chunk if chunk.is_null() => self.begin,
                chunk => top_of(chunk),
            },
        };
        self.arena.top.set(begin);
    }
}

impl fmt::Debug for ArenaScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaScope").field("arena", self.arena).finish()
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
