use super::*;
use std::string::{String, ToString};
use std::{format, vec};

/// Notes the text, and how many values were formatted by `core::fmt`.
struct Noted<'a>(&'a mut String, &'a mut u32);

impl Sink for Noted<'_> {
    fn text(&mut self, text: &str) {
        self.0.push_str(text);
    }
    fn i64(&mut self, value: i64) {
        self.0.push_str(&value.to_string());
    }
    fn u64(&mut self, value: u64) {
        self.0.push_str(&value.to_string());
    }
    fn f32(&mut self, value: f32) {
        self.0.push_str(&value.to_string());
    }
    fn f64(&mut self, value: f64) {
        self.0.push_str(&value.to_string());
    }
    fn char(&mut self, value: char) {
        self.0.push(value);
    }
    fn shown(&mut self, value: fmt::Arguments) {
        *self.1 += 1;
        self.0.push_str(&format!("{value}"));
    }
    fn end(&mut self) {
        self.0.push('.');
    }
}

/// The text is that of `format!`, and `core::fmt` is called so many times.
macro_rules! check {
    ($calls:literal: $($all:tt)*) => {{
        let (mut text, mut calls) = (String::new(), 0);
        crate::__give!(Noted(&mut text, &mut calls), $($all)*);
        assert_eq!(text, format!($($all)*) + ".");
        assert_eq!(calls, $calls, "{text}");
    }};
}

struct Own;

impl Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("own")
    }
}

#[test]
fn plain_values_are_given_as_they_are() {
    let name = String::from("name");
    let (mut changed, numbers) = (3i16, vec![1u64, u64::MAX]);
    check!(0: "");
    check!(0: "text alone",);
    check!(0: "{}", 5);
    check!(0: "{} of {}: {}", -1, 7usize, -2.5);
    check!(0: "{}{}", 'é', true);
    check!(0: "{} {} {}, {}", "text", name, &name, &&name[1..]);
    check!(0: "{} {}", numbers[1], &numbers[0]);
    check!(0: "{}", &mut changed);
    check!(0: "{} {}", i64::MIN, f32::MAX);
    check!(0: "{}", if name.is_empty() { "empty" } else { "full" });
    check!(0: "{}", numbers.iter().map(|number| number / 3).max().unwrap_or_default());
}

#[test]
fn what_is_not_plain_goes_through_core_fmt() {
    let (name, width) = ("name", 8);
    check!(1: "{name} {}", 1);
    check!(1: "{0} {0}", 1);
    check!(1: "{:>4} {:?}", 1, name);
    check!(1: "{{}} {}", 1);
    check!(1: "{:?}", [1, 2]);
    check!(1: "{x} {}", 2, x = 1);
    check!(1: "{:width$}|{:.1}", 1, 2.25);
    check!(1: concat!("a", "{}"), 1);
    // Only this value is.
    check!(1: "{} {}", Own, 5);
    check!(2: "{} {}", i128::MAX, format_args!("{width}"));
}

#[test]
fn types_that_are_open_are_formatted() {
    fn show<T: Display>(value: T) {
        check!(1: "<{}>", value);
    }
    show(5);
    show("text");
}

#[test]
fn arguments_are_evaluated_first_and_once() {
    let order = core::cell::RefCell::new(String::new());
    let next = |number: u32| {
        order.borrow_mut().push_str(&number.to_string());
        number
    };
    let (mut text, mut calls) = (String::new(), 0);
    crate::__give!(
        Noted(&mut text, &mut calls),
        "{}, {}: {}",
        next(1),
        next(2),
        order.borrow().clone()
    );
    assert_eq!((text.as_str(), order.borrow().as_str()), ("1, 2: 12.", "12"));
}

/// A sink begins a message when it is made: what arguments say themselves must come before.
#[test]
fn a_sink_is_made_when_the_values_are_there() {
    let order = core::cell::RefCell::new(String::new());
    for plain in [true, false] {
        let (mut text, mut calls) = (String::new(), 0);
        let number = || {
            order.borrow_mut().push_str("value ");
            7
        };
        let begin = || order.borrow_mut().push_str("sink ");
        if plain {
            crate::__give!(
                {
                    begin();
                    Noted(&mut text, &mut calls)
                },
                "{}",
                number()
            );
        } else {
            crate::__give!(
                {
                    begin();
                    Noted(&mut text, &mut calls)
                },
                "{:?}",
                number()
            );
        }
        assert_eq!(text, "7.");
    }
    assert_eq!(order.into_inner(), "value sink value sink ");
}

/// Constants of the program's are not those of the macro.
#[test]
fn names_of_the_program_are_its_own() {
    const VALUES: usize = 7;
    const TEXTS: &str = "x";
    let (mut text, mut calls) = (String::new(), 0);
    crate::__give!(Noted(&mut text, &mut calls), "{} {}", VALUES, TEXTS);
    assert_eq!(text, "7 x.");
}

#[test]
fn format_strings_are_taken_apart() {
    assert_eq!(texts::<3>("a {} b {}"), ["a ", " b ", ""]);
    assert_eq!(texts::<1>("é"), ["é"]);
    assert_eq!(texts::<2>("{}é"), ["", "é"]);
    for (format, values) in [
        ("{", 0),
        ("}", 0),
        ("{}", 0),
        ("{}", 2),
        ("{ }", 1),
        ("{{{}", 1),
        ("{:?}", 1),
    ] {
        assert!(!is_plain(format, values), "{format}");
    }
}

#[test]
#[allow(clippy::needless_borrow)] // As the macro has it: which trait it is depends on the type.
fn inspected_values_are_what_debug_makes() {
    let mut text = String::new();
    let mut calls = 0;
    let mut noted = Noted(&mut text, &mut calls);
    (&&&Inspected(&5)).give(&mut noted);
    (&&&Inspected(&&true)).give(&mut noted);
    (&&&Inspected(&"text")).give(&mut noted);
    (&&&Inspected(&1.0)).give(&mut noted);
    (&&&Inspected(&Some(1))).give(&mut noted);
    assert_eq!(text, format!("5true{:#?}{:#?}{:#?}", "text", 1.0, Some(1)));
    assert_eq!(calls, 3);
}
