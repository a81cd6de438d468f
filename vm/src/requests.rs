//! Answers requests of guests while a run is under way: the host's side of `kernel/requests.h`.
//!
//! Some threads look at the mailboxes. Who sees a message claims it, answers it, and publishes the answer. A
//! call that may wait gets a thread of its own, so that others go on. Nobody waits for these threads when the
//! run ends: the slots are touched only under [`Shared::alive`], which the end takes away, so a thread that
//! is blocked by an input finds nothing to do when it comes back.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use gpu_run_bytecode::wasi::{Function, SUBSCRIPTION};

use crate::device::Pinned;
use crate::layout::RequestSlot;
use crate::layout::{
    MAIL_WHOLE, NOTE_CHANGES, NOTE_FREE, NOTE_KEEP, NOTE_NONE, NOTE_POSITION, NOTE_TMPFS, REQUEST_BYTES, REQUEST_CALL,
    REQUEST_MORE, REQUEST_NEXT, REQUEST_RESULTS, REQUEST_SLOTS,
};
use crate::services::{FileNote, Reply, Request, Services};
use crate::tsan;

/// Errnos that are the queue's own.
const EIO: u16 = 29;
const ENOSYS: u16 = 52;

/// Messages that a thread claims at once: the others are for others.
const MOST_CLAIMS: usize = 8;

/// The pinned memory of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mailboxes {
    /// The device's, a word a slot.
    pub(crate) sent: Pinned,
    /// The host's.
    pub(crate) answered: Pinned,
    /// [`RequestSlot`]s.
    pub(crate) slots: Pinned,
}

// SAFETY: pinned memory belongs to the process; `Shared::alive` says how long it may be used.
unsafe impl Send for Mailboxes {}
// SAFETY: as above; mailboxes are atomics, and a slot is its owner's alone.
unsafe impl Sync for Mailboxes {}

/// Wakes the threads that answer, where lanes can call the host: on the CPU, whose few cores nobody should
/// spend on looking.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: AtomicU64,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// What lanes call after a message, with the bell's address.
    pub(crate) extern "C" fn ring(context: u64) {
        // SAFETY: the record of requests has the address of a bell that lives as long as the lanes.
        unsafe { &*(context as *const Bell) }.wake();
    }

    fn wake(&self) {
        // Sequentially consistent, as in `wait`: either this sees the sleeper, or that one the ring.
        self.rings.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(unpoisoned(self.lock.lock()));
            self.rung.notify_one();
        }
    }

    /// Waits for a ring after the `seen`th.
    fn wait(&self, seen: u64) {
        let guard = unpoisoned(self.lock.lock());
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        if self.rings.load(Ordering::SeqCst) == seen {
            // The run's end rings too; the limit is for nothing else.
            drop(unpoisoned(self.rung.wait_timeout(guard, Duration::from_millis(200))));
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

fn unpoisoned<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// What is known of a slot's request between two messages.
#[derive(Default)]
struct Slot {
    call: Option<Call>,
    answer: Outgoing,
}

/// A call as it came.
struct Call {
    number: u32,
    thread: u32,
    args: Vec<u64>,
    capacity: usize,
    /// Bytes of its input in all messages.
    total: usize,
    input: Vec<u8>,
    /// Of `poll_oneoff`: the device's clocks, realtime and monotonic.
    now: [u64; 2],
}

struct Shared {
    services: Arc<dyn Services>,
    mailboxes: Mailboxes,
    /// While it is true and held for reading, the pinned memory is there, and of this run.
    alive: RwLock<bool>,
    /// For each slot, the number of the last message that somebody has claimed.
    claimed: Vec<AtomicU32>,
    slots: Vec<Mutex<Slot>>,
    /// Where lanes ring; without one, mailboxes are polled.
    bell: Option<Arc<Bell>>,
    /// Calls and messages so far.
    calls: AtomicU64,
    messages: AtomicU64,
}

/// How often a run asked the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Calls of functions that the host served.
    pub calls: u64,
    /// Messages that these took: one for each 4 KiB of a call's input, and then of its answer's data.
    pub messages: u64,
}

/// The threads that answer the requests of a run. They end with it.
pub(crate) struct Service(Arc<Shared>);

impl Service {
    /// Begins to answer requests. The mailboxes are 0 before the first message.
    pub(crate) fn start(services: Arc<dyn Services>, mailboxes: Mailboxes, bell: Option<Arc<Bell>>) -> Service {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let threads = (processors / 4).clamp(if bell.is_some() { 2 } else { 1 }, 4);
        let shared = Arc::new(Shared {
            services,
            mailboxes,
            alive: RwLock::new(true),
            claimed: (0..REQUEST_SLOTS).map(|_| AtomicU32::new(0)).collect(),
            slots: (0..REQUEST_SLOTS).map(|_| Mutex::default()).collect(),
            bell,
            calls: AtomicU64::new(0),
            messages: AtomicU64::new(0),
        });
        for number in 0..threads {
            let shared = shared.clone();
            let own = number * REQUEST_SLOTS / threads..(number + 1) * REQUEST_SLOTS / threads;
            let work = move || shared.look(own);
            // One is enough; without any, the guest waits until the run is stopped.
            _ = std::thread::Builder::new()
                .name(format!("requests {number}"))
                .spawn(work);
        }
        Service(shared)
    }

    /// What was asked so far. Relaxed: numbers to be shown, which order nothing.
    pub(crate) fn counts(&self) -> RequestCounts {
        RequestCounts {
            calls: self.0.calls.load(Ordering::Relaxed),
            messages: self.0.messages.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Service {
    /// The run has ended: the pinned memory may be used for something else.
    fn drop(&mut self) {
        *unpoisoned(self.0.alive.write()) = false;
        if let Some(bell) = &self.0.bell {
            bell.rings.fetch_add(1, Ordering::SeqCst);
            drop(unpoisoned(bell.lock.lock()));
            bell.rung.notify_all();
        }
    }
}

impl Shared {
    /// Runs `work` while the run is under way; `None` if it has ended.
    fn while_alive<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let alive = unpoisoned(self.alive.read());
        alive.then(work)
    }

    /// Answers messages until the run ends: first those in `own` slots, and those of others where there are none.
    fn look(self: Arc<Shared>, own: Range<usize>) {
        let (mut idle, mut found, mut calls) = (0u32, Vec::new(), Vec::new());
        let (mut next, mut first) = (own.start, 0);
        for round in 0u32.. {
            let seen = self.bell.as_ref().map_or(0, |bell| bell.rings.load(Ordering::SeqCst));
            // Held for all messages of a round, because taking it costs as much as a small one; but not while the
            // services answer, for which the run's end would have to wait.
            let alive = unpoisoned(self.alive.read());
            if !*alive {
                return;
            }
            // A round begins behind the last one's, so that each slot has its turn.
            let mine = (next..own.end).chain(own.start..next).filter(|slot| self.claim(*slot));
            found.extend(mine.take(MOST_CLAIMS));
            next = found.last().map_or(next, |last| last + 1);
            // Now and then also where there are some: another's thread may be in a long call.
            if found.is_empty() || round % 16 == 0 {
                let others = (first..REQUEST_SLOTS).chain(0..first).filter(|slot| self.claim(*slot));
                found.extend(others.take(MOST_CLAIMS));
                first = found.last().map_or(first, |last| (last + 1) % REQUEST_SLOTS);
            }
            idle = if found.is_empty() { idle.saturating_add(1) } else { 0 };
            calls.extend(found.drain(..).filter_map(|slot| Some((slot, self.receive(slot)?))));
            drop(alive);
            for (slot, call) in calls.drain(..) {
                self.serve(slot, call);
            }
            match (&self.bell, idle) {
                (_, 0) => {}
                // The next message of a lane comes soon after an answer.
                (Some(_), 1..100) => std::thread::yield_now(),
                (Some(bell), _) => bell.wait(seen),
                // About a millisecond of looking before it sleeps.
                (None, 1..2000) => std::hint::spin_loop(),
                (None, 2000..3000) => std::thread::yield_now(),
                (None, _) => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// A mailbox of the device's.
    fn sent(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: inside of the mailboxes, which are there while the run is alive: callers hold the lock.
        unsafe { self.mailboxes.sent.word(4 * slot as u64) }
    }

    /// A mailbox of the host's.
    fn answered(&self, slot: usize) -> &AtomicU64 {
        // SAFETY: as above; it is aligned to its size.
        unsafe { AtomicU64::from_ptr(self.mailboxes.answered.host.add(8 * slot).cast()) }
    }

    /// Claims the message in a slot, if there is a new one. Acquire: pairs with the release in `send` of
    /// `kernel/requests.h`, so that the slot is as the device left it.
    fn claim(&self, slot: usize) -> bool {
        let claimed = &self.claimed[slot];
        // Before the mailbox, and acquire: pairs with the release of another's claim below, so that a message
        // that was claimed is never seen as older. Else this thread could claim it again after the next one.
        let before = claimed.load(Ordering::Acquire);
        let sent = self.sent(slot).load(Ordering::Acquire);
        let claim = || claimed.compare_exchange(before, sent, Ordering::Release, Ordering::Relaxed);
        if sent == before || claim().is_err() {
            return false;
        }
        // SAFETY: an address inside, which is not accessed.
        tsan::acquired(unsafe { self.mailboxes.sent.host.add(4 * slot) });
        true
    }

    /// Has a call answered: now, or by a thread of its own.
    fn serve(self: &Arc<Shared>, slot: usize, call: Call) {
        let function = Function::from_number(call.number as u16);
        let waits = function.is_some_and(|function| self.services.may_wait(&call.request(function)));
        if !waits {
            return self.answer(slot, &call);
        }
        let call = Arc::new(call);
        let (shared, own) = (self.clone(), call.clone());
        let spawned = std::thread::Builder::new()
            .name("request".into())
            .spawn(move || shared.answer(slot, &own));
        if spawned.is_err() {
            self.answer(slot, &call);
        }
    }

    /// Has the services answer a call, however long that takes, and publishes what they say if the run is still
    /// under way.
    fn answer(&self, slot: usize, call: &Call) {
        let reply = self.reply(call);
        self.while_alive(|| self.put(slot, call, reply));
    }

    /// The slot's state. Only who has claimed the slot's message asks for it.
    fn state(&self, slot: usize) -> MutexGuard<'_, Slot> {
        unpoisoned(self.slots[slot].lock())
    }

    fn at(&self, slot: usize) -> *mut RequestSlot {
        // SAFETY: inside of the slots.
        unsafe { self.mailboxes.slots.host.cast::<RequestSlot>().add(slot) }
    }

    /// Takes a message. Gives the call if it is complete now; else the message is answered.
    fn receive(&self, slot: usize) -> Option<Call> {
        self.messages.fetch_add(1, Ordering::Relaxed);
        let at = self.at(slot);
        // SAFETY: the slot is the host's until it is published, and this thread's by the claim.
        let message = unsafe { &mut *at };
        let mut state = self.state(slot);
        let piece = &message.data[..(message.len as usize).min(REQUEST_BYTES)];
        match message.kind {
            REQUEST_CALL => {
                let function = Function::from_number(message.function as u16);
                let args = function.map_or(0, |function| function.param_types().len());
                let args = args.min(message.args.len() - 2);
                state.call = Some(Call {
                    number: message.function,
                    thread: message.thread,
                    args: message.args[..args].to_vec(),
                    capacity: message.capacity as usize,
                    total: message.total as usize,
                    input: piece.to_vec(),
                    now: [message.args[args], message.args[args + 1]],
                });
            }
            REQUEST_MORE => {
                if let Some(call) = &mut state.call {
                    call.input.extend_from_slice(piece);
                }
            }
            REQUEST_NEXT => {
                state.answer.put(message);
                self.publish(slot, 0);
                return None;
            }
            _ => {
                self.publish(slot, u32::from(ENOSYS) | MAIL_WHOLE);
                return None;
            }
        }
        match &state.call {
            Some(call) if call.input.len() < call.total => {
                self.publish(slot, 0);
                None
            }
            _ => state.call.take().map(Call::with_durations),
        }
    }

    /// What the services answer to a call.
    fn reply(&self, call: &Call) -> Reply {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let Some(function) = Function::from_number(call.number as u16) else {
            return Reply::error(ENOSYS);
        };
        let serve = || self.services.call(&call.request(function));
        // A defect in a service is an error of its call, and not the end of a thread that others need.
        catch_unwind(AssertUnwindSafe(serve)).unwrap_or_else(|_| Reply::error(EIO))
    }

    /// Publishes the answer to a call. The run is alive.
    fn put(&self, slot: usize, call: &Call, reply: Reply) {
        let errno = u32::from(reply.errno);
        let results = Function::from_number(call.number as u16).map_or(0, Function::result_bytes);
        let told = matches!(reply.note, FileNote::Gone(_));
        if !told && (errno != 0 || (results == 0 && reply.data.is_empty() && reply.note == FileNote::None)) {
            return self.publish(slot, errno | MAIL_WHOLE);
        }
        // SAFETY: the slot is the host's until it is published, and this thread's by the claim.
        let message = unsafe { &mut *self.at(slot) };
        let mut state = self.state(slot);
        let (note, file) = match reply.note {
            FileNote::None => (NOTE_NONE, 0),
            FileNote::Position => (NOTE_POSITION, 0),
            FileNote::Keep => (NOTE_KEEP, 0),
            FileNote::Changes => (NOTE_CHANGES, 0),
            FileNote::Memory(file) => (NOTE_TMPFS, file),
            FileNote::Gone(file) => (NOTE_FREE, file),
        };
        message.note = note;
        (message.file, message.generation) = (file as u32, (file >> 32) as u32);
        message.results = [0; REQUEST_RESULTS];
        let results = &reply.results[..reply.results.len().min(REQUEST_RESULTS)];
        message.results[..results.len()].copy_from_slice(results);
        let mut data = reply.data;
        data.truncate(call.capacity);
        message.total = data.len() as u32;
        state.answer = Outgoing { data, sent: 0 };
        state.answer.put(message);
        self.publish(slot, errno);
    }

    /// Gives a slot back to the device. `head` is the upper half of the mailbox. Release: pairs with the acquire in
    /// `answer_slot` of `kernel/requests.h`.
    fn publish(&self, slot: usize, head: u32) {
        let claimed = self.claimed[slot].load(Ordering::Relaxed);
        // SAFETY: an address inside, which is not accessed.
        tsan::released(unsafe { self.mailboxes.answered.host.add(8 * slot) });
        let word = u64::from(head) << 32 | u64::from(claimed);
        self.answered(slot).store(word, Ordering::Release);
    }
}

/// An answer's data, and how much of it was sent.
#[derive(Default)]
struct Outgoing {
    data: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    /// Puts the next piece into the slot.
    fn put(&mut self, message: &mut RequestSlot) {
        let rest = &self.data[self.sent..];
        let piece = &rest[..rest.len().min(REQUEST_BYTES)];
        message.data[..piece.len()].copy_from_slice(piece);
        message.len = piece.len() as u32;
        self.sent += piece.len();
    }
}

impl Call {
    /// Times of the device's clocks for which it polls become durations: the host's clocks are others.
    fn with_durations(mut self) -> Call {
        if self.number != Function::PollOneoff as u32 {
            return self;
        }
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
        };
        for subscription in self.input.chunks_exact_mut(SUBSCRIPTION as usize) {
            let clock = number(&subscription[16..20]) as usize;
            let is_time = subscription[8] == 0 && number(&subscription[40..42]) == 1;
            if let Some(now) = self.now.get(clock).filter(|_| is_time) {
                let timeout = number(&subscription[24..32]).saturating_sub(*now);
                subscription[24..32].copy_from_slice(&timeout.to_le_bytes());
                subscription[40..42].fill(0);
            }
        }
        self
    }

    fn request(&self, function: Function) -> Request<'_> {
        Request {
            function,
            thread: self.thread,
            args: &self.args,
            input: &self.input,
            capacity: self.capacity,
        }
    }
}
