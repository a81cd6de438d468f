//! One text as several, which are compiled at the same time and linked: the machine code is the same, for ptxas looks at one
//! function at a time.
//!
//! A part has the text's head, some of its functions, and what these name: declarations of functions, constants. A name that
//! several parts know is visible in the one that has it. The first part has no functions, but the constants that others have
//! to find.
//!
//! Where a function has changed, its part and the first one have; the others are the same texts as before. So the driver,
//! which keeps the code of each, compiles two.

use std::collections::{BTreeSet, HashMap};

/// What a text of PTX from [`compile`](super::compile) consists of.
#[derive(Default)]
struct Items<'t> {
    /// Directives for the whole module, and declarations of the runtime.
    head: String,
    functions: Vec<Function<'t>>,
    constants: Vec<Constant<'t>>,
}

/// A function or kernel.
struct Function<'t> {
    name: &'t str,
    /// Its first line, without the body.
    head: &'t str,
    /// All of it, and the comment before it, which has so many bytes.
    text: &'t str,
    comment: usize,
    is_kernel: bool,
}

/// Words in constant or global memory.
struct Constant<'t> {
    name: &'t str,
    /// The line up to its initial values.
    declaration: &'t str,
    line: &'t str,
}

const VISIBLE: &str = ".visible ";

/// The name that stands before a character.
fn name_before(text: &str, end: char) -> Option<&str> {
    let before = text.split(end).next()?.trim_end();
    before.rsplit([' ', ')']).next().filter(|name| !name.is_empty())
}

/// The name of a function, by its first line.
fn function_name(head: &str) -> Option<&str> {
    let (_, rest) = head.split_once(".func ").or_else(|| head.split_once(".entry "))?;
    // What it returns stands before the name.
    let rest = rest
        .strip_prefix('(')
        .map_or(Some(rest), |rest| Some(rest.split_once(')')?.1))?;
    name_before(rest, '(')
}

impl<'t> Items<'t> {
    /// `None` where a line is not of the kinds that the compiler writes.
    fn of(text: &'t str) -> Option<Items<'t>> {
        let mut items = Items::default();
        let (mut at, mut comment) = (0, None);
        while at < text.len() {
            let from = at;
            let line = text[from..].lines().next()?;
            at = (from + line.len() + 1).min(text.len());
            let plain = line.strip_prefix(VISIBLE).unwrap_or(line);
            let begin = comment.take().unwrap_or(from);
            if plain.starts_with("//") {
                comment = Some(from);
            } else if [".version", ".target", ".address_size", ".extern", ".file"]
                .iter()
                .any(|directive| plain.starts_with(directive))
            {
                items.head += line;
                items.head.push('\n');
            } else if plain.starts_with(".func") || plain.starts_with(".entry") {
                if line.ends_with(';') {
                    // Parts declare what they name.
                    continue;
                }
                // The body: its own blocks are indented.
                if !text[at..].starts_with("{\n") {
                    return None;
                }
                at += text[at..].find("\n}\n")? + "\n}\n".len();
                items.functions.push(Function {
                    name: function_name(line)?,
                    head: line,
                    text: &text[begin..at],
                    comment: from - begin,
                    is_kernel: plain.starts_with(".entry"),
                });
            } else if plain.starts_with(".global") || plain.starts_with(".const") {
                let name = name_before(plain, '[')?;
                let declaration = plain.split(" = ").next()?.trim_end_matches(';');
                items.constants.push(Constant {
                    name,
                    declaration,
                    line,
                });
            } else if !line.is_empty() {
                return None;
            }
        }
        Some(items)
    }
}

/// The known names in a text, by number.
fn named<'a>(text: &'a str, numbers: &'a HashMap<&str, usize>) -> impl Iterator<Item = usize> + 'a {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_name(c))
        .filter_map(|word| numbers.get(word).copied())
}

/// Whether a part begins with a function of so many bytes, by its name: one of `size` bytes of text does on average. So where
/// parts begin does not depend on the functions before, and after one that has become longer they are soon the same again.
fn begins_part(name: &str, bytes: usize, size: usize) -> bool {
    // FNV-1a, whose upper bits depend on all characters once they are multiplied again.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    let chance = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    u128::from(chance) * (size as u128) < (bytes as u128) << 32
}

/// A text of [`compile`](super::compile) or [`join`](super::join) in parts of about `size` bytes, but for functions that are
/// larger. One part where it cannot be taken apart.
pub fn parts(text: &str, size: usize) -> Vec<String> {
    let whole = || vec![text.to_owned()];
    let Some(items) = Items::of(text) else {
        return whole();
    };
    // Functions of a part follow each other. The first part has none: what it has changes with every function.
    let mut part_of = Vec::with_capacity(items.functions.len());
    let (mut part, mut bytes) = (1, 0);
    for function in &items.functions {
        let more = function.text.len();
        let may_end = bytes >= size / 4 && begins_part(function.name, more, size);
        if bytes > 0 && (may_end || bytes + more > 2 * size) {
            (part, bytes) = (part + 1, 0);
        }
        bytes += more;
        part_of.push(part);
    }
    if part == 1 {
        return whole();
    }
    let functions = items.functions.iter().map(|function| function.name);
    let functions: HashMap<&str, usize> = functions.zip(0..).collect();
    let constants = items.constants.iter().map(|constant| constant.name);
    let constants: HashMap<&str, usize> = constants.zip(0..).collect();
    let mut uses = vec![(BTreeSet::new(), BTreeSet::new()); part + 1];
    for (function, part) in items.functions.iter().zip(&part_of) {
        let (used_functions, used_constants) = &mut uses[*part];
        used_functions.extend(named(function.text, &functions));
        used_constants.extend(named(function.text, &constants));
    }
    // A constant that one part alone knows is there, others are in the first part. So are visible ones: what they have may
    // change with every function.
    let mut home = vec![0; items.constants.len()];
    for (number, constant) in items.constants.iter().enumerate() {
        let mut users = (0..=part).filter(|part| uses[*part].1.contains(&number));
        if let (Some(user), None) = (users.next(), users.next())
            && !constant.line.starts_with(VISIBLE)
        {
            home[number] = user;
        }
        uses[home[number]].0.extend(named(constant.line, &functions));
        uses[home[number]].1.insert(number);
    }
    let shared = |number: usize| uses.iter().filter(|uses| uses.1.contains(&number)).count() > 1;
    let mut texts = vec![items.head.clone(); part + 1];
    for (part, (text, (used_functions, used_constants))) in texts.iter_mut().zip(&uses).enumerate() {
        let mut add = |words: &[&str]| words.iter().for_each(|word| text.push_str(word));
        let own = |number: usize| part_of[number] == part;
        for (number, function) in items.functions.iter().enumerate() {
            if !function.is_kernel && (own(number) || used_functions.contains(&number)) {
                add(&[if own(number) { VISIBLE } else { ".extern " }, function.head, ";\n"]);
            }
        }
        for number in used_constants {
            let constant = &items.constants[*number];
            let visible = match shared(*number) && !constant.line.starts_with(VISIBLE) {
                true => VISIBLE,
                false => "",
            };
            match home[*number] == part {
                true => add(&[visible, constant.line, "\n"]),
                false => add(&[".extern ", constant.declaration, ";\n"]),
            }
        }
        let functions = items.functions.iter().enumerate();
        for (_, function) in functions.filter(|(number, _)| own(*number)) {
            let (comment, body) = function.text.split_at(function.comment);
            let visible = if function.is_kernel { "" } else { VISIBLE };
            add(&[comment, visible, body]);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 7.5\n.target sm_75\n.address_size 64\n\n.extern .func run(.param .b64 p0);\n\n\
        .visible .const .align 8 .b8 i0_instance[80];\n\n\
        .func i0_f0(.param .b32 context);\n\
        .func (.param .align 16 .b8 ret[4]) i0_f1(.param .b32 context);\n\
        .visible .global .align 4 .b32 i0_places0[2] = {1, 2};\n\
        .global .align 4 .b32 i0_both[1] = {3};\n\
        .global .align 2 .b16 i0_units0[1] = {0};\n\
        .visible .global .align 8 .u64 i0_hidden1[1] = {i0_f1};\n\n\
        // zero\n.func i0_f0(.param .b32 context)\n{\n\tcall i0_f1, (q0);\n\tmov.u64 %l1, i0_places0;\n\tmov.u64 %l1, i0_units0;\n\tmov.u64 %l1, i0_both;\n}\n\n\
        // one\n.func (.param .align 16 .b8 ret[4]) i0_f1(.param .b32 context)\n{\n\tld.const.b64 %base, [i0_instance+16];\n\tmov.u64 %l1, i0_both;\n}\n\n\
        // start\n.visible .entry i0_start_0(.param .b64 launch, .param .b32 threads)\n{\n\tcall i0_f0, (q0);\n}\n";

    /// The lines of a part but for its head and empty ones.
    fn lines(part: &str) -> Vec<&str> {
        let head = ".version 7.5\n.target sm_75\n.address_size 64\n.extern .func run(.param .b64 p0);\n";
        let rest = part.strip_prefix(head).expect("the head");
        rest.lines().filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn a_part_declares_what_it_names_and_has_its_own_functions() {
        let parts = parts(TEXT, 1);
        assert_eq!(parts.len(), 4);
        assert_eq!(
            lines(&parts[0]),
            [
                ".extern .func (.param .align 16 .b8 ret[4]) i0_f1(.param .b32 context);",
                ".visible .const .align 8 .b8 i0_instance[80];",
                ".visible .global .align 4 .b32 i0_places0[2] = {1, 2};",
                ".visible .global .align 4 .b32 i0_both[1] = {3};",
                ".visible .global .align 8 .u64 i0_hidden1[1] = {i0_f1};",
            ]
        );
        assert_eq!(
            lines(&parts[1]),
            [
                ".visible .func i0_f0(.param .b32 context);",
                ".extern .func (.param .align 16 .b8 ret[4]) i0_f1(.param .b32 context);",
                ".extern .global .align 4 .b32 i0_places0[2];",
                ".extern .global .align 4 .b32 i0_both[1];",
                ".global .align 2 .b16 i0_units0[1] = {0};",
                "// zero",
                ".visible .func i0_f0(.param .b32 context)",
                "{",
                "\tcall i0_f1, (q0);",
                "\tmov.u64 %l1, i0_places0;",
                "\tmov.u64 %l1, i0_units0;",
                "\tmov.u64 %l1, i0_both;",
                "}",
            ]
        );
        assert_eq!(
            lines(&parts[2])[..3],
            [
                ".visible .func (.param .align 16 .b8 ret[4]) i0_f1(.param .b32 context);",
                ".extern .const .align 8 .b8 i0_instance[80];",
                ".extern .global .align 4 .b32 i0_both[1];",
            ]
        );
        assert_eq!(
            lines(&parts[3])[..3],
            [
                ".extern .func i0_f0(.param .b32 context);",
                "// start",
                ".visible .entry i0_start_0(.param .b64 launch, .param .b32 threads)",
            ]
        );
    }

    #[test]
    fn a_text_that_fits_or_is_not_understood_stays_whole() {
        assert_eq!(parts(TEXT, 1 << 20), [TEXT]);
        let other = format!("{TEXT}.weak .func other()\n{{\n}}\n");
        assert_eq!(parts(&other, 1), [other]);
    }
}
