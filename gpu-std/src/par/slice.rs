//! Slices and vectors: by items, by chunks, sorted, scanned.

use core::cmp::Ordering;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Range;
use std::vec::Vec;

use super::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, Shared};
use super::pieces::{Pieces, each_position};
use crate::task::run_bulk;

/// A parallel iterator over references into a slice.
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    slice: &'a [T],
}

/// A parallel iterator over chunks of a slice, or windows.
#[derive(Clone, Debug)]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
    step: usize,
    count: usize,
}

/// A parallel iterator over mutable references into a slice.
#[derive(Debug)]
pub struct IterMut<'a, T> {
    first: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

/// A parallel iterator over mutable chunks of a slice.
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    items: IterMut<'a, T>,
    size: usize,
}

/// A parallel iterator over the items of a vector. Those that nobody asks for, because an answer was found before, are
/// dropped with it.
#[derive(Debug)]
pub struct IntoIter<T> {
    items: ManuallyDrop<Vec<T>>,
    taken: Vec<crate::word::Word32>,
}

// SAFETY: each item goes to one worker.
unsafe impl<T: Send> Sync for IterMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for IterMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for IntoIter<T> {}

impl<'a, T: Sync> ParallelIterator for Iter<'a, T> {
    type Item = &'a T;
    fn positions(&self) -> usize {
        self.slice.len()
    }
    unsafe fn at(&self, position: usize) -> Option<&'a T> {
        self.slice.get(position)
    }
}

impl<'a, T: Sync> ParallelIterator for Chunks<'a, T> {
    type Item = &'a [T];
    fn positions(&self) -> usize {
        self.count
    }
    unsafe fn at(&self, position: usize) -> Option<&'a [T]> {
        let begin = position * self.step;
        Some(&self.slice[begin..self.slice.len().min(begin + self.size)])
    }
}

impl<'a, T: Send> ParallelIterator for IterMut<'a, T> {
    type Item = &'a mut T;
    fn positions(&self) -> usize {
        self.len
    }
    unsafe fn at(&self, position: usize) -> Option<&'a mut T> {
        // SAFETY: in the slice, and asked for once, by the caller's promise.
        Some(unsafe { &mut *self.first.add(position) })
    }
}

impl<'a, T: Send> ParallelIterator for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    fn positions(&self) -> usize {
        self.items.len.div_ceil(self.size)
    }
    unsafe fn at(&self, position: usize) -> Option<&'a mut [T]> {
        let begin = position * self.size;
        let len = self.size.min(self.items.len - begin);
        // SAFETY: in the slice; chunks do not overlap, and each is asked for once.
        Some(unsafe { core::slice::from_raw_parts_mut(self.items.first.add(begin), len) })
    }
}

impl<T: Send> ParallelIterator for IntoIter<T> {
    type Item = T;
    fn positions(&self) -> usize {
        self.items.len()
    }
    unsafe fn at(&self, position: usize) -> Option<T> {
        if !self.taken.is_empty() {
            self.taken[position / 32].or(1 << (position % 32));
        }
        // SAFETY: in the vector, and asked for once, by the caller's promise.
        Some(unsafe { self.items.as_ptr().add(position).read() })
    }
}

impl<T> Drop for IntoIter<T> {
    fn drop(&mut self) {
        let (first, len) = (self.items.as_mut_ptr(), self.items.len());
        if core::mem::needs_drop::<T>() {
            for position in 0..len {
                if self.taken[position / 32].get() >> (position % 32) & 1 == 0 {
                    // SAFETY: nobody has taken it.
                    unsafe { first.add(position).drop_in_place() };
                }
            }
        }
        // SAFETY: its items are gone; what is left is the memory.
        drop(unsafe { Vec::from_raw_parts(first, 0, self.items.capacity()) });
    }
}

impl<T: Sync> IndexedParallelIterator for Iter<'_, T> {}
impl<T: Sync> IndexedParallelIterator for Chunks<'_, T> {}
impl<T: Send> IndexedParallelIterator for IterMut<'_, T> {}
impl<T: Send> IndexedParallelIterator for ChunksMut<'_, T> {}
impl<T: Send> IndexedParallelIterator for IntoIter<T> {}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Iter = IntoIter<T>;
    type Item = T;
    fn into_par_iter(self) -> IntoIter<T> {
        let words = if core::mem::needs_drop::<T>() {
            self.len().div_ceil(32)
        } else {
            0
        };
        IntoIter {
            items: ManuallyDrop::new(self),
            taken: (0..words).map(|_| Default::default()).collect(),
        }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a [T] {
    type Iter = Iter<'a, T>;
    type Item = &'a T;
    fn into_par_iter(self) -> Iter<'a, T> {
        Iter { slice: self }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a Vec<T> {
    type Iter = Iter<'a, T>;
    type Item = &'a T;
    fn into_par_iter(self) -> Iter<'a, T> {
        Iter { slice: self }
    }
}

/// Parallel iterators over a slice.
pub trait ParallelSlice<T: Sync> {
    /// References to the items.
    fn par_iter(&self) -> Iter<'_, T>;
    /// Chunks of `size` items; the last may have fewer.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
    /// All runs of `size` neighbours.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_windows(&self, size: usize) -> Chunks<'_, T>;
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn par_iter(&self) -> Iter<'_, T> {
        Iter { slice: self }
    }
    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        assert!(size != 0, "chunks have items");
        Chunks {
            slice: self,
            size,
            step: size,
            count: self.len().div_ceil(size),
        }
    }
    fn par_windows(&self, size: usize) -> Chunks<'_, T> {
        assert!(size != 0, "windows have items");
        Chunks {
            slice: self,
            size,
            step: 1,
            count: (self.len() + 1).saturating_sub(size),
        }
    }
}

/// Parallel iterators that change a slice, and its sorting. Items that are sorted are looked at by several workers at once, so
/// they are [`Sync`].
pub trait ParallelSliceMut<T: Send> {
    /// Mutable references to the items.
    fn par_iter_mut(&mut self) -> IterMut<'_, T>;
    /// Mutable chunks of `size` items; the last may have fewer.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
    /// Sorts; equal items keep their order.
    fn par_sort(&mut self)
    where
        T: Ord + Sync;
    /// Sorts by a comparison; equal items keep their order.
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F)
    where
        T: Sync;
    /// Sorts by a key; equal items keep their order.
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F)
    where
        T: Sync;
    /// Sorts; equal items may change places.
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Sync;
    /// Sorts by a comparison; equal items may change places.
    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F)
    where
        T: Sync;
    /// Sorts by a key; equal items may change places.
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F)
    where
        T: Sync;
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn par_iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut {
            first: self.as_mut_ptr(),
            len: self.len(),
            of: PhantomData,
        }
    }
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        assert!(size != 0, "chunks have items");
        ChunksMut {
            items: self.par_iter_mut(),
            size,
        }
    }
    fn par_sort(&mut self)
    where
        T: Ord + Sync,
    {
        self.par_sort_by(T::cmp);
    }
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F)
    where
        T: Sync,
    {
        sort(self, |piece| piece.sort_by(&compare), &compare);
    }
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F)
    where
        T: Sync,
    {
        self.par_sort_by(|a, b| key(a).cmp(&key(b)));
    }
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Sync,
    {
        self.par_sort_unstable_by(T::cmp);
    }
    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F)
    where
        T: Sync,
    {
        sort(self, |piece| piece.sort_unstable_by(&compare), &compare);
    }
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F)
    where
        T: Sync,
    {
        self.par_sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// Items that one worker sorts, at least about.
const SORTED_ALONE: usize = 64;

/// Sorts pieces, then merges neighbours, twice as many items each time. The result of a pair is cut into parts, of which each
/// begins where a search says: the merge path of O. Green, R. McColl and D. Bader, "GPU merge path" (ICS 2012).
///
/// All parts are searched for before any is merged, and must lie one after the other. So each item goes to one place; and a
/// comparison that is none, of which that need not be true, is found out.
fn sort<T: Send + Sync>(
    items: &mut [T],
    sort_piece: impl Fn(&mut [T]) + Sync,
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
) {
    let len = items.len();
    let pieces = Pieces::at_most(len, len / SORTED_ALONE).len();
    if pieces <= 1 {
        return sort_piece(items);
    }
    // Items of a part, and of a run at first: runs are made of whole parts.
    let part = len.div_ceil(pieces.next_power_of_two());
    let parts = len.div_ceil(part);
    items.par_chunks_mut(part).for_each(&sort_piece);
    let mut merged: Vec<MaybeUninit<T>> = Vec::with_capacity(len);
    let mut run = part;
    while run < len {
        let (from, to) = (Shared(items.as_mut_ptr()), Shared(merged.as_mut_ptr()));
        // SAFETY: in the slice, which nobody changes before all parts are merged.
        let of = |range: Range<usize>| unsafe {
            let from = &from;
            core::slice::from_raw_parts(from.0.add(range.start), range.len())
        };
        let pair = |at: usize| {
            let first = at / (2 * run) * (2 * run);
            (first, len.min(first + run), len.min(first + 2 * run))
        };
        let search = |number: usize| {
            let (first, middle, last) = pair(number * part);
            split_at(of(first..middle), of(middle..last), number * part - first, compare)
        };
        // For each part, how many items of the first run of its pair come before it.
        let splits: Vec<usize> = (0..parts).into_par_iter().map(search).collect();
        // Items of both runs that belong to a part.
        let of_part = |number: usize| {
            let (at, end) = (number * part, len.min((number + 1) * part));
            let (first, middle, last) = pair(at);
            let (split, next) = (
                splits[number],
                if end == last {
                    middle - first
                } else {
                    splits[number + 1]
                },
            );
            let b = (middle + (at - first - split), middle + (end - first).checked_sub(next)?);
            (split <= next && b.0 <= b.1).then_some((first + split..first + next, b.0..b.1))
        };
        if !(0..parts).into_par_iter().all(|number| of_part(number).is_some()) {
            return sort_piece(items);
        }
        run_bulk(parts, &|number| {
            let (a, b) = of_part(number).expect("looked at above");
            let to = &to;
            // SAFETY: the places of this part, within the capacity: as many as it has items. These stay in the slice too, so
            // that a comparison that panics leaves that complete.
            merge(of(a), of(b), compare, |i, item| unsafe {
                to.0.add(number * part + i)
                    .cast::<T>()
                    .copy_from_nonoverlapping(item, 1)
            });
        });
        each_position(len, |place| {
            let (from, to) = (&from, &to);
            // SAFETY: the copies take the places of the items: each is there once again.
            unsafe { from.0.add(place).copy_from_nonoverlapping(to.0.add(place).cast(), 1) };
        });
        run *= 2;
    }
}

/// How many of the first `place` items of two sorted runs together are of `a`: the least number for which all of `b` that
/// come before are less than the next of `a`.
fn split_at<T>(a: &[T], b: &[T], place: usize, compare: impl Fn(&T, &T) -> Ordering) -> usize {
    let (mut low, mut high) = (place.saturating_sub(b.len()), place.min(a.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(&b[place - middle - 1], &a[middle]) {
            Ordering::Less => high = middle,
            _ => low = middle + 1,
        }
    }
    low
}

/// Gives the items of two sorted runs in their order, with their numbers.
fn merge<T>(a: &[T], b: &[T], compare: impl Fn(&T, &T) -> Ordering, mut give: impl FnMut(usize, *const T)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let of_b = i == a.len() || j < b.len() && compare(&b[j], &a[i]) == Ordering::Less;
        let (next, run) = if of_b { (&mut j, b) } else { (&mut i, a) };
        let item = &raw const run[*next];
        *next += 1;
        give(i + j - 1, item);
    }
}

/// Pieces of a scan: their sums are scanned by one worker.
const SCANNED_PIECES: usize = 512;

/// Replaces each item by what `op`, which is associative, makes of it and all before it.
///
/// ```
/// let mut sums = [1, 2, 3, 4];
/// gpu_std::task::run(|| gpu_std::par::inclusive_scan(&mut sums, |a, b| a + b));
/// assert_eq!(sums, [1, 3, 6, 10]);
/// ```
pub fn inclusive_scan<T: Copy + Send + Sync>(items: &mut [T], op: impl Fn(T, T) -> T + Sync) {
    scan(items, &op);
}

/// Replaces each item by what `op`, which is associative, makes of `first` and all before it; returns what it makes of
/// all.
///
/// ```
/// use gpu_std::{par, task};
///
/// let mut places = [3, 1, 2];
/// let all = task::run(|| par::exclusive_scan(&mut places, 0, |a, b| a + b));
/// assert_eq!((places, all), ([0, 3, 4], Some(6)));
/// ```
pub fn exclusive_scan<T: Copy + Send + Sync>(items: &mut [T], first: T, op: impl Fn(T, T) -> T + Sync) -> T {
    scan(items, &op);
    let Some(all) = items.last().map(|last| op(first, *last)) else {
        return first;
    };
    // Moved by one, a piece at a time: each first remembers what the piece before it has last.
    let pieces = Pieces::at_most(items.len(), SCANNED_PIECES);
    let before: Vec<T> = (0..pieces.len())
        .map(|piece| match pieces.range(piece).start {
            0 => first,
            start => op(first, items[start - 1]),
        })
        .collect();
    let items = Shared(items.as_mut_ptr());
    run_bulk(pieces.len(), &|piece| {
        let items = &items;
        let mut before = before[piece];
        for i in pieces.range(piece) {
            // SAFETY: of this piece.
            let item = unsafe { &mut *items.0.add(i) };
            before = core::mem::replace(item, before);
            before = op(first, before);
        }
    });
    all
}

fn scan<T: Copy + Send + Sync>(items: &mut [T], op: &(impl Fn(T, T) -> T + Sync)) {
    let pieces = Pieces::at_most(items.len(), SCANNED_PIECES);
    let items = Shared(items.as_mut_ptr());
    let of = |piece: usize| {
        let (items, range) = (&items, pieces.range(piece));
        // SAFETY: each piece of the items goes to one worker at a time.
        unsafe { core::slice::from_raw_parts_mut(items.0.add(range.start), range.len()) }
    };
    run_bulk(pieces.len(), &|piece| {
        let mut before = None;
        for item in of(piece) {
            *item = before.map_or(*item, |before| op(before, *item));
            before = Some(*item);
        }
    });
    let mut sums: Vec<T> = Vec::with_capacity(pieces.len());
    for piece in 0..pieces.len() {
        let sum = *of(piece).last().expect("no piece is empty");
        sums.push(sums.last().map_or(sum, |before| op(*before, sum)));
    }
    run_bulk(pieces.len().saturating_sub(1), &|piece| {
        for item in of(piece + 1) {
            *item = op(sums[piece], *item);
        }
    });
}

/// Counts the items in each of `bins` bins; items beyond them are not counted.
///
/// ```
/// use gpu_std::par::{self, prelude::*};
///
/// let counts = gpu_std::task::run(|| par::histogram((0..100usize).into_par_iter().map(|n| n % 3), 3));
/// assert_eq!(counts, Some(vec![34, 33, 33]));
/// ```
pub fn histogram(items: impl IntoParallelIterator<Item = usize>, bins: usize) -> Vec<u32> {
    let counts: Vec<crate::word::Word32> = (0..bins).map(|_| Default::default()).collect();
    items.into_par_iter().for_each(|bin| {
        if let Some(count) = counts.get(bin) {
            count.add(1);
        }
    });
    counts.iter().map(|count| count.get()).collect()
}
