//! Objects as the collector sees them.

use std::boxed::Box;

use super::heap::{Chain, HEAP};
use super::trace::Trace;
use crate::word::{Word32, WordPtr};

/// The head of an object.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Header {
    /// The next of the list of objects that it lies in.
    pub next: WordPtr<Header>,
    /// The next of those that were marked and are to be traced.
    pub gray: WordPtr<Header>,
    /// The number under which it was last marked. If that is the heap's number, it is marked: it is old, or was found in
    /// the collection under way.
    pub mark: Word32,
    /// 1: it lies in a list of what the next collection looks at besides what is new.
    pub remembered: Word32,
    kind: &'static Kind,
}

#[derive(Debug)]
struct Kind {
    trace: unsafe fn(*const Header, &mut Tracer),
    free: unsafe fn(*mut Header),
    size: u32,
}

/// An object: its head and its value.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Object<T> {
    pub header: Header,
    pub value: T,
}

impl<T: Trace> Object<T> {
    const KIND: &'static Kind = &Kind {
        // SAFETY: the kind is that of an object with this type, which is alive. The same holds below.
        trace: |header, tracer| unsafe { (*header.cast::<Object<T>>()).value.trace(tracer) },
        // SAFETY: as above; it came from a box, and nobody has it any more.
        free: |header| drop(unsafe { Box::from_raw(header.cast::<Object<T>>()) }),
        size: size_of::<Object<T>>() as u32,
    };

    /// An object that is in no list yet, marked under a number.
    pub fn make(value: T, mark: u32) -> *mut Object<T> {
        Box::into_raw(Box::new(Object {
            header: Header {
                next: WordPtr::null(),
                gray: WordPtr::null(),
                mark: Word32::new(mark),
                remembered: Word32::new(0),
                kind: Self::KIND,
            },
            value,
        }))
    }
}

impl Header {
    /// Bytes of the whole object, without what it has of the allocator itself.
    pub fn size(&self) -> u32 {
        self.kind.size
    }

    /// Marks what the object points to.
    pub fn trace(&self, tracer: &mut Tracer) {
        /// Dropped when tracing panics. What was not traced would be freed though it is alive.
        struct Aborts;
        impl Drop for Aborts {
            fn drop(&mut self) {
                std::process::abort();
            }
        }
        let aborts = Aborts;
        // SAFETY: the kind is this object's, and the reference says that it is alive.
        unsafe { (self.kind.trace)(self, tracer) }
        core::mem::forget(aborts);
    }

    /// Marks the object under a number. Whether it was not marked under it before; then it is the caller's to have it traced.
    pub fn becomes_marked(&self, number: u32) -> bool {
        // A guess, which the exchange checks. If it is marked already, another thread has it traced.
        let mut seen = self.mark.glance();
        while seen != number {
            match self.mark.replace(seen, number) {
                Ok(()) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }

    /// Frees it.
    ///
    /// # Safety
    ///
    /// Nobody can reach it, and it lies in no list.
    pub unsafe fn free(header: *mut Header) {
        // SAFETY: the caller's promise.
        unsafe { ((*header).kind.free)(header) }
    }
}

/// What [`Trace::trace`] shows an object's pointers to.
#[derive(Debug)]
pub struct Tracer {
    number: u32,
    /// What it has found, and nobody has traced yet.
    pub(super) found: Chain,
}

impl Tracer {
    /// One that marks objects under this number.
    pub(super) fn new(number: u32) -> Tracer {
        Tracer {
            number,
            found: Chain::EMPTY,
        }
    }

    /// Marks an object, if there is one, and has it traced.
    pub(super) fn visit(&mut self, object: *mut Header) {
        // SAFETY: pointers in objects that are alive are to objects that are.
        if let Some(object) = unsafe { object.as_ref() }
            && object.becomes_marked(self.number)
        {
            self.found.push(object, |object| &object.gray);
        }
    }
}

/// What it has found and not traced is for all threads.
impl Drop for Tracer {
    fn drop(&mut self) {
        let found = core::mem::replace(&mut self.found, Chain::EMPTY);
        HEAP.own().gray.push_all(found, |object| &object.gray);
    }
}
