//! The run's input: the bytes of `gpu-run --input FILE`.
//!
//! All threads may read any of it at any time; it stays the same for the whole run. Without `--input` it has no
//! bytes. It is taken to be an array of values of one type: the index of a value counts values, not bytes.
//!
//! On a host target it is what [`host::set_input`](crate::host::set_input) was given.
//!
//! ```
//! # gpu_std::host::set_input(vec![1, 0, 2, 0, 3, 0]);
//! use gpu_std::{state_in, thread_count, thread_id};
//!
//! // Each thread adds up its share.
//! let mine = (thread_id() as u64..state_in::len::<u16>()).step_by(thread_count() as usize);
//! let sum: u32 = mine.filter_map(state_in::read::<u16>).map(u32::from).sum();
//! assert_eq!(sum, 6);
//! ```

use crate::plain::{self, Plain};
use crate::platform;

/// How many whole values of this type the input has.
///
/// ```
/// # gpu_std::host::set_input(vec![0; 10]);
/// assert_eq!(gpu_std::state_in::len::<u8>(), 10);
/// assert_eq!(gpu_std::state_in::len::<u32>(), 2);
/// ```
pub fn len<T: Plain>() -> u64 {
    plain::whole::<T>(platform::in_size(), 0)
}

/// Value number `index`, or `None` if the input ends before it does.
///
/// ```
/// # gpu_std::host::set_input(1.5_f32.to_le_bytes().to_vec());
/// assert_eq!(gpu_std::state_in::read::<f32>(0), Some(1.5));
/// assert_eq!(gpu_std::state_in::read::<f32>(1), None);
/// ```
pub fn read<T: Plain>(index: u64) -> Option<T> {
    let mut value = plain::zeroed();
    (read_slice(index, core::slice::from_mut(&mut value)) == 1).then_some(value)
}

/// Reads values from number `index` on, and tells how many: fewer than `values` has places where the input
/// ends. The other places stay as they are.
///
/// ```
/// # gpu_std::host::set_input(vec![1, 2, 3, 4, 5]);
/// let mut values = [0u8; 4];
/// assert_eq!(gpu_std::state_in::read_slice(3, &mut values), 2);
/// assert_eq!(values, [4, 5, 0, 0]);
/// ```
pub fn read_slice<T: Plain>(index: u64, values: &mut [T]) -> usize {
    let count = plain::whole::<T>(platform::in_size(), index).min(values.len() as u64) as usize;
    let bytes = plain::bytes_mut(&mut values[..count]);
    // An index of which something is there is small enough to be multiplied.
    if !bytes.is_empty() {
        platform::ld_in(index * size_of::<T>() as u64, bytes);
    }
    count
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn only_whole_values_are_read() {
        crate::host::set_input(vec![1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((len::<u16>(), len::<[u8; 7]>(), len::<u64>()), (3, 1, 0));
        assert_eq!(read::<u16>(2), Some(0x0605));
        assert_eq!(read::<u16>(3), None);
        assert_eq!(read::<u16>(u64::MAX), None);
        let mut values = [0u32; 3];
        assert_eq!(read_slice(0, &mut values), 1);
        assert_eq!(values, [0x0403_0201, 0, 0]);
        assert_eq!(read_slice(0, &mut [[0u8; 0]; 3]), 3);
    }
}
