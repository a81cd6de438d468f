//! Whether each lane that others wait for at a meeting comes there: masks are followed through what the compiler writes.
//!
//! The emulator knows no warps, and a GPU that waits for ever says nothing.

use std::collections::{BTreeMap, BTreeSet};

use gpu_run_translator::translate;
use gpu_run_vm::ptx::{Options, Unit, compile};

/// The code of a function or kernel.
struct Code<'t> {
    instructions: Vec<&'t str>,
    labels: BTreeMap<&'t str, usize>,
    next: Vec<Vec<usize>>,
    /// By instruction, the mask that it notes, or that whose lanes meet there.
    notes: Vec<Option<&'t str>>,
    meetings: Vec<Option<&'t str>>,
    /// Where the way by which a lane came to a meeting is of no use any more.
    forgets: BTreeSet<usize>,
}

/// Where a walk is, with the way by which it came to a meeting, as a register and its value, and a predicate that depends
/// on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Walk<'t> {
    at: usize,
    way: Option<(&'t str, u32)>,
    holds: Option<(&'t str, bool)>,
}

/// What stands between two texts.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.strip_prefix(before)?.strip_suffix(after)
}

/// A branch: its predicate, if it has one, and its label.
fn branch(instruction: &str) -> Option<(Option<&str>, &str)> {
    let (predicate, rest) = match instruction.strip_prefix('@') {
        Some(rest) => {
            let (predicate, rest) = rest.split_once(' ')?;
            (Some(predicate), rest)
        }
        None => (None, instruction),
    };
    Some((predicate, between(rest, "bra ", ";")?))
}

/// `mov.b32 register, number;`
fn constant(instruction: &str) -> Option<(&str, u32)> {
    let (register, value) = between(instruction, "mov.b32 ", ";")?.split_once(", ")?;
    Some((register, value.parse().ok()?))
}

impl<'t> Code<'t> {
    fn new(text: &'t str) -> Code<'t> {
        let (mut instructions, mut labels, mut tables) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for line in text.lines().map(str::trim) {
            if let Some((name, targets)) = line.split_once(": .branchtargets ") {
                let targets = targets.trim_end_matches(';').split(", ");
                tables.insert(name, targets.collect::<Vec<_>>());
            } else if let Some(label) = line.strip_suffix(':') {
                labels.insert(label, instructions.len());
            } else if !line.is_empty() && !line.starts_with(['.', '/', '{', '}']) {
                instructions.push(line);
            }
        }
        let count = instructions.len();
        let mut code = Code {
            next: vec![Vec::new(); count],
            notes: vec![None; count],
            meetings: vec![None; count],
            forgets: BTreeSet::new(),
            instructions,
            labels,
        };
        let begins = |label: &str| label.starts_with("EXIT") || label.starts_with("IN") || label.starts_with('B');
        code.forgets = code
            .labels
            .iter()
            .filter(|(label, _)| begins(label))
            .map(|(_, at)| *at)
            .collect();
        for at in 0..count {
            let instruction = code.instructions[at];
            let after = Some(at + 1).filter(|next| *next < count);
            code.next[at] = match (branch(instruction), instruction.strip_prefix("brx.idx ")) {
                // Over a meeting to which all have come: that it leads on is seen by the other way.
                (Some((_, label)), _) if label.starts_with("MET_") => after.into_iter().collect(),
                (Some((predicate, label)), _) => {
                    let after = after.filter(|_| predicate.is_some());
                    [code.labels[label]].into_iter().chain(after).collect()
                }
                (_, Some(operands)) => {
                    let table = operands.trim_end_matches(';').rsplit(", ").next().expect("a table");
                    tables[table].iter().map(|label| code.labels[label]).collect()
                }
                _ if ["ret;", "exit;"].contains(&instruction) => Vec::new(),
                _ => after.into_iter().collect(),
            };
            code.meetings[at] = between(instruction, "bar.warp.sync ", ";");
            let noted = at
                .checked_sub(2)
                .and_then(|at| between(code.instructions[at], "activemask.b32 ", ";"));
            code.notes[at] = noted.filter(|mask| instruction.starts_with(&format!("or.b32 {mask}, {mask}, ")));
        }
        code
    }

    /// Where a walk goes next.
    fn step(&self, walk: Walk<'t>) -> Vec<Walk<'t>> {
        let instruction = self.instructions[walk.at];
        let mut way = walk.way.filter(|_| !self.forgets.contains(&walk.at));
        let mut holds = None;
        let named = |at: usize| self.labels.iter().any(|(label, to)| *to == at && is_way(label));
        if let Some(found) = constant(instruction).filter(|_| named(walk.at)) {
            way = Some(found);
        } else if let (Some((register, value)), Some(compared)) = (way, instruction.strip_prefix("setp.")) {
            let operands: Vec<&str> = compared.trim_end_matches(';').split([' ', ',']).collect();
            if let [how @ ("ne.u32" | "eq.u32"), predicate, "", of, "", number] = operands[..]
                && of == register
            {
                holds = Some((predicate, (how == "eq.u32") == (number == value.to_string())));
            }
        }
        let mut next = self.next[walk.at].clone();
        if let (Some((predicate, holds)), Some((Some(of), label))) = (walk.holds, branch(instruction))
            && of == predicate
        {
            next = vec![if holds { self.labels[label] } else { walk.at + 1 }];
        }
        next.into_iter().map(|at| Walk { at, way, holds }).collect()
    }

    /// The instructions to which ways lead from `from` that do not lead on from where `stops` says so.
    fn reached(&self, from: usize, stops: impl Fn(usize) -> bool) -> BTreeSet<usize> {
        let begin = Walk {
            at: from,
            way: None,
            holds: None,
        };
        let (mut seen, mut open) = (BTreeSet::new(), self.step(begin));
        while let Some(walk) = open.pop() {
            if seen.insert(walk) && !stops(walk.at) {
                open.extend(self.step(walk));
            }
        }
        seen.into_iter().map(|walk| walk.at).collect()
    }

    /// The meetings to which a lane may come that others wait for elsewhere.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (from, mask) in self
            .notes
            .iter()
            .enumerate()
            .filter_map(|(at, mask)| Some((at, (*mask)?)))
        {
            let met = |at: usize| self.meetings[at] == Some(mask);
            let reached = self.reached(from, met);
            if reached.contains(&from) {
                faults.push(format!("{mask} is noted again before its lanes have met"));
            }
            let others: BTreeSet<&str> = reached.iter().filter_map(|at| self.meetings[*at]).collect();
            for other in others.into_iter().filter(|other| *other != mask) {
                // Of lanes that have not come together after those of `mask`.
                let noted = |at: usize| met(at) || self.notes[at] == Some(other);
                if self
                    .reached(from, noted)
                    .iter()
                    .any(|at| self.meetings[*at] == Some(other))
                {
                    faults.push(format!(
                        "a lane of {mask} waits for those of {other}, which may wait for it"
                    ));
                }
            }
        }
        faults
    }
}

/// Whether a lane that comes by this label notes by which way.
fn is_way(label: &str) -> bool {
    label.starts_with("OUT") || label.starts_with("PASS")
}

/// The bodies of functions and kernels in a text, with their first lines.
fn bodies(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let starts = text.match_indices("\n{\n");
    starts.filter_map(|(at, open)| {
        let head = text[..at].rsplit('\n').next()?;
        let body = text[at + open.len()..].split("\n}\n").next()?;
        (head.contains(".func") || head.contains(".entry")).then_some((head, body))
    })
}

/// The faults of a module's code, and how many masks it has.
fn check(wasm: &[u8]) -> (Vec<String>, usize) {
    let program = translate(wasm, &Default::default()).expect("it translates").program;
    let options = Options {
        reconverge: true,
        ..Options::default()
    };
    let unit = Unit {
        program: &program,
        prefix: String::new(),
        code_start: 0,
        entries: program.meta.exports.iter().map(|export| export.index).collect(),
        cold: Default::default(),
        options,
    };
    let text = compile(&unit).text;
    let (mut faults, mut masks) = (Vec::new(), 0);
    for (head, body) in bodies(&text) {
        let code = Code::new(body);
        masks += code.notes.iter().flatten().count();
        faults.extend(code.faults().into_iter().map(|fault| format!("{head}: {fault}")));
    }
    (faults, masks)
}

#[test]
fn lanes_that_wait_are_waited_for_nowhere_else() {
    for name in ["arena", "wordcount", "dyn_closures"] {
        let path = format!("{}/../fixtures/wasm/release/{name}.wasm", env!("CARGO_MANIFEST_DIR"));
        let wasm = std::fs::read(&path).expect("the fixture is there");
        let (faults, masks) = check(&wasm);
        assert!(masks > 50, "{name} has {masks} masks");
        assert_eq!(faults, Vec::<String>::new(), "{name}");
    }
}

/// What has to be found: a lane that waits at an outer meeting, and one that branches again.
#[test]
fn faults_are_found() {
    let note =
        |mask: &str| format!("activemask.b32 {mask};\nmov.u32 %w9, %lanemask_eq;\nor.b32 {mask}, {mask}, %w9;\n");
    let (outer, inner) = (note("%w1"), note("%w2"));
    let good = format!("{outer}{inner}@%p1 bra B1;\nB1:\nbar.warp.sync %w2;\nbar.warp.sync %w1;\nret;");
    assert_eq!(Code::new(&good).faults(), Vec::<String>::new());
    let crossed = format!("{outer}{inner}@%p1 bra B1;\nbar.warp.sync %w2;\nB1:\nbar.warp.sync %w1;\nret;");
    assert_eq!(Code::new(&crossed).faults().len(), 1);
    let again = format!("B0:\n{inner}@%p1 bra B0;\nbar.warp.sync %w2;\nret;");
    assert_eq!(Code::new(&again).faults().len(), 1);
}
