//! The collector, a machine of small steps. Any thread takes one when it ends a session.
//!
//! 1. **Barrier.** Sessions mark what they store from now on. Those that began before have to end.
//! 2. **Entries**, **Roots.** New objects are marked too from now on. What was remembered is looked at, and what is kept.
//! 3. **Mark.** All threads trace what is marked.
//! 4. **Ending.** Nothing is left to be traced. A session may have something white in hand; if it stores that, it marks it.
//!    When all sessions have ended that were under way, and there is still nothing to be traced, there never will be:
//!    sessions since then can only have got at what is marked. So all objects of the lists that are white are garbage.
//! 5. **Lists.** What there is becomes what is to be swept.
//! 6. **Settle.** The phase is idle again, and sessions that have not heard of it have to end. What they have marked is
//!    traced the next time.
//! 7. **Sweep.** All threads free what is white. What is marked is old.
//!
//! Barrier and black objects come one after the other, because a session that has heard of neither could store something
//! white in a new black object, which is never traced.
//!
//! Sessions have ended that began before a moment when the epoch of [`reclaim`](crate::reclaim) has gone on twice since.

use core::cell::Cell;
use core::marker::PhantomData;
use std::vec::Vec;

use super::heap::{Chain, HEAP, Heap, List, Phase, SHARDS, Shard};
use super::object::{Header, Tracer};
use super::pointers::Session;
use crate::platform;
use crate::reclaim::{Grace, pin};
use crate::sync::Locked;
use crate::word::{Word32, Word64};

/// Objects that a thread looks at in a step: so many for each that it has made in the session before, and one more. That is
/// several times what a collection takes for each new object. It is little, because on a GPU a lane that ends a session may
/// have to wait for the steps of the 31 others of its warp.
const STEP: usize = 16;
/// But no more than these; it takes several then.
const LONGEST_STEP: usize = 256;
/// Objects that one thread looks at alone in a step, and parts of the heap.
const ALONE: usize = 32;
/// KiB of new objects until a collection begins: as much as this, and a part of what is old.
const LEAST_FRESH: u32 = 1024;
const FRESH_PART: u32 = 4;
/// KiB that become old until all of the heap is collected: this, and as much as was old the last time.
const LEAST_PROMOTED: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Barrier,
    Entries,
    Roots,
    Mark,
    Ending,
    Lists,
    Settle,
    Sweep,
}

/// Of the thread that makes a step of its own.
#[derive(Debug)]
struct Control {
    stage: Stage,
    /// All of the heap is collected.
    full: bool,
    grace: Grace,
    /// Of [`Collector::traced`], when there was nothing left to be traced.
    traced: u32,
    /// What was remembered, and what was marked too late for the last collection.
    entries: Vec<*mut Header>,
    late: Vec<*mut Header>,
    /// How far parts of the heap were looked at, and roots of the one that is next.
    shard: usize,
    root: usize,
    /// KiB that were old after the last collection of all, and became old since.
    old: u32,
    promoted: u32,
}

#[derive(Debug)]
struct Collector {
    control: Locked<Control>,
    /// A collection is under way: threads have steps to make.
    active: Word32,
    /// KiB of new objects at which one begins.
    due: Word32,
    requested: Word32,
    /// Threads may trace, and may sweep.
    marks: Word32,
    sweeps: Word32,
    /// Threads that do so.
    working: Word32,
    /// Chains that were taken to be traced.
    traced: Word32,
    /// Lists that were taken to be swept.
    taken: Word32,
    /// Bytes that were found alive by the sweep under way.
    survived: Word64,
    /// Collections of all that have begun and ended, and collections of the young that have ended.
    begun: Word32,
    ended: Word32,
    of_young: Word32,
}

static COLLECTOR: Collector = Collector {
    control: Locked::new(Control {
        stage: Stage::Idle,
        full: false,
        grace: Grace::NONE,
        traced: 0,
        entries: Vec::new(),
        late: Vec::new(),
        shard: 0,
        root: 0,
        old: 0,
        promoted: 0,
    }),
    active: Word32::new(0),
    due: Word32::new(LEAST_FRESH),
    requested: Word32::new(0),
    marks: Word32::new(0),
    sweeps: Word32::new(0),
    working: Word32::new(0),
    traced: Word32::new(0),
    taken: Word32::new(0),
    survived: Word64::new(0),
    begun: Word32::new(0),
    ended: Word32::new(0),
    of_young: Word32::new(0),
};

// --- Sessions -----------------------------------------------------------------------------------------

/// Runs `f` in a session, by which it reaches objects. Nothing of them leaves it but by a [`Root`](super::Root).
///
/// ```
/// let length = gpu_std::gc::enter(|session| session.alloc("text".to_string()).len());
/// assert_eq!(length, 4);
/// ```
pub fn enter<R>(f: impl for<'s> FnOnce(&Session<'s>) -> R) -> R {
    let (result, made) = {
        let _inside = Inside::new();
        let session = Session {
            _guard: pin(),
            brand: PhantomData,
            of_thread: PhantomData,
            made: Cell::new(0),
        };
        (f(&session), session.made.get())
    };
    if COLLECTOR.is_due() && with_sessions(Cell::get) == 0 {
        // What is dropped in a step may begin sessions, which take no steps then.
        let _inside = Inside::new();
        let mut left = STEP.saturating_mul(made as usize + 1);
        // A thread that makes many objects takes several steps, or there would be more and more objects.
        while left > 0 && COLLECTOR.is_due() {
            COLLECTOR.step(left.min(LONGEST_STEP));
            left = left.saturating_sub(LONGEST_STEP);
        }
    }
    result
}

/// A session of this thread, or a step, as far as it is counted: also where something panics in it.
struct Inside;

impl Inside {
    fn new() -> Inside {
        with_sessions(|sessions| sessions.set(sessions.get() + 1));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        with_sessions(|sessions| sessions.set(sessions.get() - 1));
    }
}

/// Collects all of the heap, with the help of threads that end sessions meanwhile, and waits for it. What was out of reach
/// before is freed afterwards, but for what a session has had in hand that was under way at its beginning: that goes the
/// next time.
///
/// # Panics
///
/// In a session, for whose end it would wait, and in a destructor that a collection runs. With a guard of
/// [`reclaim::pin`](crate::reclaim::pin) it waits for ever.
pub fn collect() {
    assert!(
        with_sessions(Cell::get) == 0,
        "gc::collect waits for the end of sessions: it cannot be called in one"
    );
    let begun = COLLECTOR.begun.get();
    while COLLECTOR.ended.get().wrapping_sub(begun) as i32 <= 0 {
        if COLLECTOR.begun.get() == begun {
            COLLECTOR.requested.set(1);
        }
        {
            let _inside = Inside::new();
            COLLECTOR.step(LONGEST_STEP);
        }
        platform::pause();
    }
}

/// What the heap has and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Objects that were made and not freed yet.
    pub objects: u64,
    /// Collections of all that have ended.
    pub full: u32,
    /// Collections of what was new.
    pub young: u32,
}

/// Counts of the heap as they are now.
pub fn stats() -> Stats {
    let objects = |shard: &Shard| shard.allocated.get().wrapping_sub(shard.freed.get()) as i32;
    Stats {
        objects: HEAP
            .shards
            .iter()
            .map(|shard| i64::from(objects(shard)))
            .sum::<i64>()
            .max(0) as u64,
        full: COLLECTOR.ended.get(),
        young: COLLECTOR.of_young.get(),
    }
}

/// How many sessions this thread is in, one inside of another.
#[cfg(all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics"))))]
fn with_sessions<R>(f: impl FnOnce(&Cell<u32>) -> R) -> R {
    f(crate::thread::sessions())
}

/// How many sessions this thread is in, one inside of another.
#[cfg(not(all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics")))))]
fn with_sessions<R>(f: impl FnOnce(&Cell<u32>) -> R) -> R {
    std::thread_local!(static SESSIONS: Cell<u32> = const { Cell::new(0) });
    SESSIONS.with(f)
}

// --- Steps --------------------------------------------------------------------------------------------

impl Collector {
    /// Whether there is a step to make. A guess, which another session makes again.
    fn is_due(&self) -> bool {
        self.active.glance() != 0 || HEAP.fresh.glance() >= self.due.glance()
    }

    /// Looks at so many objects, if there are some that all threads may look at, and goes on if no other thread does.
    fn step(&self, objects: usize) {
        if self.marks.glance() != 0 {
            self.trace(&HEAP, objects);
        }
        if self.sweeps.glance() != 0 {
            self.sweep(&HEAP, objects);
        }
        self.control.try_with(|control| self.advance(control, &HEAP));
    }

    /// Does a part of the work, if that is still allowed. The thread that forbids it waits until no thread is at it any
    /// more. So a thread that has seen nothing to do should not come here.
    fn work(&self, allowed: &Word32, work: impl FnOnce()) {
        /// Also where a destructor panics.
        struct Done<'c>(&'c Collector);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.working.sub(1);
            }
        }
        self.working.add(1);
        let _done = Done(self);
        // Sequentially consistent, as the addition is: this thread sees that it is forbidden, or the forbidding thread sees
        // the addition.
        if allowed.get() != 0 {
            work();
        }
    }

    /// Traces marked objects.
    fn trace(&self, heap: &Heap, objects: usize) {
        let mut left = objects;
        for shard in heap.some() {
            while left > 0 && !shard.gray.seems_empty() {
                self.work(&self.marks, || {
                    // Of this collection, which does not end meanwhile.
                    let (number, _) = heap.state();
                    let mut tracer = Tracer::new(number);
                    // SAFETY: nothing is swept as long as a thread is here. An object gets there once under one number: what was
                    // taken is traced below, and what is put there then has been found now.
                    let mut taken = unsafe { shard.gray.take_some(left, |object| &object.gray) };
                    self.traced.add(1);
                    // What this finds is traced next, as far as it may, so that it need not go through a list.
                    // SAFETY: what is marked is alive.
                    while let Some(object) = unsafe { taken.pop(|object| &object.gray) } {
                        object.trace(&mut tracer);
                        left -= 1;
                    }
                    while left > 0
                        && let Some(object) = unsafe { tracer.found.pop(|object| &object.gray) }
                    {
                        object.trace(&mut tracer);
                        left -= 1;
                    }
                });
                left = left.saturating_sub(1);
            }
        }
    }

    /// Frees what is white.
    fn sweep(&self, heap: &Heap, objects: usize) {
        let mut left = objects;
        for shard in heap.some() {
            for list in &shard.unswept {
                if left > 0 && !list.seems_empty() {
                    self.work(&self.sweeps, || self.sweep_list(heap, shard, list, &mut left));
                }
            }
        }
    }

    fn sweep_list(&self, heap: &Heap, shard: &Shard, list: &List, left: &mut usize) {
        /// A list that is swept. When that ends, also where a destructor panics, nothing of it is lost.
        struct Swept<'h> {
            shard: &'h Shard,
            list: &'h List,
            rest: *mut Header,
            survivors: Chain,
            freed: u32,
            /// Bytes of the survivors.
            survived: u64,
        }
        impl Drop for Swept<'_> {
            fn drop(&mut self) {
                let survivors = core::mem::replace(&mut self.survivors, Chain::EMPTY);
                self.shard.old.push_all(survivors, |object| &object.next);
                // Nobody else puts something there: the list was empty, and is filled when none sweeps.
                if !self.rest.is_null() {
                    self.list.put(self.rest);
                }
                self.shard.freed.count_up(self.freed);
                if self.survived != 0 {
                    COLLECTOR.survived.add(self.survived);
                }
            }
        }
        // Of this collection, which does not end meanwhile.
        let (number, _) = heap.state();
        let mut swept = Swept {
            shard,
            list,
            rest: list.take(),
            survivors: Chain::EMPTY,
            freed: 0,
            survived: 0,
        };
        self.taken.add(1);
        // SAFETY: the chain is this thread's. An object is freed here alone, once.
        while *left > 0
            && let Some(object) = unsafe { swept.rest.as_ref() }
        {
            let this = swept.rest;
            // What was marked was marked before anything is swept.
            swept.rest = object.next.glance();
            if object.mark.glance() == number {
                swept.survived += u64::from(object.size());
                swept.survivors.push(object, |object| &object.next);
            } else {
                swept.freed += 1;
                // SAFETY: white at the end of marking, so nobody can reach it.
                unsafe { Header::free(this) };
            }
            *left -= 1;
        }
    }

    /// Goes on to the next stage if the time for it has come, or does a part of what one thread alone does.
    fn advance(&self, control: &mut Control, heap: &Heap) {
        let (number, _) = heap.state();
        match control.stage {
            Stage::Idle => self.begin(control, heap),
            Stage::Barrier if control.grace.is_over() => {
                heap.set_state(number, Phase::Black);
                control.shard = 0;
                control.stage = Stage::Entries;
            }
            Stage::Entries => self.look_at_entries(control, heap, number),
            Stage::Roots => self.look_at_roots(control, heap, number),
            Stage::Mark => {
                if let Some(traced) = self.nothing_to_trace(heap) {
                    control.traced = traced;
                    control.grace = Grace::begin();
                    control.stage = Stage::Ending;
                }
            }
            Stage::Ending if control.grace.is_over() => {
                let ended = self.nothing_to_trace(heap) == Some(control.traced);
                control.stage = if ended { Stage::Lists } else { Stage::Mark };
                if ended {
                    self.marks.set(0);
                    control.shard = 0;
                }
            }
            Stage::Lists => self.put_lists(control, heap, number),
            Stage::Settle if control.grace.is_over() && self.working.get() == 0 => {
                for shard in &heap.shards {
                    let mut chain = shard.gray.take();
                    while !chain.is_null() {
                        control.late.push(chain);
                        // SAFETY: it is marked, so it is alive.
                        chain = unsafe { (*chain).gray.glance() };
                    }
                }
                self.sweeps.set(1);
                control.stage = Stage::Sweep;
            }
            Stage::Sweep => self.end(control, heap),
            _ => {}
        }
    }

    fn begin(&self, control: &mut Control, heap: &Heap) {
        let requested = self.requested.swap(0) != 0;
        if !requested && heap.fresh.get() < self.due.get() {
            return;
        }
        control.full = requested || control.promoted >= control.old.max(LEAST_PROMOTED);
        heap.fresh.set(0);
        self.survived.set(0);
        self.begun.add(u32::from(control.full));
        self.active.set(1);
        let (mut number, _) = heap.state();
        if control.full {
            // Nothing is marked any more. No object has a number from so long ago.
            number = if number == u32::MAX >> 2 { 1 } else { number + 1 };
        }
        heap.set_state(number, Phase::Barrier);
        control.grace = Grace::begin();
        control.stage = Stage::Barrier;
    }

    /// What was remembered matters for a collection of the young; what was marked too late for any.
    fn look_at_entries(&self, control: &mut Control, heap: &Heap, number: u32) {
        let mut tracer = Tracer::new(number);
        for _ in 0..ALONE {
            if let Some(late) = control.late.pop() {
                // SAFETY: it was marked in the last collection, so that has not freed it. It may not have been traced.
                let late = unsafe { &*late };
                late.mark.set(number);
                late.trace(&mut tracer);
            } else if let Some(entry) = control.entries.pop() {
                // SAFETY: it was alive after the last sweep, and none was since.
                let entry = unsafe { &*entry };
                entry.remembered.set(0);
                if control.full {
                    continue;
                }
                match entry.mark.get() == number {
                    true => entry.trace(&mut tracer),
                    false => heap.mark(entry, number),
                }
            } else if let Some(shard) = heap.shards.get(control.shard) {
                // Sessions that might still remember something have ended.
                control.entries = shard.remembered.with(core::mem::take);
                control.shard += 1;
            } else {
                (control.shard, control.root) = (0, 0);
                control.stage = Stage::Roots;
                return;
            }
        }
    }

    fn look_at_roots(&self, control: &mut Control, heap: &Heap, number: u32) {
        let mut left = ALONE;
        while left > 0 {
            let Some(shard) = heap.shards.get(control.shard) else {
                self.marks.set(1);
                control.stage = Stage::Mark;
                return;
            };
            shard.roots.with(|roots| {
                let rest = roots.entries.get(control.root..).unwrap_or_default();
                let now = &rest[..left.min(rest.len())];
                // SAFETY: a root keeps what it points to, and removing it takes the lock.
                let objects = now.iter().filter_map(|object| unsafe { object.as_ref() });
                objects.for_each(|object| heap.mark(object, number));
                (control.shard, control.root) = match now.len() == rest.len() {
                    true => (control.shard + 1, 0),
                    false => (control.shard, control.root + now.len()),
                };
                // A part without roots takes some time too.
                left -= now.len().max(1);
            });
        }
    }

    /// The number of chains that were taken until now, if no object is known that is marked and not traced. A thread that
    /// takes one afterwards has found something new.
    fn nothing_to_trace(&self, heap: &Heap) -> Option<u32> {
        // A thread that traces counts itself before it takes a chain. What it finds is in a list before it leaves.
        let traced = self.traced.get();
        let empty = |shard: &Shard| shard.gray.is_empty();
        // A guess first, which takes no fence for each.
        let seems_empty = |shard: &Shard| shard.gray.seems_empty();
        let nothing = heap.shards.iter().all(seems_empty)
            && self.working.get() == 0
            && heap.shards.iter().all(empty)
            && self.working.get() == 0;
        (nothing && self.traced.get() == traced).then_some(traced)
    }

    /// Makes the objects of some parts of the heap what is to be swept. Those that are made meanwhile are marked.
    fn put_lists(&self, control: &mut Control, heap: &Heap, number: u32) {
        let put = |from: &List, to: &List| {
            let chain = from.take();
            if !chain.is_null() {
                to.put(chain);
            }
        };
        let next = SHARDS.min(control.shard + ALONE);
        for shard in &heap.shards[control.shard..next] {
            put(&shard.young, &shard.unswept[0]);
            if control.full {
                put(&shard.old, &shard.unswept[1]);
            }
        }
        control.shard = next;
        if next == SHARDS {
            // All parts are done: from now on there are white objects in the lists that somebody has in hand.
            heap.set_state(number, Phase::Idle);
            control.grace = Grace::begin();
            control.stage = Stage::Settle;
        }
    }

    fn end(&self, control: &mut Control, heap: &Heap) {
        // A list is empty too while a thread has it that will put the rest back.
        let taken = self.taken.get();
        let swept = |shard: &Shard| shard.unswept.iter().all(List::is_empty);
        let all = self.working.get() == 0 && heap.shards.iter().all(swept) && self.working.get() == 0;
        if !all || self.taken.get() != taken {
            return;
        }
        self.sweeps.set(0);
        let survived = (self.survived.get() >> 10) as u32;
        if control.full {
            (control.old, control.promoted) = (survived, 0);
            self.ended.add(1);
        } else {
            control.promoted += survived;
            self.of_young.add(1);
        }
        let old = control.old.saturating_add(control.promoted);
        self.due.set(LEAST_FRESH.max(old / FRESH_PART));
        control.stage = Stage::Idle;
        self.active.set(0);
    }
}
