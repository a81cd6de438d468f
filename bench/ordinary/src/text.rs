//! Texts: written, parsed, searched.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::{next, seed};

#[derive(Serialize, Deserialize)]
struct Record {
    id: u32,
    name: String,
    scores: Vec<u32>,
    active: bool,
    ratio: f64,
}

/// Formats and parses a JSON text of about 100 bytes.
pub fn json(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let record = Record {
            id: next(&mut state) % 100_000,
            name: format!("user-{}", next(&mut state) % 1000),
            scores: (0..5).map(|_| next(&mut state) % 1000).collect(),
            active: next(&mut state) % 2 == 0,
            ratio: f64::from(next(&mut state) % 10_000) / 64.0,
        };
        let text = serde_json::to_string(&record).expect("it has no keys but strings");
        let back: Record = serde_json::from_str(&text).expect("it was written here");
        let scores: u32 = back.scores.iter().sum();
        let more = back.id ^ scores ^ back.name.len() as u32 ^ u32::from(back.active) ^ back.ratio as u32;
        sum = sum.wrapping_add(more).wrapping_add(text.len() as u32);
    }
    sum
}

/// Encodes 96 bytes as base64, and decodes them.
pub fn base64(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let bytes: Vec<u8> = (0..96).map(|_| next(&mut state) as u8).collect();
        let text = STANDARD.encode(&bytes);
        let back = STANDARD.decode(&text).expect("it was encoded here");
        let letters = text
            .bytes()
            .fold(0u32, |letters, byte| letters.wrapping_mul(31) ^ u32::from(byte));
        sum = sum.wrapping_add(letters).wrapping_add(u32::from(back == bytes));
    }
    sum
}

/// Finds dates and names in lines of a log by the crate regex-lite. The expression is compiled once a thread.
pub fn regex(id: u32, rounds: u32) -> u32 {
    let line_form = regex_lite::Regex::new(r"^(\d{4})-(\d\d)-(\d\d) user=(\w+) took (\d+)ms$").expect("it is one");
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut digits = |most: u32| next(&mut state) % most;
        let line = match digits(4) {
            0 => format!("nothing here but {} words", digits(100)),
            _ => format!(
                "20{:02}-{:02}-{:02} user=name{} took {}ms",
                digits(30),
                digits(12),
                digits(28),
                digits(50),
                digits(9000)
            ),
        };
        if let Some(found) = line_form.captures(&line) {
            let number = |i: usize| found[i].parse::<u32>().expect("digits");
            sum = sum
                .wrapping_add(number(1) ^ number(2) << 8 ^ number(5) << 12)
                .wrapping_add(found[4].len() as u32);
        }
    }
    sum
}

/// Turns a line of Markdown into HTML by pulldown-cmark.
pub fn markdown(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut number = || next(&mut state) % 1000;
        let line = match number() % 4 {
            0 => format!("# Title {} with *stress* and `code{}`", number(), number()),
            1 => format!("- item {}\n- item **{}**\n", number(), number()),
            2 => format!(
                "A [link {}](https://example.org/{}) in a line of text.",
                number(),
                number()
            ),
            _ => format!("> A quote of {} words, & {} more <b>.", number(), number()),
        };
        let mut html = String::new();
        pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(&line));
        sum = html
            .bytes()
            .fold(sum, |sum, byte| sum.wrapping_mul(31) ^ u32::from(byte));
    }
    sum
}

/// Searches a text of 256 letters for words of three letters, by `str::find`, and splits it at spaces.
pub fn find(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let letter = |state: &mut u32| match (next(state) >> 16) % 8 {
            0 => ' ',
            n => char::from(b'a' + n as u8),
        };
        let text: String = (0..256).map(|_| letter(&mut state)).collect();
        for _ in 0..4 {
            let word: String = (0..3).map(|_| letter(&mut state)).collect();
            sum = sum.wrapping_mul(5).wrapping_add(text.find(&word).unwrap_or(999) as u32);
        }
        let longest = text.split_whitespace().map(str::len).max().unwrap_or(0);
        sum = sum.wrapping_add(longest as u32);
    }
    sum
}

/// An expression: a number, or two of them with an operator.
enum Expression {
    Number(i32),
    Operation(u8, Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Parses a sum of products, of which each factor is a number or in parentheses.
    fn parse(text: &mut &[u8], operators: &[&[u8]]) -> Expression {
        let Some((first, rest)) = operators.split_first() else {
            return Expression::factor(text);
        };
        let mut left = Expression::parse(text, rest);
        while let Some(operator) = text.first().copied().filter(|byte| first.contains(byte)) {
            *text = &text[1..];
            let right = Expression::parse(text, rest);
            left = Expression::Operation(operator, Box::new(left), Box::new(right));
        }
        left
    }

    fn factor(text: &mut &[u8]) -> Expression {
        if text.first() == Some(&b'(') {
            *text = &text[1..];
            let inner = Expression::parse(text, &OPERATORS);
            *text = text.get(1..).unwrap_or(&[]);
            return inner;
        }
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = text.split_at(digits);
        *text = rest;
        Expression::Number(
            number
                .iter()
                .fold(0, |value: i32, digit| value.wrapping_mul(10) + i32::from(digit - b'0')),
        )
    }

    fn value(&self) -> i32 {
        match self {
            Expression::Number(value) => *value,
            Expression::Operation(operator, left, right) => {
                let (left, right) = (left.value(), right.value());
                match operator {
                    b'+' => left.wrapping_add(right),
                    b'-' => left.wrapping_sub(right),
                    b'*' => left.wrapping_mul(right),
                    _ => left.checked_div(right).unwrap_or(0),
                }
            }
        }
    }
}

/// Operators, those that bind less first.
const OPERATORS: [&[u8]; 2] = [b"+-", b"*/"];

/// Writes an expression of 12 numbers as text, parses it into a tree of boxes, and evaluates that.
pub fn expression(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut text = String::new();
        let mut open = 0;
        for i in 0..12 {
            let draw = next(&mut state);
            if draw % 4 == 0 {
                text.push('(');
                open += 1;
            }
            text += &(draw >> 20).to_string();
            if open > 0 && draw & 16 != 0 {
                text.push(')');
                open -= 1;
            }
            if i < 11 {
                text.push(char::from(b"+-*/"[(draw >> 8) as usize % 4]));
            }
        }
        (0..open).for_each(|_| text.push(')'));
        sum = sum.wrapping_add(Expression::parse(&mut text.as_bytes(), &OPERATORS).value() as u32);
    }
    sum
}
