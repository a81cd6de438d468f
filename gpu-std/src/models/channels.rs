//! Channels, and the queue of numbers.

use std::vec;
use std::vec::Vec;

use super::{check, on_threads};
use crate::channel::history::{Did, is_linearizable};
use crate::channel::{Receiver, Sender, bounded, broadcast, oneshot, priority, unbounded, watch};
use crate::sync::Mutex;
use crate::word::Word64;
use crate::work::Queue;

/// Two threads send and two receive until the channel is closed: each value arrives once, those of a sender in order.
fn deliver((sender, receiver): (Sender<u32>, Receiver<u32>), many: bool) {
    let senders = Mutex::new(vec![sender.clone(), sender]);
    let mut all: Vec<u32> = on_threads(4, |thread| {
        let mut mine = Vec::new();
        if thread < 2 {
            let sender = senders.lock().unwrap().pop().unwrap();
            let values = (0..3).map(|n| thread * 10 + n);
            match many {
                true => sender.send_all(values).unwrap(),
                false => values.for_each(|value| sender.send(value).unwrap()),
            }
            return mine;
        }
        let receiver = receiver.clone();
        match many {
            true => while receiver.recv_many(&mut mine, 2).is_ok() {},
            false => mine.extend(&receiver),
        }
        for sender in 0..2 {
            assert!(mine.iter().filter(|value| **value / 10 == sender).is_sorted());
        }
        mine
    })
    .concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 10, 11, 12]);
}

#[test]
fn nothing_is_lost_or_doubled() {
    check(|| deliver(bounded(1), false));
    check(|| deliver(bounded(3), true));
    check(|| deliver(unbounded(), true));
}

#[test]
fn histories_are_linearizable() {
    check(|| {
        let (sender, receiver) = bounded(2);
        let clock = Word64::new(0);
        let history = on_threads(3, |thread| {
            let mut mine = Vec::new();
            for step in 0..3 {
                let begin = clock.add(1);
                let did = match (thread + step) % 2 {
                    0 => Did::send(&sender, thread * 10 + step),
                    _ => Did::receive(&receiver),
                };
                mine.push((begin, clock.add(1), did));
            }
            mine
        });
        let history = history.concat();
        assert!(is_linearizable(&history, 2), "{history:?}");
    });
}

/// Ends that go while others wait for them.
#[test]
fn an_end_that_goes_wakes_the_other() {
    check(|| {
        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        let ends = Mutex::new((Some(sender), Some(receiver)));
        on_threads(2, |thread| match thread {
            0 => {
                let sender = ends.lock().unwrap().0.take().unwrap();
                while sender.send(2).is_ok() {}
            }
            _ => {
                let receiver = ends.lock().unwrap().1.take().unwrap();
                assert_eq!(receiver.recv(), Ok(1));
            }
        });
        let (once, value) = oneshot();
        let ends = Mutex::new((Some(once), Some(value)));
        on_threads(2, |thread| match thread {
            0 => drop(ends.lock().unwrap().0.take().unwrap().send(7)),
            _ => {
                let value = ends.lock().unwrap().1.take().unwrap();
                assert_eq!(value.recv(), Ok(7));
            }
        });
    });
}

#[test]
fn all_hear_a_broadcast_and_see_what_is_watched() {
    check(|| {
        let (sender, receiver) = broadcast(2);
        let (shows, sees) = watch(0);
        let receivers = [sender.subscribe(), receiver].map(|receiver| Mutex::new(Some(receiver)));
        let watchers = [shows.subscribe(), sees].map(|watcher| Mutex::new(Some(watcher)));
        let senders = Mutex::new(Some((sender, shows)));
        on_threads(3, |thread| {
            if thread == 2 {
                let (sender, shows) = senders.lock().unwrap().take().unwrap();
                for n in 1..=3 {
                    // One that does not keep up is told so.
                    _ = sender.send(n);
                    _ = shows.send(n);
                }
                return;
            }
            let mut receiver = receivers[thread as usize].lock().unwrap().take().unwrap();
            let mut watcher = watchers[thread as usize].lock().unwrap().take().unwrap();
            let (mut last, mut seen) = (0, 0);
            while let Ok(value) = receiver.recv() {
                assert!(value > last);
                last = value;
            }
            while watcher.changed().is_ok() {
                let value = *watcher.borrow_and_update();
                assert!(value > seen);
                seen = value;
            }
            assert_eq!(seen, 3);
        });
    });
}

#[test]
fn urgent_values_come_first_and_all_come() {
    check(|| {
        let (sender, receiver) = priority(2, 2);
        let senders = Mutex::new(Some(sender));
        let taken = on_threads(2, |thread| match thread {
            0 => {
                let sender = senders.lock().unwrap().take().unwrap();
                for (lane, value) in [(1, 3), (0, 1), (1, 4), (0, 2)] {
                    sender.send(lane, value).unwrap();
                }
                Vec::new()
            }
            _ => core::iter::from_fn(|| receiver.recv().ok()).collect(),
        });
        let taken: Vec<u32> = taken.concat();
        let of = |wanted: [u32; 2]| taken.iter().filter(move |value| wanted.contains(value));
        assert_eq!(taken.len(), 4);
        assert!(of([1, 2]).is_sorted() && of([3, 4]).is_sorted());
    });
}

#[test]
fn a_queue_of_numbers_loses_and_doubles_nothing() {
    check(|| {
        let queue = Queue::with_capacity(2);
        let taken = on_threads(4, |thread| {
            let mut mine = Vec::new();
            if thread < 2 {
                (0..3).for_each(|n| {
                    while !queue.push(thread * 3 + n) {
                        crate::platform::pause();
                    }
                });
                return mine;
            }
            while mine.len() < 3 {
                mine.extend(queue.pop());
                crate::platform::pause();
            }
            mine
        });
        let mut taken = taken.concat();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..6));
    });
}
