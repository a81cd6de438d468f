//! Checks of a line table. It is data for messages, so it is checked when it is read, not before
//! a run.

use super::{VerifyError, error};
use crate::lines::LineTable;

/// Checks that every index of a line table exists and that walking a chain of callers ends.
pub fn lines(table: &LineTable) -> Result<(), VerifyError> {
    let exists = |index: Option<u32>, len: usize| index.is_none_or(|index| (index as usize) < len);
    if !table.ranges.is_sorted_by(|a, b| a.offset < b.offset) {
        return error("line table", "its offsets are not in order");
    }
    for range in &table.ranges {
        if !exists(range.frame, table.frames.len()) {
            return error(format!("lines of offset {:#x}", range.offset), "no such frame");
        }
    }
    for (i, frame) in table.frames.iter().enumerate() {
        let place = || format!("line frame {i}");
        if !exists(frame.file, table.files.len()) {
            return error(place(), "no such file");
        }
        if !exists(frame.function, table.functions.len()) {
            return error(place(), "no such function");
        }
        if !exists(frame.caller, i) {
            return error(place(), "its caller does not come before it");
        }
    }
    Ok(())
}
