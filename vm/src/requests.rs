//! Answers requests of guests while a run is under way: the host's side of `kernel/rpc/requests.h`.
//!
//! Some threads look at the mailboxes ([`mail`]), as many as there is work for ([`bell`]). The thread that sees a
//! message takes it, answers it, and publishes the answer. A call that may wait gets a thread of its own, so that
//! others go on. The end of the run does not wait for these threads. They touch pinned memory only with their own lock
//! on [`Worker::alive`], which the end takes away. So a thread that is blocked by an input finds nothing to do when it
//! comes back.
//!
//! Nor does the next run wait for them. It must see nothing of such a call. So whatever a call changes in services that
//! outlives the run is changed with that lock too ([`CallingRun`]): before the end, or not at all. The call has the
//! lock for the change alone, and not while it waits for something.
//!
//! What a small call takes of the host is little more than its service. Words that several threads write cost each of
//! them a tenth of a microsecond. A small call needs none of these, but where threads help each other out.
//!
//! In: messages in the mailboxes. Out: answers there. In the order in which to read them:
//!
//! - `mailbox`: the words of messages and answers;
//! - `call`: a call with its input, and an answer's data on its way;
//! - this file: the threads, from a message to its answer;
//! - `doorbell`: how threads rest and are woken.

mod call;
mod doorbell;
mod mailbox;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LockResult, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use gpu_run_bytecode::wasi::Function;

use self::call::{Asked, Outgoing};
pub(crate) use self::doorbell::Doorbell;
pub(crate) use self::mailbox::Mailboxes;
use self::mailbox::{Call, MOST_RESULTS, Message, Short};
use crate::layout::{
    NOTE_CHANGES, NOTE_FREE, NOTE_KEEP, NOTE_NONE, NOTE_POSITION, NOTE_TMPFS, REQUEST_BYTES, REQUEST_CALL,
    REQUEST_MORE, REQUEST_NEXT, REQUEST_RESULTS, REQUEST_SLOTS,
};
use crate::services::{CacheHint, CallingRun, HostCall, HostReply, Responder, Services};

/// Errnos that are the queue's own.
const EIO: u16 = 29;
const ENOSYS: u16 = 52;

/// Messages that a thread takes at once: the others are for others.
const MOST_AT_ONCE: usize = 8;
/// Slots of which one thread at a time takes messages.
const GROUP: usize = 8;
/// For how long a thread that finds nothing looks before it rests. A lane that makes one request after the other
/// comes back sooner.
const PATIENCE: Duration = Duration::from_millis(1);
/// How long the first of the threads that rest does so at most where no lane rings, the second twice as long, and so
/// on. Meanwhile all others may have begun calls that take long.
const WATCH: Duration = Duration::from_millis(5);
/// The same where lanes ring; the run's end rings too, so it is for nothing else.
const SLEEP: Duration = Duration::from_millis(200);
/// For how long a thread leaves a message to others that look too. So one that is not needed finds nothing, and rests;
/// several that share what one could do keep taking each other's cache lines.
const COURTESY: Duration = Duration::from_nanos(400);

fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Leaves messages to others for that long.
fn spin_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Slots that are taken from by one thread at a time.
#[repr(align(128))]
struct Group {
    /// The number of the last message that was taken from each; written under the lock.
    last: [AtomicU32; GROUP],
    lock: Mutex<()>,
}

/// What services answer to a call. A defect in them is an error of the call, and not the end of a thread that others
/// need.
pub(crate) fn call(services: &dyn Services, request: &HostCall<'_>) -> HostReply {
    catch_unwind(AssertUnwindSafe(|| services.call(request))).unwrap_or_else(|_| HostReply::error(EIO))
}

/// What is known of a slot's request between two messages.
#[derive(Default)]
struct Slot {
    /// A call whose input is not complete.
    call: Option<(Call, Vec<u8>)>,
    answer: Outgoing,
}

/// What a thread that answers has for itself, on cache lines of its own. The last one is shared by all threads that
/// answer a single call.
#[repr(align(128))]
struct Worker {
    /// While it is true and held for reading, the run does not end, and the pinned memory is there and of this run.
    alive: Arc<RwLock<bool>>,
    /// Calls and messages so far.
    calls: AtomicU64,
    messages: AtomicU64,
}

impl Worker {
    /// Runs `work` while the run is under way; `None` if it has ended.
    fn while_alive<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        self.run().unless_ended(work)
    }

    /// The run, for calls that this thread answers.
    fn run(&self) -> CallingRun<'_> {
        CallingRun::new(&self.alive)
    }
}

struct Shared {
    services: Arc<dyn Services>,
    mailboxes: Mailboxes,
    /// How many slots the run uses, from the first on.
    slots_in_use: usize,
    groups: Vec<Group>,
    slots: Vec<Mutex<Slot>>,
    workers: Vec<Worker>,
    bell: Arc<Doorbell>,
    /// Whether lanes ring the bell.
    rings: bool,
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
pub(crate) struct RequestWorkers(Arc<Shared>);

/// Counts what the requests of a run ask.
pub(crate) struct RequestCounter(Arc<Shared>);

impl RequestCounter {
    /// What was asked so far. Relaxed: numbers to be shown, which order nothing.
    pub(crate) fn counts(&self) -> RequestCounts {
        let sum = |count: fn(&Worker) -> &AtomicU64| {
            let counts = self
                .0
                .workers
                .iter()
                .map(|worker| count(worker).load(Ordering::Relaxed));
            counts.sum()
        };
        RequestCounts {
            calls: sum(|worker| &worker.calls),
            messages: sum(|worker| &worker.messages),
        }
    }
}

impl RequestWorkers {
    /// Begins to answer requests of that many threads. The mailboxes are 0 before the first message. With `rings`,
    /// lanes ring the bell after each.
    pub(crate) fn start(
        services: Arc<dyn Services>,
        mailboxes: Mailboxes,
        threads: u32,
        bell: Arc<Doorbell>,
        rings: bool,
    ) -> RequestWorkers {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        // Lanes on the CPU need processors too.
        let workers = if rings {
            (processors / 4).clamp(2, 4)
        } else {
            (processors / 2).clamp(2, 8)
        };
        let slots_in_use = (threads as usize).min(REQUEST_SLOTS);
        let shared = Arc::new(Shared {
            services,
            mailboxes,
            slots_in_use,
            groups: (0..slots_in_use.div_ceil(GROUP))
                .map(|_| Group {
                    last: [const { AtomicU32::new(0) }; GROUP],
                    lock: Mutex::default(),
                })
                .collect(),
            slots: (0..slots_in_use).map(|_| Mutex::default()).collect(),
            workers: (0..workers + 1)
                .map(|_| Worker {
                    alive: Arc::new(RwLock::new(true)),
                    calls: AtomicU64::new(0),
                    messages: AtomicU64::new(0),
                })
                .collect(),
            bell,
            rings,
        });
        for number in 0..workers {
            let shared = shared.clone();
            // One is enough; without any, the guest waits until the run is stopped.
            _ = std::thread::Builder::new()
                .name(format!("requests {number}"))
                .spawn(move || shared.work(number));
        }
        RequestWorkers(shared)
    }

    /// What counts them, also from elsewhere.
    pub(crate) fn counter(&self) -> RequestCounter {
        RequestCounter(self.0.clone())
    }

    /// What was asked so far.
    pub(crate) fn counts(&self) -> RequestCounts {
        self.counter().counts()
    }
}

impl Drop for RequestWorkers {
    /// The run has ended: the pinned memory may be used for something else.
    fn drop(&mut self) {
        for worker in &self.0.workers {
            *unpoisoned(worker.alive.write()) = false;
        }
        self.0.bell.wake_all();
    }
}

impl Shared {
    /// Answers messages until the run ends.
    fn work(self: Arc<Shared>, number: usize) {
        let me = &self.workers[number];
        let (mut found, mut calls) = (Vec::with_capacity(MOST_AT_ONCE), Vec::with_capacity(MOST_AT_ONCE));
        // Threads begin at different groups, and each round where the last one ended, so that each slot has its turn.
        let mut next = number * self.slots_in_use / (self.workers.len() - 1);
        let (mut idle, mut since) = (0u32, None);
        let first = number == 0;
        self.bell.look();
        if !first && !self.rings {
            // One thread serves what few lanes ask for. Others beside it would only take cache lines from each other.
            self.sleep(me, number, false);
        }
        loop {
            // Held for all messages of a round, because taking it costs something. It is not held while the services
            // answer, for which the run's end would have to wait.
            let alive = unpoisoned(me.alive.read());
            if !*alive {
                // The bell may be that of the next run by now.
                if self.bell.look_away() {
                    self.bell.wake();
                }
                return;
            }
            if !first && idle > 0 && !self.bell.is_last() && self.has_messages() {
                spin_for(COURTESY);
            }
            self.collect(&mut next, &mut found);
            if found.is_empty() {
                drop(alive);
                idle += 1;
                self.rest(me, number, &mut idle, &mut since);
                continue;
            }
            (idle, since) = (0, None);
            if self.bell.look_away() && self.has_messages() {
                self.bell.wake();
            }
            calls.extend(found.drain(..).filter_map(|message| self.receive(me, message)));
            drop(alive);
            for call in calls.drain(..) {
                self.serve(me, call);
            }
            self.bell.look();
        }
    }

    /// What thread `number` does that has found nothing in `idle` rounds, the clock being looked at first at `since`.
    fn rest(&self, me: &Worker, number: usize, idle: &mut u32, since: &mut Option<Instant>) {
        if self.rings {
            // The next message of a lane comes soon after an answer.
            match *idle {
                ..100 => std::thread::yield_now(),
                _ => _ = self.bell.sleep(SLEEP, false, || self.has_work(me)),
            }
            return;
        }
        std::hint::spin_loop();
        if since.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return;
        }
        if number == 0 || self.bell.is_last() {
            // At least one thread must look.
            return std::thread::sleep(Duration::from_micros(50));
        }
        self.sleep(me, number, true);
        (*idle, *since) = (0, None);
    }

    /// Thread `number`, which looks, sleeps until it is woken, or all others are in calls that take long. With
    /// `watched` it does not if no other thread looks now.
    fn sleep(&self, me: &Worker, number: usize, mut watched: bool) {
        while !self.bell.sleep(WATCH * number as u32, watched, || self.has_work(me)) {
            // A message that is still there, after all had the time for it, is left alone.
            if self.has_work(me) {
                return;
            }
            // Others that answer now do so in no time, as there was nothing left for this one.
            watched = false;
        }
    }

    /// Whether there is something to do: a message, or to end.
    fn has_work(&self, me: &Worker) -> bool {
        me.while_alive(|| self.has_messages()).unwrap_or(true)
    }

    /// Whether there seems to be a new message in a slot.
    fn is_new(&self, slot: usize) -> bool {
        // Relaxed: the thread that takes the message looks again, under the lock.
        let last = self.groups[slot / GROUP].last[slot % GROUP].load(Ordering::Relaxed);
        self.mailboxes.number(slot) != last
    }

    /// Whether there is a message that no thread has taken. The run is alive.
    fn has_messages(&self) -> bool {
        (0..self.slots_in_use).any(|slot| self.is_new(slot))
    }

    /// Takes some messages, from slot `next` on, which it moves. The run is alive.
    fn collect(&self, next: &mut usize, found: &mut Vec<Message>) {
        let (mut slot, mut left) = (*next, self.slots_in_use);
        while left > 0 && found.len() < MOST_AT_ONCE {
            let group = &self.groups[slot / GROUP];
            let end = (slot / GROUP * GROUP + GROUP).min(self.slots_in_use).min(slot + left);
            left -= end - slot;
            let first = (slot..end).find(|slot| self.is_new(*slot));
            slot = end % self.slots_in_use;
            // The thread that has the lock takes what is there.
            let (Some(first), Ok(_lock)) = (first, group.lock.try_lock()) else {
                continue;
            };
            for at in first..end {
                let last = &group.last[at % GROUP];
                // Relaxed: ordered by the lock.
                if let Some(message) = self.mailboxes.take(at, last.load(Ordering::Relaxed)) {
                    last.store(message.number, Ordering::Relaxed);
                    found.push(message);
                    if found.len() == MOST_AT_ONCE {
                        slot = (at + 1) % self.slots_in_use;
                        break;
                    }
                }
            }
        }
        *next = slot;
    }

    /// Takes in what a message has in its slot. Returns the call if it is complete now; else the message is answered.
    /// The run is alive.
    fn receive(&self, me: &Worker, message: Message) -> Option<Asked> {
        // Relaxed: only this thread writes it.
        me.messages
            .store(me.messages.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let Message { slot, number, .. } = message;
        let answer = |answer| self.mailboxes.answer(slot, number, answer);
        if message.kind == REQUEST_CALL && !message.data {
            return Some(Asked::new(slot, number, message.call, Vec::new()));
        }
        let mut state = unpoisoned(self.slots[slot].lock());
        // SAFETY: the slot is the host's until it is answered, and this thread's, which has taken the message.
        let content = unsafe { &mut *self.mailboxes.slot(slot) };
        let piece = &content.data[..(content.len as usize).min(REQUEST_BYTES)];
        match message.kind {
            REQUEST_CALL => state.call = Some((message.call, piece.to_vec())),
            REQUEST_MORE => {
                if let Some((_, input)) = &mut state.call {
                    input.extend_from_slice(piece);
                }
            }
            REQUEST_NEXT => {
                state.answer.put(content);
                answer(Short::InSlot(0));
                return None;
            }
            _ => {}
        }
        match state.call.take() {
            Some((call, input)) if input.len() < call.total => {
                state.call = Some((call, input));
                answer(Short::Errno(0));
                None
            }
            Some((call, input)) => Some(Asked::new(slot, number, call, input)),
            None => {
                answer(Short::Errno(ENOSYS));
                None
            }
        }
    }

    /// Has a call answered: now, or by a thread of its own.
    fn serve(self: &Arc<Shared>, me: &Worker, asked: Asked) {
        if let Some(function) = asked.call.function().filter(|function| function.is_host_call()) {
            return self.answer_later(function, asked);
        }
        // Services that panic here get the call in a thread of its own, where that is caught.
        let waits = asked.call.function().is_some_and(|function| {
            let request = asked.request(function, me.run());
            catch_unwind(AssertUnwindSafe(|| self.services.may_wait(&request))).unwrap_or(true)
        });
        if !waits {
            return self.answer(me, &asked);
        }
        let asked = Arc::new(asked);
        let (shared, own) = (self.clone(), asked.clone());
        let spawned = std::thread::Builder::new()
            .name("request".into())
            .spawn(move || shared.answer(&shared.workers[shared.workers.len() - 1], &own));
        if spawned.is_err() {
            self.answer(me, &asked);
        }
    }

    /// Has the services answer a call, however long that takes, and publishes what they say if the run is still
    /// under way.
    fn answer(&self, me: &Worker, asked: &Asked) {
        me.calls.fetch_add(1, Ordering::Relaxed);
        let Some(function) = asked.call.function() else {
            me.while_alive(|| self.put(asked, HostReply::error(ENOSYS)));
            return;
        };
        let reply = call(&*self.services, &asked.request(function, me.run()));
        me.while_alive(|| self.put(asked, reply));
    }

    /// Has the services respond to a part of a host function's call, from whatever thread.
    fn answer_later(self: &Arc<Shared>, function: Function, asked: Asked) {
        // The worker that threads for a single call share.
        let shared = self.clone();
        let me = shared.workers.len() - 1;
        if function == Function::HostCall {
            self.workers[me].calls.fetch_add(1, Ordering::Relaxed);
        }
        let asked = Arc::new(asked);
        let own = asked.clone();
        let responder = Responder(Some(Box::new(move |reply| {
            shared.workers[me].while_alive(|| shared.put(&own, reply));
        })));
        let request = asked.request(function, self.workers[me].run());
        // Dropped in a panic, the responder fails the call.
        _ = catch_unwind(AssertUnwindSafe(|| {
            self.services.call_host_function(&request, responder)
        }));
    }

    /// Publishes the answer to a call. The run is alive.
    fn put(&self, asked: &Asked, reply: HostReply) {
        let Asked { slot, number, call, .. } = asked;
        let answer = |answer| self.mailboxes.answer(*slot, *number, answer);
        if call.function().is_some_and(Function::is_host_call)
            && let Some(word) = reply.results.first_chunk()
        {
            return answer(Short::Word(reply.errno, u32::from_le_bytes(*word)));
        }
        // A file may be gone though the call failed.
        let told = matches!(reply.note, CacheHint::Gone(_));
        if reply.errno != 0 && !told {
            return answer(Short::Errno(reply.errno));
        }
        let bytes = call.function().map_or(0, Function::result_bytes) as usize;
        if reply.data.is_empty() && reply.note == CacheHint::None {
            if bytes == 0 {
                return answer(Short::Errno(0));
            }
            if bytes <= MOST_RESULTS && !call.results_in_slot {
                // As many as the guest will look at.
                let mut results = [0; MOST_RESULTS];
                let given = reply.results.len().min(bytes);
                results[..given].copy_from_slice(&reply.results[..given]);
                return answer(Short::Results(&results[..bytes]));
            }
        }
        // SAFETY: the slot is the host's until it is answered, and this thread's, which has taken the message.
        let content = unsafe { &mut *self.mailboxes.slot(*slot) };
        let (note, file) = match reply.note {
            CacheHint::None => (NOTE_NONE, 0),
            CacheHint::Position => (NOTE_POSITION, 0),
            CacheHint::Keep => (NOTE_KEEP, 0),
            CacheHint::Changes => (NOTE_CHANGES, 0),
            CacheHint::Memory(file) => (NOTE_TMPFS, file),
            CacheHint::Gone(file) => (NOTE_FREE, file),
        };
        content.note = note;
        (content.file, content.generation) = (file as u32, (file >> 32) as u32);
        content.results = [0; REQUEST_RESULTS];
        let results = &reply.results[..reply.results.len().min(REQUEST_RESULTS)];
        content.results[..results.len()].copy_from_slice(results);
        let mut data = reply.data;
        data.truncate(call.capacity);
        content.total = data.len() as u32;
        let mut rest = Outgoing { data, sent: 0 };
        rest.put(content);
        if rest.sent < rest.data.len() {
            unpoisoned(self.slots[*slot].lock()).answer = rest;
        }
        answer(Short::InSlot(reply.errno));
    }
}
