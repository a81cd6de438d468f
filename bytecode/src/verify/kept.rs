//! States that are kept. For each point of a function's code that is reached from elsewhere: what the
//! units hold there on all paths so far.
//!
//! A function may have as many such points as it has instructions, and as many registers. So kept states are trees of
//! parts that never change: a state has groups of chunks of units. Where nothing was written between two points, their
//! states have the same parts. Two states are compared and joined where their parts are not the same ones.

use super::state::{ALL_UNDEFINED, CHANGED, CHUNK, GROUP, State, UNDEFINED, Unit, ZERO};

/// The states of a function, by their points' numbers.
#[derive(Default)]
pub(super) struct Kept {
    chunks: Vec<[Unit; CHUNK]>,
    /// Numbers of chunks.
    groups: Vec<[u32; GROUP]>,
    /// The numbers of each state's groups, one state after the other.
    states: Vec<u32>,
    /// Chunks and groups of a state.
    frame_chunks: usize,
    frame_groups: usize,
    /// Whether a state has been set.
    reached: Vec<bool>,
    /// What loading and joining have cost, in chunks.
    pub(super) work: u64,
}

impl Kept {
    /// Begins anew, with so many points that nothing has reached yet, and frames of so many units.
    pub(super) fn clear(&mut self, points: usize, frame: usize) {
        self.frame_chunks = frame.div_ceil(CHUNK);
        self.frame_groups = self.frame_chunks.div_ceil(GROUP);
        self.chunks.clear();
        // In the order of `ALL_UNDEFINED` and `ALL_ZERO`.
        self.chunks.extend([[UNDEFINED; CHUNK], [ZERO; CHUNK]]);
        self.groups.clear();
        self.groups.push([ALL_UNDEFINED; GROUP]);
        self.states.clear();
        self.states.resize(points * self.frame_groups, ALL_UNDEFINED);
        self.reached.clear();
        self.reached.resize(points, false);
        self.work = 0;
    }

    /// Chunks and groups that were made.
    pub(super) fn parts(&self) -> usize {
        self.chunks.len() + self.groups.len()
    }

    /// The chunks of a frame's group.
    fn chunks_of(&self, group: usize) -> std::ops::Range<usize> {
        group * GROUP..self.frame_chunks.min((group + 1) * GROUP)
    }

    /// Sets `state` to that of a point.
    pub(super) fn load(&mut self, point: usize, state: &mut State) {
        for group in 0..self.frame_groups {
            let kept = self.states[point * self.frame_groups + group];
            let chunks = self.chunks_of(group);
            self.work += 1;
            if state.groups[group] == kept && !state.chunks[chunks.clone()].contains(&CHANGED) {
                continue;
            }
            self.work += chunks.len() as u64;
            for (chunk, kept) in chunks.zip(self.groups[kept as usize]) {
                if state.chunks[chunk] != kept {
                    state.units[chunk * CHUNK..][..CHUNK].copy_from_slice(&self.chunks[kept as usize]);
                    state.chunks[chunk] = kept;
                }
            }
            state.groups[group] = kept;
        }
    }

    /// Joins `state` into that of a point. Returns whether that has changed it.
    pub(super) fn reach(&mut self, point: usize, state: &mut State) -> bool {
        let first = !std::mem::replace(&mut self.reached[point], true);
        let mut changed = first;
        for group in 0..self.frame_groups {
            let at = point * self.frame_groups + group;
            let kept = self.states[at];
            self.work += 1;
            let joined = match first {
                true => self.keep_group(group, state),
                false => self.join_group(group, kept, state),
            };
            self.states[at] = joined;
            changed |= joined != kept;
        }
        changed
    }

    /// The number of a group with the chunks of a state's.
    fn keep_group(&mut self, group: usize, state: &mut State) -> u32 {
        let chunks = self.chunks_of(group);
        let kept = state.groups[group];
        if kept != CHANGED && !state.chunks[chunks.clone()].contains(&CHANGED) {
            return kept;
        }
        self.work += chunks.len() as u64;
        let mut parts = [ALL_UNDEFINED; GROUP];
        for (part, chunk) in parts.iter_mut().zip(chunks) {
            *part = self.keep_chunk(chunk, state);
        }
        let kept = self.add_group(parts);
        state.groups[group] = kept;
        kept
    }

    /// The number of the meet of a kept group and a state's.
    fn join_group(&mut self, group: usize, kept: u32, state: &mut State) -> u32 {
        let chunks = self.chunks_of(group);
        if state.groups[group] == kept && !state.chunks[chunks.clone()].contains(&CHANGED) {
            return kept;
        }
        self.work += chunks.len() as u64;
        let old = self.groups[kept as usize];
        let mut new = old;
        for (part, chunk) in new.iter_mut().zip(chunks.clone()) {
            if state.chunks[chunk] == *part {
                continue;
            }
            let old = &self.chunks[*part as usize];
            let units = state.chunk(chunk);
            let mut joined = *old;
            // What each of both has and the other has not.
            let (mut of_old, mut of_state) = (UNDEFINED, UNDEFINED);
            for (unit, other) in joined.iter_mut().zip(units) {
                of_old |= *unit & !other;
                of_state |= other & !*unit;
                *unit &= other;
            }
            match (of_old == UNDEFINED, of_state == UNDEFINED) {
                (true, true) => state.set_chunk(chunk, *part),
                (true, false) => {}
                (false, true) => *part = self.keep_chunk(chunk, state),
                (false, false) => *part = self.add_chunk(joined),
            }
        }
        let joined = if new == old { kept } else { self.add_group(new) };
        if state.chunks[chunks.clone()] == new[..chunks.len()] {
            state.groups[group] = joined;
        }
        joined
    }

    fn keep_chunk(&mut self, chunk: usize, state: &mut State) -> u32 {
        if state.chunks[chunk] == CHANGED {
            let kept = self.add_chunk(*state.chunk(chunk));
            state.set_chunk(chunk, kept);
        }
        state.chunks[chunk]
    }

    fn add_chunk(&mut self, units: [Unit; CHUNK]) -> u32 {
        self.chunks.push(units);
        self.chunks.len() as u32 - 1
    }

    fn add_group(&mut self, chunks: [u32; GROUP]) -> u32 {
        self.groups.push(chunks);
        self.groups.len() as u32 - 1
    }
}
