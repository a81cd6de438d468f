//! Where exceptions go: the handlers of a function as a graph.
//!
//! Each call in a protected range may reach each handler of that range and of those around it. That would be as many
//! steps as calls times handlers. So each range is a point of the code, as a branch's target is. The calls reach the
//! innermost range that is around them, and a range reaches its handlers and the next range.

use crate::program::Try;

/// A protected range, with those that are around it where its code is.
pub(super) struct Region {
    /// The index of its entry in the function's exception table.
    pub(super) try_: usize,
    /// The region where exceptions go that it does not catch.
    pub(super) next: Option<u32>,
    /// Regions that follow it.
    depth: u32,
}

/// The regions of a function.
#[derive(Default)]
pub(super) struct Regions {
    /// Regions, those of outer ranges first.
    pub(super) all: Vec<Region>,
    /// From which word of the program on which region is the innermost, in order.
    starts: Vec<(u32, Option<u32>)>,
    /// What finding them has cost, in steps.
    pub(super) work: u64,
}

impl Regions {
    /// Begins anew, with the ranges of a function. Exceptions go to the first range of the table that is
    /// around the code, then to the next, up to one without handlers. Stops after `most` steps.
    pub(super) fn find(&mut self, tries: &[Try], most: u64) {
        self.all.clear();
        self.starts.clear();
        self.work = 0;
        let ranges = || tries.iter().enumerate().filter(|(_, try_)| try_.start < try_.end);
        // Ends come before starts, and inner ranges, which come first in the table, begin last.
        let mut ends: Vec<(u32, usize)> = ranges().map(|(i, try_)| (try_.end, i)).collect();
        ends.sort_unstable();
        let mut begins: Vec<(u32, usize)> = ranges().map(|(i, try_)| (try_.start, i)).collect();
        begins.sort_unstable_by_key(|(pc, i)| (*pc, std::cmp::Reverse(*i)));
        let (mut ends, mut begins) = (ends.into_iter().peekable(), begins.into_iter().peekable());
        // The ranges around the code, the last of the table first, each with its region: if they are nested,
        // it is the end that changes.
        let mut around: Vec<(usize, Option<u32>)> = Vec::new();
        let mut moved = Vec::new();
        while let Some(pc) = ends.peek().map(|(pc, _)| *pc)
            && self.work <= most
        {
            let pc = begins.peek().map_or(pc, |(begin, _)| pc.min(*begin));
            while let Some((_, i)) = ends.next_if(|(end, _)| *end == pc) {
                take_above(&mut around, i, &mut moved);
                around.pop();
                self.put(&mut around, &mut moved, tries);
            }
            while let Some((_, i)) = begins.next_if(|(begin, _)| *begin == pc) {
                take_above(&mut around, i, &mut moved);
                moved.push(i);
                self.put(&mut around, &mut moved, tries);
            }
            self.starts.push((pc, around.last().and_then(|(_, region)| *region)));
        }
    }

    /// Puts ranges on those `around`, the last of them first.
    fn put(&mut self, around: &mut Vec<(usize, Option<u32>)>, moved: &mut Vec<usize>, tries: &[Try]) {
        self.work += moved.len() as u64;
        while let Some(try_) = moved.pop() {
            let next = around.last().and_then(|(_, region)| *region);
            let region = (!tries[try_].clauses.is_empty()).then(|| {
                let depth = next.map_or(0, |next| self.all[next as usize].depth + 1);
                self.all.push(Region { try_, next, depth });
                self.all.len() as u32 - 1
            });
            around.push((try_, region));
        }
    }

    /// The region where exceptions go that are thrown at this word of the program.
    pub(super) fn at(&self, pc: u32) -> Option<u32> {
        let after = self.starts.partition_point(|(start, _)| *start <= pc);
        self.starts[..after].last().and_then(|(_, region)| *region)
    }

    /// How a region stands in the order of the code: where its range ends, inner ones first.
    pub(super) fn order(&self, region: u32, tries: &[Try]) -> (u32, std::cmp::Reverse<u32>) {
        let region = &self.all[region as usize];
        (tries[region.try_].end, std::cmp::Reverse(region.depth))
    }
}

/// Moves the ranges that come before range `i` in the table away from those around the code.
fn take_above(around: &mut Vec<(usize, Option<u32>)>, i: usize, moved: &mut Vec<usize>) {
    while around.last().is_some_and(|(other, _)| *other < i) {
        moved.extend(around.pop().map(|(other, _)| other));
    }
}
