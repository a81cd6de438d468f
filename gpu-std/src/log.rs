//! Messages with a level and their place in the source, and `gpu_dbg!`: the debug messages of `gpu-run`, which
//! its options show, filter and leave out.

use core::fmt;

use crate::__values::Sink;

/// How much a message matters.
///
/// ```
/// use gpu_std::Level;
/// assert!(Level::Error > Level::Warn && Level::Info > Level::Debug);
/// assert_eq!(Level::Warn.to_string(), "warn");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Of use in looking for a mistake.
    Debug,
    /// What the program does.
    Info,
    /// Something unexpected, with which it goes on.
    Warn,
    /// Something that it could not do.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        })
    }
}

/// Whether messages of a level are shown. The translator replaces it by `false` for `--no-debug`, and then drops
/// what hangs on it. Not part of the public interface; so are the next two.
#[doc(hidden)]
#[inline]
pub fn wanted(level: Level) -> bool {
    crate::platform::wanted(level)
}

#[doc(hidden)]
#[inline]
pub fn message(level: Level, file: &str, line: u32) -> impl Sink {
    crate::platform::Message::begin(level, file, line)
}

#[doc(hidden)]
#[inline]
pub fn remark() -> impl Sink {
    crate::platform::Message::new()
}

/// Sends a debug message of any [`Level`], which `gpu-run` writes to standard error as one record:
/// `[LEVEL file:line] message`.
///
/// It takes what `format!` takes. [`gpu_error!`](crate::gpu_error), [`gpu_warn!`](crate::gpu_warn),
/// [`gpu_info!`](crate::gpu_info) and [`gpu_debug!`](crate::gpu_debug) have their level in the name.
///
/// Where the format string has `{}` alone, its texts are sent as they are, one instruction each. So are values that are
/// numbers of up to 64 bits, `bool`, `char` or text: the host formats them. Anything else, such as `{name}`, `{:?}` or
/// a type of the program's own, is formatted by `core::fmt` on the device. Its code is large and slow.
///
/// The arguments are not evaluated where the message is not wanted, because of `--debug-level` or `--debug-only`. With
/// `--no-debug` the translator removes the whole call from an optimized module. On a host target every message is
/// written.
///
/// ```
/// let level = if gpu_std::thread_id() == 0 { gpu_std::Level::Info } else { gpu_std::Level::Debug };
/// gpu_std::gpu_log!(level, "{} threads", gpu_std::thread_count()); // [INFO src/main.rs:2] 1 threads
/// ```
///
/// What cannot be shown does not compile:
///
/// ```compile_fail
/// gpu_std::gpu_log!(gpu_std::Level::Info, "{}", [1, 2]);
/// ```
#[macro_export]
macro_rules! gpu_log {
    ($level:expr, $($arg:tt)+) => {{
        let level: $crate::Level = $level;
        if $crate::__wanted(level) {
            $crate::__give!($crate::__message(level, ::core::file!(), ::core::line!()), $($arg)+);
        }
    }};
}

/// [`gpu_log!`](crate::gpu_log) with [`Level::Error`](crate::Level::Error).
///
/// ```
/// gpu_std::gpu_error!("no input");
/// ```
#[macro_export]
macro_rules! gpu_error {
    ($($arg:tt)+) => { $crate::gpu_log!($crate::Level::Error, $($arg)+) };
}

/// [`gpu_log!`](crate::gpu_log) with [`Level::Warn`](crate::Level::Warn).
///
/// ```
/// gpu_std::gpu_warn!("{} values are missing", 3);
/// ```
#[macro_export]
macro_rules! gpu_warn {
    ($($arg:tt)+) => { $crate::gpu_log!($crate::Level::Warn, $($arg)+) };
}

/// [`gpu_log!`](crate::gpu_log) with [`Level::Info`](crate::Level::Info).
///
/// ```
/// gpu_std::gpu_info!("step {}", 1);
/// ```
#[macro_export]
macro_rules! gpu_info {
    ($($arg:tt)+) => { $crate::gpu_log!($crate::Level::Info, $($arg)+) };
}

/// [`gpu_log!`](crate::gpu_log) with [`Level::Debug`](crate::Level::Debug).
///
/// ```
/// let x = 0.5;
/// gpu_std::gpu_debug!("{x} becomes {}", gpu_std::math::sin(x));
/// ```
#[macro_export]
macro_rules! gpu_debug {
    ($($arg:tt)+) => { $crate::gpu_log!($crate::Level::Debug, $($arg)+) };
}

/// Shows an expression and its value on standard error, as one record, and returns the value: std's `dbg!`.
///
/// Needs `Debug`, and no std. With several expressions it returns a tuple; with none it shows only the place. It is a
/// debug message without a level, which counts as [`Level::Debug`](crate::Level::Debug). The expression is evaluated in
/// any case.
///
/// ```
/// let half = gpu_std::gpu_dbg!(6 * 7) / 2; // [src/main.rs:1:12] 6 * 7 = 42
/// assert_eq!(half, 21);
/// assert_eq!(gpu_std::gpu_dbg!(1, "two"), (1, "two"));
/// gpu_std::gpu_dbg!();
/// ```
#[macro_export]
macro_rules! gpu_dbg {
    () => {
        if $crate::__wanted($crate::Level::Debug) {
            $crate::__give!(
                $crate::__remark(), "{}",
                ::core::concat!("[", ::core::file!(), ":", ::core::line!(), ":", ::core::column!(), "]")
            );
        }
    };
    ($value:expr $(,)?) => {
        // A match, so that temporaries of the expression live as long as they do without the macro.
        match $value {
            value => {
                if $crate::__wanted($crate::Level::Debug) {
                    #[allow(unused_imports)]
                    use $crate::__values::{AsIs as _, Shown as _, Sink as _};
                    let mut sink = $crate::__remark();
                    sink.text(::core::concat!(
                        "[", ::core::file!(), ":", ::core::line!(), ":", ::core::column!(), "] ",
                        ::core::stringify!($value), " = "
                    ));
                    (&&&$crate::__values::Inspected(&value)).give(&mut sink);
                    sink.end();
                }
                value
            }
        }
    };
    ($($value:expr),+ $(,)?) => {
        ($($crate::gpu_dbg!($value)),+,)
    };
}
