//! The Mandelbrot set, in both widths.

use core::num::NonZeroU32;

use crate::finish::finish;
use gpu_std::{thread_count, thread_id};

const LIMIT: u32 = 1024;

macro_rules! mandelbrot {
    ($name:ident, $float:ty) => {
        /// The iterations of all pixels of a thread, of an image of `n` by `n` pixels.
        #[unsafe(no_mangle)]
        extern "C" fn $name(n: u32, expect: i64) -> u32 {
            // Dividing by a NonZero cannot panic.
            let Some(side) = NonZeroU32::new(n) else {
                return finish(0, expect);
            };
            let step = 2.5 / n as $float;
            let mut sum = 0u32;
            let mut pixel = thread_id();
            while pixel < n * n {
                let cx = (pixel % side) as $float * step - 2.0;
                let cy = (pixel / side) as $float * step - 1.25;
                let (mut x, mut y) = (0.0, 0.0);
                let mut i = 0;
                while i < LIMIT {
                    let (xx, yy) = (x * x, y * y);
                    if xx + yy > 4.0 {
                        break;
                    }
                    y = 2.0 * x * y + cy;
                    x = xx - yy + cx;
                    i += 1;
                }
                sum = sum.wrapping_add(i);
                pixel += thread_count();
            }
            finish(sum, expect)
        }
    };
}

mandelbrot!(mandelbrot_f32, f32);
mandelbrot!(mandelbrot_f64, f64);
