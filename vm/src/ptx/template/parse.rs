//! From clang's text of a function to its template.

use std::collections::HashMap;

use super::{CLASSES, Line, Template, Token, Width};

/// Takes a function's text apart. None if it has something that is not expected, which the tests see.
pub(super) fn parse(text: &str) -> Option<Template> {
    let (head, body) = text.split_once("\n{")?;
    // Also in the head: the result's `.param`, first.
    let params = head
        .lines()
        .skip(1)
        .filter_map(|line| line.trim().strip_prefix(".param ."));
    let params: Vec<Width> = params
        .map(|param| Width::parse(param.get(..3)?))
        .collect::<Option<_>>()?;

    let body = || body.lines().map(str::trim).take_while(|line| *line != "}");
    let body = || body().filter(|line| !line.is_empty() && !line.starts_with(".reg"));
    let mut parser = Parser::default();
    for load in body().filter_map(|line| line.strip_prefix("ld.param.")) {
        let (register, param) = load.get(4..)?.trim_end_matches("];").split_once(", [")?;
        let index = param.rsplit_once('_')?.1.parse().ok()?;
        parser.params.insert(register.trim().to_owned(), index);
    }
    if params.len() != parser.params.len() {
        return None;
    }
    // A parameter stands for the caller's register. One that the template writes has a register of its
    // own, as clang named it.
    let mut own = Vec::new();
    for line in body().filter(|line| !line.starts_with("ld.param.") && !line.starts_with("st.param.")) {
        let line = parser.tokens(line);
        own.extend(writes(&line).iter().filter_map(|at| match line.get(*at) {
            Some(Token::Param(j)) => Some(*j),
            _ => None,
        }));
    }
    let mut lines = Vec::new();
    let mut owners: Vec<_> = parser
        .params
        .clone()
        .into_iter()
        .filter(|(_, j)| own.contains(j))
        .collect();
    owners.sort_by_key(|(_, j)| *j);
    for (register, j) in owners {
        parser.params.remove(&register);
        lines.push(mov(*params.get(j)?, parser.name(&register), vec![Token::Param(j)]));
    }
    let mut slots: Vec<(usize, Width)> = Vec::new();
    for line in body().filter(|line| !line.starts_with("ld.param.")) {
        if let Some(store) = line.strip_prefix("st.param.") {
            let width = Width::parse(store.get(..3)?)?;
            let (slot, value) = store.get(4..)?.trim_end_matches(';').split_once("], ")?;
            let offset = slot
                .split_once('+')
                .map_or(Some(0), |(_, offset)| offset.parse().ok())?;
            if !slots.contains(&(offset, width)) {
                slots.push((offset, width));
            }
            let value = parser.tokens(value);
            let wide = match value[..] {
                [Token::Param(j)] => params.get(j) == Some(&Width::B64),
                [Token::Local(class, _)] => CLASSES[class].1 == "b64",
                _ => false,
            };
            let mut line = mov(width, Token::Result(offset), value);
            if wide && width == Width::B32 {
                // A store takes the low half.
                line[0] = text_token("cvt.u32.u64 ");
            }
            lines.push(line);
        } else {
            lines.push(parser.tokens(line));
        }
    }
    slots.sort_by_key(|slot| slot.0);
    for token in lines.iter_mut().flatten() {
        if let Token::Result(offset) = token {
            *offset = slots.iter().position(|slot| slot.0 == *offset)?;
        }
    }
    // The way out: at the end nothing, elsewhere a branch to it.
    let is_return = |line: &Line| *line == [text_token("ret;")];
    if lines.last().is_some_and(is_return) {
        lines.pop();
    }
    for line in lines.iter_mut().filter(|line| is_return(line)) {
        *line = vec![text_token("bra.uni "), Token::End, text_token(";")];
    }
    if lines.iter().flatten().any(is_foreign) {
        return None;
    }
    Some(finish(params, slots.into_iter().map(|slot| slot.1).collect(), lines))
}

fn mov(width: Width, to: Token, value: Line) -> Line {
    let opcode = Token::Text(format!("mov.{} ", width.ptx()));
    [opcode, to, text_token(", ")]
        .into_iter()
        .chain(value)
        .chain([text_token(";")])
        .collect()
}

fn text_token(text: &str) -> Token {
    Token::Text(text.to_owned())
}

/// Whether a token has a name that would have to be another one. An address in a register has none.
fn is_foreign(token: &Token) -> bool {
    let Token::Text(text) = token else { return false };
    text.strip_suffix('[').unwrap_or(text).contains(['%', '$', '['])
}

#[derive(Default)]
struct Parser {
    params: HashMap<String, usize>,
    labels: HashMap<String, usize>,
}

impl Parser {
    fn tokens(&mut self, line: &str) -> Line {
        let mut tokens = Vec::new();
        let mut rest = line;
        while let Some(start) = rest.find(['%', '$']) {
            let len = rest[start + 1..]
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .map_or(rest.len(), |len| start + 1 + len);
            if start > 0 {
                tokens.push(spaced(&rest[..start]));
            }
            tokens.push(self.name(&rest[start..len]));
            rest = &rest[len..];
        }
        if !rest.is_empty() {
            tokens.push(spaced(rest));
        }
        tokens
    }

    fn name(&mut self, name: &str) -> Token {
        if let Some(param) = self.params.get(name) {
            return Token::Param(*param);
        }
        if name.starts_with('$') {
            let next = self.labels.len();
            return Token::Label(*self.labels.entry(name.to_owned()).or_insert(next));
        }
        let register = &name[1..];
        let (prefix, number) = register.split_at(register.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
        let class = CLASSES.iter().position(|class| class.0 == prefix);
        match (class, number.parse()) {
            (Some(class), Ok(number)) => Token::Local(class, number),
            _ => text_token(name),
        }
    }
}

fn spaced(text: &str) -> Token {
    Token::Text(text.replace('\t', ""))
}

/// The opcode of an instruction, or of a guarded one its guard.
fn opcode(line: &Line) -> &str {
    match line.first() {
        Some(Token::Text(text)) => text.split(' ').next().unwrap_or_default(),
        _ => "",
    }
}

/// Where among an instruction's tokens the registers stand that it writes.
fn writes(line: &Line) -> &'static [usize] {
    match line.first() {
        // Guards stand before branches only.
        Some(Token::Text(text)) if text.starts_with('@') || text.starts_with("bra") => &[],
        Some(Token::Text(text)) if text.ends_with('{') => &[1, 3],
        Some(Token::Text(_)) => &[1],
        _ => &[],
    }
}

fn is_written(line: &Line, token: &Token) -> bool {
    writes(line).iter().any(|at| line.get(*at) == Some(token))
}

/// Whether an instruction takes a number for an operand of its own width. It does not where the
/// operand is a float, nor where it is of a smaller width.
fn takes_numbers(line: &Line) -> bool {
    const OPCODES: [&str; 15] = [
        "mov", "min", "max", "add", "sub", "mul", "mad", "and", "or", "xor", "shl", "shr", "not", "neg", "selp",
    ];
    let mut parts = opcode(line).split('.');
    let known = parts
        .next()
        .is_some_and(|part| OPCODES.contains(&part) || part == "setp");
    known && !parts.any(|part| matches!(part, "f32" | "f64" | "u16" | "s16" | "b16"))
}

/// The lines that write `token`, and how often it is read.
fn uses(lines: &[Line], token: &Token) -> (Vec<usize>, usize) {
    let writes: Vec<usize> = (0..lines.len()).filter(|at| is_written(&lines[*at], token)).collect();
    let all = lines.iter().flatten().filter(|other| *other == token).count();
    let reads = all - writes.len();
    (writes, reads)
}

fn finish(params: Vec<Width>, results: Vec<Width>, mut lines: Vec<Line>) -> Template {
    // Where one instruction makes a result and one move takes it over, the first can write it.
    for result in (0..results.len()).map(Token::Result) {
        let (moves, _) = uses(&lines, &result);
        let [at] = moves[..] else { continue };
        let local = lines[at][3].clone();
        if !matches!(local, Token::Local(..)) || !opcode(&lines[at]).starts_with("mov") {
            continue;
        }
        let (writes, reads) = uses(&lines, &local);
        let [from] = writes[..] else { continue };
        if reads == 1 {
            for token in lines[from].iter_mut().filter(|token| **token == local) {
                *token = result.clone();
            }
            lines.remove(at);
        }
    }
    let predicate = as_predicate(&lines, &results);

    let mut locals = [0; CLASSES.len()];
    let mut registers = vec![false; params.len()];
    let mut last_read = 0;
    let branches = lines
        .iter()
        .flatten()
        .any(|token| matches!(token, Token::Label(_) | Token::End));
    for (at, line) in lines.iter().enumerate() {
        for token in line {
            match token {
                Token::Param(j) => {
                    registers[*j] |= !takes_numbers(line);
                    last_read = at;
                }
                Token::Local(class, n) => locals[*class] = locals[*class].max(n + 1),
                _ => {}
            }
        }
    }
    let first_write = |result: usize| lines.iter().position(|line| line.contains(&Token::Result(result)));
    // With branches the order of lines is not that of time.
    let is_early = |result: usize| branches || first_write(result).is_some_and(|at| at < last_read);
    let early = (0..results.len()).map(is_early).collect();
    Template {
        params,
        results,
        lines,
        predicate,
        locals,
        branches,
        registers,
        early,
    }
}

/// The lines that leave in a predicate what they else make a result of 1 or 0.
fn as_predicate(lines: &[Line], results: &[Width]) -> Option<Vec<Line>> {
    let (last, before) = lines.split_last()?;
    let [
        Token::Text(op),
        Token::Result(0),
        Token::Text(numbers),
        condition @ Token::Local(0, _),
        Token::Text(_),
    ] = &last[..]
    else {
        return None;
    };
    let (writes, _) = uses(before, condition);
    let fits = results.len() == 1 && op == "selp.b32 " && numbers == ", 1, 0, " && writes.len() == 1;
    let renamed = |token: &Token| {
        if token == condition {
            Token::Predicate
        } else {
            token.clone()
        }
    };
    fits.then(|| before.iter().map(|line| line.iter().map(renamed).collect()).collect())
}
