//! Small programs: graphs, trees of boxes, trait objects, a machine, errors that are told in words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use crate::{next, seed};

/// A text of words.
const TEXT: &str =
    "the quick brown fox jumps over the lazy dog and the cat sat on the mat while it rained in the old town; ";

fn mixed(sum: u32, value: u32) -> u32 {
    sum.wrapping_mul(31).wrapping_add(value)
}

/// The shortest ways through a random graph of 48 nodes, by Dijkstra's algorithm.
pub fn dijkstra(id: u32, rounds: u32) -> u32 {
    const NODES: u32 = 48;
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut graph: Vec<Vec<(usize, u32)>> = vec![Vec::new(); NODES as usize];
        for edges in &mut graph {
            for _ in 0..4 {
                let edge = next(&mut state);
                edges.push(((edge % NODES) as usize, (edge >> 8) % 100 + 1));
            }
        }
        let mut distances = vec![u32::MAX; NODES as usize];
        let mut heap = BinaryHeap::from([Reverse((0u32, 0usize))]);
        distances[0] = 0;
        while let Some(Reverse((distance, at))) = heap.pop() {
            if distance > distances[at] {
                continue;
            }
            for (to, weight) in &graph[at] {
                let other = distance + weight;
                if other < distances[*to] {
                    distances[*to] = other;
                    heap.push(Reverse((other, *to)));
                }
            }
        }
        sum = distances.iter().fold(sum, |sum, distance| mixed(sum, *distance));
    }
    sum
}

trait Shape {
    fn area(&self) -> f64;
    fn grow(&mut self, by: f64);
}

struct Circle(f64);
struct Rectangle(f64, f64);
struct Triangle(f64, f64, f64);

impl Shape for Circle {
    fn area(&self) -> f64 {
        std::f64::consts::PI * self.0 * self.0
    }

    fn grow(&mut self, by: f64) {
        self.0 *= by;
    }
}

impl Shape for Rectangle {
    fn area(&self) -> f64 {
        self.0 * self.1
    }

    fn grow(&mut self, by: f64) {
        self.0 *= by;
        self.1 *= by;
    }
}

impl Shape for Triangle {
    fn area(&self) -> f64 {
        let half = (self.0 + self.1 + self.2) / 2.0;
        (half * (half - self.0) * (half - self.1) * (half - self.2))
            .abs()
            .sqrt()
    }

    fn grow(&mut self, by: f64) {
        self.0 *= by;
        self.1 *= by;
        self.2 *= by;
    }
}

/// Makes 48 shapes of three kinds, as trait objects, lets them grow, and sorts them by area.
pub fn shapes(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0f64);
    for _ in 0..rounds {
        let mut shapes: Vec<Box<dyn Shape>> = Vec::new();
        for _ in 0..48 {
            let kind = next(&mut state);
            let (a, b) = (f64::from(kind >> 4 & 15) + 1.0, f64::from(kind >> 8 & 15) + 1.0);
            shapes.push(match kind % 3 {
                0 => Box::new(Circle(a)),
                1 => Box::new(Rectangle(a, b)),
                _ => Box::new(Triangle(a, b, a + b / 2.0)),
            });
        }
        shapes.iter_mut().for_each(|shape| shape.grow(1.5));
        shapes.sort_by(|a, b| a.area().total_cmp(&b.area()));
        let ranked = shapes.iter().enumerate();
        sum += ranked.map(|(i, shape)| shape.area() * (i + 1) as f64).sum::<f64>();
    }
    sum as u64 as u32
}

enum Event {
    Deposit { to: u32, cents: u64 },
    Transfer { from: u32, to: u32, cents: u64 },
    Close(u32),
}

fn apply(accounts: &mut BTreeMap<u32, u64>, event: &Event) -> Result<u64, String> {
    match event {
        Event::Deposit { to, cents } => {
            let account = accounts.entry(*to).or_insert(0);
            *account += cents;
            Ok(*account)
        }
        Event::Transfer { from, to, cents } => {
            let have = accounts.get_mut(from).ok_or_else(|| format!("no account {from}"))?;
            let left = have.checked_sub(*cents);
            *have = left.ok_or_else(|| format!("account {from} has not {cents}"))?;
            *accounts.entry(*to).or_insert(0) += cents;
            Ok(*cents)
        }
        Event::Close(account) => accounts
            .remove(account)
            .ok_or_else(|| format!("cannot close {account}")),
    }
}

/// Applies 40 events to the accounts of a bank; those that cannot be are told in words.
pub fn bank(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let (mut accounts, mut errors) = (BTreeMap::new(), Vec::new());
        let mut event = || {
            let event = next(&mut state);
            let (from, to, cents) = (event % 8, (event >> 4) % 8, u64::from(event >> 8) % 1000);
            match (event >> 20) % 5 {
                0 | 1 => Event::Deposit { to: from, cents },
                4 => Event::Close(from),
                _ => Event::Transfer { from, to, cents },
            }
        };
        let events: Vec<Event> = (0..40).map(|_| event()).collect();
        for event in &events {
            match apply(&mut accounts, event) {
                Ok(cents) => sum = mixed(sum, cents as u32),
                Err(why) => errors.push(why),
            }
        }
        let letters: usize = errors.iter().map(String::len).sum();
        sum = mixed(sum, letters as u32).wrapping_add(accounts.values().sum::<u64>() as u32);
    }
    sum
}

#[derive(Default)]
struct Trie {
    next: HashMap<char, Trie>,
    is_word: bool,
}

/// Puts twelve words into a trie of hash maps, and looks for them from each letter of a text on.
pub fn trie(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut root = Trie::default();
        for _ in 0..12 {
            let word = next(&mut state) as usize;
            let from = word % 90;
            let mut at = &mut root;
            for letter in TEXT[from..from + 2 + (word >> 8) % 5].chars() {
                at = at.next.entry(letter).or_default();
            }
            at.is_word = true;
        }
        for from in 0..90 {
            let mut at = &root;
            for letter in TEXT[from..].chars().take(6) {
                let Some(next) = at.next.get(&letter) else { break };
                at = next;
                sum = mixed(sum, at.is_word.into());
            }
        }
    }
    sum
}

enum Code {
    Leaf(u8),
    Node(Box<Code>, Box<Code>),
}

fn write_codes(code: &Code, prefix: &mut String, table: &mut BTreeMap<u8, String>) {
    match code {
        Code::Leaf(byte) => {
            table.insert(*byte, prefix.clone());
        }
        Code::Node(left, right) => {
            for (digit, part) in [('0', left), ('1', right)] {
                prefix.push(digit);
                write_codes(part, prefix, table);
                prefix.pop();
            }
        }
    }
}

/// Finds a Huffman code for 60 letters, and writes them in it.
pub fn huffman(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let from = next(&mut state) as usize % 40;
        let text = &TEXT.as_bytes()[from..from + 60];
        let mut counts = [0u32; 256];
        text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let counted = (0..=255).zip(counts).filter(|(_, count)| *count > 0);
        let mut parts: Vec<(u32, Code)> = counted.map(|(byte, count)| (count, Code::Leaf(byte))).collect();
        while parts.len() > 1 {
            parts.sort_by(|a, b| b.0.cmp(&a.0));
            if let (Some(a), Some(b)) = (parts.pop(), parts.pop()) {
                parts.push((a.0 + b.0, Code::Node(Box::new(a.1), Box::new(b.1))));
            }
        }
        let mut table = BTreeMap::new();
        write_codes(&parts[0].1, &mut String::new(), &mut table);
        let bits: String = text.iter().map(|byte| table[byte].as_str()).collect();
        sum = bits.bytes().fold(sum, |sum, bit| sum.rotate_left(1) ^ u32::from(bit));
    }
    sum
}

/// Writes a table of twelve lines as CSV, reads it, and ranks the means by city.
pub fn csv(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0f64);
    for _ in 0..rounds {
        let mut file = String::from("name,city,amount\n");
        for _ in 0..12 {
            let line = next(&mut state);
            let (name, city, amount) = (line % 50, (line >> 8) % 5, (line >> 16) % 100);
            file += &format!("user{name},city{city},{amount}.{:02}\n", (line >> 24) % 100);
        }
        let mut cities: HashMap<&str, Vec<f64>> = HashMap::new();
        for line in file.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let amount = fields[2].parse().expect("a number");
            cities.entry(fields[1]).or_default().push(amount);
        }
        let mean = |amounts: &[f64]| amounts.iter().sum::<f64>() / amounts.len() as f64;
        let means = cities.iter().map(|(city, amounts)| (city.to_string(), mean(amounts)));
        let mut means: Vec<(String, f64)> = means.collect();
        means.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let ranked = means.iter().enumerate();
        sum += ranked
            .map(|(i, (city, mean))| (i + city.len()) as f64 * mean)
            .sum::<f64>();
    }
    (sum * 8.0) as u64 as u32
}

enum Op {
    Push(i64),
    Add,
    Multiply,
    Subtract,
    Duplicate,
    JumpIf(usize),
    Store(u8),
    Load(u8),
}

/// Runs a program of some hundred operations on a machine with a stack, whose variables are in a hash map.
pub fn machine(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let count = i64::from(next(&mut state) % 40 + 20);
        // sum = 1; while count > 0 { sum = sum * count + 7; count -= 1 }
        let code = [
            Op::Push(1),
            Op::Store(0),
            Op::Push(count),
            Op::Store(1),
            Op::Load(0),
            Op::Load(1),
            Op::Multiply,
            Op::Push(7),
            Op::Add,
            Op::Store(0),
            Op::Load(1),
            Op::Push(1),
            Op::Subtract,
            Op::Duplicate,
            Op::Store(1),
            Op::JumpIf(4),
            Op::Load(0),
        ];
        let (mut stack, mut variables, mut at) = (Vec::new(), HashMap::new(), 0);
        while at < code.len() {
            at += 1;
            let mut pop = || stack.pop().expect("a value");
            match &code[at - 1] {
                Op::Push(value) => stack.push(*value),
                Op::Add => {
                    let (b, a) = (pop(), pop());
                    stack.push(a.wrapping_add(b));
                }
                Op::Multiply => {
                    let (b, a): (i64, i64) = (pop(), pop());
                    stack.push(a.wrapping_mul(b));
                }
                Op::Subtract => {
                    let (b, a) = (pop(), pop());
                    stack.push(a.wrapping_sub(b));
                }
                Op::Duplicate => stack.push(stack[stack.len() - 1]),
                Op::JumpIf(to) => {
                    if pop() != 0 {
                        at = *to;
                    }
                }
                Op::Store(name) => {
                    let value = pop();
                    variables.insert(*name, value);
                }
                Op::Load(name) => stack.push(variables[name]),
            }
        }
        sum = mixed(sum, stack[0] as u32);
    }
    sum
}

/// `base` to the power of `exponent`, modulo `modulus`.
fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64;
    let mut result = 1;
    base %= modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    result
}

/// Whether a number of 48 bits is prime, by the test of Miller and Rabin.
pub fn miller(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let n = u64::from(next(&mut state)) << 16 | u64::from(next(&mut state)) | 1;
        let twos = (n - 1).trailing_zeros();
        let passes = |base: &u64| {
            let first = power(*base, (n - 1) >> twos, n);
            let squares = std::iter::successors(Some(first), |x| Some(power(*x, 2, n)));
            first == 1 || squares.take(twos as usize).any(|x| x == n - 1)
        };
        let is_prime = [2, 3, 5, 7].iter().all(passes);
        sum = mixed(sum, u32::from(is_prime) + n as u32);
    }
    sum
}
