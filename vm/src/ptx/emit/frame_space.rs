//! Where a frame of the shadow stack lies that is not in memory: in local memory, or a kernel's own in shared memory.
//!
//! A multiprocessor's L1 cache does not keep stores of local memory: all go to the L2 cache, which limits loops that store to
//! their frame. And lanes that access different words of their frames access as many sectors. Shared memory has neither. Each
//! warp has its lanes' words of one offset side by side there, lane n's in bank n. So whichever words of their frames the lanes
//! access, they do together.
//!
//! There are as many lanes as shared memory has room for. So large frames are in local memory, and so are those of functions,
//! which any kernel may call.
//!
//! See [`in_shared_memory`] for where a byte is.

use crate::device::SMALL_BLOCK;
use crate::ptx::analysis::counters::Counters;
use crate::ptx::emit::counts::shared_bytes;
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::writer::ptx;

/// Lanes of a warp: words of one offset that lie side by side.
const LANES: u32 = 32;
/// Bytes of shared memory that a kernel may declare, less what the runtime's part of it has (`kernel/steps.h`).
const MOST_DECLARED: u32 = (48 << 10) - BESIDE;
/// Bytes that a hardware block has beside its frames at most: 1 KiB is the system's.
const BESIDE: u32 = 2 << 10;
/// Lanes of a multiprocessor at least: a warp for each of its schedulers. [`Options::frame_lanes`] may want more.
///
/// [`Options::frame_lanes`]: crate::ptx::Options::frame_lanes
const LEAST_LANES: u32 = 128;
/// Lanes that a multiprocessor has at most.
const MOST_LANES: u32 = 2048;

/// Lanes of a hardware block of which each has a frame of so many bytes: as many as make a multiprocessor with so much shared
/// memory hold the most, of at most `most`; and how many that are. A block of code that counts has `counters` beside its frames.
fn lanes_of_block(bytes: u32, counters: Option<u32>, memory: u32, most: u32) -> Option<(u32, u32)> {
    let taken = |lanes: u32| bytes * lanes + shared_bytes(counters, lanes);
    let resident = |lanes: u32| (memory / (taken(lanes) + BESIDE) * lanes).min(MOST_LANES);
    let sizes = (LANES..=most).step_by(LANES as usize);
    // Then a launch needs no leave for more shared memory.
    let fitting = sizes.filter(|lanes| taken(*lanes) <= MOST_DECLARED);
    let best = fitting.max_by_key(|lanes| (resident(*lanes), *lanes))?;
    Some((best, resident(best)))
}

/// How far after a frame's first byte the one at an offset is, in shared memory.
const fn in_shared_memory(offset: u32) -> u32 {
    offset + (LANES - 1) * (offset & !3)
}

/// What an address of a [`FramePlace`] is relative to.
#[derive(Clone, Copy)]
pub enum Origin {
    /// To nothing: it is one of memory.
    Memory,
    /// To the frame's first byte.
    Frame,
}

/// A place in the frame.
#[derive(Clone)]
pub struct FramePlace {
    /// The register of an address.
    pub address: String,
    /// What that is relative to.
    pub origin: Origin,
    /// Bytes to add.
    pub offset: u64,
}

impl FramePlace {
    /// The place so many bytes after the frame's first one as a register says.
    pub fn in_frame(at: &str) -> FramePlace {
        FramePlace {
            address: at.to_owned(),
            origin: Origin::Frame,
            offset: 0,
        }
    }

    /// The place so many bytes further.
    pub fn plus(&self, bytes: u64) -> FramePlace {
        FramePlace {
            offset: self.offset + bytes,
            ..self.clone()
        }
    }

    /// What is added to the address to make it one of the frame's space.
    fn base(&self) -> &'static str {
        match self.origin {
            Origin::Memory => "%frame_less_low",
            Origin::Frame => "%frame",
        }
    }
}

impl Compiler<'_> {
    /// Lanes of a hardware block at most, if their frames are in shared memory.
    pub fn lanes_with_shared_frames(&self) -> Option<u32> {
        let (bytes, options) = (self.facts.frame.bytes, &self.unit.options);
        let may_be = bytes > 0 && matches!(self.role, Role::Kernel);
        let counters = self.analysis.counters.as_ref().map(Counters::count);
        let most = match self.steps.is_empty() {
            true => SMALL_BLOCK,
            // With more, functions would have fewer registers.
            false => 2 * SMALL_BLOCK,
        };
        let (lanes, resident) = may_be.then(|| lanes_of_block(bytes, counters, options.frame_memory, most))??;
        (resident >= LEAST_LANES.max(options.frame_lanes)).then_some(lanes)
    }

    /// The state space of the frame.
    pub fn frame_space(&self) -> &'static str {
        if self.is_frame_shared() { "shared" } else { "local" }
    }

    fn is_frame_shared(&self) -> bool {
        self.lanes_with_shared_frames().is_some()
    }

    /// Bytes of the function's frame of native stack that are its frame of the shadow stack.
    pub fn local_frame_bytes(&self) -> u32 {
        match self.is_frame_shared() {
            true => 0,
            false => self.facts.frame.bytes,
        }
    }

    /// What declares the frame's memory.
    pub fn frame_declaration(&self, align: u32) -> String {
        let (space, lanes) = (self.frame_space(), self.lanes_with_shared_frames().unwrap_or(1));
        format!(
            "\t.{space} .align {align} .b8 frame[{}];\n",
            lanes * self.facts.frame.bytes
        )
    }

    /// Computes where the lane's frame begins, and what makes of an address of memory one of the frame's space.
    pub fn find_frame(&mut self) {
        let whole = self.w.pair();
        ptx!(self, "mov.u64 {whole}, frame;");
        ptx!(self, "cvt.u32.u64 %frame, {whole};");
        if !self.is_frame_shared() {
            return ptx!(self, "sub.u32 %frame_less_low, %frame, %frame_low;");
        }
        let (thread, lane, warp) = (self.w.word(), self.w.word(), self.w.word());
        ptx!(self, "mov.u32 {thread}, %tid.x;");
        ptx!(self, "and.b32 {lane}, {thread}, {};", LANES - 1);
        ptx!(self, "shr.u32 {warp}, {thread}, {};", LANES.ilog2());
        ptx!(self, "mad.lo.u32 %frame, {lane}, 4, %frame;");
        let bytes = LANES * self.facts.frame.bytes;
        ptx!(self, "mad.lo.u32 %frame, {warp}, {bytes}, %frame;");
        ptx!(self, "mad.lo.s32 %frame_less_low, %frame_low, -{LANES}, %frame;");
    }

    /// The address of `width` bytes in the frame's space, which is a multiple of that or of 4, for an access. It is the
    /// place's plus so many bytes, modulo 2^32.
    pub fn frame_address(&mut self, place: &FramePlace, distance: u32, width: u32) -> String {
        let (address, base) = (&place.address, place.base());
        let mut at = self.w.word();
        if !self.is_frame_shared() {
            ptx!(self, "add.u32 {at}, {base}, {address};");
            self.add_constant(&mut at, distance);
            return match place.offset {
                0 => at,
                offset => format!("{at}+{offset}"),
            };
        }
        let constant = distance.wrapping_add(place.offset as u32);
        if width >= 4 {
            ptx!(self, "mad.lo.u32 {at}, {address}, {LANES}, {base};");
            self.add_constant(&mut at, constant.wrapping_mul(LANES));
            return at;
        }
        // Of what is narrower than a word the two low bits say where it is in one.
        let (mut byte, word) = (address.clone(), self.w.word());
        self.add_constant(&mut byte, constant % 4);
        ptx!(self, "and.b32 {word}, {byte}, -4;");
        ptx!(self, "mad.lo.u32 {at}, {word}, {}, {byte};", LANES - 1);
        ptx!(self, "add.u32 {at}, {at}, {base};");
        self.add_constant(&mut at, (constant & !3).wrapping_mul(LANES));
        at
    }

    /// Makes a register one of the sum with a constant.
    fn add_constant(&mut self, register: &mut String, constant: u32) {
        if constant != 0 {
            let sum = self.w.word();
            ptx!(self, "add.u32 {sum}, {register}, {};", constant as i32);
            *register = sum;
        }
    }

    /// Loads a value of `width` bytes, by an instruction of this type, from `distance` bytes after a place. It is aligned.
    pub fn load_in_frame(&mut self, place: &FramePlace, distance: u32, ty: &str, width: u32, to: &str) {
        let (space, address) = (self.frame_space(), self.frame_address(place, distance, width));
        if width < 8 || !self.is_frame_shared() {
            return ptx!(self, "ld.{space}.{ty} {to}, [{address}];");
        }
        let (low, high) = (self.w.word(), self.w.word());
        ptx!(self, "ld.{space}.b32 {low}, [{address}];");
        ptx!(self, "ld.{space}.b32 {high}, [{address}+{}];", in_shared_memory(4));
        ptx!(self, "mov.b64 {to}, {{{low}, {high}}};");
    }

    /// Stores the `width` low bytes of a register at a place. It is aligned.
    pub fn store_in_frame(&mut self, place: &FramePlace, width: u32, value: &str) {
        let (space, address) = (self.frame_space(), self.frame_address(place, 0, width));
        if width < 8 || !self.is_frame_shared() {
            return ptx!(self, "st.{space}.b{} [{address}], {value};", 8 * width);
        }
        let (low, high) = (self.w.word(), self.w.word());
        ptx!(self, "mov.b64 {{{low}, {high}}}, {value};");
        ptx!(self, "st.{space}.b32 [{address}], {low};");
        ptx!(self, "st.{space}.b32 [{address}+{}], {high};", in_shared_memory(4));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::FRAME_MEMORY as MEMORY;

    #[test]
    fn blocks_are_as_large_as_fills_a_multiprocessor() {
        // Lanes of a block, and of a multiprocessor.
        for (bytes, counters, most, wanted) in [
            (16, None, 512, Some((512, 2048))),
            (16, None, 128, Some((128, 2048))),
            (96, None, 512, Some((448, 2048))),
            (304, None, 512, Some((96, 672))),
            (1024, None, 512, Some((32, 192))),
            (1472, None, 512, Some((32, 128))),
            (1488, None, 512, None),
            (96, Some(400), 512, Some((416, 2048))),
            // As many as there can be.
            (96, Some(4096), 512, Some((256, 1280))),
            (1024, Some(4096), 512, None),
        ] {
            assert_eq!(
                lanes_of_block(bytes, counters, MEMORY, most),
                wanted,
                "{bytes} {counters:?}"
            );
        }
        assert_eq!(lanes_of_block(16, None, 0, 512), Some((512, 0)));
    }

    #[test]
    fn a_byte_is_where_its_word_is() {
        assert_eq!([0, 3, 4, 6].map(in_shared_memory), [0, 3, 128, 130]);
    }
}
