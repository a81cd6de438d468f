//! The run's frame: a picture that threads paint pixel by pixel.

use crate::platform;

/// Sets the pixel in column `x` and row `y`, counted from 0 at the upper left corner.
///
/// `rgba` is red, green, blue and opacity, from 0 to 255 in sRGB, as PNG has them. All threads may paint at the same
/// time; of colors for the same pixel one stays. A pixel outside of the frame is left out, so without `--frame` nothing
/// happens. `gpu-run --frame out.png --size 1920x1080` writes the frame when the run has ended, also by a panic, a trap
/// or an exit code. Pixels that were never set are transparent black.
///
/// On a host target, [`host::set_frame`](crate::host::set_frame) makes a frame.
///
/// ```
/// # gpu_std::host::set_frame(2, 1);
/// gpu_std::set_pixel(1, 0, [255, 128, 0, 255]);
/// gpu_std::set_pixel(2, 0, [255, 255, 255, 255]); // outside
/// # assert_eq!(gpu_std::host::frame(), [0, 0, 0, 0, 255, 128, 0, 255]);
/// ```
#[inline]
pub fn set_pixel(x: u32, y: u32, rgba: [u8; 4]) {
    platform::set_pixel(x, y, u32::from_le_bytes(rgba));
}

/// Columns and rows of the frame: the `W` and `H` of `gpu-run --size WxH`; (0, 0) without `--frame`.
///
/// ```
/// # gpu_std::host::set_frame(64, 48);
/// let (width, height) = gpu_std::frame_size();
/// for y in 0..height {
///     for x in 0..width {
///         gpu_std::set_pixel(x, y, [(x * 255 / width) as u8, (y * 255 / height) as u8, 0, 255]);
///     }
/// }
/// ```
#[inline]
pub fn frame_size() -> (u32, u32) {
    let size = platform::frame_size();
    (size as u32, (size >> 32) as u32)
}
