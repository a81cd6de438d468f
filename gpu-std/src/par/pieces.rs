//! Positions, cut into pieces for workers.

use core::mem::MaybeUninit;
use core::ops::Range;
use std::vec::Vec;

use super::iter::Shared;
use crate::task::{run_bulk, workers};

/// Ranges of about the same size.
pub(super) struct Pieces {
    positions: usize,
    pieces: usize,
}

/// Pieces for each worker: so many that one that is done early finds more, and few enough to be worth their cost.
const FOR_EACH_WORKER: usize = 4;

impl Pieces {
    /// As many as the workers can use.
    pub fn of(positions: usize) -> Pieces {
        Pieces::at_most(positions, usize::MAX)
    }

    pub fn at_most(positions: usize, most: usize) -> Pieces {
        let wanted = match workers() {
            1 => 1,
            workers => FOR_EACH_WORKER * workers as usize,
        };
        Pieces {
            positions,
            pieces: wanted.min(most).min(positions),
        }
    }

    pub fn len(&self) -> usize {
        self.pieces
    }

    pub fn range(&self, piece: usize) -> Range<usize> {
        let (each, more) = (self.positions / self.pieces, self.positions % self.pieces);
        let begin = |piece: usize| piece * each + piece.min(more);
        begin(piece)..begin(piece + 1)
    }

    /// What `f` makes of each piece, in their order.
    pub fn run<R: Send>(&self, f: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
        let mut results: Vec<MaybeUninit<R>> = Vec::with_capacity(self.pieces);
        let first = Shared(results.as_mut_ptr());
        run_bulk(self.pieces, &|piece| {
            let first = &first;
            let result = f(self.range(piece));
            // SAFETY: within the capacity, and of this piece.
            unsafe { first.0.add(piece).write(MaybeUninit::new(result)) };
        });
        let mut results = core::mem::ManuallyDrop::new(results);
        // SAFETY: all are written, since `run_bulk` has returned; `MaybeUninit<R>` is laid out as `R`.
        unsafe { Vec::from_raw_parts(results.as_mut_ptr().cast(), self.pieces, results.capacity()) }
    }
}

/// Lanes that work side by side read and write side by side if neighbouring positions go to neighbouring lanes. On a host
/// the lines of a cache are better not shared.
const STRIDE: usize = if cfg!(target_arch = "wasm32") { 32 } else { 1 };

/// Calls `f` for each position, in no order.
pub(super) fn each_position(positions: usize, f: impl Fn(usize) + Sync) {
    let pieces = Pieces::of(positions).len();
    if pieces <= 1 {
        return (0..positions).for_each(f);
    }
    // Groups of pieces have a stretch of positions in common, of which each takes every `STRIDE`th.
    let each = positions.div_ceil(pieces);
    let stretch = each.saturating_mul(STRIDE);
    let groups = positions.div_ceil(stretch);
    run_bulk(groups * STRIDE, &|piece| {
        let group = piece / STRIDE;
        let first = group * stretch + (piece - group * STRIDE);
        let end = positions.min((group * stretch).saturating_add(stretch));
        (first..end).step_by(STRIDE).for_each(&f);
    });
}

/// Values that one worker combines.
const AT_ONCE: usize = 64;

/// All values made one, in their order.
pub(super) fn combine<R: Send>(mut values: Vec<R>, op: &(impl Fn(R, R) -> R + Sync)) -> Option<R> {
    while values.len() > AT_ONCE {
        let mut values_left = core::mem::ManuallyDrop::new(values);
        let (first, len) = (Shared(values_left.as_mut_ptr()), values_left.len());
        let groups = Pieces {
            positions: len,
            pieces: len.div_ceil(AT_ONCE),
        };
        let combined = groups.run(|range| {
            let first = &first;
            // SAFETY: each value is read once, by the group that it belongs to.
            let group = range.map(|i| unsafe { first.0.add(i).read() });
            group.reduce(op).expect("no group is empty")
        });
        // SAFETY: the values were moved out; what is left is the memory.
        drop(unsafe { Vec::<R>::from_raw_parts(values_left.as_mut_ptr(), 0, values_left.capacity()) });
        values = combined;
    }
    values.into_iter().reduce(op)
}
