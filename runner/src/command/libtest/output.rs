//! What Rust's harness of tests prints, read.

use std::ops::AddAssign;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    Ignored,
}

/// What was read of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The tests that ended, in their order.
    pub ended: Vec<(String, End)>,
    /// The test in whose middle the run ended.
    pub open: Option<String>,
    /// What stands after the tests, up to the last line.
    pub details: String,
    /// The last line's counts, of a run that came to its end.
    pub summary: Option<Summary>,
}

/// Counts of the last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
    pub measured: usize,
    pub filtered_out: usize,
}

impl Summary {
    /// All tests of the program.
    pub fn total(&self) -> usize {
        self.passed + self.failed + self.ignored + self.measured + self.filtered_out
    }
}

impl AddAssign<End> for Summary {
    fn add_assign(&mut self, end: End) {
        match end {
            End::Passed => self.passed += 1,
            End::Failed => self.failed += 1,
            End::Ignored => self.ignored += 1,
        }
    }
}

/// What the tests are followed by.
const BEHIND: [&str; 3] = ["\n\nfailures:\n", "\n\nsuccesses:\n", "\n\ntest result: "];

/// Where the tests begin: after `running N tests`.
pub fn start(text: &str) -> Option<usize> {
    let head = text.strip_prefix('\n')?.strip_prefix("running ")?;
    let (count, rest) = head.split_once(' ')?;
    count.parse::<usize>().ok()?;
    let rest = rest.strip_prefix("test")?;
    let rest = rest.strip_prefix('s').unwrap_or(rest).strip_prefix('\n')?;
    Some(text.len() - rest.len())
}

/// Where the tests end, in the text from their start on.
pub fn end(text: &str) -> Option<usize> {
    // Of no tests there is only an empty line.
    let none = BEHIND.iter().any(|mark| text.starts_with(&mark[1..]));
    let marks = BEHIND.iter().filter_map(|mark| text.find(mark));
    if none { Some(0) } else { marks.min() }
}

/// Whether a run ended in the middle of a test, as far as can be told without the tests' names.
pub fn ends_in_a_test(text: &str) -> bool {
    let Some(start) = start(text) else { return false };
    let text = &text[start..];
    let last = text
        .match_indices("test ")
        .filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    let last = last.filter_map(|(at, _)| text[at..].split_once(" ... ")).last();
    last.is_some_and(|(_, said)| outcome(said).is_none())
}

/// How a test ended, by what follows on its name: what it printed, if that is not captured, and a word.
fn outcome(said: &str) -> Option<End> {
    let last = said.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
    match last {
        "ok" => Some(End::Passed),
        "FAILED" => Some(End::Failed),
        "ignored" => Some(End::Ignored),
        _ if last.starts_with("ignored, ") => Some(End::Ignored),
        // What it printed ended in the middle of a line.
        _ if last.ends_with("FAILED") => Some(End::Failed),
        _ if last.ends_with("ok") => Some(End::Passed),
        _ => None,
    }
}

/// Reads what a run of these tests printed.
pub fn read(text: &str, names: &[String]) -> Printed {
    let mut printed = Printed::default();
    let Some(start) = start(text) else { return printed };
    let text = &text[start..];
    let (tests, rest) = text.split_at(end(text).unwrap_or(text.len()));
    // Only lines that begin with a name are a test's; what tests print may look like one.
    let mut begun: Vec<(&String, usize, usize)> = Vec::new();
    let mut at = 0;
    for line in tests.split_inclusive('\n') {
        let of = names.iter().find_map(|name| {
            let rest = line.strip_prefix("test ")?.strip_prefix(name.as_str())?;
            let said = rest
                .strip_prefix(" - should panic")
                .unwrap_or(rest)
                .strip_prefix(" ... ")?;
            Some((name, at, at + line.len() - said.len()))
        });
        begun.extend(of);
        at += line.len();
    }
    for (i, (name, _, said)) in begun.iter().enumerate() {
        let end = begun.get(i + 1).map_or(tests.len(), |next| next.1);
        match outcome(&tests[*said..end]) {
            Some(end) => printed.ended.push(((*name).clone(), end)),
            None => printed.open = Some((*name).clone()),
        }
    }
    let (details, summary) = rest.rsplit_once("test result: ").unwrap_or((rest, ""));
    printed.details = details.to_owned();
    printed.summary = counts(summary);
    printed
}

/// Reads `FAILED. 1 passed; 2 failed; …`.
fn counts(text: &str) -> Option<Summary> {
    let number = |what: &str| {
        let (before, _) = text.split_once(&format!(" {what}"))?;
        before.rsplit(' ').next()?.parse().ok()
    };
    Some(Summary {
        passed: number("passed")?,
        failed: number("failed")?,
        ignored: number("ignored")?,
        measured: number("measured")?,
        filtered_out: number("filtered out")?,
    })
}

/// What the one test of a run printed to both streams, which was not captured, without its outcome; and that.
pub fn of_one(text: &str, name: &str) -> Option<(String, Option<End>)> {
    let tests = &text[start(text)?..];
    // Its name may come late: it is no whole line, so what the test wrote to stderr may come before it.
    let heads = [format!("test {name} ... "), format!("test {name} - should panic ... ")];
    let (before, after) = heads.iter().find_map(|head| tests.split_once(head.as_str()))?;
    let Some(at) = end(after) else {
        return Some((format!("{before}{after}"), None));
    };
    let said = &after[..at];
    let without = ["FAILED", "ok"].iter().find_map(|word| said.strip_suffix(word));
    Some((format!("{before}{}", without.unwrap_or(said)), outcome(said)))
}

/// The names in what `--list` printed.
pub fn listed(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_run_that_ends_early_is_read() {
        let text =
            "\nrunning 4 tests\ntest a ... ok\ntest b - should panic ... ignored\ntest c ... FAILED\ntest d ... ";
        assert!(ends_in_a_test(text));
        let printed = read(text, &names(&["a", "b", "c", "d"]));
        let ended = [("a", End::Passed), ("b", End::Ignored), ("c", End::Failed)];
        assert_eq!(printed.ended, ended.map(|(name, end)| (name.to_owned(), end)));
        assert_eq!(printed.open.as_deref(), Some("d"));
        assert_eq!(printed.summary, None);
    }

    #[test]
    fn a_whole_run_is_read() {
        let text = "\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nno\n\n\n\
                    failures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; \
                    finished in 0.00s\n\n";
        assert!(!ends_in_a_test(&text[..text.find("\n\nfail").unwrap()]));
        let printed = read(text, &names(&["a", "b"]));
        assert_eq!(printed.open, None);
        assert!(printed.details.contains("---- b stdout ----\nno\n"));
        assert_eq!(printed.summary.map(|summary| summary.total()), Some(5));
    }

    /// What is not captured stands between a name and its outcome.
    #[test]
    fn what_tests_print_is_no_test() {
        let text =
            "\nrunning 3 tests\ntest a ... one\ntest of mine ... half\nok\ntest b ... no lineok\ntest c ... test x";
        let printed = read(text, &names(&["a", "b", "c"]));
        assert_eq!(printed.ended.len(), 2);
        assert_eq!(printed.open.as_deref(), Some("c"));
        assert!(!ends_in_a_test("no tests"));
    }

    #[test]
    fn what_one_test_says() {
        let early = "\nrunning 1 test\ntest a ... \nthread 'main' panicked\n";
        let panicked = "\nthread 'main' panicked\n";
        assert_eq!(of_one(early, "a"), Some((panicked.to_owned(), None)));
        let late = "\nrunning 1 test\n\nthread 'main' panicked\ntest a ... error: trap: unreachable\n";
        let said = format!("{panicked}error: trap: unreachable\n");
        assert_eq!(of_one(late, "a"), Some((said, None)));
        let failed = "\nrunning 1 test\ntest a ... Error: 5\nFAILED\n\nfailures:\n\nfailures:\n    a\n";
        assert_eq!(of_one(failed, "a"), Some(("Error: 5\n".to_owned(), Some(End::Failed))));
        let passed = "\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed;";
        assert_eq!(of_one(passed, "a"), Some((String::new(), Some(End::Passed))));
        assert_eq!(of_one(passed, "b"), None);
    }

    #[test]
    fn names_are_listed() {
        assert_eq!(
            listed("x::a: test\nb: benchmark\nc: test\n\n2 tests, 1 benchmark\n"),
            ["x::a", "c"]
        );
    }
}
