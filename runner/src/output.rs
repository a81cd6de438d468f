//! Lines for the user. A stream that nobody reads any more is no error of the program that runs: what
//! cannot be written is dropped, where `println!` would panic.

/// Writes a line to stdout.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// Writes a line to stderr.
macro_rules! note {
    ($($text:tt)*) => {{
        use std::io::Write;
        _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
