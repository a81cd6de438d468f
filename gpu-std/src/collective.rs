//! What threads do together: barriers, reductions, scans and exchanges.
//!
//! All threads of a team call the same function, in the same order. A team is all threads of a kernel, or groups of
//! neighbours: of 32, the lanes of a warp; of 128, those of a block, on a GPU with one of `gpu-run`'s usual blocks.
//!
//! ```
//! use gpu_std::collective::Team;
//!
//! static ALL: Team = Team::new();
//!
//! gpu_std::kernel! {
//!     pub fn share() -> f64 {
//!         let id = f64::from(gpu_std::thread_id() + 1);
//!         let sum = ALL.reduce(id, |a, b| a + b);
//!         id / sum
//!     }
//! }
//! assert_eq!(share(), 1.0); // a host program has one thread
//! ```
//!
//! Values are combined in the order of the threads' ids, so a sum of floats is the same in each run. A rank that no thread of
//! the group has is a panic.
//!
//! It is for the threads of a kernel. On a host, and in a run of one thread, a group is the caller alone.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Range;
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use crate::sync::{Meeting, OnceLock};
use crate::{thread_count, thread_id};

/// Threads that do things together.
///
/// It lies in a `static`, and takes its memory when it is first used: some 50 bytes for each thread.
#[derive(Debug)]
pub struct Team {
    /// Threads of a group; 0: all.
    size: u32,
    groups: OnceLock<Box<[Group]>>,
}

/// Room for a value.
type Room = UnsafeCell<MaybeUninit<u128>>;

/// Values that one thread combines. Each takes the time of an access, and each level that of a barrier.
const FAN: usize = 8;

#[derive(Debug)]
struct Group {
    barrier: Meeting,
    /// The group's threads.
    threads: usize,
    /// A tree of values: one for each thread, then one for each [`FAN`] of those, and so on to a single one. There are two:
    /// while some threads still read the one, others may write the other. Nobody writes the first again before all have read
    /// it, since each use has a barrier.
    rooms: [Box<[Room]>; 2],
    /// How often the rooms were used, by thread.
    uses: Box<[UnsafeCell<usize>]>,
}

// SAFETY: a room is written by one thread and read by others after a barrier; a thread's count of uses is its own.
unsafe impl Sync for Group {}

impl Team {
    /// All threads of the kernel.
    pub const fn new() -> Team {
        Team {
            size: 0,
            groups: OnceLock::new(),
        }
    }

    /// Groups of so many neighbours each: threads 0 to `size` - 1, and so on. The last one may have fewer; 0 counts as 1.
    pub const fn of(size: u32) -> Team {
        Team {
            size: if size == 0 { 1 } else { size },
            groups: OnceLock::new(),
        }
    }

    /// Threads of the caller's group.
    pub fn len(&self) -> usize {
        self.group().0.threads
    }

    /// False: there is always the caller.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The caller's number in its group, from 0.
    pub fn rank(&self) -> usize {
        self.group().1
    }

    /// Waits until all threads of the group are here. True for one of them.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert!(ALL.barrier());
    /// ```
    pub fn barrier(&self) -> bool {
        self.group().0.meet()
    }

    /// All values made one by `op`, which is associative; all threads get it.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.reduce(7, u32::max), 7);
    /// ```
    pub fn reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let (group, rank) = self.group();
        if group.threads == 1 {
            return value;
        }
        let rooms = group.combine(rank, value, &op);
        group.read(rooms, rooms.len() - 1)
    }

    /// What `op`, which is associative, makes of this thread's value and those of all before it.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.inclusive_scan(7, |a, b| a + b), 7);
    /// ```
    pub fn inclusive_scan<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        match self.before(value, &op) {
            Some(before) => op(before, value),
            None => value,
        }
    }

    /// What `op`, which is associative, makes of `first` and the values of all threads before this one.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.exclusive_scan(7, 0, |a, b| a + b), 0);
    /// ```
    pub fn exclusive_scan<T: Copy + Send + 'static>(&self, value: T, first: T, op: impl Fn(T, T) -> T) -> T {
        match self.before(value, &op) {
            Some(before) => op(first, before),
            None => first,
        }
    }

    /// The value of the thread with this rank; that of the others does not matter.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.broadcast(0, 'x'), 'x');
    /// ```
    pub fn broadcast<T: Copy + Send + 'static>(&self, root: usize, value: T) -> T {
        let (group, rank) = self.group();
        group.check(root);
        if group.threads == 1 {
            return value;
        }
        let rooms = group.begin(rank);
        if rank == root {
            group.write(rooms, 0, value);
        }
        group.meet();
        group.read(rooms, 0)
    }

    /// The values of all threads, for the one with this rank.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.gather(0, 3), Some(vec![3]));
    /// ```
    pub fn gather<T: Copy + Send + 'static>(&self, root: usize, value: T) -> Option<Vec<T>> {
        let (group, rank) = self.group();
        group.check(root);
        if group.threads == 1 {
            return Some(vec![value]);
        }
        let rooms = group.begin(rank);
        group.write(rooms, rank, value);
        group.meet();
        (rank == root).then(|| (0..group.threads).map(|i| group.read(rooms, i)).collect())
    }

    /// The values of all threads, for each of them.
    pub fn all_gather<T: Copy + Send + 'static>(&self, value: T) -> Vec<T> {
        let (group, rank) = self.group();
        if group.threads == 1 {
            return vec![value];
        }
        let rooms = group.begin(rank);
        group.write(rooms, rank, value);
        group.meet();
        (0..group.threads).map(|i| group.read(rooms, i)).collect()
    }

    /// This thread's value of those that the thread with rank `root` has for all; the `values` of the others do not matter.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.scatter(0, &[3]), 3);
    /// ```
    ///
    /// # Panics
    ///
    /// If that thread has not as many values as there are threads in the group.
    pub fn scatter<T: Copy + Send + Sync + 'static>(&self, root: usize, values: &[T]) -> T {
        let (group, rank) = self.group();
        group.check(root);
        if group.threads == 1 {
            assert_eq!(values.len(), 1, "a value for each thread");
            return values[0];
        }
        let rooms = group.begin(rank);
        if rank == root {
            assert_eq!(values.len(), group.threads, "a value for each thread");
            group.write(rooms, 0, Address(values.as_ptr()));
        }
        group.meet();
        let Address(values): Address<T> = group.read(rooms, 0);
        // SAFETY: the slice has so many, and its owner waits below.
        let value = unsafe { *values.add(rank) };
        group.meet();
        value
    }

    /// From each thread its value for this one: each thread has one for each.
    ///
    /// ```
    /// static ALL: gpu_std::collective::Team = gpu_std::collective::Team::new();
    /// assert_eq!(ALL.all_to_all(&[3]), [3]);
    /// ```
    ///
    /// # Panics
    ///
    /// If a thread has not as many values as there are threads in the group.
    pub fn all_to_all<T: Copy + Send + Sync + 'static>(&self, values: &[T]) -> Vec<T> {
        let (group, rank) = self.group();
        assert_eq!(values.len(), group.threads, "a value for each thread");
        if group.threads == 1 {
            return values.to_vec();
        }
        let rooms = group.begin(rank);
        group.write(rooms, rank, Address(values.as_ptr()));
        group.meet();
        let from = |i| {
            let Address(values) = group.read::<Address<T>>(rooms, i);
            // SAFETY: the slice has so many, and its owner waits below.
            unsafe { *values.add(rank) }
        };
        let received = (0..group.threads).map(from).collect();
        group.meet();
        received
    }

    /// What `op` makes of the values of all threads before this one.
    fn before<T: Copy + Send + 'static>(&self, value: T, op: &impl Fn(T, T) -> T) -> Option<T> {
        let (group, rank) = self.group();
        if group.threads == 1 {
            return None;
        }
        let rooms = group.combine(rank, value, op);
        group.before(rooms, rank, op)
    }

    fn group(&self) -> (&Group, usize) {
        let count = thread_count();
        let size = if self.size == 0 { count } else { self.size };
        let groups = self.groups.get_or_init(|| {
            let first = (0..count).step_by(size as usize);
            first.map(|first| Group::new((count - first).min(size))).collect()
        });
        let id = thread_id();
        (&groups[(id / size) as usize], (id % size) as usize)
    }
}

impl Default for Team {
    fn default() -> Team {
        Team::new()
    }
}

/// The address of another thread's slice.
struct Address<T>(*const T);

impl<T> Clone for Address<T> {
    fn clone(&self) -> Address<T> {
        *self
    }
}
impl<T> Copy for Address<T> {}
// SAFETY: the slice is shared while its owner waits.
unsafe impl<T: Sync> Send for Address<T> {}

impl Group {
    fn new(threads: u32) -> Group {
        let threads = threads as usize;
        // One thread makes them for all, so not one by one.
        let rooms = || {
            let count = levels(threads).map(|level| level.len()).sum();
            let mut rooms: Vec<Room> = Vec::with_capacity(count);
            // SAFETY: a room need not be initialized.
            unsafe { rooms.set_len(count) };
            rooms.into_boxed_slice()
        };
        let uses = Box::into_raw(vec![0usize; threads].into_boxed_slice());
        Group {
            barrier: Meeting::new(),
            threads,
            rooms: [rooms(), rooms()],
            // SAFETY: `UnsafeCell<usize>` is laid out as `usize`.
            uses: unsafe { Box::from_raw(uses as *mut [UnsafeCell<usize>]) },
        }
    }

    /// A panic for a rank that no thread of the group has.
    fn check(&self, rank: usize) {
        assert!(rank < self.threads, "the group has no thread with rank {rank}");
    }

    fn meet(&self) -> bool {
        self.barrier.wait(self.threads as u32)
    }

    /// The rooms for this use: all threads choose the same, because all have used them as often.
    fn begin(&self, rank: usize) -> &[Room] {
        // SAFETY: the caller's own count.
        let uses = unsafe { &mut *self.uses[rank].get() };
        *uses += 1;
        &self.rooms[*uses % 2]
    }

    fn write<T: Copy>(&self, rooms: &[Room], at: usize, value: T) {
        const {
            assert!(
                size_of::<T>() <= size_of::<u128>() && align_of::<T>() <= align_of::<u128>(),
                "values of collectives have 16 bytes at most"
            );
        }
        // SAFETY: it fits, and the room is the caller's until the next barrier.
        unsafe { rooms[at].get().cast::<T>().write(value) };
    }

    fn read<T: Copy>(&self, rooms: &[Room], at: usize) -> T {
        // SAFETY: another thread has written a value of this type there before the last barrier, since all call the same.
        unsafe { rooms[at].get().cast::<T>().read() }
    }

    /// Has all values combined, level by level. All may be read then.
    fn combine<T: Copy + Send>(&self, rank: usize, value: T, op: &impl Fn(T, T) -> T) -> &[Room] {
        let rooms = self.begin(rank);
        self.write(rooms, rank, value);
        let mut below: Option<Range<usize>> = None;
        for level in levels(self.threads) {
            if let Some(below) = below
                && rank < level.len()
            {
                let first = below.start + rank * FAN;
                let mut sum = self.read(rooms, first);
                for i in first + 1..below.end.min(first + FAN) {
                    sum = op(sum, self.read(rooms, i));
                }
                self.write(rooms, level.start + rank, sum);
            }
            self.meet();
            below = Some(level);
        }
        rooms
    }

    /// What `op` makes of the values of all threads before one: on each level, from the top, those before it that have the
    /// same parent.
    fn before<T: Copy>(&self, rooms: &[Room], rank: usize, op: &impl Fn(T, T) -> T) -> Option<T> {
        // Ranges and this thread's place on each level, from the bottom. 8 to the power of 11 is more than 2^32.
        let mut path = [(0, 0); 12];
        let mut height = 0;
        for (level, place) in levels(self.threads).zip(core::iter::successors(Some(rank), |place| Some(place / FAN))) {
            path[height] = (level.start, place);
            height += 1;
        }
        let mut sum = None;
        for &(start, place) in path[..height].iter().rev() {
            for i in place / FAN * FAN..place {
                let value = self.read(rooms, start + i);
                sum = Some(sum.map_or(value, |sum| op(sum, value)));
            }
        }
        sum
    }
}

/// Where the levels of a tree over so many values lie.
fn levels(values: usize) -> impl Iterator<Item = Range<usize>> {
    core::iter::successors(Some(0..values), |level| {
        let more = level.len() > 1;
        more.then(|| level.end..level.end + level.len().div_ceil(FAN))
    })
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use std::string::String;

    /// Runs `f` as each thread of a group of so many.
    fn on_group(threads: u32, f: impl Fn(&Group, usize) + Sync) {
        let group = Group::new(threads);
        std::thread::scope(|scope| {
            for rank in 0..threads as usize {
                let (group, f) = (&group, &f);
                scope.spawn(move || f(group, rank));
            }
        });
    }

    #[test]
    fn levels_end_in_one_value() {
        let lengths = |values| levels(values).map(|level| level.len()).collect::<Vec<_>>();
        assert_eq!(
            (lengths(1), lengths(8), lengths(9)),
            (vec![1], vec![8, 1], vec![9, 2, 1])
        );
        assert_eq!(lengths(33_792), [33_792, 4224, 528, 66, 9, 2, 1]);
        assert!(levels(u32::MAX as usize).count() <= 12);
    }

    #[test]
    fn values_are_combined_in_order() {
        // Up to 9 letters, each with its place: not commutative.
        let join = |a: [u8; 16], b: [u8; 16]| {
            let mut all = a.into_iter().chain(b).filter(|byte| *byte != 0);
            core::array::from_fn(|_| all.next().unwrap_or(0))
        };
        for threads in [1, 2, 7, 8, 9, 15] {
            on_group(threads, |group, rank| {
                for round in 0..20u8 {
                    let letter = |rank: usize| b'a' + (rank as u8 + round) % 26;
                    let mut value = [0; 16];
                    value[0] = letter(rank);
                    let rooms = group.combine(rank, value, &join);
                    let text = |value: [u8; 16]| {
                        String::from_utf8(value.into_iter().filter(|byte| *byte != 0).collect()).unwrap()
                    };
                    let before: String = (0..rank).map(|rank| letter(rank) as char).collect();
                    assert_eq!(group.before(rooms, rank, &join).map_or(String::new(), text), before);
                    let all: String = (0..threads as usize).map(|rank| letter(rank) as char).collect();
                    assert_eq!(text(group.read(rooms, rooms.len() - 1)), all, "{threads} {rank}");
                }
            });
        }
    }
}
