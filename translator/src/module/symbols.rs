//! Readable names of symbols.
//!
//! A mangled name may refer to parts of itself, so that some hundred bytes unfold to gigabytes. No compiler
//! makes such names, so readable names have an end.

use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

/// Bytes of a readable name; it may also be as long as its symbol.
const LONGEST: usize = 4096;
/// The readable names of a module may have so many times the bytes of its symbols, ...
const MOST_TIMES: usize = 4;
/// ... and so many more.
const MOST: usize = 1 << 20;
/// What stands for the rest of a name.
const REST: &str = "…";

/// Takes the beginning of what is written.
struct Beginning {
    text: String,
    most: usize,
}

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.most - self.text.len();
        if text.len() <= room {
            self.text.push_str(text);
            return Ok(());
        }
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

/// What `write` writes, up to the longest name that `symbol` may have.
fn beginning(symbol: &str, write: impl FnOnce(&mut Beginning) -> fmt::Result) -> String {
    let mut name = Beginning {
        text: String::new(),
        most: LONGEST.max(symbol.len()),
    };
    if write(&mut name).is_err() {
        name.text.push_str(REST);
    }
    name.text
}

/// The readable name of a symbol of Rust's, and any other symbol as it is.
pub fn demangled(symbol: &str) -> String {
    beginning(symbol, |name| write!(name, "{:#}", rustc_demangle::demangle(symbol)))
}

/// The readable name of a symbol of C++'s.
pub fn demangled_cpp(symbol: &str) -> Option<String> {
    let parsed = cpp_demangle::Symbol::new(symbol).ok()?;
    Some(beginning(symbol, |name| {
        parsed.structured_demangle(name, &cpp_demangle::DemangleOptions::default())
    }))
}

/// Makes the readable names of a module's functions.
pub struct Demangler<'s> {
    /// Those of symbols that were there before: copies of a function have one.
    known: FxHashMap<&'s str, String>,
    /// Bytes that names may have yet.
    left: usize,
}

impl<'s> Demangler<'s> {
    /// For symbols that have so many bytes together.
    pub fn new(symbols: usize) -> Demangler<'s> {
        Demangler {
            known: FxHashMap::default(),
            left: symbols.saturating_mul(MOST_TIMES).saturating_add(MOST),
        }
    }

    /// The readable name of a symbol; the symbol itself once names have become too many bytes.
    pub fn name(&mut self, symbol: &'s str) -> String {
        if self.left == 0 {
            return symbol.to_owned();
        }
        let name = self.known.entry(symbol).or_insert_with(|| demangled(symbol));
        self.left = self.left.saturating_sub(name.len());
        name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tuple that has the one before it twice, so many times: 2^`depth` units, in six bytes for each step.
    fn unfolding(depth: usize) -> String {
        let mut symbol = String::from("_RINvC1a1fuE");
        let inner = symbol.len();
        symbol.truncate(inner - 2);
        // `T` opens a tuple and `E` closes it; `B` is the type at an offset past `_R`, in base 62.
        let base62 = |mut number: usize| {
            if number == 0 {
                return "_".to_owned();
            }
            number -= 1;
            let mut digits = Vec::new();
            loop {
                digits.push(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 62]);
                number /= 62;
                if number == 0 {
                    break;
                }
            }
            digits.iter().rev().map(|digit| *digit as char).chain(['_']).collect()
        };
        let mut last = symbol.len() - 2;
        symbol.push_str("TuuE");
        for _ in 0..depth {
            let at = symbol.len() - 2;
            let back = format!("B{}", base62(last));
            symbol.push_str(&format!("T{back}{back}E"));
            last = at;
        }
        symbol.push('E');
        symbol
    }

    #[test]
    fn names_end() {
        let short = demangled(&unfolding(2));
        assert_eq!(
            short,
            "a::f::<((), ()), (((), ()), ((), ())), ((((), ()), ((), ())), (((), ()), ((), ())))>"
        );
        let long = demangled(&unfolding(60));
        assert!(
            long.starts_with("a::f::<((), ()), (((), ())") && long.ends_with(REST),
            "{long}"
        );
        assert_eq!(long.len(), LONGEST + REST.len());
        let plain = "é".repeat(LONGEST);
        assert_eq!(demangled(&plain), plain, "what is not mangled stays whole");
    }

    #[test]
    fn names_of_cpp_end() {
        assert_eq!(demangled_cpp("_ZN1a1fEv").as_deref(), Some("a::f()"));
        // Each argument is a pair of the one before, which is the substitution after that of its template.
        let mut symbol = String::from("_Z1fI1aEv1bIS_S_E");
        for pair in (2..36).step_by(2) {
            let last = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[pair] as char;
            symbol.push_str(&format!("1bIS{last}_S{last}_E"));
        }
        let name = demangled_cpp(&symbol).expect("mangled as C++ does");
        assert!(name.len() <= LONGEST + REST.len(), "{}", name.len());
        assert!(name.ends_with(REST), "{name}");
    }

    #[test]
    fn all_names_together_end() {
        let symbol = unfolding(20);
        let mut demangler = Demangler::new(symbol.len() * 4000);
        let names: Vec<String> = (0..4000).map(|_| demangler.name(&symbol)).collect();
        assert!(names[0].starts_with("a::f"));
        assert_eq!(names[3999], symbol);
        let bytes: usize = names.iter().map(String::len).sum();
        assert!(bytes < (MOST_TIMES + 2) * 4000 * symbol.len() + 2 * MOST, "{bytes}");
    }
}
