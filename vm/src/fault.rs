//! How a process ended before its time.

use gpu_run_bytecode::{BacktraceFrame, SourceFrame, TrapKind};

/// Calls that were open in a thread.
#[derive(Clone, Debug, Default)]
pub struct Backtrace {
    /// Where they stood, innermost first; inlined calls are listed as calls.
    pub places: Vec<BacktraceFrame>,
    /// Frames that are left out.
    pub omitted: u32,
    /// Where: in front of the place with this index; `None` is at the end.
    pub omitted_at: Option<usize>,
    /// The first registers of the innermost frame, units of 4 bytes; none of compiled code.
    pub registers: Vec<u32>,
}

impl Backtrace {
    /// Adds lines of the user's sources: `frames` tells those of an offset in the wasm file,
    /// innermost first.
    pub fn add_lines(&mut self, mut frames: impl FnMut(u32) -> Vec<SourceFrame>) {
        let places = std::mem::take(&mut self.places);
        let omitted_at = self.omitted_at.take();
        for (index, place) in places.into_iter().enumerate() {
            if omitted_at == Some(index) {
                self.omitted_at = Some(self.places.len());
            }
            let found = place.offset.map(&mut frames).unwrap_or_default();
            self.places.extend(place.with_lines(found));
        }
    }
}

/// What a trap of the heap was about.
#[derive(Clone, Debug)]
pub struct HeapFault {
    /// The address that the heap was given, or of the block that it found damaged.
    pub address: u32,
    /// Of a checked heap: bytes of the block that is or was there, and the calls that allocated it.
    pub block: Option<(u32, Backtrace)>,
    /// Of damage that was found when the program had ended: how many blocks are damaged, this one included.
    pub damaged_at_end: Option<u64>,
}

/// A trap with all that is known of it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What happened.
    pub kind: TrapKind,
    /// The thread to which it happened.
    pub thread: u32,
    /// Where.
    pub backtrace: Backtrace,
    /// Of a trap of the heap: what it was about.
    pub heap: Option<HeapFault>,
}

impl Fault {
    /// A trap before any code ran: an active segment that does not fit.
    pub(crate) fn at_start(kind: TrapKind) -> Fault {
        Fault {
            kind,
            thread: 0,
            backtrace: Backtrace::default(),
            heap: None,
        }
    }
}
