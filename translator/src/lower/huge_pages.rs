//! Memory for what is large.

/// An empty list with room for `capacity` items, on large pages where the system has them: a list
/// that is filled once, from its start to about its end, costs more in page faults than in writing.
pub(super) fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let mut list = Vec::with_capacity(capacity);
    advise(&mut list);
    list
}

#[cfg(target_os = "linux")]
fn advise<T>(list: &mut Vec<T>) {
    /// A multiple of every page size of Linux.
    const PAGE: usize = 1 << 16;
    let room = list.spare_capacity_mut();
    let bytes = size_of_val(room);
    let before = room.as_ptr().addr().wrapping_neg() % PAGE;
    let inside = bytes.saturating_sub(before) & !(PAGE - 1);
    if inside == 0 {
        return;
    }
    let start = room.as_mut_ptr().wrapping_byte_add(before);
    // SAFETY: the range lies in the list's own memory, and this advice leaves contents as they are.
    // That it may be refused does not matter.
    unsafe { libc::madvise(start.cast(), inside, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut Vec<T>) {}
