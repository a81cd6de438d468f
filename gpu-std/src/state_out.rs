//! The run's output: what `gpu-run --output FILE` writes to that file when the run has ended.
//!
//! All threads may write at any time, in parallel; where two write the same place, one of them stays. As an array of
//! values of one type, it is written by index. The file ends after the highest byte that was written, or has the size
//! of `--output-size`; what was never written is 0. Without `--output` there is no place for anything, and every write
//! says so.
//!
//! It is written also when the program ends with a panic, a trap or an exit code: with what it had written.
//!
//! On a host target, [`host::set_output`](crate::host::set_output) makes one.
//!
//! ```
//! # gpu_std::host::set_output(1024);
//! use gpu_std::{state_out, thread_count, thread_id};
//!
//! for i in (thread_id() as u64..10).step_by(thread_count() as usize) {
//!     assert!(state_out::write(i, i as f32 / 2.0));
//! }
//! # assert_eq!(gpu_std::host::output().len(), 40);
//! ```

use crate::plain::{self, Plain};
use crate::platform;

/// How many whole values of this type the output can take.
///
/// ```
/// # gpu_std::host::set_output(10);
/// assert_eq!(gpu_std::state_out::capacity::<u32>(), 2);
/// ```
pub fn capacity<T: Plain>() -> u64 {
    plain::whole::<T>(platform::out_size(), 0)
}

/// Writes value number `index`, and tells whether there was a place for it.
///
/// ```
/// # gpu_std::host::set_output(8);
/// assert!(gpu_std::state_out::write(1, 7u32));
/// assert!(!gpu_std::state_out::write(2, 8u32));
/// # assert_eq!(gpu_std::host::output(), [0, 0, 0, 0, 7, 0, 0, 0]);
/// ```
pub fn write<T: Plain>(index: u64, value: T) -> bool {
    write_slice(index, &[value]) == 1
}

/// Writes values from number `index` on, and tells for how many there was a place.
///
/// ```
/// # gpu_std::host::set_output(5);
/// assert_eq!(gpu_std::state_out::write_slice(2, b"texts"), 3);
/// # assert_eq!(gpu_std::host::output(), *b"\0\0tex");
/// ```
pub fn write_slice<T: Plain>(index: u64, values: &[T]) -> usize {
    let count = plain::whole::<T>(platform::out_size(), index).min(values.len() as u64) as usize;
    let bytes = plain::bytes(&values[..count]);
    // An index for which there is a place is small enough to be multiplied.
    if !bytes.is_empty() {
        platform::st_out(index * size_of::<T>() as u64, bytes);
    }
    count
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn only_whole_values_are_written() {
        crate::host::set_output(7);
        assert!(write(1, 0x0403_u16));
        assert!(!write(3, 0xffff_u16));
        assert!(!write(u64::MAX, 0xffff_u16));
        assert_eq!(crate::host::output(), [0, 0, 3, 4], "it ends behind the highest byte");
        assert_eq!(write_slice(0, &[[1u8, 2], [3, 4], [5, 6], [7, 8]]), 3);
        assert_eq!(crate::host::output(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn without_an_output_nothing_is_written() {
        assert_eq!(capacity::<u8>(), 0);
        assert_eq!(write_slice(0, &[1u8]), 0);
    }
}
