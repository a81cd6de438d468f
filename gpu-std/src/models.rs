//! Models: what threads of this crate share, in small programs whose interleavings are chosen by chance.
//!
//! ```sh
//! RUSTFLAGS="--cfg shuttle" cargo test --release -p gpu-std --lib --target-dir target/models models
//! ```
//!
//! [Shuttle](https://docs.rs/shuttle) runs one thread at a time. At each access of a word (`platform/host.rs`) it chooses
//! which one goes on, and it finds it if all of them wait. Each program runs some thousand times. In half of the runs any
//! choice is as likely as the others. The other half is by PCT, which is better at what takes few, rare switches: see
//! S. Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs" (2010). Where one fails, the
//! message has a schedule for `shuttle::replay`.
//!
//! Accesses are sequentially consistent in a model, as they are natively on a host. What weaker orders allow is seen in
//! compiled code on a GPU only, where the tests of `tests/end_to_end/threads/tasks.rs` run.

mod channels;
mod memory;
mod sync;
mod tasks;

use std::vec::Vec;

/// Runs of a model by each of the two ways.
const RUNS: usize = 5000;
/// Switches that PCT makes besides those where a thread waits.
const DEPTH: usize = 3;

/// Checks a model; one at a time, for all share the statics of this crate.
fn check(model: impl Fn() + Copy + Send + Sync + 'static) {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|failed| failed.into_inner());
    shuttle::check_random(model, RUNS);
    shuttle::check_pct(model, RUNS, DEPTH);
}

/// Runs `f` on so many threads, with their numbers; what it returned.
fn on_threads<R: Send>(count: u32, f: impl Fn(u32) -> R + Sync) -> Vec<R> {
    shuttle::thread::scope(|scope| {
        let f = &f;
        let threads: Vec<_> = (0..count).map(|thread| scope.spawn(move || f(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A word that no lock protects: a thread between its two accesses lets others go on.
#[derive(Default)]
struct Plain(crate::word::Word32);

impl Plain {
    fn get(&self) -> u32 {
        self.0.get()
    }
    fn add(&self, value: u32) {
        self.0.set(self.0.get() + value);
    }
}

/// The checker itself: an addition in two steps loses some.
#[test]
#[should_panic = "one is lost"]
fn an_update_that_is_lost_is_found() {
    check(|| {
        let word = Plain::default();
        on_threads(2, |_| word.add(1));
        assert_eq!(word.get(), 2, "one is lost");
    });
}

/// The same for a thread that looks, and then waits for a wake-up that has been before.
#[test]
#[should_panic = "deadlock"]
fn a_wake_up_that_is_lost_is_found() {
    check(|| {
        let (ready, waits) = (crate::word::Word32::new(0), crate::word::Word32::new(0));
        on_threads(2, |thread| match thread {
            0 => {
                ready.set(1);
                waits.wake(1);
            }
            _ if ready.get() == 0 => waits.wait(0),
            _ => {}
        });
    });
}
