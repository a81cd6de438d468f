//! Histories of a channel, and whether a queue can have them.

use std::collections::VecDeque;
use std::vec::Vec;

use super::{Receiver, Sender};

/// What a thread did: when it began and ended, and a push of a value, a pop that returned one, or a pop that found none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Did {
    Push(u32),
    Full,
    Pop(u32),
    Empty,
}

impl Did {
    /// Sends this value if there is room.
    pub fn send(sender: &Sender<u32>, value: u32) -> Did {
        sender.try_send(value).map_or(Did::Full, |()| Did::Push(value))
    }

    /// Receives a value if there is one.
    pub fn receive(receiver: &Receiver<u32>) -> Did {
        receiver.try_recv().map_or(Did::Empty, Did::Pop)
    }
}

/// Whether there is an order of the operations in which each lies between its begin and its end, and in which a queue of
/// so many places has these results. After G. Lowe, "Testing for linearizability" (2016), and Porcupine: a search that goes
/// back.
pub(crate) fn is_linearizable(history: &[(u64, u64, Did)], places: usize) -> bool {
    fn search(
        history: &[(u64, u64, Did)],
        done: u64,
        queue: &mut VecDeque<u32>,
        places: usize,
        seen: &mut Seen,
    ) -> bool {
        if done.count_ones() as usize == history.len() {
            return true;
        }
        if !seen.insert((done, queue.clone())) {
            return false;
        }
        let open = |i: &usize| done >> i & 1 == 0;
        let first_end = (0..history.len()).filter(open).map(|i| history[i].1).min().unwrap();
        for i in (0..history.len()).filter(open).collect::<Vec<_>>() {
            let (begin, _, did) = history[i];
            // One that began after another has ended comes after it.
            if begin > first_end {
                continue;
            }
            let (fits, undo): (bool, fn(&mut VecDeque<u32>, u32)) = match did {
                Did::Push(value) if queue.len() < places => {
                    queue.push_back(value);
                    (true, |queue, _| _ = queue.pop_back())
                }
                Did::Pop(value) if queue.front() == Some(&value) => {
                    queue.pop_front();
                    (true, |queue, value| queue.push_front(value))
                }
                Did::Full => (queue.len() >= places, |_, _| ()),
                Did::Empty => (queue.is_empty(), |_, _| ()),
                _ => (false, |_, _| ()),
            };
            if !fits {
                continue;
            }
            if search(history, done | 1 << i, queue, places, seen) {
                return true;
            }
            let value = if let Did::Push(value) | Did::Pop(value) = did {
                value
            } else {
                0
            };
            undo(queue, value);
        }
        false
    }
    type Seen = std::collections::HashSet<(u64, VecDeque<u32>)>;
    search(history, 0, &mut VecDeque::new(), places, &mut Seen::new())
}

#[test]
fn the_checker_sees_what_is_wrong() {
    use Did::{Empty, Pop, Push};
    assert!(is_linearizable(&[(0, 3, Push(1)), (1, 2, Pop(1))], 1));
    assert!(!is_linearizable(&[(0, 1, Push(1)), (2, 3, Push(2)), (4, 5, Pop(2))], 2));
    assert!(!is_linearizable(&[(0, 1, Push(1)), (2, 3, Empty)], 2));
    assert!(!is_linearizable(&[(0, 1, Push(1)), (2, 3, Pop(1)), (4, 5, Pop(1))], 2));
}
