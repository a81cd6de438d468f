//! Pointers to objects: in a session, in objects, and between sessions.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

use super::heap::{HEAP, Place};
use super::object::{Header, Object};
use super::trace::Trace;
use crate::reclaim::Guard;
use crate::word::WordPtr;

/// A lifetime that is no other.
type Brand<'s> = PhantomData<fn(&'s ()) -> &'s ()>;

/// While it is there, this thread may reach objects, and those that it can reach stay. See [`enter`](super::enter).
#[derive(Debug)]
pub struct Session<'s> {
    pub(super) _guard: Guard,
    pub(super) brand: Brand<'s>,
    pub(super) of_thread: PhantomData<*mut ()>,
    /// Objects that were made in it.
    pub(super) made: Cell<u32>,
}

impl<'s> Session<'s> {
    /// A new object.
    pub fn alloc<T: Trace + Send + Sync + 's>(&self, value: T) -> Gc<'s, T> {
        let object = HEAP.allocate(value);
        self.made.set(self.made.get().saturating_add(1));
        Gc {
            object,
            brand: PhantomData,
        }
    }
}

/// A pointer to an object, for as long as the session.
pub struct Gc<'s, T> {
    object: NonNull<Object<T>>,
    brand: Brand<'s>,
}

impl<T> Clone for Gc<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Gc<'_, T> {}

// SAFETY: objects are shared: they are made of what is `Send` and `Sync` alone.
unsafe impl<T: Send + Sync> Send for Gc<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Gc<'_, T> {}

impl<T> Gc<'_, T> {
    pub(super) fn header(&self) -> *mut Header {
        self.object.as_ptr().cast()
    }
}

/// Functions, and no methods: those are the object's.
impl<'s, T: 's> Gc<'s, T> {
    /// The object itself, which stays for the session.
    pub fn get(this: Self) -> &'s T {
        // SAFETY: what a session can reach is not freed before its end.
        unsafe { &(*this.object.as_ptr()).value }
    }

    /// Whether both are the same object.
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        this.object == other.object
    }

    /// Sets a field of the object.
    ///
    /// A field that lies in the object itself costs the collector least. What any other field is set to is kept until the
    /// next collection of all objects: such as one in a `Vec` of the object, or one of another object.
    pub fn set<U: 's>(
        this: Self,
        _session: &Session<'s>,
        field: impl FnOnce(&'s T) -> &'s Field<'s, U>,
        value: Option<Gc<'s, U>>,
    ) {
        let owner = Gc::get(this);
        let field = field(owner);
        let (at, begin) = (core::ptr::from_ref(field).addr(), core::ptr::from_ref(owner).addr());
        let inside = at >= begin && at - begin < size_of::<T>();
        let new = value.map_or(core::ptr::null_mut(), |value| value.object.as_ptr());
        // SAFETY: both are in hand in this session.
        unsafe {
            if let Some(new) = new.cast::<Header>().as_ref() {
                HEAP.before_store(inside.then(|| &*this.header()), new);
            }
        }
        field.pointer.set(new);
    }
}

impl<T> Deref for Gc<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: what a session can reach is not freed before its end.
        unsafe { &(*self.object.as_ptr()).value }
    }
}

impl<T: fmt::Debug> fmt::Debug for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not what it points to, which may come round to this.
        write!(f, "Gc({:p})", self.object)
    }
}

/// A pointer to an object, or to none, that lies in an object and can be changed: by [`Gc::set`].
pub struct Field<'s, T> {
    pointer: WordPtr<Object<T>>,
    brand: Brand<'s>,
}

// SAFETY: objects are shared.
unsafe impl<T: Send + Sync> Send for Field<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Field<'_, T> {}

impl<'s, T> Field<'s, T> {
    /// A field that points to nothing.
    pub const fn null() -> Field<'s, T> {
        Field {
            pointer: WordPtr::null(),
            brand: PhantomData,
        }
    }

    /// A field of a new object.
    pub fn new(value: Option<Gc<'s, T>>) -> Field<'s, T> {
        let field = Field::null();
        if let Some(value) = value {
            field.pointer.set(value.object.as_ptr());
        }
        field
    }

    /// What it points to.
    pub fn get(&self) -> Option<Gc<'s, T>> {
        NonNull::new(self.pointer.get()).map(|object| Gc {
            object,
            brand: PhantomData,
        })
    }

    pub(super) fn header(&self) -> *mut Header {
        self.pointer.get().cast()
    }
}

impl<T> Default for Field<'_, T> {
    fn default() -> Self {
        Field::null()
    }
}

impl<T> fmt::Debug for Field<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({:p})", self.pointer.get())
    }
}

/// Types of objects that a [`Root`] can keep, by the name that they have outside of sessions: for `Node<'s>` that is
/// `Node<'static>`. [`trace!`](super::trace!) implements it.
pub trait Rootable: 'static {
    /// The type in a session.
    type Of<'s>: 's;
}

/// A pointer that keeps an object, and everything that it can reach, between sessions.
pub struct Root<R: Rootable> {
    object: NonNull<Header>,
    place: Place,
    of: PhantomData<fn() -> R>,
}

// SAFETY: objects are shared, and are reached in sessions alone.
unsafe impl<R: Rootable> Send for Root<R> {}
// SAFETY: as above.
unsafe impl<R: Rootable> Sync for Root<R> {}

impl<R: Rootable> Root<R> {
    /// Keeps an object.
    pub fn new<'s>(_session: &Session<'s>, object: Gc<'s, R::Of<'s>>) -> Root<R> {
        Root::of(object.object.cast())
    }

    fn of(object: NonNull<Header>) -> Root<R> {
        Root {
            object,
            place: HEAP.add_root(object),
            of: PhantomData,
        }
    }

    /// The object, in a session.
    pub fn get<'s>(&self, _session: &Session<'s>) -> Gc<'s, R::Of<'s>> {
        Gc {
            object: self.object.cast(),
            brand: PhantomData,
        }
    }
}

impl<R: Rootable> Clone for Root<R> {
    fn clone(&self) -> Self {
        Root::of(self.object)
    }
}

impl<R: Rootable> Drop for Root<R> {
    fn drop(&mut self) {
        HEAP.remove_root(self.place);
    }
}

impl<R: Rootable> fmt::Debug for Root<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({:p})", self.object)
    }
}
