//! What the host does while a kernel runs.

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytemuck::Zeroable;

use super::super::debug::Messages;
use super::buffers::{Buffers, RingBytes};
use super::heap_watch::HeapWatch;
use super::observer::Observer;
use super::vitals::Watch;
use super::{End, RunOptions, Sink, Stream};
use crate::debug::DebugCounts;
use crate::device::{Device, DeviceResult, Pinned};
use crate::layout::{self, Control, DebugThread, Diagnostics, Launch, Ptr, Record};
use crate::tsan;

/// Bytes of the ring that are taken between two looks at reasons to stop: the reader of what becomes of them may be
/// slow.
const MOST_AT_ONCE: u64 = 1 << 20;
/// Bytes that are held back while a thread's record is open.
const OPEN_BYTES: usize = 1 << 20;

/// The host's side while a kernel runs: takes output and watches for reasons to stop.
pub(in crate::store) struct Host<'r> {
    ring: RingBytes,
    tail: Pinned,
    taken: u64,
    /// Records that threads have begun.
    open: HashMap<(u32, Stream), Vec<u8>>,
    deadline: Option<Instant>,
    interrupt: Option<Arc<AtomicBool>>,
    /// A word in the device's memory that is set too when the runs are to stop: compiled code looks there.
    pub(in crate::store) device_flag: Option<Ptr>,
    /// Launch records in pinned memory whose lanes look at `stop` there: where the first is, and how far apart.
    pub(in crate::store) launches: Option<(Pinned, usize, usize)>,
    /// Where the guest finds the errno of a stream that cannot be written.
    pub(in crate::store) errors: Option<Pinned>,
    /// Takes what processes of a batch write, in place of the sink, and how they end.
    pub(in crate::store) processes: Option<&'r mut dyn ProcessSink>,
    /// Where lanes tell how many pixels they have set.
    pub(in crate::store) pixels: Option<Pinned>,
    /// Looks at the run for the sink.
    pub(super) watch: Option<Watch>,
    /// Looks at the heap.
    pub(super) heap: Option<HeapWatch>,
    /// Looks where threads are.
    pub(super) observer: Option<Observer>,
    messages: Messages,
    diagnostics: Ptr,
    threads: u32,
    sink: &'r mut dyn Sink,
}

/// What takes the output of a batch's processes, by their numbers.
pub(in crate::store) trait ProcessSink {
    /// A process has written this, in two parts.
    fn text(&mut self, process: u32, stream: Stream, text: [&[u8]; 2]);
    /// Samples of it.
    fn sampled(&mut self, process: u32, sample: layout::ProcessSample);
    /// It has ended. All that it wrote came before.
    fn ended(&mut self, process: u32, end: layout::ProcessEnd);
}

/// Lets a moment pass after so many rounds in which there was nothing to do.
pub(in crate::store) fn pause(idle: u32) {
    match idle {
        0 => {}
        1..200 => std::hint::spin_loop(),
        200..1000 => std::thread::yield_now(),
        _ => std::thread::sleep(Duration::from_micros(100)),
    }
}

impl<'r> Host<'r> {
    /// The host of runs of so many threads at most.
    pub(in crate::store) fn new(run: &Buffers, options: &RunOptions, threads: u32, sink: &'r mut dyn Sink) -> Host<'r> {
        Host {
            ring: run.ring_bytes,
            tail: run.tail,
            taken: 0,
            open: HashMap::new(),
            // A time beyond what the clock can tell is no limit.
            deadline: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            interrupt: options.interrupt.clone(),
            device_flag: None,
            launches: None,
            errors: None,
            processes: None,
            pixels: None,
            watch: None,
            heap: None,
            observer: None,
            messages: Messages::new(options.debug.clone()),
            diagnostics: run.diagnostics,
            threads,
            sink,
        }
    }

    /// Serves the runs under way, to each of which belongs one of `count` controls, until they have ended. Returns why
    /// the host stopped them, if it did.
    pub(in crate::store) fn serve(
        &mut self,
        device: &mut dyn Device,
        controls: Pinned,
        count: usize,
    ) -> DeviceResult<Option<End>> {
        let stopped = self.serve_until(device, controls, count, |_| Ok(false))?;
        self.close_all();
        Ok(stopped)
    }

    /// The same for runs that may go on after it; what threads have begun to write stays open. They are parked once `parks`
    /// says so.
    pub(super) fn serve_until(
        &mut self,
        device: &mut dyn Device,
        controls: Pinned,
        count: usize,
        mut parks: impl FnMut(&mut dyn Device) -> DeviceResult<bool>,
    ) -> DeviceResult<Option<End>> {
        let mut stopped = None;
        let mut idle = 0u32;
        loop {
            // Asked before the ring is emptied: what was written before the end is then taken.
            let finished = device.finished();
            let took = self.drain();
            match finished {
                Ok(true) => {
                    while self.drain() {}
                    break;
                }
                Ok(false) => {}
                Err(error) => {
                    self.close_all();
                    return Err(error);
                }
            }
            if stopped.is_none() {
                stopped = self.reason_to_stop();
                if stopped.is_some() {
                    self.tell(device, controls, count, layout::STOP_ENDS)?;
                } else if parks(device)? {
                    self.tell(device, controls, count, layout::STOP_PARKS)?;
                    // A thread that has ended its process before has told so with the same words.
                    if self.has_ended(controls) {
                        self.tell(device, controls, count, layout::STOP_ENDS)?;
                    }
                }
            }
            if let Some(pixels) = self.pixels {
                // SAFETY: 8 aligned bytes that lanes write as atomics. Relaxed: it is only shown to a user.
                let pixels = unsafe { std::sync::atomic::AtomicU64::from_ptr(pixels.host.cast()) };
                self.sink.progress(pixels.load(Ordering::Relaxed));
            }
            if self.watch.as_ref().is_some_and(Watch::is_due) {
                self.look(device, false);
            }
            if let Some(heap) = self.heap.as_mut().filter(|heap| heap.is_due()) {
                heap.look(device);
            }
            if let Some(observer) = self.observer.as_mut().filter(|observer| observer.is_due()) {
                observer.look(device);
            }
            idle = if took { 0 } else { idle + 1 };
            pause(idle);
        }
        Ok(stopped)
    }

    /// Tells the sink what the run does, or has done if it is over.
    fn look(&mut self, device: &mut dyn Device, over: bool) {
        if let Some(watch) = &mut self.watch {
            watch.told(self.messages.counts.messages, self.taken);
            watch.look(device, over, self.observer.as_ref(), self.sink);
        }
    }

    /// Whether a thread has ended the process of the first run. It says so before it stops the others.
    fn has_ended(&self, controls: Pinned) -> bool {
        let at = offset_of!(Control, end) + offset_of!(layout::End, kind);
        // SAFETY: a word of the control. Acquire pairs with the release in `frames::record_end`.
        unsafe { controls.word(at as u64) }.load(Ordering::Acquire) != 0
    }

    /// Tells the threads of the runs to end, or to leave their lanes.
    fn tell(&self, device: &mut dyn Device, controls: Pinned, count: usize, stop: u32) -> DeviceResult<()> {
        for index in 0..count {
            // SAFETY: a control's first word. Relaxed: lanes read nothing else for it.
            unsafe { controls.word((index * size_of::<Control>()) as u64) }.store(stop, Ordering::Relaxed);
            if let Some((pinned, first, stride)) = self.launches {
                let at = first + index * stride + offset_of!(Launch, stop);
                // SAFETY: a word of a launch record, which lanes read as an atomic.
                unsafe { pinned.word(at as u64) }.store(stop, Ordering::Relaxed);
            }
        }
        if let Some(flag) = self.device_flag {
            // SAFETY: a word of the launch record, which lanes read as an atomic.
            unsafe { device.write(flag, &stop.to_le_bytes())? };
        }
        Ok(())
    }

    /// After the runs have ended: takes what is left of debug messages, and returns their counts and the number of
    /// threads that trapped or panicked.
    pub(in crate::store) fn told(&mut self, device: &mut dyn Device) -> DeviceResult<(DebugCounts, u32)> {
        let mut record = Diagnostics::zeroed();
        // SAFETY: the store's record and what it points to, as large as `prepare_diagnostics` made it.
        unsafe { device.read(self.diagnostics, bytemuck::bytes_of_mut(&mut record))? };
        if record.threads != 0 {
            let mut threads = vec![DebugThread::zeroed(); self.threads as usize];
            // SAFETY: as above.
            unsafe { device.read(record.threads, bytemuck::cast_slice_mut(&mut threads))? };
            self.messages.close(&threads, record.dropped, self.sink);
            self.sink.flush();
        }
        self.look(device, true);
        Ok((self.messages.counts, record.faults))
    }

    fn reason_to_stop(&self) -> Option<End> {
        if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(End::Interrupted);
        }
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
            .then_some(End::TimedOut)
    }

    /// Takes records that are complete, so many that the caller can look at the clock now and then; says whether there
    /// was something to do.
    pub(in crate::store) fn drain(&mut self) -> bool {
        let before = self.taken;
        while self.taken - before < MOST_AT_ONCE {
            let at = self.taken % self.ring.capacity;
            // SAFETY: records begin at multiples of 16 inside of the ring. Acquire pairs with the
            // release by which a lane publishes the record.
            let kind = unsafe { self.ring.pinned.word(at) }.load(Ordering::Acquire);
            if kind == layout::RECORD_EMPTY {
                break;
            }
            // SAFETY: as above.
            tsan::acquired(unsafe { self.ring.pinned.host.add(at as usize) });
            let header = size_of::<Record>() as u64;
            // SAFETY: the record is published, so the lane is done with it, and its head lies inside.
            let record = unsafe { self.ring.pinned.host.add(at as usize).cast::<Record>().read() };
            let padded = (record.len as u64).next_multiple_of(16);
            // SAFETY: as above; what the record holds lies after its head.
            let parts = unsafe { self.parts(at + header, record.len as u64) };
            match kind {
                layout::RECORD_DEBUG => self.messages.take(parts, self.sink),
                layout::RECORD_TEXT | layout::RECORD_CLOSE => {
                    // What its thread said before comes first.
                    self.messages.settle(self.sink);
                    self.take(record, kind == layout::RECORD_CLOSE, parts);
                }
                layout::RECORD_PROCESS => {
                    // Of one that did not trap, the backtrace is left out.
                    if let Some(processes) = &mut self.processes {
                        processes.ended(record.thread, joined(parts));
                    }
                }
                layout::RECORD_SAMPLE => {
                    if let Some(processes) = &mut self.processes {
                        processes.sampled(record.thread, joined(parts));
                    }
                }
                _ => {}
            }
            // SAFETY: as above. The bytes must be 0 before lanes may use them again.
            for part in unsafe { self.parts(at, header + padded) } {
                part.fill(0);
            }
            self.taken += header + padded;
            tsan::released(self.tail.host);
            // SAFETY: the tail's only writer is here; 8 bytes, aligned. Release: a lane that sees
            // this tail (acquire) also sees the cleared bytes.
            unsafe { std::sync::atomic::AtomicU64::from_ptr(self.tail.host.cast()) }
                .store(self.taken, Ordering::Release);
        }
        let took = self.messages.pass_on(self.sink) | (self.taken != before);
        if took {
            self.sink.flush();
            self.tell_errors();
        }
        took
    }

    /// `len` bytes of the ring from a position on: those up to its end, and those from its beginning.
    ///
    /// # Safety
    ///
    /// They are no more than the ring has, and no lane's now; nothing else refers to them.
    unsafe fn parts<'b>(&self, at: u64, len: u64) -> [&'b mut [u8]; 2] {
        let at = at % self.ring.capacity;
        let first = len.min(self.ring.capacity - at);
        // SAFETY: both lie inside of the ring, and apart.
        unsafe {
            [
                std::slice::from_raw_parts_mut(self.ring.pinned.host.add(at as usize), first as usize),
                std::slice::from_raw_parts_mut(self.ring.pinned.host, (len - first) as usize),
            ]
        }
    }

    /// Tells the guest which streams cannot be written any more.
    fn tell_errors(&self) {
        let Some(errors) = self.errors else { return };
        for (at, stream) in [(0, Stream::Stdout), (4, Stream::Stderr)] {
            if let Some(errno) = self.sink.error(stream) {
                // SAFETY: one of two words. Relaxed: lanes read nothing else for it.
                unsafe { errors.word(at) }.store(errno.into(), Ordering::Relaxed);
            }
        }
    }

    /// Adds text to a thread's open record, and writes the record when it is complete.
    fn take(&mut self, record: Record, close: bool, text: [&mut [u8]; 2]) {
        let stream = if record.stream == 2 {
            Stream::Stderr
        } else {
            Stream::Stdout
        };
        if let Some(processes) = &mut self.processes {
            let [first, second] = text;
            return processes.text(record.thread, stream, [first, second]);
        }
        if let Some(watch) = &mut self.watch {
            watch.wrote(stream, text.iter().map(|part| part.len()).sum());
        }
        let key = (record.thread, stream);
        let open = self.open.entry(key).or_default();
        text.iter().for_each(|part| open.extend_from_slice(part));
        // A record of any length is written in the end; a huge one in pieces.
        if close || open.len() > OPEN_BYTES {
            let text = self.open.remove(&key).unwrap_or_default();
            self.sink.write(stream, record.thread, &text);
        }
    }

    /// Writes what threads had begun to write when they were stopped.
    pub(super) fn close_all(&mut self) {
        self.messages.settle(self.sink);
        let mut open: Vec<_> = self.open.drain().filter(|(_, text)| !text.is_empty()).collect();
        open.sort();
        for ((thread, stream), text) in open {
            self.sink.write(stream, thread, &text);
        }
        self.sink.flush();
    }
}

/// A record in two parts, the rest of which is 0.
fn joined<T: bytemuck::Pod>(parts: [&mut [u8]; 2]) -> T {
    let mut record = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut record);
    let [first, second] = parts;
    bytes[..first.len()].copy_from_slice(first);
    bytes[first.len()..first.len() + second.len()].copy_from_slice(second);
    record
}
