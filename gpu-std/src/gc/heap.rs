//! The heap: its lists, and what threads do with them in sessions.
//!
//! An object is white or marked. While a collection marks, sessions keep two promises (E. Dijkstra and others, "On-the-fly
//! garbage collection", 1978):
//!
//! - what a field or a root is set to gets marked;
//! - a new object is marked, and so is all that it points to.
//!
//! So no marked object ever points to a white one that is not about to be marked. What threads have in hand is not looked
//! at: [`collector`](super::collector) waits for the end of sessions that have something.
//!
//! A collection of the young leaves marks as they are: what is marked is old (A. Demers and others, "Combining generational
//! and conservative garbage collection", 1990). For it, old objects are remembered that were made to point to new ones.

use core::ptr::{NonNull, null_mut};
use std::vec::Vec;

use super::object::{Header, Object, Tracer};
use super::trace::Trace;
use crate::sync::Locked;
use crate::word::{Word32, WordPtr, own_place};

/// Parts of the heap: threads use different ones, so that not all change the same words.
pub(super) const SHARDS: usize = if cfg!(target_arch = "wasm32") { 256 } else { 16 };
/// Parts that one step looks at.
const LOOKS: usize = 8;

/// What sessions do besides their work: nothing; mark what they store; and have new objects marked too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Barrier,
    Black,
}

/// The link by which objects lie in a list.
pub(super) type Link = fn(&Header) -> &WordPtr<Header>;

/// Objects that a thread has for itself, linked as in a list.
#[derive(Debug)]
pub(super) struct Chain {
    first: *mut Header,
    last: *mut Header,
}

impl Chain {
    pub const EMPTY: Chain = Chain {
        first: null_mut(),
        last: null_mut(),
    };

    /// Pushes an object that lies in no other chain or list by the same link.
    pub fn push(&mut self, object: &Header, link: Link) {
        link(object).put(self.first);
        let object = core::ptr::from_ref(object).cast_mut();
        if self.first.is_null() {
            self.last = object;
        }
        self.first = object;
    }

    /// Takes the object that was pushed last.
    ///
    /// # Safety
    ///
    /// Those in the chain are alive, and stay so for as long as `'o`.
    pub unsafe fn pop<'o>(&mut self, link: Link) -> Option<&'o Header> {
        // SAFETY: the caller's promise.
        let object = unsafe { self.first.as_ref() }?;
        self.first = link(object).glance();
        Some(object)
    }
}

/// A list that threads push to, and take from.
#[derive(Debug)]
pub(super) struct List(WordPtr<Header>);

impl List {
    const fn new() -> List {
        List(WordPtr::null())
    }

    /// Pushes an object that lies in no other list by the same link.
    pub fn push(&self, object: &Header, link: Link) {
        let mut chain = Chain::EMPTY;
        chain.push(object, link);
        self.push_all(chain, link);
    }

    /// Pushes all of a chain at once.
    pub fn push_all(&self, chain: Chain, link: Link) {
        if chain.first.is_null() {
            return;
        }
        let mut first = self.0.get();
        loop {
            // The exchange publishes it, and all links of the chain.
            // SAFETY: nobody else has what is in the chain, so it is alive.
            link(unsafe { &*chain.last }).put(first);
            match self.0.replace(first, chain.first) {
                Ok(()) => return,
                Err(found) => first = found,
            }
        }
    }

    /// Takes at most so many objects.
    ///
    /// # Safety
    ///
    /// None of them is freed as long as threads may be here, for the links of objects are read that others may just have
    /// taken. None that was taken is pushed again as long: the list has not changed if its first object is still the same.
    pub unsafe fn take_some(&self, most: usize, link: Link) -> Chain {
        let mut first = self.0.get();
        // SAFETY: the caller's promise, here and below.
        while let Some(mut last) = unsafe { first.as_ref() } {
            // Whoever pushed an object had seen those before it, so their links are there to be read too.
            for _ in 1..most {
                match unsafe { link(last).glance().as_ref() } {
                    Some(next) => last = next,
                    None => break,
                }
            }
            match self.0.replace(first, link(last).glance()) {
                Ok(()) => {
                    link(last).put(null_mut());
                    let last = core::ptr::from_ref(last).cast_mut();
                    return Chain { first, last };
                }
                Err(found) => first = found,
            }
        }
        Chain::EMPTY
    }

    pub fn take(&self) -> *mut Header {
        if self.is_empty() {
            null_mut()
        } else {
            self.0.swap(null_mut())
        }
    }

    /// Puts a chain there, if the list is empty.
    pub fn put(&self, chain: *mut Header) -> bool {
        self.0.replace(null_mut(), chain).is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.get().is_null()
    }

    /// The same for a guess.
    pub fn seems_empty(&self) -> bool {
        self.0.glance().is_null()
    }
}

/// Objects that are kept; null where one was.
#[derive(Debug)]
pub(super) struct Roots {
    pub entries: Vec<*mut Header>,
    free: Vec<u32>,
}

/// Where a root lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    shard: u32,
    at: u32,
}

#[derive(Debug)]
pub(super) struct Shard {
    /// Objects since the last collection, and those before it.
    pub young: List,
    pub old: List,
    /// Marked objects that are to be traced.
    pub gray: List,
    /// Objects that the collection under way has still to look at.
    pub unswept: [List; 2],
    pub remembered: Locked<Vec<*mut Header>>,
    pub roots: Locked<Roots>,
    /// Bytes that were allocated here, and objects.
    bytes: Word32,
    pub allocated: Word32,
    pub freed: Word32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Heap {
    /// The number under which objects are marked, and the phase.
    state: Word32,
    pub shards: [Shard; SHARDS],
    /// KiB that were allocated since the last collection.
    pub fresh: Word32,
    /// Shards that steps have looked at.
    looked: Word32,
}

pub(super) static HEAP: Heap = Heap {
    state: Word32::new(1 << 2),
    shards: [const {
        Shard {
            young: List::new(),
            old: List::new(),
            gray: List::new(),
            unswept: [const { List::new() }; 2],
            remembered: Locked::new(Vec::new()),
            roots: Locked::new(Roots {
                entries: Vec::new(),
                free: Vec::new(),
            }),
            bytes: Word32::new(0),
            allocated: Word32::new(0),
            freed: Word32::new(0),
        }
    }; SHARDS],
    fresh: Word32::new(0),
    looked: Word32::new(0),
};

/// The mark of an object that was never marked: no number.
const WHITE: u32 = 0;
/// Bytes after which a shard adds what was allocated to [`Heap::fresh`].
const NOTED: u32 = 64 << 10;

impl Heap {
    pub fn state(&self) -> (u32, Phase) {
        let state = self.state.get();
        let phase = match state % 4 {
            0 => Phase::Idle,
            1 => Phase::Barrier,
            _ => Phase::Black,
        };
        (state / 4, phase)
    }

    pub fn set_state(&self, number: u32, phase: Phase) {
        self.state.set(number << 2 | phase as u32);
    }

    pub fn own(&self) -> &Shard {
        &self.shards[own_place(SHARDS)]
    }

    /// The thread's own shard, and some others in turns.
    pub fn some(&self) -> impl Iterator<Item = &Shard> {
        let first = self.looked.count_up(LOOKS as u32) as usize;
        let others = (0..LOOKS).map(move |at| &self.shards[(first + at) % SHARDS]);
        core::iter::once(self.own()).chain(others)
    }

    /// Marks an object, and has it traced if it was not marked yet.
    pub fn mark(&self, object: &Header, number: u32) {
        if object.becomes_marked(number) {
            self.own().gray.push(object, |object| &object.gray);
        }
    }

    /// Makes an object. The caller is in a session.
    pub fn allocate<T: Trace>(&self, value: T) -> NonNull<Object<T>> {
        let (number, phase) = self.state();
        let mark = if phase == Phase::Black { number } else { WHITE };
        let object = Object::make(value, mark);
        // SAFETY: it was just made.
        let header = unsafe { &(*object).header };
        if phase == Phase::Black {
            header.trace(&mut Tracer::new(number));
        }
        let shard = self.own();
        shard.allocated.count_up(1);
        let before = shard.bytes.count_up(header.size());
        let noted = (before % NOTED + header.size()) / NOTED;
        if noted != 0 {
            self.fresh.count_up(noted * (NOTED >> 10));
        }
        // From here on the collector may see it.
        shard.young.push(header, |object| &object.next);
        // SAFETY: a box is not null.
        unsafe { NonNull::new_unchecked(object) }
    }

    /// A field is about to be set to `new`. It lies inside of `owner`, or elsewhere. The caller is in a session.
    pub fn before_store(&self, owner: Option<&Header>, new: &Header) {
        let (number, phase) = self.state();
        if phase != Phase::Idle {
            self.mark(new, number);
        } else if new.mark.get() != number {
            match owner {
                Some(owner) if owner.mark.get() != number => {}
                Some(owner) => self.remember(owner),
                None => self.remember(new),
            }
        }
    }

    /// The next collection looks at this object: at what it points to if it is old, or else at itself.
    fn remember(&self, object: &Header) {
        if object.remembered.get() == 0 && object.remembered.swap(1) == 0 {
            let object = core::ptr::from_ref(object).cast_mut();
            self.own().remembered.with(|remembered| remembered.push(object));
        }
    }

    /// Keeps an object that the caller has by another root, or in a session.
    pub fn add_root(&self, object: NonNull<Header>) -> Place {
        let _guard = crate::reclaim::pin();
        let (number, phase) = self.state();
        if phase != Phase::Idle {
            // Roots may have been looked at already.
            // SAFETY: somebody keeps it.
            self.mark(unsafe { object.as_ref() }, number);
        }
        let shard = own_place(SHARDS);
        let at = self.shards[shard].roots.with(|roots| match roots.free.pop() {
            Some(at) => {
                roots.entries[at as usize] = object.as_ptr();
                at
            }
            None => {
                roots.entries.push(object.as_ptr());
                roots.entries.len() as u32 - 1
            }
        });
        Place {
            shard: shard as u32,
            at,
        }
    }

    pub fn remove_root(&self, place: Place) {
        self.shards[place.shard as usize].roots.with(|roots| {
            roots.entries[place.at as usize] = null_mut();
            roots.free.push(place.at);
        });
    }
}
