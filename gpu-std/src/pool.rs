//! Room for values of one type.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr;
use std::boxed::Box;

use crate::word::{Word32, Word64, own_place};

/// Which threads share a list of free places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// Each has its own.
    Thread,
    /// Neighbours: 32, the lanes of a warp on a GPU.
    #[default]
    Warp,
    /// 128, those of a block on a GPU with one of `gpu-run`'s usual blocks.
    Block,
    /// All.
    Device,
}

impl Per {
    fn threads(self) -> u32 {
        match self {
            Per::Thread => 1,
            Per::Warp => 32,
            Per::Block => 128,
            Per::Device => u32::MAX,
        }
    }
}

/// A fixed number of places for values, which any thread takes and returns in a few instructions, without a lock.
///
/// The places are split among groups of threads. A thread takes one of its own group's; where that has none left, it takes
/// one of another's, so that [`insert`](Self::insert) fails only if all are taken. The smaller the groups are, the less
/// they are in each other's way.
///
/// ```
/// use gpu_std::{Per, Pool};
///
/// let pool = Pool::new(2, Per::Warp);
/// let mut first = pool.insert([1, 2, 3]).unwrap();
/// let second = pool.insert([4, 5, 6]).unwrap();
/// first[0] = 7;
/// assert_eq!(pool.insert([0; 3]).unwrap_err(), [0; 3]); // all places are taken: the value comes back
/// drop(second);
/// assert_eq!(*pool.insert([8, 9, first[0]]).unwrap(), [8, 9, 7]);
/// ```
pub struct Pool<T> {
    slots: Box<[Slot<T>]>,
    lists: Box<[List]>,
    /// Slots of a list; the last one may have fewer.
    each: u32,
    per: Per,
}

#[derive(Debug)]
struct Slot<T> {
    /// The next free one of its list, counted from 1.
    next: Word32,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// The first free slot of a list, counted from 1, and how often that has changed, in the upper half: a slot that was
/// taken and given back since a thread has seen it first is not the same. After R. Treiber, "Systems programming: coping
/// with parallelism" (1986).
#[derive(Debug, Default)]
#[repr(align(64))]
struct List(Word64);

// SAFETY: a slot is its taker's alone, and may be given back by any thread.
unsafe impl<T: Send> Send for Pool<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Pool<T> {}

impl<T> Pool<T> {
    /// A pool of so many places, split among the groups of all threads that the kernel has; no group has none.
    ///
    /// # Panics
    ///
    /// If they are 2^32 or more.
    pub fn new(places: usize, per: Per) -> Pool<T> {
        let groups = crate::thread_count().div_ceil(per.threads());
        Pool::of_lists(places, groups as usize, per)
    }

    /// A pool of so many lists, or fewer: each has a slot.
    pub(crate) fn of_lists(places: usize, lists: usize, per: Per) -> Pool<T> {
        let count = u32::try_from(places).expect("a pool has less than 2^32 places");
        let each = count.div_ceil(lists.max(1) as u32).max(1);
        let end = |slot: u32| (slot + 1).is_multiple_of(each) || slot + 1 == count;
        let slots = (0..count).map(|slot| Slot {
            next: Word32::new(if end(slot) { 0 } else { slot + 2 }),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        });
        let lists = (0..count.div_ceil(each)).map(|list| List(Word64::new(u64::from(list * each) + 1)));
        Pool {
            slots: slots.collect(),
            lists: lists.collect(),
            each,
            per,
        }
    }

    /// Puts a value in a free place.
    ///
    /// # Errors
    ///
    /// All places are taken: the value comes back. Others may have been given back meanwhile.
    pub fn insert(&self, value: T) -> Result<PoolBox<'_, T>, T> {
        match self.take() {
            Some(slot) => {
                // SAFETY: the slot is this thread's, and empty.
                unsafe { (*self.slots[slot as usize].value.get()).write(value) };
                Ok(PoolBox {
                    pool: self,
                    slot,
                    owns: PhantomData,
                })
            }
            None => Err(value),
        }
    }

    /// How many places there are.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// A free slot: of the caller's own list, or of those after it.
    fn take(&self) -> Option<u32> {
        let lists = self.lists.len();
        let own = match self.per {
            _ if lists == 0 => return None,
            Per::Device => 0,
            // On a host, whose threads have no numbers.
            _ if cfg!(not(target_arch = "wasm32")) => own_place(lists),
            per => (crate::thread_id() / per.threads()) as usize % lists,
        };
        (own..lists)
            .chain(0..own)
            .find_map(|list| self.take_of(&self.lists[list].0))
    }

    fn take_of(&self, list: &Word64) -> Option<u32> {
        // Pairs with the exchange by which it was put there: then its `next` is what that one has written.
        let mut first = list.acquire();
        loop {
            let slot = (first as u32).checked_sub(1)?;
            // Another thread may have it already, and change this: then the exchange fails.
            let next = self.slots[slot as usize].next.glance();
            match list.replace(first, after(first, next)) {
                Ok(()) => return Some(slot),
                Err(found) => first = found,
            }
        }
    }

    /// Returns a slot to the list that it is of.
    fn give_back(&self, slot: u32) {
        let list = &self.lists[(slot / self.each) as usize].0;
        let mut first = list.glance();
        loop {
            self.slots[slot as usize].next.put(first as u32);
            // Sequentially consistent, so what was done with the value comes before it is another's.
            match list.replace(first, after(first, slot + 1)) {
                Ok(()) => return,
                Err(found) => first = found,
            }
        }
    }
}

/// What comes after the first one of a list when it changes to this slot.
fn after(first: u64, slot: u32) -> u64 {
    ((first >> 32) + 1) << 32 | u64::from(slot)
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("capacity", &self.capacity())
            .field("per", &self.per)
            .finish_non_exhaustive()
    }
}

/// A value in a place of a [`Pool`], which is given back when this is dropped.
pub struct PoolBox<'p, T> {
    pool: &'p Pool<T>,
    pub(crate) slot: u32,
    owns: PhantomData<T>,
}

impl<T> PoolBox<'_, T> {
    /// Takes the value out, and returns its place to the pool.
    pub fn into_inner(self) -> T {
        // SAFETY: it owns the value, which is not dropped here.
        let value = unsafe { self.at().read() };
        self.pool.give_back(self.slot);
        core::mem::forget(self);
        value
    }

    fn at(&self) -> *mut T {
        self.pool.slots[self.slot as usize].value.get().cast()
    }
}

impl<T> Deref for PoolBox<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the slot has a value, and is this box's.
        unsafe { &*self.at() }
    }
}

impl<T> DerefMut for PoolBox<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.at() }
    }
}

impl<T> Drop for PoolBox<'_, T> {
    fn drop(&mut self) {
        /// Also if the value's destructor panics.
        struct GiveBack<'p, T>(&'p Pool<T>, u32);
        impl<T> Drop for GiveBack<'_, T> {
            fn drop(&mut self) {
                self.0.give_back(self.1);
            }
        }
        let _give_back = GiveBack(self.pool, self.slot);
        // SAFETY: it owns the value, which nobody uses any more.
        unsafe { ptr::drop_in_place(self.at()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for PoolBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
