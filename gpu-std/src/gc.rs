//! Objects that refer to each other at will, and are freed when nobody can reach them: a traced heap, for structures with
//! cycles.
//!
//! Threads reach objects in a session, which [`enter`] begins. In it a [`Gc`] is a pointer like any other; it cannot leave.
//! What lies in objects are more of them, or [`Field`]s, which change. A [`Root`] keeps an object between sessions.
//!
//! ```
//! use gpu_std::gc::{self, Field, Gc, Root};
//! use gpu_std::sync::Arc;
//!
//! struct Node<'s> {
//!     name: Arc<String>,
//!     neighbour: Field<'s, Node<'s>>,
//! }
//! gc::trace!(Node<'s> { name, neighbour });
//!
//! let name = Arc::new("Ada".to_string());
//! let root: Root<Node<'static>> = gc::enter(|session| {
//!     let node = || session.alloc(Node { name: name.clone(), neighbour: Field::null() });
//!     let (one, other) = (node(), node());
//!     Gc::set(one, session, |node| &node.neighbour, Some(other));
//!     Gc::set(other, session, |node| &node.neighbour, Some(one));
//!     Root::new(session, one)
//! });
//! gc::collect();
//! gc::enter(|session| {
//!     let neighbour = root.get(session).neighbour.get().expect("it was set");
//!     assert_eq!(*neighbour.name, "Ada");
//! });
//!
//! // Each has the other, but nobody has either.
//! drop(root);
//! gc::collect();
//! assert_eq!(Arc::strong_count(&name), 1);
//! ```
//!
//! # How it collects
//!
//! Beside the program, in steps. A thread that ends a session does a bounded piece of the work that there is, some hundred
//! objects, and never waits for another. A collection begins by itself when enough was allocated. Mostly it looks at what
//! is new since the last one, with what old objects were made to point to (the young generation); when the heap has
//! doubled, at all of it. Sessions that are under way when it begins have to end before it goes on, so they should be
//! short: one that waits for long holds it up.
//!
//! What counts is the size of the objects themselves, not of what they have in other memory, such as the contents of a
//! `Vec`. A program that knows better may call [`collect`]. An object that has a [`Root`] which leads back to it stays.
//!
//! Objects are shared among threads, so they are [`Send`] and [`Sync`]. They are dropped in whatever thread finds them, at
//! the end of one of its sessions: a destructor that takes a lock must not find it taken there. The type of an object may not implement [`Drop`] itself, which could reach objects that are gone; its parts may.

mod collector;
mod heap;
mod object;
mod pointers;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
mod trace;

pub use collector::{Stats, collect, enter, stats};
pub use object::Tracer;
pub use pointers::{Field, Gc, Root, Rootable, Session};
pub use trace::Trace;

#[doc(inline)]
pub use crate::__gc_trace as trace;
