use super::*;

fn frame(function: &str, line: u32) -> SourceFrame {
    SourceFrame {
        function: Some(function.to_owned()),
        line: Some(SourceLine {
            file: "main.rs".to_owned(),
            line,
            column: 5,
        }),
    }
}

fn table() -> LineTable {
    LineTable::new([
        (10, vec![frame("inner", 3), frame("outer", 7)]),
        (12, vec![frame("inner", 3), frame("outer", 7)]),
        (15, vec![frame("inner", 4), frame("outer", 7)]),
        (20, vec![]),
    ])
}

#[test]
fn a_table_tells_what_it_was_made_of() {
    let table = table();
    assert_eq!(table.frames_at(9), []);
    for offset in [10, 12, 14] {
        assert_eq!(table.frames_at(offset), [frame("inner", 3), frame("outer", 7)]);
    }
    assert_eq!(table.frames_at(15), [frame("inner", 4), frame("outer", 7)]);
    assert_eq!(table.frames_at(20), []);
    assert_eq!(
        (table.files.len(), table.functions.len(), table.frames.len()),
        (1, 2, 3)
    );
    assert_eq!(table.ranges.len(), 3, "equal neighbours are one range");
    assert_eq!(Lines::new(&table).read(), Ok(table));
}

#[test]
fn an_empty_table_takes_no_bytes() {
    let empty = Lines::new(&LineTable::new([(3, vec![])]));
    assert!(empty.is_empty());
    assert_eq!(empty.read(), Ok(LineTable::default()));
}

/// What `damage` makes of a good table must be refused with these words.
fn refused(damage: impl FnOnce(&mut LineTable), words: &str) {
    let mut table = table();
    damage(&mut table);
    let error = Lines::new(&table).read().expect_err("must be refused").to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_table_that_leaves_its_bounds_is_refused() {
    refused(|t| t.ranges[0].frame = Some(3), "no such frame");
    refused(|t| t.ranges[1].offset = 10, "order");
    refused(|t| t.frames[1].file = Some(1), "no such file");
    refused(|t| t.frames[1].function = Some(2), "no such function");
    refused(|t| t.frames[0].caller = Some(0), "caller");
    refused(|t| t.frames[1].caller = Some(2), "caller");
}

#[test]
fn any_bytes_give_a_table_or_an_error() {
    let good = Lines::new(&table()).0;
    for at in 0..good.len() {
        for bits in 1..=255 {
            let mut bad = good.clone();
            bad[at] ^= bits;
            if let Ok(table) = Lines(bad).read() {
                (0..30).for_each(|offset| drop(table.frames_at(offset)));
            }
        }
        assert!(Lines(good[..at].to_vec()).read().is_err() || at == 0);
    }
}
