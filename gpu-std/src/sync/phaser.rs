//! `Phaser`.

use core::fmt;
use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::{String, ToString};

use super::Locked;
use crate::event::Event;
use crate::word::Word32;

/// A barrier in two halves: a thread arrives, may do other work, and then waits for the others. How many threads there are
/// may change from phase to phase, and barriers may stand in a tree.
///
/// A thread that has arrived must wait, or see that the phase [is over](Arrival::is_over), before it arrives again.
/// [`Barrier`](super::Barrier) is faster where all threads of a kernel meet and do nothing between the halves.
///
/// ```
/// use gpu_std::sync::Phaser;
///
/// static STEPS: Phaser = Phaser::new(2);
/// let arrival = STEPS.arrive();
/// // Work that does not need what the others do in this phase.
/// assert!(!arrival.is_over());
/// assert!(STEPS.arrive_and_wait()); // the last one of the phase
/// arrival.wait();
/// ```
///
/// A tree lets fewer threads change one word. Groups of threads arrive at theirs, and a group that is complete counts as
/// one arrival at the one above it. A phase ends for all of them together:
///
/// ```
/// use gpu_std::sync::Phaser;
///
/// static ALL: Phaser = Phaser::new(2);
/// static GROUPS: [Phaser; 2] = [Phaser::under(&ALL, 1), Phaser::under(&ALL, 1)];
/// let first = GROUPS[0].arrive();
/// assert!(!first.is_over());
/// assert!(GROUPS[1].arrive_and_wait());
/// assert!(first.is_over());
/// ```
pub struct Phaser<'p> {
    /// Those that take part, from the next phase on, and those that this phase still waits for.
    parties: Word32,
    pending: Word32,
    parent: Option<&'p Phaser<'p>>,
    /// Of the one at the top.
    phase: Word32,
    changed: Event,
}

/// Says that the thread is here: see [`Phaser::arrive`].
#[must_use = "a thread that arrives again before the phase is over counts twice"]
pub struct Arrival<'p> {
    top: &'p Phaser<'p>,
    phase: u32,
    last: bool,
}

/// With the parties that each was made for.
static NAMED: Locked<BTreeMap<String, (&'static Phaser<'static>, u32)>> = Locked::new(BTreeMap::new());

impl Phaser<'static> {
    /// One for so many parties.
    pub const fn new(parties: u32) -> Phaser<'static> {
        Phaser::of(None, parties)
    }

    /// The one with this name, which the first call makes: it is there until the program ends.
    ///
    /// # Panics
    ///
    /// If it was made for another number of parties.
    ///
    /// ```
    /// use gpu_std::sync::Phaser;
    ///
    /// let loaded = Phaser::named("loaded", 1);
    /// assert!(core::ptr::eq(loaded, Phaser::named("loaded", 1)));
    /// assert!(loaded.arrive_and_wait());
    /// ```
    pub fn named(name: &str, parties: u32) -> &'static Phaser<'static> {
        let (phaser, made) = NAMED.with(|all| match all.get(name) {
            Some((phaser, made)) => (*phaser, *made),
            None => {
                let phaser: &'static Phaser = Box::leak(Box::new(Phaser::new(parties)));
                all.insert(name.to_string(), (phaser, parties));
                (phaser, parties)
            }
        });
        assert!(
            made == parties,
            "the phaser `{name}` is for {made} parties, not for {parties}"
        );
        phaser
    }
}

impl<'p> Phaser<'p> {
    /// One for so many parties that, once all of them have arrived, is a party of `parent` itself.
    pub const fn under(parent: &'p Phaser<'p>, parties: u32) -> Phaser<'p> {
        Phaser::of(Some(parent), parties)
    }

    const fn of(parent: Option<&'p Phaser<'p>>, parties: u32) -> Phaser<'p> {
        Phaser {
            parties: Word32::new(parties),
            pending: Word32::new(parties),
            parent,
            phase: Word32::new(0),
            changed: Event::new(),
        }
    }

    /// The number of the phase, from 0, and from 0 again after 2^32 of them.
    pub fn phase(&self) -> u32 {
        self.top().phase.get()
    }

    /// Those that take part now: threads, or phasers under this one.
    pub fn parties(&self) -> u32 {
        self.parties.get()
    }

    /// Arrives, and does not wait. What the thread did before is there for all whose wait for this phase has ended.
    ///
    /// # Panics
    ///
    /// If all parties have arrived already.
    pub fn arrive(&self) -> Arrival<'_> {
        let top = self.top();
        // Read before it arrives: the phase cannot end without it.
        let phase = top.phase.get();
        Arrival {
            last: self.come(false),
            top,
            phase,
        }
    }

    /// Arrives, and waits for the others. True for the last one to arrive.
    pub fn arrive_and_wait(&self) -> bool {
        let arrival = self.arrive();
        let last = arrival.last;
        arrival.wait();
        last
    }

    /// Arrives, and takes part no more from the next phase on. One that all parties have left leaves its parent too, and
    /// nobody may join it again.
    pub fn leave(&self) {
        self.come(true);
    }

    /// Adds a party, which this phase waits for too. Only a thread that takes part and has not arrived may do this, or any
    /// before the first phase: the phase must not end meanwhile.
    pub fn join(&self) {
        self.parties.add(1);
        self.pending.add(1);
    }

    fn top(&self) -> &Phaser<'_> {
        let mut top: &Phaser<'_> = self;
        while let Some(parent) = top.parent {
            top = parent;
        }
        top
    }

    /// A party arrives; true if that ends the phase.
    fn come(&self, leaves: bool) -> bool {
        if leaves {
            // Before the arrival: the last one to arrive reads it after all others.
            self.parties.sub(1);
        }
        let pending = self.pending.sub(1);
        assert!(pending != 0, "more arrive than take part");
        if pending != 1 {
            return false;
        }
        let parties = self.parties.get();
        // Nobody arrives for the next phase before the one at the top says that there is one.
        self.pending.set(parties);
        match self.parent {
            Some(parent) => parent.come(parties == 0),
            None => {
                self.phase.add(1);
                self.changed.notify_all();
                true
            }
        }
    }
}

impl Arrival<'_> {
    /// Whether all have arrived.
    pub fn is_over(&self) -> bool {
        self.top.phase.get() != self.phase
    }

    /// Waits until all have arrived.
    pub fn wait(self) {
        self.top.changed.wait_until(|| self.is_over().then_some(()));
    }

    /// Waits as a future.
    pub async fn wait_async(self) {
        self.top.changed.listen(|| self.is_over().then_some(())).await;
    }
}

impl fmt::Debug for Phaser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Phaser")
            .field("phase", &self.phase())
            .field("parties", &self.parties())
            .field("pending", &self.pending.get())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Arrival<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("phase", &self.phase)
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
