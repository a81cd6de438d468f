//! Words that threads change together, for this crate's own use.
//!
//! They are atomic in every build, as those of [`crate::atomic`] are; here they are methods. Where nothing else is said,
//! they are sequentially consistent: whatever one thread did before it changed a word is there for a thread that then sees
//! the change, and all agree in which order words change. That takes a fence each time, of some hundred cycles on a GPU. So
//! there are weaker ones, for words that need less; who uses them says why that is enough.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::platform;

macro_rules! words {
    ($($word:ident $atomic:ident $value:ident $operations:ident;)*) => {
        $(
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub(crate) struct $word($atomic);

            #[allow(dead_code)] // Not both have uses of all.
            impl $word {
                pub const fn new(value: $value) -> $word {
                    $word($atomic::new(value))
                }
                #[inline]
                pub fn get(&self) -> $value {
                    // SAFETY: an aligned word that may be changed through a shared reference; so it is in all of these.
                    unsafe { platform::$operations::load(self.0.as_ptr()) }
                }
                #[inline]
                pub fn set(&self, value: $value) {
                    // SAFETY: as in `get`.
                    unsafe { platform::$operations::store(self.0.as_ptr(), value) }
                }
                /// Adds, wrapping around; returns what was there.
                #[inline]
                pub fn add(&self, value: $value) -> $value {
                    // SAFETY: as in `get`.
                    unsafe { platform::$operations::add(self.0.as_ptr(), value) }
                }
                /// Subtracts, wrapping around; returns what was there.
                #[inline]
                pub fn sub(&self, value: $value) -> $value {
                    // SAFETY: as in `get`.
                    unsafe { platform::$operations::sub(self.0.as_ptr(), value) }
                }
                #[inline]
                pub fn swap(&self, value: $value) -> $value {
                    // SAFETY: as in `get`.
                    unsafe { platform::$operations::swap(self.0.as_ptr(), value) }
                }
                #[inline]
                pub fn or(&self, value: $value) -> $value {
                    // SAFETY: as in `get`.
                    unsafe { platform::$operations::or(self.0.as_ptr(), value) }
                }
                #[inline]
                pub fn and(&self, value: $value) -> $value {
                    // SAFETY: as in `get`.
                    unsafe { platform::$operations::and(self.0.as_ptr(), value) }
                }
                /// What is there; what the thread that put it there had done before is there too.
                #[inline]
                pub fn acquire(&self) -> $value {
                    platform::atomic_acq_rel();
                    self.get()
                }
                /// Puts a value there, after all that this thread did before.
                #[inline]
                pub fn release(&self, value: $value) {
                    platform::atomic_acq_rel();
                    self.set(value);
                }
                /// Puts a value there, ordering nothing else.
                #[inline]
                pub fn put(&self, value: $value) {
                    platform::atomic_relaxed();
                    self.set(value);
                }
                /// What is there, for a guess: nothing else is ordered by it.
                #[inline]
                pub fn glance(&self) -> $value {
                    platform::atomic_relaxed();
                    self.get()
                }
                /// Adds, ordering nothing else.
                #[inline]
                pub fn count_up(&self, value: $value) -> $value {
                    platform::atomic_relaxed();
                    self.add(value)
                }
                /// Subtracts, ordering nothing else.
                #[inline]
                pub fn count_down(&self, value: $value) -> $value {
                    platform::atomic_relaxed();
                    self.sub(value)
                }
                /// Stores `new` if `expected` is there. Whether it was; if not, `Err` says what was.
                #[inline]
                pub fn replace(&self, expected: $value, new: $value) -> Result<(), $value> {
                    // SAFETY: as in `get`.
                    let found = unsafe { platform::$operations::cas(self.0.as_ptr(), expected, new) };
                    if found == expected { Ok(()) } else { Err(found) }
                }
            }
        )*
    };
}

words! {
    Word32 AtomicU32 u32 atomic32;
    Word64 AtomicU64 u64 atomic64;
}

impl Word32 {
    /// Stores a number if it is greater than the one that is there, both taken as signed; orders nothing else.
    pub fn raise(&self, to: u32) {
        let mut found = self.glance();
        while to as i32 > found as i32 {
            platform::atomic_relaxed();
            match self.replace(found, to) {
                Ok(()) => break,
                Err(other) => found = other,
            }
        }
    }

    /// Waits while `expected` is there, until [`wake`](Self::wake); it may also return for no reason.
    #[inline]
    pub fn wait(&self, expected: u32) {
        platform::wait32(&self.0, expected, None);
    }

    /// The same, for at most so long; false after that time.
    #[inline]
    pub fn wait_for(&self, expected: u32, nanoseconds: u64) -> bool {
        platform::wait32(&self.0, expected, Some(nanoseconds))
    }

    /// Wakes at most so many threads that wait there.
    #[inline]
    pub fn wake(&self, count: u32) {
        platform::wake32(&self.0, count);
    }

    /// Takes the word as a lock: waits until it is 0, and makes it 1. For a few instructions.
    #[inline]
    pub fn lock(&self) {
        platform::lock(&self.0);
    }

    /// Gives the lock back.
    #[inline]
    pub fn unlock(&self) {
        platform::unlock(&self.0);
    }
}

/// A pointer that threads change together.
pub(crate) struct WordPtr<T> {
    // As wide as a pointer is on the targets that there are.
    #[cfg(target_pointer_width = "32")]
    bits: Word32,
    #[cfg(target_pointer_width = "64")]
    bits: Word64,
    of: core::marker::PhantomData<*mut T>,
}

// SAFETY: only the address is shared; who follows it has to know that it may.
unsafe impl<T> Send for WordPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for WordPtr<T> {}

impl<T> core::fmt::Debug for WordPtr<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.get().fmt(f)
    }
}

#[allow(dead_code)]
impl<T> WordPtr<T> {
    pub const fn null() -> WordPtr<T> {
        WordPtr {
            #[cfg(target_pointer_width = "32")]
            bits: Word32::new(0),
            #[cfg(target_pointer_width = "64")]
            bits: Word64::new(0),
            of: core::marker::PhantomData,
        }
    }
    #[inline]
    pub fn get(&self) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.bits.get() as usize)
    }
    /// What is there, for a guess: nothing else is ordered by it.
    #[inline]
    pub fn glance(&self) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.bits.glance() as usize)
    }
    #[inline]
    pub fn set(&self, pointer: *mut T) {
        self.bits.set(pointer.expose_provenance() as _);
    }
    /// Puts a pointer there, ordering nothing else.
    #[inline]
    pub fn put(&self, pointer: *mut T) {
        self.bits.put(pointer.expose_provenance() as _);
    }
    #[inline]
    pub fn swap(&self, pointer: *mut T) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.bits.swap(pointer.expose_provenance() as _) as usize)
    }
    /// Stores `new` if `expected` is there; else `Err` with what is.
    #[inline]
    pub fn replace(&self, expected: *mut T, new: *mut T) -> Result<(), *mut T> {
        let (expected, new) = (expected.expose_provenance(), new.expose_provenance());
        let other = |found| core::ptr::with_exposed_provenance_mut(found as usize);
        self.bits.replace(expected as _, new as _).map_err(other)
    }
}

/// Which of so many places the calling thread uses, so that not all threads change the same words.
#[allow(dead_code)] // Without std nothing has such places.
pub(crate) fn own_place(places: usize) -> usize {
    #[cfg(target_arch = "wasm32")]
    {
        crate::thread_id() as usize % places
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        std::thread_local!(static PLACE: u8 = const { 0 });
        PLACE.with(|place| core::ptr::from_ref(place).addr() / 64 % places)
    }
}

/// A word of [`core`] as one of these.
#[allow(dead_code)]
pub(crate) fn of(word: &AtomicU32) -> &Word32 {
    // SAFETY: `Word32` is transparent over it.
    unsafe { &*core::ptr::from_ref(word).cast() }
}
