use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::vec::Vec;

use super::*;
use crate::sync::Arc;

/// One test at a time: each looks at what collections do.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A part that says whether its object is alive.
struct Alive {
    word: AtomicU32,
    count: &'static AtomicU32,
}

const ALIVE: u32 = 0xa11e;

impl Alive {
    fn new(count: &'static AtomicU32) -> Alive {
        count.fetch_add(1, SeqCst);
        Alive {
            word: AtomicU32::new(ALIVE),
            count,
        }
    }
    fn check(&self) {
        assert_eq!(self.word.load(SeqCst), ALIVE, "it was freed while somebody had it");
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.check();
        self.word.store(0, SeqCst);
        self.count.fetch_sub(1, SeqCst);
    }
}

// SAFETY: it has no pointers, and follows none when it is dropped.
unsafe impl Trace for Alive {
    fn trace(&self, _: &mut Tracer) {}
}

struct Node<'s> {
    alive: Alive,
    value: u32,
    first: Field<'s, Node<'s>>,
    second: Field<'s, Node<'s>>,
    /// Not changed after it was made.
    fixed: Option<Gc<'s, Node<'s>>>,
    /// Behind a pointer of their own.
    others: Vec<Field<'s, Node<'s>>>,
}
trace!(Node<'s> { alive, value, first, second, fixed, others });

fn node<'s>(session: &Session<'s>, count: &'static AtomicU32, value: u32) -> Gc<'s, Node<'s>> {
    session.alloc(Node {
        alive: Alive::new(count),
        value,
        first: Field::null(),
        second: Field::null(),
        fixed: None,
        others: (0..2).map(|_| Field::null()).collect(),
    })
}

/// Nothing is left of what a test has made.
fn all_go(count: &AtomicU32) {
    // What was marked too late for one collection goes in the next.
    (0..2).for_each(|_| collect());
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn cycles_go_when_nobody_has_them() {
    let _alone = alone();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let root: Root<Node<'static>> = enter(|session| {
        let ring: Vec<_> = (0..100).map(|n| node(session, &COUNT, n)).collect();
        for (at, one) in ring.iter().enumerate() {
            Gc::set(*one, session, |node| &node.first, Some(ring[(at + 1) % 100]));
            Gc::set(*one, session, |node| &node.second, Some(ring[(at + 50) % 100]));
        }
        Root::new(session, ring[0])
    });
    for _ in 0..3 {
        collect();
        let sum = enter(|session| {
            let (mut at, mut sum) = (root.get(session), 0);
            for _ in 0..100 {
                at.alive.check();
                sum += at.value;
                at = at.first.get().unwrap();
            }
            assert!(Gc::ptr_eq(at, root.get(session)));
            sum
        });
        assert_eq!((sum, COUNT.load(SeqCst)), (4950, 100));
    }
    let other = root.clone();
    drop(root);
    collect();
    assert_eq!(COUNT.load(SeqCst), 100);
    drop(other);
    all_go(&COUNT);
}

#[test]
fn a_collection_of_the_young_keeps_what_old_objects_point_to() {
    let _alone = alone();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static FILLED: AtomicU32 = AtomicU32::new(0);
    let root: Root<Node<'static>> = enter(|session| Root::new(session, node(session, &COUNT, 0)));
    let apart = enter(|session| Root::<Node<'static>>::new(session, node(session, &COUNT, 0)));
    // It is old from now on.
    collect();
    enter(|session| {
        let old = root.get(session);
        let inner = node(session, &COUNT, 1);
        Gc::set(inner, session, |node| &node.first, Some(node(session, &COUNT, 2)));
        Gc::set(old, session, |node| &node.first, Some(inner));
        Gc::set(
            apart.get(session),
            session,
            |node| &node.others[1],
            Some(node(session, &COUNT, 3)),
        );
        let fixed = session.alloc(Node {
            alive: Alive::new(&COUNT),
            value: 4,
            first: Field::new(None),
            second: Field::new(Some(node(session, &COUNT, 5))),
            fixed: Some(node(session, &COUNT, 6)),
            others: Vec::new(),
        });
        Gc::set(old, session, |node| &node.second, Some(fixed));
    });
    let before = stats().young;
    // Garbage, which collections of the young free.
    for n in 0..400_000 {
        enter(|session| _ = node(session, &FILLED, n));
        if stats().young > before + 3 {
            break;
        }
    }
    assert!(stats().young > before + 3);
    enter(|session| {
        let old = root.get(session);
        let inner = old.first.get().unwrap();
        let fixed = old.second.get().unwrap();
        let others = [
            old,
            inner,
            inner.first.get().unwrap(),
            apart.get(session).others[1].get().unwrap(),
            fixed,
            fixed.second.get().unwrap(),
            fixed.fixed.unwrap(),
        ];
        others.iter().zip(0..).for_each(|(node, value)| {
            node.alive.check();
            assert_eq!(node.value, value);
        });
    });
    drop((root, apart));
    all_go(&COUNT);
    all_go(&FILLED);
}

/// Numbers that look random. Xorshift32 (G. Marsaglia, 2003).
struct Random(u32);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % most
    }
}

/// What a thread does in a session: it takes objects out of a graph that all threads have, so that nothing else may have
/// them, lets time pass, and puts them back, by themselves or in new objects.
fn change<'s>(
    session: &Session<'s>,
    random: &mut Random,
    from: Gc<'s, Node<'s>>,
    to: Gc<'s, Node<'s>>,
) -> [Gc<'s, Node<'s>>; 2] {
    static COUNT: &AtomicU32 = &IN_GRAPH;
    let wait = |random: &mut Random| (0..random.below(3)).for_each(|_| std::thread::yield_now());
    let field = |which: usize| {
        move |node: &'s Node<'s>| match which {
            0 => &node.first,
            1 => &node.second,
            which => node.others.get(which - 2).unwrap_or(&node.second),
        }
    };
    let (out, back) = (field(random.below(4)), field(random.below(4)));
    from.alive.check();
    wait(random);
    let taken = out(Gc::get(from)).get().unwrap_or_else(|| node(session, COUNT, 0));
    taken.alive.check();
    Gc::set(from, session, out, None);
    wait(random);
    taken.alive.check();
    // What it points to is still there, however long it is.
    let mut at = taken;
    for _ in 0..random.below(6) {
        at = at
            .fixed
            .or_else(|| at.first.get())
            .or_else(|| at.second.get())
            .unwrap_or(taken);
        at.alive.check();
    }
    let new = match random.below(3) {
        0 => taken,
        1 => session.alloc(Node {
            alive: Alive::new(COUNT),
            value: 0,
            first: Field::new(Some(at)),
            second: Field::null(),
            fixed: (random.below(2) == 0).then_some(taken),
            others: vec_of(random.below(3), at),
        }),
        _ => {
            let new = node(session, COUNT, 0);
            wait(random);
            Gc::set(new, session, field(random.below(4)), Some(taken));
            new
        }
    };
    wait(random);
    Gc::set(to, session, back, Some(new));
    wait(random);
    [from, to, taken, at, new].iter().for_each(|node| node.alive.check());
    [taken, new]
}

static IN_GRAPH: AtomicU32 = AtomicU32::new(0);

/// Threads change one graph at random, read what they find, and keep some of it, while collections go on.
#[test]
fn nothing_that_somebody_has_goes() {
    let _alone = alone();
    let rounds = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    let table: Vec<Root<Node<'static>>> = enter(|session| {
        (0..8)
            .map(|n| Root::new(session, node(session, &IN_GRAPH, n)))
            .collect()
    });
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mutators: Vec<_> = (1..=4)
            .map(|seed| {
                let table = &table;
                scope.spawn(move || {
                    let mut random = Random(seed * 0x9e37_79b9);
                    let mut kept = table.clone();
                    for round in 0..rounds {
                        let (from, to) = (random.below(kept.len()), random.below(kept.len()));
                        let new = enter(|session| {
                            let (from, to) = (kept[from].get(session), kept[to].get(session));
                            // Roots go while objects are in hand that were found by them.
                            if round % 4 == 0 && kept.len() > 4 {
                                kept.swap_remove(random.below(kept.len()));
                            }
                            let found = change(session, &mut random, from, to);
                            (round % 4 == 0).then(|| Root::new(session, found[round / 4 % 2]))
                        });
                        kept.extend(new);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(SeqCst) {
                collect();
            }
        });
        mutators.into_iter().for_each(|mutator| mutator.join().unwrap());
        over.store(true, SeqCst);
    });
    drop(table);
    all_go(&IN_GRAPH);
}

fn vec_of<'s>(count: usize, value: Gc<'s, Node<'s>>) -> Vec<Field<'s, Node<'s>>> {
    (0..count).map(|_| Field::new(Some(value))).collect()
}

#[test]
fn objects_may_have_others_dropped() {
    let _alone = alone();
    struct Leaf {
        of: Arc<AtomicU32>,
    }
    trace!(Leaf { of });
    let counted = Arc::new(AtomicU32::new(0));
    enter(|session| {
        let leaf = session.alloc(Leaf { of: counted.clone() });
        leaf.of.fetch_add(1, SeqCst);
    });
    collect();
    assert_eq!((Arc::strong_count(&counted), counted.load(SeqCst)), (1, 1));
}

#[test]
#[should_panic(expected = "cannot be called in one")]
fn a_session_cannot_wait_for_its_own_end() {
    let _alone = alone();
    enter(|_| collect());
}
