//! The text of a PTX function while it grows. It has instructions, what stands after them because it
//! seldom runs, and the registers and labels that they use.

use std::fmt::Write;

/// See the module's documentation.
#[derive(Default)]
pub struct Writer {
    /// Instructions in order.
    pub hot: String,
    /// Instructions that seldom run, for the function's end.
    pub cold: String,
    /// Whether instructions go to `cold`.
    in_cold: bool,
    /// The directive for the line of what is written, or nothing.
    place: String,
    words: u32,
    pairs: u32,
    predicates: u32,
    labels: u32,
}

impl Writer {
    /// Appends a line.
    pub fn line(&mut self, line: std::fmt::Arguments) {
        let out = self.out();
        out.push('\t');
        _ = out.write_fmt(line);
        out.push('\n');
    }

    /// Appends a label.
    pub fn label(&mut self, name: &str) {
        let out = self.out();
        out.push_str(name);
        out.push_str(":\n");
        // What is aside comes after something of another line.
        if self.in_cold && !self.place.is_empty() {
            let place = std::mem::take(&mut self.place);
            self.line(format_args!("{place}"));
            self.place = place;
        }
    }

    /// Says from which line comes what is written now.
    pub fn place(&mut self, directive: String) {
        if directive != self.place {
            self.line(format_args!("{directive}"));
            self.place = directive;
        }
    }

    /// Where lines go.
    pub fn out(&mut self) -> &mut String {
        match self.in_cold {
            true => &mut self.cold,
            false => &mut self.hot,
        }
    }

    /// Sends lines to the function's end, or no longer; returns what was set before.
    pub fn set_aside(&mut self, aside: bool) -> bool {
        std::mem::replace(&mut self.in_cold, aside)
    }

    /// A new 32-bit register.
    pub fn word(&mut self) -> String {
        self.words += 1;
        format!("%w{}", self.words)
    }

    /// A new 64-bit register.
    pub fn pair(&mut self) -> String {
        self.pairs += 1;
        format!("%l{}", self.pairs)
    }

    /// A new predicate register.
    pub fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("%p{}", self.predicates)
    }

    /// A new label, beginning with `prefix`.
    pub fn new_label(&mut self, prefix: &str) -> String {
        self.labels += 1;
        format!("{prefix}_{}", self.labels)
    }

    /// A number that is used only once in the function.
    pub fn unique(&mut self) -> usize {
        self.labels += 1;
        self.labels as usize
    }

    /// Declarations of the registers that were handed out.
    pub fn declarations(&self) -> String {
        let mut out = String::new();
        for (ty, name, count) in [
            ("b32", "%w", self.words),
            ("b64", "%l", self.pairs),
            ("pred", "%p", self.predicates),
        ] {
            if count > 0 {
                _ = writeln!(out, "\t.reg .{ty} {name}<{}>;", count + 1);
            }
        }
        out
    }
}

/// The declaration of words of so many bits in memory, with their values.
pub fn constant(bits: u32, name: &str, values: &[String]) -> String {
    format!(
        ".global .align {} .b{bits} {name}[{}] = {{{}}};\n",
        bits / 8,
        values.len(),
        values.join(", ")
    )
}

/// Appends a line to a [`Writer`] that is the field `w`.
macro_rules! ptx {
    ($this:expr, $($format:tt)*) => {
        $this.w.line(format_args!($($format)*))
    };
}
pub(super) use ptx;
