//! Parallel iterators, with rayon's names, on the workers of [`task::run`](crate::task::run).
//!
//! Each has a number of positions, and an item at each, or at some of them. What consumes it calls for pieces of the
//! positions by [`run_bulk`], so one worker that is done early takes more of them.

use core::ops::Range;
use std::vec::Vec;

use super::pieces::{Pieces, combine, each_position};
use super::slice::exclusive_scan;
use crate::task::run_bulk;
use crate::word::Word32;

/// Items that workers compute or visit at once.
///
/// Outside of [`task::run`](crate::task::run) the caller does all of it.
pub trait ParallelIterator: Sized + Sync {
    /// What it gives.
    type Item: Send;

    /// Positions that there are.
    #[doc(hidden)]
    fn positions(&self) -> usize;

    /// The item at a position; always one if the iterator is indexed.
    ///
    /// # Safety
    ///
    /// The position is one that there is, and nobody asks for it twice.
    #[doc(hidden)]
    unsafe fn at(&self, position: usize) -> Option<Self::Item>;

    /// Items that `f` makes of these.
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync>(self, f: F) -> Map<Self, F> {
        Map { of: self, f }
    }

    /// The items for which `f` says so.
    fn filter<F: Fn(&Self::Item) -> bool + Sync>(self, f: F) -> Filter<Self, F> {
        Filter { of: self, f }
    }

    /// What `f` makes of the items for which it makes something.
    fn filter_map<R: Send, F: Fn(Self::Item) -> Option<R> + Sync>(self, f: F) -> FilterMap<Self, F> {
        FilterMap { of: self, f }
    }

    /// Calls `f` with each item before it goes on.
    fn inspect<F: Fn(&Self::Item) + Sync>(self, f: F) -> Inspect<Self, F> {
        Inspect { of: self, f }
    }

    /// Copies of what the items refer to.
    fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Copied<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied { of: self }
    }

    /// Clones of what the items refer to.
    fn cloned<'a, T: Clone + Send + Sync + 'a>(self) -> Cloned<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned { of: self }
    }

    /// Calls `f` with each item, in no order.
    fn for_each<F: Fn(Self::Item) + Sync>(self, f: F) {
        each_position(self.positions(), |position| {
            // SAFETY: each comes once.
            if let Some(item) = unsafe { self.at(position) } {
                f(item);
            }
        });
    }

    /// Folds the items of each piece, beginning with what `identity` returns: one value for each piece, which
    /// [`Fold::reduce`] makes one of.
    fn fold<T, I, F>(self, identity: I, f: F) -> Fold<Self, I, F>
    where
        T: Send,
        I: Fn() -> T + Sync,
        F: Fn(T, Self::Item) -> T + Sync,
    {
        Fold { of: self, identity, f }
    }

    /// All items made one by `op`, which is associative; `identity` returns a value that changes no other. The items keep
    /// their order.
    fn reduce<I, F>(self, identity: I, op: F) -> Self::Item
    where
        I: Fn() -> Self::Item + Sync,
        F: Fn(Self::Item, Self::Item) -> Self::Item + Sync,
    {
        self.fold(&identity, &op).reduce(&identity, &op)
    }

    /// All items made one by `op`, which is associative; `None` if there are none.
    fn reduce_with<F>(self, op: F) -> Option<Self::Item>
    where
        F: Fn(Self::Item, Self::Item) -> Self::Item + Sync,
    {
        let join = |a: Option<Self::Item>, b| match (a, b) {
            (Some(a), Some(b)) => Some(op(a, b)),
            (a, b) => a.or(b),
        };
        self.fold(|| None, |all, item| join(all, Some(item)))
            .reduce(|| None, join)
    }

    /// The sum of the items. Floats are added in another order than by a loop.
    fn sum<S>(self) -> S
    where
        S: Send + core::iter::Sum<Self::Item> + core::iter::Sum<S>,
    {
        let pieces = self.in_pieces(|items| items.sum::<S>());
        combine(pieces, &|a, b| [a, b].into_iter().sum()).unwrap_or_else(|| core::iter::empty::<S>().sum())
    }

    /// The product of the items.
    fn product<P>(self) -> P
    where
        P: Send + core::iter::Product<Self::Item> + core::iter::Product<P>,
    {
        let pieces = self.in_pieces(|items| items.product::<P>());
        combine(pieces, &|a, b| [a, b].into_iter().product()).unwrap_or_else(|| core::iter::empty::<P>().product())
    }

    /// How many items there are.
    fn count(self) -> usize {
        combine(self.in_pieces(|items| items.count()), &|a, b| a + b).unwrap_or(0)
    }

    /// The least item; of equal ones the first.
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(|a, b| if b < a { b } else { a })
    }

    /// The greatest item; of equal ones the last.
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(|a, b| if b < a { a } else { b })
    }

    /// The item for which `key` is least; of equal ones the first.
    fn min_by_key<K: Ord + Send, F: Fn(&Self::Item) -> K + Sync>(self, key: F) -> Option<Self::Item> {
        let keyed = self.map(|item| (key(&item), item));
        keyed
            .reduce_with(|a, b| if b.0 < a.0 { b } else { a })
            .map(|(_, item)| item)
    }

    /// The item for which `key` is greatest; of equal ones the last.
    fn max_by_key<K: Ord + Send, F: Fn(&Self::Item) -> K + Sync>(self, key: F) -> Option<Self::Item> {
        let keyed = self.map(|item| (key(&item), item));
        keyed
            .reduce_with(|a, b| if b.0 < a.0 { a } else { b })
            .map(|(_, item)| item)
    }

    /// Whether `f` holds for an item. Once one is found, not all others are asked.
    fn any<F: Fn(Self::Item) -> bool + Sync>(self, f: F) -> bool {
        self.map(f).find_any(|holds| *holds).is_some()
    }

    /// Whether `f` holds for all items.
    fn all<F: Fn(Self::Item) -> bool + Sync>(self, f: F) -> bool {
        !self.any(|item| !f(item))
    }

    /// An item for which `f` holds, whichever is found first.
    fn find_any<F: Fn(&Self::Item) -> bool + Sync>(self, f: F) -> Option<Self::Item> {
        let (found, mut first) = (Word32::new(0), None);
        let place = Shared(&raw mut first);
        let pieces = Pieces::of(self.positions());
        run_bulk(pieces.len(), &|piece| {
            let place = &place;
            for position in pieces.range(piece) {
                if found.get() != 0 {
                    return;
                }
                // SAFETY: each comes once.
                let item = unsafe { self.at(position) }.filter(&f);
                if item.is_some() {
                    if found.replace(0, 1).is_ok() {
                        // SAFETY: the only one that changes it is here, and it is read when all pieces are done.
                        unsafe { *place.0 = item };
                    }
                    return;
                }
            }
        });
        first
    }

    /// All items, in their order.
    fn collect<C: FromParallelIterator<Self::Item>>(self) -> C {
        C::from_par_iter(self)
    }

    /// What `f` makes of the items of each piece.
    #[doc(hidden)]
    fn in_pieces<R: Send>(&self, f: impl Fn(Items<'_, Self>) -> R + Sync) -> Vec<R> {
        Pieces::of(self.positions()).run(|range| f(Items { of: self, range }))
    }
}

/// The items at some of the positions of a parallel iterator, each of which is in one such range.
#[doc(hidden)]
#[derive(Debug)]
pub struct Items<'i, I> {
    of: &'i I,
    range: Range<usize>,
}

impl<I: ParallelIterator> Iterator for Items<'_, I> {
    type Item = I::Item;
    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        loop {
            let position = self.range.next()?;
            // SAFETY: it comes once.
            if let Some(item) = unsafe { self.of.at(position) } {
                return Some(item);
            }
        }
    }
}

/// A parallel iterator with an item at each position.
pub trait IndexedParallelIterator: ParallelIterator {
    /// How many items there are.
    fn len(&self) -> usize {
        self.positions()
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items with their indices.
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { of: self }
    }

    /// Pairs of these items and others, as many as there are of both.
    fn zip<Z: IntoParallelIterator<Iter: IndexedParallelIterator>>(self, other: Z) -> Zip<Self, Z::Iter> {
        Zip {
            a: self,
            b: other.into_par_iter(),
        }
    }

    /// The items in the opposite order.
    fn rev(self) -> Rev<Self> {
        Rev { of: self }
    }

    /// The first `count` items.
    fn take(self, count: usize) -> Part<Self> {
        let count = count.min(self.len());
        Part {
            of: self,
            range: 0..count,
        }
    }

    /// The items after the first `count`.
    fn skip(self, count: usize) -> Part<Self> {
        let len = self.len();
        Part {
            of: self,
            range: count.min(len)..len,
        }
    }
}

/// What has a parallel iterator.
pub trait IntoParallelIterator {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What it gives.
    type Item: Send;
    /// The iterator.
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Iter = I;
    type Item = I::Item;
    fn into_par_iter(self) -> I {
        self
    }
}

/// What can be made of the items of a parallel iterator.
pub trait FromParallelIterator<T: Send>: Sized {
    /// It, with the items in their order.
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(items: I) -> Self;
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(items: I) -> Vec<T> {
        let items = items.into_par_iter();
        let pieces = Pieces::of(items.positions());
        // Places for all positions. Each piece writes its items to the first of its own.
        let mut places: Vec<T> = Vec::with_capacity(items.positions());
        let first = Shared(places.as_mut_ptr());
        // Most iterators have an item at each position. Then nobody needs to add up how many each piece has.
        let gaps = Word32::new(0);
        let mut begins = pieces.run(|range| {
            let first = &first;
            let (begin, positions) = (range.start, range.len());
            let items = Items { of: &items, range };
            let count = items.zip(begin..).fold(0, |count, (item, place)| {
                // SAFETY: within the capacity, and of this piece.
                unsafe { first.0.add(place).write(item) };
                count + 1
            });
            if count < positions {
                gaps.set(1);
            }
            count
        });
        let mut len = items.positions();
        if gaps.get() != 0 {
            // Closed up, in a vector without gaps. A piece's items end where those of the next begin.
            len = exclusive_scan(&mut begins, 0, |a, b| a + b);
            let mut closed: Vec<T> = Vec::with_capacity(len);
            let to = Shared(closed.as_mut_ptr());
            run_bulk(pieces.len(), &|piece| {
                let (first, to) = (&first, &to);
                let end = begins.get(piece + 1).copied().unwrap_or(len);
                // SAFETY: the items of this piece, which go to places of their own, within the capacity.
                unsafe {
                    to.0.add(begins[piece])
                        .copy_from_nonoverlapping(first.0.add(pieces.range(piece).start), end - begins[piece])
                };
            });
            places = closed;
        }
        // SAFETY: all items are there. Those of the first vector were moved.
        unsafe { places.set_len(len) };
        places
    }
}

/// A pointer that pieces share: each goes to places of its own.
pub(super) struct Shared<T>(pub *mut T);

// SAFETY: who follows it keeps to places of its own.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

macro_rules! adaptors {
    ($($(#[$doc:meta])* $name:ident<$($param:ident),*> { $($field:ident: $ty:ty),* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name<$($param),*> { $(pub(super) $field: $ty),* }
        )*
    };
}

adaptors! {
    /// See [`ParallelIterator::map`].
    Map<I, F> { of: I, f: F }
    /// See [`ParallelIterator::filter`].
    Filter<I, F> { of: I, f: F }
    /// See [`ParallelIterator::filter_map`].
    FilterMap<I, F> { of: I, f: F }
    /// See [`ParallelIterator::inspect`].
    Inspect<I, F> { of: I, f: F }
    /// See [`ParallelIterator::copied`].
    Copied<I> { of: I }
    /// See [`ParallelIterator::cloned`].
    Cloned<I> { of: I }
    /// See [`ParallelIterator::fold`].
    Fold<I, D, F> { of: I, identity: D, f: F }
    /// See [`IndexedParallelIterator::enumerate`].
    Enumerate<I> { of: I }
    /// See [`IndexedParallelIterator::zip`].
    Zip<A, B> { a: A, b: B }
    /// See [`IndexedParallelIterator::rev`].
    Rev<I> { of: I }
    /// See [`IndexedParallelIterator::take`].
    Part<I> { of: I, range: Range<usize> }
}

impl<I, D, F> Fold<I, D, F> {
    /// The values of all pieces made one by `op`, which is associative; they keep their order.
    pub fn reduce<T: Send>(self, identity: impl Fn() -> T + Sync, op: impl Fn(T, T) -> T + Sync) -> T
    where
        I: ParallelIterator,
        D: Fn() -> T + Sync,
        F: Fn(T, I::Item) -> T + Sync,
    {
        let pieces = self.of.in_pieces(|items| items.fold((self.identity)(), &self.f));
        combine(pieces, &op).unwrap_or_else(identity)
    }
}

macro_rules! impls {
    ($($name:ident<$($param:ident),*> [$($bound:tt)*] $item:ty, |$this:ident, $position:ident| $positions:expr, $at:expr;)*) => {
        $(
            impl<$($param),*> ParallelIterator for $name<$($param),*> where $($bound)* {
                type Item = $item;
                fn positions(&self) -> usize {
                    let $this = self;
                    $positions
                }
                unsafe fn at(&self, $position: usize) -> Option<Self::Item> {
                    let $this = self;
                    // SAFETY: the caller's promise.
                    unsafe { $at }
                }
            }
        )*
    };
}

impls! {
    Filter<I, F> [I: ParallelIterator, F: Fn(&I::Item) -> bool + Sync] I::Item,
        |this, at| this.of.positions(), this.of.at(at).filter(&this.f);
    Inspect<I, F> [I: ParallelIterator, F: Fn(&I::Item) + Sync] I::Item,
        |this, at| this.of.positions(), this.of.at(at).inspect(&this.f);
    Enumerate<I> [I: IndexedParallelIterator] (usize, I::Item),
        |this, at| this.of.positions(), this.of.at(at).map(|item| (at, item));
    Zip<A, B> [A: IndexedParallelIterator, B: IndexedParallelIterator] (A::Item, B::Item),
        |this, at| this.a.positions().min(this.b.positions()), this.a.at(at).zip(this.b.at(at));
    Rev<I> [I: IndexedParallelIterator] I::Item,
        |this, at| this.of.positions(), this.of.at(this.of.positions() - 1 - at);
    Part<I> [I: IndexedParallelIterator] I::Item,
        |this, at| this.range.len(), this.of.at(this.range.start + at);
}

impl<I: ParallelIterator, R: Send, F: Fn(I::Item) -> R + Sync> ParallelIterator for Map<I, F> {
    type Item = R;
    fn positions(&self) -> usize {
        self.of.positions()
    }
    unsafe fn at(&self, position: usize) -> Option<R> {
        // SAFETY: the caller's promise; so it is below.
        unsafe { self.of.at(position) }.map(&self.f)
    }
}

impl<I: ParallelIterator, R: Send, F: Fn(I::Item) -> Option<R> + Sync> ParallelIterator for FilterMap<I, F> {
    type Item = R;
    fn positions(&self) -> usize {
        self.of.positions()
    }
    unsafe fn at(&self, position: usize) -> Option<R> {
        // SAFETY: as above.
        unsafe { self.of.at(position) }.and_then(&self.f)
    }
}

impl<'a, T: Copy + Send + Sync + 'a, I: ParallelIterator<Item = &'a T>> ParallelIterator for Copied<I> {
    type Item = T;
    fn positions(&self) -> usize {
        self.of.positions()
    }
    unsafe fn at(&self, position: usize) -> Option<T> {
        // SAFETY: as above.
        unsafe { self.of.at(position) }.copied()
    }
}

impl<'a, T: Clone + Send + Sync + 'a, I: ParallelIterator<Item = &'a T>> ParallelIterator for Cloned<I> {
    type Item = T;
    fn positions(&self) -> usize {
        self.of.positions()
    }
    unsafe fn at(&self, position: usize) -> Option<T> {
        // SAFETY: as above.
        unsafe { self.of.at(position) }.cloned()
    }
}

impl<I: IndexedParallelIterator, R: Send, F: Fn(I::Item) -> R + Sync> IndexedParallelIterator for Map<I, F> {}
impl<I: IndexedParallelIterator, F: Fn(&I::Item) + Sync> IndexedParallelIterator for Inspect<I, F> {}
impl<'a, T: Copy + Send + Sync + 'a, I: IndexedParallelIterator<Item = &'a T>> IndexedParallelIterator for Copied<I> {}
impl<'a, T: Clone + Send + Sync + 'a, I: IndexedParallelIterator<Item = &'a T>> IndexedParallelIterator for Cloned<I> {}
impl<I: IndexedParallelIterator> IndexedParallelIterator for Enumerate<I> {}
impl<A: IndexedParallelIterator, B: IndexedParallelIterator> IndexedParallelIterator for Zip<A, B> {}
impl<I: IndexedParallelIterator> IndexedParallelIterator for Rev<I> {}
impl<I: IndexedParallelIterator> IndexedParallelIterator for Part<I> {}

/// A parallel iterator over a range of integers.
#[derive(Clone, Debug)]
pub struct RangeIter<T> {
    range: Range<T>,
}

macro_rules! ranges {
    ($($ty:ident)*) => {
        $(
            impl IntoParallelIterator for Range<$ty> {
                type Iter = RangeIter<$ty>;
                type Item = $ty;
                fn into_par_iter(self) -> RangeIter<$ty> {
                    RangeIter { range: self }
                }
            }
            impl ParallelIterator for RangeIter<$ty> {
                type Item = $ty;
                fn positions(&self) -> usize {
                    match self.range.is_empty() {
                        true => 0,
                        false => usize::try_from(self.range.end.abs_diff(self.range.start)).expect("a range of usize many"),
                    }
                }
                unsafe fn at(&self, position: usize) -> Option<$ty> {
                    // It lies in the range, so modulo 2^n it is right.
                    Some(self.range.start.wrapping_add(position as $ty))
                }
            }
            impl IndexedParallelIterator for RangeIter<$ty> {}
        )*
    };
}

ranges! { u8 i8 u16 i16 u32 i32 u64 i64 usize isize }
