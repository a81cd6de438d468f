//! Remembers that a program asked for a file and was given no folder.

use std::sync::Mutex;

use gpu_run_bytecode::wasi::Function;

use super::lock;
use crate::HostCall;

/// Bytes of a path that are kept.
const MOST: usize = 200;

/// Whether the program has a folder of the host's, and if not, for what it asked.
pub(super) struct Folders {
    given: bool,
    missed: Mutex<Option<String>>,
}

impl Folders {
    /// Of a program that was `given` some, or none.
    pub(super) fn new(given: bool) -> Folders {
        Folders {
            given,
            missed: Mutex::default(),
        }
    }

    /// A call found no descriptor: remembers the path that it asked for, if it did.
    pub(super) fn note(&self, request: &HostCall<'_>) {
        if self.given {
            return;
        }
        if let Some(path) = path(request) {
            // The last is the one that the program did not get over.
            *lock(&self.missed) = Some(path);
        }
    }

    /// The last path that was asked for.
    pub(super) fn missed(&self) -> Option<String> {
        lock(&self.missed).clone()
    }
}

/// The path that a call asks for in a folder. It is the guest's text, which may be anything.
fn path(request: &HostCall<'_>) -> Option<String> {
    use Function::*;
    // Which word is its length; the path is the first of the input.
    let length = match request.function {
        PathCreateDirectory | PathReadlink | PathRemoveDirectory | PathRename | PathUnlinkFile => 2,
        PathFilestatGet | PathFilestatSetTimes | PathLink | PathOpen => 3,
        _ => return None,
    };
    let length = *request.args.get(length)? as u32 as usize;
    let bytes = request.input.get(..length)?;
    let text = String::from_utf8_lossy(&bytes[..length.min(MOST)]);
    Some(text.chars().filter(|c| !c.is_control()).collect())
}
