use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use std::vec::Vec;

use super::history::{Did, is_linearizable};
use super::*;
use crate::future::{block_on, spawn};
use crate::task::{self, JoinHandle};

/// Sends from 4 threads and receives in 4, one by one or many at once; all values arrive once, and those of a sender in
/// their order.
fn deliver(sender: Sender<u64>, receiver: Receiver<u64>, many: bool) {
    const EACH: u64 = 5000;
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (sender, receiver, seen) = (sender.clone(), receiver.clone(), &seen);
            scope.spawn(move || {
                let values = (0..EACH).map(|n| thread << 32 | n);
                match many {
                    true => sender.send_all(values).unwrap(),
                    false => values.for_each(|value| sender.send(value).unwrap()),
                }
            });
            scope.spawn(move || {
                let mut mine = Vec::new();
                match many {
                    true => while receiver.recv_many(&mut mine, 37).is_ok() {},
                    false => mine.extend(&receiver),
                }
                for sender in 0..4 {
                    let of_sender = mine.iter().filter(|value| **value >> 32 == sender);
                    assert!(of_sender.is_sorted());
                }
                seen.lock().unwrap().extend(mine);
            });
        }
        drop((sender, receiver));
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert!(
        seen.into_iter()
            .eq((0..4).flat_map(|thread| (0..EACH).map(move |n| thread << 32 | n)))
    );
}

#[test]
fn nothing_is_lost_or_doubled() {
    for many in [false, true] {
        for places in [1, 2, 3, 64] {
            let (sender, receiver) = bounded(places);
            deliver(sender, receiver, many);
        }
        let (sender, receiver) = unbounded();
        deliver(sender, receiver, many);
    }
}

#[test]
fn a_channel_is_full_empty_and_closed_when_it_is() {
    let (sender, receiver) = bounded(3);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(
        receiver.recv_timeout(Duration::from_millis(1)),
        Err(RecvTimeoutError::Timeout)
    );
    (0..3).for_each(|n| sender.try_send(n).unwrap());
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(
        sender.send_timeout(3, Duration::from_millis(1)),
        Err(TrySendError::Full(3))
    );
    assert_eq!((sender.len(), sender.capacity()), (3, Some(3)));
    drop(sender);
    assert!(receiver.try_iter().eq(0..3));
    assert_eq!(receiver.recv(), Err(RecvError));
    let (sender, receiver) = bounded(3);
    drop(receiver);
    assert_eq!(sender.send(1), Err(SendError(1)));
    assert_eq!(sender.send_all([1, 2]), Err(SendError([1, 2].to_vec())));
}

#[test]
fn values_that_nobody_took_are_dropped_once() {
    static LIVE: AtomicU32 = AtomicU32::new(0);
    struct Counted;
    impl Counted {
        fn new() -> Counted {
            LIVE.fetch_add(1, SeqCst);
            Counted
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, SeqCst);
        }
    }
    let ends = [bounded(8), unbounded()];
    for (i, (sender, receiver)) in ends.into_iter().enumerate() {
        (0..5).for_each(|_| sender.send(Counted::new()).ok().unwrap());
        drop(receiver.recv());
        match i {
            0 => drop((sender, receiver)),
            _ => drop((receiver, sender)),
        }
        assert_eq!(LIVE.load(SeqCst), 0);
    }
    let (sender, receiver) = oneshot();
    sender.send(Counted::new()).ok().unwrap();
    drop(receiver);
    assert_eq!(LIVE.load(SeqCst), 0);
}

#[test]
fn histories_are_linearizable() {
    for round in 0..400u32 {
        let places = 1 + (round % 3) as usize;
        let (sender, receiver) = bounded(places);
        let (clock, history) = (std::sync::atomic::AtomicU64::new(0), Mutex::new(Vec::new()));
        let tick = || clock.fetch_add(1, SeqCst);
        std::thread::scope(|scope| {
            for thread in 0..3u32 {
                let (sender, receiver, history) = (&sender, &receiver, &history);
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for step in 0..5 {
                        let begin = tick();
                        let did = match (thread + step + round) % 2 {
                            0 => Did::send(sender, thread * 10 + step),
                            _ => Did::receive(receiver),
                        };
                        mine.push((begin, tick(), did));
                    }
                    history.lock().unwrap().extend(mine);
                });
            }
        });
        let history = history.into_inner().unwrap();
        assert!(is_linearizable(&history, places), "round {round}: {history:?}");
    }
}

/// Futures that send 0, 1 and so on, each one value, and one that receives them all and returns their sum.
pub(crate) fn sends_and_sum(places: usize, count: u32) -> (Vec<JoinHandle<()>>, JoinHandle<u32>) {
    let (sender, receiver) = bounded(places);
    let send = |n| {
        let sender = sender.clone();
        spawn(async move { sender.send_async(n).await.unwrap() })
    };
    let sends = (0..count).map(send).collect();
    let sum = spawn(async move {
        let mut sum = 0;
        while let Ok(value) = receiver.recv_async().await {
            sum += value;
        }
        sum
    });
    (sends, sum)
}

#[test]
fn futures_send_and_receive() {
    task::run(|| {
        let (sends, sum) = sends_and_sum(2, 50);
        assert_eq!(sum.join().unwrap(), 49 * 25);
        sends.into_iter().for_each(|send| send.join().unwrap());
        let (once, value) = oneshot();
        let waits = spawn(value);
        once.send("x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok("x"));
    });
}

#[test]
fn urgent_values_come_first_and_all_come() {
    let (sender, receiver) = priority(3, 4);
    for (lane, value) in [(2, 5), (1, 3), (0, 1), (9, 6), (1, 4), (0, 2)] {
        sender.send(lane, value).unwrap();
    }
    assert_eq!(receiver.try_recv(), Ok(1));
    let waits = receiver.clone();
    let rest = std::thread::spawn(move || std::iter::from_fn(|| waits.recv().ok()).collect::<Vec<_>>());
    std::thread::sleep(Duration::from_millis(2));
    drop(sender);
    assert_eq!(rest.join().unwrap(), [2, 3, 4, 5, 6]);
}

#[test]
fn everyone_hears_a_broadcast_and_sees_what_is_watched() {
    let (sender, mut first) = broadcast(100);
    let hears = |mut receiver: BroadcastReceiver<u32>| {
        std::thread::spawn(move || std::iter::from_fn(|| receiver.recv().ok()).sum::<u32>())
    };
    let others: Vec<_> = (0..3).map(|_| hears(sender.subscribe())).collect();
    (0..50).for_each(|n| assert_eq!(sender.send(n).unwrap(), 4));
    drop(sender);
    others
        .into_iter()
        .for_each(|other| assert_eq!(other.join().unwrap(), 49 * 25));
    assert_eq!(first.try_recv(), Ok(Some(0)));

    let (sender, mut watched) = watch(0);
    let looks = std::thread::spawn(move || {
        let mut last = 0;
        while watched.changed().is_ok() {
            let now = *watched.borrow_and_update();
            assert!(now > last || now == 100);
            last = now;
        }
        last
    });
    (1..=100).for_each(|n| sender.send(n).unwrap());
    drop(sender);
    assert_eq!(looks.join().unwrap(), 100);
    let (sender, receiver) = watch(0);
    drop(receiver);
    assert!(sender.send(1).is_err());
    let mut later = sender.subscribe();
    assert!(!later.has_changed());
    sender.send_modify(|value| *value += 5);
    block_on(later.changed_async()).unwrap();
    assert_eq!(*later.borrow(), 5);
}
