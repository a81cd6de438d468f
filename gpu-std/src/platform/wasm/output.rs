//! Debug messages, and records of standard output and error.

use core::fmt;
use core::mem::MaybeUninit;

use super::import;
use crate::__values::Sink;
use crate::Level;
use crate::print::Stream;

/// The thread's pending debug message. Each part is an instruction, and the host puts them together.
pub struct Message;

impl Message {
    #[inline]
    pub fn begin(level: Level, file: &str, line: u32) -> Message {
        // SAFETY: `file` is `len` readable bytes, and the import only reads them.
        unsafe { import::dbg_level(level as i32, file.as_ptr(), file.len(), line as i32) };
        Message
    }

    #[inline]
    pub fn new() -> Message {
        Message
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.text(piece);
        Ok(())
    }
}

macro_rules! parts {
    ($($name:ident $ty:ident $import:ident;)*) => {
        $(
            #[inline]
            fn $name(&mut self, value: $ty) {
                import::$import(value.into());
            }
        )*
    };
}

impl Sink for Message {
    #[inline]
    fn text(&mut self, text: &str) {
        // SAFETY: `text` is `len` readable bytes, and the import only reads them.
        unsafe { import::dbg_str(text.as_ptr(), text.len()) };
    }
    parts! {
        i32 i32 dbg_i32; u32 u32 dbg_u32; i64 i64 dbg_i64; u64 u64 dbg_u64; f32 f32 dbg_f32; f64 f64 dbg_f64;
        bool bool dbg_bool;
    }
    #[inline]
    fn char(&mut self, value: char) {
        import::dbg_char(value as u32);
    }
    #[inline(never)]
    fn shown(&mut self, value: fmt::Arguments) {
        // Only a user's own `Display` can fail. What it wrote before that is still shown.
        let _ = fmt::write(self, value);
    }
    #[inline]
    fn end(&mut self) {
        import::dbg_nl();
    }
}

/// Bytes that are gathered before they go to the thread's pending record: a line of the usual length is one piece.
const GATHERED: usize = 96;

/// What is printed by one call.
pub struct Record {
    bytes: [MaybeUninit<u8>; GATHERED],
    used: usize,
    stream: Stream,
    line: bool,
}

impl Record {
    // A call keeps the compiler from filling the bytes.
    #[inline(never)]
    pub fn new(stream: Stream, line: bool) -> Record {
        Record {
            bytes: [MaybeUninit::uninit(); GATHERED],
            used: 0,
            stream,
            line,
        }
    }

    /// A number with at least so many digits, up to 9.
    #[inline(never)]
    fn digits(&mut self, mut value: u32, least: u32) {
        // Places that are not reached stay 0; there are 10 digits at most.
        let mut digits = [b'0'; 10];
        let mut count = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
            count += 1;
            if value == 0 && count >= least {
                break;
            }
        }
        // SAFETY: at most all of them, and they are ASCII.
        self.text(unsafe { core::str::from_utf8_unchecked(digits.get_unchecked(10 - count as usize..)) });
    }

    fn pass_on(&mut self) {
        // SAFETY: so many bytes of it were written, and the import only reads them.
        unsafe { import::print(self.stream as i32, self.bytes.as_ptr().cast(), self.used) };
        self.used = 0;
    }
}

impl fmt::Write for Record {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.text(piece);
        Ok(())
    }
}

impl Sink for Record {
    #[inline(never)]
    fn text(&mut self, text: &str) {
        if text.len() > GATHERED - self.used {
            self.pass_on();
        }
        if text.len() > GATHERED {
            // SAFETY: as in `Message::text`.
            unsafe { import::print(self.stream as i32, text.as_ptr(), text.len()) };
            return;
        }
        // SAFETY: after what is used there is room for so many bytes, as was just compared.
        unsafe {
            let to = self.bytes.as_mut_ptr().add(self.used).cast::<u8>();
            to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        self.used += text.len();
    }

    #[inline(never)]
    fn u64(&mut self, value: u64) {
        // 32 bits divide several times as fast.
        const PART: u64 = 1_000_000_000;
        let (above, low) = (value / PART, (value % PART) as u32);
        let (high, middle) = ((above / PART) as u32, (above % PART) as u32);
        match (high, middle) {
            (0, 0) => return self.digits(low, 1),
            (0, _) => self.digits(middle, 1),
            _ => {
                self.digits(high, 1);
                self.digits(middle, 9);
            }
        }
        self.digits(low, 9);
    }

    #[inline]
    fn u32(&mut self, value: u32) {
        self.digits(value, 1);
    }

    fn i32(&mut self, value: i32) {
        if value < 0 {
            self.text("-");
        }
        self.digits(value.unsigned_abs(), 1);
    }

    fn i64(&mut self, value: i64) {
        if value < 0 {
            self.text("-");
        }
        self.u64(value.unsigned_abs());
    }

    fn f32(&mut self, value: f32) {
        self.shown(format_args!("{value}"));
    }

    fn f64(&mut self, value: f64) {
        self.shown(format_args!("{value}"));
    }

    fn char(&mut self, value: char) {
        self.text(value.encode_utf8(&mut [0; 4]));
    }

    #[inline(never)]
    fn shown(&mut self, value: fmt::Arguments) {
        // As in `Message`.
        let _ = fmt::write(self, value);
    }

    #[inline(never)]
    fn end(&mut self) {
        if self.line {
            self.text("\n");
        }
        if self.used > 0 {
            self.pass_on();
        }
        import::print_end(self.stream as i32);
    }
}

/// Adds to the thread's pending record of standard error.
#[cfg(all(feature = "std", target_os = "unknown"))]
pub fn print_error(bytes: &[u8]) {
    // SAFETY: `bytes` is `len` readable bytes, and the import only reads them.
    unsafe { import::print(Stream::Stderr as i32, bytes.as_ptr(), bytes.len()) };
}

/// Ends the thread's pending record of standard error: it is written as one piece.
#[cfg(all(feature = "std", target_os = "unknown"))]
pub fn end_error() {
    import::print_end(Stream::Stderr as i32);
}
