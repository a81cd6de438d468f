//! What is different in two profiles.

use std::collections::{BTreeMap, BTreeSet};

use super::Profile;
use super::table::{Count, by_function, percent};

/// Rows that are shown.
const ROWS: usize = 20;

/// Shares of a function's own time in two profiles, in percent, those that differ most first.
pub fn differences(before: &Profile, after: &Profile) -> Vec<String> {
    let (old, new) = (by_function(&before.stacks), by_function(&after.stacks));
    let share = |counts: &BTreeMap<&str, Count>, name: &str, of: &Profile| {
        percent(counts.get(name).map_or(0, |count| count.own), of.samples())
    };
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let rows = names
        .into_iter()
        .map(|name| (share(&old, name, before), share(&new, name, after), name));
    let mut rows: Vec<(f64, f64, &str)> = rows.collect();
    rows.sort_by(|a, b| (b.1 - b.0).abs().total_cmp(&(a.1 - a.0).abs()));
    let mut out = vec!["  before   after  change  function".to_owned()];
    let changed = rows.iter().filter(|(old, new, _)| (new - old).abs() >= 0.05);
    out.extend(
        changed
            .take(ROWS)
            .map(|(old, new, name)| format!("  {old:5.1}%  {new:5.1}%  {:+6.1}  {name}", new - old)),
    );
    if out.len() == 1 {
        return vec!["no function's share differs by 0.05 points or more".to_owned()];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::of_stacks;
    use super::*;

    #[test]
    fn what_changed_most_comes_first() {
        let (before, after) = (
            of_stacks(&[("main;a", 50), ("main;b", 50)]),
            of_stacks(&[("main;a", 20), ("main;b", 100), ("main;c", 80)]),
        );
        assert_eq!(
            differences(&before, &after),
            [
                "  before   after  change  function",
                "   50.0%   10.0%   -40.0  a",
                "    0.0%   40.0%   +40.0  c",
            ]
        );
        assert_eq!(differences(&before, &before).len(), 1);
    }
}
