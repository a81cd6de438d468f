//! The form of a file: head, source, expectation.

use crate::Command;

/// A test as its file has it.
pub struct FileTest {
    command: String,
    /// Names without dashes, and values.
    flags: Vec<(String, Option<String>)>,
    has: Vec<String>,
    lacks: Vec<String>,
    /// The file up to the expectation, without blank lines at its end.
    before: String,
    /// Whether there is more than comments in it.
    has_source: bool,
    expected: String,
}

impl FileTest {
    /// Takes a file apart.
    pub fn parse(text: &str) -> Result<FileTest, String> {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let head = lines.iter().take_while(|line| line.starts_with(";;")).count();
        let end = lines
            .iter()
            .rposition(|line| !line.is_empty())
            .map_or(0, |last| last + 1);
        let tail = lines[head..end]
            .iter()
            .rev()
            .take_while(|line| line.starts_with(";;"))
            .count();
        let (before, expected) = (&lines[..end - tail], &lines[end - tail..end]);
        let mut test = FileTest {
            command: String::new(),
            flags: Vec::new(),
            has: Vec::new(),
            lacks: Vec::new(),
            before: before.join("\n").trim_end().to_owned(),
            has_source: before[head..].iter().any(|line| !line.is_empty()),
            expected: expected.iter().map(|line| format!("{}\n", uncommented(line))).collect(),
        };
        test.parse_head(&lines[..head])?;
        Ok(test)
    }

    fn parse_head(&mut self, head: &[&str]) -> Result<(), String> {
        let first = head.first().and_then(|line| line.strip_prefix(";; test "));
        let first = first.ok_or("the first line must be `;; test COMMAND`")?;
        let (command, flags) = first.split_once(' ').unwrap_or((first, ""));
        self.command = command.to_owned();
        for word in flags.split_whitespace() {
            match (word.strip_prefix("--"), self.flags.last_mut()) {
                (Some(name), _) => self.flags.push((name.to_owned(), None)),
                (None, Some((_, value @ None))) => *value = Some(word.to_owned()),
                _ => return Err(format!("`{word}` is no flag, and no flag's value")),
            }
        }
        let mut prose = String::new();
        for line in &head[1..] {
            let line = uncommented(line);
            if let Some(text) = line.strip_prefix("has: ") {
                self.has.push(text.to_owned());
            } else if let Some(text) = line.strip_prefix("lacks: ") {
                self.lacks.push(text.to_owned());
            } else {
                prose += line;
            }
        }
        if !prose.ends_with('.') {
            return Err("the head must say in a sentence which property is tested".into());
        }
        Ok(())
    }

    /// The command's name.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Whether a flag is there.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|(flag, _)| flag == name)
    }

    /// The value of a flag that is there.
    pub fn option(&self, name: &str) -> Option<&str> {
        let flag = self.flags.iter().find(|(flag, _)| flag == name);
        flag.and_then(|(_, value)| value.as_deref())
    }

    /// The number of an option, if it is given.
    ///
    /// # Errors
    ///
    /// It is no number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("--{name} {text}: no number"));
        self.option(name).map(number).transpose()
    }

    /// The source, with the head before it, so that lines in messages are the file's.
    pub fn source(&self) -> Option<&str> {
        self.has_source.then_some(&self.before)
    }

    /// The result that is expected.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// The file with another expectation.
    pub fn with_expected(&self, expected: &str) -> String {
        let mut file = format!("{}\n\n", self.before);
        for line in expected.lines() {
            file += if line.is_empty() { ";;" } else { ";; " };
            file += line;
            file.push('\n');
        }
        file
    }

    /// Holds the flags to those that the command takes.
    pub(crate) fn check_flags(&self, command: &Command) -> Result<(), String> {
        for (name, value) in &self.flags {
            let (takes, what) = match value {
                Some(_) => (command.options, "with a value"),
                None => (command.flags, "without a value"),
            };
            if !takes.contains(&name.as_str()) {
                return Err(format!("`test {}` has no flag `--{name}` {what}", command.name));
            }
        }
        Ok(())
    }

    /// Holds a result to what it must and must not contain.
    pub(crate) fn check_content(&self, found: &str) -> Result<(), String> {
        let missing = self.has.iter().find(|text| !found.contains(text.as_str()));
        if let Some(text) = missing {
            return Err(format!("the result must have `{text}`:\n{found}"));
        }
        let extra = self.lacks.iter().find(|text| found.contains(text.as_str()));
        match extra {
            Some(text) => Err(format!("the result must lack `{text}`:\n{found}")),
            None => Ok(()),
        }
    }
}

/// A line of a comment without what makes it one.
fn uncommented(line: &str) -> &str {
    let line = line.strip_prefix(";;").unwrap_or(line);
    line.strip_prefix(' ').unwrap_or(line)
}
