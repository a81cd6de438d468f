//! How the macros that print take a format string apart at compile time. Where it has `{}` alone, texts and values are
//! passed on as they are, and `core::fmt` is not called. What is public here is for these macros only.

use core::fmt::{self, Debug, Display};

/// Takes the parts of a message or a line.
pub trait Sink: Sized {
    fn text(&mut self, text: &str);
    fn i64(&mut self, value: i64);
    fn u64(&mut self, value: u64);
    fn i32(&mut self, value: i32) {
        self.i64(value.into());
    }
    fn u32(&mut self, value: u32) {
        self.u64(value.into());
    }
    fn f32(&mut self, value: f32);
    fn f64(&mut self, value: f64);
    fn char(&mut self, value: char);
    fn bool(&mut self, value: bool) {
        self.text(if value { "true" } else { "false" });
    }
    /// What is no such value.
    fn shown(&mut self, value: fmt::Arguments);
    /// All that belongs together was given.
    fn end(&mut self);
}

/// A value that a [`Sink`] takes as it is, and shows as `{}` does.
pub trait Scalar {
    fn give(&self, to: &mut impl Sink);
}

/// One that `{:?}` shows in the same way.
pub trait Same: Scalar {}

macro_rules! scalars {
    ($($ty:ty as $method:ident;)*) => {
        $(impl Scalar for $ty {
            #[inline]
            fn give(&self, to: &mut impl Sink) {
                to.$method((*self).into());
            }
        })*
    };
}
scalars! {
    i8 as i32; i16 as i32; i32 as i32; i64 as i64; u8 as u32; u16 as u32; u32 as u32; u64 as u64;
    f32 as f32; f64 as f64; bool as bool; char as char;
}

macro_rules! sizes {
    ($($ty:ty, $narrow:ident, $wide:ident;)*) => {
        $(impl Scalar for $ty {
            #[inline]
            fn give(&self, to: &mut impl Sink) {
                match size_of::<$ty>() {
                    4 => to.$narrow(*self as $narrow),
                    _ => to.$wide(*self as $wide),
                }
            }
        })*
    };
}
sizes! { usize, u32, u64; isize, i32, i64; }

macro_rules! same {
    ($($ty:ty)*) => { $(impl Same for $ty {})* };
}
same! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize bool }

#[cfg(feature = "std")]
impl Scalar for std::string::String {
    #[inline]
    fn give(&self, to: &mut impl Sink) {
        to.text(self);
    }
}

impl Scalar for str {
    #[inline]
    fn give(&self, to: &mut impl Sink) {
        to.text(self);
    }
}

macro_rules! references {
    ($($ty:ty)*) => {
        $(
            impl<T: Scalar + ?Sized> Scalar for $ty {
                #[inline]
                fn give(&self, to: &mut impl Sink) {
                    (**self).give(to);
                }
            }
            impl<T: Same + ?Sized> Same for $ty {}
        )*
    };
}
references! { &T &mut T }

/// An argument of a macro. `(&&&Value(x)).give(to)` takes the first of these traits that there is for it. The methods
/// of references are looked at before those of what they refer to.
pub struct Value<'a, T: ?Sized>(pub &'a T);

pub trait AsIs {
    fn give(&self, to: &mut impl Sink);
}

impl<T: Scalar + ?Sized> AsIs for &&Value<'_, T> {
    #[inline]
    fn give(&self, to: &mut impl Sink) {
        self.0.give(to);
    }
}

pub trait Shown {
    fn give(&self, to: &mut impl Sink);
}

impl<T: Display + ?Sized> Shown for &Value<'_, T> {
    #[inline]
    fn give(&self, to: &mut impl Sink) {
        to.shown(format_args!("{}", self.0));
    }
}

/// What `{}` is not for: the format string has something else then, and this is not called; or `format_args!` says so.
pub trait NotShown {
    fn give(&self, _to: &mut impl Sink) {}
}

impl<T: ?Sized> NotShown for Value<'_, T> {}

/// The same for `{:#?}`.
pub struct Inspected<'a, T: ?Sized>(pub &'a T);

impl<T: Same + ?Sized> AsIs for &&Inspected<'_, T> {
    #[inline]
    fn give(&self, to: &mut impl Sink) {
        self.0.give(to);
    }
}

impl<T: Debug + ?Sized> Shown for &Inspected<'_, T> {
    #[inline]
    fn give(&self, to: &mut impl Sink) {
        to.shown(format_args!("{:#?}", self.0));
    }
}

/// Whether a format string has `{}` so many times, and nothing else in braces.
pub const fn is_plain(format: &str, values: usize) -> bool {
    let bytes = format.as_bytes();
    let (mut at, mut found) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'{' if at + 1 < bytes.len() && bytes[at + 1] == b'}' => {
                found += 1;
                at += 1;
            }
            b'{' | b'}' => return false,
            _ => {}
        }
        at += 1;
    }
    found == values
}

/// The texts around the `{}` of a plain format string, which has `N` - 1 of them.
pub const fn texts<const N: usize>(format: &'static str) -> [&'static str; N] {
    let mut texts = [""; N];
    if !is_plain(format, N - 1) {
        return texts;
    }
    let (mut rest, mut index) = (format, 0);
    while index < N {
        let mut at = 0;
        while at < rest.len() && rest.as_bytes()[at] != b'{' {
            at += 1;
        }
        texts[index] = rest.split_at(at).0;
        if at < rest.len() {
            rest = rest.split_at(at + 2).1;
        } else {
            rest = "";
        }
        index += 1;
    }
    texts
}

/// Passes to a sink what a format string and its arguments make.
///
/// Arguments are evaluated before the first of them is given, each once.
#[doc(hidden)]
#[macro_export]
macro_rules! __give {
    // Arguments one by one, until there are no more, or one has a name, which is for `format_args!` to find.
    (@args $sink:tt ($($all:tt)*) $format:literal [$($arg:expr,)*] $name:ident = $($rest:tt)*) => {
        $crate::__give!(@shown $sink ($($all)*))
    };
    (@args $sink:tt $all:tt $format:literal [$($arg:expr,)*] $next:expr $(, $($rest:tt)*)?) => {
        $crate::__give!(@args $sink $all $format [$($arg,)* $next,] $($($rest)*)?)
    };
    (@args $sink:tt ($($all:tt)*) $format:literal [$($arg:expr,)*]) => {{
        const __GPU_STD_VALUES: usize = { const __GPU_STD_NAMES: &[&str] = &[$(stringify!($arg)),*]; __GPU_STD_NAMES.len() };
        if const { $crate::__values::is_plain($format, __GPU_STD_VALUES) } {
            const __GPU_STD_TEXTS: [&str; __GPU_STD_VALUES + 1] = $crate::__values::texts($format);
            $crate::__give!(@bind $sink __GPU_STD_TEXTS [] $($arg,)*);
        } else {
            $crate::__give!(@shown $sink ($($all)*));
        }
    }};
    // A match, so that temporaries live as long as they do in `format_args!`. Each `value` is another one.
    (@bind $sink:tt $texts:ident [$($value:ident)*] $next:expr, $($rest:expr,)*) => {
        match &$next {
            value => $crate::__give!(@bind $sink $texts [$($value)* value] $($rest,)*),
        }
    };
    // The sink begins when all values are there: what they say of themselves comes before it.
    (@bind ($sink:expr) $texts:ident [$($value:ident)*]) => {{
        let mut sink = $sink;
        $crate::__give!(@parts sink $texts [0] $($value)*);
        $crate::__values::Sink::end(&mut sink);
    }};
    (@shown ($sink:expr) ($($all:tt)*)) => {
        match ::core::format_args!($($all)*) {
            all => {
                let mut sink = $sink;
                $crate::__values::Sink::shown(&mut sink, all);
                $crate::__values::Sink::end(&mut sink);
            }
        }
    };
    (@parts $sink:ident $texts:ident [$index:expr] $value:ident $($rest:ident)*) => {{
        $crate::__give!(@text $sink $texts[$index]);
        (&&&$crate::__values::Value($value)).give(&mut $sink);
        $crate::__give!(@parts $sink $texts [$index + 1] $($rest)*)
    }};
    (@parts $sink:ident $texts:ident [$index:expr]) => {
        $crate::__give!(@text $sink $texts[$index])
    };
    (@text $sink:ident $text:expr) => {
        if const { !$text.is_empty() } {
            $crate::__values::Sink::text(&mut $sink, const { $text });
        }
    };
    (@all $sink:tt $all:tt $format:literal $(, $($rest:tt)*)?) => {
        $crate::__give!(@args $sink $all $format [] $($($rest)*)?)
    };
    (@all $sink:tt ($($all:tt)*) $($any:tt)*) => {
        $crate::__give!(@shown $sink ($($all)*))
    };
    ($sink:expr, $($all:tt)*) => {{
        #[allow(unused_imports)]
        use $crate::__values::{AsIs as _, NotShown as _, Shown as _};
        $crate::__give!(@all ($sink) ($($all)*) $($all)*);
    }};
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[path = "values/tests.rs"]
mod tests;
