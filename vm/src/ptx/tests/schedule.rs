//! Blocks in another order.

use super::{body, text};

/// The names of what a function stands for that takes the roots of so many numbers in memory and then their sum.
fn roots_and_sum(count: usize) -> Vec<String> {
    let locals = "f64 ".repeat(count);
    let root = |i: usize| {
        format!(
            "(local.set {} (f64.sqrt (f64.load offset={} (local.get 0))))",
            i + 1,
            8 * i
        )
    };
    let add = |i: usize| format!("(local.set 1 (f64.add (local.get 1) (local.get {})))", i + 1);
    let roots: String = (0..count).map(root).collect();
    let sum: String = (1..count).map(add).collect();
    let text = text(&format!(
        "(module (memory 1) (func (export \"f\") (param i32) (result f64) (local {locals}) {roots} {sum} (local.get 1)))"
    ));
    let comments = body(&text, 0).lines().filter_map(|line| line.strip_prefix("\t// "));
    comments.map(str::to_owned).collect()
}

#[test]
fn values_are_made_where_they_are_needed_if_they_are_many() {
    for (count, moves) in [(16, false), (60, true)] {
        let lines = roots_and_sum(count);
        let loads: Vec<&String> = lines.iter().filter(|line| line.starts_with("load64")).collect();
        assert_eq!(loads.len(), count);
        let offset = |line: &&String| line.rsplit('+').next().and_then(|offset| offset.parse::<u32>().ok());
        assert!(loads.iter().map(offset).is_sorted(), "{loads:?}");
        let first_sum = lines.iter().position(|line| line.starts_with("f64.add")).unwrap();
        let last_root = lines.iter().rposition(|line| line.starts_with("f64.sqrt")).unwrap();
        assert_eq!(first_sum < last_root, moves, "{lines:#?}");
    }
}
