//! `gpu-run` as a cargo runner. Cargo starts it for `cargo run`, `cargo test` and `cargo bench`, in place of the program
//! that was built. Its arguments are the module, and those of the program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What cargo tells of the package whose module runs: its folder.
const PACKAGE: &str = "CARGO_MANIFEST_DIR";

/// Whether cargo has started this process to run a module. `cargo run` and `cargo test` tell their runner of the package,
/// and have built the module in a folder named after its target. The tool rustdoc builds an example of the documentation in a
/// folder of its own.
pub fn is_runner(module: &Path) -> bool {
    let by_cargo = |folder: &OsStr| folder.as_encoded_bytes().starts_with(b"wasm32-");
    let by_rustdoc = |folder: &OsStr| folder.as_encoded_bytes().starts_with(b"rustdoctest");
    let built = |folder: &OsStr| by_cargo(folder) || by_rustdoc(folder);
    ["CARGO", PACKAGE].iter().all(|name| std::env::var_os(name).is_some()) && module.iter().any(built)
}

/// What the program gets without `--dir`, as that option names it: the current folder as `.` and by its absolute name.
/// Tests have the latter from `env!("CARGO_MANIFEST_DIR")`.
pub fn folders() -> Vec<OsString> {
    let mut folders = vec![OsString::from(".")];
    if let Some(name) = absolute() {
        // A slash keeps the end of a name from being read as an option.
        let slash = if name.ends_with(":ro") { "/" } else { "" };
        folders.push(format!(".::{name}{slash}").into());
    }
    folders
}

/// The absolute name of the current folder: as cargo spells the package's if it is that one, since a link may lead
/// there. None if it is not UTF-8, as the names of guests are, or gone.
fn absolute() -> Option<String> {
    let current = std::env::current_dir().ok()?;
    let package = std::env::var_os(PACKAGE).map(PathBuf::from);
    let same = |package: &PathBuf| package.is_absolute() && package.canonicalize().ok() == current.canonicalize().ok();
    let name = package.filter(same).unwrap_or(current);
    name.into_os_string().into_string().ok()
}

/// Variables of this process that are for the program, as `--env` names them. By one std shows backtraces; others tell
/// the harness of tests what arguments would.
pub fn variables() -> Vec<OsString> {
    let wanted = |name: &OsStr| name == "RUST_BACKTRACE" || name.as_encoded_bytes().starts_with(b"RUST_TEST_");
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| wanted(name))
        .collect()
}
