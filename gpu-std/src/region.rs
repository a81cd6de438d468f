//! A piece of memory from which blocks of any size are taken and given back.

use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use crate::platform;
use crate::sync::Locked;

/// Which of the free blocks that are large enough is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// The one with the lowest address. It takes the fewest looks, and leaves large blocks at high addresses.
    #[default]
    First,
    /// The smallest one, the lowest of those. Large blocks stay whole the longest.
    Best,
    /// The largest one, the lowest of those. What is left of it is large enough for others.
    Worst,
}

/// A region has no free block that is large enough.
///
/// ```
/// use gpu_std::{Fit, Region, RegionFull};
///
/// let region = Region::with_capacity(1024, Fit::First).unwrap();
/// let full = region.alloc([0u8; 2000]).unwrap_err();
/// assert_eq!(full, RegionFull { bytes: 2000 });
/// assert_eq!(full.to_string(), "the region has no free block of 2000 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionFull {
    /// Bytes that were asked for.
    pub bytes: usize,
}

impl fmt::Display for RegionFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the region has no free block of {} bytes", self.bytes)
    }
}

impl core::error::Error for RegionFull {}

/// Memory of a fixed size that is taken from the heap once, and handed out in blocks of any size, in any order, by any
/// thread.
///
/// It keeps what belongs together near each other, and bounds what it may take: one part of a program cannot use up the
/// memory of the others. A block is split where it is larger than what is asked for, and merged with its neighbours when
/// it is given back. Each block has 16 bytes more than what was asked for, in whole units of 16.
///
/// Threads take turns with a region, and each looks through the free blocks: the heap, which is made for many lanes at
/// once, is faster for thousands of them. See [`Arena`](crate::Arena) for blocks that are given back together, and
/// [`Pool`](crate::Pool) for values of one type.
///
/// ```
/// use gpu_std::{Fit, Region};
///
/// let region = Region::with_capacity(64 * 1024, Fit::Best).unwrap();
/// let mut numbers = region.alloc_slice_with(100, |i| i as u32).unwrap();
/// let name = region.alloc(String::from("grid")).unwrap();
/// numbers[7] = 0;
/// assert_eq!(numbers.iter().sum::<u32>(), 4950 - 7);
/// assert_eq!(*name, "grid");
/// drop((numbers, name));
/// assert_eq!(region.largest(), region.free()); // all is one block again
/// ```
pub struct Region {
    /// Of [`Region::capacity`] bytes.
    memory: NonNull<Head>,
    units: u32,
    fit: Fit,
    free: Locked<Free>,
}

// SAFETY: heads are reached with the lock alone, and what lies in a block is its owner's.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// What comes before each block, in units of its own size. The boundary tags of D. Knuth, "The Art of Computer
/// Programming", volume 1, 2.5, all at the blocks' beginnings.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Head {
    /// Of the block, with its head.
    units: u32,
    /// Of the block that lies before this one; 0 for the first.
    before: u32,
    /// Places of the free blocks with the next lower and the next higher address; [`NONE`] at the ends, and [`TAKEN`]
    /// twice of one that is not free.
    lower: u32,
    higher: u32,
}

const UNIT: usize = size_of::<Head>();
const NONE: u32 = u32::MAX;
const TAKEN: u32 = u32::MAX - 1;
/// A head, and room for something.
const LEAST: u32 = 2;
/// Regions are no larger, so that units can be counted in 32 bits.
const MOST: usize = (TAKEN as usize - 1).saturating_mul(UNIT) & (isize::MAX as usize);

/// The free blocks, in the order of their addresses.
#[derive(Debug)]
struct Free {
    lowest: u32,
    /// Units of all of them.
    units: u32,
}

impl Region {
    /// A region of at least so many bytes, of which heads of blocks take some.
    ///
    /// # Errors
    ///
    /// The heap has no room for it.
    pub fn with_capacity(bytes: usize, fit: Fit) -> Result<Region, RegionFull> {
        let full = RegionFull { bytes };
        let units = bytes.max(LEAST as usize * UNIT).div_ceil(UNIT);
        let layout = layout(units).ok_or(full)?;
        // SAFETY: the size is not 0.
        let memory = NonNull::new(unsafe { platform::alloc(layout) }).ok_or(full)?;
        let memory = memory.cast::<Head>();
        let units = units as u32;
        let all = Head {
            units,
            before: 0,
            lower: NONE,
            higher: NONE,
        };
        // SAFETY: the memory is there, aligned as a head is, and nobody else has it yet.
        unsafe { memory.write(all) };
        Ok(Region {
            memory,
            units,
            fit,
            free: Locked::new(Free { lowest: 0, units }),
        })
    }

    /// Bytes of the region.
    pub fn capacity(&self) -> usize {
        self.units as usize * UNIT
    }

    /// Bytes that are free, with the head of each free block.
    pub fn free(&self) -> usize {
        self.free.with(|free| free.units as usize * UNIT)
    }

    /// Bytes of the largest free block, with its head.
    pub fn largest(&self) -> usize {
        let largest = self
            .free
            .with(|free| self.blocks(free).map(|(_, head)| head.units).max());
        largest.unwrap_or_default() as usize * UNIT
    }

    /// Takes a block for a value.
    ///
    /// # Errors
    ///
    /// No free block is large enough. The value is dropped.
    pub fn alloc<T>(&self, value: T) -> Result<RegionBox<'_, T>, RegionFull> {
        let block = self.take(Layout::new::<T>())?.cast::<T>();
        // SAFETY: the block is large enough, aligned, and nobody else's.
        unsafe { block.write(value) };
        Ok(self.boxed(block))
    }

    /// Takes a block for a slice, whose elements `make` returns for their indices.
    ///
    /// # Errors
    ///
    /// No free block is large enough.
    pub fn alloc_slice_with<T>(
        &self,
        len: usize,
        mut make: impl FnMut(usize) -> T,
    ) -> Result<RegionBox<'_, [T]>, RegionFull> {
        /// Returns what was made to the region if `make` panics.
        struct Made<'r, T> {
            region: &'r Region,
            block: NonNull<T>,
            len: usize,
        }
        impl<T> Drop for Made<'_, T> {
            fn drop(&mut self) {
                let slice = NonNull::slice_from_raw_parts(self.block, self.len);
                drop(self.region.boxed(slice));
            }
        }
        let layout = Layout::array::<T>(len).map_err(|_| RegionFull { bytes: usize::MAX })?;
        let mut made = Made {
            region: self,
            block: self.take(layout)?.cast::<T>(),
            len: 0,
        };
        for i in 0..len {
            // SAFETY: the block has room for `len` elements, and is nobody else's.
            unsafe { made.block.add(i).write(make(i)) };
            made.len = i + 1;
        }
        let slice = NonNull::slice_from_raw_parts(made.block, len);
        core::mem::forget(made);
        Ok(self.boxed(slice))
    }

    /// Takes a block with this layout.
    ///
    /// # Errors
    ///
    /// No free block is large enough.
    pub fn take(&self, layout: Layout) -> Result<NonNull<u8>, RegionFull> {
        let full = RegionFull { bytes: layout.size() };
        let wanted = layout.size().max(1).div_ceil(UNIT) + 1;
        let wanted = u32::try_from(wanted).map_err(|_| full)?;
        let place = self.free.with(|free| {
            let mut fits = self.blocks(free).filter_map(|(place, head)| {
                let skipped = self.skipped(place, layout.align())?;
                let needed = skipped.checked_add(wanted)?;
                (needed <= head.units).then_some((place, head.units, skipped))
            });
            let (place, _, skipped) = match self.fit {
                Fit::First => fits.next(),
                Fit::Best => fits.min_by_key(|(_, units, _)| *units),
                // The first of the largest: `max_by_key` has the last.
                Fit::Worst => fits.min_by_key(|(_, units, _)| u32::MAX - *units),
            }?;
            Some(self.carve(free, place, skipped, wanted))
        });
        let place = place.ok_or(full)?;
        // SAFETY: what follows a head lies inside of the memory.
        Ok(unsafe { self.memory.add(place as usize + 1) }.cast())
    }

    /// Returns a block to the region.
    ///
    /// # Safety
    ///
    /// It came from [`take`](Self::take) of this region, was not given back since, and is not used any more.
    pub unsafe fn give_back(&self, block: NonNull<u8>) {
        let bytes = block.addr().get() - self.memory.addr().get();
        let place = (bytes / UNIT) as u32 - 1;
        self.free.with(|free| self.merge(free, place));
    }

    fn boxed<T: ?Sized>(&self, value: NonNull<T>) -> RegionBox<'_, T> {
        RegionBox {
            region: self,
            value,
            owns: PhantomData,
        }
    }

    /// The head at a place.
    ///
    /// It is only called with the lock, for places where a head is.
    fn head(&self, place: u32) -> Head {
        debug_assert!(place < self.units);
        // SAFETY: a head that was written, inside of the memory.
        unsafe { self.memory.add(place as usize).read() }
    }

    /// Writes a head. The same holds.
    fn set(&self, place: u32, head: Head) {
        debug_assert!(place + head.units <= self.units);
        // SAFETY: inside of the memory, where no block is but the one that this is the head of.
        unsafe { self.memory.add(place as usize).write(head) };
    }

    /// Changes a head.
    fn change(&self, place: u32, change: impl FnOnce(&mut Head)) {
        let mut head = self.head(place);
        change(&mut head);
        self.set(place, head);
    }

    /// Tells the block after one how large that is now.
    fn tell_next(&self, place: u32, units: u32) {
        let next = place + units;
        if next < self.units {
            self.change(next, |head| head.before = units);
        }
    }

    /// Links two free blocks; [`NONE`] for the end.
    fn link(&self, free: &mut Free, lower: u32, higher: u32) {
        match lower {
            NONE => free.lowest = higher,
            _ => self.change(lower, |head| head.higher = higher),
        }
        if higher != NONE {
            self.change(higher, |head| head.lower = lower);
        }
    }

    /// The free blocks, the lowest first.
    fn blocks<'r>(&'r self, free: &Free) -> impl Iterator<Item = (u32, Head)> + use<'r> {
        let at = |place: u32| (place != NONE).then(|| (place, self.head(place)));
        core::iter::successors(at(free.lowest), move |(_, head)| at(head.higher))
    }

    /// Units between a free block's beginning and that of an aligned one in it: none, or enough for a block.
    fn skipped(&self, place: u32, align: usize) -> Option<u32> {
        let step = align.div_ceil(UNIT).max(1);
        let first = self.memory.addr().get() / UNIT + place as usize + 1;
        let skipped = first.next_multiple_of(step) - first;
        let skipped = match skipped {
            // A step is 2 at least then.
            1 => 1 + step,
            skipped => skipped,
        };
        u32::try_from(skipped).ok()
    }

    /// Puts a free block among the others.
    fn insert(&self, free: &mut Free, place: u32, head: Head) {
        self.set(place, head);
        self.link(free, head.lower, place);
        self.link(free, place, head.higher);
        self.tell_next(place, head.units);
    }

    /// Takes `wanted` units out of a free block, after those that are skipped. What is left on both sides stays free. Returns
    /// the block's place.
    fn carve(&self, free: &mut Free, place: u32, skipped: u32, wanted: u32) -> u32 {
        let whole = self.head(place);
        let (units, left) = match whole.units - skipped - wanted {
            // Too little for a block.
            left if left < LEAST => (wanted + left, 0),
            left => (wanted, left),
        };
        let (mut lower, mut before) = (whole.lower, whole.before);
        if skipped > 0 {
            let head = Head {
                units: skipped,
                ..whole
            };
            self.set(place, head);
            (lower, before) = (place, skipped);
        }
        let at = place + skipped;
        let head = Head {
            units,
            before,
            lower: TAKEN,
            higher: TAKEN,
        };
        self.set(at, head);
        if left > 0 {
            let head = Head {
                units: left,
                before: units,
                lower,
                higher: whole.higher,
            };
            self.insert(free, at + units, head);
        } else {
            self.link(free, lower, whole.higher);
            self.tell_next(at, units);
        }
        free.units -= units;
        at
    }

    /// Makes a block free, one with its neighbours if those are.
    fn merge(&self, free: &mut Free, place: u32) {
        let head = self.head(place);
        assert!(head.lower == TAKEN, "the block was given back before");
        free.units += head.units;
        let free_at = |place: u32| Some(self.head(place)).filter(|head| head.lower != TAKEN);
        let next = Some(place + head.units)
            .filter(|next| *next < self.units)
            .and_then(free_at);
        let previous = Some(place - head.before).filter(|_| head.before > 0).and_then(free_at);
        let (lower, higher) = match (previous, next) {
            (Some(previous), Some(next)) => (previous.lower, next.higher),
            (Some(one), None) | (None, Some(one)) => (one.lower, one.higher),
            (None, None) => {
                let lower = self.blocks(free).take_while(|(at, _)| *at < place).last();
                lower.map_or((NONE, free.lowest), |(lower, head)| (lower, head.higher))
            }
        };
        let units = |head: Option<Head>| head.map_or(0, |head| head.units);
        let all = Head {
            units: units(previous) + head.units + units(next),
            before: previous.map_or(head.before, |previous| previous.before),
            lower,
            higher,
        };
        self.insert(free, place - units(previous), all);
    }
}

fn layout(units: usize) -> Option<Layout> {
    let bytes = units.checked_mul(UNIT).filter(|bytes| *bytes <= MOST)?;
    Layout::from_size_align(bytes, UNIT).ok()
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(layout) = layout(self.units as usize) {
            // SAFETY: allocated with this layout; blocks borrow the region, so none is left.
            unsafe { platform::dealloc(self.memory.as_ptr().cast(), layout) };
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("capacity", &self.capacity())
            .field("free", &self.free())
            .field("fit", &self.fit)
            .finish()
    }
}

/// A value in a [`Region`], as a [`Box`](std::boxed::Box) has one in the heap.
pub struct RegionBox<'r, T: ?Sized> {
    region: &'r Region,
    value: NonNull<T>,
    owns: PhantomData<T>,
}

// SAFETY: it owns the value, and a region may be used by any thread.
unsafe impl<T: Send + ?Sized> Send for RegionBox<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync + ?Sized> Sync for RegionBox<'_, T> {}

impl<T: ?Sized> Deref for RegionBox<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: it owns the value.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for RegionBox<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized> Drop for RegionBox<'_, T> {
    fn drop(&mut self) {
        /// Also if the value's destructor panics.
        struct GiveBack<'r>(&'r Region, NonNull<u8>);
        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                // SAFETY: taken from the region for the value, which is dropped.
                unsafe { self.0.give_back(self.1) };
            }
        }
        let _give_back = GiveBack(self.region, self.value.cast());
        // SAFETY: it owns the value, which nobody uses any more.
        unsafe { ptr::drop_in_place(self.value.as_ptr()) };
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for RegionBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display + ?Sized> fmt::Display for RegionBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
