//! Types whose values are nothing but their bytes.

mod sealed {
    pub trait Sealed {}
}

/// A type that any bytes are a value of, and whose values are all bytes: integers, floats, and arrays of them.
///
/// These are what [`state_in`](crate::state_in) and [`state_out`](crate::state_out) read and write, as they lie
/// in memory: little-endian on WebAssembly, and on nearly every host. The trait is sealed.
///
/// ```
/// fn size<T: gpu_std::Plain>() -> usize { size_of::<T>() }
/// assert_eq!(size::<[f32; 3]>(), 12);
/// ```
///
/// ```compile_fail
/// fn size<T: gpu_std::Plain>() -> usize { size_of::<T>() }
/// size::<bool>(); // not every byte is a bool
/// ```
///
/// # Safety
///
/// Sealed, so that it holds: no bytes are invalid, none is padding, and there is no pointer among them.
pub unsafe trait Plain: Copy + sealed::Sealed + 'static {}

macro_rules! plain {
    ($($ty:ty)*) => {
        $(
            impl sealed::Sealed for $ty {}
            // SAFETY: a number, of which all bits are used.
            unsafe impl Plain for $ty {}
        )*
    };
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64);

impl<T: Plain, const N: usize> sealed::Sealed for [T; N] {}
// SAFETY: its elements lie side by side.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The bytes of values.
pub(crate) fn bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain values are bytes, none of them padding.
    unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of values, to be changed.
pub(crate) fn bytes_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are values.
    unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// A value whose bytes are all 0.
pub(crate) fn zeroed<T: Plain>() -> T {
    // SAFETY: any bytes are a value.
    unsafe { core::mem::zeroed() }
}

/// How many values lie wholly in `bytes` bytes, from the one with this index on.
pub(crate) fn whole<T>(bytes: u64, index: u64) -> u64 {
    match size_of::<T>() as u64 {
        0 => u64::MAX,
        size => (bytes / size).saturating_sub(index),
    }
}
