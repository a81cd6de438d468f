//! Messages with a level and their place in the source, and `gpu_dbg!`.

use core::fmt;

/// How much a message matters.
///
/// ```
/// use gpu_std::Level;
/// assert!(Level::Error > Level::Warn && Level::Info > Level::Debug);
/// assert_eq!(Level::Warn.to_string(), "warn");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Of use to who looks for a mistake.
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

/// What the macros of levels expand to, and the one place that knows where messages go. Not part of the public
/// interface.
#[doc(hidden)]
pub fn log(level: Level, file: &str, line: u32, args: fmt::Arguments) {
    crate::platform::eprint(format_args!("[{level} {file}:{line}] {args}\n"));
}

/// What `gpu_dbg!` expands to. Not part of the public interface.
#[doc(hidden)]
pub fn debug(args: fmt::Arguments) {
    crate::platform::eprint(args);
}

/// Writes a message of any [`Level`] to standard error, as one record: `[level file:line] message`.
///
/// It takes what `format!` takes. [`gpu_error!`](crate::gpu_error), [`gpu_warn!`](crate::gpu_warn),
/// [`gpu_info!`](crate::gpu_info) and [`gpu_debug!`](crate::gpu_debug) have their level in the name.
///
/// ```
/// let level = if gpu_std::thread_id() == 0 { gpu_std::Level::Info } else { gpu_std::Level::Debug };
/// gpu_std::gpu_log!(level, "{} threads", gpu_std::thread_count()); // [info src/main.rs:2] 1 threads
/// ```
#[macro_export]
macro_rules! gpu_log {
    ($level:expr, $($arg:tt)+) => {
        $crate::__log($level, ::core::file!(), ::core::line!(), ::core::format_args!($($arg)+))
    };
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

/// Shows an expression and its value on standard error, as one record, and gives the value: std's `dbg!`.
///
/// Needs `Debug`, and no std. With several expressions it gives a tuple; with none it shows only the place.
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
        $crate::__debug(::core::format_args!(
            "[{}:{}:{}]\n", ::core::file!(), ::core::line!(), ::core::column!()
        ))
    };
    ($value:expr $(,)?) => {
        // A match, so that temporaries of the expression live as long as they do without the macro.
        match $value {
            value => {
                $crate::__debug(::core::format_args!(
                    "[{}:{}:{}] {} = {:#?}\n",
                    ::core::file!(),
                    ::core::line!(),
                    ::core::column!(),
                    ::core::stringify!($value),
                    &value
                ));
                value
            }
        }
    };
    ($($value:expr),+ $(,)?) => {
        ($($crate::gpu_dbg!($value)),+,)
    };
}
