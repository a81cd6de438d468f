//! Which of the folders that a guest was given a path means.

use std::path::Path;

use super::errno::{Errno, INVAL, NOENT};

/// A path's text as the host takes it. Guests' paths are Unicode.
pub fn text(path: &Path) -> Result<&str, Errno> {
    match path.to_str() {
        Some("") => Err(Errno(NOENT)),
        Some(text) if !text.contains('\0') => Ok(text),
        _ => Err(Errno(INVAL)),
    }
}

/// Without what does not matter at a path's beginning: the working directory is the root.
fn relative(mut path: &str) -> &str {
    loop {
        path = match path.strip_prefix('/').or_else(|| path.strip_prefix("./")) {
            Some(rest) => rest,
            None if path == "." => "",
            None => return path,
        }
    }
}

/// The position, in `folders`, of the folder with the longest name that `path` begins with, and the path from there
/// on. The last of those with equal names.
pub fn resolve(folders: impl IntoIterator<Item = impl AsRef<str>>, path: &str) -> Option<(usize, &str)> {
    let path = relative(path);
    let mut best: Option<(usize, usize, &str)> = None;
    for (position, folder) in folders.into_iter().enumerate() {
        let name = relative(folder.as_ref()).trim_end_matches('/');
        let Some(rest) = path.strip_prefix(name) else { continue };
        // A whole component, not a part of one.
        if !(name.is_empty() || rest.is_empty() || rest.starts_with('/')) {
            continue;
        }
        if best.is_none_or(|(length, ..)| length <= name.len()) {
            let rest = rest.trim_start_matches('/');
            best = Some((name.len(), position, if rest.is_empty() { "." } else { rest }));
        }
    }
    best.map(|(_, position, rest)| (position, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_wins_component_by_component() {
        let folders = [".", "/data", "/data/deep", "logs/"];
        let found = |path: &'static str| resolve(folders, path);
        assert_eq!(found("a.txt"), Some((0, "a.txt")));
        assert_eq!(found("./a.txt"), Some((0, "a.txt")));
        assert_eq!(found("/data/a.txt"), Some((1, "a.txt")));
        assert_eq!(found("data/a/"), Some((1, "a/")));
        assert_eq!(found("/database"), Some((0, "database")));
        assert_eq!(found("/data/deep"), Some((2, ".")));
        assert_eq!(found("logs//x"), Some((3, "x")));
        assert_eq!(found("../x"), Some((0, "../x")));
        assert_eq!(found("."), Some((0, ".")));
        assert_eq!(found(".hidden"), Some((0, ".hidden")));
    }

    #[test]
    fn the_last_of_equal_names_wins_and_none_is_none() {
        assert_eq!(resolve(["/a", "a"], "a/b"), Some((1, "b")));
        assert_eq!(resolve(["/a"], "b"), None);
        assert_eq!(resolve([""; 0], "b"), None);
    }

    #[test]
    fn paths_that_no_host_takes_are_errors() {
        assert_eq!(text(Path::new("")), Err(Errno(NOENT)));
        assert_eq!(text(Path::new("a\0b")), Err(Errno(INVAL)));
        assert_eq!(text(Path::new("a/b")), Ok("a/b"));
    }
}
