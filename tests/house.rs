//! What holds for the whole tree: how long files are, how many entries a folder has, and that the PTX compiler knows
//! nothing of devices and disks. Nothing is built for it.

use std::fs;
use std::path::Path;

/// Lines that a file of Rust or C++ may have.
const LONGEST: usize = 700;
/// Entries that a folder without subfolders may have.
const MOST_ENTRIES: usize = 16;

/// Files that may be longer.
const TABLES: &[&str] = &[
    // The opcode table: a row for each opcode, which one looks up and does not read in order.
    "bytecode/src/isa.rs",
];

/// Folders of files that programs write.
const GENERATED: &[&str] = &["vm/kernel/generated"];

/// Folders of data: a file for each guest program, named by the scripts that make them.
const DATA: &[&str] = &["fixtures"];

/// What the PTX compiler must not name: the driver, what keeps compiled code, the file system.
const NOT_OF_THE_COMPILER: &[&str] = &["cuda", "cudarc", "cache", "fs"];

/// A file, by its path from the root of the tree.
struct File {
    path: String,
    text: String,
}

/// A folder, by its path from the root of the tree.
#[derive(Default)]
struct Folder {
    path: String,
    entries: usize,
    has_folders: bool,
    has_code: bool,
}

/// What is looked at.
#[derive(Default)]
struct Tree {
    /// Files of code.
    files: Vec<File>,
    folders: Vec<Folder>,
}

impl Tree {
    /// Reads a tree, without what is hidden or was built.
    fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        tree.walk(root, "");
        tree
    }

    fn walk(&mut self, root: &Path, path: &str) {
        let mut folder = Folder {
            path: path.to_owned(),
            ..Folder::default()
        };
        for entry in fs::read_dir(root.join(path)).expect("it is a folder") {
            let entry = entry.expect("it can be read");
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}/{name}")
            };
            if name.starts_with('.') || name == "target" || path == "docs/book" {
                continue;
            }
            folder.entries += 1;
            // A link to a folder does not count as one, so nothing is walked twice.
            if entry.file_type().expect("it has a type").is_dir() {
                folder.has_folders = true;
                self.walk(root, &path);
            } else if is_code(&name) {
                folder.has_code = true;
                let text = fs::read_to_string(entry.path()).expect("code is UTF-8");
                self.files.push(File { path, text });
            }
        }
        self.folders.push(folder);
    }
}

/// Whether a file of this name is code that people read: Rust, C++, and modules that are tests.
fn is_code(name: &str) -> bool {
    let extensions = [".rs", ".c", ".cpp", ".cu", ".h", ".wat", ".wast"];
    extensions.iter().any(|extension| name.ends_with(extension))
}

/// Whether a path is one of those, or below it.
fn is_in(path: &str, list: &[&str]) -> bool {
    list.iter()
        .filter_map(|of| path.strip_prefix(of))
        .any(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Files of Rust and C++ that are too long.
fn long_files(tree: &Tree) -> Vec<String> {
    let own = tree.files.iter().filter(|file| {
        let module = file.path.ends_with(".wat") || file.path.ends_with(".wast");
        !module && !is_in(&file.path, TABLES) && !is_in(&file.path, GENERATED)
    });
    let counted = own.map(|file| (&file.path, file.text.lines().count()));
    let long = counted.filter(|(_, lines)| *lines > LONGEST);
    long.map(|(path, lines)| format!("{path}: {lines} lines")).collect()
}

/// Folders of code that have too many entries, and no subfolders.
fn full_folders(tree: &Tree) -> Vec<String> {
    let own = tree
        .folders
        .iter()
        .filter(|folder| folder.has_code && !is_in(&folder.path, DATA) && !is_in(&folder.path, GENERATED));
    let full = own.filter(|folder| folder.entries > MOST_ENTRIES && !folder.has_folders);
    full.map(|folder| format!("{}: {} entries", folder.path, folder.entries))
        .collect()
}

/// Where the PTX compiler names what it must not know.
fn leaks_of_the_compiler(tree: &Tree) -> Vec<String> {
    let compiler = tree
        .files
        .iter()
        .filter(|file| is_in(&file.path, &["vm/src/ptx", "vm/src/ptx.rs"]));
    let names = compiler.flat_map(|file| {
        let names = identifiers(&file.text).into_iter();
        names.map(move |(line, name)| (&file.path, line, name))
    });
    let known = names.filter(|(_, _, name)| NOT_OF_THE_COMPILER.contains(name));
    known
        .map(|(path, line, name)| format!("{path}:{line}: {name}"))
        .collect()
}

/// The identifiers of Rust code with their lines; not those in comments and strings.
fn identifiers(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (code, 1);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => string(rest),
            'r' if rest.starts_with("r\"") => raw_string(rest, "\""),
            'r' if rest.starts_with("r#\"") => raw_string(rest, "\"#"),
            // A character; a lifetime's name is an identifier like others.
            '\'' if rest.starts_with("'\\") => 2 + rest[3..].find('\'').map_or(0, |at| at + 2),
            '\'' if rest.chars().nth(2) == Some('\'') => rest.chars().take(3).map(char::len_utf8).sum(),
            _ if first.is_alphabetic() || first == '_' => {
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                found.push((line, &rest[..end]));
                end
            }
            // With the letters of its suffix or radix.
            _ if first.is_ascii_digit() => rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// The length of the string at the beginning.
fn string(code: &str) -> usize {
    let mut escaped = false;
    for (at, c) in code.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// The length of the raw string at the beginning.
fn raw_string(code: &str, end: &str) -> usize {
    let begin = 1 + end.len();
    code[begin..].find(end).map_or(code.len(), |at| begin + at + end.len())
}

fn root() -> &'static Path {
    // `tests/filetests`, whose target this is, so that it needs nothing else.
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn files_are_short_enough_to_be_read() {
    assert_eq!(long_files(&Tree::read(root())), [] as [String; 0]);
}

#[test]
fn folders_can_be_taken_in_at_a_glance() {
    assert_eq!(full_folders(&Tree::read(root())), [] as [String; 0]);
}

#[test]
fn the_ptx_compiler_knows_no_device_and_no_disk() {
    let tree = Tree::read(root());
    assert!(tree.files.iter().any(|file| file.path == "vm/src/ptx.rs"));
    assert_eq!(leaks_of_the_compiler(&tree), [] as [String; 0]);
}

#[test]
fn what_is_exempt_exists() {
    for path in [TABLES, GENERATED, DATA].concat() {
        assert!(root().join(path).exists(), "{path}");
    }
}

/// A tree with these files.
fn made_up(files: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let tree = Tree::read(folder.path());
    (folder, tree)
}

#[test]
fn a_file_that_is_too_long_is_found() {
    let long = "\n".repeat(LONGEST + 1);
    let (_folder, tree) = made_up(&[
        ("vm/src/long.rs", &long),
        ("vm/src/longest.rs", &long[1..]),
        ("vm/kernel/long.h", &long),
        ("vm/kernel/generated/isa.h", &long),
        ("bytecode/src/isa.rs", &long),
        ("vm/filetests/long.wat", &long),
        ("target/built.rs", &long),
        ("fixtures/rust/target/built.rs", &long),
    ]);
    let mut found = long_files(&tree);
    found.sort();
    assert_eq!(found, ["vm/kernel/long.h: 701 lines", "vm/src/long.rs: 701 lines"]);
}

#[test]
fn a_folder_that_is_too_full_is_found() {
    let names = |folder: &str, count: usize| (0..count).map(|i| format!("{folder}/{i}.wat")).collect::<Vec<_>>();
    let mut paths = names("full", 17);
    paths.extend(names("fits", 16));
    paths.extend(names("divided", 17));
    paths.push("divided/room/a.rs".into());
    paths.extend(names("fixtures/wat", 17));
    // Pictures are no code.
    paths.extend((0..17).map(|i| format!("pictures/{i}.png")));
    let files: Vec<_> = paths.iter().map(|path| (path.as_str(), "")).collect();
    let (_folder, tree) = made_up(&files);
    assert_eq!(full_folders(&tree), ["full: 17 entries"]);
}

#[test]
fn a_compiler_that_knows_a_device_is_found() {
    let leaks = |code: &str| {
        let (_folder, tree) = made_up(&[("vm/src/ptx/emit.rs", code), ("vm/src/cuda.rs", code)]);
        leaks_of_the_compiler(&tree)
    };
    assert_eq!(leaks("\nuse crate::cuda::Cuda;"), ["vm/src/ptx/emit.rs:2: cuda"]);
    assert_eq!(leaks("use std::{fs, io};"), ["vm/src/ptx/emit.rs:1: fs"]);
    assert_eq!(
        leaks("/* of the\ncuda */ use cache::Cache;"),
        ["vm/src/ptx/emit.rs:2: cache"]
    );
    assert_eq!(leaks("'\"'; fs::read('\\''); \"fs\""), ["vm/src/ptx/emit.rs:1: fs"]);
    for harmless in [
        "//! See [`crate::cuda`].",
        "let text = \"// \\\" cuda\";",
        "let text = r#\"fs \"cache\"\"#;",
        "fn ask_cache<'a>(caches: &'a u32) {}",
        "1_fs",
    ] {
        assert_eq!(leaks(harmless), [] as [String; 0], "{harmless}");
    }
}
