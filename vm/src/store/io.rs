//! What a store's runs read and write beside linear memory: an input, an output, a frame of pixels. They are
//! bound before a run, and what was written is read after it.

use super::Store;
use crate::device::{Device, DeviceResult, Pinned};
use crate::layout::{self, Ptr};

/// Size of a frame in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSize {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl FrameSize {
    /// Bytes of its pixels: four each.
    pub fn bytes(self) -> u64 {
        self.width as u64 * self.height as u64 * 4
    }
}

/// The buffers on the device. Nothing is bound at first.
pub(super) struct Bound {
    /// Where their record lies.
    pub(super) record: Ptr,
    /// What stands in it, as the host wrote it.
    buffers: layout::Io,
    /// Where lanes tell how many pixels they have set, if that was asked for.
    pub(super) progress: Option<Pinned>,
}

impl Bound {
    pub(super) fn new(device: &mut dyn Device) -> DeviceResult<Bound> {
        Ok(Bound {
            record: device.allocate(size_of::<layout::Io>() as u64, "input and output")?,
            buffers: bytemuck::Zeroable::zeroed(),
            progress: None,
        })
    }
}

impl Store {
    /// Sets an input for the store's runs, in place of the one before.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_input(&mut self, bytes: &[u8]) -> DeviceResult<()> {
        self.unbind(self.io.buffers.input);
        // Whole words: those around the last byte are read too.
        let input = self
            .device
            .allocate((bytes.len() as u64).next_multiple_of(8), "the input")?;
        // SAFETY: the buffer just allocated; no kernel runs while the store is borrowed.
        unsafe { self.device.write(input, bytes)? };
        self.io.buffers.input = input;
        self.io.buffers.input_size = bytes.len() as u64;
        self.write_bound()
    }

    /// Sets an output for the store's runs, of at most `size` bytes, all 0, in place of the one before.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_output(&mut self, size: u64) -> DeviceResult<()> {
        self.unbind(self.io.buffers.output);
        self.io.buffers.output = self.device.allocate(size.next_multiple_of(8), "the output")?;
        self.io.buffers.output_size = size;
        self.write_bound()
    }

    /// Sets a frame for the store's runs, all 0, in place of the one before. With `progress`,
    /// [`Sink::progress`](super::Sink::progress) is told how much of it is done.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_frame(&mut self, size: FrameSize, progress: bool) -> DeviceResult<()> {
        self.unbind(self.io.buffers.frame);
        self.io.buffers.frame = self.device.allocate(size.bytes(), "the frame")?;
        (self.io.buffers.width, self.io.buffers.height) = (size.width, size.height);
        if progress && self.io.progress.is_none() {
            self.io.progress = Some(self.device.allocate_pinned(8)?);
        }
        self.io.buffers.progress = match self.io.progress {
            Some(pinned) if progress => pinned.device,
            _ => 0,
        };
        self.write_bound()
    }

    /// The output of the runs since it was bound: up to the highest byte that they wrote. What lies between
    /// is 0 where nothing was written.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn output(&mut self) -> DeviceResult<Vec<u8>> {
        let bound: layout::Io = self.fetch(self.io.record)?;
        let mut bytes = vec![0; bound.output_end as usize];
        // SAFETY: lanes raise the end only to what lies inside; no kernel runs.
        unsafe { self.device.read(bound.output, &mut bytes)? };
        Ok(bytes)
    }

    /// The frame, row by row; each pixel is red, green, blue, alpha.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn frame(&mut self) -> DeviceResult<Vec<u8>> {
        let buffers = self.io.buffers;
        let size = FrameSize {
            width: buffers.width,
            height: buffers.height,
        };
        let mut bytes = vec![0; size.bytes() as usize];
        // SAFETY: the frame's buffer has that size; no kernel runs.
        unsafe { self.device.read(buffers.frame, &mut bytes)? };
        Ok(bytes)
    }

    /// Frees a buffer that is about to be replaced.
    fn unbind(&mut self, buffer: Ptr) {
        if buffer != 0 {
            // SAFETY: it was allocated here, only its record names it, which is written anew before a run.
            unsafe { self.device.release(buffer) };
        }
    }

    /// Tells the kernel what is bound. Ends are set back, as buffers are bound empty.
    fn write_bound(&mut self) -> DeviceResult<()> {
        // SAFETY: the record's own memory; no kernel runs.
        unsafe { self.device.write(self.io.record, bytemuck::bytes_of(&self.io.buffers)) }
    }
}
