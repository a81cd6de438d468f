//! The device's memory that runs use, whatever they run.

use super::super::Limits;
use super::super::batch::Slots;
use super::super::requests::Requests;
use super::spawner::SpawnBuffers;
use crate::device::{Device, DeviceResult, Pinned};
use crate::layout::{self, Control, Diagnostics, Launch, Ptr, Ring};

/// Bytes of the output ring: powers of two. With debug messages it has [`RING_BYTES_A_THREAD`] for each thread. So all
/// may send some at once, as where they end their turns together, before one must wait for the host. Pinned memory is
/// dear: half a millisecond for a MiB.
const LEAST_RING_BYTES: u64 = 1 << 20;
const MOST_RING_BYTES: u64 = 16 << 20;
const RING_BYTES_A_THREAD: u64 = 1 << 10;
pub(super) const BUCKETS_BYTES: u64 = layout::WAIT_BUCKETS * size_of::<layout::Bucket>() as u64;

/// Memory that runs use again and again.
pub(in crate::store) struct Buffers {
    pub(in crate::store) control: Pinned,
    pub(in crate::store) ring_bytes: RingBytes,
    /// The ring's tail: its only word that the host writes.
    pub(in crate::store) tail: Pinned,
    pub(in crate::store) ring: Ptr,
    pub(in crate::store) arena_record: Ptr,
    /// [`Diagnostics`].
    pub(in crate::store) diagnostics: Ptr,
    /// A [`DebugThread`] for each thread, if there are debug messages.
    pub(in crate::store) debug_threads: Sized,
    pub(in crate::store) launch: Ptr,
    pub(in crate::store) segments: Sized,
    pub(in crate::store) segment_links: Sized,
    /// Heads of lists of threads' first segments.
    pub(in crate::store) spares: Sized,
    /// [`layout::Stands`].
    pub(in crate::store) stands: Sized,
    pub(in crate::store) buckets: Ptr,
    /// [`layout::Census`].
    pub(in crate::store) census: Ptr,
    /// Where the stacks of the last run's threads were in memory 0, if there were several.
    pub(in crate::store) stacks: std::ops::Range<usize>,
    pub(in crate::store) threads: Sized,
    pub(in crate::store) globals: Sized,
    pub(in crate::store) args: Sized,
    pub(in crate::store) results: Sized,
    pub(in crate::store) lane_segments: Sized,
    /// Of runs that were parked: see [`Launch`]'s fields of these names.
    pub(in crate::store) parked: Sized,
    pub(in crate::store) loops: Sized,
    /// Of calls under way together; made when there are some.
    pub(in crate::store) slots: Option<Slots>,
    /// Of programs that spawn threads.
    pub(in crate::store) spawn: SpawnBuffers,
    /// Of requests to the host; made when there are some.
    pub(in crate::store) requests: Option<Requests>,
}

/// A buffer that is replaced by a larger one when it is too small.
pub(in crate::store) struct Sized {
    pub(in crate::store) ptr: Ptr,
    bytes: u64,
    what: &'static str,
}

impl Sized {
    pub(in crate::store) fn new(what: &'static str) -> Sized {
        Sized { ptr: 0, bytes: 0, what }
    }

    pub(in crate::store) fn at_least(&mut self, device: &mut dyn Device, bytes: u64) -> DeviceResult<Ptr> {
        if bytes > self.bytes || self.ptr == 0 {
            if self.ptr != 0 {
                // SAFETY: only runs use it, and none is under way.
                unsafe { device.release(self.ptr) };
                self.ptr = 0;
            }
            self.ptr = device.allocate(bytes, self.what)?;
            self.bytes = bytes;
        }
        Ok(self.ptr)
    }

    /// The same with bytes that are 0. A new buffer needs not be cleared: devices allocate memory that is 0.
    pub(in crate::store) fn zeroed(&mut self, device: &mut dyn Device, bytes: u64) -> DeviceResult<Ptr> {
        let old = (self.ptr != 0 && bytes <= self.bytes).then_some(self.ptr);
        let ptr = self.at_least(device, bytes)?;
        if old.is_some() {
            // SAFETY: as large as it was asked for; no kernel runs.
            unsafe { device.clear(ptr, bytes)? };
        }
        Ok(ptr)
    }
}

/// The bytes of the output ring; none before the first run. They are 0 between runs: lanes publish all that they
/// reserve, and the host clears all that it takes.
#[derive(Clone, Copy)]
pub(in crate::store) struct RingBytes {
    pub(in crate::store) pinned: Pinned,
    pub(in crate::store) capacity: u64,
}

impl RingBytes {
    const NONE: RingBytes = RingBytes {
        pinned: Pinned {
            host: std::ptr::null_mut(),
            device: 0,
        },
        capacity: 0,
    };

    /// Makes it large enough for a run of so many threads, which may send debug messages or not.
    pub(in crate::store) fn prepare(&mut self, device: &mut dyn Device, debug: bool, threads: u32) -> DeviceResult<()> {
        let wanted = if debug {
            u64::from(threads) * RING_BYTES_A_THREAD
        } else {
            0
        };
        let capacity = wanted.next_power_of_two().clamp(LEAST_RING_BYTES, MOST_RING_BYTES);
        if capacity > self.capacity {
            // What there was stays with the device, as all pinned memory does.
            *self = RingBytes {
                pinned: device.allocate_pinned(capacity)?,
                capacity,
            };
        }
        Ok(())
    }
}

impl Buffers {
    pub(in crate::store) fn new(device: &mut dyn Device, limits: Limits) -> DeviceResult<Buffers> {
        let control = device.allocate_pinned(size_of::<Control>() as u64)?;
        let tail = device.allocate_pinned(64)?;
        let mut this = Buffers {
            control,
            ring_bytes: RingBytes::NONE,
            tail,
            ring: device.allocate(size_of::<Ring>() as u64, "the output ring")?,
            arena_record: device.allocate(size_of::<layout::Arena>() as u64, "call frames")?,
            diagnostics: device.allocate(size_of::<Diagnostics>() as u64, "diagnostics")?,
            debug_threads: Sized::new("debug messages"),
            launch: device.allocate(size_of::<Launch>() as u64, "launch records")?,
            segments: Sized::new("call frames"),
            segment_links: Sized::new("call frames"),
            spares: Sized::new("call frames"),
            stands: Sized::new("diagnostics"),
            buckets: device.allocate(BUCKETS_BYTES, "wait queues")?,
            census: device.allocate(size_of::<layout::Census>() as u64, "wait queues")?,
            stacks: 0..0,
            threads: Sized::new("threads"),
            globals: Sized::new("globals of threads"),
            args: Sized::new("arguments"),
            results: Sized::new("results"),
            lane_segments: Sized::new("registers"),
            parked: Sized::new("registers"),
            loops: Sized::new("heads of loops"),
            slots: None,
            spawn: SpawnBuffers::new(),
            requests: None,
        };
        this.arena(device, limits.register_arena)?;
        Ok(this)
    }

    /// The arena's record, for segments of `bytes` bytes together.
    pub(in crate::store) fn arena(&mut self, device: &mut dyn Device, bytes: u64) -> DeviceResult<layout::Arena> {
        let size = bytes.next_multiple_of(layout::SEGMENT);
        Ok(layout::Arena {
            base: self.segments.at_least(device, size)?,
            size,
            used: 0,
            free: Default::default(),
            next: self.segment_links.at_least(device, size / layout::SEGMENT * 4)?,
            spares: 0,
            lanes: 0,
        })
    }
}
