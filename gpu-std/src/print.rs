//! Printing a whole record at a time, so that the lines of many threads never mix.

use core::fmt;

/// What the macros expand to. Not part of the public interface.
#[doc(hidden)]
pub fn print(args: fmt::Arguments) {
    crate::platform::print(args);
}

/// Prints to standard output, like `print!` of the standard library, as one record.
///
/// All that one call prints stays together: the output of another thread comes before it or after
/// it, never between. The order of records of different threads is open.
///
/// On a host target it is `print!`.
///
/// ```
/// gpu_std::gpu_print!("thread {} of {}\n", gpu_std::thread_id(), gpu_std::thread_count());
/// ```
#[macro_export]
macro_rules! gpu_print {
    ($($arg:tt)*) => {
        $crate::__print(::core::format_args!($($arg)*))
    };
}

/// Prints to standard output, like `println!` of the standard library, as one record.
///
/// See [`gpu_print!`](crate::gpu_print): all that one call prints stays together, the line's end
/// included.
///
/// ```
/// gpu_std::gpu_println!("sum = {}", 6 * 7);
/// gpu_std::gpu_println!();
/// ```
#[macro_export]
macro_rules! gpu_println {
    () => {
        $crate::__print(::core::format_args!("\n"))
    };
    ($($arg:tt)*) => {
        $crate::__print(::core::format_args!("{}\n", ::core::format_args!($($arg)*)))
    };
}
