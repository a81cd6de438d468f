//! A ring with a fixed number of places.
//!
//! The way of `vm/kernel/ops/work.h`, for any values: a thread takes credits for places or values, then tickets, which
//! name slots. That needs no compare-and-exchange that most of many lanes would lose. Here "full" and "empty" are exact:
//! a thread that got no credit looks at the tickets, and tries again if they say otherwise.
//!
//! Why it is linearizable: pushes are in the order of their tickets, pops in the order of theirs, and the pop with ticket t
//! returns the value of the push with ticket t. A pop has a credit only once more than t pushes are complete, so the push
//! with ticket t has begun before. "Full" is true when the second ticket is read, and so is "empty".

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use std::boxed::Box;

use crate::platform;
use crate::word::Word32;

#[derive(Debug)]
pub(super) struct Ring<T> {
    /// Tickets of pushes.
    tail: Apart<Word32>,
    /// Places that no push has a credit for, signed: below 0 while some who found none give theirs back.
    room: Apart<Word32>,
    /// Tickets of pops.
    head: Apart<Word32>,
    /// Values that no pop has a credit for, signed too.
    items: Apart<Word32>,
    places: u32,
    slots: Box<[Slot<T>]>,
}

/// On lines of memory of their own.
#[derive(Debug)]
#[repr(align(64))]
struct Apart<T>(T);

#[derive(Debug)]
struct Slot<T> {
    /// Ticket t may write if t is here less the slot's index, and read if that and 1 more is.
    state: Word32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a value is written by one thread and read by one other, each by its ticket, after the slot's state says so.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Ring<T> {}

/// Most values that one step takes places for: that many for each of a million threads do not carry a count of credits
/// round.
const MOST_AT_ONCE: u32 = 1 << 10;

impl<T> Ring<T> {
    pub fn new(places: usize) -> Ring<T> {
        let places = places.clamp(1, 1 << 30) as u32;
        let slots = (0..places.next_power_of_two().max(2)).map(|_| Slot {
            state: Word32::new(0),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        });
        Ring {
            tail: Apart(Word32::new(0)),
            room: Apart(Word32::new(places)),
            head: Apart(Word32::new(0)),
            items: Apart(Word32::new(0)),
            places,
            slots: slots.collect(),
        }
    }

    /// Takes at most so many credits; 0 if there are none for sure.
    fn draw(&self, credits: &Word32, wanted: u32, is_out: impl Fn() -> bool) -> u32 {
        loop {
            // Credits and tickets order nothing, here and below: a slot's state says when it may be read or written.
            let had = credits.count_down(wanted) as i32;
            let granted = had.clamp(0, wanted as i32) as u32;
            if granted < wanted {
                credits.count_up(wanted - granted);
            }
            if granted > 0 || is_out() {
                return granted;
            }
            platform::pause();
        }
    }

    /// Waits until a slot is in a state, and returns that too. Who has the ticket before has begun, and needs nobody.
    fn await_state(&self, ticket: u32, full: u32) -> (&Slot<T>, u32) {
        let index = ticket & (self.slots.len() as u32 - 1);
        let slot = &self.slots[index as usize];
        let state = ticket.wrapping_sub(index).wrapping_add(full);
        // Pairs with the release of the one that left the slot so.
        while slot.state.acquire() != state {
            platform::pause();
        }
        (slot, state)
    }

    /// Puts in as many of at most `count` values as there is room for; how many that were.
    pub fn push(&self, count: usize, mut values: impl FnMut() -> T) -> usize {
        let wanted = count.min(MOST_AT_ONCE as usize) as u32;
        if wanted == 0 {
            return 0;
        }
        let is_full = || {
            let tail = self.tail.0.get();
            tail.wrapping_sub(self.head.0.get()) as i32 >= self.places as i32
        };
        let granted = self.draw(&self.room.0, wanted, is_full);
        if granted == 0 {
            return 0;
        }
        let first = self.tail.0.count_up(granted);
        for i in 0..granted {
            let ticket = first.wrapping_add(i);
            let (slot, state) = self.await_state(ticket, 0);
            // SAFETY: the slot is this ticket's until its state is set.
            unsafe { (*slot.value.get()).write(values()) };
            slot.state.release(state.wrapping_add(1));
        }
        self.items.0.count_up(granted);
        granted as usize
    }

    /// Takes at most `count` values; how many that were.
    pub fn pop(&self, count: usize, mut values: impl FnMut(T)) -> usize {
        let wanted = count.min(MOST_AT_ONCE as usize) as u32;
        if wanted == 0 {
            return 0;
        }
        let granted = self.draw(&self.items.0, wanted, || self.is_empty());
        if granted == 0 {
            return 0;
        }
        let first = self.head.0.count_up(granted);
        for i in 0..granted {
            let (slot, state) = self.await_state(first.wrapping_add(i), 1);
            // SAFETY: the slot is this ticket's until its state is set, and its value is there.
            let value = unsafe { (*slot.value.get()).assume_init_read() };
            slot.state.release(state.wrapping_add(self.slots.len() as u32 - 1));
            values(value);
        }
        self.room.0.count_up(granted);
        granted as usize
    }

    pub fn is_empty(&self) -> bool {
        let head = self.head.0.get();
        self.tail.0.get().wrapping_sub(head) as i32 <= 0
    }

    pub fn len(&self) -> usize {
        let head = self.head.0.get();
        (self.tail.0.get().wrapping_sub(head) as i32).clamp(0, self.places as i32) as usize
    }

    pub fn places(&self) -> usize {
        self.places as usize
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        while self.pop(usize::MAX, drop) > 0 {}
    }
}
