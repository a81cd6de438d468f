//! Printing a whole record at a time, so that the lines of many threads never mix.

/// Where a record goes, with the numbers that `gpu-run` has for them.
#[derive(Clone, Copy)]
pub enum Stream {
    Stdout = 1,
    Stderr = 2,
}

/// What the macros expand to. Not part of the public interface; nor is the next one.
#[doc(hidden)]
#[inline]
pub fn record(line: bool) -> impl crate::__values::Sink {
    crate::platform::Record::new(Stream::Stdout, line)
}

#[doc(hidden)]
#[inline]
pub fn error_record(line: bool) -> impl crate::__values::Sink {
    crate::platform::Record::new(Stream::Stderr, line)
}

/// Prints to standard output, like `print!` of the standard library, as one record.
///
/// All that one call prints stays together: the output of another thread comes before it or after
/// it, never between. The order of records of different threads is open.
///
/// Where the format string has `{}` alone, integers, `bool`, `char` and text need no `core::fmt`, whose code is large
/// and slow. Anything else goes through it.
///
/// On a host target it is `print!`.
///
/// ```
/// gpu_std::gpu_print!("thread {} of {}\n", gpu_std::thread_id(), gpu_std::thread_count());
/// ```
#[macro_export]
macro_rules! gpu_print {
    ($($arg:tt)*) => {
        $crate::__give!($crate::__record(false), $($arg)*)
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
        $crate::__give!($crate::__record(true), "")
    };
    ($($arg:tt)*) => {
        $crate::__give!($crate::__record(true), $($arg)*)
    };
}

/// Prints to standard error, like `eprint!` of the standard library, as one record.
///
/// See [`gpu_print!`](crate::gpu_print). With `lto = "fat"` the optimizer removes std's `eprint!` on
/// `wasm32-unknown-unknown`, but not this. It is no debug message: no option leaves it out.
///
/// ```
/// gpu_std::gpu_eprint!("thread {}: ", gpu_std::thread_id());
/// ```
#[macro_export]
macro_rules! gpu_eprint {
    ($($arg:tt)*) => {
        $crate::__give!($crate::__error_record(false), $($arg)*)
    };
}

/// Prints to standard error, like `eprintln!` of the standard library, as one record.
///
/// See [`gpu_eprint!`](crate::gpu_eprint): it is also there with `lto = "fat"`.
///
/// ```
/// gpu_std::gpu_eprintln!("no room for {} bytes", 6 * 7);
/// gpu_std::gpu_eprintln!();
/// ```
#[macro_export]
macro_rules! gpu_eprintln {
    () => {
        $crate::__give!($crate::__error_record(true), "")
    };
    ($($arg:tt)*) => {
        $crate::__give!($crate::__error_record(true), $($arg)*)
    };
}
