use crate::{Command, FileTest, Mode, check, files};

/// A command that repeats its source's last line.
const COMMANDS: &[Command] = &[Command {
    name: "last",
    flags: &["loud"],
    options: &["times"],
    run: |test| {
        let line = test
            .source()
            .and_then(|source| source.lines().last())
            .ok_or("no source")?;
        let times = test
            .option("times")
            .map_or(Ok(1), str::parse)
            .map_err(|_| "no number")?;
        let line = if test.flag("loud") {
            line.to_uppercase()
        } else {
            line.to_owned()
        };
        Ok(format!("{line}\n").repeat(times))
    },
}];

/// Runs a file's test; returns what becomes of it and what the file is afterwards.
fn run(text: &str, mode: Mode) -> (Result<(), String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.wat");
    std::fs::write(&path, text).unwrap();
    let result = check(&path, COMMANDS, mode);
    (result, std::fs::read_to_string(path).unwrap())
}

fn failure(text: &str) -> String {
    run(text, Mode::Check).0.expect_err("it must fail")
}

#[test]
fn a_file_has_head_source_and_expectation() {
    let text = ";; test last --loud --times 2\n;; A sentence,\n;; in two lines.\n\n;; of the source\n(module)\n\n;; a\n;;\n;; \tb\n";
    let test = FileTest::parse(text).unwrap();
    assert_eq!(test.command(), "last");
    assert_eq!((test.flag("loud"), test.option("times")), (true, Some("2")));
    assert!(
        test.source()
            .is_some_and(|source| source.ends_with(";; of the source\n(module)"))
    );
    assert_eq!(test.expected(), "a\n\n\tb\n");
    assert_eq!(test.with_expected(test.expected()), text);
}

#[test]
fn a_result_is_compared_and_blessed() {
    let stale = ";; test last\n;; Prose stays.\n\n(module)\n\n;; (modul)\n";
    let message = failure(stale);
    assert!(message.contains("-(modul)\n+(module)\n"), "{message}");
    let (result, blessed) = run(stale, Mode::Bless);
    assert_eq!(result, Ok(()));
    assert_eq!(blessed, ";; test last\n;; Prose stays.\n\n(module)\n\n;; (module)\n");
    assert_eq!(run(&blessed, Mode::Check), (Ok(()), blessed.clone()));
}

#[test]
fn a_property_cannot_be_blessed_away() {
    for (line, wanted) in [
        ("has: (func", "must have `(func`"),
        ("lacks: module", "must lack `module`"),
    ] {
        let text = format!(";; test last\n;; A sentence.\n;; {line}\n\n(module)\n");
        let (result, after) = run(&text, Mode::Bless);
        assert!(result.is_err_and(|message| message.contains(wanted)), "{line}");
        assert_eq!(after, text);
    }
}

#[test]
fn what_is_not_known_is_an_error() {
    for (text, wanted) in [
        ("(module)", "first line"),
        (";; test first\n;; A sentence.\n\n(module)\n", "no command `first`"),
        (";; test last --soft\n;; A sentence.\n\n(module)\n", "no flag `--soft`"),
        (
            ";; test last --loud 3\n;; A sentence.\n\n(module)\n",
            "no flag `--loud` with a value",
        ),
        (";; test last loud\n;; A sentence.\n\n(module)\n", "`loud` is no flag"),
        (";; test last\n\n(module)\n", "in a sentence"),
        (";; test last\n;; A sentence.\n\n;; only an expectation\n", "no source"),
    ] {
        let message = failure(text);
        assert!(message.contains(wanted), "{text}: {message}");
    }
}

#[test]
fn files_are_found_in_folders_and_nothing_else_may_lie_there() {
    let folder = tempfile::tempdir().unwrap();
    assert!(files(folder.path()).is_err(), "no tests");
    std::fs::create_dir(folder.path().join("area")).unwrap();
    for name in ["b.wat", "area/a.wat"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    assert_eq!(files(folder.path()).unwrap(), ["area/a.wat", "b.wat"]);
    std::fs::write(folder.path().join("area/a.wta"), "").unwrap();
    assert!(files(folder.path()).is_err_and(|error| error.contains("area/a.wta")));
}
